#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a command under a stock Debian kernel in QEMU, as root, in the same
# directory: the guest's root is this machine's, shared read-only under a tmpfs,
# so all tools are there and nothing here is touched. Only the directory named by
# the environment's RESULTS, when there is one, is shared writable.
#
# With one CPU (the default) the guest's clock counts its instructions, one per
# nanosecond, and jumps when it idles: how fast the guest sees itself run does not
# depend on this machine, and waiting costs nothing. --smp gives two CPUs, run at
# the same time, and the clock of this machine.
#
# Ends as the command does; 99 when the guest's kernel log has a splat or ends
# before the command does; 124 after --timeout seconds of wall time.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "${BASH_SOURCE%/*}/../common.sh"

usage="usage: vm.sh [-k KERNEL] [-m MB] [--smp] [--timeout SEC] [--log FILE] -- command..."
series=6.1
memory=1024
smp=
timeout=600
log=
while [[ $# -gt 0 ]]; do
	case $1 in
	-k)		series=${2-}; shift 2 || bad "$usage" ;;
	-m)		memory=${2-}; shift 2 || bad "$usage" ;;
	--smp)		smp=1; shift ;;
	--timeout)	timeout=${2-}; shift 2 || bad "$usage" ;;
	--log)		log=${2-}; shift 2 || bad "$usage" ;;
	--)		shift; break ;;
	*)		bad "unknown argument '$1'; $usage" ;;
	esac
done
[[ $# -gt 0 ]] || bad "no command; $usage"
check_series "$series"
[[ $memory =~ ^[0-9]{3,5}$ ]] || bad "-m '$memory': a number of MB from 100 to 99999"
[[ $timeout =~ ^[1-9][0-9]*$ ]] || bad "--timeout '$timeout': a number of seconds"

# What the command sees of our environment.
pass=(PLACE TESTS LONG V RESULTS TERM HPCCPP HPCCPP_KO HPCCPP_BIN PROMTOOL
	CCS FAMILIES SECONDS_PER_RUN)

tree=$("${BASH_SOURCE%/*}/kernel.sh" "$series")
tree=$(realpath "$tree")
release=$(<"$tree/release")

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
log=${log:-$tmp/log}

# The initramfs: what it takes to reach this machine's root, and the command.
mkdir -p "$tmp"/initramfs/{bin,proc,sys,dev}
cp "$(command -v busybox)" "$tmp/initramfs/bin/"
ln -s busybox "$tmp/initramfs/bin/sh"
cp "${BASH_SOURCE%/*}/vm-init.sh" "$tmp/initramfs/init"
cp "${BASH_SOURCE%/*}/guest.sh" "$tmp/initramfs/"
modules=
while read -r _ file _; do
	[[ " $modules " == *" /${file##*/} "* ]] && continue
	modules+=" /${file##*/}"
	cp "$file" "$tmp/initramfs/"
done < <(modprobe -d "$tree" -S "$release" --show-depends -a \
	virtio_pci virtio_console 9p 9pnet_virtio overlay | grep ^insmod)

guest_results
printf '%s=%q\n' release "$release" tree "$tree" modules "$modules" \
	results "$results" >"$tmp/initramfs/config"
guest_command "$@" >"$tmp/initramfs/command"
( cd "$tmp/initramfs" && find . | cpio --quiet -o -H newc ) >"$tmp/initramfs.cpio"

# The guest's output comes by pipes of its own: it is live, and what our own
# stdout and stderr are does not matter to QEMU.
mkfifo "$tmp/out" "$tmp/err"
: >"$tmp/status"
: >"$log"
cat "$tmp/out" & copies=$!
cat "$tmp/err" >&2 & copies+=" $!"

append=(console=ttyS0 loglevel=5 panic=-1 oops=panic nokaslr mitigations=off
	random.trust_cpu=on tsc=reliable no_timer_check)
if [[ -n $smp ]]; then
	cpu=(-smp 2 -accel 'tcg,thread=multi')
else
	cpu=(-smp 1 -accel tcg -icount 'shift=0,sleep=off')
	# An idle guest's clock jumps to its next timer also while it waits for
	# this machine to answer a read: nohz=off keeps these jumps at a tick.
	append+=(tsc_early_khz=1000000 nohz=off)
fi
# erms: "rep movsb" moves a byte per instruction here, so that copying alone
# would take a third of the guest's time; without it the kernel moves 8.
share=security_model=none,multidevs=remap
# pdeathsig: QEMU ends when this script does, however that is.
setpriv --pdeathsig TERM timeout --foreground -k 5 "$timeout" \
qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -display none \
	-M q35 -cpu max,-erms "${cpu[@]}" -m "$memory" \
	-kernel "$tree/vmlinux" -initrd "$tmp/initramfs.cpio" -append "${append[*]}" \
	-serial "file:$log" \
	-device virtio-serial-pci \
	-chardev "file,id=out,path=$tmp/out" -device virtserialport,chardev=out,nr=1 \
	-chardev "file,id=err,path=$tmp/err" -device virtserialport,chardev=err,nr=2 \
	-chardev "file,id=status,path=$tmp/status" -device virtserialport,chardev=status,nr=3 \
	-fsdev "local,id=root,path=/,readonly=on,$share" \
	-device virtio-9p-pci,fsdev=root,mount_tag=root \
	${results:+-fsdev "local,id=results,path=$results,$share" \
		-device virtio-9p-pci,fsdev=results,mount_tag=results} \
	</dev/null &
qemu=$!
ended=0
wait "$qemu" || ended=$?
# shellcheck disable=SC2086 # a list of numbers
wait $copies

if splat_scan "$log"; then
	printf '%s: the guest kernel complained (above)\n' "${0##*/}" >&2
	exit 99
fi
if [[ $ended -eq 124 || $ended -eq 137 ]]; then
	tail -n 20 "$log" >&2
	printf '%s: killed: not done after %s s\n' "${0##*/}" "$timeout" >&2
	exit 124
fi
status=$(<"$tmp/status")
if [[ -z $status ]]; then
	tail -n 40 "$log" >&2
	printf '%s: the VM ended before the command did (QEMU: %s)\n' "${0##*/}" "$ended" >&2
	exit 99
fi
exit "$status"
