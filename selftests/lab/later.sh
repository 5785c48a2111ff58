#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Latency of the receiver (lag=) begins in a run of the lab, and not before its flows: a handshake
# takes the path's RTT.
#
#	h1 --- s1 --- s2 --- r1 ACKs 400 us late, from 7.5 ms on		10 Gbit/s, 100 us
#
# check-all: host
# usual: 10
set -euo pipefail
top=$(realpath "${BASH_SOURCE%/*}/../..")

# In the lab, after the run
if [[ -e /run/uml ]]; then
	tc -n r1 qdisc show dev eth0 root >root-qdisc
	exit
fi

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "$top/selftests/lib/lib.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || ktap_skip_all "no python3-numpy"

ktap_plan 2
"$top/scripts/lab/lab" run latency rate=10gbit rtt=100us time=60ms lag=400us --name lag --results "$tmp" \
	--after "$top/selftests/lab/later.sh" >/dev/null
check "the receiver has latency after the run" grep -q '^qdisc netem .* delay 400us' "$tmp/latency/lag/root-qdisc"
assert_le "and not before: ns of the handshake" \
	"$(zcat "$tmp/latency/lag/flows.csv.gz" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "setup_ns") at = i }
		NR == 2 { print $at }')" 200000
ktap_finish
