#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Telemetry in some segments only. Ports that write above a load only: a flow below the threshold
# stays under telemetry, and one that loads the link gets as much as with a record in each segment.
# Ports that write for a DSCP codepoint only. A flow that has idled probes the path before it sends
# more; when it does not, and when no echo comes, is tested in selftests/unit/module_path.c.
#
#	h1 eth0 --1G-- h1 | s1 | next ==200M== eth0 | r		(topo_line in lib.sh)
#
# check-all: 6.1
# usual: 90
# shellcheck disable=SC2154,SC2128 # set by name in lib.sh; client: an array elsewhere
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

requests="every 1"		# options of the host agents

# begin NAME [PORT-OPTION...]: with agents at both ends, and such ports
begin()
{
	name=$1
	shift
	host_off "$h1"
	host_off "$r"
	# shellcheck disable=SC2086 # words
	for host in h1 r; do
		host_on "${!host}" $requests
	done
	[[ -z $stamping ]] || ports_off
	PORT_AGENT=$*
	ports_on
	entered=$(counter "$h1" enter) fell=$(counter "$h1" fallback)
}
enters() { echo $(($(counter "$h1" enter) - entered)); }
falls() { echo $(($(counter "$h1" fallback) - fell)); }
# iperf SENDER RECEIVER OPTION...: the data of one connection
iperf()
{
	local server
	start_server "${!2}" $((++next_port)) iperf3 -s -1 -p "$next_port" >"$tmp/server"
	server=$!
	in_ns "${!1}" iperf3 -J -p $next_port -C hpccpp "${@:3}" >"$tmp/client"
	wait "$server"
}
limited=(-n 2500k -b 40M -l 2k)	# 40 Mbit/s for half a second
written='.stamped + .replaced'

load_hpccpp || ktap_skip_all "no congestion control hpccpp"
echo TAP version 13
topo_line 1 1

# --- Above a load ----------------------------------------------------------------

begin "below the threshold" above 80
iperf h1 r -c "${addr4[r]}" "${limited[@]}"
assert_eq "$name: flows under INT, fallbacks" "$(enters) $(falls)" "1 0"
assert_ge "$name: left empty" "$(port_stat "$s1" next .quiet)" 1800
assert_le "$name: written, the handshake" "$(port_stat "$s1" next "$written")" 5
assert_ge "$name: echoes" "$(host_stat "$h1" echoes)" 800
assert_ge "$name: goodput" "$(jq '.end.sum_received.bits_per_second / 1e6' "$tmp/client")" 38 Mbit/s

# The handshake of a passive opener brings no record: it requests one until it has one.
begin "passive opener below the threshold" above 80
iperf r h1 -c "${addr4[h1]}" "${limited[@]}" -R
assert_ge "$name: flows under INT" "$(enters)" 1
assert_eq "$name: fallbacks" "$(falls)" 0
assert_ge "$name: left empty" "$(port_stat "$s1" next .quiet)" 1800
assert_le "$name: written" "$(port_stat "$s1" next "$written")" 20

requests=
goodputs=()
for above in '' 'above 80'; do
	# shellcheck disable=SC2086 # words
	begin "full, ${above:-all segments}" $above
	measure_flows hpccpp ipv4 1 1
	goodputs+=("$goodput_bps")
	assert_eq "$name: fallbacks, drops" "$(falls) $drops" "0 0"
	assert_le "$name: queue, mean" "$mean_packets" 3 packets
done
wrote=$(port_stat "$s1" next "$written + .kept")
assert_ge "full: written, of those left empty and written" \
	"$(jq -n "$wrote / ($wrote + $(port_stat "$s1" next .quiet))")" 0.9
assert_ge "full: goodput, of that with all segments" \
	"$(jq -n "${goodputs[1]} / ${goodputs[0]}")" 0.97

# --- For a codepoint ---------------------------------------------------------------

requests="every 1"
nft_h1() { nsenter --net="/run/netns/$h1" nft "$*"; }

# codepoint FAMILY: a transfer; sets passed to the segments that ports left alone
codepoint()
{
	local address="addr$1[r]"
	tcp_send "$h1" "$r" "${!address}" "-c hpccpp -n 100k"
	passed=$(port_stat "$s1" next .unsubscribed)
}

for family in 4 6; do
	nft_h1 flush ruleset
	begin "IPv$family, another codepoint" dscp 46
	codepoint $family
	assert_ge "$name: passed" "$passed" 70
	assert_eq "$name: flows under INT" "$(enters)" 0
	nft_h1 "add table inet box; add chain inet box output { type route hook output priority mangle; };
		add rule inet box output meta nfproto ipv4 ip dscp set ef;
		add rule inet box output meta nfproto ipv6 ip6 dscp set ef"
	begin "IPv$family, that codepoint" dscp 46
	codepoint $family
	assert_eq "$name: passed, flows under INT" "$passed $(enters)" "0 1"
done
nft_h1 flush ruleset

# --- After a pause -----------------------------------------------------------------

# bursts KNOB: 20 KB, 14 packets, every 40 ms, which is more than 8 T. Sets probed, resumes and
# alone: probes; updates after 15 ms without any; and how many of these came while less than a
# packet more was in flight: with the first of two ACKs, or the only one.
bursts()
{
	local probes
	set_knob probe "$1"
	probes=$(counter "$h1" probes)
	trace_on
	iperf h1 r -c "${addr4[r]}" -n 400k -b 4M -l 20k
	trace_off
	probed=$(($(counter "$h1" probes) - probes))
	# the connection with data: iperf3 has one for control, too
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

requests=
begin "after a pause"
bursts 0
assert_eq "$name, probe off: probes" "$probed" 0
assert_ge "$name, probe off: bursts" "$resumes" 10
assert_le "$name, probe off: first telemetry with no more than a packet in flight" \
	"$alone" $((resumes / 5)) times
bursts 8
assert_ge "$name, probe 8: probes" "$probed" 10
assert_ge "$name, probe 8: bursts" "$resumes" 10
assert_ge "$name, probe 8: first telemetry with no more than a packet in flight" \
	"$alone" $((resumes * 4 / 5)) times
ktap_finish
