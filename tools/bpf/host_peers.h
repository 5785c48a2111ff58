/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of peers and paths of the host agent. A firewall on the way may drop segments with
 * an experimental option, or answer them with a reset: the first flow under hpccpp loses a
 * timeout or its connection, and the following flows to this address carry no option for a
 * while.
 */
#ifndef HPCCPP_HOST_PEERS_H
#define HPCCPP_HOST_PEERS_H

#include "host_flow.h"

#define HPCCPP_ANSWER_AGE	64	/* s for which TCP retransmits a SYN-ACK, at most */

/* A SYN-ACK with an option */
struct answer_key {
	struct hpccpp_peer_key client;
	__u32 port, local_port;
};

struct answer {
	__u32 at;		/* first sent then, s */
	__u32 again;		/* sent again, without the option */
};

/* A listener under hpccpp. The last listen() on a port of a namespace decides. */
struct listening {
	__u64 netns;		/* cookie */
	__u32 port;
	__u32 pad;
};

/* All are LRU maps: many addresses, forged or not, displace the oldest ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_PEERS);
	__type(key, struct hpccpp_peer_key);
	__type(value, struct hpccpp_peer);
} host_peers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_PEERS);
	__type(key, struct answer_key);
	__type(value, struct answer);
} host_answers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPCCPP_PEERS);
	__type(key, struct listening);
	__type(value, __u8);
} host_listeners SEC(".maps");

static __always_inline __u32 seconds(void)
{
	return bpf_ktime_get_ns() / 1000000000 + 1;
}

static __always_inline struct hpccpp_peer_key peer_key(struct bpf_sock_ops *skops)
{
	struct hpccpp_peer_key key = { .netns = bpf_get_netns_cookie(skops) };

	remote_address(skops, key.addr);
	return key;
}

/* The path to this peer has lost, or may have lost, a segment because of the option. */
static __always_inline bool path_suspected(struct bpf_sock_ops *skops)
{
	struct hpccpp_peer_key key = peer_key(skops);
	const struct hpccpp_peer *p = bpf_map_lookup_elem(&host_peers, &key);

	return p && p->until > seconds();
}

/* The peer has echoed data: the path lets the option pass. */
static __always_inline void peer_seen(struct bpf_sock_ops *skops)
{
	struct hpccpp_peer_key key = peer_key(skops);
	struct hpccpp_peer new = { .seen = seconds() };

	bpf_map_update_elem(&host_peers, &key, &new, BPF_ANY);
}

/*
 * Suspects the path: for a minute at first, twice as long each time, for 64 minutes at most.
 * Returns false if the path has let data with the option pass within an hour, unless "certain"
 * is set: congestion has lost the segment.
 */
static __always_inline bool suspect_path(struct bpf_sock_ops *skops, bool certain)
{
	struct hpccpp_peer_key key = peer_key(skops);
	struct hpccpp_peer *p, new = {};
	__u32 now = seconds();

	p = bpf_map_lookup_elem(&host_peers, &key);
	if (p && !certain && p->seen && now - p->seen < HPCCPP_PEER_SEEN)
		return false;
	if (p && p->until) {
		/* a connection that began at the same time */
		if (p->until > now)
			return true;
		new.times = p->times < 6 ? p->times + 1 : 6;
	}
	new.until = now + (HPCCPP_PEER_SUSPECT << new.times);
	bpf_map_update_elem(&host_peers, &key, &new, BPF_ANY);
	count(HPCCPP_HS_SUSPECTED);
	return true;
}

static __always_inline struct answer_key answer_to(struct bpf_sock_ops *skops)
{
	return (struct answer_key) {
		.client = peer_key(skops),
		.port = skops->remote_port, .local_port = skops->local_port,
	};
}

/* The SYN-ACK of this connection that had the option, if it may be sent again */
static __always_inline struct answer *find_answer(const struct answer_key *key)
{
	struct answer *sent = bpf_map_lookup_elem(&host_answers, key);

	return sent && seconds() - sent->at < HPCCPP_ANSWER_AGE ? sent : NULL;
}

static __always_inline struct listening listener_of(struct bpf_sock_ops *skops)
{
	return (struct listening) {
		.netns = bpf_get_netns_cookie(skops), .port = skops->local_port,
	};
}

#endif /* HPCCPP_HOST_PEERS_H */
