#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A port reads the queue length and the bytes sent from its qdisc, or computes them: both agree with
# tc. With several queues, a packet gets the record of the queue that it takes.
#
#	h1 --- s1 next ==100 Mbit/s== eth0 r	round trip 1 ms: a pipe of 12.5 KB
#	a q0 ==mq, four queues== q1 b
#
# The receiver's window is larger than the pipe: the rest waits at next, and nothing is lost.
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

RATE=100mbit
RTT_US=1000
bdp=12500

root() # KIND: a new one, with its counters at 0
{
	tc -n "$s1" qdisc del dev next root
	case $1 in
	netem)	tc -n "$s1" qdisc add dev next root handle 1: netem rate $RATE limit 1000 ;;
	tbf)	tc -n "$s1" qdisc add dev next root handle 1: tbf rate $RATE burst 3028 limit 1mb ;;
	htb)	tc -n "$s1" qdisc add dev next root handle 1: htb default 1
		tc -n "$s1" class add dev next parent 1: classid 1:1 \
			htb rate $RATE burst 3028 cburst 3028
		tc -n "$s1" qdisc add dev next parent 1:1 pfifo limit 1000 ;;
	cake)	tc -n "$s1" qdisc add dev next root handle 1: cake bandwidth $RATE flowblind ;;
	esac
}

# near NAME VALUE OTHER PERCENT PLUS UNIT: VALUE is within PERCENT + PLUS of OTHER
near()
{
	assert_le "$1: $2 and $3, apart" \
		"$(awk "BEGIN { d = $2 - $3; print d < 0 ? -d : d }")" \
		"$(awk "BEGIN { print $3 * $4 / 100 + $5 }")" "$6"
}

# agrees ROOT SOURCE [OVERHEAD]: in a transfer, records and tc report the same; by tc a packet is
# OVERHEAD bytes shorter than on the link
agrees()
{
	local name="$1, $2${3:+, overhead $3}" qlen U tx tc_qlen tc_tx longer

	root "$1"
	port_on "$s1" next id 7 queue "$2" overhead "${3-0}"
	meter_start
	capture_start "$r" eth0
	tcp_send "$h1" "$r" "${addr4[r]}" "-c cubic -n 2m"
	capture_stop
	meter_stop
	"$HPCCPP" port del dev next netns "$s1"
	# tc's readings between the first and the last byte of data
	read -r tc_qlen tc_tx < <(awk -F, '
		NR > 1 { q[NR] = $2; sent[NR] = $4; last = $4 }
		END {
			for (i = 2; i <= NR; i++)
				if (sent[i] > 20000 && sent[i] < last - 20000) { sum += q[i]; n++ }
			printf "%.0f %d\n", sum / n, last
		}' "$tmp/queue.csv")
	# netem's backlog includes the packet in transmission, which does not wait
	[[ $1 != netem ]] || tc_qlen=$((tc_qlen - MTU - 14))
	read -r qlen U tx < <(awk '$7 == "collect" && split($17, r, ":") && r[1] == 7 {
			qlen += r[2]
			U += r[3]
			tx += n++ ? (r[4] - last + 2 ^ 30) % 2 ^ 30 : 0
			last = r[4]
		}
		END { printf "%.0f %.3f %d\n", qlen / n, U / n, tx }' "$tmp/segments")
	longer="* ($MTU + 14 + ${3-0}) / ($MTU + 14)"
	tc_qlen=$(awk "BEGIN { print $tc_qlen $longer }")
	near "$name: mean queue" "$qlen" "$tc_qlen" 10 1514 bytes
	near "$name: bytes sent" "$tx" "$(awk "BEGIN { print $tc_tx $longer }")" 3 6000 bytes
	[[ -n ${3-} ]] ||
		near "$name: U" "$U" "$(awk "BEGIN { print 1 + $tc_qlen / $bdp }")" 10 0.05 ""
}

# xps MASK...: the CPUs that send by each of q0's queues
xps()
{
	local i=0 mask
	for mask; do
		ip netns exec "$a" bash -c "echo $mask >/sys/class/net/q0/queues/tx-$i/xps_cpus"
		i=$((i + 1))
	done
}

# sent_by: packets that each of q0's queues has sent, in their order
sent_by()
{
	tc -s -j -n "$a" qdisc show dev q0 |
		jq -r '[.[] | select(.parent) | { p: .parent, n: .packets }] | sort_by(.p) | map(.n) | @tsv'
}

# queues_taken ADDRESS: the queues that the data of one connection took, and the queues of its
# records. Packets without data may leave before the socket has a queue.
queues_taken()
{
	local i before after
	read -ra before < <(sent_by)
	capture_start "$b" q1 "$a" "$1"
	tcp_send "$a" "$b" "$1" "-c cubic -n 1m"
	capture_stop
	read -ra after < <(sent_by)
	taken=$(for i in 0 1 2 3; do
		[[ $((after[i] - before[i])) -lt 20 ]] || echo $((10 + i))
	done)
	recorded=$(awk '$7 == "collect" && $16 != "-" { print $16 }' "$tmp/segments" | sort -nu)
}

# each_of_two PEER: connections take both queues, by their hash, and their records report it
each_of_two()
{
	local seen=() i
	for ((i = 0; i < 20 && ${#seen[@]} < 2; i++)); do
		queues_taken "$1"
		[[ $recorded == "$taken" ]] || { echo "$recorded recorded, $taken taken"; return 1; }
		seen[taken]=1
	done
	[[ ${#seen[@]} -eq 2 ]] || { echo "all by ${!seen[*]}"; return 1; }
}

# True if the port does without a helper for each field. The calls that are left are for mq.
typed()
{
	local id
	"$HPCCPP" port add dev next netns "$s1" rate "$RATE" queue qdisc
	read -r id _ < <(programs "$s1" next egress)
	[[ $(bpftool prog dump xlated id "$id" | grep -c 'call bpf_probe_read_kernel') -le 2 ]]
}

load_hpccpp || ktap_skip_all "no module tcp_hpccpp"
echo TAP version 13
topo_line 1 1
for ns in "$h1" "$r"; do
	nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.tcp_rmem="4096 65536 65536"
done
host_on "$h1" ask always every 1
host_on "$r"
has_types=0
! grep -q bpf_rdonly_cast /sys/kernel/btf/vmlinux || has_types=1
is_typed=0
! typed || is_typed=1
"$HPCCPP" port del dev next netns "$s1"
assert_eq "the qdisc is read by typed pointers if the kernel has them" $is_typed $has_types
for root in netem tbf htb cake; do
	agrees "$root" qdisc
	agrees "$root" virtual
done
agrees tbf qdisc 200

# --- The queue that a packet takes -------------------------------------------------

setup_ns a b
ip -n "$a" link add q0 numtxqueues 4 numrxqueues 4 type veth \
	peer q1 netns "$b" numtxqueues 4 numrxqueues 4
for end in "$a q0 1" "$b q1 2"; do
	read -r ns dev i <<<"$end"
	ip -n "$ns" -batch - <<END
link set lo up
addr add 10.9.0.$i/24 dev $dev
addr add fd09::$i/64 dev $dev nodad
link set $dev up
END
done
tc -n "$a" -batch - <<END
qdisc replace dev q0 root handle 1: mq
$(for i in 1 2 3 4; do echo "qdisc replace dev q0 parent 1:$i pfifo limit 1000"; done)
END
host_on "$a" ask always every 1
host_on "$b"
all=$(printf %x $(((1 << $(nproc)) - 1)))
"$HPCCPP" port add dev q0 netns "$a" id 10 rate 1gbit queue qdisc
for peer in 10.9.0.2 fd09::2; do
	xps 0 0 0 0
	queues_taken "$peer"
	assert_eq "to $peer, by its hash: recorded and taken" "$recorded" "$taken"
	xps 0 0 "$all" 0
	queues_taken "$peer"
	assert_eq "to $peer, XPS: recorded and taken" "$recorded $taken" "12 12"
	xps 0 "$all" 0 "$all"
	check "to $peer, XPS has two: recorded and taken, until each was" each_of_two "$peer"
done
ktap_finish
