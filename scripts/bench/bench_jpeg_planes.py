#!/usr/bin/env python3
"""How large JPEGs are as planes (formats/image/jpeg/planes/PLANES.md), by quality and subsampling: a folder of images,
and the same images encoded again by Pillow.

usage: bench_jpeg_planes.py FOLDER
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from bench_common import BALE, listing
from PIL import Image

QUALITIES = (70, 75, 80, 85, 90, 95)
SUBSAMPLINGS = ("4:2:0", "4:4:4")


def encoded_again(folder, target, quality, subsampling):
    target.mkdir()
    for number, (path, _) in enumerate(listing(folder)):
        with Image.open(path) as image:
            image.convert("RGB").save(target / f"{number:06d}.jpg", quality=quality, subsampling=subsampling)


def row(name, folder, work, *options):
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


def main(folder):
    print("| JPEGs | kB per image | as planes | stored as planes |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        row("the files", folder, work)
        for subsampling in SUBSAMPLINGS:
            for quality in QUALITIES:
                target = work / f"{quality}-{subsampling.replace(':', '')}"
                encoded_again(folder, target, quality, subsampling)
                row(f"quality {quality}, {subsampling}", target, work, "--flat")


if __name__ == "__main__":
    main(sys.argv[1])
