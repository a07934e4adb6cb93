#!/usr/bin/env python3
"""Times packing a folder of images with bale and with what people use today, warm and cold.

Every contender gets the same files (FOLDER/CLASS/IMAGE, copied --times over into the work directory) and runs in a
process of its own, followed by a sync that is part of its time. Rounds are interleaved; what is printed is the
median over the rounds of the ratio to `cp -r` in the same round, so that a slow minute of the disk hurts all alike.
What lies next to the shards of bale's packs, index and seek points, is counted in bytes.
Cold runs drop the page cache first (needs root). Peers that are not installed are left out and named.

The best way to run it: the tests' environment, .venv/bin/python scripts/bench/bench_pack.py FOLDER
"""
import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

from bench_common import BALE, content, drop_caches, listing, replicated

# --- contenders: each takes (folder, directory to write to)

def bale_with(*options):
    def run(folder, out):
        subprocess.run([BALE, "pack", folder, f"{out}/packed", "--quiet", *options], check=True)
    return run


def cp(folder, out):
    subprocess.run(["cp", "-r", folder, f"{out}/copy"], check=True)


def gnu_tar(folder, out):
    subprocess.run(["tar", "--create", "--file", f"{out}/x.tar", "--directory", folder, "."], check=True)


def webdataset_writer(folder, out):
    import webdataset
    with webdataset.ShardWriter(f"{out}/x-%06d.tar", maxsize=256 << 20, maxcount=1 << 30, verbose=0) as writer:
        for number, (path, label) in enumerate(listing(folder)):
            writer.write({"__key__": f"{number:08d}", "jpg": content(path), "cls": label})


def py_lmdb(folder, out):
    import lmdb
    env = lmdb.open(f"{out}/x.lmdb", subdir=False, map_size=1 << 40)
    files = listing(folder)
    for start in range(0, len(files), 1000):
        with env.begin(write=True) as txn:
            for number, (path, label) in enumerate(files[start:start + 1000], start):
                txn.put(b"%08d" % number, content(path), append=True)
                txn.put(b"%08d.cls" % number, b"%d" % label, append=True)
    env.sync(True)
    env.close()


def h5py_vlen(folder, out):
    import h5py
    import numpy
    files = listing(folder)
    with h5py.File(f"{out}/x.h5", "w", libver="latest") as file:
        images = file.create_dataset("images", (len(files),), dtype=h5py.vlen_dtype(numpy.uint8))
        for number, (path, _) in enumerate(files):
            images[number] = numpy.fromfile(path, numpy.uint8)
        file["labels"] = numpy.array([label for _, label in files])


BASE = "cp -r"
CONTENDERS = {
    BASE: (cp, None),
    "bale tar": (bale_with("--format", "tar"), None),
    "bale lmdb": (bale_with("--format", "lmdb"), None),
    "bale hdf5": (bale_with("--format", "hdf5"), None),
    "bale tar seek points": (bale_with("--format", "tar", "--seek-points"), None),
    "bale lmdb seek points": (bale_with("--format", "lmdb", "--seek-points"), None),
    "bale hdf5 seek points": (bale_with("--format", "hdf5", "--seek-points"), None),
    "GNU tar": (gnu_tar, None),
    "webdataset": (webdataset_writer, "webdataset"),
    "py-lmdb": (py_lmdb, "lmdb"),
    "h5py": (h5py_vlen, "h5py"),
}


# --- timing

def time_one(name, folder, out, cold):
    """Seconds from start to synced, in a fresh process, and bytes of what lies next to the shards, by suffix."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    os.sync()
    if cold:
        drop_caches()
    begin = time.monotonic()
    subprocess.run([sys.executable, __file__, "--run-one", name, str(folder), str(out)], check=True)
    os.sync()
    seconds = time.monotonic() - begin
    beside = {suffix: sum(path.stat().st_size for path in out.rglob(f"*{suffix}")) for suffix in (".bidx", ".bseek")}
    shutil.rmtree(out)
    return seconds, beside


def warm_up(folder):
    for path, _ in listing(folder):
        content(path)


def measure(names, folder, work, rounds, cold):
    seconds, beside = {name: [] for name in names}, {}
    for number in range(rounds):
        order = names[number % len(names):] + names[:number % len(names)]
        for name in order:
            if not cold:
                warm_up(folder)
            taken, beside[name] = time_one(name, folder, work / "out", cold)
            seconds[name].append(taken)
            if sys.stderr.isatty():
                print(f"\r\033[K{'cold' if cold else 'warm'} {number + 1}/{rounds} {name}: {seconds[name][-1]:.2f} s",
                      end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return seconds, beside


def summary(seconds, beside, num_files, num_bytes):
    rows = []
    for name, times in seconds.items():
        ratios = [base / own for base, own in zip(seconds[BASE], times)]
        rows.append({"name": name, "seconds": round(statistics.median(times), 3),
                     "images_per_second": round(num_files / statistics.median(times)),
                     "megabytes_per_second": round(num_bytes / statistics.median(times) / 1e6),
                     "ratio_to_cp": round(statistics.median(ratios), 2),
                     "ratio_min": round(min(ratios), 2), "ratio_max": round(max(ratios), 2),
                     "index_bytes": beside[name][".bidx"], "seek_point_bytes": beside[name][".bseek"]})
    return rows


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--run-one":
        CONTENDERS[sys.argv[2]][0](sys.argv[3], sys.argv[4])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=20, help="copies of each image (20)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--only", help="contenders, comma-separated; cp -r is always one")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    wanted = [n.strip() for n in args.only.split(",")] if args.only else list(CONTENDERS)
    unknown = set(wanted) - set(CONTENDERS)
    if unknown:
        parser.error(f"no such contender: {', '.join(sorted(unknown))}; there are {', '.join(CONTENDERS)}")
    names = [n for n in CONTENDERS if n == BASE or n in wanted]
    missing = [n for n in names if CONTENDERS[n][1] and importlib.util.find_spec(CONTENDERS[n][1]) is None]
    names = [n for n in names if n not in missing]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}", file=sys.stderr)

    images = replicated(args.folder, args.times, args.work)
    num_files = len(listing(images))
    num_bytes = sum(os.path.getsize(path) for path, _ in listing(images))

    result = {"files": num_files, "bytes": num_bytes, "cores": os.cpu_count(), "rounds": args.rounds}
    for cold in (False, True):
        if cold and os.geteuid() != 0:
            print("not root: no cold runs", file=sys.stderr)
            continue
        rows = summary(*measure(names, images, args.work, args.rounds, cold), num_files, num_bytes)
        result["cold" if cold else "warm"] = rows
        if args.json:
            continue
        print(f"\n{'cold' if cold else 'warm'} cache, {num_files} images, {num_bytes / 1e6:.0f} MB, sync included, "
              f"median of {args.rounds} rounds\n")
        print(f"{'':22} {'seconds':>8} {'img/s':>8} {'MB/s':>6} {'x cp -r':>8}   {'(min .. max)':>14} "
              f"{'index, B':>10} {'seek points, B':>16}")
        for row in rows:
            spread = f"({row['ratio_min']:.2f} .. {row['ratio_max']:.2f})"
            print(f"{row['name']:22} {row['seconds']:8.2f} {row['images_per_second']:8} "
                  f"{row['megabytes_per_second']:6} {row['ratio_to_cp']:8.2f}   {spread:>14} "
                  f"{row['index_bytes']:10} {row['seek_point_bytes']:16}")
    if args.json:
        print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
