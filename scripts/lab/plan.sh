#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The runs of the lab's scenarios, a line each:
#
#	plan.sh SCENARIO...	SCENARIO NAME KEY=VALUE...
#	plan.sh --weights	of such lines, how long each takes: CPU seconds, about
#
# KEYs are run.sh's; "scale" is scale.sh's own. What differs between the runs of a
# scenario is in their names. OWN is one more congestion control, which is run wherever
# another rival is; OWN_MARK is its K (bench.sh).
set -euo pipefail

own=${OWN-}
ccs="hpccpp dctcp dctcp-k20 dctcp-dualpi2 bbr cubic $own"

# 1 to 64 flows to one receiver. W_ai for 64 flows, and for as many as there are. In runs
# named *-notso the hosts cut their data themselves; in those named *-wire the links carry
# 24 bytes with each frame, which has 142 to 9014. A host has one flow, or few: that fq lets
# what it holds back go up to 10 us late (timer_slack) is all that runs named *-fq differ by.
plan_long()
{
	local flows g rtt cc mtu n ns
	for mtu in 128 242 498 1500 9000; do
		g=25 rtt=20
		[[ $mtu -le 1500 ]] || g=100 rtt=50
		for cc in hpccpp dctcp $own; do
			echo "long $cc-4x${g}g-${rtt}us-mtu$mtu-n64-wire" cc="$cc" flows=4 mbit=${g}000 \
				rtt=$rtt mtu=$mtu n=64 overhead=24 ms=$((rtt == 20 ? 20 : 0))
		done
	done
	for flows in 64 16 4 1; do
		for g in 25 100; do
			for cc in hpccpp dctcp $own; do
				echo "long $cc-${flows}x${g}g-20us-mtu1500-n64-fq" cc="$cc" flows="$flows" mbit=${g}000 \
					rtt=20 mtu=1500 n=64 host=fq
			done
			for rtt in 8 20 50; do
				# no bound would hold it to anything
				[[ $g -ne 25 || $rtt -ne 8 ]] || continue
				for cc in hpccpp dctcp $own; do
					echo "long $cc-${flows}x${g}g-${rtt}us-mtu1500-n64-notso" cc="$cc" flows="$flows" \
						mbit=${g}000 rtt=$rtt mtu=1500 n=64 offloads=no
				done
			done
		done
	done
	for flows in 64 16 4 2 1; do
		for g in 10 25 100; do
			for rtt in 8 20 50; do
				for cc in $ccs; do
					for mtu in 1500 9000; do
						[[ $cc == hpccpp || $mtu == 1500 ]] || continue
						# a full packet and its ACK have to fit into the RTT
						((rtt * 1000 > 16 * (mtu + 80) / g)) || continue
						ns=64
						[[ $cc != hpccpp || $flows == 64 ]] || ns+=" $flows"
						for n in $ns; do
							echo "long $cc-${flows}x${g}g-${rtt}us-mtu$mtu-n$n" cc="$cc" flows="$flows" \
								mbit=${g}000 rtt=$rtt mtu=$mtu n="$n"
						done
					done
				done
			done
		done
	done
}

# The join of a second flow, then the leave of the first; 16 or 64 one by one.
plan_step()
{
	local link cc stage n
	for link in 10:8 10:20 25:20 100:8 100:20; do
		for cc in hpccpp hpccpp-rx dctcp $own; do
			for stage in 5 0; do
				[[ $cc == hpccpp || $stage == 5 ]] || continue
				echo "step $cc-pair-${link%:*}g-${link#*:}us-stage$stage" cc="$cc" flows=2 \
					mbit="${link%:*}000" rtt="${link#*:}" stage=$stage
				[[ $link == 10:* ]] || for n in 16 64; do
					[[ $cc == hpccpp || $n == 64 ]] || continue
					echo "step $cc-sixteen-${link%:*}g-${link#*:}us-stage$stage-n$n" cc="$cc" flows=16 \
						mbit="${link%:*}000" rtt="${link#*:}" stage=$stage n=$n
				done
			done
			[[ $link == 10:* || $cc == hpccpp-rx ]] || echo "step $cc-sixtyfour-${link%:*}g-${link#*:}us-stage5-n64" cc="$cc" \
				flows=64 mbit="${link%:*}000" rtt="${link#*:}" ms=$((64 * 2 * ${link#*:} / 20))
		done
	done
}

# All at once, into buffers of three sizes.
plan_incast()
{
	local flows size mb cc
	for flows in 200 60 32 8; do
		for size in 500000 10000; do
			for mb in 32 4 1; do
				for cc in $ccs hpccpp-rx; do
					echo "incast $cc-${flows}x$((size / 1000))k-${mb}mb" cc="$cc" flows=$flows \
						size=$size buffer=${mb}000000
				done
			done
		done
	done
}

# Poisson arrivals between 16 hosts of a leaf-spine fabric. These and those that follow have
# many flows each: fq serves them in turn. In runs named *-fifo a host's NIC is a FIFO, and
# those named *-seedN have other flows.
plan_fabric()
{
	local load sizes cc ms run seed
	for sizes in websearch fb_hadoop; do
		# for some thousand flows
		ms=12
		[[ $sizes == fb_hadoop ]] || ms=60
		for load in 70 50 30; do
			for cc in $ccs hpccpp-full hpccpp-rx; do
				[[ $cc != hpccpp-rx || $load == 50 ]] || continue
				run="cc=$cc shape=leafspine load=$load sizes=$sizes rtt=9 ms=$ms"
				echo "fabric $cc-$sizes-$load $run host=fq"
				[[ $load == 50 ]] || continue
				[[ $cc != hpccpp-full && $cc != hpccpp-rx ]] || continue
				[[ $cc != hpccpp && $cc != dctcp ]] ||
					echo "fabric $cc-$sizes-$load-fifo $run host=fifo"
				for seed in 2 3 4 5; do
					echo "fabric $cc-$sizes-$load-seed$seed $run host=fq seed=$seed"
				done
			done
		done
	done
}

# Linux' DCTCP as that of ns-3 on the same fabric: it begins with the BDP, 66 packets, and sends
# packet by packet.
plan_dctcp-ns3()
{
	local sizes
	for sizes in "fb_hadoop 12" "websearch 60"; do
		echo "dctcp-ns3 dctcp-k20-${sizes% *}-50 cc=dctcp-k20 shape=leafspine load=50 sizes=${sizes% *} rtt=9" \
			"ms=${sizes#* } host=fq iw=66 offloads=no"
	done
}

# The same fabric, of whose ports a part has an agent.
plan_rollout()
{
	local told
	for told in 0 25 50 75 100; do
		echo "rollout hpccpp-told$told cc=hpccpp shape=leafspine load=50 sizes=fb_hadoop rtt=9 ms=12 host=fq told=$told"
	done
}

# Messages of the same sizes on connections that are kept, half of them to the opener.
plan_rpc()
{
	local sizes cc ms
	for sizes in websearch fb_hadoop; do
		# for some thousand messages
		ms=12
		[[ $sizes == fb_hadoop ]] || ms=60
		for cc in $ccs hpccpp-rx; do
			echo "rpc $cc-$sizes-50" cc="$cc" shape=leafspine load=50 sizes=$sizes rtt=9 ms=$ms host=fq
		done
	done
}

# Connections again, between 32 hosts of one switch, as in Bolt's paper.
plan_star32()
{
	local cc
	for cc in $ccs; do
		echo "star32 $cc-fb_hadoop-80" cc="$cc" load=80 sizes=fb_hadoop rtt=5 mtu=5000 ms=6 host=fq
	done
}

# What PowerTCP's authors run (inet-tub/ns3-datacenter, examples/PowerTCP), with their rates,
# buffer and times: beside a flow of 20 ms 10 begin at once, and stay, or 256 that have 2800
# bytes each; 4 begin and then end one by one, 100 ms apart; WebSearch, on our fabric.
plan_powertcp()
{
	local cc link="mbit=25000 rtt=30 buffer=4000000" load
	for cc in $ccs; do
		echo "powertcp $cc-incast-256" cc="$cc" shape=incast "$link" flows=256 size=2800
		echo "powertcp $cc-incast-10" cc="$cc" shape=incast "$link" flows=10
		echo "powertcp $cc-staggered-4" cc="$cc" shape=staggered "$link" flows=4 ms=800
		for load in 95 80 60 40 20; do
			echo "powertcp $cc-websearch-$load" cc="$cc" shape=leafspine load=$load sizes=websearch \
				rtt=9 ms=30 host=fq
		done
	done
}

# 50 senders of 100 messages each at once, as Bolt's authors run (serhatarslan-hub/bolt_cc_ns3,
# scratch/bolt-star-topo-incast.cc), with their sizes, rate, MTU, link delays and buffer.
plan_messages()
{
	local cc
	for cc in $ccs; do
		echo "messages $cc-50x100" cc="$cc" flows=50 messages=100 size=495900 mtu=5000 rtt=5 \
			buffer=320000000 host=fq
	done
}

# The same between the 320 hosts of the HPCC paper's Clos, with the K of its simulations too:
# the other rivals would double the runs.
plan_clos()
{
	local load sizes cc
	for load in 30 50 70; do
		for sizes in websearch fb_hadoop; do
			for cc in hpccpp dctcp dctcp-k20 $own; do
				echo "clos $cc-$sizes-$load" cc="$cc" shape=clos load=$load sizes=$sizes rtt=13 ms=10 \
					host=fq
			done
		done
	done
}

plan_parking()
{
	local shape cc hops
	for cc in hpccpp hpccpp-full dctcp $own; do
		for shape in parking asymmetric receiver nic; do
			echo "parking $cc-$shape" cc="$cc" shape=$shape mbit=25000 rtt=20
		done
		for hops in 2 8; do
			echo "parking $cc-parking-${hops}hops" cc="$cc" shape=parking hops=$hops mbit=25000 rtt=20
		done
	done
}

# RTTs of 8 us and twice or five times that: of two flows, or of one and seven.
plan_rtts()
{
	local cc mbit many
	for cc in $ccs; do
		for mbit in 25000 100000; do
			for many in "2 2" "2 5" "8 5"; do
				echo "rtts $cc-${many% *}x${mbit%000}g-far${many#* } cc=$cc flows=${many% *} far=${many#* }" \
					"mbit=$mbit rtt=8 ms=40"
			done
		done
	done
}

# A path of 8 ports, 6 of them slow and shared: what their telemetry leaves in a record
# of the most loaded, and in two.
plan_layout()
{
	local cc
	for cc in hpccpp hpccpp-full; do
		echo "layout $cc-8ports" cc=$cc shape=parking hops=6 mbit=25000 rtt=20
	done
}

# Incast with INT responses of the switch, and without; to the receiver also through
# queues with priorities. They are for flows that begin at line rate, which share=0 has.
plan_int-response()
{
	local flows mb respond
	for flows in 60 200; do
		for mb in 32 4; do
			for respond in 0 150; do
				echo "int-response ${flows}x500k-${mb}mb-respond$respond" flows=$flows size=500000 \
					buffer=${mb}000000 respond=$respond share=0
			done
		done
	done
	for mb in 32 4; do
		for respond in "0 0" "150 0" "150 1"; do
			echo "int-response receiver-60x500k-${mb}mb-respond${respond% *}-prio${respond#* }" flows=60 \
				size=500000 buffer=${mb}000000 respond="${respond% *}" mode=receiver prio="${respond#* }" \
				share=0
		done
	done
}

# Flows that idled resume beside others or alone, with a probe and without.
plan_probe()
{
	local flows busy probe
	for flows in 16 4 1; do
		for busy in 4 0; do
			for probe in 0 8; do
				echo "probe ${flows}flows-busy$busy-probe$probe" flows=$flows size=200000 \
					busy=$busy probe=$probe
			done
		done
	done
}

plan_mixed()
{
	local other
	for other in cubic dctcp $own; do
		echo "mixed with-$other" other="$other" flows=4 mbit=10000 rtt=20 ms=100 buffer=1000000
	done
}

# The bottleneck has no port agent; it drops, or marks at DCTCP's K.
plan_blind-hop()
{
	local other
	for other in bare marks; do
		echo "blind-hop $other" other=$other flows=4 mbit=10000 rtt=20 ms=100 buffer=1000000
	done
}

harm() # MBIT RTT MS HOP PACKETS [TOLD]
{
	local pair
	for pair in hpccpp-{none,reno,cubic} reno-{none,reno} cubic-{none,cubic} \
		${own:+hpccpp-$own $own-none $own-$own}; do
		# rivals do not listen
		[[ $# -lt 6 || $pair == hpccpp-* ]] || continue
		echo "harm $pair-${1}m-${2}us-hop$4-buffer$5${6+-$6} cc=${pair%-*}" \
			"other=${pair#*-} mbit=$1 rtt=$2 ms=$3 hop=$4 packets=$5${6+ told=$6}"
	done
}

# A last link that is slower and says nothing: alone, and beside others, with what Reno
# and CUBIC make of it. So do others of the way where only the senders' NICs are told of,
# or nothing is.
plan_harm()
{
	local link mbit rtt ms hop packets told
	for link in "200 20000 8000" "10000 100 60" "100000 30 16"; do
		read -r mbit rtt ms <<<"$link"
		for hop in 85 50; do
			for packets in 4 30 $((2 * mbit * rtt / 8 / 1514)); do
				harm "$mbit" "$rtt" "$ms" $hop "$packets"
			done
		done
		for hop in 100 40; do
			harm "$mbit" "$rtt" "$ms" $hop 30
		done
		for told in nics none; do
			harm "$mbit" "$rtt" "$ms" 85 30 $told
		done
	done
	# a WAN: a fast link that is told of, and a slow one that is not
	for packets in 30 200; do
		harm 1000 50000 40000 5 "$packets"
	done
}

# Latency of the receiver that comes with the time: in one step or four, or as jitter, which is
# one of several that are as likely (-seedN).
plan_latency()
{
	local link mbit rtt ms lag cc common seed run
	for link in "200 2000 4000" "10000 30 60" "100000 8 16"; do
		read -r mbit rtt ms <<<"$link"
		for cc in hpccpp dctcp bbr cubic $own; do
			common="cc=$cc mbit=$mbit rtt=$rtt ms=$ms"
			for lag in 10 $((rtt / 2)) "$rtt" $((3 * rtt)); do
				echo "latency $cc-${mbit}m-${rtt}us-lag$lag $common lag=$lag"
			done
			echo "latency $cc-${mbit}m-${rtt}us-steps $common lag=$((3 * rtt)) steps=4"
			for seed in 1 2 3 4 5; do
				[[ $seed == 1 || $cc == hpccpp ]] || continue
				run=
				[[ $seed == 1 ]] || run=-seed$seed
				run+=" $common seed=$seed"
				for lag in $((rtt / 4)) $((rtt / 2)) "$rtt"; do
					echo "latency $cc-${mbit}m-${rtt}us-jitter$lag$run lag=$lag jitter=$lag"
				done
				echo "latency $cc-${mbit}m-${rtt}us-tail$rtt$run lag=$rtt jitter=$((rtt / 2)) tail=pareto"
			done
		done
	done
}

# Two flows, of which one hears lies; with a key of which the liar has none, too.
plan_integrity()
{
	local lie key
	for lie in none idle full; do
		for key in 0 1; do
			echo "integrity $lie-key$key" lie=$lie key=$key flows=2 rtt=20 ms=80 \
				buffer=4000000
		done
	done
}

# Packets that ask: all, one in 4, one in 16, by the round trip.
plan_sparse()
{
	local link flows every
	for link in 25:20 100:8 100:20; do
		for flows in 2 16 64; do
			for every in 1 4 16 rtt; do
				echo "sparse ${flows}x${link%:*}g-${link#*:}us-every-$every" flows=$flows \
					mbit="${link%:*}000" rtt="${link#*:}" every=$every
			done
		done
	done
}

# The window computed by the sender, and by the receiver.
plan_rx()
{
	local flows
	for flows in 200 64 16 4 2 1; do
		echo "rx sender-${flows}flows" mode=sender flows=$flows
		echo "rx receiver-${flows}flows" mode=receiver flows=$flows
	done
}

# N of W_ai fixed, and as the receiver counts.
plan_flows-n()
{
	local flows
	for flows in 200 64 16 4 2; do
		echo "flows-n ${flows}flows-fixed" mode=receiver flows=$flows
		echo "flows-n ${flows}flows-counted" mode=receiver flows=$flows n=0
	done
}

plan_sweep()
{
	local eta stage flows
	for stage in 5 0; do
		for eta in 90 93 95 97 99 100 102; do
			for flows in 2 16; do
				echo "sweep eta$eta-stage$stage-${flows}flows" eta=$eta stage=$stage flows=$flows
			done
		done
		for flows in 1 4 16 64 256 1000; do
			echo "sweep ${flows}flows-stage$stage" flows=$flows stage=$stage rtt=20
		done
		for rtt in 2 5 20 100 400; do
			echo "sweep rtt${rtt}us-stage$stage" rtt=$rtt flows=4 mbit=100000 stage=$stage
		done
		for rtt in 1000 4000 10000; do
			echo "sweep rtt${rtt}us-stage$stage" rtt=$rtt flows=4 mbit=1000 stage=$stage \
				ms=$((rtt * 3 / 10))
		done
		for mbit in 100 1000; do
			echo "sweep ${mbit}mbit-stage$stage" mbit=$mbit rtt=1000 flows=4 stage=$stage
		done
		for mbit in 10000 40000 200000 400000; do
			echo "sweep ${mbit}mbit-stage$stage" mbit=$mbit rtt=20 flows=4 stage=$stage
		done
	done
}

plan_scale()
{
	local flows cc
	for flows in 10000 100 1; do
		for cc in hpccpp reno; do
			echo "scale $cc-$flows $cc $flows"
		done
	done
}

# A run takes time to start, for each host, more where that has agents, and for each packet.
weights()
{
	awk '
		function packets(us) { return p["mbit"] * us / 8 / p["mtu"] }
		{
			split("", p)
			p["cc"] = "hpccpp"; p["mbit"] = 100000; p["rtt"] = 8; p["mtu"] = 1500; p["flows"] = 1
			for (i = 3; i <= NF; i++)
				if (split($i, word, "=") == 2)
					p[word[1]] = word[2]
			hosts = p["flows"] < 100 ? p["flows"] : 100
			us = p["ms"] ? p["ms"] * 1000 : p["rtt"] * 2000 > 20000 ? p["rtt"] * 2000 : 20000
			n = packets(us)
			if ($1 == "step")
				n = packets(p["ms"] ? us : 2 * p["flows"] * p["rtt"] * (p["flows"] == 2 ? 600 : 150))
			else if ($1 == "incast" || $1 == "int-response" || $1 == "messages") {
				hosts = p["flows"]
				n = hosts * p["size"] / p["mtu"] * (p["messages"] ? p["messages"] : 1)
			} else if (p["shape"] == "incast") {
				hosts = p["flows"] + 1
				n = packets(24000)
			} else if ($1 == "probe")
				hosts += p["busy"]
			else if (p["load"]) {
				hosts = $1 == "clos" ? 320 : $1 == "star32" ? 32 : 16
				n = packets(us) * hosts * p["load"] / 100 * ($1 == "clos" ? 2 : 1.2)
			} else if ($1 == "parking" || $1 == "layout") {
				hosts = 12
				n = packets(p["rtt"] * 4000) * 2
			}
			hpccpp = p["cc"] ~ /^hpccpp/
			printf "%.0f\n", $1 == "scale" ? 60 : 1 + (hpccpp ? 0.19 : 0.01) * hosts + (hpccpp ? 34e-6 : 14e-6) * n
		}'
}
if [[ ${1-} == --weights ]]; then
	weights
	exit
fi

for scenario; do
	declare -F "plan_$scenario" >/dev/null || {
		echo "unknown scenario '$scenario' (known: $(declare -F | sed -n 's/.* plan_//p' | tr '\n' ' '))" >&2
		exit 2
	}
	"plan_$scenario"
done | sed -E "${OWN_MARK:+s/ (cc|other)=$own\b/& mark=$OWN_MARK/}" # whoever else is in these runs
