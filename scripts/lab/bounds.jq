# SPDX-License-Identifier: GPL-2.0
# Judge the lab's runs: from an array of their JSON, a line for each bound,
#
#	WORD  FIGURE (OP BOUND[, listed FIGURE])  WHAT, SCENARIO NAME
#
# $known is the text of known.bounds, the list of bounds that are known not to hold.
#
#	ok		the bound holds
#	known		it does not, as the list says
#	new		it does not, and is not in the list
#	worse		it does not, by more than the list says and $margin of that
#	holds		it is in the list, but holds
#	gone		it is in the list, but the run has no such bound
#	unjudged	the run that the bound is relative to is not there
#	note		a figure without a bound

# Bounds that were set when figures were known already, and so hold by choice. Each is what
# the text beside it argues for, or what another implementation reached:
#
#	utilisation of a pipe under 40 packets	a prototype's figures less .01: eta is out of
#						reach there by a packet of slack
#	Jain, only from W_ai of 60 bytes on	steps below are lost in the noise of U
#	step: 10 round trips after a leave	maxStage additive steps come first; with none
#						it is 5
#	incast into less than 32 MB: a stall	one RTO of 5 ms, where none is wanted
#	fabric: largest 5 %, twice DCTCP's	what HPCC pays for short queues
#	probe: .6 of the peak			half of it and the flows that were there
#	integrity: .85 of the honest share	the gain that the wire format grants a liar
#	mixed: 20 round trips, 1 Mbit/s		not stuck, no more
#	star32: 3.3, 6 and 20			between what is published for Bolt and for HPCC
#	sweep: .8, a BDP and a packet a flow	stable, no more

include "known";

def r4: if type == "number" then . * 10000 | round / 10000 else . end;
def check($figure; $op; $bound; $what):
	(($figure | type == "number") and ($bound | type == "number") and
	 (if $op == ">=" then $figure >= $bound elif $op == ">" then $figure > $bound else $figure <= $bound end)) as $ok |
	{ word: (if $ok then "ok" else "new" end), figure: ($figure | r4), $op, bound: ($bound | r4), $what };
def note($figure; $what): { word: "note", figure: ($figure | r4), $what };
def list: if type == "array" then .[] else . end;
def worst: [list] | max;
def less($a; $b): if ($a | type) == "number" and ($b | type) == "number" then $a - $b else null end;
def over($a; $b): if ($a | type) == "number" and ($b | type) == "number" and $b != 0 then $a / $b else null end;

# The list compares figures of runs that give the same bytes each time. A hundredth is
# for what another compiler or a kernel of the same series may change.
def margin: 0.01;
def judged($list):
	$list[.what] as $listed |
	if $listed == null or .word == "note" then .
	else
		.listed = $listed |
		if .word == "ok" then .word = "holds"
		elif .figure | type != "number" then .word = "worse"
		else
			((if .op == "<=" then .figure - $listed else $listed - .figure end) >
				margin * ($listed | fabs)) as $beyond |
			.word = if $beyond then "worse" else "known" end
		end
	end;
# the run that a line of the list, or a bound, is of
def run_of: .what | split(" ")[-2:] | join(" ");
def verdicts($all):
	. as $lines |
	(known_bounds($known) | map({ key: .what, value: .figure }) | from_entries) as $list |
	($all | map({ key: "\(.scenario) \(.name)", value: true }) | from_entries) as $made |
	($lines | map({ key: .what, value: true }) | from_entries) as $said |
	($lines | map(select(.word == "unjudged") | { key: run_of, value: true }) | from_entries) as $unjudged |
	($lines[] | judged($list)),
	(known_bounds($known)[] | select($made[run_of] and ($said[.what] or $unjudged[run_of] | not)) |
		{ word: "gone", figure: "-", listed: .figure, what });
def line:
	([if .op then "\(.op) \(.bound)" else empty end, if .listed then "listed \(.listed)" else empty end] |
		if . == [] then "" else " (\(join(", ")))" end) as $beside |
	"\(.word + "        " | .[:8])  \(.figure)\($beside)  \(.what)";

. as $all |
def runs($scenario): $all[] | select(.scenario == $scenario);
def same($a; $b; $keys): all($keys[]; . as $k | $a.params[$k] == $b.params[$k]);
def name: "\(.scenario) \(.name)";
# beside(BASE; WHAT; BOUNDS): bounds of a run relative to another, which is their .base
def beside(base; $what; bounds):
	[base][0] as $base |
	if $base then .base = $base | bounds
	else { word: "unjudged", figure: "-", what: "no run \($what), \(name)" } end;
# A bound of the mean over five seeds, of runs like this one in these keys
def five($keys; metric; $op; $bound; $what): . as $run |
	[$all[] | select(.scenario == $run.scenario and .cc == $run.cc and same(.; $run; $keys)) | .metrics | metric] as $seeds |
	if $seeds | length == 5 then
		check($seeds | if all(type == "number") then add / 5 else null end; $op; $bound; "\($what), \(name)")
	else { word: "unjudged", figure: "-", what: "no runs of five seeds, \(name)" } end;
# the run that differs by nothing but its congestion control
def rival($cc): . as $run |
	$all[] | select(.scenario == $run.scenario and .cc == $cc and .seed == $run.seed and
		same(.; $run; ["flows", "mbit", "rtt", "mtu", "offloads", "overhead", "host", "size", "buffer", "shape", "load", "sizes", "conns"]));

# The utilisation where the pipe is short: a packet of slack in the window is a seventh of
# the BDP of 10 Gbit/s and 8 us, so that eta is out of reach. What is in reach was found with
# a prototype of the algorithm on the same TCP, before this module: by link, N of W_ai and
# flows (1, 2, 4, 16, 64).
[{
	"10000 8 flows": [1.000, .971, .957, .912, .865], "10000 8 64": [.951, .935, .901, .857, .865],
	"10000 20 flows": [1.000, .983, .972, .950, .921], "10000 20 64": [.951, .952, .934, .911, .921]
} as $prototype |

# p99 slowdowns after the handshake that are wanted at a load of 50 %, by size
{
	fb_hadoop: { packet: 2.2, to_10k: 2.3, to_100k: 3.2, to_1m: 8, largest: 10 },
	websearch: { packet: 1.2, to_10k: 1.6, to_100k: 2.4, to_1m: 5.4, largest: 7.5 }
} as $slowdowns |

(runs("long"), ((runs("rx"), runs("flows-n")) | select(.params.mode == "receiver" and .params.flows <= 64)) |
	select(.cc == "hpccpp") | . as $run | .metrics as $m |
	if $m.bdp >= 40 then
		check($m.utilisation; ">="; 0.93; "utilisation, \(name)"),
		(select(.params.overhead > 0) | check($m.utilisation; "<="; 0.97; "utilisation of the wire, \(name)")),
		check($m.queue_mean; "<="; 5; "queue mean, packets, \(name)"),
		check($m.queue_p99; "<="; 16; "queue p99, packets, \(name)")
	else
		(([1, 2, 4, 16, 64] | index($run.params.flows)) as $i |
		 (if .params.n == 64 then "64" else "flows" end) as $n |
		 $prototype["\(.params.mbit) \(.params.rtt) \($n)"] as $row |
		 if $row and .params.mtu == 1500 then
			check($m.utilisation; ">="; $row[$i] - 0.01; "utilisation, of the prototype less 0.01, \(name)")
		 else note($m.utilisation; "utilisation, \(name)") end),
		note($m.queue_p99; "queue p99, packets, \(name)")
	end,
	check($m.jain; ">="; 0.98; "Jain, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)"),
	(select(.scenario == "long" and .params.mtu == 1500 and .params.flows > 1 and $m.bdp >= 40 and $m.queue_mean > 0) |
		beside(rival("dctcp"); "of DCTCP";
			check(over(.base.metrics.queue_mean; $m.queue_mean); ">="; 20; "DCTCP's mean queue over ours, \(name)")))),

(runs("step") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	check($m.join_queue_back | worst; "<="; 5; "queue back under 5 packets after connect(), RTTs, \(name)"),
	# 5 additive steps come before a multiplicative one with the default stage
	check($m.leave_back | worst; "<="; (if .params.stage == 0 then 5 else 10 end);
		"utilisation back after a leave, RTTs, \(name)"),
	check([$m.leave_lows_late | list] | min; ">="; 0.85;
		"least load of two RTTs from the fourth after a leave on, \(name)"),
	note($m.join_queue_last | worst; "queue over 5 packets for the last time in 20 RTTs after connect(), \(name)"),
	check($m.join_fair | worst; "<="; 20; "a joining flow within 1.25 of its share, RTTs, \(name)")),

(runs("incast") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)"),
	check($m.timeouts; "<="; 0; "timeouts, \(name)"),
	(select(.params.buffer < 32000000) | check($m.stall_us; "<="; 5000 + .params.rtt; "longest stall, us, \(name)")),
	check($m.completion_over_ideal; "<="; (if .params.buffer == 1000000 then 1.2 else 1.05 end);
		"completion over ideal, \(name)"),
	(select(.params.buffer == 32000000 and .params.size == 500000) |
		check($m.drain_net_rate; ">="; 0.97; "the queue drains at, of the link's rate, \(name)"),
		note($m.utilisation_until_drained; "the link's load until then, \(name)"))),

(runs("int-response") | select(.params.respond != 0) | . as $run | .metrics as $m |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	beside(runs("int-response") | select(same(.; $run; ["flows", "buffer", "mode"]) and .params.respond == 0);
		"without responses";
		.base.metrics as $without |
		check($m.queue_peak; "<="; $without.queue_peak; "queue peak, packets, that without responses, \(name)"),
		check($m.drops; "<="; $without.drops; "drops, those without responses, \(name)"),
		check($m.completion_over_ideal; "<="; $without.completion_over_ideal + 0.02;
			"completion over ideal, that without responses and 0.02, \(name)"),
		check($m.reaction_first; "<="; $without.reaction_first;
			"RTTs until the first flow reacts, those without responses, \(name)"),
		check($m.reaction_median; "<="; $without.reaction_median;
			"RTTs until half of them have, those without responses, \(name)"))),

(runs("probe") | select(.params.probe != 0) | . as $run | .metrics as $m |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)"),
	beside(runs("probe") | select(same(.; $run; ["flows", "busy"]) and .params.probe == 0);
		"without a probe";
		check($m.resumed_last_us; "<="; .base.metrics.resumed_last_us + 5 * .params.rtt;
			"us until all that resumed is there, that without a probe and 5 RTTs, \(name)"),
		(select(.params.busy != 0) |
			check($m.queue_peak; "<="; .base.metrics.queue_peak * 0.6;
				"queue peak, packets, 0.6 of that without a probe, \(name)"))),
	(select(.params.busy == 0) | note($m.queue_peak; "queue peak, packets, on a link that was idle, \(name)"))),

# What has a bound elsewhere has the same here. PowerTCP's authors claim that bursts cost no
# throughput: the load is that of long.
(runs("powertcp") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	if .params.shape == "incast" then
		check($m.drops; "<="; 0; "drops, \(name)"),
		check($m.load; ">="; 0.93; "load of the link from the burst on, \(name)"),
		(if .params.size != 0 then
			check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
			check($m.completion_over_ideal; "<="; 1.2; "completion over ideal, \(name)")
		else check($m.queue_back; "<="; 5; "queue back under 5 packets, RTTs, \(name)") end),
		note($m.queue_peak; "queue peak, packets, \(name)"),
		note($m.load_least; "least load of two RTTs, \(name)")
	elif .params.shape == "staggered" then
		check([$m.jains | list] | min; ">="; 0.98; "least Jain, \(name)"),
		check($m.join_fair | worst; "<="; 20; "a joining flow within 1.25 of its share, RTTs, \(name)"),
		check($m.join_queue_back | worst; "<="; 5; "queue back under 5 packets after connect(), RTTs, \(name)"),
		check($m.leave_back | worst; "<="; 10; "utilisation back after a leave, RTTs, \(name)"),
		check([$m.leave_lows_late | list] | min; ">="; 0.85;
			"least load of two RTTs from the fourth after a leave on, \(name)"),
		check($m.drops; "<="; 0; "drops, \(name)")
	else empty end),

# Bolt's authors publish 98.4 Gbit/s of 100 for HPCC, and 13.7 ms that wait at p99 for Bolt.
(runs("messages") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	check($m.unfinished; "<="; 0; "messages that did not end, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)"),
	check(over(1; $m.completion_over_ideal); ">="; 0.984; "throughput over what headers leave of the link, \(name)"),
	check($m.queue_p99_us; "<="; 13720; "queue p99, us, \(name)"),
	note($m.goodput_gbit; "goodput, Gbit/s, \(name)")),

(runs("fabric"), runs("clos"), (runs("powertcp") | select(.params.shape == "leafspine")) | select((.cc | startswith("hpccpp")) and .params.host != "fifo") | .metrics as $m |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	beside(rival("dctcp"); "of DCTCP";
		check(over($m.smallest_p99; .base.metrics.smallest_p99); "<="; 0.5;
			"p99 slowdown of the smallest 20 %, over DCTCP's, \(name)"),
		check(over($m.largest_p99; .base.metrics.largest_p99); "<="; 2;
			"p99 slowdown of the largest 5 %, over DCTCP's, \(name)")),
	(select(.scenario == "fabric" and .cc == "hpccpp" and .params.load == 50 and .seed == 1) |
		$slowdowns[.params.sizes] as $wanted | ($wanted | keys_unsorted[]) as $size |
		five(["sizes", "load", "host"]; .["\($size)_S_p99"]; "<="; $wanted[$size];
			"p99 slowdown after the handshake, mean of five seeds, \($size)")),
	note($m.smallest_p99; "p99 slowdown of the smallest 20 %, \(name)")),

# Small messages are never behind DCTCP's, and those of one packet are as quick as on connections
# of their own. The wait for another message on the same connection is in all of these.
(runs("rpc") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	check($m.unfinished; "<="; 0; "messages that did not end, \(name)"),
	beside(rival("dctcp"); "of DCTCP";
		check(over($m.packet_S_p99; .base.metrics.packet_S_p99); "<="; 1;
			"p99 slowdown of one packet, over DCTCP's, \(name)"),
		check(over($m.to_10k_S_p99; .base.metrics.to_10k_S_p99); "<="; 1;
			"p99 slowdown to 10 KB, over DCTCP's, \(name)")),
	(select(.cc == "hpccpp") |
		check($m.packet_S_p99; "<="; $slowdowns[.params.sizes].packet; "p99 slowdown of one packet, \(name)")),
	(("to_10k", "to_100k", "to_1m", "largest") as $size |
		note($m["\($size)_S_p99"]; "p99 slowdown, \($size), \(name)"))),

# Bolt's authors publish 2.7, 2.8 to 4.3 and 11 for Bolt, and 3.3, 12 to 20 and 45 for HPCC.
(runs("star32") | select(.cc == "hpccpp") | .metrics as $m |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	check($m.to_7k_S_p99; "<="; 3.3; "p99 slowdown after the handshake to 7 KB, \(name)"),
	check($m.from_46k_to_120k_S_p99; "<="; 6; "p99 slowdown after the handshake of 46 to 120 KB, \(name)"),
	check($m.largest_S_p99; "<="; 20; "p99 slowdown after the handshake of the largest 5 %, \(name)")),

(runs("parking"), runs("layout") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	check($m.real_bottleneck; ">"; 0.99; "samples that name the real bottleneck, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)"),
	# each flow of these has the same share under max-min fairness
	(select(.scenario == "parking") |
		check(over($m.shares_mbit | max; $m.shares_mbit | min); "<="; 1.15; "largest goodput over the least, \(name)")),
	note(($m.shares_mbit | map(tostring) | join(" ")); "goodput of each flow, Mbit/s, \(name)")),

(runs("rtts") | select(.cc == "hpccpp") | .metrics as $m |
	check(over($m.shares_mbit | max; $m.shares_mbit | min); "<="; 1.3; "largest goodput over the least, \(name)"),
	check($m.utilisation; ">="; 0.93; "utilisation, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)")),

# Agents on a part of the ports make nothing worse than none at all.
(runs("rollout") | select(.params.told != 0) | .metrics as $m |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)"),
	beside(runs("rollout") | select(.params.told == 0); "without agents";
		(.base.metrics as $without | ("packet", "to_10k", "to_100k", "to_1m", "largest") as $size |
			check(over($m["\($size)_S_p99"]; $without["\($size)_S_p99"]); "<="; 1;
				"p99 slowdown after the handshake, over that without agents, \($size), \(name)")))),

(runs("mixed") | .metrics as $m |
	check($m.least_R_mbit; ">="; 1; "least R, Mbit/s, \(name)"),
	check($m.least_mbit; ">="; 1; "least goodput of a flow beside the others, Mbit/s, \(name)"),
	check($m.leave_back; "<="; 20; "back after the others left, RTTs, \(name)"),
	note($m.share_ours; "share of the link, hpccpp, \(name)"),
	note($m.share_others; "share of the link, the others, \(name)")),

(runs("blind-hop") | .metrics as $m |
	check($m.utilisation; ">="; 0.9; "utilisation, \(name)"),
	check($m.without_bytes; "<="; 0; "flows without bytes, \(name)"),
	note($m.blind; "times that a flow found a queue, \(name)"),
	note($m.jain; "Jain, \(name)"),
	note($m.queue_mean; "queue mean, packets, \(name)"),
	note($m.drops; "drops, \(name)")),

# Beside others and alone it is no worse than Reno would be in its place; or CUBIC, which is
# what it is where nothing is told of.
(runs("harm") | select(.cc == "hpccpp") | . as $run | .metrics as $m |
	["mbit", "rtt", "hop", "packets", "other"] as $keys |
	def pair($cc; $other): runs("harm") | select(.cc == $cc and .params.other == $other and
		same(.; $run; $keys - ["other"]));
	(if .params.told == "none" then ["cubic", "CUBIC"] else ["reno", "Reno"] end) as [$own, $whose] |
	if .params.other == "none" then
		beside(pair($own; "none"); "of \($whose) alone";
			check(over($m.shares_mbit; .base.metrics.shares_mbit); ">="; 0.95; "goodput alone, over \($whose)'s, \(name)"),
			check($m.drops; "<="; 2 * .base.metrics.drops; "drops alone, twice \($whose)'s, \(name)"))
	else
		beside(pair(.params.other; .params.other); "of two \(.params.other)";
			check(over($m.shares_mbit[0]; (.base.metrics.shares_mbit | add / 2)); "<="; 1.5;
				"goodput beside \(.params.other), over a twin's, \(name)")),
		beside(pair(.params.other; .params.other); "of two \(.params.other)";
			check(over($m.shares_mbit[1]; (.base.metrics.shares_mbit | add / 2)); ">="; 0.67;
				"goodput of \(.params.other), over that beside a twin, \(name)"))
	end),

(runs("latency") | select(.cc == "hpccpp") | .metrics as $m |
	if .params.jitter == 0 then
		check($m.utilisation; ">="; 0.93; "utilisation, \(name)")
	elif (.seed // 1) == 1 then
		five(["mbit", "lag", "jitter", "tail"]; .utilisation; ">="; 0.93; "utilisation, mean of five seeds")
	else empty end,
	check($m.queue_mean; "<="; 5; "queue mean, packets, \(name)"),
	check($m.enter - 1 + $m.fallback; "<="; 2; "switches to Reno and back, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)")),

# What a lie may gain or spoil is bounded as kmod/hpccpp_wire.rst says.
(runs("integrity") | .metrics as $m |
	if .params.lie == "none" and .params.key == 1 then
		beside(runs("integrity") | select(.params.lie == "none" and .params.key == 0); "without a key";
			check($m.utilisation; ">="; .base.metrics.utilisation - 0.01;
				"utilisation, that without a key less 0.01, \(name)"),
			check($m.queue_p99; "<="; .base.metrics.queue_p99 + 2;
				"queue p99, packets, that without a key and 2, \(name)"))
	elif .params.lie == "full" and .params.key == 0 then
		check($m.shares_mbit[0]; ">="; 0.85 * .params.mbit; "goodput of the honest flow, Mbit/s, \(name)")
	elif .params.lie != "none" then
		check($m.shares_mbit[0]; ">="; 1; "goodput of the honest flow, Mbit/s, \(name)"),
		(select(.params.key == 0) |
			check($m.drops; "<="; 0; "drops, \(name)"),
			check($m.queue_p99; "<="; $m.bdp; "queue p99, packets, \(name)"))
	else check($m.jain; ">="; 0.98; "Jain, \(name)") end,
	note(($m.shares_mbit | map(tostring) | join(" ")); "goodput of the honest flow and the other, Mbit/s, \(name)")),

(runs("sparse") | select(.params.every != 1) | . as $run | .metrics as $m |
	beside(runs("sparse") | select(same(.; $run; ["flows", "mbit", "rtt"]) and .params.every == 1);
		"with every segment";
		check(less(.base.metrics.utilisation; $m.utilisation); "<="; 0.02;
			"utilisation less than with every segment, \(name)"),
		check(less($m.queue_p99; .base.metrics.queue_p99); "<="; 8;
			"queue p99 more than with every segment, packets, \(name)")),
	note($m.jain; "Jain, \(name)")),

(runs("flows-n") | select(.params.n == 0) | . as $run | .metrics as $m |
	beside(runs("flows-n") | select(same(.; $run; ["flows"]) and .params.n != 0); "with N fixed";
		check(less($m.jain; .base.metrics.jain); ">="; -0.002; "Jain more than with N fixed, \(name)"),
		(select(.params.flows > .base.params.n) |
			check($m.queue_mean; "<="; .base.metrics.queue_mean;
				"queue mean, packets, that with N fixed too small, \(name)")))),

# Stable: nothing is lost, no flow is without bytes, the queue stays within a
# bandwidth-delay product and a packet of each flow, and the link is in use.
(runs("sweep") | .metrics as $m |
	check($m.drops; "<="; 0; "drops, \(name)"),
	check($m.without_bytes; "<="; 0; "flows without bytes, \(name)"),
	# the link's histogram ends at 2 MiB: above that the maximum has to do
	check(if $m.queue_p99 * (.params.mtu + 14) >= 2097000 then $m.queue_max else $m.queue_p99 end;
		"<="; $m.bdp + .params.flows; "queue p99, packets, \(name)"),
	check($m.utilisation; ">="; 0.8; "utilisation, \(name)")),

(runs("scale") | select(.cc == "hpccpp" and .params.flows == 10000) | .metrics as $m |
	(1, 100) as $few |
	beside(runs("scale") | select(.cc == "hpccpp" and .params.flows == $few); "of \($few) flows";
		("bytes_per_flow", "instructions_per_ack", "instructions_tcp_ack") as $key |
		check(over($m[$key]; .base.metrics[$key]); "<="; 1.1;
			"\($key) with 10,000 flows, over that with \($few), \(name)")))
] | map(select(.word != "unjudged")) + (map(select(.word == "unjudged")) | unique) | verdicts($all) | line
