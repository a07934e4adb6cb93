"""`bale pack --sample N|P%`: a random subset that depends on the keys and the seed alone."""
import json

import pytest
from conftest import key_names, make_images

PER_CLASS = 30


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Four classes of 30 images."""
    root = tmp_path_factory.mktemp("photos")
    make_images.make_tree(root, classes=4, per_class=PER_CLASS, size=(8, 8))
    return root


def drawn(bale, source, out, *options, command="pack"):
    report = json.loads(bale.ok(command, source, out, "--json", *options).out)
    keys = key_names(bale, out)
    assert report["samples"] == len(keys)
    return keys


def classes_of(keys):
    counts = {}
    for key in keys:
        counts[key.split("/")[0]] = counts.get(key.split("/")[0], 0) + 1
    return counts


def test_count_and_part(bale, photos, tmp_path):
    everything = drawn(bale, photos, tmp_path / "all")
    ten = drawn(bale, photos, tmp_path / "10", "--sample", "10")
    assert len(ten) == 10 and set(ten) < set(everything) and ten == [key for key in everything if key in ten]  # in their order
    assert ten == drawn(bale, photos, tmp_path / "10b", "--sample", "10", "--sample-seed", "0")
    other = drawn(bale, photos, tmp_path / "seed", "--sample", "10", "--sample-seed", "1")
    assert len(other) == 10 and other != ten
    assert set(ten) < set(drawn(bale, photos, tmp_path / "25%", "--sample", "25%"))  # a smaller draw is part of a larger one
    assert len(key_names(bale, tmp_path / "25%")) == 30
    assert drawn(bale, photos, tmp_path / "more", "--sample", "1000") == everything == drawn(bale, photos, tmp_path / "100%", "--sample", "100%")
    assert len(drawn(bale, photos, tmp_path / "one", "--sample", "0.01%")) == 1


def test_per_class(bale, photos, tmp_path):
    assert set(classes_of(drawn(bale, photos, tmp_path / "3", "--sample", "3", "--sample-per-class")).values()) == {3}
    assert set(classes_of(drawn(bale, photos, tmp_path / "10%", "--sample", "10%", "--sample-per-class")).values()) == {3}
    assert set(key_names(bale, tmp_path / "3")) == set(key_names(bale, tmp_path / "10%"))
    classes = classes_of(drawn(bale, photos, tmp_path / "tiny", "--sample", "0.1%", "--sample-per-class"))
    assert set(classes.values()) == {1} and len(classes) == 4


def test_the_draw_does_not_depend_on_format_or_order(bale, photos, tmp_path):
    wanted = set(drawn(bale, photos, tmp_path / "folder", "--sample", "12"))
    bale.ok("pack", photos, tmp_path / "shuffled", "-f", "lmdb", "--shuffle", "7")
    assert set(drawn(bale, tmp_path / "shuffled", tmp_path / "converted", "--sample", "12", command="convert")) == wanted
    bale.ok("plan", photos, tmp_path / "planned", "-o", tmp_path / "x.plan", "--sample", "12")
    bale.ok("pack", "--plan", tmp_path / "x.plan", "--part", "0/1")
    bale.ok("merge", tmp_path / "x.plan")
    assert set(key_names(bale, tmp_path / "planned")) == wanted


def test_it_is_drawn_from_what_is_left(bale, photos, tmp_path):
    """After the conditions, before everything that counts samples."""
    keys = drawn(bale, photos, tmp_path / "one", "--sample", "5", "--where", "label == 2")
    assert len(keys) == 5 and len(classes_of(keys)) == 1
    result = bale.ok("pack", photos, tmp_path / "two", "--sample", "20", "--max-samples", "4", "--split", "a=0.5,b=0.5")
    assert "selected 20 of 120 samples at random (seed 0)" in result.err
    first = key_names(bale, tmp_path / "two" / "a") + key_names(bale, tmp_path / "two" / "b")
    assert len(first) == 4 and set(first) <= set(drawn(bale, photos, tmp_path / "20", "--sample", "20"))


def test_every_sample_is_as_likely(bale, photos, tmp_path):
    """In 24 draws each of 120 samples is drawn 12 times on average; 4 standard deviations are 10."""
    counts = dict.fromkeys(drawn(bale, photos, tmp_path / "all"), 0)
    for seed in range(24):
        for key in drawn(bale, photos, tmp_path / f"{seed}", "--sample", "50%", "--sample-seed", str(seed)):
            counts[key] += 1
    assert all(2 <= count <= 22 for count in counts.values()) and sum(counts.values()) == 24 * 60


@pytest.mark.parametrize("text", ["0", "-1", "5.5", "0%", "101%", "%", "5 %", "x%", "nan%", "1e2%"])
def test_wrong_values(bale, photos, tmp_path, text):
    result = bale("pack", photos, tmp_path / "out", f"--sample={text}")
    assert result.code == 2 and "--sample" in result.error_line()


@pytest.mark.parametrize("flag", [["--sample-per-class"], ["--sample-seed", "1"]])
def test_flags_that_need_it(bale, photos, tmp_path, flag):
    result = bale("pack", photos, tmp_path / "out", *flag)
    assert result.code == 2 and "--sample" in result.error_line()
