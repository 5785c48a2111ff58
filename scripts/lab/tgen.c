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
 *	rpc FROM_NS TO_NS LOAD DIST SEED CC N
 *
 * poisson starts connections with exponential gaps between, so many that what a
 * host sends is LOAD percent of its rate (that of its fastest path), headers not
 * counted. Sizes have the distribution DIST: websearch, fb_hadoop, alistorage, a
 * number of bytes, or a file with lines "BYTES PERCENT": so many are no larger; both
 * rise, the last is 100; linear between, and from 0 to the first.
 * Gaps, sizes and receivers of a host come from SEED and its name, the k-th of each
 * for its k-th connection, whatever the network does with them.
 *
 * rpc has messages, as poisson has connections, on connections that are kept: every
 * host opens N to every other, one after the other from 0 to FROM_NS, without Nagle's
 * delay. A message is, by a coin for each, of one of two kinds:
 *
 *	request		goes from the opener; once it is there 64 bytes come back
 *	answer		goes to the opener, from which 64 bytes come for it at the time
 *			that is drawn; it starts once its sender has read them
 *
 * So messages go both ways on each connection, which is idle in between, and a host
 * offers LOAD with those that it sends. Of the N from its opener to the other host a
 * message takes the one with the fewest bytes that have yet to arrive, the first of
 * equals: bytes of either way, with the 64 and answers that are asked for. Messages
 * that go the same way on one connection are in order: where all N are in use one
 * waits for others, and that is part of its fct_ns.
 *
 * Once all is done, a line for each connection in the same order:
 *
 *	id src dst size start_ns fct_ns ideal_ns bytes_received bytes_in_window
 *	cc setup_ns retrans timeouts src_port dst_port
 *
 * fct_ns is from START_NS, when connect() is called, to the arrival of the last
 * byte, "-" when it has not arrived; setup_ns the part of it until SRC is connected;
 * ideal_ns base RTT + size with headers over the bottleneck's rate (-p);
 * retrans and timeouts of SRC, in segments and times.
 * Of rpc each message has a line, the 64 bytes have none. start_ns is when it can be
 * written, of an answer that has yet to be called for when that is due; setup_ns is 0.
 * The first message of a connection has the retrans and timeouts of both ends, the
 * others 0.
 * Lines that begin with # say what was asked for.
 *
 * -w FROM:TO	count bytes_in_window from FROM to TO ns of the run (-: to the end)
 * -e NS	end of the run; default: when all connections and messages are done
 * -i NS -s FILE	write "t id bytes" to FILE, each NS, of what each connection
 *		has received, lines that say nothing new left out
 * -l FILE	reset /proc/lablink at FROM and copy it to FILE at TO of -w
 * -p FILE	what "testbed paths" prints, for generators and ideal_ns
 * -z FILE	write time 0 of the run, a whole ms, ns of CLOCK_MONOTONIC, to FILE
 *
 * A socket takes at most 256 KB that it cannot send yet, and wakes its reader when
 * 256 KB have arrived. With a tcp_rmem of 32 MB this changes no result, and saves
 * most of the run's wall time.
 *
 * Every time is of CLOCK_MONOTONIC by timerfd, which has no slack. Source ports
 * count up from 10000 on each host in the order of starts; destination ports are
 * 5000 and up, one for each CC in the order of the flow list.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "tgen.h"

struct host *hosts;
uint32_t n_hosts;
struct flow *flows;
uint32_t n_flows, flows_left;
struct event *events;
uint32_t n_events;
static uint32_t next_event;
char (*ccs)[16];
uint32_t n_ccs;
uint32_t n_path_hosts;		/* the first of hosts[] */
struct generator *generators;
uint32_t n_generators;

uint64_t from = NEVER, to = NEVER, end = NEVER;
static uint64_t interval, next_sample;
uint64_t t0;
static const char *link_file;
static FILE *samples;
int epoll_fd;
static int timer_fd;
static bool ended;
char zeros[CHUNK];

uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void *grow(void *list, uint32_t n, size_t size)
{
	if (n & (n - 1))
		return list;
	list = reallocarray(list, n ? 2 * (size_t)n : 1, size);
	if (!list)
		error(1, errno, "memory");
	return list;
}

uint64_t parse(const char *what, const char *text)
{
	uint64_t value;
	char *rest;

	errno = 0;
	value = strtoull(text, &rest, 10);
	if (rest == text || *rest || errno || *text == '-')
		error(2, 0, "%s \"%s\" is not a number", what, text);
	return value;
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
	case OPEN:
		open_conn(e->index);
		break;
	case START:
		if (flows[e->index].message)
			start_message(e->index);
		else
			start_flow(e->index);
		break;
	case AGAIN:
		send_again(e->index);
		break;
	case STOP:
		stop_flow(&flows[e->index]);
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
		bool event = next_event < n_events && events[next_event].at <= at;

		if (next_sample <= at && (!event || next_sample <= events[next_event].at)) {
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
	close_conns();
}

static void run(void)
{
	struct epoll_event evs[64];
	int i, n;

	/*
	 * What ran before took a little longer or shorter, as the paths that it
	 * looked up are. When time stamps (of 16 ns) and timers (of ticks) are
	 * rounded from here on must not depend on it.
	 */
	t0 = (now() + WAIT_NS) / TICK_NS * TICK_NS + TICK_NS;
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
				accept_one(index);
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
			case OPENER:
				serve_conn(index, 0, evs[i].events);
				break;
			case OTHER:
				serve_conn(index, 1, evs[i].events);
				break;
			}
		}
	}
	finish();
}

static uint64_t ideal(const struct flow *w)
{
	const struct path *p = find_path(w->src, w->dst);
	uint32_t mss;
	double bits;

	if (w->size == NEVER || !p->rate || p->mtu + 14 <= ETH_IP_TCP)
		return NEVER;
	mss = p->mtu + 14 - ETH_IP_TCP;
	bits = w->size + (w->size + mss - 1) / mss * ETH_IP_TCP;
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
	puts(" bytes_in_window cc setup_ns retrans timeouts src_port dst_port");
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
		printf(" %u %u %u %u\n", w->retrans, w->timeouts,
		       w->answer ? FIRST_DPORT + w->cc : w->port,
		       w->answer ? w->port : FIRST_DPORT + w->cc);
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

static const char *path_file, *sample_file, *zero_file;

static void parse_options(int argc, char **argv)
{
	char *colon;
	int opt;

	while ((opt = getopt(argc, argv, "w:e:i:s:l:p:z:")) != -1) {
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
		case 'p':
			path_file = optarg;
			break;
		case 'z':
			zero_file = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (optind + 1 < argc)
		error(2, 0, "\"%s\": one flow list", argv[optind + 1]);
	if (!interval != !sample_file)
		error(2, 0, "-i and -s go together");
}

static void prepare(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < MAX_FILES && !geteuid())
		limit.rlim_max = MAX_FILES;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (epoll_fd < 0 || timer_fd < 0)
		error(1, errno, "epoll, timerfd");
}

int main(int argc, char **argv)
{
	parse_options(argc, argv);
	prepare();
	if (path_file)
		read_paths(path_file);
	read_flows(optind < argc ? argv[optind] : NULL);
	if (sample_file) {
		samples = fopen(sample_file, "we");
		if (!samples)
			error(1, errno, "%s", sample_file);
	}
	plan();
	watch(EPOLL_CTL_ADD, timer_fd, EPOLLIN, TAG(TIMER, 0));
	listen_all();
	run();
	report();
	if (zero_file)
		write_zero(zero_file);
	return 0;
}
