#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The algorithm and the wire format: the unit and property tests of algo_test.c,
# plain and under the sanitizers, and that eBPF programs can use the header; and
# the hash of tools/bpf/hpccpp_tag.h.
#
# place: host
# timeout: 300
set -uo pipefail

top=$(realpath "${BASH_SOURCE%/*}/../..")
bin=$(realpath -m "${HPCCPP_BIN:-$top/.build/bin}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

count=0
result() # STATUS NAME [FILE]: one line of TAP, and FILE as diagnosis of a failure
{
	count=$((count + 1))
	if [[ $1 -eq 0 ]]; then
		echo "ok $count $2"
	else
		echo "not ok $count $2"
		[[ -z ${3-} ]] || sed 's/^/# /' "$3"
	fi
}

# cmocka() PROGRAM: its own TAP as a part of ours. That all of its plan was run
# is a test too, as a program that dies says nothing of the tests after.
cmocka()
{
	local line planned=0 ran=0
	"$bin/$1" >"$tmp/out" 2>"$tmp/err"
	local status=$?
	while IFS= read -r line; do
		case $line in
		1..*)		planned=${line#1..} ;;
		'ok '*)		ran=$((ran + 1)); result 0 "$1: ${line#* - }" ;;
		'not ok '*)	ran=$((ran + 1)); result 1 "$1: ${line#* - }" ;;
		*)		echo "# ${line#\# }" ;;
		esac
	done <"$tmp/out"
	[[ $status -eq 0 && $planned -gt 0 && $ran -eq $planned ]]
	result $? "$1: ran $ran of $planned, status $status" "$tmp/err"
}

# A program that uses what the port agent uses must come out without a call:
# eBPF has no library for 128 bits, and no signed division before v4.
ebpf()
{
	cat >"$tmp/ebpf.c" <<-'END'
		#include <stdbool.h>
		#include "hpccpp_algo.h"

		struct hpccpp_link old, cur;
		struct hpccpp_state s;
		struct hpccpp_params p;
		struct hpccpp_int rec;
		__u64 out[4];

		int measure(void *ctx)
		{
			long u = hpccpp_link_u(&old, &cur, p.T);

			if (u < 0)
				return u;
			out[0] = hpccpp_ewma(out[1], u, rec.ts, p.T);
			out[2] = hpccpp_rate_encode(out[3]);
			return 0;
		}

		int whole(void *ctx)
		{
			return hpccpp_new_ack(&s, &p, &rec, 1, out[3], out[2]);
		}
	END
	clang -target bpf -mcpu="$1" -O2 -g -Wall -Werror -I"$top/kmod" \
		-I"/usr/include/$(uname -m)-linux-gnu" -c "$tmp/ebpf.c" -o "$tmp/ebpf.o" &&
		llvm-objdump -d "$tmp/ebpf.o" >"$tmp/ebpf.s" || return
	[[ $(grep -c 'exit$' "$tmp/ebpf.s") -ge 2 ]] &&		# both are there
		! grep -w call "$tmp/ebpf.s" && ! grep -E '\bs[/%]=' "$tmp/ebpf.s" &&
		[[ -z $(llvm-nm -u "$tmp/ebpf.o") ]]
}

# The paper's vector (appendix A: 15 bytes), and openssl's hash of each length.
siphash()
{
	local key=000102030405060708090a0b0c0d0e0f i
	make -C "$top/selftests" O="$bin" "$bin/siphash" &&
		[[ $("$bin/siphash" "$key" 15) == E545BE4961CA29A1 ]] || return
	for key in $key ff0000000000000000000000000080f1; do
		for ((i = 0; i <= 64; i++)); do
			perl -e "print pack 'C*', 0 .. $i - 1" |
				openssl mac -macopt "hexkey:$key" -macopt size:8 -in - SIPHASH
		done >"$tmp/want"
		# shellcheck disable=SC2046 # numbers
		"$bin/siphash" "$key" $(seq 0 64) | diff "$tmp/want" - || return
	done
}

echo TAP version 13
make -C "$top/selftests" O="$bin" "$bin/algo_test" "$bin/algo_test-san" >"$tmp/log" 2>&1
result $? "algo_test and algo_test-san are built" "$tmp/log"
cmocka algo_test
cmocka algo_test-san
for cpu in v1 v2 v3; do
	ebpf $cpu >"$tmp/log" 2>&1
	result $? "the header compiles for eBPF $cpu without a call" "$tmp/log"
done
siphash >"$tmp/log" 2>&1
result $? "SipHash-2-4 is the paper's and openssl's" "$tmp/log"
echo "1..$count"
