#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Each line of advice that `hpccpp check` can print has a row here. A row brings the fault about. If
# the advice is a command, the test executes it as printed, else it does what the sentence says. Then
# check no longer prints the line, and other settings of agents, qdiscs and sysctls are as before.
# The test fails if advice in the sources has no row, or a row has no such advice.
#
#	h1 eth0 --100M-- h1 | s1 | next ==20M== prev | s2 | next --*-- eth0 | r
#	box: d0 (tbf 50M) === p0 peer	q0 (mq, two tbf) --- q1		t0: a tap
#
# * is s2's "next": no port agent, and fast but where a row says so. h1 and r have host
# agents of their own, on a cgroup each. Base RTT 2 ms.
#
# check-all: host 6.1
# usual: 300
# shellcheck disable=SC2154,SC2317,SC2034,SC2016 # set by topo_line; functions, variables of rows; a text
set -euo pipefail
shopt -s extglob

RATE=20mbit
EDGE=100mbit
top=$(realpath "${BASH_SOURCE%/*}/../..")
HPCCPP=${HPCCPP:-$top/.build/6.1/tools/hpccpp}
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
echo "TAP version 13"
mkdir "$tmp/bin"
ln -s "$HPCCPP" "$tmp/bin/hpccpp"
PATH=$tmp/bin:$PATH

# --- The table -----------------------------------------------------------------------

# KEY~CHECK~ADVICE~CHANGES: break_KEY causes the fault, fix_KEY does what a sentence advises,
# after_KEY cleans up or checks more. CHECK is the name of the line. In ADVICE, * stands for a value
# that check fills in; of a comment, only the first three words are listed. CHANGES is a regular
# expression for settings that may differ.
port_rows=(
'one_port~port agents~hpccpp *port add dev *base-rtt 1ms# or the round*~port dev d0.*|qdisc clsact .*'
'ports~port agents~for dev in *; do hpccpp *port add dev $dev base-rtt 1ms; done# those that data*~port dev [dq]0.*|qdisc clsact .*'
'container~port agents~no port agent is needed here if a device in another network namespace sends the packets and has an agent; otherwise: hpccpp port add DEV rate RATE~port dev d0.*|qdisc clsact .*'
'no_rate~port agents~run hpccpp port add with "rate" for *: neither a qdisc nor ethtool reports the rate of the link~port dev d0.*|qdisc clsact .*'
'stale~port d0~hpccpp *port change dev *~'
'stuck~port d0~run hpccpp *port change dev *with the arguments that its error message names as missing or wrong~port dev d0: (queue|rate) .*'
'id~id of d0~hpccpp *port change dev *id *# or another that*~port dev d0: id .*'
'queue_ids~id of q0~hpccpp *port change dev *id *# or another that*~port dev q0: id .*'
'rate~rate of d0~hpccpp *port change dev *rate *bit# unless its link*~port dev d0: rate .*'
'leftover~port d0~hpccpp *port change dev *# or, if there*~port dev d0.*'
'clsact~port d0~*tc qdisc del dev *clsact# unless another program*~qdisc clsact .*'
'front~port d0~hpccpp *port change dev *# puts the agent*~'
'front_before~port d0~hpccpp *port change dev *# puts the agent*~'
'bypass~port d0~packets bypass the qdiscs of *: look for XDP, AF_XDP, a flowtable, PACKET_QDISC_BYPASS or offload to hardware~'
'version~port agent on d0~the agent keeps running: show it with the command of its version, or run hpccpp with "replace" and the arguments it was added with~port dev d0.*|qdisc clsact .*'
'files~open files~ulimit -n 1024# or LimitNOFILE=1024 in*~'
'root~agents and flows~be root~'
'container_root~agents and flows~run it on the host: a container cannot read eBPF programs~'
'root_port~port agent loads~be root; the kernel needs CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF, CONFIG_NET_CLS_ACT, CONFIG_NET_SCH_INGRESS; -v says more~'
'root_host~host agent loads~be root; the kernel needs CONFIG_BPF_SYSCALL, CONFIG_CGROUP_BPF; -v says more~'
'root_flow~flow show loads~be root; the kernel needs CONFIG_DEBUG_INFO_BTF, CONFIG_BPF_EVENTS and an eBPF JIT; the agents work without "flow show"~'
)
host_rows=(
'module~module~make && make install && modprobe tcp_hpccpp~'
'modprobe~module~modprobe tcp_hpccpp~'
'types~kernel types~use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions'\'' are, or name its vmlinux in HPCCPP_BTF~'
'cgroup2~cgroup2~mount -t cgroup2 none /sys/fs/cgroup~'
'hybrid~cgroup2~mkdir -p /run/cgroup2 && mount -t cgroup2 none /run/cgroup2~'
'host~host agent~hpccpp host add~host cgroup .*'
'default~default~*sysctl net.ipv4.tcp_congestion_control=hpccpp# after all agents*~sysctl hpccpp|sysctl cubic'
)
flow_rows=(
'no_flow~peers~choose hpccpp for a connection and check again~host cgroup .*'
'no_agent~flows no-agent~here: hpccpp host add CGROUP, a cgroup that contains the processes of these flows and is neither above nor below a cgroup with an agent (hpccpp host show)~host cgroup .*'
'lost_echo~flows lost-echo~at these peers: the host agent is gone, or a new path removes the option; hpccpp host add~host cgroup .*'
'lost_records~flows lost-records~on the way there: a port agent is gone, or a new path has none; hpccpp port show tells which see it~port dev .*|qdisc clsact .*'
'blind_delay~flows blind-delay~on the way there: a queue (tc -s qdisc show) at a port without an agent, or whose agent has a higher rate than its link~qdisc netem .*'
'blind_loss~flows blind-loss~on the way there: drops (tc -s qdisc show) at a port without an agent, or whose agent has a higher rate than its link~qdisc netem .*'
'fallbacks~fallbacks~telemetry ends now and then: look at the agents of peers, and of ports on the way~'
'slow~round trips~on the way there: a port whose agent has a higher rate than its link: compare hpccpp port show with qdisc and link on each hop~port dev next: rate .*'
'link_ids~link ids~compare id and rate of hpccpp port show on each hop: each port of a path needs an id of its own~port dev next: id .*'
'empty~flows empty~on the way there: hpccpp port add for each port that data leaves by; hpccpp port show tells which see it~port dev .*|qdisc clsact .*'
'not_asked~flows not-asked~here: ask or prefix of the host agent leaves these peers out, see hpccpp host show~host cgroup .*: prefix .*'
'no_echo~flows no-echo~at these peers: hpccpp host add, with our key if we have one; then open new connections, as these may not ask again~host cgroup .*'
'peers~peers~the lines below give the reason for flows without telemetry, and where to do what~host cgroup .*'
'mptcp~flows mptcp~at either end: use TCP instead of MPTCP, whose subflows have no telemetry~'
'over~peers~check while there are connections under hpccpp, to know why~'
'no_data~flows no-data~nothing, or send data: none that they have sent asks yet~'
'tunnel~flows empty~no port sees TCP in a tunnel: these flows can have telemetry only outside the tunnel~'
'tunnel_on~flows empty~no port sees TCP in a tunnel: if these flows use a tunnel, they can have telemetry only outside it; otherwise: hpccpp port add for each port on the path to the peer~'
'alone~flows no-agent~hpccpp host add~host cgroup .*'
)
# Advice that no row brings about: the kernel is out of memory, the module rejects all records.
not_run=(
# in lockdown: check_names_lockdown of show_test
'hpccpp port add DEV queue virtual: lockdown "confidentiality" refuses programs that read a qdisc'"'"'s queue'
'flows cannot be shown: lockdown "confidentiality" refuses programs that read kernel memory; the agents work without "flow show"'
'here: free memory, then open new connections'
'on the way there: ports whose above is never reached, or that say what is wrong: guards of hpccpp -s flow show'
)

# literals: prints the advice in the sources, as the table has it
literals()
{
	python3 - "$top"/tools/check*.c <<-'END'
	import re
	import sys
	found = set()
	string = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
	for path in sys.argv[1:]:
	    with open(path, encoding='utf-8') as file:
	        text = file.read()
	    advice = re.findall(r'\badvise\(&?s,\s*' + string, text)
	    for table in re.findall(r'\badvise\(&?s,\s*"%s",\s*(\w+)\[', text):
	        body = re.search(rf'\b{table}\[[^]]*\] = \{{(.*?)\n\t?\}};', text, re.S)
	        advice += [s for s in re.findall(string, body[1]) if s.count(' ') > 3]
	    # any other use, or a change of that notation
	    if len(re.findall(r'\badvise\(', text)) > text.count('advise(s, ') + text.count('advise(&s, ') + \
	            text.count('advise(struct state *s,'):
	        found.add(f'{path}: advise() with other arguments')
	    for parts in advice:
	        whole = ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', parts)).replace('\\"', '"')
	        whole = re.sub(r'%(?:ll)?[sud] ?', '*', whole)
	        whole = re.sub(r'\*?\\t(# \S+ \S+ \S+).*', lambda m: ('*' if m[0][0] == '*' else '') + m[1] + '*', whole)
	        if whole != '*':
	            found.add(whole)
	print('\n'.join(sorted(found)))
	END
}
tabled() { printf '%s\n' "${port_rows[@]}" "${host_rows[@]}" "${flow_rows[@]}" | cut -d'~' -f3; }
same_advice() { diff <(literals) <({ tabled; printf '%s\n' "${not_run[@]}"; } | sort -u); }
LC_ALL=C check "each advice of the sources has a row, and each row an advice" same_advice

# --- A row -----------------------------------------------------------------------------

args=()				# of check
inside=()			# the command that runs it
watched=()			# namespaces whose settings are compared
checked() { "${inside[@]}" "$HPCCPP" -j check "${args[@]}" >"$tmp/check" || true; }
line() { jq -r --arg c "$1" --arg k "$2" '[.[] | select(.check == $c)][0][$k] // ""' "$tmp/check"; } # CHECK KEY
printed() { checked && [[ -n $(line "$1" advice) ]]; }			# CHECK
gone() { checked && if [[ -n $(line "$1" advice) ]]; then cat "$tmp/check"; false; fi; }	# CHECK
settings()			# a line for each word of an agent, and for each qdisc
{
	local ns
	for ns in "${watched[@]}"; do
		{ "$HPCCPP" -n "$ns" save 2>"$tmp/said" || true; } | awk '{
			for (i = 4; i <= NF; i += $i == "border" ? 1 : 2)
				print $1, $2, $3 ": " $i, $(i + 1)
			print $1, $2, $3 }'
		tc -n "$ns" qdisc show | sed 's/ refcnt [0-9]*//'
		nsenter --net="/run/netns/$ns" sysctl -n net.ipv4.tcp_congestion_control | sed 's/^/sysctl /'
	done | sort
}
# only CHANGES: the settings after differ from those before by such lines alone
only() { ! diff "$tmp/before" "$tmp/after" | grep '^[<>]' | grep -vxE "[<>] (${1:-none})"; }
advised() { like "$key: check advises" "$(line "$about" advice)" "${text/\#/$'\t#'}"; }
like() # NAME VALUE PATTERN
{
	# shellcheck disable=SC2053 # a pattern
	if [[ $2 == $3 ]]; then ktap_ok "$1: $2"; else ktap_not_ok "$1: $2 ($3)"; fi
}
execute() { bash -euc "$(line "$about" advice)"; }

row() # ROW
{
	local key about text changes found=''
	IFS='~' read -r key about text changes <<<"$1"
	inside=()
	"break_$key"
	[[ -n $found ]] || busywait 30 printed "$about" || true
	advised
	settings >"$tmp/before"
	if declare -F "fix_$key" >/dev/null; then
		"fix_$key" || ktap_not_ok "$key: done as advised"
	else
		check "... which succeeds" execute
	fi
	check "... and check no longer prints it" busywait 30 gone "$about"
	settings >"$tmp/after"
	check "... and no other setting is changed" only "$changes"
	! declare -F "after_$key" >/dev/null || "after_$key"
}

# --- Ports -----------------------------------------------------------------------------

in_box() { nsenter --net="/run/netns/$box" "$@"; }
box_tc() { tc -n "$box" "$@"; }
box_port() { "$HPCCPP" port "$1" dev "$2" netns "$box" "${@:3}"; }	# COMMAND DEV OPTION...
options=(base-rtt 200us above 40)
tbf() { box_tc qdisc "$1" dev d0 root handle 1: tbf rate "$2" burst 3028 limit 512kb; } # COMMAND RATE
down() { ip -n "$box" link set "$1" down; }
up() { ip -n "$box" link set "$1" up; }

break_one_port() { down q0; }
after_one_port() { box_port del d0; up q0; }
break_ports() { :; }
after_ports() { box_port del d0; box_port del q0; }
break_container() { down q0; box_tc qdisc del dev d0 root; }
fix_container() { box_port add d0 rate 1gbit; }
after_container() { box_port del d0; tbf add 50mbit; up q0; }

# Two root classes have no rate together.
break_no_rate()
{
	down q0
	box_tc qdisc del dev d0 root
	box_tc qdisc add dev d0 root handle 1: htb
	box_tc class add dev d0 classid 1:1 htb rate 20mbit
	box_tc class add dev d0 classid 1:2 htb rate 30mbit
}
fix_no_rate() { box_port add d0 rate 50mbit; }
after_no_rate() { box_port del d0; box_tc qdisc del dev d0 root; tbf add 50mbit; up q0; }
break_stale() { box_port add d0 id 1 "${options[@]}"; tbf change 20mbit; }
break_stuck() { box_port change d0 queue qdisc; box_tc qdisc del dev d0 root; }
fix_stuck() { box_port change d0 queue virtual rate 50mbit; }
after_stuck() { box_port del d0; tbf add 50mbit; box_port add d0 id 1 "${options[@]}"; }
break_id() { box_port add lo id 1 rate 1gbit; }
after_id() { box_port del lo; }
break_queue_ids() { box_port add q0 id 8; box_port change d0 id 8; }
after_queue_ids() { box_port del q0; }
break_rate() { box_port change d0 rate 10mbit; }
after_rate() { box_port replace d0 id 1 accept 10.0.0.0/8 "${options[@]}"; }
break_leftover()
{
	if [[ -n $has_tcx ]]; then
		in_box "$HPCCPP_BIN/tcx" remove d0 egress hpccpp_port
	else
		box_tc filter del dev d0 egress
	fi
}
after_leftover()
{
	"$HPCCPP" -n "$box" save >"$tmp/saved"
	check "... the port has all its arguments" grep -qx 'port dev d0 id 1 accept 10.0.0.0/8 base-rtt 200us above 40' "$tmp/saved"
	box_port del d0
}
break_clsact() { box_tc qdisc add dev d0 clsact; }
after_clsact() { box_port add d0 id 1 "${options[@]}"; }

# Sends about 1000 packets a second for ever: udp, or raw DEV: frames that bypass the qdiscs
cat >"$tmp/past.py" <<'END'
import socket
import sys
import time
if sys.argv[1] == 'raw':
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.setsockopt(263, 20, 1)    # SOL_PACKET, PACKET_QDISC_BYPASS
    s.bind((sys.argv[2], 0))
else:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(('10.8.0.2', 9))
while True:
    try:
        s.send(bytes.fromhex('02000000000202000000000188b5') + bytes(86))
    except OSError:             # no such port
        pass
    time.sleep(.0005)
END
sending() { in_ns_bg "$box" python3 "$tmp/past.py" "$@"; sender=$!; }	# until done_sending
done_sending() { kill "$sender"; wait "$sender" 2>/dev/null || true; }
# A program in front of the agent, which ends the chain
ends_chain()
{
	if [[ -n $has_tcx ]]; then
		in_box "$HPCCPP_BIN/tcx" first d0 egress "$pins/ends_chain"
	else
		box_tc filter add dev d0 egress pref 1 protocol all handle 0x99 bpf da \
			obj "$HPCCPP_BIN/other.bpf.o" sec of/ends_chain
	fi
}
no_ends_chain()
{
	if [[ -n $has_tcx ]]; then
		in_box "$HPCCPP_BIN/tcx" remove d0 egress ends_chain
	else
		box_tc filter del dev d0 egress pref 1 protocol all handle 0x99 bpf
	fi
}
break_front() { sending udp; ends_chain; }
after_front() { done_sending; no_ends_chain; }
# Packets have passed, and none does now
passed_by() { [[ $("$HPCCPP" -j port show dev d0 netns "$box" | jq '.[0] | .sent_packets - .seen_packets') -ge 2000 ]]; }
break_front_before()
{
	box_port del d0
	box_port add d0 id 1 "${options[@]}"
	ends_chain
	sending udp
	busywait 60 passed_by
	done_sending
}
after_front_before() { no_ends_chain; }
break_bypass() { box_port del d0; box_port add d0 id 1 "${options[@]}"; sending raw d0; }
fix_bypass() { done_sending; sending udp; }
after_bypass() { done_sending; box_port del d0; }

break_version()
{
	machine_agents -x
	if [[ -n $has_tcx ]]; then
		in_box "$HPCCPP_BIN/tcx" first d0 egress "$pins/hpccpp_port"
	else
		box_tc qdisc add dev d0 clsact
		box_tc filter add dev d0 egress pref 1 protocol all handle 0x4850 bpf da \
			obj "$HPCCPP_BIN/other.bpf.o" sec of/hpccpp_port
	fi
}
fix_version() { box_port replace d0 id 1 "${options[@]}"; machine_free; }
break_files() { inside=(bash -c 'ulimit -n 12 && exec "$@"' -); }
fix_files() { inside=(bash -c "ulimit -n 12 && $(line "$about" advice | cut -f1) && exec \"\$@\"" -); }
nobody() { inside=(setpriv --reuid 65534 --regid 65534 --clear-groups); args=(role switch); chmod a+rx "$tmp"; }
root() { inside=(); args=(netns "$box" role switch); }
break_container_root() { root; inside=(setpriv --bounding-set "-all,+net_admin" --inh-caps -all); args=(role switch); }
fix_container_root() { root; }
for what in root root_port root_host root_flow; do
	eval "break_$what() { nobody; }; fix_$what() { root; }"
done

port_faults()
{
	local one
	setup_ns box peer
	ip -n "$box" -batch - <<-END
	link set lo up
	link add d0 type veth peer p0 netns $peer
	link add q0 up numtxqueues 2 type veth peer q1 numrxqueues 2 numtxqueues 2
	addr add 10.8.0.1/24 dev d0
	link set d0 up
	link set q1 up
	END
	ip -n "$peer" -batch - <<-END
	addr add 10.8.0.2/24 dev p0
	link set p0 up
	END
	tbf add 50mbit
	box_tc -batch - <<-END
	qdisc add dev q0 root handle 1: mq
	qdisc add dev q0 parent 1:1 handle 11: tbf rate 10mbit burst 3028 limit 512kb
	qdisc add dev q0 parent 1:2 handle 12: tbf rate 10mbit burst 3028 limit 512kb
	END
	has_tcx=''
	pins=/sys/fs/bpf/advice-$$
	mount | grep -q ' /sys/fs/bpf ' || mount -t bpf none /sys/fs/bpf
	if in_box "$HPCCPP_BIN/tcx" show lo egress; then
		has_tcx=1
		bpftool prog loadall "$HPCCPP_BIN/other.bpf.o" "$pins" type classifier
	fi
	args=(netns "$box" role switch)
	watched=("$box" "$peer")
	for one in "${port_rows[@]}"; do
		# before Linux 6.6 alone
		if [[ $one == clsact~* && -n $has_tcx ]]; then
			after_clsact
		else
			row "$one"
		fi
	done
	box_port del d0
	rm -rf "$pins"
}

# --- Hosts -----------------------------------------------------------------------------

modules=/lib/modules/$(uname -r)
# apart COMMANDS: check runs where these have been executed, with mounts and processes of its own
apart() { inside=(unshare -m -p -f --mount-proc bash -ec "$1"' && exec "$@"' -); }
# ... and where the advice has been executed then
apart_advised() { inside+=(bash -ec "$(line "$about" advice | cut -f1)"' && exec "$@"' -); }

break_module() { mkdir -p "$tmp/root$modules"; apart "mount --bind '$tmp/root$modules' '$modules'"; }
fix_module()	# what make install does
{
	mkdir "$tmp/root$modules/updates"
	cp "$HPCCPP_KO" "$tmp/root$modules/updates"
	depmod -b "$tmp/root" "$(uname -r)"
	"${inside[@]}" modprobe tcp_hpccpp
}
break_modprobe() { rmmod tcp_hpccpp; apart "mount --bind '$tmp/root$modules' '$modules'"; }
fix_modprobe() { "${inside[@]}" bash -euc "$(line "$about" advice)"; }
after_modprobe() { rmmod tcp_hpccpp; args=(role receiver); }
break_types() { cp /sys/kernel/btf/vmlinux "$tmp/btf"; apart "mount -t tmpfs none /sys/kernel/btf"; }
fix_types() { inside=(env HPCCPP_BTF="$tmp/btf" "${inside[@]}"); }
break_cgroup2() { apart "umount -a -l -t cgroup2"; }
fix_cgroup2() { apart_advised; }
break_hybrid()
{
	apart "umount -a -l -t cgroup2; mount -t tmpfs none /sys/fs/cgroup; mount -t tmpfs none /run"
}
fix_hybrid() { apart_advised; }
break_host() { :; }
after_host() { "$HPCCPP" host del; }
break_default() { load_hpccpp; args=(netns "$peer"); }

# --- Flows -----------------------------------------------------------------------------

in_h1() { nsenter --net="/run/netns/$h1" "$@"; }
# why REASON MODE: the one flow has that reason
why() { check "$1: flow show names it" busywait 20 flow_is ".reason == \"$1\" and .mode == \"$2\""; }
steered() { check "$key: under telemetry then" busywait 20 flow_is '.mode == "hpccpp" and (has("reason") | not)'; }
flow_off() { kill "$sender" && wait "$sender" "$receiver" && busywait 5 no_sockets "$h1"; }
netem() { new_netem "$s2" next "$@"; }

break_no_flow() { host_on "$r"; ports_on; }
fix_no_flow() { host_on "$h1"; flow_start; steered; }
after_no_flow() { flow_off; host_off "$h1"; }
break_no_agent() { flow_start; why no-agent hpccpp-reno; }
fix_no_agent() { host_on "$h1"; steered; }
after_no_agent()
{
	checked
	assert_eq "check of a flow under telemetry: nothing to say" \
		"$(jq -r '.[].check | select(startswith("flows "))' "$tmp/check") $(line peers status) $(line fallbacks status)" " ok ok"
}
break_lost_echo() { host_off "$r"; why lost-echo cubic; }
fix_lost_echo() { host_on "$r"; steered; }
break_lost_records() { ports_off; why lost-records cubic; }
fix_lost_records() { ports_on; steered; }
break_blind_delay() { netem limit 1000 rate 8mbit; why blind-delay hpccpp-reno; }
fix_blind_delay() { netem limit 1000; steered; }
break_blind_loss() { netem limit 4 rate 8mbit; why blind-loss hpccpp; }
fix_blind_loss() { netem limit 1000; steered; }

# A flow that falls back once while check looks
falls_back()
{
	local looking
	busywait 20 flow_is '.mode == "hpccpp"'
	checked &
	looking=$!
	ports_off
	wait "$looking"
	ports_on
	[[ $(line fallbacks status) == note && $(line fallbacks found) == "1 within a second, 0 of them blind" ]]
}
break_fallbacks() { check "check says that a flow has fallen back" busywait 30 falls_back; found=1; }
fix_fallbacks() { steered; }

# A port with five times its link's rate explains its queue
break_slow() { "$HPCCPP" port change dev next netns "$s1" rate 100mbit; }
fix_slow() { "$HPCCPP" port change dev next netns "$s1" rate 20mbit; }
after_slow() { port_off "$s1" next; port_on "$s1" next; }
break_link_ids()
{
	host_off "$h1"
	host_on "$h1" records 2
	"$HPCCPP" port change dev eth0 netns "$h1" id 7
	"$HPCCPP" port change dev next netns "$s1" id 7
}
fix_link_ids() { "$HPCCPP" port change dev next netns "$s1" id 8; }
after_link_ids() { flow_off; ports_off; }

break_empty() { flow_start; why empty cubic; }
fix_empty() { ports_on; steered; }
after_empty() { flow_off; }
break_not_asked() { host_off "$h1"; host_on "$h1" fallback reno prefix 192.0.2.0/24; flow_start; why not-asked reno; }
fix_not_asked()
{
	"$HPCCPP" host change cgroup "${cgroup_of[$h1]}" prefix 10.0.0.0/8
	flow_off
	flow_start
}
after_not_asked() { flow_off; host_off "$h1"; host_on "$h1"; }
break_no_echo() { host_off "$r"; flow_start; why no-echo cubic; }
fix_no_echo() { host_on "$r"; flow_off; "$HPCCPP" host flush "${cgroup_of[$h1]}"; flow_start; }
after_no_echo() { flow_off; }
break_peers() { break_no_echo; }
fix_peers() { fix_no_echo; }
after_peers() { flow_off; }
break_mptcp()
{
	local port=$((next_port++))
	xfer_server "$r" "$port" -o mptcp >"$tmp/server"
	receiver=$!
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c hpccpp -o mptcp -t 600 connect "${addr4[r]}" "$port" >"$tmp/client"
	sender=$!
	why mptcp cubic
}
fix_mptcp() { flow_off; flow_start; }
after_mptcp() { flow_off; }
break_over() { :; }
fix_over() { flow_start; steered; }
after_over() { flow_off; }

# A server that sends no data until $tmp/send is there
break_no_data()
{
	args=(netns "$r")
	in_h1 sysctl -qw net.ipv4.tcp_congestion_control=hpccpp
	cat >"$tmp/late.py" <<-'END'
	import os
	import socket
	import sys
	import time
	s = socket.create_server(('', 78))
	s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'hpccpp')
	c, _ = s.accept()
	while not os.path.exists(sys.argv[1]):
	    time.sleep(.01)
	c.sendall(bytes(100000))
	time.sleep(1000)
	END
	in_ns_bg "$r" python3 "$tmp/late.py" "$tmp/send"
	receiver=$!
	busywait 5 listening "$r" 78
	in_ns_bg "$h1" bash -c "cat <>/dev/tcp/${addr4[r]}/78 >/dev/null"
	sender=$!
	server_waits() { "$HPCCPP" -j flow show netns "$r" | jq -e '.[0].reason == "no-data"'; }
	check "no-data: flow show names it" busywait 10 server_waits
}
fix_no_data() { touch "$tmp/send"; }
after_no_data()
{
	args=(netns "$h1")
	in_h1 sysctl -qw net.ipv4.tcp_congestion_control=cubic
	kill "$sender" "$receiver"
	wait "$sender" "$receiver" || true
	busywait 5 no_sockets "$h1"
}

tunnel() # NETNS LOCAL REMOTE ADDRESS
{
	ip -n "$1" link add tn type vxlan id 5 local "$2" remote "$3" dstport 4789
	ip -n "$1" addr add "$4/24" dev tn
	ip -n "$1" link set tn up
}
break_tunnel()
{
	tunnel "$h1" "${addr4[h1]}" "${addr4[r]}" 10.77.0.1
	tunnel "$r" "${addr4[r]}" "${addr4[h1]}" 10.77.0.2
	flow_to=10.77.0.2 flow_start
	why empty cubic
}
fix_tunnel() { flow_off; flow_start; }
# ... where another host begins it, as ports show
break_tunnel_on()
{
	ip -n "$h1" link del tn
	flow_off
	port_off "$s1" next
	"$HPCCPP" port change dev eth0 netns "$h1" dscp 5
	flow_start
	why empty cubic
}
fix_tunnel_on() { port_on "$s1" next; steered; }
after_tunnel_on() { flow_off; host_off "$h1"; host_off "$r"; }
break_alone() { flow_start; why no-agent hpccpp-reno; }
after_alone() { flow_off; "$HPCCPP" host del; }

flow_faults()
{
	local one
	topo_line 1 2
	new_netem "$s2" next limit 1000
	unset "ports[-1]"
	own_cgroup "$h1"
	own_cgroup "$r"
	args=(netns "$h1")
	watched=("$h1" "$s1" "$r")
	for one in "${flow_rows[@]}"; do
		row "$one"
	done
}

# A container on a macvlan, whose packets the host's device sends: its flows have telemetry.
container()
{
	local h1=$h1
	setup_ns pod
	ip -n "$h1" link add link eth0 name cx type macvlan mode bridge
	ip -n "$h1" link set cx netns "$pod" name eth0
	ip -n "$pod" -batch - <<-END
	link set lo up
	addr add 10.0.1.9/24 dev eth0
	link set eth0 up
	route add default via 10.0.1.2
	END
	port_off "$h1" eth0
	port_on "$h1" eth0
	h1=$pod
	host_on "$pod"
	host_on "$r"
	args=(netns "$pod")
	checked
	assert_eq "a container: port agents" "$(line "port agents" status)" note
	flow_start
	check "... its flow has telemetry" busywait 20 flow_is '.mode == "hpccpp"'
	checked
	assert_eq "... port agents" "$(line "port agents" status), $(line "port agents" found)" \
		"ok, on 0 queues; port agents elsewhere write telemetry for 1 of 1 flows"
	flow_off
}

# --- The run ---------------------------------------------------------------------------

port_faults
if [[ ${PLACE-} != vm ]]; then
	ktap_finish
fi
args=()
watched=("$peer")
for row in "${host_rows[@]}"; do
	row "$row"
done
flow_faults
container
ktap_finish
