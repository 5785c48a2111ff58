#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Data files for flent (flent.org) of what the demo and the lab have measured, to be
# plotted and compared beside one's own:
#
#	flent.sh [-q] [-o DIR] [-s STEPS] SOURCE...
#
# demo.sh makes them of all of its runs, in results/flent, and bench.sh of the lab's that
# follow rates, in the directory of each; -q does not name them.
#
# SOURCE is one of results/queue-*.csv of the demo, or the directory of a run of the
# lab, results/lab/SCENARIO/NAME. DIR (results/flent) gets of each, in STEPS (1000)
# steps of time,
#
#	NAME-queue.flent.gz	the link's queue, as flent's test qdisc-stats
#	NAME-flows.flent.gz	rates and round trips, as flent's test tcp_nup
#
# A queue is its mean over the step, drops are per second. The demo knows no rates
# but the link's, headers and telemetry included; the lab has no round trips. Then,
# for instance:
#
#	flent -i results/flent/*-queue.flent.gz -p backlog -o queue.png
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

usage="usage: flent.sh [-q] [-o DIR] [-s STEPS] SOURCE..."
out=$(realpath "${BASH_SOURCE%/*}/..")/results/flent
steps=1000
quiet=
while getopts qo:s: opt; do
	case $opt in
	q)	quiet=1 ;;
	o)	out=$OPTARG ;;
	s)	steps=$OPTARG ;;
	*)	bad "$usage" ;;
	esac
done
shift $((OPTIND - 1))
[[ $# -gt 0 ]] || bad "$usage"
[[ $steps =~ ^[1-9][0-9]{0,5}$ ]] || bad "-s '$steps': a number of steps from 1 to 999999"

# to_steps LENGTH: lines "KIND TIME VALUE SERIES", each series in the order of time, to
# lines "STEP VALUE SERIES". KIND is what a value is:
#	level	what there is until the next one: to the mean over time
#	count	all so far: to what came per second
#	sample	to the mean of those in the step
# A count that says nothing for longer than "every" seconds has stood still, and of
# what is after the last one nothing is known.
to_steps()
{
	awk -v steps="$steps" -v seconds="$1" -v every="${2:-0}" '
		# what came from a to b
		function spread(s, a, b, amount,	i, to, each) {
			each = amount / (b - a)
			for (i = int(a / step); a < b && i < steps; i = to) {
				to = i + 1
				sum[s, i] += each * ((b < to * step ? b : to * step) - a) / step
				some[s, i] = 1
				a = to * step
			}
		}
		BEGIN { step = seconds / steps }
		{
			kind = $1; t = $2 < 0 ? 0 : $2 > seconds ? seconds : $2; v = $3
			s = substr($0, length($1 $2 $3) + 4)
			if (!(s in last) && kind == "count" && every) {
				last[s] = 0
				at[s] = 0
			}
			if (kind == "sample") {
				i = int(t / step)
				sum[s, i] = (sum[s, i] * n[s, i] + v) / (n[s, i] + 1)
				n[s, i]++
				some[s, i] = 1
			} else if (s in last && t > at[s]) {
				from = at[s]
				if (kind == "count" && every && t - from > every) {
					spread(s, from, t - every, 0)
					from = t - every
				}
				spread(s, from, t, kind == "level" ? last[s] * (t - from) : v - last[s])
			}
			last[s] = v
			at[s] = t
		}
		END {
			for (k in some) {
				split(k, p, SUBSEP)
				if (p[2] < steps)
					print p[2], sum[k], p[1]
			}
		}'
}

# write NAME TEST TITLE FILE LENGTH PARAMETERS: of lines as to_steps prints them;
# FILE is as old as the measurement, PARAMETERS are flent's, in JSON.
write()
{
	local file=$out/$1.flent.gz
	# shellcheck disable=SC2016 # jq's
	jq -Rn --arg name "$1" --arg test "$2" --arg title "$3" --argjson steps "$steps" \
		--arg time "$(date -u -r "$4" +%FT%T.000000Z)" --argjson seconds "$5" --argjson parameters "$6" '
		[inputs | capture("^(?<i>[^ ]+) (?<v>[^ ]+) (?<series>.*)$")] |
		group_by(.series) | map({
			key: .[0].series,
			value: (reduce .[] as $p ([range($steps) | null]; .[$p.i | tonumber] = ($p.v | tonumber)))
		}) | from_entries |
		($time | sub("\\.0*"; "") | fromdate) as $t0 |
		[range($steps) * $seconds / $steps] as $x |
		{
			version: 4,
			metadata: {
				NAME: $test, TITLE: $title, TIME: $time, T0: $time, HOST: "r", HOSTS: ["r"],
				LOCAL_HOST: "h1", LENGTH: $seconds, TOTAL_LENGTH: $seconds,
				STEP_SIZE: ($seconds / $steps), TEST_PARAMETERS: $parameters,
				DATA_FILENAME: ($name + ".flent.gz"), NOTE: null,
				SERIES_META: (with_entries(.value = {}))
			},
			x_values: $x,
			results: .,
			raw_values: map_values([. as $v | range($steps) | select($v[.] != null) |
				{ t: ($t0 + $x[.]), val: $v[.] }])
		}' | gzip -n >"$file.tmp"
	mv "$file.tmp" "$file"
	[[ -n $quiet ]] || step FLENT "$file"
}

demo() # QUEUE-CSV
{
	local name=${1##*/queue-} rtt=${1%/*}/rtt-${1##*/queue-} seconds
	name=${name%.csv}
	[[ -s $rtt ]] || die "$1: no ${rtt##*/} beside it"
	seconds=$(tail -n 1 "$1" | cut -d, -f1)
	awk -F, 'NR > 1 {
		print "level", $1, $2, "qdisc-stats::backlog_bytes"
		print "level", $1, $3, "qdisc-stats::backlog_pkts"
		print "count", $1, $6, "qdisc-stats::dropped"
	}' "$1" | to_steps "$seconds" |
		write "$name-queue" qdisc-stats "$name" "$1" "$seconds" '{}'
	{
		awk -F, 'NR > 1 { print "count", $1, $4 * 8 / 1e6, "TCP upload sum" }' "$1"
		# -1: no answer
		awk -F, 'NR > 1 && $2 >= 0 { print "sample", $1, $2 / 1e3, "Ping (ms) ICMP" }' "$rtt"
	} | to_steps "$seconds" |
		write "$name-flows" tcp_nup "$name" "$1" "$seconds" '{ "upload_streams": "4" }'
}

lab() # DIRECTORY
{
	local name file files=() seconds mtu rtt flows
	[[ -s $1/meta.json ]] || die "$1: no run of the lab, and no queue-*.csv of the demo"
	read -r name mtu rtt < <(jq -r '"\(.scenario)-\(.name) \(.params.mtu) \(.params.rtt)"' "$1/meta.json")
	# a run may be too short for a line of rates
	for file in "$1"/{queue,rates}{,.gz}; do
		[[ ! -s $file || -z $(zcat -f "$file" | head -n 1) ]] || files+=("$file")
	done
	[[ ${#files[@]} -gt 0 ]] || die "$1: no trace of a queue or of rates in it"
	seconds=$(zcat -f "${files[@]}" | awk '
		!/^#/ { t = NF == 3 ? $1 : $3 } t > last { last = t } END { print last / 1e9 }')
	for file in "${files[@]}"; do
		case ${file##*/} in
		queue*)
			zcat -f "$file" | awk -v wire=$((mtu + 14)) '!/^#/ {
				print "level", $3 / 1e9, $4, "qdisc-stats::backlog_bytes"
				print "level", $3 / 1e9, $4 / wire, "qdisc-stats::backlog_pkts"
			}' | to_steps "$seconds" |
				write "$name-queue" qdisc-stats "$name" "$file" "$seconds" '{}' ;;
		rates*)
			flows=$(zcat -f "$file" | awk '!($2 in f) { f[$2]; n++ } END { print n }')
			zcat -f "$file" | awk '
				$1 != at && at != "" { print "count", at / 1e9, all * 8 / 1e6, "TCP upload sum" }
				{
					print "count", $1 / 1e9, $3 * 8 / 1e6, "TCP upload::" $2 + 1
					at = $1
					all += $3 - had[$2]
					had[$2] = $3
				}
				END { print "count", at / 1e9, all * 8 / 1e6, "TCP upload sum" }' |
				to_steps "$seconds" "${rtt}e-6" |
				write "$name-flows" tcp_nup "$name" "$file" "$seconds" \
					"{ \"upload_streams\": \"$flows\" }" ;;
		esac
	done
}

mkdir -p "$out"
for source; do
	if [[ -d $source ]]; then
		lab "${source%/}"
	elif [[ -s $source && ${source##*/} == queue-*.csv ]]; then
		demo "$(realpath "$source")"
	else
		bad "'$source': no directory and no queue-*.csv"
	fi
done
