// SPDX-License-Identifier: GPL-2.0
/*
 * Many TCP connections that each send a little, in turn.
 *
 *	many listen PORT				read and forget, until SIGTERM
 *	many connect ADDRESS PORT CC FLOWS BYTES GAP_US	until SIGTERM
 *
 * The second opens FLOWS connections under the congestion control CC, says
 * "connected" and from then on writes BYTES into the next one every GAP_US. A
 * write for which the socket has no room is left out. At the end it says how many
 * it did and left out.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK	65536

static char buf[CHUNK];
static atomic_bool stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

/* Files that this takes; root may have more than its limit. */
static void allow_files(rlim_t n)
{
	struct rlimit limit = { .rlim_cur = n, .rlim_max = n };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		error(1, errno, "%lu files", (unsigned long)n);
}

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(atoi(port)),
	};

	if (inet_pton(AF_INET, address, &addr.sin_addr) != 1)
		error(2, 0, "'%s' is not an IPv4 address", address);
	return addr;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		error(1, errno, "epoll_ctl");
}

static void serve(const char *port)
{
	struct sockaddr_in addr = address_of("0.0.0.0", port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int epoll = epoll_create1(0);
	struct epoll_event events[64];
	int one = 1, conn, i, n;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 128))
		error(1, errno, "port %s", port);
	watch(epoll, fd);
	while (!stopped) {
		n = epoll_wait(epoll, events, 64, -1);
		if (n < 0 && errno != EINTR)
			error(1, errno, "epoll_wait");
		for (i = 0; i < n; i++) {
			if (events[i].data.fd == fd) {
				conn = accept(fd, NULL, NULL);
				if (conn < 0)
					error(1, errno, "accept");
				watch(epoll, conn);
			} else if (recv(events[i].data.fd, buf, CHUNK, MSG_DONTWAIT) <= 0 &&
				   errno != EAGAIN) {
				close(events[i].data.fd);
			}
		}
	}
}

static void add_us(struct timespec *ts, long us)
{
	ts->tv_sec += us / 1000000;
	ts->tv_nsec += us % 1000000 * 1000;
	if (ts->tv_nsec >= 1000000000) {
		ts->tv_nsec -= 1000000000;
		ts->tv_sec++;
	}
}

static long us_between(const struct timespec *a, const struct timespec *b)
{
	return (b->tv_sec - a->tv_sec) * 1000000 + (b->tv_nsec - a->tv_nsec) / 1000;
}

static void load(char **argv)
{
	struct sockaddr_in addr = address_of(argv[0], argv[1]);
	int flows = atoi(argv[3]);
	size_t bytes = atoi(argv[4]);
	long gap = atol(argv[5]);
	unsigned long sent = 0, left_out = 0;
	struct timespec next, now;
	ssize_t len;
	int *fd, i;

	if (flows < 1 || bytes < 1 || bytes > CHUNK || gap < 1)
		error(2, 0, "flows, bytes (to %d) and gap are 1 at least", CHUNK);
	fd = calloc(flows, sizeof(*fd));
	if (!fd)
		error(1, errno, "%d flows", flows);
	/* one after the other: no SYN is ever dropped for want of room */
	for (i = 0; i < flows; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (fd[i] < 0)
			error(1, errno, "socket");
		if (setsockopt(fd[i], IPPROTO_TCP, TCP_CONGESTION, argv[2],
			       strlen(argv[2])))
			error(1, errno, "%s", argv[2]);
		if (connect(fd[i], (struct sockaddr *)&addr, sizeof(addr)))
			error(1, errno, "connection %d", i);
	}
	puts("connected");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (i = 0; !stopped; i = (i + 1) % flows) {
		add_us(&next, gap);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		/* kept from the CPU for long: what was missed is not made up for */
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (us_between(&next, &now) > gap)
			next = now;
		len = send(fd[i], buf, bytes, MSG_DONTWAIT);
		if (len == (ssize_t)bytes)
			sent++;
		else if (len >= 0 || errno == EAGAIN)
			left_out++;
		else
			error(1, errno, "send");
	}
	printf("sent %lu left_out %lu\n", sent, left_out);
}

int main(int argc, char **argv)
{
	signal(SIGTERM, stop);
	signal(SIGPIPE, SIG_IGN);
	allow_files(65536);
	if (argc == 3 && !strcmp(argv[1], "listen"))
		serve(argv[2]);
	else if (argc == 8 && !strcmp(argv[1], "connect"))
		load(argv + 2);
	else
		error(2, 0, "usage: many listen PORT | connect ADDRESS PORT CC FLOWS BYTES GAP_US");
	return 0;
}
