#!/usr/bin/env python3
"""Reading a packed dataset that is not in memory, next to what the disk gives and next to the folder it was packed from.

Needs root (to empty the page cache) and fio. FOLDER/CLASS/IMAGE is copied --times over and packed in each format.
Without --iops: rounds of `bale read --order full`, checksums compared, each next to fio reading as many bytes of the
same files by random 128 KiB requests, 16 at a time, around the page cache. The program chooses whether to read around the page cache
(--way), as if the machine had --memory bytes. With --iops N the disk is throttled to N reads
a second (cgroup v1, blkio) and `bale read --order block:256,4 --large-transfers` is compared with reading the folder's files in random order.
The page cache is emptied before every run, and a run is refused that finds files of its input still in it.
"""
import argparse
import concurrent.futures
import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

from bench_common import BALE, content, drop_caches, listing, replicated

BLKIO = pathlib.Path("/sys/fs/cgroup/blkio")
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


# --- cold it must be

def cached_pages(path):
    """Pages of the file in the page cache; asking brings none in."""
    size = os.path.getsize(path)
    if size == 0:
        return 0
    with open(path, "rb") as file:
        address = LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap", path)
    pages = ctypes.create_string_buffer((size + mmap.PAGESIZE - 1) // mmap.PAGESIZE)
    try:
        if LIBC.mincore(address, size, pages) != 0:
            raise OSError(ctypes.get_errno(), "mincore", path)
    finally:
        LIBC.munmap(address, size)
    return sum(byte & 1 for byte in pages.raw)


def make_cold(paths):
    """Empties the page cache and checks a sample of the files."""
    drop_caches()
    for path in random.Random(0).sample(paths, min(100, len(paths))):
        if cached_pages(path) > 0:
            sys.exit(f"{path} is still in the page cache: is another program reading it?")


# How `bale read` reads.
WAYS = {"chosen": [], "direct": ["--direct"], "cached": ["--no-direct"]}


# --- contenders: each returns (bytes, images, seconds)

def bale_read(packed, order, jobs, extra=(), memory=None):
    options = ["--order", order, "--shuffle", "1", "--json", *extra] + (["--jobs", str(jobs)] if jobs else [])
    env = os.environ | ({} if memory is None else {"BALE_MEMORY_BYTES": str(memory)})
    rates = json.loads(subprocess.run([BALE, "read", packed, *options], check=True, capture_output=True, env=env).stdout)
    return rates["bytes"], rates["samples"], rates["seconds"]


def fio_random(files, num_bytes):
    command = ["fio", "--name=random", f"--filename={':'.join(map(str, files))}", "--rw=randread", "--bs=128k",
               "--iodepth=16", "--ioengine=libaio", "--direct=1", "--readonly", "--randrepeat=0",
               f"--io_size={num_bytes}", "--output-format=json"]
    job = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["jobs"][0]["read"]
    return job["io_bytes"], 0, job["runtime"] / 1000


def read_folder(paths, threads):
    paths = list(paths)
    random.Random(1).shuffle(paths)
    begin = time.monotonic()
    if threads == 1:
        total = sum(len(content(path)) for path in paths)
    else:
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            total = sum(pool.map(lambda path: len(content(path)), paths))
    return total, len(paths), time.monotonic() - begin


# --- a slow disk

def disk_of(path):
    """MAJOR:MINOR of the whole disk that holds the path: a partition cannot be throttled."""
    device = os.stat(path).st_dev
    block = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if (block / "partition").exists():
        block = block.parent
    return (block / "dev").read_text().strip()


@contextlib.contextmanager
def throttled(path, iops):
    """While it lasts this process and its children get no more than `iops` reads a second of the disk. Gives a function for
    the number of reads and of bytes so far."""
    home = BLKIO / next((line.split(":")[2].strip("/\n") for line in open("/proc/self/cgroup")
                         if "blkio" in line.split(":")[1].split(",")), "")
    group = BLKIO / f"bale-bench-{os.getpid()}"
    group.mkdir()
    try:
        (group / "blkio.throttle.read_iops_device").write_text(f"{disk_of(path)} {iops}")
        (group / "cgroup.procs").write_text(str(os.getpid()))
        def done():
            return [next((int(line.split()[2]) for line in (group / f"blkio.throttle.io_{what}").read_text().splitlines()
                          if line.startswith(f"{disk_of(path)} Read")), 0) for what in ("serviced", "service_bytes")]
        yield done
    finally:
        (home / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


# --- rounds

def pack_all(images, work, formats, times):
    packed = {}
    for name in formats:
        packed[name] = work / f"cold-{times}-{name}"
        if not (packed[name] / "manifest.json").exists():
            shutil.rmtree(packed[name], ignore_errors=True)
            subprocess.run([BALE, "pack", images, packed[name], "--format", name, "--quiet"], check=True)
    return packed


def shards_of(packed):
    manifest = json.loads((packed / "manifest.json").read_text())
    return [packed / shard["file"] for shard in manifest["shards"]]


def rate(run, images):
    num_bytes, num_images, seconds = run
    return num_images / seconds if images else num_bytes / seconds / 1e6


def measure_full(packed, rounds, jobs, way, memory):
    """name -> [(own MB/s, fio's MB/s)], one a round."""
    results = {name: [] for name in packed}
    for number in range(rounds):
        for name in sorted(packed, key=lambda n: (list(packed).index(n) + number) % len(packed)):
            files = shards_of(packed[name])
            make_cold(files)
            own = bale_read(packed[name], "full", jobs, WAYS[way], memory)
            make_cold(files)
            results[name].append((rate(own, False), rate(fio_random(files, own[0]), False)))
    return results


def measure_throttled(packed, paths, work, iops, rounds, jobs):
    """name -> [(own img/s, the folder's img/s)], one a round; the folder's is its best number of threads."""
    results = {name: [] for name in packed}
    with throttled(work, iops):
        for _ in range(rounds):
            folder = []
            for threads in (1, 8, 32):
                make_cold(paths)
                folder.append(rate(read_folder(paths, threads), True))
            for name in packed:
                make_cold(shards_of(packed[name]))
                subprocess.run([BALE, "--version"], check=True, capture_output=True)  # the program itself is cold too
                results[name].append((rate(bale_read(packed[name], "block:256,4", jobs, ["--large-transfers"]), True), max(folder)))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, help="copies of each image (20; 2 with --iops)")
    parser.add_argument("--rounds", type=int, help="(5; 1 with --iops)")
    parser.add_argument("--iops", type=int, help="throttle the disk to this many reads a second")
    parser.add_argument("--way", choices=WAYS, default="chosen", help="around the page cache or through it (default: chosen)")
    parser.add_argument("--memory", type=int, help="bytes of memory that the choice is made for (default: the machine's)")
    parser.add_argument("--jobs", type=int, default=0, help="threads of `bale read` (its default)")
    parser.add_argument("--formats", default="tar,lmdb,hdf5")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("emptying the page cache needs root")
    times = args.times or (2 if args.iops else 20)
    rounds = args.rounds or (1 if args.iops else 5)

    images = replicated(args.folder, times, args.work)
    packed = pack_all(images, args.work, args.formats.split(","), times)
    paths = [path for path, _ in listing(images)]
    if args.iops:
        results = measure_throttled(packed, paths, args.work, args.iops, rounds, args.jobs)
        unit, base = "img/s", "folder"
    else:
        results = measure_full(packed, rounds, args.jobs, args.way, args.memory)
        unit, base = "MB/s", "fio"

    rows = [{"format": name, "own": round(statistics.median(own for own, _ in runs)),
             "base": round(statistics.median(other for _, other in runs)),
             "ratio": round(statistics.median(own / other for own, other in runs), 2),
             "ratio_min": round(min(own / other for own, other in runs), 2),
             "ratio_max": round(max(own / other for own, other in runs), 2)} for name, runs in results.items()]
    if args.json:
        print(json.dumps({"files": len(paths), "iops": args.iops, "unit": unit, "rounds": rounds, "rows": rows}, indent=2))
        return 0
    what = f"block shuffle, {args.iops} reads/s" if args.iops else f"full shuffle, {args.way}"
    print(f"\ncold, {what}, {len(paths)} images, median of {rounds} rounds\n")
    print(f"{'':8} {unit:>8} {base:>8} {'ratio':>7}   {'(min .. max)':>16}")
    for row in rows:
        spread = f"({row['ratio_min']:.2f} .. {row['ratio_max']:.2f})"
        print(f"{row['format']:8} {row['own']:8} {row['base']:8} {row['ratio']:7.2f}   {spread:>16}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
