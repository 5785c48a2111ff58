// SPDX-License-Identifier: GPL-2.0
/*
 * Prefixes of IPv4 and IPv6: on the command line, in the LPM tries of the agents, and
 * in what is shown of these.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "hpccpp.h"

static void prefix_text(char *buf, size_t size, const struct hpccpp_prefix *p)
{
	static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool v4 = p->prefixlen >= 96 && !memcmp(p->addr, mapped, 12);
	char addr[INET6_ADDRSTRLEN];

	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? p->addr + 12 : p->addr, addr,
		  sizeof(addr));
	snprintf(buf, size, "%s/%u", addr, p->prefixlen - (v4 ? 96 : 0));
}

/* IPv4 as ::ffff:a.b.c.d; the bits that its prefixes count from, or 0: it is no address */
static unsigned int read_address(const char *text, __u8 addr[16])
{
	if (inet_pton(AF_INET, text, addr + 12) == 1) {
		memset(addr, 0, 10);
		memset(addr + 10, 0xff, 2);
		return 32;
	}
	return inet_pton(AF_INET6, text, addr) == 1 ? 128 : 0;
}

static void mask_prefix(struct hpccpp_prefix *prefix)
{
	unsigned int i;

	for (i = prefix->prefixlen; i < 128; i++)
		prefix->addr[i / 8] &= ~(0x80 >> i % 8);
}

bool in_prefix(const struct hpccpp_prefix *prefix, const char *addr)
{
	struct hpccpp_prefix other = { .prefixlen = prefix->prefixlen };

	if (!read_address(addr, other.addr))
		return false;
	mask_prefix(&other);
	return !memcmp(other.addr, prefix->addr, sizeof(other.addr));
}

int arg_prefix(const struct argument *arg, const char *text)
{
	struct hpccpp_prefix *prefix = (struct hpccpp_prefix *)arg->to + arg->n;
	char addr[INET6_ADDRSTRLEN], allowed[INET6_ADDRSTRLEN + 8];
	const char *slash = strchrnul(text, '/');
	struct hpccpp_prefix masked;
	unsigned int max, len;

	memset(prefix, 0, sizeof(*prefix));
	if ((size_t)(slash - text) >= sizeof(addr))
		goto wrong;
	memcpy(addr, text, slash - text);
	addr[slash - text] = '\0';
	max = read_address(addr, prefix->addr);
	if (!max)
		goto wrong;
	len = max;
	if (*slash) {
		int ret = parse_uint("prefix length", slash + 1, 0, max, &len);

		if (ret)
			return ret;
	}
	prefix->prefixlen = 128 - max + len;
	masked = *prefix;
	mask_prefix(&masked);
	if (!memcmp(&masked, prefix, sizeof(masked)))
		return EXIT_DONE;
	prefix_text(allowed, sizeof(allowed), &masked);
	return usage_error("prefix \"%s\" is wrong: bits are set after the first %u, did you mean \"%s\"",
			   text, len, allowed);
wrong:
	return usage_error("prefix \"%s\" is wrong: allowed are IPv4 and IPv6 addresses with /LEN",
			   text);
}

int arg_prefix6(const struct argument *arg, const char *text)
{
	const struct hpccpp_prefix *prefix = (struct hpccpp_prefix *)arg->to + arg->n;
	int ret = arg_prefix(arg, text);

	/* IPv4, written as such or not */
	if (!ret && prefix->prefixlen >= 96 &&
	    IN6_IS_ADDR_V4MAPPED((struct in6_addr *)prefix->addr))
		ret = usage_error("%s \"%s\" is wrong: allowed are prefixes of IPv6",
				  arg->name, text);
	return ret;
}

int write_prefixes(const struct bpf_map *map,
		   const struct hpccpp_prefix *prefixes, unsigned int n)
{
	static const __u8 one = 1;
	unsigned int i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = bpf_map__update_elem(map, &prefixes[i], sizeof(prefixes[i]),
					   &one, sizeof(one), BPF_ANY);
	return err;
}

static struct json_object *read_prefixes(int map)
{
	struct json_object *all = json_object_new_array();
	struct hpccpp_prefix prefix;
	char text[INET6_ADDRSTRLEN + 8];
	void *prev = NULL;

	while (!bpf_map_get_next_key(map, prev, &prefix)) {
		prefix_text(text, sizeof(text), &prefix);
		json_object_array_add(all, json_object_new_string(text));
		prev = &prefix;
	}
	return all;
}

int put_prefixes(struct json_object *row, const char *key, int prog,
		 const char *map)
{
	int fd = prog_map(prog, map, sizeof(__u8));

	if (fd < 0)
		return prog_map_error(map);
	json_object_object_add(row, key, read_prefixes(fd));
	close(fd);
	return EXIT_DONE;
}
