#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the lab's scenarios (plan.sh lists their runs), one on each CPU at a time, those
# that take longest first, and say which of the bounds (bounds.jq) hold:
#
#	bench.sh [SCENARIO]...		default: all but clos, which is bench-paper's
#	bench.sh --report [SCENARIO]...	run nothing: the report of what has been run
#	bench.sh --one WEIGHT RUN	one of the runs, for GNU parallel: what plan.sh says of it
#
# Each run leaves NAME.json and NAME/, its raw traces, in results/lab/SCENARIO/; in one that
# follows rates are flent's data files, too (../flent.sh). What is there
# from this module, kernel and plan is not run again, but with FORCE=1. Stopped by a
# signal it makes the report of what is there.
#
# HOSTS="a b" has the runs done on these machines, to which ssh logs in without a word; ":" is
# this one. Each has this tree at this path, and in it what make lab has built of it: a run of
# other binaries is not taken. Results are the same to the byte, wherever they come from.
#
# CCS=hpccpp,dctcp runs, and judges, a part; ONLY is an extended regular expression
# that lines of the plan match. RESULTS_LAB is another place for the results. Ends as
# judge.sh does: known.bounds lists the bounds that are known not to hold.
#
# CCS=foo runs a congestion control of somebody's own, and hpccpp beside it, in all
# scenarios that have rivals (OWN.md):
#
#	CC_KO		its module, built for the lab's kernel; not with --report
#	CC_SYSCTLS	"KEY=VALUE ..." of hosts and switches, values without spaces
#	CC_QUEUE	mark=K: hosts use ECN, and a queue of more than K packets marks at
#			10 Gbit/s, in proportion at others; 1 to 100000
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$here/../common.sh"
top=$(realpath "$here/../..")

# own_setup: what it takes to run it goes to plan.sh and run.sh in OWN*
own_setup()
{
	local sysctl queue=${CC_QUEUE-}
	if [[ -z $own ]]; then
		[[ -z ${CC_KO-}${CC_SYSCTLS-}${CC_QUEUE-} ]] ||
			bad "CC_KO, CC_SYSCTLS, CC_QUEUE: of a CC that is none of $known"
		return 0
	fi
	[[ ",$CCS," == *,hpccpp,* ]] || CCS+=,hpccpp
	[[ -n $report || -n ${CC_KO-} ]] ||
		bad "unknown congestion control '$own' (known: $known; one of your own: CC_KO=FILE.ko)"
	[[ -n $report || (-f $CC_KO && $CC_KO == *.ko) ]] || bad "CC_KO '$CC_KO': no such file, FILE.ko"
	[[ $queue =~ ^(mark=[1-9][0-9]{0,4}|mark=100000|)$ ]] ||
		bad "CC_QUEUE '$queue': mark=K, K from 1 to 100000 packets"
	for sysctl in ${CC_SYSCTLS-}; do
		[[ $sysctl =~ ^net\.[a-z0-9_.]+=.+$ ]] || bad "CC_SYSCTLS '$sysctl': net.KEY=VALUE"
	done
	export OWN=$own OWN_MARK=${queue#mark=} OWN_SYSCTLS=${CC_SYSCTLS-}
}

report=''
one=''
case ${1-} in
--report) report=1; shift ;;
--one)	one=${*:2}; set -- "${3-}" ;;
esac
CCS=${CCS-}
known="hpccpp hpccpp-full hpccpp-rx dctcp dctcp-k20 dctcp-dualpi2 bbr cubic reno"
own=
for cc in ${CCS//,/ }; do
	[[ " $known " != *" $cc "* ]] || continue
	[[ $cc =~ ^[a-z0-9_]{1,15}$ ]] ||
		bad "CC '$cc': neither of $known, nor a name of 1 to 15 of a-z, 0-9 and _"
	[[ -z $own ]] || bad "CC '$own' and '$cc': one of your own at a time (known: $known)"
	own=$cc
done
own_setup
[[ $# -gt 0 ]] || set -- long step incast int-response probe fabric dctcp-ns3 rollout rpc star32 powertcp messages parking layout rtts mixed blind-hop harm latency integrity sparse rx flows-n sweep scale ${report:+clos}
plan=$("$here/plan.sh" "$@")
# of the scenarios that have none of it, nothing
[[ -z $own ]] || plan=$(awk -v own="$own" '
	{ line[NR] = $0; scenario[NR] = $1 }
	$0 ~ " (cc|other)=" own "( |$)" { has[$1] = 1 }
	END { for (i = 1; i <= NR; i++) if (has[scenario[i]]) print line[i] }' <<<"$plan")
if [[ -n $CCS ]]; then
	# without "cc=" it is hpccpp; scale has it as a word
	plan=$(awk -v ccs="${CCS//,/ }" 'BEGIN { n = split(ccs, list, " "); while (n) want[list[n--]] = 1 }
		{
			cc = $1 == "scale" ? $3 : match($0, / cc=[a-z0-9_-]+/) ? substr($0, RSTART + 4, RLENGTH - 4) : "hpccpp"
			if (cc in want)
				print
		}' <<<"$plan")
fi
plan=$(grep -E -e "${ONLY-}" <<<"$plan" || true)
[[ -n $plan ]] || bad "no run of $* is for CC=$CCS ONLY=${ONLY-}"

results=$(realpath -m "${RESULTS_LAB:-$top/results/lab}")
if [[ -n $report ]]; then
	# of any module: what each run has had is in the report
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	while read -r scenario name _; do
		! [[ -s $results/$scenario/$name.json ]] || cat "$results/$scenario/$name.json"
	done <<<"$plan" | jq -s . >"$tmp/all.json"
	runs=$(jq length "$tmp/all.json")
	[[ $runs -gt 0 ]] || bad "none of the $(wc -l <<<"$plan") runs is in $results: make bench"
	rm -f "$results/report.html"
	# whether its bounds hold is in the report, and for bench to say
	RESULTS=$results "$here/judge.sh" "$tmp/all.json" >"$tmp/judged" 2>&1 || [[ -s $results/report.html ]] ||
		{ cat "$tmp/judged" >&2; exit 1; }
	grep ' bounds hold' "$tmp/judged"
	echo "$results/report.html is of $runs runs"
	exit
fi
lab_env "$top"
# What a run depends on, beside its line of the plan.
digest() { cat "$@" | sha256sum | cut -c1-12; }
state=$(digest "$("$here/kernel.sh")/linux" "$HPCCPP_LAB"/{tgen,testbed,link/sch_lablink.ko} \
	"$here"/{uml,run}.sh)
product=$(digest "$HPCCPP_KO" "$HPCCPP")
scale=$(digest "$HPCCPP" "$top"/.build/6.1/kmod/tcp_hpccpp.ko "$HPCCPP_LAB/many" "$here/scale.sh" \
	"$top"/selftests/lib/{lib,wire}.sh "$top/scripts/vm/vm.sh")
if [[ -n $own ]]; then
	# in the lab a file in /tmp is not to be seen, but for those in the tree
	OWN_KO=$HPCCPP_LAB/own-$(digest "$CC_KO").ko
	export OWN_KO
	[[ -e $OWN_KO ]] || { cp "$CC_KO" "$OWN_KO.$$" && mv "$OWN_KO.$$" "$OWN_KO"; }
	own_state=$(cat "$OWN_KO" - <<<"$OWN_SYSCTLS" | digest)
fi
measure=$(digest "$here/measure.sh" "$here/../flent.sh" "$HPCCPP_LAB/oracle")

stamp()
{
	local of=$state
	[[ -z $own || ! " $* " =~ \ (cc|other)=$own\  ]] || of+=" $own_state"
	case $* in
	scale*)	echo "$scale $*" ;;
	*cc=hpccpp*) echo "$of $product $*" ;;
	*cc=*)	echo "$of $*" ;;
	*)	echo "$of $product $*" ;;
	esac
}

is_run() # SCENARIO NAME ARGUMENTS
{
	[[ -s $results/$1/$2.json && $(cat "$results/$1/$2/stamp" 2>/dev/null) == "$(stamp "$@")" ]]
}

is_measured() # SCENARIO NAME
{
	[[ $1 == scale || $(cat "$results/$1/$2/measured" 2>/dev/null) == "$measure" ]]
}

if [[ -n $one ]]; then
	read -r weight scenario name args <<<"$one"
	echo "begin $weight $scenario $name"
	exec 3>&1 >&2 </dev/null
	export RESULTS=$results/$scenario
	mkdir -p "$RESULTS/$name"
	if [[ -n ${FORCE-} ]] || ! is_run "$scenario" "$name" "$args"; then
		rm -f "$RESULTS/$name.json"
		run=("$here/scale.sh" "$name")
		seed=1
		[[ ! " $args " =~ " seed="([0-9]+)" " ]] || seed=${BASH_REMATCH[1]}
		[[ $scenario == scale ]] || run=("$here/uml.sh" --seed "$seed" --mem 8G --timeout 3600 -- "$here/run.sh" "$scenario" "$name")
		# shellcheck disable=SC2086 # the words of a run
		"${run[@]}" $args
		stamp "$scenario" "$name" "$args" >"$RESULTS/$name/stamp"
	fi
	if [[ $scenario != scale ]]; then
		"$here/measure.sh" "$name"
		[[ ! -e $RESULTS/$name/rates.gz ]] || "$here/../flent.sh" -q -o "$RESULTS/$name" "$RESULTS/$name"
		echo "$measure" >"$RESULTS/$name/measured"
	fi
	echo "end $weight $scenario $name" >&3
	exit
fi

mkdir -p "$results"
exec 7>"$results/.lock"
flock -n 7 || die "another bench.sh is at work in $results"

# undone: runs of the plan that are not there, or not measured as now
undone()
{
	while read -r scenario name args; do
		is_run "$scenario" "$name" "$args" && is_measured "$scenario" "$name" ||
			echo "$scenario $name $args"
	done <<<"$plan"
}

judge() # the runs of the plan that are there
{
	while read -r scenario name args; do
		! is_run "$scenario" "$name" "$args" || cat "$results/$scenario/$name.json"
	done <<<"$plan" | jq -s . >"$tmp/all.json"
	RESULTS=$results "$here/judge.sh" "$tmp/all.json"
}

# follow: where we are, at most every 20 s, by what the runs say. Of one at work half counts.
follow()
{
	local what weight run said=-20 n=0 sum=0 at=0
	local -A now=()
	while read -r what weight run; do
		if [[ $what == begin ]]; then
			now[$run]=$weight
			: $((at += weight))
		else
			unset "now[$run]"
			: $((n++, at -= weight, sum += weight))
		fi
		((SECONDS - said >= 20)) || continue
		said=$SECONDS
		printf '  %d of %d runs in %d s%s; now %s\n' $n "$runs" "$SECONDS" \
			"$( ((!sum)) || echo ", about $((SECONDS * (2 * (total - sum) - at) / (2 * sum + at))) s to go")" \
			"$(printf '%s\n' "${!now[@]}" | sort | paste -sd , | sed 's/,/, /g')"
	done
}

tmp=$(mktemp -d)
parallel=
# shellcheck disable=SC2317 # a trap calls it
finish()
{
	trap - EXIT INT TERM
	[[ -z $parallel ]] || kill -- "-$parallel" 2>/dev/null || true
	wait
	if [[ $1 -gt 128 ]]; then
		judge >"$tmp/judged" 2>&1 || true
		echo "stopped; 'make bench' goes on from here." >&2
		echo "$results/report.html is of $(jq length "$tmp/all.json") of $(wc -l <<<"$plan") runs" >&2
	fi
	rm -rf "$tmp"
	exit "$1"
}
trap 'finish $?' EXIT
trap 'finish 130' INT
trap 'finish 143' TERM

[[ -z ${FORCE-} ]] || while read -r scenario name _; do
	rm -f "$results/$scenario/$name/stamp"
done <<<"$plan"
undone >"$tmp/due"
runs=$(wc -l <"$tmp/due")
echo "$(wc -l <<<"$plan") runs, $runs to do"
# shellcheck disable=SC2094 # both read it
"$here/plan.sh" --weights <"$tmp/due" | paste -d ' ' - "$tmp/due" | sort -s -k 1,1nr >"$tmp/jobs"
total=$(awk '{ n += $1 } END { print n + 0 }' "$tmp/jobs")
export RESULTS_LAB=$results FORCE=${FORCE-} CCS CC_KO=${CC_KO:+$(realpath "$CC_KO")} CC_SYSCTLS=${CC_SYSCTLS-} CC_QUEUE=${CC_QUEUE-}
elsewhere=()
# shellcheck disable=SC2054 # a list is one word
[[ -z ${HOSTS-} ]] || elsewhere=(-S "${HOSTS// /,}" --env RESULTS_LAB,FORCE,CCS,CC_KO,CC_SYSCTLS,CC_QUEUE
	--return "$results/{2}/{3}" --return "$results/{2}/{3}.json" ${own:+--basefile "$CC_KO"})
# in a process group of its own, so that nothing of a run stays when it is stopped
set -m
parallel --plain --will-cite --line-buffer -a "$tmp/jobs" --colsep ' ' "${elsewhere[@]}" \
	"${here@Q}/bench.sh" --one {} > >(follow) &
parallel=$!
set +m
wait "$parallel" || true
parallel=
undone >"$tmp/failed"
status=0
rm -f "$results/report.html"
judge || status=$?
# known.bounds knows nothing of somebody's own, nor are its runs to be judged
[[ -z $own || ! -s $results/report.html ]] || status=0
[[ ! -s $tmp/failed ]] || { sed 's/^/failed: /' "$tmp/failed" >&2; die "runs failed (above); what has been run stays"; }
exit "$status"
