"""FFCV's .beton files: files that its own DatasetWriter wrote (tests/foreign/make_beton.py) are read in place and converted."""
import gzip
import importlib.util
import io
import json
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from conftest import by_tier, fields_by_key, flip
from PIL import Image
from remote_support import remote, serve  # noqa: F401

FOREIGN = pathlib.Path(__file__).parents[2] / "foreign"
sys.path.insert(0, str(FOREIGN))
import make_beton  # noqa: E402

WRITTEN = FOREIGN / "beton"
IMAGE = np.dtype([("mode", "<u1"), ("width", "<u2"), ("height", "<u2"), ("data_ptr", "<u8")])
PAIR = np.dtype([("ptr", "<u8"), ("size", "<u8")])
METADATA = {0: np.dtype("<f8"), 1: np.dtype("<i8"), 2: IMAGE, 3: PAIR, 4: np.dtype("<u8"), 5: PAIR, 6: np.dtype("<u8"),
            255: np.dtype("<i8")}
DESCRIPTOR = 1041


class Beton:
    """The parts of a file, by the layout of ffcv's types.py and reader.py."""

    def __init__(self, path):
        self.path = path
        self.bytes = path.read_bytes()
        self.version, fields, self.page, self.count, self.table = struct.unpack_from("<HHIQQ", self.bytes)
        descriptors = [self.bytes[24 + i * DESCRIPTOR:][:DESCRIPTOR] for i in range(fields)]
        self.names = [descriptor[1:17].rstrip(b"\0").decode() for descriptor in descriptors]
        self.type = np.dtype([("", METADATA[descriptor[0]]) for descriptor in descriptors], align=True)
        self.records = 24 + fields * DESCRIPTOR
        self.metadata = np.frombuffer(self.bytes, self.type, self.count, self.records)
        self.sizes = {(sample, ptr): size for sample, ptr, size in struct.iter_unpack("<QQQ", self.bytes[self.table:]) if size}

    def of(self, sample, name):
        """The metadata of a value."""
        return self.metadata[sample][self.names.index(name)]

    def at(self, sample, name):
        """Where that is in the file."""
        return self.records + sample * self.type.itemsize + self.type.fields[self.type.names[self.names.index(name)]][1]

    def stored(self, sample, name):
        """The bytes that the allocation table gives a value."""
        found = self.of(sample, name)
        names = found.dtype.names
        ptr = int(found if names is None else found["data_ptr" if "mode" in names else "ptr"])
        return self.bytes[ptr:ptr + self.sizes.get((sample, ptr), 0)]


@pytest.fixture
def edit(tmp_path):
    """A copy of a file with a struct written over it."""
    def edited(name, at, layout, *values):
        path = tmp_path / f"{name}.beton"
        data = bytearray((WRITTEN / path.name).read_bytes())
        struct.pack_into(layout, data, at, *values)
        path.write_bytes(data)
        return path
    return edited


def array(content):
    return np.load(io.BytesIO(content))


def labels_of(bale, spec):
    return [json.loads(line).get("label") for line in bale.ok("ls", "--json", spec).out.splitlines()]


def check_image(found, beton, number, name, expected):
    """Pops the image of a sample: the JPEG as stored, or an array of the pixels."""
    if beton.of(number, name)["mode"] == 0:
        jpeg = found.pop("jpg")
        assert jpeg == beton.stored(number, name)
        decoded = np.asarray(Image.open(io.BytesIO(jpeg))).astype(int)
        assert decoded.shape == expected.shape and np.median(np.abs(decoded - expected)) < 20
        return "jpg"
    assert np.array_equal(array(found.pop("npy")), expected)
    return "npy"


@pytest.mark.parametrize("name,kinds", [("jpg", {"jpg"}), ("raw", {"npy"}), ("proportion", {"jpg", "npy"})])
def test_images_with_classes(bale, tmp_path, name, kinds):
    beton = Beton(WRITTEN / f"{name}.beton")
    packed = tmp_path / "packed"
    bale.ok("pack", beton.path, packed)
    for spec, labels in ((beton.path, False), (packed, True)):
        fields = fields_by_key(bale, spec)
        assert list(fields) == bale.ok("ls", spec).out.split() == [f"{i:08}" for i in range(beton.count)]
        seen = set()
        for number, found in enumerate(fields.values()):
            assert found.pop("cls", None) == (b"%d" % (number % 3) if labels else None)
            seen.add(check_image(found, beton, number, "image", make_beton.pixels(number)))
            assert not found
        assert seen == kinds
        assert labels_of(bale, spec) == [i % 3 for i in range(beton.count)]
    bale.ok("verify", beton.path)
    bale.ok("verify", packed)
    listed = [json.loads(line) for line in bale.ok("ls", "--json", beton.path).out.splitlines()]
    assert all((sample["width"], sample["height"]) == (16, 12) for sample in listed)


def test_sizes_are_those_of_the_images(bale, edit, tmp_path):
    """A record may say anything of a JPEG: its header counts. Of pixels only the record says it."""
    path = edit("jpg", Beton(WRITTEN / "jpg.beton").at(1, "image") + 1, "<HH", 4000, 2)
    bale.ok("convert", path, tmp_path / "p")
    for spec in (path, tmp_path / "p"):
        listed = [json.loads(line) for line in bale.ok("ls", "--json", spec).out.splitlines()]
        assert {(sample["width"], sample["height"]) for sample in listed} == {(16, 12)}


def test_images_of_several_sizes(bale):
    """Mode smart: each sample has a label, and is a JPEG if it is larger than the threshold."""
    beton = Beton(WRITTEN / "smart.beton")
    for number, found in enumerate(fields_by_key(bale, beton.path).values()):
        kind = check_image(found, beton, number, "image", make_beton.pixels(number, 12, 16 + number % 2))
        assert kind == ("jpg" if number % 2 else "npy") and not found
    assert labels_of(bale, beton.path) == list(range(beton.count))


def test_pages_of_the_usual_size(bale, tmp_path):
    path = tmp_path / "train.ffcv"  # recognized by its content
    path.write_bytes(gzip.decompress((WRITTEN / "pages.beton.gz").read_bytes()))
    beton = Beton(path)
    assert beton.page == 2 << 20 and len(beton.bytes) > 4 << 20
    fields = fields_by_key(bale, path)
    assert len(fields) == make_beton.CLASSES
    for number, found in enumerate(fields.values()):
        assert check_image(found, beton, number, "image", make_beton.pixels(number)) == "jpg"


def test_every_type_of_field(bale, tmp_path):
    beton = Beton(WRITTEN / "everything.beton")
    bale.ok("convert", beton.path, tmp_path / "packed")
    for spec in (beton.path, tmp_path / "packed"):
        for number, found in enumerate(fields_by_key(bale, spec).values()):
            written = make_beton.everything(number)
            found.pop("cls", None)
            assert check_image(found, beton, number, "photo", written["photo"]) == "jpg"
            assert np.array_equal(array(found.pop("mask.npy")), written["mask"])
            assert found.pop("blob") == written["blob"].tobytes()
            assert json.loads(found.pop("meta.json")) == written["meta"]
            assert found.pop("picture.png") == written["picture"].tobytes()
            for name in ("points", "scale", "big", "tensor", "when", "weight", "count"):
                made, expected = array(found.pop(f"{name}.npy")), np.asarray(written[name])
                assert (made.dtype, made.shape) == (expected.dtype, expected.shape), name
                assert np.array_equal(made, expected), name
            assert not found, number
        assert labels_of(bale, spec) == [make_beton.everything(number)["target"] for number in range(beton.count)]
    assert bale.ok("cat", beton.path, "00000002", "--field", "blob").stdout == b"\0\1"


def test_numbers_alone(bale):
    """A label that is not an integer is a field. The file has no data and an empty allocation table."""
    for number, found in enumerate(fields_by_key(bale, WRITTEN / "numbers.beton").values()):
        assert array(found.pop("covariate.npy")) == number + 0.25 and array(found.pop("label.npy")) == -number and not found
    assert labels_of(bale, WRITTEN / "numbers.beton") == [None] * 3


def test_an_index_next_to_it(bale, tmp_path):
    """Random access with checksums, the file untouched; damage costs one sample and is named."""
    for name in ("everything", "proportion"):
        path = pathlib.Path(shutil.copy(WRITTEN / f"{name}.beton", tmp_path))
        scanned = fields_by_key(bale, path)
        bale.ok("index", path)
        assert path.read_bytes() == (WRITTEN / path.name).read_bytes()
        bale.ok("verify", path)
        assert fields_by_key(bale, path) == scanned
        beton = Beton(path)
        flip(path, beton.bytes.index(beton.stored(1, beton.names[0])) + 100)
        result = bale("verify", path)
        assert result.code == 3 and "00000001" in result.out + result.err and "00000002" not in result.out + result.err


def test_metadata_that_changed_after_the_index(bale, tmp_path):
    """What a made field consists of is read from the file, and compared with the index."""
    path = pathlib.Path(shutil.copy(WRITTEN / "raw.beton", tmp_path))
    bale.ok("index", path)
    beton = Beton(path)
    data = bytearray(beton.bytes)
    for what in (struct.pack("<H", 15), struct.pack("<H", 0), b"\xff\xff"):
        data[beton.at(2, "image") + 1:][:2] = what
        path.write_bytes(data[:beton.at(2, "image") + 1] + what + data[beton.at(2, "image") + 3:])
        result = bale("cat", path, "00000002", "--field", "npy")
        assert result.code != 0 and result.code < 64 and "raw.beton: " in result.error_line()
    path.write_bytes(data[:beton.at(2, "image") + 5] + b"\xff" * 8 + data[beton.at(2, "image") + 13:])
    result = bale("cat", path, "00000002", "--field", "npy")
    assert result.code != 0 and result.code < 64 and "raw.beton: " in result.error_line()


def test_in_python(tmp_path):
    bl = pytest.importorskip("bale")
    data = bl.Dataset(str(WRITTEN / "proportion.beton"))
    assert len(data) == make_beton.MIXED and [data.label(i) for i in range(4)] == [0, 1, 2, 0]
    transform = bl.transforms.val(12, resize=12)
    expected = {}
    bl.pack(str(WRITTEN / "proportion.beton"), str(tmp_path / "packed"))
    for spec in (str(WRITTEN / "proportion.beton"), str(tmp_path / "packed")):
        for workers in (0, 1):
            with bl.Loader(spec, 5, workers=workers, transform=transform, seed=3) as loader:
                for batch in loader:
                    for index, label, image in zip(batch.indices, batch.labels, np.asarray(batch.images)):
                        assert label == index % 3
                        assert np.array_equal(expected.setdefault(int(index), image.copy()), image)
    assert sorted(expected) == list(range(make_beton.MIXED))
    fields = {"points.npy": bl.Field("points.npy", kind="array")}
    with bl.Loader(str(WRITTEN / "everything.beton"), 3, workers=0, transform=transform, shuffle=False, fields=fields) as loader:
        for batch in loader:
            found = [np.asarray(value) for value in batch.fields["points.npy"]]
            assert all(np.array_equal(value, make_beton.everything(i)["points"]) for i, value in enumerate(found))


# --- what is refused

def refused(bale, path, *texts, code=1):
    """One error that names the file, the offset and the cause, whatever the command."""
    for command in (("ls", path), ("verify", path), ("pack", path, path.parent / "packed")):
        result = bale(*command)
        assert result.code in (code, 3), result
        said = result.out + result.err
        assert f"{path.name}: " in said, result
        for text in texts:
            assert text in said, (text, result)
    shutil.rmtree(path.parent / "packed", ignore_errors=True)


def test_custom_types_are_refused(bale):
    result = bale("ls", WRITTEN / "custom.beton")
    assert result.code == 1 and 'field "special" has a custom type' in result.error_line()
    assert "pack what the file was written from" in result.error_line()


@pytest.mark.parametrize("at,layout,value,said", [
    (0, "<H", 1, "version 1 of FFCV's format, this bale reads 2"),
    (2, "<H", 0, "has no fields"),
    (2, "<H", 65535, "the descriptors of the fields go beyond the end of the file"),
    (4, "<I", 4097, "not a power of 2"),
    (8, "<Q", 2**63, "samples, whose metadata goes beyond the allocation table"),
    (8, "<Q", (2**64 - 1) // 24, "samples, whose metadata goes beyond the allocation table"),
    (16, "<Q", 0, "its writer did not finish"),
    (16, "<Q", 2**64 - 1, "the allocation table is at 18446744073709551615"),
    (16, "<Q", 100, "whose metadata goes beyond the allocation table"),
    (24, "<B", 7, 'field "image" has type 7, this bale reads 0 to 6'),
    (25, "<B", 200, "a name that is not ASCII"),
])
def test_a_damaged_header(bale, edit, at, layout, value, said):
    refused(bale, edit("jpg", at, layout, value), said)


def jpg():
    return Beton(WRITTEN / "jpg.beton")


@pytest.mark.parametrize("name,sample,field,skip,layout,value,said", [
    ("jpg", 4, "image", 0, "<B", 2, "is an image of mode 2"),
    ("jpg", 4, "image", 0, "<B", 1, "has 576 bytes, the allocation table says"),
    ("jpg", 4, "image", 1, "<H", 0, "has 0x12 pixels"),
    ("jpg", 4, "image", 5, "<Q", 2**64 - 1, "where the allocation table has nothing"),
    ("jpg", 4, "image", 5, "<Q", 4096, "where the allocation table has nothing"),  # that of sample 0
    ("raw", 4, "image", 1, "<H", 65535, "the allocation table says 576"),
    ("everything", 1, "blob", 8, "<Q", 2**64 - 1, 'field "blob" has 18446744073709551615 bytes'),
    ("everything", 1, "meta", 8, "<Q", 0, "is JSON without its end"),
    ("everything", 1, "points", 0, "<Q", 1, "where the allocation table has nothing"),
    ("raw", 4, "label", 0, "<q", -2**63, "has a label beyond 64-bit integers"),
])
def test_damaged_metadata(bale, edit, name, sample, field, skip, layout, value, said):
    at = Beton(WRITTEN / f"{name}.beton").at(sample, field)
    refused(bale, edit(name, at + skip, layout, value), f"sample {sample}: ", said, f"offset {at}")


@pytest.mark.parametrize("column,value,said", [
    (0, 10, "sample 10 does not exist"), (1, 100, "are not in the data"), (1, 2**64 - 1, "are not in the data"),
    (2, 2**64 - 1, "are not in the data"), (2, 900, "share bytes")])
def test_a_damaged_allocation_table(bale, edit, column, value, said):
    refused(bale, edit("jpg", jpg().table + 24 + 8 * column, "<Q", value), "allocation table: ", said, "offset ")


@pytest.mark.parametrize("skip,layout,values,said", [
    (0, "<3Q", (2**32, 2**32, 2), "is an array of 4 GiB or more"),
    (0, "<3Q", (2**63, 2, 3), "is an array of 4 GiB or more"),
    (0, "<2Q", (2, 4), "has 16 bytes, the allocation table says 12"),
    (256, "<Q", (2**64 - 1,), "has a description beyond its descriptor"),
    (264, "<2s", (b"[ ",), ""), (264, "<B", (0,), "")])
def test_a_damaged_description_of_an_array(bale, edit, skip, layout, values, said):
    everything = Beton(WRITTEN / "everything.beton")
    at = 24 + DESCRIPTOR * everything.names.index("points") + 17 + skip
    refused(bale, edit("everything", at, layout, *values), said)


def test_an_array_of_structures_is_delivered_as_bytes(bale, edit):
    """FFCV writes these and cannot read them: array files have no single type for them."""
    everything = Beton(WRITTEN / "everything.beton")
    at = 24 + DESCRIPTOR * everything.names.index("points") + 17 + 256
    text = json.dumps([["a", "<i2"], ["b", "<i4"]]).encode()
    path = edit("everything", at, f"<Q{len(text)}s", len(text), text)
    result = bale.ok("ls", path)
    assert "points" in result.out + result.err and "delivered as bytes" in result.out + result.err
    found = [sample["points.bin"] for sample in fields_by_key(bale, path).values()]
    assert found == [everything.stored(i, "points") for i in range(3)]


def test_names_that_were_cut(bale, edit):
    """FFCV keeps 16 bytes of a name."""
    path = edit("numbers", 25 + DESCRIPTOR, "<16s", b"covariate")
    for found in fields_by_key(bale, path).values():
        assert sorted(found) == ["covariate.npy", "covariate_1.npy"]


def test_truncations(bale, tmp_path):
    """Each is one error that names the file."""
    path = tmp_path / "cut.beton"
    whole = (WRITTEN / "everything.beton").read_bytes()
    table = Beton(WRITTEN / "everything.beton").table
    for size in [*range(1, len(whole), by_tier(997, 37)), *range(table, len(whole), 24)]:
        path.write_bytes(whole[:size])
        result = bale("ls", path)
        assert result.code == 1 and "cut.beton: " in result.error_line(), size


def test_no_byte_of_the_metadata_can_crash_it(bale, tmp_path):
    path = tmp_path / "flipped.beton"
    beton = Beton(WRITTEN / "everything.beton")
    end = beton.records + beton.count * beton.type.itemsize
    places = [*range(24), *range(beton.records, end), *range(beton.table, len(beton.bytes))]
    for place in places[::by_tier(29, 1)]:
        path.write_bytes(beton.bytes)
        flip(path, place, 0x80)
        result = bale("verify", path)
        assert result.code in (0, 1, 3), (place, result)


def test_it_is_not_written(bale, tiny, tmp_path):
    result = bale("pack", tiny, tmp_path / "packed", "--format", "beton")
    assert result.code == 2 and "bale reads beton and does not write it" in result.error_line()
    assert "beton" in bale.ok("formats").out


@pytest.mark.skipif(importlib.util.find_spec("ffcv") is None, reason="needs ffcv")
def test_the_writer_still_writes_these_files(tmp_path):
    subprocess.run([sys.executable, FOREIGN / "make_beton.py", tmp_path], check=True, capture_output=True, timeout=300)
    for path in sorted(WRITTEN.glob("*.beton")):
        ours, theirs = Beton(path), Beton(tmp_path / path.name)
        assert (ours.names, ours.type, ours.count) == (theirs.names, theirs.type, theirs.count)


@pytest.mark.parametrize("name", ["jpg", "proportion", "everything"])
def test_over_http(bale, remote, serve, name, tmp_path):  # noqa: F811
    """What FFCV's writer wrote reads from a server as from the disk."""
    path = WRITTEN / f"{name}.beton"
    url = f"{serve(WRITTEN).url}/{path.name}"
    assert fields_by_key(remote, url) == fields_by_key(bale, path)
    bale.ok("convert", path, tmp_path / "a", "--name", "p")
    remote.ok("convert", url, tmp_path / "b", "--name", "p")
    shards = sorted(path.name for path in (tmp_path / "a").glob("*.tar"))
    assert shards and all((tmp_path / "a" / shard).read_bytes() == (tmp_path / "b" / shard).read_bytes() for shard in shards)
