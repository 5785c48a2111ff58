#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What INT responses are for: flows that begin at line rate into one link, as the draft has
# them do, hear of the queue from its port, not after it by their ACKs. An incast without and
# with them, each in a lab of its own, in exact time.
#
#	h1 .. h32 --- s1 --- r1		100 Gbit/s, 8 us; 300 KB each
#	accept        responds
#
# check-all: host
# usual: 30
set -euo pipefail
top=$(realpath "${BASH_SOURCE%/*}/../..")
flows=32

# In the lab, after the run: keeps what modules and ports have counted.
if [[ -e /run/uml ]]; then
	for ((i = 1; i <= flows; i++)); do
		nsenter --net="/run/netns/h$i" cat /proc/net/hpccpp
		"$HPCCPP" -j port show netns h$i | jq -r '"accepted \(.[0].stats.accepted)"'
	done >counts
	"$HPCCPP" -j port show dev p$((flows + 1)) netns s1 |
		jq -r '"responded \(.[0].stats.responded)"' >>counts
	exit
fi

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "$top/selftests/lib/lib.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || ktap_skip_all "no python3-numpy"

incast() # NAME KEY=VALUE...
{
	"$top/scripts/lab/lab" run incast flows=$flows size=300k law=draft "${@:2}" --name "$1" --results "$tmp" \
		--after "$top/selftests/lab/react.sh" >/dev/null
}
counted() { awk -v name="$2" '$1 == name { n += $2 } END { print n }' "$tmp/incast/$1/counts"; } # NAME COUNTER
ratio() { jq -s ".[1].metrics.$1 / .[0].metrics.$1" "$tmp"/incast/{without,with}.json; } # METRIC

ktap_plan 7
incast without
assert_eq "without: responses" "$(counted without responded)" 0
incast with respond=300
responded=$(counted with responded)
assert_ge "with: responses" "$responded" $flows
assert_eq "with: accepted, of these" "$(counted with accepted)" "$responded"
assert_eq "with: fallbacks" "$(counted with fallback)" 0
assert_eq "with: flows that did not end" "$(jq .metrics.unfinished "$tmp/incast/with.json")" 0
assert_le "with: peak queue, of that without" "$(ratio queue_peak)" 0.95
assert_le "with: completion, of that without" "$(ratio completion_us)" 1.05
ktap_finish
