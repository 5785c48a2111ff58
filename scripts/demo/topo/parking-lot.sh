# SPDX-License-Identifier: GPL-2.0
# A parking lot: h1's flow to r1 crosses two full links, each of the others one.
#
#	h1 --1G-- .----.           .----.           .----. --1G-- r1
#	h2 --1G-- | s1 | ==200M==> | s2 | ==100M==> | s3 |
#	          '----' next      '----' next      '----' --1G-- r3
#	                   h3 --1G--' '--1G-- r2
#
# Try:
#	h1 iperf3 -c r1 -t 3 -C hpccpp		# the path has 100 Mbit/s
#	h1 iperf3 -c r1 -t 4 -C hpccpp & h2 iperf3 -c r2 -t 4 -C hpccpp & h3 iperf3 -c r3 -t 4 -C hpccpp & wait
#	h1 iperf3 -c r1 -t 4 -C hpccpp >/dev/null & sleep 2
#	h1 hpccpp flow show; s1 hpccpp port show; s2 hpccpp port show
#	s2 tc qdisc change dev next root handle 1: tbf rate 300mbit burst 3028 limit 512kb
#	s2 hpccpp port del dev next; s2 hpccpp port add dev next base-rtt 2ms	# reads the new rate
# shellcheck shell=bash disable=SC2034,SC2154 # used and set by lib.sh

topo_begin h1 h2 h3 s1 s2 s3 r1 r2 r3

# A number for the addresses on Ethernet; two ends; N.M of 10.N.M.1 and .2, fd00:N:M::1
# and ::2, which the ends get
link 1 "$h1" eth0 "$s1" h1 0.1
link 2 "$h2" eth0 "$s1" h2 0.2
link 3 "$h3" eth0 "$s2" h3 1.3
link 4 "$s1" next "$s2" prev 3.1
link 5 "$s2" next "$s3" prev 3.2
link 6 "$s2" r2 "$r2" eth0 1.4
link 7 "$s3" r1 "$r1" eth0 2.1
link 8 "$s3" r3 "$r3" eth0 2.3
addr4=([h1]=10.0.1.1 [h2]=10.0.2.1 [h3]=10.1.3.1 [r1]=10.2.1.2 [r2]=10.1.4.2 [r3]=10.2.3.2)
addr6=([h1]=fd00:0:1::1 [h2]=fd00:0:2::1 [h3]=fd00:1:3::1
	[r1]=fd00:2:1::2 [r2]=fd00:1:4::2 [r3]=fd00:2:3::2)

# By N: 0 is behind s1, 1 behind s2, 2 behind s3.
route "$h1" default default 0.1 2
route "$h2" default default 0.2 2
route "$h3" default default 1.3 2
route "$r1" default default 2.1 1
route "$r2" default default 1.4 1
route "$r3" default default 2.3 1
route "$s1" default default 3.1 2
route "$s2" 10.0.0.0/16 fd00::/32 3.1 1
route "$s2" 10.2.0.0/16 fd00:2::/32 3.2 2
route "$s3" default default 3.2 1

# Each port that shape gives a rate gets a port agent, too.
for host in "$h1" "$h2" "$h3"; do
	shape "$host" eth0 1gbit 4mb
done
shape "$s1" next 200mbit 512kb
shape "$s2" next 100mbit 512kb
shape "$s2" r2 1gbit 512kb
shape "$s3" r1 1gbit 512kb
shape "$s3" r3 1gbit 512kb
for host in "$r1" "$r2" "$r3"; do
	round_trip "$host" eth0
done
topo_up
