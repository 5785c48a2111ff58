#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The page of `lab report`: claims, rows, figures, and files that cannot be read. Most runs are made up, for a scenario
# that a copy of the lab has; two are real, for a plot of the queue.
#
# check-all: host
# usual: 20
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
/usr/bin/python3 -c 'import jinja2, matplotlib' 2>/dev/null || ktap_skip_all "no python3-jinja2, python3-matplotlib"
lab=$top/scripts/lab/lab
export RESULTS_LAB=$tmp/results
page=$RESULTS_LAB/report.html
ktap_plan 33

assert_eq "no run is there" "$("$lab" report 2>&1 || true)" "lab: no run is in $RESULTS_LAB: run make bench first"

for cc in dctcp cubic; do
	"$lab" run star flows=4 size=100k cc=$cc >"$tmp/metrics"
done

cp -r "$top/scripts/lab" "$tmp/lab"
cat >"$tmp/lab/scenarios/mine.py" <<'END'
"""Made up"""

from claims import Claim
from scenario import Scenario

SCENARIO = Scenario(
    about="Flows & a <queue>",
    runs=lambda _: ((f"{cc}-{flows}-{seed}", dict(cc=cc, flows=flows, seed=seed, rate="40gbit", spread="1us"))
                    for cc in ("hpccpp", "dctcp") for flows in (4, 16) for seed in (1, 2, 3)),
    claims=[Claim("held, packets", "queue_p99", "<=", 9, runs=lambda p: p.is_hpccpp and p.flows == 4,
                  without="16 flows"),
            Claim("missed", "queue_p99", "<=", 9),
            Claim("known", "queue_p99", "<=", 9, listed=13, why="Tried and <failed>"),
            Claim("worse than known", "queue_p99", "<=", 9, listed=10),
            Claim("known, but held", "utilisation", ">=", 0.9, listed=0.8),
            Claim("a share of DCTCP's", "queue_p99", "<=", lambda run: run.like(cc="dctcp")["queue_p99"] / 2),
            Claim("of none", "queue_p99", "<=", 9, runs=lambda p: p.flows == 1)])
END
/usr/bin/python3 -B - "$tmp/lab" "$RESULTS_LAB" <<'END'
import dataclasses
import json
import pathlib
import sys
sys.path.insert(0, sys.argv[1])
import params
import scenario


def write(where, name, p, **metrics):
    p = dataclasses.asdict(p)
    path = pathlib.Path(sys.argv[2], where, name + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"scenario": where, "name": name, "cc": p.pop("cc"), "seed": p.pop("seed"), "params": p,
                                "commit": "0123456789ab", "kernel": "7.3.4", "module": None, "metrics": metrics}))


for run in scenario.plan("mine"):
    p = run.params
    over = {"queue_max": None, "queue_max_over": 1385.17} if p.cc == "dctcp" and p.seed > 1 else {"queue_max": 700}
    write("mine", run.name, p, utilisation=0.951234, queue_p99=p.flows / 2 + p.seed + 2 * (p.cc == "dctcp"),
          peaks=[p.seed, 50], drops=3, host_drops=4, **over)
# of the user: not in the plan, and no claim is about it
write("mine", "own", params.make(cc="hpccpp", flows=200, spread="1us"), queue_p99=1e6)
write("gone", "one", params.make(cc="mycc", mark=20, size=8000), words_of_mine=17)
for cc in "hpccpp", "bbr", "dctcp-k20-bdp":
    for seed in 1, 2:
        slowdowns = {f"{name}_p99": 1.1 * seed for name in ("packet", "to_10k", "to_100k", "to_1m", "more")}
        write("fabric", f"{cc}-fb_hadoop-50-seed{seed}", params.make(cc=cc, seed=seed, load=50, sizes="fb_hadoop"),
              drops=0, **slowdowns, **{f"x{i}": i for i in range(9)})
pathlib.Path(sys.argv[2], "mine/cut.json").write_text('{"scenario": "mi')
write("mine", "old", params.make(), text="words")
END

report() { "$tmp/lab/lab" report "$@" >"$tmp/said" 2>"$tmp/errors"; } # [SCENARIO]...
has() { grep -qF -- "$1" "$page" || { echo "not in the page: $1"; return 1; }; } # TEXT
verdict() # WORD CLAIM FIGURE NAME MISSED [TEXT]
{
	tr -d '\n' <"$page" | grep -qF "$1<td><a href=\"#mine\">mine</a><td>$2<td>$3<td>$4<td>$5<td>${6-}"
}

check "the page is made" report
# unjudged are also those of other scenarios
assert_eq "... of all runs that can be read" "$(tail -n 1 "$tmp/said" | sed 's/^[0-9]* claims: //; s/, [0-9]* unjudged$//')" \
	"1 hold, 1 listed, 3 fail, 1 outdated"
check "... and names the others" [ "$(cut -d: -f1,2 "$tmp/errors" | xargs)" = \
	"lab: mine/cut.json lab: mine/old.json" ]
export_leaves_out()
{
	"$tmp/lab/lab" export >"$tmp/csv" 2>"$tmp/errors" && grep -q '^mine,old,.*,text,0,words$' "$tmp/csv" &&
		grep -q "^lab: $RESULTS_LAB/mine/cut.json: left out, " "$tmp/errors"
}
check "... as does the table of all" export_leaves_out
check "... in the page as well" has "<li>mine/cut.json: JSONDecodeError"
cp "$page" "$tmp/first.html"
mv "$RESULTS_LAB" "$tmp/elsewhere"
check "the page is made again, elsewhere" env RESULTS_LAB="$tmp/elsewhere" "$tmp/lab/lab" report
check "... of the same bytes" cmp "$tmp/first.html" "$tmp/elsewhere/report.html"
mv "$tmp/elsewhere" "$RESULTS_LAB"
check "it needs nothing else" [ -z "$(grep -oE "(src|href)=[\"']?[^\"'#]|@import|url\([^#]|<script|<link|$tmp" "$page")" ]
check "no id is there twice" [ -z "$(grep -oE ' id="[^"]*"' "$page" | sort | uniq -d)" ]
check "tags of text are closed and names are escaped" has "<p>Flows &amp; a &lt;queue&gt;"

check "a claim that holds, and the runs that it leaves out" \
	verdict holds "held, packets &lt;= 9" 5 hpccpp-4-3 "0 of 3" "left out: 16 flows"
check "one that fails" verdict fails "missed &lt;= 9" 11 hpccpp-16-3 "2 of 6"
check "one that is listed, and its reason" \
	verdict listed "known &lt;= 9" "11 (listed: 13)" hpccpp-16-3 "2 of 6" "Tried and &lt;failed&gt;"
check "one that is worse than listed" verdict fails "worse than known &lt;= 9" "11 (listed: 10)" hpccpp-16-3 "2 of 6"
check "one that is listed, and holds" \
	verdict outdated "known, but held &gt;= 0.9" "0.9512 (listed: 0.8)" hpccpp-4-1 "0 of 6"
check "one that no run is about" verdict unjudged "of none &lt;= 9" "" "" "0 of 0"
check "each run's figures next to the claims" has \
	'<tr><th>hpccpp-16-3<td><td class="no">11<td class="no">11<td class="no">11<td>0.9512<td class="no">11 (&lt;= 6.5)<td>'

check "seeds are one row: mean and range, drops of hosts apart" has \
	'hpccpp<td>3<td>0.9512<td>4 (3 to 5)<td>26 (1 to 50)<td>3<td>4<td>700'
check "... beyond the end of a histogram" has '<td>26 (1 to 50)<td>3<td>4<td>700 to &gt; 1385'
check "keys that differ are columns, common ones are not" has "<thead><tr><th>flows<th>rate<th>cc<th>runs"
check "... they stand above" has "All 13 runs have spread=1us, and the defaults of other keys that have no"
check "units and meanings of metrics" has '<th title="mean over time of what waits">queue mean <small>packet</small>'
check "a run of the user's own" has '<td>200<td>100gbit'
check "a scenario whose file is gone" has '<th title="one">mycc<td>1<td>17'
check "many metrics: the main ones first" has '<th>cc<th>runs<th title="flows of one packet">packet p99'
check "published figures after those of the same workload" has 'HPCC, ns-3<td><td>2.27<td>2.30<td>3.85'
check "... and where they are from" has "ns-3.39 of inet-tub/ns3-datacenter"
check "a plot of the queue and one of slowdowns" [ "$(grep -c '^<figure><svg ' "$page")" -eq 2 ]
check "... with these congestion controls" grep -q "cc=cubic</text>" "$page"
check "... and these" grep -q ">bbr</text>" "$page"

check "one scenario" report fabric
assert_eq "... and no other" "$(grep -o '<h2 id="[a-z]*"' "$page" | xargs)" "<h2 id=claims <h2 id=fabric"
ktap_finish
