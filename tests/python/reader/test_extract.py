"""Extracting: complete files only, runs that continue where one was stopped, and the names that others' tools write."""
import os
import pathlib
import signal
import subprocess
import zipfile

import h5py
import numpy as np
import pytest
from conftest import PROGRAM, SHIM, by_tier, format_options, key_list, shim, tree_bytes, write_tar
from fault_support import KILLED, count_calls
from test_interop_lmdb import write


@pytest.fixture(scope="module")
def packed(bale, tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("extract") / "packed"
    bale.pack(tiny, out, "--name", "x", "--shard-samples", "3")
    return out


@pytest.fixture(scope="module")
def files(bale, packed, tmp_path_factory):
    out = tmp_path_factory.mktemp("extract") / "files"
    bale.ok("extract", packed, out)
    return tree_bytes(out)


def test_killed_at_every_call(bale, packed, files, tmp_path):
    """What has a final name is whole, and the next run ends with all files and no others."""
    calls = count_calls(bale, tmp_path, "extract", packed, tmp_path / "whole")
    assert calls > len(files)
    for n in range(1, calls + 1, by_tier(2, 1)):
        out = tmp_path / f"kill-{n}"
        assert bale("extract", packed, out, env=shim(KILL_AT=n)).code == KILLED
        found = {k: v for k, v in tree_bytes(out).items() if ".bale-tmp-" not in k} if out.exists() else {}
        assert found.items() <= files.items(), n
        bale.ok("extract", packed, out)
        assert tree_bytes(out) == files, n


def test_a_failed_call_leaves_whole_files_only(bale, packed, files, tmp_path):
    for n in range(1, 60, by_tier(3, 1)):
        out = tmp_path / f"fail-{n}"
        failed = bale("extract", packed, out, env=shim(FAIL_AT=n, ERRNO=28))
        assert failed.code in (0, 1), failed
        found = tree_bytes(out) if out.exists() else {}  # an empty file that cannot be removed is left to the next run
        assert {k: v for k, v in found.items() if v or ".bale-tmp-" not in k}.items() <= files.items(), n
        bale.ok("extract", packed, out)
        assert tree_bytes(out) == files


def test_interrupted(bale, packed, files, tmp_path):
    out = tmp_path / "out"
    run = subprocess.Popen([PROGRAM, "extract", packed, out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           env={**os.environ, "LD_PRELOAD": str(SHIM), "BALE_SHIM_DELAY_MS": "30"})
    while run.poll() is None and not list(out.glob("*/*")):
        pass
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=60)
    assert run.returncode == 130, stderr
    found = tree_bytes(out)
    assert 0 < len(found) < len(files) and found.items() <= files.items()
    result = bale.ok("extract", packed, out)
    assert f"; {len(found)} were there already" in result.out
    assert tree_bytes(out) == files


def test_what_is_there_is_kept_or_refused(bale, packed, files, tmp_path):
    out = tmp_path / "out"
    first = bale.ok("extract", packed, out)
    assert "already" not in first.out
    inodes = {p: p.stat().st_ino for p in out.rglob("*")}
    again = bale.ok("extract", packed, out)
    assert f"{len(files)} files of" in again.out and f"; {len(files)} were there already" in again.out
    assert {p: p.stat().st_ino for p in out.rglob("*")} == inodes
    mine = out / sorted(files)[0]
    for content in (b"mine", mine.read_bytes()[:-1], mine.read_bytes()[:-1] + b"?"):
        mine.write_bytes(content)
        refused = bale("extract", packed, out)
        assert refused.code == 1 and "already with other content" in refused.error_line() and str(mine) in refused.err
        assert mine.read_bytes() == content
    bale.ok("extract", packed, out, "--force")
    assert tree_bytes(out) == files


def test_tar_of_a_directory_that_is_called_dot(bale, tiny, packed, files, tmp_path):
    """`tar -C DIR -cf x.tar .` writes "./" before every name."""
    (tmp_path / "files").mkdir()
    for name, content in files.items():
        (tmp_path / "files" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "files" / name).write_bytes(content)
    subprocess.run(["tar", "--sort=name", "-C", tmp_path / "files", "-cf", tmp_path / "x.tar", "."], check=True)
    bale.ok("extract", tmp_path / "x.tar", tmp_path / "out")
    assert tree_bytes(tmp_path / "out") == files
    keys = bale.ok("ls", tmp_path / "x.tar").out.split()
    assert all(key.startswith("./") for key in keys)  # as webdataset has them
    name = sorted(name for name in files if not name.endswith(".cls"))[0]
    key = name[:name.rindex(".")]
    assert bale.ok("cat", tmp_path / "x.tar", key).stdout == bale.ok("cat", tmp_path / "x.tar", "./" + key).stdout
    assert bale.ok("cat", tmp_path / "x.tar", key).stdout == files[name]


@pytest.mark.parametrize("name", ["./../x.jpg", "././../x.jpg", ".//x.jpg", "./a/../../x.jpg", "./a/./x.jpg", ".//etc/x.jpg"])
def test_dots_lead_nowhere(bale, name, tmp_path):
    inside = tmp_path / "deep" / "out"
    inside.parent.mkdir()
    write_tar(tmp_path / "x.tar", [(name, b"evil")])
    bale("extract", tmp_path / "x.tar", inside)
    assert [p for p in tmp_path.rglob("*") if p.is_file() and inside not in p.parents] == [tmp_path / "x.tar"]


def test_a_name_that_no_file_can_have(bale, tmp_path):
    write_tar(tmp_path / "x.tar", [("x" * 300 + ".jpg", b"x")])
    for options in ([], ["--force"]):
        result = bale("extract", tmp_path / "x.tar", tmp_path / "out", *options)
        assert result.code == 1 and "File name too long" in result.error_line() and "there already" not in result.err


def test_labels_that_are_in_no_file_are_counted(bale, packed, tmp_path):
    """Of shards that have them next to their fields; `convert` keeps them."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["images"] = np.zeros((3, 4, 5, 3), np.uint8)
        file["labels"] = np.arange(3)
    said = "3 labels are in no file: `bale ls --long` prints labels, and `bale convert` keeps them\n"
    assert said in bale.ok("extract", path, tmp_path / "out").err
    assert "in no file" not in bale.ok("extract", path, tmp_path / "chosen", "--field", "npy").err
    bale.ok("convert", path, tmp_path / "tar", "--format", "tar")
    for spec, name in ((tmp_path / "tar", "again"), (packed, "ours")):
        assert "in no file" not in bale.ok("extract", spec, tmp_path / name).err
    assert sorted(file.read_text().strip() for file in (tmp_path / "again").rglob("*.cls")) == ["0", "1", "2"]


@pytest.mark.parametrize("names", [("n/A.jpg", "n/a.jpg"), ("N/a.jpg", "n/b.jpg"), ("./n/a.jpg", "N/b.jpg")])
def test_names_that_differ_by_case(bale, names, tmp_path):
    """Where the file system cannot tell them apart, nothing is merged or lost: nothing is written."""
    write_tar(tmp_path / "x.tar", [(name, name.encode()) for name in names])
    out = tmp_path / "ignoring" / "out"
    out.mkdir(parents=True)
    env = shim(IGNORE_CASE=out.parent)
    refused = bale("extract", tmp_path / "x.tar", out, env=env)
    assert refused.code == 1 and "ignores case" in refused.error_line()
    assert list(out.iterdir()) == []
    key = names[1][:-len(".jpg")]
    bale.ok("extract", tmp_path / "x.tar", out, "--include", key, env=env)
    bale.ok("extract", tmp_path / "x.tar", tmp_path / "exact")
    assert len(tree_bytes(tmp_path / "exact")) == 2


def test_a_dataset_is_not_extracted_into_itself(bale, packed):
    before = tree_bytes(packed)
    for target in (packed, packed / "files", packed / ".." / packed.name):
        for force in ([], ["--force"]):
            result = bale("extract", packed, target, *force)
            assert result.code == 2 and "the source" in result.error_line(), result
    assert tree_bytes(packed) == before


STRANGE = ["/abs/a.jpg", "//abs/b.jpg", "../../up.jpg", "x//y.jpg", "x/../c.jpg", "./x/./d.jpg", "x/../../e/../f.jpg", "ok/g.jpg", "ok/h..jpg"]


@pytest.mark.parametrize("kind", ["tar", "lmdb"])
def test_names_that_lead_outside_are_stripped_as_tar_does(bale, tmp_path, kind):
    members = [(name, b"bytes of " + name.encode()) for name in STRANGE]
    write_tar(tmp_path / "x.tar", members)
    outside = tmp_path / "deep" / "deeper"
    (outside / "tar").mkdir(parents=True)
    subprocess.run(["tar", "-C", outside / "tar", "-xf", tmp_path / "x.tar"], stderr=subprocess.DEVNULL)
    if kind == "lmdb":  # keys without an extension, which bale adds
        members = [(name[:-len(".jpg")].encode(), content) for name, content in members]
        write(tmp_path / "x.lmdb", members)
    result = bale.ok("extract", tmp_path / f"x.{kind}", outside / "out")
    stems = [{name[:name.rindex(".")]: content for name, content in tree_bytes(outside / part).items()} for part in ("tar", "out")]
    for name in ("../../up.jpg", "x/../c.jpg", "x/../../e/../f.jpg"):  # GNU tar names the same prefix, and skips the member
        stems[0][pathlib.PurePath(name).stem] = b"bytes of " + name.encode()
    assert stems[0] == stems[1] and len(stems[0]) == len(STRANGE)
    notes = [line for line in result.err.splitlines() if "stripped" in line]
    assert len(notes) == 1 and "7 keys" in notes[0], result
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["deep", "x.tar"] + ["x.lmdb", "x.lmdb-lock"] * (kind == "lmdb"))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["deeper"]


@pytest.mark.parametrize("names", [("/x.jpg", "x.jpg"), ("a/../x.jpg", "x.jpg"), ("x//y.jpg", "x/y.jpg")])
def test_two_samples_of_one_name_are_refused_before_anything_is_written(bale, tmp_path, names):
    write_tar(tmp_path / "x.tar", [(name, name.encode()) for name in names])
    for force in ([], ["--force"]):
        refused = bale("extract", tmp_path / "x.tar", tmp_path / "out", *force)
        assert refused.code == 1 and "two samples would be the file x" in refused.error_line()
        assert tree_bytes(tmp_path / "out") == {}
    bale.ok("extract", tmp_path / "x.tar", tmp_path / "out", "--include", names[1].rpartition(".")[0])
    assert list(tree_bytes(tmp_path / "out").values()) == [names[1].encode()]


@pytest.mark.parametrize("layout", ["tar", "lmdb", "hdf5.blob", "tfrecord", "recordio"])
def test_names_with_dots_come_back_and_are_packed_again(bale, photos, tmp_path, layout):
    source = tmp_path / "source" / "cat.and.dog"
    source.mkdir(parents=True)
    jpeg = next(photos.rglob("*.JPEG")).read_bytes()
    names = ["photo.v2.jpg", "photo.jpg", "50%.jpg", "literal%2Ev2.jpg", "a..b.jpg", "dots....jpg"]
    for number, name in enumerate(names):
        (source / name).write_bytes(jpeg + bytes([number]))
    bale.pack(tmp_path / "source", tmp_path / "packed", *format_options(layout))
    bale.ok("extract", tmp_path / "packed", tmp_path / "out", "--field", "jpg")
    assert tree_bytes(tmp_path / "out") == tree_bytes(tmp_path / "source")
    bale.pack(tmp_path / "out", tmp_path / "again", *format_options(layout))
    assert sorted(key_list(bale, tmp_path / "again")) == sorted(key_list(bale, tmp_path / "packed"))
    assert bale.ok("diff", tmp_path / "packed", tmp_path / "again").out == "the same 6 samples\n"


def test_a_name_that_is_decoded_never_equals_another(bale, tmp_path):
    """Of a zip: `photo.v2.jpg` is the key photo%2Ev2, and of a tar of others %2E is a part of the name."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("a/photo.v2.jpg", b"1")
    bale.ok("extract", tmp_path / "x.zip", tmp_path / "zip")
    assert tree_bytes(tmp_path / "zip") == {"a/photo.v2.jpg": b"1"}
    write_tar(tmp_path / "x.tar", [("a%2Eb.jpg", b"1"), ("a.b.jpg", b"2")])
    bale.ok("extract", tmp_path / "x.tar", tmp_path / "tar")
    assert tree_bytes(tmp_path / "tar") == {"a%2Eb.jpg": b"1", "a.b.jpg": b"2"}
    bale.ok("convert", tmp_path / "x.tar", tmp_path / "packed")
    bale.ok("extract", tmp_path / "packed", tmp_path / "own")  # decoded, both would be a.b.jpg
    assert sorted(tree_bytes(tmp_path / "own").values()) == [b"1", b"2"]
