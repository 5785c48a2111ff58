#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Ports that write into less than what asks: above a load only, and for a DSCP
# codepoint only. A flow below the threshold is governed all the same, one that
# loads the link is as well off as with a record in each segment, and what is
# passed is counted.
#
#	h1 eth0 --1G-- h1 | s1 | next ==200M== eth0 | r		(topo_line in lib.sh)
#
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154,SC2128 # set by name in lib.sh; client: an array elsewhere
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

asking="every 1"		# how the agents ask

# begin NAME [PORT-OPTION...]: with agents at both ends, and such ports
begin()
{
	name=$1
	shift
	host_off "$h1"
	host_off "$r"
	# shellcheck disable=SC2086 # words
	for host in h1 r; do
		host_on "${!host}" $asking
	done
	[[ -z $stamping ]] || ports_off
	PORT_AGENT=$*
	ports_on
	entered=$(counter "$h1" enter) fell=$(counter "$h1" fallback)
}
enters() { echo $(($(counter "$h1" enter) - entered)); }
falls() { echo $(($(counter "$h1" fallback) - fell)); }
# limited SENDER RECEIVER OPTION...: the connection's data is 40 Mbit/s for half a second
limited()
{
	local server
	start_server "${!2}" $((++next_port)) iperf3 -s -1 -p "$next_port" >"$tmp/server"
	server=$!
	in_ns "${!1}" iperf3 -J -c "${addr4[$2]}" -p $next_port -n 2500k -b 40M -l 2k -C hpccpp "${@:3}" >"$tmp/client"
	wait "$server"
}

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
ktap_plan 26
topo_line 1 1

# --- Above a load ----------------------------------------------------------------

begin "below the threshold" above 80
limited h1 r
assert_eq "$name: flows under INT" "$(enters)" 1
assert_eq "$name: fallbacks" "$(falls)" 0
assert_ge "$name: left empty" "$(port_stat "$s1" next .quiet)" 1800
assert_le "$name: written, the handshake" "$(port_stat "$s1" next '.stamped + .replaced')" 5
assert_ge "$name: echoes" "$(host_stat "$h1" echoes)" 800
assert_ge "$name: goodput" "$(jq '.end.sum_received.bits_per_second / 1e6' "$tmp/client")" 38 Mbit/s

# The handshake of a passive opener brings no record: it asks until it has one.
begin "passive opener below the threshold" above 80
limited r h1 -R
assert_ge "$name: flows under INT" "$(enters)" 1
assert_eq "$name: fallbacks" "$(falls)" 0
assert_ge "$name: left empty" "$(port_stat "$s1" next .quiet)" 1800
assert_le "$name: written" "$(port_stat "$s1" next '.stamped + .replaced')" 20

asking=
goodputs=()
for above in '' 'above 80'; do
	# shellcheck disable=SC2086 # words
	begin "full, ${above:-all segments}" $above
	measure_flows hpccpp ipv4 1 1
	goodputs+=("$goodput_bps")
	assert_eq "$name: fallbacks" "$(falls)" 0
	assert_le "$name: queue, mean" "$mean_packets" 3 packets
	assert_eq "$name: drops" "$drops" 0
done
assert_ge "full: written, of those left empty and written" \
	"$(jq -n "$(port_stat "$s1" next '.stamped + .replaced + .kept') as \$w | \$w / (\$w + $(port_stat "$s1" next .quiet))")" 0.9
assert_ge "full: goodput, of that with all segments" \
	"$(jq -n "${goodputs[1]} / ${goodputs[0]}")" 0.97

# --- For a codepoint ---------------------------------------------------------------

asking="every 1"
nft_h1() { nsenter --net="/run/netns/$h1" nft "$*"; }

codepoint() # FAMILY: a transfer past ports of DSCP 46; sets passed to the segments that they left
{
	local address="addr$1[r]"
	tcp_send "$h1" "$r" "${!address}" "-c hpccpp -n 100k"
	passed=$(port_stat "$s1" next .unsubscribed)
}

for family in 4 6; do
	nft_h1 flush ruleset
	begin "IPv$family, another codepoint" dscp 46
	codepoint $family
	assert_ge "$name: passed" "$passed" 70
	assert_eq "$name: flows under INT" "$(enters)" 0
	nft_h1 "add table inet box; add chain inet box output { type route hook output priority mangle; };
		add rule inet box output meta nfproto ipv4 ip dscp set ef;
		add rule inet box output meta nfproto ipv6 ip6 dscp set ef"
	begin "IPv$family, that codepoint" dscp 46
	codepoint $family
	assert_eq "$name: passed" "$passed" 0
	assert_eq "$name: flows under INT" "$(enters)" 1
done
ktap_finish
