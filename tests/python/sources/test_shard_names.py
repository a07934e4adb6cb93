"""What the names of shards say about those that are missing, or of another split."""

import pytest


@pytest.fixture
def shards_of(bale, tiny, tmp_path):
    """The bytes of a tar and of a file of TFRecords, without an index."""
    for name in ("tar", "tfrecord"):
        bale.pack(tiny, tmp_path / name, "--format", name)
    return (next((tmp_path / "tar").glob("*.tar")).read_bytes(), next((tmp_path / "tfrecord").glob("*-of-00001")).read_bytes())


def beside(result, directory):
    return sorted(line.replace(f"{directory}/", "") for line in result.err.splitlines() if "missing" in line)


def test_shards_that_the_names_count_and_that_are_not_there(bale, shards_of, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    names = [f"train-{number:05}-of-00004{suffix}" for suffix in ("", ".tar") for number in (0, 1, 3)]
    for name in names:
        (place / name).write_bytes(shards_of[0 if name.endswith("tar") else 1])
    said = "1 of the 4 shards that the names count is missing (such as train-00002-of-00004"
    missing = [f"{place}: {said})", f"{place}: {said}.tar)"]
    assert beside(bale.ok("convert", place / "train-*", tmp_path / "out"), place) == missing
    assert beside(bale.ok("verify", place / "train-?????-of-00004"), place) == missing[:1]
    assert beside(bale.ok("inspect", place / "train-{00000,00001}-of-00004"), place) == []  # named one by one
    (place / "train-00002-of-00004").write_bytes(shards_of[1])
    (place / "train-00000-of-00004.tar").rename(place / "train-00004-of-00004.tar")
    found = bale.ok("verify", place / "train-*")
    assert beside(found, place) == [f"{place}: 1 of the 4 shards that the names count is missing (such as train-00002-of-00004.tar)"]


def test_names_of_shards_that_skip_a_number_or_are_of_two_splits_are_said(bale, shards_of, tmp_path):
    place = tmp_path / "dev" / "place"  # a directory above all of them is not one of their splits
    place.mkdir(parents=True)
    names = ["train-000000.tar", "train-000002.tar", "train-000003.tar", "val-000000.tar"]
    for name in [*names, "n0144.tar", "n0153.tar", "2024.7.tar"]:
        (place / name).write_bytes(shards_of[0])
    skipped = f"{place}: the numbers of the shards skip 1 (such as train-000001.tar), which may be missing"
    splits = f"{place}: the shards are of several splits by their names (3 of train, 1 of val), and are read as one dataset; name those of one split, as in '*train*'"
    for spec in (place, place / "*.tar"):
        said = [line for line in bale.ok("convert", spec, tmp_path / f"out{len(str(spec))}").err.splitlines() if "the shards" in line]
        assert said == [skipped, splits]
    assert "splits" not in bale.ok("ls", place / "train-*").err
    assert bale.ok("ls", place / "train-{000000,000002}.tar").err == ""
    assert bale.ok("ls", f"{place}/train-000000.tar::{place}/val-000000.tar").err == ""


def test_a_pattern_of_directories_of_two_splits_is_said(bale, tiny, shards_of, tmp_path):
    for split in ("train", "val"):
        bale.pack(tiny, tmp_path / "packed" / split)
        for below in ("", "shards"):
            place = tmp_path / "own" / below / split / below
            place.mkdir(parents=True)
            (place / "x.tar").write_bytes(shards_of[0])
    said = "the directories are of several splits by their names (1 of train, 1 of val), and are read as one dataset; name those of one split, as in '*train*'"
    for number, spec in enumerate(["packed/*", "packed/*/*.tar", "own/*/x.tar", "own/shards/*/*/x.tar", "own/shards/*/shards"]):
        done = bale.ok("convert", tmp_path / spec, tmp_path / f"out{number}")
        assert done.err.count(f"{tmp_path / spec}: {said}\n") == 1 and done.err.count("several splits") == 1, done
    packed = tmp_path / "packed"
    for spec in (packed / "tr*", packed / "{train,val}", f"{packed}/train::{packed}/val", f"{packed}/tr*/*.tar::{packed}/v*/*.tar"):
        assert "several splits" not in bale.ok("ls", spec).err
