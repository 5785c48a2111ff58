// SPDX-License-Identifier: GPL-2.0
/*
 * One TCP connection that carries a known pattern, checked on arrival.
 *
 *	xfer [options] listen PORT		accept one connection
 *	xfer [options] connect ADDRESS PORT
 *
 *	-n BYTES	send so many (k, m: 1000, 1000000; default 0)
 *	-t SECONDS	send for so long, or until SIGTERM (instead of -n)
 *	-d SECONDS	connect so much later
 *	-c NAME		congestion control
 *	-w NAME[,NAME...]:TIMES
 *			change to one of those, by turns, and back so many times while
 *			sending
 *	-o NAME		with that of TCP too (neighbours.c): mptcp, tfo, md5, tls,
 *			sockmap; or repair: after half of -n BYTES all else goes on
 *			in a new socket
 *	-e STYLE	how the connection ends:
 *		half	shut down after sending, read until the peer's end (default);
 *			with nothing to send, shut down after the peer
 *		close	close right after the last write, with data still to go
 *		late	read until the peer's end first, then send: CLOSE_WAIT
 *
 * Both ends may send at once. Prints one JSON object: bytes sent and received,
 * intact (what arrived was the pattern), when (start, end: time of day, seconds),
 * gap_us (longest time without new bytes, from the first to the last), and what
 * TCP_INFO says: retransmits, cwnd, rtt_us, min_rtt_us, rto_us (the largest seen).
 * Exit status 0 when no call failed and all was intact.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <limits.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "neighbours.h"

/* The pattern's length is a prime: no lost or doubled segment goes unseen. */
#define PERIOD		65521
#define CHUNK		32768

static unsigned char pattern[PERIOD + CHUNK];

enum style { HALF, CLOSE, LATE };

static unsigned long long bytes;
static double seconds, delay;
static const char *cc, *other_cc[8], *neighbour;
static unsigned int switches, others;
/* Read between system calls only: no need to be volatile. */
static sig_atomic_t stopped;
static enum style style;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void make_pattern(void)
{
	uint32_t x = 1;
	int i;

	for (i = 0; i < PERIOD; i++) {
		x = x * 1664525 + 1013904223;
		pattern[i] = x >> 24;
	}
	memcpy(pattern + PERIOD, pattern, CHUNK);
}

static unsigned long long parse_bytes(const char *s)
{
	char *end;
	unsigned long long n = strtoull(s, &end, 10);

	if (*end == 'k')
		n *= 1000, end++;
	else if (*end == 'm')
		n *= 1000000, end++;
	if (end == s || *end)
		error(2, 0, "'%s' is not a number of bytes", s);
	return n;
}

static void set_cc(int fd, const char *name)
{
	if (name && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
			       strlen(name)))
		error(1, errno, "%s", name);
}

static void parse_switches(char *s)
{
	char *colon = strchr(s, ':');

	if (!colon)
		error(2, 0, "'%s' is not NAME[,NAME...]:TIMES", s);
	*colon = '\0';
	switches = 2 * atoi(colon + 1);
	for (s = strtok(s, ","); s; s = strtok(NULL, ",")) {
		if (others == sizeof(other_cc) / sizeof(*other_cc))
			error(2, 0, "more than %u names", others);
		other_cc[others++] = s;
	}
	if (!others)
		error(2, 0, "no name to change to");
}

static void get_info(int fd, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len))
		error(1, errno, "TCP_INFO");
}

/* Both address families: an IPv4 peer shows as ::ffff:a.b.c.d. */
static int accept_one(const char *port)
{
	struct sockaddr_in6 addr = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(atoi(port)),
	};
	int fd = socket(AF_INET6, SOCK_STREAM, neighbour_protocol(neighbour));
	int one = 1;
	int conn;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	set_cc(fd, cc);
	neighbour_before(neighbour, fd, AF_INET6, true);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1))
		error(1, errno, "port %s", port);
	conn = accept(fd, NULL, NULL);
	if (conn < 0)
		error(1, errno, "accept");
	close(fd);
	return conn;
}

static int connect_to(const char *address, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai;
	int fd, err;

	err = getaddrinfo(address, port, &hints, &ai);
	if (err)
		error(1, 0, "%s: %s", address, gai_strerror(err));
	fd = socket(ai->ai_family, SOCK_STREAM, neighbour_protocol(neighbour));
	if (fd < 0)
		error(1, errno, "socket");
	set_cc(fd, cc);
	neighbour_before(neighbour, fd, ai->ai_family, false);
	if (connect(fd, ai->ai_addr, ai->ai_addrlen))
		error(1, errno, "connect");
	freeaddrinfo(ai);
	return fd;
}

int main(int argc, char **argv)
{
	unsigned char buf[CHUNK];
	struct tcp_info info = {};
	bool waits, repair = false, sending = true, receiving = true, intact = true;
	unsigned long long sent = 0, received = 0;
	unsigned int switched = 0;
	double last = 0, gap = 0;
	uint32_t rto = 0;
	char name[16] = "";
	socklen_t namelen = sizeof(name);
	struct timespec ts;
	double start, end;
	int opt, fd;

	while ((opt = getopt(argc, argv, "n:t:d:c:w:o:e:")) > 0) {
		switch (opt) {
		case 'n':
			bytes = parse_bytes(optarg);
			break;
		case 't':
			seconds = atof(optarg);
			bytes = ULLONG_MAX;
			break;
		case 'd':
			delay = atof(optarg);
			break;
		case 'c':
			cc = optarg;
			break;
		case 'w':
			parse_switches(optarg);
			break;
		case 'o':
			neighbour = optarg;
			repair = !strcmp(optarg, "repair");
			break;
		case 'e':
			if (!strcmp(optarg, "close"))
				style = CLOSE;
			else if (!strcmp(optarg, "late"))
				style = LATE;
			else if (strcmp(optarg, "half"))
				error(2, 0, "no style '%s'", optarg);
			break;
		default:
			return 2;
		}
	}
	argc -= optind;
	argv += optind;
	if (!(argc == 2 && !strcmp(argv[0], "listen")) &&
	    !(argc == 3 && !strcmp(argv[0], "connect")))
		error(2, 0, "usage: xfer [-n BYTES | -t SECONDS] [-c CC] [-w CC[,CC...]:TIMES] [-o NAME] [-e half|close|late] listen PORT | connect ADDRESS PORT");

	signal(SIGPIPE, SIG_IGN);
	if (seconds)
		signal(SIGTERM, stop);
	make_pattern();
	ts.tv_sec = delay;
	ts.tv_nsec = (delay - ts.tv_sec) * 1e9;
	nanosleep(&ts, NULL);
	fd = argc == 2 ? accept_one(argv[1]) : connect_to(argv[1], argv[2]);
	neighbour_after(neighbour, fd);
	start = now();

	waits = style == LATE || (style == HALF && !bytes);
	while (sending || receiving) {
		struct pollfd p = { .fd = fd };
		ssize_t len;

		if (receiving)
			p.events |= POLLIN;
		if (sending && !(waits && receiving))
			p.events |= POLLOUT;
		/* not for ever: the signal may come just before */
		if (poll(&p, 1, 100) < 0 && errno != EINTR)
			error(1, errno, "poll");

		if (receiving && p.revents & (POLLIN | POLLHUP | POLLERR)) {
			len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
			if (len < 0 && errno != EAGAIN)
				error(1, errno, "recv after %llu bytes", received);
			if (len == 0)
				receiving = false;
			if (len > 0) {
				if (memcmp(buf, pattern + received % PERIOD, len))
					intact = false;
				received += len;
				if (last && now() - last > gap)
					gap = now() - last;
				last = now();
			}
		}
		if (p.revents & POLLOUT && p.events & POLLOUT) {
			unsigned long long left = bytes - sent;

			get_info(fd, &info);
			if (info.tcpi_rto > rto)
				rto = info.tcpi_rto;
			/* evenly over -n BYTES; once a chunk with -t SECONDS */
			while (switched < switches &&
			       (seconds || (double)sent / bytes * switches >= switched)) {
				set_cc(fd, switched % 2 ? cc : other_cc[switched / 2 % others]);
				switched++;
				if (seconds)
					break;
			}
			if (repair && sent >= bytes / 2) {
				int unacked;

				if (ioctl(fd, SIOCOUTQ, &unacked))
					error(1, errno, "SIOCOUTQ");
				if (unacked) {
					usleep(1000);
					continue;
				}
				fd = neighbour_repair(fd, cc);
				repair = false;
				continue;
			}
			if (stopped || (seconds && now() - start >= seconds))
				left = 0;
			len = left < CHUNK ? left : CHUNK;
			if (len)
				len = send(fd, pattern + sent % PERIOD, len, MSG_DONTWAIT);
			if (len < 0 && errno != EAGAIN)
				error(1, errno, "send after %llu bytes", sent);
			if (len > 0)
				sent += len;
			sending = left && sent < bytes;
			if (sending)
				continue;
			if (style == CLOSE)
				break;
			if (shutdown(fd, SHUT_WR))
				error(1, errno, "shutdown");
		}
	}
	end = now();

	get_info(fd, &info);
	if (info.tcpi_rto > rto)
		rto = info.tcpi_rto;
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &namelen))
		error(1, errno, "TCP_CONGESTION");
	if (close(fd))
		error(1, errno, "close");
	printf("{\"sent\": %llu, \"received\": %llu, \"intact\": %s, \"cc\": \"%s\", ",
	       sent, received, intact ? "true" : "false", name);
	printf("\"start\": %.6f, \"end\": %.6f, \"seconds\": %.6f, \"gap_us\": %.0f, ",
	       start, end, end - start, gap * 1e6);
	printf("\"retransmits\": %u, \"cwnd\": %u, \"switched\": %u, ",
	       info.tcpi_total_retrans, info.tcpi_snd_cwnd, switched);
	printf("\"rtt_us\": %u, \"min_rtt_us\": %u, \"rto_us\": %u}\n",
	       info.tcpi_rtt, info.tcpi_min_rtt, rto);
	return intact ? 0 : 1;
}
