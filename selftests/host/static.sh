#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks the sources without running them: checkpatch, sparse, the warnings of two compilers with
# both kernels' headers, shellcheck, licence lines. Works in a copy; a missing tool is a failure.
# With an argument, runs only the checks that have it in their name.
#
# check: host main
# usual: 150
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$top/scripts/common.sh"
# shellcheck source-path=SCRIPTDIR source=../lib/clean.sh
. "${BASH_SOURCE%/*}/../lib/clean.sh"
only=${1-}
src=$tmp/src

tested() # NAME COMMAND...: one test, when it is asked for
{
	[[ $1 != *"$only"* ]] || check "$@"
}

sources() # [FIND ARGUMENT...]: relative to the copy
{
	( cd "$src" && find Kbuild Makefile kmod tools selftests scripts -type f "$@" | sort )
}
copy_sources "$src"

# --- checkpatch ----------------------------------------------------------------

# Types of checkpatch that do not apply, where, and why:
#   CONSTANT_COMPARISON	takes the draft's variables U and W for constants
#   LONG_LINE_STRING	messages stay on one line, for grep
#   OPEN_ENDED_LINE ...	the layout of TRACE_EVENT() in the kernel
#   AVOID_EXTERNS ...	declarations of kfuncs; names of fields take no parentheses
#   VOLATILE		the loader sets const volatile before the verifier looks
#   MEMORY_BARRIER ...	the kernel's own headers, for the unit tests
#   BIT_MACRO ...	prefer the kernel's own headers, which programs do not have
#   ALLOC_WITH_SIZEOF	6.1 has no kzalloc_obj(), and takes no constant table of sysctls
#   COMPLEX_MACRO ...	STUB() of command_test.h and TEST() of test.h define functions
#   MACRO_ARG_UNUSED	an interface that only some kernels have
ignored() # FILE: types that do not apply to it
{
	echo CONSTANT_COMPARISON LONG_LINE_STRING ALLOC_WITH_SIZEOF CONST_STRUCT
	[[ $1 != kmod/compat.h && $1 != */bpf_shim.h && $1 != */module_kernel.h ]] ||
		echo MACRO_ARG_UNUSED
	[[ $1 != *.bpf.c && $1 != tools/bpf/host_flow.h ]] || echo VOLATILE
	[[ $1 != */cnp_maps.h ]] || echo MACRO_ARG_REUSE
	[[ $1 != */unit/test.h ]] || echo MACRO_ARG_REUSE MACRO_WITH_FLOW_CONTROL
	[[ $1 != */command_test.h ]] || echo COMPLEX_MACRO MACRO_WITH_FLOW_CONTROL
	[[ $1 != */module_kernel.h ]] || echo VOLATILE MEMORY_BARRIER TRAILING_SEMICOLON \
		COMPLEX_MACRO MACRO_ARG_REUSE
	[[ $1 != */port.bpf.c ]] || echo AVOID_EXTERNS MACRO_ARG_PRECEDENCE
	case $1 in
	kmod/trace.h)
		echo OPEN_ENDED_LINE PARENTHESIS_ALIGNMENT ;;
	kmod/hpccpp_*.h | tools/* | selftests/* | scripts/*)
		echo BIT_MACRO PREFER_KERNEL_TYPES PREFER_DEFINED_ATTRIBUTE_MACRO \
			ARRAY_SIZE STRCPY ;;
	esac
}
# Names of cmocka, C11, inttypes.h, libFuzzer and the kernel
foreign='CAMELCASE: .*<(CMUnitTest(Function)?|_Static_assert|PRI[a-zA-Z0-9]+|LLVMFuzzerTestOneInput|Qdisc(_ops|_class_ops)?)>'

# Files to which the same applies go together: to begin takes it a quarter of a second.
run_checkpatch()
{
	local checkpatch file ignore status=0 files keys key
	declare -A together=()
	# of the newest kernel that we have the sources of
	checkpatch=$("$top/scripts/lab/kernel.sh")/build/scripts/checkpatch.pl || return
	mapfile -t files < <(sources -name '*.[ch]')
	[[ ${#files[@]} -gt 0 ]] || return
	cd "$src" || return
	for file in "${files[@]}"; do
		ignore=$(ignored "$file" | tr -s ' \n' ',,')
		key=$(cat "$checkpatch" "$file" | digest "$file" "$ignore" "$foreign")
		was_clean "$key" || together[${ignore%,}]+="$file $clean/$key "
	done
	for ignore in "${!together[@]}"; do
		mapfile -t files < <(xargs -n 2 <<<"${together[$ignore]}" | cut -d' ' -f1)
		mapfile -t keys < <(xargs -n 2 <<<"${together[$ignore]}" | cut -d' ' -f2)
		perl "$checkpatch" --no-tree --strict --terse --show-types --no-summary \
			--ignore "$ignore" -f "${files[@]}" >"$tmp/cp" 2>"$tmp/cp.err"
		# 0 and 1 are its verdicts; dying is no verdict
		if [[ $? -gt 1 ]]; then
			cat "$tmp/cp.err"
			status=1
		elif grep -vE "$foreign" "$tmp/cp"; then
			status=1
		else
			touch "${keys[@]}"
		fi
	done
	return "$status"
}

# --- the module ----------------------------------------------------------------

# build_module SERIES ARGUMENT...: prints warnings only; with ours=1 only those in our own files
build_module()
{
	local kernel=$1 dir
	shift
	kernel=$("$top/scripts/vm/kernel.sh" --headers "$kernel") || return
	dir=$(mktemp -d "$tmp/kmod.XXXXXX")
	cp -r "$src/kmod" "$dir/"
	make -C "$kernel/build" M="$dir/kmod" "$@" modules >"$tmp/make" 2>&1 || {
		cat "$tmp/make"
		return 1
	}
	[[ -e $dir/kmod/tcp_hpccpp.ko ]] || return
	! grep -iE -A 4 "${ours:+$dir/kmod/[^ ]*\.[ch]:[0-9:]+ }(warning|error):" "$tmp/make"
}

# Of one build, as most of the time goes into the kernel's headers
sparse_module()
{
	sparse --version || return
	build_module 6.1 W=1 C=2 CF=-D__CHECK_ENDIAN__ || return
	grep -q CHECK "$tmp/make"
}

# Debian's kernels are configured for gcc: drops flags that clang does not know. Warnings about the
# kernel's headers and gcc's mitigations are not ours.
clang_module()
{
	cat >"$tmp/clang" <<-'END'
		#!/bin/bash
		for arg; do
			shift
			case $arg in
			-mfunction-return=* | -mrecord-mcount | -fconserve-stack) ;;
			-ftrivial-auto-var-init=* | -fzero-call-used-regs=*) ;;
			*) set -- "$@" "$arg" ;;
			esac
		done
		exec clang "$@" -Qunused-arguments -Wno-unknown-warning-option -Wno-gnu
	END
	chmod +x "$tmp/clang"
	ours=1 build_module "$1" CC="$tmp/clang" W=1
}

# --- programs ------------------------------------------------------------------

build_tools() # CC
{
	# eBPF is clang's in both cases: once
	rm -f "$tmp"/tools/hpccpp
	find "$tmp" -path "$tmp/tools/*.o" ! -name '*.bpf*' -delete
	make -C "$src/tools" O="$tmp/tools" CC="$1" CFLAGS="-O2 -g -Werror" &&
		[[ -x $tmp/tools/hpccpp ]]
}

# clang only reads them, which is enough for its warnings. gcc builds the last three in the tests
# "module" and "parts".
build_selftests() # CC
{
	local bin=$tmp/bin more=() flags="-O2 -g -Werror"
	if [[ $1 == clang ]]; then
		flags+=" -fsyntax-only -Qunused-arguments -Wmissing-prototypes"
		more=("$bin/module_test" "$bin/command_test" "$bin/objects_test")
	fi
	# as in build_tools()
	[[ ! -d $bin ]] || find "$bin" -maxdepth 1 -type f ! -name '*.bpf.o' ! -name '*.skel.h' -delete
	make -C "$src/selftests" O="$bin" CC="$1" CFLAGS="$flags" \
		all "$bin/algo_test" "$bin/cost" "${more[@]}"
}

# --- scripts and licences ------------------------------------------------------

run_shellcheck()
{
	local file files sourced unseen=() keys=() key
	cd "$src" || return
	mapfile -t files < <({
		sources -exec awk 'FNR == 1 && /^#!.*sh$/ { print FILENAME }' {} +
		sources -name '*.sh'
	} | sort -u)
	[[ ${#files[@]} -gt 0 ]] || return
	mapfile -t sourced < <(sources -name '*.sh' ! -perm -u+x)
	for file in "${files[@]}"; do
		key=$(cat "${sourced[@]}" "$file" | digest "$file" "$(shellcheck --version)")
		was_clean "$key" || { unseen+=("$file") && keys+=("$clean/$key"); }
	done
	[[ ${#unseen[@]} -gt 0 ]] || return 0
	shellcheck -x "${unseen[@]}" && touch "${keys[@]}"
}

run_spdx()
{
	local files
	mapfile -t files < <(sources ! -name '*.md' ! -name '*.png' ! -name '*.json' ! -name '*.patch' ! -name '*.config' \
		! -path '*/debian/*')
	[[ ${#files[@]} -gt 0 ]] || return
	( cd "$src" && awk '
		FNR == 1 && NR > 1 && !said	{ print name; bad = 1 }
		FNR == 1			{ name = FILENAME; said = 0 }
		FNR <= 2			{ said += /SPDX-License-Identifier: GPL-2.0/ }
		FNR == 2			{ nextfile }
		END				{ if (!said) { print name; bad = 1 }; exit bad }' "${files[@]}" )
}

# Counts neither comments that have lines of their own nor empty lines.
run_lengths()
{
	( cd "$src" && find kmod tools selftests scripts \( -name '*.[ch]' -o -name '*.sh' -o -name '*.py' \) -exec awk '
		FNR == 1				{ code = inside = 0; c = FILENAME ~ /[ch]$/ && FILENAME !~ /sh$/ }
		c && (inside || /^[ \t]*\/\*/)		{ inside = !/\*\//; next }
		/^[ \t]*($|\/\/)/ || !c && /^[ \t]*#/	{ next }
		++code == 901	{ print FILENAME ": more than 900 lines of code"; bad = 1 }
		END		{ exit bad }' {} + )
}

echo TAP version 13
if runs_main; then
	tested "checkpatch --strict finds nothing" run_checkpatch
	tested "the module builds for 6.1 with gcc W=1 and sparse, endianness included, without a warning" \
		once "$compilers $(release 6.1)" kmod -- sparse_module
	tested "the module builds for 6.1 with clang W=1 without a warning" \
		once "$compilers $(release 6.1)" kmod -- clang_module 6.1
	for cc in gcc clang; do
		tested "the command builds with $cc -Wall -Wextra without a warning" \
			once "$compilers $(release 6.1)" kmod tools -- build_tools $cc
		tested "the selftests build with $cc -Wall -Wextra without a warning" \
			once "$compilers $(release 6.1)" kmod tools selftests scripts/cost -- build_selftests $cc
	done
	tested "shellcheck finds nothing" run_shellcheck
	tested "every source file has its licence line" run_spdx
	tested "no file has more than 900 lines of code" run_lengths
fi
if runs_rest; then
	tested "the module builds for 6.12 with gcc W=1 without a warning" \
		once "$compilers $(release 6.12)" kmod -- build_module 6.12 W=1
	tested "the module builds for 6.12 with clang W=1 without a warning" \
		once "$compilers $(release 6.12)" kmod -- clang_module 6.12
fi
ktap_finish
