#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fast CNP for RoCEv2 at a switch: which packets a congested port answers, how often, and
# every field of its answers; what it writes into IOAM traces; and which packets pass the
# border of the domain. scapy makes the RoCEv2 packets. fastcnp.py, which computes ICRC and
# checksum by itself, and tshark check what comes out.
#
#	h1 eth0 ---- h1 | s | next ==1M== eth0 | r
#	    Fast CNP  <-----------'
#
# check-all: host
# usual: 60
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
HPCCPP=${HPCCPP_CNP:-$top/.build/6.1/tools/hpccpp}
roce=("/usr/bin/python3" "$top/selftests/roce/fastcnp.py")

path_up() # [MTU of the bottleneck]
{
	local ns

	setup_ns h1 s r
	: >"$tmp/links"
	link 1 "$h1" eth0 "$s" h1 0.1
	link 2 "$s" next "$r" eth0 1.2
	route "$h1" default default 0.1 2
	route "$r" default default 1.2 1
	ip -batch "$tmp/links"
	for ns in "${!ip_batch[@]}"; do
		nsenter --net="/run/netns/$ns" sysctl -qw net.ipv6.conf.all.forwarding=1 \
			net.ipv4.ip_forward=1 net.ipv6.icmp.ratelimit=0
		ip -n "$ns" -batch - <<<"link set dev lo up
${ip_batch[$ns]}"
	done
	ip -n "$s" addr add fd00:5::1/128 dev lo
	tc -n "$s" qdisc add dev next root tbf rate 1mbit burst 3k limit 1mb
}
h1_addr=fd00:0:1::1
r_addr=fd00:1:2::2
loopback=fd00:5::1

port() # OPTION...: sets up a new agent at the bottleneck
{
	[[ -z ${has_port-} ]] || "$HPCCPP" port del dev next netns "$s"
	has_port=1
	"$HPCCPP" port add dev next netns "$s" id 7 "$@"
}
stats() # NAME...: prints these counters in one line
{
	"$HPCCPP" -j port show dev next netns "$s" | jq -r '[.[0].stats[$ARGS.positional[]]] | join(" ")' --args "$@"
}

# send KEY=VALUE... [-- KEY=VALUE...]...: h1 sends these packets, see fastcnp.py
send()
{
	in_ns "$h1" "${roce[@]}" send eth0 02:00:00:00:01:01 02:00:00:00:01:02 "$h1_addr" "$r_addr" "$@"
}
# ... and r sends these
send_back()
{
	in_ns "$r" "${roce[@]}" send eth0 02:00:00:00:02:02 02:00:00:00:02:01 "$r_addr" "$h1_addr" "$@"
}

capture() # NETNS NAME [DEV]
{
	in_ns_bg "$1" tcpdump -i "${3-eth0}" -B 16384 -U --immediate-mode -Z root -w "$tmp/$2.pcap" 2>"$tmp/$2.err"
	captures+=($!)
	busywait 10 grep -q 'listening on' "$tmp/$2.err"
}
# exchange COMMAND...: runs it, and leaves the packets that h1 and r saw in $tmp/h1 and $tmp/r
exchange()
{
	captures=()
	capture "$h1" h1
	capture "$r" r
	"$@"
	# this packet is the last through the queue; answers are faster
	in_ns "$h1" bash -c "echo captured >/dev/udp/10.1.2.2/9"
	busywait 20 grep -q captured "$tmp/r.pcap"
	kill "${captures[@]}"
	wait "${captures[@]}" || true
	"${roce[@]}" read "$tmp/h1" "$tmp/r"
}
# filled KEY=VALUE... [-- KEY=VALUE...]...: sends these behind packets that take the link a second
filler=(qpn=2 op=0x11 len=1000 gap=0 n=118)
filled() { send "${filler[@]}" -- "$@"; }

cnps() { jq -c --arg me "$h1_addr" 'select(.op == 129 and .dst == $me)' "$tmp/h1"; }
answered() # prints the queue pairs that had an answer, sorted
{
	cnps | jq -r .qpn | sort -n | uniq | paste -sd' '
}
same() { diff <(echo "$1") <(echo "$2"); }

echo TAP version 13
path_up

# --- Off by default ------------------------------------------------------------------

all_kinds=(qpn=17 -- qpn=18 hdr=trace -- qpn=19 hdr=hbh+dst -- qpn=20 hdr=fcnp1 op=0x81 -- qpn=21 op=0x81 -- qpn=22 tc=0)
exchange filled "${all_kinds[@]}"
sent() { jq -r --arg me "$h1_addr" 'select(.src == $me and .op) | .raw' "$tmp/$1"; }
sent r >"$tmp/without"
for mode in qdisc virtual; do
	port queue $mode
	exchange filled "${all_kinds[@]}"
	sent r >"$tmp/with"
	check "port without cnp, $mode: what arrives is what was sent" diff <(sent h1) "$tmp/with"
	check "... and what arrives without a port" diff "$tmp/without" "$tmp/with"
	assert_eq "... of" "$(wc -l <"$tmp/with")" $((118 + 6)) packets
	assert_eq "... Fast CNPs" "$(cnps | wc -l)" 0
done
loaded() { echo "$(programs "$s" next "$1" | cut -d' ' -f2 | paste -sd' ')."; }
assert_eq "... programs: on egress" "$(loaded egress)" hpccpp_port.
assert_eq "... on ingress" "$(loaded ingress)" .

# --- Figure 3 ------------------------------------------------------------------------

port cnp 100 source $loopback
exchange filled qpn=0x123456 sport=50001 tc=2
expect()
{
	jq -n -c --arg src "$loopback" --arg dst "$h1_addr" "{ tags: [], tc: 192, flow: 0, hops: 64, src: \$src, dst: \$dst,
		whole: true, udplen: 40, dport: 4791, sum_ok: true, icrc_ok: true, op: 129,
		payload: \"$(printf '%032d' 0)\" } + $1"
}
fields='{ tags, tc, flow, hops, src, dst, whole, udplen, dport, sum_ok, icrc_ok, op, payload, plen, next, headers, options, sport, qpn, bth }'
check "figure 3: every byte" same \
	"$(expect '{ plen: 64, next: [60, 17], headers: "1102010200009e10fd000001000200000000000000000002",
		options: [{ in: 60, at: 2, type: 1, data: "0000" },
			{ in: 60, at: 6, type: 158, data: "fd000001000200000000000000000002" }],
		sport: 50001, qpn: 1193046, bth: "8100ffff4012345600000000" }' | jq -S -c .)" \
	"$(cnps | jq -S -c "$fields")"
assert_eq "unmodified Linux answers: type, code, pointer to the option's type" \
	"$(jq -r 'select(.icmp.type == 4) | "\(.dst) \(.icmp.code) \(.icmp.pointer)"' "$tmp/h1")" "$loopback 2 46"
assert_eq "data packet that was answered: ECN" "$(jq -r 'select(.qpn == 1193046 and .op == 4) | .tc' "$tmp/r")" 2
assert_eq "counted: sent, errors" "$(stats cnp_sent error)" "1 0"

# --- What is answered ------------------------------------------------------------------

port cnp 100 source $loopback
exchange filled qpn=32 sum=1 -- qpn=33 hdr=hbh -- qpn=34 hdr=dst -- qpn=35 hdr=hbh+dst+dst -- qpn=36 hdr=ah -- \
	qpn=37 hdr=frag0 -- qpn=38 hdr=frag1 -- qpn=39 hdr=hbh+frag0+dst -- qpn=40 cut=70 -- \
	qpn=41 hdr=rh4 via=$r_addr dst=fd00:9::9 -- qpn=42 hdr=hbh+pads+pads+pads len=64 -- \
	qpn=4 sum=half -- qpn=9
assert_eq "other headers, first fragments, checksums" "$(answered)" "9 32 33 34 35 36 37 39 41"
assert_eq "all have the right ICRC and checksum" "$(cnps | jq -r '.icrc_ok and .sum_ok and .whole' | sort | uniq)" true
assert_eq "errors: the one whose checksum was left to a device" "$(stats error)" 1

# --- Bridged, with tags -----------------------------------------------------------------

# h1 eth1 ---- p1 | br0 | p2 ==1M== eth1 | r: a bridge forwards frames with any address and tag
setup_ns bridge
ip -batch - <<END
link add name eth1 netns $h1 address 02:00:00:00:03:01 type veth peer name p1 netns $bridge
link add name eth1 netns $r address 02:00:00:00:04:02 type veth peer name p2 netns $bridge
END
ip -n "$h1" link set dev eth1 up
ip -n "$r" link set dev eth1 up
nsenter --net="/run/netns/$bridge" sysctl -qw net.ipv6.conf.all.forwarding=1
ip -n "$bridge" -batch - <<END
link add name br0 type bridge mcast_snooping 0
link set dev p1 master br0
link set dev p2 master br0
link set dev p1 up
link set dev p2 up
link set dev br0 up
link set dev lo up
addr add $loopback/128 dev lo
addr add fd00:20::5/64 dev br0 nodad
neigh add fd00:20::1 lladdr 02:00:00:00:03:01 nud permanent dev br0
END
forwards() { [[ $(ip -n "$bridge" -j -d link show master br0 | jq 'all(.[]; .linkinfo.info_slave_data.state == "forwarding")') == true ]]; }
busywait 10 forwards
tc -n "$bridge" qdisc add dev p2 root tbf rate 1mbit burst 3k limit 1mb
send_bridged()
{
	in_ns "$h1" "${roce[@]}" send eth1 02:00:00:00:03:01 "$1" fd00:20::1 fd00:20::2 "${filler[@]}" -- "${@:2}"
}
exchange_bridged() # MAC KEY=VALUE...: leaves the packets that h1 and r saw in $tmp/h1 and $tmp/r
{
	captures=()
	capture "$h1" h1 eth1
	capture "$r" r eth1
	send_bridged "$@" -- qpn=99 len=64
	last() { "${roce[@]}" read "$tmp/$1" && grep -q '"qpn": 99}' "$tmp/$1"; }
	busywait 20 last r
	kill "${captures[@]}"
	wait "${captures[@]}" || true
	"${roce[@]}" read "$tmp/h1" "$tmp/r"
}
by_qpn() { jq -r "select(.op == $1 and .qpn >= 50 and .qpn < 60) | \"\(.qpn) \(.tags)\"" "$tmp/$2" | sort -n | paste -sd' '; }
"$HPCCPP" port add dev p2 netns "$bridge" id 8 base-rtt 1ms cnp 100
exchange_bridged 02:00:00:00:04:02 qpn=50 -- qpn=51 vlan=5 -- qpn=52 qinq=6 vlan=8 -- \
	qpn=53 src=fe80::1
assert_eq "bridged" "$(by_qpn 4 r)" "50 [] 51 [5] 52 [6,8] 53 []"
assert_eq "... answered: behind tags, but not to a link-local address" "$(by_qpn 129 h1)" "50 [] 51 [] 52 []"
assert_eq "... from the first global address of lo, ICRC and checksum right" \
	"$(jq -r 'select(.op == 129) | "\(.src) \(.icrc_ok and .sum_ok and .whole)"' "$tmp/h1" | sort | uniq)" "$loopback true"
assert_eq "... errors" "$("$HPCCPP" -j port show dev p2 netns "$bridge" | jq '.[0].stats.error')" 0

# --- ECN ---------------------------------------------------------------------------------

ecn_of() { jq -r "select(.op == 4) | \"\(.qpn) \(.tc % 4)\"" "$tmp/r" | paste -sd' '; }
ect=(qpn=60 tc=2 -- qpn=61 tc=1 -- qpn=62 tc=0 -- qpn=63 tc=3 -- qpn=64 tc=186 n=3 gap=0)
port cnp 20 source $loopback ecn mark base-rtt 50ms
exchange filled "${ect[@]}"
assert_eq "ecn mark: as it arrives" "$(ecn_of | sed 's/ 64 .*//')" "60 3 61 3 62 0 63 3"
# the first of three in a row, and one more if a new period begins
sent=$(cnps | jq 'select(.qpn == 64)' | jq -s length)
assert_le "... of three in a row, answered" "$sent" 2
assert_eq "... and marked" "$(jq 'select(.op == 4 and .qpn == 64 and .tc % 4 == 3)' "$tmp/r" | jq -s length)" "$sent"
assert_eq "... answered" "$(answered)" "60 61 62 63 64"
assert_eq "... counted: sent, marked, suppressed" "$(stats cnp_sent cnp_marked suppressed)" \
	"$((4 + sent)) $((3 + sent)) $((3 - sent))"

# Two of three senders are known to take Fast CNPs, by address and by prefix: the port marks
# only packets of the third
known=fd00:0:1:0:8000::1 other=fd00:0:1::3
for address in $known $other; do
	ip -n "$h1" addr add "$address/128" dev eth0 nodad
	ip -n "$s" neigh add "$address" lladdr 02:00:00:00:01:01 nud permanent dev h1
done
port cnp 20 source $loopback ecn mark capable $h1_addr capable fd00:0:1:0:8000::/65 base-rtt 50ms
exchange filled qpn=65 tc=2 -- qpn=66 tc=1 src=$known -- qpn=67 tc=2 src=$other
raw_of() { jq -r --argjson qpn "$2" 'select(.op == 4 and .qpn == $qpn).raw' "$tmp/$1"; }
check "ecn mark, capable: senders that are arrive as sent, to the byte" diff \
	<(raw_of h1 65; raw_of h1 66) <(raw_of r 65; raw_of r 66)
check "... another's with CE, and no other byte changed" diff <(raw_of h1 67 | sed 's/^602/603/') <(raw_of r 67)
assert_eq "... all are answered, and counted: sent, marked" \
	"$(jq -r 'select(.op == 129) | "\(.qpn) \(.dst)"' "$tmp/h1" | sort | paste -sd' ') $(stats cnp_sent cnp_marked)" \
	"65 $h1_addr 66 $known 67 $other 3 1"

port base-rtt 1ms cnp 398 source $loopback rate 1gbit queue virtual
exchange send qpn=70 n=5
assert_eq "below the load: Fast CNPs" "$(cnps | wc -l)" 0

# --- IOAM node and figure 4 ----------------------------------------------------------------

# words_of: prints WORDS of the trace that r got for that queue pair, from word FIRST on
option_of() { jq -r "select(.qpn == $1 and .op == 4) | .options[] | select(.type == 49) | .data" "$tmp/r"; }
words_of() # QPN FIRST WORDS
{
	local data
	data=$(option_of "$1")
	# behind reserved, type, and a header of 8 bytes
	echo "${data:$((20 + 8 * $2)):$((8 * $3))}"
}
header_of() { local data; data=$(option_of "$1"); echo "${data:0:20}"; }

nsenter --net="/run/netns/$s" sysctl -qw net.ipv6.ioam6_id=44
ingress=$(ip -n "$s" -j link show h1 | jq '.[0].ifindex')
port cnp 100 source $loopback ioam 123
assert_eq "node: that of the kernel, in namespace" "$("$HPCCPP" -j port show dev next netns "$s" | jq -r '.[0] | "\(.node) \(.ioam)"')" "44 123"
start=$(date +%s)
exchange filled qpn=80 hdr=trace hlim=9 -- qpn=84 hdr=trace type=0xfffffe00 nodes=1 -- qpn=85 hdr=trace nodelen=6 -- \
	qpn=87 hdr=trace type=0xf20c0200 nodes=1 -- qpn=88 hdr=trace room=57 -- qpn=89 hdr=trace room=58 -- \
	qpn=92 op=0x11 hdr=fcnp1 t=0x9d -- qpn=93 op=0x11 hdr=fcnp2 nodelen=6
now=$(date +%s)
assert_eq "a node of three: header" "$(header_of 80)" "0000007b380ef20c0000"
assert_eq "... hop limit and id, interfaces" "$(words_of 80 14 2)" "$(printf '%02x%06x%04x%04x' 8 44 "$ingress" 7)"
seconds=$((16#$(words_of 80 16 1)))
assert_ge "... POSIX seconds" $seconds "$start"
assert_le "... POSIX seconds" $seconds "$now"
assert_le "... microseconds" $((16#$(words_of 80 17 1))) 999999
assert_ge "... queue, bytes" $((16#$(words_of 80 18 1))) 90000
assert_le "... queue, bytes" $((16#$(words_of 80 18 1))) $((118 * 1100))
assert_ge "... sent, bytes" $((16#$(words_of 84 15 1) - 16#$(words_of 80 19 1))) 0
assert_le "... sent, bytes" $((16#$(words_of 84 15 1) - 16#$(words_of 80 19 1))) 10000
# code 14 is 10 kbit/s * 10^2 * 1
assert_eq "... speed 1 Mbit/s, errors unknown" "$(words_of 80 20 1)" "$(printf '%08x' $(((14 << 26) + 0x3ffffff)))"
assert_eq "answered" "$(answered)" "80 84 85 87 88 89"
assert_eq "counted: traced, full, bad, sent, cut" "$(stats traced trace_full trace_bad cnp_sent cnp_cut error)" "5 0 1 6 1 0"

# The option has to have the trace as r got it, with the node of this port
figure4() # QPN: true if the Fast CNP is right in every byte
{
	local data pad='' length
	data=$(option_of "$1")
	length=$((4 + 2 + ${#data} / 2 + 16))
	[[ $((length % 8)) -eq 0 ]] || pad=', { in: 60, at: '$length', type: 1, data: "0000" }'
	same "$(expect "{ plen: $(((length + 7) / 8 * 8 + 40)), next: [60, 17], sport: 49169, qpn: $1,
		bth: \"8100ffff$(printf '%08x' $((0x40000000 + $1)))00000000\",
		options: [{ in: 60, at: 2, type: 1, data: \"\" }, { in: 60, at: 4, type: 157,
			data: \"${data}fd000001000200000000000000000002\" } $pad] }" | jq -S -c .)" \
		"$(cnps | jq -S -c "select(.qpn == $1) | $fields | del(.headers)")"
}
for qpn in 80 84 87 88; do
	check "figure 4: every byte, of queue pair $qpn" figure4 $qpn
done
figure3() { cnps | jq -r "select(.qpn == $1) | .headers"; } # QPN
assert_eq "a trace that is too long for it: figure 3" "$(figure3 89)" "1102010200009e10fd000001000200000000000000000002"
assert_eq "no node of the port's own: figure 3" "$(figure3 85)" "$(figure3 89)"
assert_eq "the longest" "$(cnps | jq .plen | sort -n | tail -n 1)" $((264 + 40)) bytes
# Our dissector reads the option in the Fast CNP, and tshark's own the trace that r got
of_trace=(ns nodelen flag.o remlen)
ours_of_trace=(ns nodelen overflow remlen)
of_node=(id iif eif tss tsf trdelay nsdata qdepth csum iif_wide eif_wide nsdata_wide bufoccup oss.len oss.scid)
ours_of_node=(id iif eif sec usec transit nsdata queue checksum iif_wide eif_wide nsdata_wide buffer
	opaque.length opaque.schema)
dissects() # QPN
{
	local what="infiniband.bth.destqp == $1 && !icmpv6"

	tshark -r "$tmp/r.pcap" -Y "$what" -T fields \
		"${of_trace[@]/#/-eipv6.opt.ioam.trace.}" "${of_node[@]/#/-eipv6.opt.ioam.trace.node.}" 2>/dev/null >"$tmp/theirs"
	tshark -r "$tmp/h1.pcap" -X "lua_script:$top/scripts/hpccpp.lua" -Y "$what && fastcnp" -T fields \
		"${ours_of_trace[@]/#/-efastcnp.trace.}" "${ours_of_node[@]/#/-efastcnp.node.}" 2>"$tmp/tshark.err" >"$tmp/ours"
	# the two print different fields in hexadecimal
	perl -i -pe 's/0x([0-9a-f]+)/hex $1/ge' "$tmp/theirs" "$tmp/ours"
	! grep -i lua "$tmp/tshark.err" && [[ -s $tmp/ours ]] && diff "$tmp/theirs" "$tmp/ours"
}
for qpn in 80 84 87; do
	check "dissector: says of the trace what tshark's own says, queue pair $qpn" dissects $qpn
done
ours() # QPN FIELD...
{
	local fields=("${@:2}")

	tshark -r "$tmp/h1.pcap" -X "lua_script:$top/scripts/hpccpp.lua" -Y "infiniband.bth.destqp == $1 && !icmpv6 && fastcnp" \
		-T fields "${fields[@]/#/-efastcnp.}" 2>/dev/null | tr '\t' ' '
}
assert_eq "... and the rest: option, bytes sent, speed, errors, address" \
	"$(ours 80 type length ioam_type node.tx_bytes node.speed.raw node.speed node.errors daddr)" \
	"0x9d 110 0 $((16#$(words_of 80 19 1))) 14 1000000 67108863 $r_addr"
assert_eq "... wide node id, free space" "$(ours 84 node.hlim_wide node.id_wide) $(ours 80 trace.free)" "63 44 $(printf '%0112d' 0)"
assert_eq "... figure 3" "$(ours 89 type length daddr)" "0x9e 16 $r_addr"
wrong() # WHAT: prints how often our dissector finds that
{
	tshark -r "$tmp/h1.pcap" -X "lua_script:$top/scripts/hpccpp.lua" -Y "fastcnp.$1 && !icmpv6" 2>/dev/null | wc -l
}
assert_eq "... finds what h1 sent with a wrong length of nodes" "$(wrong bad_trace)" 1
assert_eq "... and what h1 sent with a length of figure 3 for figure 4" "$(wrong bad_length)" 1
assert_eq "unmodified Linux answers: pointer to the option's type" \
	"$(jq -r 'select(.icmp.type == 4) | "\(.icmp.code) \(.icmp.pointer)"' "$tmp/h1" | sort | uniq -c | awk '{ print $1, $2, $3 }' | paste -sd' ')" \
	"5 2 44 3 2 46"

# The kernel's own node writes into the trace before the port does
if ip -n "$s" ioam namespace add 123 2>"$tmp/said"; then
	nsenter --net="/run/netns/$s" sysctl -qw net.ipv6.conf.h1.ioam6_enabled=1 net.ipv6.conf.h1.ioam6_id=33
	port cnp 100 source $loopback ioam 123 node 45
	exchange filled qpn=80 hdr=trace
	assert_eq "behind Linux' own node" "$(words_of 80 14 1) $(words_of 80 7 1)" \
		"$(printf '%02x%06x %02x%06x' 63 44 63 45)"
	check "... which uses the same clock, within 2 s" [ $((16#$(words_of 80 9 1) - 16#$(words_of 80 16 1))) -le 2 ]
	assert_eq "... and does not know bytes sent and speed" "$(words_of 80 19 2)" ffffffffffffffff
	check "... figure 4 with both: every byte" figure4 80
	nsenter --net="/run/netns/$s" sysctl -qw net.ipv6.conf.h1.ioam6_enabled=0
else
	ktap_skip "behind Linux' own node" "$(<"$tmp/said")"
fi

# --- The smallest MTU ----------------------------------------------------------------------

ip -n "$s" link set dev h1 mtu 1280
ip -n "$h1" link set dev eth0 mtu 1280
port cnp 100 source $loopback ioam 123
exchange filled qpn=80 hdr=trace room=57 len=$((1280 - 40 - 248 - 8 - 12 - 4))
assert_eq "MTU 1280, the longest trace: answered" "$(cnps | jq '.plen + 40')" $((40 + 264 + 40)) bytes
check "... every byte" figure4 80

# --- Border --------------------------------------------------------------------------------

# packets in both directions at once: out through the queue, and in
cross() # KEY=VALUE...
{
	send_back "$@" -- qpn=90 op=0x81
	filled "$@" -- qpn=91
}
declare -A mine=([h1]=$h1_addr [r]=$r_addr)
seen() { jq -r "select(.op == 129 and .dst == \"${mine[$1]}\") | .qpn" "$tmp/$1" | sort -n | paste -sd' '; }
forms=(qpn=80 op=0x81 hdr=fcnp1 -- qpn=81 op=0x81 hdr=fcnp2 -- qpn=82 op=0x81 hdr=hbh+fcnp1 -- qpn=83 op=4 hdr=fcnp1 --
	qpn=84 op=0x81 hdr=frag0+fcnp1 -- qpn=85 op=0x81 hdr=fcnp1 t=0x9c -- qpn=86 op=0x81 hdr=dst --
	qpn=87 op=0x81 hdr=trace)
port
exchange cross "${forms[@]}"
assert_eq "no border: enter" "$(seen h1)" "80 81 82 84 85 86 87 90"
assert_eq "... leave" "$(seen r)" "80 81 82 84 85 86 87"
port border
exchange cross "${forms[@]}"
assert_eq "border: enter" "$(seen h1)" "85 86 90"
assert_eq "... leave" "$(seen r)" "85 86"
assert_eq "... counted: in, out" "$(stats border_in border_out)" "6 6"
assert_eq "... programs" "$(loaded egress) $(loaded ingress)" "hpccpp_port_cnp. hpccpp_port_cin."
port border option-type 0x9c option-type 0x9b
exchange cross "${forms[@]}"
assert_eq "border for other types: enter" "$(seen h1)" "80 81 82 84 86 90"
assert_eq "... leave" "$(seen r)" "80 81 82 84 86"
port border cnp 100 source $loopback
exchange cross qpn=80
assert_eq "border, of data that leaves: answered, beside what enters" "$(answered)" "80 90 91"

"$HPCCPP" port del dev next netns "$s"
check "removed: no program is left" [ -z "$(programs "$s" next ingress; programs "$s" next egress)" ]
ktap_finish
