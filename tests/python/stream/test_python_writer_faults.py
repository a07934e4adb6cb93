"""A Writer that is killed, runs out of disk or loses power: what state() returned is there, and nothing twice."""
import json
import random
import subprocess
import time

import pytest
from conftest import by_tier, shards, shim, tree_bytes
from fault_support import KILLED, check_only_whole_files
from python_support import ENVIRONMENT, command
from test_power_loss import Disk, lay_out, new_states, recorded_calls

# argv: destination, file for the last state's count, options as JSON. Adds what is missing of 11 samples.
SCRIPT = """
import json, os, sys
import bale

out, states, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
samples = [(f"dir/{i}", {"ppm": b"P6\\n2 3\\n255\\n" + bytes([i]) * 18, "json": {"i": i, "text": "x" * 300 * i}}) for i in range(11)]
with bale.Writer(out, classes=["a", "b"], name="x", shard_samples=4, jobs=1, **options) as writer:
    print("there", writer.count, flush=True)
    for i in range(writer.count, len(samples)):
        writer.add(*samples[i], label=i % 2)
        if i in (1, 5, 6, 9):
            with open(states + ".new", "w+") as file:
                file.write(str(writer.state()["count"]))
            os.replace(states + ".new", states)
"""
OPTIONS = {"direct": {"format": "tar", "seek_points": True}, "staged": {"format": "tfrecord", "memory_bytes": 1}}


def write(out, states, options, code=0, **env):
    done = subprocess.run(command(SCRIPT, out, states, json.dumps(options)), capture_output=True, text=True, timeout=60,
                          env={**ENVIRONMENT, **env}, stdin=subprocess.DEVNULL)
    assert code is None or done.returncode == code, done
    return done


def count_in(states):
    return int(states.read_text()) if states.exists() else 0


def resume(out, states, options, at_least):
    """Goes on with what is there, which has to be what the last state said, or more."""
    there = int(write(out, states, {**options, "resume": True}).stdout.split()[1])
    assert there >= at_least
    return there


@pytest.fixture(scope="module", params=list(OPTIONS))
def case(request, tmp_path_factory):
    """(options, bytes of an undisturbed run, number of calls that change its files)."""
    root = tmp_path_factory.mktemp("whole")
    counter = root / "counter"
    counter.write_bytes(bytes(8))
    options = OPTIONS[request.param]
    write(root / "out", root / "state", options, **shim(COUNT=counter, BELOW=root / "out"))
    calls = int.from_bytes(counter.read_bytes(), "little")
    assert calls > 60
    return options, tree_bytes(root / "out"), calls


def places(calls, wanted):
    """Numbers of calls, spread over all of them."""
    step = by_tier(max(calls // wanted, 1), 1)
    return range(1, calls + 1, step)


def test_killed(case, tmp_path):
    options, expected, calls = case
    found = set()
    for n in places(calls, 16):
        out, states = tmp_path / f"kill-{n}", tmp_path / f"state-{n}"
        write(out, states, options, code=KILLED, **shim(KILL_AT=n, BELOW=out))
        check_only_whole_files(out, expected)
        found.add(resume(out, states, options, count_in(states)))
        assert tree_bytes(out) == expected, n
    assert len(found) > 3, found


def test_killed_while_it_resumes(case, tmp_path):
    options, expected, calls = case
    rng = random.Random(calls)
    for n in places(calls, 6):
        out, states = tmp_path / f"kill-{n}", tmp_path / f"state-{n}"
        write(out, states, options, code=KILLED, **shim(KILL_AT=n, BELOW=out))
        for _ in range(2):
            write(out, states, {**options, "resume": True}, code=None, **shim(KILL_AT=rng.randrange(1, calls), BELOW=out))
            check_only_whole_files(out, expected)
        resume(out, states, options, count_in(states))
        assert tree_bytes(out) == expected, n


def test_full_disk(case, tmp_path):
    """The error is raised, the block ends without a manifest, and a run with room for it continues."""
    options, expected, calls = case
    for n in places(calls, 12):
        out, states = tmp_path / f"full-{n}", tmp_path / f"state-{n}"
        failed = write(out, states, options, code=None, **shim(FAIL_AT=n, FAIL_ON=1, ERRNO=28, BELOW=out))
        check_only_whole_files(out, expected)
        if failed.returncode == 0:  # a call that need not succeed
            assert tree_bytes(out).items() >= expected.items(), n
            continue
        assert "bale.errors.Error" in failed.stderr and "No space left" in failed.stderr, failed
        assert "no manifest was written" in failed.stderr or "Writer(" in failed.stderr, failed
        resume(out, states, options, count_in(states))
        assert tree_bytes(out) == expected, n


def test_power_loss(case, tmp_path):
    """In every state that the disk may be found in: what has a final name is whole, and what state() returned is there."""
    options, expected, _ = case
    options = {**options, "memory_bytes": 1 << 26}  # the shim records one thread: none writes samples while another writes a shard
    out, states, record = tmp_path / "out", tmp_path / "state", tmp_path / "record"
    write(out, states, options, **shim(RECORD=record))
    durable, count = [], 0
    for call, path, other, _, data in recorded_calls(record):
        if call == "write" and path == f"{states}.new":
            count = int(data)
        durable.append(count)
    assert durable[-1] == 10
    disk, found = Disk(out), tmp_path / "found"
    seen = resumed = 0
    for seen, ((number, call, path), state) in enumerate(new_states(disk, record, random.Random(11)), 1):
        if seen % by_tier(12, 1):
            continue
        lay_out(state, out, found)
        check_only_whole_files(found, expected)
        resumed += 1
        resume(found, tmp_path / "unused", options, durable[number])
        assert tree_bytes(found) == expected, (number, call, path)
    assert resumed > 5
    lay_out({path: inode and inode.synced for path, inode in disk.safe_names.items()}, out, found)
    assert tree_bytes(found) == expected


def test_killed_at_random_times(tmp_path):
    options = {"format": "tar", "jobs": 3}
    script = SCRIPT.replace("jobs=1, ", "")
    rng = random.Random(5)
    whole = write(tmp_path / "whole", tmp_path / "none", {"format": "tar"})
    assert whole.returncode == 0
    expected = tree_bytes(tmp_path / "whole")
    for n in range(by_tier(8, 100)):
        out, states = tmp_path / f"out-{n}", tmp_path / f"state-{n}"
        arguments = command(script, out, states, json.dumps(options))
        run = subprocess.Popen(arguments, env={**ENVIRONMENT, **shim(DELAY_MS=3, BELOW=out)}, stdout=subprocess.PIPE)
        assert run.stdout.read(5) == b"there"
        time.sleep(rng.uniform(0, 0.4))
        run.kill()
        run.communicate()
        check_only_whole_files(out, expected)
        resume(out, states, {"format": "tar"}, count_in(states))
        assert tree_bytes(out) == expected, n
        assert len(shards(out)) == 3
