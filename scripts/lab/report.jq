# SPDX-License-Identifier: GPL-2.0
# The report of the lab's runs, for report.sh: from an array of all runs' JSON, HTML
# with plots still to be made,
#
#	@plot NAME		gnuplot's commands, up to @end
#	@trace KIND FILE RUN ARGUMENT...	in a plot: what it reads from a run's traces
#	@line FILE ELEMENT	of its "plot", left out where there is no FILE; - needs none
#
# $bounds is the text of what bounds.jq says, $known that of known.bounds. A run or a
# metric that is not there leaves a dash or nothing.

include "known";
include "published";

# --- Numbers and tables --------------------------------------------------------

# Four digits are more than two runs of different seeds have in common.
def sig:
	if . == null then "–"
	elif type == "array" then map(sig) | join(" ")
	elif type != "number" then tostring
	elif . == 0 then "0"
	else
		(fabs | log10 | floor) as $e |
		(if $e >= 3 then pow(10; $e - 3) as $k | (. / $k | round) * $k
		 else pow(10; 3 - $e) as $k | (. * $k | round) / $k end) |
		if fabs >= 1e9 then "\(. / 1e9)G" elif fabs >= 1e6 then "\(. / 1e6)M" else tostring end
	end;
# A cell that is a number already written: shares have three places in all rows.
def share:
	if type == "number" then (. * 1000 | round) as $k |
		{ n: "\($k / 1000 | floor).\($k % 1000 + 1000 | tostring | .[1:])" }
	else . end;
def p99($run): # the link's histogram ends at 2 MiB
	if type == "number" and . * ($run.params.mtu + 14) >= 2097000 then { n: "> \(sig)" } else . end;
def worst: if type == "array" then max else . end;
def least: if type == "array" then min else . end;

def over($a; $b): if ($a | type) == "number" then $a / $b else null end;
def is_text: type == "string";
def cell:
	if IN("known", "new", "worse", "holds", "gone", "unjudged") then "<td class=\"t no\">\(.)" elif is_text then "<td class=t>\(@html)" elif type == "object" then "<td>\(.n | @html)"
	else "<td>\(sig | @html)" end;
# $groups: [title, columns] above the heads, or none; a head is aligned as its column
def table($groups; $heads; $rows):
	select($rows | length > 0) |
	"<div class=scroll><table>",
	(select($heads | length > 0) | "<thead>",
		(select($groups | length > 0) | "<tr>" + ($groups | map("<th colspan=\(.[1]) class=g>\(.[0] | @html)") | join(""))),
		"<tr>" + ([range($heads | length) | . as $i |
			"<th\(if $rows[0][$i] | is_text then " class=t" else "" end)>\($heads[$i] | @html)"] | join(""))),
	"<tbody>",
	($rows[] | "<tr>" + (map(cell) | join(""))),
	"</table></div>";
def folded($summary; body): "<details><summary>\($summary | @html)</summary>", body, "</details>";
def p($text): "<p>\($text)";
def section($id; $title): "<h2 id=\($id)>\($title)</h2>";
def pre($text): "<pre>\($text | @html)</pre>";

# --- Plots ---------------------------------------------------------------------

def quoted: "'" + gsub("'"; "''") + "'";
# $lines: [{title, style, points: [[x, y]...]}], or {title, style, file, using, trace}
def plot($name; $title; $x; $y; $commands; $lines):
	[$lines[] | select(.file or (.points | length > 0))] as $lines |
	select($lines | length > 0) |
	"@plot \($name)",
	"set title \($title | quoted)", "set xlabel \($x | quoted)", "set ylabel \($y | quoted)",
	$commands,
	(range($lines | length) | . as $i | $lines[$i] |
		if .file then .trace // empty | "@trace \(.)"
		else "$d\($i) << E", (.points[] | map(tostring) | join(" ")), "E" end),
	(range($lines | length) | . as $i | $lines[$i] |
		"@line \(.file // "-") " + (if .file then "'\(.file)' using \(.using)" else "$d\($i)" end) +
		" with \(if .file then "lines" else "linespoints" end) \(.style) title \(.title | quoted)"),
	"@end";
def plots(body): "<div class=plots>", body, "</div>";
def points(xy): [.[] | xy | select(all(.[]; type == "number"))] | sort;

def style: {
	"hpccpp": "lc rgb '#009955' pt 7", "hpccpp, N = flows": "lc rgb '#55bb22' dt 2 pt 6",
	"hpccpp, stage 0": "lc rgb '#aa3377' pt 5", "hpccpp-full": "lc rgb '#55bb22' dt 2 pt 6", "hpccpp-rx": "lc rgb '#dd77aa' dt 2 pt 4",
	"dctcp": "lc rgb '#0077bb' pt 9", "dctcp-k20": "lc rgb '#55aadd' dt 2 pt 8",
	"dctcp-dualpi2": "lc rgb '#005588' dt 3 pt 10", "bbr": "lc rgb '#ee9911' pt 11", "cubic": "lc rgb '#cc3311' pt 13",
	"reno": "lc rgb '#cc3311' pt 13", "HPCC, published": "lc rgb '#000000' dt 3 pt 4",
	"HPCC, ns-3": "lc rgb '#000000' dt 3 pt 4", "PowerTCP, ns-3": "lc rgb '#aa3377' dt 3 pt 4", "DCTCP, ns-3": "lc rgb '#0077bb' dt 3 pt 8",
	"HPCC-PINT, published": "lc rgb '#888888' dt 3 pt 4", "DCTCP, published": "lc rgb '#0077bb' dt 3 pt 8"
}[.] // "lc rgb '#555555' pt 1";
def styles: ["lc rgb '#009955' pt 7", "lc rgb '#55bb22' dt 2 pt 6", "lc rgb '#aa3377' pt 5", "lc rgb '#dd77aa' dt 2 pt 4"];
# An empty queue has no logarithm: it stands at the lower edge, whose mark says so.
def log_queue: "set logscale y; set yrange [0.01:]; set format y '%g'; set ytics add ('≤ 0.01' 0.01)";
def floor_queue: if type == "number" and . < 0.01 then 0.01 else . end;

# --- Runs ----------------------------------------------------------------------

. as $all |
def rival_ccs: ["dctcp", "dctcp-k20", "dctcp-dualpi2", "bbr", "cubic"];
def order: ["hpccpp", "hpccpp-full", "hpccpp-rx"] + rival_ccs + ["reno"];
def rank: . as $cc | order | index($cc) // 99;
def runs($scenario): [$all[] | select(.scenario == $scenario)];
def ccs: map(.cc) | unique | sort_by(rank);
def link: "\(.params.mbit / 1000) Gbit/s, \(.params.rtt) µs";
def by(f): group_by(f)[];

def star: pre("h1 ---.\nh2 --- s1 --- r1\t all links alike; the queue is that of s1 towards r1\nhN ---'");

# What others have of the same, and where that is.
def published_of($scenario): [published[] | select(.scenario == $scenario)];
def footnotes($runs): [$runs[].source] | unique | map("<p class=dim><strong>\({ ns3: "ns-3", repro: "ns-3", plots: "published", bolt: "published" }[.]).</strong> \(sources[.])") | .[];
# of runs of the same sizes and load
def slowdown_plot($name; $p):
	sort_by(.cc | rank) | "\(.[0].params.sizes) \(.[0].params.load)" as $key |
	plot("\($name)-\($key | gsub(" "; "-"))-\($p)"; "\($key) %: \($p) of S"; "flow size, bytes"; "S";
		"set logscale xy; set yrange [0.9:]; set format x '%.0s%c'; set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000)";
		[(.[], (published_of($name)[] | select("\(.params.sizes) \(.params.load)" == $key))) |
			{ title: .cc, style: (.cc | style), points: ([.metrics.sizes, .metrics["S_\($p)"]] | select(all(.[]; type == "array")) | transpose | map(select(all(.[]; type == "number" and . > 0)))) }]);

# --- The first screen --------------------------------------------------------------

def percent: . * 1000 | round | "\(. / 10 | floor).\(. % 10) %";
def brief: if . > 0 then pow(10; 2 - (log10 | floor)) as $k | (. * $k | round) / $k else . end | sig;
def tile($what; $figure; $beside; $of):
	"<div class=tile><h3>\($what)</h3><strong>\($figure)</strong>",
	(select($beside != []) | "<p>\($beside | join(" · "))"), "<p class=dim>\($of)</div>";
# of runs whose hosts have many flows
def in_turn: select(.params.host != "fifo" and (.seed // 1) == 1);
# The run of hpccpp that says most, and the others of the same: f is what is told of each
def rivals($run; $keys; f):
	[$all[] | select(.scenario == $run.scenario and .seed == $run.seed and (.cc | IN(rival_ccs[])) and
		(. as $other | all($keys[]; . as $k | $other.params[$k] == $run.params[$k]))) |
		select(f != null)] | sort_by(.cc | rank) | map("\(.cc) \(f)");
def crowd: [runs("long")[] | select(.cc == "hpccpp" and .params.n == 64 and .params.mtu == 1500 and
	.params.offloads != "no" and (.params.overhead // 0) == 0 and (.metrics.utilisation | numbers))] |
	max_by([.params.mbit, -.params.rtt, .params.flows]);
def fabric_run: [runs("fabric")[] | in_turn | select(.cc == "hpccpp" and (.metrics.smallest_p99 | numbers))] |
	max_by([.params.sizes == "websearch", .params.load == 50, .params.load]);
def tiles:
	(crowd | values | . as $run | ["flows", "mbit", "rtt", "mtu", "offloads", "overhead"] as $keys |
		"\(.params.flows) senders to one receiver, \(link)" as $of |
		tile("Load of the link"; .metrics.utilisation | percent; rivals($run; $keys; .metrics.utilisation // null | values | percent); $of),
		tile("Mean queue, packets"; .metrics.queue_mean | brief; rivals($run; $keys; .metrics.queue_mean // null | values | brief); $of)),
	(fabric_run | values | . as $run | ["sizes", "load", "host"] as $keys |
		"\(.params.sizes), \(.params.load) % load, 16 hosts of a leaf-spine fabric" as $of |
		tile("Small flows: p99 slowdown of the smallest 20 %"; .metrics.smallest_p99 | brief;
			rivals($run; $keys; .metrics.smallest_p99 // null | values | brief); $of),
		tile("The price: p99 slowdown of the largest 5 %"; .metrics.largest_p99 | brief;
			rivals($run; $keys; .metrics.largest_p99 // null | values | brief);
			"\($of); and 5 % of each link stays free"));
def first_screen:
	"<h1>HPCC++ for Linux TCP: what the lab measured</h1>",
	p("HPCC++ is congestion control from in-band telemetry: each hop writes the load of its egress port into packets, the receiver echoes it, and the sender sets window and pacing rate so that the most loaded link of its path carries 95 % of its bandwidth with an almost empty queue. Here the Linux module <code>tcp_hpccpp</code> (<em>hpccpp</em>) runs beside DCTCP, BBR and CUBIC of the same kernel. <a href=\"#terms\">Terms</a> are at the end."),
	"<div class=tiles>", tiles, "</div>",
	(fabric_run | values | .params.load as $load |
		plots(runs("fabric") | map(in_turn | select(.params.load == $load and (.cc | IN("hpccpp", rival_ccs[])))) | by([.params.sizes != "websearch", .params.sizes]) | slowdown_plot("first"; "p99")));

# --- 1. What was run -------------------------------------------------------------

def what_was_run:
	section("run"; "What was run"),
	table([]; []; [
		["runs", ($all | length | tostring)],
		["scenarios", ($all | group_by(.scenario) | map("\(.[0].scenario) \(length)") | join(", "))],
		["congestion controls", ($all | ccs | join(", "))],
		["kernel", ($all | map(.kernel) | unique | map(tostring) | join(", "))],
		["module, version and SHA-256", ($all | map(.module | select(.)) | unique | map(tostring) | join(", "))],
		["seed of the traffic", ($all | map(.seed | select(. != 0)) | unique | map(tostring) | join(", "))]
	]),
	p("The lab is the real TCP stack of that kernel and the real module and eBPF agents in User-Mode Linux, with a network namespace for each host and switch, in <em>virtual time</em>: the clock stands still while anything is computed, so that CPU costs nothing and times are exact to the nanosecond. Links send at exactly their rate, wait exactly their delay, and queue first in, first out, but for <em>dctcp-dualpi2</em>’s; delays are set so that a full packet and its ACK take the base RTT through empty queues. (The scenario <em>scale</em> is about what CPU and memory hpccpp takes, and runs in QEMU, where a nanosecond is an instruction.)"),
	p("A run’s name says what it has of its own: <em>hpccpp-64x100g-8us-mtu1500-n64</em> is hpccpp, 64 senders, links of 100 Gbit/s, a base RTT of 8 µs, an MTU of 1500 bytes, N 64 (<em>notso</em>: without TSO; <em>wire</em>: 24 bytes more with each frame on the link); <em>cubic-60x500k-4mb</em> of incast 60 senders of 500 KB each and a buffer of 4 MB; <em>dctcp-websearch-50</em> of fabric the flow sizes and a load of 50 %; <em>hpccpp-reno-200m-20000us-hop85-buffer30</em> of harm hpccpp beside Reno, links of 200 Mbit/s, 20 ms, and a last link of 85 % of that with a buffer of 30 packets.");
def terms:
	section("terms"; "Terms"),
	"<dl>",
	(
		["base RTT", "of a full packet and its ACK through empty queues. “RTTs” and µs of a link are this."],
		["utilisation", "what the bottleneck sent, headers included, of what it could have sent. η is hpccpp’s target for it."],
		["queue", "at the bottleneck, in packets of the MTU (and 14 bytes), without the packet being sent. Mean and p99 are over time; a p99 beyond 2 MiB is not resolved and says “&gt;”."],
		["BDP", "bandwidth × base RTT, in packets."],
		["Jain", "Jain’s index of the flows’ goodputs, (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has all."],
		["slowdown", "FCT / ideal FCT. FCT is from connect() to the arrival of the last byte; ideal is base RTT + size with headers / rate of the slowest link. The handshake, a base RTT, is in FCT but not in ideal (rpc has none); the way back of the last ACK is in ideal but not in FCT. So a small flow through empty queues has about 1.5."],
		["R, S, O", "slowdown as above; from when data could be sent on to when the last ACK is back, taken as half a base RTT after the last byte; and that time over the oracle’s, max-min fair sharing of the links without any queue. Means are geometric."],
		["W<sub>ai</sub>, N", "W<sub>ai</sub> is what hpccpp adds to its window in each round trip: W<sub>init</sub> (1 − η) / N, where N (<code>net.hpccpp.flows</code>) is how many flows are expected on a link."],
		["stage", "<code>net.hpccpp.max_stage</code>: additive increases before a multiplicative one. 5 is the default."],
		["hpccpp-rx", "the receiver computes the window, and tells it four times in T (section 6.2 of the draft)."],
		["hpccpp-full", "packets carry two records, which is what fits beside time stamps: the two most loaded hops, not one."],
		["DCTCP’s K", "queue above which the switch marks: 65 packets per 10 Gbit/s, as its authors say; for <em>dctcp-k20</em> 20, as in the simulations of the HPCC paper."],
		["<em>dctcp-dualpi2</em>", "DCTCP with AccECN, and at switches Linux’ qdisc dualpi2 (RFC 9332): packets with ECT and without wait in two queues; its step is the time that 65 packets take at 10 Gbit/s. It takes any ECT as L4S, as Linux’ DCTCP sends ECT(0). Its buffer is as many full packets as the FIFO’s."],
		["timeouts", "retransmission timeouts; the least RTO is 5 ms here."]
	| "<dt>\(.[0])<dd>\(.[1])"),
	"</dl>";

# --- 2. Bounds -------------------------------------------------------------------

# Of the many bounds those that say what hpccpp is for: scenario, name
def headline: [
	["long", "utilisation"], ["long", "queue mean, packets"], ["long", "queue p99, packets"],
	["long", "DCTCP's mean queue over ours"], ["long", "Jain"],
	["step", "queue back under 5 packets after connect(), RTTs"], ["step", "utilisation back after a leave, RTTs"],
	["incast", "completion over ideal"], ["fabric", "p99 slowdown of the smallest 20 %, over DCTCP's"],
	["fabric", "p99 slowdown of the largest 5 %, over DCTCP's"], ["parking", "largest goodput over the least"], ["rtts", "largest goodput over the least"],
	["harm", "goodput of cubic, over that beside a twin"]
];
def sign: gsub("<="; "≤") | gsub(">="; "≥");
def summary:
	[$bounds | split("\n")[] | select(. != "") |
		capture("^(?<word>\\w+) +(?<figure>.*?)(?: \\((?<bound>[<>]=? [^,)]*)?(?:, )?(?:listed (?<listed>[^)]*))?\\))?  (?<what>.*)$") |
		. + (.what | capture("^(?<name>.*), (?<scenario>[a-z0-9-]+) [^ ]+$") // {})] as $all_lines |
	[$all_lines[] | [.word, { n: (.figure | tonumber? // .) | sig }, { n: (.bound // "") | sign },
		 { n: (.listed // "") }, .what]] as $lines |
	def of($words): [$lines[] | select(.[0] as $w | $words | index($w))];
	def count($words; $text): of($words) | length | select(. > 0) | "\(.) \($text)";
	["", "figure", "bound", "as listed", "what, run"] as $heads |
	section("bounds"; "Bounds"),
	(if $lines == [] then p("None was judged.") else
		p("<strong>\(of(["ok", "holds"]) | length) of \(of(["ok", "holds", "known", "new", "worse"]) | length)</strong> bounds set for hpccpp hold" +
			([count(["known"]; "are known not to, and are below with the reason"), count(["new"]; "do not hold and are new"),
			  count(["worse"]; "are worse than is known"), count(["holds"]; "hold and are still listed as not holding"),
			  count(["gone"]; "are listed and exist no more"),
			  count(["unjudged"]; "could not be judged for want of another run")] | map("; " + .) | add // "") + ". Those that matter most, each with its worst figure:"),
		table([]; ["scenario", "what", "bound", "worst figure", "runs", "hold"];
			[headline[] as [$scenario, $name] |
				[$all_lines[] | select(.scenario == $scenario and .name == $name and .bound and .word != "note")] |
				select(. != []) |
				(if .[0].bound | startswith("<") then max_by(.figure | tonumber? // 1e9) else min_by(.figure | tonumber? // -1e9) end) as $worst |
				[$scenario, $name, { n: (map(.bound) | unique | if length == 1 then .[0] | sign else "by run" end) },
				 { n: ($worst.figure | tonumber? // .) | sig }, length, (map(select(.word | IN("ok", "holds"))) | length)]]),
		table([]; $heads; of(["new", "worse", "holds", "gone", "unjudged"])),
		(known_groups($known)[] | (.bounds | map(.what)) as $its |
			[of(["known", "worse"])[] | select(.[4] as $what | $its | index($what))] as $rows |
			select($rows != []) |
			p("<strong>\(.title | @html).</strong> \(.reason | @html)"), table([]; $heads; $rows)),
		folded("All \(of(["ok", "holds", "known", "new", "worse"]) | length) bounds, and \(of(["note"]) | length) figures that have none";
			table([]; $heads; $lines))
	end);

# --- 3. Scenarios ------------------------------------------------------------------

def series: # of long: hpccpp's N is 64, or as many as there are flows
	(.[] | select(.cc != "hpccpp" or .params.n == 64) | { title: .cc, run: . }),
	(.[] | select(.cc == "hpccpp" and .params.n == .params.flows) | { title: "hpccpp, N = flows", run: . });
def notso: .params.offloads == "no";
def wire: (.params.overhead // 0) > 0;
def long:
	runs("long") | select(. != []) | . as $runs |
	[.[] | select(.params.mtu == 1500 and (notso or wire | not))] as $plain |
	section("long"; "long: flows without end"),
	p("1 to 64 senders to one receiver, measured in the second half of at least 2000 round trips. hpccpp is to fill η of the link, or up to η + (1 − η) · flows / N, with a queue that is nearly empty however many flows there are. Where the BDP is a few packets only, a packet that waits is a large part of it, and utilisation is lower. Hosts send packets of many segments (TSO), which their links cut; in runs without TSO they send segments."),
	star,
	(if $plain == [] then empty else
		($plain | ccs) as $ccs |
		p("The worst from 1 to 64 flows, MTU 1500; hpccpp with N = 64."),
		table([["", 2]] + ($ccs | map([., 2])); ["link", "BDP"] + ($ccs | map("utilisation", "queue mean"));
			[$plain | by([.params.mbit, .params.rtt]) | . as $group |
				[(.[0] | link), .[0].metrics.bdp] + [$ccs[] | . as $cc |
					[$group[] | select(.cc == $cc and (.cc != "hpccpp" or .params.n == 64)) | .metrics] |
					(map(.utilisation | numbers) | min | share), (map(.queue_mean | numbers) | max)]]),
		plots($plain | by([.params.mbit, .params.rtt]) | . as $group | (.[0] | link) as $link |
			"long-\(.[0].params.mbit)-\(.[0].params.rtt)" as $name |
			# of 64 flows alone N = flows is N = 64
			[[series] | by(.title | [(sub(",.*"; "") | rank), .]) |
				select(.[0].title | endswith("flows") | not) // select(any(.[]; .run.params.n != 64))] as $series |
			("set logscale x 2; set xrange [0.9:71]; set xtics (1, 2, 4, 16, 64)") as $x |
			plot("\($name)-u"; "\($link): utilisation"; "flows"; "utilisation"; "\($x); set yrange [*<0.8:1.01]";
				[$series[] | { title: .[0].title, style: (.[0].title | style),
					points: points([.run.params.flows, .run.metrics.utilisation]) }]),
			plot("\($name)-q"; "\($link): mean queue"; "flows"; "packets"; "\($x); \(log_queue)";
				[$series[] | { title: .[0].title, style: (.[0].title | style),
					points: points([.run.params.flows, (.run.metrics.queue_mean | floor_queue)]) }]))
	end),
	($runs | by([.params.mtu, .params.mbit, .params.rtt, .params.overhead]) | . as $group |
		folded("\(.[0] | link)\(if .[0] | wire then ", \(.[0].params.overhead) bytes with each frame" else "" end), MTU \(.[0].params.mtu), BDP \(.[0].metrics.bdp | sig) packets";
			table([["", 2], ["", 1], ["queue, packets", 3], ["", 3]];
				["flows", "", "utilisation", "mean", "p99", "max", "Jain", "drops", "timeouts"];
				[$group | sort_by([.params.flows, (.cc | rank), .params.n, notso])[] | . as $run | .metrics |
					[$run.params.flows, (if $run.cc == "hpccpp" then "hpccpp, N = \($run.params.n)" else $run.cc end) + (if $run | notso then ", without TSO" else "" end),
					 (.utilisation | share), .queue_mean, (.queue_p99 | p99($run)), .queue_max, (.jain | share), .drops, .timeouts]])));

def step:
	def title: if .cc == "hpccpp" and .params.stage == 0 then "hpccpp, stage 0" else .cc end;
	# metrics.py has 40 for a queue or a load that did not come back
	def again: worst | if . == 40 then { n: "not in 40" } else . end;
	runs("step") | select(. != []) | . as $runs |
	section("step"; "step: a flow joins, a flow leaves"),
	p("A pair: flow 1 is alone, flow 2 joins, and 600 round trips later flow 1 leaves. Sixteen: flows join one by one, 150 round trips apart, and leave one by one; so do 64, 50 round trips apart. How high the queue gets and when it is short again show how soon flows that are there make room; load after a leave shows how soon they take what is free. Where the joining flow starts at line rate a peak of up to a BDP is inherent; under hpccpp it starts beside the load that is there, with half of a full link."),
	star,
	(plots(
		("join", "leave") as $event | (("2:queue:packets", "3:utilisation:of the link") / ":") as $what |
		[$runs[] | select(.params.flows == 2 and .params.mbit == 100000 and .params.rtt == 8)] | sort_by([(.cc | rank), -.params.stage]) |
		plot("step-\($event)-\($what[1])"; "\($event) at 100 Gbit/s, 8 µs: \($what[1])"; "base RTTs since the \($event)"; $what[2];
			("set xrange [-3:20]; \(if $what[0] == "2" then "set logscale y; set yrange [1:10<*]; set ytics add ('≤ 1' 1)" else "set yrange [0:1.05]" end)");
			map({ title: title, style: "\(title | style)", file: "step-\($event)-\(.name)", using: (if $what[0] == "2" then "1:($2 < 1 ? 1 : $2)" else "1:3" end),
				trace: "step step-\($event)-\(.name) step/\(.name) \($event) \(.params.rtt) \(.params.mbit) \(.params.mtu + 14)" })))),
	p("The queue is the most of each tenth of an RTT, from 1 packet up; utilisation is over the two RTTs before, headers included. Below, each figure is the worst of a run’s events. “Last &gt; 5” is of the first 20 RTTs. A flow that is over 1.25 times its share for all the time until the next event has there the length of that, 49, 149 or 499 RTTs."),
	table([["", 5], ["after a join", 4], ["after a leave", 3], ["", 1]];
		["link", "flows", "", "stage", "N", "queue peak", "≤ 5 packets again, RTTs", "last > 5, RTTs", "share within 1.25, RTTs", "least utilisation", "from the 4th RTT on", "back at 0.95 η, RTTs", "drops"];
		[$runs | sort_by([.params.mbit, .params.rtt, .params.flows, (.cc | rank), -.params.stage, .params.n])[] | .metrics as $m |
			[link, .params.flows, .cc, (if .cc | startswith("hpccpp") then .params.stage, .params.n else null, null end),
			 ($m.join_queue_peaks | worst), ($m.join_queue_back | again), ($m.join_queue_last | worst), ($m.join_fair | worst),
			 ($m.leave_lows | least | share), ($m.leave_lows_late | least | share), ($m.leave_back | again), $m.drops]]);

def incast:
	runs("incast") | select(. != []) | . as $runs |
	section("incast"; "incast: all send at once"),
	p("8 to 200 senders start within 20 µs and send 500 KB or 10 KB each at 100 Gbit/s, 8 µs, into a buffer of 32, 4 or 1 MB. Where every flow starts with a full BDP the first round trip fills the queue; under hpccpp a port tells the SYNs of a crowd that they are one. Ideal is the handshake, the base RTT and all bytes with headers at line rate. Stall is the longest time in which a flow that has begun received nothing."),
	star,
	plots([$runs[] | select(.params.flows == 60 and .params.size == 500000 and .params.buffer == 32000000)] | sort_by(.cc | rank) |
		(map(.metrics.ideal_us | numbers) | max // 2500 | . * 1.4 | floor) as $until |
		plot("incast-60"; "60 × 500 KB, buffer of 32 MB: queue"; "µs"; "packets"; "set xrange [0:\($until)]; set yrange [0:5<*]";
			map({ title: .cc, style: (.cc | style), file: "incast-\(.name)", using: "1:2",
				trace: "incast incast-\(.name) incast/\(.name) \($until) \(.params.rtt / 2) \(.params.mtu + 14)" }))),
	(($runs | by([-.params.size, -.params.buffer])) | . as $group |
		folded("\(.[0].params.size / 1000) KB each, buffer of \(.[0].params.buffer / 1e6) MB";
			table([]; ["senders", "", "completion, µs", "over ideal", "queue peak", "drops", "retransmitted", "timeouts", "stall, µs", "load until drained", "unfinished"];
				[$group | sort_by([.params.flows, (.cc | rank)])[] | . as $run | .metrics |
					[$run.params.flows, $run.cc, .completion_us, .completion_over_ideal, .queue_peak, .drops,
					 .retransmissions, .timeouts, .stall_us, (.utilisation_until_drained | share), .unfinished]])) |
		if startswith("<details>") then sub("<details>"; "<details open>") else . end);

def int_response:
	runs("int-response") | select(. != []) | . as $runs |
	section("int-response"; "int-response: the switch answers the senders"),
	p("Incast as above, of flows that begin at line rate (net.hpccpp.share 0), with INT responses (draft -00, section 6.3) of each switch port from a load of 150 % on, one in a base RTT for each flow, and without. They go to whoever computes the window. To the receiver they take the way of the data: in a FIFO they come after the segment that they are about, and tell nothing; with priorities (“control first”) they pass what waits."),
	star,
	p("Reaction: from when the queue is half a BDP, a load of 150 %, to when a flow makes its window smaller. The half of a base RTT that a response needs is the least."),
	table([["", 5], ["queue, packets", 1], ["reaction, RTTs", 2], ["", 6]];
		["senders", "buffer, MB", "window by", "responses from, %", "queues", "peak", "first", "median", "drops", "retransmitted", "timeouts", "stall, µs", "completion over ideal", "load until drained"];
		[$runs | sort_by([.params.mode == "receiver", .params.flows, -.params.buffer, .params.respond, .params.prio])[] | . as $run | .metrics |
			[$run.params.flows, $run.params.buffer / 1e6, $run.params.mode // "sender", (if $run.params.respond == 0 then "none" else $run.params.respond end),
			 (if $run.params.prio == 1 then "control first" else "FIFO" end),
			 .queue_peak, .reaction_first, .reaction_median, .drops, .retransmissions, .timeouts, .stall_us, .completion_over_ideal, (.utilisation_until_drained | share)]]);

def probe:
	runs("probe") | select(. != []) | . as $runs |
	section("probe"; "probe: flows that idled resume"),
	p("Flows of 200 KB send one by one on an idle link, and so have a window of all of it. Then 4 others come and stay, or nobody; 8 ms later all resume with 200 KB at once, each with half of its window, as it has paused. With a probe (section 6.1 of the draft; net.hpccpp.probe=8) the first two packets of each ask how loaded the path is before the rest leaves. On an idle link nobody can know that the others resume as well."),
	star,
	table([["", 3], ["queue, packets", 2], ["until their last byte, µs", 3], ["", 1]];
		["flows", "others", "probe", "before", "peak", "mean", "last", "ideal", "drops"];
		[$runs | sort_by([.params.flows, -.params.busy, .params.probe])[] | . as $run | .metrics |
			[$run.params.flows, $run.params.busy, (if $run.params.probe == 0 then "none" else "after \($run.params.probe) T" end),
			 .queue_before, .queue_peak, .resumed_mean_us, .resumed_last_us, .ideal_us, .drops]]);

def layout:
	runs("layout") | select(. != []) | . as $runs |
	section("layout"; "layout: records of a long path"),
	p("A path of 8 ports has more links than a TCP option has room for. With one record a port replaces a less loaded one (compare-and-replace, section 3 of draft -00); with two the first two ports that write are kept until a more loaded one comes, which is what is left here of a record for each hop. 6 links are shared with a flow each."),
	pre("h0 passes slow links s1-s2-...-s7 to r0, hI-rI the link I of these; 25 Gbit/s, slow: 10 Gbit/s; base RTT 20 us"),
	table([["", 1], ["goodput, Mbit/s", 2], ["queue, packets", 3], ["", 3]];
		["", "h0, long", "the others, mean", "mean of ports", "worst p99", "max", "drops", "updates", "names a real bottleneck"];
		[$runs | sort_by(.cc | rank)[] | . as $run | .metrics |
			[$run.cc] + (.shares_mbit | if type == "array" then [.[0], (.[1:] | add / length)] else [null, null] end) +
			[.queue_mean, (.queue_p99 | p99($run)), .queue_max, .drops, .samples, .real_bottleneck]]);

# p99 of S over seeds: mean, and from the least to the largest
def seeds($runs; $classes):
	$runs | map(select(.params.host != "fifo")) | group_by([.params.sizes, .params.load, (.cc | rank)]) |
	map(select(map(.seed) | unique | length > 1)) | select(. != []) |
	p("The same with other flows: p99 of S over several seeds, the mean, and from the least to the largest."),
	table([]; ["sizes", "load, %", "", "seeds"] + ($classes | map(.[1]));
		[.[] | . as $group | .[0] | [.params.sizes, .params.load, .cc, ($group | length)] +
			[$classes[][0] | "\(.)_S_p99" as $key | [$group[].metrics[$key] | numbers] |
				if . == [] then null else { n: "\(add / length | brief) (\(min | brief) to \(max | brief))" } end]]);

def workloads($scenario; $title; $text; $topology):
	runs($scenario) | select(. != []) | . as $all_seeds | map(select((.seed // 1) == 1)) as $runs |
	section($scenario; $title), p($text), pre($topology),
	p("S, slowdown from when data could be sent on until the last ACK is back, against flow size: flows are sorted by size into 20 classes of as many each, and a point stands at the largest size of its class."),
	plots($runs | map(in_turn) | by([.params.sizes, .params.load]) | ("p99", "p50") as $p | slowdown_plot($scenario; $p)),
	($runs | sort_by([.params.sizes, .params.load, .params.host == "fifo", (.cc | rank)]) |
		map(select(.params.host == "fifo").cc += ", FIFO")) as $runs |
	p("<em>R</em>, with the handshake:"),
	table([["", 4], ["p99", 3], ["smallest 20 %", 2]];
		["sizes", "load, %", "", "flows", "smallest 20 %", "middle", "largest 5 %", "p50", "mean after handshake"];
		[$runs[] | . as $run | .metrics |
			[$run.params.sizes, $run.params.load, $run.cc, .flows, .smallest_p99,
			 .middle_p99, .largest_p99, .smallest_p50, .smallest_mean_after_handshake]]),
	published_of($scenario) as $others |
	($runs | map(select(.metrics.short_S_p99 and ($others | any(.metrics.short_S_p99)))) | select(. != []) |
		p("Beside others’ of the same: p99 of S of short flows (WebSearch: under 3 KB, FB_Hadoop: under 120 KB), and of all."),
		table([]; ["sizes", "load, %", "", "short", "all", "largest queue, KB"];
			[.[] | .metrics.queue_kb = over(.metrics.queue_max * (.params.mtu + 14); 1000)] as $ours |
			[$ours + [$others[] | select(.metrics.short_S_p99)] | sort_by([.params.sizes, .params.load, .source != null])[] |
				[.params.sizes, .params.load, .cc, .metrics.short_S_p99, .metrics.all_S_p99, .metrics.queue_kb]])),
	($runs | map(select(.metrics.smallest_O_p99)) | select(. != []) |
		p("By size. <em>S</em> is slowdown from when data could be sent on until the last ACK is back: the handshake is in neither side. <em>O</em> is the same time over that of a fluid <em>oracle</em> in which the same flows share the same links max-min fair at each moment and wait nowhere. Each goes the way that the switches’ hash gave it: what those lose that meet on one of several is in both sides of O."),
		([["packet", "≤ 1 packet"], ["to_10k", "≤ 10 KB"], ["to_100k", "≤ 100 KB"], ["to_1m", "≤ 1 MB"], ["more", "more"], ["smallest", "smallest 20 %"], ["largest", "largest 5 %"]]) as $classes |
		table([["", 3]] + ($classes | map([.[1], 4])); ["sizes", "load, %", ""] + ($classes | map("R p99", "S p99", "O p99", "O mean"));
			[(. + [$others[] | select(.metrics.packet_S_p99)] | sort_by([.params.sizes, .params.load, .source != null]))[] |
				.metrics as $m | [.params.sizes, .params.load, .cc] +
				[$classes[][0] | $m["\(.)_R_p99"], $m["\(.)_S_p99"], $m["\(.)_O_p99"], $m["\(.)_O_gmean"]]]),
		seeds($all_seeds; $classes)),
	table([["", 3], ["queue of ports (under fq: of switches), packets", 3], ["", 4]];
		["sizes", "load, %", "", "mean", "worst p99", "max", "drops", "retransmitted", "timeouts", "unfinished"];
		[$runs[] | . as $run | .metrics |
			[$run.params.sizes, $run.params.load, $run.cc, .queue_mean, (.queue_p99 | p99($run)), .queue_max,
			 .drops, .retransmissions, .timeouts, .unfinished]]),
	(select($scenario != "star32") | footnotes($others));

def star32_classes:
	runs("star32") | select(. != []) | sort_by(.cc | rank) |
	p("Bolt’s classes of sizes, p99 of S:"),
	table([]; ["", "≤ 7 KB", "46 to 120 KB", "largest"];
		[(.[], published_of("star32")[]) | [.cc, .metrics.to_7k_S_p99, .metrics.from_46k_to_120k_S_p99, .metrics.largest_S_p99]]),
	footnotes(published_of("star32"));

def powertcp:
	def least: if type == "array" then min else . end;
	[["to_10k", "≤ 10 KB"], ["to_100k", "≤ 100 KB"], ["to_1m", "≤ 1 MB"], ["more", "more"]] as $classes |
	runs("powertcp") | select(. != []) | sort_by(.cc | rank) | . as $runs |
	[$runs[] | select(.params.shape == "incast")] as $bursts |
	[$runs[] | select(.params.shape == "leafspine")] as $loads |
	section("powertcp"; "powertcp: what PowerTCP’s authors run"),
	p("Their set of scenarios (inet-tub/ns3-datacenter, examples/PowerTCP), with their rates, buffer and times. A flow has had a link for 20 ms when others begin at once: 10 without end, or 256 with 2800 bytes each. Their list has both together, and theirs of the 10 are in the receiver’s rack. What PowerTCP claims is a queue that is short again without loss of throughput."),
	pre("h1 ---.\n...    s1 --- r1\t 25 Gbit/s, base RTT 30 us, buffer of 4 MB; the queue is that of s1 towards r1\nhN ---'"),
	plots(($bursts | by([.params.flows]) | . as $group | .[0].params.flows as $flows |
		(("2:queue:packets", "3:utilisation:of the link") / ":") as $what |
		plot("powertcp-\($flows)-\($what[1])"; "\($flows) to 1 beside a flow: \($what[1])"; "base RTTs since they begin"; $what[2];
			("set xrange [-3:20]; \(if $what[0] == "2" then "set logscale y; set yrange [1:10<*]; set ytics add ('≤ 1' 1)" else "set yrange [0:1.05]" end)");
			$group | sort_by(.cc | rank) | map({ title: .cc, style: (.cc | style), file: "powertcp-\(.name)", using: (if $what[0] == "2" then "1:($2 < 1 ? 1 : $2)" else "1:3" end),
				trace: "step powertcp-\(.name) powertcp/\(.name) begin \(.params.rtt) \(.params.mbit) \(.params.mtu + 14)" })))),
	table([["", 2], ["queue, packets", 3], ["load of the link in 4 ms", 2], ["the 2800 bytes of all", 2], ["", 2]];
		["to 1", "", "before", "peak", "≤ 5 again, RTTs", "mean", "least of two RTTs", "there after, µs", "over ideal", "drops", "timeouts"];
		[$bursts | sort_by([.params.flows, (.cc | rank)])[] | . as $run | .metrics |
			[$run.params.flows, $run.cc, .queue_before, .queue_peak, .queue_back, (.load | share), (.load_least | share),
			 .completion_us, .completion_over_ideal, .drops, .timeouts]]),
	([$runs[] | select(.params.shape == "staggered")] | select(. != []) |
		p("Four flows begin one by one, 100 ms apart, and end one by one; theirs do not end. Each figure is the worst of all events; Jain is that of the flows that are there, in the second half of the time between two events."),
		table([["", 1], ["after a join", 3], ["after a leave", 2], ["", 2]];
			["", "queue peak", "≤ 5 packets again, RTTs", "share within 1.25, RTTs", "least utilisation", "back at 0.95 η, RTTs", "least Jain", "drops"];
			[.[] | . as $run | .metrics | [$run.cc, (.join_queue_peaks | worst), (.join_queue_back | worst), (.join_fair | worst),
				(.leave_lows | least | share), (.leave_back | worst), (.jains | least | share), .drops]])),
	([$loads[].params.load] | unique | select(. != []) | . as $all_of |
		p("WebSearch at 20 to 95 % of the hosts’ links, on the leaf-spine fabric of <em>fabric</em> in place of theirs (256 hosts at 25 Gbit/s): p99 of S. Their claim is that PowerTCP’s short flows have a third less than HPCC’s at 60 %. Headers and telemetry make 100 % of a payload of 95 %."),
		plots($classes[] | . as [$class, $text] |
			plot("powertcp-\($class)"; "WebSearch, \($text): p99 of S"; "load, %"; "S"; "set logscale y; set yrange [1:10<*]; set xrange [15:100]";
				[$loads | by(.cc | rank)] | map({ title: .[0].cc, style: (.[0].cc | style), points: points([.params.load, .metrics["\($class)_S_p99"]]) }))),
		table([["", 2], ["p99 of S", 6], ["queue of switches, packets", 2], ["", 2]];
			["load, %", ""] + ($classes | map(.[1])) + ["smallest 20 %", "largest 5 %", "mean", "max", "flows", "drops"];
			[$loads | sort_by([.params.load, (.cc | rank)])[] | . as $run | .metrics as $m |
				[.params.load, .cc] + [$classes[][0], "smallest", "largest" | $m["\(.)_S_p99"]] +
				[$m.queue_mean, $m.queue_max, $m.flows, $m.drops]]));

def messages:
	runs("messages") | select(. != []) | sort_by(.cc | rank) |
	section("messages"; "messages: 50 senders of 100 messages"),
	p("As Bolt’s authors run it (serhatarslan-hub/bolt_cc_ns3, scratch/bolt-star-topo-incast.cc): 5000 messages of 495,900 bytes to one receiver at once, 200 ms of its link. Each is a connection of its own here, and a flow there. Throughput is of payload; of what the headers leave 5000-byte packets of TCP have 98.7 Gbit/s, and of Bolt 99.2."),
	pre("h1 ----.\n...     s1 --- r1\t 100 Gbit/s, base RTT 5 us, MTU 5000, buffer of 320 MB; fq at hosts\nh50 ---'"),
	table([["", 2], ["waits for the receiver, ms", 2], ["until messages are there, ms", 3], ["", 4]];
		["", "throughput, Gbit/s", "p99", "max", "p50", "p99", "all", "over ideal", "drops", "timeouts", "unfinished"];
		def ms: if type == "number" then . / 1000 else . end;
		[(.[], published_of("messages")[]) | . as $run | .metrics |
			[$run.cc, .goodput_gbit, (.queue_p99_us | ms), (.queue_max_us | ms), (.fct_p50_us | ms), (.fct_p99_us | ms),
			 (.completion_us | ms), .completion_over_ideal, .drops, .timeouts, .unfinished]]),
	footnotes(published_of("messages"));

def parking:
	# of what flows get of their bottleneck, each; on a parking lot a cross flow has
	# one link with the long one, and the long one all of them
	def shares($shape):
		if $shape == "parking" then .[0] as $l | [.[1:][] | select(. + $l > 0) | $l / (. + $l)] |
			[(add / length)] + map(1 - .)
		else add as $sum | map(if $sum > 0 then . / $sum else 0 end) end;
	def names($n): { parking: (["h0, long"] + [range(1; $n) | "h\(.)"]), asymmetric: ["h0", "h2"] }[.] // [] |
		if length == $n then . else [range($n) | "flow \(. + 1)"] end;
	runs("parking") | select(. != []) | . as $runs |
	section("parking"; "parking: who the bottleneck is, and who gets what of it"),
	p("Telemetry tells a sender which link of its path is the most loaded. “Names the real bottleneck” is the share of all updates that do. On the parking lot max-min fairness gives the long flow half of each link, and proportional fairness, which counts how much of the network a flow uses, a fifth; with one bottleneck both give equal shares. Shares are of the goodput of the flows at a bottleneck."),
	pre("parking     h0 passes slow links s1-s2-s3-s4-s5 to r0, hI-rI the link I of these; 2 or 8\n            such links, too\nasymmetric  the same way; s1-s2 is slow, s2-s3 has half of that, and h0 shares it\n            with h2; nobody else\nreceiver    two leaves and a spine; the port of h5, who receives, is slow\nnic         8 flows of one host, whose NIC is slow, to 8 others\n\n25 Gbit/s, slow: 10 Gbit/s, half of that: 5 Gbit/s; base RTT 20 us"),
	($runs | by([.params.shape, .params.hops]) | . as $group | .[0].params.shape as $shape |
		(map(.metrics.shares_mbit | select(type == "array") | length) | max // 0) as $n |
		([range($n)] | map(1 / (if $shape == "parking" then 2 else $n end))) as $maxmin |
		(if $shape == "parking" then [range($n)] | map(if . == 0 then 1 / $n else 1 - 1 / $n end) else $maxmin end) as $proportional |
		"<h3>\($shape | @html)\(if $shape == "parking" then ", \(.[0].params.hops) slow links" else "" end)</h3>",
		table([["", 1], ["share of its bottleneck", $n], ["", 5]];
			[""] + ($shape | names($n)) + ["Jain", "drops", "timeouts", "updates", "names the real bottleneck"];
			[$group | sort_by(.cc | rank)[] | . as $run | .metrics |
				[$run.cc] + (.shares_mbit | if type == "array" and length == $n and $n > 0 then shares($shape) | map(share) else [range($n) | null] end) +
				[(.jain | share), .drops, .timeouts, .samples, .real_bottleneck]] +
			[["max-min fair"] + ($maxmin | map(share)) + [range(5) | { n: "" }],
			 ["proportionally fair"] + ($proportional | map(share)) + [range(5) | { n: "" }]]),
		table([["", 1], ["goodput, Mbit/s", $n]]; [""] + ($shape | names($n));
			[$group | sort_by(.cc | rank)[] | [.cc] + (.metrics.shares_mbit | select(type == "array"))]));

def rtts:
	runs("rtts") | select(. != []) | . as $runs |
	section("rtts"; "rtts: flows of unequal RTT"),
	p("Two flows, or eight, share a link; the first has an RTT of 8 µs, the others have two or five times that. Goodput of the first and of the others, each, and the largest over the least; max-min fair is 1."),
	pre("h1 ---.\nh2 ---- s1 --- r1\t links are of one rate, and those of all but h1 longer; the queue is that of s1 towards r1\nhN ----'"),
	table([["", 4], ["goodput, Mbit/s", 2], ["", 6]];
		["link", "flows", "others’ RTT", "", "the near flow", "others, mean", "largest over least", "utilisation", "queue mean", "p99", "Jain", "drops"];
		[$runs | sort_by([.params.mbit, .params.flows, .params.far, (.cc | rank)])[] | . as $run | .metrics |
			[($run | link), $run.params.flows, "\($run.params.far) times", $run.cc] +
			(.shares_mbit | if type == "array" then [.[0], (.[1:] | add / length), over(max; min)] else [null, null, null] end) +
			[(.utilisation | share), .queue_mean, (.queue_p99 | p99($run)), (.jain | share), .drops]]);

# The published DCTCP of this fabric, that with its start and without TSO, and Linux'
def dctcp_ns3:
	[["packet", "≤ 1 packet"], ["to_10k", "≤ 10 KB"], ["to_100k", "≤ 100 KB"], ["to_1m", "≤ 1 MB"], ["largest", "largest 5 %"]] as $classes |
	runs("dctcp-ns3") | select(. != []) | . as $runs |
	section("dctcp-ns3"; "dctcp-ns3: DCTCP as simulators have it"),
	p("In ns-3 a flow of DCTCP begins at line rate and sends packet by packet. Linux’ begins with ten packets, and TSO sends up to 64 KB at once. p99 of S of the same list of flows, K of 20: Linux’ that begins with a BDP of 66 packets and has no TSO, beside both."),
	table([]; ["sizes", "load, %", ""] + ($classes | map(.[1]));
		[$runs | sort_by(.params.sizes)[] | .params as $p |
			(published_of("fabric")[] | select(.cc | startswith("DCTCP")) | select(.params.sizes == $p.sizes and .params.load == $p.load)),
			(.cc = "dctcp-k20, from 66 packets, without TSO"),
			(runs("fabric")[] | in_turn | select(.cc == "dctcp-k20" and .params.sizes == $p.sizes and .params.load == $p.load)) |
			.metrics as $m | [.params.sizes, .params.load, .cc] + [$classes[][0] | $m["\(.)_S_p99"]]]);

def rollout:
	runs("rollout") | select(. != []) | sort_by(.params.told) | . as $runs |
	section("rollout"; "rollout: a part of the ports has an agent"),
	p("The fabric above, FB_Hadoop at 50 %, hosts with host agents, and port agents on this part of the 48 ports, NICs and switches alike. A connection whose handshake meets no agent is CUBIC’s. p99 of S."),
	table([["", 1], ["p99 of S", 5], ["queue of switches, packets", 2], ["", 2]];
		["ports with an agent, %", "≤ 1 packet", "≤ 10 KB", "≤ 100 KB", "≤ 1 MB", "largest 5 %", "mean", "worst p99", "drops", "timeouts"];
		[$runs[] | . as $run | .metrics as $m |
			[.params.told] + [("packet", "to_10k", "to_100k", "to_1m", "largest") | $m["\(.)_S_p99"]] +
			[$m.queue_mean, ($m.queue_p99 | p99($run)), $m.drops, $m.timeouts]]);

def mixed:
	runs("mixed") | select(. != []) | sort_by(.name) | . as $runs |
	section("mixed"; "mixed: beside other congestion controls"),
	p("4 flows of hpccpp and 4 of another congestion control share 10 Gbit/s, 20 µs, a buffer of 1 MB; the others leave after half of the time. Flows that fill queues take nearly all from one that keeps them empty: what counts is that hpccpp’s are never stuck, and take the link again when the others are gone."),
	star,
	plots($runs[] | . as $run |
		plot("mixed-\(.name)"; "with \(.params.other)"; "ms"; "goodput, Gbit/s"; "set xrange [0:\(.params.ms)]; set yrange [0:\(.params.mbit / 1000 * 1.05)]";
			[{ title: "4 × hpccpp", style: ("hpccpp" | style), file: "mixed-\(.name)", using: "1:2",
				trace: "mixed mixed-\(.name) mixed/\(.name) \(.params.ms)" },
			 { title: "4 × \(.params.other)", style: (.params.other | style), file: "mixed-\($run.name)", using: "1:3" }])),
	table([["", 1], ["goodput, share of the link", 3], ["hpccpp", 3], ["queue, packets", 3], ["", 1]];
		["with", "hpccpp", "the others", "hpccpp after", "least flow, Mbit/s", "least R, Mbit/s", "back after, RTTs", "mean", "p99", "max", "drops"];
		[$runs[] | . as $run | .metrics |
			[$run.params.other, (.share_ours | share), (.share_others | share), (.share_after | share), .least_mbit, .least_R_mbit,
			 (.leave_back | worst), .queue_mean, (.queue_p99 | p99($run)), .queue_max, .drops]]);

def blind_hop:
	runs("blind-hop") | select(. != []) | sort_by(.name) | . as $runs |
	section("blind-hop"; "blind-hop: a bottleneck that says nothing"),
	p("4 flows of hpccpp, and the bottleneck has no agent: only the hosts’ own ports say how loaded they are. What each finds is a queue that stays with half its window, so latency, until packets are lost: from then on they do as Reno would. With “marks” it marks from DCTCP’s K on, which Reno answers."),
	star,
	table([["", 2], ["queue, packets", 3], ["", 4]];
		["", "utilisation", "mean", "p99", "max", "Jain", "drops", "marks", "queues found"];
		[$runs[] | . as $run | .metrics |
			[$run.params.other, (.utilisation | share), .queue_mean, (.queue_p99 | p99($run)), .queue_max, (.jain | share), .drops, .marks, .blind]]);

def harm:
	def pair: "\(.cc)\(if .params.other == "none" then "" else " : \(.params.other)" end)";
	["hpccpp", "reno", "cubic", "hpccpp : reno", "reno : reno", "hpccpp : cubic", "cubic : cubic"] as $pairs |
	runs("harm") | select(. != []) | . as $runs |
	section("harm"; "harm: beside others, behind a link that says nothing"),
	p("The last link has no agent. It is slower than what telemetry tells of, and its buffer is short or of two BDP. All other links are told of (most), the senders’ NICs alone (nics), or none. A flow is alone or beside one that was there before it: goodput in Mbit/s, and drops. What holds a flow of hpccpp to is what Reno, or CUBIC, takes in its place."),
	"<pre class=map>h1 ---.\nh2 --- s1 --- s2 - - - r1</pre>",
	table([]; ["link", "hop, %", "buffer", "told"] + $pairs;
		[$runs | by([.params.mbit, .params.rtt, -.params.hop, .params.packets, .params.told]) | . as $group | .[0].params as $p |
			["\($p.mbit) Mbit/s, \($p.rtt) µs", $p.hop, $p.packets, $p.told] + [$pairs[] | . as $pair |
				([$group[] | select(pair == $pair)][0] // {}) | .metrics |
				if . then "\(.shares_mbit | if type == "array" then map(sig) | join(" : ") else sig end), \(.drops)" else "–" end]]);

def latency:
	runs("latency") | select(. != []) | sort_by([.params.mbit, .name]) | . as $runs |
	section("latency"; "latency: a receiver becomes slower"),
	p("Its ACKs are later from an eighth of the time on, or in four steps: by lag, in one step or four, by jitter around that, even or with a long tail. No link has a queue for it. Utilisation and queue are of the second half. Jitter is another with each seed of random numbers: over several the mean, and from the least to the largest, and the most drops and switches of any."),
	table([["", 3], ["queue, packets", 2], ["", 3]];
		["", "utilisation", "over seeds", "mean", "p99", "drops", "to Reno", "to telemetry"];
		[$runs[] | select((.seed // 1) == 1) | . as $run |
			[$runs[] | select(.cc == $run.cc and .params == $run.params) | .metrics] as $seeds | .metrics |
			[$run.name, (.utilisation | share),
			 ([$seeds[].utilisation | numbers] | if length > 1 then { n: "\(add / length | share | .n) (\(min | share | .n) to \(max | share | .n))" } else null end),
			 .queue_mean, (.queue_p99 | p99($run)), (("drops", "fallback", "enter") as $key | [$seeds[][$key]] | max)]]);

def integrity:
	runs("integrity") | select(. != []) | . as $runs |
	section("integrity"; "integrity: one of two flows hears lies"),
	p("All that the second flow hears of its path is changed on the way: idle (U = 0) or full (U at its most). With a key its agent requires tags, and ignores what has been changed: it is without telemetry then, and Reno’s."),
	star,
	table([["", 2], ["goodput, Mbit/s", 2], ["", 1], ["queue, packets", 3], ["", 1]];
		["lie", "key", "honest", "other", "utilisation", "mean", "p99", "max", "drops"];
		[$runs | sort_by([.params.lie != "none", .params.lie, .params.key])[] | . as $run | .metrics |
			[$run.params.lie, (if $run.params.key == 1 then "required" else "none" end), .shares_mbit[0], .shares_mbit[1],
			 (.utilisation | share), .queue_mean, (.queue_p99 | p99($run)), .queue_max, .drops]]);

def sparse:
	runs("sparse") | select(. != []) | . as $runs |
	(map(.params.every) | unique | sort) as $every |
	section("sparse"; "sparse: fewer segments ask for telemetry"),
	p("Packets that ask: every one, one in 4, one in 16, by the round trip (rtt, the default of hosts). Telemetry costs bytes and work in each segment that has it; this shows what is lost with less of it."),
	star,
	table([["", 2]] + ($every | map(["every \(.)", 3])); ["link", "flows"] + ($every | map("utilisation", "queue p99", "Jain"));
		[$runs | by([.params.mbit, .params.rtt, .params.flows]) | . as $group |
			[(.[0] | link), .[0].params.flows] + [$every[] | . as $e |
				([$group[] | select(.params.every == $e)][0] // {}) | . as $run | .metrics |
				(.utilisation | share), (.queue_p99 | p99($run)), (.jain | share)]]);

# $ways: [title, what the names of its runs match], side by side
def two_ways($runs; $ways):
	table([["", 1]] + ($ways | map([.[0], 4])); ["flows"] + ($ways | map("utilisation", "queue mean", "p99", "Jain"));
		[$runs | by([.params.flows]) | . as $group |
			[.[0].params.flows] + [$ways[][1] | . as $w |
				(first($group[] | select(.name | test($w))) // {}) |
				. as $run | .metrics | (.utilisation | share), .queue_mean, (.queue_p99 | p99($run)), (.jain | share)]]);
def rx:
	runs("rx") | select(. != []) | . as $runs |
	section("rx"; "rx: the receiver computes the window"),
	p("The window computed by the sender, or by the receiver (section 6.2 of the draft), N 64."),
	star, two_ways($runs; [["sender", "^sender"], ["receiver", "^receiver"]]);
def flows_n:
	runs("flows-n") | select(. != []) | . as $runs |
	section("flows-n"; "flows-n: the receiver counts the flows"),
	p("N of W_ai fixed at 64, or as the receiver counts the flows that share its last hop (section 6.2); the receiver computes the window."),
	star, two_ways($runs; [["N 64", "fixed"], ["N counted", "counted"]]);

def sweep:
	def family: .name | if startswith("eta") then "eta" elif startswith("rtt") then "rtt" elif test("^[0-9]+mbit") then "mbit" else "flows" end;
	runs("sweep") | select(. != []) | . as $runs |
	section("sweep"; "sweep: where it stays stable"),
	p("One thing is varied, and the rest is as usual (100 Gbit/s, 8 or 20 µs, N 64). Stable is: nothing lost, no flow without bytes, the queue within a BDP and a packet of each flow, the link in use. η from 100 % on is to build a queue; many more flows than N are to, as well; a BDP of few packets costs utilisation."),
	star,
	plots(
		{ eta: ["η", ".params.eta", "%", ""], flows: ["number of flows", "", "flows", "set logscale x; set xtics (1, 4, 16, 64, 256, 1000)"],
		  rtt: ["base RTT", "", "µs", "set logscale x; set format x '%g'"], mbit: ["link rate", "", "bit/s", "set logscale x; set format x '%.0s%c'"] } as $families |
		("eta", "flows", "rtt", "mbit") as $f | $families[$f] as $info |
		[$runs[] | select(family == $f)] |
		[by([-.params.stage, (if $f == "eta" then .params.flows elif $f == "rtt" then -.params.mbit elif $f == "mbit" then .params.rtt else 0 end)])] as $groups |
		("utilisation", "queue_p99") as $metric |
		plot("sweep-\($f)-\($metric)"; "\($info[0]): \($metric | sub("_"; " "))"; $info[2]; (if $metric == "utilisation" then "of the link" else "packets" end);
			"\($info[3]); \(if $metric == "utilisation" then "set yrange [*<0.8:1.01]" else log_queue end)";
			[range($groups | length) | . as $i | $groups[$i] | .[0].params as $p |
				{ title: "stage \($p.stage)\({ eta: ", \($p.flows) flows", rtt: ", \($p.mbit / 1000) Gbit/s", mbit: ", \($p.rtt) µs" }[$f] // "")",
				  style: (styles[if $groups | length > 2 then $i else $i * 2 end] // "lc rgb '#555555'"),
				  points: points([(.params[$f] | if $f == "mbit" then . * 1e6 else . end), (.metrics[$metric] | if $metric == "utilisation" then . else floor_queue end)]) }])),
	folded("All \($runs | length) runs"; table([["", 6], ["", 1], ["queue, packets", 3], ["", 4]];
		["", "stage", "η, %", "flows", "Gbit/s", "RTT, µs", "utilisation", "mean", "p99", "max", "BDP", "Jain", "drops", "flows without bytes"];
		[$runs | sort_by([family, -.params.stage, .params.eta, .params.flows, .params.mbit, .params.rtt, .name])[] | . as $run | family as $f | .metrics |
			[$f, $run.params.stage, $run.params.eta, $run.params.flows, $run.params.mbit / 1000, $run.params.rtt,
			 (.utilisation | share), .queue_mean, (.queue_p99 | p99($run)), .queue_max, .bdp, (.jain | share), .drops, .without_bytes]]));

def scale:
	def meaning: {
		bytes_per_flow: "memory of a flow at its sender, bytes",
		bytes_module: "of it the module’s", bytes_agent: "of it the agent’s, at each end",
		slab_bytes_per_flow: "all that slabs grew by, sockets and both ends, bytes",
		instructions_per_ack: "hpccpp’s call for an ACK of new data, instructions",
		instructions_tcp_ack: "all of tcp_ack() for it, instructions",
		instructions_parse: "checks before that, with the option read, instructions",
		host_agent_instructions: "a run of the host agent, instructions",
		port_agent_instructions: "a run of a port agent, instructions"
	};
	runs("scale") | select(. != []) | sort_by([(.cc | rank), .params.flows]) | . as $runs |
	section("scale"; "scale: what a flow costs a host"),
	p("Memory and CPU instructions for an ACK, by the number of flows, in the stock kernel in QEMU, where a nanosecond is an instruction. Each flow writes four segments every 10 s. Figures that end in “dense” are of fewer flows that write as much in all as 10,000 do. Calls of hpccpp’s with an interrupt in their middle are left out; means of tcp_ack() have these in them, p50 has none."),
	pre("h1 --- s1 --- r\t\t1 Gbit/s, then 200 Mbit/s, 2 ms"),
	([["metric"] + ($runs | map("\(.cc), \(.params.flows)"))] as $heads |
		[$runs[].metrics | keys[]] | unique |
		sort_by([meaning[.] == null, .]) |
		map([. as $key | meaning[$key] // ($key | gsub("_"; " "))] + [. as $key | $runs[] | .metrics[$key]]) as $rows |
		table([["", 1], ["congestion control, flows", ($runs | length)]]; $heads[0]; [$rows[] | select(.[0] | length > 0)]));

# --- 4. The end ------------------------------------------------------------------

def repeat:
	section("repeat"; "How to repeat it"),
	p("As root on a fresh Debian 12, in a copy of the source: <code>make bench</code>. It builds the lab and runs all of this; <code>make bench SCENARIO=long CC=hpccpp,dctcp</code> runs a part, and the raw traces (each change of a queue, what each flow received) stay in <code>results/lab/</code>. The clock is virtual and random numbers have a seed: a second run (<code>FORCE=1</code>) of the same source gives the same bytes, and this file. (<em>scale</em> runs in QEMU, not in the lab.)"),
	folded("All \($all | length) runs and their metrics"; "<div id=metrics>",
		table([]; ["scenario", "run", "metrics"];
			[$all | sort_by([.scenario, .name])[] | [.scenario, .name,
				(.metrics // {} | to_entries | map(select(.value | type != "array" or length <= 16) | "\(.key) \(.value | sig)") | join(", "))]]), "</div>");

def contents:
	[["run", "What was run"], ["bounds", "Bounds"]] +
	[("long", "step", "incast", "int-response", "probe", "fabric", "dctcp-ns3", "rollout", "rpc", "star32", "clos", "powertcp", "messages", "parking", "layout", "rtts", "mixed", "blind-hop", "harm", "latency", "integrity", "sparse", "rx", "flows-n", "sweep", "scale") |
		. as $s | select(any($all[]; .scenario == $s)) | [., .]] + [["terms", "Terms"], ["repeat", "How to repeat it"]] |
	"<nav>" + (map("<a href=\"#\(.[0])\">\(.[1])</a>") | join(" · ")) + "</nav>";

first_screen, contents,
what_was_run, summary, long, step, incast, int_response, probe,
workloads("fabric"; "fabric: a leaf-spine fabric under load";
	"Poisson arrivals between 16 hosts at 30, 50 and 70 % of their links, with flow sizes of web search and of Hadoop at Facebook. Short flows are fast when queues are short; long flows pay for it with the 5 % of bandwidth that HPCC++ leaves.";
	"4 leaves of 4 hosts at 100 Gbit/s, 2 spines at 200 Gbit/s; as much up as down; 1 us a link"),
dctcp_ns3, rollout,
workloads("rpc"; "rpc: messages on connections that are kept";
	"Messages with the sizes and the load of fabric at 50 %, as RPCs: each host keeps four connections that it opened to each other host, opened one after the other before the first message. Half of the messages go from the opener, and 64 bytes come back when they are there; the other half go to it, each when 64 bytes that ask for it are there. FCT is from when a message can be written to the arrival of its last byte, without a handshake. Of its four connections a message takes the one with the fewest bytes to come; where all are in use it waits for others, which is in its FCT.";
	"4 leaves of 4 hosts at 100 Gbit/s, 2 spines at 200 Gbit/s; as much up as down; 1 us a link"),
workloads("star32"; "star32: the star of Bolt’s paper";
	"Poisson arrivals between 32 hosts of one switch, FB_Hadoop at 80 % of their links.";
	"h1 ---.\n...    s1 --- h32\t all links 100 Gbit/s, base RTT 5 us, MTU 5000"), star32_classes,
workloads("clos"; "clos: the HPCC paper’s fabric";
	"The same between 320 hosts, in the Clos of the HPCC paper.";
	"320 hosts at 100 Gbit/s, 20 ToR, 20 aggregation and 16 core switches at 400 Gbit/s; 1 us a link"),
powertcp, messages, parking, layout, rtts, mixed, blind_hop, harm, latency, integrity, sparse, rx, flows_n, sweep, scale, terms, repeat
