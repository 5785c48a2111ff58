#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests that a port agent on ingress counts each byte once when packets arrive on two CPUs at the
# same time, as they do from a NIC with several receive queues.
#
#	h1 eth0 --1G-- h1 .----.
#	                  | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#	h2 eth0 --1G-- h2 '----' port       ingress
#	                                    receive packet steering: flows on CPU 0 or 1
#
# check-all: 6.1
# cpus: 2
# usual: 60
# shellcheck disable=SC2154 # namespaces are in variables set by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

flows=8

# count DEV NETNS HOOK JQ: of the port's row
count() { "$HPCCPP" -j port show dev "$1" netns "$2" | jq ".[] | select(.hook == \"$3\") | $4"; }
# steered: packets that CPU 0 and CPU 1 received from another one (softnet_stat, tenth column)
steered()
{
	local row
	while read -r -a row; do
		printf '%d ' "0x${row[9]}"
	done </proc/net/softnet_stat
	echo
}

if [[ $(nproc) -lt 2 ]]; then
	ktap_skip_all "one CPU"
fi
ktap_plan 6
load_hpccpp
topo_line 2 1
edges_on 200mbit
"$HPCCPP" port add dev next netns "$s1" queue virtual rate 200mbit base-rtt "${RTT_US}us"
ip netns exec "$r" bash -c 'echo 3 >/sys/class/net/eth0/queues/rx-0/rps_cpus'

read -r -a cpu_before < <(steered)
before=$(($(count eth0 "$r" ingress .sent) - $(count next "$s1" egress .sent)))
processes=()
for ((i = 1; i <= flows; i++)); do
	ns=h$((i % 2 + 1))
	address=${addr4[r]}
	[[ $((i % 4)) -lt 2 ]] || address=${addr6[r]}
	xfer_server "$r" $((5000 + i)) -c hpccpp >"$tmp/r$i"
	processes+=($!)
	in_ns_bg "${!ns}" "$HPCCPP_BIN/xfer" -c hpccpp -n 2m connect "$address" $((5000 + i)) >"$tmp/h$i"
	processes+=($!)
done
for process in "${processes[@]}"; do
	wait "$process" || true
done
after=$(($(count eth0 "$r" ingress .sent) - $(count next "$s1" egress .sent)))
read -r -a cpu_after < <(steered)

# shellcheck disable=SC2016 # for jq
check "$flows flows of 2 MB: data intact" jq -e -s --argjson flows "$flows" \
	'length == $flows and all(.intact and .received == 2000000)' "$tmp"/r[1-9]
for cpu in 0 1; do
	assert_ge "packets steered to CPU $cpu" $((cpu_after[cpu] - cpu_before[cpu])) 100
done
assert_eq "bytes that the edge counts more than the other end of the link" $((after - before)) 0
assert_eq "packets that it found malformed or could not write" \
	"$(count eth0 "$r" ingress '.stats | .bad + .error')" 0
assert_ge "records that it wrote" \
	"$(count eth0 "$r" ingress '.stats | .stamped + .replaced + .kept')" 100
ktap_finish
