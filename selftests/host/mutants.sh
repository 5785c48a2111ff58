#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The mutation runner, scripts/mutants.sh, on a small tree of its own; and that
# each mutant of our tables still fits our sources. With LONG=1 all of these are run.
#
# check: host
# usual: 30
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
tree=$tmp/tree
table=$tree/selftests/mutants/a.table

make_tree()
{
	mkdir -p "$tree"/{scripts,selftests/mutants} || return
	cp "$top"/scripts/{common,mutants}.sh "$tree/scripts/" || return
	echo 'static int twice(int n) { return 2 * n; }' >"$tree/a.h"
	echo 'static int thrice(int n) { return 3 * n; }' >"$tree/b.h"
	cat >"$tree/selftests/a_test.c" <<-'END'
		#include "../a.h"
		int main(void) { return twice(3) != 6 || twice(0) != 0; }
	END
	printf '%s\n' "\$(O)/%_test: %_test.c" $'\tmkdir -p $(O)' $'\t$(CC) -o $@ $<' \
		>"$tree/selftests/Makefile"
}

# mutant NAME OLD NEW [LINE]: a block of the table
mutant()
{
	printf 'mutant %s: a fault\ntests a_test\n%s\n-%s\n+%s\n\n' "$1" "${4-# }" "$2" "$3"
}

# run STATUS PATTERN...: mutants.sh ends like that and has said all of these
run()
{
	local want=$1 status=0 pattern
	shift
	"$tree/scripts/mutants.sh" >"$tmp/said" 2>&1 || status=$?
	for pattern; do
		grep -qE -- "$pattern" "$tmp/said" && continue
		echo "'$pattern' is not in:"
		cat "$tmp/said"
		return 1
	done
	[[ $status -eq $want ]] || { echo "status $status:"; cat "$tmp/said"; return 1; }
}

# with BLOCKS STATUS PATTERN...: the same with these blocks as the only table
with()
{
	printf 'file a.h\n\n%s\n' "$1" >"$table"
	run "${@:2}"
}

killed=$(mutant plus '2 * n' '2 + n')
# one that changes nothing that a caller can see
alike=$(mutant alike '2 * n' 'n + n')
# of 20 those that are killed, and the last, of a file that no test has
nineteen=$(for i in {1..19}; do mutant "plus$i" '2 * n' '2 + n'; echo; done)
unseen=$(mutant unseen '3 * n' 'n' 'survives no test has it')

echo TAP version 13
check "a tree with a test is made" make_tree
check "a fault that a test sees is killed" \
	with "$killed" 0 '^a.h: plus: killed by a_test: status 1 ' '^total: 1 of 1 killed, 100.0 %$'
check "one that it does not see survives, and fails the run" \
	with "$killed"$'\n\n'"$alike" 1 '^a.h: plus: killed' '^a.h: alike: SURVIVED ' \
	'^a.h: alike: SURVIVED .*not explained$' '^a.h: 1 of 2 killed, 50.0 %: less than 80 %$'
check "more than one in 20 is too many, explained or not" \
	with "$killed"$'\n\n'"$(mutant alike '2 * n' 'n + n' 'survives no caller sees it')" \
	1 '^a.h: alike: SURVIVED .*no caller sees it$'
check "... but one in 20, explained" \
	with "$nineteen"$'\n\n'"$(mutant alike '2 * n' 'n + n' 'survives no caller sees it')" \
	0 '^a.h: 19 of 20 killed, 95.0 %$' '^total: 19 of 20 killed, 95.0 %$'
check "... unless that is one in five of its file" \
	with "$nineteen"$'\n\nfile b.h\n\n'"$unseen" 1 '^a.h: 19 of 19 killed, 100.0 %$' \
	'^b.h: 0 of 1 killed, 0.0 %: less than 80 %$' '^total: 19 of 20 killed, 95.0 %$'
check "one that is explained, and killed, fails the run" \
	with "$(mutant plus '2 * n' '2 + n' 'survives not really')" 1 'listed as a survivor'
check "an endless loop is killed by the time limit, and the score says so" \
	with "$(mutant forever '2 * n' 'n < 0 ? 0 : ({ while (n); 0; })')"$'\n\n'"$killed" 0 \
	'killed by a_test: not done in' '^a.h: 2 of 2 killed, 100.0 % \(of these 1 by time-out\)$' \
	'^total: 2 of 2 killed, 100.0 % \(of these 1 by time-out\)$'
check "an old text that is not there is an error of the table" \
	with "$(mutant gone '3 * n' 'n')" 2 'a.table:3: gone: its old text is not in a.h'
check "so is one that is there twice" \
	with "$(mutant twice 'n' 'm')" 2 'twice: its old text is in a.h more than once'
check "so is a fault that does not compile, and the next is judged all the same" \
	with "$(mutant broken '2 * n' '2 * m')"$'\n\n'"$killed" 2 \
	'a.table:3: broken: does not build for a_test' '^a.h: plus: killed by a_test' \
	'^total: 1 of 1 killed, 100.0 %$'
check "so is a test that does not exist" \
	with "${killed/a_test/b_test}" 2 'no test b_test'
printf '%s\n' '#!/bin/bash' '# place: long-vm uml' >"$tree/selftests/b.sh"
chmod +x "$tree/selftests/b.sh"
check "so is one that make check runs in the lab alone" \
	with "${killed/a_test/b}" 2 'b: long-vm uml: make check runs it as b-uml'
echo '#error no' >>"$tree/a.h"
check "a test that does not build or pass without a fault is an error" \
	with "$killed" 2 'mutants.sh: does not build for a_test'
check "the tables fit the sources" "$top/scripts/mutants.sh" --check
if [[ -n ${LONG-} ]]; then
	check "95 % of the faults in the tables are killed, and the others explained" \
		"$top/scripts/mutants.sh"
fi
ktap_finish
