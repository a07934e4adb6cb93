"""One limit of pixels, whatever decodes the image, and one option that raises or lowers it."""
import struct
import zlib

import pytest
from augment_support import transformed
from image_support import chunk

LIMIT = 178_956_970


def huge(width, height):
    """A PNG of one bit per pixel, all black: small as a file."""
    packer = zlib.compressobj(1)
    row = bytes(1 + (width + 7) // 8)
    data = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)) +
            chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def test_the_limit_is_that_of_pillow(tmp_path):
    """Between the limits that packing and loading used to have: read in part, as a loader does, it takes little memory."""
    for name, height, refused in (("a.png", 13_421, False), ("b.png", 17_896, True)):
        (tmp_path / name).write_bytes(huge(10_000, height))
        (line, _), = transformed([tmp_path / name], size="8x8", scale="0.0001,0.0002")
        assert ("error" in line) == refused, line
    assert str(LIMIT) in line["error"] and "`max_pixels`" in line["error"]


EDITS = [("--resize-max", 8), ("--strip-metadata",), ("--format", "npy", "--size", 8)]


@pytest.mark.parametrize("options", EDITS, ids=lambda options: options[-1])
def test_packing_has_it_too(bale, tmp_path, options):
    folder = tmp_path / "in" / "c"
    folder.mkdir(parents=True)
    (folder / "a.png").write_bytes(huge(100, 90))
    pack = ("pack", tmp_path / "in", tmp_path / "out", *map(str, options))
    result = bale(*pack, "--max-pixels", "8999")
    assert result.code == 1
    assert "100x90" in result.error_line() and "limit of 8999 pixels (--max-pixels)" in result.error_line()
    bale.ok(*pack, "--max-pixels", "9000", "--overwrite")


def test_loading_has_the_same_option(bale, tmp_path):
    folder = tmp_path / "in" / "c"
    folder.mkdir(parents=True)
    (folder / "a.png").write_bytes(huge(100, 90))
    bale.pack(tmp_path / "in", tmp_path / "out")
    bench = ("bench", tmp_path / "out", "--batch", "1", "--size", "8", "--epochs", "1", "--threads", "--stages", "train")
    assert "limit of 8999 pixels" in bale.ok(*bench, "--max-pixels", "8999").err
    assert "limit" not in bale.ok(*bench, "--max-pixels", "9000").err
    for command in ("pack", "convert", "bench", "tune", "doctor"):
        assert f"(default: {LIMIT})" in " ".join(bale.ok(command, "--help").out.split()), command
