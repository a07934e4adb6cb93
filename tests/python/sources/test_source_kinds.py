"""What a source is taken for, what of it is left out, and what is said about that."""
import json
import os
import shutil
import struct

import pytest
from conftest import NOBODY, class_names, key_list, ledger, let_others_in, read_tar, shards

FAILURE, USAGE, SKIPS = 1, 2, 4
NPY = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + \
    b"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, 3), }".ljust(117) + b"\n" + bytes(12)


@pytest.fixture
def own(tiny, tmp_path):
    """A copy of the small images that anyone may read."""
    shutil.copytree(tiny, tmp_path / "own")
    let_others_in(tmp_path / "own")
    os.chmod(tmp_path, 0o777)
    return tmp_path / "own"


@pytest.fixture
def as_nobody():
    return {"prefix": NOBODY if os.geteuid() == 0 else []}


# --- directories that are left out, or cannot be read

@pytest.mark.parametrize("where", ["lost+found", "a/private"])
def test_an_unreadable_directory(bale, own, as_nobody, where, tmp_path):
    """It is an error that says what to do, and each of its two ways does it."""
    (own / "a").mkdir()
    shutil.copy(next(own.rglob("*.JPEG")), own / "a" / "1.jpg")
    (own / where).mkdir()
    (own / where).chmod(0)
    failed = bale("pack", own, tmp_path / "out", **as_nobody)
    assert failed.code == FAILURE, failed
    line = failed.error_line()
    assert str(own / where) in line and "Permission denied" in line and "--exclude" in line and "--on-error" in line

    bale.ok("pack", own, tmp_path / "excluded", "--exclude", where, **as_nobody)
    assert b"lost+found" not in class_names(tmp_path / "excluded")
    assert len(key_list(bale, tmp_path / "excluded")) == 7

    skipped = bale("pack", own, tmp_path / "skipped", "--on-error", "skip", **as_nobody)
    assert skipped.code == SKIPS, skipped
    assert len(key_list(bale, tmp_path / "skipped")) == 7
    assert [(line["origin"], line["samples"]) for line in ledger(tmp_path / "skipped")] == [(str(own / where), None)]


def test_exclude_takes_a_directory_with_all_in_it(bale, own, tmp_path):
    image = next(own.rglob("*.JPEG"))
    for name in ["a/cache/deep/er/1.jpg", "a/2.jpg", "b/cache/3.jpg", "cached/4.jpg"]:
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(image, own / name)
    before = len(key_list(bale, bale.pack(own, tmp_path / "all") and tmp_path / "all"))
    result = bale("pack", own, tmp_path / "out", "--exclude", "*/cache", "--allow-empty")
    assert result.code == 0, result
    assert "--exclude" in result.err and "2 paths" in result.err
    assert len(key_list(bale, tmp_path / "out")) == before - 2
    # The same by a list of its files.
    listed = bale("pack", "--files-from", "-", tmp_path / "listed", "--root", own, "--exclude", "*/cache",
                  stdin=b"a/cache/deep/er/1.jpg\na/2.jpg\nb/cache/3.jpg\ncached/4.jpg\n")
    assert listed.code == 0, listed
    assert key_list(bale, tmp_path / "listed") == [b"a/2", b"cached/4"]


def test_a_class_whose_files_are_excluded_keeps_its_number(bale, own, tmp_path):
    classes = sorted(path.name for path in own.iterdir())
    bale.pack(own, tmp_path / "out", "--exclude", f"{classes[0]}/*")
    assert [name.decode() for name in class_names(tmp_path / "out")] == classes
    bale.pack(own, tmp_path / "without", "--exclude", classes[0])
    assert [name.decode() for name in class_names(tmp_path / "without")] == classes[1:]


# --- links

def test_folders_that_link_to_each_other_are_read_once_per_link(bale, tmp_path):
    """Twelve folders with links to each other have 1.3 billion paths."""
    source, number = tmp_path / "linked", 12
    for i in range(number):
        (source / f"c{i:02}").mkdir(parents=True)
        (source / f"c{i:02}" / f"{i}.ppm").write_bytes(b"P6\n1 1\n255\nabc")
        for other in range(number):
            if other != i:
                (source / f"c{i:02}" / f"to{other:02}").symlink_to(f"../c{other:02}")
    result = bale("pack", source, tmp_path / "out", timeout=60)
    assert result.code == 0, result
    assert "ignored" in result.err and "such links lead to already" in result.err
    keys = key_list(bale, tmp_path / "out")
    assert len(keys) <= number * number * 2
    assert {f"c{i:02}/{i}".encode() for i in range(number)} <= set(keys)


def test_ordinary_links_are_followed(bale, own, tmp_path):
    """Into the source and out of it, by several classes to one folder: as os.walk(followlinks=True) does."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shutil.copy(next(own.rglob("*.JPEG")), shared / "1.jpg")
    for name in ["x", "y"]:
        (own / name).mkdir()
        (own / name / "negatives").symlink_to(shared)
        (own / name / "more").symlink_to("negatives")
    (own / "z").symlink_to(shared)
    bale.pack(own, tmp_path / "out")
    expected = sorted(os.path.splitext(os.path.relpath(os.path.join(root, name), own))[0]
                      for root, _, names in os.walk(own, followlinks=True) for name in names)
    assert sorted(key.decode() for key in key_list(bale, tmp_path / "out")) == expected
    assert len(expected) == 6 + 5


# --- what a directory is taken for

@pytest.fixture
def flat(own, tmp_path):
    folder = tmp_path / "flat"
    folder.mkdir()
    for number, path in enumerate(sorted(own.rglob("*.JPEG"))):
        shutil.copy(path, folder / f"{number}.jpg")
    return folder


def test_an_array_among_images_is_not_a_shard(bale, flat, tmp_path):
    (flat / "mean.npy").write_bytes(NPY)
    result = bale("pack", flat, tmp_path / "out", "--flat")
    assert result.code == 0, result
    assert len(key_list(bale, tmp_path / "out")) == 6
    told = bale("pack", flat, tmp_path / "labeled")
    assert told.code == USAGE and "--flat" in told.error_line()
    assert "6 of its files are named as images, 1 as shards" in told.err


def test_an_image_among_shards_does_not_make_a_folder(bale, own, flat, tmp_path):
    packed = tmp_path / "packed"
    bale.pack(own, packed, "--shard-samples", "2")
    (packed / "manifest.json").unlink()
    shutil.copy(flat / "1.jpg", packed / "preview.jpg")
    result = bale("pack", packed, tmp_path / "out")
    assert result.code == 0, result
    assert "taken as packed shards" in result.err and "--source folder" in result.err
    assert len(key_list(bale, tmp_path / "out")) == 6


def test_source_decides(bale, own, flat, tmp_path):
    packed = tmp_path / "packed"
    bale.pack(own, packed, "--format", "tar")
    bale.pack(packed, tmp_path / "1", "--source", "tar")
    assert read_tar(tmp_path / "1") == read_tar(packed)
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(shards(packed)[0], alone / "x.tar")  # without its index, which would say where everything is
    wrong = bale("pack", alone, tmp_path / "2", "--source", "lmdb")
    assert wrong.code == FAILURE and str(alone / "x.tar") in wrong.error_line()
    assert bale("convert", packed, tmp_path / "2", "--source", "tar").code == 0
    assert bale("convert", packed, tmp_path / "3", "--source", "folder").code == USAGE
    assert bale("pack", packed, tmp_path / "3", "--source", "rar").code == USAGE
    table = tmp_path / "table.csv"
    table.write_text("path\nflat/1.jpg\n")
    bale.pack(table, tmp_path / "4", "--source", "table")
    listed = tmp_path / "table.txt"
    listed.write_text("flat/1.jpg\nflat/2.jpg\n")
    bale.pack(listed, tmp_path / "5", "--source", "list", cwd=tmp_path)
    assert len(key_list(bale, tmp_path / "5")) == 2
    # A folder that holds another program's manifest.json.
    (own / "manifest.json").write_text('{"name": "an extension", "version": 3}')
    assert bale("pack", own, tmp_path / "6").code == FAILURE
    bale.pack(own, tmp_path / "6", "--source", "folder")
    assert len(key_list(bale, tmp_path / "6")) == 6


# --- what a file is

SIGNATURES = {
    "HEIF": b"\0\0\0\x18ftypheic\0\0\0\0",
    "JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n", "ICO": b"\0\0\1\0\1\0",
    "TGA": b"\0\0\2" + bytes(40) + b"TRUEVISION-XFILE.\0", "HTML": b"<!DOCTYPE html><html>", "PDF": b"%PDF-1.7",
    "Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\n",
}


@pytest.mark.parametrize("kind", [*SIGNATURES, None])
def test_what_is_not_an_image_is_named(bale, own, kind, tmp_path):
    bad = own / "a" / "1.jpg"
    bad.parent.mkdir()
    bad.write_bytes(SIGNATURES.get(kind, b"\x01\x02\x03") + bytes(64 if kind != "TGA" else 0))
    result = bale("pack", own, tmp_path / "out")
    assert result.code == FAILURE
    line = result.error_line()
    assert str(bad) in line and ("git lfs pull" if kind == "Git LFS pointer" else "--on-error skip") in line
    assert (f"{kind} by its signature" if kind else "no known signature") in line


def test_images_that_cannot_be_decoded_are_counted(bale, own, tmp_path):
    """Kinds that are decoded by a library that this build may lack are packed by any build."""
    class_folder = next(own.iterdir())
    (class_folder / "x.webp").write_bytes(b"RIFF\x1a\0\0\0WEBPVP8L" + bytes(14))
    (class_folder / "y.ppm").write_bytes(b"P6\n1 1\n255\nabc")
    (class_folder / "z.ppm").write_bytes(b"P6\n1 1\n255\nab")
    result = bale("pack", own, tmp_path / "out", "--json")
    assert result.code == 0, result
    report = json.loads(result.out)
    assert report["undecodable"] == {} and report["images"]["incomplete"] == 2
    assert report["images"]["unknown"] == report["images"]["undecodable"] == 0


# --- whose fault an error is

def test_an_error_names_the_sample_that_does_not_fit(bale, own, tmp_path):
    """Never the temporary file that it was to be written to."""
    odd = sorted(own.rglob("*.JPEG"))[3]
    odd.write_bytes(b"\xff\xd8\xff\xd9")
    for arguments in [["--format", "npy", "--size", "16"], ["--format", "hdf5.array", "--size", "16"]]:
        result = bale("pack", own, tmp_path / "out", *arguments)
        assert result.code != 0
        assert ".bale-partial" not in result.err and ".staged" not in result.err, result
        assert str(odd) in result.error_line()


def test_a_failed_write_names_the_shard(bale, own, tmp_path):
    result = bale("pack", own, tmp_path / "out", "--name", "x", prefix=["prlimit", "--fsize=1000"])
    assert result.code == FAILURE
    assert str(tmp_path / "out" / "x-000000.tar") in result.error_line() and ".staged" not in result.err
