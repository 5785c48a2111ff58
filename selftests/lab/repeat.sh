#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One run, a millisecond of websearch between 8 hosts with hpccpp and FIFO queues, has the same
# flows and the same changes of all queues, to the byte: with other random numbers of the
# kernel, on a busy machine, on one of another name, from other paths, and a little later.
# It does not show that of other runs: those with BBR, with jitter, or with fq in a fabric
# repeat with the same --seed, programs and scripts only.
#
# Two things would make runs differ:
#
#	random numbers	Linux repeats reports of multicast groups after a random
#			time. The ports of testbed's switches are in no group.
#	paths		To look one up takes virtual time: a call that fails, as
#			readlink() of a directory does, takes 1 ns. From when a
#			flow starts follows how its time stamps (of 16 ns) and
#			timers (of ticks) are rounded. tgen begins with a tick.
#
# LONG=1: 20 seeds, and what else may differ each for itself.
#
# check-all: host
# usual: 60
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")

# Inside the lab: 8 hosts for a millisecond of websearch, each change of each queue
# until two seconds later. One of the random numbers goes to stderr.
if [[ ${1-} == --inside ]]; then
	late=$2
	cat /proc/sys/kernel/random/uuid >&2
	insmod "$HPCCPP_LAB/link/sch_lablink.ko"
	insmod "$HPCCPP_KO"
	"$HPCCPP_LAB/testbed" up leafspine 2 2 4 rto_min_us 5000 trace 200000 host_trace 200000
	"$HPCCPP" host add cgroup /sys/fs/cgroup
	id=0
	while read -r ns dev rate; do
		"$HPCCPP" port add dev "$dev" netns "$ns" rate "${rate}bit" queue virtual \
			id $((++id)) base-rtt 10us
	done < <("$HPCCPP_LAB/testbed" ports all)
	"$HPCCPP_LAB/testbed" paths >/tmp/paths
	sleep "$late"
	"$HPCCPP_LAB/tgen" -p /tmp/paths -w 0:- -l /tmp/links \
		<<<"poisson 0 1000000 50 websearch 1 hpccpp"
	sleep 2
	cat /proc/lablink_trace
	exit
fi

# Outside, in a process of its own: of the checkout that this file is in
if [[ ${1-} == --guest ]]; then
	cpu=$2 seed=$3 late=$4
	top=${here%/selftests/lab}
	# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
	. "$top/scripts/common.sh"
	lab_env "$top"
	exec "$top/scripts/lab/uml.sh" --cpu "$cpu" --seed "$seed" --timeout 900 -- \
		"$here/repeat.sh" --inside "$late"
fi

# What the guest sees, as it does not see /tmp
export TMPDIR=/var/tmp
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "$here/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"

# With a host name, and paths where checkout and cache are besides
# shellcheck disable=SC2016 # that shell's
elsewhere='
	top=$1 cache=$2 name=$3 checkout=$4 other=$5
	shift 5
	echo "$name" >/proc/sys/kernel/hostname
	mkdir -p "$checkout" "$other/hpccpp"
	mount --bind "$top" "$checkout"
	mount --bind "$cache" "$other/hpccpp"
	cd "$checkout"
	XDG_CACHE_HOME=$other exec "$checkout/selftests/lab/repeat.sh" "$@"'

last=$(($(nproc) - 1))
run() # NAME CPU SEED LATE [HOSTNAME CHECKOUT CACHE]: what it says in $tmp/NAME
{
	local name=$1 guest=(--guest "$2" "$3" "$4")
	shift 4
	if [[ $# -eq 0 ]]; then
		"$here/repeat.sh" "${guest[@]}"
	else
		unshare -m -u bash -ec "$elsewhere" - "$top" "$cache" "$@" "${guest[@]}"
	fi >"$tmp/$name" 2>"$tmp/$name.err"
}

declare -A what
names=()
also() # NAME WHAT CPU SEED LATE...: one more run, three at a time
{
	names+=("$1")
	what[$1]=$2
	while [[ $(jobs -r | wc -l) -ge 3 ]]; do
		wait -n || true
	done
	run_bg run "$1" "${@:3}"
}

run first 0 1 0 || { cat "$tmp/first.err" >&2; exit 1; }
also busy "on another CPU, which others use" "$last" 1 0
for ((seed = 2; seed <= $(how_often 4 20); seed++)); do
	also "seed-$seed" "with the random numbers of --seed $seed" "$last" "$seed" 0
done
# not by whole ticks: the lab's are of a ms
also late "some time later" 0 1 .0123451
deep=$tmp/$(printf 'a-long-name/%.0s' {1..12})
home=${cache%/hpccpp}
if [[ -z ${LONG-} ]]; then
	also elsewhere "on a host of another name, from other paths" 0 1 0 another "$deep" "$tmp/c"
else
	also name "on a host of another name" 0 1 0 another-name "$top" "$home"
	also checkout "from a checkout at a longer path" 0 1 0 "$HOSTNAME" "$deep" "$home"
	also cache "with a cache at a longer path" 0 1 0 "$HOSTNAME" "$top" "$deep"
	short=$(mktemp -d /tmp/X.XXX)
	also short "with a cache at a shorter path" 0 1 0 "$HOSTNAME" "$top" "$short"
	also later "some seconds later" 0 1 4.5678901
fi
wait
if [[ -n ${LONG-} ]]; then
	rm -r "$short"
	for ((i = 0; i < 2 * $(nproc); i++)); do
		run_bg bash -c 'while :; do :; done'
	done
	names+=(loaded)
	what[loaded]="on a machine with more to do than it can"
	run loaded 0 1 0
fi

same() # NAME
{
	cmp "$tmp/first" "$tmp/$1" || { cat "$tmp/$1.err"; return 1; }
}

ktap_plan $((4 + ${#names[@]}))
assert_ge "connections that arrived" "$(awk '$10 == "hpccpp" && $4 == $8 { n++ } END { print n + 0 }' \
	"$tmp/first")" 10
assert_ge "changes of queues" "$(grep -cE '^[0-9]{10} ' "$tmp/first")" 100000
check "none of these is lost" test -z "$(grep lost "$tmp/first" || true)"
check "another seed is other random numbers" test -n "$(cmp "$tmp/first.err" "$tmp/seed-2.err" || true)"
for name in "${names[@]}"; do
	check "8 hosts, 1 ms, hpccpp: the same flows and queues ${what[$name]}" same "$name"
done
ktap_finish
