"""HDF5 files as h5py's users make them: every row and every dataset comes out, or a line says which does not."""
import io
import json
import os

import h5py
import numpy as np
import pytest
from conftest import fields_by_key, images_by_key

ROWS = 23


def pixels(rows=ROWS, shape=(6, 5, 3), dtype=np.uint8):
    return np.random.default_rng(7).integers(0, 2 if np.dtype(dtype) == np.bool_ else 250, (rows, *shape)).astype(dtype)


def array(data):
    return np.load(io.BytesIO(data))


def samples(bale, path, tmp_path):
    """[(label, {field: bytes})] of every sample in order, read without an index and with one."""
    plain = fields_by_key(bale, path)
    rows = [json.loads(line) for line in bale.ok("ls", "--json", path).out.splitlines()]
    bale.ok("index", path)
    bale.ok("verify", path)
    assert fields_by_key(bale, path) == plain
    assert [row["key"] for row in rows] == sorted(plain)
    return [(row.get("label"), plain[row["key"]]) for row in rows]


# --- rows that were never written

@pytest.mark.parametrize("storage", [
    {"chunks": (4, 6, 5, 3)}, {"chunks": (3, 4, 5, 1)}, {"chunks": (1, 6, 5, 3), "compression": "lzf", "shuffle": True},
    {}], ids=str)
def test_rows_never_written_have_the_fill_value(bale, storage, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (ROWS, 6, 5, 3), np.uint8, fillvalue=255, **storage)
        if storage:  # contiguous: nothing is allocated before the first write, and then everything
            images[5:11] = pixels()[5:11]
        weights = file.create_dataset("weights", (ROWS, 2), ">i2", fillvalue=-3, chunks=(4, 2))
        weights[:2] = 9
    with h5py.File(path) as file:
        expected, weights = file["images"][:], file["weights"][:]
    assert expected[0, 0, 0, 0] == 255
    found = samples(bale, path, tmp_path)
    assert np.array_equal([array(fields["npy"]) for _, fields in found], expected)
    assert np.array_equal([array(fields["weights.npy"]) for _, fields in found], weights)


def test_a_large_dataset_of_few_written_rows(bale, tmp_path):
    """12 MB stated, one compressed row stored: no damage."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (1000, 64, 64, 3), np.uint8, fillvalue=7, chunks=(1, 64, 64, 3),
                                     compression="gzip")
        images[0] = 1
    bale.ok("verify", path)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", (1 << 20, 64, 64, 3), np.uint8, chunks=(1, 64, 64, 3), compression="gzip")
    assert bale("verify", path).code != 0


def test_attributes_are_named(bale, tmp_path):
    """Not those that libraries write for themselves."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["images"], file["labels"], file["group/extra"] = pixels(), np.zeros(ROWS, np.int64), np.zeros(3)
        file["labels"].make_scale("classes")
        file["images"].dims[0].attach_scale(file["labels"])
        assert file["images"].attrs and file["labels"].attrs
    assert "attributes that" not in bale.ok("convert", path, tmp_path / "none").err
    with h5py.File(path, "a") as file:
        file.attrs["made_by"] = "me"
        file["labels"].attrs["class_names"] = ["cat", "dog"]
        file["group/extra"].attrs["unit"] = "m"
    assert "attributes that no field has: /made_by, /labels/class_names, /group/extra/unit; --class-map can name" in \
        bale.ok("convert", path, tmp_path / "out").err
    with h5py.File(path, "a") as file:
        for i in range(30):
            file.attrs[f"a{i:02}"] = i
    assert "/a18, /a19, ...; " in bale.ok("convert", path, tmp_path / "many").err


# --- labels of every type

@pytest.mark.parametrize("name, written, expected", [
    ("labels", np.arange(ROWS, dtype=np.float32), list(range(ROWS))),
    ("target", np.arange(ROWS, dtype=np.float16)[:, None] - 3, list(range(-3, ROWS - 3))),
    ("y", np.arange(ROWS, dtype=np.uint64) + (1 << 40), [i + (1 << 40) for i in range(ROWS)]),
    ("labels", np.arange(ROWS) % 2 == 1, [i % 2 for i in range(ROWS)]),
    ("labels", np.eye(30, dtype=np.float32)[:ROWS], list(range(ROWS))),
    ("labels", np.eye(30, dtype=np.uint8)[ROWS:0:-1], list(range(ROWS, 0, -1))),
    ("label", np.eye(30, dtype=bool)[:ROWS], list(range(ROWS))),
    ("labels", np.array([str(i * 7) for i in range(ROWS)], "S4"), [i * 7 for i in range(ROWS)]),
    ("labels", [str(i) for i in range(ROWS)], list(range(ROWS))),
    ("targets", np.arange(5, dtype=np.int16)[:, None], [*range(5), *[None] * (ROWS - 5)]),
], ids=["float", "half", "unsigned", "bool", "one-hot float", "one-hot byte", "one-hot bool", "digits", "text", "few"])
def test_labels_that_are_classes(bale, name, written, expected, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["images"] = pixels()
        file.create_dataset(name, data=written, compression="lzf" if name == "label" else None)
    found = samples(bale, path, tmp_path)
    assert [label for label, _ in found] == expected
    assert all(fields.keys() == {"npy"} for _, fields in found)


def spoilt(values, row, value):
    values[row] = value
    return values


@pytest.mark.parametrize("written, why, field", [
    (spoilt(np.arange(ROWS, dtype=np.float32), 3, 0.5), "row 3 holds 0.5, no whole number", "labels.npy"),
    (spoilt(np.arange(ROWS, dtype=np.float64), 4, np.nan), "row 4 holds nan, no whole number", "labels.npy"),
    (spoilt(np.arange(ROWS, dtype=np.float64), 4, 2.0**63), "row 4 holds", "labels.npy"),
    (spoilt(np.arange(ROWS, dtype=np.uint64), 9, 1 << 63), "row 9 holds 9223372036854775808", "labels.npy"),
    (spoilt(np.eye(30, dtype=np.int64)[:ROWS], (6, 0), 1), "row 6 is not one-hot", "labels.npy"),
    (spoilt(np.eye(30)[:ROWS], (0, 0), 0), "row 0 is not one-hot", "labels.npy"),
    (spoilt(np.eye(30)[:ROWS], (1, 1), 0.9), "row 1 is not one-hot", "labels.npy"),
    ([f"class {i}" for i in range(ROWS)], 'row 0 holds "class 0", no number', "labels.txt"),
])
def test_labels_that_are_none_stay_a_field_and_are_named(bale, written, why, field, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["images"] = pixels()
        file["labels"] = written
    for command in (["inspect", path], ["convert", path, tmp_path / "again"]):
        result = bale.ok(*command)
        assert f"/labels gives no labels: {why}" in result.out + result.err, command
    found = samples(bale, path, tmp_path)
    assert all(label is None and fields.keys() == {"npy", field} for label, fields in found)
    if field == "labels.npy":
        rows = [array(fields[field]) for _, fields in found]
        assert np.array_equal(rows, written, equal_nan=written.dtype.kind == "f")
    else:
        assert [fields[field].decode() for _, fields in found] == list(written)


# --- what else is in the file

def kind(image):
    return "png" if image.startswith(b"\x89PNG") else "jpg"


def test_every_dataset_with_a_row_per_image_is_a_field(bale, photos, tmp_path):
    images = [image for _, (image, _) in sorted(images_by_key(photos).items())][:ROWS]
    path = tmp_path / "x.h5"
    texts = [f"words {i} äöü" * (i % 4) for i in range(ROWS)]
    columns = {
        "boxes": np.random.default_rng(0).random((ROWS, 4)).astype(np.float32), "area": np.arange(ROWS, dtype=">f8"),
        "half": np.arange(ROWS * 2, dtype=np.float16).reshape(ROWS, 2),
        "flags": np.arange(ROWS * 3).reshape(ROWS, 3) % 2 == 0,
        "Mixed": np.arange(ROWS, dtype=np.uint16)}
    with h5py.File(path, "w") as file:
        encoded = file.create_dataset("encoded_images", (ROWS,), h5py.vlen_dtype(np.uint8))
        masks = file.create_dataset("masks", (ROWS, 1), h5py.vlen_dtype(np.uint8))
        for i, image in enumerate(images):
            encoded[i] = np.frombuffer(image, np.uint8)
            masks[i, 0] = np.frombuffer(images[-i], np.uint8)
        file["captions"] = texts
        file["short"] = np.array([text.encode()[:20] for text in texts], "S20")
        file.create_dataset("packed", data=np.array([str(i) for i in range(ROWS)], "S3"), compression="lzf")
        file["inner"] = np.array([b"a\0b"] * ROWS, "S5")  # padded by NUL: the one within is a part of it
        ended = h5py.h5t.C_S1.copy()  # ends at the first NUL
        ended.set_size(5)
        h5py.h5d.create(file.id, b"ended", ended, h5py.h5s.create_simple((ROWS,))).write(
            h5py.h5s.ALL, h5py.h5s.ALL, np.array([b"ab\0c"] * ROWS, "S5"), ended)
        for name, values in columns.items():
            file.create_dataset(name, data=values, compression="gzip" if name == "boxes" else None)
        file["labels"] = np.arange(ROWS)
    plain = [fields for _, fields in samples(bale, path, tmp_path)]
    bale.ok("convert", path, tmp_path / "converted", "--format", "lmdb")
    converted = [fields for _, fields in sorted(fields_by_key(bale, tmp_path / "converted").items())]
    for i, fields in [*enumerate(plain), *enumerate(converted)]:
        assert fields.pop("cls", str(i).encode()) == str(i).encode()
        assert fields.pop(kind(images[i])) == images[i]
        assert fields.pop(f"masks.{kind(images[-i])}") == images[-i]
        assert fields.pop("captions.txt").decode() == texts[i]
        assert fields.pop("short.txt") == texts[i].encode()[:20]
        assert fields.pop("packed.txt") == str(i).encode()
        assert fields.pop("inner.txt") == b"a\0b" and fields.pop("ended.txt") == b"ab"
        for name, values in columns.items():
            row = array(fields.pop(f"{name.lower()}.npy"))
            assert row.dtype == values.dtype and np.array_equal(row, values[i])
        assert not fields


def test_what_cannot_be_a_field_is_named(bale, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["images"] = pixels()
        file["mean"] = np.zeros(3)
        file["pairs"] = np.zeros(ROWS, [("a", "i4"), ("b", "f4")])
        file["tokens"] = np.array([["a", "b"]] * ROWS, "S1")
        ragged = file.create_dataset("ragged", (ROWS,), h5py.vlen_dtype(np.float32))
        ragged[0] = [1, 2]
        file["meta/ids"] = np.arange(ROWS)
        file["elsewhere"] = h5py.SoftLink("/meta/ids")
        file["boxes"] = np.zeros((ROWS, 4))
        file["Boxes"] = np.ones((ROWS, 4))
        file["cause"] = np.zeros(5, complex)
    expected = {"mean", "pairs", "tokens", "ragged", "meta/ids", "elsewhere", "boxes", "cause"}
    result = json.loads(bale.ok("inspect", "--json", path).out)
    reported = json.dumps(result)
    for name in expected:
        assert f"/{name}" in reported, (name, reported)
    out = bale.ok("convert", path, tmp_path / "converted")
    for why in ("dataset without one row per image", "dataset of a type that cannot be a field", "dataset in a group"):
        assert why in out.out + out.err, out
    bale.ok("extract", path, tmp_path / "files")
    assert array((tmp_path / "files" / "00000000.boxes.npy").read_bytes()).max() == 1  # B sorts before b


# --- types and filters

@pytest.mark.parametrize("dtype", [np.float16, ">f2", bool, np.int16, ">f8"])
def test_arrays_of_every_type(bale, dtype, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=pixels(dtype=dtype), chunks=(4, 6, 5, 3), compression="gzip")
    found = samples(bale, path, tmp_path)
    rows = [array(fields["npy"]) for _, fields in found]
    assert rows[0].dtype == np.dtype(dtype) and np.array_equal(rows, pixels(dtype=dtype))


@pytest.mark.parametrize("chunks, filters", [((1, 40, 30, 3), {}), ((10, 40, 30, 3), {"shuffle": True}),
                                             ((5, 7, 30, 3), {"fletcher32": True}),
                                             ((4, 40, 30, 3), {"fletcher32": True})])
def test_lzf(bale, chunks, filters, tmp_path):
    images = pixels(shape=(40, 30, 3)) // 16
    images[3] = np.random.default_rng(1).integers(0, 256, images[3].shape)  # does not compress: stored as it is
    images[5] = 0
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=images, chunks=chunks, compression="lzf", **filters)
    assert path.stat().st_size < images.nbytes
    found = samples(bale, path, tmp_path)
    assert np.array_equal([array(fields["npy"]) for _, fields in found], images)


@pytest.mark.parametrize("name", ["images", "labels", "boxes"])
def test_a_filter_that_is_not_supported_is_named(bale, name, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        for dataset, values in (("images", pixels(shape=(40, 30, 3))), ("labels", np.arange(ROWS)),
                                ("boxes", np.zeros((ROWS, 4)))):
            file.create_dataset(dataset, data=values, compression="lzf" if dataset == name else "gzip")
    data = path.read_bytes()
    lzf = b"\x00\x7d\x08\x00"  # number, and size of the name that follows
    assert data.count(lzf) == 1
    at = data.index(lzf)
    path.write_bytes(data[:at] + b"\x01\x7d" + data[at + 2:at + 8] + b"blosc\0\0\0" + data[at + 16:])
    if name == "boxes":
        result = bale.ok("inspect", path)
        assert "dataset with a filter that is not supported" in result.out + result.err
        return
    for command in (["inspect", path], ["convert", path, tmp_path / "converted"]):
        result = bale(*command)
        assert result.code == 1 and f"/{name}: HDF5 filter blosc (32001) is not supported" in result.error_line()
    assert not (tmp_path / "converted").exists()


# --- files of newer libraries, of MATLAB, and of other places

@pytest.mark.parametrize("block", [512, 2048, 4096, 65536, 1 << 20])
@pytest.mark.parametrize("written", [True, False])
def test_a_user_block(bale, block, written, tmp_path):
    """MATLAB begins its files with one. A dataset that was never written has the fill value, not what lies around it."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", userblock_size=block) as file:
        for name, values in (("images", pixels()), ("labels", np.arange(ROWS)), ("area", np.arange(ROWS, dtype=">f8"))):
            dataset = file.create_dataset(name, values.shape, values.dtype, fillvalue=3)
            if written:
                dataset[...] = values
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(block, b"\xee"))
    with h5py.File(path) as file:
        expected, labels, area = file["images"][:], list(file["labels"]), file["area"][:]
    found = samples(bale, path, tmp_path)
    assert np.array_equal([array(fields["npy"]) for _, fields in found], expected)
    assert np.array_equal([array(fields["area.npy"]) for _, fields in found], area)
    assert [label for label, _ in found] == labels


def test_what_a_newer_library_wrote_is_unsupported_and_not_damaged(bale, tmp_path):
    """The layout message of HDF5 2.0, alone and among others: exit 1 and a remedy, which helps."""
    paths = [tmp_path / "new" / f"{i}.h5" for i in range(2)]
    paths[0].parent.mkdir()
    for path in paths:
        with h5py.File(path, "w", libver="latest") as file:
            file.create_dataset("images", data=pixels(), chunks=(4, 6, 5, 3), compression="gzip")
    for command in (["verify", paths[0]], ["verify", tmp_path / "new" / "*.h5"], ["inspect", paths[0]], ["index", paths[0]],
                    ["convert", paths[0], tmp_path / "out"]):
        result = bale(*command)
        assert result.code == 1, (command, result)
        assert "layout message" in result.out + result.err and "libver=" in result.out + result.err, (command, result)
    found = json.loads(bale("verify", "--json", tmp_path / "new" / "*.h5").out)["findings"]
    assert [one["code"] for one in found] == ["unsupported"] * 2
    with h5py.File(paths[0], "w", libver=("earliest", "v110")) as file:
        file.create_dataset("images", data=pixels(), chunks=(4, 6, 5, 3), compression="gzip")
    assert np.array_equal([array(fields["npy"]) for _, fields in samples(bale, paths[0], tmp_path)], pixels())


def test_a_file_that_is_cut_says_to_copy_it_again(bale, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("images", data=pixels())
    os.truncate(tmp_path / "x.h5", 900)
    error = bale("convert", tmp_path / "x.h5", tmp_path / "out").error_line()
    assert f"{tmp_path / 'x.h5'}: " in error and error.endswith("; copy it again"), error


@pytest.mark.parametrize("kind", ["virtual", "external"])
def test_data_in_other_files_has_the_remedy_that_helps(bale, kind, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="v110") as file:
        if kind == "virtual":
            with h5py.File(tmp_path / "source.h5", "w") as source:
                source["data"] = pixels()
            layout = h5py.VirtualLayout((ROWS, 6, 5, 3), np.uint8)
            layout[:] = h5py.VirtualSource(str(tmp_path / "source.h5"), "data", (ROWS, 6, 5, 3))
            file.create_virtual_dataset("images", layout)
        else:
            file.create_dataset("images", (ROWS, 6, 5, 3), np.uint8, external=[("x.bin", 0, pixels().nbytes)])
    result = bale("verify", path)
    assert result.code == 1 and "h5repack -l CONTI" in result.error_line()


def test_fewer_labels_than_images_are_reported(bale, tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["images"] = pixels()
        file["labels"] = np.arange(5)
    for command in (["inspect", path], ["convert", path, tmp_path / "out"]):
        result = bale.ok(*command)
        assert f"/labels has 5 rows for {ROWS} images" in result.out + result.err, command
