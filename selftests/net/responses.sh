#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# INT responses on their way: what a congested port sends back, or on to the receiver,
# over routers and with every state of a checksum; and what a host's port takes, by sockets of
# a real kernel. How often a port responds, the bytes of responses and each thing that can be
# wrong with them are tested in selftests/unit/port_test*. No module: what TCP makes of
# responses is seen by the host agent's counters.
#
#	h1 eth0 ---- h1 | s1 | next ---- prev | s2 | next ==50M== eth0 | r
#	   accepts               responds to eth0 <----------'---> or eth0 accepts
#
# check: host
# usual: 30
# shellcheck disable=SC2154,SC2128,SC2317 # set by name in lib.sh; client: an array elsewhere; for busywait
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
HPCCPP=$top/.build/6.1/tools/hpccpp

path_up()
{
	topo_begin h1 s1 s2 r
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
	topo_up
	# all that a window can hold waits, and nothing is lost
	tc -n "$s2" qdisc add dev next root handle 1: tbf rate 50mbit burst 64k limit 8mb
}

# What has the responses' codepoint goes first there: as it must, to come before the data
two_queues()
{
	tc -n "$s2" -batch - <<'END'
qdisc add dev next parent 1:1 handle 2: htb default 2
class add dev next parent 2: classid 2:1 htb rate 10gbit quantum 60000 prio 0
class add dev next parent 2: classid 2:2 htb rate 10gbit quantum 60000 prio 1
qdisc add dev next parent 2:2 pfifo limit 10000
filter add dev next parent 2: protocol ip prio 1 u32 match ip dsfield 0xc0 0xff flowid 2:1
filter add dev next parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0xc0 0xff flowid 2:1
END
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
	[[ -z ${accepting-} ]] || "$HPCCPP" port del dev eth0 netns "$accepting"
	accepting=$taker
	# shellcheck disable=SC2046 # words
	"$HPCCPP" port add dev eth0 netns "$taker" rate 10gbit id 1 $(printf 'accept %s ' "$@")
}

more_echoes()
{
	echo $(($(host_stat "$h1" echoes) - $(host_stat "$r" echoed) - $(host_stat "$r" echo_short)))
}
responded() { port_stat "$s2" next .responded; }
arrived() # all that was sent back has been judged there
{
	[[ $(port_stat "$taker" eth0 '.accepted + .denied + .unknown + .outside + .damaged') -ge $(responded) ]]
}

capture() # NETNS FILE FILTER: from eth0 there
{
	in_ns_bg "$1" tcpdump -i eth0 -s 160 -B 16384 -U --immediate-mode -Z root -w "$tmp/$2" "$3" 2>"$tmp/$2.err"
	busywait 10 grep -q 'listening on' "$tmp/$2.err"
}

snmps() # what of both ends' TCP should not have changed
{
	local name ns
	for ns in "$h1" "$r"; do
		# not TcpRetransSegs: on a busy machine a timer sends some again
		for name in TcpInErrs TcpExtTCPFastRetrans UdpInErrors UdpNoPorts; do
			echo "$ns $name $(snmp "$ns" $name)"
		done
	done
}
challenges() { snmp "$taker" TcpExtTCPChallengeACK; }
# What TCP answers that has sent nothing: once in 500 ms; since "began"
now_ms() { date +%s%3N; }
answers_allowed() { echo $((1 + ($(now_ms) - began) / 500)); }
# ... where responses go to; a sender has sent
answers_in_way()
{
	case $1 in
	sender)		echo 0 ;;
	receiver)	answers_allowed ;;
	esac
}

# --- From port to sender -----------------------------------------------------------

echo TAP version 13
# Packets that wait on two CPUs overtake each other, and what is overtaken for long TCP
# sends again: all of this test runs on one.
cpus=$(taskset -cp $$)
cpus=${cpus##* }
taskset -cp "${cpus%%[,-]*}" $$ >/dev/null
path_up
taker=$h1		# who takes responses
host_on "$h1" ask always
host_on "$r"

# way TO: with each family and state of sums
way()
{
	local family sums name address more echoes answers sent accepted
	for family in 4 6; do for sums in left complete; do
		name="to the $1, IPv$family, sums $sums"
		address="addr${family}[r]"
		sums $sums
		# by the programs for RoCEv2 as well
		more=()
		[[ $sums == left ]] || more=(cnp 100 source fd00:5::1 ioam 1 border)
		responder base-rtt 5ms respond 100 respond-to "$1" "${more[@]}"
		acceptor 10.1.0.0/16 fd00:1::/32
		snmps >"$tmp/before"
		answers=$(challenges)
		began=$(now_ms)
		echoes=$(more_echoes)
		if tcp_send "$h1" "$r" "${!address}" "-c cubic -n 1m"; then
			ktap_ok "$name: data intact"
		else
			ktap_not_ok "$name: data intact"
		fi
		check "$name: all arrive" busywait 5 arrived
		sent=$(responded)
		assert_ge "$name: responses" "$sent" 5
		accepted=$(port_stat "$taker" eth0 .accepted)
		assert_eq "$name: errors" "$(port_stat "$s2" next .error)" 0
		if [[ $1 == sender ]]; then
			assert_eq "$name: accepted, of $sent" "$accepted" "$sent"
			assert_eq "$name: echoes that h1 got more than r sent" \
				$(($(more_echoes) - echoes)) "$accepted"
		else
			# some come after their data
			assert_ge "$name: accepted, of $sent" "$accepted" $((sent / 2))
			assert_eq "$name: ... and outside" "$(port_stat "$taker" eth0 .outside)" $((sent - accepted))
		fi
		snmps >"$tmp/after"
		assert_le "$name: answers of TCP" $(($(challenges) - answers)) "$(answers_in_way "$1")"
		check "$name: no other trace in TCP" diff "$tmp/before" "$tmp/after"
	done; done
}
way sender
taker=$r
two_queues
way receiver

# --- What a host's port takes -------------------------------------------------------------

no_ports() { echo $(($(snmp "$h1" UdpNoPorts) + $(snmp "$h1" Udp6NoPorts))); }

# say ADDRESS none|wrong|"" HEX: from s1, that as UDP's payload, with such a checksum
say()
{
	# shellcheck disable=SC2016 # perl's
	nsenter --net="/run/netns/$s1" perl -e '
		use IO::Socket::IP;
		use Socket qw(:all);
		($address, $how, $payload) = @ARGV;
		$payload = pack "H*", $payload;
		$s = IO::Socket::IP->new(Proto => "udp", PeerAddr => $address, PeerPort => 18512) or die $!;
		$family = $s->sockdomain;
		$v6 = $family == AF_INET6;
		if ($how ne "wrong") {
			# SO_NO_CHECK, UDP_NO_CHECK6_TX
			setsockopt $s, $v6 ? 17 : 1, $v6 ? 101 : 11, pack "i", 1 or die $! if $how eq "none";
			send $s, $payload, 0;
			exit;
		}
		($from, $to) = map { inet_pton $family, $_ } $s->sockhost, $s->peerhost;
		$len = 8 + length $payload;
		$udp = pack("n4", $s->sockport, 18512, $len, 0) . $payload;
		$sum += $_ for unpack "n*", $from . $to . pack("n2", 17, $len) . $udp;
		$sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
		substr $udp, 6, 2, pack "n", (~$sum & 0xffff) ^ 1;
		socket $raw, $family, SOCK_RAW, 17 or die $!;
		send $raw, $udp, 0, $v6 ? pack_sockaddr_in6(0, $to) : pack_sockaddr_in(0, $to) or die $!' "$@"
}
# judge NAME none|wrong|"" HEX: one test; say() it, and the port of the taker counts what is in
# the array counts: accepted denied unknown outside damaged
judge()
{
	say "$address" "$2" "$3"
	check "$name: $1" busywait 5 judged
}
judged()
{
	[[ $(port_stat "$taker" eth0 '"\(.accepted) \(.denied) \(.unknown) \(.outside) \(.damaged)"') == \
		"${counts[*]}" ]]
}

# The sequence number of the first SYN that r got
first_seq() # FAMILY
{
	perl -e 'read STDIN, $h, 40; read STDIN, $p, 160; print unpack "x" . ($ARGV[0] == 6 ? 58 : 38) . "N", $p' \
		"$1" <"$tmp/forth"
}

# connect_to ADDRESS: a connection that stays: 60000 bytes to r, and 100 from there when the
# listener gets SIGUSR1; sets its sport and port, and seq to the first byte's
connect_to()
{
	port=$((++next_port))
	capture "$r" forth "dst $1 and tcp port $port"
	forth=$!
	# shellcheck disable=SC2016 # perl's
	start_server "$r" "$port" perl -MIO::Socket::IP -e '
		$l = IO::Socket::IP->new(LocalAddr => $ARGV[0], LocalPort => $ARGV[1], Listen => 1, ReuseAddr => 1) or die;
		$c = $l->accept or die;
		$SIG{USR1} = sub { syswrite $c, "x" x 100 };
		for ($n = 0; $n < 60000; ) { $n += sysread $c, $d, 65536 or die }
		sleep 1 while 1' "$1" $port
	listener=$!
	# shellcheck disable=SC2016 # perl's
	in_ns_bg "$h1" perl -MIO::Socket::IP -e '
		$c = IO::Socket::IP->new(PeerAddr => $ARGV[0], PeerPort => $ARGV[1]) or die;
		syswrite $c, "x" x 60000;
		sleep 1 while 1' "$1" $port
	sender=$!
	busywait 10 received && busywait 10 all_acked && busywait 10 captured
	kill "$forth"
	wait "$forth" || true
	sport=$(ss -N "$h1" -Htn state established "dport = :$port" | awk '{ sub(/.*:/, "", $3); print $3 }')
	seq=$(($(first_seq "$family") + 1))
}
received() { ss -N "$r" -Hti state established "sport = :$port" | grep -q 'bytes_received:60000 '; }
all_acked() { [[ $(ss -N "$h1" -Htn state established "dport = :$port" | awk '{ print $2 }') == 0 ]]; }
captured() { [[ -n $(first_seq "$family") ]]; }
acked() { ss -N "$r" -Hti state established "sport = :$port" | grep -q 'bytes_acked:100 '; }

# response ID BYTE: to the sender (4852) or the receiver (4844), about data from that byte on
declare -A h1_hex=([4]=0a000101 [6]=fd000000000100000000000000000001)
declare -A r_hex=([4]=0a010202 [6]=fd000001000200000000000000000002)
response()
{
	local other=${h1_hex[$family]}
	[[ $1 == 4844 ]] || other=${r_hex[$family]}
	printf '%s%04x%08x0000%04x007619400000100000002003%s' "$1" "$sport" $(((seq + $2) & 0xffffffff)) $port "$other"
}
collected() { echo $(($(host_stat "$r" collected) - collected)); } # since then

responder base-rtt 5ms
addr4[h1]=10.0.1.1 addr6[h1]=fd00:0:1::1
for family in 4 6; do
	declare -n addresses=addr$family
	connect_to "${addresses[r]}"

	name="IPv$family, to a sender"
	taker=$h1
	address=${addresses[h1]}
	acceptor 10.0.0.0/8 fd00::/16
	segs=$(snmp "$h1" TcpInSegs) udp=$(no_ports)
	counts=(0 0 0 1 0)
	judge "about data that has been acknowledged: outside" "" "$(response 4852 0)"
	counts=(0 0 0 2 0)
	judge "about data that has not been sent: outside" "" "$(response 4852 0x10000000)"
	counts=(0 0 1 2 0)
	judge "about no connection: unknown" "" "4852ffff$(response 4852 0 | cut -c 9-)"
	counts=(0 0 1 2 1)
	judge "with a wrong checksum: damaged" wrong "$(response 4852 0)"
	counts=(0 0 1 2 2)
	judge "without a checksum: damaged" none "$(response 4852 0)"
	assert_eq "$name: none of these came to TCP" "$(snmp "$h1" TcpInSegs)" "$segs"
	say "$address" "" "$(response 4853 0)"	# another id
	say "$address" "" "485200"
	passed() { [[ $(no_ports) -eq $((udp + 2)) ]]; }
	check "$name: what is no response is left to UDP" busywait 5 passed

	name="IPv$family, to a receiver"
	taker=$r
	address=${addresses[r]}
	acceptor 10.0.0.0/8 fd00::/16
	collected=$(host_stat "$r" collected)
	sent=$(snmp "$r" TcpOutSegs)
	began=$(now_ms)
	counts=(1 0 0 0 0)
	judge "about the next data: accepted" "" "$(response 4844 60000)"
	counts=(2 0 0 0 0)
	judge "about later data: accepted" "" "$(response 4844 70000)"
	assert_eq "$name: collected" "$(collected)" 2
	assert_le "$name: ... of which TCP, that has sent nothing, answers" $(($(snmp "$r" TcpOutSegs) - sent)) "$(answers_allowed)"
	kill -USR1 $listener
	busywait 10 acked
	sent=$(snmp "$r" TcpOutSegs)
	counts=(3 0 0 0 0)
	judge "to a host that has sent data: accepted" "" "$(response 4844 60000)"
	assert_eq "$name: collected" "$(collected)" 3
	assert_eq "$name: ... and TCP answers" $(($(snmp "$r" TcpOutSegs) - sent)) 0
	counts=(3 0 0 1 0)
	judge "about data that has been received: outside" "" "$(response 4844 59999)"
	counts=(3 0 0 2 0)
	judge "beyond all windows: outside" "" "$(response 4844 $((60000 + (1 << 30))))"
	counts=(3 0 1 2 0)
	judge "as if it were the sender: unknown" "" "$(response 4852 60000)"
	assert_eq "$name: collected of these" "$(collected)" 3
	counts=(4 0 1 2 0)
	judge "beyond the window: accepted" "" "$(response 4844 $((59999 + (1 << 30))))"
	assert_eq "$name: ... and dropped by TCP" "$(collected)" 3
	acceptor 10.2.0.0/16 fd00:2::/32
	counts=(0 1 0 0 0)
	judge "from an address that is not listed: denied" "" "$(response 4844 60000)"
	kill $sender $listener
	wait $sender $listener || true
done

"$HPCCPP" port del dev next netns "$s2"
"$HPCCPP" port del dev eth0 netns "$r"
check "removed: no program is left" \
	[ -z "$(programs "$h1" eth0 ingress; programs "$r" eth0 ingress; programs "$s2" next ingress)" ]
ktap_finish
