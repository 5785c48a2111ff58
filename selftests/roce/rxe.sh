# SPDX-License-Identifier: GPL-2.0
# The tests with RoCEv2 traffic source this after lib.sh, in the VM. It sets up two hosts
# of the kernel's own rxe, with two switches between them.
#
# rxe works in the machine's own network namespace only. So both hosts are there, each with
# a device and an address, and rules send packets for the other host out to the switches:
# all packets cross these as between two machines, in one virtual time.
#
#	ha ==200M== s1 ---- s2 next ==100M== hb
#	                    Fast CNP: fd00:5::2
# shellcheck shell=bash disable=SC2034,SC2154 # used there; set by name in lib.sh

# This changes rules of the machine's own namespace, so it runs only in the VM.
[[ ${PLACE-} == vm ]] || ktap_skip_all "rxe is in the machine's own network namespace only"
modprobe rdma_rxe 2>/dev/null || ktap_skip_all "this kernel has no rdma_rxe"

a=fd00:a::1 b=fd00:b::1
RTT_US=1300		# netem at hb and s2, and the time of a packet on the links
FULL_US=36700		# the full queue of 448 KB adds so much

# --- Topology ------------------------------------------------------------------------

was=$(sysctl net.ipv6.conf.{all,default}.accept_dad net.ipv6.conf.all.forwarding)
at_end()
{
	local dev
	for dev in ha hb; do
		rdma link del rxe_$dev
		ip link del $dev
	done
	ip -6 -batch - <<-END
		rule add pref 0 lookup local
		rule del pref 20
		rule del pref 10
		rule del pref 10
	END
	sysctl -q -p - <<<"$was"
}
sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
setup_ns s1 s2
ip -6 -batch - <<END
link add ha address 02:00:00:00:00:0a type veth peer name ha netns $s1
link add hb address 02:00:00:00:00:0b type veth peer name next netns $s2
link set ha up
link set hb up
link set lo up
addr add $a/64 dev ha nodad
addr add $b/64 dev hb nodad
route add $b via fd00:a::ff dev ha table 100
rule add pref 10 iif lo to $b lookup 100
rule add pref 20 lookup local
rule del pref 0
END
ip -6 route add $a via fd00:b::ff dev hb table 101
ip -6 rule add pref 10 iif lo to $a lookup 101
ip -6 -n "$s1" -batch - <<END
link add next type veth peer name prev netns $s2
link set lo up
link set ha up
link set next up
addr add fd00:a::ff/64 dev ha nodad
addr add fd00:c::1/64 dev next nodad
route add fd00:5::2 via fd00:c::2
END
ip -6 -n "$s2" -batch - <<END
link set lo up
link set prev up
link set next up
addr add fd00:5::2/128 dev lo
addr add fd00:c::2/64 dev prev nodad
addr add fd00:b::ff/64 dev next nodad
route add fd00:a::/64 via fd00:c::1
END
ip -n "$s1" -6 route add fd00:b::/64 via fd00:c::2
for ns in "$s1" "$s2"; do
	nsenter --net="/run/netns/$ns" sysctl -qw net.ipv6.conf.all.forwarding=1
done
for dev in ha hb; do
	ethtool -K $dev tso off gso off gro off
	rdma link add rxe_$dev type rxe netdev $dev
done
tc qdisc add dev ha root handle 1: tbf rate 200mbit burst 3000 limit 10mb
tc qdisc add dev ha parent 1:1 fq
tc qdisc add dev hb root handle 1: netem delay 1ms limit 100000
tc -n "$s2" qdisc add dev prev root netem delay 0.1ms limit 100000
tc -n "$s2" qdisc add dev next root tbf rate 100mbit burst 3000 limit 448kb
bottleneck_ns=$s2

gid() # DEV: index of its address that is not link-local
{
	awk '/^fd00:/ { print FILENAME }' "/sys/class/infiniband/rxe_$1/ports/1/gids/"[0-3] | sed 's/.*\///'
}

# --- Traffic, and how the agent sees it -----------------------------------------------

cnp() { "$HPCCPP" -j cnp show dev ha | jq -r ".[0] | $1"; }		# JQ
cnp_is() { "$HPCCPP" -j cnp show dev ha | jq -e ".[0] | $1"; }		# JQ-CONDITION
stat() { cnp ".stats.$1"; }						# NAME

perftest() # TOOL OPTION...: sets goodput, bit/s
{
	local server options=(-m 1024 -F -u 14 "${@:2}")
	run_bg "$1" -d rxe_hb -x "$(gid hb)" "${options[@]}" >"$tmp/perf.server" 2>&1
	server=$!
	busywait 10 listening_here 18515
	if ! "$1" -d rxe_ha -x "$(gid ha)" "${options[@]}" 127.0.0.1 >"$tmp/perf" 2>&1 || ! wait $server; then
		ktap_diag "$1 failed: $(tail -n 5 "$tmp/perf") at the other end: $(tail -n 5 "$tmp/perf.server")"
		return 1
	fi
	goodput=$(awk '/^ #bytes/ { getline; printf "%.0f", $4 * 1048576 * 8 }' "$tmp/perf")
}
listening_here() { [[ -n $(ss -Hltn "sport = :$1") ]]; }
