"""Entry points beside shards, and JPEGs written anew: as the program makes, checks, keeps and removes them."""
import io
import json
import tarfile

import numpy as np
import pytest
from conftest import FORMATS, shards, tree_bytes
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


@pytest.mark.parametrize("layout", [*FORMATS, "tar.zst"])
def test_packing_and_indexing_give_the_same_bytes(bale, noisy, tmp_path, layout):
    common = [noisy, "--format", layout, "--name", "x", "--shard-samples", "4"]
    bale.ok("pack", common[0], tmp_path / "one", *common[1:], "--entry-points", "--jobs", "1")
    bale.ok("pack", common[0], tmp_path / "four", *common[1:], "--entry-points", "--jobs", "4")
    bale.ok("pack", common[0], tmp_path / "late", *common[1:])
    packed = tree_bytes(tmp_path / "one")
    assert packed == tree_bytes(tmp_path / "four")
    assert len(entry_files(tmp_path / "one")) == 3
    assert json.loads(packed["manifest.json"])["made_with"] == ["entry-points"]
    done = bale.ok("index", tmp_path / "late", "--entry-points", "--jobs", "2").out
    assert "entry points for 7 of 9 samples in 3 shards" in done  # neither PNGs nor progressive ones
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
    for damaged, text in [(good[:-5], "contradicts"), (b"nonsense" * 20, "not a file of entry points"),
                          (good[:-1] + bytes([good[-1] ^ 1]), "damaged entry points"),
                          (second.read_bytes(), "of another")]:
        first.write_bytes(damaged)
        found = bale("verify", tmp_path / "packed")
        assert found.code == DAMAGED and text in found.out and first.name in found.out, found
        bale.ok("bench", tmp_path / "packed", "--stages", "train", "--batch", "3", "--epochs", "1", "--threads")
    first.unlink()
    assert "entry points are missing" in bale("verify", tmp_path / "packed").out
    assert "in 1 shard, 2 with" in bale.ok("index", tmp_path / "packed", "--entry-points").out
    assert first.read_bytes() == good
    # An image that is damaged costs its own entry points only.
    shard = shards(tmp_path / "packed")[0]
    content = bytearray(shard.read_bytes())
    content[2000] ^= 1
    shard.write_bytes(content)
    result = bale("index", tmp_path / "packed", "--entry-points", "--force")
    assert result.code == 4 and "1 sample damaged" in result.err, result


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
    assert manifest["made_with"] == ["jpeg-lossless", "entry-points"]
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
    plain = bale.ok("pack", noisy, tmp_path / "plain", "--format", layout, "--name", "x")
    assert plain and json.loads((tmp_path / "plain" / "manifest.json").read_text()).get("made_with") is None
    assert json.loads((tmp_path / "plain" / "manifest.json").read_text())["plan"] != manifest["plan"]
