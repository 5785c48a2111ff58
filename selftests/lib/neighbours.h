/* SPDX-License-Identifier: GPL-2.0 */
/* Features of TCP that a connection of xfer uses: see neighbours.sh. */
#include <bpf/bpf.h>
#include <linux/tls.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#ifndef SOL_TLS
#define SOL_TLS		282
#endif

#define TCPOPT_MAXSEG		2
#define TCPOPT_WINDOW		3
#define TCPOPT_SACK_PERMITTED	4
#define TCPOPT_TIMESTAMP	8

#define KEY		"0123456789abcdef"

static bool is(const char *name, const char *other)
{
	return name && !strcmp(name, other);
}

static void set(int fd, int level, int option, const void *value, socklen_t len,
		const char *what)
{
	if (setsockopt(fd, level, option, value, len))
		error(1, errno, "%s", what);
}

static void set_int(int fd, int option, int value, const char *what)
{
	set(fd, IPPROTO_TCP, option, &value, sizeof(value), what);
}

static void get(int fd, int option, void *value, socklen_t len, const char *what)
{
	if (getsockopt(fd, IPPROTO_TCP, option, value, &len))
		error(1, errno, "%s", what);
}

/* Returns the protocol of a new socket. */
static int neighbour_protocol(const char *name)
{
	return is(name, "mptcp") ? IPPROTO_MPTCP : 0;
}

/* One key for all peers; for IPv4's by a socket of IPv6 it is set apart. */
static void set_md5(int fd, int family)
{
	struct tcp_md5sig md5 = {
		.tcpm_flags = TCP_MD5SIG_FLAG_PREFIX,
		.tcpm_keylen = strlen(KEY),
		.tcpm_key = KEY,
	};
	struct sockaddr_in6 *in6 = (void *)&md5.tcpm_addr;

	in6->sin6_family = family;
	set(fd, IPPROTO_TCP, TCP_MD5SIG_EXT, &md5, sizeof(md5), "TCP_MD5SIG_EXT");
	if (family == AF_INET6) {
		inet_pton(family, "::ffff:0.0.0.0", &in6->sin6_addr);
		set(fd, IPPROTO_TCP, TCP_MD5SIG_EXT, &md5, sizeof(md5), "TCP_MD5SIG_EXT");
	}
}

/* Sets up a socket before it connects or listens. */
static void neighbour_before(const char *name, int fd, int family, bool listens)
{
	if (is(name, "md5"))
		set_md5(fd, family);
	if (is(name, "tfo") && listens)
		set_int(fd, TCP_FASTOPEN, 1, "TCP_FASTOPEN");
	else if (is(name, "tfo"))
		set_int(fd, TCP_FASTOPEN_CONNECT, 1, "TCP_FASTOPEN_CONNECT");
}

/* The same key and numbers both ways: nothing here is secret. */
static void set_tls(int fd)
{
	struct tls12_crypto_info_aes_gcm_128 tls = {
		.info.version = TLS_1_2_VERSION,
		.info.cipher_type = TLS_CIPHER_AES_GCM_128,
	};

	memcpy(tls.key, KEY, sizeof(tls.key));
	set(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls"), "TCP_ULP tls");
	set(fd, SOL_TLS, TLS_TX, &tls, sizeof(tls), "TLS_TX");
	set(fd, SOL_TLS, TLS_RX, &tls, sizeof(tls), "TLS_RX");
}

/* In a map whose program lets all messages pass: TCP's operations are the map's. */
static void set_sockmap(int fd)
{
	static const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = SK_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int zero = 0, map, prog;

	map = bpf_map_create(BPF_MAP_TYPE_SOCKMAP, "xfer", 4, 4, 1, NULL);
	if (map < 0)
		error(1, errno, "sockmap");
	prog = bpf_prog_load(BPF_PROG_TYPE_SK_MSG, "xfer", "GPL", pass,
			     sizeof(pass) / sizeof(*pass), NULL);
	if (prog < 0 || bpf_prog_attach(prog, map, BPF_SK_MSG_VERDICT, 0))
		error(1, errno, "sk_msg program");
	if (bpf_map_update_elem(map, &zero, &fd, BPF_ANY))
		error(1, errno, "socket into sockmap");
}

/* Sets up a connected socket; with TCP Fast Open before its first data. */
static void neighbour_after(const char *name, int fd)
{
	if (is(name, "tls"))
		set_tls(fd);
	if (is(name, "sockmap"))
		set_sockmap(fd);
}

static unsigned int queue_seq(int fd, int queue)
{
	unsigned int seq;

	set_int(fd, TCP_REPAIR_QUEUE, queue, "TCP_REPAIR_QUEUE");
	get(fd, TCP_QUEUE_SEQ, &seq, sizeof(seq), "TCP_QUEUE_SEQ");
	return seq;
}

/*
 * Ends a connection without the peer noticing and returns a new socket that continues it. All data
 * sent must have been acknowledged.
 */
static int neighbour_repair(int fd, const char *cc)
{
	struct tcp_repair_window window;
	struct sockaddr_storage from, to;
	socklen_t from_len = sizeof(from), to_len = sizeof(to);
	unsigned int snd, rcv, stamp, mss;
	struct tcp_info info;
	int one = 1;

	set_int(fd, TCP_REPAIR, TCP_REPAIR_ON, "TCP_REPAIR");
	snd = queue_seq(fd, TCP_SEND_QUEUE);
	rcv = queue_seq(fd, TCP_RECV_QUEUE);
	get(fd, TCP_REPAIR_WINDOW, &window, sizeof(window), "TCP_REPAIR_WINDOW");
	get(fd, TCP_TIMESTAMP, &stamp, sizeof(stamp), "TCP_TIMESTAMP");
	get(fd, TCP_MAXSEG, &mss, sizeof(mss), "TCP_MAXSEG");
	get(fd, TCP_INFO, &info, sizeof(info), "TCP_INFO");
	if (getsockname(fd, (struct sockaddr *)&from, &from_len) ||
	    getpeername(fd, (struct sockaddr *)&to, &to_len) || close(fd))
		error(1, errno, "addresses of a connection under repair");

	struct tcp_repair_opt options[] = {
		{ TCPOPT_MAXSEG, mss },
		{ TCPOPT_WINDOW, info.tcpi_snd_wscale | info.tcpi_rcv_wscale << 16 },
		{ TCPOPT_SACK_PERMITTED, 0 },
		{ TCPOPT_TIMESTAMP, 0 },
	};

	fd = socket(from.ss_family, SOCK_STREAM, 0);
	if (fd < 0)
		error(1, errno, "socket");
	set(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one), "SO_REUSEADDR");
	set_int(fd, TCP_REPAIR, TCP_REPAIR_ON, "TCP_REPAIR");
	set(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc), cc);
	set_int(fd, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE, "TCP_REPAIR_QUEUE");
	set_int(fd, TCP_QUEUE_SEQ, snd, "TCP_QUEUE_SEQ");
	set_int(fd, TCP_REPAIR_QUEUE, TCP_RECV_QUEUE, "TCP_REPAIR_QUEUE");
	set_int(fd, TCP_QUEUE_SEQ, rcv, "TCP_QUEUE_SEQ");
	if (bind(fd, (struct sockaddr *)&from, from_len) ||
	    connect(fd, (struct sockaddr *)&to, to_len))
		error(1, errno, "connection under repair");
	set(fd, IPPROTO_TCP, TCP_REPAIR_OPTIONS, options, sizeof(options), "TCP_REPAIR_OPTIONS");
	set_int(fd, TCP_TIMESTAMP, stamp, "TCP_TIMESTAMP");
	set(fd, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, sizeof(window), "TCP_REPAIR_WINDOW");
	set_int(fd, TCP_REPAIR, TCP_REPAIR_OFF, "TCP_REPAIR");
	return fd;
}
