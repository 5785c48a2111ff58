#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts/check.sh with tests made for it: each way to fail is one failure in the totals, with its
# output, its files and the command that runs it alone, and does not affect the other tests. The
# head comments set levels, places and main cases.
#
# check: host main
# usual: 60
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

tree=$tmp/tree
mkdir -p "$tree/selftests/made"
cp -r "$top/scripts" "$top/Makefile" "$tree/"
made() # NAME DIRECTIVE LINE...: a test
{
	printf '%s\n' '#!/bin/bash' "# $2" "${@:3}" >"$tree/selftests/made/$1.sh"
	chmod +x "$tree/selftests/made/$1.sh"
}
none_of() { ! grep -E "$1" "$tmp/out" "$tmp/err"; }
cases=${CASES-}
cd "$tree"
# The runs below do not inherit the settings of this run.
unset LONG PLACE KERNEL V CHECK_DIR VM_POOL UNTIL LEVEL CASES MAKEFLAGS MFLAGS MAKELEVEL
run() # ARGUMENT...: of check.sh; sets status
{
	status=0
	scripts/check.sh "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
}
has() { grep -qxE -e "$1" "$tmp/out" || { cat "$tmp/out" "$tmp/err"; false; } }	# REGEX
reports() # NAME LINE [PLACE]: how a failure is reported
{
	local place=${3-host} options=
	[[ $place == host ]] || options=" PLACE=vm KERNEL=$place"
	check "$1: $2" has "$1@$place: $2"
	check "... its files, and the command that runs it alone" has \
		"	\.build/check/$1@$place\.\{tap,err,log\}; alone: make check TESTS=$1$options V=1"
}

failures()
{
	made passes 'check: host' 'echo 1..1' 'echo ok 1 fine'
	made fails 'check: host' 'echo 1..2' 'echo ok 1 fine' 'echo "not ok 2 the answer: 41 (== 42)"' 'exit 1'
	made ends 'check: host' 'echo 1..2' 'echo ok 1 fine' 'exit 7'
	made skipped 'check: host' 'echo "1..0 # SKIP no device"' 'exit 4'
	made part 'check: host' 'echo 1..3' 'echo ok 1 fine' 'echo "ok 2 a # SKIP no device"' \
		'echo "ok 3 b # SKIP no device"'
	made dies 'check: host' ". '$top/selftests/lib/lib.sh'" 'set -e' 'ktap_plan 3' 'ktap_ok fine' 'false'
	made few 'check: host' 'echo 1..3' 'echo ok 1 fine'
	run check
	assert_eq "some fail: status" "$status" 1
	check "progress" has "7 of 7 \[[0-9:]+\] .*"
	reports fails 'not ok 2 the answer: 41 \(== 42\)'
	reports ends 'not ok: status 7'
	reports dies 'not ok 2 ended after test 1 of 3'
	reports few 'not ok: the number of results is not the planned number'
	check "skipped tests: a line for each reason" has 'Skipped: 3 in part@host, skipped@host: no device'
	check "a skipped test is not reported as failed" none_of '^# skipped@host: status'
	check "the other tests are not affected" none_of '^(passes|part|skipped)@host: '
	check "the slowest tests" has ' +[0-9]+ s  passes@host'
	assert_eq "the last line" "$(tail -n 1 "$tmp/out")" "6 passed, 4 failed, 3 skipped"
	assert_eq "... in a file, too" "$(<.build/check/totals)" "6 passed, 4 failed, 3 skipped"
	LONG=1 run long fails
	check "make check-long: the command that runs one alone" has '.* alone: make check-long TESTS=fails V=1'
	run check passes skipped
	assert_eq "none fails: the last line" "$(tail -n 1 "$tmp/out")" "1 passed, 0 failed, 1 skipped"
	UNTIL=1 run check passes
	check "after UNTIL no test is started" has 'Skipped: 1 in passes@host: not started: .*'
	assert_eq "... the last line" "$(tail -n 1 "$tmp/out")" "0 passed, 0 failed, 1 skipped"
}

levels()
{
	rm -f selftests/made/*
	# shellcheck disable=SC2016 # expanded there
	made whole 'check: host' 'echo 1..1' 'echo "ok 1 ${CASES-all}"'
	# shellcheck disable=SC2016 # expanded there
	made split 'check: host main' 'echo 1..1' 'echo "ok 1 ${CASES-all}"'
	# shellcheck disable=SC2016 # expanded there
	made late 'check-all: host' 'echo 1..1' 'echo "ok 1 ${CASES-all}"'
	expect() { assert_eq "$1" "$(cd .build/check && grep -h '^ok' -- *.tap /dev/null | xargs)" "$2"; }
	run check
	expect "make check: tests of its level, and main cases" "ok 1 main ok 1 all"
	run all
	expect "make check-all: tests of its level, and the other cases" "ok 1 all ok 1 rest"
	run check split
	expect "make check TESTS=: all cases" "ok 1 all"
	LONG=1 run long
	expect "make check-long: all tests, all cases" "ok 1 all ok 1 all ok 1 all"
}

wrong_arguments()
{
	run check whole nonsense
	assert_eq "no such test: status" "$status" 2
	check "... names it" grep -qF "no test 'nonsense' (tests: " "$tmp/err"
	while IFS=, read -r line what; do
		made wrong "$line" 'echo 1..0'
		run check whole wrong
		assert_eq "a head with only \"$line\": status" "$status" 2
		check "... names it" grep -qF "$what" "$tmp/err"
	done <<-'END'
		check: moon,place 'moon'
		usual: soon,usual 'soon'
		check-none: host,no line check
	END
}

# A test that leaves something behind in a VM fails, and no other test does. A test that hangs is ended.
leftovers()
{
	rm -f selftests/made/*
	made hangs 'check: host' 'echo 1..2' 'echo ok 1 fine' 'sleep infinity'
	sed -i 's/^limit_of()$/limit_of() { echo 5; }\nunused()/' scripts/common.sh
	run check hangs
	reports hangs 'not ok: not done after 5 s'
	sed -i 's/^limit_of() .*/limit_of() { echo 600; }/' scripts/common.sh
	made leaves 'check: 6.1' 'echo 1..1' 'ip netns add forgotten' 'mkdir /sys/fs/cgroup/forgotten' \
		'sleep infinity &' 'sysctl -qw net.core.somaxconn=77' 'tc qdisc add dev lo root pfifo' \
		'mount -t tmpfs forgotten /mnt' \
		"bpftool prog load '$HPCCPP_BIN/foreign.bpf.o' /sys/fs/bpf/forgotten" \
		"insmod '$top/.build/6.1/kmod/tcp_hpccpp.ko'" 'socat TCP-LISTEN:77 - &' \
		'until ss -Hltn | grep -q :77; do :; done' 'echo ok 1 fine'
	# shellcheck disable=SC2016 # expanded there
	made next 'check: 6.1' 'echo 1..1' '[[ -z $(ip netns) && ! -e /sys/fs/cgroup/forgotten ]] || echo -n "not "' \
		'echo ok 1 fine'
	run check leaves next
	reports leaves 'not ok: left behind: namespaces: forgotten; .*' 6.1
	for what in 'cgroups: /sys/fs/cgroup/forgotten' 'network: qdisc pfifo .*' 'processes: sleep infinity ' \
		'sysctls: net/core/somaxconn:[0-9]+' 'sockets: TCP [0-9]+; net_namespace [0-9]+' \
		'mounts: forgotten /mnt tmpfs' 'agents: .*' 'module: tcp_hpccpp, used by 0'; do
		check "... ${what%%:*}" has "leaves@6.1: not ok: .*(left behind|changed): $what(;.*)?"
	done
	check "the next test gets another VM" none_of '^next@6.1: '
}


echo TAP version 13
if [[ $cases != rest ]]; then
	failures
	levels
	wrong_arguments
fi
[[ $cases == main ]] || leftovers
ktap_finish
