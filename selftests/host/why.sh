#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Why a flow is not under telemetry: each reason is brought about, named by flow show and by
# check with the peer, and gone when its cause is. What check says has nothing of the
# cause before.
#
#	h1 eth0 --100M-- h1 | s1 | next ==20M== prev | s2 | next --*-- eth0 | r
#
# * is s2's "next": no port agent, and fast but where the test says so. h1 and r have host
# agents of their own, on a cgroup each. Base RTT 2 ms.
#
# check-all: 6.1
# usual: 100
# shellcheck disable=SC2154,SC2317 # set by topo_line; functions that check calls
set -euo pipefail

RATE=20mbit
EDGE=100mbit
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
echo "TAP version 13"
topo_line 1 2
new_netem "$s2" next limit 1000
unset "ports[-1]"
own_cgroup "$h1"
own_cgroup "$r"
in_h1() { nsenter --net="/run/netns/$h1" "$@"; }

checked() { "$HPCCPP" -j check netns "$h1" >"$tmp/check" || true; }
line() { jq -r --arg c "$1" --arg k "$2" '.[] | select(.check == $c) | .[$k]' "$tmp/check"; } # CHECK KEY
reasons() { jq -r '.[].check | select(startswith("flows "))' "$tmp/check" | paste -sd,; }

# why REASON MODE WHERE: the one flow has that reason, and check names it, its peer, and where
# something is to be done
why()
{
	check "$1: flow show names it" busywait 20 flow_is ".reason == \"$1\" and .mode == \"$2\""
	checked
	assert_eq "... check too, and no other" "$(reasons)" "flows $1"
	assert_eq "... with the peer" "$(line "flows $1" found)" "1 of 1, to ${addr4[r]}"
	check "... and where to do something" grep -q "^$3: " <<<"$(line "flows $1" advice)"
}
mended() { check "$1: under telemetry when that is mended" busywait 20 flow_is '.mode == "hpccpp" and (has("reason") | not)'; }
flow_off() { kill "$sender" && wait "$sender" "$receiver" && busywait 5 no_sockets "$h1"; }
netem() { new_netem "$s2" next "$@"; }

# --- A flow that loses its telemetry ----------------------------------------------------

host_on "$r"
ports_on
flow_start
why no-agent hpccpp-reno here
host_on "$h1"
mended no-agent
checked
assert_eq "check of a flow under telemetry: nothing to say" \
	"$(reasons) $(line peers status) $(line fallbacks status)" " ok ok"

host_off "$r"
why lost-echo hpccpp-reno "at these peers"
host_on "$r"
mended lost-echo

ports_off
why lost-records hpccpp-reno "on the way there"
ports_on
mended lost-records

netem limit 1000 rate 8mbit
why blind-delay hpccpp-reno "on the way there"
netem limit 1000
mended blind-delay

netem limit 4 rate 8mbit
why blind-loss hpccpp "on the way there"
netem limit 1000
mended blind-loss

# While check looks
falls_back()
{
	local looking
	busywait 20 flow_is '.mode == "hpccpp"'
	checked &
	looking=$!
	ports_off
	wait "$looking"
	ports_on
	line fallbacks found
	[[ $(line fallbacks status) == note && $(line fallbacks found) == "1 within a second, 0 of them blind" ]]
}
check "check says that a flow has fallen back" busywait 30 falls_back
watches()
{
	local began=${EPOCHREALTIME/[.,]/}
	checked
	[[ $((${EPOCHREALTIME/[.,]/} - began)) -ge 1000000 && -n $(line fallbacks status) ]]
}
check "... within a second, for which it looks" watches

# A port with five times its link's rate explains its queue
port_off "$s1" next
port_on "$s1" next rate 100mbit
queued() { checked && [[ $(line "round trips" status) == note ]]; }
check "a rate that is too high: check says that packets wait" busywait 30 queued
assert_eq "... with the peer" "$(line "round trips" found)" \
	"of 1 of 1 flows at a full port longer than twice T, to ${addr4[r]}"
check "... and where to do something" grep -q '^on the way there: ' <<<"$(line "round trips" advice)"
port_off "$s1" next
port_on "$s1" next
not_queued() { checked && [[ $(line "round trips" status) == "" ]]; }
check "... and does not when that is mended" busywait 30 not_queued

# Two ports have one id, and their rates
host_off "$h1"
host_on "$h1" records 2
port_off "$h1" eth0
port_on "$h1" eth0 id 7
port_off "$s1" next
port_on "$s1" next id 7
one_id() { checked && [[ $(line "link ids" status) == note ]]; }
check "one id of two ports: check names it" busywait 30 one_id
port_off "$s1" next
port_on "$s1" next id 8
two_ids() { checked && [[ $(line "link ids" status) == "" ]]; }
check "... and does not when that is mended" busywait 30 two_ids
flow_off

# --- A flow that never has telemetry ----------------------------------------------------

ports_off
flow_start
why empty cubic "on the way there"
ports_on
mended empty
flow_off

host_off "$h1"
host_on "$h1" fallback reno prefix 192.0.2.0/24
flow_start
why not-asked reno here
flow_off

host_off "$h1"
host_on "$h1"
host_off "$r"
flow_start
why no-echo cubic "at these peers"
assert_eq "... and nothing has telemetry" "$(line peers status) $(line peers found)" \
	"missing 0 of 1 flows have telemetry"
# The same where ip has mounted another /sys, and in a mount namespace without cgroup2
seen_by() # COMMAND...: to be in h1
{
	"$@" "$HPCCPP" -j check >"$tmp/elsewhere" || true
	jq -e -s '(.[0] | map(select(.check | test("flows|peers|agent|cgroup2")))) as $seen |
		($seen | length) > 5 and $seen == (.[1] | map(select(.check | test("flows|peers|agent|cgroup2"))))' \
		"$tmp/check" "$tmp/elsewhere"
}
# shellcheck disable=SC2016 # that shell's
apart=(unshare -m bash -c 'umount -a -l -t cgroup2 && exec "$@"' -)
check "... as by ip netns exec" seen_by ip netns exec "$h1"
check "... and where cgroup2 is not mounted, but is for process 1" \
	seen_by "${apart[@]}" nsenter --net="/run/netns/$h1"
apart=(unshare -m -p -f --mount-proc "${apart[@]:2}")
status=0
"${apart[@]}" "$HPCCPP" host show >"$tmp/out" 2>"$tmp/err" || status=$?
assert_eq "where nobody has mounted it, host show says so" "$status $(<"$tmp/out")$(<"$tmp/err")" \
	"2 Error: cannot look for the host agent of cgroup \"${cgroup_of[$h1]}\": cgroup2 is not mounted here."
flow_off

# --- A server ---------------------------------------------------------------------------

host_on "$r"
in_h1 sysctl -qw net.ipv4.tcp_congestion_control=hpccpp
in_ns_bg "$r" "$HPCCPP_BIN/xfer" -c hpccpp listen 78
busywait 5 listening "$r" 78
in_ns_bg "$h1" bash -c 'exec 3<>/dev/tcp/10.1.2.2/78; sleep infinity'
server_waits() { "$HPCCPP" -j flow show netns "$r" | jq -e '.[0].reason == "no-data"'; }
check "no-data: a server that has sent none" busywait 10 server_waits
ktap_finish
