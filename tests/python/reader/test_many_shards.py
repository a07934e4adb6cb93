"""More shards than a process may have files open: every command, the loader and its workers get along."""

import pytest
from conftest import by_tier, make_images, write_tar

SHARDS = by_tier(1200, 3000)
FEW_DESCRIPTORS = ("sh", "-c", 'ulimit -n 256; exec "$@"', "sh")


@pytest.fixture(scope="module")
def tiny_shards(bale, tmp_path_factory):
    """One image per shard, indexed."""
    root = tmp_path_factory.mktemp("many")
    make_images.make_tree(root / "files", classes=1, per_class=1, size=(32, 24))
    [image] = [path.read_bytes() for path in (root / "files").rglob("*.*")]
    directory = root / "shards"
    directory.mkdir()
    for number in range(SHARDS):
        write_tar(directory / f"x-{number:06}.tar",
                  [(f"{number:06}.jpg", image), (f"{number:06}.cls", b"%d" % (number % 10))])
    bale.ok("index", directory, "-q", prefix=FEW_DESCRIPTORS)
    return directory


@pytest.mark.parametrize("arguments", [
    ("read",), ("read", "--jobs", "16", "--order", "full"),
    ("read", "--direct", "--order", "full"), ("ls", "--json"), ("verify",), ("stats",), ("inspect",),
    ("bench", "--stages", "train", "--epochs", "1", "--size", "16", "--batch", "64", "--workers", "2"),
    ("bench", "--stages", "train", "--epochs", "1", "--size", "16", "--batch", "64", "--workers", "2", "--threads")],
    ids=lambda arguments: "_".join(arguments[:3:2] + arguments[-1:]))
def test_commands(bale, tiny_shards, arguments):
    command, *options = arguments
    result = bale.ok(command, tiny_shards, *options, prefix=FEW_DESCRIPTORS)
    assert "could not be decoded" not in result.err


def test_convert(bale, tiny_shards, tmp_path):
    bale.ok("convert", tiny_shards, tmp_path / "out", "-q", prefix=FEW_DESCRIPTORS)
    assert f"ok: {SHARDS} samples" in bale.ok("verify", tmp_path / "out").out.replace(",", "")
    bale.ok("convert", tiny_shards, tmp_path / "split", "--shard-samples", "1", "-q", prefix=FEW_DESCRIPTORS)
    assert len(bale.ok("ls", tmp_path / "split", prefix=FEW_DESCRIPTORS).out.splitlines()) == SHARDS
