#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What echo.sh shows, on two CPUs and with flows that carry data both ways at the
# same time. ACKs then meet sockets that their owners hold and wait in the backlog:
# they are parsed and handed on one by one when it is run, so no echo is lost there.
# The module misses those that come while nothing is to be acknowledged, when
# another one comes before the next segment leaves: few, as all flows are busy.
#
#	h1 eth0 --1G-- h1 | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#	             port                  port
#
# check-all: 6.1
# cpus: 2
# usual: 60
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

flows=8
bytes=2m

if [[ $(nproc) -lt 2 ]]; then
	ktap_skip_all "one CPU"
fi
ktap_plan 7
load_hpccpp
topo_line 1 1
host_on "$h1" every 1
host_on "$r" every 1
ports_on
"$HPCCPP" port add dev h1 netns "$s1" rate 1gbit queue virtual base-rtt "${RTT_US}us"

listeners=()
clients=()
for ((i = 1; i <= flows; i++)); do
	xfer_server "$r" $((5000 + i)) -c hpccpp -n "$bytes" >"$tmp/r$i"
	listeners+=($!)
done
for ((i = 1; i <= flows; i++)); do
	address=${addr4[r]}
	[[ $((i % 2)) -eq 0 ]] || address=${addr6[r]}
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c hpccpp -n "$bytes" connect "$address" \
		$((5000 + i)) >"$tmp/h$i"
	clients+=($!)
done
for process in "${clients[@]}" "${listeners[@]}"; do
	wait "$process" || true
done

# shellcheck disable=SC2016 # for jq
check "$flows flows of $bytes both ways: data intact" jq -e -s --argjson flows "$flows" \
	'length == 2 * $flows and all(.intact and .sent == 2000000 and .received == .sent)' \
	"$tmp"/[hr][1-9]
for end in h1 r; do
	echoes=$(host_stat "${!end}" echoes)
	pulled=$(counter "${!end}" int)
	ktap_diag "$end: echoes $echoes int $pulled acks $(counter "${!end}" acks)" \
		"backlog $(snmp "${!end}" TcpExtTCPBacklogCoalesce) coalesced"
	assert_ge "$end: echoes arrived" "$echoes" 1000
	assert_le "$end: echoes pulled, none twice" "$pulled" "$echoes"
	assert_ge "$end: echoes pulled" "$pulled" $((echoes * 9 / 10))
done
ktap_finish
