#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Many TCP connections that each send a little, in turn, until SIGTERM.

    many.py listen PORT
    many.py connect ADDRESS PORT CC FLOWS BYTES GAP_US

The first reads and forgets. The second opens FLOWS connections under the congestion control CC, prints "connected", and
from then on writes BYTES into the next one every GAP_US. It leaves out a write for which the socket has no room, and
prints at the end how many it made and left out.
"""

import itertools
import resource
import select
import signal
import socket
import sys
import time

TCP_CONGESTION = 13


def listen(port: int) -> None:
    """Accepts connections, and reads what they send"""
    server = socket.create_server(("", port), backlog=128)
    conns = {}
    epoll = select.epoll()
    epoll.register(server, select.EPOLLIN)
    while True:
        for fd, _ in epoll.poll():
            if fd == server.fileno():
                conn = server.accept()[0]
                conns[conn.fileno()] = conn
                epoll.register(conn, select.EPOLLIN)
            elif not conns[fd].recv(65536, socket.MSG_DONTWAIT):
                conns.pop(fd).close()


def connect(address: str, port: int, cc: str, n: int, size: int, gap_us: int) -> None:
    """Opens the connections one after the other, so that no SYN is dropped for want of room, and writes"""
    flows, data, gap, sent = [], bytes(size), gap_us * 1000, [0, 0]
    for _ in range(n):
        flow = socket.socket()
        flow.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, cc.encode())
        flow.connect((address, port))
        flow.setblocking(False)
        flows.append(flow)
    print("connected", flush=True)
    due = time.monotonic_ns()
    try:
        for flow in itertools.cycle(flows):
            due += gap
            time.sleep(max(due - time.monotonic_ns(), 0) / 1e9)
            # after a long time without a CPU: do not make up for the writes that are late
            if (now := time.monotonic_ns()) - due > gap:
                due = now
            try:
                sent[flow.send(data) < size] += 1
            except BlockingIOError:
                sent[1] += 1
    finally:
        print(f"sent {sent[0]} left_out {sent[1]}")


resource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536))
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
if sys.argv[1:2] == ["listen"]:
    listen(int(sys.argv[2]))
else:
    connect(sys.argv[2], int(sys.argv[3]), sys.argv[4], *map(int, sys.argv[5:8]))
