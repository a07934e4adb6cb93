"""JPEGs that are stored as planes: everything that reads them gets the files that were packed, and the same pixels."""
import io
import json
import pathlib
import shutil
import tarfile

import numpy as np
import pytest
from conftest import LAYOUTS, flip, manifest_of, shards, tree_bytes
from PIL import Image

DAMAGED = 3
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "unit" / "image" / "jpeg" / "golden"
NAMED = [name for name in LAYOUTS if name[0] in ("tar", "lmdb", "hdf5", "tfrecord", "recordio")]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """JPEGs of every sampling, a progressive one, one with bytes after its end, one with fill bytes, one of four components, a PNG, and texts."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(3)
    for number in range(12):
        pixels = Image.fromarray(rng.integers(0, 255, (9, 11, 3), dtype=np.uint8)).resize((200 + 7 * number, 150 + number))
        path = folder / f"class{number % 2}" / f"{number}.{'jpeg' if number == 2 else 'jpg'}"
        path.parent.mkdir(exist_ok=True)
        mode = {5: "CMYK", 6: "L"}.get(number, "RGB")
        pixels.convert(mode).save(path, quality=50 + 4 * number, progressive=number == 3, subsampling=number % 3 if mode == "RGB" else -1)
        path.with_suffix(".json").write_text(json.dumps({"number": number}))
    with open(folder / "class0" / "4.jpg", "ab") as file:
        file.write(b"\n")
    filled = folder / "class0" / "8.jpg"
    filled.write_bytes(filled.read_bytes()[:-2] + b"\xff\xff\xd9")
    pixels.save(folder / "class0" / "drawn.png")
    (folder / "class0" / "drawn.json").write_text("{}")
    return folder


def fields_of(folder):
    return {field["name"]: field["codec"] for field in manifest_of(folder)["fields"]}


def files_of(folder):
    """Of each file its bytes, without labels. A field jpeg is one jpg."""
    return {name.replace(".jpeg", ".jpg"): content for name, content in tree_bytes(folder).items() if not name.endswith(".cls")}


@pytest.mark.parametrize("form, layout", NAMED)
def test_readers_get_the_files(bale, photos, tmp_path, form, layout):
    python = pytest.importorskip("bale")
    unpaired = {f"class0/drawn.{end}": (photos / f"class0/drawn.{end}").read_bytes() for end in ("png", "json")}
    common = ["--pair", "jpg,json", "--format", f"{form}.{layout}", "--name", "x", "--shard-samples", "5"]
    said = bale.pack(photos, tmp_path / "plain", *common)
    assert "planes" not in said.out + said.err
    said = bale.pack(photos, tmp_path / "planes", *common, "--jpeg-code", "planes")
    assert "10 JPEGs stored as planes; 2 stored unchanged: 1 of 4 components, 1 written unusually" in said.err, said
    quiet = bale.pack(photos, tmp_path / "planes", *common, "--jpeg-code", "planes", "--overwrite", "-q")
    assert "planes;" not in quiet.err, quiet
    assert fields_of(tmp_path / "planes")["jpg"] == "planes" and fields_of(tmp_path / "plain")["jpg"] == "none"
    assert "12 samples" in bale.ok("verify", tmp_path / "planes").out
    assert bale.ok("ls", tmp_path / "plain").out == bale.ok("ls", tmp_path / "planes").out
    bale.ok("extract", tmp_path / "plain", tmp_path / "files")
    bale.ok("extract", tmp_path / "planes", tmp_path / "restored")
    assert tree_bytes(tmp_path / "files") == tree_bytes(tmp_path / "restored")
    assert files_of(photos) == {**files_of(tmp_path / "files"), **unpaired}
    key = "class1/1"
    assert bale.ok("cat", tmp_path / "planes", key).stdout == (photos / f"{key}.jpg").read_bytes()
    assert bale.ok("diff", tmp_path / "plain", tmp_path / "planes")
    plain, planes = python.Dataset(str(tmp_path / "plain")), python.Dataset(str(tmp_path / "planes"))
    assert [planes[i] for i in range(len(planes))] == [plain[i] for i in range(len(plain))]
    assert [planes.read_image(i) for i in range(len(planes))] == [plain.read_image(i) for i in range(len(plain))]
    assert planes.read_field(1, "jpg") == plain.read_field(1, "jpg")


@pytest.mark.parametrize("form, layout", NAMED)
def test_a_scan_knows_them(bale, photos, tmp_path, form, layout):
    bale.pack(photos, tmp_path / "planes", "--format", f"{form}.{layout}", "--jpeg-code", "planes", "--shard-count", "1")
    indexed = bale.ok("ls", tmp_path / "planes").out
    bale.ok("extract", tmp_path / "planes", tmp_path / "restored")
    [shard] = shards(tmp_path / "planes")
    (tmp_path / "planes" / "manifest.json").unlink()
    next((tmp_path / "planes").glob("*.bidx")).unlink()
    assert sorted(bale.ok("ls", shard).out.split()) == sorted(indexed.split())
    bale.ok("extract", shard, tmp_path / "scanned")
    assert tree_bytes(tmp_path / "scanned") == tree_bytes(tmp_path / "restored")


def test_there_and_back(bale, photos, tmp_path):
    common = ["--name", "x", "--shard-samples", "5"]
    bale.pack(photos, tmp_path / "plain", *common)
    bale.pack(photos, tmp_path / "planes", *common, "--jpeg-code", "planes")
    bale.ok("convert", tmp_path / "plain", tmp_path / "made", *common, "--jpeg-code", "planes")
    bale.ok("convert", tmp_path / "made", tmp_path / "back", *common)
    bale.ok("convert", tmp_path / "made", tmp_path / "again", *common, "--jpeg-code", "planes")

    def shards_of(name):
        return {path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir()) if path.name != "manifest.json"}
    assert shards_of("made") == shards_of("planes") == shards_of("again")
    assert shards_of("back") == shards_of("plain")


def test_converting_passes_planes_on(bale, photos, tmp_path):
    """Planes of another encoder, here with their header stored as it is, stay as they are, unless the JPEG is changed."""
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(GOLDEN / "planes_1.jpg", source / "a.jpg")
    bale.pack(source, tmp_path / "planes", "--jpeg-code", "planes", "--flat", "--name", "x")
    [shard] = shards(tmp_path / "planes")
    golden = (GOLDEN / "planes_1.bjp").read_bytes()
    assert golden not in shard.read_bytes()
    with tarfile.open(tmp_path / "other.tar", "w") as file:
        for name, content in (("a.jpg.bjp", golden), ("a.cls", b"0")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    bale.ok("convert", tmp_path / "other.tar", tmp_path / "kept", "--jpeg-code", "planes", "--name", "x")
    [kept] = shards(tmp_path / "kept")
    assert golden in kept.read_bytes()
    assert bale.ok("cat", tmp_path / "kept", "a").stdout == (source / "a.jpg").read_bytes()
    bale.ok("convert", tmp_path / "other.tar", tmp_path / "small", "--jpeg-code", "planes", "--resize-short", "20")
    with Image.open(io.BytesIO(bale.ok("cat", tmp_path / "small", "a").stdout)) as image:
        assert min(image.size) == 20


def test_merged_shards_keep_them(bale, photos, tmp_path):
    """Also those that are written again, because their classes get other numbers."""
    for name in ("class0", "class1"):
        shutil.copytree(photos / name, tmp_path / name / name)
        bale.pack(tmp_path / name, tmp_path / f"packed-{name}", "--jpeg-code", "planes", "--name", name)
    bale.ok("merge", tmp_path / "packed-class1", tmp_path / "packed-class0", "-o", tmp_path / "both")
    assert [b".jpg.bjp" in shard.read_bytes() for shard in shards(tmp_path / "both")] == [True, True]
    bale.ok("verify", tmp_path / "both")


@pytest.mark.parametrize("transform", ["train", "evaluation", "simclr", "trivial", "mask"])
def test_loaders_get_the_same_pixels(bale, photos, tmp_path, transform):
    python = pytest.importorskip("bale")
    T = python.transforms
    made = {"train": T.train(64), "evaluation": T.Compose([T.Resize(72), T.CenterCrop(64)]),
            "simclr": T.Compose([T.RandomResizedCrop(48), T.RandomHorizontalFlip(), T.ColorJitter(0.4, 0.4, 0.2, 0.1),
                                 T.PillowGaussianBlur()]),
            "trivial": T.Compose([T.RandomResizedCrop(48), T.TrivialAugmentWide()]),
            "mask": T.Compose([T.Resize(64), T.CenterCrop(48)])}[transform]
    for name, options in (("plain", []), ("planes", ["--jpeg-code", "planes"])):
        bale.pack(photos, tmp_path / name, "--exclude", "*/5.jpg", *options)

    def batches(name, **options):
        with python.Loader(str(tmp_path / name), 4, seed=5, transform=made, **options) as loader:
            return [(batch.images.copy(), batch.labels.copy()) for _ in range(3) for batch in loader]
    expected = batches("plain", workers=0)
    for options in ({"workers": 0}, {"workers": 2}):
        found = batches("planes", **options)
        assert len(found) == len(expected) > 1
        for (images, labels), (other_images, other_labels) in zip(found, expected):
            np.testing.assert_array_equal(images, other_images)
            np.testing.assert_array_equal(labels, other_labels)


def test_damage_is_found_and_named(bale, photos, tmp_path):
    python = pytest.importorskip("bale")
    bale.pack(photos, tmp_path / "planes", "--jpeg-code", "planes", "--shard-count", "1")
    [shard] = shards(tmp_path / "planes")
    dataset = python.Dataset(str(tmp_path / "planes"))
    position = next(i for i in range(len(dataset)) if dataset.keys[i] == "class1/7")
    content = shard.read_bytes()
    at = content.index(b"class1/7.jpg.bjp") + 512 + 2000
    flip(shard, at)
    found = bale("verify", tmp_path / "planes")
    assert found.code == DAMAGED and "class1/7" in found.out and "JPEG planes" in found.out, found
    with pytest.raises(python.Error, match="class1/7"):
        python.Dataset(str(tmp_path / "planes")).read_image(position)
    with python.Loader(str(tmp_path / "planes"), 13, transform=python.transforms.train(32), on_bad_sample="skip", workers=0) as loader:
        [batch] = list(loader)
        assert batch.mask.sum() == 12


def test_what_cannot_be(bale, photos, tmp_path):
    python = pytest.importorskip("bale")
    refused = bale("pack", photos, tmp_path / "out", "--jpeg-code", "planes", "--seek-points")
    assert refused.code == 2 and "seek points are for Huffman codes" in refused.error_line()
    refused = bale("pack", photos, tmp_path / "out", "--jpeg-code", "planes", "--format", "npy", "--size", "8")
    assert refused.code == 2 and "has no room for JPEGs as planes" in refused.err and "--jpeg-code" in refused.err, refused
    refused = bale("pack", photos, tmp_path / "out", "--jpeg-code", "flat")
    assert refused.code == 2 and "planes or huffman" in refused.err, refused
    assert not (tmp_path / "out").exists()
    bale.pack(photos, tmp_path / "planes", "--jpeg-code", "planes")
    with pytest.raises(python.Error, match="cannot be delivered raw"):
        python.Loader(str(tmp_path / "planes"), 4, transform=python.transforms.raw())


def test_python_packs_them(photos, tmp_path):
    python = pytest.importorskip("bale")
    report = python.pack(str(photos), str(tmp_path / "packed"), jpeg_code="planes")
    assert report["jpegs"] == {"planes": 10, "of 4 components": 1, "written unusually": 1}
    image, drawn = (photos / "class1" / "1.jpg").read_bytes(), (photos / "class0" / "drawn.png").read_bytes()
    with python.Writer(tmp_path / "written", jpeg_code="planes") as writer:
        writer.add("a", {"jpg": image}, label=0)
        writer.add("b", {"jpg": drawn}, label=0)
    assert writer.report["jpegs"] == {"planes": 1, "not JPEG": 1}
    written = python.Dataset(str(tmp_path / "written"))
    assert [written.read_image(i) for i in range(2)] == [image, drawn]
    python.convert(str(tmp_path / "written"), str(tmp_path / "back"))
    assert python.Dataset(str(tmp_path / "back")).read_image(0) == image
    assert fields_of(tmp_path / "back")["jpg"] == "none"
