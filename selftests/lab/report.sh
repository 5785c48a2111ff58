#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The page that the lab's report.sh makes of runs: all of them are in it, nothing
# else is needed to read it, it is the same each time, and what is missing does no
# harm. The runs are made up, a few of each scenario. And what judge.sh says of runs
# and a list of known bounds that differ in one way.
#
# check-all: host
# usual: 30
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
lab=$top/scripts/lab
/usr/bin/python3 -c 'import numpy' 2>/dev/null || ktap_skip_all "no python3-numpy"

# planned: all runs of the plan, without metrics, as report.sh reads them
planned()
{
	/usr/bin/python3 -B - "$lab" <<-'END'
		import dataclasses
		import json
		import sys
		sys.path.insert(0, sys.argv[1])
		import bench
		for result in bench.plan([], report=True):
		    p = dataclasses.asdict(result.run.params)
		    print(json.dumps(bench.old({"scenario": result.run.scenario, "name": result.run.name, "cc": p.pop("cc"),
		                                "seed": p.pop("seed"), "params": p})))
	END
}

# runs: some of each scenario, with metrics that are not of any run
runs()
{
	planned | jq -n '
	[[inputs] | group_by(.scenario)[] | to_entries[] |
	select((.key < 12 and (.key % 3 != 2 or .value.scenario == "mixed")) or (.value | "\(.scenario) \(.name) " |
		test("pair-100g-8us|60x500k-32mb|-64x100g-8us-mtu1500-n64 |websearch-[56]0(-seed.)? |staggered"))) | .value |
	. + { kernel: "7.3.4", module: "0.1 0123456789ab" } | if .scenario == "mixed" then .params.ms = 1 else . end |
	.metrics = { bdp: 66.05, drops: 0, timeouts: 0 } + {
		long: { utilisation: (if .params.flows == 64 then 0.951234 else 0.96 end), queue_mean: 0, queue_p99: (if .cc == "cubic" then 1385.17 else 2.5 end), queue_max: 7, jain: 0.99 },
		step: { join_queue_peaks: [50, 3], join_queue_back: [4.1, 0], leave_lows: 0.5, leave_lows_late: 0.5, leave_back: 40 },
		incast: { completion_us: 2700, ideal_us: 2525.61, completion_over_ideal: 1.07, unfinished: 0 },
		"int-response": { queue_peak: 3000, reaction_first: 0.5, reaction_median: 0.8, drops: 0, completion_over_ideal: 1.07, unfinished: 0 },
		probe: { queue_peak: 500, queue_before: 3, resumed_last_us: 340, resumed_mean_us: 300, ideal_us: 275, unfinished: 0 },
		"blind-hop": { utilisation: 0.98, queue_mean: 500, queue_p99: 600, queue_max: 660, jain: 1, marks: 0, blind: 4, without_bytes: 0 },
		harm: { shares_mbit: (if .params.other == "none" then 130.5 else [70, 60.1] end), drops: 12, blind: 0, enter: 1 },
		latency: { utilisation: 0.95, queue_mean: 0.5, queue_p99: 3, enter: 1, fallback: 0 },
		integrity: { shares_mbit: [45000, 45001], utilisation: 0.95, queue_mean: 0.5, queue_p99: 3, queue_max: 7, jain: 1 },
		layout: { shares_mbit: [range(7) | 1000 + .], real_bottleneck: 0.99, jain: 1 },
		fabric: { sizes: [300, 9000, 1e6], p50: [1.1, 1.2, 1.5], p95: [1.2, 1.3, 2], p99: [1.3, 1.5, 3], S_p50: [1, 1.2, 1.5], S_p99: [1.1, 1.5, 3],
			smallest_p99: 1.3, largest_p99: 3, unfinished: 0,
			smallest_O_p99: 1.2, to_10k_S_p99: (1.3 + .seed / 10) },
		rpc: { sizes: [300, 9000, 1e6], p50: [1.1, 1.2, 1.5], p95: [1.2, 1.3, 2], p99: [1.3, 1.5, 3], S_p50: [1, 1.2, 1.5], S_p99: [1.1, 1.5, 3], unfinished: 0,
			smallest_O_p99: 1.2, packet_S_p99: (if .cc == "dctcp" then 80 else 1.234 end), to_10k_S_p99: 2 },
		star32: { sizes: [300, 9000, 1e6], p50: [1.1, 1.2, 1.5], p95: [1.2, 1.3, 2], p99: [1.3, 1.5, 3], S_p50: [1, 1.2, 1.5], S_p99: [1.1, 1.5, 3], unfinished: 0,
			to_7k_S_p99: 2, from_46k_to_120k_S_p99: 3, largest_S_p99: 4 },
		clos: { sizes: [300, 9000, 1e6], S_p50: [1, 1.2, 1.5], S_p99: [1.1, 1.5, 3], smallest_p99: 1.3, largest_p99: 3, unfinished: 0,
			short_S_p99: 1.4, all_S_p99: 2.6, queue_max: 100 },
		powertcp: (if .params.shape == "incast" then { queue_peak: 300, queue_back: 4, load: 0.95, load_least: 0.8, unfinished: 0, completion_over_ideal: 1.1 }
			elif .params.shape == "staggered" then { jains: [1, 0.97], join_fair: [0, 4], join_queue_peaks: [3], join_queue_back: [1], leave_lows: [0.5, 0.7], leave_lows_late: [0.9, 0.9], leave_back: 4 }
			else { smallest_p99: 1.3, largest_p99: 3, unfinished: 0, to_10k_S_p99: (1 + (.params.load // 0) / 100), flows: 1000 } end),
		messages: { goodput_gbit: 98.1, completion_us: 201000, completion_over_ideal: 1.01, queue_p99_us: 4034, unfinished: 0 },
		parking: { shares_mbit: [range(if .params.shape == "nic" then 8 elif .params.shape == "receiver" then 4
			elif .params.shape == "asymmetric" then 2 else 5 end) | 1000 + .], real_bottleneck: 0.99, jain: 1 },
		rtts: { shares_mbit: [range(.params.flows) | 1000 + .], utilisation: 0.95, queue_mean: 0.5, queue_p99: 3, jain: 1 },
		"dctcp-ns3": { packet_S_p99: 6.5, to_10k_S_p99: 5.6, to_100k_S_p99: 8.7, to_1m_S_p99: 9.6, largest_S_p99: 11, unfinished: 0 },
		rollout: { packet_S_p99: 2, to_10k_S_p99: 2, to_100k_S_p99: 3, to_1m_S_p99: (20 - ((.params.told | numbers) // 0) / 10), largest_S_p99: 9, queue_mean: 0.5, queue_p99: 3, unfinished: 0 },
		mixed: { share_ours: 0.01, share_others: 0.9, leave_back: 40, least_mbit: 20, least_R_mbit: 0.5 },
		sparse: { utilisation: 0.95, queue_p99: 3, jain: 1 },
		"flows-n": { utilisation: 0.95, queue_mean: 0.5, queue_p99: 3, jain: 1 },
		rx: { utilisation: 0.95, queue_mean: 0.5, queue_p99: 3, jain: 1 },
		sweep: { utilisation: 0.95, queue_mean: 0.5, queue_p99: 3, jain: 1, without_bytes: 0 },
		scale: { bytes_per_flow: 500, instructions_per_ack: 1234.5 }
	}[.scenario]]'
}

# traces: of the runs that have plots of them
traces() # RESULTS
{
	local dir i
	for dir in "$1"/step/{hpccpp,dctcp}-pair-100g-8us-stage5 "$1"/incast/hpccpp-60x500k-32mb "$1"/powertcp/hpccpp-incast-{10,256} "$1"/mixed/with-dctcp; do
		mkdir -p "$dir"
		printf '%s\n' time_ns,event,flow 400000,join,1 400000,begin, 800000,leave,0 >"$dir/events.csv"
		for ((i = -1; i < 1000; i++)); do
			echo "$((i * 1000 + 8000)),0,$((i % 40 * 1514)),$((i * 11000))"
		done | gzip -n >"$dir/queue.csv.gz"
		printf '%s\n' 'flow,src,dst' 0,h1,r1,,1700,,,1,1,hpccpp,17813,0,0,1,1 1,h2,r1,,1700,,,1,1,dctcp,17813,0,0,1,1 |
			gzip -n >"$dir/flows.csv.gz"
		for ((i = -1; i < 10; i++)); do
			printf '%s\n' "$((i * 100000)),0,$((i * 1000))" "$((i * 100000)),1,$((i * 9000))"
		done | gzip -n >"$dir/rates.csv.gz"
	done
}

report() # RESULTS [JQ-CONDITION]: with the runs of all for which it holds
{
	jq "map(select(${2-true}))" "$tmp/all.json" >"$1/all.json" &&
		jq -r -L "$lab" --rawfile known "$tmp/known" -f "$lab/bounds.jq" "$1/all.json" >"$1/bounds" &&
		RESULTS=$1 "$lab/report.sh" "$1/all.json" "$1/bounds" "$tmp/known"
}

count() { grep -c "$1" "${2-$page}" || true; } # PATTERN [FILE]

page=$tmp/a/report.html
mkdir "$tmp"/{a,b,c,d,e,judged}
printf '%s\n' '# What this file is.' '' '# A title' '# What was' '# tried.' \
	'40  back after the others left, RTTs, mixed with-dctcp' >"$tmp/known"
runs >"$tmp/all.json"
traces "$tmp/a"
cp -r "$tmp/a/." "$tmp/b"
check "runs of all scenarios make a page" report "$tmp/a"
report "$tmp/b"
check "... the same when made again, elsewhere" cmp "$page" "$tmp/b/report.html"

nothing_outside()
{
	! grep -oE "https?:|//[a-z]+\.|src=|@import|url\(|<script|<link|href=[\"']?[^\"'#]|$tmp" "$page"
}
check "... which refers to nothing outside" nothing_outside

all_runs()
{
	local name
	while read -r name; do
		grep -qF "<td class=t>$name<" "$page" || { echo "$name is missing"; return 1; }
	done < <(jq -r '.[].name' "$tmp/all.json")
}
check "every run is in it" all_runs
check "a section for each scenario" [ "$(grep -oE '<h2 id=[a-z0-9-]+' "$page" | cut -d= -f2 | xargs)" = \
	"run bounds long step incast int-response probe fabric dctcp-ns3 rollout rpc star32 clos powertcp messages parking layout rtts mixed blind-hop harm latency integrity sparse rx flows-n sweep scale terms repeat" ]
unique() { ! grep -oE " id=[\"']?[A-Za-z0-9_-]+" "$page" | tr -d "\"'" | sort | uniq -d | grep .; }
check "no id is there twice" unique
check "each figure has a plot, or says that its trace is missing: 1 of mixed" \
	[ "$(count '<figure>') $(count 'no trace to plot')" = "$(($(count '<svg role="img"') + 1)) 1" ]
# before the contents: tiles with hpccpp's figures, and the rivals' of the same runs
first_screen() { sed '/^<nav>/,$d' "$page" | tr -d '\n'; }
tile() { grep -qF "<div class=tile><h3>$1</h3><strong>$2</strong><p>$3</div>" <(first_screen | sed 's/<p class=dim>[^<]*//g'); }
# what the made-up runs have
check "the first screen: load" tile "Load of the link" "95.1 %" "dctcp 95.1 % · dctcp-k20 95.1 % · dctcp-dualpi2 95.1 % · bbr 95.1 % · cubic 95.1 %"
check "... queue" tile "Mean queue, packets" 0 "dctcp 0 · dctcp-k20 0 · dctcp-dualpi2 0 · bbr 0 · cubic 0"
check "... small flows" tile "Small flows: p99 slowdown of the smallest 20 %" 1.3 "dctcp 1.3 · dctcp-k20 1.3 · dctcp-dualpi2 1.3 · bbr 1.3 · cubic 1.3"
check "... price" tile "The price: p99 slowdown of the largest 5 %" 3 "dctcp 3 · dctcp-k20 3 · dctcp-dualpi2 3 · bbr 3 · cubic 3"
check "five seeds: the mean, and from the least to the largest" grep -qF '>1.6 (1.4 to 1.8)<' "$page"
check "the least Jain of four flows, and the least load" grep -qF '<tr><td class=t>hpccpp<td>3<td>1<td>4<td>0.500<td>4<td>0.970<td>0' "$page"
check "... and the plot of the fabric" [ "$(first_screen | grep -o '<figure>' | wc -l)" -ge 1 ]
check "the bounds that matter have names, worst figures and how many hold" grep -qE \
	'^<tr><td class=t>long<td class=t>utilisation<td>≥ 0.93<td>0.9512<td>[0-9]+<td>[0-9]+$' "$page"
check "an empty queue stands at a mark that says so" [ "$(count '≤ 0.01')" -gt 0 ]
failing=$(count '^\(new\|known\|unjudged\) ' "$tmp/a/bounds")
check "what does not hold is shown, by itself and among all" \
	[ "$failing:$(count 'class="t no"')" = "$failing:$((2 * (failing ? failing : 1)))" ]
check "... with the reason of what is known" \
	[ "$(count '<p><strong>A title.</strong> What was tried.')" -eq 1 ]
check "figures have four digits at most" [ "$(count 0.951234)" -eq 0 ]

# --- What is missing -----------------------------------------------------------

no_traces()
{
	report "$tmp/c" && [[ $(count 'no trace to plot' "$tmp/c/report.html") -gt 2 ]]
}
check "without traces: a word in place of their plots" no_traces
# a series that was not run has no name in the legend
legend() { grep -cE ">$1</(text|tspan)>" "$tmp/e/report.html" || true; } # TITLE
mkdir -p "$tmp/e/step"
cp -r "$tmp/a/step/hpccpp-pair-100g-8us-stage5" "$tmp/e/step/"
one_trace() { report "$tmp/e" '.scenario == "step"' && [[ $(legend hpccpp) -gt 0 && $(legend dctcp) -eq 0 ]]; }
check "of one of two traces: a plot of that, without the other's name" one_trace
rm -r "$tmp/e/step"
others() { report "$tmp/e" '.scenario == "clos" and .cc == "dctcp"' && [[ $(legend 'HPCC, published') -gt 0 && $(legend 'HPCC-PINT, published') -gt 0 ]]; }
check "what others publish is in the plots" others
check "... and in a table beside ours" [ "$(grep -A 3 '^<tr><td class=t>websearch<td>50<td class=t>dctcp<td>1.4<td>2.6<td>151.4$' "$tmp/e/report.html" | tail -n 3 | cut -d '>' -f 5- | xargs)" = \
	"HPCC, ns-3<td>1.92<td>10.2<td>410 HPCC-PINT, ns-3<td>2.08<td>9.06<td>480 DCTCP, ns-3<td>5.66<td>9.56<td>1411" ]
check "... each with a word on what differs" [ "$(count '^<p class=dim><strong>\(ns-3\|published\)\.</strong> .* It differs in ' "$tmp/e/report.html")" -eq 2 ]
crowd() # FLOWS: hpccpp with N = 64, and with N = flows, of these
{
	jq --argjson flows "$1" '[.[] | select(.scenario == "long" and .cc == "hpccpp" and .params.mtu == 1500)][0] |
		.params.mbit = 100000 | .params.rtt = 8 | .params.overhead = 0 | .params.offloads = "default" |
		[$flows[] as $f | ($f, 64) as $n | .params.flows = $f | .params.n = $n | .name = "hpccpp-\($f)-\($n)"] |
		unique' "$tmp/all.json" >"$tmp/e/all.json"
	RESULTS=$tmp/e "$lab/report.sh" "$tmp/e/all.json" /dev/null "$tmp/known"
	legend 'hpccpp, N = flows'
}
check "N = flows has a name where there are two N" [ "$(crowd '[1, 64]')" -gt 0 ]
check "... and none where 64 flows are all" [ "$(crowd '[64]')" -eq 0 ]
no_metrics()
{
	jq 'map(.metrics |= {})' "$tmp/all.json" >"$tmp/d/all.json"
	RESULTS=$tmp/d "$lab/report.sh" "$tmp/d/all.json" /dev/null "$tmp/known"
}
check "without metrics and bounds" no_metrics
one() # JQ-CONDITION: the page of these runs alone
{
	report "$tmp/e" "$1" && [[ $(count '<h2 id=repeat' "$tmp/e/report.html") -eq 1 ]]
}
for scenario in $(jq -r 'map(.scenario) | unique | .[]' "$tmp/all.json"); do
	check "$scenario alone" one ".scenario == \"$scenario\""
done
check "one congestion control alone" one '.cc == "dctcp"'
check "no run" one false
# make report
mkdir "$tmp/f"
while read -r scenario name; do
	mkdir -p "$tmp/f/$scenario"
	jq --arg s "$scenario" --arg n "$name" '.[] | select(.scenario == $s and .name == $n)' "$tmp/all.json" \
		>"$tmp/f/$scenario/$name.json"
done < <(jq -r '.[] | select(.scenario == "rx" or .scenario == "sparse") | "\(.scenario) \(.name)"' "$tmp/all.json")
made() # SAID ARGUMENT...: the report of what is there, of however many runs
{
	RESULTS_LAB=$tmp/f "$lab/lab" report "${@:2}" >"$tmp/said" 2>&1 &&
		[[ $(tail -n 1 "$tmp/said") == "$tmp/f/report.html is of $1 runs" && $(count '<h2 id=repeat' "$tmp/f/report.html") -eq 1 ]]
}
there() { find "$tmp/f/${1-}" -name '*.json' | wc -l; }
check "lab report: of all that is there" made "$(there)"
check "... of a scenario" made "$(there rx)" rx
none() { RESULTS_LAB=$tmp/f "$lab/lab" report long >"$tmp/said" 2>&1; [[ $? -eq 2 ]]; }
check "... of none: an error" none
wrong() { "$lab/report.sh" "$tmp/all.json"; [[ $? -eq 2 ]]; }
check "a wrong call is a usage error" wrong

# --- Runs and the list ------------------------------------------------------------

# A run that does not hold its bound of Jain alone, and DCTCP's beside it.
run=hpccpp-64x100g-8us-mtu1500-n64
jq -n --arg name "$run" '
	{ scenario: "long", $name, cc: "hpccpp", seed: 1, kernel: "7.3.4", module: "0.1 0123456789ab",
	  params: { flows: 64, mbit: 100000, rtt: 8, mtu: 1500, n: 64, eta: 95 },
	  metrics: { bdp: 66, utilisation: 0.95, queue_mean: 1, queue_p99: 3, jain: 0.9, drops: 0 } } |
	[., (.cc = "dctcp" | .name |= sub("hpccpp"; "dctcp") | .metrics.queue_mean = 600)]' >"$tmp/judged/all.json"
# judged STATUS LINE RUNS [FIGURE WHAT]...: with these in the list
judged()
{
	local want=$1 line=$2 runs=$3 status=0 known=$tmp/judged/known
	shift 3
	printf '# A title\n# A reason.\n' >"$known"
	while [[ $# -gt 0 ]]; do
		printf '%s  %s, long %s\n' "$1" "$2" "$run" >>"$known"
		shift 2
	done
	jq "$runs" "$tmp/judged/all.json" >"$tmp/judged/runs"
	RESULTS=$tmp/judged "$lab/judge.sh" "$tmp/judged/runs" "$known" >"$tmp/said" 2>&1 || status=$?
	if [[ $status -ne $want ]] || ! grep -qxF -e "$line" "$tmp/said"; then
		cat "$tmp/said"
		return 1
	fi
}
metrics() { echo "map(if .cc == \"hpccpp\" then .metrics += $1 else . end)"; } # JSON
check "a bound that does not hold, as listed" judged 0 \
	"known     0.9 (>= 0.98, listed 0.9)  Jain, long $run" . 0.9 Jain
check "... and by no more than a hundredth worse" judged 0 \
	"known     0.9 (>= 0.98, listed 0.908)  Jain, long $run" . 0.908 Jain
check "... of bounds from above" judged 0 \
	"known     6 (<= 5, listed 5.95)  queue mean, packets, long $run" \
	"$(metrics '{ jain: 1, queue_mean: 6 }')" 5.95 "queue mean, packets"
check "one that is not listed" judged 1 \
	"new       0.9 (>= 0.98)  Jain, long $run" .
check "one that is worse" judged 1 \
	"worse     0.9 (>= 0.98, listed 0.91)  Jain, long $run" . 0.91 Jain
check "... of bounds from above" judged 1 \
	"worse     6 (<= 5, listed 5.9)  queue mean, packets, long $run" \
	"$(metrics '{ jain: 1, queue_mean: 6 }')" 5.9 "queue mean, packets"
check "one without a figure is no known one" judged 1 \
	"worse     null (>= 0.98, listed 0.9)  Jain, long $run" "$(metrics '{ jain: null }')" 0.9 Jain
check "one that holds, and is listed" judged 1 \
	"holds     0.99 (>= 0.98, listed 0.9)  Jain, long $run" "$(metrics '{ jain: 0.99 }')" 0.9 Jain
check "one that is listed, and is not of the run" judged 1 \
	"gone      - (listed 3)  fairness, long $run" . 0.9 Jain 3 fairness
check "a run that is not there has no say" judged 0 \
	"0 of 0 bounds hold, 0 known not to ($tmp/judged/known); all figures: $tmp/judged/report.html" \
	'map(select(.cc == "dctcp"))' 0.9 Jain
check "a baseline that is not there" judged 2 \
	"unjudged  -  no run of DCTCP, long $run" 'map(select(.cc == "hpccpp"))' 0.9 Jain
# of each scenario that has baselines, or means over seeds that are not all there
jq 'map(. as { scenario: $s, params: $p } | select(.cc == "dctcp" or
	$s == "harm" and .cc != "hpccpp" or
	$s == "int-response" and $p.respond == 0 or $s == "probe" and $p.probe == 0 or
	$s == "sparse" and $p.every == 1 or $s == "flows-n" and $p.n != 0 or
	$s == "integrity" and $p.lie == "none" and $p.key == 0 or $s == "scale" and $p.flows != 10000 | not))' \
	"$tmp/all.json" >"$tmp/judged/runs"
unjudged()
{
	jq -r -L "$lab" --rawfile known /dev/null -f "$lab/bounds.jq" "$tmp/judged/runs" |
		sed -n 's/^unjudged .*, \([a-z-]*\) [^ ]*$/\1/p' | sort -u | xargs
}
check "... of each other scenario with one" [ "$(unjudged)" = "clos fabric flows-n harm int-response integrity latency powertcp probe rpc scale sparse" ]
wrong_list() # TEXT
{
	printf '%s\n' "$@" >"$tmp/judged/known"
	! RESULTS=$tmp/judged "$lab/judge.sh" "$tmp/judged/all.json" "$tmp/judged/known" >"$tmp/said" 2>&1 &&
		grep -q "known.bounds: " "$tmp/said"
}
check "a list with a line that is no bound" wrong_list '# A title' '# A reason' 'Jain, long x'
check "... one twice" wrong_list '# A title' '# A reason' '1  Jain, long x' '2  Jain, long x'
check "... without a reason" wrong_list '# A title' '1  Jain, long x'

listed_runs()
{
	grep '^[-0-9]' "$lab/known.bounds" | awk '{ print $(NF - 1), $NF }' | sort -u >"$tmp/listed"
	planned | jq -r '"\(.scenario) \(.name)"' | sort | comm -13 - "$tmp/listed" >"$tmp/none"
	[[ -s $tmp/listed && ! -s $tmp/none ]] || { echo "no such runs: $(<"$tmp/none")"; return 1; }
}
check "known.bounds is about runs of the plan" listed_runs
check "README says how many it has" grep -q "^.*\b$(grep -c '^[-0-9]' "$lab/known.bounds") bounds that do not hold" "$top/README.md"

# --- A browser -----------------------------------------------------------------

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
rendered() # WIDTH
{
	HOME=$tmp timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/browser" \
		--enable-logging=stderr --window-size="$1,2000" --screenshot="$tmp/$1.png" \
		"file://$page" >"$tmp/browser-said" 2>&1 || return
	! grep -E 'CONSOLE|ERR_' "$tmp/browser-said" && [[ -s $tmp/$1.png ]]
}
cut_off() # WIDTH: tables that are wider than the page
{
	{
		cat "$page"
		echo '<script>for (const d of document.querySelectorAll("details")) d.open = true;
			document.title = "cut off: " + [...document.querySelectorAll(".scroll")].
				filter(t => t.scrollWidth > t.clientWidth).map(t => t.innerText.slice(0, 80)).join()</script>'
	} >"$tmp/cut.html"
	HOME=$tmp timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/browser" \
		--window-size="$1,2000" --dump-dom "file://$tmp/cut.html" 2>/dev/null | grep -o '<title>cut off: [^<]*'
}
if [[ -n $browser ]]; then
	assert_eq "no table is cut off, 1280 wide" "$(cut_off 1280)" "<title>cut off: "
else
	ktap_skip "no table is cut off, 1280 wide" "no chromium here"
fi
for width in 1280 400; do
	if [[ -n $browser ]]; then
		check "a browser shows it, $width wide" rendered $width
	else
		ktap_skip "a browser shows it, $width wide" "no chromium here"
	fi
done

ktap_finish
