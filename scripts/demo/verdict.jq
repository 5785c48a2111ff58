# SPDX-License-Identifier: GPL-2.0
# Compares the worst of hpccpp's runs with agents on all ports with its bounds, and with the rival whose
# own worst run is best; then says so in words. The line of a bound that does not hold begins
# with FAILS. jq -r -f verdict.jq demo.json

def column($width): tostring | . + " " * ([$width - length, 1] | max);
def round1: . * 10 | round / 10;
# as little as it can be, for what is to be much
def worst($much): if $much then min else max end;

.link_bps as $link |
(.runs | map({cc, load: (.link_sent_bps * 100 / $link | round1), goodput: (.goodput_bps / 1e6 | round1),
	mean: .queue_mean_packets, p99: .queue_p99_packets, jain, late: .drops_after_2_rtt})) as $runs |
# hpccpp loads the link to 99 %; the bound is 97 %. 0.93 of an IPv6 frame of 1514 bytes is data, so
# the bound of the goodput is 0.902 of the rate. One round trip holds 33 packets; p99 of the queue
# is half of that at most.
[
	["load", "load of the link, %", true, 97],
	["goodput", "goodput, Mbit/s", true, ($link * 0.902 / 1e6 | round1)],
	["mean", "queue, mean, packets", false, 2],
	["p99", "queue, p99, packets", false, 15],
	["jain", "Jain's index", true, 0.98],
	["late", "late drops, packets", false, 0]
] | map(
	. as [$key, $what, $much, $bound] |
	([$runs[] | select(.cc == "hpccpp")[$key]] | worst($much)) as $own |
	($runs | map(select(.cc | startswith("hpccpp") | not)) | group_by(.cc) |
		map({cc: .[0].cc, value: (map(.[$key]) | worst($much))}) |
		if $much then max_by(.value) else min_by(.value) end) as $rival |
	{key: $key, value: {$what, $much, $bound, $own, $rival,
		holds: (if $much then $own >= $bound else $own <= $bound end)}}
) | from_entries as $of |
def rival: "\(.rival.cc) \(.rival.value)";

"Each line has the worst of \([$runs[] | select(.cc == "hpccpp")] | length) runs, of hpccpp and of the rival that is best in that.",
"",
("       " + ("" | column(24)) + ("hpccpp" | column(10)) + ("bound" | column(10)) + "best rival"),
($of[] | (if .holds then "holds  " else "FAILS  " end) + (.what | column(24)) + (.own | column(10)) +
	((if .much then ">= " else "<= " end) + (.bound | tostring) | column(10)) + (if .rival then rival else "" end)),
"",
(if all($of[]; .holds) then "All bounds hold."
	else "These do not hold: " + ([$of[] | select(.holds | not).what] | join("; ")) + "." end) +
(if $of.mean.rival then
	" hpccpp keeps \($of.mean.own) packets waiting, \($of.mean.rival.cc) \($of.mean.rival.value).\n" +
	"The price is \((1 - $of.goodput.own / $of.goodput.rival.value) * 100 | round1) % of the goodput: \($of.goodput.own) Mbit/s, where \($of.goodput.rival.cc) has \($of.goodput.rival.value)."
	else "" end)
