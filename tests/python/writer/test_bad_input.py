"""Bad input: one clear line, the right exit code, nothing half-published."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import (
    ALL_FORMATS,
    FORMATS,
    NOBODY,
    PROGRAM,
    SUFFIXES,
    format_options,
    images_by_key,
    key_names,
    let_others_in,
    shards,
    shim,
    tree_bytes,
)
from fault_support import count_calls
from servers.network import wait_for

OK, FAILURE, USAGE, SKIPS = 0, 1, 2, 4


def assert_nothing_published(directory):
    """No shard under a final name, no index of one, no manifest."""
    directory = pathlib.Path(directory)
    left = [p for p in directory.rglob("*")] if directory.exists() else []
    final = (*SUFFIXES, ".bidx", ".idx", ".lst")
    wrong = [p for p in left if ".bale-partial" not in p.parts and
             (p.name == "manifest.json" or p.name.endswith(final) or "-of-" in p.name)]
    assert wrong == []


@pytest.fixture
def own(photos, tmp_path):
    """A copy of the photos to spoil."""
    shutil.copytree(photos, tmp_path / "own")
    let_others_in(tmp_path / "own")
    return tmp_path / "own"


def victim(folder):
    return sorted(folder.rglob("*.JPEG"))[13]


# --- the source

def test_missing_folder(bale, tmp_path):
    result = bale("pack", tmp_path / "nowhere", tmp_path / "out")
    assert result.code == FAILURE
    assert "nowhere" in result.error_line()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", ["nothing", "an empty class", "no images"])
def test_folder_without_images(bale, content, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    if content != "nothing":
        (folder / "cat").mkdir()
    if content == "no images":
        (folder / "cat" / "notes.txt").write_text("not an image")
    result = bale("pack", folder, tmp_path / "out")
    assert result.code in (FAILURE, USAGE)
    assert str(folder) in result.error_line()
    assert_nothing_published(tmp_path / "out")


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_unreadable_file(bale, own, format_name, tmp_path):
    """EACCES, met by an ordinary user."""
    spoiled = victim(own)
    spoiled.chmod(0)
    os.chmod(tmp_path, 0o777)
    prefix = NOBODY if os.geteuid() == 0 else []
    result = bale("pack", own, tmp_path / "out", *format_options(format_name), prefix=prefix)
    assert result.code == FAILURE
    line = result.error_line()
    assert str(spoiled) in line and "Permission denied" in line
    assert_nothing_published(tmp_path / "out")


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_read_error(bale, own, format_name, tmp_path):
    """EIO from the disk."""
    spoiled = victim(own)
    env = shim(UNREADABLE="/".join(spoiled.parts[-2:]))
    result = bale("pack", own, tmp_path / "out", *format_options(format_name), env=env)
    assert result.code == FAILURE
    assert str(spoiled) in result.error_line() and "Input/output error" in result.err
    assert_nothing_published(tmp_path / "out")


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_file_that_shrinks_while_read(bale, own, format_name, tmp_path):
    """It is cut to half at every read, so that reading it again does not help."""
    spoiled = victim(own)
    env = shim(SHRINK="/".join(spoiled.parts[-2:]))
    size = spoiled.stat().st_size
    result = bale("pack", own, tmp_path / "out", *format_options(format_name), env=env)
    assert spoiled.stat().st_size < size, "the shim did not cut the file"
    assert result.code == FAILURE
    line = result.error_line()
    assert str(spoiled) in line and "changed" in line
    assert_nothing_published(tmp_path / "out")


def test_a_file_that_is_written_while_read_and_keeps_its_time(bale, own, tmp_path):
    """As by cp -p onto it: its size and time say nothing. Half of each version must not become a sample."""
    spoiled = victim(own)
    before = spoiled.stat()
    result = bale("pack", own, tmp_path / "out", env=shim(REWRITE="/".join(spoiled.parts[-2:])))
    after = spoiled.stat()
    assert after.st_ctime_ns != before.st_ctime_ns and after.st_mtime_ns == before.st_mtime_ns, "the shim did not write"
    assert result.code == FAILURE
    assert f"{spoiled}: the file changed while it was read" in result.error_line()
    assert_nothing_published(tmp_path / "out")


def test_files_that_changed_after_they_were_listed(bale, own, tmp_path):
    """Every read waits until the plan is made and two files have grown."""
    grown = sorted(own.rglob("*.JPEG"))[:2]
    stalled = tmp_path / "stalled"
    for n, (options, code) in enumerate([((), OK), (("--strict",), FAILURE), (("--strict", "--on-error", "skip"), SKIPS)]):
        stalled.touch()
        out = tmp_path / f"out{n}"
        run = subprocess.Popen([PROGRAM, "pack", own, out, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **shim(STALL=".JPEG", STALL_WHILE=stalled)})
        wait_for(lambda out=out: list(out.glob(".bale-partial/*")))
        for path in grown:
            path.write_bytes(path.read_bytes() + b"more")
        stalled.unlink()
        err = run.communicate(timeout=60)[1]
        assert run.returncode == code, err
        if not options:
            assert f"{own}: files of 2 samples changed after they were listed" in err and f"the first is {grown[0]}" in err
        else:
            assert "changed after it was listed" in err
    assert json.loads((out / "manifest.json").read_text())["num_samples"] == len(images_by_key(own)) - 2


@pytest.mark.parametrize("policy", ["skip", "quarantine"])
@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_bad_sample_under_a_policy(bale, own, format_name, policy, tmp_path):
    spoiled = victim(own)
    relative = "/".join(spoiled.parts[-2:])
    images = images_by_key(own)
    env = shim(UNREADABLE=relative)
    result = bale("pack", own, tmp_path / "out", *format_options(format_name), "--on-error", policy, env=env)
    assert result.code == SKIPS, result
    ledger = (tmp_path / "out" / "skipped.jsonl").read_text().splitlines()
    assert len(ledger) == 1 and relative in ledger[0] and '"why"' in ledger[0]
    bale.ok("verify", tmp_path / "out")
    expected = sorted(set(images) - {str(pathlib.Path(relative).with_suffix(""))})
    assert key_names(bale, tmp_path / "out") == expected


def test_empty_and_damaged_images_are_kept_byte_for_byte(bale, own, tmp_path):
    """Bytes are packed as they are: judging pictures is not the packer's business unless an option says so."""
    broken = victim(own)
    broken.write_bytes(broken.read_bytes()[:100])
    bale.pack(own, tmp_path / "out")
    key = str(broken.relative_to(own).with_suffix(""))
    assert bale.ok("cat", tmp_path / "out", key, "--field", "jpg").stdout == broken.read_bytes()


# --- names

ODD_NAMES = {
    "newline": b"a\nb.JPEG",
    "tab and quote": b"a\tb\"c\\d.JPEG",
    "not UTF-8": b"caf\xe9\xff.JPEG",
    "escape sequence": b"a\x1b[31mred.JPEG",
    "leading dash": b"-rf.JPEG",
    "255 bytes": b"n" * 250 + b".JPEG",
    "dots": b"a.b.c.JPEG",
    "percent": b"100%25.JPEG",
    "space": b" a b .JPEG",
    "reserved": b"__meta__.JPEG",
}


@pytest.mark.parametrize("format_name", FORMATS)
def test_odd_names_come_back(bale, photos, format_name, tmp_path):
    """Every name that a Unix file can have is a sample, and its bytes come back under a key of its own."""
    content = {}
    folder = os.path.join(os.fsencode(tmp_path), b"in", b"class")
    deep = os.path.join(folder, b"x" * 200, b"y" * 200)  # a key of over 400 bytes
    os.makedirs(deep)
    images = [image for image, _ in images_by_key(photos).values()]
    for (name, image) in zip([*ODD_NAMES.values(), b"x" * 200 + b"/" + b"y" * 200 + b"/deep.JPEG"], images):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(image)
        content[name] = image
    bale.pack(tmp_path / "in", tmp_path / "out", "--format", format_name)
    bale.ok("verify", tmp_path / "out")
    found = {key: bale.ok("cat", tmp_path / "out", key, "--field", "jpg").stdout
             for key in key_names(bale, tmp_path / "out")}
    assert len(found) == len(content)
    assert sorted(found.values()) == sorted(content.values())
    # And what is shown on a terminal holds nothing that a terminal would act upon.
    for command in (["ls"], ["inspect"]):
        assert b"\x1b" not in bale.ok(*command, tmp_path / "out").stdout


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_the_same_key_twice(bale, photos, format_name, tmp_path):
    """a.jpg and a.jpeg would be one key: refused by name, never merged or dropped in silence."""
    folder = tmp_path / "in" / "class"
    folder.mkdir(parents=True)
    one, two = sorted(photos.rglob("*.JPEG"))[:2]
    shutil.copy(one, folder / "a.jpg")
    shutil.copy(two, folder / "a.jpeg")
    result = bale("pack", tmp_path / "in", tmp_path / "out", *format_options(format_name))
    if result.code == OK:  # disambiguated is as good: both must be there
        found = [bale.ok("cat", tmp_path / "out", key, "--field", "jpg").stdout for key in key_names(bale, tmp_path / "out")]
        assert sorted(found) == sorted([one.read_bytes(), two.read_bytes()])
        return
    assert result.code in (FAILURE, USAGE)
    assert "class/a" in result.error_line()
    assert_nothing_published(tmp_path / "out")


def test_the_ledger_says_why_and_not_what_to_do(bale, own, tmp_path):
    """Its samples are left out already."""
    class_dir = sorted(own.iterdir())[0]
    (class_dir / "empty.JPEG").write_bytes(b"")
    (class_dir / "broken.JPEG").symlink_to("nowhere.JPEG")
    result = bale("pack", own, tmp_path / "out", "--on-error", "skip")
    ledger = (tmp_path / "out" / "skipped.jsonl").read_text()
    assert result.code == SKIPS and "empty file" in ledger and "there is no nowhere.JPEG" in ledger
    assert "on_error" not in ledger and "--on-error" not in result.err


def test_special_files_are_ignored(bale, own, tmp_path):
    """A FIFO named like an image must not make anyone wait."""
    class_dir = sorted(own.iterdir())[0]
    os.mkfifo(class_dir / "pipe.JPEG")
    (class_dir / "loop.JPEG").symlink_to("loop.JPEG")
    result = bale("pack", own, tmp_path / "out", timeout=30)
    if result.code != OK:
        assert result.code == FAILURE
        assert "pipe.JPEG" in result.error_line() or "loop.JPEG" in result.error_line()
        result = bale("pack", own, tmp_path / "out", "--on-error", "skip", "--overwrite", timeout=30)
        assert result.code == SKIPS, result
    assert len(key_names(bale, tmp_path / "out")) == 40


# --- the destination

@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_full_disk(bale, own, format_name, tmp_path):
    """A file system of 64 KB, too small for 40 images."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True).returncode == 0
    if not mounted:  # no right to mount: the shim says what a full disk would say
        env = shim(ONLY="pwrite", FAIL_AT=2, FAIL_ON=1, ERRNO=28)
    try:
        result = bale("pack", own, small / "out", *format_options(format_name), env=None if mounted else env)
        assert result.code == FAILURE, result
        line = result.error_line()
        assert "No space left on device" in line and str(small) in line
        assert_nothing_published(small / "out")
    finally:
        if mounted:
            subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_file_size_limit(bale, own, format_name, tmp_path):
    """RLIMIT_FSIZE: SIGXFSZ must not kill, EFBIG must be reported."""
    result = bale("pack", own, tmp_path / "out", *format_options(format_name), prefix=["prlimit", "--fsize=20000"])
    assert result.code == FAILURE, result
    assert "File too large; write smaller files, raise `ulimit -f`" in result.error_line()
    assert_nothing_published(tmp_path / "out")


@pytest.mark.parametrize("error,text", [(5, "Input/output error"), (28, "No space left on device")])
@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_fsync_that_fails(bale, tiny, format_name, error, text, tmp_path):
    """A failed fsync is final, whichever it is: reported, not tried again, and no manifest says that all is well."""
    pack_options = [*format_options(format_name), "--jobs", "1"]
    for function in ("fsync", "fdatasync"):
        env = shim(ONLY=function)
        calls = count_calls(bale, tmp_path, "pack", tiny, tmp_path / f"{function}-whole", *pack_options, env=env)
        assert calls > 5 or function == "fdatasync"
        for n in range(1, calls + 1):
            out = tmp_path / f"{function}-{n}"
            result = bale("pack", tiny, out, *pack_options,
                          env={**env, "BALE_SHIM_ERRNO": str(error), "BALE_SHIM_FAIL_AT": str(n)})
            assert result.code == FAILURE, (n, result)
            assert text in result.error_line()
            if n == 1:
                assert_nothing_published(out)


@pytest.mark.parametrize("function,format_name", [*(("fallocate", name) for name in ALL_FORMATS), ("renameat2", "tar.plain")])
def test_calls_that_a_sandbox_refuses_and_nobody_needs(bale, tiny, function, format_name, tmp_path):
    refused = shim(ONLY=function, FAIL_AT=1, FAIL_ON=1, ERRNO=1)
    for name, env in (("a", {}), ("b", refused)):
        bale.pack(tiny, tmp_path / name, *format_options(format_name), "--name", "x", env=env)
        bale.ok("extract", tmp_path / name, tmp_path / f"{name}-files", env=env)
    assert tree_bytes(tmp_path / "a") == tree_bytes(tmp_path / "b")
    assert tree_bytes(tmp_path / "a-files") == tree_bytes(tmp_path / "b-files")


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_interrupted_and_short_writes_are_finished(bale, tiny, format_name, tmp_path):
    """EINTR everywhere and short writes: the same bytes come out, or (a container's library gave up) a clear error."""
    bale.pack(tiny, tmp_path / "plain", *format_options(format_name), "--name", "x")
    for option in ("EINTR", "SHORT"):
        out = tmp_path / option
        result = bale("pack", tiny, out, *format_options(format_name), "--name", "x", env=shim(**{option: 1}))
        if result.code == OK:
            assert tree_bytes(out) == tree_bytes(tmp_path / "plain")
        else:
            assert format_name == "lmdb", result
            assert result.code == FAILURE and result.error_line()
            assert_nothing_published(out)


def test_destination_that_is_not_empty(bale, own, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    result = bale("pack", own, out)
    assert result.code == FAILURE
    assert str(out) in result.error_line() and "--overwrite" in result.err
    assert tree_bytes(out) == {"thesis.txt": b"mine"}


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_overwrite_removes_only_what_bale_wrote(bale, own, format_name, tmp_path):
    out = tmp_path / "out"
    bale.pack(own, out, *format_options(format_name), "--shard-samples", "10", "--name", "x")
    foreign = {"thesis.txt": b"mine", "x-000099.tar.bak": b"mine too", "sub/x-000000.tar": b"and mine",
               "y-000000.tar": b"somebody else's tar"}
    for name, content in foreign.items():
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_bytes(content)
    bale.pack(own, out, *format_options(format_name), "--shard-samples", "20", "--name", "x", "--overwrite")
    after = tree_bytes(out)
    assert {name: after[name] for name in foreign} == foreign
    assert len([n for n in after if n.startswith("x-") and n.endswith(".bidx")]) == 2
    bale.ok("verify", out)


@pytest.mark.parametrize("name", ["x-000001.tar", "x-000001.tar.bidx", "x-000001.tar.bseek", "x-000001.idx"])
def test_overwrite_refuses_what_is_in_the_way(bale, own, name, tmp_path):
    """A stranger's file that has the name of one to be written: named, and all is left as it was."""
    out = tmp_path / "out"
    options = ["--format", "tar", "--name", "x", "--sidecars", "wds2idx"]
    bale.pack(own, out, *options)
    assert not (out / name).exists()
    (out / name).write_bytes(b"mine")
    before = tree_bytes(out)
    result = bale("pack", own, out, *options, "--shard-samples", "10", "--overwrite")
    assert result.code == FAILURE, result
    assert name in result.error_line() and "in the way" in result.error_line()
    assert tree_bytes(out) == before


def test_overwrite_stays_in_its_directory(bale, own, tmp_path):
    """An unfinished pack from somewhere else may name files that are not next to it."""
    precious = [tmp_path / "a.tar", tmp_path / "b.idx", tmp_path / "c" / "d.tar"]
    (tmp_path / "c").mkdir()
    for path in precious:
        path.write_text("mine")
    lines = [{"file": "../a.tar"}, {"sidecars": ["../b.idx"]}, {"subdirectory": "../c", "file": "d.tar"}]
    heads = [{}] * len(lines) + [{"last_files": [name]} for name in ("../a.tar", "../c/d.tar", "x/../../a.tar")]
    lines += [{}] * 3
    for number, (head, line) in enumerate(zip(heads, lines)):
        partial = tmp_path / f"out{number}" / ".bale-partial"
        partial.mkdir(parents=True)
        shard = {"subdirectory": "", "file": "x.tar", "digest": "", "num_samples": 1, "bytes": 1, "sidecars": [],
                 "fields": [], "skipped": [], **line}
        (partial.parent / "x").mkdir()
        head = {"bale_journal": 1, "plan": "x", **head}
        (partial / "journal.jsonl").write_text(json.dumps(head) + "\n" + json.dumps(shard) + "\n")
        bale.pack(own, partial.parent, "--overwrite")
    assert [path.read_text() for path in precious] == ["mine"] * 3


def test_destination_in_a_file_and_in_a_missing_parent(bale, own, tmp_path):
    (tmp_path / "file").write_text("x")
    result = bale("pack", own, tmp_path / "file" / "out")
    assert result.code == FAILURE and "Not a directory" in result.error_line()
    result = bale("pack", own, tmp_path / "file")
    assert result.code in (FAILURE, USAGE) and str(tmp_path / "file") in result.error_line()
    assert (tmp_path / "file").read_text() == "x"


def test_destination_without_write_permission(bale, own, tmp_path):
    out = tmp_path / "out"
    out.mkdir(mode=0o755)
    prefix = NOBODY if os.geteuid() == 0 else []
    if not prefix:
        out.chmod(0o555)
    result = bale("pack", own, out, prefix=prefix)
    assert result.code == FAILURE and "Permission denied" in result.error_line()
    assert_nothing_published(out)


def test_pack_into_the_source(bale, own):
    """A second run must not find the first one's shards among its images."""
    before = images_by_key(own)
    result = bale("pack", own, own / "packed")
    assert result.code in (OK, FAILURE, USAGE)
    if result.code == OK:
        assert key_names(bale, own / "packed") == sorted(before)


# --- packed input

@pytest.mark.parametrize("content", [b"", b"\0" * 1024, b"hello", os.urandom(5000)],
                         ids=["empty", "zeros", "text", "noise"])
@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.zst", ".lmdb", ".h5", ".tfrecord", ".rec"])
def test_files_that_are_not_what_their_name_says(bale, content, suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(content)
    for command in (["inspect"], ["verify"], ["ls"]):
        result = bale(*command, path, timeout=30)
        if suffix.startswith(".tar") and content == b"\0" * 1024:
            # By its content it is an empty archive, which nobody who verifies it means.
            assert result.code == (3 if command == ["verify"] else OK), result
        else:
            assert result.code in (FAILURE, 3), result
            assert str(path) in result.error_line()


def test_a_dataset_with_a_missing_shard(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "p", "--shard-samples", "10")
    gone = shards(tmp_path / "p")[1]
    gone.unlink()
    result = bale("verify", tmp_path / "p")
    assert result.code == 3
    assert gone.name in result.out + result.err
    key = sorted(images_by_key(photos))[0]
    assert bale.ok("cat", tmp_path / "p", key, "--field", "jpg").stdout == images_by_key(photos)[key][0]


@pytest.mark.parametrize("options, words", [
    (["--layout", "zst", "--level", "99"], '--level is "99", not a whole number from 1 to 19'),
    (["--layout", "zst", "--level", "x"], '--level is "x", not a whole number from 1 to 19'),
    (["--format", "tfrecord", "--label-base", "x"], '--label-base is "x", not a whole number')])
def test_a_format_option_out_of_its_range(bale, photos, tmp_path, options, words):
    result = bale("pack", photos, tmp_path / "out", *options)
    assert result.code == USAGE and result.error_line() == f"bale: {words}" and not (tmp_path / "out").exists(), result
