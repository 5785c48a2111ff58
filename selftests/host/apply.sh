#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Agents as a file and a file as agents: what save prints, what apply makes of it and
# leaves alone, and that a file with a wrong line changes nothing; change, and watch,
# which go by the words that an agent was added with.
#
#	netns box: t0 (tbf) --- t1 (tbf), u0 (tbf) --- u1
#
# check-all: 6.1
# usual: 110
# shellcheck disable=SC2317,SC2154 # functions that check calls; set by setup_ns
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

echo "TAP version 13"
setup_ns box
ip -n "$box" link add t0 up type veth peer t1
ip -n "$box" link add u0 up type veth peer u1
shaped() { tc -n "$box" qdisc replace dev "$1" root tbf rate "$2" burst 3028 limit 512kb; } # DEV RATE
ip -n "$box" link set t1 up
ip -n "$box" link set u1 up
for dev in t0 t1 u0; do
	shaped "$dev" 50mbit
done
make_cgroup
in_box() { "$HPCCPP" -n "$box" "$@"; }
is() { check "$1" [ "$2" = "$3" ]; }	# NAME VALUE WANTED
apply() { in_box apply "$tmp/file" "$@"; }
value() { in_box -j port show "$1" | jq -r ".[0].$2"; }	# DEV KEY

# --- save ------------------------------------------------------------------------

is "none: nothing is saved" "$(in_box save)" ""
umask 077
echo 000102030405060708090a0b0c0d0e0f >"$tmp/key"
in_box port add t0 base 20us abo 50 accept 10.0.0.0/8 acc fd00::/16 border
(cd "$tmp" && in_box host add "$CGROUP" every 4 key-file key req)
cat >"$tmp/file" <<END
port dev t0 base-rtt 20us above 50 accept 10.0.0.0/8 accept fd00::/16 border
host cgroup $CGROUP every 4 key-file $tmp/key require
END
is "words are saved whole, and paths independent of the directory" \
	"$(in_box save)" "$(<"$tmp/file")"
mkdir "$CGROUP/a b#"
mv "$tmp/file" "$tmp/saved"

# --- apply -----------------------------------------------------------------------

cp "$tmp/saved" "$tmp/file"
is "what was saved changes nothing" "$(apply dry-run)" ""
in_box port del t0
in_box host del "$CGROUP"
apply
is "what was saved comes back" "$(in_box save)" "$(<"$tmp/saved")"

prog() { programs "$box" "$1" egress; }
before=$(prog t0)
cat >"$tmp/file" <<END
# of a switch

port dev t0 base 20us above 50 accept 10.0.0.0/8 accept fd00::/16 border	# as it was
 port dev u0 rate 10mbit
host cgroup $CGROUP/a\ b\# every 8
END
is "dry-run: what would be deleted, and added" "$(apply dry-run)" \
	"- host cgroup $CGROUP every 4 key-file $tmp/key require
+ port dev u0 rate 10mbit
+ host cgroup $CGROUP/a\ b\# every 8"
is "... and nothing is done" "$(in_box save)" "$(<"$tmp/saved")"
apply
is "it is done" "$(in_box save)" "port dev t0 base-rtt 20us above 50 accept 10.0.0.0/8 accept fd00::/16 border
port dev u0 rate 10mbit
host cgroup $CGROUP/a\ b\# every 8"
is "... and leaves alone what was so" "$(prog t0)" "$before"

in_box save >"$tmp/saved"
sed -i 's/every 8/every 9/' "$tmp/file"
is "dry-run: what would be replaced" "$(apply dry-run)" "~ host cgroup $CGROUP/a\ b\# every 9"
wrong() # LINE STATUS PATTERN: behind lines that are right
{
	cp "$tmp/file" "$tmp/right"
	echo "$1" >>"$tmp/file"
	says "$2" "Error: line 6$3" apply
	mv "$tmp/right" "$tmp/file"
}
wrong "port dev lo rate 1" 255 ': rate "1" *'
wrong "port dev none" 2 ': cannot find device "none".'
wrong "port lo rate 1gbit" 255 ': "port dev" and its value have to be the first words.'
wrong "ports dev lo" 255 ': object "ports" is unknown: allowed are port, cnp, host.'
wrong "host cgroup $CGROUP/none" 2 ": cannot open cgroup *"
wrong "port dev t0 above 7" 255 ' is for "t0", and line 3 for "t0".'
wrong "host cgroup $CGROUP" 255 " is for \"$CGROUP\", and line 5 for *"
says 2 'Error: cannot open "/nowhere": *' in_box apply /nowhere
says 255 'Error: "file" is missing, *' in_box apply
is "a wrong line: nothing has changed" "$(in_box save)" "$(<"$tmp/saved")"
says 255 'Error: file "-" has no agent: *' in_box apply - </dev/null
wrong "port dev u1 netns $box" 255 ': "netns" is wrong in a file: give -n.'
is "... nor without one" "$(in_box save)" "$(<"$tmp/saved")"
printf 'port dev t0 \0above 2\n' >"$tmp/file"
says 255 "Error: line 1: byte 13 is a NUL: allowed is text." apply
{ echo "port dev u0"; head -c 60000000 /dev/zero | tr '\0' ' '; echo "port dev t0"; } >"$tmp/file"
says 2 "Error: cannot read the file: Cannot allocate memory." \
	bash -c "ulimit -v 40000; '$HPCCPP' -n $box apply '$tmp/file'"
echo "port dev t0 above 1" >"$tmp/file"
in_box port replace u0 border
tc -n "$box" filter del dev u0 egress
apply
check "what is left of a port on ingress goes too" [ -z "$(programs "$box" u0 ingress)" ]
is "a file for a namespace leaves host agents alone" "$(in_box save)" "port dev t0 above 1
host cgroup $CGROUP/a\ b\# every 8"
# Several devices: those that have a line of their own go by that; u1 has no shaper
cat >"$tmp/file" <<END
port dev all base-rtt 30us
port dev u0 base-rtt 40us
END
is "dry-run: a line for each of several devices" "$(apply dry-run | sort)" "+ port dev t1 base-rtt 30us
+ port dev u0 base-rtt 40us
~ port dev t0 base-rtt 30us"
apply
is "... done, and saved so" "$(in_box save | grep ^port | sort)" "port dev t0 base-rtt 30us
port dev t1 base-rtt 30us
port dev u0 base-rtt 40us"
is "... and nothing is to be done again" "$(apply dry-run)" ""
ip -n "$box" link add q0 up numtxqueues 2 type veth peer q1
tc -n "$box" -batch - <<END
qdisc replace dev q0 root handle 1: mq
qdisc replace dev q0 parent 1:1 tbf rate 10mbit burst 3028 limit 512kb
qdisc replace dev q0 parent 1:2 tbf rate 20mbit burst 3028 limit 512kb
END
echo "port dev all base-rtt 30us" >"$tmp/file"
says 2 "Error: line 1: the queues of q0 differ: *" apply
is "... and the others are as the line says" "$(in_box -j port show | jq -c 'map([.dev, .base_rtt]) | sort')" \
	'[["t0",30],["t1",30],["u0",30]]'
ip -n "$box" link del q0
several() # STATUS PATTERN LINE...: the file of these lines is refused, like PATTERN
{
	printf '%s\n' "${@:3}" >"$tmp/file"
	says "$1" "Error: line $2" apply
}
several 255 '1: id "5" is wrong with dev "all": allowed is the name of one device.' "port dev all id 5"
several 2 '2: cannot find a device like "swp\*".' "port dev t0" "port dev swp*"
several 255 '2 is for "t0", and line 1 for "t0".' "port dev t*" "port dev ?0"
is "... and nothing has changed" "$(in_box -j port show | jq -c 'map(.base_rtt) | sort')" "[30,30,30]"
echo "port dev t0 above 1" >"$tmp/file"
apply
in_box host change "$CGROUP/a b#" records 2
is "host change: the rest as before" "$(in_box save | grep ^host)" "host cgroup $CGROUP/a\ b\# records 2 every 8"
in_box host del "$CGROUP/a b#"
in_box port del t0

# --- Two at once -------------------------------------------------------------------

# The files begin at either end, so that what is last of one is first of the other. Where one of
# them is what there is, nothing is to be done: so each time begins with a third.
mapfile -t many < <(printf '%s\n' {v,w}{1..4} | sort)
for i in {1..4}; do
	ip -n "$box" link add "v$i" type veth peer "w$i"
done
printf 'port dev %s above 11\n' "${many[@]}" >"$tmp/file11"
printf 'port dev %s above 22\n' "${many[@]}" u1 | sort -r >"$tmp/file22"
printf 'port dev %s above 33\n' "${many[@]}" >"$tmp/file33"
# whole N: so often, two that run at once end in the state of one of their files
whole()
{
	local n
	for ((n = 0; n < $1; n++)); do
		in_box apply "$tmp/file33" || return
		in_box apply "$tmp/file11" &
		in_box apply "$tmp/file22" || return
		wait $! || return
		in_box save | sort >"$tmp/saved"
		cmp -s "$tmp/saved" "$tmp/file11" || diff "$tmp/saved" <(sort "$tmp/file22") || return
	done
}
check "two at once: the agents are those of one of the files" whole 3
in_box port del u1 2>/dev/null || true
for i in {1..4}; do
	ip -n "$box" link del "v$i"
done

# --- watch -----------------------------------------------------------------------

in_box port add t0 accept 10.1.0.0/16 above 60 dscp 3 base-rtt 20us
shaped t0 20mbit
in_box port add u0
is "a port goes by what its device had" "$(value t0 rate)" 50000000
# shellcheck disable=SC2016 # that shell's
run_bg socat -u "UNIX-RECVFROM:$tmp/notify" "CREATE:$tmp/ready"
busywait 10 test -S "$tmp/notify"
run_bg env NOTIFY_SOCKET="$tmp/notify" "$HPCCPP" -n "$box" watch >"$tmp/watched"
has_rate() { [[ $(value "$1" rate) -eq $2 ]]; } # DEV RATE
check "watch tells it what there was when it began" busywait 20 has_rate t0 20000000
check "... says READY=1 to systemd" busywait 10 grep -qx READY=1 "$tmp/ready"
shaped t0 30mbit
check "... and what came then" busywait 20 has_rate t0 30000000
two_lines() { [[ $(grep -c '^t0: .*: told anew$' "$tmp/watched") -eq 2 ]]; }
check "... with a line for each" busywait 20 two_lines
is "... and none for a port that is well" "$(grep -v ^t0: "$tmp/watched")" ""
in_box port del u0
is "... and the words are as they were" "$(in_box save)" \
	"port dev t0 accept 10.1.0.0/16 above 60 dscp 3 base-rtt 20us"
rmdir "$CGROUP/a b#"
ktap_finish
