#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The command hpccpp: help, exit statuses, messages for wrong input, ports and host agents as
# they are configured and shown, check, monitor, and samples for Prometheus. It leaves and
# removes nothing but its own.
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

echo TAP version 13
# shellcheck disable=SC2154 # set by setup_ns
{
setup_ns box
ip -n "$box" -batch - <<END
link set lo up
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
agents=host			# the cgroup is removed at the end

in_box() { "$HPCCPP" -n "$box" "$@"; }
is() { check "$1: $2" [ "$2" = "$3" ]; }	# NAME VALUE WANTED

# Prints everything that the command could leave behind.
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
same_state() { diff "$1" <(state); }	# FILE

# refused: each line of stdin has an exit status, the arguments, and after "|" decisive words of
# the message, a pattern. The message is one line, and there is no output. Values at the end
# that are separated by commas are tried one by one.
refused()
{
	local line words value values
	while IFS= read -r line; do
		read -ra words <<<"${line%% | *}"
		IFS=, read -ra values <<<"${words[-1]}"
		for value in "${values[@]}"; do
			words[-1]=$value
			says "${words[0]}" "${line#* | }" "${words[@]:1}"
		done
	done < <(grep -v '^#')
}
says() # STATUS PATTERN ARGUMENT...
{
	local status=0 want=$1 pattern=$2 said
	shift 2
	in_box "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	said=$(<"$tmp/err")
	# shellcheck disable=SC2053 # a pattern
	if [[ $status -eq $want && ! -s $tmp/out && $said == "Error: "*$pattern* && $said != *$'\n'* ]]; then
		ktap_ok "hpccpp $*: $status, $said"
	else
		ktap_not_ok "hpccpp $*: $status ($want), one line like $pattern"
		ktap_diag "$(head -n 3 "$tmp/err" "$tmp/out")"
	fi
}

# --- Help and options --------------------------------------------------------

for words in '' help -help 'port help' 'host help' 'flow help' 'port add help' 'host add help' \
	'flow show help' 'cnp help' 'show help' 'monitor help' 'check help'; do
	status=0
	# shellcheck disable=SC2086 # a list
	"$HPCCPP" $words >"$tmp/out" 2>"$tmp/err" || status=$?
	is "hpccpp $words: status, usage, lines of more than 80 columns" \
		"$status $(head -c 6 "$tmp/err") $(grep -cE '.{81}' "$tmp/err")" '255 Usage: 0'
done
check "port help: what an id may be, of one queue and of several" \
	grep -qE '^ID +link id, 1 to 2047, of edges 2048 to 4095' <("$HPCCPP" port help 2>&1)
for words in -V -Version --version --V port host flow 'port list' 'host show' '-s -j flow show' \
	'-o prom show' '-o json host show' '-j -p monitor what port count 2 interval 0.01'; do
	# shellcheck disable=SC2086 # words
	check "hpccpp $words: 0" "$HPCCPP" $words
done

# --- Wrong arguments -----------------------------------------------------------

state >"$tmp/before"
key=$tmp/key
printf '00112233445566778899aabbccddeeff\n' >"$key"
chmod 600 "$key"
mkfifo "$tmp/fifo"
refused <<END
# Objects, options and commands
255 xyz | object "xyz"*port, host, flow, cnp, show, monitor, check, save, apply, watch, help
255 h | object "h"*ambiguous
255 -x,--vx | option "*x"*json
255 -o | "-output"
255 -n | "-netns"
255 -o xml show | output "xml"*text, json, prom
255 -j -o prom show | output "prom"*json
255 -j -o text show | output "text"*json
255 -o text -j show | output "text"*json
255 -o prom monitor,check | output "prom"
255 port frob | port command "frob"*add, replace, change, delete, show
255 show dev d0 | argument "dev"*netns
255 check role router | role "router"*sender, receiver, switch
# Namespaces
255 port add dev d0 netns .. | netns ".."
2 port add dev d0 netns ../x,nowhere | cannot open netns
2 -n 4194305 port show | netns "4194305"*No such file
2 -n $tmp/fifo port show | netns "$tmp/fifo": Invalid argument
# Keywords of ports, and those that may be omitted
255 port add colour red | dev "colour", *"red"
255 port add rate 1gbit | "dev" is missing
255 port del | "dev" is missing
2 port add dev d9,rate | cannot find device
2 port del d0 | no port on d0
2 port del d0 ingress | no port on ingress of d0
2 port change d0 ingress | no port on ingress of d0
# Values of ports
255 port add d0 rate 9kbit,5tbit,x | 10kbit to 4tbit
255 port add d0 id 0,4096 | 1 to 4095.
255 port add lo rate 1gbit id 2048 | 1 queue*without "edge"*1 to 2047
255 port add lo rate 1gbit edge id 2047 | 1 queue*with "edge"*2048 to 4095
255 port add lo ingress id 1 rate 1gbit | 1 queue*with "edge"*2048 to 4095
255 port add d0 base-rtt 0us,5s | 1us to 4s
255 port add d0 overhead -1,256 | 0 to 255
255 port add d0 above 0,101 | 1 to 100
255 port add d0 dscp -1,64 | 0 to 63
255 port add d0 respond 0,399 | 1 to 398
255 port add d0 respond 100 respond-to both | respond-to "both"*sender, receiver
255 port add d0 respond 100 limit 0,1000001 | 1 to 1000000
255 port add d0 udp-port 0,65536 | 1 to 65535
255 port add d0 cnp 0,399 | 1 to 398
255 port add d0 cnp 100 source ::1,fe80::1,ff0e::1,::,::ffff:1.2.3.4,10.0.0.1,x | IPv6
255 port add d0 cnp 100 ecn always | ecn "always"*never, mark
255 port add d0 cnp 100 ecn mark capable 10.0.0.0/8 | capable "10.0.0.0/8"*IPv6
255 port add d0 border option-type 127,0xa0 | 128 to 159
255 port add d0 border option-type 0x9d | "0x9d"*same
255 port add d0 border option-type 0x9c option-type 0x9c | "0x9c"*same
255 port add d0 ioam 65536 | 0 to 65535
255 port add d0 ioam 1 node 16777216 | 0 to 16777215
255 port add d0 queue fifo | queue "fifo"*qdisc, virtual
# Keywords that need others
255 port add d0 source fd00::1 | "source"*without "cnp"
255 port add d0 ecn mark | "ecn"*without "cnp"
255 port add d0 cnp 100 ecn never capable fd00::/64 | "capable"*without "ecn mark"
255 port add d0 option-type 0x9c | "option-type"*without "cnp" or "border"
255 port add d0 node 1 | "node"*without "ioam"
255 port add d0 respond-to receiver | "respond-to"*without "respond"
255 port add d0 limit 1 | "limit"*without "respond" or "cnp"
255 port add d0 ingress queue qdisc | "queue" is wrong with "ingress"
255 port add d0 ingress respond 100 | "respond" is wrong with "ingress"
255 port add d0 ingress border | "border" is wrong with "ingress"
# Devices that lack an address, a rate or a qdisc
2 port add d0 respond 100 | d0*address*INT responses
2 port add d0 cnp 100 | lo*IPv6 address*Fast CNPs*source
2 port add d3 | d3*rate RATE
2 port add d3 rate 1gbit queue qdisc | d3*noqueue
255 port add q0 id 2047 | 2 queues*1 to 2046
# Several devices
255 port add dev d*,all id 7 | one device
2 port add swp* | device like "swp*"
2 port show swp* | device like "swp*"
2 port change d* above 50 | device like "d*" with a port
2 port del all | device like "all" with a port
# Hosts
2 host add cgroup /nowhere | cgroup "/nowhere"
2 host add /tmp | cgroup "/tmp"*cgroup2*"${CGROUP%/*}"
255 host add $CGROUP ask often | ask "often"*auto, always, never
255 host add $CGROUP records 0,4 | 1 to 3
255 host add $CGROUP every 0,65536,-1,often,rttx,congested | 1 to 65535, rtt
255 host add $CGROUP require | "require"*"key-file"
255 host key $CGROUP require | "key-file" is missing
2 host add $CGROUP key-file /nowhere | key-file "/nowhere"
255 host add $CGROUP mode receiver key-file $key | "key-file"*receiver
255 host add $CGROUP fallback hpccpp,cub | fallback*reno*but hpccpp
2 host key $CGROUP key-file $key | no host agent
2 host del $CGROUP | no host agent
2 host flush $CGROUP | no host agent
# Fast CNPs
255 cnp add accept ::1 | "dev" is missing
255 cnp add ha | "accept" is missing
255 cnp add ha accept 10.0.0.0/8 | accept "10.0.0.0/8"
255 cnp add ha accept ::/0 threshold 0 | threshold "0"
255 cnp add ha accept ::/0 option-type 0x1e | 128 to 159
255 cnp add ha accept ::/0 option-type 0x9d | option-type "0x9d"
255 cnp add ha accept ::/0 ioam-namespace 65536 | ioam-namespace "65536"
255 cnp add ha accept ::/0 trace 0,9 | 1 to 8
255 cnp add ha accept ::/0 trace 1 | "to" is missing
255 cnp add ha accept ::/0 to ::/0 | "to"*without "trace"
255 cnp add ha accept ::/0 trace 1 to 10.0.0.0/8 | to "10.0.0.0/8"*IPv6
255 cnp add ha accept ::/0 algorithm cubic | algorithm "cubic"
255 cnp add ha accept ::/0 answer ecn | answer "ecn"*cnp, fast-cnp
255 cnp add ha accept ::/0 answer cnp limit 0 | 1 to 1000000
255 cnp add ha accept ::/0 limit 1 | "limit"*without "answer"
255 cnp add ha accept ::/0 detour 10.0.0.0/8 | detour "10.0.0.0/8"*IPv6
END
# A key has 32 digits, and only its owner may read or write it.
for text in '' 00112233445566778899aabbccddeef 00112233445566778899aabbccddeefff0 \
	00112233445566778899aabbccddeefg $'00112233445566778899aabbccddeeff\n\n'; do
	printf %s "$text" >"$tmp/bad"
	chmod 600 "$tmp/bad"
	says 2 'key-file "*"*32*digits' host add "$CGROUP" key-file "$tmp/bad"
done
cp "$key" "$tmp/open"
for mode in 640 604 620; do
	chmod "$mode" "$tmp/open"
	says 2 'key-file "*"*owner' host add "$CGROUP" key-file "$tmp/open"
done
check "nothing is left of all this" same_state "$tmp/before"

# --- Ports -------------------------------------------------------------------

on() { in_box port add "$@"; }	# DEV OPTION...
off() { in_box port del "$1"; }
port() { in_box -j port show "$1" | jq -e "$2"; }	# DEV JQ-CONDITION
names() { in_box -j port show "$@" | jq -r 'map(.dev) | unique | join(" ")'; }	# [DEV]
every() { in_box -j port show | jq -e "all(.[]; $1)"; }	# JQ-CONDITION

"$HPCCPP" port add base-rtt 7us d0 netns "$box"
nsenter --net="/run/netns/$box" sleep infinity &
inside=$!
base_rtt() { [[ $("$HPCCPP" -j "$@" | jq '.[0].base_rtt') == 7 ]]; }	# ARGUMENT...
check "a device is shown by its name" base_rtt port show d0 netns "$box"
check "... a namespace by -n and a name" base_rtt -n "$box" port show
check "... a path" base_rtt -n "/run/netns/$box" port show
check "... a PID" busywait 50 base_rtt -n "$inside" port show
is "... and not in another namespace" "$("$HPCCPP" -j port show)" '[]'
kill "$inside"
is "text has what an operator needs, and no counter of 0" \
	"$(in_box -s port show | sed -E 's/id [0-9]+/id N/' | paste -sd,)" \
	"d0 id N rate 50Mbit queue qdisc base-rtt 7us,    U 0.000 qlen 0b flows 0 begun 0 backlog 0b drops 0"
says 2 'exists*d0' port add d0
check "... and the port stays as it is" port d0 '.[0].base_rtt == 7'
off d0

# Each line: the arguments of port add, and after "|" a condition on the rows that are shown.
ip -n "$box" addr add 10.7.0.1/24 dev d0
while IFS= read -r line; do
	# shellcheck disable=SC2086 # words
	on ${line%% | *}
	read -r dev _ <<<"$line"
	check "port add ${line%% | *}" port "$dev" "${line#* | }"
	off "$dev"
done <<'END'
d0 | .[0] | [.rate, .rate_given, .queue, .root, .base_rtt] == [50000000, false, "qdisc", "flat", 1000]
d1 | .[0] | .rate == 30000000 and .root == "flat"
d3 rate 2.5gbit id 77 base-rtt 250us | .[0] | [.rate, .rate_given, .id, .queue, .base_rtt] == [2500000000, true, 77, "virtual", 250]
e0 | .[0] | .rate == 10000000000 and .overhead == 24
e0 overhead 0 | .[0] | .rate == 10000000000 and (has("overhead") | not)
d0 above 80 dscp 46 | .[0] | .above == 80 and .dscp == 46
d0 respond 120 respond-to receiver | .[0] | .respond == 120 and .respond_to == "receiver"
END
tc -n "$box" qdisc change dev d0 root tbf rate 50mbit burst 3028 limit 512kb overhead 24
on d0
check "the overhead of a shaper is read" port d0 '.[0].overhead == 24'
in_box port replace d0 overhead 0
check "... unless one is given" port d0 '.[0] | has("overhead") | not'
in_box port replace d0 rate 50mbit
check "... or the rate" port d0 '.[0] | has("overhead") | not'
off d0
tc -n "$box" qdisc change dev d0 root tbf rate 50mbit burst 3028 limit 512kb
on d0 respond 120 limit 999999 accept 10.0.0.0/8 accept fd00::/16 udp-port 9999
check "INT responses as given" port d0 '.[0] | .respond == 120 and .respond_to == "sender" and
	.limit == 999999 and (.accept | sort) == ["10.0.0.0/8","fd00::/16"] and .udp_port == 9999'
off d0
ip -n "$box" addr del 10.7.0.1/24 dev d0
on d0
id=$(in_box -j port show | jq '.[0].id')
off d0
on d0 dscp 0
check "the default id is the same again" port d0 ".[0].id == $id"
check "codepoint 0 has its program" grep -q hpccpp_port_ext <(programs "$box" d0 egress)
off d0

on d0 cnp 150 source fd00:5::1 ecn mark capable fd00:6::/64 capable fd00:7::7 option-type 0x9c \
	ioam 9 node 70000 border limit 20
check "Fast CNP, IOAM and border as given" port d0 '.[0] | .cnp == 150 and .source == "fd00:5::1" and .ecn == "mark" and
	(.capable | sort) == ["fd00:6::/64","fd00:7::7/128"] and .option_type == [156,157] and
	.ioam == 9 and .node == 70000 and .border and .limit == 20 and (has("udp_port") | not)'
configured() { in_box -j port show d0 | jq -S '.[0] | del(.age, .words)'; }
before=$(configured | jq -S '.above = 33')
change() { in_box port change "$@"; }
change d0 above 33
check "one value is changed, and no other" diff <(configured) - <<<"$before"
change d0 capable fd00:8::/64
check "... a list, as a whole" diff <(configured) - <<<"$(jq -S '.capable = ["fd00:8::/64"]' <<<"$before")"
says 255 'above "101"' port change d0 above 101
in_box port replace d0
check "a port is replaced by one without options" port d0 '.[0] | has("above") or has("cnp") or has("border") | not'
is "... or a program on ingress" "$(programs "$box" d0 ingress)" ""
tc -n "$box" qdisc change dev d0 root tbf rate 40mbit burst 3028 limit 512kb
change d0
check "a change reads the rate again" port d0 '.[0].rate == 40000000'
change d0 rate 1gbit
tc -n "$box" qdisc change dev d0 root tbf rate 50mbit burst 3028 limit 512kb
change d0 id 7
check "... unless it was given" port d0 '.[0] | .rate == 1000000000 and .id == 7'
says 255 '"source"*without "cnp"' port change d0 source fd00:5::1
says 255 '"dev" is missing' port change above 50
off d0
says 2 'no port on d0' port change d0 above 50
on q0 id 8
check "each queue of mq has a port" port q0 'length == 2 and .[1].id == 9 and .[1].txq == 1 and
	.[0].mq and .[0].rate == 10000000 and all(.[]; has("backlog"))'
check "queues have their numbers in text" grep -q '^q0 txq 1 id 9 ' <(in_box port show q0)
off q0

# Several devices at once
one_fails() # COMMAND DEV OPTION...: status 2, messages with the words of stdin, sorted
{
	local status=0
	in_box port "$@" 2>"$tmp/err" || status=$?
	[[ $status -eq 2 && $(sed -E 's/^Error: (..): .*(exists|rate).*/\1 \2/' "$tmp/err" | sort | paste -sd,) == "$(cat)" ]]
}
on all base-rtt 9us
is "all: devices with a link of their own or a shaper" "$(names)" "d0 d1 q0"
check "... have the same options" every '.base_rtt == 9'
is "... and are saved one by one" "$(in_box save | grep ^port | sort)" \
	"$(printf 'port dev %s base-rtt 9us\n' d0 d1 q0)"
on 'e?' base-rtt 9us
on q1 base-rtt 9us
is "show: devices like a pattern" "$(names 'd?')" "d0 d1"
is "... all" "$(names all)" "$(names)"
check "add: an error names the device" one_fails add 'd[0-3]' <<<"d0 exists,d1 exists,d3 rate"
off 'e*'
is "delete: devices like a pattern" "$(names)" "d0 d1 q0 q1"
check "replace: one fails" one_fails replace '[deq]?' base-rtt 8us <<<"d3 rate"
is "... and the others are replaced" "$(names)" "d0 d1 e0 e1 q0 q1"
change '[!q]*' above 44
check "change: devices with a port" every \
	'.base_rtt == 8 and .above == (if .dev[:1] == "q" then null else 44 end)'
off all
is "delete: all" "$(names)" ""
closed()
{
	local status=0
	in_box apply "$tmp/file" dry-run >&- 2>"$tmp/err" || status=$?
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
is "a device may be called like a pattern" "$(names)" "d*"
off 'd*'
ip -n "$box" link del 'd*'
check "nothing is left of these ports" same_state "$tmp/before"

# --- Hosts -------------------------------------------------------------------

host() { "$HPCCPP" -j host show "$CGROUP" | jq -e "$1"; }	# JQ-CONDITION

"$HPCCPP" host add ask never "$CGROUP" records 2 every 7 prefix 10.0.0.0/8 prefix fd00::/16
check "a host agent is shown as it was added" host 'length == 1 and (.[0] | .ask == "never" and
	.records == 2 and .every == 7 and (.prefix | sort) == ["10.0.0.0/8","fd00::/16"])'
mkdir "$CGROUP/below"
refused <<END
2 host add $CGROUP,$CGROUP/below | exists*cgroup
2 host del $CGROUP/below | no host agent
2 host key $CGROUP key-file $key | without a key
END
rmdir "$CGROUP/below"
check "... and it stays as it is" host '.[0].records == 2'
"$HPCCPP" host del "$CGROUP"
"$HPCCPP" host add "$CGROUP" every r key-file "$key" \
	key-file <(echo 000102030405060708090a0b0c0d0e0f) require
check "two keys, required, and an interval of a round trip" host \
	'.[0] | .keys == 2 and .require and .every == 0'
"$HPCCPP" host key "$CGROUP" key-file "$key"
check "... one key, not required" host '.[0] | .keys == 1 and (.require | not)'
{
	"$HPCCPP" -s host
	"$HPCCPP" -p host
	"$HPCCPP" -o prom host
	"$HPCCPP" -v check || true
} >"$tmp/shown" 2>&1
check "... in text" grep -q ' every rtt mode sender fallback [a-z]* keys 1$' "$tmp/shown"
check "... for Prometheus" grep -q '^hpccpp_host_keys{.* 1$' "$tmp/shown"
is "... and no output has the key" "$(grep -ciE '00112233|33221100|ddeeff|ffeedd' "$tmp/shown" || true)" 0
"$HPCCPP" host del "$CGROUP"
check "nothing is left of these" same_state "$tmp/before"

# --- Check -------------------------------------------------------------------

state_of() { jq -r --arg c "$1" '.[] | select(.check == $c) | .status' "$tmp/check"; } # CHECK
found_of() { jq -r --arg c "$1" '.[] | select(.check == $c) | .found' "$tmp/check"; } # CHECK
checked() # ROLE: leaves $tmp/check, prints the exit status
{
	local status=0
	"$HPCCPP" -j check netns "$box" role "$1" >"$tmp/check" || status=$?
	echo "$status"
}

is "check of a switch without ports" "$(checked switch) $(state_of 'port agents')" "1 missing"
is "... without checks of a sender" "$(state_of module)$(state_of default)$(state_of peers)" ""
check "... each item that is not ok has advice" jq -e \
	'all(.[]; (.status == "ok") != has("advice")) and length > 5' "$tmp/check"
on d0 base-rtt 100us
nsenter --net="/run/netns/$box" ethtool -K d0 tso on gso on gro off
is "check of a switch with one" "$(checked switch) $(found_of 'port agents')" "0 on 1 queue"
is "... offloads" "$(found_of 'offloads of d0')" "tso on gso on gro off"
is "... pacing" "$(found_of 'pacing on d0')" "by TCP itself: the qdisc is tbf"
"$HPCCPP" host add "$CGROUP"
is "check of a receiver with one" "$(checked receiver)" 0
off d0
if tc -n "$box" qdisc replace dev e0 root fq 2>"$tmp/err"; then
	on e0
	checked switch >"$tmp/out"
	is "... pacing by fq" "$(found_of 'pacing on e0' | grep -o 'the qdisc fq$')" "the qdisc fq"
	off e0
	tc -n "$box" qdisc del dev e0 root
else
	ktap_skip "... pacing by fq" "this kernel has no fq"
fi
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$HPCCPP" "$@" >"$tmp/out" 2>&1; }
status=0
nobody check || status=$?
assert_eq "check as nobody: status" "$status" 1
for line in '.*\(you are not root\)' 'missing  port agent loads: ' 'note     flow show loads: '; do
	check "... $line" grep -qE "^$line" "$tmp/out"
done
# As root in a container, which cannot see the agents: check does not report that there are none.
for privileges in "unshare -Un --map-root-user" \
	"unshare -n setpriv --bounding-set -all,+net_admin,+net_raw --inh-caps -all"; do
	status=0
	# shellcheck disable=SC2086 # words
	$privileges "$HPCCPP" check >"$tmp/out" 2>"$tmp/err" || status=$?
	assert_eq "check after $privileges: status" "$status" 1
	is "... agents" "$(grep -A1 'agents and flows\|host agent:' "$tmp/out" | paste -sd,)" \
		"missing  agents and flows: not known,         run it on the host: a container cannot read eBPF programs"
	is "... errors" "$(<"$tmp/err")" ""
done

# --- Monitor and Prometheus --------------------------------------------------

on d0
in_box -j monitor count 3 interval 0.2 what port >"$tmp/out"
check "monitor: a port, three times, 0.2 s after one another" jq -e -s \
	'map(.object) == ["port", "port", "port"] and .[1].time - .[0].time >= 0.2 and
	.[2].time - .[1].time >= 0.2' "$tmp/out"
# on_terminal COUNT: what monitor writes to a terminal
on_terminal() { script -qec "$HPCCPP monitor netns $box what port interval 0.01 count $1" /dev/null </dev/null; }
screens() { echo "$(grep -c '^d0 ' "$1") $(grep -c $'\e\\[J' "$1")"; }	# FILE: tables, and clears
on_terminal 2 >"$tmp/out"
is "monitor clears a terminal before each table" "$(screens "$tmp/out" | cut -d' ' -f2)" 2
on_terminal 1 >"$tmp/out"
is "... not for a single one" "$(screens "$tmp/out")" "1 0"
in_box monitor what port interval 0.01 count 2 >"$tmp/out"
is "... nor what is no terminal" "$(screens "$tmp/out")" "2 0"
for words in '-j port show' 'monitor interval .02'; do
	full=0
	# shellcheck disable=SC2086 # words
	timeout 60 "$HPCCPP" -n "$box" $words >/dev/full 2>"$tmp/err" || full=$?
	is "a full disk ends $words" "$full $(<"$tmp/err")" \
		"2 Error: cannot write the output: No space left on device."
done
in_box -o prom show >"$tmp/prom"
promtool=$("$top/scripts/promtool.sh")
promtool_takes() { "$promtool" check metrics <"$1" >"$tmp/out" 2>&1 && [[ ! -s $tmp/out ]]; }
check "promtool takes the samples" promtool_takes "$tmp/prom"
check "... which include host agents" grep -q '^hpccpp_host_events_total{.*kind="asked"} 0$' "$tmp/prom"
off d0
"$HPCCPP" host del "$CGROUP"

# --- Not root ----------------------------------------------------------------

# lacks CAPABILITIES NAMES: with these only, the command names those that it lacks
lacks()
{
	in_ns "$box" setpriv --bounding-set "-all,$1" --inh-caps -all "$HPCCPP" port add d0 >"$tmp/out" 2>&1 || true
	grep -q "(you lack $2)\.$" "$tmp/out"
}
check "as root without some capabilities" lacks +net_admin,+bpf "CAP_PERFMON, CAP_SYS_ADMIN"
check "... without any" lacks +sys_nice "CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN"
check "... and nothing is left" same_state "$tmp/before"
rmdir "$CGROUP"
CGROUP=
agents=
ktap_finish
