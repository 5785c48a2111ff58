// SPDX-License-Identifier: GPL-2.0
/*
 * Send UDP packets back to back through the lab, and print when they arrive.
 *
 *	burst SRC DST ADDRESS COUNT BYTES [URGENT [SEGMENTS]]
 *
 * From namespace SRC to DST, which has that IPv4 address: COUNT packets of so many
 * BYTES on the wire (Ethernet header and up), with ECT(0), the last URGENT of them
 * with the priority of control packets. They leave the host as GSO packets of so many
 * SEGMENTS, of which COUNT is a multiple (1). For each that arrives a
 * line: its number from 1, ns since the first was sent, 1 when it has CE.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/pkt_sched.h>

#define HEADERS		42		/* Ethernet, IPv4, UDP */
#define PORT		9000
#define ECT_0		2
#define CE		3

static void set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		error(1, errno, "socket option %d", option);
}

static int open_in(const char *netns)
{
	char file[128];
	int ns, fd;

	snprintf(file, sizeof(file), "/run/netns/%s", netns);
	ns = open(file, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		error(1, errno, "namespace %s", netns);
	close(ns);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		error(1, errno, "socket");
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20);
	return fd;
}

/* False when nothing more comes. */
static int receive(int fd, int64_t start)
{
	char control[256];
	uint32_t number;
	struct iovec iov = { .iov_base = &number, .iov_len = sizeof(number) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct timespec ts = { 0 };
	struct cmsghdr *c;
	uint8_t tos = 0;

	if (recvmsg(fd, &msg, 0) < 0) {
		if (errno == EAGAIN)
			return 0;
		error(1, errno, "receive");
	}
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_SOCKET)
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		else
			memcpy(&tos, CMSG_DATA(c), sizeof(tos));
	}
	printf("%u %lld %d\n", number,
	       (long long)(ts.tv_sec * 1000000000LL + ts.tv_nsec - start),
	       tos == CE);
	return 1;
}

/* What the qdisc drops may be said here, and is no failure. */
static void transmit(int fd, uint32_t count, uint32_t urgent, uint32_t segments, int bytes)
{
	static char packet[65536];
	uint32_t number, i;

	if (segments > 1)
		set(fd, IPPROTO_UDP, UDP_SEGMENT, bytes);
	for (number = 1; number <= count; number += segments) {
		for (i = 0; i < segments; i++)
			memcpy(packet + i * bytes, &(uint32_t){ number + i }, sizeof(number));
		if (number + urgent > count)
			set(fd, SOL_SOCKET, SO_PRIORITY, TC_PRIO_CONTROL);
		if (send(fd, packet, segments * bytes, 0) < 0 && errno != ENOBUFS)
			error(1, errno, "send");
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct timeval patience = { .tv_sec = 1 };
	uint32_t count, urgent = 0, segments = 1;
	struct timespec start;
	int tx, rx, bytes;

	if (argc < 6 || argc > 8)
		error(2, 0, "usage: burst SRC DST ADDRESS COUNT BYTES [URGENT [SEGMENTS]]");
	if (argc > 6)
		urgent = strtoul(argv[6], NULL, 10);
	if (argc > 7)
		segments = strtoul(argv[7], NULL, 10);
	count = strtoul(argv[4], NULL, 10);
	bytes = atoi(argv[5]) - HEADERS;
	if (!inet_aton(argv[3], &addr.sin_addr) || !count ||
	    bytes < (int)sizeof(count) || !segments || count % segments ||
	    bytes > 65000 / (int)segments)
		error(2, 0, "ADDRESS, COUNT, BYTES or SEGMENTS");
	addr.sin_port = htons(PORT);

	tx = open_in(argv[1]);
	rx = open_in(argv[2]);
	set(tx, IPPROTO_IP, IP_TOS, ECT_0);
	set(rx, IPPROTO_IP, IP_RECVTOS, 1);
	set(rx, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	if (bind(rx, (struct sockaddr *)&addr, sizeof(addr)) ||
	    setsockopt(rx, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) ||
	    connect(tx, (struct sockaddr *)&addr, sizeof(addr)))
		error(1, errno, "%s", argv[3]);

	clock_gettime(CLOCK_REALTIME, &start);
	transmit(tx, count, urgent, segments, bytes);
	while (receive(rx, start.tv_sec * 1000000000LL + start.tv_nsec))
		;
	return fflush(stdout) ? 1 : 0;
}
