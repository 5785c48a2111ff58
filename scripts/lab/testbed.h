/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of testbed share. */
#ifndef LAB_TESTBED_H
#define LAB_TESTBED_H

#include <linux/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lablink.h"

#define NETNS_DIR	"/run/netns"
#define STATE		"/run/testbed"
#define FIRST_IFINDEX	100		/* above what a new namespace may have */
#define BATCH		32768
#define ETH_HEADER	14
#define ACK_FRAME	66		/* Ethernet, IPv4, TCP with timestamps */
#define GATEWAY4	0xa9fe0001	/* 169.254.0.1: the other end of any link */
#define HASH_FIELDS	"55"		/* addresses, protocol, ports */

struct port {
	struct node *node;
	struct port *peer;
	char dev[IFNAMSIZ];
	int ifindex;
	uint8_t mac[6];
	struct lablink_opt opt;
};

struct node {
	char name[IFNAMSIZ];
	int index;			/* in nodes[] */
	unsigned int id;		/* of hosts from 1 */
	bool host;
	struct port **ports;
	int n_ports;
	int distance;			/* from the host last asked for */
	int ns;				/* /run/netns/NAME */
	int ctl;			/* for ioctl() */
	struct mnl_socket *nl;
};

struct flow {
	struct node *src, *dst;
	uint16_t src_port, dst_port;
};

extern struct node **nodes;
extern int n_nodes;
extern struct port **ports;
extern int n_ports;
extern char **keys;
extern int n_keys;
extern uint32_t mtu;
extern const char *queue, *host_queue;
extern bool ipv6, offloads;
extern long ecn, rto_min_us;

/* testbed_topo.c: the description, and what becomes of it */
void *grow(void *list, int n, size_t size);
void *zalloc(size_t size);
void describe(int argc, char **argv);
struct node *find_node(const char *name);
void measure(struct node *from);

/* testbed_net.c: namespaces, links, addresses and routes */
void flush(void);
void make_link(struct port *p);
void make_qdisc(struct port *p);
void set_up(struct node *n, int ifindex);
void make_routes(int family);
void make_netns(struct node *n);
void set_offloads(struct port *p);
void await_up(const struct port *p);
struct port *port_out(struct node *n, const struct port *in, const struct flow *f);

#endif /* LAB_TESTBED_H */
