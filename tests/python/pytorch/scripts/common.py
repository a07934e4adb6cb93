"""What the scripts here have in common: images as a folder and as a pack, a small network, and what they report.

Each is written as people write such scripts. With --bale one statement differs: the one that makes the loader.
"""
import argparse
import json

import torch
from torchvision import transforms

SIZE = 32
NORMALIZE = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
TRAIN = transforms.Compose([transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip(), *NORMALIZE])
EVAL = transforms.Compose([transforms.Resize(36), transforms.CenterCrop(SIZE), *NORMALIZE])


def bale_transforms():
    """The same two for a bale.torch.Loader."""
    import bale
    floats = {"dtype": "float32", "layout": "nchw", "normalize": True}
    return bale.transforms.train(SIZE, **floats), bale.transforms.val(SIZE, resize=36, **floats)


def arguments(*more):
    """Parsed: the folder of images, the pack of the same, --bale, and whole numbers that the script names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("pack")
    parser.add_argument("--bale", action="store_true")
    for name, default in more:
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    return args


def make_network(num_classes):
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 5, stride=4), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                               torch.nn.Flatten(), torch.nn.Linear(8 * 7 * 7, num_classes))


def report(**found):
    """One line, the last: what the test compares."""
    print(json.dumps(found), flush=True)
