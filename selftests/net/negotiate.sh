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
	assert_eq "$name: SYN-ACK echoes the SYN's record, and requests" \
		"$(wire 'synack * echo * found * collect')" 1
	assert_le "$name: SYN-ACK's TCP header" "$(wire 'synack * doff')" 60 bytes
	assert_eq "$name: third ACK echoes" "$(wire "$third ? echo : 0")" 1
	assert_eq "$name: data that asks, of all" "$(wire 'data && collect')" "$(wire 'data > 0')"
	assert_eq "$name: flows under INT" "$enter" 1
	# eta of 200 Mbit/s in T, 2 ms, a packet, and the SYN's excess RTT; W_max is 9/8 of that
	read -r W W_max < <(sed -n '/ W=/{ s/.* W=\([0-9]*\) .* W_max=\([0-9]*\) .*/\1 \2/p; q }' \
		"$tmp/updates")
	assert_ge "$name: first W" "$W" 47500 bytes
	assert_le "$name: first W" "$W" 56250 bytes
	assert_ge "$name: first W, of line rate" $((W * 225 / (2 * W_max))) 95 %
	assert_le "$name: first W, of line rate" $((W * 225 / (2 * W_max))) 99 %
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

	# answer NAME FAMILY [OPTIONS]: 1 MB for 1 KB, with agents at both ends and, only here, a port
	# on the reverse path
	answer()
	{
		local address="addr$2[r]"
		begin "$1, IPv$2"
		host_on "$h1"
		host_on "$r"
		port_on "$s1" h1 rate "$RATE"
		transfer "-n 1k -c hpccpp ${3-}" "-n 1m -c hpccpp ${3-}" "${!address}"
		port_off "$s1" h1
		assert_eq "$name: third ACK echoes, records written" \
			"$(wire "$third ? echo * written : 0")" 1
	}

	answer "server answers" 6
	assert_eq "$name: flows under INT" "$enter" 2
	assert_ge "$name: first flight" "$(wire 'from_server && data' '
		!(from_server && data) { next }
		!start { start = time }
		time > start + 0.002 { exit }')" 30 segments

	# With a cookie the answer begins before the reverse path is known: 10 segments, and Reno
	# would send 20 in the second round trip.
	begin "Fast Open requests a cookie"
	transfer "-n 1k -c hpccpp -o tfo" "-o tfo"
	answer "server answers, Fast Open" 4 "-o tfo"
	assert_eq "$name: data in the SYN" "$(wire 'syn * from_client * data')" 1000 bytes
	assert_eq "$name: flows under INT" "$enter" 1
	assert_ge "$name: first flight, and after its first echo" "$(wire 'from_server && data' '
		from_client && !syn && !start { start = time }
		!(start && from_server && data) { next }
		time > start + 0.0039 { exit }')" 35 segments

	# AccECN writes its option between timestamps and ours, and leaves no room in the SYN-ACK.
	ecn() { nsenter --net="/run/netns/$1" sysctl -qw net.ipv4.tcp_ecn="$2"; }
	if ecn "$h1" 3 2>"$tmp/ecn" && ecn "$r" 3; then
		for family in 4 6; do
			address="addr${family}[r]"
			begin "AccECN, IPv$family"
			host_on "$h1"
			host_on "$r"
			transfer "-n 1m -c hpccpp" "" "${!address}"
			assert_eq "$name: options in the SYN-ACK" "$(wire 'synack && option')" 0
			assert_ge "$name: records written in data" "$(wire 'data && written')" 20
			assert_eq "$name: flows under INT" "$enter" 1
			assert_eq "$name: stood_in, came_back" \
				"$(host_stat "$h1" stood_in came_back | xargs)" "1 1"
		done
		ecn "$h1" 2
		ecn "$r" 2
	else
		ktap_skip "AccECN" "$(<"$tmp/ecn")"
	fi

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

# Each row: name; nft rule; an expression of wire() and its sum over the segments that arrive; flows
# under INT; counters of the agent of h1: gave_up stood_in came_back
losses_and_middleboxes()
{
	local first='limit rate 1/day burst 1 packets'	# of those that match before
	local syn="tcp flags & (syn | ack) == syn" ack="tcp flags & (syn | ack) == ack"
	local asks='syn && from_client && collect' option="tcp option 253 exists"	# "it"
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
	the first SYN is lost;$syn $first drop;$asks;0;0;0 1 0
	the third ACK is lost;ip daddr ${addr4[r]} $ack $first drop;$asks;1;1;0 0 0
	SYNs with it are dropped;tcp flags & syn == syn $option drop;syn && from_client;1;0;0 1 0
	it is removed;reset tcp option 253;option;0;0;1 1 0
	segments with it are dropped;$option drop;option;0;0;0 1 0
	data with it is dropped;ip length > 500 $option drop;data && option;0;1;1 1 0
	END
}

if runs_main; then
	main_cases
fi
if runs_rest; then
	peers
	losses_and_middleboxes
fi
ktap_finish
