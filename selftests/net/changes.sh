#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Changes of a path while a flow runs on it: it leads over other links, and the bottleneck's port,
# the sender and the receiver lose their agents and get them back. The flow goes on, and no byte is
# lost.
#
#	               .--- next s2 --50--- prev .
#	h1 --100-- s1 <                           > s3 next --100-- r
#	           alt '--- prev m  --50--- alt  '
#
# Mbit/s. Links 1 (h1), 11 (s1 next), 12 (s2), 13 (s3), 21 (s1 alt) and 22 (m).
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; called by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

EDGE=100mbit
RATE=50mbit
HOP=2
link_bps=50000000

# The lower way, after topo_line has made the upper one.
second_way()
{
	local ns

	ip_batch=() tc_batch=() devices=()
	: >"$tmp/links"
	setup_ns m
	link 201 "$s1" alt "$m" prev 2.1
	link 202 "$m" next "$s3" alt 2.2
	route "$m" default default 2.2 2
	route "$m" 10.0.0.0/16 fd00::/32 2.1 1
	ip -batch "$tmp/links"
	nsenter --net="/run/netns/$m" sysctl -qw net.ipv4.ip_forward=1 \
		net.ipv6.conf.all.forwarding=1
	for ns in "${!ip_batch[@]}"; do
		ip -n "$ns" -batch - <<<"${ip_batch[$ns]}"
		set_offloads "$ns"
	done
	local tbf=(root handle 1: tbf burst $((2 * (MTU + 14))) limit "$BUFFER" rate)
	tc -n "$s1" qdisc add dev alt "${tbf[@]}" "$EDGE"
	tc -n "$m" qdisc add dev next "${tbf[@]}" "$RATE"
}

declare -A port_of

port_add() # LINK [OPTION...]
{
	# shellcheck disable=SC2086 # two words
	port_on ${port_of[$1]} id "$@"
}

port_del() # LINK
{
	# shellcheck disable=SC2086 # two words
	port_off ${port_of[$1]}
}

flow() { "$HPCCPP" -j flow show netns "$h1" | jq -r ".[0].$1"; } # FIELD
flow_is() { [[ $(flow "$1") == "$2" ]]; } # FIELD VALUE
flow_is_not() { ! flow_is "$@"; }

received() { # bytes by the receiver so far
	ss -N "$r" -Htni state established "sport = :4000" | grep -o 'bytes_received:[0-9]*' | cut -d: -f2
}
more_than() { [[ $(received) -gt $1 ]]; }

# goes_on NAME: data still arrives
goes_on()
{
	local have
	have=$(received)
	check "$1: data goes on" busywait 5 more_than $((have + 100000))
}

sender_back() { host_on "$h1" records 2; }

load_hpccpp || ktap_skip_all "no module tcp_hpccpp"
echo TAP version 13
topo_line 1 3
second_way
port_of=([1]="$h1 eth0" [11]="$s1 next" [12]="$s2 next" [13]="$s3 next"
	[21]="$s1 alt" [22]="$m next")
for id in "${!port_of[@]}"; do
	port_add "$id"
done
sender_back
host_on "$r"

xfer_server "$r" 4000 >"$tmp/server"
listener=$!
in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -t 600 -c hpccpp connect "${addr4[r]}" 4000 >"$tmp/client"
sender=$!

# --- The route -----------------------------------------------------------------

check "the flow begins on the upper way" busywait 5 flow_is bottleneck 12
bdp=$((link_bps * RTT_US / 8000000))
# T has four packets more, and W_max is 9/8 of that
fills_pipe() { (($(flow W) >= bdp / 2 && $(flow W) <= (bdp + 4 * (MTU + 14)) * 9 / 8)); }
timeouts=$(snmp "$h1" TcpExtTCPTimeouts)
for way in "2.1 22" "1.1 12"; do
	read -r net id <<<"$way"
	ip -n "$s1" route replace default via "10.$net.2"
	check "way by link $id: is the bottleneck" busywait 5 flow_is bottleneck "$id"
	check "way by link $id: W comes near the pipe" busywait 20 fills_pipe
	goes_on "way by link $id"
done
assert_eq "retransmission timeouts so far" $(($(snmp "$h1" TcpExtTCPTimeouts) - timeouts)) 0
assert_eq "fallbacks so far" "$(counter "$h1" fallback)" 0

# --- Agents of ports -----------------------------------------------------------

port_del 12
check "port 12 gone: another is the bottleneck" busywait 5 flow_is_not bottleneck 12
goes_on "port 12 gone"
changed=$(flow guards.changed)
port_add 12 rate 40mbit queue virtual
check "port 12 back with another rate: is the bottleneck" busywait 5 flow_is bottleneck 12
assert_ge "port 12 back with another rate: guard changed" "$(flow guards.changed)" $((changed + 1))
port_del 12
port_add 12
goes_on "port 12 back with its own rate"
assert_eq "fallbacks so far, but without the bottleneck's port" \
	$(($(counter "$h1" fallback) - $(counter "$h1" blind))) 0

# --- The sender's agent ----------------------------------------------------------

# A program that pins an agent keeps its maps, and with them its state of sockets.
fallbacks=$(counter "$h1" fallback)
enters=$(counter "$h1" enter)
held=/sys/fs/bpf/held-$$
bpftool prog pin id "$(bpftool -j cgroup show "${cgroup_of[$h1]}" | jq '.[0].id')" "$held"
host_off "$h1"
name="sender's agent, held by another program,"
check "$name gone: fallback" busywait 20 reaches "$h1" fallback $((fallbacks + 1))
goes_on "$name gone"
sender_back
check "$name back: enter" busywait 20 reaches "$h1" enter $((enters + 1))
goes_on "$name back"
rm "$held"

# --- The receiver's agent: to the fallback and back, while data is lost ------------

tc -n "$s3" qdisc add dev next parent 1: handle 2: netem limit 1000 loss 2%
lost=$(snmp "$h1" TcpRetransSegs)
for i in 1 2 3; do
	host_off "$r"
	check "receiver's agent gone, $i: the fallback follows" busywait 20 flow_is mode cubic
	assert_eq "... reason" "$(flow reason)" lost-echo
	goes_on "... and"
	host_on "$r"
	check "receiver's agent back, $i: hpccpp follows" busywait 20 flow_is mode hpccpp
	goes_on "... and"
done
assert_ge "segments sent again meanwhile" $(($(snmp "$h1" TcpRetransSegs) - lost)) 10

# Near the end: the flow closes while one follows the other.
host_off "$r"
busywait 20 flow_is mode cubic || true
host_on "$r"
kill "$sender"
wait "$listener"
check "all the time: data intact" jq -e '.intact and .received > 2000000' "$tmp/server"
ktap_finish
