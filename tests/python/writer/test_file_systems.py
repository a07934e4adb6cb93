"""The crash suites on other file systems: FUSE, overlayfs, and what imitates NFS, Lustre, CIFS and a tree without case.

bindfs and overlayfs are mounted; the others are shim_mount.h's. The bytes must be those of an ordinary disk.
BALE_TEST_ALL_LAYOUTS=1 takes every layout as the long tier does, with some of the calls.
"""
import os
import pathlib
import random
import shutil
import subprocess
import time

import pytest
from conftest import LONG, SHIM, shards, shim, tree_bytes
from fault_support import FAULT_LAYOUTS_AND_MORE, KILLED, check_only_whole_files, count_calls, options

IN_EVERY_LAYOUT = LONG or "BALE_TEST_ALL_LAYOUTS" in os.environ
TESTED_LAYOUTS = FAULT_LAYOUTS_AND_MORE if IN_EVERY_LAYOUT else ["tar.plain"]
KINDS = ["bindfs", "nfs", "lustre", "cifs", "overlay", "no case"]


class Place:
    """A directory on such a file system, and the environment that makes it so."""

    def __init__(self, root, **imitated):
        self.root = root
        self.env = {"LD_PRELOAD": str(SHIM), **{f"BALE_SHIM_{k}": str(v) for k, v in imitated.items()}} if imitated else {}
        # Times of the source are part of the plan, whose hash is in the manifest.
        self.env_of_times = {k: v for k, v in self.env.items() if k in ("LD_PRELOAD", "BALE_SHIM_COARSE_TIMES")}

    def ended(self, directory):
        """The process is gone: an NFS client now removes the files that were unlinked while they were open."""
        for path in pathlib.Path(directory).rglob(".nfs*"):
            path.unlink()


def mount(command, target):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"cannot mount: {' '.join(map(str, command))}: {done.stderr.strip()[:200]}")
    return target


def unmount(target):
    for _ in range(50):
        if subprocess.run(["umount", target], capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(["umount", "-l", target], check=True)


@pytest.fixture(scope="module", params=KINDS)
def place(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("place")
    if request.param == "bindfs":
        if shutil.which("bindfs") is None or not pathlib.Path("/dev/fuse").exists():
            pytest.skip("needs bindfs and /dev/fuse")
        for name in ("below", "mounted"):
            (root / name).mkdir()
        mount(["bindfs", root / "below", root / "mounted"], root / "mounted")
        yield Place(root / "mounted")
        unmount(root / "mounted")
    elif request.param == "no case":
        yield Place(root, IGNORE_CASE=root)
    elif request.param == "cifs":
        yield Place(root, MOUNT="cifs", COARSE_TIMES=1)
    else:
        yield Place(root, MOUNT=request.param)


@pytest.fixture(scope="module", params=TESTED_LAYOUTS)
def case(request, bale, tiny, place, tmp_path_factory):
    """(options, bytes of an undisturbed run on an ordinary disk)."""
    out = tmp_path_factory.mktemp("whole") / "out"
    bale.pack(tiny, out, *options(request.param, 3), env=place.env_of_times)
    return options(request.param, 3), tree_bytes(out)


@pytest.fixture
def work(place, request):
    directory = place.root / f"work-{abs(hash(request.node.name))}"
    directory.mkdir()
    yield directory
    place.ended(directory)
    shutil.rmtree(directory)


class Runs:
    """Runs of the program at a place."""

    def __init__(self, bale, place, counter):
        self.bale, self.place, self.counter = bale, place, counter

    def __call__(self, *args, **fault):
        env = {**self.place.env, **({"LD_PRELOAD": str(SHIM)} if fault else {})}
        result = self.bale(*args, env={**env, **{f"BALE_SHIM_{name}": str(value) for name, value in fault.items()}})
        self.place.ended(self.place.root)
        return result

    def ok(self, *args):
        result = self(*args)
        assert result.code == 0, result
        return result

    def count(self, *args):
        self.counter.write_bytes(bytes(8))
        result = self(*args, COUNT=self.counter)
        assert result.code == 0, result
        return int.from_bytes(self.counter.read_bytes(), "little")


@pytest.fixture
def runs(bale, place, tmp_path):
    return Runs(bale, place, tmp_path / "counter")


def some(calls, name, short_tier=6):
    """Some of the calls, among them the first and the last ones; all of them in the long tier."""
    if LONG or calls <= short_tier:
        return range(1, calls + 1)
    return sorted({1, calls - 1, calls, *random.Random(name).sample(range(2, calls - 1), short_tier - 3)})


def test_pack_and_everything_else(runs, work, tiny, case):
    """Without any fault: pack, read, verify, index, extract, convert and pack again over it."""
    pack_options, expected = case
    out = work / "out"
    runs.ok("pack", tiny, out, *pack_options)
    assert tree_bytes(out) == expected
    runs.ok("verify", out)
    runs.ok("read", out)
    runs.ok("extract", out, work / "files")
    runs.ok("extract", out, work / "files", "--force")
    runs.ok("pack", tiny, out, *pack_options, "--overwrite")
    assert tree_bytes(out) == expected
    if "npy.rgb" not in pack_options:
        runs.ok("convert", out, work / "converted", "--format", "tar")
        (work / "copy").mkdir()
        for shard in shards(out):
            shutil.copy(shard, work / "copy")
        runs.ok("index", work / "copy")
        runs.ok("index", work / "copy", "--force", "--seek-points")
        runs.ok("verify", work / "copy")


def test_killed(runs, work, tiny, case, place):
    """Killed at a call, killed again while it is resumed, resumed."""
    pack_options, expected = case
    calls = runs.count("pack", tiny, work / "count", *pack_options)
    rng = random.Random(calls)
    for n in some(calls, "killed"):
        out = work / f"kill-{n}"
        assert runs("pack", tiny, out, *pack_options, KILL_AT=n).code == KILLED, n
        check_only_whole_files(out, expected)
        runs("pack", tiny, out, *pack_options, "--resume", KILL_AT=rng.randrange(1, calls))
        check_only_whole_files(out, expected)
        runs.ok("pack", tiny, out, *pack_options, "--resume")
        assert tree_bytes(out) == expected, n


def test_killed_while_overwriting(runs, work, tiny, case):
    """One whole dataset at any time, old or new, and --overwrite again ends with the new one."""
    pack_options, expected = case
    old_options = [*pack_options, "--shuffle", "7"]
    runs.ok("pack", tiny, work / "old", *old_options)
    old = tree_bytes(work / "old")
    shutil.copytree(work / "old", work / "count")
    calls = runs.count("pack", tiny, work / "count", *pack_options, "--overwrite")
    assert tree_bytes(work / "count") == expected
    for n in some(calls, "overwrite"):
        out = work / f"kill-{n}"
        shutil.copytree(work / "old", out)
        assert runs("pack", tiny, out, *pack_options, "--overwrite", KILL_AT=n).code == KILLED, n
        runs.ok("pack", tiny, out, *pack_options, "--overwrite")
        assert tree_bytes(out) == expected, n
    assert old != expected


@pytest.mark.parametrize("error", [5, 28], ids=["EIO", "ENOSPC"])
def test_a_call_fails(runs, work, tiny, case, error):
    """One line and no half of a file, and the run can be resumed."""
    pack_options, expected = case
    calls = runs.count("pack", tiny, work / "count", *pack_options)
    for n in some(calls, f"fails {error}", 5):
        out = work / f"fail-{n}"
        failed = runs("pack", tiny, out, *pack_options, FAIL_AT=n, ERRNO=error, FAIL_ON=int(error == 28))
        check_only_whole_files(out, expected)
        if failed.code == 0:
            assert tree_bytes(out).items() >= expected.items(), n
            continue
        assert failed.code == 1 and failed.error_line(), (n, failed)
        runs.ok("pack", tiny, out, *pack_options, "--resume")
        assert tree_bytes(out) == expected, n


@pytest.mark.parametrize("layout", TESTED_LAYOUTS)
def test_resumed_above_a_lower_layer(bale, tiny, layout, tmp_path):
    """What a killed run left is in an overlay's lower layer: files change their inode when they are first written."""
    pack_options = options(layout, 3)
    calls = count_calls(bale, tmp_path, "pack", tiny, tmp_path / "count", *pack_options)
    expected = tree_bytes(tmp_path / "count")
    for n in some(calls, "lower"):
        root = tmp_path / f"layers-{n}"
        lower, upper, inner, merged = (root / name for name in ("lower", "upper", "inner", "merged"))
        for directory in (lower, upper, inner, merged):
            directory.mkdir(parents=True)
        bale("pack", tiny, lower / "out", *pack_options, env=shim(KILL_AT=n))
        mount(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={inner}", merged],
              merged)
        try:
            mode = "--resume" if (merged / "out").exists() else "--overwrite"
            bale.ok("pack", tiny, merged / "out", *pack_options, mode)
            assert tree_bytes(merged / "out") == expected, n
            bale.ok("pack", tiny, merged / "out", *pack_options, "--overwrite")
            assert tree_bytes(merged / "out") == expected, n
        finally:
            unmount(merged)


def test_lmdb_where_files_cannot_be_mapped(bale, tiny, tmp_path):
    if shutil.which("bindfs") is None or not pathlib.Path("/dev/fuse").exists():
        pytest.skip("needs bindfs and /dev/fuse")
    for name in ("below", "mounted"):
        (tmp_path / name).mkdir()
    target = mount(["bindfs", "-o", "direct_io", tmp_path / "below", tmp_path / "mounted"], tmp_path / "mounted")
    try:
        result = bale("pack", tiny, target / "out", "--format", "lmdb")
    finally:
        unmount(target)
    assert result.code == 1 and "use a file system that can map files into memory" in result.error_line()


def test_splits_that_differ_by_case_are_refused(bale, tiny, tmp_path):
    """Their datasets would be in one directory on such a file system, and nobody packs for one machine only."""
    result = bale("pack", tiny, tmp_path / "out", "--split", "Train=0.5,train=0.5", "--shuffle", "1")
    assert result.code == 2 and "differ" in result.error_line()
    assert not (tmp_path / "out").exists()
