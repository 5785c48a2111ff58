#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A part of the lab's suite, with all that is asserted of its runs: those that hold, and
# those that do not as scripts/lab/known.bounds lists them. And that lab bench goes on
# where it stopped, reports what is there when it is stopped, and refuses what it does
# not know. selftests/lab/report.sh has what it says of runs that differ from the list.
#
# check-all: host
# usual: 100
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "$here/../lib/lib.sh"
bench=("$top/scripts/lab/lab" bench)

flent_has() # SERIES FILE [SERIES FILE]...
{
	while [[ $# -gt 0 ]]; do
		XDG_CONFIG_HOME=$tmp HOME=$tmp flent -i "$2" -f summary >"$tmp/flent" 2>&1
		grep -qF "$1" "$tmp/flent" || { cat "$tmp/flent"; return 1; }
		shift 2
	done
}
/usr/bin/python3 -c 'import numpy' 2>/dev/null || ktap_skip_all "no python3-numpy"
export RESULTS_LAB=$top/.build/check/lab

# Runs of few hosts and little traffic, which between them have every kind of bound but
# those below. Of step and incast some are known not to hold.
part=(
	'long (hpccpp|dctcp)-(16x100g-8us-mtu1500-n64 |4x100g-8us-mtu1500-n64-notso)'
	'long hpccpp-4x10g-20us-mtu1500-n64'
	'long hpccpp-4x25g-20us-mtu498-n64-wire'
	'step hpccpp-pair-10g-(8us-stage0|20us-stage5)'
	'step hpccpp-rx-pair-10g-8us'
	'incast hpccpp-8x(10k-32|500k-(32|1))mb'
	'incast hpccpp-rx-8x500k-32mb'
	'probe 1flows-busy4'
	'fabric (hpccpp|dctcp)-fb_hadoop-30'
	'powertcp hpccpp-incast-10 '
	'parking hpccpp-asymmetric'
	'rtts hpccpp-2x25g-far5'
	'blind-hop bare'
	'harm (hpccpp|reno)-(none|reno)-200m-20000us-hop85-buffer30 '
	'latency hpccpp-10000m-30us-(lag30|jitter15)'
	'sparse 16x25g-20us-every-(1|rtt) '
	'flows-n 2flows'
	'sweep (eta100-stage5-2flows|rtt1000us-stage5)'
)
# An incast of 60, links that are full for 80 ms, and 100 hosts with agents take as long
# as all of these.
[[ -z ${LONG-} ]] || part+=(
	'long (hpccpp|dctcp)-((1|2|64)x100g-8us|(1|2|16)x100g-20us)-mtu1500-n64'
	'long hpccpp-(2|16)x100g-50us-mtu9000-n64'
	'int-response 60x500k-4mb-'
	'rpc (hpccpp|dctcp)-fb_hadoop'
	'powertcp hpccpp-(staggered|incast-256)'
	'messages hpccpp'
	'parking hpccpp-(receiver|nic)'
	'rollout hpccpp-told(0|25)'
	'layout hpccpp'
	'mixed'
	'integrity (none|full-key0)'
	'rx receiver-16flows'
	'flows-n 200flows'
	'sweep (64flows|400000mbit).*stage5'
)
ONLY="^($(IFS='|'; echo "${part[*]}"))"
export ONLY
scenarios="long step incast int-response probe fabric rollout rpc powertcp messages parking layout rtts mixed blind-hop harm latency integrity sparse rx flows-n sweep"

status=0
# shellcheck disable=SC2086 # words
FORCE=1 "${bench[@]}" $scenarios >"$tmp/first" 2>&1 || status=$?
if [[ ! -s $RESULTS_LAB/bounds ]]; then
	ktap_plan 1
	ktap_not_ok "lab bench"
	ktap_diag "$(tail -n 20 "$tmp/first")"
	ktap_finish
fi
cp "$RESULTS_LAB/bounds" "$tmp/bounds"
mapfile -t bounds < <(grep -v '^note' "$tmp/bounds")

ktap_plan $((${#bounds[@]} + 15))
for line in "${bounds[@]}"; do
	case $line in
	ok*)	ktap_ok "${line#ok }" ;;
	known*)	ktap_ok "known not to hold: ${line#known }" ;;
	*)	ktap_not_ok "$line" ;;
	esac
done
assert_ge "bounds" "${#bounds[@]}" 50
assert_ge "bounds that are known not to hold" "$(grep -c '^known' "$tmp/bounds")" 2
assert_eq "lab bench: status" "$status" 0
# shellcheck disable=SC2086 # words
"${bench[@]}" $scenarios >"$tmp/again" 2>&1 || true
check "what is there is not run again" grep -q ' runs, 0 to do$' "$tmp/again"
check "the same bounds again" cmp "$tmp/bounds" "$RESULTS_LAB/bounds"
name=incast-hpccpp-8x500k-1mb
for file in "$RESULTS_LAB"/*/*/rates.csv.gz; do
	read -r scenario run < <(jq -r '"\(.scenario) \(.name)"' "${file%/*}/meta.json")
	[[ -s $RESULTS_LAB/$scenario/$run/$scenario-$run-queue.flent.gz ]] || echo "$scenario $run"
done >"$tmp/without"
assert_eq "runs that follow rates, without flent's files" "$(wc -l <"$tmp/without")" 0
check "... flent's summary has the queue and the rates of a run" flent_has \
	"qdisc-stats::backlog_bytes" "$RESULTS_LAB/incast/hpccpp-8x500k-1mb/$name-queue.flent.gz" \
	"TCP upload::8" "$RESULTS_LAB/incast/hpccpp-8x500k-1mb/$name-flows.flent.gz"
assert_le "W by the receiver, one queue is answered once: completion over ideal" \
	"$(jq .metrics.completion_over_ideal "$RESULTS_LAB/incast/hpccpp-rx-8x500k-32mb.json")" 1.2

jitter=$RESULTS_LAB/latency/hpccpp-10000m-30us-jitter15
check "another seed is another jitter" \
	test -n "$(cmp <(jq .metrics "$jitter.json") <(jq .metrics "$jitter-seed2.json"))"

# With results of its own, stopped when its first run is at work and one has ended.
stopped()
{
	local pid status=0
	ONLY='incast (cubic|dctcp)-8x10k-1mb|long hpccpp-64x100g-50us-mtu1500-n64 ' RESULTS_LAB=$tmp/stopped \
		"${bench[@]}" incast long >"$tmp/stopped.out" 2>&1 &
	pid=$!
	busywait 120 test -e "$tmp/stopped/incast/dctcp-8x10k-1mb/measured" -a \
		-e "$tmp/stopped/incast/cubic-8x10k-1mb/measured" || return
	kill -TERM "$pid"
	wait "$pid" || status=$?
	cat "$tmp/stopped.out"
	[[ $status -eq 143 && -s $tmp/stopped/report.html ]] &&
		grep -qxF "$tmp/stopped/report.html is of 2 of 3 runs" "$tmp/stopped.out" &&
		grep -qE '^  0 of 3 runs in [0-9]+ s; now (long hpccpp-64x100g-50us-mtu1500-n64|incast (cubic|dctcp)-8x10k-1mb)' "$tmp/stopped.out"
}
check "stopped, it reports the runs that are there, and names those at work" stopped
nothing_left() { ! pgrep -fa -- "lab one [0-9]+ long hpccpp-64x100g-50us-mtu1500-n64"; }
check "... of which nothing is left" busywait 10 nothing_left

# On another machine, which is this one, but for its results: HOSTS, and an ssh to it, which
# as sshd does says what the login shell is.
mkdir -p "$tmp"/{bin,far,there}
cat >"$tmp/bin/ssh" <<END
#!/bin/bash
while [[ \$1 == -* ]]; do shift; done
shift
[[ \$1 != -- ]] || shift
export SHELL=/bin/bash
exec unshare -m bash -c 'mount --bind $tmp/there $tmp/far && cd / && . $tmp/bin/other && eval "\$*"' - "\$@"
END
chmod +x "$tmp/bin/ssh"
: >"$tmp/bin/other"
elsewhere()
{
	PATH=$tmp/bin:$PATH HOSTS=machine ONLY='incast (cubic|dctcp)-8x10k-1mb' RESULTS_LAB=$tmp/far FORCE=1 \
		"${bench[@]}" incast >"$tmp/far.out" 2>&1
}
brought()
{
	if ! elsewhere || [[ ! -s $tmp/there/incast/dctcp-8x10k-1mb.json ]]; then
		cat "$tmp/far.out"
		return 1
	fi
	# flent's files have the time at which they were made
	diff -r -x '*.flent.gz' "$tmp/stopped/incast" "$tmp/far/incast"
}
refused() { ! elsewhere && grep -q '^failed: incast dctcp-8x10k-1mb ' "$tmp/far.out"; }
if unshare -m true; then
	check "done by ssh on another machine: the same bytes" brought
	echo "sed -i 's/^[0-9a-f]*/other/' $tmp/far/incast/*/stamp 2>/dev/null || true" >"$tmp/bin/other"
	check "... and with other binaries there: refused" refused
else
	ktap_skip "done by ssh on another machine" "no mount namespaces"
	ktap_skip "... and with other binaries there" "no mount namespaces"
fi

refuses() # NAME TEXT COMMAND...
{
	local name=$1 text=$2 said status=0
	shift 2
	said=$("$@" 2>&1) || status=$?
	check "$name" test "$status" -eq 2 -a -z "${said##*"$text"*}"
}
refuses "unknown scenario" "unknown scenario 'nonsense' (known: " "${bench[@]}" nonsense
refuses "a part without a run" "no run of long is for CC=cubic ONLY=^nothing" \
	env CCS=cubic ONLY=^nothing "${bench[@]}" long
ktap_finish
