#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The command is built with the newest libbpf that Debian has, and for two other architectures.
# On these the unit tests of the module, the command and the agents pass: s390x is big-endian.
#
# check-all: host
# usual: 150
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"
tests=(algo module command objects show monitor device host port cnp flow)

# use ARCHITECTURE SUITE TRIPLE: lets make use that suite's libraries; sets root and options
use()
{
	root=$("$top/scripts/sysroot.sh" "$1" "$2")
	export PKG_CONFIG_SYSROOT_DIR=$root
	export PKG_CONFIG_LIBDIR=$root/usr/lib/$3/pkgconfig:$root/usr/share/pkgconfig
	options=(CC="$3-gcc --sysroot=$root" CLANG="clang --target=$3 --sysroot=$root"
		CFLAGS="-O2 -g -Werror")
}
build() # OUTDIR RUN...: the command, with the bpftool of $root, which RUN starts
{
	make -s -C "$top/tools" O="$1" "${options[@]}" CLANG=clang \
		BPFTOOL="${*:2} $root/usr/sbin/bpftool"
}

echo TAP version 13
for machine in aarch64 s390x; do
	out=$tmp/$machine
	use "${machine/aarch64/arm64}" bookworm "$machine-linux-gnu"
	run=("qemu-$machine" -L "$root")
	check "$machine: the command is built" build "$out" "${run[@]}"
	check "... and starts" "${run[@]}" "$out/hpccpp" -V
	mapfile -t programs < <(printf "$out/bin/%s_test\n" "${tests[@]}")
	check "... unit tests are built" make -s -C "$top/selftests" O="$out/bin" "${options[@]}" "${programs[@]}"
	for program in "${programs[@]}"; do
		check "... ${program##*/} passes" "${run[@]}" "$program"
	done
done

use amd64 sid x86_64-linux-gnu
run=("$root/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu")
check "the newest libbpf: the command is built" build "$tmp/libbpf" "${run[@]}"
check "... and starts" "${run[@]}" "$tmp/libbpf/hpccpp" -V
# a newer one than the matrix has is no failure
newest=$(matrix libbpf)
check "... which is $(pkg-config --modversion libbpf), or scripts/matrix is not newer" \
	pkg-config --atleast-version "${newest#* }" libbpf
ktap_finish
