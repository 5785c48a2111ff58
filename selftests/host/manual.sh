#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The manual pages are clean and agree with the command and the module; completion offers what
# the command accepts, also for abbreviated words.
#
# check: host
# usual: 30
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
HPCCPP=$top/.build/6.1/tools/hpccpp

echo TAP version 13
is() { check "$1: $2" [ "$2" = "$3" ]; }	# NAME VALUE WANTED

# --- Manual pages ------------------------------------------------------------

# mandoc's status counts a reference to a page that is not installed as an error.
lint() # PAGE
{
	local said
	said=$(mandoc -T lint -W all "$1" 2>/dev/null | grep -v 'referenced manual not found' || true)
	[[ -z $said ]] || { echo "$said"; false; }
}
for page in "$top"/tools/man/*.[78]; do
	check "mandoc -T lint ${page##*/}" lint "$page"
done
printf '.Dd x\n.Sh NAME\n' >"$tmp/bad.8"
lint_refuses() { ! lint "$1"; }
check "mandoc finds errors of a page" lint_refuses "$tmp/bad.8"

# The keys of JSON with their types; those of show have no type there.
for page in "$top"/tools/man/*.8; do
	sed -n 's/^\.\\" \(keys: .*\)/\1/p' "$page" | while read -r list; do
		[[ $list == 'keys: show' ]] || key_types "$page" "$list"
	done
done | sort -u >"$tmp/types"
assert_ge "the pages: keys" "$(wc -l <"$tmp/types")" 100
is "... without a type" "of $(grep -vE ' (number|string|boolean|array|object)$' "$tmp/types" || true)" "of "
is "... with two types" "of $(cut -d' ' -f1 "$tmp/types" | uniq -d)" "of "

check "INSTALL.md: the versions are those of scripts/matrix" diff <(grep -v '^#' "$top/scripts/matrix") \
	<(sed -nE 's/^\| ([a-z]+) \| ([0-9.]+) \| ([0-9.]+) \|$/\1 \2 \3/p' "$top/scripts/packaging/INSTALL.md")

# module_entry.c compares the same table with the module.
check "tcp_hpccpp(7): knobs, defaults and ranges are those of module_entry.c" diff <(awk '
	/^\.\\" knobs:/ { on = 1 }
	on && /^\.El/ { exit }
	on && /^\.It Va net\.hpccpp\./ { name = substr($3, 12) }
	on && /^Default [0-9]/ { gsub(/,/, ""); print name, $2, $4, $6 }' "$top/tools/man/tcp_hpccpp.7") \
	<(sed -n '/^} knobs/,/^}/s/[^a-z_0-9 ]//gp' "$top/selftests/unit/module_entry.c" | sed -n 's/^ \(.*[0-9]\) $/\1/p')

laws=$(sed -nE 's/^#define HPCCPP_LAW_NAMES \{ "([a-z]+)", "([a-z]+)" \}$/\1, the other value is \2/p' "$top/kmod/hpccpp_algo.h")
check "tcp_hpccpp(7): the default law and the other one are those of the module" \
	grep -qx "Default $laws\." "$top/tools/man/tcp_hpccpp.7"

check "hpccpp(8): the reasons of flows are those of the command" diff \
	<(items "$top/tools/man/hpccpp.8" reasons: | sed 's/^Cm //') \
	<(sed -n '/define HPCCPP_REASON_NAMES/,/}/p' "$top/tools/bpf/hpccpp_agent.h" | grep -oE '"[a-z-]+"' | tr -d '"')

# --- README.md ---------------------------------------------------------------

# packages: the words from "apt-get install" to the end of its lines
packages() { sed -n '/^ *apt-get install/,/[^\\]$/p' "$top/README.md" | grep -oE '[a-z][a-z0-9-]+' | sed 1,2d; }
known() { "$top/scripts/deps.sh" --list check; }
assert_ge "README: packages to build with" "$(packages | wc -l)" 8
is "... that deps.sh does not name" "of $(packages | grep -vx 'linux-headers-.*' | grep -vxFf <(known) || true)" "of "

# --- Completion --------------------------------------------------------------

# shellcheck source-path=SCRIPTDIR source=../../tools/hpccpp.bash-completion
. "$top/tools/hpccpp.bash-completion"

# sorted: the words of stdin, one a line, in one line
sorted() { sed '/^$/d' | sort | paste -sd' '; }
completed() # WORD...: words offered for the last one
{
	local COMP_WORDS=(hpccpp "$@") COMP_CWORD=$# COMPREPLY=()
	_hpccpp
	printf '%s\n' "${COMPREPLY[@]}" | sorted
}
# accepted ARGUMENT... -- MORE...: words that the command's message allows, and more
accepted()
{
	local args=()
	while [[ $1 != -- ]]; do
		args+=("$1")
		shift
	done
	{
		"$HPCCPP" "${args[@]}" 2>&1 | sed -n 's/.*allowed are \(.*\)\.$/\1/p' | tr -d ' ' | tr ',' '\n'
		printf '%s\n' "${@:2}"
	} | sorted
}
same() # NAME OFFERED WANTED
{
	check "completion: $1: $2" [ -n "$2" -a "$2" = "$3" ]
}

# Each line: the words typed so far, and after "|" arguments with a wrong word @ in place of the
# next one; "+" precedes words that the message does not have. The first word that is no keyword
# may be a device or a cgroup, the second is wrong.
options='-Version -help -json -netns -output -pretty -statistics -verbose'
while IFS='|' read -r typed wrong; do
	# shellcheck disable=SC2086 # words
	same "after $typed" "$(completed $typed '')" "$(accepted ${wrong/+/--})"
done <<END
 | @ + $options
-j -o prom | @ + $options
-o | -o @ +
port | port @ +
host | host @ +
flow | flow @ +
cnp | cnp @ +
port add | port add @ @ + help
port delete | port delete @ @ + help
port show | port show @ @ + help
host add | host add @ @ + help
host key | host key @ @ + help
host delete | host delete @ @ + help
host flush | host flush @ @ + help
host show | host show @ @ + help
flow show | flow show @ @ + help
cnp add | cnp add @ @ + help
cnp delete | cnp delete @ @ + help
cnp show | cnp show @ @ + help
show | show @ @ + help
monitor | monitor @ @ + help
check | check @ @ + help
port add border | port add @ @ +
port add dev lo | port add @ @ +
check role switch | check @ +
port add dev eth0 queue | port add dev lo queue @ +
port add dev eth0 respond-to | port add dev lo respond-to @ +
port add dev eth0 ecn | port add dev lo cnp 100 ecn @ +
host add ask | host add cgroup / ask @ +
host add mode | host add mode @ +
cnp add algorithm | cnp add dev lo accept ::1 algorithm @ +
cnp add answer | cnp add dev lo accept ::1 answer @ +
monitor what | monitor what @ +
monitor sort | monitor sort @ +
check role | check role @ +
END
devices() { cd /sys/class/net && printf '%s\n' * "$@" | sorted; }	# MORE...
same "devices" "$(completed port add dev '')" "$(devices all)"
same "... one by one" "$(completed cnp add dev '')" "$(devices)"
same "a word begun" "$(completed mo)" monitor
same "a cgroup begun" "$(completed host add cgroup /pro)" /proc

# Each line: abbreviated words, and words after which the same is offered
while IFS='|' read -r short whole; do
	# shellcheck disable=SC2086 # words
	same "$short, abbreviated" "$(completed $short '')" "$(completed $whole '')"
done <<'END'
port del | port delete
p a | port add
ho a | host add
--out json mon | monitor
mon wh | monitor what
po add de lo q | port add dev lo queue
po add bo | port add border
ho a req c / as | host add require cgroup / ask
ch ro | check role
port add eth7 | port add dev eth7
ho del / | host delete cgroup /
END
for words in h 'port add r' 'port add x y' 'flow show x'; do
	# shellcheck disable=SC2086 # words
	is "completion: $words: nothing, as the command refuses it" "$(completed $words '')" ""
done
ktap_finish
