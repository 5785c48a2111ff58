#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The places where the other tests run: what a command in the VM says, writes and
# ends with comes back, and a kernel that complains fails the run.
#
# check-all: host
# usual: 60
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
vm=$top/scripts/vm/vm.sh

run() # COMMAND...: leaves status, seconds, $tmp/out and $tmp/err
{
	local start=$SECONDS
	"$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	seconds=$((SECONDS - start))
}
# shellcheck disable=SC2053 # the text is a pattern
says() { [[ $(<"$tmp/$1") == $2 ]]; }
usage() { [[ $status -eq 2 ]] && says err "$1"; } # PATTERN

echo TAP version 13

run "$vm" -k 5.4 -- true
check "an unknown kernel: $status $(<"$tmp/err")" usage "vm.sh: *'5.4' (known: 6.1 6.12 7.3 race)"
run env PLACE=moon "$top/scripts/place.sh" -- true
check "an unknown place: $status $(<"$tmp/err")" usage "place.sh: *'moon': native, vm, uml or uml-debug"

# A user without privileges; the clone may be where only root may look.
nobody()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +dac_read_search \
		--ambient-caps +dac_read_search "$@"
}
run nobody env PLACE=native "$top/scripts/place.sh" -- true
check "PLACE=native as nobody: refused with the reason" \
	[ "$status $(<"$tmp/err")" = "1 place.sh: PLACE=native: not root" ]
if [[ ! -e /proc/modules ]]; then
	run env PLACE=native "$top/scripts/place.sh" -- true
	check "PLACE=native without loadable modules: refused with the reason" says err \
		"place.sh: PLACE=native: this kernel has no loadable modules"
fi
check "without PLACE the VM is chosen" \
	[ "$(nobody env -u PLACE -u KERNEL "$top/scripts/place.sh" --print)" = 6.1 ]

mkdir "$tmp/results"
cd "$tmp" || exit
# shellcheck disable=SC2016 # expanded in the VM
RESULTS=$tmp/results V=x run "$vm" --log "$tmp/log" -- bash -c '
	echo "$PWD $V $(nproc) $(uname -r)"
	echo mine >/dev/stderr
	echo "<6>hello from the guest" >/dev/kmsg
	echo result >"$RESULTS/file"
	touch written
	sleep 600
	exit 7'
check "a command's status comes back" [ "$status" -eq 7 ]
check "its output: directory, environment, one CPU, kernel" says out "$tmp x 1 6.1.*"
check "its errors, apart" says err mine
check "the kernel log" grep -q 'hello from the guest' "$tmp/log"
check "files in RESULTS" grep -qx result "$tmp/results/file"
check "nothing else is written here" [ ! -e "$tmp/written" ]
check "to sleep 600 s takes $seconds s of wall time, less than 300" [ "$seconds" -lt 300 ]

# A QEMU whose guests hang with KVM, and which ignores SIGTERM then
mkdir -p "$tmp/bin" "$tmp/cache/hpccpp"
ln -s "$(realpath "$("$top/scripts/vm/kernel.sh" 6.1)")" "$tmp/cache/hpccpp/linux-6.1"
cat >"$tmp/bin/qemu-system-x86_64" <<-END
	#!/bin/bash
	[[ " \$* " == *" -accel kvm "* ]] || exec \${QEMU-$(command -v qemu-system-x86_64)} "\$@"
	echo \$\$ >>"$tmp/tried"
	trap '' TERM
	exec sleep infinity
END
chmod +x "$tmp/bin/qemu-system-x86_64"
smp=(env PATH="$tmp/bin:$PATH" XDG_CACHE_HOME="$tmp/cache" "$vm" --smp --)
run "${smp[@]}" sh -c 'nproc; echo "WARNING: CPU: 0 PID: 1 at test" >/dev/kmsg'
check "with --smp there are two CPUs" says out 2
check "a kernel warning fails the run" [ "$status" -eq 99 ]
check "... and is shown" grep -q 'WARNING: CPU: 0 PID: 1 at test' "$tmp/err"
if [[ -w /dev/kvm ]]; then
	QEMU=false run "${smp[@]}" true
	check "KVM is tried once" [ "$(wc -l <"$tmp/tried")" -eq 1 ]
	check "... and killed where it hangs" [ ! -e "/proc/$(head -n 1 "$tmp/tried")" ]
fi

# splats FUNCTION...: what is a splat of a log in which each of them races; its lines end
# as those of a serial console do
splats()
{
	printf "BUG: KCSAN: data-race in %s / tcp_ack\r\n\r\nread to 0xffff\r\n=====================\r\n" "$@" >"$tmp/races"
	bash -c '. "$0/scripts/common.sh"; splat_scan "$1"' "$top" "$tmp/races"
}
run splats tcp_poll sock_poll
check "data races of the kernel alone are no splat" [ "$status" -ne 0 ]
run splats tcp_poll hpccpp_tell sock_poll
check "... one of the module is" [ "$status" -eq 0 ]
check "... and is shown" says err "BUG: KCSAN: data-race in hpccpp_tell / tcp_ack*=="
check "... alone" [ "$(grep -c KCSAN "$tmp/err")" -eq 1 ]

run "$vm" --timeout 3 -- sleep infinity
check "what takes too long is ended" [ "$status" -eq 124 ]
check "... and said to be" grep -q 'killed: not done after 3 s' "$tmp/err"

PLACE=uml run "$top/scripts/place.sh" -- sh -c 'echo "WARNING: CPU: 0 PID: 1 at test" >/dev/kmsg'
check "in the lab too: a kernel warning fails the run" [ "$status" -eq 99 ]
check "... and what runs where is printed" grep -qx '  PLACE   uml: the kernel of the lab' "$tmp/err"

exec {output}< <(exec "$vm" -- sh -c 'echo begun; sleep infinity' 2>"$tmp/err")
pid=$!
read -r -t 600 line <&$output
check "output is live" [ "$line" = begun ]
kill "$pid"
# QEMU holds our pipe too: the end of what it brings is the end of QEMU.
read -r -t 300 line <&$output
check "a killed vm.sh takes QEMU along" [ $? -eq 1 ]

ktap_finish
