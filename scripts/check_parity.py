#!/usr/bin/env python3
"""Compares bale's transforms with torchvision on PIL images, over every picture of a folder.

    PYTHONPATH=build/python scripts/check_parity.py [FOLDER] [--crop SIDE] [--seed N]

Each operation runs on the middle of each picture, with parameters of its own; each preset runs on the whole picture, with
what it draws. bale's bytes are compared with those of `bale.transforms.replay`, which uses Pillow and torchvision. Presets of detection
draw by boxes of each picture that are drawn by chance. With torchvision 0.16 or newer these boxes are compared, too: the bytes of
their coordinates after all steps. It prints the table of docs/TRANSFORMS.md: bytes, how many of them differ, and the largest difference. Without a folder a few pictures
are generated. Needs NumPy, Pillow and torchvision. The exit code is 1 if anything differs that docs/TRANSFORMS.md does not
name.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import PIL
from PIL import Image

from bale import _bale
from bale import transforms as T

PASS_ORDER = "pillow_13" if int(PIL.__version__.split(".")[0]) >= 13 else "pillow_12"
MAY_DIFFER = {"GaussianBlur": 1, "Resize hamming": 1, "Resize lanczos": 1}  # by how much


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
    for name in ("ssd_train", "ssdlite_train", "detection_train"):
        yield name, getattr(P, name)()


def boxes_in(random, image):
    """Boxes of a picture; some reach over its edges, some are small."""
    corner = random.uniform(-0.1, 0.9, (6, 2)) * image.size
    return np.concatenate([corner, corner + random.uniform(0.01, 0.5, (6, 2)) * image.size], 1).astype(np.float32)


def stored(boxes):
    return json.dumps({"boxes": boxes.tolist()}).encode()


def moved_by_bale(steps, boxes, image):
    row = _bale.apply_steps_to_target(json.dumps(steps), "boxes", stored(boxes), *image.size)
    return np.frombuffer(row, [("at", "<f4", (4,)), ("label", "<i8")])["at"]


def moved_by_torchvision(steps, boxes, image):
    """By its functional transforms and its classes of boxes."""
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as F
    found = tv_tensors.BoundingBoxes(torch.from_numpy(boxes), format="XYXY", canvas_size=image.size[::-1])
    inside = None
    for step in steps:
        given = {name: value for name, value in step.items() if name != "name"}
        if step["name"] == "Crop":
            found = F.crop(found, given["top"], given["left"], given["height"], given["width"])
            if inside is not None:
                found[~inside] = 0
            inside = None
        elif step["name"] == "ZeroBoundingBoxes":
            low = torch.tensor([given["left"], given["top"]])
            center = 0.5 * (found[:, :2] + found[:, 2:]).as_subclass(torch.Tensor)
            inside = ((low < center) & (center < low + torch.tensor([given["width"], given["height"]]))).all(1)
        elif step["name"] == "Pad":
            found = F.pad(found, [given[side] for side in ("left", "top", "right", "bottom")])
        elif step["name"] == "Resize":
            found = F.resize(found, [given["height"], given["width"]])
        elif step["name"] == "HorizontalFlip":
            found = F.horizontal_flip(found)
        elif step["name"] == "SanitizeBoundingBoxes":
            found = v2.SanitizeBoundingBoxes(given["min_size"], labels_getter=None)(found)
    return found.numpy()


def has_tv_tensors():
    try:
        from torchvision import tv_tensors  # noqa: F401
    except ImportError:
        return False
    return True


class Count:
    def __init__(self):
        self.bytes = self.differing = self.largest = 0

    def add_boxes(self, steps, boxes, image):
        expected, found = (move(steps, boxes, image) for move in (moved_by_torchvision, moved_by_bale))
        self.bytes += expected.nbytes
        if found.shape != expected.shape:
            self.differing, self.largest = self.differing + expected.nbytes, 255
            return
        self.differing += int(np.count_nonzero(found.view(np.uint8) != np.ascontiguousarray(expected).view(np.uint8)))
        self.largest = max(self.largest, float(np.abs(found - expected).max(initial=0)))

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
    given = parser.parse_args()
    lists = [(name, made.to_json()) for name, made in presets()]
    counts, number = {}, -1
    for number, image in enumerate(pictures(given.folder)):
        random = np.random.default_rng([given.seed, number])
        part = middle(image, given.crop)
        for name, members in operations(random, given.crop):
            step = {"name": name.split()[0], **members}
            counts.setdefault(name, Count()).add(in_bytes([step]), part)
        for name, made in lists:
            boxes = boxes_in(random, image) if "BoundingBoxes" in made else None
            steps = json.loads(_bale.draw_transforms(made, image.width, image.height, given.seed, 0, number,
                                                     boxes=b"" if boxes is None else stored(boxes)))
            counts.setdefault(f"`{name}`", Count()).add(in_bytes(steps), image)
            if boxes is not None and has_tv_tensors():
                counts.setdefault(f"boxes of {name}", Count()).add_boxes(steps, boxes, image)
    print(f"{number + 1} pictures, Pillow {PIL.__version__}\n\n| operation or `preset` | bytes | differ | by at most |\n|---|---|---|---|")
    for name, count in counts.items():
        print(f"| {name} | {count.bytes:,} | {count.differing:,} | {count.largest} |")
    wrong = [name for name, count in counts.items() if not name.startswith("`") and count.largest > MAY_DIFFER.get(name, 0)]
    if wrong:
        print(f"check_parity.py: differ: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong or number < 0 else 0


if __name__ == "__main__":
    sys.exit(main())
