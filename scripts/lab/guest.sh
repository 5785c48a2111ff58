#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Inside the lab: makes one run of a scenario. DIR holds only what guest.py wrote:
#
#	guest.sh DIR [PROGRAM]
#
#	script		variables, and calls of the functions below
#	traffic		the connections, a line each, for tgen
#
# PROGRAM, if there is one, runs in DIR at the end. The run leaves in DIR:
#
#	port		"NETNS DEV" of the bottleneck, as in /proc/lablink
#	flows		tgen's line of each connection
#	ways		the ports on each flow's path, of generated flows (testbed ways)
#	links		/proc/lablink, of the measured time
#	netns		"INODE NAME" of each network namespace
#	queue		each change of the bottleneck's queue
#	rates		"ns flow bytes": what each connection has received
#	updates		each hpccpp:hpccpp_update, with its time
#	zero		the clock's time at time 0 of the run, ns
#	real		a host's address and the ids of the links that limit its flows
#	counters	/proc/net/hpccpp of some hosts
set -euo pipefail

# The script sets these.
cc='' other='' own_ko='' records='' every='' mode='' key='' with_agent='' respond='' overhead='' base_rtt='' updates=''

# network ARGUMENT...: loads the modules and makes the hosts and links; arguments are testbed's.
network()
{
	local congctl known=/proc/sys/net/ipv4/tcp_available_congestion_control
	# A limit of all namespaces together, made for a machine that is one host.
	sysctl -qw net.ipv4.tcp_mem="4000000 4000000 4000000" fs.file-max=4000000 fs.nr_open=2000000
	insmod "$HPCCPP_LAB/link/sch_lablink.ko"
	insmod "$HPCCPP_KO"
	[[ -z $own_ko ]] || insmod "$own_ko"
	for congctl in "$cc" "$other"; do
		[[ $congctl =~ ^(none|bare|marks)$ ]] || grep -qw -- "$congctl" $known || {
			echo "this kernel has no congestion control '$congctl' (it has: $(<$known))" >&2
			exit 2
		}
	done
	"$HPCCPP_LAB/testbed" up "$@"
}

# agents SKIP: adds a host agent for all hosts, and a port agent at each port, but not where
# "NETNS DEV" matches SKIP. If $with_agent is a number, only that percentage of the ports has one. A
# port's link id is its line in "testbed ports all". With $respond, switches send INT responses,
# each from an address of its own. If $with_agent is "edges", switches have none, and hosts have one
# on either hook.
agents()
{
	local args=() id=0 ns dev rate port percent edge=2048
	[[ -z $records ]] || args+=(records "$records")
	args+=(every "$every")
	[[ $mode == sender ]] || args+=(mode "$mode")
	if [[ $key == 1 ]]; then
		( umask 077; echo 000102030405060708090a0b0c0d0e0f >/tmp/key )
		args+=(key-file /tmp/key require)
	fi
	"$HPCCPP" host add cgroup /sys/fs/cgroup "${args[@]}"
	while read -r ns dev rate; do
		: $((++id))
		[[ -z $1 || ! "$ns $dev" =~ $1 ]] || continue
		port=(netns "$ns" rate "${rate}bit" overhead "$overhead" base-rtt "$base_rtt")
		if [[ $with_agent == edges* ]]; then
			percent=${with_agent#edges}
			[[ $ns == [hr]* ]] || continue
			((id * 37 % 100 < ${percent:-100})) || continue
			"$HPCCPP" port add dev "$dev" edge queue virtual id "$edge" "${port[@]}"
			"$HPCCPP" port add dev "$dev" ingress id "$((edge + 1))" "${port[@]}"
			((edge += 2))
			continue
		fi
		[[ ! $with_agent =~ ^[0-9]+$ ]] || ((id * 37 % 100 < with_agent)) || continue
		if [[ $respond != 0 && $ns == [hr]* ]]; then
			port+=(accept 192.168.0.0/16)
		elif [[ $respond != 0 ]]; then
			ip -n "$ns" addr add "192.168.$((id / 256)).$((id % 256))/32" dev "$dev"
			port+=(respond "$respond" respond-to "$mode" limit 1000000)
		fi
		"$HPCCPP" port add dev "$dev" queue virtual id "$id" "${port[@]}"
	done < <("$HPCCPP_LAB/testbed" ports all)
}

inside() { nsenter --net="/run/netns/$1" "${@:2}"; } # NETNS COMMAND...

address() { inside "$1" ip -4 -o addr show scope global | sed -E 's/.* inet ([0-9.]+).*/\1/'; } # HOST

# port NETNS DEV: names the bottleneck.
port() { echo "$(stat -Lc %i "/run/netns/$1") $2" >port; }

# real HOST NETNS DEV...: names the links that limit HOST's flows.
real()
{
	local ids
	ids=$("$HPCCPP_LAB/testbed" ports all | awk -v ports="${*:2}" '
		BEGIN { n = split(ports, p, " "); for (i = 1; i < n; i += 2) is[p[i], p[i + 1]] = 1 }
		($1, $2) in is { printf " %d", NR }')
	echo "$(address "$1")$ids" >>real
}

# forge HOST U-AND-QUEUE TX_BYTES: s1 changes the ACKs to HOST: U and the queue of a record,
# and the bytes sent. The record follows timestamps or the other options of a SYN-ACK.
forge()
{
	local at to
	to=$(address "$1")
	inside s1 nft "add table inet box; add chain inet box forward { type filter hook forward priority 0; }"
	for at in 256 320; do
		inside s1 nft "add rule inet box forward ip daddr $to" \
			"@th,$((at + 16)),16 { 0x4845, 0x4854 }" \
			"@th,$((at + 56)),8 set $2 @th,$((at + 88)),8 set $2 @th,$((at + 120)),8 set $2" \
			"@th,$((at + 96)),24 set $3"
	done
}

# routes PACKETS: flows of all hosts begin with that many packets.
routes()
{
	local ns route
	for ns in $(ip netns list | sed -n 's/^\(h[0-9]*\).*/\1/p'); do
		route=$(ip -n "$ns" -4 route show default)
		# shellcheck disable=SC2086 # words of a route
		ip -n "$ns" route change $route initcwnd "$1" initrwnd "$((2 * $1))"
	done
}

# traffic OPTION...: makes the connections in "traffic"; options are tgen's.
traffic()
{
	local trace=/sys/kernel/tracing event=events/hpccpp/hpccpp_update/enable
	if [[ $updates == 1 ]]; then
		echo 600000 >$trace/buffer_size_kb
		echo mono >$trace/trace_clock
		echo 1 >$trace/$event
	fi
	# If cat was searched for after the run, the time in /proc/lablink would depend on the PATH.
	hash cat
	"$HPCCPP_LAB/tgen" -l links -z zero "$@" traffic >flows
	if [[ $updates == 1 ]]; then
		echo 0 >$trace/$event
		sed -n -E 's/^.* ([0-9]+\.[0-9]+): hpccpp_update: /time=\1 /p' $trace/trace >updates
	fi
	[[ -e links ]] || cat /proc/lablink >links
	cat /proc/lablink_trace >queue
	[[ -s queue ]] || rm queue
	(cd /run/netns && stat -Lc "%i %n" -- *) >netns
}

# generated OPTION...: the same where "traffic" has generators.
generated()
{
	"$HPCCPP_LAB/testbed" paths >/tmp/paths
	traffic "$@" -p /tmp/paths
	# shellcheck disable=SC2094 # "ways" is also a command of testbed
	"$HPCCPP_LAB/testbed" ways <flows >ways
}

# counters HOST...: keeps what the module counted there.
counters()
{
	local host
	for host; do
		inside "$host" cat /proc/net/hpccpp
	done >counters
}

[[ $# -ge 1 && $# -le 2 ]] || { echo "usage: guest.sh DIR [PROGRAM]" >&2; exit 2; }
cd "$1"
# shellcheck source=/dev/null
. ./script
[[ $# -eq 1 ]] || "$2"
