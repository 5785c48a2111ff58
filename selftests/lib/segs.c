// SPDX-License-Identifier: GPL-2.0
/*
 * Watches the TCP connection on a device: how large its packets are and what
 * INT they carry. No libpcap, and none of what passed is lost at the end.
 *
 *	segs DEV	until SIGTERM; prints "watching" when it does
 *
 * Then prints, and nothing else:
 *
 *	total PACKETS MISSED FRAGMENTS TOOBIG
 *		of all on the device; MISSED by us, TOOBIG of ICMP
 *	link ID RATE COUNT QLEN U TX
 *		of the records in collects: mean qlen (bytes) and mean U, and
 *		tx_bytes from the first to the last
 *	seg DIR KIND TS SACK OPT N WRITTEN LINKS COUNT LONGEST
 *		COUNT segments are alike. DIR in, out; KIND syn, data, ack, fin,
 *		rst; TS 0, 1; SACK blocks; OPT none, collect, burst, echo, bad; N
 *		records, WRITTEN of these by ports, their LINKS in order, "-" for
 *		none; LONGEST IP packet
 */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hpccpp_wire.h"

struct option {
	unsigned int n, written;
	struct hpccpp_int rec[HPCCPP_REC_MAX];
};

static struct group {
	char key[96];
	unsigned long count;
	unsigned int longest;
} groups[4096];

static struct {
	unsigned long count, qlen, u, tx;
	struct hpccpp_int last;
} links[HPCCPP_LINK_MAX + 1];

static unsigned long packets, fragments, toobig;
static sig_atomic_t stop;	/* read after a system call only */

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static uint32_t word(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static void count_link(const struct hpccpp_int *r)
{
	uint32_t dts = (r->ts - links[r->link].last.ts) & HPCCPP_MASK24;

	links[r->link].qlen += (unsigned long)r->qlen << HPCCPP_QLEN_SHIFT;
	links[r->link].u += r->U;
	if (!links[r->link].count++) {
		links[r->link].last = *r;
	} else if (dts && dts <= HPCCPP_MASK24 / 2) {
		links[r->link].tx +=
			(unsigned long)((r->tx_bytes - links[r->link].last.tx_bytes) &
					HPCCPP_MASK24) << HPCCPP_TX_SHIFT;
		links[r->link].last = *r;
	}
}

/* The options of a TCP header */
struct options {
	struct option o;	/* ours */
	const char *name;	/* of what it is */
	unsigned int ts, sack;	/* has timestamps; blocks */
};

/* A burst is a collect in the segment with PSH. */
static const char *name_of(unsigned int exid, bool push)
{
	switch (exid) {
	case HPCCPP_EXID_COLLECT:
		return "collect";
	case HPCCPP_EXID_BURST:
		return push ? "collect" : "burst";
	case HPCCPP_EXID_ECHO:
		return "echo";
	}
	return "bad";
}

static void read_options(const unsigned char *p, unsigned int doff, struct options *opts)
{
	struct option *o = &opts->o;
	unsigned int i, at;

	for (at = 20; at < doff && p[at] != TCPOPT_EOL; at += p[at] == TCPOPT_NOP ? 1 : p[at + 1]) {
		if (p[at] == TCPOPT_NOP)
			continue;
		if (at + 1 >= doff || p[at + 1] < 2 || at + p[at + 1] > doff) {
			opts->name = "bad";
			break;
		}
		if (p[at] == TCPOPT_TIMESTAMP)
			opts->ts = 1;
		if (p[at] == TCPOPT_SACK)
			opts->sack = (p[at + 1] - 2) / 8;
		if (p[at] != HPCCPP_OPT_KIND)
			continue;
		o->n = (p[at + 1] - HPCCPP_OPT_HDR) / HPCCPP_REC_LEN;
		if (at % 4 || o->n < 1 || o->n > HPCCPP_REC_MAX ||
		    (p[at + 1] != HPCCPP_OPT_LEN(o->n) &&
		     p[at + 1] != HPCCPP_SYNACK_LEN)) {
			opts->name = "bad";
			o->n = 0;
			continue;
		}
		for (i = 0; i < o->n; i++) {
			const unsigned char *r = p + at + HPCCPP_OPT_HDR + i * HPCCPP_REC_LEN;

			hpccpp_int_decode(&o->rec[i], word(r), word(r + 4), word(r + 8));
			if (o->rec[i].rate && o->written == i)
				o->written = i + 1;
		}
		opts->name = name_of(p[at + 2] << 8 | p[at + 3], p[13] & TH_PUSH);
	}
}

static void tcp(const unsigned char *p, unsigned int have, unsigned int iplen,
		unsigned int hdrs, bool out)
{
	static const char * const kinds[] = { "data", "ack", "syn", "fin", "rst" };
	struct options opts = { .name = "none" };
	char names[24] = "-", key[96];
	unsigned int doff, i, at, kind;
	struct group *g;

	if (have < 20)
		return;
	doff = (p[12] >> 4) * 4;
	if (doff < 20 || doff > have)
		return;
	kind = iplen <= hdrs + doff;
	if (p[13] & TH_SYN)
		kind = 2;
	else if (p[13] & TH_RST)
		kind = 4;
	else if (kind && p[13] & TH_FIN)
		kind = 3;

	read_options(p, doff, &opts);
	for (i = 0, at = 0; i < opts.o.written; i++) {
		at += snprintf(names + at, sizeof(names) - at, "%s%u", i ? "," : "",
			       opts.o.rec[i].link);
		if (!strcmp(opts.name, "collect"))
			count_link(&opts.o.rec[i]);
	}
	snprintf(key, sizeof(key), "%s %s %u %u %s %u %u %s", out ? "out" : "in",
		 kinds[kind], opts.ts, opts.sack, opts.name, opts.o.n, opts.o.written, names);
	for (g = groups; g->count && strcmp(g->key, key); g++) {
		if (g == &groups[4094])
			error(1, 0, "too many kinds of segments");
	}
	strcpy(g->key, key);
	g->count++;
	if (iplen > g->longest)
		g->longest = iplen;
}

static void packet(const unsigned char *p, unsigned int have, unsigned int proto, bool out)
{
	unsigned int off, len, next;

	packets++;
	if (proto == ETH_P_IP && have >= 28) {
		off = (p[0] & 15) * 4;
		len = p[2] << 8 | p[3];
		next = p[9];
		if ((p[6] << 8 | p[7]) & (IP_MF | IP_OFFMASK))
			fragments++;
		if (next == IPPROTO_ICMP && p[off] == ICMP_DEST_UNREACH &&
		    p[off + 1] == ICMP_FRAG_NEEDED)
			toobig++;
	} else if (proto == ETH_P_IPV6 && have >= 48) {
		off = 40;
		len = 40 + (p[4] << 8 | p[5]);
		next = p[6];
		if (next == IPPROTO_FRAGMENT)
			fragments++;
		if (next == IPPROTO_ICMPV6 && p[off] == ICMP6_PACKET_TOO_BIG)
			toobig++;
	} else {
		return;
	}
	if (next == IPPROTO_TCP)
		tcp(p + off, have - off, len, off, out);
}

static void report(int fd)
{
	struct tpacket_stats stats;
	socklen_t len = sizeof(stats);
	unsigned int i;

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len))
		error(1, errno, "PACKET_STATISTICS");
	printf("total %lu %u %lu %lu\n", packets, stats.tp_drops, fragments, toobig);
	for (i = 0; i <= HPCCPP_LINK_MAX; i++) {
		if (links[i].count)
			printf("link %u %llu %lu %.0f %.3f %lu\n", i,
			       (unsigned long long)hpccpp_rate_decode(links[i].last.rate),
			       links[i].count, (double)links[i].qlen / links[i].count,
			       (double)links[i].u / links[i].count / (1 << HPCCPP_U_SHIFT),
			       links[i].tx);
	}
	for (i = 0; groups[i].count; i++)
		printf("seg %s %lu %u\n", groups[i].key, groups[i].count, groups[i].longest);
}

int main(int argc, char **argv)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
	};
	struct sigaction act = { .sa_handler = on_term };
	int size = 64 << 20;
	unsigned char buf[256];
	sigset_t term, none;
	int fd;

	if (argc != 2)
		error(2, 0, "usage: segs DEV");
	sigemptyset(&none);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	sigaction(SIGTERM, &act, NULL);

	fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	addr.sll_ifindex = if_nametoindex(argv[1]);
	if (fd < 0 || !addr.sll_ifindex ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		error(1, errno, "%s", argv[1]);
	puts("watching");
	fflush(stdout);

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		struct sockaddr_ll ll;
		socklen_t lllen = sizeof(ll);
		ssize_t got = recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT,
				       (struct sockaddr *)&ll, &lllen);

		if (got >= 0)
			packet(buf, got, ntohs(ll.sll_protocol),
			       ll.sll_pkttype == PACKET_OUTGOING);
		else if (errno != EAGAIN)
			error(1, errno, "%s", argv[1]);
		else if (!stop)
			ppoll(&p, 1, NULL, &none);
		else
			break;
	}

	report(fd);
	return 0;
}
