"""`bale index` makes the index of a packed dataset again, and never one of another file."""
import json
import shutil

import pytest
from conftest import ALL_LAYOUTS, flip, format_options, make_images, shards, shim
from fault_support import KILLED, count_calls
from PIL import Image

KEYLESS = {"npy", "recordio"}  # keys are in the index only


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images") / "in"
    make_images.make_tree(folder, classes=2, per_class=4, size=(24, 18))
    return folder


def pack(bale, images, out, layout, *options):
    bale.pack(images, out, *format_options(layout), "--shard-samples", "3", *options)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def index_of(shard):
    return shard.with_name(shard.name + ".bidx")


def indexed(directory):
    """The shards, without the labels that npy has next to them."""
    return [shard for shard in shards(directory) if index_of(shard).exists()]


def content(directory):
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.mark.parametrize("layout", [f"{name}.{layout}" for name, layout in ALL_LAYOUTS])
def test_force_gives_the_same_bytes_in_every_layout(bale, images, tmp_path, layout):
    before = pack(bale, images, tmp_path / "out", layout)
    keys = bale.ok("ls", tmp_path / "out").out
    stamps = {shard: index_of(shard).stat().st_mtime_ns for shard in indexed(tmp_path / "out")}
    assert "3 shards indexed, 0 with an index already" in bale.ok("index", "--force", tmp_path / "out").out
    assert all(index_of(shard).stat().st_mtime_ns > stamps[shard] for shard in stamps)
    assert content(tmp_path / "out") == before and bale.ok("ls", tmp_path / "out").out == keys
    bale.ok("verify", tmp_path / "out")


@pytest.mark.parametrize("layout", [f"{name}.{layout}" for name, layout in ALL_LAYOUTS])
@pytest.mark.parametrize("loss", ["gone", "damaged", "cut", "of_another_shard"])
def test_a_lost_index_comes_back(bale, images, tmp_path, layout, loss):
    before = pack(bale, images, tmp_path / "out", layout)
    first, other = indexed(tmp_path / "out")[:2]
    index = index_of(first)
    if loss == "gone":
        index.unlink()
    elif loss == "damaged":
        flip(index, index.stat().st_size // 2)
    elif loss == "cut":
        index.write_bytes(index.read_bytes()[:-7])
    else:
        index.write_bytes(index_of(other).read_bytes())
    is_keyless = layout.split(".")[0] in KEYLESS
    if is_keyless and loss in ("damaged", "cut"):
        result = bale("index", tmp_path / "out")
        assert result.code in (1, 3) and "the keys are in it only" in result.err and "--force" in result.err
        result = bale.ok("index", "--force", tmp_path / "out")
    else:
        result = bale.ok("index", tmp_path / "out")
        assert "1 shard indexed, 2 with an index already" in result.out
    bale.ok("verify", tmp_path / "out")
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before["manifest.json"]
    if is_keyless:
        assert "its keys were in the index only, which is lost" in result.err
    else:
        assert content(tmp_path / "out") == before and result.err == ""


@pytest.mark.parametrize("layout", [f"{name}.{layout}" for name, layout in ALL_LAYOUTS])
@pytest.mark.parametrize("options", [(), ("--force",), ("--check-images",)], ids=["plain", "force", "check"])
def test_no_index_of_another_file(bale, images, tmp_path, layout, options):
    pack(bale, images, tmp_path / "out", layout)
    pack(bale, images, tmp_path / "other", layout, "--shuffle", "7")
    first, theirs = indexed(tmp_path / "out")[0], indexed(tmp_path / "other")[0]
    first.write_bytes(theirs.read_bytes())
    if not options:
        index_of(first).unlink()
    before = content(tmp_path / "out")
    result = bale("index", tmp_path / "out", *options)
    assert result.code == (1 if not options else 4), result
    assert "the file was changed after it was packed" in result.err and first.name in result.err
    assert content(tmp_path / "out").get(index_of(first).name) == before.get(index_of(first).name)
    first.write_bytes(b"of no format at all")
    assert "the file was changed after it was packed" in bale("index", tmp_path / "out", *options).err


def test_check_images_looks_again(bale, images, tmp_path):
    """An image that only decoding finds: the index says so afterwards, of packs with and without a manifest."""
    folder = tmp_path / "in" / "c"
    folder.mkdir(parents=True)
    for name in ("good", "flipped"):
        Image.effect_noise((64, 64), 50).convert("RGB").save(folder / f"{name}.png")
    flip(folder / "flipped.png", (folder / "flipped.png").stat().st_size * 9 // 10, 16)
    bale.pack(tmp_path / "in", tmp_path / "out")
    for spec in (tmp_path / "out", str(tmp_path / "out" / "*.tar")):
        result = bale.ok("index", "--check-images", "-q", spec)
        assert 'cannot be decoded, so loaders treat it as a bad sample (key "c/flipped")' in result.err
    assert json.loads(bale.ok("inspect", "--json", tmp_path / "out").out)["images"]["undecodable"] == 1
    bale.ok("verify", tmp_path / "out")
    bale.ok("index", "--force", tmp_path / "out")  # a quick look forgets it
    assert json.loads(bale.ok("inspect", "--json", tmp_path / "out").out)["images"]["undecodable"] == 0


def test_killed_at_every_call(bale, images, tmp_path):
    """Each index is the old or the new one, and the dataset stays what it is."""
    before = pack(bale, images, tmp_path / "out", "tar.plain")
    flip(index_of(indexed(tmp_path / "out")[0]), 100)
    command = ("index", "--force", "--jobs", "1", tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "count")
    for n in range(1, count_calls(bale, tmp_path, *command[:-1], tmp_path / "count") + 1):
        shutil.rmtree(tmp_path / "out")
        shutil.copytree(tmp_path / "count", tmp_path / "out")
        flip(index_of(indexed(tmp_path / "out")[0]), 100)
        assert bale(*command, env=shim(KILL_AT=n)).code == KILLED
        bale.ok(*command)
        assert {name: data for name, data in content(tmp_path / "out").items() if not name.startswith(".bale-tmp")} == before, n
        bale.ok("verify", tmp_path / "out")


def test_splits_of_a_directory_are_named(bale, images, tmp_path):
    bale.pack(images, tmp_path / "out", "--split", "train=0.5,val=0.5")
    result = bale("index", "--force", tmp_path / "out")
    assert result.code == 1 and "name one of them" in result.error_line() and "train" in result.error_line()
    bale.ok("index", "--force", f"{tmp_path / 'out' / 'train'}::{tmp_path / 'out' / 'val'}")
