/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of tgen share. */
#ifndef LAB_TGEN_H
#define LAB_TGEN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEVER		UINT64_MAX
#define FIRST_SPORT	10000
#define FIRST_DPORT	5000
#define CHUNK		1048576		/* send() at most */
#define ETH_IP_TCP	66		/* headers of a segment, with timestamps */
#define MAX_FLOWS	(65536 - FIRST_SPORT)	/* of a host: a port each */
#define MAX_NS		1000000000000ULL	/* of the run */
#define TICK_NS		1000000ULL	/* of a jiffy, at the lab's HZ */
#define WAIT_NS		10000000ULL	/* before time 0 of the run */
#define LOWAT		262144		/* TCP_NOTSENT_LOWAT, SO_RCVLOWAT */
#define MAX_SIZE	1e12
#define MAX_FILES	1048576		/* as much as the kernel lets root have */
#define KEPT		0x80000000	/* no flow, but a connection of rpc */

struct host {
	char name[64];
	int ns;
	struct sockaddr_in addr;	/* without a port */
	uint32_t n_flows, n_started;
	uint32_t *by_port;		/* flows, or KEPT | conn, from FIRST_SPORT */
};

struct path {
	uint64_t rtt, rate;
	uint32_t mtu;
};

/* Flow sizes: so many percent are no larger. */
struct point {
	double bytes, percent;
};

/* From SEED: what there is for a host's next flow. */
struct generator {
	uint64_t from, to, seed;
	uint32_t kept;			/* connections of a pair, of rpc; 0: of poisson */
	uint32_t conns;			/* the first of these */
	double load;			/* of the host's rate */
	uint32_t cc;
	const struct point *sizes;	/* the last has 100 % */
	uint64_t *streams;		/* of random numbers, by host */
};

enum kind { LISTEN, SEND, RECEIVE, TIMER, OPENER, OTHER };

/* What epoll says, in 64 bits: kind, index (LISTEN: socket). */
#define TAG(kind, i)	((uint64_t)(kind) << 32 | (i))

struct flow {
	uint64_t start, stop, size;	/* size NEVER: without end */
	uint64_t again;			/* when the second half is sent */
	uint32_t src, dst, cc;
	uint32_t message;		/* of generators[], + 1: one of rpc */
	uint32_t conn;			/* on which it goes */
	uint32_t next;			/* behind it there, the same way */
	uint64_t last;			/* byte of all that go that way, + 1 */
	bool answer;			/* its receiver opened the connection */
	int tx, rx;			/* sockets, -1: not open */
	uint16_t port;
	bool done;
	uint64_t sent, received;
	uint64_t at_from, at_to;	/* received by then */
	uint64_t sampled;
	uint64_t connected, end;	/* ns of the run */
	uint32_t retrans, timeouts;
};

enum what { OPEN, START, AGAIN, STOP, FROM, TO, END };

struct event {
	uint64_t at;
	enum what what;
	uint32_t index;			/* of a flow, or a connection of rpc */
};

extern struct host *hosts;
extern uint32_t n_hosts;
extern struct flow *flows;
extern uint32_t n_flows, flows_left;
extern struct event *events;
extern uint32_t n_events;
extern char (*ccs)[16];
extern uint32_t n_ccs;
extern uint32_t n_path_hosts;	/* the first of hosts[] */
extern struct generator *generators;
extern uint32_t n_generators;
extern uint64_t from, to, end;
extern uint64_t t0;
extern int epoll_fd;
extern char zeros[CHUNK];

/* tgen.c */
uint64_t now(void);
void *grow(void *list, uint32_t n, size_t size);
uint64_t parse(const char *what, const char *text);

/* tgen_load.c: hosts, the list of flows, generators */
void enter(const struct host *h);
void read_paths(const char *name);
const struct path *find_path(uint32_t src, uint32_t dst);
void take_port(uint32_t host);
void add_event(uint64_t at, enum what what, uint32_t index);
void read_flows(const char *name);
void plan(void);

/* tgen_conn.c: sockets */
void watch(int operation, int fd, uint32_t what, uint64_t tag);
void set_option(int fd, int level, int option, int value);
void set_lowat(int fd, uint64_t left);
int connect_to(uint32_t src, uint32_t dst, uint32_t cc, uint32_t whose, uint16_t *port);
void listen_all(void);
void count_losses(struct flow *w, int fd);
uint64_t bytes_received(int fd);
uint64_t received(const struct flow *w);
void close_flow(struct flow *w);
void start_flow(uint32_t i);
void stop_flow(struct flow *w);
void send_some(uint32_t i, uint32_t what);
void send_again(uint32_t i);
void receive_some(uint32_t i);
void accept_one(int listener);

/* tgen_rpc.c: messages on connections that are kept */
void add_conns(uint32_t index);
void open_conn(uint32_t index);
void accept_conn(uint32_t index, int fd);
void serve_conn(uint32_t index, int end_of, uint32_t what);
void start_message(uint32_t i);
uint64_t received_message(const struct flow *w);
void close_conns(void);

#endif /* LAB_TGEN_H */
