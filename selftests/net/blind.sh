#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A bottleneck that telemetry does not tell of. The sender notices a queue there, is Reno's
# for as long as that is so, and comes back; after loss its window is Reno's, and is not
# when telemetry explains it again. What telemetry does explain is no reason to.
#
#	h1 --1G-- s1 ==200M== s2 --*-- r
#
# * is s2's "next": no port agent, and the bottleneck when the test says so: 80 Mbit/s
# with a buffer of 1000 packets, or of 4, which leaves no delay to see. Base RTT 2 ms.
#
# check: uml main
# check-long: 6.1
# usual: 60
# shellcheck disable=SC2317 # functions that blind calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
echo TAP version 13
topo_line 1 2
# shellcheck disable=SC2154 # set by topo_line
new_netem "$s2" next limit 1000
unset "ports[-1]"
agents_on

count() { counter "$h1" "$1"; }
# blind NAME COMMAND: five tests; the command makes s2 the bottleneck
blind()
{
	local name=$1 before entered
	before=$(count blind)
	entered=$(count enter)
	flow_start
	check "$name: under telemetry" busywait 10 reaches "$h1" enter $((entered + 1))
	check "... while a link that is told of is the bottleneck" again 0.5
	$2
	check "$name: falls back to Reno" busywait 20 reaches "$h1" blind $((before + 1))
	fast
	check "$name is gone: under telemetry" busywait 30 reaches "$h1" enter $((entered + 2))
	flow_end "$name"
}

# again SECONDS: and still no fallback
again()
{
	local until=$((${EPOCHREALTIME/./} + 10#${1/./}00000))
	while [[ ${EPOCHREALTIME/./} -lt $until ]]; do
		[[ $(count blind) -eq $before ]] || return
		nap
	done
}

fast() { new_netem "$s2" next limit 1000; }
deep() { new_netem "$s2" next limit 1000 rate 80mbit; }
shallow() { new_netem "$s2" next limit 4 rate 80mbit; }

# retransmitted SECONDS: of 1000 segments that h1 sends in that time
retransmitted()
{
	local out=(TcpOutSegs TcpRetransSegs) were=() i
	for i in 0 1; do
		were[i]=$(snmp "$h1" "${out[i]}")
	done
	read -rt "$1" -u "$never" || true
	for i in 0 1; do
		out[i]=$(($(snmp "$h1" "${out[i]}") - were[i]))
	done
	echo $((1000 * out[1] / out[0]))
}
# TCP's pacing rate is at least BPS
paced_at() { [[ $(ss -N "$h1" -tinH state established | grep -oE 'pacing_rate [0-9]+' | cut -d' ' -f2) -ge $1 ]]; }

short_buffer()
{
	name="a link with a short buffer"
	before=$(count blind)
	flow_start
	check "$name: the link that is told of is full" busywait 10 paced_at 150000000
	lost=$(count md_loss)
	shallow
	check "$name: loss that is not explained" busywait 10 reaches "$h1" md_loss $((lost + 1))
	# what was in flight is lost, and W is found
	read -rt 0.5 -u "$never" || true
	assert_le "... segments of 1000 that are sent again" "$(retransmitted 2)" 20
	assert_eq "... no fallback" "$(count blind)" "$before"
	fast
	check "$name is gone: the link that is told of is full" busywait 10 paced_at 150000000
	flow_end "$name"
}

if runs_main; then
	blind "a link with a long buffer" deep
fi
if runs_rest; then
	short_buffer
fi
ktap_finish
