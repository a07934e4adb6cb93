"""Two runs on one destination: one works, the other one ends with exit code 5 and touches nothing."""
import json
import os
import signal
import subprocess
import time

import pytest
from conftest import NOBODY, PROGRAM, SHIM, by_tier, let_others_in, shim, tree_bytes
from fault_support import KILLED, count_calls, options

BUSY = "another bale is packing into this directory"


def start(source, out, *more, **env):
    return subprocess.Popen([PROGRAM, "pack", source, out, *options("tar", 3), *more], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": str(SHIM), **env})


def stopped_at(source, out, n, *more, **env):
    """A run that has stopped right before its n-th call that changes a file."""
    run = start(source, out, *more, BALE_SHIM_STOP_AT=str(n), **env)
    os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return run


def go_on(run):
    run.send_signal(signal.SIGCONT)
    _, stderr = run.communicate(timeout=60)
    return run.returncode, stderr.decode()


@pytest.mark.parametrize("mount", [None, "lustre"], ids=["flock", "no_flock"])
@pytest.mark.parametrize("mode", [[], ["--resume"], ["--overwrite"]], ids=["fresh", "resume", "overwrite"])
def test_the_second_of_two_runs_gets_5(bale, tiny, mode, mount, tmp_path):
    """At every call of the first one: whoever comes first works, and nobody ends with 1 because of the other."""
    env = {"BALE_SHIM_MOUNT": mount} if mount else {}
    bale.pack(tiny, tmp_path / "whole", *options("tar", 3))
    expected = tree_bytes(tmp_path / "whole")
    calls = count_calls(bale, tmp_path, "pack", tiny, tmp_path / "count", *options("tar", 3), env=env)
    seen = set()
    taking_the_lock, letting_it_go = range(1, 7), range(calls - 3, calls + 1)
    for n in sorted({*taking_the_lock, *letting_it_go, *range(1, calls + 1, by_tier(7, 1))}):
        out = tmp_path / f"out-{n}"
        first = stopped_at(tiny, out, n, **env)
        second = bale("pack", tiny, out, *options("tar", 3), *mode, env={"LD_PRELOAD": str(SHIM), **env})
        finished = (out / "manifest.json").exists()
        code, stderr = go_on(first)
        if second.code == 5:
            assert BUSY in second.error_line()
            assert code == 0, (n, stderr)
        elif second.code == 0 and mode != ["--overwrite"]:
            assert code in (0, 1, 5), (n, stderr)
            assert code != 1 or "holds a packed dataset" in stderr, (n, stderr)
        elif second.code == 1:  # not because of the other run, which is over but for its clearing away
            assert finished and "holds a packed dataset" in second.error_line(), (n, second)
        seen.add(second.code)
        assert tree_bytes(out) == expected, n
    assert 5 in seen and 0 in seen


def test_two_at_once(bale, tiny, tmp_path):
    """Started together, time and again: 0 and 5 are all that comes of it, until one is done."""
    bale.pack(tiny, tmp_path / "whole", *options("tar", 3))
    expected = tree_bytes(tmp_path / "whole")
    for n in range(by_tier(6, 100)):
        out = tmp_path / f"out-{n}"
        runs = [start(tiny, out, "--resume", BALE_SHIM_DELAY_MS="2") for _ in range(3)]
        codes = [go_on(run) for run in runs]
        assert {code for code, _ in codes} <= {0, 5}, codes
        assert 0 in {code for code, _ in codes}
        assert tree_bytes(out) == expected


@pytest.mark.parametrize("mount", [None, "lustre", "overlay", "nfs"])
def test_a_killed_run_is_not_waited_for(bale, tiny, mount, tmp_path):
    """Killed at every call: whatever kind of lock it had, the next run continues at once."""
    env = {"LD_PRELOAD": str(SHIM), **({"BALE_SHIM_MOUNT": mount} if mount else {})}
    bale.pack(tiny, tmp_path / "whole", *options("tar", 3))
    expected = tree_bytes(tmp_path / "whole")
    calls = count_calls(bale, tmp_path, "pack", tiny, tmp_path / "count", *options("tar", 3), env=env)
    assert tree_bytes(tmp_path / "count") == expected
    for n in range(1, calls + 1, by_tier(3, 1)):
        out = tmp_path / f"kill-{n}"
        assert bale("pack", tiny, out, *options("tar", 3), env={**env, "BALE_SHIM_KILL_AT": str(n)}).code == KILLED
        bale.ok("pack", tiny, out, *options("tar", 3), "--resume", env=env)
        assert tree_bytes(out) == expected, n


def test_a_lock_of_a_removed_journal_is_not_a_lock(bale, tiny, tmp_path):
    """The first opens the journal and is slow to lock it. The second packs and takes the journal away. The third packs
    something else: the first, which then locks a file without a name, must find out and leave it alone."""
    bale.pack(tiny, tmp_path / "whole", *options("tar", 2))
    out = tmp_path / "out"
    first = stopped_at(tiny, out, 1, "--overwrite", BALE_SHIM_ONLY="flock")
    bale.ok("pack", tiny, out, *options("tar", 3))
    third = subprocess.Popen([PROGRAM, "pack", tiny, out, *options("tar", 2), "--overwrite"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": str(SHIM), "BALE_SHIM_STOP_AT": "10"})
    os.waitid(os.P_PID, third.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    code, stderr = go_on(first)
    assert code == 5 and BUSY in stderr
    code, stderr = go_on(third)
    assert code == 0, stderr
    assert tree_bytes(out) == tree_bytes(tmp_path / "whole")


def test_a_run_on_another_machine_is_waited_for(bale, tiny, tmp_path):
    """Without locks of the file system nobody can tell whether a process elsewhere is alive: its file says whose it is."""
    out = tmp_path / "out"
    owner = out / ".bale-partial" / "owner.json"
    owner.parent.mkdir(parents=True)
    owner.write_text(json.dumps({"host": "node7", "process": 4711, "started": "1", "world": "elsewhere"}) + "\n")
    env = shim(MOUNT="lustre")
    result = bale("pack", tiny, out, env=env)
    assert result.code == 5
    assert "process 4711 on node7" in result.error_line() and str(owner) in result.error_line()
    owner.unlink()
    bale.ok("pack", tiny, out, env=env)
    assert not owner.parent.exists()


def with_proc(change, *command):
    """A prefix of a command, for which /proc is another one."""
    prefix = ["unshare", "-m", "sh", "-c", f'{change} && exec "$@"', "sh"]
    if subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
        pytest.skip("no right to mount a file system")
    return [*prefix, *command]


def test_a_live_run_that_proc_hides_is_waited_for(bale, tiny, tmp_path):
    let_others_in(tmp_path)
    let_others_in(tiny)
    out = tmp_path / "out"
    out.mkdir()
    first = stopped_at(tiny, out, 12, BALE_SHIM_MOUNT="lustre")
    assert (out / ".bale-partial" / "owner.json").exists()
    for path in (out, *out.rglob("*")):
        path.chmod(0o777)
    result = bale("pack", tiny, out, *options("tar", 3), "--resume", env=shim(MOUNT="lustre"),
                  prefix=with_proc("mount -t proc -o hidepid=2 proc /proc", *NOBODY))
    code, stderr = go_on(first)
    assert code == 0, stderr
    assert result.code == 5 and BUSY in result.error_line()


def test_nobody_is_of_this_machine_if_it_has_no_number(bale, tiny, tmp_path):
    """The first PID namespaces of all machines have one name."""
    out = tmp_path / "out"
    owner = out / ".bale-partial" / "owner.json"
    owner.parent.mkdir(parents=True)
    owner.write_text(json.dumps({"host": "node7", "process": 4711, "started": "1",
                                 "world": " " + os.readlink("/proc/self/ns/pid")}) + "\n")
    result = bale("pack", tiny, out, env=shim(MOUNT="lustre"),
                  prefix=with_proc("mount --bind /dev/null /proc/sys/kernel/random/boot_id"))
    assert result.code == 5 and "process 4711 on node7" in result.error_line()


def test_a_waiting_run_leaves_the_journal_alone(bale, tiny, tmp_path):
    """What comes second does not cut the journal of the first one before it knows that it is alone."""
    out = tmp_path / "out"
    first = start(tiny, out, BALE_SHIM_DELAY_MS="30")
    journal = out / ".bale-partial" / "journal.jsonl"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_text().count("\n") >= 2) and time.monotonic() < deadline:
        time.sleep(0.005)
    first.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # then none of its threads runs
    before = journal.read_bytes()
    for mode in ([], ["--resume"], ["--overwrite"]):
        assert bale("pack", tiny, out, *options("tar", 2), *mode).code == 5
        assert journal.read_bytes() == before
    assert go_on(first)[0] == 0
    bale.ok("verify", out)
