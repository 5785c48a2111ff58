#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks `lab plot` on a run of 4 flows: files, the units of the axes, the same bytes each time, peaks
# that thinning keeps, and errors in one line.
#
# check-all: host
# usual: 25
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || ktap_skip_all "no python3-matplotlib"
lab=$top/scripts/lab/lab
export RESULTS_LAB=$top/.build/check/labplot
rm -rf "$RESULTS_LAB"
ktap_plan 15
"$lab" run star flows=4 size=100k >"$tmp/metrics"
run=$RESULTS_LAB/star/flows=4,size=100k

# plots RUN KIND UNIT...: an SVG with these texts, and the same again
plots()
{
	[[ $("$lab" plot "$2" "$1") == "plot: $RESULTS_LAB/$2.svg" ]] &&
		"$lab" plot "$2" -o "$tmp/again.svg" "$1" && cmp "$RESULTS_LAB/$2.svg" "$tmp/again.svg" || return
	local text
	for text in "${@:3}"; do
		grep -q ">$text</text>" "$tmp/again.svg" || return
	done
}
check "queue of a run's folder" plots "$run" queue "queue, packets" "time, µs" star
check "rates of a run's JSON" plots "$run.json" rates "received, Gbit/s" "time, µs" "hpccpp, flow 3"
check "fct of SCENARIO NAME" plots "star flows=4*" fct "flow completion time, µs" "share of flows"

# the same run as of another seed
two="$RESULTS_LAB/star/two"
cp -r "$run" "$two"
jq '.seed = 2 | .name = "two"' "$run/meta.json" >"$two/meta.json"
pools()
{
	"$lab" plot fct -o "$tmp/pool.svg" "star *" &&
		[[ $(grep -oE '>(flows=4|two)[^<]*</text>' "$tmp/pool.svg") == ">flows=4,size=100k, 2 seeds</text>" ]]
}
check "fct of two seeds is one line" pools
rm -r "$two"

# of a kind with the suffix: starts with these bytes, and is the same again
starts()
{
	"$lab" plot rates -o "$tmp/one$1" "$run" && "$lab" plot rates -o "$tmp/two$1" "$run" &&
		cmp "$tmp/one$1" "$tmp/two$1" && [[ $(head -c 4 "$tmp/one$1" | tail -c 3) == "$2" ]]
}
check "PNG" starts .png PNG
check "PDF" starts .pdf PDF

thins()
{
	/usr/bin/python3 -B - "$top/scripts/lab" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import numpy as np
		import plot
		y = np.arange(3_000_000) % 7
		y[1_234_567], y[2_345_678] = 100, -1
		line = plot.thin(plot.Line("", "", np.arange(len(y)), y))
		assert len(line.x) <= 4 * plot.BINS + 1, len(line.x)
		assert 1_234_567 in line.x and 2_345_678 in line.x
		assert line.x[0] == 0 and line.x[-1] == len(y) - 1
	END
}
check "3 million points: some thousand are left, with the least and the greatest" thins

# a run that was stopped has no tables yet
mkdir "$RESULTS_LAB/star/flows=5"
cp "$run/meta.json" "$RESULTS_LAB/star/flows=5"
skips() { [[ $("$lab" plot fct "star *" 2>&1 | head -n 1) == "lab: without tables, left out: star flows=5" ]]; }
check "wildcards leave out a run that was stopped" skips

refused() # PATTERN ARGUMENT...: in one line like that
{
	! "$lab" plot "${@:2}" >"$tmp/said" 2>&1 && [[ $(wc -l <"$tmp/said") -eq 1 ]] && grep "^lab: $1" "$tmp/said"
}
check "no such run: names those of the scenario" refused "no run 'star x'.*star flows=4,size=100k" queue "star x"
check "a folder without tables" refused "'$tmp': no tables" queue "$tmp"
check "a run that was stopped" refused "'$RESULTS_LAB/star/flows=5': no tables" queue "$RESULTS_LAB/star/flows=5"
check "--slowdown without ideal times: names its kinds" refused ".*ideal_ns.* load= .*it has queue, rates, fct$" fct --slowdown "$run"
check "--slowdown of a queue" refused "--slowdown" queue --slowdown "$run"
check "a file of another format" refused "'x.gif'" queue -o x.gif "$run"
rm "$run/queue.csv.gz"
check "a run without a trace of the queue: names its kinds" refused "star .*it has rates, fct$" queue "$run"
ktap_finish
