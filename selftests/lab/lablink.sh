#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The lab's link (scripts/lab/sch_lablink.c) does what its head comment says, to the
# nanosecond, the byte and the packet, and reports it so.
#
# check: uml
# usual: 15
# shellcheck disable=SC2016 # what is quoted is awk's and perl's
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

lab=${HPCCPP_LAB:-$HPCCPP_BIN}
wire=1514
rates=(1 10 25 40 100 200 400)	# Gbit/s, of pairs 1 to 7
delays=(0 12345)		# ns, of pairs 8 and 9; 1000 of the others
slow=10 full=11			# pairs with a queue, and a trace that is too small
prio=12				# one with priorities
over=13				# one that carries 24 bytes with each packet
slow_bps=5000000 limit=$((660 * wire)) mark=$((66 * wire))

ktap_plan 57

# One link for each pair of hosts; the I-th host made has the address 10.0.I.1.
args=(graph delay_ns 1000 host_trace 10000)
for i in "${!rates[@]}"; do
	args+=(link "h$((i + 1))" "r$((i + 1))" rate "${rates[i]}g")
done
for i in "${!delays[@]}"; do
	args+=(link "h$((i + 8))" "r$((i + 8))" rate 25g delay_ns "${delays[i]}")
done
args+=(link "h$slow" "r$slow" rate "$slow_bps" buffer "$limit" mark "$mark")
args+=(link "h$full" "r$full" rate 10g trace 10)
args+=(link "h$prio" "r$prio" rate 10g prio 1)
args+=(link "h$over" "r$over" rate 25g overhead 24)
insmod "$lab/link/sch_lablink.ko"
"$lab/testbed" up "${args[@]}"

burst() # PAIR COUNT [URGENT [SEGMENTS]]: arrivals in $tmp/burst
{
	"$HPCCPP_BIN/burst" "h$1" "r$1" "10.0.$((2 * $1)).1" "$2" "$wire" "${3-0}" "${4-1}" >"$tmp/burst"
}

# The n-th column of a pair's sender in /proc/lablink, and its lines of the trace
netns() { stat -L -c %i "/run/netns/h$1"; }
stat_of() { awk -v ns="$(netns "$1")" -v n="$2" '$1 == ns { print $n }' /proc/lablink; }
trace_of() { awk -v ns="$(netns "$1")" '$1 == ns { print $3, $4, $5 }' /proc/lablink_trace; }

# --- Rate and delay ------------------------------------------------------------

first_arrival() { awk '$1 == 1 { print $2 }' "$tmp/burst"; }

# By how many ns an arrival is off the time computed without rounding, at most
worst() # GBIT
{
	awk -v gbit="$1" -v wire="$wire" '
		{
			off = 1000 + NR * wire * 8 / gbit - $2
			if (off < 0)
				off = -off
			if (off > worst)
				worst = off
			bad += $1 != NR
		}
		END { print bad || NR != 1000 ? "" : worst + 0 }' "$tmp/burst"
}

for i in "${!rates[@]}"; do
	burst $((i + 1)) 1000
	assert_le "${rates[i]} Gbit/s: worst error of 1000 arrivals" \
		"$(worst "${rates[i]}" || true)" 1 ns
	assert_eq "... and the first is there after" "$(first_arrival)" \
		$((1000 + wire * 8 / rates[i])) ns
done
burst 3 1000 0 20
assert_le "GSO packets of 20 segments at 25 Gbit/s: worst error" "$(worst 25 || true)" 1 ns
for i in "${!delays[@]}"; do
	burst $((i + 8)) 1
	assert_eq "delay of ${delays[i]} ns: it is there after" "$(first_arrival)" \
		$((delays[i] + wire * 8 / 25)) ns
done

burst $over 1000
assert_le "24 bytes with each packet: worst error" "$(wire=$((wire + 24)) worst 25 || true)" 1 ns
wire=50 burst $over 1000
assert_le "... of 60 bytes at least: worst error" "$(wire=84 worst 25 || true)" 1 ns

# --- Priorities ----------------------------------------------------------------

order() { awk '{ print $1 }' "$tmp/burst" | paste -sd' '; }
burst $prio 8 2
assert_eq "two of eight are urgent: who arrives, the first was in transmission" "$(order)" "1 7 8 2 3 4 5 6"
burst 2 8 2
assert_eq "... without priorities" "$(order)" "1 2 3 4 5 6 7 8"

# --- Packets that wait in another qdisc --------------------------------------------

child() { tc -n h$slow qdisc replace dev eth0 parent 1:1 "$@"; }
child prio
burst $slow 8 2
assert_eq "packets wait in prio: who arrives" "$(order)" "1 7 8 2 3 4 5 6"
child bfifo limit $((10 * wire))
echo reset >/proc/lablink
burst $slow 1000
assert_eq "in a bfifo for 10: packets that arrive, of 1000" "$(wc -l <"$tmp/burst")" 11
assert_eq "... drops" "$(stat_of $slow 10)" 989
assert_eq "... longest queue" "$(stat_of $slow 20)" $((10 * wire)) bytes
assert_eq "... the trace has each as it comes: longest then" "$(trace_of $slow | awk '
	NR == 2 { at = $1 } NR > 1 && $1 == at && $2 > max { max = $2 } END { print max }')" $((10 * wire)) bytes
child bfifo limit $((100 * wire))
burst $slow 100 0 20
assert_le "... GSO packets of 20 segments: worst error of 100 arrivals" \
	"$(awk -v ns_each="$((wire * 8000 / (slow_bps / 1000000)))" '
		{ off = 1000 + NR * ns_each - $2; if (off < 0) off = -off; if (off > worst) worst = off }
		END { print NR == 100 ? worst + 0 : "" }' "$tmp/burst")" 1 ns
child fq_codel limit 10 drop_batch 1
echo reset >/proc/lablink
burst $slow 1000
arrived=$(wc -l <"$tmp/burst")
assert_le "in fq_codel for 10: packets that arrive, of 1000" "$arrived" 11
assert_eq "... the others are drops" "$(stat_of $slow 10)" $((1000 - arrived))
tc -n h$slow qdisc del dev eth0 parent 1:1
burst $slow 8 2
assert_eq "... and without it again" "$(order)" "1 2 3 4 5 6 7 8"

# --- Buffer, marks, statistics, trace ------------------------------------------

# Of 1000 packets at once one is sent, so many wait and the rest is dropped. The
# n-th to wait finds (n - 1) * wire bytes waiting.
fit=$((limit / wire))
marks=$((fit - mark / wire - 1))
# overfill NAME TRACE [SEGMENTS]: a burst of 1000
overfill()
{
	echo reset >/proc/lablink
	burst $slow 1000 0 "${3-1}"
	stats=$(</proc/lablink)
	trace_of $slow >"$2"
	assert_eq "$1: packets that arrive, of 1000 into $limit bytes" "$(wc -l <"$tmp/burst")" $((fit + 1))
	assert_eq "... drops, marks above $mark bytes, bytes sent" \
		"$(stat_of $slow 10) $(stat_of $slow 12) $(stat_of $slow 8)" \
		"$((999 - fit)) $marks $(((fit + 1) * wire))"
	assert_eq "... bursts" "$(stat_of $slow 22)" $((1000 / ${3-1}))
}
overfill "as GSO packets of 20 segments" "$tmp/trace2" 20
overfill "as single packets" "$tmp/trace"
assert_eq "marks that arrive" "$(awk '{ n += $3 } END { print n }' "$tmp/burst")" $marks

# What the trace has to be, but for when the burst begins.
expected() # TRACE
{
	awk -v begin="$(awk 'NR == 2 { print $1 }' "$1")" -v n=$fit -v wire=$wire \
		-v bps=$slow_bps '
		BEGIN {
			print 0, 0, 0
			print begin, wire, 0
			print begin, 0, wire
			for (i = 1; i <= n; i++)
				print begin, i * wire, wire
			for (i = 1; i <= n; i++)
				printf "%.0f %d %d\n", begin + i * wire * 8e9 / bps, (n - i) * wire, (i + 1) * wire
		}'
}
check "the trace has each change" diff <(expected "$tmp/trace") "$tmp/trace"
check "... of GSO packets too" diff <(expected "$tmp/trace2") "$tmp/trace2"

# The same figures from the trace: of the time until $stats, with its steps of 256
read -r ns mean p50 p99 max < <(awk -v ns="$(netns $slow)" \
	'$1 == ns { print $4, $14, $16, $18, $20 }' <<<"$stats")
read -r t_mean t_p50 t_p99 t_max < <(awk -v end="$ns" '
	function upto(now) {
		time[int((backlog + 255) / 256)] += now - last
		area += (now - last) * backlog
		last = now
	}
	function percentile(part, i, sum) {
		for (i = 0; (sum += time[i]) < int(end * part / 100); i++)
			;
		return i * 256
	}
	{
		upto($1)
		backlog = $2
		if (backlog > max)
			max = backlog
	}
	END {
		upto(end)
		printf "%d %d %d %d\n", area / end, percentile(50), percentile(99), max
	}' "$tmp/trace")
assert_eq "mean queue" "$mean" "$t_mean" bytes
assert_eq "median queue" "$p50" "$t_p50" bytes
assert_eq "p99 queue" "$p99" "$t_p99" bytes
assert_eq "longest queue" "$max" "$t_max" bytes

echo reset >/proc/lablink
check "reset: nothing is left" awk '{ for (i = 6; i <= NF; i += 2) n += $i } END { exit n != 0 }' \
	/proc/lablink
check "reset: a line of the trace for each link" awk '
	$3 || $4 || $5 { bad = 1 } END { exit bad || NR != 26 }' /proc/lablink_trace

# The reset's line, and two for each packet
burst $full 10
check "a trace that is too small says how much is lost" \
	test "$(tail -n 1 /proc/lablink_trace)" = "# 11 events lost"

# --- Arguments ------------------------------------------------------------------

# qdisc [RATE TRACE [BYTES]]: make one on the device "new"; prints the error number.
# Options are cut off after so many bytes, without any there are none.
ip link add new type veth peer name peer
qdisc()
{
	perl -e '
		use Socket;
		($index, $rate, $trace, $cut) = @ARGV;
		sub attr { pack "SSa*x![L]", 4 + length $_[1], @_ }
		$body = pack "Lllll", 0, $index, 1 << 16, -1, 0;
		$body .= attr 1, "lablink\0";
		$body .= attr 2, substr pack("QQL6", $rate, 0, 1e6, 0, $trace, 0, 0, 0), 0, $cut // 40
			if defined $rate;
		socket N, 16, SOCK_RAW, 0 or die;
		send N, pack("LSSLLa*", 16 + length $body, 36, 0x605, 1, 0, $body), 0,
			pack "SSLL", 16, 0, 0, 0 or die;
		recv N, $said, 4096, 0;
		print -unpack "x16l", $said' "$(</sys/class/net/new/ifindex)" "$@"
}
vmalloc_used() { awk '$1 == "VmallocUsed:" { print $2 }' /proc/meminfo; }
EINVAL=22 ENOMEM=12
assert_eq "no options are refused" "$(qdisc)" $EINVAL
assert_eq "short options are refused" "$(qdisc 1000000 0 39)" $EINVAL
assert_eq "a rate of 0 is refused" "$(qdisc 0 0)" $EINVAL
before=$(vmalloc_used)
failed=
for _ in {1..20}; do
	failed+="$(qdisc 1000000 4294967295) "
done
check "a trace larger than memory is refused" \
	test "$failed" = "$(printf "$ENOMEM %.0s" {1..20})"
assert_le "... and leaves nothing behind" $(($(vmalloc_used) - before)) 0 KB
assert_eq "what is right is taken" "$(qdisc 1000000 10)" 0

# --- dualpi2, with the buffer and the marks of a FIFO ------------------------------

# At 1 Gbit/s, as its PI begins to mark when packets wait for 15 ms. A packet that waits as
# long as 66 others take is marked.
"$lab/testbed" down
"$lab/testbed" up graph host_queue dualpi2 host_buffer "$limit" host_mark "$mark" link h1 r1 rate 1g link h2 r2 rate 1g
marks() { awk '{ n += $3; if ($3 && !first) first = $1 } END { print n, "from", first }' "$tmp/burst"; }
burst 1 1000
assert_eq "in dualpi2: packets that arrive, of 1000 into $limit bytes" "$(wc -l <"$tmp/burst")" $((fit + 1))
assert_eq "... drops" "$(stat_of 1 10)" $((999 - fit))
assert_eq "... ECT(0) is marked" "$(marks)" "$((fit - 65)) from 67"
burst 2 600 0 20
assert_eq "... as GSO packets of 20 segments: packets that arrive" "$(wc -l <"$tmp/burst")" 600
assert_eq "... marks" "$(marks)" "534 from 67"
ktap_finish
