"""One limit of pixels, whatever decodes the image, and one option that raises or lowers it."""
import io
import json
import struct
import zlib

import pytest
from augment_support import transformed
from conftest import write_tar
from image_support import chunk
from PIL import Image

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
    assert "limit of 8999 pixels" in bale(*bench, "--max-pixels", "8999").error_line()
    assert "limit" not in bale.ok(*bench, "--max-pixels", "9000").err
    for command in ("pack", "convert", "bench", "tune", "doctor"):
        assert f"(default: {LIMIT})" in " ".join(bale.ok(command, "--help").out.split()), command


# What looks at images says which ones a loader stops at.

SUFFIXES = ("png", "jpg", "webp", "bmp", "tif", "ppm")


def encoded(suffix, size):
    out = io.BytesIO()
    Image.linear_gradient("L").convert("RGB").resize(size).save(out, Image.registered_extensions()["." + suffix])
    return out.getvalue()


@pytest.fixture
def large_and_small(tmp_path):
    """A folder with a large and a small image of each kind."""
    for suffix in SUFFIXES:
        for name, size in (("c/large", (100, 90)), ("d/small", (40, 30))):
            path = tmp_path / "in" / f"{name}_{suffix}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encoded(suffix, size))
    return tmp_path / "in"


LARGE = {f"c/large_{suffix}" for suffix in SUFFIXES}


def keys_in(text):
    return {line.partition('key "')[2].partition('"')[0] for line in text.splitlines() if 'key "' in line}


@pytest.mark.parametrize("quiet", [(), ("-q",)], ids=["loud", "quiet"])
@pytest.mark.parametrize("layout", ["tar", "lmdb", "tfrecord"])
def test_verify_names_what_a_loader_stops_at(bale, large_and_small, tmp_path, layout, quiet):
    bale.pack(large_and_small, tmp_path / "out", "--format", layout)
    result = bale("verify", "--decode", "--max-pixels", "8999", *quiet, tmp_path / "out")
    assert result.code == 1 and keys_in(result.out) == LARGE, result
    assert result.out.count("100x90 pixels is above the limit of 8999 pixels (--max-pixels)") == len(LARGE)
    found = json.loads(bale("verify", "--decode", "--max-pixels", "8999", "--json", tmp_path / "out").out)
    assert {finding["key"] for finding in found["findings"]} == LARGE
    assert {finding["code"] for finding in found["findings"]} == {"unsupported"}
    assert found["images_not_decoded"] == len(LARGE)
    assert "every image decodes" in bale.ok("verify", "--decode", "--max-pixels", "9000", tmp_path / "out").out


def test_verify_names_kinds_that_no_loader_decodes(bale, tmp_path):
    """In what another program packed: `bale pack` refuses them."""
    write_tar(tmp_path / "x.tar", [("good.jpg", encoded("jpg", (40, 30))), ("heic.jpg", b"\0\0\0\x18ftypheic" + bytes(40)),
                                   ("text.png", b"<!DOCTYPE html>")])
    bale.ok("verify", tmp_path / "x.tar")
    result = bale("verify", "--decode", "-q", tmp_path / "x.tar")
    assert result.code == 1 and keys_in(result.out) == {"heic", "text"}
    assert keys_in(bale.ok("index", "--check-images", "-q", tmp_path / "x.tar").err) == {"heic", "text"}


@pytest.mark.parametrize("checked", [(), ("--check-images",)], ids=["quick", "checked"])
@pytest.mark.parametrize("quiet", [(), ("-q",)], ids=["loud", "quiet"])
def test_pack_and_index_name_it_too(bale, large_and_small, tmp_path, checked, quiet):
    limit = ("--max-pixels", "8999", *checked, *quiet)
    packed = bale.ok("pack", large_and_small, tmp_path / "out", *limit)
    assert keys_in(packed.err) == LARGE and "is above the limit of 8999 pixels (--max-pixels)" in packed.err
    assert keys_in(bale.ok("index", tmp_path / "out", *limit).err) == LARGE
    counts = json.loads(bale.ok("pack", large_and_small, tmp_path / "json", "--json", *limit).out)["images"]
    assert counts["above_limit"] == len(LARGE) and counts["undecodable"] == 0
    assert bale.ok("pack", large_and_small, tmp_path / "fits", "--max-pixels", "9000", *checked, *quiet).err == ""
    # What the index says does not outlive the option: with a higher limit the images are good.
    assert bale.ok("verify", "--decode", "-q", tmp_path / "out").out == ""


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "folder"])
def test_report_agrees(bale, large_and_small, tmp_path, packed):
    bale.pack(large_and_small, tmp_path / "out")
    source = tmp_path / "out" if packed else large_and_small
    found = json.loads(bale.ok("report", source, "--json", "--max-pixels", "8999").out)
    assert {image["key"] for image in found["remarks"]["above_limit"]} == LARGE and found["corrupt"] == len(LARGE)
    assert "above_limit" not in json.loads(bale.ok("report", source, "--json", "--max-pixels", "9000").out)["remarks"]
