#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's state machine, ACK by ACK: module_test.c, in which the module runs as
# it is on a socket and a clock of the test's. Plain with the interfaces of 6.1, and
# under the sanitizers with those of the newest kernels.
#
# check: host
# usual: 15
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
bin=$(realpath -m "$HPCCPP_BIN")

echo TAP version 13
check "module_test and module_test-san are built" \
	make -C "$top/selftests" O="$bin" CFLAGS="-O2 -g -Werror" \
	"$bin/module_test" "$bin/module_test-san"
cmocka "$bin/module_test"
cmocka "$bin/module_test-san"
ktap_finish
