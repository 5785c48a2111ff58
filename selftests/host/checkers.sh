#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernels of make check-long that check themselves do so: KASAN, lockdep and kmemleak in the
# lab's debug kernel, and KCSAN in the VM, which also watches the module.
#
# check-long: uml-debug race
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo TAP version 13
if [[ $PLACE == uml ]]; then
	check "KASAN is on" bash -c 'dmesg | grep -q "KernelAddressSanitizer initialized"'
	check "lockdep is on" grep -q 'debug_locks: *1$' /proc/lockdep_stats
	check "kmemleak is on" bash -c 'echo scan >/sys/kernel/debug/kmemleak'
else
	check "KCSAN is on" grep -qx 'enabled: 1' /sys/kernel/debug/kcsan
	# shellcheck disable=SC2016 # expanded there
	check "the module is built for it" bash -c 'nm -u "$HPCCPP_KO" | grep -q __tsan_write'
fi
ktap_finish
