/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of RoCEv2 hosts, part of cnp.bpf.c: which two queue pairs belong together, learned
 * from the sequence numbers of data and of its ACKs.
 */

/* Opcodes; of all services but for their three high bits */
#define ROCE_READ_RESPONSE	0x0d	/* the first of four */
#define ROCE_ACKED	0x25	/* transport services with ACKs: RC, RD, XRC */
#define ROCE_ACK	0x11
#define ROCE_ATOMIC_ACK	0x12
#define PSN_MASK	0xffffff
#define ACK_REQ		0x80000000	/* beside it, host order */
#define PSN_WINDOW	1024	/* an ACK's is one of the last so many sent */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_qp);
	__type(value, __u32);
} cnp_qps SEC(".maps");

/* Flows that come, by peer and our QP */
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

/* A peer's QP, to our QP that it sends to */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_CNP_FLOWS);
	__type(key, struct hpccpp_cnp_qp);
	__type(value, __u32);
} cnp_senders SEC(".maps");

/*
 * No packet has both QPs of a flow. But data that asks for an ACK gets one with its PSN,
 * to the other QP: whose data had that PSN last, by its peer and whether it came from it?
 */
struct asking {
	__be32 peer[4];
	__u32 psn;
	__u32 came;
};

struct asked {
	__u64 at;		/* ns */
	__u32 qpn;		/* that the data was to */
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

/* psn of an ACK, and the last one that was sent */
static __always_inline bool acks(__u32 psn, __u32 last)
{
	return ((last - psn) & PSN_MASK) < PSN_WINDOW;
}

/* Was it so few T ago that what sent then is sending? */
static __always_inline bool recent(const struct hpccpp_cnp_cfg *cfg, __u64 at,
				   __u64 now)
{
	return (__s64)(now - at) < cfg->hpcc.T * (HPCCPP_CNP_RECENT_T * 1000LL);
}

/* ... and may be waited for an ACK? What asks may be held back first. */
static __always_inline bool waits(const struct hpccpp_cnp_cfg *cfg,
				  const struct asked *by, __u64 now)
{
	return recent(cfg, by->at + HPCCPP_CNP_HELD, now);
}

/*
 * Data passes to that QP. Where two have the same PSN, as after a start from the same, it
 * is taken down for the one that is not paired: so each ACK pairs one more.
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

/* The QP that data was to that asked for an ACK with this PSN; 0: none */
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
 * Data does not name the QP that it comes from, but an ACK of ours goes to it. Each of
 * theirs is that of one of ours at most: it leaves the last when it proves to be that of
 * another, and may take over one that was paired wrongly.
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
 * Which of the two sequences of a queue pair is it of: its requests, or, READ responses
 * among them, its answers? What has no data waits for the data before it all the same.
 */
static __always_inline bool is_answer(__u8 opcode)
{
	return (opcode & 31) >= ROCE_READ_RESPONSE &&
	       (opcode & 31) <= ROCE_ATOMIC_ACK;
}

/* Our QP of a flow, which an ACK that comes names: as learn_sender() the other way */
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
