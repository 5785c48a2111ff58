// SPDX-License-Identifier: GPL-2.0
/*
 * Forges segments of connections that pass through this network namespace, with
 * telemetry options that no agent would write.
 *
 *	inject PORT SEED FIFO
 *
 * Watches the segments from and to PORT, IPv4 and IPv6, that come in and keeps
 * the last of each direction. Told by FIFO, one a line:
 *
 *	acks N		N both ways: what was seen last once more, without its
 *			data, as an ACK; or a SYN while there has been no more
 *	stream N	as acks, and before each eighth waits for one that passes
 *	syns N		N SYNs to PORT from other ports of that client
 *	malformed N	N ACKs both ways, each with one option of ours that is
 *			malformed, for no reason but its length
 *
 * it says on stdout "done SENT".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <net/ethernet.h>
#include <linux/if_packet.h>
#include <linux/ipv6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hpccpp_wire.h"

#define OPTIONS		40	/* bytes that a TCP header has for them */

/* The last segment of one direction */
struct side {
	bool seen, syn;
	bool v6;
	uint8_t ip[40];		/* its header */
	uint16_t sport, dport;	/* network order */
	uint32_t seq, ack;	/* of what would come next */
	uint16_t window;
	uint8_t times[12];	/* the time stamps option, or nothing */
	uint8_t opt[OPTIONS];	/* the last option of ours seen */
};

static struct side sides[2];	/* to PORT, from PORT */
static uint16_t port;
static int watch, raw4, raw6;
static uint64_t prng;

static uint32_t rnd(void)
{
	prng ^= prng >> 12;
	prng ^= prng << 25;
	prng ^= prng >> 27;
	return (prng * 0x2545f4914f6cdd1dULL) >> 32;
}

static bool valid(int len)
{
	return len == HPCCPP_OPT_LEN(1) || len == HPCCPP_OPT_LEN(2) ||
	       len == HPCCPP_OPT_LEN(3);
}

/* --- What passes ----------------------------------------------------------- */

static bool learn(const uint8_t *p, int n)
{
	bool v6 = p[0] >> 4 == 6;
	int i, l, ip_len = v6 ? 40 : (p[0] & 15) * 4;
	uint32_t end;
	const struct tcphdr *t = (const void *)(p + ip_len);
	const uint8_t *o = p + ip_len + sizeof(*t);
	struct side *s;

	if (n < ip_len + (int)sizeof(*t) || p[v6 ? 6 : 9] != IPPROTO_TCP ||
	    n < ip_len + t->doff * 4 || t->rst)
		return false;
	s = &sides[t->source == htons(port)];
	if ((s == sides ? t->dest : t->source) != htons(port))
		return false;
	l = v6 ? 40 + ntohs(((const uint16_t *)p)[2]) :
		 ntohs(((const uint16_t *)p)[1]);
	end = ntohl(t->seq) + l - ip_len - t->doff * 4 + t->syn + t->fin;
	if (t->syn && (!s->seen || s->sport != t->source ||
		       s->dport != t->dest || s->v6 != v6))
		memset(s, 0, sizeof(*s));
	else if (s->seen && !s->syn && (int32_t)(end - s->seq) < 0)
		return false;
	s->seen = true;
	s->syn = t->syn;
	s->v6 = v6;
	memcpy(s->ip, p, v6 ? 40 : 20);
	s->sport = t->source;
	s->dport = t->dest;
	s->seq = end;
	s->ack = ntohl(t->ack_seq);
	s->window = t->window;
	l = t->doff * 4 - sizeof(*t);
	if (l >= 12 && o[0] == 1 && o[1] == 1 && o[2] == 8)
		memcpy(s->times, o, sizeof(s->times));
	for (i = 0; i + HPCCPP_OPT_LEN(1) <= l; i += 4)
		if (o[i] == HPCCPP_OPT_KIND && valid(o[i + 1]) && i + o[i + 1] <= l)
			memcpy(s->opt, o + i, o[i + 1]);
	return true;
}

/* Takes in what has come; false when that was nothing. */
static bool look(void)
{
	bool any = false;
	struct sockaddr_ll from;
	socklen_t len = sizeof(from);
	uint8_t p[256];
	int n;

	while ((n = recvfrom(watch, p, sizeof(p), MSG_DONTWAIT,
			     (void *)&from, &len)) >= 0) {
		if (from.sll_pkttype != PACKET_OUTGOING && n >= 40 &&
		    (from.sll_protocol == htons(ETH_P_IP) ||
		     from.sll_protocol == htons(ETH_P_IPV6)))
			any |= learn(p, n);
		len = sizeof(from);
	}
	if (errno != EAGAIN)
		error(1, errno, "packet socket");
	return any;
}

/* --- What is forged -------------------------------------------------------- */

/* The option number k, of any length and contents, in room bytes */
static void forge(uint8_t *o, int room, uint32_t k, const struct side *s)
{
	static const uint16_t exids[] = {
		HPCCPP_EXID_ECHO, HPCCPP_EXID_COLLECT, HPCCPP_EXID_ECHO,
		HPCCPP_EXID_WINDOW, HPCCPP_EXID_COLLECT, HPCCPP_EXID_TAG,
	};
	uint16_t exid = exids[k % 6];
	int i, len = k / 6 % 256;

	if (k & 1 << 12)	/* half of them have a length that there is */
		len = exid != HPCCPP_EXID_WINDOW ?
		      HPCCPP_OPT_LEN(1 + len % HPCCPP_REC_MAX) :
		      len & 1 ? HPCCPP_WINDOW_LEN : HPCCPP_REQUEST_LEN;
	memcpy(o, s->opt, room);
	switch (k / 1536 % 6) {
	case 0:
		memset(o, 0, room);
		break;
	case 1:
		memset(o, 0xff, room);
		break;
	case 2:
		for (i = 0; i < room; i++)
			o[i] = rnd();
		break;
	case 3:			/* as it was: a duplicate */
		break;
	case 4:			/* ts and tx_bytes half a wrap on, or back */
		for (i = HPCCPP_OPT_HDR; i + HPCCPP_REC_LEN <= room;
		     i += HPCCPP_REC_LEN) {
			o[i + 4] += 0x7f + rnd() % 3;
			o[i + 8] += 0x7f + rnd() % 3;
		}
		break;
	case 5:			/* twice in one header */
		if (room >= 2 * HPCCPP_OPT_LEN(1)) {
			memcpy(o + HPCCPP_OPT_LEN(1), s->opt, HPCCPP_OPT_LEN(1));
			o[HPCCPP_OPT_LEN(1) + 1] = HPCCPP_OPT_LEN(1);
			len = HPCCPP_OPT_LEN(1);
		}
		break;
	}
	o[0] = HPCCPP_OPT_KIND;
	o[1] = len;
	o[2] = exid >> 8;
	o[3] = exid;
}

/* One of a length that there is not, and nothing else that could be wrong */
static void malform(uint8_t *o, int room)
{
	uint16_t exid = rnd() & 1 ? HPCCPP_EXID_ECHO : HPCCPP_EXID_COLLECT;
	int i, len;

	do
		len = HPCCPP_OPT_HDR + rnd() % (room - HPCCPP_OPT_HDR + 1);
	while (valid(len));
	for (i = 0; i < room; i++)
		o[i] = i < len ? rnd() : TCPOPT_NOP;
	o[0] = HPCCPP_OPT_KIND;
	o[1] = len;
	o[2] = exid >> 8;
	o[3] = exid;
}

static uint16_t checksum(const uint8_t *p, int n, uint64_t sum)
{
	int i;

	for (i = 0; i < n; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* Sends a segment of this side with option number k, or with one that is MALFORMED. */
#define MALFORMED	UINT32_MAX
static void transmit(const struct side *s, bool syn, uint16_t sport,
		     uint32_t seq, uint32_t ack, uint32_t k)
{
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in to4 = { .sin_family = AF_INET };
	struct {
		uint8_t ip[40];
		struct tcphdr t;
		uint8_t o[OPTIONS];
	} p = {};
	int ip_len = s->v6 ? 40 : 20, before = 0, room, n, fd;
	uint8_t *start = p.ip + 40 - ip_len;
	uint64_t sum;

	if (syn) {
		before = 4;
		memcpy(p.o, "\2\4\5\xb4", 4);
	} else if (s->times[0] && (k == MALFORMED || k % 3)) {
		before = sizeof(s->times);
		memcpy(p.o, s->times, before);
	}
	room = 4 + 4 * (rnd() % ((OPTIONS - before) / 4));
	if (rnd() & 1)
		room = OPTIONS - before;
	if (k == MALFORMED)
		malform(p.o + before, room);
	else
		forge(p.o + before, room, k, s);

	p.t.source = sport;
	p.t.dest = s->dport;
	p.t.seq = htonl(seq);
	p.t.ack_seq = htonl(ack);
	p.t.doff = (sizeof(p.t) + before + room) / 4;
	p.t.syn = syn;
	p.t.ack = !syn;
	p.t.window = s->window;
	n = p.t.doff * 4;
	memcpy(start, s->ip, ip_len);
	if (s->v6) {
		((uint16_t *)start)[2] = htons(n);
		memcpy(&to6.sin6_addr, start + 24, 16);
		sum = ~ntohs(checksum(start + 8, 32, 0)) & 0xffff;
	} else {
		start[0] = 0x45;
		((uint16_t *)start)[1] = htons(20 + n);
		memset(start + 4, 0, 4);	/* no fragment */
		memcpy(&to4.sin_addr, start + 16, 4);
		sum = ~ntohs(checksum(start + 12, 8, 0)) & 0xffff;
	}
	p.t.check = checksum((uint8_t *)&p.t, n, sum + IPPROTO_TCP + n);
	fd = s->v6 ? raw6 : raw4;
	if (sendto(fd, start, ip_len + n, 0, s->v6 ? (void *)&to6 : (void *)&to4,
		   s->v6 ? sizeof(to6) : sizeof(to4)) < 0)
		error(1, errno, "sendto");
}

/* 7919 is a prime: any number of them has some of all */
static uint32_t next_option(void)
{
	static uint32_t k;

	return k += 7919;
}

static void wait_for_segment(int ms)
{
	struct pollfd ready = { .fd = watch, .events = POLLIN };

	while (!look())
		if (poll(&ready, 1, ms) <= 0)
			error(1, 0, "no segment passes in %d ms", ms);
}

static void acks(uint32_t n, bool stream, bool malformed)
{
	const struct side *s;
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		if (!(i % 8)) {
			if (stream)
				wait_for_segment(100000);
			look();
		}
		k = malformed ? MALFORMED : next_option();
		s = &sides[0];
		transmit(s, s->syn, s->sport, s->syn ? s->seq - 1 : s->seq,
			 s->syn ? 0 : s->ack, k);
		/* to a client that waits for its SYN-ACK: one that does not fit */
		s = &sides[1];
		transmit(s, false, s->sport, s->seq,
			 s->syn ? s->ack - 1 : s->ack, k);
	}
	printf("done %u\n", 2 * n);
}

static void syns(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		transmit(&sides[0], true, htons(20000 + rnd() % 10000), rnd(), 0,
			 next_option());
	printf("done %u\n", n);
}

int main(int argc, char **argv)
{
	int on = 1, size = 1 << 22;
	struct pollfd ready[2] = { { .events = POLLIN }, { .events = POLLIN } };
	char line[64], what[16];
	unsigned int n;
	FILE *told;

	if (argc != 4)
		error(2, 0, "usage: inject PORT SEED FIFO");
	port = atoi(argv[1]);
	prng = strtoull(argv[2], NULL, 10) * 2 + 1;
	watch = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	raw4 = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	raw6 = socket(AF_INET6, SOCK_RAW, IPPROTO_RAW);
	if (watch < 0 || raw4 < 0 || raw6 < 0 ||
	    setsockopt(raw6, IPPROTO_IPV6, IPV6_HDRINCL, &on, sizeof(on)) ||
	    setsockopt(watch, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		error(1, errno, "raw socket");
	told = fopen(argv[3], "r+");	/* so that it does not end */
	if (!told)
		error(1, errno, "%s", argv[3]);
	ready[0].fd = fileno(told);
	ready[1].fd = watch;
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(told, NULL, _IONBF, 0);
	puts("watching");
	for (;;) {
		if (poll(ready, 2, -1) < 0)
			error(1, errno, "poll");
		look();
		if (!ready[0].revents)
			continue;
		if (!fgets(line, sizeof(line), told))
			return 0;
		if (sscanf(line, "%15s %u", what, &n) != 2)
			error(2, 0, "command '%s'", line);
		while (!sides[0].seen || !sides[1].seen)
			wait_for_segment(10000);
		if (!strcmp(what, "acks"))
			acks(n, false, false);
		else if (!strcmp(what, "stream"))
			acks(n, true, false);
		else if (!strcmp(what, "malformed"))
			acks(n, false, true);
		else if (!strcmp(what, "syns"))
			syns(n);
		else
			error(2, 0, "command '%s'", what);
	}
}
