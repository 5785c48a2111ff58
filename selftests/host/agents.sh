#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Whom the command waits for.
#
#	netns box: t0 (tbf) --- t1
#
# place: host
# timeout: 300
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
END
tc -n "$box" -batch - <<END
qdisc add dev t0 root tbf rate 50mbit burst 3028 limit 512kb
END
}
port() { "$HPCCPP" port "$1" dev "$2" netns "$box" "${@:3}"; }	# COMMAND DEV OPTION...
make_cgroup

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

rmdir "$CGROUP"
CGROUP=
ktap_finish
