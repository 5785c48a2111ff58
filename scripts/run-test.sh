#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run one selftest for prove: NAME, or NAME-uml for its run in the lab's kernel. For
# at most the time, and in a place, that its head comment asks for by lines like
# these (the defaults):
#
#	# place: vm		or: vm smp, host, uml; or "vm uml", "vm smp uml": in both;
#				"long-vm uml", "long-vm smp uml": in the VM with LONG=1 or PLACE=vm;
#				long-vm: only there
#	# timeout: 300		seconds of wall time on a quick machine: what takes four
#				times that is ended, with LONG=1 20 times
#
# What it said stays in .build/check/<name>.{tap,err,log}, or in CHECK_DIR instead;
# log is the kernel's. How it ended is in <name>.status.
# V=1 shows all of it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

name=$1
test=$(test_files "${name%-uml}")
place=$(directive "$test" place)
timeout=$(limit_of "$name")
dir=${CHECK_DIR:-.build/check}
out=$dir/$name
mkdir -p "$dir"

if [[ $name == *-uml ]]; then
	[[ ${PLACE-} == uml* ]] || export PLACE=uml
	place=uml
fi
run=(scripts/place.sh --timeout "$timeout" --log "$out.log")
case ${place:-vm} in
vm|'vm uml'|long-vm|'long-vm uml'|uml) ;;
'vm smp'*|'long-vm smp'*)	run+=(--smp) ;;
host)		run=(env -u PLACE -u VM_POOL setpriv --pdeathsig TERM timeout -k 60 "$timeout") ;;
*)		bad "$test: place '$place': vm, vm smp, vm uml, vm smp uml, long-vm, long-vm uml, long-vm smp uml, uml or host" ;;
esac
[[ $place == host ]] || run+=(--)

status=0
if [[ -n ${V-} ]]; then
	"${run[@]}" "./$test" 2> >(tee "$out.err" >&2) | tee "$out.tap" >(cat >&2) || status=$?
else
	"${run[@]}" "./$test" 2>"$out.err" | tee "$out.tap" || status=$?
fi
echo "$status" >"$out.status"
if [[ -z ${V-} ]] && { [[ $status -ne 0 && $status -ne 4 ]] || grep -q '^not ok' "$out.tap"; }; then
	{
		echo "# $name: status $status, what it said ($out.*):"
		grep -v '^ok ' "$out.tap" || true
		cat "$out.err"
	} >&2
fi
# kselftest's status of a test that was skipped: prove goes by the plan, and would fail it.
# One that ended early has none.
[[ $status -ne 4 ]] || status=0
exit "$status"
