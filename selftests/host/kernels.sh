#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's build: with the lab's kernel, the newest, without a warning; by clang for a kernel
# that clang built; and for a kernel that lacks a feature, or with flags that the compiler refuses,
# the build names the cause.
#
# check-all: host
# usual: 60
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/clean.sh
. "${BASH_SOURCE%/*}/../lib/clean.sh"
cd "$top"

# A copy of the module's sources built with that tree; its warnings are failures.
build() # MAKE-ARGUMENT...
{
	rm -rf "$tmp/kmod"
	cp -r "$src/kmod" "$tmp/"
	make "$@" M="$tmp/kmod" CONFIG_DEBUG_INFO_BTF_MODULES= modules >"$tmp/make" 2>&1 || {
		cat "$tmp/make"
		return 1
	}
	! grep -iE -A 4 '(warning|error):' "$tmp/make"
}

# lacks FILE PATTERN MESSAGE: a tree where that is taken out of that header does not
# build the module, and says so.
lacks()
{
	local said
	grep -q "$2" "$tree/$1"
	sed -i.orig "/$2/d" "$tree/$1"
	said=$(! build -C "$tree" 2>&1) || { echo "it builds"; return 1; }
	mv "$tree/$1.orig" "$tree/$1"
	[[ $said == *"#error \"tcp_hpccpp: this kernel lacks $3"* ]] || { echo "$said"; return 1; }
}

echo TAP version 13
src=$tmp/src
copy_sources "$src"
lab=$(scripts/lab/kernel.sh)
check "the module builds for $(<"$lab/release") with gcc W=1 without a warning" \
	once "$compilers $(realpath "$lab")" kmod -- build -C "$lab/build" ARCH=um W=1

# made_with EXPECTED [VARIABLE=VALUE...]: LLVM as the make of a kernel gets it
made_with()
{
	local line
	line=$(make -C "$src" KDIR="$tmp/kdir" "${@:2}" modules | grep -x 'LLVM=.*')
	[[ $line == "LLVM=$1" ]] || { echo "$line"; return 1; }
}
mkdir "$tmp/kdir"
# shellcheck disable=SC2016 # for make
printf 'modules:\n\t@echo "LLVM=$(LLVM)"\n' >"$tmp/kdir/Makefile"
echo CONFIG_CC_IS_GCC=y >"$tmp/kdir/.config"
check "a kernel built by gcc: make does not pass LLVM=1" made_with ""
echo CONFIG_CC_IS_CLANG=y >"$tmp/kdir/.config"
check "a kernel built by clang: make passes LLVM=1" made_with 1
check "... unless LLVM is given" made_with -19 LLVM=-19
check "... or LLVM is given as an empty word" made_with "" LLVM=

# Headers of 6.1 as a tree of links, where files can be replaced.
headers=$(scripts/vm/kernel.sh --headers 6.1)
tree=$tmp/headers
common=$(sed -n 's/^include \(.*\)\/Makefile$/\1/p' "$headers/build/Makefile")
cp -rs "$(realpath "$headers/build")" "$tree"
cp -rs "$common" "$tmp/common"
for file in "$tree/Makefile" "$tree/include/generated/autoconf.h" "$tmp/common/include/net/tcp.h"; do
	cp --remove-destination "$(realpath "$file")" "$file"
done
sed -i "s#$common#$tmp/common#" "$tree/Makefile"
ln -s ../common "$tree/common"
headers_once() { once "$compilers $(realpath "$headers")" kmod -- "$@"; }
check "the same as links: the module builds" headers_once build -C "$tree"
refused()
{
	local said
	said=$(! build -C "$tree" KCFLAGS=-fno-such-flag 2>&1) || { echo "it builds"; return 1; }
	[[ $said == *"tcp_hpccpp: no probe compiles with "*": "*"-fno-such-flag"* ]] || {
		echo "$said"
		return 1
	}
}
check "flags that the compiler refuses: the build says so before it concludes from a probe" refused
check "without CONFIG_CGROUP_BPF: the build says so" \
	headers_once lacks include/generated/autoconf.h 'CONFIG_CGROUP_BPF ' CONFIG_CGROUP_BPF
check "without CONFIG_SYSCTL: the build says so" \
	headers_once lacks include/generated/autoconf.h 'CONFIG_SYSCTL ' CONFIG_SYSCTL
check "without tcp_snd_cwnd_set(): the build says so" \
	headers_once lacks common/include/net/tcp.h 'tcp_snd_cwnd_set(struct' 'tcp_snd_cwnd_set()'
ktap_finish
