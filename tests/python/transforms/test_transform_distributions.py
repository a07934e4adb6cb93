"""Single transforms draw as torchvision's get_params() do, and those that Debian's torchvision does not have as their definitions do.

Both sides have fixed seeds. Bounds are so wide that equal distributions exceed them once in a million seeds."""
import json

import numpy as np
import pytest
from python_support import SYSTEM_PYTHON, run_script
from test_policy_distributions import check_arguments, check_frequency

from bale import _bale
from bale import transforms as T

COUNT = 3_000
WIDTH, HEIGHT = 60, 44
WARP = {"scale": (0.5, 1.5), "translate": (0.2, 0.3), "shear": (-10, 20, 5, 15)}

CASES = {  # name: (bale's transform, what its steps say)
    "RandomCrop": (T.RandomCrop((20, 31)), lambda step: [step["left"], step["top"]]),
    "RandomRotation": (T.RandomRotation((-20, 50)), lambda step: [step["angle"]]),
    "RandomAffine": (T.RandomAffine((-15, 40), **WARP), lambda step: step["matrix"]),
    "RandomPerspective": (T.RandomPerspective(0.4, 1), lambda step: step["coefficients"]),
    "RandomErasing": (T.RandomErasing(1), lambda step: [step["left"], step["top"], step["width"], step["height"]]),
    "GaussianBlur": (T.GaussianBlur(5, (0.3, 2.5)), lambda step: [step["sigma_x"], step["sigma_y"]]),
}

TORCHVISION = """
import json, sys
import torch
from PIL import Image
from torchvision import transforms as V
from torchvision.transforms import functional as F
count, width, height = map(int, sys.argv[1:4])
warp = json.loads(sys.argv[4])
image, pixels = Image.new("RGB", (width, height)), torch.zeros(3, height, width)
torch.manual_seed(5)
def crop():
    top, left, _, _ = V.RandomCrop.get_params(image, (20, 31))
    return [left, top]
def affine():
    shears = [float(value) for value in warp["shear"]]
    angle, moves, scale, shear = V.RandomAffine.get_params([-15.0, 40.0], warp["translate"], warp["scale"], shears, [width, height])
    return F._get_inverse_affine_matrix([width * 0.5, height * 0.5], angle, list(moves), scale, list(shear))
def perspective():
    return F._get_perspective_coeffs(*V.RandomPerspective.get_params(width, height, 0.4))
def erasing():
    top, left, high, wide, _ = V.RandomErasing.get_params(pixels, (0.02, 0.33), (0.3, 3.3), [0.0])
    return [left, top, wide, high]
def blur():
    return [V.GaussianBlur.get_params(0.3, 2.5)] * 2
made = {"RandomCrop": crop, "RandomRotation": lambda: [V.RandomRotation.get_params([-20.0, 50.0])], "RandomAffine": affine,
        "RandomPerspective": perspective, "RandomErasing": erasing, "GaussianBlur": blur}
print(json.dumps({name: [draw() for _ in range(count)] for name, draw in made.items()}))
"""


@pytest.fixture(scope="module")
def theirs():
    return json.loads(run_script(TORCHVISION, COUNT, WIDTH, HEIGHT, json.dumps(WARP), python=SYSTEM_PYTHON))


def draws(transform, count=COUNT, size=(WIDTH, HEIGHT)):
    """The steps of each sample."""
    before = [T.ToDtype("float32")] if isinstance(transform, T.RandomErasing) else []
    text = T.Compose([*before, transform]).to_json()
    return [json.loads(_bale.draw_transforms(text, *size, 3, 0, sample)) for sample in range(count)]


@pytest.mark.parametrize("name", CASES)
def test_as_get_params(theirs, name):
    transform, parameters = CASES[name]
    found = [parameters(step) for steps in draws(transform) for step in steps]
    # A shift by 0 is not a step; torchvision's erasing leaves the image as it is if ten rectangles do not fit.
    assert len(found) > 0.99 * COUNT
    for number, (ours, expected) in enumerate(zip(zip(*found), zip(*theirs[name]), strict=True)):
        scale = max(map(abs, expected)) or 1.0
        check_arguments(f"{name}[{number}]", [value / scale for value in ours], [value / scale for value in expected])


def test_parameters_belong_together(theirs):
    """Of a rectangle and of a matrix: products, too, are distributed as torchvision's."""
    for name, product in (("RandomErasing", lambda at: at[2] * at[3] / (WIDTH * HEIGHT)), ("RandomAffine", lambda at: at[0] * at[4] - at[1] * at[3]),
                          ("RandomPerspective", lambda at: at[0] * at[4]), ("RandomCrop", lambda at: at[0] * at[1] / 1000)):
        transform, parameters = CASES[name]
        found = [product(parameters(step)) for steps in draws(transform) for step in steps]
        check_arguments(name, found, [product(values) for values in theirs[name]])


def test_zoom_out():
    random = np.random.default_rng(5)

    def defined():
        factor = random.uniform(1, 4)
        width, height = int(WIDTH * factor), int(HEIGHT * factor)
        left, top = int((width - WIDTH) * random.random()), int((height - HEIGHT) * random.random())
        return left, top, width - WIDTH - left, height - HEIGHT - top

    found = [[step[side] for side in ("left", "top", "right", "bottom")] for steps in draws(T.RandomZoomOut(p=1)) for step in steps]
    expected = [defined() for _ in range(COUNT)]
    for ours, theirs in zip(zip(*found), zip(*expected), strict=True):
        check_arguments("RandomZoomOut", [value / 180 for value in ours], [value / 180 for value in theirs])
    check_arguments("RandomZoomOut, both", [a[0] * a[1] / 10_000 for a in found], [a[0] * a[1] / 10_000 for a in expected])


def test_sizes():
    """Each size as often as the others."""
    for transform, sides in ((T.RandomResize(20, 30), range(20, 30)), (T.RandomShortestSize((20, 25, 33)), (20, 25, 33))):
        shorter = [min(step["width"], step["height"]) for steps in draws(transform) for step in steps]
        assert len(shorter) == COUNT and set(shorter) == set(sides)
        for side in sides:
            check_frequency(side, shorter.count(side), COUNT, COUNT, COUNT * len(sides))


@pytest.mark.parametrize("transform", [T.RandomHorizontalFlip(0.3), T.RandomVerticalFlip(0.3), T.RandomZoomOut(p=0.3), T.RandomGrayscale(0.3),
                                       T.RandomInvert(0.3), T.RandomEqualize(0.3), T.RandomAutocontrast(0.3), T.RandomSolarize(9, 0.3),
                                       T.RandomPosterize(3, 0.3), T.RandomAdjustSharpness(2, 0.3), T.RandomPerspective(0.4, 0.3),
                                       T.RandomErasing(0.3)], ids=lambda one: type(one).__name__)
def test_probabilities(transform):
    done = sum(len(steps) > 0 for steps in draws(transform))
    check_frequency(type(transform).__name__, done, COUNT, 300_000, 1_000_000)


def test_permutations():
    orders = [tuple(step["order"]) for steps in draws(T.RandomChannelPermutation()) for step in steps]
    kinds = {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}
    for order in kinds - {(0, 1, 2)}:
        check_frequency(order, orders.count(order), COUNT, COUNT, COUNT * 6)
    assert set(orders) <= kinds


def test_the_check_finds_another_distribution(theirs):
    """A warp of other degrees, and offsets that lean to one side."""
    turned = [step["angle"] for steps in draws(T.RandomRotation((-20, 40))) for step in steps]
    with pytest.raises(AssertionError):
        check_arguments("RandomRotation", [angle / 50 for angle in turned], [angle / 50 for angle, in theirs["RandomRotation"]])
    with pytest.raises(AssertionError):
        check_frequency("flip", sum(len(steps) > 0 for steps in draws(T.RandomHorizontalFlip(0.38))), COUNT, 300_000, 1_000_000)
