// SPDX-License-Identifier: GPL-2.0
/* Handlers of sysctls get a const table, Linux 6.11 and later */
#include <linux/sysctl.h>

int probe(const struct ctl_table *table, int write, void *buffer, size_t *len, loff_t *pos);
proc_handler *handler = probe;
