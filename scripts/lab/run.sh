#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Inside the lab: one run of a scenario. bench.sh starts it, with a line of plan.sh.
#
#	run.sh SCENARIO NAME KEY=VALUE...
#
# Leaves in $RESULTS/NAME/ what measure.sh reads:
#
#	meta.json	what was run, on what
#	port		"NETNS DEV" of the bottleneck, as /proc/lablink has them
#	flows		what tgen says of each connection
#	ways		what testbed says of the ports that each flow goes by, of generated flows
#	links		/proc/lablink, of the time that is measured
#	queue		each change of the bottleneck's queue
#	rates		"ns flow bytes", what each connection has received
#	updates		each hpccpp:hpccpp_update, with its time
#	zero		what its clock says at time 0 of the run, ns
#
# Most scenarios have N hosts that send to one:
#
#	h1 ---.
#	h2 --- s1 --- r1	all links alike; the queue is s1's towards r1
#	hN ---'
#
# The base RTT is that of a full packet and its ACK through empty queues.
set -euo pipefail

[[ $# -ge 2 ]] || { echo "usage: run.sh SCENARIO NAME KEY=VALUE..." >&2; exit 2; }
scenario=$1 name=$2
shift 2

# What a run may be told, and what it is when it is not.
declare -A p=(
	[cc]=hpccpp	# congestion control; hpccpp-full: with two records, all that
			# fits: the two most loaded hops; hpccpp-rx: mode=receiver;
			# dctcp-k20: mark=20, 30 KB, as in the HPCC paper's simulations;
			# dctcp-dualpi2: queue=dualpi2, and hosts use AccECN
	[flows]=1
	[mbit]=100000	# of the links
	[rtt]=8		# base RTT, us
	[mtu]=1500
	[mark]=0	# K: packets in a queue of 10 Gbit/s above which it marks, more
			# of them in proportion; 0: as DCTCP's authors say, for it alone
	[queue]=fifo	# what packets wait in at switches; dualpi2: two queues, of packets
			# with ECT and without, and the step is the time that K takes (without a K: 1 ms)
	[n]=64		# net.hpccpp.flows: the N of W_ai
	[stage]=5 [eta]=95
	[share]=1	# net.hpccpp.share
	[offloads]=yes	# hosts have TSO, as Linux' do; no: they send segments
	[host]=fifo	# what packets wait in on hosts: fq, which serves flows in turn, and
			# holds packets back for TCP; or fifo, and TCP holds them back
	[segs]=0	# of a packet of the first host, at most; 0: as many as of others
	[overhead]=0	# bytes that the wire carries with each frame
	[every]=rtt	# how hosts ask: by the round trip, or in one of so many packets
	[respond]=0	# percent of load from which switches send INT responses; 0: none
	[prio]=0	# 1: links let control packets, as these, pass what waits
	[probe]=0	# net.hpccpp.probe
	[busy]=0	# flows without end beside those that resume
	[mode]=sender	# who computes the window and gets responses, or receiver
	[buffer]=32000000
	[ms]=0		# how long, if not for as long as the scenario takes
	[size]=0	# bytes of a flow
	[messages]=1	# of each sender
	[other]=none	# who shares the port; bare, marks: nobody, it has no agent
	[key]=0		# 1: echoes are signed, and have to be
	[hop]=100	# of a last link without a port agent: rate, percent of the others'
	[packets]=0	# ... and packets that may wait there
	[told]=most	# ... beside a port agent at each other link, at senders' (nics), or none;
			# or percent of all ports that have one
	[lag]=0		# us by which the receiver's ACKs are later
	[steps]=1	# ... after so many steps
	[jitter]=0	# ... and by so much more or less, evenly
	[tail]=none	# ... or by that distribution of netem's
	[lie]=none	# what the second flow hears of its path: idle, full
	[load]=0 [sizes]=none	# of hosts, percent; distribution of flow sizes
	[conns]=4	# that a host keeps to each other, of rpc
	[shape]=none	# of a network
	[hops]=4	# slow links of a parking lot
	[iw]=0		# packets that a flow begins with; 0: Linux' 10, or what telemetry allows
	[far]=1		# base RTT of all hosts but the first, times rtt
	[seed]=1	# of the traffic, and of jitter
	[updates]=0	# 1: trace hpccpp's updates in any scenario
)
for word; do
	key=${word%%=*}
	[[ $word == *=* && -v p[$key] ]] || { echo "$name: unknown '$word'" >&2; exit 2; }
	p[$key]=${word#*=}
done
[[ ${p[segs]} == 0 || ${p[offloads]} == yes ]] || { echo "$name: segs needs offloads=yes" >&2; exit 2; }
cc=${p[cc]%-*}
[[ ${p[cc]} != *-rx ]] || p[mode]=receiver
[[ ${p[cc]} != *-dualpi2 ]] || p[queue]=dualpi2
[[ ! ${p[cc]} =~ -k([0-9]+)$ ]] || p[mark]=${BASH_REMATCH[1]}
flows=${p[flows]} mbit=${p[mbit]} rtt=${p[rtt]} mtu=${p[mtu]}
rtt_ns=$((rtt * 1000))
wire=$((mtu + 14 + p[overhead]))
lab=$HPCCPP_LAB
out=$RESULTS/$name
rm -rf "$out"
mkdir -p "$out"

# True if hosts ask for marks, and the bottleneck sets them.
[[ ${p[mark]} != 0 || ! " $cc ${p[other]} " =~ " "(dctcp|marks)" " ]] || p[mark]=65
marks() { [[ ${p[mark]} != 0 ]]; }
mark() { echo $((p[mark] * wire * $1 / 10000)); } # MBIT

# somebody's own congestion control (bench.sh)
is_own() { [[ -n ${OWN-} && $1 == "$OWN" ]]; }

# Of a star's links: four times it, twice a packet's and an ACK's time to go out.
star_delay()
{
	local ns=$(((rtt_ns - 2 * 8000 * (wire + 66) / mbit) / 4))
	((ns >= 0)) || { echo "$name: no such RTT at this rate" >&2; exit 2; }
	echo "$ns"
}

# network TOPOLOGY... [KEY VALUE...]: with what the congestion control asks for.
network()
{
	local args=(mtu "$mtu" offloads "${p[offloads]}" rto_min_us 5000 prio "${p[prio]}" overhead "${p[overhead]}"
		host_queue "${p[host]}" queue "${p[queue]}") shape=() ecn=1
	while [[ $# -gt 0 && $1 =~ ^([0-9]+|star|dumbbell|parking|leafspine|clos|graph)$ ]]; do
		shape+=("$1")
		shift
	done
	# IPv6's least MTU
	[[ $mtu -ge 1280 ]] || args+=(ipv6 no)
	[[ ${p[queue]} != dualpi2 ]] || ecn=3
	! marks || args+=(ecn "$ecn")
	if [[ $cc == hpccpp ]]; then
		args+=(sysctl "net.hpccpp.flows=${p[n]}" sysctl "net.hpccpp.max_stage=${p[stage]}"
			sysctl "net.hpccpp.eta=${p[eta]}" sysctl "net.hpccpp.probe=${p[probe]}"
			sysctl "net.hpccpp.share=${p[share]}")
	fi
	# A limit of all namespaces together, made for a machine that is one host.
	sysctl -qw net.ipv4.tcp_mem="4000000 4000000 4000000" fs.file-max=4000000 fs.nr_open=2000000
	insmod "$lab/link/sch_lablink.ko"
	insmod "$HPCCPP_KO"
	if is_own "$cc" || is_own "${p[other]}"; then
		insmod "$OWN_KO"
		for sysctl in ${OWN_SYSCTLS-}; do
			args+=(sysctl "$sysctl")
		done
	fi
	for congctl in "$cc" "${p[other]}"; do
		[[ $congctl =~ ^(none|bare|marks)$ ]] ||
			grep -qw -- "$congctl" /proc/sys/net/ipv4/tcp_available_congestion_control || {
			echo "$name: this kernel has no congestion control '$congctl' (it has: $(
				cat /proc/sys/net/ipv4/tcp_available_congestion_control))" >&2
			exit 2
		}
	done
	"$lab/testbed" up "${shape[@]}" "${args[@]}" "$@"
	[[ ${p[segs]} == 0 ]] || ip -n h1 link set dev eth0 gso_max_segs "${p[segs]}"
}

# agents [SKIP]: the host agent for all, a port agent at each port but "NETNS DEV"s
# that match SKIP, or, where "told" is a number, at as many of a hundred, of all kinds. Link ids
# are as "testbed ports all" lists them, from 1. Who sends responses has an address for it.
agents()
{
	local args=() id=0 ns dev rate port
	[[ ${p[cc]} != *-full ]] || args+=(records 2)
	args+=(every "${p[every]}")
	[[ ${p[mode]} == sender ]] || args+=(mode "${p[mode]}")
	[[ $cc == hpccpp ]] || return 0
	if [[ ${p[key]} == 1 ]]; then
		( umask 077; echo 000102030405060708090a0b0c0d0e0f >/tmp/key )
		args+=(key-file /tmp/key require)
	fi
	"$HPCCPP" host add cgroup /sys/fs/cgroup "${args[@]}"
	while read -r ns dev rate; do
		: $((++id))
		[[ -z ${1-} || ! "$ns $dev" =~ $1 ]] || continue
		[[ ! ${p[told]} =~ ^[0-9]+$ ]] || ((id * 37 % 100 < p[told])) || continue
		port=()
		if [[ ${p[respond]} != 0 && $ns == [hr]* ]]; then
			port=(accept 192.168.0.0/16)
		elif [[ ${p[respond]} != 0 ]]; then
			ip -n "$ns" addr add "192.168.$((id / 256)).$((id % 256))/32" dev "$dev"
			port=(respond "${p[respond]}" respond-to "${p[mode]}" limit 1000000)
		fi
		"$HPCCPP" port add dev "$dev" netns "$ns" rate "${rate}bit" overhead "${p[overhead]}" queue virtual \
			id "$id" base-rtt "${rtt}us" "${port[@]}"
	done < <("$lab/testbed" ports all)
}

# star HOSTS [KEY VALUE]...: one, and where its queue is.
star()
{
	local k=()
	! marks || k=(mark "$(mark "$mbit")")
	network star "$1" rate "${mbit}m" delay_ns "$(star_delay)" buffer "${p[buffer]}" \
		"${k[@]}" "${@:2}"
	port s1 "p$(($1 + 1))"
}

address() { nsenter --net="/run/netns/$1" ip -4 -o addr show scope global | sed -E 's/.* inet ([0-9.]+).*/\1/'; } # HOST

port() { echo "$(stat -Lc %i "/run/netns/$1") $2" >"$out/port"; } # NETNS DEV

# tgen OPTION... <FLOWS: with what it leaves.
run_flows()
{
	local trace=/sys/kernel/tracing
	cat >/tmp/flows
	if [[ $cc == hpccpp && ${p[updates]} != 0 ]]; then
		echo 600000 >$trace/buffer_size_kb
		echo mono >$trace/trace_clock
		echo 1 >$trace/events/hpccpp/hpccpp_update/enable
	fi
	"$lab/tgen" -l "$out/links" -z "$out/zero" "$@" /tmp/flows >"$out/flows"
	if [[ $cc == hpccpp && ${p[updates]} != 0 ]]; then
		echo 0 >$trace/events/hpccpp/hpccpp_update/enable
		sed -n -E 's/^.* ([0-9]+\.[0-9]+): hpccpp_update: /time=\1 /p' $trace/trace >"$out/updates"
	fi
	[[ -e $out/links ]] || cat /proc/lablink >"$out/links"
	cat /proc/lablink_trace >"$out/queue"
	[[ -s $out/queue ]] || rm "$out/queue"
}

# --- the scenarios -----------------------------------------------------------

# Flows without end. What is measured is the second half.
scenario_long()
{
	local hosts=$((flows < 100 ? flows : 100)) end=$((p[ms] * 1000000)) i
	# 2000 round trips, and 20 ms at least, for flows to settle and be counted
	((end)) || end=$((rtt * 2000 * 1000 > 20000000 ? rtt * 2000 * 1000 : 20000000))
	star "$hosts" port s1 r1 trace 20000
	agents
	case ${p[lie]} in
	none)	;;
	idle)	lie h2 0 0x123456 ;;
	full)	lie h2 0xff 0x123456 ;;
	*)	echo "$name: lie '${p[lie]}'?" >&2; exit 2 ;;
	esac
	# Not all at once: a start each 1.7 us.
	for ((i = 0; i < flows; i++)); do
		echo "$(((i + 1) * 1700)) h$((i % hosts + 1)) r1 - $end $cc"
	done | run_flows -w $((end / 2)):$end -e $end
}

scenario_sparse() { scenario_long; }
scenario_sweep() { scenario_long; }
scenario_rx() { scenario_long; }
scenario_flows-n() { scenario_long; }
scenario_integrity() { scenario_long; }

# Flow 1; 2 joins; 1 leaves. Then, with more, they join and leave one by one.
scenario_step()
{
	local gap=$((p[ms] ? p[ms] * 500000 / flows : rtt_ns * (flows == 2 ? 600 : 150))) i end
	star "$flows" port s1 r1 trace 8000000
	agents
	end=$((2 * flows * gap))
	: >"$out/events"
	for ((i = 1; i <= flows; i++)); do
		echo "$((i * gap)) h$i r1 - $(((flows + i) * gap)) $cc"
		((i == 1)) || echo "join $((i * gap)) $((i - 1))" >>"$out/events"
		((i == flows)) || echo "leave $(((flows + i) * gap)) $((i - 1))" >>"$out/events"
	done >/tmp/list
	sort -n -k 2 -o "$out/events" "$out/events"
	run_flows -w "$rtt_ns:$end" -e $end -i "$rtt_ns" -s "$out/rates" </tmp/list
}

# All send at once: a start each 100 ns.
scenario_incast()
{
	local i
	star "$flows" port s1 r1 trace 8000000
	agents
	for ((i = 1; i <= flows; i++)); do
		echo "$((100000 + i * 100)) h$i r1 ${p[size]} $cc"
	done | run_flows -w 1000:- -e 3000000000 -i 20000 -s "$out/rates"
}

scenario_int-response()
{
	p[updates]=1
	scenario_incast
}

# One by one they send to r1, alone. Then others come who stay; and when these have
# settled all resume at once.
scenario_probe()
{
	local i again=12000000 end=20000000
	star $((flows + p[busy])) port s1 r1 trace 8000000
	agents
	echo "resume $again" >"$out/events"
	for ((i = 1; i <= flows; i++)); do
		echo "$((i * 100000)) h$i r1 ${p[size]}@$again $cc"
	done >/tmp/list
	for ((i = 1; i <= p[busy]; i++)); do
		echo "$((4000000 + i * 1700)) h$((flows + i)) r1 - $end $cc"
	done >>/tmp/list
	run_flows -w 1000:$end -e $end -i "$rtt_ns" -s "$out/rates" </tmp/list
}

# Poisson arrivals between all hosts.
scenario_fabric()
{
	fabric
	poisson
}

fabric()
{
	local args=()
	case ${p[shape]} in
	leafspine)
		#	4 leaves of 4 hosts, 2 spines; as much up as down
		args=(leafspine 4 2 4 rate 100g core_rate 200g)
		! marks || args+=(mark "$(mark 100000)" core_mark "$(mark 200000)") ;;
	clos)	#	that of the HPCC paper: 320 hosts, 20 ToR, 20 aggregation, 16 core
		args=(clos 5 4 4 4 16 rate 100g core_rate 400g)
		! marks || args+=(mark "$(mark 100000)" core_mark "$(mark 400000)") ;;
	esac
	network "${args[@]}" buffer "${p[buffer]}" delay_ns 1000
}

# Flows begin with "iw" packets, by their hosts' routes.
scenario_dctcp-ns3()
{
	local ns route
	fabric
	for ns in $(ip netns list | sed -n 's/^\(h[0-9]*\).*/\1/p'); do
		route=$(ip -n "$ns" -4 route show default)
		# shellcheck disable=SC2086 # words of a route
		ip -n "$ns" route change $route initcwnd "${p[iw]}" initrwnd "$((2 * p[iw]))"
	done
	poisson
}

poisson() { generate 1000 poisson 0; }

# generate MEASURED-FROM GENERATOR FROM [WORD]...: for as long as the run takes
generate()
{
	agents
	"$lab/testbed" paths >/tmp/paths
	echo "$2 $3 $(($3 + p[ms] * 1000000)) ${p[load]} ${p[sizes]} ${p[seed]} $cc ${*:4}" |
		run_flows -w "$1:-" -e 3000000000 -p /tmp/paths
	"$lab/testbed" ways <"$out/flows" >"$out/ways"
}

scenario_clos() { scenario_fabric; }
scenario_rollout() { scenario_fabric; }

# Poisson arrivals of messages, on connections that are kept. They are opened in the
# first 3 ms, one each 6 us with 16 hosts.
scenario_rpc()
{
	fabric
	generate 3000000 rpc 3000000 "${p[conns]}"
}

scenario_star32()
{
	star 31
	poisson
}

# Beside a flow that has had the link for 20 ms others begin at once, and are watched for 4 ms.
scenario_powertcp()
{
	local begin=20000000 end=24000000 i
	case ${p[shape]} in
	incast)	;;
	staggered) scenario_step; return ;;
	*)	scenario_fabric; return ;;
	esac
	star $((flows + 1)) port s1 r1 trace 8000000
	agents
	echo "begin $begin" >"$out/events"
	echo "1700 h1 r1 - $end $cc" >/tmp/list
	for ((i = 1; i <= flows; i++)); do
		echo "$begin h$((i + 1)) r1 $( ((p[size])) && echo "${p[size]}" || echo "- $end") $cc"
	done >>/tmp/list
	run_flows -w "$rtt_ns:$end" -e $end -i "$rtt_ns" -s "$out/rates" </tmp/list
}

# Each a connection of its own, a start each 10 ns. In their queue nobody is to run into a
# timeout: the least RTO is the 200 ms of Linux.
scenario_messages()
{
	local i
	star "$flows" rto_min_us 200000 port s1 r1 trace 8000000
	agents
	for ((i = 0; i < flows * p[messages]; i++)); do
		echo "$((100000 + i * 10)) h$((i % flows + 1)) r1 ${p[size]} $cc"
	done | run_flows -w 1000:- -e 3000000000
}

# real HOST NETNS DEV...: the links that hold HOST's flows back. A line in "real" is
# HOST's address and their ids.
real()
{
	local host=$1 ids
	shift
	ids=$("$lab/testbed" ports all | awk -v ports="$*" '
		BEGIN { n = split(ports, p, " "); for (i = 1; i < n; i += 2) is[p[i], p[i + 1]] = 1 }
		($1, $2) in is { printf " %d", NR }')
	echo "$(address "$host")$ids" >>"$out/real"
}

# Who the bottleneck is, and who gets what of it. "Slow" links have 2/5 of $mbit:
#
# parking	h0 passes the slow links s1-s2-...-s5 to r0, hI-rI the link I of these;
#		there may be more than these 4 hops
# asymmetric	the same way; s1-s2 is slow, s2-s3 has half of that, and h0 shares it
#		with h2; nobody else
# receiver	two leaves and a spine; the port of h5, who receives, is slow
# nic		8 flows of one host, whose NIC is slow, to 8 others
scenario_parking()
{
	local end=$((rtt * 4000 * 1000)) slow=$((mbit * 2 / 5)) i args=() lot=()
	! marks || args=(mark "$(mark "$slow")")
	args+=(rate "${mbit}m" delay_ns 1000 buffer "${p[buffer]}")
	case ${p[shape]} in
	parking)
		network parking "${p[hops]}" "${args[@]}" core_rate "${slow}m"
		for ((i = 1; i <= p[hops]; i++)); do
			lot+=("s$i" "p$((i == 1 ? 1 : 2))")
		done
		real h0 "${lot[@]}"
		for ((i = 0; i <= p[hops]; i++)); do
			echo "$(((i + 1) * 1700)) h$i r$i - $end $cc"
			((i == 0)) || real "h$i" "s$i" "p$((i == 1 ? 1 : 2))"
		done >/tmp/list ;;
	asymmetric)
		network parking 4 "${args[@]}" link s1 s2 rate "${slow}m" \
			link s2 s3 rate "$((slow / 2))m"
		real h0 s2 p2
		real h2 s2 p2
		printf '%s\n' "1700 h0 r0 - $end $cc" "3400 h2 r2 - $end $cc" >/tmp/list ;;
	receiver)
		network leafspine 2 1 4 "${args[@]}" core_rate "$((mbit * 4))m" \
			link l2 h5 rate "${slow}m"
		for ((i = 1; i <= 4; i++)); do
			echo "$((i * 1700)) h$i h5 - $end $cc"
			real "h$i" l2 p1
		done >/tmp/list ;;
	nic)	network star 8 "${args[@]}" link s1 r1 rate "${slow}m"
		for ((i = 1; i <= 8; i++)); do
			echo "$((i * 1700)) r1 h$i - $end $cc"
		done >/tmp/list
		real r1 r1 eth0 ;;
	*)	echo "$name: shape '${p[shape]}'?" >&2; exit 2 ;;
	esac
	agents
	p[updates]=1
	run_flows -w $((end / 2)):$end -e $end </tmp/list
}

scenario_layout() { scenario_parking; }

# Flows without end of unequal RTT: the first host's is the least.
scenario_rtts()
{
	local end=$((p[ms] * 1000000)) i links=()
	for ((i = 2; i <= flows; i++)); do
		links+=(link "h$i" s1 delay_ns $(($(star_delay) + (p[far] - 1) * rtt_ns / 2)))
	done
	star "$flows" "${links[@]}"
	agents
	for ((i = 1; i <= flows; i++)); do
		echo "$((i * 1700)) h$i r1 - $end $cc"
	done | run_flows -w $((end / 2)):$end -e $end
}

# What telemetry does not tell of: a last link without a port agent, with a buffer of its
# own, or latency of the receiver from an eighth of the time on. The
# first flow is alone, or beside one of "other" that was there before. Counters of the
# module are left in "counters".
#
#	h1 ---.
#	h2 --- s1 --- s2 - - - r1
scenario_harm()
{
	local end=$((p[ms] * 1000000)) others=() i tail=() untold='' k=() hop=$((mbit * p[hop] / 100))
	! marks || k=(mark "$(mark $hop)")
	network graph rate "${mbit}m" delay_ns $((rtt_ns / 6)) buffer "${p[buffer]}" \
		link h1 s1 link h2 s1 link s1 s2 port s2 r1 rate "${hop}m" \
		buffer $((p[packets] ? p[packets] * wire : p[buffer])) "${k[@]}" link s2 r1
	port s2 p2
	case ${p[told]} in
	most)	[[ ${p[hop]} == 100 ]] || untold='^s2 p2' ;;
	nics)	untold='^[sr]' ;;
	none)	untold=. ;;
	*)	echo "$name: told '${p[told]}'?" >&2; exit 2 ;;
	esac
	agents "$untold"
	[[ ${p[tail]} == none ]] || tail=(distribution "${p[tail]}")
	! ((p[lag] || p[jitter])) || for ((i = 1; i <= p[steps]; i++)); do
		sleep "$(awk -v ns=$((end / 4)) -v i=$i -v n="${p[steps]}" 'BEGIN { print ns / 1e9 / (i == 1 ? 2 : n) }')"
		# with a rate what is late does not overtake
		tc -n r1 qdisc replace dev eth0 root netem limit 100000 rate 1tbit \
			delay "$((p[lag] * i / p[steps]))us" "${p[jitter]}us" "${tail[@]}"
	done &
	[[ ${p[other]} == none ]] || others=("1000 h2 r1 - $end ${p[other]}")
	printf '%s\n' "$((rtt_ns * 2)) h1 r1 - $end $cc" "${others[@]}" |
		run_flows -w $((end / 2)):$end -e $end
	nsenter --net=/run/netns/h1 cat /proc/net/hpccpp >"$out/counters"
}

scenario_latency() { scenario_harm; }

# Half of the flows have another congestion control; these leave after half of the
# time.
scenario_mixed()
{
	local end=$((p[ms] * 1000000)) i
	star $((2 * flows)) port s1 r1 trace 8000000
	agents
	p[updates]=1
	for ((i = 1; i <= flows; i++)); do
		echo "$((i * 1700)) h$i r1 - $end $cc"
		echo "$((i * 1700)) h$((flows + i)) r1 - $((end / 2)) ${p[other]}"
	done | run_flows -w 1000:$end -e $end -i "$rtt_ns" -s "$out/rates"
}

# Only the hosts' own ports say how loaded they are. What the module counts there is
# left in "counters".
scenario_blind-hop()
{
	local end=$((p[ms] * 1000000)) i
	star "$flows" port s1 r1 trace 8000000
	agents '^s1 '
	for ((i = 1; i <= flows; i++)); do
		echo "$((i * 1700)) h$i r1 - $end $cc"
	done | run_flows -w $((end / 2)):$end -e $end
	for ((i = 1; i <= flows; i++)); do
		nsenter --net="/run/netns/h$i" cat /proc/net/hpccpp
	done >"$out/counters"
}

# lie HOST U-AND-QUEUE TX_BYTES: to whom s1 changes the ACKs: U and the queue of a record,
# which stands behind timestamps, or what else a SYN-ACK has, and the bytes sent.
lie()
{
	local at to
	to=$(address "$1")
	nsenter --net=/run/netns/s1 nft \
		"add table inet box; add chain inet box forward { type filter hook forward priority 0; }"
	for at in 256 320; do
		nsenter --net=/run/netns/s1 nft "add rule inet box forward ip daddr $to" \
			"@th,$((at + 16)),16 { 0x4845, 0x4854 }" \
			"@th,$((at + 56)),8 set $2 @th,$((at + 88)),8 set $2 @th,$((at + 120)),8 set $2" \
			"@th,$((at + 96)),24 set $3"
	done
}

declare -F "scenario_$scenario" >/dev/null || { echo "$name: no scenario '$scenario'" >&2; exit 2; }
"scenario_$scenario"

for key in "${!p[@]}"; do
	echo "$key ${p[$key]}"
done | sort | jq -Rn --arg scenario "$scenario" --arg name "$name" --arg kernel "$(uname -r)" \
	--arg ko "$(modinfo -F version "$HPCCPP_KO") $(sha256sum "$HPCCPP_KO" | cut -c1-12)" '
	[inputs | split(" ") | { key: .[0], value: (.[1] | tonumber? // .) }] | from_entries |
	{ scenario: $scenario, name: $name, cc, seed, kernel: $kernel, module: $ko,
	  params: del(.cc, .seed) }' >"$out/meta.json"
