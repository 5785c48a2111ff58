#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The command on a host at work: show, monitor, check and the samples for Prometheus
# under traffic; that the manual pages name every counter, trace field, key, metric
# and exit status, and no other; and in them and in README.md all examples, and all output.
#
#	h1 -100M- s1 ==10M== r		h1 is under hpccpp
#	doc: eth0, swp1			where README's commands are run
#	alone: eth0, eth9		where those of hpccpp-cnp(8) are
#
# check: 6.1 main
# usual: 120
# shellcheck disable=SC2317,SC2128,SC2154 # functions that check calls; of tcp_send; by name
set -euo pipefail

RATE=10mbit
EDGE=100mbit
OFFLOADS=default
PORT_AGENT="edge overhead 1 above 1 dscp 0 respond 398 respond-to receiver accept 10.0.0.0/8 cnp 398 source fd00:5::1 ecn mark capable fd00::/16 ioam 1 border"	# all keys there are
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

# without COMMAND...: where the kernel's types and cgroup2 are out of sight, and process 1
# with its mounts
without()
{
	# shellcheck disable=SC2016 # that shell's
	unshare -m -p -f --mount-proc bash -c 'umount -a -l -t cgroup2 &&
		mount -t tmpfs none /sys/kernel/btf || exit 99
		"$@"' - "$@"
}
no_module=
[[ -d /sys/module/tcp_hpccpp ]] || no_module=1
without=0
if runs_rest; then
	without "$HPCCPP" check >"$tmp/without" 2>&1 || without=$?
fi
load_hpccpp || ktap_skip_all "no congestion control hpccpp"
echo "TAP version 13"

man=$top/tools/man
cmd_page=$man/hpccpp.8 tcp_page=$man/tcp_hpccpp.7
declare -A page_of=([port]=$man/hpccpp-port.8 [host]=$man/hpccpp-host.8 [flow]=$cmd_page [check]=$cmd_page)
# Examples call the command, the module's name and "sysctl" as everybody does.
mkdir "$tmp/bin"
ln -s "$HPCCPP" "$tmp/bin/hpccpp"
PATH=$tmp/bin:$PATH

is() { check "$1: $2" [ "$2" = "$3" ]; }	# NAME VALUE WANTED
same() { diff "$1" "$2"; }		# FILE FILE
json() { "$HPCCPP" -j "$@"; }

status() { local s=0; "$@" >"$tmp/out" 2>"$tmp/err" || s=$?; echo "$s"; }
state_of() { jq -r --arg c "$1" '.[] | select(.check == $c) | .status' "$tmp/check"; } # CHECK
checked() # [ARGUMENT...]: leaves $tmp/check and $checked, the exit status
{
	checked=$(status "$HPCCPP" -j check "$@")
	cp "$tmp/out" "$tmp/check"
}

# --- Under traffic ---------------------------------------------------------------

under_traffic()
{
	json port show netns "$s1" >"$tmp/ports"
	json port show netns "$h1" >"$tmp/port"
	json host show cgroup "$CGROUP" >"$tmp/host"
	json flow show netns "$h1" >"$tmp/flow"
	json show netns "$h1" >"$tmp/show"
	json monitor netns "$h1" count 2 interval 0.5 >"$tmp/monitor"
	"$HPCCPP" -o prom show netns "$h1" >"$tmp/prom"
	checked netns "$h1"
	assert_eq "check of a sender that has all: status" "$checked" 0
	is "... the peer is there" "$(state_of peers)" ok
	is "... and the module" "$(state_of module)" ok
	check "port show: load, stamps over those of h1 and age of the bottleneck" jq -e \
		'.[0] | .U > 0 and .rate == 10000000 and .stats.replaced > 100 and .age < 1e6' \
		"$tmp/ports"
	# more than it holds, for a link that takes two minutes for each packet: less than the
	# 10 kbit/s that a port may say
	setup_ns full
	ip -n "$full" -batch - <<END
link add d0 type veth peer d1
addr add 10.8.0.1/24 dev d0
link set d0 up
link set d1 up
neigh add 10.8.0.2 lladdr 02:00:00:00:00:02 dev d0
END
	tc -n "$full" qdisc add dev d0 root tbf rate 64bit burst 1600 limit 5000
	"$HPCCPP" port add dev d0 netns "$full" rate 10kbit base-rtt 1ms
	shown_as_by_tc()
	{
		local tc
		in_ns "$full" bash -c 'for i in {1..8}; do printf %01000d 0 >/dev/udp/10.8.0.2/9; done'
		tc=$(tc -s -j -n "$full" qdisc show dev d0 root | jq -c '.[0] | [.backlog, .drops]')
		json port show dev d0 netns "$full" >"$tmp/full"
		jq -e --argjson tc "$tc" '.[0] | [.backlog, .drops] == $tc and .backlog > 0 and .drops > 0' "$tmp/full"
	}
	check "port show: backlog and drops, as tc has them" busywait 10 shown_as_by_tc
	# what waits has sockets, and these the namespace
	tc -n "$full" qdisc del dev d0 root
	if [[ -n ${PROMTOOL-} ]]; then
		check "promtool takes the samples" "$PROMTOOL" check metrics <"$tmp/prom"
	else
		ktap_skip "promtool takes the samples" "scripts/check.sh has not fetched it"
	fi
	check "show has all objects" jq -e '(.ports | length) == 1 and (.flows | length) == 1 and
		(.hosts | length) >= 1 and .module[0].counters.updates > 100' "$tmp/show"
	# the values of an interval are tested in selftests/unit/monitor_test.c
	lines_of() { jq -c --arg o "$1" 'select(.object == $o)' "$tmp/monitor"; } # OBJECT
	check "monitor: what a port of 10 Mbit/s after one of 100 Mbit/s sends in an interval" jq -e \
		'.tx_rate > 5e6 and .tx_rate < 15e6 and .new_drops == 0' <(lines_of port | tail -n 1)
	check "... what the host agent requested" jq -e '.asked_rate > 10 and .echoes_rate > 10' \
		<(lines_of host | tail -n 1)
}

# --- What the manual pages list ---------------------------------------------------

lists_of_pages()
{
	# keys: of JSON, those of objects in it as OBJECT.KEY
	keys()
	{
		jq -r '.[0] | to_entries[] | .key, (select(.value | type == "object") |
			.key as $k | .value | keys[] | "\($k).\(.)")' "$1" | sort
	}
	jq '[map(select(has("advice")))[0]]' "$tmp/check" >"$tmp/advised"
	for what in port host flow check:advised; do
		items "${page_of[${what%:*}]}" "keys: ${what%:*}" | sort >"$tmp/listed"
		keys "$tmp/${what#*:}" >"$tmp/there"
		check "the pages: the $(wc -l <"$tmp/listed") keys of ${what%:*}" same "$tmp/listed" "$tmp/there"
		key_types "${page_of[${what%:*}]}" "keys: ${what%:*}" | grep -v '\.' | sort >"$tmp/listed"
		jq -r '.[0] | to_entries[] | "\(.key) \(.value | type)"' "$tmp/${what#*:}" | sort >"$tmp/there"
		check "... and their types" same "$tmp/listed" "$tmp/there"
	done
	items "$cmd_page" "keys: show" >"$tmp/listed"
	jq -r 'keys_unsorted[]' "$tmp/show" >"$tmp/there"
	check "hpccpp(8): the keys of show" same "$tmp/listed" "$tmp/there"
	check "... and show help's" same "$tmp/listed" \
		<("$HPCCPP" show help 2>&1 | sed -n 's/^JSON: \(.*\): see.*/\1/p' | tr ' ' '\n')
	for what in port flow host; do
		items "$cmd_page" "keys: monitor" >"$tmp/listed"
		items "$cmd_page" "keys: monitor $what" >>"$tmp/listed"
		jq -r -s '.[0] | keys[]' <(lines_of "$what") | grep -vxFf <(keys "$tmp/$what") >"$tmp/there"
		check "hpccpp(8): the keys of monitor, $what" same <(sort "$tmp/listed") <(sort "$tmp/there")
	done
	items "$cmd_page" metrics: >"$tmp/listed"
	awk '$2 == "TYPE" { print $3 }' "$tmp/prom" >"$tmp/there"
	check "hpccpp(8): the metrics" same <(sort "$tmp/listed") <(sort "$tmp/there")
	items "$cmd_page" statuses: >"$tmp/listed"
	{
		status "$HPCCPP" port show
		status "$HPCCPP" check netns "$full" role switch
		status "$HPCCPP" port show dev none
		status "$HPCCPP" help
	} >"$tmp/there"
	check "hpccpp(8): the exit statuses" same "$tmp/listed" "$tmp/there"

	check "tcp_hpccpp(7): the counters" same <(items "$tcp_page" counters:) \
		<(in_h1 cut -d' ' -f1 /proc/net/hpccpp)
	sed -n 's/^print fmt: "\([^"]*\)".*/\1/p' /sys/kernel/tracing/events/hpccpp/hpccpp_update/format |
		grep -oE '[A-Za-z_]+=' | tr -d = >"$tmp/there"
	check "tcp_hpccpp(7): the fields of the trace event" same <(items "$tcp_page" fields:) "$tmp/there"
}

# --- What check finds missing ------------------------------------------------------

missing()
{
	# finds LINE ADVICE: check has said so, and what to do
	finds() { grep -A 1 -xF "$1" "$tmp/without" | grep -qxF "         $2" || { cat "$tmp/without"; false; }; }

	assert_eq "check without what it takes: status" "$without" 1
	if [[ -n $no_module ]]; then
		found='not installed for this kernel' advice="make && make install && modprobe tcp_hpccpp"
		if grep -q '/tcp_hpccpp\.ko' "/lib/modules/$(uname -r)/modules.dep"; then
			found='installed, not loaded' advice="modprobe tcp_hpccpp"
		fi
		check "... the module" finds "missing  module: $found" "$advice"
	else
		ktap_skip "... the module" "it was loaded"
	fi
	check "... cgroup2" finds "missing  cgroup2: not mounted" "mount -t cgroup2 none /sys/fs/cgroup"
	btf=/sys/kernel/btf/vmlinux
	check "... the kernel's types" finds "missing  kernel types: no $btf" \
		"use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions' are, or name its vmlinux in HPCCPP_BTF"
	is "... which the port's agent and flow show take, the host's does not" \
		"$(sed -nE 's/^([a-z]+) +([a-z]+) .*loads: .*/\2 \1/p' "$tmp/without" | paste -sd,)" \
		"host ok,port missing,flow note"
	# says ERROR COMMAND...: refused without the types, in that line
	says() { [[ $(status without "${@:2}") == 2 && $(<"$tmp/err") == "Error: $1." ]] || { cat "$tmp/err"; false; }; }
	lack="agent: no $btf, which a kernel with CONFIG_DEBUG_INFO_BTF has"
	check "a port without them" says "cannot load the port $lack, and no file of that kind in HPCCPP_BTF" \
		"$HPCCPP" port add dev eth0 netns "$r"
	check "flow show without them" says "cannot load the flow $lack" "$HPCCPP" flow show
	check "... for which another file will not do" says "cannot load the flow $lack" \
		env HPCCPP_BTF="$tmp/btf" "$HPCCPP" flow show
}

# --- Examples and what is displayed ---------------------------------------------------

# examples FILE...: each into a file of $tmp/examples, NN:PAGE.HOW. Of a manual page what
# stands in a display, HOW being the last word of the comment before it: "run:", "C:",
# "alone:", "shows:", or "none:" when there is none; of README.md what is indented by four
# blanks, where "# COMMAND" shows what that prints.
examples()
{
	rm -rf "$tmp/examples"
	mkdir "$tmp/examples"
	awk -v dir="$tmp/examples" '
		function begin(how) {
			page = FILENAME
			sub(/.*\//, "", page)
			file = sprintf("%s/%02d:%s.%s", dir, ++n, page, how)
		}
		FILENAME ~ /\.md$/ {
			if (/^```/) fence = !fence
			if (/^    / && !fence) {
				if (!file) begin(/^    # / ? "shows" : "run")
				print substr($0, 5) >file
			} else {
				file = ""
			}
			next
		}
		/^\.\\" .*:/ { how = $NF; sub(/:$/, "", how); next }
		/^\.Bd/ { begin(how); on = 1; next }
		/^\.Ed/ { on = 0 }
		{ how = "none" }
		on { gsub(/\\e/, "\\"); gsub(/\\&/, ""); print >file }' "$@"
}
named() { local name=${1##*:}; echo "${name%.*}: $(head -n 1 "$1")"; } # FILE of examples

# A program around statements in C, with a socket of TCP that is fd.
run_c() # NETNS FILE
{
	{
		printf '%s\n' '#include <netinet/in.h>' '#include <netinet/tcp.h>' \
			'#include <stdio.h>' '#include <sys/socket.h>' \
			'int main(void) { char name[16] = ""; socklen_t len = sizeof(name);' \
			'int fd = socket(AF_INET, SOCK_STREAM, 0), ret ='
		cat "$2"
		printf '%s\n' 'getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len);' \
			'puts(name); return ret; }'
	} >"$tmp/example.c"
	gcc -Wall -o "$tmp/example" "$tmp/example.c" && [[ $(in_ns "$1" "$tmp/example") == hpccpp ]]
}

run() { nsenter --net="/run/netns/$1" bash -euo pipefail "$2"; }	# NETNS FILE

# shown_like FILE: what stands there is the shape of what the command in its first line prints
# now, "..." being anything; on h1 behind "#", on s1 behind "switch#"
shown_like()
{
	local words host=$h1
	[[ $(<"$1") != switch#* ]] || host=$s1
	read -ra words < <(sed -n '1s/^[a-z]*# //p' "$1")
	in_ns "$host" "${words[@]}" >"$tmp/out" || return
	sed 1d "$1" | printed >"$tmp/wanted"
	printed <"$tmp/out" >"$tmp/shown"
	# shellcheck disable=SC2053 # a pattern
	if grep -qxF ... "$tmp/wanted"; then
		[[ $(paste -sd' ' "$tmp/shown") == $(paste -sd' ' "$tmp/wanted" | sed 's/ *\.\.\. */*/g') ]]
	else
		diff "$tmp/wanted" "$tmp/shown"
	fi || { cat "$tmp/out"; false; }
}

examples_of_commands()
{
	mount | grep -q ' /sys/fs/cgroup type cgroup2' || mount -t cgroup2 none /sys/fs/cgroup

	setup_ns alone
	ip -n "$alone" -batch - <<END
link set lo up
link add eth0 up type veth peer eth1
link add eth9 up type veth peer eth8
link set eth1 up
link set eth8 up
END
	pages=("$man"/hpccpp-{port,host,cnp}.8 "$cmd_page")
	examples "${pages[@]}" "$tcp_page"
	unmarked() { compgen -G "$tmp/examples/*.none"; }
	refuses() { ! "$@"; }
	check "each display of the pages is one to run or to compare, or an equation" refuses unmarked
	sed '0,/^\.\\" shows:/{//d}' "$cmd_page" >"$tmp/unmarked.8"
	examples "$tmp/unmarked.8"
	check "... one that is not is found" unmarked

	examples "${pages[@]}"
	files=("$tmp/examples"/*.run)
	assert_ge "the command's pages: examples" ${#files[@]} 8
	last=${files[-1]}
	for file in "$tmp/examples"/*.alone; do
		check "$(named "$file")" run "$alone" "$file"
	done
	json show netns "$alone" >"$tmp/alone"
	check "... a sender of RoCEv2, and a switch with a border" jq -e '
		(.cnps | map([.dev, .accept, .base_rtt])) == [["eth0", ["fd00:5::/64"], 50]] and
		(.ports | map([.dev, .base_rtt, .cnp, .source, .ioam, .node, .border])) == [
			["eth0", 20, 150, "2001:db8::5", 123, 5, null], ["eth9", 20, null, null, null, null, true]]' "$tmp/alone"
	check "$(named "$last")" run "$alone" "$last"
	nothing_left() { json show netns "$1" | jq -e '.ports == [] and .cnps == [] and .hosts == []'; }
	check "... and nothing is left" nothing_left "$alone"
	for file in "${files[@]}"; do
		check "$(named "$file")" run "$h1" "$file"
	done
	check "... and nothing is left" nothing_left "$h1"
}

default_cgroup()
{
	# the cgroup by default
	# hybrid COMMAND...: where cgroup2 is mounted as on a machine that has version 1 too
	hybrid()
	{
		# shellcheck disable=SC2016 # that shell's
		unshare -m -p -f --mount-proc bash -ec 'umount -a -l -t cgroup2
			mount -t tmpfs none /sys/fs/cgroup
			mkdir /sys/fs/cgroup/unified
			mount -t cgroup2 none /sys/fs/cgroup/unified
			eval "$1"' - "$*"
	}
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	cgroups() { json host show | jq -r '.[].cgroup'; }
	"$HPCCPP" host add records 2
	assert_eq "host add without a cgroup: the root" "$(cgroups)" "$root"
	assert_eq "... is shown by ip netns exec" "$(ip netns exec "$h1" "$HPCCPP" -j host show | jq -c 'map(.cgroup)')" "[\"$root\"]"
	(umask 077 && echo 00112233445566778899aabbccddeeff >"$tmp/key")
	assert_eq "... no key without one" "$(status "$HPCCPP" host key key-file "$tmp/key") $(<"$tmp/err")" \
		"2 Error: the host agent on cgroup \"$root\" was added without a key: delete and add it."
	assert_eq "... deleted by ip netns exec, by its path" "$(status ip netns exec "$h1" "$HPCCPP" host del "$root") $(cgroups)" "0 "
	assert_eq "... added and deleted by ip netns exec" \
		"$(status ip netns exec "$h1" "$HPCCPP" host add) $(cgroups) $(status "$HPCCPP" host del) $(cgroups)" "0 $root 0 "
	assert_eq "a hybrid hierarchy" "$(hybrid "'$HPCCPP' host add; '$HPCCPP' -j host show | jq -r '.[].cgroup'; '$HPCCPP' host del")" \
		/sys/fs/cgroup/unified
	assert_eq "without cgroup2" "$(status without "$HPCCPP" host add) $(<"$tmp/err")" \
		'2 Error: cgroup2 is not mounted, try "hpccpp check".'
}

displays_and_readme()
{
	# What they show, and all of tcp_hpccpp(7), which makes hpccpp the default of h1
	"$HPCCPP" host add cgroup "$CGROUP"
	PORT_AGENT=
	ports_on
	flow_start
	busywait 10 flow_is '.mode == "hpccpp" and .updates > 100'
	examples "${pages[@]}" "$tcp_page" "$top/README.md"
	files=("$tmp/examples"/*.7.{run,C})
	assert_ge "tcp_hpccpp(7): examples" ${#files[@]} 5
	for file in "$tmp/examples"/*:tcp_hpccpp.7.*; do
		case $file in
		*.run)	check "$(named "$file")" run "$h1" "$file" ;;
		*.C)	check "$(named "$file")" run_c "$h1" "$file" ;;
		esac
	done
	in_h1 sysctl -qw net.hpccpp.base_rtt_us=0
	files=("$tmp/examples"/*.shows)
	assert_ge "displayed output" ${#files[@]} 7
	for file in "${files[@]}"; do
		check "$(named "$file")" shown_like "$file"
	done
	sed '$s/ [a-z]/ x&/' "$file" >"$tmp/changed"
	check "... a word that is another is found" refuses shown_like "$tmp/changed"
	flow_end "flow beside what is displayed"
	idle() { json port show dev next netns "$s1" | jq -e '.[0] | .U == 0 and .qlen == 0 and .flows == 0 and .age > 1e6'; }
	check "port show: an idle port has no load" busywait 20 idle
	"$HPCCPP" host del cgroup "$CGROUP"

	# README.md, in a namespace of its own: the last of its commands undo the others.
	setup_ns doc
	ip -n "$doc" -batch - <<END
link add eth0 type veth peer eth1
link add swp1 type veth peer swp2
addr add 10.0.0.2/24 dev eth0
link set eth0 up
link set eth1 up
END
	tc -n "$doc" qdisc add dev swp1 root tbf rate 100mbit burst 3028 limit 512kb
	tc -n "$doc" qdisc add dev eth0 root tbf rate 100mbit burst 3028 limit 512kb
	commands=()
	for file in "$tmp/examples"/*:README.md.run; do
		# what runs this, install.sh, and packages
		[[ $(<"$file") == @(make|apt-get)* ]] || commands+=("$file")
	done
	assert_ge "README: blocks of commands" ${#commands[@]} 4
	for file in "${commands[@]:0:${#commands[@]}-1}"; do
		check "$(named "$file")" run "$doc" "$file"
	done
	check "README: its agents are there" jq -e '(.ports | length) == 3 and (.hosts | length) == 1' \
		<(json show netns "$doc")
	chosen_by_route() { ip -n "$doc" route | grep 'congctl hpccpp'; }
	chosen_by_default() { nsenter --net="/run/netns/$doc" sysctl -n net.ipv4.tcp_congestion_control | grep -x hpccpp; }
	check "... hpccpp is chosen for a route" chosen_by_route
	check "... and by default" chosen_by_default
	check "$(named "${commands[-1]}")" run "$doc" "${commands[-1]}"
	check "... nothing is left" nothing_left "$doc"
	check "... nor chosen" eval '! chosen_by_route && ! chosen_by_default'
}

# --- The run ---------------------------------------------------------------------

topo_line 1 1
in_h1() { nsenter --net="/run/netns/$h1" "$@"; }
agents_on
flow_start
busywait 10 flow_is '.mode == "hpccpp" and .updates > 100'
if runs_rest; then
	under_traffic
	lists_of_pages
	missing
fi
ports_off
"$HPCCPP" host del cgroup "$CGROUP"
if runs_main; then
	examples_of_commands
fi
flow_end "flow under the commands"
if runs_rest; then
	default_cgroup
fi
if runs_main; then
	displays_and_readme
fi
agents=
rmdir "$CGROUP"
CGROUP=
ktap_finish
