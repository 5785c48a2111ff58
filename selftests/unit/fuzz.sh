#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# libFuzzer, with the address and undefined-behaviour sanitizers, on what reads
# telemetry of others: the agents' parsers and the update of W (fuzz.c). A number of
# runs, 10 s on a quick machine, 30 times that with LONG=1; SEED=N tests others than
# those of every day.
#
# check: host
# usual: 30
# shellcheck disable=SC2317 # functions that check calls
set -uo pipefail

# shellcheck source-path=SCRIPTDIR source=../lib/lib.sh
. "${BASH_SOURCE%/*}/../lib/lib.sh"
bin=$(realpath -m "$HPCCPP_BIN")
runs=$((${LONG:+30 * }500000))
corpus=$tmp/corpus

build()
{
	local kernel
	kernel=$("$top/scripts/vm/kernel.sh" 6.1) || return
	make -C "$top/selftests" O="$bin" CFLAGS="-O1 -g -Werror" \
		VMLINUX_H="$kernel/vmlinux.h" "$bin/fuzz"
}

# What to begin with, as fuzz.c reads it: segments as they are, of each kind.
# shellcheck disable=SC2016 # perl's
seeds()
{
	mkdir -p "$corpus"
	perl -e '
		sub seed { open F, ">", "$ARGV[0]/seed" . $n++; print F @_ }
		sub rec { pack "N3", @_ }
		sub option { pack("C2n", 253, 4 + length $_[1], $_[0]) . $_[1] }
		sub params { pack "Q<6", 1999, 94, 5, 100, 1499, 48500 }
		$rec = rec 0x0016c840, 0x10, 0x1000;	# link 1, 200 Mbit/s, U 1
		$more = rec 0x0026c880, 0x100010, 0x2000;
		($empty, $collect, $echo, $tag, $burst) = ("\0" x 12, 0x4843, 0x4845, 0x4854, 0x4842);
		$low = rec 0x0016c802, 0x10, 0x1000;	# U 1/32

		seed(pack("C", 0), params, map { pack("C3", 0x81, 20, 1), rec(0x0016c840, $_ << 20, $_ << 18) } 1 .. 4);
		seed(pack("C", 0), params, pack("C3", 3, 20, 1), $rec, $more, $empty);

		# a port: 200 Mbit/s, 2 ms, one queue, then packets
		sub packets { pack("CQ<4C4", 1, 2e8 - 10000, 1999, 7, 0, $extras, $respond, $roce, $cnp),
			map { pack("C4", $extras ? 22 : 20, 1, 1, length $_), $_,
				pack "Q<C4", $extras ? 65000 : 1500, 0, 0, 0, 0 } @_ }
		# and what comes to it: the state of a connection, una, nxt, a packet
		sub arrivals { map { pack("C4VC2", 20, 1, 0, 1, 900, 200, length $_), $_ } @_ }
		sub ip4 { pack "x12nCxnx4CCx10a*", 0x800, 0x45, 20 + length $_[0], 64, 6, $_[0] }
		sub ip6 { pack "x12nCx3nCCx32a*", 0x86dd, 0x60, length $_[0], 6, 64, $_[0] }
		sub jumbo { pack "x12nCx3nCCx32C4Na*", 0x86dd, 0x60, 0, 0, 64, 6, 0, 0xc2, 4, 70000, $_[0] }
		sub vlan { substr($_[0], 0, 12) . pack("n2", 0x8100, 5) . substr $_[0], 12 }
		sub tcp { pack "n2N2CCnx4a*a*", 1000, 2000, 1, 2, (20 + length $_[1]) << 2, $_[0], 64, $_[1], "data" }
		$times = "\1\1\x08\x0a\0\0\0\1\0\0\0\2";
		$sack = "\1\1\5\x0a\0\0\0\5\0\0\0\7";
		$syn = "\2\4\5\xb4\4\2\x08\x0a\0\0\0\1\0\0\0\0\1\3\3\7";
		for $ip (\&ip4, \&ip6, \&jumbo, sub { vlan ip4 @_ }, sub { vlan vlan ip6 @_ }) {
			seed(packets map { $ip->(tcp 0x10, $times . $_) } $times, option($collect, $empty), option($collect, $rec));
		}
		# a threshold of 51/64, and that with a codepoint that none of these has
		for $extras (1 | 51 << 2, 3 | 51 << 2) {
			seed(packets map { ip4 tcp 0x10, option $collect, $_ } $empty, $rec, pack("N3", 1 << 20, 0, 0));
		}
		# responses that a port makes, and some that come to one
		($extras, $respond) = (1, 1);
		seed(packets map { $_->(tcp 0x10, option $collect, $empty) } (\&ip4, \&ip6) x 4);
		sub sum { my $s = 0; $s += $_ for map { unpack "n*", $_ } @_; $s = ($s & 0xffff) + ($s >> 16) while $s >> 16; $s }
		sub udp { my ($addresses, $peer, $id) = @_;
			my $u = pack("n6Nn2", 18512, 18512, 24 + 8 + length $peer, 0, $id // 0x4852, 1000, 1000, 0, 2000) . $rec . $peer;
			substr $u, 6, 2, pack "n", ~sum($addresses, pack("n2", 17, length $u), $u) & 0xffff; $u }
		for $id (0x4852, 0x4844) {
			seed(packets(), arrivals
				pack("x12nCxnx4CCx2", 0x800, 0x45, 56, 64, 17) . pack("C8", 10, 0, 0, 9, 10, 0, 0, 1) .
					udp(pack("C8", 10, 0, 0, 9, 10, 0, 0, 1), "\x0a\0\0\5", $id),
				pack("x12nCx3nCC", 0x86dd, 0x60, 48, 17, 64) . "\xfd" x 32 . udp("\xfd" x 32, "\xfc" x 16, $id));
		}
		# ... to the receiver
		$roce = 16;
		seed(packets map { $_->(tcp 0x10, option $collect, $empty) } (\&ip4, \&ip6) x 4);
		$roce = 0;
		($extras, $respond) = (0, 0);
		seed(packets map { ip4 tcp 0x10, option $collect, $_ } $rec, $rec . $more, $rec . $more . $empty);
		seed(packets map { ip4 tcp $_, option $burst, $empty } 16, 24);
		seed(packets ip4 tcp 18, $syn . option $collect, $empty . "\x12\x36\x14\x28");
		seed(packets map { ip4 tcp $_->[0], $_->[1] . option $collect, $empty } [2, $syn], [16, $sack], [16, "$times$sack"]);

		# RoCEv2: data with a trace and without, a Fast CNP; marks, ioam, border
		sub rocev2 { pack("n4C2nN2", 1000, 4791, 28, 0, @_[0, 1], 0xffff, 0x11, 1) . "dataicrc" }
		sub ipv6 { pack("x12nCx3nCC", 0x86dd, 0x60, length $_[1], $_[0], 64) . "\xfd" x 32 . $_[1] }
		$data = rocev2 4, 0;
		$trace = pack("C8nC2Nx28C4", 17, 5, 1, 0, 0x31, 38, 0, 0, 1, 7 << 3, 7, 0xf20c0000, 1, 2, 0, 0);
		$fast = pack("C8", 17, 2, 1, 2, 0, 0, 0x9e, 16) . "\xfd" x 16;
		for ([7, 1], [15, 1], [7 | 32, 1], [1, 255]) {
			($roce, $cnp) = @$_;
			for $p (ipv6(17, $data), ipv6(0, $trace . $data), vlan(ipv6 60, $fast . rocev2 0x81, 0), ipv6(43, pack("C4x20", 17, 2, 4, 1) . $data),
				ipv6(44, pack("C8", 17) . $data), ipv6(51, pack("C12", 17, 1) . $data), ip4(tcp 0x10, option $collect, $empty)) {
				# only what was forwarded is answered, and the first has no load to tell of
				$extras = 1;
				seed(packets(($p) x 4), arrivals $p);
			}
		}
		($extras, $roce, $cnp) = (0, 0, 0);

		# a host: what happens, whether it is signed, the time, una, nxt, packets and
		# lost, the options; keys, the first signs; the mode, and every
		sub host { pack("C", 2), params, pack "C2Q<2C5H64C", 1, @_[0, 1], $_[5] // 1, 0, 0, 1, @_[2, 3], "5a" x 32, $_[4] }
		sub event { my ($what, $opts, @more) = @_;
			pack("C4NC3C", $what, 1, 20, 1, 1000, 50, 1, 0, length($opts) / 4), $opts, pack "C*", @more }
		@pull = event 7, "", 1;
		for $r ($rec, $rec . $more, $rec . $more . $rec) {
			seed(host(0, 2, 0, 0, 0), event(1, ""), event(5, "", 2, 0, 5, 0), event(2, option $echo, $rec), @pull,
				(event(5, "", 16, 1, 10, 0), event(4, option $echo, $r), @pull) x 3);
			seed(host(0, 0, 0, 0, 0), event(0, ""), event(5, option($collect, $rec), 18, 0, 4, 0), event(3, ""),
				(event(4, option $collect, $r), event(5, "", 16, 0, 7, 0)) x 3);
		}
		# a SYN-ACK that asks back, and one that comes
		seed(host(0, 0, 0, 0, 0), event(0, ""), event(5, option($collect, $rec), 18, 0, 5, 0), event(3, option($echo, $rec)));
		seed(host(0, 2, 0, 0, 0), event(1, ""), event(5, "", 2, 0, 5, 0), event(2, option $collect, $rec . "\x12\x36\x14\x28"), event(5, "", 16, 0, 7, 0));
		# many segments at once, one asks in a round trip or in so many; the segments of one
		for (0, 3) {
			seed(host(0, 2, 0, 0, 0, $_), event(1, ""), event(5, "", 2, 0, 5, 0), (event(4, option $echo, $low), @pull) x 16,
				(event(5, "", 16, 3, 10, 0), event(9, "")) x 4);
			seed(host(0, 2, 0, 0, 0, $_), event(3, ""), (event(5, "", $_, 0, 10, 0), event(4, option $burst, $rec), event(5, "", 16, 0, 10, 0)) x 2) for 16, 24;
		}
		for $r ($rec, $rec . $more) {
			seed(host(0, 2, 1, 1, 0), event(1, ""), event(5, "", 2, 0, 10, 0), event(2, option $tag, $rec . "tags"), @pull,
				(event(5, "", 16, 1, 10, 0), event(4, option $tag, $r . "tags"), @pull) x 3);
			seed(host(0, 0, 2, 0, 0), event(0, ""), event(5, option($collect, $rec) . option($tag), 18, 0, 5, 0), event(3, ""),
				(event(4, option($collect, $r) . option $tag), event(5, "", 16, 0, 8, 0)) x 3);
		}
		# windows: a sender that asks for them, a receiver that computes them
		sub window { pack "C2nN*", 253, 4 + 4 * @_, 0x4857, @_ }
		seed(host(0, 0, 0, 0, 1), event(1, ""), event(2, option $echo, $rec), event(7, "", 1), @pull,
			event(8, "", unpack "C*", pack "V2", 2000 << 12 | 5 << 8 | 95, 2000 << 16 | 10),
			event(5, "", 16, 1, 7, 0), (map { event(4, window $_ << 30 | 1 << 28 | 2000 << 12 | 0x664), @pull } 0 .. 2),
			event(4, window 2 << 28 | 2000 << 12), @pull, event(8, "", (0) x 8), event(4, window 1 << 28 | 2000 << 12),
			event(5, "", 16, 1, 7, 0), event(4, option $echo, $rec), @pull);
		seed(host(0, 0, 0, 0, 0), event(1, ""), event(2, option $echo, $rec), event(4, window 1 << 28 | 2000 << 12), event(5, "", 16, 1, 7, 0));
		seed(host(0, 0, 0, 0, 1), event(3, ""), event(4, option $collect, $rec),
			event(4, window 3 << 30 | 1 << 28 | 2000 << 12 | 5 << 8 | 95, 2000 << 16 | 10),
			map { event(4, option $collect, rec(0x0016c840, $_ << 20, $_ << 18)), event(5, "", 16, 0, 7, 0) } 1 .. 4,
			event(4, window 3 << 30 | 2 << 28, 0));

		# a RoCEv2 host: hops of its traces and more, 64 for one that answers marks, 32
		# more with Fast CNPs; the line rate; whether it goes around switches; then
		# packets, how they come (with right sums 1, to leave 2), and time that passes before
		sub cnphost { pack("C2", 3, $_[0]), params, pack "Q<C", 2e8 - 10000, $_[1] // 0 }
		sub roce { my ($how, $p, @time) = @_; @time = (20, 1) if !@time; pack("C4", @time, $how, length $p) . $p }
		sub fast { ipv6(60, $_[0] . pack("n4C2nN2x16N", 1000, 4791, 40, 1, 0x81, 0, 0xffff, 17, 0, 0)) }
		sub fast4 { pack("C8n", 17, 7, 1, 0, 0x9d, 54, 0, 0, 1) . pack("C2NN7", 7 << 3, 0, 0xf20c0000, 0x3f000001, 0x10002, @_) . "\xfd" x 16 . "\1\2\0\0" }
		sub data { ipv6 17, pack("n4C2nN2a*", 1000, 4791, 28, 0, 4, 0, 0xffff, @_, 1 << 31 | 1, "dataicrc") }
		$cnp = ipv6(17, pack("n4C2nN2x16N", 1000, 4791, 40, 1, 0x81, 0, 0xffff, 17, 0, 0));
		$out = roce(2, data 17);
		$ack = roce(0, ipv6 17, rocev2 0x11, 0);
		for $hops (0, 3, 4, 8 | 16) {
			seed(cnphost($hops), $out, roce(2, ipv6 17, rocev2 0x11, 0), roce(2, ipv6 0, $trace . $data), $out x 2,
				roce(0, ipv6 0, $trace . $data), roce(0, vlan ipv6 0, $trace . $data));
			seed(cnphost($hops), $out, roce(1, fast $fast), ($out, roce(1, fast($fast), 13, 255), $ack, roce(1, $cnp)) x 3, $out);
			seed(cnphost($hops), $out, (map { ($out, roce(1, fast(fast4 1, $_ << 11, 9e4, $_ << 16, 29 << 26), 14, 200)) } 1 .. 4),
				roce(2, data(17), 16, 255));
		}
		# marked: of a queue pair that no ACK has named, and when one has; too soon;
		# for another host, as the route has it when time is odd
		sub marked { substr($_[0], 15, 1, "\x30"); $_[0] }
		for $mode (64, 96) {
			$mark = roce(0, marked(data 17), 20, 255);
			seed(cnphost($mode | 3), roce(0, data(17), 0, 1), $mark, roce(2, ipv6(17, rocev2 0x11, 0), 20, 255), ($mark, roce(0, data 17)) x 2,
				roce(2, ipv6 17, rocev2 0x11, 0), roce(0, marked(ipv6 0, $trace . $data), 20, 255),
				roce(0, marked(data 17), 1, 1), roce(0, marked(data 18), 20, 255), roce(0, marked(data 19), 0, 1));
		}
		# Fast CNPs of a switch, and packets that go around it, with a checksum and without
		sub of_switch { substr($_[0], 22, 16, "\xfc" x 16); $_[0] }
		for $hops (0, 3) {
			$summed = data 17;
			substr $summed, 60, 2, "\x12\x34";
			seed(cnphost($hops, 1), $out, (roce(1, of_switch(fast $fast), 16, 255), $out, roce(2, $summed), roce(2, ipv6(17, rocev2 0x0c, 0)),
				roce(2, ipv6(17, rocev2 0x11, 0)), roce(2, ipv6 0, $trace . $data), roce(2, vlan data 17)) x 3,
				roce(1, of_switch fast fast4 1, 1 << 11, 9e4, 1 << 16, 29 << 26), $out);
		}
		# more flows than there is room for, again when they are long idle
		seed(cnphost(1), (map { roce(2, data $_) } 1 .. 5), roce(2, data(6), 36, 255));
	' "$corpus"
}

# Replays the corpus; each function of the agents and of the header has to be run.
replay()
{
	"$bin/fuzz" -runs=0 -print_coverage=1 -artifact_prefix="$tmp/" "$corpus" >"$tmp/replay" 2>&1 || {
		grep -E 'ERROR|runtime error|^ +#[0-9]' "$tmp/replay"
		return 1
	}
	grep -q '^COVERED_FUNC.* hpccpp_host ' "$tmp/replay" &&
		! grep '^UNCOVERED_FUNC' "$tmp/replay"
}

fuzz()
{
	"$bin/fuzz" -seed="${SEED:-1}" -max_len=1024 -runs="$runs" \
		-artifact_prefix="$tmp/" "$corpus" >"$tmp/log" 2>&1 || {
		grep -A 12 -E 'ERROR|runtime error' "$tmp/log"
		sed -n 's/^Base64: /the input, in base64: /p' "$tmp/log"
		return 1
	}
}

ktap_plan 4
check "fuzz is built" build
seeds
check "what it begins with runs every function" replay
check "nothing is found" fuzz
# a fuzzer that ends early finds nothing either
assert_ge "... in so many runs" "$(sed -nE 's/^Done ([0-9]+) runs .*/\1/p' "$tmp/log")" "$runs"
ktap_diag "$(sed -n 's/^Done //p' "$tmp/log"), seed ${SEED:-1}," \
	"coverage $(sed -nE 's/^#.*(INITED|DONE) *cov: ([0-9]*).*/\2/p' "$tmp/log" | paste -sd ' ' | sed 's/ / to /')"
ktap_finish
