#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Puts the libraries, their headers and bpftool of another Debian architecture or suite into the
# cache, unpacked from their packages: nothing is installed and apt's own configuration and lists
# stay as they are. Prints the directory, for --sysroot.
#
#	sysroot.sh ARCHITECTURE SUITE
#
# An existing directory is kept: remove it to fetch newer packages.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

[[ $# -eq 2 ]] || bad "usage: sysroot.sh ARCHITECTURE SUITE"
dir=$cache/sysroot-$2-$1
if [[ ! -e $dir ]]; then
	mkdir -p "$cache"
	exec 9>"$dir.lock"
	flock 9
fi
if [[ ! -e $dir ]]; then
	tmp=$(mktemp -d "$cache/tmp.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	private_apt_init "$tmp" "$2"
	touch "$tmp/status"
	options=(-o APT::Architecture="$1" -o APT::Architectures="$1" -o Dir::State::status="$tmp/status")
	private_apt apt-get "${options[@]}" update >&2
	step FETCH "libraries of $2, $1"
	private_apt apt-get "${options[@]}" -o Debug::NoLocking=1 --download-only -y \
		--no-install-recommends install libc6-dev libbpf-dev libmnl-dev \
		libjson-c-dev libcmocka-dev bpftool >&2
	for package in "$tmp"/cache/archives/*.deb; do
		dpkg-deb -x "$package" "$tmp/root"
	done
	# newer suites have these as links, which another package makes
	for name in lib lib64; do
		[[ -e $tmp/root/$name || ! -e $tmp/root/usr/$name ]] || ln -s "usr/$name" "$tmp/root/$name"
	done
	mv "$tmp/root" "$dir"
fi
echo "$dir"
