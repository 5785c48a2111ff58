#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unit tests of the command hpccpp, under the sanitizers: command_test (arguments, prefixes,
# output, netlink), objects_test (cnp), show_test (show, flow, check), monitor_test, and
# device_test (a port's device). show_test also runs without the sanitizers, as it measures the
# memory that many flows need.
#
# check: host
# usual: 45
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo TAP version 13
unit_tests {command,objects,show,monitor,device}_test-san show_test
ktap_finish
