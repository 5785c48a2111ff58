#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The lab's traffic (scripts/lab/tgen.c): generators offer what they are asked for,
# the same each time, and what is said of a connection is so.
#
# check: uml
# usual: 30
# shellcheck disable=SC2016,SC2317 # what is quoted is awk's; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

lab=${HPCCPP_LAB:-$HPCCPP_BIN}
ktap_plan 68

# 8 hosts of 10 Gbit/s; and apart from them a port without a buffer.
insmod "$lab/link/sch_lablink.ko"
"$lab/testbed" up leafspine 2 2 4 rate 10g rto_min_us 5000 \
	link h9 s9 link s9 r1 port s9 r1 rate 100m buffer 0
# The second run takes ports that are in TIME_WAIT, whose stamps are of seconds.
sleep 10
assert_eq "packets of the network's own in 10 s" "$(awk '{ n += $6 } END { print n }' /proc/lablink)" 0
"$lab/testbed" paths | awk '$1 != "h9" && $1 != "r1"' >"$tmp/paths"

run() # LINE OPTION...: the connections in $tmp/out
{
	local line=$1
	shift
	"$lab/tgen" -p "$tmp/paths" "$@" <<<"$line" >"$tmp/out"
}

# The list alone: the run ends as it begins.
list() { run "$1" -e 0; }

# A figure of all connections: awk that adds up n, for each, and prints at the END. "port" is
# the opener's.
figure() # PROGRAM
{
	tail -n +2 "$tmp/out" |
		awk '{ src = $2; dst = $3; size = $4; start = $5; fct = $6; received = $8
			port = $14 > $15 ? $14 : $15 }'"$1"
}

close_to() # NAME VALUE EXPECTED PERCENT [UNIT]
{
	assert_le "$1: $2${5:+ $5}, and off $3 by" \
		"$(awk -v a="$2" -v b="$3" 'BEGIN { d = a / b - 1; print d < 0 ? -100 * d : 100 * d }')" "$4" %
}

# --- What poisson offers --------------------------------------------------------

seconds=20
poisson="poisson 1000000 $((seconds * 1000000000 + 1000000))"
mean_size='{ n += size } END { print n / NR }'

run "$poisson 50 websearch 7 cubic" -e 0 -z "$tmp/zero"
cp "$tmp/out" "$tmp/first"
assert_eq "time 0 is beyond a whole ms by" $(($(<"$tmp/zero") % 1000000)) 0 ns
close_to "offered at 50 %, websearch" "$(figure '{ n += size } END { print n * 8e-9 / '$seconds' / 8 }')" \
	5 3 "Gbit/s a host"
close_to "its mean size" "$(figure "$mean_size")" 1711250 3 bytes
close_to "of sizes up to 10000 are" "$(figure 'size <= 10000 { n++ } END { print n * 100 / NR }')" 15 3 %
close_to "of sizes up to 1000000 are" "$(figure 'size <= 1000000 { n++ } END { print n * 100 / NR }')" 70 2 %
close_to "a gap's deviation over its mean" "$(figure '
	src in last { gap = start - last[src]; n++; sum += gap; squares += gap * gap }
	{ last[src] = start }
	END { print sqrt(squares / n - (sum / n) ^ 2) / (sum / n) }')" 1 3
assert_eq "connections of a host with itself" "$(figure 'src == dst { n++ } END { print n + 0 }')" 0
close_to "pairs of hosts, the fullest to the emptiest" "$(figure '
	{ n[src, dst]++ }
	END {
		min = NR
		for (pair in n) {
			pairs++
			if (n[pair] < min)
				min = n[pair]
			if (n[pair] > max)
				max = n[pair]
		}
		print pairs == 56 ? max / min : "not 56"
	}')" 1.1 15
close_to "starts, first and last" "$(figure '
	start < 1000000 { early++ }
	{ last = start > last ? start : last }
	END { print early ? "early" : last / 1e9 }')" $seconds 0.1 s

list "$poisson 50 websearch 7 reno"
check "the same seed: the same, with another congestion control too" \
	diff <(cut -d ' ' -f 1-5 "$tmp/first") <(cut -d ' ' -f 1-5 "$tmp/out")
list "$poisson 50 websearch 8 cubic"
assert_le "another seed: starts that are the same" \
	"$(comm -12 <(cut -d ' ' -f 2,5 "$tmp/first" | sort) <(figure '{ print src, start }' | sort) | wc -l)" 2
tac "$tmp/paths" >"$tmp/reversed"
"$lab/tgen" -e 0 -p "$tmp/reversed" <<<"$poisson 50 websearch 7 cubic" >"$tmp/out"
check "another order of hosts: the same gaps and sizes" \
	diff <(cut -d ' ' -f 2,4,5 "$tmp/first" | sort) <(cut -d ' ' -f 2,4,5 "$tmp/out" | sort)

list "poisson 0 1000000000 30 fb_hadoop 1 cubic"
close_to "mean size, fb_hadoop" "$(figure "$mean_size")" 120420.75 5 bytes
list "poisson 0 2000000000 30 alistorage 1 cubic"
close_to "mean size, alistorage" "$(figure "$mean_size")" 40869.8 5 bytes
printf '1000 50\n2000 100\n' >"$tmp/sizes"
list "poisson 0 20000000 50 $tmp/sizes 1 cubic"
close_to "mean size, a file" "$(figure "$mean_size")" 1000 3 bytes
list "poisson 0 20000000 50 12345 1 cubic"
assert_eq "a fixed size" "$(figure "$mean_size")" 12345 bytes

# --- What happens ---------------------------------------------------------------

whole='size != received || fct == "-" { n++ } END { print n + 0 }'
run "poisson 0 5000000 50 fb_hadoop 3 cubic"
assert_eq "poisson: connections without all bytes" "$(figure "$whole")" 0

# Timeouts and retransmissions as the kernel counts them for the host, which does
# not send a probe in time
nsenter --net=/run/netns/h9 sysctl -qw net.ipv4.tcp_early_retrans=0
"$lab/tgen" <<<"0 h9 r1 50000 cubic" >"$tmp/out"
kernel() # COUNTER HOST...: of all of these
{
	local host
	for host in "${@:2}"; do
		nsenter --net="/run/netns/$host" nstat -asz "$1"
	done | awk -v name="$1" '$1 == name { n += $2 } END { print n }'
}
assert_ge "timeouts where all but single packets are lost" "$(figure '{ print $13 }')" 1
assert_eq "... which are the kernel's" "$(figure '{ print $13 }')" "$(kernel TcpExtTCPTimeouts h9)"
assert_eq "retransmissions are the kernel's" "$(figure '{ print $12 }')" "$(kernel TcpRetransSegs h9)"

# --- Messages on connections that are kept ----------------------------------------

list "rpc 1000000 $((seconds * 1000000000 + 1000000)) 50 websearch 7 cubic 1"
close_to "rpc: offered at 50 %" "$(figure '{ n += size } END { print n * 8e-9 / '$seconds' / 8 }')" \
	5 3 "Gbit/s a host"
rpc="rpc 1000000 11000000 50 fb_hadoop 3 cubic"
figure '{ print src, dst, size }' >"$tmp/first"
list "rpc 1000000 $((seconds * 1000000000 + 1000000)) 50 websearch 7 reno 2"
check "... the same with another congestion control and more connections" \
	diff "$tmp/first" <(figure '{ print src, dst, size }')

# 112 connections, the k-th at k / 112 of the first ms
opened=$(kernel TcpActiveOpens h{1..8})
run "$rpc 2" -e 499999
assert_eq "connections that are open after half of the time" \
	$(($(kernel TcpActiveOpens h{1..8}) - opened)) 56
run "$rpc 2" -e 1000000
assert_eq "... after all of it" $(($(kernel TcpActiveOpens h{1..8}) - opened)) $((56 + 112))

# Four links, of 1 us and the time of 1066 bytes; the call of an answer has 130.
awk '/^h1 h5 |^h5 h1 /' "$tmp/paths" >"$tmp/two"
idle="rpc 1000000 400000000 .01 1000 1 cubic 1"
run "$idle" -e 0 -p "$tmp/two"
figure '{ print start }' >"$tmp/drawn"
run "$idle" -p "$tmp/two"
assert_ge "messages between two hosts that are idle" "$(wc -l <"$tmp/drawn")" 80
assert_eq "... which all arrive" "$(figure "$whole")" 0
assert_ge "... in the time of their way, and no less" \
	"$(figure 'NR == 1 || fct < min { min = fct } END { print min }')" 7410 ns
assert_le "... nor more" "$(figure 'fct > max { max = fct } END { print max }')" 7412 ns
assert_eq "setup_ns of all" "$(figure '{ n += $11 } END { print n }')" 0 ns
figure '{ print start, src }' | paste -d ' ' - "$tmp/drawn" >"$tmp/starts"
assert_eq "requests start as drawn, answers when their call is there, so neither" \
	"$(awk '{ d = $1 - $3; if (d != 0 && (d < 4416 || d > 4420)) n++ } END { print n + 0 }' "$tmp/starts")" 0
close_to "half of a host's messages are requests" \
	"$(awk '$2 == "h1" { n++; r += $1 == $3 } END { print 100 * r / n }' "$tmp/starts")" 50 30 %
close_to "... and of the other's" \
	"$(awk '$2 == "h5" { n++; r += $1 == $3 } END { print 100 * r / n }' "$tmp/starts")" 50 30 %

# overtaken: ends that are before that of a message which began earlier in the same role
busy="rpc 1000000 21000000 80 fb_hadoop 5 cubic"
overtaken() # N
{
	run "$busy $1" -e 0 -p "$tmp/two"
	figure '{ print start }' >"$tmp/drawn"
	run "$busy $1" -p "$tmp/two"
	figure '{ print src, start, start + fct }' | paste -d ' ' - "$tmp/drawn" |
		awk '{ print $1, $2 == $4, $2, $3 }' | sort -k 1,2 -k 3,3n -k 4,4n | awk '
			$1 " " $2 != role { role = $1 " " $2; end = 0 }
			$4 < end { n++ }
			{ end = $4 > end ? $4 : end }
			END { print n + 0 }'
}
assert_eq "on one connection: messages out of order" "$(overtaken 1)" 0
assert_eq "... of which all arrived" "$(figure 'size == received { n++ } END { print n }')" \
	"$(wc -l <"$tmp/drawn")"
assert_ge "on two: messages that go by a longer one" "$(overtaken 2)" 20
assert_eq "... ports of a host" "$(figure '{ ports[port] } END { for (p in ports) n++; print n }')" 2
# A connection is in use from when its message is drawn until the 64 bytes after it.
assert_eq "... messages on one in use, and the other is idle" \
	"$(figure '{ print src, dst, start, start + fct, port }' | paste -d ' ' - "$tmp/drawn" | awk '
		{ opener[NR] = $3 == $6 ? $1 : $2; from[NR] = $6; to[NR] = $4 + 10000; port[NR] = $5 }
		END {
			for (i = 1; i <= NR; i++) {
				here = there = 0
				for (j = 1; j <= NR; j++) {
					if (opener[j] != opener[i] || from[j] >= from[i] || to[j] <= from[i])
						continue
					if (port[j] != port[i])
						there = 1
					else if (to[j] - 10000 > from[i])
						here = 1
				}
				n += here && !there
			}
			print n + 0
		}')" 0

list "$rpc 2"
lines=$(wc -l <"$tmp/out")
run "$rpc 2"
assert_eq "8 hosts: lines, as many as were drawn" "$(wc -l <"$tmp/out")" "$lines"
assert_eq "... messages without all bytes" "$(figure "$whole")" 0
# each link's 1 us, and the bytes at the rate of one: base RTT has 3264 ns for a link
assert_eq "... quicker than light" "$(awk '
	NR == FNR { rtt[$1, $2] = $3; next }
	!/^#/ && $6 < $7 - rtt[$2, $3] * 2264 / 3264 - 4 { n++ }
	END { print n + 0 }' "$tmp/paths" "$tmp/out")" 0
run "$rpc 2" -w 1:4000000
figure '{ print src, size, $9 }' >"$tmp/first"
run "$rpc 2" -e 4000000
check "bytes until a time are those received by then" \
	diff "$tmp/first" <(figure '{ print src, size, received }')
assert_ge "... of parts of messages too" \
	"$(figure 'received > 0 && received < size { n++ } END { print n + 0 }')" 2
assert_eq "... and no message is whole without an end" \
	"$(figure 'received == size && fct == "-" { n++ } END { print n + 0 }')" 0

"$lab/testbed" paths | awk '/^(h9|r1) (h9|r1) /' >"$tmp/lossy"
retransmitted=$(kernel TcpRetransSegs h9 r1)
run "rpc 1000000 2000000000 1 50000 1 cubic 1" -p "$tmp/lossy"
assert_ge "where packets are lost: retransmissions" "$(figure '{ n += $12 } END { print n }')" 10
assert_eq "... which are the kernel's" "$(figure '{ n += $12 } END { print n }')" \
	$(($(kernel TcpRetransSegs h9 r1) - retransmitted))

# --- Which way they go ----------------------------------------------------------

# off_ways EXTRA: ports between switches that have carried less than the data that go that way, or
# more than these, an ACK for each packet whose ACKs come that way, and EXTRA bytes of each flow:
# of its handshake, its end, and the 64 of a message.
off_ways()
{
	local ns
	cat /proc/lablink >"$tmp/links"
	"$lab/testbed" ways <"$tmp/out" >"$tmp/ways"
	awk '!/^#/ { print $1, $3, $2, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $15, $14 }' "$tmp/out" |
		"$lab/testbed" ways >"$tmp/ways_back"
	for ns in l1 l2 s1 s2; do
		echo "$(stat -Lc %i "/run/netns/$ns") $ns"
	done >"$tmp/inums"
	awk -v extra="$1" 'FILENAME ~ /inums$/ { name[$1] = $2; next }
		FILENAME ~ /links$/ { if ($1 in name) carried[name[$1] "/" $2] = $8; next }
		FILENAME ~ /out$/ { if (!/^#/) { size[$1] = $4; packets[$1] = int(($4 + 1447) / 1448) }; next }
		FILENAME ~ /back$/ {
			for (i = 4; i < NF - 1; i += 2) acks[$i] += packets[$1] * 66 + extra
			next
		}
		{
			in_rack = ($2 ~ /^h[1-4]\//) == ($(NF - 1) ~ /^l1\//)
			if (NF != (in_rack ? 5 : 9)) bad++
			for (i = 4; i < NF - 1; i += 2) {
				data[$i] += size[$1] + packets[$1] * 66
				acks[$i] += extra
			}
		}
		END {
			for (port in data) {
				n++
				if (carried[port] < data[port] || carried[port] > data[port] + acks[port]) bad++
			}
			print n ? bad + 0 : "no ways"
		}' "$tmp/inums" "$tmp/links" "$tmp/out" "$tmp/ways_back" "$tmp/ways"
}
# SYN, its answer's ACK, FIN and its answer's ACK
run "poisson 1000000 5000000 30 100000 3 cubic" -w 1:- -l "$tmp/unused"
assert_eq "of connections: ports whose bytes are not those of their ways" "$(off_ways $((4 * 74)))" 0
run "rpc 1000000 9000000 30 100000 3 cubic 2" -w 1000000:- -l "$tmp/unused"
# the 64 bytes, their ACK, and where it is the last message, the three of an end
assert_eq "of messages, requests and answers" "$(off_ways $((5 * 74 + 64)))" 0
not_ours() { ! "$lab/testbed" ways <<<"0 h1 h77 1 1 1 1 1 1 cubic 1 0 0 10000 5000" 2>"$tmp/err" && grep -q "no host h77" "$tmp/err"; }
check "a way to nowhere is refused" not_ours

# --- What is refused ------------------------------------------------------------

printf '2000 50\n1000 100\n' >"$tmp/falling"
printf '1000 50\n2000 99\n' >"$tmp/short"
while IFS='|' read -r line words; do
	status=0
	run "$line" 2>"$tmp/err" || status=$?
	check "refused: $line" test "$status $(grep -cF -e "$words" "$tmp/err")" = "2 1"
done <<END
poisson 5 5 50 websearch 1 cubic|TO_NS "5": 6 to
poisson 0 9 0 websearch 1 cubic|LOAD "0": more than 0
poisson 0 9 101 websearch 1 cubic|LOAD "101": more than 0, to 100
poisson 0 9 50 websurf 1 cubic|DIST "websurf": websearch,
poisson 0 9 50 0 1 cubic|DIST "0": 1 to
poisson 0 9 50 $tmp/falling 1 cubic|1000 100
poisson 0 9 50 $tmp/short 1 cubic|the last with 100
poisson 0 9 50 100 x cubic|SEED "x" is not a number
poisson 0 9 50 100 cubic|LOAD DIST SEED CC
rpc 0 9 50 100 1 cubic 1|FROM_NS "0": 1 to
rpc 5 5 50 100 1 cubic 1|TO_NS "5": 6 to
rpc 5 9 101 100 1 cubic 1|LOAD "101": more than 0, to 100
rpc 5 9 50 100 1 cubic 0|N "0": 1 to 7933
rpc 5 9 50 100 1 cubic 7934|N "7934": 1 to 7933
rpc 5 9 50 100 1 cubic|LOAD DIST SEED CC N
rpc 5 9 50 100 1 cubic 1 1|LOAD DIST SEED CC N
0 h9 r1 9223372036854775809@5 cubic|BYTES "9223372036854775809": 1 to
0 h9 r1 -@5 cubic|BYTES "-" is not a number
5 h9 r1 100@5 cubic|@NS "5": 6 to
END
ktap_finish
