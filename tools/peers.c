// SPDX-License-Identifier: GPL-2.0
/*
 * The host agent's memory of peers and paths: shows it and empties it.
 */
#include <errno.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "hpccpp.h"

#define PEERS	"host_peers"

static struct hpccpp_peer_key keys[HPCCPP_PEERS];
static struct hpccpp_peer peers[HPCCPP_PEERS];

/* Reads all entries in one call, as agents may displace the one that a next key would follow. */
static int read_peers(int map, bool flush, __u32 *n)
{
	__u32 end;
	int err;

	*n = HPCCPP_PEERS;
	if (flush)
		err = bpf_map_lookup_and_delete_batch(map, NULL, &end, keys, peers, n, NULL);
	else
		err = bpf_map_lookup_batch(map, NULL, &end, keys, peers, n, NULL);
	/* the kernel reports the end of the map like this */
	if (!err || errno == ENOENT)
		return EXIT_DONE;
	return errno_error(errno, "cannot %s the map \"" PEERS "\" of the host agent",
			   flush ? "empty" : "read");
}

static struct json_object *suspect(const struct hpccpp_peer_key *key, __u32 left)
{
	const struct in6_addr *addr = (const struct in6_addr *)key->addr;
	bool v4 = IN6_IS_ADDR_V4MAPPED(addr);
	struct json_object *row = json_object_new_object();
	char text[INET6_ADDRSTRLEN];

	inet_ntop(v4 ? AF_INET : AF_INET6, addr->s6_addr + (v4 ? 12 : 0), text, sizeof(text));
	put_str(row, "address", text);
	put_num(row, "left", left);
	return row;
}

/* Adds the suspected paths and the number of known peers. An older agent has neither. */
int put_peers(struct json_object *row, int prog)
{
	const __u32 now = clock_ns(CLOCK_MONOTONIC) / 1000000000 + 1;
	int map = prog_map(prog, PEERS, sizeof(peers[0])), ret;
	struct json_object *suspected;
	__u32 n, i, known = 0;

	if (map < 0)
		return EXIT_DONE;
	ret = read_peers(map, false, &n);
	close(map);
	if (ret)
		return ret;
	suspected = json_object_new_array();
	for (i = 0; i < n; i++) {
		if (peers[i].until > now)
			json_object_array_add(suspected, suspect(&keys[i], peers[i].until - now));
		known += peers[i].seen && now - peers[i].seen < HPCCPP_PEER_SEEN;
	}
	put_num(row, "known", known);
	json_object_object_add(row, "suspected", suspected);
	return EXIT_DONE;
}

int flush_peers(int prog)
{
	int map = prog_map(prog, PEERS, sizeof(peers[0])), ret;
	__u32 n;

	if (map < 0)
		return prog_map_error(PEERS);
	ret = read_peers(map, true, &n);
	close(map);
	return ret;
}
