#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measures the instructions per byte of a TCP flow by the number of segments in its packets. Prints
# a JSON object {"SEGMENTS": INSTRUCTIONS...}.
#
#	h1 --- r	no shaping
#
# Runs Reno without agents on the stock kernel in the VM, whose only CPU belongs to both hosts. A
# nanosecond of its clock is an instruction. The times of two transfers are subtracted, so that
# their start does not count. The device's limit for GSO sets the segments; r receives such a packet
# as one, as from a NIC with LRO.

# Namespaces are in variables set by name, and lib.sh takes some of ours.
# shellcheck disable=SC2154,SC2034
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
top=$(realpath "$here/../..")

if [[ ${1-} != --inside ]]; then
	cd "$top"
	PLACE=vm exec "$top/scripts/vm/vm.sh" --timeout 600 -- "$here/tso.sh" --inside
fi
# shellcheck source-path=SCRIPTDIR source=../../selftests/lib/lib.sh
. "$top/selftests/lib/lib.sh"

OFFLOADS=default
setup_ns h1 r
link 1 "$h1" eth0 "$r" eth0 1.1
ip -batch "$tmp/links"
for ns in "$h1" "$r"; do
	ip -n "$ns" -batch - <<<"link set dev lo up
${ip_batch[$ns]}"
done

# Sets ns to the duration of a transfer.
transfer() # BYTES
{
	tcp_send "$h1" "$r" 10.1.1.2 "-c reno -n $1"
	# shellcheck disable=SC2128 # of tcp_send
	ns=$(jq '(.end - .start) * 1e9 | round' <<<"$client")
}

transfer 2m	# the first one takes longer
for segments in 1 2 4 8 16 44; do
	ip -n "$h1" link set dev eth0 gso_max_segs $segments
	transfer 2m
	start=$ns
	transfer 10m
	echo "{ \"$segments\": $(((ns - start) / 80000)) }"
done | jq -s 'add | map_values(. / 100)'
