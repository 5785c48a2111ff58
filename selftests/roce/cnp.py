#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sends CNPs for cnp.sh: right ones, and wrong ones that a host must not heed.

cnp.py DEV DST_MAC SRC DST KEY=VALUE... [-- KEY=VALUE...]...

sends them from SRC to DST, out of DEV, one kind after the other:
	qpn=N		destination QP
	orig=ADDRESS	that in the option; without: a receiver's CNP, which has no option
	nodes=SEC,US,DEPTH,TX,SPEED[/...]	with an IOAM trace, the last node first
	ns=N type=N	of the trace: namespace, IOAM-Trace-Type
	n=N		so many of this kind; vary=1: each of another queue pair and source port
	gap=SECONDS	between two
	bad=WHAT	makes one thing wrong: sum, nosum, icrc, opcode, or both: nosum and icrc,
			nosumicrc
	cut=N		sends only so many bytes of the frame
"""
import socket
import struct
import sys
import time
import zlib


def inet6(text):
    return socket.inet_pton(socket.AF_INET6, text)


def frame(dmac, src, dst, qpn, k):
    bad = k.get('bad', '')
    opcode = 0x82 if bad == 'opcode' else 0x81
    bth = struct.pack('>BBHII', opcode, 0, 0xffff, 0x40000000 | qpn, 0)
    length = 8 + len(bth) + 16 + 4
    ports = struct.pack('>HH', 0xc000 | qpn & 0x3fff, 4791)
    masked = struct.pack('>BBHII', opcode, 0, 0xffff, 0xff000000 | qpn, 0)
    covered = (b'\xff' * 8 + struct.pack('>IHBB', 0x6fffffff, length, 17, 255) + src + dst +
               ports + struct.pack('>HH', length, 0xffff) + masked + bytes(16))
    crc = zlib.crc32(covered) ^ ('icrc' in bad)
    body = bth + bytes(16) + struct.pack('<I', crc)
    udp = ports + struct.pack('>HH', length, 0) + body
    total = sum(struct.unpack('>%dH' % (len(udp) // 2),  udp)) + sum(struct.unpack('>16H', src + dst)) + length + 17
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    total = (total ^ 0xffff or 0xffff) ^ (bad == 'sum')
    if 'nosum' not in bad:
        udp = udp[:6] + struct.pack('>H', total) + udp[8:]
    ext, following = b'', 17
    if 'orig' in k:
        orig, following = inet6(k['orig']), 60
        if 'nodes' in k:
            data = b''
            for i, node in enumerate(k['nodes'].split('/')):
                sec, us, depth, tx, speed = map(int, node.split(','))
                data += struct.pack('>IIIIIII', 0x3f000001 + i, 0x00010002, sec, us, depth, tx & 0xffffffff,
                                    speed << 26 | 0x3ffffff)
            data = (struct.pack('>BBHBBI', 0, 0, int(k.get('ns', 0)), 7 << 3, 0,
                                int(k.get('type', '0xf20c0000'), 0)) + data + orig)
            option = b'\1\0' + bytes([0x9d, len(data)]) + data
        else:
            option = b'\1\2\0\0' + b'\x9e\x10' + orig
        option += {0: b'', 4: b'\1\2\0\0'}[-(2 + len(option)) % 8]
        ext = bytes([17, (2 + len(option)) // 8 - 1]) + option
    ip = struct.pack('>IHBB', 6 << 28 | 48 << 22, len(ext + udp), following, 64) + src + dst
    whole = bytes.fromhex(dmac.replace(':', '')) + b'\2\0\0\0\0\1\x86\xdd' + ip + ext + udp
    return whole[:int(k['cut'])] if 'cut' in k else whole


def send(s, dmac, src, dst, keys):
    k = dict(key.split('=', 1) for key in keys)
    qpn, n, gap, sent = int(k['qpn'], 0), int(k.get('n', 1)), float(k.get('gap', 0)), 0
    # more queue pairs than HPCCPP_CNP_FLOWS, so that the agent's table of flows cannot hold them
    frames = [frame(dmac, src, dst, (qpn + i) & 0xffffff, k) for i in range(min(n, 5000) if 'vary' in k else 1)]
    while sent < n:
        try:
            s.send(frames[sent % len(frames)])
            sent += 1
        except OSError:
            time.sleep(0.001)
        if gap:
            time.sleep(gap)


def main(dev, dmac, src, dst, *keys):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((dev, 0))
    kinds = [[]]
    for key in keys:
        if key == '--':
            kinds.append([])
        else:
            kinds[-1].append(key)
    for kind in kinds:
        send(s, dmac, inet6(src), inet6(dst), kind)


main(*sys.argv[1:])
