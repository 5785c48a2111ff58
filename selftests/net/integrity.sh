#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Keyed tags of echoes: what is on the wire, byte by byte against openssl's SipHash;
# with whom they are agreed upon; and that a sender which requires them goes by
# nothing that was forged, changed, replayed, or signed by another key, and counts
# what it ignores. Then keys are rolled under a flow.
#
#	h1 eth0 --1G-- h1 | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#	                  inject.c                captured here
#
# check: uml main
# check-long: 6.1
# usual: 60
# client: an array in another function of lib.sh
# shellcheck disable=SC2128
# shellcheck disable=SC2317 # functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

key=000102030405060708090a0b0c0d0e0f
other=f0e0d0c0b0a090807060504030201000

# begin NAME H1-OPTIONS R-OPTIONS: with these agents
begin()
{
	name=$1
	host_off "$h1"
	host_off "$r"
	# shellcheck disable=SC2086 # lists
	{
		host_on "$h1" every 1 $2
		host_on "$r" every 1 $3
	}
}

# transfer CLIENT-OPTIONS [SERVER-OPTIONS [ADDRESS]]: from h1 to r
transfer()
{
	transfer_captured "$@"
	options
}

# options: of each option in $tmp/pcap with a tag, or that wants one, in $tmp/options:
# what (ask, sign or bad), flags, payload, records, the tag, what was signed.
# shellcheck disable=SC2016 # perl's
options()
{
	perl -e '
		read STDIN, $h, 24;
		while (read STDIN, $h, 16) {
			($len) = unpack "x8V", $h;
			read STDIN, $p, $len;
			if (unpack("x14C", $p) >> 4 == 4) {
				next if unpack("x23C", $p) != 6;
				($at, $end) = (34, 14 + unpack "x16n", $p);
				$ends = join "", map { "0" x 20 . "ffff" . unpack "x${_}H8", $p } 26, 30;
			} else {
				next if unpack("x20C", $p) != 6;
				($at, $end) = (54, 54 + unpack "x18n", $p);
				$ends = unpack "x22H64", $p;
			}
			($off, $bits) = unpack "x${at}x12CC", $p;
			$flags = join "", map { $bits & 1 << $_ ? substr "FSRPA", $_, 1 : "" } 0 .. 4;
			$doff = ($off >> 4) * 4;
			for ($i = $at + 20; $i < $at + $doff; $i += $l) {
				($kind, $l, $exid) = unpack "x${i}CCn", $p;
				last if !$kind;
				$l = 1 if $kind == 1;
				next if $kind != 253 || $exid != 0x4854;
				$n = int($l / 12);
				$what = $l == 4 ? "ask" : $l == 20 || $l == 32 ? "sign" : "bad";
				printf "%s %s %d %d %s %s\n", $what, $flags, $end - $at - $doff, $n,
					unpack("H8", substr $p, $i + $l - 4, 4),
					$ends . unpack("H8", substr $p, $at, 4) .
					unpack("H8", substr $p, $at + 8, 4) .
					unpack("H*", substr $p, $i, $l - 4);
			}
		}' <"$tmp/pcap" >"$tmp/options"
}

# seen CONDITION: options for which it holds
seen()
{
	awk '{ what = $1; flags = $2; data = $3; n = $4 }
		'"$1"' { c++ }
		END { print c + 0 }' "$tmp/options"
}

# right KEY head|tail COUNT [RECORDS]: the first or last tags, of options with so many
# records, are those of openssl's SipHash with the key.
right()
{
	local flags tag signed count=0
	while read -r _ flags _ _ tag signed; do
		[[ $(perl -e "print pack 'H*', '$signed'" | openssl mac -macopt hexkey:"$1" -macopt size:8 \
			-in - SIPHASH) == "${tag^^}"* ]] || {
			echo "$flags: $tag of $signed"
			return 1
		}
		: $((count++))
	done < <(awk -v n="${4-}" '$1 == "sign" && (n == "" || $4 == n)' "$tmp/options" | "$2" -n "$3")
	[[ $count -eq $3 ]]
}

wrong() { ! right "$@"; }

stat_is() { assert_eq "$name: $2 at $3" "$(host_stat "$1" "$2")" "$4"; } # NETNS COUNTER NAME VALUE

load_hpccpp
topo_line 1 1
ports_on
umask 077
echo "$key" >"$tmp/key"
echo -n "${other^^}" >"$tmp/other"
mine="key-file $tmp/key"
echo "TAP version 13"

# --- What is on the wire -----------------------------------------------------------

if runs_main; then
	for family in ipv4 ipv6; do
		declare -n address=addr${family#ipv}
		begin "$family" "$mine require" "$mine"
		transfer "-n 1m -c hpccpp" "" "${address[r]}"
		assert_eq "$name: flows under INT" "$enter" 1
		assert_eq "$name: SYN wants a tag" "$(seen 'what == "ask" && flags == "S"')" 1
		assert_eq "$name: SYN-ACK has one" "$(seen 'what == "sign" && flags == "SA" && n == 1')" 1
		assert_ge "$name: ACKs that have one" "$(seen 'what == "sign" && flags == "A"')" 300
		assert_eq "$name: echoes without" "$(awk '$7 == "echo"' "$tmp/segments" | wc -l)" 0
		assert_eq "$name: malformed" "$(seen 'what == "bad"')" 0
		check "$name: the first tags are openssl's" right "$key" head 12
		check "$name: the last tags are openssl's" right "$key" tail 4
		check "$name: and not with another key" wrong "$other" head 12
		# 30 segments leave before the first ACK comes
		assert_le "$name: data that wants one" "$(seen 'what == "ask" && data')" 60
		stat_is "$h1" tag_ok h1 "$(host_stat "$r" signed)"
		stat_is "$h1" tag_none h1 0
		stat_is "$h1" tag_bad h1 0
		stat_is "$h1" tag_old h1 0
	done
fi

# The rest in virtual time alone: that this kernel loads and runs it has been seen.
if [[ $PLACE != uml ]] || ! runs_rest; then
	ktap_finish
fi

# Without timestamps two records and a tag have room, three have not.
sysctl_both() { for ns in "$h1" "$r"; do nsenter --net="/run/netns/$ns" sysctl -qw "$@"; done; }
sysctl_both net.ipv4.tcp_timestamps=0
for family in ipv4 ipv6; do
	declare -n address=addr${family#ipv}
	begin "records 2, no timestamps, $family" "$mine require records 2" "$mine"
	transfer "-n 300k -c hpccpp" "" "${address[r]}"
	assert_eq "$name: flows under INT" "$enter" 1
	assert_ge "$name: tags with two records" "$(seen 'what == "sign" && n == 2')" 100
	check "$name: the first tags are openssl's" right "$key" head 4
	check "$name: the first of two records are openssl's" right "$key" head 12 2
	check "$name: the last of two records are openssl's" right "$key" tail 4 2
	stat_is "$h1" tag_ok h1 "$(host_stat "$r" signed)"
done
sysctl_both net.ipv4.tcp_timestamps=1

begin "SYN cookies" "$mine require" "$mine"
sysctl_both net.ipv4.tcp_syncookies=2
cookies=$(snmp "$r" TcpExtSyncookiesRecv)
transfer "-n 300k -c hpccpp"
sysctl_both net.ipv4.tcp_syncookies=1
assert_eq "$name: taken" $(($(snmp "$r" TcpExtSyncookiesRecv) - cookies)) 1
assert_eq "$name: SYN-ACK has a tag" "$(seen 'what == "sign" && flags == "SA"')" 1
assert_eq "$name: flows under INT" "$enter" 1
stat_is "$h1" tag_none h1 0

# --- With whom ---------------------------------------------------------------------

# Each row: name; options of h1 and of r; flows under INT; whether h1 counts any tag_ok, tag_none
# and tag_bad. A flow that is not under INT has the congestion control of its namespace.
while IFS=';' read -r row h1_options r_options enters any; do
	begin "$row" "$h1_options" "$r_options"
	transfer "-n 300k -c hpccpp"
	assert_eq "$name: flows under INT" "$enter" "$enters"
	mapfile -t tags < <(host_stat "$h1" tag_ok tag_none tag_bad)
	assert_eq "$name: any tag_ok, tag_none, tag_bad" \
		"$((tags[0] > 0)) $((tags[1] > 0)) $((tags[2] > 0))" "$any"
	[[ $enters -eq 1 ]] || assert_eq "$name: falls back to" "$(jq -r .cc <<<"$client")" \
		"$(nsenter --net="/run/netns/$h1" sysctl -n net.ipv4.tcp_congestion_control)"
done <<END
receiver without a key;$mine;;1;0 1 0
receiver without a key, tags required;$mine require;;0;0 1 0
another key, tags required;$mine require;key-file $tmp/other;0;0 0 1
two keys;key-file $tmp/other $mine require;$mine;1;1 0 0
END

# --- What others write, and new keys, under a flow ------------------------------------

mkfifo "$tmp/to" "$tmp/from"
exec {to_injector}<>"$tmp/to" {from_injector}<>"$tmp/from"

# open ADDRESS: a flow from h1 to r, and the injector between them
open()
{
	port=$((next_port++))
	in_ns_bg "$s1" "$HPCCPP_BIN/inject" "$port" 1 "$tmp/to" >"$tmp/from"
	injector=$!
	read -rt 60 -u "$from_injector"		# it watches
	xfer_server "$r" "$port" >"$tmp/server"
	receiver=$!
	in_ns_bg "$h1" "$HPCCPP_BIN/xfer" -c hpccpp -t 600 connect "$1" "$port" >"$tmp/client"
	sender=$!
	busywait 60 has_more tag_ok 100
}
has_more() { [[ $(host_stat "$h1" "$1") -gt $2 ]]; }
is_now() { [[ $(host_stat "$h1" "$1") -eq $2 ]]; }

# All that h1 counts of what was not right
wrongs()
{
	"$HPCCPP" -j host show cgroup "${cgroup_of[$h1]}" |
		jq -c '.[0].stats | { bad, tag_none, tag_bad, tag_old }'
}

# forged HOW COUNTER: all are counted there, none elsewhere, and none is used
forged()
{
	local before count=200
	before=$(wrongs)
	echo "$1 $count" >&"$to_injector"
	read -rt 60 -u "$from_injector"
	busywait 20 is_now "$2" "$(jq ".$2 + $count" <<<"$before")" || true
	assert_eq "$name: $1: counted in $2 alone" "$(wrongs)" "$(jq -c ".$2 += $count" <<<"$before")"
}

# steady NAME: tags go on to come and to be right
steady()
{
	local before
	before=$(wrongs)
	busywait 60 has_more tag_ok $(($(host_stat "$h1" tag_ok) + 200)) || true
	assert_eq "$name: $1: not right" "$(wrongs)" "$before"
	assert_eq "$name: $1: fallbacks" "$(counter "$h1" fallback)" "$fallback"
}

# keys NETNS OPTIONS...
keys() { "$HPCCPP" host key cgroup "${cgroup_of[$1]}" "${@:2}"; }

for family in ipv4 ipv6; do
	declare -n address=addr${family#ipv}
	begin "$family, forged" "$mine require" "$mine"
	open "${address[r]}"
	forged flip tag_bad
	forged cut bad
	forged strip tag_none
	forged replay tag_old
	# 256 ACKs without telemetry in a row, as these were, are silence
	fallback=$(counter "$h1" fallback)
	name="$family, new keys"
	keys "$h1" key-file "$tmp/key" key-file "$tmp/other" require
	steady "both accepted"
	keys "$r" key-file "$tmp/other"
	steady "signed with the new one"
	keys "$h1" key-file "$tmp/other" require
	steady "the old one dropped"
	assert_eq "$name: echoes used but those with a right tag" \
		$(($(host_stat "$h1" echoes) - $(host_stat "$h1" tag_ok))) 0
	enter=$(counter "$h1" enter)
	keys "$r" key-file "$tmp/key"
	check "$name: signed with another: falls back" busywait 30 reaches "$h1" fallback $((fallback + 1))
	keys "$r" key-file "$tmp/other"
	check "$name: and with the new one again: comes back" busywait 30 reaches "$h1" enter $((enter + 1))
	flow_end "$name"
	kill "$injector"
done
ktap_finish
