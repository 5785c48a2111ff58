/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of the kernel as the module needs to run in a process: the headers that it
 * includes are empty files, and this is included before it. The fields of a socket are
 * those that the module reads, under their names, and tests set them as TCP would.
 */
#ifndef HPCCPP_MODULE_KERNEL_H
#define HPCCPP_MODULE_KERNEL_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/inet_diag.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

/* --- What the compiler is told, and is not here --- */

#define __init
#define __exit
#define __net_init
#define __net_exit
#define __percpu
#define __read_mostly
#define THIS_MODULE		NULL
#define BUILD_BUG_ON(x)		_Static_assert(!(x), #x)
#define MODULE_AUTHOR(x)
#define MODULE_DESCRIPTION(x)
#define MODULE_LICENSE(x)
#define MODULE_VERSION(x)
#define module_init(function)	int (*kernel_module_init)(void) = function;
#define module_exit(function)	void (*kernel_module_exit)(void) = function;

extern int (*kernel_module_init)(void);
extern void (*kernel_module_exit)(void);

/* --- Numbers --- */

#define USEC_PER_SEC		1000000L
#define NSEC_PER_SEC		1000000000L
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define fallthrough		__attribute__((__fallthrough__))
#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)
#define lower_32_bits(n)	((u32)(n))
#define upper_32_bits(n)	((u32)((n) >> 32))

#define min_t(type, a, b) ({ type _a = (a), _b = (b); _a < _b ? _a : _b; })
#define max_t(type, a, b) ({ type _a = (a), _b = (b); _a > _b ? _a : _b; })
#define min(a, b)		min_t(typeof((a) + (b)), a, b)
#define max(a, b)		max_t(typeof((a) + (b)), a, b)
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)
#define clamp(v, lo, hi)	clamp_t(typeof((v) + (lo) + (hi)), v, lo, hi)
#define abs(n) ({ typeof(n) _n = (n); _n < 0 ? -_n : _n; })

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV64_U64_ROUND_UP(n, d) DIV_ROUND_UP((u64)(n), (u64)(d))
#define div_u64(n, d)		((u64)(n) / (u32)(d))
#define div64_u64(n, d)		((u64)(n) / (u64)(d))
#define ilog2(n)		(63 - __builtin_clzll(n))
#define before(a, b)		((s32)((a) - (b)) < 0)
#define after(a, b)		before(b, a)

#define for_each_set_bit(bit, bits, n) \
	for ((bit) = 0; (bit) < (n); (bit)++) \
		if (*(bits) >> (bit) & 1)

/* Ticks, as 6.1 of Debian has them */
#define HZ			250
extern u32 tcp_jiffies32;

static inline unsigned long get_random_long(void)
{
	return 0x5bd1e995a5a5a5a4UL;
}

/* --- Memory and RCU --- */

#define GFP_KERNEL		1
#define GFP_ATOMIC		2
#define __GFP_NOWARN		4
#define __GFP_ACCOUNT		8

extern int kernel_memory;	/* allocations until all fail; -1: none fails */
extern int kernel_allocated;
extern int kernel_rcu;		/* depth of read sides */

void *kzalloc(size_t size, int flags);
void *kmemdup(const void *what, size_t size, int flags);
void kfree(const void *what);

#define rcu_read_lock()		(kernel_rcu++)
#define rcu_read_unlock()	(kernel_rcu--)
#define rcu_dereference(p) ({ kernel_check(kernel_rcu > 0, #p " under RCU"); (p); })
void kernel_check(bool holds, const char *what);

#define KERNEL_CPUS		2
extern int kernel_cpu;		/* that runs */
extern size_t kernel_percpu;	/* bytes from a CPU's to the next one's */

#define alloc_percpu(type)	((type *)kernel_alloc_percpu(sizeof(type)))
#define free_percpu(p)		kfree(p)
#define per_cpu_ptr(p, cpu) \
	((typeof(p))((char *)(p) + (cpu) * kernel_percpu))
#define this_cpu_inc(x)		((*per_cpu_ptr(&(x), kernel_cpu))++)
#define for_each_possible_cpu(cpu) \
	for ((cpu) = 0; (cpu) < KERNEL_CPUS; (cpu)++)
void *kernel_alloc_percpu(size_t size);

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

#define hlist_entry(node, type, member) \
	((node) ? (type *)((char *)(node) - offsetof(type, member)) : NULL)
#define hlist_for_each_entry_rcu(pos, head, member) \
	for ((pos) = hlist_entry((head)->first, typeof(*(pos)), member); (pos); \
	     (pos) = hlist_entry((pos)->member.next, typeof(*(pos)), member))

/* --- Namespaces, sysctl and proc --- */

struct net {
	struct {
		u8 sysctl_tcp_slow_start_after_idle;
	} ipv4;
	void *proc_net;
	void *user_ns;
	void *generic;		/* of the one subsystem */
};

extern struct net init_net;
extern int init_user_ns;

struct pernet_operations {
	int (*init)(struct net *net);
	void (*exit)(struct net *net);
	unsigned int *id;
	size_t size;
};

int register_pernet_subsys(struct pernet_operations *ops);
void unregister_pernet_subsys(struct pernet_operations *ops);
void *net_generic(const struct net *net, unsigned int id);

#ifdef HPCCPP_HAVE_CONST_CTL_TABLE
#define kernel_ctl_table	const struct ctl_table
#else
#define kernel_ctl_table	struct ctl_table
#endif

struct ctl_table {
	const char *procname;
	void *data;
	int maxlen;
	int mode;
	int (*proc_handler)(kernel_ctl_table *table, int write, void *buffer, size_t *len,
			    loff_t *pos);
	void *extra1, *extra2;
};

struct ctl_table_header {
	const struct ctl_table *ctl_table_arg;
	size_t n;
};

/* Of a whole text at once. A number is one, and has no text after it. */
int proc_dointvec_minmax(kernel_ctl_table *table, int write, void *buffer, size_t *len,
			 loff_t *pos);
int proc_dostring(kernel_ctl_table *table, int write, void *buffer, size_t *len, loff_t *pos);
int match_string(const char * const *array, size_t n, const char *string);
#define strscpy(to, from, size)	snprintf(to, size, "%s", from)

#define SYSCTL_ZERO		((void *)&kernel_sysctl[0])
#define SYSCTL_ONE_HUNDRED	((void *)&kernel_sysctl[1])
#define SYSCTL_ONE_THOUSAND	((void *)&kernel_sysctl[2])
#define SYSCTL_ONE		((void *)&kernel_sysctl[3])
extern const int kernel_sysctl[4];
extern struct ctl_table_header *kernel_knobs;

struct ctl_table_header *register_net_sysctl_sz(struct net *net, const char *path,
						struct ctl_table *table, size_t n);
struct ctl_table_header *register_net_sysctl(struct net *net, const char *path,
					     struct ctl_table *table);
void unregister_net_sysctl_table(struct ctl_table_header *header);

struct seq_file {
	struct net *net;
	char text[4096];
	size_t length;
};

#define seq_file_single_net(seq) ((seq)->net)
__attribute__((format(printf, 2, 3)))
void seq_printf(struct seq_file *seq, const char *format, ...);

extern int (*kernel_proc_show)(struct seq_file *seq, void *v);
extern bool kernel_no_proc;	/* no file can be made */
void *proc_create_net_single(const char *name, int mode, void *parent,
			     int (*show)(struct seq_file *seq, void *v), void *data);
void remove_proc_entry(const char *name, void *parent);

/* --- A socket's storage of eBPF --- */

struct bpf_map {
	u32 value_size;
};

struct bpf_local_storage_map {
	struct bpf_map map;
};

struct bpf_local_storage_data {
	struct bpf_local_storage_map *smap;
	u8 data[256] __attribute__((aligned(8)));
};

struct bpf_local_storage_elem {
	struct hlist_node snode;
	struct bpf_local_storage_data sdata;
};

struct bpf_local_storage {
	struct hlist_head list;
};

#define SDATA(elem)		(&(elem)->sdata)

/* --- TCP --- */

#define TCP_CONG_NON_RESTRICTED	1
#define TCP_INIT_CWND		10
#define TCP_INFINITE_SSTHRESH	0x7fffffff
#define ICSK_CA_PRIV_SIZE	104

enum {
	TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss,
};

enum tcp_ca_event {
	CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS,
};

#define __sk_dst_get(sk)	((sk)->sk_dst)

enum sk_pacing {
	SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ,
};

struct sk_buff;

struct dst_entry {
	u32 initcwnd;
};

enum { RTAX_INITCWND };

/* of the one metric */
#define dst_metric(dst, metric)	((void)(metric), (dst)->initcwnd)

/* net/tcp_states.h */
#define TCP_CLOSE	7

struct sock {
	struct net *sk_net;
	u8 sk_state;
	struct dst_entry *sk_dst;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	u8 sk_pacing_shift;
	u16 sk_gso_max_segs;
	struct bpf_local_storage *sk_bpf_storage;
	u64 sk_cookie;
};

#define atomic64_read(v)	(*(v))

struct inet_connection_sock_af_ops {
	u16 net_header_len;
};

struct inet_connection_sock {
	struct sock sk;
	const struct tcp_congestion_ops *icsk_ca_ops;
	const struct inet_connection_sock_af_ops *icsk_af_ops;
	u8 icsk_ca_state;
	u32 icsk_rto;		/* ticks */
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

struct tcp_sock {
	struct inet_connection_sock icsk;
	u16 tcp_header_len;
	u32 mss_cache;
	u32 snd_una, snd_nxt, snd_wnd, snd_cwnd, snd_cwnd_clamp, snd_ssthresh;
	u32 packets_out, sacked_out, lost_out, retrans_out;
	u32 delivered, lost, total_retrans, segs_in, segs_out, data_segs_in, data_segs_out;
	u32 srtt_us;		/* << 3 */
	u32 lsndtime;		/* ticks */
	u32 rtt_min;
	u32 rate_delivered, rate_interval_us;
	u8 bpf_sock_ops_cb_flags;
	u64 tcp_clock_cache;
	struct sk_buff *send_head;
};

struct rate_sample {
	long rtt_us;
	u32 acked_sacked;
	u32 prior_in_flight;
	bool is_app_limited;
};

bool tcp_is_cwnd_limited(const struct sock *sk);
u32 tcp_current_ssthresh(const struct sock *sk);

struct tcp_congestion_ops {
	u32 flags;
	const char *name;
	void *owner;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	u32 (*undo_cwnd)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
#ifdef HPCCPP_HAVE_CONG_CONTROL_ACK
	void (*cong_control)(struct sock *sk, u32 ack, int flag,
			     const struct rate_sample *rs);
#else
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
#endif
#ifdef HPCCPP_HAVE_CWND_EVENT_TX_START
	void (*cwnd_event_tx_start)(struct sock *sk);
#endif
};

extern struct tcp_congestion_ops *kernel_cc;	/* that is registered */
extern int kernel_cc_error;	/* of the next to be */
int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);

u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);

/* To the agent: the test is one. */
int tcp_call_bpf(struct sock *sk, int op, u32 nargs, u32 *args);

#define sock_net(sk)		((sk)->sk_net)
#define tcp_sk(sk)		((struct tcp_sock *)(sk))
#define inet_csk(sk)		((struct inet_connection_sock *)(sk))
#define inet_csk_ca(sk)		((void *)inet_csk(sk)->icsk_ca_priv)
#define tcp_min_rtt(tp)		((tp)->rtt_min)
#define tcp_snd_cwnd(tp)	((tp)->snd_cwnd)
#define tcp_send_head(sk)	(tcp_sk(sk)->send_head)

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	kernel_check((int)cwnd > 0, "cwnd > 0");
	tp->snd_cwnd = cwnd;
}

static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* --- The trace event: its fields as a struct, and a function that tests have --- */

#define TP_PROTO(...)		__VA_ARGS__
#define TP_ARGS(...)
#define TP_STRUCT__entry(...)	__VA_ARGS__
#define TP_fast_assign(...)	__VA_ARGS__
#define TP_printk(...)
#define TP_STORE_ADDR_PORTS(entry, inet, sk)
#define __field(type, name)	type name;
#define __array(type, name, n)	type name[n];
#define TRACE_EVENT(name, proto, args, fields, assign, print)		\
	struct trace_ ## name {						\
		fields							\
	};								\
	void kernel_trace(const struct trace_ ## name *entry);		\
	static inline void trace_ ## name(proto)			\
	{								\
		struct trace_ ## name entry, *__entry = &entry;		\
		assign							\
		kernel_trace(__entry);					\
	}

struct sockaddr_in6 {
	char bytes[28];
};

#endif /* HPCCPP_MODULE_KERNEL_H */
