#!/usr/bin/env python3
"""Times feeding a trainer with bale and with what people use today: warm cache, side by side.

Everyone turns the same images into batches of 256: decode, RandomResizedCrop(224), random flip, uint8. bale reads its
packs of every format, plain, with seek points next to them and as planes (`bale bench --stages train --json`); the others run in
the environment of --python, in scripts/bench/bench_train_peers.py, once with each number of workers (bale with the first one
only). Each run is a fresh process; a second epoch is timed as a whole and every batch touched. Rounds are interleaved,
and a ratio is the median over the rounds of the ratio within a round, to the peer at the number of workers that was its
best in that round. Memory is the PSS of all processes, anonymous and shared: the page cache of mapped files does not
count.
Peers that are not installed are left out and named.

FFCV re-encodes what it packs. `ffcv` is its reader on a .beton with the original JPEG bytes (write mode jpg, the
encoder replaced), `ffcv-reencoded` on what its writer makes by itself (write mode jpg, quality 90); the latter has
less to decode and is not counted among the peers on original bytes.
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

PEERS = pathlib.Path(__file__).with_name("bench_train_peers.py")
BALE_FORMATS = ["tar", "lmdb", "hdf5"]
# {name: (format, more options of `bale pack`)}
STORED = {"": [], " seek points": ["--seek-points"], " planes": ["--jpeg-code", "planes"]}
OURS = {f"bale {name}{suffix}": (name, options) for suffix, options in STORED.items() for name in BALE_FORMATS}
SHARDS = 12  # so that 2, 3 and 4 workers of a peer that shares shards out have equal parts
OTHER_BYTES = {"ffcv-reencoded"}
TIMEOUT_S = 600


def say(line):
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def run(command):
    """The JSON object on the last line, or an error in one line."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=TIMEOUT_S,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "BENCH_STARTED": repr(time.time())})
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"exit {done.returncode}: {last}")
    return json.loads(done.stdout[done.stdout.index("{"):])


class Bench:
    def __init__(self, args, images):
        self.args, self.images = args, images
        self.packs = args.work / f"packs-{args.times}"

    def peers(self):
        """{name: needs a pack of its own} of the installed ones, and the others with what they lack."""
        listed = json.loads(subprocess.check_output([self.args.python, PEERS, "--list"]))
        return ({name: row["packs"] for name, row in listed.items() if not row["missing"]},
                {name: row["missing"] for name, row in listed.items() if row["missing"]})

    def make(self, name, write):
        """Calls write(directory) unless an earlier run has."""
        directory = self.packs / name
        if not (directory / "done").exists():
            shutil.rmtree(directory, ignore_errors=True)
            say(f"packing for {name}")
            write(directory)
            (directory / "done").touch()

    @staticmethod
    def pack_of(name):
        return name.removeprefix("bale ").replace(" ", "-")

    def pack_bale(self, name):
        layout, options = OURS[name]
        self.make(self.pack_of(name), lambda directory: subprocess.run(
            [bench_common.BALE, "pack", self.images, directory, "--format", layout, "--shard-count", str(SHARDS),
             "--quiet", *options], check=True))

    def pack_peer(self, name):
        subprocess.run([self.args.python, PEERS, name, "--make", self.images, self.packs], check=True,
                       capture_output=True)

    def run_bale(self, name, workers):
        result = run([bench_common.BALE, "bench", self.packs / self.pack_of(name), "--stages", "train", "--batch", "256", "--size",
                      "224", "--workers", workers, "--epochs", "2", "--json"])
        return {key: result[key] for key in ("images_per_s", "first_batch_s", "pss_mb", "cpu_s_per_1000")}

    def run_peer(self, name, workers):
        return run([self.args.python, PEERS, name, "--workers", workers, self.images, self.packs])


def best_of_round(rows, name, number):
    return max(row["rounds"][number]["images_per_s"] for row in rows
               if row["name"] == name and row["rounds"][number] is not None)


def ratio(rows, ours, theirs):
    """Median and extremes of ours to the fastest of theirs, round by round; None where no round has both."""
    ratios = []
    for number in range(len(rows[0]["rounds"])):
        try:
            own = best_of_round(rows, ours, number)
            others = [best_of_round(rows, name, number) for name in theirs]
        except ValueError:  # one of them failed in this round
            continue
        ratios.append(own / max(others))
    if not ratios:
        return None
    return {"median": round(statistics.median(ratios), 3), "min": round(min(ratios), 3), "max": round(max(ratios), 3)}


def medians(row):
    rounds = [r for r in row["rounds"] if r is not None]
    if not rounds:
        return None
    return {key: statistics.median(r[key] for r in rounds)
            for key in ("images_per_s", "first_batch_s", "pss_mb", "cpu_s_per_1000")}


def measure_rounds(rows, rounds, measure):
    """Appends measure(row) to row["rounds"] of every row, once a round, in turns that begin with another row each round.
    None where it failed, and why in row["error"]."""
    for number in range(rounds):
        turn = number * len(rows) // rounds
        for row in rows[turn:] + rows[:turn]:
            label = f"{row['name']}, {row['workers']} workers"
            say(f"round {number + 1}/{rounds}: {label}")
            try:
                one = measure(row)
            except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
                row["error"] = str(error)[:200]
                print(f"{label}: {row['error']}", file=sys.stderr)
                one = None
            row["rounds"].append(one)
    say("")


def print_tables(result):
    print(f"\nwarm cache, {result['images']} images, {result['bytes'] / 1e6:.0f} MB, {result['cores']} cores, "
          f"medians of {result['rounds']} rounds\n")
    print("| | workers | img/s | CPU s / 1,000 | first batch, s | memory, MB |")
    print("|---|---|---|---|---|---|")
    for row in sorted(result["rows"], key=lambda row: -(row["median"] or {"images_per_s": 0})["images_per_s"]):
        middle = row["median"]
        if middle is None:
            print(f"| {row['name']} | {row['workers']} | failed: {row['error']} | | | |")
            continue
        print(f"| {row['name']} | {row['workers']} | {middle['images_per_s']:,.0f} | {middle['cpu_s_per_1000']:.2f} | "
              f"{middle['first_batch_s']:.2f} | {middle['pss_mb']:.0f} |")
    if not result["ratios"]:
        return
    ours = list(next(iter(result["ratios"].values())))
    print("\n| x as fast as (min .. max) | " + " | ".join(ours) + " |")
    print("|---|" + "---|" * len(ours))
    for name, cells in result["ratios"].items():
        texts = [f"{c['median']:.2f} ({c['min']:.2f} .. {c['max']:.2f})" if c else "-" for c in cells.values()]
        print(f"| {name} | " + " | ".join(texts) + " |")


def ratios_of(rows, names, peers):
    """{label: {ours: ratio}}: to each peer, and to the fastest peer on original bytes. Empty without any of ours."""
    ours = [name for name in OURS if name in names]
    present = [name for name in peers if name in names]
    compared = {name: [name] for name in present}
    original = [name for name in present if name not in OTHER_BYTES]
    if original:
        compared["the fastest on original bytes"] = original
    if not ours:
        return {}
    return {label: {own: ratio(rows, own, theirs) for own in ours} for label, theirs in compared.items()}


def argument_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=20, help="copies of each image (20)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", default="2,3", help="numbers of workers, comma-separated (2,3)")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--python", default=sys.executable, help="Python of the environment with the peers")
    parser.add_argument("--only", help="contenders, comma-separated: names as in the table")
    parser.add_argument("--json", action="store_true")
    return parser


def main():
    parser = argument_parser()
    args = parser.parse_args()
    args.work = args.work.resolve()
    workers = [int(text) for text in args.workers.split(",")]

    images = bench_common.replicated(args.folder, args.times, args.work)
    bench = Bench(args, images)
    peers, missing = bench.peers()
    for name, modules in missing.items():
        print(f"left out: {name} ({', '.join(modules)} not installed in {args.python})", file=sys.stderr)
    names = [*OURS, *peers]
    if args.only:
        wanted = [name.strip() for name in args.only.split(",")]
        unknown = set(wanted) - set(names) - set(missing)
        if unknown:
            parser.error(f"no such contender: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
        names = [name for name in names if name in wanted]
    for name, (_, options) in OURS.items():
        if name in names or not options:  # the peers read the plain ones too
            bench.pack_bale(name)
    for name in names:
        if peers.get(name):
            bench.make(name, lambda _, name=name: bench.pack_peer(name))
    files = bench_common.listing(images)
    for path, _ in files:
        bench_common.content(path)

    rows = [{"name": name, "workers": count, "rounds": [], "error": ""}
            for name in names for count in (workers[:1] if name in OURS else workers)]

    def measure(row):
        if row["name"] in OURS:
            return bench.run_bale(row["name"], row["workers"])
        return bench.run_peer(row["name"], row["workers"])

    measure_rounds(rows, args.rounds, measure)
    for row in rows:
        row["median"] = medians(row)
    result = {"images": len(files), "bytes": sum(os.path.getsize(path) for path, _ in files), "cores": os.cpu_count(),
              "rounds": args.rounds, "rows": rows, "ratios": ratios_of(rows, names, peers)}
    if args.json:
        print(json.dumps(result, indent=2))
    else:
        print_tables(result)
    return 1 if any(row["error"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
