#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# INT responses between a port and the sockets of a real kernel: a congested port sends them back,
# or on to the receiver, over routers and with every state of a checksum. The unit tests
# selftests/unit/port_test* cover the rate, the bytes and the errors of responses. The module is not
# used: the host agent's counters show how TCP handles responses.
#
#	h1 eth0 ---- h1 | s1 | next ---- prev | s2 | next ==50M== eth0 | r
#	   accepts               responds to eth0 <----------'---> or eth0 accepts
#
# check: host
# usual: 30
# shellcheck disable=SC2154,SC2128,SC2317 # set in lib.sh; arrays elsewhere; for busywait
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
HPCCPP=$top/.build/6.1/tools/hpccpp

path_up()
{
	topo_begin h1 s1 s2 r
	link 1 "$h1" eth0 "$s1" h1 0.1
	link 2 "$s1" next "$s2" prev 1.1
	link 3 "$s2" next "$r" eth0 1.2
	route "$h1" default default 0.1 2
	route "$s1" default default 1.1 2
	route "$s2" 10.0.0.0/16 fd00::/32 1.1 1
	route "$r" default default 1.2 1
	addr4[r]=10.1.2.2
	addr6[r]=fd00:1:2::2
	sed -i 's/gso_max_segs 1/gso_max_segs 16/g' "$tmp/links"
	topo_up
	# all that a window can hold waits, and nothing is lost
	tc -n "$s2" qdisc add dev next root handle 1: tbf rate 50mbit burst 64k limit 8mb
}

# Packets with the responses' codepoint go first there, to arrive before the data.
two_queues()
{
	tc -n "$s2" -batch - <<'END'
qdisc add dev next parent 1:1 handle 2: htb default 2
class add dev next parent 2: classid 2:1 htb rate 10gbit quantum 60000 prio 0
class add dev next parent 2: classid 2:2 htb rate 10gbit quantum 60000 prio 1
qdisc add dev next parent 2:2 pfifo limit 10000
filter add dev next parent 2: protocol ip prio 1 u32 match ip dsfield 0xc0 0xff flowid 2:1
filter add dev next parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0xc0 0xff flowid 2:1
END
}

# Checksums are left to the last device and packets are large, or all sums are complete.
sums() # left|complete
{
	local on=on
	[[ $1 == left ]] || on=off
	offloads "$h1" eth0 tx $on tso $on gso $on gro $on
	offloads "$s1" h1 tx $on gro $on
	offloads "$s1" next tx $on tso $on gso $on
	offloads "$s2" prev tx $on gro $on
	offloads "$s2" next tx $on tso $on gso $on
}

responder() # OPTION...
{
	[[ -z ${responding-} ]] || "$HPCCPP" port del dev next netns "$s2"
	responding=1
	"$HPCCPP" port add dev next netns "$s2" id 7 "$@"
}

acceptor()
{
	[[ -z ${accepting-} ]] || "$HPCCPP" port del dev eth0 netns "$accepting"
	accepting=$taker
	"$HPCCPP" port add dev eth0 netns "$taker" rate 10gbit id 1 \
		accept 10.1.0.0/16 accept fd00:1::/32
}

more_echoes()
{
	echo $(($(host_stat "$h1" echoes) - $(host_stat "$r" echoed) - $(host_stat "$r" echo_short)))
}
more_requests() { echo $(($(host_stat "$r" collected) - $(host_stat "$h1" asked))); }
responded() { port_stat "$s2" next .responded; }
arrived() # all that was sent back has been judged there
{
	[[ $(port_stat "$taker" eth0 '.accepted + .denied + .unknown + .outside + .damaged') -ge \
		$(responded) ]]
}

snmps() # what of both ends' TCP should not have changed
{
	local name ns
	for ns in "$h1" "$r"; do
		# not TcpRetransSegs: on a busy machine a timer sends some again
		for name in TcpInErrs TcpExtTCPFastRetrans UdpInErrors UdpNoPorts; do
			echo "$ns $name $(snmp "$ns" $name)"
		done
	done
}
challenges() { snmp "$taker" TcpExtTCPChallengeACK; }
echo TAP version 13
# Packets that wait on two CPUs overtake each other, and TCP may send them again: use one CPU.
cpus=$(taskset -cp $$)
cpus=${cpus##* }
taskset -cp "${cpus%%[,-]*}" $$ >/dev/null
path_up
taker=$h1		# who takes responses
host_on "$h1" ask always
host_on "$r"

# way TO: with each family and state of sums
way()
{
	local family sums name address more echoes requests answers sent accepted began
	for family in 4 6; do for sums in left complete; do
		name="to the $1, IPv$family, sums $sums"
		address="addr${family}[r]"
		sums $sums
		# by the programs for RoCEv2 as well
		more=()
		[[ $sums == left ]] || more=(cnp 100 source fd00:5::1 ioam 1 border)
		responder base-rtt 5ms respond 100 respond-to "$1" "${more[@]}"
		acceptor
		snmps >"$tmp/before"
		answers=$(challenges)
		began=$(date +%s%3N)
		echoes=$(more_echoes)
		requests=$(more_requests)
		check "$name: data intact" tcp_send "$h1" "$r" "${!address}" "-c cubic -n 1m"
		check "$name: all arrive" busywait 5 arrived
		sent=$(responded)
		assert_ge "$name: responses" "$sent" 5
		accepted=$(port_stat "$taker" eth0 .accepted)
		assert_eq "$name: errors" "$(port_stat "$s2" next .error)" 0
		if [[ $1 == sender ]]; then
			assert_eq "$name: accepted, of $sent" "$accepted" "$sent"
			assert_eq "$name: echoes that h1 got more than r sent" \
				$(($(more_echoes) - echoes)) "$accepted"
			assert_eq "$name: answers of TCP" $(($(challenges) - answers)) 0
		else
			# some come after their data
			assert_ge "$name: accepted, of $sent" "$accepted" $((sent / 2))
			assert_eq "$name: ... and outside" \
				"$(port_stat "$taker" eth0 .outside)" $((sent - accepted))
			assert_eq "$name: requests that r got more than h1 sent" \
				$(($(more_requests) - requests)) "$accepted"
			# a host that has sent no data answers once in 500 ms
			assert_le "$name: answers of TCP" $(($(challenges) - answers)) \
				$((1 + ($(date +%s%3N) - began) / 500))
		fi
		snmps >"$tmp/after"
		check "$name: no other trace in TCP" diff "$tmp/before" "$tmp/after"
	done; done
}
way sender
taker=$r
two_queues
way receiver

"$HPCCPP" port del dev next netns "$s2"
"$HPCCPP" port del dev eth0 netns "$r"
check "removed: no program is left" \
	[ -z "$(programs "$h1" eth0 ingress; programs "$r" eth0 ingress; programs "$s2" next ingress)" ]
ktap_finish
