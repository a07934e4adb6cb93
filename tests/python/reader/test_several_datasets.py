"""Several datasets read as one (`a::b`): classes are merged by name, or the spec is refused."""
import json

import pytest
from conftest import class_names, make_images, manifest_of, shards, write_tar


def pack(bale, root, name, classes, *options):
    """Two images per class, whose keys are the class and a number."""
    make_images.make_tree(root / "all", classes=1, per_class=2, size=(24, 18))
    images = sorted((root / "all").rglob("*.*"))
    for directory in classes:
        for number, image in enumerate(images):
            target = root / f"{name}_files" / directory / f"{name}{number}{image.suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(image.read_bytes())
    bale.pack(root / f"{name}_files", root / name, *options)
    return root / name


def rows(bale, spec):
    return [json.loads(line) for line in bale.ok("ls", "--json", spec).out.splitlines()]


@pytest.fixture
def zoo(bale, tmp_path):
    """Label 0 is ant in one and bee in the other; cat is in both."""
    return pack(bale, tmp_path, "a", ["ant", "cat"]), pack(bale, tmp_path, "b", ["bee", "cat"])


@pytest.mark.parametrize("as_shards", [False, True])
def test_classes_are_merged_by_name(bale, zoo, as_shards):
    names = [shards(part)[0] if as_shards else part for part in zoo]
    spec = "::".join(map(str, names))
    expected = {"ant": 0, "cat": 1, "bee": 2}
    found = rows(bale, spec)
    assert len(found) == 8
    for row in found:
        name = row["key"].split("/")[0]
        assert (row["label"], row["class"]) == (expected[name], name)
        field = bale.ok("cat", spec, row["key"], "--field", "cls").out
        assert field == str(expected[name])
    stats = bale.ok("stats", spec).out
    assert "bee" in stats and "ant" in stats
    assert [row["label"] for row in rows(bale, "::".join(map(str, reversed(names))))] == [0, 0, 1, 1, 2, 2, 1, 1]


def test_converted_datasets_have_merged_classes(bale, zoo, tmp_path):
    bale.ok("convert", f"{zoo[0]}::{zoo[1]}", tmp_path / "out")
    assert class_names(tmp_path / "out") == [b"ant", b"cat", b"bee"]
    assert {(row["class"], row["key"].split("/")[0]) for row in rows(bale, tmp_path / "out")} == {
        ("ant", "ant"), ("cat", "cat"), ("bee", "bee")}
    bale.ok("verify", tmp_path / "out")
    bale.ok("extract", tmp_path / "out", tmp_path / "files")
    assert (tmp_path / "files" / "bee" / "b0.cls").read_text() == "2"


def test_a_merged_manifest_says_what_was_done_to_the_images(bale, tmp_path):
    plain, small, smaller = (pack(bale, tmp_path, name, ["ant"], *options) for name, options in (
        ("a", []), ("b", ["--resize-short", "8"]), ("c", ["--resize-short", "6", "--strip-metadata"])))

    def edits(*parts):
        bale.ok("convert", "::".join(map(str, parts)), tmp_path / "out", "--name", "x", "--overwrite")
        bale.ok("verify", tmp_path / "out")
        return manifest_of(tmp_path / "out").get("edits", {})

    alone = edits(small)
    assert alone["resize_short"] == "8" and "metadata" not in alone
    assert edits(plain, small)["resize_short"] == "8 (some images)"
    both = edits(small, smaller)
    assert both["resize_short"] == "6 or 8 (some images)" and both["metadata"] == "stripped (some images)"
    assert both["filter"] == alone["filter"]
    assert edits(plain) == {}


@pytest.mark.parametrize("as_shards", [False, True])
def test_numbers_inside_of_fields_are_not_merged(bale, photos, tmp_path, as_shards):
    """Boxes hold numbers of classes that nothing translates."""
    image = next(path for path in sorted(photos.rglob("*.*")) if path.is_file())
    packed = []
    for number, classes in enumerate((["cat", "dog"], ["dog", "cat"], ["", "cat", "dog"], ["", "cat", "dog", "emu"])):
        (tmp_path / f"{number}.json").write_text(json.dumps({
            "images": [{"id": 1, "file_name": f"{number}{image.suffix}"}], "categories": [{"id": i, "name": name} for i, name in enumerate(classes) if name],
            "annotations": [{"id": 1, "image_id": 1, "bbox": [0, 0, 1, 1], "category_id": 1}]}))
        (tmp_path / f"images{number}").mkdir()
        (tmp_path / f"images{number}/{number}{image.suffix}").write_bytes(image.read_bytes())
        bale.pack(tmp_path / f"images{number}", tmp_path / f"p{number}", "--annotations", tmp_path / f"{number}.json")
        packed.append(shards(tmp_path / f"p{number}")[0] if as_shards else tmp_path / f"p{number}")
    result = bale("convert", f"{packed[0]}::{packed[1]}", tmp_path / "out")
    assert result.code == 2 and f'{tmp_path / "p1"}: class "dog" has the number 0 and would get 1 with the other datasets' in result.error_line(), result
    assert "boxes.json has the old numbers" in result.error_line() and not (tmp_path / "out").exists()
    bale.ok("convert", f"{packed[2]}::{packed[3]}", tmp_path / "out")  # numbers that stay
    (tmp_path / "n.csv").write_text(f"filename,class,xmin,ymin,xmax,ymax\n0{image.suffix},1,0,0,1,1\n")
    bale.pack(tmp_path / "images0", tmp_path / "n", "--annotations", tmp_path / "n.csv")
    nameless = shards(tmp_path / "n")[0] if as_shards else tmp_path / "n"
    result = bale("ls", f"{nameless}::{packed[1]}")
    assert result.code == 2 and "the numbers in boxes.json have no class names" in result.error_line(), result
    result = bale("add", tmp_path / "p1", tmp_path / "images0", "--annotations", tmp_path / "n.csv")
    assert result.code == 2 and "has names of classes, and the new samples do not" in result.error_line(), result
    assert class_names(tmp_path / "out") == [b"", b"cat", b"dog", b"emu"]
    result = bale("convert", packed[0], tmp_path / "folders", "--class-folders")  # would rename the numbers
    assert result.code == 2 and "whose numbers are in the field boxes.json" in result.error_line(), result


def test_the_same_classes_stay_as_they_are(bale, tmp_path):
    one, two = pack(bale, tmp_path, "a", ["ant", "bee"]), pack(bale, tmp_path, "b", ["ant", "bee"])
    assert [row["label"] for row in rows(bale, f"{one}::{two}")] == [0, 0, 1, 1, 0, 0, 1, 1]


def test_manifests_are_used(bale, zoo):
    """A file that a manifest does not name is not a part of the dataset; one that it names and is not there is missed."""
    [shard] = shards(zoo[1])
    stray = shard.with_name(shard.name.replace("000000", "000001"))
    stray.write_bytes(shards(zoo[0])[0].read_bytes())
    assert len(rows(bale, f"{zoo[0]}::{zoo[1]}")) == 8
    shard.unlink()
    result = bale("ls", f"{zoo[0]}::{zoo[1]}")
    assert result.code == 1 and shard.name in result.error_line()


def foreign_tar(path, with_labels):
    return write_tar(path, [("stranger.jpg", b"\xff\xd8"), *([("stranger.cls", b"0")] if with_labels else [])])


def test_labels_without_names_are_refused(bale, zoo, tmp_path):
    foreign = foreign_tar(tmp_path / "foreign.tar", with_labels=True)
    for command in (("ls",), ("read",), ("stats",)):
        result = bale(command[0], f"{zoo[0]}::{foreign}", *command[1:])
        assert result.code == 2 and "its labels have no class names" in result.error_line(), result
        assert "folders that are named by class" in result.error_line()
    assert bale("convert", f"{zoo[0]}::{foreign}", tmp_path / "out").code == 2


def test_samples_without_labels_are_welcome(bale, zoo, tmp_path):
    foreign = foreign_tar(tmp_path / "foreign.tar", with_labels=False)
    assert [row.get("label") for row in rows(bale, f"{foreign}::{zoo[1]}")] == [None, 0, 0, 1, 1]


def test_shards_of_strangers_share_one_numbering(bale, tmp_path):
    """As webdataset has it: where nobody names classes, numbers are taken to mean the same."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        foreign_tar(tmp_path / name / "x.tar", with_labels=True)
    assert [row["label"] for row in rows(bale, f"{tmp_path}/one/x.tar::{tmp_path}/two/x.tar")] == [0, 0]
