/* SPDX-License-Identifier: GPL-2.0 */
/* For objects_test.c: `hpccpp flow`, and why a flow has no telemetry */

static struct hpccpp_flow_rec recs[3];
static size_t recs_len;

int bpf_link__fd(const struct bpf_link *link)
{
	return 0;
}

int bpf_iter_create(int link)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], recs, recs_len), recs_len);
	close(ends[1]);
	return ends[0];
}

int untyped_load_error(int err, const char *agent)
{
	return load_error(err, agent);
}

static int flow_reset(void **state)
{
	static const struct hpccpp_flow_rec one = {
		.family = AF_INET, .state = 1, .mode = HPCCPP_INT, .links = 3,
		.sport = 10000, .dport = 5001, .saddr = { 10, 0, 0, 1 }, .daddr = { 10, 0, 0, 2 },
		.cwnd = 12, .srtt_us = 345, .layout = HPCCPP_FLOW_LAYOUT, .T = 50,
		.U = HPCCPP_ONE / 2, .W = 20000, .W_c = 19000, .inc_stage = 2,
		.acks = 100, .updates = 90, .fallbacks = 1, .R = 400000000, .min_B = 1250000000,
		.ino = 1234567, .bottleneck = 7, .records = 2,
		.guards = { 11, 12, 13, 14, 15, 16, 17 },
	};
	int i;

	for (i = 0; i < 3; i++)
		recs[i] = one;
	recs_len = sizeof(recs);
	return 0;
}

static void keep_row(void *rows, struct json_object *row)
{
	json_object_array_add(rows, row);
}

static struct json_object *flow_list(int want)
{
	static struct json_object *rows;

	json_object_put(rows);
	rows = json_object_new_array();
	assert_int_equal(flow_rows(keep_row, rows), want);
	return rows;
}

static void flows_of_tcp(void **state)
{
	static const __u8 addr6[16] = { 0xfd, [15] = 9 };
	struct json_object *rows, *f;

	recs[1].family = AF_INET6;
	memcpy(recs[1].daddr, addr6, sizeof(addr6));
	recs[1].mode = HPCCPP_RENO;
	recs[1].state = 8;
	/* of a module that knows more; and before init it has no flow */
	recs[2].mode = 3;
	recs[2].state = 12;
	recs[2].layout = 0;
	rows = flow_list(EXIT_DONE);
	assert_int_equal(json_object_array_length(rows), 3);
	f = json_object_array_get_idx(rows, 0);
	assert_entry(f, "src", "\"10.0.0.1\"");
	assert_entry(f, "sport", "10000");
	assert_entry(f, "dst", "\"10.0.0.2\"");
	assert_entry(f, "dport", "5001");
	assert_entry(f, "state", "\"ESTAB\"");
	assert_entry(f, "ino", "1234567");
	assert_entry(f, "mode", "\"hpccpp\"");
	assert_entry(f, "cwnd", "12");
	assert_entry(f, "srtt", "345");
	assert_entry(f, "U", "0.500");
	assert_entry(f, "W", "20000");
	assert_entry(f, "W_c", "19000");
	assert_entry(f, "inc_stage", "2");
	assert_entry(f, "T", "50");
	assert_entry(f, "R", "3200000000");
	assert_entry(f, "B", "10000000000");
	assert_entry(f, "bottleneck", "7");
	assert_entry(f, "records", "2");
	assert_entry(f, "links", "3");
	assert_entry(f, "acks", "100");
	assert_entry(f, "updates", "90");
	assert_entry(f, "fallbacks", "1");
	assert_entry(f, "guards",
		     "{\"first\":11,\"not_new\":12,\"wrap\":13,\"stale\":14,\"rate\":15,\"changed\":16,\"range\":17}");
	f = json_object_array_get_idx(rows, 1);
	assert_entry(f, "dst", "\"fd00::9\"");
	assert_entry(f, "state", "\"CLOSE-WAIT\"");
	assert_entry(f, "mode", "\"hpccpp-reno\"");
	/* nothing that telemetry would have said */
	assert_entry(f, "U", "none");
	assert_entry(f, "records", "none");
	assert_entry(f, "cwnd", "12");
	f = json_object_array_get_idx(rows, 2);
	assert_entry(f, "state", "\"?\"");
	assert_entry(f, "mode", "\"?\"");
	assert_entry(f, "cwnd", "12");
	/* nothing that the module would have said */
	assert_entry(f, "acks", "none");
	assert_entry(f, "guards", "none");
}

static void flows_that_have_a_reason(void **state)
{
	struct json_object *rows, *f;

	recs[0].reason = HPCCPP_R_BLIND_LOSS;
	recs[1].mode = HPCCPP_OFF;
	recs[1].layout = 0;
	strcpy(recs[1].fallback, "cubic");
	recs[1].reason = HPCCPP_R_NO_ECHO;
	rows = flow_list(EXIT_DONE);
	f = json_object_array_get_idx(rows, 0);
	assert_entry(f, "mode", "\"hpccpp\"");
	assert_entry(f, "reason", "\"blind-loss\"");
	assert_entry(f, "U", "0.500");
	f = json_object_array_get_idx(rows, 1);
	assert_entry(f, "mode", "\"cubic\"");
	assert_entry(f, "reason", "\"no-echo\"");
	assert_entry(f, "fallbacks", "none");
	assert_entry(json_object_array_get_idx(rows, 2), "reason", "none");
}

static void reasons_as_the_agent_knows_them(void **state)
{
	static const struct {
		struct flow f;
		enum hpccpp_reason why;
	} cases[] = {
		{ { .heard = 1, .mail.gen = 1 }, HPCCPP_R_NOT_ASKED },
		{ { .wanted = 1, .proven = 1, .heard = 1, .mail.gen = 1 }, HPCCPP_R_UNUSED },
		{ { .wanted = 1, .proven = 1, .heard = 1, .asked_end = 9 }, HPCCPP_R_EMPTY },
		{ { .wanted = 1, .proven = 1 }, HPCCPP_R_EMPTY },
		{ { .wanted = 1, .proven = 1, .passive = 1 }, HPCCPP_R_NO_DATA },
		{ { .wanted = 1, .passive = 1 }, HPCCPP_R_NO_ECHO },
		{ { .wanted = 1 }, HPCCPP_R_NO_ECHO },
		{ { .wanted = 1, .tries = 4, .asked_end = 9 }, HPCCPP_R_NO_ECHO },
		/* it has asked, and the peer has shown only that it has an agent */
		{ { .wanted = 1, .proven = 1, .asked_end = 9 }, HPCCPP_R_NO_ECHO },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(agent_reason(&cases[i].f), cases[i].why);
}

static void reasons_as_the_module_knows_them(void **state)
{
	struct flow unheard = { .wanted = 1 }, empty = { .wanted = 1, .heard = 1 }, other = {};
	struct hpccpp_flow f = {};

#define REASON(mode, agent, kept) flow_reason(mode, true, agent, &f, kept)
	assert_int_equal(flow_reason(HPCCPP_OFF, false, AGENT_NONE, NULL, &other), HPCCPP_R_NONE);
	assert_int_equal(flow_reason(HPCCPP_RENO, false, AGENT_NONE, NULL, &other),
			 HPCCPP_R_NO_MEMORY);
	/* of a module of another build */
	assert_int_equal(flow_reason(HPCCPP_RENO, true, AGENT_READ, NULL, &empty), HPCCPP_R_NONE);
	assert_int_equal(flow_reason(3, true, AGENT_READ, &f, &empty), HPCCPP_R_NONE);
	assert_int_equal(REASON(HPCCPP_INT, AGENT_NONE, &other), HPCCPP_R_NONE);
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_NONE, &empty), HPCCPP_R_NO_AGENT);
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_OTHER, &empty), HPCCPP_R_NONE);
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_READ, &empty), HPCCPP_R_EMPTY);
	f.fallbacks = 1;
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_READ, &empty), HPCCPP_R_LOST_RECORDS);
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_READ, &unheard), HPCCPP_R_LOST_ECHO);
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_READ, &other), HPCCPP_R_NOT_ASKED);
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_NONE, &empty), HPCCPP_R_NO_AGENT);
	f.blind = 1;
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_READ, &empty), HPCCPP_R_BLIND_DELAY);
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_OTHER, &empty), HPCCPP_R_BLIND_DELAY);
	assert_int_equal(REASON(HPCCPP_RENO, AGENT_NONE, &empty), HPCCPP_R_NO_AGENT);
	f.ceiling = 3000;
	assert_int_equal(REASON(HPCCPP_INT, AGENT_READ, &other), HPCCPP_R_BLIND_LOSS);
	/* a WAN's: nothing was lost yet */
	f.starting = 1;
	assert_int_equal(REASON(HPCCPP_INT, AGENT_READ, &other), HPCCPP_R_NONE);
#undef REASON
}

/* Its flows have another size, or as large ones other fields: TCP alone knows of them. */
static void flows_of_another_module(void **state)
{
	struct json_object *rows, *f;
	FILE *real = stderr;
	size_t n;
	static const int more[] = { -8, 8, -(1 << 16), 1 << 16 };

	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		recs[1].layout = HPCCPP_FLOW_LAYOUT + more[i];
		stderr = fopen("/dev/null", "w");
		assert_non_null(stderr);
		rows = flow_list(EXIT_SYSTEM);
		n = json_object_array_length(rows);
		fclose(stderr);
		stderr = real;
		assert_int_equal(n, 3);
		f = json_object_array_get_idx(rows, 1);
		assert_entry(f, "dst", "\"10.0.0.2\"");
		assert_entry(f, "error", "\"the module and this command differ\"");
		assert_entry(f, "U", "none");
		f = json_object_array_get_idx(rows, 2);
		assert_entry(f, "error", "none");
		assert_entry(f, "U", "0.500");
	}
}
