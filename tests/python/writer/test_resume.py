"""--resume believes nothing that it did not compare: neither the source nor what is at the destination."""
import os
import shutil

import pytest
from conftest import ALL_FORMATS, NOBODY, format_options, shards, shim, tree_bytes
from fault_support import KILLED, count_calls


def pack_options(format_name):
    return [*format_options(format_name), "--name", "x", "--shard-samples", "3", "--jobs", "1"]


@pytest.fixture
def copied(tiny, tmp_path):
    """A copy of the images, to change."""
    shutil.copytree(tiny, tmp_path / "images")
    return tmp_path / "images"


def overwrite_in_place(path, offset, data):
    """Other bytes, the same size and time: what a careless tool or a coarse clock leaves."""
    info = path.stat()
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


@pytest.mark.parametrize("format_name", ALL_FORMATS)
@pytest.mark.parametrize("harm", ["gone", "damaged", "short", "index gone"])
def test_a_finished_dataset_is_checked_and_mended(bale, tiny, format_name, harm, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out, *pack_options(format_name))
    whole = tree_bytes(out)
    victim = shards(out)[1]
    if harm == "gone":
        victim.unlink()
    elif harm == "damaged":
        overwrite_in_place(victim, victim.stat().st_size // 2, b"\x55\xaa\x55\xaa")
    elif harm == "short":
        os.truncate(victim, victim.stat().st_size - 1)
    else:
        victim.with_name(victim.name + ".bidx").unlink()
    result = bale.ok("pack", tiny, out, *pack_options(format_name), "--resume")
    assert "1 shard found missing or damaged and written again, 1 shard found finished" in result.out
    assert tree_bytes(out) == whole
    bale.ok("verify", out)


def test_a_finished_dataset_is_not_touched(bale, tiny, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out, *pack_options("tar"), "--sidecars", "wids,wds2idx")
    before = out.stat().st_mtime_ns
    result = bale.ok("pack", tiny, out, *pack_options("tar"), "--sidecars", "wids,wds2idx", "--resume")
    assert "2 shards found finished" in result.out and "again" not in result.out
    assert out.stat().st_mtime_ns == before


def test_files_next_to_the_shards_are_mended(bale, tiny, tmp_path):
    out = tmp_path / "out"
    command = [tiny, out, *pack_options("tar"), "--sidecars", "wids,wds2idx", "--seek-points"]
    bale.pack(*command)
    whole = tree_bytes(out)
    beside = [name for name in whole if not name.endswith((".tar", "manifest.json"))]
    assert len(beside) == 7
    for name in beside:
        (out / name).unlink()
        bale.pack(*command, "--resume")
        assert tree_bytes(out) == whole, name


def test_a_missing_ledger_is_reported(bale, copied, tmp_path):
    out = tmp_path / "out"
    bad = sorted(copied.rglob("*.JPEG"))[0]
    env = shim(UNREADABLE="/".join(bad.parts[-2:]))
    command = ["pack", copied, out, *pack_options("tar"), "--on-error", "skip"]
    assert bale(*command, env=env).code == 4
    (out / "skipped.jsonl").unlink()
    result = bale(*command, "--resume", env=env)
    assert result.code == 1 and "skipped.jsonl" in result.error_line()


def test_a_source_that_changed_does_not_mend(bale, copied, tmp_path):
    """Its times and sizes say that it is the same."""
    out = tmp_path / "out"
    bale.pack(copied, out, *pack_options("tar"))
    before = tree_bytes(out)
    for image in copied.rglob("*.JPEG"):
        overwrite_in_place(image, 30, b"\x01\x02\x03\x04")
    shards(out)[1].unlink()
    left = tree_bytes(out)
    result = bale("pack", copied, out, *pack_options("tar"), "--resume")
    assert result.code == 1, result
    assert shards(out)[0].name in before and "--overwrite" in result.error_line()
    assert "x-000001.tar" in result.error_line()
    assert tree_bytes(out) == left


def test_mending_can_be_killed_too(bale, tiny, tmp_path):
    out = tmp_path / "out"
    bale.pack(tiny, out, *pack_options("tar"))
    whole = tree_bytes(out)
    command = ["pack", tiny, out, *pack_options("tar"), "--resume"]
    shards(out)[0].unlink()
    for n in range(1, count_calls(bale, tmp_path, *command) + 1):
        shards(out)[0].unlink()
        assert bale(*command, env=shim(KILL_AT=n)).code == KILLED
        bale.ok(*command)
        assert tree_bytes(out) == whole, n


def test_packed_sources_are_known_by_their_content(bale, tiny, tmp_path):
    """A source that is rewritten in place between the runs is not mixed with what was packed before."""
    source, out = tmp_path / "source", tmp_path / "out"
    bale.pack(tiny, source, *pack_options("tar"))
    (source / "manifest.json").unlink()
    for path in source.glob("*.bidx"):
        path.unlink()
    command = ["convert", source, out, *pack_options("tfrecord")]
    for n in range(1, 40):
        shutil.rmtree(out, ignore_errors=True)
        assert bale(*command, env=shim(ONLY="fsync", KILL_AT=n)).code == KILLED
        if out.exists() and len(list(out.glob("*-of-00002"))) == 1:
            break
    assert len(list(out.glob("*-of-00002"))) == 1
    before = tree_bytes(out)
    overwrite_in_place(shards(source)[1], 512 + 100, b"\x01\x02\x03\x04")
    result = bale(*command, "--resume")
    assert result.code == 1, result
    assert "other files" in result.error_line()
    assert tree_bytes(out) == before
    assert not (out / "manifest.json").exists()


@pytest.mark.parametrize("format_name", ALL_FORMATS)
def test_shards_without_a_sample_are_left_out(bale, photos, format_name, tmp_path):
    """Every sample of a shard is skipped: the others are a whole dataset, for verify, for --resume and for readers."""
    folder, out = tmp_path / "in", tmp_path / "out"
    shutil.copytree(photos, folder)
    bad = sorted(folder.iterdir())[1]
    for path in bad.iterdir():
        path.chmod(0)
    os.chmod(tmp_path, 0o777)
    for directory in [tmp_path, *tmp_path.parents, folder, *folder.iterdir()]:
        if "pytest-" in str(directory):
            directory.chmod(0o777)
    prefix = NOBODY if os.geteuid() == 0 else []
    command = ["pack", folder, out, *format_options(format_name), "--name", "x", "--shard-samples", "4",
               "--on-error", "skip"]
    result = bale(*command, prefix=prefix)
    assert result.code == 4, result
    assert len([path for path in shards(out) if not path.name.endswith(".labels.npy")]) == 8
    bale.ok("verify", out)
    assert bale("read", out, "--json").code == 0
    whole = tree_bytes(out)
    result = bale(*command, "--resume", prefix=prefix)
    assert result.code == 4, result
    assert tree_bytes(out) == whole
    for path in shards(out):
        assert path.stat().st_size > 0
    assert len((out / "skipped.jsonl").read_text().splitlines()) == 8


def test_a_dataset_without_a_sample_is_refused(bale, copied, tmp_path):
    result = bale("pack", copied, tmp_path / "out", "--on-error", "skip", env=shim(UNREADABLE=".JPEG"))
    assert result.code == 1, result
    assert "all 6 samples were skipped" in result.error_line() and "Input/output error" in result.error_line()
    assert not (tmp_path / "out").exists()
