"""What the loader makes of images, against Pillow and torchvision: the drawn parameters replayed give the same bits.

BALE_TEST_IMAGES=FOLDER  also takes every file below that folder
"""
import os
import pathlib

import numpy as np
import pytest
from augment_support import JITTER, PYTHONS, pass_order, replay, tool, transformed
from conftest import make_images
from PIL import Image, ImageEnhance

# --- Images -----------------------------------------------------------------------------------------------------------

JPEG_KINDS = [
    {"subsampling": "4:4:4"},
    {"subsampling": "4:2:2", "quality": 60},
    {"subsampling": "4:2:0", "quality": 95},
    {"subsampling": "4:2:0", "progressive": True},
    {"subsampling": "4:4:4", "progressive": True, "quality": 98},
    {"subsampling": "4:2:0", "restart_marker_rows": 1},
    {"optimize": True, "quality": 30},
]
SIZES = [(220, 165), (165, 220), (333, 97), (31, 29), (500, 120), (17, 260), (1, 1), (3, 2)]


def write_kinds(folder):
    for i, options in enumerate(JPEG_KINDS):
        for j, size in enumerate(SIZES):
            make_images.make_image([i, j], i / 7, size).save(folder / f"color-{i}-{j}.jpg", **{"quality": 90, **options})
    for j, size in enumerate(SIZES[:4]):
        image = make_images.make_image([9, j], 0.4, size)
        image.convert("L").save(folder / f"gray-{j}.jpg", progressive=j % 2 == 0)
        image.convert("CMYK").save(folder / f"cmyk-{j}.jpg", quality=92)
        for mode in ("RGB", "L", "P", "RGBA", "LA", "1"):
            image.convert(mode).save(folder / f"{mode}-{j}.png")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Images of every kind, and the tester's own."""
    folder = tmp_path_factory.mktemp("pictures")
    write_kinds(folder)
    make_images.make_tree(folder / "tree", classes=4, per_class=5, size=(260, 195), odd=True)
    roots = [folder, *filter(None, [os.environ.get("BALE_TEST_IMAGES")])]
    return [str(path) for root in roots for path in sorted(pathlib.Path(root).rglob("*")) if path.is_file()]


def compare(results, expected, size_bytes, context):
    """Every image equal, or the number of those that differ, with one named."""
    assert len(expected) == size_bytes * len(results)
    wrong = []
    for i, (line, output) in enumerate(results):
        assert "error" not in line, line
        if output != expected[i * size_bytes : (i + 1) * size_bytes]:
            ours, theirs = (np.frombuffer(b, np.uint8).astype(int) for b in (output, expected[i * size_bytes :][:size_bytes]))
            wrong.append((i, int((ours != theirs).sum()), int(abs(ours - theirs).max()), line))
    assert not wrong, f"{len(wrong)} of {len(results)} images differ ({context}); index, bytes, most, draw: {wrong[0]}"


def check_train(python, files, filter="bilinear", size=(64, 64), jitter=(0, 0, 0, 0), **options):
    results = transformed(files, kind="train", size="{}x{}".format(*size), filter=filter, order=pass_order(python),
                          jitter=",".join(map(str, jitter)), **options)
    images = [{"file": file, **line, "order": [step for step in line["order"] if jitter[step] > 0]}
              for file, (line, _) in zip(files, results)]
    expected = replay(python, "train", size=size, filter=filter, images=images)
    compare(results, expected, size[0] * size[1] * 3, f"{python} {jitter} {options}")
    return [line for line, _ in results]


# --- Pixels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("filter,size", [("bilinear", (224, 224)), ("bicubic", (64, 48))])
def test_crop_and_flip_are_torchvisions(python, filter, size, pictures):
    lines = check_train(python, pictures, filter, size, seed=1)
    assert 0.2 < np.mean([line["flip"] for line in lines]) < 0.8
    assert not any(line["jitter"] or line["gray"] for line in lines)


@pytest.mark.parametrize("python", PYTHONS)
def test_colors_are_torchvisions(python, pictures):
    lines = check_train(python, pictures, seed=2, jitter=JITTER, gray=0.2)
    assert all(line["jitter"] for line in lines)
    assert any(line["gray"] for line in lines) and not all(line["gray"] for line in lines)
    assert len({tuple(line["order"]) for line in lines}) > 12


@pytest.mark.parametrize("jitter", [(1, 1, 1, 0.5), (0, 2, 0, 0), (0, 0, 0, 0.3), (3, 0, 3, 0)])
def test_strong_and_partial_jitter(jitter, pictures):
    lines = check_train("pillow", pictures[::5], seed=3, jitter=jitter, size=(32, 32))
    for line in lines:
        for step, factor in enumerate(line["factors"]):
            assert (factor == (step < 3)) == (jitter[step] == 0)


EVAL_KINDS = [
    ("uint8", "nhwc", False),
    ("uint8", "nchw", False),
    ("float32", "nchw", True),
    ("float32", "nhwc", False),
    ("float16", "nchw", True),
    ("bfloat16", "nhwc", True),
]


@pytest.mark.parametrize("python", PYTHONS)
def test_evaluation_is_torchvisions(python, pictures):
    # Long, thin images would be resized to tens of thousands of pixels: not what this is about.
    files = [file for file in pictures if max(Image.open(file).size) < 12 * min(Image.open(file).size)]
    for i, (dtype, layout, normalize) in enumerate(EVAL_KINDS):
        job = {"size": (64, 56), "short": 73, "filter": ("bilinear", "bicubic")[i % 2], "dtype": dtype, "layout": layout}
        results = transformed(files, kind="val", order=pass_order(python), normalize=int(normalize),
                              **{**job, "size": "64x56"})
        expected = replay(python, "eval", **job, normalize=normalize, images=[{"file": file} for file in files])
        values = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4}[dtype]
        compare(results, expected, 64 * 56 * 3 * values, f"{python} {job}")


def test_whole_images(pictures):
    results = transformed(pictures, kind="ragged")
    assert b"".join(output for _, output in results) == replay("pillow", "whole", images=[{"file": f} for f in pictures])
    for file, (line, _) in zip(pictures, results):
        assert tuple(line["source"]) == Image.open(file).size


def test_padded_images_and_ones_too_large(pictures):
    results = transformed(pictures, kind="padded", size="230x170", dtype="float32", layout="nchw")
    refused = 0
    for file, (line, output) in zip(pictures, results):
        pixels = np.asarray(Image.open(file).convert("RGB"))
        height, width, _ = pixels.shape
        if width > 230 or height > 170:
            assert "larger than" in line["error"], line
            refused += 1
            continue
        expected = np.zeros((3, 170, 230), np.float32)
        expected[:, :height, :width] = pixels.transpose(2, 0, 1).astype(np.float32) / np.float32(255)
        assert output == expected.tobytes(), file
    assert 0 < refused < len(pictures)


def test_a_bad_image_is_an_error_and_the_next_one_is_not(pictures, tmp_path):
    good = pictures[0]
    data = pathlib.Path(good).read_bytes()
    (tmp_path / "cut.jpg").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.jpg").write_bytes(b"no image at all")
    (tmp_path / "empty.jpg").write_bytes(b"")
    results = transformed([good, tmp_path / "cut.jpg", good, tmp_path / "text.jpg", tmp_path / "empty.jpg", good],
                          kind="val", size="20x20", short="20")
    assert ["error" in line for line, _ in results] == [False, True, False, True, True, False]
    assert results[0][1] == results[2][1] == results[5][1]
    many = transformed([good], max_pixels=100)
    assert "limit" in many[0][0]["error"]


# --- Colors and types ------------------------------------------------------------------------------------------------

ENHANCE = {"brightness": ImageEnhance.Brightness, "contrast": ImageEnhance.Contrast, "saturation": ImageEnhance.Color}


def color_cube(step, offset):
    """Every color of a grid over the cube, as pixels of an image."""
    axis = np.arange(offset, 256, step, dtype=np.uint8)
    return np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, len(axis), 3)


def color(pixels, *operations):
    out = tool("color", *operations, stdin=pixels.tobytes())
    return np.frombuffer(out, np.uint8).reshape(len(operations), *pixels.shape)


@pytest.mark.parametrize("pixels", [color_cube(5, 0), color_cube(7, 3)[:, ::3], color_cube(61, 60)], ids=len)
def test_enhancements_are_pillows(pixels):
    pixels = np.ascontiguousarray(pixels)
    image = Image.fromarray(pixels)
    factors = [0, 1, 0.5, 2, 0.999, 1.001, 10, 1e9, *np.random.default_rng(5).uniform(0, 3, 12).tolist()]
    for name, enhance in ENHANCE.items():
        results = color(pixels, *(f"{name}={factor!r}" for factor in factors))
        for factor, result in zip(factors, results):
            assert np.array_equal(result, np.asarray(enhance(image).enhance(factor))), (name, factor)
    gray = color(pixels, "gray=0")[0]
    assert np.array_equal(gray, np.asarray(image.convert("L").convert("RGB")))


@pytest.mark.parametrize("pixels", [color_cube(4, 3), color_cube(5, 0)], ids=len)
def test_hue_is_torchvisions(pixels):
    hue, saturation, value = Image.fromarray(pixels).convert("HSV").split()
    turns = [0, 0.5, -0.5, 0.1, -0.1, 0.003, -0.003, 0.0039, *np.random.default_rng(6).uniform(-0.5, 0.5, 8).tolist()]
    for turn, result in zip(turns, color(pixels, *(f"hue={turn!r}" for turn in turns))):
        turned = Image.fromarray(np.asarray(hue) + np.int32(turn * 255).astype(np.uint8))
        expected = Image.merge("HSV", (turned, saturation, value)).convert("RGB")
        assert np.array_equal(result, np.asarray(expected)), turn


def test_halves_are_numpys():
    random = np.random.default_rng(8)
    bits = np.concatenate([np.arange(0, 1 << 32, 4099, dtype=np.uint32),  # every exponent, many fractions
                           random.integers(0x33000000, 0x48000000, 300000, dtype=np.uint32),  # what float16 has
                           np.arange(0x38800000, 0x38900000, 0x800, dtype=np.uint32)])  # ties
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    halves = np.frombuffer(tool("halves", stdin=values.tobytes()), np.uint16).reshape(2, -1)
    with np.errstate(over="ignore"):
        assert np.array_equal(halves[0], values.astype(np.float16).view(np.uint16))
    bits = values.view(np.uint32).astype(np.uint64)
    assert np.array_equal(halves[1], (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
