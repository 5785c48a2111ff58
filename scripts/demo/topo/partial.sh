# SPDX-License-Identifier: GPL-2.0
# One hop without a port agent: s2 is a switch that writes no telemetry. While another
# link is the bottleneck nothing is amiss; make s2's the bottleneck, and see.
#
#	h1 --1G-- .----.                .----.                       .----.
#	h2 --1G-- | s1 | ==200 Mbit/s== | s2 | --1G, without agent-- | s3 | --1G-- r
#	          '----' next           '----' next                  '----' next
#
# Try:
#	h1 iperf3 -c r -t 3 -C hpccpp
#	s2 tc qdisc change dev next root handle 1: tbf rate 100mbit burst 3028 limit 512kb
#	h1 iperf3 -c r -t 20 -C hpccpp >/dev/null & h2 ping -i .5 -w 8 r
#	h1 hpccpp flow show			# hpccpp-reno, blind-delay: it has found out
#	s2 tc -s qdisc show dev next
#	s2 hpccpp port add dev next base-rtt 2ms	# and again
# shellcheck shell=bash disable=SC2034,SC2154 # used and set by lib.sh

topo_line 2 3
ports=("$h1 eth0" "$h2 eth0" "$s1 next" "$s3 next")	# not "$s2 next"
