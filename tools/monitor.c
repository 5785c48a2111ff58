// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp monitor: what the ports, flows and agents of a namespace do in each interval. Rates
 * are from counters at its two ends; means and peaks of U and of the queue are from readings
 * in between, so that ports have nothing to keep for them.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>

#include "hpccpp.h"

#define INTERVAL_MIN	0.01	/* s */
#define INTERVAL_MAX	3600.
#define READ_NS		100000000LL	/* ports are read so often */
#define FLOWS_MAX	1000		/* that are shown: those that come first */
#define FLOWS_MIN	5		/* on a terminal, however low */

static const char usage[] =
"Usage: hpccpp [ OPTIONS ] monitor [ netns NAME ] [ interval SECONDS ]\n"
"             [ count N ] [ what { all | port | flow | host | cnp } ]\n"
"             [ sort { U | rate | queue } ]\n"
"             [ dst PREFIX ] [ mode NAME ]\n"
"\n"
"A table of what ports, flows and agents did in each interval of SECONDS, 0.01\n"
"to 3600, default 1; N times, 1 to 4294967295, default without end. The largest\n"
"U comes first, or rate, or queue (of flows: round trip); of more than 1000 flows\n"
"the first are shown. dst and mode choose among flows and leave out the rest.\n"
"-s adds counters below each line. -j prints each line as a JSON object.\n"
"See hpccpp(8).\n";

enum { PORT, FLOW, HOST, CNP, OBJECTS };

static const char *const names[] = { "all", "port", "flow", "host", "cnp" };

static const struct field *const fields[] = {
	[PORT] = port_fields, [FLOW] = flow_fields, [HOST] = host_fields, [CNP] = cnp_fields,
};

static const char *const orders[] = { "U", "rate", "queue" };

/* What they are of ports and flows; the other objects stay as they are */
static const char *const order_keys[][OBJECTS] = {
	{ [PORT] = "U_mean", [FLOW] = "U" },
	{ [PORT] = "tx_rate", [FLOW] = "R" },
	{ [PORT] = "qlen_max", [FLOW] = "srtt" },
};

/* Counters of agents that are shown by the second */
static const struct {
	unsigned int object;
	const char *id;			/* key that tells one from another */
	const char *key;
	const char *counts[3];		/* that are added up */
} rates[] = {
	{ HOST, "cgroup", "asked_rate", { "asked" } },
	{ HOST, "cgroup", "echoed_rate", { "echoed", "echo_short" } },
	{ HOST, "cgroup", "echoes_rate", { "echoes" } },
	{ CNP, "dev", "cnp_rate", { "switch", "receiver", "ordinary" } },
};

/* A port in this interval */
struct load {
	char dev[IFNAMSIZ];
	bool ingress;
	unsigned int txq;
	unsigned int n;			/* readings */
	double U, U_max, qlen, qlen_max;	/* sums and peaks of these */
	__u64 sent, drops;		/* when it began */
	long long at;			/* ns; 0: it was not there yet */
};

/* Rows in the order in which they are shown, and how many there are besides */
struct top {
	const char *key;		/* the largest first; NULL: as they come */
	size_t n, max;
	unsigned long all;
	struct ranked {
		double key;
		struct json_object *row;
	} *list;
};

struct monitor {
	unsigned int what, order;
	long long interval;		/* ns */
	struct hpccpp_prefix dst;
	struct argument *dst_arg;	/* whether it was given */
	const char *mode;
	bool live;			/* in place of what was there before */
	bool failed;			/* the last reading of the ports */
	struct load *loads;
	size_t n_loads;
	struct json_object *before[OBJECTS];	/* rows when the interval began */
	long long before_at;
	struct top top[OBJECTS];
};

static struct json_object *get(struct json_object *row, const char *key)
{
	return json_object_object_get(row, key);
}

static __u64 number(struct json_object *row, const char *key)
{
	return json_object_get_uint64(get(row, key));
}

static double real(struct json_object *row, const char *key)
{
	return json_object_get_double(get(row, key));
}

static bool wanted(const struct monitor *m, unsigned int object)
{
	return m->what ? m->what == object + 1 :
	       object == FLOW || (!m->dst_arg->n && !m->mode);
}

/* --- Ports over an interval ------------------------------------------------------ */

/* The entry of a port, in the order of rows from *hint on; NULL: no memory */
static struct load *find_load(struct monitor *m, struct json_object *row, size_t *hint)
{
	const char *dev = json_object_get_string(get(row, "dev"));
	__u64 txq = number(row, "txq");
	struct load *l;
	size_t i;

	for (i = 0; i < m->n_loads; i++) {
		l = &m->loads[(*hint + i) % m->n_loads];
		if (l->txq == txq && l->ingress == is_ingress(row) && !strcmp(l->dev, dev)) {
			*hint = l - m->loads + 1;
			return l;
		}
	}
	l = realloc(m->loads, (m->n_loads + 1) * sizeof(*l));
	if (!l)
		return NULL;
	m->loads = l;
	l += m->n_loads++;
	memset(l, 0, sizeof(*l));
	snprintf(l->dev, sizeof(l->dev), "%s", dev);
	l->txq = txq;
	l->ingress = is_ingress(row);
	return l;
}

static void begin_load(struct load *l, struct json_object *row, long long now)
{
	l->n = 0;
	l->U = 0;
	l->U_max = 0;
	l->qlen = 0;
	l->qlen_max = 0;
	l->sent = number(row, "sent");
	l->drops = number(row, "drops");
	l->at = now;
}

static void add_reading(struct load *l, struct json_object *row)
{
	double U = real(row, "U"), qlen = real(row, "qlen");

	l->n++;
	l->U += U;
	l->qlen += qlen;
	if (U > l->U_max)
		l->U_max = U;
	if (qlen > l->qlen_max)
		l->qlen_max = qlen;
}

/* What the table has of it. Counters of a port that was added anew begin again. */
static void put_load(const struct load *l, struct json_object *row, long long now)
{
	__u64 sent = number(row, "sent"), drops = number(row, "drops"), tx_rate;

	if (l->at && now > l->at && get(row, "sent") && sent >= l->sent) {
		tx_rate = (sent - l->sent) * 8e9 / (now - l->at);
		put_num(row, "tx_rate", tx_rate);
		put_ratio(row, "load", (double)tx_rate / number(row, "rate"));
	}
	if (!get(row, "U"))		/* it cannot be read */
		return;
	put_ratio(row, "U_mean", l->U / l->n);
	put_ratio(row, "U_max", l->U_max);
	put_num(row, "qlen_mean", l->qlen / l->n);
	put_num(row, "qlen_max", l->qlen_max);
	if (l->at && get(row, "drops") && drops >= l->drops)
		put_num(row, "new_drops", drops - l->drops);
}

/* begin: of an interval; else a reading in it */
static void note_ports(struct monitor *m, struct json_object *rows, bool begin)
{
	long long now = clock_ns(CLOCK_MONOTONIC);
	size_t i, hint = 0;

	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct load *l = find_load(m, row, &hint);

		if (l && begin)
			begin_load(l, row, now);
		else if (l)
			add_reading(l, row);
	}
}

static void put_loads(struct monitor *m, struct json_object *rows)
{
	long long now = clock_ns(CLOCK_MONOTONIC);
	size_t i, hint = 0;

	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct load *l = find_load(m, row, &hint);

		if (l && l->n)
			put_load(l, row, now);
	}
}

/* --- Agents over an interval ------------------------------------------------------ */

static struct json_object *find_row(struct json_object *rows, const char *id,
				    struct json_object *like)
{
	size_t i;

	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (json_object_equal(get(row, id), get(like, id)))
			return row;
	}
	return NULL;
}

static void put_rate(struct json_object *row, struct json_object *before, size_t r, double s)
{
	struct json_object *now = get(row, "stats"), *then = get(before, "stats");
	__u64 sum = 0, old = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rates[r].counts) && rates[r].counts[i]; i++) {
		sum += number(now, rates[r].counts[i]);
		old += number(then, rates[r].counts[i]);
	}
	if (sum >= old)
		put_num(row, rates[r].key, (sum - old) / s + 0.5);
}

static void put_rates(struct monitor *m, unsigned int object, struct json_object *rows)
{
	double s = (clock_ns(CLOCK_MONOTONIC) - m->before_at) / 1e9;
	size_t i, r;

	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		for (r = 0; r < ARRAY_SIZE(rates); r++) {
			struct json_object *old;

			if (rates[r].object != object)
				continue;
			old = find_row(m->before[object], rates[r].id, row);
			if (old && s > 0)
				put_rate(row, old, r, s);
		}
	}
}

/* How many flows a device has, and of how many the rate is less than the line's */
static void put_held(struct json_object *rows)
{
	size_t i, j, n, held;

	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		struct json_object *flows = get(row, "queue_pairs");

		if (!flows)		/* it cannot be read */
			continue;
		n = json_object_array_length(flows);
		for (j = 0, held = 0; j < n; j++)
			held += number(json_object_array_get_idx(flows, j), "rate") <
				number(row, "rate");
		put_num(row, "known", n);
		put_num(row, "held", held);
	}
}

/* --- Rows in order ------------------------------------------------------------------ */

static void empty_top(struct top *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		json_object_put(t->list[i].row);
	t->n = 0;
	t->all = 0;
}

/* Room for so many rows; false: no memory */
static bool begin_top(struct top *t, const char *key, size_t max)
{
	struct ranked *list = realloc(t->list, (max ?: 1) * sizeof(*list));

	if (!list)
		return false;
	t->list = list;
	t->key = key;
	t->max = max;
	return true;
}

/* In its place, behind those that are equal; the last goes when there is no room. */
static void add_to_top(struct top *t, struct json_object *row)
{
	double key = t->key && get(row, t->key) ? real(row, t->key) : -1;
	size_t i = t->n;

	t->all++;
	while (i && t->list[i - 1].key < key)
		i--;
	if (i == t->max) {
		json_object_put(row);
		return;
	}
	if (t->n == t->max)
		json_object_put(t->list[--t->n].row);
	memmove(&t->list[i + 1], &t->list[i], (t->n++ - i) * sizeof(t->list[0]));
	t->list[i] = (struct ranked){ key, row };
}

static void take_flow(void *monitor, struct json_object *row)
{
	struct monitor *m = monitor;

	if ((m->dst_arg->n &&
	     !in_prefix(&m->dst, json_object_get_string(get(row, "dst")))) ||
	    (m->mode && strcmp(m->mode, json_object_get_string(get(row, "mode")))))
		json_object_put(row);
	else
		add_to_top(&m->top[FLOW], row);
}

/* Lines of the terminal that the other tables leave for flows */
static size_t lines_left(const struct monitor *m)
{
	struct winsize size = {};
	size_t used = 2, i;	/* the head, and how many there are besides */

	if (!m->live || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
		return FLOWS_MAX;
	for (i = 0; i < OBJECTS; i++) {
		if (i != FLOW && wanted(m, i))
			used += 1 + m->top[i].n * (1 + opt.stats);
	}
	used += FLOWS_MIN;
	return FLOWS_MIN + (size.ws_row > used ? (size.ws_row - used) / (1 + opt.stats) : 0);
}

/* --- Readings ------------------------------------------------------------------------- */

static int read_rows(unsigned int object, struct json_object *rows)
{
	return object == PORT ? port_rows(NULL, rows) :
	       object == HOST ? host_rows(NULL, rows) : cnp_rows(NULL, rows);
}

/* The interval begins: *any tells whether there is something to be seen. */
static int begin_interval(struct monitor *m, bool *any)
{
	int ret = EXIT_DONE;
	size_t i;

	*any = false;
	for (i = 0; i < OBJECTS; i++) {
		if (i == FLOW || !wanted(m, i))
			continue;
		m->before[i] = json_object_new_array();
		ret = read_rows(i, m->before[i]) ?: ret;
		*any |= json_object_array_length(m->before[i]);
	}
	m->failed = ret;
	m->before_at = clock_ns(CLOCK_MONOTONIC);
	if (wanted(m, PORT))
		note_ports(m, m->before[PORT], true);
	return ret;
}

static void sleep_until(long long ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Until it is over, with the ports read meanwhile: not after an error, which is said once */
static void watch(struct monitor *m)
{
	long long start = clock_ns(CLOCK_MONOTONIC), steps = m->interval / READ_NS, i;
	struct json_object *rows;

	if (!wanted(m, PORT) || !steps)
		steps = 1;
	for (i = 1; i < steps; i++) {
		sleep_until(start + m->interval * i / steps);
		if (m->failed)
			continue;
		rows = json_object_new_array();
		m->failed = port_rows(NULL, rows);
		note_ports(m, rows, false);
		json_object_put(rows);
	}
	sleep_until(start + m->interval);
}

static int read_object(struct monitor *m, unsigned int object)
{
	struct json_object *rows = json_object_new_array();
	int ret = read_rows(object, rows);
	size_t n = json_object_array_length(rows), i;

	if (object == PORT) {
		m->failed = ret;
		note_ports(m, rows, false);
		put_loads(m, rows);
		note_ports(m, rows, true);
	} else {
		put_rates(m, object, rows);
	}
	if (object == CNP)
		put_held(rows);
	if (!begin_top(&m->top[object], order_keys[m->order][object], n))
		ret = system_error("no memory for %zu rows", n);
	for (i = 0; i < n && i < m->top[object].max; i++)
		add_to_top(&m->top[object], json_object_get(json_object_array_get_idx(rows, i)));
	json_object_put(m->before[object]);
	m->before[object] = rows;
	return ret;
}

/* --- Output ------------------------------------------------------------------------------ */

static void print_lines(const char *object, struct json_object *rows)
{
	struct timespec now;
	char text[32];
	size_t i;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(text, sizeof(text), "%lld.%06ld", (long long)now.tv_sec,
		 now.tv_nsec / 1000);
	for (i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		put_str(row, "object", object);
		json_object_object_add(row, "time",
				       json_object_new_double_s(now.tv_sec, text));
		print_json(row);
	}
}

static void print_top(unsigned int object, const struct top *t)
{
	struct json_object *rows = json_object_new_array();
	size_t i;

	for (i = 0; i < t->n; i++)
		json_object_array_add(rows, json_object_get(t->list[i].row));
	if (opt.output == OUTPUT_JSON)
		print_lines(names[object + 1], rows);
	else
		print_table(fields[object], rows);
	if (opt.output == OUTPUT_TEXT && t->all > t->n)
		printf("and %lu more\n", t->all - t->n);
	json_object_put(rows);
}

/* Flows come last: they have what the others leave of a terminal */
static int refresh(struct monitor *m, bool *any)
{
	static const char clear[] = "\033[H\033[J\033[?7l", wrap[] = "\033[?7h";
	int ret = EXIT_DONE;
	size_t i;

	for (i = 0; i < OBJECTS; i++) {
		if (i != FLOW && wanted(m, i))
			ret = read_object(m, i) ?: ret;
	}
	m->before_at = clock_ns(CLOCK_MONOTONIC);
	if (wanted(m, FLOW) &&
	    begin_top(&m->top[FLOW], order_keys[m->order][FLOW], lines_left(m)))
		ret = flow_rows(take_flow, m) ?: ret;
	/* what an error said is to stay; lines do not wrap, whose last columns matter least */
	if (!ret && m->live)
		fputs(clear, stdout);
	for (i = 0, *any = false; i < OBJECTS; i++) {
		*any |= m->top[i].all;
		if (wanted(m, i) && (!ret || m->top[i].n))
			print_top(i, &m->top[i]);
		empty_top(&m->top[i]);
	}
	if (!ret && m->live)
		fputs(wrap, stdout);
	fflush(stdout);
	return ret;
}

static int arg_interval(const struct argument *arg, const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if ((!isdigit((unsigned char)text[0]) && text[0] != '.') || *end ||
	    !(v >= INTERVAL_MIN && v <= INTERVAL_MAX))
		return usage_error("%s \"%s\" is wrong: allowed are %g to %g seconds",
				   arg->name, text, INTERVAL_MIN, INTERVAL_MAX);
	*(long long *)arg->to = v * 1e9;
	return EXIT_DONE;
}

static int run(struct monitor *m, unsigned int count)
{
	unsigned int i = 0;
	bool any;
	int ret;

	m->live = opt.output == OUTPUT_TEXT && isatty(STDOUT_FILENO) && count != 1;
	ret = begin_interval(m, &any);
	while (!ret || any) {
		watch(m);
		ret = refresh(m, &any);
		if (ferror(stdout) || (count && ++i == count))
			break;
	}
	for (i = 0; i < OBJECTS; i++) {
		json_object_put(m->before[i]);
		free(m->top[i].list);
	}
	free(m->loads);
	return ret;
}

int monitor_main(int argc, char **argv)
{
	struct monitor m = { .interval = 1000000000 };
	enum { NETNS, INTERVAL, COUNT, WHAT, SORT, DST, MODE };
	const char *netns = NULL;
	unsigned int count = 0;
	struct argument args[] = {
		[NETNS] = { ARG("netns", arg_text, &netns) },
		[INTERVAL] = { ARG("interval", arg_interval, &m.interval) },
		[COUNT] = { ARG("count", arg_uint, &count), .low = 1, .high = -1 },
		[WHAT] = { ARG("what", arg_word, &m.what),
			   .words = names, .high = ARRAY_SIZE(names) },
		[SORT] = { ARG("sort", arg_word, &m.order),
			   .words = orders, .high = ARRAY_SIZE(orders) },
		[DST] = { ARG("dst", arg_prefix, &m.dst) },
		[MODE] = { ARG("mode", arg_text, &m.mode) },
	};
	int ret;

	ret = wants_help(argc, argv, usage);
	if (!ret)
		ret = parse_arguments(args, ARRAY_SIZE(args), argc, argv);
	if (!ret && (args[DST].n || m.mode) && m.what && m.what != FLOW + 1)
		ret = usage_error("\"%s\" is wrong with what \"%s\": it chooses among flows",
				  args[DST].n ? "dst" : "mode", names[m.what]);
	if (!ret && opt.output == OUTPUT_PROM)
		ret = usage_error("output \"prom\" is wrong: monitor has text and json");
	if (!ret)
		ret = netns_enter(netns);
	if (ret)
		return ret;
	m.dst_arg = &args[DST];
	return run(&m, count);
}
