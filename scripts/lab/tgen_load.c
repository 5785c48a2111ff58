// SPDX-License-Identifier: GPL-2.0
/* What traffic tgen is to make: hosts, paths, flows and generators of flows. */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <math.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tgen.h"

static struct path *paths;	/* n_path_hosts * n_path_hosts, or NULL */

/* Hosts and the flow list */

void enter(const struct host *h)
{
	static const struct host *at;

	if (h != at && setns(h->ns, CLONE_NEWNET))
		error(1, errno, "namespace %s", h->name);
	at = h;
}

static bool is_global(const struct ifaddrs *ifa)
{
	return ifa->ifa_addr && ifa->ifa_addr->sa_family == AF_INET &&
	       !(ifa->ifa_flags & IFF_LOOPBACK);
}

/* FNV-1a */
static uint64_t hash(const void *key, size_t len)
{
	uint64_t sum = 0xcbf29ce484222325;
	const uint8_t *byte = key;

	while (len--)
		sum = (sum ^ *byte++) * 0x100000001b3;
	return sum;
}

static uint32_t find_host(const char *name, bool add)
{
	struct ifaddrs *ifas = NULL, *ifa;
	char file[128];
	struct host *h;
	uint32_t i;

	for (i = 0; i < n_hosts; i++)
		if (!strcmp(hosts[i].name, name))
			return i;
	if (!add)
		return UINT32_MAX;

	hosts = grow(hosts, n_hosts, sizeof(*hosts));
	h = &hosts[n_hosts];
	memset(h, 0, sizeof(*h));
	if (strlen(name) >= sizeof(h->name))
		error(2, ENAMETOOLONG, "%s", name);
	strcpy(h->name, name);
	snprintf(file, sizeof(file), "/run/netns/%s", name);
	h->ns = open(file, O_RDONLY | O_CLOEXEC);
	if (h->ns < 0)
		error(1, errno, "%s", file);
	if (setns(h->ns, CLONE_NEWNET) || getifaddrs(&ifas))
		error(1, errno, "namespace %s", name);
	for (ifa = ifas; ifa && !is_global(ifa); ifa = ifa->ifa_next)
		;
	if (!ifa)
		error(1, 0, "namespace %s has no address", name);
	memcpy(&h->addr, ifa->ifa_addr, sizeof(h->addr));
	freeifaddrs(ifas);
	return n_hosts++;
}

static uint32_t find_cc(const char *name)
{
	uint32_t i;

	for (i = 0; i < n_ccs; i++)
		if (!strcmp(ccs[i], name))
			return i;
	ccs = grow(ccs, n_ccs, sizeof(*ccs));
	snprintf(ccs[n_ccs], sizeof(ccs[n_ccs]), "%s", name);
	return n_ccs++;
}

/* Of its own, for a connection from there. */
void take_port(uint32_t host)
{
	if (hosts[host].n_flows++ == MAX_FLOWS)
		error(2, 0, "%s: more than %u connections", hosts[host].name, MAX_FLOWS);
}

static struct flow *new_flow(uint32_t src, uint32_t dst, uint64_t size, uint64_t start, uint32_t cc)
{
	struct flow *w;

	flows = grow(flows, n_flows, sizeof(*flows));
	flows_left++;
	w = &flows[n_flows++];
	*w = (struct flow) {
		.start = start, .stop = NEVER, .size = size, .again = NEVER,
		.src = src, .dst = dst, .cc = cc, .tx = -1, .rx = -1,
		.at_from = NEVER, .at_to = NEVER,
		.connected = NEVER, .end = NEVER,
	};
	return w;
}

/* SRC DST RTT_NS RATE MTU; all hosts are a SRC. */
void read_paths(const char *name)
{
	FILE *f = fopen(name, "re");
	char src[64], dst[64];
	struct path p;

	if (!f)
		error(1, errno, "%s", name);
	while (fscanf(f, "%63s %63s %lu %lu %u", src, dst, &p.rtt, &p.rate, &p.mtu) == 5)
		find_host(src, true);
	if (!feof(f) || !n_hosts)
		error(2, 0, "%s: not what \"testbed paths\" prints", name);
	n_path_hosts = n_hosts;
	paths = calloc((size_t)n_hosts * n_hosts, sizeof(*paths));
	if (!paths)
		error(1, errno, "memory");
	rewind(f);
	while (fscanf(f, "%63s %63s %lu %lu %u", src, dst, &p.rtt, &p.rate, &p.mtu) == 5) {
		uint32_t i = find_host(src, false);
		uint32_t j = find_host(dst, false);

		if (j < n_hosts)
			paths[(size_t)i * n_hosts + j] = p;
	}
	fclose(f);
}

const struct path *find_path(uint32_t src, uint32_t dst)
{
	static const struct path none;

	if (src >= n_path_hosts || dst >= n_path_hosts)
		return &none;
	return &paths[(size_t)src * n_path_hosts + dst];
}

/* Generators */

/*
 * As in traffic_gen/ of the simulator of "HPCC: High Precision Congestion Control"
 * (SIGCOMM 2019), github.com/alibaba-edu/High-Precision-Congestion-Control:
 * WebSearch_distribution.txt, FbHdp_distribution.txt, AliStorage2019.txt.
 */
static const struct point websearch[] = {
	{ 10000, 15 }, { 20000, 20 }, { 30000, 30 }, { 50000, 40 },
	{ 80000, 53 }, { 200000, 60 }, { 1000000, 70 }, { 2000000, 80 },
	{ 5000000, 90 }, { 10000000, 97 }, { 30000000, 100 },
};

static const struct point fb_hadoop[] = {
	{ 100, 1 }, { 200, 2 }, { 300, 5 }, { 350, 15 }, { 400, 20 },
	{ 500, 30 }, { 600, 40 }, { 700, 50 }, { 1000, 60 }, { 2000, 67 },
	{ 7000, 70 }, { 30000, 72 }, { 50000, 82 }, { 80000, 87 },
	{ 120000, 90 }, { 300000, 95 }, { 1000000, 97.5 }, { 2000000, 99 },
	{ 10000000, 100 },
};

static const struct point alistorage[] = {
	{ 4000, 22.93 }, { 8000, 69.21 }, { 16000, 80.61 }, { 32000, 90.47 },
	{ 64000, 93.53 }, { 128000, 96.77 }, { 256000, 97.53 },
	{ 2000000, 100 },
};

static const struct {
	const char *name;
	const struct point *sizes;
} known_sizes[] = {
	{ "websearch", websearch }, { "fb_hadoop", fb_hadoop },
	{ "alistorage", alistorage },
};

static uint64_t parse_range(const char *what, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value = parse(what, text);

	if (value < min || value > max)
		error(2, 0, "%s \"%s\": %" PRIu64 " to %" PRIu64, what, text, min, max);
	return value;
}

static struct point *read_sizes(const char *name)
{
	struct point *sizes = NULL, p, last = { 0 };
	FILE *f = fopen(name, "re");
	uint32_t n = 0;

	if (!f)
		error(2, errno, "DIST \"%s\": websearch, fb_hadoop, alistorage, bytes or a file",
		      name);
	while (fscanf(f, "%lf %lf", &p.bytes, &p.percent) == 2) {
		/* the first may be 0 0, or have all sizes above it */
		if (!(p.bytes >= 0 && p.bytes <= MAX_SIZE && p.percent >= 0 && p.percent <= 100) ||
		    (n && (p.bytes <= last.bytes || p.percent <= last.percent)))
			error(2, 0, "%s: \"%g %g\": bytes up to %g, percent up to 100, and both rise",
			      name, p.bytes, p.percent, MAX_SIZE);
		sizes = grow(sizes, n, sizeof(*sizes));
		sizes[n++] = p;
		last = p;
	}
	if (!feof(f) || last.percent != 100)
		error(2, 0, "%s: lines BYTES PERCENT, the last with 100", name);
	fclose(f);
	return sizes;
}

static const struct point *find_sizes(const char *name)
{
	struct point *one;
	size_t i;

	for (i = 0; i < sizeof(known_sizes) / sizeof(*known_sizes); i++)
		if (!strcmp(name, known_sizes[i].name))
			return known_sizes[i].sizes;
	if (*name < '0' || *name > '9')
		return read_sizes(name);
	one = calloc(2, sizeof(*one));
	if (!one)
		error(1, errno, "memory");
	one[0].bytes = parse_range("DIST", name, 1, MAX_SIZE);
	one[1].bytes = one[0].bytes;
	one[1].percent = 100;
	return one;
}

static double mean_size(const struct point *p)
{
	struct point last = { 0 };
	double sum = 0;

	for (; last.percent < 100; last = *p++)
		sum += (p->bytes + last.bytes) / 2 * (p->percent - last.percent);
	return sum / 100;
}

/* splitmix64 */
static uint64_t random64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* From 0 up to, and without, 1. */
static double uniform(uint64_t *state)
{
	return ldexp(random64(state) >> 11, -53);
}

static uint64_t random_size(uint64_t *state, const struct point *p)
{
	double percent = 100 * uniform(state), bytes;
	struct point last = { 0 };

	while (p->percent <= percent)
		last = *p++;
	bytes = last.bytes + (percent - last.percent) *
		(p->bytes - last.bytes) / (p->percent - last.percent);
	return bytes < 1 ? 1 : bytes;
}

static void generate(uint32_t index, uint32_t src, uint64_t start)
{
	struct generator *g = &generators[index];
	uint64_t *state = &g->streams[src];
	uint32_t dst = uniform(state) * (n_path_hosts - 1);
	uint64_t size = random_size(state, g->sizes);
	struct flow *w;

	if (dst >= src)
		dst++;
	if (!find_path(src, dst)->rate)
		error(2, 0, "-p: no path from %s to %s", hosts[src].name, hosts[dst].name);
	w = new_flow(src, dst, size, start, g->cc);
	if (g->kept) {
		w->message = index + 1;
		w->answer = random64(state) >> 63;
		return;
	}
	take_port(src);
}

/* All that poisson and rpc start. */
static void generate_first(uint32_t index)
{
	struct generator *g = &generators[index];
	uint32_t i, j;

	for (i = 0; i < n_path_hosts; i++) {
		uint64_t rate = 0;
		double gap, at;

		g->streams[i] = g->seed;
		g->streams[i] = random64(&g->streams[i]) ^
				hash(hosts[i].name, strlen(hosts[i].name));
		for (j = 0; j < n_path_hosts; j++)
			if (find_path(i, j)->rate > rate)
				rate = find_path(i, j)->rate;
		gap = mean_size(g->sizes) * 8e9 / (rate * g->load);
		at = g->from;
		for (;;) {
			at -= gap * log1p(-uniform(&g->streams[i]));
			if (!(at < g->to))
				break;
			generate(index, i, at);
		}
	}
}

static void add_generator(char **word, bool kept)
{
	struct generator *g;
	char *rest;

	if (n_path_hosts < 2)
		error(2, 0, "%s: between which hosts (-p)?", word[0]);
	generators = grow(generators, n_generators, sizeof(*generators));
	g = &generators[n_generators];
	memset(g, 0, sizeof(*g));
	g->from = parse_range("FROM_NS", word[1], kept, MAX_NS);
	g->to = parse_range("TO_NS", word[2], g->from + 1, MAX_NS);
	g->load = strtod(word[3], &rest) / 100;
	if (*rest || !(g->load > 0 && g->load <= 1))
		error(2, 0, "LOAD \"%s\": more than 0, to 100 percent", word[3]);
	g->sizes = find_sizes(word[4]);
	g->seed = parse("SEED", word[5]);
	g->cc = find_cc(word[6]);
	g->streams = calloc(n_path_hosts, sizeof(*g->streams));
	if (!g->streams)
		error(1, errno, "memory");
	if (kept) {
		g->kept = parse_range("N", word[7], 1, MAX_FLOWS / (n_path_hosts - 1));
		add_conns(n_generators);
	}
	generate_first(n_generators++);
}

static void add_one(char **word, int n, unsigned int line)
{
	char *at = strchr(word[3], '@');
	struct flow *w;

	if (at)
		*at++ = '\0';
	w = new_flow(find_host(word[1], true), find_host(word[2], true),
		     at ? 2 * parse_range("BYTES", word[3], 1, MAX_SIZE / 2) :
		     strcmp(word[3], "-") ? parse("BYTES", word[3]) : NEVER,
		     parse("START_NS", word[0]), find_cc(word[n - 1]));
	take_port(w->src);
	if (n == 6)
		w->stop = parse("STOP_NS", word[4]);
	if (at)
		w->again = parse_range("@NS", at, w->start + 1, MAX_NS);
	if (!w->size || w->src == w->dst || w->stop <= w->start)
		error(2, 0, "flow list, line %u: nothing to send", line);
	if (w->size == NEVER && w->stop == NEVER && end == NEVER)
		error(2, 0, "flow list, line %u: no end (-e)", line);
}

void read_flows(const char *name)
{
	FILE *f = name ? fopen(name, "re") : stdin;
	char *line = NULL, *word[9], *rest;
	unsigned int number_of_line = 0;
	size_t room = 0;
	bool rpc;
	int n;

	if (!f)
		error(1, errno, "%s", name);
	while (getline(&line, &room, f) > 0) {
		number_of_line++;
		line[strcspn(line, "#")] = '\0';
		rest = line;
		for (n = 0; n < 9; n++) {
			word[n] = strtok_r(n ? NULL : rest, " \t\n", &rest);
			if (!word[n])
				break;
		}
		if (!n)
			continue;
		rpc = !strcmp(word[0], "rpc");
		if (rpc || !strcmp(word[0], "poisson")) {
			if (n != (rpc ? 8 : 7))
				error(2, 0, "flow list, line %u: %s FROM_NS TO_NS LOAD DIST SEED CC%s",
				      number_of_line, word[0], rpc ? " N" : "");
			add_generator(word, rpc);
		} else {
			if (n < 5 || n > 6)
				error(2, 0, "flow list, line %u: START_NS SRC DST BYTES[@NS]|- [STOP_NS] CC",
				      number_of_line);
			add_one(word, n, number_of_line);
		}
	}
	free(line);
	if (name)
		fclose(f);
	if (!n_flows)
		error(2, 0, "no flows");
}

void add_event(uint64_t at, enum what what, uint32_t index)
{
	if (at == NEVER)
		return;
	events = grow(events, n_events, sizeof(*events));
	events[n_events++] = (struct event) {
		.at = at, .what = what, .index = index,
	};
}

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void plan(void)
{
	uint32_t i;

	for (i = 0; i < n_flows; i++) {
		add_event(flows[i].start, START, i);
		add_event(flows[i].again, AGAIN, i);
		add_event(flows[i].stop, STOP, i);
	}
	add_event(from, FROM, 0);
	add_event(to, TO, 0);
	add_event(end, END, 0);
	qsort(events, n_events, sizeof(*events), compare_events);
}
