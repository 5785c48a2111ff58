// SPDX-License-Identifier: GPL-2.0
/* The connections of tgen, at both ends. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tgen.h"

/* Sockets */

/* Watches a socket for these events: EPOLL_CTL_ADD; EPOLL_CTL_MOD: in place of earlier ones. */
void watch(int operation, int fd, uint32_t what, uint64_t tag)
{
	struct epoll_event ev = { .events = what, .data.u64 = tag };

	if (epoll_ctl(epoll_fd, operation, fd, &ev))
		error(1, errno, "epoll");
}

/* Sets an option of a socket, which is a number. */
void set_option(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		error(1, errno, "option %d of a socket", option);
}

void set_lowat(int fd, uint64_t left)
{
	set_option(fd, SOL_SOCKET, SO_RCVLOWAT, left < LOWAT ? left : LOWAT);
}

static int open_socket(const struct host *h, uint32_t cc, uint16_t port)
{
	struct sockaddr_in addr = h->addr;
	int fd;

	enter(h);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		error(1, errno, "socket");
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, ccs[cc], strlen(ccs[cc])))
		error(1, errno, "congestion control %s", ccs[cc]);
	set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	addr.sin_port = htons(port);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		error(1, errno, "%s: port %u", h->name, port);
	return fd;
}

static void listen_on(uint32_t host, uint32_t cc)
{
	int fd = open_socket(&hosts[host], cc, FIRST_DPORT + cc);

	set_lowat(fd, NEVER);
	if (listen(fd, 65535))
		error(1, errno, "listen");
	watch(EPOLL_CTL_ADD, fd, EPOLLIN, TAG(LISTEN, fd));
}

void listen_all(void)
{
	uint8_t *wanted = calloc(n_hosts, n_ccs);
	uint32_t i, j;

	if (!wanted)
		error(1, errno, "memory");
	for (i = 0; i < n_flows; i++)
		wanted[flows[i].dst * n_ccs + flows[i].cc] = 1;
	for (i = 0; i < n_generators; i++)
		for (j = 0; j < n_path_hosts; j++)
			wanted[j * n_ccs + generators[i].cc] = 1;
	for (i = 0; i < n_hosts * n_ccs; i++)
		if (wanted[i])
			listen_on(i / n_ccs, i % n_ccs);
	free(wanted);
}

/* Where struct tcp_info, since 6.7, has tcpi_total_rto: headers may be older. */
#define TOTAL_RTO	240
_Static_assert(offsetof(struct tcp_info, tcpi_snd_wnd) == TOTAL_RTO - 12, "tcp_info");

union info {
	struct tcp_info tcp;
	uint16_t word[256];
};

static union info get_info(int fd)
{
	union info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		error(1, errno, "TCP_INFO");
	return info;
}

void count_losses(struct flow *w, int fd)
{
	union info info = get_info(fd);

	w->retrans += info.tcp.tcpi_total_retrans;
	w->timeouts += info.word[TOTAL_RTO / 2];
}

/* In order and acknowledged, which is more than what has been read. */
uint64_t bytes_received(int fd)
{
	return get_info(fd).tcp.tcpi_bytes_received;
}

uint64_t received(const struct flow *w)
{
	if (w->message)
		return received_message(w);
	return w->rx < 0 ? w->received : bytes_received(w->rx);
}

void close_flow(struct flow *w)
{
	if (w->tx >= 0) {
		count_losses(w, w->tx);
		close(w->tx);
	}
	if (w->rx >= 0)
		close(w->rx);
	w->tx = -1;
	w->rx = -1;
	w->done = true;
	flows_left--;
}

/* From the next port of src, which stands for "whose" there. */
int connect_to(uint32_t src, uint32_t dst, uint32_t cc, uint32_t whose, uint16_t *port)
{
	struct sockaddr_in addr = hosts[dst].addr;
	struct host *h = &hosts[src];
	int fd;

	h->by_port = grow(h->by_port, h->n_started, sizeof(*h->by_port));
	h->by_port[h->n_started] = whose;
	*port = FIRST_SPORT + h->n_started++;
	fd = open_socket(h, cc, *port);
	set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, LOWAT);
	addr.sin_port = htons(FIRST_DPORT + cc);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) && errno != EINPROGRESS)
		error(1, errno, "%s port %u: connect to %s", h->name, *port, hosts[dst].name);
	return fd;
}

void start_flow(uint32_t i)
{
	struct flow *w = &flows[i];

	w->tx = connect_to(w->src, w->dst, w->cc, i, &w->port);
	watch(EPOLL_CTL_ADD, w->tx, EPOLLOUT, TAG(SEND, i));
}

/* A reset tells the other end, which then reads what there is and closes. */
void stop_flow(struct flow *w)
{
	struct linger linger = { .l_onoff = 1 };

	if (w->done || w->tx < 0)
		return;
	count_losses(w, w->tx);
	setsockopt(w->tx, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(w->tx);
	w->tx = -1;
	if (w->rx < 0)
		close_flow(w);
}

void send_some(uint32_t i, uint32_t what)
{
	struct flow *w = &flows[i];
	uint64_t due = w->again == NEVER ? w->size : w->size / 2;
	uint64_t left = due - w->sent;
	ssize_t n;

	if (w->tx < 0)
		return;
	if (what & (EPOLLERR | EPOLLHUP)) {
		int err = 0;
		socklen_t len = sizeof(err);

		getsockopt(w->tx, SOL_SOCKET, SO_ERROR, &err, &len);
		error(0, err, "flow %u: %s to %s", i, hosts[w->src].name, hosts[w->dst].name);
		close_flow(w);
		return;
	}
	if (w->connected == NEVER)
		w->connected = now() - t0;
	/* less than asked for: it is full, and need not fail to say so */
	n = send(w->tx, zeros, left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		error(1, errno, "flow %u: send", i);
	if (n > 0)
		w->sent += n;
	if (w->sent == due)
		watch(EPOLL_CTL_MOD, w->tx, 0, TAG(SEND, i));
}

/* The second half is due, and the first may still be on its way. */
void send_again(uint32_t i)
{
	struct flow *w = &flows[i];

	w->again = NEVER;
	if (w->tx >= 0 && w->sent == w->size / 2)
		watch(EPOLL_CTL_MOD, w->tx, EPOLLOUT, TAG(SEND, i));
}

void receive_some(uint32_t i)
{
	struct flow *w = &flows[i];
	ssize_t n;

	if (w->rx < 0)
		return;
	n = recv(w->rx, NULL, 1 << 30, MSG_TRUNC);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		w->received += n;
	if (w->received == w->size)
		w->end = now() - t0;
	if (n <= 0 || w->received == w->size)
		close_flow(w);
	else if (w->size - w->received < LOWAT)
		set_lowat(w->rx, w->size - w->received);
}

void accept_one(int listener)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	uint32_t i, h, port;
	struct flow *w;
	int fd;

	fd = accept4(listener, (struct sockaddr *)&addr, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && errno == EAGAIN)
		return;
	if (fd < 0)
		error(1, errno, "accept");
	port = ntohs(addr.sin_port);
	for (h = 0; h < n_hosts; h++)
		if (hosts[h].addr.sin_addr.s_addr == addr.sin_addr.s_addr)
			break;
	if (h == n_hosts || port < FIRST_SPORT || port >= FIRST_SPORT + hosts[h].n_started) {
		error(0, 0, "a connection of another program, from %s port %u",
		      inet_ntoa(addr.sin_addr), port);
		close(fd);
		return;
	}
	i = hosts[h].by_port[port - FIRST_SPORT];
	if (i & KEPT) {
		accept_conn(i & ~KEPT, fd);
		return;
	}
	w = &flows[i];
	if (w->done) {
		close(fd);
		return;
	}
	w->rx = fd;
	if (w->size < LOWAT)
		set_lowat(fd, w->size);
	watch(EPOLL_CTL_ADD, fd, EPOLLIN, TAG(RECEIVE, i));
}
