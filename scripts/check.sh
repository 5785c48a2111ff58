#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the selftests named (all without a name) with prove, each in the places that it
# names, and say before its closing lines what was skipped and why. PLACE=uml and
# uml-debug: only those in that place. With --names first: only check the names.
#
# Those for the VM share two, or one with two CPUs, which boot once (vm/vm.sh --serve).
#
# What they said stays in CHECK_DIR, .build/check unless set.
# shellcheck disable=SC2317 # functions that traps call
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
build=$(scripts/place.sh --print)
runs=()
in_vm=0
in_smp_vm=0
for name; do
	place=$(directive "$(test_files "$name")" place)
	[[ $place == uml || ${PLACE-} == uml* ]] || runs+=("$name")
	[[ $place != *uml ]] || runs+=("$name-uml")
	[[ $place != uml && ${PLACE-} != uml* ]] || continue
	case $build:$place in
	native:*|*:host) ;;
	*:'vm smp'*)	in_smp_vm=1 ;;
	*)		: $((++in_vm)) ;;
	esac
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

# --- VMs -------------------------------------------------------------------------

vms=()
stop_vms()
{
	[[ ${#vms[@]} -eq 0 ]] || kill "${vms[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
}
trap stop_vms EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
serve() # NAME OPTION...
{
	mkdir -p "$VM_POOL/$1"
	setpriv --pdeathsig TERM scripts/vm/vm.sh -k "$build" "${@:2}" --serve "$VM_POOL/$1" \
		>"$VM_POOL/$1/said" 2>&1 &
	vms+=($!)
}
VM_POOL=$(realpath "$dir")/vms
export VM_POOL
[[ $in_vm -eq 0 ]] || serve "$build.0"
[[ $in_vm -lt 2 ]] || serve "$build.1"
[[ -z ${in_smp_vm#0} ]] || serve "$build-smp.0" --smp
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
