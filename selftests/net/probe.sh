#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A flow that has idled probes the path before it sends more. When it does not, and when no
# answer comes, is tested in selftests/unit/module_path.c.
#
#	h1 eth0 --1G-- h1 | s1 | next ==200M== eth0 | r		(topo_line in lib.sh)
#
# check-all: 6.1
# usual: 60
# shellcheck disable=SC2154,SC2128,SC2317 # set by name in lib.sh; called by name
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# bursts FAMILY: 20 KB, 14 packets, every 40 ms, which is more than 8 T. Leaves
# probed, resumes and alone: probes, updates after 15 ms without any, and of these
# those that came while less than a packet more was in flight: with the first of two
# ACKs, or the one that there is.
bursts()
{
	local server probes address="addr$1[r]"
	probes=$(counter "$h1" probes)
	start_server "$r" $((++next_port)) iperf3 -s -1 -p "$next_port" >"$tmp/server"
	server=$!
	trace_on
	in_ns "$h1" iperf3 -J -c "${!address}" -p $next_port -n 400k -b 4M -l 20k -C hpccpp >"$tmp/client"
	trace_off
	wait "$server"
	probed=$(($(counter "$h1" probes) - probes))
	# the connection that has data: iperf3 has one for control, too
	read -r resumes alone < <(sed -nE \
		's/^at=([0-9.]+) .* sk=([^ ]+) .* used=1 .* snd_una=([0-9]+) snd_nxt=([0-9]+).*/\2 \1 \3 \4/p' \
		"$tmp/updates" | awk '
		{
			n[$1]++
			if ($1 in last && $2 - last[$1] > .015) {
				resumes[$1]++
				alone[$1] += $4 - $3 < 1500
			}
			last[$1] = $2
		}
		END {
			for (sk in n)
				if (n[sk] > n[most]) most = sk
			print resumes[most] + 0, alone[most] + 0
		}')
}

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
ktap_plan 12
topo_line 1 1
host_on "$h1"
host_on "$r"
ports_on
for family in 4 6; do
	set_knob probe 0
	bursts $family
	assert_eq "IPv$family, off: probes" "$probed" 0
	assert_ge "IPv$family, off: bursts" "$resumes" 10
	assert_le "IPv$family, off: their first telemetry came while no more than the probe was in flight" "$alone" $((resumes / 5)) times
	set_knob probe 8
	bursts $family
	assert_ge "IPv$family, 8 T: probes" "$probed" 10
	assert_ge "IPv$family, 8 T: bursts" "$resumes" 10
	assert_ge "IPv$family, 8 T: their first telemetry came while no more than the probe was in flight" "$alone" $((resumes * 4 / 5)) times
done
ktap_finish
