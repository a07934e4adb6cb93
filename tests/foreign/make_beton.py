#!/usr/bin/env python3
"""Writes tests/foreign/beton with FFCV's own DatasetWriter: the files that tests/python/interop/test_foreign_beton.py reads.

usage: tests/foreign/make_beton.py [FOLDER]

Written by ffcv 1.0.2 on Debian's torch, with libopencv-dev, libturbojpeg0-dev and pkg-config:
  python3 -m venv --system-site-packages ENV
  ENV/bin/pip install 'numpy==1.24.*' 'numba==0.58.*' 'opencv-python-headless==4.8.*' assertpy terminaltables tqdm psutil wheel
  ENV/bin/pip install --no-deps pytorch_pfn_extras fastargs
  ENV/bin/pip install --no-deps --no-build-isolation ffcv==1.0.2

The writer pads its files to pages of 2 MiB or more. These files have pages of 4 KiB, so the writer's constant MIN_PAGE_SIZE is
lowered. `pages.beton.gz` is a file with the constant as it is.
"""
import gzip
import pathlib
import sys
import tempfile

import numpy as np

CLASSES = 10
EVERYTHING = 3
MIXED = 12
PAGE_BYTES = 4096


def pixels(number, height=12, width=16):
    image = (np.add.outer(np.arange(height) * 9, np.arange(width) * 5)[:, :, None] + [0, 40, 80] + number * 11) % 256
    return image.astype(np.uint8)


def classes(number):
    """As image classification datasets are written: an image and its class."""
    return pixels(number), number % 3


def everything(number):
    """A field of each type, in an order that makes the fields' metadata need padding."""
    return {"photo": pixels(number, 10 + number, 20), "weight": number / 7, "blob": np.arange(number, dtype=np.uint8),
            "meta": {"number": number, "name": "grün", "tags": ["a", None]}, "count": -number,
            "mask": pixels(number + 50, 5, 7 + number), "target": 2**40 + number,
            "points": np.arange(6, dtype=np.int16).reshape(2, 3) - number, "scale": np.float32([[number, 0.5]]),
            "big": (np.arange(4) + number).astype(">u4"), "tensor": np.full((2, 1, 2), number / 3),
            "picture": np.frombuffer(b"\x89PNG\r\n\x1a\n" + bytes(40), np.uint8), "when": np.array([number], "<M8[s]")}


def everything_fields(fields):
    import torch
    return {"photo": fields.RGBImageField("jpg"), "weight": fields.FloatField(), "blob": fields.BytesField(),
            "meta": fields.JSONField(), "count": fields.IntField(), "mask": fields.RGBImageField("raw"),
            "target": fields.IntField(), "points": fields.NDArrayField(np.dtype("int16"), (2, 3)),
            "scale": fields.NDArrayField(np.dtype("float32"), (1, 2)), "big": fields.NDArrayField(np.dtype(">u4"), (4,)),
            "tensor": fields.TorchTensorField(torch.float64, (2, 1, 2)), "picture": fields.BytesField(),
            "when": fields.NDArrayField(np.dtype("<M8[s]"), (1,))}


class Samples:
    def __init__(self, make, count):
        self.make, self.count = make, count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if number >= self.count:
            raise IndexError
        return self.make(int(number))  # the writer counts in numbers of NumPy


def everything_sample(number):
    import torch
    sample = everything(number)
    sample["tensor"] = torch.from_numpy(sample["tensor"])
    return tuple(sample.values())


def write(folder):
    import ffcv.writer
    from ffcv import fields

    class Custom(fields.IntField):
        """A type that only its program knows."""

    def beton(path, columns, samples, page_bytes, workers=1, chunk=100):
        np.random.seed(7)
        ffcv.writer.DatasetWriter(str(path), columns, page_size=page_bytes, num_workers=workers).from_indexed_dataset(
            samples, chunksize=chunk)

    def image_and_label(mode, **options):
        return {"image": fields.RGBImageField(mode, **options), "label": fields.IntField()}

    folder.mkdir(parents=True, exist_ok=True)
    normal = ffcv.writer.MIN_PAGE_SIZE
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "pages.beton"
        beton(path, image_and_label("jpg"), Samples(classes, CLASSES), normal)
        (folder / "pages.beton.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    ffcv.writer.MIN_PAGE_SIZE = PAGE_BYTES
    try:
        beton(folder / "jpg.beton", image_and_label("jpg"), Samples(classes, CLASSES), PAGE_BYTES, workers=2, chunk=3)
        beton(folder / "raw.beton", image_and_label("raw"), Samples(classes, CLASSES), PAGE_BYTES)
        beton(folder / "proportion.beton", image_and_label("proportion", compress_probability=0.5), Samples(classes, MIXED),
              PAGE_BYTES)
        # Odd samples are larger than the threshold.
        beton(folder / "smart.beton", image_and_label("smart", smart_threshold=600),
              Samples(lambda number: (pixels(number, 12, 16 + number % 2), number), MIXED), PAGE_BYTES)
        beton(folder / "everything.beton", everything_fields(fields), Samples(everything_sample, EVERYTHING), PAGE_BYTES)
        beton(folder / "numbers.beton", {"covariate": fields.FloatField(), "label": fields.FloatField()},
              Samples(lambda number: (number + 0.25, -number), 3), PAGE_BYTES)
        beton(folder / "custom.beton", {"special": Custom(), "label": fields.IntField()},
              Samples(lambda number: (number, number), 1), PAGE_BYTES)
    finally:
        ffcv.writer.MIN_PAGE_SIZE = normal


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("beton"))
