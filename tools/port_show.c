// SPDX-License-Identifier: GPL-2.0
/*
 * hpccpp port show: what the maps of a device's agent say, and its qdisc.
 */
#include <stdio.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <arpa/inet.h>
#include <linux/pkt_sched.h>

#include "hpccpp.h"
#include "port.h"

const struct field port_fields[] = {
	{ "dev", FORM_TEXT, "", "DEV", "", NULL },
	{ "txq", FORM_TXQ, "txq", "TXQ", "", NULL },
	{ "hook", FORM_HOOK, "", "HOOK", "", NULL },
	{ "edge", FORM_FLAG, "edge", NULL, NULL, NULL },
	{ "version", FORM_VERSION, "version", NULL, NULL, NULL },
	{ "error", FORM_TEXT, "error", NULL, NULL, NULL },
	{ "id", FORM_NUM, "id", "LINK", NULL, NULL },
	{ "tx_rate", FORM_RATE, NULL, "TX", NULL, NULL },
	{ "load", FORM_RATIO, NULL, "LOAD", NULL, NULL },
	{ "U_mean", FORM_RATIO, NULL, "U", NULL, NULL },
	{ "U_max", FORM_RATIO, NULL, "U MAX", NULL, NULL },
	{ "qlen_mean", FORM_BYTES, NULL, "QUEUE", NULL, NULL },
	{ "qlen_max", FORM_BYTES, NULL, "Q MAX", NULL, NULL },
	{ "rate", FORM_RATE, "rate", NULL,
	  "hpccpp_port_rate_bytes_per_second", "Bandwidth that is stamped." },
	{ "rate_given", FORM_FLAG, "given", NULL, NULL, NULL },
	{ "overhead", FORM_NUM, "overhead", NULL, NULL, NULL },
	{ "queue", FORM_TEXT, "queue", NULL, NULL, NULL },
	{ "root", FORM_TEXT, NULL, NULL, NULL, NULL },
	{ "mq", FORM_FLAG, NULL, NULL, NULL, NULL },
	{ "base_rtt", FORM_TIME, "base-rtt", NULL,
	  "hpccpp_port_base_rtt_seconds", "Time over which U is averaged." },
	{ "above", FORM_NUM, "above", NULL, NULL, NULL },
	{ "dscp", FORM_NUM, "dscp", NULL, NULL, NULL },
	{ "respond", FORM_NUM, "respond", NULL, NULL, NULL },
	{ "respond_to", FORM_TEXT, "respond-to", NULL, NULL, NULL },
	{ "limit", FORM_NUM, "limit", NULL, NULL, NULL },
	{ "accept", FORM_LIST, "accept", NULL, NULL, NULL },
	{ "udp_port", FORM_NUM, "udp-port", NULL, NULL, NULL },
	{ "cnp", FORM_NUM, "cnp", NULL, NULL, NULL },
	{ "source", FORM_TEXT, "source", NULL, NULL, NULL },
	{ "ecn", FORM_TEXT, "ecn", NULL, NULL, NULL },
	{ "capable", FORM_LIST, "capable", NULL, NULL, NULL },
	{ "option_type", FORM_LIST, "option-type", NULL, NULL, NULL },
	{ "ioam", FORM_NUM, "ioam", NULL, NULL, NULL },
	{ "node", FORM_NUM, "node", NULL, NULL, NULL },
	{ "border", FORM_FLAG, "border", NULL, NULL, NULL },
	{ "U", FORM_RATIO, "\nU", NULL, "hpccpp_port_utilization_ratio",
	  "Load as of the last stamp, queue included, 1 is full." },
	{ "qlen", FORM_BYTES, "qlen", NULL, "hpccpp_port_queue_bytes",
	  "Queue as of the last stamp." },
	{ "tx_bytes", FORM_BYTES, NULL, NULL, NULL, NULL },
	{ "flows", FORM_NUM, "flows", "FLOWS", "hpccpp_port_flows",
	  "Flows that share the port, as of the last stamp." },
	{ "begun", FORM_NUM, "begun", "BEGUN", "hpccpp_port_begun_flows",
	  "New flows that the port counts now, at most 1000." },
	{ "device_rate", FORM_RATE, NULL, NULL, NULL, NULL },
	{ "age", FORM_AGE, "age", "AGE", "hpccpp_port_stamp_age_seconds",
	  "Time since the last stamp." },
	{ "backlog", FORM_BYTES, "backlog", NULL,
	  "hpccpp_port_backlog_bytes", "Bytes that wait in the qdisc." },
	{ "drops", FORM_NUM, "drops", NULL,
	  "hpccpp_port_dropped_packets_total",
	  "Packets that the qdisc dropped." },
	{ "new_drops", FORM_NUM, NULL, "DROPS", NULL, NULL },
	{ "sent", FORM_NUM, NULL, NULL, "hpccpp_port_sent_bytes_total",
	  "Bytes that left the qdisc, or that entered a virtual queue." },
	{ "stale", FORM_ALARM, "\nstale:", NULL, "hpccpp_port_stale",
	  "Whether the device is another than the port was told of." },
	{ "sent_packets", FORM_NUM, NULL, NULL, "hpccpp_port_sent_packets_total",
	  "Packets that the device sent since the agent was added." },
	{ "seen_packets", FORM_NUM, NULL, NULL, "hpccpp_port_seen_packets_total",
	  "Packets that the agent saw, segments as packets." },
	{ "stats", FORM_COUNTS, "", NULL, "hpccpp_port_packets_total",
	  "Packets of the device by what the agent did with them." },
	{ .word = "no port agent" }
};

static const char *const roots[] = { "flat", "head" };

#define IDLE	1000000		/* us without a stamp, from which on the load is none */
#define IDLE_T	8		/* ... and T: as the agent itself counts */
#define STALE_LEN 128

/* us since the last stamp */
static long long stamp_age(const struct hpccpp_port *port)
{
	return (clock_ns(CLOCK_MONOTONIC) - (long long)port->last.seen) / 1000;
}

/* Whether its load is that of long ago */
static bool is_idle(const struct hpccpp_port *port)
{
	long long age = stamp_age(port);

	return age > IDLE && age > IDLE_T * (long long)port->cfg.base_rtt;
}

/* All packets: each is of one kind, and those of GSO are segments on the wire. */
static __u64 packets_seen(const __u64 *stats)
{
	static const enum hpccpp_port_stat kinds[] = HPCCPP_PORT_STAT_KINDS;
	__u64 sum = stats[HPCCPP_PS_SEGMENTS];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		sum += stats[kinds[i]];
	return sum;
}

static int put_responses(struct json_object *row, int prog, const struct port_now *now,
			 const struct hpccpp_port_cfg *cfg, char *stale)
{
	int map = prog_map(prog, "port_response",
			   sizeof(struct hpccpp_port_response));
	struct hpccpp_port_response r = {};
	__u32 zero = 0;
	int err;

	err = map < 0 || bpf_map_lookup_elem_flags(map, &zero, &r, BPF_F_LOCK);
	if (map >= 0)
		close(map);
	if (err)
		return prog_map_error("port_response");
	if (cfg->respond) {
		port_stale_response(now->dev, &r, stale, STALE_LEN);
		put_num(row, "respond", cfg->respond_percent);
		put_str(row, "respond_to", port_ends[r.to % ARRAY_SIZE(port_ends)]);
	}
	if (r.limit)
		put_num(row, "limit", r.limit);
	err = r.accepts ? put_prefixes(row, "accept", prog, "port_accept") :
			  EXIT_DONE;
	if (cfg->respond || r.accepts)
		put_num(row, "udp_port", r.port);
	return err;
}

/* Nothing of a port whose program has nothing to do with RoCEv2 */
static int put_roce(struct json_object *row, int prog, char *stale)
{
	int map = prog_map(prog, "port_roce", sizeof(struct hpccpp_port_roce));
	char source[INET6_ADDRSTRLEN];
	struct hpccpp_port_roce r = {};
	__u16 types[2];
	__u32 zero = 0;
	int err;

	if (map < 0)
		return EXIT_DONE;
	err = bpf_map_lookup_elem(map, &zero, &r);
	close(map);
	if (err)
		return prog_map_error("port_roce");
	port_stale_roce(&r, stale, STALE_LEN);
	if (r.cnp) {
		put_num(row, "cnp", r.cnp_percent);
		put_str(row, "source", inet_ntop(AF_INET6, r.source, source,
						 sizeof(source)));
		put_str(row, "ecn", port_marks[r.ecn % ARRAY_SIZE(port_marks)]);
	}
	if (r.capables)
		err = put_prefixes(row, "capable", prog, "port_capable");
	if (r.cnp || r.border) {
		types[0] = r.type1;
		types[1] = r.type2;
		put_list(row, "option_type", types, ARRAY_SIZE(types));
	}
	if (r.ioam) {
		put_num(row, "ioam", ntohs(r.ns));
		put_num(row, "node", r.node);
	}
	if (r.border)
		put_bool(row, "border", true);
	return err;
}

static struct json_object *port_row(const struct port_now *now, __u32 queue,
				    const struct hpccpp_port *port)
{
	const struct qdisc *qdisc = port->cfg.on_ingress ? NULL :
				    port->cfg.mq ? port_qdisc(now, queue) : now->root;
	__u64 device_rate = port_rate_now(now, &port->cfg, queue, NULL);
	const struct hpccpp_port_cfg *cfg = &port->cfg;
	struct json_object *row = json_object_new_object();
	bool idle = is_idle(port);

	put_str(row, "dev", now->dev);
	put_num(row, "txq", queue);
	put_str(row, "hook", cfg->on_ingress ? "ingress" : "egress");
	put_num(row, "id", cfg->link + queue);
	if (cfg->link & HPCCPP_LINK_EDGE && !cfg->on_ingress)
		put_bool(row, "edge", true);
	put_num(row, "rate", cfg->rate);
	put_bool(row, "rate_given", cfg->rate_given);
	if (cfg->overhead)
		put_num(row, "overhead", cfg->overhead);
	put_str(row, "queue", cfg->on_ingress ? "phantom" :
			      port_queues[cfg->queue % ARRAY_SIZE(port_queues)]);
	put_str(row, "root", roots[cfg->root % ARRAY_SIZE(roots)]);
	put_bool(row, "mq", cfg->mq);
	put_num(row, "base_rtt", cfg->base_rtt);
	if (cfg->above)
		put_num(row, "above", cfg->above_percent);
	if (cfg->subscribed)
		put_num(row, "dscp", cfg->dscp);
	put_fixed(row, "U", idle ? 0 : port->U);
	put_num(row, "qlen", idle ? 0 : (__u64)port->last.qlen << HPCCPP_QLEN_SHIFT);
	put_num(row, "tx_bytes",
		(__u64)port->last.tx_bytes << HPCCPP_TX_SHIFT);
	put_num(row, "flows", idle ? 0 : port->flows.N);
	put_num(row, "begun", hpccpp_begun(port, clock_ns(CLOCK_MONOTONIC)) /
			      HPCCPP_BEGUN_NS(port));
	if (device_rate)
		put_num(row, "device_rate", device_rate);
	if (port->last.seen)
		put_num(row, "age", stamp_age(port));
	if (qdisc) {
		put_num(row, "backlog", qdisc->backlog);
		put_num(row, "drops", qdisc->drops);
	}
	if (cfg->queue == HPCCPP_QUEUE_VIRTUAL)
		put_num(row, "sent", port->v_in / 256);
	else if (qdisc)
		put_num(row, "sent", qdisc->bytes);
	return row;
}

/* What is the device's, in the row of its first queue */
static int put_device(struct json_object *row, int prog, const struct port_now *now,
		      const struct hpccpp_port_cfg *cfg, char *stale)
{
	static const char *const names[] = HPCCPP_PORT_STAT_NAMES;
	__u64 stats[HPCCPP_PS_MAX], packets;
	int ret;

	ret = prog_stats(prog, "port_stats", stats, HPCCPP_PS_MAX);
	if (!ret && cfg->ingress)
		ret = put_responses(row, prog, now, cfg, stale);
	if (!ret)
		ret = put_roce(row, prog, stale);
	if (ret)
		return ret;
	if (has_other_words(prog, cfg->told))
		snprintf(stale, STALE_LEN, "a command was ended before it had told the port all");
	put_words(row, prog);
	packets = cfg->on_ingress ? now->received : now->sent;
	put_num(row, "sent_packets", packets > cfg->sent ? packets - cfg->sent : 0);
	put_num(row, "seen_packets", packets_seen(stats));
	put_counts(row, "stats", names, stats, HPCCPP_PS_MAX);
	return EXIT_DONE;
}

static int add_rows(const struct port_now *now, int prog, struct json_object *rows)
{
	int map = prog_map(prog, "port", sizeof(struct hpccpp_port));
	char stale[STALE_LEN];
	struct json_object *row;
	struct hpccpp_port port;
	int ret = EXIT_DONE;
	__u32 i = 0;

	if (map < 0)
		return prog_map_error("port");
	do {
		if (bpf_map_lookup_elem_flags(map, &i, &port, BPF_F_LOCK)) {
			ret = prog_map_error("port");
			break;
		}
		row = port_row(now, i, &port);
		port_stale(now, &port.cfg, i, stale, sizeof(stale));
		if (!i)
			ret = put_device(row, prog, now, &port.cfg, stale);
		put_str(row, "stale", stale);
		json_object_array_add(rows, row);
	} while (!ret && ++i < port.cfg.queues);
	close(map);
	return ret;
}

static int add_port(const struct qdisc *list, size_t n, int ifindex, const char *dev,
		    bool on_ingress, struct json_object *rows)
{
	struct port_now now;
	size_t first = json_object_array_length(rows);
	int prog, ret;

	ret = find_port(ifindex, on_ingress, &prog);
	if (prog < 0)
		return ret;
	port_read_now(&now, list, n, ifindex, dev);
	ret = find_ingress(ifindex, &now.ingress) ?: add_rows(&now, prog, rows);
	ret = prog_finish_rows(prog, "dev", dev, ret, first, rows);
	close(prog);
	return ret;
}

static int add_egress(const struct qdisc *list, size_t n, int ifindex, const char *dev,
		      struct json_object *rows)
{
	return add_port(list, n, ifindex, dev, false, rows);
}

static int add_ingress(const struct qdisc *list, size_t n, int ifindex, const char *dev,
		       struct json_object *rows)
{
	return add_port(list, n, ifindex, dev, true, rows);
}

static int add_both(const struct qdisc *list, size_t n, int ifindex, const char *dev,
		    struct json_object *rows)
{
	int ret = add_egress(list, n, ifindex, dev, rows);

	return add_ingress(list, n, ifindex, dev, rows) ?: ret;
}

/* A clsact without filters */
static bool is_empty_clsact(const struct qdisc *list, size_t n, int ifindex)
{
	const struct qdisc *clsact = find_qdisc(list, n, ifindex, TC_H_INGRESS);
	struct filters f;

	return uses_clsact() && clsact && !strcmp(clsact->kind, "clsact") &&
	       !clsact_filters(ifindex, &f) && !f.count;
}

/* A device whose port has lost the program on egress, as far as that leaves a trace */
static int add_leftover(const struct qdisc *list, size_t n, int ifindex,
			const char *dev, struct json_object *rows)
{
	struct json_object *row;
	int prog, ret;
	bool in;

	ret = find_port(ifindex, false, &prog) ?: find_ingress(ifindex, &in);
	if (prog >= 0)
		close(prog);
	if (ret || prog >= 0 || (!in && !is_empty_clsact(list, n, ifindex)))
		return ret;
	row = json_object_new_object();
	put_str(row, "dev", dev);
	put_str(row, "found", in ? "its program on egress is gone, that on ingress is there" :
		"there is a clsact without filters: another's, or of a port whose filter was removed");
	put_bool(row, "sure", in);
	json_object_array_add(rows, row);
	return EXIT_DONE;
}

int port_leftovers(struct json_object *rows)
{
	return dev_rows(NULL, rows, add_leftover);
}

int port_rows(const char *dev, struct json_object *rows)
{
	return dev_rows(dev, rows, add_both);
}

int egress_rows(const char *dev, struct json_object *rows)
{
	return dev_rows(dev, rows, add_egress);
}

int ingress_rows(const char *dev, struct json_object *rows)
{
	return dev_rows(dev, rows, add_ingress);
}
