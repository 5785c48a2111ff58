-- SPDX-License-Identifier: GPL-2.0
--
-- Wireshark's view of HPCC++ telemetry in TCP: names every field of the option that
-- tools/bpf/hpccpp_wire.h defines, in SI units and (.raw) as it is on the wire.
--
--	tshark -X lua_script:hpccpp.lua -r FILE -Y 'hpccpp.u > 1'
--
-- or for good: copy it to ~/.local/lib/wireshark/plugins/. Filters:
--
--	hpccpp.exid		0x4843 collect; 0x4842 burst: a collect where TCP sets PSH;
--				0x4845 echo; 0x4854 tag: an echo with one, or without
--				records what wants one; 0x4857 window
--	hpccpp.records		records in the option, 1 to 3
--	hpccpp.written		those of them that a port has written
--	hpccpp.link		id of the link, 1 to 4095; of a host's from 2048 on
--	hpccpp.rate		bit/s
--	hpccpp.u		load, 1 is full; 0 to 3.98
--	hpccpp.ts		ns, modulo 2^28
--	hpccpp.tx_bytes		bytes, modulo 2^30
--	hpccpp.qlen		bytes, to 127 MiB
--	hpccpp.n		flows that share the port, 0: not told; to 49152; in a SYN those
--				that begin at the same time, 0: no other flow begins
--	hpccpp.tag		keyed tag of an echo
--	hpccpp.found.rate	and u, qlen, n: of the SYN's record, in a SYN-ACK
--	hpccpp.window.kind	0 with the path's rate, 1 with U, 2 with N, 3 a request
--	hpccpp.window.serial	of the request, 1 to 3
--	hpccpp.window.w		W in bytes
--	hpccpp.window.n		flows, 0 to 4095
--	hpccpp.window.t		T of a request, us
--	hpccpp.window.w_ai	W_ai of a request, bytes
--	hpccpp.window.law	net.hpccpp.law of a request, 0 is averaged, 1 is draft
--	hpccpp.window.eta	eta of a request, percent; 0: no windows are wanted
--
-- Of these, rate to n have a .raw in records. What is wrong with an option is said as
-- expert information: hpccpp.bad_length, bad_offset, bad_rate, bad_order; a note is
-- said of what is at its limit: hpccpp.saturated.
--
-- And INT responses, in UDP to port 18512:
--
--	hpccpp.response.id	0x4852 to the sender, 0x4844 to the receiver
--	hpccpp.response.sport	and dport, seq: TCP's, of the segment that caused it
--	hpccpp.response.peer	and peer6: the segment's address that it is not sent to
--
-- with hpccpp.link to hpccpp.n and the expert information of a record.
--
-- And the destination option of Fast CNPs for RoCEv2 (tools/roce/hpccpp_roce.h), whose types
-- are preferences, with the IOAM trace in it, if there is one:
--
--	fastcnp.daddr		where the data packet went that is answered
--	fastcnp.trace.ns	and nodelen, overflow, loopback, active, remlen, type
--	fastcnp.node		of each node, the last first, what the trace's type has of:
--				hlim, id, iif, eif, sec, usec, transit, nsdata, queue,
--				checksum, hlim_wide, id_wide, iif_wide, eif_wide,
--				nsdata_wide, buffer, tx_bytes, speed (bit/s; .raw), errors,
--				undefined; opaque.length, opaque.schema, opaque.data
--
-- What is wrong: fastcnp.bad_length, fastcnp.bad_trace.
--
-- It looks at the options after TCP's own dissector has: the table of options by kind
-- has one place for all experiments, and the dissector that holds it crashes when Lua
-- calls it.

local kind = 253
local exid_names = {
	[0x4843] = "collect",
	[0x4842] = "burst",
	[0x4845] = "echo",
	[0x4854] = "tag",
	[0x4857] = "window",
}
local header, record, records_max = 4, 12, 3
local tag_len, tag_max = 4, 2
local found_len = 4
local window_length, request_length, request = 8, 12, 3
local rate_min, rate_max = UInt64(10000), UInt64(4000000) * 1000000

local hpccpp = Proto("hpccpp", "HPCC++ in-band telemetry")

local f = {
	kind = ProtoField.uint8("hpccpp.kind", "Kind"),
	length = ProtoField.uint8("hpccpp.length", "Length"),
	exid = ProtoField.uint16("hpccpp.exid", "ExID", base.HEX, exid_names),
	records = ProtoField.uint8("hpccpp.records", "Records"),
	written = ProtoField.uint8("hpccpp.written", "Written records"),
	data = ProtoField.bytes("hpccpp.data", "Data"),
	record = ProtoField.bytes("hpccpp.record", "Record"),
	link = ProtoField.uint32("hpccpp.link", "Link", base.DEC, nil, 0xfff00000),
	rate_raw = ProtoField.uint32("hpccpp.rate.raw", "Rate code", base.HEX, nil, 0x000fff00),
	rate = ProtoField.uint64("hpccpp.rate", "Rate (bit/s)"),
	u_raw = ProtoField.uint32("hpccpp.u.raw", "U (1/64)", base.DEC, nil, 0x000000ff),
	u = ProtoField.double("hpccpp.u", "U"),
	ts_raw = ProtoField.uint24("hpccpp.ts.raw", "Timestamp (16 ns)", base.DEC),
	ts = ProtoField.uint32("hpccpp.ts", "Timestamp (ns)"),
	tx_bytes_raw = ProtoField.uint24("hpccpp.tx_bytes.raw", "Sent (64 bytes)", base.DEC),
	tx_bytes = ProtoField.uint32("hpccpp.tx_bytes", "Sent (bytes)"),
	qlen_raw = ProtoField.uint16("hpccpp.qlen.raw", "Queue code", base.HEX),
	qlen = ProtoField.uint32("hpccpp.qlen", "Queue (bytes)"),
	n_raw = ProtoField.uint8("hpccpp.n.raw", "N code", base.DEC, nil, 0x3f),
	n = ProtoField.double("hpccpp.n", "N (flows)"),
	tag = ProtoField.uint32("hpccpp.tag", "Tag", base.HEX),
	found_rate = ProtoField.uint64("hpccpp.found.rate", "Rate that the SYN found (bit/s)"),
	found_u = ProtoField.double("hpccpp.found.u", "U that the SYN found"),
	found_qlen = ProtoField.uint32("hpccpp.found.qlen", "Queue that the SYN found (bytes)"),
	found_n = ProtoField.double("hpccpp.found.n", "New flows at the SYN, approximately"),
	window_kind = ProtoField.uint32("hpccpp.window.kind", "Kind of window", base.DEC,
		{ [0] = "with the path's rate", "with U", "with N", "request" }, 0xc0000000),
	window_serial = ProtoField.uint32("hpccpp.window.serial", "Serial", base.DEC, nil,
					  0x30000000),
	window_w = ProtoField.uint64("hpccpp.window.w", "W (bytes)"),
	window_n = ProtoField.uint32("hpccpp.window.n", "N (flows)"),
	window_t = ProtoField.uint64("hpccpp.window.t", "T (us)"),
	window_w_ai = ProtoField.uint64("hpccpp.window.w_ai", "W_ai (bytes)"),
	window_law = ProtoField.uint32("hpccpp.window.law", "Law", base.DEC,
		{ [0] = "averaged", "draft" }, 0xf00),
	window_eta = ProtoField.uint32("hpccpp.window.eta", "eta (percent)", base.DEC, nil, 0xff),
}
hpccpp.fields = f

local function expert_info(name, text, severity, group)
	return ProtoExpert.new("hpccpp." .. name, text, group or expert.group.MALFORMED,
			       severity or expert.severity.ERROR)
end

local x = {
	bad_length = expert_info("bad_length", "Length is none that there is"),
	bad_offset = expert_info("bad_offset", "Not at a multiple of 4 bytes"),
	bad_rate = expert_info("bad_rate", "Rate is not within 10 kbit/s and 4 Tbit/s",
			       expert.severity.WARN, expert.group.PROTOCOL),
	bad_order = expert_info("bad_order", "Written record after an empty one",
				expert.severity.WARN, expert.group.PROTOCOL),
	saturated = expert_info("saturated", "As large as the field can say",
				expert.severity.NOTE, expert.group.SEQUENCE),
}
hpccpp.experts = x

local tcp_options = Field.new("tcp.options")

-- An exponent of ten and a mantissa; 64 bits, as a double is too short for it.
local function rate_decode(code)
	local bps = UInt64(code % 256)
	for _ = 1, math.floor(code / 256) do
		bps = bps * 10
	end
	return bps
end

local function rate_text(bps)
	local value, unit = bps:tonumber(), 1
	local units = { "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s" }
	while value >= 1000 and unit < #units do
		value, unit = value / 1000, unit + 1
	end
	return string.format("%g %s", value, units[unit])
end

-- An exponent of two and six bits of mantissa, of which the first is not there.
local function qlen_decode(code)
	local e, m = math.floor(code / 64), code % 64
	return e == 0 and m or math.floor((64 + m) * 2 ^ (e - 1))
end

-- Quarters of an octave
local function n_decode(code)
	local n = code - 1
	return code == 0 and 0 or (4 + n % 4) * 2 ^ math.floor(n / 4) / 4
end

-- True when the record has been written.
local function dissect_record(bytes, tree, after_empty)
	local w0, ts, tx, q = bytes(0, 4), bytes(4, 3), bytes(8, 3), bytes(7, 5)
	local rate = rate_decode(w0:bitfield(12, 12))
	local u = w0:bitfield(24, 8)
	local code = q(0, 1):uint() * 4 + q(4, 1):bitfield(0, 2)
	local qlen, n = qlen_decode(code), n_decode(q(4, 1):bitfield(2, 6))
	local item

	tree:add(f.link, w0)
	tree:add(f.rate_raw, w0)
	item = tree:add(f.rate, w0, rate):set_generated()
	item:append_text(" (" .. rate_text(rate) .. ")")
	if rate == UInt64(0) then
		tree:append_text(": empty")
		if w0:bitfield(0, 12) == 1 then
			tree:append_text(", wanted")
		elseif u > 0 then
			tree:add(f.u_raw, w0)
			tree:add(f.u, w0(3, 1), u / 64):set_generated()
			tree:append_text(string.format(", no U of %.3f", u / 64))
		end
		return false
	end
	if after_empty then
		tree:add_proto_expert_info(x.bad_order)
	end
	if rate < rate_min or rate > rate_max then
		item:add_proto_expert_info(x.bad_rate)
	end
	tree:add(f.u_raw, w0)
	item = tree:add(f.u, w0(3, 1), u / 64):set_generated()
	if u == 0xff then
		item:add_proto_expert_info(x.saturated)
	end
	tree:add(f.ts_raw, ts)
	tree:add(f.ts, ts, ts:uint() * 16):set_generated()
	tree:add(f.tx_bytes_raw, tx)
	tree:add(f.tx_bytes, tx, tx:uint() * 64):set_generated()
	tree:add(f.qlen_raw, q, code)
	item = tree:add(f.qlen, q, qlen * 64):set_generated()
	if code == 0x3ff then
		item:add_proto_expert_info(x.saturated)
	end
	tree:add(f.n_raw, q(4, 1))
	tree:add(f.n, q(4, 1), n):set_generated()
	tree:append_text(string.format(": link %d, %s, U %.3f, queue %d bytes",
				       w0:bitfield(0, 12), rate_text(rate), u / 64, qlen * 64))
	return true
end

-- Bytes or us: an exponent of two in 5 bits, a mantissa in 11.
local function number_decode(code)
	return UInt64(code % 2048):lshift(math.floor(code / 2048))
end

local function dissect_window(bytes, tree)
	local w0, value = bytes(0, 4), bytes(0, 4):bitfield(20, 12)
	local what = w0:bitfield(0, 2)
	-- a request's T has a bit less
	local number = number_decode(what == request and w0:bitfield(5, 15) or w0:bitfield(4, 16))

	tree:add(f.window_kind, w0)
	tree:add(f.window_serial, w0)
	if what == request then
		local w = number_decode(bytes(4, 2):uint())

		tree:add(f.window_t, w0, number):set_generated()
		tree:add(f.window_law, w0)
		tree:add(f.window_eta, w0)
		tree:add(f.window_w, bytes(4, 2), w):set_generated()
		tree:add(f.window_w_ai, bytes(6, 2),
			 number_decode(bytes(6, 2):uint())):set_generated()
		if w0:bitfield(24, 8) == 0 then
			tree:append_text(": request for none")
		else
			tree:append_text(string.format(": request, T %s us, W %s bytes", number, w))
		end
		return
	end
	tree:add(f.window_w, w0, number):set_generated()
	tree:append_text(string.format(": %s bytes", number))
	if what == 0 then
		tree:add(f.rate, w0, rate_decode(value)):set_generated()
	elseif what == 1 then
		tree:add(f.u, w0, value / 256):set_generated()
	else
		tree:add(f.window_n, w0, value):set_generated()
	end
end

-- One option of ours, "at" so many bytes from where options start; claims is the
-- length that it says it has.
local function dissect_option(tvb, tree, at, claims)
	local name = exid_names[tvb(2, 2):uint()]
	local tag = name == "tag" and claims > header and tag_len or 0
	local found = name == "collect" and claims == header + record + found_len and found_len or 0
	local n = (claims - header - tag - found) / record
	local n_min, n_max = 1, records_max
	local ours, written, empty, item = true, 0

	if name == "tag" then
		n_min, n_max = 0, tag_max
	elseif name == "collect" then
		n_min = 0	-- of a SYN with a cookie of Fast Open
	end

	tree = tree:add(hpccpp, tvb(), "HPCC++ telemetry: " .. name)
	tree:add(f.kind, tvb(0, 1))
	item = tree:add(f.length, tvb(1, 1))
	if name == "window" then
		local is_request = tvb:len() > header and tvb(header, 1):bitfield(0, 2) == request

		n = claims == (is_request and request_length or window_length) and 1 or -1
	end
	if claims > tvb:len() or n < n_min or n > n_max or n ~= math.floor(n) or
	   (n == 0 and tag > 0) then
		item:add_proto_expert_info(x.bad_length)
		ours = false
	end
	tree:add(f.exid, tvb(2, 2))
	if at % 4 ~= 0 then
		tree:add_proto_expert_info(x.bad_offset)
		ours = false
	end
	if not ours then
		if tvb:len() > header then
			tree:add(f.data, tvb(header))
		end
		return
	end

	if name == "window" then
		dissect_window(tvb(header), tree)
		return
	end
	tree:add(f.records, tvb(1, 1), n):set_generated()
	for i = 0, n - 1 do
		local bytes = tvb(header + i * record, record)

		item = tree:add(f.record, bytes):set_text("Record " .. i + 1)
		if dissect_record(bytes, item, empty) then
			written = written + 1
		else
			empty = true
		end
	end
	if n > 0 then
		tree:add(f.written, tvb(header), written):set_generated()
	end
	if tag > 0 then
		tree:add(f.tag, tvb(header + n * record, tag))
	end
	if found > 0 then
		local word = tvb(header + n * record, found)

		tree:add(f.found_rate, word, rate_decode(word:bitfield(12, 12)))
		tree:add(f.found_u, word, word:bitfield(24, 8) / 64)
		local n, qlen = word:bitfield(0, 5), word:bitfield(5, 7)

		tree:add(f.found_qlen, word, qlen > 0 and qlen_decode(qlen * 8 + (qlen < 127 and 4 or 7)) * 64 or 0)
		if n > 0 then
			tree:add(f.found_n, word, n_decode(2 * n - 1))
		end
	end
end

function hpccpp.dissector(_, _, tree)
	-- more than one in tunnels, and in errors of ICMP
	for _, options in ipairs({ tcp_options() }) do
		local range, at = options.range, 0
		local len = range:len()

		while at < len and range(at, 1):uint() ~= 0 do
			local this, claims = range(at, 1):uint(), 1

			if this ~= 1 then
				claims = at + 1 < len and range(at + 1, 1):uint() or 0
				if claims < 2 then
					break
				end
			end
			if this == kind and claims >= header and at + header <= len and
			   exid_names[range(at + 2, 2):uint()] then
				dissect_option(range(at, math.min(claims, len - at)):tvb(),
					       tree, at, claims)
			end
			at = at + claims
		end
	end
end

register_postdissector(hpccpp)

-- --- INT responses --------------------------------------------------------------------

local response = Proto("hpccpp_response", "HPCC++ INT response")
local response_port, response_len, ids = 18512, 24, {
	[0x4852] = "to the sender",
	[0x4844] = "to the receiver",
}

local r = {
	id = ProtoField.uint16("hpccpp.response.id", "ID", base.HEX, ids),
	sport = ProtoField.uint16("hpccpp.response.sport", "Source port of the segment"),
	seq = ProtoField.uint32("hpccpp.response.seq", "Sequence number of the segment"),
	sum = ProtoField.uint16("hpccpp.response.sum", "Sum of the pseudo-header", base.HEX),
	dport = ProtoField.uint16("hpccpp.response.dport", "Destination port of the segment"),
	peer = ProtoField.ipv4("hpccpp.response.peer", "Other end of the connection"),
	peer6 = ProtoField.ipv6("hpccpp.response.peer6", "Other end of the connection"),
}
response.fields = r

function response.dissector(tvb, pinfo, tree)
	local len = tvb:reported_len()
	local to = tvb:len() >= 2 and ids[tvb(0, 2):uint()]

	-- others may use the port
	if not to or tvb:len() < len or (len ~= response_len + 4 and len ~= response_len + 16) then
		return 0
	end
	pinfo.cols.protocol = "HPCC++"
	pinfo.cols.info = "INT response " .. to
	tree = tree:add(response, tvb())
	tree:append_text(", " .. to)
	tree:add(r.id, tvb(0, 2))
	tree:add(r.sport, tvb(2, 2))
	tree:add(r.seq, tvb(4, 4))
	tree:add(r.sum, tvb(8, 2))
	tree:add(r.dport, tvb(10, 2))
	dissect_record(tvb(12, record), tree:add(f.record, tvb(12, record)):set_text("Record"))
	tree:add(len == response_len + 4 and r.peer or r.peer6, tvb(response_len))
	return len
end

DissectorTable.get("udp.port"):add(response_port, response)

-- --- Fast CNP -----------------------------------------------------------------------

local fastcnp = Proto("fastcnp", "Fast CNP")
fastcnp.prefs.type1 = Pref.uint("Option type without trace", 0x9e)
fastcnp.prefs.type2 = Pref.uint("Option type with trace", 0x9d)

local trace_header, address_len = 8, 16

local c = {
	type = ProtoField.uint8("fastcnp.type", "Type", base.HEX),
	length = ProtoField.uint8("fastcnp.length", "Length"),
	reserved = ProtoField.uint8("fastcnp.reserved", "Reserved", base.HEX),
	ioam_type = ProtoField.uint8("fastcnp.ioam_type", "IOAM option type", base.DEC,
				     { [0] = "pre-allocated trace" }),
	ns = ProtoField.uint16("fastcnp.trace.ns", "Namespace"),
	nodelen = ProtoField.uint8("fastcnp.trace.nodelen", "Length of a node (words)", base.DEC, nil, 0xf8),
	overflow = ProtoField.bool("fastcnp.trace.overflow", "Overflow", 8, nil, 0x04),
	loopback = ProtoField.bool("fastcnp.trace.loopback", "Loopback", 8, nil, 0x02),
	active = ProtoField.bool("fastcnp.trace.active", "Active", 8, nil, 0x01),
	remlen = ProtoField.uint8("fastcnp.trace.remlen", "Remaining length (words)", base.DEC, nil, 0x7f),
	trace_type = ProtoField.uint24("fastcnp.trace.type", "Trace type", base.HEX),
	trace_reserved = ProtoField.uint8("fastcnp.trace.reserved", "Reserved", base.HEX),
	free = ProtoField.bytes("fastcnp.trace.free", "Free space"),
	node = ProtoField.bytes("fastcnp.node", "Node"),
	hlim = ProtoField.uint8("fastcnp.node.hlim", "Hop limit"),
	id = ProtoField.uint24("fastcnp.node.id", "Node id"),
	iif = ProtoField.uint16("fastcnp.node.iif", "Ingress interface"),
	eif = ProtoField.uint16("fastcnp.node.eif", "Egress interface"),
	sec = ProtoField.uint32("fastcnp.node.sec", "Time (s)"),
	usec = ProtoField.uint32("fastcnp.node.usec", "Time (us)"),
	transit = ProtoField.uint32("fastcnp.node.transit", "Transit delay"),
	nsdata = ProtoField.uint32("fastcnp.node.nsdata", "Of the namespace", base.HEX),
	queue = ProtoField.uint32("fastcnp.node.queue", "Queue (bytes)"),
	checksum = ProtoField.uint32("fastcnp.node.checksum", "Checksum complement", base.HEX),
	hlim_wide = ProtoField.uint8("fastcnp.node.hlim_wide", "Hop limit (wide)"),
	id_wide = ProtoField.uint64("fastcnp.node.id_wide", "Node id (wide)"),
	iif_wide = ProtoField.uint32("fastcnp.node.iif_wide", "Ingress interface (wide)"),
	eif_wide = ProtoField.uint32("fastcnp.node.eif_wide", "Egress interface (wide)"),
	nsdata_wide = ProtoField.uint64("fastcnp.node.nsdata_wide", "Of the namespace (wide)", base.HEX),
	buffer = ProtoField.uint32("fastcnp.node.buffer", "Buffer occupancy"),
	tx_bytes = ProtoField.uint32("fastcnp.node.tx_bytes", "Sent (bytes)"),
	speed_raw = ProtoField.uint32("fastcnp.node.speed.raw", "Speed code", base.DEC, nil, 0xfc000000),
	speed = ProtoField.uint64("fastcnp.node.speed", "Speed (bit/s)"),
	errors = ProtoField.uint32("fastcnp.node.errors", "Errors", base.DEC, nil, 0x03ffffff),
	undefined = ProtoField.uint32("fastcnp.node.undefined", "Undefined", base.HEX),
	opaque_length = ProtoField.uint8("fastcnp.node.opaque.length", "Opaque snapshot (words)"),
	opaque_schema = ProtoField.uint24("fastcnp.node.opaque.schema", "Schema", base.HEX),
	opaque_data = ProtoField.bytes("fastcnp.node.opaque.data", "Opaque data"),
	daddr = ProtoField.ipv6("fastcnp.daddr", "Original destination"),
}
fastcnp.fields = c

local cx = {
	bad_length = ProtoExpert.new("fastcnp.bad_length", "Length is none that the option can have",
				     expert.group.MALFORMED, expert.severity.ERROR),
	bad_trace = ProtoExpert.new("fastcnp.bad_trace", "Lengths in the trace do not agree",
				    expert.group.MALFORMED, expert.severity.ERROR),
}
fastcnp.experts = cx

local ipv6_option = Field.new("ipv6.opt.type")

-- What a node says for each bit of the trace's type from 0 on: words, and fields of
-- these by offset and length in bytes.
local node_bits = {
	{ 1, { c.hlim, 0, 1 }, { c.id, 1, 3 } },
	{ 1, { c.iif, 0, 2 }, { c.eif, 2, 2 } },
	{ 1, { c.sec, 0, 4 } },
	{ 1, { c.usec, 0, 4 } },
	{ 1, { c.transit, 0, 4 } },
	{ 1, { c.nsdata, 0, 4 } },
	{ 1, { c.queue, 0, 4 } },
	{ 1, { c.checksum, 0, 4 } },
	{ 2, { c.hlim_wide, 0, 1 }, { c.id_wide, 1, 7 } },
	{ 2, { c.iif_wide, 0, 4 }, { c.eif_wide, 4, 4 } },
	{ 2, { c.nsdata_wide, 0, 8 } },
	{ 1, { c.buffer, 0, 4 } },
	{ 1, { c.tx_bytes, 0, 4 } },
	{ 1, { c.speed_raw, 0, 4 }, { c.errors, 0, 4 } },
}
local undefined = { 1, { c.undefined, 0, 4 } }
local bits, opaque_bit = 22, 22
local mantissa, unknown = { 10, 16, 20, 25, 40, 50, 80 }, 63	-- of speed, kbit/s

local function has_bit(trace_type, bit)
	return math.floor(trace_type / 2 ^ (23 - bit)) % 2 == 1
end

-- One node from the beginning of bytes; how many of these it has, nil when they end before.
local function dissect_node(bytes, tree, trace_type)
	local at, item, code = 0

	for bit = 0, bits - 1 do
		local what = node_bits[bit + 1] or undefined

		if has_bit(trace_type, bit) then
			for i = 2, #what do
				tree:add(what[i][1], bytes(at + what[i][2], what[i][3]))
			end
			if what[2][1] == c.speed_raw then
				code = bytes(at, 4):bitfield(0, 6)
				item = tree:add(c.speed, bytes(at, 1), code == unknown and UInt64(0) or
						rate_decode(math.floor(code / 7) * 256 +
							    mantissa[code % 7 + 1]) * 1000)
				item:append_text(code == unknown and " unknown" or "")
			end
			at = at + what[1] * 4
		end
	end
	if has_bit(trace_type, opaque_bit) then
		if at + 4 > bytes:len() then
			return nil
		end
		local words = bytes(at, 1):uint()

		tree:add(c.opaque_length, bytes(at, 1))
		tree:add(c.opaque_schema, bytes(at + 1, 3))
		if at + 4 + words * 4 > bytes:len() then
			return nil
		end
		if words > 0 then
			tree:add(c.opaque_data, bytes(at + 4, words * 4))
		end
		at = at + 4 + words * 4
	end
	return at
end

local function dissect_trace(bytes, tree)
	local trace_type, nodelen = bytes(4, 3):uint(), bytes(2, 1):bitfield(0, 5)
	local free = bytes(3, 1):bitfield(1, 7) * 4
	local at, want, n, node = trace_header + free, 0, 0

	tree:add(c.ns, bytes(0, 2))
	for _, field in ipairs({ c.nodelen, c.overflow, c.loopback, c.active }) do
		tree:add(field, bytes(2, 1))
	end
	tree:add(c.remlen, bytes(3, 1))
	tree:add(c.trace_type, bytes(4, 3))
	tree:add(c.trace_reserved, bytes(7, 1))
	for bit = 0, bits - 1 do
		if has_bit(trace_type, bit) then
			want = want + (node_bits[bit + 1] or undefined)[1]
		end
	end
	if want ~= nodelen or nodelen == 0 or at > bytes:len() then
		tree:add_proto_expert_info(cx.bad_trace)
		return
	end
	if free > 0 then
		tree:add(c.free, bytes(trace_header, free))
	end
	while at < bytes:len() do
		if at + nodelen * 4 > bytes:len() then
			tree:add_proto_expert_info(cx.bad_trace)
			return
		end
		n = n + 1
		node = tree:add(c.node, bytes(at, nodelen * 4)):set_text("Node " .. n .. ", from the last")
		local len = dissect_node(bytes(at), node, trace_type)
		if not len then
			node:add_proto_expert_info(cx.bad_trace)
			return
		end
		at = at + len
	end
end

function fastcnp.dissector(tvb, _, tree)
	-- more than one in tunnels, and in errors of ICMP
	for _, option in ipairs({ ipv6_option() }) do
		local at, this = option.offset, option.value
		local trace = this == fastcnp.prefs.type2

		if (this == fastcnp.prefs.type1 or trace) and at + 2 <= tvb:len() then
			local len = tvb(at + 1, 1):uint()
			local there = math.min(2 + len, tvb:len() - at)
			local bytes = tvb(at, there)
			local item = tree:add(fastcnp, bytes)
			local data = len - 2 - trace_header - address_len

			item:add(c.type, bytes(0, 1))
			item:add(c.length, bytes(1, 1))
			if there < 2 + len or (trace and (data < 0 or data % 4 ~= 0)) or
			   (not trace and len ~= address_len) then
				item:add_proto_expert_info(cx.bad_length)
			else
				if trace then
					item:add(c.reserved, bytes(2, 1))
					item:add(c.ioam_type, bytes(3, 1))
					dissect_trace(bytes(4, trace_header + data), item)
				end
				item:add(c.daddr, bytes(2 + len - address_len, address_len))
			end
		end
	end
end

register_postdissector(fastcnp)
