// SPDX-License-Identifier: GPL-2.0
/*
 * What the load alone makes of flows: the times that they take when all links are shared
 * max-min fair at each moment and nothing waits.
 *
 *	oracle MTU WAYS <FLOWS
 *
 * FLOWS is what tgen prints, the file WAYS what testbed makes of it: the ports that each flow
 * goes by, and their rates. MTU is that of packets. Of each flow with a size, in the
 * order of their ids, a line "id oracle_ns rtt_ns": the base RTT, as in ideal_ns, and the time in
 * which its bytes with headers flow; and that RTT. They begin to a base RTT after START_NS,
 * when a handshake through empty queues is over, or at once on a connection that was there
 * (setup_ns 0). A flow alone has its ideal_ns.
 */
#define _GNU_SOURCE
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
#define MAX_LINKS	65536
#define MAX_HOPS	32	/* as in testbed */

struct flow {
	unsigned int id;
	unsigned int link[MAX_HOPS];
	unsigned int n_links;
	double rtt;		/* ns */
	double begin;		/* ns of the run */
	double left;		/* bits, with headers */
	double rate;		/* bit/ns */
	double end;		/* ns of the run */
	bool fixed;		/* in this round of shares() */
};

struct link {
	double rate;		/* bit/ns */
	double room;		/* ... of it that no flow has yet, in this round of shares() */
	double key;		/* in the heap: a share that has not been less since */
	unsigned int n;		/* flows without a share yet */
	unsigned int first, end;	/* its flows in users[] */
};

static struct flow *flows;
static size_t n_flows;
static struct flow **active;
static size_t n_active;
static struct link links[MAX_LINKS];
static unsigned int n_links;
static struct flow **users;	/* of all links, one after another */
static unsigned int heap[MAX_LINKS], n_heap;
static double mtu;

static void *room_for(void *list, size_t n, size_t size)
{
	if (n & (n - 1))
		return list;
	list = reallocarray(list, n ? 2 * n : 1, size);
	if (!list)
		error(1, errno, "flows");
	return list;
}

static unsigned int find_link(const char *name, double rate)
{
	ENTRY *e = hsearch((ENTRY){ .key = (char *)name }, FIND);

	if (e)
		return (uintptr_t)e->data;
	if (n_links == MAX_LINKS)
		error(1, 0, "more than %d links", MAX_LINKS);
	name = strdup(name);
	if (!name || !hsearch((ENTRY){ (char *)name, (void *)(uintptr_t)n_links }, ENTER))
		error(1, errno, "links");
	links[n_links].rate = rate;
	return n_links++;
}

/* The line of WAYS that is this flow's. Returns the rate of its slowest link, bit/ns. */
static double read_way(FILE *ways, struct flow *f)
{
	static char *line;
	static size_t size;
	double least = INFINITY;
	char *name, *rate, *rest;

	do {
		if (getline(&line, &size, ways) < 0)
			error(1, 0, "flow %u has no way", f->id);
		rest = line;
	} while (strtoul(strsep(&rest, " "), NULL, 10) != f->id);
	while ((name = strsep(&rest, "\n ")) && *name) {
		double bits;

		rate = strsep(&rest, "\n ");
		bits = rate ? atof(rate) / 1e9 : 0;
		if (f->n_links == MAX_HOPS || bits <= 0)
			error(1, 0, "flow %u: link %s of %s bit/s", f->id, name, rate ?: "no");
		f->link[f->n_links++] = find_link(name, bits);
		least = fmin(least, bits);
	}
	if (!f->n_links)
		error(1, 0, "flow %u: a way without a link", f->id);
	return least;
}

static void read_flow(const char *line, FILE *ways)
{
	double size, start, ideal, setup = 1;
	struct flow f = {};

	if (sscanf(line, "%u %*s %*s %lf %lf %*s %lf %*s %*s %*s %lf", &f.id, &size, &start,
		   &ideal, &setup) < 4)
		return;		/* without end, or no flow */
	f.left = 8 * (size + ceil(size / (mtu + 14 - HEADERS)) * HEADERS);
	f.rtt = fmax(ideal - f.left / read_way(ways, &f), 0);
	f.begin = start + (setup > 0 ? f.rtt : 0);
	flows = room_for(flows, n_flows, sizeof(*flows));
	flows[n_flows++] = f;
}

/* The heap: links by their keys, the least on top. */
static void sink(unsigned int i)
{
	unsigned int link = heap[i], child;

	for (; (child = 2 * i + 1) < n_heap; i = child) {
		if (child + 1 < n_heap && links[heap[child + 1]].key < links[heap[child]].key)
			child++;
		if (links[link].key <= links[heap[child]].key)
			break;
		heap[i] = heap[child];
	}
	heap[i] = link;
}

/* Which flows use each link, and the heap of those that have any. */
static void find_users(void)
{
	unsigned int i, k, at = 0;
	size_t j;

	for (i = 0; i < n_links; i++)
		links[i].n = 0;
	for (j = 0; j < n_active; j++)
		for (k = 0; k < active[j]->n_links; k++)
			links[active[j]->link[k]].n++;
	n_heap = 0;
	for (i = 0; i < n_links; i++) {
		struct link *l = &links[i];

		l->first = at;
		l->end = at;
		at += l->n;
		l->room = l->rate;
		l->key = l->rate / l->n;
		if (l->n)
			heap[n_heap++] = i;
	}
	for (j = 0; j < n_active; j++)
		for (k = 0; k < active[j]->n_links; k++)
			users[links[active[j]->link[k]].end++] = active[j];
	for (i = n_heap / 2; i-- > 0;)
		sink(i);
}

static void fix(struct flow *f, double share)
{
	unsigned int k;

	f->fixed = true;
	f->rate = share;
	for (k = 0; k < f->n_links; k++) {
		links[f->link[k]].room -= share;
		links[f->link[k]].n--;
	}
}

/*
 * Max-min fair: flows of the tightest link get their share of it, then those of the next. The
 * share of a link only grows while others' flows get less than it, so that a key is never
 * too large, and one that is too small is found when it comes to the top.
 */
static void shares(void)
{
	size_t i;

	for (i = 0; i < n_active; i++)
		active[i]->fixed = false;
	find_users();
	while (n_heap) {
		struct link *l = &links[heap[0]];
		double share = l->room / l->n;

		if (!l->n) {
			heap[0] = heap[--n_heap];
		} else if (share > l->key) {
			l->key = share;
		} else {
			for (i = l->first; i < l->end; i++)
				if (!users[i]->fixed)
					fix(users[i], share);
			heap[0] = heap[--n_heap];
		}
		if (n_heap)
			sink(0);
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
			/* Rounding leaves up to a thousandth of a bit, in runs of some seconds. */
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
	size_t size = 0, i, hops = 0;
	char *line = NULL;
	FILE *ways;

	if (argc == 3)
		mtu = atof(argv[1]);
	if (mtu <= HEADERS)
		error(2, 0, "usage: oracle MTU WAYS <FLOWS");
	ways = fopen(argv[2], "re");
	if (!ways)
		error(1, errno, "%s", argv[2]);
	if (!hcreate(2 * MAX_LINKS))
		error(1, errno, "hcreate");
	while (getline(&line, &size, stdin) > 0)
		read_flow(line, ways);
	free(line);
	fclose(ways);
	for (i = 0; i < n_flows; i++)
		hops += flows[i].n_links;
	users = calloc(hops + 1, sizeof(*users));
	qsort(flows, n_flows, sizeof(*flows), by_begin);
	active = calloc(n_flows + 1, sizeof(*active));
	if (!active || !users)
		error(1, errno, "flows");
	run();
	qsort(flows, n_flows, sizeof(*flows), by_id);
	for (i = 0; i < n_flows; i++)
		printf("%u %.0f %.0f\n", flows[i].id,
		       flows[i].rtt + flows[i].end - flows[i].begin, flows[i].rtt);
	return 0;
}
