"""bale rewrite: layers are applied to the shards that they touch, and with --purge no byte of what was removed stays."""
import json
import os
import shutil
import signal
import subprocess
import tarfile

import lmdb
import numpy as np
import pytest
import version_support
import webdataset
from conftest import PROGRAM, by_tier, key_list, shards, shim, tree_bytes
from fault_support import KILLED, count_calls
from remote_support import remote, serve  # noqa: F401 - fixtures
from version_support import MARKER, make_files, make_marked, version_of

FAILURE, USAGE = 1, 2
LAYOUTS = ["tar.plain", "tar.zst", "lmdb.plain", "hdf5.blob", "recordio.image"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("files")
    make_marked(root / "old")
    make_files(root / "new", "new", classes=2, per_class=3)
    return root


def packed(bale, files, out, *options, layout="tar.plain", samples=4):
    bale.pack(files / "old", out, "--format", layout, "--name", "x", "--shard-samples", str(samples), *options)
    return out


def rewrite(bale, out, *options, code=0):
    result = bale("rewrite", out, "--json", *options)
    assert result.code == code, result
    return json.loads(result.out)


def stamps(out):
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in out.iterdir() if path.is_file()}


def versions_of(bale, out):
    return [version["version"] for version in json.loads(bale.ok("log", "--json", out).out)["versions"]]


def relabel(bale, out, tmp_path, key, label):
    (tmp_path / "labels.csv").write_text(f"key,label\n{key},{label}\n")
    bale.ok("set", out, f"label={tmp_path / 'labels.csv'}")


def test_only_touched_shards_are_written(bale, files, tmp_path):
    """The result is that of `bale convert`; other readers see it; the version before is as it was."""
    out = packed(bale, files, tmp_path / "out", "--sidecars", "wids,wds2idx", "--seek-points")
    first, before = version_of(bale, out), stamps(out)
    shutil.copytree(out, tmp_path / "before")
    bale.ok("remove", out, "amber/o_amber_0001", "amber/o_amber_0003")
    relabel(bale, out, tmp_path, "brick/o_brick_0005", "amber")
    hidden = version_of(bale, out)
    bale.ok("convert", out, tmp_path / "converted")
    preview = rewrite(bale, out, "-n")
    assert version_of(bale, out) == hidden and preview["version"] is None
    report = rewrite(bale, out, "-m", "applied")
    assert (report["replaced"], report["shards"], report["samples"], report["parent"]) == (2, 2, 6, hidden)
    assert {**preview, "version": 0, "bytes": 0} == {**report, "version": 0, "bytes": 0}
    after = stamps(out)
    assert {name for name in before if after.get(name) == before[name]} == {
        name for name in before if name.startswith("x-000001")}  # the others are new, or in versions/
    assert sorted(path.name for path in out.glob("x-*.tar")) == ["x-000001.tar", "x-000003.tar", "x-000004.tar"]
    assert sorted(path.name for path in (out / "versions").glob("*.tar")) == ["x-000000.tar", "x-000002.tar"]
    assert key_list(bale, out) == key_list(bale, tmp_path / "converted")  # in the same order
    assert bale("diff", out, tmp_path / "converted").code == 0 and bale.ok("verify", out)
    keys = [name.split(".")[0] for shard in sorted(out.glob("x-*.tar")) for name in tarfile.open(shard).getnames()]
    assert sorted(set(keys)) == [key.decode() for key in sorted(key_list(bale, out))] and len(keys) == 2 * len(set(keys))
    listed = json.loads((out / "shardindex.json").read_text())["shardlist"]
    assert [shard["nsamples"] for shard in listed] == [2, 4, 4]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["bale_manifest"] == 1 and "layers" not in manifest
    assert manifest["fields"] == json.loads((tmp_path / "converted" / "manifest.json").read_text())["fields"]
    for version, samples in ((first, 12), (hidden, 10)):
        bale.ok("verify", f"{out}@{version}")
        assert len(key_list(bale, f"{out}@{version}")) == samples
    assert bale("diff", f"{out}@{first}", tmp_path / "before").code == 0
    assert versions_of(bale, out)[:2] == [report["version"], hidden]
    assert rewrite(bale, out)["version"] == report["version"]  # nothing more to do


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_of_a_purged_sample_stays(bale, files, layout, tmp_path):
    out = packed(bale, files, tmp_path / "out", layout=layout)
    first = version_of(bale, out)
    bale.ok("add", out, files / "new")
    bale.ok("remove", out, "amber/o_amber_0003")
    names = {path.name for path in out.iterdir()}
    planned = bale.ok("rewrite", out, "--purge", "--dry-run").err
    assert f"version {first} would go" in planned and "is gone" not in planned and has_marker(out)
    report = rewrite(bale, out, "--purge")
    assert not has_marker(out)
    assert report["replaced"] == report["shards"] == 1 and first in report["gone"] and len(report["gone"]) == 3
    assert len(key_list(bale, out)) == 17 and bale.ok("verify", out)
    assert b"amber/o_amber_0003" not in key_list(bale, out)
    assert names - {path.name for path in out.iterdir()} == {name for name in names if name.startswith("x-000000")}
    assert not [path for path in (out / "versions").iterdir() if path.suffix != ".json"]
    assert not (out / ".bale-partial").exists()
    result = bale("ls", f"{out}@{first}")
    assert result.code == FAILURE and "removed on purpose" in result.error_line() and report["version"] in result.error_line()
    assert bale("add", out, files / "old").code == USAGE
    assert all("purged" in version["why"] for version in json.loads(bale.ok("log", "--json", out).out)["gone"])


def test_other_programs_see_no_purged_sample(bale, files, tmp_path):
    """webdataset and py-lmdb, by all shards that a glob finds."""
    expected = sorted(path.read_bytes() for path in (files / "old").rglob("*.JPEG") if "amber_0003" not in path.name)
    seen = {"tar.plain": [], "lmdb.plain": []}
    for layout in seen:
        bale.ok("remove", packed(bale, files, tmp_path / layout, layout=layout), "amber/o_amber_0003", "--purge")
    for sample in webdataset.WebDataset([str(path) for path in shards(tmp_path / "tar.plain")], shardshuffle=False):
        seen["tar.plain"].append(sample["jpg"])
    for path in shards(tmp_path / "lmdb.plain"):
        with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
            seen["lmdb.plain"] += [txn.get(b"%08d" % i) for i in range(int(txn.get(b"__len__")))]
    for layout, images in seen.items():
        assert sorted(images) == expected, layout


def has_marker(directory):
    return version_support.has_marker(tree_bytes(directory))


@pytest.mark.parametrize("layout", ["tar.plain", "lmdb.plain"])
def test_a_purge_writes_no_shard_for_what_else_layers_say(bale, files, layout, tmp_path):
    """Fields and labels of other shards stay in layers, without those of the shards that were written."""
    out = packed(bale, files, tmp_path / "out", layout=layout)
    keys = [key.decode() for key in key_list(bale, out)]
    values = {key: f"value of {key}" for key in keys}
    values["amber/o_amber_0003"] = MARKER.decode()
    (tmp_path / "all.csv").write_text("".join(f"{key},{value}\n" for key, value in {"key": "note", **values}.items()))
    (tmp_path / "one.csv").write_text(f"key,split\n{keys[-1]},val\n")
    bale.ok("set", out, f"note.txt={tmp_path / 'all.csv'}")
    bale.ok("set", out, f"split.txt={tmp_path / 'one.csv'}")
    bale.ok("remove", out, keys[0])
    relabel(bale, out, tmp_path, "brick/o_brick_0005", "amber")
    bale.ok("remove", out, "amber/o_amber_0003")
    bale.ok("convert", out, tmp_path / "converted")
    hidden, before, layers = version_of(bale, out), stamps(out), {path.name for path in (out / "layers").iterdir()}
    report = json.loads(bale.ok("remove", out, "amber/o_amber_0003", "--purge", "--json").out)["purged"]
    assert (report["replaced"], report["shards"], report["samples"]) == (1, 1, 2) and hidden in report["gone"]
    assert not has_marker(out) and bale.ok("verify", out)
    after = stamps(out)
    assert {name for name in before if after.get(name) != before[name]} - {"data.json"} == {
        name for name in before if name.startswith("x-000000")} | {"manifest.json"}
    assert bale("diff", out, tmp_path / "converted").code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert [(layer["kind"], layer["num_rows"]) for layer in manifest["layers"]] == [("field note.txt", 8), ("field split.txt", 1), ("label", 1)]
    left = {path.name for path in (out / "layers").glob("*.blay")}
    assert len(left) == 3 and len(left & layers) == 2  # what says nothing of the shard is the same file
    result = bale("ls", f"{out}@{hidden}")
    assert result.code == FAILURE and "removed on purpose" in result.error_line()
    assert rewrite(bale, out)["replaced"] == 2 and bale("diff", out, tmp_path / "converted").code == 0
    assert "layers" not in json.loads((out / "manifest.json").read_text())


def test_a_purge_keeps_no_damaged_value(bale, files, tmp_path):
    """A value that was damaged does not get a right checksum in the new layer: the purge ends, and changes nothing."""
    out = packed(bale, files, tmp_path / "out")
    (tmp_path / "notes.csv").write_text("key,note\n" + "".join(f"{key.decode()},of {key.decode()}\n" for key in key_list(bale, out)))
    bale.ok("set", out, f"note.txt={tmp_path / 'notes.csv'}")
    bale.ok("remove", out, "amber/o_amber_0003")
    [layer] = [path for path in (out / "layers").glob("*.blay") if b"of brick" in path.read_bytes()]
    layer.write_bytes(layer.read_bytes().replace(b"of brick/o_brick_0004", b"of brick/o_brick_0005"))
    before = tree_bytes(out)
    result = bale("remove", out, "amber/o_amber_0003", "--purge")
    assert result.code == FAILURE and layer.name in result.error_line() and tree_bytes(out) == before


def test_what_was_purged_is_not_packed_again_in_its_place(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    bale.ok("remove", out, "amber/o_amber_0003", "--purge")
    before = tree_bytes(out)
    result = bale("pack", files / "old", out, "--name", "x", "--overwrite")
    assert result.code == FAILURE and "were removed" in result.error_line() and "bale log --removed" in result.error_line()
    assert tree_bytes(out) == before
    other = packed(bale, files, tmp_path / "other")
    (tmp_path / "removed").write_text(bale.ok("log", "--removed", out).out)
    bale.ok("remove", other, "--from", tmp_path / "removed")
    assert b"amber/o_amber_0003" not in key_list(bale, other)


def test_what_was_rewritten_before_is_purged_too(bale, files, tmp_path):
    """The bytes lie in versions/ then."""
    out = packed(bale, files, tmp_path / "out")
    first = version_of(bale, out)
    bale.ok("remove", out, "amber/o_amber_0003")
    kept = rewrite(bale, out)["version"]
    relabel(bale, out, tmp_path, "brick/o_brick_0005", "amber")
    assert has_marker(out)
    shutil.copytree(out, tmp_path / "other")
    report = rewrite(bale, out, "--purge")
    assert not has_marker(out) and first in report["gone"] and kept not in report["gone"]
    bale.ok("verify", f"{out}@{kept}")
    relabelled = version_of(bale, tmp_path / "other")
    rewrite(bale, tmp_path / "other")
    assert len(rewrite(bale, tmp_path / "other", "--purge")["gone"]) == 2  # with no shard to write
    assert not has_marker(tmp_path / "other")
    bale.ok("verify", f"{tmp_path / 'other'}@{relabelled}")


def test_names_are_never_used_again(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    keys = key_list(bale, out)
    bale.ok("remove", out, *keys[8:])
    report = rewrite(bale, out)
    assert (report["replaced"], report["shards"]) == (1, 0)
    assert sorted(path.name for path in out.glob("*.tar")) == ["x-000000.tar", "x-000001.tar"]
    bale.ok("add", out, files / "new", "--shard-samples", "6")
    assert sorted(path.name for path in out.glob("*.tar"))[-1] == "x-000003.tar"
    bale.ok("remove", out, "amber/new_amber_0000", "--purge")  # in the last shard
    assert sorted(path.name for path in out.glob("*.tar"))[-1] == "x-000004.tar"
    bale.ok("remove", out, *key_list(bale, out)[8:], "--purge")
    bale.ok("add", out, files / "new", "--shard-samples", "6", "--allow-removed")
    assert sorted(path.name for path in out.glob("*.tar"))[-1] == "x-000005.tar"


def test_a_reader_of_a_purged_last_shard(bale, files, tmp_path):
    """What is added gets another name, so the old version is gone, not changed."""
    import bale as bl
    out = packed(bale, files, tmp_path / "out", samples=1)
    keys = key_list(bale, out)
    dataset = bl.Dataset(out)
    bale.ok("remove", out, keys[-1], "--purge")
    bale.ok("add", out, files / "new", "--shard-samples", "1")
    with pytest.raises(bl.errors.RemovedError, match="removed on purpose"):
        dataset[len(keys) - 1]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_samples_are_removed_and_purged(bale, files, layout, tmp_path):
    """A dataset without samples has a version, reads as nothing and takes new ones; a Loader of it is refused."""
    import bale as bl
    more = ["--sidecars", "wids,wds2idx", "--seek-points"] if layout == "tar.plain" else []
    out = packed(bale, files, tmp_path / "out", *more, layout=layout)
    fields = json.loads((out / "manifest.json").read_text())["fields"]
    first = version_of(bale, out)
    bale.ok("remove", out, *key_list(bale, out), "--purge")
    assert not has_marker(out) and b"brick/" not in b"".join(tree_bytes(out).values())
    assert key_list(bale, out) == [] and bale.ok("verify", out) and bale.ok("diff", out, out)
    assert json.loads(bale.ok("inspect", "--json", out).out)["samples"] == len(bl.Dataset(out)) == 0
    assert "removed on purpose" in bale("ls", f"{out}@{first}").error_line()
    with pytest.raises(ValueError, match="no samples"):
        bl.Loader(out, batch_size=2, workers=0, transform=bl.transforms.val(16, resize=16))
    assert bale("convert", out, tmp_path / "copy").code == USAGE
    bale.ok("add", out, files / "new")
    assert len(key_list(bale, out)) == 6 and bale.ok("verify", out)
    added = json.loads((out / "manifest.json").read_text())
    assert [(field["name"], field["codec"]) for field in added["fields"]] == [(field["name"], field["codec"]) for field in fields]
    assert added["classes"] == ["amber", "brick"] and int(added["shards"][0]["file"][2:8]) == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_while_all_is_written_twice(bale, files, workers, tmp_path):
    """The content stays, under other names: the epoch ends as it would have, and the history is what it was."""
    import bale as bl
    options = {"batch_size": 1, "workers": workers, "transform": bl.transforms.val(16, resize=16), "shuffle": False, "prefetch": 2}
    out = packed(bale, files, tmp_path / "out", samples=1)
    bale.ok("add", out, files / "new")
    rewrite(bale, out, "--all")
    earlier = versions_of(bale, out)
    assert len(earlier) == 2
    with bl.Loader(out, **options) as loader:
        expected = [batch.images.copy() for batch in loader]
    dataset, before = bl.Dataset(out), shutil.copytree(out, tmp_path / "before")
    with bl.Loader(out, **options) as loader:
        batches = iter(loader)
        seen = [next(batches).images.copy()]
        for _ in range(2):
            rewrite(bale, out, "--all")
        seen += [batch.images.copy() for batch in batches]
    assert np.array_equal(seen, expected) and list(dataset) == list(bl.Dataset(before))
    assert versions_of(bale, out) == earlier
    for version in earlier:
        bale.ok("verify", f"{out}@{version}")


@pytest.mark.parametrize("first", ["rewrite", "prune", "add"])
def test_a_failure_after_the_decision_says_what_to_do(bale, files, first, tmp_path):
    (files / "l.csv").write_text("key,label\namber/o_amber_0001,brick\n")
    old = packed(bale, files, tmp_path / "old")
    bale.ok("remove", old, "amber/o_amber_0003")
    calls = count_calls(bale, tmp_path, *NEXT[first](shutil.copytree(old, tmp_path / "count"), files))
    hints = set()
    for n in range(1, calls + 1):
        out = shutil.copytree(old, tmp_path / "out")
        result = bale(*NEXT[first](out, files), env=shim(FAIL_AT=n))
        hints |= {line for line in result.err.splitlines() if "to complete it" in line or "in its place" in line}
        shutil.rmtree(out)
    assert hints and all(("--resume" in line) == (first == "add") and "same command" in line or first == "add" for line in hints)


def test_the_cache_of_this_machine_is_purged_too(bale, files, remote, serve, tmp_path):
    """Whatever the names on servers were. What belongs to other shards stays."""
    out = packed(bale, files, tmp_path / "out")
    bale.ok("remove", out, "brick/o_brick_0005")
    shutil.copytree(out, tmp_path / "site" / "mirror")
    urls = [f"{serve(tmp_path).url}/out", f"{serve(tmp_path / 'site').url}/mirror"]
    remote.ok("read", urls[0])
    kept = {path for path in remote.cache.rglob("*.data") if b"o_amber_0005" in path.read_bytes()}  # of another shard
    remote.ok("verify", urls[1])
    assert has_marker(remote.cache) and kept
    report = json.loads(remote.ok("remove", out, "amber/o_amber_0003", "--purge", "--json").out)["purged"]
    assert report["cache_bytes"] > 0 and not has_marker(remote.cache) and kept <= set(remote.cache.rglob("*.data"))
    remote.ok("cache", "verify")
    shutil.rmtree(remote.cache)
    assert json.loads(remote.ok("rewrite", out, "--purge", "--json").out)["cache_bytes"] == 0 and not remote.cache.exists()


def test_small_shards_are_joined(bale, files, tmp_path):
    out = tmp_path / "out"
    bale.pack(files / "old", out, "--name", "x")
    for n in range(3):
        bale.ok("add", out, make_files(tmp_path / f"week{n}", "w" * (n + 1), classes=1, per_class=1))
    keys, first = key_list(bale, out), version_of(bale, out)
    small = sum((out / f"x-00000{n}.tar").stat().st_size for n in (1, 2, 3))
    report = rewrite(bale, out, "--small", str(small))
    assert (report["replaced"], report["shards"], report["samples"]) == (3, 1, 3)
    assert key_list(bale, out) == keys and len(list(out.glob("*.tar"))) == 2
    bale.ok("verify", f"{out}@{first}")
    report = rewrite(bale, out, "--all", "--small", "1GiB")
    assert (report["replaced"], report["shards"], report["samples"]) == (2, 1, 15) and key_list(bale, out) == keys
    bale.ok("verify", out)


def test_what_cannot_be_rewritten(bale, files, tmp_path):
    for layout, words in (("npy.rgb", "bale convert"), ("tfrecord.example", "bale convert")):
        bale.pack(files / "old", tmp_path / layout, "--format", layout, *(["--size", "16"] if layout == "npy.rgb" else []))
        before = tree_bytes(tmp_path / layout)
        assert words in bale("rewrite", tmp_path / layout, "--all").error_line()
        assert tree_bytes(tmp_path / layout) == before
    assert "no manifest.json" in bale("rewrite", files).error_line()


@pytest.mark.parametrize("command", ["rewrite", "rewrite --purge", "remove --purge"])
def test_killed_at_every_call(bale, files, command, tmp_path):
    """The old version or the new one, whole, with removed samples, labels and a field; the next run completes it."""
    old, purge, removed = packed(bale, files, tmp_path / "old"), "purge" in command, "amber/o_amber_0003"
    bale.ok("add", old, files / "new", "--shard-samples", "3")
    relabel(bale, old, tmp_path, "brick/new_brick_0001", "amber")
    (tmp_path / "notes.csv").write_text(f"key,note\n{removed},{MARKER.decode()}\namber/o_amber_0001,1\nbrick/new_brick_0002,2\n")
    bale.ok("set", old, f"note.txt={tmp_path / 'notes.csv'}")
    bale.ok("remove", old, removed, "amber/o_amber_0000", "brick/o_brick_0003")
    command, *arguments = command.replace("rewrite", "rewrite --jobs 1").replace("remove", f"remove {removed}").split()
    whole = shutil.copytree(old, tmp_path / "whole")
    calls = count_calls(bale, tmp_path, command, whole, *arguments)
    expected, earlier = tree_bytes(whole), versions_of(bale, old)
    hidden, new = version_of(bale, old), version_of(bale, whole)
    seen = set()
    for n in sorted({*range(1, calls + 1, by_tier(9, 1)), *range(calls - 20, calls + 1, by_tier(2, 1))}):
        out = shutil.copytree(old, tmp_path / f"kill-{n}")
        assert bale(command, out, *arguments, env=shim(KILL_AT=n)).code == KILLED
        now = version_of(bale, out)
        assert now in (hidden, new)
        seen.add(now)
        for version in earlier:
            result = bale("ls", f"{out}@{version}")
            assert result.code == 0 or (purge and "removed on purpose" in result.err), (n, result)
            if result.code == 0 and not (purge and now == new):  # else its shards are about to go
                bale.ok("verify", f"{out}@{version}")
        assert len(key_list(bale, out)) == 15
        bale.ok(command, out, *arguments)
        assert tree_bytes(out) == expected and not (purge and has_marker(out)), n
        bale.ok("verify", out)
        shutil.rmtree(out)
    assert seen == {hidden, new}


NEXT = {"add": lambda out, files: ["add", out, files / "new"], "set": lambda out, files: ["set", out, f"label={files / 'l.csv'}"],
        "remove": lambda out, files: ["remove", out, "brick/o_brick_0000"], "rewrite": lambda out, files: ["rewrite", out],
        "purge": lambda out, files: ["rewrite", out, "--purge"], "resume": lambda out, files: ["add", out, files / "new", "--resume"],
        "prune": lambda out, files: ["log", out, "--keep", "1", "--prune", "--force"]}


@pytest.mark.parametrize("first", ["purge", "prune", "rewrite"])
def test_another_command_after_one_that_was_killed(bale, files, first, tmp_path):
    """It works at once, but for a rewriting that has not published, which is named: run that again. No byte stays."""
    (files / "l.csv").write_text("key,label\namber/o_amber_0001,brick\n")
    old = packed(bale, files, tmp_path / "old")
    bale.ok("remove", old, "amber/o_amber_0003")
    if first != "rewrite":
        bale.ok("rewrite", old)
    calls = count_calls(bale, tmp_path, *NEXT[first](shutil.copytree(old, tmp_path / "count"), files))
    for n in range(by_tier(8, 1), calls + 1, by_tier(20, 1)):
        killed = shutil.copytree(old, tmp_path / "killed")
        assert bale(*NEXT[first](killed, files), env=shim(KILL_AT=n)).code == KILLED
        for name, command in NEXT.items():
            out = shutil.copytree(killed, tmp_path / "out")
            result = bale(*command(out, files))
            if result.code not in (0, 5):
                assert first == "rewrite" and "holds an unfinished `bale rewrite`; run that again" in result.err, (n, name, result)
            if result.code != 0:
                bale.ok(*NEXT[first](out, files))
                bale.ok(*command(out, files))
            bale.ok("verify", out)
            bale.ok("rewrite", out, "--purge")
            assert not has_marker(out), (n, name)
            shutil.rmtree(out)
        shutil.rmtree(killed)


def test_the_same_content_in_other_shards(bale, files, tmp_path):
    """One version, whose shards have several names. All of them are known when a sample is purged."""
    out = packed(bale, files, tmp_path / "out")
    first = version_of(bale, out)
    for _ in range(2):
        assert rewrite(bale, out, "--all")["version"] == first
    for label in ("amber", "brick"):
        relabel(bale, out, tmp_path, "brick/o_brick_0005", label)
        report = rewrite(bale, out)
    assert report["version"] == first
    for spec in (out, f"{out}@{first}"):
        bale.ok("verify", spec)
    rewrite(bale, out, "--all")
    bale.ok("remove", out, "amber/o_amber_0003", "--purge")
    assert not has_marker(out) and bale.ok("verify", out)
    assert not [path for path in (out / "versions").iterdir() if path.name[:8] == "x-000000"]


def test_a_removal_while_it_begins(bale, files, tmp_path):
    """What a list adds to the removals of the version is kept."""
    out, other = packed(bale, files, tmp_path / "out"), tmp_path / "other"
    bale.ok("remove", out, "amber/o_amber_0003")
    bale.pack(files / "new", other)
    bale.ok("remove", other, key_list(bale, other)[0].decode())
    (tmp_path / "list").write_text(bale.ok("log", "--removed", other).out)
    run = subprocess.Popen([PROGRAM, "rewrite", out, "-q"], env={**os.environ, **shim(STOP_AT=1)})
    os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    bale.ok("remove", out, "--from", tmp_path / "list")
    run.send_signal(signal.SIGCONT)
    assert run.wait(60) == 0
    assert len(bale.ok("log", "--removed", out).out.splitlines()) == 2


def test_files_of_others_stay(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    bale.ok("remove", out, "amber/o_amber_0003")
    (out / "versions" / "x-000000.tar").write_text("mine")
    (out / "layers" / "notes").write_text("mine")
    before = tree_bytes(out)
    assert "in the way" in bale("rewrite", out).error_line() and tree_bytes(out) == before
    (out / "versions" / "x-000000.tar").rename(out / "versions" / "mine")
    bale.ok("rewrite", out, "--purge")
    assert (out / "versions" / "mine").read_text() == (out / "layers" / "notes").read_text() == "mine"


def test_a_purge_that_ended_between_its_steps(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out")
    bale.ok("remove", out, "amber/o_amber_0003")
    bale.ok("remove", out, "amber/o_amber_0003", "--purge")
    assert not has_marker(out)
    assert bale("remove", out, "amber/o_amber_0003").code == FAILURE
    assert bale("remove", out, "amber/o_amber_0003", "no/such", "--purge").code == FAILURE


@pytest.mark.parametrize("purge", [[], ["--purge"]], ids=["kept", "purged"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_that_runs(bale, files, purge, workers, tmp_path):
    """Its epoch ends as it would have; where bytes are gone the error says why. No other pixels, and no masked rows."""
    import bale as bl
    options = {"batch_size": 1, "workers": workers, "transform": bl.transforms.val(16, resize=16), "shuffle": False,
               "on_bad_sample": "skip", "prefetch": 2}
    out = packed(bale, files, tmp_path / "out", samples=1)
    with bl.Loader(out, **options) as loader:
        expected = [batch.images.copy() for batch in loader]
    with bl.Loader(out, **options) as loader:
        state = loader.state_dict()
        batches = iter(loader)
        seen = [next(batches).images.copy()]
        bale.ok("remove", out, "amber/o_amber_0003", "brick/o_brick_0005")
        rewrite(bale, out, *purge)
        try:
            for batch in batches:
                assert batch.mask.all()
                seen.append(batch.images.copy())
            assert len(seen) == len(expected)
        except bl.errors.RemovedError as error:
            assert purge and "removed on purpose" in str(error) and state["dataset"] in str(error)
        assert np.array_equal(seen, expected[:len(seen)]) and not loader.bad_samples
    assert len(bl.Dataset(out)) == 10
