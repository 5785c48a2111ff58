#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The agents of hosts, of ports and of RoCEv2 hosts, call by call and packet by packet, and the
# iterator over flows: each program runs unchanged in host_test.c, port_test.c, cnp_test.c or
# flow_test.c, under the sanitizers.
# (progs.sh runs that of ports in the kernel.)
#
# check: host
# usual: 30
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo TAP version 13
unit_tests {host,port,cnp,flow}_test-san
ktap_finish
