"""What a run does to its destination: which datasets it may replace, how it continues, and what its plan says before."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

import pytest
from conftest import PROGRAM, make_images, manifest_of, shim, tree_bytes
from fault_support import KILLED, broken_off, count_calls, options
from image_support import picture
from PIL import Image


@pytest.fixture(scope="module")
def packed(bale, tiny, tmp_path_factory):
    directory = tmp_path_factory.mktemp("packs") / "small"
    bale.pack(tiny, directory, "--shard-samples", "2")
    return directory


def run_of(command, tiny, packed, out, *more):
    words = {"pack": ["pack", tiny, out], "convert": ["convert", packed, out], "merge": ["merge", packed, "-o", out],
             "list": ["pack", "--files-from", "-", out]}[command]
    return [*words, *more]


# --- the name

def test_a_name_that_is_too_long_for_files_is_refused(bale, tiny, tmp_path):
    (tmp_path / ("n" * 221)).symlink_to(tiny)
    for command in (["pack", tmp_path / ("n" * 221), tmp_path / "x"], ["pack", tiny, tmp_path / "x", "--name", "n" * 221, "--dry-run"]):
        result = bale(*command)
        assert result.code == 2 and "the name of the dataset has 221 bytes" in result.error_line() and "--name" in result.error_line(), result
    bale.pack(tiny, tmp_path / "x", "--name", "n" * 220, "--seek-points")
    bale.ok("verify", tmp_path / "x")


@pytest.mark.parametrize("command", ["pack", "convert", "merge"])
@pytest.mark.parametrize("layout", ["tar", "lmdb", "npy --size 16"])
def test_a_derived_name_replaces_no_other_dataset(bale, tiny, packed, command, layout, tmp_path):
    """The name is not taken from what stands there, and the advice of the refusal works."""
    out = tmp_path / "k"
    bale.pack(tiny, out, "--name", "big", "--format", *layout.split())
    before = tree_bytes(out)
    for more in ([], ["--dry-run"] if command != "merge" else []):
        result = bale(*run_of(command, tiny, packed, out, "--overwrite", *more))
        assert result.code == 1 and '"big"' in result.error_line(), result
        assert tree_bytes(out) == before
    assert "--name big" in result.error_line()
    fresh = bale(*run_of(command, tiny, packed, out))
    assert fresh.code == 1 and "--overwrite and the --name big" in fresh.error_line(), fresh
    assert tree_bytes(out) == before
    bale.ok(*run_of(command, tiny, packed, out, "--overwrite", "--name", "big"))
    assert manifest_of(out)["name"] == "big"


def test_a_replacement_that_was_switched_is_not_replaced_by_another_name(bale, tiny, tmp_path):
    """Also if the dataset of the other name only gets its place now."""
    out = tmp_path / "out"
    bale.pack(tiny, out, *options("tar", 2))
    bale.pack(tiny, tmp_path / "new", *options("tar", 3))
    env = shim(ONLY="renameat")
    shutil.copytree(out, tmp_path / "count")
    calls = count_calls(bale, tmp_path, "pack", tiny, tmp_path / "count", *options("tar", 3), "--overwrite", env=env)
    seen = 0
    for n in range(1, calls + 1):
        place = tmp_path / f"k{n}"
        shutil.copytree(out, place)
        assert bale("pack", tiny, place, *options("tar", 3), "--overwrite", env={**env, "BALE_SHIM_KILL_AT": str(n)}).code == KILLED
        if (place / "manifest.json").exists():
            continue
        seen += 1
        result = bale("pack", tiny, place, "--overwrite")
        assert result.code == 1 and '"x"' in result.error_line()
        assert tree_bytes(place) == tree_bytes(tmp_path / "new")
    assert seen


# --- splits

@pytest.mark.parametrize("command", ["pack", "convert"])
@pytest.mark.parametrize("held", ["top", "top and splits"])
def test_splits_do_not_go_below_a_dataset(bale, tiny, packed, command, held, tmp_path):
    out = tmp_path / "tiny"
    split = ["--split", "train=0.5,val=0.5"]
    if held != "top":
        bale.pack(tiny, out, *split)
    bale.pack(tiny, out, "--name", "old", "--overwrite")
    before = tree_bytes(out)
    for more in (["--overwrite"], ["--overwrite", "--dry-run"], [], ["--resume"] if held == "top" else []):
        result = bale(*run_of(command, tiny, packed, out, *split, *more))
        assert result.code == 1 and tree_bytes(out) == before, result
        if "--overwrite" in more:
            assert '"old"' in result.error_line() and "splits" in result.error_line()


@pytest.mark.parametrize("command", ["pack", "convert", "merge"])
def test_datasets_that_stay_below_are_reported(bale, tiny, packed, command, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out, "--split", "train=0.5,val=0.5")
    before = tree_bytes(out)
    command = run_of(command, tiny, packed, out, "--name", "x", "--overwrite", "--quiet", "--json")
    result = bale.ok(*command)
    assert f"warning: {out} holds other datasets, which stay: train and 1 more" in result.err
    assert json.loads(result.out)["warnings"] == [f"{out} holds other datasets, which stay: train and 1 more"]
    assert tree_bytes(out).items() >= before.items()


# --- how a run continues

def follow(bale, command, line):
    """The command that the advice in an error line names; None if there is no advice to continue."""
    if "then run the same command again" in line:
        return command
    if "with --resume instead of --overwrite" in line:
        return [word if word != "--overwrite" else "--resume" for word in command]
    if "run again with --resume" in line:  # the new dataset is complete
        return [word if word != "--overwrite" else "--resume" for word in command]
    return [*command, "--resume"] if "with --resume" in line else None


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    root = tmp_path_factory.mktemp("more") / "more"
    make_images.make_tree(root, classes=2, per_class=5, size=(20, 14))
    return root


@pytest.mark.parametrize("error", [28, 122])  # ENOSPC, EDQUOT
def test_the_advice_after_a_full_disk_works_in_every_state(bale, tiny, more, error, tmp_path):
    bale.pack(tiny, tmp_path / "old", *options("tar", 2))
    bale.pack(more, tmp_path / "new", *options("tar", 3))
    old, new = tree_bytes(tmp_path / "old"), tree_bytes(tmp_path / "new")
    command = ["pack", more, tmp_path / "count", *options("tar", 3), "--overwrite"]
    shutil.copytree(tmp_path / "old", tmp_path / "count")
    calls = count_calls(bale, tmp_path, *command)
    advised = 0
    for n in range(1, calls + 1, 3):
        for again in ("--resume", "--overwrite"):
            out = tmp_path / f"out-{n}{again}"
            shutil.copytree(tmp_path / "old", out)
            command[2] = out
            failed = bale(*command, env=shim(FAIL_AT=n, ERRNO=error))
            if failed.code == 0:
                continue
            line = failed.error_line()
            by_advice = follow(bale, command, line)
            if again == "--resume" and by_advice is not None:
                advised += 1
                bale.ok(*by_advice)
            else:
                if (out / "manifest.json").exists() and not list(out.glob("x-000003*")):
                    assert {name: content for name, content in tree_bytes(out).items() if ".bale" not in name} in (old, new)
                bale.ok(*command)
            assert tree_bytes(out) == new, (n, again, line)
            shutil.rmtree(out)
    assert advised > 5


def interrupted(command, ready, **settings):
    run = subprocess.Popen([PROGRAM, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           env={**os.environ, **shim(**settings)})
    deadline = time.monotonic() + 60
    while not ready() and time.monotonic() < deadline and run.poll() is None:
        time.sleep(0.002)
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=30)
    assert run.returncode == 130, stderr
    return [line for line in stderr.decode().splitlines() if line.startswith("bale: ")][-1]


@pytest.mark.parametrize("again", ["advice", "--overwrite", "--resume"])
@pytest.mark.parametrize("recorded", [0, 1])
@pytest.mark.parametrize("command", ["pack", "convert", "merge"])
def test_an_interrupted_overwrite_continues(bale, photos, command, recorded, again, tmp_path):
    """Before a shard is finished and after one: by what the line says, and by either flag."""
    bale.pack(photos, tmp_path / "packed", "--shard-samples", "4", "--name", "p")
    out, new = tmp_path / "out", tmp_path / "new"
    bale.pack(photos, out, "--shard-samples", "9", "--name", "x")
    old = tree_bytes(out)
    sizing = [] if command == "merge" else ["--shard-samples", "4"]
    words = run_of(command, photos, tmp_path / "packed", out, *sizing, "--name", "x", "--jobs", "1", "--overwrite")
    bale.ok(*[new if word == out else word for word in words if word != "--overwrite"])
    journal = out / ".bale-partial" / "journal.jsonl"

    def ready():
        lines = journal.read_text().count("\n") if journal.exists() else 0
        return lines == 1 + recorded
    line = interrupted(words, ready, DELAY_MS=40)
    assert "interrupted with" in line and "shards written" in line
    assert {name: content for name, content in tree_bytes(out).items() if ".bale" not in name} == old
    bale.ok("verify", out)
    by_advice = follow(bale, words, line)
    assert by_advice is not None and "--overwrite" not in by_advice
    told = bale(*[word for word in words if word != "--overwrite"])
    assert told.code == 1 and "--resume" in told.error_line() and "--overwrite" in told.error_line()
    bale.ok(*(by_advice if again == "advice" else [word if word != "--overwrite" else again for word in words]))
    assert tree_bytes(out) == tree_bytes(new)


def test_an_interrupted_fresh_pack_continues(bale, photos, tmp_path):
    out = tmp_path / "out"
    command = ["pack", photos, out, *options("tar", 4)]
    line = interrupted(command, lambda: (out / ".bale-partial" / "journal.jsonl").exists(), DELAY_MS=20)
    bale.ok(*follow(bale, command, line))
    bale.pack(photos, tmp_path / "new", *options("tar", 4))
    assert tree_bytes(out) == tree_bytes(tmp_path / "new")


# --- what changed

@pytest.mark.parametrize("before,after,told", [
    (["--shard-samples", "2"], ["--shard-samples", "3"], ["--shard-samples from 2 to 3"]),
    (["--shard-samples", "2"], ["--shard-count", "2"], ["--shard-samples from 2 to none", "--shard-count from none to 2"]),
    (["--shard-samples", "2"], ["--shard-samples", "2", "--shuffle", "7"], ["--shuffle from none to 7"]),
    (["--shard-samples", "2", "--compress", "zstd:3"], ["--shard-samples", "2"], ["--compress from 3 to none"]),
    (["--shard-samples", "2"], ["--shard-samples", "2", "--format", "lmdb"], ["--format from tar.plain to lmdb.plain"]),
    (["--shard-samples", "2", "--resize-short", "9"], ["--shard-samples", "2", "--resize-short", "10"],
     ["--resize-short from 9 to 10"]),
    (["--shard-samples", "2"], ["--shard-samples", "2", "--jpeg-lossless"], ["--jpeg-lossless from none to"]),
    (["--shard-samples", "2"], ["--shard-samples", "2", "--max-samples", "4"],
     ["--max-samples from none to 4", "2 removed ("]),
    (["--shard-samples", "2"], ["--shard-samples", "2", "--name", "y"], ["--name from x to y"]),
])
def test_options_that_changed_are_named(bale, tiny, before, after, told, tmp_path):
    out = tmp_path / "out"
    broken_off(bale, tiny, out, *before)
    kept = tree_bytes(out)
    for more in ([], ["--dry-run"]):
        result = bale("pack", tiny, out, "--name", "x", *after, "--resume", *more) if "--name" not in after else \
            bale("pack", tiny, out, *after, "--resume", *more)
        assert result.code == 1 and all(text in result.error_line() for text in told), result
        assert tree_bytes(out) == kept
    bale.pack(tiny, out, "--name", "x", *before, "--resume")


def test_files_that_changed_are_named(bale, tiny, tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(tiny, source)
    broken_off(bale, source, out, "--shard-samples", "2")
    files = sorted(source.rglob("*.JPEG"))
    keys = [str(path.relative_to(source).with_suffix("")) for path in files]
    content = files[0].read_bytes()
    files[1].unlink()
    os.utime(files[2], ns=(0, 0))
    files[3].write_bytes(content + bytes(3))
    for number in range(5):
        (files[0].parent / f"new {number}\n.JPEG").write_bytes(content)
    result = bale("pack", source, out, "--name", "x", "--shard-samples", "2", "--resume")
    line = result.error_line()
    assert result.code == 1 and "other files" in line
    assert f"1 removed ({keys[1]})" in line and f"2 changed ({keys[2]}, {keys[3]})" in line
    assert re.search(r"5 added \([^()]*new 0\\x0a, [^()]* and 2 more\)", line), line


def test_a_finished_dataset_says_what_changed(bale, tiny, tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(tiny, source)
    bale.pack(source, out, "--name", "x", "--shard-samples", "2")
    first = sorted(source.rglob("*.JPEG"))[0]
    shutil.copy(first, first.parent / "more.JPEG")
    result = bale("pack", source, out, "--name", "x", "--shard-samples", "2", "--resume", "--seek-points")
    assert "1 added" in result.error_line()
    (first.parent / "more.JPEG").rename(tmp_path / "more.JPEG")
    result = bale("pack", source, out, "--name", "x", "--shard-samples", "2", "--resume", "--seek-points")
    assert result.code == 1 and "or an option of how shards are written" in result.error_line()
    (tmp_path / "more.JPEG").rename(first.parent / "more.JPEG")
    result = bale("pack", source, out, "--name", "x", "--shard-samples", "2", "--resume")
    key = str((first.parent / "more").relative_to(source))
    assert result.code == 1 and f"it holds a packed dataset of other files or options: 1 added ({key})" in result.error_line()
    result = bale("pack", source, out, "--name", "x", "--shard-samples", "2", "--format", "tfrecord", "--resume")
    assert "--format from tar.plain to tfrecord" in result.error_line()


def test_merged_sources_that_changed_are_named(bale, packed, tiny, tmp_path):
    out, other = tmp_path / "out", tmp_path / "other"
    folder = tmp_path / "folder"
    make_images.make_tree(folder, classes=2, per_class=2, size=(20, 14))
    for path in list(folder.rglob("*.JPEG")):
        path.rename(path.with_name("z" + path.name))
    bale.pack(folder, other)
    env = shim(ONLY="fsync", KILL_AT=4)
    assert bale("merge", packed, "-o", out, "--name", "x", "--jobs", "1", env=env).code == KILLED
    result = bale("merge", packed, other, "-o", out, "--name", "x", "--resume")
    assert result.code == 1 and "1 added (" in result.error_line() and "folder-000000.tar" in result.error_line(), result


# --- the size of shards

@pytest.mark.parametrize("command", ["pack", "convert", "plan"])
def test_a_shard_size_that_makes_a_shard_per_sample_is_reported(bale, tiny, packed, command, tmp_path):
    words = {"pack": ["pack", tiny, tmp_path / "out"], "convert": ["convert", packed, tmp_path / "out"],
             "plan": ["plan", tiny, tmp_path / "out", "-o", tmp_path / "plan"]}[command]
    told = "a --shard-size of 256 bytes makes 6 shards of 6 samples"
    for more in (["--dry-run"], []):
        result = bale.ok(*words, "--shard-size", "256", "--json", "--quiet", *more)
        assert f"warning: {told}" in result.err
        assert told in json.loads(result.out)["warnings"][0]
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    (tmp_path / "plan").unlink(missing_ok=True)
    for sizing in (["--shard-size", "1MiB"], ["--shard-samples", "1"], ["--shard-count", "6"], []):
        result = bale.ok(*words, *sizing, "--dry-run", "--json")
        assert "warning" not in result.err and json.loads(result.out)["warnings"] == []


def test_help_says_what_a_shard_size_counts(bale):
    text = " ".join(bale.ok("pack", "--help").out.split())
    assert "when its fields would be more bytes than this" in text and "without what the container adds" in text


# --- images of finished shards

@pytest.fixture
def torn(tmp_path):
    """A PNG with a whole beginning and end, and no image in between: only decoding shows it."""
    root = tmp_path / "torn" / "a"
    root.mkdir(parents=True)
    for number in range(6):
        Image.fromarray(picture(60, 80)).save(root / f"{number}.png")
    content = bytearray((root / "1.png").read_bytes())
    middle = len(content) // 2
    content[middle:middle + 200] = bytes(200)
    (root / "1.png").write_bytes(content)
    return root.parent


@pytest.mark.parametrize("state", ["finished", "unfinished", "unfinished overwrite"])
@pytest.mark.parametrize("format_name", ["tar", "lmdb", "tfrecord"])
def test_images_of_finished_shards_are_checked(bale, torn, state, format_name, tmp_path):
    out = tmp_path / "out"
    command = ["pack", torn, out, *options(format_name, 2)]
    checked = bale.pack(torn, tmp_path / "checked", *options(format_name, 2), "--check-images")
    assert '(key "a/1")' in checked.err
    if state != "unfinished":
        assert "a/1" not in bale.ok(*command).err  # nobody has looked
    if state != "finished":
        more = ["--overwrite"] if "overwrite" in state else []
        assert bale(*command, *more, env=shim(UNREADABLE="a/5.png")).code == 1
    for again in range(2):
        result = bale.ok(*command, "--resume", "--check-images")
        if state == "finished" and not again:
            assert "1 shard found missing, damaged or with unchecked images and written again" in result.out
        assert '(key "a/1")' in result.err
        assert tree_bytes(out) == tree_bytes(tmp_path / "checked")
    assert "3 shards found finished" in result.out and "written again" not in result.out


# --- permissions

def modes(directory):
    found = {}
    for path in [directory, *directory.rglob("*")]:
        found[str(path.relative_to(directory))] = stat.S_IMODE(path.lstat().st_mode)
    return found


@pytest.mark.parametrize("mask", ["002", "022", "007"])
@pytest.mark.parametrize("more", [[], ["-f", "lmdb"], ["-f", "hdf5"], ["-f", "npy", "--size", "16"], ["-f", "tar.zst"],
                                  ["-f", "tfrecord"], ["-f", "recordio"], ["--split", "train=0.5,val=0.5"],
                                  ["--seek-points", "--sidecars", "wds2idx,wids"], ["--overwrite"],
                                  ["--on-error", "quarantine"]], ids=" ".join)
def test_the_umask_decides(bale, tiny, mask, more, tmp_path):
    source, out = tmp_path / "source", tmp_path / "deep" / "out"
    shutil.copytree(tiny, source)
    if "quarantine" in more:
        sorted(source.rglob("*.JPEG"))[0].write_bytes(b"")
    prefix = ["sh", "-c", f'umask {mask}; exec "$@"', "sh"]
    for _ in range(2 if "--overwrite" in more else 1):
        assert bale("pack", source, out, *more, prefix=prefix).code in (0, 4)
    for name, mode in modes(out.parent).items():
        wanted = (0o777 if (out.parent / name).is_dir() else 0o666) & ~int(mask, 8)
        assert mode == wanted, (name, oct(mode))


def test_the_umask_decides_for_other_commands(bale, packed, tmp_path):
    prefix = ["sh", "-c", 'umask 002; exec "$@"', "sh"]
    for number, words in enumerate((["convert", packed], ["merge", packed, "-o"], ["extract", packed])):
        bale.ok(*words, tmp_path / f"{number}", prefix=prefix)
    for path in tmp_path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o775 if path.is_dir() else 0o664), path


def test_an_unfinished_run_may_be_resumed_by_the_group(bale, tiny, tmp_path):
    out = tmp_path / "out"
    prefix = ["sh", "-c", 'umask 002; exec "$@"', "sh"]
    assert bale("pack", tiny, out, *options("tar", 2), env=shim(ONLY="fsync", KILL_AT=6), prefix=prefix).code == KILLED
    assert set(modes(out).values()) == {0o775, 0o664}
