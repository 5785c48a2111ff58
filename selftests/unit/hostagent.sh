#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The host agent, call by call: host_test.c, plain and under the
# sanitizers.
#
# check: host
# usual: 60
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
bin=$(realpath -m "$HPCCPP_BIN")
programs=("$bin"/host_test{,-san})

echo TAP version 13
check "they are built" make -C "$top/selftests" O="$bin" CFLAGS="-O1 -g -Werror" "${programs[@]}"
for program in "${programs[@]}"; do
	cmocka "$program"
done
ktap_finish
