#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Ports leave the TCP checksum right, whoever is to finish it and whenever: that
# depends on the offloads of the devices, and with the defaults of veth nobody
# ever looks at it.
#
#	h1 eth0 --- h1 s1 next --- eth0 r	two ports: eth0 of h1, next of s1
#
# Beside it, on the same devices: VLAN 5, and 6 whose tag is in the packet already
# when the port sees it, and 7 within 6.
# check: uml
# check-long: 6.1
# usual: 30
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that busywait calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# VLAN ID on the four ends, or within the VLAN that they have as .OF; h1 and r have
# 10.ID.1.1 and 10.ID.2.2.
vlan() # ID OF MTU [OPTION...]
{
	local id=$1 of=$2 mtu=$3 end ns dev net host
	shift 3

	for end in "$h1 eth0 1 1" "$s1 h1 1 2" "$s1 next 2 1" "$r eth0 2 2"; do
		read -r ns dev net host <<<"$end"
		ip -n "$ns" -batch - <<-END
			link add link $dev$of name $dev$of.$id mtu $mtu type vlan id $id $*
			link set dev $dev$of.$id addrgenmode none up
			addr add 10.$id.$net.$host/24 dev $dev$of.$id
			addr add fd00:$id:$net::$host/64 dev $dev$of.$id nodad
		END
	done
	ip -n "$h1" -batch - <<-END
		route add 10.$id.2.0/24 via 10.$id.1.2
		route add fd00:$id:2::/64 via fd00:$id:1::2
	END
	ip -n "$r" -batch - <<-END
		route add 10.$id.1.0/24 via 10.$id.2.1
		route add fd00:$id:1::/64 via fd00:$id:2::1
	END
}

# What the two ports have written, and what failed
written()
{
	echo "$(port_stat "$h1" eth0 '.stamped + .replaced') $(port_stat "$s1" next '.stamped + .replaced')" \
		"$(($(port_stat "$h1" eth0 '.bad + .error') + $(port_stat "$s1" next '.bad + .error')))"
}

csum_errors() { echo $(($(snmp "$h1" TcpInCsumErrors) + $(snmp "$r" TcpInCsumErrors))); }

# Two transfers; each time both ports have to write into them.
sums() # NAME ADDRESS4 ADDRESS6
{
	local before=("$h1_written" "$s1_written") errors=$csum_errors intact=1 address

	for address in "$2" "$3"; do
		tcp_send "$h1" "$r" "$address" "-c hpccpp -n 150k" || intact=0
	done
	read -r h1_written s1_written failed < <(written)
	csum_errors=$(csum_errors)
	before=($((h1_written - before[0])) $((s1_written - before[1])))
	errors=$((csum_errors - errors))
	check "$1: intact $intact, ports wrote ${before[0]} and ${before[1]} times, $errors wrong sums" \
		[ "$intact $((before[0] >= 10 && before[1] >= 10)) $errors" = "1 1 0" ]
}

load_hpccpp || ktap_skip_all "no module tcp_hpccpp"
checksums=("on on" "off off" ${LONG:+"off on" "on off"})
ktap_plan $((8 * ${#checksums[@]} + 1))
OFFLOADS="gro off"
topo_line 1 1

# Netem, as tbf would cut packets of many segments in front of the device.
for end in "$h1 eth0 $EDGE" "$s1 next $RATE"; do
	read -r ns dev rate <<<"$end"
	tc -n "$ns" qdisc replace dev "$dev" root netem rate "$rate" limit 1000
	ip -n "$ns" link set dev "$dev" gso_max_segs 65535
done
vlan 5 "" 1500
for end in "$h1 eth0" "$s1 h1" "$s1 next" "$r eth0"; do
	read -r ns dev <<<"$end"
	offloads "$ns" "$dev" txvlan off	# so VLANs write the tag themselves
done
vlan 6 "" 1500 reorder_hdr off
vlan 7 .6 1496 reorder_hdr off	# veth lets a packet be longer by one tag only
# The kernel may take a second to put a new link into use.
all_up()
{
	local ns
	for ns in "${namespaces[@]}"; do
		[[ ! $(ip -n "$ns" -o link show up) =~ " state "(LOWERLAYER)?DOWN ]] || return
	done
}
busywait 20 all_up
agents_on
read -r h1_written s1_written failed < <(written)
csum_errors=$(csum_errors)

for tso in off on; do
	# without TSO each segment is stamped at h1 too
	segs=1
	[[ $tso == off ]] || segs=65535
	ip -n "$h1" link set dev eth0 gso_max_segs $segs
	for tx in "${checksums[@]}"; do
		read -r tx_h1 tx_s1 <<<"$tx"
		# there is no TSO without checksums
		declare -A tso_if=([on]=$tso [off]=off)
		offloads "$h1" eth0 tx "$tx_h1" tso "${tso_if[$tx_h1]}" gso $tso
		offloads "$s1" next tx "$tx_s1" tso "${tso_if[$tx_s1]}" gso $tso
		where="TSO $tso, tx $tx_h1 at h1 and $tx_s1 at s1"
		sums "$where, no VLAN" "${addr4[r]}" "${addr6[r]}"
		sums "$where, VLAN" 10.5.2.2 fd00:5:2::2
		sums "$where, VLAN tag in the packet" 10.6.2.2 fd00:6:2::2
		sums "$where, two tags in the packet" 10.7.2.2 fd00:7:2::2
	done
done
assert_eq "ports found malformed or could not write" "$failed" 0 packets
ktap_finish
