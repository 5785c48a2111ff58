# SPDX-License-Identifier: GPL-2.0
# Sourced after lib.sh and common.sh by the tests of the sources as such, which set $src
# to a copy of them. What a compiler or a linter says depends on nothing but itself, its
# options and the files. What was clean with the same is not looked at again, except
# with LONG=1.
# shellcheck shell=bash disable=SC2154 # set there

# For each a file that is named by a digest of what the verdict depends on.
clean=$cache/clean
mkdir -p "$clean"
find "$clean" -type f -mtime +60 -delete

# digest WORD... <FILES
digest() { { printf '%s\n' "$@"; cat; } | sha256sum | cut -d' ' -f1; }
was_clean() { [[ -z ${LONG-} && -e $clean/$1 ]]; }	# DIGEST
checks=("$(realpath "$0")" "$(realpath "${BASH_SOURCE[0]}")")
# contents DIRECTORY...: of the copy, with the files' names, and how they are looked at
contents()
{
	( cd "$src" && find "$@" -type f | sort | xargs sha256sum; cat "${checks[@]}" )
}

# once WHAT DIRECTORY... -- COMMAND...: unless that was clean with the same WHAT and directories
once()
{
	local key dirs=() what=$1
	shift
	while [[ $1 != -- ]]; do
		dirs+=("$1")
		shift
	done
	key=$(contents "${dirs[@]}" | digest "$what" "${*//$tmp/}")
	was_clean "$key" || { "${@:2}" && touch "$clean/$key"; }
}
# shellcheck disable=SC2034 # used there
compilers=$(gcc --version; clang --version; sparse --version 2>&1)
release() { readlink -f "$("$top/scripts/vm/kernel.sh" --headers "$1")"; }	# SERIES
