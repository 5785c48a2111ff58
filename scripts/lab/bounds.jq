# SPDX-License-Identifier: GPL-2.0
# What hpccpp has to show in the lab: from an array of all runs' JSON, a line for
# each bound, "ok|not ok  FIGURE (OP BOUND)  what, run". A figure that is only
# reported says "note". Runs that are not there are not judged.

def r4: if type == "number" then . * 10000 | round / 10000 else . end;
def line($word; $figure; $op; $bound; $what):
	"\($word)  \($figure | r4)\(if $op then " (\($op) \($bound | r4))" else "" end)  \($what)";
def check($figure; $op; $bound; $what):
	(($figure | type == "number") and
	 (if $op == ">=" then $figure >= $bound elif $op == ">" then $figure > $bound else $figure <= $bound end)) as $ok |
	line(if $ok then "ok    " else "not ok" end; $figure; $op; $bound; $what);
def note($figure; $what): line("note  "; $figure; null; null; $what);
def list: if type == "array" then .[] else . end;
def worst: [list] | max;
def over($a; $b): if ($a | type) == "number" and ($b | type) == "number" and $b != 0 then $a / $b else null end;

. as $all |
def runs($scenario): $all[] | select(.scenario == $scenario);
def same($a; $b; $keys): all($keys[]; . as $k | $a.params[$k] == $b.params[$k]);
# the run that differs by nothing but its congestion control
def rival($run; $cc):
	first($all[] | select(.scenario == $run.scenario and .cc == $cc and
		same(.; $run; ["flows", "mbit", "rtt", "mtu", "size", "buffer", "shape", "load", "sizes"])));
def name: "\(.scenario) \(.name)";

# What a prototype reached where the pipe is short, research/dynamics.md, 1: by
# link, N of W_ai and flows.
{
	"10000 8 flows": [1.000, .971, .957, .912, .865], "10000 8 64": [.951, .935, .901, .857, .865],
	"10000 20 flows": [1.000, .983, .972, .950, .921], "10000 20 64": [.951, .952, .934, .911, .921]
} as $prototype |

# W_ai in bytes: W_init (1 - eta) / N, net.hpccpp.w_ai_min at least
def w_ai: .params | [.mbit * .rtt / 8 * (100 - .eta) / 100 / .n, (.mtu + 14) * 12 / 1000] | max;

(runs("long"), ((runs("rx"), runs("flows-n")) | select(.params.mode == "receiver" and .params.flows <= 64)) |
	select(.cc == "hpccpp") | . as $run | .metrics as $m |
	if $m.bdp >= 40 then
		check($m.utilisation; ">="; 0.93; "utilisation, \(name)"),
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
	if .params.mbit == 100000 or w_ai >= 60 then check($m.jain; ">="; 0.98; "Jain, \(name)")
	else note($m.jain; "Jain, \(name)") end,
	check($m.drops; "<="; 0; "drops, \(name)"),
	(select(.params.mtu == 1500 and .params.flows > 1 and $m.bdp >= 40 and $m.queue_mean > 0) |
		rival($run; "dctcp") as $dctcp |
		check(over($dctcp.metrics.queue_mean; $m.queue_mean); ">="; 20; "DCTCP's mean queue over ours, \(name)"))),

(runs("step") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	check($m.join_queue_back | worst; "<="; 5; "queue back under 5 packets after connect(), RTTs, \(name)"),
	check($m.leave_back | worst; "<="; (if .params.stage == 0 then 5 else 10 end);
		"utilisation back after a leave, RTTs, \(name)"),
	note($m.join_queue_last | worst; "queue over 5 packets for the last time in 20 RTTs after connect(), \(name)"),
	note($m.join_fair | worst; "a joining flow within 1.25 of its share, RTTs, \(name)")),

(runs("incast") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	if .params.buffer == 32000000 then
		(select(.params.flows <= 60) | check($m.drops; "<="; 0; "drops, \(name)")),
		check($m.completion_over_ideal; "<="; 1.2; "completion over ideal, \(name)"),
		(select(.params.size == 500000) |
			check($m.drain_net_rate; ">="; 0.97; "the queue drains at, of the link's rate, \(name)"),
			note($m.utilisation_until_drained; "the link's load until then, \(name)"))
	else
		check($m.stall_us; "<="; 5000 + .params.rtt; "longest stall, us, \(name)"),
		note($m.completion_over_ideal; "completion over ideal, \(name)"),
		note($m.timeouts; "timeouts, \(name)")
	end),

(runs("int-response") | select(.params.respond != 0) | . as $run | .metrics as $m |
	first(runs("int-response") | select(same(.; $run; ["flows", "buffer", "mode"]) and .params.respond == 0)) as $without |
	# to the receiver they take room in the data's queue, and of a FIFO are of no use
	(if .params.mode == "receiver" then 1.02 else 1 end) as $room |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	check($m.queue_peak; "<="; $without.metrics.queue_peak * $room; "queue peak, packets, that without responses\(if $room > 1 then " and 2 %" else "" end), \(name)"),
	# ... also where the buffer is full anyway
	if $room > 1 and .params.prio == 0 and $without.metrics.drops > 0 then
		note($m.drops; "drops, \($without.metrics.drops) without responses, \(name)")
	else check($m.drops; "<="; $without.metrics.drops; "drops, those without responses, \(name)") end,
	check($m.completion_over_ideal; "<="; $without.metrics.completion_over_ideal + 0.02;
		"completion over ideal, that without responses and 0.02, \(name)"),
	if .params.mode == "receiver" then
		note($m.reaction_first; "RTTs until the first flow reacts, \(name)"),
		note($m.reaction_median; "RTTs until half of them have, \(name)")
	else
	check($m.reaction_first; "<="; $without.metrics.reaction_first; "RTTs until the first flow reacts, those without responses, \(name)"),
	check($m.reaction_median; "<="; $without.metrics.reaction_median; "RTTs until half of them have, those without responses, \(name)") end),

(runs("probe") | select(.params.probe != 0) | . as $run | .metrics as $m |
	first(runs("probe") | select(same(.; $run; ["flows", "busy"]) and .params.probe == 0)) as $without |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)"),
	check($m.resumed_last_us; "<="; $without.metrics.resumed_last_us + 5 * .params.rtt;
		"us until all that resumed is there, that without a probe and 5 RTTs, \(name)"),
	if .params.busy != 0 then
		check($m.queue_peak; "<="; $without.metrics.queue_peak * 0.6; "queue peak, packets, 0.6 of that without a probe, \(name)")
	else note($m.queue_peak; "queue peak, packets, on a link that was idle, \(name)") end),

(runs("fabric"), runs("clos") | select(.cc | startswith("hpccpp")) | . as $run | .metrics as $m |
	check($m.unfinished; "<="; 0; "flows that did not end, \(name)"),
	(rival($run; "dctcp") as $dctcp |
		check(over($m.smallest_p99; $dctcp.metrics.smallest_p99); "<="; 0.5;
			"p99 slowdown of the smallest 20 %, over DCTCP's, \(name)"),
		check(over($m.largest_p99; $dctcp.metrics.largest_p99); "<="; 2;
			"p99 slowdown of the largest 5 %, over DCTCP's, \(name)")),
	note($m.smallest_p99; "p99 slowdown of the smallest 20 %, \(name)")),

(runs("parking"), runs("layout") | select(.cc | startswith("hpccpp")) | .metrics as $m |
	check($m.real_bottleneck; ">"; 0.99; "samples that name the real bottleneck, \(name)"),
	check($m.drops; "<="; 0; "drops, \(name)"),
	note(($m.shares_mbit | map(tostring) | join(" ")); "goodput of each flow, Mbit/s, \(name)")),

(runs("mixed") | .metrics as $m |
	check($m.least_R_mbit; ">="; 1; "least R, Mbit/s, \(name)"),
	check($m.least_mbit; ">="; 1; "least goodput of a flow beside the others, Mbit/s, \(name)"),
	check($m.leave_back; "<="; 20; "back after the others left, RTTs, \(name)"),
	note($m.share_ours; "share of the link, hpccpp, \(name)"),
	note($m.share_others; "share of the link, the others, \(name)")),

(runs("blind-hop") | .params.flows as $flows | .metrics as $m |
	check($m.blind; ">="; $flows; "times that a flow noticed, \(name)"),
	check($m.utilisation; ">="; 0.9; "utilisation, \(name)"),
	check($m.without_bytes; "<="; 0; "flows without bytes, \(name)"),
	note($m.jain; "Jain, \(name)"),
	note($m.queue_mean; "queue mean, packets, \(name)"),
	note($m.drops; "drops, \(name)")),

# What a lie may gain or spoil is bounded as kmod/hpccpp_wire.rst says.
(runs("integrity") | .metrics as $m |
	first(runs("integrity") | select(.params.lie == "none" and .params.key == 0)) as $open |
	if .params.lie == "none" and .params.key == 1 then
		check($m.utilisation; ">="; $open.metrics.utilisation - 0.01; "utilisation, that without a key less 0.01, \(name)"),
		check($m.queue_p99; "<="; $open.metrics.queue_p99 + 2; "queue p99, packets, that without a key and 2, \(name)")
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
	first(runs("sparse") | select(same(.; $run; ["flows", "mbit", "rtt"]) and .params.every == 1)) as $dense |
	check($dense.metrics.utilisation - $m.utilisation; "<="; 0.02; "utilisation less than with every segment, \(name)"),
	check($m.queue_p99 - $dense.metrics.queue_p99; "<="; 8; "queue p99 more than with every segment, packets, \(name)"),
	note($m.jain; "Jain, \(name)")),

(runs("flows-n") | select(.params.n == 0) | . as $run | .metrics as $m |
	first(runs("flows-n") | select(same(.; $run; ["flows"]) and .params.n != 0)) as $fixed |
	check($m.jain - $fixed.metrics.jain; ">="; -0.002; "Jain more than with N fixed, \(name)"),
	(select(.params.flows > $fixed.params.n) |
		check($m.queue_mean; "<="; $fixed.metrics.queue_mean; "queue mean, packets, that with N fixed too small, \(name)"))),

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
	first(runs("scale") | select(.cc == "hpccpp" and .params.flows == 100)) as $few |
	first(runs("scale") | select(.cc == "hpccpp" and .params.flows == 1)) as $one |
	("bytes_per_flow", "instructions_per_ack", "instructions_tcp_ack") as $key |
	($few, $one) as $base |
	check(over($m[$key]; $base.metrics[$key]); "<="; 1.1; "\($key) with 10,000 flows, over that with \($base.params.flows)"))
