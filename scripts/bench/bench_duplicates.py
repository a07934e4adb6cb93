#!/usr/bin/env python3
"""Finds near duplicates in a made set with bale and with imagededup, and times a report over many images.

The set: each image of FOLDER, and copies of it: encoded again at quality 30, of half the size, of 224 x 224 pixels
(distorted), crops of 95, 90 and 80% of its sides, from the center and from a random place, and mirrored. A pair is
right if both images come from the same original. Recall of a kind of copy: the share of copies that are paired with
their original. Precision: the share of the pairs that are right.

imagededup's hashes compare whole images, each at its default distance of 10 bits. It runs in the interpreter given by
--peer, if any. CPU seconds are those of all processes.

    python3 -m venv PEER && PEER/bin/pip install imagededup
    .venv/bin/python scripts/bench/bench_duplicates.py FOLDER --peer PEER/bin/python --many 100000
"""
import argparse
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from bench_common import BALE, listing
from PIL import Image

KINDS = ["quality", "half", "square", "center95", "random95", "center90", "random90", "center80", "random80", "mirrored"]
PEER = """
import json, sys
from imagededup.methods import PHash, DHash, WHash, AHash
method = {"PHash": PHash, "DHash": DHash, "WHash": WHash, "AHash": AHash}[sys.argv[1]](verbose=False)
found = method.find_duplicates(image_dir=sys.argv[2], max_distance_threshold=10, num_enc_workers=0, num_dist_workers=0)
json.dump(found, sys.stdout)
"""


def crop(image, share, across, down):
    width, height = int(image.width * share), int(image.height * share)
    left, top = int((image.width - width) * across), int((image.height - height) * down)
    return image.crop((left, top, left + width, top + height))


def copies(image, draw):
    """(kind, image, JPEG quality) of each copy."""
    yield "quality", image, 30
    yield "half", image.resize((max(1, image.width // 2), max(1, image.height // 2)), Image.Resampling.BICUBIC), 75
    yield "square", image.resize((224, 224), Image.Resampling.BICUBIC), 75
    for share in (0.95, 0.9, 0.8):
        yield f"center{share * 100:.0f}", crop(image, share, 0.5, 0.5), 75
        yield f"random{share * 100:.0f}", crop(image, share, draw.random(), draw.random()), 75
    yield "mirrored", image.transpose(Image.Transpose.FLIP_LEFT_RIGHT), 75


def make_set(folder, out):
    draw = random.Random(0)
    out.mkdir()
    for number, (path, _) in enumerate(listing(folder)):
        image = Image.open(path).convert("RGB")
        (out / f"{number:05}-original.jpg").write_bytes(pathlib.Path(path).read_bytes())
        for kind, copy, quality in copies(image, draw):
            copy.save(out / f"{number:05}-{kind}.jpg", quality=quality)


def timed(command):
    """Standard output, CPU seconds, wall seconds and peak MB of the largest process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]}: status {status}")
    return out, usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1024


def pairs_of_bale(folder, *options):
    out, *cost = timed([str(BALE), "report", str(folder), "--flat", "--json", "--quiet", *options])
    pairs = set()
    for group in json.loads(out)["duplicates"]["groups"]:
        names = [image["key"] for image in group["images"]]
        pairs |= {frozenset((names[pair["whole"]], names[pair["part"]])) for pair in group["pairs"]}
        if group["exact"]:
            pairs |= {frozenset((names[0], name)) for name in names[1:]}
    return pairs, cost


def pairs_of_peer(python, method, folder):
    out, *cost = timed([python, "-c", PEER, method, str(folder)])
    found = json.loads(out[out.index(b"{"):])
    return {frozenset((a.removesuffix(".jpg"), b.removesuffix(".jpg"))) for a, others in found.items() for b in others}, cost


def show(name, pairs, cost, numbers):
    right = sum(len({key.partition("-")[0] for key in pair}) == 1 for pair in pairs)
    found = {kind: sum(frozenset((f"{number}-original", f"{number}-{kind}")) in pairs for number in numbers) for kind in KINDS}
    recalls = [count / len(numbers) for count in found.values()]
    print(f"| {name} | " + " | ".join(f"{100 * recall:.1f}" for recall in recalls) +
          f" | {100 * right / max(1, len(pairs)):.2f} | {cost[0]:.1f} |", flush=True)


def compare(folder, python, work):
    made = work / "made"
    make_set(folder, made)
    numbers = sorted({path.name.partition("-")[0] for path in made.iterdir()})
    print(f"{len(numbers)} images and {len(KINDS)} copies of each; recall in percent, precision in percent, CPU seconds\n")
    print("| | " + " | ".join(KINDS) + " | precision | CPU s |\n|---|" + "---|" * (len(KINDS) + 2))
    show("bale", *pairs_of_bale(made), numbers)
    show("bale --mirrored", *pairs_of_bale(made, "--mirrored"), numbers)
    show("bale --no-crops", *pairs_of_bale(made, "--no-crops"), numbers)
    for method in ("PHash", "DHash", "WHash", "AHash") if python else ():
        show(f"imagededup {method}", *pairs_of_peer(python, method, made), numbers)


def make_many(folder, count, out):
    """Variations of FOLDER's images: other crops, so that each is another picture of the same cost."""
    draw = random.Random(1)
    images = [pathlib.Path(path).read_bytes() for path, _ in listing(folder)]
    for number in range(count):
        directory = out / f"{number % 100:03}"
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{number:07}.jpg"
        if number < len(images):
            path.write_bytes(images[number])
            continue
        image = Image.open(io.BytesIO(images[number % len(images)])).convert("RGB")
        turned = image.rotate(draw.choice((0, 90, 180, 270)), expand=True)
        part = crop(turned, draw.uniform(0.4, 0.8), draw.random(), draw.random()).resize(image.size)
        part.save(path, quality=draw.randint(80, 92))


def time_report(folder, count, work):
    many = work / "many"
    if not many.exists():
        make_many(folder, count, many)
    size = sum(path.stat().st_size for path in many.rglob("*.jpg"))
    print(f"\n`bale report` over {count} images ({size / 1e9:.1f} GB)\n\n| | CPU s | seconds | peak MB |\n|---|---|---|---|")
    for options in (["--no-near"], [], ["--mirrored"]):
        page = work / "page.html"
        _, cpu, wall, memory = timed([str(BALE), "report", str(many), "--quiet", "--force", "-o", str(page), *options])
        print(f"| {' '.join(options) or 'with near duplicates'} | {cpu:.0f} | {wall:.0f} | {memory:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder of class folders of images")
    parser.add_argument("--peer", help="interpreter of an environment with imagededup")
    parser.add_argument("--many", type=int, default=0, help="also time a report over this many images")
    parser.add_argument("--work", type=pathlib.Path, help="directory for the images (default: a temporary one)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bale-bench-") as temporary:
        work = arguments.work or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        compare(arguments.folder, arguments.peer, work)
        if arguments.many:
            time_report(arguments.folder, arguments.many, work)


if __name__ == "__main__":
    main()
