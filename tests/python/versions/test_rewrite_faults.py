"""bale rewrite while others read or change the dataset, and after kills."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

import numpy as np
import pytest
from conftest import PROGRAM, by_tier, key_list, shim, tree_bytes
from fault_support import KILLED, count_calls
from rewrite_support import files, has_marker, packed, relabel, rewrite, versions_of  # noqa: F401 - a fixture
from version_support import MARKER, version_of

FAILURE = 1
TIME = re.compile(r"[0-9.]+ s, .*")



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


def test_a_killed_purge_is_called_what_it_was(bale, files, tmp_path):
    old, command = packed(bale, files, tmp_path / "old"), ("remove", "amber/o_amber_0003", "--purge")
    calls, said = count_calls(bale, tmp_path, command[0], shutil.copytree(old, tmp_path / "count"), *command[1:]), set()
    for n in range(8, calls + 1, 8):
        out = shutil.copytree(old, tmp_path / f"out{n}")
        assert bale(command[0], out, *command[1:], env=shim(KILL_AT=n)).code == KILLED
        said |= {line.split(";")[0].split(": ")[-1] for line in bale(*NEXT["add"](out, files)).err.splitlines() if "unfinished" in line}
    assert said == {"holds an unfinished `bale remove --purge`"}


def test_shards_of_a_killed_run_are_not_called_temporary(bale, files, tmp_path):
    """They are of the version that is about to be published, or of the one before, and who removes them loses samples."""
    old = packed(bale, files, tmp_path / "old")
    calls, between = count_calls(bale, tmp_path, "rewrite", shutil.copytree(old, tmp_path / "count"), "--all"), False
    for n in range(calls - 24, calls + 1, 2):
        out = shutil.copytree(old, tmp_path / f"out{n}")
        assert bale("rewrite", out, "--all", env=shim(KILL_AT=n)).code == KILLED
        assert json.loads(bale.ok("verify", "--json", out).out)["leftovers"] == []
        between = between or len(list(out.glob("*.tar"))) == 6
    assert between


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


def test_a_purge_that_fails_says_whether_samples_are_removed(bale, files, tmp_path):
    old, command = packed(bale, files, tmp_path / "old"), ("amber/o_amber_0003", "--purge")
    seen = set()
    for n in range(1, 40):
        out = shutil.copytree(old, tmp_path / "out")
        result = bale("remove", out, *command, env=shim(ONLY="pwrite", FAIL_AT=n, FAIL_ON=1, ERRNO=28))
        if result.code == 0:
            break
        is_removed = "amber/o_amber_0003" not in bale.ok("ls", out).out
        assert is_removed == ("the samples are removed, but not yet purged: the same command again does that" in result.error_line()), result
        seen.add(is_removed)
        bale.ok("remove", out, *command)
        assert not has_marker(out)
        shutil.rmtree(out)
    assert seen == {True, False}


def run_around(change, tmp_path, suffix, *command):
    """Calls `change` while the command reads its first file with this suffix. Returns its exit code, output and errors."""
    held = tmp_path / "held"
    held.touch()
    run = subprocess.Popen([PROGRAM, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=os.environ | shim(STALL=suffix, STALL_WHILE=held))
    is_there = False
    while not is_there:
        assert run.poll() is None
        with contextlib.suppress(FileNotFoundError):  # of a file that is closed then
            is_there = any(os.readlink(link.path).endswith(suffix) for link in os.scandir(f"/proc/{run.pid}/fd"))
    change()
    held.unlink()
    return run.communicate() + (run.returncode,)


@pytest.mark.parametrize("purge", [[], ["--purge"]], ids=["kept", "purged"])
@pytest.mark.parametrize("command,suffix", [("verify --jobs 1", ".tar"), ("report --json", ".bidx"), ("convert TO --on-error skip", ".bidx")])
def test_commands_that_run(bale, files, purge, command, suffix, tmp_path):
    """The shards that they have not opened yet are moved or deleted: neither is damage, nor are samples left out."""
    def change():
        bale.ok("remove", out, "amber/o_amber_0003", "brick/o_brick_0005")
        rewrite(bale, out, *purge)

    name, *options = command.replace("TO", str(tmp_path / "to")).split()
    out = packed(bale, files, tmp_path / "out", samples=1)
    expected = bale(name, out, *options).out
    shutil.rmtree(tmp_path / "to", ignore_errors=True)
    result, errors, code = run_around(change, tmp_path, suffix, name, out, *options)
    assert (code, "removed on purpose" in errors) == ((FAILURE, True) if purge else (0, False)), result + errors
    assert purge or TIME.sub("", result) == TIME.sub("", expected)


def test_a_dataset_that_is_replaced_while_it_is_verified(bale, files, tmp_path):
    out = packed(bale, files, tmp_path / "out", samples=1)
    result, errors, code = run_around(lambda: bale.pack(files / "new", out, "--name", "x", "--overwrite"), tmp_path, ".tar", "verify",
                                      "--jobs", "1", out)
    assert code == FAILURE and "was changed while it was read" in errors, result + errors


def test_shards_that_are_added_to_one_of_several_while_they_are_verified(bale, files, tmp_path):
    both = tmp_path / "both"
    for name in "a", "b":
        packed(bale, files, both / name)
    result, errors, code = run_around(lambda: bale.ok("add", both / "b", files / "new"), tmp_path, ".tar", "verify", both)
    assert code == 0, result + errors


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
