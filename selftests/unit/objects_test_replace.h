/* SPDX-License-Identifier: GPL-2.0 */
/* Part of objects_test.c: agents that are there already. */

/* Half of an agent is one, to add and to delete. */
static void one_agent_of_a_device(void **state)
{
	int i;

	for (i = 1; i < 4; i++) {
		there[0] = i & 1;
		there[1] = i & 2;
		refused(ADD "rate 1gbit", "an agent exists already on ha");
		assert_string_equal(cnp("delete dev ha"), "");
		assert_int_equal(status, EXIT_DONE);
		assert_false(there[0] || there[1]);
	}
	refused("delete dev ha", "there is no agent on ha");
}

/*
 * Flows go on with the agent that is replaced, unless the line, T or the algorithm are others;
 * the rest does in any case, with the mark of copies that are on their way.
 */
static void replaced_with_its_flows(void **state)
{
	static const struct {
		const char *words;
		bool flows;
	} by[] = {
		{ "rate 1gbit answer cnp threshold 50", true },
		{ "rate 2gbit answer cnp", false },
		{ "rate 1gbit answer cnp base-rtt 51us", false },
		{ "rate 1gbit answer cnp algorithm dcqcn", false },
	};
	char line[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(by); i++) {
		add("rate 1gbit answer cnp");
		cfg.mark = 17;
		snprintf(line, sizeof(line), "replace dev ha accept fd00:5::/64 %s", by[i].words);
		assert_string_equal(cnp(line), "");
		assert_int_equal(status, EXIT_DONE);
		assert_true(maps[STATS].kept && maps[HEARD].kept && maps[OTHER].kept);
		assert_int_equal(maps[FLOW].kept, by[i].flows);
		assert_false(maps[CNP].kept || maps[ACCEPTS].kept);
		assert_int_equal(cfg.mark, 17);
	}
	there[0] = false;
	there[1] = false;
	assert_string_equal(cnp("replace dev ha accept fd00:5::/64 rate 1gbit"), "");
	assert_false(maps[STATS].kept);
	assert_true(there[0] && there[1]);
}
