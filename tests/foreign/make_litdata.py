#!/usr/bin/env python3
"""Writes tests/foreign/litdata with LitData's own writer: the chunks that tests/python/interop/test_foreign_litdata.py reads.

usage: tests/foreign/make_litdata.py [FOLDER]

Written by litdata 0.2.76 on Debian's torch:
  python3 -m venv --system-site-packages ENV
  ENV/bin/pip install --no-deps litdata==0.2.76 lightning-utilities zstd filelock tqdm numpy pillow
The package imports clients of clouds, which its writer does not use: they may be missing.
"""
import pathlib
import shutil
import sys

import numpy as np
from make_mds import Absent, encoded, image


def import_writer():
    import torch
    torch.uint16 = getattr(torch, "uint16", "uint16")  # Debian's torch has no such type
    finder = Absent({"boto3", "botocore", "obstore", "lightning_sdk", "tifffile", "torchvision"})
    sys.meta_path.append(finder)
    try:
        from litdata.streaming.writer import BinaryWriter
    finally:
        sys.meta_path.remove(finder)
    return BinaryWriter


def jpeg(number):
    """An image as Pillow opens it: LitData stores the bytes of the file."""
    from litdata.types import Jpeg
    return Jpeg(bytes=encoded(image(number), "JPEG"))


def classes(number):
    return {"image": jpeg(number), "label": number % 3, "filename": f"class_{number % 3}/img.{number}.JPEG"}


def pair(number):
    """A tuple: its leaves have no names."""
    return (jpeg(number), number % 3)


def everything(number):
    """A leaf of each kind."""
    import torch
    return {"img": image(number), "mask": image(number, "L"), "y": number * 1000, "caption": f"Bild {number} – grün",
            "weight": number / 7, "flag": number == 1, "blob": bytes([number, 0, 255]),
            "points": np.arange(number * 2 + 2, dtype=np.int16).reshape(-1, 2), "row": np.arange(number + 1, dtype=np.float32),
            "tensor": torch.arange(6 + 6 * number).reshape(-1, 2, 3) / 2, "vector": torch.arange(number + 2),
            "nested": {"box": torch.tensor([number, 2, 300, 4], dtype=torch.int32)}, "anything": {1, number}}


# name: sample, number of samples, options of the writer
DATASETS = {
    "classes": (classes, 10, {}),
    "pair": (pair, 4, {}),
    "everything": (everything, 3, {}),
    "chunk": (classes, 10, {"compression": "zstd", "compression_level": "chunk"}),
    "batch": (classes, 10, {"compression": "zstd:7", "compression_batch_size": 2}),
    "sample": (classes, 10, {"compression": "zstd", "compression_level": "sample"}),
}


def write(folder, writer=None):
    writer = writer or import_writer()
    for name, (sample, count, options) in DATASETS.items():
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
        out = writer(str(folder / name), chunk_size=4, **options)
        for number in range(count):
            out[number] = sample(number)
        out.done()
        out.merge()


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("litdata")))
