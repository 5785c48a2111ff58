#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the command does to agents that are there: whom it waits for, the link ids of a
# device with several queues as they are shown and as they are written, agents of
# another build, and cgroups above and below one that has an agent.
#
#	netns box: t0 (tbf) --- t1, q0 (mq, two tbf) --- q1, w0 (mq, 4096 queues) --- w1 (4095)
#
# check: host
# usual: 30
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
HPCCPP=$top/.build/6.1/tools/hpccpp
[[ $EUID -eq 0 ]] || ktap_skip_all "not root: cannot load eBPF programs"

echo "TAP version 13"
# shellcheck disable=SC2154 # set by setup_ns
{
setup_ns box
ip -n "$box" -batch - <<END
link add t0 up type veth peer t1
link add q0 up numtxqueues 2 type veth peer q1 numtxqueues 2
link set q1 up
link add w0 numtxqueues 4096 type veth peer w1 numtxqueues 4095
END
tc -n "$box" -batch - <<END
qdisc add dev t0 root tbf rate 50mbit burst 3028 limit 512kb
qdisc add dev q0 root handle 1: mq
qdisc add dev q0 parent 1:1 tbf rate 10mbit burst 3028 limit 512kb
qdisc add dev q0 parent 1:2 tbf rate 10mbit burst 3028 limit 512kb
qdisc add dev w0 root handle 1: mq
qdisc add dev w1 root handle 1: mq
$(for ((i = 1; i <= 4096; i++)); do printf 'qdisc add dev w0 parent 1:%x pfifo\n' $i; done)
$(for ((i = 1; i <= 4095; i++)); do printf 'qdisc add dev w1 parent 1:%x pfifo\n' $i; done)
END
}
in_box() { nsenter --net="/run/netns/$box" "$@"; }
port() { "$HPCCPP" port "$1" dev "$2" netns "$box" "${@:3}"; }	# COMMAND DEV OPTION...
make_cgroup
tcx=
! in_box "$HPCCPP_BIN/tcx" show lo egress || tcx=1

# says STATUS PATTERN COMMAND...: one test; ends so, with one line like PATTERN
says()
{
	local status=0 want=$1 pattern=$2
	shift 2
	"$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	# shellcheck disable=SC2053 # a pattern
	if [[ $status -eq $want && $(<"$tmp/err") == $pattern ]]; then
		ktap_ok "$*: $status, $(<"$tmp/err")"
	else
		ktap_not_ok "$*: $status ($want), $pattern"
		ktap_diag "$(head -n 3 "$tmp/err")"
	fi
}

# --- Whom the command waits for ------------------------------------------------

# holds FILE COMMAND...: keeps it locked in the background, as the command says
holds()
{
	# shellcheck disable=SC2016 # that shell's
	run_bg "${@:2}" bash -c 'exec 9<"$0" && flock -x 9 && : >"$1" && exec sleep 60' "$1" "$tmp/held"
	busywait 5 test -e "$tmp/held"
	rm "$tmp/held"
}
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 "$CGROUP"
chmod 777 "$tmp"
holds /proc/self/ns/net nsenter --net="/run/netns/$box" "${nobody[@]}"
holds "$CGROUP" "${nobody[@]}"
soon() { timeout 20 "$@"; }
check "port add does not wait for a user without privileges" soon "$HPCCPP" port add dev t0 netns "$box"
check "... nor port delete" soon "$HPCCPP" port del dev t0 netns "$box"
says 2 'Error: the qdisc of t0 is tbf: rates take fq*' \
	soon "$HPCCPP" cnp add dev t0 netns "$box" accept fd00::/16
says 2 'Error: there is no agent on t0.' soon "$HPCCPP" cnp del dev t0 netns "$box"
check "... nor host add" soon "$HPCCPP" host add cgroup "$CGROUP"
"$HPCCPP" host del cgroup "$CGROUP"

lock=/run/hpccpp.lock
# apart COMMAND: run where /run is another, with the namespaces there
apart()
{
	# shellcheck disable=SC2016 # that shell's
	unshare -m bash -ec 'mount -t tmpfs none /mnt
		mkdir /mnt/netns
		mount --rbind /run/netns /mnt/netns
		mount --rbind /mnt /run
		eval "$1"
		shift
		exec "$@"' - "$@"
}
add=("$HPCCPP" port add dev t0 netns "$box")
# shellcheck disable=SC2016 # that shell's
assert_eq "the lock is root's alone" "$(apart : bash -c '"$@" && stat -c "%u %a" /run/hpccpp.lock' - "${add[@]}")" "0 600"
port del t0
says 2 'Error: lock "/run/hpccpp.lock" is wrong: allowed is a file that root alone may read or write.' \
	apart 'install -m 644 /dev/null /run/hpccpp.lock' "${add[@]}"
says 2 'Error: lock "/run/hpccpp.lock" is wrong: *' \
	apart 'install -m 600 -o nobody /dev/null /run/hpccpp.lock' "${add[@]}"
says 2 'Error: cannot open the lock "/run/hpccpp.lock": Read-only file system.' \
	apart 'mount -o remount,ro,bind /run' "${add[@]}"
check "a full /run: the lock is taken all the same" apart 'mount -t tmpfs -o size=4k,mode=755 none /mnt
	mkdir /mnt/netns
	mount --rbind /run/netns /mnt/netns
	mount --rbind /mnt /run
	install -m 600 /dev/null /run/hpccpp.lock
	! cat /dev/zero >/run/full 2>/dev/null' "${add[@]}"
port del t0
says 2 'Error: process unknown has held the lock "/run/hpccpp.lock" for 10 s.' \
	apart 'umask 77; exec 9>/run/hpccpp.lock; flock -x 9; echo nonsense >&9' timeout 60 "${add[@]}"
says 2 'Error: process 4711 has held the lock "/run/hpccpp.lock" for 10 s.' \
	apart 'umask 77; exec 9>/run/hpccpp.lock; flock -x 9; echo 4711 >&9' timeout 60 "${add[@]}"
says 2 'Error: there is no port on t0.' port del t0
# opened PROCESS: it has the lock's file, if not the lock
opened() { [[ -n $(find "/proc/$1/fd" -lname "$lock") ]]; }
exec 9<>$lock
flock -x 9
"${add[@]}" 9>&- &
waiting=$!
busywait 5 opened $waiting
exec 9>&-
status=0
wait $waiting || status=$?
assert_eq "who waits goes on when the lock is free" $status 0
port del t0
exec 9<>$lock
flock -x 9
"${add[@]}" 9>&- 2>"$tmp/said" &
waiting=$!
busywait 5 opened $waiting
ip -n "$box" link set t0 name moved
exec 9>&-
status=0
wait $waiting || status=$?
assert_eq "... with the device that has the name then" "$status: $(<"$tmp/said")" \
	'2: Error: cannot find device "t0".'
ip -n "$box" link set moved name t0

# --- What a command that was killed leaves ------------------------------------------

port add t0 base-rtt 9us
read -r id _ < <(programs "$box" t0 egress)
for map in $(bpftool -j prog show id "$id" | jq '.map_ids[]'); do
	[[ $(bpftool -j map show id "$map" | jq -r .name) == hpccpp_words ]] || continue
	# shellcheck disable=SC2046 # bytes
	bpftool map update id "$map" key 0 0 0 0 value hex $(head -c 16384 /dev/zero | xxd -p -c 1)
done
stale() { "$HPCCPP" -j port show dev t0 netns "$box" | jq -r '.[0].stale'; }
assert_eq "with the words of another command a port is stale" "$(stale)" \
	"a command was ended before it had told the port all"
port replace t0 base-rtt 9us
check "... until it is told" [ -z "$(stale)" ]
port del t0

# --- Link ids of a device with several queues ------------------------------------

# TCP from so many source ports, with space for a record: the link ids that they leave with
frame() # SOURCE-PORT: Ethernet, IPv4, TCP with 16 bytes of options
{
	printf '%s' 020000000001 020000000002 0800 \
		450000380001400040060000 0a000001 0a000002 \
		"$(printf %04x "$1")" 1451 00000001 00000001 9010 ffff 0000 0000 \
		fd104843 00000000 00000000 00000000
}
written() # DEV: in a line
{
	local id source index
	# struct __sk_buff: ifindex is its word 10, and what is not tested with is 0
	index=$(ip -n "$box" -j link show "$1" | jq '.[0].ifindex')
	{ head -c 40 /dev/zero; printf '%b' "\\x$(printf %02x "$index")"; head -c 151 /dev/zero; } >"$tmp/ctx"
	read -r id _ < <(programs "$box" "$1" egress)
	for ((source = 4000; source < 4020; source++)); do
		frame $source | xxd -r -p >"$tmp/in"
		in_box bpftool prog run id "$id" data_in "$tmp/in" data_out "$tmp/after" ctx_in "$tmp/ctx" >"$tmp/said"
		xxd -s 58 -l 2 -p "$tmp/after"
	done | sort -u | while read -r word; do echo $((16#$word >> 4)); done | paste -sd' '
}
shown() { "$HPCCPP" -j port show dev "$1" netns "$box" | jq -r 'map(.id) | join(" ")'; }

port add q0 id 100
assert_eq "two queues: ids as documented are shown" "$(shown q0)" "100 101"
assert_eq "... and written" "$(written q0)" "100 101"
port del q0
port add q0 id 4094
assert_eq "the largest ids are shown" "$(shown q0)" "4094 4095"
assert_eq "... and written" "$(written q0)" "4094 4095"
port del q0
says 255 'Error: id "4095" is wrong: with 2 queues allowed are 1 to 4094.' port add q0 id 4095
port add q0
ids=$(shown q0)
read -r first second <<<"$ids"
assert_eq "by default: one after the other" "$second" $((first + 1))
assert_ge "... from 1" "$first" 1
assert_le "... to 4095" "$second" 4095
assert_eq "... and these are written" "$(written q0)" "$ids"
port del q0
wide=(w0 rate 1mbit queue qdisc)
says 2 'Error: w0 has 4096 queues, too many for ids: allowed are up to 4095.' port add "${wide[@]}"
wide[0]=w1
says 255 'Error: id "2" is wrong: with 4095 queues allowed are 1 to 1.' port add "${wide[@]}" id 2
port add "${wide[@]}" id 1
assert_eq "4095 queues have all ids" \
	"$("$HPCCPP" -j port show dev w1 netns "$box" | jq -c '[length, .[0].id, .[4094].id]')" "[4095,1,4095]"
port del w1

# --- Agents of another build ------------------------------------------------------

cat >"$tmp/host.c" <<'END'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, int); __type(value, char[999]); } host SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, int); __type(value, char[288]); } hpccpp_version SEC(".maps");
SEC("sockops") int hpccpp_host(struct bpf_sock_ops *skops)
{
	int zero = 0;
	return bpf_map_lookup_elem(&host, &zero) && bpf_map_lookup_elem(&hpccpp_version, &zero);
}
char _license[] SEC("license") = "GPL";
END
# A host agent that can be read, with the counters that there were at first
cat >"$tmp/older.c" <<'END'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "hpccpp_agent.h"
#include "hpccpp_prefix.h"
#define MAP(name, kind, n, entry) struct { __uint(type, BPF_MAP_TYPE_##kind); \
	__uint(max_entries, n); __type(key, int); __type(value, entry); } name SEC(".maps")
MAP(host, ARRAY, 1, struct hpccpp_host_cfg);
MAP(host_keys, ARRAY, 1, struct hpccpp_host_keys);
MAP(host_stats, PERCPU_ARRAY, 2, __u64);
MAP(hpccpp_version, ARRAY, 1, struct hpccpp_version);
struct prefix_map host_prefix SEC(".maps");
SEC("sockops") int hpccpp_host(struct bpf_sock_ops *skops)
{
	struct hpccpp_prefix any = {};
	int zero = 0;
	return bpf_map_lookup_elem(&host, &zero) && bpf_map_lookup_elem(&host_keys, &zero) &&
	       bpf_map_lookup_elem(&host_stats, &zero) && bpf_map_lookup_elem(&host_prefix, &any) &&
	       bpf_map_lookup_elem(&hpccpp_version, &zero);
}
char _license[] SEC("license") = "GPL";
END
for file in host older; do
	clang -O2 -g -target bpf -I"/usr/include/$(uname -m)-linux-gnu" -I"$top/kmod" -I"$top/tools/bpf" \
		-c "$tmp/$file.c" -o "$tmp/$file.o"
done
# there HOOK PROGRAM [PREFERENCE]: of other.bpf.c, as the command would attach it
there()
{
	if [[ -n $tcx ]]; then
		# shellcheck disable=SC2016 # that shell's
		in_box unshare -m bash -ec 'mount -t bpf none /mnt
			bpftool prog loadall "$1" /mnt type classifier
			"$2" last t0 "$3" "/mnt/$4"' - "$HPCCPP_BIN/other.bpf.o" "$HPCCPP_BIN/tcx" "$1" "$2"
		return
	fi
	tc -n "$box" qdisc add dev t0 clsact 2>/dev/null || true
	tc -n "$box" filter add dev t0 "$1" pref "${3-1}" protocol all handle 0x4850 \
		bpf da obj "$HPCCPP_BIN/other.bpf.o" sec "of/$2"
}
bare()
{
	local hook
	[[ -n $tcx ]] || tc -n "$box" qdisc del dev t0 clsact
	for hook in ${tcx:+ingress egress}; do
		while in_box "$HPCCPP_BIN/tcx" remove t0 "$hook" ""; do :; done
	done
}
none() { [[ -z $(programs "$box" t0 ingress)$(programs "$box" t0 egress) ]]; }

# of_version VERSION CGROUP: what the map "hpccpp_version" has, as bytes in hexadecimal
of_version()
{
	{
		printf %s "$1"
		head -c $((32 - ${#1})) /dev/zero
		printf %s "$2"
		head -c $((256 - ${#2})) /dev/zero
	} | xxd -p -c 1 | paste -sd' '
}

version=$("$HPCCPP" -V | cut -d' ' -f3)
# Beside what of another build cannot be read, the rest is shown
machine_agents -x
there egress hpccpp_port
there ingress hpccpp_port_in
port add q0 id 100
mkdir "$CGROUP/a" "$CGROUP/b"
# other_host OBJECT CGROUP VERSION: there, as that version's command would put it
other_host()
{
	# shellcheck disable=SC2016 # that shell's
	unshare -m bash -ec 'mount -t bpf none /mnt
		bpftool prog load "$1" /mnt/host type sockops
		for id in $(bpftool -j prog show pinned /mnt/host | jq ".map_ids[]"); do
			[[ $(bpftool -j map show id $id | jq -r .name) != hpccpp_version ]] ||
				bpftool map update id $id key 0 0 0 0 value hex $3
		done
		bpftool cgroup attach "$2" sock_ops pinned /mnt/host multi' - "$1" "$2" "$(of_version "$3" "$2")"
}
other_host "$tmp/older.o" "$CGROUP/a" 0.0
says 0 '' "$HPCCPP" -j host show
check "an older agent is shown, with its version and the counters that it has" jq -e '
	map(select(.version == "0.0")) | length == 1 and .[0].error == null and
	.[0].stats.asked == 0 and .[0].stats.came_back == 0' "$tmp/out"
check "... in text its version is named" grep -q '^/.* version 0\.0 ask auto ' <("$HPCCPP" host show)
check "... and deleted" "$HPCCPP" host del cgroup "$CGROUP/a"
other_host "$tmp/host.o" "$CGROUP/a" 0.0
"$HPCCPP" host add cgroup "$CGROUP/b"
bad_port='Error: t0: cannot read the map "port" of the agent, which may be of another version: delete and add it.'
bad_host='Error: '$CGROUP'/a: cannot read the map "host" of the agent, which may be of another version: delete and add it.'
has() { check "... and shows the rest" jq -e -s ".[0] | $1" "$tmp/out"; } # JQ
says 2 "$bad_port" "$HPCCPP" -j port show netns "$box"
has 'map(select(.error == null) | [.dev, .id]) == [["q0", 100], ["q0", 101]]'
check "... and it as a row" jq -e 'map(select(.error)) == [{
	"dev": "t0", "version": "unknown", "error": "cannot be read"}]' "$tmp/out"
says 2 "$bad_port" "$HPCCPP" port show dev t0 netns "$box"
assert_eq "... in text too" "$(<"$tmp/out")" "t0 version unknown error cannot be read"
says 2 "$bad_host" "$HPCCPP" -j host show
has "any(.[]; .cgroup == \"$CGROUP/b\" and .error == null and .version == \"$version\")"
check "... and it as a row" jq -e "any(.[]; . == {
	\"cgroup\": \"$CGROUP/a\", \"version\": \"0.0\", \"error\": \"cannot be read\"})" "$tmp/out"
says 2 "$bad_port*$bad_host" "$HPCCPP" -j show netns "$box"
has "(.ports | length) == 3 and any(.hosts[]; .cgroup == \"$CGROUP/b\")"
says 2 "$bad_port*$bad_host" "$HPCCPP" -o prom show netns "$box"
check "... and shows the rest" grep -q '^hpccpp_port_rate_bytes_per_second{.*dev="q0"' "$tmp/out"
says 2 "$bad_port*$bad_port" "$HPCCPP" -j monitor netns "$box" count 2 interval 0.01 what port
check "... and shows the rest" [ "$(wc -l <"$tmp/out")" = 6 ]
says 2 "$bad_port*$bad_host" "$HPCCPP" -j check netns "$box"
has 'any(.[]; .check == "peers") and any(.[]; .found == "on 2 queues")'
check "... and says what cannot be read" jq -e "map(select(.check == (\"port agent on t0\",
	\"host agent on $CGROUP/a\")) | .status) == [\"note\", \"note\"]" "$tmp/out"
port del q0
"$HPCCPP" host del cgroup "$CGROUP/b"
check "a host agent of another build is deleted" "$HPCCPP" host del cgroup "$CGROUP/a"
machine_free
rmdir "$CGROUP/a" "$CGROUP/b"

check "an agent of another build is deleted" port del t0
check "... on both hooks" none
bare
there ingress hpccpp_port_in
says 2 'Error: a port exists already on t0.' port add t0
check "what is left of one on ingress is deleted" port del t0
check "... and gone" none
there egress hpccpp_port
check "one without ingress is deleted" port del t0
check "... and gone" none
there egress bystander
there ingress hpccpp_port_in
check "what is left on ingress is deleted beside another's on egress" port del t0
check "... which stays" grep -q bystander <(programs "$box" t0 egress)
bare
there egress hpccpp_port
there ingress bystander
port del t0
check "another's on ingress stays" grep -q bystander <(programs "$box" t0 ingress)
bare

del_cnp() { "$HPCCPP" cnp del dev t0 netns "$box"; }
there ingress hpccpp_cnp_in 2
check "a cnp agent of which ingress is left is deleted" del_cnp
check "... and gone" none
there ingress bystander 2
says 2 'Error: there is no agent on t0.' del_cnp
there egress hpccpp_cnp_out 2
check "one of which egress is left is deleted" del_cnp
check "... and another's on ingress stays" grep -q bystander <(programs "$box" t0 ingress)
bare

# --- What the units may do ------------------------------------------------------------

refused() { ! "$@" 2>/dev/null; }	# COMMAND...
# with CAPABILITIES COMMAND...: as root with no others
with()
{
	setpriv --bounding-set "-all$(tr '[:upper:]' '[:lower:]' <<<" $1" | sed 's/ cap_/,+/g')" "${@:2}"
}
unit_of() { sed -n 's/^CapabilityBoundingSet=//p' "$top/scripts/packaging/systemd/hpccpp-$1.service"; }
may=$(unit_of port@)
for command in "replace t0" "replace t0" "show t0" "del t0"; do
	# shellcheck disable=SC2086 # words
	check "with what its unit may: port $command" with "$may" "$HPCCPP" port $command netns "$box"
done
for cap in $may; do
	# tcx takes CAP_SYS_ADMIN for it
	[[ $cap != CAP_NET_ADMIN || -z $tcx ]] || continue
	without=" $may "
	without=${without/ $cap / }
	port add t0
	check "... all of which it needs: not without $cap" refused with "$(xargs <<<"$without")" \
		"$HPCCPP" port replace t0 netns "$box"
	port del t0
done
check "a port is added with less" in_box setpriv --bounding-set -all,+net_admin,+bpf,+perfmon \
	"$HPCCPP" port add t0
port del t0
may=$(unit_of host)
for command in replace replace show del; do
	check "with what its unit may: host $command" with "$may" "$HPCCPP" host "$command" "$CGROUP"
done
check "... but not without it" refused with CAP_NET_ADMIN "$HPCCPP" host add "$CGROUP"

# --- Cgroups above one another ----------------------------------------------------

mkdir -p "$CGROUP/a/b"
"$HPCCPP" host add cgroup "$CGROUP/a/b"
for above in "$CGROUP/a" "$CGROUP"; do
	says 2 "Error: a host agent exists already on cgroup \"$CGROUP/a/b\", below \"$above\"." \
		"$HPCCPP" host add cgroup "$above"
done
"$HPCCPP" host del cgroup "$CGROUP/a/b"
check "once it is gone its parent gets one" "$HPCCPP" host add cgroup "$CGROUP"
"$HPCCPP" host del cgroup "$CGROUP"
# mounting COMMAND: add an agent to $CGROUP where that has been mounted
# shellcheck disable=SC2016 # that shell's
mounting() { unshare -m bash -ec 'eval "$1"; exec "$2" host add cgroup "$3"' - "$1" "$HPCCPP" "${2-$CGROUP}"; }
for over in '-t tmpfs none' "--bind '$CGROUP/c'"; do
	says 2 "Error: cannot look for host agents in cgroup \"$CGROUP/a/b\": something is mounted over it." \
		mounting "mkdir -p '$CGROUP/c'; mount $over '$CGROUP/a/b'"
done

# --- Cgroups by another path than that of their mount -------------------------------

mkdir "$tmp/bind"
mounting "mount --bind '$CGROUP/a' '$tmp/bind'" "$tmp/bind/b"
assert_eq "added by a bind mount that is gone: shown where it is" \
	"$("$HPCCPP" -j host show | jq -r --arg c "$CGROUP" '.[].cgroup | select(startswith($c))')" "$CGROUP/a/b"
"$HPCCPP" host del cgroup "$CGROUP/a/b"
mkdir "$tmp/beside"
mounting "mount --bind '$CGROUP/c' '$tmp/beside'; mount --bind '$CGROUP/a' '$tmp/bind'; umount -l '${CGROUP%/*}'" "$tmp/bind/b"
shown_as() { "$HPCCPP" -j host show cgroup "$CGROUP/a/b" | jq -r '.[].cgroup'; }
assert_eq "... where it is the only one that has it: as it was given" "$(shown_as)" "$tmp/bind/b"
"$HPCCPP" host del cgroup "$CGROUP/a/b"
setpriv --bounding-set -dac_read_search "$HPCCPP" host add cgroup "$CGROUP/a/b/../b"
assert_eq "... without the right to look for it: as it was given" "$(shown_as)" "$CGROUP/a/b"
"$HPCCPP" host del cgroup "$CGROUP/a/b"
rmdir "$CGROUP/c"
rmdir -p "$CGROUP/a/b" 2>/dev/null || true
CGROUP=
ktap_finish
