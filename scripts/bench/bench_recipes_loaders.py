#!/usr/bin/env python3
"""One training recipe by three loaders that take turns: a subprocess of bench_recipes.py.

    bench_recipes_loaders.py RECIPE PACK [--workers W] [--batch N] [--rounds R] [--seconds S]
    bench_recipes_loaders.py --list      the recipes

Prints {loader: images per second of each round}, bale first.
"""
import argparse
import importlib.util
import io
import json
import os
import pathlib
import tarfile
import time

import bench_recipes_dali

PREFETCH = 2  # batches per worker
IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png"}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


# --- recipes: each takes torchvision.transforms.v2 and gives the views' changes to 8-bit pixels, and what follows floats

def one_view(*changes):
    return lambda v2: [[change(v2) for change in changes]]


def crop(size, **options):
    return lambda v2: v2.RandomResizedCrop(size, antialias=True, **options)


def flip(v2):
    return v2.RandomHorizontalFlip()


def colors(*jitter):
    return lambda v2: v2.RandomApply([v2.ColorJitter(*jitter)], 0.8)


def gray(v2):
    return v2.RandomGrayscale(0.2)


def blur(kernel, probability):
    return lambda v2: v2.RandomApply([v2.GaussianBlur(kernel, (0.1, 2.0))], probability)


def solarize(v2):
    return v2.RandomSolarize(128, 0.2)


def simclr(v2):
    view = one_view(crop(224, interpolation=3), flip, colors(0.8, 0.8, 0.8, 0.2), gray, blur(23, 0.5))
    return view(v2) * 2


def dino(v2):
    """DINOv2's, whose blur is torchvision's own, with six local views."""
    def view(size, scale, *more):
        return one_view(crop(size, scale=scale, interpolation=3), flip, colors(0.4, 0.4, 0.2, 0.1), gray, *more)(v2)
    return [*view(224, (0.32, 1.0)), *view(224, (0.32, 1.0), blur(9, 0.9), solarize), *view(96, (0.05, 0.32), blur(9, 0.5)) * 6]


RECIPES = {  # name: (views, probability of erasing)
    "crop and flip": (one_view(crop(224), flip), 0),
    "reference V2": (one_view(crop(176), flip, lambda v2: v2.TrivialAugmentWide()), 0.1),
    "RandAugment": (one_view(crop(224), flip, lambda v2: v2.RandAugment()), 0),
    "SimCLR 2 views": (simclr, 0),
    "DINO 2 + 6 views": (dino, 0),
}


def transforms_of(recipe, from_pillow):
    """One torchvision transform per view."""
    import torch
    from torchvision.transforms import v2
    views, erasing = RECIPES[recipe]
    to_floats = [*([v2.PILToTensor()] if from_pillow else []), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    after = [v2.RandomErasing(erasing)] if erasing else []
    return [v2.Compose([*changes, *to_floats, *after]) for changes in views(v2)]


# --- loaders: run(rows) is a turn of at least so many images, and returns their number

class Stored:
    """The images of tar shards by position: their places are read from the headers once, then each by one pread."""

    def __init__(self, pack, transforms, decode):
        self.transforms, self.decode, self.files, self.places = transforms, decode, {}, []
        for path in sorted(pathlib.Path(pack).glob("*.tar")):
            with tarfile.open(path) as tar:
                self.places += [(str(path), member.offset_data, member.size) for member in tar
                                if pathlib.Path(member.name).suffix.lower() in IMAGE_SUFFIXES]

    def __len__(self):
        return len(self.places)

    def __getitem__(self, i):
        path, offset, size = self.places[i]
        if path not in self.files:
            self.files[path] = os.open(path, os.O_RDONLY)
        image = self.decode(os.pread(self.files[path], size, offset))
        return [transform(image) for transform in self.transforms]


def by_pillow(stored):
    from PIL import Image
    return Image.open(io.BytesIO(stored)).convert("RGB")


def by_torchvision(stored):
    import torch
    from torchvision.io import ImageReadMode, decode_image
    return decode_image(torch.frombuffer(bytearray(stored), dtype=torch.uint8), ImageReadMode.RGB)


class Turns:
    """A sampler: the next turn's positions, in random order."""

    def __init__(self, length):
        self.length, self.rows = length, 0

    def __iter__(self):
        import torch
        return iter(torch.randint(self.length, (self.rows,)).tolist())


class TorchLoader:
    def __init__(self, dataset, batch, workers):
        import torch
        self.turns = Turns(len(dataset))
        self.loader = torch.utils.data.DataLoader(dataset, batch, sampler=self.turns, num_workers=workers, drop_last=True,
                                                  persistent_workers=True, prefetch_factor=PREFETCH)

    def run(self, rows):
        self.turns.rows = rows
        return count_rows(self.loader)


class BaleLoader:
    """A turn is as many whole epochs as it takes."""

    def __init__(self, pack, transforms, batch, workers):
        import bale.torch as bt
        from bale.transforms import translate
        views = [translate(transform, layout="nchw") for transform in transforms]
        given = {"transform": views[0]} if len(views) == 1 else {"views": views}
        self.loader = bt.Loader(pack, batch, workers=workers, seed=1, drop_last=True, prefetch=PREFETCH * workers, **given)

    def run(self, rows):
        done = 0
        while done < rows:
            done += count_rows(images if isinstance(images, list) else [images] for images, _ in self.loader)
        return done


def count_rows(batches):
    """Of batches, which are lists of views. Some values of each image are touched."""
    rows, checksum = 0, 0.0
    for views in batches:
        checksum += sum(float(view[:, 0, ::32, ::32].sum()) for view in views)
        rows += len(views[0])
    return rows


def has_dali():
    return importlib.util.find_spec("nvidia") is not None and importlib.util.find_spec("nvidia.dali") is not None


def loaders_of(recipe, args):
    from_pillow, from_tensors = transforms_of(recipe, True), transforms_of(recipe, False)
    found = {"bale": BaleLoader(args.pack, from_pillow, args.batch, args.workers),
             "torchvision, Pillow": TorchLoader(Stored(args.pack, from_pillow, by_pillow), args.batch, args.workers),
             "torchvision, tensors": TorchLoader(Stored(args.pack, from_tensors, by_torchvision), args.batch, args.workers)}
    if recipe in bench_recipes_dali.SIDES and has_dali():
        found["DALI"] = bench_recipes_dali.DaliLoader(recipe, args.pack, args.batch, args.workers, MEAN, STD, RECIPES[recipe][1])
    return found


def images_per_s(loader, rows):
    """DALI always works ahead; the others begin and end with nothing under way."""
    works_ahead = hasattr(loader, "before_turn")
    if works_ahead:
        loader.before_turn()
    start = time.monotonic()
    done = loader.run(rows)
    rate = done / (time.monotonic() - start)
    if works_ahead:
        loader.after_turn(rate)
    return rate


def measure(loaders, args):
    """{name: loader} in turns. The first turns start the workers and show how many images take args.seconds."""
    rows = {}
    least = args.workers * args.batch
    for name, loader in loaders.items():
        loader.run(least)
        rate = images_per_s(loader, least)
        rows[name] = max(least, round(rate * args.seconds / args.batch) * args.batch)
    rounds = {name: [] for name in loaders}
    for number in range(args.rounds):
        names = list(loaders)
        for name in names[number % len(names):] + names[:number % len(names)]:
            rounds[name].append(images_per_s(loaders[name], rows[name]))
    return rounds


def main(recipes, loaders_of, description):
    """The program: `loaders_of` makes {name: loader} of a recipe and the arguments."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("recipe", nargs="?", choices=recipes)
    parser.add_argument("pack", nargs="?")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    args = parser.parse_args()
    if args.list:
        print(json.dumps(recipes))
        return
    print(json.dumps(measure(loaders_of(args.recipe, args), args)), flush=True)
    os._exit(0)  # without waiting for the workers


if __name__ == "__main__":
    main(list(RECIPES), loaders_of, __doc__)
