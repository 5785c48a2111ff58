#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fast CNP with real RoCEv2 traffic, that of the kernel's own rxe: what it does for the
# queue, for loss, throughput and shares of several queue pairs.
#
#	ha ==200M== s1 ---- s2 next ==100M== hb
#	     <-------------- Fast CNP
#
# place: vm
# timeout: 600
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source-path=SCRIPTDIR source=rxe.sh
. "${BASH_SOURCE%/*}/rxe.sh"

T=2ms			# less than what rxe has handed down takes: the start is short then

# Flows' bytes at half-time, for their shares after it
half_time()
{
	sleep "$(awk "BEGIN { print $seconds / 2 }")"
	"$HPCCPP" -j cnp show dev ha >"$tmp/half"
}

# congest TOOL SECONDS: four queue pairs; sets goodput, mean_bytes, p99_bytes, drops, late_drops,
# and with an agent shares, the least and the most of a flow's over the mean
congest()
{
	local half='' seconds=$2
	shares="- -"
	meter_start
	if [[ -n $(tc filter show dev ha egress) ]]; then
		shares=
		started() { cnp_is '[.flows[] | select(.packets > 200)] | length == 4'; }
		( busywait 20 started; half_time ) & half=$!
	fi
	perftest "$1" -q 4 -s 65536 -D "$seconds"
	[[ -z $half ]] || wait $half
	meter_stop
	# since_first_data without probes
	echo time,us >"$tmp/rtt.csv"
	since_first_data "$seconds"
	# two round trips, as they are while the queue is full
	queue_between "$(awk "BEGIN { print 2 * ($RTT_US + $FULL_US) / 1e6 }")" "$seconds"
	late_drops=$drops
	queue_between 0 "$seconds"
	[[ -n $shares ]] || shares=$("$HPCCPP" -j cnp show dev ha | jq -r --slurpfile half "$tmp/half" '
		[.[0].flows[] | . as $f | $half[0][0].flows[] | select(.dqpn == $f.dqpn and .packets > 200) |
			$f.bytes - .bytes] | (add / length) as $mean |
		"\(min / $mean * 1e3 | round / 1e3) \(max / $mean * 1e3 | round / 1e3)"')
	printf '# %-24s %7.1f %9d %9d %7d %7d  %s\n' "$name" "$(awk "BEGIN { print $goodput / 1e6 }")" \
		"$mean_bytes" "$p99_bytes" "$drops" "$late_drops" "$shares"
}

echo TAP version 13
# --- Congestion ------------------------------------------------------------------------------

printf '# %-24s %7s %9s %9s %7s %7s  %s\n' "" Mbit/s "queue" "p99" drops late "share, least most"
# one of the tools takes a minute and a half
for tool in ib_write_bw ${LONG:+ib_send_bw}; do
	name="$tool, without"
	congest "$tool" 2
	without=$mean_bytes without_goodput=$goodput
	assert_ge "$name: queue" "$mean_bytes" 100000 bytes
	assert_ge "$name: drops" "$late_drops" 100
	"$HPCCPP" port add dev next netns "$s2" cnp 100 base-rtt $T
	"$HPCCPP" cnp add dev ha accept fd00:5::/64 rate 200mbit base-rtt $T
	name="$tool, Fast CNP"
	congest "$tool" "$(how_often 6 15)"
	assert_le "$name: queue, a fifth" "$mean_bytes" $((without / 5)) bytes
	assert_eq "$name: drops after two round trips" "$late_drops" 0
	assert_ge "$name: throughput" "$goodput" $((without_goodput * 9 / 10)) bit/s
	assert_ge "$name: least share" "${shares% *}" 0.9
	assert_le "$name: largest share" "${shares#* }" 1.1
	assert_ge "$name: heeded" "$(stat switch)" 100
	assert_eq "$name: nothing amiss" "$(cnp '[.stats | .untracked, .denied, .malformed, .unknown, .checksum,
		.icrc, .error] | add')" 0
	"$HPCCPP" cnp del dev ha
	"$HPCCPP" port del dev next netns "$s2"
done
ktap_finish
