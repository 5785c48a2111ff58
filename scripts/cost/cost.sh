#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What telemetry costs: this kernel's time for the agents' programs, throughput with
# segmentation offloads, the instructions and the memory that a flow takes in the VM
# (scale.sh), and TSO: instructions per byte by the size of packets in the VM (tso.sh), and the
# size of packets under two congestion controls in the lab. Prints tables and writes
# $RESULTS/cost.json, results/ unless set.
# Ends with 1 when asking by the round trip, which is the default, or in one packet of 16
# has less than BOUND of the throughput without, or an ACK takes more instructions than it
# may.
#
#	cost.sh [-n REPETITIONS] [-t SECONDS] [-b BOUND] [-w WIRE] [-s]
#
# Default: 9 repetitions of 2 s, 0.95, both wires (below); -s leaves out the VM and the lab.
#
#	h1 eth0 ---- h1 s1 next ---- eth0 r	host agents at both ends, a port agent on next
#
# The host agent is timed as it is (sender, receiver), with a key (..._signed), and in
# mode receiver (..._rx): there what the receiver parses it measures, what it writes are
# windows, and those are what the sender parses. This kernel has no module that would ask
# for them; a program beside the agent does (cost_tell.bpf.c). "ack" is what of the
# receiver's ACKs is options of ours: their bytes each ("option"), all ACKs ("segments")
# and the mean over these ("mean").
#
# Nothing shapes: one CPU, which both ends and the switch share, is what limits. They
# run before all else on it (SCHED_FIFO), or on a busy machine the figures are of that.
# TCP makes packets of up to 64 KB, which h1's port cuts into segments as a NIC does
# (TSO). On the wire "cut" s1 merges what is alike (GRO), stamps and cuts again; on
# "single" it stamps and forwards each segment for itself, as a switch does. r merges.
# Either is run without host agents ("off") and with INT asked for in every packet that
# TCP makes ("all"), in one of 16 and the first of each flight, of which there are many as
# round trips are short here, and by the round trip ("rtt"). s1 has its port agent in
# all of them: it is another machine's, whose CPU this one's stands for. They take turns:
# each repetition has each once. Figures are medians, but a ratio is of the best runs: what
# else this machine does can only slow them. gro_default_ratio is that of "single rtt".
#
# The receive buffer is the kernel's: with one of 2 MB the window comes so near to what
# is free that a few bytes in a packet decide whether r acks two of three or one, and
# that would be measured.

# Namespaces are in variables set by name, and lib.sh takes some of ours.
# shellcheck disable=SC2154,SC2034
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$here/../common.sh"

usage="usage: cost.sh [-n REPETITIONS] [-t SECONDS] [-b BOUND] [-w WIRE] [-s]"
repetitions=9
seconds=2
bound=0.95
scale=1
wires="cut single"
while getopts n:t:b:w:s opt; do
	case $opt in
	n)	repetitions=$OPTARG ;;
	t)	seconds=$OPTARG ;;
	b)	bound=$OPTARG ;;
	w)	wires=$OPTARG ;;
	s)	scale= ;;
	*)	bad "$usage" ;;
	esac
done
[[ $repetitions =~ ^[1-9][0-9]?$ ]] || bad "-n '$repetitions': 1 to 99 repetitions"
[[ $seconds =~ ^[1-9][0-9]?$ ]] || bad "-t '$seconds': 1 to 99 seconds"
[[ $bound =~ ^[01](\.[0-9]+)?$ ]] || bad "-b '$bound': 0 to 1.9, of the throughput without INT"
[[ $wires =~ ^(cut|single|cut single)$ ]] || bad "-w '$wires': cut or single"
[[ $EUID -eq 0 ]] || die "not root"

RESULTS=$(realpath "${RESULTS:-$here/../../results}")
mkdir -p "$RESULTS"
HPCCPP=$(realpath "${HPCCPP:-$here/../../.build/6.1/tools/hpccpp}")
# shellcheck source-path=SCRIPTDIR source=../../selftests/lib/lib.sh
. "$here/../../selftests/lib/lib.sh"

most=1200	# instructions for an ACK's telemetry, reading it and acting on it
modes=(off all 16 rtt)
goal=0.97	# of gro_default_ratio; not held
declare -A every=([all]=1 [16]=16 [rtt]=rtt)

# --- The path ----------------------------------------------------------------

path_up()
{
	local ns

	setup_ns h1 s1 r
	link 1 "$h1" eth0 "$s1" h1 0.1
	link 2 "$s1" next "$r" eth0 1.1
	route "$h1" default default 0.1 2
	route "$r" default default 1.1 1
	addr4[r]=10.1.1.2
	sed -i 's/gso_max_segs 1/numtxqueues 2 numrxqueues 2/g' "$tmp/links"
	ip -batch "$tmp/links"
	for ns in "${!ip_batch[@]}"; do
		nsenter --net="/run/netns/$ns" sysctl -qw net.ipv4.ip_forward=1 \
			net.ipv4.tcp_no_metrics_save=1
		ip -n "$ns" -batch - <<<"link set dev lo up
${ip_batch[$ns]}"
	done
}

offloads() # NETNS DEV OFFLOADS...
{
	nsenter --net="/run/netns/$1" ethtool -K "$2" "${@:3}"
}

wire() # cut|single
{
	local merge=on
	[[ $1 == cut ]] || merge=off
	# a veth cuts without TSO, and then its peer's GRO looks at what comes
	offloads "$h1" eth0 tso off gso on
	offloads "$s1" h1 gro $merge
	offloads "$s1" next tso off gso on
	offloads "$r" eth0 gro on
}

stamping_on() { port_on "$s1" next rate 100gbit queue virtual; }
stamping_off() { port_off "$s1" next; }

# --- Programs ----------------------------------------------------------------

port_times() # NAME QUEUE: of a port on s1's next
{
	local id index

	"$HPCCPP" port add dev next netns "$s1" rate 100gbit queue "$2"
	read -r id _ < <(programs "$s1" next egress)
	index=$(ip -n "$s1" -j link show dev next | jq '.[0].ifindex')
	nsenter --net="/run/netns/$s1" "$HPCCPP_BIN/cost" port "$id" "$index" |
		jq --arg queue "$1" '{ ($queue): . }' >>"$tmp/ports"
	port_off "$s1" next
}

# Of each queue source, and of each way to read a root qdisc; netem where there is one.
ports_times()
{
	local qdisc=(tc -n "$s1" qdisc) shaped="tbf rate 100gbit burst 1mb limit 1mb" i

	port_times virtual virtual
	# shellcheck disable=SC2086 # words
	"${qdisc[@]}" add dev next root $shaped
	port_times qdisc qdisc
	"${qdisc[@]}" del dev next root
	"${qdisc[@]}" add dev next root handle 1: mq
	for i in 1 2; do
		# shellcheck disable=SC2086 # words
		"${qdisc[@]}" add dev next parent 1:$i $shaped
	done
	port_times qdisc_mq qdisc
	"${qdisc[@]}" del dev next root
	if "${qdisc[@]}" add dev next root netem limit 1000 2>/dev/null; then
		port_times qdisc_netem qdisc
		"${qdisc[@]}" del dev next root
	fi
}

# What r has sent: segments, echoes, of these with a tag, windows
r_sent()
{
	echo "$(snmp "$r" TcpOutSegs) $(host_stat receiver echoed) $(host_stat receiver signed) $(host_stat receiver computed)"
}

# The host agent's, at both ends of a flow that asks in every segment
hosts_time() # SUFFIX, of their names [T, of windows]
{
	local ns timer=() i=0 before after

	stamping_on
	before=$(r_sent)
	for ns in all receiver; do
		# shellcheck disable=SC2086 # none, or a number
		run_bg "$HPCCPP_BIN/cost" host "${cgroup_of[$ns]}" ${2-} >"$tmp/host-$ns"
		timer+=($!)
		busywait 10 grep -q timing "$tmp/host-$ns"
	done
	transfer all
	for ns in all receiver; do
		kill "${timer[i]}"
		wait "${timer[i++]}"
	done
	after=$(r_sent)
	stamping_off
	jq -n --slurpfile s <(sed 1d "$tmp/host-all") --slurpfile r <(sed 1d "$tmp/host-receiver") \
		--arg suffix "$1" --argjson sent "[[${before// /,}],[${after// /,}]]" '
		($sent | transpose | map(.[1] - .[0])) as [$segments, $echoes, $signed, $windows] |
		(16 * $echoes + 4 * $signed + 8 * $windows) as $bytes |
		{ ("sender" + $suffix): $s[0], ("receiver" + $suffix): ($r[0] + { ack: {
			$segments, option: ($bytes / ($echoes + $windows) | round),
			mean: ($bytes / $segments * 100 | round / 100) } }) }' >>"$tmp/hosts"
}

host_agents() # AGENT-OPTIONS...: anew, at both ends of that flow
{
	host_off all
	host_off receiver
	host_on all ask always every 1 "$@"
	host_on receiver "$@"
}

# As they are; with a key: echoes have tags then; with the window computed by the
# receiver, each 100 us.
hosts_times()
{
	hosts_time ""
	( umask 077; echo 000102030405060708090a0b0c0d0e0f >"$tmp/key" )
	host_agents key-file "$tmp/key"
	hosts_time _signed
	host_agents mode receiver
	hosts_time _rx 100
	host_agents
}

# --- Throughput --------------------------------------------------------------

# CPU time of the flow's two ends and of what the kernel does for them on the side, us
cpu_time() # MODE
{
	local ns sum=0 usec pid
	for ns in "$1" "$(receiver_of "$1")"; do
		usec=$(awk '$1 == "usage_usec" { print $2 }' "${cgroup_of[$ns]}/cpu.stat")
		sum=$((sum + usec))
	done
	for pid in $(pgrep ksoftirqd); do
		read -r usec _ <"/proc/$pid/schedstat"
		sum=$((sum + usec / 1000))
	done
	echo $sum
}

receiver_of() { [[ $1 == off ]] && echo bare || echo receiver; } # MODE

# What r's IP got: packets as GRO left them, and the segments that are in these.
received() { echo "$(snmp "$r" IpInReceives) $(snmp "$r" IpExtInNoECTPkts)"; }

# transfer MODE: sets bps, cpu (us), skbs and segs
transfer()
{
	local port=$((next_port++)) last=$(($(nproc) - 1)) server used skbs0 segs0

	CGROUP=${cgroup_of[$(receiver_of "$1")]} in_ns_bg "$r" timeout $((seconds + 20)) chrt -f 2 iperf3 -s -1 -p $port >"$tmp/server"
	server=$!
	busywait 10 listening "$r" $port
	used=$(cpu_time "$1")
	read -r skbs0 segs0 < <(received)
	CGROUP=${cgroup_of[$1]} in_ns "$h1" timeout $((seconds + 20)) chrt -f 1 iperf3 -J -c "${addr4[r]}" -p $port -C cubic \
		-t "$seconds" -A "$last,$last" >"$tmp/client" || die "iperf3: $(jq -r .error "$tmp/client")"
	wait "$server"
	bps=$(jq '.end.sum_received.bits_per_second | floor' "$tmp/client")
	cpu=$(($(cpu_time "$1") - used))
	read -r skbs segs < <(received)
	skbs=$((skbs - skbs0))
	segs=$((segs - segs0))
}

# One line of $tmp/runs, if it counts; fails when no telemetry came.
run() # WIRE MODE [REPETITION]
{
	local asked=0 echoes=0

	stamping_on
	if [[ $2 != off ]]; then
		asked=$(host_stat "$2" asked)
		echoes=$(host_stat "$2" echoes)
	fi
	transfer "$2"
	if [[ $2 != off ]]; then
		asked=$(($(host_stat "$2" asked) - asked))
		echoes=$(($(host_stat "$2" echoes) - echoes))
		[[ $echoes -gt 0 ]] || die "$1, $2: no telemetry came"
	fi
	stamping_off
	[[ $# -lt 3 ]] || jq -nc '$ARGS.named' --arg wire "$1" --arg mode "$2" \
		--argjson repetition "$3" --argjson bps "$bps" --argjson cpu_us "$cpu" \
		--argjson skbs "$skbs" --argjson segments "$segs" --argjson asked "$asked" \
		--argjson echoes "$echoes" >>"$tmp/runs"
}

throughput()
{
	local wire mode i

	for wire in $wires; do
		wire "$wire"
		run "$wire" off		# the first is not like the others
		for ((i = 0; i < repetitions; i++)); do
			for mode in "${modes[@]:i % 4}" "${modes[@]:0:i % 4}"; do
				run "$wire" "$mode" $i
			done
		done
	done
	jq -s '
		def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
		def digits(n): . * pow(10; n) | round / pow(10; n);
		group_by(.wire) | map(
			(map(select(.mode == "off").bps) | max) as $off |
			{ (.[0].wire): group_by(.mode) | map({
				(.[0].mode): {
					mbps: map(.bps / 1e6) | median | digits(0),
					ratio: ((map(.bps) | max) / $off | digits(3)),
					segments_per_skb: map(.segments / .skbs) | median | digits(1),
					cpu_ns_per_segment: map(.cpu_us * 1000 / .segments) | median | digits(0),
					asked_per_second: map(.asked / '"$seconds"') | median | digits(0)
				}}) | add }) | add' "$tmp/runs" >"$tmp/throughput"
}

# --- A flow ------------------------------------------------------------------

# Of one flow, as scale.sh says; and all of tcp_ack() under reno, to compare.
flow()
{
	local cc
	for cc in hpccpp reno; do
		RESULTS=$tmp "$here/scale.sh" $cc-1 $cc 1
	done
	jq -s '(.[0].metrics | {
			instructions_per_ack, instructions_parse, instructions_tcp_ack,
			host_agent_instructions, port_agent_instructions,
			bytes_per_flow, bytes_module, bytes_agent
		}) + { instructions_tcp_ack_reno: .[1].metrics.instructions_tcp_ack }' \
		"$tmp"/{hpccpp,reno}-1.json >"$tmp/flow"
}

# --- TSO -----------------------------------------------------------------------

# Flows of one receiver in the lab, base RTT 20 us: how many segments their packets have, and the
# instructions per byte of packets of that size. Between the sizes of tso.sh, the instructions are
# linear in the number of packets.
tso()
{
	local cc rate flows
	"$here/tso.sh" >"$tmp/tso"
	for rate in 25gbit 100gbit; do
		for cc in hpccpp dctcp; do
			for flows in 1 4 16 64; do
				RESULTS_LAB=$tmp/lab "$here/../lab/lab" run long cc=$cc flows=$flows rate=$rate rtt=20us |
					awk '$1 == "segments_per_packet" { print "'"$rate $cc $flows"'", $2 }'
			done
		done
	done >"$tmp/segments"
	jq -n --slurpfile tso "$tmp/tso" --rawfile lab "$tmp/segments" '
		($tso[0] | to_entries | map({ n: (.key | tonumber), i: .value }) | sort_by(.n)) as $by_size |
		def per_byte: . as $n |
			([$by_size[] | select(.n <= $n)] | last // $by_size[0]) as $a |
			([$by_size[] | select(.n > $n)] | first // $a) as $b |
			if $a.n == $b.n then $a.i
			else $a.i + ($b.i - $a.i) * (1 / $n - 1 / $a.n) / (1 / $b.n - 1 / $a.n) end;
		{ instructions_per_byte: $tso[0] } + ($lab | rtrimstr("\n") | split("\n") | map(split(" ") |
			(.[3] | tonumber) as $n | { (.[0]): { (.[1]): { (.[2]): {
				segments: ($n * 10 | round / 10),
				instructions_per_byte: ($n | per_byte * 10 | round / 10) } } } }) |
			reduce .[] as $one ({}; . * $one))' >"$tmp/tso_json"
}

# --- The run -----------------------------------------------------------------

make -s -C "$here/../../selftests" O="$(realpath -m "$HPCCPP_BIN")" SKELS="${HPCCPP%/*}" \
	"$(realpath -m "$HPCCPP_BIN")/cost"
path_up
for mode in all 16 rtt; do
	host_on $mode ask always every "${every[$mode]}"
done
host_on receiver
own_cgroup off
own_cgroup bare

step TIME "the agents' programs"
ports_times
wire cut
hosts_times
step RUN "$repetitions times ${modes[*]}, of $seconds s each, on the wire: $wires"
throughput
echo '{}' | tee "$tmp/flow" >"$tmp/tso_json"
: >"$tmp/missed"
[[ -z $scale ]] || { step VM "instructions and memory of a flow"; flow; }
[[ -z $scale ]] || { step LAB "segments per packet"; tso; }
jq -n --slurpfile ports "$tmp/ports" --slurpfile hosts "$tmp/hosts" \
	--slurpfile throughput "$tmp/throughput" --slurpfile flow "$tmp/flow" --slurpfile tso "$tmp/tso_json" \
	--slurpfile runs "$tmp/runs" --arg kernel "$(uname -r)" --argjson seconds "$seconds" '{
		$kernel, port: ($ports | add), host: ($hosts | add), throughput: $throughput[0],
		gro_default_ratio: $throughput[0].single.rtt.ratio, flow: $flow[0], tso: $tso[0], $seconds, $runs
	}' >"$RESULTS/cost.json"

# --- The tables --------------------------------------------------------------

# table FORMAT: lines of tab-separated words on stdin
table() { awk -F '\t' -v format="$1\n" '{ printf format, $1, $2, $3, $4, $5, $6, $7, $8 }' | sed 's, *$,,'; }

jq -r '
	"Linux \(.kernel)", "",
	"port agent, ns per packet", (
		["queue", "instructions", "passed", "stamped", "replaced", "kept"],
		(.port | to_entries[] | [.key, (.value | .instructions, .passed, .stamped, .replaced, .kept)])
		| @tsv)' "$RESULTS/cost.json" | table '%-14s %12s %8s %8s %8s %8s'
echo
jq -r '
	"host agent, ns per callback; bytes of an option in ACKs, and of all of them", (
		["", "instructions", "mss", "reserve", "write", "parse", "option", "an ACK"],
		(.host | to_entries[] | [.key, (.value | .instructions, .mss.ns, .reserve.ns, .write.ns, .parse.ns, .ack.option, .ack.mean)])
		| @tsv)' "$RESULTS/cost.json" | table '%-15s %12s %8s %8s %8s %8s %8s %8s'
echo
jq -r '
	"TSO and GRO, one CPU", (
		["wire, asked for", "Mbit/s", "of off", "segments/skb", "CPU ns/segment"],
		(.throughput | to_entries[] | .key as $wire | .value as $mode | $ARGS.positional[] |
			["\($wire) \(.)", ($mode[.] | .mbps, .ratio, .segments_per_skb, .cpu_ns_per_segment)])
		| @tsv)' "$RESULTS/cost.json" --args "${modes[@]}" | table '%-16s %8s %8s %13s %15s'
[[ -z $scale ]] || { echo; jq -r '
	"one flow, stock 6.1, instructions and bytes", (
		.flow | to_entries[] | [.key, .value] | @tsv)' "$RESULTS/cost.json" | table '%-26s %6s'; }
[[ -z $scale ]] || { echo; jq -r '
	"TSO, base RTT 20 us: segments per packet in the lab, instructions per byte of both hosts", (
		["", "1 flow", "4 flows", "16 flows", "64 flows"],
		(.tso | del(.instructions_per_byte) | to_entries[] | .key as $rate | .value | to_entries[] |
			["\($rate) \(.key)", (.value[] | "\(.segments), \(.instructions_per_byte)")])
		| @tsv)' "$RESULTS/cost.json" | table '%-16s %11s %11s %11s %11s'; }

[[ -z $scale ]] || jq -r --argjson most "$most" '
	.flow | .instructions_per_ack + .instructions_parse | select(. > $most) |
	"an ACK and its option: \(.) instructions, more than \($most)"' \
	"$RESULTS/cost.json" >>"$tmp/missed"
jq -r --argjson goal "$goal" '.gro_default_ratio | values |
	"\ngro_default_ratio: \(.), goal \($goal)"' "$RESULTS/cost.json"
jq -r --argjson bound "$bound" '.throughput | to_entries[] | .key as $wire | .value | to_entries[] |
	select((.key == "16" or .key == "rtt") and .value.ratio < $bound) |
	"\($wire) \(.key): \(.value.ratio) of off, less than \($bound)"' "$RESULTS/cost.json" >>"$tmp/missed"
[[ ! -s $tmp/missed ]] || die "$(<"$tmp/missed")"
