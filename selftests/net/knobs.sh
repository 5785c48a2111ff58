#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's interfaces: sysctls that change a flow, ways to choose hpccpp, ss, flow show and
# unloading. Ranges and defaults are tested in selftests/unit/module_entry.c, the lists of counters
# and trace fields in selftests/host/operate.sh.
#
#	h1 --1G-- s1 ==50M== r
#
# check: uml 6.1 main
# usual: 60
# shellcheck disable=SC2317,SC2128,SC2154 # functions that check calls; of tcp_send; set in lib.sh
set -euo pipefail

RATE=50mbit
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
echo TAP version 13
topo_line 1 1
agents_on

# shellcheck disable=SC2154 # set by topo_line
sysctls=(nsenter --net="/run/netns/$h1")

# --- Effect ------------------------------------------------------------------

mbps() # of tcp_send
{
	jq -n --argjson s "$server" '$s.received * 8 / ($s.end - $s.start) / 1e5 | round / 10'
}

effects()
{
	set_knob eta 50
	assert_eq "eta of another namespace" \
		"$(nsenter --net="/run/netns/$r" cat /proc/sys/net/hpccpp/eta)" 0
	tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 1m"
	half=$(mbps)
	set_knob eta 0
	tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 1m"
	full=$(mbps)
	assert_le "eta 50: throughput, the default's is $full" "$half" "$(jq -n "$full * 0.6")" Mbit/s
	assert_ge "eta 50: ... and no less than it says" "$half" "$(jq -n "$full * 0.48")" Mbit/s

	# a piece of the trace under way; at 4 packets a millisecond it is some 25 round trips long
	traced() { awk '/^entries:/ { n += $2 } END { exit n < 200 }' "$tracing"/per_cpu/cpu*/stats; }
	events()
	{
		trace_on
		busywait 10 traced
		trace_off
	}
	field() { sed -nE "s/.* $1=([^ ]*).*/\\1/p" "$tmp/updates" | tail -n 1; }	# NAME

	# of the last ten round trips, those that ended with another W than W_c
	apart()
	{
		sed -nE 's/.* update_wc=1 .* W=([0-9]+) W_c=([0-9]+) .*/\1 \2/p' "$tmp/updates" |
			tail -n 10 | awk '$1 != $2 { n++ } END { print n + 0 }'
	}
	refuses() { ! set_knob "$@"; } # KNOB VALUE

	flow_start
	flow_tests 1 check "flow show: under telemetry" \
		busywait 10 flow_is '.mode == "hpccpp" and .updates > 100'
	events
	assert_ge "law averaged: round trips that W_c does not end with" "$(apart)" 1
	set_knob law draft
	flow_tests 1 check "law draft: flow show" busywait 10 flow_is '.law == "draft"'
	events
	assert_eq "law draft: round trips that W_c does not end with" "$(apart)" 0
	check "law of another name: refused" refuses law drafts
	check "law: empty, refused" refuses law ""
	check "eta of more than 100: refused" refuses eta 101
	assert_eq "law and eta after that" "$("${sysctls[@]}" sysctl -n net.hpccpp.law net.hpccpp.eta | xargs)" "draft 0"
	set_knob law averaged
	flow_tests 1 check "law averaged: flow show" busywait 10 flow_is '.law == "averaged"'
	set_knob flows 1000000
	events
	# 1.2 % of a packet of 1514 bytes
	assert_eq "flows 1000000: W_ai of an update" "$(field W_ai)" 18
	set_knob flows 64
	set_knob base_rtt_us 5000
	flow_tests 1 check "base_rtt_us 5000 is T" busywait 10 flow_is '.T == 5000'
	set_knob base_rtt_us 0
	set_knob eta 1
	set_knob flows 1000000
	# W falls there from more, and goes up soon, as U is less than eta then
	flow_tests 1 check "eta 1: R's floor is 1 Mbit/s" \
		busywait 20 flow_is '(.R - 1e6 | fabs) < 1e4'
	set_knob flows 64
	set_knob eta 0
}

# --- What is shown -----------------------------------------------------------

shown()
{
	drained() { in_ns "$h1" ss -Htin state established | grep -q hpccpp &&
		! in_ns "$h1" ss -Htin state established | grep -q unacked; }
	flow() { jq ".[0] | $1" "$tmp/flow"; }
	# Stopped, the flow's state stands still.
	json_and_text()
	{
		kill -STOP "$sender"
		busywait 10 drained
		flow_is true >"$tmp/said"
		"$HPCCPP" flow show netns "$h1" >"$tmp/text"
		check "flow show: text has what JSON has" grep -q "U $(flow .U | xargs printf '%.3f') W $(flow .W)\
 W_c $(flow .W_c) W_f $(flow .W_f) T $(flow .T)us" "$tmp/text"
		kill -CONT "$sender"
	}
	flow_tests 1 json_and_text
	flow_end "knobs and trace under traffic"
}

# --- Ways to choose it -------------------------------------------------------

# There is none on the way from a passive opener: what stands in for hpccpp is counted.
any_stood_in() { "$HPCCPP" -j host show cgroup "$CGROUP" | jq ".[0].stats.stood_in"; }
cc_is() # WHOSE CC: client or server of tcp_send
{
	jq -e -n --argjson x "${!1}" --arg cc "$2" '$x.cc | startswith($cc)'
}

read_only() # in a network namespace of another user namespace
{
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare -Urn sh -c 'cd /proc/sys/net/hpccpp && [ "$(cat law)" = averaged ] &&
		for knob in *; do ! (cat "$knob" >"$knob") 2>/dev/null || exit; done'
}

ways_to_choose()
{
	check "sysctls are read-only in another user namespace" read_only
	"${sysctls[@]}" sysctl -qw net.ipv4.tcp_congestion_control=hpccpp
	tcp_send "$h1" "$r" "${addr4[r]}" "-n 100k"
	check "by the sysctl of a namespace" cc_is client hpccpp
	"${sysctls[@]}" sysctl -qw net.ipv4.tcp_congestion_control=reno
	ip -n "$h1" route change default via 10.0.1.2 congctl hpccpp
	tcp_send "$h1" "$r" "${addr4[r]}" "-n 100k"
	check "by the route, active open" cc_is client hpccpp
	ip -n "$h1" route change default via 10.0.1.2
	ip -n "$r" route change default via 10.1.1.1 congctl hpccpp
	stood_in=$(any_stood_in)
	tcp_send "$h1" "$r" "${addr4[r]}" "-n 100k" "-n 100k"
	assert_eq "by the route, passive open" $(($(any_stood_in) - stood_in)) 1
	ip -n "$r" route change default via 10.1.1.1
	xfer_server "$r" 4000 >"$tmp/server"
	check "by setsockopt, as nobody" in_ns "$h1" setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$HPCCPP_BIN/xfer" -c hpccpp -n 100k connect "${addr4[r]}" 4000
}

if runs_rest; then
	effects
	shown
fi
if runs_main; then
	ways_to_choose
fi

# --- Loading -----------------------------------------------------------------

agents_off
topo_down
check "rmmod when nothing uses it" busywait 10 rmmod tcp_hpccpp
module_loaded=
ktap_finish
