// SPDX-License-Identifier: GPL-2.0
/*
 * One TCP connection that carries a known pattern, checked on arrival.
 *
 *	xfer [options] listen PORT		accept one connection
 *	xfer [options] connect ADDRESS PORT
 *
 *	-n BYTES	send so many (k, m: 1000, 1000000; default 0)
 *	-t SECONDS	send for so long, or until SIGTERM (instead of -n)
 *	-c NAME		congestion control
 *	-w NAME[,NAME...]:TIMES
 *			change to one of those, by turns, and back so many times while
 *			sending
 *	-i		a thread reads TCP_CC_INFO all the time, which takes no lock
 *	-o NAME		with that of TCP too (neighbours.h): mptcp, tfo, md5, tls,
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
 * TCP_INFO says: retransmits, rto_us (the largest seen).
 * Exit status 0 when no call failed and all was intact.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
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
static double seconds;
static const char *cc, *other_cc[8], *neighbour;
static unsigned int switches, others;
/* Read between system calls only: no need to be volatile. */
static sig_atomic_t stopped;
static enum style style;
static bool ask_info;

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

/* Until the socket is closed */
static void *ask(void *arg)
{
	unsigned char info[64];
	socklen_t len;

	do
		len = sizeof(info);
	while (!getsockopt(*(int *)arg, IPPROTO_TCP, TCP_CC_INFO, info, &len));
	return NULL;
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

/* What has happened so far */
static struct {
	unsigned long long sent, received;
	bool intact;			/* all that came was the pattern */
	unsigned int switched;		/* to another congestion control, times */
	double last, gap;		/* when bytes came, longest time without, s */
	uint32_t rto;			/* the longest, us */
	struct tcp_info info;
} did = { .intact = true };

static void look(int fd)
{
	socklen_t len = sizeof(did.info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &did.info, &len))
		error(1, errno, "TCP_INFO");
	if (did.info.tcpi_rto > did.rto)
		did.rto = did.info.tcpi_rto;
}

/* Takes what has come; false at the end of it. */
static bool take(int fd)
{
	unsigned char buf[CHUNK];
	ssize_t len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (len < 0 && errno != EAGAIN)
		error(1, errno, "recv after %llu bytes", did.received);
	if (len > 0) {
		if (memcmp(buf, pattern + did.received % PERIOD, len))
			did.intact = false;
		did.received += len;
		if (did.last && now() - did.last > did.gap)
			did.gap = now() - did.last;
		did.last = now();
	}
	return len;
}

/* Changes the congestion control: evenly over -n BYTES, once a chunk with -t SECONDS */
static void change(int fd)
{
	while (did.switched < switches &&
	       (seconds || (double)did.sent / bytes * switches >= did.switched)) {
		set_cc(fd, did.switched % 2 ? cc : other_cc[did.switched / 2 % others]);
		did.switched++;
		if (seconds)
			break;
	}
}

/* After half of the bytes, once all of them are acknowledged: a new socket. */
static bool repaired(int *fd)
{
	int unacked;

	if (ioctl(*fd, SIOCOUTQ, &unacked))
		error(1, errno, "SIOCOUTQ");
	if (unacked) {
		usleep(1000);
		return false;
	}
	*fd = neighbour_repair(*fd, cc);
	return true;
}

/* Sends what the socket takes; false at the end of it. */
static bool give(int fd, double start)
{
	unsigned long long left = bytes - did.sent;
	ssize_t len;

	if (stopped || (seconds && now() - start >= seconds))
		left = 0;
	len = left < CHUNK ? left : CHUNK;
	if (len)
		len = send(fd, pattern + did.sent % PERIOD, len, MSG_DONTWAIT);
	if (len < 0 && errno != EAGAIN)
		error(1, errno, "send after %llu bytes", did.sent);
	if (len > 0)
		did.sent += len;
	return left && did.sent < bytes;
}

/* Fast Open sends before there is a connection; shutdown() would reset it then. */
static bool connecting(int fd)
{
	look(fd);
	return did.info.tcpi_state == BPF_TCP_SYN_SENT;
}

/* Sends and receives until both are at their end. Returns the socket: repair has another. */
static int transfer(int fd, double start)
{
	bool waits = style == LATE || (style == HALF && !bytes);
	bool sending = true, receiving = true;
	bool repair = neighbour && !strcmp(neighbour, "repair");

	while (sending || receiving) {
		struct pollfd p = { .fd = fd };

		if (receiving)
			p.events |= POLLIN;
		if (sending && !(waits && receiving))
			p.events |= POLLOUT;
		/* not for ever: the signal may come just before */
		if (poll(&p, 1, 100) < 0 && errno != EINTR)
			error(1, errno, "poll");
		if (receiving && p.revents & (POLLIN | POLLHUP | POLLERR))
			receiving = take(fd);
		if (!(p.revents & POLLOUT && p.events & POLLOUT))
			continue;
		look(fd);
		change(fd);
		if (repair && did.sent >= bytes / 2) {
			repair = !repaired(&fd);
			continue;
		}
		sending = give(fd, start) || connecting(fd);
		if (sending)
			continue;
		if (style == CLOSE)
			break;
		if (shutdown(fd, SHUT_WR))
			error(1, errno, "shutdown");
	}
	return fd;
}

static void report(int fd, double start, double end)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	look(fd);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len))
		error(1, errno, "TCP_CONGESTION");
	if (close(fd))
		error(1, errno, "close");
	printf("{\"sent\": %llu, \"received\": %llu, \"intact\": %s, \"cc\": \"%s\", ",
	       did.sent, did.received, did.intact ? "true" : "false", name);
	printf("\"start\": %.6f, \"end\": %.6f, \"seconds\": %.6f, \"gap_us\": %.0f, ",
	       start, end, end - start, did.gap * 1e6);
	printf("\"retransmits\": %u, \"switched\": %u, \"rto_us\": %u}\n",
	       did.info.tcpi_total_retrans, did.switched, did.rto);
}

static void parse_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "n:t:c:w:io:e:")) > 0) {
		switch (opt) {
		case 'n':
			bytes = parse_bytes(optarg);
			break;
		case 't':
			seconds = atof(optarg);
			bytes = ULLONG_MAX;
			break;
		case 'c':
			cc = optarg;
			break;
		case 'w':
			parse_switches(optarg);
			break;
		case 'i':
			ask_info = true;
			break;
		case 'o':
			neighbour = optarg;
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
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;
	double start;
	int fd;

	parse_options(argc, argv);
	argc -= optind;
	argv += optind;
	if (!(argc == 2 && !strcmp(argv[0], "listen")) &&
	    !(argc == 3 && !strcmp(argv[0], "connect")))
		error(2, 0, "usage: xfer [-n BYTES | -t SECONDS] [-c CC] [-w CC[,CC...]:TIMES] [-i] [-o NAME] [-e half|close|late] listen PORT | connect ADDRESS PORT");

	signal(SIGPIPE, SIG_IGN);
	if (seconds)
		signal(SIGTERM, stop);
	make_pattern();
	fd = argc == 2 ? accept_one(argv[1]) : connect_to(argv[1], argv[2]);
	neighbour_after(neighbour, fd);
	if (ask_info && pthread_create(&thread, NULL, ask, &fd))
		error(1, 0, "no thread");
	start = now();
	fd = transfer(fd, start);
	report(fd, start, now());
	return did.intact ? 0 : 1;
}
