# SPDX-License-Identifier: GPL-2.0
# Sourced by process 1 of the VM (vm-init.sh) and of the lab (lab/uml.sh) in the
# initramfs: the host's root, read-only in /lower, as ours in /newroot. What is
# written goes to a tmpfs.
# shellcheck shell=sh

fail()
{
	echo "<2>init: $* failed" >/dev/kmsg
	/bin/busybox poweroff -f
}

# root_over_lower: /newroot over /lower, entered; other mounts can follow there.
root_over_lower()
{
	mount -t tmpfs -o size=75% tmpfs /tmpfs
	mkdir /tmpfs/upper /tmpfs/work
	mount -t overlay -o lowerdir=/lower,upperdir=/tmpfs/upper,workdir=/tmpfs/work \
		overlay /newroot || fail "mounting overlay"
	cd /newroot || fail "cd"
	mount -t tmpfs -o mode=755 tmpfs run
	mkdir -p run/lock
}

# root_complete HOSTNAME: /dev, /proc and /sys go there; switch_root comes next.
root_complete()
{
	mount --move /dev dev
	mkdir -p dev/pts dev/shm
	mount -t devpts -o ptmxmode=666 devpts dev/pts
	mount -t tmpfs -o mode=1777 tmpfs dev/shm
	ln -s /proc/self/fd dev/fd
	ln -s fd/0 dev/stdin
	ln -s fd/1 dev/stdout
	ln -s fd/2 dev/stderr
	hostname "$1"
	mount --move /proc proc
	mount --move /sys sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup || fail "mounting cgroup2"
	mount -t bpf bpf sys/fs/bpf || fail "mounting bpf"
	! grep -qw debugfs proc/filesystems || mount -t debugfs debugfs sys/kernel/debug
	mount -t tracefs tracefs sys/kernel/tracing || fail "mounting tracefs"
	ip link set lo up
}
