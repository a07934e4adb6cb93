"""bale add that is killed, disturbed or doubled: the old version or the new one, whole."""
import os
import shutil
import signal
import subprocess

import pytest
from conftest import PROGRAM, SHIM, by_tier, shim, tree_bytes
from fault_support import KILLED, count_calls, options
from version_support import make_files

LAYOUTS = ["tar.plain --sidecars wids --seek-points", "lmdb.plain", "npy.rgb --size 16"]


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("new"), "new", classes=3)


def arguments(out, source, *more):
    return ["add", out, source, "--shard-samples", "2", "--jobs", "1", *more]


def check_whole(bale, out, old, new):
    """The version that the manifest says is whole. Returns whether it is the old one."""
    found = tree_bytes(out)
    is_old = found["manifest.json"] == old["manifest.json"]
    expected = old if is_old else new
    lists = {"shardindex.json"}  # replaced right before the manifest
    for name, content in expected.items():
        assert found[name] == content or (name in lists and found[name] in (old[name], new[name])), name
    bale.ok("verify", out)
    return is_old


@pytest.mark.parametrize("layout", LAYOUTS)
def test_killed_at_every_call(bale, tiny, new, layout, tmp_path):
    bale.pack(tiny, tmp_path / "old", *options(layout, 2))
    shutil.copytree(tmp_path / "old", tmp_path / "whole")
    calls = count_calls(bale, tmp_path, *arguments(tmp_path / "whole", new))
    old, expected = tree_bytes(tmp_path / "old"), tree_bytes(tmp_path / "whole")
    seen = set()
    publishing = range(max(calls - 30, 1), calls + 1) if layout == LAYOUTS[0] else ()
    for n in sorted({*range(1, calls + 1, by_tier(9, 1)), *publishing}):
        out = tmp_path / f"kill-{n}"
        shutil.copytree(tmp_path / "old", out)
        assert bale(*arguments(out, new), env=shim(KILL_AT=n)).code == KILLED
        seen.add(check_whole(bale, out, old, expected))
        if n % 3 == 0:
            bale(*arguments(out, new, "--resume"), env=shim(KILL_AT=1 + n * 7 % calls))
            check_whole(bale, out, old, expected)
        again = "--restart" if n % 4 == 1 and check_whole(bale, out, old, expected) and not is_publishing(out) else "--resume"
        bale.ok(*arguments(out, new, again))
        assert tree_bytes(out) == expected, n
        shutil.rmtree(out)
    assert seen == {True, False}


def is_publishing(out):
    journal = out / ".bale-partial" / "journal.jsonl"
    return journal.exists() and '"replacement"' in journal.read_text()


def test_an_unfinished_run_is_named(bale, tiny, new, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out, *options("tar.plain --sidecars wids", 2))
    calls = count_calls(bale, tmp_path, *arguments(shutil.copytree(out, tmp_path / "count"), new))
    assert bale(*arguments(out, new), env=shim(KILL_AT=calls // 2)).code == KILLED
    os.remove(out / "shardindex.json")
    bale.ok("index", out, "--sidecars", "wids")  # which the manifest names
    assert (out / "shardindex.json").exists()
    line = bale(*arguments(out, new)).error_line()
    assert "--resume" in line and "--restart" in line
    other = make_files(tmp_path / "other", "other")
    assert "other files or options" in bale(*arguments(out, other, "--resume")).error_line()
    bale.ok(*arguments(out, other, "--restart"))
    assert not (out / ".bale-partial").exists()
    bale.ok("verify", out)


def stopped_at(n, out, source):
    """A run that has stopped right before its n-th call that changes a file."""
    run = subprocess.Popen([PROGRAM, *arguments(out, source)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           env={**os.environ, "LD_PRELOAD": str(SHIM), "BALE_SHIM_STOP_AT": str(n)})
    os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return run


def go_on(run):
    run.send_signal(signal.SIGCONT)
    _, stderr = run.communicate(timeout=60)
    return run.returncode, stderr.decode()


def test_two_at_once(bale, tiny, new, tmp_path):
    """At every call of the first one: both are in, or one ended with 5 and nothing of it is, and trying again helps."""
    other = make_files(tmp_path / "other", "other")
    bale.pack(tiny, tmp_path / "old", *options("tar.plain", 2))
    calls = count_calls(bale, tmp_path, *arguments(shutil.copytree(tmp_path / "old", tmp_path / "count"), new))
    codes = set()
    for n in sorted({1, 2, 3, calls, *range(1, calls + 1, by_tier(11, 1))}):
        out = shutil.copytree(tmp_path / "old", tmp_path / f"out-{n}")
        first = stopped_at(n, out, new)
        second = bale(*arguments(out, other))
        code, stderr = go_on(first)
        codes.add((code, second.code))
        assert {code, second.code} <= {0, 5}, (n, stderr, second)
        if code == 5:
            assert "published version" in stderr and "again" in stderr
            bale.ok(*arguments(out, new))
        if second.code == 5:
            bale.ok(*arguments(out, other))
        assert len(bale.ok("ls", out).out.splitlines()) == 6 + 9 + 6
        bale.ok("verify", out)
    assert (5, 0) in codes and (0, 5) in codes
