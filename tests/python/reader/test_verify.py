"""`bale verify` and what else looks at a whole dataset: it continues after what it cannot read, and takes several datasets."""
import json
import os
import shlex
import subprocess

import pytest
from conftest import NOBODY, PROGRAM, flip, let_others_in, make_images, shards, shim, tree_bytes


@pytest.fixture
def packed(bale, tiny, tmp_path):
    """Six samples in three shards."""
    out = tmp_path / "packed"
    bale.pack(tiny, out, "--name", "x", "--shard-samples", "2")
    return out


@pytest.fixture
def split(bale, tiny, tmp_path):
    out = tmp_path / "split"
    bale.pack(tiny, out, "--name", "x", "--shard-samples", "2", "--split", "train=0.5,val=0.5", "--shuffle", "1")
    return out


def findings(bale, spec, **env):
    result = bale("verify", spec, "--json", "--jobs", "1", env=env)
    return result.code, json.loads(result.out)["findings"]


def flip_payload(bale, shard):
    """Damages the first sample of a shard; returns its key."""
    row = json.loads(bale.ok("ls", "--json", shard).out.splitlines()[0])
    flip(shard, 1024 + 512)
    return row["key"]


# --- continuing

def test_a_shard_that_cannot_be_read_hides_no_other(bale, packed):
    """EIO at every read of the middle shard, damage in the last one: all are named, sample by sample."""
    _, middle, last = shards(packed)
    key = flip_payload(bale, last)
    unreadable = shim(UNREADABLE=middle.name)
    code, found = findings(bale, packed, **unreadable)
    assert code == 3
    lost = [finding for finding in found if finding["path"] == str(middle)]
    assert lost and all("Input/output error" in finding["what"] for finding in lost), found
    assert [finding["key"] for finding in found if finding["path"] == str(last)] == [key]
    result = bale("verify", packed, env=unreadable)
    assert result.code == 3 and result.out.count("Input/output error") == len(lost)
    assert f"{len(found)} problems found" in result.error_line()


def test_each_sample_that_cannot_be_read_is_named(bale, packed):
    shard = shards(packed)[1]
    keys = bale.ok("ls", shard).out.split()
    env = shim(UNREADABLE=shard.name, UNREADABLE_FROM=1024)
    code, found = findings(bale, packed, **env)
    assert code == 1 and {finding["code"] for finding in found} == {"io"}  # the disk's error, so not damage
    named = [finding.get("key") for finding in found if finding["path"] == str(shard)]
    assert set(keys) <= set(named) and all("offset" in finding for finding in found if "key" in finding), found


@pytest.mark.parametrize("with_manifest", [True, False])
def test_missing_and_unreadable_shards(bale, packed, tmp_path, with_manifest):
    first, middle, last = shards(packed)
    if with_manifest:
        spec = packed
    else:
        spec = f"{first}::{middle}::{last}"
    key = flip_payload(bale, last)
    middle.rename(tmp_path / "away")
    code, found = findings(bale, spec)
    assert code == 3
    assert {"path": str(middle), "what": "shard file is missing", "code": "damaged"} in found
    if with_manifest:  # an unreadable manifest of another version does not hide it
        (packed / "versions").mkdir()
        (packed / "versions" / "0123456789abcdef.json").write_text("damaged")
        assert findings(bale, spec) == (code, found)
    assert key in [finding.get("key") for finding in found]
    os.mkfifo(middle)  # cannot be read as a file
    code, found = findings(bale, spec)
    assert code == 3 and key in [finding.get("key") for finding in found]
    assert any(finding["path"] == str(middle) and "not a regular file" in finding["what"] for finding in found), found


@pytest.mark.parametrize("verb", ["verify", "report"])
def test_many_missing_shards_take_one_manifest(bale, tmp_path, verb):
    """The manifest is not read again for each of them: what is read does not grow with the square of the shards."""
    source, out = tmp_path / "source", tmp_path / "packed"
    make_images.make_tree(source, classes=1, per_class=300, size=(8, 8))
    bale.pack(source, out, "--name", "x", "--shard-samples", "1")
    for shard in shards(out):
        shard.unlink()
    command = [PROGRAM, verb, out]
    script = f"{shlex.join(map(str, command))} > /dev/null 2>&1; echo $?; cat /proc/$$/io"  # with its children's
    code, *counts = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert int(code) == (3 if verb == "verify" else 1)
    read = int(dict(line.split(": ") for line in counts)["rchar"])
    assert read < 50 * (out / "manifest.json").stat().st_size


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_shard_without_permission(bale, packed):
    first, middle, last = shards(packed)
    let_others_in(packed)
    key = flip_payload(bale, last)
    middle.chmod(0)
    assert bale("ls", first, prefix=NOBODY).code == 0
    result = bale("verify", packed, "--json", prefix=NOBODY)
    found = json.loads(result.out)["findings"]
    assert result.code == 3 and key in [finding.get("key") for finding in found]
    assert any(finding["path"] == str(middle) and "Permission denied" in finding["what"] for finding in found), found
    assert bale("verify", middle, prefix=NOBODY).code == 1


def test_a_missing_tmpdir_is_not_damage(bale, tiny, tmp_path):
    """A compressed tar of another program is inflated into TMPDIR: that place is named, and the shard is not called damaged."""
    bale.pack(tiny, tmp_path / "p", "--format", "tar.gz")
    for file in (*(tmp_path / "p").glob("*.bidx"), tmp_path / "p" / "manifest.json"):
        file.unlink()
    away = tmp_path / "away"
    result = bale("verify", shards(tmp_path / "p")[0], env={"TMPDIR": str(away)})
    assert result.code == 1 and str(away) in result.out + result.err, result


def test_a_lack_of_descriptors_is_not_damage(bale, packed):
    result = bale("verify", packed, "--jobs", "1", prefix=["prlimit", "--nofile=4"])
    assert result.code == 1 and "Too many open files" in result.error_line(), result


def test_nothing_at_all_is_an_error_of_the_spec(bale, tmp_path):
    assert bale("verify", tmp_path / "no.tar").code == 1


# --- several datasets

def test_verify_of_a_list_uses_each_manifest(bale, packed, tiny, tmp_path):
    """A shard that only a manifest can miss, and one that it does not name."""
    other = tmp_path / "other"
    bale.pack(tiny, other, "--name", "y", "--shard-samples", "2")
    spec = f"{packed}::{other}"
    report = json.loads(bale.ok("verify", spec, "--json").out)
    assert [part["spec"] for part in report["parts"]] == [str(packed), str(other)]
    assert report["samples"] == 12
    first, *_, last = shards(other)
    stray = first.with_name(first.name.replace("000000", "000007"))
    stray.write_bytes(first.read_bytes())
    last.rename(tmp_path / "away")
    code, found = findings(bale, spec)
    assert code == 3
    assert {"path": str(last), "what": "shard file is missing", "code": "damaged"} in found
    assert {"path": str(stray), "what": "shard is not in the manifest", "code": "damaged"} in found
    assert len(found) == 2


def test_verify_of_a_split(bale, split):
    parts = [str(split / "train"), str(split / "val")]
    result = bale.ok("verify", split)
    assert [line.split(": ")[:2] for line in result.out.splitlines()] == [[part, "ok"] for part in parts]
    report = json.loads(bale.ok("verify", split, "--json").out)
    assert [part["spec"] for part in report["parts"]] == parts
    alone = [json.loads(bale.ok("verify", part, "--json").out) for part in parts]
    assert report["parts"] == alone
    for count in ("samples", "shards", "bytes"):
        assert report[count] == sum(part[count] for part in alone) > 0
    assert report["findings"] == []


@pytest.mark.parametrize("damage", ["payload", "manifest", "manifest that cannot be read", "no shard"])
def test_damage_in_one_part_hides_no_other(bale, split, damage):
    """Damage in the first part, and a flipped bit in the second: both are found, and the exit code says so."""
    first, second = shards(split / "train"), shards(split / "val")
    if damage == "payload":
        flip_payload(bale, first[0])
    elif damage == "manifest":
        (split / "train" / "manifest.json").write_text("{")
    elif damage == "manifest that cannot be read":
        (split / "train" / "manifest.json").unlink()
        (split / "train" / "manifest.json").mkdir()
    else:
        first[0].unlink()
    key = flip_payload(bale, second[-1])
    result = bale("verify", split, "--json")
    report = json.loads(result.out)
    assert result.code == 3 and len(report["parts"]) == 2
    assert all(part["findings"] for part in report["parts"])
    assert [finding["key"] for finding in report["parts"][1]["findings"]] == [key]
    assert report["findings"] == report["parts"][0]["findings"] + report["parts"][1]["findings"]
    text = bale("verify", split)
    assert text.code == 3
    assert f"{split / 'val'}: 1 problem found" in text.out and f"{split / 'train'}: " in text.out


def test_inspect_and_stats_of_a_split(bale, split):
    parts = [str(split / "train"), str(split / "val")]
    report = json.loads(bale.ok("inspect", split, "--json").out)
    alone = [json.loads(bale.ok("inspect", part, "--json").out) for part in parts]
    assert report["parts"] == alone and report["samples"] == sum(part["samples"] for part in alone) == 6
    for command in ("inspect", "stats"):
        text = bale.ok(command, split).out
        for part in parts:
            assert f"{part}:\n" + bale.ok(command, part).out in text, command


def test_other_commands_name_the_datasets(bale, split, tmp_path):
    for command in (["ls", split], ["read", split], ["cat", split, "x"], ["extract", split, tmp_path / "out"]):
        line = bale(*command).error_line()
        assert "several datasets" in line and str(split / "train") in line and str(split / "val") in line, command
    before = tree_bytes(split)
    bale.ok("verify", split)
    assert tree_bytes(split) == before


def test_an_unfinished_split_is_not_taken_for_whole(bale, split):
    (split / ".bale-partial").mkdir()
    result = bale("verify", split)
    assert result.code == 1 and "unfinished" in result.error_line()
