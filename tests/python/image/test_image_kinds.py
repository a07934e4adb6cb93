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
from picture_files import KINDS, bmp, gif
from picture_pixels import HEIGHT, WIDTH, noise, photo
from picture_tiffs import raster, tiff
from PIL import Image, features
from python_support import SYSTEM_PYTHON, run_script

TOOL = BUILD / "tests" / "bale_pixel_tool"

# What bale reads although Pillow does not: planes with an extra one, and indices with their bits reversed.
MORE_THAN_PILLOW = ("planes RGB and one, 1", "reversed palette of")


def has_avif():
    return (BUILD / "generated" / "bale_lazy_avif.hpp").exists()


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


def ours(folder, contents, may_print=False):
    """What bale makes of them: (pixels, the header's size) or (None, the error)."""
    files = []
    for i, content in enumerate(contents):
        files.append(folder / f"{i}.image")
        files[-1].write_bytes(content)
    done = subprocess.run([TOOL, "each", *files], capture_output=True, timeout=60)
    # libavif's decoder prints what is wrong with an image, and cannot be told not to.
    assert done.returncode == 0 and (may_print or not done.stderr), done.stderr
    out = io.BytesIO(done.stdout)
    for _ in contents:
        line = out.readline().decode()
        if ":" in line:
            yield None, line.strip()
        else:
            width, height, *header = map(int, line.split())
            pixels = np.frombuffer(out.read(width * height * 3), np.uint8).reshape(height, width, 3)
            yield pixels, tuple(header)


@pytest.mark.filterwarnings("ignore")
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
         "tif of JPEG": encoded(photo(), "TIFF", compression="jpeg"), "tif in front": raster(8, 3, photometric=2, rows=5, compression=8)}
if features.check("avif"):
    WHOLE["avif"] = encoded(photo(), "AVIF")


@pytest.mark.filterwarnings("ignore")  # Pillow's about what is cut off
@pytest.mark.parametrize("name", WHOLE)
def test_a_part_of_a_file_is_refused_as_by_pillow(tmp_path, name):
    skip_without(name)
    content = WHOLE[name]
    lengths = sorted({*range(0, len(content), max(1, len(content) // by_tier(60, 600))),
                      *range(max(0, len(content) - 16), len(content) + 1)})
    parts = [content[:length] for length in lengths]
    for length, part, (pixels, said) in zip(lengths, parts, ours(tmp_path, parts, name == "avif")):
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
    """{key: pixels} as bale's loader decodes them; None for a sample that it could not decode."""
    import bale as python_bale
    from bale import transforms
    keys = list(python_bale.Dataset(os.fspath(pack)).keys)
    with python_bale.Loader(pack, 3, **{"workers": 1, "threads": True, "shuffle": False, "tail": "pad",
                                        "transform": transforms.ragged(), **options}) as loader:
        return {keys[sample]: np.array(image) if good else None
                for batch in loader for sample, image, good in zip(batch.samples, batch.images, batch.mask) if sample >= 0}


def same(found, expected):
    assert found.keys() == expected.keys()
    for key in expected:
        assert found[key].shape == expected[key].shape and np.array_equal(found[key], expected[key]), key


@pytest.mark.parametrize("format", ["tar", "lmdb", "tfrecord"])
def test_a_folder_of_every_extension_of_imagefolder(bale, tmp_path, format):
    expected = write_folder(tmp_path / "in")
    result = bale.ok("pack", tmp_path / "in", tmp_path / "out", "--format", format, "--json")
    assert json.loads(result.out)["images"] == {"complete": len(expected), "incomplete": 0, "undecodable": 0, "unknown": 0}
    assert json.loads(result.out)["undecodable"] == {}
    sizes = {line.split()[-1]: line.split()[2] for line in bale.ok("ls", "-l", tmp_path / "out").out.splitlines()}
    assert sizes == {key: f"{pixels.shape[1]}x{pixels.shape[0]}" for key, pixels in expected.items()}
    assert "every image decodes" in bale.ok("verify", "--decode", tmp_path / "out").out
    bale.ok("preview", tmp_path / "out", tmp_path / "preview.html")
    same(loaded(tmp_path / "out"), expected)
    same(loaded(tmp_path / "out", threads=False, workers=2), expected)


def test_layouts_of_pixels_take_every_kind(bale, tmp_path):
    for i, extension in enumerate(FIELDS):
        path = tmp_path / "in" / "a" / f"{i}.{extension}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(Image.fromarray(picture(40, 30, seed=i)), FIELDS[extension]))
    bale.ok("pack", tmp_path / "in", tmp_path / "out", "--format", "npy")
    for i, extension in enumerate(FIELDS):
        stored = np.load(io.BytesIO(bale.ok("cat", tmp_path / "out", f"a/{i}").stdout))
        assert np.array_equal(stored, pillows((tmp_path / "in" / "a" / f"{i}.{extension}").read_bytes())), extension


def test_other_kinds_are_packed_from_folders_and_lists(bale, tmp_path):
    """ImageFolder does not take these extensions, but bale decodes them."""
    contents = {"a.gif": encoded(photo(), "GIF"), "b.pbm": encoded(photo().convert("1"), "PPM"), "c.jpg": encoded(photo(), "JPEG")}
    if features.check("avif") and has_avif():
        contents["d.avif"] = encoded(photo(), "AVIF")
    folder = tmp_path / "in" / "x"
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    bale.ok("pack", tmp_path / "in", tmp_path / "folder")
    (tmp_path / "list.txt").write_text("".join(f"{folder / name}\n" for name in contents))
    bale.ok("pack", tmp_path / "list.txt", tmp_path / "listed", "--source", "list")
    for packed in ("folder", "listed"):
        found = loaded(tmp_path / packed)
        for name, content in contents.items():
            key, = (key for key in found if key.endswith("/" + name[0]) or key == name[0])
            assert np.array_equal(found[key], pillows(content)), name


def write_bad_folder(root):
    """Of each kind one image that is good, and one that is cut off. Returns the names of those that do not decode."""
    for kind in ("bmp", "ppm", "tif", "webp"):
        content = WHOLE[kind]
        for name, part in ((f"good_{kind}", content), (f"cut_{kind}", content[:len(content) * 2 // 3])):
            path = root / "a" / f"{name}.{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(part)
    (root / "a" / "header.tif").write_bytes(raster(8, 2, photometric=1, extra=(1,)))  # complete, and of no kind that is read
    (root / "a" / "text.webp").write_bytes(b"<!DOCTYPE html><html>")
    return {"cut_bmp", "cut_ppm", "cut_tif", "cut_webp", "header"}


def test_what_is_cut_off_is_named(bale, tmp_path):
    cut = write_bad_folder(tmp_path / "in")
    assert bale("pack", tmp_path / "in", tmp_path / "out").code == 1
    result = bale("pack", tmp_path / "in", tmp_path / "out", "--on-error", "skip", "--json")
    assert result.code == 4 and "text.webp" in result.err, result
    images = json.loads(result.out)["images"]
    assert images == {"complete": 4, "incomplete": 4, "undecodable": 1, "unknown": 0}
    for name in cut:
        assert f'"a/{name}"' in result.err, result.err
    assert json.loads(bale.ok("inspect", "--json", tmp_path / "out").out)["images"] == images
    checked = bale("verify", "--decode", tmp_path / "out")
    assert checked.code == 3
    assert {name for name in cut if f"a/{name}" in checked.out} == cut and "good_" not in checked.out
    found = loaded(tmp_path / "out", on_bad_sample="skip")
    assert {key.removeprefix("a/") for key, pixels in found.items() if pixels is None} == cut


def test_crops_are_those_of_the_same_image_as_png(bale, tmp_path):
    """A kind that decodes only as a whole gives the same batches as one that decodes regions."""
    from bale import transforms
    images = {i: Image.fromarray(picture(90 + i, 70 + i, seed=i)) for i in range(8)}
    for kind in ("png", "bmp", "tif", "webp", "ppm"):
        for i, image in images.items():
            path = tmp_path / kind / "a" / f"{i}.{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            options = {"lossless": True} if kind == "webp" else {}
            path.write_bytes(encoded(image, "PPM" if kind == "ppm" else FIELDS[kind], **options))
        bale.ok("pack", tmp_path / kind, tmp_path / f"{kind}-out")
    for transform in (transforms.train(32), transforms.val(32, resize=40)):
        expected = loaded(tmp_path / "png-out", transform=transform, seed=3)
        for kind in ("bmp", "tif", "webp", "ppm"):
            same(loaded(tmp_path / f"{kind}-out", transform=transform, seed=3), expected)


def test_torch_and_the_loader_agree(bale, tmp_path):
    """bale.torch's Dataset decodes with the Pillow of its Python, the Loader with bale."""
    write_folder(tmp_path / "in")
    bale.ok("pack", tmp_path / "in", tmp_path / "out")
    print(run_script("""
        import sys
        import numpy as np
        import bale.torch as bt
        from bale import transforms

        dataset = bt.Dataset(sys.argv[1])
        with bt.Loader(sys.argv[1], 1, workers=0, shuffle=False, transform=transforms.padded(100)) as loader:
            for (image, label), (images, labels) in zip(dataset, loader, strict=True):
                ours = images[0].permute(1, 2, 0).numpy()[:image.height, :image.width]
                assert np.array_equal(ours, np.array(image)) and label == labels[0]
    """, tmp_path / "out", python=SYSTEM_PYTHON))


def test_resizing_makes_no_file_of_another_kind_than_its_name(bale, tmp_path):
    (tmp_path / "in" / "a").mkdir(parents=True)
    (tmp_path / "in" / "a" / "1.webp").write_bytes(WHOLE["webp"])
    bale.ok("pack", tmp_path / "in", tmp_path / "out", "--resize-short", "10")
    assert "png=" in bale.ok("ls", "--long", tmp_path / "out").out
    bale.ok("pack", tmp_path / "in", tmp_path / "same", "--resize-short", str(min(WIDTH, HEIGHT)))
