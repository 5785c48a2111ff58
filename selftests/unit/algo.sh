#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The algorithm and the wire format: the unit and property tests of algo_test.c,
# under the sanitizers, and that eBPF programs can use the header.
#
# check: host
# usual: 15
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# A program that uses what the port agent uses must come out without a call:
# eBPF has no library for 128 bits, and no signed division before v4.
ebpf()
{
	cat >"$tmp/ebpf.c" <<-'END'
		#include <stdbool.h>
		#include "hpccpp_algo.h"
		#include "hpccpp_wire.h"

		struct hpccpp_link old, cur;
		struct hpccpp_state s;
		struct hpccpp_params p;
		struct hpccpp_int rec;
		__u64 out[4];

		int measure(void *ctx)
		{
			long u = hpccpp_link_u(&old, &cur, p.T, p.T);

			if (u < 0)
				return u;
			out[0] = hpccpp_ewma(out[1], u, rec.ts, p.T);
			out[2] = hpccpp_rate_encode(out[3]);
			return 0;
		}

		int whole(void *ctx)
		{
			if (hpccpp_measure_inflight(&s, &p, &rec, 1, out[3]))
				hpccpp_compute_wind(&s, &p, out[2]);
			return s.W;
		}
	END
	clang -target bpf -mcpu="$1" -O2 -g -Wall -Werror -I"$top/kmod" -I"$top/tools/bpf" \
		-I"/usr/include/$(uname -m)-linux-gnu" -c "$tmp/ebpf.c" -o "$tmp/ebpf.o" &&
		llvm-objdump -d "$tmp/ebpf.o" >"$tmp/ebpf.s" || return
	[[ $(grep -c 'exit$' "$tmp/ebpf.s") -ge 2 ]] &&		# both are there
		! grep -w call "$tmp/ebpf.s" && ! grep -E '\bs[/%]=' "$tmp/ebpf.s" &&
		[[ -z $(llvm-nm -u "$tmp/ebpf.o") ]]
}

echo TAP version 13
unit_tests algo_test-san
for cpu in v1 v2 v3; do
	check "the header compiles for eBPF $cpu without a call" ebpf $cpu
done
ktap_finish
