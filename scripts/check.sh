#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the selftests named (all without a name) with prove, each in the places that it
# names, and say before its closing lines what was skipped and why. PLACE=uml and
# uml-debug: only those in that place. With --names first: only check the names.
# What they said stays in CHECK_DIR, .build/check unless set.
set -euo pipefail
cd "${BASH_SOURCE%/*}/.."
# shellcheck source-path=SCRIPTDIR source=common.sh
. scripts/common.sh

names_only=
if [[ ${1-} == --names ]]; then
	names_only=1
	shift
fi
known=()
while read -r file; do
	known+=("$(basename "$file" .sh)")
done < <(test_files "*")
for name; do
	[[ " ${known[*]} " == *" $name "* ]] || bad "no test '$name' (tests: ${known[*]})"
done
[[ -z $names_only ]] || exit 0
[[ $# -gt 0 ]] || set -- "${known[@]}"
runs=()
for name; do
	place=$(directive "$(test_files "$name")" place)
	[[ $place == uml || ${PLACE-} == uml* ]] || runs+=("$name")
	[[ $place != *uml ]] || runs+=("$name-uml")
done
[[ ${#runs[@]} -gt 0 ]] || die "none of these tests is for PLACE=$PLACE"
# what may take long first, so that none of these ends alone
mapfile -t runs < <(for name in "${runs[@]}"; do
	echo "$(timeout_of "$(test_files "${name%-uml}")") $name"
done | sort -s -rn -k1,1 | cut -d' ' -f2)

dir=${CHECK_DIR:-.build/check}
rm -rf "$dir"
mkdir -p "$dir"

# what is fetched in a VM does not stay
if [[ " ${runs[*]} " == *" operate "* ]]; then
	PROMTOOL=$(scripts/promtool.sh) || true
	export PROMTOOL
fi
skips()
{
	local name count
	for name; do
		[[ -e $dir/$name.tap ]] || continue
		count=$(grep -ciE '^(ok|1\.\.0).*# *skip' "$dir/$name.tap") || continue
		echo "Skipped: $name: $count"
		sed -nE 's/^(ok|1\.\.0)(.*[^ ])? *# *[sS][kK][iI][pP]/\t\2:/p' "$dir/$name.tap"
	done
}
prove -j2 --timer --exec scripts/run-test.sh "${runs[@]}" |
while IFS= read -r line; do
	case $line in
	'All tests successful'*|'Test Summary Report'*|'Files='*)
		[[ -n ${said-} ]] || skips "${runs[@]}"
		said=1 ;;
	esac
	printf '%s\n' "$line"
done
