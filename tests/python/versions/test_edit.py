"""bale.edit(): several changes are one version, or nothing has happened."""
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from conftest import by_tier, key_names, shim, tree_bytes
from fault_support import KILLED
from python_support import ENVIRONMENT
from version_support import make_files, version_of

import bale as bl

GONE = ["amber/o_amber_0000", "brick/o_brick_0003"]
FIRST, SECOND = "amber/o_amber_0001", "brick/o_brick_0001"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("files") / "old", "o", classes=2, per_class=4)


@pytest.fixture(scope="module")
def old(bale, files, tmp_path_factory):
    out = tmp_path_factory.mktemp("old") / "out"
    bale.pack(files, out, "--name", "x", "--shard-samples", "3")
    return out


@pytest.fixture
def out(old, tmp_path):
    return shutil.copytree(old, tmp_path / "out")


def content(spec):
    """Labels and fields without the image, by key."""
    dataset = bl.Dataset(spec)
    samples = [{name: value for name, value in dataset[n].items() if name in ("cls", "score.txt", "clip.npy")} for n in range(len(dataset))]
    return dict(zip(dataset.keys, zip(dataset.labels.tolist(), samples)))


def stamps(out):
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in out.rglob("*")}


def test_several_changes_are_one_version(bale, out, tmp_path):
    """The same content as of one after the other, and nothing is there before the end."""
    parent, before = version_of(bale, out), stamps(out)
    steps = shutil.copytree(out, tmp_path / "steps")
    with bl.edit(out, message="week 48") as e:
        assert e.remove(GONE[:1])["samples"] == 1
        assert e.set_labels({SECOND: "amber", GONE[1]: "amber"})["samples"] == 2
        assert e.set_field("score.txt", {FIRST: 0.5, GONE[1]: 1, SECOND: 2})["samples"] == 3
        assert e.set_field("clip.npy", np.arange(4, dtype=np.float32).reshape(2, 2), keys=[FIRST, SECOND])["field"] == "clip.npy"
        assert e.remove(GONE[1])["version"] is None
        assert e.set_field("score.txt", {FIRST: 0.75})["left"] == 6
        assert e.set_field("clip.npy", {SECOND: np.zeros(3, np.uint8)})["samples"] == 1  # of another form: a layer of its own
        assert stamps(out) == before
    report = e.report
    assert (report["parent"], report["version"], report["samples"], report["left"]) == (parent, version_of(bale, out), 10, 6)
    listed = bl.versions(out)
    assert [version["version"] for version in listed] == [report["version"], parent]
    assert listed[0]["change"] == {"verb": report["verb"], "samples": 10, "message": "week 48"}
    assert "remove, set label, set score.txt, set clip.npy 10 samples: week 48" in bale.ok("log", out).out
    assert len(list((out / "layers").glob("*.blay"))) == 5 and not (out / ".bale-partial").exists()
    bl.remove(steps, GONE)
    bl.set_labels(steps, {SECOND: "amber"})
    bl.set_field(steps, "score.txt", {FIRST: 0.75, SECOND: 2})
    bl.set_field(steps, "clip.npy", {FIRST: np.array([0, 1], np.float32)})
    bl.set_field(steps, "clip.npy", {SECOND: np.zeros(3, np.uint8)})
    assert content(out) == content(steps) and content(out)[FIRST][1]["score.txt"] == b"0.75"
    assert bale.ok("log", "--removed", out).out == bale.ok("log", "--removed", steps).out
    for spec in (out, f"{out}@{parent}"):
        bale.ok("verify", spec)
    bale.ok("rewrite", out, "--purge")
    assert content(out) == content(steps)


def test_one_change_is_that_of_the_command(bale, out, tmp_path):
    (tmp_path / "labels.csv").write_text(f"key,label\n{SECOND},amber\n")
    (tmp_path / "score.csv").write_text(f"key,score\n{SECOND},1\n")
    for name, change, command in (("a", lambda e: e.remove(GONE), ["remove", *GONE]),
                                  ("b", lambda e: e.set_labels(tmp_path / "labels.csv"), ["set", f"label={tmp_path / 'labels.csv'}"]),
                                  ("c", lambda e: e.set_field("score.txt", tmp_path / "score.csv"), ["set", f"score.txt={tmp_path / 'score.csv'}"])):
        ours, theirs = shutil.copytree(out, tmp_path / f"{name}1"), shutil.copytree(out, tmp_path / f"{name}2")
        with bl.edit(ours) as e:
            change(e)
        bale.ok(command[0], theirs, *command[1:])
        assert tree_bytes(ours) == tree_bytes(theirs)


def test_an_exception_leaves_everything(bale, out):
    before = stamps(out)
    with pytest.raises(KeyError, match="mine"), bl.edit(out) as e:
        e.remove(GONE)
        e.set_field("score.txt", {FIRST: 1})
        raise KeyError("mine")
    assert e.report is None
    with pytest.raises(ValueError, match="with block"):
        bl.edit(out).remove(FIRST)
    with pytest.raises(ValueError, match="has ended"):
        e.remove(GONE)
    with bl.edit(out) as e:
        e.set_labels({FIRST: "amber"})  # has it already
    assert e.report["version"] == e.report["parent"] == version_of(bale, out) and stamps(out) == before


def test_changes_see_those_before(bale, out):
    """A change that is refused leaves the edit as it was."""
    with bl.edit(out) as e:
        e.remove(GONE)
        for wrong, words in ((lambda: e.remove(GONE[0]), "it was removed before"), (lambda: e.remove([FIRST, "nobody"]), "does not have this key"),
                             (lambda: e.set_labels({FIRST: "brick", GONE[1]: 0}), "does not have this key"),
                             (lambda: e.set_labels({FIRST: "oak"}), "no class"), (lambda: e.set_labels({FIRST: 1}, missing="error"), "this sample"),
                             (lambda: e.set_field("score.txt", {FIRST: 1, GONE[1]: 1}), "does not have this key"),
                             (lambda: e.remove(), "no sample is named")):
            with pytest.raises(bl.Error, match=words):
                wrong()
        kept = [key for key in key_names(bale, out) if key not in GONE]
        e.set_field("score.txt", dict.fromkeys(kept, 1), missing="error")  # of what is left
        e.set_labels({FIRST: "brick", SECOND: "amber"})
        assert e.set_labels({FIRST: "amber"})["samples"] == 1
        with pytest.raises(ValueError, match="condition"):
            e.remove(where="class = 'brick'")
    assert e.report["left"] == 6 and content(out)[FIRST][0] == content(out)[SECOND][0] == 0
    with bl.edit(out) as e:
        e.remove(FIRST)
        e.remove(where="class = 'amber'")
    assert e.report["left"] == len(bl.Dataset(out)) and FIRST not in content(out) and SECOND not in content(out)
    bale.ok("verify", out)
    with pytest.raises(bl.Error, match="manifest.json"):
        bl.edit(out.parent)


def test_two_editors(bale, out):
    """One is published; the other says that it has to be made again."""
    for change in (lambda e: e.remove(SECOND), lambda e: e.set_field("score.txt", {FIRST: 1})):
        with pytest.raises(bl.Error) as refused, bl.edit(out) as e:
            change(e)
            with bl.edit(out) as first:
                first.remove(key_names(bale, out)[-1])
            published = stamps(out)
        assert refused.value.code == "retryable" and "again" in str(refused.value) and e.report is None
        assert stamps(out) == published and version_of(bale, out) == first.report["version"]
        with bl.edit(out) as e:
            change(e)
        assert e.report["parent"] == first.report["version"]
    bale.ok("verify", out)


def test_values_that_cannot_be_read_at_the_end(bale, out, tmp_path):
    before = stamps(out)
    folder = tmp_path / "masks"
    (folder / "amber").mkdir(parents=True)
    (folder / f"{FIRST}.png").write_bytes(b"mask")
    with pytest.raises(bl.Error, match="o_amber_0001.png") as failed, bl.edit(out) as e:
        e.remove(GONE)
        e.set_field("mask.png", folder)
        (folder / f"{FIRST}.png").unlink()
    assert failed.value.code == "not_found" and version_of(bale, out) == bl.versions(out)[-1]["version"]
    assert {path: stamp for path, stamp in stamps(out).items() if os.path.isfile(path)} == {
        path: stamp for path, stamp in before.items() if os.path.isfile(path)}
    assert not (out / ".bale-partial").exists()


SCRIPT = """import bale, sys
with bale.edit(sys.argv[1], message="m") as e:
    e.remove(["amber/o_amber_0000"])
    e.set_labels({"brick/o_brick_0001": 0})
    e.set_field("score.txt", {"brick/o_brick_0002": 7})
"""


def run(out, env):
    return subprocess.run([sys.executable, "-c", SCRIPT, out], env={**ENVIRONMENT, **env}, capture_output=True, text=True).returncode


def test_killed_at_every_call(bale, old, tmp_path):
    """The old version or the new one, whole."""
    whole, counter = shutil.copytree(old, tmp_path / "whole"), tmp_path / "counter"
    counter.write_bytes(bytes(8))
    assert run(whole, shim(COUNT=counter, BELOW=whole)) == 0
    calls = int.from_bytes(counter.read_bytes(), "little")
    before, after = tree_bytes(old), tree_bytes(whole)
    seen = set()
    assert calls > 8
    for n in sorted({1, calls, *range(1, calls + 1, by_tier(6, 1))}):
        out = shutil.copytree(old, tmp_path / f"kill-{n}")
        assert run(out, shim(KILL_AT=n, BELOW=out)) == KILLED, n
        found = tree_bytes(out)
        is_old = found["manifest.json"] == before["manifest.json"]
        seen.add(is_old)
        assert all(found[name] == content for name, content in (before if is_old else after).items()), n
        bale.ok("verify", out)
        if is_old:
            assert run(out, {}) == 0 and tree_bytes(out) == after, n
    assert seen == {True, False}


def test_interrupted_by_the_user(out):
    """Ctrl-C in the block: nothing has happened."""
    before = stamps(out)
    script = SCRIPT + "    print('there', flush=True); import time; time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", script, out], env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    assert process.stdout.readline() == b"there\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0 and stamps(out) == before
