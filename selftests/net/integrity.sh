#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Keyed tags of echoes: the bytes on the wire against openssl's SipHash, which peers agree on
# them, and new keys under a flow. That tags which were forged, changed, replayed or signed with
# another key are ignored and counted is tested in selftests/unit/host_test_tag.h.
#
#	h1 eth0 --1G-- h1 | s1 | next --200M-- eth0 | r		(topo_line in lib.sh)
#	                                          captured here
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

# options: writes a line to $tmp/options for each option that has a tag or requests one: ask, sign
# or bad; TCP flags, bytes of payload, records, the tag, the bytes signed.
options()
{
	awk '$11 != "-" {
		split($11, list, ",")
		for (i in list) {
			l = length(list[i]) / 2
			print (l == 4 ? "ask" : l == 20 || l == 32 ? "sign" : "bad"), $3, $5,
				int(l / 12), substr(list[i], 2 * l - 7),
				$12 substr(list[i], 1, 2 * l - 8)
		}
	}' "$tmp/segments" >"$tmp/options"
}

# seen CONDITION: options for which it holds
seen()
{
	awk '{ what = $1; flags = $2; data = $3; n = $4 }
		'"$1"' { c++ }
		END { print c + 0 }' "$tmp/options"
}

# right KEY head|tail COUNT: the first or last COUNT tags are those of openssl's SipHash
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
	done < <(grep '^sign' "$tmp/options" | "$2" -n "$3")
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

sysctl_both() { for ns in "$h1" "$r"; do nsenter --net="/run/netns/$ns" sysctl -qw "$@"; done; }
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

# --- New keys under a flow ---------------------------------------------------------

wrongs() { host_stat "$h1" bad tag_none tag_bad tag_old | xargs; }
more_tags() { [[ $(host_stat "$h1" tag_ok) -gt $1 ]]; } # NUMBER

# steady NAME: 200 further tags are right, and none is wrong
steady()
{
	busywait 60 more_tags $(($(host_stat "$h1" tag_ok) + 200)) || true
	assert_eq "$name: $1: bad, tag_none, tag_bad, tag_old" "$(wrongs)" "0 0 0 0"
	assert_eq "$name: $1: fallbacks" "$(counter "$h1" fallback)" "$fallback"
}

# keys NETNS OPTIONS...
keys() { "$HPCCPP" host key cgroup "${cgroup_of[$1]}" "${@:2}"; }

begin "new keys" "$mine require" "$mine"
fallback=$(counter "$h1" fallback)
flow_start
busywait 60 more_tags 100
keys "$h1" key-file "$tmp/key" key-file "$tmp/other" require
steady "both accepted"
keys "$r" key-file "$tmp/other"
steady "signed with the new one"
keys "$h1" key-file "$tmp/other" require
steady "the old one dropped"
assert_eq "$name: echoes used except those with a right tag" \
	$(($(host_stat "$h1" echoes) - $(host_stat "$h1" tag_ok))) 0
enter=$(counter "$h1" enter)
keys "$r" key-file "$tmp/key"
check "$name: signed with another: falls back" \
	busywait 30 reaches "$h1" fallback $((fallback + 1))
keys "$r" key-file "$tmp/other"
check "$name: signed with the new one again: comes back" \
	busywait 30 reaches "$h1" enter $((enter + 1))
flow_end "$name"
ktap_finish
