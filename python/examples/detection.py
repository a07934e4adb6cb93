"""Trains an SSD for object detection, with boxes that follow their images.

    python detection.py PACKED [--boxes boxes.json] [--classes 20] [--model ssdlite] [--epochs 2]

PACKED is what `bale pack SRC PACKED --pair jpg,boxes.json --flat` writes; a sample's boxes.json is
{"boxes": [[x0, y0, x1, y1], ...], "labels": [3, ...]}, with labels from 0, or COCO's annotations. The transform is torchvision's
reference for SSD: crops are drawn by the boxes of their image, and boxes that a crop leaves out are dropped with their labels.
"""
import argparse
from collections import OrderedDict

import torch
from torch import nn
from torchvision.models.detection import ssdlite320_mobilenet_v3_large
from torchvision.models.detection.anchor_utils import DefaultBoxGenerator
from torchvision.models.detection.ssd import SSD

import bale
import bale.torch as bt
from bale import transforms as T


class Backbone(nn.Module):
    """Features of three sizes, to be trained from nothing."""

    def __init__(self, width=32):
        super().__init__()
        self.out_channels = [width, 2 * width, 2 * width]
        self.start = self._half(3, width)
        self.levels = nn.ModuleList(map(self._half, [width, *self.out_channels], self.out_channels))

    @staticmethod
    def _half(before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU())

    def forward(self, images):
        found, features = self.start(images), OrderedDict()
        for name, level in enumerate(self.levels):
            features[str(name)] = found = level(found)
        return features


def network(model, classes, size):
    """Class 0 is the background."""
    if model == "ssdlite":
        return ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=classes + 1)
    return SSD(Backbone(), DefaultBoxGenerator([[2], [2, 3], [2]]), (size, size), classes + 1, image_mean=[0.5] * 3,
               image_std=[0.5] * 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed")
    parser.add_argument("--boxes", default="boxes.json", help="the stored field of the boxes")
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--model", choices=["ssdlite", "small"], default="ssdlite")
    parser.add_argument("--size", type=int, default=320)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(0)
    net = network(args.model, args.classes, args.size).train()
    optimizer = torch.optim.SGD(net.parameters(), args.lr, 0.9, weight_decay=5e-4)
    fields = {"boxes": bale.Field(args.boxes, kind="boxes")}
    transform = T.presets.ssd_train(args.size, layout="nchw")
    with bt.Loader(args.packed, args.batch_size, transform=transform, seed=1, workers=args.workers, fields=fields) as loader:
        for epoch in range(args.epochs):
            total = count = 0
            for images, _, found in loader:
                targets = [{"boxes": boxes, "labels": labels + 1} for boxes, labels in zip(found["boxes"], found["boxes.labels"])]
                loss = sum(net(list(images), targets).values())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total, count = total + loss.item(), count + 1
            print(f"epoch {epoch} loss {total / max(count, 1):.4f}")


if __name__ == "__main__":
    main()
