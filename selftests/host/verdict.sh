#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What `make demo` says at its end: the worst of hpccpp's runs is held to each bound, and
# stands beside the rival whose own worst run is best. It ends where a run fails, too.
#
# check: host
# usual: 15
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# One that holds all bounds, just so; two rivals, of which each is better in something
jq -n '{
	cc: "hpccpp", link_sent_bps: 194000000, goodput_bps: 180400000, queue_mean_packets: 2,
	queue_p99_packets: 15, jain: 0.98, drops_after_2_rtt: 0
} as $own | { link_bps: 200000000, runs: [
	($own, ($own | .queue_mean_packets = 1 | .jain = 1) | .family = "ipv4"),
	($own | .cc = "hpccpp-edges" | .queue_mean_packets = 1),
	($own | .cc = "slow" | .queue_mean_packets = 7 | .goodput_bps = 150000000),
	($own | .cc = "slow" | .queue_mean_packets = 9 | .goodput_bps = 190000000),
	($own | .cc = "full" | .queue_mean_packets = 50 | .goodput_bps = 188000000) ] }' >"$tmp/demo.json"

verdict() { jq "$1" "$tmp/demo.json" | jq -r -f "$top/scripts/demo/verdict.jq"; } # FILTER
says() { verdict "$1" | grep -qE "$2"; } # FILTER PATTERN
fails() { verdict "$1" | sed -n 's/^FAILS  \(.*[^ ]\)  .*[<>]= .*/\1/p' | sed 's/  .*//'; } # FILTER

ktap_plan 13
check "at the bounds: nothing fails" [ -z "$(fails .)" ]
check "at the bounds: said in words" says . '^All bounds hold\.'
check "the worst of the runs counts" says . '^holds  queue, mean, packets +2 +<= 2 '
check "the rival's worst run counts" says . '^holds  queue, mean, packets .* slow 9$'
check "each bound has its own best rival" says . '^holds  goodput, Mbit/s .* full 188$'
while read -r key value what; do
	assert_eq "$key $value" "$(fails ".runs[1].$key = $value")" "$what"
done <<'END'
link_sent_bps 193000000 load of the link, %
goodput_bps 180000000 goodput, Mbit/s
queue_mean_packets 2.1 queue, mean, packets
queue_p99_packets 16 queue, p99, packets
jain 0.9799 Jain's index
drops_after_2_rtt 1 late drops, packets
END
check "hpccpp alone has no rival" says 'del(.runs[3:])' '^All bounds hold\.$'

# In a place where the first run fails, and the second does not end by itself
mkdir -p "$tmp/scripts/demo"
cp "$top/scripts/common.sh" "$tmp/scripts"
cp "$top/scripts/demo/demo.sh" "$tmp/scripts/demo"
cat >"$tmp/scripts/place.sh" <<'END'
#!/bin/sh
case $* in --print|--where) echo nowhere ;; *ipv6*) exec sleep 60 ;; *) exit 1 ;; esac
END
chmod +x "$tmp/scripts/place.sh"
status=0
RESULTS=$tmp/results timeout 20 "$tmp/scripts/demo/demo.sh" -c hpccpp >"$tmp/said" 2>&1 || status=$?
assert_eq "a run fails: the demo ends, and says so" "$status $(tail -n 1 "$tmp/said")" "1 demo.sh: a run failed"
ktap_finish
