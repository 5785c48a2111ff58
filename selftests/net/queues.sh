#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A port's two sources of what waits and what was sent, the qdisc's counters and a
# queue that is computed, tell the same of the same link, and what tc tells of it.
#
#	h1 --- s1 next ==100 Mbit/s== eth0 r	round trip 1 ms: a pipe of 12.5 KB
#	a q0 ==mq, four queues== q1 b		what is stamped is the queue that is taken
#
# The receiver's window is larger than the pipe: what is more waits at next, and
# nothing is lost.
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

RATE=100mbit
RTT_US=1000
link_bps=100000000
bdp=$((link_bps * RTT_US / 8000000))

root() # KIND: anew, with its counters at 0
{
	tc -n "$s1" qdisc del dev next root
	case $1 in
	netem)	tc -n "$s1" qdisc add dev next root handle 1: netem rate $RATE limit 1000 ;;
	tbf)	tc -n "$s1" qdisc add dev next root handle 1: tbf rate $RATE burst 3028 limit 1mb ;;
	htb)	tc -n "$s1" qdisc add dev next root handle 1: htb default 1
		tc -n "$s1" class add dev next parent 1: classid 1:1 htb rate $RATE burst 3028 cburst 3028
		tc -n "$s1" qdisc add dev next parent 1:1 pfifo limit 1000 ;;
	esac
}

# One transfer. Leaves what the records say and what tc says: qlen, U, tx, and
# tc_qlen, tc_U, tc_tx.
run() # ROOT SOURCE given|read [OVERHEAD]
{
	local given=(overhead "${4-0}")
	[[ $3 == read ]] || given+=(rate "$RATE")

	root "$1"
	"$HPCCPP" port add dev next netns "$s1" id 7 queue "$2" base-rtt "${RTT_US}us" "${given[@]}"
	config=$("$HPCCPP" -j port show dev next netns "$s1" |
		jq -r '.[0] | "\(.queue) \(.rate) \(.rate_given)"')
	meter_start
	segs_start "$r" eth0
	tcp_send "$h1" "$r" "${addr4[r]}" "-c cubic -n 2m"
	segs_stop
	meter_stop
	"$HPCCPP" port del dev next netns "$s1"
	# Of tc what it said while data was sent: between the first and the last byte
	read -r tc_qlen tc_tx drops < <(awk -F, '
		NR > 1 { t[NR] = $1; q[NR] = $2; sent[NR] = $4; drops = $6; last = $4 }
		END {
			for (i = 2; i <= NR; i++)
				if (sent[i] > 20000 && sent[i] < last - 20000) { sum += q[i]; n++ }
			printf "%.0f %d %d\n", sum / n, last, drops
		}' "$tmp/queue.csv")
	# netem's backlog has the packet that is being sent, which does not wait
	[[ $1 != netem ]] || tc_qlen=$((tc_qlen - MTU - 14))
	read -r qlen U tx < <(awk '$1 == "link" && $2 == 7 { print $5, $6, $7 }' "$tmp/segs")
	tc_U=$(awk "BEGIN { print 1 + $tc_qlen / $bdp }")
}

# near NAME VALUE OTHER PERCENT PLUS UNIT: VALUE is within PERCENT + PLUS of OTHER
near()
{
	assert_le "$1: $2 and $3, apart" \
		"$(awk "BEGIN { d = $2 - $3; print d < 0 ? -d : d }")" \
		"$(awk "BEGIN { print $3 * $4 / 100 + $5 }")" "$6"
}

# xps MASK...: of the CPUs that send by each of q0's queues
xps()
{
	local i=0 mask
	for mask; do
		ip netns exec "$a" bash -c "echo $mask >/sys/class/net/q0/queues/tx-$i/xps_cpus"
		i=$((i + 1))
	done
}

# sent_by: packets that each of q0's queues has sent, the first first
sent_by()
{
	tc -s -j -n "$a" qdisc show dev q0 |
		jq -r '[.[] | select(.parent) | { p: .parent, n: .packets }] | sort_by(.p) | map(.n) | @tsv'
}

# The queues that data of one connection took, and those that its records tell of. Packets
# without data may go before the socket has a queue.
queues_taken() # [OPTION...]
{
	local i before after
	read -ra before < <(sent_by)
	segs_start "$b" q1
	tcp_send "$a" "$b" "${1-10.9.0.2}" "-c cubic -n 1m"
	segs_stop
	read -ra after < <(sent_by)
	taken=$(for i in 0 1 2 3; do
		[[ $((after[i] - before[i])) -lt 20 ]] || echo $((10 + i))
	done)
	told=$(awk '$1 == "link" { print $2 }' "$tmp/segs" | sort -n)
}

# each_of_two PEER: connections take one or the other by their hash, and what is told is so
each_of_two()
{
	local seen=() i
	for ((i = 0; i < 20 && ${#seen[@]} < 2; i++)); do
		queues_taken "$1"
		[[ $told == "$taken" ]] || { echo "$told told, $taken taken"; return 1; }
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
ktap_plan "$(how_often 41 71)"
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
for root in netem tbf htb; do
	for how in read ${LONG:+given}; do
		for source in qdisc virtual; do
			name="$root, $source, rate $how"
			run "$root" "$source" "$how"
			is_given=false
			[[ $how == read ]] || is_given=true
			check "$name: as asked for: $config" \
				[ "$config" = "$source $link_bps $is_given" ]
			near "$name: mean queue, records and tc" "$qlen" "$tc_qlen" 10 1514 bytes
			near "$name: bytes sent, records and tc" "$tx" "$tc_tx" 3 6000 bytes
			near "$name: U, records and by tc" "$U" "$tc_U" 10 0.05 ""
			if [[ $source == qdisc ]]; then
				qdisc=("$qlen" "$U")
			else
				near "$name: mean queue, and of qdisc" "$qlen" "${qdisc[0]}" 10 1514 bytes
				near "$name: U, and of qdisc" "$U" "${qdisc[1]}" 10 0.05 ""
			fi
		done
	done
done
# with so many bytes more that the link carries with each packet
run tbf qdisc read 200
longer=$(awk "BEGIN { print ($MTU + 14 + 200) / ($MTU + 14) }")
near "tbf, overhead 200: mean queue, records and tc" "$qlen" "$(awk "BEGIN { print $tc_qlen * $longer }")" 10 1514 bytes
near "... bytes sent" "$tx" "$(awk "BEGIN { print $tc_tx * $longer }")" 3 6000 bytes

# --- The queue that a packet takes -------------------------------------------------

setup_ns a b
ip -batch - <<END
link add q0 netns $a numtxqueues 4 numrxqueues 4 type veth peer q1 netns $b numtxqueues 4 numrxqueues 4
END
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
	assert_eq "to $peer, by its hash: told and taken" "$told" "$taken"
	xps 0 0 "$all" 0
	queues_taken "$peer"
	assert_eq "to $peer, XPS: taken" "$taken" 12
	assert_eq "to $peer, XPS: told" "$told" 12
	xps 0 "$all" 0 "$all"
	check "to $peer, XPS has two: told and taken, until each was" each_of_two "$peer"
done
ktap_finish
