#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests in the lab's kernel that checks itself (KASAN, UBSAN, lockdep, kmemleak ...):
# a few, or with LONG=1 all that run in the lab, as make check-debug does. Each does what
# it does without LONG=1: what it repeats more often then, to see a leak in what memory is
# left, the checkers see in one. Building that kernel takes long: without LONG=1 only when
# it is in the cache.
#
# place: host
# timeout: 600
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"
cd "$top"

tests=(churn)
if [[ -n ${LONG-} ]]; then
	tests=()
	while read -r file; do
		[[ $(directive "$file" place) != *uml ]] || tests+=("$(basename "$file" .sh)")
	done < <(test_files "*")
elif ! scripts/lab/kernel.sh --cached --debug >/dev/null 2>&1; then
	ktap_skip_all "the debug kernel is not in the cache; LONG=1 builds it"
fi

# shellcheck disable=SC2317 # by check
debug() # TEST: one that was skipped whole has shown nothing
{
	local dir=.build/check-debug
	LONG='' PLACE=uml-debug CHECK_DIR=$dir scripts/run-test.sh "$1-uml" &&
		! grep -E '^(not ok|1\.\.0)' "$dir/$1-uml.tap"
}

# In the guest: what says that it is at work.
checkers='dmesg | grep -q "KernelAddressSanitizer initialized" &&
	grep -q "debug_locks: *1$" /proc/lockdep_stats &&
	echo scan >/sys/kernel/debug/kmemleak'

echo TAP version 13
check "the module builds for the debug kernel" make build-lab-debug
check "its checkers are on: KASAN, lockdep, kmemleak" env PLACE=uml-debug \
	scripts/place.sh --timeout 600 -- bash -c "$checkers"
for test in "${tests[@]}"; do
	check "debug kernel: $test" debug "$test"
done
ktap_finish
