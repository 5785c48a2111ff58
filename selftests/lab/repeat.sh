#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A run of the lab is the same to the byte each time: on another CPU, beside others,
# and, but for what rolls dice itself as bbr does, with other random numbers.
#
# place: host
# timeout: 120
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")

# Inside the lab: 8 hosts for a millisecond of websearch, each change of each queue.
if [[ ${1-} == --inside ]]; then
	cc=$2
	insmod "$HPCCPP_LAB/link/sch_lablink.ko"
	insmod "$HPCCPP_KO"
	"$HPCCPP_LAB/testbed" up leafspine 2 2 4 rto_min_us 5000 trace 200000 host_trace 200000
	if [[ $cc == hpccpp ]]; then
		"$HPCCPP" host add cgroup /sys/fs/cgroup
		id=0
		while read -r ns dev rate; do
			"$HPCCPP" port add dev "$dev" netns "$ns" rate "${rate}bit" queue virtual \
				id $((++id)) base-rtt 10us
		done < <("$HPCCPP_LAB/testbed" ports all)
	fi
	"$HPCCPP_LAB/testbed" paths >/tmp/paths
	echo reset >/proc/lablink
	"$HPCCPP_LAB/tgen" -p /tmp/paths <<<"poisson 0 1000000 50 websearch 1 $cc"
	cat /proc/lablink_trace
	exit
fi

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "$here/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"
lab_env "$top"

run() # NAME CC CPU SEED: what it says in $tmp/NAME
{
	"$top/scripts/lab/uml.sh" --cpu "$3" --seed "$4" --timeout 60 -- \
		"$here/repeat.sh" --inside "$2" >"$tmp/$1"
}

other=$(($(nproc) - 1))
ktap_plan 6
run first hpccpp 0 1
run_bg run again hpccpp "$other" 1
run seed hpccpp 0 2
wait "$!"
run_bg run bbr bbr "$other" 1
run bbr-seed bbr 0 2
wait "$!"

assert_ge "connections that arrived" "$(awk '$10 == "hpccpp" && $4 == $8 { n++ } END { print n + 0 }' \
	"$tmp/first")" 10
assert_ge "changes of queues" "$(grep -cE '^[0-9]{10} ' "$tmp/first")" 100000
check "none of these is lost" test -z "$(grep lost "$tmp/first" || true)"
check "the same again, on another CPU and beside another run" cmp "$tmp/first" "$tmp/again"
check "the same with other random numbers" cmp "$tmp/first" "$tmp/seed"
check "bbr is not, which has random phases" test -n "$(cmp "$tmp/bbr" "$tmp/bbr-seed" || true)"
ktap_finish
