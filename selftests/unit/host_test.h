/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The harness of host_test.c: one connection of a host with an agent, and scripts of the
 * segments that it sends and receives. A row of a test table is a sentence and a script.
 *
 * A script is a sequence of words, with spaces or semicolons in between:
 *
 *	syn  ack  data		The host sends a segment. data:30 has 30 times the MSS, data:4+1
 *				one byte more than 4 times the MSS.
 *	again  syn-ack		It sends a segment a second time; it answers a SYN.
 *	data>echo:ab		It sends data, which carries an echo of the records a and b.
 *				Other options: collect, burst, tag, window; none.
 *	<collect:a		An ACK with a collect arrives, with the record a, or (collect:-)
 *				with no record. "+tag" adds an empty option "tag".
 *	<load:24  <bound:24	An ACK with an echo arrives, of this load or of this bound.
 *	<window:1		An ACK with a window of this serial arrives.
 *	syn<  connected<	A SYN or a SYN-ACK arrives with the option after the "<". found:WORD
 *				is a SYN-ACK's collect with this word.
 *	accepted<		The third ACK arrives with this option.
 *	open			The handshake of a client, up to the third ACK.
 *	server<			listen(), and a third ACK with this option.
 *	connect  listen		The application calls this.
 *	closed  other		The connection ends, from SYN_SENT if the agent wants to know; the
 *				following words are about another connection to this peer.
 *	bind  windows:WORD	The module seeks an agent; it requests windows.
 *	known:24		Data, and echoes of this load until the path is known.
 *	acked  lost		All that is in flight is acknowledged, or lost.
 *	rtt  retransmission	TCP reports this event. Others: timeout; mss, the MSS is computed.
 *	grant  request		Data and a request for windows arrive; only that request.
 *	port			A collect arrives T later, with the record of a port of load 0.5.
 *	requests:8/80		8 of the next 80 data segments carry a collect.
 *	listed  unlisted	Prefixes list the peer, or only other peers.
 *	keys:2			The host has two keys for tags.
 *	room=8  ASKED==2	Sets a variable; compares a counter of the agent. All names are in
 *				variables[]; "calls" is the flag that enables calls for segments.
 *	4*( data acked )	Repeats the words four times.
 *
 * A value may be a number, a name of constants[] or of a variable, and one of these plus or
 * minus a number.
 */

/* bpf_shim.h has functions that only other agents need. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "bpf_shim.h"
#include "host.bpf.c"
#include "host_shim.h"

#include "test.h"

unsigned long strtoul(const char *text, char **end, int base);

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MSS		1448
#define MS		1000000ULL	/* ns */
#define WRITE_FLAG	BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG
#define PARSE_FLAG	BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG

/* --- The maps -------------------------------------------------------------- */

static struct hpccpp_prefix prefixes[2];
static int n_prefixes;

static void *map_lookup(void *map, const void *key)
{
	static __u8 listed;
	int i;

	if (map != &host_prefix)
		return host_lookup(map, key);
	for (i = 0; i < n_prefixes; i++)
		if (prefix_matches(&prefixes[i], key))
			return &listed;
	return NULL;
}

static long map_update(void *map, const void *key, const void *value, __u64 flags)
{
	return host_update(map, key, value, flags);
}

static long map_delete(void *map, const void *key)
{
	return host_update(map, key, NULL, 0);
}

static void put_prefix(int i, const void *addr, __u32 len)
{
	prefixes[i].prefixlen = len;
	memcpy(prefixes[i].addr, addr, 16);
	n_prefixes = i + 1;
	the_host.prefixes = n_prefixes;
}

static __u64 *counter(__u32 which)
{
	return &stats[HPCCPP_PS_MAX + which];
}

/* --- The connection -------------------------------------------------------- */

static const __u8 mapped[16] = { [10] = 0xff, 0xff, 10, 1, 0, 2 };	/* the peer */
static const __u8 addr6[16] = { 0xfd, 0x5a, 0xa5, 0x3c, 0xc3, 0x81, 0x18, 0xe7,
				0x7e, 0x24, 0x42, 0x99, 0x66, 0x0f, 0xf0, 0xab };

static void set_remote6(const __u8 *addr)
{
	skops.family = AF_INET6;
	memcpy((void *)skops.remote_ip6, addr, 16);
}

static __u32 push;		/* segments in both directions have PSH */
static __u32 flows;		/* N of records that arrive, encoded */
static __u32 serial;		/* of windows and requests that arrive */
static __u32 law;		/* of requests that arrive */
static __u32 cut;		/* bytes missing at the end of segments that arrive */
static __u32 old;		/* bytes by which the number they acknowledge is too low */
static __u32 mark;		/* for a script to keep a value */
static const __u8 *padding;	/* options in front of ours in segments that arrive */
static __u32 padding_len;

/* The module reads the feedback as soon as a connection is its own. */
static void module_begins(void)
{
	if (!strcmp(cc_set, "hpccpp") && skops.op != BPF_SOCK_OPS_TCP_LISTEN_CB)
		assert_int_equal(the_flow.feedback.key, KEY);
}

/* Another socket of the same host: the maps stay */
static void other_socket(void)
{
	struct link_flows link = the_link;
	bool had_link = has_link;

	new_socket();
	the_link = link;
	has_link = had_link;
	skops.family = AF_INET;
	skops.local_ip4 = bpf_htonl(0x0a000001);
	skops.remote_ip4 = bpf_htonl(0x0a010002);
	skops.snd_una = 1000;
	skops.snd_nxt = 1000;
	skops.snd_cwnd = 100;
}

static int set_up(void **state)
{
	memset(stats, 0, sizeof(stats));
	memset(&the_host, 0, sizeof(the_host));
	memset(&the_keys, 0, sizeof(the_keys));
	memset(packet, 0, sizeof(packet));
	the_host.records = 1;
	the_host.every = 1;
	memcpy(the_host.fallback, "cubic", 6);
	cc_is_locked = false;
	cc_is_gone = false;
	no_flow_memory = false;
	no_rx_memory = false;
	set_cc = module_begins;
	memcpy(cc_set, "hpccpp", 7);
	n_prefixes = 0;
	tags = false;
	windows = false;
	now = 1000 * MS;
	room = 28;
	push = 0;
	flows = 0;
	serial = 1;
	law = HPCCPP_LAW_AVERAGED;
	cut = 0;
	old = 0;
	padding_len = 0;
	write_arg = 0;
	forget_hashes();
	new_socket();
	other_socket();
	skops.skb_data_end = packet;
	return 0;
}

/* Links of 200 Mbit/s; the second is the most loaded of the first three */
static const struct hpccpp_int records[] = {
	['a'] = { .link = 1, .rate = 0x614, .U = 40, .ts = 0x123456, .tx_bytes = 0x9abcde,
		  .qlen = 0x1240 },
	['b'] = { .link = 2, .rate = 0x714, .U = 60, .ts = 2, .tx_bytes = 3, .qlen = 4 },
	['c'] = { .link = 3, .rate = 0x714, .U = 20, .ts = 5, .tx_bytes = 6, .qlen = 7 },
	['d'] = { .link = 4, .rate = 0x714, .U = 200 },
	/* the part of a that a SYN-ACK repeats, qlen within 1/16 */
	['s'] = { .rate = 0x614, .U = 40, .qlen = 0x1300 },
	/* no port has written; all are below their thresholds; and with words to be ignored */
	['0'] = { .rate = 0 },
	['u'] = { .U = 51 },
	['v'] = { .link = 1, .U = 51, .ts = 3, .qlen = 4 },
};

static const struct { const char *name; __u16 exid; } kinds[] = {
	{ "none", 0 }, { "collect", HPCCPP_EXID_COLLECT }, { "burst", HPCCPP_EXID_BURST },
	{ "echo", HPCCPP_EXID_ECHO }, { "tag", HPCCPP_EXID_TAG },
	{ "window", HPCCPP_EXID_WINDOW },
};

static __u32 exid(void)
{
	return stored ? stored_options[2] << 8 | stored_options[3] : 0;
}

/* Word i of the options of the segment that was sent last */
static __u32 word(int i)
{
	__be32 w;

	memcpy(&w, stored_options + 4 * i, sizeof(w));
	return bpf_ntohl(w);
}

/* Sends a segment of new data. */
static void send_data(__u32 len)
{
	build_segment(TCPHDR_ACK | (push ? TCPHDR_PSH : 0), len);
	skops.snd_nxt += len;
	skops.packets_out++;
}

static void acked(void)
{
	skops.snd_una = skops.snd_nxt;
	skops.packets_out = 0;
	skops.lost_out = 0;
	skops.sacked_out = 0;
}

/* Options of the segment that arrives next */
static __u32 options_len;

static void put_bytes(const void *bytes, __u32 len)
{
	memcpy(packet + sizeof(struct tcphdr) + options_len, bytes, len);
	options_len += len;
	end_packet(options_len);
}

static void no_options(void)
{
	memset(packet, 0, sizeof(packet));
	put_snd_ack(skops.snd_una - old);
	skops.skb_tcp_flags = TCPHDR_ACK | (push ? TCPHDR_PSH : 0);
	options_len = 0;
	end_packet(0);
	if (padding_len)
		put_bytes(padding, padding_len);
}

static void put_option(__u16 exid, const void *body, __u32 len)
{
	__u8 head[] = { HPCCPP_OPT_KIND, 4 + len, exid >> 8, exid & 0xff };
	__u8 option[HPCCPP_OPT_LEN(HPCCPP_REC_MAX)];

	memcpy(option, head, sizeof(head));
	if (len)
		memcpy(option + sizeof(head), body, len);
	put_bytes(option, sizeof(head) + len);
}

static void put_records(__u16 exid, const struct hpccpp_int *rec, int n)
{
	__be32 w[HPCCPP_REC_MAX + 1][3] = {};
	int i;

	for (i = 0; i < n; i++) {
		w[i][0] = bpf_htonl(hpccpp_int_w0(&rec[i]));
		w[i][1] = bpf_htonl(hpccpp_int_w1(&rec[i]));
		w[i][2] = bpf_htonl(hpccpp_int_w2(&rec[i]));
	}
	/* put_tag() fills in the tag of an echo later */
	put_option(exid, w, n * HPCCPP_REC_LEN +
			    (exid == HPCCPP_EXID_TAG && n ? HPCCPP_TAG_LEN : 0));
}

static void parse_it(void)
{
	call_host(BPF_SOCK_OPS_PARSE_HDR_OPT_CB, 0);
}

static void receive(__u16 exid, const struct hpccpp_int *rec, int n)
{
	no_options();
	put_records(exid, rec, n);
	parse_it();
}

/* Receives an ACK with an option of these 32-bit words. */
static void receive_words(__u16 exid, __u32 w0, __u32 w1, __u32 len)
{
	__be32 w[9] = { bpf_htonl(w0), bpf_htonl(w1) };

	no_options();
	put_option(exid, w, len);
	parse_it();
}

static void use_keys(int n)
{
	__u32 i;

	for (i = 0; i < sizeof(the_keys.key); i++)
		((__u8 *)the_keys.key)[i] = i;
	the_keys.n = n;
	tags = true;
}

static void assert_feedback(const struct hpccpp_int *rec, int n)
{
	assert_int_equal(the_flow.feedback.n, n);
	assert_memory_equal(the_flow.feedback.rec, rec, n * sizeof(*rec));
}

/* --- Values of a script ---------------------------------------------------- */

#define VARIABLE(name, lvalue)	{ name, &(lvalue), sizeof(lvalue) }
#define V(name)		VARIABLE(#name, name)
#define SKOPS(field)	VARIABLE(#field, skops.field)
#define FLOW(field)	VARIABLE(#field, the_flow.field)
#define CONFIG(field)	VARIABLE(#field, the_host.field)
#define COUNTER(name)	VARIABLE(#name, stats[HPCCPP_PS_MAX + HPCCPP_HS_ ## name])

static const struct { const char *name; void *at; __u32 size; } variables[] = {
	V(room), V(stored), V(reserved), V(push), V(flows), V(serial), V(cut), V(old), V(mark),
	V(now), V(windows), V(write_arg), V(has_flow), V(has_rx), V(cc_is_locked), V(cc_is_gone),
	V(no_flow_memory), V(no_rx_memory),
	CONFIG(ask), CONFIG(every), CONFIG(records), VARIABLE("require", the_keys.require),
	SKOPS(remote_port), VARIABLE("flags", skops.bpf_sock_ops_cb_flags),
	SKOPS(snd_una), SKOPS(snd_nxt), SKOPS(snd_cwnd), SKOPS(mss_cache), SKOPS(packets_out),
	SKOPS(lost_out), SKOPS(sacked_out), SKOPS(data_segs_out), SKOPS(total_retrans),
	FLOW(round), FLOW(asked_end), FLOW(requested_seq), FLOW(tries), FLOW(proven),
	FLOW(doubted), FLOW(plan), FLOW(listener_flag), FLOW(want[0]),
	FLOW(feedback.gen), FLOW(feedback.key), FLOW(feedback.window),
	FLOW(feedback.rx),
	COUNTER(ASKED), COUNTER(COLLECTED), COUNTER(ECHOED), COUNTER(ECHO_SHORT),
	COUNTER(ECHO_NONE), COUNTER(ECHOES), COUNTER(REQUESTED), COUNTER(COMPUTED),
	COUNTER(WINDOWS), COUNTER(GAVE_UP), COUNTER(BAD), COUNTER(ERROR), COUNTER(SIGNED),
	COUNTER(TAG_ROOM), COUNTER(TAG_OK), COUNTER(TAG_NONE), COUNTER(STOOD_IN),
	COUNTER(CAME_BACK), COUNTER(SUSPECTED),
};

static const struct { const char *name; __u64 value; } constants[] = {
	{ "MSS", MSS }, { "WANTED", HPCCPP_WANTED }, { "LOADED", HPCCPP_LOADED }, { "KEY", KEY },
	{ "CALLS", WRITE_FLAG | PARSE_FLAG },
	{ "AUTO", HPCCPP_ASK_AUTO }, { "ALWAYS", HPCCPP_ASK_ALWAYS },
	{ "NEVER", HPCCPP_ASK_NEVER }, { "COOKIE", BPF_WRITE_HDR_TCP_SYNACK_COOKIE },
};

static const char *script_at;	/* the word that runs, for messages */

#define fail_at(problem, ...)	fail_msg(problem "\nat: %.60s", __VA_ARGS__, script_at)

static __u64 flag(__u32 which)
{
	return !!(skops.bpf_sock_ops_cb_flags & which);
}

/* Returns where the lowest bytes of a value are. */
static void *low(__u64 *value, __u32 size)
{
	return (char *)value + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) * (sizeof(*value) - size);
}

/* Returns the index of the variable, or the number of variables if there is none. */
static __u32 variable(const char *name)
{
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(variables) && strcmp(variables[i].name, name); i++)
		;
	return i;
}

/* Returns the value of a name: of a variable, a constant or a part of the last segment. */
static __u64 named(const char *name)
{
	__u32 i = variable(name);
	__u64 value = 0;

	if (i < ARRAY_SIZE(variables)) {
		memcpy(low(&value, variables[i].size), variables[i].at, variables[i].size);
		return value;
	}
	for (i = 0; i < ARRAY_SIZE(constants); i++)
		if (!strcmp(constants[i].name, name))
			return constants[i].value;
	if (!strncmp(name, "word", 4))
		return word(name[4] - '0');
	if (!strcmp(name, "calls"))
		return flag(WRITE_FLAG);
	if (!strcmp(name, "parses"))
		return flag(PARSE_FLAG);
	fail_at("no value %s", name);
	return 0;
}

/* Returns the value of a number or a name, plus or minus a number. */
static __u64 value_of(const char *text)
{
	__u32 len = strcspn(text, "+-");
	char name[32];
	char *end;
	__u64 value = strtoul(text, &end, 0);

	if (end == text) {
		snprintf(name, sizeof(name), "%.*s", (int)len, text);
		value = named(name);
		end = (char *)text + len;
	}
	if (*end == '-')
		return value - strtoul(end + 1, NULL, 0);
	return value + (*end ? strtoul(end + 1, NULL, 0) : 0);
}

static void assign(const char *name, const char *text)
{
	__u32 i = variable(name);
	__u64 value;

	if (!strcmp(name, "cc")) {
		memset(cc_set, 0, sizeof(cc_set));
		memcpy(cc_set, text, strlen(text));
		return;
	}
	value = value_of(text);
	if (!strcmp(name, "calls")) {
		skops.bpf_sock_ops_cb_flags &= ~WRITE_FLAG;
		skops.bpf_sock_ops_cb_flags |= value ? WRITE_FLAG : 0;
		return;
	}
	if (i == ARRAY_SIZE(variables))
		fail_at("no variable %s", name);
	memcpy(variables[i].at, low(&value, variables[i].size), variables[i].size);
}

/* Converts letters to records; no letters to record a. Returns the number of records. */
static int letters(const char *text, struct hpccpp_int *rec)
{
	int n = 0;

	for (text = *text ? text : "a"; *text && *text != '-'; text++) {
		rec[n] = records[(int)*text];
		rec[n++].N = flows;
	}
	return n;
}

static void compare(const char *name, const char *text)
{
	struct hpccpp_int rec[HPCCPP_REC_MAX];

	if (!strcmp(name, "cc")) {
		if (strcmp(cc_set, text))
			fail_at("cc is %s", cc_set);
	} else if (!strcmp(name, "feedback")) {
		assert_feedback(rec, letters(text, rec));
	} else if (named(name) != value_of(text)) {
		fail_at("%s is %#lx", name, (unsigned long)named(name));
	}
}

/* --- Words of a script ----------------------------------------------------- */

static void script(const char *format, ...);
static bool run_window_word(const char *text);

/* Puts the options after "<" into the segment that arrives. */
static void put_arrival(const char *text)
{
	struct hpccpp_int rec[HPCCPP_REC_MAX] = {};
	const char *colon = strchr(text, ':'), *after = colon ? colon + 1 : "";
	__u32 kind, value = strtoul(after, NULL, 0);
	__be32 w;
	char list[8];

	no_options();
	snprintf(list, sizeof(list), "%.*s", (int)strcspn(after, "+"), after);
	if (!strncmp(text, "load:", 5) || !strncmp(text, "bound:", 6)) {
		/* an echo with a record of this load, or with this bound */
		rec[0].U = value_of(after);
		rec[0].rate = *text == 'l' ? 0x714 : 0;
		put_records(HPCCPP_EXID_ECHO, rec, 1);
	} else if (!strncmp(text, "found:", 6)) {
		/* a SYN-ACK's collect, in which a port has written, and its echo of the SYN */
		put_records(HPCCPP_EXID_COLLECT, &records['a'], 1);
		w = bpf_htonl(value);
		put_bytes(&w, sizeof(w));
		packet[sizeof(struct tcphdr) + 1] += sizeof(w);
	} else if (!strncmp(text, "window:", 7)) {
		/* U of 77/256 and W of code 2000 */
		w = bpf_htonl(HPCCPP_WINDOW(HPCCPP_WINDOW_U, value, 2000, 77));
		put_option(HPCCPP_EXID_WINDOW, &w, sizeof(w));
	} else if (*text) {
		for (kind = 0; strncmp(kinds[kind].name, text, strcspn(text, ":+")); kind++)
			assert_true(kind < ARRAY_SIZE(kinds) - 1);
		if (kind)
			put_records(kinds[kind].exid, rec, letters(list, rec));
		if (kinds[kind].exid == HPCCPP_EXID_TAG)
			put_tag(&the_keys.key[0]);
	}
	if (strstr(text, "+tag"))
		put_option(HPCCPP_EXID_TAG, NULL, 0);
	end_packet(options_len - cut);
}

/* Lets a segment arrive: the event before "<", the options after it. */
static void arrive(const char *event, const char *options)
{
	put_arrival(options);
	if (!*event) {
		parse_it();
	} else if (!strcmp(event, "syn")) {
		skops.bpf_sock_ops_cb_flags |= WRITE_FLAG;
	} else if (!strcmp(event, "connected")) {
		call_host(BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB, 0);
	} else if (!strcmp(event, "accepted")) {
		call_host(BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 0);
	} else {
		assert_string_equal(event, "server");
		call_host(BPF_SOCK_OPS_TCP_LISTEN_CB, 0);
		call_host(BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, 0);
	}
}

/* Sends a segment, and compares the option that it carries. */
static bool send_segment(const char *segment, const char *expected)
{
	const char *colon = strchr(segment, ':'), *list = strchr(expected, ':');
	struct hpccpp_int rec[HPCCPP_REC_MAX];
	__u32 len = MSS, kind;
	int i, n;
	char *end;

	if (colon) {
		len *= strtoul(colon + 1, &end, 10);
		len += *end ? strtoul(end, NULL, 10) : 0;
	}
	if (!strncmp(segment, "data", 4)) {
		send_data(len);
	} else if (!strncmp(segment, "again", 5)) {
		again = true;
		build_segment(TCPHDR_ACK, len);
		again = false;
	} else if (!strcmp(segment, "ack")) {
		build_segment(TCPHDR_ACK, 0);
	} else if (!strcmp(segment, "syn")) {
		build_segment(TCPHDR_SYN, 0);
	} else if (!strcmp(segment, "syn-ack")) {
		build_segment(TCPHDR_SYN | TCPHDR_ACK, 0);
	} else {
		return false;
	}
	if (!*expected)
		return true;
	for (kind = 0; kind < ARRAY_SIZE(kinds) - 1 && kinds[kind].exid != exid(); kind++)
		;
	if (strncmp(kinds[kind].name, expected, strcspn(expected, ":")))
		fail_at("it carries %s", kinds[kind].name);
	n = list ? letters(list + 1, rec) : 0;
	if (list && stored_options[1] / HPCCPP_REC_LEN != n)
		fail_at("it carries %d records", stored_options[1] / HPCCPP_REC_LEN);
	for (i = 0; i < n; i++)
		if (word(3 * i + 1) != hpccpp_int_w0(&rec[i]) ||
		    word(3 * i + 2) != hpccpp_int_w1(&rec[i]) ||
		    word(3 * i + 3) != hpccpp_int_w2(&rec[i]))
			fail_at("record %d is another", i);
	return true;
}

static void check_requests(int expected, int segments)
{
	int i, n = 0;

	for (i = 0; i < segments; i++) {
		send_data(MSS);
		n += exid() == HPCCPP_EXID_COLLECT;
	}
	if (n != expected)
		fail_at("%d segments carry a collect", n);
}

static void run_word(char *text)
{
	static const struct { const char *name; __u32 op; } calls[] = {
		{ "connect", BPF_SOCK_OPS_TCP_CONNECT_CB },
		{ "listen", BPF_SOCK_OPS_TCP_LISTEN_CB },
		{ "rtt", BPF_SOCK_OPS_RTT_CB }, { "retransmission", BPF_SOCK_OPS_RETRANS_CB },
		{ "timeout", BPF_SOCK_OPS_RTO_CB },
	};
	char *at = strpbrk(text, "<>="), *end;
	char sign = at ? *at : 0;
	__u32 i;

	if (at)
		*at++ = '\0';
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!strcmp(calls[i].name, text)) {
			call_host(calls[i].op, 0);
			return;
		}
	}
	if (sign == '<') {
		arrive(text, at);
	} else if (sign == '=' && *at == '=') {
		compare(text, at + 1);
	} else if (sign == '=') {
		assign(text, at);
	} else if (send_segment(text, sign ? at : "")) {
		return;
	} else if (!strncmp(text, "requests:", 9)) {
		i = strtoul(text + 9, &end, 10);
		check_requests(i, strtoul(end + 1, NULL, 10));
	} else if (!strcmp(text, "open")) {
		script("connect syn snd_una=snd_una+1 snd_nxt=snd_nxt+1 connected< bind ack");
	} else if (!strncmp(text, "known:", 6)) {
		/* data, and echoes of this load until the flow knows its path */
		script("data acked %d*( <load:%s )", HPCCPP_NEW, text + 6);
	} else if (!strcmp(text, "bind")) {
		module_has_it();
	} else if (!strcmp(text, "other")) {
		other_socket();
		assign("cc", "hpccpp");
	} else if (!strcmp(text, "closed")) {
		skops.args[1] = BPF_TCP_CLOSE;
		if (skops.bpf_sock_ops_cb_flags & BPF_SOCK_OPS_STATE_CB_FLAG)
			call_host(BPF_SOCK_OPS_STATE_CB, BPF_TCP_SYN_SENT);
	} else if (!strcmp(text, "acked")) {
		acked();
	} else if (!strcmp(text, "lost")) {
		skops.lost_out = skops.packets_out;
	} else if (!strcmp(text, "mss")) {
		compute_mss();
	} else if (!strcmp(text, "unlisted")) {
		put_prefix(0, addr6, 64);
	} else if (!strcmp(text, "listed")) {
		put_prefix(0, mapped, 128);
	} else if (!strncmp(text, "keys:", 5)) {
		use_keys(text[5] - '0');
	} else if (!strncmp(text, "windows:", 8)) {
		/* the module configures windows */
		module_calls(HPCCPP_CALL_SET_PARAMS, value_of(text + 8), 0x12345678);
	} else if (!run_window_word(text)) {
		fail_at("no word %s", text);
	}
}

/* Runs the words up to the end or to an unmatched ")". Returns where it stopped. */
static const char *run_words(const char *p)
{
	const char *end;
	char text[40];
	int times;
	__u32 len;

	for (p += strspn(p, " ;"); *p && *p != ')'; p = end + strspn(end, " ;")) {
		len = strcspn(p, " ;");
		end = p + len;
		if (len > 2 && !strncmp(end - 2, "*(", 2)) {
			for (times = strtoul(p, NULL, 10); times; times--)
				end = run_words(p + len) + 1;
			continue;
		}
		assert_true(len < sizeof(text));
		snprintf(text, sizeof(text), "%.*s", len, p);
		script_at = p;
		run_word(text);
	}
	return p;
}

static void run_script(const char *text)
{
	assert_string_equal(run_words(text), "");
}

static void script(const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	assert_true((__u32)vsnprintf(text, sizeof(text), format, args) < sizeof(text));
	va_end(args);
	run_script(text);
}

/* --- Tests ----------------------------------------------------------------- */

/* A sentence that says what the row shows, and the script that shows it */
struct row {
	const char *shows;
	const char *script;
};

static void run_row(void **state)
{
	run_script(*state);
}

static void add_rows(const struct row *row, int n)
{
	for (; n--; row++)
		add_test(row->shows, run_row, (void *)row->script);
}
