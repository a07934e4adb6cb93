#!/usr/bin/env python3
"""A recipe with fields next to the image, by loaders that take turns: a subprocess of bench_recipes.py.

    bench_recipes_fields.py RECIPE PACK [--workers W] [--batch N] [--rounds R] [--seconds S]
    bench_recipes_fields.py --list      the recipes

The samples of the tar shards in PACK have an image (jpg) and a caption (txt). Each batch has float32 images, N x C x H x W, and a
list of N str. bale reads the tar by position, as does the DataLoader over a dataset with torchvision's transforms; webdataset
streams the shards, in a DataLoader; DALI on the CPU streams them, too, and its captions are made str by the caller. Those that
PYTHON does not have are left out. Prints {loader: images per second of each round}, bale first.
"""
import glob
import importlib.util
import os
import tarfile

import bench_recipes_dali
from bench_recipes_loaders import MEAN, PREFETCH, STD, Turns, by_pillow, has_dali, main

SIDE = 224
SHUFFLED = 1000  # samples that webdataset shuffles among


def shards_of(pack):
    return sorted(glob.glob(f"{pack}/*.tar"))


def transform_of():
    """torchvision's: crop, flip, floats."""
    from torchvision import transforms
    return transforms.Compose([transforms.RandomResizedCrop(SIDE), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                               transforms.Normalize(MEAN, STD)])


class StoredPairs:
    """Two fields of the samples of tar shards by position: their places are read from the headers once, then each by one pread.
    make(bytes, bytes) is what a sample becomes."""

    def __init__(self, pack, fields, make):
        self.make, self.files, pairs = make, {}, {}
        for path in shards_of(pack):
            with tarfile.open(path) as tar:
                for member in tar:
                    field = next((field for field in fields if member.name.endswith(f".{field}")), None)
                    if field is not None:
                        pair = pairs.setdefault(member.name.removesuffix(f".{field}"), {})
                        pair[field] = (path, member.offset_data, member.size)
        self.pairs = [[pair[field] for field in fields] for pair in pairs.values()]

    def __len__(self):
        return len(self.pairs)

    def read(self, place):
        path, offset, size = place
        if path not in self.files:
            self.files[path] = os.open(path, os.O_RDONLY)
        return os.pread(self.files[path], size, offset)

    def __getitem__(self, i):
        return self.make(*map(self.read, self.pairs[i]))


def decoded(sample):
    return by_pillow(sample["jpg"]), sample["txt"].decode()


# --- loaders: run(rows) is a turn of at least so many images, and returns their number

class TorchLoader:
    """A DataLoader over a dataset with positions."""

    def __init__(self, dataset, batch, workers, count):
        import torch
        self.count = count
        self.turns = Turns(len(dataset))
        self.loader = torch.utils.data.DataLoader(dataset, batch, sampler=self.turns, num_workers=workers, drop_last=True,
                                                  persistent_workers=True, prefetch_factor=PREFETCH)

    def run(self, rows):
        self.turns.rows = rows
        return self.count(self.loader)


class Epochs:
    """A turn is as many whole epochs of `loader` as it takes."""

    def count(self, batches):
        return count_rows(batches)

    def run(self, rows):
        done = 0
        while done < rows:
            done += self.count(self.batches())
        return done


class BaleLoader(Epochs):
    def __init__(self, pack, batch, workers):
        import bale.torch as bt
        from bale.transforms import translate
        self.loader = bt.Loader(pack, batch, workers=workers, seed=1, drop_last=True, prefetch=PREFETCH * workers,
                                fields={"caption": "txt"}, transform=translate(transform_of(), layout="nchw"))

    def batches(self):
        return ((images, fields["caption"]) for images, _, fields in self.loader)


class WebDatasetLoader(Epochs):
    def __init__(self, pack, batch, workers):
        import torch
        import webdataset
        transform = transform_of()
        shards = shards_of(pack)
        samples = webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False).shuffle(SHUFFLED)
        dataset = samples.map(decoded).map_tuple(transform)
        self.loader = torch.utils.data.DataLoader(dataset.batched(batch, partial=False), None, num_workers=workers,
                                                  persistent_workers=True, prefetch_factor=PREFETCH)

    def batches(self):
        return self.loader


class DaliLoader(bench_recipes_dali.DaliLoader):
    """Its captions are arrays of bytes."""

    def __init__(self, pack, batch, workers):
        from nvidia.dali import fn, pipeline_def, types

        @pipeline_def(batch_size=batch, num_threads=workers, device_id=None, prefetch_queue_depth=PREFETCH)
        def pipeline():
            stored, captions = fn.readers.webdataset(paths=shards_of(pack), ext=["jpg", "txt"], random_shuffle=True)
            images = fn.decoders.image_random_crop(stored, device="cpu", output_type=types.RGB)
            images = fn.resize(images, size=(SIDE, SIDE), antialias=True, interp_type=types.INTERP_LINEAR)
            floats = fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mean=[255 * m for m in MEAN],
                                              std=[255 * s for s in STD], mirror=fn.random.coin_flip())
            return floats, captions

        self.pipeline, self.batch = pipeline(), batch
        self.pipeline.build()

    def batches(self, rows):
        import numpy
        for _ in range(-(-rows // self.batch)):
            images, captions = self.pipeline.run()
            texts = [bytes(numpy.asarray(captions[i])).decode() for i in range(self.batch)]
            yield numpy.asarray(images.as_tensor()), texts

    def run(self, rows):
        return count_rows(self.batches(rows))


def captioned(transform):
    return lambda image, caption: (transform(by_pillow(image)), caption.decode())


def count_rows(batches):
    """Some values of each image are touched, and each caption."""
    rows, checksum = 0, 0.0
    for images, captions in batches:
        checksum += float(images[:, 0, ::32, ::32].sum()) + sum(map(len, captions))
        if len(captions) != len(images) or not all(isinstance(caption, str) and caption for caption in captions):
            raise SystemExit("a batch has an image without its caption")
        rows += len(images)
    return rows


def loaders_of(_, args):
    given = (args.pack, args.batch, args.workers)
    pairs = StoredPairs(args.pack, ("jpg", "txt"), captioned(transform_of()))
    found = {"bale": BaleLoader(*given), "torchvision, Pillow": TorchLoader(pairs, args.batch, args.workers, count_rows)}
    if importlib.util.find_spec("webdataset") is not None:
        found["webdataset, Pillow"] = WebDatasetLoader(*given)
    if has_dali():
        found["DALI"] = DaliLoader(*given)
    return found


if __name__ == "__main__":
    main(["image + caption"], loaders_of, __doc__)
