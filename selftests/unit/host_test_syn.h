/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the host agent: telemetry in SYN-ACK and third ACK, and the fallback congestion
 * control of a connection without telemetry. Included by host_test.c.
 */

#define NO_OPTION	"connect syn connected< "

static const struct row syn_rows[] = {
	{ "a SYN-ACK carries a collect and the SYN's record in a word; there is no state",
	  "room=20 syn<collect syn-ack>collect stored==20 word1==WANTED word2==0 word3==0;"
	  "word4==0x03961428 COLLECTED==1 ECHOED==1 ASKED==1 has_flow==0" },
	{ "a SYN with a cookie of Fast Open has room for a collect without a record",
	  "connect room=8 syn>collect stored==4" },
	{ "a collect without a record gets an empty echo in the SYN-ACK",
	  "syn<collect:- syn-ack>collect stored==20 word4==0 BAD==0" },
	{ "a collect without a record confirms the peer: the server may send data at once",
	  "server<collect:- proven==1 data>collect BAD==0" },
	{ "without a key, the SYN-ACK for a SYN that requests a tag carries an echo without one",
	  "syn<collect:a+tag syn-ack>echo" },
	{ "a SYN-ACK carries the bound of a SYN whose ports are below their thresholds",
	  "syn<collect:u syn-ack word4==51 remote_port=1 syn<collect:0 syn-ack word4==0" },
	{ "a SYN-ACK brings feedback, the third ACK echoes its collect; no fallback runs",
	  "connect syn connected<found:0x03961428 feedback==s feedback.gen==1 ECHOES==1 COLLECTED==1;"
	  "ack>echo:a ack>none bind data>collect cc==hpccpp STOOD_IN==0" },
	{ "with a SYN cookie the SYN-ACK carries an echo and no collect",
	  "write_arg=COOKIE syn<collect syn-ack>echo" },
	{ "data in place of the third ACK does not echo the SYN-ACK's collect",
	  "connect syn connected<found:0x03961428 bind data>collect ack>none" },
	{ "feedback of the handshake expires after the first flight",
	  "connect syn connected<found:0x03961428 data_segs_out=10 feedback.key=0 bind feedback.gen==1;"
	  "data_segs_out=11 feedback.key=0 bind feedback.gen==0" },
	{ "an echo in the third ACK brings feedback and confirms the peer; no fallback runs",
	  "server<echo feedback==a proven==1 data>collect cc==hpccpp STOOD_IN==0" },
	{ "without room for a collect the SYN-ACK carries an echo",
	  "room=16 syn<collect syn-ack>echo:a COLLECTED==1 ECHOED==1 has_flow==0" },
	{ "a SYN-ACK carries the most loaded record of the SYN",
	  "syn<collect:abc syn-ack>collect stored==20 word4==0x7143c" },
	{ "a SYN-ACK carries no option if the SYN carries no collect",
	  "syn<echo syn-ack>none" },
	{ "a SYN-ACK requests telemetry from listed peers only",
	  "ask=NEVER syn<collect syn-ack>echo;"
	  "remote_port=1 ask=AUTO unlisted syn<collect syn-ack>echo;"
	  "remote_port=2 listed syn<collect syn-ack>collect" },

	/* --- Fallback */
	{ "a client runs the fallback until an echo has a record",
	  NO_OPTION "cc==cubic STOOD_IN==1 data>collect <echo:0 cc==cubic CAME_BACK==0;"
	  "<echo cc==hpccpp CAME_BACK==1 <echo cc==hpccpp STOOD_IN==1 CAME_BACK==1" },
	{ "a server without telemetry in the third ACK runs the fallback",
	  "server< cc==cubic STOOD_IN==1 CAME_BACK==0 data>none" },
	{ "connections of other congestion controls do not run the fallback",
	  "cc=reno " NO_OPTION "server< cc==reno STOOD_IN==0" },
	{ "a congestion control locked by the route is kept, which does not count as an error",
	  "cc_is_locked=1 " NO_OPTION "cc_is_locked=0 ERROR==0 bind <echo cc==hpccpp STOOD_IN==0;"
	  "CAME_BACK==0" },
	{ "a SYN-ACK that reflects the SYN's collect does not confirm an agent",
	  "connect syn>collect connected<collect proven==0 cc==cubic STOOD_IN==1 COLLECTED==0" },
	{ "a connection to a peer that no prefix lists runs the fallback",
	  "unlisted " NO_OPTION "cc==cubic STOOD_IN==1" },
	{ "a fallback that appends to its name is replaced by hpccpp, as dctcp-reno",
	  NO_OPTION "cc=cubic-else <echo cc==hpccpp STOOD_IN==1 CAME_BACK==1" },
	{ "a congestion control chosen by the application is kept for good",
	  NO_OPTION "cc=bbr <echo cc==bbr CAME_BACK==0 cc=cubic <echo cc==cubic CAME_BACK==0" },
	{ "a chosen congestion control whose name starts with the fallback's is kept",
	  NO_OPTION "cc=cubic2 <echo cc==cubic2 CAME_BACK==0" },
	{ "a chosen congestion control whose name is a prefix of the fallback's is kept",
	  NO_OPTION "cc=cub <echo cc==cub CAME_BACK==0" },
	{ "after a second connect() with telemetry, hpccpp replaces the fallback",
	  NO_OPTION "connect cc==cubic CAME_BACK==0 syn>collect connected<found:0x03961428;"
	  "cc==hpccpp STOOD_IN==1 CAME_BACK==1" },
	{ "after a second connect() without telemetry, the fallback goes on",
	  NO_OPTION NO_OPTION "cc==cubic STOOD_IN==1 CAME_BACK==0 <echo cc==hpccpp CAME_BACK==1" },
	{ "after a second connect() over a route with another congestion control, that is kept",
	  NO_OPTION "connect cc=bbr connected<found:0x03961428 cc==bbr STOOD_IN==1 CAME_BACK==0" },
	{ "listen() ends the fallback, as children of the socket run hpccpp",
	  NO_OPTION "listen cc==hpccpp STOOD_IN==1 cc=cubic <echo cc==cubic CAME_BACK==0" },
	{ "an agent younger than the SYN sets the fallback and requests telemetry",
	  "connected< cc==cubic calls==1 data>collect" },
	{ "a fallback that the kernel does not have counts as an error",
	  "cc_is_gone=1 " NO_OPTION "cc==hpccpp STOOD_IN==0 ERROR==1" },
	{ "the record that ends the fallback is feedback for a flow of any age",
	  NO_OPTION "data_segs_out=11 <echo cc==hpccpp CAME_BACK==1 feedback.gen==1;"
	  "feedback.key==KEY" },
};

/* A SYN-ACK carries the number of new flows in 5 bits. */
TEST(syn_ack_carries_an_incast)
{
	static const struct { __u32 N, bits; } cases[] = {
		{ 0, 0 }, { 2, 3 }, { 3, 4 }, { 4, 5 }, { 64, 13 }, { 1024, 21 }, { 65535, 31 },
	};
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		script("remote_port=%u flows=%u syn<collect syn-ack word4==%#x", i,
		       hpccpp_N_encode(cases[i].N), cases[i].bits << 27 | 0x03961428);
}

/* The word of a SYN-ACK becomes the record that the SYN had. */
TEST(syn_echo_becomes_feedback)
{
	static const struct {
		__u32 word;
		struct hpccpp_int rec;	/* all 0: no feedback */
	} cases[] = {
		{ 0x07f614ff, { .rate = 0x614, .U = 255, .qlen = HPCCPP_QLEN_MAX } },
		{ 0x03961428, { .rate = 0x614, .U = 40, .qlen = 0x1300 } },
		{ 0x1b961428, { .rate = 0x614, .U = 40, .qlen = 0x1300, .N = 5 } },
		{ 0xfb961428, { .rate = 0x614, .U = 40, .qlen = 0x1300, .N = 61 } },
		/* without a link there is no queue; but there may be a bound */
		{ 0x12300000, { .rate = 0 } },
		{ 0x12300033, { .U = 51 } },
	};
	const struct hpccpp_int *rec;
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rec = &cases[i].rec;
		script("connect syn connected<found:%#x proven==1 feedback.gen==%d", cases[i].word,
		       rec->U || rec->rate);
		if (rec->U || rec->rate)
			assert_feedback(rec, 1);
	}
}
