#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The port agent on a clock of the test's own: port_test.c, in which its program runs as
# it is, plain and under the sanitizers. (progs.sh runs it in the kernel.)
#
# check: host
# usual: 15
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
bin=$(realpath -m "$HPCCPP_BIN")

echo TAP version 13
check "port_test and port_test-san are built" \
	make -C "$top/selftests" O="$bin" CFLAGS="-O2 -g -Werror" \
	"$bin/port_test" "$bin/port_test-san"
cmocka "$bin/port_test"
cmocka "$bin/port_test-san"
ktap_finish
