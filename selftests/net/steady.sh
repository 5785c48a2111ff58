#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# HPCC++ in its steady state: the link is used, its queue is short, nothing is dropped and
# flows share. How soon it is so again after a flow has joined or left is tested in the lab's
# scenario "step". Offloads are as Linux has them; LONG=1 also tests without them.
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
