#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Records and hops: an option has room for one to three records, a path has one to eight hops. An
# option names all links in order where they fit, else the most loaded ones. net/changes.sh moves
# the bottleneck of a flow.
#
#	h1 --- s1 400 s2 250 s3 800 s4 300 s5 200 s6 600 s7 350 s8 500 --- r
#
# Mbit/s; the first so many of the switches have an agent.
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that busywait calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

speeds=(- 400 250 800 300 200 600 350 500)

rate() # SWITCH MBIT
{
	tc -n "${!1}" qdisc replace dev next root handle 1: \
		tbf rate "$2mbit" burst $((2 * (MTU + 14))) limit "$BUFFER"
}

port() # SWITCH: number N of it gives link 10 N
{
	port_on "${!1}" next id $((10 * ${1#s}))
}

# What should be in so many records after so many switches: "10,20"
expected() # HOPS RECORDS
{
	local i
	for ((i = 1; i <= $1; i++)); do
		echo "${speeds[i]} $((10 * i))"
	done | sort -n | head -n "$2" | cut -d' ' -f2 | sort -n | paste -sd,
}

path() # HOPS RECORDS FAMILY
{
	local hops=$1 records=$2 address="addr$3[r]" want in_order=1 count links right all
	local name="$1 hops, $2 records, IPv$3"

	want=$(expected "$hops" "$records")
	[[ $hops -le $records ]] || in_order=0
	# Three records fit where there are no timestamps.
	nsenter --net="/run/netns/$h1" sysctl -qw net.ipv4.tcp_timestamps=$((records < 3))
	capture_start "$r" eth0
	CGROUP=${cgroup_of[want$records]} \
		tcp_send "$h1" "$r" "${!address}" "-c hpccpp -n 150k"
	capture_stop
	right=0 all=0
	while read -r count links; do
		[[ $in_order -eq 1 ]] || links=$(tr , '\n' <<<"$links" | sort -n | paste -sd,)
		all=$((all + count))
		[[ $links != "$want" ]] || right=$((right + count))
	done < <(segs_awk 'kind == "data" && opt == "collect" { seen[links]++ }
		END { for (links in seen) print seen[links], links }')
	[[ $all -gt 0 ]] || all=1	# that no segment was seen is wrong, too
	if [[ $in_order -eq 1 ]]; then
		assert_eq "$name: of $all segments name $want in order" "$right" "$all"
	else
		assert_ge "$name: of $all segments name the most loaded, $want" "$right" $((all * 9 / 10))
	fi
}

load_hpccpp || ktap_skip_all "no module tcp_hpccpp"
ktap_plan "$(how_often 12 24)"
topo_line 1 8
for records in 1 2 3; do
	host_on want$records records $records every 1
done
host_on "$r"
for i in 1 2 3 4 5 6 7 8; do
	rate s$i "${speeds[i]}"
	port s$i
	# a path with fewer, as many and more than there is room for; LONG=1: all of them
	[[ -n ${LONG-} || " 1 2 5 8 " == *" $i "* ]] || continue
	for records in 1 2 3; do
		path $i $records $((i % 2 ? 4 : 6))
	done
done
ktap_finish
