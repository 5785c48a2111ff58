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
# the same time, and the clock of this machine. They use KVM if guests run with it.
#
# With --tty the command has a terminal, which is relayed to ours: signals are those of
# the guest's, its size follows ours, and the guest's clock goes on while nobody types.
# Ctrl-] ends the VM.
#
# --serve DIR boots a VM that runs many commands, one after another, and a new one when
# that is killed. Commands find it when the environment's VM_POOL names a directory
# of such directories, named KERNEL.* or KERNEL-smp.*, with the process that serves
# each in its file "server": the command then runs in one that nobody uses, and what
# it leaves behind is a fault.
#
# Ends as the command does; 98 when it leaves something behind; 99 when the guest's
# kernel log has a splat or ends before the command does; 124 after --timeout
# seconds of wall time.
# shellcheck disable=SC2317 # functions that traps call
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "${BASH_SOURCE%/*}/../common.sh"

usage="usage: vm.sh [-k KERNEL] [-m MB] [--smp] [--tty] [--timeout SEC] [--log FILE] -- command...
       vm.sh [-k KERNEL] [-m MB] [--smp] --serve DIR"
series=6.1
memory=1024
smp=
tty=
timeout=600
log=
serve=
while [[ $# -gt 0 ]]; do
	case $1 in
	-k)		series=${2-}; shift 2 || bad "$usage" ;;
	-m)		memory=${2-}; shift 2 || bad "$usage" ;;
	--smp)		smp=1; shift ;;
	--tty)		tty=1; shift ;;
	--timeout)	timeout=${2-}; shift 2 || bad "$usage" ;;
	--log)		log=${2-}; shift 2 || bad "$usage" ;;
	--serve)	serve=${2-}; shift 2 || bad "$usage" ;;
	--)		shift; break ;;
	*)		bad "unknown argument '$1'; $usage" ;;
	esac
done
[[ -n $serve || $# -gt 0 ]] || bad "no command; $usage"
check_series "$series"
[[ $memory =~ ^[0-9]{3,5}$ ]] || bad "-m '$memory': a number of MB from 100 to 99999"
[[ -z $tty || -z $serve ]] || bad "--tty is for a command, not with --serve; $usage"
[[ -z $tty || -t 0 ]] || bad "--tty: stdin is not a terminal"
[[ $timeout =~ ^[1-9][0-9]*$ ]] || bad "--timeout '$timeout': a number of seconds"

# What the command sees of our environment.
pass=(PLACE TESTS LONG CASES V RESULTS TERM HPCCPP HPCCPP_KO HPCCPP_BIN PROMTOOL
	CCS FAMILIES SECONDS_PER_RUN)

tmp=$(mktemp -d)
qemu=
waiter=
relay=
exec {stdin}<&0
# A VM that is left in the middle of a command is of no use to the next one.
cleanup()
{
	local status=$?
	[[ -z $waiter ]] || kill "$waiter" 2>/dev/null || true
	[[ -z $qemu ]] || give_up
	{ wait || true; } 2>/dev/null
	rm -rf "$tmp"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- The machine: all that is known of it is in the directory $vm ---------------

give_up()
{
	rm -f "$vm"/{ready,busy}
	kill -KILL "$qemu" 2>/dev/null || true
}

# The initramfs: what it takes to reach this machine's root.
initramfs()
{
	local tree=$1 release size='' modules=() file root=$tmp/initramfs
	release=$(<"$tree/release")
	rm -rf "$root"
	mkdir -p "$root"/{bin,proc,sys,dev}
	cp "$(command -v busybox)" "$root/bin/"
	ln -s busybox "$root/bin/sh"
	cp "${BASH_SOURCE%/*}/vm-init.sh" "$root/init"
	cp "${BASH_SOURCE%/*}"/{guest,leftovers}.sh "$root/"
	while read -r _ file _; do
		[[ " ${modules[*]} " == *" /${file##*/} "* ]] && continue
		modules+=("/${file##*/}")
		cp "$file" "$root/"
	done < <(modprobe -d "$tree" -S "$release" --show-depends -a \
		virtio_pci virtio_console 9p 9pnet_virtio overlay | grep ^insmod)
	[[ -z $tty ]] || size=$(tty_size)
	printf '%s=%q\n' size "$size" release "$release" tree "$tree" modules "${modules[*]}" \
		results "$results" shared "$serve" >"$root/config"
	( cd "$root" && find . | cpio --quiet -o -H newc ) >"$vm/initramfs.cpio"
}

# boot: and waits until the guest takes commands.
boot()
{
	local tree accel=tcg
	tree=$("${BASH_SOURCE%/*}/kernel.sh" "$series")
	tree=$(realpath "$tree")
	initramfs "$tree"
	if [[ -n $smp ]] && kvm_works; then
		accel=kvm
	fi
	start "$accel"
	ready_in 900
}

# kvm_works: returns true if a guest boots with KVM. Guests may hang although /dev/kvm opens, so
# the first VM after this machine's boot tries it. The cache keeps the result.
kvm_works()
{
	local lock id known works=no
	[[ -w /dev/kvm ]] || return
	id=$(</proc/sys/kernel/random/boot_id)
	exec {lock}>>"$cache/kvm"
	flock "$lock"
	known=$(<"$cache/kvm")
	if [[ $known == "$id "* ]]; then
		works=${known#* }
	else
		start kvm 2>/dev/null
		! ready_in 30 || works=yes
		kill -KILL "$qemu" 2>/dev/null || true
		{ wait "$qemu" || true; } 2>/dev/null
		echo "$id $works" >"$cache/kvm"
	fi
	exec {lock}>&-
	[[ $works == yes ]]
}

ready_in() { answer "$1" && [[ $answer == ready ]]; } # SECONDS

# start tcg|kvm: starts QEMU, in $qemu. In $vm then: jobs.in and jobs.out (a command a
# line; how each ended), out, err and log.
start()
{
	local append cpu share terminal=() sleep=off
	rm -f "$vm"/jobs.{in,out}
	mkfifo "$vm"/jobs.{in,out}
	: >"$vm/out"
	: >"$vm/err"
	: >"$vm/log"

	# norandmaps: QEMU translates code anew for each address at which it finds it;
	# a short command spends most of its time on that.
	append=(console=ttyS0 loglevel=5 panic=-1 oops=panic nokaslr mitigations=off
		random.trust_cpu=on tsc=reliable no_timer_check norandmaps)
	if [[ -n $tty ]]; then
		sleep=on
		mkfifo "$vm"/size.{in,out}
		terminal=(-chardev "socket,id=tty,path=$vm/tty,server=on,wait=off"
			-device "virtconsole,chardev=tty,nr=4"
			-chardev "pipe,id=size,path=$vm/size"
			-device "virtserialport,chardev=size,nr=5")
	fi
	if [[ $1 == kvm ]]; then
		cpu=(-smp 2 -accel kvm)
	elif [[ -n $smp ]]; then
		cpu=(-smp 2 -accel 'tcg,thread=multi')
	else
		cpu=(-smp 1 -accel tcg -icount "shift=0,sleep=$sleep")
		# An idle guest's clock jumps to its next timer also while it waits for
		# this machine to answer a read: nohz=off keeps these jumps at a tick.
		append+=(tsc_early_khz=1000000 nohz=off)
	fi
	# KCSAN waits for another CPU to come by. An emulated one is slow: with the
	# kernel's own 80 and 20 us it comes too late to say what it is about.
	[[ $series != race ]] || append+=(kcsan.udelay_task=500 kcsan.udelay_interrupt=250)
	# erms: "rep movsb" moves a byte per instruction here, so that copying alone
	# would take a third of the guest's time; without it the kernel moves 8.
	share=security_model=none,multidevs=remap
	# pdeathsig: QEMU ends when this script does, however that is.
	setpriv --pdeathsig KILL \
	qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -display none \
		-M q35 -cpu max,-erms "${cpu[@]}" -m "$memory" \
		-kernel "$tree/vmlinux" -initrd "$vm/initramfs.cpio" -append "${append[*]}" \
		-chardev "file,id=log,path=$vm/log,append=on" -serial chardev:log \
		-device virtio-serial-pci \
		-chardev "file,id=out,path=$vm/out,append=on" -device virtserialport,chardev=out,nr=1 \
		-chardev "file,id=err,path=$vm/err,append=on" -device virtserialport,chardev=err,nr=2 \
		-chardev "pipe,id=jobs,path=$vm/jobs" -device virtserialport,chardev=jobs,nr=3 \
		-fsdev "local,id=root,path=/,readonly=on,$share" \
		-device virtio-9p-pci,fsdev=root,mount_tag=root \
		${results:+-fsdev "local,id=results,path=$results,$share" \
			-device virtio-9p-pci,fsdev=results,mount_tag=results} "${terminal[@]}" \
		</dev/null &
	qemu=$!
	exec {answers}<>"$vm/jobs.out"
}

# answer SECONDS: what the guest says of a command, in $answer; false when it does not in
# that time, or there is no guest any more. What is read when a second ends may be a
# part of the line.
answer()
{
	local end=$((SECONDS + $1)) line='' piece
	until read -r -t 1 -u "$answers" piece; do
		line+=$piece
		[[ $SECONDS -lt $end ]] && kill -0 "$qemu" 2>/dev/null || return
	done
	answer=$line$piece
}

# --- A command in it -------------------------------------------------------------

# free_vm: one of the pool, in $vm and $qemu; ours while $lock is open
free_vm()
{
	local alive=
	for vm in "$VM_POOL/$series${smp:+-smp}".*; do
		if [[ ! -e $vm/server ]] || ! kill -0 "$(<"$vm/server")" 2>/dev/null; then
			continue
		fi
		alive=1
		exec {lock}>"$vm/lock"
		if flock -n "$lock" && [[ -e $vm/ready ]]; then
			qemu=$(<"$vm/ready")
			if [[ -e $vm/busy ]]; then	# left by one that was killed
				give_up
				qemu=
				exec {lock}>&-
				continue
			fi
			: >"$vm/busy"
			exec {answers}<>"$vm/jobs.out"
			return
		fi
		exec {lock}>&-
	done
	[[ -n $alive ]] || die "VM_POOL has no VM for kernel $series${smp:+ with two CPUs}"
	sleep 0.1
	false
}

# An idle guest that counts instructions is busy counting: it stands still. One with
# two CPUs waits as others do, and would take the break for a lockup.
stand_still()	{ [[ -n $smp ]] || kill -STOP "$qemu"; }
go_on()		{ [[ -n $smp ]] || kill -CONT "$qemu"; }

tty_size() { stty size <&"$stdin"; }

# relayed: until the guest's command has ended, or we were told to by Ctrl-]
relayed()
{
	local process size='' now changed
	socat -,rawer,escape=0x1d "UNIX-CONNECT:$vm/tty" <&"$stdin" &
	relay=$!
	# bash forgets a signal that comes while the trap of one before it is at work
	trap 'changed=1' WINCH
	while kill -0 "$waiter" && kill -0 "$relay"; do
		changed=
		now=$(tty_size)
		[[ $now == "$size" ]] || echo "$now" 1<>"$vm/size.in"
		size=$now
		[[ -n $changed ]] || wait -n "$waiter" "$relay" || true
	done 2>/dev/null
	trap '' WINCH
	# where the guest ended, the relay did too
	if kill -0 "$waiter" && sleep 0.1 && kill -0 "$qemu"; then
		by_key=1
	fi 2>/dev/null
	give_up
	for process in "$waiter" "$relay" "$qemu"; do
		{ wait "$process" || true; } 2>/dev/null
	done
	qemu=
}

# job COMMAND...: its output is ours, live; what the guest says of it is in $answer.
# It comes by files: what our own stdout and stderr are does not matter to QEMU.
job()
{
	local copies
	: >"$vm/out"
	: >"$vm/err"
	: >"$tmp/answer"
	go_on
	guest_command "$@" | paste -sd';' 1<>"$vm/jobs.in"
	( ! answer "$timeout" || echo "$answer" >"$tmp/answer" ) &
	waiter=$!
	[[ -z $tty ]] || relayed
	tail -q -s 0.1 --pid="$waiter" -c +1 -f "$vm/out" & copies=$!
	tail -q -s 0.1 --pid="$waiter" -c +1 -f "$vm/err" >&2 & copies+=" $!"
	wait "$waiter" || true
	waiter=
	# shellcheck disable=SC2086 # a list of numbers
	wait $copies
	read -r answer left <"$tmp/answer" || true
}

results=
if [[ -n $serve ]]; then
	vm=$serve
	while boot; do
		stand_still
		echo "$qemu" >"$vm/ready"
		{ wait "$qemu" || true; } 2>/dev/null
		rm -f "$vm/ready"
	done
	tail -n 40 "$vm/log" >&2
	die "the VM does not boot (above)"
fi

left=
answer=
by_key=
if [[ -n ${VM_POOL-} && -z ${RESULTS-}$tty ]]; then
	until free_vm; do :; done
	job "$@"
else
	vm=$tmp
	guest_results
	boot || { tail -n 40 "$vm/log" >&2; die "the VM does not boot"; }
	job "$@"
fi
[[ -z $log ]] || cp "$vm/log" "$log"
cp "$vm/log" "$tmp/kernel"
: >"$vm/log"

if splat_scan "$tmp/kernel"; then
	printf '%s: the guest kernel complained (above)\n' "${0##*/}" >&2
	exit 99
fi
if [[ -n $by_key ]]; then
	printf '\n%s: ended by Ctrl-]\n' "${0##*/}" >&2
	exit 130
fi
if [[ -z $answer ]] && kill -0 "$qemu" 2>/dev/null; then
	tail -n 20 "$tmp/kernel" >&2
	printf '%s: killed: not done after %s s\n' "${0##*/}" "$timeout" >&2
	exit 124
fi
if [[ -z $answer ]]; then
	tail -n 40 "$tmp/kernel" >&2
	printf '%s: the VM ended before the command did\n' "${0##*/}" >&2
	exit 99
fi
if [[ -n $left ]]; then
	[[ $answer -ne 0 && $answer -ne 4 ]] || answer=98
	exit "$answer"
fi
if [[ $vm != "$tmp" ]]; then
	stand_still
	rm -f "$vm/busy"
	qemu=
fi
exit "$answer"
