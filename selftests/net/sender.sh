#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How a sender begins behind a queue: T of a handshake that waited in it, and the
# window where it is beyond what a record can say.
#
#	h1 eth0 --1G-- h1 | s1 | next ==200M== eth0 | r		(topo_line in lib.sh)
#	h2 eth0 --1G-- h2 |    |       netem: half a round trip
#	   reno: the queue that h1's SYN finds
#
# check: uml
# usual: 10
# shellcheck disable=SC2034,SC2154 # used and set in lib.sh
# shellcheck disable=SC2317 # functions that busywait calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# What is waited for here takes many packets: look less often.
nap() { read -rt 0.02 -u "$never" || true; }

# network BUFFER: two senders, and h1's agent on a cgroup of its own
network()
{
	BUFFER=$1
	topo_line 2 1
	host_on "$h1" every 1
	host_on "$r"
	ports_on
}

# flow FROM OPTIONS [SERVER-OPTIONS]: to r, in the background
flow()
{
	local port=$((next_port++))
	# shellcheck disable=SC2086 # a list
	start_server "$r" "$port" "$HPCCPP_BIN/xfer" ${3-} listen "$port" >/dev/null
	flows+=($!)
	# shellcheck disable=SC2086
	in_ns_bg "$1" "$HPCCPP_BIN/xfer" $2 -t 600 connect "${addr4[r]}" "$port" >/dev/null
	flows+=($!)
	senders+=($!)
}

# network_down: when its flows have ended, or the module could not be unloaded
network_down()
{
	kill "${senders[@]}"
	wait "${flows[@]}"
	busywait 60 no_sockets "$h1"
	flows=()
	senders=()
	hosts_off
	topo_down
}

queue() { tc -s -j -n "$s1" qdisc show dev next root | jq '.[0].backlog'; }
waits() { [[ $(queue) -ge $1 ]]; }

first() { sed -nE "1s/.*\\<$1=([^ ]*).*/\\1/p" "$tmp/updates"; }	# NAME
updated() { grep -q hpccpp_update: "$tracing/trace"; }

# joins BUFFER BYTES: h1's flow begins when so much waits
joins()
{
	network "$1"
	flow "$h2" "-c reno"
	busywait 60 waits "$2"
	trace_on
	waiting=$(queue)
	flow "$h1" "-c hpccpp"
	busywait 60 updated
	trace_off
	network_down
}

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
echo mono >"$tracing/trace_clock"
flows=()
senders=()
echo "TAP version 13"

# 300 KB are 12 ms of the link, which are no part of the path of 2 ms.
joins 2mb 300000
assert_le "T of a flow whose SYN waited behind $waiting bytes" "$(first T)" 4000 us

# A record tells of 200 ms to 1/64, so 3 ms of them may stay in T.
joins 8mb 5000000
assert_le "T of a flow whose SYN waited behind $waiting bytes" "$(first T)" 8000 us

ktap_finish
