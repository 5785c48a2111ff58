#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Inside the lab: long flows from N hosts to one, and what waits at the port they
# share. Run by bench.sh; writes $RESULTS/NAME.json.
#
#	h1 ---.
#	h2 --- s1 --- r1	all links alike; the queue is s1's towards r1
#	hN ---'
#
# The base RTT is that of a full packet and its ACK. What is measured is the second
# half of the run.
set -euo pipefail

[[ $# -eq 7 ]] || { echo "usage: long.sh NAME CC FLOWS GBIT RTT_US MTU N" >&2; exit 2; }
name=$1 cc=$2 flows=$3 gbit=$4 rtt=$5 mtu=$6 n=$7
lab=$HPCCPP_BIN
wire=$((mtu + 14))

# Four times a link's delay, twice a packet's and an ACK's time to go out.
delay=$(((rtt * 1000 - 2 * 8 * (wire + 66) / gbit) / 4))
((delay >= 0)) || { echo "$name: no such RTT at this rate" >&2; exit 2; }
# 2000 round trips, and 20 ms at least, for flows to settle and be counted.
end=$((rtt * 2000 * 1000))
((end >= 20000000)) || end=20000000

args=(rate "${gbit}g" delay_ns "$delay" mtu "$mtu" rto_min_us 5000)
case $cc in
dctcp)	# its authors' K: 65 packets per 10 Gbit/s
	args+=(ecn 1 mark $((65 * wire * gbit / 10))) ;;
hpccpp)	args+=(sysctl "net.hpccpp.flows=$n") ;;
esac
# A limit of all namespaces together, made for a machine that is one host.
sysctl -qw net.ipv4.tcp_mem="1000000 1000000 1000000"
insmod "$lab/link/sch_lablink.ko"
insmod "$HPCCPP_KO"
"$lab/testbed" up star "$flows" "${args[@]}"
if [[ $cc == hpccpp ]]; then
	"$HPCCPP" host add cgroup /sys/fs/cgroup
	id=0
	while read -r ns dev rate; do
		"$HPCCPP" port add dev "$dev" netns "$ns" rate "${rate}bit" queue virtual \
			id $((++id)) base-rtt "${rtt}us"
	done < <("$lab/testbed" ports all)
fi
# The kernel brings links up in batches, a second apart; virtual seconds are free.
sleep 3
# Not all at once: a start each 1.7 us.
for ((i = 1; i <= flows; i++)); do
	echo "$((i * 1700)) h$i r1 - $end $cc"
done >/tmp/flows
"$lab/tgen" -w $((end / 2)):$end -e $end -l /tmp/links /tmp/flows >/tmp/out

read -r ns bytes drops marks mean p99 max < <(
	awk -v port="p$((flows + 1))" '$2 == port { print $4, $8, $10, $12, $14, $18, $20 }' /tmp/links)
jain=$(awk '!/^#/ { s += $9; q += $9 * $9; n++ } END { printf "%.4f", s * s / q / n }' /tmp/out)
jq -n --arg cc "$cc" --arg kernel "$(uname -r)" --arg name "$name" --arg ko \
	"$(modinfo -F version "$HPCCPP_KO") $(sha256sum "$HPCCPP_KO" | cut -c1-12)" "{
		scenario: \"long\", name: \$name, cc: \$cc, flows: $flows, link_bps: ($gbit * 1e9),
		rtt_us: $rtt, mtu: $mtu, n: $n, seconds: ($end / 1e9), seed: 1,
		kernel: \$kernel, module: \$ko,
		bdp_packets: ($gbit * 1000 * $rtt / 8 / $wire),
		utilisation: ($bytes * 8 / $ns / $gbit),
		queue_mean_packets: ($mean / $wire), queue_p99_packets: ($p99 / $wire),
		queue_max_packets: ($max / $wire), drops: $drops, marks: $marks, jain: $jain
	}" >"$RESULTS/$name.json"
