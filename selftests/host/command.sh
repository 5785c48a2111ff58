#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The command hpccpp: help, exit statuses, what is said of wrong input, what is
# read from qdiscs, JSON, that it leaves and removes nothing but its own, and that
# completion knows a word as short as the command does.
#
#	netns box: veths d0 (tbf), d1 (htb), q0 (mq), bridge d3 (no qdisc, no known rate)
#
# check: host
# usual: 30
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
HPCCPP=$top/.build/6.1/tools/hpccpp
[[ $EUID -eq 0 ]] || ktap_skip_all "not root: cannot load eBPF programs"
machine_agents -s

ktap_plan 319
# shellcheck disable=SC2154 # set by setup_ns
{
setup_ns box
ip -n "$box" -batch - <<END
link add d0 up type veth peer e0
link add d1 up type veth peer e1
link add d3 up type bridge
link add q0 up numtxqueues 2 type veth peer q1 numtxqueues 2
END
tc -n "$box" -batch - <<END
qdisc add dev d0 root tbf rate 50mbit burst 3028 limit 512kb
qdisc add dev d1 root handle 1: htb default 1
class add dev d1 parent 1: classid 1:1 htb rate 30mbit
qdisc replace dev d3 root noqueue
qdisc add dev q0 root handle 1: mq
qdisc add dev q0 parent 1:1 tbf rate 10mbit burst 3028 limit 512kb
qdisc add dev q0 parent 1:2 tbf rate 10mbit burst 3028 limit 512kb
END
}
make_cgroup
chmod 755 "$CGROUP"
# Programs of somebody else's
cat >"$tmp/other.c" <<'END'
#include <linux/bpf.h>
__attribute__((section("sockops"), used)) int other(struct bpf_sock_ops *s) { return 1; }
__attribute__((section("tc"), used)) int passes(struct __sk_buff *skb) { return -1; }
END
clang -O2 -g -target bpf -I"/usr/include/$(uname -m)-linux-gnu" -c "$tmp/other.c" -o "$tmp/other.o"
agents=host			# for the cgroup to be removed at the end

# All that the command could leave behind. A program that is attached nowhere goes by
# itself; a list of all would have those of tests beside this one.
state()
{
	local dev
	tc -n "$box" qdisc show
	for dev in d0 d1 d3 q0; do
		programs "$box" "$dev" egress
		programs "$box" "$dev" ingress
	done
	bpftool cgroup show "$CGROUP"
}

# The same without numbers that change when a program is loaded again.
same_state() # FILE
{
	state >"$tmp/now"
	diff "$1" "$tmp/now"
}

# says STATUS PATTERN ARGUMENTS...: one test; refused in one line like PATTERN
says()
{
	local status=0 want=$1 pattern=$2
	shift 2
	"$HPCCPP" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	# shellcheck disable=SC2053 # a pattern
	if [[ $status -eq $want && ! -s $tmp/out && $(wc -l <"$tmp/err") -eq 1 &&
		$(<"$tmp/err") == "Error: "$pattern. ]]; then
		ktap_ok "hpccpp $*: $status, $(<"$tmp/err")"
	else
		ktap_not_ok "hpccpp $*: $status ($want), one line $pattern"
		ktap_diag "$(head -n 3 "$tmp/err" "$tmp/out")"
	fi
}

# --- Help and options --------------------------------------------------------

for words in '' help '-help' 'port help' 'host help' 'flow help' 'port add help' 'host add help' 'flow show help' \
	'show help' 'monitor help' 'check help'; do
	status=0
	# shellcheck disable=SC2086 # a list
	"$HPCCPP" $words >"$tmp/out" 2>"$tmp/err" || status=$?
	check "hpccpp $words: usage and status 255" [ "$status $(head -c 6 "$tmp/err")" = '255 Usage:' ]
done
narrow() { awk 'length > 80 { print; wide = 1 } END { exit wide || !NR }' <("$HPCCPP" "$@" help 2>&1); }
for object in '' port host flow cnp show monitor check; do
	# shellcheck disable=SC2086 # none or one
	check "hpccpp $object help: 80 columns" narrow $object
done
check "port help: what an id may be, of one queue and of several" \
	grep -qE '^ID +link id, 1 to 4095; with N queues 1 to 4096 - N' <("$HPCCPP" port help 2>&1)
for words in -V -Version --version --V; do
	check "hpccpp $words: 0" "$HPCCPP" $words
done
for words in 'port' 'host' 'flow' 'port list' 'host show' '-s -j flow show' '-o prom show' \
	'-o json host show' '-j -p monitor what port count 2 interval 0.01'; do
	# shellcheck disable=SC2086 # a list
	check "hpccpp $words: 0 where there is none" "$HPCCPP" $words
done

# --- Wrong words -------------------------------------------------------------

state >"$tmp/before"
on_box=(dev d0 netns "$box")
says 255 'object "xyz" is unknown: allowed are port, host, flow, cnp, show, monitor, check, save, apply, watch, help' xyz
says 255 'option "x" is unknown: allowed are json,*' -x
says 255 'option "vx" is unknown: *' --vx
says 255 '"-output" lacks its value*' -o
says 255 '"-netns" lacks its value*' -n
says 255 'output "xml" is unknown: allowed are text, json, prom' -o xml show
says 255 'output "prom" is wrong: allowed beside -json is json' -j -o prom show
says 255 'output "text" is wrong: allowed beside -json is json' -j -o text show
says 255 'output "text" is wrong: allowed beside -json is json' -o text -j show
says 255 'output "prom" is wrong: *' -o prom monitor
for interval in 0 -1 0.009 3601 x 1s nan; do
	says 255 "interval \"$interval\" is wrong: allowed are 0.01 to 3600 seconds" monitor interval "$interval" count 1
done
for count in 0 -1 x 4294967296; do
	says 255 "count \"$count\" is wrong: allowed are 1 to 4294967295" monitor count "$count"
done
says 255 'what "module" is unknown: allowed are all, port, flow, host, cnp' monitor what module
says 255 'argument "dev" is unknown: allowed are netns, interval, count, what, sort, dst, mode' monitor dev d0
says 255 'sort "age" is unknown: allowed are U, rate, queue' monitor sort age
says 255 '"mode" is wrong with what "cnp": it chooses among flows' monitor mode hpccpp what cnp
says 255 'prefix "10.0.0.1/8" is wrong: *' monitor dst 10.0.0.1/8
says 255 '"dst" is wrong with what "port": it chooses among flows' monitor dst 10.0.0.0/8 what port
says 255 'argument "dev" is unknown: allowed are netns' show dev d0
says 2 'cannot open netns "nowhere": *' show netns nowhere
says 255 'role "router" is unknown: allowed are sender, receiver, switch' check role router
says 255 'output "prom" is wrong: *' -o prom check
says 255 'port command "frob" is unknown: allowed are add, replace, change, delete, show,*' port frob
says 255 'host command "x" is unknown: *' host x
says 255 'flow command "add" is unknown: *' flow add
allowed='allowed are dev, rate, overhead, id, queue, base-rtt, above, dscp, respond, respond-to, limit, accept, udp-port, cnp, source, ecn, capable, option-type, ioam, node, border, netns'
says 255 "argument \"colour\" is unknown: $allowed" port add dev d0 colour red
says 255 "dev \"colour\", argument \"red\" is unknown: $allowed" port add colour red
says 255 "dev \"d0\", argument \"ratte\" is unknown, did you mean \"rate\": $allowed" port add d0 ratte 1gbit
says 255 'object "prot" is unknown, did you mean "port": *' prot
says 255 'argument "d0" is unknown: allowed are netns' flow show d0
says 255 'object "h" is ambiguous: allowed are port, host, flow, cnp, show, monitor, check, save, apply, watch, help' h
says 255 '"dev" is missing*' port add rate 1gbit
says 255 '"dev" is missing*' port del
says 255 '"dev" lacks its value*' port add dev
says 255 'duplicate "rate": "2gbit" is the second value' port add "${on_box[@]}" rate 1gbit rate 2gbit
for rate in fast 9kbit 5tbit -1mbit 1zbit inf; do
	says 255 "rate \"$rate\" is wrong: allowed are 10kbit to 4tbit*" port add "${on_box[@]}" rate "$rate"
done
for id in -1 0 4096 x 1x; do
	says 255 "id \"$id\" is wrong: allowed are 1 to 4095" port add "${on_box[@]}" id "$id"
done
for time in 100 0.1 1e3; do
	says 255 "base-rtt \"$time\" lacks its unit: allowed are 1us to 4s, with us, ms, s" port add "${on_box[@]}" base-rtt "$time"
done
for time in 0us 5s x 1m; do
	says 255 "base-rtt \"$time\" is wrong: allowed are 1us to 4s*" port add "${on_box[@]}" base-rtt "$time"
done
for overhead in -1 256 x; do
	says 255 "overhead \"$overhead\" is wrong: allowed are 0 to 255" port add "${on_box[@]}" overhead "$overhead"
done
for above in 0 101 x; do
	says 255 "above \"$above\" is wrong: allowed are 1 to 100" port add "${on_box[@]}" above "$above"
done
for dscp in -1 64 x; do
	says 255 "dscp \"$dscp\" is wrong: allowed are 0 to 63" port add "${on_box[@]}" dscp "$dscp"
done
says 255 'respond "399" is wrong: allowed are 1 to 398' port add "${on_box[@]}" respond 399
says 255 'respond-to "both" is unknown: allowed are sender, receiver' port add "${on_box[@]}" respond 100 respond-to both
says 255 'limit "0" is wrong: allowed are 1 to 1000000' port add "${on_box[@]}" respond 100 limit 0
says 255 'udp-port "65536" is wrong: allowed are 1 to 65535' port add "${on_box[@]}" udp-port 65536
says 255 'prefix "10.0.0.1/8" is wrong: *' port add "${on_box[@]}" accept 10.0.0.1/8
says 2 'd0 has no address to send INT responses from' port add "${on_box[@]}" respond 100
for cnp in 0 399 x; do
	says 255 "cnp \"$cnp\" is wrong: allowed are 1 to 398" port add "${on_box[@]}" cnp "$cnp"
done
for source in ::1 fe80::1 ff0e::1 :: ::ffff:1.2.3.4 10.0.0.1 x; do
	says 255 "source \"$source\" is wrong: allowed are IPv6 addresses that others can reach" \
		port add "${on_box[@]}" cnp 100 source "$source"
done
says 2 'lo has no global IPv6 address to send Fast CNPs from: give one with source ADDRESS' port add "${on_box[@]}" cnp 100
says 255 'ecn "always" is unknown: allowed are never, mark' port add "${on_box[@]}" cnp 100 ecn always
for type in 127 0xa0 0x5e x; do
	says 255 "option-type \"$type\" is wrong: allowed are 128 to 159" port add "${on_box[@]}" border option-type "$type"
done
says 255 'option-type "0x9d" is wrong: the other is the same' port add "${on_box[@]}" border option-type 0x9d
says 255 'option-type "0x9c" is wrong: the other is the same' port add "${on_box[@]}" border option-type 0x9c option-type 0x9c
says 255 'ioam "65536" is wrong: allowed are 0 to 65535' port add "${on_box[@]}" ioam 65536
says 255 'node "16777216" is wrong: allowed are 0 to 16777215' port add "${on_box[@]}" ioam 1 node 16777216
says 255 '"source" is wrong without "cnp"' port add "${on_box[@]}" source fd00::1
says 255 '"ecn" is wrong without "cnp"' port add "${on_box[@]}" ecn mark
says 255 'capable "10.0.0.0/8" is wrong: allowed are prefixes of IPv6' port add "${on_box[@]}" cnp 100 ecn mark capable 10.0.0.0/8
says 255 'prefix "fd00::1/64" is wrong: *' port add "${on_box[@]}" cnp 100 ecn mark capable fd00::1/64
says 255 '"capable" is wrong without "ecn mark"' port add "${on_box[@]}" cnp 100 ecn never capable fd00::/64
says 255 '"option-type" is wrong without "cnp" or "border"' port add "${on_box[@]}" option-type 0x9c
says 255 '"node" is wrong without "ioam"' port add "${on_box[@]}" node 1
says 255 '"respond-to" is wrong without "respond"' port add "${on_box[@]}" respond-to receiver
says 255 '"limit" is wrong without "respond" or "cnp"' port add "${on_box[@]}" limit 1
says 255 'queue "fifo" is unknown: allowed are qdisc, virtual' port add "${on_box[@]}" queue fifo
says 255 'netns ".." is wrong: *' port add dev d0 netns ..
says 255 'netns "" is wrong: *' -n '' port show
says 2 'cannot open netns "../x": No such file or directory' port add dev d0 netns ../x
says 2 'cannot open netns "4194305": No such file or directory' -n 4194305 port show
says 2 'cannot enter netns "/dev/null": Invalid argument' -n /dev/null port show
mkfifo "$tmp/fifo"
says 2 "cannot enter netns \"$tmp/fifo\": Invalid argument" -n "$tmp/fifo" port show
says 2 'cannot open netns "nowhere": *' port add dev d0 netns nowhere
says 2 'cannot find device "d9"' port add dev d9 netns "$box"
says 2 'there is no port on d0' port del "${on_box[@]}"
says 2 'no rate known for d3: give one with rate RATE' port add dev d3 netns "$box"
says 2 'queue "qdisc" is wrong: the qdisc of d3 is noqueue, allowed are *' port add dev d3 netns "$box" rate 1gbit queue qdisc
says 255 'id "4095" is wrong: with 2 queues allowed are 1 to 4094' port add dev q0 netns "$box" id 4095
says 2 'cannot open cgroup "/nowhere": *' host add cgroup /nowhere
says 2 "cgroup \"/tmp\" is wrong: allowed are directories of cgroup2, which is mounted on \"${CGROUP%/*}\"" host add cgroup /tmp
says 2 'cannot open cgroup "/nowhere": *' host add /nowhere
says 2 'cannot find device "d9"' port add d9 netns "$box"
says 2 'cannot find device "rate"' port add dev rate netns "$box"
says 255 'ask "often" is unknown: allowed are auto, always, never' host add cgroup "$CGROUP" ask often
for records in 0 4 x; do
	says 255 "records \"$records\" is wrong: allowed are 1 to 3" host add cgroup "$CGROUP" records "$records"
done
for every in 0 65536 -1 often rttx congested ''; do
	says 255 "every \"$every\" is wrong: allowed are 1 to 65535, rtt" host add cgroup "$CGROUP" every "$every"
done
says 255 'every "010" is wrong: allowed are 1 to 65535, rtt, with no zero in front' host add cgroup "$CGROUP" every 010
says 255 'id "010" is wrong: allowed are 1 to 4095, with no zero in front' port add "${on_box[@]}" id 010
says 255 'prefix "10.0.0.300" is wrong: *' host add cgroup "$CGROUP" prefix 10.0.0.300
says 255 'prefix length "33" is wrong: allowed are 0 to 32' host add cgroup "$CGROUP" prefix 10.0.0.0/33
says 255 'prefix "10.0.0.1/8" is wrong: *' host add cgroup "$CGROUP" prefix 10.0.0.1/8
says 255 '"require" is wrong without a "key-file"' host add cgroup "$CGROUP" require
says 255 '"key-file" lacks its value*' host add cgroup "$CGROUP" key-file
says 255 '"key-file" is missing*' host key cgroup "$CGROUP" require
says 2 'cannot open key-file "/nowhere": *' host add cgroup "$CGROUP" key-file /nowhere
key=$tmp/key
for text in '' 00112233445566778899aabbccddeef 00112233445566778899aabbccddeefff0 \
	00112233445566778899aabbccddeefg $'00112233445566778899aabbccddeeff\n\n' '0x00112233445566778899aabbccddee'; do
	printf %s "$text" >"$key"
	chmod 600 "$key"
	says 2 "key-file \"$key\" is wrong: allowed are 32 hexadecimal digits and a line end" \
		host add cgroup "$CGROUP" key-file "$key"
done
printf '00112233445566778899aabbccddeeff\n' >"$key"
for mode in 640 604 620; do
	chmod "$mode" "$key"
	says 2 "key-file \"$key\" is wrong: allowed are files that none but their owner may read or write" \
		host add cgroup "$CGROUP" key-file "$key"
done
chmod 600 "$key"
says 255 '"key-file" "c" is one too many: allowed are 2' host add cgroup "$CGROUP" key-file a key-file b key-file c
says 2 'there is no host agent on cgroup *' host key cgroup "$CGROUP" key-file "$key"
says 2 'there is no host agent on cgroup *' host del cgroup "$CGROUP"
says 255 '"dev" is missing*' cnp add accept ::1
says 255 '"accept" is missing*' cnp add dev ha
says 255 'accept "10.0.0.0/8" is wrong*' cnp add dev ha accept 10.0.0.0/8
says 255 'prefix "fd00::1/64" is wrong*' cnp add dev ha accept fd00::1/64
says 255 'base-rtt "5s" is wrong*' cnp add dev ha accept ::/0 base-rtt 5s
says 255 'threshold "0" is wrong*' cnp add dev ha accept ::/0 threshold 0
says 255 'option-type "0x1e" is wrong: allowed are 128 to 159' cnp add dev ha accept ::/0 option-type 0x1e
says 255 'option-type "0x9d" is wrong*' cnp add dev ha accept ::/0 option-type 0x9d
says 255 'ioam-namespace "65536" is wrong*' cnp add dev ha accept ::/0 ioam-namespace 65536
says 255 'trace "0" is wrong: allowed are 1 to 8' cnp add dev ha accept ::/0 trace 0
says 255 'trace "9" is wrong: allowed are 1 to 8' cnp add dev ha accept ::/0 trace 9
says 255 '"to" is missing*' cnp add dev ha accept ::/0 trace 1
says 255 '"to" is wrong without "trace"' cnp add dev ha accept ::/0 to ::/0
says 255 'to "10.0.0.0/8" is wrong: allowed are prefixes of IPv6' cnp add dev ha accept ::/0 trace 1 to 10.0.0.0/8
says 255 'algorithm "cubic" is unknown*' cnp add dev ha accept ::/0 algorithm cubic
says 255 'answer "ecn" is unknown: allowed are cnp, fast-cnp' cnp add dev ha accept ::/0 answer ecn
says 255 'limit "0" is wrong: allowed are 1 to 1000000' cnp add dev ha accept ::/0 answer cnp limit 0
says 255 '"limit" is wrong without "answer"' cnp add dev ha accept ::/0 limit 1
says 255 'detour "10.0.0.0/8" is wrong: allowed are prefixes of IPv6' cnp add dev ha accept ::/0 detour 10.0.0.0/8
says 255 'prefix "fd00::1/64" is wrong*' cnp add dev ha accept ::/0 detour fd00::1/64
check "nothing is left of all this" same_state "$tmp/before"

# --- Completion of what is abbreviated ----------------------------------------

# shellcheck source-path=SCRIPTDIR source=../../tools/hpccpp.bash-completion
. "$top/tools/hpccpp.bash-completion"
completed() # WORD...: what is offered for the last
{
	local COMP_WORDS=(hpccpp "$@") COMP_CWORD=$# COMPREPLY=()
	_hpccpp
	echo "${COMPREPLY[*]}"
}
like() # SHORT WHOLE: the same is offered, and something
{
	local short whole
	# shellcheck disable=SC2086 # words
	{
	short=$(completed $1 '')
	whole=$(completed $2 '')
	}
	check "completion: $1: $short" [ -n "$short" -a "$short" = "$whole" ]
}
like 'port del' 'port delete'
like 'p a' 'port add'
like 'ho a' 'host add'
like '--out json mon' 'monitor'
like 'mon wh' 'monitor what'
like 'po add de lo q' 'port add dev lo queue'
like 'po add bo' 'port add border'
like 'ho a req c / as' 'host add require cgroup / ask'
like 'ch ro' 'check role'
like 'port add eth7' 'port add dev eth7'
like 'ho del /' 'host delete cgroup /'
for words in h 'port add r' 'port add x y' 'flow show x'; do
	# shellcheck disable=SC2086 # words
	check "completion: $words: nothing, as the command refuses it" [ -z "$(completed $words '')" ]
done

# --- Ports -------------------------------------------------------------------

port() # DEV JQ-CONDITION
{
	"$HPCCPP" -j port show dev "$1" netns "$box" | jq -e "$2"
}
on() { "$HPCCPP" port add dev "$1" netns "$box" "${@:2}"; }
off() { "$HPCCPP" port del dev "$1" netns "$box"; }
keys='["dev","txq","id","rate","rate_given","queue","root","mq","base_rtt","U","qlen","tx_bytes","flows","begun","device_rate","backlog","drops","sent","words","sent_packets","seen_packets","stats","stale","version"]'

"$HPCCPP" port add base-rtt 7us d0 netns "$box"
check "without \"dev\": base-rtt as given" port d0 'length == 1 and .[0].base_rtt == 7'
check "... shown" [ "$("$HPCCPP" -j port show d0 netns "$box" | jq '.[0].base_rtt')" = 7 ]
nsenter --net="/run/netns/$box" sleep infinity &
inside=$!
shown_in() { [ "$("$HPCCPP" -j -n "$1" port show | jq '.[0].base_rtt')" = 7 ]; } # NETNS
check "... by -n and a name" shown_in "$box"
check "... by -n and a path" shown_in "/run/netns/$box"
check "... by -n and a PID" busywait 10 shown_in "$inside"
check "... the agents of which are not ours" [ "$("$HPCCPP" -j port show)" = '[]' ]
kill "$inside"
lines() # REGEX...: as many lines, each like its own
{
	local line
	while read -r line; do
		[[ $# -gt 0 && $line =~ ^$1$ ]] || { echo "$line"; return 1; }
		shift
	done <"$tmp/out"
	[[ $# -eq 0 ]]
}
"$HPCCPP" -s port show netns "$box" >"$tmp/out"
check "... what an operator has to know, and no counter of 0" lines \
	'd0 id [0-9]+ rate 50Mbit queue qdisc base-rtt 7us' 'U 0\.000 qlen 0b flows 0 begun 0 backlog 0b drops 0'
check "... deleted" "$HPCCPP" port del d0 netns "$box"
"$HPCCPP" port show netns "$box" >"$tmp/out"
check "none: it is said" lines 'no port agent'
check "... in a table too" [ "$("$HPCCPP" monitor netns "$box" count 1 what port)" = 'no port agent' ]
check "... and not in JSON" [ "$("$HPCCPP" -j port show netns "$box")" = '[]' ]
on d0
check "JSON has the documented keys" port d0 ".[0] | keys_unsorted == $keys"
check "... and those of the statistics" port d0 \
	'.[0].stats | keys_unsorted == ["stamped","replaced","kept","passed","quiet",
		"unsubscribed","bad","error","responded","suppressed","limited","accepted",
		"denied","unknown","outside","damaged","cnp_sent","cnp_cut","cnp_marked",
		"traced","trace_full","trace_bad","border_in","border_out","guessed",
		"not_tcp","tunnel","extension","tags","other","stale","segments"]'
check "rate of tbf, id by hash, 1 ms" port d0 '.[0] | .rate == 50000000 and
	(.rate_given | not) and .queue == "qdisc" and .root == "flat" and .id >= 1 and .base_rtt == 1000'
id=$("$HPCCPP" -j port show dev d0 netns "$box" | jq '.[0].id')
state >"$tmp/with"
says 2 'a port exists already on d0' port add "${on_box[@]}" rate 1gbit
check "... and it stays as it is" same_state "$tmp/with"
off d0
check "removed, nothing is left" same_state "$tmp/before"
on d0
check "the id by hash is the same again" port d0 ".[0].id == $id"
off d0
on d1
check "rate of htb" port d1 '.[0] | .rate == 30000000 and .root == "flat"'
off d1
on d3 rate 2.5gbit id 77 base-rtt 250us
check "rate, id and base-rtt as given, no qdisc" port d3 '.[0] | .rate == 2500000000 and
	.rate_given and .id == 77 and .queue == "virtual" and .base_rtt == 250'
off d3
on d3 rate 2.5gbit overhead 38
check "overhead as given" port d3 '.[0].overhead == 38'
off d3
on e0
check "rate of ethtool: overhead is Ethernet's" port e0 '.[0] | .rate == 10000000000 and .overhead == 24'
off e0
on e0 overhead 0
check "... unless it is given" port e0 '.[0] | .rate == 10000000000 and (has("overhead") | not)'
off e0
on d0 above 80 dscp 46
check "threshold and codepoint as given" port d0 '.[0] | .above == 80 and .dscp == 46'
says 2 'a port exists already on d0' port add "${on_box[@]}"
off d0
ip -n "$box" addr add 10.7.0.1/24 dev d0
on d0 respond 120 limit 999999 accept 10.0.0.0/8 accept fd00::/16 udp-port 9999
check "INT responses as given" port d0 '.[0] | .respond == 120 and .respond_to == "sender" and .limit == 999999 and
	(.accept | sort) == ["10.0.0.0/8","fd00::/16"] and .udp_port == 9999'
off d0
on d0 respond 120 respond-to receiver
check "... to the receiver" port d0 '.[0] | .respond == 120 and .respond_to == "receiver"'
off d0
ip -n "$box" addr del 10.7.0.1/24 dev d0
on d0 cnp 150 source fd00:5::1 ecn mark capable fd00:6::/64 capable fd00:7::7 option-type 0x9c ioam 9 node 70000 border limit 20
check "Fast CNP, IOAM and border as given" port d0 '.[0] | .cnp == 150 and .source == "fd00:5::1" and .ecn == "mark" and
	(.capable | sort) == ["fd00:6::/64","fd00:7::7/128"] and .option_type == [156,157] and .ioam == 9 and .node == 70000 and .border and .limit == 20 and (has("udp_port") | not)'
told() { "$HPCCPP" -j port show dev "$1" netns "$box" | jq -S '.[0] | del(.age, .words)'; }	# DEV
before=$(told d0 | jq -S '.above = 33')
change() { "$HPCCPP" port change dev "$1" netns "$box" "${@:2}"; }
change d0 above 33
check "one value is changed, and no other" diff <(told d0) - <<<"$before"
change d0 capable fd00:8::/64
check "... a list, as a whole" diff <(told d0) - <<<"$(jq -S '.capable = ["fd00:8::/64"]' <<<"$before")"
check "... of a port that has extras: replaced by one without" "$HPCCPP" port replace d0 netns "$box"
check "... has none" port d0 '.[0] | has("above") or has("cnp") or has("border") | not'
check "... nor a program on ingress" [ -z "$(programs "$box" d0 ingress)" ]
tc -n "$box" qdisc change dev d0 root tbf rate 40mbit burst 3028 limit 512kb
change d0
check "a rate that was read is read again" port d0 '.[0].rate == 40000000'
change d0 rate 1gbit
tc -n "$box" qdisc change dev d0 root tbf rate 50mbit burst 3028 limit 512kb
change d0 id 7
check "... one that was given stays" port d0 '.[0] | .rate == 1000000000 and .id == 7'
says 255 'above "101" is wrong: *' port change "${on_box[@]}" above 101
says 255 '"source" is wrong without "cnp"' port change "${on_box[@]}" source fd00:5::1
says 255 '"dev" is missing*' port change above 50
off d0
says 2 'there is no port on d0' port change "${on_box[@]}" above 50
check "... removed, nothing is left" same_state "$tmp/before"
on q0 id 8
check "mq: a queue each" port q0 'length == 2 and .[1].id == 9 and .[1].txq == 1 and .[0].mq and
	.[0].rate == 10000000 and all(.[]; has("backlog"))'
check "... in text with their numbers" grep -q '^q0 txq 1 id 9 ' <("$HPCCPP" port show q0 netns "$box")
off q0
check "nothing is left of these" same_state "$tmp/before"

# Several devices at once
devs() { "$HPCCPP" -j port show "$@" netns "$box" | jq -r 'map(.dev) | unique | join(" ")'; }	# [DEV]
every() { "$HPCCPP" -j port show netns "$box" | jq -e "all(.[]; $1)"; }	# JQ-CONDITION
one_fails() # COMMAND DEV OPTION...: status 2, and what is said, sorted, is that of stdin
{
	local status=0
	"$HPCCPP" port "$1" dev "$2" netns "$box" "${@:3}" 2>"$tmp/err" || status=$?
	diff <(sort "$tmp/err") - && [[ $status -eq 2 ]]
}
says 255 'id "7" is wrong with dev "d*": allowed is the name of one device' port add dev 'd*' id 7 netns "$box"
says 255 'id "7" is wrong with dev "all": allowed is the name of one device' port add all id 7 netns "$box"
says 255 'base-rtt "9" lacks its unit: *' port add all base-rtt 9 netns "$box"
says 2 'cannot find a device like "swp*"' port add dev 'swp*' netns "$box"
says 2 'cannot find a device like "swp*"' port show dev 'swp*' netns "$box"
says 2 'cannot find a device like "d*" with a port' port change dev 'd*' netns "$box" above 50
says 2 'cannot find a device like "all" with a port' port del all netns "$box"
on all base-rtt 9us
check "all: those that have a link of their own" [ "$(devs)" = "d0 d1 e0 e1 q0 q1" ]
check "... are told the same" every '.base_rtt == 9'
check "... and saved one by one" [ "$("$HPCCPP" -n "$box" save | grep ^port | sort)" = \
	"$(printf 'port dev %s base-rtt 9us\n' d0 d1 e0 e1 q0 q1)" ]
check "show: those of a pattern" [ "$(devs dev 'd?')" = "d0 d1" ]
check "... all" [ "$(devs all)" = "$(devs)" ]
check "add: an error names the device, ..." one_fails add 'd[0-3]' <<END
Error: d0: a port exists already on d0.
Error: d1: a port exists already on d1.
Error: d3: no rate known for d3: give one with rate RATE.
END
off 'e*'
check "delete: those of a pattern" [ "$(devs)" = "d0 d1 q0 q1" ]
check "replace: ... and the others are done all the same" one_fails replace '[deq]?' base-rtt 8us <<END
Error: d3: no rate known for d3: give one with rate RATE.
END
check "... as with replace" [ "$(devs)" = "d0 d1 e0 e1 q0 q1" ]
change '[!q]*' above 44
check "change: those that have a port" every \
	'.base_rtt == 8 and .above == (if .dev[:1] == "q" then null else 44 end)'
off all
check "delete: all, nothing is left" same_state "$tmp/before"
closed()
{
	local status=0
	"$HPCCPP" -n "$box" apply "$tmp/file" dry-run >&- 2>"$tmp/err" || status=$?
	grep "^Error: cannot write the output: " "$tmp/err" && [[ $status -eq 2 ]]
}
echo "port dev d0" >"$tmp/file"
check "without an output to write to, not into the lock" closed
ip -n "$box" addr add 10.9.0.1/24 dev d0 label d0:1
ip -n "$box" link property add dev d0 altname another
on another respond 90
check "by another name, with an address that has a label" port d0 '.[0].respond == 90'
off another
ip -n "$box" addr del 10.9.0.1/24 dev d0
ip -n "$box" link property del dev d0 altname another
ip -n "$box" link add 'd*' type veth peer x0
on 'd*'
check "a device may be called like a pattern" [ "$(devs)" = "d*" ]
off 'd*'
ip -n "$box" link del 'd*'

# --- Hosts -------------------------------------------------------------------

host() { "$HPCCPP" -j host show cgroup "$CGROUP" | jq -e "$1"; }	# JQ-CONDITION

"$HPCCPP" host add ask never "$CGROUP" records 2 every 7 prefix 10.0.0.0/8 prefix fd00::/16
check "host: shown without \"cgroup\"" [ "$("$HPCCPP" -j host show "$CGROUP" | jq length)" = 1 ]
check "host: JSON has the documented keys, and what was given" host '.[0] |
	keys_unsorted == ["cgroup","ask","records","every","mode","fallback","keys","require","prefix","words","stats","version"] and .ask == "never" and
	.records == 2 and .every == 7 and (.prefix | sort) == ["10.0.0.0/8","fd00::/16"]'
check "... and those of the statistics" host '.[0].stats | keys_unsorted == ["asked","collected",
	"echoed","echo_short","echo_none","echoes","requested","computed","windows",
	"gave_up","bad","error","signed","tag_room",
	"tag_ok","tag_none","tag_bad","tag_old","stood_in","came_back"]'
state >"$tmp/with"
says 2 'a host agent exists already on cgroup *' host add cgroup "$CGROUP"
for name in hpccpp cub 'cubic reno' ''; do
	says 255 "fallback \"$name\" is wrong: allowed are those of \"*reno*\" but hpccpp and cdg" host add cgroup "$CGROUP" fallback "$name"
done
mkdir "$CGROUP/below"
says 2 'a host agent exists already on cgroup *' host add cgroup "$CGROUP/below"
says 2 'there is no host agent on cgroup *' host del cgroup "$CGROUP/below"
rmdir "$CGROUP/below"
check "... and it stays as it is" same_state "$tmp/with"

says 2 'the host agent on cgroup * was added without a key: delete and add it' host key cgroup "$CGROUP" key-file "$key"
"$HPCCPP" host del "$CGROUP"
check "removed, nothing is left" same_state "$tmp/before"
for every in r rtt; do
	"$HPCCPP" host add cgroup "$CGROUP" every "$every" || true
	check "every $every: 0 in JSON, where it is a number" host ".[0].every == 0"
	"$HPCCPP" host del cgroup "$CGROUP" || true
done
"$HPCCPP" host add cgroup "$CGROUP" key-file "$key" key-file <(echo 000102030405060708090a0b0c0d0e0f) require
says 255 '"key-file" is wrong with mode receiver*' host add cgroup "$CGROUP/x" mode receiver key-file "$key"
check "host: two keys, required" host '.[0] | .keys == 2 and .require'
"$HPCCPP" host key "$CGROUP" key-file "$key"
check "... one key, not required, set without \"cgroup\"" host '.[0] | .keys == 1 and (.require | not)'
all_shown()
{
	"$HPCCPP" -s host
	"$HPCCPP" -p host
	"$HPCCPP" -o prom host
	"$HPCCPP" -v check || true
} >"$tmp/shown" 2>&1
all_shown
check "... in text" grep -q ' every rtt mode sender fallback [a-z]* keys 1$' "$tmp/shown"
check "... for Prometheus" grep -q '^hpccpp_host_keys{.* 1$' "$tmp/shown"
check "... and the key is in nothing that is shown" [ \
	"$(grep -ciE '00112233|33221100|ddeeff|ffeedd' "$tmp/shown")" = 0 ]
"$HPCCPP" host del cgroup "$CGROUP"
# SYNs that nobody answers: the port counts each for half a second.
"$HPCCPP" host add cgroup "$CGROUP" ask always
ip -n "$box" addr add 10.7.0.1/24 dev d0
ip -n "$box" neigh add 10.7.0.2 lladdr 02:00:00:00:00:02 dev d0
on d0 base-rtt 4s
for ((i = 0; i < 8; i++)); do
	in_ns_bg "$box" timeout 0.4 bash -c ': <>/dev/tcp/10.7.0.2/7' 2>/dev/null
done
check "port: flows that begin" busywait 4 port d0 '.[0].begun >= 6 and .[0].begun <= 8'
check "... are none after that time" busywait 8 port d0 '.[0].begun == 0'
off d0
ip -n "$box" addr del 10.7.0.1/24 dev d0
"$HPCCPP" host del cgroup "$CGROUP"
check "... removed, nothing is left" same_state "$tmp/before"
# Another's sock_ops program: a second agent, by another way than the command's.
# shellcheck disable=SC2016 # that shell's
unshare -m bash -ec 'mount -t bpf none /mnt
	bpftool prog loadall "$1" /mnt/other
	bpftool cgroup attach "$2" sock_ops pinned /mnt/other/other multi' - "$tmp/other.o" "$CGROUP"
bpftool cgroup show "$CGROUP" >"$tmp/others"
"$HPCCPP" host add cgroup "$CGROUP"
"$HPCCPP" host del cgroup "$CGROUP"
bpftool cgroup show "$CGROUP" >"$tmp/now"
check "another's sock_ops program survives" diff "$tmp/others" "$tmp/now"
bpftool cgroup detach "$CGROUP" sock_ops id "$(bpftool -j cgroup show "$CGROUP" | jq '.[0].id')"

# --- Not root ----------------------------------------------------------------

status=0
setpriv --reuid 65534 --regid 65534 --clear-groups "$HPCCPP" host add cgroup "$CGROUP" \
	>"$tmp/out" 2>&1 || status=$?
check "as nobody: $status, $(<"$tmp/out")" grep -q 'Error: .*(you are not root)\.$' "$tmp/out"
with_caps() # CAPS
{
	in_ns "$box" setpriv --bounding-set "-all,$1" --inh-caps -all "$HPCCPP" port add d0 >"$tmp/out" 2>&1 || true
}
with_caps +net_admin,+bpf
check "as root without a capability: $(<"$tmp/out")" grep -q '(you lack CAP_PERFMON, CAP_SYS_ADMIN)\.$' "$tmp/out"
with_caps +sys_nice
check "... without any" grep -q '(you lack CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN)\.$' "$tmp/out"
check "... and nothing is left" same_state "$tmp/before"
rmdir "$CGROUP"
CGROUP=
agents=
ktap_finish
