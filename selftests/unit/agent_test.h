/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The list of an agent's unit tests. TEST(name) defines a test and adds it to the list. The
 * set_up() of the including file runs before each test. Include it after cmocka.h.
 */
/* few tests use their state */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define MAX_TESTS	200

static struct CMUnitTest tests[MAX_TESTS];
static int n_tests;

static int set_up(void **state);

static void add_test(const char *name, CMUnitTestFunction run, void *state)
{
	assert_true(n_tests < MAX_TESTS);
	tests[n_tests++] = (struct CMUnitTest) { name, run, set_up, NULL, state };
}

#define TEST(name)							\
	static void name(void **state);					\
	static void __attribute__((constructor)) add_ ## name(void)	\
	{								\
		add_test(#name, name, NULL);				\
	}								\
	static void name(void **state)
