#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Shares of links on a stock kernel, with the lab's bounds of the scenarios "rtts", "parking"
# and "harm": two flows of which one has five times the other's RTT; a flow over two full links
# in competition with a flow on each; a CUBIC flow, which leaves, never stops a flow ("mixed");
# and at a bottleneck without telemetry, after a link with it, a flow alone gets what Reno gets
# there, and takes no more from another flow than a second flow of that kind would.
#
#	h1 ---- .----.
#	        | s1 | --*-- r		base RTT 2 ms; of h2 10 ms, by s1's port to it
#	h2 ---- '----'
#
#	h1 ---- .----.       .----.
#	        | s1 | --*-- | s2 | --*-- r	h1 sends to r, h2 to s2, and s2 to r; base RTT 2 ms
#	h2 ---- '----'       '----'
#
# All links have 200 Mbit/s, and an agent that way; * is full. For "harm" in the second picture,
# h1 and h2 send to r, the base RTT is 20 ms, links have 50 Mbit/s, a pipe of 83 packets, and s2's
# * has no port agent, 85 % of that, and a buffer of 15 packets. With LONG=1 links have 200 Mbit/s
# there, and * other rates and buffers, too.
#
# check-all: 6.1
# usual: 120
# shellcheck disable=SC2154 # set by name in lib.sh, or by held
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

EDGE=200mbit

# flow NAME CC SECONDS CLIENT SERVER ADDRESS: one that "run" starts with the others; what the
# server says is in $tmp/NAME
flow()
{
	local port=$((5201 + ${#flows[@]}))
	start_server "$5" $port iperf3 -s -1 -J -i 0.1 -p $port >"$tmp/$1"
	processes+=("$!")
	flows+=("$1 $2 $3 $4 $6 $port")
}
flows=()
processes=()
run()
{
	local flow name cc seconds client address port process
	for flow in "${flows[@]}"; do
		read -r name cc seconds client address port <<<"$flow"
		in_ns_bg "$client" iperf3 -J -i 0 -c "$address" -p "$port" -t "$seconds" -C "$cc" >"$tmp/client-$name"
		processes+=("$!")
	done
	for process in "${processes[@]}"; do
		wait "$process"
	done
	processes=()
	flows=()
}

# mbit NAME FROM TO: goodput of a flow in this part of its time, by the receiver
mbit()
{
	jq --argjson from "$2" --argjson to "$3" '
		[.intervals[].sum | select(.start >= $from and .end <= $to)] |
		(map(.bytes) | add // 0) * 8e-6 / (map(.seconds) | add // 1) * 10 | round / 10' "$tmp/$1"
}
largest_over_least() # MBIT...
{
	printf '%s\n' "$@" | sort -g | awk 'NR == 1 { least = $1 } END { printf "%.3f", $1 / (least ? least : .001) }'
}

unequal_rtts()
{
	local near far
	flow near hpccpp 2 "$h1" "$r" "${addr4[r]}"
	flow far hpccpp 2 "$h2" "$r" "${addr4[r]}"
	run
	near=$(mbit near 0.5 1.5) far=$(mbit far 0.5 1.5)
	ktap_diag "RTTs of 2 and 10 ms: $near and $far Mbit/s"
	assert_le "RTTs of 2 and 10 ms: the largest share over the least" "$(largest_over_least "$near" "$far")" 1.3
	assert_ge "... both together" "$(jq -n "$near + $far")" 170 Mbit/s
}

parking_lot()
{
	local both first second
	flow both hpccpp 2 "$h1" "$r" "${addr6[r]}"
	flow first hpccpp 2 "$h2" "$s2" fd00:1:1::2
	flow second hpccpp 2 "$s2" "$r" "${addr6[r]}"
	run
	both=$(mbit both 0.5 1.5) first=$(mbit first 0.5 1.5) second=$(mbit second 0.5 1.5)
	ktap_diag "parking lot: $both over both links, $first and $second Mbit/s over one"
	assert_le "parking lot: the largest share over the least" \
		"$(largest_over_least "$both" "$first" "$second")" 1.15
	assert_ge "... of the first link" "$(jq -n "$both + $first")" 170 Mbit/s
}

# CUBIC fills the queue, and telemetry has a flow leave the link to it, but for the least W:
# 1 Mbit/s on the wire, of which .94 is payload.
beside_cubic()
{
	flow ours hpccpp 2 "$h1" "$r" "${addr4[r]}"
	flow cubic cubic 1 "$h2" "$r" "${addr4[r]}"
	run
	ktap_diag "beside a CUBIC flow: $(mbit ours 0.5 1) and $(mbit cubic 0.5 0.9) Mbit/s"
	assert_ge "beside a CUBIC flow" "$(mbit ours 0.5 1)" 0.9 Mbit/s
	assert_ge "... and after it has left" "$(mbit ours 1.4 2)" 170 Mbit/s
	assert_eq "... without a fallback" "$(counter "$h1" fallback)" 0
}

# --- A bottleneck without telemetry ------------------------------------------------

link=$(how_often 50 200)	# Mbit/s
# Reno's sawtooth takes 40 round trips at 50 Mbit/s, 150 at 200
seconds=$(how_often 5 20)
least_alone=0.95 most_drops=1 most_ours=1.5 least_theirs=0.67

# measured CC...: one from each host; adds to sums, by these names: Mbit/s of each, and drops
declare -A sums
measured()
{
	local shares i
	rm -f "$tmp"/server*
	measure_flows "$*" ipv4 $# "$seconds"
	mapfile -t shares < <(jq '.end.sum_received.bits_per_second / 1e5 | round / 10' "$tmp"/server*)
	ktap_diag "$*: ${shares[*]} Mbit/s, $drops dropped"
	for ((i = 0; i < $#; i++)); do
		sums[$* $i]=$(jq -n "${sums[$* $i]:-0} + ${shares[i]}")
	done
	sums[$* drops]=$((${sums[$* drops]:-0} + drops))
}

# row PERCENT PACKETS OTHER: * is so; four tests. Two flows that are alike differ by a third
# in a few seconds: of the means of up to three rounds, if they have to be.
row()
{
	local name="$1 % of $link Mbit/s, $2 packets, $3" other=$3 round
	tc -n "$s2" qdisc del dev next root
	tc -n "$s2" qdisc add dev next root netem limit "$2" rate "$((link * $1 * 10))kbit"
	sums=()
	for round in 1 2 3; do
		measured reno
		measured hpccpp
		measured "$other" "$other"
		measured hpccpp "$other"
		! held || break
	done
	ktap_diag "rounds: $round"
	assert_ge "$name: alone, of Reno's goodput" "$alone" $least_alone
	assert_le "... drops, of twice Reno's" "$drops_alone" $most_drops
	assert_le "$name: beside it, of a twin's goodput" "$ours" $most_ours
	assert_ge "... and $other's, of that beside its twin" "$theirs" $least_theirs
}
held()
{
	local twins="(${sums[$other $other 0]} + ${sums[$other $other 1]}) / 2"
	alone=$(ratio "${sums[hpccpp 0]}" "${sums[reno 0]}")
	drops_alone=$(ratio "${sums[hpccpp drops]}" "2 * ${sums[reno drops]}")
	ours=$(ratio "${sums[hpccpp $other 0]}" "$twins")
	theirs=$(ratio "${sums[hpccpp $other 1]}" "$twins")
	jq -en "$alone >= $least_alone and $drops_alone <= $most_drops and
		$ours <= $most_ours and $theirs >= $least_theirs" >/dev/null
}
ratio() { awk "BEGIN { b = $2; printf \"%.3f\", b ? $1 / b : 1e3 * $1 }"; } # A B

load_hpccpp || ktap_skip_all "no tcp_hpccpp to load"
echo "TAP version 13"

topo_line 2 1
agents_on
beside_cubic
tc -n "$s1" qdisc add dev h2 root netem delay 8ms limit 100000
unequal_rtts
agents_off
topo_down

HOP=2
topo_line 2 2
tc -n "$s1" qdisc add dev h2 root netem delay "${RTT_US}us" limit 100000
agents_on
parking_lot
agents_off
topo_down

RTT_US=20000 EDGE=${link}mbit RATE=${link}mbit
topo_line 2 2
unset "ports[-1]"
agents_on
if [[ -z ${LONG-} ]]; then
	row 85 15 reno
else
	row 85 30 reno
	row 85 30 cubic
	row 50 30 reno
	row 50 30 cubic
	row 40 560 reno
fi
ktap_finish
