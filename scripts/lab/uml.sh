#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run a command in virtual time: in the lab's kernel (kernel.sh), as root, in the
# same directory. The guest's root is this machine's, read-only under a tmpfs, so
# all tools are there and nothing here is touched. Only the directory named by the
# environment's RESULTS, when there is one, is shared writable.
#
# The guest's clock stands still while it computes and jumps when it idles: what it
# measures is what its links and timers are set to, however fast this machine is,
# and waiting costs nothing. Nothing else gets in: of the environment it has the
# names in "pass" below, its random numbers are those of --seed, and it runs on one
# CPU, --cpu of this machine. So two runs of one command are the same to the byte,
# as far as it reads what is the same. Longer paths take some ns longer to look up:
# the traffic (tgen.c) begins with a tick. selftests/lab/repeat.sh is the proof.
#
# --tmp: the guest sees this machine's /tmp, too; else its own is empty.
# --debug: in the kernel that checks itself, of kernel.sh --debug.
#
# Ends as the command does; 99 when the guest's kernel log has a splat or ends
# before the command does; 124 after --timeout seconds of wall time.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "${BASH_SOURCE%/*}/../common.sh"

usage="usage: uml.sh [--debug] [--seed N] [--cpu N] [--mem SIZE] [--sockets N] [--tmp] [--timeout SEC] [--log FILE] -- command..."
seed=1
cpu=
memory=2G
sockets=1048576
tmpfs=1
timeout=600
log=
debug=()
while [[ $# -gt 0 ]]; do
	case $1 in
	--debug)	debug=(--debug); shift ;;
	--seed)		seed=${2-}; shift 2 || bad "$usage" ;;
	--cpu)		cpu=${2-}; shift 2 || bad "$usage" ;;
	--sockets)	sockets=${2-}; shift 2 || bad "$usage" ;;
	--mem)		memory=${2-}; shift 2 || bad "$usage" ;;
	--tmp)		tmpfs=; shift ;;
	--timeout)	timeout=${2-}; shift 2 || bad "$usage" ;;
	--log)		log=${2-}; shift 2 || bad "$usage" ;;
	--)		shift; break ;;
	*)		bad "unknown argument '$1'; $usage" ;;
	esac
done
[[ $# -gt 0 ]] || bad "no command; $usage"
[[ $seed =~ ^(0|[1-9][0-9]{0,17})$ ]] || bad "--seed '$seed': a number"
[[ $cpu =~ ^[0-9]*$ ]] || bad "--cpu '$cpu': a number of a CPU"
[[ $memory =~ ^[1-9][0-9]*[MG]$ ]] || bad "--mem '$memory': a number with M or G"
[[ $sockets =~ ^[1-9][0-9]*$ ]] || bad "--sockets '$sockets': a number"
[[ $timeout =~ ^[1-9][0-9]*$ ]] || bad "--timeout '$timeout': a number of seconds"

# What the command sees of our environment.
pass=(PLACE LONG CASES SEED RESULTS V HPCCPP HPCCPP_KO HPCCPP_BIN HPCCPP_LAB HPCCPP_BTF OWN OWN_KO OWN_SYSCTLS)

tree=$("${BASH_SOURCE%/*}/kernel.sh" "${debug[@]}")
tree=$(realpath "$tree")

# On a tmpfs: what the command says goes by files there, and is shown from them.
# A pipe may be full, and the guest would see how long we take to empty it.
shm=/dev/shm
[[ -w $shm ]] || shm=${TMPDIR:-/tmp}
tmp=$(mktemp -d "$shm/uml.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
log=${log:-$tmp/log}

guest_results

# The initramfs: what it takes to reach this machine's root, and the command. It
# is not seen on the guest's command line, which is the same for all runs.
mkdir -p "$tmp"/{share,initramfs/bin}
cp "$(command -v busybox)" "$tmp/initramfs/bin/"
cp "${BASH_SOURCE%/*}/../vm/guest.sh" "$tmp/initramfs/"
cat >"$tmp/initramfs/init" <<'END'
#!/bin/busybox sh
. "${0%/*}/config"

if [ "$1" != in-root ]; then
	. /guest.sh
	/bin/busybox --install -s /bin
	export PATH=/bin
	mkdir -p /proc /sys /dev /lower /tmpfs /newroot
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	mount -t hostfs -o ro,/ root /lower || fail "mounting hostfs"
	root_over_lower
	[ -z "$tmpfs" ] || mount -t tmpfs -o mode=1777 tmpfs tmp
	mkdir -p run/netns run/uml/share
	mount -t hostfs -o "$share" share run/uml/share || fail "mounting $share"
	for dir in "$cwd" "$results" "$cache"; do
		case $dir in
		/tmp/*)
			mkdir -p ".$dir"
			mount -t hostfs -o "ro,$dir" cwd ".$dir" || fail "mounting $dir" ;;
		esac
	done
	if [ -n "$results" ]; then
		mount -t hostfs -o "$results" results ".$results" || fail "mounting $results"
	fi

	root_complete uml
	cp /init /config /command /bin/busybox run/uml
	exec switch_root /newroot /run/uml/busybox sh /run/uml/init in-root
fi

# From here all of the kernel's messages go to the log at once.
echo 8 >/proc/sys/kernel/printk
# Timers of high resolution begin with the first ticks.
/run/uml/busybox usleep 3000

# Files are written through at once: nothing here waits for anything there.
/bin/bash /run/uml/command </dev/null >/run/uml/share/out 2>/run/uml/share/err
status=$?
echo "<6>init: command ended with status $status" >/dev/kmsg
for process in /proc/[0-9]*; do
	[ "$process" = /proc/1 ] || kill -9 "${process#/proc/}" 2>/dev/null
done

# Nothing younger than 5 seconds counts as leaked.
leaks=/sys/kernel/debug/kmemleak
if [ -n "$debug" ]; then
	echo scan >$leaks || echo "<4>WARNING: init: no scan for leaks" >/dev/kmsg
	/run/uml/busybox sleep 6
	echo scan >$leaks
	while read -r line; do
		echo "<4>$line" >/dev/kmsg
	done <$leaks
fi
echo "$status" >/run/uml/share/status
/run/uml/busybox sync
exec /run/uml/busybox poweroff -f
END
chmod +x "$tmp/initramfs/init"
printf '%s=%q\n' results "$results" share "$tmp/share" cwd "$PWD" cache "$cache" \
	debug "${debug[*]}" tmpfs "$tmpfs" >"$tmp/initramfs/config"
guest_command "$@" >"$tmp/initramfs/command"
( cd "$tmp/initramfs" && find . | sort | cpio --quiet --reproducible -o -H newc ) >"$tmp/initramfs.cpio"

: >"$tmp/share/out"
: >"$tmp/share/err"
: >"$log"
# One CPU, as the host's wakeups between two cost most of the time: of ours the
# first that no other guest has, or the last.
if [[ -z $cpu ]]; then
	cpus=$(taskset -cp $$ | sed -E 's/.*: //; s/([0-9]+)-([0-9]+)/{\1..\2}/g; s/,/ /g')
	for cpu in $(eval "echo $cpus"); do
		exec 8>"$cache/cpu$cpu.lock"
		! flock -n 8 || break
	done
fi

# slab_debug: memory for socket storage is got in a way that takes an instruction
# which UML does not use, or an allocator that checks (bpf_sk_storage_get() fails).
# For packets' memory that is a tenth of a run's CPU time: only where it is to find faults.
# thash_entries: the sockets of all hosts are in one table. A scenario has hundreds of thousands
# of them; with fewer, --sockets saves ss(8) the walk through empty entries.
slabs='F,kmalloc-*'
[[ ${#debug[@]} -eq 0 ]] || slabs=F
# The initrd= and the environment are UML's own and not known to the guest.
ulimit -c 0
setpriv --pdeathsig TERM timeout --foreground -k 5 "$timeout" \
env -i UML_SEED="$seed" HOME="$tmp" TMPDIR="$shm" \
taskset -c "$cpu" "$tree/linux" mem="$memory" initrd="$tmp/initramfs.cpio" \
	time-travel=inf-cpu time-travel-start=1700000000000000000 seccomp=on \
	slab_debug="$slabs" thash_entries="$sockets" hash_pointers=always quiet panic=0 oops=panic \
	con=null con0=null,fd:9 ssl=null \
	9>>"$log" </dev/null >"$tmp/uml" 2>&1 &
uml=$!
tail -q -s 0.1 --pid="$uml" -n +1 -f "$tmp/share/out" & copies=$!
tail -q -s 0.1 --pid="$uml" -n +1 -f "$tmp/share/err" >&2 & copies+=" $!"
ended=0
wait "$uml" 2>/dev/null || ended=$?
# shellcheck disable=SC2086 # a list of numbers
wait $copies || true

if splat_scan "$log"; then
	printf '%s: the guest kernel complained (above)\n' "${0##*/}" >&2
	exit 99
fi
if [[ $ended -eq 124 || $ended -eq 137 ]]; then
	tail -n 20 "$log" >&2
	printf '%s: killed: not done after %s s\n' "${0##*/}" "$timeout" >&2
	exit 124
fi
status=
[[ ! -e $tmp/share/status ]] || status=$(<"$tmp/share/status")
if [[ -z $status ]]; then
	tail -n 40 "$tmp/uml" "$log" >&2
	printf '%s: the guest ended before the command did (UML: %s)\n' "${0##*/}" "$ended" >&2
	exit 99
fi
exit "$status"
