/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the files of algo_test: the references, and a flow to compare with them */
#ifndef HPCCPP_ALGO_TEST_H
#define HPCCPP_ALGO_TEST_H

#include <math.h>

#include "test.h"
#include "hpccpp_algo.h"
#include "hpccpp_wire.h"
#include "hpccpp_roce.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define STEP		(1.0 / HPCCPP_ONE)	/* one step of u, U, eta */

#define G1		1000000000ULL
#define TICK		(16 / 1e9)		/* one step of ts, in s */
#define US		(1 / 1e6)
#define EPSILON		(1 / 1e9)		/* for what a double rounds */
#define CODE(m, e)	((e) << 8 | (m))	/* m * 10^e bit/s */
#define RATE_100G	hpccpp_rate_encode(100 * G1)
#define RATE_10G	hpccpp_rate_encode(10 * G1)
#define ETA_95		((__u32)(HPCCPP_ONE * 95ULL / 100))

/* Lines 1-27 in double precision. Names are the draft's, underscored. */

struct draft_link {
	double tx_bytes;	/* bytes */
	double ts;		/* s */
	double qlen;		/* bytes */
	double B;		/* bytes/s */
};

struct draft {
	double T, eta, W_ai;
	double packet;		/* bytes */

	double U, W, W_c, R;
	unsigned int inc_stage;
	int links;
	struct draft_link L[8];

	/* not the draft's: what the stated error bound is computed from */
	double error;		/* of u */
	double u, tau;
};

/* The averaged law in double precision, from U of lines 1-10 on, without a share */
struct averaged {
	double T, eta, W_ai, W_min, W_max, packet;

	double W, W_c, W_p, W_n;
	unsigned int rounds;	/* without a multiplicative increase */
};

/* A port as it is: counters that do not wrap, and what it puts on the wire. */
struct port {
	__u16 id, rate;
	__u64 ts;		/* 16 ns */
	__u64 tx_bytes;		/* 64 bytes */
	__u16 qlen;		/* 64 bytes */
	__u8 U;
};

/* The flow under test and the reference, moving together. */
struct pair {
	struct hpccpp_state s;
	struct hpccpp_params p;
	struct draft d;
	struct averaged a;
	struct port port[3];
	__u64 now;
};

/* Runs lines 21-27, as hpccpp_use() does. Returns false if no record was of use. */
static inline bool new_ack(struct hpccpp_state *s, const struct hpccpp_params *p,
			   const struct hpccpp_int *rec, int n, __u64 now, bool round_ends)
{
	if (!hpccpp_measure_inflight(s, p, rec, n, now))
		return false;
	hpccpp_compute_wind(s, p, round_ends);
	return true;
}

__u64 rnd(void);
__u64 rnd_below(__u64 n);
__u64 rnd_log(__u64 lo, __u64 hi);
void assert_near(double got, double want, double bound);
double draft_compute_wind(struct draft *d, double U, bool round_ends);
void averaged_compute_wind(struct averaged *a, double U, bool round_ends);
struct hpccpp_int stamp(const struct port *p);
void pair_init(struct pair *x, int links, __u16 rate, __u32 T);
bool pair_ack(struct pair *x, bool round_ends);
void pair_first(struct pair *x, __u32 W_c);
void advance(struct pair *x, int i, __u32 dts, __u32 tx, __u16 qlen);
void assert_pair(const struct pair *x);

__u32 wind(struct hpccpp_state *s, const struct hpccpp_params *p, __u32 U,
	   __u32 W_c, __u32 stage, bool round_ends);
extern const struct hpccpp_params params_95;

#endif /* HPCCPP_ALGO_TEST_H */
