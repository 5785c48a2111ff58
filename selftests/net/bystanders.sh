#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Connections of other programs behind firewalls that do not let the option pass. The agent leaves
# those under another congestion control alone, and remembers where one under hpccpp has failed.
#
#	h1 eth0 --1G-- h1 | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#	                  nft: the firewall
#
# Each server speaks first, as those of SSH and SMTP do: it sends nothing before the third ACK.
#
# check: uml
# check-all: 6.1
# usual: 20
# shellcheck disable=SC2154 # set by name in lib.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

next_port=7000

# retransmitted: segments that h1 and r have sent again, those of handshakes, too
retransmitted() { echo $(($(snmp "$h1" TcpRetransSegs) + $(snmp "$r" TcpRetransSegs))); }

# connection NAME CLIENT-CC SERVER-CC [FAMILY]: the server sends 20 KB. Sets "again" to the
# number of segments that were sent again, or to "reset".
connection()
{
	local address="addr${4-4}[r]" server before
	name=$1
	next_port=$((next_port + 1))
	before=$(retransmitted)
	in_ns_bg "$r" "$HPCCPP_BIN/xfer" -c "$3" -n 20k listen $next_port >"$tmp/server" 2>&1
	server=$!
	busywait 10 listening "$r" $next_port
	if in_ns "$h1" "$HPCCPP_BIN/xfer" -c "$2" connect "${!address}" $next_port >"$tmp/client" 2>&1; then
		again=$(($(retransmitted) - before))
	else
		again=reset
		kill "$server"
	fi
	wait "$server" || true
}

prompt() { assert_eq "$name: sent again" "$again" 0; }

# One timeout: the SYN, or the SYN with the SYN-ACK that answers it and that of the server's timer
late()
{
	assert_ge "$name: sent again" "$again" 1
	assert_le "$name: sent again" "$again" 3
}

# forget: agents without a memory
forget()
{
	local ns
	for ns in "$h1" "$r"; do
		host_off "$ns"
		host_on "$ns"
	done
}

# timeouts: retransmission timeouts and tail loss probes of h1 up to now
timeouts() { echo $(($(snmp "$h1" TcpExtTCPTimeouts) + $(snmp "$h1" TcpExtTCPLossProbes))); }

# Twenty requests of one segment under hpccpp, each after the answer to the one before
requests='
import socket, sys
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"hpccpp")
s.connect((sys.argv[1], 7000))
for i in range(20):
    s.sendall(b"x" * 100)
    s.recv(100)'

load_hpccpp
topo_line 1 1
echo TAP version 13

forward_rules "tcp option 253 exists drop"
for family in 4 6; do
	forget
	connection "drop, IPv$family: a cubic connection" cubic cubic $family
	prompt
	assert_eq "$name: options sent" "$(host_stat "$h1" asked) $(host_stat "$r" asked)" "0 0"
	connection "drop, IPv$family: the first under hpccpp at the client" hpccpp cubic $family
	late
	for n in second third; do
		connection "drop, IPv$family: the $n" hpccpp cubic $family
		prompt
	done
	assert_eq "paths suspected" "$(host_stat "$h1" suspected)" 1
	forget
	connection "drop, IPv$family: the first under hpccpp at the server" cubic hpccpp $family
	late
	connection "drop, IPv$family: the second" cubic hpccpp $family
	prompt
done

# The firewall lets the handshake pass, with which the peer shows its agent.
forward_rules "tcp flags & syn == 0 tcp option 253 exists drop"
forget
ports_on
start_server "$r" 7000 socat tcp-listen:7000,fork,reuseaddr exec:cat >/dev/null
limit=1
for n in first second third; do
	before=$(timeouts)
	in_ns "$h1" python3 -c "$requests" "${addr4[r]}"
	assert_le "drop but SYNs: the $n under hpccpp: timeouts" $(($(timeouts) - before)) "$limit"
	limit=0
done
assert_eq "paths suspected" "$(host_stat "$h1" suspected)" 1

if forward_rules "tcp option 253 exists reject with tcp reset" 2>"$tmp/nft"; then
	forget
	connection "reset: a cubic connection" cubic cubic
	prompt
	connection "reset: the first under hpccpp" hpccpp cubic
	assert_eq "$name: sent again" "$again" reset
	for n in second third; do
		connection "reset: the $n" hpccpp cubic
		prompt
	done
else
	ktap_skip "a firewall that resets connections" "$(head -n 1 "$tmp/nft")"
fi

forward_rules
forget
port_on "$s1" h1 rate "$RATE"
connection "a cubic client of a server under hpccpp" cubic hpccpp
prompt
assert_eq "$name: flows under INT" "$(counter "$r" enter)" 1

# suspected: the addresses that h1's agent suspects, each with true if it has 1 to 60 s left
suspected()
{
	"$HPCCPP" -j host show cgroup "${cgroup_of[$h1]}" |
		jq -c '.[0].suspected | map([.address, .left >= 1 and .left <= 60])'
}

forward_rules "tcp option 253 exists drop"
forget
connection "drop: the first connection under hpccpp" hpccpp cubic
late
assert_eq "$name: suspected" "$(suspected)" "[[\"${addr4[r]}\",true]]"
"$HPCCPP" host flush cgroup "${cgroup_of[$h1]}"
assert_eq "suspected after host flush" "$(suspected)" "[]"
connection "drop: the first after host flush" hpccpp cubic
late
assert_eq "$name: suspected" "$(suspected)" "[[\"${addr4[r]}\",true]]"
ktap_finish
