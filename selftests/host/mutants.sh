#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts/mutants.py on a small tree: its operators, its sample and its exit status.
#
# check-all: host
# usual: 40
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
tree=$tmp/tree
list=$tree/selftests/unit/survivors
mkdir -p "$tree"/{kmod,scripts,selftests/unit}
cp "$top/scripts/mutants.py" "$tree/scripts/"
printf '%s\n' '#define STEP 5' '#define UNUSED 0' 'static inline int next(int n)' '{' \
	$'\tif (n < 9 && n != 7)' $'\t\tn += STEP; /* n - 1 */' $'\treturn n;' '}' >"$tree/kmod/a.h"
printf '%s\n' 'static inline int twice(int n)' '{' $'\twhile (n & 1)' $'\t\tn++;' $'\treturn n + n;' '}' \
	>"$tree/kmod/b.h"
echo '#define ALONE 1' >"$tree/kmod/c.h"
printf '%s\n' "\$(O)/a_test: a_test.c" $'\tmkdir -p $(O)' $'\t$(CC) $(CFLAGS) -o $@ $<' \
	>"$tree/selftests/Makefile"
: >"$list"

run() # TEST "ARGUMENT..." STATUS PATTERN...: with this C expression as the test's failure
{
	local status=0 pattern
	printf '%s\n' '#include "../kmod/a.h"' '#include "../kmod/b.h"' "int main(void) { return $1; }" \
		>"$tree/selftests/a_test.c"
	# shellcheck disable=SC2086 # words
	"$tree/scripts/mutants.py" $2 >"$tmp/said" 2>&1 || status=$?
	echo "status $status" >>"$tmp/said"
	for pattern in "^status $3$" "${@:4}"; do
		grep -qE -- "$pattern" "$tmp/said" || { echo "no '$pattern':"; cat "$tmp/said"; return 1; }
	done
}

# stopped SIGNAL: prints its scores when it gets this signal, and leaves no process and no file
stopped()
{
	local pid
	mkdir "$tmp/dir"
	run '({ while (next(7) != 7); 0; })' -h 0 || return
	TMPDIR=$tmp/dir "$tree/scripts/mutants.py" >"$tmp/said" 2>&1 &
	pid=$!
	busywait 1000 grep -q '^kmod/b' "$tmp/said" && busywait 1000 running && kill -s "$1" "$pid"
	! wait "$pid" && ! running && rmdir "$tmp/dir" &&
		grep -qE '^[0-9]+ of [0-9]+ noticed, [0-9]+ % [(]stopped[)]$' "$tmp/said"
}
running() { [[ $(find /proc/[0-9]*/cwd -lname "$tmp/dir/*" 2>/dev/null) ]]; }

# accept ENTRY REASON COMMAND...: with this entry in the list of accepted survivors
accept() { printf '%s\n\t%s\n' "$1" "$2" >"$list"; "${@:3}"; }
sample() { run "$gap" "-s 2 -n 9" 1 ' of 9 noticed' && mv "$tmp/said" "$tmp/$1"; }
same_sample() { sample first && sample again && cmp "$tmp/first" "$tmp/again"; }
gap='next(8) != 13 || next(7) != 7'		# n = 9 is not tested
whole="$gap || next(9) != 9 || twice(1) != 4"
fault='next: if (n < 9 && n != 7) -> if (n <= 9 && n != 7)'

echo TAP version 13
check "each operator makes faults, those that change no code are not in the sample" run "$whole" kmod/a.h 0 \
	'^kmod/a.h: 18 of 18 ' '1 do not compile, 1 do not change the code, 0 accepted' '^18 of 18 noticed, 100 %$'
check "an endless loop is noticed" run "$whole" kmod/b.h 0 'by the time limit: 1$' '^6 of 6 noticed'
check "stopped by SIGINT, it prints its scores and leaves nothing" stopped INT
check "stopped by SIGTERM, too" stopped TERM
check "a survivor is printed" run "$gap" kmod/a.h 0 "^kmod/a.h:5: ${fault//[()&]/.}$" '^16 of 18 noticed, 88 %$'
check "less than 85 % is a failure, a file without a test is named" run 'next(8) != 13' '' 1 \
	'^kmod/c.h: no unit test covers it' '^kmod/b.h: 0 of 6 ' '^1[0-9] of 24 noticed, [0-9]+ %$'
check "a seed draws one sample" same_sample
check "an accepted survivor is not in the sample" accept "kmod/a.h: $fault" "a reason" \
	run "$gap" kmod/a.h 0 '1 accepted' '^16 of 17 noticed'
check "... but it needs a reason" accept "kmod/a.h: $fault" "" run "$gap" kmod/a.h 2 'no reason below'
check "... and must be possible" \
	accept "kmod/b.h: $fault" "a reason" run "$gap" kmod/a.h 2 'no possible fault'
check "... and one in 20" accept "$(seq 21)" "a reason" run "$gap" kmod/a.h 2 'more than 20'
: >"$list"
check "a file without a test is an error" run "$gap" kmod/c.h 2 'no unit test covers kmod/c.h'
check "a test that fails without a fault is an error" run 1 kmod/a.h 2 'a_test: fails without a fault'
ktap_finish
