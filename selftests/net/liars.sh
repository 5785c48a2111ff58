#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What telemetry that lies can gain, without a key: two flows share a bottleneck, and
# the echoes of the second are rewritten on their way. That may be its receiver, or a
# port that wrote what it likes. Asserted are the bounds of the threat table in
# tools/bpf/hpccpp_wire.rst, which has these figures.
#
#	h1 eth0 --1G-- h1 .----.
#	                  | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#	h2 eth0 --1G-- h2 '----'
#	                  nft: rewrites ACKs to h2
#
# check: uml
# usual: 30
# shellcheck disable=SC2154 # set in lib.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

seconds=$(how_often 1 10)
liar='tcp sport 5202'

# rewrite OFFSET: prints a rule for an echo that many bits into the TCP header
rewrite()
{
	local at=$1 statement=
	[[ -z $word0 ]] || statement+=" @th,$((at + 32)),32 set $word0"
	[[ -z $U ]] || statement+=" @th,$((at + 56)),8 set $U"
	[[ -z $qlen ]] || statement+=" @th,$((at + 88)),8 set $qlen @th,$((at + 120)),2 set $((qlen & 3))"
	[[ -z $tx ]] || statement+=" @th,$((at + 96)),24 set $tx"
	[[ -z $N ]] || statement+=" @th,$((at + 122)),6 set $N"
	echo "$liar @th,$at,32 0xfd104845$statement"
}

# lie NAME [FIELD=VALUE...]: two flows, such echoes to the second in its ACKs and its
# SYN-ACK; sets honest and lying (Mbit/s) and what measure_flows does
lie()
{
	local word0='' U='' qlen='' tx='' N=''
	name=$1
	shift
	forward_rules
	if [[ $# -gt 0 ]]; then
		local "$@"
		# after timestamps, and after the options of a SYN-ACK
		forward_rules "$(rewrite 256)" "$(rewrite 320)"
	fi
	xfer_flows "$seconds" "${addr4[r]}" 2
	# within that time; what was buffered then arrived later
	honest=$(jq '.received * 8 / .seconds / 1e6 | round' "$tmp/server1")
	lying=$(jq '.received * 8 / .seconds / 1e6 | round' "$tmp/server2")
	ktap_diag "$name: honest $honest, lying $lying Mbit/s, queue $mean_bytes bytes in the mean, $p99_bytes at p99, $drops drops"
}

load_hpccpp
topo_line 2 1
# At a low rate what a sender has buffered would take long
for ns in "$h1" "$h2"; do
	nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.tcp_wmem="4096 262144 262144"
done
agents_on
id=$("$HPCCPP" -j port show dev next netns "$s1" | jq '.[0].id')
word() { printf '0x%08x' $((id << 20 | $1 << 8 | $2)); }	# RATE-CODE U
echo TAP version 13

lie "none lies"
assert_ge "$name: honest" "$honest" 80 Mbit/s
assert_ge "$name: second" "$lying" 80 Mbit/s

# W stays at 9/8 of the path's B T until the sender finds the queue that this makes: from
# then on it is Reno's, as without telemetry, and what it has buffered bounds the queue.
# The other flow gives way, to its floor of 1/16 packet per T or what is left.
blind=$(counter "$h2" blind)
lie "U = 0" U=0 qlen=0 tx=0x123456
assert_ge "$name: honest" "$honest" 1 Mbit/s
assert_eq "$name: times that the sender found the queue" $(($(counter "$h2" blind) - blind)) 1
assert_eq "$name: drops" "$drops" 0

# Nothing of ours bounds that B: the sender's buffer does, or loss
nsenter --net="/run/netns/$h2" sysctl -qw net.ipv4.tcp_wmem="4096 4194304 4194304"
lie "B = 4 Tbit/s and U = 0" word0="$(word 0xb28 0)" qlen=0 tx=0x123456
nsenter --net="/run/netns/$h2" sysctl -qw net.ipv4.tcp_wmem="4096 262144 262144"
assert_ge "$name: honest" "$honest" 1 Mbit/s

# Twice the T and W_max: the share is of the rate, which N tells
tc -n "$s1" qdisc add dev h2 root netem delay 2ms limit 100000
lie "ACKs late by 2 ms"
tc -n "$s1" qdisc del dev h2 root
assert_ge "$name: honest" "$honest" 75 Mbit/s
assert_le "$name: queue in the mean" "$mean_bytes" 3028 bytes

# It goes to 4/5 of the link and the other to a half, each as fast: 8 : 5 at most
lie "N = 1.25" N=2
assert_ge "$name: honest" "$honest" 60 Mbit/s
assert_ge "$name: second" "$lying" 100 Mbit/s
# Three packets at most: both flows together request 1.3 times the link. With an eta of 95 %, which
# leaves more room, the queue has 1.4 packets.
assert_le "$name: queue in the mean" "$mean_bytes" 4542 bytes

# The liar slows itself alone
lie "N = 49152" N=63
assert_ge "$name: honest" "$honest" 120 Mbit/s
lie "U = max" U=0xff qlen=0xff
assert_ge "$name: honest" "$honest" 170 Mbit/s
assert_ge "$name: second" "$lying" 1 Mbit/s
lie "B = 1 Mbit/s" word0="$(word 0x464 64)"
assert_ge "$name: honest" "$honest" 170 Mbit/s
assert_ge "$name: second" "$lying" 1 Mbit/s

# Agents on hosts alone: the receiver's host writes the record of the bottleneck itself. The sender
# finds the queue that this makes by its delay, and does not fall back.
agents_off
edges_on 200mbit
lie "hosts alone: none lies"
assert_ge "$name: honest" "$honest" 80 Mbit/s
assert_ge "$name: second" "$lying" 80 Mbit/s
blind=$(counter "$h2" blind)
lie "hosts alone: U = 0" U=0 qlen=0 tx=0x123456
assert_ge "$name: honest" "$honest" 1 Mbit/s
assert_eq "$name: times that the sender fell back" $(($(counter "$h2" blind) - blind)) 0
# W of 9/8 B T without D-EDGE: 61 KB
assert_le "$name: queue in the mean" "$mean_bytes" 45000 bytes
assert_eq "$name: drops" "$drops" 0
ktap_finish
