# SPDX-License-Identifier: GPL-2.0
# queue.png of demo.sh: what waits in front of the link, mean of each 20 ms.
# Needs: results (directory), ccs, family, mode, packet (bytes), rate (bit/s).

set terminal pngcairo size 1000,600 font ",12" linewidth 1.5
set output results.'/queue.png'
set datafile separator ','
set title sprintf('Queue of a %.0f Mbit/s link shared by four flows (%s), mean of 20 ms', rate / 1e6, family)
set xlabel 'time (s)'
set ylabel sprintf('queue (packets of %d bytes)', packet)
set y2label 'waiting time (ms)'
ms = packet * 8e3 / rate	# that a packet takes
set logscale y 10
set yrange [0.05:1000]
set logscale y2 10
set y2range [0.05 * ms:1000 * ms]
set y2tics
set ytics nomirror
set grid ytics lc rgb '#dddddd'
set key outside bottom center horizontal

# An empty queue has no logarithm; it stands at the lower edge.
bin(t) = floor(t / 0.02) * 0.02 + 0.01
color(cc) = cc eq 'cubic' ? '#cc3311' : cc eq 'bbr' ? '#ee9911' : cc eq 'dctcp' ? '#0077bb' : '#009955'
plot for [cc in ccs] results.'/queue-'.cc.'-'.family.'-'.mode.'.csv' \
	using (bin($1)):(($2 > 0 ? $2 : 0) / packet + 0.05) every ::1 smooth unique \
	with lines lc rgb color(cc) title cc
