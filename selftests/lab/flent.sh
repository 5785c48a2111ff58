#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Compares the data files that flent.py makes of made-up traces of the demo and of the lab with
# figures computed by hand; flent itself reads the files.
#
# check: host
# usual: 15
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# Two seconds of the demo. Half of the time 10 packets wait, half of it none; the link
# carries 100 Mbit/s in the first, 200 in the second, and drops 4 packets there. The
# second probe is lost.
cat >"$tmp/queue-x-ipv4.csv" <<'END'
t,bytes,packets,sent_bytes,sent_packets,drops
0.000000,15140,10,5000000,4000,34
1.000000,0,0,17500000,8000,34
2.000000,0,0,42500000,16000,38
END
cat >"$tmp/rtt-x-ipv4.csv" <<'END'
t,rtt_us
0.000100,2000.0
0.500000,-1
0.700000,4000.0
1.500000,3000.0
END
# 4 ms of the lab: two flows with 1 and 2 ms of 8 Gbit/s, and then nothing.
mkdir "$tmp/run" "$tmp/fabric"
echo '{ "scenario": "step", "name": "two", "params": { "mtu": 1500, "rtt": 1000000 } }' \
	>"$tmp/run/meta.json"
cp "$tmp/run/meta.json" "$tmp/fabric"
printf '%s\n' link,netns,dev,bottleneck 0,s1,p2,0 1,s1,p3,1 >"$tmp/run/links.csv"
gzip >"$tmp/run/queue.csv.gz" <<'END'
time_ns,link,queue_bytes,sent_bytes
3000000,0,15140,0
0,1,0,0
1000000,1,3028,0
1500000,1,0,3028
4000000,1,0,3028
END
gzip >"$tmp/run/rates.csv.gz" <<'END'
time_ns,flow,received_bytes
1000000,0,1000000
1000000,1,1000000
2000000,1,2000000
4000000,0,1000000
END

value() # FILE SERIES: what flent reads there, in time's order
{
	flent -i "$tmp/out/$1.flent.gz" -f csv -o "$tmp/csv" >"$tmp/flent" 2>&1
	tr -d '\r' <"$tmp/csv" | awk -F, -v series="$2" '
		NR == 1 { for (i = 2; i <= NF; i++) if ($i == series) column = i; next }
		column { printf "%s%s", (NR > 2 ? " " : ""), ($column == "" ? "-" : sprintf("%g", $column)) }'
	rm "$tmp/csv"
}

is() # FILE SERIES VALUES
{
	local got
	got=$(value "$1" "$2")
	check "$1: $2: $got" [ "$got" = "$3" ]
}

flent() { XDG_CONFIG_HOME=$tmp HOME=$tmp command flent "$@"; }

echo TAP version 13
check "flent.py" "$top/scripts/flent.py" -o "$tmp/out" -s 4 "$tmp/queue-x-ipv4.csv" "$tmp/run"
is x-ipv4-queue qdisc-stats::backlog_bytes "15140 15140 0 0"
is x-ipv4-queue qdisc-stats::backlog_pkts "10 10 0 0"
is x-ipv4-queue qdisc-stats::dropped "0 0 4 4"
is x-ipv4-flows "TCP upload sum" "100 100 200 200"
is x-ipv4-flows "Ping (ms) ICMP" "2 4 - 3"
is step-two-queue qdisc-stats::backlog_bytes "0 1514 0 0"
is step-two-queue qdisc-stats::backlog_pkts "0 1 0 0"
is step-two-flows "TCP upload::1" "8000 0 0 0"
is step-two-flows "TCP upload::2" "8000 8000 - -"
is step-two-flows "TCP upload sum" "16000 8000 0 0"
for file in "$tmp"/out/*; do
	name=${file##*/}
	test=tcp_nup
	[[ $name != *-queue* ]] || test=qdisc-stats
	check "$name: flent's test $test, and its summary" \
		grep -q "^Summary of $test test run" <(flent -i "$file" -f summary 2>&1)
done

# plots FILE PLOT: a picture, and not an empty one
plots()
{
	flent -i "$tmp/out/$1.flent.gz" -p "$2" -o "$tmp/$2.png" &&
		[[ $(head -c 4 "$tmp/$2.png" | tail -c 3) == PNG && $(stat -c %s "$tmp/$2.png") -gt 10000 ]]
}
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
	check "flent plots the queue" plots step-two-queue backlog
	check "... and the rates" plots step-two-flows totals
else
	ktap_skip "flent plots the queue and the rates" "no python3-matplotlib"
fi

refused() # PATTERN ARGUMENT...: in one line like that
{
	! "$top/scripts/flent.py" "${@:2}" >"$tmp/said" 2>&1 && [[ $(wc -l <"$tmp/said") -eq 1 ]] &&
		grep "^flent.py: $1" "$tmp/said"
}
gzip <<<time_ns,flow,received_bytes >"$tmp/run/rates.csv.gz"
too_short()
{
	"$top/scripts/flent.py" -q -o "$tmp/short" "$tmp/run" >"$tmp/said" 2>&1 &&
		[[ ! -s $tmp/said && $(ls "$tmp/short") == step-two-queue.flent.gz ]]
}
check "a run too short for a line of rates; -q says nothing" too_short
check "no such source" refused "'$tmp/none': no directory" -o "$tmp/out" "$tmp/none"
check "a run without a trace" refused "$tmp/fabric: no trace" -o "$tmp/out" "$tmp/fabric"
check "no run" refused "$tmp/out: no run" -o "$tmp/out" "$tmp/out"
check "no number of steps" refused "argument -s: '0': a number" -s 0 "$tmp/run"
mv "$tmp/rtt-x-ipv4.csv" "$tmp/rtt"
check "no round trips" refused "$tmp/queue-x-ipv4.csv: no rtt" -o "$tmp/out" "$tmp/queue-x-ipv4.csv"
ktap_finish
