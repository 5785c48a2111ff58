#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Put faults into copies of the tree, one at a time, and see which tests notice.
#
#	mutants.sh [FILE[:NAME]...]	mutants of these files (the end of the path is enough),
#				or one of them by its name; all without an argument
#	mutants.sh --check		only check the tables: each old text is in its file
#				once, each test exists
#
# selftests/mutants/README.md says how a table is written. Ends with 0 when at least 95 % were
# killed, at least 80 % of each file's, and each survivor is explained; with 2 when a table is
# wrong or a test fails without a fault; else with 1.
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
top=$(realpath "$here/..")
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$here/common.sh"

goal=95				# percent
least=80			# percent of the mutants of each file
# Tests are as they are in make check: neither long nor in another place.
unset LONG PLACE KERNEL V HPCCPP_BIN CHECK_DIR VM_POOL RESULTS SEED TESTS FILE MAKEFLAGS MFLAGS MAKELEVEL \
	MAKEOVERRIDES

# --- Tables ------------------------------------------------------------------

# A mutant is a directory $work/mutants/N with a file for each of its fields:
# where (in which line of which table), file, name, text, tests, survives, old, new.
read_table() # TABLE
{
	local line word rest file='' mutant='' number=0
	while IFS= read -r line || [[ -n $line ]]; do
		number=$((number + 1))
		word=${line%% *} rest=${line#* }
		case ${mutant:+in}:$line in
		: | in:)	mutant= ;;
		:'#'* | in:'#'*) ;;
		:'file '*)	file=$rest ;;
		:'mutant '*)
			[[ -n $file && $rest =~ ^([A-Za-z0-9_]+):\ (.+)$ ]] ||
				bad "${1##*/}:$number: not 'mutant NAME: TEXT' below a 'file': $line"
			mutant=$work/mutants/$((++mutants))
			mkdir -p "$mutant"
			echo "${1##*/}:$number" >"$mutant/where"
			echo "$file" >"$mutant/file"
			echo "${BASH_REMATCH[1]}" >"$mutant/name"
			echo "${BASH_REMATCH[2]}" >"$mutant/text"
			touch "$mutant"/{tests,old,new} ;;
		in:'tests '* | in:'survives '*)
			echo "$rest" >"$mutant/$word" ;;
		in:[-\ ]*)
			echo "${line:1}" >>"$mutant/old"
			[[ $line == -* ]] || echo "${line:1}" >>"$mutant/new" ;;
		in:+*)		echo "${line:1}" >>"$mutant/new" ;;
		*)		bad "${1##*/}:$number: not expected here: $line" ;;
		esac
	done <"$1"
}

# change MUTANT SOURCE: the source with the fault in it, on stdout. In perl, as bash takes
# seconds to find a line in a long file.
change()
{
	local where
	where="$(<"$1/where"): $(<"$1/name")"
	[[ -e $2 ]] || bad "$where: no file $(<"$1/file")"
	if [[ ! -s $1/old ]] || cmp -s "$1/old" "$1/new"; then
		bad "$where: it changes nothing"
	fi
	# shellcheck disable=SC2016 # perl's
	perl -e '
		undef $/;
		($old, $new, $source) = map { open F, "<", $_ or die; scalar <F> // "" } @ARGV;
		s/\n$// for $old, $new;
		$at = index $source, $old;
		exit 3 if $at < 0;
		exit 4 if index($source, $old, $at + 1) >= 0;
		substr($source, $at, length $old) = $new;
		print $source' "$1/old" "$1/new" "$2" || case $? in
	3)	bad "$where: its old text is not in $(<"$1/file")" ;;
	*)	bad "$where: its old text is in $(<"$1/file") more than once" ;;
	esac
}

# test_place NAME: where it runs: "program" of selftests/Makefile, or as its head says.
test_place()
{
	local found place
	if [[ $1 == *_test ]]; then
		found=$(find "$top/selftests" -name "$1.c")
		place=program
	else
		found=$(cd "$top" && test_files "${1%-uml}")
		place=$([[ -z $found ]] || directive "$top/$found" place)
	fi
	[[ -n $found && $found != *$'\n'* ]] || bad "no test $1"
	case $1:$place in
	*-uml:*uml)	echo uml ;;
	*-uml:*)	bad "$1: $place: it does not run in the lab" ;;
	*:long-vm*uml)	bad "$1: $place: make check runs it as $1-uml" ;;
	*:long-vm*)	bad "$1: $place: make check does not run it" ;;
	*)		echo "${place%% *}" ;;
	esac
}

declare -A tests_there=()
check_mutant() # MUTANT: the tree has what it names
{
	local tests test
	tests=$(<"$1/tests")
	[[ -n $tests ]] || bad "$(<"$1/where"): $(<"$1/name") names no tests"
	for test in $tests; do
		[[ -z ${tests_there[$test]-} ]] || continue
		test_place "$test" >/dev/null || exit
		tests_there[$test]=1
	done
	change "$1" "$top/$(<"$1/file")" >/dev/null
}

# selected MUTANT FILE[:NAME]...: it is one of these
selected()
{
	local path name what
	path=/$(<"$1/file") name=$(<"$1/name")
	shift
	[[ $# -gt 0 ]] || return 0
	for what; do
		[[ $path != *"/${what%%:*}" || ( $what == *:* && ${what#*:} != "$name" ) ]] || return 0
	done
	return 1
}

# --- One mutant --------------------------------------------------------------

# build TREE TEST: false when something does not build, with what was said in said.
build()
{
	local targets=(build-bin)
	case $(test_place "$2") in
	program)
		rm -f "$1/.build/bin/$2"
		# most of the time is the compiler's
		said=$(make -C "$1/selftests" O="$1/.build/bin" CFLAGS=-O0 "$1/.build/bin/$2" \
			2>&1 </dev/null)
		return ;;
	uml)	targets+=(build-tools-6.1 build-lab) ;;
	host)	targets+=(build-tools-6.1)	# the module is of no use there
		[[ $(cd "$top" && test_files "$2") != selftests/lab/* ]] || targets+=(build-lab) ;;
	*)	targets+=(build-6.1) ;;
	esac
	said=$(make -C "$1" "${targets[@]}" 2>&1 </dev/null)
}

# fails TREE TEST [SECONDS]: true when the test does, or is skipped; sets verdict.
fails()
{
	local status=0 run=(scripts/run-test.sh "$2")
	[[ $2 != *_test ]] || run=(".build/bin/$2")
	said=$(cd "$1" && timeout -k 10 "${3-3600}" "${run[@]}" 2>&1 </dev/null) || status=$?
	verdict=$(sed -nE 's/^not ok [0-9]+ (- )?//p' <<<"$said" | head -n 1)
	if [[ -z $verdict ]]; then
		case $status in
		0)	! grep -q '^1\.\.0' <<<"$said" || verdict=skipped ;;
		124)	verdict="not done in ${3-3600} s" ;;
		*)	verdict="status $status" ;;
		esac
	fi
	[[ -n $verdict ]]
}

# judge N: puts the fault into the tree of this worker, runs its tests until one
# fails, takes it out. One that does not build is named in the file "wrong": the others
# are judged all the same, as all of them take an hour.
judge()
{
	local mutant=$work/mutants/$1 tree=$work/tree${SLOT:?} file test start=$SECONDS said verdict
	local killed=''
	file=$(<"$mutant/file")
	change "$mutant" "$work/orig/$file" >"$tree/$file" || exit 255
	for test in $(<"$mutant/tests"); do
		build "$tree" "$test" || {
			echo "${0##*/}: $(<"$mutant/where"): $(<"$mutant/name"): does not build for $test:" \
				"$(tail -c 2000 <<<"$said")" | tee -a "$work/wrong" >&2
			touch "$mutant/wrong"
			killed="does not build"
			break
		}
		if fails "$tree" "$test" "$(<"$work/limits/$test")"; then
			killed="killed by $test: $verdict"
			break
		fi
	done
	cp "$work/orig/$file" "$tree/$file"
	echo "$killed" >"$mutant/verdict"
	echo "$file: $(<"$mutant/name"): ${killed:-SURVIVED} ($((SECONDS - start)) s)"
}

if [[ ${1-} == --judge ]]; then
	work=$MUTANTS_WORK
	judge "$2"
	exit
fi

# --- All of them -------------------------------------------------------------

# baseline TREE TEST...: each passes without a fault; that says how long it may take
# with one.
baseline()
{
	local tree=$1 test start said verdict
	shift
	mkdir -p "$work/limits"
	for test; do
		build "$tree" "$test" || bad "does not build for $test: $(tail -c 2000 <<<"$said")"
		start=$SECONDS
		! fails "$tree" "$test" || bad "$test fails without any fault: $verdict:" \
			"$(tail -n 15 <<<"$said")"
		echo $((10 + 5 * (SECONDS - start))) >"$work/limits/$test"
		echo "# $test passes without a fault in $((SECONDS - start)) s"
	done
}

# report MUTANT...: the survivors and the scores; false when these are not enough.
report()
{
	local mutant file verdict why note good=0
	declare -A killed=([total]=0) of=([total]=0) late=()
	for mutant; do
		[[ ! -e $mutant/wrong ]] || continue
		file=$(<"$mutant/file") verdict=$(<"$mutant/verdict")
		why=$([[ ! -e $mutant/survives ]] || cat "$mutant/survives")
		of[$file]=$((${of[$file]-0} + 1)) of[total]=$((of[total] + 1))
		if [[ -n $verdict ]]; then
			killed[$file]=$((${killed[$file]-0} + 1)) killed[total]=$((killed[total] + 1))
			[[ $verdict != *": not done in "* ]] ||
				late[$file]=$((${late[$file]-0} + 1)) late[total]=$((${late[total]-0} + 1))
			[[ -z $why ]] || { good=1; echo "$file: $(<"$mutant/name"): is killed, and listed as a survivor"; }
		else
			echo "$file: $(<"$mutant/name"): SURVIVED ($(<"$mutant/text")): ${why:-not explained}"
			[[ -n $why ]] || good=1
		fi
	done
	[[ ${of[total]} -gt 0 ]] || return
	for file in $(printf '%s\n' "${!of[@]}" | grep -vx total | sort) total; do
		note=${late[$file]:+ (of these ${late[$file]} by time-out)}
		[[ $((100 * ${killed[$file]-0})) -ge $((least * of[$file])) ]] ||
			{ good=1; note+=": less than $least %"; }
		echo "$file: ${killed[$file]-0} of ${of[$file]} killed," \
			"$(awk "BEGIN { printf \"%.1f\", 100 * ${killed[$file]-0} / ${of[$file]} }") %$note"
	done
	[[ $good -eq 0 && $((100 * killed[total])) -ge $((goal * of[total])) ]]
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export MUTANTS_WORK=$work

mutants=0
for table in "$top"/selftests/mutants/*.table; do
	read_table "$table"
done
for ((n = 1; n <= mutants; n++)); do
	check_mutant "$work/mutants/$n"
	echo "$(<"$work/mutants/$n/file"): $(<"$work/mutants/$n/name")"
done | sort | uniq -d >"$work/twice"
[[ ! -s $work/twice ]] || bad "two mutants of one name: $(<"$work/twice")"
if [[ ${1-} == --check ]]; then
	echo "$mutants mutants"
	exit
fi

chosen=()
for ((n = 1; n <= mutants; n++)); do
	! selected "$work/mutants/$n" "$@" || chosen+=("$n")
done
[[ ${#chosen[@]} -gt 0 ]] || bad "no mutants of ${*:-any file}"

mkdir "$work/tree0"
tar -C "$top" -c --exclude=./.git --exclude=./.build --exclude=./results --exclude='*.o' \
	--exclude='*.ko' --exclude='*.cmd' . | tar -C "$work/tree0" -x
mapfile -t tests < <(for n in "${chosen[@]}"; do
	tr ' ' '\n' <"$work/mutants/$n/tests"
done | sort -u)
# the tree may be edited meanwhile
cp -a "$work/tree0" "$work/orig"
baseline "$work/tree0" "${tests[@]}"
for ((slot = 1; slot < $(nproc); slot++)); do
	cp -a "$work/tree0" "$work/tree$slot"
	# what depends on a header is named by its whole path
	find "$work/tree$slot/.build" -name '*.d' -exec \
		sed -i "s#$work/tree0/#$work/tree$slot/#g" {} +
done
# what takes long first, so that none of these ends alone
for n in "${chosen[@]}"; do
	seconds=0
	for test in $(<"$work/mutants/$n/tests"); do
		seconds=$((seconds + $(<"$work/limits/$test")))
	done
	echo "$seconds $n"
done | sort -rn | cut -d' ' -f2 |
	xargs -n 1 -P "$(nproc)" --process-slot-var=SLOT "$here/mutants.sh" --judge || exit 2
echo
status=0
report "${chosen[@]/#/$work/mutants/}" || status=1
if [[ -e $work/wrong ]]; then
	cat "$work/wrong" >&2
	status=2
fi
exit "$status"
