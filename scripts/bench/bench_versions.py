#!/usr/bin/env python3
"""What versions and layers cost: a dataset with many of them next to a plain one of the same shards.

    PYTHONPATH=build/python python3 scripts/bench/bench_versions.py [--shards 430] [--versions 50] [--shard-samples 40] [--image-bytes 60000]

The dataset gets its last shards one by one from `bale add`, and then five layers: removed samples, labels of a tenth, an embedding and two
scalar fields of all samples, until it has --versions. The plain one has the same shards, by `bale merge --link`. Both take turns:

- opening: bale.Dataset(PATH), and then its first sample
- reading: opening, and every sample by read_many()
- a Loader: an epoch in this process, opened before

Printed are medians in CPU time of the process, and of the ratios of each turn, with quartiles.
"""
import argparse
import io
import pathlib
import random
import statistics
import tempfile
import time

import numpy as np

import bale


def make_images(folder, count, size):
    """JPEGs of this many bytes that differ, in two classes. What is measured is not decoding, so nearly all is a comment."""
    from PIL import Image
    file = io.BytesIO()
    Image.frombytes("RGB", (32, 32), random.Random(1).randbytes(3072)).save(file, "JPEG")
    head, rest = file.getvalue()[:2], file.getvalue()[2:]
    for i in range(count):
        comment = f"{i:08d}".encode().ljust(size - len(head) - len(rest) - 4, b".")
        path = folder / f"{i % 2}" / f"{i:08d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + rest)


def keys_of(folder):
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.glob("*/*.jpg"))


def make_datasets(folder, home, args):
    """HOME/versions, and HOME/plain as it was before the layers."""
    size = args.shard_samples
    adds = args.versions - 1 - 5
    parts = [home / f"part{number}" for number in range(adds + 1)]
    paths = sorted(folder.glob("*/*.jpg"))
    begin = len(paths) - adds * size
    for number, part in enumerate(parts):
        chosen = paths[:begin] if number == 0 else paths[begin + (number - 1) * size:begin + number * size]
        for path in chosen:
            link = part / path.relative_to(folder)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.hardlink_to(path)
    out = home / "versions"
    bale.pack(parts[0], out, shard_samples=size)
    for part in parts[1:]:
        bale.add(out, part)
    bale.merge([out], home / "plain", link=True)
    keys = keys_of(folder)
    draw = random.Random(2)
    removed = set(draw.sample(keys, len(keys) // 1000))
    bale.remove(out, sorted(removed))
    keys = [key for key in keys if key not in removed]
    bale.set_labels(out, {key: draw.randrange(2) for key in draw.sample(keys, len(keys) // 10)})
    numbers = np.random.default_rng(3)
    bale.set_field(out, "clip.npy", numbers.normal(size=(len(keys), 64)).astype(np.float16), keys=keys)
    bale.set_field(out, "aesthetic.txt", numbers.normal(size=len(keys)), keys=keys)
    bale.set_field(out, "split.txt", numbers.integers(0, 9, len(keys)), keys=keys)


def read(path):
    dataset = bale.Dataset(path)
    for begin in range(0, len(dataset), 1000):
        dataset.read_many(range(begin, min(begin + 1000, len(dataset))))


def loader_of(path):
    loader = bale.Loader(path, 256, seed=1, workers=0, transform=bale.transforms.train(32))
    return lambda: [None for _ in loader]


def compare(name, plain, other, rounds, repeats):
    def timed(run):
        begun = time.process_time()
        for _ in range(repeats):
            run()
        return (time.process_time() - begun) / repeats * 1000
    plain(), other()
    times = []
    for number in range(rounds):
        pair = {run: timed(run) for run in ((plain, other) if number % 2 else (other, plain))}
        times.append((pair[plain], pair[other]))
    ratios = statistics.quantiles([b / a for a, b in times], n=4)
    print(f"| {name} | {statistics.median(a for a, _ in times):.2f} ms | {statistics.median(b for _, b in times):.2f} ms "
          f"| {ratios[1]:.2f} ({ratios[0]:.2f}–{ratios[2]:.2f}) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=430)
    parser.add_argument("--versions", type=int, default=50)
    parser.add_argument("--shard-samples", type=int, default=40)
    parser.add_argument("--image-bytes", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--work", type=pathlib.Path, help="keeps the datasets there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = args.work or pathlib.Path(temporary)
        plain, other = home / "plain", home / "versions"
        if not other.exists():
            make_images(home / "images", args.shards * args.shard_samples, args.image_bytes)
            make_datasets(home / "images", home, args)
        print(f"{args.shards} shards of {args.shard_samples} samples, {len(bale.versions(other))} versions\n")
        print("| | plain | versions and layers | ratio |\n|---|---|---|---|")
        compare("opening", lambda: bale.Dataset(plain), lambda: bale.Dataset(other), args.rounds, 20)
        compare("opening, first sample", lambda: bale.Dataset(plain)[0], lambda: bale.Dataset(other)[0], args.rounds, 20)
        compare("reading", lambda: read(plain), lambda: read(other), args.rounds, 1)
        compare("a Loader", loader_of(plain), loader_of(other), args.rounds, 1)


if __name__ == "__main__":
    main()
