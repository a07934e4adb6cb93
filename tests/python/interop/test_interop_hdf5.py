"""Plain h5py reads our files, and we read the common layouts that others write with h5py."""
import io

import h5py
import numpy as np
import pytest
from conftest import check_images_of_others, images_in_order, key_list, shards
from PIL import Image

# --- others read ours

def test_blob_in_ten_plain_lines(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "hdf5", "--layout", "blob", "--shard-samples", "25")
    found = []
    for path in shards(tmp_path / "p"):
        with h5py.File(path) as file:
            data, offsets = file["fields/jpg/data"], file["fields/jpg/offsets"]
            for i, label in enumerate(file["labels"]):
                found.append((data[offsets[i]:offsets[i + 1]].tobytes(), label))
    assert found == [(image, label) for _, image, label in images_in_order(photos)]


def test_blob_keys_and_class_names(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "hdf5", "--layout", "blob")
    with h5py.File(shards(tmp_path / "p")[0]) as file:
        data, ends = file["keys/data"][:].tobytes(), file["keys/offsets"][:]
        keys = [data[a:b].decode() for a, b in zip(ends, ends[1:])]
        classes = [name.decode() for name in file["class_names"]]
    assert keys == [key for key, _, _ in images_in_order(photos)]
    assert classes == sorted(p.name for p in photos.iterdir())


def test_vlen_in_ten_plain_lines(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "hdf5", "--layout", "vlen", "--shard-samples", "25")
    found = []
    for path in shards(tmp_path / "p"):
        with h5py.File(path) as file:
            for image, label in zip(file["images"], file["labels"]):
                found.append((image.tobytes(), label))
    assert found == [(image, label) for _, image, label in images_in_order(photos)]


@pytest.mark.parametrize("level", [[], ["--level", "4"]], ids=["plain", "deflated"])
def test_array_in_ten_plain_lines(bale, photos, level, tmp_path):
    bale.pack(photos, tmp_path / "p", "--format", "hdf5", "--layout", "array", "--size", "32", *level)
    with h5py.File(shards(tmp_path / "p")[0]) as file:
        stored = file["images"]
        images, labels = stored[:], file["labels"][:]
        assert (stored.compression, stored.chunks) == (("gzip", (1, 32, 32, 3)) if level else (None, None))
        if not level:
            mapped = np.memmap(file.filename, np.uint8, "r", stored.id.get_offset(), stored.shape)
            assert np.array_equal(mapped, images)
    assert images.shape == (40, 32, 32, 3) and images.dtype == np.uint8
    assert labels.tolist() == [label for _, _, label in images_in_order(photos)]
    for (key, data, _), pixels in zip(images_in_order(photos), images):
        # The same picture, whatever the resampling: mean colors agree.
        with Image.open(io.BytesIO(data)) as image:
            whole = np.asarray(image.convert("RGB"), float)
        side = min(whole.shape[:2])
        top, left = (whole.shape[0] - side) // 2, (whole.shape[1] - side) // 2
        mean = whole[top:top + side, left:left + side].mean((0, 1))
        assert np.abs(mean - pixels.astype(float).mean((0, 1))).max() < 12, key


# --- ours reads others'

def vlen_images(photos):
    return [np.frombuffer(image, np.uint8) for _, image, _ in images_in_order(photos)]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_vlen_images_and_labels(bale, photos, libver, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=libver) as file:
        images = file.create_dataset("images", (40,), dtype=h5py.vlen_dtype(np.uint8))
        for i, image in enumerate(vlen_images(photos)):
            images[i] = image
        file["labels"] = np.array([label for _, _, label in images_in_order(photos)], np.int32)
    check_images_of_others(bale, path, photos, tmp_path)


def test_fuel_ilsvrc2012(bale, photos, tmp_path):
    path = tmp_path / "ilsvrc2012.hdf5"
    with h5py.File(path, "w") as file:
        images = file.create_dataset("encoded_images", (40,), dtype=h5py.vlen_dtype(np.uint8))
        for i, image in enumerate(vlen_images(photos)):
            images[i] = image
        file.create_dataset("targets", data=np.array([[label] for _, _, label in images_in_order(photos)], np.int16))
        names = [f"{key.split('/')[1]}.JPEG"[:32].encode() for key, _, _ in images_in_order(photos)]
        file.create_dataset("filenames", data=np.array([[n] for n in names], "S32"))
    check_images_of_others(bale, path, photos, tmp_path)
    keys = key_list(bale, path)
    assert b"0000" in keys[0] or keys[0].isdigit()


def decoded(bale, spec, key):
    """Pixels of a sample of raw arrays, whatever lossless field they are delivered in."""
    for line in bale.ok("ls", "--json", spec).out.splitlines():
        if f'"{key}"' in line:
            for field in ("npy", "png", "ppm"):
                if f'"{field}"' in line:
                    data = bale.ok("cat", spec, key, "--field", field).stdout
                    return np.load(io.BytesIO(data)) if field == "npy" else np.asarray(Image.open(io.BytesIO(data)))
    raise AssertionError(f"no pixels under {key}")


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_biggan(bale, compression, tmp_path):
    """imgs uint8 (N, 3, H, W) in chunks along N, labels int64."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (37, 3, 16, 16), np.uint8)
    path = tmp_path / "I16.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("imgs", data=images, chunks=(10, 3, 16, 16), compression=compression)
        file.create_dataset("labels", data=np.arange(37, dtype=np.int64) % 5, chunks=(10,))
    bale.ok("inspect", path)
    bale.ok("verify", path)
    keys = key_list(bale, path)
    assert len(keys) == 37
    for i in (0, 9, 10, 36):
        pixels = decoded(bale, path, keys[i].decode())
        assert np.array_equal(pixels if pixels.shape[0] == 3 else pixels.transpose(2, 0, 1), images[i])


def test_a_file_without_images_is_refused(bale, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["weights"] = np.zeros((3, 3))
    result = bale("inspect", tmp_path / "x.h5")
    assert result.code == 1 and "x.h5" in result.error_line()


def test_links_and_storage_outside_the_file_are_refused(bale, photos, tmp_path):
    """A file must not make us read another file."""
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["images"] = np.zeros((2, 8, 8, 3), np.uint8)
        file["labels"] = np.zeros(2)
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["images"] = h5py.ExternalLink(str(secret), "/images")
        file["labels"] = np.zeros(2)
    (tmp_path / "raw.bin").write_bytes(bytes(2 * 8 * 8 * 3))
    with h5py.File(tmp_path / "external.h5", "w") as file:
        file.create_dataset("images", (2, 8, 8, 3), np.uint8, external=[(str(tmp_path / "raw.bin"), 0, 384)])
        file["labels"] = np.zeros(2)
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout((2, 8, 8, 3), np.uint8)
        layout[:] = h5py.VirtualSource(str(secret), "images", (2, 8, 8, 3))
        file.create_virtual_dataset("images", layout)
        file["labels"] = np.zeros(2)
    for name in ("link.h5", "external.h5", "virtual.h5"):
        result = bale("inspect", tmp_path / name)
        assert result.code == 1, (name, result)
        assert name in result.error_line()
