#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The command with agents that exist: the lock, remains of a killed command, a device with as many
# queues as there are link ids, agents of another build, capabilities of the units, and cgroups
# above and below one with an agent.
#
#	netns box: t0 (tbf) --- t1, q0 (mq, two tbf) --- q1, w0 (mq, 2048 queues) --- w1 (2047)
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
link add w0 numtxqueues 2048 type veth peer w1 numtxqueues 2047
END
tc -n "$box" -batch - <<END
qdisc add dev t0 root tbf rate 50mbit burst 3028 limit 512kb
qdisc add dev q0 root handle 1: mq
qdisc add dev q0 parent 1:1 tbf rate 10mbit burst 3028 limit 512kb
qdisc add dev q0 parent 1:2 tbf rate 10mbit burst 3028 limit 512kb
qdisc add dev w0 root handle 1: mq
qdisc add dev w1 root handle 1: mq
$(for ((i = 1; i <= 2048; i++)); do printf 'qdisc add dev w0 parent 1:%x pfifo\n' $i; done)
$(for ((i = 1; i <= 2047; i++)); do printf 'qdisc add dev w1 parent 1:%x pfifo\n' $i; done)
END
}
in_box() { nsenter --net="/run/netns/$box" "$@"; }
port() { "$HPCCPP" port "$1" dev "$2" netns "$box" "${@:3}"; }	# COMMAND DEV OPTION...
make_cgroup
tcx=
! in_box "$HPCCPP_BIN/tcx" show lo egress || tcx=1

# --- The lock ----------------------------------------------------------------------

# holds FILE COMMAND...: locks the file in the background
holds()
{
	# shellcheck disable=SC2016 # that shell's
	run_bg "${@:2}" bash -c 'exec 9<"$0" && flock -x 9 && : >"$1" && exec sleep infinity' "$1" "$tmp/held"
	busywait 50 test -e "$tmp/held"
	rm "$tmp/held"
}
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 "$CGROUP"
chmod 777 "$tmp"
holds /proc/self/ns/net nsenter --net="/run/netns/$box" "${nobody[@]}"
holds "$CGROUP" "${nobody[@]}"
soon() { timeout 60 "$@"; }
cnp() { soon "$HPCCPP" cnp "$1" dev t0 netns "$box" "${@:2}"; }	# COMMAND OPTION...
add=("$HPCCPP" port add dev t0 netns "$box")
check "a lock of a user without privileges does not delay port add" soon "${add[@]}"
check "... nor port delete" soon "$HPCCPP" port del dev t0 netns "$box"
says 2 't0 is tbf*fq' cnp add accept fd00::/16
says 2 'no agent on t0' cnp del
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
# shellcheck disable=SC2016 # that shell's
assert_eq "only root can open the lock" "$(apart : bash -c '"$@" && stat -c "%u %a" /run/hpccpp.lock' - "${add[@]}")" "0 600"
port del t0
says 2 "lock \"$lock\"*root" apart "install -m 644 /dev/null $lock" "${add[@]}"
says 2 "lock \"$lock\"*root" apart "install -m 600 -o nobody /dev/null $lock" "${add[@]}"
says 2 "lock \"$lock\": Read-only" apart 'mount -o remount,ro,bind /run' "${add[@]}"
check "a full /run does not prevent locking" apart 'mount -t tmpfs -o size=4k,mode=755 none /mnt
	mkdir /mnt/netns
	mount --rbind /run/netns /mnt/netns
	mount --rbind /mnt /run
	install -m 600 /dev/null /run/hpccpp.lock
	! cat /dev/zero >/run/full 2>/dev/null' "${add[@]}"
port del t0
# both at once, as each waits for 10 s
apart "umask 77; exec 9>$lock; flock -x 9; echo 4711 >&9" timeout 100 "${add[@]}" 2>"$tmp/waited" &
waiting=$!
says 2 'process unknown*10 s' apart "umask 77; exec 9>$lock; flock -x 9; echo nonsense >&9" \
	timeout 100 "${add[@]}"
wait $waiting || true
check "... a holder that is known is named" grep -q 'process 4711 ' "$tmp/waited"
says 2 'no port on t0' port del t0

opened() { [[ -n $(find "/proc/$1/fd" -lname "$lock") ]]; }	# PROCESS
# add_locked COMMAND...: adds a port, and runs the command while it waits for the lock
add_locked()
{
	local process status=0
	exec 9<>$lock
	flock -x 9
	"${add[@]}" 9>&- 2>"$tmp/waited" &
	process=$!
	busywait 50 opened $process
	"$@"
	exec 9>&-
	wait $process || status=$?
	echo "$status $(<"$tmp/waited")"
}
assert_eq "a command waits for the lock" "$(add_locked :)" "0 "
port del t0
assert_eq "... and takes the device that has the name then" \
	"$(add_locked ip -n "$box" link set t0 name moved)" '2 Error: cannot find device "t0".'
ip -n "$box" link set moved name t0

# --- Remains of a killed command ------------------------------------------------------

port add t0 base-rtt 9us
read -r id _ < <(programs "$box" t0 egress)
for map in $(bpftool -j prog show id "$id" | jq '.map_ids[]'); do
	[[ $(bpftool -j map show id "$map" | jq -r .name) == hpccpp_words ]] || continue
	# shellcheck disable=SC2046 # bytes
	bpftool map update id "$map" key 0 0 0 0 value hex $(head -c 16384 /dev/zero | xxd -p -c 1)
done
shown() { "$HPCCPP" -j port show dev "$1" netns "$box" | jq -cr "$2"; }	# DEV JQ
check "a port without its arguments is out of date" [ -n "$(shown t0 '.[0].stale')" ]
port replace t0 base-rtt 9us
assert_eq "... until it is replaced" ".$(shown t0 '.[0].stale')" .
port del t0

# --- Link ids of a device with as many queues as there are ids -------------------

# net/queues.sh tests the ids that the queues write.
wide=(rate 1mbit queue qdisc)
says 2 'w0*2048 queues*2047' port add w0 "${wide[@]}"
says 255 'id "2"*2047 queues*1 to 1' port add w1 "${wide[@]}" id 2
port add w1 "${wide[@]}" id 1
assert_eq "2047 queues have all ids" "$(shown w1 '[length, .[0].id, .[2046].id]')" "[2047,1,2047]"
port del w1

# --- Agents of another build ------------------------------------------------------

# A host agent that can be read, with fewer counters; or that cannot, as its HOST has another size
cat >"$tmp/host.c" <<'END'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "hpccpp_agent.h"
#include "hpccpp_prefix.h"
#define MAP(name, kind, n, entry) struct { __uint(type, BPF_MAP_TYPE_##kind); \
	__uint(max_entries, n); __type(key, int); __type(value, entry); } name SEC(".maps")
MAP(host, ARRAY, 1, HOST);
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
build_host() # NAME TYPE
{
	clang -O2 -g -target bpf -I"/usr/include/$(uname -m)-linux-gnu" -I"$top/kmod" \
		-I"$top/tools/bpf" -D"HOST=$2" -c "$tmp/host.c" -o "$tmp/$1.o"
}
build_host older "struct hpccpp_host_cfg"
build_host unreadable "char[999]"
# there HOOK PROGRAM [PREFERENCE]: attaches a program of other.bpf.c as the command would
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

# of_version VERSION CGROUP: the value of the map "hpccpp_version", in hexadecimal
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
# An agent of another build that cannot be read does not hide the others.
machine_agents -x
there egress hpccpp_port
there ingress hpccpp_port_in
port add q0 id 100
mkdir "$CGROUP/a" "$CGROUP/b"
# other_host OBJECT CGROUP VERSION: attaches the agent as that version's command would
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
other_host "$tmp/unreadable.o" "$CGROUP/a" 0.0
"$HPCCPP" host add cgroup "$CGROUP/b"
bad_port='Error: t0:*map "port"*version'
bad_host="Error: $CGROUP/a:*map \"host\"*version"
# Each line: arguments, the messages, and a condition on the output of JSON
while IFS='|' read -r arguments message condition; do
	# shellcheck disable=SC2086 # words
	says 2 "$message" "$HPCCPP" -j $arguments
	check "... and the rest is shown" jq -e -s ".[0] | $condition" "$tmp/out"
done <<END
port show netns $box|$bad_port|map([.dev, .id]) | sort == [["q0", 100], ["q0", 101], ["t0", null]]
host show|$bad_host|any(.[]; .cgroup == "$CGROUP/b" and .error == null and .version == "$version")
host show|$bad_host|any(.[]; . == {cgroup: "$CGROUP/a", version: "0.0", error: "cannot be read"})
show netns $box|$bad_port*$bad_host|(.ports | length) == 3 and any(.hosts[]; .cgroup == "$CGROUP/b")
check netns $box|$bad_port*$bad_host|any(.[]; .check == "peers") and any(.[]; .found == "on 2 queues")
check netns $box|$bad_port*$bad_host|any(.[]; .check == "port agent on t0" and .status == "note")
check netns $box|$bad_port*$bad_host|any(.[]; .check == "host agent on $CGROUP/a" and .status == "note")
END
says 2 "$bad_port" "$HPCCPP" port show dev t0 netns "$box"
assert_eq "... in text too" "$(<"$tmp/out")" "t0 version unknown error cannot be read"
says 2 "$bad_port*$bad_host" "$HPCCPP" -o prom show netns "$box"
check "... and shows the rest" grep -q '^hpccpp_port_rate_bytes_per_second{.*dev="q0"' "$tmp/out"
says 2 "$bad_port*$bad_port" "$HPCCPP" -j monitor netns "$box" count 2 interval 0.01 what port
assert_eq "... and shows the rest" "$(wc -l <"$tmp/out")" 6
port del q0
"$HPCCPP" host del cgroup "$CGROUP/b"
check "a host agent of another build is deleted" "$HPCCPP" host del cgroup "$CGROUP/a"
machine_free
rmdir "$CGROUP/a" "$CGROUP/b"
check "a port of another build is deleted" port del t0
left() { echo "$(programs "$box" t0 ingress | cut -d' ' -f2) $(programs "$box" t0 egress | cut -d' ' -f2)"; }
assert_eq "... on both hooks" "$(left)" " "
bare
there ingress hpccpp_port_in
says 2 'port exists*t0' port add t0
bare
there ingress bystander 2
says 2 'no agent on t0' cnp del
bare
# Each line: an object, programs on ingress and egress, and the programs left after a delete
while read -r object in out left_in left_out; do
	pref=1
	[[ $object == port ]] || pref=2
	[[ $in == - ]] || there ingress "$in" $pref
	[[ $out == - ]] || there egress "$out" $pref
	check "$object delete: $in on ingress, $out on egress" "$HPCCPP" "$object" del dev t0 netns "$box"
	assert_eq "... left" "$(left)" "${left_in/-} ${left_out/-}"
	[[ $left_in$left_out == -- ]] || bare
done <<'END'
port hpccpp_port_in - - -
port - hpccpp_port - -
port hpccpp_port_in bystander - bystander
port bystander hpccpp_port bystander -
cnp hpccpp_cnp_in - - -
cnp bystander hpccpp_cnp_out bystander -
END

# --- Capabilities of the units ---------------------------------------------------------

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
	says 2 "exists*\"$CGROUP/a/b\"*below \"$above\"" \
		"$HPCCPP" host add cgroup "$above"
done
"$HPCCPP" host del cgroup "$CGROUP/a/b"
check "once it is gone its parent gets one" "$HPCCPP" host add cgroup "$CGROUP"
"$HPCCPP" host del cgroup "$CGROUP"
# mounting COMMAND: add an agent to $CGROUP where that has been mounted
# shellcheck disable=SC2016 # that shell's
mounting() { unshare -m bash -ec 'eval "$1"; exec "$2" host add cgroup "$3"' - "$1" "$HPCCPP" "${2-$CGROUP}"; }
for over in '-t tmpfs none' "--bind '$CGROUP/c'"; do
	says 2 "\"$CGROUP/a/b\"*mounted over" \
		mounting "mkdir -p '$CGROUP/c'; mount $over '$CGROUP/a/b'"
done

# --- Cgroups by a path other than their mount's -------------------------------

mkdir "$tmp/bind"
mounting "mount --bind '$CGROUP/a' '$tmp/bind'" "$tmp/bind/b"
assert_eq "added by a bind mount that is gone: shown where it is" \
	"$("$HPCCPP" -j host show | jq -r --arg c "$CGROUP" '.[].cgroup | select(startswith($c))')" "$CGROUP/a/b"
"$HPCCPP" host del cgroup "$CGROUP/a/b"
mkdir "$tmp/beside"
mounting "mount --bind '$CGROUP/c' '$tmp/beside'; mount --bind '$CGROUP/a' '$tmp/bind'; 
	findmnt -rno TARGET -t cgroup2 | grep -v '^$tmp/' | xargs -n 1 umount -l" "$tmp/bind/b"
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
