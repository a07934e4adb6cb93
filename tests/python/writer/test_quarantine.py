"""--on-error quarantine: every bad file is copied, under a name of its own, and the ledger names the copy."""
import os
import pathlib
import shutil

import pytest
from conftest import by_tier, ledger, shim, tree_bytes
from fault_support import KILLED, count_calls

USAGE, SKIPS = 2, 4
QUARANTINE = ["--on-error", "quarantine"]


@pytest.fixture
def own(tiny, tmp_path):
    """A copy of the small images, to which bad ones are added."""
    shutil.copytree(tiny, tmp_path / "own")
    return tmp_path / "own"


def add(folder, name, content):
    path = os.path.join(os.fsencode(folder), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def raw(text):
    return bytes.fromhex(text["hex"]) if isinstance(text, dict) else text.encode()


def copies_by_name(directory):
    """{path of the source file: contents of its copies}, each found by the name that the ledger gives."""
    copies = {}
    for entry in ledger(directory):
        copies[raw(entry["origin"])] = [pathlib.Path(os.fsdecode(os.path.join(os.fsencode(directory), raw(name))))
                                        .read_bytes() for name in entry.get("quarantined", [])]
    return copies


def contents_by_name(folder, names):
    return {os.path.join(os.fsencode(folder), name): [content] for name, content in names.items()}


# What once shared a name, or had one that no file can have.
BAD = {
    b"a/b_c.jpg": b"one",
    b"a_b/c.jpg": b"two",
    b"a/b/c.jpg": b"three",
    b"d" * 200 + b"/" + b"n" * 200 + b".jpg": b"a key of 401 bytes",
    b"n" * 255 + b"/" + b"%" * 251 + b".jpg": b"longer in a key than any file's name",
    b"a/caf\xe9\xff.jpg": b"not UTF-8",
    b"a/\n.jpg": b"",
}


@pytest.mark.parametrize("where", ["folder", "list"])
def test_every_bad_file_has_a_copy_that_the_ledger_names(bale, own, where, tmp_path):
    for name, content in BAD.items():
        add(own, name, content)
    out = tmp_path / "out"
    if where == "folder":
        result = bale("pack", own, out, "--shard-samples", "2", *QUARANTINE)
    else:
        paths = b"\0".join(os.path.join(os.fsencode(root), os.fsencode(name)) for root, _, names in os.walk(own)
                           for name in names)
        result = bale("pack", "--files-from", "-", "-0", out, *QUARANTINE, stdin=paths)
    assert result.code == SKIPS, result
    assert copies_by_name(out) == contents_by_name(own, BAD)
    bale.ok("verify", out)


def test_every_file_of_a_sample_is_copied(bale, own, tmp_path):
    for image in own.rglob("*.JPEG"):
        image.with_suffix(".json").write_text("{}")
    bad = sorted(own.rglob("*.JPEG"))[2]
    bad.write_bytes(b"bad")
    bad.with_suffix(".json").write_text('{"caption": "kept"}')
    result = bale("pack", own, tmp_path / "out", "--pair", "jpg,json", *QUARANTINE)
    assert result.code == SKIPS, result
    assert copies_by_name(tmp_path / "out") == {os.fsencode(bad): [b"bad", b'{"caption": "kept"}']}


def test_each_split_has_its_own(bale, own, tmp_path):
    for name, content in BAD.items():
        add(own, name, content)
    result = bale("pack", own, tmp_path / "out", "--split", "quarantine=0.5,rest=0.5", *QUARANTINE)
    assert result.code == SKIPS, result
    parts = [copies_by_name(part) for part in sorted((tmp_path / "out").iterdir()) if (part / "skipped.jsonl").exists()]
    assert {name: copies for part in parts for name, copies in part.items()} == contents_by_name(own, BAD)


def test_a_copy_never_takes_the_place_of_another_file(bale, own, tmp_path):
    add(own, b"a/bad.jpg", b"bad")
    out = tmp_path / "out"
    (out / "quarantine" / "a").mkdir(parents=True)
    (out / "quarantine" / "a" / "bad.jpg").write_bytes(b"somebody's")
    result = bale("pack", own, out, "--overwrite", *QUARANTINE)
    assert result.code == SKIPS, result
    assert (out / "quarantine" / "a" / "bad.jpg").read_bytes() == b"somebody's"
    assert copies_by_name(out) == contents_by_name(own, {b"a/bad.jpg": b"bad"})


def test_a_link_in_the_way_is_not_followed(bale, own, tmp_path):
    add(own, b"a/bad.jpg", b"bad")
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    (out / "quarantine").mkdir(parents=True)
    elsewhere.mkdir()
    (out / "quarantine" / "a").symlink_to(elsewhere)
    result = bale("pack", own, out, "--overwrite", *QUARANTINE)
    assert result.code == SKIPS, result
    assert list(elsewhere.iterdir()) == []
    assert copies_by_name(out) == contents_by_name(own, {b"a/bad.jpg": b"bad"})


ONE_BY_ONE = ["--name", "x", "--shard-samples", "2", "--jobs", "1"]


def test_killed_and_resumed_it_is_all_there(bale, own, tmp_path):
    bad = {b"a/b_c.jpg": b"one", b"a_b/c.jpg": b"two"}
    for name, content in bad.items():
        add(own, name, content)
    calls = count_calls(bale, tmp_path, "pack", own, tmp_path / "whole", *ONE_BY_ONE, *QUARANTINE, code=SKIPS)
    expected = tree_bytes(tmp_path / "whole")
    assert copies_by_name(tmp_path / "whole") == contents_by_name(own, bad)
    for n in range(1, calls + 1, by_tier(3, 1)):
        out = tmp_path / f"kill-{n}"
        killed = bale("pack", own, out, *ONE_BY_ONE, *QUARANTINE, env=shim(KILL_AT=n))
        assert killed.code == KILLED, (n, killed)
        result = bale("pack", own, out, *ONE_BY_ONE, *QUARANTINE, "--resume")
        assert result.code == SKIPS, (n, result)
        assert tree_bytes(out) == expected, n
        shutil.rmtree(out)


@pytest.fixture
def interrupted(bale, own, tmp_path):
    """interrupted(POLICY) -> a pack that was killed when all its shards were there, and its source."""
    def make(policy):
        add(own, b"a/bad.jpg", b"bad")
        arguments = [own, *ONE_BY_ONE, "--on-error", policy]
        env = shim(ONLY="rename")
        renames = count_calls(bale, tmp_path, "pack", *arguments, tmp_path / "count", code=SKIPS, env=env)
        out = tmp_path / "out"
        # The last one takes away the journal, the one before gives the manifest its name.
        killed = bale("pack", *arguments, out, env={**env, "BALE_SHIM_KILL_AT": str(renames - 1)})
        assert killed.code == KILLED, killed
        return out
    return make


@pytest.mark.parametrize("begun, other", [("quarantine", "skip"), ("skip", "quarantine"), ("quarantine", None),
                                          ("skip", "fail")])
def test_a_resumed_run_keeps_its_policy(bale, own, interrupted, begun, other, tmp_path):
    out = interrupted(begun)
    result = bale("pack", own, out, *ONE_BY_ONE, "--resume", *(["--on-error", other] if other else []))
    assert result.code == USAGE, result
    assert f"resume with --on-error {begun}" in result.error_line()
    assert bale("pack", own, out, *ONE_BY_ONE, "--resume", "--on-error", begun).code == SKIPS
    assert tree_bytes(out) == tree_bytes(tmp_path / "count")


def test_a_copy_that_is_gone_is_made_again(bale, own, interrupted):
    out = interrupted("quarantine")
    shutil.rmtree(out / "quarantine")
    assert bale("pack", own, out, *ONE_BY_ONE, "--resume", *QUARANTINE).code == SKIPS
    assert copies_by_name(out) == contents_by_name(own, {b"a/bad.jpg": b"bad"})


def test_a_run_that_left_nothing_out_may_change_its_policy(bale, own, tmp_path):
    add(own, b"z/bad.jpg", b"bad")  # the last one: shards before it are whole
    failed = bale("pack", own, tmp_path / "out", *ONE_BY_ONE)
    assert failed.code == 1, failed
    result = bale("pack", own, tmp_path / "out", *ONE_BY_ONE, "--resume", *QUARANTINE)
    assert result.code == SKIPS, result
    assert copies_by_name(tmp_path / "out") == contents_by_name(own, {b"z/bad.jpg": b"bad"})
