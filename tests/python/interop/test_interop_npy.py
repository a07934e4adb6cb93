"""NumPy maps our arrays without code of ours, we read its own, and the loader takes their pixels as they are."""
import io
import json

import numpy as np
import pytest
from conftest import FORMATS, flip, images_by_key, manifest_of, tree_bytes
from PIL import Image

SIZE = 48
PACK_OPTIONS = ["--format", "npy", "--size", str(SIZE), "--name", "photos", "--shard-samples", "15"]


def cropped(data):
    """Resize(SIZE) and CenterCrop(SIZE) by Pillow, as torchvision rounds."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    width, height = image.size
    side = min(width, height)
    image = image.resize((int(SIZE * width / side), int(SIZE * height / side)), Image.BILINEAR)
    left, top = round((image.width - SIZE) / 2.0), round((image.height - SIZE) / 2.0)
    return np.asarray(image.crop((left, top, left + SIZE, top + SIZE)))


def test_numpy_maps_ours(bale, ours, photos):
    images = [np.load(path, mmap_mode="r") for path in sorted(ours.glob("photos-??????.npy"))]
    labels = np.concatenate([np.load(path) for path in sorted(ours.glob("*.labels.npy"))])
    assert all(isinstance(part, np.memmap) and part.dtype == np.uint8 for part in images)
    images = np.concatenate(images)
    keys = bale.ok("ls", ours).out.split()
    expected = images_by_key(photos)
    assert len(keys) == len(images) == len(labels) == len(expected)
    for key, image, label in zip(keys, images, labels):
        data, number = expected[key]
        assert label == number and np.array_equal(image, cropped(data)), key


def test_verify_and_overwrite_know_all_its_files(bale, ours, photos, fresh_copy):
    copy = fresh_copy(ours)
    bale.ok("verify", copy)
    labels = copy / "photos-000001.labels.npy"
    good = labels.read_bytes()
    labels.write_bytes(good[:-1] + b"\1")
    assert bale("verify", copy).code == 3
    labels.unlink()
    assert "photos-000001.labels.npy" in bale("verify", copy).out
    labels.write_bytes(good)
    flip(copy / "photos-000000.npy", 5000)
    found = bale("verify", copy)
    assert found.code == 3 and "photos-000000.npy" in found.out
    bale.pack(photos, copy, "--format", "tar", "--name", "photos", "--overwrite")
    assert not list(copy.glob("*.npy"))


def test_foreign_arrays(bale, tmp_path):
    images = np.random.default_rng(1).integers(0, 256, (7, 20, 30, 3), dtype=np.uint8)
    np.save(tmp_path / "x.npy", images)
    np.save(tmp_path / "x.labels.npy", np.arange(7, dtype=np.uint16) * 3)
    assert bale.ok("ls", tmp_path).out.split() == [f"{i:08d}" for i in range(7)]
    got = np.load(io.BytesIO(bale.ok("cat", tmp_path / "x.npy", "--index", "4").stdout))
    assert np.array_equal(got, images[4])
    bale.ok("index", tmp_path)
    bale.ok("verify", tmp_path)
    bale.ok("convert", tmp_path, tmp_path / "again", "--format", "npy", "--name", "y")
    assert np.array_equal(np.load(tmp_path / "again" / "y-000000.npy"), images)
    assert np.load(tmp_path / "again" / "y-000000.labels.npy").tolist() == [0, 3, 6, 9, 12, 15, 18]


def test_every_kind_of_label_that_is_a_whole_number(bale, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 4, 4, 3), np.uint8))
    for kind in "bhilBHIL":
        np.save(tmp_path / "x.labels.npy", np.array([100, 7], kind))
        lines = bale.ok("ls", "--json", tmp_path / "x.npy").out.splitlines()
        assert [json.loads(line)["label"] for line in lines] == [100, 7]
    for labels, why in [(np.array([1, 1 << 63], np.uint64), "2^63"), (np.array([1.0, 2.0]), "type <f8"),
                        (np.array([1, 2], ">i4"), "type >i4"),
                        (np.eye(2, dtype=np.int64), "not one number per image"), (np.array([1, 2, 3]), "(3) for 2 images")]:
        np.save(tmp_path / "x.labels.npy", labels)
        result = bale("ls", tmp_path / "x.npy")
        assert result.code == 1 and why in result.error_line() and "x.labels.npy" in result.error_line()


def test_code_in_headers_is_never_run(bale, tmp_path):
    """NumPy evaluates a literal there, and unpickles what is of objects; nothing of the kind is even read here."""
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    result = bale("ls", tmp_path / "x.npy")
    assert result.code == 1 and "type |O" in result.error_line()
    good = (tmp_path / "x.npy").read_bytes()
    for text in [b"__import__('os').system('touch %s')" % bytes(tmp_path / "ran"), b"{'descr': '|u1'} or 1",
                 b"{'descr': '|u1', 'fortran_order': False, 'shape': (5), }",
                 b"{'descr': '|u1' 'fortran_order': False}"]:
        header = text.ljust(117) + b"\n"
        (tmp_path / "x.npy").write_bytes(good[:8] + len(header).to_bytes(2, "little") + header + bytes(5))
        result = bale("ls", tmp_path / "x.npy")
        assert result.code == 1 and "header cannot be read" in result.error_line(), text
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("array, why", [
    (np.zeros((2, 4, 4, 3), np.float32), "type <f4"),
    (np.asfortranarray(np.zeros((2, 4, 4, 3), np.uint8)), "array in Fortran order; save it with numpy.ascontiguousarray()"),
    (np.zeros((2, 3, 4, 4), np.uint8), "shape (2, 3, 4, 4)"),
    (np.zeros(3, np.dtype([("a", np.uint8)])), "a NumPy array of records"),
])
def test_other_arrays_are_refused(bale, tmp_path, array, why):
    np.save(tmp_path / "x.npy", array)
    result = bale("ls", tmp_path / "x.npy")
    assert result.code == 1 and why in result.error_line()


def test_damage_costs_one_image_and_is_named(bale, ours, fresh_copy):
    """Shard, sample and offset; a header that is damaged costs nothing, and truncation what it cut off."""
    copy = fresh_copy(ours)
    shard = copy / "photos-000001.npy"
    whole = shard.read_bytes()
    keys = bale.ok("ls", copy).out.split()[15:30]
    image_bytes = SIZE * SIZE * 3
    images = [bale.ok("cat", copy, key).stdout for key in keys]
    for number in (0, 7, 14):
        begin = 128 + number * image_bytes
        for at in (begin, begin + 1000, begin + image_bytes - 1):
            shard.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
            found = bale("verify", copy)
            assert found.code == 3
            assert all(word in found.out for word in (shard.name, keys[number], str(begin))), found
        assert keys[number] in bale("cat", copy, keys[number]).error_line()
        assert bale.ok("cat", copy, keys[number - 1]).stdout == images[number - 1]
    for at in (0, 9, 20, 60, 127):
        shard.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        found = bale("verify", copy)
        assert found.code == 3 and shard.name in found.out, at
        assert bale.ok("cat", copy, keys[3]).stdout == images[3]
    shard.write_bytes(whole[:-image_bytes - 1])
    found = bale("verify", copy)
    assert found.code == 3 and keys[13] in found.out and keys[14] in found.out and keys[12] not in found.out
    shard.with_name(shard.name + ".bidx").unlink()
    result = bale("ls", shard)
    assert result.code == 1 and "bytes of data" in result.error_line() and "offset 128" in result.error_line()


def test_arrays_travel_through_every_format_that_takes_them(bale, ours, tmp_path):
    """The field `npy` is bytes like any other to those that hold bytes, and pixels again to those that hold pixels."""
    expected = tree_bytes(ours, ("manifest.json",))
    refused = bale("convert", ours, tmp_path / "r", "--format", "recordio")  # whose readers decode JPEGs and PNGs
    assert refused.code == 2 and "needs an image" in refused.error_line() and not (tmp_path / "r").exists()
    for format_name in [*(name for name in FORMATS if name != "recordio"), "hdf5.array"]:
        there, back = tmp_path / format_name, tmp_path / f"{format_name}-back"
        bale.ok("convert", ours, there, "--format", format_name, "--name", "photos", "--shard-samples", "15")
        bale.ok("verify", there)
        bale.ok("convert", there, back, "--format", "npy", "--name", "photos", "--shard-samples", "15")
        assert tree_bytes(back, ("manifest.json",)) == expected, format_name


def test_decode_chooses_the_layout_that_holds_pixels(bale, photos, tmp_path):
    sized = ("--size", str(SIZE), "--decode")
    bale.pack(photos, tmp_path / "h", "--format", "hdf5", *sized)
    assert manifest_of(tmp_path / "h")["layout"] == "array"
    bale.pack(photos, tmp_path / "n", "--format", "npy", *sized)
    for options in (["--format", "tar"], ["--format", "hdf5.blob"], ["--format", "hdf5", "--layout", "vlen"], []):
        result = bale("pack", photos, tmp_path / "x", *options, *sized)
        assert result.code == 2 and "does not hold pixels" in result.error_line(), options
        assert "hdf5.array, npy.rgb" in result.err
        assert not (tmp_path / "x").exists()


def test_samples_with_more_than_an_image_and_a_label_are_refused_at_once(bale, tmp_path, tiny):
    source = tmp_path / "in"
    for key, (data, _) in images_by_key(tiny).items():
        (source / key).parent.mkdir(parents=True, exist_ok=True)
        (source / f"{key}.jpg").write_bytes(data)
        (source / f"{key}.json").write_text("{}")
    result = bale("pack", source, tmp_path / "p", "--format", "npy", "--pair", "jpg,json")
    assert result.code == 2 and "json" in result.error_line()
    assert not (tmp_path / "p").exists()


def test_images_of_several_sizes_need_the_option(bale, tmp_path):
    for i, size in enumerate([(20, 10), (10, 20)]):
        (tmp_path / "in" / "c").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size).save(tmp_path / "in" / "c" / f"{i}.png")
    result = bale("pack", tmp_path / "in", tmp_path / "p", "--format", "npy")
    assert result.code == 2 and "--size" in result.err
    bale.pack(tmp_path / "in", tmp_path / "q", "--format", "npy", "--size", "8")


def test_resized_images_reach_layouts_of_pixels_without_a_jpeg_in_between(bale, tmp_path):
    pixels = np.random.default_rng(2).integers(0, 256, (50, 70, 3), dtype=np.uint8)
    (tmp_path / "in" / "c").mkdir(parents=True)
    Image.fromarray(pixels).save(tmp_path / "in" / "c" / "a.jpg", quality=95)
    decoded = Image.open(tmp_path / "in" / "c" / "a.jpg").convert("RGB")
    bale.pack(tmp_path / "in", tmp_path / "p", "--format", "npy", "--name", "x", "--resize-short", "25")
    expected = np.asarray(decoded.resize((35, 25), Image.BILINEAR))
    assert np.array_equal(np.load(tmp_path / "p" / "x-000000.npy")[0], expected)


def test_jobs_and_a_resume_do_not_change_the_bytes(bale, ours, photos, tmp_path):
    options = ("--format", "npy", "--size", str(SIZE), "--name", "photos", "--shard-samples", "15")
    bale.pack(photos, tmp_path / "p", *options, "--jobs", "1")
    assert tree_bytes(tmp_path / "p") == tree_bytes(ours)
