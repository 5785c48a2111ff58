/* SPDX-License-Identifier: GPL-2.0 */
/* The tests of a program of one or more files: TEST() defines one, TEST_MAIN() runs all. */
#ifndef HPCCPP_TEST_H
#define HPCCPP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* cmocka passes a state to each test, and few use it; rows of tables may end early */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define MAX_TESTS	400

extern struct CMUnitTest tests[MAX_TESTS];
extern size_t n_tests;

static inline void add_test(const char *name, CMUnitTestFunction run, void *state)
{
	assert_true(n_tests < MAX_TESTS);
	tests[n_tests++] = (struct CMUnitTest) {
		.name = name, .test_func = run, .initial_state = state,
	};
}

/* A loop over the rows of a table */
#define for_each_row(row, rows)							\
	for (typeof(&(rows)[0]) row = (rows); row < (rows) + ARRAY_SIZE(rows); row++)

/* Begins the definition of a test: TEST(name) { ... } */
#define TEST(name)								\
	static void name(void **state);						\
	static void __attribute__((constructor)) add_ ## name(void)		\
	{									\
		add_test(#name, name, NULL);					\
	}									\
	static void name(void **state)

/* Defines main(), which runs all tests, with setup() before and teardown() after each. */
#define TEST_MAIN(group, setup, teardown)					\
	struct CMUnitTest tests[MAX_TESTS];					\
	size_t n_tests;								\
	int main(void)								\
	{									\
		for (size_t i = 0; i < n_tests; i++) {				\
			tests[i].setup_func = setup;				\
			tests[i].teardown_func = teardown;			\
		}								\
		cmocka_set_message_output(CM_OUTPUT_TAP);			\
		return _cmocka_run_group_tests(group, tests, n_tests, NULL, NULL); \
	}

#endif /* HPCCPP_TEST_H */
