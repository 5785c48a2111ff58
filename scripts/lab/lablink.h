/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCA_OPTIONS of the qdisc "lablink", for sch_lablink.c and the testbed.
 */
#ifndef LABLINK_H
#define LABLINK_H

#include <linux/types.h>

struct lablink_opt {
	__u64 rate;		/* bit/s, not 0 */
	__u64 delay;		/* propagation, ns */
	__u32 limit;		/* bytes that may wait; more is dropped */
	__u32 mark;		/* bytes waiting above which CE is set; 0: never */
	__u32 trace;		/* events to keep for /proc/lablink_trace */
	__u32 prio;		/* 1: TC_PRIO_CONTROL passes what waits */
	__u32 overhead;		/* bytes that the wire carries with each packet; 0: frames alone */
};

#endif /* LABLINK_H */
