#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How tests are run: scripts/check.sh with tests made for it, some of which fail in
# every way that there is. Each is a failure of its own, with what it said, its files and
# the command that runs it alone; the others are none the worse; the last line counts.
#
# place: host
# timeout: 1000
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

tree=$tmp/tree
mkdir -p "$tree/selftests/made"
cp -r "$top/scripts" "$top/Makefile" "$tree/"
made() # NAME PLACE SECONDS LINE...: a test
{
	printf '%s\n' '#!/bin/bash' "# place: $2" "# timeout: $3" "${@:4}" >"$tree/selftests/made/$1.sh"
	chmod +x "$tree/selftests/made/$1.sh"
}
made passes host 850 'echo 1..1' 'echo ok 1 fine'
made fails host 850 'echo 1..2' 'echo ok 1 fine' 'echo "not ok 2 the answer: 41 (== 42)"' 'exit 1'
made ends host 850 'echo 1..2' 'echo ok 1 fine' 'exit 7'
made skipped host 850 'echo "1..0 # SKIP nothing here"' 'exit 4'
made part host 850 'echo 1..3' 'echo ok 1 fine' 'echo "ok 2 a # SKIP nothing here"' 'echo "ok 3 b # SKIP nothing here"'
# shellcheck disable=SC2016 # expanded there
made dies host 850 ". '$top/selftests/lib/lib.sh'" 'set -e' 'ktap_plan 3' 'ktap_ok fine' 'false'
made few host 850 'echo 1..3' 'echo ok 1 fine'
made hangs host 2 'echo 1..2' 'echo ok 1 fine' 'sleep infinity'
# shellcheck disable=SC2016 # expanded there
made leaves vm 900 'echo 1..1' 'ip netns add forgotten' 'mkdir /sys/fs/cgroup/forgotten' 'sleep infinity &' \
	'sysctl -qw net.core.somaxconn=77' 'tc qdisc add dev lo root pfifo' 'mount -t tmpfs forgotten /mnt' \
	"bpftool prog load '$HPCCPP_BIN/foreign.bpf.o' /sys/fs/bpf/forgotten" \
	"insmod '$top/.build/6.1/kmod/tcp_hpccpp.ko'" 'socat TCP-LISTEN:77 - &' \
	'until ss -Hltn | grep -q :77; do :; done' 'echo ok 1 fine'
# shellcheck disable=SC2016 # expanded there
made clean vm 800 'echo 1..1' '[[ -z $(ip netns) && ! -e /sys/fs/cgroup/forgotten ]] || echo -n "not "' \
	'echo ok 1 fine'

cd "$tree"
unset LONG
run() { env -u PLACE -u KERNEL -u V -u CHECK_DIR -u VM_POOL PLACE=vm scripts/check.sh "$@" >"$tmp/out" 2>"$tmp/err"; }
has() { grep -qxE "$1" "$tmp/out" || { cat "$tmp/out" "$tmp/err"; false; } }	# REGEX

echo TAP version 13
status=0
run || status=$?
assert_eq "some fail: status" "$status" 1
for n in 1 10; do
	check "progress: $n of 10" has "$n of 10 \[[0-9:]+\] .*"
done
says() # NAME LINE [PLACE]: what is said of it at the end
{
	check "$1: $2" has "$1: $2"
	check "... its files, and how to run it alone" has \
		"	\.build/check/$1\.\{tap,err,log\}; alone: make check TESTS=$1 PLACE=vm V=1"
}
says fails 'not ok 2 the answer: 41 \(== 42\)'
says ends 'not ok: status 7'
says dies 'not ok 2 ended after test 1 of 3'
says few 'not ok: it ran other tests than it planned'
says hangs 'not ok: not done after 8 s'
says leaves 'not ok: left behind: namespaces: forgotten; .*'
for what in 'cgroups: /sys/fs/cgroup/forgotten' 'network: qdisc pfifo .*' 'processes: sleep infinity ' \
	'sysctls: net/core/somaxconn:[0-9]+' 'sockets: TCP [0-9]+; net_namespace [0-9]+' \
	'mounts: forgotten /mnt tmpfs' 'agents: .*' 'module: tcp_hpccpp, used by 0'; do
	check "... ${what%%:*}" has "leaves: not ok: .*(left behind|changed): $what(;.*)?"
done
check "what was skipped, a line a reason" has 'Skipped: 3 of part, skipped: nothing here'
assert_eq "... lines" "$(grep -c '^Skipped' "$tmp/out")" 1
none_of() { ! grep -E "$1" "$tmp/out" "$tmp/err"; }
check "a skipped test is not announced as one that failed" none_of '^# skipped: status'
check "others are none the worse" none_of '^(passes|clean|part|skipped): '
assert_eq "the last line" "$(tail -n 1 "$tmp/out")" "9 passed, 6 failed, 3 skipped"
assert_eq "... in a file too" "$(<.build/check/totals)" "9 passed, 6 failed, 3 skipped"

export LONG=1
run fails || true
check "make check-long: how to run one alone" has '.* alone: make check-long TESTS=fails PLACE=vm V=1'
unset LONG

run passes skipped
assert_eq "none fails: the last line" "$(tail -n 1 "$tmp/out")" "1 passed, 0 failed, 1 skipped"
check "... no not ok" none_of 'not ok'
status=0
run passes nonsense || status=$?
assert_eq "a test that is not there: status" "$status" 2
check "... what is said" grep -qF "no test 'nonsense' (tests: " "$tmp/err"

# What is there and is not a check's stays.
mkdir "$tmp/dear"
echo dear >"$tmp/dear/file"
status=0
said=$(env -u PLACE -u KERNEL -u V -u VM_POOL CHECK_DIR="$tmp/dear" PLACE=vm scripts/check.sh passes 2>&1) || status=$?
assert_eq "CHECK_DIR with files of others: status" "$status" 2
check "... they stay, and it is said" test -e "$tmp/dear/file" -a -z "${said##*"CHECK_DIR '$tmp/dear': "*}"

# make's own line is the only one
for wrong in PLACE=moon KERNEL=5.4; do
	said=$(env -u PLACE -u KERNEL -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make check "$wrong" 2>&1 || true)
	check "make check $wrong: one line, which names it" test "$(wc -l <<<"$said")" -eq 1 -a \
		-z "${said##*\'"${wrong#*=}"\'*}"
done
ktap_finish
