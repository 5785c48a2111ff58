#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A part of the lab's suite, of runs whose bounds hold, with all that is asserted of
# them; and that bench.sh goes on where it stopped, says what does not hold, and
# refuses what it does not know.
#
# place: host
# timeout: 900
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "$here/../lib/lib.sh"
bench=$top/scripts/lab/bench.sh

flent_has() # SERIES FILE [SERIES FILE]...
{
	while [[ $# -gt 0 ]]; do
		XDG_CONFIG_HOME=$tmp HOME=$tmp flent -i "$2" -f summary >"$tmp/flent" 2>&1
		grep -qF "$1" "$tmp/flent" || { cat "$tmp/flent"; return 1; }
		shift 2
	done
}
export RESULTS_LAB=$top/.build/check/lab

# Of each scenario that needs no more than seconds, runs that between them have
# every kind of bound.
part=(
	'long (hpccpp|dctcp)-((1|2|16|64)x100g-8us|(1|2|16)x100g-20us)-mtu1500-n64'
	'long hpccpp-(4|16)x(10g-20|25g-50)us-mtu1500-n64'
	'long hpccpp-(2|16)x100g-50us-mtu9000-n64'
	'step hpccpp-pair-10g-8us-stage0'
	'step hpccpp-rx-pair-100g-8us'
	'incast hpccpp-(8|60)x10k-32mb'
	'incast hpccpp-(8|32)x500k-[14]mb'
	'int-response 60x500k-4mb-'
	'probe (1|4)flows-busy4'
	'fabric (hpccpp|dctcp)-fb_hadoop-30'
	'parking hpccpp-(asymmetric|receiver|nic)'
	'layout hpccpp'
	'blind-hop bare'
	'integrity (none|full-key0)'
	'sparse 16x25g-'
	'rx receiver-16flows'
	'flows-n 200flows'
	'sweep (eta90|eta100|rtt1000us|64flows|400000mbit).*stage5'
)
ONLY="^($(IFS='|'; echo "${part[*]}"))"
export ONLY
scenarios="long step incast int-response probe fabric parking layout blind-hop integrity sparse rx flows-n sweep"

status=0
# shellcheck disable=SC2086 # words
FORCE=1 "$bench" $scenarios >"$tmp/first" 2>&1 || status=$?
if [[ ! -s $RESULTS_LAB/bounds ]]; then
	ktap_plan 1
	ktap_not_ok "bench.sh"
	ktap_diag "$(tail -n 20 "$tmp/first")"
	ktap_finish
fi
cp "$RESULTS_LAB/bounds" "$tmp/bounds"
mapfile -t bounds < <(grep -v '^note' "$tmp/bounds")

ktap_plan $((${#bounds[@]} + 10))
for line in "${bounds[@]}"; do
	case $line in
	ok*)	ktap_ok "${line#ok }" ;;
	*)	ktap_not_ok "${line#not ok }" ;;
	esac
done
assert_ge "bounds" "${#bounds[@]}" 80
assert_eq "bench.sh: status" "$status" "$(grep -c -m 1 '^not ok' "$tmp/bounds" || true)"
# shellcheck disable=SC2086 # words
"$bench" $scenarios >"$tmp/again" 2>&1 || true
check "what is there is not run again" grep -q ' runs, 0 to do$' "$tmp/again"
check "the same bounds again" cmp "$tmp/bounds" "$RESULTS_LAB/bounds"
name=incast-hpccpp-8x500k-1mb
for file in "$RESULTS_LAB"/*/*/rates.gz; do
	read -r scenario run < <(jq -r '"\(.scenario) \(.name)"' "${file%/*}/meta.json")
	[[ -s $RESULTS_LAB/flent/$scenario-$run-queue.flent.gz ]] || echo "$scenario $run"
done >"$tmp/without"
assert_eq "runs that follow rates, without flent's files" "$(wc -l <"$tmp/without")" 0
check "... flent's summary has the queue and the rates of a run" flent_has \
	"qdisc-stats::backlog_bytes" "$RESULTS_LAB/flent/$name-queue.flent.gz" \
	"TCP upload::8" "$RESULTS_LAB/flent/$name-flows.flent.gz"
# another bound of this run does not hold
ONLY='incast hpccpp-rx-8x500k-32mb' RESULTS_LAB=$tmp/rx "$bench" incast >/dev/null 2>&1 || true
assert_le "W by the receiver, one queue is answered once: completion over ideal" \
	"$(jq .metrics.completion_over_ideal "$tmp/rx/incast/hpccpp-rx-8x500k-32mb.json")" 1.2

refuses() # NAME TEXT COMMAND...
{
	local name=$1 text=$2 said status=0
	shift 2
	said=$("$@" 2>&1) || status=$?
	check "$name" test "$status" -eq 2 -a -z "${said##*"$text"*}"
}
refuses "unknown scenario" "unknown scenario 'nonsense' (known: " "$bench" nonsense
refuses "unknown congestion control" "unknown congestion control 'vegas' (known: " \
	env CCS=vegas "$bench" long
refuses "a part without a run" "no run of long is for CC=cubic ONLY=^nothing" \
	env CCS=cubic ONLY=^nothing "$bench" long
ktap_finish
