#!/usr/bin/env python3
"""Reads a dataset of very many tiny shards over HTTP in a full shuffle, to the end of the epoch: how many requests, how much memory
and how many descriptors it takes, and how long.

Makes --shards shards of two small JPEGs, with indexes and manifest, once, and starts nginx on a free port. Each run is a fresh
process that may open --descriptors files, with two workers:

- cold: with an empty cache
- warm: with what the run before left, when all that it knows of versions is older than the minute in which it is believed
- second epoch: of the cold run

Requests are counted in nginx's log: "304" are those that only ask whether a file is still the same. Memory (the proportional
set size, which counts shared pages once) and descriptors are those of the largest process, and memory of all together, looked at
twice per second. "open" ends when the loader is made, "first batch" when it delivers. Times are those of the machine with
whatever else it does. --json prints the figures.

Needs nginx (Debian: nginx-light) and the built Python package: PYTHONPATH=build/python.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import random
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time

BATCH_SIZE, SAMPLES_PER_SHARD = 100, 2
ROWS = ("samples", "open_s", "first_batch_s", "epoch_s", "requests", "requests_per_sample", "not_modified", "sent_mib",
        "memory_mib", "memory_of_all_mib", "descriptors", "cache_mib")


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- the reading process

def read(url, epochs):
    """Prints one line of JSON per epoch."""
    start = time.monotonic()
    import bale
    with bale.Loader(url, BATCH_SIZE, seed=1, workers=2, transform=bale.transforms.train(32)) as loader:
        open_s = time.monotonic() - start
        for epoch in range(epochs):
            begun, first = time.monotonic(), None
            count, positions = 0, set()
            loader.set_epoch(epoch)
            for batch in loader:
                first = first or time.monotonic() - begun
                count += len(batch.indices)
                positions.update(int(i) for i in batch.indices)
            print(json.dumps({"samples": len(positions), "delivered": count, "open_s": open_s, "first_batch_s": first,
                              "epoch_s": time.monotonic() - begun}), flush=True)


# --- data and server

def make_data(folder, shards):
    done = folder.with_name(folder.name + ".done")
    if done.exists():
        return
    from PIL import Image

    import bale
    say(f"making {shards} shards")
    shutil.rmtree(folder, ignore_errors=True)
    images = []
    for number in range(64):
        file = io.BytesIO()
        Image.frombytes("RGB", (4, 4), random.Random(number).randbytes(48)).resize((32, 32)).save(file, "JPEG")
        images.append(file.getvalue())
    with bale.Writer(folder, classes=["a", "b"], shard_samples=SAMPLES_PER_SHARD) as writer:
        for number in range(shards * SAMPLES_PER_SHARD):
            writer.add(f"{number:08d}", {"jpg": images[number % 64]}, label=number % 2)
    done.touch()


class Nginx:
    def __init__(self, home, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        home.mkdir(parents=True, exist_ok=True)
        self.log = home / "access.log"
        temporary = "".join(f"{name}_temp_path {home}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (home / "nginx.conf").write_text(f"""daemon off; master_process off; pid {home}/pid;
            events {{ worker_connections 2048; }}
            http {{ {temporary} types {{ }} default_type application/octet-stream; keepalive_requests 10000000;
                    log_format asked '$status $body_bytes_sent $uri'; access_log {self.log} asked;
                    server {{ listen 127.0.0.1:{self.port} backlog=1024; root "{folder}"; }} }}""")
        self.log.write_text("")
        self.process = subprocess.Popen(["nginx", "-p", home, "-c", home / "nginx.conf", "-e", home / "error.log"])
        self.url, self.offset = f"http://127.0.0.1:{self.port}", 0
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)

    def counts(self):
        """Of the requests since the last call: their number, those answered by 304, and the bytes sent."""
        requests = unchanged = sent = 0
        with open(self.log) as log:
            log.seek(self.offset)
            for line in log:
                status, size, _ = line.split(" ", 2)
                requests, unchanged, sent = requests + 1, unchanged + (status == "304"), sent + int(size)
            self.offset = log.tell()
        return {"requests": requests, "not_modified": unchanged, "sent_mib": sent / 2**20}


# --- what a run takes

def tree_of(pid):
    pids = [pid]
    for one in pids:
        for children in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                pids += [int(child) for child in children.read_text().split()]
    return pids


def memory_of(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("Pss:"))


class Watch(threading.Thread):
    """The most that a process, or all of its tree, has taken since clear()."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.ended = pid, threading.Event()
        self.clear()

    def clear(self):
        self.most = {"memory_mib": 0.0, "memory_of_all_mib": 0.0, "descriptors": 0}

    def run(self):
        while not self.ended.wait(0.5):
            total = 0.0
            for pid in tree_of(self.pid):
                try:
                    memory, descriptors = memory_of(pid), len(os.listdir(f"/proc/{pid}/fd"))
                except (OSError, StopIteration):
                    continue
                total += memory
                self.most["memory_mib"] = max(self.most["memory_mib"], memory)
                self.most["descriptors"] = max(self.most["descriptors"], descriptors)
            self.most["memory_of_all_mib"] = max(self.most["memory_of_all_mib"], total)


def disk_mib(folder):
    """Blocks of the directory and all below it."""
    total = 0
    for at, _, files in os.walk(folder):
        total += os.lstat(at).st_blocks + sum(os.lstat(os.path.join(at, file)).st_blocks for file in files)
    return total / 2048


def age(cache):
    then = time.time() - 3600
    for at, _, files in os.walk(cache):
        for file in files:
            if file.endswith(".url"):
                os.utime(os.path.join(at, file), (then, then))


def run(args, server, cache, epochs):
    """The figures of each epoch of one process."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (args.descriptors, args.descriptors))
    env = {**os.environ, "BALE_CACHE_DIR": str(cache), "BALE_CACHE_LIMIT": args.cache_limit, "no_proxy": "*"}
    process = subprocess.Popen([sys.executable, __file__, "--read", server.url, "--epochs", str(epochs)], env=env, text=True,
                               stdout=subprocess.PIPE, preexec_fn=limit)
    watch = Watch(process.pid)
    watch.start()
    figures = []
    for line in process.stdout:
        one = {**json.loads(line), **watch.most, **server.counts()}
        one["requests_per_sample"] = one["requests"] / max(1, one["samples"])
        figures.append(one)
        watch.clear()
    watch.ended.set()
    if process.wait() != 0 or len(figures) != epochs:
        sys.exit(f"the reader ended with {process.returncode}")
    for one in figures:
        one["cache_mib"] = disk_mib(cache)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=100_000)
    parser.add_argument("--descriptors", type=int, default=1024)
    parser.add_argument("--cache-limit", default="20GiB")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/bale-many-shards"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    parser.add_argument("--epochs", type=int, default=1, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.read:
        return read(args.read, args.epochs)
    args.work.mkdir(parents=True, exist_ok=True)
    data, cache = args.work / f"packed-{args.shards}", args.work / "cache"
    make_data(data, args.shards)
    shutil.rmtree(cache, ignore_errors=True)
    server = Nginx(args.work / "nginx", data)
    try:
        cold, second = run(args, server, cache, 2)
        age(cache)
        server.counts()
        (warm,) = run(args, server, cache, 1)
    finally:
        server.process.terminate()
        server.process.wait()
    figures = {"cold": cold, "second epoch": second, "warm": warm}
    if args.json:
        print(json.dumps({"shards": args.shards, "descriptors_allowed": args.descriptors, "runs": figures}, indent=1))
        return None
    print("| " + " | ".join(["", *figures]) + " |\n" + "|---" * (1 + len(figures)) + "|")
    for row in ROWS:
        print("| " + " | ".join([row, *(f"{one[row]:,.2f}" if isinstance(one[row], float) else f"{one[row]:,}"
                                        for one in figures.values())]) + " |")
    return None


if __name__ == "__main__":
    main()
