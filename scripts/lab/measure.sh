#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Make $RESULTS/NAME.json of what run.sh left in $RESULTS/NAME/, packed or not, and
# pack that:
#
#	measure.sh NAME
#
# All metrics of a run are "metrics" in it; queues are in packets of the run's MTU,
# rates as shares of the link's, times in base RTTs, unless their name says more.
set -euo pipefail

[[ $# -eq 1 ]] || { echo "usage: measure.sh NAME" >&2; exit 2; }
dir=$RESULTS/$1
[[ -s $dir/meta.json ]] || { echo "$1: no run here" >&2; exit 1; }

declare -A p
scenario=
eval "$(jq -r '@sh "scenario=\(.scenario)",
	(.params | to_entries[] | @sh "p[\(.key)]=\(.value | tostring)")' "$dir/meta.json")"
for file in flows ways links queue rates updates; do
	[[ ! -e $dir/$file.gz ]] || gunzip -f "$dir/$file.gz"
done
oracle=${HPCCPP_LAB:-$(realpath "${BASH_SOURCE%/*}/../../.build/lab")}/oracle
wire=$((p[mtu] + 14 + p[overhead]))
rtt=$((p[rtt] * 1000))
mbit=${p[mbit]}

# What each of these prints is "KEY VALUE", or "KEY VALUE..." for a list.

# The bottleneck, from /proc/lablink.
link()
{
	local inum dev
	[[ -e $dir/port ]] || return 0
	read -r inum dev <"$dir/port"
	awk -v inum="$inum" -v dev="$dev" -v mbit="$mbit" -v wire=$wire -v queue="${p[queue]-fifo}" '
		$1 == inum && $2 == dev {
			print "utilisation", $8 * 8000 / $4 / mbit
			print "queue_mean", $14 / wire
			print "queue_p99", $18 / wire
			print "queue_max", $20 / wire
			if (queue == "fifo")	# another qdisc does not tell the link of its marks
				print "marks", $12
		}
	' "$dir/links"
}

# Of all links and all flows.
losses()
{
	awk '{ n += $10 } END { print "drops", n + 0 }' "$dir/links"
	awk '!/^#/ { r += $12; t += $13 }
		END { print "retransmissions", r + 0; print "timeouts", t + 0 }' "$dir/flows"
}

# Fairness of all flows, by what they got in the window.
jain()
{
	awk '!/^#/ { s += $9; q += $9 * $9; n++; z += !$9 }
		END { print "jain", q ? s * s / q / n : 0; print "without_bytes", z + 0 }' "$dir/flows"
}

bdp() { awk -v mbit="$mbit" -v rtt=$rtt -v wire=$wire 'BEGIN { print "bdp", mbit * rtt / 8000 / wire }'; }

# Around each event. After a join: how high the queue gets, when it is back under 5
# packets, and when it was over that for the last time. After a leave: how low the
# link's load over two round trips gets, how low from the fourth round trip on, and when it is back
# at 0.95 of eta.
events()
{
	awk -v rtt=$rtt -v mbit="$mbit" -v wire=$wire -v eta="${p[eta]}" '
		BEGIN { n = m = i = 0 }
		FILENAME ~ /events$/ { what[n] = $1; at[n++] = $2; next }
		/^#/ { next }
		{ t[m] = $3 + rtt; q[m] = $4 / wire; x[m++] = $5 } # from 1 RTT on
		function join(at, until,	k, peak, back, last) {
			peak = back = last = 0
			if (i >= m || t[i] >= at + 5 * rtt)
				peak = 1e6		# no trace
			for (k = i; k < m && t[k] < until; k++) {
				if (q[k] > 5 && t[k] < at + 20 * rtt)
					last = t[k] - at
				if (q[k] > peak && t[k] < at + 5 * rtt) {
					peak = q[k]
					back = 0
				}
				if (!back && peak > 5 && q[k] <= 5)
					back = t[k] - at
			}
			if (peak > 5 && !back)
				back = 40 * rtt		# not at all
			peaks = peaks " " peak
			backs = backs " " back / rtt
			lasts = lasts " " last / rtt
		}
		function leave(at, until,	j, k, low, late, again, u) {
			low = 1; again = late = ""; j = i
			while (j > 0 && t[j] > t[i] - 2 * rtt)
				j--
			for (k = i; k < m && t[k] < until; k++) {
				while (j + 1 < k && t[j + 1] <= t[k] - 2 * rtt)
					j++
				if (t[k] < at + rtt)
					continue
				# what left in the window, of what can
				u = (x[k] - x[j]) * 8000 / mbit / (2 * rtt)
				if (u < low && t[k] < at + 15 * rtt) {
					low = u
					again = ""
				}
				if ((late == "" || u < late) && t[k] >= at + 5 * rtt && t[k] < at + 15 * rtt)
					late = u
				if (again == "" && u >= 0.95 * eta / 100)
					again = t[k]
			}
			if (low >= 0.95 * eta / 100)
				again = at
			lows = lows " " low
			lates = lates " " (late == "" ? 0 : late) # no trace
			leaves = leaves " " (again == "" ? 40 : (again - at) / rtt)
		}
		END {
			for (e = 0; e < n; e++) {
				until = at[e] + 40 * rtt
				if (e + 1 < n && at[e + 1] < until)
					until = at[e + 1]
				while (i < m && t[i] < at[e])
					i++
				if (what[e] == "join")
					join(at[e], until)
				else
					leave(at[e], until)
			}
			if (peaks != "") {
				print "join_queue_peaks" peaks
				print "join_queue_back" backs
				print "join_queue_last" lasts
			}
			print "leave_lows" lows
			print "leave_lows_late" lates
			print "leave_back" leaves
		}' "$dir/events" "$dir/queue"
}

# How long after connect() each flow that joins stays over 1.25 times its share: of
# eta of the link, less headers.
fair()
{
	awk -v rtt=$rtt -v mbit="$mbit" -v wire=$wire -v eta="${p[eta]}" '
		BEGIN { n = 0 }
		FILENAME ~ /events$/ {
			if ($1 == "join") { at[n] = $2; id[n++] = $3 }
			else if ($1 == "leave" && !leaves) leaves = $2
			next
		}
		{ got[$2, $1] = $3; if ($1 > end) end = $1 }
		END {
			for (e = 0; e < n; e++) {
				# until there is another share
				until = e + 1 < n ? at[e + 1] : leaves
				# what it received in four round trips, and in the four before
				share = mbit / 8000 / (e + 2) * eta / 100 * (wire - 66) / wire
				result = 0
				for (t = int(at[e] / rtt) * rtt; t < until && t <= end; t += rtt) {
					if ((id[e], t) in got)
						now = got[id[e], t]
					else
						now = series[(t / rtt - 1)]
					series[t / rtt] = now + 0
					before = (t / rtt - 4) in series ? series[t / rtt - 4] : 0
					if (now - before > 1.25 * share * 4 * rtt)
						result = (t - at[e]) / rtt
				}
				delete series
				rtts = rtts " " result
			}
			print "join_fair" rtts
		}' "$dir/events" "$dir/rates"
}

# ideal: the handshake, and then base RTT and all bytes with headers.
completion()
{
	awk -v rtt=$rtt -v mbit="$mbit" -v mtu="${p[mtu]}" '
		!/^#/ && $4 != "-" {
			payload += $4
			bytes += $4 + int(($4 + mtu - 53) / (mtu - 52)) * 66
			if (!first || $5 < first) first = $5
			if ($6 == "-") missing++; else if ($5 + $6 > last) last = $5 + $6
		}
		END {
			if (!bytes) exit
			ideal = 2 * rtt + bytes * 8000 / mbit
			print "goodput_gbit", payload * 8 / (last - first)
			print "completion_us", (last - first) / 1000
			print "ideal_us", ideal / 1000
			print "completion_over_ideal", (last - first) / ideal
			print "unfinished", missing + 0
		}' "$dir/flows"
}

incast()
{
	completion
	# the peak, how long it takes from there, and how busy the link is until then
	awk -v wire=$wire -v mbit="$mbit" '
		/^#/ { next }
		BEGIN { m = top = 0 }
		{ t[m] = $3; q[m] = $4; x[m] = $5; if ($4 > q[top]) top = m; m++ }
		END {
			for (i = 0; i < m && q[i] < wire; i++)
				;
			for (k = top; k < m && q[k] > 5 * wire; k++)
				;
			if (k == m) k = m - 1
			print "queue_peak", q[top] / wire
			ns = t[k] - t[top]
			print "drain_us", ns / 1000
			print "drain_net_rate", ns ? (q[top] - q[k]) * 8000 / ns / mbit : 0
			ns = t[k] - t[i]
			print "utilisation_until_drained", ns ? (x[k] - x[i]) * 8000 / ns / mbit : 0
		}' "$dir/queue"
	# the longest that a flow, once started, gets nothing
	awk '
		FILENAME ~ /flows$/ { if (!/^#/) { last[$1] = $5; end[$1] = $6 == "-" ? 3e9 : $5 + $6 } ; next }
		{ if ($1 - last[$2] > stall) stall = $1 - last[$2]; last[$2] = $1 }
		END {
			for (i in end)
				if (end[i] - last[i] > stall)
					stall = end[i] - last[i]
			print "stall_us", stall / 1000 + 0
		}' "$dir/flows" "$dir/rates"
}

# Others begin at once beside a flow: how high the queue gets, when it is back under 5 packets,
# and what the link carries from then to the end, on average and over any two round trips.
begun()
{
	awk -v rtt=$rtt -v mbit="$mbit" -v wire=$wire '
		BEGIN { n = 0 }
		FILENAME ~ /events$/ { at = $2; next }
		/^#/ { next }
		{ t = $3 + rtt } # from 1 RTT on
		t < at { if (t > at / 2 && $4 > before) before = $4; sent = $5; next }
		{
			for (; t >= at + n * rtt; n++)
				x[n] = sent
			sent = $5
			if ($4 > peak) {
				peak = $4
				back = 0
			}
			if (!back && $4 <= 5 * wire)
				back = t - at
		}
		END {
			least = 1
			for (i = 3; i < n; i++) {
				load = (x[i] - x[i - 2]) * 8000 / mbit / (2 * rtt)
				if (load < least) least = load
			}
			print "queue_before", before / wire
			print "queue_peak", peak / wire
			print "queue_back", back ? back / rtt : (t - at) / rtt
			print "load", (x[n - 1] - x[0]) * 8000 / mbit / ((n - 1) * rtt)
			print "load_least", least
		}' "$dir/events" "$dir/queue"
}

# Of the flows that are there between two events, in the second half of the time.
jains()
{
	awk '
		BEGIN { n = e = 0; on[0] }
		FILENAME ~ /events$/ { what[n] = $1; at[n] = $2; id[n++] = $3; next }
		{
			for (; e < n && $1 > at[e]; e++) {
				s = q = m = 0
				for (i in on) {
					bytes = got[i] - half[i]
					s += bytes; q += bytes * bytes; m++
				}
				if (m > 1)
					jains = jains " " s * s / q / m
				if (what[e] == "join") on[id[e]]; else delete on[id[e]]
				delete half
				at_half = (at[e] + at[e + 1]) / 2
			}
			if (e && $1 > at_half) {
				for (i in got)
					half[i] = got[i]
				at_half = 1e18
			}
			got[$2] = $3
		}
		END { print "jains" jains }' "$dir/events" "$dir/rates"
}

# Messages to one receiver: their times, and what waits for it.
messages()
{
	completion
	awk '!/^#/ && $6 != "-" { print $6 }' "$dir/flows" | sort -n | awk '
		{ v[n++] = $1 / 1000 }
		END { print "fct_p50_us", v[int((n - 1) * .5)]; print "fct_p99_us", v[int((n - 1) * .99)] }'
	# beyond the histogram of /proc/lablink
	awk -v mbit="$mbit" '
		/^#/ { next }
		{ us[int(q * 8 / mbit)] += $3 - t; all += $3 - t; t = $3; q = $4; if (q > top) top = q }
		END {
			for (i = 0; sum < all * .99; i++)
				sum += us[i]
			print "queue_p99_us", i
			print "queue_max_us", top * 8 / mbit
		}' "$dir/queue"
}

# How long after the queue is half a BDP, a load of 150 %, each flow makes W smaller.
# The queue's time 0 is 1 us of the run.
reaction()
{
	awk -v rtt=$rtt -v mbit="$mbit" '
		FILENAME ~ /zero$/ { t0 = $1; next }
		FILENAME ~ /queue$/ {
			if (!full && !/^#/ && $4 >= mbit * rtt / 16000)
				full = t0 + 1000 + $3
			next
		}
		!full { exit }
		/ used=1 / {
			match($0, /src=[^ ]+/); src = substr($0, RSTART, RLENGTH)
			match($0, / W=[0-9]+/); W = substr($0, RSTART + 3, RLENGTH - 3) + 0
			t = substr($1, 6) * 1e9 - full
			# they come in the order of their times
			if (t > 0 && src in last && W < last[src] && !(src in at))
				at[src] = times[n++] = t
			last[src] = W
		}
		END {
			if (!n) exit
			print "reaction_first", times[0] / rtt
			print "reaction_median", times[int((n - 1) / 2)] / rtt
		}' "$dir/zero" "$dir/queue" <(sort -s -t ' ' -k 1.6,1n "$dir/updates")
}

# FCT over ideal FCT, by size: in 20 classes of as many flows each. FCT has the
# handshake in it, which is a round trip that ideal FCT has not; of rpc there is none. S, as in
# classes below, of the same, of all flows, and of the short ones of others' tables.
slowdown()
{
	local i
	awk -v mbit="$mbit" -v mtu="${p[mtu]}" '!/^#/ && $6 != "-" {
		rtt = $7 - ($4 + int(($4 + mtu - 53) / (mtu - 52)) * 66) * 8000 / mbit
		print $4, $6 / $7, ($6 - $11) / $7, ($6 - $11 + (rtt > 0 ? rtt : 0) / 2) / $7
	}' "$dir/flows" | sort -n >"$dir/sorted"
	awk '/^#/ { next } $6 == "-" { u++ } { b += $4 }
		END { print "unfinished", u + 0; print "bytes", b + 0 }' "$dir/flows"
	awk -v n="$(wc -l <"$dir/sorted")" '{
		print (NR <= 0.2 * n ? "smallest" : NR <= 0.95 * n ? "middle" : "largest"), $2, $3
	}' "$dir/sorted" |
	sort -k 1,1 -k 2,2n | awk '
		function put() {
			if (!n) return
			print name "_p50", v[int((n - 1) * .5)]
			print name "_p99", v[int((n - 1) * .99)]
			print name "_mean", s / n
			print name "_flows", n
			print name "_mean_after_handshake", h / n
		}
		$1 != name { put(); n = s = h = 0; name = $1 }
		{ v[n++] = $2; s += $2; h += $3 }
		END { put() }'
	for i in 2 4; do
		awk -v i=$i -v n="$(wc -l <"$dir/sorted")" '{ print int((NR - 1) * 20 / n), $i, $1 }' "$dir/sorted" |
		sort -k 1,1n -k 2,2n | awk -v name="$([[ $i == 2 ]] || echo S_)" '
			function put() {
				if (!n) return
				sizes = sizes " " size
				p50 = p50 " " v[int((n - 1) * .5)]
				p95 = p95 " " v[int((n - 1) * .95)]
				p99 = p99 " " v[int((n - 1) * .99)]
			}
			$1 != class { put(); n = size = 0; class = $1 }
			{ v[n++] = $2; if ($3 > size) size = $3 }
			END { put(); print "sizes" sizes; print name "p50" p50; print name "p95" p95; print name "p99" p99; print "flows", NR }'
	done
	for i in short all; do
		awk -v short="$([[ ${p[sizes]-} == websearch ]] && echo 3000 || echo 120000)" -v i=$i \
			'i == "all" || $1 < short { print $4 }' "$dir/sorted" | sort -g |
			awk -v name="${i}_S_p99" '{ v[NR] = $1 } END { if (NR) print name, v[int((NR - 1) * .99) + 1] }'
	done
	rm "$dir/sorted"
}

# By size, R: FCT over ideal FCT, as above; S: the same without the handshake, and with the
# last ACK's way, half a base RTT, which ideal FCT has; and O: that over what oracle.c has for
# the flow. Sizes: one
# packet, 10 KB, 100 KB, 1 MB, and more; by number, the smallest 20 % and the largest 5 %; and
# those of Bolt's paper, 7 KB and from 46 to 120 KB.
classes()
{
	"$oracle" "${p[mtu]}" "$dir/ways" <"$dir/flows" >"$dir/oracle"
	awk 'FILENAME ~ /oracle$/ { oracle[$1] = $2; way[$1] = $3 / 2; next }
		!/^#/ && $6 != "-" {
			t = $6 - $11 + way[$1]
			print $4, $6 / $7, t / $7, t / oracle[$1]
		}' \
		"$dir/oracle" "$dir/flows" | sort -n >"$dir/sorted"
	awk -v n="$(wc -l <"$dir/sorted")" -v packet=$((p[mtu] - 52)) '{
		class = $1 <= packet ? "packet" : $1 <= 1e4 ? "to_10k" : $1 <= 1e5 ? "to_100k" : $1 <= 1e6 ? "to_1m" : "more"
		print class, $2, $3, $4
		if (NR <= .2 * n) print "smallest", $2, $3, $4
		if ($1 <= 7e3) print "to_7k", $2, $3, $4
		if ($1 >= 46e3 && $1 <= 12e4) print "from_46k_to_120k", $2, $3, $4
		if (NR > .95 * n) print "largest", $2, $3, $4
	}' "$dir/sorted" >"$dir/classes"
	for i in 2 3 4; do
		sort -k 1,1 -k $i,${i}n "$dir/classes" | awk -v i=$i '
			function put() {
				if (!n) return
				name = class "_" substr(" RSO", i, 1)
				print name "_p99", v[int((n - 1) * .99)]
				print name "_gmean", exp(logs / n)
				if (i == 2) print class "_flows", n
			}
			$1 != class { put(); n = logs = 0; class = $1 }
			{ v[n++] = $i; logs += log($i) }
			END { put() }'
	done
	rm "$dir/sorted" "$dir/classes" "$dir/oracle"
}

# From when they resume: the queue's peak, and until when their last byte has come.
resume()
{
	local again
	read -r _ again <"$dir/events"
	awk -v again="$again" -v wire=$wire '
		/^#/ { next }
		$3 < again { if ($3 > again / 2 && $4 > before) before = $4; next }
		$4 > peak { peak = $4 }
		END { print "queue_before", before / wire; print "queue_peak", peak / wire }' "$dir/queue"
	awk -v again="$again" -v rtt=$rtt -v mbit="$mbit" -v mtu="${p[mtu]}" '
		/^#/ || $4 == "-" { next }
		{
			bytes = $4 / 2
			bits += (bytes + int((bytes + mtu - 53) / (mtu - 52)) * 66) * 8
			if ($6 == "-") missing++
			else { t = $5 + $6 - again; sum += t; n++; if (t > last) last = t }
		}
		END {
			print "unfinished", missing + 0
			print "resumed_mean_us", n ? sum / n / 1000 : 0
			print "resumed_last_us", last / 1000
			print "ideal_us", (rtt + bits * 1000 / mbit) / 1000
		}' "$dir/flows"
}

# Of all ports: the time-weighted mean, and the worst port. Under fq packets wait on hosts for
# their pacing, and the hosts' ports do not count.
ports()
{
	awk -v wire=$wire -v fq="${p[host]/fifo/}" 'fq && $2 ~ /^eth/ { next }
		{ n++; mean += $14; if ($18 > p99) p99 = $18; if ($20 > max) max = $20 }
		END { print "queue_mean", mean / n / wire
			print "queue_p99", p99 / wire; print "queue_max", max / wire }' "$dir/links"
}

# What each flow got, in the second half of the time: 4000 round trips, or as many ms as the run says.
shares()
{
	awk -v end="$((p[ms] ? p[ms] * 500000 : rtt * 2000))" '!/^#/ { s = s " " $9 * 8000 / end }
		END { print "shares_mbit" s }' "$dir/flows"
}

# Those of the module, of all senders together.
counters() # NAME...
{
	local name
	for name; do
		awk -v name="$name" '$1 == name { n += $2 } END { print name, n + 0 }' "$dir/counters"
	done
}

# Shares, and which link each flow's updates name.
parking()
{
	jain
	shares
	[[ -e $dir/updates ]] || return 0
	awk 'FILENAME ~ /real$/ {
			for (i = 2; i <= NF; i++)
				real[$1, $i] = 1
			next
		}
		/ used=1 / {
			match($0, /src=[0-9.]+/)
			source = substr($0, RSTART + 4, RLENGTH - 4)
			match($0, /bottleneck=[0-9]+/)
			n++
			good += (source, substr($0, RSTART + 11, RLENGTH - 11)) in real
		}
		END { print "samples", n + 0; print "real_bottleneck", n ? good / n : 0 }' \
		"$dir/real" "$dir/updates"
}

# What the flows got while others were there and after, and when ours together have
# 0.95 of eta of the link, over two round trips, once the others have left: when
# their last bytes, which a queue may have held, have arrived.
mixed()
{
	local half=$((p[ms] * 500000))
	awk -v half=$half -v mbit="$mbit" -v rtt=$rtt -v eta="${p[eta]}" -v wire=$wire '
		FILENAME ~ /flows$/ { if (!/^#/) ours[$1] = $10 ~ /^hpccpp/; next }
		!ours[$2] { left = $1 }
		{
			if ($1 <= half * .2) base[$2] = $3
			if ($1 <= half) at[$2] = $3
			if ($1 <= half * 1.2) later[$2] = $3
			if (ours[$2] && $1 > half) {
				if ($1 != T[n]) {
					T[++n] = $1
					g[n] = g[n - 1]
				}
				g[n] += $3 - end[$2]
			}
			end[$2] = $3
		}
		END {
			least = -1
			for (i in end) {
				a = at[i] - base[i]
				b = end[i] - later[i]
				if (ours[i]) {
					us += a; us2 += b
					if (least < 0 || a < least) least = a
				} else
					them += a
			}
			print "share_ours", us * 8000 / (half * .8) / mbit
			print "share_others", them * 8000 / (half * .8) / mbit
			print "share_after", us2 * 8000 / (half * .8) / mbit
			print "least_mbit", least * 8000 / (half * .8)
			back = 1e6
			j = 1
			for (k = 1; k <= n && back == 1e6; k++) {
				while (j + 1 < k && T[j + 1] <= T[k] - 2 * rtt)
					j++
				if (T[k] - T[j] >= 2 * rtt && (g[k] - g[j]) * 8000 / mbit / (T[k] - T[j]) >= \
				    0.95 * eta / 100 * (wire - 82) / wire)
					back = (T[k] - (left > half ? left : half)) / rtt
			}
			print "leave_back", back
		}' "$dir/flows" "$dir/rates"
	sed -n 's/.* used=1 .* R=\([0-9]*\).*/\1/p' "$dir/updates" |
	awk '{ if (NR == 1 || $1 < R) R = $1 } END { print "least_R_mbit", R * 8 / 1e6 }'
}

case $scenario in
step|incast|int-response|probe|powertcp|messages)
	if [[ -e $dir/queue ]] && grep '^#.*lost' "$dir/queue" >&2; then
		echo "$1: the trace of the queue is not whole" >&2
		exit 1
	fi ;;
esac
{
	bdp
	losses
	case $scenario in
	long|sparse|sweep|rx|flows-n) link; jain ;;
	rtts)			link; jain; shares ;;
	integrity)		link; jain; shares ;;
	blind-hop)		link; jain; counters blind ;;
	harm)			shares; counters blind enter ;;
	latency)		link; counters enter fallback ;;
	step)			link; events; fair ;;
	incast)			link; incast ;;
	int-response)		link; incast; reaction ;;
	probe)			link; resume ;;
	fabric|dctcp-ns3|rollout|rpc|star32|clos) slowdown; classes; ports ;;
	powertcp)
		case ${p[shape]} in
		incast)		link; completion; begun ;;
		staggered)	link; events; fair; jains ;;
		*)		slowdown; classes; ports ;;
		esac ;;
	messages)		link; messages ;;
	parking)		parking ;;
	layout)			parking; ports ;;
	mixed)			link; mixed ;;
	esac
} | jq -Rn --slurpfile meta "$dir/meta.json" '
	def number: tonumber | if . == 0 then 0 else . as $x |
		(pow(10; 5 - ($x | fabs | log10 | floor))) as $k | ($x * $k | round) / $k end;
	[inputs | split(" ") | { key: .[0], value: (.[1:] | map(number) | if length == 1 then .[0] else . end) }] |
	from_entries as $metrics | $meta[0] |
	# others do not depend on the module, and are not run again for another
	if .cc | startswith("hpccpp") then . else .module = null end | . + { $metrics }' >"$dir/json"
for file in flows ways links queue rates updates; do
	[[ ! -e $dir/$file ]] || gzip -nf "$dir/$file"
done
mv "$dir/json" "$RESULTS/$1.json"
