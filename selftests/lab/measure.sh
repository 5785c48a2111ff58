#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the lab's measure.sh makes of traces: of some that are made up so that the
# answers can be had by hand. Links of 1 Gbit/s, 100 us, where a packet of 1250
# bytes takes 10 us.
#
# check: host
# usual: 15
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
lab=$top/scripts/lab
export RESULTS=$tmp HPCCPP_LAB=${HPCCPP_LAB:-$top/.build/lab}

# made_up SCENARIO [KEY VALUE]...: the directory of a run, in $dir
made_up()
{
	dir=$tmp/$1
	mkdir -p "$dir"
	jq -n --arg scenario "$1" '
		$ARGS.positional as $a | { $scenario, name: $scenario, cc: "hpccpp", seed: 1, kernel: "k", module: "m",
		params: ({ mbit: 1000, rtt: 100, mtu: 1236, eta: 95, ms: 20, flows: 2, host: "fifo" } +
			([range(0; $a | length; 2) | { ($a[.]): ($a[. + 1] | tonumber? // .) }] | add // {})) }' \
		--args "${@:2}" >"$dir/meta.json"
	: >"$dir/links"
}
# flow ID SIZE START FCT IDEAL RECEIVED CC SETUP: a line of tgen's; "-" is nothing
flow() { echo "$1 h$1 r1 $2 $3 $4 $5 $6 $6 $7 $8 0 0 10000 5000"; }
# ways LINK...: of each flow from standard input, the first and the last link and of others
# those that are named "SRC-DST:LINK"; 1 Gbit/s
ways()
{
	awk -v between="$*" 'BEGIN { n = split(between, links, " ") }
		{
			printf "%s %s 1000000000", $1, $2
			for (i = 1; i <= n; i++)
				if (split(links[i], part, ":") && part[1] == $2 "-" $3)
					printf " %s 1000000000", part[2]
			print " to-" $3 " 1000000000"
		}'
}
metric() { jq -c ".metrics.$1" "$tmp/$scenario.json"; }
measured() # SCENARIO
{
	scenario=$1
	check "$scenario: is measured" "$lab/measure.sh" "$scenario"
}
is() { assert_eq "$scenario: $1" "$(metric "$1")" "$2"; } # METRIC VALUE

ktap_plan 65

# 100 packets at 0; from 1 ms on the link sends 8 for each 2 that come. The flow
# that has the longest stall gets nothing from 0.2 to 0.9 ms.
made_up incast size 1250
{
	echo "42 p3 0 0 0"
	for ((i = 0; i <= 100; i++)); do
		echo "42 p3 $((1000000 + i * 10000)) $(((i < 10 ? 100 : 100 - (i - 10) * 6 / 8) * 1250)) $((i * 1250))"
	done
	echo "42 p3 2500000 6250 126250"
	echo "42 p3 2600000 0 127500"
} >"$dir/queue"
echo "42 p3" >"$dir/port"
{
	flow 0 1250 100000 900000 - 1250 hpccpp 1
	flow 1 1250 100000 1100000 - 1250 hpccpp 1
} >"$dir/flows"
printf '%s\n' "200000 0 10" "900000 0 20" "200000 1 10" "600000 1 20" "1100000 1 20" >"$dir/rates"
measured incast
# bytes: two segments with 66 of headers each; two round trips, 8 ns a byte
is ideal_us "$(jq -n '200 + 2 * (1250 + 2 * 66) * 8 / 1000')"
is completion_us 1100
is unfinished 0
is queue_peak 100
# 95 packets in 1.41 ms, of the 141 that the link can send; the first at 1.09 ms
is drain_us 1500
is drain_net_rate 0.633333
is stall_us 700
check "incast: traces are kept" [ -e "$dir/queue.gz" ]

# Ours get 10 % beside the other until that ends at 10 ms; its last bytes come at
# 10.5 ms, and from 11 ms on ours have all.
made_up mixed
echo "42 p3" >"$dir/port"
{
	flow 0 - 1700 - - 1 hpccpp 1
	flow 1 - 1700 - - 1 dctcp 1
} >"$dir/flows"
for ((t = 100; t <= 20000; t += 100)); do
	ours=$((t <= 11000 ? t * 12 : 132000 + (t - 11000) * 125))
	echo "$((t * 1000)) 0 $ours"
	((t > 10500)) || echo "$((t * 1000)) 1 $((t * 112))"
done >"$dir/rates"
printf '%s\n' ' used=1 U=1 R=500000' ' used=1 U=1 R=250000' ' used=0 U=1 R=1' >"$dir/updates"
measured mixed
is share_ours 0.096
is share_others 0.896
is share_after 1
is least_R_mbit 2
# a mean over two round trips, which is over 0.95 * 0.95 * 0.93 when it is whole
is leave_back 7

# Others begin at 1 ms, and make 50 packets. The link is full, but for 0.1 ms, and the trace is
# from 0.1 ms on.
made_up powertcp shape incast
echo "begin 1000000" >"$dir/events"
echo "42 p3" >"$dir/port"
flow 0 - 1700 - - 1 hpccpp 1 >"$dir/flows"
for ((i = 0; i <= 200; i++)); do
	echo "42 p3 $((i * 10000)) $(((i < 90 ? 2 : i < 138 ? 140 - i : 2) * 1250)) $(((i - (i < 150 ? 0 : i < 160 ? i - 149 : 10)) * 1250))"
done >"$dir/queue"
measured powertcp
is queue_before 2
is queue_peak 50
is queue_back 4.5
is load 0.909091
is load_least 0.5
# From 1 to 3 ms there are two; the first gets three times what the second does, at last.
made_up powertcp shape staggered
printf '%s\n' "join 1000000 1" "leave 3000000 0" >"$dir/events"
echo "42 p3" >"$dir/port"
for i in 0 1; do flow $i - 1700 - - 1 hpccpp 1; done >"$dir/flows"
printf '%s\n' "42 p3 0 0 0" "42 p3 5000000 0 0" >"$dir/queue"
for ((t = 100; t <= 4000; t += 100)); do
	echo "$((t * 1000)) 0 $((t * 3))"
	((t <= 1000)) || echo "$((t * 1000)) 1 $((t < 2000 ? t * 3 : 4000 + t))"
done >"$dir/rates"
measured powertcp
is jains 0.8
# After a leave at 1 ms the link is half full for 0.4 ms: so is a half of the fourth round trip and
# the one after it. The trace begins a round trip after the run.
made_up step
echo "leave 1000000 0" >"$dir/events"
echo "42 p3" >"$dir/port"
flow 0 - 1700 - - 1 hpccpp 1 >"$dir/flows"
for ((t = 0; t <= 3000; t += 10)); do
	echo "42 p3 $((t * 1000)) 0 $((125 * (t <= 900 ? t : t <= 1300 ? (t + 900) / 2 : t - 200)))"
done >"$dir/queue"
echo "3000000 0 1" >"$dir/rates"
measured step
is leave_lows 0.5
is leave_lows_late 0.75
# 1 ms waits for half a percent of the time, and then a tenth of that.
made_up messages
echo "42 p3" >"$dir/port"
for i in 1 2; do flow $i 1184 0 $((i * 50000)) - 1184 hpccpp 1; done >"$dir/flows"
printf '%s\n' "42 p3 0 125000 0" "42 p3 500000 12500 0" "42 p3 98000000 0 0" "42 p3 100000000 0 0" >"$dir/queue"
measured messages
is goodput_gbit 0.18944
is completion_us 100
is fct_p99_us 50
is queue_p99_us 101

# Slowdowns 1 to 100 of flows of 100 to 10000 bytes: the largest is the slowest.
made_up fabric
for ((i = 1; i <= 100; i++)); do
	flow "$i" $((i * 100)) 1000 $((i * 1000)) 1000 $((i * 100)) hpccpp 0
done >"$dir/flows"
flow 101 5 1000 - 1000 0 hpccpp 0 >>"$dir/flows"
ways <"$dir/flows" >"$dir/ways"
queues() # of two ports of a switch, and of a host
{
	local port
	for port in "p1 1250" "p2 2500" "eth0 37500"; do
		echo "42 ${port% *} ns 1000000 packets 76 bytes 95000 drops 0 marks 0" \
			"mean ${port#* } p50 0 p99 ${port#* } max ${port#* }"
	done
}
queues >"$dir/links"
measured fabric
is queue_mean 11
is queue_p99 30
is smallest_p99 19
is smallest_mean 10.5
is largest_p50 98
is unfinished 1
is flows 100
is sizes "$(jq -nc '[range(5; 101; 5) * 100]')"
made_up fabric host fq
queues >"$dir/links"
measured fabric
is queue_mean 1.5
is queue_p99 2

# Packets of 1184 bytes and 66 of headers, a base RTT of 100 us: ten packets take 100 us.
alone() { echo $((100000 + $1 * 10000)); } # PACKETS
short() { echo "$1 $2 $3 $(($4 * 1184)) $5 - $(alone "$4") 0 0 cc 0 0 0 0 0"; } # ID SRC DST PACKETS START
oracle() # [LINK...]: nanoseconds that each flow from standard input takes
{
	cat >"$tmp/flows"
	ways "$@" <"$tmp/flows" >"$tmp/ways"
	"$HPCCPP_LAB/oracle" 1236 "$tmp/ways" <"$tmp/flows" | awk '{ print $2 }' | xargs
}
assert_eq "oracle: a flow alone" "$(short 0 a b 10 7 | oracle)" "$(alone 10)"
# alone for the first and the last 10 us
assert_eq "... two of one host, one 10 us later" "$({ short 0 a b 10 0; short 1 a c 10 10000; } | oracle)" \
	"290000 290000"
assert_eq "... two to one host" "$({ short 0 a c 10 0; short 1 b c 10 0; } | oracle)" "300000 300000"
assert_eq "... what one cannot use another has" \
	"$({ for i in 0 1 2; do short $i a r$i 10 0; done; short 3 b r1 20 0; } | oracle)" \
	"400000 400000 400000 400000"
two() { short 0 a c 10 0; short 1 b d 10 0; }
assert_eq "... two that meet between switches" "$(two | oracle a-c:s b-d:s)" "300000 300000"
assert_eq "... and that do not" "$(two | oracle a-c:s b-d:t)" "200000 200000"
# a fifth for each to c, so that s has three fifths for b, of which d has a half
assert_eq "... what two leave on a link that is not the last is another's" \
	"$({ n=0; for i in a x y z w; do short $((n++)) "$i" c 10 0; done; short 5 b d 25 0; short 6 e d 25 0; } |
		oracle a-c:s x-c:s b-d:s)" "600000 600000 600000 600000 600000 600000 600000"
assert_eq "... on a connection that is there, beside one that is opened 100 us before" \
	"$({ short 0 a b 10 0 | awk '{ $11 = 100000; print }'; short 1 a c 10 100000; } | oracle)" "300000 300000"
assert_eq "... a flow without end is none" "$({ echo "0 a b - 0 - - 0 0 cc 0 0 0 0 0"; short 1 a c 10 0; } | oracle)" \
	"$(alone 10)"
no_way() { ! "$HPCCPP_LAB/oracle" 1236 /dev/null <"$tmp/flows" 2>"$tmp/err" && grep -q "flow 1 has no way" "$tmp/err"; }
check "... one without a way is an error" no_way
# S has no handshake, but the last ACK's way, and O not what the others' sharing costs
made_up oracle
jq '.scenario = "fabric"' "$dir/meta.json" >"$dir/meta" && mv "$dir/meta" "$dir/meta.json"
for i in 0 1; do
	short $i h$i r1 10 0 | awk '{ $6 = 600000; $11 = 100000; print }'
done >"$dir/flows"
ways <"$dir/flows" >"$dir/ways"
measured oracle
is to_100k_R_p99 3
is to_100k_S_p99 2.75
is S_p99 "[2.75,2.75]"
is short_S_p99 2.75
is all_S_p99 2.75
is to_100k_O_gmean 1.83333

# A flow of 3/4 and one of 1/4: Jain's index is 1 / (2 (9/16 + 1/16)).
made_up long
echo "42 p3" >"$dir/port"
echo "42 p3 ns 1000000 packets 76 bytes 95000 drops 2 marks 1 mean 2500 p50 1250 p99 12500 max 25000" >"$dir/links"
{
	flow 0 - 1 - - 300 hpccpp 1
	flow 1 - 1 - - 100 hpccpp 1
} >"$dir/flows"
measured long
is jain 0.8
is utilisation 0.76
is queue_p99 10
refused() { ! "$lab/measure.sh" none 2>/dev/null; }
check "a run that is not there is refused" refused
ktap_finish
