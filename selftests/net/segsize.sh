#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What fits into a segment: no packet exceeds the MTU, whatever stands in the TCP
# header, and an echo that lacks room is cut as kmod/hpccpp_wire.rst says.
#
#	         1 Gbit/s         200 Mbit/s          400 Mbit/s
#	         ------->          -------> loss       ------->
#	h1 eth0 ---------- h1 s1 next ---- prev s2 next ------- eth0 r
#	         <-------          <------- 2 ms, loss  <-------
#	         200 Mbit/s                             1 Gbit/s
#
# Every port stamps but s2's prev, which has the delay.
#
# check: uml
# check-long: 6.1
# usual: 30
# shellcheck disable=SC2154,SC2128 # set by name in lib.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

RATE=200mbit

# Records that fit beside so many SACK blocks
room() # TIMESTAMPS BLOCKS
{
	echo $(((40 - 12 * $1 - ($2 ? 4 + 8 * $2 : 0) - 4) / 12))
}

loss() # FORWARD BACKWARD
{
	bottleneck_queue netem loss "$1" limit 1000
	tc -n "$s2" qdisc replace dev prev root netem delay "${RTT_US}us" \
		loss "$2" limit 10000
}

set_timestamps() # 0 or 1
{
	local ns
	for ns in "$h1" "$r"; do
		nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.tcp_timestamps="$1"
	done
}

# At both hosts; in between nothing is merged or cut.
set_tso() # on or off
{
	local ns segs=1
	[[ $1 == off ]] || segs=65535
	for ns in "$h1" "$r"; do
		nsenter --net="/run/netns/$ns" ethtool -K eth0 tso "$1" gso "$1"
		ip -n "$ns" link set dev eth0 gso_max_segs $segs
	done
}

ask_for() # RECORDS [EVERY]
{
	"$HPCCPP" host del cgroup "$CGROUP"
	"$HPCCPP" host add cgroup "$CGROUP" records "$1" every "${2-1}"
}

# Packets of several segments are cut here, if they are larger than one.
tbf() # NETNS DEV RATE
{
	tc -n "$1" qdisc replace dev "$2" root handle 1: \
		tbf rate "$3" burst $((MTU + 14)) limit 512kb
}

start() # MTU
{
	MTU=$1
	topo_line 1 2
	tbf "$h1" eth0 "$EDGE"
	tbf "$s1" next "$RATE"
	tbf "$s2" next 400mbit
	tbf "$s1" h1 "$RATE"
	tbf "$r" eth0 "$EDGE"
	ports+=("$s1 h1" "$r eth0")
	agents_on
}

# When the last FIN has arrived, lost or not: without a path its socket stays.
end()
{
	local ns
	for ns in "${namespaces[@]}"; do
		busywait 10 no_sockets "$ns"
	done
	agents_off
	topo_down
}

# By all hosts, of either family
fragments()
{
	local ns name sum=0
	for ns in "${namespaces[@]}"; do
		for name in IpFragFails IpFragCreates Ip6FragFails Ip6FragCreates; do
			sum=$((sum + $(snmp "$ns" "$name")))
		done
	done
	echo $sum
}

# One way, with loss: what r answers, by the SACK blocks that its ACKs have. Where
# the kernel's options fill everything no agent is asked, and so counts nothing.
ladder() # TIMESTAMPS RECORDS
{
	local name="timestamps $1, $2 records" blocks=(0 1 2 3) rooms=() s
	local said rungs wrong less all short none echoed echo_short echo_none try syns

	[[ $1 -eq 1 ]] || blocks+=(4)
	for s in "${blocks[@]}"; do
		rooms+=("$(room "$1" "$s")")
	done
	set_timestamps "$1"
	# which losses there are is chance: again when no three were apart, or in the handshake
	for ((try = 0; try < 8; try++)); do
		syns=$(snmp "$h1" TcpExtTCPSynRetrans)
		ask_for "$2"
		# nor is a FIN seen here of the transfer before, sent again as its ACK was lost
		busywait 10 no_sockets "$r"
		segs_start "$r" eth0
		tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 2m"
		segs_stop

		read -r rungs wrong less all short none said < <(segs_awk '
			# the handshake has two: in the SYN-ACK, and the third ACK has what
			# a port wrote when the SYN-ACK had passed here
			BEGIN { split("'"${rooms[*]}"'", room); blocks = '${#blocks[@]}'; all = 2 }
			dir == "out" && what == "all" { all += count }
			dir == "out" && opt == "echo" && what != "all" { short += count }
			dir == "out" && (what == "less" || what == "other") { less += count }
			dir == "out" && opt == "none" && had != "-" && !('"$1"' && sack == 3) { none += count }
			dir == "out" && kind == "ack" && had != "-" {
				seen[sack, n] += count
				acks[sack] += count
				fit = room[sack + 1]
				if (had > 0 && n != (had < fit ? had : fit)) wrong += count
			}
			END {
				for (s = 0; s < blocks; s++) {
					said = said sprintf(" %d blocks:", s)
					for (n = 3; n >= 0; n--)
						if (seen[s, n]) said = said sprintf(" %dx%d", seen[s, n], n)
					if (s < 4) rungs += !!acks[s]
				}
				print rungs + 0, wrong + 0, less + 0, all + 0, short + 0, none + 0, said
			}')
		[[ $rungs -lt 4 || $(snmp "$h1" TcpExtTCPSynRetrans) -ne $syns ]] || break
	done
	read -r echoed echo_short echo_none < <("$HPCCPP" -j host show cgroup "$CGROUP" |
		jq -r '.[0].stats | "\(.echoed) \(.echo_short) \(.echo_none)"')
	ktap_diag "$name: ACKs by the records in their echo: $said"
	assert_eq "$name: of the ACKs with 0, 1, 2 and 3 SACK blocks there were some" "$rungs" 4 kinds
	assert_eq "$name: what was echoed is what was collected, or fits" "$wrong" 0 "others among $all"
	assert_eq "$name: ... the most loaded records" "$less" 0 "others among $short"
	assert_eq "$name: counted as echoed" "$echoed" "$all" ACKs
	assert_eq "$name: counted as short" "$echo_short" "$short" ACKs
	assert_eq "$name: counted as none" "$echo_none" "$none" ACKs
}

# Both ways, with loss: nothing is larger than MTU, and what can be is as large.
fits() # FAMILIES TIMESTAMPS RECORDS TSO
{
	local name="MTU $MTU, IPv${1/ / and v}, timestamps $2, $3 records, TSO $4"
	local family address most fine s=() i said ok=1

	segs_start "$s1" h1
	for family in $1; do
		address="addr${family}[r]"
		tcp_send "$h1" "$r" "${!address}" "-c hpccpp -n $bytes" \
			"-c hpccpp -n $bytes" || ok=0
	done
	segs_stop
	most=$(room "$2" 0)
	[[ $3 -ge $most ]] || most=$3
	read -r fine "s[1]" "s[2]" "s[3]" said < <(awk '
		$1 == "total" { bad += $3 + $4 + $5 }
		$1 == "seg" {
			if ($13 > longest) longest = $13
			if ($6 == "bad") bad += $12
			if ($3 != "data") next
			data += $12
			sack[$5] += $12
			if ($6 == "collect" && $7 == '"$most"') asked[$2] += $12
		}
		END {
			print (longest == '"$MTU"' && asked["in"] && asked["out"] && !bad) + 0,
				sack[1] + 0, sack[2] + 0, sack[3] + 0,
				"longest packet", longest ", " data, "segments, asking for '"$most"':",
				asked["in"] + 0, "and", asked["out"] + 0 ", fragments and the like:", bad + 0
		}' "$tmp/segs")
	for i in 1 2 3; do
		sacks[i]=$((sacks[i] + s[i]))
	done
	check "$name: intact, $said" [ "$ok$fine" = 11 ]
}

# Packets of many segments, one of which asks in a round trip, as the link is not loaded: the
# others are left alone, and have the MTU
between()
{
	local name="TSO, every rtt" longest full asked data bad

	ask_for 1 rtt
	segs_start "$s1" h1
	tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 2m"
	segs_stop
	read -r longest full asked data bad < <(awk '
		$1 == "total" { bad += $3 + $4 + $5 }
		$1 == "seg" && $3 == "data" {
			if ($13 > longest) longest = $13
			if ($6 == "none" && $13 == '"$MTU"') full += $12
			if ($6 == "collect") asked += $12
			data += $12
		}
		END { print longest, full + 0, asked + 0, data, bad + 0 }' "$tmp/segs")
	assert_eq "$name: longest packet; fragments and the like" "$longest $bad" "$MTU 0"
	assert_ge "$name: segments that ask" "$asked" $((data / 100)) "of $data"
	assert_le "$name: segments that ask" "$asked" $((data / 20)) "of $data"
	assert_ge "$name: without an option, some as long as the MTU" "$full" $((data / 2)) "of $data"
}

load_hpccpp || ktap_skip_all "no module tcp_hpccpp"
ktap_plan 56
sacks=(0 0 0 0)

start 1500
loss 4% 0%
for records in 1 2; do
	ladder 1 $records
done
for records in 1 2 3; do
	ladder 0 $records
done

# W is 100 packets of 1500 bytes then, and a packet has 6 of them as segments at most
set_timestamps 1
set_tso on
RTT_US=20000 loss 0% 0%
set_knob eta 30
between
set_knob eta 95

loss 3% 3%
bytes=100k
for records in 1 2 3; do
	ask_for $records
	for tso in off on; do
		set_tso $tso
		for ts in 1 0; do
			set_timestamps $ts
			fits "4 6" $ts $records $tso
		done
	done
done
assert_eq "MTU 1500: fragments" "$(fragments)" 0
end

RATE=400mbit
for mtu in 9000 1280; do
	start $mtu
	loss 3% 3%
	bytes=$((mtu * 80))
	[[ $mtu -ge 1500 ]] && families="4 6" || families=6
	ask_for 3
	for tso in off on; do
		set_tso $tso
		fits "$families" 1 3 $tso
	done
	assert_eq "MTU $mtu: fragments" "$(fragments)" 0
	end
done
for i in 1 2 3; do
	assert_ge "data segments with $i SACK blocks were among these" "${sacks[i]}" 1
done
ktap_finish
