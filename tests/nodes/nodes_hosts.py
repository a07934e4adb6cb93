"""Hosts for check_nodes.py: network namespaces joined by a bridge, or processes on the loopback interface.

A namespace of its own holds the bridge and the web server, so the machine's own network is not touched. Namespaces need root and
Debian's iproute2. All share the machine's files and processors: what is like several machines is the network alone.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

NETWORK = "10.77.0"


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


def words_of(pid):
    """The command line of a process; empty if it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


class Host:
    """A node. `number` is its rank among the nodes."""

    def __init__(self, number, address, interface, prefix=()):
        self.number, self.address, self.interface, self.prefix = number, address, interface, list(prefix)
        self.processes = []

    def start(self, command, env, log):
        with open(log, "a") as out:
            self.processes.append(subprocess.Popen([*self.prefix, *map(str, command)], env={**os.environ, **env}, stdout=out,
                                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True))

    def kill(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def lose(self):
        """As if the machine had stopped: processes end without a word."""
        self.kill()

    def revive(self):
        """As if it was started again."""

    def pids(self):
        return [process.pid for process in self.processes if process.poll() is None]

    def has_ranks(self):
        """Whether a rank still runs here. torchrun outlives its ranks: it waits five minutes for the torchruns of other nodes."""
        def is_rank(words):
            is_own = "/nodes/nodes_" in words and "torch.distributed.run" not in words and "nodes_ray.py" not in words
            return is_own or "RayTrainWorker" in words
        return any(map(is_rank, map(words_of, self.pids())))

    def wait_for_last(self, deadline):
        """Exit code of what was started last; None if it does not end by the deadline."""
        try:
            return self.processes[-1].wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            return None

    def wait(self, deadline):
        """Exit codes; None for what had to be killed because it did not end by the deadline."""
        codes = []
        for process in self.processes:
            try:
                codes.append(process.wait(max(deadline - time.monotonic(), 0.1)))
            except subprocess.TimeoutExpired:
                self.kill()
                process.wait()
                codes.append(None)
        self.processes = []
        return codes


class NamespaceHost(Host):
    def __init__(self, number, name):
        super().__init__(number, f"{NETWORK}.{number + 2}", "eth0", ["ip", "netns", "exec", name])
        self.name = name

    def pids(self):
        return [int(pid) for pid in subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True,
                                                   check=False).stdout.split()]

    def kill(self):
        super().kill()
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def lose(self):
        """The network goes first, so that nobody is told that its connections are closed."""
        with contextlib.suppress(subprocess.CalledProcessError):
            ip("-n", self.name, "link", "set", self.interface, "down")
        self.kill()

    def revive(self):
        ip("-n", self.name, "link", "set", self.interface, "up")


@contextlib.contextmanager
def namespaces(count):
    """(address of the server, prefix of its command, hosts)."""
    tag = f"bale{os.getpid()}"
    names = [f"{tag}-server", *(f"{tag}-node{n}" for n in range(count))]
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        server = names[0]
        ip("-n", server, "link", "add", "bridge0", "type", "bridge")
        ip("-n", server, "addr", "add", f"{NETWORK}.1/24", "dev", "bridge0")
        ip("-n", server, "link", "set", "bridge0", "up")
        hosts = []
        for number, name in enumerate(names[1:]):
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{number}", "netns", server)
            ip("-n", server, "link", "set", f"port{number}", "master", "bridge0", "up")
            hosts.append(NamespaceHost(number, name))
            ip("-n", name, "addr", "add", f"{hosts[-1].address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield f"{NETWORK}.1", ["ip", "netns", "exec", server], hosts
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@contextlib.contextmanager
def loopback(count):
    yield "127.0.0.1", [], [Host(number, "127.0.0.1", "lo") for number in range(count)]


def free_port():
    """Of this machine. In a namespace every port is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Server:
    """nginx over a folder. Every node has a path of its own, /node0/..., so its requests can be told apart."""

    def __init__(self, home, folder, address, prefix, count):
        self.home, self.log = pathlib.Path(home), pathlib.Path(home, "access.log")
        self.address, self.port = address, free_port()
        root = self.home / "root"
        root.mkdir(parents=True)
        for number in range(count):
            (root / f"node{number}").symlink_to(pathlib.Path(folder).resolve())
        temporary = "".join(f"{name}_temp_path {home}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.home / "nginx.conf").write_text(f"""daemon off; master_process off; pid {home}/pid;
            events {{ worker_connections 1024; }}
            http {{ {temporary} types {{ }} default_type application/octet-stream; keepalive_requests 1000000;
                    log_format asked '$remote_addr $status $body_bytes_sent $uri'; access_log {self.log} asked;
                    server {{ listen {address}:{self.port} backlog=1024; root "{root}"; }} }}""")
        self.log.write_text("")
        program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if program is None:
            raise SystemExit("check_nodes: no nginx; apt-get install nginx-light")
        self.process = subprocess.Popen([*prefix, program, "-p", str(home), "-c", str(self.home / "nginx.conf"),
                                         "-e", str(self.home / "error.log")], start_new_session=True)
        deadline = time.monotonic() + 20
        while not (self.home / "pid").exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit(f"check_nodes: nginx did not start: {(self.home / 'error.log').read_text()}")
            time.sleep(0.05)

    def url(self, number):
        return f"http://{self.address}:{self.port}/node{number}"

    def asked(self):
        """[(address, node, file name, bytes sent)] of all requests so far."""
        found = []
        for line in self.log.read_text().splitlines():
            address, _, sent, path = line.split(" ", 3)
            found.append((address, int(path.split("/")[1].removeprefix("node")), path.rpartition("/")[2], int(sent)))
        return found

    def forget(self):
        self.log.write_text("")

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
