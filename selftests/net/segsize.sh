#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What fits into a segment: no packet exceeds the MTU, whatever stands in the TCP header, and an
# echo has as many records as fit.
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
		offloads "$ns" eth0 tso "$1" gso "$1"
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

# The loss of a SYN, as of the first data, is what a path that drops the option looks like: the agent
# asks this peer for nothing then.
suspected() { "$HPCCPP" -j host show cgroup "$CGROUP" | jq '.[0].stats.suspected'; }

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

# One way, with loss: an ACK's echo has as many records as fit beside its SACK blocks. Which records
# these are is tested in selftests/unit/host_test_echo.h.
ladder() # TIMESTAMPS RECORDS
{
	local name="timestamps $1, $2 records" want='' got try s fit

	for s in 0 1 2 3; do
		fit=$(room "$1" $s)
		want+=" $((fit < $2 ? fit : $2))"
	done
	set_timestamps "$1"
	# which losses there are is chance: again when no three were apart, or the path was suspected
	for ((try = 0; try < 8; try++)); do
		ask_for "$2"
		capture_start "$r" eth0
		tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 2m"
		capture_stop
		got=$(segs_awk '
			dir == "out" && kind == "ack" {
				acks[sack]++
				if (most[sack] < n) most[sack] = n
			}
			END {
				for (s = 0; s < 4; s++)
					printf " %s", acks[s] ? most[s] + 0 : "-"
			}')
		[[ $got == *-* || $(suspected) != 0 ]] || break
	done
	assert_eq "$name: most records in echoes beside 0, 1, 2 and 3 SACK blocks" "$got" "$want"
}

# Both ways, with loss: nothing is larger than MTU, and what can be is as large.
fits() # FAMILIES TIMESTAMPS RECORDS TSO
{
	local name="MTU $MTU, IPv${1/ / and v}, timestamps $2, $3 records, TSO $4"
	local family address most fine s=() i said ok=1 before=-1

	while [[ $(suspected) != "$before" ]]; do
		before=$(suspected)
		"$HPCCPP" host flush cgroup "$CGROUP"
		capture_start "$s1" h1
		for family in $1; do
			address="addr${family}[r]"
			tcp_send "$h1" "$r" "${!address}" "-c hpccpp -n $bytes" \
				"-c hpccpp -n $bytes" || ok=0
		done
		capture_stop
	done
	most=$(room "$2" 0)
	[[ $3 -ge $most ]] || most=$3
	read -r fine "s[1]" "s[2]" "s[3]" said < <(segs_awk '
		{ if (len > longest) longest = len }
		opt == "bad" { bad++ }
		kind == "data" { data++; blocks[sack]++ }
		kind == "data" && opt == "collect" && n == '"$most"' { asked[dir]++ }
		END {
			bad += '"$(grep -c '^-' "$tmp/segments")"'
			print (longest == '"$MTU"' && asked["in"] && asked["out"] && !bad) + 0,
				blocks[1] + 0, blocks[2] + 0, blocks[3] + 0,
				"longest packet", longest ", " data, "segments, asking for '"$most"':",
				asked["in"] + 0, "and", asked["out"] + 0 ", fragments and the like:", bad + 0
		}')
	for i in 1 2 3; do
		sacks[i]=$((sacks[i] + s[i]))
	done
	check "$name: intact, $said" [ "$ok$fine" = 11 ]
}

# Packets of many segments, one of which requests telemetry in a round trip: most of the others have
# no option, and some of these the length of the MTU.
between()
{
	local name="TSO, every rtt" longest none full data bad

	ask_for 1 rtt
	capture_start "$s1" h1
	tcp_send "$h1" "$r" "${addr4[r]}" "-c hpccpp -n 2m"
	capture_stop
	read -r longest none full data < <(segs_awk '
		{ if (len > longest) longest = len }
		kind == "data" { data++ }
		kind == "data" && opt == "none" { none++; full += len == '"$MTU"' }
		END { print longest, none + 0, full + 0, data }')
	bad=$(grep -c '^-' "$tmp/segments" || true)
	assert_eq "$name: longest packet; fragments and the like" "$longest $bad" "$MTU 0"
	assert_ge "$name: segments without an option" "$none" $((data / 2)) "of $data"
	assert_ge "$name: ... as long as the MTU" "$full" 20
}

load_hpccpp || ktap_skip_all "no module tcp_hpccpp"
echo TAP version 13
sacks=(0 0 0 0)

start 1500
loss 4% 0%
ladder 1 2
ladder 0 3

# W is 100 packets of 1500 bytes then, and a packet has 6 of them as segments at most
set_timestamps 1
set_tso on
RTT_US=20000 loss 0% 0%
set_knob eta 30
between
set_knob eta 0

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
