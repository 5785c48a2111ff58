#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs selftests with prove, two at a time.
#
#	check.sh [--builds] check|all|long [TEST...]
#
# A place is where a test runs: "host" is this machine, "uml" the lab's kernel, "uml-debug" the
# same with KASAN, lockdep and kmemleak, "6.1", "6.12" and "7.3" are stock kernels in a VM, "race"
# is 6.1 with KCSAN, and "native" is the kernel of this machine. Lines in the head comment of a test
# set its places:
#
#	# check: uml 6.1 main	make check runs it there; "main": only its main cases
#	# check-all: 6.12	make check-all runs it there, and its other cases in the places of "main"
#	# check-long: 6.1	make check-long runs it there
#	# cpus: 2		number of CPUs in a VM (default: 1)
#	# usual: 30		seconds on two idle cores (default); limit_of() derives the limit
#
# make check-long runs each test with LONG=1 in the places of all three lines, and without LONG=1
# in uml-debug, 6.12 and race. Named tests run whole, in their places of check and check-all.
# PLACE=uml, uml-debug or vm restricts every level to that place. With PLACE=native the kernel of
# this machine replaces the VM. KERNEL=6.1 replaces all other series. No test starts after the
# time UNTIL (seconds since the epoch). With --builds, prints what make has to build for the tests,
# and runs none.
#
# The output of a run is in CHECK_DIR (.build/check unless set). The last line is the number of
# tests that passed, failed and were skipped; the file "totals" there has it, too.
# shellcheck disable=SC2317 # functions called by traps
set -euo pipefail
cd "${BASH_SOURCE%/*}/.."
# shellcheck source-path=SCRIPTDIR source=common.sh
. scripts/common.sh

builds_only=
if [[ ${1-} == --builds ]]; then
	builds_only=1
	shift
fi
LEVEL=${1-}
shift || true
[[ $LEVEL == @(check|all|long) ]] || bad "level '$LEVEL' (levels: check all long)"
[[ $LEVEL != long ]] || export LONG=1
[[ ${UNTIL-} =~ ^[0-9]*$ ]] || bad "UNTIL '$UNTIL': seconds since the epoch"
known=()
while read -r file; do
	known+=("$(basename "$file" .sh)")
done < <(test_files "*")
for name; do
	[[ " ${known[*]} " == *" $name "* ]] || bad "no test '$name' (tests: ${known[*]})"
done
scripts/place.sh --print >/dev/null	# PLACE and KERNEL are valid

# --- Which runs ------------------------------------------------------------------

# has PLACE LIST: whether the list of places has it
has() { [[ " $2 " == *" $1 "* ]]; }

# places TEST-FILE: the places where the level runs it, one a line
places()
{
	local check all long place whole=''
	check=$(directive "$1" check) all=$(directive "$1" check-all) long=$(directive "$1" check-long)
	[[ -n $check$all$long ]] || bad "$1: no line check, check-all or check-long"
	case $LEVEL in
	check)	all='' long='' ;;
	all)	[[ $check == *main ]] || whole=$check check=''
		long='' ;;
	named)	[[ ${PLACE-} == vm || -z $check$all ]] || long='' ;;
	long)	place="$check $all $long"
		! has uml "$place" || long+=' uml-debug'
		! has 6.1 "$place" || long+=' 6.12'
		! has 6.1 "$place" || [[ $(directive "$1" cpus) != 2 ]] || long+=' race' ;;
	esac
	for place in ${check% main} $all $long; do
		has "$place" "host uml uml-debug $series_list race" || bad "$1: place '$place'"
		# KERNEL may be that of make check
		! has "${KERNEL:-$place}" "$whole" || continue
		case ${PLACE-}:$place in
		:host | native:host)	echo host ;;
		uml:uml | uml-debug:uml*)	echo "$PLACE" ;;
		:uml* | native:uml)	echo "$place" ;;
		native:[67]*)		echo native ;;
		:[67r]* | vm:[67r]*)	echo "${KERNEL:-$place}" ;;
		esac
	done | sort -u
}

# runs_of TEST...: a line "ORDER NAME@PLACE" for each run. Without a time to end, the long ones are
# first, so that none of them ends alone; with one, those of TCP.
runs_of()
{
	local name file usual order
	for name; do
		file=$(test_files "$name")
		usual=$(directive "$file" usual)
		[[ ${usual:-30} =~ ^[1-9][0-9]*$ ]] || bad "$file: usual '$usual': seconds"
		[[ $(directive "$file" cpus) == @(|2) ]] || bad "$file: cpus: 2 is possible"
		order=$((1000 - ${usual:-30}))
		[[ -z ${UNTIL-} ]] || case $file in
		selftests/net/*)	order=1$order ;;
		selftests/host/*)	order=2$order ;;
		selftests/roce/*)	order=3$order ;;
		*)			order=4$order ;;
		esac
		places "$file" | sed "s/^/$order $name@/" || exit
	done
}

[[ $# -eq 0 || $LEVEL == long ]] || LEVEL=named
export LEVEL
[[ $# -gt 0 ]] || set -- "${known[@]}"
list=$(runs_of "$@") || exit
mapfile -t runs < <(sort -s -n -k1,1 <<<"$list" | cut -d' ' -f2)
[[ -n $list ]] || die "make check${LONG:+-long} does not run these tests${PLACE:+ with PLACE=$PLACE}"
if [[ -n $builds_only ]]; then
	# host tests use these two
	printf '%s\n' build-6.1 build-lab "${runs[@]/#*@/build-}" |
		sed 's/^build-uml/build-lab/; /^build-host$/d' | sort -u
	exit
fi
declare -A in_vm=()
for run in "${runs[@]}"; do
	kind=${run#*@}
	[[ $kind == [67r]* ]] || continue
	[[ $(directive "$(test_files "${run%@*}")" cpus) != 2 ]] || kind+=-smp
	in_vm[$kind]=$((${in_vm[$kind]-0} + 1))
done

dir=${CHECK_DIR:-.build/check}
[[ -z ${CHECK_DIR-} || ! -e $dir || -e $dir/.check ]] ||
	bad "CHECK_DIR '$dir': exists and was not made by check.sh"
rm -rf "$dir"
mkdir -p "$dir"
touch "$dir/.check"

# A VM cannot keep what it downloads.
if [[ " ${runs[*]}" == *" operate@"* ]]; then
	PROMTOOL=$(scripts/promtool.sh) || true
	export PROMTOOL
fi

# --- VMs -------------------------------------------------------------------------

vms=()
stop_vms()
{
	[[ ${#vms[@]} -eq 0 ]] || kill "${vms[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
	vms=()
}
trap stop_vms EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
serve() # NAME OPTION...
{
	mkdir -p "$VM_POOL/$1"
	setpriv --pdeathsig TERM scripts/vm/vm.sh "${@:2}" --serve "$VM_POOL/$1" \
		>"$VM_POOL/$1/said" 2>&1 &
	vms+=($!)
	echo $! >"$VM_POOL/$1/server"
}
VM_POOL=$(realpath "$dir")/vms
export VM_POOL
for kind in "${!in_vm[@]}"; do
	if [[ $kind == *-smp ]]; then
		serve "$kind.0" -k "${kind%-smp}" --smp
		continue
	fi
	serve "$kind.0" -k "$kind"
	[[ ${in_vm[$kind]} -lt 2 || $LEVEL == check ]] || serve "$kind.1" -k "$kind"
done

# --- The report ------------------------------------------------------------------

# alone NAME@PLACE: the command that runs only that
alone()
{
	local arguments=()
	case ${1#*@} in
	host)		;;
	uml | uml-debug | native)	arguments=("PLACE=${1#*@}") ;;
	*)		arguments=(PLACE=vm "KERNEL=${1#*@}") ;;
	esac
	[[ -n ${KERNEL-} || ${1#*@} != 6.12 ]] || local LONG=
	echo make "check${LONG:+-long}" "TESTS=${1%@*}" "${arguments[@]}" V=1
}

# skips: one line per reason, with the number of tests
skips()
{
	local run
	for run in "${runs[@]}"; do
		[[ ! -e $dir/$run.tap ]] || sed -nE "s/^(ok|1\.\.0).*# *[sS][kK][iI][pP] *(.*)/$run\t\2/p" "$dir/$run.tap"
	done | awk -F'\t' '
		!($2 in n)			{ order[++reasons] = $2 }
		!seen[$2, $1]++			{ names[$2] = names[$2] (n[$2] ? ", " : "") $1 }
		{ n[$2]++ }
		END {
			for (i = 1; i <= reasons; i++)
				printf "Skipped: %d in %s: %s\n", n[order[i]], names[order[i]], order[i]
		}'
}

# fits_plan NAME@PLACE: true if it has one plan, and a result for each test of it
fits_plan()
{
	awk '/^1\.\.[0-9]+/ { plans++; n = substr($1, 4) } /^(not )?ok / { ran++ }
		END { exit !(plans == 1 && n == ran + 0) }' "$dir/$1.tap"
}

# ended NAME@PLACE: prints why the run failed although no test of it did. Returns false if it ended
# as planned, or a test of it failed.
ended()
{
	local left
	case $(cat "$dir/$1.status" 2>/dev/null) in
	0|4)	fits_plan "$1" && return 1
		echo "the number of results is not the planned number" ;;
	98)	left=$(sed -n 's/^left behind: /left behind: /p; s/^changed: /changed: /p' "$dir/$1.err")
		echo "${left//$'\n'/; }" ;;
	99)	echo "the kernel logged an error, or ended" ;;
	124)	echo "not done after $(limit_of "$1") s" ;;
	'')	echo "not run" ;;
	*)	grep -q '^not ok' "$dir/$1.tap" && return 1
		echo "status $(<"$dir/$1.status")" ;;
	esac
}

failures()
{
	local run how
	for run in "${runs[@]}"; do
		how=$(ended "$run") || how=
		[[ -n $how ]] || grep -q '^not ok' "$dir/$run.tap" 2>/dev/null || continue
		sed -n "s/^not ok/$run: &/p" "$dir/$run.tap" 2>/dev/null || true
		[[ -z $how ]] || echo "$run: not ok: $how"
		echo "	$dir/$run.{tap,err,log}; alone: $(alone "$run")"
	done
}

# slowest: the ten runs that took longest, and the CPU time of all
slowest()
{
	local cpu run
	stop_vms
	times >"$dir/times"
	cpu=$(awk -F'[ms ]' '{ s += 60 * ($1 + $4) + $2 + $5 } END { printf "%.0f", s }' "$dir/times")
	echo "CPU time: $cpu s; wall time: $SECONDS s; the slowest:"
	for run in "${runs[@]}"; do
		[[ ! -e $dir/$run.seconds ]] || echo "$run $(<"$dir/$run.seconds")"
	done | sort -rn -k2,2 |
		awk 'NR <= 10 { printf "%6d s  %s\n", $2, $1 }'
}

totals()
{
	local run
	for run in "${runs[@]}"; do
		[[ ! -e $dir/$run.tap ]] || sed -nE \
			's/^(ok|1\.\.0).*# *[sS][kK][iI][pP].*/skipped/p; t; s/^ok.*/passed/p; s/^not ok.*/failed/p' "$dir/$run.tap"
		! ended "$run" >/dev/null || echo failed
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
slowest
totals | tee "$dir/totals"
exit "$status"
