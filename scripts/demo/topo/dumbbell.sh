# SPDX-License-Identifier: GPL-2.0
# Four senders share a link; 2 ms round trip, a buffer of 512 KB, as in `make demo`.
#
#	h1 --1G-- .----.                     .----.
#	h2 --1G-- | s1 | ====200 Mbit/s===== | s2 | --1G-- r
#	h3 --1G-- |    | next           prev |    | next
#	h4 --1G-- '----'                     '----'
#
# Try:
#	h1 ping -c 3 r
#	h1 iperf3 -c r -t 3 -C cubic & h2 ping -i .2 -w 3 r; wait
#	h1 iperf3 -c r -t 3 -C hpccpp & h2 ping -i .2 -w 3 r; wait
#	for i in 1 2 3 4; do h$i iperf3 -c r -p 520$i -t 3 -C hpccpp & done; wait
#	h1 iperf3 -c r -t 5 -C hpccpp >/dev/null & sleep 2
#	h1 ss -tin; h1 hpccpp flow show; s1 hpccpp port show; s1 tc -s qdisc show dev next
#						# cubic: the connection by which iperf3 agrees
#	h1 hpccpp check; s1 hpccpp monitor	# Ctrl-C ends monitor
#	h1 sysctl net.hpccpp.eta=80		# target 80 % of the link; run iperf3 again
#	s1 hpccpp port del dev next		# no telemetry there: iperf3 again, by Reno in a second
#	s1 hpccpp port add dev next base-rtt 2ms
# shellcheck shell=bash

topo_line 4 2
