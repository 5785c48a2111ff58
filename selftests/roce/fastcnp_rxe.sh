#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fast CNP with real RoCEv2 traffic of the kernel's own rxe. It shows queue, loss, throughput
# and shares of several queue pairs, without IOAM (figure 3, DCQCN) and with it (figure 4,
# HPCC++), where ha adds a trace, both ports write into it, and hb takes it off. It compares
# these with a receiver's CNPs alone, and shows how much later those come. The last part
# shows a detour where there are two ways.
#
#	ha ==200M== s1 next ---- s2 next ==100M== hb
#	     <-------------------- Fast CNP
#
# check-all: 6.1
# usual: 110
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=rxe.sh
. "${BASH_SOURCE%/*}/rxe.sh"

# less than the line takes for what rxe has handed down, so that the start is short
T=2ms
# HPCC++ takes a load that it hears of within a T for its own doing: so T has to be longer
# than the line takes for what rxe has handed down
T_HPCC=10ms

# Flows' bytes at half-time, for their shares after it
half_time()
{
	sleep "$(awk "BEGIN { print $seconds / 2 }")"
	"$HPCCPP" -j cnp show dev ha >"$tmp/half"
}

# congest TOOL SECONDS: runs four queue pairs. Sets goodput, sent_bps, mean_bytes, p99_bytes and
# drops; late_bytes and late_drops, which count after two round trips; and, with an agent, shares:
# the least and the largest flow, each over the mean
congest()
{
	local half='' seconds=$2
	shares="- -"
	meter_start
	if [[ -n $(tc filter show dev ha egress) ]]; then
		shares=
		started() { cnp_is '[.queue_pairs[] | select(.packets > 200)] | length == 4'; }
		( busywait 20 started; half_time ) & half=$!
	fi
	# ECN capable: ECT(0)
	perftest "$1" -q 4 -s 65536 -D "$seconds" --tclass 2
	[[ -z $half ]] || wait $half
	meter_stop
	# since_first_data reads this file; there are no probes
	echo time,us >"$tmp/rtt.csv"
	since_first_data "$seconds"
	# two round trips, as long as they are with a full queue
	queue_between "$(awk "BEGIN { print 2 * ($RTT_US + $FULL_US) / 1e6 }")" "$seconds"
	late_drops=$drops late_bytes=$mean_bytes
	queue_between 0 "$seconds"
	[[ -n $shares ]] || shares=$("$HPCCPP" -j cnp show dev ha | jq -r --slurpfile half "$tmp/half" '
		[.[0].queue_pairs[] | . as $f | $half[0][0].queue_pairs[] | select(.dqpn == $f.dqpn and .packets > 200) |
			$f.bytes - .bytes] | (add / length) as $mean |
		"\(min / $mean * 1e3 | round / 1e3) \(max / $mean * 1e3 | round / 1e3)"')
	printf '# %-32s %7.1f %7.1f %9d %9d %9d %7d %7d  %s\n' "$name" \
		"$(awk "BEGIN { print $goodput / 1e6 }")" "$(awk "BEGIN { print $sent_bps / 1e6 }")" \
		"$mean_bytes" "$p99_bytes" "$late_bytes" "$drops" "$late_drops" "$shares"
}

# holds: asserts what holds in every run, over its whole time. Shares are those of its second
# half, and are within a tenth of the mean with LONG=1. In a short run a flow sends a few hundred
# packets in that time, and a single decrease shows: within a fifth.
holds()
{
	assert_eq "$name: drops after two round trips" "$late_drops" 0
	assert_ge "$name: throughput" "$goodput" $((without_goodput * 9 / 10)) bit/s
	assert_ge "$name: least share" "${shares% *}" "$(how_often 0.8 0.9)"
	assert_le "$name: largest share" "${shares#* }" "$(how_often 1.2 1.1)"
	assert_ge "$name: heeded" "$(stat switch)" 100
	assert_eq "$name: nothing amiss" "$(cnp '[.stats | .untracked, .denied, .malformed, .unknown, .checksum,
		.icrc, .error, .trace_bad, .trace_mtu, .trace_left] | add')" 0
}

# --- How long it takes to hear of a mark -------------------------------------------------------

roce=("/usr/bin/python3" "$top/selftests/roce/fastcnp.py")
# watch NAME DEV FILTER [COMMAND]: captures the first packets that arrive there in $tmp/NAME.pcap
watch()
{
	# shellcheck disable=SC2086 # words, or none
	run_bg ${4-} tcpdump -i "$2" -Q in -c 1000 -s 128 -B 4096 -U --immediate-mode -Z root -w "$tmp/$1.pcap" "$3" 2>"$tmp/$1.err"
	watching+=($!)
	busywait 20 grep -q 'listening on' "$tmp/$1.err"
}
# watch_start: captures data before the port that marks it, data with a mark at the receiver, and
# CNPs at the sender
watch_start()
{
	watching=()
	watch switch prev 'udp dst port 4791' "nsenter --net=/run/netns/$s2"
	watch receiver hb 'ip6[1] & 0x30 == 0x30'
	watch sender ha 'ip6[6] == 60 or (ip6[6] == 17 and ip6[48] == 0x81)'
}
# watch_stop: takes the first data packet that arrived with a mark, and sets three times in us since
# it came to the port that marked it: waited, until it arrived; told_switch and told_receiver, until
# the sender had a CNP about it from each of these
watch_stop()
{
	kill "${watching[@]}" 2>/dev/null || true
	wait "${watching[@]}" || true
	"${roce[@]}" read "$tmp/switch" "$tmp/receiver" "$tmp/sender"
	read -r waited told_switch told_receiver < <(jq -n -r --arg b $b --slurpfile s "$tmp/switch" \
		--slurpfile r "$tmp/receiver" --slurpfile c "$tmp/sender" '
		$r[0] as $mark | first($s[] | select(.qpn == $mark.qpn and .bth == $mark.bth)).time as $t |
		[$c[] | select(.op == 129 and .time > $t)] as $cnps |
		[$mark, (false, true | . as $of_b | first($cnps[] | select(.qpn == $mark.qpn and (.src == $b) == $of_b)))] |
		map((.time - $t) * 1e6 | round) | join(" ")')
}

port_stats() # NETNS NAME...
{
	"$HPCCPP" -j port show dev next netns "$1" | jq -r '[.[0].stats[$ARGS.positional[]]] | join(" ")' --args "${@:2}"
}

echo TAP version 13
# --- Congestion ------------------------------------------------------------------------------

printf '# %-32s %7s %7s %9s %9s %9s %7s %7s  %s\n' "" Mbit/s wire queue p99 late drops late "share, least most"
# each tool takes a minute and a half
for tool in ib_write_bw ${LONG:+ib_send_bw}; do
	name="$tool, without"
	congest "$tool" 2
	without=$mean_bytes without_goodput=$goodput
	assert_ge "$name: queue" "$mean_bytes" 100000 bytes
	assert_ge "$name: drops" "$late_drops" 100

	"$HPCCPP" port add dev next netns "$s2" cnp 100 base-rtt $T
	"$HPCCPP" cnp add dev ha accept fd00:5::/64 rate 200mbit base-rtt $T
	name="$tool, Fast CNP"
	congest "$tool" "$(how_often 4 15)"
	assert_le "$name: queue, a fifth" "$mean_bytes" $((without / 5)) bytes
	holds
	"$HPCCPP" cnp del dev ha

	# the same with the T that HPCC++ has below, for a comparison
	if [[ -n ${LONG-} ]]; then
		"$HPCCPP" cnp add dev ha accept fd00:5::/64 rate 200mbit base-rtt $T_HPCC
		name="$tool, T $T_HPCC"
		congest "$tool" 15
		figure3=("$goodput" "$p99_bytes")
		"$HPCCPP" cnp del dev ha
	fi
	"$HPCCPP" port del dev next netns "$s2"

	# The port marks each packet about which it sends a CNP, and ha takes only the CNPs of the
	# receiver: so both tell of the same packets, from different places. hb's netem delays the
	# way back. For RoCEv2's own CNP the receiver has to learn the queue pair from an ACK first,
	# so that it does not answer the first mark.
	"$HPCCPP" port add dev next netns "$s2" cnp 100 ecn mark base-rtt $T
	for answer in ${LONG:+fast-cnp cnp}; do
		tc qdisc add dev hb parent 1:1 fq
		"$HPCCPP" cnp add dev hb accept fd00:5::/64 rate 200mbit base-rtt $T answer "$answer"
		"$HPCCPP" cnp add dev ha accept $b rate 200mbit base-rtt $T
		name="$tool, receiver's $answer"
		watch_start
		congest "$tool" "$(how_often 2 15)"
		watch_stop
		heeded=ordinary
		if [[ $answer == fast-cnp ]]; then
			heeded=receiver
			ktap_diag "$name: the first mark at hb after $waited us; about it at ha the port's CNP after" \
				"$told_switch us, the receiver's after $told_receiver us"
			# 1 ms is the way back to the port; rxe works through the packets of
			# a message at once, so that the CNP may wait for that too, less than T
			later=$((told_receiver - told_switch))
			assert_ge "$name: later than the port's by the mark's way to hb and back" $later $((waited + 900)) us
			assert_le "... and no more than by T" $later $((waited + 2000)) us
			assert_le "... the port's comes in the way from it" "$told_switch" 500 us
		fi
		read -r answered suppressed unpaired < <("$HPCCPP" -j cnp show dev hb |
			jq -r '.[0].stats | "\(.answered) \(.suppressed) \(.unpaired)"')
		ktap_diag "$name: answered $answered, suppressed $suppressed, unpaired $unpaired; of the port, not taken: $(stat denied)"
		assert_ge "$name: heeded" "$(stat $heeded)" 100
		"$HPCCPP" cnp del dev ha
		"$HPCCPP" cnp del dev hb
		tc qdisc del dev hb parent 1:1
	done
	"$HPCCPP" port del dev next netns "$s2"

	"$HPCCPP" port add dev next netns "$s1" base-rtt $T ioam 7 rate 200mbit queue virtual
	"$HPCCPP" port add dev next netns "$s2" base-rtt $T ioam 7 cnp 100
	# fq goes below netem, as the receiver's agent needs an fq
	tc qdisc add dev hb parent 1:1 fq
	for dev in ha hb; do
		"$HPCCPP" cnp add dev $dev accept fd00:5::/64 rate 200mbit base-rtt $T_HPCC trace 2 to $a to $b \
			ioam-namespace 7 threshold 100 flows 16
	done
	name="$tool, T $T_HPCC, IOAM"
	congest "$tool" "$(how_often 4 15)"
	assert_le "$name: queue, a fifth" "$mean_bytes" $((without / 5)) bytes
	if [[ -n ${LONG-} ]]; then
		# not the mean: 7.7 to 8.6 KB, without IOAM 5.4 on a busy machine, 13.8 on an idle one
		assert_le "$name: p99 less than without IOAM" "$p99_bytes" "${figure3[1]}" bytes
		# a packet has 72 bytes more
		assert_ge "$name: throughput, that without IOAM but for 10 %" "$goodput" $((figure3[0] * 9 / 10)) bit/s
	fi
	holds
	assert_eq "$name: all heeded by their trace" "$(stat traced)" "$(stat switch)"
	added=$(stat trace_added)
	assert_eq "$name: every trace was written by both ports and, but for drops, taken off; none left" \
		"$(port_stats "$s1" traced trace_full trace_bad) $(port_stats "$s2" traced trace_full trace_bad) $(
		"$HPCCPP" -j cnp show dev hb | jq -r '.[0].stats | "\(.trace_removed) \(.trace_left)"')" \
		"$added 0 0 $added 0 0 $((added - drops)) 0"
	for dev in ha hb; do
		"$HPCCPP" cnp del dev $dev
	done
	tc qdisc del dev hb parent 1:1
	"$HPCCPP" port del dev next netns "$s1"
	"$HPCCPP" port del dev next netns "$s2"
done

# --- Two ways ----------------------------------------------------------------------------------

# At first two of three flows go by s3, which has less room than one of them wants. s2 is on both
# ways, so no flow goes around s2, whatever it tells. Each flow has one packet on its way, as rxe
# fails before long when packets are overtaken, sent again, and then arrive late.
#
#	ha ==200M== s1 ------------------ s2 next ==100M== hb
#	               `-- s3 next ==5M==-'
setup_ns s3
ip -n "$s1" link add s3 type veth peer name s1 netns "$s3"
ip -n "$s3" link add next type veth peer name s3 netns "$s2"
ip -n "$s1" -batch - <<END
link set s3 up
addr add fd00:d::1/64 dev s3 nodad
END
ip -n "$s2" -batch - <<END
link set s3 up
addr add fd00:e::2/64 dev s3 nodad
END
ip -6 -n "$s3" -batch - <<END
link set lo up
link set s1 up
link set next up
addr add fd00:5::3/128 dev lo
addr add fd00:d::2/64 dev s1 nodad
addr add fd00:e::1/64 dev next nodad
route add fd00:a::/64 via fd00:d::1
route add fd00:b::/64 via fd00:e::2
END
nsenter --net="/run/netns/$s3" sysctl -qw net.ipv6.conf.all.forwarding=1
nsenter --net="/run/netns/$s1" sysctl -qw net.ipv6.fib_multipath_hash_policy=1
ip -6 -n "$s1" route replace fd00:b::/64 nexthop via fd00:d::2 weight 2 nexthop via fd00:c::2 weight 1
tc -n "$s3" qdisc add dev next root tbf rate 5mbit burst 3000 limit 448kb
by_s3() { ip -n "$s3" -j -s link show dev next | jq '.[0].stats64.tx.bytes'; }
# once in 6000 runs no QP goes by s3, and there is no detour
ways() # [detour PREFIX]: runs eight queue pairs; sets late_s3, the bytes by s3 in the second half
{
	"$HPCCPP" port add dev next netns "$s2" cnp 100 base-rtt $T_HPCC
	"$HPCCPP" port add dev next netns "$s3" cnp 100 base-rtt $T_HPCC
	"$HPCCPP" cnp add dev ha accept fd00:5::/64 rate 200mbit base-rtt $T_HPCC "$@"
	name="two ways${*:+, detour}"
	started() { cnp_is '[.queue_pairs[] | select(.packets > 10)] | length == 8'; }
	( busywait 20 started; seconds=4; half_time; by_s3 >"$tmp/half_s3" ) & half=$!
	perftest ib_write_bw -q 8 -s 1024 -t 1 -D 4
	wait $half
	late_s3=$(($(by_s3) - $(<"$tmp/half_s3")))
	late_all=$(jq -n --slurpfile half "$tmp/half" --slurpfile now <("$HPCCPP" -j cnp show dev ha) \
		'[$now, $half | [.[0][0].queue_pairs[].bytes] | add] | .[0] - .[1]')
	ktap_diag "$name: $goodput bit/s, by s3 in the second half $late_s3 bytes of $late_all, detours" \
		"$(cnp '[.queue_pairs[].detours // 0] | join(" ")')"
	assert_eq "$name: nothing amiss" "$(cnp '[.stats | .untracked, .denied, .malformed, .unknown, .checksum, .icrc, .error] | add')" 0
	detours=$(stat detoured)
	"$HPCCPP" cnp del dev ha
	"$HPCCPP" port del dev next netns "$s2"
	"$HPCCPP" port del dev next netns "$s3"
}
ways
stay=$goodput
ways detour fd00:5::3
assert_ge "$name: detours" "$detours" 1
assert_le "$name: by s3 in the second half, a tenth" $((late_s3 * 10)) "$late_all"
assert_ge "$name: throughput, no less than without" "$goodput" "$stay" bit/s
ktap_finish
