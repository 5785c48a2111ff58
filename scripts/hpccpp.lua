-- SPDX-License-Identifier: GPL-2.0
--
-- Wireshark's view of HPCC++ telemetry in TCP: names every field of the option that
-- kmod/hpccpp_wire.h defines, in SI units and (.raw) as it is on the wire.
--
--	tshark -X lua_script:hpccpp.lua -r FILE -Y 'hpccpp.u > 1'
--
-- or for good: copy it to ~/.local/lib/wireshark/plugins/. Filters:
--
--	hpccpp.exid		0x4843 collect, 0x4845 echo, 0x4854 tag: an echo with one,
--				or without records what wants one; 0x4857 window
--	hpccpp.records		records in the option, 1 to 3
--	hpccpp.written		those of them that a port has written
--	hpccpp.link		id of the link, 0 to 4095
--	hpccpp.rate		bit/s
--	hpccpp.u		load, 1 is full; 0 to 3.98
--	hpccpp.ts		ns, modulo 2^28
--	hpccpp.tx_bytes		bytes, modulo 2^30
--	hpccpp.qlen		bytes, to 4 MiB
--	hpccpp.tag		keyed tag of an echo
--	hpccpp.window.kind	0 with the path's rate, 1 with U, 2 with N, 3 a request
--	hpccpp.window.serial	of the request, 1 to 3
--	hpccpp.window.w		W in bytes
--	hpccpp.window.n		flows, 0 to 4095
--	hpccpp.window.t		T of a request, us
--	hpccpp.window.w_ai	W_ai of a request, bytes
--	hpccpp.window.stage	max_stage of a request, 0 to 15
--	hpccpp.window.eta	eta of a request, percent; 0: no windows are wanted
--
-- Of these, rate to qlen have a .raw in records. What is wrong with an option is said as
-- expert information: hpccpp.bad_length, bad_offset, bad_rate, bad_order; a note is
-- said of what is at its limit: hpccpp.saturated.
--
-- It looks at the options after TCP's own dissector has: the table of options by kind
-- has one place for all experiments, and the dissector that holds it crashes when Lua
-- calls it.

local kind = 253
local exid_names = {
	[0x4843] = "collect",
	[0x4845] = "echo",
	[0x4854] = "tag",
	[0x4857] = "window",
}
local header, record, records_max = 4, 12, 3
local tag_len, tag_max = 4, 2
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
	qlen_raw = ProtoField.uint16("hpccpp.qlen.raw", "Queue (64 bytes)"),
	qlen = ProtoField.uint32("hpccpp.qlen", "Queue (bytes)"),
	tag = ProtoField.uint32("hpccpp.tag", "Tag", base.HEX),
	window_kind = ProtoField.uint32("hpccpp.window.kind", "Kind of window", base.DEC,
		{ [0] = "with the path's rate", "with U", "with N", "request" }, 0xc0000000),
	window_serial = ProtoField.uint32("hpccpp.window.serial", "Serial", base.DEC, nil,
					  0x30000000),
	window_w = ProtoField.uint64("hpccpp.window.w", "W (bytes)"),
	window_n = ProtoField.uint32("hpccpp.window.n", "N (flows)"),
	window_t = ProtoField.uint64("hpccpp.window.t", "T (us)"),
	window_w_ai = ProtoField.uint64("hpccpp.window.w_ai", "W_ai (bytes)"),
	window_stage = ProtoField.uint32("hpccpp.window.stage", "max_stage", base.DEC, nil, 0xf00),
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

-- True when the record has been written.
local function dissect_record(bytes, tree, after_empty)
	local w0, ts, tx, q = bytes(0, 4), bytes(4, 3), bytes(8, 3), bytes(7, 5)
	local rate = rate_decode(w0:bitfield(12, 12))
	local u = w0:bitfield(24, 8)
	local qlen = q(0, 1):uint() * 256 + q(4, 1):uint()
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
	tree:add(f.qlen_raw, q, qlen)
	item = tree:add(f.qlen, q, qlen * 64):set_generated()
	if qlen == 0xffff then
		item:add_proto_expert_info(x.saturated)
	end
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
	local what, number = w0:bitfield(0, 2), number_decode(w0:bitfield(4, 16))

	tree:add(f.window_kind, w0)
	tree:add(f.window_serial, w0)
	if what == request then
		local w = number_decode(bytes(4, 2):uint())

		tree:add(f.window_t, w0, number):set_generated()
		tree:add(f.window_stage, w0)
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
	local n = (claims - header - tag) / record
	local n_min, n_max = 1, records_max
	local ours, written, empty, item = true, 0

	if name == "tag" then
		n_min, n_max = 0, tag_max
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
