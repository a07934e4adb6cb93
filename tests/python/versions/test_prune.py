"""bale log --prune: exactly what no version that stays needs goes, and old versions say so."""
import json
import os
import shutil
import time

import pytest
from conftest import by_tier, shim, tree_bytes
from fault_support import KILLED, count_calls
from version_support import make_files

FAILURE, USAGE = 1, 2


def ids(bale, out):
    return [version["version"] for version in json.loads(bale.ok("log", "--json", out).out)["versions"]]


def age(out, days):
    """As if all that was replaced had been replaced this many days ago."""
    for file in (out / "versions").iterdir():
        os.utime(file, (time.time() - days * 86400,) * 2)




@pytest.fixture(scope="module")
def four(bale, tmp_path_factory):
    """A dataset of four versions."""
    root = tmp_path_factory.mktemp("prune")
    out = root / "packed"
    for number, name in enumerate(("a", "bb", "ccc", "dddd")):
        make_files(root / name, name)
        bale.ok("pack" if number == 0 else "add", *([root / name, out] if number == 0 else [out, root / name]))
    age(out, 20)
    return out


def test_the_newest_stay(bale, four, tmp_path):
    out = shutil.copytree(four, tmp_path / "out")
    before, known = tree_bytes(out), ids(bale, out)
    report = json.loads(bale.ok("log", out, "--keep", "2", "--prune", "--json").out)
    assert (report["kept"], set(report["pruned"])) == (known[:2], set(known[2:]))
    after = tree_bytes(out)
    gone = {f"versions/{version}.json" for version in known[2:]}
    assert {name for name in before if after.get(name) != before[name]} == gone
    assert (report["files"], report["bytes"]) == (2, sum(len(before[name]) for name in gone))
    assert ids(bale, out) == known[:2]
    for version in known[:2]:
        bale.ok("verify", f"{out}@{version}")
    for version in known[2:]:
        line = bale("ls", f"{out}@{version[:6]}")
        assert line.code == FAILURE and f"version {version} was pruned" in line.error_line()
    assert [line.split()[-1] for line in bale.ok("log", out).out.splitlines()[3:]] == ["pruned", "pruned"]
    assert json.loads(bale.ok("log", out, "--keep", "2", "--prune", "--json").out)["pruned"] == []
    assert tree_bytes(out) == after


def test_named_versions_stay(bale, four, tmp_path):
    out = shutil.copytree(four, tmp_path / "out")
    known = ids(bale, out)
    report = json.loads(bale.ok("log", out, "--keep", known[3][:6], "--keep", "1", "--prune", "--json").out)
    assert (report["kept"], set(report["pruned"])) == ([known[0], known[3]], set(known[1:3]))
    assert ids(bale, out) == [known[0], known[3]]  # the first one is found behind those that are gone
    for wrong, words in (("0", "is not"), ("ffff", "has no version"), ("week", "or an id"), (known[1], "was pruned")):
        assert words in bale("log", out, "--keep", wrong, "--prune").error_line()
    assert "keep" in bale("log", out, "--prune").error_line()


def test_files_of_pruned_versions_go(bale, four, tmp_path):
    """A shard that only old versions name, in versions/ or in its old place: as much is freed as was said."""
    out = shutil.copytree(four, tmp_path / "out")
    known = ids(bale, out)
    manifest = json.loads((out / "manifest.json").read_text())
    first = manifest["shards"].pop(0)  # what the current version does not need any more
    manifest["num_samples"] -= first["num_samples"]
    del manifest["checksum"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    os.rename(out / first["file"], out / "versions" / first["file"])
    before = tree_bytes(out)
    preview = json.loads(bale.ok("log", out, "--keep", "1", "--prune", "--json", "-n").out)
    assert tree_bytes(out) == before
    report = json.loads(bale.ok("log", out, "--keep", "1", "--prune", "--json").out)
    assert {**report, "spec": ""} == {**preview, "spec": ""}
    after = tree_bytes(out)
    assert set(before) - set(after) == {f"versions/{first['file']}", f"{first['file']}.bidx"}
    changed = [name for name in before if after.get(name) != before[name]]
    assert report["bytes"] == sum(len(before[name]) for name in changed) and report["files"] == len(changed) == 5
    assert set(known[1:]) == {name[9:25] for name in after if name.startswith("versions/")}
    bale.ok("verify", out)


def test_young_versions_stay(bale, four, tmp_path):
    out = shutil.copytree(four, tmp_path / "out")
    age(out, 13)
    before = tree_bytes(out)
    line = bale("log", out, "--keep", "1", "--prune")
    assert line.code == USAGE and "less than 14 days ago" in line.error_line() and "--force" in line.error_line()
    assert tree_bytes(out) == before and not (out / ".bale-partial").exists()
    assert "pruned 3 versions: 3 files" in bale.ok("log", out, "--keep", "1", "--prune", "--force").out


def test_what_is_not_pruned(bale, four, tmp_path):
    assert "one version is named" in bale("log", f"{four}@{ids(bale, four)[1]}", "--keep", "1", "--prune").error_line()
    assert bale("log", four, "--keep", "1").code == USAGE
    out = shutil.copytree(four, tmp_path / "out")
    broken = out / "versions" / f"{ids(bale, out)[1]}.json"
    broken.write_text(broken.read_text().replace('"created_by"', '"made_by"'))
    assert "checksum" in bale("log", out, "--keep", "1", "--prune").error_line()
    assert not (out / ".bale-partial").exists()


def test_killed_at_every_call(bale, four, tmp_path):
    """Every version that is there is whole, those that are gone say so, and the next run completes it."""
    arguments = ["--keep", "2", "--prune"]
    whole = shutil.copytree(four, tmp_path / "whole")
    known = ids(bale, four)
    calls = count_calls(bale, tmp_path, "log", whole, *arguments)
    expected = tree_bytes(whole)
    assert calls > 8
    for n in range(1, calls + 1, by_tier(3, 1)):
        out = shutil.copytree(four, tmp_path / f"kill-{n}")
        assert bale("log", out, *arguments, env=shim(KILL_AT=n)).code == KILLED
        bale.ok("verify", out)
        for version in known[1:]:
            result = bale("ls", f"{out}@{version}")
            assert result.code == 0 or "was pruned" in result.err or "has no version" in result.err, (n, result)
        assert bale("ls", f"{out}@{known[1]}").code == 0
        bale.ok("log", out, *arguments)
        assert tree_bytes(out) == expected, n
        shutil.rmtree(out)


def test_a_state_of_a_pruned_version(bale, four, tmp_path):
    import bale as bl
    out = shutil.copytree(four, tmp_path / "out")
    known = ids(bale, out)
    options = {"batch_size": 2, "workers": 0, "transform": bl.transforms.val(16, resize=16)}
    with bl.Loader(f"{out}@{known[2]}", **options) as loader:
        state = loader.state_dict()
    opened = bl.Dataset(f"{out}@{known[2]}")
    bale.ok("log", out, "--keep", "1", "--prune")
    with bl.Loader(out, **options) as loader, pytest.raises(ValueError, match=f"{known[2]}, which was pruned"):
        loader.load_state_dict(state)
    with pytest.raises(bl.Error, match="was pruned"):
        bl.Dataset(f"{out}@{known[2]}")
    assert len(list(opened)) == len(opened)  # its shards are in the current version, too
    (tmp_path / "state.json").write_text(json.dumps(state))
    assert "which was pruned" in bale("log", out, "--find", tmp_path / "state.json").error_line()
