"""bale merge A B -o DST: finished datasets become one, shard by shard; classes are merged by name."""
import json
import os
import re
import shutil

import pytest
from conftest import (
    ALL_LAYOUTS,
    by_tier,
    class_names,
    format_options,
    make_images,
    manifest_of,
    shards,
    shim,
    tree_bytes,
)
from fault_support import KILLED, check_only_whole_files, count_calls


def pack(bale, root, name, classes, *options):
    """Four images per class. Keys are the class, the name and a number."""
    make_images.make_tree(root / "all", classes=1, per_class=4, size=(24, 18))
    for directory in classes:
        for number, image in enumerate(sorted((root / "all").rglob("*.*"))):
            target = root / f"{name}_files" / directory / f"{name}{number}{image.suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(image.read_bytes())
    bale.pack(root / f"{name}_files", root / name, "--shard-samples", "3", *options)
    return root / name


def rows(bale, spec):
    """What is known of each sample, but for its shard."""
    found = [json.loads(line) for line in bale.ok("ls", "--json", spec).out.splitlines()]
    return [{name: value for name, value in row.items() if name != "shard"} for row in found]


def listed(directory):
    """The shards that the manifest names, without the files next to them."""
    return [directory / shard["file"] for shard in manifest_of(directory)["shards"]]


@pytest.fixture
def zoo(bale, tmp_path):
    """Label 0 is ant in one and bee in the other; cat is in both."""
    return pack(bale, tmp_path, "a", ["ant", "cat"]), pack(bale, tmp_path, "b", ["bee", "cat"])


@pytest.mark.parametrize("layout", [".".join(layout) for layout in ALL_LAYOUTS])
def test_every_layout(bale, tmp_path, layout):
    """Shards are those of the sources, byte for byte, under new names; copies and links make the same dataset."""
    options = [*format_options(layout), "--name", "x"]
    one, two = (pack(bale, tmp_path, name, ["ant", "bee"], *options) for name in ("a", "b"))
    bale.ok("merge", one, two, "-o", tmp_path / "copied", "--name", "m")
    bale.ok("merge", one, two, "-o", tmp_path / "linked", "--name", "m", "--link", "--jobs", "1")
    assert tree_bytes(tmp_path / "copied") == tree_bytes(tmp_path / "linked")
    sources = [*listed(one), *listed(two)]
    for merged, linked in (("copied", False), ("linked", True)):
        found = listed(tmp_path / merged)
        assert [path.read_bytes() for path in found] == [path.read_bytes() for path in sources]
        assert [os.path.samefile(*pair) for pair in zip(found, sources, strict=True)] == [linked] * len(sources)
    assert rows(bale, tmp_path / "copied") == rows(bale, f"{one}::{two}")
    assert bale.ok("verify", tmp_path / "copied")
    assert sorted(os.listdir(tmp_path / "copied")) == sorted(tree_bytes(tmp_path / "copied"))


def test_classes_with_other_numbers(bale, zoo, tmp_path):
    """Their shards are written again, with the numbers inside, and the others are copied. Images keep their bytes."""
    one, two = zoo
    bale.ok("merge", one, two, "-o", tmp_path / "out")
    assert class_names(tmp_path / "out") == [b"ant", b"cat", b"bee"]
    assert rows(bale, tmp_path / "out") == rows(bale, f"{one}::{two}")
    bale.ok("verify", tmp_path / "out")
    assert [path.read_bytes() for path in shards(tmp_path / "out")[:3]] == [path.read_bytes() for path in shards(one)]
    bale.ok("extract", tmp_path / "out", tmp_path / "files")
    for name, numbers in (("a", {"ant": "0", "cat": "1"}), ("b", {"bee": "2", "cat": "1"})):
        for image in (tmp_path / f"{name}_files").rglob("*.JPEG"):
            extracted = tmp_path / "files" / image.parent.name / image.stem
            assert extracted.with_suffix(".jpg").read_bytes() == image.read_bytes()
            assert extracted.with_suffix(".cls").read_text() == numbers[image.parent.name]


def test_classes_in_the_files_count_from_one_base(bale, tmp_path):
    """Shards that are written again number classes for other readers as those that are copied."""
    options = ["--format", "tfrecord", "--label-base", "1"]
    one, two = pack(bale, tmp_path, "a", ["ant", "cat"], *options), pack(bale, tmp_path, "b", ["bee", "cat"], *options)
    bale.ok("merge", one, two, "-o", tmp_path / "out")
    stored = [re.findall(rb"image/class/label\x12\x05\x1a\x03\n\x01(.)", path.read_bytes(), re.DOTALL) for path in listed(tmp_path / "out")]
    assert [label[0] - 1 for labels in stored for label in labels] == [row["label"] for row in rows(bale, tmp_path / "out")]
    assert manifest_of(tmp_path / "out")["label_base"] == "1"
    zero = pack(bale, tmp_path, "c", ["ant"], *options[:2])
    assert "label_base" not in manifest_of(zero)
    refused(bale, "its files number classes from 0 on, and those of", one, zero, "-o", tmp_path / "no")


def test_a_dataset_with_the_first_classes_is_copied(bale, tmp_path):
    many, few = pack(bale, tmp_path, "a", ["ant", "bee", "cat"]), pack(bale, tmp_path, "b", ["ant", "bee"])
    bale.ok("merge", many, few, "-o", tmp_path / "out")
    assert [path.read_bytes() for path in shards(tmp_path / "out")] == [path.read_bytes() for path in [*shards(many), *shards(few)]]
    bale.ok("merge", few, many, "-o", tmp_path / "other")
    assert [path.read_bytes() for path in shards(tmp_path / "other")] == [path.read_bytes() for path in [*shards(few), *shards(many)]]
    assert class_names(tmp_path / "other") == [b"ant", b"bee", b"cat"]


def test_files_for_other_readers(bale, tmp_path):
    """Seek points, sidecars and lists are there if all sources have them."""
    options = ["--seek-points", "--sidecars", "wds2idx,wids"]
    one, two = (pack(bale, tmp_path, name, ["ant"], *options) for name in ("a", "b"))
    plain = pack(bale, tmp_path, "c", ["ant"])
    bale.ok("merge", one, two, "-o", tmp_path / "out", "--name", "x")
    bale.ok("verify", tmp_path / "out")
    names = set(tree_bytes(tmp_path / "out"))
    assert {"x-000000.tar.bseek", "x-000003.idx", "shardindex.json"} <= names
    listed = json.loads((tmp_path / "out" / "shardindex.json").read_text())["shardlist"]
    assert [shard["nsamples"] for shard in listed] == [3, 1, 3, 1]
    bale.ok("merge", one, plain, "-o", tmp_path / "other", "--name", "x")
    assert {path.suffix for path in (tmp_path / "other").iterdir()} == {".tar", ".bidx", ".json"}


def test_skipped_samples_are_listed(bale, tmp_path):
    one = pack(bale, tmp_path, "a", ["ant"])
    (tmp_path / "a_files" / "ant" / "bad.jpg").write_bytes(b"no image")
    assert bale("pack", tmp_path / "a_files", tmp_path / "bad", "--on-error", "quarantine").code == 4
    two = pack(bale, tmp_path, "b", ["ant"])
    result = bale("merge", tmp_path / "bad", two, "-o", tmp_path / "out")
    assert result.code == 4, result
    assert manifest_of(tmp_path / "out")["num_skipped"] == 1
    entry = json.loads((tmp_path / "out" / "skipped.jsonl").read_text())
    assert entry["origin"].endswith("bad.jpg") and open(entry["quarantined"][0], "rb").read() == b"no image"
    assert one.exists()


# --- what is refused

def refused(bale, words, *arguments, code=2):
    result = bale("merge", *arguments)
    assert result.code == code and words in result.error_line(), result


def test_conflicts_are_named(bale, zoo, tmp_path):
    one, two = zoo
    out = tmp_path / "out"
    shutil.copytree(one, tmp_path / "again")
    refused(bale, "have the same key", one, two, tmp_path / "again", "-o", out)
    lmdb = pack(bale, tmp_path, "l", ["ant"], "--format", "lmdb")
    refused(bale, "is lmdb.plain, and ", one, lmdb, "-o", out)
    pixels = [pack(bale, tmp_path, name, [label], "--format", "npy", "--size", "16") for name, label in (("p", "ant"), ("q", "bee"))]
    refused(bale, 'its class "bee" would get the number 1 instead of 0', *pixels, "-o", out)
    flat = tmp_path / "flat"
    bale.pack(tmp_path / "l_files", flat, "--flat")
    bale.ok("merge", one, flat, "-o", tmp_path / "with-flat")  # has no labels
    refused(bale, "there is no manifest.json", one, tmp_path / "a_files", "-o", out, code=1)
    refused(bale, "bale merge A B -o DST", one, two)
    refused(bale, "holds the source", one, two, "-o", one)
    refused(bale, "is not empty", one, two, "-o", tmp_path / "a_files", code=1)
    assert not out.exists()


def test_classes_in_boxes_are_not_renumbered(bale, zoo, tmp_path):
    one, _ = zoo
    images = tmp_path / "images"
    images.mkdir()
    shutil.copy(next((tmp_path / "all").rglob("*.JPEG")), images / "x.jpg")
    (tmp_path / "coco.json").write_text(json.dumps({
        "images": [{"id": 1, "file_name": "x.jpg", "width": 24, "height": 18}], "categories": [{"id": 1, "name": "bee"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 4, 4], "area": 16, "iscrowd": 0}]}))
    bale.pack(images, tmp_path / "boxes", "--annotations", tmp_path / "coco.json")
    refused(bale, "the field boxes.json has the old numbers", one, tmp_path / "boxes", "-o", tmp_path / "out")


@pytest.mark.parametrize("link", [[], ["--link"]])
def test_damage_is_named(bale, zoo, tmp_path, link):
    one, two = zoo
    victim = shards(one)[1]
    whole = victim.read_bytes()
    for damaged in (whole[:-512], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]):
        victim.write_bytes(damaged)
        result = bale("merge", one, two, "-o", tmp_path / "out", *link)
        assert result.code == 1 and victim.name in result.error_line(), result
        assert not (tmp_path / "out" / "manifest.json").exists()
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    victim.write_bytes(whole)
    index = victim.with_name(victim.name + ".bidx")
    shutil.copy(shards(one)[0].with_name(shards(one)[0].name + ".bidx"), index)
    result = bale("merge", one, two, "-o", tmp_path / "out", *link)
    assert result.code == 1 and victim.name in result.error_line(), result


# --- interruptions

@pytest.mark.parametrize("options", [[], ["--link"]])
def test_killed_at_every_call(bale, zoo, tmp_path, options):
    def arguments(out):
        return ["merge", *zoo, "-o", out, "--name", "x", "--jobs", "1", *options]
    calls = count_calls(bale, tmp_path, *arguments(tmp_path / "whole"))
    expected = tree_bytes(tmp_path / "whole")
    sources = [tree_bytes(source) for source in zoo]
    for n in range(1, calls + 1, by_tier(max(calls // 12, 1), 1)):
        out = tmp_path / f"out-{n}"
        assert bale(*arguments(out), env=shim(KILL_AT=n)).code == KILLED
        check_only_whole_files(out, expected)
        bale.ok(*arguments(out), "--resume")
        assert tree_bytes(out) == expected, n
    assert [tree_bytes(source) for source in zoo] == sources


def test_overwrite(bale, zoo, tmp_path):
    out = tmp_path / "out"
    bale.ok("merge", zoo[0], "-o", out)
    bale.ok("merge", *zoo, "-o", tmp_path / "fresh", "--name", "out")
    refused(bale, "it holds a packed dataset", *zoo, "-o", out, code=1)
    bale.ok("merge", *zoo, "-o", out, "--overwrite")
    assert tree_bytes(out) == tree_bytes(tmp_path / "fresh")
    assert bale.ok("merge", *zoo, "-o", out, "--resume")
