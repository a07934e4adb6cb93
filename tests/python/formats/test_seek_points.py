"""Seek points next to shards, and JPEGs written again: as the program makes, checks, keeps and removes them."""
import io
import os
import re
import shutil
import signal
import subprocess
import tarfile

import numpy as np
import pytest
from conftest import BUILD, FORMATS, PROGRAM, SHIM, by_tier, flip, manifest_of, shards, shim, tree_bytes
from fault_support import KILLED, count_calls
from golden_support import copy_of
from PIL import Image

DAMAGED = 3


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Two classes of JPEGs that are large enough to have seek points, a progressive one and a PNG among them."""
    folder = tmp_path_factory.mktemp("noisy")
    rng = np.random.default_rng(1)
    for number in range(8):
        noise = rng.integers(0, 255, (160 + 8 * number, 200, 3), dtype=np.uint8)
        path = folder / f"class{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        exif = Image.Exif()
        exif[0x010E] = f"image {number}"
        Image.fromarray(noise).save(path, quality=60, progressive=number == 3, exif=exif, icc_profile=b"profile" * 50)
    Image.fromarray(noise).save(folder / "class0" / "drawn.png")
    return folder


def seek_point_files(folder):
    return sorted(folder.glob("*.bseek"))


def names_seek_points(folder):
    manifest = manifest_of(folder)
    return all(f"{shard['file']}.bseek" in shard.get("sidecars", []) for shard in manifest["shards"])


@pytest.mark.parametrize("layout", [*FORMATS, "tar.zst"])
def test_packing_and_indexing_give_the_same_bytes(bale, noisy, tmp_path, layout):
    common = [noisy, "--format", layout, "--name", "x", "--shard-samples", "4"]
    bale.ok("pack", common[0], tmp_path / "one", *common[1:], "--seek-points", "--jobs", "1")
    bale.ok("pack", common[0], tmp_path / "four", *common[1:], "--seek-points", "--jobs", "4")
    bale.ok("pack", common[0], tmp_path / "late", *common[1:])
    packed = tree_bytes(tmp_path / "one")
    assert packed == tree_bytes(tmp_path / "four")
    assert len(seek_point_files(tmp_path / "one")) == 3
    assert names_seek_points(tmp_path / "one") and not names_seek_points(tmp_path / "late")
    done = bale.ok("index", tmp_path / "late", "--seek-points", "--jobs", "2").out
    assert "seek points for 7 of 9 samples in 3 shards" in done  # neither PNGs nor progressive ones
    assert names_seek_points(tmp_path / "late")
    for file in seek_point_files(tmp_path / "one"):
        assert (tmp_path / "late" / file.name).read_bytes() == file.read_bytes()
    assert "3 with seek points already" in bale.ok("index", tmp_path / "late", "--seek-points").out
    assert "3 with seek points" in bale.ok("inspect", tmp_path / "late").out
    for made in ("one", "late"):
        assert bale.ok("verify", tmp_path / made)


def test_foreign_packs_get_seek_points(bale, noisy, tmp_path):
    with tarfile.open(tmp_path / "foreign.tar", "w") as tar:
        for number, path in enumerate(sorted(noisy.rglob("*.jpg"))):
            tar.add(path, arcname=f"{number:06}.jpg")
    bale.ok("index", tmp_path / "foreign.tar", "--seek-points")
    assert (tmp_path / "foreign.tar.bidx").exists()
    assert len(seek_point_files(tmp_path)) == 1
    bale.ok("verify", tmp_path / "foreign.tar")


def test_damage_is_reported_and_harmless(bale, noisy, tmp_path):
    bale.ok("pack", noisy, tmp_path / "packed", "--name", "x", "--shard-samples", "4", "--seek-points")
    first, second, _ = seek_point_files(tmp_path / "packed")
    good = first.read_bytes()
    for damaged, text in [(good[:-5], "contradicts"), (b"nonsense" * 20, "bad magic number"),
                          (good[:-1] + bytes([good[-1] ^ 1]), "damaged seek points"),
                          (second.read_bytes(), "of another")]:
        first.write_bytes(damaged)
        found = bale("verify", tmp_path / "packed")
        assert found.code == DAMAGED and text in found.out and first.name in found.out, found
        bale.ok("bench", tmp_path / "packed", "--stages", "train", "--batch", "3", "--epochs", "1", "--threads")
    first.unlink()
    assert f"{first.name}: file is missing" in bale("verify", tmp_path / "packed").out
    assert "in 1 shard, 2 with" in bale.ok("index", tmp_path / "packed", "--seek-points").out
    assert first.read_bytes() == good
    # An image that is damaged costs its own seek points only.
    flip(shards(tmp_path / "packed")[0], 2000)
    result = bale("index", tmp_path / "packed", "--seek-points", "--force")
    assert result.code == 4 and "1 sample damaged" in result.err, result


def test_killed_while_making_seek_points(bale, noisy, tmp_path):
    """At every call: each file is the old one or the new one, and the next run ends with the same bytes."""
    packed = tmp_path / "packed"
    bale.ok("pack", noisy, packed, "--name", "x", "--shard-samples", "5")

    index = ["index", "--seek-points", "--jobs", "1"]
    whole = shutil.copytree(packed, tmp_path / "whole")
    calls = count_calls(bale, tmp_path, *index, whole)
    before, after = tree_bytes(packed), tree_bytes(whole)
    assert calls > 10
    for n in range(1, calls + 1):
        out = shutil.copytree(packed, tmp_path / f"kill-{n}")
        assert bale(*index, out, env=shim(KILL_AT=n)).code == KILLED
        for name, content in tree_bytes(out).items():
            assert name.startswith((".bale-tmp-", ".bale-partial/", ".bale-removed/")) or content in (before.get(name), after[name]), (n, name)
        bale.ok("index", out, "--seek-points")
        assert tree_bytes(out) == after, n


@pytest.mark.parametrize("words", [["--seek-points"], ["--force"], ["--sidecars", "wids"]], ids=" ".join)
def test_a_purge_in_the_meantime(bale, noisy, words, tmp_path):
    """At each call of the run: no index and no seek points stay without their shard, and no list names one that is gone."""
    bale.pack(noisy, tmp_path / "packed", "--name", "x", "--shard-samples", "4")
    words = [*words, "--jobs", "1"]
    calls = count_calls(bale, tmp_path, "index", shutil.copytree(tmp_path / "packed", tmp_path / "count"), *words)
    codes = set()
    for n in range(1, calls + 1, by_tier(3, 1)):
        out = shutil.copytree(tmp_path / "packed", tmp_path / f"out-{n}")
        run = subprocess.Popen([PROGRAM, "index", out, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env={**os.environ, "LD_PRELOAD": str(SHIM), "BALE_SHIM_STOP_AT": str(n)})
        os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        purged = bale("remove", out, "class0/0", "--purge").code
        run.send_signal(signal.SIGCONT)
        error = run.communicate(timeout=60)[1].decode()
        codes.add((purged, run.returncode))
        assert all(file.with_suffix("").exists() for file in out.rglob("*.b*") if file.suffix in (".bidx", ".bseek")), n
        if run.returncode != 0:
            assert "run the same again" in error, error
            bale.ok("index", out, *words)
        bale.ok("verify", out)
    assert (0, 5) in codes


def test_the_benchmark_of_decoding_compares_pixels(noisy):
    done = subprocess.run([BUILD / "tests" / "bale_decode_bench", noisy, "1"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "8 JPEGs" in done.stdout and "; 7 with seek points" in done.stdout
    assert ": 0 differ from libjpeg-turbo's" in done.stdout


def test_the_stages_of_a_sample_are_measured(noisy):
    done = subprocess.run([BUILD / "tests" / "bale_decode_stages", noisy, "1"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("8 JPEGs, ")
    assert re.findall(r"^(.*): [0-9]+ images per CPU second$", done.stdout, re.M) == [
        recipe + stored for recipe in ("crop + flip", "evaluation") for stored in ("", ", seek points", ", planes")]


def test_overwrite_removes_seek_points(bale, noisy, tmp_path):
    out = tmp_path / "out"
    options = ["--name", "x", "--shard-samples", "4", "--seek-points"]
    bale.ok("pack", noisy, out, *options)
    whole = tree_bytes(out)
    bale.ok("pack", noisy, out, *options[:-1], "--overwrite")
    assert seek_point_files(out) == []
    bale.ok("index", out, "--seek-points")
    bale.ok("pack", noisy, out, *options[:-1], "--overwrite")
    assert seek_point_files(out) == []
    bale.ok("pack", noisy, out, *options, "--overwrite")
    assert tree_bytes(out) == whole


def test_the_old_name_is_read(bale, tmp_path):
    """bale 0.1.0 called the files .bentry. They are used, checked and renewed under that name, and --overwrite removes them."""
    packed = copy_of("0.1.0", tmp_path) / "tar.plain"
    old = sorted(packed.glob("*.bentry"))
    assert len(old) == 2
    assert "2 with seek points" in bale.ok("inspect", packed).out
    assert "2 with seek points already" in bale.ok("index", packed, "--seek-points").out
    good = old[0].read_bytes()
    old[0].write_bytes(good[:-5])
    found = bale("verify", packed)
    assert found.code == DAMAGED and old[0].name in found.out
    bale.ok("index", packed, "--seek-points", "--force")
    assert old[0].read_bytes() == good and seek_point_files(packed) == []
    bale.ok("verify", packed)
    bale.pack(tmp_path / "0.1.0" / "source", packed, "--name", "golden", "--pair", "jpg,json", "--overwrite")
    assert sorted(packed.glob("*.bentry")) == []
    bale.ok("verify", packed)


def test_an_unfinished_pack_with_the_old_name_is_resumed(bale, noisy, tmp_path):
    out, whole = tmp_path / "out", tmp_path / "whole"
    options = ["--name", "x", "--shard-samples", "4", "--jobs", "1", "--seek-points"]
    bale.ok("pack", noisy, whole, *options)
    calls = count_calls(bale, tmp_path, "pack", noisy, tmp_path / "count", *options)
    for n in range(1, calls):
        shutil.rmtree(out, ignore_errors=True)
        bale("pack", noisy, out, *options, env=shim(KILL_AT=n))
        if (out / "x-000000.tar").exists():
            break
    seek_points, journal = out / "x-000000.tar.bseek", out / ".bale-partial" / "journal.jsonl"
    seek_points.rename(out / "x-000000.tar.bentry")
    journal.write_text(journal.read_text().replace(".bseek", ".bentry"))
    before = (out / "x-000000.tar").stat()
    bale.ok("pack", noisy, out, *options, "--resume")
    after = (out / "x-000000.tar").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)  # not written again
    assert [path.suffix for path in sorted(out.glob("*.b[es]*"))] == [".bentry", ".bseek", ".bseek"]
    bale.ok("verify", out)


def test_layouts_of_pixels_refuse(bale, noisy, tmp_path):
    for option in ("--seek-points", "--jpeg-lossless"):
        result = bale("pack", noisy, tmp_path / "out", "--format", "hdf5.array", "--size", "32", option)
        assert result.code == 2 and f"leave {option} out" in result.error_line()


@pytest.mark.parametrize("layout", ["tar.plain", "lmdb.plain", "hdf5.blob", "hdf5.vlen"])
def test_jpeg_lossless_keeps_pixels_and_metadata(bale, noisy, tmp_path, layout):
    bale.ok("pack", noisy, tmp_path / "packed", "--format", layout, "--name", "x", "--jpeg-lossless", "--seek-points")
    manifest = manifest_of(tmp_path / "packed")
    assert list(manifest["edits"]) == ["jpeg_coding"]
    bale.ok("verify", tmp_path / "packed")
    changed = 0
    for path in sorted(noisy.rglob("*.*")):
        key = str(path.relative_to(noisy).with_suffix(""))
        packed = bale.ok("cat", tmp_path / "packed", key).stdout
        if path.suffix == ".png":
            assert packed == path.read_bytes()
            continue
        changed += packed != path.read_bytes()
        before, after = Image.open(path), Image.open(io.BytesIO(packed))
        assert np.array_equal(np.asarray(before), np.asarray(after))
        assert after.info.get("progressive") is None
        assert after.info["exif"] == before.info["exif"] and after.info["icc_profile"] == before.info["icc_profile"]
    assert changed == 8
    bale.ok("pack", noisy, tmp_path / "plain", "--format", layout, "--name", "x")
    plain = manifest_of(tmp_path / "plain")
    assert "edits" not in plain and plain["plan"] != manifest["plan"]


def test_jpeg_lossless_follows_other_edits(bale, noisy, tmp_path):
    for name, options in (("resized", []), ("both", ["--jpeg-lossless"])):
        bale.ok("pack", noisy, tmp_path / name, "--name", "x", "--resize-short", "96", *options)
    edits = manifest_of(tmp_path / "both")["edits"]
    assert "jpeg_coding" in edits and "optimised Huffman tables" in edits["jpeg_encoder"]
    for path in noisy.rglob("*.jpg"):
        key = str(path.relative_to(noisy).with_suffix(""))
        resized, both = (bale.ok("cat", tmp_path / name, key).stdout for name in ("resized", "both"))
        assert len(both) < len(resized)
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(both))), np.asarray(Image.open(io.BytesIO(resized))))


@pytest.mark.parametrize("segment", [b"\xff\xec\0\x04ab", b"\xff\xfe\0\x02", b"\xff\xc4\0\x13\x03" + bytes(16)], ids=["APP", "COM", "DHT"])
def test_jpeg_lossless_takes_no_time_that_grows_with_the_square_of_the_segments(bale, noisy, segment, tmp_path):
    image = next(noisy.rglob("*.jpg")).read_bytes()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.jpg").write_bytes(image[:2] + segment * 400_000 + image[2:])
    bale.ok("pack", tmp_path / "in", tmp_path / "packed", "--flat", "--format", "tar", "--jpeg-lossless", timeout=60)
    assert bale.ok("cat", tmp_path / "packed", "x").stdout == (tmp_path / "in" / "x.jpg").read_bytes()
