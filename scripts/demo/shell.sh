#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A shell in which each box of a topology is a command, with agents on its hosts and
# ports: "h1 iperf3 -c r", "s1 hpccpp monitor". It runs in the place that place.sh says,
# and removes everything at its end.
#
# TOPO is a bash file that uses selftests/lib/lib.sh: topo_line, or topo_begin, link, route,
# shape, round_trip and topo_up. The ports in "ports" get agents, which are those that
# "shape" gave a rate. If the file sets "edges" to the rate of r's link, hosts alone get agents.
# Boxes whose names begin with r get servers for iperf3. The head comment of the file is printed at
# the start.
#
# Where stdin is not a terminal, bash -eu -o pipefail runs the commands in it, and their
# status is the shell's.
# shellcheck disable=SC2317 # functions that are called by name
set -euo pipefail

usage="usage: shell.sh [TOPO]
TOPO: a file, or the name of one in topo/; dumbbell unless given"
here=$(realpath "${BASH_SOURCE%/*}")
inside=
commands=
while getopts c:I opt; do
	case $opt in
	c)	commands=$OPTARG ;;	# a file, instead of a terminal
	I)	inside=1 ;;		# we are in the place
	*)	echo "$usage" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[[ $# -le 1 ]] || { echo "$usage" >&2; exit 2; }
topo=${1-dumbbell}
[[ $topo == */* || ! -e $here/topo/$topo.sh ]] || topo=$here/topo/$topo.sh

if [[ -z $inside ]]; then
	# shellcheck source-path=SCRIPTDIR source=../common.sh
	. "$here/../common.sh"
	[[ -z ${HPCCPP_KO-} ]] || die "not inside a place: it goes there by itself"
	[[ -f $topo && -r $topo ]] ||
		bad "TOPO '$topo': no file that can be read (examples: $here/topo/*.sh)"
	wrong=$(bash -n -- "$topo" 2>&1) || bad "TOPO '$topo': not bash: $wrong"
	topo=$(realpath -- "$topo")
	export RESULTS=${RESULTS:-$(realpath "$here/../..")/results}
	where=$("$here/../place.sh" --where)
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	terminal=(--tty)
	if [[ ! -t 0 ]]; then
		cat >"$tmp/commands"
		grep -q '[^[:space:]]' "$tmp/commands" || bad "stdin is not a terminal, and has no commands"
		commands=$tmp/commands
		terminal=()
	fi
	step SHELL "${topo##*/} in $where"
	status=0
	"$here/../place.sh" -q "${terminal[@]}" --timeout $((365 * 86400)) -- \
		"$here/shell.sh" -I ${commands:+-c "$commands"} "$topo" || status=$?
	exit "$status"
fi

# shellcheck source-path=SCRIPTDIR source=../../selftests/lib/lib.sh
. "$here/../../selftests/lib/lib.sh"
own=				# the cgroup of the shell and of what it starts outside of boxes

at_end()
{
	local group
	stamping='' edged=''	# port agents go with the boxes, if they are there still
	for group in $own $CGROUP; do
		echo 1 >"$group/cgroup.kill"
	done
	[[ -z $own ]] || busywait 5 rmdir "$own"
}

# box NAME: a command of that name, which runs another one in that box. In the VM beside
# one that is never idle and always gives way: an idle guest's clock follows that of this
# machine, late by what it takes to wake up here; a busy one's counts instructions.
box()
{
	local busy=
	[[ $PLACE != vm ]] || busy='setpriv --pdeathsig KILL chrt -i 0 yes >/dev/null &'
	cat >"$tmp/bin/$1" <<-END
		#!/bin/bash
		echo \$\$ >$CGROUP/cgroup.procs
		[[ \$# -gt 0 ]] || { export BOX=$1; set -- bash --rcfile $tmp/rc -i; }
		$busy
		exec nsenter --net=/run/netns/${boxes[$1]} "\$@"
	END
	chmod +x "$tmp/bin/$1"
}

serve() # NETNS PORT
{
	while :; do
		in_ns "$1" iperf3 -s -p "$2" >/dev/null 2>&1 || sleep 1
	done
}

# banner: the head comment of TOPO, but for licence and linter
banner()
{
	echo
	sed -n '2,${/^#/!q; /^# shellcheck/d; s/^# \{0,1\}//p}' "$topo"
	echo
	echo "Each box is a command, alone it is a shell there; names with -v6 are IPv6. Servers for"
	echo "iperf3 on r* listen on ports 5201 to 5208."
	if [[ $PLACE == vm ]]; then
		echo "The clock counts a CPU's instructions: a second of traffic takes some seconds. Files stay"
		echo "in \$RESULTS only. exit ends the VM, Ctrl-] where it hangs."
	else
		echo "exit removes all of it."
	fi
}

# rc: of the shell, and of those in a box
rc()
{
	cat <<-END
		PS1='\${BOX:-hpccpp}# '
		HISTFILE=$RESULTS/shell.history
		. $top/tools/hpccpp.bash-completion
		boxes=(${!boxes[@]})
		complete -o bashdefault -o default -F _box ${!boxes[@]}
	END
	cat <<-'END'
		# after the name of a box a command, with hpccpp's words or names of boxes
		_box()
		{
			local COMP_WORDS=("${COMP_WORDS[@]:1}") COMP_CWORD=$((COMP_CWORD - 1)) cur
			cur=${COMP_WORDS[COMP_CWORD]}
			if [[ $COMP_CWORD -eq 0 ]]; then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
			elif [[ ${COMP_WORDS[0]} == hpccpp ]]; then
				_hpccpp
			else
				mapfile -t COMPREPLY < <(compgen -W "${boxes[*]}" -- "$cur")
			fi
		}
	END
}

load_hpccpp || { echo "no congestion control hpccpp" >&2; exit 1; }
OFFLOADS=default
edges=
set -E
trap 'echo "TOPO ${topo##*/}: ${BASH_SOURCE##*/}, line $LINENO: failed: $BASH_COMMAND" >&2' ERR
# shellcheck source=/dev/null
. "$topo"
trap - ERR
set +E
[[ ${#namespaces[@]} -gt 0 ]] || { echo "TOPO $topo: it makes no box" >&2; exit 1; }
make_cgroup
own=$CGROUP
make_cgroup
if [[ -n ${edges-} ]]; then
	edges_on "$edges"
else
	agents_on
fi

mkdir "$tmp/bin"
ln -s "$HPCCPP" "$tmp/bin/hpccpp"
declare -A boxes=()
for ns in "${namespaces[@]}"; do
	name=${ns%-*}
	boxes[$name]=$ns
	box "$name"
	[[ $name == r* ]] || continue
	for port in {5201..5208}; do
		run_bg serve "$ns" "$port"
	done
done
for name in "${!boxes[@]}"; do
	[[ $name != r* ]] || busywait 20 listening "${boxes[$name]}" 5208
	[[ -z ${addr4[$name]-} ]] || echo "${addr4[$name]} $name"
	[[ -z ${addr6[$name]-} ]] || echo "${addr6[$name]} $name-v6"
done | cat - /etc/hosts >"$tmp/hosts"
rc >"$tmp/rc"

shell=(bash --rcfile "$tmp/rc" -i)
if [[ -n $commands ]]; then
	shell=(bash -euo pipefail "$commands")
else
	banner
fi
export PATH=$tmp/bin:$PATH
# Names are those of a mount namespace: /etc/hosts stays as it is for others.
status=0
(
	echo "$BASHPID" >"$own/cgroup.procs"
	# shellcheck disable=SC2016 # that shell's
	exec unshare -m --propagation slave bash -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' \
		- "$tmp/hosts" "${shell[@]}"
) || status=$?
# how the last command before "exit" ended is not how the shell did
[[ -n $commands ]] || exit 0
exit "$status"
