#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a command where the module can be loaded: in a VM, as to load it into the kernel of
# this machine is for its owner to decide. PLACE=native|vm|uml|uml-debug in the environment
# does; KERNEL is the VM's kernel, the last two are the lab's. The command finds
# what make built for the place by HPCCPP_KO (the module), HPCCPP (the command), and
# in the lab HPCCPP_LAB (its directory). Ends as vm.sh does.
# It says where that is, but not with -q. --print says what is built for the place,
# --where what the place is.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

usage="usage: place.sh --print|--where | [-q] [--smp] [--tty] [-k KERNEL] [--timeout SEC] [--log FILE] -- command..."
top=$(realpath "${BASH_SOURCE%/*}/..")
series=${KERNEL:-6.1}
timeout=600
log=
print=
quiet=
tty=
vm_args=()
uml_args=()
while [[ $# -gt 0 ]]; do
	case $1 in
	--print|--where) print=$1; shift ;;
	-q)		quiet=1; shift ;;
	--smp)		vm_args+=(--smp); shift ;;
	--tty)		tty=1; vm_args+=(--tty); shift ;;
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

place=${PLACE:-vm}
case $place in
native)
	build=native
	where="this machine's own kernel, $(uname -r): it loads the module"
	reason=$(not_native)
	[[ -z $reason ]] || die "PLACE=native: $reason" ;;
vm)
	build=$series
	where="a virtual machine, Linux $series"
	[[ -n ${PLACE-} || -n $(not_native) ]] ||
		where+="; PLACE=native loads the module into this machine's kernel instead" ;;
uml|uml-debug)
	build=${place/uml/lab}
	where="the kernel of the lab"
	[[ -z $tty ]] || bad "PLACE '$place': native or vm, where it takes a terminal" ;;
*)	bad "PLACE '$place': native, vm, uml or uml-debug" ;;
esac
case $print in
--print)	echo "$build"; exit ;;
--where)	echo "$where"; exit ;;
esac

[[ -n $quiet ]] || step PLACE "$place${vm_args[*]:+ ${vm_args[*]}}: $where"
export PLACE=$place
export HPCCPP_KO=$top/.build/$build/kmod/tcp_hpccpp.ko
export HPCCPP=$top/.build/6.1/tools/hpccpp
[[ $place != native ]] || HPCCPP=$top/.build/native/tools/hpccpp
if [[ $place == uml* ]]; then
	lab_env "$top" "$build"
	export PLACE=uml
	[[ $place == uml ]] || uml_args=(--debug)
	exec "$top/scripts/lab/uml.sh" "${uml_args[@]}" --sockets 8192 --timeout "$timeout" \
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
