# SPDX-License-Identifier: GPL-2.0
# Part of lib.sh: captured segments; rules of nft for them; sysctls and the trace of the module; and
# measured flows of xfer.
# shellcheck shell=bash
# What is set here is used by the tests, and namespaces are in variables set by name.
# shellcheck disable=SC2034,SC2154

# --- What was on the wire ----------------------------------------------------

# capture_start NETNS DEV [FROM ADDRESS]: captures what passes there in $tmp/pcap. Its last packet is
# sent from the namespace FROM, h1, to ADDRESS, r.
capture_start()
{
	last_packet=("${3-$h1}" "${4-${addr4[r]}}")
	capture_mac=$(ip -n "$1" -j link show "$2" | jq -r '.[0].address')
	in_ns_bg "$1" tcpdump -i "$2" -s 160 -B 16384 -U --immediate-mode -Z root \
		-w "$tmp/pcap" 'ip or ip6' 2>"$tmp/tcpdump"
	capture_process=$!
	busywait 10 grep -q 'listening on' "$tmp/tcpdump"
}

sentinel() # NETNS ADDRESS: sends a packet, and returns true if one has been captured
{
	in_ns "$1" bash -c "echo captured >/dev/udp/$2/9"
	grep -q captured "$tmp/pcap"
}

# capture_stop: ends when a packet sent now has been captured, too. Writes a line to $tmp/segments
# for each TCP segment:
#  1 time		2 source port	3 flags		4 sequence number
#  5 payload		6 length of the TCP header
#  7 option: -, collect, echo, both (a SYN-ACK's), burst (a collect without PSH), bad, other
#  8 records		9 written records	10 1 if a SYN-ACK reports a record of the SYN
# 11 tag options in hexadecimal, or -	12 the bytes that a tag signs before those of its option
# 13 out if sent by the device, or in	14 length of the IP packet	15 SACK blocks
# 16 links of written records, or -	17 these records as LINK:QLEN:U:TX in bytes, or -
# and "- fragment" or "- toobig" for a fragment, or an ICMP message that a packet was too long.
capture_stop()
{
	busywait 10 sentinel "${last_packet[@]}"
	kill "$capture_process"
	wait "$capture_process" || true
	grep -q '^0 packets dropped by kernel' "$tmp/tcpdump" || return
	# shellcheck disable=SC2016 # perl's
	perl -e '
		read STDIN, $h, 24;
		while (read STDIN, $h, 16) {
			($s, $us, $len) = unpack "VVV", $h;
			read STDIN, $p, $len;
			($ip, $v4, $frag, $proto) = unpack "x14Cxnx2nxC", $p;
			if ($ip >> 4 == 4) {
				$at = 14 + 4 * ($ip & 15);
				$end = 14 + $v4;
				$ends = join "", map { "0" x 20 . "ffff", unpack "x${_}H8", $p } 26, 30;
				$toobig = $proto == 1 && unpack("x${at}n", $p) == 0x0304;
				$frag &= 0x3fff;
			} else {
				($v6, $proto) = unpack "x18nC", $p;
				$at = 54;
				$end = 54 + $v6;
				$ends = unpack "x22H64", $p;
				$toobig = $proto == 58 && unpack("x${at}C", $p) == 2;
				$frag = $proto == 44;
			}
			print "- fragment\n" if $frag;
			print "- toobig\n" if $toobig;
			next if $proto != 6;
			($port, $seq, $off, $bits) = unpack "x${at}nx2Nx4CC", $p;
			$doff = ($off >> 4) * 4;
			($what, $n, $full, $found, $sack, @tags, @links, @recs) = ("-", 0, 0, 0, 0);
			for ($i = $at + 20; $i < $at + $doff; $i += $l) {
				($kind, $l, $exid) = unpack "x${i}CCn", $p;
				last if !$kind;
				$l = 1 if $kind == 1;
				$sack = ($l - 2) / 8 if $kind == 5;
				next if $kind != 253;
				push @tags, unpack "H*", substr $p, $i, $l if $exid == 0x4854;
				$what = { 0x4843 => "collect", 0x4845 => "echo" }->{$exid} // "other";
				$what = $bits & 8 ? "collect" : "burst" if $exid == 0x4842;
				$n = int(($l - 4) / 12);
				if ($exid == 0x4843 && $l == 20) {
					$w = $i + 16;
					$what = "both";
					$found = (unpack("x${w}N", $p) >> 8 & 0xfff) > 0;
				} elsif ($what ne "other" && ($l % 12 != 4 || !$n || $i - $at & 3)) {
					($what, $n) = ("bad", 0);
				}
				for ($r = 0; $r < $n; $r++) {
					$w = $i + 4 + 12 * $r;
					@w = unpack "x${w}NNN", $p;
					next if !($w[0] >> 8 & 0xfff);
					$full++;
					push @links, $w[0] >> 20;
					$e = $w[1] >> 4 & 15;
					$m = ($w[1] & 15) << 2 | $w[2] >> 6 & 3;
					$qlen = $e ? (64 + $m) << $e - 1 : $m;
					push @recs, join ":", $w[0] >> 20, 64 * $qlen,
						($w[0] & 255) / 64, 64 * ($w[2] >> 8);
				}
			}
			$flags = join "", map { $bits & 1 << $_ ? substr "FSRPA", $_, 1 : "" } 0 .. 4;
			printf "%d.%06d %d %s %u %d %d %s %d %d %d %s %s %s %d %d %s %s\n",
				$s, $us, $port, $flags, $seq, $end - $at - $doff, $doff,
				$what, $n, $full, $found, join(",", @tags) || "-",
				join("", $ends, unpack "x${at}H8x4H8", $p),
				unpack("x6H12", $p) eq $ARGV[0] ? "out" : "in", $end - 14, $sack,
				join(",", @links) || "-", join(",", @recs) || "-";
		}' "${capture_mac//:/}" <"$tmp/pcap" >"$tmp/segments"
}

# segs_awk PROGRAM: awk over the segments with some columns by their names
segs_awk()
{
	awk '$1 == "-" { next }
		{
			dir = $13; len = $14; sack = $15; n = $8; written = $9; links = $16
			opt = $7 == "-" ? "none" : $7 == "both" ? "collect" : $7
			kind = $5 ? "data" : $3 ~ /[SFR]/ ? "control" : "ack"
		}'"$1" "$tmp/segments"
}

# transfer_captured CLIENT-OPTIONS [SERVER-OPTIONS [ADDRESS]]: one test of a transfer from h1 to r,
# captured at r. Sets enter to the times that either end came under telemetry, and no_int to the
# flows of the module that began without.
transfer_captured()
{
	enter=$(($(counter "$h1" enter) + $(counter "$r" enter)))
	no_int=$(($(counter "$h1" no_int) + $(counter "$r" no_int)))
	capture_start "$r" eth0
	sent_intact "$name" "$h1" "$r" "${3-${addr4[r]}}" "$1" "${2-}"
	capture_stop
	enter=$(($(counter "$h1" enter) + $(counter "$r" enter) - enter))
	no_int=$(($(counter "$h1" no_int) + $(counter "$r" no_int) - no_int))
}

# --- Rules, sysctls and traces ------------------------------------------------

# nft_s1 COMMAND: by nft at s1
nft_s1() { nsenter --net="/run/netns/$s1" nft "$*"; }

# forward_rules [RULE...]: what s1 forwards passes these nft rules from now on, and no others
forward_rules()
{
	local rule
	nft_s1 flush ruleset
	[[ $# -eq 0 ]] || nft_s1 "add table inet box;" \
		"add chain inet box forward { type filter hook forward priority 0; }"
	for rule; do
		nft_s1 "add rule inet box forward $rule"
	done
}

# set_knob NAME VALUE: the sysctl net.hpccpp.NAME of h1
set_knob()
{
	# shellcheck disable=SC2016 # for sh
	nsenter --net="/run/netns/$h1" sh -c 'echo "$2" >"/proc/sys/net/hpccpp/$1"' - "$1" "$2"
}

# trace_on, and trace_off: the updates of the module since, as "at=SECONDS NAME=VALUE..." a line
# in $tmp/updates
tracing=/sys/kernel/tracing
trace_on()
{
	echo >"$tracing/trace"
	echo 1 >"$tracing/events/hpccpp/hpccpp_update/enable"
}

trace_off()
{
	echo 0 >"$tracing/events/hpccpp/hpccpp_update/enable"
	sed -nE 's/.* ([0-9]+\.[0-9]+): hpccpp_update:/at=\1/p' "$tracing/trace" >"$tmp/updates"
}

# --- Flows of xfer -----------------------------------------------------------

# xfer_flows SECONDS ADDRESS FLOWS: runs flows of hpccpp with xfer. iperf3 polls for a round trip
# before it sends, which takes minutes if a poll takes a nanosecond. Sets the variables of
# meter_done, and goodput_bps and jain for the time in which data was sent.
xfer_flows()
{
	local processes=() i host
	for ((i = 1; i <= $3; i++)); do
		xfer_server "$r" $((5200 + i)) >"$tmp/server$i"
		processes+=($!)
	done
	meter_start "$2"
	for ((i = 1; i <= $3; i++)); do
		host=h$i
		in_ns_bg "${!host}" "$HPCCPP_BIN/xfer" -c hpccpp -t "$1" connect "$2" $((5200 + i)) >"$tmp/client$i"
		processes+=($!)
	done
	for i in "${processes[@]}"; do
		wait "$i"
	done
	meter_done "$1"
	read -r goodput_bps jain < <(jq -r -s 'map(.received * 8 / .seconds) |
		((add | . * .) / (map(. * .) | add) / length) as $jain |
		"\(add | floor) \($jain * 1e4 | round / 1e4)"' "$tmp"/server[1-"$3"])
}
