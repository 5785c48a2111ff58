#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Put promtool into the cache and print its path. It is part of a package with a daemon,
# which is not wanted on this machine: only this file of it, fetched once.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

promtool=$cache/promtool/promtool
if [[ ! -x $promtool ]]; then
	mkdir -p "$cache"
	exec 9>"$cache/promtool.lock"
	flock 9
fi
if [[ ! -x $promtool ]]; then
	step FETCH promtool
	tmp=$(mktemp -d "$cache/tmp.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	private_apt_init "$tmp/apt" bookworm
	private_apt apt-get update >&2
	cd "$tmp"
	private_apt apt-get download prometheus >&2
	dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xO ./usr/bin/promtool >promtool
	chmod 755 promtool
	mkdir -p "${promtool%/*}"
	mv promtool "$promtool"
fi
echo "$promtool"
