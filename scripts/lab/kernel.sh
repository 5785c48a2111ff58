#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the lab's kernel: Debian's source of a recent Linux, with uml.patch and
# uml.config, for User-Mode Linux, in the cache. Nothing is installed and apt's own
# configuration and lists stay as they are. Prints the directory. In it:
#
#	linux		the kernel, a program
#	release		what uname -r says there
#	build/		its tree: make -C .../build ARCH=um M=... modules
#
# With --debug it has the checks of uml-debug.config too, and is slow; with --cached
# nothing is built, and it is an error that nothing has been. There is one such
# directory for each version of the source, patch and config. What is there
# stays; remove the link uml-<hash> to have the archive asked for a newer one.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "${BASH_SOURCE%/*}/../common.sh"

usage="usage: kernel.sh [--cached] [--debug]"
cached=
if [[ ${1-} == --cached ]]; then
	cached=1
	shift
fi
[[ $# -eq 0 || "$*" == --debug ]] || bad "$usage"

# What the patch was made for; the suite's newest, when it has moved on.
series=7.3
suite=trixie-backports

here=$(realpath "${BASH_SOURCE%/*}")
configs=("$here/uml.config")
[[ $# -eq 0 ]] || configs+=("$here/uml-debug.config")
hash=$(cat "$here/uml.patch" "${configs[@]}" | sha256sum | cut -c1-8)
link=$cache/uml-$hash
tmp=

# fetch: the source package's .deb to $tmp/debs; prints its version.
fetch()
{
	local package=linux-source-$series newest
	private_apt apt-get update >&2
	newest=$(private_apt apt-cache search --names-only '^linux-source-7\.[0-9]+$' |
		sed 's/ .*//' | sort -V | tail -n 1)
	[[ -n $newest ]] || die "no linux-source-7.* in $suite"
	if [[ -z $(private_apt apt-cache search --names-only "^${package//./\\.}\$") ]]; then
		step NOTE "$suite has no $package any more: trying $newest"
		package=$newest
	elif [[ $package != "$newest" ]]; then
		step NOTE "$suite has $newest too: staying with $package"
	fi
	step FETCH "$package"
	( cd "$tmp/debs" && private_apt apt-get download "$package" ) >&2
	dpkg-deb -f "$tmp"/debs/*.deb Version
}

# quietly LOG COMMAND...: its output to LOG; shown when it fails.
quietly()
{
	local log=$1
	shift
	"$@" >"$log" 2>&1 </dev/null || { tail -n 40 "$log" >&2; return 1; }
}

# Lines of ours that .config does not have: what they need is not there.
check_config() # CONFIG
{
	local line
	while read -r line; do
		case $line in
		CONFIG_*=n)	! grep -q "^${line%n}" "$1" ;;
		CONFIG_*=*)	grep -qxF "$line" "$1" ;;
		esac || step NOTE "no effect: $line"
	done < <(cat "${configs[@]}")
}

# The banner's date and host feed the guest's random numbers: make them nobody's.
um_make() # ARGUMENT...
{
	make -C "$src" ARCH=um KBUILD_BUILD_TIMESTAMP='@1700000000' \
		KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=uml KBUILD_BUILD_VERSION=1 "$@"
}

build() # into $src, from $tmp/debs
{
	step UNPACK "linux-source-$version"
	dpkg-deb -x "$tmp"/debs/*.deb "$tmp/unpacked"
	mkdir -p "$src"
	tar -C "$src" --strip-components=1 -xf "$tmp"/unpacked/usr/src/linux-source-*.tar.xz
	rm -rf "$tmp/unpacked" "$tmp/debs"

	step PATCH "uml.patch"
	quietly "$tmp/log" patch -d "$src" -p1 --forward --no-backup-if-mismatch -i "$here/uml.patch" ||
		die "scripts/lab/uml.patch does not apply to linux-source-$version, unpacked in $src: make the hunks that FAILED (above) anew, their reasons are in its head"

	step CONFIG "${configs[*]##*/}"
	cat "${configs[@]}" >"$tmp/config"
	quietly "$tmp/log" um_make KCONFIG_ALLCONFIG="$tmp/config" allnoconfig ||
		die "make allnoconfig failed"
	check_config "$src/.config"

	step BUILD "Linux $version for User-Mode Linux: some minutes"
	um_make -j2 linux modules 2>&1 </dev/null | tee "$tmp/log" |
		awk '/^  (CC|AR|LD) / && ++n % 150 == 0 { printf "  %-7s %d files\n", "BUILD", n; fflush() }' >&2 || {
		grep -m 10 -B 2 -A 10 -e 'error: ' -e '\*\*\*' "$tmp/log" >&2 || tail -n 40 "$tmp/log" >&2
		die "building linux-source-$version failed"
	}
}

if [[ -n $cached && ! -e $link/linux ]]; then
	die "not in the cache"
fi
if [[ ! -e $link/linux ]]; then
	mkdir -p "$cache"
	exec 9>"$cache/uml-$hash.lock"
	flock 9
fi
if [[ ! -e $link/linux ]]; then
	tmp=$(mktemp -d "$cache/tmp.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	mkdir "$tmp"/{root,debs}
	private_apt_init "$tmp" "$suite"
	version=$(fetch)
	dir=$cache/uml-$version-$hash
	# The build has its own path in it: it is made in place, and "linux" comes last.
	src=$dir/build
	if [[ ! -e $dir/linux ]]; then
		rm -rf "$dir"
		build
		um_make -s kernelrelease >"$dir/release"
		cp "$src/linux" "$dir/linux.tmp"
		strip "$dir/linux.tmp"
		mv "$dir/linux.tmp" "$dir/linux"
	fi
	ln -sfn "uml-$version-$hash" "$link"
fi
echo "$link"
