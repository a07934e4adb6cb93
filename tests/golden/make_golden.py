#!/usr/bin/env python3
"""Writes a tiny pack of every layout, an unfinished pack and loader states as the built program makes them.

The result goes to tests/golden/VERSION and is committed: every later version must read, verify and resume it
(tests/python/formats/test_golden.py). Run it only for a version whose stored bytes changed, never over an existing folder.
usage: BALE_BUILD_DIR=build PYTHONPATH=build/python tests/golden/make_golden.py
"""
import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("BALE_BUILD_DIR", REPO / "build")).resolve()
PROGRAM = BUILD / "bin" / "bale"
SHIM = BUILD / "tests" / "libbale_test_shim.so"
MTIME = 1_600_000_000  # of every source file: git does not keep times, and a plan knows them

COMMON = ["--shard-samples", "3", "--jobs", "1"]
LAYOUTS = {
    "tar.plain": ["--sidecars", "wds2idx,energon,wids,timm"],
    "tar.gz": [],
    "tar.zst": [],
    "tar.fields": ["--compress", "zstd"],
    "lmdb.plain": [],
    "hdf5.blob": [],
    "hdf5.vlen": [],
    "hdf5.array": ["--size", "8"],
    "tfrecord.example": ["--sidecars", "tfrecord"],
    "recordio.image": [],
    "npy.rgb": ["--size", "8"],
}
ONE_FIELD = {"hdf5.array", "tfrecord.example", "recordio.image", "npy.rgb"}
PIXELS = {"hdf5.array", "npy.rgb"}


def layout_options(name):
    return ["--format", name.replace("tar.fields", "tar.plain"), *LAYOUTS[name]]


def set_times(source):
    for path in sorted(source.rglob("*"), reverse=True):
        os.utime(path, (MTIME, MTIME))


def make_source(source):
    spec = importlib.util.spec_from_file_location("make_images", REPO / "tests" / "support" / "make_images.py")
    images = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(images)
    import numpy
    from PIL import Image
    rng = numpy.random.default_rng(1)
    for number in range(5):
        folder = source / ["ant", "bee"][number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(rng.integers(0, 255, (2, 3, 3), dtype=numpy.uint8)).resize((48, 200))
        image.save(folder / f"image_{number}.jpg", quality=60)
        (folder / f"image_{number}.json").write_text(json.dumps({"number": number}))
    set_times(source)


def pack(arguments, **options):
    return subprocess.run([PROGRAM, "pack", *arguments], **options)


def make_unfinished(source, target):
    """A run that was killed after its first shard was published."""
    for kill_at in range(1, 200):
        shutil.rmtree(target, ignore_errors=True)
        pack([source, target, "--pair", "jpg,json", "--name", "golden", *COMMON],
             env={**os.environ, "LD_PRELOAD": str(SHIM), "BALE_SHIM_KILL_AT": str(kill_at)}, capture_output=True)
        if (target / "golden-000000.tar").exists():
            return
    sys.exit("no kill left an unfinished pack")


def batch_digests(batches):
    """Of each batch's pixels and labels."""
    import numpy
    return [hashlib.sha256(numpy.ascontiguousarray(images).tobytes() + numpy.ascontiguousarray(labels).tobytes()).hexdigest()
            for images, labels in batches]


def state_options():
    return [{"batch_size": 2, "seed": 3}, {"batch_size": 2, "seed": 3, "shuffle": False}, {"batch_size": 1, "repeats": 2}]


def open_loader(dataset, options):
    import bale
    return bale.Loader(str(dataset), transform=bale.transforms.train(16), workers=0, **options)


def loader_states(dataset):
    """States in the middle of an epoch, and what comes after each."""
    states = []
    for options in state_options():
        with open_loader(dataset, options) as loader:
            batches = iter(loader)
            next(batches)
            state = loader.state_dict()
            states.append({"options": options, "state": state, "rest": batch_digests(batches)})
    return states


def main():
    version = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    golden = HERE / version
    if golden.exists():
        sys.exit(f"{golden} exists: a golden folder is never written again")
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "source"
        make_source(source)
        shutil.copytree(source, golden / "source")
        for name in LAYOUTS:
            pair = [] if name in ONE_FIELD else ["--pair", "jpg,json"]
            points = [] if name in PIXELS else ["--seek-points"]
            target = golden / name
            pack([source, target, *pair, *points, "--name", "golden", *COMMON, *layout_options(name)], check=True)
        make_unfinished(source, golden / "unfinished")
    (golden / "loader_states.json").write_text(json.dumps(loader_states(golden / "tar.plain"), indent=1) + "\n")
    digests = {str(path.relative_to(golden)): hashlib.sha256(path.read_bytes()).hexdigest()
               for path in sorted(golden.rglob("*")) if path.is_file()}
    (golden / "sha256.json").write_text(json.dumps(digests, indent=1) + "\n")


if __name__ == "__main__":
    main()
