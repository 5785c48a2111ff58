#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Port agents on hosts alone: on egress of the senders' NICs, and on ingress of the receiver's. The
# switches have none.
#
#	h1 eth0 --- h1 .----.               .---.
#	...            | s1 | next --- eth0 | r |
#	h4 eth0 --- h4 '----'               '---'
#	   ^ edge                   ingress ^
#
# The bottleneck is the link to r, of 200 Mbit/s.
#
# check: uml main
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154,SC2317 # namespaces are in variables set by name; functions by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

link=200			# Mbit/s

mbit() { awk -v bps="$1" 'BEGIN { printf "%.1f", bps / 1e6 }'; }

edge_stat() # JQ: of the row of r's edge
{
	"$HPCCPP" -j port show dev eth0 netns "$r" | jq -r ".[] | select(.hook == \"ingress\") | $1"
}

# steady FAMILY FLOWS SECONDS SHARE: a share of the link as goodput
steady()
{
	local what="$2 flows, $1"

	measure_flows hpccpp "$1" "$2" "$3"
	ktap_diag "$what: idle CPU $idle, queue, 99 % of all the time: $p99_packets packets"
	assert_ge "$what: goodput" "$(mbit "$goodput_bps")" "$(awk "BEGIN { print $4 * $link }")" Mbit/s
	assert_le "$what: mean queue" "$mean_packets" 5 packets
	assert_eq "$what: drops after 2 round trips" "$late_drops" 0
	[[ $2 -eq 1 ]] || assert_ge "$what: Jain's index, second half" "$jain" 0.98
	assert_eq "$what: flows that fall back" "$(counter "$h1" fallback)" 0
}

# with OFFLOADS COMMAND...: in a network of its own
with()
{
	local OFFLOADS=$1
	ktap_diag "offloads: $1"
	topo_line 4 1
	edges_on 200mbit
	"${@:2}"
	edged=		# what a test has left of the ports goes with the namespaces
	agents_off
	topo_down
}

# sent: bytes that the other end of the link to r counts
sent() { "$HPCCPP" -j port show dev next netns "$s1" | jq '.[0].sent'; }

# The edge counts each byte that the link to r carries, as the agent at its other end does, and its
# records leave checksums right: those that the kernel has verified (UNNECESSARY, as of devices with
# tx checksums on), and those that it verifies later (NONE).
bytes_and_sums()
{
	local address tx tso before after wrote errors

	"$HPCCPP" port add dev next netns "$s1" queue virtual rate 200mbit base-rtt "${RTT_US}us"
	for tx in on off; do
		for tso in on off; do
			[[ $tx == on || $tso == off ]] || continue
			offloads "$h1" eth0 tx "$tx" tso "$tso" gso "$tso"
			offloads "$s1" next tx "$tx" tso "$tso" gso "$tso"
			for address in "${addr4[r]}" "${addr6[r]}"; do
				before=$(($(edge_stat .sent) - $(sent)))
				wrote=$(edge_stat '.stats | .stamped + .replaced + .kept')
				errors=$(snmp "$r" TcpInCsumErrors)
				sent_intact "tx $tx, TSO $tso, $address" "$h1" "$r" "$address" "-c hpccpp -n 1000k"
				after=$(($(edge_stat .sent) - $(sent)))
				assert_eq "... bytes that the edge counts more than the other end of the link" \
					$((after - before)) 0
				wrote=$(($(edge_stat '.stats | .stamped + .replaced + .kept') - wrote))
				check "... the edge sees requests ($wrote), and no checksum is wrong" \
					[ "$((wrote >= 10)) $(($(snmp "$r" TcpInCsumErrors) - errors))" = "1 0" ]
			done
		done
	done
	assert_eq "packets that the edge found malformed or could not write" \
		"$(edge_stat '.stats | .bad + .error')" 0
	port_off "$s1" next
}

same() { check "$1: $2" [ "$2" = "$3" ]; } # NAME IS WANTED

# hooks: the hooks of r's eth0 that have a port
hooks() { "$HPCCPP" -j port show dev eth0 netns "$r" | jq -r 'map(.hook) | join(" ")'; }

# A replaced edge keeps its id and counters; one that is deleted leaves the egress port there.
operate()
{
	local id said
	id=$(edge_stat .id)
	check "the id of an edge is 2048 or more" [ "$id" -ge 2048 ]
	"$HPCCPP" port change dev eth0 netns "$r" ingress rate 300mbit
	same "rate and id after a change" "$(edge_stat '"\(.rate) \(.id)"')" "300000000 $id"
	"$HPCCPP" port add dev eth0 netns "$r" edge queue virtual rate 1gbit
	"$HPCCPP" port del dev eth0 netns "$r" ingress
	same "hooks that have a port after the edge is deleted" "$(hooks)" egress
	"$HPCCPP" -n "$r" save >"$tmp/saved"
	said=$("$HPCCPP" host setup dev eth0 rate 200mbit base-rtt "${RTT_US}us" netns "$r")
	same "hooks after host setup" "$(hooks)" "egress ingress"
	same "... which says the commands, but none for the host agent that is there" \
		"$(wc -l <<<"$said") $(grep -c 'host add' <<<"$said" || true)" "2 0"
	"$HPCCPP" -n "$r" save >"$tmp/saved"
	same "... and save both ports" "$(grep -c '^port dev eth0 \(edge\|ingress\)' "$tmp/saved")" 2
	"$HPCCPP" -n "$r" port del dev eth0 ingress
	"$HPCCPP" -n "$r" apply "$tmp/saved"
	same "hooks after apply of that" "$(hooks)" "egress ingress"
	"$HPCCPP" -n "$r" apply "$tmp/saved" dry-run >"$tmp/said"
	same "... which then has nothing to do" "$(wc -l <"$tmp/said")" 0
	"$HPCCPP" port del dev eth0 netns "$r"
	same "hooks after the port on egress is deleted" "$(hooks)" ingress
	"$HPCCPP" host setup dev eth0 netns "$r" off >"$tmp/said"
	same "hooks after host setup off" "none $(hooks)" "none "
}

load_hpccpp || ktap_skip_all "no tcp_hpccpp to load"
echo TAP version 13
if runs_main; then
	with default steady ipv4 4 1 .88
	with default operate
fi
if runs_rest; then
	with default steady ipv6 1 1 .8677
	with "gro on" bytes_and_sums
fi
ktap_finish
