#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A bottleneck that telemetry does not tell of, behind a link that it does tell of: alone a
# flow has what Reno has there, and beside another flow no more than that flow's twin would.
# The lab's scenario "harm" has more of such paths; those that are worst in it are here.
#
#	h1 ---- .----.        .----.
#	        | s1 | ====== | s2 | --*-- r	base RTT 20 ms
#	h2 ---- '----'        '----'
#
# All links have 50 Mbit/s, a pipe of 83 packets, but *, s2's "next": no port agent, 85 % of
# that, and a buffer of 15 packets. With LONG=1 links have 200 Mbit/s, and * other rates and
# buffers, too.
#
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154 # set by name in lib.sh, or by held
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

load_hpccpp || ktap_skip_all "no tcp_hpccpp to load"
link=$(how_often 50 200)	# Mbit/s
RTT_US=20000
EDGE=${link}mbit
RATE=${link}mbit
# Reno's sawtooth takes 40 round trips at 50 Mbit/s, 150 at 200
seconds=$(how_often 5 20)
# the lab's bounds of "harm"
least_alone=0.95 most_drops=1 most_ours=1.5 least_theirs=0.67

# flows CC...: one from each host; adds to sums, by these names: Mbit/s of each, and drops
declare -A sums
flows()
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
		flows reno
		flows hpccpp
		flows "$other" "$other"
		flows hpccpp "$other"
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

HOP=2
topo_line 2 2
unset "ports[-1]"
agents_on
echo "TAP version 13"
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
