# SPDX-License-Identifier: GPL-2.0
# Sourced by the tests and by scripts/demo/demo.sh: TAP, namespaces, the topology, the
# agents, transfers and their measurements.
#
# topo_line SENDERS SWITCHES makes this, every box a network namespace (a router):
#
#	h1 eth0 --- h1 .----.               .----.                .---.
#	h2 eth0 --- h2 | s1 | next --- prev | s2 | next --- eth0  | r |
#	h3 eth0 --- h3 '----'               '----'                '---'
#
# Senders' eth0 and all "next" run at $EDGE, but the "next" of switch $HOP at $RATE:
# the bottleneck. The way back has no shaping; the whole round trip's propagation
# is a netem at the receiver's eth0, which carries ACKs only and has no port agent.
# shellcheck shell=bash
# The tests use the variables set here; the variables of namespaces are set by name.
# shellcheck disable=SC2034,SC2154

top=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
HPCCPP_BIN=${HPCCPP_BIN:-$top/.build/bin}
HPCCPP=${HPCCPP:-$HPCCPP_BIN/hpccpp}

# Parameters of the topology; set them before topo_line.
RATE=${RATE:-200mbit}		# of the bottleneck
HOP=${HOP:-1}			# which switch has it
EDGE=${EDGE:-1gbit}
RTT_US=${RTT_US:-2000}		# without queues and serialisation
MTU=${MTU:-1500}
BUFFER=${BUFFER:-512kb}		# of the bottleneck
HOST_AGENT=${HOST_AGENT-}	# arguments of "hpccpp host add" after the cgroup
PORT_AGENT=${PORT_AGENT-}	# arguments of "hpccpp port add" after DEV and base-rtt
# In the lab's kernel eBPF programs cannot read a qdisc's counters, nor can "flow show" run.
flow_show=1
if [[ ${PLACE-} == uml ]]; then
	PORT_AGENT="queue virtual"
	flow_show=
fi
# Of all devices, for "ethtool -K". "default": as Linux has them, with GSO packets as long
# as it makes them. With anything else a packet has one segment.
OFFLOADS=${OFFLOADS:-tso off gso off gro off}

tmp=$(mktemp -d)
namespaces=()
ports=()			# "NETNS DEV" of each forward port, senders' NICs first
background=()
agents=				# set when agents_on has put one on $CGROUP
stamping=			# set when $ports have agents
edged=				# set when hosts alone have agents
module_loaded=
CGROUP=				# processes of in_ns go there, unless empty

# --- TAP ---------------------------------------------------------------------

ktap_planned=
ktap_run=0
ktap_passed=0
ktap_failed=0
ktap_skipped=0

ktap_plan() # N
{
	ktap_planned=$1
	echo "TAP version 13"
	echo "1..$1"
}

ktap_diag() { printf '# %s\n' "${*//$'\n'/$'\n# '}"; }

ktap_ok() # NAME
{
	echo "ok $((++ktap_run)) $1"
	: $((++ktap_passed))
}

ktap_not_ok() # NAME
{
	echo "not ok $((++ktap_run)) $1"
	: $((++ktap_failed))
}

ktap_skip() # NAME REASON
{
	echo "ok $((++ktap_run)) $1 # SKIP $2"
	: $((++ktap_skipped))
}

# Ends the test as skipped.
ktap_skip_all() # REASON
{
	echo "TAP version 13"
	echo "1..0 # SKIP $1"
	exit 4
}

# Ends the test. Without a plan, the plan is the number of results.
ktap_finish()
{
	if [[ -z $ktap_planned ]]; then
		ktap_planned=$ktap_run
		echo "1..$ktap_run"
	fi
	echo "# Totals: pass:$ktap_passed fail:$ktap_failed xfail:0 xpass:0 skip:$ktap_skipped error:0"
	if [[ $ktap_run -ne $ktap_planned ]]; then
		echo "# planned $ktap_planned tests, ran $ktap_run"
		exit 1
	fi
	[[ $ktap_failed -eq 0 ]] || exit 1
	[[ $ktap_passed -gt 0 ]] || exit 4
	exit 0
}

check() # NAME COMMAND...: ok when the command succeeds
{
	local name=$1 said
	shift
	if said=$("$@" 2>&1); then
		ktap_ok "$name"
	else
		ktap_not_ok "$name"
		ktap_diag "$* failed${said:+: $said}"
	fi
}

# value_holds VALUE OP BOUND: returns the result of the comparison. bash compares integers, because
# starting awk takes a tenth of a second in an emulated machine. Words can only be equal.
value_holds()
{
	local integer='^(0|-?[1-9][0-9]{0,17})$'
	if [[ $1 =~ $integer && $3 =~ $integer ]]; then
		# shellcheck disable=SC2219 # (( )) takes no operator in a variable
		let "$1 $2 $3"
	else
		awk -v a="$1" -v b="$3" -v op="$2" "BEGIN {
			number = \"^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$\"
			exit !(a \"\" != \"\" && (op == \"==\" || a ~ number && b ~ number) && a $2 b) }"
	fi
}

compare() # NAME VALUE OP BOUND UNIT
{
	local name="$1: $2${5:+ $5} ($3 $4)"
	if value_holds "$2" "$3" "$4"; then
		ktap_ok "$name"
	else
		ktap_not_ok "$name"
	fi
}

# says STATUS PATTERN COMMAND...: one test: the status, and that the message in $tmp/err contains
# the pattern, or is empty if that is ""
says()
{
	local status=0 want=$1 pattern=$2 said
	shift 2
	"$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	said=$(<"$tmp/err")
	# shellcheck disable=SC2053 # a pattern
	if [[ $status -eq $want && $said == ${pattern:+*}$pattern${pattern:+*} ]]; then
		ktap_ok "$*: $status, $said"
	else
		ktap_not_ok "$*: $status ($want), $pattern"
		ktap_diag "$(head -n 3 "$tmp/err")"
	fi
}

assert_le() { compare "$1" "$2" '<=' "$3" "${4-}"; } # NAME VALUE BOUND UNIT
assert_ge() { compare "$1" "$2" '>=' "$3" "${4-}"; }
assert_eq() { compare "$1" "$2" '==' "$3" "${4-}"; }

# cmocka PROGRAM: reports its tests, and one more: that the whole plan was run.
cmocka()
{
	local program=${1##*/} line planned=0 ran=0 status=0
	"$1" >"$tmp/out" 2>"$tmp/err" || status=$?
	while IFS= read -r line; do
		case $line in
		1..*)		planned=${line#1..} ;;
		'ok '*)		ran=$((ran + 1)); ktap_ok "$program: ${line#* - }" ;;
		'not ok '*)	ran=$((ran + 1)); ktap_not_ok "$program: ${line#* - }" ;;
		*)		ktap_diag "${line#\# }" ;;
		esac
	done <"$tmp/out"
	line="$program: ran $ran of $planned, status $status"
	if [[ $status -eq 0 && $planned -gt 0 && $ran -eq $planned ]]; then
		ktap_ok "$line"
	else
		ktap_not_ok "$line"
		ktap_diag "$(<"$tmp/err")"
	fi
}

# unit_tests PROGRAM...: builds these programs of selftests/Makefile and runs them. They are not
# optimised, because optimising takes ten times longer than running them.
unit_tests()
{
	local bin program
	bin=$(realpath -m "$HPCCPP_BIN")
	check "the programs are built" make -C "$top/selftests" O="$bin" \
		CFLAGS="-O0 -fstrict-aliasing -g -Werror" \
		"${@/#/$bin/}"
	for program; do
		cmocka "$bin/$program"
	done
}

# how_often SHORT LONG: LONG with LONG=1 (make check-long), else SHORT
how_often() { echo "${LONG:+$2 }$1" | cut -d' ' -f1; }

# make check runs the main cases of a test (CASES=main) and make check-all the others (rest).
# Otherwise all cases run, and both are true.
runs_main() { [[ ${CASES-} != rest ]]; }
runs_rest() { [[ ${CASES-} != main ]]; }

# copy_sources DIR: without what builds and editors leave beside them
copy_sources()
{
	mkdir -p "$1"
	( cd "$top" && find Kbuild Makefile kmod tools selftests scripts -type f \
		! -name '.*' ! -name '*.o' ! -name '*.ko' ! -name '*.mod' ! -name '*.mod.c' \
		! -name modules.order ! -name Module.symvers ! -path 'tools/build/*' \
		-exec cp --parents -t "$1" {} + )
}

# --- Start and end -----------------------------------------------------------

# nap: sleeps for 1 ms in the lab's kernel, and for 10 ms on this machine, whose CPUs other tests
# need. In a VM it returns at once: an idle guest's clock jumps, also while it waits for a file.
mkfifo "$tmp/never"
exec {never}<>"$tmp/never"
nap() { read -rt 0.01 -u "$never" || true; }
case ${PLACE-} in
uml)	nap() { read -rt 0.001 -u "$never" || true; } ;;
vm)	nap() { :; } ;;
esac

# busywait SECONDS COMMAND...: until it succeeds. It tries at least a hundred times a second: the
# clock of an idle VM runs ahead of a disc of a busy machine.
busywait()
{
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000)) tries=$(($1 * 100))
	shift
	until "$@" >/dev/null 2>&1; do
		if [[ $((tries -= 1)) -le 0 && ${EPOCHREALTIME/[.,]/} -ge $end ]]; then
			echo "# waited in vain: $*" >&2
			return 1
		fi
		nap
	done
}

# run_bg COMMAND...: in the background; its process is $! and dies with the test.
run_bg()
{
	"$@" &
	background+=($!)
}

# cleanup: first by at_end, if the test has such a function
cleanup()
{
	local status=$? process
	set +e
	trap - EXIT
	for process in "${background[@]}"; do
		kill "$process" 2>/dev/null
	done
	wait 2>/dev/null
	! declare -F at_end >/dev/null || at_end
	agents_off
	hosts_off
	topo_down
	if [[ -n $module_loaded ]]; then
		busywait 10 rmmod tcp_hpccpp || status=1
	fi
	rm -rf "$tmp"
	if [[ -n $ktap_planned && $ktap_run -lt $ktap_planned ]]; then
		# not "Bail out!", by which prove ends all other tests too
		ktap_not_ok "ended after test $ktap_run of $ktap_planned"
		[[ $status -ne 0 ]] || status=1
	fi
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# In the VM one CPU runs the links, the senders and the meter. Without these priorities the links
# lose some percent of their rate, and the meter misses ticks. Other kernels keep their priorities.
urgent=()
if [[ ${PLACE-} == vm ]]; then
	for process in $(pgrep ksoftirqd); do
		chrt -f -p 1 "$process"
	done
	urgent=(chrt -f 2)
fi

# load_hpccpp: returns false if there is no module; one that was built for this place has to load.
load_hpccpp()
{
	[[ ! -d /sys/module/tcp_hpccpp ]] || return 0
	if [[ -n ${HPCCPP_KO-} ]]; then
		insmod "$HPCCPP_KO" || exit 1
	else
		modprobe -q tcp_hpccpp || return
	fi
	module_loaded=1
}

# machine_agents -s|-x: tests run side by side, and eBPF programs have no namespace. A test that
# shows all agents takes -s, one that adds unreadable agents -x until machine_free.
machine_agents() { exec {machine}>/run/lock/hpccpp-selftests && flock "$1" "$machine"; }
machine_free() { exec {machine}>&-; }

# --- Namespaces --------------------------------------------------------------

# programs NS DEV ingress|egress: prints ids and names of the eBPF programs of tcx, if this kernel
# has it, and of a clsact, in their order; "0 error" if they cannot be read.
programs()
{
	nsenter --net="/run/netns/$1" "$HPCCPP_BIN/tcx" show "$2" "$3" || [[ $? -eq 4 ]] || echo "0 error"
	tc -n "$1" -j filter show dev "$2" "$3" |
		jq -r '.[].options.prog | select(.) | "\(.id) \(.name)"' || echo "0 error"
}

# setup_ns NAME...: each with a random suffix, and in the variable NAME.
setup_ns()
{
	local name suffix
	suffix=$(mktemp -u XXXXXX)
	for name; do
		printf -v "$name" '%s' "$name-$suffix"
		echo "netns add $name-$suffix"
		namespaces+=("$name-$suffix")
	done >"$tmp/batch"
	ip -batch "$tmp/batch"
}

# become_in NETNS COMMAND...: executes the command there, in the cgroup that has the host agent. "ip
# netns exec" would hide the cgroups and /sys/fs/bpf.
become_in()
{
	local cgroup=${cgroup_of[$1]-$CGROUP}
	[[ -z $cgroup ]] || echo "$BASHPID" >"$cgroup/cgroup.procs"
	exec nsenter --net="/run/netns/$1" "${@:2}"
}
in_ns() { ( become_in "$@" ); }
# in_ns_bg NETNS COMMAND...: the same in the background; $! is the command's process
in_ns_bg() { run_bg become_in "$@"; }

# make_cgroup: and from here on in_ns uses it.
make_cgroup()
{
	local root
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	CGROUP=$(mktemp -d "${root:?no cgroup2 is mounted}/hpccpp-XXXXXX")
}

# --- The topology ------------------------------------------------------------

# Addresses, by family: ${addr4[NAME]} and ${addr6[NAME]}, NAME as in the picture.
declare -A addr4 addr6 devices ip_batch tc_batch

# link ID NETNS DEV PEER-NETNS PEER-DEV SUBNET: a veth whose ends have the addresses 1 and 2 of
# 10.SUBNET.0/24 and static neighbour entries.
link()
{
	local ns=("$2" "$4") dev=("$3" "$5") i j
	local mac segs="gso_max_segs 1"
	[[ $OFFLOADS != default ]] || segs=
	mac=$(printf '02:00:00:00:%02x:0' "$1")

	echo "link add name ${dev[0]} netns ${ns[0]} address ${mac}1 mtu $MTU $segs type veth" \
		"peer name ${dev[1]} netns ${ns[1]} address ${mac}2 mtu $MTU $segs" >>"$tmp/links"
	for i in 0 1; do
		j=$((1 - i))
		devices[${ns[i]}]+=" ${dev[i]}"
		ip_batch[${ns[i]}]+="link set dev ${dev[i]} addrgenmode none
link set dev ${dev[i]} up
addr add 10.$6.$((i + 1))/24 dev ${dev[i]}
addr add fd00:${6/./:}::$((i + 1))/64 dev ${dev[i]} nodad
neigh add 10.$6.$((j + 1)) lladdr $mac$((j + 1)) nud permanent dev ${dev[i]}
neigh add fd00:${6/./:}::$((j + 1)) lladdr $mac$((j + 1)) nud permanent dev ${dev[i]}
"
	done
}

route() # NETNS DESTINATION4 DESTINATION6 SUBNET HOST: via that host of SUBNET
{
	ip_batch[$1]+="route add $2 via 10.$4.$5
route add $3 via fd00:${4/./:}::$5
"
}

# With room for two packets, the timer may be late by one without the link losing rate.
shape() # NETNS DEV RATE LIMIT
{
	tc_batch[$1]+="qdisc add dev $2 root handle 1: tbf rate $3 burst $((2 * (MTU + 14))) limit $4
"
	ports+=("$1 $2")
}

offloads() # NETNS DEV FEATURE on|off...
{
	nsenter --net="/run/netns/$1" ethtool -K "${@:2}" >"$tmp/ethtool"
}

set_offloads() # NETNS
{
	local dev
	[[ $OFFLOADS != default ]] || return 0
	for dev in ${devices[$1]}; do
		# shellcheck disable=SC2086 # a list
		offloads "$1" "$dev" $OFFLOADS
	done
}

# topo_begin NAME...: makes namespaces; topo_up then makes what link, route and shape add. The
# caller sets addr4[NAME] and addr6[NAME].
topo_begin()
{
	declare -gA addr4=() addr6=() devices=() ip_batch=() tc_batch=()
	: >"$tmp/links"
	setup_ns "$@"
}

topo_up()
{
	local ns
	ip -batch "$tmp/links"
	for ns in "${!ip_batch[@]}"; do
		# shellcheck disable=SC2086 # a list
		nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.ip_forward=1 \
			net.ipv6.conf.all.forwarding=1 net.ipv4.tcp_no_metrics_save=1 \
			net.ipv4.tcp_wmem="4096 131072 16777216" \
			net.ipv4.tcp_rmem="4096 131072 16777216" ${SYSCTLS-}
		ip -n "$ns" -batch - <<<"link set dev lo up
${ip_batch[$ns]}"
		tc -n "$ns" -batch - <<<"${tc_batch[$ns]-}"
		set_offloads "$ns"
	done
}

# round_trip NETNS DEV: its whole propagation, at a receiver's device
round_trip() { tc_batch[$1]+="qdisc add dev $2 root netem delay ${RTT_US}us limit 100000"$'\n'; }

topo_line() # SENDERS SWITCHES
{
	local senders=${1:?topo_line SENDERS SWITCHES} switches=${2:?topo_line SENDERS SWITCHES}
	local i ns dev rate

	# shellcheck disable=SC2046 # words
	topo_begin $(seq -f h%g "$senders") $(seq -f s%g "$switches") r
	for ((i = 1; i <= senders; i++)); do
		ns=h$i
		link "$i" "${!ns}" eth0 "$s1" "h$i" "0.$i"
		addr4[$ns]=10.0.$i.1
		addr6[$ns]=fd00:0:$i::1
		route "${!ns}" default default "0.$i" 2
		shape "${!ns}" eth0 "$EDGE" 4mb
	done
	for ((i = 1; i <= switches; i++)); do
		ns=s$i
		if [[ $i -lt $switches ]]; then
			dev=s$((i + 1))
			link $((100 + i)) "${!ns}" next "${!dev}" prev "1.$i"
			route "${!ns}" default default "1.$i" 2
			route "${!dev}" 10.0.0.0/16 fd00::/32 "1.$i" 1
		else
			link $((100 + i)) "${!ns}" next "$r" eth0 "1.$i"
			addr4[r]=10.1.$i.2
			addr6[r]=fd00:1:$i::2
			route "$r" default default "1.$i" 1
		fi
		rate=$EDGE
		[[ $i -ne $HOP ]] || rate=$RATE
		shape "${!ns}" next "$rate" "$BUFFER"
	done
	round_trip "$r" eth0
	topo_up
	bottleneck_ns=s$HOP
	bottleneck_ns=${!bottleneck_ns}
}

topo_down()
{
	local ns
	for ns in "${namespaces[@]}"; do
		ip netns del "$ns"
	done
	namespaces=()
	ports=()
	stamping=
	edged=
}

# new_netem NETNS DEV ARGUMENT...: replaces the root qdisc, as a change would keep some settings
new_netem()
{
	tc -n "$1" -batch - <<-END
		qdisc del dev $2 root
		qdisc add dev $2 root netem ${*:3}
	END
}

# bottleneck_queue KIND ARGUMENTS...: sets the qdisc below the bottleneck's tbf
bottleneck_queue() { tc -n "$bottleneck_ns" qdisc replace dev next parent 1:1 "$@"; }

# --- Agents ------------------------------------------------------------------

port_on() # NETNS DEV [OPTION...]
{
	# shellcheck disable=SC2086 # a list
	"$HPCCPP" port add dev "$2" netns "$1" base-rtt "${RTT_US}us" $PORT_AGENT "${@:3}"
}
port_off() { "$HPCCPP" port del dev "$2" netns "$1"; } # NETNS DEV

all_ports() # COMMAND: port_on or port_off, for each forward port
{
	local port
	for port in "${ports[@]}"; do
		# shellcheck disable=SC2086 # two words
		"$1" $port
	done
}
# Agents on all forward ports, and off; they also go with the namespaces.
ports_on() { stamping=1; all_ports port_on; }
ports_off() { stamping=; all_ports port_off; }

# Host agent on the cgroup of all in_ns, a port agent on each forward port.
agents_on()
{
	[[ -n $CGROUP ]] || make_cgroup
	# shellcheck disable=SC2086 # a list
	"$HPCCPP" host add cgroup "$CGROUP" $HOST_AGENT
	agents=host
	ports_on
}

# edges_on RATE: a host agent on the same cgroup, and port agents on hosts alone: on egress of each
# sender, and on ingress of the receiver, whose link has this rate
edges_on()
{
	local port
	[[ -n $CGROUP ]] || make_cgroup
	"$HPCCPP" host add cgroup "$CGROUP"
	agents=host
	edged=1
	for port in "${ports[@]}"; do
		[[ $port != h* ]] || port_on "${port% *}" eth0 edge
	done
	ingress_on "$1"
}
ingress_on() # RATE
{
	"$HPCCPP" port add dev eth0 netns "$r" ingress rate "$1" base-rtt "${RTT_US}us"
}

edges_off()
{
	local port
	edged=
	for port in "${ports[@]}"; do
		[[ $port != h* ]] || port_off "${port% *}" eth0
	done
	"$HPCCPP" port del dev eth0 netns "$r" ingress
}

agents_off()
{
	[[ -z $stamping ]] || ports_off
	[[ -z $edged ]] || edges_off
	[[ -z $agents ]] || "$HPCCPP" host del cgroup "$CGROUP"
	agents=
	if [[ -n $CGROUP ]]; then
		# A process that has just ended may still be counted.
		busywait 5 rmdir "$CGROUP"
		CGROUP=
	fi
}

# --- Traffic -----------------------------------------------------------------

listening() { [[ -n $(ss -N "$1" -Hln"${3-t}" "sport = :$2") ]]; } # NETNS PORT [t|u]

# no_sockets NETNS [FILTER]: none is left, except in TIME_WAIT
no_sockets() { [[ -z $(ss -N "$1" -Htn exclude time-wait "${@:2}") ]]; }

next_port=5000

# start_server NETNS PORT COMMAND...: in the background; returns when it listens, $! is its process
start_server()
{
	in_ns_bg "$1" "${@:3}"
	busywait 10 listening "$1" "$2"
}
xfer_server() { start_server "$1" "$2" "$HPCCPP_BIN/xfer" "${@:3}" listen "$2"; } # NETNS PORT OPTION...

# tcp_send FROM TO ADDRESS CLIENT-OPTIONS [SERVER-OPTIONS]: one transfer by xfer, options as one
# word each. Returns true if both ends received all data unharmed; sets client and server to their JSON.
# Runs the command in $at_listen, if any, when the server listens.
tcp_send()
{
	local port=$((next_port++)) listener sent received
	local counts='"sent": ([0-9]+), "received": ([0-9]+), "intact": true,'
	# shellcheck disable=SC2086 # lists
	xfer_server "$2" "$port" ${5-} >"$tmp/server" || return
	listener=$!
	# shellcheck disable=SC2086
	${at_listen-} || return
	# shellcheck disable=SC2086
	client=$(in_ns "$1" "$HPCCPP_BIN/xfer" ${4-} connect "$3" "$port") || return
	wait "$listener" || return
	server=$(<"$tmp/server")
	[[ $client =~ $counts ]] || return
	sent=${BASH_REMATCH[1]} received=${BASH_REMATCH[2]}
	[[ $server =~ $counts && ${BASH_REMATCH[1]} -eq $received && ${BASH_REMATCH[2]} -eq $sent ]]
}

# sent_intact NAME TCP_SEND-ARGUMENT...: one test of a transfer, which sets client and server
sent_intact()
{
	if tcp_send "${@:2}" 2>"$tmp/said"; then
		ktap_ok "$1: data intact"
	else
		ktap_not_ok "$1: data intact"
		ktap_diag "$(<"$tmp/said")"
	fi
}

# flow_start: one flow from h1 to r in the background, until flow_end; to the address in
# $flow_to, if any
flow_start()
{
	local port=$((next_port++))
	xfer_server "$r" "$port" >"$tmp/server"
	receiver=$!
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c hpccpp -t 600 \
		connect "${flow_to-${addr4[r]}}" "$port" >"$tmp/client"
	sender=$!
}

flow_end() # NAME: one test
{
	local status=0
	kill "$sender"
	wait "$sender" && wait "$receiver" || status=1
	check "$1: data intact" jq -e -s \
		"$status == 0 and .[0].sent == .[1].received" "$tmp/client" "$tmp/server"
}

flow_is() # JQ-CONDITION: of the one flow of h1
{
	"$HPCCPP" -j flow show netns "$h1" >"$tmp/flow" &&
		jq -e "length == 1 and (.[0] | $1)" "$tmp/flow"
}

# flow_tests NUMBER COMMAND...: so many tests, by the command, that need flow show
flow_tests()
{
	local i
	if [[ -n $flow_show ]]; then
		"${@:2}"
		return
	fi
	for ((i = 0; i < $1; i++)); do
		ktap_skip "${*:2}" "this kernel cannot run the eBPF of flow show"
	done
}

# --- Counters ----------------------------------------------------------------

snmp() # NETNS NAME, as nstat calls it
{
	nsenter --net="/run/netns/$1" nstat -az "$2" | awk -v name="$2" '$1 == name { print $2 }'
}

counter() # NETNS NAME: of the module
{
	local name value
	while read -r name value; do
		[[ $name != "$2" ]] || echo "$value"
	done < <(exec nsenter --net="/run/netns/$1" cat /proc/net/hpccpp)
}

reaches() { [[ $(counter "$1" "$2") -ge $3 ]]; } # NETNS NAME VALUE

# rises NETNS NAME N [SECONDS]: waits until the counter is N more than now
rises() { busywait "${4-20}" reaches "$1" "$2" $(($(counter "$1" "$2") + $3)); }

# port_stat NETNS DEV JQ: of the counters of the port agent
port_stat() { "$HPCCPP" -j port show dev "$2" netns "$1" | jq -r ".[0].stats | $3"; }

# --- Measuring ---------------------------------------------------------------

# meter_start [PROBE-ADDRESS]: measures the bottleneck's queue into $tmp/queue.csv and, with an
# address of the receiver, round trips from h1 to it into $tmp/rtt.csv.
meter_start()
{
	local probe=()
	if [[ $# -gt 0 ]]; then
		in_ns_bg "$r" "${urgent[@]}" "$HPCCPP_BIN/meter" echo 7
		echo_process=$!
		busywait 10 listening "$r" 7 u
		probe=(probe "$h1" "$1" 7 "$tmp/rtt.csv")
	fi
	rm -f "$tmp"/{queue,rtt}.csv
	run_bg "${urgent[@]}" "$HPCCPP_BIN/meter" queue "$bottleneck_ns" next \
		"$tmp/queue.csv" "${probe[@]}"
	meter_process=$!
}

meter_stop()
{
	kill "$meter_process"
	wait "$meter_process"
	if [[ -n ${echo_process-} ]]; then
		kill "$echo_process"
		wait "$echo_process" 2>/dev/null || true
		echo_process=
	fi
}

# since_first_data SECONDS: keeps meter's samples since the first millisecond in which 4 KB left.
since_first_data()
{
	local first file
	first=$(awk -F, 'NR > 2 && $4 - sent >= 4096 { print $1; exit } { sent = $4 }' \
		"$tmp/queue.csv")
	for file in queue rtt; do
		awk -F, -v OFS=, -v first="${first:?no data left}" -v seconds="$1" '
			NR > 1 { $1 = sprintf("%.6f", $1 - first) }
			NR == 1 || ($1 >= 0 && $1 <= seconds)' "$tmp/$file.csv" >"$tmp/since"
		mv "$tmp/since" "$tmp/$file.csv"
	done
}

percentile() # P: of the numbers on stdin, one a line
{
	sort -n | awk -v p="$1" '
		{ v[NR] = $1 }
		END { i = int(NR * p / 100 + .999999); print v[i < 1 ? 1 : i] }'
}

# queue_between FROM TO: sets mean_bytes, mean_packets, p99_bytes, p99_packets, drops and sent_bps
# (on the wire) from meter's samples in that time.
queue_between()
{
	awk -F, -v from="$1" -v to="$2" 'NR > 1 && $1 + 0 >= from && $1 + 0 <= to' \
		"$tmp/queue.csv" >"$tmp/window"
	p99_bytes=$(cut -d, -f2 "$tmp/window" | percentile 99)
	p99_packets=$(cut -d, -f3 "$tmp/window" | percentile 99)
	read -r mean_bytes mean_packets drops sent_bps < <(awk -F, '
		NR == 1 { t = $1; sent = $4; drops = $6 }
		{ bytes += $2; packets += $3 }
		END {
			printf "%.0f %.2f %d %.0f\n", bytes / NR, packets / NR, $6 - drops,
				($4 - sent) * 8 / ($1 - t)
		}' "$tmp/window")
}

# Prints seconds since boot, and seconds in which CPUs idled or waited for files.
uptime_idle()
{
	local up idle iowait
	read -r up _ </proc/uptime
	read -r _ _ _ _ idle iowait _ </proc/stat
	echo "$up" "$((idle + iowait))e-2"
}

# measure_flows CC FAMILY FLOWS SECONDS: one iperf3 flow from each of the first FLOWS senders. CC
# may name a congestion control for each flow; the last one applies to all further flows. Sets
#	mean_bytes mean_packets p99_bytes p99_packets sent_bps drops
#	late_drops	those after the first two round trips
#	rtt_p50 rtt_p99	us, of the probes
#	probes_lost
#	goodput_bps	of all flows, over their lifes
#	jain		of the flows' goodputs in the second half
#	idle		fraction of the CPUs
measure_flows()
{
	local congctl flows=$3 seconds=$4 address=${addr4[r]} i host server=() client=() files=()
	local up0 idle0 up1 idle1
	read -ra congctl <<<"$1"

	[[ $2 == ipv4 ]] || address=${addr6[r]}
	for ((i = 1; i <= flows; i++)); do
		files+=("$tmp/server$i")
		start_server "$r" $((5200 + i)) iperf3 -s -1 -J -i 0.1 -p $((5200 + i)) >"$tmp/server$i"
		server[i]=$!
	done
	meter_start "$address"
	read -r up0 idle0 < <(uptime_idle)
	for ((i = 1; i <= flows; i++)); do
		host=h$i
		in_ns_bg "${!host}" iperf3 -J -i 0 -c "$address" -p $((5200 + i)) \
			-t "$seconds" -C "${congctl[i - 1]-${congctl[-1]}}" >"$tmp/client$i"
		client[i]=$!
	done
	for ((i = 1; i <= flows; i++)); do
		if ! wait "${client[i]}"; then
			jq -r .error "$tmp/client$i" >&2
			return 1
		fi
	done
	read -r up1 idle1 < <(uptime_idle)
	wait "${server[@]}"
	meter_done "$seconds"
	idle=$(awk "BEGIN { printf \"%.3f\", ($idle1 - $idle0) / ($up1 - $up0) / $(nproc) }")

	sed 1d "$tmp/rtt.csv" | cut -d, -f2 >"$tmp/rtts"
	probes_lost=$(grep -c '^-1' "$tmp/rtts" || true)
	rtt_p50=$(grep -v '^-1' "$tmp/rtts" | percentile 50)
	rtt_p99=$(grep -v '^-1' "$tmp/rtts" | percentile 99)
	read -r goodput_bps jain < <(jq -r -s --argjson seconds "$seconds" '
		(map(.end.sum_received.bits_per_second) | add | floor) as $all |
		[.[].intervals | map(.sum | select(.start >= $seconds / 2).bytes) | add] |
		((add | . * .) / (map(. * .) | add) / length) as $jain |
		"\($all) \($jain * 1e4 | round / 1e4)"' "${files[@]}")
}

# meter_done SECONDS: ends the measurement, and sets what queue_between does, and late_drops
meter_done()
{
	meter_stop
	since_first_data "$1"
	queue_between "$(awk "BEGIN { print 2 * $RTT_US / 1e6 }")" "$1"
	late_drops=$drops
	queue_between 0 "$1"
}

# --- Ends with an agent each -------------------------------------------------

# By namespace: the cgroup of its processes instead of $CGROUP, and whether it has an agent
declare -A cgroup_of=() agent_of=()

own_cgroup() # NETNS: makes a cgroup for the processes of in_ns there, once
{
	local CGROUP
	[[ -z ${cgroup_of[$1]-} ]] || return 0
	make_cgroup
	cgroup_of[$1]=$CGROUP
}

host_on() # NETNS [AGENT-OPTIONS...]
{
	own_cgroup "$1"
	"$HPCCPP" host add cgroup "${cgroup_of[$1]}" "${@:2}"
	agent_of[$1]=on
}

host_off() # NETNS
{
	[[ -z ${agent_of[$1]-} ]] || "$HPCCPP" host del cgroup "${cgroup_of[$1]}"
	unset "agent_of[$1]"
}

hosts_off()
{
	local ns
	for ns in "${!cgroup_of[@]}"; do
		host_off "$ns"
		busywait 5 rmdir "${cgroup_of[$ns]}"
	done
	cgroup_of=()
}

host_stat() # NETNS NAME...: counters of the host agent, one a line; without jq, see value_holds()
{
	local json name
	json=$("$HPCCPP" -j host show cgroup "${cgroup_of[$1]}")
	for name in "${@:2}"; do
		[[ $json =~ \"$name\":([0-9]+) ]] || return
		echo "${BASH_REMATCH[1]}"
	done
}

# --- Manual pages ------------------------------------------------------------

# items PAGE MARK: the items of the list after that comment, one a line
items()
{
	mark=".\\\" $2" awk '
		$0 == ENVIRON["mark"] { on = 1; next }
		on && /^\.El/ { exit }
		on && /^\.It / { sub(/^\.It (Va )?/, ""); print }' "$1"
}

# key_types PAGE MARK: the keys of such a list, each with its type, the first word of the next line
key_types()
{
	mark=".\\\" $2" awk '
		$0 == ENVIRON["mark"] { on = 1; next }
		on && /^\.El/ { exit }
		on && /^\.It / { key = $3; getline; sub(/[^a-z].*/, ""); print key, $0 }' "$1"
}

# printed: the words on stdin, one a line, with N in place of numbers, addresses and anything else
# that differs from run to run. Drops backslashes at the ends of lines.
printed()
{
	sed -E 's/\\$//; s/[0-9][0-9.]*(e-?[0-9]+)?/N/g; s/N[KMGT]?bit/Nbit/g; s/N[KMG]b\>/Nb/g; s/N(us|ms|s)\>/Ns/g
		s#/sys/fs/cgroup/[^ ]*#/sys/fs/cgroup/N#' | tr -s ' \t\n' '\n' | sed '/^$/d'
}

# shellcheck source-path=SCRIPTDIR source=wire.sh
. "$top/selftests/lib/wire.sh"
