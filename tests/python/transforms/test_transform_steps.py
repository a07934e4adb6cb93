"""Steps on pictures, against Pillow and torchvision: the same parameters give the same bits."""
import json
import os
import struct
import subprocess

import numpy as np
import pytest
import steps_reference
from augment_support import PYTHONS, pass_order
from conftest import by_tier, make_images

from bale import _bale
from bale.errors import ArgumentError

SIZES = [(1, 1), (1, 7), (13, 1), (2, 2), (3, 5), (31, 29), (37, 64), (101, 53)]
SAMPLINGS = ["nearest", "bilinear", "bicubic"]
IDENTITY = [1, 0, 0, 0, 1, 0]


def pictures():
    random = np.random.default_rng(7)
    for width, height in SIZES:
        yield random.integers(0, 256, (height, width, 3), dtype=np.uint8)
    yield np.full((9, 11, 3), 77, np.uint8)
    slope = np.linspace(0, 255, 60 * 45).reshape(45, 60)
    yield np.stack([slope, slope[::-1], slope[:, ::-1]], 2).astype(np.uint8)
    for i, size in enumerate(by_tier([(224, 224)], [(224, 224), (500, 333), (97, 224)])):
        yield np.asarray(make_images.make_image([3, i], 0.3, size).convert("RGB"))


def colors():
    for factor in (0, 0.3, 0.9999, 1, 1.7, 25, -0.5):
        for name in ("Brightness", "Contrast", "Saturation", "Sharpness"):
            yield {"name": name, "factor": factor}
    yield from ({"name": "Hue", "turn": turn} for turn in (-0.5, -0.1, 0, 0.013, 0.5))
    yield from ({"name": name} for name in ("Grayscale", "Invert", "Equalize", "AutoContrast"))
    yield from ({"name": "Solarize", "threshold": threshold} for threshold in (0, 127.5, 128, 255, 256))
    yield from ({"name": "SolarizeAdd", "add": add, "threshold": 128} for add in (-300, 0, 110, 300))
    yield from ({"name": "Posterize", "bits": bits} for bits in range(9))
    yield {"name": "PermuteChannels", "order": [2, 0, 1]}
    yield from ({"name": "PillowGaussianBlur", "radius": radius} for radius in (0, 0.1, 0.5, 1, 1.37, 2, 7.9, 60))


def rotations():
    for sampling in SAMPLINGS:
        for expand in (False, True):
            for angle in (0, 90, 180, 270, -90, 360, 30, -12.5, 89.999, 1e-9, 725.3):
                yield {"name": "Rotate", "angle": angle, "sampling": sampling, "expand": expand, "fill": [9, 120, 255]}
        yield {"name": "Rotate", "angle": 33.3, "sampling": sampling, "center": [3.5, -2.0]}
        yield {"name": "Rotate", "angle": 90, "sampling": sampling, "center": [0, 0]}


def warps():
    for sampling in SAMPLINGS:
        for matrix in (IDENTITY, [0.7, 0, 1.3, 0, 1.9, -4], [-1, 0, 20, 0, 1, 0], [1, 0.3, -2, 0.1, 1, 0.25],
                       [1, 0, 150.0, 0, 1, 0], [1e-9, 3, 0, 500, 2, 1], [900.0, 1e-3, 0, 1e-3, 900.0, 0], [0, 0, 0.5, 0, 0, 0.5]):
            yield {"name": "Affine", "matrix": matrix, "sampling": sampling, "fill": [1, 2, 3]}
        for numbers in ([1, 0, 0, 0, 1, 0, 0, 0], [0.9, 0.1, 1.5, -0.05, 1.1, 0.2, 1e-3, -2e-3], [1, 0, 0, 0, 1, 0, -0.1, 0.03]):
            yield {"name": "Perspective", "coefficients": numbers, "sampling": sampling, "fill": [200, 0, 7]}


def placements():
    for left, top, width, height in ((0, 0, 5, 4), (-3, 2, 9, 9), (1, -2, 300, 2), (-50, 0, 4, 4), (900, 0, 2, 3)):
        yield {"name": "Crop", "left": left, "top": top, "width": width, "height": height}
    yield from ({"name": name} for name in ("HorizontalFlip", "VerticalFlip"))
    yield {"name": "Pad", "left": 3, "top": 0, "right": 1, "bottom": 7, "fill": [255, 3, 90]}
    for mode in ("edge", "reflect", "symmetric"):
        for sides in ((1, 2, 3, 0), (40, 5, 90, 33)):
            yield {"name": "Pad", "mode": mode, **dict(zip(("left", "top", "right", "bottom"), sides))}
    for name in ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"):
        for width, height in ((224, 224), (1, 1), (7, 301), (64, 33)):
            yield {"name": "Resize", "width": width, "height": height, "filter": name}


class Reference:
    """steps_reference.py under another Python."""

    def __init__(self, python):
        self.process = subprocess.Popen([python, "-W", "ignore", steps_reference.__file__], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def apply(self, steps, array):
        self.process.stdin.write(json.dumps({"steps": steps, "shape": array.shape}).encode() + b"\n" + array.tobytes())
        self.process.stdin.flush()
        shape = struct.unpack("<3i", self.process.stdout.read(12))
        return np.frombuffer(self.process.stdout.read(int(np.prod(shape))), np.uint8).reshape(shape)

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


@pytest.fixture(scope="module", params=["pillow", "torchvision"])
def reference(request):
    """Another implementation, and the order of passes that its Pillow has."""
    if request.param == "pillow":
        steps_reference.pass_order = pass_order("pillow")
        yield steps_reference
        return
    made = Reference(PYTHONS["torchvision"])
    made.pass_order = pass_order("torchvision")
    yield made
    made.close()


def ours(steps, array, order="pillow_13"):
    steps = [{**step, "pass_order": order} if step["name"] == "Resize" else step for step in steps]
    return _bale.apply_steps(json.dumps(steps), np.ascontiguousarray(array))


def check(reference, steps, array, tolerance=0):
    expected, given = reference.apply(steps, array), ours(steps, array, reference.pass_order)
    assert given.shape == expected.shape, (steps, array.shape)
    distance = np.abs(given.astype(int) - expected)
    assert distance.max() <= tolerance, (steps, array.shape, int((distance > tolerance).sum()), int(distance.max()))


@pytest.mark.parametrize("kind", [colors, rotations, warps, placements])
def test_pixels(reference, kind):
    for array in pictures():
        for step in kind():
            if step.get("mode") == "reflect" and min(array.shape[:2]) <= 90 and np.lib.NumpyVersion(np.__version__) < "2.0.0":
                continue
            if step.get("mode") in ("reflect", "symmetric") and reference is not steps_reference and \
                    max(step["left"], step["top"], step["right"], step["bottom"]) >= min(array.shape[:2]):
                continue  # Debian's NumPy reflects more than once in another way
            check(reference, [step], array)


@pytest.mark.parametrize("steps", by_tier([[{"name": "Hue", "turn": -0.1}], [{"name": "Saturation", "factor": 1.37}]],
                                          [[{"name": "Hue", "turn": turn}] for turn in (-0.5, -0.1, 0, 0.05, 0.33, 0.5)] +
                                          [[{"name": "Saturation", "factor": factor}] for factor in (-1, 0.6, 1.37, 2.5)] +
                                          [[{"name": "Grayscale"}]]), ids=json.dumps)
def test_all_colors(reference, steps):
    """Each of the 2^24 colors."""
    colors = np.arange(1 << 24, dtype=np.uint32).reshape(4096, 4096)
    array = np.stack([colors >> 16, colors >> 8 & 255, colors & 255], 2).astype(np.uint8)
    assert np.array_equal(ours(steps, array), reference.apply(steps, array))


def test_masks(reference):
    random = np.random.default_rng(5)
    for width, height in SIZES[2:]:
        mask = random.integers(0, 21, (height, width, 1), dtype=np.uint8)
        for step in [*rotations(), *warps(), *placements(), {"name": "Invert"}, {"name": "Equalize"}]:
            if step.get("mode") in ("reflect", "symmetric") and max(step["left"], step["right"]) >= min(width, height):
                continue
            check(reference, [step], mask)


def test_gaussian_blur_is_within_one(reference):
    random = np.random.default_rng(17)
    narrow = [random.integers(0, 256, (9, width, 3), dtype=np.uint8) for width in (3, 7, 12, 21)]  # rows of fewer floats than registers hold
    for array in (*pictures(), *narrow):
        for width, height, sigma_x, sigma_y in ((3, 3, 0.5, 0.5), (5, 1, 1.3, 1), (23, 23, 2.0, 0.1), (9, 15, 100, 0.01)):
            if width // 2 < array.shape[1] and height // 2 < array.shape[0]:  # torch refuses to reflect more than once
                step = {"name": "GaussianBlur", "kernel_width": width, "kernel_height": height, "sigma_x": sigma_x,
                        "sigma_y": sigma_y}
                check(reference, [step], array, tolerance=1)


def test_lists_and_mixtures(reference):
    random = np.random.default_rng(11)
    points = [step for step in colors() if step["name"] not in ("PillowGaussianBlur", "Hue")]
    for array in pictures():
        for _ in range(6):
            steps = [points[i] for i in random.integers(0, len(points), 5)]
            check(reference, steps, array)
        chains = [[points[3], points[-1]], [{"name": "Affine", "matrix": [1, 0.2, 0, 0, 1, 0], "sampling": "bilinear"}], []]
        check(reference, [{"name": "Mixture", "share": 0.37, "weights": [0.2, 0.33, 0.1], "chains": chains}], array)
        check(reference, [{"name": "Erase", "left": 0, "top": 0, "width": 1, "height": 1, "value": [9, 8, 7], "converted": False}],
              array)


def test_random_rotations_and_affine_maps(reference):
    random = np.random.default_rng(13)
    array = random.integers(0, 256, (41, 57, 3), dtype=np.uint8)
    for _ in range(by_tier(60, 2000)):
        sampling = SAMPLINGS[random.integers(3)]
        check(reference, [{"name": "Rotate", "angle": random.uniform(-360, 360), "sampling": sampling,
                           "expand": bool(random.integers(2))}], array)
        matrix = (IDENTITY + random.normal(0, [0.3, 0.3, 9] * 2)).tolist()
        check(reference, [{"name": "Affine", "matrix": matrix, "sampling": sampling}], array)


def test_json_keeps_every_bit():
    steps = [{"name": "Rotate", "angle": 0.1 + 0.2, "center": [1 / 3, -1e-300]}, {"name": "Brightness", "factor": 1.0000000000000002},
             {"name": "Mixture", "share": 0.25, "weights": [0.75], "chains": [[{"name": "Hue", "turn": -0.1}]]},
             {"name": "Erase", "noise_seed": 2**64 - 1, "with": "pixel_noise"}]
    complete = json.loads(_bale.complete_steps(json.dumps(steps)))
    assert [{name: full[name] for name in step} for full, step in zip(complete[:2], steps)] == steps[:2]
    assert complete[3]["noise_seed"] == 2**64 - 1
    again = _bale.complete_steps(json.dumps(complete))
    assert json.loads(again) == complete


@pytest.mark.parametrize("steps, message", [
    ("[", "not JSON"),
    ("{}", "not a list of steps"),
    ([{"name": "Crop", "x": 3}], 'has no parameter "x"'),
    ([{"name": "Nothing"}], 'no step "Nothing"'),
    ([{"name": "Crop", "width": -1}], "not a whole number in range"),
    ([{"name": "Crop", "width": 0, "height": 1}], "empty or too large"),
    ([{"name": "Resize", "width": 65535, "height": 65535}], "empty or too large"),
    ([{"name": "Pad", "left": 4294967295}], "empty or too large"),
    ([{"name": "Rotate", "angle": 1, "sampling": "lanczos"}], "not one of nearest, bilinear, bicubic"),
    ([{"name": "Affine", "matrix": [1, 2]}], "not 6 values"),
    ([{"name": "Hue", "turn": 0.6}], "within [-0.5, 0.5]"),
    ([{"name": "Posterize", "bits": 9}], "0 to 8"),
    ([{"name": "GaussianBlur", "kernel_width": 4}], "must be odd"),
    ([{"name": "PermuteChannels", "order": [0, 1, 3]}], "0 to 2"),
    ([{"name": "Erase", "width": 99, "height": 1, "converted": False}], "inside the image"),
    ([{"name": "Mixture", "weights": [1], "chains": []}], "one weight"),
    ([{"name": "Mixture", "weights": [1], "chains": [[{"name": "Mixture"}]]}], "inside a mixture"),
    ([{"name": "Mixture", "weights": [1], "chains": [[{"name": "Crop", "width": 1, "height": 1}]]}], "keep the size"),
])
def test_what_cannot_run_is_refused(steps, message):
    text = steps if isinstance(steps, str) else json.dumps(steps)
    with pytest.raises(ArgumentError) as raised:
        _bale.apply_steps(text, np.zeros((4, 5, 3), np.uint8))
    assert message in str(raised.value)
