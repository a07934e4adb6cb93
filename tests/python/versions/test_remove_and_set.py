"""bale remove and bale set: no shard is written, and no reader of the new version sees what the old one had."""
import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import ALL_LAYOUTS, format_options, key_names, shards, tree_bytes
from python_support import ENVIRONMENT
from remote_support import FaultServer, remote  # noqa: F401 - fixtures
from version_support import make_files, version_of

import bale as bl

FAILURE, USAGE = 1, 2
NAMES = [".".join(layout) for layout in ALL_LAYOUTS]
GONE = ["amber/o_amber_0000", "moss/o_moss_0002", "moss/o_moss_0003"]
OPTIONS = {"batch_size": 2, "transform": bl.transforms.val(16, resize=16), "seed": 3}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("files") / "old", "o", classes=3, per_class=4)


def packed(bale, files, out, name="tar.plain", *options):
    bale.pack(files, out, *format_options(name), "--name", "x", "--shard-samples", "5", *options)
    return out


@pytest.fixture(scope="module")
def tar(bale, files, tmp_path_factory):
    return packed(bale, files, tmp_path_factory.mktemp("tar") / "packed")


@pytest.fixture
def out(tar, tmp_path):
    return shutil.copytree(tar, tmp_path / "out")


def removed(bale, out, *arguments):
    return json.loads(bale.ok("remove", out, *arguments, "--json").out)


def labels(bale, spec):
    return {line["key"]: line["label"] for line in map(json.loads, bale.ok("ls", "--json", spec).out.splitlines())}


def table(path, rows):
    path.write_text("key,label\n" + "".join(f"{key},{label}\n" for key, label in rows))
    return f"label={path}"


@pytest.mark.parametrize("name", NAMES)
def test_removed_samples_are_in_no_reader(bale, files, name, tmp_path):
    out = packed(bale, files, tmp_path / "out", name)
    before, old = tree_bytes(out), version_of(bale, out)
    all_keys = key_names(bale, out)
    kept = [key for key in all_keys if key not in GONE]
    report = removed(bale, out, *GONE, "-m", "asked to")
    assert (report["samples"], report["left"], report["parent"], report["version"]) == (3, 9, old, version_of(bale, out))
    assert report["bytes"] < 16 << 10 and report["unreadable"] == 0
    after = tree_bytes(out)
    assert {file for file in before if after[file] != before[file]} == {"manifest.json"}
    assert after[f"versions/{old}.json"] == before["manifest.json"] and len(after) == len(before) + 3
    assert json.loads(bale.ok("verify", "--json", out).out)["samples"] == 9
    assert json.loads(bale.ok("inspect", "--json", out).out)["samples"] == 9
    assert json.loads(bale.ok("read", "--json", out).out)["samples"] == 9
    assert key_names(bale, out) == kept
    assert bale("cat", out, GONE[0]).code == FAILURE
    for n, key in enumerate(kept):  # the bytes of the others are theirs
        if n % 4 == 0:
            assert bale.ok("cat", out, key).stdout == bale.ok("cat", f"{out}@{old}", key).stdout
    bale.ok("convert", out, tmp_path / "converted", "--format", "tar")
    bale.ok("extract", out, tmp_path / "files")
    assert key_names(bale, tmp_path / "converted") == kept
    assert not any(key.split("/")[1] in str(path) for path in (tmp_path / "files").rglob("*") for key in GONE)
    assert json.loads(bale.ok("stats", "--json", out).out)["samples"] == 9
    bale.ok("verify", f"{out}@{old}")
    assert key_names(bale, f"{out}@{old}") == all_keys == [*all_keys]
    assert "only in B" in bale("diff", out, f"{out}@{old}").out


@pytest.mark.parametrize("name", ["tar.plain", "lmdb.plain", "npy.rgb", "recordio.plain"])
def test_loaders(bale, files, name, tmp_path):
    """In the order of the dataset that never had them, with workers of both kinds, and when few indexes fit into memory."""
    if name not in NAMES:
        name = next(other for other in NAMES if other.startswith(name.split(".")[0]))
    out = packed(bale, files, tmp_path / "out", name)
    removed(bale, out, *GONE)
    bale.ok("set", out, table(tmp_path / "labels.csv", [("brick/o_brick_0001", "moss")]))
    bale.ok("convert", out, tmp_path / "converted", *format_options(name), "--shard-samples", "4")
    dataset = bl.Dataset(out)
    assert len(dataset) == 9 and list(dataset.keys) == list(bl.Dataset(tmp_path / "converted").keys)
    assert dataset.targets == bl.Dataset(tmp_path / "converted").targets and 2 in dataset.targets
    assert dataset[3] == bl.Dataset(tmp_path / "converted")[3]
    seen = {}
    for spec, workers in ((tmp_path / "converted", 0), (out, 0), (out, 2)):
        with bl.Loader(spec, workers=workers, **OPTIONS) as loader:
            batches = [(batch.images.copy(), list(batch.labels), list(batch.keys)) for _ in range(2) for batch in loader]
            assert not loader.bad_samples
        seen[str(spec), workers] = batches
    expected = seen.pop((str(tmp_path / "converted"), 0))
    for batches in seen.values():
        assert [batch[1:] for batch in batches] == [batch[1:] for batch in expected]
        assert all(np.array_equal(a[0], b[0]) for a, b in zip(batches, expected))


def test_over_http(bale, tar, out, tmp_path, remote):  # noqa: F811
    removed(bale, out, *GONE)
    bale.ok("set", out, table(tmp_path / "labels.csv", [("brick/o_brick_0001", "moss")]))
    with FaultServer(tmp_path) as server:
        spec = f"{server.url}/out"
        assert labels(remote, spec) == labels(bale, out)
        assert remote.ok("verify", spec).code == 0
        code = ("import bale, sys\n"
                "with bale.Loader(sys.argv[1], 2, workers=2, transform=bale.transforms.val(16, resize=16), tail='uneven') as loader:\n"
                "    print(*sorted(f'{key}={label}' for batch in loader for key, label in zip(batch.keys, batch.labels)))")
        found = subprocess.run([sys.executable, "-c", code, spec], env={**ENVIRONMENT, **remote.env}, capture_output=True, text=True, check=True)
        assert found.stdout.split() == sorted(f"{key}={label}" for key, label in labels(bale, out).items())
    layer = next((out / "layers").glob("*.blay"))
    layer.write_bytes(layer.read_bytes()[:-1] + b"x")
    with FaultServer(tmp_path) as server:
        assert "layers/" in remote("ls", f"{server.url}/out").error_line()


def test_several_datasets_and_versions_at_once(bale, tar, out, tmp_path):
    """The same shard with its samples and without."""
    old = version_of(bale, out)
    removed(bale, out, *GONE)
    both = f"{out}@{old}::{out}"
    assert len(key_names(bale, both)) == 12 + 9
    with bl.Loader(both, workers=2, **OPTIONS) as loader:
        assert sum(int(batch.mask.sum()) for batch in loader) == 21 and not loader.bad_samples
    assert len(key_names(bale, f"{out}/x-*.tar")) == 9  # shards by their names, next to their manifest
    bale.ok("merge", out, "-o", tmp_path / "merged")
    assert key_names(bale, tmp_path / "merged") == key_names(bale, out)
    bale.ok("verify", tmp_path / "merged")


def test_damage_in_removed_samples_is_a_remark(bale, out):
    """No reader of the version gets them; readers of the old one do."""
    old = version_of(bale, out)
    line = json.loads(bale.ok("ls", "--json", out, "--key", GONE[1]).out)
    removed(bale, out, *GONE)
    path = out / line["shard"] if "shard" in line else next(file for file in shards(out) if bale.ok("cat", f"{out}@{old}", GONE[1]).stdout in file.read_bytes())
    content = bytearray(path.read_bytes())
    content[content.index(bale.ok("cat", f"{out}@{old}", GONE[1]).stdout) + 40] ^= 1
    path.write_bytes(content)
    for options in ([], ["--decode"]):
        result = bale.ok("verify", out, *options)
        assert "1 removed sample is damaged" in result.err + result.out and "bale rewrite" in result.err + result.out
    assert json.loads(bale.ok("verify", "--json", out).out)["findings"] == []
    assert bale("verify", f"{out}@{old}").code == 3
    bale.ok("rewrite", out)
    assert "removed sample" not in bale.ok("verify", out).err
    path = next(file for file in shards(out))
    path.write_bytes(path.read_bytes()[:300] + b"x" + path.read_bytes()[301:])  # what belongs to no sample
    assert bale("verify", out).code == 3


def test_a_merged_dataset_remembers_what_was_removed(bale, files, out, tmp_path):
    removed(bale, out, *GONE)
    for name, options in (("a", []), ("b", ["--link"])):
        other = make_files(tmp_path / f"{name}_files", f"other_{name}", classes=3, per_class=2)
        bale.pack(other, tmp_path / name)
        removed(bale, tmp_path / name, f"amber/other_{name}_amber_0000")
        merged = tmp_path / f"{name}_merged"
        bale.ok("merge", out, tmp_path / name, "-o", merged, "--name", "x", *options)
        assert len(bale.ok("log", "--removed", merged).out.splitlines()) == 4
        for source in (files, other):
            assert "was removed" in bale("add", merged, source, "--skip-existing").error_line()
        bale.ok("verify", merged)
        bale.ok("merge", out, tmp_path / name, "-o", merged, "--name", "x", "--overwrite")
    before = tree_bytes(tmp_path / "b_merged")
    assert "were removed" in bale("merge", out, "-o", tmp_path / "b_merged", "--name", "x", "--overwrite").error_line()
    assert tree_bytes(tmp_path / "b_merged") == before


def test_what_one_dataset_removed_does_not_come_back_from_another(bale, files, out, tmp_path):
    other = tmp_path / "other"
    (tmp_path / "files" / "moss").mkdir(parents=True)
    shutil.copy(files / "moss" / "o_moss_0002.JPEG", tmp_path / "files" / "moss" / "of_another_name.JPEG")
    shutil.copy(files / "amber" / "o_amber_0001.JPEG", tmp_path / "files" / "moss" / "another.JPEG")
    bale.pack(tmp_path / "files", other)
    removed(bale, out, *GONE)
    result = bale("merge", out, other, "-o", tmp_path / "merged")
    assert result.code == USAGE and "was removed from" in result.error_line() and "moss/of_another_name" in result.error_line()
    assert not (tmp_path / "merged").exists()
    assert len(key_names(bale, out)) + 2 == bl.merge([out, other], tmp_path / "merged", allow_removed=True)["samples"]
    assert bale("log", "--removed", "--json", out).code == USAGE  # its lines are not JSON
    (tmp_path / "list").write_text(bale.ok("log", "--removed", out).out)
    bale.ok("remove", other, "--from", tmp_path / "list")
    bale.ok("merge", out, other, "-o", tmp_path / "cleaned")


def test_labels_are_set(bale, out, tmp_path):
    before, old = labels(bale, out), version_of(bale, out)
    rows = [("amber/o_amber_0001", "brick"), ("brick/o_brick_0000", "2"), ("moss/o_moss_0000", "moss")]
    report = json.loads(bale.ok("set", out, table(tmp_path / "labels.csv", rows), "-m", "again", "--json").out)
    assert (report["samples"], report["unchanged"], report["parent"]) == (2, 1, old) and report["bytes"] < 16 << 10
    expected = {**before, "amber/o_amber_0001": 1, "brick/o_brick_0000": 2}
    assert labels(bale, out) == expected and labels(bale, f"{out}@{old}") == before
    assert {key: int(bale.ok("cat", out, key, "--field", "cls").out) for key in expected} == expected
    bale.ok("convert", out, tmp_path / "converted")
    assert labels(bale, tmp_path / "converted") == expected
    assert "the same 12 samples" in bale.ok("diff", out, tmp_path / "converted").out
    bale.ok("set", out, table(tmp_path / "labels.csv", [("amber/o_amber_0001", "moss")]))
    removed(bale, out, "amber/o_amber_0000")
    expected = {**expected, "amber/o_amber_0001": 2}
    del expected["amber/o_amber_0000"]
    assert labels(bale, out) == expected
    assert "1 removed sample and 2 old labels" in bale.ok("inspect", out).out
    for command in ("verify", "stats"):
        bale.ok(command, out)


def test_wrong_tables_change_nothing(bale, out, tmp_path):
    before = tree_bytes(out)
    for rows, words, code in (([("moss/o_moss_0000", "oak")], 'no class "oak"', USAGE),
                              ([("moss/o_moss_0000", "3")], 'no class "3"', USAGE),
                              ([("nobody", "moss")], "line 2", FAILURE),
                              ([("moss/o_moss_0000", "0"), ("moss/o_moss_0000", "1")], "in line 2", USAGE)):
        result = bale("set", out, table(tmp_path / "labels.csv", rows))
        assert result.code == code and words in result.error_line() and "labels.csv" in result.error_line(), result
    assert bale("set", out, table(tmp_path / "labels.csv", [("moss/o_moss_0000", 0)]), "--missing", "error").code == USAGE
    assert "label=FILE" in bale("set", out, "txt").error_line()
    assert tree_bytes(out) == before
    bale.ok("set", out, table(tmp_path / "labels.csv", [("moss/o_moss_0000", " moss ")]))  # blanks around a name, as when tables are packed


def test_keys_that_are_not_there_change_nothing(bale, out):
    before = tree_bytes(out)
    result = bale("remove", out, GONE[0], "nobody")
    assert result.code == FAILURE and "nobody" in result.error_line()
    assert bale("remove", out).code == USAGE
    assert "nothing" not in bale.ok("remove", out, *GONE, "--dry-run").err
    assert tree_bytes(out) == before
    removed(bale, out, *GONE)
    assert "it was removed before" in bale("remove", out, GONE[0]).error_line()
    assert bale("remove", f"{out}@{version_of(bale, out)}", "x").code == FAILURE


def test_by_condition_and_by_list(bale, out, tmp_path):
    assert removed(bale, out, "--where", "class = 'moss' and key like '*3'")["samples"] == 1
    (tmp_path / "keys").write_text("amber/o_amber_0000\nbrick/o_brick_0000\n")
    assert removed(bale, out, "--from", tmp_path / "keys")["samples"] == 2
    assert len(key_names(bale, out)) == 9
    assert removed(bale, out, "--where", "class = 'none'")["version"] == version_of(bale, out)
    assert [version["change"]["verb"] for version in json.loads(bale.ok("log", "--json", out).out)["versions"][:2]] == ["remove"] * 2


def test_what_was_removed_is_not_added_again(bale, files, out, tmp_path):
    removed(bale, out, *GONE)
    source = tmp_path / "more"
    (source / "amber").mkdir(parents=True)
    image = files / "amber" / "o_amber_0000.JPEG"
    before = tree_bytes(out)
    for name in ("o_amber_0000", "another"):
        for old in source.rglob("*.*"):
            old.unlink()
        shutil.copy(image, source / "amber" / f"{name}.JPEG")
        result = bale("add", out, source)
        assert result.code == USAGE and "was removed" in result.error_line() and name in result.error_line()
        assert "--allow-removed" in result.error_line()
    assert tree_bytes(out) == before
    bale.ok("add", out, source, "--allow-removed")
    assert len(key_names(bale, out)) == 10
    shutil.copy(image, source / "amber" / "o_amber_0000.JPEG")
    (source / "amber" / "another.JPEG").unlink()
    bale.ok("add", out, source, "--allow-removed")  # the key that was hidden
    bale.ok("verify", out)
    assert bale.ok("cat", out, "amber/o_amber_0000").stdout == image.read_bytes()


def test_the_list_removes_the_same_of_a_copy(bale, files, out, tmp_path):
    shutil.copytree(files, tmp_path / "renamed")
    (tmp_path / "renamed" / "amber" / "o_amber_0000.JPEG").rename(tmp_path / "renamed" / "amber" / "z.JPEG")
    copy = packed(bale, tmp_path / "renamed", tmp_path / "copy")
    removed(bale, out, *GONE)
    (tmp_path / "list").write_text(bale.ok("log", "--removed", out).out)
    assert len((tmp_path / "list").read_text().splitlines()) == 3
    assert not any(key in (tmp_path / "list").read_text() for key in GONE)
    report = removed(bale, copy, "--from", tmp_path / "list")
    assert report["samples"] == 3 and set(key_names(bale, copy)) == set(key_names(bale, out))
    report = removed(bale, copy, "--from", tmp_path / "list")
    assert report["samples"] == 0 and report["version"] == report["parent"]
    empty = packed(bale, make_files(tmp_path / "others", "p"), tmp_path / "empty")
    old = version_of(bale, empty)
    removed(bale, empty, "--from", tmp_path / "list")  # nothing is there, and nothing may come
    assert version_of(bale, empty) == old and "was removed" in bale("add", empty, files).error_line()


def test_a_converted_dataset_says_what_was_removed(bale, files, out, tmp_path):
    removed(bale, out, *GONE)
    result = bale.ok("convert", out, tmp_path / "copy")
    assert "3 samples were removed" in result.err and "bale log --removed" in result.err
    listed = bale.ok("log", "--removed", out).out
    (tmp_path / "list").write_text(listed)
    removed(bale, tmp_path / "copy", "--from", tmp_path / "list")
    assert "was removed" in bale("add", tmp_path / "copy", files).error_line()


def test_removing_all_says_where_they_are(bale, out, tmp_path):
    keys, old = key_names(bale, out), version_of(bale, out)
    assert f"bale convert {out}@{old}" in bale.ok("remove", out, "--where", "label >= 0").err
    bale.ok("convert", f"{out}@{old}", tmp_path / "copy")
    assert key_names(bale, tmp_path / "copy") == keys and key_names(bale, out) == []
    bale.ok("add", out, tmp_path / "copy", "--allow-removed")
    assert key_names(bale, out) == keys


def test_damage_is_found(bale, out, tmp_path):
    removed(bale, out, *GONE)
    layer = next((out / "layers").glob("*.blay"))
    whole = layer.read_bytes()
    for at in (0, 60, len(whole) - 1):
        layer.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
        assert bale("ls", out).code == FAILURE and str(layer) in bale("ls", out).error_line()
        assert bale("verify", out).code == 3 and bale("inspect", out).code == FAILURE
        dataset = bl.Dataset(out)  # reads no layer yet
        assert len(dataset) == 9
        with pytest.raises(bl.Error, match="damaged layer"):
            dataset[0]
        for workers in (0, 2):  # not each of its samples
            with pytest.raises(bl.Error, match="damaged layer"):
                bl.Loader(out, workers=workers, on_bad_sample="skip", **OPTIONS)
    layer.unlink()
    assert bale("ls", out).code == FAILURE and bale("verify", out).code == 3
    with pytest.raises(bl.Error, match=layer.name):
        dataset[0]
    layer.write_bytes(whole)
    assert dataset.key(0) == bl.Dataset(out).key(0)
    bale.ok("verify", out)
    text = (out / "manifest.json").read_text()
    assert '"bale_manifest": 2' in text  # which earlier versions of bale refuse


def test_a_removed_image_may_be_damaged(bale, out):
    shard = shards(out)[0]
    content = bytearray(shard.read_bytes())
    at = content.index(b"\xff\xd8\xff")
    content[at + 200] ^= 255
    shard.write_bytes(content)
    assert removed(bale, out, key_names(bale, out)[0])["unreadable"] == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_that_trains_sees_its_version(tar, out, workers):
    with bl.Loader(tar, workers=workers, **OPTIONS) as loader:
        expected = [[batch.images.copy() for batch in loader] for _ in range(2)]
    with bl.Loader(out, workers=workers, **OPTIONS) as loader:
        batches = iter(loader)
        seen = [next(batches).images.copy()]
        bl.remove(out, GONE, message="asked to")
        bl.set_labels(out, {"brick/o_brick_0001": "moss"})
        seen += [batch.images.copy() for batch in batches]
        assert np.array_equal(np.concatenate(seen), np.concatenate(expected[0]))
        assert np.array_equal(np.concatenate([batch.images.copy() for batch in loader]), np.concatenate(expected[1]))
        assert not loader.bad_samples
    assert len(bl.Dataset(out)) == 9


def test_python(out, tmp_path):
    before = bl.Dataset(out).version
    assert bl.remove(out, where="class = 'amber'", dry_run=True)["samples"] == 4 and bl.Dataset(out).version == before
    report = bl.remove(out, GONE)
    assert (report["samples"], report["version"]) == (3, bl.Dataset(out).version)
    assert bl.set_labels(out, {"brick/o_brick_0001": "moss", "brick/o_brick_0002": 0})["samples"] == 2
    dataset = bl.Dataset(out)
    assert dataset.label(dataset.find("brick/o_brick_0001")) == 2
    with pytest.raises(ValueError, match="no sample is named"):
        bl.remove(out)
    with pytest.raises(bl.Error, match="it was removed before"):
        bl.remove(out, GONE[0])
    with pytest.raises(ValueError, match="no class"):
        bl.set_labels(out, {"brick/o_brick_0001": "oak"})


def test_numbers_of_classes_are_not_their_names(bale, tmp_path):
    """Folders 0, 1, 10 and 2 are classes 0, 1, 2 and 3."""
    out = tmp_path / "out"
    with bl.Writer(out, classes=["0", "1", "10", "2"]) as writer:
        writer.add("a", {"txt": "x"}, 0)
    lines = tmp_path / "labels.jsonl"
    for label, number in [(2, 2), ("2", 3), (np.int64(3), 3), ("3", 3), ("10", 2), (1, 1)]:
        bl.set_labels(out, {"a": label})
        assert bl.Dataset(out).label(0) == number, label
        lines.write_text(json.dumps({"key": "a", "label": label if isinstance(label, str) else int(label)}))
        bl.set_labels(out, {"a": 0})
        bale.ok("set", out, f"label={lines}")
        assert bl.Dataset(out).label(0) == number, label
    with pytest.raises(ValueError, match='no class "10"'):
        bl.set_labels(out, {"a": 10})
    for label in (1.0, True, [1]):
        with pytest.raises(TypeError, match="not a class number"):
            bl.set_labels(out, {"a": label})


def test_the_program_takes_keys_as_ls_prints_them(bale, tmp_path):
    with bl.Writer(tmp_path / "out") as writer:
        for key in ("a\\b", "n\ne", "-x/\udcff", "rest"):
            writer.add(key, {"txt": b"x"}, 0)
    printed = bale.ok("ls", tmp_path / "out").out.splitlines()
    bale.ok("remove", tmp_path / "out", "--", *(key for key in printed if key != "rest"))
    assert key_names(bale, tmp_path / "out") == ["rest"]
    refused = bale("cat", tmp_path / "out", "-x/\\xff")
    assert refused.code == USAGE and "write -- before names that begin with -" in refused.error_line()


def test_python_takes_any_key(bale, tmp_path):
    """As Dataset.keys has them, which `bale ls` prints in another way."""
    keys = ["a\\b", "a\\\\b", "a\\x62", "ab", "n\ne", " s ", "\udcff", "q\",;"]
    with bl.Writer(tmp_path / "out") as writer:
        for key in keys:
            writer.add(key, {"txt": key.encode("utf-8", "surrogateescape")}, 0)
    for number, key in enumerate(keys):
        bl.set_labels(tmp_path / "out", {key: 1 + number})
        bl.set_field(tmp_path / "out", "n.txt", {key: number})
        bl.set_field(tmp_path / "out", "n.npy", np.array([number]), keys=[key])
    dataset = bl.Dataset(tmp_path / "out")
    for number, key in enumerate(keys):
        sample = dataset[dataset.find(key)]
        assert dataset.label(dataset.find(key)) == 1 + number and sample["n.txt"] == str(number).encode(), key
        assert np.load(io.BytesIO(sample["n.npy"])) == number
