// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp check: the flows that asked for hpccpp. Which have telemetry, why others do not and
 * what to do where, and what has happened within a second.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "check.h"

#define PEERS	3	/* addresses that a line has */
#define PEERS_MAX 1000	/* ... and that are counted: the memory that check takes is bounded */
#define WATCH	1000000000LL	/* ns for which the counters are watched */
#define FULL	.8	/* U of a port that is full, or nearly */

static const char *const reasons[] = HPCCPP_REASON_NAMES;

/* What to do about each reason, and where */
static const char *const advice[HPCCPP_R_MAX] = {
	[HPCCPP_R_NO_AGENT] =
		"here: hpccpp host add CGROUP, a cgroup that contains the processes of these flows and is neither above nor below a cgroup with an agent (hpccpp host show)",
	[HPCCPP_R_NOT_ASKED] =
		"here: ask or prefix of the host agent leaves these peers out, see hpccpp host show",
	[HPCCPP_R_NO_DATA] =
		"nothing, or send data: none that they have sent asks yet",
	[HPCCPP_R_NO_ECHO] =
		"at these peers: hpccpp host add, with our key if we have one; then open new connections, as these may not ask again",
	[HPCCPP_R_EMPTY] =
		"on the way there: hpccpp port add for each port that data leaves by; hpccpp port show tells which see it",
	[HPCCPP_R_UNUSED] =
		"on the way there: ports whose above is never reached, or that say what is wrong: guards of hpccpp -s flow show",
	[HPCCPP_R_LOST_ECHO] =
		"at these peers: the host agent is gone, or a new path removes the option; hpccpp host add",
	[HPCCPP_R_LOST_RECORDS] =
		"on the way there: a port agent is gone, or a new path has none; hpccpp port show tells which see it",
	[HPCCPP_R_BLIND_DELAY] =
		"on the way there: a queue (tc -s qdisc show) at a port without an agent, or whose agent has a higher rate than its link",
	[HPCCPP_R_BLIND_LOSS] =
		"on the way there: drops (tc -s qdisc show) at a port without an agent, or whose agent has a higher rate than its link",
	[HPCCPP_R_NO_MEMORY] =
		"here: free memory, then open new connections",
	[HPCCPP_R_MPTCP] =
		"at either end: use TCP instead of MPTCP, whose subflows have no telemetry",
};

static void add_flow(struct flow_group *g, struct json_object *flow)
{
	const char *peer = string(flow, "dst");

	g->flows++;
	if (!g->peers)
		g->peers = json_object_new_object();
	if ((size_t)json_object_object_length(g->peers) < PEERS_MAX)
		json_object_object_add(g->peers, peer, NULL);
	else if (!json_object_object_get_ex(g->peers, peer, NULL))
		g->more = true;
}

/*
 * Telemetry keeps queues short, so a flow that fills a port has round trips of about T. One
 * whose round trips are much longer waits for more than it is told.
 */
static bool is_slow(struct json_object *flow)
{
	double U = json_object_get_double(json_object_object_get(flow, "U"));

	return U >= FULL && number(flow, "srtt") > 2 * number(flow, "T");
}

/* Nothing is kept of a flow but what it adds to the groups. */
void count_flow(void *state, struct json_object *row)
{
	const char *reason = string(row, "reason") ?: "";
	struct state *s = state;
	size_t i;

	s->flows++;
	s->told += !strcmp(string(row, "mode"), "hpccpp");
	for (i = 1; i < ARRAY_SIZE(reasons); i++) {
		if (!strcmp(reason, reasons[i]))
			add_flow(&s->why[i], row);
	}
	if (is_slow(row))
		add_flow(&s->slow, row);
	json_object_put(row);
}

/* The first of the peers, and how many more there are */
static const char *peers_text(const struct flow_group *g, char *text, size_t size)
{
	size_t n = 0, len = 0;

	json_object_object_foreach(g->peers, peer, none) {
		(void)none;
		if (n++ < PEERS)
			len += snprintf(text + len, size - len, "%s%s",
					n > 1 ? ", " : "", peer);
	}
	if (n > PEERS)
		snprintf(text + len, size - len, " and %s%zu more", g->more ? "more than " : "",
			 n - PEERS);
	return text;
}

/* Where the reason is no host agent, the default place is right only if there is no other. */
static const struct advice *advise_reason(struct state *s, size_t reason)
{
	if (reason == HPCCPP_R_NO_AGENT && !json_object_array_length(s->hosts) && !s->unread_hosts)
		return advise(s, "hpccpp host add");
	return advise(s, "%s", advice[reason]);
}

/*
 * Ports see no TCP in a tunnel. Finds one that this host sends to the peers by, or a port that
 * has counted packets in one; text then says which.
 */
static const struct advice *find_tunnel(struct state *s, const struct flow_group *g, char *text,
					size_t size)
{
	char dev[IF_NAMESIZE];
	struct device d;
	size_t i, n = 0;
	int ifindex;

	json_object_object_foreach(g->peers, peer, none) {
		(void)none;
		ifindex = n++ < PEERS ? route_dev(peer) : 0;
		if (!ifindex || device_read(ifindex, &d) || !is_tunnel(&d) ||
		    !if_indextoname(ifindex, dev))
			continue;
		snprintf(text, size, ", in the tunnel %s of kind %s", dev, d.kind);
		return advise(s, "no port sees TCP in a tunnel: these flows can have telemetry only outside the tunnel");
	}
	for (i = 0; i < json_object_array_length(s->ports); i++) {
		struct json_object *port = json_object_array_get_idx(s->ports, i);
		__u64 packets = number(json_object_object_get(port, "stats"), "tunnel");

		if (!packets)
			continue;
		snprintf(text, size, "; port %s has seen %llu packets in tunnels",
			 string(port, "dev"), packets);
		return advise(s, "no port sees TCP in a tunnel: if these flows use a tunnel, they can have telemetry only outside it; otherwise: hpccpp port add for each port on the path to the peer");
	}
	return NULL;
}

/* A line for a reason, if flows have it */
static void check_reason(struct state *s, size_t reason)
{
	const struct flow_group *g = &s->why[reason];
	char check[32], text[256], tunnel[128] = "";
	const struct advice *todo = NULL;

	if (!g->flows)
		return;
	snprintf(check, sizeof(check), "flows %s", reasons[reason]);
	if (reason == HPCCPP_R_EMPTY || reason == HPCCPP_R_LOST_RECORDS)
		todo = find_tunnel(s, g, tunnel, sizeof(tunnel));
	say(s, NOTE, check, todo ?: advise_reason(s, reason), "%zu of %zu, to %s%s", g->flows,
	    s->flows, peers_text(g, text, sizeof(text)), tunnel);
}

static void check_round_trips(struct state *s)
{
	const struct advice *todo;
	char text[256];

	if (!s->slow.flows)
		return;
	todo = advise(s, "on the way there: a port whose agent has a higher rate than its link: compare hpccpp port show with qdisc and link on each hop");
	say(s, NOTE, "round trips", todo,
	    "longer than twice T for %zu of %zu flows at a full port, to %s",
	    s->slow.flows, s->flows, peers_text(&s->slow, text, sizeof(text)));
}

static void check_telemetry(struct state *s)
{
	const struct advice *todo =
		advise(s, "the lines below give the reason for flows without telemetry, and where to do what");
	size_t n = s->flows, under = s->told, i;
	__u64 before = 0;

	/* without a flow in the list; since the agents were added */
	for (i = 0; i < json_object_array_length(s->hosts); i++) {
		struct json_object *host = json_object_array_get_idx(s->hosts, i);
		struct json_object *stats = json_object_object_get(host, "stats");

		before += number(stats, "stood_in") - number(stats, "came_back");
	}
	if (n)
		say(s, under == n ? OK : under || s->role != SENDER ? NOTE : MISSING, "peers",
		    todo, "%zu of %zu flows have telemetry", under, n);
	else if (s->role != SENDER)
		return;
	else if (before)
		say(s, MISSING, "peers",
		    advise(s, "check while there are connections under hpccpp, to know why"),
		    "no flow is under hpccpp now, and %llu before had no telemetry",
		    (unsigned long long)before);
	else
		say(s, NOTE, "peers", advise(s, "choose hpccpp for a connection and check again"),
		    "not known: no flow is under hpccpp now");
}

static struct json_object *module_counters(void)
{
	struct json_object *rows = json_object_new_array();

	module_rows(rows);
	return rows;
}

void begin_flows(struct state *s)
{
	s->module = module_counters();
	s->began = clock_ns(CLOCK_MONOTONIC);
}

/* By how much a counter of the module is more than it was when the command began */
static __u64 growth(const struct state *s, struct json_object *now, const char *counter)
{
	struct json_object *was = json_object_array_get_idx(s->module, 0);

	now = json_object_array_get_idx(now, 0);
	return number(json_object_object_get(now, "counters"), counter) -
	       number(json_object_object_get(was, "counters"), counter);
}

/* Events that are over by the time that flows are looked at */
static void check_changes(struct state *s)
{
	long long left = s->began + WATCH - clock_ns(CLOCK_MONOTONIC);
	const struct timespec pause = { .tv_nsec = left };
	unsigned long long fallbacks, blind, changed;
	const struct advice *todo;
	struct json_object *now;

	if (!json_object_array_length(s->module))
		return;
	if (left > 0)
		nanosleep(&pause, NULL);
	now = module_counters();
	fallbacks = growth(s, now, "fallback");
	blind = growth(s, now, "blind");
	changed = growth(s, now, "guard_changed");
	json_object_put(now);
	todo = advise(s, "telemetry ends now and then: look at the agents of peers, and of ports on the way");
	if (blind)
		todo = advise_reason(s, HPCCPP_R_BLIND_DELAY);
	if (!fallbacks)
		say(s, OK, "fallbacks", NULL, "none within a second");
	else
		say(s, NOTE, "fallbacks", todo,
		    "%llu within a second, %llu of them blind", fallbacks, blind);
	/* a port that is set up anew counts once for each flow */
	todo = advise(s, "compare id and rate of hpccpp port show on each hop: each port of a path needs an id of its own");
	if (changed > s->flows)
		say(s, NOTE, "link ids", todo,
		    "two rates of one id, %llu times within a second", changed);
}

void check_flows(struct state *s)
{
	size_t i;

	check_telemetry(s);
	for (i = 1; i < ARRAY_SIZE(reasons); i++)
		check_reason(s, i);
	check_round_trips(s);
	if (s->flows)
		check_changes(s);
}

void end_flows(struct state *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(s->why); i++)
		json_object_put(s->why[i].peers);
	json_object_put(s->slow.peers);
	json_object_put(s->module);
}
