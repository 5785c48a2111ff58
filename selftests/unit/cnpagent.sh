#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The agent of RoCEv2 hosts, packet by packet: cnp_test.c, in which its program runs as it
# is, plain and under the sanitizers.
#
# check: host
# usual: 15
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
bin=$(realpath -m "$HPCCPP_BIN")

echo TAP version 13
check "cnp_test and cnp_test-san are built" \
	make -C "$top/selftests" O="$bin" CFLAGS="-O2 -g -Werror" \
	"$bin/cnp_test" "$bin/cnp_test-san"
cmocka "$bin/cnp_test"
cmocka "$bin/cnp_test-san"
ktap_finish
