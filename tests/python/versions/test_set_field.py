"""bale set NAME.EXT=FILE: values of a field for samples of shards that stay as they are."""
import io
import json
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from conftest import ALL_LAYOUTS, format_options, key_names, tree_bytes
from python_support import ENVIRONMENT
from remote_support import FaultServer, remote  # noqa: F401 - fixtures
from version_support import make_files, version_of

import bale as bl

FAILURE, USAGE, DAMAGE = 1, 2, 3
NAMES = [".".join(layout) for layout in ALL_LAYOUTS]
OPTIONS = {"batch_size": 4, "transform": bl.transforms.val(16, resize=16), "seed": 3}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("files") / "old", "o", classes=3, per_class=4)


def packed(bale, files, out, name="tar.plain"):
    bale.pack(files, out, *format_options(name), "--name", "x", "--shard-samples", "5")
    return out


@pytest.fixture(scope="module")
def tar(bale, files, tmp_path_factory):
    return packed(bale, files, tmp_path_factory.mktemp("tar") / "packed")


@pytest.fixture
def out(tar, tmp_path):
    return shutil.copytree(tar, tmp_path / "out")


def set_field(bale, out, setting, *options):
    return json.loads(bale.ok("set", out, setting, "--json", *options).out)


def table(path, column, rows):
    path.write_text(f"key,{column}\n" + "".join(f"{key},{value}\n" for key, value in rows))
    return path


def values_of(spec, field):
    """By key; None of samples without it."""
    dataset = bl.Dataset(spec)
    values = [dataset[n].get(field) for n in range(len(dataset))]
    return {key: value and value.decode() for key, value in zip(dataset.keys, values)}


def layer_of(out):
    return next((out / "layers").glob("*.blay"))


@pytest.mark.parametrize("name", NAMES)
def test_every_reader_delivers_the_values(bale, files, name, tmp_path):
    out = packed(bale, files, tmp_path / "out", name)
    before, old, keys = tree_bytes(out), version_of(bale, out), key_names(bale, out)
    rows = [(key, f"caption {n}") for n, key in enumerate(keys) if n != 3]
    report = set_field(bale, out, f"caption.txt={table(tmp_path / 'a.csv', 'caption', rows)}", "-m", "by a model")
    assert (report["samples"], report["field"], report["parent"]) == (11, "caption.txt", old)
    after = tree_bytes(out)
    assert {file for file in before if after[file] != before[file]} == {"manifest.json"} and len(after) == len(before) + 2
    expected = {**dict.fromkeys(keys), **dict(rows)}
    assert values_of(out, "caption.txt") == expected and bale.ok("cat", out, keys[4], "--field", "caption.txt").out == "caption 4"
    assert set(values_of(f"{out}@{old}", "caption.txt").values()) == {None}
    bale.ok("verify", out)
    assert "caption.txt" in bale.ok("inspect", out).out and "set caption.txt 11 samples: by a model" in bale.ok("log", out).out
    assert [json.loads(line)["key"] for line in bale.ok("ls", "--json", out, "--where", "caption = 'caption 5'").out.splitlines()] == [keys[5]]
    bale.ok("extract", out, tmp_path / "files", "--field", "caption.txt")
    assert sorted(path.read_text() for path in (tmp_path / "files").rglob("*.caption.txt")) == sorted(dict(rows).values())
    dataset = bl.Dataset(out)
    assert "caption.txt" in dataset.fields and dataset[5]["caption.txt"] == b"caption 5"
    for workers in (0, 2):
        with bl.Loader(out, workers=workers, fields={"c": bl.Field("caption.txt", optional=True)}, tail="uneven", **OPTIONS) as loader:
            seen = {key: text for batch in loader for key, text in zip(batch.keys, batch.fields["c"])}
            assert seen == {key: value or "" for key, value in expected.items()} and not loader.bad_samples
    # A later layer takes precedence, and what was removed stays so.
    bale.ok("remove", out, keys[1])
    set_field(bale, out, f"caption.txt={table(tmp_path / 'b.csv', 'value', [(keys[2], 'better'), (keys[3], 'new')])}")
    expected = {**expected, keys[2]: "better", keys[3]: "new"}
    del expected[keys[1]]
    assert values_of(out, "caption.txt") == expected
    if not name.startswith(("npy", "hdf5.array", "tfrecord")):
        bale.ok("convert", out, tmp_path / "converted", *format_options(name))
        assert values_of(tmp_path / "converted", "caption.txt") == expected
        assert bale("diff", out, tmp_path / "converted").code == 0
        bale.ok("rewrite", out, "--all")
        assert values_of(out, "caption.txt") == expected and bale("diff", out, tmp_path / "converted").code == 0
        assert not list(json.loads((out / "manifest.json").read_text()).get("layers", [])) and bale.ok("verify", out)


def test_embeddings_cost_their_bytes(bale, files, tmp_path, remote):  # noqa: F811
    """No shard is written, a loader that does not ask reads none of them, and one flipped bit is named by key."""
    count = 20_000
    image = next(files.rglob("*.JPEG")).read_bytes()
    with bl.Writer(tmp_path / "out", shard_samples=5000) as writer:
        for n in range(count):
            writer.add(f"{n:05}", {"jpg": image})
    out = tmp_path / "out"
    values = np.random.default_rng(1).standard_normal((count, 512), np.float32).astype(np.float16)
    before = {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in out.iterdir() if path.name != "manifest.json"}
    order = np.random.default_rng(2).permutation(count)
    report = bl.set_field(out, "clip.npy", values[order], keys=[f"{n:05}" for n in order])
    assert report["samples"] == count and report["bytes"] < 1.08 * values.nbytes
    assert {name: (path.stat().st_ino, path.stat().st_mtime_ns) for name in before for path in [out / name]} == before
    dataset = bl.Dataset(out)
    for n in (0, 4999, 5000, 19_999):
        assert np.array_equal(np.load(io.BytesIO(dataset[n]["clip.npy"])), values[n])
    assert bl.set_field(out, "clip.npy", values, keys=[f"{n:05}" for n in range(count)])["version"] == dataset.version
    layer = layer_of(out)
    head = layer.stat().st_size - values.nbytes
    code = ("import bale, sys\n"
            "order = bale.Order(subset=range(0, 20_000, 97))\n"
            "for batch in bale.Loader(sys.argv[1], 64, workers=2, transform=bale.transforms.val(16, resize=16), order=order): pass")
    with FaultServer(tmp_path) as server:
        subprocess.run([sys.executable, "-c", code, f"{server.url}/out"], check=True, env={**ENVIRONMENT, **remote.env})
        assert 0 < server.sent("*.blay") <= head + (128 << 10)  # requests are of whole blocks
    content = bytearray(layer.read_bytes())
    content[head + 1024 * 7 + 100] ^= 1  # of the seventh value of a shard
    layer.write_bytes(content)
    result = bale("verify", out)
    assert result.code == DAMAGE and result.out.count("clip.npy") == 1 and str(layer) in result.out
    named = next(key for key in (f"{n:05}" for n in range(count)) if key in result.out)
    assert "checksum" in bale("cat", out, named, "--field", "clip.npy").error_line()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_damaged_value_makes_its_sample_bad(bale, out, tmp_path, workers):
    keys = key_names(bale, out)
    bl.set_field(out, "score.npy", np.arange(12, dtype=np.float32), keys=keys)
    layer = layer_of(out)
    content = bytearray(layer.read_bytes())
    content[-1] ^= 64
    layer.write_bytes(content)
    with bl.Loader(out, workers=workers, fields={"s": "score.npy"}, on_bad_sample="skip", **OPTIONS) as loader:
        seen = {key: float(score) for batch in loader for key, score, whole in zip(batch.keys, batch.fields["s"], batch.mask) if whole}
        assert len(loader.bad_samples) == 1 and "score.npy" in str(loader.bad_samples[0])
    assert seen == {key: n for n, key in enumerate(keys) if key in seen} and len(seen) == 11
    with bl.Loader(out, workers=workers, on_bad_sample="fail", **OPTIONS) as loader:  # without the field
        assert sum(int(batch.mask.sum()) for batch in loader) == 12


def test_errors_name_arguments_and_no_temporary_file(out):
    for change in (lambda on: on.set_labels({"unknown": 0}), lambda on: on.set_field("x.txt", {"unknown": "y"}),
                   lambda on: on.set_field("x.npy", np.zeros(1), keys=["unknown"]), lambda on: on.set_field("x.npy", np.zeros(1, "U3"), keys=["a"])):
        with pytest.raises(bl.Error, match="^(labels|values|keys): (the dataset .* does not have this key|an array of the type)") as found:
            with bl.edit(out) as edit:
                change(edit)
        assert found.value.path is None and "tmp" not in str(found.value).replace(str(out), "")
    for values, keys, words in (({"a": [1.0]}, ["b"], "keys: only for an array"), ({}, None, "values: there are none")):
        with pytest.raises(bl.errors.ArgumentError, match=words):
            bl.set_field(out, "x.npy", values, keys=keys)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16"])
def test_arrays_of_one_number_are_names_of_conditions(bale, out, dtype):
    keys = key_names(bale, out)
    bl.set_field(out, "score.npy", np.arange(12, dtype=dtype), keys=keys)
    bl.set_field(out, "one.npy", np.arange(12, dtype=dtype)[:, None], keys=keys)
    bl.set_field(out, "pair.npy", np.zeros((12, 2), dtype), keys=keys)
    bl.set_field(out, "flag.npy", np.arange(12) % 2 == 1, keys=keys)
    bl.set_field(out, "list.json", {key: [n / 2] for n, key in enumerate(keys)})
    dataset = bl.Dataset(out)
    assert list(dataset.select("score > 8 and one.npy <= 10")) == [9, 10]
    assert list(dataset.select("flag = 'true' and score < 4")) == [1, 3]
    assert list(dataset.select("list >= 5 and score is not unknown")) == [10, 11]
    assert len(dataset.select("pair is unknown")) == 12


def test_arrays_of_the_other_byte_order_are_names_of_conditions(tmp_path):
    header = b"\x93NUMPY\x01\0\x38\0{'descr': '>f4', 'fortran_order': False, 'shape': ()}  \n"  # as HDF5 files have
    with bl.Writer(tmp_path / "out") as writer:
        for n in range(4):
            writer.add(str(n), {"score.npy": header + struct.pack(">f", n / 2)})
    assert list(bl.Dataset(tmp_path / "out").select("score < 1")) == [0, 1]


def test_scalars_are_names_of_conditions(bale, out, tmp_path):
    keys = key_names(bale, out)
    bl.set_field(out, "aesthetic.txt", {key: n / 2 for n, key in enumerate(keys) if n != 7})
    bl.set_field(out, "score.txt", {keys[0]: np.float32(0.5)})
    assert bl.Dataset(out)[0]["score.txt"] == b"0.5"
    for field, value, kind in [("score.txt", float("nan"), ValueError), ("score.json", {"a": float("inf")}, ValueError), ("score.bin", b"x", TypeError)]:
        with pytest.raises(kind, match="JSON"):
            bl.set_field(out, field, {keys[0]: value})
    bl.set_field(out, "split.json", {key: "train" if n % 3 else "val" for n, key in enumerate(keys)})
    where = "aesthetic >= 2 and split = 'train'"
    expected = [n for n in range(12) if n % 3 and n >= 4 and n != 7]
    dataset = bl.Dataset(out)
    assert list(dataset.select(where)) == expected
    assert list(dataset.select("aesthetic.txt is unknown")) == [7]
    assert list(dataset.select("split.json in ('val', 'test')")) == [0, 3, 6, 9]
    assert list(dataset.select("split like 'tr*' and not aesthetic != 0.5")) == [1]
    with bl.Loader(out, workers=0, where=where, tail="uneven", **OPTIONS) as loader:
        assert sorted(key for batch in loader for key in batch.keys) == [keys[n] for n in expected]
    bale.ok("convert", out, tmp_path / "train", "--where", "split = 'train'")
    assert len(key_names(bale, tmp_path / "train")) == 8
    with pytest.raises(ValueError, match="no name \"split_\""):
        dataset.select("split_ = 'x'")
    error = bale("convert", out, tmp_path / "x", "--where", "aestetic > 1").err
    assert "^" in error and "fields: " in error and "aesthetic.txt" in error
    assert "no name" in bale("remove", out, "--where", "aestetic > 1").err
    assert json.loads(bale.ok("remove", out, "--where", "split = 'val'", "--json").out)["samples"] == 4
    bale.ok("rewrite", out)
    assert list(bl.Dataset(out).select("aesthetic < 1")) == [0]


def test_sources(bale, out, tmp_path):
    keys = key_names(bale, out)
    folder = tmp_path / "masks"
    for n, key in enumerate(keys[:4]):
        path = folder / f"{key}{'.seg.bin' if n % 2 else '.bin'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([n]) * n)
    assert set_field(bale, out, f"seg.bin={folder}")["samples"] == 4
    dataset = bl.Dataset(out)
    assert [dataset[n]["seg.bin"] for n in range(4)] == [bytes([n]) * n for n in range(4)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"key": key, "boxes": {"n": n}}) + "\n" for n, key in enumerate(keys)))
    assert set_field(bale, out, f"boxes.json={tmp_path / 'a.jsonl'}")["samples"] == 12
    assert bl.Dataset(out)[5]["boxes.json"] == b'{"n": 5}' or json.loads(bl.Dataset(out)[5]["boxes.json"]) == {"n": 5}
    np.save(tmp_path / "a.npy", np.arange(12, dtype=np.int32) - 3)
    (tmp_path / "keys").write_text("".join(f"{key}\n" for key in keys))
    assert set_field(bale, out, f"n.txt={tmp_path / 'a.npy'}", "--keys", tmp_path / "keys")["samples"] == 12
    assert values_of(out, "n.txt") == {key: str(n - 3) for n, key in enumerate(keys)}
    bl.set_field(out, "n.txt", {keys[0]: "-3", keys[1]: "9"})
    assert values_of(out, "n.txt")[keys[1]] == "9"
    assert bale.ok("verify", out)


def test_wrong_values_change_nothing(bale, out, tmp_path):
    before, keys = tree_bytes(out), key_names(bale, out)
    np.save(tmp_path / "two.npy", np.zeros((2, 3)))
    np.save(tmp_path / "objects.npy", np.array(["a", "b"]))
    (tmp_path / "keys").write_text(f"{keys[0]}\nnobody\n")
    (tmp_path / "one").write_text(f"{keys[0]}\n")
    (tmp_path / "masks").mkdir()
    (tmp_path / "masks" / "nobody.png").write_bytes(b"x")
    text = tmp_path / "texts" / f"{keys[0]}.png"
    text.parent.mkdir(parents=True)
    text.write_bytes(b"no image")
    (tmp_path / "bad.jsonl").write_text('{"key": "a", "value": 1}\n{"key": "b", "value": [1]}\n')
    for field, source, options, words, code in (
            ("a.txt", table(tmp_path / "a.csv", "a", [(keys[0], 1), ("nobody", 2)]), (), ("a.csv", "line 3", "nobody"), FAILURE),
            ("b.txt", table(tmp_path / "b.csv", "a", [(keys[0], 1), (keys[0], 2)]), (), ("b.csv", "line 2", "another value"), USAGE),
            ("c.txt", table(tmp_path / "c.csv", "c,d", [(keys[0], "1,2")]), ("--missing", "error"), ("c.csv", keys[1]), USAGE),
            ("c.txt", tmp_path / "bad.jsonl", (), ("bad.jsonl", "line 2", "NAME.json"), USAGE),
            ("x.npy", tmp_path / "two.npy", (), ("two.npy", "--keys"), USAGE),
            ("x.npy", tmp_path / "two.npy", ("--keys", tmp_path / "keys"), ("keys", "line 2", "nobody"), FAILURE),
            ("x.npy", tmp_path / "two.npy", ("--keys", tmp_path / "one"), ("1 keys", "2 rows"), USAGE),
            ("x.txt", tmp_path / "two.npy", ("--keys", tmp_path / "keys"), ("NAME.npy",), USAGE),
            ("x.npy", tmp_path / "objects.npy", ("--keys", tmp_path / "keys"), ("the type",), USAGE),
            ("mask.png", tmp_path / "masks", (), ("nobody.png",), FAILURE),
            ("mask.jpg", tmp_path / "masks", (), ("KEY.mask.jpg",), USAGE),
            ("a.txt", tmp_path / "nothing", (), ("nothing",), FAILURE),
            ("cls", tmp_path / "a.csv", (), ("label=FILE",), USAGE),
            ("a/b", tmp_path / "a.csv", (), ("NAME.EXT",), USAGE),
            (".txt", tmp_path / "a.csv", (), ("NAME.EXT",), USAGE),
            ("a.", tmp_path / "a.csv", (), ("NAME.EXT",), USAGE),
            ("jpg", tmp_path / "a.csv", (), ("a.csv", "folder of files KEY.jpg"), USAGE),
            ("x.png", tmp_path / "two.npy", ("--keys", tmp_path / "keys"), ("two.npy", "folder of files"), USAGE),
            ("jpeg", tmp_path / "masks", (), ("is called jpg",), USAGE),
            ("png", tmp_path / "texts", (), (f"{keys[0]}.png", "not an image"), FAILURE)):
        result = bale("set", out, f"{field}={source}", *options)
        assert result.code == code and all(word in result.error_line() for word in words), (field, words, result)
    assert tree_bytes(out) == before


def test_over_http(bale, out, tmp_path, remote):  # noqa: F811
    keys = key_names(bale, out)
    bl.set_field(out, "clip.npy", np.arange(24, dtype=np.float32).reshape(12, 2), keys=keys)
    expected = [f"{key}={2 * n}.0" for n, key in enumerate(keys)]
    code = ("import bale, sys\n"
            "with bale.Loader(sys.argv[1], 2, workers=2, transform=bale.transforms.val(16, resize=16), tail='uneven',\n"
            "                 fields={'c': 'clip.npy'}) as loader:\n"
            "    print(*sorted(f'{key}={c[0]}' for batch in loader for key, c in zip(batch.keys, batch.fields['c'])))")
    with FaultServer(tmp_path) as server:
        spec = f"{server.url}/out"
        assert remote.ok("verify", spec).code == 0
        found = subprocess.run([sys.executable, "-c", code, spec], env={**ENVIRONMENT, **remote.env}, capture_output=True, text=True, check=True)
        assert found.stdout.split() == sorted(expected)


def test_add_and_merge_take_versions_with_fields(bale, files, out, tmp_path):
    keys = key_names(bale, out)
    bl.set_field(out, "a.txt", dict.fromkeys(keys, "1"))
    assert json.loads(bale.ok("add", out, files, "--skip-existing", "--json").out)["samples"] == 0
    new = make_files(tmp_path / "new", "n", classes=1, per_class=2)
    bale.ok("add", out, new)
    assert list(values_of(out, "a.txt").values()).count(None) == 2
    bale.ok("merge", out, "-o", tmp_path / "merged")
    assert values_of(tmp_path / "merged", "a.txt") == values_of(out, "a.txt")
    bale.ok("verify", tmp_path / "merged")
    bale.ok("remove", out, keys[0], "--purge")
    assert len(key_names(bale, out)) == 13 and len(list((out / "layers").glob("*.blay"))) == 1
    bale.ok("rewrite", out, "--purge")
    assert values_of(out, "a.txt") == {**dict.fromkeys(keys[1:], "1"), **dict.fromkeys(key_names(bale, out)[-2:])}
    assert "layers" not in json.loads((out / "manifest.json").read_text())
