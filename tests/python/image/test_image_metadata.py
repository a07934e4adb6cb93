"""Metadata that other programs write: stripped completely, and an orientation applied exactly once wherever it stands."""
import io
import struct
import zlib

import numpy as np
import pytest
from image_support import chunk, exif, jpeg, picture, png
from PIL import Image, ImageOps, PngImagePlugin
from test_image_edits import pack  # noqa: F401 (a fixture)

XMP = b"http://ns.adobe.com/xap/1.0/\0"
ATTRIBUTE = b'<x:xmpmeta><rdf:Description dc:title="kept" tiff:Orientation="%d"/></x:xmpmeta>'
ELEMENT = b"<x:xmpmeta><dc:title>kept</dc:title><tiff:Orientation>%d</tiff:Orientation></x:xmpmeta>"


def segment(marker, content):
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def with_segments(image, *segments):
    """The JPEG with these behind JFIF's segment, which has 18 bytes."""
    return image[:20] + b"".join(segments) + image[20:]


def chunks_of(png):
    at = 8
    while at < len(png):
        length, = struct.unpack(">I", png[at:at + 4])
        yield png[at + 4:at + 8], png[at + 8:at + 8 + length]
        at += 12 + length


def tiff(entries, order="<", tail=b""):
    """A TIFF structure of (tag, type, count, four bytes or a number)."""
    out = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, len(entries))
    for tag, kind, count, value in entries:
        value = value if isinstance(value, bytes) else struct.pack(order + "I", value)
        out += struct.pack(order + "HHI", tag, kind, count) + value.ljust(4, b"\0")
    return out + struct.pack(order + "I", 0) + tail


def raw_profile(name, content):
    text = content.hex()
    lines = "\n".join(text[i:i + 72] for i in range(0, len(text), 72))
    return f"\n{name}\n{len(content):8}\n{lines}\n".encode()


def pixels(content):
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("RGB"))


# Stripping.

def stray(length_error, follower):
    """A JPEG whose EXIF segment states a length that is wrong by so much, with a segment behind it."""
    tagged = segment(0xE1, b"Exif\0\0" + tiff([(0x0112, 3, 1, 6)]))
    tagged = tagged[:2] + struct.pack(">H", len(tagged) - 2 + length_error) + tagged[4:]
    plain = jpeg(Image.fromarray(picture(60, 40)))
    return plain[:2] + tagged + follower + plain[20:], plain[:2] + plain[20:]


@pytest.mark.parametrize("length_error", [2, 1, -3, -30])
def test_bytes_between_segments_are_handled_as_libjpeg_does(pack, length_error):  # noqa: F811
    """With a length two too long, the next segment's marker is taken for EXIF and its content stands alone."""
    files, plain = {}, None
    for name, follower in (("app", segment(0xED, b"Photoshop 3.0\0private")), ("filler", b"\xff\xff\xff"),
                           ("noise", b"\0\1\2private\xff\0")):
        files[f"{name}.jpg"], plain = stray(length_error, follower)
        files[f"{name}_comment.jpg"], _ = stray(length_error, follower + segment(0xFE, b"private"))
    for name, (_, content) in pack(files, "--strip-metadata").items():
        assert np.array_equal(pixels(files[f"{name}.jpg"]), pixels(content)), name
        assert content == plain, name


def test_exif_is_stripped_wherever_it_is(pack):  # noqa: F811
    image = Image.fromarray(picture(90, 70))
    secret = segment(0xE1, b"Exif\0\0" + tiff([(0x0112, 3, 1, 1)], tail=b"private")) + segment(0xFE, b"private")
    progressive, baseline = jpeg(image, progressive=True), jpeg(image)
    scan = progressive.rindex(b"\xff\xda")
    files = {"between.jpg": progressive[:scan] + secret + progressive[scan:],
             "last.jpg": baseline[:-2] + secret + baseline[-2:],
             "no_end.jpg": baseline[:-2] + secret,
             "cut.jpg": baseline[:-2] + secret[:-5],
             "behind.jpg": baseline + secret,
             "preview.jpg": with_segments(baseline, segment(0xE0, b"JFXX\0\x10private"))}
    expected = {"between": progressive, "last": baseline, "no_end": baseline, "cut": baseline,
                "behind": baseline, "preview": baseline}
    assert {name: content for name, (_, content) in pack(files, "--strip-metadata").items()} == expected


def test_chunks_that_no_pixel_needs_are_stripped(pack):  # noqa: F811
    palette = Image.fromarray(picture(30, 20)).quantize(16)
    private = [chunk(kind, b"private") for kind in (b"prVt", b"tpNG", b"caBX", b"tEXt", b"iTXt", b"cICP", b"sPLT")]
    content = png(palette, chunk(b"vpAg", b"private"), transparency=3, dpi=(72, 72))
    content = content[:-12] + b"".join(private) + content[-12:]
    _, stripped = pack({"a.png": content}, "--strip-metadata")["a"]
    assert [kind for kind, _ in chunks_of(stripped)] == [b"IHDR", b"PLTE", b"tRNS", b"pHYs", b"IDAT", b"IEND"]
    with Image.open(io.BytesIO(content)) as original, Image.open(io.BytesIO(stripped)) as got:
        assert np.array_equal(np.asarray(got.convert("RGBA")), np.asarray(original.convert("RGBA")))


def test_what_cannot_be_compared_is_not_stripped(bale, pack):  # noqa: F811
    tagged = jpeg(Image.fromarray(picture(200, 150)), exif=exif(1))
    plain = jpeg(Image.fromarray(picture(200, 150)))
    files = {"a.jpg": tagged, "b.jpg": tagged[:len(tagged) * 2 // 3]}
    pack(files, "--strip-metadata", code=1)
    assert "b.jpg" in pack.result.error_line() and "only from images that can be decoded" in pack.result.error_line()
    assert pack(files, "--strip-metadata", "--on-error", "skip", code=4) == {"a": ("jpg", plain)}
    # Without anything to strip it is not looked at.
    assert pack({"b.jpg": plain[:900]}, "--strip-metadata")["b"] == ("jpg", plain[:900])


# Orientation.

def jpeg_with(*segments):
    return with_segments(jpeg(Image.fromarray(picture(60, 40))), *segments)


def jpeg_exif(*entries, order="<", tail=b"", prefix=b"Exif\0\0"):
    return segment(0xE1, prefix + tiff([(0x010E, 2, 4, b"abc"), *entries, (0x0131, 2, 3, b"xy")], order, tail))


def png_with(*chunks):
    return png(Image.fromarray(picture(30, 20)), *chunks)


def png_xmp(content, compressed):
    text = zlib.compress(content) if compressed else content
    return chunk(b"iTXt", b"XML:com.adobe.xmp\0" + bytes([compressed, 0]) + b"\0\0" + text)


TAGGED = tiff([(0x010E, 2, 4, b"abc"), (0x0112, 3, 1, 6), (0x0131, 2, 3, b"xy")])
RAW = b"Exif\0\0" + TAGGED
TURNED = {
    "exif_and_xmp.jpg": jpeg_with(jpeg_exif((0x0112, 3, 1, 6)), segment(0xE1, XMP + ATTRIBUTE % 6)),
    "exif_and_other_xmp.jpg": jpeg_with(jpeg_exif((0x0112, 3, 1, 8)), segment(0xE1, XMP + ELEMENT % 6)),
    "attribute.jpg": jpeg_with(segment(0xE1, XMP + ATTRIBUTE % 5)),
    "element.jpg": jpeg_with(jpeg_exif(), segment(0xE1, XMP + ELEMENT % 7)),
    "both_forms.jpg": jpeg_with(segment(0xE1, XMP + ATTRIBUTE % 3 + ELEMENT % 4)),
    "long.jpg": jpeg_with(jpeg_exif((0x0112, 4, 1, 6))),
    "long_big_endian.jpg": jpeg_with(jpeg_exif((0x0112, 4, 1, 6), order=">")),
    "directory.jpg": jpeg_with(jpeg_exif((0x0112, 13, 1, 6))),
    "signed.jpg": jpeg_with(jpeg_exif((0x0112, 9, 1, 3))),
    "float.jpg": jpeg_with(jpeg_exif((0x0112, 11, 1, struct.pack("<f", 8)))),
    "rational.jpg": jpeg_with(jpeg_exif((0x0112, 5, 1, 50), tail=struct.pack("<II", 6, 1))),
    "two_values.jpg": jpeg_with(jpeg_exif((0x0112, 3, 2, struct.pack("<HH", 6, 1)))),
    "two_entries.jpg": jpeg_with(jpeg_exif((0x0112, 3, 1, 6), (0x0112, 4, 1, 8))),
    "prefix_twice.jpg": jpeg_with(jpeg_exif((0x0112, 3, 1, 6), prefix=b"Exif\0\0Exif\0\0")),
    "empty_first.jpg": jpeg_with(segment(0xE1, b"Exif\0\0"), jpeg_exif((0x0112, 3, 1, 6))),
    "exif.png": png_with(chunk(b"eXIf", TAGGED)),
    "exif_and_xmp.png": png_with(chunk(b"eXIf", TAGGED), png_xmp(ATTRIBUTE % 6, 0)),
    "raw.png": png_with(chunk(b"tEXt", b"Raw profile type exif\0" + raw_profile("exif", RAW))),
    "packed_raw.png": png_with(chunk(b"zTXt", b"Raw profile type exif\0\0" +
                                     zlib.compress(raw_profile("exif", RAW)))),
    "raw_and_exif.png": png_with(chunk(b"tEXt", b"Raw profile type exif\0" + raw_profile("exif", RAW)),
                                 chunk(b"eXIf", TAGGED.replace(struct.pack("<HHII", 0x0112, 3, 1, 6),
                                                               struct.pack("<HHII", 0x0112, 3, 1, 8)))),
    "xmp.png": png_with(png_xmp(ATTRIBUTE % 6, 0)),
    "packed_xmp.png": png_with(png_xmp(ELEMENT % 8, 1)),
}
# Pillow takes none of these for an orientation, or for the one that the picture has.
UPRIGHT = {
    "one.jpg": jpeg_with(jpeg_exif((0x0112, 3, 1, 1)), segment(0xE1, XMP + ATTRIBUTE % 6)),
    "byte.jpg": jpeg_with(jpeg_exif((0x0112, 1, 1, 6)), segment(0xE1, XMP + ATTRIBUTE % 6)),
    "text.jpg": jpeg_with(jpeg_exif((0x0112, 2, 2, b"6"))),
    "nine.jpg": jpeg_with(jpeg_exif((0x0112, 4, 1, 9)), segment(0xE1, XMP + ATTRIBUTE % 9)),
    "value_beyond.jpg": jpeg_with(segment(0xE1, b"Exif\0\0" + tiff([(0x010E, 2, 20, 500), (0x0112, 3, 1, 6)]))),
    "another_namespace.jpg": jpeg_with(segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0" + ATTRIBUTE % 6)),
}


def transposed(content):
    """Pillow's answer; a copy, so that it has no file."""
    with Image.open(io.BytesIO(content)) as image:
        return ImageOps.exif_transpose(image)


def test_pillow_turns_the_test_images():
    for name, content in TURNED.items():
        assert not np.array_equal(np.asarray(transposed(content)), pixels(content)), name
    for name, content in UPRIGHT.items():
        assert np.array_equal(np.asarray(transposed(content)), pixels(content)), name


def test_orientation_is_what_pillow_sees_and_leaves_no_trace(pack):  # noqa: F811
    found = {}
    for kind in ("jpg", "png"):
        found |= {f"{name}.{field}": content for name, (field, content) in
                  pack({name: content for name, content in TURNED.items() if name.endswith(kind)}, "--orient",
                       "--quality", 90).items()}
    assert found.keys() == TURNED.keys()
    for name, content in found.items():
        expected = np.asarray(transposed(TURNED[name]))
        if name.endswith(".jpg"):
            expected = pixels(jpeg(Image.fromarray(expected), quality=90))
        assert np.array_equal(pixels(content), expected), name
        with Image.open(io.BytesIO(content)) as image:
            image.load()
            assert 0x0112 not in image.getexif(), name
            texts = " ".join(str(value) for value in image.info.values())
            assert "tiff:Orientation" not in texts, name
            if "XMP" in str(TURNED[name]) or "xap" in str(TURNED[name]):
                assert "kept" in texts, name
            if 0x010E in transposed(TURNED[name]).getexif():
                assert image.getexif()[0x010E] == "abc" and image.getexif()[0x0131] == "xy", name
        # A reader that prefers another of the places finds nothing there either.
        for field in ("exif", "Raw profile type exif", "xmp", "XML:com.adobe.xmp"):
            with Image.open(io.BytesIO(content)) as image:
                image.load()
                image.info = {key: value for key, value in image.info.items() if key == field}
                image._exif = None
                assert 0x0112 not in image.getexif(), (name, field)


def test_what_pillow_does_not_turn_stays_as_it_is(pack):  # noqa: F811
    found = pack(UPRIGHT, "--orient")
    assert {f"{name}.jpg": content for name, (_, content) in found.items()} == UPRIGHT


def test_texts_that_hold_an_orientation_stay_texts(pack):  # noqa: F811
    """Compressed ones stay compressed, and all that is next to the orientation stays."""
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "tiff:Orientation=\"6\" is not an orientation here", zip=True)
    content = png(Image.fromarray(picture(30, 20)), chunk(b"zTXt", b"Raw profile type exif\0\0" +
                  zlib.compress(raw_profile("exif", RAW))), png_xmp(ATTRIBUTE % 6, 1), pnginfo=info)
    _, turned = pack({"a.png": content}, "--orient")["a"]
    kinds = [kind for kind, _ in chunks_of(turned)]
    assert kinds == [b"IHDR", b"zTXt", b"iTXt", b"zTXt", b"IDAT", b"IEND"]
    with Image.open(io.BytesIO(turned)) as image:
        image.load()
        assert image.text["Comment"] == "tiff:Orientation=\"6\" is not an orientation here"
        assert image.info["Raw profile type exif"].split("\n")[1] == "exif"
        assert len(image.text["XML:com.adobe.xmp"]) == len(ATTRIBUTE % 6)
