"""`bale pack --exclude-from FILE`: exactly the named samples are left out, and what named nothing is reported."""
import json

import pytest
from conftest import images_by_key, key_names

USAGE = 2


def packed_without(bale, source, names, place, *options, command="pack"):
    """The keys that are left, and what the run reported."""
    listing = place / "names.txt"
    listing.write_bytes(names)
    result = bale(command, source, place / "out", "--exclude-from", listing, "--json", *options)
    assert result.code == 0, result.err
    return key_names(bale, place / "out"), json.loads(result.out)["excluded"], result.err


def test_paths_and_keys_of_a_folder(bale, photos, tmp_path):
    keys = sorted(images_by_key(photos))
    names = f"{keys[0]}.JPEG\n{keys[1]}\n{photos / keys[2]}.JPEG\nno/such\n\nnor/this\n".encode()
    left, counts, reported = packed_without(bale, photos, names, tmp_path)
    assert sorted(left) == keys[3:]
    assert counts == {"samples": 3, "unmatched_names": 2}
    assert "names.txt: 3 samples excluded, 2 of 5 names are of no sample here, the first: no/such" in reported


def test_keys_of_a_packed_dataset(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed")
    keys = key_names(bale, tmp_path / "packed")
    left, counts, _ = packed_without(bale, tmp_path / "packed", "\n".join(keys[5:9]).encode(), tmp_path, command="convert")
    assert left == keys[:5] + keys[9:] and counts["samples"] == 4 and counts["unmatched_names"] == 0


def test_names_with_newlines_end_with_nul(bale, photos, tmp_path):
    folder = tmp_path / "own" / "cat"
    folder.mkdir(parents=True)
    image = next(photos.rglob("*.JPEG")).read_bytes()
    for name in ("a\nb.jpg", "a", "b.jpg", "c.jpg"):
        (folder / (name if "." in name else name + ".jpg")).write_bytes(image)
    left, counts, _ = packed_without(bale, tmp_path / "own", b"cat/a\nb.jpg\0cat/c.jpg\0", tmp_path)
    assert sorted(left) == ["cat/a", "cat/b"] and counts["samples"] == 2


def test_a_path_is_not_taken_as_a_key(bale, photos, tmp_path):
    folder = tmp_path / "own" / "cat"
    folder.mkdir(parents=True)
    image = next(photos.rglob("*.JPEG")).read_bytes()
    for name in ("a.jpg", "a.jpg.jpg"):  # the key of the second is the path of the first
        (folder / name).write_bytes(image)
    left, counts, _ = packed_without(bale, tmp_path / "own", b"cat/a.jpg\n", tmp_path)
    assert counts["samples"] == 1 and len(left) == 1 and left != ["cat/a"]


def test_parts_of_a_plan_leave_them_out_too(bale, photos, tmp_path):
    keys = sorted(images_by_key(photos))
    (tmp_path / "names.txt").write_text(keys[0])
    bale.ok("plan", photos, tmp_path / "out", "-o", tmp_path / "p.plan", "--exclude-from", tmp_path / "names.txt")
    bale.ok("pack", "--plan", tmp_path / "p.plan", "--part", "0/1")
    bale.ok("merge", tmp_path / "p.plan")
    assert sorted(key_names(bale, tmp_path / "out")) == keys[1:]


@pytest.mark.parametrize("missing", [False, True])
def test_a_list_of_everything_or_of_no_file_is_an_error(bale, photos, tmp_path, missing):
    if not missing:
        (tmp_path / "names.txt").write_text("\n".join(images_by_key(photos)))
    result = bale("pack", photos, tmp_path / "out", "--exclude-from", tmp_path / "names.txt")
    assert result.code != 0 and "names.txt" in result.err and not (tmp_path / "out" / "manifest.json").exists()
    if not missing:
        assert "excludes all" in result.err and result.code == USAGE
