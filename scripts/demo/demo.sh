#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Four senders share a link, under one congestion control after the other: what the
# link carries, what waits in front of it, and what a small packet pays for that.
#
#	h1 --1G-- .----.                     .----.
#	h2 --1G-- | s1 | ====200 Mbit/s===== | s2 | --1G-- r
#	h3 --1G-- |    |                     |    |
#	h4 --1G-- '----' the queue measured  '----'
#
# The round trip is 2 ms without queues: the pipe holds 33 packets of 1514 bytes,
# the buffer of 512 KB ten times as much. DCTCP gets the queue it needs, one that
# marks above K packets. Its rule is K > pipe / 7, that is 5; its authors took 20
# at 1 Gbit/s, to have room for bursts, and so does this.
#
# demo.sh runs it in the place that place.sh says; an address family a VM, two at once.
# results/ (or $RESULTS) gets demo.json, queue.png and the samples in CSV, and flent/ in
# it the same as flent's data files (flent.py). At the end is a verdict (verdict.jq); where
# a bound of hpccpp's does not hold the status is 1.
#
# -o off, or -o "on off", also measures without offloads; the default is on, as on Linux.
set -euo pipefail

usage="usage: demo.sh [-t SECONDS] [-c \"CC...\"] [-f \"ipv4 ipv6\"] [-o \"on off\"]
results/: demo.json, queue.png, samples in CSV, and flent/, which flent reads"
seconds=2
ccs="cubic bbr dctcp hpccpp-edges hpccpp"
families="ipv4 ipv6"
modes=on
inside=
here=${BASH_SOURCE%/*}
while getopts t:c:f:o:I opt; do
	case $opt in
	t)	seconds=$OPTARG ;;
	c)	ccs=$OPTARG ;;
	f)	families=$OPTARG ;;
	o)	modes=$OPTARG ;;
	I)	inside=1 ;;	# we are in the place, and run one family
	*)	echo "$usage" >&2; exit 2 ;;
	esac
done
export RESULTS=${RESULTS:-$(realpath "$here/../..")/results}
for mode in $modes; do
	[[ $mode == @(on|off) ]] || { echo "$usage" >&2; exit 2; }
done

link_bps=200000000
packet=1514
marking=20			# packets: K of DCTCP's queue
# The CPU was the limit when it had no time left, less than this of its ticks, and the link
# had, a tenth. Ticks alone do not tell: the same traffic reads as 2 to 40 % idle from run
# to run.
least_idle=0.05
least_sent=$((link_bps * 9 / 10))

queue_for() # CC
{
	case $1 in
	dctcp)
		# RED as a step: no slope, and an average over two packets.
		bottleneck_queue red limit 512kb min $((marking * packet)) \
			max $((marking * packet + 1)) avpkt $packet \
			burst $((marking + 1)) ecn bandwidth "$RATE" probability 1 ;;
	*)
		bottleneck_queue bfifo limit 512kb ;;
	esac
}

# One run; adds its object to $tmp/runs.
run() # CC FAMILY MODE
{
	local cc=$1 family=$2 mode=$3 at=$1-$2-$3

	queue_for "$cc"
	case $cc in
	hpccpp)		load_hpccpp
			agents_on ;;
	hpccpp-edges)	load_hpccpp
			edges_on "$EDGE" ;;
	*)		modprobe -q "tcp_$cc" || true ;;
	esac
	measure_flows "${cc%-edges}" "$family" 4 "$seconds"
	agents_off
	cp "$tmp/queue.csv" "$RESULTS/queue-$at.csv"
	cp "$tmp/rtt.csv" "$RESULTS/rtt-$at.csv"
	jq -n --arg cc "$cc" --arg family "$family" --arg kernel "$(uname -r)" "{
			cc: \$cc, family: \$family, offloads: $([[ $mode == on ]] && echo true || echo false),
			goodput_bps: $goodput_bps,
			queue_mean_bytes: $mean_bytes, queue_p99_bytes: $p99_bytes,
			queue_mean_packets: $mean_packets, queue_p99_packets: $p99_packets,
			rtt_p50_us: $rtt_p50, rtt_p99_us: $rtt_p99, probes_lost: $probes_lost,
			drops: $drops, drops_after_2_rtt: $late_drops, jain: $jain,
			link_sent_bps: $sent_bps, seconds: $seconds, idle: $idle,
			kernel: \$kernel
		}" >>"$tmp/runs"
	awk "BEGIN {
		printf \"%-12s %s, offloads %-3s: %3.0f Mbit/s, %5.1f packets wait\n\",
			\"$cc\", \"$family\", \"$mode\", $goodput_bps / 1e6, $mean_packets
		if ($idle <= $least_idle && $sent_bps < $least_sent) {
			printf \"the CPU was the limit, not the link: %.0f %% of it idle\n\", $idle * 100
			exit 1
		}
	}"
}

if [[ -n $inside ]]; then
	# shellcheck source-path=SCRIPTDIR source=../../selftests/lib/lib.sh
	. "$here/../../selftests/lib/lib.sh"
	# DCTCP asks for ECN; to the others it makes no difference.
	SYSCTLS=net.ipv4.tcp_ecn=1
	for mode in $modes; do
		OFFLOADS="tso off gso off gro off"
		[[ $mode != on ]] || OFFLOADS=default
		topo_line 4 2
		echo "network up: $families, offloads $mode"
		for cc in $ccs; do
			run "$cc" "$families" "$mode"
		done
		topo_down
	done
	cp "$tmp/runs" "$RESULTS/runs-$families"
	exit
fi

# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$here/../common.sh"
[[ -z ${HPCCPP_KO-} ]] || die "not inside a place: it goes there by itself"

# progress TOTAL: on stdin a line for each run that has ended, and when the network is up
progress()
{
	local n=0 line
	while IFS= read -r line; do
		[[ $line == "network up:"* ]] || : $((++n))
		printf '  %2d of %d, %d:%02d min  %s\n' "$n" "$1" $((SECONDS / 60)) $((SECONDS % 60)) "$line"
	done
}

wait_for_runs()
{
	local process
	for process in "${running[@]}"; do
		wait "$process" || die "a run failed"
	done
	running=()
}

mkdir -p "$RESULTS"
rm -f "$RESULTS"/{demo.json,queue.png,{queue,rtt}-*.csv,runs-*,flent/*-ipv[46]-*.flent.gz}
where=$("$here/../place.sh" --where)
at_once=2
per_run=$((15 * seconds))	# of wall time, where both VMs have a CPU
if [[ $("$here/../place.sh" --print) == native ]]; then
	at_once=1
	per_run=$((seconds + 3))
fi
# shellcheck disable=SC2086 # lists
runs=$(($(wc -w <<<$families) * $(wc -w <<<$modes) * $(wc -w <<<$ccs)))
cat <<END
Four senders share a link of 200 Mbit/s, round trip 2 ms, buffer 512 KB, under one congestion
control after the other. Measured are the queue in front of the link, its load, and the flows'
shares.

Where    $where
Time     $runs runs of $seconds s, about $(((runs * per_run / at_once + 59) / 60)) min, more where others use the CPUs
Leaves   $RESULTS: figures, samples, a plot; nothing else

Offloads on: as Linux has them. Off: no TSO, GSO and GRO, all packets have one segment.
dctcp: its queue marks above $marking packets. bbr: paced by TCP. hpccpp: by telemetry of all ports.
hpccpp-edges: hosts alone have agents, and no port of the shared link: hosts see its delay only.

END

running=()
ended=
# progress() ends when nobody holds its input open
trap '[[ -z $ended ]] || exec {ended}>&-; [[ ${#running[@]} -eq 0 ]] || kill "${running[@]}" 2>/dev/null || :; wait' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
exec {ended}> >(progress "$runs")
shown=$!
for family in $families; do
	"$here/../place.sh" -q --timeout 1800 -- \
		"$here/demo.sh" -I -t "$seconds" -c "$ccs" -f "$family" -o "$modes" >&"$ended" &
	running+=($!)
	if [[ ${#running[@]} -eq $at_once ]]; then
		wait_for_runs
	fi
done
wait_for_runs
exec {ended}>&-
wait "$shown"

cat "$RESULTS"/runs-* |
jq -s --argjson link_bps $link_bps '{link_bps: $link_bps, runs: .}' >"$RESULTS/demo.json"
rm "$RESULTS"/runs-*

cat <<END

                  off-   goodput   load   queue, packets        queue, KB   round trip, ms       drops     Jain
                 loads    Mbit/s      %     mean     p99     mean     p99      p50     p99   all  late    index
END
jq -r '.link_bps as $link | .runs[] | [
	.cc, .family, if .offloads then "on" else "off" end, .goodput_bps / 1e6, .link_sent_bps * 100 / $link,
	.queue_mean_packets, .queue_p99_packets,
	.queue_mean_bytes / 1e3, .queue_p99_bytes / 1e3, .rtt_p50_us / 1e3, .rtt_p99_us / 1e3,
	.drops, .drops_after_2_rtt, .jain] | @tsv' "$RESULTS/demo.json" |
while read -ra figures; do
	printf '%-13s%-6s%3s %9.1f %6.1f %8.1f%8d %8.1f%8.1f %8.2f%8.2f %5d%6d %8.3f\n' "${figures[@]}"
done
cat <<END

Load: bytes on the wire, of what the link carries. Packets of $packet bytes. Drops are late after
the first two round trips. Queue, drops and round trips are of the $seconds s from the first data
on, Jain's index of the second half of that.

END

gnuplot -e "results='$RESULTS'; ccs='$ccs'; family='${families%% *}'; mode='${modes%% *}'; \
packet=$packet; rate=$link_bps; seconds=$seconds" "$here/demo.gp"
"$here/../flent.py" -q -o "$RESULTS/flent" "$RESULTS"/queue-*.csv
verdict="No verdict: hpccpp was not run."
[[ " $ccs " != *" hpccpp "* ]] || verdict=$(jq -r -f "$here/verdict.jq" "$RESULTS/demo.json")
cat <<END
$verdict

Results  $RESULTS: queue.png (look at this), demo.json,
         samples in queue-*.csv and rtt-*.csv, flent/ for flent
Next     make shell: the same network at a prompt
         README.md: your own hosts and switches, step by step
END
! grep -q '^FAILS' <<<"$verdict"
