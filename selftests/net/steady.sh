#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# HPCC++ in its steady state and out of it: the link is used, its queue is short,
# nothing is dropped, flows share; and it is so again soon after a flow joined or
# left. Offloads are as Linux has them; without them LONG=1 looks too.
#
# check: 6.1 main
# usual: 120
# shellcheck disable=SC2154,SC2317 # namespaces are in variables set by name; functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

link=200			# Mbit/s
target=190			# of it, on the wire: eta
rtt=0.002			# s

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

# settled TIME: round trips from then until the queue is short and the link in use
# for good: every mean over two round trips that begin no earlier is so. What is later
# than 30 is steady().
settled()
{
	awk -F, -v event="$1" -v rtt="$rtt" -v least="$(awk "BEGIN { print .9e6 * $target }")" '
		NR > 1 && $1 >= event && $1 <= event + 32 * rtt {
			t[++n] = $1; queue[n] = $3; sent[n] = $4
		}
		END {
			for (first = last = 1; last <= n; last++) {
				sum += queue[last]
				if (t[last] - t[first] < 2 * rtt)
					continue
				rate = (sent[last] - sent[first]) * 8 / (t[last] - t[first])
				if (rate < least || sum / (last - first + 1) > 5)
					end = t[first] - event
				while (t[last] - t[first] >= 2 * rtt)
					sum -= queue[first++]
			}
			printf "%.1f\n", end / rtt
		}' "$tmp/queue.csv"
}

# One flow all the time, after 75 round trips another beside it for 60, then alone again.
join_and_leave() # FAMILY
{
	local address=${addr4[r]} i listener=() stays joins process
	[[ $1 == ipv4 ]] || address=${addr6[r]}

	for i in 1 2; do
		xfer_server "$r" "530$i" >"$tmp/server$i"
		listener[i]=$!
	done
	meter_start
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c hpccpp -t 0.4 connect "$address" 5301 >"$tmp/stays"
	stays=$!
	in_ns_bg "$h2" "$HPCCPP_BIN/xfer" -c hpccpp -d 0.15 -t 0.12 connect "$address" 5302 >"$tmp/joins"
	joins=$!
	for process in "$stays" "$joins" "${listener[@]}"; do
		wait "$process"
	done
	meter_stop
	settled "$(jq .start "$tmp/joins")" >>"$tmp/joined"
	settled "$(jq .end "$tmp/joins")" >>"$tmp/left"
}

# The bound is of a usual join. Where in the others' round trip a flow comes decides by how
# many round trips it is early or late, so it is of the median of five.
joins_and_leaves() # FAMILY
{
	local i
	rm -f "$tmp/joined" "$tmp/left"
	for i in 1 2 3 4 5; do
		join_and_leave "$1"
	done
	ktap_diag "$1: joined $(xargs <"$tmp/joined"), left $(xargs <"$tmp/left")"
	assert_le "$1: a flow joins, settled after" "$(sort -n "$tmp/joined" | sed -n 3p)" 10 "round trips"
	assert_le "$1: it leaves, settled after" "$(sort -n "$tmp/left" | sed -n 3p)" 10 "round trips"
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
	with 4 default "" joins_and_leaves ipv4
	with 4 default "" joins_and_leaves ipv6
fi
ktap_finish
