#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Install the Debian packages that a target of the Makefile needs:
#
#	deps.sh [--list] TARGET
#
# If all of them are installed, this only reads dpkg's database. With --list, prints the
# packages and installs nothing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "${BASH_SOURCE%/*}/common.sh"

declare -A groups=(
	# module, eBPF objects, command, test programs
	[build]="make gcc libc6-dev pkg-config clang bpftool kmod cpio
		libbpf-dev libelf-dev zlib1g-dev libmnl-dev libjson-c-dev"
	# stock kernels, unpacked from their packages, and how a guest of any kind starts
	[guest]="busybox-static xz-utils bzip2 zstd lz4"
	[vm]="qemu-system-x86"
	# the network of tests and demo, and its measurements
	[network]="iproute2 iperf3 ethtool jq procps"
	# also flent's data files
	[plot]="gnuplot-nox python3"
	# the lab's metrics and report; not for make check, as they take much room
	[numbers]="python3-numpy python3-matplotlib python3-jinja2"
	[shell]="iputils-ping socat"
	# the lab's kernel
	[lab]="flex bison bc patch"
	# lab bench distributes runs, also to other machines
	[bench]="parallel rsync nftables"
	[cost]="netcat-openbsd"
	# the oldest and the newest clang of scripts/matrix, other architectures
	[compilers]="clang-14 clang-22 gcc-s390x-linux-gnu gcc-aarch64-linux-gnu qemu-user"
	[deb]="build-essential debhelper dh-dkms"
	[unit]="libcmocka-dev libclang-rt-dev llvm openssl python3"
	# only tests need these; pahole: the kernel that looks for data races
	# flent without its plots, which take 360 MB
	[test]="perl sparse shellcheck mandoc tcpdump tshark python3-scapy dkms lintian pahole
		rdma-core ibverbs-providers perftest flent"
)
every=" ${!groups[*]} "
declare -A targets=(
	[demo]="build guest vm network plot"
	[shell]="build guest vm network shell"
	[check]="${every/ numbers / }"
	[check-all]="$every"
	[check-long]="$every"
	[mutants]="build guest unit"
	[lab]="build guest lab"
	[bench]="build guest lab bench network numbers"
	[report]="numbers"
	[cost]="build guest lab vm network numbers cost"
	[deb]="build deb"
)

usage="usage: deps.sh [--list] TARGET (targets: ${!targets[*]})"
list=
if [[ ${1-} == --list ]]; then
	list=1
	shift
fi
[[ $# -eq 1 && -n ${targets[$1]-} ]] || bad "$usage"
packages=()
for group in ${targets[$1]}; do
	read -r -d '' -a words <<<"${groups[$group]}" || true
	packages+=("${words[@]}")
done
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
if [[ -n $list ]]; then
	printf '%s\n' "${packages[@]}"
	exit
fi

mapfile -t missing < <(comm -13 \
	<(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
		sed -n 's/^installed //p' | sort -u) \
	<(printf '%s\n' "${packages[@]}"))
[[ ${#missing[@]} -gt 0 ]] || exit 0
[[ $EUID -eq 0 ]] || die "not root; as root: apt-get install ${missing[*]}"

# The kernel of the VM, in the background. If that fails, the build tries again and says why.
fetch_kernel()
{
	[[ " ${targets[$1]} " == *" guest "* ]] || return 0
	"${BASH_SOURCE%/*}/vm/kernel.sh" --fetch 6.1 >/dev/null 2>&1 &
}

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
	fetch_kernel "$1" &&
	apt-get -qq -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "${missing[@]}"
} >"$log" 2>&1 </dev/null || { cat "$log" >&2; die "apt-get failed"; }
wait
