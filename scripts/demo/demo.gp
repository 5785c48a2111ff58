# SPDX-License-Identifier: GPL-2.0
# queue.png of demo.sh: above the queue in front of the link, below the load of the link,
# both by bins of 20 ms.
# Needs: results (directory), ccs, family, mode, packet (bytes), rate (bit/s), seconds.

set terminal pngcairo size 1000,640 font ",12" linewidth 1.5
set output results.'/queue.png'
set datafile separator ','
width = 0.02
bin(t) = floor(t / width) * width + width / 2
color(cc) = cc eq 'cubic' ? '#cc3311' : cc eq 'bbr' ? '#ee9911' : cc eq 'dctcp' ? '#0077bb' : cc eq 'hpccpp-edges' ? '#aa3377' : '#009955'
samples(cc) = results.'/queue-'.cc.'-'.family.'-'.mode.'.csv'
empty = 0.1			# packets; nothing has no logarithm, and stands there
end = seconds * 1.01
atleast(a, b) = a > b ? a : b

set table $bins
plot for [cc in ccs] samples(cc) using (bin($1)):($2 / packet) every ::1 smooth unique
unset table
set datafile separator whitespace
array last[words(ccs)]		# where each curve ends
do for [i = 1:words(ccs)] {
	stats $bins index i - 1 using ($1 > seconds * 0.75 ? $2 : NaN) nooutput
	last[i] = atleast(STATS_mean, empty * 1.2)
}

set multiplot
set lmargin at screen 0.1
set rmargin at screen 0.87
set grid ytics lc rgb '#dddddd'
set xrange [0:seconds]
unset key

set tmargin at screen 0.91
set bmargin at screen 0.4
set title sprintf("Four flows on one link of %.0f Mbit/s (%s), under one congestion control after the other", rate / 1e6, family)
set format x ''
set ylabel sprintf("packets that wait,\nmean of %.0f ms", width * 1e3)
set logscale y 10
set yrange [empty:1000]
set ytics ('1000' 1000, '100' 100, '10' 10, '1' 1, "empty" empty)
set label sprintf('10 packets take %.1f ms', packet * 8e4 / rate) at graph 0.01, graph 0.95
do for [i = 1:words(ccs)] {
	set label word(ccs, i) at end, last[i] tc rgb color(word(ccs, i))
}
plot for [i = 1:words(ccs)] $bins index i - 1 using 1:(atleast($2, empty)) \
	with lines lc rgb color(word(ccs, i))

unset label
unset logscale
unset title
set tmargin at screen 0.36
set bmargin at screen 0.11
set format x '%g'
set xlabel 'time (s)'
set ylabel "load of the link,\n% of its rate"
set yrange [0:110]
set ytics 0, 50, 100
if (strstrt(ccs, 'hpccpp')) { set label 'hpccpp' at end, 89 tc rgb color('hpccpp') }
if (ccs ne 'hpccpp') { set label 'others' at end, 104 tc rgb '#555555' }
set datafile separator ','
# The bytes sent since the sample before, in % of those that the link could send
share(t, sent) = (part = (sent - sent0) * 800 / (t - t0) / rate, sent0 = sent, t0 = t, part)
plot for [cc in ccs] sent0 = t0 = NaN samples(cc) using (bin($1)):(share($1, $4)) every ::1 \
	smooth unique with lines lc rgb color(cc)
unset multiplot
