/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the command `hpccpp` share: exit statuses, arguments, rows
 * of output, access to loaded programs, and queueing disciplines.
 */
#ifndef HPCCPP_H
#define HPCCPP_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <linux/bpf.h>
#include <json-c/json.h>
#include <libmnl/libmnl.h>

#include "hpccpp_agent.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static inline long long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The least load, in 1/64, that is no less than so many percent */
static inline __u8 load_of_percent(unsigned int percent)
{
	return ((percent << HPCCPP_U_SHIFT) + 99) / 100;
}

/* The running kernel's types */
#define KERNEL_BTF	"/sys/kernel/btf/vmlinux"

/*
 * Exit statuses, iproute2's. A function that returns int returns one of these,
 * and has said why in one line on stderr when it is not EXIT_DONE.
 */
enum {
	EXIT_DONE = 0,
	EXIT_MISSING = 1,	/* "check" found something missing */
	EXIT_SYSTEM = 2,	/* the kernel refused, or it is not there */
	EXIT_USAGE = 255,	/* the command line is wrong, or help */
};

enum output {
	OUTPUT_TEXT,
	OUTPUT_JSON,
	OUTPUT_PROM,		/* Prometheus' text format */
};

struct options {
	unsigned int output;	/* enum output */
	bool json;
	bool pretty;
	bool stats;
	bool verbose;
	bool quiet;		/* errors are not said */
	bool dry_run;		/* what would load an agent only plans it */
	const char *netns;	/* that was entered, or NULL */
};

extern struct options opt;

/* The module's: the Makefile says so, but not to the unit tests */
#ifndef HPCCPP_VERSION
#define HPCCPP_VERSION	"none"
#endif

#define IPV4	"/proc/sys/net/ipv4/"

/* args.c */
/* The thing that errors are about, where there are several; else NULL. */
extern const char *subject;
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int system_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int errno_error(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Print why an agent cannot be loaded: one that needs the kernel's types (BTF), or one that does
 * not.
 */
int load_error(int err, const char *agent);
int untyped_load_error(int err, const char *agent);
/* True if the kernel refuses programs that read its memory: lockdown "confidentiality" */
bool in_lockdown(void);
extern const char *lockdown_file;

/* Open files with which any agent can be loaded and read */
#define FILES_MIN	64
unsigned int few_files(void);

/* Command line: one table for each set of words; any unique prefix will do. */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
};

/*
 * A keyword and what becomes of the value after it: parse() makes of its text entry n
 * of the array to.
 */
struct argument {
	const char *name;
	int (*parse)(const struct argument *arg, const char *text);	/* NULL: no value */
	void *to;
	unsigned int max;	/* entries of to; 0: one */
	unsigned int low, high;	/* of arg_uint() */
	const char *const *words;	/* of arg_word(), high of them */
	unsigned int n;		/* how often the keyword was given */
	bool bare;		/* of the first of a table: its value may come without it */
	bool place;		/* it says where, not what: no word to keep */
	bool path;		/* its value is one */
};

/* The members of an entry that all keywords with a value have */
#define ARG(word, parser, dest)	.name = word, .parse = parser, .to = dest

/* The entry of a table, whose first member is a name, that text is or abbreviates */
int find_word(const char *what, const char *text, const void *table, size_t size,
	      size_t n, size_t *found);
/* EXIT_USAGE, when a command without an object was asked for help */
int wants_help(int argc, char **argv, const char *usage);
int run_command(const struct command *cmds, size_t n, const char *object,
		const char *usage, int argc, char **argv);
int parse_arguments(struct argument *args, size_t n, int argc, char **argv);
int parse_entry(struct argument *arg, const char *text);
int parse_word(const char *name, const char *text, const char *const *words,
	       size_t n, unsigned int *value);
const char *zero_hint(const char *text);
bool read_uint(const char *text, unsigned int min, unsigned int max, unsigned int *value);
int parse_uint(const char *name, const char *text, unsigned int min,
	       unsigned int max, unsigned int *value);
const char *read_line(const char *path, char *buf, int size);
bool has_word(const char *text, const char *word);	/* between spaces */
int check_option_types(const unsigned int type[2]);
int arg_text(const struct argument *arg, const char *text);	/* const char * */
int arg_word(const struct argument *arg, const char *text);	/* unsigned int */
int arg_uint(const struct argument *arg, const char *text);	/* unsigned int */
int arg_rate(const struct argument *arg, const char *text);	/* __u64, bit/s */
int arg_time(const struct argument *arg, const char *text);	/* unsigned int, us */

/* prefix.c: prefixes, and those that a map of a program has, as an array of text */
int arg_prefix(const struct argument *arg, const char *text);	/* struct hpccpp_prefix */
int arg_prefix6(const struct argument *arg, const char *text);	/* of IPv6 alone */
/* Whether an address, as text, is of that prefix */
bool in_prefix(const struct hpccpp_prefix *prefix, const char *addr);
int put_prefixes(struct json_object *row, const char *key, int prog,
		 const char *map);
/* Into a map; 0, or what libbpf answers. */
struct bpf_map;
int write_prefixes(const struct bpf_map *map,
		   const struct hpccpp_prefix *prefixes, unsigned int n);

/* peers.c: peers and paths that a host agent remembers */
int put_peers(struct json_object *row, int prog);
int flush_peers(int prog);

/* device.c: what all that is attached to devices takes */
/* Into a namespace by name, path or PID; stays where it is without one. */
int netns_enter(const char *name);
int find_dev(const char *dev, const char *netns, int *ifindex);
int parse_dev_to_clear(const char *object, int argc, char **argv, const char **dev);
int find_dev_to_clear(const char *object, int argc, char **argv, const char **dev,
		      int *ifindex);
int draw_mark(__u32 *mark);
__u64 ethtool_rate(const char *dev);
/*
 * These add the objects of a kind, of one device or of all, to the rows. One that cannot
 * be read is an error, and the others are there all the same.
 */
struct field;
struct qdisc;
int dev_rows(const char *dev, struct json_object *rows,
	     int (*add)(const struct qdisc *list, size_t n, int ifindex,
			const char *dev, struct json_object *rows));
int show_devs(const struct field *fields,
	      int (*read)(const char *dev, struct json_object *rows),
	      int argc, char **argv);

/* hook.c: agents that are attached to devices, and their programs on these */
enum dev_agent {
	DEV_PORT,
	DEV_CNP,
	DEV_EDGE,		/* a port on ingress */
};

int check_hooks(void);	/* whether it may be asked what there is */
bool uses_clsact(void);	/* where the kernel has nothing better */
int find_program(enum dev_agent agent, int ifindex, enum bpf_tc_attach_point point, int *prog);
bool find_before(int ifindex, bool on_ingress, char *names, size_t size);
int attach_programs(enum dev_agent agent, const char *dev, int ifindex, bool replace, int in,
		    int out);
int detach_programs(enum dev_agent agent, const char *dev, int ifindex);

/* output.c: rows, and how an object's fields are printed */
enum field_form {
	FORM_NUM,
	FORM_TEXT,
	FORM_FLAG,		/* its word when it is true */
	FORM_VERSION,		/* of an agent, in text when it is not the command's */
	FORM_RATIO,		/* by put_ratio() */
	FORM_BYTES,
	FORM_RATE,		/* bit/s */
	FORM_TIME,		/* us */
	FORM_AGE,		/* us, in text no more exact than anybody needs */
	FORM_EVERY,		/* packets, in text "rtt" for 0 */
	FORM_TXQ,		/* in text beside others alone, under mq */
	FORM_HOOK,		/* of a device, in text if it is not egress */
	FORM_ADDRESS,		/* with the next field, the port */
	FORM_SOME,		/* number, in text when it is not 0 */
	FORM_LIST,		/* array of strings */
	FORM_SUSPECTS,		/* array of objects by put_peers(), in text a line each */
	FORM_ALARM,		/* text, empty for none; to Prometheus whether there is some */
	FORM_COUNTS,		/* object of counters, in text with -s, those that count */
	FORM_CNP_FLOWS,		/* array of rows by cnp_flow_fields, a line each */
};

/*
 * A table of these ends with one without a key, whose word is what text has in place of a
 * table without rows. NULL: is not printed there.
 */
struct field {
	const char *key;	/* in the row and in JSON */
	enum field_form form;
	const char *word;	/* in text, before the value; \n: a new line */
	const char *column;	/* name of the column in a table */
	const char *metric;	/* of Prometheus; "": a label of the others */
	const char *help;	/* of that metric */
};

void rate_text(char *buf, size_t size, __u64 bps);
void put_num(struct json_object *row, const char *key, __u64 value);
void put_ratio(struct json_object *row, const char *key, double value);
void put_fixed(struct json_object *row, const char *key, __u32 value);
void put_str(struct json_object *row, const char *key, const char *value);
void put_bool(struct json_object *row, const char *key, bool value);
void put_list(struct json_object *row, const char *key, const __u16 *value, size_t n);
void put_counts(struct json_object *row, const char *key,
		const char *const *names, const __u64 *value, size_t n);
void print_json(struct json_object *value);
void print_table(const struct field *fields, struct json_object *rows);

/*
 * Prints rows one by one, as the options want them, so that a million of them take no more
 * memory than one.
 */
struct printer {
	const struct field *fields;
	const struct field *totals;	/* of Prometheus: rows by this key, and their number */
	unsigned int depth;		/* 1: in an object of JSON; 0: alone */
	unsigned long n;		/* rows so far */
	struct json_object *kept, *counts;	/* for Prometheus */
};

void print_row(void *printer, struct json_object *row);	/* which goes */
void print_rows(struct printer *p, struct json_object *rows);
/*
 * At the end of a command: what was read, if not all of it, and the status. After an
 * error that left nothing there is none, which is not the same as that there are none.
 */
int end_rows(struct printer *p, int ret);
int show_rows(const struct field *fields, struct json_object *rows, int ret);
void begin_member(const char *key, bool first);
void end_members(void);

/* How an agent is put to its place */
enum put {
	PUT_ADD,
	PUT_REPLACE,		/* created, or in place of the one that is there */
	PUT_CHANGE,		/* the same, with what that was told but for what is given */
};

/*
 * The words that an agent was added with: keyword and value, empty where it has none, as
 * strings in turn, and an empty keyword after the last. words.c: they stay with the agent,
 * in a map of its program.
 */
#define WORDS_LEN	16384	/* of two paths, and of more prefixes than an agent takes */
struct words {
	char text[WORDS_LEN];
};

extern struct words given;	/* by parse_arguments() */
bool append_word(struct words *w, const char *name, const char *value);
const char *next_word(const char *word);
int bind_words(int prog);	/* those given; 0 or -errno */
#define HASH_BASIS	2166136261U
__u32 hash(__u32 h, const void *data, size_t len);
__u32 hash_words(const struct words *w);
bool has_other_words(int prog, __u32 told);
/* Where those of a table were given anew, the others that the agent has stay. */
int keep_words(int prog, struct argument *args, size_t n);
/* Of the words of an agent those that were not given, as by parse_arguments(), into w */
int parse_kept(int prog, struct argument *args, size_t n, struct words *w);
struct json_object *list_words(const struct words *w);	/* as on a command line */
void put_words(struct json_object *row, int prog);

/* apply.c */
int run_at(int (*run)(int argc, char **argv), const char *command, const char *keyword,
	   const char *place);
bool is_stale(struct json_object *row);	/* a port, whose device is another now */
int run_apart(int (*run)(int argc, char **argv), int argc, char **argv, struct words *words);

/* Returns true if the row describes a port on ingress. */
static inline bool is_ingress(struct json_object *row)
{
	const char *hook = json_object_get_string(json_object_object_get(row, "hook"));

	return hook && !strcmp(hook, "ingress");
}

/* Returns true if two rows describe queues of one port. */
static inline bool is_same_port(struct json_object *a, struct json_object *b)
{
	return is_ingress(a) == is_ingress(b) &&
	       json_object_equal(json_object_object_get(a, "dev"),
				 json_object_object_get(b, "dev"));
}

/* Objects: what there is in this namespace is added to the rows, as dev_rows() does. */
extern const struct field port_fields[];
extern const struct field host_fields[];
extern const struct field flow_fields[];
extern const struct field cnp_fields[];
extern const struct field cnp_flow_fields[];
int port_rows(const char *dev, struct json_object *rows);	/* on both hooks */
int egress_rows(const char *dev, struct json_object *rows);
int ingress_rows(const char *dev, struct json_object *rows);
int port_leftovers(struct json_object *rows);
bool port_wanted(const char *dev, bool down, const struct qdisc *list, size_t n, bool *has_rate);
bool names_devs(const char *text);
int port_new_devs(const char *text, struct json_object *names);
bool port_in_front(const struct qdisc *list, size_t n, const char *dev, bool on_ingress,
		   char *text, size_t size);
int host_rows(const char *cgroup, struct json_object *rows);
bool find_cgroup2(char *path, size_t size);
extern const struct field flow_totals[];
/* There may be a million: each is handed to take() with to as soon as it is read, and is its. */
int flow_rows(void (*take)(void *to, struct json_object *row), void *to);
int module_rows(struct json_object *rows);
int cnp_rows(const char *dev, struct json_object *rows);

/* Whether an agent can run here: 0 or -errno. What it loads, it removes. */
int port_probe(void);
int host_probe(void);
int flow_probe(void);

/* prog.c: programs that are loaded, and their maps: an fd, or -1 for none */
int lock_agents(void);
int prog_open(__u32 id, const char *name, int *fd);
int prog_map(int prog, const char *name, size_t value_size);
bool prog_keep_map(int prog, struct bpf_map *map);
int prog_map_error(const char *name);
bool prog_find_entry(int prog, const char *name, void *value, size_t size);
int prog_entry(int prog, const char *name, void *value, size_t size);
int prog_add_entry(int prog, const char *name, const void *value, size_t size);	/* 0, -errno */
int prog_stats(int prog, const char *name, __u64 *sum, size_t n);
int prog_set_version(int prog, const char *cgroup);
bool prog_version(int prog, struct hpccpp_version *about);
int prog_finish_rows(int prog, const char *key, const char *where, int ret, size_t first,
		     struct json_object *rows);

/* qdisc.c */
#define NETLINK_DUMP_SIZE	32768	/* what the kernel fills at most */
int netlink_dump(int bus, char *buf, mnl_cb_t cb, void *data);

struct qdisc {
	int ifindex;
	__u32 handle;
	__u32 parent;
	char kind[IFNAMSIZ];
	__u64 rate;		/* bit/s it shapes to; 0: not known */
	bool delay;		/* a netem with delay */
	__u64 bytes;		/* sent */
	__u32 backlog;		/* bytes */
	__u32 drops;		/* packets */
	__u8 overhead;		/* bytes that it adds to the length of each frame to shape */
};

struct filters {
	unsigned int count;	/* all, in both directions */
	bool taken;		/* there is one where ours goes on egress */
	bool taken_in;		/* and on ingress */
	__u32 first;		/* preference of the first on egress; 0: none */
	bool ours_first;	/* it is in our place */
	char first_kind[IFNAMSIZ];
};

/* A network device */
struct device {
	unsigned int type;	/* ARPHRD_ETHER... */
	char kind[IFNAMSIZ];	/* "vlan"...; empty: hardware */
	int lower;		/* the device that it is on, or a veth's peer; 0: none */
	bool far;		/* ... which is in another namespace */
	bool up;
	__u64 sent, received;	/* packets */
};

int device_read(int ifindex, struct device *d);
int route_dev(const char *addr);
bool is_tunnel(const struct device *d);
int qdisc_list(struct qdisc **list, size_t *n);
const struct qdisc *find_qdisc(const struct qdisc *list, size_t n, int ifindex,
			       __u32 parent);
int qdisc_htb_rate(const char *dev, struct qdisc *q);
__u64 qdisc_rate(const struct qdisc *q);
int clsact_filters(int ifindex, struct filters *f);

/* rdma.c: queue pairs of the RDMA devices on a network device, and whose they are */
struct queue_pair {
	__u32 lqpn, rqpn;	/* rqpn 0: of no other, or not told */
	__u32 pid;		/* 0: the kernel's, or not told */
	char rdma[64];		/* name of the RDMA device */
	char comm[64];		/* the process's or the kernel's user's; empty: not known */
};

struct queue_pairs {
	struct queue_pair *qp;
	size_t n;
};

void read_queue_pairs(int ifindex, struct queue_pairs *all);
const struct queue_pair *find_queue_pair(const struct queue_pairs *all, __u32 lqpn,
					 __u32 rqpn);

int port_main(int argc, char **argv);
int ingress_main(int argc, char **argv);	/* the same, with "ingress" */
int host_main(int argc, char **argv);
int host_setup(int argc, char **argv);	/* setup.c */
int flow_main(int argc, char **argv);
int cnp_main(int argc, char **argv);
int show_main(int argc, char **argv);
int monitor_main(int argc, char **argv);
int check_main(int argc, char **argv);
int save_main(int argc, char **argv);
int apply_main(int argc, char **argv);
int watch_main(int argc, char **argv);

#endif /* HPCCPP_H */
