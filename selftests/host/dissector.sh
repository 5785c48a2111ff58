#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The dissector for Wireshark names every field: tshark finds the records of a capture that
# capture_stop reads from the same packets. For packets made by hand, it prints the values or the
# error.
#
#	h1 --- s1 --- s2 --- r	captured at r, in the VM; tshark runs here
#
# check-all: host
# usual: 60
# shellcheck disable=SC2154,SC2317 # set by name in lib.sh; functions that check calls
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"

capture() # FAMILY ADDRESS: one transfer, into $RESULTS
{
	capture_start "$r" eth0
	tcp_send "$h1" "$r" "$2" "-c hpccpp -n 400k"
	capture_stop
	cp "$tmp/pcap" "$RESULTS/$1.pcap"
	cp "$tmp/segments" "$RESULTS/$1.segs"
}

if [[ ${1-} == capture ]]; then
	load_hpccpp
	topo_line 1 2
	HOST_AGENT="every 1"
	agents_on
	capture ipv4 "${addr4[r]}"
	agents_off
	HOST_AGENT="records 2 every 1"
	agents_on
	capture ipv6 "${addr6[r]}"
	exit
fi

# dissect FILE: to JSON, an object for each packet, of what our dissector says:
#	options	of each: name, records, written, tag (of those that have one), found (of a SYN-ACK's: rate, u,
#		qlen, n), and rec, the records: link, rate, u, ts, tx, qlen, n (null in an empty one)
#	expert	names of what is wrong with them
# And false when Lua or tshark itself had an error.
dissect()
{
	tshark -r "$1" -X "lua_script:$top/scripts/hpccpp.lua" -T json --no-duplicate-keys \
		>"$tmp/json" 2>"$tmp/tshark" || { cat "$tmp/tshark"; return 1; }
	# shellcheck disable=SC2016 # jq's
	jq -c '
		def list: if . == null then [] elif type == "array" then . else [.] end;
		def number($field): .["hpccpp." + $field] | if . then tonumber else null end;
		.[]._source.layers | select(.tcp) |
		(if .tcp["tcp.flags_tree"]["tcp.flags.push"] | tostring | test("^(1|[Tt]rue)$")
			then "collect" else "burst" end) as $burst | {
			options: [.. | objects | select(has("hpccpp.kind")) | {
				name: ({ "0x4843": "collect", "0x4842": $burst, "0x4845": "echo",
					"0x4854": "tag", "0x4857": "window" }[.["hpccpp.exid"] // ""]),
				records: number("records"), written: number("written"),
				tag: .["hpccpp.tag"],
				found: (if has("hpccpp.found.rate") then
					[number("found.rate", "found.u", "found.qlen", "found.n")] else [] end),
				window: (if has("hpccpp.window.kind") then
					[number("window.kind", "window.serial", "window.w", "window.t",
						"window.law", "window.eta", "window.w_ai", "window.n",
						"rate", "u")] else [] end),
				rec: [.["hpccpp.record_tree"] | list[] | {
					link: number("link"), rate: number("rate"),
					u: number("u"), ts: number("ts"),
					tx: number("tx_bytes"), qlen: number("qlen"),
					n: number("n")
				}]
			}],
			expert: [.. | objects | keys[] | select(test("^hpccpp\\.(bad|no|sat|res)"))] | unique
		}' "$tmp/json" >"$tmp/packets"
	! grep -i 'lua' "$tmp/tshark" && ! grep -m 1 '_ws\.lua.*error' "$tmp/json"
}

same() # WHAT-SEGS-SAYS WHAT-TSHARK-SAYS
{
	[[ -n $1 ]] && diff <(sort <<<"$1") <(sort <<<"$2")
}

mkdir "$tmp/capture"
# shellcheck disable=SC2097,SC2098 # for the command alone
RESULTS="$tmp/capture" "$top/scripts/place.sh" --timeout 1000 -- "$0" capture
ktap_plan 62

for family in ipv4 ipv6; do
	cp "$tmp/capture/$family.segs" "$tmp/segments"
	check "$family: tshark reads the capture" dissect "$tmp/capture/$family.pcap"
	compare "$family: records" "$(jq -s '[.[].options[].rec[]] | length' "$tmp/packets")" '>' 250
	check "$family: options, records, links: as capture_stop reads them" same \
		"$(segs_awk '{ n_of[opt " " n " " written " " links]++ }
			END { for (i in n_of) print i, n_of[i] }')" \
		"$(jq -r '.options[0] // { name: "none", records: 0, written: 0, rec: [] } |
			"\(.name) \(.records) \(.written) \([.rec[] | select(.rate > 0).link] |
				if . == [] then "-" else join(",") end)"' "$tmp/packets" |
			sort | uniq -c | awk '{ n = $1; $1 = ""; print substr($0, 2), n }')"
done

# --- Packets made by hand ----------------------------------------------------

packets=()
expected=()

# made NAME HEX EXPECTED: a segment with these TCP options, over IPv4 and IPv6 in
# turn; expected is "OPTION RECORDS WRITTEN LINK:RATE:U:TS:TX:QLEN:N... FOUND, EXPERT..."
made()
{
	local hex=${2// } doff ip
	while [[ $((${#hex} % 8)) -ne 0 ]]; do
		hex+=00
	done
	doff=$((5 + ${#hex} / 8))
	if [[ $((${#packets[@]} % 2)) -eq 0 ]]; then
		ip=$(printf '4500%04x0000400040060000%s' $((20 + 4 * doff)) 0a0000010a000002)
	else
		ip=$(printf '60000000%04x0640fd%029d1fd%029d2' $((4 * doff)) 0 0)
	fi
	hex=$ip$(printf '1000200000000001000000%x2%x010010000000000' 0 $doff)$hex
	packets+=("$(fold -w 2 <<<"$hex" | paste -sd ' ')")
	expected+=("$1=$3")
}

r1='00761940 00001000 000020d1'		# 7, 25M, 1, 256, 2048, 192, 16
r2='00a26480 ffffff00 00000100'		# 10, 10k, 2, 268435440, 64, 0, 0
empty='00000000 00000000 00000000'
made "one record" "fd104843 $r1" "collect 1 1 7:25000000:1:256:2048:192:16"
made "one record over IPv6" "fd104845 $r1" "echo 1 1 7:25000000:1:256:2048:192:16"
made "the second empty" "fd1c4845 $r1 $empty" "echo 2 1 7:25000000:1:256:2048:192:16 0:0:-:-:-:-:-"
made "three records" "fd284843 $r1 $r2 $r1" \
	"collect 3 3 7:25000000:1:256:2048:192:16 10:10000:2:268435440:64:0:0 7:25000000:1:256:2048:192:16"
made "a burst's, not its last segment" "fd104842 $r1" "burst 1 1 7:25000000:1:256:2048:192:16"
made "none written" "fd104843 $empty" "collect 1 0 0:0:-:-:-:-:-"
made "the most of each field" "fd104843 ffffffff ffffffff ffffffff" \
	"collect 1 1 4095:255000000000000000:3.984375:268435440:1073741760:133169152:49152, bad_rate saturated"
made "4 Tbit/s" "fd104843 001b2800 00000000 00000000" "collect 1 1 1:4000000000000:0:0:0:0:0"
made "4.1 Tbit/s" "fd104843 001b2900 00000000 00000000" "collect 1 1 1:4100000000000:0:0:0:0:0, bad_rate"
made "9.9 kbit/s" "fd104843 00126300 00000000 00000000" "collect 1 1 1:9900:0:0:0:0:0, bad_rate"
made "written after empty" "fd1c4843 $empty $r1" \
	"collect 2 1 0:0:-:-:-:-:- 7:25000000:1:256:2048:192:16, bad_order"
made "after timestamps" "0101080a0000000100000002 fd104845 $r1" "echo 1 1 7:25000000:1:256:2048:192:16"
zeros=$(printf '%080d' 0)
made "two options" "fd104843 $empty fd104845 $r1" \
	"collect 1 0 0:0:-:-:-:-:-;echo 1 1 7:25000000:1:256:2048:192:16"
made "with a tag" "fd144854 $r1 c0ffee11" "tag 1 1 7:25000000:1:256:2048:192:16 0xc0ffee11"
made "two with a tag" "fd204854 $r1 $empty c0ffee11" \
	"tag 2 1 7:25000000:1:256:2048:192:16 0:0:-:-:-:-:- 0xc0ffee11"
made "a tag is wanted" "fd104843 $empty fd044854" "collect 1 0 0:0:-:-:-:-:-;tag 0 -"
for length in 8 16 19 28 40; do
	made "tag, length $length" "$(printf 'fd%02x4854' $length)${zeros:0:2 * length - 8}" "tag - -, bad_length"
done
made "not at a multiple of 4" "01 fd104843 $r1" "collect - -, bad_offset"
made "a collect of no record" "fd044843" "collect 0 -"
for n in 0:- 3:2 4:3 13:64 31:32768; do
	made "collect of a SYN-ACK, N ${n#*:}" "fd144843 $r1 $(printf '%08x' $((${n%:*} << 27 | 0x03961428)))" \
		"collect 1 1 7:25000000:1:256:2048:192:16 found 20000000:0.625:311296:${n#*:}"
done
made "a SYN-ACK's, whose SYN found nothing" "fd144843 $empty 00000034" "collect 1 0 0:0:-:-:-:-:- found 0:0.8125:0:-"
made "an echo of none" "fd044845" "echo - -, bad_length"
for length in 6 15 17 27 39; do
	made "length $length" "$(printf 'fd%02x4843' $length)${zeros:0:2 * length - 8}" "collect - -, bad_length"
done
made "length 2" "fd02" ""
made "length 3" "fd0348" ""
made "length 0" "fd00" ""
made "a window and the path's rate" "fd084857 12ddc664" "window - - 0 1 48000 - - - - - 100000000 -"
made "a window and U" "fd084857 607d00f3" "window - - 1 2 2000 - - - - - - 0.94921875"
made "a window and N" "fd084857 b07d0010" "window - - 2 3 2000 - - - - 16 - -"
made "a request for windows, law averaged" "fd0c4857 d0c7e05f 14c40064" "window - - 3 1 4880 2300 0 95 100 - - -"
made "a request for windows, law draft" "fd0c4857 d0c7e15f 14c40064" "window - - 3 1 4880 2300 1 95 100 - - -"
made "a request for no windows" "fd0c4857 f0000000 00000000" "window - - 3 3 0 0 0 0 0 - - -"
made "a window as long as records" "fd104857 $r1" "window - -, bad_length"
made "a request as long as a window" "fd084857 d0c7e05f" "window - -, bad_length"
made "another's ExID" "fd0cf989 0102030405060708" ""
made "beyond the header" "fd284843 $r1" "collect - -, bad_length"
made "ExID beyond the header" "02040218 0303 fd10" ""
made "none after the end of options" "00000000 fd104843 $r1" ""

for hex in "${packets[@]}"; do
	echo "0000 $hex"
done >"$tmp/hex"
text2pcap -q -l 101 "$tmp/hex" "$tmp/made.pcap" 2>"$tmp/text2pcap"
dissect "$tmp/made.pcap" >"$tmp/said" || { cat "$tmp/said" >&2; exit 1; }
mapfile -t got < <(jq -r '
	def or_none: if . == null then "-" else tostring end;
	[.options[] | "\(.name | or_none) \(.records | or_none) \(.written | or_none)" +
		([.window[] | " " + or_none] | add // "") +
		([.rec[] | " " + ([.link, .rate, .u, .ts, .tx, .qlen, .n | or_none] | join(":"))] | add // "") +
		(if .found == [] then "" else " found " + (.found | map(or_none) | join(":")) end) +
		(if .tag then " " + .tag else "" end)] as $o |
	($o | join(";")) + (.expert | if . == [] then "" else ", " + (map(ltrimstr("hpccpp.")) | join(" ")) end)' \
	"$tmp/packets")
for i in "${!expected[@]}"; do
	check "${expected[i]%%=*}: ${expected[i]#*=}" [ "${got[i]}" = "${expected[i]#*=}" ]
done

# INT responses: id, ports, sequence number, other end, link, rate, U, queue
responses=()
response() # HEX: over IPv4 where the other end has 4 bytes, else IPv6; alone
{
	local hex=${1// } len udp
	len=$((8 + ${#hex} / 2))
	udp=$(printf '48504850%04x0000' $len)$hex
	if [[ $len -le 36 ]]; then
		responses+=("$(printf '4500%04x0000400040110000%s' $((20 + len)) 0a0000090a000001)$udp")
	else
		responses+=("$(printf '60000000%04x1140fd%029d9fd%029d1' $len 0 0)$udp")
	fi
}
response "4852 03e8 00000007 0000 07d0 $r1 0a000002"
response "4844 03e8 ffffffff 0000 07d0 $r1 0a000002"
response "4844 03e8 00000007 0000 07d0 $r1 fd000000000000000000000000000002"
response "4845 03e8 00000007 0000 07d0 $r1 0a000002"
response "4852 03e8 00000007 0000 07d0 $r1 0a0000"
for hex in "${responses[@]}"; do
	echo "0000 $(fold -w 2 <<<"$hex" | paste -sd ' ')"
done >"$tmp/hex"
text2pcap -q -l 101 "$tmp/hex" "$tmp/responses.pcap" 2>"$tmp/text2pcap"
# shellcheck disable=SC2046 # words
mapfile -t got < <(tshark -r "$tmp/responses.pcap" -X "lua_script:$top/scripts/hpccpp.lua" -T fields -E separator=, \
	$(printf -- '-e hpccpp.%s ' response.{id,sport,dport,seq,peer,peer6} link rate u qlen n) 2>"$tmp/tshark")
said() { check "response: $1" [ "${got[$2]}" = "$3" ]; } # NAME NUMBER FIELDS
said "to a sender" 0 0x4852,1000,2000,7,10.0.0.2,,7,25000000,1,192,16
said "to a receiver" 1 0x4844,1000,2000,4294967295,10.0.0.2,,7,25000000,1,192,16
said "over IPv6" 2 0x4844,1000,2000,7,,fd00::2,7,25000000,1,192,16
said "another's ID" 3 ,,,,,,,,,,
said "another length" 4 ,,,,,,,,,,

# What a snap length cuts off is not an error of ours.
editcap -s 52 "$tmp/made.pcap" "$tmp/cut.pcap"
check "cut off by the capture" dissect "$tmp/cut.pcap"
ktap_finish
