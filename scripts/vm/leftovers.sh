#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run by process 1 of a VM that serves several commands: with --before once, to see
# what is there before the first; then after each, with the processes that may be
# there, to say what is not as it was. False when something is not.
#
# What the kernel frees after a grace period, by its workers, has some seconds to go.
# The kernel's own modules may stay, with the sysctls and the memory that they take.
# shellcheck disable=SC2317 # functions that are called by name
set -uo pipefail

state=/run/vm/state
seconds=30
memory=2000		# kmalloc objects that a command may leave: caches, slabs in hand

# --- What there is: a line each --------------------------------------------------

namespaces()	{ ls /run/netns; }
cgroups()	{ find /sys/fs/cgroup -mindepth 1 -type d; }
mounts()	{ cut -d' ' -f1-3 /proc/self/mounts | grep -v ' /run/netns'; }
agents()	{ { bpftool prog; bpftool map; bpftool link; } | sed -nE 's/^[0-9]+: //p'; }
module()	{ awk '$1 == "tcp_hpccpp" { print $1 ", used by " $3 }' /proc/modules; }

network()
{
	printf '%s\n' 'addr show' 'rule show' 'route show table all' | ip -o -batch -
	printf '%s\n' 'rule show' 'route show table all' | ip -6 -o -batch -
	tc qdisc show
	[[ ! -d /sys/module/nf_tables ]] || nft list ruleset
}

processes()
{
	local process
	for process in /proc/[0-9]*; do
		# neither the kernel's own nor those that only wait to be forgotten
		[[ " 1 $$ $BASHPID $allowed " == *" ${process#/proc/} "* || ! -e $process/exe ]] ||
			{ tr '\0' ' ' <"$process/cmdline"; echo; }
	done
}

# but for what the kernel counts there itself
sysctls()
{
	( cd /proc/sys && grep -rs . net kernel vm ) |
		grep -vE '^(kernel/(random|ns_last_pid|pty/nr|tainted)|net/ipv4/tcp_available_)'
}

slabs() # REGEX: caches, and the objects in each; those that a CPU has in hand count
{
	local cache
	for cache in /sys/kernel/slab/*; do
		[[ ! ${cache##*/} =~ ^($1)$ ]] || echo 1 >"$cache/shrink"
	done
	awk -v regex="^($1)\$" '$1 ~ regex { print $1, $2 }' /proc/slabinfo
}
# To the last: kernels free a namespace when the next round of them goes, so that one goes
# here, and alone: when it has, no more are left than before it came.
left() { slabs net_namespace | cut -d' ' -f2; }
sockets()
{
	local _ before tries
	for _ in 1 2 3; do
		before=$(left)
		ip netns add "last-$$" && ip netns del "last-$$"
		for ((tries = 0; tries < 50; tries++)); do
			[[ $(left) -gt $before ]] || break
			sleep 0.1
		done
	done
	slabs 'TCP|TCPv6|net_namespace'
}
# nothing, unless there are many more than when a module came last, or than ever since
objects()
{
	local modules count known='' least=0
	modules=$(cut -d' ' -f1 /proc/modules | sort | md5sum)
	count=$(slabs 'kmalloc-.*' | awk '{ n += $2 } END { print n }')
	[[ ! -e $state/memory ]] || { read -r known && read -r least; } <"$state/memory"
	if [[ $known != "$modules" || $count -lt $least ]]; then
		printf '%s\n' "$modules" "$count" >"$state/memory"
	elif [[ $((count - least)) -gt $memory ]]; then
		echo "$((count - least)) kmalloc objects"
	fi
}

# --- What differs ----------------------------------------------------------------

# see WHAT: all of it before sort is there, which would be one of the processes
see()
{
	local all
	all=$("$1" 2>/dev/null)
	sort <<<"$all"
}

# same WHAT: or sets "more" and "less" to the lines that came and went
same()
{
	see "$1" >"$state/now"
	more=$(comm -13 "$state/$1" "$state/now")
	less=$(comm -23 "$state/$1" "$state/now")
	# a module brings sysctls of its own
	[[ $1 != sysctls ]] || more=
	[[ -z $more$less ]]
}

all=(namespaces cgroups mounts agents module network processes sysctls sockets objects)
mkdir -p "$state"
if [[ ${1-} == --before ]]; then
	allowed=
	for what in "${all[@]}"; do
		see "$what" >"$state/$what"
	done
	exit
fi
allowed=$*
status=0
for tool in ip tc nft bpftool comm awk find; do
	command -v "$tool" >/dev/null || { echo "left behind: no $tool here to see that"; status=1; }
done >&2
end=$((SECONDS + seconds))
for what in "${all[@]}"; do
	until same "$what" || [[ $SECONDS -ge $end ]]; do
		sleep 0.1
	done
	[[ -z $more$less ]] || status=1
	[[ -z $more ]] || echo "left behind: $what: ${more//$'\n'/; }"
	[[ -z $less ]] || echo "changed: $what: ${less//$'\n'/; }"
done >&2
exit "$status"
