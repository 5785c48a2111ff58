#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Rx-HPCC (section 6.2 of the draft): where the agents of both ends have mode
# receiver, the receiver's computes W and the sender obeys. Flows share a link, used
# to eta, its queue short, and ACKs bring windows instead of echoes; the flows are
# counted for N; loss, full headers, an end in the other mode, one that changes its
# mode or its congestion control under way, a bottleneck without telemetry and INT
# responses do no harm.
#
#	h1 eth0 --1G-- h1 |    |                            .---.
#	h2 eth0 --1G-- h2 | s1 | next ---50M-- eth0 | r		(topo_line in lib.sh)
#	...               |    |
#
# check: uml main
# usual: 120
# shellcheck disable=SC2154 # namespaces are in variables set by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

RATE=50mbit
senders=(h1 h2 h3 h4)

# modes SENDERS RECEIVER: agents anew
modes()
{
	local host
	for host in "${senders[@]}"; do
		host_off "${!host}"
		host_on "${!host}" mode "$1"
	done
	host_off "$r"
	host_on "$r" mode "$2"
}

# transfer NAME [CLIENT-OPTIONS]: by h1; sets windows and updates to how many there were
transfer()
{
	windows=$(counter "$h1" windows)
	updates=$(counter "$h1" updates)
	check "$1: data intact" tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 1m ${2-}"
	windows=$(($(counter "$h1" windows) - windows))
	updates=$(($(counter "$h1" updates) - updates))
}

load_hpccpp
echo TAP version 13
topo_line 4 1
ports_on

# --- Steady state --------------------------------------------------------------

# steady FAMILY FLOWS LEAST-MBIT
steady()
{
	local what="$2 flows, $1" address=${addr4[r]} sum=0 host
	[[ $1 == ipv4 ]] || address=${addr6[r]}
	trace_on
	modes receiver receiver
	xfer_flows 1 "$address" "$2"
	trace_off
	assert_ge "$what: goodput" "$goodput_bps" "${3}000000" bit/s
	assert_le "$what: mean queue" "$mean_packets" 5 packets
	assert_eq "$what: drops after 2 round trips" "$late_drops" 0
	assert_ge "$what: Jain's index" "$jain" 0.98
	assert_ge "$what: windows sent" "$(host_stat "$r" computed)" $((150 * $2))
	assert_le "$what: echoes, the SYN-ACK's and until windows come" \
		"$(host_stat "$r" echoed)" $((12 * $2))
	for ((host = 1; host <= $2; host++)); do
		ns=h$host
		sum=$((sum + $(host_stat "${!ns}" windows)))
	done
	assert_eq "$what: windows that arrived" "$sum" "$(host_stat "$r" computed)"
	assert_eq "$what: malformed, and errors" "$(host_stat "$r" bad) $(host_stat "$r" error)" "0 0"
}
# Ns: of each update, by W_ai and W_max, 9/8 of W_init, with eta 99 %. The least W_ai, 18 bytes, has none.
Ns()
{
	sed -nE 's/.* W_ai=([0-9]+) W_max=([0-9]+).*/\1 \2/p' "$tmp/updates" |
		awk '$1 > 18 { printf "%.1f\n", $2 * 8 / 9 * .01 / $1 }'
}
# edge RATE: of h1, and its port anew
edge()
{
	tc -n "$h1" qdisc change dev eth0 root handle 1: tbf rate "$1" \
		burst $((2 * (MTU + 14))) limit "$BUFFER"
	port_off "$h1" eth0
	port_on "$h1" eth0
}
four_flows()
{
	steady ipv4 4 42
	N=$(Ns | tail -n 1)
	assert_ge "4 flows, ipv4: N that was measured" "$N" 3.5 flows
	assert_le "4 flows, ipv4: N that was measured" "$N" 4.5 flows
}

two_links()
{
	edge "$RATE"
	modes receiver receiver
	host_off "$h1"
	host_on "$h1" mode receiver records 2
	trace_on
	transfer "two links take turns as the bottleneck" "-n 6m"
	trace_off
	assert_ge "two links take turns as the bottleneck: N was 1" "$(Ns | grep -cx '1\..' || true)" 100
	assert_eq "two links take turns as the bottleneck: N was 2 to 8" \
		"$(Ns | awk '$1 > 1.5 && $1 < 8.5' | wc -l)" 0
	edge 1gbit
}

# --- Who has which mode --------------------------------------------------------

one_end()
{
	modes receiver sender
	transfer "only the sender wants it"
	assert_eq "only the sender wants it: windows" "$windows" 0
	assert_ge "only the sender wants it: updates by echoes" "$updates" 200
	assert_ge "only the sender wants it: requests" "$(host_stat "$h1" requested)" 1
	modes sender receiver
	transfer "only the receiver wants it"
	assert_eq "only the receiver wants it: windows" "$windows" 0
	assert_ge "only the receiver wants it: updates by echoes" "$updates" 200
}

under_way()
{
	# A flow that goes on while the receiver's agent becomes another
	modes receiver receiver
	flow_start
	check "under way: windows" rises "$h1" windows 20
	host_off "$r"
	host_on "$r" mode sender
	check "under way, r in mode sender: echoes again" rises "$h1" int 100
	host_off "$r"
	host_on "$r" mode receiver
	# T or W_ai changes, or there is nothing new to ask for
	set_knob eta 90
	check "under way, r in mode receiver: windows again" rises "$h1" windows 20
	set_knob eta 0
	host_off "$h1"
	host_on "$h1" mode sender
	check "under way, h1 in mode sender: echoes again" rises "$h1" int 100
	host_off "$h1"
	host_on "$h1" mode receiver
	check "under way, h1 in mode receiver: windows again" rises "$h1" windows 20
	assert_eq "so far: fallbacks" "$(counter "$h1" fallback)" 0

	# What telemetry tells of has room, and packets are lost: W is no more than Reno's.
	port_off "$s1" next
	check "under way, bottleneck without its port: loss" rises "$h1" md_loss 3
	check "under way, bottleneck without its port: windows" rises "$h1" windows 20
	port_on "$s1" next
	check "under way, port back: windows again" rises "$h1" windows 20
	flow_end "under way"
	transfer "from another congestion control and back" "-n 4m -w cubic,hpccpp:4"
	assert_ge "from another congestion control and back: windows" "$windows" 20
}

# --- INT responses -------------------------------------------------------------

responses()
{
	port_off "$s1" next
	port_on "$s1" next respond 50
	port_off "$h1" eth0
	port_on "$h1" eth0 accept 10.1.0.0/16
	modes receiver receiver
	transfer "responses" "-n 3m"
	accepted=$(port_stat "$h1" eth0 .accepted)
	assert_ge "responses: accepted" "$accepted" 50
	# with the next ACK, unless that has a window, which four in T have
	assert_ge "responses: of these, acted upon" "$((updates - windows))" "$((accepted / 4))"
	assert_ge "responses: windows" "$windows" 100
	assert_le "responses: requests, once and when W_ai has changed" "$(host_stat "$h1" requested)" 8

	port_off "$s1" next
	port_on "$s1" next
}

# --- Loss ----------------------------------------------------------------------

losses()
{
	mbit() { jq '.received * 8 / (.end - .start) / 1e5 | round / 10' "$tmp/server"; }
	bottleneck_queue netem limit 1000 loss 5%
	# for want of telemetry
	silent() { echo $(($(counter "$h1" fallback) - $(counter "$h1" blind))); }
	lossy() # MODE SUM: prints SUM with its throughput
	{
		modes "$1" "$1"
		tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 20m" || return
		jq -n "$2 + $(mbit)"
	}
	# One transfer differs from another by a third, as a timeout is 200 ms: the means of up
	# to five, if they have to be.
	sender=0 receiver=0 intact=0
	fallbacks=$(silent)
	md=$(counter "$h1" md_loss)
	windows=$(counter "$h1" windows)
	for pair in 1 2 3 4 5; do
		sender=$(lossy sender "$sender") || intact=1
		capture_start "$r" eth0
		receiver=$(lossy receiver "$receiver") || intact=1
		capture_stop
		[[ $(jq -n "$receiver < $sender * .75") == true ]] || break
	done
	fallbacks=$(($(silent) - fallbacks)) md=$(($(counter "$h1" md_loss) - md))
	windows=$(($(counter "$h1" windows) - windows))
	check "5 % lost: data intact" [ "$intact" -eq 0 ]
	assert_ge "5 % lost: Mbit/s, by the receiver, $pair transfers" "$receiver" \
		"$(jq -n "$sender * .75")"
	assert_ge "5 % lost: decreases" "$md" 1
	assert_ge "5 % lost: windows" "$windows" 20
	# A flight of two packets that is lost, and then the next request, look like a path that
	# drops the option: about once in 130 pairs of transfers at this loss.
	assert_le "5 % lost: fallbacks for want of telemetry or windows" "$fallbacks" 1
	assert_ge "5 % lost: windows beside two SACK blocks" \
		"$(awk '$7 == "other" && $6 == 60' "$tmp/segments" | wc -l)" 1
}

for dev in "${senders[@]}"; do
	nsenter --net="/run/netns/${!dev}" sysctl -qw net.hpccpp.flows=0
done
if runs_main; then
	four_flows
fi
if runs_rest; then
	two_links
fi
for dev in "${senders[@]}"; do
	nsenter --net="/run/netns/${!dev}" sysctl -qw net.hpccpp.flows=64
done
if runs_main; then
	one_end
fi
if runs_rest; then
	steady ipv6 1 42
	under_way
	responses
	losses
fi
ktap_finish
