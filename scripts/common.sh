# SPDX-License-Identifier: GPL-2.0
# Sourced by the scripts beside it: messages, the cache, the table of splats.
# shellcheck shell=bash

# shellcheck disable=SC2034 # used where this is sourced
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hpccpp

step() { printf '  %-7s %s\n' "$1" "$2" >&2; }
die()  { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
bad()  { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

# The kernel series that are built for and tested.
series_list="6.1 6.12"

check_series()
{
	case " $series_list " in
	*" $1 "*) ;;
	*) bad "unknown kernel '$1' (known: $series_list)" ;;
	esac
}

# What must not be in a kernel log. The lines about an out-of-tree or unsigned
# module tainting the kernel are not among these: they are no fault.
splats=(
	'BUG: '
	'kernel BUG at '
	'WARNING: '
	'Oops: '
	'general protection fault'
	'Kernel panic'
	'Call Trace:'
	'KASAN: '
	'UBSAN: '
	'KFENCE: '
	'refcount_t: '
	'rcu: INFO: .* detected'
	'INFO: task .* blocked for more than'
	'INFO: possible '
	'INFO: trying to register non-static key'
	'soft lockup'
	'hard LOCKUP'
	'scheduling while atomic'
	'sleeping function called from invalid context'
	'unregister_netdevice: waiting for'
	'slab .* (corrupt|overwritten)|Slab cache .* in use|Objects remaining in'
	'Memory leak|unreferenced object'
)

# splat_scan FILE: print each splat with what follows it; true when there is one.
splat_scan()
{
	local pattern
	pattern=$(IFS='|'; printf '%s' "${splats[*]}")
	grep -E -A 40 -m 3 -e "$pattern" -- "$1" >&2
}
