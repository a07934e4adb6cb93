"""What bench_remote.py starts next to the loaders: a server, and proxies that delay and count; and how they are watched."""
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


def rclone(program, folder, home, port):
    """The command of rclone's S3 server. It takes any signature, so that curl can ask without one."""
    return [program, "serve", "s3", "--addr", f"127.0.0.1:{port}", "--config", os.devnull, "--read-only", "--dir-cache-time",
            "24h", folder]


def nginx(program, folder, home, port):
    """The command of an nginx that answers GET and HEAD of objects as S3 does, for little CPU. It has no listings."""
    temporary = "".join(f"{name}_temp_path {home}/nginx-{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (home / "nginx.conf").write_text(f"""daemon off; master_process off; pid {home}/nginx.pid;
        events {{ worker_connections 2048; }}
        http {{ {temporary} access_log off; types {{ }} default_type application/octet-stream; sendfile on;
                keepalive_requests 1000000; server {{ listen 127.0.0.1:{port} backlog=1024; root "{folder}"; }} }}""")
    return [program, "-p", home, "-c", home / "nginx.conf", "-e", home / "nginx.log"]


SERVERS = {"rclone": rclone, "nginx": nginx}


class Server:
    """A server of the buckets in a folder. Its files are written to `home`."""

    def __init__(self, kind, program, folder, home):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url, self.folder = f"http://127.0.0.1:{self.port}", folder
        log = home / "server.log"
        with open(log, "wb") as out:
            self.process = subprocess.Popen(SERVERS[kind](program, folder, home, self.port), stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=out)
        self.warm_up(log)

    def warm_up(self, log):
        """Has the server read every object and compute its ETag, before anything is measured."""
        while not self.answers():
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: see {log}")
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
