#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Process 1 of the VM that vm.sh starts: first in the initramfs, with busybox, to
# put the host's root in place; then again in that root, to run the command and
# bring back what it says and how it ends. vm.sh writes config and command.

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
	cp /init /config /command /bin/busybox run/vm
	exec switch_root /newroot /bin/sh /run/vm/init in-root
fi

# From here all of the kernel's messages go to the log at once.
echo 8 >/proc/sys/kernel/printk
read -r uptime _ </proc/uptime
echo "<6>vm-init: command starts after $uptime s" >/dev/kmsg

# A port can be open only once and so could not be opened as /dev/stderr.
mkfifo /run/vm/out /run/vm/err
cat /run/vm/out >/dev/vport0p1 &
out=$!
cat /run/vm/err >/dev/vport0p2 &
err=$!

/bin/bash /run/vm/command </dev/null >/run/vm/out 2>/run/vm/err
status=$?

# What the command left running may hold the pipes open.
for process in /proc/[0-9]*; do
	case ${process#/proc/} in
	1|"$out"|"$err") ;;
	*) kill -9 "${process#/proc/}" 2>/dev/null ;;
	esac
done
wait "$out" "$err"
sync
echo "<6>vm-init: command ended with status $status" >/dev/kmsg
echo "$status" >/dev/vport0p3
exec /run/vm/busybox poweroff -f
