#!/usr/bin/env python3
"""Trains on several nodes and looks for samples that are lost, doubled or read on the wrong node.

Hosts are network namespaces that the script makes and removes (root, iproute2), each with a cache of its own that its ranks share.
A web server (nginx) in another namespace has shards of uneven sizes. Ranks are started by torchrun with gloo. For 2 and 4 nodes of
--ranks ranks each:

- global: one epoch is read. In the second the last node is lost in the middle: its network goes down, then its processes are
  killed. The others must end by themselves. The job is started again from the last state on one node less, that is at another
  world size. Every epoch must have each sample exactly once, in equally many steps on every rank.
- node-local: the same. The state of the middle of an epoch must be refused on fewer nodes, with a message; the epoch then
  begins again there. On as many nodes as before it continues. By the server's log a node must have fetched its own part of the
  shards only, and all nodes together each byte about once over two epochs.

--engine lightning trains by Lightning's fit() and its checkpoints instead of a loop of its own. --engine ray starts the same loop by
Ray Train, on a Ray cluster of the hosts, instead of torchrun (scripts/checks/check_engines.sh makes an environment that has it).

--loopback does both without namespaces and without torchrun, one rank per node, on 127.0.0.1: what the tests run. Prints one line
per check; exit code 1 if one fails. Needs torch, the built Python package (PYTHONPATH=build/python), and nginx:

    sudo PYTHONPATH=build/python python3 tests/nodes/check_nodes.py
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

import nodes_ray
from nodes_hosts import Server, free_port, loopback, namespaces

HERE = pathlib.Path(__file__).resolve().parent
BATCH_SIZE = 4
SHARDS = (5, 31, 12, 40, 3, 22, 17, 28, 9, 33)  # samples of each
SAMPLES = sum(SHARDS)
IMAGE_BYTES = 24_000
EPOCHS = 2
RANKS = {"loop": "nodes_rank.py", "lightning": "nodes_lightning.py"}  # what torchrun starts
ENGINES = [*RANKS, "ray"]
failures = []


def check(right, what):
    print(("ok    " if right else "FAILED ") + what, flush=True)
    if not right:
        failures.append(what)


# --- data

def jpeg(number):
    """A small picture that a comment of noise makes as large as photos are."""
    import io

    from PIL import Image
    rng, file = random.Random(number), io.BytesIO()
    Image.frombytes("RGB", (4, 4), rng.randbytes(48)).resize((32, 24)).save(file, "JPEG")
    noise = rng.randbytes(IMAGE_BYTES + rng.randrange(IMAGE_BYTES))
    plain = file.getvalue()
    return plain[:2] + b"\xff\xfe" + (len(noise) + 2).to_bytes(2, "big") + noise + plain[2:]


def make_data(folder):
    """Shards of SHARDS samples each: parts of one dataset, merged."""
    import bale
    parts, number = [], 0
    for shard, size in enumerate(SHARDS):
        parts.append(folder / f"part{shard}")
        with bale.Writer(parts[-1], classes=["a", "b"], shard_samples=size) as writer:
            for _ in range(size):
                writer.add(f"{number:06}", {"jpg": jpeg(number)}, label=number % 2)
                number += 1
    bale.merge(parts, folder / "packs")
    return folder / "packs"


# --- one job

class Job:
    """A run of some epochs, in attempts."""

    def __init__(self, options, home, data, server, hosts, shuffle):
        self.options, self.home, self.data, self.server, self.hosts, self.shuffle = options, home, data, server, hosts, shuffle
        self.state, self.ledger = home / "state.json", home / "ledger"
        self.attempts = []  # [(number, state at its start or None, whether it began that state's epoch again)]
        self.ledger.mkdir(parents=True)

    def start(self, count, begin_again=False, pause=0.0):
        """Starts the job on the first `count` hosts."""
        attempt, port = len(self.attempts), free_port()
        self.attempts.append((attempt, json.loads(self.state.read_text()) if self.state.exists() else None, begin_again))
        ranks = self.options.ranks
        for host in self.hosts[:count]:
            job = {"spec": self.server.url(host.number), "shuffle": self.shuffle, "tail": "uneven", "batch_size": BATCH_SIZE,
                   "epochs": EPOCHS, "state": str(self.state), "ledger": str(self.ledger), "pause": pause, "timeout": 20,
                   "begin_again": begin_again}
            env = {"BALE_JOB": json.dumps(job), "BALE_ATTEMPT": str(attempt), "BALE_CACHE_DIR": str(self.home / f"cache{host.number}"),
                   "GLOO_SOCKET_IFNAME": host.interface, "OMP_NUM_THREADS": "1", "no_proxy": "*", "USE_LIBUV": "0",
                   "PYTHONDONTWRITEBYTECODE": "1"}
            log = self.log(attempt, host)
            if self.options.engine == "ray":
                env |= nodes_ray.ENVIRONMENT | {"BALE_NODE": str(host.number), "GROUP_WORLD_SIZE": str(count),
                                                "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}"}
                host.start(nodes_ray.node_command(host, self.hosts[0], ranks), env, log)
                continue
            if not self.options.loopback:
                host.start([sys.executable, "-m", "torch.distributed.run", "--nnodes", count, "--node_rank", host.number,
                            "--nproc_per_node", ranks, "--master_addr", self.hosts[0].address, "--master_port", port,
                            "--redirects", "1", "--tee", "1", "--log_dir", self.home / "torchrun",  # torch 1.13 needs redirects
                            HERE / RANKS[self.options.engine]], env, log)
                continue
            for local in range(ranks):
                host.start([sys.executable, HERE / RANKS[self.options.engine]],
                           {**env, "RANK": str(host.number * ranks + local), "WORLD_SIZE": str(count * ranks),
                            "LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(ranks), "GROUP_RANK": str(host.number),
                            "GROUP_WORLD_SIZE": str(count), "MASTER_ADDR": host.address, "MASTER_PORT": str(port)}, log)

        if self.options.engine == "ray":
            head = self.hosts[0]
            head.start([sys.executable, HERE / "nodes_ray.py", f"{head.address}:{nodes_ray.PORT}", count, ranks,
                        self.home / f"ray{attempt}"], nodes_ray.ENVIRONMENT, self.log(attempt, head))

    def log(self, attempt, host):
        return self.home / f"attempt{attempt}-node{host.number}.log"

    def wait(self, count, limit=240):
        deadline = time.monotonic() + limit
        if self.options.engine == "ray":  # the cluster outlives its job
            driver, now = self.hosts[0].wait_for_last(deadline), time.monotonic()
            for host in self.hosts[:count]:
                host.kill()
                host.wait(now + 10)
            return [driver]
        return [code for host in self.hosts[:count] for code in host.wait(deadline)]

    def run(self, count, **how):
        self.start(count, **how)
        codes = self.wait(count)
        if any(codes):
            for host in self.hosts[:count]:
                print(self.log(len(self.attempts) - 1, host).read_text()[-3000:], file=sys.stderr)
        return codes

    def words(self, count):
        """What the last attempt printed, on all nodes."""
        return "".join(self.log(len(self.attempts) - 1, host).read_text() for host in self.hosts[:count])

    def wait_until(self, epoch, position, limit=180):
        """Until the state has come so far."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            if self.state.exists():
                state = json.loads(self.state.read_text())
                if (state["epoch"], state["position"]) >= (epoch, position):
                    return
            if any(process.poll() for host in self.hosts for process in host.processes):
                break
            time.sleep(0.02)
        raise SystemExit(f"check_nodes: no state beyond epoch {epoch}, position {position} after {limit} s or before a process failed: {self.words(1)}")

    # --- what was read

    def lines(self, attempt):
        """{rank: lines that count}: those that a later attempt continued after, or all of the last one."""
        found = {}
        later = [(state, again) for number, state, again in self.attempts if number > attempt and self.has_begun(number)]
        for path in self.ledger.glob(f"{attempt}-*.jsonl"):
            lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
            for state, again in later[:1]:
                end = (state["epoch"], -1 if again else state["position"])
                lines = [line for line in lines if (line["epoch"], line["position"]) <= end]
            found[int(path.stem.partition("-")[2])] = lines
        return found

    def has_begun(self, attempt):
        return any(path.stat().st_size for path in self.ledger.glob(f"{attempt}-*.jsonl"))

    def check_ledger(self, what):
        seen = {epoch: collections.Counter() for epoch in range(EPOCHS)}
        for attempt, _, _ in self.attempts:
            lines = self.lines(attempt)
            steps = {rank: collections.Counter(line["epoch"] for line in of_rank) for rank, of_rank in lines.items()}
            check(len({tuple(sorted(counted.items())) for counted in steps.values()}) <= 1,
                  f"{what}: attempt {attempt}: {len(steps)} ranks made equally many steps: {dict(steps.get(0, {}))}")
            for of_rank in lines.values():
                for line in of_rank:
                    seen[line["epoch"]].update(line["samples"])
        for epoch, counted in seen.items():
            twice = sum(count > 1 for count in counted.values())
            check(len(counted) == SAMPLES and twice == 0,
                  f"{what}: epoch {epoch}: {len(counted)} of {SAMPLES} samples, {twice} of them more than once")

    def samples_of_nodes(self, attempt):
        """{node: samples in any epoch} of an attempt, also those that were read without success."""
        found = collections.defaultdict(set)
        for path in self.ledger.glob(f"{attempt}-*.jsonl"):
            for line in map(json.loads, path.read_text().splitlines()):
                found[line["node"]].update(line["samples"])
        return found


def shard_of(sample):
    for shard, size in enumerate(SHARDS):
        if sample < size:
            return shard
        sample -= size
    raise IndexError


# --- scenarios

def lose_a_node(job, count, what):
    """The second epoch is under way when the last node is lost. The others must end by themselves."""
    job.start(count, pause=0.05)
    job.wait_until(1, SAMPLES // 3)
    lost = job.hosts[count - 1]
    lost.lose()
    begun = time.monotonic()
    others = job.hosts[:count - 1]
    while any(host.has_ranks() for host in others) and time.monotonic() - begun < 120:
        time.sleep(0.1)
    check(not any(host.has_ranks() for host in others),
          f"{what}: a node is lost: the ranks of the others end by themselves ({time.monotonic() - begun:.0f} s)")
    for host in others:
        host.kill()
    job.wait(count)
    lost.revive()


def check_global(options, home, data, server, hosts, count):
    what = f"{count} nodes x {options.ranks} ranks, global"
    job = Job(options, home, data, server, hosts, True)
    lose_a_node(job, count, what)
    fewer = count - 1 if count > 1 else 1
    codes = job.run(fewer)
    check(not any(codes), f"{what}: continues on {fewer} x {options.ranks} (exit codes {codes})")
    job.check_ledger(what)
    share = fetched(job, server, count)
    print(f"      {what}: shard bytes fetched by each node, of the dataset: " + ", ".join(f"{part:.2f}" for part in share)
          + f"; together {sum(share):.2f}", flush=True)


def check_node_local(options, home, data, server, hosts, count):
    what = f"{count} nodes x {options.ranks} ranks, node-local"
    job = Job(options, home / "same", data, server, hosts, "node-local")
    lose_a_node(job, count, what)
    codes = job.run(count)
    check(not any(codes), f"{what}: continues on {count} x {options.ranks} (exit codes {codes})")
    job.check_ledger(what)
    check_fetched(job, server, count, what)
    server.forget()

    job = Job(options, home / "fewer", data, server, hosts, "node-local")
    lose_a_node(job, count, what)
    job.start(count - 1)
    codes = job.wait(count - 1)
    check(all(codes) and "changes them only between epochs" in job.words(count - 1),
          f"{what}: the middle of an epoch is refused on {count - 1} x {options.ranks} (exit codes {codes})")
    codes = job.run(count - 1, begin_again=True)
    check(not any(codes), f"{what}: begins the epoch again on {count - 1} x {options.ranks} (exit codes {codes})")
    job.check_ledger(what)
    server.forget()


def shard_names(job):
    return [shard["file"] for shard in json.loads((job.data / "manifest.json").read_text())["shards"]]


def fetched(job, server, count):
    """For each node the bytes of shards that it fetched, of all bytes of shards."""
    names, sent = shard_names(job), collections.Counter()
    for _, node, name, size in server.asked():
        sent[node] += size if name in names else 0
    total = sum((job.data / name).stat().st_size for name in names)
    return [sent[node] / total for node in range(count)]


def check_fetched(job, server, count, what):
    """By the server's log: of which shards a node has read, and how many bytes."""
    names = shard_names(job)
    files, addresses = collections.defaultdict(set), collections.defaultdict(set)
    for address, node, name, _ in server.asked():
        addresses[node].add(address)
        if name in names:
            files[node].add(name)
    owned = collections.defaultdict(set)
    for attempt, _, _ in job.attempts:
        for node, samples in job.samples_of_nodes(attempt).items():
            owned[node].update(names[shard_of(sample)] for sample in samples)
    check(all(files[node] <= owned[node] for node in range(count)),
          f"{what}: shards fetched by each node: {[len(files[node]) for node in range(count)]} of {len(names)}, its own only")
    share = fetched(job, server, count)
    shares = (f"{what}: shard bytes fetched by each node over {EPOCHS} epochs, of the dataset: "
              + ", ".join(f"{part:.2f}" for part in share) + f"; together {sum(share):.2f}")
    if job.options.engine == "ray":  # numbers its nodes again in each attempt, so a host may get another part
        print(f"      {shares}", flush=True)
    else:
        cut = sum(map(len, owned.values())) - len(set().union(*owned.values()))
        check(cut <= count - 1, f"{what}: {cut} shards are cut between two nodes")
        check(sum(share) < 1.25, shares)
    if not job.options.loopback:
        check(all(addresses[host.number] == {host.address} for host in job.hosts[:count]),
              f"{what}: each node's requests come from its own address")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", default="2,4", help="numbers of nodes, 2 or more (default: 2,4)")
    parser.add_argument("--ranks", type=int, default=2, help="ranks per node (default: 2)")
    parser.add_argument("--engine", choices=ENGINES, default="loop", help="what trains (default: a loop)")
    parser.add_argument("--loopback", action="store_true", help="2 nodes of one rank on 127.0.0.1, without namespaces and torchrun")
    parser.add_argument("--work", type=pathlib.Path, help="a folder for data, caches and logs, which stay (default: a temporary one)")
    options = parser.parse_args()
    counts = [2] if options.loopback else [int(count) for count in options.nodes.split(",")]
    if options.loopback and options.engine == "ray":
        raise SystemExit("check_nodes: nodes of Ray need addresses of their own: leave --loopback out")
    if options.loopback:
        options.ranks = 1
    elif os.geteuid() != 0 or shutil.which("ip") is None:
        raise SystemExit("check_nodes: network namespaces need root and iproute2; --loopback does without")
    with tempfile.TemporaryDirectory(prefix="check_nodes.") as temporary:
        work = pathlib.Path(options.work or temporary).resolve()
        work.mkdir(parents=True, exist_ok=True)
        data = make_data(work)
        with (loopback if options.loopback else namespaces)(max(counts)) as (address, prefix, hosts):
            server = Server(work / "server", data, address, prefix, len(hosts))
            try:
                for count in counts:
                    for name, scenario in (("global", check_global), ("node-local", check_node_local)):
                        scenario(options, work / f"{name}-{count}", data, server, hosts, count)
                        server.forget()
            finally:
                for host in hosts:
                    host.kill()
                    host.wait(time.monotonic() + 10)
                server.stop()
    print(f"{len(failures)} checks failed" if failures else "all checks passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
