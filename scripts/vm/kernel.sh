#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Put a stock Debian kernel of the given series and its headers into the cache,
# unpacked from their packages: nothing is installed and apt's own configuration
# and lists stay as they are. Prints the directory. In it:
#
#	release			what uname -r says there
#	build/			headers: make -C .../build M=... modules
#	vmlinux, vmlinux.h	the kernel and its types (not with --headers)
#	lib/modules/<release>/	its modules (not with --headers)
#
# With --fetch, only downloads and unpacks the packages: apt and dpkg suffice for that.
# What is there stays; remove the directory's link linux-<series> to have the
# archive asked for a newer one. "race" is built: race.sh.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "${BASH_SOURCE%/*}/../common.sh"

usage="usage: kernel.sh [--headers|--fetch] 6.1|6.12|7.3|race"
image=1
fetch=
case ${1-} in
--headers)	image=; shift ;;
--fetch)	fetch=1; shift ;;
esac
[[ $# -eq 1 ]] || bad "$usage"
series=$1
check_series "$series"
[[ $series != race ]] || exec "${BASH_SOURCE%/*}/race.sh"

link=$cache/linux-$series
tmp=

complete()
{
	[[ -e $link/build && ( -z $image || -e $link/vmlinux.h || -n $fetch && -e $link/image ) ]]
}

depends_on() # PACKAGE REGEX: its first dependency whose name is like that
{
	private_apt apt-cache depends "$1" 2>/dev/null |
		sed -nE "s/^ *Depends: ($2)\$/\\1/p" | sed -n 1p
}

fetch() # PACKAGE...: download and unpack into $tmp/root
{
	local package
	for package; do
		step FETCH "$package"
		( cd "$tmp/debs" && private_apt apt-get download "$package" ) >&2
	done
	for package in "$tmp"/debs/*.deb; do
		dpkg-deb -x "$package" "$tmp/root"
		rm "$package"
	done
}

# A vmlinuz is a small ELF loader with the compressed kernel inside: try what a
# packer's magic number may start, the way the kernel's extract-vmlinux does.
extract_vmlinux() # VMLINUZ VMLINUX
{
	local magic unpack at
	while read -r magic unpack; do
		while read -r at; do
			tail -c +$((at + 1)) "$1" | $unpack >"$2" 2>/dev/null || true
			if [[ $(head -c 4 "$2" | tr -d '\0') == $'\x7fELF' ]]; then
				return 0
			fi
		done < <(LC_ALL=C grep -abo -P "$magic" "$1" | cut -d: -f1)
	done <<-'END'
		\xfd7zXZ\x00 xz -dc
		\x28\xb5\x2f\xfd zstd -dc
		\x1f\x8b\x08 gzip -dc
		\x02!L\x18 lz4 -dc
		BZh bzip2 -dc
	END
	return 1
}

# Headers of a newer Debian are made to work here: its gcc may be missing, and its tools
# need its C library, which goes to DIR/glibc.
adapt_headers() # DIR SUITE
{
	local tool tools
	sed -i 's/gcc-[0-9]*$/gcc/' "$1/build/.kernelvariables"
	gcc -fmin-function-alignment=16 -E -x c /dev/null >/dev/null 2>&1 ||
		sed -i '/CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT\>/d' \
			"$1"/build/include/{config/auto.conf,generated/autoconf.h}
	private_apt_init "$tmp/newer" "$2"
	private_apt apt-get update >&2
	fetch libc6
	mapfile -t tools < <(find "$1"/usr/lib/linux-kbuild-* -type f -perm -u+x ! -name '*.elf' \
		-exec grep -lF -e GLIBC_2.38 {} +)
	for tool in "${tools[@]}"; do
		mv "$tool" "$tool.elf"
		printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' \
			"$1"/glibc/usr/lib64/ld-linux-x86-64.so.2 \
			"$1"/glibc/usr/lib/x86_64-linux-gnu "$tool.elf" >"$tool"
		chmod +x "$tool"
	done
	mv "$tmp/root" "$1/glibc"
}

if ! complete; then
	mkdir -p "$cache"
	exec 9>"$cache/linux-$series.lock"
	flock 9
fi
if ! complete; then
	tmp=$(mktemp -d "$cache/tmp.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	mkdir "$tmp"/{root,debs}
	case $series in
	6.1)	private_apt_init "$tmp" bookworm bookworm-security ;;
	6.12)	private_apt_init "$tmp" bookworm-backports ;;
	7.3)	private_apt_init "$tmp" trixie-backports ;;
	esac
	[[ -e $link/image ]] || private_apt apt-get update >&2

	if [[ -e $link/release ]]; then
		release=$(<"$link/release")
	else
		release=$(depends_on linux-headers-amd64 'linux-headers-.*')
		release=${release#linux-headers-}
	fi
	[[ $release == "$series".* ]] ||
		die "the archive's kernel is '$release', not of series $series"
	dir=$cache/linux-$release
	mkdir -p "$dir"

	if [[ ! -e $dir/build ]]; then
		headers=linux-headers-$release
		fetch "$headers" "$(depends_on "$headers" 'linux-headers-.*-common.*')" \
			"$(depends_on "$headers" 'linux-kbuild-.*')"
		# The packages expect to be at /usr.
		sed -i "s#/usr/src/#$dir/usr/src/#" "$tmp/root/usr/src/$headers/Makefile"
		rm -rf "${dir:?}/usr"
		mv "$tmp/root/usr" "$dir/"
		echo "$release" >"$dir/release"
		ln -sfn "usr/src/$headers" "$dir/build"
	fi
	if [[ -n $image && ! -e $dir/vmlinux.h && ! -e $dir/image ]]; then
		# In 7.3, the kernel and its modules are in packages of their own.
		mapfile -t parts < <(for part in base binary modules; do
			depends_on "linux-image-$release" "linux-$part-.*"
		done)
		fetch "linux-image-$release" "${parts[@]}"
		if [[ -e $tmp/root/usr/lib/modules ]]; then
			# where earlier packages have them
			mkdir "$tmp/root/boot"
			mv "$tmp/root/usr/lib" "$tmp/root/"
			for part in vmlinuz config; do
				mv "$tmp/root/lib/modules/$release/$part" \
					"$tmp/root/boot/$part-$release"
			done
		fi
		mv "$tmp/root" "$dir/image"
	fi
	if [[ -n $image && -z $fetch && ! -e $dir/vmlinux.h ]]; then
		step UNPACK "linux-image-$release"
		# If this is interrupted, the next call fetches the package again.
		mv "$dir/image" "$tmp/image"
		rm -f "$tmp/image/lib/modules/$release"/{build,source}
		depmod -b "$tmp/image" "$release"
		extract_vmlinux "$tmp/image/boot/vmlinuz-$release" "$tmp/vmlinux" ||
			die "no kernel found in vmlinuz-$release"
		bpftool btf dump file "$tmp/vmlinux" format c >"$tmp/vmlinux.h"
		rm -rf "${dir:?}/lib"
		mv "$tmp/image/boot/config-$release" "$dir/config"
		mv "$tmp/image/lib" "$tmp/vmlinux" "$tmp/vmlinux.h" "$dir/"
	fi
	[[ $series != 7.3 || -e $dir/glibc ]] || adapt_headers "$dir" trixie
	ln -sfn "linux-$release" "$link"
fi
echo "$link"
