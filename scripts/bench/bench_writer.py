#!/usr/bin/env python3
"""Times writing samples one by one, from a Python program, with bale.Writer and with what people use today.

Every contender gets the same bytes: the images of FOLDER/CLASS/IMAGE in memory, --times over, each with its label and a small
JSON text. It runs in a process of its own, followed by a sync that is part of its time; making the samples is not. Rounds
are interleaved; what is printed is the median over the rounds, and the median of the ratio to writing the same bytes into one
plain file in the same round. Writers that are not installed, or fail, are left out and named. bale also checksums every field, indexes
every shard and syncs each before it gets its name.

The best way to run it: an environment of its own with all of them (2026: on Python 3.11), on a machine with nothing else to do:

    python3 -m venv /tmp/writers && /tmp/writers/bin/pip install numpy webdataset lmdb array_record==0.8.6 litdata==0.2.17 \\
        mosaicml-streaming==0.13.0 transformers==4.40.2 tokenizers==0.19.1 huggingface-hub==0.23.5 'setuptools<81'
    PYTHONPATH=build/python /tmp/writers/bin/python scripts/bench/bench_writer.py FOLDER
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

from bench_common import content, listing

SHARD_BYTES = 64 << 20


# --- contenders: each takes (samples, directory to write to); a sample is (key, image, label, text)

def plain_file(samples, out):
    with open(f"{out}/x", "wb") as file:
        for _, image, _, text in samples:
            file.write(image)
            file.write(text)


def bale_with(states=0, many=0, **options):
    """`states`: a state per this many samples; `many`: samples per add_many(), instead of add()."""
    def run(samples, out):
        import bale
        with bale.Writer(f"{out}/x", shard_size=SHARD_BYTES, **options) as writer:
            for start in range(0, len(samples) if many else 0, many or 1):
                keys, images, labels, texts = zip(*samples[start:start + many])
                writer.add_many(keys, {"jpg": images, "json": texts}, labels)
            if many:
                return
            for number, (key, image, label, text) in enumerate(samples, 1):
                writer.add(key, {"jpg": image, "json": text}, label)
                if states and number % states == 0:
                    writer.state()
    return run


def webdataset_writer(samples, out):
    import webdataset
    with webdataset.ShardWriter(f"{out}/x-%06d.tar", maxsize=SHARD_BYTES, maxcount=1 << 30, verbose=0) as writer:
        for key, image, label, text in samples:
            writer.write({"__key__": key, "jpg": image, "cls": label, "json": text})


def mosaicml_writer(samples, out):
    from streaming import MDSWriter
    columns = {"key": "str", "jpg": "bytes", "cls": "int", "json": "bytes"}
    with MDSWriter(out=f"{out}/x", columns=columns, size_limit=SHARD_BYTES, hashes=["xxh64"]) as writer:
        for key, image, label, text in samples:
            writer.write({"key": key, "jpg": image, "cls": label, "json": text})


def array_record_writer(samples, out):
    from array_record.python.array_record_module import ArrayRecordWriter
    writer = ArrayRecordWriter(f"{out}/x.array_record", "group_size:1,uncompressed")
    for key, image, label, text in samples:
        writer.write(b"\0".join([key.encode(), b"%d" % label, text, image]))
    writer.close()


def litdata_writer(samples, out):
    from litdata.streaming.writer import BinaryWriter
    writer = BinaryWriter(f"{out}/x", chunk_bytes=SHARD_BYTES)
    os.makedirs(f"{out}/x", exist_ok=True)
    for number, (key, image, label, text) in enumerate(samples):
        writer.add_item(number, {"key": key, "jpg": image, "cls": label, "json": text})
    writer.done()
    writer.merge(1)


def py_lmdb(samples, out):
    import lmdb
    env = lmdb.open(f"{out}/x.lmdb", subdir=False, map_size=1 << 40)
    for start in range(0, len(samples), 1000):
        with env.begin(write=True) as transaction:
            for key, image, label, text in samples[start:start + 1000]:
                transaction.put(key.encode(), b"%d\0" % label + text + b"\0" + image, append=True)
    env.sync(True)
    env.close()


BASE = "plain file"
CONTENDERS = {
    BASE: (plain_file, None),
    "bale tar": (bale_with(format="tar"), "bale"),
    "bale tar, a state per 1000": (bale_with(format="tar", states=1000), "bale"),
    "bale tar, one job": (bale_with(format="tar", jobs=1), "bale"),
    "bale lmdb": (bale_with(format="lmdb"), "bale"),
    "bale hdf5": (bale_with(format="hdf5"), "bale"),
    "bale tfrecord": (bale_with(format="tfrecord"), "bale"),
    "bale tar, add_many": (bale_with(format="tar", many=1000), "bale"),
    "bale lmdb, add_many": (bale_with(format="lmdb", many=1000), "bale"),
    "bale hdf5, add_many": (bale_with(format="hdf5", many=1000), "bale"),
    "bale tfrecord, add_many": (bale_with(format="tfrecord", many=1000), "bale"),
    "webdataset ShardWriter": (webdataset_writer, "webdataset"),
    "mosaicml MDSWriter": (mosaicml_writer, "streaming"),
    "LitData BinaryWriter": (litdata_writer, "litdata"),
    "array_record": (array_record_writer, "array_record"),
    "py-lmdb": (py_lmdb, "lmdb"),
}


# --- timing

def samples_of(folder, times):
    files = [(content(path), label) for path, label in listing(folder)]
    return [(f"{number:08d}", *files[number % len(files)], b'{"number": %d, "source": "bench"}' % number)
            for number in range(times * len(files))]


def run_one(name, folder, times, out):
    """In a process of its own: prints the seconds from the first sample until everything is synced."""
    write, module = CONTENDERS[name]
    samples = samples_of(folder, times)
    if module is not None:
        importlib.import_module(module)
    os.sync()
    begin = time.monotonic()
    write(samples, out)
    os.sync()
    print(time.monotonic() - begin)


def time_one(name, folder, times, out):
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    command = [sys.executable, __file__, "--run-one", name, str(folder), str(times), str(out)]
    seconds = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
    shutil.rmtree(out)
    return seconds


def measure(names, folder, times, work, rounds):
    """Seconds by name, and why the others failed, by name: one that does not run must not end the run of the others."""
    seconds, failed = {name: [] for name in names}, {}
    for number in range(rounds):
        for name in names[number % len(names):] + names[:number % len(names)]:
            if name in failed:
                continue
            try:
                seconds[name].append(time_one(name, folder, times, work / "out"))
            except subprocess.CalledProcessError as error:
                if name == BASE or name.startswith("bale"):
                    raise SystemExit(f"{name}: {error.stderr}") from None
                failed[name] = (error.stderr.strip() or "no message").splitlines()[-1]
    return {name: taken for name, taken in seconds.items() if name not in failed}, failed


def main():
    if len(sys.argv) == 6 and sys.argv[1] == "--run-one":
        run_one(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=20, help="samples per image (20)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("bale-bench"), help="directory to work in")
    parser.add_argument("--only", action="append", help="names of contenders; may be repeated")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    missing = [name for name, (_, module) in CONTENDERS.items() if module and importlib.util.find_spec(module) is None]
    wanted = [BASE, *(options.only or [name for name in CONTENDERS if name != BASE])]
    names = [name for name in dict.fromkeys(wanted) if name not in missing]
    seconds, failed = measure(names, options.folder, options.times, options.work, options.rounds)
    samples = samples_of(options.folder, options.times)
    num_bytes = sum(len(image) + len(text) for _, image, _, text in samples)
    rows = [{"name": name, "seconds": round(statistics.median(times), 3),
             "samples_per_second": round(len(samples) / statistics.median(times)),
             "megabytes_per_second": round(num_bytes / statistics.median(times) / 1e6),
             "ratio_to_plain_file": round(statistics.median(base / own for base, own in zip(seconds[BASE], times)), 2)}
            for name, times in seconds.items()]
    if options.json:
        print(json.dumps({"samples": len(samples), "bytes": num_bytes, "rounds": options.rounds, "missing": missing, "failed": failed, "rows": rows}))
        return 0
    print(f"{len(samples)} samples, {num_bytes / 1e6:.0f} MB, {options.rounds} rounds; not installed: {', '.join(missing) or 'none'}")
    for name, why in failed.items():
        print(f"{name}: left out, because it failed: {why}")
    for row in rows:
        print(f"{row['name']:28} {row['seconds']:8.2f} s {row['samples_per_second']:8} samples/s "
              f"{row['megabytes_per_second']:6} MB/s  {row['ratio_to_plain_file']:5} of plain file")
    return 0


if __name__ == "__main__":
    sys.exit(main())
