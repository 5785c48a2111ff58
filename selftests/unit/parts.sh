#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Parts of the command hpccpp that need no kernel, plain and under the sanitizers:
# arguments, prefixes, output, and what is read from netlink, in command_test.c; the
# objects cnp and flow on a kernel of the test's own, in objects_test.c; a million flows
# in show_test.c, what monitor makes of its readings in monitor_test.c, and what is wrong
# with a port's device in device_test.c.
#
# check: host
# usual: 45
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
bin=$(realpath -m "$HPCCPP_BIN")

echo TAP version 13
for test in command_test objects_test show_test monitor_test device_test; do
	check "$test and $test-san are built" make -C "$top/selftests" O="$bin" \
		CFLAGS="-O2 -g -Werror" "$bin/$test" "$bin/$test-san"
	cmocka "$bin/$test"
	cmocka "$bin/$test-san"
done
ktap_finish
