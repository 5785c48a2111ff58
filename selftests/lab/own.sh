#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A congestion control of somebody's own in the lab, as scripts/lab/OWN.md says: its example is
# built by the page's commands and run beside hpccpp, with marks and without.
#
#	h1 .. h4 --- s1 --- r1		100 Gbit/s, 8 us
#
# check-all: host
# usual: 30
# shellcheck disable=SC2016,SC2317 # what others expand; functions that check calls
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "$here/../lib/lib.sh"
bench=("$top/scripts/lab/lab" bench)
page=$top/scripts/lab/OWN.md
cd "$top"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || ktap_skip_all "no python3-numpy"
# any module does for what is refused
ko=.build/lab/link/sch_lablink.ko

ktap_plan 31

# --- What is refused ------------------------------------------------------------------

refused() # SAID NAME=VALUE...
{
	local status=0
	env "${@:2}" "${bench[@]}" incast >"$tmp/out" 2>&1 </dev/null || status=$?
	check "${*:2}: $1" [ "$status $(grep -cF -- "$1" "$tmp/out")" = "2 1" ]
}
refused "neither of hpccpp" CCS=Gentle
refused "one of your own at a time" CCS=gentle,other
refused "unknown congestion control 'vegas'" CCS=vegas
refused "no such file, or not a FILE.ko" CCS=gentle CC_KO=/none.ko
refused "mark=K, K from 1 to 100000 packets" CCS=gentle CC_KO="$ko" CC_QUEUE=mark=0
refused "mark=K, K from 1 to 100000 packets" CCS=gentle CC_KO="$ko" CC_QUEUE=red
refused "net.KEY=VALUE" CCS=gentle CC_KO="$ko" CC_SYSCTLS=kernel.panic=1
refused "one of bench, law, all, paper" PANEL=nosuch
refused "no run of gentle matches PANEL=all ONLY=hpccpp-8x10k, only runs of others" CCS=gentle CC_KO="$ko" ONLY=hpccpp-8x10k
refused "need a CC that is none of hpccpp" CCS=dctcp CC_QUEUE=mark=20

# --- The page's commands ----------------------------------------------------------------

commands() { sed -n '/^```$/,/^```$/p' "$page" | sed "s#/tmp/gentle#$tmp/gentle#g" | grep -E "$1"; } # REGEX
commands '^(cp|make -C)' >"$tmp/build"
check "two commands build the example" [ "$(wc -l <"$tmp/build")" = 2 ]
check "... with no word of a compiler or linker" bash -eu -o pipefail -c \
	'said=$(bash -eu "$1" 2>&1); ! grep -iE "warning|error" <<<"$said"' - "$tmp/build"
check "the page's words are those of lab bench" [ "$(commands '^make bench' | grep -oE 'CC[A-Z_]*=' | sort | xargs)" = \
	"$("${bench[@]}" --help | sed -nE 's/^  (CC_KO|CC_QUEUE) .*/\1=/p; s/.*\((make bench )(CC=).*/\2/p' | sort | xargs)" ]
only=$(commands '^make bench' | sed -n 's/.*ONLY="\([^"]*\)".*/\1/p')
assert_eq "... and select its run and that of hpccpp" "$(CCS=gentle CC_KO=$ko CC_QUEUE=mark=65 ONLY=$only PANEL=all \
	"$top/scripts/lab/lab" plan incast | cut -d' ' -f2 | xargs)" "hpccpp-60x500k-1mb gentle-60x500k-1mb"

export RESULTS_LAB=$top/.build/check/own
absent()
{
	! CCS=absent CC_KO=$tmp/gentle/tcp_gentle.ko ONLY='^incast absent-8x10k-32mb' \
		"${bench[@]}" incast >"$tmp/out" 2>&1 </dev/null
}
check "a name that the module does not have" absent
check "... is told" grep -q "this kernel has no congestion control 'absent' (it has: .*gentle.*)$" "$tmp/out"

run() # NAME=VALUE...: four flows of it, and an incast of it and of hpccpp
{
	env CCS=gentle CC_KO="$tmp/gentle/tcp_gentle.ko" "$@" \
		ONLY='^(long gentle-4x100g-8us-mtu1500-n64 |incast (gentle|hpccpp)-8x10k-32mb|harm gentle-none-10000m-100us-hop85-buffer165)' \
		"${bench[@]}" long incast harm >"$tmp/bench" 2>&1 || { ktap_diag "$(<"$tmp/bench")"; return 1; }
}
of() { jq -r "$2" "$RESULTS_LAB/$1.json"; } # RUN JQ
long=long/gentle-4x100g-8us-mtu1500-n64

rm -rf "$RESULTS_LAB"
check "runs of it and of hpccpp" run CC_QUEUE=mark=20
check "... are there" ls "$RESULTS_LAB"/{$long,incast/{gentle,hpccpp}-8x10k-32mb}.json
assert_eq "... and the page's table has them" \
	"$(bash -o pipefail -c "$(commands '^scripts/lab/lab export')" | sed 's/ [1-9][0-9.]*$//' | xargs)" \
	"gentle-8x10k-32mb hpccpp-8x10k-32mb"
assert_eq "... its own" "$(of $long '"\(.cc) \(.params.mark)"')" "gentle 20"
hash=$(sha256sum "$tmp/gentle/tcp_gentle.ko" | cut -c1-12)
assert_eq "... names the module" "$(of $long .own)" "gentle $hash"
assert_ge "... share of the link" "$(of $long .metrics.utilisation)" 0.9
# 20 packets at 10 Gbit/s
assert_le "... queue, K and 200 packets of bursts" "$(of $long .metrics.queue_max)" 400 packets
# K is 17 packets of the 165 that may wait there
assert_eq "... behind a link that says nothing: drops" "$(of harm/gentle-none-10000m-100us-hop85-buffer165 .metrics.drops)" 0
check "... in the report" grep -q '<th title="gentle-[^>]*>gentle<td>' "$RESULTS_LAB/report.html"
check "... and once" bash -c '[[ $(ONLY="^long gentle-4x100g-8us-mtu1500-n64 " CCS=gentle CC_KO=$1 CC_QUEUE=mark=20 "$2" bench long) == *"1 runs, 0 to do"* ]]' \
	- "$tmp/gentle/tcp_gentle.ko" "${bench[0]}"
check "runs with another sysctl" run CC_QUEUE=mark=20 CC_SYSCTLS=net.ipv4.tcp_ecn=0
assert_eq "... names it" "$(of $long .own)" "gentle $hash net.ipv4.tcp_ecn=0"
check "... but hpccpp's" grep -q '^4 runs, 3 to do$' "$tmp/bench"
assert_ge "... that switches ECN off: queue" "$(of $long .metrics.queue_max)" 1000 packets
assert_ge "... drops" "$(of harm/gentle-none-10000m-100us-hop85-buffer165 .metrics.drops)" 1
ktap_finish
