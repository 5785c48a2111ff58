#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# INT responses on their way: what a congested port sends back, byte by byte, over
# routers and with every state of a checksum; whom it answers and how often; and
# what a sender's port takes. No module: what TCP makes of them is seen by the host
# agent's counters.
#
#	h1 eth0 ---- h1 | s1 | next ---- prev | s2 | next ==50M== eth0 | r
#	   accepts               responds to eth0 <----------'
#
# place: host
# timeout: 180
# shellcheck disable=SC2154,SC2128,SC2317 # set by name in lib.sh; client: an array elsewhere; for busywait
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
HPCCPP=$top/.build/6.1/tools/hpccpp

path_up()
{
	local ns

	setup_ns h1 s1 s2 r
	: >"$tmp/links"
	link 1 "$h1" eth0 "$s1" h1 0.1
	link 2 "$s1" next "$s2" prev 1.1
	link 3 "$s2" next "$r" eth0 1.2
	route "$h1" default default 0.1 2
	route "$s1" default default 1.1 2
	route "$s2" 10.0.0.0/16 fd00::/32 1.1 1
	route "$r" default default 1.2 1
	addr4[r]=10.1.2.2
	addr6[r]=fd00:1:2::2
	sed -i 's/gso_max_segs 1/gso_max_segs 16/g' "$tmp/links"
	ip -batch "$tmp/links"
	for ns in "${!ip_batch[@]}"; do
		nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.ip_forward=1 \
			net.ipv6.conf.all.forwarding=1 net.ipv4.tcp_no_metrics_save=1
		ip -n "$ns" -batch - <<<"link set dev lo up
${ip_batch[$ns]}"
	done
	# all that a window can hold waits, and nothing is lost
	tc -n "$s2" qdisc add dev next root tbf rate 50mbit burst 64k limit 8mb
}

offloads() # NETNS DEV OFFLOADS...
{
	nsenter --net="/run/netns/$1" ethtool -K "$2" "${@:3}" >"$tmp/ethtool"
}

# Sums that are left to do until the end, and large packets; or all done at once
sums() # left|complete
{
	local on=on
	[[ $1 == left ]] || on=off
	offloads "$h1" eth0 tx $on tso $on gso $on gro $on
	offloads "$s1" h1 tx $on gro $on
	offloads "$s1" next tx $on tso $on gso $on
	offloads "$s2" prev tx $on gro $on
	offloads "$s2" next tx $on tso $on gso $on
}

responder() # OPTION...
{
	[[ -z ${responding-} ]] || "$HPCCPP" port del dev next netns "$s2"
	responding=1
	"$HPCCPP" port add dev next netns "$s2" id 7 "$@"
}

acceptor() # PREFIX...
{
	[[ -z ${accepting-} ]] || "$HPCCPP" port del dev eth0 netns "$h1"
	accepting=1
	# shellcheck disable=SC2046 # words
	"$HPCCPP" port add dev eth0 netns "$h1" rate 10gbit id 1 $(printf 'accept %s ' "$@")
}

stat() # NETNS DEV NAME
{
	"$HPCCPP" -j port show dev "$2" netns "$1" | jq ".[0].stats | .$3"
}
stats() # NETNS DEV NAME...: of h1 or s2, in one line
{
	local name
	for name in "${@:3}"; do
		stat "$1" "$2" "$name"
	done | paste -sd' '
}
more_echoes()
{
	echo $(($(host_stat "$h1" echoes) - $(host_stat "$r" echoed) - $(host_stat "$r" echo_short)))
}
responded() { stat "$s2" next responded; }
arrived() # all that was sent back has been judged at h1
{
	[[ $("$HPCCPP" -j port show dev eth0 netns "$h1" | jq '.[0].stats |
		.accepted + .denied + .unknown + .outside + .damaged') -ge $(responded) ]]
}

# What was sent to h1: seq, ports, daddr and record of each, one a line, if all
# else is as it should be. And the same of what r got, by data segment.
responses() # FAMILY
{
	tcpdump -r "$tmp/back" -nvv 2>/dev/null >"$tmp/back.text"
	perl -e '
		$v6 = $ARGV[0] == 6;
		read STDIN, $h, 24;
		while (read STDIN, $h, 16) {
			read STDIN, $p, (unpack "V4", $h)[2];
			$at = $v6 ? 54 : 34;
			($sport, $dport, $len) = unpack "x${at}n3", $p;
			die "ports or length" if $sport != 18512 || $dport != 18512 || $len != ($v6 ? 48 : 36) ||
				length $p != $at + $len;
			($id, $s, $seq, $sum, $d) = unpack "x" . ($at + 8) . "n2Nn2", $p;
			$pseudo = $len + 17;
			$pseudo += $_ for unpack $v6 ? "x22n16" : "x26n4", $p;
			$pseudo = ($pseudo & 0xffff) + ($pseudo >> 16) while $pseudo >> 16;
			die "sum" if $sum != $pseudo;
			die "id" if $id != 0x4852;
			print join " ", $seq, $s, $d, unpack("x" . ($at + 32) . ($v6 ? "H32" : "H8"), $p),
				unpack("x" . ($at + 20) . "H24", $p);
			print "\n";
		}' "$1" <"$tmp/back"
}
segments() # FAMILY
{
	perl -e '
		$v6 = $ARGV[0] == 6;
		read STDIN, $h, 24;
		while (read STDIN, $h, 16) {
			read STDIN, $p, (unpack "V4", $h)[2];
			$at = $v6 ? 54 : 34;
			($s, $d, $seq) = unpack "x${at}n2N", $p;
			next if $p !~ /\xfd\x10HC/;
			print join " ", $seq, $s, $d, unpack($v6 ? "x38H32" : "x30H8", $p), unpack "H24", substr $p, $+[0], 12;
			print "\n";
		}' "$1" <"$tmp/forth"
}

capture() # NETNS FILE FILTER: from eth0 there
{
	in_ns_bg "$1" tcpdump -i eth0 -s 160 -B 16384 -U --immediate-mode -Z root -w "$tmp/$2" "$3" 2>"$tmp/$2.err"
	busywait 10 grep -q 'listening on' "$tmp/$2.err"
}

snmps() # what of h1's TCP should not have changed
{
	local name
	for name in TcpInErrs TcpExtTCPChallengeACK TcpExtTCPFastRetrans TcpRetransSegs UdpInErrors UdpNoPorts; do
		echo "$name $(snmp "$h1" $name)"
	done
}

# --- From port to sender -----------------------------------------------------------

echo TAP version 13
path_up
host_on "$h1" ask always
host_on "$r"
for family in 4 6; do
	for sums in left complete; do
		name="IPv$family, sums $sums"
		address="addr${family}[r]"
		sums $sums
		# by the programs for RoCEv2 as well
		more=()
		[[ $sums == left ]] || more=(cnp 100 source fd00:5::1 ioam 1 border)
		responder base-rtt 5ms respond 100 "${more[@]}"
		acceptor 10.1.0.0/16 fd00:1::/32
		snmps >"$tmp/before"
		echoes=$(more_echoes)
		capture "$h1" back "udp port 18512"
		back=$!
		capture "$r" forth "dst ${!address} and tcp"
		forth=$!
		if tcp_send "$h1" "$r" "${!address}" "-c cubic -n 1m"; then
			ktap_ok "$name: data intact"
		else
			ktap_not_ok "$name: data intact"
		fi
		check "$name: all arrive" busywait 5 arrived
		kill "$back" "$forth"
		wait "$back" "$forth" || true
		sent=$(responded)
		assert_ge "$name: responses" "$sent" 5
		assert_eq "$name: accepted, of $sent" "$(stat "$h1" eth0 accepted)" "$sent"
		assert_eq "$name: errors" "$(stat "$s2" next error)" 0
		assert_eq "$name: echoes that h1 got more than r sent" \
			$(($(more_echoes) - echoes)) "$(stat "$h1" eth0 accepted)"
		responses $family >"$tmp/responses"
		segments $family >"$tmp/segments"
		assert_eq "$name: of the captured $(wc -l <"$tmp/responses"), whose segment has that record" \
			"$(grep -cxFf "$tmp/segments" "$tmp/responses")" "$sent"
		assert_eq "$name: whose UDP checksum is right" "$(grep -c 'udp sum ok' "$tmp/back.text")" "$sent"
		snmps >"$tmp/after"
		check "$name: no other trace in TCP" diff "$tmp/before" "$tmp/after"
	done
done

# --- How often -----------------------------------------------------------------------

# Data waits for some 0.3 s: how many go to one flow, and to each of four
once() # FLOWS BYTES
{
	local i port pids=()
	next_port=$((next_port + $1))
	for ((i = 0; i < $1; i++)); do
		port=$((next_port + i))
		in_ns_bg "$r" "$HPCCPP_BIN/xfer" listen $port >"$tmp/server$i"
		busywait 10 listening "$r" $port
	done
	for ((i = 0; i < $1; i++)); do
		in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c cubic -n "$2" connect "${addr4[r]}" $((next_port + i)) >"$tmp/client$i"
		pids+=($!)
	done
	wait "${pids[@]}"
	next_port=$((next_port + $1))
	took=$(jq -s '(map(.end) | max) - (map(.start) | min)' "$tmp"/client?)
	rm "$tmp"/client?
}
for flows in 1 4; do
	responder base-rtt 20ms respond 100
	once $flows $((1600 / flows))k
	name="a flow in 20 ms, $flows of them in $took s"
	assert_ge "$name: responses" "$(responded)" $((3 * flows))
	assert_le "$name: responses" "$(responded)" "$(jq -n "$flows * ($took / 0.02 + 2) | ceil")"
	assert_ge "$name: suppressed" "$(stat "$s2" next suppressed)" 30
done
responder base-rtt 1ms respond 100 limit 10
once 1 1600k
name="10 a second, in $took s"
assert_ge "$name: responses" "$(responded)" 2
assert_le "$name: responses" "$(responded)" "$(jq -n "$took * 10 + 2 | ceil")"
assert_ge "$name: limited" "$(stat "$s2" next limited)" 10
responder base-rtt 1ms respond 398
once 1 10k
assert_eq "below the load: responses, suppressed, limited" \
	"$(stats "$s2" next responded suppressed limited)" "0 0 0"

# --- What a sender's port takes --------------------------------------------------------

responder base-rtt 5ms respond 100
for family in 4 6; do
	acceptor 10.2.0.0/16 fd00:2::/32 10.1.2.2
	address="addr${family}[r]"
	tcp_send "$h1" "$r" "${!address}" "-c cubic -n 500k" || ktap_not_ok "IPv$family: data intact"
	assert_eq "IPv$family, from others than listed: accepted" "$(stat "$h1" eth0 accepted)" 0
	assert_ge "IPv$family, from others than listed: denied" "$(stat "$h1" eth0 denied)" 3
done

no_ports() { echo $(($(snmp "$h1" UdpNoPorts) + $(snmp "$h1" Udp6NoPorts))); }

# say ADDRESS NO-CHECKSUM HEX: from s1, that as UDP's payload
say()
{
	# shellcheck disable=SC2016 # perl's
	nsenter --net="/run/netns/$s1" perl -e '
		use IO::Socket::IP;
		($address, $no_sum, $payload) = @ARGV;
		$s = IO::Socket::IP->new(Proto => "udp", PeerAddr => $address, PeerPort => 18512) or die $!;
		setsockopt $s, 1, 11, pack "i", 1 or die $! if $no_sum;	# SO_NO_CHECK
		send $s, pack("H*", $payload), 0' "$@"
}
judged() { [[ $(stats "$h1" eth0 accepted denied unknown outside damaged) == "$1" ]]; } # NUMBERS

# A flow that stays, as its receiver sleeps, with all its data acknowledged: what it
# got of the port is old.
declare -A own=([4]=10.0.1.1 [6]=fd00:0:1::1)
for family in 4 6; do
	name=IPv$family
	address="addr${family}[r]"
	responder base-rtt 5ms respond 100
	acceptor 10.0.0.0/8 fd00::/16
	port=$((++next_port))
	in_ns_bg "$r" "$HPCCPP_BIN/xfer" listen $port >"$tmp/server"
	listener=$!
	busywait 10 listening "$r" $port
	kill -STOP $listener
	capture "$h1" back "udp port 18512"
	back=$!
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c cubic -n 60k connect "${!address}" $port >"$tmp/client"
	sender=$!
	all_acked() { [[ $(ss -N "$h1" -Htn state fin-wait-2 "dport = :$port") ]]; }
	busywait 10 all_acked
	busywait 5 arrived
	kill "$back"
	wait "$back" || true
	read -r seq sport dport daddr record < <(responses $family)
	now=$(stats "$h1" eth0 accepted denied unknown outside damaged)
	read -r accepted _ _ outside _ <<<"$now"
	good=$(printf 4852%04x%08x0000%04x "$sport" "$seq" "$dport")$record$daddr
	segs=$(snmp "$h1" TcpInSegs) udp=$(no_ports)
	say "${own[$family]}" "" "$good"
	check "$name: a replay is dropped as outside" busywait 5 judged "$accepted 0 0 $((outside + 1)) 0"
	ahead=$(((seq + 0x40000000) & 0xffffffff))
	say "${own[$family]}" "" "${good/$(printf %08x "$seq")/$(printf %08x $ahead)}"
	check "$name: so is what has not been sent" busywait 5 judged "$accepted 0 0 $((outside + 2)) 0"
	say "${own[$family]}" "" "4852ffff${good:8}"
	check "$name: no such connection" busywait 5 judged "$accepted 0 1 $((outside + 2)) 0"
	if [[ $family == 4 ]]; then
		say "${own[$family]}" 1 "$good"
		check "$name: a wrong checksum" busywait 5 judged "$accepted 0 1 $((outside + 2)) 1"
	fi
	assert_eq "$name: none of these came to TCP" "$(snmp "$h1" TcpInSegs)" "$segs"
	# another id, a byte less, a byte more, nothing
	for payload in "4853${good:4}" "${good:2}" "$good"00 ""; do
		say "${own[$family]}" "" "$payload"
	done
	passed() { [[ $(no_ports) -eq $((udp + 4)) ]]; }
	check "$name: what is no response is left to UDP" busywait 5 passed
	kill -CONT $listener
	status=0
	wait $listener || status=$?
	wait $sender || status=$?
	assert_eq "$name: the flow ends well" $status 0
done

"$HPCCPP" port del dev next netns "$s2"
"$HPCCPP" port del dev eth0 netns "$h1"
check "removed: no filter is left" \
	[ -z "$(tc -n "$h1" filter show dev eth0 ingress; tc -n "$s2" filter show dev next ingress)" ]
ktap_finish
