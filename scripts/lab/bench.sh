#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the lab's scenarios, two at a time, and say which of the bounds hold. Each run
# leaves a JSON file in results/lab/SCENARIO/; what is there from this module and
# kernel is not run again, but with FORCE=1. CCS=hpccpp,dctcp runs a part.
#
# Scenario "long": 1 to 64 flows to one receiver, 10 to 100 Gbit/s, base RTT 8 to
# 50 us. hpccpp with W_ai for 64 flows and for as many as there are, with packets
# of 1500 and 9000 bytes; dctcp with 1500.
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$here/../common.sh"

scenario=${1-long}
[[ $scenario == long ]] || bad "unknown scenario '$scenario' (known: long)"
ccs=${CCS-hpccpp dctcp}
ccs=${ccs//,/ }
for cc in $ccs; do
	[[ $cc == hpccpp || $cc == dctcp ]] ||
		bad "unknown congestion control '$cc' (known: hpccpp dctcp)"
done
top=$(realpath "$here/../..")
export HPCCPP_BIN=$top/.build/lab HPCCPP=$top/.build/6.1/tools/hpccpp
export HPCCPP_KO=$HPCCPP_BIN/kmod/tcp_hpccpp.ko
# The lab's kernel has no BTF of its own; the agents need none of it there.
HPCCPP_BTF=$("$here/../kernel.sh" 6.1)/vmlinux
export HPCCPP_BTF
export RESULTS=$top/results/lab/$scenario
mkdir -p "$RESULTS"
module="$(modinfo -F version "$HPCCPP_KO") $(sha256sum "$HPCCPP_KO" | cut -c1-12)"

runs=()
for flows in 1 2 4 16 64; do
	for gbit in 10 25 100; do
		for rtt in 8 20 50; do
			for cc in $ccs; do
				for mtu in 1500 9000; do
					[[ $cc == hpccpp || $mtu == 1500 ]] || continue
					# a full packet and its ACK have to fit into the RTT
					((rtt * 1000 > 16 * (mtu + 80) / gbit)) || continue
					for n in 64 "$flows"; do
						[[ $n == 64 || ($cc == hpccpp && $flows != 64) ]] || continue
						runs+=("$cc-${flows}x${gbit}g-${rtt}us-mtu$mtu-n$n $cc $flows $gbit $rtt $mtu $n")
					done
				done
			done
		done
	done
done

due=()
for run in "${runs[@]}"; do
	file=$RESULTS/${run%% *}.json
	[[ -z ${FORCE-} && -s $file && $(jq -r .module "$file") == "$module" ]] || due+=("$run")
done
echo "${#runs[@]} runs, ${#due[@]} to do"

begin=$SECONDS
started=()
trap '[[ ${#started[@]} -eq 0 ]] || kill "${started[@]}" 2>/dev/null; wait' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
worker() # CPU FIRST: each second run from FIRST on
{
	local i
	for ((i = $2; i < ${#due[@]}; i += 2)); do
		# shellcheck disable=SC2086 # the words of a run
		"$here/uml.sh" --cpu "$1" --timeout 300 -- "$here/long.sh" ${due[i]} </dev/null
		if ((i % 20 == 0)); then
			echo "  $i of ${#due[@]} done, $(((SECONDS - begin) * (${#due[@]} - i) / (i + 1))) s to go"
		fi
	done
}
cpus=$(nproc)
worker 0 0 &
started+=($!)
worker $((cpus - 1)) 1 &
started+=($!)
status=0
for pid in "${started[@]}"; do
	wait "$pid" || status=1
done
started=()
[[ $status -eq 0 ]] || die "a run failed"

# Every bound with its figure: "ok|not ok  figure (bound)  what".
cat "$RESULTS"/*.json | jq -r -s --arg ko "$module" '
	def check($what; $figure; $op; $bound):
		(if $op == ">=" then $figure >= $bound else $figure <= $bound end) as $ok |
		"\(if $ok then "ok    " else "not ok" end)  \($figure * 10000 | round / 10000) (\($op) \($bound))  \($what)";
	map(select(.module == $ko)) as $all |
	[$all[] | select(.cc == "hpccpp")] as $ours |
	($ours[] | select(.bdp_packets >= 40) |
		check("utilisation, \(.name)"; .utilisation; ">="; 0.93),
		check("mean queue, packets, \(.name)"; .queue_mean_packets; "<="; 5),
		check("p99 queue, packets, \(.name)"; .queue_p99_packets; "<="; 16)),
	($ours[] | check("Jain, \(.name)"; .jain; ">="; 0.98)),
	($ours[] | check("drops, \(.name)"; .drops; "<="; 0)),
	($ours[] | select(.mtu == 1500 and .n == 64 and .bdp_packets >= 40) | . as $run |
		$all[] | select(.cc == "dctcp" and .flows == $run.flows and .link_bps == $run.link_bps and
			.rtt_us == $run.rtt_us and $run.queue_mean_packets > 0) |
		check("mean queue over ours, \(.name)";
			.queue_mean_packets / $run.queue_mean_packets; ">="; 20))' >"$RESULTS/bounds"
{
	echo "run|utilisation|queue mean|p99|max|Jain"
	cat "$RESULTS"/*.json | jq -r -s --arg ko "$module" '
		map(select(.module == $ko)) | sort_by(.cc, .link_bps, .rtt_us, .mtu, .n, .flows)[] |
		[.name, .utilisation, .queue_mean_packets, .queue_p99_packets, .queue_max_packets, .jain] |
		map(if type == "number" then . * 1000 | round / 1000 else . end) | join("|")'
} | column -t -s '|' >"$RESULTS/table"
cat "$RESULTS/table"
echo
sort -r "$RESULTS/bounds"
echo
echo "$(grep -c '^ok' "$RESULTS/bounds" || true) of $(wc -l <"$RESULTS/bounds") bounds hold; table, bounds and a file for each run in $RESULTS"
! grep -q '^not ok' "$RESULTS/bounds"
