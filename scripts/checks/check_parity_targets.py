"""Masks, boxes and keypoints for check_parity.py: what bale and torchvision make of them by the same steps.

Masks are compared with PIL images of mode L, resized and warped with nearest pixels: torchvision resizes tensor masks to other pixels.
Boxes and keypoints are compared with torchvision's functional transforms of tv_tensors (0.23 and later, which has keypoints).
"""
import json

import numpy as np
from PIL import Image

from bale import _bale
from bale import transforms as T

GEOMETRY = ("Crop", "Pad", "Resize", "HorizontalFlip", "VerticalFlip", "Rotate", "Affine", "Perspective")
WARPS = ("Rotate", "Affine", "Perspective")
KINDS = ("mask", "boxes", "keypoints")


def has_tv_tensors():
    try:
        from torchvision.tv_tensors import KeyPoints  # noqa: F401
    except ImportError:
        return False
    return True


def mask_in(random, image):
    """Blocks of values up to 20."""
    blocks = Image.fromarray(random.integers(0, 21, (9, 12), dtype=np.uint8))
    return blocks.resize(image.size, Image.NEAREST)


def boxes_in(random, image):
    """Boxes of a picture; some reach over its edges, some are small."""
    corner = random.uniform(-0.1, 0.9, (6, 2)) * image.size
    return np.concatenate([corner, corner + random.uniform(0.01, 0.5, (6, 2)) * image.size], 1).astype(np.float32)


def keypoints_in(random, image):
    return (random.uniform(0, 1, (12, 2)) * (np.array(image.size) - 1)).astype(np.float32)


def targets_in(random, image):
    """{kind: what is stored}"""
    return {"mask": mask_in(random, image), "boxes": boxes_in(random, image), "keypoints": keypoints_in(random, image)}


def stored(boxes):
    return json.dumps({"boxes": boxes.tolist()}).encode()


def _npy(values):
    import io

    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


# --- bale's

def moved_by_bale(kind, steps, target, size):
    """The values of a mask after the steps, or the coordinates of boxes or keypoints."""
    steps = json.dumps(steps)
    if kind == "mask":
        width, height = size_after(steps, size)
        row = _bale.apply_steps_to_target(steps, kind, _npy(np.asarray(target)), *size, 0, width * height * 8)
        return np.frombuffer(row, "<i8").reshape(height, width)
    row = _bale.apply_steps_to_target(steps, kind, stored(target) if kind == "boxes" else _npy(target), *size)
    return np.frombuffer(row, [("at", "<f4", (4 if kind == "boxes" else 2,)), ("label", "<i8")])["at"]


def size_after(steps, size):
    geometry = [_nearest(step) for step in json.loads(steps) if step["name"] in GEOMETRY]
    return _bale.apply_steps(json.dumps(geometry), np.zeros((size[1], size[0], 3), np.uint8)).shape[1::-1]


# --- torchvision's

def _nearest(step):
    changed = {**step, **{name: "nearest" for name in ("filter", "sampling") if name in step}}
    if step["name"] in ("Pad", *WARPS):
        changed["fill"] = [0, 0, 0]
    return changed


def moved_by_torchvision(kind, steps, target, size):
    if kind == "mask":
        geometry = [_nearest(step) for step in steps if step["name"] in GEOMETRY]
        return np.asarray(T.replay(geometry, target)).astype(np.int64)
    import torch
    from torchvision import tv_tensors
    values = torch.from_numpy(target)
    if kind == "boxes":
        found = tv_tensors.BoundingBoxes(values, format="XYXY", canvas_size=size[::-1])
    else:
        found = tv_tensors.KeyPoints(values, canvas_size=size[::-1])
    return _moved(found, steps).numpy()


def _moved(found, steps):
    import torch
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as F
    inside = None
    is_boxes = type(found).__name__ == "BoundingBoxes"
    for step in steps:
        name, given = step["name"], {key: value for key, value in step.items() if key != "name"}
        if name == "Crop":
            found = F.crop(found, given["top"], given["left"], given["height"], given["width"])
            if inside is not None:
                found[~inside] = 0
            inside = None
        elif name == "ZeroBoundingBoxes" and is_boxes:
            low = torch.tensor([given["left"], given["top"]])
            center = 0.5 * (found[:, :2] + found[:, 2:]).as_subclass(torch.Tensor)
            inside = ((low < center) & (center < low + torch.tensor([given["width"], given["height"]]))).all(1)
        elif name == "Pad":
            found = F.pad(found, [given[side] for side in ("left", "top", "right", "bottom")])
        elif name == "Resize":
            found = F.resize(found, [given["height"], given["width"]])
        elif name == "HorizontalFlip":
            found = F.horizontal_flip(found)
        elif name == "VerticalFlip":
            found = F.vertical_flip(found)
        elif name == "Rotate":
            found = F.rotate(found, given["angle"])
        elif name in ("Affine", "Perspective"):  # a matrix of six numbers is a perspective without its last two
            coefficients = given["coefficients"] if name == "Perspective" else [*given["matrix"], 0.0, 0.0]
            found = F.perspective(found, None, None, coefficients=coefficients)
        elif name == "SanitizeBoundingBoxes" and is_boxes:
            found = v2.SanitizeBoundingBoxes(given["min_size"], labels_getter=None)(found)
    return found


class TargetCount:
    """Of one kind of target: values compared, how many differ, and by how much."""

    def __init__(self):
        self.values = self.differing = 0
        self.largest = 0.0
        self.has_warp = False

    def add(self, kind, steps, target, size):
        self.has_warp |= any(step["name"] in WARPS for step in steps)
        expected, found = (move(kind, steps, target, size) for move in (moved_by_torchvision, moved_by_bale))
        self.values += expected.size
        if found.shape != expected.shape:
            self.differing, self.largest = self.differing + expected.size, float("inf")
            return
        self.differing += int(np.count_nonzero(found != expected))
        self.largest = max(self.largest, float(np.abs(found - expected).max(initial=0)))
