#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Port agents on hosts alone, below and above devices without a link of their own: a VLAN, a bond,
# and a VXLAN tunnel, whose packets come with the checksum of all of their bytes (COMPLETE).
#
#	h1 top (10.9.0.1) - p0, p1 === p0, p1 - top (10.9.0.2) r
#	           edge on egress       edge on ingress: of p0, of p0 and p1, or of top
#
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154 # namespaces are in variables set by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

trace=/sys/kernel/tracing/events/net

# sum HOOK NETNS JQ: over the ports of this hook
sum() { "$HPCCPP" -j port show netns "$2" | jq "[.[] | select(.hook == \"$1\") | $3] | add"; }

# begin DEV...: makes the hosts' links, and names the devices that get ports.
begin()
{
	ported=("$@")
	setup_ns h1 r
	for dev in p0 p1; do
		ip -n "$h1" link add "$dev" type veth peer name "$dev" netns "$r"
		in_ns "$h1" sysctl -qw "net.ipv6.conf.$dev.disable_ipv6=1"
		in_ns "$r" sysctl -qw "net.ipv6.conf.$dev.disable_ipv6=1"
	done
}

# both IP-ARGUMENT...: on both hosts
both() { ip -n "$h1" "$@" && ip -n "$r" "$@"; }

# more TAG: bytes that ports on ingress have counted, and ports on egress have not, without TAG bytes
# for each packet. Read again if a packet passed meanwhile, as neighbour discovery sends them.
more()
{
	local out=none in packets
	until [[ $out == $(sum egress "$h1" .sent) ]]; do
		out=$(sum egress "$h1" .sent)
		in=$(sum ingress "$r" .sent)
		packets=$(ip -n "$r" -s -j link show p0 | jq '.[0].stats64.rx.packets')
	done
	echo $((in - out - $1 * packets))
}

# carry NAME TAG: addresses for top, ports, and a transfer by each family. A port on egress does not see
# the tag, of TAG bytes, that the device adds to each frame; a port on ingress counts it.
carry()
{
	local dev address before wrote errors
	both link set p0 up
	both link set top up
	ip -n "$h1" addr add 10.9.0.1/24 dev top
	ip -n "$r" addr add 10.9.0.2/24 dev top
	ip -n "$h1" addr add fd09::1/64 dev top nodad
	ip -n "$r" addr add fd09::2/64 dev top nodad
	for dev in "${ported[@]}"; do
		"$HPCCPP" port add dev "$dev" netns "$h1" edge queue virtual rate 200mbit base-rtt 1ms
		"$HPCCPP" port add dev "$dev" netns "$r" ingress rate 200mbit base-rtt 1ms
	done
	for address in 10.9.0.2 fd09::2; do
		before=$(more "$2")
		wrote=$(sum ingress "$r" '.stats | .stamped + .replaced + .kept')
		errors=$(snmp "$r" TcpInCsumErrors)
		sent_intact "$1, $address" "$h1" "$r" "$address" "-c hpccpp -n 1000k"
		assert_eq "... bytes that ingress counts more than egress, but for $2 of each packet" \
			$(($(more "$2") - before)) 0
		assert_ge "... requests that ingress sees" \
			$(($(sum ingress "$r" '.stats | .stamped + .replaced + .kept') - wrote)) 10
		assert_eq "... wrong checksums" $(($(snmp "$r" TcpInCsumErrors) - errors)) 0
	done
	assert_eq "... packets that ingress found malformed or could not write" \
		"$(sum ingress "$r" '.stats | .bad + .error')" 0
	for dev in "${ported[@]}"; do
		"$HPCCPP" port del dev "$dev" netns "$h1"
		"$HPCCPP" port del dev "$dev" netns "$r" ingress
	done
	topo_down
}

vlan() # on|off: devices take tags out of packets, and put them in
{
	begin p0
	offloads "$h1" p0 txvlan "$1" rxvlan "$1"
	offloads "$r" p0 txvlan "$1" rxvlan "$1"
	both link add link p0 name top type vlan id 5
	offloads "$h1" top tso off gso off
	carry "VLAN, tags by the device: $1" 4
}

bond()
{
	begin p0 p1
	both link add top type bond mode balance-xor xmit_hash_policy layer3+4
	both link set p0 master top
	both link set p1 master top
	both link set p1 up
	carry "bond" 0
}

# summed STATE: packets of top that came with this state of their checksum
summed() { grep -c "dev=top .*ip_summed=$1 " /sys/kernel/tracing/trace || true; }

vxlan()
{
	local event
	begin top
	both link set p0 up
	ip -n "$h1" addr add 10.8.0.1/24 dev p0
	ip -n "$r" addr add 10.8.0.2/24 dev p0
	ip -n "$h1" link add top type vxlan id 5 local 10.8.0.1 remote 10.8.0.2 dstport 4789 udpcsum
	ip -n "$r" link add top type vxlan id 5 local 10.8.0.2 remote 10.8.0.1 dstport 4789 udpcsum
	offloads "$h1" top tx off tso off gso off
	offloads "$h1" p0 tx off tso off gso off
	offloads "$r" p0 gro off
	offloads "$r" top gro off
	for event in netif_rx_entry netif_receive_skb_entry napi_gro_receive_entry; do
		echo 'name == "top"' >"$trace/$event/filter"
		echo 1 >"$trace/$event/enable"
	done
	carry "VXLAN" 0
	echo 0 >"$trace/enable"
	assert_ge "... packets with a checksum of all bytes" "$(summed 2)" 100
}

load_hpccpp || ktap_skip_all "no tcp_hpccpp to load"
echo TAP version 13
make_cgroup
"$HPCCPP" host add cgroup "$CGROUP"
agents=host
vlan on
vlan off
bond
vxlan
ktap_finish
