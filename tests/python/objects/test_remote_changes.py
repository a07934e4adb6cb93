"""Datasets in S3 that change: as on a disk, the old version or the new one, whole, in rclone's server and moto's."""
import json
import shutil
import subprocess

import pytest
from conftest import by_tier, key_names, tree_bytes
from python_support import ENVIRONMENT, command
from remote_support import moto, remote, start  # noqa: F401
from version_support import make_files
from writing_support import blocked, moto_place, place, rclone_place, rclone_store, store, words  # noqa: F401

FAILURE, TRY_AGAIN = 1, 5
LATE = "brick/brick_0001"  # that no other change names


@pytest.fixture(scope="module")
def old(bale, tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("old") / "packed"
    bale.pack(tiny, out, "--name", "x", "--shard-samples", "2")
    return out


@pytest.fixture(scope="module")
def changes(bale, old, tmp_path_factory):
    """{what: the words of a change after the dataset's name}"""
    root, keys = tmp_path_factory.mktemp("tables"), key_names(bale, old)
    (root / "labels.csv").write_text(f"key,label\n{keys[0]},1\n{keys[-1]},0\n")
    (root / "split.csv").write_text(f"key,split\n{keys[0]},train\n{keys[-1]},val\n")
    return {"remove": ["remove", keys[0], keys[3]], "set": ["set", f"label={root / 'labels.csv'}"],
            "field": ["set", f"split.txt={root / 'split.csv'}"]}


@pytest.fixture(params=by_tier(["remove"], ["remove", "set", "field"]))
def change(request, changes):
    return changes[request.param]


@pytest.fixture
def remove(changes):
    return changes["remove"]


@pytest.fixture(scope="module")
def adding(tmp_path_factory):
    """The words of an `add` that makes two shards and a class, after the dataset's name."""
    return ["add", make_files(tmp_path_factory.mktemp("new") / "files", "n", classes=3, per_class=1), "--shard-samples", "2"]


def changed(bale, old, change, tmp_path):
    """The files of `old` after a change on a disk."""
    local = shutil.copytree(old, tmp_path / f"changed-{change[0]}", dirs_exist_ok=True)
    bale.ok(*words(change, local))
    return tree_bytes(local)


def is_old(place, before, after):
    """The version that the manifest says is whole."""
    found = place.objects()
    expected = before if found["manifest.json"] == before["manifest.json"] else after
    assert expected.items() <= found.items()
    return expected is before


def test_as_on_a_disk(bale, place, old, changes, adding, tmp_path):
    """One change after the other: the objects are the files of a local dataset, and every version is read."""
    local = shutil.copytree(old, tmp_path / "local")
    store(place, old)
    for change in [*list(changes.values())[::-1], adding]:
        bale.ok(*words(change, local))
        place.ok(*words(change, place.name))
        assert place.objects() == tree_bytes(local)
        assert place.ok("ls", place.name).out == bale.ok("ls", local).out
    listed = json.loads(place.ok("log", "--json", place.name).out)["versions"]
    assert listed == json.loads(bale.ok("log", "--json", local).out)["versions"] and len(listed) == 5
    assert key_names(place.run, f"{place.name}@{listed[-1]['version']}") == key_names(bale, old)
    place.ok("verify", place.name)
    assert not place.run("remove", place.name, "none").code == 0 and place.objects() == tree_bytes(local)
    assert place.ok("log", "--removed", place.name).out == bale.ok("log", "--removed", local).out


def test_what_is_written(moto_place, old, remove):
    """A layer, what keeps the old version, and the manifest, last and only if it is the one that was read."""
    store(moto_place, old)
    first = len(moto_place.proxy.log)
    moto_place.ok(*words(remove, moto_place.name), "--dry-run")
    assert {asked.method for asked in moto_place.proxy.log[first:]} == {"GET"}
    moto_place.ok(*words(remove, moto_place.name))
    written = [one for one in moto_place.proxy.log[first:] if one.method != "GET"]
    names = [one.path.removeprefix(f"/bucket/{moto_place.key}/").split("/")[0] for one in written]
    assert names == ["layers", "layers", "versions", "manifest.json"] and {one.method for one in written} == {"PUT"}
    assert written[-1].headers["if-match"].strip('"')


def test_killed_at_every_request(bale, moto_place, old, change, tmp_path):
    """And the same again makes the version that an undisturbed run makes."""
    before, after = tree_bytes(old), changed(bale, old, change, tmp_path)
    num_puts = len(after.keys() - before.keys()) + 1
    for n in by_tier([1, num_puts - 1, num_puts], range(num_puts + 1)):
        store(moto_place, old)
        running = []
        what = {"skip": n, "cut": True, "before": lambda _: running[0].kill()}
        if n == num_puts:  # the manifest is there
            what = {"skip": n - 1, "lose": True, "after": lambda _: running[0].kill()}
        moto_place.proxy.add("PUT", **what)
        running.append(start(moto_place.run, *words(change, moto_place.name)))
        running[0].communicate(timeout=60)
        moto_place.proxy.heal()
        assert is_old(moto_place, before, after) == (n < num_puts)
        if n < num_puts:
            moto_place.ok(*words(change, moto_place.name))
        assert moto_place.objects() == after


@pytest.mark.parametrize("at", by_tier(["manifest.json"], ["layers/*", "versions/*", "manifest.json"]))
def test_two_at_once(bale, moto_place, old, remove, at, tmp_path):
    """The one whose manifest is there first has its version. Of the other nobody sees anything, and it may be run again."""
    store(moto_place, old)
    came, go = blocked(moto_place, "PUT", f"*/{at}")
    first = start(moto_place.run, *words(remove, moto_place.name))
    assert came.wait(60)
    moto_place.ok("remove", moto_place.name, LATE)
    manifest = moto_place.get("manifest.json")
    go.set()
    _, err = first.communicate(timeout=60)
    assert first.returncode == TRY_AGAIN and "another run published version" in err, err
    assert moto_place.get("manifest.json") == manifest
    moto_place.ok(*words(remove, moto_place.name))
    local = shutil.copytree(old, tmp_path / "local")
    for one in (["remove", LATE], remove):
        bale.ok(*words(one, local))
    assert moto_place.objects() == tree_bytes(local)


def test_a_server_without_conditions(rclone_place, old, remove):
    """rclone's: a run that finds another manifest than it read publishes nothing, and one whose manifest is replaced before it
    looks says so."""
    store(rclone_place, old)
    rclone_place.proxy.add("PUT", "*/versions/*", after=lambda _: rclone_place.put("manifest.json", other))
    base = rclone_place.get("manifest.json")
    rclone_place.ok("remove", rclone_place.name, LATE)  # what another run publishes
    other = rclone_place.get("manifest.json")
    for path, times in (("*/versions/*", 1), ("*/manifest.json", 1)):
        rclone_place.proxy.heal()
        rclone_place.put("manifest.json", base)
        rclone_place.proxy.add("PUT", path, after=lambda _: rclone_place.put("manifest.json", other), times=times)
        result = rclone_place.run(*words(remove, rclone_place.name))
        assert result.code == TRY_AGAIN and "another run published version" in result.error_line()
        assert rclone_place.get("manifest.json") == other


PASSING = [{"status": 503, "code": "SlowDown"}, {"status": 409, "code": "ConditionalRequestConflict"}, {"lose": True}, {"cut": True}]


@pytest.mark.parametrize("rotation", range(by_tier(1, len(PASSING))))
def test_faults_that_pass(bale, moto_place, old, remove, rotation, tmp_path):
    store(moto_place, old)
    spoils = [moto_place.proxy.add("PUT", path, **PASSING[(number + rotation) % len(PASSING)])
              for number, path in enumerate(["*.blay", "*.removed", "*/manifest.json", "*/versions/*"])]
    moto_place.ok(*words(remove, moto_place.name))
    assert not any(spoil.times for spoil in spoils)
    assert moto_place.objects() == changed(bale, old, remove, tmp_path)


STAYING = [("*/manifest.json", {"status": 412}, TRY_AGAIN), ("*/versions/*", {"status": 403, "code": "AccessDenied"}, FAILURE),
           ("*.blay", {"status": 503}, TRY_AGAIN), ("*/manifest.json", {"status": 409}, TRY_AGAIN), ("*/manifest.json", {"cut": True}, TRY_AGAIN)]


@pytest.mark.parametrize("path, fault, code", STAYING[:by_tier(2, len(STAYING))])
def test_faults_that_stay(bale, moto_place, old, remove, path, fault, code, tmp_path):
    store(moto_place, old)
    moto_place.proxy.add("PUT", path, times=None, **fault)
    result = moto_place.run(*words(remove, moto_place.name), env={"BALE_NETWORK_TIMEOUT": "1"})
    assert result.code == code and moto_place.name in result.error_line()
    assert moto_place.get("manifest.json") == (old / "manifest.json").read_bytes()
    moto_place.proxy.heal()
    moto_place.ok(*words(remove, moto_place.name))
    assert moto_place.objects() == changed(bale, old, remove, tmp_path)


# --- add

@pytest.mark.parametrize("puts", by_tier([(5, 1), None], [*((n, min(n // 2, 8 - n)) for n in range(9)), None]))
def test_an_add_that_is_killed(bale, moto_place, old, adding, puts, tmp_path):
    """Before one of its PUTs, and again while it is continued, or after its manifest: the old version or the new one, and in the end
    the objects of a run that nothing happened to."""
    before, after = tree_bytes(old), changed(bale, old, adding, tmp_path)
    store(moto_place, old)
    whats = [{"skip": n, "cut": True, "before": lambda _: running[0].kill()} for n in puts or ()]
    for what in whats or [{"path": "*/manifest.json", "lose": True, "after": lambda _: running[0].kill()}]:
        running = []
        moto_place.proxy.heal()
        moto_place.proxy.add("PUT", **what)
        running.append(start(moto_place.run, *words(adding, moto_place.name), "--resume"))
        running[0].communicate(timeout=60)
        assert is_old(moto_place, before, after) == bool(puts)
    moto_place.proxy.heal()
    moto_place.ok(*words(adding, moto_place.name), "--resume")
    assert moto_place.objects() == after
    moto_place.ok("verify", moto_place.name)


def test_an_unfinished_add(bale, moto_place, old, adding, remove, tmp_path):
    """Others are told; --restart drops it, with what it had uploaded."""
    store(moto_place, old)
    moto_place.proxy.add("PUT", "*/x-000004.tar", status=403, code="AccessDenied", times=None)
    assert moto_place.run(*words(adding, moto_place.name), "--jobs", "1").code == FAILURE
    assert "x-000003.tar" in moto_place.names()
    for other, hint in ((words(adding, moto_place.name), "--resume"), (words(remove, moto_place.name), "unfinished run"),
                        ([*words(adding, moto_place.name), "--resume", "--max-samples", "1"], "--max-samples")):
        result = moto_place.run(*other)
        assert result.code == FAILURE and hint in result.error_line(), result
    moto_place.proxy.heal()
    small = [*adding, "--max-samples", "1"]
    moto_place.ok(*words(small, moto_place.name), "--restart")
    assert moto_place.objects() == changed(bale, old, small, tmp_path)


def test_another_version_during_an_add(bale, moto_place, old, adding, tmp_path):
    """The add ends with 5 and leaves nothing, also of the lists that it had replaced."""
    old = shutil.copytree(old, tmp_path / "old")
    bale.ok("index", old, "--sidecars", "wids")
    store(moto_place, old)
    late = shutil.copytree(old, tmp_path / "late")
    bale.ok("remove", late, LATE)

    def publish(_):
        for name, content in tree_bytes(late).items():
            moto_place.put(name, content)
    moto_place.proxy.add("PUT", "*/manifest.json", before=publish)
    result = moto_place.run(*words(adding, moto_place.name))
    assert result.code == TRY_AGAIN and "another run published version" in result.error_line()
    assert moto_place.objects() == tree_bytes(late)
    moto_place.ok(*words(adding, moto_place.name))
    bale.ok(*words(adding, late))
    assert moto_place.objects() == tree_bytes(late)


def test_an_unfinished_run_is_named(moto_place, old, remove):
    store(moto_place, old)
    moto_place.put(".bale-partial/run.json", b"{}")
    before = moto_place.objects()
    result = moto_place.run(*words(remove, moto_place.name))
    assert result.code == FAILURE and "unfinished run" in result.error_line() and moto_place.objects() == before


def test_no_dataset(moto_place, remove):
    result = moto_place.run(*words(remove, moto_place.name))
    assert result.code == FAILURE and "not a packed dataset" in result.error_line()


READER = """
    import sys
    import bale

    name, gone, late, files = sys.argv[1:]
    dataset = bale.Dataset(name)
    loader = bale.Loader(name, 2, transform=bale.transforms.val(16), seed=1, workers=1)
    batches = iter(loader)
    first = next(batches)
    state = loader.state_dict()["dataset"]
    with bale.edit(name, message="week 48") as e:
        e.add(files)
        e.remove([gone])
        e.set_labels({late: "amber"})
        e.set_field("score.txt", {late: 0.5})
    count = len(first.labels) + sum(len(batch.labels) for batch in batches)
    assert count == len(dataset) == 6 and dataset.version == state
    now = bale.Dataset(name)
    versions = bale.versions(name)
    assert now.version == versions[0]["version"] != state == versions[1]["version"] and len(now) == 8
    assert versions[0]["change"]["message"] == "week 48" and gone not in now.keys
    assert list(bale.Dataset(f"{name}@{state}").keys) == list(dataset.keys)
    try:
        with bale.edit(name) as e:
            e.remove([late])
            bale.remove(name, now.keys[0])
    except bale.Error as error:
        assert error.code == "retryable", error
    else:
        raise SystemExit("no error")
    print(len(bale.Dataset(name)))
"""


def test_a_reader_keeps_its_version(moto_place, old, adding):
    """bale.edit() publishes while a Loader and a Dataset of the same process are open: they have the samples that they began with."""
    pytest.importorskip("bale")
    store(moto_place, old)
    done = subprocess.run(command(READER, moto_place.name, "amber/amber_0000", LATE, adding[1]), env={**ENVIRONMENT, **moto_place.run.env},
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr
