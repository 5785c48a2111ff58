/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why telemetry does not, or not alone, steer a flow. For the iterator, and the unit tests.
 */
#ifndef HPCCPP_FLOW_REASON_H
#define HPCCPP_FLOW_REASON_H

#include "hpccpp_flow.h"
#include "host_state.h"

/* Whether a host agent has state at a socket */
enum agent {
	AGENT_NONE,
	AGENT_OTHER,		/* of another build: what it keeps is not known */
	AGENT_READ,
};

/* The reason as far as the agent knows it */
static inline enum hpccpp_reason agent_reason(const struct flow *f)
{
	if (!f->wanted)
		return HPCCPP_R_NOT_ASKED;
	if (f->feedback.gen)
		return HPCCPP_R_UNUSED;
	if (f->heard)
		return f->lost ? HPCCPP_R_LOST_RECORDS : HPCCPP_R_EMPTY;
	/* of the handshake alone: a client's SYN was answered, a server has asked nothing */
	if (f->proven && !f->asked_end)
		return f->passive ? HPCCPP_R_NO_DATA : HPCCPP_R_EMPTY;
	return f->lost ? HPCCPP_R_LOST_ECHO : HPCCPP_R_NO_ECHO;
}

static inline enum hpccpp_shown shown_mode(const struct hpccpp_flow *f)
{
	if (f->mode == HPCCPP_COEXIST &&
	    (f->cause == HPCCPP_C_NO_INT || f->cause == HPCCPP_C_BLIND))
		return HPCCPP_SHOWN_RENO;
	return f->mode == HPCCPP_OFF ? HPCCPP_SHOWN_OFF : HPCCPP_SHOWN_INT;
}

/*
 * The reason of a flow that the module has. f is its state of the flow: NULL if there is
 * none, or one of another build.
 */
static inline enum hpccpp_reason
flow_reason(__u32 mode, bool has_state, enum agent agent, const struct hpccpp_flow *f,
	    const struct flow *kept)
{
	enum hpccpp_reason why;

	if (mode != HPCCPP_SHOWN_INT && mode != HPCCPP_SHOWN_RENO)
		return HPCCPP_R_NONE;
	if (!has_state)
		return HPCCPP_R_NO_MEMORY;
	if (!f)
		return HPCCPP_R_NONE;
	if (mode == HPCCPP_SHOWN_INT)
		return f->mode == HPCCPP_COEXIST && f->cause == HPCCPP_C_LOSS ?
		       HPCCPP_R_BLIND_LOSS : HPCCPP_R_NONE;
	if (agent == AGENT_NONE)
		return HPCCPP_R_NO_AGENT;
	if (f->cause == HPCCPP_C_BLIND)
		return HPCCPP_R_BLIND_DELAY;
	if (agent == AGENT_OTHER)
		return HPCCPP_R_NONE;
	why = agent_reason(kept);
	if (!f->fallbacks)
		return why;
	if (why == HPCCPP_R_EMPTY)
		return HPCCPP_R_LOST_RECORDS;
	return why == HPCCPP_R_NO_ECHO ? HPCCPP_R_LOST_ECHO : why;
}

#endif /* HPCCPP_FLOW_REASON_H */
