#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What comes with the command and needs no module: the manual pages are clean, the
# completion offers what the command takes, and what it prints for Prometheus is
# taken by promtool.
#
# place: host
# timeout: 120
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../scripts/common.sh
. "$top/scripts/common.sh"
HPCCPP=$top/.build/6.1/tools/hpccpp

echo TAP version 13

# --- Manual pages ------------------------------------------------------------

# Whether a page that another refers to is installed here is not about ours.
lint() { ! mandoc -T lint -W all "$1" 2>/dev/null | grep -v 'referenced manual not found'; }
for page in hpccpp.8 tcp_hpccpp.7; do
	check "mandoc -T lint $page" lint "$top/tools/$page"
done
check "mandoc finds what is wrong with a page" bash -c \
	"! printf '.Dd x\n.Sh NAME\n' | mandoc -T lint -W all"

# --- Completion --------------------------------------------------------------

# shellcheck source-path=SCRIPTDIR source=../tools/hpccpp.bash-completion
. "$top/tools/hpccpp.bash-completion"

completed() # WORD...: what is offered for the last, sorted, in one line
{
	local COMP_WORDS=(hpccpp "$@") COMP_CWORD=$# COMPREPLY=()
	_hpccpp
	printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}

# What the command says is allowed there, with more words that completion offers.
allowed() # WORD... -- MORE...
{
	local words=()
	while [[ $1 != -- ]]; do
		words+=("$1")
		shift
	done
	shift
	"$HPCCPP" "${words[@]}" 2>&1 | sed -n 's/.*allowed are \(.*\)\.$/\1/p' |
		tr -d ' ' | tr ',' '\n' | cat - <(printf '%s\n' "$@") | sed '/^$/d' | sort | paste -sd' '
}

same() # NAME OFFERED ALLOWED
{
	check "completion: $1: $2" [ -n "$2" -a "$2" = "$3" ]
}

options='-Version -help -json -output -pretty -statistics -verbose'
# shellcheck disable=SC2086 # lists
{
same "objects and options" "$(completed '')" "$(allowed @ -- $options)"
same "after -o" "$(completed -o '')" "$(allowed -o @ --)"
same "after options" "$(completed -j -o prom '')" "$(allowed @ -- $options)"
for object in port host flow; do
	same "commands of $object" "$(completed $object '')" "$(allowed $object @ --)"
done
for words in 'port add' 'port delete' 'port show' 'host add' 'host delete' 'host show' 'flow show' \
	show monitor check; do
	same "$words" "$(completed $words '')" "$(allowed $words @ -- help)"
done
same "values of queue" "$(completed port add dev eth0 queue '')" "$(allowed port add dev lo queue @ --)"
same "values of ask" "$(completed host add ask '')" "$(allowed host add cgroup / ask @ --)"
same "values of what" "$(completed monitor what '')" "$(allowed monitor what @ --)"
same "values of role" "$(completed check role '')" "$(allowed check role @ --)"
same "devices" "$(completed port add dev '')" "$(cd /sys/class/net && printf '%s\n' * | sort | paste -sd' ')"
}
same "a word begun" "$(completed mo)" monitor
same "a cgroup begun" "$(completed host add cgroup /pro)" /proc

# --- Prometheus ----------------------------------------------------------------

# promtool is part of a package with a daemon, which is not wanted on this machine:
# only this file of it, fetched once.
promtool=$cache/promtool/promtool
get_promtool()
{
	local got
	[[ ! -x $promtool ]] || return 0
	mkdir -p "$cache" && got=$(mktemp -d "$cache/tmp.XXXXXX") || return
	(
		private_apt_init "$got/apt" bookworm &&
			private_apt apt-get update &&
			cd "$got" && private_apt apt-get download prometheus &&
			dpkg-deb --fsys-tarfile prometheus_*.deb |
			tar -xO ./usr/bin/promtool >promtool && chmod 755 promtool &&
			mkdir -p "${promtool%/*}" && mv promtool "$promtool"
	)
	rm -rf "$got"
	[[ -x $promtool ]]
}

promtool_takes() { "$promtool" check metrics <"$1" >"$tmp/said" 2>&1 && [[ ! -s $tmp/said ]]; }

setup_ns box
# shellcheck disable=SC2154 # set by setup_ns
ip -n "$box" link add p0 type veth peer p1
tc -n "$box" qdisc add dev p0 root tbf rate 50mbit burst 3028 limit 512kb
port_and_host()
{
	make_cgroup && "$HPCCPP" host add cgroup "$CGROUP" && agents=host &&
		"$HPCCPP" port add dev p0 netns "$box"
}
if [[ $EUID -ne 0 ]] || ! port_and_host >"$tmp/said" 2>&1; then
	ktap_skip "promtool" "the agents cannot be loaded here: $(tail -n 1 "$tmp/said")"
	ktap_finish
fi
"$HPCCPP" -o prom show netns "$box" >"$tmp/prom"
check "samples of port and host" grep -q '^hpccpp_host_events_total{.*kind="asked"} 0$' "$tmp/prom"
check "rates in bytes/s" grep -q '^hpccpp_port_rate_bytes_per_second{.*dev="p0".*} 6250000$' "$tmp/prom"
check "promtool can be had" get_promtool
check "promtool has nothing to say of them" promtool_takes "$tmp/prom"
sed 's/_total/_count_s/' "$tmp/prom" >"$tmp/bad"
refuses() { ! promtool_takes "$1"; }
check "... but of bad names" refuses "$tmp/bad"
ktap_finish
