#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a command where the module can be loaded: on this kernel when it can load
# modules (native), else in a VM. PLACE=native|vm|uml|uml-debug in the environment
# decides; KERNEL is the VM's kernel, the last two are the lab's. The command finds
# what make built for the place by HPCCPP_KO (the module), HPCCPP (the command), and
# in the lab HPCCPP_LAB (its directory). Ends as vm.sh does.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

usage="usage: place.sh --print | [--smp] [-k KERNEL] [--timeout SEC] [--log FILE] -- command..."
top=$(realpath "${BASH_SOURCE%/*}/..")
series=${KERNEL:-6.1}
timeout=600
log=
print=
vm_args=()
uml_args=()
while [[ $# -gt 0 ]]; do
	case $1 in
	--print)	print=1; shift ;;
	--smp)		vm_args+=(--smp); shift ;;
	-k)		series=${2-}; shift 2 || bad "$usage" ;;
	--timeout)	timeout=${2-}; shift 2 || bad "$usage" ;;
	--log)		log=${2-}; shift 2 || bad "$usage" ;;
	--)		shift; break ;;
	*)		bad "unknown argument '$1'; $usage" ;;
	esac
done
[[ -n $print || $# -gt 0 ]] || bad "no command; $usage"
check_series "$series"

# Why the module cannot be loaded into this kernel; nothing when it can.
not_native()
{
	if [[ $EUID -ne 0 ]]; then
		echo "not root"
	elif [[ ! -e /proc/modules ]]; then
		echo "this kernel has no loadable modules"
	elif [[ ! -e /lib/modules/$(uname -r)/build ]]; then
		echo "no headers of this kernel"
	elif ! grep -qw cgroup2 /proc/filesystems; then
		echo "this kernel has no cgroup2"
	fi
}

place=${PLACE:-auto}
why="PLACE=$place"
case $place in
auto)
	place=native
	why=$(not_native)
	if [[ -n $why ]]; then
		place=vm
	else
		why="this kernel can load modules"
	fi ;;
native)
	reason=$(not_native)
	[[ -z $reason ]] || die "PLACE=native: $reason" ;;
vm|uml|uml-debug) ;;
*)	bad "PLACE '$place': auto, native, vm, uml or uml-debug" ;;
esac
case $place in
native)		build=native ;;
vm)		build=$series ;;
uml*)		build=${place/uml/lab} ;;
esac
if [[ -n $print ]]; then
	echo "$build"
	exit
fi

step PLACE "$place${vm_args[*]:+ ${vm_args[*]}}, ${why}"
export PLACE=$place
export HPCCPP_KO=$top/.build/$build/kmod/tcp_hpccpp.ko
export HPCCPP=$top/.build/6.1/tools/hpccpp
[[ $place != native ]] || HPCCPP=$top/.build/native/tools/hpccpp
if [[ $place == uml* ]]; then
	lab_env "$top" "$build"
	export PLACE=uml
	[[ $place == uml ]] || uml_args=(--debug)
	exec "$top/scripts/lab/uml.sh" "${uml_args[@]}" --timeout "$timeout" \
		${log:+--log "$log"} -- "$@"
fi
if [[ $place == vm ]]; then
	exec "$top/scripts/vm/vm.sh" -k "$series" "${vm_args[@]}" --timeout "$timeout" \
		${log:+--log "$log"} -- "$@"
fi

tmp=
if [[ -z $log ]]; then
	tmp=$(mktemp)
	trap 'rm -f "$tmp"' EXIT
	log=$tmp
fi
mark="hpccpp: place.sh $$"
echo "$mark" >/dev/kmsg
status=0
timeout --foreground -k 60 "$timeout" "$@" || status=$?
dmesg | sed "1,/$mark/d" >"$log"
if splat_scan "$log"; then
	printf '%s: the kernel complained (above)\n' "${0##*/}" >&2
	exit 99
fi
exit "$status"
