#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Make one page of the lab's runs, $RESULTS/report.html, that needs nothing else:
#
#	report.sh ALL.json BOUNDS KNOWN
#
# ALL.json is an array of runs' JSON, BOUNDS what bounds.jq says of them, KNOWN the
# list that it had (known.bounds). Traces of the runs are in $RESULTS/SCENARIO/NAME/;
# plots of traces that are not there are left out. The same input makes the same bytes.
set -euo pipefail
here=$(realpath "${BASH_SOURCE%/*}")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$here/../common.sh"

[[ $# -eq 3 && -n ${RESULTS-} ]] || bad "usage: RESULTS=DIR report.sh ALL.json BOUNDS KNOWN"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C.UTF-8

jq -r -L "$here" --rawfile bounds "$2" --rawfile known "$3" -f "$here/report.jq" "$1" >"$tmp/draft"

# --- Traces: hundreds of thousands of lines, made hundreds of points ---------------

# table RUN NAME: the rows of a table, words for commas
table() { zcat "$1/$2.csv.gz" | tail -n +2 | tr , ' '; }

# Around the first event of a kind: "RTTs queue load", ten an RTT.
trace_step() # RUN EVENT RTT_US MBIT WIRE
{
	table "$1" queue | awk -v event="$2" -v rtt="$3" -v mbit="$4" -v wire="$5" \
		-v events="$1/events.csv" '
		BEGIN {
			rtt *= 1000
			while ((getline line <events) > 0) {
				split(line, word, ",")
				if (word[2] == event) {
					at = word[1]
					break
				}
			}
			if (!at)
				exit
			step = rtt / 10
			begin = at - 5 * rtt
			slot = 0
		}
		{
			t = $1
			if (t > at + 20 * rtt)
				next
			if (t < begin) {
				now = $3
				sent = $4
				next
			}
			put(int((t - begin) / step))
			if ($3 > top) top = $3
			now = $3
			sent = $4
		}
		# the slots up to this one: what was last is what still is
		function put(until) {
			for (; slot < until; slot++) {
				q[slot] = top > now ? top : now
				x[slot] = sent
				top = now
			}
		}
		END {
			put(250)
			for (i = 20; at && i < 250; i++)
				printf "%.1f %.4g %.4g\n", i / 10 - 5, q[i] / wire, \
					(x[i] - x[i - 20]) * 8000 / mbit / (2 * rtt)
		}'
}

# "us queue" up to a time: the most of each so many us.
trace_incast() # RUN END_US STEP_US WIRE
{
	table "$1" queue | awk -v end="$2" -v step="$3" -v wire="$4" '
		{
			to = int($1 / 1000 / step)
			if (to * step > end)
				to = int(end / step) + 1
			for (; slot < to; slot++) {
				printf "%g %.4g\n", slot * step, top / wire
				top = now
			}
			now = $3
			if (now > top) top = now
		}
		END { printf "%g %.4g\n", slot * step, top / wire }'
}

# "ms ours others", Gbit/s, 100 in all the time.
trace_mixed() # RUN MS
{
	zcat "$1/flows.csv.gz" | tail -n +2 >"$tmp/flows"
	table "$1" rates | awk -v step="$(($2 * 10000))" '
		FILENAME ~ /flows$/ { split($0, f, ","); group[f[1]] = f[10] !~ /^hpccpp/; next }
		{
			while ($1 > (slot + 1) * step) {
				printf "%g %.4g %.4g\n", (slot + .5) * step / 1e6, \
					got[0] * 8 / step, got[1] * 8 / step
				got[0] = got[1] = 0
				slot++
			}
			got[group[$2]] += $3 - last[$2]
			last[$2] = $3
		}' "$tmp/flows" -
}

while read -r _ kind file run args; do
	# shellcheck disable=SC2086 # words
	"trace_$kind" "$RESULTS/$run" $args >"$tmp/$file" 2>/dev/null || rm -f "$tmp/$file"
done < <(grep '^@trace ' "$tmp/draft" || true)

# --- Plots -------------------------------------------------------------------------

awk -v dir="$tmp/" '
	/^@plot / {
		out = dir $2 ".gp"
		print "set terminal svg size 480,290 dynamic noenhanced font \"sans-serif,13\"" >out
		print "set output \"" $2 ".svg\"" >out
		print "set key below center horizontal samplen 2 width -1 height .3 Left reverse" >out
		print "set xlabel offset 0,.3; set title offset 0,-.4; set rmargin 3; set tmargin 1.8" >out
		print "set grid lc rgb \"#dddddd\"; set border lc rgb \"#777777\"" >out
		print "set tics nomirror textcolor rgb \"#222222\"; set pointsize .6; set encoding utf8" >out
		elements = ""
		next
	}
	/^@line / {
		if ($2 != "-" && (getline first <(dir $2)) <= 0)
			next # that run has no trace
		sub(/^@line [^ ]+ /, "")
		elements = elements (elements ? ", " : "plot ") $0
		next
	}
	/^@end/ {
		if (elements)
			print elements >out
		close(out)
		if (!elements)
			system("rm " out)
		out = ""
	}
	out != "" && !/^@trace / { print >out }' "$tmp/draft"
for plot in "$tmp"/*.gp; do
	[[ -e $plot ]] || continue
	(cd "$tmp" && gnuplot "$plot") 2>"$tmp/said" && continue
	cat "$tmp/said" >&2
	die "cannot plot $(basename "$plot" .gp)"
done

# --- The page ----------------------------------------------------------------------

{
	cat <<-'END'
		<!DOCTYPE html>
		<html lang="en">
		<meta charset="utf-8">
		<meta name="viewport" content="width=device-width, initial-scale=1">
		<title>HPCC++ for Linux TCP: what the lab measured</title>
		<style>
	END
	cat "$here/report.css"
	echo "</style>"
	# The points that lines have are the same in all that gnuplot draws: they are
	# kept once, as names must not be there twice.
	for plot in "$tmp"/*.svg; do
		[[ -e $plot ]] || continue
		echo '<svg id="points" aria-hidden="true"><defs>'
		sed -n "/<defs>/,/<\/defs>/{/id='gpPt/{s/xlink:href/href/g;p}}" "$plot" | sed 's/^\t*//'
		echo "</defs></svg>"
		break
	done
	awk -v dir="$tmp/" '
		function put(file,	line, n, skip) {
			while ((getline line <file) > 0) {
				n++
				if (line ~ /<defs>/) skip = 1
				if (!skip && (line ~ /viewBox/ || line ~ /^ *<\/?(g|rect|path|use|text|circle|polygon)/ || line ~ /^\t/ || line ~ /^<\/svg/)) {
					if (line ~ /viewBox/)
						line = "<svg role=\"img\"" line ">"
					gsub(/^[\t ]+| font-family="[^"]*"| id="[^"]*"| stroke-linecap="butt"| stroke-linejoin="miter"/, "", line)
					gsub(/xlink:href/, "href", line)
					gsub(/<tspan ?>/, "<tspan>", line)
					print line
				}
				if (line ~ /<\/defs>/) skip = 0
			}
			close(file)
			return n
		}
		/^@plot / {
			print "<figure>"
			if (!put(dir $2 ".svg"))
				print "<figcaption>" $2 ": no trace to plot</figcaption>"
			print "</figure>"
			skip = 1
		}
		!skip
		/^@end/ { skip = 0 }' "$tmp/draft"
} >"$tmp/report.html"
mv "$tmp/report.html" "$RESULTS/report.html"
