#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Loss, reordering, duplication, ECN marks, and a path that is away for a second: data
# arrives unharmed, no stall is longer than a retransmission timeout, and Reno is not faster
# under the same conditions.
#
#	h1 --1G-- s1 ==200M== s2 --*-- r
#
# * is where it goes wrong, for data at s2's "next" and for ACKs at s2's "prev":
# netem, and no port agent. What is reordered is 1 ms late. The base RTT is 2 ms.
#
# check: uml main
# check-long: 6.1
# usual: 60
# shellcheck disable=SC2317 # functions that flow_tests calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

size=3m				# of one transfer
long=30m			# ... where what comes after its start counts
link=164			# Mbit/s: 88 % of what eta leaves of the link for data
ticks=8				# ms: the timer is up to two ticks of 4 ms late

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
percents=$(! runs_main || echo 1; ! runs_rest || echo 0.1 5)
echo TAP version 13
# shellcheck disable=SC2034 # used in topo_line
SYSCTLS=net.ipv4.tcp_ecn=1
topo_line 1 2
# shellcheck disable=SC2154 # set by topo_line
tc -n "$s2" qdisc del dev next root
unset "ports[-1]"
for dev in next prev; do
	tc -n "$s2" qdisc add dev "$dev" root netem limit 100000
done
agents_on

impair() { new_netem "$s2" "$1" limit 100000 "${@:2}"; } # DEV NETEM-ARGUMENTS...

count() { counter "$h1" "$1"; }

# transfers CC TIMES. Sets mbps (their mean), gap and rto (ms, the largest),
# retransmits (all).
transfers()
{
	local i
	: >"$tmp/transfers"
	for ((i = 0; i < $2; i++)); do
		tcp_send "$h1" "$r" "${addr4[r]}" "-c $1 -n $size" || return
		# shellcheck disable=SC2128 # of tcp_send
		echo "$client $server" >>"$tmp/transfers"
	done
	read -r mbps gap rto retransmits < <(jq -r -s '
		[.[range(0; length; 2)]] as $c | [.[range(1; length; 2)]] as $s | [
			($s | map(.received * 8 / (.end - .start)) | add / length / 1e5 | round / 10),
			($s | map(.gap_us) | max / 1e3), ($c | map(.rto_us) | max / 1e3),
			($c | map(.retransmits) | add)
		] | join(" ")' "$tmp/transfers")
}

# condition NAME TIMES DEVS NETEM-ARGUMENTS...: tests. With other random numbers
# Reno differs by a tenth from itself: the means of up to five rounds, if they have to be.
condition()
{
	local name=$1 times=$2 devs=$3 dev least reno=0 sum=0 round status=0 stall=0
	shift 3
	for dev in $devs; do
		impair "$dev" "$@"
	done
	for round in 1 2 3 4 5; do
		transfers reno "$times" || status=1
		reno=$(jq -n "$reno + $mbps")
		ktap_diag "$name: reno $mbps Mbit/s, $retransmits retransmits, gap $gap ms"
		# A computed queue has what was dropped too: until that is gone as well.
		sleep 0.2
		transfers hpccpp "$times" || status=1
		sum=$(jq -n "$sum + $mbps")
		ktap_diag "$name: hpccpp $mbps Mbit/s, $retransmits retransmits, gap $gap ms"
		# a timeout, until the answer to what it sent is here, and the gap that a
		# small W leaves before a packet
		stall=$(jq -n "[$stall, $gap - ($rto + 3 * $RTT_US / 1e3 + $ticks)] | max")
		least=$(jq -n "[.95 * $reno / $round, $link] | min")
		[[ $(jq -n "$sum / $round < $least") == true ]] || break
	done
	for dev in $devs; do
		impair "$dev"
	done
	check "$name: data intact" [ "$status" -eq 0 ]
	# in virtual time alone, where this machine does not stop
	if [[ ${PLACE-} == uml ]]; then
		assert_le "$name: longest stall, beyond a timeout" "$stall" 0 ms
	fi
	assert_ge "$name: throughput, .95 of Reno's or what eta leaves" \
		"$(jq -n "$sum / $round")" "$least" Mbit/s
}

# --- Loss, reordering, duplication -------------------------------------------

undo=$(count undo)
# silent: fallbacks for want of telemetry; the others are for delay that it does not explain
silent() { echo $(($(count fallback) - $(count blind))); }
fallbacks=$(silent)
for percent in $percents; do
	size=$long condition "$percent % of the data lost" 3 next loss "$percent%"
	# a SYN-ACK may be, after which TCP begins with one packet, and waits for its ACK
	size=$long condition "$percent % of the ACKs lost" 1 prev loss "$percent%"
	condition "$percent % late, either way" 3 "next prev" delay 1ms \
		reorder "$(jq -n "100 - $percent")%"
	condition "$percent % doubled, either way" 1 "next prev" duplicate "$percent%"
done
# However much is lost at random, telemetry goes on. A flight of two packets that is lost, and then
# the next request, look like a path that drops the option: about once in 130 pairs of transfers of
# 20 MB. Packets that are late may look like a queue at a port without an agent.
assert_le "fallbacks for want of telemetry" $(($(silent) - fallbacks)) 1
assert_ge "decreases taken back after late data" $(($(count undo) - undo)) 1

# --- ECN ---------------------------------------------------------------------

# A SYN has no ECT: it is dropped where others are marked, and after that TCP asks for no ECN.
marks()
{
	local syns=-1
	marks=$(count md_cwr)
	while [[ $syns -ne $(snmp "$h1" TcpExtTCPSynRetrans) ]]; do
		syns=$(snmp "$h1" TcpExtTCPSynRetrans)
		size=$long condition "1 % of the data marked CE" 3 next loss 1% ecn
	done
	assert_ge "decreases on marks" $(($(count md_cwr) - marks)) 1
	assert_eq "retransmits with marks only" "$retransmits" 0
}

if runs_rest; then
	marks
fi

# --- Timeout -----------------------------------------------------------------

# Slower, as these flows last until somebody has looked at them.
RATE=50mbit
tc -n "$s1" qdisc change dev next root tbf rate $RATE burst $((2 * (MTU + 14))) limit "$BUFFER"
ports_off
ports_on

# the window at what fills the path
full='.mode == "hpccpp" and .W * 8e6 / .T / .B > 0.8 and .W * 8e6 / .T / .B <= 1.13'
a_second_away()
{
	local timeouts
	timeouts=$(count md_rto)
	flow_start
	busywait 10 flow_is ".updates > 100"
	impair next loss 100%
	sleep 1
	check "a second without a path: W keeps to its bounds" flow_is '.W >= 94 and .W * 8e6 / .T / .B <= 1.13'
	impair next
	check "... and is back after it" busywait 10 flow_is "$full"
	assert_ge "... decreases on a timeout" $(($(count md_rto) - timeouts)) 1
	flow_end "a second without a path"
	# 1, 2 and 4 RTOs pass before the path is tried again, or 8 more; of 200 ms and
	# what the queue added to the round trip
	assert_le "... longest stall" "$(jq '.gap_us / 1e3' "$tmp/server")" 3300 ms
}
flow_tests 5 a_second_away

ktap_finish
