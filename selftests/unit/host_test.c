// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the host agent, tools/bpf/host.bpf.c, which is compiled into this unchanged.
 * This file has main() and the tests of requests: which segments carry a collect. host_test.h
 * has the harness and describes the scripts.
 */
#include "host_test.h"
#include "host_test_syn.h"
#include "host_test_echo.h"
#include "host_test_tag.h"
#include "host_test_window.h"

/* --- Handshake and first data ---------------------------------------------- */

static const struct row request_rows[] = {
	{ "the first SYN carries an unconditional collect, its retransmission none",
	  "room=20 connect calls==1 syn>collect stored==16 word1==WANTED word2==0 word3==0;"
	  "ASKED==1 syn>none ASKED==1" },
	{ "a SYN without room carries no collect, and neither does its retransmission",
	  "room=0 connect syn>none room=20 syn>none" },
	{ "a SYN of another congestion control carries no collect",
	  "cc=cubic connect syn>none" },
	{ "with ask always, a SYN of any congestion control carries a collect",
	  "cc=cubic ask=ALWAYS connect syn>collect" },
	{ "with ask never, connect() creates no state",
	  "ask=NEVER connect has_flow==0 calls==0" },
	{ "the third ACK carries a collect; later ACKs carry none",
	  "connect syn connected< parses==1 ack>collect stored==16 ack>none" },
	{ "data in place of the third ACK carries a collect, and no ACK after it does",
	  "connect syn connected< data>collect ack>none" },

	/* --- Connections under another congestion control, and paths that drop the option */
	{ "a client under another congestion control has no state, and no calls for what it sends",
	  "cc=cubic connect syn>none connected< calls==0 parses==1 has_flow==0 ack>none;"
	  "data>none" },
	{ "it gets both if the SYN-ACK has a request, and echoes that",
	  "cc=cubic connect syn>none connected<found:0 has_flow==1 flags==CALLS ack>echo data>none;"
	  "<collect ack>echo" },
	{ "a server under another congestion control has no state until a request arrives",
	  "cc=cubic listen syn< syn-ack>none accepted< calls==0 parses==1 has_flow==0;"
	  "ack>none <collect has_flow==1 ack>echo" },
	{ "it gets both if the third ACK has a request",
	  "cc=cubic listen syn< syn-ack>none accepted<collect has_flow==1 flags==CALLS ack>echo" },
	{ "a server under hpccpp requests telemetry from clients that do not, once a connection",
	  "listen cc=hpccpp syn< syn-ack>collect accepted<echo proven==1 flags==CALLS" },
	{ "if the request has no answer, the second SYN-ACK has none, nor have the following ones",
	  "listen syn< syn-ack>collect syn-ack>none accepted< SUSPECTED==1 calls==0;"
	  "other listen syn< remote_port=7 syn-ack>none accepted< SUSPECTED==1;"
	  "now=now+61000000000 other listen syn< remote_port=8 syn-ack>collect" },
	{ "after a second SYN without the option the flow requests nothing, nor does the next",
	  "connect syn>collect syn>none connected< SUSPECTED==1 ack>none data>none STOOD_IN==1;"
	  "other connect syn>none connected< ack>none data>none STOOD_IN==2 SUSPECTED==1" },
	{ "after a minute the next flow requests again, and a second loss counts for two minutes",
	  "connect 2*( syn ) connected< now=now+61000000000 other connect syn>collect syn connected<;"
	  "SUSPECTED==2 now=now+61000000000 other connect syn>none;"
	  "now=now+60000000000 other connect syn>collect" },
	{ "a lost SYN to a peer that has echoed data suspects no path",
	  "open data>collect <echo other connect syn>collect syn>none connected<;"
	  "ack>collect SUSPECTED==0" },
	{ "a connection that ends before the SYN-ACK suspects the path",
	  "connect syn>collect closed SUSPECTED==1 other connect syn>none" },
	{ "if all data with the option is lost, requests end at once, and the path is suspected",
	  "connect syn connected< bind 10*( data>collect ) lost total_retrans=10 again>none;"
	  "data>none SUSPECTED==0 acked data>none calls==0 GAVE_UP==1 SUSPECTED==1;"
	  "other connect syn>none" },
	{ "if the handshake had an answer, and data with the option is lost, the path is suspected",
	  "open <echo 10*( data>collect ) lost total_retrans=10 again>none acked data>none;"
	  "GAVE_UP==1 SUSPECTED==1" },
	{ "if the MSS shrinks before the retransmission is acked, the path is not suspected",
	  "open <echo 10*( data>collect ) lost total_retrans=10 mss_cache=1000 again>none acked;"
	  "data>burst SUSPECTED==0 <echo acked data>burst" },
	{ "if a part of the data with the option is retransmitted, the path is not suspected",
	  "open <echo 10*( data>collect ) lost_out=1 sacked_out=9 total_retrans=1 again>none acked;"
	  "lost_out=0 sacked_out=0 data>collect SUSPECTED==0 GAVE_UP==0 proven==1" },
	{ "if a probe carried none, and all the data with the option is lost, the path is suspected",
	  "open <echo 2*( data>collect ) total_retrans=1 data>collect lost total_retrans=3 again>none;"
	  "acked data>none GAVE_UP==1 SUSPECTED==1" },
	{ "so it is if some of the data goes without the option, and all with it is lost",
	  "every=2 open <echo data>collect data>none data>collect data>none lost_out=2 sacked_out=2;"
	  "total_retrans=2 acked data>none SUSPECTED==1" },
	{ "so it is after data was acked without an echo",
	  "open 4*( data>collect acked ) 30*( data>none acked ) <collect ack>echo;"
	  "10*( data>collect ) lost again>none total_retrans=10 acked data>none SUSPECTED==1" },
	{ "so it is if the MSS grows before the retransmission",
	  "open <echo mss_cache=1000 10*( data ) lost mss_cache=1448 total_retrans=10 again>none acked;"
	  "data>none SUSPECTED==1" },
	{ "if the data that requested is acked without an echo after a retransmission, so it is",
	  "open <echo data>collect total_retrans=1 acked data>none GAVE_UP==1 SUSPECTED==1" },
	{ "after a retransmission before the request, or an echo, the path is not suspected",
	  "total_retrans=1 open <echo data>collect acked data>collect <echo total_retrans=2;"
	  "acked data>collect SUSPECTED==0" },
	{ "a path that has let data pass gets a second try, also of another connection",
	  "open data>collect <echo other open <echo data>collect lost total_retrans=1 again>none;"
	  "acked data>collect SUSPECTED==0 lost total_retrans=2 again>none acked data>none;"
	  "GAVE_UP==1 SUSPECTED==1" },
	{ "a retransmitted SYN-ACK has no option, whatever the SYN has",
	  "listen syn<collect syn-ack>collect syn< syn-ack>none syn-ack>none" },
	{ "an old SYN-ACK to this port is not sent again",
	  "listen syn< syn-ack>collect now=now+64000000000 other listen syn< syn-ack>collect" },

	{ "listen() enables the calls for SYN-ACKs",
	  "listen calls==1 listener_flag==1" },
	{ "a listener whose calls another program enabled gets no state",
	  "calls=1 listen has_flow==0" },
	{ "listen() on a socket that was connected forgets the peer",
	  "open <echo calls=0 listen listener_flag==1 proven==0 feedback.gen==0" },
	{ "calls for a child end if its peer has no agent",
	  "listen accepted< calls==0 parses==1" },
	{ "calls for a child that another program enabled go on",
	  "calls=1 accepted< calls==1" },
	{ "calls for a child go on if its peer has an agent",
	  "listen accepted<collect calls==1 proven==1" },

	{ "every data segment carries an unconditional collect, a pure ACK none",
	  "open data>collect word1==WANTED data>collect ack>none" },
	{ "after an echo, data requests telemetry only from ports above their threshold",
	  "open <echo data>collect word1==0" },
	{ "data requests telemetry once the module has registered the flow",
	  "cc=cubic connect syn connected< ack data>none bind data>collect" },
	{ "with ask always, data of any congestion control requests telemetry",
	  "cc=cubic ask=ALWAYS connect connected< data>collect" },
#define NO_AGENT							\
	  "4*( 3*( data>collect ) acked ) GAVE_UP==0 data>none GAVE_UP==1;"	\
	  "acked data>none GAVE_UP==1 mss reserved==0"
	{ "requests stop after four round trips of data without an echo",
	  "open " NO_AGENT },
	{ "a round trip ends with the ACK of its first byte",
	  "open 20*( data>collect ) snd_una=round 20*( data>collect ) tries==0;"
	  "snd_una=snd_una+1 data tries==1" },
	{ "a round trip may begin with sequence number 0",
	  "connect syn snd_una=0 snd_nxt=0 connected< bind ack 4*( data>collect acked );"
	  "data>none" },
#define FOUR_TRIPS	"open 4*( data acked ) "
#define GOES_ON_AGAIN	" 8*( data>collect acked ) GAVE_UP==1"
#define GOES_ON		" 8*( data>collect acked ) GAVE_UP==0 "
	{ "an echo confirms the peer, and requests go on",
	  FOUR_TRIPS "<echo" GOES_ON },
	{ "an empty echo confirms the peer, but brings no feedback",
	  FOUR_TRIPS "<echo:0" GOES_ON "feedback.gen==0" },
	{ "a collect of the peer confirms it",
	  FOUR_TRIPS "<collect ack" GOES_ON },
	{ "a confirmed peer that is silent for a minute gets no more requests, until it sends one",
	  "now=1000000000 " FOUR_TRIPS "<echo 13*( data>collect acked ) data>none acked;"
	  "now=now+59000000000 data>collect acked data>none acked calls==1 GAVE_UP==0;"
	  "now=now+2000000000 data>none GAVE_UP==1 calls==0;"
	  "mss reserved==0 <collect calls==1 ack>echo" GOES_ON_AGAIN },
	{ "requests resume with a late echo",
	  "open 6*( data acked ) data>none <echo data>collect" },
	{ "a server requests no telemetry before it has received an echo",
	  "server< data>none <echo data>collect" },
	{ "a server requests telemetry once it has received a collect",
	  "server< <collect ack>echo data>collect" },

	/* --- Loss of a whole flight */
	{ "after a timeout only an echo confirms the peer, whatever collects arrive",
	  "open 3*( data acked ) <echo 2*( data ) lost again>none acked;"
	  "4*( data>collect acked <collect ack>echo ) data>none GAVE_UP==1" },
	{ "requests go on if an echo follows a timeout",
	  "open data <echo data lost again>none acked <echo 8*( data>collect acked ) doubted==0" },
	{ "round trips before a timeout count if the peer was not confirmed",
	  "open 3*( data acked ) data lost again>none acked data>none" },
	{ "round trips before a timeout do not count if the peer was confirmed",
	  "open data <echo 3*( data>collect acked ) data lost again>none acked;"
	  "4*( data>collect acked ) data>none" },
	{ "requests go on if SACK reports a part of the flight after a timeout",
	  "open data <echo acked 3*( data ) lost again>none lost_out=2 sacked_out=1 again>none;"
	  "lost_out=1 data>collect" },
	{ "loss of a part of a flight does not count as a timeout",
	  "open <echo 3*( data ) lost_out=2 sacked_out=1 data>none proven==1" },
	{ "a retransmission carries no collect and does not count as a request",
	  "open <echo data>collect mark=asked_end again>none asked_end==mark data>collect;"
	  "proven==1" },

	/* --- How often */
	{ "with every 4, one in four segments and the first of a flight carry a collect",
	  "every=4 open <echo data>collect requests:0/3 data>collect requests:100/400;"
	  "acked requests:1/2 acked data>collect" },
	{ "with every 16, one in each round trip does at least",
	  "every=16 open <echo data>collect data>none snd_una=snd_nxt data>collect data>none" },
	{ "with every rtt, one segment per round trip does, once an echo has arrived",
	  "every=0 open requests:20/20 known:LOADED-1 acked;"
	  "3*( requests:1/30 snd_una=asked_end-1 requests:0/1 snd_una=snd_una+1 );"
	  "requests:1/30 packets_out=0 requests:1/30" },
	{ "with every rtt, the next segment after a retransmission does, once",
	  "every=0 open known:0 acked requests:1/10 lost_out=1 total_retrans=1 requests:1/10" },
	{ "with every rtt, a retransmission of a silent peer brings no more requests",
	  "every=0 open <load:0 5*( acked data ) tries==4 acked requests:1/50 total_retrans=1;"
	  "requests:0/100" },
	{ "with every rtt, a segment without room leaves the request to the next one",
	  "every=0 open known:0 room=8 data>none room=28 data>collect data>none" },
	{ "with every rtt, eight segments per round trip do while a link is loaded",
	  "every=0 snd_cwnd=80 open known:0 <load:LOADED-1 acked requests:1/80;"
	  "<load:LOADED acked requests:8/80 <bound:LOADED acked requests:1/80" },
	{ "a loaded link is one of the records, not of the bytes after them",
	  "every=0 snd_cwnd=80 open known:0;"
	  "acked <echo:d requests:8/80 <echo:c acked requests:1/80;"
	  "acked <echo:cd requests:8/80 <echo:c acked requests:1/80;"
	  "acked <echo:ccd requests:8/80 <echo:c+tag acked requests:1/80" },
	{ "with every rtt, eight do in the first round trips of a path, and again after a timeout",
	  "every=0 snd_cwnd=80 open <echo requests:80/80 15*( <load:0 acked requests:8/80 );"
	  "4*( <load:0 acked requests:1/80 ) data lost again>none acked requests:20/20" },
	{ "with every rtt, all segments of a window of eight do",
	  "every=0 open known:0 acked mss_cache=MSS+28 snd_cwnd=9 requests:1/9;"
	  "acked snd_cwnd=8 requests:8/8" },
	{ "after four round trips without an echo, all segments of four do, without bursts",
	  "every=0 open 2*( known:0 4*( acked requests:1/20 ) 4*( acked requests:20/20 );"
	  "5*( acked requests:1/20 ) acked requests:0/20 now=now+1000000000 requests:1/20 );"
	  "acked now=now+1000000000 data:30>collect GAVE_UP==0;"
	  "acked <echo data:30>burst" },
	{ "with every rtt, requests in all segments resume with a collect of the peer",
	  "every=0 open 4*( acked requests:20/20 ) 2*( acked requests:0/20 );"
	  "<collect acked ack>echo requests:20/20" },
	{ "an empty echo ends the state of a loaded path",
	  "every=0 snd_cwnd=80 open known:200 acked requests:8/80 <echo:0 acked requests:1/80" },
	{ "calls for a flow that selects hpccpp late end if the peer has no agent",
	  "cc=cubic ack bind calls==1 4*( data>collect acked ) data>none calls==0" },
	{ "calls for it that another program enabled go on",
	  "cc=cubic calls=1 ack bind 4*( data>collect acked ) data>none calls==1" },
	{ "a flow that returns from another congestion control starts from scratch",
	  "every=0 open known:0 acked requests:1/20 snd_una=snd_una+3000000000;"
	  "snd_nxt=snd_una+28960 data_segs_out=2000000 feedback.key=0 bind requests:20/20" },

	/* --- Other lives of a socket */
	{ "a peer that no prefix lists gets no request, but gets its echoes",
	  "unlisted open data>none <echo calls=1 data>none <collect ack>echo" },
	{ "connect() to a peer that no prefix lists removes the state",
	  "open <echo unlisted connect has_flow==0" },
	{ "calls that another program enabled go on after a second connect()",
	  "every=0 calls=1 connect open known:10 data:30>burst calls==1" },
	{ "with the 64th answer, requests of a flow under another congestion control end",
	  "open <echo cc=bbr 63*( <echo ) data>collect <echo data>none feedback.key==0;"
	  "cc=hpccpp bind data>collect" },
	{ "requests of a flow under hpccpp go on",
	  "open 3000*( <echo ) data>collect" },

	/* --- The end of telemetry */
	{ "13 round trips without an echo set the fallback, the next echo hpccpp",
	  "every=0 open known:0 5*( acked data ) 7*( acked data ) cc==hpccpp STOOD_IN==1;"
	  "acked data cc==cubic STOOD_IN==2 feedback.key==0 feedback.gen==0;"
	  "acked requests:0/20 now=now+1000000000 requests:1/20;"
	  "<echo:0 cc==cubic <echo cc==hpccpp CAME_BACK==1;"
	  "feedback.key==KEY feedback.gen==1" },
	{ "16 round trips of echoes without a record set the fallback, the next record hpccpp",
	  "open data <echo 15*( acked data 9*( <echo:0 ) ) <echo 15*( acked data 9*( <echo:0 ) );"
	  "cc==hpccpp acked data <echo:0 cc==cubic STOOD_IN==2;"
	  "now=now+1000000000 data>collect <echo:0 cc==cubic <echo cc==hpccpp CAME_BACK==1" },
	{ "bounds of the load are telemetry",
	  "open <echo 100*( <bound:24 ) cc==hpccpp STOOD_IN==1" },
	{ "a route with congctl hpccpp keeps that without telemetry",
	  "cc_is_locked=1 open <echo 70*( <echo:0 ) cc==hpccpp STOOD_IN==0 ERROR==0;"
	  "feedback.key==KEY" },
	{ "without memory for the state of a flow, each event counts an error",
	  "no_flow_memory=1 listen ERROR==1 connect ERROR==2 syn>none connected< ERROR==3;"
	  "accepted< ERROR==4 bind ERROR==5 calls=1 <collect ERROR==6 ack>none has_flow==0" },
	{ "a connection older than the agent gets state with the first collect",
	  "< <echo has_flow==0 <collect has_flow==1 calls==1 ack>echo" },
};

/* A second connect() leaves nothing of the first peer. */
TEST(connect_again_starts_from_scratch)
{
	struct flow none = { .wanted = 1, .own_flag = 1 };

	script("windows=1 open <echo:abc windows:0x7d055f <collect data");
	assert_int_not_equal(the_flow.feedback.gen, 0);
	script("connect");
	assert_memory_equal(&the_flow, &none, sizeof(none));
	script("windows=0 open word1==WANTED acked " NO_AGENT);
}

/* --- Prefixes -------------------------------------------------------------- */

/*
 * Returns true if the agent requests telemetry from the peer: as a client, for a flow older than
 * the agent, and as a server.
 */
static bool is_wanted(void)
{
	bool wanted;

	has_flow = false;
	script("cc=hpccpp connect");
	wanted = has_flow && the_flow.wanted;
	has_flow = false;
	script("bind has_flow==1");
	assert_int_equal(the_flow.wanted, wanted);
	has_flow = false;
	script("cc=hpccpp accepted< has_flow==1");
	assert_int_equal(the_flow.wanted, wanted);
	return wanted;
}

/* All bits of the peer's address count. */
TEST(prefix_of_one_address)
{
	__u8 other[16];
	__u32 v6, bit;

	for (v6 = 0; v6 < 2; v6++) {
		put_prefix(0, v6 ? addr6 : mapped, 128);
		for (bit = v6 ? 0 : 96; bit <= 128; bit++) {
			memcpy(other, v6 ? addr6 : mapped, 16);
			if (bit < 128)
				other[bit / 8] ^= 0x80 >> bit % 8;
			if (v6)
				set_remote6(other);
			else
				memcpy(&skops.remote_ip4, other + 12, 4);
			assert_int_equal(is_wanted(), bit == 128);
		}
	}
}

TEST(prefixes_of_two_families)
{
	static const __u8 v4_first[16] = { 10, 1, 0, 2 }, v4_last[16] = { [12] = 10, 1, 0, 2 };
	const struct {
		const char *shows;
		const __u8 *prefix, *peer6;	/* peer6: NULL is 10.1.0.2 */
		__u32 len, second, ask;
		bool wanted;
	} rows[] = {
		{ "an IPv6 address that begins like an IPv4 prefix is not listed",
		  mapped, v4_first, 128, 0, HPCCPP_ASK_AUTO, false },
		{ "an IPv6 address that ends like an IPv4 prefix is not listed",
		  mapped, v4_last, 128, 0, HPCCPP_ASK_AUTO, false },
		{ "a mapped address is an IPv4 address",
		  mapped, mapped, 128, 0, HPCCPP_ASK_AUTO, true },
		{ "an IPv6 prefix lists no IPv4 address",
		  addr6, NULL, 1, 0, HPCCPP_ASK_AUTO, false },
		{ "the second of two prefixes lists an IPv4 address",
		  addr6, NULL, 64, 112, HPCCPP_ASK_AUTO, true },
		{ "the first of two prefixes lists an IPv6 address",
		  addr6, addr6, 64, 112, HPCCPP_ASK_AUTO, true },
		{ "ask never overrides the prefixes",
		  addr6, addr6, 64, 112, HPCCPP_ASK_NEVER, false },
		{ "ask always does not override the prefixes",
		  addr6, NULL, 64, 0, HPCCPP_ASK_ALWAYS, false },
	};
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up(state);
		put_prefix(0, rows[i].prefix, rows[i].len);
		if (rows[i].second)
			put_prefix(1, mapped, rows[i].second);
		the_host.ask = rows[i].ask;
		if (rows[i].peer6)
			set_remote6(rows[i].peer6);
		if (is_wanted() != rows[i].wanted)
			fail_msg("not so: %s", rows[i].shows);
	}
}

static void __attribute__((constructor)) add_all_rows(void)
{
	add_rows(request_rows, ARRAY_SIZE(request_rows));
	add_rows(syn_rows, ARRAY_SIZE(syn_rows));
	add_rows(echo_rows, ARRAY_SIZE(echo_rows));
	add_rows(tag_rows, ARRAY_SIZE(tag_rows));
	add_rows(window_rows, ARRAY_SIZE(window_rows));
}

TEST_MAIN("host", set_up, NULL)
