"""Trains a small network for semantic segmentation, with masks that follow their images.

    python segmentation.py PACKED [--mask mask.png] [--classes 21] [--epochs 2]

PACKED is what `bale pack SRC PACKED --pair jpg,mask.png --flat` writes. The transform is torchvision's reference for
segmentation: each mask gets the resize, the flip and the crop of its image, with nearest pixels, and 255 where the image was padded.
"""
import argparse

import torch
from torch import nn

import bale
import bale.torch as bt
from bale import transforms as T

IGNORED = 255


def network(classes):
    """Full resolution out of half of it: enough to show that masks and images belong together."""
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, classes, 1),
                         nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed")
    parser.add_argument("--mask", default="mask.png", help="the stored field of the masks")
    parser.add_argument("--classes", type=int, default=21)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--base-size", type=int, default=520)
    parser.add_argument("--crop-size", type=int, default=480)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(0)
    net = network(args.classes)
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    fields = {"mask": bale.Field(args.mask, kind="mask", fill=IGNORED, dtype="int64")}
    transform = T.presets.segmentation_train(args.base_size, args.crop_size, layout="nchw")
    with bt.Loader(args.packed, args.batch_size, transform=transform, seed=1, workers=args.workers, fields=fields) as loader:
        for epoch in range(args.epochs):
            total = count = 0
            for images, _, found in loader:
                loss = nn.functional.cross_entropy(net(images), found["mask"], ignore_index=IGNORED)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total, count = total + loss.item(), count + 1
            print(f"epoch {epoch} loss {total / max(count, 1):.4f}")


if __name__ == "__main__":
    main()
