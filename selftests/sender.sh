#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a sender makes of single packets: T of a handshake that waited in a queue, the
# window that a flow begins with when that queue is beyond what a record can say, how
# often it asks its agent, and when the next packet leaves after R grew.
#
#	h1 eth0 --1G-- h1 | s1 | next ==200M== eth0 | r		(topo_line in lib.sh)
#	h2 eth0 --1G-- h2 |    |       netem: half a round trip
#	   reno: the queue that h1's SYN finds
#
# place: uml
# timeout: 120
# shellcheck disable=SC2034,SC2154 # used and set in lib.sh
# shellcheck disable=SC2317 # functions that busywait calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

trace=/sys/kernel/tracing
full=1514		# bytes of a full packet

knob() { nsenter --net="/run/netns/$h1" sysctl -qw "net.hpccpp.$1=$2"; }

# network BUFFER: two senders, and h1's agent on a cgroup of its own
network()
{
	BUFFER=$1
	topo_line 2 1
	host_on "$h1"
	host_on "$r"
	ports_on
}

network_down()
{
	kill "${flows[@]}" 2>/dev/null || true
	wait "${flows[@]}" 2>/dev/null || true
	flows=()
	hosts_off
	topo_down
}

# flow FROM OPTIONS: to r, in the background
flow()
{
	local port=$((next_port++))
	in_ns_bg "$r" "$HPCCPP_BIN/xfer" listen "$port" >/dev/null 2>&1
	flows+=($!)
	busywait 10 listening "$r" "$port"
	# shellcheck disable=SC2086 # a list
	in_ns_bg "$1" "$HPCCPP_BIN/xfer" $2 -t 600 connect "${addr4[r]}" "$port" >/dev/null 2>&1
	flows+=($!)
}

queue() { tc -s -j -n "$s1" qdisc show dev next root | jq '.[0].backlog'; }
waits() { [[ $(queue) -ge $1 ]]; }

# trace_on, and trace_off: the updates since, in $tmp/updates
trace_on()
{
	echo >"$trace/trace"
	echo 1 >"$trace/events/hpccpp/hpccpp_update/enable"
}
trace_off()
{
	echo 0 >"$trace/events/hpccpp/hpccpp_update/enable"
	# the seconds come before the event's name
	sed -nE 's/.* ([0-9]+\.[0-9]+): hpccpp_update:/at=\1/p' "$trace/trace" >"$tmp/updates"
}
first() { sed -nE "1s/.*\\<$1=([^ ]*).*/\\1/p" "$tmp/updates"; }	# NAME
updated() { grep -q hpccpp_update: "$trace/trace"; }
counted() { [[ $(counter "$h1" "$1") -ge $2 ]]; }			# NAME LEAST

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
echo mono >"$trace/trace_clock"
flows=()
echo "TAP version 13"

# 300 KB are 12 ms of the link, which are no part of the path of 2 ms.
joins 512kb 300000
assert_le "T of a flow whose SYN waited behind $waiting bytes" "$(first T)" 4000 us

# A record says 4 MB at most: of 5 MB T is not known, nor what min(B) T is.
joins 8mb 5000000
assert_le "W_c that a flow begins with behind $waiting bytes, T is $(first T) us" \
	"$(first W_c)" $((10 * full)) bytes

network 512kb
flow "$h1" "-c hpccpp"
busywait 60 counted updates 1000
pulled=$(host_stat "$h1" pulled)
acks=$(counter "$h1" acks)
busywait 60 counted acks $((acks + 2000))
pulled=$(($(host_stat "$h1" pulled) - pulled))
acks=$(($(counter "$h1" acks) - acks))
assert_le "times that the agent was asked in $acks ACKs" "$pulled" $((acks * 11 / 10))

# wait_after: R of an eta of 1 %, a packet in some 7 ms, and then 95 times that. How
# long after the ACK that brought it the next one comes, in us: a round trip and the
# rest of the wait.
wait_after()
{
	knob max_stage 0
	knob eta 1
	trace_on
	busywait 60 updates_with 10 R '2[0-9]{5}'
	trace_on
	knob eta 95
	busywait 60 updates_with 10 R '[0-9]{7,}'
	trace_off
	perl -ne '
		/at=(\S+)/ and $at = $1;
		$from and printf("%.0f\n", ($at - $from) * 1e6), exit;
		/ R=(\d+)/ and $1 > 1e6 and $from = $at' "$tmp/updates"
}
updates_with() { [[ $(grep -cE " $2=$3 " "$trace/trace") -ge $1 ]]; }	# LEAST NAME PATTERN
wait_after
cut -d' ' -f1,20-27 "$tmp/updates" | head -20
network_down
ktap_finish
