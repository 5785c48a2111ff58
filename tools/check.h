/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of `hpccpp check` share: check_flows.c looks at flows, check.c at the rest. */
#ifndef HPCCPP_CHECK_H
#define HPCCPP_CHECK_H

#include "hpccpp.h"

enum verdict { OK, NOTE, MISSING };
enum role { SENDER, RECEIVER, SWITCH };

/* Flows that have something in common, of which there may be a million */
struct flow_group {
	size_t flows;
	struct json_object *peers;	/* their addresses, as keys, as many as are counted */
	bool more;	/* there are others */
};

/* What to do about a line of the report */
struct advice {
	char text[1024];
};

/* State that the checks share: the report, and the namespace's objects. */
struct state {
	struct json_object *report;
	struct json_object *ports;
	struct json_object *hosts;
	size_t flows;	/* all of them, ... */
	size_t told;	/* ... those under telemetry, ... */
	struct flow_group why[HPCCPP_R_MAX];	/* ... those that are not, or not alone ... */
	struct flow_group slow;	/* ... and those that wait for more than they are told */
	struct json_object *module;	/* its counters when the command began ... */
	long long began;	/* ... ns */
	size_t unread_ports, unread_hosts;	/* agents of another version */
	struct advice advice;	/* of the line that is next */
	char at[600], enter[600];	/* the namespace: option of our command, prefix of others */
	unsigned int role;	/* enum role */
	bool missing;
};

const struct advice *advise(struct state *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void say(struct state *s, enum verdict how, const char *check,
	 const struct advice *advice, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static inline __u64 number(struct json_object *row, const char *key)
{
	return json_object_get_uint64(json_object_object_get(row, key));
}

static inline const char *string(struct json_object *row, const char *key)
{
	return json_object_get_string(json_object_object_get(row, key));
}

/* check_flows.c */
void begin_flows(struct state *s);
void count_flow(void *state, struct json_object *row);	/* for flow_rows() */
void check_flows(struct state *s);
void end_flows(struct state *s);

#endif /* HPCCPP_CHECK_H */
