#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Parts of the command hpccpp that need no kernel, plain and under the sanitizers:
# arguments, prefixes, output, and what is read from netlink; command_test.c has them.
#
# place: host
# timeout: 120
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
bin=$(realpath -m "$HPCCPP_BIN")

echo TAP version 13
check "command_test and command_test-san are built" \
	make -C "$top/selftests" O="$bin" CFLAGS="-O2 -g -Werror" \
	"$bin/command_test" "$bin/command_test-san"
cmocka "$bin/command_test"
cmocka "$bin/command_test-san"
ktap_finish
