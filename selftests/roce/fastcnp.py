#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Makes RoCEv2 packets for fastcnp.sh with scapy, and reads captured packets byte by byte.

send DEV SRC_MAC DST_MAC SRC DST KEY=VALUE... [-- KEY=VALUE...]...
	sends one packet for each group; keys: see packet()
read FILE...
	writes a line of JSON into FILE for each IPv6 packet in FILE.pcap; computes
	the ICRC with zlib, independently of the agent
serve FIFO FIFO
	reads these commands from the first FIFO, a line each of NETNS, or -, and words as
	for a shell; writes their exit statuses to the second. It saves the seconds that
	scapy takes to begin in an emulated machine
"""
import ctypes
import json
import os
import shlex
import socket
import struct
import sys
import time
import traceback
import zlib

from scapy.layers.inet import UDP
from scapy.layers.inet6 import (HBHOptUnknown, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment,
                                IPv6ExtHdrHopByHop, IPv6ExtHdrSegmentRouting)
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import RawPcapReader

PORT = 4791


def icrc(src, dst, udp_to_end):
    """Of a packet without extension headers; udp_to_end is all behind the IPv6 header but the ICRC."""
    covered = bytearray(b'\xff' * 8 + struct.pack('>IHBB', 0x6fffffff, len(udp_to_end) + 4, 17, 255) +
                        src + dst + udp_to_end)
    at = 8 + 40
    covered[at + 6:at + 8] = b'\xff\xff'            # UDP's checksum
    covered[at + 8 + 4] = 0xff                      # resv8a
    return struct.pack('<I', zlib.crc32(bytes(covered)))


def udp_sum(src, dst, data):
    """The checksum of UDP: 0 if the one in data is right"""
    data = src + dst + struct.pack('>II', len(data), 17) + data + b'\0' * (len(data) % 2)
    total = sum(struct.unpack('>%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def trace(namespace, kind, nodes, filled=0, room=None, nodelen=None):
    """The data of a pre-allocated trace option of IOAM: room for "nodes", "filled" of them written (0xa5)"""
    bits = kind >> 8
    length = sum(1 + (i in (8, 9, 10)) for i in range(22) if bits >> (23 - i) & 1)
    words = (length + (bits >> 1 & 1)) * nodes if room is None else room
    used = length * filled
    return (b'\0\0' + struct.pack('>HBBI', namespace, (nodelen or length) << 3, words - used, kind) +
            b'\0' * 4 * (words - used) + b'\xa5' * 4 * used)


def packet(base, **k):
    """Keys: n (how many packets), gap (s, after each), qpn, op (opcode), psn (32 bits, AckReq is the
    highest), sport, dport, len (payload), tc, hlim, src, dst, sum (1: a UDP checksum,
    half: of the pseudo-header only, as for a device that finishes it), vlan, qinq, cut (bytes of the
    frame that are kept), hdr: names joined by +: hbh, trace, dst, rh4, ah, frag0, frag1, fcnp1,
    fcnp2, pads; of trace: ns, type, nodes, filled, room, nodelen, over (more in the option's
    length than there is), with (hexadecimal options in place of the padding behind it)"""
    src, dst = k.get('src', base[2]), k.get('dst', base[3])
    payload = bytes(int(k.get('len', 256)))
    bth = struct.pack('>BBHII', int(k.get('op', 4), 0) if isinstance(k.get('op'), str) else 4,
                      0, 0xffff, int(k.get('qpn', '0x11'), 0), int(k.get('psn', '1'), 0))
    udp = struct.pack('>HHHH', int(k.get('sport', 0xc011)), int(k.get('dport', PORT)),
                      8 + len(bth) + len(payload) + 4, 0) + bth + payload
    raw_src, raw_dst = socket.inet_pton(socket.AF_INET6, src), socket.inet_pton(socket.AF_INET6, dst)
    udp += icrc(raw_src, raw_dst, udp)
    if k.get('sum'):
        check = udp_sum(raw_src, raw_dst, udp)
        if k['sum'] == 'half':
            check = udp_sum(raw_src, raw_dst, b'') ^ 0xffff
            check += len(udp)
            check = (check & 0xffff) + (check >> 16)
        udp = udp[:6] + struct.pack('>H', check) + udp[8:]
    headers = []
    ip_dst = dst
    for name in filter(None, k.get('hdr', '').split('+')):
        if name == 'hbh':
            headers.append(IPv6ExtHdrHopByHop(options=[HBHOptUnknown(otype=0x1e, optdata=b'four')]))
        elif name == 'trace':
            data = trace(int(k.get('ns', 123)), int(k.get('type', '0xf20c0000'), 0), int(k.get('nodes', 3)),
                         int(k.get('filled', 0)), int(k['room']) if 'room' in k else None,
                         int(k.get('nodelen', 0)))
            raw = b'\x01\x00\x31' + bytes([len(data) + int(k.get('over', 0))]) + data
            raw += bytes.fromhex(k.get('with', ''))
            pad = -(2 + len(raw)) % 8
            raw += {0: b'', 4: b'\1\2\0\0'}[pad]
            headers.append(('raw', 0, bytes([(2 + len(raw)) // 8 - 1]) + raw))
        elif name == 'dst':
            headers.append(IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x1e, optdata=b'four')]))
        elif name == 'rh4':
            headers.append(IPv6ExtHdrSegmentRouting(addresses=[dst, k['via']], segleft=1, lastentry=1))
            ip_dst = k['via']
        elif name == 'ah':
            headers.append(('raw', 51, b'\4' + b'\0' * 22))
        elif name == 'frag0':
            headers.append(IPv6ExtHdrFragment(m=1, id=7))
        elif name == 'frag1':
            headers.append(IPv6ExtHdrFragment(offset=64, id=7))
        elif name == 'fcnp1':
            headers.append(('raw', 60, b'\2' + b'\1\2\0\0' + bytes([int(k.get('t', '0x9e'), 0), 16]) + raw_dst))
        elif name == 'fcnp2':
            data = trace(123, 0xf20c0000, 1, 1, nodelen=int(k.get('nodelen', 0)))
            raw = b'\1\0' + bytes([int(k.get('t', '0x9d'), 0), len(data) + 16]) + data + raw_dst
            pad = -(2 + len(raw)) % 8
            raw += {0: b'', 4: b'\1\2\0\0'}[pad]
            headers.append(('raw', 60, bytes([(2 + len(raw)) // 8 - 1]) + raw))
        elif name == 'pads':
            headers.append(('raw', 60, b'\x0f' + b'\0' * 126))
    # set the next header by hand: scapy does not know the type of raw bytes
    numbers = {IPv6ExtHdrHopByHop: 0, IPv6ExtHdrDestOpt: 60, IPv6ExtHdrSegmentRouting: 43,
               IPv6ExtHdrFragment: 44}
    chain = [h[1] if isinstance(h, tuple) else numbers[type(h)] for h in headers] + [17]
    body = b''
    for i, header in enumerate(headers):
        raw = b'\0' + header[2] if isinstance(header, tuple) else bytes(header)
        body += bytes([chain[i + 1]]) + raw[1:]
    ip = bytes(IPv6(src=src, dst=ip_dst, nh=chain[0], tc=int(k.get('tc', 2)), hlim=int(k.get('hlim', 64)),
                    fl=5, plen=len(body + udp)))
    frame = Ether(src=base[0], dst=base[1])
    if 'qinq' in k:
        frame /= Dot1AD(vlan=int(k['qinq']))
    if 'vlan' in k:
        frame /= Dot1Q(vlan=int(k['vlan']), type=0x86dd)
    else:
        frame.type = 0x86dd
    frame = bytes(frame / Raw(ip + body + udp))
    return frame[:int(k['cut'])] if 'cut' in k else frame


def open_socket(dev):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((dev, 0))
    return s


def send(dev, *argv):
    base, groups = argv[:4], [[]]
    for word in argv[4:]:
        if word == '--':
            groups.append([])
        else:
            groups[-1].append(word.split('=', 1))
    s = open_socket(dev)
    keys = [dict(group) for group in groups]
    for k, frame in [(k, packet(base, **k)) for k in keys]:
        for _ in range(int(k.get('n', 1))):
            s.send(frame)
            time.sleep(float(k.get('gap', 0.003)))


def read(*names):
    for name in names:
        with open(name, 'w', encoding='ascii') as out:
            for p in packets(name + '.pcap'):
                print(json.dumps(p), file=out)


def packets(name):
    for frame, meta in RawPcapReader(name):
        at, kind = 14, struct.unpack_from('>H', frame, 12)[0]
        tags = []
        while kind in (0x8100, 0x88a8):
            tag, kind = struct.unpack_from('>HH', frame, at)
            tags.append(tag & 0xfff)
            at += 4
        if kind != 0x86dd:
            continue
        ip, full = frame[at:], meta.wirelen == len(frame)
        raw = ip[:7] + b'\0' + ip[8:]            # routers change the hop limit
        first, plen, following, hops = struct.unpack_from('>IHBB', ip)
        p = {'tags': tags, 'tc': first >> 20 & 0xff, 'flow': first & 0xfffff, 'plen': plen, 'hops': hops,
             'src': socket.inet_ntop(socket.AF_INET6, ip[8:24]),
             'dst': socket.inet_ntop(socket.AF_INET6, ip[24:40]),
             'raw': raw.hex(), 'time': meta.sec + meta.usec / 1e6, 'whole': full and len(ip) == 40 + plen, 'next': [following], 'options': [], 'headers': ''}
        at = 40
        while following in (0, 43, 44, 51, 60):
            length = {44: 8, 51: (ip[at + 1] + 2) * 4}.get(following, (ip[at + 1] + 1) * 8)
            header = ip[at:at + length]
            p['headers'] += header.hex()
            o = 2
            while following in (0, 60) and o < length:
                n = 1 if not header[o] else 2 + header[o + 1]
                p['options'].append({'in': following, 'at': o, 'type': header[o], 'data': header[o + 2:o + n].hex()})
                o += n
            following = ip[at]
            p['next'].append(following)
            at += length
        rest = ip[at:40 + plen]
        if following == 58:
            p['icmp'] = dict(zip(('type', 'code', 'sum', 'pointer'), struct.unpack_from('>BBHI', rest)))
            p['about'] = rest[8:].hex()
        if following == 17 and len(rest) >= 24:
            sport, dport, length, check = struct.unpack_from('>HHHH', rest)
            p.update(sport=sport, dport=dport, udplen=length, check=check, bth=rest[8:20].hex(),
                     payload=rest[20:-4].hex(), sum_ok=udp_sum(ip[8:24], ip[24:40], rest) == 0,
                     icrc_ok=icrc(ip[8:24], ip[24:40], rest[:-4]) == rest[-4:],
                     op=rest[8], qpn=struct.unpack_from('>I', rest, 12)[0] & 0xffffff)
        yield p


def serve(asked, answered):
    clone_newnet = 0x40000000                   # os.setns() comes with Python 3.12
    for line in open(asked, encoding='ascii'):
        if not os.fork():
            status = 1
            try:
                netns, *words = shlex.split(line)
                if netns != '-':
                    with open(netns, encoding='ascii') as f:
                        if ctypes.CDLL(None).setns(f.fileno(), clone_newnet):
                            sys.exit('setns: ' + netns)
                run(*words)
                status = 0
            except BaseException:               # pylint: disable=broad-except
                traceback.print_exc()
            os._exit(status)
        with open(answered, 'w', encoding='ascii') as out:
            print(os.waitstatus_to_exitcode(os.wait()[1]), file=out)


def run(command, *argv):
    {'send': send, 'read': read, 'serve': serve}[command](*argv)


if __name__ == '__main__':
    run(*sys.argv[1:])
