#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# From sources to an installed module and back: what make, make install and make
# uninstall leave where, that modprobe and the sysctl find the module, and that it can be signed
# as INSTALL.md says. Works in a copy, with headers that have a vmlinux and a pahole that fails.
#
# check-all: host
# usual: 60
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
src=$tmp/src

# shellcheck disable=SC2053 # the text is a pattern
says() { [[ $(<"$1") == $2 ]] || { cat "$1"; false; }; }
files() { ( cd "$tmp/dest" && find . -type f | sort ) >"$tmp/files"; }

echo TAP version 13
tree=$(realpath "$("$top/scripts/vm/kernel.sh" 6.1)") || exit
release=$(<"$tree/release")
copy_sources "$src"
cp -rs "$(realpath "$tree/build")" "$tmp/kdir"
touch "$tmp/kdir/vmlinux"
make=(make -C "$src" "KDIR=$tmp/kdir" PAHOLE=false)

check "make" "${make[@]}"
check "... the module" [ -e "$src/kmod/tcp_hpccpp.ko" ]
check "make install" "${make[@]}" install "DESTDIR=$tmp/dest"
files
module=./lib/modules/$release/extra/kmod/tcp_hpccpp.ko
check "... module, command, manual and completion, and no more" says "$tmp/files" "$module
./usr/local/sbin/hpccpp
./usr/local/share/bash-completion/completions/hpccpp
./usr/local/share/man/man7/tcp_hpccpp.7
./usr/local/share/man/man8/hpccpp-cnp.8
./usr/local/share/man/man8/hpccpp-host.8
./usr/local/share/man/man8/hpccpp-port.8
./usr/local/share/man/man8/hpccpp.8"
"$tmp/dest/usr/local/sbin/hpccpp" -V >"$tmp/version" 2>&1
check "... the command runs" says "$tmp/version" "hpccpp utility, *"
modinfo "$tmp/dest/$module" >"$tmp/modinfo"
check "... modinfo names the kernel" grep -qE "^vermagic: *$release " "$tmp/modinfo"

# What belongs to others stays.
other=$tmp/dest/lib/modules/$release/extra/other.ko
touch "$other"
cp -a "$tmp/dest" "$tmp/installed"

# shellcheck disable=SC2016 # expanded in the VM
"$top/scripts/vm/vm.sh" -- bash -c '
	release=$(uname -r)
	mkdir /run/upper
	mount -t tmpfs tmpfs /run/upper
	mkdir /run/upper/{files,work}
	mount -t overlay -o "lowerdir=/lib/modules/$release,upperdir=/run/upper/files,workdir=/run/upper/work" \
		overlay "/lib/modules/$release"
	cp -r "$1/lib/modules/$release/." "/lib/modules/$release"
	modprobe -q tcp_hpccpp && echo "before depmod"
	depmod
	modprobe tcp_hpccpp && grep -q ^tcp_hpccpp /proc/modules && echo "by modprobe"
	rmmod tcp_hpccpp && ! grep -q ^tcp_hpccpp /proc/modules && echo "removed"
	sysctl -qw net.ipv4.tcp_congestion_control=hpccpp &&
		grep -q ^tcp_hpccpp /proc/modules && echo "by sysctl"
	' - "$tmp/installed" >"$tmp/vm" 2>"$tmp/vm.err"
check "modprobe, rmmod, and autoload by the sysctl" says "$tmp/vm" "by modprobe
removed
by sysctl"

# signed FILE COMPRESSION: the commands of INSTALL.md sign that module, which modinfo then finds.
# Runs them with a /lib/modules of its own, for which /usr/lib becomes writable.
signed()
{
	# shellcheck disable=SC2016 # expanded in the namespace
	unshare -m bash -ec '
		mkdir -p "$4/lib"
		mount -t tmpfs tmpfs "$4/lib"
		mkdir "$4"/lib/{files,work}
		mount -t overlay -o "lowerdir=/usr/lib,upperdir=$4/lib/files,workdir=$4/lib/work" \
			overlay /usr/lib
		mkdir -p /lib/modules
		mount -t tmpfs tmpfs /lib/modules
		modules=/lib/modules/$(uname -r)
		mkdir -p "$modules/extra"
		touch "$modules"/modules.{order,builtin,builtin.modinfo}
		ln -s "$1" "$modules/build"
		cp "$2" "$modules/extra/"
		[[ -z $3 ]] || $3 "$modules/extra/tcp_hpccpp.ko"
		depmod
		cd "$4"
		. ./sign
		modinfo -F signer tcp_hpccpp >signer
	' - "$tree/build" "$1" "$2" "$tmp" && says "$tmp/signer" "the owner"
}
sed -n '/^    module=/,/^    depmod/s/^    //p' "$top/scripts/packaging/INSTALL.md" >"$tmp/sign"
openssl req -new -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=the owner/" -outform DER \
	-keyout "$tmp/mok.key" -out "$tmp/mok.pub" 2>"$tmp/out"
for compression in "" xz "zstd -q --rm"; do
	check "the commands of INSTALL.md sign a module${compression:+ after ${compression%% *}}" \
		signed "$tmp/installed/$module" "$compression"
done

check "make uninstall" "${make[@]}" uninstall "DESTDIR=$tmp/dest"
files
check "... removes them, and no more" says "$tmp/files" "./${other#"$tmp/dest/"}"
check "... and can be repeated" "${make[@]}" uninstall "DESTDIR=$tmp/dest"

"${make[@]}" KDIR="$tmp/none" modules >"$tmp/out" 2>&1 &&
	echo "# make without headers succeeded" >>"$tmp/out"
check "without headers make says where it looked" grep -q "^KDIR=$tmp/none: no kernel headers there" "$tmp/out"

ktap_finish
