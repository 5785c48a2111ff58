/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of `hpccpp port` share: port.c plans a port, port_load.c loads and
 * attaches its programs, port_show.c shows it.
 */
#ifndef HPCCPP_PORT_H
#define HPCCPP_PORT_H

#include "hpccpp.h"

#define PORT_BASE_RTT	1000	/* us, the default */

extern const char *const port_queues[2];	/* by enum hpccpp_queue */
extern const char *const port_ends[2];	/* by enum hpccpp_respond_to */
extern const char *const port_marks[2];

/* What is known of a port before it is set up. */
struct port_plan {
	struct hpccpp_port_cfg cfg;
	struct hpccpp_port_response response;
	struct hpccpp_port_roce roce;
	bool has_roce;		/* its programs are those that know RoCEv2 */
	struct hpccpp_prefix accept[HPCCPP_PREFIXES];
	struct hpccpp_prefix capable[HPCCPP_PREFIXES];
	const char *dev;
	int ifindex;
	bool mq;		/* qdisc is that of each of its queues */
	struct qdisc qdisc;	/* kind "noqueue" when there is none */
	unsigned int queues;
	bool replace;		/* a port that is there gives way to it, */
	int old;		/* ... with this program on egress, an fd; -1: none */
	bool keeps;		/* the queues' state goes on */
};

int port_load(struct port_plan *p);
int find_port(const struct qdisc *list, size_t n, int ifindex,
	      struct filters *f, int *prog);

#endif /* HPCCPP_PORT_H */
