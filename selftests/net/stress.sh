#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All that reads and changes what belongs to a flow, while flows run on two CPUs: ss,
# TCP_CC_INFO, flow show, /proc/net/hpccpp; sysctls; agents that go and come, in either
# mode; flows that are new, and those that change their congestion control. Data arrives
# unharmed, and telemetry steers in the end. make check-long also
# runs this with KCSAN, which reports data races.
#
#	h1 eth0 --1G-- h1 | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#
# check-long: 6.1
# cpus: 2
# usual: 120
# shellcheck disable=SC2317,SC2154 # functions called by name; namespaces are in variables
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

flows=4
rounds=$(how_often 2 40)			# of the agents

[[ $(nproc) -ge 2 ]] || ktap_skip_all "one CPU"
ktap_plan 9
load_hpccpp
topo_line 1 1
ports_on
host_on "$h1"
host_on "$r"

# --- What is done all the time -----------------------------------------------

read_all()
{
	ss -N "$h1" -Htin >/dev/null &&
		"$HPCCPP" flow show netns "$h1" >/dev/null &&
		nsenter --net="/run/netns/$h1" cat /proc/net/hpccpp >/dev/null
}
# the last of the values is the default; by one process, or others were slower than flows
set_all()
{
	# shellcheck disable=SC2016 # for bash
	nsenter --net="/run/netns/$h1" bash -ec 'cd /proc/sys/net/hpccpp
		for ((i = 0; i < 200; i++)); do
			for knob; do
				values=(${knob#*=})
				echo "${values[i % ${#values[@]}]}" >"${knob%%=*}"
			done
		done' - 'eta=80 0' 'flows=0 64' 'base_rtt_us=3000 0' \
		'probe=10 0' 'law=draft averaged'
}
agents()
{
	local port mode ns
	for mode in receiver sender; do
		for ns in "$h1" "$r"; do
			host_off "$ns" && host_on "$ns" mode "$mode" || return
		done
		for port in "${ports[@]}"; do
			# shellcheck disable=SC2086 # two words
			port_off $port && port_on $port || return
		done
	done
}
new_flows()
{
	tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 100k" "-n 100k" &&
		tcp_send "$r" "$h1" "${addr6[h1]}" "-i -c hpccpp -w reno,cubic:20 -n 500k"
}
again() # COMMAND: until the agents have gone and come so often
{
	local times=0
	until [[ -e $tmp/ended ]]; do
		"$1" || { echo "time $times"; return 1; }
		times=$((times + 1))
	done
	echo "$times times"
}

# --- The run -----------------------------------------------------------------

processes=()
for ((i = 1; i <= flows; i++)); do
	address=${addr4[r]}
	[[ $((i % 2)) -eq 0 ]] || address=${addr6[r]}
	# one that is asked all the time takes a part of a CPU
	ask=()
	[[ $i -gt 1 ]] || ask=(-i)
	xfer_server "$r" $((6000 + i)) -c hpccpp -t 6000 >"$tmp/flow$i.r"
	processes+=($!)
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" "${ask[@]}" -c hpccpp -t 6000 connect "$address" $((6000 + i)) >"$tmp/flow$i.h1"
	processes+=($!)
done

loops=(read_all set_all new_flows)
for name in "${loops[@]}"; do
	again "$name" >"$tmp/$name" 2>&1 &
	background+=($!)
	declare "$name=$!"
done
status=0
for ((i = 0; i < rounds; i++)); do
	agents >"$tmp/agents" 2>&1 || status=1
done
check "agents went and came, $rounds times, under $flows flows" [ "$status" -eq 0 ]
[[ $status -eq 0 ]] || ktap_diag "$(<"$tmp/agents")"
: >"$tmp/ended"
for name in "${loops[@]}"; do
	status=0
	wait "${!name}" || status=1
	check "$name meanwhile" [ "$status" -eq 0 ]
	ktap_diag "$(<"$tmp/$name")"
done

check "flows are under telemetry in the end" rises "$h1" updates 20 60
kill "${processes[@]}"
status=0
wait "${processes[@]}" || status=1
# shellcheck disable=SC2016 # for jq
check "all the time: data intact" jq -e -s --argjson flows "$flows" \
	"$status"' == 0 and length == 2 * $flows and all(.intact and .received > 0)' "$tmp"/flow*
ktap_diag "acks $(counter "$h1" acks), updates $(counter "$h1" updates), windows $(counter "$h1" windows)"
assert_ge "... windows, of mode receiver" "$(counter "$h1" windows)" 1
assert_ge "... flows that fell back" "$(counter "$h1" fallback)" 1
assert_ge "... flows that came under telemetry" "$(counter "$h1" enter)" "$flows"
ktap_finish
