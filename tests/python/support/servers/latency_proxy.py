"""LatencyProxy: a network with a delay, which traffic control does not offer in a container."""
import asyncio
import contextlib
import sys
import threading

CHUNK = 1 << 16


class LatencyProxy:
    """A TCP proxy in a thread of its own: each byte arrives ms / 2 later, in both directions, at any rate. `received` counts
    the bytes of the server."""

    def __init__(self, port, ms, host="127.0.0.1"):
        self.target, self.delay = (host, port), ms / 2000
        self.connections = self.received = 0
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=256))
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    async def _connection(self, reader, writer):
        self.connections += 1
        try:
            await asyncio.sleep(2 * self.delay)  # the handshake
            upper, lower = await asyncio.open_connection(*self.target)
        except OSError:
            return writer.close()
        await asyncio.gather(self._forward(reader, lower, False), self._forward(upper, writer, True), return_exceptions=True)

    async def _forward(self, source, sink, is_answer):
        """Reads at once, and writes later."""
        queue = asyncio.Queue(4096)

        async def write():
            while (entry := await queue.get()) is not None:
                await asyncio.sleep(entry[0] - self._loop.time())
                sink.write(entry[1])
                await sink.drain()
            sink.close()
        writing = asyncio.create_task(write())
        with contextlib.suppress(ConnectionError):
            while part := await source.read(CHUNK):
                self.received += len(part) if is_answer else 0
                await queue.put((self._loop.time() + self.delay, part))
        await queue.put(None)
        await writing

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._server.close()
        self._loop.run_until_complete(self._cancel(asyncio.all_tasks(self._loop)))
        self._loop.close()

    @staticmethod
    async def _cancel(tasks):
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


if __name__ == "__main__":  # PORT MS: a proxy, for benchmarks
    with LatencyProxy(int(sys.argv[1]), float(sys.argv[2])) as proxy:
        print(proxy.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
