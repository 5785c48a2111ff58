// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of tgen on connections that are kept. From its opener a connection carries
 * requests and calls for answers, the other way answers and receipts of requests, each
 * way in order. Calls and receipts are small, and have no line in the report. An answer
 * follows its call, and a receipt its request: a message is in one queue at a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tgen.h"

#define SMALL	64	/* bytes of a call or a receipt */

/* From one end to the other: a stream of bytes, and where in it messages end. */
struct way {
	uint64_t given, written, read;	/* bytes */
	uint32_t n, first, last;	/* flows on their way, linked by their "next" */
	bool waits;			/* for room to write */
};

/* End 0 is the opener's; way 0 begins there. */
struct conn {
	uint32_t src, dst, cc;
	uint32_t first;			/* flow that it carries, + 1 */
	uint16_t port;
	int fd[2];			/* -1: not open */
	struct way way[2];
	uint64_t asked;			/* bytes of both ways, answers from their call on */
};

static struct conn *conns;
static uint32_t n_conns;

/* The k-th from opener to other. */
static uint32_t find_conn(const struct generator *g, uint32_t opener, uint32_t other, uint32_t k)
{
	uint32_t n = n_path_hosts;
	uint32_t step = (other + n - opener) % n;

	return g->conns + (k * (n - 1) + step - 1) * n + opener;
}

/* In the order of find_conn(): hosts take turns as openers, and as other ends. */
void add_conns(uint32_t index)
{
	struct generator *g = &generators[index];
	uint32_t n = n_path_hosts, all = g->kept * n * (n - 1), i;

	g->conns = n_conns;
	for (i = 0; i < all; i++) {
		uint32_t src = i % n, dst = (src + 1 + i / n % (n - 1)) % n;

		take_port(src);
		add_event(g->from * ((double)i / all), OPEN, n_conns);
		conns = grow(conns, n_conns, sizeof(*conns));
		conns[n_conns++] = (struct conn) {
			.src = src, .dst = dst, .cc = g->cc, .fd = { -1, -1 },
		};
	}
}

void open_conn(uint32_t index)
{
	struct conn *c = &conns[index];

	c->fd[0] = connect_to(c->src, c->dst, c->cc, KEPT | index, &c->port);
	/* as RPC libraries do: no message waits for the ACK of another */
	set_option(c->fd[0], IPPROTO_TCP, TCP_NODELAY, 1);
	c->way[0].waits = true;
	watch(EPOLL_CTL_ADD, c->fd[0], EPOLLIN | EPOLLOUT, TAG(OPENER, index));
}

/* The reader is woken when the next message of this way is whole. */
static void await(const struct conn *c, int d)
{
	const struct way *y = &c->way[d];

	if (y->n && c->fd[!d] >= 0)
		set_lowat(c->fd[!d], flows[y->first].last - y->read);
}

void accept_conn(uint32_t index, int fd)
{
	struct conn *c = &conns[index];

	c->fd[1] = fd;
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, LOWAT);
	await(c, 0);
	watch(EPOLL_CTL_ADD, fd, EPOLLIN, TAG(OTHER, index));
}

static void write_some(uint32_t index, int d)
{
	struct conn *c = &conns[index];
	struct way *y = &c->way[d];
	uint64_t left = y->given - y->written;
	ssize_t n = 0;

	if (c->fd[d] < 0)
		return;
	if (left)
		n = send(c->fd[d], zeros, left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		error(1, errno, "%s port %u: send", hosts[c->src].name, c->port);
	if (n > 0)
		y->written += n;
	left = y->given - y->written;
	if (y->waits == !!left)
		return;
	y->waits = left;
	watch(EPOLL_CTL_MOD, c->fd[d], EPOLLIN | (y->waits ? EPOLLOUT : 0),
	      TAG(d ? OTHER : OPENER, index));
}

/* Behind what goes that way already. */
static void give(uint32_t index, int d, uint32_t i, uint64_t bytes)
{
	struct conn *c = &conns[index];
	struct way *y = &c->way[d];

	y->given += bytes;
	flows[i].last = y->given;
	if (y->n)
		flows[y->last].next = i;
	else
		y->first = i;
	y->last = i;
	if (!y->n++)
		await(c, d);
	write_some(index, d);
}

static void begin(uint32_t i, uint64_t at)
{
	struct flow *w = &flows[i];

	w->start = at;
	w->connected = at;
	give(w->conn, w->answer, i, w->size);
}

/* The message, its call (an answer's, way 0) or its receipt (a request's, way 1). */
static void arrive(uint32_t i, int d)
{
	struct flow *w = &flows[i];
	uint64_t at = now() - t0;

	if (w->answer && !d) {
		begin(i, at);
		return;
	}
	if (w->answer == d) {
		w->received = w->size;
		w->end = at;
	}
	if (!d) {
		give(w->conn, 1, i, SMALL);
		return;
	}
	w->done = true;
	flows_left--;
}

static void read_some(uint32_t index, int d)
{
	struct conn *c = &conns[index];
	struct way *y = &c->way[d];
	ssize_t n;

	n = recv(c->fd[!d], NULL, 1 << 30, MSG_TRUNC);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		error(1, n ? errno : ECONNRESET, "%s port %u: receive",
		      hosts[c->src].name, c->port);
	y->read += n;
	while (y->n && flows[y->first].last <= y->read) {
		uint32_t i = y->first;

		y->first = flows[i].next;
		y->n--;
		arrive(i, d);
	}
	await(c, d);
}

void serve_conn(uint32_t index, int end_of, uint32_t what)
{
	struct conn *c = &conns[index];

	if (what & (EPOLLERR | EPOLLHUP)) {
		int err = 0;
		socklen_t len = sizeof(err);

		getsockopt(c->fd[end_of], SOL_SOCKET, SO_ERROR, &err, &len);
		error(1, err, "%s port %u, to %s, is kept", hosts[c->src].name,
		      c->port, hosts[c->dst].name);
	}
	if (what & EPOLLIN)
		read_some(index, !end_of);
	if (what & EPOLLOUT)
		write_some(index, end_of);
}

/* Bytes of either way that have yet to arrive. Of a long message many are not read yet. */
static uint64_t left_of(const struct conn *c)
{
	uint64_t left = c->asked;
	int i;

	for (i = 0; i < 2; i++)
		if (c->fd[i] >= 0)
			left -= bytes_received(c->fd[i]);
	return left;
}

void start_message(uint32_t i)
{
	struct flow *w = &flows[i];
	const struct generator *g = &generators[w->message - 1];
	uint32_t opener = w->answer ? w->dst : w->src;
	uint32_t other = w->answer ? w->src : w->dst;
	uint64_t least = NEVER;
	struct conn *c;
	uint32_t k;

	for (k = 0; k < g->kept; k++) {
		uint32_t index = find_conn(g, opener, other, k);
		uint64_t left = left_of(&conns[index]);

		if (left < least) {
			least = left;
			w->conn = index;
		}
	}
	c = &conns[w->conn];
	c->asked += w->size + SMALL;
	w->port = c->port;
	if (!c->first)
		c->first = i + 1;
	if (w->answer)
		give(w->conn, 0, i, SMALL);
	else
		begin(i, w->start);
}

uint64_t received_message(const struct flow *w)
{
	uint64_t bytes, before = w->last - w->size;
	int fd = conns[w->conn].fd[!w->answer];

	/* not begun, or whole */
	if (w->connected == NEVER || w->end != NEVER || fd < 0)
		return w->received;
	bytes = bytes_received(fd);
	if (bytes <= before)
		return 0;
	return bytes - before < w->size ? bytes - before : w->size;
}

/* One without a message has no line, and has had a handshake only. */
void close_conns(void)
{
	uint32_t i, j;

	for (i = 0; i < n_conns; i++) {
		struct conn *c = &conns[i];

		for (j = 0; j < 2; j++) {
			if (c->fd[j] < 0)
				continue;
			if (c->first)
				count_losses(&flows[c->first - 1], c->fd[j]);
			close(c->fd[j]);
		}
	}
}
