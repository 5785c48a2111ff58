/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state that a host agent keeps of a socket, in its map "host_sk". The iterator behind
 * `hpccpp flow show` reads it too, to tell why a flow has no telemetry.
 */
#ifndef HPCCPP_HOST_STATE_H
#define HPCCPP_HOST_STATE_H

#include "hpccpp_agent.h"

/* An option of ours: collect, echo, tag or window */
struct opt {
	__u8 kind;
	__u8 len;
	__be16 exid;
	__be32 rec[HPCCPP_REC_MAX][3];
};

/* State of a socket */
struct flow {
	struct hpccpp_feedback feedback;	/* the module reads it: must be first */
	struct opt collected;	/* the last collect that arrived */
	__u32 round;		/* snd_nxt when this round trip began */
	__u32 asked_end;	/* end of the data that last asked; 0: none did */
	__u32 ask_end;		/* of the packet that TCP builds now, if it is to ask */
	__u32 asked_bytes;	/* with the option in flight; after an echo, of the last request */
	__u32 asked_mss;	/* mss_cache at the first of these, bytes */
	__u32 retrans;		/* segments retransmitted until then */
	__u32 want[2];		/* the request for windows; 0: none */
	__u32 silent;		/* requests are in vain since then, s; 0: they are answered */
	__u32 requested_seq;	/* snd_nxt when the request was last written */
	__u32 asked_at;		/* when a flow without telemetry asked last, s */
	__u32 empty_end;	/* snd_nxt when "empty" was last counted */
	__u16 segs;		/* data segments since the last collect, every N */
	__u8 passive;		/* the peer opened the connection */
	__u8 wanted;		/* the prefixes allow us to ask this peer */
	__u8 proven;		/* the peer has an agent: it has sent INT */
	__u8 tries;		/* round trips in which we asked in vain, saturating */
	__u8 heard;		/* echoes and windows of data since all was in doubt, saturating */
	__u8 doubted;		/* a flight was lost: only an echo proves now */
	__u8 syn_sent;		/* SYNs sent, 2 at most */
	__u8 third;		/* the next ACK is the handshake's third */
	__u8 echo_due;		/* "collected" has not been echoed yet */
	__u8 echo_turn;		/* the last data segment carried an echo */
	__u8 plan;		/* option of the segment that TCP builds now */
	__u8 listener_flag;	/* we set the WRITE flag of this listener */
	__u8 tags_wanted;	/* the peer wants our echoes signed */
	__u8 peer_signs;	/* the peer's echoes are signed */
	__u8 answers;		/* echoes and windows since the congestion control was read */
	__u8 empty;		/* round trips of echoes without a record, saturating */
	__u8 requests : 4;	/* times that the request was written */
	__u8 unmeasured : 1;	/* "collected" is news to host_rx */
	__u8 own_flag : 1;	/* we set the WRITE flag of this connection */
	__u8 paused : 1;	/* we have cleared it, until an echo or an event */
	__u8 loaded : 1;	/* the last echo has a loaded link */
	__u8 no_burst : 1;	/* bursts had no answer: ask by plain collects */
	__u8 rx_knows_link : 1;	/* host_rx has a record of a link */
	__u8 granted : 1;	/* a window has answered the request */
	__u8 rx : 1;		/* the peer wants windows: host_rx is in use */
	__u8 syn_asked : 1;	/* the first SYN carried the option */
	__u8 data_heard : 1;	/* data has had an answer */
	__u8 lost : 1;		/* lost its telemetry, has the fallback, asks once a second */
	__u8 stands_in : 1;	/* the fallback has the place of hpccpp */
};

#endif /* HPCCPP_HOST_STATE_H */
