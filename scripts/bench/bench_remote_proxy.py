#!/usr/bin/env python3
"""A TCP proxy that delays, and counts: a subprocess of bench_remote.py.

    bench_remote_proxy.py PORT MS

Prints its port. Each byte arrives MS / 2 later in both directions, whatever came before it, and the first bytes of a
connection MS later still, as after a handshake. Slow start, losses and limits of bandwidth are not imitated; a
direction of a connection holds up to WINDOW bytes. Each line on the standard input is answered by one line of JSON:
connections, requests (HTTP/1.1, without bodies) and bytes that the server sent, headers included. Ends with its input.
"""
import asyncio
import collections
import json
import sys

WINDOW = 16 << 20
REQUEST_END = b" HTTP/1.1\r\n"


class Pipe:
    """One direction of a connection."""

    def __init__(self, delay):
        self.loop, self.delay = asyncio.get_running_loop(), delay
        self.queue, self.held = collections.deque(), 0  # (when it is due, bytes; None: the end)
        self.source = self.sink = self.timer = None
        self.is_full = self.is_blocked = False

    def put(self, data):
        self.queue.append((self.loop.time() + self.delay, data))
        self.held += len(data or b"")
        self.deliver()
        if self.held > WINDOW and not self.is_full:
            self.is_full = True
            self.source.pause_reading()

    def deliver(self):
        """Passes on what is due."""
        if self.timer:
            self.timer.cancel()
            self.timer = None
        while self.queue and self.sink and not self.is_blocked:
            due, data = self.queue[0]
            if self.delay and due > self.loop.time():
                self.timer = self.loop.call_at(due, self.deliver)
                break
            self.queue.popleft()
            if data is None:
                self.sink.close()
            else:
                self.held -= len(data)
                self.sink.write(data)
        if self.is_full and self.held <= WINDOW:
            self.is_full = False
            if not self.source.is_closing():
                self.source.resume_reading()

    def attach(self, sink):
        self.sink = sink
        self.deliver()

    def block(self, is_blocked):
        self.is_blocked = is_blocked
        self.deliver()


class End(asyncio.Protocol):
    """One of the two sockets of a connection: what it receives goes to `out`; it sends what `into` delivers."""

    def __init__(self, out, into, count):
        self.out, self.into, self.count = out, into, count

    def connection_made(self, transport):
        transport.set_write_buffer_limits(high=1 << 20)
        self.out.source = transport
        self.into.attach(transport)

    def data_received(self, data):
        self.count(data)
        self.out.put(data)

    def connection_lost(self, error):
        self.out.put(None)

    def pause_writing(self):
        self.into.block(True)

    def resume_writing(self):
        self.into.block(False)


class Proxy:
    def __init__(self, port, ms):
        self.target, self.delay = port, ms / 2000
        self.counts = {"connections": 0, "requests": 0, "bytes": 0}

    def connection(self):
        """The protocol of a client that connects."""
        self.counts["connections"] += 1
        up, down = Pipe(self.delay), Pipe(self.delay)
        rest = b""

        def count_requests(data):
            nonlocal rest
            text = rest + data
            self.counts["requests"] += text.count(REQUEST_END)
            rest = text[-len(REQUEST_END) + 1:]

        def count_bytes(data):
            self.counts["bytes"] += len(data)

        asyncio.get_running_loop().create_task(self.connect(lambda: End(down, up, count_bytes), down))
        return End(up, down, count_requests)

    async def connect(self, protocol, down):
        await asyncio.sleep(2 * self.delay)
        try:
            await asyncio.get_running_loop().create_connection(protocol, "127.0.0.1", self.target)
        except OSError:
            down.put(None)

    async def run(self):
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self.connection, "127.0.0.1", 0, backlog=512)
        print(server.sockets[0].getsockname()[1], flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(self.counts), flush=True)


if __name__ == "__main__":
    asyncio.run(Proxy(int(sys.argv[1]), float(sys.argv[2])).run())
