#!/usr/bin/env python3
"""Compares all layouts next to tar's plain shards (size, packing, reading, training): the table of docs/FORMATS.md.

size    bytes of the shards and what lies next to them, our indexes included, as a share of the images' files
pack    `bale pack` of the folder, sync included, in a process of its own
read    `bale bench --stages read`: stored bytes of every sample, checksums compared; in the shards' order, and shuffled
train   `bale bench --stages train`: batches of 256, decoded, RandomResizedCrop(224), flip, uint8, shuffled

Warm page cache. Layouts that hold pixels are packed with --size, so their images are of other bytes than the rest's:
what counts there is images a second. All are packed in one shuffled order, so that copies of an image do not lie side by
side, where they would compress to nothing. Rounds are interleaved; a ratio is the median over the rounds of the ratio to tar.plain
within a round.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import bench_common
from bench_train import measure_rounds, run

BASE = "tar.plain"
COLUMNS = {"pack": "packing", "read": "reading in order", "shuffled": "reading shuffled", "train": "training"}


class Bench:
    def __init__(self, args, images):
        self.args, self.images = args, images
        self.packs = args.work / "formats"

    def pack(self, layout, keeps_bytes):
        """Seconds from start to synced; the pack is what is read afterwards."""
        out = self.packs / layout
        shutil.rmtree(out, ignore_errors=True)
        os.sync()
        begin = time.monotonic()
        size = [] if keeps_bytes else ["--size", str(self.args.size)]
        subprocess.run([bench_common.BALE, "pack", self.images, out, "--format", layout, "--shard-count", "4",
                        "--shuffle", "1", *size, "--quiet"], check=True)
        os.sync()
        return time.monotonic() - begin

    def rate(self, layout, stage, order):
        """Images a second, of a pass after one that warmed up."""
        result = run([bench_common.BALE, "bench", self.packs / layout, "--stages", stage, "--order", order, "--batch",
                      "256", "--size", "224", "--workers", self.args.workers, "--epochs", "2", "--json"])
        return result["stages"][stage]["images_per_s"]

    def measure(self, row):
        count = len(bench_common.listing(self.images))
        figures = {"pack": count / self.pack(row["name"], row["keeps_bytes"])}
        figures["read"] = self.rate(row["name"], "read", "none")
        figures["shuffled"] = self.rate(row["name"], "read", "full")
        figures["train"] = self.rate(row["name"], "train", "full")
        return figures

    def size(self, layout):
        return sum(path.stat().st_size for path in (self.packs / layout).iterdir())


def ratios(rows, row, column):
    """Of each round in which both succeeded."""
    base = next(one for one in rows if one["name"] == BASE)
    return [own[column] / theirs[column] for own, theirs in zip(row["rounds"], base["rounds"]) if own and theirs]


def cell(values):
    if not values:
        return "-"
    return f"{statistics.median(values):.2f} ({min(values):.2f} .. {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=8, help="copies of each image (8)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", type=int, default=224, help="side of the images of layouts that hold pixels (224)")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--only", help=f"layouts, comma-separated, as in the table; {BASE} is always one")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.work = args.work.resolve()

    known = bench_common.layouts()
    wanted = {BASE, *(name.strip() for name in args.only.split(","))} if args.only else set(known)
    if wanted - set(known):
        parser.error(f"no such layout: {', '.join(sorted(wanted - set(known)))}; there are {', '.join(known)}")
    images = bench_common.replicated(args.folder, args.times, args.work)
    files = bench_common.listing(images)
    num_bytes = sum(len(bench_common.content(path)) for path, _ in files)
    bench = Bench(args, images)
    rows = [{"name": name, "keeps_bytes": keeps, "workers": args.workers, "rounds": [], "error": ""}
            for name, keeps in known.items() if name in wanted]
    measure_rounds(rows, args.rounds, bench.measure)
    result = {"images": len(files), "bytes": num_bytes, "cores": os.cpu_count(), "rounds": args.rounds, "rows": rows}
    for row in rows:
        row["size"] = bench.size(row["name"]) / num_bytes
        row["ratios"] = {column: ratios(rows, row, column) for column in COLUMNS}
    if args.json:
        print(json.dumps(result, indent=2))
        return 1 if any(row["error"] for row in rows) else 0
    print(f"\nwarm cache, {len(files)} images, {num_bytes / 1e6:.0f} MB, {os.cpu_count()} cores, "
          f"{args.workers} workers, medians of {args.rounds} rounds\n")
    print("| | size | " + " | ".join(COLUMNS.values()) + " |\n|---|" + "---|" * (1 + len(COLUMNS)))
    for row in rows:
        print(f"| `{row['name']}` | {row['size']:.2f} | " + " | ".join(map(cell, row["ratios"].values())) + " |")
    print()
    base = next(row for row in rows if row["name"] == BASE)
    for column, title in COLUMNS.items():
        values = [one[column] for one in base["rounds"] if one]
        if values:
            print(f"{BASE}, {title}: {statistics.median(values):,.0f} images/s")
    return 1 if any(row["error"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
