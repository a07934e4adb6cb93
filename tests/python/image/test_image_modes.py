"""Every kind of image in every mode, against Pillow's convert(); and lists of transforms on them, against torchvision on PIL
images of that mode."""
import io
import struct
import subprocess
import zlib

import numpy as np
import pytest
from conftest import BUILD
from image_support import chunk, cmyk, encoded, picture
from picture_files import KINDS
from picture_pixels import colors, photo, wide
from PIL import Image
from test_image_kinds import MORE_THAN_PILLOW, skip_without

TOOL = BUILD / "tests" / "bale_pixel_tool"
VALUES = {"L": 1, "RGB": 3, "RGBA": 4, "I;16": 2}


def pillows(content, mode):
    """Pillow's pixels, or None."""
    try:
        if content.startswith(b"\x93NUMPY"):
            content = encoded(Image.fromarray(np.load(io.BytesIO(content))), "PNG")
        with Image.open(io.BytesIO(content)) as image:
            if mode != "I;16":
                return np.array(image.convert(mode))
            return np.array(image).astype(np.uint16) if image.mode.startswith("I;16") else None
    except Exception:  # Pillow has no one type for it
        return None


def ours(folder, contents, mode):
    """What bale makes of them: pixels, or an error's line."""
    files = []
    for i, content in enumerate(contents):
        files.append(folder / f"{i}.image")
        files[-1].write_bytes(content)
    done = subprocess.run([TOOL, "mode", mode, *files], capture_output=True, timeout=60, check=True)
    out = io.BytesIO(done.stdout)
    for _ in contents:
        line = out.readline().decode()
        if ":" in line:
            yield line.strip()
        else:
            width, height, size = map(int, line.split())
            assert size == VALUES[mode]
            pixels = np.frombuffer(out.read(width * height * size), np.uint16 if mode == "I;16" else np.uint8)
            yield pixels.reshape((height, width, size) if size > 2 else (height, width))


def grays_of_bits(bits):
    """A PNG of 1, 2 or 4 bits per gray."""
    width, height = 13, 5
    rows = b"".join(b"\0" + np.random.default_rng(y).bytes((width * bits + 7) // 8) for y in range(height))
    return width, height, zlib.compress(rows)


def raw_png(bits, color_type, width, height, data, *chunks):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, 0)) +
            b"".join(chunks) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def deep_png(channels, color_type, *chunks):
    """16 bits per value, some of them small."""
    values = np.random.default_rng(channels).integers(0, 65536, (9, 11, channels)).astype(">u2")
    values[:4] = values[:4] % 300
    return raw_png(16, color_type, 11, 9, zlib.compress(b"".join(b"\0" + row.tobytes() for row in values)), *chunks), values


def pngs():
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        image = Image.fromarray(wide()) if mode == "I;16" else photo(4).convert(mode)
        yield mode, encoded(image, "PNG")
    yield "palette with alphas", encoded(colors(40), "PNG", transparency=bytes(range(0, 240, 6)))
    yield "palette with one index", encoded(colors(40), "PNG", transparency=7)
    few = Image.fromarray(np.random.default_rng(0).integers(0, 4, (23, 37), dtype=np.uint8) * 60)
    yield "gray and one transparent", encoded(few, "PNG", transparency=120)
    three = Image.merge("RGB", (few, few.rotate(180), few))
    yield "color and one transparent", encoded(three, "PNG", transparency=three.getpixel((3, 3)))
    for bits in (1, 2, 4):
        for key in (0, 1, 2, 15, 255):
            yield f"gray of {bits} bits, key {key}", raw_png(bits, 0, *grays_of_bits(bits), chunk(b"tRNS", struct.pack(">H", key)))
    plain, values = deep_png(1, 0)
    yield "16-bit gray", plain
    for key in (int(values[0, 0, 0]), int(values[8, 8, 0]), 255):
        yield f"16-bit gray, key {key}", deep_png(1, 0, chunk(b"tRNS", struct.pack(">H", key)))[0]
    yield "16-bit gray and alpha", deep_png(2, 4)[0]
    yield "16-bit color and alpha", deep_png(4, 6)[0]
    _, values = deep_png(3, 2)
    for at in ((0, 0), (8, 8)):
        yield f"16-bit color, key at {at}", deep_png(3, 2, chunk(b"tRNS", values[at].tobytes()))[0]
    high = (values[8, 8] >> 8).astype(">u2")
    yield "16-bit color, key of high bytes", deep_png(3, 2, chunk(b"tRNS", high.tobytes()))[0]


def jpegs():
    yield "color", encoded(photo(), "JPEG")
    yield "progressive", encoded(photo(), "JPEG", progressive=True)
    yield "4:2:0", encoded(photo(), "JPEG", subsampling=2)
    yield "gray", encoded(photo(1), "JPEG")
    yield "CMYK", encoded(cmyk(37, 23), "JPEG")


def arrays():
    out = io.BytesIO()
    np.save(out, picture(37, 23))
    yield "npy", out.getvalue()


ALL = {"png": pngs, "jpeg": jpegs, "npy": arrays, **KINDS}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["L", "RGBA", "I;16"])
@pytest.mark.parametrize("kind", ALL)
def test_the_pixels_are_those_of_convert(tmp_path, kind, mode):
    skip_without(kind)
    # Pillow forgets the screen's palette for L, and uses it for RGB, if the frame's palette is only a ramp.
    cases = {name: content for name, content in ALL[kind]() if mode != "L" or not name.endswith("local ramp")}
    num_same = 0
    for (name, content), found in zip(cases.items(), ours(tmp_path, cases.values(), mode)):
        expected = pillows(content, mode)
        if expected is None:
            assert name.startswith(MORE_THAN_PILLOW) or isinstance(found, str), name
        else:
            assert not isinstance(found, str), (name, found)
            assert found.shape == expected.shape and np.array_equal(found, expected), name
            num_same += 1
    assert num_same > len(cases) // 2 or (mode == "I;16" and (num_same > 0) == (kind in ("png", "tif")))
