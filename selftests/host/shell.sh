#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make shell, on a terminal as somebody at it would see it: the prompt, a rate, a port's
# load, keys, the window's size, and that all is gone at the end. Then its examples of
# topologies, and one that fails, with commands from stdin.
#
# check-all: host
# usual: 60
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
unset HPCCPP HPCCPP_KO
shell=$top/scripts/demo/shell.sh
echo "TAP version 13"

# --- What is refused before anything starts ---------------------------------------

refused() # NAME SAID ARGUMENT...: without commands
{
	local status=0
	"$shell" "${@:3}" </dev/null >"$tmp/out" 2>&1 || status=$?
	check "$1: $2" [ "$status $(grep -c -- "$2" "$tmp/out")" = "2 1" ]
}
echo 'topo_line 1 1 || {' >"$tmp/syntax.sh"
refused "no such TOPO" "TOPO '/none': no file that can be read" /none
refused "TOPO is not bash" "TOPO '$tmp/syntax.sh': not bash: .*line 2: syntax error" "$tmp/syntax.sh"
refused "no terminal" "stdin is not a terminal, and has no commands"

# --- Examples, by commands from stdin ------------------------------------------------

cat >"$tmp/bad.sh" <<'END'
topo_begin h1 r
link 1 "$h1" eth0 "$r" eth0 0.1
false
END
# At the end nothing is left of it there.
cat >"$tmp/examples" <<END
export RESULTS=/tmp
before=\$(md5sum /etc/hosts)
cat >$tmp/commands <<'COMMANDS'
for host in h1 h2 h3 r1 r2 r3; do echo "\$host \$(getent hosts \$host | cut -d' ' -f1)"; done
h1 ping -q -c 1 r1 >/dev/null && h2 ping -q -c 1 r2 >/dev/null && h3 ping -q -c 1 r3-v6 >/dev/null && echo all answer
h1 iperf3 -c r1 -C hpccpp -t 1 -J | jq -r '"rate \(.end.sum_received.bits_per_second / 1e6 | round)"'
s2 hpccpp port show dev next
sleep 1000 &
exit 7
COMMANDS
$shell -I -c $tmp/commands $top/scripts/demo/topo/parking-lot.sh; echo "parking-lot ends: \$?"
echo "left: \$(ip netns) \$(lsmod | grep hpccpp) \$(pgrep sleep) \$(pgrep iperf3) \$(find /sys/fs/cgroup -name 'hpccpp-*')" \
	"\$(diff <(echo "\$before") <(md5sum /etc/hosts))"
echo 'for switch in s1 s2 s3; do echo "\$switch has \$(\$switch hpccpp -j port show | jq length)"; done' >$tmp/commands
$shell -I -c $tmp/commands $top/scripts/demo/topo/partial.sh; echo "partial ends: \$?"
echo 'for box in h1 s1 s2 r; do echo "hooks of \$box: \$(\$box hpccpp -j port show | jq -r "map(.hook) | join(\" \")")"; done' >$tmp/commands
$shell -I -c $tmp/commands $top/scripts/demo/topo/hosts.sh; echo "hosts ends: \$?"
$shell -I -c $tmp/commands $tmp/bad.sh; echo "bad ends: \$?"
END
run_bg "$top/scripts/place.sh" -q -- bash "$tmp/examples" >"$tmp/by_stdin" 2>&1
examples=$!

# --- A terminal ----------------------------------------------------------------------

cat >"$tmp/session" <<END
stty rows 33 cols 99
tty >$tmp/tty
stty -g >$tmp/before
echo \$\$ >$tmp/session.pid
RESULTS=$tmp/results $shell
echo \$? >$tmp/status
stty -g >$tmp/after
END
mkfifo "$tmp/keys"
exec {keys}<>"$tmp/keys"
socat - EXEC:"bash $tmp/session",pty,setsid,ctty,stderr <&"$keys" >"$tmp/screen" &
terminal=$!
background+=("$terminal")
mark=1

# keys TEXT: typed; what is awaited next comes after it
keys()
{
	mark=$(($(stat -c %s "$tmp/screen") + 1))
	printf '%b' "$1" >&"$keys"
}

# screen: what came on it since, without escape sequences
screen() { tail -c +"$mark" "$tmp/screen" | sed 's/\x1b\[[?0-9;]*[a-zA-Z]//g; s/\r//g'; }

# await SECONDS REGEX: on the screen, then in $seen
seen=
await()
{
	local end=$((SECONDS + $1))
	until seen=$(screen | grep -aoE -m 1 "$2"); do
		[[ $SECONDS -lt $end ]] && kill -0 "$terminal" || return
		read -rt 0.2 -u "$never" || true
	done
}
shows() # NAME SECONDS REGEX: one test
{
	if await "${@:2}"; then
		ktap_ok "$1"
	else
		ktap_not_ok "$1"
		ktap_diag "$3 is not on the screen: $(screen)"
	fi
}

prompt='hpccpp# $'
start=$SECONDS
shows "what to try" 300 'Try:'
shows "... with the words of the topology" 10 's2 \| --1G-- r'
shows "a prompt" 20 "$prompt"
ktap_diag "after $((SECONDS - start)) s"
types() { keys "$1"; shows "${@:2}"; } # KEYS NAME SECONDS REGEX: the answer to these
types 'stty size\r' "the window's size" 20 '^33 99'
stty -F "$(<"$tmp/tty")" rows 40 cols 120
# keys and sizes come by different ways
types 'until stty size | grep "^40 120"; do read -t 0.1; done\r' "... after it has changed" 20 '^40 120'
types 'h1 getent hosts r-v6\r' "names are known" 20 '^fd00:1:2::2'
types "h1 iperf3 -c r -C hpccpp -t 1 -J | jq -r '\"rate \" + (.end.sum_received.bits_per_second / 1e6 | round | tostring)'\r" \
	"iperf3" 200 '^rate [0-9]+'
assert_ge "... its goodput" "${seen#rate }" 170 Mbit/s
assert_le "... its goodput" "${seen#rate }" 191 Mbit/s
types 's1 hpccpp port show\r' "a port" 20 '^next .* rate 200Mbit'
types 'h1 ping r\r' "ping" 20 'time='
types '\003' "Ctrl-C ends it" 20 'ping statistics'
keys 'h1 ping r\r'
await 20 'time=' || true
types '\032' "Ctrl-Z stops it" 20 '\[1\]\+ +Stopped'
# shellcheck disable=SC2016 # for the other shell
types 'kill -9 %1; echo and $((6 * 7))\r' "... and the shell goes on" 20 'and 42'
types 'h1 hpccpp moni\the\t\r' "the command's words are completed" 20 '^Usage: hpccpp .* monitor'
keys 'sleep 1000 &\rexit\r'
ended() { ! kill -0 "$terminal"; }
slow_wait() { local end=$((SECONDS + $1)); until "${@:2}" 2>/dev/null || [[ $SECONDS -ge $end ]]; do sleep 0.2; done; "${@:2}"; }
check "exit ends it" slow_wait 60 ended
check "... with status 0" [ "$(cat "$tmp/status")" = 0 ]
check "... the terminal as it was" diff "$tmp/before" "$tmp/after"
# one that has ended may wait for process 1
gone() { ! pgrep -a -r D,R,S,T -s "$(<"$tmp/session.pid")"; }
check "... and no process is left" slow_wait 20 gone

wait "$examples" || true
said() { check "$1" grep -qE -- "$2" "$tmp/by_stdin"; }	# NAME REGEX
check "commands from stdin: names of parking-lot" [ "$(grep -E '^[hr][1-3] ' "$tmp/by_stdin" | paste -sd' ')" = \
	"h1 10.0.1.1 h2 10.0.2.1 h3 10.1.3.1 r1 10.2.1.2 r2 10.1.4.2 r3 10.2.3.2" ]
said "... all answer" '^all answer'
rate=$(sed -n 's/^rate //p' "$tmp/by_stdin")
assert_ge "... a rate" "$rate" 85 Mbit/s
assert_le "... a rate" "$rate" 95 Mbit/s # 99 % of 100 Mbit/s, less the headers of 1514 bytes
said "... a port" '^next .* rate 100Mbit'
said "... their status" '^parking-lot ends: 7'
said "... and nothing is left" '^left:[[:space:]]*$'
check "partial: s2 has no port agent" [ "$(grep '^s[1-3] has' "$tmp/by_stdin" | paste -sd' ')" = \
	"s1 has 1 s2 has 0 s3 has 1" ]
check "hosts: switches have no port agent" [ "$(grep '^hooks of' "$tmp/by_stdin" | paste -sd,)" = \
	"hooks of h1: egress,hooks of s1: ,hooks of s2: ,hooks of r: ingress" ]
check "a TOPO that fails is named, with the line" grep -q \
	'^TOPO bad.sh: bad.sh, line 3: failed: false' "$tmp/by_stdin"
said "... and no shell" '^bad ends: 1'
[[ $ktap_failed -eq 0 ]] || ktap_diag "$(<"$tmp/by_stdin")"
ktap_finish
