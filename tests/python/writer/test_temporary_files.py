"""Temporary files: names of their own, nothing written through a link, and what a killed run left is found."""
import json
import os
import subprocess
import time

import pytest
from conftest import FORMATS, PROGRAM, by_tier, shards, shim, tree_bytes
from fault_support import KILLED, count_calls

TEMPORARY = ".bale-tmp-*"


@pytest.fixture
def packed(bale, tiny, tmp_path):
    out = tmp_path / "packed"
    bale.pack(tiny, out, "--name", "x", "--shard-samples", "1", "--jobs", "1")
    return out


@pytest.fixture
def foreign(bale, packed):
    """The same shards as another tool leaves them, and {name: bytes} of them with the indexes that bale makes."""
    for path in [*packed.glob("*.bidx"), packed / "manifest.json"]:
        path.unlink()
    bale.ok("index", packed)
    expected = tree_bytes(packed)
    remove_indexes(packed)
    return packed, expected


def remove_indexes(directory):
    for path in directory.glob("*.bidx"):
        path.unlink()


def test_a_planted_link_is_not_written_through(bale, foreign, tmp_path):
    """At every name that a version of bale has used or might guess."""
    packed, expected = foreign
    victim, absent = tmp_path / "victim", tmp_path / "absent"
    victim.write_bytes(b"precious")
    links = [packed / (shard.name + suffix) for shard in shards(packed)
             for suffix in (".bidx.tmp", ".tmp", ".bseek.tmp", ".idx.tmp")]
    for link in links:
        link.symlink_to(victim)
    for shard in shards(packed):
        (packed / f"{shard.name}.bidx").symlink_to(absent)
    bale.ok("index", packed)
    bale.ok("index", packed, "--force", "--seek-points", "--sidecars", "wds2idx")
    assert victim.read_bytes() == b"precious" and not absent.exists()
    assert all((packed / name).read_bytes() == content for name, content in expected.items())


@pytest.mark.parametrize("layout", FORMATS)
def test_a_link_among_staged_files_is_not_written_through(bale, tiny, layout, tmp_path):
    """An unfinished pack may come from anywhere."""
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_bytes(b"precious")
    options = ["--format", layout, "--name", "x", "--jobs", "1"]
    bale.pack(tiny, tmp_path / "whole", *options)
    expected = tree_bytes(tmp_path / "whole")
    assert bale("pack", tiny, out, *options, env=shim(ONLY="fsync", KILL_AT=3)).code == KILLED
    partial = out / ".bale-partial"
    names = [shards(tmp_path / "whole")[0].name, "manifest.json"]
    for name in [*names, names[0] + ".bidx"]:
        for staged in (name + ".staged", name.replace(".bidx", "") + ".staged.bidx"):
            (partial / staged).unlink(missing_ok=True)
            (partial / staged).symlink_to(victim)
    bale.ok("pack", tiny, out, *options, "--resume")
    assert victim.read_bytes() == b"precious"
    assert tree_bytes(out) == expected


def test_two_runs_of_index_at_once(foreign):
    packed, expected = foreign
    for _ in range(by_tier(8, 60)):
        runs = [subprocess.Popen([PROGRAM, "index", packed, "--force", "--jobs", "2"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE) for _ in range(4)]
        ended = [(run.communicate(timeout=60)[1], run.returncode) for run in runs]
        assert [code for _, code in ended] == [0] * 4, ended
        assert tree_bytes(packed) == expected


@pytest.mark.parametrize("fault", ["KILL_AT", "FAIL_AT"])
def test_no_leftovers_pile_up(bale, foreign, fault, tmp_path):
    """At every call: an error cleans up after itself, and the run after a kill does."""
    packed, expected = foreign
    calls = count_calls(bale, tmp_path, "index", packed, "--jobs", "1")
    left = 0
    for n in range(1, calls + 1):
        remove_indexes(packed)
        bale("index", packed, "--jobs", "1", env=shim(**{fault: n}))
        left += len(list(packed.glob(TEMPORARY)))
        if fault == "KILL_AT":
            bale.ok("index", packed)
            assert tree_bytes(packed) == expected, n
        assert list(packed.glob(TEMPORARY)) == [], n
    assert (left > 5) == (fault == "KILL_AT")


def test_leftovers_are_reported_and_removed_only_when_stale(bale, packed):
    def name(machine, process):
        return packed / f".bale-tmp-{machine:016x}-{process}-{7:016x}"
    made = subprocess.Popen([PROGRAM, "index", packed, "--force"], stdout=subprocess.DEVNULL)
    made.wait()
    elsewhere, long_ago = name(1, os.getpid()), name(2, os.getpid())
    others = [packed / ".bale-tmp-notes", packed / ".bale-tmp-12-34-56", packed / "x.tar.tmp"]
    for path in (elsewhere, long_ago, *others):
        path.write_bytes(b"x")
    for path in (long_ago, *others):
        os.utime(path, (time.time() - 90000,) * 2)
    before = tree_bytes(packed)
    reported = bale.ok("verify", packed)
    assert "1 temporary file of killed runs" in reported.err and long_ago.name in reported.err
    assert json.loads(bale.ok("verify", packed, "--json").out)["leftovers"] == [str(long_ago)]
    assert tree_bytes(packed) == before  # verify changes nothing
    result = bale.ok("index", packed)
    assert "removed 1 temporary file of killed runs" in result.err
    del before[long_ago.name]
    assert tree_bytes(packed) == before
    assert bale.ok("verify", packed).err == ""
