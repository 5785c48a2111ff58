#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Where the kernel has tcx, agents are on it: in front of all that is there, in the place of
# one that is replaced, told of where another comes before, and with no clsact.
#
#	netns box: t0 (fq) --- t1
#
# check: uml
# check-all: 6.12
# usual: 20
# shellcheck disable=SC2317,SC2154 # functions that check calls; set by setup_ns
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo "TAP version 13"
setup_ns box away
in_ns "$box" "$HPCCPP_BIN/tcx" show lo egress || ktap_skip_all "this kernel has no tcx"
ip -n "$box" link add t0 up type veth peer t1
ip -n "$box" link set t1 up
tc -n "$box" qdisc replace dev t0 root fq
ip -n "$box" addr add 10.9.0.1/24 dev t0
ip -n "$box" neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev t0
at_end() { umount "$tmp/pin"; }
mkdir -p "$tmp/pin"
mount -t bpf none "$tmp/pin"
pins=$tmp/pin/all
bpftool prog loadall "$HPCCPP_BIN/other.bpf.o" "$pins" type classifier

port() { "$HPCCPP" port "$1" dev t0 netns "$box" rate 1gbit "${@:2}"; }	# COMMAND OPTION...
del_port() { "$HPCCPP" port del dev t0 netns "$box"; }
cnp() { "$HPCCPP" cnp "$1" dev t0 netns "$box" "${@:2}"; }
tcx() { in_ns "$box" "$HPCCPP_BIN/tcx" "$1" t0 "${@:2}"; }	# COMMAND HOOK...
names() { programs "$box" t0 "$1" | cut -d' ' -f2 | paste -sd' '; }	# HOOK
seen() { "$HPCCPP" -j port show dev t0 netns "$box" | jq '.[0].seen_packets'; }
sent() # packets of which the port sees so many
{
	local before
	before=$(seen)
	in_ns "$box" bash -c 'for ((i = 0; i < 200; i++)); do echo >/dev/udp/10.9.0.2/9; done'
	echo $(($(seen) - before))
}
found() # CHECK KEY: of the port, by check
{
	"$HPCCPP" -j check netns "$box" role switch >"$tmp/check" 2>"$tmp/said" || true
	jq -e 'any(.[]; .check == "port agent loads")' "$tmp/check" >/dev/null || echo error
	jq -r ".[] | select(.check == \"$1\") | .$2" "$tmp/check"
}

# --- In front -----------------------------------------------------------------------

tcx first egress "$pins/ends_chain"
port add
assert_eq "a port comes before a program that ends the chain" "$(names egress)" "hpccpp_port ends_chain"
assert_ge "... and sees what leaves" "$(sent)" 200
check "... without a clsact" [ -z "$(tc -n "$box" qdisc show dev t0 clsact)" ]
tcx last egress "$pins/bystander"
port replace accept 10.0.0.0/8
assert_eq "one that is replaced keeps its place" "$(names egress)" "hpccpp_port ends_chain bystander"
assert_eq "... and does more: on ingress too" "$(names ingress)" "hpccpp_port_in"
port replace
check "... and less" [ -z "$(names ingress)" ]
tcx remove egress bystander

# --- Where another comes before ---------------------------------------------------------

tcx remove egress ends_chain
tcx first egress "$pins/ends_chain"
tcx first egress "$pins/bystander"
assert_eq "one that comes later may be before: the port sees nothing" "$(sent)" 0
in_ns_bg "$box" bash -c 'exec 9<> <(:); while ! read -rt .001 -u 9; do echo >/dev/udp/10.9.0.2/9; done'
sender=$!
check "... check says so" grep -q '^bypassed' <(found "port t0" found)
check "... and by whom" grep -q 'bystander (id .*), ends_chain (id .*TCX_NEXT.*port replace' <(found "port t0" advice)
kill $sender
wait $sender || true
port replace
assert_eq "replace puts it in front again" "$(names egress)" "hpccpp_port bystander ends_chain"
assert_ge "... where it sees what leaves" "$(sent)" 200
tcx remove egress ends_chain
tcx remove egress bystander
tcx first egress "$pins/bystander"
assert_ge "one that goes on may be before" "$(sent)" 200
del_port
assert_eq "another's program stays" "$(names egress)" bystander
tcx remove egress bystander

# --- Two agents, halves of one, and what a clsact would be in the way of ------------------

both="hpccpp_port hpccpp_cnp_out, hpccpp_port_in hpccpp_cnp_in"
order() # FIRST: which is added first
{
	[[ $1 == port ]] || cnp add accept ::/0 rate 1gbit
	port add accept 10.0.0.0/8
	[[ $1 == cnp ]] || cnp add accept ::/0 rate 1gbit
	assert_eq "$1 first: packets meet the port, then the cnp agent" "$(names egress), $(names ingress)" "$both"
	cnp replace accept fd00::/8 rate 1gbit
	assert_eq "... also when that is replaced" "$(names egress), $(names ingress)" "$both"
	del_port
	assert_eq "... and it stays without the port" "$(names egress)" hpccpp_cnp_out
	cnp del
}
if cnp add accept ::/0 rate 1gbit 2>"$tmp/said"; then
	cnp del
	order port
	order cnp
elif ! grep "cannot load the cnp agent" "$tmp/said"; then
	ktap_not_ok "a port and a cnp agent"
else
	ktap_skip "a port and a cnp agent" "this kernel does not load the cnp agent"
fi
check "nothing of these is left" [ -z "$(names egress)$(names ingress)" ]
port add accept 10.0.0.0/8
tcx remove egress hpccpp_port
check "without its program on egress a port is told of" grep -q 'egress is gone' <(found "port t0" found)
check "... and deleted" del_port
check "... wholly" [ -z "$(names ingress)" ]
port add
tcx last egress "$pins/hpccpp_port"
port replace
assert_eq "of two ports, as a command leaves them that is killed, replace takes one away" "$(names egress)" hpccpp_port
tcx last egress "$pins/hpccpp_port"
check "of two, as a command leaves them that is killed" del_port
check "... both are deleted" [ -z "$(names egress)" ]
tc -n "$box" qdisc add dev t0 ingress
check "beside a qdisc that excludes a clsact" port add
del_port
tc -n "$box" qdisc del dev t0 ingress
tc -n "$box" qdisc add dev t0 clsact
check "an empty clsact is no sign of a port" [ -z "$(found "port t0" found)" ]
tc -n "$box" qdisc del dev t0 clsact

# --- With the device ---------------------------------------------------------------------

port add id 7
ip -n "$box" link set t0 netns "$away"
assert_eq "a port goes with its device into another namespace" \
	"$("$HPCCPP" -j port show netns "$away" | jq -c 'map(.id)')" "[7]"
check "... where it is deleted" "$HPCCPP" port del dev t0 netns "$away"
ktap_finish
