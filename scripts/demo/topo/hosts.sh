# SPDX-License-Identifier: GPL-2.0
# The network of `make demo`, with agents on hosts alone. The switches write no telemetry, so the
# shared link is seen by its delay only; each link of a host is reported.
#
#	h1 --1G-- .----.                     .----.
#	h2 --1G-- | s1 | ====200 Mbit/s===== | s2 | --1G-- r
#	h3 --1G-- |    | next           prev |    | next
#	h4 --1G-- '----'                     '----'
#
# Try:
#	h1 iperf3 -c r -t 3 -C hpccpp & h2 ping -i .2 -w 3 r; wait
#	h1 hpccpp port show; r hpccpp port show		# hooks egress and ingress
#	for i in 1 2 3 4; do h$i iperf3 -c r -p 520$i -t 3 -C hpccpp & done; wait
#	s2 tc qdisc change dev next root handle 1: tbf rate 100mbit burst 3028 limit 512kb
#	r hpccpp port change dev eth0 ingress rate 100mbit	# now the link to r is the bottleneck:
#	h1 iperf3 -c r -t 3 -C hpccpp & h2 ping -i .2 -w 3 r; wait
# shellcheck shell=bash disable=SC2034 # used by shell.sh

topo_line 4 2
edges=$EDGE
