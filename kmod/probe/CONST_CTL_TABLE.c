// SPDX-License-Identifier: GPL-2.0
/* Linux 6.11 and later pass a const table to handlers of sysctls. */
#include <linux/sysctl.h>

int probe(const struct ctl_table *table, int write, void *buffer, size_t *len, loff_t *pos);
proc_handler *handler = probe;
