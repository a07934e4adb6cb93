"""bale rewrite: layers are applied to the shards that they touch, and with --purge no byte of what was removed stays."""
import json
import os
import shutil
import tarfile

import lmdb
import pytest
import webdataset
from conftest import key_list, shards, tree_bytes
from remote_support import remote, serve  # noqa: F401 - fixtures
from rewrite_support import files, has_marker, packed, relabel, rewrite, versions_of  # noqa: F401 - a fixture
from version_support import MARKER, make_files, version_of

FAILURE, USAGE = 1, 2
LAYOUTS = ["tar.plain", "tar.zst", "lmdb.plain", "hdf5.blob", "recordio.image"]


def stamps(out):
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in out.iterdir() if path.is_file()}


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


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_purge_says_if_shards_were_linked(bale, files, link, tmp_path):
    """Their bytes stay where else they have names."""
    elsewhere, out = packed(bale, files, tmp_path / "elsewhere"), tmp_path / "out"
    out.mkdir()
    for file in elsewhere.iterdir():
        link(file, out / file.name)
    removed = "remove", out, "amber/o_amber_0003", "--purge"
    assert "2 of them linked with files elsewhere" in bale.ok(*removed).err
    assert not has_marker(out) and has_marker(elsewhere) and bale.ok("verify", elsewhere)
    assert "linked" not in bale.ok("remove", elsewhere, *removed[2:]).err and not has_marker(elsewhere)


def test_shards_that_are_relative_links_are_moved(bale, files, tmp_path):
    """As in the snapshots of a Hub's cache: what they lead to is the same from versions/."""
    elsewhere, out = packed(bale, files, tmp_path / "elsewhere", "--seek-points"), tmp_path / "out"
    out.mkdir()
    for file in elsewhere.iterdir():
        (out / file.name).symlink_to(f"../elsewhere/{file.name}")
    before = tree_bytes(out)
    rewrite(bale, out, "--all")
    assert "12 samples" in bale.ok("verify", f"{out}@{versions_of(bale, out)[-1]}").out
    assert tree_bytes(elsewhere) == before


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
    for layout, words in (("npy.rgb", "shards of pixels"), ("tfrecord.example", "are not written again")):
        bale.pack(files / "old", tmp_path / layout, "--format", layout, *(["--size", "16"] if layout == "npy.rgb" else []))
        before = tree_bytes(tmp_path / layout)
        key = key_list(bale, tmp_path / layout)[0]
        for command in (["rewrite", tmp_path / layout, "--all"], ["remove", tmp_path / layout, key, "--purge"]):
            for more in ([], ["--dry-run"]):
                assert words in bale(*command, *more).error_line()
        assert tree_bytes(tmp_path / layout) == before
    assert "no manifest.json" in bale("rewrite", files).error_line()


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


