#!/usr/bin/env python3
"""Compares bale's transforms with torchvision on PIL images, over every picture of a folder.

    PYTHONPATH=build/python scripts/checks/check_parity.py [FOLDER] [--crop SIDE] [--seed N] [--part I/N]

Each operation runs on the middle of each picture, with parameters of its own; each preset runs on the whole picture, with
what it draws. bale's bytes are compared with those of `bale.transforms.replay`, which uses Pillow and torchvision. Presets of detection
draw by boxes of each picture that are drawn by chance. With torchvision 0.23 or newer a mask, boxes and keypoints of each picture take
the same steps, and are compared, too: those of each operation that moves pixels, and of each preset (check_parity_targets.py). It
prints the tables of docs/TRANSFORMS.md: bytes or values, how many of them differ, and the largest difference. Without a folder a few
pictures are generated. Needs NumPy, Pillow and torchvision. The exit code is 1 if anything differs that docs/TRANSFORMS.md does not
name.
"""
import argparse
import json
import pathlib
import sys

import check_parity_targets as targets
import numpy as np
import PIL
from PIL import Image

from bale import _bale
from bale import transforms as T

PASS_ORDER = "pillow_13" if int(PIL.__version__.split(".")[0]) >= 13 else "pillow_12"
MAY_DIFFER = {"GaussianBlur": 1, "Resize hamming": 1, "Resize lanczos": 1}  # by how much
AFTER_A_WARP = 1e-4  # pixels: torchvision computes in float32, bale in doubles


def operations(random, side):
    """(name, steps): each kind of step once, with parameters drawn for this picture."""
    uniform = random.uniform
    fill = [int(value) for value in random.integers(0, 256, 3)]
    for name in ("Brightness", "Contrast", "Saturation", "Sharpness"):
        yield name, {"factor": uniform(0, 2)}
    yield "Hue", {"turn": uniform(-0.5, 0.5)}
    for name in ("Grayscale", "Invert", "Equalize", "AutoContrast", "HorizontalFlip", "VerticalFlip"):
        yield name, {}
    yield "Solarize", {"threshold": int(random.integers(0, 257))}
    yield "SolarizeAdd", {"add": int(random.integers(0, 111)), "threshold": 128}
    yield "Posterize", {"bits": int(random.integers(1, 9))}
    yield "PermuteChannels", {"order": [int(i) for i in random.permutation(3)]}
    kernel = int(random.integers(1, 12)) * 2 + 1
    sigma = uniform(0.1, 2)
    yield "GaussianBlur", {"kernel_width": kernel, "kernel_height": kernel, "sigma_x": sigma, "sigma_y": sigma}
    yield "PillowGaussianBlur", {"radius": uniform(0.1, 2)}
    yield "Crop", {"left": int(random.integers(-9, 9)), "top": int(random.integers(-9, 9)), "width": side, "height": side - 5}
    for mode in ("constant", "reflect"):
        yield f"Pad {mode}", {"left": 3, "top": 0, "right": 8, "bottom": 5, "mode": mode, "fill": fill}
    for kind in ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"):
        width, height = (int(value) for value in random.integers(16, 2 * side, 2))
        yield f"Resize {kind}", {"width": width, "height": height, "filter": kind}
    for sampling in ("nearest", "bilinear", "bicubic"):
        yield f"Rotate {sampling}", {"angle": uniform(-180, 180), "sampling": sampling, "fill": fill}
        a, b, c, d = uniform(-0.4, 0.4, 4)
        affine = [1 + a, b, uniform(-20, 20), c, 1 + d, uniform(-20, 20)]
        yield f"Affine {sampling}", {"matrix": affine, "sampling": sampling, "fill": fill}
        yield f"Perspective {sampling}", {"coefficients": [*affine, *uniform(-1e-3, 1e-3, 2)], "sampling": sampling, "fill": fill}


def presets():
    """(name, list): the presets, one view each."""
    P = T.presets
    yield "reference_train", P.reference_train(224)
    yield "reference_eval", P.reference_eval(224)
    yield "reference_v2_train", P.reference_v2_train(176)
    for policy in ("imagenet", "ra", "ta_wide", "augmix"):
        yield f"reference_train, {policy}", P.reference_train(224, auto_augment=policy)
    yield "timm_train, rand-m9-mstd0.5-inc1", P.timm_train(224, auto_augment="rand-m9-mstd0.5-inc1")
    yield "timm_eval", P.timm_eval(224)
    yield "deit3", P.deit3(224)
    for name in ("simclr", "moco_v3", "byol", "dino", "dinov2"):
        yield name, getattr(P, name)()[0]
    yield "mae", P.mae(224)
    yield "open_clip_train", P.open_clip_train(224)
    yield "segmentation_train", P.segmentation_train()
    for name in ("ssd_train", "ssdlite_train", "detection_train", "lsj_train"):
        yield name, getattr(P, name)()


class Count:
    def __init__(self):
        self.bytes = self.differing = self.largest = 0

    def add(self, steps, image):
        expected = np.asarray(T.replay(steps, image))
        found = _bale.apply_steps(json.dumps(steps), np.ascontiguousarray(np.asarray(image)))
        self.bytes += expected.size
        if found.shape != expected.shape:
            self.differing, self.largest = self.differing + expected.size, 255
            return
        difference = np.abs(found.astype(np.int16) - expected)
        self.differing += int(np.count_nonzero(difference))
        self.largest = max(self.largest, int(difference.max(initial=0)))


def in_bytes(steps):
    """Without what is done to converted pixels; with the order of passes of the Pillow that is here."""
    kept = [step for step in steps if not (step["name"] == "Erase" and step.get("converted", True))]
    return [dict(step, pass_order=PASS_ORDER) if step["name"] == "Resize" else step for step in kept]


def middle(image, side):
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


def pictures(folder):
    if folder is None:
        random = np.random.default_rng(5)
        for size in ((320, 240), (97, 400), (224, 224)):
            slope = np.add.outer(np.linspace(0, 200, size[1]), np.linspace(0, 50, size[0]))[..., None]
            yield Image.fromarray((slope + random.integers(0, 6, (size[1], size[0], 3))).astype(np.uint8))
        return
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix.lower() in (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".webp", ".tif", ".tiff"):
            with Image.open(path) as image:
                yield image.convert("RGB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--crop", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every N-th picture, from number I on (1/1: all)")
    given = parser.parse_args()
    first, step = map(int, given.part.split("/"))
    lists = [(name, made.to_json()) for name, made in presets()]
    counts, of_targets, done = {}, {}, 0

    def add(name, steps, image, stored):
        counts.setdefault(name, Count()).add(in_bytes(steps), image)
        kept = [step for step in in_bytes(steps) if step["name"] != "Mixture"]
        if len(kept) < len(in_bytes(steps)) or not targets.has_tv_tensors():
            return  # targets cannot follow AugMix
        is_preset = name.startswith("`")
        if is_preset or steps[0]["name"] in targets.GEOMETRY:
            for kind, target in stored.items():
                counted = of_targets.setdefault((name if is_preset else name.split()[0], kind), targets.TargetCount())
                counted.add(kind, kept, target, image.size)

    for number, image in enumerate(pictures(given.folder)):
        if number % step != first - 1:
            continue
        done += 1
        random = np.random.default_rng([given.seed, number])
        part = middle(image, given.crop)
        stored = targets.targets_in(random, part)
        for name, members in operations(random, given.crop):
            add(name, [{"name": name.split()[0], **members}], part, stored)
        stored = targets.targets_in(random, image)
        for name, made in lists:
            boxes = targets.stored(stored["boxes"]) if "BoundingBoxes" in made else b""
            steps = json.loads(_bale.draw_transforms(made, image.width, image.height, given.seed, 0, number, boxes=boxes))
            add(f"`{name}`", steps, image, stored)
    print(f"{done} pictures, Pillow {PIL.__version__}\n\n| operation or `preset` | bytes | differ | by at most |\n|---|---|---|---|")
    for name, count in counts.items():
        print(f"| {name} | {count.bytes:,} | {count.differing:,} | {count.largest} |")
    wrong = [name for name, count in counts.items() if not name.startswith("`") and count.largest > MAY_DIFFER.get(name, 0)]
    wrong += print_targets(of_targets)
    if wrong:
        print(f"check_parity.py: differ: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong or done == 0 else 0


def print_targets(of_targets):
    """Returns what differs and must not."""
    if not of_targets:
        return []
    print("\n| operation or `preset` | target | values | differ | by at most |\n|---|---|---|---|---|")
    wrong = []
    for (name, kind), count in of_targets.items():
        print(f"| {name} | {kind} | {count.values:,} | {count.differing:,} | {count.largest:.2g} |")
        may = AFTER_A_WARP if kind != "mask" and count.has_warp else 0
        if count.largest > may:
            wrong.append(f"{kind} of {name}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
