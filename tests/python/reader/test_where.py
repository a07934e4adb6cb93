"""--where, --key and --class: which samples are taken, and that those left out are counted."""
import json
import pathlib
import re
import tarfile

import pytest
from conftest import REPO, key_names, shim, tree_bytes
from fault_support import KILLED
from PIL import Image

CONDITIONS = {  # by which names, in Python
    "width >= 40 and label in (0, 2)": lambda s: s["width"] >= 40 and s["label"] in (0, 2),
    "not (height < 30 or class like 'b*')": lambda s: not (s["height"] < 30 or s["class"].startswith("b")),
    "width > height": lambda s: s["width"] > s["height"],
    "aspect <= 1 and format = 'png'": lambda s: s["width"] <= s["height"] and s["format"] == "png",
    "bytes < 2KB": lambda s: s["bytes"] < 2000,
    "pixels in (1200, 2000) or key like 'c/*1'": lambda s: s["width"] * s["height"] in (1200, 2000)
                                                            or s["key"].startswith("c/") and s["key"].endswith("1"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("where") / "photos"
    for label, name in enumerate("abc"):
        (root / name).mkdir(parents=True)
        for n in range(6):
            suffix = "png" if n % 2 else "jpg"
            image = Image.effect_noise((20 + 10 * n, 70 - 10 * n), 20 + 30 * label).convert("RGB")
            image.save(root / name / f"i{n}.{suffix}")
    return root


@pytest.fixture(scope="module")
def samples(folder):
    """What a condition can ask, from the files themselves."""
    samples = []
    for path in sorted(folder.glob("*/*")):
        width, height = Image.open(path).size
        samples.append({"key": f"{path.parent.name}/{path.stem}", "class": path.parent.name, "width": width, "height": height,
                        "label": "abc".index(path.parent.name), "format": path.suffix[1:], "bytes": path.stat().st_size})
    return samples


@pytest.fixture(scope="module", params=["tar", "lmdb", "hdf5", "tfrecord", "recordio"])
def packed(request, bale, folder, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param) / "packed"
    bale.ok("pack", folder, out, "--format", request.param, "--shard-samples", "5", "--name", "x")
    return out


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_command_selects_the_same(bale, folder, samples, packed, tmp_path, condition):
    wanted = [s for s in samples if CONDITIONS[condition](s)]
    assert 0 < len(wanted) < len(samples), "a condition that can fail"
    left_out = f"{len(samples) - len(wanted)} of {len(samples)} samples left out\n"
    keys = [s["key"] for s in wanted]
    assert key_names(bale, packed) == [s["key"] for s in samples]
    listed = bale.ok("ls", packed, "--where", condition)
    assert (listed.out.split(), listed.err) == (keys, left_out)

    converted = bale.ok("convert", packed, tmp_path / "converted", "--where", condition)
    assert left_out in converted.err
    assert key_names(bale, tmp_path / "converted") == keys
    assert left_out in bale.ok("pack", folder, tmp_path / "from-files", "--where", condition).err
    assert key_names(bale, tmp_path / "from-files") == keys

    assert left_out in bale.ok("extract", packed, tmp_path / "files", "--where", condition, "--field", "jpg", "--field", "png").err
    assert tree_bytes(tmp_path / "files") == {f"{s['key']}.{s['format']}": (folder / f"{s['key']}.{s['format']}").read_bytes()
                                              for s in wanted}


def test_shard_and_index(bale, packed):
    assert bale.ok("ls", packed, "--where", "index in (0, 17)").out.split() == ["a/i0", "c/i5"]
    lines = [json.loads(line) for line in bale.ok("ls", packed, "--json").out.splitlines()]
    shards = sorted({pathlib.Path(line["shard"]).name for line in lines})
    assert len(shards) > 1
    listed = bale.ok("ls", packed, "--where", f"shard = '{shards[1]}'").out.split()
    assert listed == [line["key"] for line in lines if line["shard"].endswith("/" + shards[1])]


def test_globs(bale, packed):
    assert bale.ok("ls", packed, "--key", "a/*1", "--key", "c/*2").out.split() == ["a/i1", "c/i2"]
    result = bale.ok("ls", packed, "--class", "[bc]", "--where", "width = 20")
    assert result.out.split() == ["b/i0", "c/i0"]
    assert result.err == "16 of 18 samples left out\n"


def test_labels_and_classes_stay(bale, folder, tmp_path):
    report = json.loads(bale.ok("pack", folder, tmp_path / "p", "--where", "label = 2", "--json").out)
    assert report["left_out"] == {"samples": 12, "unknown": 0}
    lines = [json.loads(line) for line in bale.ok("ls", tmp_path / "p", "--json").out.splitlines()]
    assert {line["label"] for line in lines} == {2}
    assert report["outputs"][0]["classes"] == 3


def test_an_unknown_value_selects_nothing_and_is_counted(bale, folder, tmp_path):
    """Packed without labels: whatever is compared with the label, also `!=`."""
    bale.ok("pack", folder, tmp_path / "p", "--flat")
    for condition in ("label = 1", "label != 1", "not label = 1"):
        result = bale.ok("ls", tmp_path / "p", "--where", condition)
        assert result.out == ""
        assert "18 of 18 samples left out, 18 because a value that the condition names is unknown" in result.err
    assert len(bale.ok("ls", tmp_path / "p", "--where", "label is unknown").out.split()) == 18
    failed = bale("pack", folder, tmp_path / "q", "--flat", "--where", "label != 1")
    assert failed.code == 2 and "--where selects none of 18 samples" in failed.err
    assert not (tmp_path / "q").exists()
    condition = "label != 1 or width = 20"
    report = json.loads(bale.ok("pack", folder, tmp_path / "q", "--flat", "--where", condition, "--json").out)
    assert report["left_out"] == {"samples": 15, "unknown": 15}


def test_errors_point_at_the_column(bale, packed, folder, tmp_path):
    for command in (("ls", packed), ("convert", packed, tmp_path / "o"), ("pack", folder, tmp_path / "o"),
                    ("extract", packed, tmp_path / "o")):
        failed = bale(*command, "--where", "label = 3 and widht > 2")
        assert failed.code == 2
        expression, caret, error = failed.err.splitlines()
        assert expression[len(caret) - 1:].startswith("widht")
        assert '--where, column 15: there is no name "widht"; names: key, label, class, width' in error
        assert not (tmp_path / "o").exists()
    assert bale("ls", packed, "--where", "").code == 2
    failed = bale("pack", folder, tmp_path / "o", "--where", "shard = 'x'")
    assert failed.code == 2 and "names the shard" in failed.err


def test_a_file_that_cannot_be_read_is_reported_by_the_policy(bale, folder, tmp_path):
    """It is neither taken nor left out by a condition on what is unknown of it."""
    (tmp_path / "in" / "a").mkdir(parents=True)
    for n in range(3):
        (tmp_path / "in" / "a" / f"{n}.png").write_bytes((folder / "a" / "i1.png").read_bytes())
    (tmp_path / "in" / "a" / "1.png").write_bytes(b"no image")
    failed = bale("pack", tmp_path / "in", tmp_path / "out", "--where", "width > 5")
    assert failed.code == 1 and "1.png" in failed.err and "not an image" in failed.err
    skipped = bale("pack", tmp_path / "in", tmp_path / "skipped", "--where", "width > 5", "--on-error", "skip")
    assert skipped.code == 4 and "1 sample skipped" in skipped.err
    assert key_names(bale, tmp_path / "skipped") == ["a/0", "a/2"]


def test_names_are_documented():
    source = (REPO / "reader" / "where" / "where_parser.cpp").read_text()
    document = (REPO / "docs" / "WHERE.md").read_text()
    names = re.findall(r'\{"([a-z]+)", [\w:]+, (?:true|false)\}', source)
    assert len(names) == 12
    rows = [line.split("|")[1] for line in document.splitlines() if line.startswith("|")]
    for name in names:
        assert any(f"`{name}`" in row for row in rows), name


@pytest.fixture(scope="module", params=["folder", "class folders of a tar"])
def unlabeled(request, folder, tmp_path_factory):
    """A source and the options that give its samples classes."""
    if request.param == "folder":
        return folder, []
    path = tmp_path_factory.mktemp("raw") / "raw.tar"
    with tarfile.open(path, "w") as tar:
        for file in sorted(folder.glob("*/*")):
            tar.add(file, file.relative_to(folder))
    return path, ["--class-folders"]


def test_an_interrupted_run_continues_with_the_same_condition_only(bale, unlabeled, samples, tmp_path):
    source, options = unlabeled
    condition = "class in ('a', 'c') and not key like '*/i5'"
    pack = ["--format", "tar", "--name", "x", "--shard-samples", "2", "--jobs", "1", *options]
    whole, out = tmp_path / "whole", tmp_path / "out"
    bale.ok("pack", source, whole, *pack, "--where", condition)
    wanted = [s for s in samples if s["class"] != "b" and not s["key"].endswith("/i5")]
    listed = [json.loads(line) for line in bale.ok("ls", whole, "--json").out.splitlines()]
    assert [(s["key"], s["label"]) for s in listed] == [(s["key"], s["label"]) for s in wanted]
    assert json.loads((whole / "manifest.json").read_text())["classes"] == ["a", "b", "c"]  # also the one without samples
    assert bale("pack", source, out, *pack, "--where", condition, env=shim(ONLY="fsync", KILL_AT=8)).code == KILLED
    assert not (out / "manifest.json").exists()
    before = tree_bytes(out)
    for other in (["--where", "class in ('a', 'c') and not key like '*/i4'"], ["--where", "label = 0"], []):
        refused = bale("pack", source, out, *pack, *other, "--resume")
        assert refused.code == 1 and "unfinished pack of other files or options" in refused.error_line(), refused
        assert tree_bytes(out) == before
    bale.ok("pack", source, out, *pack, "--where", condition, "--resume")
    assert tree_bytes(out) == tree_bytes(whole)
