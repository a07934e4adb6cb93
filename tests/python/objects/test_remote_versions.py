"""Versions of datasets in S3 go as on a disk."""
import json
import shutil
import time

import pytest
from conftest import by_tier, key_names, tree_bytes
from remote_support import moto, remote, start  # noqa: F401
from writing_support import moto_place, place, rclone_place, rclone_store, store, words  # noqa: F401

FAILURE = 1
PRUNE = ["log", "--keep", "1", "--prune", "--force"]
STRAY = "layers/00000000000000000000000000000000.blay"  # of a run that did not publish


@pytest.fixture(scope="module")
def old(bale, tiny, tmp_path_factory):
    """Three versions, whose shards are not the same."""
    out = tmp_path_factory.mktemp("old") / "packed"
    bale.pack(tiny, out, "--name", "x", "--shard-samples", "2")
    keys = key_names(bale, out)
    bale.ok("remove", out, keys[0], keys[3])
    bale.ok("rewrite", out)
    return out


def done(bale, old, command, tmp_path):
    """The files of `old` after a command on a disk."""
    local = shutil.copytree(old, tmp_path / "done")
    bale.ok(*words(command, local))
    return tree_bytes(local)


def killed(place, command, n):
    """Before its n-th request that changes something."""
    running = []
    place.proxy.add("[PD]*", skip=n, cut=True, before=lambda _: running[0].kill())
    running.append(start(place.run, *words(command, place.name)))
    running[0].communicate(timeout=60)
    place.proxy.heal()


def test_prune(bale, place, old, tmp_path):
    store(place, old)
    place.put(STRAY, b"x")
    before, after = place.objects(), done(bale, old, PRUNE, tmp_path)
    pruning = words(PRUNE, place.name)
    assert "less than 14 days" in place.run(*pruning[:-1]).error_line()
    said = place.ok(*pruning, "--dry-run", "--json").out
    assert place.objects() == before
    assert place.ok(*pruning, "--json").out == said and json.loads(said)["files"] == len(before) - len(after) + 2
    assert place.objects() == after
    place.ok("verify", place.name)
    assert [line.split()[-1] for line in place.ok("log", place.name).out.splitlines()[-2:]] == ["pruned", "pruned"]
    assert json.loads(place.ok(*pruning, "--json").out)["files"] == 0


def test_what_is_recent_stays(rclone_place, old):
    """Versions that were replaced 20 days ago go without --force, and layers of that age that no version names."""
    store(rclone_place, old)
    for name in rclone_place.names():
        if name.startswith("versions/"):
            rclone_place.put(name, rclone_place.get(name), Metadata={"mtime": str(time.time() - 20 * 86400)})
    rclone_place.put(STRAY, b"x")
    other = STRAY.replace("0", "1")
    rclone_place.put(other, b"x", Metadata={"mtime": str(time.time() - 20 * 86400)})
    rclone_place.ok(*words(PRUNE, rclone_place.name)[:-1])
    assert STRAY in rclone_place.names() and other not in rclone_place.names()
    assert not [name for name in rclone_place.names() if name.startswith("versions/") and name.endswith(".tar")]


@pytest.mark.parametrize("n", by_tier([1, 4], range(9)))
def test_a_prune_that_is_killed(bale, moto_place, old, n, tmp_path):
    """The current version is whole, and the same again, or any other change, ends it."""
    store(moto_place, old)
    after = done(bale, old, PRUNE, tmp_path)
    first = len(moto_place.proxy.log)
    killed(moto_place, PRUNE, n)
    changing = [asked for asked in moto_place.proxy.log[first:] if asked.method != "GET"]
    assert len(changing) == n + 1, changing
    assert {name: after[name] for name in after if not name.startswith("versions/")}.items() <= moto_place.objects().items()
    if n % 2 == 1:
        moto_place.ok(*words(PRUNE, moto_place.name))
        assert moto_place.objects() == after
    else:
        last = key_names(moto_place.run, moto_place.name)[-1]
        moto_place.ok("remove", moto_place.name, last)
        gone = {name for name in tree_bytes(old) if name not in after} if n else set()
        assert not gone & set(moto_place.names())


def test_a_layer_that_is_removed_before_it_is_named(moto_place, old):
    """By a run that looked before: it is stored again."""
    store(moto_place, old)
    before = set(moto_place.names())
    last = key_names(moto_place.run, moto_place.name)[-1]

    def remove(_):
        for name in set(moto_place.names()) - before:
            if name.startswith("layers/"):
                moto_place.remove(name)
    moto_place.proxy.add("PUT", "*/manifest.json", before=remove)
    moto_place.ok("remove", moto_place.name, last)
    assert last not in key_names(moto_place.run, moto_place.name)


def test_a_prune_next_to_an_unfinished_run(moto_place, old):
    store(moto_place, old)
    moto_place.put(".bale-partial/run.json", json.dumps({"version": 1, "plan": "x", "owner": "x", "parts": False, "files": [],
                                                         "replaced": []}).encode())
    before = moto_place.objects()
    result = moto_place.run(*words(PRUNE, moto_place.name))
    assert result.code == FAILURE and "unfinished run" in result.error_line() and moto_place.objects() == before
