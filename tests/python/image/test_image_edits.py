"""Images changed as they are packed: Pillow's pixels, Pillow's bytes, and nothing touched that fits."""
import io
import json

import numpy as np
import pytest
from conftest import LAYOUTS, class_names, manifest_of, read_tar
from image_support import cmyk, encoded, exif, jpeg, picture, png
from PIL import Image, ImageCms, ImageOps, features


@pytest.fixture
def pack(bale, tmp_path):
    """pack({name: bytes}, options...) -> {stem: (field, bytes)} of a folder with these files."""
    runs = []

    def run(files, *options, code=0):
        runs.append(None)
        source, packed = tmp_path / f"in{len(runs)}", tmp_path / f"out{len(runs)}"
        for name, content in files.items():
            (source / "c").mkdir(parents=True, exist_ok=True)
            (source / "c" / name).write_bytes(content)
        result = bale("pack", source, packed, "--format", "tar", "--name", "x", *map(str, options))
        assert result.code == code, result
        run.directory, run.result = packed, result
        if code not in (0, 4):
            return None
        found = {}
        for key, fields in read_tar(packed):
            (field, content), = [(f, c) for f, c in fields.items() if f != "cls"]
            found[key.removeprefix("c/")] = (field, content)
        return found
    return run


def resized(image, short=None, longest=None):
    """torchvision's Resize on a Pillow image; None where the image fits."""
    width, height = image.size
    side, limit = (min(width, height), short) if short else (max(width, height), longest)
    if side <= limit:
        return None
    return image.resize((max(1, int(limit * width / side)), max(1, int(limit * height / side))), Image.BILINEAR)


SIZES = [(200, 120), (120, 200), (97, 97), (64, 500), (301, 64), (65, 64), (50, 40)]


@pytest.mark.parametrize("option", ["short", "max"])
def test_resized_jpegs_are_those_of_pillow_to_the_byte(pack, option):
    files = {f"{w}x{h}.jpg": jpeg(Image.fromarray(picture(w, h, seed=w + h))) for w, h in SIZES}
    files["gray.jpg"] = jpeg(Image.fromarray(picture(150, 110, channels=1)[:, :, 0]))
    files["cmyk.jpg"] = jpeg(cmyk(150, 110))
    found = pack(files, f"--resize-{option}", 64, "--quality", 83)
    assert found.keys() == {name[:-4] for name in files}
    changed = 0
    for name, original in files.items():
        image = Image.open(io.BytesIO(original))
        image = image if image.mode == "L" else image.convert("RGB")
        expected = resized(image, **{"short" if option == "short" else "longest": 64})
        field, content = found[name[:-4]]
        assert field == "jpg"
        if expected is None:
            assert content == original, name
        else:
            changed += 1
            assert Image.open(io.BytesIO(content)).mode == image.mode
            assert content == jpeg(expected, quality=83), name
    assert changed >= 5


def test_resized_pngs_are_the_pixels_of_pillow(pack):
    image = Image.fromarray(picture(120, 90))
    found = pack({"a.png": png(image), "b.jpg": png(image)}, "--resize-short", 40, "--quality", 90)
    field, content = found["a"]
    assert field == "png"
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), np.asarray(resized(image, short=40)))
    assert found["b"] == ("jpg", jpeg(resized(image, short=40), quality=90))  # what its name says


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_orientation_is_applied_and_its_tag_dropped(pack, orientation, byte_order):
    image = Image.fromarray(picture(60, 40))
    tagged = jpeg(image, exif=exif(orientation, byte_order))
    _, content = pack({"a.jpg": tagged}, "--orient", "--quality", 90)["a"]
    if orientation == 1:
        assert content == tagged
        return
    with Image.open(io.BytesIO(tagged)) as opened:
        expected = ImageOps.exif_transpose(opened)
    with Image.open(io.BytesIO(content)) as got:
        assert np.array_equal(np.asarray(got), np.asarray(Image.open(io.BytesIO(jpeg(expected, quality=90)))))
        tags = got.getexif()
        assert 0x0112 not in tags
        assert tags[0x010E] == "a description that is to survive" and tags[0x0131] == "software"


def test_orientation_comes_before_the_size(pack):
    image = Image.fromarray(picture(200, 130))
    tagged = jpeg(image, exif=exif(6))
    options = ("--orient", "--resize-max", 90, "--strip-metadata", "--quality", 88)
    _, content = pack({"a.jpg": tagged}, *options)["a"]
    expected = resized(ImageOps.exif_transpose(Image.open(io.BytesIO(tagged))), longest=90)
    assert content == jpeg(Image.fromarray(np.asarray(expected)), quality=88)


def test_png_orientation(pack):
    tagged = png(Image.fromarray(picture(30, 20)), exif=exif(8))
    _, content = pack({"a.png": tagged}, "--orient")["a"]
    with Image.open(io.BytesIO(content)) as got, Image.open(io.BytesIO(tagged)) as original:
        assert np.array_equal(np.asarray(got), np.asarray(ImageOps.exif_transpose(original)))
        got.load()
        assert 0x0112 not in got.getexif() and got.getexif()[0x0131] == "software"


def test_metadata_are_stripped_and_the_rest_of_the_bytes_stays(pack):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    plain = jpeg(Image.fromarray(picture(60, 40)), progressive=True)
    full = jpeg(Image.fromarray(picture(60, 40)), progressive=True, exif=exif(3), icc_profile=profile, comment=b"hello")
    adobe = jpeg(cmyk(40, 30))
    drawn = png(Image.fromarray(picture(30, 20)), exif=exif(8), icc_profile=profile)
    found = pack({"plain.jpg": plain, "full.jpg": full, "adobe.jpg": adobe, "p.png": drawn}, "--strip-metadata")
    assert found["plain"][1] == plain and found["adobe"][1] == adobe
    assert found["full"][1] == plain
    stripped = Image.open(io.BytesIO(found["p"][1]))
    stripped.load()
    assert not stripped.getexif() and "icc_profile" not in stripped.info
    assert np.array_equal(np.asarray(stripped), picture(30, 20))


def test_what_cameras_append_is_stripped(pack):
    """A second picture with a place of its own, a film: after the end of the first, whatever its scans look like."""
    image = Image.fromarray(picture(90, 70))
    trailer = jpeg(image, exif=exif(1)) + b"mp4" * 99
    files, plain = {}, {}
    kinds = {"a": {}, "b": {"progressive": True}, "c": {"restart_marker_blocks": 1}, "d": {"quality": 100}}
    for name, options in kinds.items():
        plain[name] = jpeg(image, **options)
        files[f"{name}.jpg"] = plain[name] + trailer
    files["e.png"], plain["e"] = png(image) + b"more", png(image)
    cut = jpeg(image)[:-2]  # without its end marker: nothing is known to lie behind it
    files["f.jpg"] = plain["f"] = cut
    assert {name: content for name, (_, content) in pack(files, "--strip-metadata").items()} == plain
    untouched = pack(files)
    assert all(untouched[name[0]][1] == content for name, content in files.items())


def test_kinds_whose_metadata_cannot_be_read_are_not_passed_on_as_if_they_had_none(pack):
    webp = encoded(Image.fromarray(picture(30, 20)), "WEBP", exif=exif(6))
    pack({"a.webp": webp}, "--strip-metadata", code=1)
    assert "a.webp" in pack.result.error_line() and "webp" in pack.result.error_line()
    assert pack({"a.webp": webp}, "--resize-short", 20)["a"] == ("webp", webp)


def other_kinds(orientation):
    """The same picture as files of kinds that bale does not encode, with an orientation if they can state one."""
    image = Image.fromarray(picture(60, 40))
    tag = {} if orientation is None else {"exif": exif(orientation)}
    xmp = b'<x:xmpmeta><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>' % (orientation or 1)
    files = {"bmp.bmp": encoded(image, "BMP"), "ppm.ppm": encoded(image, "PPM"),
             "gif.gif": encoded(image.quantize(64), "GIF"), "lossless.webp": encoded(image, "WEBP", lossless=True, **tag),
             "lossy.webp": encoded(image, "WEBP", **tag),
             "tiff.tif": encoded(image, "TIFF", tiffinfo={} if orientation is None else {274: orientation}),
             "xmp.webp": encoded(image, "WEBP", lossless=True, **({} if orientation is None else {"xmp": xmp}))}
    if features.check("avif"):
        files["avif.avif"] = encoded(image, "AVIF", **tag)
    return files


def pillows(content, short=None):
    """Pillow's upright pixels, made smaller."""
    with Image.open(io.BytesIO(content)) as image:
        image.load()
        upright = ImageOps.exif_transpose(image).convert("RGB")
        return np.asarray(resized(upright, short=short) if short else upright)


@pytest.mark.parametrize("orientation", [None, 1, 3, 6, 7])
def test_every_kind_is_turned_or_stays_as_it_is(pack, orientation):
    """Kinds without an orientation, and TIFFs, whose decoders turn them, keep their bytes."""
    files = other_kinds(orientation)
    found = pack(files, "--orient")
    assert len(found) == len(files)
    for name, content in files.items():
        field, packed = found[name.partition(".")[0]]
        turned = orientation not in (None, 1) and name.endswith(("webp", "avif"))
        assert (field, packed == content) == (("png", False) if turned else (name.partition(".")[2], True)), name
        assert np.array_equal(pillows(packed), pillows(content)), name
        if turned:
            assert not Image.open(io.BytesIO(packed)).getexif()


def test_other_kinds_become_pngs_when_they_are_resized(bale, tmp_path):
    """In every format; the tutorial's command leaves none out."""
    same = {"small.webp": encoded(Image.fromarray(picture(20, 20)), "WEBP"), "photo.jpg": jpeg(Image.fromarray(picture(60, 40)))}
    files = {**other_kinds(8), **same}
    (tmp_path / "in" / "c").mkdir(parents=True)
    for name, content in files.items():
        (tmp_path / "in" / "c" / name).write_bytes(content)
    for place in ("tar", "lmdb", "hdf5", "hdf5.vlen", "tfrecord", "recordio"):
        packed = tmp_path / place
        bale.pack(tmp_path / "in", packed, "--resize-short", "24", "--orient", "--on-error", "skip", "--format", place)
        bale.ok("verify", packed)
        rows = [json.loads(line) for line in bale.ok("ls", packed, "--json").out.splitlines()]
        fields = {row["key"]: set(row["fields"]) - {"cls"} for row in rows}
        for name, content in files.items():
            assert fields[f"c/{name.partition('.')[0]}"] == {name.partition(".")[2] if name in same else "png"}, place
            image = bale.ok("cat", packed, f"c/{name.partition('.')[0]}").stdout
            if name == "small.webp":
                assert image == content
            elif name != "photo.jpg":
                assert image[:4] == b"\x89PNG" and np.array_equal(pillows(image), pillows(content, short=24)), (place, name)


def test_metadata_stay_with_a_resized_image_unless_stripped(pack):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    full = jpeg(Image.fromarray(picture(100, 80)), exif=exif(6), icc_profile=profile)
    _, content = pack({"a.jpg": full}, "--resize-short", 20)["a"]
    got = Image.open(io.BytesIO(content))
    assert got.size == (25, 20)
    assert got.getexif()[0x0112] == 6 and got.info["icc_profile"] == profile
    _, content = pack({"a.jpg": full}, "--resize-short", 20, "--strip-metadata")["a"]
    assert not Image.open(io.BytesIO(content)).getexif()


def test_bad_images_follow_the_policy(pack):
    good = jpeg(Image.fromarray(picture(100, 80)))
    files = {"a.jpg": good, "b.jpg": good[:900], "c.jpg": b"no image" * 20, "d.jpg": good}
    pack(files, "--resize-short", 40, code=1)
    assert "b.jpg" in pack.result.error_line() or "c.jpg" in pack.result.error_line()
    found = pack(files, "--resize-short", 40, "--on-error", "skip", code=4)
    assert found.keys() == {"a", "d"}
    origins = {json.loads(line)["origin"].rpartition("/")[2]
               for line in (pack.directory / "skipped.jsonl").read_text().splitlines()}
    assert origins == {"b.jpg", "c.jpg"}


def test_the_manifest_says_what_was_done_and_a_resume_must_ask_for_the_same(bale, pack, tmp_path):
    pack({"a.jpg": jpeg(Image.fromarray(picture(100, 80)))}, "--resize-short", 40, "--quality", 77)
    manifest = manifest_of(pack.directory)
    assert manifest["edits"]["resize_short"] == "40" and manifest["edits"]["jpeg_quality"] == "77"
    assert "libjpeg-turbo" in manifest["edits"]["jpeg_encoder"]
    assert json.loads(bale.ok("inspect", "--json", pack.directory).out)["edits"] == manifest["edits"]
    assert "resize_short: 40" in bale.ok("inspect", pack.directory).out
    again = bale("pack", tmp_path / "in1", pack.directory, "--name", "x", "--resume", "--resize-short", "41")
    assert again.code == 1
    assert class_names(pack.directory) == [b"c"]
    bale.ok("verify", pack.directory)
    # What a conversion makes of it has been through the same, and through what is asked for now.
    bale.ok("convert", pack.directory, tmp_path / "c", "--format", "lmdb", "--strip-metadata")
    converted = manifest_of(tmp_path / "c")["edits"]
    assert converted == {**manifest["edits"], "metadata": "stripped"}


@pytest.mark.parametrize("options", [("--quality", "0"), ("--quality", "101"), ("--resize-short", "0"),
                                     ("--resize-short", "9", "--resize-max", "9"), ("--resize-max", "70000"),
                                     ("--quality", "80"), ("--quality", "80", "--strip-metadata")])
def test_options_that_make_no_sense(bale, tmp_path, photos, options):
    result = bale("pack", photos, tmp_path / "p", *options)
    assert result.code == 2, result
    assert not (tmp_path / "p").exists()


def test_every_format_takes_edited_images(bale, photos, tmp_path):
    """Sizes differ from what was planned; and layouts of pixels get them without a JPEG in between."""
    expected = None
    alike = tmp_path / "alike"
    (alike / "c").mkdir(parents=True)
    for i in range(4):
        (alike / "c" / f"{i}.jpg").write_bytes(jpeg(Image.fromarray(picture(70, 50, seed=i))))
    bale.pack(alike, tmp_path / "pixels", "--format", "npy", "--resize-short", "30", "--name", "x")
    bale.pack(alike, tmp_path / "array", "--format", "hdf5.array", "--resize-short", "30", "--name", "x")
    for i, image in enumerate(np.load(tmp_path / "pixels" / "x-000000.npy")):
        original = Image.open(alike / "c" / f"{i}.jpg")
        assert np.array_equal(image, np.asarray(resized(original, short=30))), i
        assert np.array_equal(image, np.load(io.BytesIO(bale.ok("cat", tmp_path / "array", f"c/{i}").stdout))), i
    edits = manifest_of(tmp_path / "pixels")["edits"]
    assert "resize_short" in edits and "jpeg_quality" not in edits
    for place in map(".".join, LAYOUTS):
        bale.pack(photos, tmp_path / place, "--format", place, "--resize-short", "30", "--quality", "100")
        bale.ok("verify", tmp_path / place)
        keys = bale.ok("ls", tmp_path / place).out.split()
        images = {key: bale.ok("cat", tmp_path / place, key).stdout for key in keys}
        assert {min(Image.open(io.BytesIO(image)).size) for image in images.values()} == {30}
        expected = expected or images
        assert images == expected
