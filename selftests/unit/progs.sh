#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs progs_test.c: the verifier's work on the programs of all agents, and the qdisc that a port
# reads in this kernel.
#
# check: host
# usual: 10
set -uo pipefail

top=$(realpath "${BASH_SOURCE%/*}/../..")
bin=$(realpath -m "${HPCCPP_BIN:-$top/.build/bin}")

log=$(make -C "$top/selftests" O="$bin" CFLAGS="-O2 -g -Werror" "$bin/progs_test" 2>&1) || {
	printf '%s\n' "$log" >&2
	printf '%s\n' "1..1" "not ok 1 progs_test is built"
	exit 1
}
if [[ $EUID -ne 0 ]]; then
	echo "1..0 # SKIP not root: cannot load eBPF programs"
	exit 4
fi
exec "$bin/progs_test"
