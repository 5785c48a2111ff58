/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One socket and its storage for the host agent in a user-space test, and the calls of TCP.
 * The test includes bpf_shim.h and host.bpf.c before this.
 */

static struct bpf_sock_ops skops;
static struct flow the_flow;
static struct rx the_rx;
static bool has_flow, has_rx;
static struct link_flows the_link;
static bool has_link;
static bool no_flow_memory, no_rx_memory;	/* no state can be added */

/* Maps of the agent with one entry each */
static struct {
	void *map;
	bool used;
	__u64 key[4], value[2];
	__u32 key_len, value_len;
} hashes[] = {
	{ &host_peers, .key_len = sizeof(struct hpccpp_peer_key),
	  .value_len = sizeof(struct hpccpp_peer) },
	{ &host_answers, .key_len = sizeof(struct answer_key),
	  .value_len = sizeof(struct answer) },
	{ &host_listeners, .key_len = sizeof(struct listening), .value_len = 1 },
};

static void forget_hashes(void)
{
	__u32 i;

	for (i = 0; i < sizeof(hashes) / sizeof(*hashes); i++)
		hashes[i].used = false;
}

static void *hash_lookup(void *map, const void *key)
{
	__u32 i;

	for (i = 0; i < sizeof(hashes) / sizeof(*hashes); i++)
		if (hashes[i].map == map && hashes[i].used &&
		    !__builtin_memcmp(hashes[i].key, key, hashes[i].key_len))
			return hashes[i].value;
	return NULL;
}

static bool is_hash(void *map)
{
	__u32 i;

	for (i = 0; i < sizeof(hashes) / sizeof(*hashes); i++)
		if (hashes[i].map == map)
			return true;
	return false;
}

static bool hash_update(void *map, const void *key, const void *value)
{
	__u32 i;

	for (i = 0; i < sizeof(hashes) / sizeof(*hashes); i++) {
		if (hashes[i].map != map)
			continue;
		hashes[i].used = value;
		__builtin_memcpy(hashes[i].key, key, hashes[i].key_len);
		if (value)
			__builtin_memcpy(hashes[i].value, value, hashes[i].value_len);
		return true;
	}
	return false;
}

/* The maps of the agent, except for the prefixes: each test has its own. */
static void *host_lookup(void *map, const void *key)
{
	if (map == &host)
		return &the_host;
	if (map == &host_keys)
		return &the_keys;
	if (map == &host_stats)
		return &stats[HPCCPP_PS_MAX + *(const __u32 *)key];
	if (map == &host_links)
		return has_link ? &the_link : NULL;
	return hash_lookup(map, key);
}

static long host_update(void *map, const void *key, const void *value, __u64 flags)
{
	if (hash_update(map, key, value))
		return 0;
	TRUE_OR_TRAP(map == &host_links && key && flags == BPF_NOEXIST);
	__builtin_memcpy(&the_link, value, sizeof(the_link));
	has_link = true;
	return 0;
}

static void *sk_storage_get(void *map, void *sk, void *value, __u64 flags)
{
	TRUE_OR_TRAP(sk && !value);
	if (map == &host_rx) {
		if (!has_rx && (!flags || no_rx_memory))
			return NULL;
		if (!has_rx)
			__builtin_memset(&the_rx, 0, sizeof(the_rx));
		has_rx = true;
		return &the_rx;
	}
	TRUE_OR_TRAP(map == &host_sk);
	if (!has_flow && (!flags || no_flow_memory))
		return NULL;
	if (!has_flow)
		__builtin_memset(&the_flow, 0, sizeof(the_flow));
	has_flow = true;
	return &the_flow;
}

static long sk_storage_delete(void *map, void *sk)
{
	TRUE_OR_TRAP(map == &host_sk && sk);
	if (!has_flow)
		return -ENOENT;
	has_flow = false;
	return 0;
}

/* A socket without any state */
static void new_socket(void)
{
	static struct bpf_sock sk;

	has_flow = false;
	has_rx = false;
	has_link = false;
	__builtin_memset(&the_flow, 0, sizeof(the_flow));
	__builtin_memset(&skops, 0, sizeof(skops));
	skops.sk = &sk;
	skops.skb_data = packet;
	skops.mss_cache = 1448;
}

/* Calls the agent, and checks what must hold after each call. */
static void call_host(__u32 op, __u32 arg)
{
	const __u64 *ok = &stats[HPCCPP_PS_MAX + HPCCPP_HS_TAG_OK];
	const __u64 *computed = &stats[HPCCPP_PS_MAX + HPCCPP_HS_COMPUTED];
	__u64 before = *ok, windows_before = *computed;
	__u32 gen = has_flow ? the_flow.feedback.gen : 0;

	skops.op = op;
	skops.args[0] = arg;
	hpccpp_host(&skops);
	TRUE_OR_TRAP(!has_rx || (the_rx.p.T && the_rx.p.T <= HPCCPP_T_MAX));
	TRUE_OR_TRAP(!has_rx || the_rx.s.W <= HPCCPP_W_LIMIT);
	/* W of a request may be less than W_min, that of a window may not */
	TRUE_OR_TRAP(*computed == windows_before ||
		     (the_rx.p.W_min && the_rx.s.W >= the_rx.p.W_min &&
		      the_rx.s.W <= the_rx.p.W_max));
	TRUE_OR_TRAP(the_flow.feedback.n <= HPCCPP_REC_MAX);
	TRUE_OR_TRAP(*ok - before <= 1 && (*ok == before || tags));
	/* where tags are required, feedback is from an echo with a right tag */
	if (tags && the_keys.require && has_flow && the_flow.feedback.gen &&
	    the_flow.feedback.gen != gen)
		TRUE_OR_TRAP(*ok != before);
}

#define KEY	(COOKIE ^ HPCCPP_FEEDBACK_KEY)

/* Calls the agent as the module does; another program has replied before. */
static void module_calls(__u32 what, __u32 low, __u32 high)
{
	skops.args[1] = low;
	skops.args[2] = high;
	skops.args[3] = what;
	call_host(BPF_SOCK_OPS_BASE_RTT, 10);
	skops.args[3] = 0;
}

/* Ends the segment that arrives after its options. */
static void end_packet(__u32 options_len)
{
	packet_len = sizeof(struct tcphdr) + options_len;
	skops.skb_data_end = packet + packet_len;
}

static void put_snd_ack(__u32 ack)
{
	((struct tcphdr *)packet)->ack_seq = bpf_htonl(ack);
}

/* Puts the right tag of this key into the echo of the segment: chance does not find it. */
static void put_tag(const struct hpccpp_key *key)
{
	int len, n;
	struct hpccpp_signed s;
	struct opt o = {};

	skops.op = BPF_SOCK_OPS_PARSE_HDR_OPT_CB;
	len = load_any(&skops, &o, HPCCPP_EXID_TAG, 0);
	n = len == 32 ? 2 : 1;
	if (len != HPCCPP_TAGGED_LEN(n) || !what_is_signed(&skops, false, &s, &o, n))
		return;
	((__be32 *)&o)[len / 4 - 1] = hpccpp_tag(key, &s, n);
	__builtin_memcpy(loaded, &o, len);
}

/* TCP computes its MSS: sets "reserved". */
static void compute_mss(void)
{
	skops.skb_tcp_flags = 0;
	skops.skb_len = 0;
	reserved = 0;
	stored = 0;
	/* without the flag TCP makes no call */
	if (skops.bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG)
		call_host(BPF_SOCK_OPS_HDR_OPT_LEN_CB, BPF_WRITE_HDR_TCP_CURRENT_MSS);
}

/* The module has the flow and seeks an agent, which TCP calls before the next segment. */
static void module_has_it(void)
{
	__builtin_memcpy(cc_set, "hpccpp", 7);
	if (has_flow && the_flow.feedback.key == KEY)
		return;
	if (!(skops.bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
		skops.bpf_sock_ops_cb_flags |= HPCCPP_CALL_FLAGS;
	skops.bpf_sock_ops_cb_flags |= HPCCPP_SEEK_FLAG;
	compute_mss();
}

static __u32 write_arg;	/* args[0]: whether the SYN-ACK has a SYN cookie */
static bool again;	/* the segment has been sent before */

/* TCP builds a segment: the agent reserves room, then writes as many bytes. */
static void build_segment(__u32 flags, __u32 len)
{
	__u32 exid;

	skops.skb_tcp_flags = flags;
	skops.skb_len = len;
	reserved = 0;
	stored = 0;
	if (!(skops.bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
		return;
	call_host(BPF_SOCK_OPS_HDR_OPT_LEN_CB, write_arg);
	/* TCP sets PSH in packets of several segments */
	if (len > skops.mss_cache)
		skops.skb_tcp_flags |= TCPHDR_PSH;
	((struct tcphdr *)packet)->seq = bpf_htonl(skops.snd_nxt - again);
	if (reserved)
		call_host(BPF_SOCK_OPS_WRITE_HDR_OPT_CB, write_arg);
	/* a retransmission carries no collect, whatever room was reserved */
	TRUE_OR_TRAP(stored == reserved || (again && !stored));
	/* a burst if segmentation may copy the option into several segments, else a collect */
	exid = stored_options[2] << 8 | stored_options[3];
	if (stored && exid == HPCCPP_EXID_BURST)
		TRUE_OR_TRAP(skops.skb_tcp_flags & TCPHDR_PSH);
	if (stored && exid == HPCCPP_EXID_COLLECT)
		TRUE_OR_TRAP(the_flow.no_burst || flags & TCPHDR_SYN ||
			     !(skops.skb_tcp_flags & TCPHDR_PSH));
	/* while calls are paused, events that resume them are enabled */
	TRUE_OR_TRAP(!the_flow.paused ||
		     (skops.bpf_sock_ops_cb_flags & HPCCPP_RESUME_FLAGS) ==
		     HPCCPP_RESUME_FLAGS);
}
