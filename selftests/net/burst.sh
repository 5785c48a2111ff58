#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A question in a packet of several segments is one question: whoever cuts the packet,
# and whether a switch merges the segments again, each port writes into it once, the
# receiver collects it once, and GRO there merges the rest.
#
#	h1 eth0 ---- h1 s1 next ---- eth0 r	host agents on h1 and r,
#	  TSO or GSO     GRO or not      GRO	port agents on eth0 and next
#
# The receiver's window has room for a whole transfer: one that is nearly closed makes packets
# of one segment.
#
# check: uml
# check-long: 6.1
# usual: 15
# shellcheck disable=SC2154 # set by topo_begin
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

path_up()
{
	local OFFLOADS=default
	topo_begin h1 s1 r
	link 1 "$h1" eth0 "$s1" h1 0.1
	link 2 "$s1" next "$r" eth0 1.1
	route "$h1" default default 0.1 2
	route "$r" default default 1.1 1
	addr4[r]=10.1.1.2 addr6[r]=fd00:1:1::2
	topo_up
}

# written NETNS DEV: packets that the port wrote into, or left to a more loaded hop
written() { port_stat "$1" "$2" '.stamped + .replaced + .kept'; }

# counts FAMILY: what has happened so far; the last are segments at r, and packets of these
counts()
{
	local mibs="IpExtInNoECTPkts IpInReceives"
	[[ $1 == 4 ]] || mibs="Ip6InNoECTPkts Ip6InReceives"
	echo "$(host_stat "$h1" asked) $(written "$h1" eth0) $(written "$s1" next)" \
		"$(host_stat "$r" collected) $(snmp "$h1" TcpOutSegs)" \
		"$(snmp "$r" "${mibs% *}") $(snmp "$r" "${mibs#* }")"
}

transfer() # NAME FAMILY MERGED: at r, segments of a packet at least
{
	local name="$1, IPv$2" address="addr$2[r]" before after i least n=()
	read -ra before < <(counts "$2")
	check "$name: data intact" tcp_send "$h1" "$r" "${!address}" "-c reno -n 2m"
	read -ra after < <(counts "$2")
	for i in "${!after[@]}"; do
		n[i]=$((after[i] - before[i]))
	done
	assert_ge "$name: segments that were sent, to one that asks" $((n[4] / n[0])) 10
	assert_eq "$name: the sender's port wrote into" "${n[1]}" "${n[0]}"
	assert_eq "$name: the switch's port wrote into" "${n[2]}" "${n[0]}"
	assert_le "$name: the receiver collected" "${n[3]}" "${n[0]}"
	# Of packets of one segment at one time, as the lab has them, TCP's backlog may make one.
	least=${n[0]}
	[[ ${PLACE-} != uml ]] || least=$((n[0] * 9 / 10))
	assert_ge "$name: the receiver collected" "${n[3]}" "$least"
	if [[ $3 -eq 1 ]]; then
		assert_eq "$name: packets of one segment" "${n[6]}" "${n[5]}"
	else
		assert_ge "$name: segments that it merged into a packet" $((n[5] / n[6])) "$3"
	fi
}

path_up
for ns in "$h1" "$r"; do
	nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.tcp_rmem="4096 8388608 8388608" \
		net.ipv4.tcp_wmem="4096 4194304 4194304"
done
# the lab's kernel has no types of a qdisc
qdisc=(4 6)
[[ ${PLACE-} != uml ]] || qdisc=()
ktap_plan $((56 + 7 * ${#qdisc[@]}))
own_cgroup "$h1"
host_on "$h1" ask always every 1
host_on "$r" ask never
for port in "$h1 eth0" "$s1 next"; do
	# shellcheck disable=SC2086 # two words
	"$HPCCPP" port add dev ${port#* } netns ${port% *} rate 10gbit queue virtual base-rtt 100us
done
# a veth's GRO looks at what comes only from one without TSO
offloads "$s1" next tso off gso on
for family in 4 6; do
	offloads "$h1" eth0 tso on
	offloads "$r" eth0 gro on
	transfer "the device cuts, the switch sees it whole" $family 10
	offloads "$h1" eth0 tso off gso on
	transfer "the sender cuts, the switch sees segments" $family 8
	offloads "$s1" h1 gro on
	transfer "the sender cuts, the switch merges" $family 10
	offloads "$s1" h1 gro off
	offloads "$r" eth0 gro off
	transfer "... and nobody merges" $family 1
done

# The switch's queue in a qdisc, of merged packets, which nobody cuts before it
[[ ${#qdisc[@]} -gt 0 ]] || ktap_finish
offloads "$s1" h1 gro on
offloads "$r" eth0 gro on
"$HPCCPP" port del dev next netns "$s1"
tc -n "$s1" qdisc add dev next root tbf rate 1gbit burst 256kb limit 4mb
"$HPCCPP" port add dev next netns "$s1" queue qdisc base-rtt 100us
for family in "${qdisc[@]}"; do
	transfer "the switch merges and has a qdisc" "$family" 10
done
ktap_finish
