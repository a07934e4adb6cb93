"""Pixels of formats/image against Pillow, bit for bit, over images made here."""

import io
import struct
import subprocess
import zlib

import numpy as np
import PIL
import pytest
from conftest import BUILD
from image_support import chunk, cmyk, encoded, picture
from PIL import Image

TOOL = BUILD / "tests" / "bale_pixel_tool"


def tool(*args):
    return subprocess.run([TOOL, *map(str, args)], capture_output=True, timeout=60)


def pixels(*args):
    done = tool(*args)
    assert done.returncode == 0, done.stderr
    return np.array(Image.open(io.BytesIO(done.stdout)))


def rgb(path):
    with Image.open(path) as image:
        return np.array(image.convert("RGB"))


def same(path):
    assert np.array_equal(pixels("decode", path), rgb(path))


SIZES = [(1, 1), (2, 3), (7, 5), (8, 8), (16, 16), (17, 33), (63, 64), (131, 97)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_color_jpeg(tmp_path, size, progressive, subsampling):
    image = Image.fromarray(picture(*size))
    for quality in (5, 50, 75, 92, 100):
        path = tmp_path / f"{quality}.jpg"
        image.save(path, quality=quality, subsampling=subsampling, progressive=progressive, restart_marker_blocks=3)
        same(path)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("progressive", [False, True])
def test_gray_and_cmyk_jpeg(tmp_path, size, progressive):
    Image.fromarray(picture(*size, channels=1)[:, :, 0]).save(tmp_path / "gray.jpg", progressive=progressive)
    same(tmp_path / "gray.jpg")
    cmyk(*size).save(tmp_path / "cmyk.jpg", progressive=progressive)
    same(tmp_path / "cmyk.jpg")


def test_rgb_jpeg_without_color_transform(tmp_path):
    Image.fromarray(picture(40, 30)).save(tmp_path / "rgb.jpg", keep_rgb=True)
    same(tmp_path / "rgb.jpg")


def adobe_transform(data, transform):
    """The JPEG with another color transform in its Adobe marker; without the marker where it is None."""
    at = data.index(b"\xff\xee\x00\x0eAdobe")
    if transform is None:
        return data[:at] + data[at + 16 :]
    return data[: at + 15] + bytes([transform]) + data[at + 16 :]


@pytest.mark.parametrize("transform", [None, 0, 2])
def test_cmyk_and_ycck_by_adobe_marker(tmp_path, transform):
    path = tmp_path / "a.jpg"
    path.write_bytes(adobe_transform(encoded(cmyk(45, 31), "JPEG", quality=90), transform))
    same(path)


def resampled(data, factors):
    """The JPEG with the sampling factors of its components rewritten: its size in blocks changes with it."""
    at = data.index(b"\xff\xc0")
    out = bytearray(data)
    for i, factor in enumerate(factors):
        out[at + 11 + i * 3] = factor
    return bytes(out)


@pytest.mark.parametrize("factors", [(0x12, 0x11, 0x11), (0x41, 0x11, 0x11), (0x22, 0x21, 0x21), (0x22, 0x12, 0x21)])
def test_rare_chroma_samplings(tmp_path, factors):
    # The scan of a 4:4:4 image, restated to be of few enough blocks for the data that is there: what it
    # shows is noise, but both decoders must show the same.
    whole = encoded(Image.fromarray(picture(96, 96)), "JPEG", quality=90, subsampling="4:4:4")
    data = bytearray(resampled(whole, factors))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", 37, 45)
    path = tmp_path / "a.jpg"
    path.write_bytes(data)
    same(path)


def test_every_truncation_is_refused_as_by_pillow(tmp_path):
    for progressive in (False, True):
        data = encoded(Image.fromarray(picture(33, 21)), "JPEG", progressive=progressive)
        path = tmp_path / "cut.jpg"
        for length in [*range(0, len(data), 97), *range(len(data) - 12, len(data))]:
            path.write_bytes(data[:length])
            try:
                expected = rgb(path)
            except Exception:
                expected = None
            done = tool("decode", path)
            if expected is None:
                assert done.returncode == 1 and done.stderr.startswith((b"damaged", b"unsupported")), length
            else:
                assert np.array_equal(np.array(Image.open(io.BytesIO(done.stdout))), expected), length


def test_defects_that_libjpeg_only_warns_about(tmp_path):
    data = encoded(Image.fromarray(picture(64, 64)), "JPEG", quality=90, restart_marker_rows=1)
    scan = data.index(b"\xff\xda")
    random = np.random.default_rng(7)
    path = tmp_path / "flaw.jpg"
    agreed = 0
    for _ in range(60):
        flawed = bytearray(data)
        flawed[int(random.integers(scan + 20, len(data) - 2))] ^= 1 << int(random.integers(0, 8))
        path.write_bytes(flawed)
        done = tool("decode", path)
        try:
            expected = rgb(path)
        except Exception:
            assert done.returncode == 1
            continue
        assert done.returncode == 0, done.stderr
        assert np.array_equal(np.array(Image.open(io.BytesIO(done.stdout))), expected)
        agreed += 1
    assert agreed > 30


def random_png(width, height, depth, color_type, extra=b"", seed=0):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color_type]
    stride = (width * depth * channels + 7) // 8
    random = np.random.default_rng(seed)
    rows = b"".join(b"\0" + random.integers(0, 256, stride, dtype=np.uint8).tobytes() for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + extra
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


PNG_KINDS = [(0, d) for d in (1, 2, 4, 8, 16)] + [(3, d) for d in (1, 2, 4, 8)] + [(t, d) for t in (2, 4, 6) for d in (8, 16)]
PALETTE = chunk(b"PLTE", bytes(range(3, 3 + 2 * 3)))  # two colors: most indices have none


@pytest.mark.parametrize("color_type,depth", PNG_KINDS)
@pytest.mark.parametrize("size", [(1, 1), (9, 4), (31, 17)])
def test_png_of_every_kind(tmp_path, color_type, depth, size):
    path = tmp_path / "a.png"
    extra = PALETTE if color_type == 3 else b""
    path.write_bytes(random_png(*size, depth, color_type, extra))
    same(path)
    transparency = {0: b"\0\1", 2: b"\0\1\0\2\0\3", 3: b"\0\x80"}.get(color_type)
    if transparency:
        path.write_bytes(random_png(*size, depth, color_type, extra + chunk(b"tRNS", transparency)))
        same(path)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_png_modes_of_pillow(tmp_path, mode):
    path = tmp_path / "a.png"
    if mode == "I;16":
        Image.fromarray(np.random.default_rng(1).integers(0, 600, (13, 29), dtype=np.uint16)).save(path)
    else:
        Image.fromarray(picture(29, 13, 4)).convert(mode).save(path)
    same(path)


# Adam7: first column, first row, column step, row step of each pass (PNG specification, 8.2).
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


@pytest.mark.parametrize("color_type,depth", [(0, 16), (2, 8), (6, 8), (6, 16), (3, 8)])
def test_interlaced_png(tmp_path, color_type, depth):
    channels = {0: 1, 2: 3, 3: 1, 6: 4}[color_type]
    width, height = 21, 19
    data = np.random.default_rng(3).integers(0, 256, (height, width, channels * depth // 8), dtype=np.uint8)
    rows = b""
    for x, y, dx, dy in ADAM7:
        for row in data[y::dy, x::dx]:
            rows += b"\0" + row.tobytes()
    path = tmp_path / "a.png"
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, 1))
        + (PALETTE if color_type == 3 else b"")
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    same(path)


RESIZES = [(1, 1), (3, 200), (200, 3), (97, 131), (131, 97), (64, 64), (224, 224), (130, 97), (131, 96), (400, 300), (7, 97)]


FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}


def resize(image, target, resample=Image.BILINEAR, order="pillow_13"):
    """What Pillow makes of image.resize(target, resample), by any Pillow: one axis at a time, in the order asked for."""
    (width, height), (new_width, new_height) = image.size, target
    rows_first = order == "pillow_13" and height > new_height and height - new_height > 2 * (width - new_width)
    between = (width, new_height) if rows_first else (new_width, height)
    result = image.resize(between, resample).resize(target, resample)
    if order == ("pillow_13" if int(PIL.__version__.split(".")[0]) >= 13 else "pillow_12"):
        assert result == image.resize(target, resample)
    return result


@pytest.mark.parametrize("resample", FILTERS)
@pytest.mark.parametrize("target", RESIZES)
def test_resize(tmp_path, target, resample):
    for size in [(131, 97), (97, 131), (1, 1), (5, 400), (400, 5), (64, 64), (375, 500)]:
        path = tmp_path / "a.png"
        image = Image.fromarray(picture(*size))
        image.save(path)
        if resample == "bilinear":
            assert np.array_equal(pixels("resize", path, *target), np.array(resize(image, target))), size
        for order in ("pillow_13", "pillow_12"):
            expected = np.array(resize(image, target, FILTERS[resample], order))
            assert np.array_equal(pixels("resize", path, *target, resample, order), expected), (size, order)


SYSTEM_PYTHON = "/usr/bin/python3"


def system_pillow():
    """The major version of the system's Pillow; 0 where there is none."""
    ask = "import PIL; print(PIL.__version__.split('.')[0])"
    try:
        done = subprocess.run([SYSTEM_PYTHON, "-c", ask], capture_output=True, timeout=60)
    except OSError:
        return 0
    return int(done.stdout) if done.returncode == 0 else 0


@pytest.mark.skipif(not 0 < system_pillow() < 13, reason="no Pillow before 13 in the system's Python")
@pytest.mark.parametrize("resample", FILTERS)
def test_resize_as_the_older_pillow_of_the_system(tmp_path, resample):
    script = (
        "import sys\nfrom PIL import Image\n"
        "for line in sys.stdin:\n"
        "    source, to, width, height, resample = line.split('\\t')\n"
        "    Image.open(source).resize((int(width), int(height)), int(resample)).save(to)\n"
    )
    cases = []
    for size in [(131, 97), (5, 400), (400, 5), (64, 64), (375, 500)]:
        path = tmp_path / f"{size[0]}x{size[1]}.png"
        Image.fromarray(picture(*size)).save(path)
        cases += [(path, tmp_path / f"{path.stem}-{w}x{h}.ppm", w, h) for w, h in RESIZES]
    lines = "".join(f"{path}\t{to}\t{w}\t{h}\t{int(FILTERS[resample])}\n" for path, to, w, h in cases)
    subprocess.run([SYSTEM_PYTHON, "-c", script], input=lines.encode(), check=True, timeout=60)
    for path, to, w, h in cases:
        assert np.array_equal(pixels("resize", path, w, h, resample, "pillow_12"), rgb(to)), (path.name, w, h)


def torchvision_resize_and_crop(image, size):
    """Resize(size) and CenterCrop(size) of torchvision on a PIL image."""
    width, height = image.size
    short, long = sorted((width, height))
    long = int(size * long / short)
    image = resize(image, (size, long) if width <= height else (long, size))
    left = int(round((image.width - size) / 2.0))
    top = int(round((image.height - size) / 2.0))
    return image.crop((left, top, left + size, top + size))


@pytest.mark.parametrize("size", [1, 8, 31, 97, 224])
def test_resize_and_center_crop(tmp_path, size):
    for width, height in [(131, 97), (97, 131), (500, 375), (333, 500), (64, 64), (301, 7), (10, 11), (97, 100), (250, 800)]:
        path = tmp_path / "a.png"
        image = Image.fromarray(picture(width, height))
        image.save(path)
        expected = np.array(torchvision_resize_and_crop(image, size))
        assert np.array_equal(pixels("crop", path, size), expected), (width, height)


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp", "gif", "webp", "tif", "ppm", "pgm"])
def test_probe_agrees_with_pillow(tmp_path, suffix):
    kind = {"jpg": "jpeg", "tif": "tiff", "ppm": "pnm", "pgm": "pnm"}.get(suffix, suffix)
    for size in [(1, 1), (300, 7), (255, 257)]:
        path = tmp_path / f"a.{suffix}"
        image = Image.fromarray(picture(*size))
        (image.convert("L") if suffix == "pgm" else image).save(path)
        done = tool("probe", path)
        assert done.stdout.decode().split()[:3] == [kind, str(size[0]), str(size[1])]


@pytest.mark.parametrize("lossless", [False, True])
def test_probe_webp_flavours(tmp_path, lossless):
    path = tmp_path / "a.webp"
    Image.fromarray(picture(33, 44, 4)).save(path, lossless=lossless)
    assert tool("probe", path).stdout == b"webp 33 44 4\n"


@pytest.mark.parametrize("size", [(640, 480), (101, 57), (9, 9)])
def test_thumbnail_is_the_smallest_scale_that_is_large_enough(tmp_path, size):
    path = tmp_path / "a.jpg"
    Image.fromarray(picture(*size)).save(path)
    for side in (1, 8, 9, 64, 100, 500):
        scales = [s for s in (8, 4, 2, 1) if min(-(-size[0] // s), -(-size[1] // s)) >= side] or [1]
        height, width, _ = pixels("thumbnail", path, side).shape
        assert (width, height) == (-(-size[0] // scales[0]), -(-size[1] // scales[0]))
