"""Entry points beside shards, and JPEGs written anew: as the program makes, checks, keeps and removes them."""
import io
import json
import shutil
import signal
import subprocess
import tarfile

import numpy as np
import pytest
from conftest import BUILD, FORMATS, SHIM, shards, tree_bytes
from PIL import Image

DAMAGED = 3


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Two classes of JPEGs that are large enough to have entry points, a progressive one and a PNG among them."""
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


def entry_files(folder):
    return sorted(folder.glob("*.bentry"))


def names_entry_points(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    return all(f"{shard['file']}.bentry" in shard.get("sidecars", []) for shard in manifest["shards"])


@pytest.mark.parametrize("layout", [*FORMATS, "tar.zst"])
def test_packing_and_indexing_give_the_same_bytes(bale, noisy, tmp_path, layout):
    common = [noisy, "--format", layout, "--name", "x", "--shard-samples", "4"]
    bale.ok("pack", common[0], tmp_path / "one", *common[1:], "--entry-points", "--jobs", "1")
    bale.ok("pack", common[0], tmp_path / "four", *common[1:], "--entry-points", "--jobs", "4")
    bale.ok("pack", common[0], tmp_path / "late", *common[1:])
    packed = tree_bytes(tmp_path / "one")
    assert packed == tree_bytes(tmp_path / "four")
    assert len(entry_files(tmp_path / "one")) == 3
    assert names_entry_points(tmp_path / "one") and not names_entry_points(tmp_path / "late")
    done = bale.ok("index", tmp_path / "late", "--entry-points", "--jobs", "2").out
    assert "entry points for 7 of 9 samples in 3 shards" in done  # neither PNGs nor progressive ones
    assert names_entry_points(tmp_path / "late")
    for file in entry_files(tmp_path / "one"):
        assert (tmp_path / "late" / file.name).read_bytes() == file.read_bytes()
    assert "3 with entry points already" in bale.ok("index", tmp_path / "late", "--entry-points").out
    assert "3 with entry points" in bale.ok("inspect", tmp_path / "late").out
    for made in ("one", "late"):
        assert bale.ok("verify", tmp_path / made)


def test_foreign_packs_get_entry_points(bale, noisy, tmp_path):
    with tarfile.open(tmp_path / "foreign.tar", "w") as tar:
        for number, path in enumerate(sorted(noisy.rglob("*.jpg"))):
            tar.add(path, arcname=f"{number:06}.jpg")
    bale.ok("index", tmp_path / "foreign.tar", "--entry-points")
    assert (tmp_path / "foreign.tar.bidx").exists()
    assert len(entry_files(tmp_path)) == 1
    bale.ok("verify", tmp_path / "foreign.tar")


def test_damage_is_reported_and_harmless(bale, noisy, tmp_path):
    bale.ok("pack", noisy, tmp_path / "packed", "--name", "x", "--shard-samples", "4", "--entry-points")
    first, second, _ = entry_files(tmp_path / "packed")
    good = first.read_bytes()
    for damaged, text in [(good[:-5], "contradicts"), (b"nonsense" * 20, "another signature than bale's"),
                          (good[:-1] + bytes([good[-1] ^ 1]), "damaged entry points"),
                          (second.read_bytes(), "of another")]:
        first.write_bytes(damaged)
        found = bale("verify", tmp_path / "packed")
        assert found.code == DAMAGED and text in found.out and first.name in found.out, found
        bale.ok("bench", tmp_path / "packed", "--stages", "train", "--batch", "3", "--epochs", "1", "--threads")
    first.unlink()
    assert f"{first.name}: file is missing" in bale("verify", tmp_path / "packed").out
    assert "in 1 shard, 2 with" in bale.ok("index", tmp_path / "packed", "--entry-points").out
    assert first.read_bytes() == good
    # An image that is damaged costs its own entry points only.
    shard = shards(tmp_path / "packed")[0]
    content = bytearray(shard.read_bytes())
    content[2000] ^= 1
    shard.write_bytes(content)
    result = bale("index", tmp_path / "packed", "--entry-points", "--force")
    assert result.code == 4 and "1 sample damaged" in result.err, result


def test_killed_while_making_entry_points(bale, noisy, tmp_path):
    """At every call: each file is the old one or the new one, and the next run ends with the same bytes."""
    packed = tmp_path / "packed"
    bale.ok("pack", noisy, packed, "--name", "x", "--shard-samples", "5")

    def index(out, **env):
        return bale("index", out, "--entry-points", "--jobs", "1", env={"LD_PRELOAD": str(SHIM), **env})
    counter = tmp_path / "counter"
    counter.write_bytes(bytes(8))
    whole = shutil.copytree(packed, tmp_path / "whole")
    assert index(whole, BALE_SHIM_COUNT=str(counter)).code == 0
    before, after = tree_bytes(packed), tree_bytes(whole)
    calls = int.from_bytes(counter.read_bytes(), "little")
    assert calls > 10
    for n in range(1, calls + 1):
        out = shutil.copytree(packed, tmp_path / f"kill-{n}")
        assert index(out, BALE_SHIM_KILL_AT=str(n)).code == -signal.SIGKILL
        for name, content in tree_bytes(out).items():
            assert name.startswith(".bale-tmp-") or content in (before.get(name), after[name]), (n, name)
        bale.ok("index", out, "--entry-points")
        assert tree_bytes(out) == after, n


def test_the_benchmark_of_decoding_compares_pixels(noisy):
    done = subprocess.run([BUILD / "tests" / "bale_decode_bench", noisy, "1"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "8 JPEGs" in done.stdout and "; 7 with entry points" in done.stdout
    assert ": 0 differ from libjpeg-turbo's" in done.stdout


def test_overwrite_removes_entry_points(bale, noisy, tmp_path):
    out = tmp_path / "out"
    options = ["--name", "x", "--shard-samples", "4", "--entry-points"]
    bale.ok("pack", noisy, out, *options)
    whole = tree_bytes(out)
    bale.ok("pack", noisy, out, *options[:-1], "--overwrite")
    assert entry_files(out) == []
    bale.ok("index", out, "--entry-points")
    bale.ok("pack", noisy, out, *options[:-1], "--overwrite")
    assert entry_files(out) == []
    bale.ok("pack", noisy, out, *options, "--overwrite")
    assert tree_bytes(out) == whole


def test_layouts_of_pixels_refuse(bale, noisy, tmp_path):
    for option in ("--entry-points", "--jpeg-lossless"):
        result = bale("pack", noisy, tmp_path / "out", "--format", "hdf5.array", "--size", "32", option)
        assert result.code == 2 and f"leave {option} out" in result.error_line()


@pytest.mark.parametrize("layout", ["tar.plain", "lmdb.plain", "hdf5.blob", "hdf5.vlen"])
def test_jpeg_lossless_keeps_pixels_and_metadata(bale, noisy, tmp_path, layout):
    bale.ok("pack", noisy, tmp_path / "packed", "--format", layout, "--name", "x", "--jpeg-lossless", "--entry-points")
    manifest = json.loads((tmp_path / "packed" / "manifest.json").read_text())
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
    plain = json.loads((tmp_path / "plain" / "manifest.json").read_text())
    assert "edits" not in plain and plain["plan"] != manifest["plan"]


def test_jpeg_lossless_follows_other_edits(bale, noisy, tmp_path):
    for name, options in (("resized", []), ("both", ["--jpeg-lossless"])):
        bale.ok("pack", noisy, tmp_path / name, "--name", "x", "--resize-short", "96", *options)
    edits = json.loads((tmp_path / "both" / "manifest.json").read_text())["edits"]
    assert "jpeg_coding" in edits and "optimised Huffman tables" in edits["jpeg_encoder"]
    for path in noisy.rglob("*.jpg"):
        key = str(path.relative_to(noisy).with_suffix(""))
        resized, both = (bale.ok("cat", tmp_path / name, key).stdout for name in ("resized", "both"))
        assert len(both) < len(resized)
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(both))), np.asarray(Image.open(io.BytesIO(resized))))
