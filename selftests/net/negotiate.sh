#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Who asks for INT and when, against peers and paths that do not play along, as
# seen on the wire. In each case the data has to arrive.
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
	local rule
	name=$1
	shift
	nft_s1 flush ruleset
	for rule; do
		nft_s1 "add table inet box; add chain inet box forward { type filter hook forward priority 0; }; add rule inet box forward $rule"
	done
	host_off "$h1"
	host_off "$r"
}
nft_s1() { nsenter --net="/run/netns/$s1" nft "$*"; }

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
	trace=/sys/kernel/tracing
	echo 1 >"$trace/events/hpccpp/hpccpp_update/enable"
	transfer "-n 1m -c hpccpp"
	echo 0 >"$trace/events/hpccpp/hpccpp_update/enable"
	assert_eq "$name: SYN asks, records" "$(wire 'syn * from_client * collect * records')" 1
	assert_le "$name: SYN's TCP header" "$(wire 'syn * from_client * doff')" 60 bytes
	assert_eq "$name: SYN-ACK echoes what the SYN found, and asks" "$(wire 'synack * echo * found * collect')" 1
	assert_le "$name: SYN-ACK's TCP header" "$(wire 'synack * doff')" 60 bytes
	assert_eq "$name: third ACK echoes" "$(wire "$third ? echo : 0")" 1
	assert_eq "$name: data that asks, of all" "$(wire 'data && collect')" "$(wire 'data > 0')"
	assert_eq "$name: flows under INT" "$enter" 1
	# eta of 200 Mbit/s in T, which is 2 ms, a packet, and the more that the SYN took; W_max is 9/8 of
	# all of that
	read -r W W_max < <(sed -n '/ W=/{ s/.* W=\([0-9]*\) .* W_max=\([0-9]*\) .*/\1 \2/p; q }' "$trace/trace")
	assert_ge "$name: first W" "$W" 47500 bytes
	assert_le "$name: first W" "$W" 56250 bytes
	assert_ge "$name: first W, of line rate" $((W * 225 / (2 * W_max))) 92 %
	assert_le "$name: first W, of line rate" $((W * 225 / (2 * W_max))) 97 %
	assert_ge "$name: first flight" "$(wire data '
		!data { next }
		!start { start = time }
		time > start + 0.002 { exit } { data = 1 }')" 30 segments

	# --- Peers -----------------------------------------------------------------------

	begin "peer without agent"
	host_on "$h1"
	own_cgroup "$r"
	transfer "-n 1m -c hpccpp"
	# A round trip is 2 ms at least; a queue makes it longer.
	assert_le "$name: time from first to last data that asks" "$(wire 'last ? time - last : 0' '
		!(data && collect) { next }')" 0.012 s
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
	# not this kernel's default, nor the module's own
	begin "peer without agent, fallback reno"
	host_on "$h1" fallback reno
	own_cgroup "$r"
	transfer "-n 1m -c hpccpp"
	check "$name: it stands in" [ "$(jq -r .cc <<<"$client")" = reno ]
	assert_eq "$name: stood in, came back" \
		"$(host_stat "$h1" stood_in) $(host_stat "$h1" came_back)" "1 0"
	assert_eq "$name: the module has begun" "$no_int" 0

	begin "peer that is not asked, fallback reno"
	host_on "$h1" fallback reno prefix 192.0.2.0/24
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	check "$name: it stands in" [ "$(jq -r .cc <<<"$client")" = reno ]
	assert_eq "$name: options of either end" "$(wire option)" 0

	# What stands in unless it is given: the namespace's default, or the kernel's
	fallback_is() # NAME
	{
		nsenter --net="/run/netns/$h1" "$HPCCPP" host add cgroup "${cgroup_of[$h1]}"
		[[ $("$HPCCPP" -j host show cgroup "${cgroup_of[$h1]}" | jq -r '.[].fallback') == "$1" ]]
	}
	default_cc() { nsenter --net="/run/netns/$h1" sysctl -qw net.ipv4.tcp_congestion_control="$1"; }
	was=$(nsenter --net="/run/netns/$h1" sysctl -n net.ipv4.tcp_congestion_control)
	begin "default reno"
	default_cc reno
	agent_of[$h1]=on
	check "$name: stands in" fallback_is reno
	begin "default hpccpp"
	default_cc hpccpp
	agent_of[$h1]=on
	check "$name: cubic stands in" fallback_is cubic
	default_cc "$was"

	begin "a congestion control beside, fallback reno"
	host_on "$h1" fallback reno
	own_cgroup "$r"
	transfer "-n 1m -c cubic"
	check "$name: stays" [ "$(jq -r .cc <<<"$client")" = cubic ]

	begin "sender without agent"
	own_cgroup "$h1"
	host_on "$r"
	transfer "-n 1k" "-n 1m -c hpccpp"
	assert_eq "$name: options of either end" "$(wire option)" 0

	begin "server sends"
	host_on "$h1"
	host_on "$r" every 1
	transfer "" "-n 1m -c hpccpp"
	assert_eq "$name: it asks before it has seen the option" "$(wire 'from_server && collect && !seen' '
		from_client && option { seen = 1 }')" 0
	assert_ge "$name: data that asks" "$(wire 'from_server && data && collect')" 600
	assert_eq "$name: data of the client that asks" "$(wire 'from_client && data && collect')" 0

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

	begin "flow older than its sender's agent"
	host_on "$r"
	port=$((next_port++))
	in_ns_bg "$r" "$HPCCPP_BIN/xfer" listen $port >"$tmp/server"
	listener=$!
	busywait 10 listening "$r" $port
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -t 600 -c hpccpp connect "${addr4[r]}" $port >"$tmp/client"
	sender=$!
	sent() { ss -N "$h1" -Htni state established "dport = :$port" | grep -q "$1"; }
	busywait 10 sent 'bytes_acked:[0-9]\{5,\}'
	host_on "$h1"
	check "$name: comes under INT" busywait 10 sent ' hpccpp wscale'
	kill $sender
	wait $listener
	check "$name: data intact" jq -e '.intact and .received > 100000' "$tmp/server"

	begin "SYN cookies"
	host_on "$h1"
	host_on "$r"
	nsenter --net="/run/netns/$r" sysctl -qw net.ipv4.tcp_syncookies=2
	cookies=$(snmp "$r" TcpExtSyncookiesRecv)
	transfer "-n 1m -c hpccpp"
	nsenter --net="/run/netns/$r" sysctl -qw net.ipv4.tcp_syncookies=1
	assert_eq "$name: taken" $(($(snmp "$r" TcpExtSyncookiesRecv) - cookies)) 1
	assert_eq "$name: SYN-ACK echoes, records written" "$(wire 'synack * echo * written')" 1
	assert_eq "$name: flows under INT" "$enter" 1
}

# --- Loss and middleboxes ----------------------------------------------------------

losses_and_middleboxes()
{
	first='limit rate 1/day burst 1 packets'	# of what matches before
	begin "first SYN lost" "tcp flags & (syn | ack) == syn $first drop"
	host_on "$h1"
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_eq "$name: the second asks" "$(wire 'syn && from_client && collect')" 0
	assert_eq "$name: flows under INT" "$enter" 1
	assert_eq "$name: stood in, came back" \
		"$(host_stat "$h1" stood_in) $(host_stat "$h1" came_back)" "1 1"
	check "$name: hpccpp at its end" [ "$(jq -r .cc <<<"$client")" = hpccpp ]

	begin "third ACK lost" "ip daddr ${addr4[r]} tcp flags & (syn | ack) == ack $first drop"
	host_on "$h1"
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_eq "$name: flows under INT" "$enter" 1

	begin "option dropped from SYNs" "tcp flags & syn == syn tcp option 253 exists drop"
	host_on "$h1"
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_eq "$name: SYNs that arrive" "$(wire 'syn && from_client')" 1
	assert_eq "$name: flows under INT" "$enter" 1

	begin "option removed" "reset tcp option 253"
	host_on "$h1"
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_eq "$name: options that arrive" "$(wire option)" 0
	assert_eq "$name: flows that gave up" "$(host_stat "$h1" gave_up)" 1
	assert_ge "$name: segments of 1448 bytes" "$(wire 'data == 1448')" 400

	begin "segments with the option dropped" "tcp option 253 exists drop"
	host_on "$h1"
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_eq "$name: options that arrive" "$(wire option)" 0
	assert_eq "$name: flows that gave up" "$(host_stat "$h1" gave_up)" 1
	assert_le "$name: the transfer took" "$(jq .seconds <<<"$client")" 10 s

	begin "data with the option dropped" "ip length > 500 tcp option 253 exists drop"
	host_on "$h1"
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_eq "$name: data with it that arrives" "$(wire 'data && option')" 0
	assert_eq "$name: flows that gave up" "$(host_stat "$h1" gave_up)" 1
	assert_le "$name: the transfer took" "$(jq .seconds <<<"$client")" 10 s
}

# --- What the agent is told ---------------------------------------------------------

configured()
{
	# asks NAME ASKING ADDRESS CLIENT-OPTIONS AGENT-OPTIONS...: no data of them, or all
	asks()
	{
		local asking=$2 address=$3 options=$4
		begin "$1"
		host_on "$h1" every 1 "${@:5}"
		host_on "$r"
		transfer "-n 100k $options" "" "$address"
		assert_eq "$name: data that asks" "$(wire 'data && collect')" \
			$(($(wire 'data > 0') * asking))
	}

	asked_as_told()
	{
		asks "ask never" 0 "${addr4[r]}" "-c hpccpp" ask never
		asks "ask always" 1 "${addr4[r]}" "-c reno" ask always
		asks "ask auto" 0 "${addr4[r]}" "-c reno"
		asks "prefix" 1 "${addr4[r]}" "-c hpccpp" prefix 10.1.0.0/16
		asks "prefix of others" 0 "${addr4[r]}" "-c hpccpp" prefix 10.0.0.0/16 prefix fd00:1::/32
		asks "IPv6 prefix" 1 "${addr6[r]}" "-c hpccpp" prefix fd00:1::/32
		asks "IPv6 prefix of others" 0 "${addr6[r]}" "-c hpccpp" prefix fd00::/32 prefix 10.0.0.0/8
	}
	asked_as_told

	begin "every 4"
	host_on "$h1" every 4
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	# and the first of each flight
	assert_ge "$name: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 4))
	assert_le "$name: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 4 + 8))

	# A link that is full: 45 packets in a round trip, of which 8 ask; all at first
	begin "every rtt"
	host_on "$h1"
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_ge "$name, full link: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 10))
	assert_le "$name, full link: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 2))
	assert_eq "$name: flows under INT" "$enter" 1
	# One that is held at 30 %: 14 in a round trip, of which one does
	nsenter --net="/run/netns/$h1" sysctl -qw net.hpccpp.eta=30
	transfer "-n 1m -c hpccpp"
	assert_le "$name, link at 30 %: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 5))
	nsenter --net="/run/netns/$h1" sysctl -qw net.hpccpp.eta=95

	# A bound of 90 % is no load of that.
	begin "every rtt, ports say less than 90 %"
	host_on "$h1"
	host_on "$r"
	ports_off
	PORT_AGENT+=" above 90" ports_on
	nsenter --net="/run/netns/$h1" sysctl -qw net.hpccpp.eta=40
	transfer "-n 1m -c hpccpp"
	nsenter --net="/run/netns/$h1" sysctl -qw net.hpccpp.eta=95
	ports_off
	ports_on
	assert_le "$name: data that asks" "$(wire 'data && collect')" $(($(wire 'data > 0') / 5))

	begin "records 2"
	host_on "$h1" records 2 every 1
	host_on "$r"
	transfer "-n 1m -c hpccpp"
	assert_eq "$name: data with two records written" "$(wire 'data && collect && written == 2')" \
		"$(wire 'data > 0')"
	assert_eq "$name: SYN asks, records" "$(wire 'syn * from_client * records')" 1
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
