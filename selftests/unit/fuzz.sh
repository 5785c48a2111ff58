#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fuzzes the code that reads telemetry of other hosts: the agents' parsers and the update of
# W (fuzz.c), with libFuzzer and the address and undefined-behaviour sanitizers. LONG=1 runs
# 30 times as many inputs; SEED=N tries other inputs than those of every day.
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
	local kernel
	kernel=$("$top/scripts/vm/kernel.sh" 6.1) || return
	make -C "$top/selftests" O="$bin" CFLAGS="-O0 -g -Werror" \
		VMLINUX_H="$kernel/vmlinux.h" "$bin/fuzz"
}

fuzz()
{
	"$bin/fuzz" -seed="${SEED:-1}" -max_len=512 -len_control=0 -runs="$runs" \
		-print_coverage=1 -artifact_prefix="$tmp/" >"$tmp/log" 2>&1 || {
		grep -A 12 -E 'ERROR|runtime error' "$tmp/log"
		sed -n 's/^Base64: /the input, in base64: /p' "$tmp/log"
		return 1
	}
}

# Each function of the agents has run, except one that stands for a kernel's.
runs_every_function()
{
	grep -q '^COVERED_FUNC.* hpccpp_host ' "$tmp/log" &&
		! grep '^UNCOVERED_FUNC' "$tmp/log" | grep -v ' same_qdisc '
}

ktap_plan 4
check "fuzz is built" build
check "no input is a finding" fuzz
# a fuzzer that ends early finds nothing either
assert_ge "number of inputs" "$(sed -nE 's/^Done ([0-9]+) runs .*/\1/p' "$tmp/log")" "$runs"
check "the inputs run every function" runs_every_function
ktap_diag "seed ${SEED:-1}, $(sed -nE 's/^#.*DONE *(cov: [0-9]*).*/\1/p' "$tmp/log")"
ktap_finish
