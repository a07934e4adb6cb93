#!/usr/bin/env python3
"""JPEGs as planes (formats/image/jpeg/planes/PLANES.md): how large they are, and how fast they are read from slow storage.

Without options: the sizes of a folder of images, of the same images encoded again by Pillow by quality and subsampling, also
as progressive files, and of drawn pages of text, as screenshots have them. With --slow: crop and flip by `bale bench` of the folder as it is, with
seek points and as planes, each from the page cache, from the disk with an empty page cache, from a disk that gives --iops
reads a second (needs root), and from an nginx behind a proxy that delays each answer by --ms, with an empty
cache. Rounds are interleaved.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

from bench_cold import make_cold, throttled
from bench_common import BALE, REPO, listing, replicated
from bench_remote_servers import Proxy, Server
from PIL import Image, ImageDraw, ImageFile

QUALITIES = (70, 75, 80, 85, 90, 95)
SUBSAMPLINGS = ("4:2:0", "4:2:2", "4:4:4")
CODES = {"files": [], "seek points": ["--seek-points"], "planes": ["--jpeg-code", "planes"]}
SCREEN = (1280, 800)
ImageFile.MAXBLOCK = 1 << 24  # room for a whole progressive file


# --- sizes

def encoded_again(images, target, **options):
    target.mkdir()
    for number, image in enumerate(images):
        image.save(target / f"{number:06d}.jpg", **options)


def opened(folder):
    for path, _ in listing(folder):
        with Image.open(path) as image:
            yield image.convert("RGB")


def screenshots():
    """Pages of text, dark or light."""
    for number, path in enumerate(sorted((REPO / "docs").glob("*.md"))):
        dark = number % 2 == 0
        image = Image.new("RGB", SCREEN, (30, 30, 46) if dark else "white")
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, 0, SCREEN[0], 28), fill=(70, 90, 160))
        draw.multiline_text((20, 40), path.read_text()[:6000].encode("ascii", "replace").decode(), fill=(220, 220, 220) if dark else "black")
        yield image


def size_row(name, folder, work, *options):
    """The mean size of the JPEGs, that of their fields as a multiple, and how many of the JPEGs are planes."""
    packed = work / "packed"
    shutil.rmtree(packed, ignore_errors=True)
    lines = subprocess.run([BALE, "pack", folder, packed, "--jpeg-code", "planes", *options],
                           capture_output=True, text=True, check=True).stderr
    [kept] = re.findall(r"(\d+) JPEGs stored as planes", lines)
    files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    fields = json.loads((packed / "manifest.json").read_text())["fields"]
    [stored] = [field["stored_bytes"] for field in fields if field["codec"] == "planes"]
    print(f"| {name} | {size / len(files) / 1000:.1f} | {stored / size:.3f} | {kept} of {len(files)} |", flush=True)


def sizes(folder, work):
    print("| JPEGs | kB per image | as planes | stored as planes |\n|---|---|---|---|")
    size_row("the files", folder, work)
    for what, images, options in (("", lambda: opened(folder), {}), ("progressive, ", lambda: opened(folder), {"progressive": True}),
                                  ("screenshots, ", screenshots, {})):
        for subsampling in SUBSAMPLINGS:
            for quality in QUALITIES:
                target = work / "again"
                encoded_again(images(), target, quality=quality, subsampling=subsampling, **options)
                size_row(f"{what}quality {quality}, {subsampling}", target, work, "--flat")
                shutil.rmtree(target)


# --- slow storage

def bench(spec, *options, **env):
    text = subprocess.run([BALE, "bench", spec, "--stages", "train", "--epochs", "1", "--json", "--quiet", *options], check=True,
                          capture_output=True, env=os.environ | env).stdout
    return json.loads(text)


def counted(figures, before, after):
    requests, size = (now - then for then, now in zip(before, after))
    return {"requests": requests / figures["images"], "kb": size / figures["images"] / 1000}


def slow(args, work):
    images = replicated(args.folder, args.times, work)
    packed = {code: work / "buckets" / "bench" / code.replace(" ", "-") for code in CODES}
    for code, options in CODES.items():
        shutil.rmtree(packed[code], ignore_errors=True)
        subprocess.run([BALE, "pack", images, packed[code], "--quiet", *options], check=True, stderr=subprocess.DEVNULL)

    def cold(code, iops=1_000_000):
        with throttled(work, iops) as done:
            make_cold(sorted(packed[code].iterdir()))
            subprocess.run([BALE, "--version"], check=True, capture_output=True)  # the program itself is cold too
            before = done()
            figures = bench(packed[code])
            return figures | counted(figures, before, done())

    with Server("nginx", shutil.which("nginx"), work / "buckets", work) as server, Proxy(server.port, args.ms) as proxy:
        def remote(code):
            shutil.rmtree(work / "cache", ignore_errors=True)
            before = proxy.counts()
            figures = bench(f"s3://bench/{packed[code].name}", "--cache-dir", work / "cache", AWS_ENDPOINT_URL=proxy.url,
                         AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", AWS_REGION="us-east-1")
            return figures | counted(figures, *([counts["requests"], counts["bytes"]] for counts in (before, proxy.counts())))
        ways = {"page cache": lambda code: bench(packed[code]), "cold": cold, f"{args.iops} reads/s": lambda code: cold(code, args.iops), f"{args.ms} ms": remote}
        results = {(way, code): [] for way in ways for code in CODES}
        for _ in range(args.rounds):
            for way, code in results:
                results[way, code].append(ways[way](code))
    print("| | | images/s | to files | first batch, s | MB | CPU s / 1,000 | reads an image | kB read an image |\n" + "|---" * 9 + "|")
    for (way, code), runs in results.items():
        middle = {key: statistics.median(run.get(key, 0) for run in runs)
                  for key in ("images_per_s", "first_batch_s", "pss_mb", "cpu_s_per_1000", "requests", "kb")}
        ratios = [run["images_per_s"] / other["images_per_s"] for run, other in zip(runs, results[way, "files"])]
        print(f"| {way} | {code} | {middle['images_per_s']:.0f} | {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f}) | "
              f"{middle['first_batch_s']:.2f} | {middle['pss_mb']:.0f} | {middle['cpu_s_per_1000']:.3f} | {middle['requests']:.2f} | "
              f"{middle['kb']:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--slow", action="store_true", help="reading from slow storage instead of sizes")
    parser.add_argument("--times", type=int, default=4, help="copies of each image (4)")
    parser.add_argument("--rounds", type=int, default=3, help="(3)")
    parser.add_argument("--iops", type=int, default=300, help="(300)")
    parser.add_argument("--ms", type=int, default=50, help="(50)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:
        work = pathlib.Path(name).resolve()
        slow(args, work) if args.slow else sizes(args.folder, work)


if __name__ == "__main__":
    main()
