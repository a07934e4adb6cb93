"""bale remove and bale set that are killed, disturbed or doubled: the old version or the new one, whole."""
import os
import shutil
import signal
import subprocess

import pytest
from conftest import PROGRAM, SHIM, by_tier, key_names, shim, tree_bytes
from fault_support import KILLED, count_calls, options


@pytest.fixture(scope="module")
def old(bale, tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("old") / "packed"
    bale.pack(tiny, out, *options("tar.plain", 2))
    return out


@pytest.fixture(params=["remove", "set", "field"])
def arguments(request, bale, old, tmp_path):
    keys = key_names(bale, old)
    (tmp_path / "labels.csv").write_text(f"key,label\n{keys[0]},1\n{keys[-1]},0\n")
    (tmp_path / "split.csv").write_text(f"key,split\n{keys[0]},train\n{keys[-1]},val\n")
    return {"remove": lambda out: ["remove", out, keys[0], keys[3]],
            "field": lambda out: ["set", out, f"split.txt={tmp_path / 'split.csv'}"],
            "set": lambda out: ["set", out, f"label={tmp_path / 'labels.csv'}"]}[request.param]


def is_old(bale, out, before, after):
    """The version that the manifest says is whole."""
    found = tree_bytes(out)
    expected = before if found["manifest.json"] == before["manifest.json"] else after
    assert all(found[name] == content for name, content in expected.items())
    bale.ok("verify", out)
    return expected is before


def test_killed_at_every_call(bale, old, arguments, tmp_path):
    calls = count_calls(bale, tmp_path, *arguments(shutil.copytree(old, tmp_path / "whole")))
    before, after = tree_bytes(old), tree_bytes(tmp_path / "whole")
    seen = set()
    for n in range(1, calls + 1, by_tier(2, 1)):
        out = shutil.copytree(old, tmp_path / f"kill-{n}")
        assert bale(*arguments(out), env=shim(KILL_AT=n)).code == KILLED
        seen.add(is_old(bale, out, before, after))
        if is_old(bale, out, before, after):
            bale.ok(*arguments(out))
            assert tree_bytes(out) == after, n
    assert seen == {True, False}


def test_two_at_once(bale, old, arguments, tmp_path):
    """At some calls of the first one: both are in, or one ended with 5 and nothing of it is, and trying again helps."""
    last = key_names(bale, old)[2]
    calls = count_calls(bale, tmp_path, *arguments(shutil.copytree(old, tmp_path / "count")))
    codes = set()
    for n in sorted({1, *range(1, calls + 1, by_tier(5, 1))}):
        out = shutil.copytree(old, tmp_path / f"out-{n}")
        first = subprocess.Popen([PROGRAM, *arguments(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 env={**os.environ, "LD_PRELOAD": str(SHIM), "BALE_SHIM_STOP_AT": str(n)})
        os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        second = bale("remove", out, last)
        first.send_signal(signal.SIGCONT)
        _, stderr = first.communicate(timeout=60)
        codes.add((first.returncode, second.code))
        assert {first.returncode, second.code} <= {0, 5}, (n, stderr, second)
        if first.returncode == 5:
            assert b"again" in stderr
            bale.ok(*arguments(out))
        if second.code == 5:
            bale.ok("remove", out, last)
        assert last not in key_names(bale, out)
        bale.ok("verify", out)
    assert (5, 0) in codes and (0, 5) in codes


def test_an_unfinished_run_is_named(bale, old, arguments, tmp_path):
    out = shutil.copytree(old, tmp_path / "out")
    new = shutil.copytree(old, tmp_path / "new")
    calls = count_calls(bale, tmp_path, "convert", new, tmp_path / "converted")
    assert calls > 10
    (out / ".bale-partial").mkdir()
    assert bale("convert", old, tmp_path / "killed", env=shim(KILL_AT=calls // 2)).code == KILLED
    shutil.copy(tmp_path / "killed" / ".bale-partial" / "journal.jsonl", out / ".bale-partial")
    result = bale(*arguments(out))
    assert result.code == 1 and "unfinished run" in result.error_line()
