#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs one selftest for prove: NAME@PLACE, as check.sh describes. The environment has the LEVEL:
# "check" runs the main cases of a test that has them marked, "all" the others, else all run.
#
# The output stays in CHECK_DIR (.build/check unless set) as NAME@PLACE.{tap,err,log}, where log
# is the kernel's, .status, and .seconds of wall time. V=1 also shows it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

run=$1
place=${run#*@}
test=$(test_files "${run%@*}")
limit=$(limit_of "$run")
dir=${CHECK_DIR:-.build/check}
out=$dir/$run
mkdir -p "$dir"
if [[ -n ${UNTIL-} && $(date +%s) -ge $UNTIL ]]; then
	echo "1..0 # SKIP not started: the time for this run was over" | tee "$out.tap"
	echo 4 >"$out.status"
	exit
fi

command=(scripts/place.sh --timeout "$limit" --log "$out.log")
case $place in
host)		command=(env -u PLACE -u VM_POOL setpriv --pdeathsig TERM timeout -k 60 "$limit") ;;
uml | native)	export PLACE=$place ;;
uml-debug)	export PLACE=$place
		unset LONG ;;
[67].*)		[[ -n ${KERNEL-} || $place == 6.1 ]] || unset LONG
		export PLACE=vm KERNEL=$place ;;
race)		export PLACE=vm KERNEL=$place
		unset LONG ;;
*)		bad "$run: place '$place' (places: host uml uml-debug native $series_list race)" ;;
esac
[[ $(directive "$test" cpus) != 2 || $place == host ]] || command+=(--smp)
[[ $place == host ]] || command+=(--)

# The line names the place, or the one that this place replaces.
case $place in
uml*)		lined=uml ;;
[67].* | race | native)	lined=6 ;;
*)		lined=$place ;;
esac
unset CASES
if [[ " $(directive "$test" check)" == *" $lined"*main ]]; then
	case ${LEVEL-} in
	check)	export CASES=main ;;
	all)	export CASES=rest ;;
	esac
fi

status=0
start=$SECONDS
if [[ -n ${V-} ]]; then
	"${command[@]}" "./$test" 2> >(tee "$out.err" >&2) | tee "$out.tap" >(cat >&2) || status=$?
else
	"${command[@]}" "./$test" 2>"$out.err" | tee "$out.tap" || status=$?
fi
echo "$((SECONDS - start))" >"$out.seconds"
echo "$status" >"$out.status"
if [[ -z ${V-} ]] && { [[ $status -ne 0 && $status -ne 4 ]] || grep -q '^not ok' "$out.tap"; }; then
	{
		echo "# $run: status $status, output ($out.*):"
		grep -v '^ok ' "$out.tap" || true
		cat "$out.err"
	} >&2
fi
# 4 is kselftest's status of a skipped test. prove expects 0 for it, and reads the plan.
[[ $status -ne 4 ]] || status=0
exit "$status"
