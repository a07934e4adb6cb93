"""Mean and deviation of each channel over a packed dataset, and how often each class occurs: numpy alone, no torch.

    python numpy_epoch.py packs/train
"""
import argparse

import numpy as np

import bale


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pack", help="packed images")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--size", type=int, default=224, help="side of the central crop in pixels (224)")
    parser.add_argument("--workers", type=int, help="decoding processes (one per core)")
    args = parser.parse_args()

    pixels = np.zeros((3, 256), np.int64)  # how often each channel has each value
    with bale.Loader(args.pack, args.batch_size, workers=args.workers, shuffle=False, tail="uneven",
                     transform=bale.transforms.val(args.size)) as loader:
        labels = np.zeros(len(loader.dataset.classes), np.int64)
        for batch in loader:
            counted = batch.labels[batch.labels != bale.NO_LABEL]
            labels += np.bincount(counted, minlength=len(labels))
            for channel in range(3):
                pixels[channel] += np.bincount(batch.images[..., channel].ravel(), minlength=256)
        classes = loader.dataset.classes

    values = np.arange(256) / 255
    share = pixels / pixels.sum(1, keepdims=True)
    mean = share @ values
    std = np.sqrt(share @ values**2 - mean**2)
    print("mean", *mean.round(4))
    print("std", *std.round(4))
    for name, count in zip(classes, labels):
        print(count, name)


if __name__ == "__main__":
    main()
