"""Every flipped bit is found and named, truncation is reported, and what is intact can still be read."""
import json
import os
import random
import shutil

import pytest
from conftest import LAYOUTS, flip, images_by_key, shards, shim

DAMAGED = 3


@pytest.fixture(scope="module")
def packs(bale, tiny, tmp_path_factory):
    """One shard of six images in every layout."""
    root = tmp_path_factory.mktemp("packs")
    for format_name, layout in LAYOUTS:
        bale.pack(tiny, root / f"{format_name}.{layout}", "--format", format_name, "--layout", layout)
    return root


def payload_ranges(data, images):
    """{key: (begin, end)} of the images that lie in the file as they are."""
    found = {}
    for key, (image, _) in images.items():
        begin = data.find(image)
        if begin >= 0:
            found[key] = (begin, begin + len(image))
    return found


def decay(path, offset, bit):
    """As a disk does it: nobody wrote to the file, so its time stays."""
    times = path.stat()
    flip(path, offset, 1 << bit)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


LOCATED = [pair for pair in LAYOUTS if pair not in (("tar", "gz"), ("tar", "zst"))]


@pytest.mark.parametrize("format_name,layout", LOCATED)
def test_payload_flips_are_named(bale, tiny, packs, fresh_copy, format_name, layout):
    """First, last and random bytes of each sample: exit 3 with shard, key and offset; the other samples still come."""
    images = images_by_key(tiny)
    copy = fresh_copy(packs / f"{format_name}.{layout}")
    shard = shards(copy)[0]
    ranges = payload_ranges(shard.read_bytes(), images)
    if not (format_name == "lmdb"):  # LMDB may split nothing, but tiny values share pages: all must be whole there too
        assert set(ranges) == set(images)
    assert ranges
    rng = random.Random(format_name + layout)
    for key, (begin, end) in ranges.items():
        offsets = {begin, end - 1, *(rng.randrange(begin, end) for _ in range(8))}
        for offset in sorted(offsets):
            bit = rng.randrange(8)
            decay(shard, offset, bit)
            result = bale("verify", copy)
            assert result.code == DAMAGED, (key, offset, bit, result)
            reported = result.out + result.err
            assert shard.name in reported and key in reported and str(begin) in reported, (begin, result)
            decay(shard, offset, bit)
        # Blast radius: one sample.
        decay(shard, begin, 0)
        other = rng.choice([k for k in images if k != key])
        assert bale.ok("cat", copy, other, "--field", "jpg").stdout == images[other][0]
        damaged = bale("cat", copy, key, "--field", "jpg")
        assert damaged.code != 0 and damaged.stdout == b"" and key in damaged.error_line()
        decay(shard, begin, 0)
    bale.ok("verify", copy)


COPIES = 25  # verified by one process, each against its own manifest


def missed_flips(bale, directory, path, flips):
    """Those of `flips` of the file `path`, a copy of `directory` each, that `verify` does not name as damage."""
    root = directory.parent / "copies"
    relative = path.relative_to(directory)
    missed = []
    for start in range(0, len(flips), COPIES):
        some = {f"flip-{number}": at for number, at in enumerate(flips[start:start + COPIES])}
        for name, (offset, bit) in some.items():
            shutil.copytree(directory, root / name)
            decay(root / name / relative, offset, bit)
        result = bale("verify", root, "--json", timeout=60)
        assert result.code == DAMAGED, (some, result)
        found = {os.path.relpath(finding["path"], root).split(os.sep)[0] for finding in json.loads(result.stdout)["findings"]}
        missed += [at for name, at in some.items() if name not in found]
        shutil.rmtree(root)
    return missed


@pytest.mark.parametrize("format_name,layout", LAYOUTS)
def test_flips_anywhere_in_a_shard_are_found(bale, tiny, packs, fresh_copy, format_name, layout):
    """Headers, padding, pages, trees, compressed frames: 300 bits over the whole file. No flip may go unnoticed or crash."""
    copy = fresh_copy(packs / f"{format_name}.{layout}")
    shard = shards(copy)[0]
    size = shard.stat().st_size
    rng = random.Random(7)
    flips = [(offset, rng.randrange(8)) for offset in [0, size - 1, *(rng.randrange(size) for _ in range(300))]]
    assert missed_flips(bale, copy, shard, flips) == []
    bale.ok("verify", copy)


def test_flips_in_index_and_manifest_are_found(bale, packs, fresh_copy):
    copy = fresh_copy(packs / "tar.plain")
    rng = random.Random(11)
    for path in [shards(copy)[0].with_name(shards(copy)[0].name + ".bidx"), copy / "manifest.json"]:
        size = path.stat().st_size
        assert missed_flips(bale, copy, path, [(rng.randrange(size), rng.randrange(8)) for _ in range(150)]) == []


@pytest.mark.parametrize("format_name,layout", LAYOUTS)
def test_truncation_is_reported(bale, packs, fresh_copy, format_name, layout):
    """Cut at page, header and payload edges: a typed error, never a crash, with and without our index."""
    copy = fresh_copy(packs / f"{format_name}.{layout}")
    shard = shards(copy)[0]
    whole = shard.read_bytes()
    rng = random.Random(3)
    cuts = {0, 1, 511, 512, 513, 4095, 4096, len(whole) // 2, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(20))}
    for cut in sorted(c for c in cuts if c < len(whole)):
        shard.write_bytes(whole[:cut])
        result = bale("verify", copy, timeout=30)
        assert result.code == DAMAGED, (cut, result)
        assert shard.name in result.out + result.err
        for command in ("ls", "inspect"):  # these need no payload and may succeed; dying by a signal is not an answer
            assert bale(command, copy, timeout=30).code >= 0
    index = shard.with_name(shard.name + ".bidx")
    index.unlink()
    for cut in sorted(c for c in cuts if c < len(whole)):
        shard.write_bytes(whole[:cut])
        for command in ("verify", "ls"):
            result = bale(command, shard, timeout=30)
            assert result.code >= 0, (cut, result)
            if result.code not in (0, DAMAGED):
                assert str(shard) in result.error_line()


def test_longer_than_it_was(bale, packs, fresh_copy):
    copy = fresh_copy(packs / "tar.plain")
    with open(shards(copy)[0], "ab") as file:
        file.write(b"\0")
    result = bale("verify", copy)
    assert result.code == DAMAGED and shards(copy)[0].name in result.out + result.err


def test_shards_swapped(bale, tiny, tmp_path):
    """Two whole shards under each other's names."""
    bale.pack(tiny, tmp_path / "p", "--shard-samples", "3")
    one, two = shards(tmp_path / "p")
    one.rename(tmp_path / "x")
    two.rename(one)
    (tmp_path / "x").rename(two)
    result = bale("verify", tmp_path / "p")
    assert result.code == DAMAGED
    assert one.name in result.out + result.err


def test_the_disk_fails_while_verifying(bale, packs):
    shard = shards(packs / "tar.plain")[0]
    result = bale("verify", packs / "tar.plain", env=shim(UNREADABLE=shard.name))
    assert result.code == 1
    assert shard.name in result.out + result.err and "Input/output error" in result.out + result.err
    codes = []
    for words in (["verify"], ["read"]):  # one code for one fault
        found = json.loads(bale(*words, "--json", packs / "tar.plain", env=shim(UNREADABLE=shard.name)).out)
        codes += [one["code"] for one in found.get("findings", [found.get("error")])]
    assert set(codes) == {"io"}


@pytest.mark.parametrize("layout, kept", [("tar.plain", 0), ("tar.zst", 0), ("lmdb.plain", 0), ("lmdb.plain", 1), ("hdf5.vlen", 0),
                                          ("hdf5.vlen", 1), ("recordio.image", 0)])
def test_a_shard_that_no_format_recognizes_is_damaged(bale, packs, tmp_path, layout, kept):
    """For readers as for verify: its index says that it is a shard."""
    shutil.copytree(packs / layout, tmp_path / "p")
    shard = shards(tmp_path / "p")[0]
    shard.write_bytes((bytes(4096) + shard.read_bytes()[4096:]) * kept)
    codes = []
    for words in (["verify"], ["read"], ["ls"]):
        found = json.loads(bale(*words, "--json", tmp_path / "p").out)
        codes += [one["code"] for one in found.get("findings", [found.get("error")]) if one]
    assert set(codes) == {"damaged"}, codes
