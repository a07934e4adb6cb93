"""bale plan, bale pack --plan and bale merge: what parts pack in any order, twice, at once, killed and run again, is byte for
byte what one run of bale pack writes."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest
from conftest import ALL_LAYOUTS, PROGRAM, by_tier, format_options, on_terminal, shards, shim, tree_bytes
from fault_support import KILLED, check_only_whole_files, count_calls
from test_memory import measured


def make_plan(bale, source, out, *options, cwd=None):
    plan = out.with_name(out.name + ".plan")
    bale.ok("plan", source, out, "-o", plan, *options, cwd=cwd)
    return plan


def pack_parts(bale, plan, order, parts, **kwargs):
    for part in order:
        bale.ok("pack", "--plan", plan, "--part", f"{part}/{parts}", "--quiet", **kwargs)


@pytest.fixture
def mixed(tmp_path, photos):
    """A copy of the photos with masks, a table over them, and a list."""
    folder = tmp_path / "mixed"
    shutil.copytree(photos, folder)
    rows = ["path,label,note"]
    for path in sorted(folder.rglob("*.*")):
        rows.append(f'{path},{path.parent.name},"a, note"')
        shutil.copy(path, path.with_name(path.stem + ".mask.png"))
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    return folder


CASES = {
    "shuffled": ["--shuffle", "3"],
    "seek points": ["--seek-points"],
    "sidecars": ["--sidecars", "wds2idx,wids", "--keep-extensions"],
    "splits": ["--split", "train=0.7,val=0.3", "--stratify", "--shuffle", "5"],
    "where": ["--where", "width > 1 and label in (1, 3)"],
    "resized": ["--resize-short", "40", "--quality", "80", "--check-images"],
    "zstd": ["--compress", "zstd:5"],
    "by bytes": ["--shard-size", "20KB", "--exclude", "*7.*"],
    "by count": ["--shard-count", "3", "--max-samples", "31"],
}


def compare(bale, source, tmp_path, options, command="pack"):
    """Packs in one run, and in parts: out of order and one of them twice."""
    one, out = tmp_path / "one", tmp_path / "out"
    options = ["--name", "x", *options]
    code = bale(command, source, one, *options).code
    assert code in (0, 4)
    plan = make_plan(bale, source, out, *options)
    for part in (2, 0, 1, 0):
        assert bale("pack", "--plan", plan, "--part", f"{part}/3").code in (0, code)
    merged = bale("merge", plan)
    assert merged.code == code, merged
    assert tree_bytes(out) == tree_bytes(one)
    assert sorted(os.listdir(out)) == sorted(os.listdir(one))
    return tree_bytes(out)


@pytest.mark.parametrize("layout", [".".join(layout) for layout in ALL_LAYOUTS])
def test_every_layout(bale, photos, layout, tmp_path):
    compare(bale, photos, tmp_path, [*format_options(layout), "--shard-samples", "7"])


@pytest.mark.parametrize("case", CASES)
def test_options(bale, photos, case, tmp_path):
    sizing = [] if "--shard" in " ".join(CASES[case]) else ["--shard-samples", "7"]
    compare(bale, photos, tmp_path, [*CASES[case], *sizing])


@pytest.mark.parametrize("kind", ["pairs", "distant pairs", "table", "list", "flat"])
def test_sources_of_files(bale, mixed, kind, tmp_path):
    options = ["--shard-samples", "7"]
    source = mixed
    if kind == "pairs":
        next(mixed.rglob("*3.mask.png")).unlink()  # a bad sample
        options += ["--pair", "JPEG,mask.png", "--on-error", "skip"]
    elif kind == "distant pairs":
        options += ["--pair", "JPEG,mask.png", "--pair-path", "mask.png={dir}/{stem}.mask.png"]
    elif kind == "table":
        source = tmp_path / "table.csv"
    elif kind == "list":
        (tmp_path / "list").write_text("\n".join(str(path) for path in sorted(mixed.rglob("*.JPEG"))))
        options += ["--source", "list"]
        source = tmp_path / "list"
    else:
        options += ["--flat"]
    compare(bale, source, tmp_path, options)


def test_packed_sources(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed", "--shard-samples", "9")
    compare(bale, tmp_path / "packed", tmp_path, ["--shuffle", "1", "--shard-samples", "7", "--exclude", "*5"], "convert")
    for path in (tmp_path / "packed").glob("*.bidx"):
        path.unlink()
    (tmp_path / "packed" / "manifest.json").unlink()
    for name in ("one", "out"):
        shutil.rmtree(tmp_path / name)
    (tmp_path / "out.plan").unlink()
    compare(bale, str(tmp_path / "packed" / "*.tar"), tmp_path, ["--format", "lmdb", "--shard-samples", "7"], "convert")


def test_bad_samples_are_listed_as_in_one_run(bale, mixed, tmp_path):
    victims = sorted(mixed.rglob("*.JPEG"))
    victims[3].write_bytes(b"no image")
    victims[20].write_bytes(b"")
    tree = compare(bale, mixed, tmp_path, ["--on-error", "skip", "--shard-samples", "1"])
    assert tree["skipped.jsonl"].count(b"\n") == 2
    plan = make_plan(bale, mixed, tmp_path / "strict")
    assert str(victims[3]) in bale("pack", "--plan", plan, "--part", "0/1").error_line()


@pytest.mark.parametrize("layout", ["tar", "lmdb"])
def test_killed_at_every_call(bale, tiny, layout, tmp_path):
    """One part is killed at each call that changes a file and run again; so is the merge."""
    options = ["--format", layout, "--name", "x", "--shard-samples", "2"]
    if layout == "tar":
        options += ["--sidecars", "wids"]
    bale.pack(tiny, tmp_path / "one", *options)
    expected = tree_bytes(tmp_path / "one")
    part = ("pack", "--jobs", "1", "--part", "0/2", "--plan")
    plan = make_plan(bale, tiny, tmp_path / "count", *options)
    calls = count_calls(bale, tmp_path, *part, plan)
    assert calls > 10
    for n in range(1, calls + 1, by_tier(2, 1)):
        plan = make_plan(bale, tiny, tmp_path / f"kill-{n}", *options)
        out = tmp_path / f"kill-{n}"
        assert bale(*part, plan, env=shim(KILL_AT=n)).code == KILLED
        check_only_whole_files(out, expected)
        pack_parts(bale, plan, [1, 0], 2)
        left = [name for name in os.listdir(next((out / ".bale-partial").iterdir())) if ".staged" in name]
        assert not left, n
        bale.ok("merge", plan)
        assert tree_bytes(out) == expected, n
    pack_parts(bale, tmp_path / "count.plan", [1], 2)
    whole = tmp_path / "count"
    backup = tmp_path / "backup"
    shutil.copytree(whole, backup)
    calls = count_calls(bale, tmp_path, "merge", tmp_path / "count.plan", "--jobs", "1")
    for n in range(1, calls + 1, by_tier(3, 1)):
        shutil.rmtree(whole)
        shutil.copytree(backup, whole)
        assert bale("merge", tmp_path / "count.plan", "--jobs", "1", env=shim(KILL_AT=n)).code == KILLED
        bale.ok("merge", tmp_path / "count.plan")
        assert tree_bytes(whole) == expected, n
        assert not (whole / ".bale-partial").exists()


def test_every_call_fails(bale, tiny, tmp_path):
    """An error at a call is reported, or does no harm; the part is run again."""
    options = ["--name", "x", "--shard-samples", "3"]
    bale.pack(tiny, tmp_path / "one", *options)
    expected = tree_bytes(tmp_path / "one")
    part = ("pack", "--jobs", "1", "--part", "0/1", "--plan")
    calls = count_calls(bale, tmp_path, *part, make_plan(bale, tiny, tmp_path / "count", *options))
    for n in range(1, calls + 1, by_tier(3, 1)):
        out = tmp_path / f"fail-{n}"
        plan = make_plan(bale, tiny, out, *options)
        failed = bale(*part, plan, env=shim(FAIL_AT=n, ERRNO=5))
        assert failed.code in (0, 1)
        check_only_whole_files(out, expected)
        bale.ok(*part, plan)
        bale.ok("merge", plan)
        assert tree_bytes(out) == expected, n


def test_an_attempt_that_sleeps_while_another_finishes(bale, tiny, tmp_path):
    """Stopped at a call, overtaken by another attempt at the same part, by the merge even, and continued."""
    options = ["--name", "x", "--shard-samples", "3"]
    bale.pack(tiny, tmp_path / "one", *options)
    expected = tree_bytes(tmp_path / "one")
    part = ("pack", "--jobs", "1", "--part", "0/1", "--plan")
    calls = count_calls(bale, tmp_path, *part, make_plan(bale, tiny, tmp_path / "count", *options))
    rng = random.Random(1)
    for n in rng.sample(range(1, calls + 1), by_tier(12, calls)):
        out = tmp_path / f"stop-{n}"
        plan = make_plan(bale, tiny, out, *options)
        sleeper = subprocess.Popen([PROGRAM, *part, plan], env={**os.environ, **shim(STOP_AT=n)}, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
        bale.ok(*part, plan)
        if n % 2:
            bale.ok("merge", plan)
        sleeper.send_signal(signal.SIGCONT)
        _, errors = sleeper.communicate(timeout=60)
        assert sleeper.returncode == 0, (n, errors)
        bale.ok("merge", plan)
        assert tree_bytes(out) == expected, n


def test_all_parts_at_once_each_twice(bale, photos, tmp_path):
    options = ["--name", "x", "--shard-samples", "3"]
    bale.pack(photos, tmp_path / "one", *options)
    plan = make_plan(bale, photos, tmp_path / "out", *options)
    running = [subprocess.Popen([PROGRAM, "pack", "--plan", plan, "--part", f"{part}/4", "--quiet"])
               for part in range(4) for _ in range(2)]
    assert [process.wait(timeout=120) for process in running] == [0] * 8
    merging = [subprocess.Popen([PROGRAM, "merge", plan, "--quiet"]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in merging] == [0] * 3
    assert tree_bytes(tmp_path / "out") == tree_bytes(tmp_path / "one")


def test_a_merge_that_another_one_overtakes(bale, tiny, tmp_path):
    """At every call: the other merge publishes the dataset and removes what the parts kept, and both end with 0."""
    options = ["--name", "x", "--shard-samples", "3"]
    bale.pack(tiny, tmp_path / "one", *options)
    expected = tree_bytes(tmp_path / "one")

    def packed(name):
        plan = make_plan(bale, tiny, tmp_path / name, *options)
        pack_parts(bale, plan, range(2), 2)
        return plan
    calls = count_calls(bale, tmp_path, "merge", packed("count"))
    for n in range(1, calls + 1, by_tier(3, 1)):
        plan = packed(f"out-{n}")
        sleeper = subprocess.Popen([PROGRAM, "merge", plan, "--quiet"], env={**os.environ, **shim(STOP_AT=n)})
        os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
        bale.ok("merge", plan)
        sleeper.send_signal(signal.SIGCONT)
        assert sleeper.wait(timeout=120) == 0, n
        assert tree_bytes(tmp_path / f"out-{n}") == expected, n


@pytest.mark.parametrize("mount", ["nfs", "lustre", "cifs", "overlay"])
def test_other_file_systems(bale, tiny, mount, tmp_path):
    """Killed, run twice at once and merged where there are no locks, no unnamed files, no hard links, no renames over files or of
    directories."""
    options = ["--name", "x", "--shard-samples", "2"]
    bale.pack(tiny, tmp_path / "one", *options)
    expected = tree_bytes(tmp_path / "one")
    env = {**os.environ, **shim(MOUNT=mount)}
    rng = random.Random(mount)
    for n in rng.sample(range(1, 60), by_tier(3, 30)):
        out = tmp_path / f"out-{n}"
        plan = make_plan(bale, tiny, out, *options)
        bale("pack", "--plan", plan, "--part", "0/1", "--jobs", "1", env={**env, **shim(KILL_AT=n)})
        running = [subprocess.Popen([PROGRAM, "pack", "--plan", plan, "--part", f"{part}/2", "--quiet"], env=env)
                   for part in (0, 1, 0)]
        for process in running:
            process.wait(timeout=120)
        pack_parts(bale, plan, [0, 1], 2, env=env)  # what two attempts did to each other is mended
        bale.ok("merge", plan, env=env)
        assert {name: content for name, content in tree_bytes(out).items() if ".nfs" not in name} == expected, n


def test_missing_parts_are_named(bale, photos, tmp_path):
    plan = make_plan(bale, photos, tmp_path / "out", "--shard-samples", "2")  # 20 shards
    pack_parts(bale, plan, [0, 1, 4, 5, 6], 10)
    missing = bale("merge", plan)
    assert missing.code == 5
    assert "missing of 10 parts: 2,3,7-9" in missing.err and "--array=2,3,7-9 " in missing.err
    assert "8 of 20 shards not packed: 4..7,14..19" in missing.error_line() or "10 of 20" in missing.error_line()
    reported = json.loads(bale("merge", plan, "--json").out)
    assert reported["missing_parts"] == [2, 3, 7, 8, 9] and reported["parts"] == 10 and reported["array"] == "2,3,7-9"
    assert reported["missing_shards"] == [4, 5, 6, 7, *range(14, 20)]
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert "bale merge" in bale("ls", tmp_path / "out").error_line()
    bale.ok("pack", "--plan", plan, "--shards", "4,5..7,14..19,14")
    bale.ok("merge", plan)
    bale.ok("verify", tmp_path / "out")


@pytest.mark.parametrize("policy", ["fail", "skip"])
@pytest.mark.parametrize("harm", ["content", "time", "gone"])
def test_a_file_that_changed_since_the_plan(bale, mixed, policy, harm, tmp_path):
    plan = make_plan(bale, mixed, tmp_path / "out", "--shard-samples", "10", "--on-error", policy)
    victim = sorted(mixed.rglob("*.JPEG"))[12]
    if harm == "content":
        victim.write_bytes(victim.read_bytes() + b"\0")
    elif harm == "time":
        os.utime(victim)
    else:
        victim.unlink()
    codes = []
    for part in range(4):
        result = bale("pack", "--plan", plan, "--part", f"{part}/4")
        codes.append(result.code)
        if result.code:
            assert str(victim) in result.error_line() and "since the plan was made" in result.error_line()
    assert sorted(codes)[-2:] == [0, 1] and sum(codes) == 1
    assert bale("merge", plan).code == 5


def test_a_packed_source_that_changed(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed", "--shard-samples", "9")
    plan = make_plan(bale, tmp_path / "packed", tmp_path / "out", "--shard-samples", "7")
    bale.pack(photos, tmp_path / "packed", "--shard-samples", "9", "--shuffle", "1", "--overwrite")
    result = bale("pack", "--plan", plan, "--part", "0/2")
    assert result.code == 1 and "changed since the plan was made" in result.error_line()


def test_damaged_plans(bale, tiny, tmp_path):
    plan = make_plan(bale, tiny, tmp_path / "out", "--shard-samples", "3")
    whole = plan.read_bytes()
    rng = random.Random(5)
    cases = [whole[:size] for size in rng.sample(range(len(whole)), by_tier(15, 200))] + [whole + b"\0"]
    for at in rng.sample(range(8, len(whole)), by_tier(60, len(whole) - 8)):
        cases.append(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:])
    flags = whole.index(b"\x28\xb5\x2f\xfd") + 4  # of the first zstd frame: now it asks for a dictionary
    cases.append(whole[:flags] + bytes([whole[flags] ^ 1]) + whole[flags + 1:])
    for case in cases:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        plan.write_bytes(case)
        result = bale("pack", "--plan", plan, "--part", "0/1", "--jobs", "1")
        assert result.code == 1 and re.search("damaged|not a plan|another version", result.error_line()), result
        assert not (tmp_path / "out" / "manifest.json").exists()
    plan.write_bytes(whole)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    bale.ok("pack", "--plan", plan, "--part", "0/1")
    bale.ok("merge", plan)
    bale.ok("verify", tmp_path / "out")


def test_finished_shards_are_compared_and_not_written_again(bale, photos, tmp_path):
    options = ["--name", "x", "--shard-samples", "10"]
    bale.pack(photos, tmp_path / "one", *options)
    out = tmp_path / "out"
    plan = make_plan(bale, photos, out, *options)
    pack_parts(bale, plan, [0], 1)
    before = {path: path.stat().st_mtime_ns for path in shards(out)}
    assert "4 shards found finished" in bale.ok("pack", "--plan", plan, "--part", "0/1").out
    assert before == {path: path.stat().st_mtime_ns for path in shards(out)}
    damaged, gone = shards(out)[1], shards(out)[2]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\1")
    gone.with_name(gone.name + ".bidx").unlink()
    missing = bale("merge", plan)
    assert missing.code == 5 and "not packed: 1,2" in missing.error_line()  # the ends of a shard are read
    assert "2 shards found finished" in bale.ok("pack", "--plan", plan, "--part", "0/1").out
    bale.ok("merge", plan)
    assert tree_bytes(out) == tree_bytes(tmp_path / "one")
    shards(out)[0].write_bytes(b"")
    for command in (["pack", "--plan", plan, "--part", "0/1"], ["merge", plan]):
        assert "the shard is not what was merged" in bale(*command).error_line()
    bale.ok("pack", photos, out, *options, "--resume")
    assert tree_bytes(out) == tree_bytes(tmp_path / "one")


@pytest.mark.parametrize("other", ["0" * 32, "f" * 32], ids=["first", "last"])
def test_attempts_that_wrote_other_bytes(bale, photos, other, tmp_path):
    """Two records of one shard are noticed, and packing the part again repairs it."""
    options = ["--name", "x", "--shard-samples", "10"]
    bale.pack(photos, tmp_path / "one", *options)
    plan = make_plan(bale, photos, tmp_path / "out", *options)
    pack_parts(bale, plan, [0], 1)
    records = sorted(next((tmp_path / "out" / ".bale-partial").iterdir()).glob("0000001.*.done"))
    assert len(records) == 1
    text = records[0].read_text()
    digest = json.loads(text)["digest"][5:]
    records[0].with_name(records[0].name.replace(digest, other)).write_text(text.replace(digest, other))
    missing = bale("merge", plan)
    assert missing.code == 5 and "1 of 4 shards not packed: 1;" in missing.error_line()
    pack_parts(bale, plan, [0], 1)
    bale.ok("merge", plan)
    assert tree_bytes(tmp_path / "out") == tree_bytes(tmp_path / "one")


def test_only_one_thing_at_a_destination(bale, photos, tiny, tmp_path):
    out = tmp_path / "out"
    options = ["--name", "x", "--shard-samples", "10"]
    plan = make_plan(bale, photos, out, *options)
    other = tmp_path / "other.plan"
    bale.ok("plan", tiny, out, "-o", other)
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    result = bale("pack", "--plan", plan, "--part", "0/2")
    assert result.code == 1 and "is not empty" in result.error_line()
    assert os.listdir(out) == ["notes.txt"]
    (out / "notes.txt").unlink()
    pack_parts(bale, plan, [0], 2)
    for command in (["pack", "--plan", other, "--part", "0/1"], ["pack", tiny, out], ["pack", photos, out, "--overwrite"],
                    ["pack", photos, out, *options, "--resume"], ["plan", tiny, out, "-o", tmp_path / "third.plan"]):
        before = tree_bytes(out)
        result = bale(*command)
        assert result.code == 1 and re.search("holds parts of|is not empty", result.error_line()), result
        assert tree_bytes(out) == before
    shutil.rmtree(out)
    assert bale("pack", photos, out, *options, env=shim(KILL_AT=30)).code == KILLED
    result = bale("pack", "--plan", plan, "--part", "0/2")
    assert result.code == 1 and "holds an unfinished pack" in result.error_line()


def test_wrong_usage(bale, photos, tmp_path):
    plan = make_plan(bale, photos, tmp_path / "out", "--shard-samples", "10")
    for command, why in [
        (["pack", "--plan", plan], "--plan needs --part or --shards"),
        (["pack", "--plan", plan, "--part", "4/4"], "I/N with I from 0 to N-1"),
        (["pack", "--plan", plan, "--part", "0/4", "--shards", "1"], "excludes"),
        (["pack", "--plan", plan, "--part", "0/4", "--shuffle", "1"], "excludes"),
        (["pack", "--plan", plan, "--part", "0/4", photos, tmp_path / "x"], "excludes"),
        (["pack", "--plan", plan, "--shards", "3,4"], "its shards are 0..3"),
        (["pack", photos, tmp_path / "x", "--part", "0/4"], "requires --plan"),
        (["plan", photos, tmp_path / "x"], "--output is required"),
        (["plan", photos, tmp_path / "x", "-o", tmp_path / "x.plan", "--on-error", "quarantine"], "no quarantine"),
        (["plan", photos, photos / "x", "-o", tmp_path / "x.plan"], "lies in the source"),
    ]:
        result = bale(*command)
        assert result.code == 2 and why in result.error_line(), result
    assert "exists" in bale("plan", photos, tmp_path / "y", "-o", plan).error_line()
    assert "parts are numbered" not in bale("pack", "--plan", plan, "--part", "0/9", "--dry-run").err
    assert bale("pack", "--plan", photos / "none", "--part", "0/1").code == 1
    assert not (tmp_path / "x").exists() and not (tmp_path / "x.plan").exists()


def test_previews_and_json(bale, photos, tmp_path):
    plan = make_plan(bale, photos, tmp_path / "out", "--shard-samples", "10", "--name", "x")
    assert json.loads(bale.ok("plan", photos, tmp_path / "b", "-o", tmp_path / "b.plan", "--json").out)["samples"] == 40
    assert "nothing was written" in bale.ok("plan", photos, tmp_path / "c", "-o", tmp_path / "c.plan", "--dry-run").out
    assert not (tmp_path / "c.plan").exists()
    rows = json.loads(bale.ok("pack", "--plan", plan, "--part", "1/2", "--dry-run", "--json").out)["shards"]
    assert [row["samples"] for row in rows] == [10, 10]
    assert not (tmp_path / "out").exists()
    reported = json.loads(bale.ok("pack", "--plan", plan, "--part", "1/2", "--json", "--json-progress").out)
    assert reported["samples"] == 20 and reported["shards"] == 2 and reported["resumed_shards"] == 0
    pack_parts(bale, plan, [0], 2)
    assert json.loads(bale.ok("merge", plan, "--json").out)["samples"] == 40
    assert bale.ok("pack", "--plan", plan, "--part", "999/1000").out  # more parts than shards: nothing to do


def test_relative_paths_hold_in_one_directory(bale, photos, tmp_path):
    shutil.copytree(photos, tmp_path / "photos")
    (tmp_path / "elsewhere").mkdir()
    bale.ok("pack", "photos", "one", "--name", "x", cwd=tmp_path)
    bale.ok("plan", "photos", "out", "--name", "x", "-o", "p.plan", cwd=tmp_path)
    result = bale("pack", "--plan", "../p.plan", "--part", "0/1", cwd=tmp_path / "elsewhere")
    assert result.code == 2 and f"relative to {tmp_path}" in result.error_line()
    bale.ok("pack", "--plan", "p.plan", "--part", "0/1", cwd=tmp_path)
    bale.ok("merge", "p.plan", cwd=tmp_path)
    assert tree_bytes(tmp_path / "out") == tree_bytes(tmp_path / "one")


def test_interrupted(bale, photos, tmp_path):
    options = ["--name", "x", "--shard-samples", "2"]
    bale.pack(photos, tmp_path / "one", *options)
    plan = make_plan(bale, photos, tmp_path / "out", *options)
    process, terminal = on_terminal([PROGRAM, "pack", "--plan", plan, "--part", "0/1", "--jobs", "1"],
                                    env={**os.environ, **shim(DELAY_MS=20)}, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out").exists() or not shards(tmp_path / "out"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.write(terminal, b"\x03")
    _, errors = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 130 and b"run the same command again to continue" in errors
    assert "found finished" in bale.ok("pack", "--plan", plan, "--part", "0/1").out
    bale.ok("merge", plan)
    assert tree_bytes(tmp_path / "out") == tree_bytes(tmp_path / "one")


def test_a_part_of_a_large_plan_takes_little_memory(bale, tiny, tmp_path):
    """A part of a plan of many rows takes what a part of a small plan takes. The other files do not exist."""
    rows = by_tier(200_000, 1_000_000)
    image = next(tiny.rglob("*.JPEG")).read_bytes()
    peaks = []
    for name, count in (("small", 2_000), ("large", rows)):
        folder = tmp_path / name
        folder.mkdir()
        first = count // 2
        for number in range(first, first + 1000):
            (folder / f"{number:09}.jpg").write_bytes(image)
        listing = "".join(f"{folder}/{number:09}.jpg\n" for number in range(count))
        (tmp_path / f"{name}.txt").write_text(listing)
        plan = tmp_path / f"{name}.plan"
        bale.ok("plan", tmp_path / f"{name}.txt", tmp_path / f"{name}.out", "-o", plan, "--source", "list", "--flat",
                "--shard-samples", "1000", "--quiet")
        code, printed, peak = measured("pack", "--plan", plan, "--shards", str(first // 1000), "--quiet")
        assert code == 0, printed
        peaks.append(peak)
        print(f"{count} rows: {plan.stat().st_size} bytes of plan, a part took {peaks[-1] >> 20} MiB")
    assert peaks[1] < peaks[0] + (8 << 20)
