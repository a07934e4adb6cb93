#!/usr/bin/env python3
"""Writes tests/foreign/mds with MosaicML's own MDSWriter: the shards that tests/python/interop/test_foreign_mds.py reads.

usage: tests/foreign/make_mds.py [FOLDER]

Written by mosaicml-streaming 0.13.0 on Debian's torch:
  python3 -m venv --system-site-packages ENV
  ENV/bin/pip install --no-deps mosaicml-streaming==0.13.0 python-snappy cramjam Brotli zstd xxhash catalogue filelock tqdm
The package imports the clients of all clouds and transformers, none of which its writer uses: they may be missing.
"""
import importlib.abc
import importlib.machinery
import io
import json
import pathlib
import shutil
import sys
import types

import numpy as np
from PIL import Image

UNUSED = {"azure", "boto3", "botocore", "google", "matplotlib", "oci", "paramiko", "transformers"}


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets a package import what is not installed: a module in which every name is an empty class.
    Python's own names, like `__file__`, stay missing: `inspect` goes through all modules."""

    def __init__(self, names=frozenset(UNUSED)):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.names else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = self.empty_class
        return module

    @staticmethod
    def empty_class(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})

    def exec_module(self, module):
        pass


def import_streaming():
    """The package; tests/python/parquet/test_python_sinks.py reads with it."""
    finder = Absent()
    sys.meta_path.append(finder)
    try:
        import streaming
    finally:
        sys.meta_path.remove(finder)
    return streaming


def merge_indexes(folder, names):
    """What streaming.base.util.merge_index(folder) writes: the index.json of the directories `names` in one, with the shards' names
    below `folder`. tests/python/interop/test_foreign_mds.py compares it with the package's."""
    shards = []
    for name in names:
        for shard in json.loads((folder / name / "index.json").read_text())["shards"]:
            for kind in ("raw_data", "zip_data", "raw_meta", "zip_meta"):
                if shard.get(kind):
                    shard[kind]["basename"] = f"{name}/{shard[kind]['basename']}"
            shards.append(shard)
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))


def image(number, mode="RGB"):
    pixels = (np.add.outer(np.arange(12) * 9, np.arange(16) * 5)[:, :, None] + [0, 40, 80] + number * 11) % 256
    return Image.fromarray(pixels.astype(np.uint8)).convert(mode)


def encoded(picture, kind):
    data = io.BytesIO()
    picture.save(data, kind)
    return data.getvalue()


def classes(number):
    """As image classification datasets are written: a JPEG, its class, its name."""
    return {"image": encoded(image(number), "JPEG"), "label": number % 3, "filename": f"class_{number % 3}/img.{number}.JPEG"}


def everything(number):
    """A column of each kind of encoding."""
    return {"img": image(number), "mask": image(number, "L"), "y": np.uint16(number * 1000), "caption": f"Bild {number} – grün",
            "meta": {"number": number, "tags": ["a", None]}, "weight": np.float64(number / 7), "half": np.float16(number + 0.5),
            "points": np.arange(number * 2 + 2, dtype=np.int16).reshape(-1, 2),
            "box": np.array([number, 2, 300, 4], dtype=np.float32), "fixed": np.full((2, 3), number, dtype=np.uint8),
            "digits": number * 10**20, "blob": bytes([number, 0, 255]), "anything": {"pickled": number}}


EVERYTHING = {"img": "pil", "mask": "png", "y": "uint16", "caption": "str", "meta": "json", "weight": "float64", "half": "float16",
              "points": "ndarray", "box": "ndarray:float32", "fixed": "ndarray:uint8:2,3", "digits": "str_int", "blob": "bytes",
              "anything": "pkl"}
CLASSES = {"image": "jpeg", "label": "int", "filename": "str"}
# name: columns, sample, number of samples, options of the writer
DATASETS = {
    "classes": (CLASSES, classes, 10, {"size_limit": 3000, "hashes": ["sha1", "xxh64"]}),
    "everything": (EVERYTHING, everything, 3, {}),
    "gray": ({"x": "pil", "class": "int8"}, lambda number: {"x": image(number, "L"), "class": -number}, 3, {}),
    "zstd": (CLASSES, classes, 10, {"size_limit": 3000, "compression": "zstd:7"}),
}


def write(folder, writer=None):
    writer = writer or import_streaming().MDSWriter
    for name, (columns, sample, count, options) in DATASETS.items():
        shutil.rmtree(folder / name, ignore_errors=True)
        with writer(out=str(folder / name), columns=columns, **options) as out:
            for number in range(count):
                out.write(sample(number))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("mds")))
