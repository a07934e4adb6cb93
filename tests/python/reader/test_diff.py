"""`bale diff`: what two datasets, or a dataset and its folder, differ in."""
import json
import shutil

import pytest
from conftest import LAYOUTS, flip, format_options, shards

OK, FAILURE, USAGE, DIFFERENT = 0, 1, 2, 3


@pytest.fixture
def folder(photos, tmp_path):
    copy = tmp_path / "folder"
    shutil.copytree(photos, copy)
    return copy


@pytest.fixture
def packed(bale, folder, tmp_path):
    bale.pack(folder, tmp_path / "packed", "--shard-samples", "7")
    return tmp_path / "packed"


def images(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def key_of(folder, image):
    return str(image.relative_to(folder).with_suffix(""))


def differences(bale, a, b, *options):
    result = bale("diff", a, b, "--json", *options)
    report = json.loads(result.out)
    assert result.code == (OK if report["same"] else DIFFERENT), result
    return report


@pytest.mark.parametrize("layout", [f"{name}.{layout}" for name, layout in LAYOUTS])
def test_every_format_is_the_same_as_its_folder(bale, folder, tmp_path, layout):
    bale.pack(folder, tmp_path / "packed", *format_options(layout), "--shuffle", "3")
    for a, b in ((folder, tmp_path / "packed"), (tmp_path / "packed", folder)):
        result = bale("diff", a, b)
        assert result.code == OK and result.out == "the same 40 samples\n", result
    bale.ok("convert", tmp_path / "packed", tmp_path / "tar", "--format", "tar")
    assert differences(bale, tmp_path / "packed", tmp_path / "tar")["num_same"] == 40


def test_each_kind_of_difference_is_named(bale, folder, packed):
    changed, removed, moved, added = images(folder)[:4]
    content = bytearray(changed.read_bytes())
    content[100] ^= 1
    changed.write_bytes(content)
    key = key_of(folder, removed)
    removed.unlink()
    other_class = next(path for path in sorted(folder.iterdir()) if path.name != moved.parent.name)
    shutil.move(moved, other_class / "moved.jpg")
    shutil.copy(added, added.with_name("added.jpg"))
    report = differences(bale, folder, packed)
    found = {(one["kind"], one["key"]): one for one in report["differences"]}
    assert set(found) == {("bytes", key_of(folder, changed)), ("only_in_b", key), ("only_in_b", key_of(folder, moved)),
                          ("only_in_a", key_of(folder, other_class / "moved.jpg")),
                          ("only_in_a", key_of(folder, added.with_name("added.jpg")))}
    one = found["bytes", key_of(folder, changed)]
    size = len(content)
    assert one["what"] == f"{size} bytes in A, {size} in B, different from byte 100 on"
    assert one["field"] == "jpg" and one["origin"] == str(changed)
    assert (report["num_same"], report["num_different"], report["num_only_in_a"], report["num_only_in_b"]) == (37, 1, 2, 2)
    text = bale("diff", folder, packed)
    assert text.code == DIFFERENT
    assert f"only in B: {key}\n" in text.out
    assert text.out.endswith("40 samples in A, 40 in B: 37 the same, 1 different, 2 only in A, 2 only in B\n"), text
    back = differences(bale, packed, folder)
    assert {(one["kind"], one["key"]) for one in back["differences"]} == {
        (kind.replace("only_in_a", "x").replace("only_in_b", "only_in_a").replace("x", "only_in_b"), name) for kind, name in found}


def test_keys_and_labels_alone(bale, folder, packed):
    changed = images(folder)[0]
    changed.write_bytes(changed.read_bytes() + b"more")
    assert not differences(bale, folder, packed)["same"]
    result = bale("diff", folder, packed, "--keys-only")
    assert result.code == OK and result.out == "the same 40 samples by keys and labels\n"


def test_labels_by_number_and_by_name(bale, folder, packed, tmp_path):
    """The same images with the classes in another order are other data for whoever trains on them."""
    names = sorted(path.name for path in folder.iterdir())
    order = tmp_path / "classes.txt"
    order.write_text("".join(f"{name} {number}\n" for number, name in enumerate(reversed(names))))
    bale.pack(folder, tmp_path / "reversed", "--class-map", order)
    report = differences(bale, packed, tmp_path / "reversed", "--limit", "0")
    assert not report["same_classes"]
    changed = [one for one in report["differences"] if one["kind"] == "label"]
    assert len(changed) == len(report["differences"]) >= 20
    number = names.index(changed[0]["key"].split("/")[0])
    assert changed[0]["what"] == f"{names[number]} ({number}) in A, {names[number]} ({len(names) - 1 - number}) in B"


def test_fields(bale, folder, tmp_path):
    for image in images(folder):
        image.with_suffix(".txt").write_text(image.stem)
    bale.pack(folder, tmp_path / "with", "--pair", "jpg,txt")
    bale.pack(folder, tmp_path / "without")
    report = differences(bale, tmp_path / "with", tmp_path / "without", "--limit", "0")
    assert {(one["kind"], one["field"]) for one in report["differences"]} == {("field_only_in_a", "txt")}
    report = differences(bale, tmp_path / "without", tmp_path / "with", "--limit", "1")
    assert [(one["kind"], one["field"]) for one in report["differences"]] == [("field_only_in_b", "txt")]
    assert report["num_different"] == report["num_differences"] == 40


def test_output_is_bounded_and_all_is_counted(bale, folder, packed, tmp_path):
    for image in images(folder):
        image.write_bytes(image.read_bytes() + b"!")
    result = bale("diff", folder, packed, "--limit", "3")
    lines = result.out.splitlines()
    assert len(lines) == 5 and lines[3] == "... and 37 more; `bale diff --limit 0` prints all", result
    assert len(bale("diff", folder, packed, "--limit", "0").out.splitlines()) == 41


def test_damage_is_a_difference_that_is_named(bale, packed, tmp_path):
    whole = tmp_path / "whole"
    shutil.copytree(packed, whole)
    flip(shards(packed)[0], 1024 + 600)
    report = differences(bale, whole, packed)
    assert [one["kind"] for one in report["differences"]] == ["unreadable_in_b"]
    assert "checksum" in report["differences"][0]["what"] and report["num_unreadable"] == 1
    assert "cannot be read in A: " in bale("diff", packed, whole).out


def test_what_cannot_be_opened(bale, packed, tmp_path):
    missing = bale("diff", packed, tmp_path / "missing")
    assert missing.code == FAILURE and "missing" in missing.error_line() and missing.out == ""
    assert bale("diff", packed).code == USAGE


def test_a_part(bale, folder, packed):
    images(folder)[0].unlink()
    name = sorted(path.name for path in folder.iterdir())[0]
    assert differences(bale, folder, packed, "--exclude", f"{name}/**")["same"]


def test_files_of_one_key_are_compared_as_a_multiset(bale, photos, tmp_path):
    """`a.JPEG` and `a.jpg` have one key: packing refuses that, and two trees of it can still be compared."""
    jpegs = [path.read_bytes() for path in images(photos)[:3]]
    for tree, (upper, lower) in {"a": (0, 1), "b": (1, 0), "c": (0, 2), "d": (0, None)}.items():
        (tmp_path / tree / "cat").mkdir(parents=True)
        (tmp_path / tree / "cat" / "x.jpg").write_bytes(jpegs[2])
        (tmp_path / tree / "cat" / "a.JPEG").write_bytes(jpegs[upper])
        if lower is not None:
            (tmp_path / tree / "cat" / "a.jpg").write_bytes(jpegs[lower])
    for pair in ("aa", "ab", "cc"):
        result = bale("diff", tmp_path / pair[0], tmp_path / pair[1])
        assert result.code == OK and result.out == "the same 3 samples\n", (pair, result)
    report = differences(bale, tmp_path / "a", tmp_path / "c")
    assert [one["kind"] for one in report["differences"]] == ["bytes"] and (report["num_same"], report["num_different"]) == (2, 1)
    for pair, kind in (("ad", "only_in_a"), ("da", "only_in_b")):
        report = differences(bale, tmp_path / pair[0], tmp_path / pair[1])
        assert [(one["kind"], one["key"]) for one in report["differences"]] == [(kind, "cat/a")] and report["num_same"] == 2
    assert bale("diff", tmp_path / "a", tmp_path / "c", "--keys-only").code == OK
    assert bale("diff", tmp_path / "a", tmp_path / "d", "--keys-only").code == DIFFERENT
