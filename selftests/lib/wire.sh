# SPDX-License-Identifier: GPL-2.0
# Part of lib.sh: what segments on a link have in them, by tcpdump or by segs.c; rules of nft
# for them; sysctls and the trace of the module; and measured flows of xfer.
# shellcheck shell=bash
# What is set here is used by the tests, and namespaces are in variables set by name.
# shellcheck disable=SC2034,SC2154

# --- What was on the wire ----------------------------------------------------

capture_start() # NETNS DEV: TCP there, into $tmp/pcap
{
	in_ns_bg "$1" tcpdump -i "$2" -s 160 -B 16384 -U --immediate-mode -Z root \
		-w "$tmp/pcap" 'tcp or udp port 9' 2>"$tmp/tcpdump"
	capture_process=$!
	busywait 10 grep -q 'listening on' "$tmp/tcpdump"
}

sentinel() # sends a packet from h1 to r, and tells if one has been captured
{
	in_ns "$h1" bash -c "echo captured >/dev/udp/${addr4[r]}/9"
	grep -q captured "$tmp/pcap"
}

# capture_stop: ends when a packet sent now from h1 to r has been seen, too. Writes a line to
# $tmp/segments for each TCP segment: time, source port, flags, sequence number, payload, length of
# the TCP header, option (-, collect, echo, both: a SYN-ACK's, or burst: a collect without PSH),
# records, written records, 1 if a SYN-ACK reports a record of the SYN, tag options in hexadecimal,
# and the bytes that a tag signs before those of its option.
capture_stop()
{
	busywait 10 sentinel
	kill "$capture_process"
	wait "$capture_process" || true
	grep -q '^0 packets dropped by kernel' "$tmp/tcpdump" || return
	# shellcheck disable=SC2016 # perl's
	perl -e '
		read STDIN, $h, 24;
		while (read STDIN, $h, 16) {
			($s, $us, $len) = unpack "VVV", $h;
			read STDIN, $p, $len;
			($ip, $v4, $v6) = unpack "x14Cxnn", $p;
			if ($ip >> 4 == 4) {
				next if unpack("x23C", $p) != 6;
				$at = 14 + 4 * ($ip & 15);
				$end = 14 + $v4;
				$ends = join "", map { "0" x 20 . "ffff" . unpack "x${_}H8", $p } 26, 30;
			} else {
				next if unpack("x20C", $p) != 6;
				$at = 54;
				$end = 54 + $v6;
				$ends = unpack "x22H64", $p;
			}
			($port, $seq, $off, $bits) = unpack "x${at}nx2Nx4CC", $p;
			$doff = ($off >> 4) * 4;
			($what, $n, $full, $found, @tags) = ("-", 0, 0, 0);
			for ($i = $at + 20; $i < $at + $doff; $i += $l) {
				($kind, $l, $exid) = unpack "x${i}CCn", $p;
				last if !$kind;
				$l = 1 if $kind == 1;
				next if $kind != 253;
				push @tags, unpack "H*", substr $p, $i, $l if $exid == 0x4854;
				$what = $exid == 0x4843 ? "collect" : $exid == 0x4845 ? "echo" : "other";
				$what = $bits & 8 ? "collect" : "burst" if $exid == 0x4842;
				$n = int(($l - 4) / 12);
				if ($exid == 0x4843 && $l == 20) {
					$w = $i + 16;
					($what, $found) = ("both", (unpack("x${w}N", $p) >> 8 & 0xfff) > 0);
				}
				for ($r = 0; $r < $n; $r++) {
					$w = $i + 4 + 12 * $r;
					$full++ if unpack("x${w}N", $p) >> 8 & 0xfff;
				}
			}
			$flags = join "", map { $bits & 1 << $_ ? substr "FSRPA", $_, 1 : "" } 0 .. 4;
			printf "%d.%06d %d %s %u %d %d %s %d %d %d %s %s\n", $s, $us, $port, $flags,
				$seq, $end - $at - $doff, $doff, $what, $n, $full, $found,
				@tags ? join ",", @tags : "-", join "", $ends, unpack "x${at}H8x4H8", $p;
		}' <"$tmp/pcap" >"$tmp/segments"
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

# --- Segments ----------------------------------------------------------------

# segs_start NETNS DEV: from here on segs.c watches what passes there.
segs_start()
{
	: >"$tmp/segs"
	in_ns_bg "$1" "$HPCCPP_BIN/segs" "$2" >"$tmp/segs"
	segs_process=$!
	busywait 10 grep -q watching "$tmp/segs"
}

# segs_stop: and leaves what it saw in $tmp/segs.
segs_stop()
{
	kill "$segs_process"
	wait "$segs_process"
}

# segs_awk PROGRAM: awk over the lines "seg" with the columns by their names.
segs_awk()
{
	awk '$1 != "seg" { next }
		{
			dir = $2; kind = $3; ts = $4; sack = $5; opt = $6; n = $7
			written = $8; links = $9; count = $10; longest = $11
		}'"$1" "$tmp/segs"
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
