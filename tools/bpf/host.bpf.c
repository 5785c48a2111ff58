// SPDX-License-Identifier: GPL-2.0
/*
 * Host agent: offers INT, reads what came back, echoes what arrived.
 *
 * A sock_ops program on a cgroup. At the sender it reserves empty records in
 * segments (option "collect") and keeps what the peer echoes where the module
 * reads it; at the receiver it puts the records of the last segment
 * into the next ACK (option "echo"). Both are one program: a connection may
 * carry data both ways.
 *
 *	SYN		collect, one record: what is free is 20 bytes; of flows
 *			under hpccpp. Not in a retransmitted SYN, the first of
 *			which a middlebox may have eaten.
 *	SYN-ACK		echo of what the SYN collected; made from the SYN itself
 *			so that a SYN cookie loses nothing
 *	third ACK	collect, of any flow: tells the peer that we are here,
 *			and would echo what it asks for, also a listener that
 *			kept no SYN or is older than its agent
 *	data		collect, from flows under hpccpp; an active opener asks
 *			for HPCCPP_TRIES round trips and stops when no echo has
 *			come by then, a passive one when the peer has shown INT;
 *			after a timeout both ask like that again, and what is
 *			retransmitted goes without
 *	ACK, data	echo, when something was collected since the last one
 *
 * A segment carries one of the two: with timestamps there is no room for both.
 * On data the echo goes first, then they take turns.
 *
 * What does not fit beside SACK blocks is cut to the most loaded records, then
 * left out. The kernel does not tell the room, bpf_reserve_hdr_opt() says
 * ENOSPC.
 *
 * With a key, who asks says so by an empty option "tag" beside the collect, until
 * an ACK has brought a tag; who echoes then signs where there is room.
 */
/* only types that are the same on every kernel: no relocations, no kernel BTF */
#define BPF_NO_PRESERVE_ACCESS_INDEX
#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "hpccpp_agent.h"
#include "hpccpp_prefix.h"

#define AF_INET		2
#define AF_INET6	10

#define SOL_TCP		6
#define TCP_CONGESTION	13

#define TCPHDR_SYN	0x02
#define TCPHDR_ACK	0x10

/* What Linux writes first in a segment that is not a SYN: two NOPs, timestamps */
#define TCPOPT_TSTAMP	0x0101080a
#define TCPOLEN_TSTAMP	12

/* Round trips of data for which an unproven peer is asked. */
#define HPCCPP_TRIES	4

/* Ethernet, IP and TCP: what a segment has beside its payload, about */
#define HPCCPP_HEADERS	66

/*
 * Packets of more segments than this are a segmentation offload's. Such a flow has no
 * call for them between two that ask: see rests().
 */
#define HPCCPP_OFFLOADED	4

/* Echoes that the module does not read, and the flow is not its any more */
#define HPCCPP_UNREAD	1000

/* The first word of an option of one record */
#define OPT_ONE(exid)	bpf_htonl((__u32)HPCCPP_OPT_KIND << 24 | \
				  HPCCPP_OPT_LEN(1) << 16 | (exid))

struct opt {
	__u8 kind;
	__u8 len;
	__be16 exid;
	__be32 rec[HPCCPP_REC_MAX][3];
};

/* What is kept per socket at a receiver that computes W: section 6.2. */
struct rx {
	struct hpccpp_state s;
	struct hpccpp_params p;
	__u64 next;		/* when W is told again, ns */
	__u64 committed;	/* when W_c was last set, ns */
	__u64 min_B;		/* smallest B of the path, bytes/s */
	__u64 stays;		/* counted on no other link until then, ns */
	__u32 epoch;		/* of the link that it has been counted in */
	__u16 link;		/* the link */
	__u8 serial;		/* of the request */
	__u8 value;		/* what is told beside W, in turn */
	__u8 hold;		/* that was a decrease */
};

/* What is kept per socket. */
struct flow {
	struct hpccpp_mail mail;	/* first: the module reads it */
	struct opt collected;	/* last collect that arrived, to be echoed */
	__u32 round;		/* snd_nxt when this round trip began */
	__u32 asked;		/* snd_nxt when a data segment last asked */
	__u32 rested;		/* bytes of that packet, if calls end with it */
	__u32 want[2];		/* request for windows; 0: none */
	__u32 requested;	/* snd_nxt when it was last written */
	__u16 segs;		/* data segments since the last collect */
	__u8 passive;		/* the peer opened the connection */
	__u8 wanted;		/* the prefixes let us ask this peer */
	__u8 proven;		/* the peer has sent INT: an agent is there */
	__u8 tries;		/* round trips asked in vain */
	__u8 doubted;		/* all was lost: only an echo proves now */
	__u8 syn_sent;		/* the first SYN is out */
	__u8 third;		/* the third ACK is due */
	__u8 due;		/* collected has not been echoed yet */
	__u8 turn;		/* the last data segment took an echo */
	__u8 plan;		/* option of the segment being built */
	__u8 own_write;		/* a listener's: its WRITE flag is ours */
	__u8 sign;		/* the peer wants tags */
	__u8 signs;		/* the peer's ACKs bring tags */
	__u8 requests : 4;	/* times that the request was written */
	__u8 fresh : 1;		/* collected has not been measured yet */
	__u8 ours : 1;		/* a connection's WRITE flag is */
	__u8 heard : 1;		/* host_rx has heard of a link */
	__u8 granted : 1;	/* a window has answered it */
	__u8 rx : 1;		/* the peer wants windows: host_rx has state */
};

/* flow.plan: what HDR_OPT_LEN reserved and WRITE_HDR_OPT writes */
enum {
	PLAN_NONE, PLAN_COLLECT = 0x10, PLAN_ECHO = 0x20, PLAN_WINDOW = 0x40,
	PLAN_REQUEST = 0x80, PLAN_TAG = 0x08, PLAN_N = 0x7
};

/*
 * Is there a key? Set before loading: without, the verifier leaves out what is
 * about tags, which then costs nothing.
 */
#ifdef __bpf__
const volatile bool tags;
#else
static bool tags;	/* selftests/unit/fuzz.c has both */
#endif

/*
 * Is the window computed by the receiver (mode receiver)? Set like that as well: without,
 * the verifier has a tenth of the work.
 */
#ifdef __bpf__
const volatile bool windows;
#else
static bool windows;
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_host_cfg);
} host SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hpccpp_host_keys);
} host_keys SEC(".maps");

struct prefix_map host_prefix SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HPCCPP_HS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} host_stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	/* children learn from their listener whose WRITE flag they have */
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct flow);
} host_sk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rx);
} host_rx SEC(".maps");

/*
 * Windows in a T, where ACKs leave that often. With one, W follows a queue that grows
 * or goes away up to a T late; with one in each ACK, few flows with a large W_ai do
 * not come to equal shares.
 */
#define HPCCPP_TELL_T	4

/* Who counts the flows of a link, in so many T: all send a packet in 16. */
#define HPCCPP_EPOCH_T	16

struct link_flows {
	struct bpf_spin_lock lock;
	__u32 epoch;
	__u32 now, last;	/* flows in this epoch, and in the one before */
	__u64 ends;		/* ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, HPCCPP_LINK_MAX + 1);
	__type(key, __u16);
	__type(value, struct link_flows);
} host_links SEC(".maps");

static __always_inline void count(__u32 stat)
{
	__u64 *c = bpf_map_lookup_elem(&host_stats, &stat);

	if (c)
		(*c)++;
}

static __always_inline struct hpccpp_host_cfg *configuration(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&host, &zero);
}

/*
 * A pointer in the context, in assembly: clang may move the offset of the load
 * to a register, for other branches to share, and the verifier has the context
 * at constant offsets only.
 */
static __always_inline void *pointer_at(struct bpf_sock_ops *skops,
					const int off)
{
#ifdef __bpf__
	void *p;

	asm volatile("%[p] = *(u64 *)(%[skops] + %[off])"
		     : [p] "=r"(p) : [skops] "r"(skops), [off] "i"(off));
	return p;
#else
	return *(void **)((char *)skops + off);	/* selftests/unit/fuzz.c */
#endif
}

#define POINTER(skops, field) \
	pointer_at(skops, __builtin_offsetof(struct bpf_sock_ops, field))

static __always_inline struct flow *find(struct bpf_sock_ops *skops, bool add)
{
	struct bpf_sock *sk = POINTER(skops, sk);
	struct flow *f;

	if (!sk)
		return NULL;
	f = bpf_sk_storage_get(&host_sk, sk, NULL,
			       add ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!f && add)
		count(HPCCPP_HS_ERROR);
	if (f && add)
		f->mail.magic = HPCCPP_MAIL_MAGIC;
	return f;
}

/* May this peer be asked for INT? */
static __always_inline bool peer_wanted(struct bpf_sock_ops *skops,
					const struct hpccpp_host_cfg *cfg)
{
	struct hpccpp_prefix key = { .prefixlen = 128 };
	__u32 *a = (__u32 *)key.addr;

	if (cfg->ask == HPCCPP_ASK_NEVER)
		return false;
	if (!cfg->prefixes)
		return true;
	if (skops->family == AF_INET) {
		__u32 ip4 = skops->remote_ip4;

		/* or clang joins the branches to one load with two offsets */
		asm volatile("" : "+r"(ip4));
		a[2] = bpf_htonl(0xffff);
		a[3] = ip4;
	} else {
		a[0] = skops->remote_ip6[0];
		a[1] = skops->remote_ip6[1];
		a[2] = skops->remote_ip6[2];
		a[3] = skops->remote_ip6[3];
	}
	return bpf_map_lookup_elem(&host_prefix, &key);
}

static __always_inline void set_flags(struct bpf_sock_ops *skops, int flags)
{
	int have = skops->bpf_sock_ops_cb_flags;

	if ((have & flags) != flags)
		bpf_sock_ops_cb_flags_set(skops, have | flags);
}

/*
 * Who has WRITE calls end with a packet, and begin again when one of these comes: an ACK
 * that brings a sample of the round trip, once in each; or what may have none, and is to
 * be seen: a retransmission, a timeout.
 */
#define HPCCPP_AFTER_REST						\
	(BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG |	\
	 BPF_SOCK_OPS_RTO_CB_FLAG)

/* There are calls from now on; ours to end when nobody has them yet. */
static __always_inline void own_calls(struct bpf_sock_ops *skops,
				      struct flow *f)
{
	if (!(skops->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
		f->ours = 1;
}

static __always_inline void call_write(struct bpf_sock_ops *skops,
				       struct flow *f)
{
	own_calls(skops, f);
	set_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

static __always_inline void clear_flags(struct bpf_sock_ops *skops, int flags)
{
	bpf_sock_ops_cb_flags_set(skops, skops->bpf_sock_ops_cb_flags & ~flags);
}

/* The length of the option with this ExID in the segment, not above 0: none. */
static __always_inline int load_any(struct bpf_sock_ops *skops, struct opt *o,
				    __u16 exid, __u64 flags)
{
	/* kind and the two bytes of the ExID are what is searched for */
	o->kind = HPCCPP_OPT_KIND;
	o->len = HPCCPP_OPT_HDR;
	o->exid = bpf_htons(exid);
	return bpf_load_hdr_opt(skops, o, sizeof(*o), flags);
}

/*
 * Load the option with this ExID from the segment, or from the SYN that a
 * SYN-ACK answers. Returns the number of records, 0 when there is none.
 */
static __always_inline int load(struct bpf_sock_ops *skops, struct opt *o,
				__u16 exid, __u64 flags)
{
	int len = load_any(skops, o, exid, flags);

	if (len == HPCCPP_OPT_LEN(1))
		return 1;
	if (len == HPCCPP_OPT_LEN(2))
		return 2;
	if (len == HPCCPP_OPT_LEN(3))
		return 3;
	if (len > 0)
		count(HPCCPP_HS_BAD);
	return 0;
}

static __always_inline bool empty(const __be32 *rec)
{
	return !(bpf_ntohl(rec[0]) >> 8 & 0xfff);
}

static __always_inline int records_of(const struct opt *o)
{
	/* 4 + 12 n bytes: n, for the n there may be */
	return o->len / (__u32)HPCCPP_REC_LEN;
}

/* Records that ports wrote: they stand first. */
static __always_inline int written(const __be32 (*rec)[3], int n)
{
	if (n < 1 || empty(rec[0]))
		return 0;
	if (n < 2 || empty(rec[1]))
		return 1;
	if (n < 3 || empty(rec[2]))
		return 2;
	return 3;
}

/* The TCP header in hand */
static __always_inline const __be32 *header(struct bpf_sock_ops *skops)
{
	const __be32 *th = POINTER(skops, skb_data);
	const __be32 *end = POINTER(skops, skb_data_end);

	return th + sizeof(struct tcphdr) / 4 > end ? NULL : th;
}

/* Ask the receiver for windows computed with this, or with 0 for none. */
static __always_inline void request(struct flow *f, __u32 what, __u32 windows)
{
	__u32 serial = HPCCPP_WINDOW_SERIAL(f->want[0]);

	/* another than those that windows may be under way for: the last one written */
	if (!serial || f->requests)
		serial = serial % HPCCPP_WINDOW_SERIALS + 1;
	f->want[0] = HPCCPP_WINDOW(HPCCPP_WINDOW_REQUEST, serial, 0, 0) |
		     (what & 0xfffffff);
	f->want[1] = windows;
	f->granted = 0;
	f->requests = 0;
}

/* Has the last request been for windows, not for none? */
static __always_inline bool wants_windows(const struct flow *f)
{
	return f->want[0] & HPCCPP_WINDOW_ETA;
}

static __always_inline void want_none(struct flow *f)
{
	if (wants_windows(f))
		request(f, 0, 0);
}

/* There is something for the module. */
static __always_inline void news(struct flow *f)
{
	if (!++f->mail.gen)
		f->mail.gen = 1;
}

/* Telemetry arrived, as an echo or a window. */
static __always_inline void proves(struct flow *f)
{
	f->proven = 1;
	f->doubted = 0;
	/* the module reads on each ACK: it has let go of the flow */
	if (++f->mail.unread > HPCCPP_UNREAD) {
		f->mail.governed = 0;
		want_none(f);
	}
}

/*
 * An echo arrived: is it for want of windows, or do we want none? One with an ACK
 * of old may be what a port has made of an INT response, and says neither.
 */
static __always_inline void echo_instead(struct bpf_sock_ops *skops,
					 struct flow *f)
{
	const __be32 *th = header(skops);
	__u32 una = skops->snd_una;

	if (!th || (__s32)(bpf_ntohl(th[2]) - una) < 0)
		return;
	/* the receiver has forgotten, and is asked anew; or it has obeyed */
	if (wants_windows(f) == f->granted) {
		f->granted = !f->granted;
		f->requests = 0;
	}
}

/* A record for the module: of one that is empty no more than U */
static __always_inline void keep(struct hpccpp_int *to, const __be32 *rec)
{
	__u32 w0 = bpf_ntohl(rec[0]);

	if (empty(rec))
		hpccpp_int_decode(to, w0 & HPCCPP_U_MAX, 0, 0);
	else
		hpccpp_int_decode(to, w0, bpf_ntohl(rec[1]), bpf_ntohl(rec[2]));
}

/* An echo arrived: keep it for the module, if a port has written into it. */
static __always_inline void take_echo(struct bpf_sock_ops *skops,
				      struct flow *f, const __be32 (*rec)[3],
				      int n)
{
	count(HPCCPP_HS_ECHOES);
	proves(f);
	if (f->want[0])
		echo_instead(skops, f);
	n = written(rec, n);
	/* an empty one is news when ports left it so for want of load */
	if (!n && !(bpf_ntohl(rec[0][0]) & HPCCPP_U_MAX))
		return;
	keep(&f->mail.rec[0], rec[0]);
	if (n > 1)
		keep(&f->mail.rec[1], rec[1]);
	if (n > 2)
		keep(&f->mail.rec[2], rec[2]);
	f->mail.n = n ? n : 1;
	f->mail.window = 0;
	news(f);
}

/* Calls go on. "every N" counts the packets that were sent without one, about. */
static __always_inline void rested(struct bpf_sock_ops *skops, struct flow *f)
{
	__u32 sent = skops->snd_nxt - f->asked, len = f->rested, n = f->segs;

	if (!len)
		return;
	/* "asked" is where the packet begins that did ask */
	if (sent > len)
		n += sent / len - 1;
	f->segs = n < 0xffff ? n : 0xfffe;
	f->rested = 0;
	call_write(skops, f);
}

static __always_inline void take_collect(struct bpf_sock_ops *skops,
					 struct flow *f, const struct opt *o)
{
	rested(skops, f);
	count(HPCCPP_HS_COLLECTED);
	f->collected = *o;
	if (!f->doubted)
		f->proven = 1;
	f->due = 1;
	f->fresh = 1;
	call_write(skops, f);
}

/*
 * An option of one record where it stands in all but a few segments: first, or
 * behind the timestamps as Linux writes them. A search costs 200 instructions.
 */
static __always_inline bool take_in_place(struct bpf_sock_ops *skops,
					  struct flow *f)
{
	const __be32 *p = POINTER(skops, skb_data) + sizeof(struct tcphdr);
	const __be32 *end = POINTER(skops, skb_data_end);
	struct opt o = { .kind = HPCCPP_OPT_KIND, .len = HPCCPP_OPT_LEN(1) };

	if (p + HPCCPP_OPT_LEN(1) / 4 > end)
		return false;
	if (*p == bpf_htonl(TCPOPT_TSTAMP)) {
		p += TCPOLEN_TSTAMP / 4;
		if (p + HPCCPP_OPT_LEN(1) / 4 > end)
			return false;
	}
	if (*p == OPT_ONE(HPCCPP_EXID_ECHO)) {
		take_echo(skops, f, (const __be32 (*)[3])(p + 1), 1);
		return true;
	}
	if (*p != OPT_ONE(HPCCPP_EXID_COLLECT))
		return false;
	__builtin_memcpy(o.rec[0], p + 1, HPCCPP_REC_LEN);
	take_collect(skops, f, &o);
	return true;
}

/* --- Tags ------------------------------------------------------------------ */

/* A word of the context, in asm: or clang makes one load of two */
#define WORD(field) ({ __u32 _w = (field); asm volatile("" : "+r"(_w)); _w; })

/* local_address() and remote_address(): as they are signed */
#define ADDRESS(end)							\
static __always_inline void end ## _address(struct bpf_sock_ops *skops,	\
					    __be32 *to)			\
{									\
	if (skops->family == AF_INET) {					\
		to[0] = 0;						\
		to[1] = 0;						\
		to[2] = bpf_htonl(0xffff);				\
		to[3] = WORD(skops->end ## _ip4);			\
	} else {							\
		to[0] = WORD(skops->end ## _ip6[0]);			\
		to[1] = WORD(skops->end ## _ip6[1]);			\
		to[2] = WORD(skops->end ## _ip6[2]);			\
		to[3] = WORD(skops->end ## _ip6[3]);			\
	}								\
}

ADDRESS(local)
ADDRESS(remote)

/* What is signed of the segment in hand, with this option of n records */
static __always_inline bool to_sign(struct bpf_sock_ops *skops, bool ours,
				    struct hpccpp_signed *s,
				    const struct opt *o, int n)
{
	const __be32 *th = header(skops);

	if (!th)
		return false;
	s->ports = th[0];
	s->ack = th[2];
	local_address(skops, ours ? s->src : s->dst);
	remote_address(skops, ours ? s->dst : s->src);
	__builtin_memset(s->option, 0, sizeof(s->option));
	__builtin_memcpy(s->option, o, HPCCPP_OPT_LEN(1));
	if (n == 2)
		__builtin_memcpy(s->option, o, HPCCPP_OPT_LEN(2));
	return true;
}

static __always_inline struct hpccpp_host_keys *keys(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&host_keys, &zero);
}

/* Does the peer whose SYN this SYN-ACK answers want tags? */
static __always_inline bool syn_wants_tag(struct bpf_sock_ops *skops)
{
	struct opt o = {};

	return load_any(skops, &o, HPCCPP_EXID_TAG, BPF_LOAD_HDR_OPT_TCP_SYN) ==
	       HPCCPP_OPT_HDR;
}

/* May the module have what an echo says that has no tag? We ask again for one. */
static __always_inline bool untagged_will_do(struct flow *f)
{
	struct hpccpp_host_keys *k = keys();

	f->signs = 0;
	count(HPCCPP_HS_TAG_NONE);
	return k && !k->require;
}

/*
 * And one with this tag? The segment's ACK has to be new as well: TCP has yet to
 * look at that, and what was signed once may come again.
 */
static __always_inline bool tag_will_do(struct bpf_sock_ops *skops,
					struct flow *f, struct opt *o, int n)
{
	__be32 tag = n == 2 ? o->rec[2][0] : o->rec[1][0];
	struct hpccpp_host_keys *k = keys();
	struct hpccpp_signed s;
	__u32 una = skops->snd_una, nxt = skops->snd_nxt;

	if (!k || !to_sign(skops, false, &s, o, n))
		return false;
	if (tag != hpccpp_tag(&k->key[0], &s, n) &&
	    (k->n < 2 || tag != hpccpp_tag(&k->key[1], &s, n))) {
		count(HPCCPP_HS_TAG_BAD);
		return !k->require;
	}
	f->signs = 1;
	if (bpf_ntohl(s.ack) - una > nxt - una) {
		count(HPCCPP_HS_TAG_OLD);
		return !k->require;
	}
	count(HPCCPP_HS_TAG_OK);
	return true;
}

static __always_inline struct rx *find_rx(struct bpf_sock_ops *skops, bool add)
{
	struct bpf_sock *sk = POINTER(skops, sk);
	struct rx *rx;

	if (!sk)
		return NULL;
	rx = bpf_sk_storage_get(&host_rx, sk, NULL,
				add ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!rx)
		count(HPCCPP_HS_ERROR);
	return rx;
}

/*
 * Does what was collected tell of load: written, or empty for want of it, with a
 * bound of it?
 */
static __always_inline bool tells(const struct opt *o)
{
	return bpf_ntohl(o->rec[0][0]) & 0xfffff;
}

/* Lines 30 and 34: what has been collected is measured as it arrives. */
static __always_inline void measure(struct bpf_sock_ops *skops, struct flow *f)
{
	const struct opt *o = &f->collected;
	int n = written(o->rec, records_of(o)), i;
	struct hpccpp_int rec[HPCCPP_REC_MAX];
	struct rx *rx;
	__u64 now;

	f->fresh = 0;
	if (!tells(o))
		return;
	rx = find_rx(skops, false);
	if (!rx)
		return;
#pragma unroll
	for (i = 0; i < HPCCPP_REC_MAX; i++)
		hpccpp_int_decode(&rec[i], bpf_ntohl(o->rec[i][0]),
				  bpf_ntohl(o->rec[i][1]),
				  bpf_ntohl(o->rec[i][2]));
	now = bpf_ktime_get_ns();
	if (!hpccpp_measure_inflight(&rx->s, &rx->p, rec, n ? n : 1, now) || !n)
		return;
	f->heard = 1;
	/* from now on, as the ACK that tells W may be late */
	if (!rx->min_B)
		rx->min_B = hpccpp_min_B(&rx->s, 0, NULL, 0, rx->p.T, now);
}

/*
 * A sender wants windows, computed with what it says: start, or go on by it. With
 * an eta of 0 it wants none, and echoes instead.
 */
static __always_inline void take_request(struct bpf_sock_ops *skops,
					 struct flow *f, __u32 w0, __u32 w1)
{
	__u64 T = hpccpp_num_decode(HPCCPP_WINDOW_NUM(w0));
	__u64 W = hpccpp_num_decode(w1 >> 16);
	__u64 W_ai = hpccpp_num_decode(w1);
	__u32 eta = w0 & HPCCPP_WINDOW_ETA;
	__u32 serial = HPCCPP_WINDOW_SERIAL(w0);
	struct rx *rx;
	__u32 told;

	if (!eta) {
		f->rx = 0;
		return;
	}
	if (!T || T > HPCCPP_T_MAX || eta > HPCCPP_ETA_MAX || !W ||
	    W > HPCCPP_W_LIMIT || W_ai > HPCCPP_W_LIMIT) {
		count(HPCCPP_HS_BAD);
		return;
	}
	rx = find_rx(skops, true);
	if (!rx)
		return;
	if (!f->rx) {
		__builtin_memset(rx, 0, sizeof(*rx));
		f->heard = 0;
	}
	rx->p.T = T;
	rx->p.eta = eta * HPCCPP_ONE / 100;
	rx->p.max_stage = w0 >> 8 & HPCCPP_STAGE_MAX;
	rx->p.W_ai = W_ai;
	rx->next = 0;		/* the sender waits for what comes of it */
	/*
	 * The sender has the W told, which U has divided already: what it has taken off
	 * that, W_c loses as well. A request comes more than once.
	 */
	told = hpccpp_num_decode(hpccpp_num_encode(rx->s.W));
	if (!rx->s.W_c)
		rx->s.W_c = W;
	else if (rx->serial != serial && W < told)
		rx->s.W_c = hpccpp_div(rx->s.W_c * W, told);
	rx->serial = serial;
	f->rx = 1;
	f->fresh = 0;
}

/* A window arrived: keep it for the module. */
static __always_inline void take_window(struct flow *f, __u32 word)
{
	/* before a request has been written no window answers it */
	bool current = f->requests && HPCCPP_WINDOW_SERIAL(word) ==
				      HPCCPP_WINDOW_SERIAL(f->want[0]);

	count(HPCCPP_HS_WINDOWS);
	proves(f);
	/* who computes windows hears of the last request in the end */
	if (current)
		f->granted = 1;
	else if (f->requests > 1)
		f->requests = 1;
	f->mail.window = (word & ~(3U << 28)) | current << 28;
	news(f);
}

/* One that the module has wanted, or an agent before us: the peer is to echo. */
static __always_inline void refuse_window(struct flow *f)
{
	f->granted = 0;
	if (!f->want[0])
		request(f, 0, 0);
	else if (f->requests > 1)
		f->requests = 1;
}

static __always_inline void parse_window(struct bpf_sock_ops *skops,
					 struct flow *f, struct opt *o)
{
	bool asks, ours;
	__u32 word;
	int len;

	/* windows have no tags */
	ours = !tags && windows;
	len = load_any(skops, o, HPCCPP_EXID_WINDOW, 0);
	if (len <= 0)
		return;
	word = bpf_ntohl(o->rec[0][0]);
	asks = HPCCPP_WINDOW_KIND(word) == HPCCPP_WINDOW_REQUEST;
	if (len == HPCCPP_WINDOW_LEN && !asks &&
	    hpccpp_num_decode(HPCCPP_WINDOW_NUM(word))) {
		if (ours && wants_windows(f))
			take_window(f, word);
		else
			refuse_window(f);
	} else if (len == HPCCPP_REQUEST_LEN && asks) {
		if (ours)
			take_request(skops, f, word, bpf_ntohl(o->rec[0][1]));
	} else {
		count(HPCCPP_HS_BAD);
	}
}

/*
 * Take what the segment in hand carries. A collect on a socket not yet known
 * makes it known: its listener, or our attachment, may be younger.
 */
static __always_inline void parse(struct bpf_sock_ops *skops, struct flow *f)
{
	struct opt o;
	int n, tag = 0;

	/* with a key an option about tags may stand elsewhere, or instead */
	if (!tags && f && take_in_place(skops, f))
		return;
	__builtin_memset(&o, 0, sizeof(o));
	if (tags)
		tag = load_any(skops, &o, HPCCPP_EXID_TAG, 0);
	if (tag > HPCCPP_OPT_HDR) {
		n = tag == HPCCPP_TAGGED_LEN(2) ? 2 : 1;
		if (n == 1 && tag != HPCCPP_TAGGED_LEN(1))
			count(HPCCPP_HS_BAD);
		else if (f && tag_will_do(skops, f, &o, n))
			take_echo(skops, f, o.rec, n);
		return;
	}
	if (f) {
		n = load(skops, &o, HPCCPP_EXID_ECHO, 0);
		if (n) {
			if (!tags || untagged_will_do(f))
				take_echo(skops, f, o.rec, n);
			return;
		}
	}
	n = load(skops, &o, HPCCPP_EXID_COLLECT, 0);
	if (!n && f)
		parse_window(skops, f, &o);
	if (!n)
		return;
	if (!f)
		f = find(skops, true);
	if (!f)
		return;
	take_collect(skops, f, &o);
	if (tag == HPCCPP_OPT_HDR)
		f->sign = 1;
}

/* Does this flow ask for INT in its data now? */
static __always_inline bool asking(const struct flow *f,
				   const struct hpccpp_host_cfg *cfg)
{
	if (!f->wanted || !(f->mail.governed || cfg->ask == HPCCPP_ASK_ALWAYS))
		return false;
	return f->proven || (!f->passive && f->tries < HPCCPP_TRIES);
}

/* One more round trip asked in vain? */
static __always_inline void count_tries(struct bpf_sock_ops *skops,
					struct flow *f)
{
	if (f->proven)
		return;
	if (f->round && (__s32)(skops->snd_una - f->round) <= 0)
		return;
	if (f->round && ++f->tries == HPCCPP_TRIES)
		count(HPCCPP_HS_GAVE_UP);
	f->round = skops->snd_nxt;
	if (!f->round)
		f->round = 1;
}

/* Does a port say that it is loaded? A bound has no rate, and is of none. */
static __always_inline bool record_loaded(const struct hpccpp_int *rec)
{
	return rec->rate && rec->U >= HPCCPP_CONGESTED;
}

/* Is the path loaded, as far as the last echo tells? */
static __always_inline bool path_loaded(const struct flow *f)
{
	const struct hpccpp_int *rec = f->mail.rec;

	if (f->mail.window)
		return false;
	return (f->mail.n > 0 && record_loaded(&rec[0])) ||
	       (f->mail.n > 1 && record_loaded(&rec[1])) ||
	       (f->mail.n > 2 && record_loaded(&rec[2]));
}

/*
 * Is it this data segment that asks? With "every rtt" when the last was acked. The
 * first of a flight does in any case: it may be a probe.
 */
static __always_inline bool is_due(struct bpf_sock_ops *skops, struct flow *f,
				   const struct hpccpp_host_cfg *cfg)
{
	if (!cfg->every && !(cfg->congested && path_loaded(f))) {
		if (f->segs && (__s32)(skops->snd_una - f->asked) <= 0)
			return false;
		f->segs = 1;
		f->asked = skops->snd_nxt;
		return true;
	}
	if (++f->segs < cfg->every && skops->packets_out)
		return false;
	f->segs = 0;
	return true;
}

/*
 * Are there to be no calls for what follows the packet that asks now? With segmentation
 * offload TCP makes few packets and calls back several times for each, which costs more
 * than to ask. HPCCPP_AFTER_REST has calls begin anew, when this packet is acked or
 * before. Not where another is due in this flight, or an echo. What is sent without a
 * call has a larger MSS, and TCP cuts the next packet that asks anew: not where packets
 * are of a few segments, as that leaves a small one.
 */
static __always_inline bool rests(struct bpf_sock_ops *skops, struct flow *f,
				  const struct hpccpp_host_cfg *cfg)
{
	__u32 len = skops->skb_len, mss = skops->mss_cache;

	if (cfg->every == 1 || windows || f->due || !(f->ours || f->own_write) ||
	    len <= HPCCPP_OFFLOADED * mss)
		return false;
	if (cfg->every && (__u64)cfg->every * len < (__u64)skops->snd_cwnd * mss)
		return false;
	if (cfg->congested && path_loaded(f))
		return false;
	f->asked = skops->snd_nxt;
	return true;
}

/*
 * All that is out is lost, so there was a timeout, and the option may be why: go
 * on without it, and begin anew to ask whether the path brings echoes. What went
 * without may arrive before the rest of what was lost has.
 */
static __always_inline bool timed_out(struct bpf_sock_ops *skops,
				      struct flow *f)
{
	__u32 packets = skops->packets_out, lost = skops->lost_out;

	if (!packets)
		return false;
	if (lost != packets)
		return f->doubted && lost + skops->sacked_out == packets;
	if (f->proven) {
		f->proven = 0;
		f->passive = 0;
		f->tries = 0;
		f->round = 0;
	}
	f->doubted = 1;
	return true;
}

/* Reserve room for n records or, where it is short, for less: what fits. */
static __always_inline int reserve(struct bpf_sock_ops *skops, int n, bool tag)
{
	/* a tag, or the empty option that wants one: as long */
	if (tags && tag) {
		if (n >= 2 && !bpf_reserve_hdr_opt(skops, HPCCPP_TAGGED_LEN(2), 0))
			return PLAN_TAG | 2;
		if (n >= 1 && !bpf_reserve_hdr_opt(skops, HPCCPP_TAGGED_LEN(1), 0))
			return PLAN_TAG | 1;
	}
	if (n >= 3 && !bpf_reserve_hdr_opt(skops, HPCCPP_OPT_LEN(3), 0))
		return 3;
	if (n >= 2 && !bpf_reserve_hdr_opt(skops, HPCCPP_OPT_LEN(2), 0))
		return 2;
	if (n >= 1 && !bpf_reserve_hdr_opt(skops, HPCCPP_OPT_LEN(1), 0))
		return 1;
	return 0;
}

/* Records to echo: those written, or one to show that we are here. */
static __always_inline int echo_records(const struct flow *f)
{
	int n = written(f->collected.rec, records_of(&f->collected));

	return n ? n : 1;
}

/* Is the connection that this SYN opens going to ask for INT? */
static __always_inline bool governed(struct bpf_sock_ops *skops,
				     const struct hpccpp_host_cfg *cfg)
{
	char cc[16] = {};

	if (cfg->ask == HPCCPP_ASK_ALWAYS)
		return true;
	bpf_getsockopt(skops, SOL_TCP, TCP_CONGESTION, cc, sizeof(cc));
	return !bpf_strncmp(cc, 6, "hpccpp");
}

/* Is a request for windows due? Until one grants it, a few times once a RTT. */
static __always_inline bool request_due(struct bpf_sock_ops *skops,
					const struct flow *f)
{
	if (!f->want[0] || f->granted || f->requests >= HPCCPP_TRIES)
		return false;
	return !f->requests || (__s32)(skops->snd_una - f->requested) > 0;
}

/* A window is due when T / HPCCPP_TELL_T has passed since the last one. */
static __always_inline bool window_due(struct bpf_sock_ops *skops)
{
	struct rx *rx = find_rx(skops, false);

	return rx && bpf_ktime_get_ns() >= rx->next;
}

/* HDR_OPT_LEN: choose the option of this segment and reserve its room. */
static __always_inline void hdr_opt_len(struct bpf_sock_ops *skops)
{
	__u32 flags = skops->skb_tcp_flags;
	struct hpccpp_host_cfg *cfg = configuration();
	bool ask, data, tag;
	struct flow *f;
	int n, fits;

	/* a SYN-ACK has no socket yet, only the SYN it answers */
	if ((flags & TCPHDR_SYN) && (flags & TCPHDR_ACK)) {
		struct opt o = {};

		if (load(skops, &o, HPCCPP_EXID_COLLECT,
			 BPF_LOAD_HDR_OPT_TCP_SYN))
			reserve(skops, 1, tags && syn_wants_tag(skops));
		return;
	}
	f = find(skops, false);
	if (!f || !cfg)
		return;
	ask = asking(f, cfg);

	/*
	 * How large the option of a data segment may get. Less than that and
	 * segments would exceed the path's MTU. There is no segment yet, and so
	 * no flag; args[0] says it too, unless a program before us replied.
	 */
	if (!flags) {
		n = ask ? cfg->records : 0;
		if (f->collected.kind && n < records_of(&f->collected))
			n = records_of(&f->collected);
		tag = ask && !f->signs;
		if (f->collected.kind && f->sign)
			tag = true;
		fits = reserve(skops, n, tag);
		/* one record more, without a tag, would be longer */
		if (tags && fits & PLAN_TAG && (fits & PLAN_N) < n)
			bpf_reserve_hdr_opt(skops, HPCCPP_REC_LEN -
						   HPCCPP_TAG_LEN, 0);
		return;
	}

	f->plan = PLAN_NONE;
	if (flags & TCPHDR_SYN) {
		if (f->wanted && !f->syn_sent && governed(skops, cfg)) {
			fits = reserve(skops, 1, true);
			f->plan = !fits ? PLAN_NONE : PLAN_COLLECT | fits;
		}
		f->syn_sent = 1;
		return;
	}
	data = skops->skb_len;
	if (f->third) {
		f->third = 0;
		fits = !data && f->wanted ? reserve(skops, 1, true) : 0;
		if (fits) {
			f->plan = PLAN_COLLECT | fits;
			return;
		}
	}
	if (windows && f->due && f->rx && f->heard && tells(&f->collected)) {
		if (!(data && ask && f->turn) && window_due(skops)) {
			if (bpf_reserve_hdr_opt(skops, HPCCPP_WINDOW_LEN, 0))
				count(HPCCPP_HS_ECHO_NONE);
			else
				f->plan = PLAN_WINDOW;
			if (data)
				f->turn = 1;
			return;
		}
	} else if (f->due && !(data && ask && f->turn)) {
		n = echo_records(f);
		fits = reserve(skops, n, f->sign);
		f->plan = !fits ? PLAN_NONE : PLAN_ECHO | fits;
		if (!fits)
			count(HPCCPP_HS_ECHO_NONE);
		else
			count((fits & PLAN_N) < n ? HPCCPP_HS_ECHO_SHORT :
						    HPCCPP_HS_ECHOED);
		if (tags && f->sign && fits && !(fits & PLAN_TAG))
			count(HPCCPP_HS_TAG_ROOM);
		if (data)
			f->turn = 1;
		return;
	}
	if (!data || !ask)
		return;
	f->turn = 0;
	if (timed_out(skops, f))
		return;
	if (request_due(skops, f) &&
	    !bpf_reserve_hdr_opt(skops, HPCCPP_REQUEST_LEN, 0)) {
		f->requested = skops->snd_nxt;
		f->requests++;
		f->plan = PLAN_REQUEST;
		return;
	}
	if (!is_due(skops, f, cfg))
		return;
	count_tries(skops, f);
	n = reserve(skops, cfg->records, !f->signs);
	if (n) {
		f->plan = PLAN_COLLECT | n;
		f->rested = rests(skops, f, cfg) ? skops->skb_len : 0;
	} else if (!cfg->every) {
		f->segs = 0;		/* no room: the next one is due */
	}
}

/* The most loaded records first: an echo that was cut short has these. */
static __always_inline void most_loaded(struct opt *o)
{
	int i;

	/* pairs (1, 2), (0, 1), (1, 2): that sorts three */
#pragma unroll
	for (i = 0; i < 3; i++) {
		__be32 *a = o->rec[!(i & 1)], *b = a + 3;
		__be32 t;

		if (empty(b) || (bpf_ntohl(b[0]) & 0xff) <=
				(bpf_ntohl(a[0]) & 0xff))
			continue;
		t = a[0], a[0] = b[0], b[0] = t;
		t = a[1], a[1] = b[1], b[1] = t;
		t = a[2], a[2] = b[2], b[2] = t;
	}
}

static __always_inline void store(struct bpf_sock_ops *skops, struct opt *o,
				  __u16 exid, int n)
{
	int err;

	o->kind = HPCCPP_OPT_KIND;
	o->exid = bpf_htons(exid);
	/* a constant length in each branch, for the verifier */
	if (n == 3) {
		o->len = HPCCPP_OPT_LEN(3);
		err = bpf_store_hdr_opt(skops, o, HPCCPP_OPT_LEN(3), 0);
	} else if (n == 2) {
		o->len = HPCCPP_OPT_LEN(2);
		err = bpf_store_hdr_opt(skops, o, HPCCPP_OPT_LEN(2), 0);
	} else {
		o->len = HPCCPP_OPT_LEN(1);
		err = bpf_store_hdr_opt(skops, o, HPCCPP_OPT_LEN(1), 0);
	}
	if (err)
		count(HPCCPP_HS_ERROR);
}

/* The same of an echo, n at most 2, with its tag */
static __always_inline int store_tagged(struct bpf_sock_ops *skops,
					struct opt *o, int n)
{
	struct hpccpp_host_keys *k = keys();
	struct hpccpp_signed s;
	int err;

	o->kind = HPCCPP_OPT_KIND;
	o->len = n == 2 ? HPCCPP_TAGGED_LEN(2) : HPCCPP_TAGGED_LEN(1);
	o->exid = bpf_htons(HPCCPP_EXID_TAG);
	if (!k || !to_sign(skops, true, &s, o, n))
		return -1;
	if (n == 2) {
		o->rec[2][0] = hpccpp_tag(&k->key[0], &s, 2);
		err = bpf_store_hdr_opt(skops, o, HPCCPP_TAGGED_LEN(2), 0);
	} else {
		o->rec[1][0] = hpccpp_tag(&k->key[0], &s, 1);
		err = bpf_store_hdr_opt(skops, o, HPCCPP_TAGGED_LEN(1), 0);
	}
	if (!err)
		count(HPCCPP_HS_SIGNED);
	return err;
}

/*
 * The flows that have the same bottleneck and end here: N, where that is the last
 * hop (section 6.2). Each flow counts itself once in an epoch; of two links that it
 * loads alike, which take turns as its bottleneck, on one.
 */
static __always_inline __u32 count_flows(struct rx *rx, __u64 now)
{
	__u64 epoch_ns = (__u64)rx->p.T * (HPCCPP_EPOCH_T * 1000);
	__u16 link = now < rx->stays ? rx->link : rx->s.bottleneck;
	struct link_flows *l = bpf_map_lookup_elem(&host_links, &link);
	__u32 N;

	if (!l) {
		struct link_flows none = {};

		bpf_map_update_elem(&host_links, &link, &none, BPF_NOEXIST);
		l = bpf_map_lookup_elem(&host_links, &link);
	}
	if (!l) {
		count(HPCCPP_HS_ERROR);
		return 0;
	}
	bpf_spin_lock(&l->lock);
	if (now >= l->ends) {
		l->last = now < l->ends + epoch_ns ? l->now : 0;
		l->now = 0;
		l->epoch++;
		l->ends = now + epoch_ns;
	}
	if (rx->link != link || rx->epoch != l->epoch) {
		rx->link = link;
		rx->epoch = l->epoch;
		rx->stays = now + epoch_ns;
		l->now++;
	}
	N = l->now > l->last ? l->now : l->last;
	bpf_spin_unlock(&l->lock);
	return N;
}

/*
 * Line 29: is W_c to be set? T is a round trip without a queue; with one it is U T,
 * and before that has passed U is of what W_c was before: one queue would be answered
 * several times. After a decrease it is half as much later, as difference 9 of the
 * module. Windows being told in steps, it is the nearest of them.
 */
static __always_inline bool commit_due(const struct rx *rx, __u64 now)
{
	__u64 wait = (__u64)rx->p.T * (rx->hold ? 1500 : 1000);

	if (rx->s.U > HPCCPP_ONE)
		wait = wait * rx->s.U >> HPCCPP_ONE_SHIFT;
	return now - rx->committed + rx->p.T * (500ULL / HPCCPP_TELL_T) >= wait;
}

/* Lines 29-32, when an ACK can tell W. Between commits it follows U, as line 26. */
static __always_inline void compute(struct bpf_sock_ops *skops, struct rx *rx,
				    struct opt *o)
{
	__u32 wire = skops->mss_cache + HPCCPP_HEADERS;
	__u64 now = bpf_ktime_get_ns();
	__u32 T = rx->p.T, value, kind, N;
	bool commit = commit_due(rx, now);
	__u64 B = hpccpp_min_B(&rx->s, rx->min_B, NULL, 0, T, now);
	__u64 W;

	if (B)
		rx->min_B = B;
	W = hpccpp_bdp(rx->min_B, T);
	W += W / 8;
	rx->p.W_min = wire / 16 + 1;
	if (W < rx->p.W_min)
		W = rx->p.W_min;
	rx->p.W_max = W < HPCCPP_W_LIMIT ? W : HPCCPP_W_LIMIT;
	hpccpp_compute_wind(&rx->s, &rx->p, commit);
	if (commit) {
		rx->committed = now;
		rx->hold = rx->s.U >= rx->p.eta;
	}
	rx->next = now + T * (1000ULL / HPCCPP_TELL_T);

	N = count_flows(rx, now);
	kind = rx->value;
	rx->value = (kind + 1) % HPCCPP_WINDOW_REQUEST;
	if (kind == HPCCPP_WINDOW_B)
		value = hpccpp_rate_encode(rx->min_B * 8);
	else if (kind == HPCCPP_WINDOW_U)
		value = rx->s.U >> (HPCCPP_ONE_SHIFT - HPCCPP_WINDOW_U_SHIFT);
	else
		value = N;
	if (value > 0xfff)
		value = 0xfff;
	o->rec[0][0] = bpf_htonl(HPCCPP_WINDOW(kind, rx->serial,
					       hpccpp_num_encode(rx->s.W),
					       value));
}

/* An option "window" of a constant length; says so in a counter. */
static __always_inline void store_window(struct bpf_sock_ops *skops,
					 struct opt *o, const int len,
					 __u32 stat)
{
	o->kind = HPCCPP_OPT_KIND;
	o->len = len;
	o->exid = bpf_htons(HPCCPP_EXID_WINDOW);
	count(bpf_store_hdr_opt(skops, o, len, 0) ? HPCCPP_HS_ERROR : stat);
}

static __always_inline void write_window(struct bpf_sock_ops *skops,
					 struct flow *f, struct opt *o)
{
	struct rx *rx = find_rx(skops, false);

	if (!rx)
		return;
	compute(skops, rx, o);
	store_window(skops, o, HPCCPP_WINDOW_LEN, HPCCPP_HS_COMPUTED);
	f->due = 0;
}

static __always_inline void write_request(struct bpf_sock_ops *skops,
					  struct flow *f, struct opt *o)
{
	o->rec[0][0] = bpf_htonl(f->want[0]);
	o->rec[0][1] = bpf_htonl(f->want[1]);
	store_window(skops, o, HPCCPP_REQUEST_LEN, HPCCPP_HS_REQUESTED);
}

/* WRITE_HDR_OPT: write what HDR_OPT_LEN reserved. */
static __always_inline void write_hdr_opt(struct bpf_sock_ops *skops)
{
	__u32 flags = skops->skb_tcp_flags;
	struct opt o = {};
	struct flow *f;

	if ((flags & TCPHDR_SYN) && (flags & TCPHDR_ACK)) {
		if (!load(skops, &o, HPCCPP_EXID_COLLECT,
			  BPF_LOAD_HDR_OPT_TCP_SYN))
			return;
		most_loaded(&o);
		if (!tags || !syn_wants_tag(skops) || store_tagged(skops, &o, 1))
			store(skops, &o, HPCCPP_EXID_ECHO, 1);
		count(HPCCPP_HS_COLLECTED);
		count(HPCCPP_HS_ECHOED);
		return;
	}
	f = find(skops, false);
	if (!f || f->plan == PLAN_NONE)
		return;
	if (windows && f->plan & PLAN_WINDOW) {
		write_window(skops, f, &o);
	} else if (f->plan & PLAN_REQUEST) {
		write_request(skops, f, &o);
	} else if (f->plan & PLAN_ECHO) {
		o = f->collected;
		if ((f->plan & PLAN_N) < records_of(&o))
			most_loaded(&o);
		if (!tags || !(f->plan & PLAN_TAG))
			store(skops, &o, HPCCPP_EXID_ECHO, f->plan & PLAN_N);
		else if (store_tagged(skops, &o, f->plan & PLAN_N))
			count(HPCCPP_HS_ERROR);
		f->due = 0;
	} else {
		if (!f->mail.gen)
			o.rec[0][0] = bpf_htonl(HPCCPP_WANTED);
		store(skops, &o, HPCCPP_EXID_COLLECT, f->plan & PLAN_N);
		count(HPCCPP_HS_ASKED);
		if (tags && f->plan & PLAN_TAG) {
			o.len = HPCCPP_OPT_HDR;
			o.exid = bpf_htons(HPCCPP_EXID_TAG);
			bpf_store_hdr_opt(skops, &o, HPCCPP_OPT_HDR, 0);
		}
	}
	if (f->plan & PLAN_COLLECT && f->rested) {
		set_flags(skops, HPCCPP_AFTER_REST);
		clear_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
	}
	f->plan = PLAN_NONE;
}

/* The module has taken a flow, which may be older than we are. It sets the flags. */
static __always_inline void take_flow(struct bpf_sock_ops *skops)
{
	struct flow *f = find(skops, true);
	struct hpccpp_host_cfg *cfg;

	cfg = configuration();
	if (!f || !cfg)
		return;
	own_calls(skops, f);
	f->wanted = peer_wanted(skops, cfg);
	f->mail.unread = 0;
	f->mail.governed = 1;
	f->mail.rx = windows;
	want_none(f);
}

SEC("sockops")
int hpccpp_host(struct bpf_sock_ops *skops)
{
	struct hpccpp_host_cfg *cfg;
	struct bpf_sock *sk;
	struct flow *f = NULL;
	bool ours;

	switch (skops->op) {
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		hdr_opt_len(skops);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		write_hdr_opt(skops);
		break;
	case BPF_SOCK_OPS_RTT_CB:
	case BPF_SOCK_OPS_RETRANS_CB:
	case BPF_SOCK_OPS_RTO_CB:
		f = find(skops, false);
		if (f)
			rested(skops, f);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		f = find(skops, false);
		parse(skops, f);
		break;
	case HPCCPP_SOCK_OP:
		take_flow(skops);
		break;
	case HPCCPP_SOCK_TELL:
		f = find(skops, false);
		if (windows && f && f->mail.governed)
			request(f, skops->args[1], skops->args[2]);
		break;
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
		/* nothing of a peer holds that it was connected to */
		sk = POINTER(skops, sk);
		f = find(skops, false);
		if (f && sk && !f->own_write)
			bpf_sk_storage_delete(&host_sk, sk);
		f = NULL;
		/* SYN-ACKs are written in the listener's name */
		if (skops->bpf_sock_ops_cb_flags &
		    BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG)
			break;
		f = find(skops, true);
		if (!f)
			break;
		f->own_write = 1;
		set_flags(skops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		/* connected anew: nothing of the last peer holds, but the flag */
		sk = POINTER(skops, sk);
		f = find(skops, false);
		ours = f && f->ours;
		if (f && sk)
			bpf_sk_storage_delete(&host_sk, sk);
		f = NULL;
		cfg = configuration();
		if (!cfg || !peer_wanted(skops, cfg))
			break;
		f = find(skops, true);
		if (!f)
			break;
		f->ours = ours;
		f->wanted = 1;
		call_write(skops, f);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		set_flags(skops, BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
		f = find(skops, false);
		if (f) {
			f->third = 1;
			parse(skops, f);
			/* the SYN was forgotten, if only the listener saw it */
			f->signs = 0;
		}
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		set_flags(skops, BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
		cfg = configuration();
		f = cfg ? find(skops, true) : NULL;
		if (f) {
			f->passive = 1;
			f->wanted = peer_wanted(skops, cfg);
			parse(skops, f);
			/* a peer without an agent: no call for its segments */
			if (f->own_write && !f->proven)
				clear_flags(skops,
					    BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		}
		break;
	}
	if (windows && f && f->rx && f->fresh)
		measure(skops, f);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
