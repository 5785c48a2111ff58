/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, part of cnp.bpf.c: it learns which two queue pairs belong
 * together from the sequence numbers of data and of the ACKs to it.
 */

/* Opcodes, without the three high bits, which are the transport service */
#define ROCE_READ_RESPONSE	0x0d	/* the first of four */
#define ROCE_ACKED	0x25	/* transport services with ACKs: RC, RD, XRC */
#define ROCE_ACK	0x11
#define ROCE_ATOMIC_ACK	0x12
#define PSN_MASK	0xffffff
#define ACK_REQ		0x80000000	/* in the same word, host order */
#define PSN_WINDOW	1024	/* an ACK is for one of the last so many packets */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_qp);
	__type(value, __u32);
} cnp_qps SEC(".maps");

/* Flows that arrive, by peer and our QP */
struct heard {
	__u64 answered;		/* when it last had a CNP, ns */
	__u32 psn;		/* of the last data packet */
	__u32 qpn;		/* the peer's QP; 0: not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_qp);
	__type(value, struct heard);
} cnp_heard SEC(".maps");

/* By a peer's QP: our QP that it sends to */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_qp);
	__type(value, __u32);
} cnp_senders SEC(".maps");

/*
 * No packet names both QPs of a flow. But when data asks for an ACK, the ACK has the PSN
 * of the data and goes to the other QP. So the agent remembers the QP that data with a PSN
 * went to last, by the peer and by the direction of the data.
 */
struct asking {
	__be32 peer[4];
	__u32 psn;
	__u32 came;
};

struct asked {
	__u64 at;		/* ns */
	__u32 qpn;		/* to which the data went */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4 * HPCCPP_CNP_FLOWS);
	__type(key, struct asking);
	__type(value, struct asked);
} cnp_asked SEC(".maps");

static __always_inline bool has_acks(__u8 opcode)
{
	return ROCE_ACKED >> (opcode >> 5) & 1;
}

static __always_inline bool is_ack(__u8 opcode)
{
	return has_acks(opcode) && (opcode & 31) == ROCE_ACK;
}

/* True if an ACK of "psn" fits a flow whose last packet had the PSN "last". */
static __always_inline bool acks(__u32 psn, __u32 last)
{
	return ((last - psn) & PSN_MASK) < PSN_WINDOW;
}

/* True if a flow that sent at "at" still counts as sending. */
static __always_inline bool recent(const struct hpccpp_cnp_cfg *cfg, __u64 at,
				   __u64 now)
{
	return (__s64)(now - at) < cfg->hpcc.T * (HPCCPP_CNP_RECENT_T * 1000LL);
}

/*
 * True if an ACK may still come for data that passed at by->at. fq may have held the data
 * back for a while after that.
 */
static __always_inline bool waits(const struct hpccpp_cnp_cfg *cfg,
				  const struct asked *by, __u64 now)
{
	return recent(cfg, by->at + HPCCPP_CNP_HELD, now);
}

/*
 * Remembers data that goes to a QP and asks for an ACK. Two QPs may use the same PSN, as
 * after a start from the same number: one that is paired already does not take the entry
 * from another, so that each ACK pairs one more.
 */
static __always_inline void ask(const struct hpccpp_cnp_cfg *cfg,
				const __be32 *peer, const struct hpccpp_bth *bth,
				bool came, __u32 qpn, bool paired, __u64 now)
{
	struct asked by = { .at = now, .qpn = qpn }, *before;
	__u32 psn = bpf_ntohl(bth->psn);
	struct asking a = {
		.peer = { peer[0], peer[1], peer[2], peer[3] },
		.psn = psn & PSN_MASK,
		.came = came,
	};

	if (!(psn & ACK_REQ) || !has_acks(bth->opcode))
		return;
	before = paired ? bpf_map_lookup_elem(&cnp_asked, &a) : NULL;
	if (!before || before->qpn == qpn || !waits(cfg, before, now))
		bpf_map_update_elem(&cnp_asked, &a, &by, BPF_ANY);
}

/* The QP to which data with this PSN went and asked for an ACK; 0 if none did */
static __always_inline __u32 who_asked(const struct hpccpp_cnp_cfg *cfg,
				       const __be32 *peer, __u32 psn, bool came,
				       __u64 now)
{
	struct asking a = {
		.peer = { peer[0], peer[1], peer[2], peer[3] },
		.psn = psn,
		.came = came,
	};
	struct asked *by = bpf_map_lookup_elem(&cnp_asked, &a);

	return by && waits(cfg, by, now) ? by->qpn : 0;
}

/*
 * Learns the peer's QP of a flow that arrives. Its data does not name that QP, but our
 * ACKs go to it. A QP of the peer belongs to one QP of ours at most. When an ACK proves
 * that it belongs to another, it leaves the old one, and replaces what was paired with the
 * new one by mistake.
 */
static __always_inline void learn_sender(const struct hpccpp_cnp_cfg *cfg,
					 const struct ipv6hdr *ip,
					 const struct hpccpp_bth *bth, __u64 now)
{
	__u32 psn = bpf_ntohl(bth->psn) & PSN_MASK, *known, ours;
	struct hpccpp_cnp_qp theirs = {}, key = {};
	struct heard *h, *last = NULL;

	__builtin_memcpy(theirs.peer, &ip->daddr, sizeof(theirs.peer));
	theirs.qpn = bpf_ntohl(bth->qpn) & HPCCPP_QPN_MASK;
	__builtin_memcpy(key.peer, theirs.peer, sizeof(key.peer));
	known = bpf_map_lookup_elem(&cnp_senders, &theirs);
	if (known) {
		key.qpn = *known;
		last = bpf_map_lookup_elem(&cnp_heard, &key);
		if (last && last->qpn != theirs.qpn)
			last = NULL;
		if (last && acks(psn, last->psn))
			return;
	}
	ours = who_asked(cfg, key.peer, psn, true, now);
	key.qpn = ours;
	h = ours ? bpf_map_lookup_elem(&cnp_heard, &key) : NULL;
	if (!h)
		return;
	if (last)
		last->qpn = 0;
	h->qpn = theirs.qpn;
	bpf_map_update_elem(&cnp_senders, &theirs, &ours, BPF_ANY);
}

/*
 * True for the responses of a queue pair, READ responses among them, and false for its
 * requests. Each of the two is a sequence in which packets must not overtake each other:
 * one without data also waits for the data before it.
 */
static __always_inline bool is_answer(__u8 opcode)
{
	return (opcode & 31) >= ROCE_READ_RESPONSE &&
	       (opcode & 31) <= ROCE_ATOMIC_ACK;
}

/*
 * Learns our QP of a flow that leaves, from an ACK that arrives, as learn_sender() does
 * for the other direction.
 */
static __always_inline void learn_qp(const struct hpccpp_cnp_cfg *cfg,
				     const struct ipv6hdr *ip,
				     const struct hpccpp_bth *bth, __u64 now)
{
	__u32 psn = bpf_ntohl(bth->psn) & PSN_MASK, *known, theirs;
	struct hpccpp_cnp_flow *f, *last = NULL;
	struct hpccpp_cnp_key key = {};
	struct hpccpp_cnp_qp ours = {};

	__builtin_memcpy(ours.peer, &ip->saddr, sizeof(ours.peer));
	ours.qpn = bpf_ntohl(bth->qpn) & HPCCPP_QPN_MASK;
	__builtin_memcpy(key.daddr, ours.peer, sizeof(key.daddr));
	known = bpf_map_lookup_elem(&cnp_qps, &ours);
	if (known) {
		key.qpn = *known;
		last = bpf_map_lookup_elem(&cnp_flows, &key);
		if (last && last->lqpn != ours.qpn)
			last = NULL;
		if (last && acks(psn, last->psn))
			return;
	}
	theirs = who_asked(cfg, key.daddr, psn, false, now);
	key.qpn = theirs;
	f = theirs ? bpf_map_lookup_elem(&cnp_flows, &key) : NULL;
	if (!f)
		return;
	if (last)
		last->lqpn = 0;
	f->lqpn = ours.qpn;
	bpf_map_update_elem(&cnp_qps, &ours, &theirs, BPF_ANY);
}
