#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the lab's kernel: Debian's source of a recent Linux, with uml.patch and
# uml.config, for User-Mode Linux, in the cache (kernel-source.sh). Prints the
# directory. In it:
#
#	linux		the kernel, a program
#	release		what uname -r says there
#	build/		its tree: make -C .../build ARCH=um M=... modules
#
# With --debug it has the checks of uml-debug.config too, and is slow; with --cached
# nothing is built, and it is an error that nothing has been.
# shellcheck disable=SC2034 # for what is sourced
# shellcheck disable=SC2154,SC2317 # which sets variables, and calls functions
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "${BASH_SOURCE%/*}/../common.sh"
# shellcheck source-path=SCRIPTDIR source=../kernel-source.sh
. "${BASH_SOURCE%/*}/../kernel-source.sh"

usage="usage: kernel.sh [--cached] [--debug]"
cached=()
if [[ ${1-} == --cached ]]; then
	cached=(--cached)
	shift
fi
[[ $# -eq 0 || "$*" == --debug ]] || bad "$usage"

here=$(realpath "${BASH_SOURCE%/*}")
name=uml
patches=("$here/uml.patch" "$here/pch.patch")
configs=("$here/uml.config")
settings=(PCH=y KCFLAGS=-w)
if [[ $# -gt 0 ]]; then
	configs+=("$here/uml-debug.config")
	# gcc 12 crashes where UBSAN checks this file and its headers are precompiled
	settings+=(UBSAN_SANITIZE_kmemleak.o=n)
fi
# Three of four files. kconfig reads every Kconfig file, make reads most Makefiles: keep these.
unneeded=('Documentation/*/*' 'arch/[!ux]*/*.[chSd]*' 'tools/[!il]*' 'sound/*.[ch]'
	'drivers/net/*/*.[chS]' 'drivers/[!bcnpt]*/*.[chS]')
suites=(trixie-backports)
# What the patch was made for; the suite's newest, when it has moved on.
pinned() { awk -v key="$1" '$1 == key { print $2 }' "$here/kernel.version"; } # KEY
package=$(pinned package)
targets=(linux modules)
product=linux

choose()
{
	local newest found
	newest=$(private_apt apt-cache search --names-only '^linux-source-7\.[0-9]+$' |
		sed 's/ .*//' | sort -V | tail -n 1)
	[[ -n $newest ]] || die "no linux-source-7.* in ${suites[*]}"
	if [[ -z $(private_apt apt-cache search --names-only "^${package//./\\.}\$") ]]; then
		step NOTE "${suites[*]} has no $package any more: trying $newest"
		package=$newest
	elif [[ $package != "$newest" ]]; then
		step NOTE "${suites[*]} has $newest too: staying with $package"
	fi
	found=$(private_apt apt-cache show "$package" | sed -n 's/^Version: //p' | sort -V | tail -n 1)
	[[ $found == "$(pinned version)" ]] ||
		step NOTE "$package is $found, not $(pinned version) of kernel.version: figures may differ from README.md's"
}

# The banner's date and host feed the guest's random numbers: make them nobody's.
kernel_make() # ARGUMENT...
{
	make -C "$src" ARCH=um KBUILD_BUILD_TIMESTAMP='@1700000000' \
		KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=uml KBUILD_BUILD_VERSION=1 "$@"
}

finish()
{
	rm -f "$src"/include/pch/*.gch
	cp "$src/linux" "$dir/linux.tmp"
	strip "$dir/linux.tmp"
	mv "$dir/linux.tmp" "$dir/linux"
}

source_kernel "${cached[@]}"
