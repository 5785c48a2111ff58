#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Parts of the command hpccpp that need no kernel, under the sanitizers: arguments, prefixes,
# output, and netlink messages in command_test.c; the objects cnp and flow on maps of the test
# in objects_test.c; a million flows in show_test.c, what monitor computes from its readings in
# monitor_test.c, and faults of a port's device in device_test.c. show_test also runs without
# the sanitizers, as it measures the memory that a million flows need.
#
# check: host
# usual: 45
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo TAP version 13
unit_tests {command,objects,show,monitor,device}_test-san show_test
ktap_finish
