#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What is wrong with a port is noticed: packets that do not come to its agent, a device
# that is another than the agent was told of, ids and rates that cannot be right, devices
# that have no link of their own. Each fault is put in, named by check, show and the samples
# for Prometheus, and gone from there when it is mended.
#
#	box: d0 (tbf 50M) === p0 peer	q0 (mq, two tbf) --- q1		t0: a tap
#
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

OFFLOADS=default
shopt -s extglob
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo "TAP version 13"
modprobe tun
[[ -e /dev/net/tun ]] || { mkdir -p /dev/net && mknod /dev/net/tun c 10 200; }
# shellcheck disable=SC2154 # set by setup_ns
{
setup_ns box peer
ip -n "$box" -batch - <<END
link set lo up
link add d0 type veth peer p0 netns $peer
link add q0 up numtxqueues 2 type veth peer q1 numrxqueues 2 numtxqueues 2
link add b0 type bond
link add v0 link d0 type vlan id 5
link add m0 link d0 type macvlan
link add x0 type vxlan id 3 dstport 4789 remote 10.8.0.2
link add w0 type wireguard
link add g0 type gre local 10.8.0.1 remote 10.8.0.2
tuntap add n0 mode tun
tuntap add t0 mode tap
addr add 10.8.0.1/24 dev d0
link set d0 up
link set q1 up
link set t0 up
END
ip -n "$peer" -batch - <<END
addr add 10.8.0.2/24 dev p0
link set p0 up
END
}
in_box() { nsenter --net="/run/netns/$box" "$@"; }
box_tc() { tc -n "$box" "$@"; }
port() { "$HPCCPP" port "$1" dev "$2" netns "$box" "${@:3}"; }	# COMMAND DEV OPTION...
shaped() { box_tc qdisc add dev d0 root handle 1: tbf rate 50mbit burst 3028 limit 512kb; }
two_shaped()
{
	box_tc -batch - <<-END
	qdisc add dev q0 root handle 1: mq
	qdisc add dev q0 parent 1:1 handle 11: tbf rate 10mbit burst 3028 limit 512kb
	qdisc add dev q0 parent 1:2 handle 12: tbf rate 10mbit burst 3028 limit 512kb
	END
}
shaped
two_shaped
mount | grep -q ' /sys/fs/cgroup type cgroup2' || mount -t cgroup2 none /sys/fs/cgroup

# --- What is said of a port ----------------------------------------------------

# look: leaves in $tmp what check finds, and show and the samples, of all ports at once: check
# takes its time
look()
{
	"$HPCCPP" -j check netns "$box" role switch >"$tmp/check" || true
	"$HPCCPP" port show netns "$box" >"$tmp/text"
	"$HPCCPP" -o prom port show netns "$box" >"$tmp/prom"
}
said() { jq -r --arg c "$1" '.[] | select(.check == $c and .status != "ok") | .found' "$tmp/check"; }
advice() { jq -r --arg c "$1" '.[] | select(.check == $c) | .advice' "$tmp/check"; } # CHECK
is() { check "$1: ${2:-nothing}" [ "$2" = "$3" ]; }	# NAME VALUE WANTED
like() # NAME VALUE PATTERN
{
	# shellcheck disable=SC2053 # a pattern
	if [[ $2 == $3 ]]; then ktap_ok "$1: $2"; else ktap_not_ok "$1: $2 ($3)"; fi
}
shown() # DEV: the first line "stale" that it has
{
	awk -v dev="$1" '/^[^ ]/ { on = $1 == dev } on && sub(/^ *stale: /, "") { print; exit }' "$tmp/text"
}
sample() { grep -c "^hpccpp_port_stale{.*dev=\"$1\".* 1$" "$tmp/prom" || true; }	# DEV
# stale DEV TEXT NAME: so in each
stale()
{
	is "$3: show" "$(shown "$1")" "$2"
	is "... check" "$(said "port $1")" "stale: $2"
	is "... to be mended by" "$(advice "port $1")" "hpccpp port change dev $1"
	assert_ge "... prom" "$(sample "$1")" 1
}
# fine DEV NAME: in none of them
fine() { is "$2" "$(shown "$1")$(said "port $1")$(sample "$1")" 0; }
anew() { port del "$1" && port add "$@"; }	# DEV OPTION...

# --- Devices ------------------------------------------------------------------------

# told STATUS PATTERN DEV OPTION...: port add ends so, and says so
told()
{
	local status=0 want=$1 pattern=$2
	shift 2
	port add "$@" 2>"$tmp/err" || status=$?
	like "port add $*: $status" "$status $(<"$tmp/err")" "$want $pattern"
	[[ $status -ne 0 ]] || port del "$1"
}
for dev in w0:wireguard g0:gre n0:tun; do
	told 2 "Error: packets of ${dev%:*} have no Ethernet header, which a port needs, as it is of kind ${dev#*:}: stamp the device that they leave by." "${dev%:*}" rate 1gbit
done
upper() { echo "Warning: $1 has no link of its own, as it is of kind $2: stamp $3 instead."; }
told 0 "$(upper b0 bond "its members")" b0 rate 1gbit
told 0 "$(upper v0 vlan d0)" v0 rate 1gbit
told 0 "$(upper m0 macvlan d0)" m0 rate 1gbit
told 0 "$(upper x0 vxlan "the device that its packets leave by")" x0 rate 1gbit
box_tc qdisc add dev v0 root tbf rate 10mbit burst 3028 limit 512kb
told 0 "" v0
told 0 "" d0

# --- What passes, by kind --------------------------------------------------------------

count() { "$HPCCPP" -j port show dev d0 netns "$box" | jq ".[0] | $1"; } # JQ
udp() { in_box bash -c "for ((i = 0; i < $2; i++)); do echo >/dev/udp/10.8.0.2/$1; done"; } # PORT N
arrived() { [[ $(count .stats.other) -gt 0 ]]; }
# an id of its own: the default, a hash, may be that of another here
options=(id 1 base-rtt 1ms accept 10.0.0.0/8 respond 398)
port add d0 "${options[@]}"
ip -n "$box" neigh flush dev d0
udp 9 20
udp 4789 30
assert_ge "packets that are not TCP" "$(count .stats.not_tcp)" 20
assert_eq "... in a tunnel" "$(count .stats.tunnel)" 30
check "... not IP" busywait 5 arrived
make_cgroup
"$HPCCPP" host add cgroup "$CGROUP" ask always
agents=host
tcp_send "$box" "$peer" 10.8.0.2 "-n 2000000"
stamped=$(count .stats.stamped)
assert_ge "segments are stamped" "$stamped" 1
assert_ge "segments of GSO packets" "$(count .stats.segments)" 1
# those of the moment between add and the first packet are not
assert_ge "all that is sent is seen" "$(count '.seen_packets - .sent_packets')" -10
idle() { count '.U == 0 and .qlen == 0 and .flows == 0 and .age > 1000000' | grep true; }
check "an idle port has no load" busywait 20 idle

# --- A device that is another ------------------------------------------------------------

port add q0 id 2
in_box ethtool -s t0 speed 1000
port add t0
box_tc qdisc change dev d0 root handle 1: tbf rate 20mbit burst 3028 limit 512kb
box_tc qdisc change dev q0 parent 1:2 handle 12: tbf rate 5mbit burst 3028 limit 512kb
in_box ethtool -s t0 speed 100
look
stale d0 "tbf is 20Mbit, stamped 50Mbit" "a shaper of another rate"
stale q0 "tbf is 5Mbit, stamped 10Mbit" "that of one of two queues"
stale t0 "ethtool is 100Mbit, stamped 1Gbit" "a link of another speed"

anew d0 "${options[@]}"
box_tc qdisc change dev q0 parent 1:2 handle 12: tbf rate 10mbit burst 3028 limit 512kb
in_box ethtool -s t0 speed 1000
in_box ethtool -L q0 tx 1
port add lo id 7 rate 100mbit
anew t0 id 7 rate 100mbit
look
fine d0 "... mended"
fine t0 "... mended"
stale q0 "the device sends by 1 queues, it had 2" "fewer queues"
like "two ports with one id" "$(said "id of lo")$(said "id of t0")" "7 is that of @(lo|t0), too"
is "a rate that the device does not have" "$(said "rate of t0")" "100Mbit, as given; the device has 1Gbit"

in_box ethtool -L q0 tx 2
box_tc qdisc del dev d0 root
port del lo
anew t0 accept 10.0.0.0/8
look
fine q0 "... mended"
is "... the id and the rate, too" "$(said "id of lo")$(said "id of t0")$(said "rate of t0")" ""
stale d0 "the qdisc is noqueue, it was tbf" "a shaper that is gone"
stamped() { count .stats.stamped; }
before=$(stamped)
tcp_send "$box" "$peer" 10.8.0.2 "-n 200000"
assert_eq "... nothing is stamped" "$(stamped)" "$before"
assert_ge "... and that is counted" "$(count .stats.stale)" 1

box_tc qdisc add dev d0 root netem rate 20mbit
box_tc qdisc replace dev q0 root handle 2: tbf rate 10mbit burst 3028 limit 512kb
look
stale d0 "the qdisc is netem, it was tbf" "another kind"
stale q0 "the qdisc is tbf, it was mq" "no mq"

port del q0
box_tc qdisc replace dev d0 root handle 1: tbf rate 20mbit burst 3028 limit 512kb
tcp_send "$box" "$peer" 10.8.0.2 "-n 200000"
assert_ge "... stamps go on" "$(stamped)" $((before + 1))
ip -n "$box" addr add 10.8.0.9/24 dev d0
ip -n "$box" addr del 10.8.0.1/24 dev d0
box_tc filter del dev t0 egress
look
stale d0 "responses come from 10.8.0.1, which d0 has no more" "an address that is gone"
is "a filter on egress that somebody removed" "$(said "port t0")" "its program on egress is gone, that on ingress is there"
is "... to be mended by" "$(advice "port t0")" "hpccpp port replace dev t0, or hpccpp port del dev t0 if there is to be none"
ip -n "$box" addr flush dev d0
ip -n "$box" addr add 10.8.0.1/24 dev d0
box_tc filter del dev t0 ingress

# --- Packets that do not come to the agent -------------------------------------------------

# For ever 2000 packets a second: udp, or raw DEV: frames that pass the qdiscs by
cat >"$tmp/past.c" <<'END'
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_ll link = { .sll_family = AF_PACKET };
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(9) };
	int raw = !strcmp(argv[1], "raw"), fd, one = 1;
	char frame[100] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5 };

	fd = raw ? socket(AF_PACKET, SOCK_RAW, 0) : socket(AF_INET, SOCK_DGRAM, 0);
	if (raw && setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return 1;
	link.sll_ifindex = raw ? if_nametoindex(argv[2]) : 0;
	peer.sin_addr.s_addr = inet_addr("10.8.0.2");
	for (;; usleep(500)) {
		if (raw)
			sendto(fd, frame, sizeof(frame), 0, (void *)&link, sizeof(link));
		else
			sendto(fd, frame, sizeof(frame), 0, (void *)&peer, sizeof(peer));
	}
}
END
gcc -Wall -o "$tmp/past" "$tmp/past.c"
sending() { in_ns_bg "$box" "$tmp/past" "$@"; sender=$!; }	# all the time, until done_sending
done_sending() { kill "$sender"; wait "$sender" 2>/dev/null || true; }
bypassed='bypassed: the device sent +([0-9]) packets, of which the agent saw +([0-9])'
# newer than the agent's, and so before it
verdict() { box_tc filter "$1" dev d0 egress pref 1 protocol all handle 0x99 bpf "${@:2}"; }	# add|del ...

sending udp
verdict add da obj "$HPCCPP_BIN/other.bpf.o" sec of/ends_chain
look
like "a verdict before the agent" "$(said "port d0")" "$bypassed"
is "... by whom" "$(advice "port d0")" "the bpf filter of preference 1 of d0 comes before the agent, and ends the chain: it has to return TC_ACT_UNSPEC, or to move behind preference 1"
is "both filters that somebody removed" "$(said "port t0")" \
	"there is a clsact without filters: another's, or of a port whose filter was removed"
is "... which may be as it should" "$(jq -r '.[] | select(.check == "port t0") | .status' "$tmp/check")" note
verdict del
verdict add da obj "$HPCCPP_BIN/other.bpf.o" sec of/bystander
box_tc qdisc del dev t0 clsact
look
fine d0 "... mended, as is a filter that goes on"
is "... and those that were removed" "$(said "port t0")" ""
verdict del
done_sending
sending raw d0
look
like "packets past the qdiscs" "$(said "port d0")" "$bypassed"
like "... by what" "$(advice "port d0")" "packets pass the qdiscs of d0 by: XDP, *"
done_sending
box_tc filter del dev d0 ingress
look
stale d0 "the program on ingress is gone" "... mended. A filter that somebody removed"
anew d0 "${options[@]}"
look
fine d0 "... mended"
port del d0
ktap_finish
