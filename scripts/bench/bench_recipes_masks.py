#!/usr/bin/env python3
"""Segmentation by loaders that take turns: a subprocess of bench_recipes.py.

    bench_recipes_masks.py RECIPE PACK [--workers W] [--batch N] [--rounds R] [--seconds S]
    bench_recipes_masks.py --list      the recipes

The samples of the tar shards in PACK have an image (jpg) and a mask (mask.png). Each batch has float32 images, N x C x H x W, and
int64 masks, N x H x W, after torchvision's reference for segmentation. bale reads the tar by position, as do DataLoaders over a
dataset with torchvision's v2 transforms, which take image and mask together: of PIL images, and of tensors that torchvision
decodes. Prints {loader: images per second of each round}, bale first.
"""
from bench_recipes_fields import Epochs, StoredPairs, TorchLoader
from bench_recipes_loaders import MEAN, PREFETCH, STD, by_pillow, by_torchvision, main

BASE, CROP, IGNORED, CLASSES = 520, 480, 255, 21


def transform_of(from_pillow):
    """SegmentationPresetTrain: pixels from outside the image are black, and ignored in the mask."""
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    fill = {tv_tensors.Mask: IGNORED, "others": 0}
    dtypes = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
    return v2.Compose([v2.RandomResize(BASE // 2, BASE * 2, antialias=True), v2.RandomHorizontalFlip(),
                       v2.RandomCrop(CROP, pad_if_needed=True, fill=fill), *([v2.ToImage()] if from_pillow else []),
                       v2.ToDtype(dtypes, scale=True), v2.Normalize(MEAN, STD)])


def pair_of(transform, from_pillow):
    """make(image, mask) of StoredPairs. Pillow reads masks in either case: torchvision would give the palette's colors."""
    import io

    import numpy
    import torch
    from PIL import Image
    from torchvision import tv_tensors

    def make(image, mask):
        decoded = by_pillow(image) if from_pillow else tv_tensors.Image(by_torchvision(image))
        values = torch.from_numpy(numpy.array(Image.open(io.BytesIO(mask))))
        return transform(decoded, tv_tensors.Mask(values))
    return make


class BaleLoader(Epochs):
    def __init__(self, pack, batch, workers):
        import bale
        import bale.torch as bt
        from bale.transforms import translate
        self.loader = bt.Loader(pack, batch, workers=workers, seed=1, drop_last=True, prefetch=PREFETCH * workers,
                                fields={"mask": bale.Field("mask.png", kind="mask", fill=IGNORED, dtype="int64")},
                                transform=translate(transform_of(True), layout="nchw"))

    def count(self, batches):
        return count_rows(batches)

    def batches(self):
        return ((images, fields["mask"]) for images, _, fields in self.loader)


def count_rows(batches):
    """Some values of each image and each mask are touched."""
    rows, checksum = 0, 0.0
    for images, masks in batches:
        checksum += float(images[:, 0, ::32, ::32].sum()) + int(masks[:, ::32, ::32].sum())
        if masks.shape != (len(images), CROP, CROP) or str(masks.dtype) != "torch.int64":
            raise SystemExit("a batch has an image without its mask")
        rows += len(images)
    return rows


def loaders_of(_, args):
    def peer(from_pillow):
        pairs = StoredPairs(args.pack, ("jpg", "mask.png"), pair_of(transform_of(from_pillow), from_pillow))
        return TorchLoader(pairs, args.batch, args.workers, count_rows)
    return {"bale": BaleLoader(args.pack, args.batch, args.workers), "torchvision, Pillow": peer(True),
            "torchvision, tensors": peer(False)}


if __name__ == "__main__":
    main(["image + mask"], loaders_of, __doc__)
