"""What cannot be looked at is not taken for what is not there: directories without permission, disks that fail."""
import errno
import json
import os
import shutil

import pytest
from conftest import NOBODY, let_others_in, manifest_of, shards, shim, tree_bytes

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


@pytest.fixture
def three(bale, tiny, tmp_path):
    """A directory of three datasets of six samples; nobody but root gets into the second."""
    for name in "abc":
        bale.pack(tiny, tmp_path / "all" / name, "--name", "x", "--shard-samples", "2")
    let_others_in(tmp_path / "all")
    (tmp_path / "all" / "b").chmod(0o700)
    return tmp_path / "all"


@needs_root
def test_a_pattern_names_the_directories_that_it_cannot_read(bale, three):
    pattern = three / "*" / "x-*.tar"
    result = bale.ok("ls", pattern, prefix=NOBODY)
    assert len(result.out.splitlines()) == 12
    assert "a directory that cannot be read" in result.err and str(three / "b") in result.err
    assert bale("ls", pattern, "--strict", prefix=NOBODY).code != 0
    assert "cannot be read" in bale.ok("verify", pattern, prefix=NOBODY).err
    alone = bale("ls", three / "b" / "*.tar", prefix=NOBODY)
    assert alone.code == 1 and "Permission denied" in alone.error_line()
    assert "cannot be read" not in bale.ok("ls", pattern).err  # root sees all


@needs_root
def test_a_directory_of_datasets_names_those_that_cannot_be_read(bale, three):
    for command in ("verify", "inspect", "stats"):
        result = bale.ok(command, three, prefix=NOBODY)
        assert "cannot be read" in result.err and ("/b:" in result.err or ": b (" in result.err), result
    assert len(json.loads(bale.ok("verify", three, "--json", prefix=NOBODY).out)["parts"]) == 2


@needs_root
@pytest.mark.parametrize("command", ["ls", "inspect", "log", "verify", "convert"])
def test_a_dataset_without_permission(bale, three, tmp_path, command):
    result = bale(command, three / "b", *[tmp_path / "out"] * (command == "convert"), prefix=NOBODY)
    assert result.code in (1, 3) and "Permission denied" in result.out + result.err, result
    assert "no packed shards" not in result.err


@pytest.mark.parametrize("spec", ["all/a", "all/a/x-*.tar", "all/*/x-*.tar", "file://all/a"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE])
def test_a_listing_that_fails_is_an_error(bale, three, tmp_path, spec, error):
    for directory in three.iterdir():
        (directory / "manifest.json").unlink()
    spec = spec.replace("all", str(three))
    bale.ok("ls", spec, env={"BALE_CACHE_DIR": "none"})
    result = bale("ls", spec, env={"BALE_CACHE_DIR": "none", **shim(UNSEEN="all/a", ERRNO=error)})
    assert result.code != 0 and os.strerror(error) in result.error_line(), result


def test_a_manifest_that_cannot_be_looked_at(bale, three):
    """Else the shards would be read without it, and what was removed from the dataset would be there again."""
    for command in ("ls", "verify"):
        result = bale(command, three / "a", env=shim(UNSEEN="a/manifest.json", ERRNO=errno.EIO))
        assert result.code != 0 and "Input/output error" in result.err + result.out, result


def test_shards_named_one_by_one_are_not_read_without_what_their_manifest_removed(bale, three):
    pattern, manifest = three / "a" / "x-*.tar", three / "a" / "manifest.json"
    bale.ok("remove", three / "a", bale.ok("ls", three / "a").out.splitlines()[0])
    text = manifest.read_text()
    assert len(bale.ok("ls", pattern).out.splitlines()) == 5
    for damaged in (text[:-40], text.replace("bale_manifest", "bale_manifesu"), text.replace('"layout"', '"layouu"')):
        manifest.write_text(damaged)
        assert str(manifest) in bale("ls", pattern).error_line()
    for content in '{"audio": 1}\n{"audio": 2}\n', '{"created_by": "baler 3"}':  # another program's
        manifest.write_text(content)
        assert len(bale.ok("ls", pattern).out.splitlines()) == 6
    os.truncate(manifest, (1 << 30) + 1)  # larger than any of bale's
    assert len(bale.ok("ls", pattern).out.splitlines()) == 6
    manifest.unlink()
    manifest.mkdir()
    assert len(bale.ok("ls", pattern).out.splitlines()) == 6
    manifest.rmdir()
    for spec in (pattern, three / "a", shards(three / "a")[0]):
        assert "manifest.json is missing" in bale.ok("ls", spec).err
        assert bale("ls", spec, "--strict").code != 0


def test_a_shard_that_cannot_be_looked_at_is_not_changed(bale, three):
    result = bale("ls", three / "a", env=shim(UNSEEN=shards(three / "a")[1].name, ERRNO=errno.EIO))
    assert result.code == 1 and "Input/output error" in result.error_line(), result


def test_versions_that_cannot_be_looked_at_are_neither_forgotten_nor_pruned(bale, three):
    out = three / "a"
    keys = bale.ok("ls", out).out.splitlines()
    for key in keys[:3]:
        bale.ok("remove", out, key)
    known = [version["version"] for version in json.loads(bale.ok("log", out, "--json").out)["versions"]]
    before = tree_bytes(out)
    failing = shim(UNSEEN=f"versions/{known[1]}.json", ERRNO=errno.EIO)
    for options in ([], ["--keep", "3", "--prune", "--force"], ["--find", manifest_of(out)["shards"][0]["digest"]]):
        result = bale("log", out, *options, env=failing)
        assert result.code != 0 and tree_bytes(out) == before, result
    assert "Input/output error" in bale("log", out, env=failing).error_line()


def test_a_path_that_is_too_long(bale, tiny, tmp_path):
    """Its directory can be made, but not what is in it."""
    directory = str(tmp_path)
    here = os.getcwd()
    try:
        os.chdir(directory)
        while len(directory) < 3850:
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
            directory += "/" + "d" * 200
        out = directory + "/" + "x" * (4080 - len(directory) - 1)
        result = bale("pack", tiny, out)
        assert result.code == 1 and "File name too long" in result.error_line(), result
    finally:
        os.chdir(here)
        shutil.rmtree(tmp_path / ("d" * 200))


def test_the_reason_of_a_mounted_disk_is_told(bale, three):
    shard = shards(three / "a")[1].name
    env = {"BALE_CACHE_DIR": "none", "BALE_NETWORK_TIMEOUT": "1", **shim(UNREADABLE=f"a/{shard}")}
    result = bale("read", f"file://{three / 'a'}", env=env)
    assert result.code == 5 and "Input/output error (" in result.error_line(), result


@needs_root
@pytest.mark.parametrize("name", ["manifest.json", "x-000001.tar"])
def test_a_mounted_file_without_permission(bale, three, name):
    """Without the manifest, what was removed would be there again."""
    (three / "a" / name).chmod(0)
    result = bale("ls", f"file://{three / 'a'}", prefix=NOBODY, env={"BALE_CACHE_DIR": "none"})
    assert result.code == 1 and "Permission denied" in result.error_line() and "server" not in result.err, result
