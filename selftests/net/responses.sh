#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# INT responses on their way: what a congested port sends back, or on to the receiver,
# byte by byte, over routers and with every state of a checksum; and what a sender's or a
# receiver's port takes, by sockets of a real kernel. How often a port responds, and all that
# is wrong with a response, are tested in selftests/unit/port_test*. No module: what TCP makes
# of responses is seen by the host agent's counters.
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

# What was sent to that end: seq, ports, the other end and record of each, one a line,
# if all else is as it should be. And the same of what r got, by data segment.
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
			die "id" if $id != ($ARGV[1] ? 0x4844 : 0x4852);
			die "codepoint" if (unpack("x14n", $p) >> ($v6 ? 4 : 0) & 0xff) != 192;
			print join " ", $seq, $s, $d, unpack("x" . ($at + 32) . ($v6 ? "H32" : "H8"), $p),
				unpack("x" . ($at + 20) . "H24", $p);
			print "\n";
		}' "$1" "$([[ $taker == "$h1" ]] || echo 1)" <"$tmp/back"
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
			next if $p !~ /\xfd\x10H[BC]/;
			print join " ", $seq, $s, $d, unpack(sprintf($v6 ? "x%dH32" : "x%dH8", ($v6 ? 38 : 30) - ($ARGV[1] ? $v6 ? 16 : 4 : 0)), $p), unpack "H24", substr $p, $+[0], 12;
			print "\n";
		}' "$1" "$([[ $taker == "$h1" ]] || echo 1)" <"$tmp/forth"
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
	local family sums name address more back forth echoes answers sent accepted
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
		capture "$taker" back "udp port 18512"
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
		responses $family >"$tmp/responses"
		segments $family >"$tmp/segments"
		assert_eq "$name: of the captured $(wc -l <"$tmp/responses"), whose segment has that record" \
			"$(grep -cxFf "$tmp/segments" "$tmp/responses")" "$sent"
		assert_eq "$name: whose UDP checksum is right" "$(grep -c 'udp sum ok' "$tmp/back.text")" "$sent"
		snmps >"$tmp/after"
		assert_le "$name: answers of TCP" $(($(challenges) - answers)) "$(answers_in_way "$1")"
		check "$name: no other trace in TCP" diff "$tmp/before" "$tmp/after"
	done; done
}
way sender

# --- What a sender's port takes --------------------------------------------------------

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

# A flow that stays, as its receiver sleeps, with all its data acknowledged: what it
# got of the port is old.
declare -A own=([4]=10.0.1.1 [6]=fd00:0:1::1)
for family in 4 6; do
	name=IPv$family
	to="addr${family}[r]"
	address=${own[$family]}
	responder base-rtt 5ms respond 100
	acceptor 10.0.0.0/8 fd00::/16
	port=$((++next_port))
	start_server "$r" "$port" "$HPCCPP_BIN/xfer" listen $port >"$tmp/server"
	listener=$!
	kill -STOP $listener
	capture "$h1" back "udp port 18512"
	back=$!
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c cubic -n 60k connect "${!to}" $port >"$tmp/client"
	sender=$!
	all_acked() { [[ $(ss -N "$h1" -Htn state fin-wait-2 "dport = :$port") ]]; }
	busywait 10 all_acked
	busywait 5 arrived
	kill "$back"
	wait "$back" || true
	read -r seq sport dport daddr record < <(responses $family)
	counts=(0 0 0 0 0)
	counts[0]=$(port_stat "$h1" eth0 .accepted)
	counts[3]=$(port_stat "$h1" eth0 .outside)
	good=$(printf 4852%04x%08x0000%04x "$sport" "$seq" "$dport")$record$daddr
	ahead=$(printf %08x $(((seq + 0x10000000) & 0xffffffff)))
	segs=$(snmp "$h1" TcpInSegs) udp=$(no_ports)
	: $((++counts[3]))
	judge "a replay is dropped as outside" "" "$good"
	: $((++counts[3]))
	judge "so is what has not been sent" "" "${good/$(printf %08x "$seq")/$ahead}"
	counts[2]=1
	judge "no such connection" "" "4852ffff${good:8}"
	counts[4]=1
	judge "a wrong checksum" wrong "$good"
	counts[4]=2
	judge "no checksum" none "$good"
	assert_eq "$name: none of these came to TCP" "$(snmp "$h1" TcpInSegs)" "$segs"
	# another id, a byte less
	for payload in "4853${good:4}" "${good:2}"; do
		say "$address" "" "$payload"
	done
	passed() { [[ $(no_ports) -eq $((udp + 2)) ]]; }
	check "$name: what is no response is left to UDP" busywait 5 passed
	kill -CONT $listener
	status=0
	wait $listener || status=$?
	wait $sender || status=$?
	assert_eq "$name: the flow ends well" $status 0
done

# --- From port to receiver, and what its port takes ---------------------------------------

taker=$r
two_queues
way receiver

# The sequence number of the first SYN that r got
first_seq() # FAMILY
{
	perl -e 'read STDIN, $h, 40; read STDIN, $p, 160; print unpack "x" . ($ARGV[0] == 6 ? 58 : 38) . "N", $p' \
		"$1" <"$tmp/forth"
}

responder base-rtt 5ms

# A connection that stays: 60000 bytes to r, and 100 from there when it is told to
declare -A peer=([4]=0a000101 [6]=fd000000000100000000000000000001)
record=007619400000100000002003
for family in 4 6; do
	name="to a receiver, IPv$family"
	to="addr${family}[r]"
	address=${!to}
	port=$((++next_port))
	acceptor 10.0.0.0/8 fd00::/16
	capture "$r" forth "dst $address and tcp port $port"
	forth=$!
	# shellcheck disable=SC2016 # perl's
	start_server "$r" "$port" perl -MIO::Socket::IP -e '
		$l = IO::Socket::IP->new(LocalAddr => $ARGV[0], LocalPort => $ARGV[1], Listen => 1, ReuseAddr => 1) or die;
		$c = $l->accept or die;
		$SIG{USR1} = sub { syswrite $c, "x" x 100 };
		for ($n = 0; $n < 60000; ) { $n += sysread $c, $d, 65536 or die }
		sleep 1 while 1' "$address" $port
	listener=$!
	# shellcheck disable=SC2016 # perl's
	in_ns_bg "$h1" perl -MIO::Socket::IP -e '
		$c = IO::Socket::IP->new(PeerAddr => $ARGV[0], PeerPort => $ARGV[1]) or die;
		syswrite $c, "x" x 60000;
		sleep 1 while 1' "$address" $port
	sender=$!
	all_acked() { [[ $(ss -N "$h1" -Htn state established "dport = :$port" | awk '{ print $2 }') == 0 ]]; }
	received() { ss -N "$r" -Hti state established "sport = :$port" | grep -q 'bytes_received:60000 '; }
	check "$name: a connection" busywait 10 received
	busywait 10 all_acked
	sport=$(ss -N "$h1" -Htn state established "dport = :$port" | awk '{ sub(/.*:/, "", $3); print $3 }')
	captured() { [[ -n $(first_seq "$family") ]]; }
	busywait 10 captured
	kill "$forth"
	wait "$forth" || true
	seq=$(($(first_seq "$family") + 60001))
	response() { printf '4844%04x%08x0000%04x%s%s' "$sport" $(((seq + $1) & 0xffffffff)) $port "$record" "${peer[$family]}"; } # AHEAD
	collected=$(host_stat "$r" collected)
	sent=$(snmp "$r" TcpOutSegs)
	began=$(now_ms)
	counts=(1 0 0 0 0)
	judge "accepted, of the next data" "" "$(response 0)"
	counts[0]=2
	judge "and of the data after that" "" "$(response 10000)"
	assert_eq "$name: collected" $(($(host_stat "$r" collected) - collected)) 2
	assert_le "$name: ... of which TCP, that has sent nothing, answers" $(($(snmp "$r" TcpOutSegs) - sent)) "$(answers_allowed)"

	kill -USR1 $listener
	acked() { ss -N "$r" -Hti state established "sport = :$port" | grep -q 'bytes_acked:100 '; }
	busywait 10 acked
	sent=$(snmp "$r" TcpOutSegs)
	counts[0]=3
	judge "accepted by a host that has sent data, too" "" "$(response 0)"
	assert_eq "$name: collected" $(($(host_stat "$r" collected) - collected)) 3
	assert_eq "$name: ... and TCP answers" $(($(snmp "$r" TcpOutSegs) - sent)) 0

	counts[3]=1
	judge "of data that has been received: outside" "" "$(response -1)"
	counts[3]=2
	judge "beyond all windows: outside" "" "$(response $((1 << 30)))"
	good=$(response 0)
	counts[2]=1
	judge "to the other end of the connection: no such connection" "" "4852${good:4}"
	assert_eq "$name: collected of these" $(($(host_stat "$r" collected) - collected)) 3
	counts[0]=4
	judge "beyond the window: accepted" "" "$(response $(((1 << 30) - 1)))"
	assert_eq "$name: ... and dropped by TCP" $(($(host_stat "$r" collected) - collected)) 3
	acceptor 10.2.0.0/16 fd00:2::/32
	counts=(0 1 0 0 0)
	judge "from an address that is not listed: denied" "" "$good"
	kill $sender $listener
	wait $sender $listener || true
done

"$HPCCPP" port del dev next netns "$s2"
"$HPCCPP" port del dev eth0 netns "$r"
check "removed: no program is left" \
	[ -z "$(programs "$h1" eth0 ingress; programs "$r" eth0 ingress; programs "$s2" next ingress)" ]
ktap_finish
