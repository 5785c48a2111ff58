#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks `lab shell`: a script in /tmp, commands on stdin, a prompt on a terminal whose clock stands
# still while no command runs, and the kernel's log of a guest that complains. And that `lab run`
# refuses wrong keys in one line, and prints metrics.
#
# check-all: host
# usual: 20
# shellcheck disable=SC2016,SC2317 # what the guest expands; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || ktap_skip_all "no python3-numpy"
lab=$top/scripts/lab/lab
export RESULTS_LAB=$top/.build/check/labshell
rm -rf "$RESULTS_LAB"

ktap_plan 14
dir=$(mktemp -d /tmp/labshell.XXXXXX)
trap 'rm -rf "$dir" "$tmp"' EXIT
cat >"$dir/script" <<'EOF'
echo "$1 $(cat "${0%/*}/beside")"
type testbed tgen hpccpp >/dev/null || exit
echo kept >"$RESULTS/file"
exit 3
EOF
echo seen >"$dir/beside"
status=0
said=$("$lab" shell "$dir/script" word) || status=$?
assert_eq "a script in /tmp, its argument and a file beside it" "$said" "word seen"
assert_eq "... its status, with testbed, tgen and hpccpp in PATH" "$status" 3
assert_eq "... what it leaves in \$RESULTS" "$(cat "$RESULTS_LAB/shell/file")" kept
check "... the kernel's log is kept" grep -q "status 3" "$RESULTS_LAB/shell/kernel.log"
assert_eq "commands on stdin" "$("$lab" shell <<<'for i in 1 2; do echo $i; done | paste -sd ,')" 1,2
complains() { ! "$lab" shell <<<'echo "WARNING: a test" >/dev/kmsg' >"$tmp/said" 2>&1; }
check "a guest whose kernel complains: not 0" complains
check "... and the log is shown" grep -qx "WARNING: a test" "$tmp/said"

# terminal LINE...: types each at a prompt, a second after it appears
terminal()
{
	timeout 60 /usr/bin/python3 -c '
import os, pty, sys, time
pid, fd = pty.fork()
if not pid:
    os.execv(sys.argv[1], [sys.argv[1], "shell"])
lines, said = sys.argv[2:], ""
try:
    while part := os.read(fd, 4096).decode():
        said += part
        if said.endswith(("lab# ", "\n> ")):
            time.sleep(1)
            os.write(fd, (lines.pop(0) + "\n").encode())
except OSError:
    pass
print(said.replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$lab" "$@"
}
status=0
terminal 'date +now:%s' 'for i in a b; do' 'echo "is:$i"' 'done' 'sleep 5; date +then:%s' 'exit 7' >"$tmp/terminal" || status=$?
assert_eq "a prompt: its status" "$status" 7
assert_eq "... a command of several lines" "$(grep -c '^is:[ab]$' "$tmp/terminal")" 2
assert_eq "... seconds that pass while one command sleeps for 5" \
	"$(($(sed -n 's/^then://p' "$tmp/terminal") - $(sed -n 's/^now://p' "$tmp/terminal")))" 5

refused() { ! "$lab" run star flow=2 >"$tmp/said" 2>&1 && [[ $(wc -l <"$tmp/said") -eq 1 ]] && grep "'flow'" "$tmp/said"; }
check "lab run: a wrong key is named in one line" refused
cp -r "$top/scripts" "$dir"
check "lab run: what is not built is named in one line" \
	[ "$("$dir/scripts/lab/lab" run star flows=2 2>&1)" = "lab: $dir/.build/lab/tgen is not there: make lab" ]
check "lab run: prints metrics" grep -qE '^completion_us +[0-9.]+$' <("$lab" run incast flows=2 size=20k)
check "... whose links have the names of hosts and switches" \
	grep -qE '^[0-9]+,s1,p3,1,' "$RESULTS_LAB/incast/flows=2,size=20k/links.csv"
ktap_finish
