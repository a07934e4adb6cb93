"""Images that are cut off: the same answer whatever is read of them, and Pillow's answer."""
import io
import json
import os

import numpy as np
import pytest
from augment_support import transformed
from conftest import by_tier, ledger, write_tar
from image_support import jpeg, picture, png
from PIL import Image


def pillow_reads(content):
    try:
        with Image.open(io.BytesIO(content)) as image:
            image.convert("RGB")
        return True
    except Exception:  # Pillow has no one type for it
        return False


PHOTO = Image.fromarray(picture(160, 240))
WHOLE = {"baseline": jpeg(PHOTO), "restarts": jpeg(PHOTO, restart_marker_blocks=7), "444": jpeg(PHOTO, subsampling=0),
         "progressive": jpeg(PHOTO, progressive=True), "gray": jpeg(PHOTO.convert("L")), "png": png(PHOTO),
         "exif": jpeg(PHOTO, exif=b"Exif\0\0" + jpeg(PHOTO.resize((16, 16))))}


def cuts(content):
    """Cut off anywhere, and what broken downloads and cameras put behind it."""
    yield content
    for left in (0.3, 0.6, 0.9, 0.95, 0.99):
        yield content[:int(len(content) * left)]
    for missing in range(1, 16):
        yield content[:-missing]
    for end in (content, content[:-2], content[:-12], content[:len(content) * 3 // 4]):
        for tail in (bytes(40), b"\xff" * 40, b"\n", b"mp4" * 30, WHOLE["gray"]):
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
    for options in ({"kind": "train", "size": "32x32", "scale": "0.08,0.1"}, {"kind": "val", "size": "8x8", "short": 240},
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


def test_an_index_without_sizes_is_still_reported(bale, tmp_path):
    write_tar(tmp_path / "x.tar", [(f"{i}.jpg", jpeg(Image.fromarray(picture(60, 40, seed=i)))) for i in range(3)])
    bench = ("bench", tmp_path / "x.tar", "--batch", "3", "--epochs", "1", "--threads", "--stages", "decode")
    result = bale(*bench)
    assert result.code == 1 and "bale index --force" in result.error_line()
    bale.ok("index", "--force", tmp_path / "x.tar")
    bale.ok(*bench)


# What pack and index find out.

INCOMPLETE = {"cut", "cut_png", "cut_scans"}


def write_images(folder):
    """INCOMPLETE, one whose header has no size, one that is damaged further down, and five that are good."""
    flipped = bytearray(WHOLE["png"])
    flipped[len(flipped) * 9 // 10] ^= 16
    folder.mkdir(parents=True)
    for name, content in {
            "good.jpg": WHOLE["baseline"], "good_png.png": WHOLE["png"], "progressive.jpg": WHOLE["progressive"],
            "tail.jpg": WHOLE["baseline"] + b"mp4" * 9, "no_end.jpg": WHOLE["baseline"][:-2] + bytes(40),
            "cut.jpg": WHOLE["baseline"][:-400], "cut_png.png": WHOLE["png"][:-400],
            "cut_scans.jpg": WHOLE["progressive"][:-400], "no_size.jpg": odd_headers()[0],
            "flipped.png": bytes(flipped)}.items():
        (folder / name).write_bytes(content)


def named(text):
    return {line.rpartition('key "')[2].partition('"')[0].rpartition("/")[2] for line in text.splitlines() if 'key "' in line}


def pack_images(bale, tmp_path, name, *options):
    """(what the JSON says of the images, standard error)."""
    if not (tmp_path / "in").exists():
        write_images(tmp_path / "in" / "c")
    result = bale.ok("pack", tmp_path / "in", tmp_path / name, "--json", *options)
    return json.loads(result.out)["images"], result.err


def test_pack_marks_and_names_what_no_loader_can_decode(bale, tmp_path):
    images, err = pack_images(bale, tmp_path, "quick")
    assert images == {"complete": 6, "incomplete": 3, "undecodable": 1, "unknown": 0}
    assert named(err) == INCOMPLETE | {"no_size"}
    images, err = pack_images(bale, tmp_path, "checked", "--check-images")
    assert images == {"complete": 5, "incomplete": 3, "undecodable": 2, "unknown": 0}
    assert named(err) == INCOMPLETE | {"no_size", "flipped"}
    assert json.loads(bale.ok("inspect", "--json", tmp_path / "checked").out)["images"] == images
    assert "3 incomplete, 2 that cannot be decoded" in bale.ok("inspect", tmp_path / "checked").out
    # A conversion looks at the bytes again.
    result = bale.ok("convert", tmp_path / "checked", tmp_path / "converted", "--format", "lmdb", "--json")
    assert json.loads(result.out)["images"]["incomplete"] == 3


@pytest.mark.parametrize("policy, format_name", [("skip", "tar"), ("quarantine", "lmdb")])
def test_what_does_not_decode_is_left_out_on_request(bale, tmp_path, policy, format_name):
    """A loader reads all that is packed. A further field, and features in place of an image, are not reason."""
    write_images(tmp_path / "in" / "c")
    (tmp_path / "in" / "c" / "heic.jpg").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    command = ("pack", tmp_path / "in", tmp_path / "out", "--format", format_name, "--on-error", policy, "--check-images",
               "--json")
    done = bale(*command)
    report = json.loads(done.out)
    bad = INCOMPLETE | {"no_size", "flipped", "heic"}
    assert done.code == 4 and report["samples"] == 5 and len(report["skipped"]) == len(bad), done
    assert report["images"] == {"complete": 5, "incomplete": 0, "undecodable": 0, "unknown": 0} and not report["undecodable"]
    lines = ledger(tmp_path / "out")
    assert {os.path.splitext(os.path.basename(line["origin"]))[0] for line in lines} == bad
    assert all(line["why"] for line in lines)
    assert all(bool(line.get("quarantined")) == (policy == "quarantine") for line in lines)
    assert "every image decodes" in bale.ok("verify", "--decode", tmp_path / "out").out
    again = bale(*command, "--resume")
    assert again.code == 4 and json.loads(again.out)["resumed_shards"] == 1, again
    other = bale(*command[:-2], "--resume")  # other samples
    assert other.code == 1 and "--overwrite" in other.error_line(), other
    # A pack is a source, too, and so is a program.
    bale.ok("pack", tmp_path / "in", tmp_path / "all", "--exclude", "*heic*")
    done = bale("convert", tmp_path / "all", tmp_path / "good", "--check-images", "--on-error", "skip", "--json")
    assert done.code == 4 and json.loads(done.out)["samples"] == 5, done


def test_python_names_what_no_loader_can_decode(tmp_path):
    bl = pytest.importorskip("bale")
    write_images(tmp_path / "in" / "c")
    with pytest.warns(UserWarning, match='the image is incomplete, so loaders treat it as a bad sample .key "c/cut"') as caught:
        bl.pack(tmp_path / "in", tmp_path / "packed", progress=False)
    assert all(name in str(caught[0].message) for name in INCOMPLETE | {"no_size"})
    with pytest.warns(UserWarning, match='the image is incomplete'), bl.Writer(tmp_path / "written") as writer:
        writer.add("cut", {"jpg": WHOLE["baseline"][:-400]})


def test_a_writer_leaves_out_what_does_not_decode(tmp_path):
    bl = pytest.importorskip("bale")
    flipped = bytearray(WHOLE["png"])
    flipped[len(flipped) * 9 // 10] ^= 16
    with bl.Writer(tmp_path / "out", check_images=True, on_error="skip") as writer:
        writer.add("good", {"png": WHOLE["png"]})
        writer.add("bad", {"png": bytes(flipped)})
        writer.add("features", {"npy": np.zeros(3)})
        with pytest.warns(UserWarning, match="1 sample skipped"):
            report = writer.close()
    assert report["samples"] == 2 and list(bl.Dataset(tmp_path / "out").keys) == ["good", "features"]


@pytest.mark.parametrize("images, says", [(0, "no sample has an image, so none was decoded\n"), (2, "every image decodes; 1 sample without an image\n"),
                                          (3, "every image decodes\n")])
def test_verify_says_what_it_decoded(bale, tmp_path, images, says):
    """Also of several datasets, which are one answer."""
    for name in ("a", "b"):
        members = [(f"{i}.txt", b"words") for i in range(3)] + [(f"{i}.png", WHOLE["png"]) for i in range(images)]
        write_tar(tmp_path / f"{name}.tar", sorted(members))
        bale.ok("convert", tmp_path / f"{name}.tar", tmp_path / "packs" / name)
    assert bale.ok("verify", "--decode", tmp_path / "packs" / "a").out.endswith("every checksum matches\n" + says)
    both = says.replace("1 sample", "2 samples")
    assert bale.ok("verify", "--decode", tmp_path / "packs").out.endswith("every checksum matches\n" + both)
    assert "image" not in bale.ok("verify", tmp_path / "packs").out


def test_verify_decodes_if_it_is_asked_to(bale, tmp_path):
    pack_images(bale, tmp_path, "out")
    bale.ok("verify", tmp_path / "out")
    result = bale("verify", "--decode", tmp_path / "out")
    assert result.code == 3 and named(result.out) == INCOMPLETE | {"no_size", "flipped"}
    assert "image is incomplete" in result.out and "image cannot be decoded" in result.out
    for name in [*(name + ".jpg" for name in ("cut", "cut_scans", "no_size")), "cut_png.png", "flipped.png"]:
        (tmp_path / "in" / "c" / name).unlink()
    bale.ok("pack", tmp_path / "in", tmp_path / "good")
    assert "every image decodes" in bale.ok("verify", "--decode", tmp_path / "good").out
    result = bale("verify", "--decode", "--max-pixels", "9", tmp_path / "good")
    assert result.code == 1 and len(named(result.out)) == 5 and "limit of 9 pixels" in result.out


def test_index_marks_what_others_have_packed(bale, tmp_path):
    pack_images(bale, tmp_path, "out")
    for index in (tmp_path / "out").glob("*.bidx"):
        index.unlink()
    (tmp_path / "out" / "manifest.json").unlink()
    shards = str(tmp_path / "out" / "*.tar")
    result = bale.ok("index", shards)
    assert named(result.err) == INCOMPLETE | {"no_size"}
    result = bale.ok("index", "--force", "--check-images", shards)
    assert named(result.err) == INCOMPLETE | {"no_size", "flipped"}
    images = json.loads(bale.ok("inspect", "--json", shards).out)["images"]
    assert images == {"complete": 5, "incomplete": 3, "undecodable": 2, "unknown": 0}


@pytest.mark.parametrize("options", [(), ("--check-images",)], ids=["quick", "checked"])
def test_a_bad_image_is_bad_in_every_epoch(bale, tmp_path, options):
    """A checked one also where no crop reaches the place that is damaged."""
    pack_images(bale, tmp_path, "out", *options)
    bad = set()
    for seed in range(by_tier(6, 60)):
        result = json.loads(bale.ok("bench", tmp_path / "out", "--json", "--batch", "5", "--size", "16", "--epochs", "1",
                                    "--threads", "--stages", "train", "--seed", str(seed)).out)
        bad.add(result["stages"]["train"]["bad_samples"])
    assert bad == {5} if options else bad <= {4, 5}
