"""What a run says of its work: before it writes anything, by --dry-run, and while it runs, by its progress."""
import json
import os
import shutil

import pytest
from conftest import NOBODY, let_others_in, make_images, manifest_of, tree_bytes
from fault_support import broken_off
from image_support import picture
from PIL import Image

# --- the dry run

def make_occupied(bale, tiny, out, state):
    if state == "another name":
        bale.pack(tiny, out, "--name", "big")
    elif state == "dataset":
        bale.pack(tiny, out, "--name", "x", "--shard-samples", "3")
    elif state == "file":
        out.mkdir()
        (out / "thesis.txt").write_text("mine")
    elif state == "in the way":
        bale.pack(tiny, out, "--name", "x", "--shard-count", "1")
        (out / "x-000001.tar").write_text("mine")
    elif state == "unfinished":
        broken_off(bale, tiny, out, "--shard-samples", "2")
    elif state == "unfinished, other options":
        broken_off(bale, tiny, out, "--shard-samples", "4")
    elif state == "splits":
        bale.pack(tiny, out, "--split", "train=0.5,val=0.5")
    elif state == "is a file":
        out.write_text("mine")
    elif state == "parts of Writers":
        (out / ".bale-parts" / "00000-of-00002").mkdir(parents=True)
    elif state == "parts of a plan":
        bale.ok("plan", tiny, out, "-o", out.parent / "plan", "--shard-samples", "2")
        bale.ok("pack", "--plan", out.parent / "plan", "--part", "0/3")


@pytest.mark.parametrize("mode", [[], ["--overwrite"], ["--resume"], ["--split", "train=0.5,val=0.5", "--overwrite"]],
                         ids=["fresh", "overwrite", "resume", "split"])
@pytest.mark.parametrize("state", ["nothing", "another name", "dataset", "file", "in the way", "unfinished",
                                   "unfinished, other options", "splits", "is a file", "parts of Writers",
                                   "parts of a plan"])
def test_a_dry_run_refuses_what_the_run_refuses(bale, tiny, state, mode, tmp_path):
    out = tmp_path / "out"
    make_occupied(bale, tiny, out, state)
    before = tree_bytes(tmp_path)
    command = ["pack", tiny, out, "--shard-samples", "2", *mode, *([] if "--split" in mode else ["--name", "x"])]
    dry = bale(*command, "--dry-run")
    assert tree_bytes(tmp_path) == before
    run = bale(*command)
    assert dry.code == run.code, (dry, run)
    if run.code and state != "is a file":
        assert dry.error_line() == run.error_line()


@pytest.mark.parametrize("wrong", [["-f", "tar.gz", "--level", "99"], ["-f", "npy", "--size", "0"], ["--sidecars", "nothing"],
                                   ["--name", "a/b"], ["--resize-short", "9", "--resize-max", "9"]])
def test_a_dry_run_refuses_wrong_options(bale, tiny, wrong, tmp_path):
    dry, run = (bale("pack", tiny, tmp_path / "out", *wrong, *more) for more in (["--dry-run"], []))
    assert dry.code == run.code != 0
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["cache", "closed/out", "closed"])
def test_a_dry_run_refuses_places(bale, tiny, place, tmp_path):
    let_others_in(tmp_path)
    (tmp_path / "closed").mkdir(mode=0o555)
    (tmp_path / "cache").mkdir()
    env = {"BALE_CACHE_DIR": str(tmp_path / "cache")}
    prefix = NOBODY if os.geteuid() == 0 and "closed" in place else []
    let_others_in(tiny)
    dry, run = (bale("pack", tiny, tmp_path / place, *more, env=env, prefix=prefix) for more in (["--dry-run"], []))
    assert dry.code == run.code != 0, (dry, run)


def test_a_dry_run_of_a_plan_and_of_parts(bale, tiny, tmp_path):
    out, plan = tmp_path / "out", tmp_path / "plan"
    command = ["plan", tiny, out, "-o", plan, "--shard-samples", "2"]
    bale.ok(*command, "--dry-run")
    assert not plan.exists()
    bale.ok(*command)
    assert bale(*command, "--dry-run").code == bale(*command).code == 1  # there is a plan of that name
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    for words in (["plan", tiny, out, "-o", tmp_path / "b", "--shard-samples", "2"], ["pack", "--plan", plan, "--part", "0/2"]):
        dry, run = bale(*words, "--dry-run"), bale(*words)
        assert dry.code == run.code == 1 and dry.error_line() == run.error_line()


def payload(bale, *command):
    """What the dry run says that fields take, and what they take."""
    dry = json.loads(bale.ok(*command, "--dry-run", "--json").out)
    bale.ok(*command)
    stored = sum(field["stored_bytes"] for field in manifest_of(command[2])["fields"] if field["name"] != "cls")
    return sum(row["payload_bytes"] for row in dry["shards"]), stored, dry["payload_is_estimated"]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Images of some size: those of others are mostly header."""
    root = tmp_path_factory.mktemp("large") / "large"
    for name, kind in (("a", "JPEG"), ("b", "PNG")):
        (root / name).mkdir(parents=True)
        for number in range(3):
            Image.fromarray(picture(150 + 10 * number, 200)).save(root / name / f"{number}.{kind.lower()}", kind)
    return root


@pytest.mark.parametrize("more", [["--resize-short", "40"], ["--resize-max", "60", "--quality", "50"], ["-f", "npy", "--size", "32"],
                                  ["--decode", "-f", "hdf5", "--size", "64"], ["--jpeg-lossless"], ["--strip-metadata"]])
def test_bytes_of_a_dry_run_are_about_right(bale, large, more, tmp_path):
    said, stored, estimated = payload(bale, "pack", large, tmp_path / "out", *more)
    assert stored * 0.9 < said < stored * 1.1, (said, stored)
    assert estimated or abs(said - stored) < 100
    assert ("estimated from" in bale.ok("pack", large, tmp_path / "b", *more, "--dry-run").out) == estimated


def test_bytes_of_a_dry_run_are_exact_for_bytes_that_stay(bale, large, tmp_path):
    said, stored, estimated = payload(bale, "pack", large, tmp_path / "out")
    assert not estimated and abs(said - stored) < 100
    said, stored, estimated = payload(bale, "convert", tmp_path / "out", tmp_path / "again", "-f", "lmdb")
    assert not estimated and abs(said - stored) < 100


def test_bytes_of_pngs_that_are_made(bale, tmp_path):
    """The source has pixels."""
    import struct
    pixels = bytes(28 * 28)  # black: a PNG takes a tenth
    (tmp_path / "train-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, 40, 28, 28) + 40 * pixels)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, 40) + bytes(40))
    folder = tmp_path / "mnist"
    folder.mkdir()
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        (tmp_path / name).rename(folder / name)
    said, stored, estimated = payload(bale, "pack", folder, tmp_path / "out")
    assert estimated and stored * 0.8 < said < stored * 1.3


# --- progress

def last_progress(bale, *command):
    result = bale(*command, "--json-progress")
    assert result.code in (0, 4), result
    return [json.loads(line)["progress"] for line in result.err.splitlines() if line.startswith('{"progress"')][-1]


@pytest.mark.parametrize("more", [["--resize-short", "20"], ["--resize-max", "500"], ["--jpeg-lossless"], ["-f", "npy", "--size", "8"],
                                  ["--compress", "zstd"], ["--strip-metadata"], ["--on-error", "skip"], []], ids=" ".join)
def test_progress_ends_at_all(bale, large, more, tmp_path):
    source = large
    if "skip" in more:
        source = tmp_path / "large"
        shutil.copytree(large, source)
        (source / "a" / "1.jpeg").write_bytes(b"")
    counts = last_progress(bale, "pack", source, tmp_path / "out", *more)
    assert counts["bytes"] == counts["total_bytes"] > 0
    assert counts["samples"] == counts["total_samples"]


def test_progress_of_a_conversion_and_of_a_merge(bale, large, tiny, tmp_path):
    bale.pack(large, tmp_path / "pixels", "-f", "npy", "--size", "40")
    bale.pack(large, tmp_path / "zst", "-f", "tar.zst")
    for source in ("pixels", "zst"):
        counts = last_progress(bale, "convert", tmp_path / source, tmp_path / f"c-{source}", "--resize-short", "10")
        assert counts["bytes"] == counts["total_bytes"] > 0
    other = tmp_path / "folder"
    make_images.make_tree(other, classes=3, per_class=2, size=(20, 14))
    for path in sorted(other.iterdir()):
        path.rename(other / ("0" + path.name))
    bale.pack(other, tmp_path / "other")
    bale.pack(tiny, tmp_path / "small", "--shard-samples", "2")
    counts = last_progress(bale, "merge", tmp_path / "small", tmp_path / "other", "-o", tmp_path / "merged")
    assert counts["bytes"] == counts["total_bytes"] > 0


def test_progress_of_a_part(bale, large, tmp_path):
    bale.ok("plan", large, tmp_path / "out", "-o", tmp_path / "plan", "--resize-short", "20", "--shard-samples", "2")
    counts = last_progress(bale, "pack", "--plan", tmp_path / "plan", "--part", "0/1")
    assert counts["bytes"] == counts["total_bytes"] > 0
