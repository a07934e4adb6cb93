"""bale.Writer.add_many: what as many calls of add() do; what is refused, threads, resumption."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import FORMATS, tree_bytes

import bale

PPM = b"P6\n2 3\n255\n" + b"x" * 18
N = 50


def image_of(i):
    return b"P6\n2 3\n255\n" + bytes([i]) * 18


def columns_of(begin, end):
    return {"ppm": [image_of(i) for i in range(begin, end)], "json": [{"number": i} for i in range(begin, end)],
            "npy": np.arange(2 * begin, 2 * end, dtype=np.float32).reshape(-1, 2)}


def keys_of(begin, end):
    return [f"part/{i:03d}" for i in range(begin, end)]


def labels_of(begin, end):
    return [None if i % 7 == 0 else i % 2 for i in range(begin, end)]


def add_each(writer, begin, end):
    columns = columns_of(begin, end)
    for key, label, *values in zip(keys_of(begin, end), labels_of(begin, end), *columns.values(), strict=True):
        writer.add(key, dict(zip(columns, values, strict=True)), label)


def add_many(writer, begin, end):
    return writer.add_many(keys_of(begin, end), columns_of(begin, end), labels_of(begin, end))


def content(path):
    return tree_bytes(path)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The files of the same samples that were added one by one, by format."""
    root = tmp_path_factory.mktemp("expected")
    for name in FORMATS:
        with bale.Writer(root / name, format=name, name="x", shard_samples=12, classes=["a", "b"]) as writer:
            add_each(writer, 0, N)
    return {name: content(root / name) for name in FORMATS}


@pytest.mark.parametrize("step", [1, 7, N])
@pytest.mark.parametrize("name", FORMATS)
def test_the_bytes_of_single_adds(tmp_path, expected, name, step):
    with bale.Writer(tmp_path / "out", format=name, name="x", shard_samples=12, classes=["a", "b"]) as writer:
        for begin in range(0, N, step):
            assert add_many(writer, begin, min(begin + step, N)) == begin
        assert writer.add_many([], {}) == N and writer.count == N
    assert content(tmp_path / "out") == expected[name]


def test_values_and_labels(tmp_path):
    pixels = np.arange(3 * 4 * 5 * 3, dtype=np.uint8).reshape(3, 4, 5, 3)
    with bale.Writer(tmp_path / "out", classes=["cat", "dog"]) as writer:
        writer.add_many(iter("abc"), {"png": pixels, "txt": (f"text {i}" for i in range(3))}, np.array([1, 0, 1]))
        writer.add_many("de", {"bin": [bytearray(b"1"), memoryview(b"2")]}, ["dog", None])
    dataset = bale.Dataset(tmp_path / "out")
    assert list(dataset.keys) == list("abcde") and [dataset.label(i) for i in range(5)] == [1, 0, 1, 1, None]
    assert dataset[1]["txt"] == b"text 1" and dataset[3]["bin"] == b"1" and "png" not in dataset[4]
    with bale.Writer(tmp_path / "single") as writer:
        writer.add("b", {"png": pixels[1]})
    assert dataset[1]["png"] == bale.Dataset(tmp_path / "single")[0]["png"]


@pytest.mark.parametrize("keys,columns,labels,kind,words", [
    (["a", "b"], {"ppm": [PPM]}, None, ValueError, "ppm: 1 values for 2 keys"),
    (["a", "b"], {"ppm": [PPM, PPM]}, [1], ValueError, "labels: 1 values for 2 keys"),
    (["a", "b"], {"txt": "ab"}, None, TypeError, "column 'txt': str"),
    (["a", "b"], {"ppm": [PPM, 0.5j]}, None, TypeError, "position 1: field 'ppm'"),
    (["a", 2], {"ppm": [PPM, PPM]}, None, TypeError, "position 1: a key is a str"),
    (["a", "b"], {"ppm": [PPM, PPM]}, [0, "cow"], ValueError, "position 1: label: 'cow'"),
    (["a", "b"], {"ppm": [PPM, PPM]}, [0, 2], ValueError, "position 1: label 2 of 2 classes"),
    (["a", "b"], {"ppm": [PPM, PPM]}, [0, 1 << 70], ValueError, "position 1: label: 1180591620717411303424 is not a class number"),
    (["a", ""], {"ppm": [PPM, PPM]}, None, ValueError, "position 1: an empty key"),
    (["a", "b"], {"ppm": [PPM, b"no image"]}, None, bale.Error, 'position 1: field ppm: not an image.*key "b"'),
    (["a", "b"], {"x/y": [PPM, PPM]}, None, ValueError, 'position 0: "x/y" is not a valid name of a field'),
    (["a", "b", "c", "b"], {"ppm": [PPM] * 4}, None, ValueError, "position 3: sample 5 has the same key as sample 3"),
    (["a", "b", "there", "b"], {"ppm": [PPM] * 4}, None, ValueError, "position 2: sample 4 has the same key as sample 0"),
    (["a", "b"], {}, None, ValueError, "position 0: a sample without fields")])
def test_what_is_refused_adds_nothing(tmp_path, keys, columns, labels, kind, words):
    with bale.Writer(tmp_path / "out", classes=["cat", "dog"]) as writer:
        writer.add_many(["there", "too"], {"ppm": [PPM, PPM]})
        with pytest.raises(kind, match=words):
            writer.add_many(keys, columns, labels)
        assert writer.count == 2 and "a" not in writer
        assert writer.add_many(["a", "b"], {"ppm": [PPM, PPM]}) == 2
    assert list(bale.Dataset(tmp_path / "out").keys) == ["there", "too", "a", "b"]


def test_a_resumed_writer_continues(tmp_path, expected):
    options = {"format": "tar", "name": "x", "shard_samples": 12, "classes": ["a", "b"]}
    with pytest.raises(RuntimeError, match="boom"), bale.Writer(tmp_path / "out", **options) as writer:
        add_many(writer, 0, 20)
        raise RuntimeError("boom")
    with bale.Writer(tmp_path / "out", **options, resume=True) as writer:
        assert writer.count == 20
        with pytest.raises(ValueError, match="position 2: sample 22 has the same key as sample"):
            writer.add_many(["new", "newer", "part/003"], {"ppm": [PPM] * 3})
        add_many(writer, 20, N)
    assert content(tmp_path / "out") == expected["tar"]


def test_threads(tmp_path):
    with bale.Writer(tmp_path / "out", shard_samples=17, jobs=2) as writer:
        calls = [[f"{call}-{i}" for i in range(9)] for call in range(80)]
        with ThreadPoolExecutor(4) as threads:
            firsts = list(threads.map(lambda keys: writer.add_many(keys, {"txt": keys}), calls))
    dataset = bale.Dataset(tmp_path / "out")
    assert len(dataset) == 80 * 9
    for first, keys in zip(firsts, calls, strict=True):  # the samples of a call stay together
        assert [dataset[first + i]["txt"].decode() for i in range(9)] == keys
