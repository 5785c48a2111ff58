# SPDX-License-Identifier: GPL-2.0
# Sourced by the scripts beside it: messages, the cache, the table of splats.
# shellcheck shell=bash

# shellcheck disable=SC2034 # used where this is sourced
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hpccpp

step() { printf '  %-7s %s\n' "$1" "$2" >&2; }
die()  { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
bad()  { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

# matrix KEY: the oldest and the newest version that is tested
matrix() { sed -n "s/^$1 //p" "${BASH_SOURCE[0]%/*}/matrix"; }

# The kernel series that are built for and tested.
series_list="6.1 6.12 7.3"

check_series() # or "race", 6.1 that looks for data races: vm/race.sh
{
	case " $series_list race " in
	*" $1 "*) ;;
	*) bad "unknown kernel '$1' (known: $series_list race)" ;;
	esac
}

# test_files NAME: the selftest of that name, or those that match a pattern; from the top directory
test_files() { find selftests -name "$1.sh" -perm -u+x | sort; }
# directive TEST NAME: the value of the line "# NAME: ..." in the head comment of a selftest
directive() { sed -nE "1,24s/^# $2: *(.*[^ ]) *\$/\\1/p" "$1" | head -n 1; }

# limit_of NAME@PLACE: seconds of wall time after which this run counts as hanging: ten times its
# usual duration, and at least five minutes. A run with LONG=1, or in a kernel that checks itself,
# takes up to ten times longer.
limit_of()
{
	local seconds
	seconds=$(directive "$(test_files "${1%@*}")" usual)
	seconds=$((10 * ${seconds:-30}))
	[[ $seconds -ge 300 ]] || seconds=300
	case ${LONG:+long}${1#*@} in
	long* | uml-debug | race) seconds=$((10 * seconds)) ;;
	esac
	echo "$seconds"
}

# What must not be in a kernel log. The lines about an out-of-tree or unsigned
# module tainting the kernel are not among these: they are no fault.
splats=(
	'BUG: '
	'BUG [^ ]+ \('
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
	# what ends a checker ends its complaints too
	'Kernel memory leak detector disabled'
	'turning off the locking correctness validator'
)

# foreign_races FILE: what KCSAN's reports of data races are called that do not name a
# function of our module: the kernel has some of its own
foreign_races() { sed -n '/BUG: KCSAN: .*hpccpp/d; s/.*BUG: KCSAN: //p' -- "$1"; }

# splat_scan FILE: print each splat with what follows it, but for foreign races; true when
# there is one.
splat_scan()
{
	local pattern
	pattern=$(IFS='|'; printf '%s' "${splats[*]}")
	grep -E -A 40 -m 3 -e "$pattern" >&2 < <(
		sed 's/\r$//; /BUG: KCSAN: .*hpccpp/b; /BUG: KCSAN: /,/==========$/d' -- "$1")
}

# private_apt_init DIR SUITE...: apt's files in DIR, with these suites, at the
# addresses where this machine finds the like suites of its own Debian release.
# private_apt then runs apt's tools with these: the machine's are not touched.
private_apt_init()
{
	local own suite keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	apt_dir=$1
	shift
	# shellcheck source=/dev/null
	own=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
	mkdir -p "$apt_dir"/{lists/partial,cache/archives/partial}
	for suite; do
		apt-get indextargets --no-release-info --format "\$(RELEASE) \$(REPO_URI)" \
			'Created-By: Packages' 'Component: main' |
		awk -v like="$own${suite#"${suite%%-*}"}" -v suite="$suite" -v keyring="$keyring" '
			$1 == like || $1 "-backports" == like {
				print "deb [signed-by=" keyring "] " $2 " " suite " main"
				exit
			}'
	done >"$apt_dir/sources.list"
	[[ -s $apt_dir/sources.list ]] || die "no Debian entry in /etc/apt to take an address from"
}

private_apt() # TOOL ARGUMENT...
{
	local tool=$1
	shift
	"$tool" -qq -o Dir::Etc::SourceList="$apt_dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
		-o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}

# guest_results: sets "results" to the directory that RESULTS names, made if need
# be, or to nothing.
guest_results()
{
	results=
	if [[ -n ${RESULTS-} ]]; then
		RESULTS=$(realpath "$RESULTS")
		mkdir -p "$RESULTS"
		results=$RESULTS
	fi
}

# guest_command COMMAND...: prints what a guest's init runs: the command, here, with
# the names in "pass" of our environment.
guest_command()
{
	local name
	echo 'export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
	echo 'export HOME=/root LANG=C'
	# shellcheck disable=SC2154 # an array of the caller's
	for name in "${pass[@]}"; do
		[[ ! -v $name ]] || printf 'export %s=%q\n' "$name" "${!name}"
	done
	printf 'cd %q || exit\nexec' "$PWD"
	printf ' %q' "$@"
	echo
}

# lab_env TOP [BUILD]: exports where a guest of the lab finds what was built for it,
# in .build/lab unless said otherwise.
lab_env()
{
	export HPCCPP_LAB=$1/.build/${2:-lab} HPCCPP=$1/.build/6.1/tools/hpccpp
	export HPCCPP_KO=$HPCCPP_LAB/kmod/tcp_hpccpp.ko
	# Its kernel has no BTF of its own; but for "flow" the command needs none of it.
	HPCCPP_BTF=$("$1/scripts/vm/kernel.sh" 6.1)/vmlinux
	export HPCCPP_BTF
}
