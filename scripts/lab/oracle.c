// SPDX-License-Identifier: GPL-2.0
/*
 * What the load alone makes of flows: the times that they take when all links are shared
 * max-min fair at each moment and nothing waits.
 *
 *	oracle RATE MTU <FLOWS
 *
 * FLOWS is what tgen prints. RATE (bit/s) is that of each host's link in either direction,
 * MTU that of packets; the core is never the bottleneck. Of each flow with a size, in the
 * same order, a line "id oracle_ns rtt_ns": the base RTT, as in ideal_ns, and the time in
 * which its bytes with headers flow; and that RTT. They begin to a base RTT after START_NS,
 * when a handshake through empty queues is over, or at once on a connection that was there
 * (setup_ns 0). A flow alone has its ideal_ns.
 */
#include <errno.h>
#include <error.h>
#include <math.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ethernet, IPv4, TCP with time stamps: as in tgen */
#define HEADERS		66
#define MAX_HOSTS	1024

struct flow {
	unsigned int id;
	unsigned int up, down;	/* links: those of its sender and its receiver */
	double rtt;		/* ns */
	double begin;		/* ns of the run */
	double left;		/* bits, with headers */
	double rate;		/* bit/ns */
	double end;		/* ns of the run */
	bool fixed;		/* in this round of shares() */
};

static struct flow *flows;
static size_t n_flows;
static struct flow **active;
static size_t n_active;
static unsigned int n_hosts;
static double rate;		/* bit/ns */
static double mtu;

/* The links of host K: 2K from it, 2K + 1 to it. */
static unsigned int host(const char *name)
{
	ENTRY *e = hsearch((ENTRY){ .key = (char *)name }, FIND);

	if (e)
		return (uintptr_t)e->data;
	if (n_hosts == MAX_HOSTS)
		error(1, 0, "more than %d hosts", MAX_HOSTS);
	if (!hsearch((ENTRY){ strdup(name), (void *)(uintptr_t)n_hosts }, ENTER))
		error(1, errno, "%s", name);
	return n_hosts++;
}

static void read_flow(const char *line)
{
	double size, start, ideal, setup = 1;
	char src[64], dst[64];
	struct flow f = {};

	if (sscanf(line, "%u %63s %63s %lf %lf %*s %lf %*s %*s %*s %lf", &f.id, src, dst,
		   &size, &start, &ideal, &setup) < 6)
		return;		/* without end, or no flow */
	f.up = 2 * host(src);
	f.down = 2 * host(dst) + 1;
	f.left = 8 * (size + ceil(size / (mtu + 14 - HEADERS)) * HEADERS);
	f.rtt = fmax(ideal - f.left / rate, 0);
	f.begin = start + (setup > 0 ? f.rtt : 0);
	if (!(n_flows & (n_flows - 1))) {
		flows = realloc(flows, (n_flows ? 2 * n_flows : 1) * sizeof(*flows));
		if (!flows)
			error(1, errno, "flows");
	}
	flows[n_flows++] = f;
}

/* The link on which a flow gets least, and what it gets there. */
static unsigned int tightest(const double *room, const unsigned int *n, double *share)
{
	unsigned int i, link = 0;

	*share = INFINITY;
	for (i = 0; i < 2 * n_hosts; i++) {
		if (n[i] && room[i] / n[i] < *share) {
			*share = room[i] / n[i];
			link = i;
		}
	}
	return link;
}

/* Max-min fair: flows of the tightest link get their share of it, then those of the next. */
static void shares(void)
{
	static double room[2 * MAX_HOSTS];
	static unsigned int n[2 * MAX_HOSTS];
	size_t i, left = n_active;

	for (i = 0; i < 2 * n_hosts; i++) {
		room[i] = rate;
		n[i] = 0;
	}
	for (i = 0; i < n_active; i++) {
		active[i]->fixed = false;
		n[active[i]->up]++;
		n[active[i]->down]++;
	}
	while (left) {
		double share;
		unsigned int link = tightest(room, n, &share);

		for (i = 0; i < n_active; i++) {
			struct flow *f = active[i];

			if (f->fixed || (f->up != link && f->down != link))
				continue;
			f->fixed = true;
			f->rate = share;
			room[f->up] -= share;
			room[f->down] -= share;
			n[f->up]--;
			n[f->down]--;
			left--;
		}
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int by_id(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* From one begin or end of a flow to the next. */
static void run(void)
{
	size_t i, next = 0;
	double now = 0;

	while (next < n_flows || n_active) {
		double then = next < n_flows ? flows[next].begin : INFINITY;

		shares();
		for (i = 0; i < n_active; i++)
			then = fmin(then, now + active[i]->left / active[i]->rate);
		for (i = 0; i < n_active;) {
			active[i]->left -= active[i]->rate * (then - now);
			/* a thousandth of a bit is what rounding leaves */
			if (active[i]->left > 0.001) {
				i++;
				continue;
			}
			active[i]->end = then;
			active[i] = active[--n_active];
		}
		now = then;
		while (next < n_flows && flows[next].begin <= now)
			active[n_active++] = &flows[next++];
	}
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t size = 0, i;

	if (argc == 3) {
		rate = atof(argv[1]) / 1e9;
		mtu = atof(argv[2]);
	}
	if (rate <= 0 || mtu <= HEADERS)
		error(2, 0, "usage: oracle RATE MTU <FLOWS");
	if (!hcreate(2 * MAX_HOSTS))
		error(1, errno, "hcreate");
	while (getline(&line, &size, stdin) > 0)
		read_flow(line);
	free(line);
	qsort(flows, n_flows, sizeof(*flows), by_begin);
	active = calloc(n_flows + 1, sizeof(*active));
	if (!active)
		error(1, errno, "flows");
	run();
	qsort(flows, n_flows, sizeof(*flows), by_id);
	for (i = 0; i < n_flows; i++)
		printf("%u %.0f %.0f\n", flows[i].id,
		       flows[i].rtt + flows[i].end - flows[i].begin, flows[i].rtt);
	return 0;
}
