#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The agent of a RoCEv2 sender: what it makes of each CNP, right, forged, damaged,
# repeated or flooded; what it refuses to be set up with; and what the manual page lists.
# The flows are real ones of the kernel's rxe, the CNPs come from cnp.py, by s1.
#
#	ha ---- s1 ---- s2 ---- hb
#	  <-- CNP
#
# place: vm
# timeout: 600
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source-path=SCRIPTDIR source=rxe.sh
. "${BASH_SOURCE%/*}/rxe.sh"

echo TAP version 13

# --- Off by default, and what is needed ------------------------------------------------

# says PATTERN ARGUMENTS...: refused in one line like that
says()
{
	local status=0
	"$HPCCPP" "${@:2}" >"$tmp/out" 2>"$tmp/err" || status=$?
	# shellcheck disable=SC2053 # a pattern
	[[ $status -ne 0 && ! -s $tmp/out && $(wc -l <"$tmp/err") -eq 1 && $(<"$tmp/err") == "Error: "$1. ]] ||
		{ cat "$tmp/out" "$tmp/err"; false; }
}
refused() { check "refused: ${*:2}" says "$@"; }
refused '"dev" is missing*' cnp add accept ::1
refused '"accept" is missing*' cnp add dev ha
refused 'accept "10.0.0.0/8" is wrong*' cnp add dev ha accept 10.0.0.0/8
refused 'prefix "fd00::1/64" is wrong*' cnp add dev ha accept fd00::1/64
refused 'base-rtt "5s" is wrong*' cnp add dev ha accept ::/0 base-rtt 5s
refused 'threshold "0" is wrong*' cnp add dev ha accept ::/0 threshold 0
refused 'option-type "0x1e" is wrong: allowed are 128 to 159' cnp add dev ha accept ::/0 option-type 0x1e
refused 'option-type "0x9d" is wrong*' cnp add dev ha accept ::/0 option-type 0x9d
refused 'ioam-namespace "65536" is wrong*' cnp add dev ha accept ::/0 ioam-namespace 65536
refused 'algorithm "cubic" is unknown*' cnp add dev ha accept ::/0 algorithm cubic
refused 'the qdisc of hb is netem: rates take fq*' cnp add dev hb accept ::/0
refused 'cannot find device "none"' cnp add dev none accept ::/0
refused 'there is no agent on ha' cnp del dev ha
check "nothing of these is left" [ -z "$(tc qdisc show dev ha clsact)" ]

# --- Each CNP: what is made of it --------------------------------------------------------

# With a T of 4 s a flow counts as sending for long, and nothing grows meanwhile.
agent() # OPTION...: a new one, and a flow that has sent
{
	[[ -z $(tc filter show dev ha egress) ]] || "$HPCCPP" cnp del dev ha
	"$HPCCPP" cnp add dev ha accept fd00:5::/64 rate 200mbit base-rtt 4s "$@"
	perftest ib_write_bw -q 1 -s 4096 -n 5
	q=$(cnp '.flows[0].dqpn')
}
inject() # SOURCE KEY=VALUE...: see cnp.py
{
	nsenter --net="/run/netns/$s1" /usr/bin/python3 "$top/selftests/cnp.py" ha 02:00:00:00:00:0a "$1" $a "${@:2}"
}
counts() { cnp "[.stats[\$ARGS.positional[]]] | join(\" \")" --args "$@"; }
judged() # NAME COUNTER N: the counter has that more than before, and the rate is as it was
{
	assert_eq "$1: $2" $(($(stat "$2") - before)) "$3"
	assert_eq "$1: rate" "$(cnp '.flows[0].rate')" "$rate"
}
# bad COUNTER N SOURCE KEY=VALUE...
bad()
{
	before=$(stat "$1")
	rate=$(cnp '.flows[0].rate')
	inject "${@:3}"
	judged "${*:3}" "$1" "$2"
}
first() { cnp ".flows[0].$1"; }

agent
assert_eq "a flow: destination" "$(first dst)" $b
assert_eq "a flow: rate" "$(first rate)" 200000000
assert_eq "a flow: its queue pair here, as rdma says" "$(first lqpn)" "$(first dqpn)"
# UDP's own counters, and what would be answered
stack_in() { nstat -az | awk '/^(Udp6|Ip6InHdrErrors|Icmp6OutParmProblems|Icmp6OutDestUnreachs)/ { n += $2 } END { print n }'; }
in_before=$(stack_in)
bad denied 1 fd00:6::2 qpn="$q" orig=$b
bad unknown 1 fd00:5::2 qpn=$((q + 1)) orig=$b
bad unknown 1 fd00:5::2 qpn="$q" orig=fd00:b::2
bad unknown 1 fd00:5::2 qpn="$q" orig=$a
for what in opcode udplen optlen long short port; do
	bad malformed 1 fd00:5::2 qpn="$q" orig=$b bad=$what
done
bad malformed 1 fd00:5::2 qpn="$q" orig=$b cut=100
bad checksum 1 fd00:5::2 qpn="$q" orig=$b bad=sum
bad checksum 1 fd00:5::2 qpn="$q" orig=$b bad=nosum
bad icrc 1 fd00:5::2 qpn="$q" orig=$b bad=icrc
n=$(how_often 2000 1000000)
bad unknown "$n" fd00:5::2 qpn=0x800000 orig=$b n="$n" vary=1
bad denied "$n" fd00:6::2 qpn="$q" orig=$b n="$n"
assert_eq "the stack has seen none of these" $(($(stack_in) - in_before)) 0

inject fd00:5::2 qpn="$q" orig=$b n=3
assert_eq "a switch's, three times: heeded, repeated" "$(stat switch) $(stat repeated)" "1 2"
assert_eq "... rate: half" "$(first rate)" 100000000
assert_eq "... cause and switch" "$(first cause) $(first switch)" "switch fd00:5::2"
agent accept $b
inject $b qpn="$q" orig=$b
assert_eq "a receiver's Fast CNP: heeded, cause, rate" \
	"$(stat receiver) $(first cause) $(first rate)" "1 receiver 100000000"
agent
inject $b qpn="$(first lqpn)" bad=nosum
assert_eq "a receiver's CNP as ever: heeded, cause, rate" \
	"$(stat ordinary) $(first cause) $(first rate)" "1 ordinary 100000000"
bad unknown 1 $b qpn=$(($(first lqpn) + 1)) bad=nosum
bad icrc 1 $b qpn="$(first lqpn)" bad=icrc

# 100 Mbit/s is code 28: 50 MB in T, and 75 wait, so that U is 2.5
full=1000,0,75000000,0,28/1000,0,0,0,29
agent ioam-namespace 7 ioam-namespace 9
inject fd00:5::2 qpn="$q" orig=$b ns=9 nodes=$full
assert_eq "a trace: heeded by it, algorithm, U" "$(stat traced) $(first algorithm) $(first U)" "1 hpccpp 2.5"
assert_ge "... rate: 0.95 / 2.5 of it" "$(first rate)" 76000000
assert_le "... and W_ai" "$(first rate)" 76200000
bad repeated 1 fd00:5::2 qpn="$q" orig=$b ns=9 nodes=$full
bad repeated 1 fd00:5::2 qpn="$q" orig=$b
agent ioam-namespace 7
inject fd00:5::2 qpn="$q" orig=$b ns=9 nodes=$full
assert_eq "of another namespace: DCQCN" "$(stat trace_bad) $(stat switch) $(first algorithm)" "1 1 dcqcn"
agent
inject fd00:5::2 qpn="$q" orig=$b type=0xf2000000 nodes=1000,0,25000000,0,28
assert_eq "a trace without what HPCC++ needs: DCQCN" "$(stat trace_bad) $(stat switch) $(first algorithm)" "1 1 dcqcn"
agent algorithm dcqcn
inject fd00:5::2 qpn="$q" orig=$b nodes=1000,0,25000000,0,28
assert_eq "algorithm dcqcn: that" "$(stat trace_bad) $(stat switch) $(first algorithm)" "0 1 dcqcn"
agent option-type 0x8a option-type 0x8b
inject fd00:5::2 qpn="$q" orig=$b
assert_eq "an option of another type is not ours" "$(cnp '[.stats | .switch, .malformed, .unknown] | add')" 0

# --- What the manual page lists -------------------------------------------------------------

items() # MARK: of the list below that comment, one a line
{
	mark=".\\\" $1" awk '
		$0 == ENVIRON["mark"] { on = 1; next }
		on && /^\.El/ { exit }
		on && /^\.It / { sub(/^\.It (Va )?/, ""); print }' "$top/tools/hpccpp.8"
}
agent ioam-namespace 7
inject fd00:5::2 qpn="$q" orig=$b
"$HPCCPP" -j cnp show >"$tmp/cnp"
check "hpccpp(8): the keys of cnp" diff <(items 'keys: cnp' | sort) <(jq -r '.[0] | to_entries[] | .key,
	(select(.key == "stats") | .value | keys[] | "stats.\(.)")' "$tmp/cnp" | sort)
check "hpccpp(8): the keys of its flows" diff <(items 'keys: cnp-flow' | sort) \
	<(jq -r '.[0].flows[0] | keys[], "U"' "$tmp/cnp" | sort)
check "hpccpp(8): its metrics" diff <(items 'metrics: cnp' | sort) \
	<("$HPCCPP" -o prom cnp show | awk '$2 == "TYPE" { print $3 }' | sort)
check "show has it" jq -e '.cnps | length == 1' <("$HPCCPP" -j show)
"$HPCCPP" cnp del dev ha
check "removed: no filter, no clsact" [ -z "$(tc qdisc show dev ha clsact)" ]
ktap_finish
