#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run one selftest for prove: in the place, and for at most the time, that its
# head comment asks for, by lines like these (the defaults):
#
#	# place: vm		or: vm smp, host
#	# timeout: 300		seconds of wall time
#
# What it said stays in .build/check/<name>.{tap,err,log}; log is the kernel's.
# V=1 shows all of it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

test=$1
name=${test##*/}
name=${name%.*}
directive() { sed -nE "1,20s/^# $1: *(.*[^ ]) *\$/\\1/p" "$test" | head -n 1; }
place=$(directive place)
timeout=$(directive timeout)
out=.build/check/$name
mkdir -p .build/check

run=(scripts/place.sh --timeout "${timeout:-300}" --log "$out.log")
case ${place:-vm} in
vm)		;;
'vm smp')	run+=(--smp) ;;
host)		run=(setpriv --pdeathsig TERM timeout -k 5 "${timeout:-300}") ;;
*)		bad "$test: place '$place': vm, vm smp or host" ;;
esac
[[ $place == host ]] || run+=(--)

status=0
if [[ -n ${V-} ]]; then
	"${run[@]}" "./$test" 2> >(tee "$out.err" >&2) | tee "$out.tap" >(cat >&2) || status=$?
else
	"${run[@]}" "./$test" 2>"$out.err" | tee "$out.tap" || status=$?
fi
if [[ -z ${V-} ]] && { [[ $status -ne 0 ]] || grep -q '^not ok' "$out.tap"; }; then
	{
		echo "# $name: status $status, what it said ($out.*):"
		grep -v '^ok ' "$out.tap" || true
		cat "$out.err"
	} >&2
fi
exit "$status"
