#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Process 1 of the VM that vm.sh starts: first in the initramfs, with busybox, to
# put the host's root in place; then again in that root, to run commands and tell how
# they end. vm.sh writes config.

# shellcheck source=/dev/null disable=SC1091,SC2154
. "${0%/*}/config"

if [ "$1" != in-root ]; then
	. /guest.sh
	/bin/busybox --install -s /bin
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	for module in $modules; do
		insmod "$module" || fail "insmod $module"
	done

	p9=trans=virtio,version=9p2000.L,msize=512000
	mkdir -p /lower /tmpfs /newroot
	mount -t 9p -o "ro,cache=loose,$p9" root /lower || fail "mounting 9p"
	root_over_lower
	mkdir -p "lib/modules/$release"
	mount --bind "/lower$tree/lib/modules/$release" "lib/modules/$release"
	if [ -n "$results" ]; then
		mount -t 9p -o "cache=none,$p9" results ".$results" || fail "mounting $results"
	fi

	root_complete vm
	mkdir run/vm
	cp /init /config /leftovers.sh /bin/busybox run/vm
	exec switch_root /newroot /bin/sh /run/vm/init in-root
fi

# From here all of the kernel's messages go to the log at once.
echo 8 >/proc/sys/kernel/printk

# kill_all: but for what brings the output
kill_all()
{
	for process in /proc/[0-9]*; do
		case ${process#/proc/} in
		1|"$out"|"$err") ;;
		*) kill -9 "${process#/proc/}" 2>/dev/null ;;
		esac
	done
}

# with_terminal: the command, on a terminal of the size that we are told
with_terminal()
{
	while read -r rows cols; do
		stty -F /dev/hvc0 rows "$rows" cols "$cols"
	done </dev/vport0p5 &
	(
		stty sane rows "${size% *}" cols "${size#* }"
		setsid -c -w /bin/bash -c "$command"
	) <>/dev/hvc0 >&0 2>&0
}

# A port can be open only once and so could not be opened as /dev/stderr.
mkfifo /run/vm/out /run/vm/err
exec 3<>/dev/vport0p3
[ -z "$shared" ] || /bin/bash /run/vm/leftovers.sh --before
echo ready >&3
while IFS= read -r command <&3; do
	read -r uptime _ </proc/uptime
	echo "<6>vm-init: command starts at $uptime s" >/dev/kmsg
	cat /run/vm/out >/dev/vport0p1 3>&- &
	out=$!
	cat /run/vm/err >/dev/vport0p2 3>&- &
	err=$!
	exec 4>/run/vm/out 5>/run/vm/err

	if [ -n "$size" ]; then
		with_terminal 3>&- 4>&- 5>&-
	else
		/bin/bash -c "$command" </dev/null >&4 2>&5 3>&- 4>&- 5>&-
	fi
	status=$?
	left=
	if [ -n "$shared" ]; then
		/bin/bash /run/vm/leftovers.sh "$out" "$err" 2>&5 3>&- 4>&- 5>&- || left=left
	fi

	# What the command left running may hold the pipes open.
	kill_all
	exec 4>&- 5>&-
	wait "$out" "$err"
	sync
	echo "<6>vm-init: command ended with status $status" >/dev/kmsg
	echo "$status $left" >&3
done
