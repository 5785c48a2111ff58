#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a flow costs a host, by the number of flows: memory, and CPU instructions for
# an ACK. Runs the stock kernel in the VM, where a nanosecond is an instruction, and
# writes $RESULTS/NAME.json: kernel and metrics, to which run.py adds the rest.
#
#	h1 --- s1 --- r		1 Gbit/s, then 200 Mbit/s, 2 ms
#
# Each flow writes four segments every 10 s, whatever their number: ACKs are of the
# same kind then, and a difference is made by the number alone. Means:
#
#	instructions_per_ack	the congestion control's call for an ACK of new data,
#				hpccpp only
#	instructions_tcp_ack	all of tcp_ack() for such an ACK
#	instructions_parse	the checks before that, where the agent reads the
#				option; they are not run where there is none
#	host_agent_instructions, port_agent_instructions	a run of the program, with a
#				reading of the clock, about 45 instructions
#	bytes_per_flow		at the sender: bytes_module and bytes_agent. The
#				receiver has bytes_agent.
#
# Time is taken by the function_graph tracer, call by call, and what the tracer adds
# is measured and taken off. An interrupt in the middle of a call counts as part of
# it, 1,000 instructions or more. Those of ours are of few kinds, from 500 to 1,000: what
# takes so much more than the median is left out. Those of tcp_ack() differ by more:
# their mean has interrupts in it.

# Namespaces are in variables set by name, and lib.sh takes some of ours.
# shellcheck disable=SC2154,SC2034
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
top=$(realpath "$here/../..")

# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$here/../common.sh"

if [[ ${1-} != --inside ]]; then
	[[ $# -eq 3 && $3 =~ ^[1-9][0-9]*$ && $3 -le 20000 ]] ||
		bad "usage: scale.sh NAME CC FLOWS, 1 to 20000 flows"
	RESULTS=$(realpath "${RESULTS:-$top/results/lab/scale}")
	mkdir -p "$RESULTS"
	export RESULTS PLACE=vm HPCCPP=$top/.build/6.1/tools/hpccpp
	export HPCCPP_KO=$top/.build/6.1/kmod/tcp_hpccpp.ko
	cd "$top"
	exec "$top/scripts/vm/vm.sh" -m 2048 --timeout 600 -- "$here/scale.sh" --inside "$@"
fi
shift
name=$1 cc=$2 flows=$3
[[ $cc != dctcp ]] || SYSCTLS=net.ipv4.tcp_ecn=1
# shellcheck source-path=SCRIPTDIR source=../../selftests/lib/lib.sh
. "$top/selftests/lib/lib.sh"

tracing=/sys/kernel/tracing
period=10			# s, between a flow's writes
bytes=$((4 * 1432))		# of a write
gap=$((period * 1000000 / flows))	# us, between two writes of all
interrupt=900			# instructions, see above
metrics=()

metric() { metrics+=("$1" "$2"); } # NAME NUMBER
is_ours() { [[ $cc == hpccpp ]]; }

# --- Calls -------------------------------------------------------------------

trace_start() # FUNCTION...
{
	echo "$*" >$tracing/set_ftrace_filter
	: >$tracing/trace
	echo function_graph >$tracing/current_tracer
}

# Into $tmp/trace; false when some of it was lost.
trace_stop()
{
	echo 0 >$tracing/tracing_on
	cp $tracing/trace "$tmp/trace"
	grep -qx 'overrun: 0' $tracing/per_cpu/cpu0/stats || return
	echo nop >$tracing/current_tracer
	echo 1 >$tracing/tracing_on
}

read_nothing()
{
	local i
	for ((i = 0; i < 300; i++)); do
		read -r _ </dev/null || true
	done
}

# Sets what the tracer adds, ns: own, to the call that it times; nested, to a call
# that makes a timed one. Reading /dev/null is a function that returns at once, in
# another.
calibrate()
{
	local bare with
	trace_start vfs_read
	read_nothing
	trace_stop
	bare=$(awk '/vfs_read/ { print $1 * 1000 }' "$tmp/trace" | percentile 50)
	trace_start vfs_read read_null
	read_nothing
	trace_stop
	own=$(awk '/read_null/ { print $1 * 1000 }' "$tmp/trace" | percentile 50)
	with=$(awk '/\/\* vfs_read/ { print $1 * 1000 }' "$tmp/trace" | percentile 50)
	nested=$((with - bare))
}

# calls SECONDS: metrics of the calls in that time. An ACK of new data is one that
# tcp_ack() rates the delivery of.
calls()
{
	local functions=(tcp_validate_incoming tcp_ack tcp_rate_gen)
	! is_ours || functions+=(hpccpp_cong_control)
	trace_start "${functions[@]}"
	sleep "$1"
	trace_stop
	awk -v own="$own" -v nested="$nested" '
		{ ns = $1 * 1000 - own }
		/tcp_validate_incoming/ { parse = ns }
		/tcp_ack\(\) *\{/ { inside = 1; rated = timed = cc = 0 }
		inside && /tcp_rate_gen/ { rated = 1; timed++ }
		inside && /hpccpp_cong_control/ { cc = ns; timed++ }
		inside && /\/\* tcp_ack/ && rated {
			print "tcp_ack", ns - nested * timed
			if (cc)
				print "per_ack", cc
			if (parse)
				print "parse", parse
		}
		/tcp_ack\(\);|\/\* tcp_ack/ { inside = parse = 0 }' "$tmp/trace" >"$tmp/calls"
	call_metrics tcp_ack
	is_ours || return 0
	call_metrics per_ack $interrupt
	call_metrics parse $interrupt
}

call_metrics() # KIND [MOST]: without those that take MOST more than the median
{
	local file=$tmp/$1
	sed -n "s/^$1 //p" "$tmp/calls" >"$file"
	metric "instructions_$1" "$(awk -v most=$(($(percentile 50 <"$file") + ${2:-1000000000})) '
		$1 <= most { s += $1; n++ }
		END { printf "%.1f\n", s / n }' "$file")"
}

# --- Memory ------------------------------------------------------------------

# Bytes that calls of this function in $tmp/allocations have taken.
allocated() # FUNCTION
{
	awk -v name="$1" '$3 == name { bytes += $NF } END { print bytes + 0 }' "$tmp/allocations"
}

# --- Agents ------------------------------------------------------------------

# How long the program has run, ns, and how often.
program() # NAME
{
	bpftool -j prog show | jq -r --arg name "$1" 'map(select(.name == $name)) |
		"\(map(.run_time_ns // 0) | add) \(map(.run_cnt // 0) | add)"'
}

# Of each flow: its ports, and how often telemetry has moved its window.
updates()
{
	"$HPCCPP" flow show netns "$h1" | awk '
		/^ESTAB/ { flow = $2; ours = $4 == "hpccpp" }
		/ updates / && ours {
			for (i = 1; i < NF; i++)
				if ($i == "updates") print flow, $(i + 1)
		}' | sort
}

# agents SECONDS: metrics of the agents' programs in that time, with no tracer on. Fails
# unless telemetry has moved each flow's window.
agents()
{
	local agent time0 runs0 time1 runs1 grown what
	is_ours || return 0
	sysctl -qw kernel.bpf_stats_enabled=1
	updates >"$tmp/updates0"
	for agent in host port; do
		program hpccpp_$agent >"$tmp/${agent}0"
	done
	sleep "$1"
	for agent in host port; do
		read -r time0 runs0 <"$tmp/${agent}0"
		read -r time1 runs1 < <(program hpccpp_$agent)
		metric "${agent}_agent_instructions" \
			"$(awk "BEGIN { printf \"%.1f\", ($time1 - $time0) / ($runs1 - $runs0) }")"
	done
	sysctl -qw kernel.bpf_stats_enabled=0
	updates >"$tmp/updates1"
	grown=$(join "$tmp/updates0" "$tmp/updates1" | awk '$3 > $2 { n++ } END { print n + 0 }')
	[[ $grown -eq $flows ]] || die "$name: telemetry moved $grown of $flows flows"
	for what in no_agent no_memory fallback no_int; do
		[[ $(counter "$h1" $what) -eq 0 ]] || die "$name: $what"
	done
}

# --- The run -----------------------------------------------------------------

load_hpccpp
# A limit of all namespaces together, made for a machine that is one host.
sysctl -qw net.ipv4.tcp_mem="1000000 1000000 1000000"
topo_line 1 1
! is_ours || agents_on
echo 16384 >$tracing/buffer_size_kb
for option in irqs cpu overhead; do
	echo 0 >$tracing/options/funcgraph-$option
done
echo 1 >$tracing/options/funcgraph-tail
calibrate

# Seconds to look at calls and at agents: 40 ACKs at least, and a write of each flow.
case $flows in
?)	see=100 count=100 ;;
??|???)	see=20 count=$((2 * period)) ;;
*)	see=2 count=$((period + 2)) ;;
esac

port=$((next_port++))
in_ns_bg "$r" "$here/many.py" listen "$port"
receiver=$!
busywait 10 listening "$r" "$port"
trigger='hist:keys=call_site.sym:vals=bytes_alloc'
echo "$trigger" >$tracing/events/kmem/kmalloc/trigger
in_ns_bg "$h1" "$here/many.py" connect "${addr4[r]}" "$port" "$cc" "$flows" "$bytes" "$gap" >"$tmp/many"
sender=$!
until grep -q connected "$tmp/many"; do
	kill -0 "$sender"
	sleep 0.1
done
sed 's/[{}]//g' $tracing/events/kmem/kmalloc/hist >"$tmp/allocations"
echo "!$trigger" >$tracing/events/kmem/kmalloc/trigger
sleep $((period + 1))
if is_ours; then
	module=$(($(allocated hpccpp_init) / flows))
	agent=$(($(allocated bpf_map_kzalloc) / flows / 2))
	metric bytes_per_flow $((module + agent))
	metric bytes_module $module
	metric bytes_agent $agent
fi
calls $see
agents $count
kill "$sender"
wait "$sender"
kill "$receiver"
wait "$receiver"
grep -q 'left_out 0$' "$tmp/many" || die "$name: a flow could not write all that it was to: $(<"$tmp/many")"

jq -n --arg kernel "$(uname -r)" '{
		$kernel, metrics: [$ARGS.positional | _nwise(2) | { (.[0]): (.[1] | tonumber) }] | add
	}' --args "${metrics[@]}" >"$RESULTS/$name.json"
