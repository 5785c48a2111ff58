#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What else a host may use of TCP, beside hpccpp or on a flow of its: foreign
# sock_ops programs, a congestion control in eBPF, MPTCP, Fast Open, MD5, kTLS,
# sockmap, repair, users without privileges. Data arrives unharmed, and either there
# is telemetry, or the flow is Reno's and a counter of /proc/net/hpccpp says so.
# Routes and setsockopt() by anybody are in knobs.sh.
#
#	h1 eth0 --1G-- h1 | s1 | next --100M-- eth0 | r		(topo_line in lib.sh)
#
# check-all: 6.12
# check-long: 6.1
# usual: 90
# shellcheck disable=SC2317,SC2128,SC2154 # functions that check calls; of tcp_send; by name
set -euo pipefail

RATE=100mbit
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

counts() { nsenter --net="/run/netns/$h1" cat /proc/net/hpccpp; }
# counted NAME: since the last transfer of "beside" began
counted() { echo $(($(counter "$h1" "$1") - $(awk -v name="$1" '$1 == name { print $2 }' "$tmp/before"))); }

# beside NAME CLIENT-OPTIONS [SERVER-OPTIONS]: a transfer to $to
beside()
{
	counts >"$tmp/before"
	name=$1
	sent_intact "$name" "$h1" "$r" "$to" "-c hpccpp -n 2m $2" "${3-}"
	ktap_diag "$name: $(join -j 1 <(sort "$tmp/before") <(counts | sort) |
		awk '$3 > $2 { printf "%s %d ", $1, $3 - $2 }')"
}
with_telemetry() # LEAST
{
	assert_ge "$name: telemetry used" "$(counted updates)" "$1"
	assert_eq "$name: fallbacks" "$(counted fallback)" 0
}
without_telemetry() # what has hpccpp's place since STOOD_IN were counted
{
	assert_eq "$name: telemetry used" "$(counted updates)" 0
	assert_ge "$name: it is counted, stood_in" $(($(host_stat "$h1" stood_in) - $1)) 1
}

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
topo_line 1 1
to=${addr4[r]}
# a MD5 key takes the place of timestamps; a Fast Open cookie is asked for once
nsenter --net="/run/netns/$h1" sysctl -qw net.ipv4.tcp_fastopen=3
nsenter --net="/run/netns/$r" sysctl -qw net.ipv4.tcp_fastopen=3
ports_on
host_on "$h1" every 1
host_on "$r"

beside nothing ""
with_telemetry 100

# --- Programs of others --------------------------------------------------------

foreign=/sys/fs/bpf/foreign
bpftool prog load "$HPCCPP_BIN/foreign.bpf.o" "$foreign" type sockops
foreign_on() { bpftool cgroup attach "$1" sock_ops pinned "$foreign" multi; } # CGROUP
foreign_off() { bpftool cgroup detach "$1" sock_ops pinned "$foreign"; }
own=${cgroup_of[$h1]}

foreign_on "$own"
beside "a foreign sock_ops program behind the agent in its cgroup" ""
with_telemetry 100
host_off "$h1"
host_on "$h1" every 1
beside "... before the agent" ""
with_telemetry 100
check "it stays where the agent is deleted and added" foreign_off "$own"

mkdir "$own/child"
foreign_on "$own/child"
cgroup_of[$h1]=$own/child
beside "... in a child cgroup" ""
with_telemetry 100
cgroup_of[$h1]=$own
foreign_off "$own/child"
busywait 5 rmdir "$own/child"
rm "$foreign"

flow_start
rises "$h1" updates 1
bpftool struct_ops register "$HPCCPP_BIN/bpf_cc.bpf.o" >"$tmp/said" 2>&1 || ktap_diag "$(<"$tmp/said")"
beside "a congestion control in eBPF on another flow" "" "-c bpf_cc -n 1m"
with_telemetry 100
kill "$sender"
good=0
wait "$sender" || good=1
wait "$receiver" || good=1
check "... while one under hpccpp goes on: data intact" [ "$good" -eq 0 ]
beside "changed to one in eBPF and back 50 times" "-n 3m -w bpf_cc:50"
assert_ge "$name: under telemetry again" "$(counted enter)" 20
bpftool -j struct_ops show | jq -r '.[].id' | while read -r id; do
	bpftool struct_ops unregister id "$id" >/dev/null
done

# --- TCP's own -----------------------------------------------------------------

modprobe tls
# Each row: what is used; options of xfer at either end. Over one family in turn, with LONG=1
# over both
rows=0
while IFS=';' read -r what client_options server_options; do
	families=(4 6)
	[[ -n ${LONG-} ]] || families=("${families[rows++ % 2]}")
	for family in "${families[@]}"; do
		declare -n addresses=addr$family
		to=${addresses[r]}
		stood_in=$(host_stat "$h1" stood_in)
		active=$(snmp "$h1" TcpExtTCPFastOpenActive)
		# the first connection gets the cookie
		[[ $what != "TCP Fast Open" ]] || tcp_send "$h1" "$r" "$to" "-c hpccpp -n 10k -o tfo" "-o tfo"
		beside "$what, IPv$family" "$client_options" "$server_options"
		case $what in
		MPTCP)		without_telemetry "$stood_in"
				continue ;;
		"TCP Fast Open") assert_ge "$name: data in SYNs" $(($(snmp "$h1" TcpExtTCPFastOpenActive) - active)) 1 ;;
		TCP_REPAIR)	assert_eq "$name: under telemetry before and after" "$(counted enter)" 2 ;;
		esac
		with_telemetry 100
	done
done <<'END'
MPTCP;-o mptcp;-o mptcp
TCP Fast Open;-o tfo;-o tfo
TCP MD5;-o md5;-o md5
kTLS;-o tls;-o tls
sockmap;-o sockmap;-o sockmap
TCP_REPAIR;-o repair;
END

# --- Users ---------------------------------------------------------------------

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
refused() { ! "$@" >/dev/null 2>&1; } # COMMAND...
check "nobody cannot set a knob" refused in_ns "$h1" "${nobody[@]}" sh -c 'echo 50 >/proc/sys/net/hpccpp/eta'
userns=("${nobody[@]}" unshare -Ur)
eta() { in_ns "$h1" cat /proc/sys/net/hpccpp/eta; }
check "root of a user namespace cannot set a knob of its parent's network" \
	refused in_ns "$h1" "${userns[@]}" sh -c 'echo 50 >/proc/sys/net/hpccpp/eta'
check "... nor add an agent there" refused in_ns "$h1" "${userns[@]}" "$HPCCPP" port add dev eth0
assert_eq "... and nothing has changed: eta" "$(eta)" 0
own_net=("${userns[@]}" -n)
check "... nor set one of a network of its own" refused in_ns "$h1" "${own_net[@]}" sh -c 'echo 50 >/proc/sys/net/hpccpp/eta'
check "... chooses hpccpp there" in_ns "$h1" "${own_net[@]}" \
	sysctl -qw net.ipv4.tcp_congestion_control=hpccpp
check "... adds no agent there" refused in_ns "$h1" "${own_net[@]}" "$HPCCPP" port add dev lo rate 1gbit
assert_eq "... and nothing has changed outside: eta" "$(eta)" 0
ktap_finish
