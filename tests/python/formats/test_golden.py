"""Packs that earlier versions wrote are read, verified, converted and resumed by this one."""
import hashlib
import json
import shutil

import pytest
from conftest import manifest_of, tree_bytes
from golden_support import GOLDEN, PLANES, VERSIONS, copy_of, make_golden

CASES = [(version, name) for version in VERSIONS for name in make_golden.LAYOUTS]


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_files_are_untouched(version):
    digests = json.loads((GOLDEN / version / "sha256.json").read_text())
    found = {str(path.relative_to(GOLDEN / version)): hashlib.sha256(path.read_bytes()).hexdigest()
             for path in (GOLDEN / version).rglob("*") if path.is_file() and path.name != "sha256.json"}
    assert found == digests


@pytest.mark.parametrize("version, name", CASES)
def test_verified(bale, tmp_path, version, name):
    result = bale.ok("verify", copy_of(version, tmp_path) / name)
    assert "ok: 5 samples in 2 shards" in result.out


@pytest.mark.parametrize("version, name", CASES)
def test_every_byte_is_read(bale, tmp_path, version, name):
    """As a dataset, and as shards without a manifest."""
    copy = copy_of(version, tmp_path)
    sources = {str(path.relative_to(copy / "source").with_suffix("")): path for path in (copy / "source").rglob("*.jpg")}
    assert sorted(bale.ok("ls", copy / name).out.split()) == sorted(sources)
    shards = "::".join(str(copy / name / shard["file"])
                       for shard in manifest_of(copy / name)["shards"])
    assert sorted(bale.ok("ls", shards).out.split()) == sorted(sources)
    if name in make_golden.PIXELS:
        return
    files = tmp_path / "files"
    bale.ok("extract", copy / name, files)
    for key, path in sources.items():
        [image] = files.glob(f"{key}.jp*g")
        assert image.read_bytes() == path.read_bytes()
        if name not in make_golden.ONE_FIELD:
            assert (files / f"{key}.json").read_bytes() == path.with_suffix(".json").read_bytes()


def test_jpeg_planes_of_version_1(bale, tmp_path):
    """With an index, without one, and converted."""
    def sources(folder):
        return {path: content for path, content in tree_bytes(folder).items() if path.endswith((".jpg", ".json"))}
    copy = tmp_path / "planes"
    shutil.copytree(PLANES, copy)
    assert "ok: 5 samples in 2 shards" in bale.ok("verify", copy).out
    bale.ok("extract", copy, tmp_path / "indexed")
    bale.ok("convert", copy, tmp_path / "plain")
    bale.ok("extract", tmp_path / "plain", tmp_path / "converted")
    for index in copy.glob("*.bidx"):
        index.unlink()
    bale.ok("extract", copy, tmp_path / "scanned")
    files = sources(GOLDEN / "0.3.0" / "source")
    assert [sources(tmp_path / name) for name in ("indexed", "converted", "scanned")] == [files] * 3


@pytest.mark.parametrize("version", VERSIONS)
def test_unfinished_pack_is_resumed(bale, tmp_path, version):
    copy = copy_of(version, tmp_path)
    published = (copy / "unfinished" / "golden-000000.tar").stat()
    bale.pack(copy / "source", copy / "unfinished", "--pair", "jpg,json", "--name", "golden",
              *make_golden.COMMON, "--resume")
    after = (copy / "unfinished" / "golden-000000.tar").stat()
    assert (after.st_ino, after.st_mtime_ns) == (published.st_ino, published.st_mtime_ns)  # not written again
    bale.ok("verify", copy / "unfinished")
    for shard in sorted((copy / "unfinished").glob("*.tar")):
        assert shard.read_bytes() == (copy / "tar.plain" / shard.name).read_bytes()
