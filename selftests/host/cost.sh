#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What scripts/cost/cost.sh measures without the VM, shortened: every figure is there and
# can be one, and sparse asking costs little. With LONG=1 whole, with both of its bounds.
#
# check-all: host
# usual: 60
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "$here/../lib/lib.sh"

json=$tmp/cost.json

# within NAME JQ-FIGURES LEAST MOST [UNIT]: so is each of the figures
within()
{
	local said
	said=$(jq -r "[$2] | map(. // \"none\" | tostring) | join(\" \")" "$json")
	check "$1: $said${5:+ $5} ($3 to $4)" \
		jq -e "[$2] | length > 0 and all(type == \"number\" and . >= $3 and . <= $4)" "$json"
}

ktap_plan 40
short=(-n 3 -t 1 -b 0 -s)
[[ -z ${LONG-} ]] || short=()
measure()
{
	RESULTS=$tmp "$top/scripts/cost/cost.sh" "${short[@]}" >"$tmp/said" || {
		ktap_diag "$(<"$tmp/said")"
		exit 1
	}
}
measure
# Three runs of each may all have had less of the machine than others: then ten. So may the times of a program.
enough='([.throughput[] | ."16", .rtt | .ratio] | all(. >= 0.85)) and
	([.port[] | ([.stamped, .replaced, .kept] | min) > .passed] | all)'
jq -e "$enough" "$json" >"$tmp/enough" || { short+=(-n 10); measure; }
for queue in virtual qdisc qdisc_mq; do
	within "port, $queue: instructions" ".port.$queue.instructions" 100 10000
	within "port, $queue: passed" ".port.$queue.passed" 1 2000 ns
	within "port, $queue: stamped, replaced, kept" \
		".port.$queue | .stamped, .replaced, .kept" 10 5000 ns
	check "port, $queue: to write costs more than to let pass" \
		jq -e ".port.$queue | [.stamped, .replaced, .kept] | min > $(jq ".port.$queue.passed" "$json")" "$json"
done
for end in {sender,receiver}{,_signed,_rx}; do
	within "$end: calls of reserve, write, parse" \
		".host.$end | .reserve.n, .write.n, .parse.n" 100 1e9
	within "$end: mss, reserve, write, parse" \
		".host.$end | .mss.ns, .reserve.ns, .write.ns, .parse.ns" 1 5000 ns
done
within "bytes of an echo, with a tag, of a window" \
	'.host | (.receiver.ack.option - 16, .receiver_signed.ack.option - 20, .receiver_rx.ack.option - 8)' 0 0
within "bytes an ACK, with echoes" '.host.receiver.ack.mean' 8 16
within "bytes an ACK, with windows" '.host.receiver_rx.ack.mean' 0.01 8
for wire in cut single; do
	within "$wire: throughput without, all, one of 16, by the round trip" \
		".throughput.$wire | .off, .all, .\"16\", .rtt | .mbps" 10 1e6 Mbit/s
	within "... CPU" ".throughput.$wire | .off, .all, .\"16\", .rtt | .cpu_ns_per_segment" \
		20 100000 "ns a segment"
	# The bound of a whole run, which takes longer, is 0.95: this one allows for neighbours.
	within "$wire: one of 16 and by the round trip: of the throughput without" \
		".throughput.$wire | .\"16\", .rtt | .ratio" 0.85 1.5
done
check "more packets ask when all do than by the round trip" jq -e \
	'all(.throughput[]; .all.asked_per_second > 1.3 * .rtt.asked_per_second)' "$json"
within "cut: GRO merges as much: segments an skb" \
	'.throughput.cut | .off, .all, ."16", .rtt | .segments_per_skb' 15 64
# a packet's last segment, which has its own record, comes by itself
within "single: GRO merges all but the last: segments an skb" \
	'.throughput.single | .all, ."16", .rtt | .segments_per_skb' 15 64
within "the default, behind a switch that sees segments: of the throughput without" \
	.gro_default_ratio 0.85 1.5

# --- What keys.md says of it ------------------------------------------------------

# documented HEADING: what the list below it names, one a line
documented() { sed -n "/^## $1\$/,/^## /s/^- \`\([^\`]*\)\`.*/\1/p" "$top/scripts/cost/keys.md" | sort; }
documented Keys | grep -vE '^(flow|tso)\.' >"$tmp/listed"
jq -r 'paths(scalars) | map(select(type == "string")) |
	if .[0] == "port" then .[1] = "QUEUE"
	elif .[0] == "host" then .[1] = "END"
	elif .[0] == "throughput" then .[1] = "WIRE" | .[2] = "MODE"
	else . end | join(".")' "$json" | grep -v '^flow\.' | sort -u >"$tmp/there"
check "keys.md: the $(wc -l <"$tmp/listed") keys of cost.json" diff "$tmp/listed" "$tmp/there"
# the VM's part is not measured here
documented Keys | sed -n 's/^flow\.//p' >"$tmp/listed"
sed -n '/^flow()/,/^}/p' "$top/scripts/cost/cost.sh" |
	grep -oE '\b(instructions|host_agent|port_agent|bytes)_[a-z_]+' | sort -u >"$tmp/there"
check "... the $(wc -l <"$tmp/listed") of a flow" diff "$tmp/listed" "$tmp/there"
jq -r '(.port, .host, .throughput, .throughput[]) | keys[]' "$json" | sort -u >"$tmp/there"
listed() { [[ -s $1 ]] && ! grep -vxFf <(documented Names) "$1"; }
check "... and its $(wc -l <"$tmp/there") queues, ends, wires and modes" listed "$tmp/there"
ktap_finish
