/* SPDX-License-Identifier: GPL-2.0 */
/* What else a connection of xfer may use of TCP: see neighbours.sh. */
#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

#include <stdbool.h>

/* The protocol of a new socket. */
int neighbour_protocol(const char *name);

/* Set up a socket before it connects or listens. */
void neighbour_before(const char *name, int fd, int family, bool listens);

/* Set up a socket that is connected; but for TCP Fast Open before its first data. */
void neighbour_after(const char *name, int fd);

/*
 * End a connection without the peer noticing and go on with it in a new socket,
 * which is returned. All that was sent must have been acknowledged.
 */
int neighbour_repair(int fd, const char *cc);

#endif /* NEIGHBOURS_H */
