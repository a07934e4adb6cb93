"""Every kind of image that bale decodes, against Pillow: the pixels, what is refused, and what packs make of them."""
import io
import json
import os
import struct
import subprocess

import numpy as np
import pytest
from conftest import BUILD, by_tier
from image_support import encoded, picture
from picture_files import HEIGHT, KINDS, WIDTH, bmp, gif, noise, photo, raster, tiff
from PIL import Image, features

TOOL = BUILD / "tests" / "bale_pixel_tool"

# What bale reads although Pillow does not: planes with an extra one, and indices with their bits reversed.
MORE_THAN_PILLOW = ("planes RGB and one, 1", "reversed palette of")


def has_avif():
    return b"libavif" in subprocess.run(["ldd", BUILD / "bin" / "bale"], capture_output=True, timeout=60).stdout


def skip_without(kind):
    if kind == "avif" and not (has_avif() and features.check("avif")):
        pytest.skip("AVIF is decoded by bale or by Pillow, not by both")


def pillows(content):
    """What Pillow makes of it: pixels, or None."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            return np.array(image.convert("RGB"))
    except Exception:  # Pillow has no one type for it
        return None


def ours(folder, contents):
    """What bale makes of them: (pixels, the header's size) or (None, the error)."""
    files = []
    for i, content in enumerate(contents):
        files.append(folder / f"{i}.image")
        files[-1].write_bytes(content)
    done = subprocess.run([TOOL, "each", *files], capture_output=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    out = io.BytesIO(done.stdout)
    for _ in contents:
        line = out.readline().decode()
        if ":" in line:
            yield None, line.strip()
        else:
            width, height, *header = map(int, line.split())
            pixels = np.frombuffer(out.read(width * height * 3), np.uint8).reshape(height, width, 3)
            yield pixels, tuple(header)


@pytest.mark.parametrize("kind", KINDS)
def test_the_pixels_are_pillows(tmp_path, kind):
    skip_without(kind)
    cases = dict(KINDS[kind]())
    num_same = 0
    for (name, content), (pixels, said) in zip(cases.items(), ours(tmp_path, cases.values())):
        expected = pillows(content)
        if expected is None:
            assert name.startswith(MORE_THAN_PILLOW) or said.startswith(("damaged: ", "unsupported: ")), name
            continue
        assert pixels is not None, (name, said)
        assert pixels.shape == expected.shape and np.array_equal(pixels, expected), name
        assert said == (expected.shape[1], expected.shape[0]), name
        num_same += 1
    assert num_same > len(cases) // 2


WHOLE = {"bmp": encoded(photo(), "BMP"), "bmp of RLE": dict(KINDS["bmp"]())["RLE8 0"], "ppm": encoded(photo(), "PPM"),
         "pgm of text": dict(KINDS["ppm"]())["P2 100"], "gif": encoded(photo(), "GIF"),
         "webp": encoded(photo(), "WEBP"), "webp without loss": encoded(photo(4), "WEBP", lossless=True),
         "tif": encoded(photo(), "TIFF"), "tif of LZW": encoded(photo(), "TIFF", compression="tiff_lzw"),
         "tif of JPEG": encoded(photo(), "TIFF", compression="jpeg"), "tif in front": raster(8, 3, photometric=2, rows=5)}
if features.check("avif"):
    WHOLE["avif"] = encoded(photo(), "AVIF")


@pytest.mark.parametrize("name", WHOLE)
def test_a_part_of_a_file_is_refused_as_by_pillow(tmp_path, name):
    skip_without(name)
    content = WHOLE[name]
    lengths = sorted({*range(0, len(content), max(1, len(content) // by_tier(60, 600))),
                      *range(max(0, len(content) - 16), len(content) + 1)})
    parts = [content[:length] for length in lengths]
    for length, part, (pixels, said) in zip(lengths, parts, ours(tmp_path, parts)):
        expected = pillows(part)
        if expected is None:
            assert pixels is None and said.startswith(("damaged: ", "unsupported: ")), (length, said)
        else:
            assert pixels is not None, (length, said)
            assert np.array_equal(pixels, expected), length


def huge():
    """A few bytes that claim 60000 x 60000 pixels, per kind."""
    side = 60000
    yield "bmp", bmp(24, b"", size=(side, side))
    yield "bmp of RLE", bmp(8, b"\xff\1\0\1", size=(side, side), palette=noise(1024), compression=1)
    yield "ppm", b"P6 60000 60000 255\n" + bytes(99)
    yield "pbm of text", b"P1 60000 60000 0 1"
    yield "gif", gif(b"", screen=(side, side), frame=(0, 0, side, side))
    yield "gif of a large frame", gif(b"", screen=(1, 1), frame=(side, side, 5000, 5000))
    yield "webp", (b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8X" + struct.pack("<IB", 10, 2) + bytes(3) +
                   struct.pack("<I", side - 1)[:3] * 2)
    yield "tif", tiff({256: (4, [side]), 257: (4, [side]), 258: (3, [8]), 259: (3, [8]), 262: (3, [1]), 277: (3, [1])}, [b"x"])
    small = {256: (4, [2]), 257: (4, [2]), 258: (3, [8]), 259: (3, [8]), 262: (3, [1]), 277: (3, [1]), 322: (4, [side - side % 16]),
             323: (4, [side - side % 16])}
    yield "tif of large tiles", tiff(small, [b"x"], offsets=324, counts=325)
    yield "BigTIFF", tiff({256: (4, [side]), 257: (4, [side]), 258: (3, [8]), 259: (3, [1]), 262: (3, [1]), 277: (3, [1])}, [b"x"],
                          big=True)
    if features.check("avif") and has_avif():
        image = bytearray(encoded(photo(), "AVIF"))
        at = image.index(b"ispe") + 8
        image[at:at + 8] = struct.pack(">II", side, side)
        yield "avif", bytes(image)


def test_huge_images_are_refused_before_memory_is_taken(tmp_path):
    cases = dict(huge())
    files = []
    for name, content in cases.items():
        files.append(tmp_path / name)
        files[-1].write_bytes(content)
    # Too little for any of the images; libraries and stacks fit.
    done = subprocess.run(["bash", "-c", 'ulimit -v 1000000; exec "$@"', "-", TOOL, "each", *files], capture_output=True,
                          timeout=60, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    for name, line in zip(cases, done.stdout.splitlines(), strict=True):
        assert line.startswith(("unsupported: ", "damaged: ")), (name, line)


# --- packs

FIELDS = {"bmp": "BMP", "ppm": "PPM", "pgm": "PPM", "tif": "TIFF", "tiff": "TIFF", "webp": "WEBP", "png": "PNG", "jpg": "JPEG"}


def write_folder(root, extensions=FIELDS):
    """One image per extension of ImageFolder, in two classes; returns {key: pixels}."""
    expected = {}
    for i, extension in enumerate(extensions):
        image = Image.fromarray(picture(40 + i, 30 + i, seed=i))
        if extension == "pgm":
            image = image.convert("L")
        path = root / "ab"[i % 2] / f"{i}.{extension}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(image, FIELDS[extension]))
        expected[f"{path.parent.name}/{i}"] = pillows(path.read_bytes())
    return expected


def loaded(pack, **options):
    """{key: pixels} as bale's loader decodes them."""
    import bale as python_bale
    found = {}
    keys = list(python_bale.Dataset(pack).keys())
    with python_bale.Loader(pack, batch_size=3, order="none", transform=python_bale.transforms.ragged(), **options) as loader:
        for batch in loader:
            for image, index in zip(batch.images, batch.indices):
                found[keys[index]] = np.array(image)
    return found


@pytest.mark.parametrize("format", ["tar", "lmdb", "recordio"])
def test_a_folder_of_every_extension_of_imagefolder(bale, tmp_path, format):
    expected = write_folder(tmp_path / "in")
    result = bale.ok("pack", tmp_path / "in", tmp_path / "out", "--format", format, "--json")
    assert json.loads(result.out)["images"] == {"complete": len(expected), "incomplete": 0, "undecodable": 0, "unknown": 0}
    assert "does not decode" not in result.err
    sizes = {line.split()[-1]: line.split()[2] for line in bale.ok("ls", "-l", tmp_path / "out").out.splitlines()}
    assert sizes == {key: f"{pixels.shape[1]}x{pixels.shape[0]}" for key, pixels in expected.items()}
    assert "every image decodes" in bale.ok("verify", "--decode", tmp_path / "out").out
    bale.ok("preview", tmp_path / "out", tmp_path / "sheet.png")
