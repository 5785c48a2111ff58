#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# R is a rate on the wire, whoever spaces the packets: fq, by the departure times that TCP
# sets, or TCP itself above another qdisc; headers, telemetry and the MSS are counted.
#
#	h1 eth0 --1G-- h1 | s1 | next ==200M== eth0 | r		(topo_line in lib.sh)
#	   fq, fq_codel or pfifo	eta 50: half of that, no queue
#
# check: uml main
# usual: 30
# shellcheck disable=SC2034,SC2154 # used and set in lib.sh
# shellcheck disable=SC2317 # functions that busywait calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# What is waited for here takes many packets: look less often.
nap() { read -rt 0.02 -u "$never" || true; }

# ns, and bytes that s1 has got of h1
received() { date +%s%N; ip -s -j -n "$s1" link show dev h1 | jq '.[0].stats64.rx.bytes'; }

# paced MTU FAMILY QDISC
paced()
{
	local name="$3, MTU $1, IPv$2" address="addr$2[r]" from to R ratio
	MTU=$1
	topo_line 1 1
	nsenter --net="/run/netns/$h1" sysctl -qw net.hpccpp.eta=50
	host_on "$h1"
	host_on "$r"
	ports_on
	port_off "$h1" eth0
	tc -n "$h1" qdisc replace dev eth0 root "$3"
	flow_to=${!address} flow_start
	rises "$h1" updates 500	# and settled
	trace_on
	mapfile -t from < <(received)
	rises "$h1" updates 2500
	mapfile -t to < <(received)
	trace_off
	R=$(sed -nE 's/.* R=([0-9]+).*/\1/p' "$tmp/updates" | awk '{ n += $1 } END { print n / NR }')
	ratio=$(awk -v b=$((to[1] - from[1])) -v ns=$((to[0] - from[0])) -v R="$R" \
		'BEGIN { printf "%.4f", b * 1e9 / ns / R }')
	assert_ge "$name: wire rate over R" "$ratio" 0.98
	assert_le "$name: wire rate over R" "$ratio" 1.02
	flow_end "$name"
	busywait 60 no_sockets "$h1"
	hosts_off
	topo_down
}

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
echo 20000 >"$tracing/buffer_size_kb"
echo TAP version 13
if runs_main; then
	paced 1500 4 fq
	paced 1500 6 pfifo
fi
if runs_rest; then
	paced 1500 6 fq
	paced 1500 4 pfifo
	for family in 4 6; do
		paced 1500 $family fq_codel
		paced 1280 $family fq
	done
fi
ktap_finish
