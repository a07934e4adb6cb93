"""`bale dedup`: the list of duplicates that --exclude-from takes."""
import json

import pytest
from conftest import LAYOUTS, format_options
from report_support import cropped, fill, jpeg, picture, write

OK, FAILURE, USAGE = 0, 1, 2


@pytest.fixture
def folder(tmp_path):
    root = fill(tmp_path / "folder", range(10))
    write(root / "cat/same.jpg", jpeg(picture(0)))
    write(root / "dog/small.jpg", jpeg(picture(1).resize((160, 120))))
    write(root / "dog/conflict.jpg", jpeg(picture(2)))
    return root


def listed(bale, *arguments):
    return bale.ok("dedup", *arguments, "--quiet").out.splitlines()


def keys(bale, packed):
    return sorted(bale.ok("ls", packed).out.splitlines())


def test_the_list_makes_a_dataset_without_duplicates(bale, folder, tmp_path):
    before = sorted(path.read_bytes() for path in folder.rglob("*.jpg"))
    result = bale.ok("dedup", folder, "--near", "-o", tmp_path / "list")
    assert result.out == "" and "3 of 13 images listed: 2 with the bytes of an image that is kept, 1 that look like one" in result.err
    assert sorted((tmp_path / "list").read_text().splitlines()) == ["cat/same.jpg", "dog/conflict.jpg", "dog/small.jpg"]
    assert sorted(path.read_bytes() for path in folder.rglob("*.jpg")) == before  # nothing is removed
    bale.pack(folder, tmp_path / "packed", "--exclude-from", tmp_path / "list")
    assert len(keys(bale, tmp_path / "packed")) == 10
    assert listed(bale, tmp_path / "packed", "--near") == []


@pytest.mark.parametrize("layout", [f"{name}.{layout}" for name, layout in LAYOUTS])
def test_lists_of_packed_datasets(bale, folder, tmp_path, layout):
    write(folder / "cat/dotted.name.jpg", jpeg(picture(4)))
    bale.pack(folder, tmp_path / "packed", *format_options(layout))
    bale.ok("dedup", tmp_path / "packed", "--near", "-o", tmp_path / "list")
    bale.ok("convert", tmp_path / "packed", tmp_path / "clean", "--format", "tar", "--exclude-from", tmp_path / "list")
    assert len(keys(bale, tmp_path / "packed")) == 14 and len(keys(bale, tmp_path / "clean")) == 10


def test_without_near_only_the_same_bytes(bale, folder):
    assert listed(bale, folder) == ["cat/same.jpg", "dog/conflict.jpg"]


def test_which_one_is_kept(bale, tmp_path):
    folder = tmp_path / "folder"
    write(folder / "c/a.jpg", jpeg(picture(1).resize((160, 120)), 95))
    write(folder / "c/b.jpg", jpeg(picture(1), 95))
    write(folder / "c/c.jpg", jpeg(picture(1), 20))
    for rule, kept in (("first", "c/a.jpg"), ("largest", "c/b.jpg"), ("smallest", "c/c.jpg")):
        found = json.loads(bale.ok("dedup", folder, "--near", "--keep", rule, "--json", "--quiet").out)
        assert {one["kept"] for one in found["duplicates"]} == {kept} and found["listed"] == 2
    assert bale("dedup", folder, "--keep", "best").code == USAGE


def test_conflicts(bale, folder):
    assert listed(bale, folder, "--conflicts", "keep-all") == ["cat/same.jpg"]
    assert listed(bale, folder, "--conflicts", "drop-all") == ["cat/002.jpg", "cat/same.jpg", "dog/conflict.jpg"]


def test_against_another_split(bale, folder, tmp_path):
    val = fill(tmp_path / "val", range(50, 54))
    write(val / "cat/leak.jpg", jpeg(picture(4)))
    write(val / "cat/crop.jpg", jpeg(cropped(picture(5), 0.9)))
    write(val / "cat/twice.jpg", jpeg(picture(50)))  # of val itself: never listed
    assert listed(bale, folder, "--against", val, "--near") == \
        ["cat/004.jpg", "cat/same.jpg", "dog/005.jpg", "dog/conflict.jpg", "dog/small.jpg"]
    found = json.loads(bale.ok("dedup", folder, "--against", val, "--json", "--quiet").out)
    assert {one["name"]: one["kept_in"] for one in found["duplicates"]}["cat/004.jpg"] == "val"


def test_images_that_cannot_be_compared_are_counted(bale, folder, tmp_path):
    """A leak may be among them."""
    for n in (1, 2):
        write(folder / "cat/cut.jpg", jpeg(picture(3))[:200 * n])
        write(folder / "dog/text.jpg", b"no image") if n == 2 else None
        result = bale.ok("dedup", folder, "--near", "--json")
        assert json.loads(result.out)["corrupt"] == n and f"{n} image{'s' * (n == 2)} cannot be used, and may have duplicates" in result.err
    val = fill(tmp_path / "val", range(50, 54))
    assert "cannot be used" in bale.ok("dedup", val, "--against", folder, "--quiet").err
    bale.pack(val, tmp_path / "packed", "--shard-samples", "2")
    (tmp_path / "packed/val-000001.tar").write_bytes(b"")
    result = bale.ok("dedup", tmp_path / "packed", "--json", "--quiet")
    assert "val-000001.tar" in json.loads(result.out)["losses"][0] and "cannot be read, the first: " in result.err


def test_names_with_newlines_are_ended_by_nul(bale, folder, tmp_path):
    write(folder / "dog/new\nline.jpg", jpeg(picture(3)))
    bale.ok("dedup", folder, "-o", tmp_path / "list")
    assert (tmp_path / "list").read_bytes() == b"cat/same.jpg\0dog/conflict.jpg\0dog/new\nline.jpg\0"
    bale.pack(folder, tmp_path / "packed", "--exclude-from", tmp_path / "list")
    assert len(keys(bale, tmp_path / "packed")) == 11
    assert bale.ok("dedup", folder, "-0", "--exclude", "*new*").out == "cat/same.jpg\0dog/conflict.jpg\0"


def test_an_existing_list_is_kept(bale, folder, tmp_path):
    write(tmp_path / "list", b"mine")
    assert bale("dedup", folder, "-o", tmp_path / "list").code == FAILURE
    assert (tmp_path / "list").read_bytes() == b"mine"
    bale.ok("dedup", folder, "-o", tmp_path / "list", "--force")


def test_a_directory_of_several_datasets_is_refused(bale, folder, tmp_path):
    bale.pack(folder, tmp_path / "all", "--split", "train=0.5,val=0.5")
    refused = bale("dedup", tmp_path / "all")
    assert refused.code == USAGE and "--against" in refused.error_line()
