"""bale.Writer(part=..., parts=...) and bale.merge(): parts written in any order, at once, killed and resumed, make one dataset."""
import json
import os
import random
import subprocess

import pytest
from conftest import by_tier, shards, shim, tree_bytes
from fault_support import KILLED, check_only_whole_files, count_calls
from python_support import ENVIRONMENT, command, run_script

import bale

PPM = b"P6\n2 3\n255\n"
PARTS = 3
# argv: destination, part, options as JSON. Every third of 20 samples, from this part's on.
SCRIPT = """
import json, sys
import bale

out, part, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
with bale.Writer(out, classes=["a", "b"], part=part, parts=3, shard_samples=3, jobs=1, **options) as writer:
    for i in list(range(part, 20, 3))[writer.count:]:
        writer.add(f"dir/{i}", {"ppm": b"P6\\n2 3\\n255\\n" + bytes([i]) * 18, "json": {"i": i}}, label=i % 2)
        if i % 4 == 0:
            writer.state()
"""


def write(out, part, code=0, env=None, **options):
    done = subprocess.run(command(SCRIPT, out, part, json.dumps(options)), capture_output=True, text=True, timeout=60,
                          env={**ENVIRONMENT, **(env or {})}, stdin=subprocess.DEVNULL)
    assert done.returncode == code, done
    return done


def write_here(out, part, samples, parts=PARTS, **options):
    with bale.Writer(out, **{"classes": ["a", "b"], **options}, part=part, parts=parts) as writer:
        for i in samples:
            writer.add(f"dir/{i}", {"ppm": PPM + bytes([i]) * 18}, label=i % 2)
    return writer


@pytest.fixture(scope="module", params=["tar", "tfrecord"])
def whole(request, tmp_path_factory):
    """(format, what the parts make when they are written one after the other)."""
    out = tmp_path_factory.mktemp("whole") / "x"
    for part in range(PARTS):
        write(out, part, format=request.param)
    assert bale.merge(out)["samples"] == 20
    return request.param, tree_bytes(out)


def test_parts_at_once_in_any_order(whole, tmp_path):
    format_name, expected = whole
    out = tmp_path / "x"
    runs = [subprocess.Popen(command(SCRIPT, out, part, json.dumps({"format": format_name})), env=ENVIRONMENT) for part in (2, 0, 1)]
    assert [run.wait(timeout=60) for run in runs] == [0, 0, 0]
    assert os.listdir(out) == [".bale-parts"]
    report = bale.merge(out)
    assert report["samples"] == 20 and tree_bytes(out) == expected
    assert not (out / ".bale-parts").exists()
    dataset = bale.Dataset(out)
    assert [dataset.key(i) for i in range(20)] == [f"dir/{i}" for part in range(PARTS) for i in range(part, 20, 3)]
    assert dataset.classes == ["a", "b"] and list(dataset.labels) == [int(dataset.key(i)[4:]) % 2 for i in range(20)]
    assert bale.verify(out)["findings"] == []
    assert bale.merge(out)["samples"] == 20  # again


def test_missing_parts_are_named(bale_program, tmp_path):
    out = tmp_path / "x"
    write_here(out, 1, range(4), parts=5)
    with pytest.raises(bale.Error, match="4 of 5 parts not written: 0,2-4") as caught:
        bale.merge(out)
    assert caught.value.code == "retryable"
    result = bale_program("merge", out, "--json")
    assert result.code == 5 and json.loads(result.out)["missing_parts"] == [0, 2, 3, 4], result
    assert "resume=True" in result.err
    (tmp_path / "empty").mkdir()
    with pytest.raises(bale.Error, match="holds no parts of Writers"):
        bale.merge(tmp_path / "empty")
    with pytest.raises(bale.Error, match="holds parts of 5, not of 4"):
        bale.Writer(out, part=0, parts=4)
    with pytest.raises(bale.Error):
        bale.Dataset(out)


@pytest.fixture
def bale_program():
    from conftest import Bale

    return Bale()


def test_killed_parts_are_resumed(whole, tmp_path):
    format_name, expected = whole
    rng = random.Random(3)
    for n in range(by_tier(5, 100)):
        out = tmp_path / f"kill-{n}" / "x"
        for part in range(PARTS):
            write(out, part, format=format_name, code=KILLED, env=shim(KILL_AT=rng.randrange(2, 50), BELOW=out))
        with pytest.raises(bale.Error, match="not written|no parts"):
            bale.merge(out)
        for part in (1, 2, 0):
            write(out, part, format=format_name, resume=True)
        bale.merge(out)
        assert tree_bytes(out) == expected, n


def test_a_merge_that_is_killed_continues(whole, bale_program, tmp_path):
    format_name, expected = whole

    def parts(out):
        for part in range(PARTS):
            write_parts(out, part, format_name)
        return ["merge", out, "--jobs", "1"]
    calls = count_calls(bale_program, tmp_path, *parts(tmp_path / "counted" / "x"))
    assert tree_bytes(tmp_path / "counted" / "x") == expected
    for n in range(1, calls + 1, by_tier(max(calls // 12, 1), 1)):
        out = tmp_path / f"kill-{n}" / "x"
        assert bale_program(*parts(out), env=shim(KILL_AT=n)).code == KILLED
        check_only_whole_files(out, expected)
        bale_program.ok("merge", out)
        assert tree_bytes(out) == expected, n
        assert sorted(os.listdir(out)) == sorted(expected), n


def write_parts(out, part, format_name):
    """What SCRIPT writes, in this process."""
    with bale.Writer(out, classes=["a", "b"], part=part, parts=3, shard_samples=3, jobs=1, format=format_name) as writer:
        for i in range(part, 20, 3):
            writer.add(f"dir/{i}", {"ppm": PPM + bytes([i]) * 18, "json": {"i": i}}, label=i % 2)


def test_what_is_refused(tmp_path):
    out = tmp_path / "x"
    for bad in ({"part": 3, "parts": 3}, {"part": -1, "parts": 3}, {"part": 1}, {"parts": 3}):
        with pytest.raises(ValueError, match="part"):
            bale.Writer(out, **bad)
    assert not out.exists()
    write_here(out, 0, [0, 1])
    write_here(out, 1, [2, 3], classes=["a", "c"])
    write_here(out, 2, [1, 4])
    with pytest.raises(bale.Error, match="had other classes than"):
        bale.merge(out)
    write_here(out, 1, [2, 3], overwrite=True)
    with pytest.raises(bale.Error, match="have the same key") as caught:
        bale.merge(out)
    assert caught.value.code == "invalid_argument" and "dir/1" in str(caught.value)
    for other in (lambda: bale.Writer(out), lambda: bale.Writer(out, overwrite=True), lambda: bale.pack([(PPM + b"x" * 18, 0)], out)):
        with pytest.raises(bale.Error, match="holds parts of Writers that are not merged"):
            other()
    write_here(out, 2, [4], overwrite=True)
    assert bale.merge(out)["samples"] == 5
    with pytest.raises(bale.Error, match="it holds a packed dataset"):
        bale.Writer(out, part=0, parts=3)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    with pytest.raises(bale.Error, match="is not empty"):
        bale.Writer(tmp_path / "other", part=0, parts=3)


def test_parts_without_samples(tmp_path):
    out = tmp_path / "x"
    write_here(out, 0, [])
    write_here(out, 1, [5, 6])
    assert write_here(out, 2, []).report["samples"] == 0
    assert bale.merge(out)["samples"] == 2
    assert len(shards(out)) == 1
    for part in range(PARTS):
        write_here(tmp_path / "none", part, [])
    with pytest.raises(bale.Error, match="no part has a sample"):
        bale.merge(tmp_path / "none")


def test_skipped_samples_are_in_the_list_of_all(tmp_path):
    out = tmp_path / "x"
    for part in range(PARTS):
        with bale.Writer(out, part=part, parts=PARTS, on_error="skip") as writer:
            writer.add(f"good/{part}", {"ppm": PPM + b"x" * 18})
            if part:
                writer.add(f"bad/{part}", {"jpg": b"no image"})
    report = bale.merge(out)
    assert report["samples"] == 3 and len((out / "skipped.jsonl").read_text().splitlines()) == 2


def test_one_writer_per_part(tmp_path):
    out = tmp_path / "x"
    first = bale.Writer(out, part=0, parts=2)
    with pytest.raises(bale.Error) as caught:
        bale.Writer(out, part=0, parts=2, resume=True)
    assert caught.value.code == "retryable"
    second = bale.Writer(out, part=1, parts=2)  # has its own lock
    assert "part=0, parts=2" in repr(first)
    for writer in (first, second):
        writer.abandon()
    run_script("import bale, sys\nbale.Writer(sys.argv[1], part=0, parts=2).abandon()", out)
