#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Where the kernel has no tcx, agents are filters of a clsact: beside those of others, in
# front of one that ends the chain, and with the clsact going where one of ours made it.
#
#	netns box: t0 --- t1
#
# check: 6.1
# usual: 30
# shellcheck disable=SC2317,SC2154 # functions that check calls; set by setup_ns
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo "TAP version 13"
setup_ns box
! in_ns "$box" "$HPCCPP_BIN/tcx" show lo egress || ktap_skip_all "this kernel has tcx"
ip -n "$box" link add t0 up type veth peer t1
ip -n "$box" link set t1 up
port() { "$HPCCPP" port "$1" dev t0 netns "$box" rate 1gbit "${@:2}"; }	# COMMAND OPTION...
del_port() { "$HPCCPP" port del dev t0 netns "$box"; }
del_cnp() { "$HPCCPP" cnp del dev t0 netns "$box"; }
refused() { ! "$@" 2>"$tmp/said"; }	# COMMAND...
why() { check "... as \"$1\"" grep -qF "$1" "$tmp/said"; }
filter() # HOOK PROGRAM [PREFERENCE [HANDLE]]
{
	tc -n "$box" filter replace dev t0 "$1" pref "${3-1}" protocol all handle "${4-0x4850}" \
		bpf da obj "$HPCCPP_BIN/other.bpf.o" sec "of/$2"
}
cut_filter() { tc -n "$box" filter del dev t0 "$@"; }	# HOOK pref PREFERENCE
filters() { programs "$box" t0 "$1"; }
make() { tc -n "$box" qdisc add dev t0 clsact; }
bare() { tc -n "$box" qdisc del dev t0 clsact; }
clsact() { tc -n "$box" qdisc show dev t0 clsact | grep -q .; }
no_clsact() { ! clsact; }

# --- Beside others ---------------------------------------------------------------------

make
port add
del_port
check "another's clsact without a filter stays" clsact
filter egress bystander 10
port add
del_port
check "... and with one" grep -q bystander <(filters egress)
bare
port add
filter ingress bystander 10
del_port
check "another's filter keeps a clsact of ours" grep -q bystander <(filters ingress)
bare
# taken HOOK PREFERENCE WORDS COMMAND...: fails where another's filter is, which stays
taken()
{
	make
	filter "$1" bystander "$2"
	check "another's filter at preference $2 of $1: ${*:4}, refused" refused "${@:4}"
	why "$3"
	check "... and it stays" grep -q bystander <(filters "$1")
}
taken egress 1 "egress filter at preference 1" port add
check "... is no port" refused del_port
why "no port on t0"
bare
taken ingress 1 "ingress filter at preference 1" port add accept 10.0.0.0/8
bare
tc -n "$box" qdisc replace dev t0 root fq
taken egress 2 "filter at preference 2" "$HPCCPP" cnp add dev t0 netns "$box" rate 1gbit accept ::/0
assert_eq "... and no half of an agent" "$(filters ingress | wc -l)" 0
bare
tc -n "$box" qdisc add dev t0 ingress
check "a qdisc in the clsact's place" refused port add
why "qdisc ingress"
tc -n "$box" qdisc del dev t0 ingress

# --- What is left of an agent, and whose the clsact is ----------------------------------

for hook in ingress egress; do
	port add accept 10.0.0.0/8
	cut_filter $hook pref 1
	check "a port's $hook is gone: the rest is deleted" del_port
	check "... with the clsact, which was the port's" no_clsact
done
make
for hook in ingress egress; do
	port add accept 10.0.0.0/8
	cut_filter $hook pref 1
	del_port
	check "... which stays where it was there before" clsact
done
# as of a cnp agent that has made it
filter egress hpccpp_cnp_out 2
port add
del_cnp
check "a clsact of the first of two agents stays with the second" clsact
check "... with its filter" grep -q hpccpp_port <(filters egress)
del_port
check "... and goes with it" no_clsact
make
filter egress hpccpp_cnp_out 2
port add
del_port
check "... or the other way round" grep -q hpccpp_cnp <(filters egress)
del_cnp
check "... goes with the last" no_clsact

# --- In front of those who end the chain ------------------------------------------------

ip -n "$box" addr add 10.9.0.1/24 dev t0
ip -n "$box" neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev t0
tcp_seen() { "$HPCCPP" -j port show dev t0 netns "$box" | jq '.[0].stats.passed'; }
more_than() { [[ $(tcp_seen) -gt $1 ]]; }
sees() # NAME: the port, a SYN to nobody
{
	local before
	before=$(tcp_seen)
	in_ns_bg "$box" timeout 5 bash -c ': <>/dev/tcp/10.9.0.2/7' 2>"$tmp/said"
	check "$1: the port sees what leaves" busywait 5 more_than "$before"
}
for place in "1 1" "10 1" "49152 1"; do
	make
	# shellcheck disable=SC2086 # words
	filter egress ends_chain $place
	port add
	sees "a program that ends the chain is there at preference and handle $place"
	# shellcheck disable=SC2086 # words
	filter egress ends_chain $place
	sees "... is replaced"
	port replace
	sees "... and the port too"
	del_port
	check "... and stays" grep -q ends_chain <(filters egress)
	bare
done
port add
filter egress ends_chain 2
sees "one comes at preference 2"
del_port
bare
ktap_finish
