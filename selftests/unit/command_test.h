/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of command_test share. */
#ifndef HPCCPP_COMMAND_TEST_H
#define HPCCPP_COMMAND_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "hpccpp.h"

/* cmocka hands every test a state, and few want one */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Catches what is printed to stdout or stderr from here on. */
void catch(FILE **what);
/* What was printed since; good until the next call */
const char *caught(void);

void qdiscs_are_read(void **state);
void rate_of_htb(void **state);
void rate_of_any_qdisc(void **state);
void devices_are_read(void **state);
void filters_are_ours_by_their_place(void **state);

#endif /* HPCCPP_COMMAND_TEST_H */
