#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Data races of the module, by KCSAN: tests with two CPUs in a kernel that has it
# (scripts/vm/race.sh), with LONG=1, each as often as without. A report that names a
# function of the module fails the test, and any that runs with KERNEL=race; the kernel's
# own are only told. That kernel takes long to build, and the tests minutes in it.
#
# place: host
# timeout: 900
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"
cd "$top"

[[ -n ${LONG-} ]] || ktap_skip_all "minutes under KCSAN, with LONG=1"
tests=()
while read -r file; do
	[[ $(directive "$file" place) != *'vm smp'* ]] || tests+=("$(basename "$file" .sh)")
done < <(test_files "*")

dir=.build/check-race
# shellcheck disable=SC2317 # by check
race() # TEST: one that was skipped whole has shown nothing
{
	LONG='' PLACE=vm KERNEL=race CHECK_DIR=$dir scripts/run-test.sh "$1" &&
		! grep -E '^(not ok|1\.\.0)' "$dir/$1.tap"
}

# In the guest: it is at work, and the module is built for it.
# shellcheck disable=SC2016 # expanded there
works='grep -qx "enabled: 1" /sys/kernel/debug/kcsan && nm -u "$HPCCPP_KO" | grep -q __tsan_write'

echo TAP version 13
check "the module builds for the kernel with KCSAN" make build-race
check "KCSAN is on, and the module is watched" env PLACE=vm KERNEL=race \
	scripts/place.sh --smp --timeout 600 -- bash -c "$works"
for test in "${tests[@]}"; do
	check "KCSAN, two CPUs: $test" race "$test"
	while read -r line; do
		ktap_diag "of the kernel, not of the module: $line"
	done < <(foreign_races "$dir/$test.log" | sort | uniq -c | sort -rn)
done
ktap_finish
