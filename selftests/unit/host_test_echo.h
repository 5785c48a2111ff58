/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the host agent: echoes that it sends, feedback that it passes to the module, and
 * the calls for segments that it pauses. Included by host_test.c.
 */

#define READY_TO_PAUSE	"every=0 open known:10 "

static const struct row echo_rows[] = {
	{ "an ACK echoes all records, once",
	  "room=40 <collect:a ack>echo:a ack>none <collect:ab ack>echo:ab ack>none;"
	  "<collect:abc ack>echo:abc ack>none COLLECTED==3 ECHOED==3" },
	{ "an echo has the records that ports have written, or one empty record",
	  "room=40 <collect:000 ack>echo:0 <collect:b00 ack>echo:b <collect:bc0 ack>echo:bc;"
	  "<collect:u00 ack>echo:u" },
	{ "an ACK echoes the last collect",
	  "<collect <collect:b ack>echo:b" },
	{ "an echo waits for a segment with room",
	  "<collect room=12 ack>none ack>none ECHO_NONE==2 room=16 ack>echo ECHOED==1" },
	{ "in data, echoes and collects take turns; an ACK does not wait for its turn",
	  "open <echo <collect data>echo <collect data>collect data>echo data>collect;"
	  "<collect data>echo <collect ack>echo <collect data>collect" },
	{ "in data, an echo does not wait for a collect that is not due",
	  "every=0 open known:10 data>collect <collect data>echo <collect data>echo;"
	  "<collect snd_una=asked_end data>collect data>echo" },
	{ "a collect has as many records as fit",
	  "records=3 open room=40 data>collect stored==40 room=28 data>collect stored==28;"
	  "room=16 data>collect stored==16 room=4 data>none" },
	{ "a collect in packets of several segments, or with PSH, is a burst",
	  "open data:1>collect data:1+1>burst push=1 data:1>burst" },
	{ "the MSS leaves room for the largest option of data",
	  "room=40 open mss reserved==16 records=3 mss reserved==40 records=1;"
	  "<collect:ab mss reserved==28 feedback.key=0 mss reserved==28 plan==0" },

	/* --- Feedback */
	{ "each echo brings feedback",
	  "open <echo:a feedback==a feedback.gen==1;"
	  "<echo:ab feedback==ab feedback.gen==2;"
	  "<echo:abc feedback==abc feedback.gen==3 ECHOES==3;"
	  "<echo:b feedback==b" },
	{ "an empty echo brings no feedback, unless it has a bound",
	  "open <echo:0 feedback.gen==0 <echo:ab0 feedback==ab <echo:v feedback==u;"
	  "feedback.gen==2" },
	{ "the generation of the feedback skips 0",
	  "open feedback.gen=0xffffffff <echo feedback.gen==1" },

	/* --- Pauses */
	{ "calls pause after a large packet with a collect, until an RTT sample",
	  READY_TO_PAUSE "data:30>burst calls==0 data:30>none acked rtt calls==1;"
	  "data:30>burst calls==0" },
	{ "an RTT sample resumes calls, also before the whole packet is acknowledged",
	  READY_TO_PAUSE "data:30>burst asked_end==snd_nxt snd_una=asked_end-1 rtt calls==1;"
	  "data:30>none snd_una=snd_una+1 data:30>burst calls==0" },
	{ "a retransmission, a timeout, an echo and a collect resume calls, too",
	  READY_TO_PAUSE "data:30>burst calls==0 acked retransmission calls==1;"
	  "data:30>burst calls==0 acked timeout calls==1;"
	  "data:30>burst calls==0 <load:10 calls==1;"
	  "acked data:30>burst calls==0 <collect calls==1 ack>echo" },
	{ "calls go on after a retransmission, which carries no collect",
	  READY_TO_PAUSE "again:30>none calls==1 data:30>burst calls==0" },
	{ "calls go on after packets of up to 4 segments",
	  READY_TO_PAUSE "data:4>burst calls==1 acked data:4+1>burst calls==0" },
	{ "calls go on while an echo is due",
	  READY_TO_PAUSE "<collect data:30>echo <collect data:30>burst calls==1" },
	{ "calls that another program enabled go on",
	  "calls=1 " READY_TO_PAUSE "data:30>burst calls==1" },
	{ "calls of a server's connection pause as well",
	  "every=0 server<collect ack known:10 data:30>burst calls==0" },
	{ "calls go on with every N",
	  READY_TO_PAUSE "every=1 acked <load:10 data:30>burst calls==1;"
	  "every=81 acked <load:10 data:30>burst calls==1" },
	{ "calls go on while the path is loaded",
	  READY_TO_PAUSE "<load:200 data:30>burst calls==1 <load:10 acked data:30>burst calls==0" },
	{ "calls go on in mode receiver",
	  "windows=1 " READY_TO_PAUSE "data:30>burst calls==1" },
};

/* An echo with room for one or two of three records has the most loaded ones. */
TEST(short_echo_has_the_most_loaded)
{
	static const char *const orders[] = { "abc", "acb", "bac", "bca", "cab", "cba" };
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(orders); i++)
		script("room=24 <collect:%s ack>echo:b room=36 <collect:%s ack>echo:ba",
		       orders[i], orders[i]);
	script("ECHO_SHORT==12 ECHOED==0");
}

/* Segmentation leaves PSH in the last segment of a packet: only that is echoed. */
TEST(burst_is_echoed_once)
{
	static const char *const lists[] = { "a", "ab", "abc" };
	__u32 i;

	script("room=40 <collect ack");
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		script("push=0 mark=COLLECTED <burst:%s COLLECTED==mark ack>none", lists[i]);
		script("push=1 <burst:%s COLLECTED==mark+1 ack>echo:%s", lists[i], lists[i]);
		script("<collect COLLECTED==mark+2 push=0 <collect COLLECTED==mark+3 ack>echo");
	}
}

static const __u8 padding_bytes[] = { 1, 1, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2,
				      1, 1, 5, 10, 0, 0, 0, 5, 0, 0, 0, 7 };

/* An option is found after NOPs, timestamps and SACK blocks. */
TEST(options_are_found_anywhere)
{
	static const struct { __u32 from, len; } before[] = {
		{ 0, 0 }, { 0, 2 }, { 2, 12 }, { 14, 12 }, { 4, 10 }, { 0, 26 },
	};
	__u32 i;

	script("open");
	for (i = 0; i < ARRAY_SIZE(before); i++) {
		padding = padding_bytes + before[i].from;
		padding_len = before[i].len;
		script("<echo:%c feedback==%c feedback.gen==%d", 'a' + i % 3, 'a' + i % 3, i + 1);
		script("<collect:%c ack>echo:%c", 'a' + i % 3, 'a' + i % 3);
	}
}

/* An option of which bytes are missing is not read. */
TEST(options_cut_off_are_ignored)
{
	script("open");
	padding = padding_bytes + 2;
	for (padding_len = 0; padding_len <= 12; padding_len += 12)
		for (cut = 1; cut <= 16; cut++)
			script("<echo <collect ack>none");
	script("ECHOES==0 COLLECTED==0 feedback.gen==0");
}

/* Options of other lengths than these are counted as bad and ignored. */
TEST(options_of_wrong_lengths)
{
#define LEN(bytes)	(1ULL << (bytes))
	static const struct {
		__u64 lengths;	/* bytes after the header of the option */
		__u16 exid;
	} kinds[] = {
		{ LEN(12) | LEN(24) | LEN(36), HPCCPP_EXID_ECHO },
		/* of 16 bytes is a SYN-ACK's; in other segments it is ignored */
		{ LEN(12) | LEN(16) | LEN(24) | LEN(36), HPCCPP_EXID_COLLECT },
		{ LEN(0) | LEN(16) | LEN(28), HPCCPP_EXID_TAG },
		{ LEN(8), HPCCPP_EXID_WINDOW },
	};
	__u32 i, len, bad, request = HPCCPP_WINDOW(HPCCPP_WINDOW_REQUEST, 1, 100, 95);

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		set_up(state);
		bad = 0;
		script("open");
		tags = kinds[i].exid == HPCCPP_EXID_TAG;
		windows = !tags;
		for (len = 0; len <= 36; len++) {
			if (kinds[i].lengths & LEN(len))
				continue;
			receive_words(kinds[i].exid, kinds[i].exid == HPCCPP_EXID_WINDOW ?
				      request : 0, 0, len);
			script("BAD==%d", ++bad);
		}
	}
	/* a window of 0 bytes, and a window as long as a request */
	receive_words(HPCCPP_EXID_WINDOW, HPCCPP_WINDOW(HPCCPP_WINDOW_U, 1, 0, 9), 0, 4);
	receive_words(HPCCPP_EXID_WINDOW, HPCCPP_WINDOW(HPCCPP_WINDOW_U, 1, 100, 9), 0, 8);
	script("BAD==%d ECHOES==0 COLLECTED==0 WINDOWS==0", bad + 2);
	assert_false(has_rx);
}
