#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Agents are replaced under a flow of 200 Mbit/s: each segment that asks is written into, the
# flow stays under telemetry, state and counters go on; and where the command is killed, or
# refuses, what there is can be replaced and deleted.
#
#	h1 eth0 --1G-- h1 | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#
# check-all: 6.1
# usual: 150
# shellcheck disable=SC2317,SC2154 # functions that check calls; set by name
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
load_hpccpp || ktap_skip_all "no congestion control hpccpp"
topo_line 1 1
ports_on
host_on "$h1" every 1
host_on "$r"
own=${cgroup_of[$h1]}

port() { "$HPCCPP" port "$1" dev next netns "$s1" "${@:2}"; }		# COMMAND WORD...
shown() { "$HPCCPP" -j port show dev next netns "$s1" | jq -c ".[0] | $1"; }	# JQ
host() { "$HPCCPP" host "$1" cgroup "$own" "${@:2}"; }
host_shown() { "$HPCCPP" -j host show cgroup "$own" | jq -c ".[0] | $1"; }
no_ingress() { [[ -z $(programs "$s1" next ingress) ]]; }
written='.stats | .stamped + .replaced + .kept + .quiet'
on=(base-rtt "${RTT_US}us")

# --- Under a flow ----------------------------------------------------------------

flow_start
busywait 10 flow_is '.mode == "hpccpp" and .updates > 20'
before=$(shown '.stats.replaced')
port replace "${on[@]}" above 1
port replace "${on[@]}" cnp 100 source fd00:5::1
assert_eq "a port that does more: on ingress too" \
	"$(programs "$s1" next ingress | grep -c hpccpp_port_cin)" 1
port replace "${on[@]}" accept 10.0.0.0/8
port replace "${on[@]}"
check "... and back: on ingress no more" no_ingress
assert_ge "counters go on" "$(shown .stats.replaced)" $((before + 1))
loaded() { [[ $(shown '.U > 0.5') == true ]]; }
check "... and the load is measured" busywait 20 loaded
"$HPCCPP" port replace dev eth0 netns "$h1" "${on[@]}" dscp 0
host replace every 1

# At which time of a command the signal comes is not known: so at several.
began=${EPOCHREALTIME/[.,]/}
port replace "${on[@]}"
lasts=$((${EPOCHREALTIME/[.,]/} - began))
cut_short() # EIGHTHS COMMAND...: killed after so much of the time that it takes
{
	local after
	after=$(awk "BEGIN { print $lasts * $1 / 8e6 }")
	timeout -s KILL "$after" "${@:2}" || true
} >/dev/null 2>&1
for i in 6 8; do
	cut_short $i "$HPCCPP" port replace dev next netns "$s1" "${on[@]}" above 1 respond 300
	check "killed after $i/8 of its time: a port is there" [ "$(shown .base_rtt)" = "$RTT_US" ]
	port replace "${on[@]}"
done
check "... replaced: nothing is left on ingress" no_ingress
cut_short 5 "$HPCCPP" host replace cgroup "$own"
check "a host agent is there" [ "$(host_shown .ask)" = '"auto"' ]
host replace every 1

assert_eq "the flow has never fallen back" "$(counter "$h1" fallback)" 0
check "... and is under telemetry" flow_is '.mode == "hpccpp" and .fallbacks == 0'
flow_end "replaced under a flow"
busywait 10 no_sockets "$h1"
assert_eq "all that asked is written into" "$(shown "$written")" "$(host_stat "$h1" asked)"
assert_eq "... by the sender's port too" \
	"$("$HPCCPP" -j port show dev eth0 netns "$h1" | jq ".[0] | $written + .stats.unsubscribed")" "$(host_stat "$h1" asked)"

# --- What goes on ----------------------------------------------------------------

# Its load and its flows are gone with time: what has been counted stays.
idle() { [[ $(shown '.U == 0 and .qlen == 0 and .flows == 0') == true ]]; }
check "a port without a flow comes to have no load" busywait 20 idle
state='[.tx_bytes, .stats]'
before=$(shown "$state")
port replace "${on[@]}" above 40
assert_eq "state of a port where it is replaced" "$(shown "$state")" "$before"
check "... which has what it was told" [ "$(shown .above)" = 40 ]
before=$(host_shown .stats)
host replace records 2
assert_eq "counters of a host agent" "$(host_shown .stats)" "$before"
check "... which has what it was told" [ "$(host_shown .records)" = 2 ]

# --- Refused, created, deleted -----------------------------------------------------

refused() { ! "$@" 2>/dev/null; }
all() { "$HPCCPP" -j show netns "$s1" | jq -c '[.ports, .hosts] | del(.[][].age)'; }
before=$(all)
for words in "above 101" "queue fifo" "respond-to sender"; do
	# shellcheck disable=SC2086 # a list
	check "port replace $words is refused" refused port replace $words
done
check "host replace ask often is refused" refused host replace ask often
check "... and nothing changes" [ "$(all)" = "$before" ]
port delete
check "replace creates a port where there is none" port replace "${on[@]}"
check "... which is deleted" port delete
check "... with its clsact" [ -z "$(tc -n "$s1" qdisc show dev next clsact)" ]
port add "${on[@]}"
host delete
check "replace creates a host agent where there is none" host replace
mkdir "$own/below"
check "... but not below another" refused "$HPCCPP" host replace cgroup "$own/below"
rmdir "$own/below"
ktap_finish
