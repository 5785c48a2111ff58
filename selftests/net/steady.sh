#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# HPCC++ in its steady state: the link is used, its queue is short, nothing is dropped and
# flows share, also after a CUBIC flow has left. How soon a flow joins or leaves is tested in the
# lab's scenario "step", shares with unequal RTTs, over two full links and next to other congestion
# controls in "rtts", "parking" and "harm" (lab bench). LONG=1 also tests without offloads.
#
# check: 6.1 main
# usual: 120
# shellcheck disable=SC2154,SC2317 # namespaces are in variables set by name; functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

link=200			# Mbit/s

mbit() { awk -v bps="$1" 'BEGIN { printf "%.1f", bps / 1e6 }'; }

# steady FAMILY FLOWS SECONDS
steady()
{
	local what="$2 flows, $1" share=.88
	[[ $2 -ne 1 ]] || what="1 flow, $1"
	# The longer header's share of a packet: 1412 bytes of payload, not 1432.
	[[ $1 == ipv4 ]] || share=.8677

	measure_flows hpccpp "$1" "$2" "$3"
	# Which also tells that the link was the limit: ticks alone do not.
	ktap_diag "$what: idle CPU $idle"
	assert_ge "$what: goodput" "$(mbit "$goodput_bps")" \
		"$(awk "BEGIN { print $share * $link }")" Mbit/s
	assert_le "$what: mean queue" "$mean_packets" 5 packets
	# Sixteen that join one after another, each with half of the link when that is full, take
	# more than 1 % of the time for that, which is no steady state.
	if [[ $2 -gt 4 ]]; then
		ktap_diag "$what: queue, 99 % of all the time: $p99_packets packets"
		queue_between "$(awk "BEGIN { print $3 / 2 }")" "$3"
	fi
	assert_le "$what: queue, 99 % of the time" "$p99_packets" 15 packets
	assert_eq "$what: drops after 2 round trips" "$late_drops" 0
	[[ $2 -eq 1 ]] || assert_ge "$what: Jain's index, second half" "$jain" 0.98
}

# A CUBIC flow, which leaves after a second, fills the queue. Telemetry makes hpccpp leave the link
# to it, except for the least W: 1 Mbit/s on the wire, 0.94 Mbit/s of payload.
beside_cubic()
{
	local i processes=()
	for i in 1 2; do
		start_server "$r" "520$i" iperf3 -s -1 -J -i 0.1 -p "520$i" >"$tmp/server$i"
		processes+=($!)
	done
	in_ns_bg "$h1" iperf3 -J -c "${addr4[r]}" -p 5201 -t 2 -C hpccpp >"$tmp/client"
	processes+=($!)
	in_ns "$h2" iperf3 -J -c "${addr4[r]}" -p 5202 -t 1 -C cubic >"$tmp/client2"
	wait "${processes[@]}"
	between() # FROM TO: goodput of hpccpp, Mbit/s
	{
		jq "[.intervals[].sum | select(.start >= $1 and .end <= $2)] |
			(map(.bytes) | add) * 8e-6 / (map(.seconds) | add)" "$tmp/server1"
	}
	assert_ge "beside a CUBIC flow" "$(between 0.5 1)" 0.9 Mbit/s
	assert_ge "... and after it has left" "$(between 1.4 2)" 170 Mbit/s
	assert_eq "... without a fallback" "$(counter "$h1" fallback)" 0
}

load_hpccpp || ktap_skip_all "no tcp_hpccpp to load"
echo TAP version 13

# with SENDERS OFFLOADS AGENT COMMAND...: in a network of its own
with()
{
	local OFFLOADS=$2 HOST_AGENT=$3
	ktap_diag "offloads: $2; host agent: ${3:-as it is by default}"
	topo_line "$1" 2
	agents_on
	"${@:4}"
	agents_off
	topo_down
}

if runs_main; then
	with 4 default "" steady ipv4 4 3
fi
if runs_rest; then
	with 4 default "" steady ipv6 1 1
	EDGE=200mbit with 2 "tso off gso off gro off" "" beside_cubic
fi
if [[ -n ${LONG-} ]]; then
	with 4 default "" steady ipv6 4 3
	with 4 default "" steady ipv4 1 1
	with 16 default "" steady ipv4 16 3
	with 4 default "every 16" steady ipv4 4 3
	with 4 default "every rtt" steady ipv4 4 3
	with 4 default "every rtt" steady ipv4 1 1
	with 4 "tso off gso off gro off" "" steady ipv4 4 3
	with 4 "tso off gso off gro off" "" steady ipv6 4 3
fi
ktap_finish
