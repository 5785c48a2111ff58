#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The oldest and the newest clang of scripts/matrix build the command without a warning, and the
# oldest kernel loads the programs of its agents.
#
# check-all: host
# usual: 150
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"

echo TAP version 13
read -r kernel _ <<<"$(matrix kernel)"
for clang in $(matrix clang); do
	out=$tmp/$clang
	check "clang $clang builds the command" \
		make -s -C "$top/tools" O="$out" CLANG="clang-$clang" CFLAGS="-O2 -g -Werror"
	check "... and progs_test" make -s -C "$top/selftests" O="$out" SKELS="$out" "$out/progs_test"
	check "... whose programs Linux $kernel loads" \
		env PLACE=vm KERNEL="$kernel" "$top/scripts/place.sh" -q --timeout 1200 -- "$out/progs_test"
done
ktap_finish
