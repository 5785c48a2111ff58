// SPDX-License-Identifier: GPL-2.0
/* The nodes and links that testbed was told of. */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <libmnl/libmnl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed.h"

/* An array that grows. */
struct node **nodes;
int n_nodes;
static int n_hosts, n_switches;
struct port **ports;
int n_ports;
/* The keys of the whole network, a value after each. */
char **keys;
int n_keys;
uint32_t mtu = 1500;
const char *queue = "fifo", *host_queue = "fifo";
bool ipv6 = true, offloads;
long ecn = -1, rto_min_us = -1;

/* The description */

void *grow(void *list, int n, size_t size)
{
	if (n & (n - 1))
		return list;
	list = reallocarray(list, n ? 2 * n : 1, size);
	if (!list)
		error(1, errno, "memory");
	return list;
}

void *zalloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		error(1, errno, "memory");
	return p;
}

static uint64_t parse(const char *key, const char *text, uint64_t max)
{
	static const char units[] = "kmgt";
	const char *unit;
	double value;
	char *end;

	value = strtod(text, &end);
	if (end == text || value < 0)
		error(2, 0, "%s \"%s\" is not a number", key, text);
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit) {
		for (; unit >= units; unit--)
			value *= 1000;
		end++;
	}
	if (*end)
		error(2, 0, "%s \"%s\": units are k, m, g and t", key, text);
	if (value > max)
		error(2, 0, "%s \"%s\" is more than %llu", key, text, (unsigned long long)max);
	return value;
}

struct node *find_node(const char *name)
{
	int i;

	for (i = 0; i < n_nodes; i++)
		if (!strcmp(nodes[i]->name, name))
			return nodes[i];
	return NULL;
}

__attribute__((format(printf, 1, 2)))
static struct node *node(const char *fmt, ...)
{
	char name[IFNAMSIZ];
	struct node *n;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	n = find_node(name);
	if (n)
		return n;
	n = zalloc(sizeof(*n));
	strcpy(n->name, name);
	n->host = *name == 'h' || *name == 'r';
	n->id = n->host ? ++n_hosts : ++n_switches;
	n->index = n_nodes;
	nodes = grow(nodes, n_nodes, sizeof(*nodes));
	nodes[n_nodes++] = n;
	return n;
}

static struct port *add_port(struct node *n)
{
	struct port *p = zalloc(sizeof(*p));

	p->node = n;
	p->ifindex = FIRST_IFINDEX + n->n_ports;
	snprintf(p->dev, sizeof(p->dev), n->host ? "eth%d" : "p%d",
		 n->host ? n->n_ports : n->n_ports + 1);
	p->mac[0] = 2;
	p->mac[1] = n->host ? 0 : 1;
	p->mac[2] = n->id >> 8;
	p->mac[3] = n->id;
	p->mac[4] = n->n_ports >> 8;
	p->mac[5] = n->n_ports;
	n->ports = grow(n->ports, n->n_ports, sizeof(*n->ports));
	n->ports[n->n_ports++] = p;
	ports = grow(ports, n_ports, sizeof(*ports));
	ports[n_ports++] = p;
	return p;
}

static bool link_key(struct lablink_opt *opt, const char *key, const char *value)
{
	if (!strcmp(key, "rate"))
		opt->rate = parse(key, value, 10000000000000);
	else if (!strcmp(key, "delay_ns"))
		opt->delay = parse(key, value, 10000000000);
	else if (!strcmp(key, "buffer"))
		opt->limit = parse(key, value, UINT32_MAX - 1);
	else if (!strcmp(key, "mark"))
		opt->mark = parse(key, value, UINT32_MAX - 1);
	else if (!strcmp(key, "trace"))
		opt->trace = parse(key, value, UINT32_MAX - 1);
	else if (!strcmp(key, "prio"))
		opt->prio = parse(key, value, 1);
	else if (!strcmp(key, "overhead"))
		opt->overhead = parse(key, value, 255);
	else
		return false;
	if (!opt->rate)
		error(2, 0, "a rate of 0");
	return true;
}

/* Applies those keys of the whole network that begin with prefix and are keys of a link. */
static void apply_keys(struct lablink_opt *opt, const char *prefix)
{
	size_t len = strlen(prefix);
	int i;

	for (i = 0; i < n_keys; i += 2)
		if (!strncmp(keys[i], prefix, len))
			link_key(opt, keys[i] + len, keys[i + 1]);
}

static void default_opt(struct port *p)
{
	p->opt.rate = 100000000000;
	p->opt.delay = 1000;
	p->opt.limit = 32000000;
	apply_keys(&p->opt, "");
	if (p->node->host) {
		p->opt.limit = 64000000;
		p->opt.mark = 0;
		p->opt.trace = 0;
		apply_keys(&p->opt, "host_");
	} else if (!p->peer->node->host) {
		apply_keys(&p->opt, "core_");
	}
}

static struct port *link_nodes(struct node *a, struct node *b)
{
	struct port *p, *q;

	if (a == b)
		error(2, 0, "a link from %s to itself", a->name);
	p = add_port(a);
	q = add_port(b);
	p->peer = q;
	q->peer = p;
	return p;
}

static void build(const char *topology, const unsigned int *n)
{
	unsigned int i, j, k;

	if (!strcmp(topology, "star")) {
		for (i = 1; i <= n[0]; i++)
			link_nodes(node("h%u", i), node("s1"));
		link_nodes(node("r1"), node("s1"));
	} else if (!strcmp(topology, "parking")) {
		for (i = 1; i <= n[0]; i++)
			link_nodes(node("s%u", i), node("s%u", i + 1));
		link_nodes(node("h0"), node("s1"));
		link_nodes(node("r0"), node("s%u", n[0] + 1));
		for (i = 1; i <= n[0]; i++) {
			link_nodes(node("h%u", i), node("s%u", i));
			link_nodes(node("r%u", i), node("s%u", i + 1));
		}
	} else if (!strcmp(topology, "leafspine")) {
		for (i = 0; i < n[0]; i++) {
			for (j = 1; j <= n[2]; j++)
				link_nodes(node("h%u", i * n[2] + j), node("l%u", i + 1));
			for (j = 1; j <= n[1]; j++)
				link_nodes(node("l%u", i + 1), node("s%u", j));
		}
	} else if (!strcmp(topology, "clos")) {
		for (i = 0; i < n[0] * n[1]; i++)
			for (j = 1; j <= n[4]; j++)
				link_nodes(node("h%u", i * n[4] + j), node("t%u", i + 1));
		for (i = 0; i < n[0]; i++)
			for (j = 1; j <= n[1]; j++)
				for (k = 1; k <= n[2]; k++)
					link_nodes(node("t%u", i * n[1] + j),
						   node("a%u", i * n[2] + k));
		for (i = 0; i < n[0]; i++)
			for (j = 0; j < n[2]; j++)
				for (k = 1; k <= n[3]; k++)
					link_nodes(node("a%u", i * n[2] + j + 1),
						   node("c%u", j * n[3] + k));
	}
}

static const struct {
	const char *name;
	int args;
} topologies[] = {
	{ "star", 1 }, { "parking", 1 }, { "leafspine", 3 }, { "clos", 5 },
	{ "graph", 0 },
};

static void global_key(const char *key, const char *value)
{
	bool has_prefix = !strncmp(key, "core_", 5) || !strncmp(key, "host_", 5);
	struct lablink_opt unused = { .rate = 1 };

	if (!strcmp(key, "mtu")) {
		mtu = parse(key, value, 65535);
	} else if (!strcmp(key, "queue")) {
		queue = value;
	} else if (!strcmp(key, "host_queue")) {
		host_queue = value;
	} else if (!strcmp(key, "ipv6")) {
		ipv6 = strcmp(value, "no");
	} else if (!strcmp(key, "offloads")) {
		if (strcmp(value, "yes") && strcmp(value, "no"))
			error(2, 0, "offloads \"%s\": yes or no", value);
		offloads = !strcmp(value, "yes");
	} else if (!strcmp(key, "ecn")) {
		ecn = parse(key, value, 5);
	} else if (!strcmp(key, "rto_min_us")) {
		rto_min_us = parse(key, value, 1000000);
	} else if (!strcmp(key, "sysctl")) {
		if (!strchr(value, '='))
			error(2, 0, "sysctl \"%s\" is not NAME=VALUE", value);
	} else if (!link_key(&unused, key + (has_prefix ? 5 : 0), value)) {
		error(2, 0, "key \"%s\" is unknown", key);
	}
}

static struct port *find_port(const struct node *a, const struct node *b)
{
	int i;

	for (i = 0; i < a->n_ports; i++)
		if (a->ports[i]->peer->node == b)
			return a->ports[i];
	return NULL;
}

void describe(int argc, char **argv)
{
	struct port *one = NULL, *both = NULL;
	unsigned int n[5] = { 0 }, t;
	const char *topology;
	int i, j;

	if (!argc)
		error(2, 0, "which topology?");
	topology = argv[0];
	for (t = 0; t < MNL_ARRAY_SIZE(topologies); t++)
		if (!strcmp(topology, topologies[t].name))
			break;
	if (t == MNL_ARRAY_SIZE(topologies))
		error(2, 0, "topology \"%s\" is unknown", topology);
	if (argc <= topologies[t].args)
		error(2, 0, "%s: %d numbers follow", topology, topologies[t].args);
	for (i = 1; i <= topologies[t].args; i++) {
		n[i - 1] = parse(topology, argv[i], 10000);
		if (!n[i - 1])
			error(2, 0, "%s: none of something", topology);
	}

	keys = argv + i;
	for (; i + 1 < argc && strcmp(argv[i], "link") && strcmp(argv[i], "port"); i += 2)
		global_key(argv[i], argv[i + 1]);
	n_keys = argv + i - keys;
	build(topology, n);
	for (j = 0; j < n_ports; j++)
		default_opt(ports[j]);

	while (i + 1 < argc) {
		struct node *a, *b;

		if (one && link_key(&one->opt, argv[i], argv[i + 1])) {
			if (both)
				link_key(&both->opt, argv[i], argv[i + 1]);
			i += 2;
			continue;
		}
		if (i + 2 >= argc || (strcmp(argv[i], "link") && strcmp(argv[i], "port")))
			error(2, 0, "\"%s\" is not a key of a link", argv[i]);
		a = node("%s", argv[i + 1]);
		b = node("%s", argv[i + 2]);
		one = find_port(a, b);
		if (!one) {
			one = link_nodes(a, b);
			default_opt(one);
			default_opt(one->peer);
		}
		both = strcmp(argv[i], "link") ? NULL : one->peer;
		i += 3;
	}
	if (i < argc)
		error(2, 0, "\"%s\" has no value", argv[i]);
}

/* Distance of every node from a host; other hosts pass nothing on. */
void measure(struct node *from)
{
	struct node *queue[n_nodes];
	int i, head, tail = 0;

	for (i = 0; i < n_nodes; i++)
		nodes[i]->distance = -1;
	from->distance = 0;
	queue[tail++] = from;
	for (head = 0; head < tail; head++) {
		struct node *n = queue[head];

		if (n->host && n != from)
			continue;
		for (i = 0; i < n->n_ports; i++) {
			struct node *to = n->ports[i]->peer->node;

			if (to->distance >= 0)
				continue;
			to->distance = n->distance + 1;
			queue[tail++] = to;
		}
	}
}
