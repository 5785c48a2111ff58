// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the code that reads bytes of other hosts, by libFuzzer: the port agent, the host
 * agent and the agent of RoCEv2 hosts, compiled into this unchanged. The first byte of an
 * input chooses one of them. The rest says which packets and events it sees: packets are
 * built well-formed, then some bytes change.
 *
 * A trap is a finding, and so is what the sanitizers find.
 */
#include "bpf_shim.h"

#include <stdbool.h>
#include <string.h>

#include "frames.h"
#include "responses.h"

/* --- The input ------------------------------------------------------------- */

static const __u8 *input;
static unsigned long left;

/* Takes the next n bytes, and zeros after the end */
static void take(void *to, __u32 n)
{
	__u32 have = n < left ? n : left;

	__builtin_memset(to, 0, n);
	__builtin_memcpy(to, input, have);
	input += have;
	left -= have;
}

static __u8 take_byte(void)
{
	__u8 b;

	take(&b, sizeof(b));
	return b;
}

static __u64 take_range(__u64 lo, __u64 hi)
{
	__u64 x;

	take(&x, sizeof(x));
	return lo + x % (hi - lo + 1);
}

#define count port_count
#define LICENSE port_license
#include "port.bpf.c"
#undef count
#undef LICENSE
#include "port_maps.h"
#define LICENSE host_license
#include "host.bpf.c"
#undef LICENSE
#include "host_shim.h"
#define count cnp_count
#define take take_cnp
#include "cnp.bpf.c"
#undef count
#undef take
#include "cnp_maps.h"

static void *map_lookup(void *map, const void *key)
{
	void *entry = host_lookup(map, key);
	struct table *t;

	if (entry || map == &host_links || is_hash(map))
		return entry;
	entry = port_lookup(map, key);
	if (entry || map == &port || map == &port_accept || map == &port_capable)
		return entry;
	t = table_of(map);
	if (t && t->kind != BPF_MAP_TYPE_LPM_TRIE)
		return table_lookup(t, key);
	TRUE_OR_TRAP(t || map == &host_prefix);
	return peer_listed ? &peer_listed : NULL;
}

static long map_update(void *map, const void *key, const void *value,
		       __u64 flags)
{
	struct table *t = table_of(map);

	if (t)
		return table_update(t, key, value, flags);
	return host_update(map, key, value, flags);
}

static long map_delete(void *map, const void *key)
{
	if (is_hash(map))
		return host_update(map, key, NULL, 0);
	TRUE_OR_TRAP(map == &cnp_flows);
	return table_delete(table_of(map), key);
}

static long for_each(void *map, void *callback, void *arg)
{
	TRUE_OR_TRAP(map == &cnp_flows);
	return table_each(table_of(map), callback, arg);
}

static void pass_time(void)
{
	__u8 shift = take_byte() % 40;

	now += (__u64)take_byte() << shift;
}

#include "fuzz_port.h"

/* --- The host agent -------------------------------------------------------- */

static void send_segment(void)
{
	static const __u32 lengths[] = { 0, 1448, 0, 30 * 1448 };
	__u32 flags, len;
	__u8 how;

	/* a segment has a flag at least, and none is there to ask for the MSS */
	flags = take_byte() ?: TCPHDR_ACK;
	len = lengths[take_byte() % 4];
	room = take_byte() % 11 * 4;
	how = take_byte();
	again = how & 2;
	if (how & 1)
		compute_mss();
	else
		build_segment(flags, len);
}

/* The module reads the agent's feedback. */
static void pull(void)
{
	const struct hpccpp_feedback *feedback = &the_flow.feedback;
	int i;

	module_has_it();
	/* while the fallback has the place of hpccpp, the first telemetry binds the flow */
	TRUE_OR_TRAP(feedback->key == KEY || the_flow.stands_in);
	TRUE_OR_TRAP(feedback->n <= HPCCPP_REC_MAX && (!feedback->n || feedback->gen));
	if (feedback->window) {
		TRUE_OR_TRAP(HPCCPP_WINDOW_KIND(feedback->window) !=
			     HPCCPP_WINDOW_REQUEST &&
			     HPCCPP_WINDOW_SERIAL(feedback->window) <= 1);
		return;
	}
	for (i = 0; i < feedback->n; i++)
		TRUE_OR_TRAP(feedback->rec[i].rate ||
			     (feedback->n == 1 && feedback->rec[i].U &&
			      !feedback->rec[i].qlen));
}

/* As the module tells what W depends on */
static void tell(void)
{
	__u32 what = 0, more = 0;

	take(&what, sizeof(what));
	take(&more, sizeof(more));
	module_calls(HPCCPP_CALL_SET_PARAMS, what, more);
}

/*
 * Makes of the bytes in the packet an option with this ExID. Zeros become a plausible value:
 * a record of now, or a request for windows that a receiver accepts.
 */
static void put_tcp_option(__u16 exid, __u32 len)
{
	const __be32 words[3] = {
		bpf_htonl(exid == HPCCPP_EXID_WINDOW ? 0xd07d005f : 0x0016c840),
		bpf_htonl(exid == HPCCPP_EXID_WINDOW ? 0x07d0000a : now >> HPCCPP_TS_SHIFT << 8),
		bpf_htonl(now >> HPCCPP_TX_SHIFT << 8),
	};
	__u8 *p = packet + sizeof(struct tcphdr);
	__u32 i;

	put_header(p, len, exid);
	for (i = HPCCPP_OPT_HDR; i < len && i < HPCCPP_OPT_LEN(1); i++)
		p[i] ^= ((__u8 *)words)[i - HPCCPP_OPT_HDR];
}

/* A segment arrives with one of our options or two, or with any bytes as options */
static void take_options(void)
{
	static const __u16 exids[] = {
		HPCCPP_EXID_COLLECT, HPCCPP_EXID_ECHO, HPCCPP_EXID_WINDOW, HPCCPP_EXID_TAG,
		HPCCPP_EXID_BURST,
	};
	static const __u8 lengths[] = { 0, 4, 8, 12, 16, 20, 28, 40 };
	__u8 *p = packet + sizeof(struct tcphdr), len = lengths[take_byte() % 8], what;

	end_packet(len);
	take(p, len);
	what = take_byte();
	if (!len || what >= 0xf0)
		return;
	put_tcp_option(exids[what % 5], len);
	/* a request for a tag follows a request for telemetry */
	if (len > HPCCPP_OPT_HDR && what & 0x80) {
		p[1] -= HPCCPP_OPT_HDR;
		put_header(p + p[1], HPCCPP_OPT_HDR, HPCCPP_EXID_TAG);
	}
}

/* A flow is accepted, and its sender requests windows. A record arrives again and again. */
static void begin_receiver(void)
{
	__u32 i;

	call_host(BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 0);
	for (i = 0; i < 4; i++) {
		now += 1000000;
		memset(packet, 0, sizeof(packet));
		end_packet(i == 1 ? HPCCPP_REQUEST_LEN : HPCCPP_OPT_LEN(1));
		put_tcp_option(i == 1 ? HPCCPP_EXID_WINDOW : HPCCPP_EXID_COLLECT,
			       packet_len - sizeof(struct tcphdr));
		call_host(BPF_SOCK_OPS_PARSE_HDR_OPT_CB, 0);
		room = 40;
		build_segment(TCPHDR_ACK, 0);
	}
}

static void end_connection(void)
{
	skops.args[1] = BPF_TCP_CLOSE;
	call_host(BPF_SOCK_OPS_STATE_CB, BPF_TCP_SYN_SENT);
}

static void fuzz_host(void)
{
	static const __u32 events[] = {
		BPF_SOCK_OPS_TCP_LISTEN_CB, BPF_SOCK_OPS_TCP_CONNECT_CB,
		BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB,
		BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, BPF_SOCK_OPS_PARSE_HDR_OPT_CB,
	};
	__u8 what;

	forget_hashes();
	new_socket();
	skops.family = take_byte() & 1 ? AF_INET : AF_INET6;
	the_host.ask = take_byte() % 3;
	the_host.records = take_range(1, HPCCPP_REC_MAX);
	the_host.every = take_range(0, 4);
	the_host.prefixes = take_byte() & 1;
	peer_listed = take_byte() & 1;
	what = take_byte();
	__builtin_memset(cc_set, 0, sizeof(cc_set));
	__builtin_memcpy(cc_set, what & 1 ? "hpccpp" : "cubic\0", 7);
	cc_is_locked = what & 2;
	cc_is_gone = what & 4;
	__builtin_memcpy(the_host.fallback, "cubic", 6);
	the_keys.n = take_byte() % 3;
	the_keys.require = take_byte() & 1;
	take(the_keys.key, sizeof(the_keys.key));
	tags = the_keys.n;
	windows = take_byte() & 1;
	if (take_byte() & 1)
		begin_receiver();
	while (left) {
		__u8 sign;

		what = take_byte() % 16;
		sign = take_byte();
		pass_time();
		take(&skops.snd_una, sizeof(skops.snd_una));
		skops.snd_nxt = skops.snd_una + take_byte();
		skops.packets_out = take_byte() % 4;
		skops.lost_out = take_byte() % 4;
		take_options();
		put_snd_ack(skops.snd_una + sign);
		if (sign & 1)
			put_tag(&the_keys.key[sign >> 1 & 1]);
		if (what == 15)
			end_connection();
		else if (what < 5 || what >= 10)
			call_host(events[what < 5 ? what : 4], 0);
		else if (what < 7)
			send_segment();
		else if (what < 8)
			pull();
		else if (what < 9)
			tell();
		else
			call_host(sign & 1 ? BPF_SOCK_OPS_RTT_CB :
				  sign & 2 ? BPF_SOCK_OPS_RETRANS_CB :
					     BPF_SOCK_OPS_RTO_CB, 0);
	}
}

/* --- The agent of RoCEv2 hosts -------------------------------------------- */

#define BEHIND	54

/* Writes the checksum and the ICRC of a packet that may be a CNP: chance does not find them */
static void put_sums(void)
{
	__u32 at = packet_len - sizeof(struct hpccpp_cnp);
	struct hpccpp_cnp c;

	if (packet_len < BEHIND + sizeof(c))
		return;
	__builtin_memcpy(&c, packet + at, sizeof(c));
	c.icrc = hpccpp_cnp_icrc(packet + 22, packet + 38, &c);
	c.check = 0;
	__builtin_memcpy(packet + at, &c, sizeof(c));
	put16(packet + at + 6, ~l4_sum(packet + 14, true, packet + at, sizeof(c), IPPROTO_UDP));
}

/* What is to be answered: to whom it came from, in place of all it was */
static void run_answer(void)
{
	__u64 answered = cnp_counts[HPCCPP_CS_ANSWERED];

	__builtin_memcpy(packet, copied, sizeof(packet));
	packet_len = copied_len;
	if (hpccpp_cnp_in(&copy) == TC_ACT_SHOT) {
		TRUE_OR_TRAP(cnp_counts[HPCCPP_CS_ANSWERED] == answered);
	} else {
		TRUE_OR_TRAP(cnp_counts[HPCCPP_CS_ANSWERED] == answered + 1);
		check_cnp(the_cnp.answer == HPCCPP_ANSWER_FAST);
		TRUE_OR_TRAP(!__builtin_memcmp(packet + 22, copied + 38, 16) &&
			     !__builtin_memcmp(packet + 38, copied + 22, 16));
	}
	TRUE_OR_TRAP(!copy.mark);
}

/*
 * The packet has another UDP source port than "old", into which this copies the port and what
 * changes with it. The port has to be in the right range, and the checksum has to be right.
 */
static void check_port(__u8 *old, __u32 old_udp, __u32 udp)
{
	__u32 len = old[old_udp + 4] << 8 | old[old_udp + 5];
	__u8 *from = old + old_udp, *to = packet + udp;

	if (!__builtin_memcmp(from, to, 2))
		return;
	TRUE_OR_TRAP(the_cnp.detours && to[0] >> 6 == 3);
	TRUE_OR_TRAP(!(from[6] || from[7]) || sum_from(from, 0, len) == sum_from(to, 0, len));
	__builtin_memcpy(from, to, 2);
	if (from[6] || from[7])
		__builtin_memcpy(from + 6, to + 6, 2);
	__builtin_memcpy(from + len - HPCCPP_ICRC_LEN, to + len - HPCCPP_ICRC_LEN,
			 HPCCPP_ICRC_LEN);
}

static void one_roce(void)
{
	__u64 added = cnp_counts[HPCCPP_CS_TRACE_ADDED];
	__u64 removed = cnp_counts[HPCCPP_CS_TRACE_REMOVED];
	__u8 old[sizeof(packet)], what = take_byte();
	bool out = !(what & 2);
	struct __sk_buff skb = {};
	__u32 old_len, at, i;
	struct ipv6hdr ip;
	struct roce roce;
	int act;

	take_packet(&skb, true);
	if (!(what & 1))
		put_sums();
	at = ipv6_offset(&skb, &ip);
	if (at) {
		at += sizeof(ip);
		if (!load_roce(&skb, ip.nexthdr, &at, &roce))
			at = 0;
	}
	old_len = packet_len;
	__builtin_memcpy(old, packet, sizeof(old));
	if (out) {
		act = hpccpp_cnp_out(&skb);
		TRUE_OR_TRAP(act == TC_ACT_UNSPEC);
		if (at)
			check_port(old, at, at + packet_len - old_len);
	} else {
		act = hpccpp_cnp_in(&skb);
		TRUE_OR_TRAP(act == TC_ACT_UNSPEC || act == TC_ACT_SHOT);
	}
	TRUE_OR_TRAP(!skb.tstamp || skb.tstamp <= now + HPCCPP_CNP_HELD);
	if (cnp_counts[HPCCPP_CS_TRACE_ADDED] != added) {
		TRUE_OR_TRAP(out && the_cnp.hops && packet_len > old_len);
	} else if (cnp_counts[HPCCPP_CS_TRACE_REMOVED] != removed) {
		TRUE_OR_TRAP(!out && the_cnp.hops && packet_len < old_len);
	} else {
		TRUE_OR_TRAP(packet_len == old_len &&
			     !__builtin_memcmp(packet, old, old_len));
	}
	TRUE_OR_TRAP(!skb.mark && (!copy.mark || the_cnp.answer));
	if (copy.mark)
		run_answer();
	for (i = 0; i < FLOWS; i++)
		TRUE_OR_TRAP(flows[i].rate <= the_cnp.dcqcn.line && !flows[i].busy);
}

static struct hpccpp_params params;

static void take_params(void)
{
	params.T = take_range(1, HPCCPP_T_MAX);
	params.eta = take_range(1, HPCCPP_ETA_MAX) * HPCCPP_ONE / 100;
	params.law = take_byte() % HPCCPP_LAWS;
	params.packet = take_range(0, 65535);
	params.W_ai = take_range(0, 1 << 20);
	params.W_min = take_range(1, HPCCPP_W_LIMIT);
	params.W_max = take_range(params.W_min, HPCCPP_W_LIMIT);
	params.share = take_byte() & 1;
}

static void fuzz_cnp(void)
{
	__u8 what = take_byte();
	__u64 line;

	tables_clear();
	peer_listed = !(what & 0x80);
	take_params();
	line = take_range(HPCCPP_RATE_MIN, HPCCPP_RATE_MAX);
	the_cnp = (struct hpccpp_cnp_cfg) {
		.hpcc = params, .hops = what & 15, .trace = bpf_htons(1),
		.namespaces = { 1 }, .n_namespaces = what >> 4 & 1,
		.algorithm = what >> 5 & 1, .threshold = 51,
		.type1 = HPCCPP_FCNP_TYPE1, .type2 = HPCCPP_FCNP_TYPE2,
		.answer = what >> 6 & 1 ? HPCCPP_ANSWER_CNP + (what >> 5 & 1) :
			  HPCCPP_ANSWER_NONE,
		.mark = what >> 6 & 1 ? MARK : 0, .limit = 10,
	};
	if (the_cnp.hops > HPCCPP_HBH_HOPS)
		the_cnp.hops = 0;
	the_cnp.detours = take_byte() & 1;
	hpccpp_dcqcn_defaults(&the_cnp.dcqcn, line / 8, params.T);
	while (left) {
		pass_time();
		one_roce();
	}
}

int LLVMFuzzerTestOneInput(const __u8 *data, unsigned long size);
int LLVMFuzzerTestOneInput(const __u8 *data, unsigned long size)
{
	static void (* const fuzz[])(void) = { fuzz_port, fuzz_host, fuzz_cnp };

	input = data;
	left = size;
	now = 1;
	prng = 0x9e3779b97f4a7c15ULL;	/* of frames.h: an input has one result */
	fuzz[take_byte() % 3]();
	return 0;
}
