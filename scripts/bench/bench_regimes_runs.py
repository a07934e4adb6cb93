#!/usr/bin/env python3
"""One measurement of bench_regimes.py, in a process and an environment of its own. Prints one JSON object.

    bench_regimes_runs.py --list                                        contenders, and the modules that each lacks
    bench_regimes_runs.py train RECIPE CONTENDER WORKERS FOLDER PACK    a whole epoch of a training pipeline
    bench_regimes_runs.py single CONTENDER PACK SECONDS                 samples of one thread, in random order
"""
import functools
import importlib.util
import json
import os
import random
import sys
import time

import bench_train_peers as peers

SMALL = 32
COLOR = dict(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)


def side_of(recipe):
    return SMALL if recipe == "small" else peers.SIDE


# --- the recipes: those of bale, of torchvision on tensors or PIL images, and of DALI

def bale_transform(recipe):
    from bale import transforms
    if recipe == "evaluation":
        return transforms.val(peers.SIDE, resize=256)
    if recipe == "color":
        return transforms.train(peers.SIDE, jitter=tuple(COLOR.values()), gray=0.2)
    return transforms.train(side_of(recipe))


def torchvision_transform(recipe, *more):
    import torch
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    if recipe == "evaluation":
        return v2.Compose([v2.Resize(256, antialias=True), v2.CenterCrop(peers.SIDE), *more])
    color = [v2.ColorJitter(**COLOR), v2.RandomGrayscale(0.2)] if recipe == "color" else []
    return v2.Compose([v2.RandomResizedCrop(side_of(recipe), antialias=True), v2.RandomHorizontalFlip(), *color, *more])


def dali_images(recipe, stored):
    """Within a pipeline. Its color operations are one linear map per image, so they are cheaper than torchvision's."""
    from nvidia.dali import fn, types
    linear = dict(antialias=True, interp_type=types.INTERP_LINEAR)
    if recipe == "evaluation":
        images = fn.decoders.image(stored, device="cpu", output_type=types.RGB)
        return fn.crop(fn.resize(images, resize_shorter=256, **linear), crop=(peers.SIDE, peers.SIDE))
    images = fn.decoders.image_random_crop(stored, device="cpu", output_type=types.RGB)
    images = fn.resize(images, size=(side_of(recipe), side_of(recipe)), **linear)
    images = fn.flip(images, horizontal=fn.random.coin_flip())
    if recipe != "color":
        return images
    factor = functools.partial(fn.random.uniform, range=(0.6, 1.4))
    kept = fn.cast(1 - fn.random.coin_flip(probability=0.2), dtype=types.FLOAT)
    return fn.color_twist(images, brightness=factor(), contrast=factor(), saturation=factor() * kept,
                          hue=fn.random.uniform(range=(-36.0, 36.0)))


# --- contenders: each takes (recipe, folder, pack, workers) and gives an object whose iteration is one epoch

def bale_torch(recipe, folder, pack, workers):
    import bale.torch
    return peers.Images(bale.torch.Loader(pack, peers.BATCH, workers=workers, seed=1, transform=bale_transform(recipe)))


def torchvision_tensors(recipe, folder, pack, workers):
    from torchvision.datasets import ImageFolder
    return peers.torch_loader(ImageFolder(folder, torchvision_transform(recipe), loader=peers.decode_file), workers)


def torchvision_pillow(recipe, folder, pack, workers):
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2
    return peers.torch_loader(ImageFolder(folder, torchvision_transform(recipe, v2.PILToTensor())), workers)


def dali(recipe, folder, pack, workers):
    return peers.Dali(workers, lambda fn: fn.readers.file(file_root=folder, random_shuffle=True, name="reader"),
                      functools.partial(dali_images, recipe))


CONTENDERS = {
    "bale": (bale_torch, ["torch", "bale"]),
    "torchvision, tensors": (torchvision_tensors, ["torch", "torchvision"]),
    "torchvision, Pillow": (torchvision_pillow, ["torch", "torchvision", "PIL"]),
    "DALI": (dali, ["nvidia.dali"]),
}


# --- single samples

def bale_samples(pack):
    import bale
    dataset = bale.Dataset(pack)
    return len(dataset), dataset.read_image


def bale_groups(pack):
    """Dataset.read_many() by two threads, 256 samples at a time."""
    import bale
    dataset = bale.Dataset(pack)
    return len(dataset), lambda group: dataset.read_many(group, threads=2)


def lmdb_samples(pack):
    """By py-lmdb, of a pack of bale's with one shard. Nothing is compared."""
    (shard,) = [entry.path for entry in os.scandir(pack) if entry.name.endswith(".lmdb")]
    samples = peers.LmdbSamples(shard, lambda stored: stored)
    samples[0]
    transaction = samples.transaction
    return len(samples), lambda i: transaction.get(b"%08d" % i)


def lmdb_groups(pack):
    """The same, a list of 256 samples at a time: their memory is not in the processor's cache, as that of one sample is."""
    count, read = lmdb_samples(pack)
    return count, lambda group: [read(i) for i in group]


READERS = {"bale": (bale_samples, 1), "bale, read_many": (bale_groups, 256), "py-lmdb": (lmdb_samples, 1),
           "py-lmdb, lists": (lmdb_groups, 256)}


def single(contender, pack, seconds):
    """Samples per second, and processor time, after a pass that warms up."""
    reader, rows = READERS[contender]
    count, read = reader(pack)
    order = random.Random(0).sample(range(count), count)
    if rows > 1:
        order = [order[first:first + rows] for first in range(0, count, rows)]
    for i in order:
        read(i)
    done, cpu, start = 0, time.process_time(), time.monotonic()
    while time.monotonic() - start < seconds:
        for i in order:
            read(i)
        done += count
    return {"images_per_s": done / (time.monotonic() - start), "cpu_s_per_1000": (time.process_time() - cpu) / done * 1000}


def lacking(modules):
    return [module for module in modules if importlib.util.find_spec(module.split(".")[0]) is None]


def main():
    what, *arguments = sys.argv[1:]
    if what == "--list":
        needs = {name: modules for name, (_, modules) in CONTENDERS.items()} | {"py-lmdb": ["lmdb"], "py-lmdb, lists": ["lmdb"]}
        print(json.dumps({name: lacking(modules) for name, modules in needs.items()}))
        return
    if what == "train":
        recipe, name, workers, folder, pack = arguments
        result = peers.measure(functools.partial(CONTENDERS[name][0], recipe), folder, pack, int(workers))
    else:
        result = single(arguments[0], arguments[1], float(arguments[2]))
    print(json.dumps(result), flush=True)
    os._exit(0)  # some peers hang, or complain, when they are torn down in the middle of an epoch


if __name__ == "__main__":
    main()
