"""Fields in batches (docs/FIELDS.md): captions, metadata, embeddings and bytes next to the images, whatever makes the batch."""
import gc
import json
import math
import os
import pathlib
import pickle
import signal
import sys

import numpy as np
import pytest
import webdataset
from conftest import LAYOUTS, flip, shards, write_tar
from fields_support import (
    FIELDS,
    PAIR,
    SIZE,
    caption,
    check,
    content,
    continues,
    jpeg,
    npy,
    number_of,
    sample,
    write_folder,
)
from python_support import worker_pids
from remote_support import serve  # noqa: F401 - a fixture

MDS = pathlib.Path(__file__).parents[2] / "foreign" / "mds"
sys.path.insert(0, str(MDS.parent))
import make_mds  # noqa: E402

bl = pytest.importorskip("bale")
transforms = bl.transforms

OPTIONS = {"seed": 5, "transform": transforms.val(16, resize=16)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("fields"), SIZE)


@pytest.fixture(scope="module")
def captioned(bale, folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("captioned") / "pack"
    bale.pack(folder, root, *PAIR)
    return root


@pytest.fixture(scope="module")
def compressed(bale, folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("compressed") / "pack"
    bale.pack(folder, root, *PAIR, "--compress", "zstd")
    return root


def tar_of(path, samples):
    return write_tar(path, [(f"s{i:03}.{extension}", content) for i, fields in enumerate(samples)
                            for extension, content in fields.items()])


def load(spec, batch_size=6, fields=None, **options):
    return bl.Loader(spec, batch_size, fields=fields or FIELDS, **{"workers": 0, **OPTIONS, **options})


# --- what is delivered

@pytest.mark.parametrize("format_name,layout", LAYOUTS)
def test_every_format(bale, folder, tmp_path, format_name, layout):
    bale.pack(folder, tmp_path / "p", *PAIR, "--format", format_name, "--layout", layout)
    with load(tmp_path / "p") as loader:
        assert sorted(number for batch in loader for number in check(batch)) >= list(range(SIZE))


def test_webdataset_reads_the_same(captioned):
    expected = {}
    for path in shards(captioned):
        for found in webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False).decode():
            expected[found["__key__"]] = found
    with load(captioned) as loader:
        for batch in loader:
            for row, key in enumerate(batch.keys):
                found = expected[key]
                assert batch.fields["caption"][row] == found["txt"] and batch.fields["meta"][row] == found["json"]
                assert np.array_equal(batch.fields["embedding"][row], found["npy"])
                assert bytes(batch.fields["raw"][row]) == found["bin"]
    assert len(expected) == SIZE


def test_columns_of_mds():
    """Written by mosaicml-streaming."""
    names = {"caption": "caption.txt", "meta": "meta.json", "fixed": "fixed.npy", "weight": "weight.npy", "blob": "blob"}
    with load(MDS / "everything", 3, fields=names, shuffle=False) as loader:
        (batch,) = loader
    written = [make_mds.everything(i) for i in range(3)]
    assert batch.fields["caption"] == [one["caption"] for one in written]
    assert list(batch.fields["meta"]) == [one["meta"] for one in written]
    for name in ("fixed", "weight"):
        assert np.array_equal(batch.fields[name], np.stack([one[name] for one in written])), name
        assert batch.fields[name].dtype == written[0][name].dtype
    assert [bytes(row) for row in batch.fields["blob"]] == [one["blob"] for one in written]


@pytest.mark.parametrize("how", [{"workers": 2}, {"workers": 2, "threads": True}, {"workers": 0, "prefetch": 2}], ids=str)
def test_the_same_from_processes_threads_and_the_caller(captioned, compressed, how):
    with load(captioned) as loader:
        expected = [content(batch) for _ in range(2) for batch in loader]
    for spec in (captioned, compressed):
        with load(spec, **how) as loader:
            assert [content(batch) for _ in range(2) for batch in loader] == expected


def test_ranks_share_an_epoch_and_a_state_continues_it(captioned):
    found = []
    for rank in range(2):
        with load(captioned, 4, rank=rank, world_size=2, tail="uneven") as loader:
            for batch in loader:
                present = batch.fields.present("caption")
                assert present.tolist() == batch.mask.tolist()
                for key, text, real in zip(batch.keys, batch.fields["caption"], batch.mask, strict=True):
                    assert text == (caption(number_of(key)) if real else "")
                    found += [number_of(key)] if real else []
    assert sorted(found) == list(range(SIZE))
    assert continues(load, captioned, content, batch_size=4)


def test_a_killed_worker_changes_nothing(captioned):
    with load(captioned) as loader:
        expected = [content(batch) for _ in range(4) for batch in loader]
    with load(captioned, workers=2, prefetch=2) as loader:
        found = []
        for _ in range(4):
            for step, batch in enumerate(loader):
                found.append(content(batch))
                if step % 3 == 0:
                    os.kill(worker_pids(loader)[0], signal.SIGKILL)
        assert found == expected


def test_remote(captioned, serve):
    server = serve(captioned)
    with load(server.url) as remote, load(captioned) as local:
        assert [content(batch) for batch in remote] == [content(batch) for batch in local]


def test_several_views_and_images_of_many_sizes(captioned):
    for how in ({"transform": None, "views": [transforms.val(16, resize=16)] * 2}, {"transform": transforms.ragged()},
                {"transform": transforms.raw()}):
        with load(captioned, **how) as loader:
            for batch in loader:
                check(batch)


# --- lifetime

def test_batches_that_are_kept_stay_as_they_are(captioned):
    with load(captioned, 4) as loader:
        expected = [content(batch) for _ in range(2) for batch in loader]
    with load(captioned, 4, workers=2, prefetch=2) as loader:
        kept = [batch for _ in range(2) for batch in loader]
        assert any(batch.is_copy for batch in kept) and not kept[0].is_copy
    assert [content(batch) for batch in kept] == expected


def test_an_array_keeps_its_batch(captioned):
    with load(captioned, 4, prefetch=3) as loader:
        kept, expected = [], []
        for batch in loader:
            kept.append((batch.fields["embedding"], batch.fields["raw"][1], batch.fields["meta"], batch.fields["caption"]))
            expected.append((batch.fields["embedding"].copy(), bytes(batch.fields["raw"][1]),
                             list(batch.fields["meta"]), list(batch.fields["caption"])))
            del batch
        gc.collect()
        assert loader.counters["batches_copied"] > 0
    for (array, row, meta, texts), (array_then, row_then, meta_then, texts_then) in zip(kept, expected, strict=True):
        assert np.array_equal(array, array_then) and bytes(row) == row_then
        assert list(meta) == meta_then and texts == texts_then


# --- bad samples

BAD = {
    "a missing field": ({"txt": None}, {"caption": "txt"}, 'sample has no field "txt"'),
    "no UTF-8": ({"txt": b"good\xff"}, {"caption": "txt"}, "field txt: text is not UTF-8 at byte 4"),
    "no array": ({"npy": b"x" * 200}, {"embedding": "npy"}, "field npy: not a NumPy array: its header cannot be read"),
    "another shape": ({"npy": npy(np.zeros((3, 2), "float32"))}, {"embedding": "npy"},
                      "array of shape (3, 2) and type <f4; the batch has arrays of shape (2, 3) and type <f4"),
    "another type": ({"npy": npy(np.zeros((2, 3), "float64"))}, {"embedding": "npy"},
                     "array of shape (2, 3) and type <f8; the batch has arrays of shape (2, 3) and type <f4"),
    "a short array": ({"npy": npy(np.zeros((2, 3), "float32"))[:-4]}, {"embedding": "npy"}, "has 20 bytes of values, not 24"),
}


@pytest.mark.parametrize("changed,fields,reason", BAD.values(), ids=BAD)
def test_bad_samples_are_named_and_follow_the_policy(tmp_path, changed, fields, reason):
    made = [{key: value for key, value in {**sample(i), **(changed if i == 5 else {})}.items() if value is not None}
            for i in range(12)]
    spec = tar_of(tmp_path / "p.tar", made)
    options = {"batch_size": 4, "fields": fields, "shuffle": False}
    with load(spec, **options) as loader, pytest.raises(bl.Error) as caught:
        list(loader)
    assert reason in str(caught.value) and "s005" in str(caught.value)
    assert caught.value.code in ("damaged", "unsupported", "not_found", "invalid_argument")
    with load(spec, on_bad_sample="skip", workers=2, **options) as loader:
        batches = list(loader)
        (bad,) = loader.bad_samples
    assert bad.key == "s005" and reason in bad.reason
    expected = [True, False, True, True]
    assert batches[1].mask.tolist() == expected
    (name,) = fields
    assert batches[1].fields.present(name).tolist() == expected
    rows = batches[1].fields[name]
    assert not rows[1].any() if name == "embedding" else rows == [caption(4), "", caption(6), caption(7)]
    with load(spec, on_bad_sample="substitute", fields={**FIELDS}, batch_size=4, shuffle=False, workers=2) as loader:
        for batch in loader:
            assert "s005" not in batch.keys
            check(batch)
        assert loader.bad_samples[0].action == "substituted"


def test_a_larger_substitute_fits(tmp_path):
    """Its row has the room of the sample that it replaces."""
    small = {**sample(0), "txt": b"", "bin": b"x", "npy": b"no array"}
    large = {**sample(1), "txt": b"t" * 5000, "bin": bytes(range(256)) * 40}
    spec = tar_of(tmp_path / "p.tar", [large, *[small] * 5])
    with load(spec, 6, on_bad_sample="substitute", shuffle=False) as loader:
        (batch,) = loader
    assert set(batch.keys) == {"s000"}
    assert batch.fields["caption"] == ["t" * 5000] * 6
    assert [bytes(row) for row in batch.fields["raw"]] == [bytes(range(256)) * 40] * 6


def test_what_compresses_a_thousandfold_fits(bale, tmp_path):
    changed = {i: {"txt": b"z" * 200_000 if i % 5 == 0 else b"short", "bin": bytes(100_000 * (i % 2))} for i in range(10)}
    bale.pack(write_folder(tmp_path / "in", 10, changed), tmp_path / "p", *PAIR, "--compress", "zstd")
    with load(tmp_path / "p", 4, workers=2, prefetch=2) as loader:
        kept = [batch for _ in range(3) for batch in loader]  # some are copies
    assert any(batch.is_copy for batch in kept)
    for batch in kept:
        for key, text, raw in zip(batch.keys, batch.fields["caption"], batch.fields["raw"], strict=True):
            assert text.encode() == changed[number_of(key)]["txt"] and bytes(raw) == changed[number_of(key)]["bin"]


def test_an_empty_row_of_a_slot_that_was_used_before(tmp_path):
    made = [{"jpg": jpeg(i), "txt": b"text", "npy": npy(np.float32([i + 1, i + 1]))} for i in range(12)]
    made[5]["npy"] = b"damaged"
    with load(tar_of(tmp_path / "p.tar", made), 4, fields={"a": "npy", "t": "txt"}, on_bad_sample="skip", prefetch=2) as loader:
        for _ in range(6):
            for batch in loader:
                assert batch.fields["a"].tolist() == [[i + 1] * 2 if i != 5 else [0, 0] for i in map(number_of, batch.keys)]
                assert batch.fields["t"] == ["text" if i != 5 else "" for i in map(number_of, batch.keys)]
                del batch


def test_padding_has_the_fields_of_its_samples(captioned):
    with load(captioned, 12, rank=2, world_size=3) as loader:
        batches = list(loader)
    assert batches[-1].mask.tolist() == [True, False]
    for batch in batches:
        check(batch)


def test_a_flipped_bit_is_found(captioned, fresh_copy):
    copy = fresh_copy(captioned)
    path = shards(copy)[0]
    flip(path, path.read_bytes().index(b"Bild 0") + 1)
    with load(copy, on_bad_sample="skip") as loader:
        for batch in loader:
            assert batch.mask.tolist() == [key != "class0/s000" and number for key, number in zip(batch.keys, batch.mask.tolist())]
        assert all("field txt: checksum does not match" in bad.reason for bad in loader.bad_samples)
        assert {bad.key for bad in loader.bad_samples} == {"class0/s000"}


# --- optional fields, and those that are declared

def test_optional_fields_have_a_mask(tmp_path):
    made = [{"jpg": jpeg(i), **({"txt": b"t", "npy": npy(np.float64(i)), "json": b"[1]"} if i % 2 else {})} for i in range(4)]
    fields = {name: bl.Field(source, optional=True)
              for name, source in [("t", "txt"), ("a", "npy"), ("j", "json"), ("never", "bin")]}
    with load(tar_of(tmp_path / "p.tar", made), 4, fields=fields, shuffle=False) as loader:
        (batch,) = loader
    assert batch.fields["t"] == ["", "t", "", "t"]
    assert batch.fields["a"].tolist() == [0, 1, 0, 3] and batch.fields["a"].shape == (4,)
    assert list(batch.fields["j"]) == [None, [1], None, [1]]
    for name in ("t", "a", "j"):
        assert batch.fields.present(name).tolist() == [False, True, False, True]
    assert not batch.fields.present("never").any() and len(batch.fields["never"].data) == 0


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
                                   "float32", "float64", "complex64", "complex128"])
def test_arrays_of_every_type(tmp_path, dtype):
    arrays = [np.asarray(np.random.default_rng(i).integers(0, 2, (3, 1, 2)), dtype) for i in range(3)]
    spec = tar_of(tmp_path / "p.tar", [{"jpg": jpeg(i), "npy": npy(array)} for i, array in enumerate(arrays)])
    for field in ("npy", bl.Field("npy", dtype=dtype, shape=(3, 1, 2))):
        with load(spec, 3, fields={"a": field}, shuffle=False) as loader:
            (batch,) = loader
        assert batch.fields["a"].dtype == dtype and np.array_equal(batch.fields["a"], np.stack(arrays))


def test_arrays_in_fortran_order(tmp_path):
    arrays = [np.asfortranarray(np.random.default_rng(i).random((2, 3, 4))) for i in range(3)]
    spec = tar_of(tmp_path / "p.tar", [{"jpg": jpeg(i), "npy": npy(array)} for i, array in enumerate(arrays)])
    with load(spec, 3, fields={"a": "npy"}, shuffle=False) as loader:
        (batch,) = loader
    assert np.array_equal(batch.fields["a"], np.stack(arrays)) and batch.fields["a"].flags.c_contiguous


def test_the_first_array_may_be_damaged(tmp_path):
    made = [{"jpg": jpeg(i), "npy": b"damaged" if i == 0 else npy(np.float32([i, i]))} for i in range(4)]
    with load(tar_of(tmp_path / "p.tar", made), 4, fields={"a": "npy"}, shuffle=False, on_bad_sample="skip") as loader:
        (batch,) = loader
    assert batch.fields["a"].tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]] and batch.mask.tolist() == [False, True, True, True]


def test_json_that_cannot_be_parsed(tmp_path):
    made = [{"jpg": jpeg(i), "json": b'{"a": NaN}' if i else b"{"} for i in range(2)]
    with load(tar_of(tmp_path / "p.tar", made), 2, fields={"j": "json"}, shuffle=False) as loader:
        (batch,) = loader
    rows = batch.fields["j"]
    assert np.isnan(rows[1]["a"]) and rows[-1] is rows[1]
    with pytest.raises(bl.Error, match="s000") as caught:
        rows[0]
    assert caught.value.code == "damaged"


# --- Ragged

def test_ragged():
    ragged = bl.Ragged(np.arange(6, dtype="uint8"), np.int64([0, 2, 2, 6]))
    assert [row.tolist() for row in ragged] == [[0, 1], [], [2, 3, 4, 5]] and len(ragged) == 3
    assert ragged[-1].tolist() == [2, 3, 4, 5] and np.shares_memory(ragged[2], ragged.data)
    assert [row.tolist() for row in ragged[1:]] == [[], [2, 3, 4, 5]] and len(ragged[3:]) == 0 and len(ragged[2:1]) == 0
    assert ragged.lengths.tolist() == [2, 0, 4]
    assert [row.tolist() for row in pickle.loads(pickle.dumps(ragged))] == [[0, 1], [], [2, 3, 4, 5]]
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            ragged[wrong]
    with pytest.raises(ValueError):
        ragged[::2]


def test_the_bytes_of_text(captioned):
    with load(captioned) as loader:
        batch = next(iter(loader))
        texts = batch.fields.ragged("caption")
        assert [bytes(row).decode() for row in texts] == batch.fields["caption"]
        with pytest.raises(TypeError, match="one shape"):
            batch.fields.ragged("embedding")
        with pytest.raises(KeyError):
            batch.fields["other"]


@pytest.fixture(scope="module")
def table(bale, tmp_path_factory):
    """A CSV whose cells are texts, and one JSONL of numbers."""
    root = tmp_path_factory.mktemp("table")
    rows = []
    for i in range(SIZE):
        (root / f"{i}.jpg").write_bytes(jpeg(i))
        rows.append({"path": f"{i}.jpg", "label": i % 3, "age": f" {i} ", "share": f"{'+' if i % 2 else ''}{i / 8}", "name": f"n{i}"})
    (root / "table.csv").write_text("\n".join(",".join(map(str, row)) for row in [rows[0].keys(), *(row.values() for row in rows)]))
    (root / "table.jsonl").write_text("\n".join(json.dumps({**row, "age": i, "share": i / 8, "two": [i, -i]}) for i, row in enumerate(rows)))
    for kind in ("csv", "jsonl"):
        bale.pack(root / f"table.{kind}", root / kind)
    return root


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_columns_of_numbers_are_arrays(table, kind):
    fields = {"age": bl.Field("json", member="age", dtype="int64"), "share": bl.Field("json", member="share", dtype="float32"),
              "both": bl.Field("json", member=["share", "age"], dtype="float64"), "all": "json"}
    if kind == "jsonl":
        fields["two"] = bl.Field("json", member="two", dtype="int8")
    for workers in (0, 1):
        with load(table / kind, fields=fields, workers=workers) as loader:
            for batch in loader:
                found = batch.fields
                ages = [int(row["age"]) for row in found["all"]]
                assert found["age"].dtype == np.int64 and found["age"].tolist() == ages and found["share"].shape == (len(ages),)
                assert found["share"].tolist() == [age / 8 for age in ages]
                assert found["both"].tolist() == [[age / 8, age] for age in ages]
                assert kind == "csv" or found["two"].tolist() == [[age, -age] for age in ages]


def test_columns_that_are_not_numbers(table):
    def bad(**options):
        with load(table / "csv", fields={"a": bl.Field("json", **options)}, on_bad_sample="skip") as loader:
            assert not any(batch.mask.any() for batch in loader)
            return loader.bad_samples[0].reason
    assert '"n' in bad(member="name", dtype="float32") and "not a value of type <f4" in bad(member="name", dtype="float32")
    assert "not a value of type |u1" in bad(member=["age", "name"], dtype="uint8", shape=(2,))
    assert "missing" in bad(member="missing", dtype="float32", shape=())
    for options, words in (({"member": "age"}, "does not say the type"), ({"member": "age", "kind": "text"}, "has members, which only arrays have"),
                           ({"member": [3], "dtype": "int8"}, "which are not names")):
        with pytest.raises((ValueError, TypeError), match=words):
            load(table / "csv", fields={"a": bl.Field("json", **options)})


def test_json_with_the_nan_of_python(tmp_path):
    """It spoils only what is read from it."""
    made = [{"jpg": jpeg(i), "json": json.dumps({"n": i, "f": [0.5, math.nan][i], "boxes": [[0, 1, 2, 3]], "scores": [-math.inf]}).encode()}
            for i in range(2)]
    tar = tar_of(tmp_path / "p.tar", made)
    fields = {"n": bl.Field("json", member="n", dtype="int8"), "boxes": bl.Field("json", kind="boxes")}
    with load(tar, 2, fields=fields, shuffle=False) as loader:
        (batch,) = loader
    assert batch.fields["n"].tolist() == [0, 1] and [len(row) for row in batch.fields["boxes"]] == [1, 1]
    with load(tar, 2, fields={"f": bl.Field("json", member="f", dtype="float32")}, shuffle=False, on_bad_sample="skip") as loader:
        (batch,) = loader
        assert batch.mask.tolist() == [True, False] and "null is not a value of type <f4" in loader.bad_samples[0].reason


# --- what is refused

@pytest.mark.parametrize("fields,words", [
    ({"a": "tiff"}, 'no sample has the field "tiff"; the dataset has '),
    ({"": "txt"}, 'fields: "" is not a name'),
    ({"a": ""}, "names no stored field"),
    ({"a": bl.Field("txt", dtype="float32")}, "has a dtype, which only arrays and masks have"),
    ({"a": bl.Field("txt", shape=(2,))}, "has a shape, which only arrays have"),
    ({"a": bl.Field("npy", dtype=">f4")}, "array of type >f4, which batches do not carry"),
    ({"a": bl.Field("npy", shape=(1 << 40, 1 << 40))}, "does not fit in memory"),
    ({"a": bl.Field("other", kind="array", optional=True)}, 'no sample has the field "other"'),
    ({"a": bl.Field("txt", kind="words")}, "which is not one of text, json, array, bytes"),
    ({"a": 3}, "neither the name of a stored field nor a bale.Field"),
    (["txt"], "is not a mapping"),
])
def test_fields_that_are_refused(captioned, fields, words):
    with pytest.raises((bl.Error, ValueError, TypeError)) as caught:
        bl.Loader(captioned, fields=fields, workers=0, **OPTIONS)
    assert words in str(caught.value)


def test_without_fields_there_are_none(captioned):
    with bl.Loader(captioned, 4, workers=0, **OPTIONS) as loader:
        batch = next(iter(loader))
        assert dict(batch.fields) == {}


def test_json_is_what_was_packed(captioned):
    with load(captioned) as loader:
        for batch in loader:
            assert [json.loads(row) for row in batch.fields["meta"].bytes] == list(batch.fields["meta"])
