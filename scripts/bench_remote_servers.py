"""What bench_remote.py starts beside the loaders: an S3 server, and proxies that delay and count; and how they are watched."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request

PROXY = pathlib.Path(__file__).with_name("bench_remote_proxy.py")


def cpu_seconds(pid):
    """User and system time of one process."""
    with open(f"/proc/{pid}/stat") as file:
        return sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


class Proxy:
    def __init__(self, port, ms):
        self.process = subprocess.Popen([sys.executable, PROXY, str(port), str(ms)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}"

    def counts(self):
        """So far: connections, requests, bytes and seconds of CPU."""
        print("", file=self.process.stdin, flush=True)
        return {**json.loads(self.process.stdout.readline()), "cpu": cpu_seconds(self.process.pid)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class S3Server:
    """rclone's S3 server of the buckets in a folder. It takes any signature, so that curl can ask without one."""

    def __init__(self, rclone, folder, log):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url, self.folder = f"http://127.0.0.1:{self.port}", folder
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [rclone, "serve", "s3", "--addr", f"127.0.0.1:{self.port}", "--config", os.devnull, "--read-only",
                 "--dir-cache-time", "24h", folder], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.warm_up(log)

    def warm_up(self, log):
        """Has the server read every object and compute its ETag, before anything is measured."""
        while not self.answers():
            if self.process.poll() is not None:
                raise RuntimeError(f"the S3 server ended: see {log}")
            time.sleep(0.05)
        for path in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            with urllib.request.urlopen(f"{self.url}/{path.relative_to(self.folder)}") as answer:
                while answer.read(1 << 20):
                    pass

    def answers(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class DiskUse:
    """The most disk space that a directory takes, looked at every 10 ms."""

    def __init__(self, directory):
        self.directory, self.peak, self.stop = directory, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.stop.wait(0.01):
            used = 0
            for path, _, names in os.walk(self.directory):
                for name in names:
                    with contextlib.suppress(OSError):
                        used += os.stat(os.path.join(path, name)).st_blocks * 512
            self.peak = max(self.peak, used)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
