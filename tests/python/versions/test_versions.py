"""Versions of a dataset: what their ids depend on, and how they are named, listed and found again."""
import json
import shutil

import pytest
from conftest import ALL_LAYOUTS, format_options, key_list, tree_bytes
from remote_support import FaultServer, remote  # noqa: F401 - fixtures
from version_support import make_files, version_of, versions  # noqa: F401 - a fixture

FAILURE, USAGE, SKIPS = 1, 2, 4


def log(bale, *args):
    return json.loads(bale.ok("log", "--json", *args).out)["versions"]


def test_ids_are_of_the_content_alone(bale, photos, tmp_path):
    for name, options in (("a", ["--jobs", "1"]), ("b", ["--jobs", "8"]), ("other", ["--shuffle", "1"])):
        bale.pack(photos, tmp_path / name, "--name", "x", "--shard-samples", "7", *options)
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    ids = {name: version_of(bale, tmp_path / name) for name in ("a", "b", "copy", "other")}
    assert ids["a"] == ids["b"] == ids["copy"] != ids["other"]
    assert len(ids["a"]) == 16 and set(ids["a"]) <= set("0123456789abcdef")


@pytest.mark.parametrize("name", [".".join(layout) for layout in ALL_LAYOUTS])
def test_every_layout_has_ids(bale, tiny, tmp_path, name):
    bale.pack(tiny, tmp_path / "a", *format_options(name))
    found, = log(bale, tmp_path / "a")
    assert found["version"] == version_of(bale, tmp_path / "a") and found["samples"] == 6 and found["parent"] is None


def test_every_command_takes_a_version(bale, versions, tmp_path):
    spec = f"{versions.packed}@{versions.first}"
    assert version_of(bale, spec) == versions.first
    assert key_list(bale, spec) == key_list(bale, versions.old) != key_list(bale, versions.packed)
    for command in (["verify"], ["stats"], ["inspect"], ["read", "--json"]):
        assert bale.ok(*command, spec).code == 0, command
    assert json.loads(bale.ok("verify", "--json", spec).out)["samples"] == 6
    assert "the same 6 samples" in bale.ok("diff", spec, versions.old).out
    assert "only in B" in bale("diff", spec, versions.packed).out
    bale.ok("convert", spec, tmp_path / "converted")
    bale.pack(spec, tmp_path / "packed_again")
    bale.ok("extract", spec, tmp_path / "files")
    assert key_list(bale, tmp_path / "converted") == key_list(bale, tmp_path / "packed_again") == key_list(bale, versions.old)
    assert len(list((tmp_path / "files").rglob("*.*"))) == 12
    assert key_list(bale, f"{spec}::{versions.new}") == key_list(bale, versions.packed)


def test_the_current_version_has_a_name_too(bale, versions):
    assert key_list(bale, f"{versions.packed}@{versions.second}") == key_list(bale, versions.packed)


def test_the_first_digits_are_enough(bale, versions):
    assert version_of(bale, f"{versions.packed}@{versions.first[:4]}") == versions.first
    assert bale("ls", f"{versions.packed}@{versions.first[:3]}").code == FAILURE  # then it is a path
    assert "no such file" in bale("ls", f"{versions.packed}@{versions.first[:3]}").error_line()


def test_names_that_are_not_of_a_version(bale, versions, tmp_path):
    assert "has no version ffff" in bale("ls", f"{versions.packed}@ffff").error_line()
    shutil.copytree(versions.old, tmp_path / "photos@2024")  # a name that looks like one
    assert key_list(bale, tmp_path / "photos@2024") == key_list(bale, versions.old)
    assert "has no versions" in bale("log", next(versions.packed.glob("*.tar"))).error_line()


def test_a_kept_manifest_of_another_version_is_refused(bale, versions, tmp_path):
    shutil.copytree(versions.packed, tmp_path / "packed")
    shutil.copy(versions.packed / "manifest.json", tmp_path / "packed" / "versions" / f"{versions.first}.json")
    assert f"is the manifest of version {versions.second}" in bale("log", tmp_path / "packed").error_line()


def test_log(bale, versions):
    second, first = log(bale, versions.packed)
    assert (second["version"], second["parent"], second["samples"]) == (versions.second, versions.first, 12)
    assert second["change"] == {"verb": "add", "samples": 6, "message": "week 48"}
    assert (first["version"], first["parent"], first["samples"]) == (versions.first, None, 6)
    lines = bale.ok("log", versions.packed).out.splitlines()
    assert lines[1].startswith(versions.second) and lines[1].endswith("add 6 samples: week 48")
    assert lines[2].startswith(versions.first) and "made by bale" in lines[2]
    assert [version["version"] for version in log(bale, f"{versions.packed}@{versions.first}")] == [versions.first]


def test_log_finds_what_a_state_saw(bale, versions, tmp_path):
    state = {"version": 1, "epoch": 3, "position": 2, "fingerprint": 1, "dataset": versions.first}
    (tmp_path / "state.json").write_text(json.dumps({"step": 1, "loaders": [state]}))
    found, = log(bale, versions.packed, "--find", tmp_path / "state.json")
    assert found["version"] == versions.first
    assert "none of this dataset's" in bale("log", versions.new, "--find", tmp_path / "state.json").error_line()
    del state["dataset"]
    (tmp_path / "old.json").write_text(json.dumps(state))
    assert "names a version" in bale("log", versions.packed, "--find", tmp_path / "old.json").error_line()
    (tmp_path / "none").write_bytes(b"\x80")
    assert "json.dump" in bale("log", versions.packed, "--find", tmp_path / "none").error_line()


@pytest.mark.parametrize("options", [[], ["--link"]], ids=["copied", "linked"])
def test_versions_are_merged(bale, versions, options, tmp_path):
    """Also one that left samples out: those of later versions are not listed."""
    bale.ok("merge", f"{versions.packed}@{versions.first[:6]}", versions.new, "-o", tmp_path / "merged", "--name", "x", *options)
    bale.ok("merge", versions.old, versions.new, "-o", tmp_path / "expected", "--name", "x")
    assert tree_bytes(tmp_path / "merged") == tree_bytes(tmp_path / "expected")
    assert "has no version" in bale("merge", f"{versions.packed}@ffff", versions.new, "-o", tmp_path / "other").error_line()
    out = tmp_path / "flawed"
    for name in ("one", "two"):
        make_files(tmp_path / name, name)
        next((tmp_path / name).rglob("*0001.JPEG")).write_bytes(b"no image")
    assert bale("pack", tmp_path / "one", out, "--on-error", "skip").code == SKIPS
    first = version_of(bale, out)
    assert bale("add", out, tmp_path / "two", "--on-error", "skip").code == SKIPS
    bale("merge", f"{out}@{first}", versions.new, "-o", tmp_path / "few")
    assert "one_" in (tmp_path / "few" / "skipped.jsonl").read_text() and "two_" not in (tmp_path / "few" / "skipped.jsonl").read_text()


def test_versions_over_http(versions, remote):  # noqa: F811
    with FaultServer(versions.root) as server:
        spec = f"{server.url}/packed@{versions.first}"
        assert remote.ok("ls", spec).out.split() == remote.ok("ls", versions.old).out.split()
        assert remote.ok("ls", f"{server.url}/packed@{versions.first[:5]}").out.count("\n") == 6
        assert remote.ok("ls", f"{server.url}/packed@{versions.second}").out.count("\n") == 12
        assert [version["samples"] for version in log(remote, f"{server.url}/packed")] == [12, 6]
        assert remote.ok("verify", spec).code == 0
        assert "has no version" in remote("ls", f"{server.url}/packed@ffff").error_line()
