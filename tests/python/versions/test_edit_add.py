"""bale.edit() that also adds samples: shards and all other changes are one version, or nothing has happened."""
import json
import shutil
import subprocess
import sys

import pytest
from conftest import by_tier, shim, tree_bytes
from fault_support import KILLED
from python_support import ENVIRONMENT
from version_support import make_files, version_of

import bale as bl

GONE, FIRST, SECOND = "amber/o_amber_0000", "amber/o_amber_0001", "brick/o_brick_0001"
SIZE = {"shard_samples": 2, "jobs": 1}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("files")
    make_files(root / "old", "o", classes=2, per_class=4)
    make_files(root / "new", "new", classes=3, per_class=2)
    return root


@pytest.fixture(scope="module")
def old(bale, files, tmp_path_factory):
    out = tmp_path_factory.mktemp("old") / "out"
    bale.pack(files / "old", out, "--name", "x", "--shard-samples", "3")
    return out


@pytest.fixture
def out(old, tmp_path):
    return shutil.copytree(old, tmp_path / "out")


def content(spec):
    """Labels and all bytes, by key in the order of the dataset."""
    dataset = bl.Dataset(spec)
    return dict(zip(dataset.keys, zip(dataset.labels.tolist(), [dataset[n] for n in range(len(dataset))])))


def test_it_is_one_version_with_all_other_changes(bale, files, out, tmp_path):
    parent, before = version_of(bale, out), tree_bytes(out)
    steps = shutil.copytree(out, tmp_path / "steps")
    with bl.edit(out, message="week 48") as e:
        e.remove(GONE)
        added = e.add(files / "new", **SIZE)
        assert (added["samples"], added["shards"], added["left"], added["new_classes"], added["version"]) == (6, 3, 13, ["moss"], None)
        e.set_labels({FIRST: "moss"})  # which the new samples bring
        e.set_field("score.txt", {FIRST: 1, SECOND: 2})
        e.remove("brick/o_brick_0003")
        assert tree_bytes(out) == before
    report = e.report
    assert (report["parent"], report["version"], report["verb"]) == (parent, version_of(bale, out), "remove, add, set label, set score.txt")
    bl.remove(steps, GONE)
    bl.add(steps, files / "new", **SIZE)
    bl.set_labels(steps, {FIRST: "moss"})
    bl.set_field(steps, "score.txt", {FIRST: 1, SECOND: 2})
    bl.remove(steps, "brick/o_brick_0003")
    assert content(out) == content(steps) and content(out)[FIRST][0] == 2
    assert (report["added"], report["samples"], report["left"], report["skipped"]) == (6, 11, 12, [])
    listed = bl.versions(out)
    assert [version["version"] for version in listed] == [report["version"], parent]
    assert listed[0]["change"] == {"verb": report["verb"], "samples": report["samples"], "message": "week 48"}
    assert bale.ok("log", "--removed", out).out == bale.ok("log", "--removed", steps).out
    found = tree_bytes(out)
    assert all(found[name] == data for name, data in tree_bytes(steps).items() if name.endswith((".tar", ".bidx")))
    assert not (out / ".bale-partial").exists() and f"versions/{parent}.json" in found
    for spec in (out, f"{out}@{parent}"):
        bale.ok("verify", spec)
    bale.ok("rewrite", out, "--purge")
    assert content(out) == content(steps)
    bl.add(out, make_files(tmp_path / "third", "third"))
    bale.ok("verify", out)


def test_alone_it_is_that_of_the_command(bale, files, out, tmp_path):
    theirs = shutil.copytree(out, tmp_path / "theirs")
    bale.ok("add", theirs, files / "new", "--shard-samples", "2", "-m", "m")
    with bl.edit(out, message="m") as e:
        e.add(files / "new", shard_samples=2)
    assert tree_bytes(out) == tree_bytes(theirs) and e.report["verb"] == "add"
    before = tree_bytes(out)
    with bl.edit(out) as e:
        assert e.add(files / "new", skip_existing=True)["existing"] == 6
    assert e.report["version"] == e.report["parent"] and tree_bytes(out) == before


def test_what_the_changes_see_of_each_other(bale, files, out, tmp_path):
    new = "moss/new_moss_0000"
    (tmp_path / "removals").write_text(bale.ok("log", "--removed", shutil.copytree(out, tmp_path / "other")).out)
    bl.remove(tmp_path / "other", SECOND)
    (tmp_path / "removals").write_text(bale.ok("log", "--removed", tmp_path / "other").out)
    with bl.edit(out) as e:
        e.remove(GONE)
        with pytest.raises(ValueError, match="was removed from the dataset"):
            e.add(files / "old")
        with pytest.raises(ValueError, match="has this key"):
            e.add(files / "old", allow_removed=True)
        for option in ({"message": "m"}, {"dry_run": True}):
            with pytest.raises(ValueError, match="of one change"):
                e.add(files / "new", **option)
        e.add(files / "new", exclude="amber/*")
        for wrong in (lambda: e.remove(new), lambda: e.set_labels({new: 0}), lambda: e.set_field("score.txt", {new: 1})):
            with pytest.raises(bl.Error, match="the same edit adds"):
                wrong()
        with pytest.raises(ValueError, match="adds samples already"):
            e.add(files / "new", include="amber/*")
        with pytest.raises(ValueError, match="list of removals"):
            e.remove(from_file=tmp_path / "removals")
        e.set_labels({FIRST: "brick"})
    assert e.report["left"] == 7 + 4 and content(out)[FIRST][0] == 1
    with bl.edit(out) as e:
        e.remove(SECOND)
        e.set_labels({FIRST: "moss"})
        with pytest.raises(ValueError, match="skip_existing"):
            e.add(files / "new", skip_existing=True)
        assert e.add(files / "old", include=SECOND + ".*", allow_removed=True)["samples"] == 1  # it comes back
    assert content(out)[SECOND][1]["jpg"] == (files / "old" / f"{SECOND}.JPEG").read_bytes()
    bale.ok("verify", out)


def test_samples_that_are_left_out_are_named(bale, files, out, tmp_path):
    shutil.copytree(files / "new", tmp_path / "new")
    next((tmp_path / "new").rglob("*0001.JPEG")).write_bytes(b"no image")
    with pytest.warns(UserWarning, match="1 sample skipped"), bl.edit(out) as e:
        e.remove(GONE)
        e.add(tmp_path / "new", on_error="skip")
    assert (e.report["added"], len(e.report["skipped"]), e.report["left"]) == (5, 1, 12)
    assert len((out / "skipped.jsonl").read_text().splitlines()) == 1


def test_failures_leave_nothing(bale, files, out, tmp_path):
    before = tree_bytes(out)
    with pytest.raises(KeyError), bl.edit(out) as e:
        e.add(files / "new")
        raise KeyError
    (tmp_path / "masks" / "amber").mkdir(parents=True)
    mask = tmp_path / "masks" / f"{FIRST}.png"
    mask.write_bytes((files / "old" / f"{FIRST}.JPEG").read_bytes())
    with pytest.raises(bl.Error, match="o_amber_0001.png"), bl.edit(out) as e:
        e.set_field("mask.png", tmp_path / "masks")
        e.add(files / "new")
        mask.unlink()
    assert tree_bytes(out) == before and not (out / ".bale-partial").exists()
    with pytest.raises(bl.Error) as refused, bl.edit(out) as e:
        e.set_labels({FIRST: "brick"})
        e.add(files / "new")
        bl.remove(out, GONE)
        before = tree_bytes(out)
    assert refused.value.code == "retryable" and tree_bytes(out) == before and not (out / ".bale-partial").exists()


SCRIPT = """import bale, sys
out, new, label, options = sys.argv[1:]
with bale.edit(out, message="m") as e:
    e.remove(["amber/o_amber_0000"])
    e.set_labels({"brick/o_brick_0001": label})
    e.add(new, shard_samples=2, jobs=1, **eval(options))
    e.set_field("score.txt", {"brick/o_brick_0002": 7})
"""


def run(out, new, env=None, label="amber", **options):
    return subprocess.run([sys.executable, "-c", SCRIPT, out, new, label, repr(options)], env={**ENVIRONMENT, **(env or {})},
                          capture_output=True, text=True)


def is_decided(out):
    journal = out / ".bale-partial" / "journal.jsonl"
    return journal.exists() and any('"replacement"' in line and line.endswith("\n") for line in journal.read_text().splitlines(keepends=True))


def test_killed_at_every_call(bale, files, old, tmp_path):
    """The old version or the new one, whole; what was finished is continued or dropped."""
    new = files / "new"
    whole, counter = shutil.copytree(old, tmp_path / "whole"), tmp_path / "counter"
    counter.write_bytes(bytes(8))
    assert run(whole, new, shim(COUNT=counter, BELOW=whole)).returncode == 0
    calls = int.from_bytes(counter.read_bytes(), "little")
    before, after = tree_bytes(old), tree_bytes(whole)
    seen, was_decided = set(), False
    for n in sorted({1, calls // 2, *range(calls - 12, calls + 1, by_tier(6, 1)), *range(1, calls + 1, by_tier(calls, 1))}):
        out = shutil.copytree(old, tmp_path / f"kill-{n}")
        assert run(out, new, shim(KILL_AT=n, BELOW=out)).returncode == KILLED, n
        found = tree_bytes(out)
        is_old = found["manifest.json"] == before["manifest.json"]
        seen.add(is_old)
        assert all(found[name] == data for name, data in (before if is_old else after).items()), n
        bale.ok("verify", out)
        if is_old and is_decided(out) and not was_decided:
            was_decided = True
            other = run(shutil.copytree(out, tmp_path / "other"), new, label="brick", resume=True)
            assert "published version" in other.stderr and version_of(bale, tmp_path / "other") == version_of(bale, whole)
        if is_old:
            again = "restart" if n == calls // 2 else "resume"
            result = run(out, new, **{again: True})
            assert result.returncode == 0 and tree_bytes(out) == after, (n, result)
        shutil.rmtree(out)
    assert seen == {True, False} and was_decided


def test_an_unfinished_edit_is_named(bale, files, old, tmp_path):
    new = files / "new"
    whole, counter = shutil.copytree(old, tmp_path / "whole"), tmp_path / "counter"
    counter.write_bytes(bytes(8))
    run(whole, new, shim(COUNT=counter, BELOW=whole), label="brick")
    out = shutil.copytree(old, tmp_path / "out")
    assert run(out, new, shim(KILL_AT=int.from_bytes(counter.read_bytes(), "little") // 2, BELOW=out)).returncode == KILLED
    journal = (out / ".bale-partial" / "journal.jsonl").read_text().splitlines()
    assert len(journal) > 1 and json.loads(journal[0])
    for refused in (lambda: run(out, new).stderr, lambda: bale("remove", out, GONE).err, lambda: bale("add", out, new).err):
        assert "unfinished edit" in refused()
    line = bale("add", out, new, "--shard-samples", "2", "--resume").error_line()
    assert "part of an edit from yes to none" in line
    result = run(out, new, label="brick", resume=True)  # the other changes are those of the new run
    assert result.returncode == 0 and tree_bytes(out) == tree_bytes(whole), result
