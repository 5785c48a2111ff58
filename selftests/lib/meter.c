// SPDX-License-Identifier: GPL-2.0
/*
 * Measure a link from outside of it: what waits in the queue of a port, and how
 * long the round trip through it is.
 *
 *	meter queue NETNS DEV FILE [probe NETNS ADDRESS PORT FILE]
 *	meter echo PORT
 *
 * queue: every millisecond ask the kernel for the counters of the root qdisc of
 * DEV in NETNS. probe: every 5 ms send a UDP datagram from NETNS to ADDRESS, where
 * a "meter echo" sends it back. Samples stay in memory; SIGTERM or SIGINT has them
 * written to the FILEs and ends the program:
 *
 *	t,bytes,packets,sent_bytes,sent_packets,drops	waiting now; since ever
 *	t,rtt_us					-1: lost
 *
 * t is the time of day in seconds, the clock of bash's EPOCHREALTIME and of xfer.
 * The datagrams are ECN capable: a queue that marks would drop others.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_NS	1000000
#define PROBE_NS	5000000

struct sample {
	unsigned long long t;	/* ns */
	uint32_t bytes;		/* waiting */
	uint32_t packets;	/* waiting */
	unsigned long long sent_bytes;
	uint32_t sent_packets;
	uint32_t drops;
};

struct probe {
	unsigned long long t;	/* ns */
	unsigned long long back;	/* ns, 0: not yet */
};

/* An array that grows. */
struct list {
	void *at;
	size_t n, room;
};

static void *list_add(struct list *list, size_t size)
{
	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 4096;
		list->at = reallocarray(list->at, list->room, size);
		if (!list->at)
			error(1, errno, "samples");
	}
	return memset((char *)list->at + size * list->n++, 0, size);
}

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void enter_netns(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		error(1, errno, "%s", path);
	close(fd);
}

static int start_timer(long ns)
{
	struct itimerspec its = {
		.it_interval.tv_nsec = ns,
		.it_value.tv_nsec = ns,
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &its, NULL))
		error(1, errno, "timerfd");
	return fd;
}

static FILE *create(const char *name)
{
	FILE *file = fopen(name, "we");

	if (!file)
		error(1, errno, "%s", name);
	return file;
}

static void finish(FILE *file, const char *name)
{
	if (fclose(file))
		error(1, errno, "%s", name);
}

/* Queue */

/* Some kernels have shorter structures than the header, or longer ones. */
static void copy_attr(void *to, size_t size, const struct nlattr *attr)
{
	size_t len = mnl_attr_get_payload_len(attr);

	memcpy(to, mnl_attr_get_payload(attr), len < size ? len : size);
}

static int qdisc_msg(const struct nlmsghdr *nlh, void *data)
{
	struct gnet_stats_basic basic = {};
	struct gnet_stats_queue queue = {};
	const struct nlattr *outer, *attr;
	struct sample *s = data;

	mnl_attr_for_each(outer, nlh, sizeof(struct tcmsg)) {
		if (mnl_attr_get_type(outer) != TCA_STATS2)
			continue;
		mnl_attr_for_each_nested(attr, outer) {
			if (mnl_attr_get_type(attr) == TCA_STATS_BASIC)
				copy_attr(&basic, sizeof(basic), attr);
			else if (mnl_attr_get_type(attr) == TCA_STATS_QUEUE)
				copy_attr(&queue, sizeof(queue), attr);
		}
	}
	s->sent_bytes = basic.bytes;
	s->sent_packets = basic.packets;
	s->bytes = queue.backlog;
	s->packets = queue.qlen;
	s->drops = queue.drops;
	return MNL_CB_OK;
}

static void sample_queue(struct mnl_socket *nl, int ifindex, struct list *samples)
{
	char buf[MNL_SOCKET_BUFFER_SIZE];
	struct sample *s = list_add(samples, sizeof(*s));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tcm;
	ssize_t len;

	nlh->nlmsg_type = RTM_GETQDISC;
	/* Without ECHO the reply goes to listeners only. */
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO;
	tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));
	tcm->tcm_family = AF_UNSPEC;
	tcm->tcm_ifindex = ifindex;
	tcm->tcm_parent = TC_H_ROOT;

	s->t = now();
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		error(1, errno, "RTM_GETQDISC");
	len = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	if (len < 0 || mnl_cb_run(buf, len, 0, 0, qdisc_msg, s) < 0)
		error(1, errno, "RTM_GETQDISC");
}

static void write_samples(const struct list *samples, const char *name)
{
	const struct sample *s = samples->at;
	FILE *file = create(name);
	size_t i;

	fputs("t,bytes,packets,sent_bytes,sent_packets,drops\n", file);
	for (i = 0; i < samples->n; i++, s++)
		fprintf(file, "%llu.%06llu,%u,%u,%llu,%u,%u\n",
			s->t / 1000000000, s->t / 1000 % 1000000, s->bytes,
			s->packets, s->sent_bytes, s->sent_packets, s->drops);
	finish(file, name);
}

/* Probe: a datagram's content is its number. */

static int open_probe(const char *address, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai;
	int ect = 2;
	int fd, err;

	err = getaddrinfo(address, port, &hints, &ai);
	if (err)
		error(1, 0, "%s: %s", address, gai_strerror(err));
	fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, ai->ai_addr, ai->ai_addrlen))
		error(1, errno, "%s", address);
	if (ai->ai_family == AF_INET6)
		err = setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &ect, sizeof(ect));
	else
		err = setsockopt(fd, IPPROTO_IP, IP_TOS, &ect, sizeof(ect));
	if (err)
		error(1, errno, "ECN");
	freeaddrinfo(ai);
	return fd;
}

static void send_probe(int fd, struct list *probes)
{
	uint64_t number = probes->n;
	struct probe *p = list_add(probes, sizeof(*p));

	p->t = now();
	/* Whatever goes wrong, the probe counts as lost. */
	if (send(fd, &number, sizeof(number), 0) < 0)
		return;
}

static void probe_back(int fd, struct list *probes)
{
	struct probe *p = probes->at;
	uint64_t number;

	while (recv(fd, &number, sizeof(number), 0) == sizeof(number))
		if (number < probes->n && !p[number].back)
			p[number].back = now();
}

static void write_probes(const struct list *probes, const char *name)
{
	const struct probe *p = probes->at;
	FILE *file = create(name);
	size_t i;

	fputs("t,rtt_us\n", file);
	for (i = 0; i < probes->n; i++, p++)
		fprintf(file, "%llu.%06llu,%.1f\n",
			p->t / 1000000000, p->t / 1000 % 1000000,
			p->back ? (p->back - p->t) / 1e3 : -1.);
	finish(file, name);
}

static void echo(const char *port)
{
	struct sockaddr_in6 addr = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(atoi(port)),
	};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char buf[64];

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		error(1, errno, "port %s", port);
	for (;;) {
		socklen_t addrlen = sizeof(addr);
		ssize_t len = recvfrom(fd, buf, sizeof(buf), 0,
				       (struct sockaddr *)&addr, &addrlen);

		if (len >= 0)
			sendto(fd, buf, len, 0, (struct sockaddr *)&addr, addrlen);
	}
}

/* True when the timer had expired, however often. */
static int expired(int timer)
{
	uint64_t times;

	return read(timer, &times, sizeof(times)) == sizeof(times);
}

int main(int argc, char **argv)
{
	struct list samples = {}, probes = {};
	struct mnl_socket *nl;
	struct pollfd fds[4];
	sigset_t signals;
	int nfds = 2;
	int ifindex;

	if (argc == 3 && !strcmp(argv[1], "echo"))
		echo(argv[2]);
	if (!(argc == 5 || (argc == 10 && !strcmp(argv[5], "probe"))) ||
	    strcmp(argv[1], "queue"))
		error(1, 0, "usage: meter queue NETNS DEV FILE [probe NETNS ADDRESS PORT FILE] | echo PORT");

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fds[0].fd = signalfd(-1, &signals, SFD_CLOEXEC);

	enter_netns(argv[2]);
	ifindex = if_nametoindex(argv[3]);
	nl = mnl_socket_open(NETLINK_ROUTE);
	if (!ifindex || !nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
		error(1, errno, "%s", argv[3]);
	fds[1].fd = start_timer(QUEUE_NS);
	if (argc == 10) {
		enter_netns(argv[6]);
		fds[2].fd = start_timer(PROBE_NS);
		fds[3].fd = open_probe(argv[7], argv[8]);
		nfds = 4;
	}
	for (int i = 0; i < nfds; i++)
		fds[i].events = POLLIN;

	while (!fds[0].revents) {
		if (poll(fds, nfds, -1) < 0)
			error(1, errno, "poll");
		if (nfds == 4 && fds[3].revents)
			probe_back(fds[3].fd, &probes);
		if (fds[1].revents && expired(fds[1].fd))
			sample_queue(nl, ifindex, &samples);
		if (nfds == 4 && fds[2].revents && expired(fds[2].fd))
			send_probe(fds[3].fd, &probes);
	}

	write_samples(&samples, argv[4]);
	if (nfds == 4)
		write_probes(&probes, argv[9]);
	return 0;
}
