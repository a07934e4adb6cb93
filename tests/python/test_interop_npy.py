"""NumPy maps our arrays without code of ours, we read its own, and the loader takes their pixels as they are."""
import io

import numpy as np
import pytest
from conftest import images_by_key, tree_bytes
from PIL import Image

SIZE = 48


def cropped(data):
    """Resize(SIZE) and CenterCrop(SIZE) by Pillow, as torchvision rounds."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    width, height = image.size
    side = min(width, height)
    image = image.resize((int(SIZE * width / side), int(SIZE * height / side)), Image.BILINEAR)
    left, top = round((image.width - SIZE) / 2.0), round((image.height - SIZE) / 2.0)
    return np.asarray(image.crop((left, top, left + SIZE, top + SIZE)))


@pytest.fixture(scope="module")
def ours(bale, photos, tmp_path_factory):
    root = tmp_path_factory.mktemp("ours")
    bale.pack(photos, root / "p", "--format", "npy", "--size", str(SIZE), "--name", "photos", "--shard-samples", "15")
    return root / "p"


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
    shard = copy / "photos-000000.npy"
    data = bytearray(shard.read_bytes())
    data[5000] ^= 1
    shard.write_bytes(data)
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


@pytest.mark.parametrize("array, why", [
    (np.zeros((2, 4, 4, 3), np.float32), "type <f4"),
    (np.asfortranarray(np.zeros((2, 4, 4, 3), np.uint8)), "Fortran order"),
    (np.zeros((2, 3, 4, 4), np.uint8), "shape (2, 3, 4, 4)"),
    (np.zeros(3, np.dtype([("a", np.uint8)])), "header cannot be read"),
])
def test_other_arrays_are_refused(bale, tmp_path, array, why):
    np.save(tmp_path / "x.npy", array)
    result = bale("ls", tmp_path / "x.npy")
    assert result.code == 1 and why in result.error_line()


def test_samples_with_more_than_an_image_and_a_label_are_refused_at_once(bale, tmp_path, tiny):
    source = tmp_path / "in"
    for path in images_by_key(tiny):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
    for key, (data, _) in images_by_key(tiny).items():
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
    assert result.code == 1 and "--size" in result.err
    bale.pack(tmp_path / "in", tmp_path / "q", "--format", "npy", "--size", "8")


def test_resized_images_reach_layouts_of_pixels_without_a_jpeg_in_between(bale, tmp_path):
    pixels = np.random.default_rng(2).integers(0, 256, (50, 70, 3), dtype=np.uint8)
    (tmp_path / "in" / "c").mkdir(parents=True)
    Image.fromarray(pixels).save(tmp_path / "in" / "c" / "a.jpg", quality=95)
    decoded = Image.open(tmp_path / "in" / "c" / "a.jpg").convert("RGB")
    bale.pack(tmp_path / "in", tmp_path / "p", "--format", "npy", "--name", "x", "--resize-short", "25")
    assert np.array_equal(np.load(tmp_path / "p" / "x-000000.npy")[0], np.asarray(decoded.resize((35, 25), Image.BILINEAR)))


def test_jobs_and_a_resume_do_not_change_the_bytes(bale, ours, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "npy", "--size", str(SIZE), "--name", "photos", "--shard-samples", "15",
              "--jobs", "1")
    assert tree_bytes(tmp_path / "p") == tree_bytes(ours)

