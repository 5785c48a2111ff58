// SPDX-License-Identifier: GPL-2.0
/*
 * Make the network of the lab: hosts and switches are network namespaces, links
 * are veth pairs with a qdisc at either end.
 *
 *	testbed [up] TOPOLOGY [KEY VALUE]... [LINK [KEY VALUE]...]...
 *	testbed down
 *	testbed ports [all]
 *	testbed paths
 *	testbed ways <FLOWS
 *
 * up makes it; down removes it. ports prints "NETNS DEV RATE" for each port of a
 * switch, with "all" for those of hosts also; paths "SRC DST RTT_NS RATE MTU" for
 * each pair of hosts: the round trip of a full packet and its ACK
 * through empty queues, and the slowest link. These are for the network that
 * the last "up" made (/run/testbed has its description), or for the description
 * that follows on the command line. ways is for the one that is there: of each line of
 * FLOWS, which is what tgen prints, a line "ID NETNS/DEV RATE [NETNS/DEV RATE]...", the
 * ports by which data leaves on its way from src to dst over IPv4, as each kernel on it says.
 *
 * TOPOLOGY		hosts h and r, the rest are switches
 * star N		h1..hN and r1 around s1: N to 1
 * parking N		N links s1-..-s(N+1); h0 at s1, r0 at the last switch pass
 *			all of them; hI at sI and rI at s(I+1) pass link I
 * leafspine L S N	leaves l1..lL with N hosts each (h1..hN at l1, and so on),
 *			spines s1..sS, each leaf linked to each spine
 * clos P T A C N	P pods of T ToR (t1..) with N hosts each, and A aggregation
 *			switches (a1..), each linked to all ToR of its pod and to C
 *			cores (c1..) of its own: A * C cores. The HPCC paper's is
 *			clos 5 4 4 4 16 rate 100g core_rate 400g delay_ns 1000
 * graph		nothing but the links that follow
 *
 * LINK is "link A B" or "port A B" (only A's end of it); the keys behind it are
 * for it alone. A link that is not there is made, and so are its ends.
 *
 * KEY
 * rate, delay_ns	of all links; bit/s with k, m, g, t (decimal); default 100g
 *			and 1000
 * buffer, mark		of the ports of switches: bytes that may wait, and above
 *			which CE is set (0: never); default 32m and 0
 * trace		of the ports of switches: events for /proc/lablink_trace
 * prio			of all: 1: what has TC_PRIO_CONTROL passes what waits; default 0
 * overhead		of all: bytes that the wire carries with each packet; default 0
 * core_rate, core_delay_ns, core_buffer, core_mark, core_trace
 *			the same for links between two switches only
 * host_rate, host_buffer, host_mark, host_trace
 *			the same for the ports of hosts; default buffer 64m
 * mtu			of all; default 1500
 * offloads		yes or no (default): hosts leave segmentation to their links (TSO);
 *			GRO stays off, arrivals are timed one by one
 * queue, host_queue	fifo (default), or another qdisc that packets wait in, with its
 *			defaults, of the ports of switches and of hosts; dualpi2 has buffer,
 *			mark as the time that it takes at the rate, and takes any ECT as L4S
 * ipv6			yes (default) or no
 * ecn, rto_min_us	net.ipv4.tcp_ecn, net.ipv4.tcp_rto_min_us of the hosts
 * sysctl		NAME=VALUE, in every namespace
 *
 * Ports are eth0.. on hosts and p1.. on switches, in the order of the links.
 * The k-th host is 10.(k / 256).(k % 256).1 and fd00::k; links have no addresses,
 * routes are /32 or /128 by shortest path, with all next hops of equal length.
 * Which of these a connection takes depends on addresses and ports alone (hash
 * policy 3 and a seed of each switch's own): bind the source port to fix it.
 * Nothing speaks on its own: MACs and neighbours are given, no ARP, no multicast,
 * no link-local address. Without offloads TSO, GSO and GRO are off and gso_max_segs is 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed.h"

#define MAX_HOPS	32	/* of a way: more is a loop */

static void save(int argc, char **argv)
{
	FILE *f = fopen(STATE, "we");
	int i;

	for (i = 0; f && i < argc; i++)
		fprintf(f, "%s\n", argv[i]);
	if (!f || fclose(f))
		error(1, errno, "%s", STATE);
}

static void up(int argc, char **argv)
{
	int i, j;

	if (!access(STATE, F_OK))
		error(1, 0, "%s is there: testbed down first", STATE);
	if (mkdir(NETNS_DIR, 0755) && errno != EEXIST)
		error(1, errno, "%s", NETNS_DIR);
	for (i = 0; i < n_nodes; i++)
		if (nodes[i]->host && nodes[i]->id > 0xffff)
			error(2, 0, "too many hosts");
	save(argc, argv);

	for (i = 0; i < n_nodes; i++)
		make_netns(nodes[i]);
	for (i = 0; i < n_ports; i += 2)
		make_link(ports[i]);
	flush();
	for (i = 0; i < n_ports; i++)
		set_offloads(ports[i]);
	for (i = 0; i < n_nodes; i++) {
		set_up(nodes[i], 1);
		for (j = 0; j < nodes[i]->n_ports; j++) {
			make_qdisc(nodes[i]->ports[j]);
			set_up(nodes[i], nodes[i]->ports[j]->ifindex);
		}
	}
	flush();
	make_routes(AF_INET);
	if (ipv6)
		make_routes(AF_INET6);
	for (i = 0; i < n_ports; i++)
		await_up(ports[i]);
}

static void down(void)
{
	char path[64];
	int i;

	for (i = 0; i < n_nodes; i++) {
		snprintf(path, sizeof(path), NETNS_DIR "/%s", nodes[i]->name);
		umount2(path, MNT_DETACH);
		if (unlink(path) && errno != ENOENT)
			error(0, errno, "%s", path);
	}
	unlink(STATE);
}

/* -------------------------------------------------------------------- */

static void print_ports(bool all)
{
	int i, j;

	for (i = 0; i < n_nodes; i++)
		for (j = 0; j < nodes[i]->n_ports; j++)
			if (all || !nodes[i]->host)
				printf("%s %s %llu\n", nodes[i]->name, nodes[i]->ports[j]->dev,
				       nodes[i]->ports[j]->opt.rate);
}

/* ns that a frame takes through a port and the link behind it, * 2^10 */
static uint64_t hop_time(const struct port *p, uint64_t bytes)
{
	return (bytes * 8000000000 << 10) / p->opt.rate + (p->opt.delay << 10);
}

static void print_paths(void)
{
	int i, j, k;

	for (i = 0; i < n_nodes; i++) {
		if (!nodes[i]->host)
			continue;
		measure(nodes[i]);
		for (j = 0; j < n_nodes; j++) {
			uint64_t rtt = 0, rate = UINT64_MAX;
			struct node *n = nodes[j];

			if (!n->host || n->distance <= 0)
				continue;
			while (n != nodes[i]) {
				struct port *p = NULL;

				for (k = 0; k < n->n_ports; k++) {
					p = n->ports[k];
					if (p->peer->node->distance == n->distance - 1)
						break;
				}
				rtt += hop_time(p, ACK_FRAME) + hop_time(p->peer, mtu + ETH_HEADER);
				if (p->peer->opt.rate < rate)
					rate = p->peer->opt.rate;
				n = p->peer->node;
			}
			printf("%s %s %llu %llu %u\n", nodes[i]->name,
			       nodes[j]->name, (unsigned long long)rtt >> 10,
			       (unsigned long long)rate, mtu);
		}
	}
}

static void print_way(const char *id, const struct flow *f)
{
	struct node *n = f->src;
	struct port *p = NULL;
	int hops = 0;

	fputs(id, stdout);
	while (n != f->dst) {
		if (hops++ == MAX_HOPS)
			error(1, 0, "the way from %s to %s has no end", f->src->name, f->dst->name);
		p = port_out(n, p, f);
		printf(" %s/%s %llu", n->name, p->dev, p->opt.rate);
		p = p->peer;
		n = p->node;
	}
	putchar('\n');
}

static void print_ways(void)
{
	char *line = NULL, id[16], src[IFNAMSIZ], dst[IFNAMSIZ];
	size_t size = 0;
	struct flow f;

	while (getline(&line, &size, stdin) > 0) {
		if (*line == '#')
			continue;
		if (sscanf(line, "%15s %15s %15s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %hu %hu",
			   id, src, dst, &f.src_port, &f.dst_port) != 5)
			error(2, 0, "not a line of tgen's: %s", line);
		f.src = find_node(src);
		f.dst = find_node(dst);
		if (!f.src || !f.dst)
			error(2, 0, "no host %s", f.src ? dst : src);
		print_way(id, &f);
	}
	free(line);
}

/* The words of the last "up". */
static int load(char ***argv)
{
	FILE *f = fopen(STATE, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int n = 0;

	*argv = NULL;
	if (!f)
		error(1, errno, "%s", STATE);
	while ((len = getline(&line, &room, f)) > 0) {
		line[len - 1] = '\0';
		*argv = grow(*argv, n, sizeof(**argv));
		(*argv)[n++] = strdup(line);
	}
	free(line);
	fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	static const char *const commands[] = { "up", "down", "ports", "paths", "ways" };
	const char *command = "up";
	struct rlimit limit;
	bool all = false;
	size_t i;

	argc--;
	argv++;
	for (i = 0; argc && i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(argv[0], commands[i]))
			continue;
		command = commands[i];
		argc--;
		argv++;
		break;
	}
	if (argc && !strcmp(command, "ports") && !strcmp(argv[0], "all")) {
		all = true;
		argc--;
		argv++;
	}
	if (!argc && strcmp(command, "up"))
		argc = load(&argv);
	describe(argc, argv);
	/* three files of each namespace */
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);

	if (!strcmp(command, "up"))
		up(argc, argv);
	else if (!strcmp(command, "down"))
		down();
	else if (!strcmp(command, "ports"))
		print_ports(all);
	else if (!strcmp(command, "paths"))
		print_paths();
	else
		print_ways();
	if (fflush(stdout))
		error(1, errno, "stdout");
	return 0;
}
