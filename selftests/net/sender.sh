#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a sender makes of single packets: T of a handshake that waited in a queue, the
# window that a flow begins with when that queue is beyond what a record can say, and
# when the next packet leaves after R grew.
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
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

trace=/sys/kernel/tracing
full=1514		# bytes of a full packet

# What is waited for here takes many packets: look less often.
nap() { read -rt 0.02 -u "$never" || true; }

knob() { nsenter --net="/run/netns/$h1" sysctl -qw "net.hpccpp.$1=$2"; }

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
	in_ns_bg "$r" "$HPCCPP_BIN/xfer" ${3-} listen "$port" >/dev/null
	flows+=($!)
	busywait 10 listening "$r" "$port"
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

# updates_with NAME PATTERN: the last ten
updates_with() { [[ $(tail -n 10 "$trace/trace" | grep -cE " $1=$2 ") -eq 10 ]]; }

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
senders=()
echo "TAP version 13"

# 300 KB are 12 ms of the link, which are no part of the path of 2 ms.
joins 2mb 300000
assert_le "T of a flow whose SYN waited behind $waiting bytes" "$(first T)" 4000 us

# A record says 4 MB at most: of 5 MB T is not known, nor what min(B) T is.
joins 8mb 5000000
assert_le "W_c that a flow begins with behind $waiting bytes, T is $(first T) us" \
	"$(first W_c)" $((10 * full)) bytes


# grows: R is a hundredth of the link's, a packet in some 6 ms, and grows by the echo
# of the last one, which comes after two.
grows()
{
	knob eta 1
	trace_on
	busywait 20 updates_with R '[0-9]{6}'
	trace_on
	knob eta 95
	busywait 20 updates_with R '[0-9]{8,}'
	trace_off
}

# TCP's own pacing: the next packet does not wait for what R was. ACKs that tell nothing
# make TCP look whether it may leave.
network 512kb
knob max_stage 0
knob w_ai 1
mkfifo "$tmp/to"
in_ns_bg "$s1" "$HPCCPP_BIN/inject" "$next_port" 1 "$tmp/to" >"$tmp/from"
injector=$!
busywait 10 grep -q watching "$tmp/from"
flow "$h1" "-c hpccpp"
while read -rt 0.001 -u "$never" || echo malformed 1; do :; done >"$tmp/to" &
background+=($!)
looks=$!
grows
assert_le "R grows: the echo of the next packet comes" "$(perl -ne '
	($at) = /at=(\S+)/;
	$from and printf("%.0f\n", ($at - $from) * 1e6), exit;
	/ R=(\d+)/ and $1 > 1e6 and $from = $at' "$tmp/updates")" 5000 us later
kill "$injector" "$looks"
network_down

# An ACK that left meanwhile has the end of that wait for its time stamp: nothing may
# be older, or r drops it.
network 512kb
knob max_stage 0
knob w_ai 1
nsenter --net="/run/netns/$r" sysctl -qw net.ipv4.tcp_wmem="4096 65536 65536"
flow "$h1" "-c hpccpp" "-t 600"
for i in 1 2 3; do
	grows
done
assert_eq "... beside ACKs of data: segments that r found too old" "$(snmp "$r" TcpExtPAWSEstab)" 0
kill "${flows[0]}"
network_down

# fq's: packets that have gone to it wait as R was, and none overtakes them.
network 512kb
knob max_stage 0
knob w_ai 1
port_off "$h1" eth0
tc -n "$h1" qdisc replace dev eth0 root fq
flow "$h1" "-c hpccpp"
for i in 1 2 3; do
	grows
done
assert_eq "... under fq: segments that r got out of order" "$(snmp "$r" TcpExtTCPOFOQueue)" 0
network_down
ktap_finish
