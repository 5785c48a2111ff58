#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Telemetry that no agent would write: options truncated, too long, doubled, empty,
# all ones, replayed, half a wrap off and random, in forged segments of connections
# under hpccpp, both ways, in every state of TCP. The states stay; malformed options
# are counted, each of them, and change nothing of the flow; the data arrives unharmed, and
# the flow is fast again after. That W stays in its bounds is tested in unit/algo_props.c. IPv4
# with W by the sender, IPv6 with W by the receiver, forged windows and requests too. The
# kernel's log is looked through where this is run. LONG=1: a million segments; SEED=N: others.
#
#	h1 eth0 --1G-- h1 | s1 | next ---20M-- eth0 | r		(topo_line in lib.sh)
#	                  inject.py; nft holds back what would end a state
#
# check: uml main
# usual: 90
# shellcheck disable=SC2034,SC2154 # used and set in lib.sh
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

count=$(how_often 100 30000)	# forged in each state and direction
malformed=40			# of these: fewer in a row than silence a flow
# A slow link, or most of the time would go into packets that nobody forged. What
# is not in TIME_WAIT answers with a reset, which must not end it there.
RATE=20mbit
SYSCTLS=net.ipv4.tcp_rfc1337=1

# What is waited for here are timers of TCP: look less often.
nap() { read -rt 0.02 -u "$never" || true; }

# hold [MATCH]: of the connection's segments s1 forwards none like this; all without
hold() { forward_rules ${1:+"$1 drop"}; }

# is_in NETNS STATE: the connection's end there is in that state
is_in()
{
	[[ -n $(ss -N "$1" -Htn state "$2" "( sport = :$port or dport = :$port )") ]]
}

# h1 waits for no more than the packet that its FIN went with to be acknowledged.
all_but_fin()
{
	local left
	left=$(ss -N "$h1" -Htn state fin-wait-1 "dport = :$port" | awk '{ print $2 }')
	[[ -n $left && $left -le $MTU ]]
}

are_in() { is_in "$h1" "$1" && is_in "$r" "$2"; }

# tell COMMAND N: the injector; adds to forged
tell()
{
	local sent
	echo "$*" >&"$to_injector"
	read -rt 1000 -u "$from_injector" _ sent
	forged=$((forged + sent))
	total=$((total + sent))
}

drained()
{
	[[ $(tc -s -j -n "$s1" qdisc show dev next root | jq '.[0].backlog') -eq 0 ]]
}

# forge COMMAND: $count of them, in parts that the link's buffer holds; until all are
# where they go
forge()
{
	local left
	forged=0
	for ((left = count; left > 0; left -= 2000)); do
		tell "$1" $((left < 2000 ? left : 2000))
		busywait 60 drained
	done
}

# What telemetry could change of h1's end; time stands still between two of these.
all_of_h1()
{
	ss -N "$h1" -Htni "( sport = :$port or dport = :$port )" |
		sed -E 's/ (segs_in|lastrcv|lastack):[^ ]*//g'
	nsenter --net="/run/netns/$h1" sed '/^acks /d' /proc/net/hpccpp
	"$HPCCPP" -j host show cgroup "${cgroup_of[$h1]}" |
		jq -c '.[0].stats | del(.bad)'
}

bad_is() { [[ $(host_stat "$1" bad) -eq $2 ]]; }

# both H1-STATE R-STATE [COMMAND]: when both are there, forged ACKs change neither,
# and malformed options are counted where there is a connection to count them.
both()
{
	local where="$family, h1 in $1, r in $2" before bad_h1 bad_r
	busywait 60 are_in "$1" "$2"
	if [[ $1 != syn-sent ]]; then
		bad_h1=$(host_stat "$h1" bad)
		bad_r=$(host_stat "$r" bad)
		before=$(all_of_h1)
		tell malformed "$malformed"
		: $((told++))
		assert_eq "$where: malformed options h1 counts" \
			$(($(host_stat "$h1" bad) - bad_h1)) "$malformed"
		check "$where: they change nothing" diff <(echo "$before") <(all_of_h1)
		busywait 10 bad_is "$r" $((bad_r + malformed)) || true
		assert_eq "$where: malformed options r counts" \
			$(($(host_stat "$r" bad) - bad_r)) "$malformed"
	fi
	forge "${3-acks}"
	check "$where: $forged forged segments change neither" are_in "$1" "$2"
}

injector_start()
{
	in_ns_bg "$s1" "$top/selftests/lib/inject.py" "$port" "${SEED:-1}" "$tmp/to" >"$tmp/from"
	injector=$!
	read -rt 60 -u "$from_injector"		# it watches
}

# open ADDRESS CLIENT-OPTIONS [SERVER-OPTIONS]: the two ends, both under hpccpp
open()
{
	# shellcheck disable=SC2086 # lists
	xfer_server "$r" "$port" -c hpccpp ${3-} >"$tmp/server"
	receiver=$!
	# shellcheck disable=SC2086
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c hpccpp $2 connect "$1" "$port" >"$tmp/client"
	sender=$!
}

# closed NAME: all arrived
closed()
{
	local ended=0
	wait "$sender" || ended=1
	wait "$receiver" || ended=1
	check "$1: data intact" jq -e -s "$ended == 0 and all(.intact) and
		.[0].sent == .[1].received and .[1].sent == .[0].received" \
		"$tmp/client" "$tmp/server"
	kill "$injector"
}

link_sent() { tc -s -j -n "$s1" qdisc show dev next root | jq '.[0].bytes'; }

# A quarter of the link, over a second
fast()
{
	local sent
	sent=$(link_sent)
	sleep 1
	[[ $(($(link_sent) - sent)) -ge 625000 ]]
}

# The states of one end that closes first, and of the other
one_closes() # FAMILY ADDRESS
{
	family=$1
	port=$((next_port++))
	# an agent that knows the peer's does not suspect the path when the SYN is sent again
	tcp_send "$h1" "$r" "$2" "-n 1k -c hpccpp"
	injector_start
	hold "tcp sport $port tcp flags & (syn | ack) == (syn | ack)"
	open "$2" "-t 6000"
	both syn-sent syn-recv
	forge syns
	check "$family, r in LISTEN: $forged forged SYNs leave it so" listening "$r" "$port"
	hold
	busywait 60 are_in established established
	check "$family: fast" busywait 60 fast
	both established established stream
	check "$family: fast again" busywait 100 fast

	hold "tcp dport $port tcp flags & fin == fin"
	kill "$sender"
	busywait 60 all_but_fin
	both fin-wait-1 established
	kill -STOP "$receiver"
	hold
	both fin-wait-2 close-wait
	hold "tcp sport $port tcp flags & fin == fin"
	kill -CONT "$receiver"
	both fin-wait-2 last-ack
	hold
	busywait 60 is_in "$h1" time-wait
	forge acks
	check "$family, h1 in time-wait: $forged forged segments leave it so" is_in "$h1" time-wait
	closed "$family"
}

# Those of two that close at once
both_close() # FAMILY ADDRESS
{
	family="$1, both close"
	port=$((next_port++))
	injector_start
	hold "tcp flags & fin == fin"
	open "$2" "-n 20k" "-n 20k"
	both fin-wait-1 fin-wait-1
	hold "tcp sport $port tcp flags & fin == fin"
	both fin-wait-2 closing
	hold
	closed "$family"
}

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
topo_line 1 1
host_on "$h1"
host_on "$r"
# The link's alone: it is the first record then.
# shellcheck disable=SC2086 # two words
port_on ${ports[1]}
total=0
forged=0
told=0			# times that malformed options were sent
mkfifo "$tmp/to" "$tmp/from"
exec {to_injector}<>"$tmp/to" {from_injector}<>"$tmp/from"
echo "TAP version 13"
if runs_main; then
	one_closes IPv4 "${addr4[r]}"
fi
if runs_rest; then
	# From here on windows are obeyed and requests granted, forged ones too.
	host_off "$h1"
	host_off "$r"
	host_on "$h1" mode receiver
	host_on "$r" mode receiver
	one_closes IPv6 "${addr6[r]}"
	both_close IPv4 "${addr4[r]}"
	both_close IPv6 "${addr6[r]}"
fi
assert_ge "segments forged in all" "$total" "$(how_often 1500 1000000)"
# half of the malformed options are those that ports look at
assert_ge "malformed options s1 counts" "$(port_stat "$s1" next .bad)" $((told * malformed / 2))
assert_eq "errors s1 counts" "$(port_stat "$s1" next .error)" 0
ktap_diag "h1's guards: $(nsenter --net="/run/netns/$h1" cat /proc/net/hpccpp | tr '\n' ' ')"
ktap_diag "h1's agent: $("$HPCCPP" -j host show cgroup "${cgroup_of[$h1]}" | jq -c '.[0].stats')"
ktap_diag "s1's port: $("$HPCCPP" -j port show dev next netns "$s1" | jq -c '.[0].stats')"
ktap_finish
