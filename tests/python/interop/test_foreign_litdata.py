"""LitData's chunks: files that its own writer wrote (tests/foreign/make_litdata.py) are read in place and converted."""
import importlib.util
import io
import json
import pathlib
import shutil
import sys

import numpy as np
import pytest
from conftest import by_tier, fields_by_key, flip

FOREIGN = pathlib.Path(__file__).parents[2] / "foreign"
sys.path.insert(0, str(FOREIGN))
import make_litdata  # noqa: E402
import make_mds  # noqa: E402

WRITTEN = FOREIGN / "litdata"
CHUNKS = {"classes": "chunk-0-1.bin", "chunk": "chunk-0-1.zstd.bin", "batch": "chunk-0-1.bin", "sample": "chunk-0-1.bin"}


@pytest.fixture
def copy(tmp_path):
    def copy_of(name):
        return pathlib.Path(shutil.copytree(WRITTEN / name, tmp_path / name))
    return copy_of


def jpegs(data):
    """The JPEGs that lie in the bytes of a chunk, one after another."""
    return [b"\xff\xd8\xff" + part[:part.index(b"\xff\xd9") + 2] for part in data.split(b"\xff\xd8\xff")[1:]]


@pytest.mark.parametrize("name", CHUNKS)
def test_images_with_classes(bale, tmp_path, name):
    """Without compression and with each of LitData's three."""
    expected = [image for chunk in sorted((WRITTEN / "classes").glob("*.bin")) for image in jpegs(chunk.read_bytes())]
    assert len(expected) == 10
    bale.ok("convert", WRITTEN / name, tmp_path / "packed")
    keys = [f"class_{i % 3}/img%2E{i}" for i in range(10)]
    for spec, labels in ((WRITTEN / name, False), (tmp_path / "packed", True)):
        assert bale.ok("ls", spec).out.split() == keys
        fields = fields_by_key(bale, spec)
        for number, key in enumerate(keys):
            assert fields[key] == {"jpg": expected[number], **({"cls": b"%d" % (number % 3)} if labels else {})}, key
    listed = [json.loads(line)["label"] for line in bale.ok("ls", "--json", WRITTEN / name).out.splitlines()]
    assert listed == [i % 3 for i in range(10)]
    bale.ok("verify", tmp_path / "packed")


def test_a_tuple_of_an_image_and_its_class(bale):
    lines = [json.loads(line) for line in bale.ok("ls", "--json", WRITTEN / "pair").out.splitlines()]
    assert [line["label"] for line in lines] == [0, 1, 2, 0]
    assert [line["key"] for line in lines] == [f"chunk-0-0/{i:08d}" for i in range(4)]
    assert [list(fields) for fields in fields_by_key(bale, WRITTEN / "pair").values()] == [["jpg"]] * 4


def test_chunks_are_not_classes(bale, copy, tmp_path):
    """Their names are in the keys, and nobody is advised to train on them. A field that is not the label is told."""
    place = copy("classes")
    index = (place / "index.json").read_text()
    (place / "index.json").write_text(index.replace("filename\\", "words\\").replace('"int"', '"float"'))
    assert bale.ok("ls", place).out.split()[-1] == "chunk-0-2/00000001"
    told = bale.ok("convert", place, tmp_path / "packed").err.splitlines()
    assert [line.partition(": ")[2] for line in told if "label" in line] == [
        'no sample has a label: "label.npy" stays a field, which loaders deliver in addition by `fields`']


def test_every_kind_of_leaf(bale, tmp_path):
    result = bale.ok("convert", WRITTEN / "everything", tmp_path / "packed")
    assert "LitData's pickle" in result.out + result.err
    fields = fields_by_key(bale, tmp_path / "packed")
    assert len(fields) == 3
    for number, found in enumerate(fields.values()):
        arrays = {"": np.asarray(make_mds.image(number)), "mask.": np.asarray(make_mds.image(number, "L")),
                  "weight.": np.float64(number / 7), "flag.": np.bool_(number == 1),
                  "points.": np.arange(number * 2 + 2, dtype=np.int16).reshape(-1, 2), "row.": np.arange(number + 1, dtype=np.float32),
                  "tensor.": np.arange(6 + 6 * number, dtype=np.float32).reshape(-1, 2, 3) / 2, "vector.": np.arange(number + 2),
                  "nested_box.": np.array([number, 2, 300, 4], dtype=np.int32)}
        for name, written in arrays.items():
            array = np.load(io.BytesIO(found.pop(f"{name}npy")))
            assert array.dtype == written.dtype and array.shape == written.shape and np.array_equal(array, written), name
        assert found.pop("cls") == b"%d" % (number * 1000)
        assert found.pop("caption.txt").decode() == f"Bild {number} – grün"
        assert found.pop("blob") == bytes([number, 0, 255])
        assert found.pop("anything.pkl").startswith(b"\x80")
        assert not found, number


def test_a_file_and_a_value_of_one_name(bale, copy):
    """The extension of a file is in lower case in the field's name, also where fields are kept apart."""
    index = copy("everything") / "index.json"
    text = index.read_text()
    for old, new in (('"bytes"', '"file:MP4"'), ('"no_header_numpy:9"', '"bytes"'), ("row", "blob.mp4")):
        assert old in text
        text = text.replace(old, new)
    index.write_text(text)
    for number, found in enumerate(fields_by_key(bale, index.parent).values()):
        assert found["blob.mp4"] == bytes([number, 0, 255]) and len(found["blob.mp4_8"]) == 4 * (number + 1)


@pytest.mark.parametrize("name", CHUNKS)
def test_an_index_next_to_each_chunk(bale, copy, name):
    data = copy(name)
    bale.ok("index", data)
    bale.ok("verify", data)
    assert fields_by_key(bale, data) == fields_by_key(bale, WRITTEN / "classes")
    chunk = data / CHUNKS[name]
    flip(chunk, chunk.stat().st_size - 300)
    result = bale("verify", data)
    assert result.code == 3 and chunk.name in result.out + result.err


@pytest.mark.parametrize("name", CHUNKS)
def test_truncations(bale, copy, name):
    """Each is one error that names the chunk."""
    data = copy(name)
    chunk = data / CHUNKS[name]
    whole = chunk.read_bytes()
    for size in range(1, len(whole), by_tier(len(whole) // 9, 3)):
        chunk.write_bytes(whole[:size])
        result = bale("ls", chunk)
        assert result.code == 1 and f"{chunk.name}: " in result.error_line(), size


def test_a_chunk_of_the_list_that_is_missing_or_of_another_dataset(bale, copy):
    data = copy("classes")
    chunk = data / "chunk-0-2.bin"
    chunk.unlink()
    result = bale("ls", data)
    assert result.code == 1 and 'index.json: the chunk "chunk-0-2.bin" that it lists is not there' in result.error_line()
    shutil.copy(data / "chunk-0-1.bin", chunk)
    result = bale("ls", data)
    assert result.code == 1 and "4 samples in 3000 bytes, index.json says 2 in 1582" in result.error_line()


def test_a_chunk_without_its_configuration(bale, copy):
    data = copy("classes")
    (data / "index.json").unlink()
    result = bale("ls", data / "chunk-0-0.bin")
    assert result.code == 1 and "without the index.json that says what its bytes are" in result.error_line()


def test_a_chunk_that_is_an_arrow_table(bale, copy):
    data = copy("classes")
    with open(data / "chunk-0-0.bin", "ab") as chunk:
        chunk.write(b"a table" + b"LDARW01\0")
    result = bale("ls", data)
    assert result.code == 1 and "chunk-0-0.bin: a chunk that is an Arrow table" in result.error_line()


@pytest.mark.parametrize("old, new, said", [
    ('"encryption": null', '"encryption": {"algorithm": "fernet"}', "encrypted chunks"),
    ('"compression": null', '"compression": "lz4"', 'chunks compressed by "lz4", bale reads zstd'),
    ('"item_loader": "PyTreeLoader"', '"item_loader": "TokensLoader"', "a dataset for LitData's TokensLoader"),
    ('"filename": "chunk-0-1.bin"', '"filename": "../chunk-0-1.bin"', "lists a chunk outside its directory"),
    ('"data_format": ["jpeg", "int", "str"]', '"data_format": []', "says that samples have no values"),
    ('"data_format": ["jpeg", "int", "str"]', '"data_format": ["jpeg"]', "sample 0: "),
    ('"data_format": ["jpeg", "int", "str"]', '"data_format": ["jpeg", "int", "float"]', "which are not a valid float")])
def test_what_is_refused_by_name(bale, copy, old, new, said):
    data = copy("classes")
    index = (data / "index.json").read_text()
    assert old in index
    (data / "index.json").write_text(index.replace(old, new))
    result = bale("ls", data)
    assert result.code == 1 and said in result.error_line()


def test_it_is_not_written(bale, tiny, tmp_path):
    result = bale("pack", tiny, tmp_path / "packed", "--format", "litdata")
    assert result.code == 2 and "bale reads litdata and does not write it" in result.error_line()


def is_installed():
    """The folder of files is called litdata, too, and has no origin."""
    spec = importlib.util.find_spec("litdata")
    return spec is not None and spec.origin is not None


@pytest.mark.skipif(not is_installed(), reason="needs litdata")
def test_the_writer_still_writes_these_files(tmp_path):
    make_litdata.write(tmp_path)
    for path in sorted(WRITTEN.rglob("chunk-*.bin")):
        assert path.read_bytes() == (tmp_path / path.relative_to(WRITTEN)).read_bytes(), path
