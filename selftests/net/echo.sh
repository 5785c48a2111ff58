#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every ACK that carries an echo is seen by the algorithm with that ACK: in the
# states of a closing connection too, and on the receive paths that other ways to
# the ACK miss. As many echoes as the sender's agent parsed are pulled by the
# module. That of the third ACK, which acknowledges no data, comes with the first segment.
#
#	h1 eth0 --1G-- h1 | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#	   ACKs: GRO, in lists                  netem: half a round trip
#	h1 lo: both ends of a connection, and a port
#
# check: uml
# check-long: 6.1
# usual: 30
# shellcheck disable=SC2154 # set in lib.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

declare -A count counted
counts() # into count, what has been counted so far, by name
{
	{ read -r 'count[echoes]'; read -r 'count[asked]'; } < <(host_stat "$h1" echoes asked)
	local echoed short
	{ read -r echoed; read -r short; } < <(host_stat "$echoer" echoed echo_short)
	count[echoed]=$((echoed + short))
	count[int]=$(counter "$h1" int)
}

# transfer NAME FROM TO ADDRESS BYTES CLIENT-OPTIONS SERVER-OPTIONS: leaves what
# it counted in counted, and in $late the generations after the sender's close().
transfer()
{
	local name=$1 from=$2 to=$3 port=$((next_port++)) listener closed what
	echoer=$to
	counts
	for what in "${!count[@]}"; do
		counted[$what]=-${count[$what]}
	done
	# shellcheck disable=SC2086 # lists
	xfer_server "$to" "$port" $7 >"$tmp/server"
	listener=$!
	# shellcheck disable=SC2086
	in_ns "$from" "$HPCCPP_BIN/xfer" -c hpccpp -n "$5" $6 connect "$4" "$port" >"$tmp/client"
	closed=$(counter "$h1" int)
	wait "$listener" || true
	busywait 30 no_sockets "$from" "dport = :$port"
	late=$(($(counter "$h1" int) - closed))
	counts
	for what in "${!count[@]}"; do
		counted[$what]=$((counted[$what] + count[$what]))
	done
	ktap_diag "$name: asked ${counted[asked]}, echoed ${counted[echoed]}, echoes" \
		"${counted[echoes]}, int ${counted[int]}"
	check "$name: data intact" intact
}
# shellcheck disable=SC2317 # by check
intact()
{
	jq -e -s '.[0].sent > 0 and .[0].sent == .[1].received and .[1].intact' \
		"$tmp/client" "$tmp/server"
}

assert_seen() # NAME LEAST: of at least so many echoes
{
	assert_ge "$1: echoes arrived" "${counted[echoes]}" "$2"
	assert_eq "$1: echoes sent" "${counted[echoed]}" "${counted[echoes]}"
	assert_eq "$1: echoes pulled" "${counted[int]}" "${counted[echoes]}"
}

# How often a packet of a list went by the route of the one before it: these are
# not looked up early, and have no socket until TCP.
hints() { awk '$1 == "hpccpp_hint" { print $2 }' "$tracing/kprobe_profile"; }
watch_lists()
{
	echo 'p:hpccpp_hint ip_route_use_hint' >>"$tracing/kprobe_events"
	echo 1 >"$tracing/events/kprobes/hpccpp_hint/enable"
}
unwatch_lists()
{
	echo 0 >"$tracing/events/kprobes/hpccpp_hint/enable"
	echo '-:hpccpp_hint' >>"$tracing/kprobe_events"
}

ktap_plan 35
load_hpccpp
topo_line 1 1
# Room for all of a transfer: the sender is done before the network is.
nsenter --net="/run/netns/$h1" sysctl -qw net.ipv4.tcp_wmem="4096 16777216 16777216"
host_on "$h1" every 1
host_on "$r" every 1
ports_on
"$HPCCPP" port add dev lo netns "$h1" rate 1gbit queue virtual base-rtt 100us

for family in ipv4 ipv6; do
	declare -n address=addr${family#ipv}
	transfer "$family" "$h1" "$r" "${address[r]}" 1m "" ""
	assert_seen "$family" 300
	transfer "$family, closed at once" "$h1" "$r" "${address[r]}" 3m "-e close" ""
	assert_seen "$family, closed at once" 1000
	assert_ge "$family, closed at once: pulled after that" "$late" 500
	transfer "$family, closed by the peer before" "$h1" "$r" "${address[r]}" 1m "-e late" "-n 1"
	assert_seen "$family, closed by the peer before" 300
done

# The server hears of its path too, in the third ACK.
transfer loopback "$h1" "$h1" 127.0.0.1 4m "" "-c hpccpp"
assert_seen loopback 20

# ACKs leave the receiver in bunches, and what forwards them to h1 has no TSO:
# veth then hands them to NAPI, GRO cannot merge them and delivers lists.
offloads "$h1" eth0 gro on
tc -n "$r" qdisc replace dev eth0 root netem delay 1ms slot 1ms 1ms limit 100000
kprobes=
[[ ! -e $tracing/kprobe_events ]] || kprobes=1
[[ -z $kprobes ]] || watch_lists
transfer "ACKs in lists" "$h1" "$r" "${addr4[r]}" 1m "" ""
assert_seen "ACKs in lists" 200
if [[ -n $kprobes ]]; then
	assert_ge "ACKs in lists: not the first of their list" "$(hints)" 100
	unwatch_lists
else
	ktap_skip "ACKs in lists: not the first of their list" "this kernel has no kprobes"
fi
ktap_finish
