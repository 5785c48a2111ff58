#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which segments request telemetry, with peers and paths that do not support it, as captured
# at the receiver. In each case the data has to arrive.
#
#	h1 eth0 --1G-- h1 | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#	                  nft: the middlebox       captured here
#
# check: uml main
# check-long: 6.1
# usual: 60
# set in wire.sh; client: an array in another function of lib.sh; functions that check calls
# shellcheck disable=SC2154,SC2128,SC2317
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# --- One case: agents, middlebox, a transfer, what was captured of it ----------

# begin NAME [RULE...]: with these nft rules for what s1 forwards
begin()
{
	name=$1
	forward_rules "${@:2}"
	host_off "$h1"
	host_off "$r"
}

# transfer CLIENT-OPTIONS [SERVER-OPTIONS [ADDRESS]]: from h1 to r
transfer()
{
	port=$next_port
	transfer_captured "$@"
}

# wire EXPRESSION [RULES]: adds up an awk expression over the segments, but those
# that awk rules before it leave out; last is the time of the segment added before.
wire()
{
	awk -v server="$port" '
		{
			# what comes late of the transfer before is of neither
			if ($3 == "S") client = $2
			time = $1; from_server = $2 == server; from_client = $2 == client
			flags = $3; seq = $4; data = $5; doff = $6; collect = $7 == "collect"
			echo = $7 == "echo"; option = $7 != "-"; records = $8; written = $9
			syn = flags ~ /S/; synack = flags == "SA"; found = $10
			if ($7 == "both") { collect = echo = 1 }
		}
		'"${2-}"'
		{ sum += '"$1"'; last = time }
		END { print sum + 0 }' "$tmp/segments"
}

# The third ACK is the client's second segment, or later when SYNs were repeated.
third='from_client && !syn && !data && !third_seen++'

load_hpccpp
topo_line 1 1
# a Fast Open cookie is asked for once
for ns in "$h1" "$r"; do
	nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.tcp_fastopen=3
done
ports_on
echo TAP version 13

main_cases()
{
	begin "both ends"
	host_on "$h1" every 1
	host_on "$r"
	trace_on
	transfer "-n 1m -c hpccpp"
	trace_off
	assert_eq "$name: SYN asks, records" "$(wire 'syn * from_client * collect * records')" 1
	assert_le "$name: SYN's TCP header" "$(wire 'syn * from_client * doff')" 60 bytes
	assert_eq "$name: SYN-ACK echoes what the SYN found, and asks" "$(wire 'synack * echo * found * collect')" 1
	assert_le "$name: SYN-ACK's TCP header" "$(wire 'synack * doff')" 60 bytes
	assert_eq "$name: third ACK echoes" "$(wire "$third ? echo : 0")" 1
	assert_eq "$name: data that asks, of all" "$(wire 'data && collect')" "$(wire 'data > 0')"
	assert_eq "$name: flows under INT" "$enter" 1
	# eta of 200 Mbit/s in T, which is 2 ms, a packet, and the more that the SYN took; W_max is 9/8 of
	# all of that
	read -r W W_max < <(sed -n '/ W=/{ s/.* W=\([0-9]*\) .* W_max=\([0-9]*\) .*/\1 \2/p; q }' "$tmp/updates")
	assert_ge "$name: first W" "$W" 47500 bytes
	assert_le "$name: first W" "$W" 56250 bytes
	assert_ge "$name: first W, of line rate" $((W * 225 / (2 * W_max))) 92 %
	assert_le "$name: first W, of line rate" $((W * 225 / (2 * W_max))) 97 %
	assert_ge "$name: first flight" "$(wire data '
		!data { next }
		!start { start = time }
		time > start + 0.002 { exit } { data = 1 }')" 30 segments

	begin "peer without agent"
	host_on "$h1" fallback reno	# not this kernel's default, nor the module's own
	own_cgroup "$r"
	transfer "-n 1m -c hpccpp"
	check "$name: reno replaces hpccpp" [ "$(jq -r .cc <<<"$client")" = reno ]
	assert_eq "$name: fallbacks of the agent, and returns" \
		"$(host_stat "$h1" stood_in) $(host_stat "$h1" came_back)" "1 0"
	assert_eq "$name: flows of the module without telemetry" "$no_int" 0
	# One round trip: of 2 ms, and at most the time that the bottleneck's buffer takes to drain
	assert_le "$name: time from first to last data that asks" "$(wire 'last ? time - last : 0' '
		!(data && collect) { next }')" 0.023 s
	assert_eq "$name: segments with the option after one without" "$(wire 'option && clean' '
		!data { next }
		!option { clean = 1 }')" 0
	assert_eq "$name: flows that gave up" "$(host_stat "$h1" gave_up)" 1
	assert_ge "$name: segments of 1448 bytes" "$(wire 'data == 1448')" 400
	assert_eq "$name: options from the peer" "$(wire 'from_server && option')" 0
	assert_eq "$name: flows under INT" "$enter" 0
}

peers()
{
	# What stands in unless it is given: the namespace's default, or the kernel's
	fallback_is() # NAME
	{
		nsenter --net="/run/netns/$h1" "$HPCCPP" host add cgroup "${cgroup_of[$h1]}"
		[[ $("$HPCCPP" -j host show cgroup "${cgroup_of[$h1]}" | jq -r '.[].fallback') == "$1" ]]
	}
	default_cc() { nsenter --net="/run/netns/$h1" sysctl -qw net.ipv4.tcp_congestion_control="$1"; }
	was=$(nsenter --net="/run/netns/$h1" sysctl -n net.ipv4.tcp_congestion_control)
	own_cgroup "$h1"
	begin "default reno"
	default_cc reno
	agent_of[$h1]=on
	check "$name: stands in" fallback_is reno
	begin "default hpccpp"
	default_cc hpccpp
	agent_of[$h1]=on
	check "$name: cubic stands in" fallback_is cubic
	default_cc "$was"

	# answer NAME FAMILY [OPTIONS]: 1 MB for 1 KB, with agents at both ends and a port on the
	# way back, which there is none on in other cases
	answer()
	{
		local address="addr$2[r]"
		begin "$1, IPv$2"
		host_on "$h1"
		host_on "$r"
		port_on "$s1" h1 rate "$RATE"
		transfer "-n 1k -c hpccpp ${3-}" "-n 1m -c hpccpp ${3-}" "${!address}"
		port_off "$s1" h1
		assert_eq "$name: third ACK echoes, records written" "$(wire "$third ? echo * written : 0")" 1
	}

	for family in 4 6; do
		answer "server answers" $family
		assert_eq "$name: flows under INT" "$enter" 2
		assert_ge "$name: first flight" "$(wire 'from_server && data' '
			!(from_server && data) { next }
			!start { start = time }
			time > start + 0.002 { exit }')" 30 segments
	done

	# With a cookie the answer begins before the way back is known: 10 segments, and Reno
	# would send 20 with the second round trip.
	for family in 4 6; do
		begin "Fast Open asks for a cookie, IPv$family"
		address="addr${family}[r]"
		transfer "-n 1k -c hpccpp -o tfo" "-o tfo" "${!address}"
		answer "server answers, Fast Open" $family "-o tfo"
		assert_eq "$name: data in the SYN" "$(wire 'syn * from_client * data')" 1000 bytes
		assert_eq "$name: flows under INT" "$enter" 1
		assert_ge "$name: first flight, and what follows its first echo" "$(wire 'from_server && data' '
			from_client && !syn && !start { start = time }
			!(start && from_server && data) { next }
			time > start + 0.0039 { exit }')" 35 segments
	done

	begin "listener older than its agent"
	host_on "$h1"
	own_cgroup "$r"
	at_listen="host_on $r"
	transfer "-n 1m -c hpccpp"
	at_listen=
	assert_eq "$name: SYN-ACK echoes" "$(wire 'synack * echo')" 0
	assert_eq "$name: flows under INT" "$enter" 1
}

# --- Loss and middleboxes ----------------------------------------------------------

# Each row: name; nft rule; an expression of wire() and its sum over what arrives; flows under
# INT; what the agent of h1 counts: gave_up stood_in came_back
losses_and_middleboxes()
{
	local first='limit rate 1/day burst 1 packets'	# of what matches before
	local row rule expression sum enters counts
	while IFS=';' read -r row rule expression sum enters counts; do
		begin "$row" "$rule"
		host_on "$h1"
		host_on "$r"
		transfer "-n 1m -c hpccpp"
		assert_eq "$name: $expression" "$(wire "$expression")" "$sum"
		assert_eq "$name: flows under INT" "$enter" "$enters"
		assert_eq "$name: gave_up, stood_in, came_back" \
			"$(host_stat "$h1" gave_up stood_in came_back | xargs)" "$counts"
		assert_le "$name: the transfer took" "$(jq .seconds <<<"$client")" 10 s
	done <<-END
	the first SYN is lost;tcp flags & (syn | ack) == syn $first drop;syn && from_client && collect;0;1;0 1 1
	the third ACK is lost;ip daddr ${addr4[r]} tcp flags & (syn | ack) == ack $first drop;syn && from_client && collect;1;1;0 0 0
	SYNs with the option are dropped;tcp flags & syn == syn tcp option 253 exists drop;syn && from_client;1;1;0 1 1
	the option is removed;reset tcp option 253;option;0;0;1 1 0
	segments with the option are dropped;tcp option 253 exists drop;option;0;0;1 1 0
	data with the option is dropped;ip length > 500 tcp option 253 exists drop;data && option;0;1;1 0 0
	END
}

# --- What the agent is told ---------------------------------------------------------

configured()
{
	# Each row: name; does data request; address; congestion control; options of the agent
	local row asking address cc options
	while IFS=';' read -r row asking address cc options; do
		begin "$row"
		# shellcheck disable=SC2086 # a list
		host_on "$h1" every 1 $options
		host_on "$r"
		transfer "-n 100k -c $cc" "" "$address"
		assert_eq "$name: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') * asking))
	done <<-END
	ask always, under another congestion control;1;${addr4[r]};reno;ask always
	IPv6 prefix;1;${addr6[r]};hpccpp;prefix fd00:1::/32
	prefixes of other peers;0;${addr4[r]};hpccpp;prefix 10.0.0.0/16 prefix fd00:1::/32
	END

	# A link that is full: 45 packets in a round trip, of which 8 ask; all at first
	begin "every rtt"
	host_on "$h1"
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_ge "$name, full link: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 10))
	assert_le "$name, full link: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 2))
	assert_eq "$name: flows under INT" "$enter" 1
	# One that is held at 30 %: 14 in a round trip, of which one does
	set_knob eta 30
	transfer "-n 1m -c hpccpp"
	assert_le "$name, link at 30 %: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 5))
	set_knob eta 95
}

if runs_main; then
	main_cases
fi
if runs_rest; then
	peers
	losses_and_middleboxes
	configured
fi
ktap_finish
