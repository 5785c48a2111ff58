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
	char name[IF_NAMESIZE];	/* of it, which may have been given by another */
	int ifindex;
	bool mq;		/* qdisc is that of each of its queues */
	struct qdisc qdisc;	/* kind "noqueue" when there is none */
	unsigned int queues;
	bool replace;		/* a port that is there gives way to it, */
	int old;		/* ... with this program on its hook, an fd; -1: none */
	bool keeps;		/* the queues' state goes on */
};

/* What its device is now, which may be another than the port was told of */
struct port_now {
	const char *dev;
	int ifindex;
	const struct qdisc *list;	/* all of the namespace */
	size_t n;
	const struct qdisc *root;	/* NULL: none */
	__u32 queues;		/* of mq; 0: the root is not mq */
	__u32 channels;		/* as ethtool says; 0: unknown */
	__u64 speed;		/* bit/s, as ethtool says; 0: unknown */
	__u64 sent, received;	/* packets */
	bool ingress;		/* there is a program of ours on ingress */
};

/* port_devs.c */
int port_each(const char *command, bool anew, bool on_ingress, const char *text);
int port_rows_like(const char *text, struct json_object *rows);

/* port_device.c */
int port_check_device(const struct port_plan *p, struct device *d);
void port_note_device(struct port_plan *p, const struct device *d);
void port_read_now(struct port_now *now, const struct qdisc *list, size_t n, int ifindex,
		   const char *dev);
const struct qdisc *port_qdisc(const struct port_now *now, __u32 queue);
__u64 port_rate_now(const struct port_now *now, const struct hpccpp_port_cfg *cfg,
		    __u32 queue, const char **from);
void port_stale(const struct port_now *now, const struct hpccpp_port_cfg *cfg, __u32 queue,
		char *text, size_t size);
void port_stale_response(const char *dev, const struct hpccpp_port_response *r, char *text,
			 size_t size);
void port_stale_roce(const struct hpccpp_port_roce *r, char *text, size_t size);

struct ifaddrs;
bool is_of(const struct ifaddrs *a, const char *dev);
int port_load(struct port_plan *p);
bool port_read_old(const struct port_plan *p, struct hpccpp_port *was);
int find_port(int ifindex, bool on_ingress, int *prog);
int find_ingress(int ifindex, bool *found);

#endif /* HPCCPP_PORT_H */
