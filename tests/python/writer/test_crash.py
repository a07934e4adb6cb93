"""Killed anywhere, the packer leaves whole shards only, and --resume ends with the bytes of a run that was not killed."""
import os
import random
import signal
import subprocess
import time

import pytest
from conftest import ALL_FORMATS, PROGRAM, by_tier, format_options, on_terminal, shards, shim, tree_bytes
from fault_support import FAULT_LAYOUTS_AND_MORE, KILLED, check_only_whole_files, count_calls, options, resume
from servers.network import wait_for


@pytest.fixture(scope="module", params=FAULT_LAYOUTS_AND_MORE)
def case(request, bale, tiny, tmp_path_factory):
    """(layout, bytes of an unkilled run): six images in two shards."""
    out = tmp_path_factory.mktemp("whole") / "out"
    bale.pack(tiny, out, *options(request.param, 3))
    return request.param, tree_bytes(out)


def test_killed_at_every_call(bale, tiny, case, tmp_path):
    layout, expected = case
    pack_options = options(layout, 3)
    calls = count_calls(bale, tmp_path, "pack", tiny, tmp_path / "count", *pack_options)
    assert calls > 10
    for n in range(1, calls + 1):
        out = tmp_path / f"kill-{n}"
        killed = bale("pack", tiny, out, *pack_options, env=shim(KILL_AT=n))
        assert killed.code == KILLED, (n, killed)
        check_only_whole_files(out, expected)
        resume(bale, tiny, out, pack_options)
        assert tree_bytes(out) == expected, n


def test_killed_during_resume(bale, tiny, case, tmp_path):
    """Kill once in the middle, kill the resumed run at every call, resume again."""
    layout, expected = case
    pack_options = options(layout, 3)
    calls = count_calls(bale, tmp_path, "pack", tiny, tmp_path / "count", *pack_options)
    rng = random.Random(layout)
    for n in range(1, calls + 1, by_tier(3, 1)):
        out = tmp_path / f"kill-{n}"
        for at in (n, rng.randrange(1, calls)):
            bale("pack", tiny, out, *pack_options, "--resume", env=shim(KILL_AT=at))
            check_only_whole_files(out, expected)
        resume(bale, tiny, out, pack_options)
        assert tree_bytes(out) == expected, n


@pytest.mark.parametrize("error,lasts", [(5, False), (28, True)], ids=["EIO_once", "ENOSPC_from_then_on"])
def test_every_call_fails(bale, tiny, case, error, lasts, tmp_path):
    """An error at each call in turn: exit 1 with one line, nothing half-published, and the run can be resumed."""
    layout, expected = case
    pack_options = options(layout, 3)
    calls = count_calls(bale, tmp_path, "pack", tiny, tmp_path / "count", *pack_options)
    for n in range(1, calls + 1, by_tier(3, 1) if lasts else by_tier(2, 1)):
        out = tmp_path / f"fail-{n}"
        env = shim(FAIL_AT=n, ERRNO=error)
        failed = bale("pack", tiny, out, *pack_options, env={**env, "BALE_SHIM_FAIL_ON": "1"} if lasts else env)
        check_only_whole_files(out, expected)
        if failed.code == 0:  # a call whose failure does no harm (a hint, a clean-up)
            assert tree_bytes(out).items() >= expected.items(), n
            continue
        assert failed.code == 1, (n, failed)
        assert failed.error_line()
        resume(bale, tiny, out, pack_options)
        assert tree_bytes(out) == expected, n


def test_killed_at_random_times(bale, photos, tmp_path):
    """Real kills of a real run, several jobs at work."""
    for format_name in ALL_FORMATS:
        pack_options = [*format_options(format_name), "--name", "x", "--shard-samples", "4", "--jobs", "3"]
        begin = time.monotonic()
        bale.pack(photos, tmp_path / f"{format_name}-whole", *pack_options)
        duration = time.monotonic() - begin
        expected = tree_bytes(tmp_path / f"{format_name}-whole")
        rng = random.Random(format_name)
        for n in range(by_tier(8, 200)):
            out = tmp_path / f"{format_name}-{n}"
            run = subprocess.Popen([PROGRAM, "pack", photos, out, *pack_options], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, duration))
            run.kill()
            run.wait()
            check_only_whole_files(out, expected)
            resume(bale, photos, out, pack_options)
            assert tree_bytes(out) == expected


def wait_for_a_shard(out):
    deadline = time.monotonic() + 30
    while not (out.exists() and shards(out)) and time.monotonic() < deadline:
        time.sleep(0.005)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_interrupted(bale, photos, format_name, sent, tmp_path):
    """Ctrl-C: exit 130 within seconds, and resumable. Each write takes 20 ms, so the run is surely not over."""
    pack_options = [*format_options(format_name), "--name", "x", "--shard-samples", "4"]
    bale.pack(photos, tmp_path / "whole", *pack_options)
    expected = tree_bytes(tmp_path / "whole")
    out = tmp_path / "out"
    run = subprocess.Popen([PROGRAM, "pack", photos, out, *pack_options], stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, env={**os.environ, **shim(DELAY_MS=20)})
    wait_for_a_shard(out)
    run.send_signal(sent)
    _, stderr = run.communicate(timeout=60)
    assert run.returncode == 130, stderr
    check_only_whole_files(out, expected)
    assert not (out / "manifest.json").exists()
    resume(bale, photos, out, pack_options)
    assert tree_bytes(out) == expected


def test_interrupted_twice(bale, photos, tmp_path):
    """While all reads hang, as on a server that does not answer. Two signals of one kind might become one."""
    stalled, out = tmp_path / "stalled", tmp_path / "out"
    stalled.touch()
    run = subprocess.Popen([PROGRAM, "pack", photos, out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           env={**os.environ, **shim(STALL=".JPEG", STALL_WHILE=stalled)})
    wait_for(lambda: list(out.glob(".bale-partial/*")))
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGTERM)
    _, stderr = run.communicate(timeout=60)
    assert run.returncode == 130 and b"bale: interrupted again, so ended at once; what was finished stays: run the same command again" in stderr
    resume(bale, photos, out, [])


def test_ctrl_c_on_a_terminal(bale, photos, tmp_path):
    """The whole way: the key, the terminal's signal, exit 130, and nothing that is not needed to continue."""
    pack_options = ["--name", "x", "--shard-samples", "4"]
    bale.pack(photos, tmp_path / "whole", *pack_options)
    out = tmp_path / "out"
    run, terminal = on_terminal([PROGRAM, "pack", photos, out, *pack_options], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, env={**os.environ, **shim(DELAY_MS=20)})
    wait_for_a_shard(out)
    os.write(terminal, b"\x03")
    _, stderr = run.communicate(timeout=60)
    os.close(terminal)
    assert run.returncode == 130, stderr
    assert not list((out / ".bale-partial").glob("*.staged*"))
    resume(bale, photos, out, pack_options)
    assert tree_bytes(out) == tree_bytes(tmp_path / "whole")


def test_resume_refuses_another_plan(bale, photos, tiny, tmp_path):
    """--resume continues with the same work only; other images or other shard sizes are refused and nothing is touched."""
    out = tmp_path / "out"
    base = ["--format", "tar", "--name", "x"]
    env = shim(ONLY="fsync", KILL_AT=4)
    assert bale("pack", photos, out, *base, "--shard-samples", "4", "--jobs", "1", env=env).code == KILLED
    before = tree_bytes(out)
    for source, sizing in [(photos, "5"), (tiny, "4")]:
        result = bale("pack", source, out, *base, "--shard-samples", sizing, "--resume")
        assert result.code in (1, 2), result
        assert result.error_line()
        assert tree_bytes(out) == before


def test_resume_of_a_finished_run_does_nothing(bale, tiny, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out, *options("tar", 3))
    before = {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in shards(out)}
    resume(bale, tiny, out, options("tar", 3))
    assert {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in shards(out)} == before
