#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The agent of a RoCEv2 host. As a sender it takes CNPs that are right, forged, damaged,
# repeated or flooded; as a receiver it answers congestion marks; it adds traces and takes
# them off; it refuses wrong arguments; and the manual page lists all that it shows.
# The flows are real ones of the kernel's rxe; cnp.py sends the CNPs, by s1.
#
#	ha ---- s1 ---- s2 ---- hb
#	  <-- CNP
#
# check-all: 6.1
# usual: 140
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=rxe.sh
. "${BASH_SOURCE%/*}/rxe.sh"

echo TAP version 13

# --- Off by default, and what is needed ------------------------------------------------

# says PATTERN ARGUMENTS...: true if the command fails with one line that matches
says()
{
	local status=0
	"$HPCCPP" "${@:2}" >"$tmp/out" 2>"$tmp/err" || status=$?
	# shellcheck disable=SC2053 # a pattern
	[[ $status -ne 0 && ! -s $tmp/out && $(wc -l <"$tmp/err") -eq 1 && $(<"$tmp/err") == "Error: "$1. ]] ||
		{ cat "$tmp/out" "$tmp/err"; false; }
}
refused() { check "refused: ${*:2}" says "$@"; }
refused 'the qdisc of hb is netem: rates take fq*' cnp add dev hb accept ::/0
refused 'cannot find device "none"' cnp add dev none accept ::/0
refused 'there is no agent on ha' cnp del dev ha
no_clsact() { [[ -z $(tc qdisc show dev ha clsact) ]]; }
check "nothing of these is left" no_clsact

# --- Half of an agent ----------------------------------------------------------------------

both=(dev ha accept fd00:5::/64)
for hook in egress ingress; do
	"$HPCCPP" cnp add "${both[@]}" rate 200mbit
	tc filter del dev ha $hook pref 2
	refused 'an agent exists already on ha' cnp add "${both[@]}" rate 200mbit
	check "without its filter on $hook it is deleted" "$HPCCPP" cnp del dev ha
	check "... with the clsact" no_clsact
done
# --- What the agent does with each CNP --------------------------------------------------------

# With a T of 4 s a flow counts as sending for long, and nothing grows meanwhile.
agent() # OPTION...: sets up a new one
{
	[[ -z $(tc filter show dev ha egress) ]] || "$HPCCPP" cnp del dev ha
	"$HPCCPP" cnp add dev ha accept fd00:5::/64 rate 200mbit base-rtt 4s "$@"
	look
}
# What the agent showed last, by name; of a flow by QPN.NAME. One call of jq reads it all, as
# each takes a fifth of a second in an emulated machine. "judged" adds up the counters of
# CNPs: each CNP is in one of them.
declare -A seen
look()
{
	local name value
	seen=()
	"$HPCCPP" -j cnp show dev ha >"$tmp/seen"
	while read -r name value; do
		seen[$name]=$value
	done < <(jq -r '.[0] | (.queue_pairs[] | .dqpn as $q | to_entries[] | "\($q).\(.key) \(.value)"),
		(.stats | to_entries[] | "\(.key) \(.value)"),
		(.stats | "judged \(.switch + .receiver + .ordinary + .repeated + .denied + .unknown +
			.idle + .malformed + .checksum + .icrc)"),
		"newest \(.queue_pairs | max_by(.dqpn).dqpn)", "limit \(.limit)"' "$tmp/seen")
}
stat() { echo "${seen[$1]}"; }						# NAME
the() { stat "$q.$1"; }							# NAME
flow() # makes a new one that has sent, and sets q to its queue pair
{
	perftest ib_write_bw -q 1 -s 4096 -n 5
	look
	q=${seen[newest]}
}
send() # SOURCE KEY=VALUE... [-- KEY=VALUE...]...: see cnp.py
{
	nsenter --net="/run/netns/$s1" /usr/bin/python3 "$top/selftests/roce/cnp.py" ha 02:00:00:00:00:0a "$1" $a "${@:2}"
}
all_judged() { look && [[ ${seen[judged]} -ge $1 ]]; }
inject() # as send; then waits until the agent has judged them all, and looks
{
	local kind n=0
	kind=" ${*:2} -- "
	while [[ $kind == *" -- "* ]]; do
		[[ ${kind%%" -- "*} =~ " n="([0-9]+) ]] && n=$((n + BASH_REMATCH[1])) || n=$((n + 1))
		kind=" ${kind#*" -- "}"
	done
	n=$((n + seen[judged]))
	send "$@"
	busywait 10 all_judged "$n" || { echo "$n CNPs, and judged are:"; cnp .stats; } >&2
}
judged() # NAME COUNTER N: the counter has grown by N, and the rate is as before
{
	assert_eq "$1: $2" $(($(stat "$2") - before)) "$3"
	assert_eq "$1: rate" "$(the rate)" "$rate"
}
# bad COUNTER N SOURCE KEY=VALUE...: the agent counts N of these CNPs there, and heeds none
bad()
{
	before=$(stat "$1")
	rate=$(the rate)
	inject "${@:3}"
	judged "${*:3}" "$1" "$2"
}

agent accept $b
flow
assert_eq "a flow: destination" "$(the dst)" $b
assert_eq "a flow: rate" "$(the rate)" 200000000
assert_eq "a flow: its queue pair here, as rdma says" "$(the lqpn)" "$(the dqpn)"
named()
{
	local pid
	pid=$(cnp '[.queue_pairs[] | select(.lqpn and .rdma == "rxe_ha" and .comm == "ib_write_bw").pid] |
		if length == 1 then .[0] else empty end')
	grep -qz rxe_ha "/proc/$pid/cmdline"
}
perftest ib_write_bw -q 1 -s 4096 -D 3 & live=$!
check "whose it is, while it is there: that process" busywait 20 named
wait $live
check "... and no more" cnp_is 'all(.queue_pairs[]; (has("rdma") or has("pid") or has("comm")) | not)'
flow
# packets that UDP has seen, and packets to which ICMP would send an error
stack_in() { nstat -az | awk '/^(Udp6|Ip6InHdrErrors|Icmp6OutParmProblems|Icmp6OutDestUnreachs)/ { n += $2 } END { print n }'; }
in_before=$(stack_in)
bad denied 1 fd00:6::2 qpn="$q" orig=$b
bad unknown 1 fd00:5::2 qpn=$((q + 1)) orig=$b
bad malformed 1 fd00:5::2 qpn="$q" orig=$b bad=opcode
bad malformed 1 fd00:5::2 qpn="$q" orig=$b cut=100
n=$(how_often 400 1000000)
bad unknown "$n" fd00:5::2 qpn=0x800000 orig=$b n="$n" vary=1
bad denied "$n" fd00:6::2 qpn="$q" orig=$b n="$n"
assert_eq "the stack has seen none of these" $(($(stack_in) - in_before)) 0
flow
in_before=$(stack_in)
fast=(qpn="$q" orig="$b")
inject fd00:5::2 "${fast[@]}" bad=sum -- "${fast[@]}" bad=nosumicrc -- "${fast[@]}" bad=nosum -- "${fast[@]}" n=2
assert_eq "a wrong checksum; none, and a wrong ICRC" "$(stat checksum) $(stat icrc)" "1 1"
assert_eq "... seen by the stack" $(($(stack_in) - in_before)) 0
assert_eq "a switch's, without a checksum, with one twice: heeded, repeated" "$(stat switch) $(stat repeated)" "1 2"
assert_eq "... rate: half" "$(the rate)" 100000000
assert_eq "... cause and switch" "$(the cause) $(the switch)" "switch fd00:5::2"
"$HPCCPP" cnp change dev ha threshold 70
look
assert_eq "... these and the counters go on where the agent is changed" \
	"$(the rate) $(the cause) $(stat switch) $(cnp .threshold)" "100000000 switch 1 70"
"$HPCCPP" cnp change dev ha threshold 80
look
flow
inject $b qpn="$q" orig=$b
assert_eq "a receiver's Fast CNP: heeded, cause, rate" \
	"$(stat receiver) $(the cause) $(the rate)" "1 receiver 100000000"
flow
ours=$(the lqpn)
unknown=$(stat unknown)
inject $b qpn=$((ours + 1)) bad=nosum -- qpn="$ours" bad=icrc -- qpn="$ours" bad=nosum
assert_eq "a receiver's CNP as ever, to another queue pair; with a wrong ICRC" \
	"$(($(stat unknown) - unknown)) $(stat icrc)" "1 2"
assert_eq "... right: heeded, cause, rate" \
	"$(stat ordinary) $(the cause) $(the rate)" "1 ordinary 100000000"

# code 28 is 100 Mbit/s: the BDP is 50 MB and 75 MB wait, so that U is 2.5
full=1000,0,75000000,0,28/1000,0,0,0,29
agent ioam-namespace 7 ioam-namespace 9
flow
# all in one go: the commands are slow, and after 8 T the agent would heed the later ones
inject fd00:5::2 qpn="$q" orig=$b ns=9 nodes=$full n=2 -- qpn="$q" orig=$b n=2
assert_eq "a trace: heeded by it, algorithm, U" "$(stat traced) $(the algorithm) $(the U)" "1 hpccpp 2.5"
assert_eq "... a second, and two without a trace: repeated" "$(stat repeated) $(stat switch)" "3 1"
assert_ge "... rate: 0.95 / 2.5 of it" "$(the rate)" 76000000
assert_le "... and W_ai" "$(the rate)" 76200000
agent option-type 0x8a option-type 0x8b
flow
send fd00:5::2 qpn="$q" orig=$b
look
assert_eq "an option of another type is not ours" "$(stat switch) $(stat malformed) $(stat unknown)" "0 0 0"

# --- Traces --------------------------------------------------------------------------------

seen_by() { "$HPCCPP" -j cnp show dev "$1" | jq -r '[.[0].stats[$ARGS.positional[]]] | join(" ")' --args "${@:2}"; }
assert_eq "without trace, nothing is added or taken off" \
	"$(seen_by ha trace_added trace_mtu trace_removed trace_left)" "0 0 0 0"
tc qdisc add dev hb parent 1:1 fq
"$HPCCPP" cnp add dev hb accept fd00:5::/64 rate 200mbit trace 2 to $a ioam-namespace 7
agent ioam-namespace 7 ioam-namespace 9 trace 8 to $b
flow
packets=$(stat data)
assert_ge "trace, rxe's own packets: sent" "$packets" 20
assert_eq "... all with a trace, no error" "$(seen_by ha trace_added trace_mtu error)" "$packets 0 0"
assert_eq "... all taken off, none left, no error" "$(seen_by hb trace_removed trace_left error)" "$packets 0 0"

# rxe's longest packets have 1104 bytes: the first of four in a message, which has 16 more
for room in 240 239; do
	ip link set dev ha mtu $((1104 + room))
	read -r data none < <(seen_by ha data trace_mtu)
	perftest ib_write_bw -q 1 -s 4096 -n 5
	read -r data_now none_now < <(seen_by ha data trace_mtu)
	assert_eq "MTU, room for $room bytes: without a trace" $((none_now - none)) \
		$((room < 240 ? (data_now - data) / 4 : 0))
done
ip link set dev ha mtu 1500

# Packets that leave ha are captured at s1. Packets that come to ha are captured as the stack
# gets them: a filter behind the agent sends copies to the device "seen".
ip link add seen type dummy
ip link set seen up
captured() # NETNS-COMMAND DEV COMMAND...: reads the packets of that time into $tmp/packets
{
	local capture
	# shellcheck disable=SC2086 # words, or none
	run_bg $1 tcpdump -i "$2" -B 4096 -U --immediate-mode -Z root -w "$tmp/packets.pcap" 'ip6 and not icmp6' 2>"$tmp/tcpdump"
	capture=$!
	busywait 20 grep -q 'listening on' "$tmp/tcpdump"
	"${@:3}"
	# wait for the BTH of the last packet: scapy takes seconds to begin here
	busywait 20 env LC_ALL=C grep -qaP '\x11\x00\xff\xff\x00\x00\x27\x0f' "$tmp/packets.pcap"
	kill $capture
	wait $capture || true
	roce - read "$tmp/packets"
}
mkfifo "$tmp/to_roce" "$tmp/of_roce"
exec {to_roce}<>"$tmp/to_roce" {of_roce}<>"$tmp/of_roce"
run_bg /usr/bin/python3 "$top/selftests/roce/fastcnp.py" serve "$tmp/to_roce" "$tmp/of_roce"
roce() # NETNS|- ARGUMENTS...: see fastcnp.py
{
	local status
	echo "${*@Q}" >&"$to_roce"
	read -r -u "$of_roce" -t 60 status && [[ $status -eq 0 ]]
}
# rxe gets these packets, and drops them, as it has no such queue pairs
leave() { roce - send ha 02:00:00:00:00:0a 02:00:00:00:00:01 "$a" "$b" "$@" -- qpn=9999 op=0x11; }
arrive() { roce "/run/netns/$s1" send ha 02:00:00:00:00:01 02:00:00:00:00:0a "$b" "$a" "$@" -- qpn=9999 op=0x11; }
captured_in() # KEY=VALUE...: captures what arrives; see arrive
{
	tc filter add dev ha ingress pref 20000 matchall action mirred egress mirror dev seen
	captured "" seen arrive "$@"
	# with this filter the agent could not remove its clsact
	tc filter del dev ha ingress pref 20000
}
of() { jq -r "select(.qpn == $1) | $2" "$tmp/packets"; }	# QPN JQ
# with other headers, a fragment, without data, to another port
others=(qpn=101 hdr=hbh -- qpn=102 hdr=dst -- qpn=103 hdr=frag0 -- qpn=104 hdr=frag1 -- qpn=105 hdr=rh4 via=fd00:b::9 --
	qpn=106 hdr=trace -- qpn=107 dport=4790 -- qpn=108 op=0x11 -- qpn=109 op=0x0c -- qpn=110 op=0x81 -- qpn=111 sport=4791 dport=9)
plain=(qpn=300 -- qpn=301 len=2 tc=1 -- qpn=302 op=0x11 -- qpn=303 -- qpn=304 -- qpn=305 -- qpn=306)
with=(qpn=300 hdr=trace ns=7 -- qpn=301 len=2 tc=1 hdr=trace ns=7 nodes=2 filled=1 -- qpn=302 op=0x11 hdr=trace ns=7 nodes=4 filled=4 --
	qpn=303 hdr=trace ns=7 type=0xfffffe00 nodes=1 -- qpn=304 hdr=trace ns=7 nodes=8 -- qpn=305 hdr=trace ns=7 room=0 --
	qpn=306 hdr=trace ns=7 with=00000000)
# longer than its header; beside another option, another trace, or too much padding
left=(qpn=405 over=2 -- qpn=406 over=100 -- qpn=407 nodes=3 with=1e020000 --
	qpn=408 nodes=1 with=310e0000000738010000000000000000 -- qpn=409 with=0000000000000000000000000000000000000000)
left=("${left[@]/#qpn/hdr=trace ns=7 qpn}")
# shellcheck disable=SC2206 # words
left=(${left[*]})
strangers=(qpn=500 hdr=trace ns=8 -- qpn=501 hdr=trace ns=7 dport=4790 -- qpn=502 hdr=trace+dst ns=7 -- qpn=503 hdr=trace+frag0 ns=7 --
	qpn=504 hdr=hbh -- qpn=505 hdr=dst+trace ns=7)
agent ioam-namespace 9
captured "nsenter --net=/run/netns/$s1" ha leave "${others[@]}" -- qpn=200 len=2 -- qpn=201 tc=3
cp "$tmp/packets" "$tmp/untouched"
captured_in "${plain[@]}" -- "${left[@]}" -- "${strangers[@]}"
jq -r .raw "$tmp/packets" >"$tmp/plain"
agent ioam-namespace 7 trace 2 to $b
captured "nsenter --net=/run/netns/$s1" ha leave "${others[@]}" -- qpn=200 len=2 -- qpn=201 tc=3
check "leave: packets that get no trace are unchanged, to the byte" diff \
	<(jq -r 'select(.qpn < 200).raw' "$tmp/untouched") <(jq -r 'select(.qpn < 200).raw' "$tmp/packets")
assert_eq "... of" "$(jq -r 'select(.qpn < 200).qpn' "$tmp/packets" | wc -l)" 11 packets
for q in 200 201; do
	assert_eq "... data $q: the header" "$(of $q .headers)" "11080100314200000007380ef20c0000$(printf '%0112d' 0)"
	check "... all else is as without, and the ICRC as it is without the header" diff \
		<(of $q '.plen, .next, .icrc_ok, .whole, .tc, .flow, .hops, .udplen, .bth, .payload') \
		<(jq -r "select(.qpn == $q) | .plen + 72, [0, 17], true, true, .tc, .flow, .hops, .udplen, .bth, .payload" \
			"$tmp/untouched")
done

agent ioam-namespace 7 trace 1 to $b
captured_in "${with[@]}" -- "${left[@]}" -- "${strangers[@]}"
check "arrive: as without the header, to the byte, or as sent" diff "$tmp/plain" <(jq -r .raw "$tmp/packets")
assert_eq "... of" "$(wc -l <"$tmp/plain")" $((7 + 5 + 6 + 1)) packets
assert_eq "... taken off, left, errors" "$(seen_by ha trace_removed trace_left error)" "7 5 0"
# packets that are cut short: the agent must not read behind their end
short=()
for ((i = 54; i < 190; i += 3)); do
	short+=(qpn=600 hdr=trace ns=7 "cut=$i" gap=0 --)
done
arrive "${short[@]}" qpn=601 hdr=trace ns=7
# four of these have UDP and BTH whole, and so are packets of RoCEv2
taken_off() { [[ $(seen_by ha trace_removed) -ge $1 ]]; }
busywait 10 taken_off $((7 + 4 + 1))
assert_eq "cut short: taken off, left, errors" "$(seen_by ha trace_removed trace_left error)" "12 5 0"

# --- Detours -------------------------------------------------------------------------------

# "moving" has every length, checksum and header; "staying" the other sequence and another flow
moving=(qpn=800 len=4 -- qpn=800 len=4 sum=1 -- qpn=800 len=256 -- qpn=800 len=1000 sum=1 -- qpn=800 len=1024 --
	qpn=800 len=1408 -- qpn=800 len=64 hdr=dst sum=1 -- qpn=800 len=512 hdr=trace ns=9 -- qpn=800 len=16 op=0x0c)
staying=(qpn=800 op=0x11 -- qpn=801 len=256 sum=1)
# a flow that moves is held back for a T, or as long as the agent holds packets at most
leave_all() { leave "${moving[@]}" -- "${staying[@]}"; sleep 1; }
moved() { jq -c 'select(.qpn == 800 and .op != 17)' "$1"; }
# they are of two flows, so they may leave in any order
stayed() { jq -r 'select(.qpn == 801 or .qpn == 800 and .op == 17).raw' "$1" | sort; }
# without what has to change: "raw" has all; "payload" stays, as it does not have the ICRC
rest() { moved "$1" | jq -S -c 'del(.raw, .time, .sport, .check, .sum_ok) + { sum: (.check != 0) }'; }
agent ioam-namespace 7 trace 2 to $b detour fd00:5::/64
captured "nsenter --net=/run/netns/$s1" ha leave_all
mv "$tmp/packets" "$tmp/unmoved"
assert_eq "detour, before: ports" "$(moved "$tmp/unmoved" | jq .sport | sort -u)" 49169
# the second one comes within the flow's timer
inject fd00:5::2 qpn=800 orig=$b n=2
port=$(stat 800.sport)
assert_eq "detour: heeded, repeated, detoured, detours, rate" \
	"$(stat switch) $(stat repeated) $(stat detoured) $(stat 800.detours) $(stat 800.rate)" "1 1 1 1 100000000"
check "... another port of those there are: $port" [ "$port" -ge 49152 -a "$port" -le 65535 -a "$port" -ne 49169 ]
captured "nsenter --net=/run/netns/$s1" ha leave_all
assert_eq "... all leave with it; ICRC and checksums are right" \
	"$(moved "$tmp/packets" | jq -r '"\(.sport) \(.icrc_ok and .whole) \(.check == 0 or .sum_ok)"' | sort | uniq -c | awk '{ $1 = $1 } 1')" \
	"9 $port true true"
check "... all else is as before" diff <(rest "$tmp/unmoved") <(rest "$tmp/packets")
check "... and ACKs, and other flows, to the byte" diff <(stayed "$tmp/unmoved") <(stayed "$tmp/packets")
look
assert_eq "... errors" "$(stat error)" 0
# A flow with data in both sequences: packets without data move as well, in both
if [[ -n ${LONG-} ]]; then
	both=(qpn=820 op=0x10 len=64 -- qpn=820 op=0x0c -- qpn=820 op=0x0a len=64 -- qpn=820 op=0x0c -- qpn=820 op=0x11)
	leave_both() { leave "${both[@]}"; sleep 1; }
	agent detour fd00:5::/64
	leave "${both[@]}"
	inject fd00:5::2 qpn=820 orig=$b
	captured "nsenter --net=/run/netns/$s1" ha leave_both
	assert_eq "detour, READ responses and WRITEs: all leave with the other port" \
		"$(jq 'select(.qpn == 820).sport' "$tmp/packets" | sort | uniq -c | awk '{ $1 = $1 } 1')" \
		"5 $(stat 820.sport)"
fi

# --- Notification point ----------------------------------------------------------------------

# With a T of 4 s a flow is answered once in 4 s.
from_ha() { captured "nsenter --net=/run/netns/$s1" ha "$@"; }
marked=(qpn=700 tc=3 sport=50001 -- qpn=700 tc=3 -- qpn=701 tc=2 -- qpn=702 tc=3 op=0x11 -- qpn=703 tc=3 hdr=hbh -- qpn=1 tc=3 --
	qpn=704 tc=3 dport=4790 -- qpn=705 tc=3 src=fe80::1 -- qpn=706 tc=3 sum=half -- qpn=707 tc=3 sum=1 --
	qpn=708 tc=3 hdr=trace ns=7 nodes=2 filled=1 -- qpn=709 tc=3 hdr=trace ns=8 --
	qpn=710 tc=3 hdr=trace ns=7 room=57)
answers() { jq -c --arg me "$a" 'select(.op == 129 and .src == $me)' "$tmp/packets"; }
expect()
{
	jq -n -S -c --arg src "$a" --arg dst "$b" "{ tags: [], tc: 192, flow: 0, hops: 64, src: \$src, dst: \$dst,
		whole: true, udplen: 40, dport: 4791, sum_ok: true, icrc_ok: true, op: 129,
		payload: \"$(printf '%032d' 0)\" } + $1"
}
is_answer() # QPN JQ: the answer to that queue pair is right in every byte
{
	diff <(expect "$2") <(answers | jq -S -c "select(.qpn == $1) | { tags, tc, flow, hops, src, dst, whole, udplen, dport,
		sum_ok, icrc_ok, op, payload, plen, next, headers, sport, bth }")
}
from_ha arrive "${marked[@]}"
assert_eq "marks, without answer: answers, counted" "$(answers | wc -l) $(seen_by ha answered suppressed unpaired)" "0 0 0 0"

# an ACK that leaves tells the number, here one of XRC
ask=$((1 << 31))
answer_cnp()
{
	arrive qpn=720 tc=3 psn=$((ask | 5))
	leave qpn=0x800 op=0xb1 psn=5
	arrive qpn=720 tc=3 psn=6
}
agent answer cnp
from_ha answer_cnp
assert_eq "answer cnp: answered once an ACK has named the sender's queue pair, unpaired" \
	"$(answers | jq -r .qpn) $(seen_by ha answered unpaired suppressed error)" "2048 1 1 0 0"
check "... RoCEv2's own CNP, every byte" is_answer 2048 '{ plen: 40, next: [17], headers: "", sport: 49169,
	bth: "8100ffff4000080000000000" }'

# Two flows of one peer have the same PSNs, and later others; the ACKs come in the other order.
# All this goes both ways: data to 730 and 731, ACKs to 2096 and 2097.
pairs() # PSN PSN...: sends data with two PSNs each time, and a mark for each flow at the end
{
	local data ack=()
	while [[ $# -gt 0 ]]; do
		data=(qpn=730 psn=$((ask | $1)) -- qpn=731 psn=$((ask | $2)))
		arrive "${ack[@]}" "${data[@]}"
		ack=(qpn=2097 op=0x11 psn="$2" -- qpn=2096 op=0x11 psn="$1" --)
		leave "${ack[@]}" "${data[@]}"
		shift 2
	done
	sleep 4
	arrive "${ack[@]}" qpn=730 tc=3 sport=50730 psn=1000 -- qpn=731 tc=3 sport=50731 psn=1000
}
told() { answers | jq -r "select(.sport >= 50730 and .sport <= 50731) | $1" | sort | paste -sd' '; }
ours() { cnp "[.queue_pairs[] | select(.dqpn == 730 or .dqpn == 731)] | sort_by(.dqpn) | map(.lqpn) | $1 | join(\" \")"; }
from_ha pairs 7 7 8 8
assert_eq "two with the same PSNs: a CNP to each" "$(told .qpn)" "2096 2097"
assert_eq "... and ours of each, for theirs" "$(ours sort)" "2096 2097"
if [[ -n ${LONG-} ]]; then
	from_ha pairs 500 20 501 21
	assert_eq "... which PSNs tell apart later: to the right one" "$(told '"\(.sport) \(.qpn)"')" "50730 2096 50731 2097"
	assert_eq "... and ours of each, for theirs" "$(ours .)" "2096 2097"
fi

# As many flows at once as in an incast
asking=() acking=() marks=()
for ((i = 0; i < 100; i++)); do
	asking+=(-- qpn=$((1000 + i)) psn=$((ask | 5000 * i)) gap=0)
	acking+=(-- qpn=$((4000 + i)) psn=$((5000 * i)) gap=0 op=0x11)
	marks+=(-- qpn=$((1000 + i)) psn=$((5000 * i + 1)) gap=0 tc=3)
done
before=$(seen_by ha answered unpaired limited)
arrive "${asking[@]:1}"
leave "${asking[@]:1}" "${acking[@]}"
arrive "${acking[@]:1}" "${marks[@]}"
assert_eq "100 at once: answered, unpaired, limited" "$(seen_by ha answered unpaired limited)" \
	"$((${before%% *} + 100)) ${before#* }"
assert_eq "... ours of each, for theirs" "$(cnp '[.queue_pairs[] | select(.lqpn == .dqpn + 3000)] | length')" 100

# A host that forwards gets packets to others
agent answer fast-cnp
ip -6 route add fd00:d::/64 via fd00:a::ff dev ha
ip -6 route add unreachable fd00:e::/64
sysctl -qw net.ipv6.conf.ha.forwarding=1
from_ha arrive qpn=740 tc=3 dst=fd00:d::1 -- qpn=741 tc=3 dst=ff0e::1 -- qpn=742 tc=3 dst=fd00:e::1 -- \
	qpn=744 tc=3 dst=fd00:f::1 -- qpn=743 tc=3
assert_eq "answered is what is to an address of this host" \
	"$(jq -r 'select(.op == 129).qpn' "$tmp/packets") $(seen_by ha answered)" "743 1"
sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.conf.ha.forwarding=0
from_ha arrive qpn=745 tc=3 dst=fd00:d::1
look
assert_eq "... also where the device's own switch says that it does not forward" "$(stat answered)" 1
sysctl -qw net.ipv6.conf.all.forwarding=0
ip -6 route del fd00:d::/64 dev ha
ip -6 route del unreachable fd00:e::/64

agent ioam-namespace 7 trace 1 to $b answer fast-cnp detour fd00:5::/64	# shows all keys that there are
from_ha arrive "${marked[@]}"
original=fd00000a000000000000000000000001
assert_eq "answer fast-cnp: queue pairs answered, counted" \
	"$(answers | jq -r .qpn | paste -sd' ') $(seen_by ha answered suppressed unpaired error)" "700 707 708 710 4 1 0 1"
check "... figure 3, every byte" is_answer 700 "{ plen: 64, next: [60, 17], headers: \"1102010200009e10$original\", sport: 50001,
	bth: \"8100ffff400002bc00000000\" }"
trace=$(jq -r 'select(.qpn == 708 and .op == 4).headers' "$tmp/packets")
check "... figure 4, with the trace as it came, every byte" is_answer 708 "{ plen: $((88 + 40)), next: [60, 17],
	headers: \"110a01009d52${trace:12:132}$original\", sport: 49169, bth: \"8100ffff400002c400000000\" }"

# --- What the manual page lists -------------------------------------------------------------

page=$top/tools/man/hpccpp-cnp.8
flow
inject fd00:5::2 qpn="$q" orig=$b
check "hpccpp-cnp(8): the keys of cnp" diff <(items "$page" 'keys: cnp' | sort) <(jq -r '.[0] | to_entries[] | .key,
	(select(.key == "stats") | .value | keys[] | "stats.\(.)")' "$tmp/seen" | sort)
check "hpccpp-cnp(8): the keys of its flows" diff <(items "$page" 'keys: cnp-flow' | sort) \
	<(jq -r --argjson q "$q" '.[0].queue_pairs[] | select(.dqpn == $q) | keys[], "U", "rdma", "pid", "comm"' "$tmp/seen" | sort)
check "hpccpp(8): its metrics" diff <(items "$top/tools/man/hpccpp.8" 'metrics: cnp' | sort) \
	<("$HPCCPP" -o prom cnp show | awk '$2 == "TYPE" { print $3 }' | sort)
agent
flow
inject fd00:5::2 qpn="$q" orig=$b
check "hpccpp-cnp(8): what it shows" diff <(awk '/^\.\\" shows: cnp:/ { on = 1 }
	/^\.Ed/ { on = 0 } on && n++ > 2 { gsub(/\\e/, "\\"); print }' "$page" | printed) <("$HPCCPP" cnp show dev ha | printed)
check "show has both" jq -e '.cnps | length == 2' <("$HPCCPP" -j show)
"$HPCCPP" cnp del dev hb
"$HPCCPP" cnp del dev ha
check "removed: no filter, no clsact" [ -z "$(tc qdisc show dev ha clsact)" ]
ip link del seen
ktap_finish
