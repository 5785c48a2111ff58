#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's state machine, ACK by ACK: module_test.c, in which the module runs as it is
# with a socket and a clock of the test. Once with the interfaces of 6.1, and once with those
# of the newest kernels, under the sanitizers.
#
# check: host
# usual: 15
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo TAP version 13
unit_tests module_test{,-san}
ktap_finish
