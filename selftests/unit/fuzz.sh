#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fuzzes the agents, which read bytes of other hosts (fuzz.c), with libFuzzer and the address
# and undefined-behaviour sanitizers. LONG=1 runs 30 times as many inputs; SEED=N tries other
# inputs than those of every day.
#
# check: host
# usual: 30
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
bin=$(realpath -m "$HPCCPP_BIN")
runs=$((${LONG:+30 * }40000))

# With -O0: the compiler would take longer than the inputs.
build()
{
	make -C "$top/selftests" O="$bin" CFLAGS="-O0 -g -Werror" "$bin/fuzz"
}

# fuzz SEED: leaves the functions that did not run in $tmp/missed, except one that stands for a
# kernel's
fuzz()
{
	"$bin/fuzz" -seed="$1" -max_len=512 -len_control=0 -runs="$runs" \
		-print_coverage=1 -artifact_prefix="$tmp/" >"$tmp/log" 2>&1 || {
		grep -A 12 -E 'ERROR|runtime error' "$tmp/log"
		sed -n 's/^Base64: /the input, in base64: /p' "$tmp/log"
		return 1
	}
	grep -q '^COVERED_FUNC.* hpccpp_host ' "$tmp/log" || return
	sed -n 's/^UNCOVERED_FUNC.* edges: [^ ]* //p' "$tmp/log" | grep -v '^same_qdisc ' | sort >"$tmp/missed"
	: $((ran += $(sed -nE 's/^Done ([0-9]+) runs .*/\1/p' "$tmp/log")))
}

# Random inputs rarely run some functions. Another seed usually does; ten are the limit.
fuzz_until_every_function_has_run()
{
	local seed=${SEED:-1}
	fuzz "$seed" || return
	mv "$tmp/missed" "$tmp/missed_by_all"
	for ((i = 1; i < 10; i++)); do
		[[ -s $tmp/missed_by_all ]] || return 0
		fuzz $((seed + i)) || return
		comm -12 "$tmp/missed" "$tmp/missed_by_all" >"$tmp/both"
		mv "$tmp/both" "$tmp/missed_by_all"
	done
}
runs_every_function() { ! grep . "$tmp/missed_by_all"; }

ran=0
ktap_plan 4
check "fuzz is built" build
# not in a subshell, as check runs it: it counts
status=0
fuzz_until_every_function_has_run >"$tmp/findings" || status=$?
check "no input is a finding" eval "cat '$tmp/findings'; exit $status"
# a fuzzer that ends early finds nothing either
assert_ge "number of inputs" "$ran" "$runs"
check "the inputs run every function" runs_every_function
ktap_diag "seed ${SEED:-1}, $(sed -nE 's/^#.*DONE *(cov: [0-9]*).*/\1/p' "$tmp/log")"
ktap_finish
