"""Images that are cut off: the same answer whatever is read of them, and Pillow's answer."""
import io
import json
import tarfile

import pytest
from augment_support import transformed
from conftest import by_tier
from PIL import Image
from test_image_edits import jpeg
from test_pixels import picture


def png(image, **options):
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    return out.getvalue()


def pillow_reads(content):
    try:
        with Image.open(io.BytesIO(content)) as image:
            image.convert("RGB")
        return True
    except Exception:  # Pillow has no one type for it
        return False


PHOTO = Image.fromarray(picture(160, 240))
WHOLE = {"baseline": jpeg(PHOTO), "restarts": jpeg(PHOTO, restart_marker_blocks=7), "444": jpeg(PHOTO, subsampling=0),
         "progressive": jpeg(PHOTO, progressive=True), "grey": jpeg(PHOTO.convert("L")), "png": png(PHOTO),
         "exif": jpeg(PHOTO, exif=b"Exif\0\0" + jpeg(PHOTO.resize((16, 16))))}


def cuts(content):
    """Cut off anywhere, and what broken downloads and cameras put behind it."""
    yield content
    for left in (0.3, 0.6, 0.9, 0.95, 0.99):
        yield content[:int(len(content) * left)]
    for missing in range(1, 16):
        yield content[:-missing]
    for end in (content, content[:-2], content[:-12], content[:len(content) * 3 // 4]):
        for tail in (bytes(40), b"\xff" * 40, b"\n", b"mp4" * 30, WHOLE["grey"]):
            yield end + tail


def test_the_answer_depends_on_no_crop(tmp_path):
    file = tmp_path / "cut.jpg"
    file.write_bytes(WHOLE["baseline"][:len(WHOLE["baseline"]) * 95 // 100])
    results = [line for epoch in range(by_tier(30, 300))
               for line, _ in transformed([file], size="32x32", epoch=epoch, scale="0.08,0.2")]
    assert all("incomplete" in line["error"] for line in results), results


@pytest.mark.parametrize("kind", WHOLE)
def test_every_transform_gives_pillows_answer(tmp_path, kind):
    contents = list(cuts(WHOLE[kind]))
    files = []
    for i, content in enumerate(contents):
        files.append(tmp_path / f"{i}.img")
        files[-1].write_bytes(content)
    expected = [pillow_reads(content) for content in contents]
    if kind == "png":  # libpng wants the last checksum, and looks at what follows it
        expected = ["error" not in line for line, _ in transformed(files, kind="ragged")]
    assert 5 < sum(expected) < len(expected) - 5
    for options in ({"kind": "train", "size": "32x32", "scale": "0.08,0.1"}, {"kind": "eval", "size": "8x8", "short": 240},
                    {"kind": "padded", "size": "300x300"}, {"kind": "ragged"}):
        found = ["error" not in line for line, _ in transformed(files, **options)]
        assert found == expected, (options, [i for i in range(len(found)) if found[i] != expected[i]])


# Headers that state no size.

def odd_headers():
    """(without a size that anybody finds, with a header that only libjpeg gets through)."""
    image = jpeg(Image.fromarray(picture(60, 40)))
    frame = image.index(b"\xff\xc0")
    return image[:frame + 5] + b"\0\0" + image[frame + 7:], image[:20] + b"\xff\xe5\0\0" + image[20:]


@pytest.mark.parametrize("samples", [100, 1])
def test_one_image_without_a_size_does_not_stop_the_others(bale, tmp_path, samples):
    no_size, odd = odd_headers()
    folder = tmp_path / "in" / "c"
    folder.mkdir(parents=True)
    for i in range(6):
        (folder / f"{i}.jpg").write_bytes(jpeg(Image.fromarray(picture(60, 40, seed=i))))
    (folder / "no_size.jpg").write_bytes(no_size)
    (folder / "odd.jpg").write_bytes(odd)
    bale.pack(tmp_path / "in", tmp_path / "out", "--shard-samples", str(samples))
    sizes = {line.split()[-1]: line.split()[2] for line in bale.ok("ls", "-l", tmp_path / "out").out.splitlines()}
    assert sizes["c/odd"] == "60x40" and sizes["c/0"] == "60x40"
    result = json.loads(bale.ok("bench", tmp_path / "out", "--json", "--batch", "4", "--size", "16", "--epochs", "1",
                                "--threads", "--stages", "decode,train").out)
    for stage in ("decode", "train"):
        assert result["stages"][stage]["bad_samples"] == 1 and result["stages"][stage]["images"] == 7, result


def test_an_index_without_sizes_is_still_told(bale, tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for i in range(3):
            content = jpeg(Image.fromarray(picture(60, 40, seed=i)))
            info = tarfile.TarInfo(f"{i}.jpg")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    bench = ("bench", tmp_path / "x.tar", "--batch", "3", "--epochs", "1", "--threads", "--stages", "decode")
    result = bale(*bench)
    assert result.code == 1 and "bale index --force" in result.error_line()
    bale.ok("index", "--force", tmp_path / "x.tar")
    bale.ok(*bench)
