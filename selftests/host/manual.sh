#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What of the command needs no module: the manual pages are clean, the completion
# offers what the command takes, "check" tells what is there from what is not, monitor
# comes when it says, and what is printed for Prometheus is taken by promtool.
#
# check: host
# usual: 30
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
HPCCPP=$top/.build/6.1/tools/hpccpp
machine_agents -s

echo TAP version 13
is() { check "$1: $2" [ "$2" = "$3" ]; }	# NAME VALUE WANTED

# --- Manual pages ------------------------------------------------------------

# Whether a page that another refers to is installed here is not about ours, but it
# is a fault in mandoc's status.
lint() # PAGE
{
	local said
	said=$(mandoc -T lint -W all "$1" 2>/dev/null | grep -v 'referenced manual not found' || true)
	[[ -z $said ]] || { echo "$said"; false; }
}
for page in "$top"/tools/man/*.[78]; do
	check "mandoc -T lint ${page##*/}" lint "$page"
done
printf '.Dd x\n.Sh NAME\n' >"$tmp/bad.8"
lint_refuses() { ! lint "$1"; }
check "mandoc finds what is wrong with a page" lint_refuses "$tmp/bad.8"

# In JSON; those of show are arrays of objects.
twice()
{
	local page list
	for page in "$top"/tools/man/*.8; do
		sed -n 's/^\.\\" \(keys: .*\)/\1/p' "$page" | while read -r list; do
			[[ $list == 'keys: show' ]] || key_types "$page" "$list"
		done
	done | sort -u >"$tmp/types"
	grep -vE ' (number|string|boolean|array|object)$' "$tmp/types" || true
	cut -d' ' -f1 "$tmp/types" | uniq -d
}
is "the pages: each key has one type in all objects" "of $(twice)" "of "
assert_ge "... keys" "$(wc -l <"$tmp/types")" 100

# knobs.sh holds the same table against the module.
check "tcp_hpccpp(7): knobs, defaults and ranges are those of knobs.sh" diff <(awk '
	/^\.\\" knobs:/ { on = 1 }
	on && /^\.El/ { exit }
	on && /^\.It Va net\.hpccpp\./ { name = substr($3, 12) }
	on && /^Default / { gsub(/,/, ""); print name, $2, $4, $6 }' "$top/tools/man/tcp_hpccpp.7") \
	<(sed -n "/done <<'END'/,/^END/p" "$top/selftests/net/knobs.sh" | sed '1d;$d')

check "hpccpp(8): the reasons of flows are those of the command" diff \
	<(items "$top/tools/man/hpccpp.8" reasons: | sed 's/^Cm //') \
	<(sed -n '/define HPCCPP_REASON_NAMES/,/}/p' "$top/tools/bpf/hpccpp_agent.h" | grep -oE '"[a-z-]+"' | tr -d '"')

# --- README.md ---------------------------------------------------------------

# packages FILE: the words from "apt-get install" to the end of its lines
packages() { sed -n '/^ *apt-get install/,/[^\\]$/p' "$1" | grep -oE '[a-z][a-z0-9-]+' | sed 1,2d; }
known() { "$top/scripts/deps.sh" --list check; }
unknown() { packages "$top/README.md" | grep -vx 'linux-headers-.*' | grep -vxFf <(known); }
assert_ge "README: packages to build with" "$(packages "$top/README.md" | wc -l)" 8
no_unknown() { ! unknown; }
check "README: ... are of those that deps.sh names" no_unknown

# --- Completion --------------------------------------------------------------

# shellcheck source-path=SCRIPTDIR source=../../tools/hpccpp.bash-completion
. "$top/tools/hpccpp.bash-completion"

completed() # WORD...: what is offered for the last, sorted, in one line
{
	local COMP_WORDS=(hpccpp "$@") COMP_CWORD=$# COMPREPLY=()
	_hpccpp
	printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}

# What the command says is allowed there, with more words that completion offers. The first
# word that is no keyword may be a device or a cgroup, the second is none.
allowed() # WORD... -- MORE...
{
	local words=()
	while [[ $1 != -- ]]; do
		words+=("$1")
		shift
	done
	shift
	"$HPCCPP" "${words[@]}" 2>&1 | sed -n 's/.*allowed are \(.*\)\.$/\1/p' |
		tr -d ' ' | tr ',' '\n' | cat - <(printf '%s\n' "$@") | sed '/^$/d' | sort | paste -sd' '
}

same() # NAME OFFERED ALLOWED
{
	check "completion: $1: $2" [ -n "$2" -a "$2" = "$3" ]
}

options='-Version -help -json -netns -output -pretty -statistics -verbose'
# shellcheck disable=SC2086 # lists
{
same "objects and options" "$(completed '')" "$(allowed @ -- $options)"
same "after -o" "$(completed -o '')" "$(allowed -o @ --)"
same "after options" "$(completed -j -o prom '')" "$(allowed @ -- $options)"
for object in port host flow cnp; do
	same "commands of $object" "$(completed $object '')" "$(allowed $object @ --)"
done
for words in 'port add' 'port delete' 'port show' 'host add' 'host key' 'host delete' 'host show' 'flow show' \
	'cnp add' 'cnp delete' 'cnp show' show monitor check; do
	same "$words" "$(completed $words '')" "$(allowed $words @ @ -- help)"
done
same "values of queue" "$(completed port add dev eth0 queue '')" "$(allowed port add dev lo queue @ --)"
same "values of respond-to" "$(completed port add dev eth0 respond-to '')" "$(allowed port add dev lo respond-to @ --)"
same "values of ecn" "$(completed port add dev eth0 ecn '')" "$(allowed port add dev lo cnp 100 ecn @ --)"
same "after border" "$(completed port add border '')" "$(allowed port add @ @ --)"
same "after a keyword and its value" "$(completed port add dev lo '')" "$(allowed port add @ @ --)"
same "... of an object without commands" "$(completed check role switch '')" "$(allowed check @ --)"
same "values of ask" "$(completed host add ask '')" "$(allowed host add cgroup / ask @ --)"
same "values of algorithm" "$(completed cnp add algorithm '')" "$(allowed cnp add dev lo accept ::1 algorithm @ --)"
same "values of answer" "$(completed cnp add answer '')" "$(allowed cnp add dev lo accept ::1 answer @ --)"
same "values of what" "$(completed monitor what '')" "$(allowed monitor what @ --)"
same "values of sort" "$(completed monitor sort '')" "$(allowed monitor sort @ --)"
same "values of a host's mode" "$(completed host add mode '')" "$(allowed host add mode @ --)"
same "values of role" "$(completed check role '')" "$(allowed check role @ --)"
devices() { cd /sys/class/net && printf '%s\n' * "$@" | sort | paste -sd' '; }	# MORE...
same "devices" "$(completed port add dev '')" "$(devices all)"
same "... one by one" "$(completed cnp add dev '')" "$(devices)"
}
same "a word begun" "$(completed mo)" monitor
same "a cgroup begun" "$(completed host add cgroup /pro)" /proc

# --- Agents: check and Prometheus ----------------------------------------------------------------

promtool_takes() { "$promtool" check metrics <"$1" >"$tmp/said" 2>&1 && [[ ! -s $tmp/said ]]; }

setup_ns box
# shellcheck disable=SC2154 # set by setup_ns
ip -n "$box" link set lo up
ip -n "$box" link add p0 type veth peer p1
tc -n "$box" qdisc add dev p0 root tbf rate 50mbit burst 3028 limit 512kb

state_of() { jq -r --arg c "$1" '.[] | select(.check == $c) | .status' "$tmp/check"; } # CHECK
found_of() { jq -r --arg c "$1" '.[] | select(.check == $c) | .found' "$tmp/check"; } # CHECK
checked() # [ARGUMENT...]: leaves $tmp/check and $checked, the exit status
{
	checked=0
	"$HPCCPP" -j check netns "$box" "$@" >"$tmp/check" || checked=$?
}

checked role switch
if [[ $(state_of 'port agent loads') != ok ]]; then
	ktap_skip "check and promtool" "this kernel does not load the agents"
	ktap_finish
fi
assert_eq "check of a switch without ports: status" "$checked" 1
is "... port agents" "$(state_of 'port agents')" missing
is "... what it does not need is not looked at" "$(state_of module)$(state_of default)$(state_of peers)" ""
check "... what is not ok has advice" jq -e \
	'all(.[]; (.status == "ok") != has("advice")) and length > 5' "$tmp/check"
"$HPCCPP" port add dev p0 netns "$box" dscp 0
is "dscp 0 is shown" "$("$HPCCPP" -j port show dev p0 netns "$box" | jq '.[0].dscp')" 0
check "... and looked at" grep -q hpccpp_port_ext <(programs "$box" p0 egress)
"$HPCCPP" port del dev p0 netns "$box"
"$HPCCPP" port add dev p0 netns "$box" base-rtt 100us
nsenter --net="/run/netns/$box" ethtool -K p0 tso on gso on gro off
checked role switch
assert_eq "check of a switch with one: status" "$checked" 0
is "... port agents" "$(found_of 'port agents')" "on 1 queue"
is "... offloads" "$(found_of 'offloads of p0')" "tso on gso on gro off"
is "... pacing" "$(found_of 'pacing on p0')" "by TCP itself: the qdisc is tbf"
make_cgroup
agents=host
"$HPCCPP" host add cgroup "$CGROUP"
checked role receiver
assert_eq "check of a receiver with one: status" "$checked" 0
if tc -n "$box" qdisc replace dev p0 root fq 2>"$tmp/said"; then
	checked role switch
	check "... pacing by fq" jq -e 'any(.[]; .check == "pacing on p0" and (.found | test("the qdisc fq$")))' "$tmp/check"
else
	ktap_skip "... pacing by fq" "this kernel has no fq"
fi
checked=0
setpriv --reuid 65534 --regid 65534 --clear-groups "$HPCCPP" check >"$tmp/nobody" || checked=$?
assert_eq "check as nobody: status" "$checked" 1
check "... and why" grep -q '(you are not root)' "$tmp/nobody"
check "... a sender needs port agents" grep -q '^missing  port agent loads: ' "$tmp/nobody"
check "... and does without flow show" grep -q '^note     flow show loads: ' "$tmp/nobody"

# --- Monitor, and what cannot be written ----------------------------------------------------------

"$HPCCPP" -j monitor netns "$box" count 3 interval 0.2 what port >"$tmp/monitor"
check "monitor: a port, three times, 0.2 s after one another" jq -e -s \
	'map(.object) == ["port", "port", "port"] and .[1].time - .[0].time >= 0.2 and
	.[2].time - .[1].time >= 0.2' "$tmp/monitor"
# on_terminal COUNT: what monitor writes to one
on_terminal() { script -qec "$HPCCPP monitor netns $box what port interval 0.01 count $1" /dev/null </dev/null; }
clears() { on_terminal "$1" >"$tmp/out" && grep -q $'\e\\[J' "$tmp/out"; }
once() { ! clears 1 && grep -q '^p0 ' "$tmp/out"; }
check "monitor clears a terminal, to show it anew" clears 2
check "... and does not for a single time" once
"$HPCCPP" monitor netns "$box" what port interval 0.01 count 2 >"$tmp/out"
check "... nor what is no terminal" [ "$(grep -c $'\e' "$tmp/out") $(grep -c '^p0 ' "$tmp/out")" = "0 2" ]
full=0
"$HPCCPP" -j port show netns "$box" >/dev/full 2>"$tmp/said" || full=$?
assert_eq "a disk that is full: status, and what is said" "$full $(<"$tmp/said")" \
	"2 Error: cannot write the output: No space left on device."
full=0
timeout 20 "$HPCCPP" monitor netns "$box" interval .02 >/dev/full 2>"$tmp/said" || full=$?
assert_eq "... and monitor ends" "$full $(<"$tmp/said")" \
	"2 Error: cannot write the output: No space left on device."

# --- Prometheus -----------------------------------------------------------------------------------

"$HPCCPP" -o prom show netns "$box" >"$tmp/prom"
check "samples of port and host" grep -q '^hpccpp_host_events_total{.*kind="asked"} 0$' "$tmp/prom"
check "rates in bytes/s" grep -q '^hpccpp_port_rate_bytes_per_second{.*dev="p0".*} 6250000$' "$tmp/prom"
check "promtool can be had" "$top/scripts/promtool.sh"
promtool=$("$top/scripts/promtool.sh")
check "promtool has nothing to say of them" promtool_takes "$tmp/prom"
sed 's/_total/_count_s/' "$tmp/prom" >"$tmp/bad"
refuses() { ! promtool_takes "$1"; }
check "... but of bad names" refuses "$tmp/bad"
ktap_finish
