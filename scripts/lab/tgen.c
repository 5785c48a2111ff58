// SPDX-License-Identifier: GPL-2.0
/*
 * Make the traffic of the lab: one process for all hosts, which are network
 * namespaces with one global address each (testbed makes them).
 *
 *	tgen [OPTION]... [FLOWS]
 *
 * FLOWS (default: standard input) has a line for each connection:
 *
 *	START_NS SRC DST BYTES[@NS]|- [STOP_NS] CC
 *
 * SRC and DST name namespaces, CC a congestion control for both ends. At START_NS
 * of the run SRC connects to DST and sends BYTES, with @NS once more at NS, or "-"
 * without end. At STOP_NS a
 * connection is reset: its sender sends nothing after it. Empty lines and what
 * follows a # are skipped. Or a line for many, from every host of -p FILE to others
 * of them, each as likely as the next:
 *
 *	poisson FROM_NS TO_NS LOAD DIST SEED CC
 *	closed FROM_NS TO_NS N DIST SEED CC
 *
 * poisson starts connections with exponential gaps between, so many that what a
 * host sends is LOAD percent of its rate (that of its fastest path), headers not
 * counted. closed has N from each host at a time: when the last byte of one has
 * arrived, the next starts, until TO_NS. Sizes have the distribution DIST:
 * websearch, fb_hadoop, alistorage, a number of bytes, or a file with lines "BYTES
 * PERCENT": so many are no larger; both rise, the last is 100; linear between, and
 * from 0 to the first.
 * Gaps, sizes and receivers of a host come from SEED and its name, the k-th of each
 * for its k-th connection, whatever the network does with them.
 *
 * Once all is done, a line for each connection in the same order, those of closed
 * that had to wait for another last:
 *
 *	id src dst size start_ns fct_ns ideal_ns bytes_received bytes_in_window
 *	cc setup_ns retrans timeouts port
 *
 * fct_ns is from START_NS, when connect() is called, to the arrival of the last
 * byte, "-" when it has not arrived; setup_ns the part of it until SRC is connected;
 * ideal_ns base RTT + size with headers over the bottleneck's rate (-r -b -m, or
 * per pair -p); retrans and timeouts of SRC, in segments and times; port its own.
 * Lines that begin with # say what was asked for.
 *
 * -w FROM:TO	count bytes_in_window from FROM to TO ns of the run (-: to the end)
 * -e NS	end of the run; default: when all connections are done
 * -i NS -s FILE	write "t id bytes" to FILE, each NS, of what each connection
 *		has received, lines that say nothing new left out
 * -l FILE	reset /proc/lablink at FROM and copy it to FILE at TO of -w
 * -r NS -b BITS -m MTU -p FILE	for ideal_ns: base RTT, bottleneck rate, MTU
 *		(1500); FILE is what "testbed paths" prints
 * -6		over IPv6
 * -n BYTES	TCP_NOTSENT_LOWAT (256k): what is not sent yet at most
 * -L BYTES	SO_RCVLOWAT (256k): wake for so much. Needs a tcp_rmem of 32 MB
 *		not to change anything, and saves most of the run's wall time.
 * -t NS	wait so long before time 0 of the run (10 ms)
 * -z FILE	write that time, ns of CLOCK_MONOTONIC, to FILE
 *
 * Every time is of CLOCK_MONOTONIC by timerfd, which has no slack. Source ports
 * count up from 10000 on each host in the order of starts; destination ports are
 * 5000 and up, one for each CC in the order of the flow list.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NEVER		UINT64_MAX
#define FIRST_SPORT	10000
#define FIRST_DPORT	5000
#define CHUNK		1048576		/* send() at most */
#define ETH_IP_TCP	66		/* headers of a segment, with timestamps */
#define MAX_FLOWS	(65536 - FIRST_SPORT)	/* of a host: a port each */
#define MAX_NS		1000000000000ULL	/* of the run */
#define MAX_SIZE	1e12
#define MAX_FILES	1048576		/* as much as the kernel lets root have */

struct host {
	char name[64];
	int ns;
	struct sockaddr_storage addr;	/* without a port */
	uint32_t n_flows, n_started;
	uint32_t *by_port;		/* flows, from FIRST_SPORT */
};

struct path {
	uint64_t rtt, rate;
	uint32_t mtu;
};

/* Flow sizes: so many percent are no larger. */
struct point {
	double bytes, percent;
};

/* From SEED: what there is for a host's next flow. */
struct generator {
	uint64_t from, to, seed;
	uint32_t at_once;		/* flows of a host; 0: poisson */
	double load;			/* of the host's rate */
	uint32_t cc;
	const struct point *sizes;	/* the last has 100 % */
	uint64_t *streams;		/* of random numbers, by host */
};

enum kind { LISTEN, SEND, RECEIVE, TIMER };

/* What epoll says, in 64 bits: kind, index. */
#define TAG(kind, i)	((uint64_t)(kind) << 32 | (i))

struct flow {
	uint64_t start, stop, size;	/* size NEVER: without end */
	uint64_t again;			/* when the second half is sent */
	uint32_t src, dst, cc;
	uint32_t closed;		/* of generators[], + 1: another follows */
	int tx, rx;			/* sockets, -1: not open */
	uint16_t port;
	bool done;
	uint64_t sent, received;
	uint64_t at_from, at_to;	/* received by then */
	uint64_t sampled;
	uint64_t connected, end;	/* ns of the run */
	uint32_t retrans, timeouts;
};

enum what { START, AGAIN, STOP, FROM, TO, END };

struct event {
	uint64_t at;
	enum what what;
	uint32_t flow;
};

struct listener {
	int fd;
	uint32_t host;
};

static struct host *hosts;
static uint32_t n_hosts;
static struct flow *flows;
static uint32_t n_flows, flows_left;
static struct event *events;
static uint32_t n_events, next_event;
static struct listener *listeners;
static uint32_t n_listeners;
static char (*ccs)[16];
static uint32_t n_ccs;
static uint32_t n_path_hosts;		/* the first of hosts[] */
static struct path *paths;		/* n_path_hosts * n_path_hosts, or NULL */
static struct generator *generators;
static uint32_t n_generators;

static struct path path = { .mtu = 1500 };
static uint64_t from = NEVER, to = NEVER, end = NEVER, interval, next_sample;
static uint64_t wait_ns = 10000000, t0;
static int notsent_lowat = 256 << 10, rcvlowat = 256 << 10;
static int family = AF_INET;
static const char *link_file;
static FILE *samples;
static int epoll_fd, timer_fd;
static bool ended;
static char zeros[CHUNK];

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void *grow(void *list, uint32_t n, size_t size)
{
	if (n & (n - 1))
		return list;
	list = reallocarray(list, n ? 2 * (size_t)n : 1, size);
	if (!list)
		error(1, errno, "memory");
	return list;
}

static uint64_t parse(const char *what, const char *text)
{
	uint64_t value;
	char *rest;

	errno = 0;
	value = strtoull(text, &rest, 10);
	if (*rest == 'k' && !rest[1]) {
		value <<= 10;
		rest++;
	}
	if (rest == text || *rest || errno || *text == '-')
		error(2, 0, "%s \"%s\" is not a number", what, text);
	return value;
}

/* -------------------------------------------------------------------- */
/* Hosts and the flow list */

static void enter(const struct host *h)
{
	static const struct host *at;

	if (h != at && setns(h->ns, CLONE_NEWNET))
		error(1, errno, "namespace %s", h->name);
	at = h;
}

static void set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

static uint16_t get_port(const struct sockaddr_storage *addr)
{
	return ntohs(family == AF_INET ?
		     ((const struct sockaddr_in *)addr)->sin_port :
		     ((const struct sockaddr_in6 *)addr)->sin6_port);
}

static socklen_t addr_len(void)
{
	return family == AF_INET ? sizeof(struct sockaddr_in) :
				   sizeof(struct sockaddr_in6);
}

static bool is_global(const struct ifaddrs *ifa)
{
	const struct sockaddr_in6 *v6 = (const void *)ifa->ifa_addr;

	return ifa->ifa_addr && ifa->ifa_addr->sa_family == family &&
	       !(ifa->ifa_flags & IFF_LOOPBACK) &&
	       (family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr));
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

/* Hosts + 1 by name and by address; open addressing: a Clos has hundreds. */
static uint32_t by_name[1 << 16], by_addr[1 << 16];

static uint32_t *name_slot(const char *name)
{
	uint16_t i = hash(name, strlen(name));

	while (by_name[i] && strcmp(hosts[by_name[i] - 1].name, name))
		i++;
	return &by_name[i];
}

/* Without a port. */
static uint32_t *addr_slot(const struct sockaddr_storage *addr)
{
	uint16_t i = hash(addr, addr_len());

	while (by_addr[i] && memcmp(&hosts[by_addr[i] - 1].addr, addr,
				    addr_len()))
		i++;
	return &by_addr[i];
}

static uint32_t find_host(const char *name, bool add)
{
	struct ifaddrs *ifas = NULL, *ifa;
	uint32_t *slot = name_slot(name);
	char file[128];
	struct host *h;

	if (*slot || !add)
		return *slot - 1;

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
	memcpy(&h->addr, ifa->ifa_addr, addr_len());
	freeifaddrs(ifas);
	*slot = n_hosts + 1;
	*addr_slot(&h->addr) = n_hosts + 1;
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

static struct flow *new_flow(uint32_t src, uint32_t dst, uint64_t size,
			     uint64_t start, uint32_t cc)
{
	struct flow *w;

	if (hosts[src].n_flows++ == MAX_FLOWS)
		error(2, 0, "%s: more than %u connections", hosts[src].name,
		      MAX_FLOWS);
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
static void read_paths(const char *name)
{
	FILE *f = fopen(name, "re");
	char src[64], dst[64];
	struct path p;

	if (!f)
		error(1, errno, "%s", name);
	while (fscanf(f, "%63s %63s %lu %lu %u", src, dst, &p.rtt, &p.rate,
		      &p.mtu) == 5)
		find_host(src, true);
	if (!feof(f) || !n_hosts)
		error(2, 0, "%s: not what \"testbed paths\" prints", name);
	n_path_hosts = n_hosts;
	paths = calloc((size_t)n_hosts * n_hosts, sizeof(*paths));
	if (!paths)
		error(1, errno, "memory");
	rewind(f);
	while (fscanf(f, "%63s %63s %lu %lu %u", src, dst, &p.rtt, &p.rate,
		      &p.mtu) == 5) {
		uint32_t i = find_host(src, false);
		uint32_t j = find_host(dst, false);

		if (j < n_hosts)
			paths[(size_t)i * n_hosts + j] = p;
	}
	fclose(f);
}

static const struct path *find_path(uint32_t src, uint32_t dst)
{
	static const struct path none;

	if (!paths)
		return &path;
	if (src >= n_path_hosts || dst >= n_path_hosts)
		return &none;
	return &paths[(size_t)src * n_path_hosts + dst];
}

/* -------------------------------------------------------------------- */
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

static uint64_t parse_range(const char *what, const char *text, uint64_t min,
			    uint64_t max)
{
	uint64_t value = parse(what, text);

	if (value < min || value > max)
		error(2, 0, "%s \"%s\": %" PRIu64 " to %" PRIu64, what, text,
		      min, max);
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
		if (!(p.bytes >= 0 && p.bytes <= MAX_SIZE && p.percent >= 0 &&
		      p.percent <= 100) ||
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
		error(2, 0, "-p: no path from %s to %s", hosts[src].name,
		      hosts[dst].name);
	w = new_flow(src, dst, size, start, g->cc);
	if (g->at_once)
		w->closed = index + 1;
}

/* All that poisson starts, and what closed starts with. */
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
		for (j = 0; j < g->at_once; j++)
			generate(index, i, g->from);
		if (g->at_once)
			continue;
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

static void add_generator(char **word)
{
	struct generator *g;
	char *rest;

	if (n_path_hosts < 2)
		error(2, 0, "%s: between which hosts (-p)?", word[0]);
	generators = grow(generators, n_generators, sizeof(*generators));
	g = &generators[n_generators];
	memset(g, 0, sizeof(*g));
	g->from = parse_range("FROM_NS", word[1], 0, MAX_NS);
	g->to = parse_range("TO_NS", word[2], g->from + 1, MAX_NS);
	if (!strcmp(word[0], "closed")) {
		g->at_once = parse_range("N", word[3], 1, MAX_FLOWS);
	} else {
		g->load = strtod(word[3], &rest) / 100;
		if (*rest || !(g->load > 0 && g->load <= 1))
			error(2, 0, "LOAD \"%s\": more than 0, to 100 percent",
			      word[3]);
	}
	g->sizes = find_sizes(word[4]);
	g->seed = parse("SEED", word[5]);
	g->cc = find_cc(word[6]);
	g->streams = calloc(n_path_hosts, sizeof(*g->streams));
	if (!g->streams)
		error(1, errno, "memory");
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
	if (n == 6)
		w->stop = parse("STOP_NS", word[4]);
	if (at)
		w->again = parse_range("@NS", at, w->start + 1, MAX_NS);
	if (!w->size || w->src == w->dst || w->stop <= w->start)
		error(2, 0, "flow list, line %u: nothing to send", line);
	if (w->size == NEVER && w->stop == NEVER && end == NEVER)
		error(2, 0, "flow list, line %u: no end (-e)", line);
}

static void read_flows(const char *name)
{
	FILE *f = name ? fopen(name, "re") : stdin;
	char *line = NULL, *word[8], *rest;
	unsigned int number_of_line = 0;
	size_t room = 0;
	int n;

	if (!f)
		error(1, errno, "%s", name);
	while (getline(&line, &room, f) > 0) {
		number_of_line++;
		line[strcspn(line, "#")] = '\0';
		rest = line;
		for (n = 0; n < 8; n++) {
			word[n] = strtok_r(n ? NULL : rest, " \t\n", &rest);
			if (!word[n])
				break;
		}
		if (!n)
			continue;
		if (!strcmp(word[0], "poisson") ||
		    !strcmp(word[0], "closed")) {
			if (n != 7)
				error(2, 0, "flow list, line %u: %s FROM_NS TO_NS %s DIST SEED CC",
				      number_of_line, word[0],
				      *word[0] == 'p' ? "LOAD" : "N");
			add_generator(word);
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

static void add_event(uint64_t at, enum what what, uint32_t flow)
{
	if (at == NEVER)
		return;
	events = grow(events, n_events, sizeof(*events));
	events[n_events++] = (struct event) {
		.at = at, .what = what, .flow = flow,
	};
}

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return x->flow < y->flow ? -1 : x->flow > y->flow;
}

static void plan(void)
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

/* -------------------------------------------------------------------- */
/* Sockets */

static void watch(int fd, uint32_t what, uint64_t tag)
{
	struct epoll_event ev = { .events = what, .data.u64 = tag };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev))
		error(1, errno, "epoll");
}

static void watch_else(int fd, uint32_t what, uint64_t tag)
{
	struct epoll_event ev = { .events = what, .data.u64 = tag };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &ev))
		error(1, errno, "epoll");
}

static void set_lowat(int fd, uint64_t left)
{
	int lowat = left < (uint64_t)rcvlowat ? (int)left : rcvlowat;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat)))
		error(1, errno, "SO_RCVLOWAT");
}

static int open_socket(const struct host *h, uint32_t cc, uint16_t port)
{
	struct sockaddr_storage addr = h->addr;
	int fd, one = 1;

	enter(h);
	fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		error(1, errno, "socket");
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, ccs[cc],
		       strlen(ccs[cc])))
		error(1, errno, "congestion control %s", ccs[cc]);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	set_port(&addr, port);
	if (bind(fd, (struct sockaddr *)&addr, addr_len()))
		error(1, errno, "%s: port %u", h->name, port);
	return fd;
}

static void listen_on(uint32_t host, uint32_t cc)
{
	struct listener *l;

	listeners = grow(listeners, n_listeners, sizeof(*listeners));
	l = &listeners[n_listeners];
	l->host = host;
	l->fd = open_socket(&hosts[host], cc, FIRST_DPORT + cc);
	set_lowat(l->fd, NEVER);
	if (listen(l->fd, 65535))
		error(1, errno, "listen");
	watch(l->fd, EPOLLIN, TAG(LISTEN, n_listeners));
	n_listeners++;
}

static void listen_all(void)
{
	uint8_t *wanted = calloc(n_hosts, n_ccs);
	uint32_t i, j;

	if (!wanted)
		error(1, errno, "memory");
	for (i = 0; i < n_flows; i++)
		wanted[flows[i].dst * n_ccs + flows[i].cc] = 1;
	for (i = 0; i < n_generators; i++)
		for (j = 0; j < n_path_hosts; j++)
			wanted[j * n_ccs + generators[i].cc] = 1;
	for (i = 0; i < n_hosts * n_ccs; i++)
		if (wanted[i])
			listen_on(i / n_ccs, i % n_ccs);
	free(wanted);
}

/* Where struct tcp_info, since 6.7, has tcpi_total_rto: headers may be older. */
#define TOTAL_RTO	240
_Static_assert(offsetof(struct tcp_info, tcpi_snd_wnd) == TOTAL_RTO - 12,
	       "tcp_info");

static void count_losses(struct flow *w)
{
	union {
		struct tcp_info info;
		uint16_t word[256];
	} u = { 0 };
	socklen_t len = sizeof(u);

	if (getsockopt(w->tx, IPPROTO_TCP, TCP_INFO, &u, &len))
		error(1, errno, "TCP_INFO");
	w->retrans = u.info.tcpi_total_retrans;
	w->timeouts = u.word[TOTAL_RTO / 2];
}

/* In order and acknowledged, which is more than what has been read. */
static uint64_t received(const struct flow *w)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (w->rx < 0)
		return w->received;
	if (getsockopt(w->rx, IPPROTO_TCP, TCP_INFO, &info, &len))
		error(1, errno, "TCP_INFO");
	return info.tcpi_bytes_received;
}

static void close_flow(struct flow *w)
{
	if (w->tx >= 0) {
		count_losses(w);
		close(w->tx);
	}
	if (w->rx >= 0)
		close(w->rx);
	w->tx = -1;
	w->rx = -1;
	w->done = true;
	flows_left--;
}

static void start_flow(uint32_t i)
{
	struct flow *w = &flows[i];
	struct host *src = &hosts[w->src];
	struct sockaddr_storage addr = hosts[w->dst].addr;

	src->by_port = grow(src->by_port, src->n_started,
			    sizeof(*src->by_port));
	src->by_port[src->n_started] = i;
	w->port = FIRST_SPORT + src->n_started++;
	w->tx = open_socket(src, w->cc, w->port);
	setsockopt(w->tx, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &notsent_lowat,
		   sizeof(notsent_lowat));
	set_port(&addr, FIRST_DPORT + w->cc);
	if (connect(w->tx, (struct sockaddr *)&addr, addr_len()) &&
	    errno != EINPROGRESS)
		error(1, errno, "flow %u: connect", i);
	watch(w->tx, EPOLLOUT, TAG(SEND, i));
}

/* A reset tells the other end, which then reads what there is and closes. */
static void stop_flow(struct flow *w)
{
	struct linger linger = { .l_onoff = 1 };

	if (w->done || w->tx < 0)
		return;
	count_losses(w);
	setsockopt(w->tx, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(w->tx);
	w->tx = -1;
	if (w->rx < 0)
		close_flow(w);
}

static void send_some(uint32_t i, uint32_t what)
{
	struct flow *w = &flows[i];
	uint64_t due = w->again == NEVER ? w->size : w->size / 2;
	uint64_t left = due - w->sent;
	ssize_t n;

	if (w->tx < 0)
		return;
	if (what & (EPOLLERR | EPOLLHUP)) {
		int err = 0;
		socklen_t len = sizeof(err);

		getsockopt(w->tx, SOL_SOCKET, SO_ERROR, &err, &len);
		error(0, err, "flow %u: %s to %s", i, hosts[w->src].name,
		      hosts[w->dst].name);
		close_flow(w);
		return;
	}
	if (w->connected == NEVER)
		w->connected = now() - t0;
	/* less than asked for: it is full, and need not fail to say so */
	n = send(w->tx, zeros, left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		error(1, errno, "flow %u: send", i);
	if (n > 0)
		w->sent += n;
	if (w->sent == due)
		watch_else(w->tx, 0, TAG(SEND, i));
}

/* The second half is due, and the first may still be on its way. */
static void send_again(uint32_t i)
{
	struct flow *w = &flows[i];

	w->again = NEVER;
	if (w->tx >= 0 && w->sent == w->size / 2)
		watch_else(w->tx, EPOLLOUT, TAG(SEND, i));
}

/* What a generator has next for a host whose last flow ended at that time. */
static void start_next(uint32_t index, uint32_t src, uint64_t at)
{
	struct flow *w;

	if (at >= generators[index].to)
		return;
	generate(index, src, at);
	w = &flows[n_flows - 1];
	if (from <= at)
		w->at_from = 0;
	if (to <= at)
		w->at_to = 0;
	start_flow(n_flows - 1);
}

static void receive_some(uint32_t i)
{
	struct flow *w = &flows[i];
	ssize_t n;

	if (w->rx < 0)
		return;
	n = recv(w->rx, NULL, 1 << 30, MSG_TRUNC);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		w->received += n;
	if (w->received == w->size)
		w->end = now() - t0;
	if (n <= 0 || w->received == w->size)
		close_flow(w);
	else if (w->size - w->received < (uint64_t)rcvlowat)
		set_lowat(w->rx, w->size - w->received);
	if (w->end != NEVER && w->closed)
		start_next(w->closed - 1, w->src, w->end);
}

static void accept_one(const struct listener *l)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	uint32_t i, h, port;
	struct flow *w;
	int fd;

	fd = accept4(l->fd, (struct sockaddr *)&addr, &len,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && errno == EAGAIN)
		return;
	if (fd < 0)
		error(1, errno, "accept");
	port = get_port(&addr);
	set_port(&addr, 0);
	h = *addr_slot(&addr);
	if (!h || port < FIRST_SPORT ||
	    port >= FIRST_SPORT + hosts[h - 1].n_started) {
		error(0, 0, "%s: a connection of someone else",
		      hosts[l->host].name);
		close(fd);
		return;
	}
	i = hosts[h - 1].by_port[port - FIRST_SPORT];
	w = &flows[i];
	if (w->done) {
		close(fd);
		return;
	}
	w->rx = fd;
	if (w->size < (uint64_t)rcvlowat)
		set_lowat(fd, w->size);
	watch(fd, EPOLLIN, TAG(RECEIVE, i));
}

/* -------------------------------------------------------------------- */
/* The run */

static void link_reset(void)
{
	int fd;

	if (!link_file)
		return;
	fd = open("/proc/lablink", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "reset\n", 6) != 6)
		error(1, errno, "/proc/lablink");
	close(fd);
}

static void link_copy(void)
{
	char buf[65536];
	ssize_t n;
	int in, out;

	if (!link_file)
		return;
	in = open("/proc/lablink", O_RDONLY | O_CLOEXEC);
	out = open(link_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (in < 0 || out < 0)
		error(1, errno, "/proc/lablink to %s", link_file);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			error(1, errno, "%s", link_file);
	close(in);
	close(out);
}

static void happen(const struct event *e)
{
	uint32_t i;

	switch (e->what) {
	case START:
		start_flow(e->flow);
		break;
	case AGAIN:
		send_again(e->flow);
		break;
	case STOP:
		stop_flow(&flows[e->flow]);
		break;
	case FROM:
		for (i = 0; i < n_flows; i++)
			flows[i].at_from = received(&flows[i]);
		link_reset();
		break;
	case TO:
		link_copy();
		for (i = 0; i < n_flows; i++)
			flows[i].at_to = received(&flows[i]);
		break;
	case END:
		ended = true;
		break;
	}
}

static void sample(uint64_t at)
{
	uint32_t i;

	for (i = 0; i < n_flows; i++) {
		struct flow *w = &flows[i];
		uint64_t bytes = received(w);

		if (bytes == w->sampled)
			continue;
		w->sampled = bytes;
		fprintf(samples, "%" PRIu64 " %u %" PRIu64 "\n", at, i, bytes);
	}
}

static void set_timer(void)
{
	uint64_t at = next_event < n_events ? events[next_event].at : NEVER;
	struct itimerspec its = { 0 };

	if (next_sample < at)
		at = next_sample;
	if (at == NEVER)
		return;
	at += t0;
	its.it_value.tv_sec = at / 1000000000;
	its.it_value.tv_nsec = at % 1000000000;
	if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &its, NULL))
		error(1, errno, "timerfd");
}

static void expire(void)
{
	uint64_t count, at;

	if (read(timer_fd, &count, sizeof(count)) != sizeof(count))
		return;
	at = now() - t0;
	while (!ended) {
		bool event = next_event < n_events &&
			     events[next_event].at <= at;

		if (next_sample <= at &&
		    (!event || next_sample <= events[next_event].at)) {
			sample(next_sample);
			next_sample += interval;
		} else if (event) {
			happen(&events[next_event++]);
		} else {
			break;
		}
	}
	set_timer();
}

/* What is left over has its count of retransmissions, at least. */
static void finish(void)
{
	uint32_t i;

	for (i = 0; i < n_flows; i++) {
		struct flow *w = &flows[i];

		if (w->at_from == NEVER)
			w->at_from = from == NEVER ? 0 : received(w);
		if (w->at_to == NEVER)
			w->at_to = received(w);
		if (w->done)
			continue;
		w->received = received(w);
		close_flow(w);
	}
}

static void run(void)
{
	struct epoll_event evs[64];
	int i, n;

	t0 = now() + wait_ns;
	t0 -= t0 % 1000;
	next_sample = interval ? 0 : NEVER;
	set_timer();
	while (!ended && (flows_left || (to != NEVER && now() - t0 < to))) {
		n = epoll_wait(epoll_fd, evs, 64, -1);
		if (n < 0 && errno != EINTR)
			error(1, errno, "epoll");
		for (i = 0; i < n; i++) {
			uint32_t index = evs[i].data.u64;

			switch (evs[i].data.u64 >> 32) {
			case LISTEN:
				accept_one(&listeners[index]);
				break;
			case SEND:
				send_some(index, evs[i].events);
				break;
			case RECEIVE:
				receive_some(index);
				break;
			case TIMER:
				expire();
				break;
			}
		}
	}
	finish();
}

static uint64_t ideal(const struct flow *w)
{
	const struct path *p = find_path(w->src, w->dst);
	uint32_t headers = ETH_IP_TCP + (family == AF_INET ? 0 : 20);
	uint32_t mss;
	double bits;

	if (w->size == NEVER || !p->rate || p->mtu + 14 <= headers)
		return NEVER;
	mss = p->mtu + 14 - headers;
	bits = w->size + (w->size + mss - 1) / mss * headers;
	bits *= 8;
	return p->rtt + (uint64_t)(bits * 1e9 / p->rate + 0.5);
}

static void put(uint64_t value)
{
	if (value == NEVER)
		fputs(" -", stdout);
	else
		printf(" %" PRIu64, value);
}

static void report(void)
{
	uint32_t i;

	fputs("# id src dst size start_ns fct_ns ideal_ns bytes_received", stdout);
	puts(" bytes_in_window cc setup_ns retrans timeouts port");
	for (i = 0; i < n_flows; i++) {
		struct flow *w = &flows[i];

		printf("%u %s %s", i, hosts[w->src].name, hosts[w->dst].name);
		put(w->size);
		put(w->start);
		put(w->end == NEVER ? NEVER : w->end - w->start);
		put(ideal(w));
		put(w->received);
		put(w->at_to - w->at_from);
		printf(" %s", ccs[w->cc]);
		put(w->connected == NEVER ? NEVER : w->connected - w->start);
		printf(" %u %u %u\n", w->retrans, w->timeouts, w->port);
	}
	if (fflush(stdout))
		error(1, errno, "stdout");
	if (samples && fclose(samples))
		error(1, errno, "samples");
}

static void write_zero(const char *name)
{
	FILE *f = fopen(name, "we");

	if (!f || fprintf(f, "%" PRIu64 "\n", t0) < 0 || fclose(f))
		error(1, errno, "%s", name);
}

int main(int argc, char **argv)
{
	const char *path_file = NULL, *sample_file = NULL, *zero_file = NULL;
	struct rlimit limit;
	char *colon;
	int opt;

	while ((opt = getopt(argc, argv, "w:e:i:s:l:r:b:m:p:6n:L:t:z:")) != -1) {
		switch (opt) {
		case 'w':
			colon = strchr(optarg, ':');
			if (!colon)
				error(2, 0, "-w FROM:TO");
			*colon++ = '\0';
			from = parse("-w", optarg);
			if (strcmp(colon, "-"))
				to = parse("-w", colon);
			if (to <= from)
				error(2, 0, "-w: nothing between");
			break;
		case 'e':
			end = parse("-e", optarg);
			break;
		case 'i':
			interval = parse("-i", optarg);
			break;
		case 's':
			sample_file = optarg;
			break;
		case 'l':
			link_file = optarg;
			break;
		case 'r':
			path.rtt = parse("-r", optarg);
			break;
		case 'b':
			path.rate = parse("-b", optarg);
			break;
		case 'm':
			path.mtu = parse("-m", optarg);
			break;
		case 'p':
			path_file = optarg;
			break;
		case '6':
			family = AF_INET6;
			break;
		case 'n':
			notsent_lowat = parse("-n", optarg);
			break;
		case 'L':
			rcvlowat = parse("-L", optarg);
			break;
		case 't':
			wait_ns = parse("-t", optarg);
			break;
		case 'z':
			zero_file = optarg;
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 < argc)
		error(2, 0, "\"%s\": one flow list", argv[optind + 1]);
	if (!interval != !sample_file)
		error(2, 0, "-i and -s go together");

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < MAX_FILES && !geteuid())
		limit.rlim_max = MAX_FILES;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (epoll_fd < 0 || timer_fd < 0)
		error(1, errno, "epoll, timerfd");
	if (path_file)
		read_paths(path_file);
	read_flows(optind < argc ? argv[optind] : NULL);
	if (sample_file) {
		samples = fopen(sample_file, "we");
		if (!samples)
			error(1, errno, "%s", sample_file);
	}
	plan();
	watch(timer_fd, EPOLLIN, TAG(TIMER, 0));
	listen_all();
	run();
	report();
	if (zero_file)
		write_zero(zero_file);
	return 0;
}
