#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Install the Debian packages that building, testing and the demo need; when
# all are there this is one question to dpkg and nothing else.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

packages=(
	# build: module, eBPF objects, command
	make gcc libc6-dev pkg-config clang llvm bpftool pahole kmod
	libbpf-dev libelf-dev zlib1g-dev libmnl-dev libjson-c-dev
	# the VM's kernel and how it is started
	qemu-system-x86 busybox-static cpio xz-utils bzip2 zstd lz4
	# the kernel of the lab
	flex bison bc patch
	# who hands out its runs, and brings them from other machines
	parallel rsync
	# the dissector, RoCEv2 packets, the packages, flent's files (not its plots, 360 MB)
	tshark python3-scapy dkms debhelper dh-dkms dpkg-dev lintian flent
	# tests and the demo
	libcmocka-dev libclang-rt-dev iproute2 iperf3 ethtool tcpdump netcat-openbsd socat
	iputils-ping jq nftables gnuplot-nox openssl perl procps sparse shellcheck mandoc
	# RoCEv2 by software
	rdma-core ibverbs-providers perftest
)

missing=()
while read -r name; do
	missing+=("$name")
done < <(comm -13 \
	<(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
		sed -n 's/^installed //p' | sort -u) \
	<(printf '%s\n' "${packages[@]}" | sort))

[[ ${#missing[@]} -gt 0 ]] || exit 0
[[ $EUID -eq 0 ]] || die "not root; as root: apt-get install ${missing[*]}"

step APT "${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# The timeout waits for whoever holds dpkg's lock; update has none of its own
# for the lists, so two runs at once take turns here.
mkdir -p "$cache"
exec 9>"$cache/deps.lock"
flock 9
{
	apt-get -qq update &&
	apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "${missing[@]}"
} >"$log" 2>&1 </dev/null || { cat "$log" >&2; die "apt-get failed"; }
