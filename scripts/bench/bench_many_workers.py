#!/usr/bin/env python3
"""What more workers cost: the rate of `bale bench` with 2 workers and with many, and the system calls per sample.

    python3 scripts/bench/bench_many_workers.py FOLDER --many 32

FOLDER has images in folders by class. They are packed as tar. Rounds are interleaved; the ratio is the median over the rounds of the rate
with many workers to that with two. System calls are counted by strace (Debian's package), if it is installed, in runs of one and of
three passes, whose difference is that of two passes: the start does not count.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

from bench_common import BALE, listing, replicated
from bench_train import say

CALL = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", re.M)


def bench(pack, workers, *options):
    words = [BALE, "bench", pack, "--stages", "train", "--workers", workers, "--json", "--quiet", *options]
    return [str(word) for word in words]


def rate(pack, workers, epochs):
    done = subprocess.run(bench(pack, workers, "--epochs", epochs), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["images_per_s"]


def system_calls(pack, workers, epochs):
    """How often each call was made, by all processes."""
    with tempfile.NamedTemporaryFile("r") as counts:
        subprocess.run(["strace", "-f", "-c", "-o", counts.name, *bench(pack, workers, "--epochs", epochs)], check=True,
                       capture_output=True)
        return collections.Counter({name: int(number) for number, name in CALL.findall(counts.read()) if name != "total"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=8, help="copies of each image (8)")
    parser.add_argument("--many", type=int, default=32, help="workers (32)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    args = parser.parse_args()
    images = replicated(args.folder, args.times, args.work.resolve())
    count = len(listing(images))
    pack = args.work.resolve() / f"workers-{args.times}"
    shutil.rmtree(pack, ignore_errors=True)
    subprocess.run([BALE, "pack", images, pack, "--shard-count", "12", "--quiet"], check=True)

    rates = {2: [], args.many: []}
    for number in range(args.rounds):
        for workers in rates if number % 2 == 0 else reversed(rates):
            say(f"round {number + 1}/{args.rounds}: {workers} workers")
            rates[workers].append(rate(pack, workers, 3))
    say("")
    ratios = [many / two for two, many in zip(*rates.values(), strict=True)]
    print(f"{count} images, {os.cpu_count()} cores, {args.rounds} rounds")
    print(f"2 workers: {statistics.median(rates[2]):,.0f} img/s; {args.many} workers: {statistics.median(rates[args.many]):,.0f} img/s, "
          f"{statistics.median(ratios):.3f} ({min(ratios):.3f} .. {max(ratios):.3f}) of it")
    if not shutil.which("strace"):
        print("strace is not installed: no system calls counted")
        return
    for workers in (2, 8):
        say(f"counting system calls, {workers} workers")
        first, third = (system_calls(pack, workers, epochs) for epochs in (1, 3))
        say("")
        per_sample = {name: (third[name] - first[name]) / (2 * count) for name in third}
        often = sorted((number, name) for name, number in per_sample.items() if number >= 0.005)
        print(f"system calls per sample, {workers} workers: {sum(per_sample.values()):.2f} "
              f"({', '.join(f'{name} {number:.2f}' for number, name in reversed(often))})")


if __name__ == "__main__":
    main()
