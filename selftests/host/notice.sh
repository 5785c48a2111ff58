#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Faults of ports are reported: packets that bypass the agent, a device that has changed since its
# port was added, two ports with one id, a rate that the device does not have. check, show and the
# samples for Prometheus name each fault, and do not when it is fixed. Devices without Ethernet or a
# link of their own, and further changes, are tested in selftests/unit/device_test.c. advice.sh
# executes what check advises.
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
	assert_ge "... prom" "$(sample "$1")" 1
}
# fine DEV NAME: in none of them
fine() { is "$2" "$(shown "$1")$(said "port $1")$(sample "$1")" 0; }
anew() { port del "$1" && port add "$@"; }	# DEV OPTION...

# --- A port that is up to date ---------------------------------------------------------

count() { "$HPCCPP" -j port show dev d0 netns "$box" | jq ".[0] | $1"; } # JQ
# an id of its own: the default, a hash, may be that of another here
options=(id 1 base-rtt 1ms accept 10.0.0.0/8 respond 398)
port add d0 "${options[@]}"
make_cgroup
"$HPCCPP" host add cgroup "$CGROUP" ask always
agents=host
tcp_send "$box" "$peer" 10.8.0.2 "-n 2000000"
stamped=$(count .stats.stamped)
assert_ge "segments are stamped" "$stamped" 1
assert_ge "segments of GSO packets" "$(count .stats.segments)" 1
# those of the moment between add and the first packet are not
assert_ge "all that is sent is seen" "$(count '.seen_packets - .sent_packets')" -10

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
ip -n "$box" addr flush dev d0
ip -n "$box" addr add 10.8.0.1/24 dev d0
box_tc filter del dev t0 ingress

# --- Packets that do not come to the agent -------------------------------------------------

# Sends about 1000 packets a second for ever
cat >"$tmp/past.py" <<'END'
import socket
import time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('10.8.0.2', 9))
while True:
    try:
        s.send(bytes(100))
    except OSError:             # no such port
        pass
    time.sleep(.0005)
END
bypassed='bypassed: the device sent +([0-9]) packets, of which the agent saw +([0-9])'
# newer than the agent's, and so before it
verdict() { box_tc filter "$1" dev d0 egress pref 1 protocol all handle 0x99 bpf "${@:2}"; }	# add|del ...

in_ns_bg "$box" python3 "$tmp/past.py"
sender=$!
verdict add da obj "$HPCCPP_BIN/other.bpf.o" sec of/ends_chain
look
like "a verdict before the agent" "$(said "port d0")" "$bypassed"
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
kill "$sender"
wait "$sender" 2>/dev/null || true
box_tc filter del dev d0 ingress
look
stale d0 "the program on ingress is gone" "a filter that somebody removed"
anew d0 "${options[@]}"
look
fine d0 "... mended"
port del d0
ktap_finish
