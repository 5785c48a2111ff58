#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the kernel that looks for data races: Debian's source of Linux 6.1 with
# race.config, KCSAN, in the cache (kernel-source.sh). With --cached nothing is built,
# and it is an error that nothing has been. Prints the directory, which has what
# kernel.sh says of one.
# shellcheck disable=SC2034 # for what is sourced
# shellcheck disable=SC2154,SC2317 # which sets variables, and calls functions
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "${BASH_SOURCE%/*}/../common.sh"
# shellcheck source-path=SCRIPTDIR source=../kernel-source.sh
. "${BASH_SOURCE%/*}/../kernel-source.sh"

[[ $# -eq 0 || "$*" == --cached ]] || bad "usage: race.sh [--cached]"

here=$(realpath "${BASH_SOURCE%/*}")
name=race
patches=()
configs=("$here/race.config")
# KCSAN watches one in so many accesses: those where a socket, its storage for eBPF and
# sysctls are read and written. Modules are built without these settings: all of them.
settings=(KCSAN_SANITIZE=n)
for file in kernel/sysctl kernel/bpf/bpf_local_storage net/core/{bpf_sk_storage,filter,sock} \
		net/ipv4/{inet_connection_sock,inet_diag,tcp_diag} \
		net/ipv4/tcp{,_cong,_input,_ipv4,_minisocks,_output,_rate,_recovery,_timer} \
		net/ipv6/tcp_ipv6 net/sched/sch_fq; do
	settings+=("KCSAN_SANITIZE_${file##*/}.o=y")
done
unneeded=()
suites=(bookworm bookworm-security)
package=linux-source-6.1
targets=(vmlinux modules)
product=vmlinux.h

kernel_make() { make -C "$src" "$@"; } # ARGUMENT...

finish()
{
	strip --strip-debug -o "$dir/vmlinux" "$src/vmlinux"
	# for modprobe: all that there is is built in
	kernel_make -s INSTALL_MOD_PATH="$dir" modules_install >&2
	rm -f "$dir/lib/modules/$(<"$dir/release")"/{build,source}
	bpftool btf dump file "$dir/vmlinux" format c >"$dir/vmlinux.h.tmp"
	mv "$dir/vmlinux.h.tmp" "$dir/vmlinux.h"
	find "$src" \( -name '*.o' -o -name '*.a' \) ! -path "$src/scripts/*" ! -path "$src/tools/*" -delete
	rm -f "$src"/vmlinux{,.o}
}

source_kernel "$@"
