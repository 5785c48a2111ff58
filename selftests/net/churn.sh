#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What changes while flows run, over and over: their congestion control, their
# namespaces, the agents under them, the module. Data arrives unharmed, telemetry
# comes back each time, the module goes when it is told to and not before, and
# memory is what it was.
#
#	h1 eth0 --1G-- h1 | s1 | next ==100M== eth0 | r		(topo_line in lib.sh)
#	a eth0 --- eth0 b		a pair of namespaces that is deleted
#
# check: uml main
# check-long: 6.1
# cpus: 2
# usual: 120
# shellcheck disable=SC2317,SC2128,SC2154 # functions that check calls; of tcp_send; by name
set -euo pipefail

RATE=100mbit
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# A VM takes ten times as long as the lab's kernel, and so does its debug kernel.
slow=3
[[ ${PLACE-} != uml || -e /sys/kernel/debug/kmemleak ]] || slow=1
# Objects that are more without a leak: two CPUs have slabs and grace periods of
# their own, and only LONG=1 does so much that a leak is more than that.
noise=$((slow == 1 ? 100 : 300))
cycles=$(how_often $((24 / slow)) 200)		# of the module
switches=$(how_often $((9000 / slow)) 20000)	# of a flow's congestion control
agent_rounds=$(how_often $((24 / slow)) $((2 * noise)))	# agents removed and added
pairs=$(how_often $((9 / slow)) $((2 * noise)))	# of namespaces deleted

loaded() { [[ -d /sys/module/tcp_hpccpp ]]; }
unload() { ! loaded || rmmod tcp_hpccpp 2>/dev/null || { sleep 0.01; false; }; }
bpf_objects() { bpftool -j prog list | jq length && bpftool -j map list | jq length; }
same_bpf_objects() { [[ $(bpf_objects) == "$attached" ]]; }

# --- Memory ------------------------------------------------------------------

# kmalloc_objects: their number. Shrinking frees the slabs that a CPU holds. Some objects are
# freed a moment later.
kmalloc_objects()
{
	local shrink
	sleep 1
	for shrink in /sys/kernel/slab/*kmalloc-*/shrink; do
		[[ ! -w $shrink ]] || echo 1 >"$shrink"
	done
	awk '/^kmalloc-/ { n += $2 } END { print n }' /proc/slabinfo
}

# objects_left BEFORE MOST: sets left to the number of objects more than BEFORE. False when that is
# above MOST for 400 s: kernel workers that free maps wait for grace periods and idle for 300 s.
objects_left()
{
	few_left() { left=$(($(kmalloc_objects) - $1)) && [[ $left -le $2 ]]; }
	busywait 400 few_left "$1" "$2"
}

# objects_in CACHE: the number of sockets or network namespaces. A namespace may be freed only when
# the next ones go, so delete some first.
objects_in()
{
	local i
	for i in 1 2 3; do
		[[ $1 != net_namespace ]] || { ip netns add "last-$$" && ip netns del "last-$$"; }
	done
	echo 1 >"/sys/kernel/slab/$1/shrink"
	awk -v cache="$1" '$1 == cache { print $2 }' /proc/slabinfo
}

# --- The module --------------------------------------------------------------

module=${HPCCPP_KO-}
[[ -n $module ]] || module=$(modinfo -n tcp_hpccpp)

# One life: the module stays while a socket listens under hpccpp, or every second time while a flow
# runs whose other end has another congestion control; it goes after the transfer.
cycle() # N
{
	local port=4000 under=(-c hpccpp) listener sender
	[[ $(($1 % 2)) -eq 0 ]] || under=()
	insmod "$module"
	xfer_server "$a" "$port" "${under[@]}" >"$tmp/server" || return
	listener=$!
	if [[ ${#under[@]} -gt 0 ]]; then
		stays || return
		in_ns "$a" "$HPCCPP_BIN/xfer" -c hpccpp -n 50k connect 127.0.0.1 "$port" >"$tmp/client" ||
			return
	else
		in_ns_bg "$a" "$HPCCPP_BIN/xfer" -c hpccpp -t 600 connect 127.0.0.1 "$port" >"$tmp/client"
		sender=$!
		busywait 10 acked "$port" && stays || return
		kill "$sender"
		wait "$sender" || return
	fi
	wait "$listener" || return
	jq -e -s '.[0].sent > 0 and .[0].sent == .[1].received and .[1].intact' \
		"$tmp/client" "$tmp/server" >/dev/null || return
	busywait 20 unload
}
acked() { ss -N "$a" -Htin state established "dport = :$1" | grep -q bytes_acked; }
stays() { ! rmmod tcp_hpccpp 2>/dev/null || { echo "rmmod was not refused"; return 1; }; }
# times N COMMAND: runs the command with each of 0 to N - 1
times()
{
	local i
	for ((i = 0; i < $1; i++)); do
		"$2" "$i" || { echo "time $i"; return 1; }
	done
}

# --- Namespaces --------------------------------------------------------------

# doomed_pair N: deletes two namespaces with a flow under telemetry, every third time after their
# link, and then ends the sender or the receiver first.
doomed_pair()
{
	local a b i=$1 port=4000 processes ns
	setup_ns a b
	unset 'namespaces[-1]' 'namespaces[-1]'
	for ns in "$a" "$b"; do
		ip -n "$ns" link set dev lo up
		nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.tcp_orphan_retries=1
	done
	ip -n "$a" link add eth0 type veth peer eth0 netns "$b"
	# their ends here go when the namespaces do
	ip -n "$a" link add watch type veth peer "a$i" netns "$s1"
	ip -n "$b" link add watch type veth peer "b$i" netns "$s1"
	ip -n "$a" addr add 10.9.0.1/24 dev eth0
	ip -n "$b" addr add 10.9.0.2/24 dev eth0
	ip -n "$a" link set dev eth0 up
	ip -n "$b" link set dev eth0 up
	"$HPCCPP" port add dev eth0 netns "$a" rate 50mbit queue virtual base-rtt 1ms
	xfer_server "$b" "$port" >/dev/null 2>&1 || return
	processes=$!
	in_ns_bg "$a" "$HPCCPP_BIN/xfer" -c hpccpp -t 600 connect 10.9.0.2 "$port" >/dev/null 2>&1
	processes+=" $!"
	[[ $((i % 2)) -ne 0 ]] || processes="${processes#* } ${processes% *}"
	rises "$a" updates 20 || return
	[[ $((i % 3)) -ne 0 ]] || ip -n "$a" link del eth0
	ip netns del "$a"
	ip netns del "$b"
	# shellcheck disable=SC2086 # a list
	{ kill -9 $processes && wait $processes; } 2>/dev/null || true
}
gone() { sleep 0.1 && ! ip -n "$s1" -o link show | grep -qE ' [ab][0-9]+@'; }

# --- Agents ------------------------------------------------------------------

# Removes the agent of the flow's ends, or that of a port, and adds it again.
agents_round()
{
	local port
	if [[ $(($1 % 2)) -eq 0 ]]; then
		"$HPCCPP" host del cgroup "$CGROUP" && "$HPCCPP" host add cgroup "$CGROUP"
	else
		port=${ports[$1 / 2 % ${#ports[@]}]}
		# shellcheck disable=SC2086 # two words
		port_off $port && port_on $port
	fi
}

# few_more [WHAT]: the number of kmalloc objects is "before", or little more
few_more()
{
	objects_left "$before" "$noise" || true
	assert_le "... kmalloc objects left${1-}" "$left" "$noise"
}

changes_of_cc()
{
	tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 100k"
	before=$(kmalloc_objects)
	entered=$(counter "$h1" enter)
	good=0
	tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -w reno,cubic,dctcp:$((switches / 2)) -n 8m" || good=1
	check "congestion control changed under way: data intact" [ "$good" -eq 0 ]
	assert_ge "... changes" "$(jq -n --argjson c "$client" '$c.switched')" $((switches * 99 / 100))
	assert_ge "... under telemetry again after a change" $(($(counter "$h1" enter) - entered)) 50
	few_more
}

doomed_pairs()
{
	before=$(kmalloc_objects)
	good=0
	for ((i = 0; i < pairs; i++)); do
		doomed_pair "$i" || good=1
	done
	check "$pairs pairs of namespaces deleted, with a live flow each" [ "$good" -eq 0 ]
	check "... and gone when the flow is" busywait 60 gone
	few_more
}

agents_change()
{
	before=$(kmalloc_objects)
	flow_start
	# a receiver that is established while no agent is there is asked in vain
	rises "$h1" updates 20 60
	check "agents removed and added under a flow, $agent_rounds times" times "$agent_rounds" agents_round
	check "... it is under telemetry in the end" rises "$h1" updates 20 60
	flow_end "... and all the time"
	check "... as many eBPF programs and maps as before" \
		busywait 10 same_bpf_objects
	few_more
}

module_cycles()
{
	setup_ns a b c d
	ip -n "$a" link set dev lo up
	# so that a flow there waits at times: else no time passes in the lab
	tc -n "$a" qdisc add dev lo root netem delay 1ms rate 1gbit
	times 2 cycle
	before=$(kmalloc_objects)
	check "loaded, used, not to be unloaded, unloaded: $cycles times" times "$cycles" cycle
	few_more ", each time and namespace would be $((cycles * 5))"
	topo_down
}

# --- The run -----------------------------------------------------------------

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
! grep -q '^tcp_dctcp' <(modprobe -nR tcp_dctcp 2>/dev/null) || modprobe tcp_dctcp
busywait 20 unload
module_loaded=
echo TAP version 13
caches=(TCP TCPv6 net_namespace)
declare -A had
for cache in "${caches[@]}"; do
	had[$cache]=$(objects_in "$cache")
done

if runs_main; then
	module_cycles
fi
load_hpccpp
topo_line 1 1
agents_on
attached=$(bpf_objects)
if runs_rest; then
	changes_of_cc
	doomed_pairs
fi

if runs_main; then
	agents_change
fi

agents_off
topo_down
check "rmmod when nothing uses it" busywait 30 unload
module_loaded=
# as it was: what is left to be done by the kernel's workers takes its time
none_left() { left=$(($(objects_in "$1") - had[$1])); [[ $left -le 0 ]] || { sleep 0.1; false; }; }
for cache in "${caches[@]}"; do
	busywait 60 none_left "$cache" || true
	assert_le "... objects left in $cache" "$left" 0
done
ktap_finish
