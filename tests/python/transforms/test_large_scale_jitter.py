"""torchvision's large scale jittering: FixedSizeCrop and presets.lsj_train, against the definitions of its reference for detection."""
import io
import json

import numpy as np
import pytest
from fields_support import jpeg, npy
from PIL import Image, ImageOps
from python_support import SYSTEM_PYTHON, run_script
from test_box_transforms import FIELDS, PACK, load, size_of, stored_boxes, write

from bale import _bale
from bale import transforms as T

MEAN = (123, 117, 104)


def draw(transforms, size, sample, seed=7):
    return json.loads(_bale.draw_transforms(T.Compose(transforms).to_json(), *size, seed, 0, sample, boxes=npy(np.zeros((0, 4), "f4"))))


def distance_from_uniform(values):
    """Kolmogorov's and Smirnov's, of sorted values."""
    count = len(values)
    return max(np.abs(values - np.arange(count) / count).max(), np.abs(values - (np.arange(count) + 1) / count).max())


def bound(count):
    """Exceeded once in a thousand times."""
    return 1.95 / count**0.5


def share_between(step, more):
    """The shares of `more` = (width, height) that give this crop: int(more * share)."""
    low = [begin / side for begin, side in zip((step["left"], step["top"]), more) if side > 0]
    high = [(begin + 1) / side for begin, side in zip((step["left"], step["top"]), more) if side > 0]
    return max(low), min(high)


@pytest.mark.parametrize("size", [(300, 200), (90, 400), (64, 48), (20, 30), (120, 48)], ids=str)
def test_crops_and_pads_to_one_size(size):
    """Both offsets are the same share of what is too much, which is uniform."""
    width, height = 64, 48
    more = (max(size[0] - width, 0), max(size[1] - height, 0))
    shares = []
    for sample in range(400):
        steps = draw([T.FixedSizeCrop((height, width), (1, 2, 3))], size, sample)
        if any(more):
            crop = steps.pop(0)
            assert (crop["name"], crop["width"], crop["height"]) == ("Crop", min(size[0], width), min(size[1], height))
            low, high = share_between(crop, more)
            assert low < high and low < 1
            shares.append((low + min(high, 1)) / 2)
        missing = (max(width - size[0], 0), max(height - size[1], 0))
        if any(missing):
            pad = steps.pop(0)
            assert [pad[side] for side in ("left", "top", "right", "bottom")] == [0, 0, *missing] and pad["fill"] == [1, 2, 3]
        assert steps == []
    if shares:
        found = np.sort(shares)
        assert distance_from_uniform(found) < bound(400) + 1 / max(more)  # and the width of a pixel


def expected_image(image, steps):
    """By Pillow, step for step as the reference does it."""
    side = steps["side"]
    image = image.resize(steps["resized"], Image.BILINEAR)
    if "crop" in steps:
        left, top = steps["crop"]
        image = image.crop((left, top, left + min(side, image.width), top + min(side, image.height)))
    canvas = Image.new("RGB", (side, side), MEAN)
    canvas.paste(image, (0, 0))
    return ImageOps.mirror(canvas) if steps["flip"] else canvas


def expected_boxes(boxes, labels, size, steps):
    """The reference's: boxes that were cropped away are dropped, and the rest that has a side below 1."""
    side, resized = steps["side"], steps["resized"]
    boxes = boxes * np.float32([*(np.array(resized) / size)] * 2)
    if "crop" in steps:
        boxes = (boxes - np.float32([*steps["crop"]] * 2)).clip(0, np.float32([min(side, resized[0]), min(side, resized[1])] * 2))
    boxes = boxes.clip(0, side) if resized[0] < side or resized[1] < side else boxes
    if steps["flip"]:
        boxes = np.c_[side - boxes[:, 2], boxes[:, 1], side - boxes[:, 0], boxes[:, 3]]
    sides = boxes[:, 2:] - boxes[:, :2]
    inside = ((boxes >= 0) & (boxes <= side)).all(1)
    kept = (sides >= 1).all(1) & (sides.prod(1) >= 1) & inside
    return boxes[kept], labels[kept]


def drawn(steps, side, size):
    """What of the reference's parameters the recorded steps say. A resize to the image's own size is not a step."""
    found = {"side": side, "flip": False, "resized": tuple(size)}
    for step in steps:
        if step["name"] == "Resize":
            found["resized"] = (step["width"], step["height"])
            assert step["filter"] == "bilinear"
        elif step["name"] == "Crop":
            found["crop"] = (step["left"], step["top"])
        elif step["name"] == "HorizontalFlip":
            found["flip"] = True
        else:
            assert step["name"] in ("Pad", "SanitizeBoundingBoxes")
    return found


@pytest.fixture(scope="module")
def packed(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("large_scale_jitter")
    bale.pack(write(root / "src"), root / "pack", *PACK)
    return root / "pack"


@pytest.mark.parametrize("side", [32, 48])
def test_images_boxes_and_masks_are_the_references(packed, side):
    seen = set()
    transform = T.Compose([*T.presets.lsj_train(side).transforms[:-1]])
    with load(packed, transform=transform, fields=FIELDS) as loader:
        for _ in range(4):
            for batch in loader:
                for row, key in enumerate(batch.keys):
                    i = int(key[-3:])
                    steps = drawn(batch.draw(row)["steps"], side, size_of(i))
                    seen |= {"crop" in steps, steps["resized"][0] < side, steps["flip"]}
                    with Image.open(io.BytesIO(jpeg(i, size_of(i)))) as image:
                        assert np.array_equal(batch.images[row], np.asarray(expected_image(image.convert("RGB"), steps)))
                    boxes = stored_boxes(i)
                    expected, labels = expected_boxes(boxes, np.arange(len(boxes)), np.array(size_of(i)), steps)
                    np.testing.assert_allclose(batch.fields["boxes"][row], expected, atol=1e-4)
                    assert batch.fields.labels("boxes")[row].tolist() == labels.tolist()
                    mask = Image.fromarray(np.random.default_rng(i).integers(0, 21, size_of(i)[::-1], dtype=np.uint8))
                    moved = mask.resize(steps["resized"], Image.NEAREST)
                    left, top = steps.get("crop", (0, 0))
                    moved = moved.crop((left, top, left + side, top + side))  # zeros outside
                    assert np.array_equal(batch.fields["mask"][row], np.asarray(ImageOps.mirror(moved) if steps["flip"] else moved))
    assert seen == {True, False}


def test_sizes_are_jittered_as_the_paper_says():
    """0.1 to 2 times the size that fits, uniformly; both sides rounded down."""
    size, side, scales = (640, 480), 1024, []
    for sample in range(500):
        width, height = drawn(draw([*T.presets.lsj_train().transforms[:2]], size, sample), side, size)["resized"]
        fit = side / 640
        scale = (width + 0.5) / (640 * fit)
        scales.append(scale)
        assert abs(height - 480 * fit * scale) <= 1.5
    found = (np.sort(scales) - 0.1) / 1.9
    assert found[0] > -0.01 and found[-1] < 1.01 and distance_from_uniform(found) < bound(500) + 0.01


REFERENCE = """
import torch
from bale import transforms as T
from torchvision import transforms as V1
try:
    from torchvision.transforms import v2 as V
except ImportError:
    raise SystemExit
F = V.functional
class FixedSizeCrop(torch.nn.Module):
    # The names that the reference's class has.
    def __init__(self, size, fill=0, padding_mode="constant"):
        super().__init__()
        self.crop_height, self.crop_width = size
        self.fill, self.padding_mode = fill, padding_mode
    def _crop(self, image, target, top, left, height, width): ...
    def _pad(self, image, target, padding): ...
    def forward(self, image, target=None):
        _, height, width = F.get_dimensions(image)
        high, wide = min(height, self.crop_height), min(width, self.crop_width)
        share = torch.rand(1)
        top, left = int(max(height - high, 0) * share), int(max(width - wide, 0) * share)
        image, target = self._crop(image, target, top, left, high, wide)
        return self._pad(image, target, [0, 0, self.crop_width - wide, self.crop_height - high])
class OtherCrop(FixedSizeCrop):
    pass
class DetectionPresetTrain:
    def __init__(self, crop):
        self.transforms = V.Compose([
            V.ToImage(), V.ScaleJitter(target_size=(1024, 1024), antialias=True), crop, V.RandomHorizontalFlip(p=0.5),
            V.ToDtype(torch.float, scale=True), V.ConvertBoundingBoxFormat("XYXY"), V.SanitizeBoundingBoxes(), V.ToPureTensor()])
    def __call__(self, img, target):
        return self.transforms(img, target)
crop = FixedSizeCrop((1024, 1024), (123.0, 117.0, 104.0))
"""


def test_the_references_list_is_translated():
    run_script(REFERENCE + """
made = T.translate(DetectionPresetTrain(crop))
markers = (T.ToImage, T.Identity, T.ToPureTensor)
*steps, to_dtype, sanitize = [one for one in made.transforms if not isinstance(one, markers)]
assert (*steps, sanitize, to_dtype) == T.presets.lsj_train().transforms, made
try:
    T.translate(DetectionPresetTrain(OtherCrop((8, 8))))
except TypeError as error:
    assert "OtherCrop has no native counterpart" in str(error)
else:
    raise SystemExit("a subclass of another name was translated")
""", python=SYSTEM_PYTHON)
