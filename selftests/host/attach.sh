#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Agents among other eBPF programs of a device: in front of one that ends the chain, in the
# place of an agent that is replaced, with another agent, and without half of themselves. By
# tcx, or where the kernel has none as filters of a clsact, which goes if an agent made it.
#
#	netns box: t0 (fq) --- t1
#
# check: 6.1 uml
# check-all: 6.12 7.3
# usual: 80
# shellcheck disable=SC2317,SC2154 # functions that check calls; set by setup_ns
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo "TAP version 13"
setup_ns box away
ip -n "$box" link add t0 up type veth peer t1
ip -n "$box" link set t1 up
tc -n "$box" qdisc replace dev t0 root fq
ip -n "$box" addr add 10.9.0.1/24 dev t0
ip -n "$box" neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev t0

port() { "$HPCCPP" port "$1" dev t0 netns "$box" rate 1gbit "${@:2}"; }	# COMMAND OPTION...
del_port() { "$HPCCPP" port del dev t0 netns "$box"; }
cnp() { "$HPCCPP" cnp "$1" dev t0 netns "$box" rate 1gbit "${@:2}"; }
del_cnp() { "$HPCCPP" cnp del dev t0 netns "$box"; }
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
clsact() { tc -n "$box" qdisc show dev t0 clsact | grep -q .; }
none_left() { [[ -z $(names egress)$(names ingress) ]] && ! clsact; }
refused() { ! "$@" 2>"$tmp/said"; }	# COMMAND...
why() { check "... as \"$1\"" grep -qF "$1" "$tmp/said"; }
make() { tc -n "$box" qdisc add dev t0 clsact; }
bare() { tc -n "$box" qdisc del dev t0 clsact; }
tcx() { in_ns "$box" "$HPCCPP_BIN/tcx" "$1" t0 "${@:2}"; }	# COMMAND HOOK...
filter() # HOOK PROGRAM [PREFERENCE [HANDLE]]
{
	tc -n "$box" filter replace dev t0 "$1" pref "${3-1}" protocol all handle "${4-0x4850}" \
		bpf da obj "$HPCCPP_BIN/other.bpf.o" sec "of/$2"
}
has_tcx=
if in_ns "$box" "$HPCCPP_BIN/tcx" show lo egress; then
	has_tcx=1
	at_end() { umount "$tmp/pin"; }
	mkdir -p "$tmp/pin"
	mount -t bpf none "$tmp/pin"
	pins=$tmp/pin/all
	bpftool prog loadall "$HPCCPP_BIN/other.bpf.o" "$pins" type classifier
fi
cut_port() # HOOK: takes the port's program away there
{
	local name=hpccpp_port
	[[ $1 == egress ]] || name=hpccpp_port_in
	if [[ -n $has_tcx ]]; then
		tcx remove "$1" $name
	else
		tc -n "$box" filter del dev t0 "$1" pref 1
	fi
}

# --- In front of a program that ends the chain --------------------------------------------

# in_front COMMAND...: the port beside a program that this command adds
in_front()
{
	"$@"
	port add
	assert_ge "${*:2}: the port sees packets" "$(sent)" 200
	if [[ -z $has_tcx ]]; then
		"$@"
		assert_ge "... also when that is replaced" "$(sent)" 200
	fi
	port replace
	assert_ge "... or the port is replaced" "$(sent)" 200
	del_port
	check "... and that stays without the port" grep -q ends_chain <(names egress)
}
if [[ -n $has_tcx ]]; then
	in_front tcx first egress "$pins/ends_chain"
	tcx remove egress ends_chain
else
	for place in "1 1" "10 1" "49152 1"; do
		make
		# shellcheck disable=SC2086 # words
		in_front filter egress ends_chain $place
		bare
	done
fi

# --- Halves, and two agents ---------------------------------------------------------------

for hook in ingress egress; do
	port add accept 10.0.0.0/8
	cut_port $hook
	check "a port without its program on $hook is deleted" del_port
	check "... wholly" none_left
done
order() # FIRST THEN: these agents, in the order in which they are added and deleted
{
	local both="hpccpp_port hpccpp_cnp_out, hpccpp_port_in hpccpp_cnp_in"

	"$1" add accept fd00::/8
	"$2" add accept fd00::/8
	assert_eq "$1 first: packets meet the port, then the cnp agent" "$(names egress), $(names ingress)" "$both"
	cnp replace accept fd00::/16
	assert_eq "... also when that is replaced" "$(names egress), $(names ingress)" "$both"
	"del_$1"
	check "... which is there without the $1 agent" grep -q "^hpccpp_$2[a-z_]*$" <(names egress)
	"del_$2"
	check "... and no clsact without the other" none_left
}
# loading the cnp agent takes long in an emulated machine: without tcx a filter stands for it
if [[ -z $has_tcx ]]; then
	for first in port cnp; do
		second=cnp
		[[ $first == port ]] || second=port
		make
		filter egress hpccpp_cnp_out 2
		port add
		"del_$first"
		check "without the $first agent the $second agent stays" grep -q "hpccpp_$second" <(names egress)
		"del_$second"
		check "... and no clsact without the other" none_left
	done
elif cnp add accept ::/0 2>"$tmp/said"; then
	del_cnp
	order port cnp
	order cnp port
elif ! grep "cannot load the cnp agent" "$tmp/said"; then
	ktap_not_ok "a port and a cnp agent"
else
	ktap_skip "a port and a cnp agent" "this kernel does not load the cnp agent"
fi

# --- A clsact, and its filters ------------------------------------------------------------

# taken HOOK PREFERENCE WORDS COMMAND...: fails where another's filter is, which stays
taken()
{
	make
	filter "$1" bystander "$2"
	check "another's filter at preference $2 of $1: ${*:4}, refused" refused "${@:4}"
	why "$3"
	check "... and it stays" grep -q bystander <(names "$1")
}
if [[ -z $has_tcx ]]; then
	make
	port add
	del_port
	check "another's clsact without a filter stays" clsact
	filter egress bystander 10
	port add
	del_port
	check "... and with one" grep -q bystander <(names egress)
	for hook in ingress egress; do
		port add accept 10.0.0.0/8
		cut_port $hook
		del_port
		check "... also without the port's program on $hook" clsact
	done
	bare
	port add
	filter ingress bystander 10
	del_port
	check "another's filter keeps a clsact of ours" grep -q bystander <(names ingress)
	bare
	port add
	filter egress ends_chain 2
	assert_ge "one that comes at preference 2: the port sees packets" "$(sent)" 200
	del_port
	bare
	taken egress 1 "egress filter at preference 1" port add
	check "... is no port" refused del_port
	why "no port on t0"
	bare
	taken ingress 1 "ingress filter at preference 1" port add accept 10.0.0.0/8
	bare
	taken egress 2 "filter at preference 2" cnp add accept ::/0
	check "... and no half of an agent" [ -z "$(names ingress)" ]
	bare
	tc -n "$box" qdisc add dev t0 ingress
	check "a qdisc in the clsact's place" refused port add
	why "qdisc ingress"
	ktap_finish
fi

# --- tcx: where another comes before ------------------------------------------------------

port add
tcx last egress "$pins/bystander"
port replace accept 10.0.0.0/8
assert_eq "one that is replaced keeps its place" "$(names egress)" "hpccpp_port bystander"
assert_eq "... and does more: on ingress too" "$(names ingress)" "hpccpp_port_in"
port replace
check "... and less" [ -z "$(names ingress)" ]
tcx remove egress bystander
tcx first egress "$pins/ends_chain"
tcx first egress "$pins/bystander"
assert_eq "one that comes later may be before: the port sees nothing" "$(sent)" 0
in_ns_bg "$box" bash -c 'exec 9<> <(:); while ! read -rt .001 -u 9; do echo >/dev/udp/10.9.0.2/9; done'
sender=$!
check "... check says so" grep -q '^bypassed' <(found "port t0" found)
check "... and by whom" grep -q 'port change.* bystander (id .*), ends_chain (id ' <(found "port t0" advice)
kill $sender
wait $sender || true
port replace
assert_eq "replace puts it in front again" "$(names egress)" "hpccpp_port bystander ends_chain"
tcx remove egress ends_chain
tcx remove egress bystander
tcx first egress "$pins/bystander"
assert_ge "one that goes on may be before" "$(sent)" 200
del_port
tcx remove egress bystander
port add accept 10.0.0.0/8
cut_port egress
check "a port without its program on egress is told of" grep -q 'egress is gone' <(found "port t0" found)
del_port
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
make
check "an empty clsact is no sign of a port" [ -z "$(found "port t0" found)" ]
bare

# --- With the device ---------------------------------------------------------------------

port add id 7
ip -n "$box" link set t0 netns "$away"
assert_eq "a port goes with its device into another namespace" \
	"$("$HPCCPP" -j port show netns "$away" | jq -c 'map(.id)')" "[7]"
check "... where it is deleted" "$HPCCPP" port del dev t0 netns "$away"
ktap_finish
