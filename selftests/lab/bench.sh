#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A small part of the lab's runs, and the claims about them. And that lab bench goes on where it stopped, reports what is
# there when it is stopped, runs on other machines, refuses what it does not know, and ends with the status that claims
# give it: those of a made-up scenario, in a copy of the lab.
#
# check-all: host
# usual: 60
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
/usr/bin/python3 -c 'import jinja2, matplotlib' 2>/dev/null || ktap_skip_all "no python3-jinja2, python3-matplotlib"
export RESULTS_LAB=$top/.build/check/lab PANEL=all

# Runs of few hosts and little traffic
part=(
	'step hpccpp-pair-10g-20us-stage5'
	'incast hpccpp(-rx)?-8x500k-32mb '
	'latency hpccpp-10000m-30us-jitter15(-seed2)? '
)
# An incast of 60, links that are full for 80 ms, and 100 hosts with agents
[[ -z ${LONG-} ]] || part+=(
	'long (hpccpp|dctcp)-((2|64)x100g-8us|16x100g-20us)-mtu1500-n64'
	'int-response 60x500k-4mb-'
	'fabric (hpccpp|dctcp)-fb_hadoop-30'
	'powertcp hpccpp-(staggered|incast-256)'
	'messages hpccpp'
	'probe 1flows-busy4'
	'parking hpccpp-(asymmetric|receiver|nic)'
	'layout hpccpp'
	'mixed'
	'blind-hop bare'
	'integrity (none|full-key0)'
	'rx receiver-16flows'
	'sweep (64flows|400000mbit).*stage5'
)
ONLY="^($(IFS='|'; echo "${part[*]}"))"
export ONLY

status=0
FORCE=1 "${bench[@]}" >"$tmp/first" 2>&1 || status=$?
claims=$(grep -E '^(holds|listed|unjudged|outdated|fails)  ' "$tmp/first" || true)
ktap_plan 21
assert_eq "lab bench: status" "$status" 0
check "... no claim fails or is outdated" [ -z "$(grep -E '^(fails|outdated)' <<<"$claims" || true)" ]
check "... how many there are" grep -q "^$(grep -c . <<<"$claims") claims: " "$tmp/first"
[[ $status -eq 0 ]] || ktap_diag "$(tail -n 20 "$tmp/first")"
"${bench[@]}" >"$tmp/again" 2>&1 || true
check "what is there is not run again" grep -q ' runs, 0 to do$' "$tmp/again"
check "the same claims again" cmp <(grep -v ' to do$\|^  ' "$tmp/first") <(grep -v ' to do$' "$tmp/again")
name=incast-hpccpp-8x500k-32mb
for file in "$RESULTS_LAB"/*/*/rates.csv.gz; do
	read -r scenario run < <(jq -r '"\(.scenario) \(.name)"' "${file%/*}/meta.json")
	[[ -s $RESULTS_LAB/$scenario/$run/$scenario-$run-queue.flent.gz ]] || echo "$scenario $run"
done >"$tmp/without"
assert_eq "runs that follow rates, without flent's files" "$(wc -l <"$tmp/without")" 0
check "... flent's summary has the queue and the rates of a run" flent_has \
	"qdisc-stats::backlog_bytes" "$RESULTS_LAB/incast/hpccpp-8x500k-32mb/$name-queue.flent.gz" \
	"TCP upload::8" "$RESULTS_LAB/incast/hpccpp-8x500k-32mb/$name-flows.flent.gz"
assert_le "W by the receiver, one queue is answered once: completion over ideal" \
	"$(jq .metrics.completion_over_ideal "$RESULTS_LAB/incast/hpccpp-rx-8x500k-32mb.json")" 1.2

jitter=$RESULTS_LAB/latency/hpccpp-10000m-30us-jitter15
check "another seed is another jitter" \
	test -n "$(cmp <(jq .metrics "$jitter.json") <(jq .metrics "$jitter-seed2.json"))"

# --- Claims ----------------------------------------------------------------------------

# A guest does not see files in /tmp.
copy=$top/.build/check/claims
rm -rf "$copy"
mkdir -p "$copy"
cp -r "$top/scripts" "$copy/"
ln -s "$top/.build" "$copy/.build"
cat >"$copy/scripts/lab/scenarios/mine.py" <<'END'
"""Made up"""

import os

from claims import Claim
from scenario import Scenario

SCENARIO = Scenario(
    about="Made up", runs=lambda _: ((name, dict(cc="cubic", flows=flows, size=20_000)) for name, flows in
                                     (("one", 1), ("two", 2))),
    claims=[Claim("goodput, Gbit/s", "goodput_gbit", "<=", float(os.environ["BOUND"]), runs=lambda p: True, why="None",
                  listed=float(os.environ["LISTED"]) if os.environ["LISTED"] else None)])
END
judged() # STATUS LINE BOUND LISTED [ONLY]: bench ends with it, and prints the verdict
{
	local status=0
	BOUND=$3 LISTED=$4 ONLY=${5-} RESULTS_LAB=$copy/results "$copy/scripts/lab/lab" bench mine >"$tmp/judged" 2>&1 || status=$?
	cat "$tmp/judged"
	[[ $status -eq $1 ]] && grep -qE "^$2" "$tmp/judged"
}
check "not all runs are there: one may be as listed" judged 0 'holds     mine: goodput, Gbit/s <= 100: ' 100 200 one
check "all runs are there: none is as listed" judged 1 'outdated  mine: goodput, Gbit/s <= 100: .* the worst of 2 runs ' 100 200
check "a claim holds" judged 0 '1 claims: 1 hold, 0 listed, 0 fail$' 100 ""
check "a claim fails" judged 1 'fails     mine: goodput, Gbit/s <= 0: .* in two, the worst of 2 runs, of which 2 miss it$' 0 ""
check "a claim is listed" judged 0 '1 claims: 0 hold, 1 listed, 0 fail$' 0 200
rm -rf "$copy"

# --- Other machines, and errors --------------------------------------------------------

# With results of its own, stopped when its first run is at work and one has ended.
stopped()
{
	local pid status=0
	ONLY='incast (cubic|dctcp)-8x10k-1mb |long hpccpp-64x100g-50us-mtu1500-n64 ' RESULTS_LAB=$tmp/stopped \
		"${bench[@]}" incast long >"$tmp/stopped.out" 2>&1 &
	pid=$!
	busywait 120 test -e "$tmp/stopped/incast/dctcp-8x10k-1mb/measured" -a \
		-e "$tmp/stopped/incast/cubic-8x10k-1mb/measured" || return
	kill -TERM "$pid"
	wait "$pid" || status=$?
	cat "$tmp/stopped.out"
	[[ $status -eq 143 && -s $tmp/stopped/report.html ]] &&
		grep -qxF "$tmp/stopped/report.html: report of 2 runs" "$tmp/stopped.out" &&
		grep -qE '^  0 of 3 runs in [0-9]+ s; now (long hpccpp-64x100g-50us-mtu1500-n64|incast (cubic|dctcp)-8x10k-1mb)' "$tmp/stopped.out"
}
check "stopped, it reports the runs that are there, and names those at work" stopped
nothing_left() { ! pgrep -fa -- "lab one [0-9]+ long hpccpp-64x100g-50us-mtu1500-n64"; }
check "... of which nothing is left" busywait 10 nothing_left
killed()
{
	local pid
	ONLY='long hpccpp-64x100g-50us-mtu1500-n64 ' RESULTS_LAB=$tmp/killed "${bench[@]}" long &
	pid=$!
	busywait 60 test -e "$tmp/killed/long/hpccpp-64x100g-50us-mtu1500-n64/script" || return
	kill -KILL "$pid"
	busywait 10 nothing_left
}
check "killed, it leaves no run at work" killed

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
	PATH=$tmp/bin:$PATH HOSTS=machine ONLY='incast (cubic|dctcp)-8x10k-1mb ' RESULTS_LAB=$tmp/far FORCE=1 \
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
refuses "a part without a run" "no run of long matches PANEL=all CC=cubic ONLY=^nothing" \
	env CCS=cubic ONLY=^nothing "${bench[@]}" long
ktap_finish
