#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Forges segments of connections with telemetry options that no agent writes.

    inject.py PORT SEED FIFO

Watches segments from and to PORT that pass through this network namespace,
IPv4 and IPv6, and keeps the last one of each direction. Reads commands from
FIFO, one a line, and prints "done SENT" after each:

    acks N       N segments each way: the last one seen, without its data, as
                 an ACK; or a SYN while nothing else was seen
    stream N     as acks; before each eighth waits for a segment that passes
    syns N       N SYNs to PORT from other ports of that client
    malformed N  N ACKs each way, with one option that has a wrong length only
"""
import itertools
import os
import random
import select
import socket
import struct
import sys
from dataclasses import dataclass

KIND = 253
COLLECT, ECHO, TAG, WINDOW = 0x4843, 0x4845, 0x4854, 0x4857
EXIDS = (ECHO, COLLECT, ECHO, WINDOW, COLLECT, TAG)
RECORDS = (16, 28, 40)          # bytes of an option with 1, 2 and 3 records
ROOM = 40                       # bytes that a TCP header has for options
NOP, MSS = b'\1', b'\2\4\5\xb4'
FIN, SYN, RST, ACK = 1, 2, 4, 16
ETH_P_ALL, PACKET_OUTGOING, SO_RCVBUFFORCE, IPV6_HDRINCL = 3, 4, 33, 36


@dataclass
class Side:
    """The last segment of one direction."""
    v6: bool
    sport: int
    dport: int
    syn: bool = True
    ip: bytes = b''
    seq: int = 0                # of the next byte
    ack: int = 0
    window: int = 0
    times: bytes = b''          # the timestamps option
    opt: bytes = bytes(ROOM)    # the last telemetry option seen


class Injector:
    """The last segments of both directions, to PORT and from it."""
    def __init__(self, port: int) -> None:
        self.port = port
        self.sides: list[Side | None] = [None, None]
        self.numbers = itertools.count(7919, 7919)  # of options: a prime
        self.watch = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM,
                                   socket.htons(ETH_P_ALL))
        self.watch.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 22)
        self.watch.setblocking(False)
        self.raw = [socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
                    for family in (socket.AF_INET, socket.AF_INET6)]
        self.raw[1].setsockopt(socket.IPPROTO_IPV6, IPV6_HDRINCL, 1)

    def learn(self, packet: bytes) -> bool:
        """Keeps a segment; returns False for old ones and other packets."""
        v6 = packet[0] >> 4 == 6
        ip_len = 40 if v6 else packet[0] % 16 * 4
        if packet[6 if v6 else 9] != socket.IPPROTO_TCP:
            return False
        sport, dport, seq, ack, doff, flags, window = struct.unpack_from(
            '!HHIIBBH', packet, ip_len)
        which = sport == self.port
        if flags & RST or self.port not in (sport, dport):
            return False
        doff = doff // 16 * 4
        total, = struct.unpack_from('!H', packet, 4 if v6 else 2)
        end = (seq + total + (40 if v6 else 0) - ip_len - doff +
               bool(flags & SYN) + bool(flags & FIN)) % (1 << 32)
        side = self.sides[which]
        if not side or (flags & SYN and (side.v6, side.sport, side.dport) !=
                        (v6, sport, dport)):
            side = self.sides[which] = Side(v6, sport, dport)
        elif (not flags & SYN and not side.syn and
              (end - side.seq) % (1 << 32) >= 1 << 31):
            return False
        side.syn = bool(flags & SYN)
        side.ip = packet[:ip_len if v6 else 20]
        side.seq, side.ack, side.window = end, ack, window
        options = packet[ip_len + 20:ip_len + doff]
        if options[:3] == b'\1\1\x08':
            side.times = options[:12]
        for i in range(0, len(options) - RECORDS[0] + 1, 4):
            length = options[i + 1]
            if (options[i] == KIND and length in RECORDS and
                    i + length <= len(options)):
                side.opt = options[i:i + length] + side.opt[length:]
        return True

    def look(self) -> bool:
        """Keeps what has passed; returns False if nothing has."""
        found = False
        while True:
            try:
                packet, (_, _, kind, *_) = self.watch.recvfrom(256)
            except BlockingIOError:
                return found
            if kind != PACKET_OUTGOING and len(packet) >= 60:
                found = self.learn(packet) or found

    def wait(self, seconds: int) -> None:
        """Waits for a segment that passes."""
        while not self.look():
            if not select.select([self.watch], [], [], seconds)[0]:
                sys.exit(f'no segment passes in {seconds} s')

    def transmit(self, side: Side, syn: bool, sport: int, seq: int, ack: int,
                 number: int | None) -> None:
        """Sends a segment of this side with an option, as make_option()."""
        before = b''
        if syn:
            before = MSS
        elif number is None or number % 3:
            before = side.times
        room = ROOM - len(before)
        if random.getrandbits(1):
            room = random.randrange(4, room + 1, 4)
        options = before + make_option(side, room, number)
        tcp = bytearray(struct.pack(
            '!HHIIBBHHH', sport, side.dport, seq % (1 << 32), ack,
            (20 + len(options)) // 4 << 4, SYN if syn else ACK, side.window,
            0, 0) + options)
        ip = bytearray(side.ip)
        if side.v6:
            struct.pack_into('!H', ip, 4, len(tcp))
            to = socket.inet_ntop(socket.AF_INET6, ip[24:])
        else:               # no options, no fragment
            struct.pack_into('!BBHI', ip, 0, 0x45, 0, 20 + len(tcp), 0)
            to = socket.inet_ntop(socket.AF_INET, ip[16:])
        pseudo = bytes(ip[8 if side.v6 else 12:]) + struct.pack(
            '!HH', socket.IPPROTO_TCP, len(tcp))
        struct.pack_into('!H', tcp, 16, checksum(pseudo + tcp))
        self.raw[side.v6].sendto(ip + tcp, (to, 0))

    def acks(self, count: int, stream: bool, malformed: bool) -> int:
        """Sends segments each way; returns how many."""
        for i in range(count):
            if i % 8 == 0:
                if stream:
                    self.wait(100)
                self.look()
            number = None if malformed else next(self.numbers)
            there, back = self.sides
            assert there and back
            self.transmit(there, there.syn, there.sport,
                          there.seq - there.syn, 0 if there.syn else there.ack,
                          number)
            # a client that waits for its SYN-ACK gets one that does not fit
            self.transmit(back, False, back.sport, back.seq,
                          back.ack - back.syn, number)
        return 2 * count

    def syns(self, count: int) -> int:
        """Sends SYNs to PORT; returns how many."""
        there = self.sides[0]
        assert there
        for _ in range(count):
            self.transmit(there, True, random.randrange(20000, 30000),
                          random.getrandbits(32), 0, next(self.numbers))
        return count

    def run(self, line: str) -> int:
        """Runs a command; returns the number of segments sent."""
        command, count = line.split()
        while None in self.sides:
            self.wait(10)
        if command == 'syns':
            return self.syns(int(count))
        assert command in ('acks', 'stream', 'malformed'), command
        return self.acks(int(count), command == 'stream',
                         command == 'malformed')


def make_option(side: Side, room: int, number: int | None) -> bytes:
    """Returns the option with this number, of any length and contents, in
    room bytes. Without a number, the option has a wrong length only."""
    if number is None:
        length = random.choice([n for n in range(4, room + 1)
                                if n not in RECORDS])
        option = bytearray(random.randbytes(length).ljust(room, NOP))
        exid = random.choice((ECHO, COLLECT))
    else:
        exid, length, how = EXIDS[number % 6], number // 6 % 256, \
            number // 1536 % 6
        if number & 1 << 12:    # half of them have a length that exists
            length = RECORDS[length % 3] if exid != WINDOW else \
                8 if length & 1 else 12
        option = bytearray(side.opt[:room])
        if how == 0:
            option = bytearray(room)
        elif how == 1:
            option = bytearray(b'\xff' * room)
        elif how == 2:
            option = bytearray(random.randbytes(room))
        elif how == 4:          # ts and tx_bytes half a wrap later or earlier
            for i in range(4, room - 11, 12):
                for at in (i + 4, i + 8):
                    option[at] = (option[at] + random.randrange(127, 130)) \
                        % 256
        elif how == 5 and room >= 32:   # twice in one header
            option[16:32] = side.opt[:16]
            option[17] = length = 16
        # how == 3: a duplicate
    option[:4] = struct.pack('!BBH', KIND, length, exid)
    return bytes(option)


def checksum(data: bytes) -> int:
    """Returns the checksum of the Internet over an even number of bytes."""
    total = sum(struct.unpack(f'!{len(data) // 2}H', data))
    return ~(total % 0xffff or 0xffff) & 0xffff


def main() -> None:
    """Reads commands until the end of time."""
    random.seed(int(sys.argv[2]))
    injector = Injector(int(sys.argv[1]))
    # opened for both, so that it does not end
    with os.fdopen(os.open(sys.argv[3], os.O_RDWR), 'rb', 0) as fifo:
        print('watching', flush=True)
        while True:
            ready = select.select([fifo, injector.watch], [], [])[0]
            injector.look()
            if fifo in ready:
                line = fifo.readline().decode()
                print('done', injector.run(line), flush=True)


main()
