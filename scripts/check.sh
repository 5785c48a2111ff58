#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the selftests named (all without a name) with prove, two at a time, each in the
# places that it names. PLACE=uml and uml-debug: only those in that place. With --names
# first: only check the names.
#
# Those for the VM share two, or one with two CPUs, which boot once (vm/vm.sh --serve).
#
# What they said stays in CHECK_DIR, .build/check unless set; the last line, how many
# tests passed, failed and were skipped, also in the file "totals" there.
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
	case ${PLACE-}:$place in
	uml*|*:uml)	here= ;;
	:long-vm*)	here=${LONG-} ;;
	*)		here=1 ;;
	esac
	[[ -z $here ]] || runs+=("$name")
	[[ $place != *uml ]] || runs+=("$name-uml")
	[[ -n $here ]] || continue
	case $build:$place in
	native:*|*:host) ;;
	*:*'vm smp'*)	in_smp_vm=1 ;;
	*)		: $((++in_vm)) ;;
	esac
done
[[ ${#runs[@]} -gt 0 ]] || die "none of these tests is for PLACE=${PLACE-}"
# what may take long first, so that none of these ends alone
mapfile -t runs < <(for name in "${runs[@]}"; do
	echo "$(timeout_of "$(test_files "${name%-uml}")") $name"
done | sort -s -rn -k1,1 | cut -d' ' -f2)

dir=${CHECK_DIR:-.build/check}
[[ -z ${CHECK_DIR-} || ! -e $dir || -e $dir/.check ]] ||
	bad "CHECK_DIR '$dir': is there, and not of a check before"
rm -rf "$dir"
mkdir -p "$dir"
touch "$dir/.check"

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
	echo $! >"$VM_POOL/$1/server"
}
VM_POOL=$(realpath "$dir")/vms
export VM_POOL
[[ $in_vm -eq 0 ]] || serve "$build.0"
[[ $in_vm -lt 2 ]] || serve "$build.1"
[[ -z ${in_smp_vm#0} ]] || serve "$build-smp.0" --smp

# --- What is said of them --------------------------------------------------------

# alone NAME: the command that runs only that
alone()
{
	local check=check${LONG:+-long}
	case $1 in
	*-uml)	echo "make $check TESTS=${1%-uml} PLACE=${PLACE:-uml} V=1" ;;
	*)	echo "make $check TESTS=$1${PLACE:+ PLACE=$PLACE}${KERNEL:+ KERNEL=$KERNEL} V=1" ;;
	esac
}

# A reason a line: what was skipped for it, and how many that were.
skips()
{
	local name
	for name in "${runs[@]}"; do
		[[ ! -e $dir/$name.tap ]] || sed -nE "s/^(ok|1\.\.0).*# *[sS][kK][iI][pP] *(.*)/$name\t\2/p" "$dir/$name.tap"
	done | awk -F'\t' '
		!($2 in n)			{ order[++reasons] = $2 }
		!seen[$2, $1]++			{ names[$2] = names[$2] (n[$2] ? ", " : "") $1 }
		{ n[$2]++ }
		END {
			for (i = 1; i <= reasons; i++)
				printf "Skipped: %d of %s: %s\n", n[order[i]], names[order[i]], order[i]
		}'
}

# fits_plan NAME: it has one plan, and as many results
fits_plan()
{
	awk '/^1\.\.[0-9]+/ { plans++; n = substr($1, 4) } /^(not )?ok / { ran++ }
		END { exit !(plans == 1 && n == ran + 0) }' "$dir/$1.tap"
}

# ended NAME: how a test did that has no "not ok" to show for it
ended()
{
	local left
	case $(cat "$dir/$1.status" 2>/dev/null) in
	0|4)	fits_plan "$1" && return 1
		echo "it ran other tests than it planned" ;;
	98)	left=$(sed -n 's/^left behind: /left behind: /p; s/^changed: /changed: /p' "$dir/$1.err")
		echo "${left//$'\n'/; }" ;;
	99)	echo "the kernel complained, or ended" ;;
	124)	echo "not done after $(limit_of "$1") s" ;;
	'')	echo "not run" ;;
	*)	grep -q '^not ok' "$dir/$1.tap" && return 1
		echo "status $(<"$dir/$1.status")" ;;
	esac
}

failures()
{
	local name how
	for name in "${runs[@]}"; do
		how=$(ended "$name") || how=
		[[ -n $how ]] || grep -q '^not ok' "$dir/$name.tap" 2>/dev/null || continue
		sed -n "s/^not ok/$name: &/p" "$dir/$name.tap" 2>/dev/null || true
		[[ -z $how ]] || echo "$name: not ok: $how"
		echo "	$dir/$name.{tap,err,log}; alone: $(alone "$name")"
	done
}

totals()
{
	local name
	for name in "${runs[@]}"; do
		[[ ! -e $dir/$name.tap ]] || sed -nE \
			's/^(ok|1\.\.0).*# *[sS][kK][iI][pP].*/skipped/p; t; s/^ok.*/passed/p; s/^not ok.*/failed/p' "$dir/$name.tap"
		! ended "$name" >/dev/null || echo failed
	done | awk '{ n[$1]++ } END { printf "%d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"] }'
}

status=0
finished=0
prove -j2 --timer --exec scripts/run-test.sh "${runs[@]}" |
while IFS= read -r line; do
	if [[ $line =~ ^(\[[0-9:]+\])\ ([^ ]+)\ \.\. && " ${runs[*]} " == *" ${BASH_REMATCH[2]} "* ]]; then
		line="$((++finished)) of ${#runs[@]} $line"
	fi
	printf '%s\n' "$line"
done || status=$?
skips
failures
totals | tee "$dir/totals"
exit "$status"
