#!/usr/bin/env python3
"""Trains a ResNet-18 by torchvision's reference recipe V2 twice, and compares the losses of every step.

    PYTHONPATH=build/python scripts/checks/check_training.py FOLDER [--size SIDE] [--batch N] [--epochs N]

FOLDER has images in folders by class. The first run trains on batches of bale.torch.Loader. The second trains on images that
torchvision's ImageFolder has opened, and Pillow and torchvision have changed by the steps that the loader recorded
(bale.transforms.replay). Inputs and losses must be equal bit for bit. It prints the mean loss of each epoch of both runs. The exit
code is 1 if anything differs, or if the loss did not fall. Needs Pillow, torch and torchvision.
"""
import argparse
import os
import pathlib
import sys
import tempfile

import PIL
import torch
import torchvision
from torchvision.transforms import functional as F

import bale
import bale.torch as bt
from bale import transforms as T

WORKERS = 2


def recipe_of(size, layout):
    made = T.presets.reference_v2_train(size, random_erase=0.3, layout=layout)
    return T.Compose(made.transforms, layout, pillow=min(13, max(12, int(PIL.__version__.split(".")[0]))))


class Replayed:
    """The batches of `loader` again, by torchvision."""

    def __init__(self, folder, layout):
        self.folder, self.kinds = folder, set()
        self.numbers = {os.path.splitext(os.path.relpath(path, folder.root))[0]: i for i, (path, _) in enumerate(folder.samples)}
        self.format = torch.channels_last if layout == "nhwc" else torch.contiguous_format

    def image(self, image, draw):
        self.kinds.update(step["name"] for step in draw["steps"])
        made = T.replay(draw["steps"], image)
        image, *erase = made if isinstance(made, tuple) else (made,)
        tensor = F.normalize(F.to_tensor(image), T.IMAGENET_MEAN, T.IMAGENET_STD)
        return erase[0](tensor) if erase else tensor

    def batches(self, loader, epochs):
        for batch in of_all_epochs(loader, epochs):
            files = [self.folder[self.numbers[key]] for key in batch.keys]
            images = torch.stack([self.image(image, batch.draw(i)) for i, (image, _) in enumerate(files)])
            yield images.contiguous(memory_format=self.format), torch.tensor([label for _, label in files])


def of_all_epochs(loader, epochs):
    for epoch in range(epochs):
        loader.set_epoch(epoch)
        yield from loader


def losses(batches, classes):
    """Of each step."""
    torch.manual_seed(3)
    model = torchvision.models.resnet18(num_classes=classes)
    optimizer = torch.optim.SGD(model.parameters(), 0.003, momentum=0.9)
    found = []
    for images, labels in batches:
        loss = torch.nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def compare(ours, replayed):
    """Passes the batches on while they are equal."""
    for (images, labels), (expected, expected_labels) in zip(ours, replayed, strict=True):
        if not (images.dtype == torch.float32 and images.stride() == expected.stride() and torch.equal(images, expected)
                and torch.equal(labels, expected_labels)):
            sys.exit("check_training.py: a batch differs from the replayed one")
        yield images, labels


def train(pack, args):
    """(losses of the loader's batches, losses of the replayed ones, kinds of steps)"""
    folder = torchvision.datasets.ImageFolder(args.folder)
    replayed = Replayed(folder, args.layout)
    options = {"workers": WORKERS, "seed": 7, "drop_last": True, "transform": recipe_of(args.size, args.layout)}
    with bale.Loader(pack, args.batch, **options) as loader, bt.Loader(pack, args.batch, **options) as ours:
        from_pack = losses(compare(of_all_epochs(ours, args.epochs), replayed.batches(loader, args.epochs)), len(folder.classes))
        from_replay = losses(replayed.batches(loader, args.epochs), len(folder.classes))
    return from_pack, from_replay, sorted(replayed.kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=176, help="side of the images in pixels (176)")
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--layout", choices=("nhwc", "nchw"), default="nhwc")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    with tempfile.TemporaryDirectory() as work:
        bale.pack(args.folder, f"{work}/pack", shard_samples=64)
        from_pack, from_replay, kinds = train(f"{work}/pack", args)
    steps = len(from_pack) // args.epochs
    print(f"{steps} steps per epoch, torch {torch.__version__}, torchvision {torchvision.__version__}\n\n"
          "| epoch | mean loss, bale | mean loss, replayed by torchvision | largest difference of a step |\n|---|---|---|---|")
    for epoch in range(args.epochs):
        own, other = (found[epoch * steps:(epoch + 1) * steps] for found in (from_pack, from_replay))
        largest = max(abs(a - b) for a, b in zip(own, other, strict=True))
        print(f"| {epoch} | {sum(own) / steps:.6f} | {sum(other) / steps:.6f} | {largest:g} |")
    print("steps:", *kinds)
    falls = sum(from_pack[-steps:]) < sum(from_pack[:steps])
    return 0 if from_pack == from_replay and falls else 1


if __name__ == "__main__":
    sys.exit(main())
