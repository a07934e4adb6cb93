"""Versions of datasets in S3 go as on a disk."""
import json
import shutil
import subprocess
import time

import pytest
from conftest import by_tier, key_names, tree_bytes
from python_support import ENVIRONMENT, command
from remote_support import moto, remote, start  # noqa: F401
from version_support import MARKED, MARKER, has_marker, make_marked, version_of
from writing_support import moto_place, place, rclone_place, rclone_store, store, words  # noqa: F401

FAILURE = 1
PRUNE = ["log", "--keep", "1", "--prune", "--force"]
STRAY = "layers/00000000000000000000000000000000.blay"  # of a run that did not publish


@pytest.fixture(scope="module")
def old(bale, tiny, tmp_path_factory):
    """Three versions, whose shards are not the same."""
    out = tmp_path_factory.mktemp("old") / "packed"
    bale.pack(tiny, out, "--name", "x", "--shard-samples", "2")
    keys = key_names(bale, out)
    bale.ok("remove", out, keys[0], keys[3])
    bale.ok("rewrite", out)
    return out


def done(bale, old, command, tmp_path):
    """The files of `old` after a command on a disk."""
    local = shutil.copytree(old, tmp_path / "done")
    bale.ok(*words(command, local))
    return tree_bytes(local)


def killed(place, command, n):
    """Before its n-th request that changes something."""
    running = []
    place.proxy.add("[PD]*", skip=n, cut=True, before=lambda _: running[0].kill())
    running.append(start(place.run, *words(command, place.name)))
    running[0].communicate(timeout=60)
    place.proxy.heal()


def test_prune(bale, place, old, tmp_path):
    store(place, old)
    place.put(STRAY, b"x")
    before, after = place.objects(), done(bale, old, PRUNE, tmp_path)
    pruning = words(PRUNE, place.name)
    assert "less than 14 days" in place.run(*pruning[:-1]).error_line()
    said = place.ok(*pruning, "--dry-run", "--json").out
    assert place.objects() == before
    assert place.ok(*pruning, "--json").out == said and json.loads(said)["files"] == len(before) - len(after) + 2
    assert place.objects() == after
    place.ok("verify", place.name)
    assert [line.split()[-1] for line in place.ok("log", place.name).out.splitlines()[-2:]] == ["pruned", "pruned"]
    assert json.loads(place.ok(*pruning, "--json").out)["files"] == 0


def test_what_is_recent_stays(rclone_place, old):
    """Versions that were replaced 20 days ago go without --force, and layers of that age that no version names."""
    store(rclone_place, old)
    for name in rclone_place.names():
        if name.startswith("versions/"):
            rclone_place.put(name, rclone_place.get(name), Metadata={"mtime": str(time.time() - 20 * 86400)})
    rclone_place.put(STRAY, b"x")
    other = STRAY.replace("0", "1")
    rclone_place.put(other, b"x", Metadata={"mtime": str(time.time() - 20 * 86400)})
    rclone_place.ok(*words(PRUNE, rclone_place.name)[:-1])
    assert STRAY in rclone_place.names() and other not in rclone_place.names()
    assert not [name for name in rclone_place.names() if name.startswith("versions/") and name.endswith(".tar")]


@pytest.mark.parametrize("n", by_tier([1, 4], range(9)))
def test_a_prune_that_is_killed(bale, moto_place, old, n, tmp_path):
    """The current version is whole, and the same again, or any other change, ends it."""
    store(moto_place, old)
    after = done(bale, old, PRUNE, tmp_path)
    first = len(moto_place.proxy.log)
    killed(moto_place, PRUNE, n)
    changing = [asked for asked in moto_place.proxy.log[first:] if asked.method != "GET"]
    assert len(changing) == n + 1, changing
    assert {name: after[name] for name in after if not name.startswith("versions/")}.items() <= moto_place.objects().items()
    if n % 2 == 1:
        moto_place.ok(*words(PRUNE, moto_place.name))
        assert moto_place.objects() == after
    else:
        last = key_names(moto_place.run, moto_place.name)[-1]
        moto_place.ok("remove", moto_place.name, last)
        gone = {name for name in tree_bytes(old) if name not in after} if n else set()
        assert not gone & set(moto_place.names())


def test_a_layer_that_is_removed_before_it_is_named(moto_place, old):
    """By a run that looked before: it is stored again."""
    store(moto_place, old)
    before = set(moto_place.names())
    last = key_names(moto_place.run, moto_place.name)[-1]

    def remove(_):
        for name in set(moto_place.names()) - before:
            if name.startswith("layers/"):
                moto_place.remove(name)
    moto_place.proxy.add("PUT", "*/manifest.json", before=remove)
    moto_place.ok("remove", moto_place.name, last)
    assert last not in key_names(moto_place.run, moto_place.name)


def test_a_prune_next_to_an_unfinished_run(moto_place, old):
    store(moto_place, old)
    moto_place.put(".bale-partial/run.json", json.dumps({"version": 1, "plan": "x", "owner": "x", "parts": False, "files": [],
                                                         "replaced": []}).encode())
    before = moto_place.objects()
    result = moto_place.run(*words(PRUNE, moto_place.name))
    assert result.code == FAILURE and "unfinished run" in result.error_line() and moto_place.objects() == before


# --- rewrite

@pytest.fixture(scope="module")
def layered(bale, tiny, tmp_path_factory):
    """Shards that layers say something of, and others."""
    root = tmp_path_factory.mktemp("layered")
    out = root / "packed"
    bale.pack(tiny, out, "--name", "x", "--shard-samples", "1")
    keys = key_names(bale, out)
    bale.ok("remove", out, keys[0], keys[3])
    (root / "labels.csv").write_text(f"key,label\n{keys[1]},1\n")
    (root / "score.csv").write_text(f"key,score\n{keys[1]},1\n{keys[4]},2\n")
    bale.ok("set", out, f"label={root / 'labels.csv'}")
    bale.ok("set", out, f"score.txt={root / 'score.csv'}")
    return out


@pytest.mark.parametrize("options", [["--small", "1MiB"], *by_tier([], [[], ["--all"]])])
def test_rewrite(bale, place, layered, options, tmp_path):
    """The objects are the files of a local dataset, and every version is read."""
    store(place, layered)
    place.ok("rewrite", place.name, "--dry-run", *options)
    assert place.objects() == tree_bytes(layered)
    versions = [one["version"] for one in json.loads(bale.ok("log", "--json", layered).out)["versions"]]
    first = len(place.proxy.log)
    place.ok("rewrite", place.name, *options)
    assert place.objects() == done(bale, layered, ["rewrite", *options], tmp_path)
    copies = [asked for asked in place.proxy.log[first:] if "x-amz-copy-source" in asked.headers]
    assert copies and not any(asked.size for asked in copies)
    place.ok("verify", place.name)
    for version in by_tier(versions[-1:], versions):
        assert place.ok("ls", f"{place.name}@{version}").out == bale.ok("ls", f"{layered}@{version}").out
        place.ok("verify", f"{place.name}@{version}")


def changing(place, command):
    """What a command that nothing happens to asks that changes something: {place in the order: path}"""
    first = len(place.proxy.log)
    place.ok(*words(command, place.name))
    return [asked.path.removeprefix(f"/bucket/{place.key}/") for asked in place.proxy.log[first:] if asked.method != "GET"]


def test_a_rewrite_that_is_killed(bale, moto_place, layered, tmp_path):
    """The old version or the new one, whole, and the old one is where its readers look; in the end the objects of a run that nothing
    happened to."""
    command = ["rewrite", "--jobs", "1"]
    store(moto_place, layered)
    asked = changing(moto_place, command)
    before, after = tree_bytes(layered), done(bale, layered, command, tmp_path)
    assert moto_place.objects() == after
    at = asked.index("manifest.json")
    shards = [name for name in before if "/" not in name and name != "manifest.json"]
    for n in by_tier([at, at + 2], range(len(asked))):
        store(moto_place, layered)
        killed(moto_place, command, n)
        found = moto_place.objects()
        is_new = found["manifest.json"] != before["manifest.json"]
        assert is_new == (n > at)
        if is_new:
            assert {name: after[name] for name in after if not name.startswith("versions/")}.items() <= found.items()
            assert all(before[name] in (found.get(name), found.get(f"versions/{name}")) for name in shards)
        else:
            assert before.items() <= found.items()
        moto_place.ok(*words(command, moto_place.name))
        assert moto_place.objects() == after, n


def test_another_version_during_a_rewrite(bale, moto_place, layered, tmp_path):
    """It ends with 5 and leaves no shard."""
    store(moto_place, layered)
    late = shutil.copytree(layered, tmp_path / "late")
    bale.ok("remove", late, key_names(bale, layered)[-1])
    moto_place.proxy.add("PUT", "*/manifest.json", before=lambda _: store(moto_place, late))
    result = moto_place.run("rewrite", moto_place.name)
    assert result.code == 5 and "another run published version" in result.error_line()
    assert not [name for name in moto_place.names() if name not in tree_bytes(late) and not name.startswith("layers/")]


def test_a_shard_that_no_server_copies(moto_place, layered):
    store(moto_place, layered)

    def larger(asked):
        asked.answer = asked.answer.replace(b"<Size>", b"<Size>1000000000")
    moto_place.proxy.add("GET", query="*list-type=2*", after=larger, times=None)
    result = moto_place.run("rewrite", moto_place.name)
    assert result.code == FAILURE and "5 GiB" in result.error_line()
    assert moto_place.objects() == tree_bytes(layered)


READER = """
    import sys
    import bale

    name = sys.argv[1]
    dataset = bale.Dataset(name)
    loader = bale.Loader(name, 1, transform=bale.transforms.val(16), seed=1, workers=1)
    batches = iter(loader)
    next(batches)
    before = [repr(dataset[i]) for i in range(6)]
    bale.rewrite(name, all=True)
    assert sum(len(batch.labels) for batch in batches) == 5 and sum(len(batch.labels) for batch in loader) == 6
    assert [repr(dataset[i]) for i in range(6)] == before
"""


@pytest.mark.parametrize("cache", by_tier([False], [False, True]))
def test_readers_of_the_version_before_read_on(bale, moto_place, tiny, cache, tmp_path):
    """A Loader and a Dataset that are open find the shards that were moved."""
    pytest.importorskip("bale")
    bale.pack(tiny, tmp_path / "packed", "--name", "x", "--shard-samples", "1")
    store(moto_place, tmp_path / "packed")
    done = subprocess.run(command(READER, moto_place.name), capture_output=True, text=True, timeout=120,
                          env={**ENVIRONMENT, **moto_place.run.env, **({} if cache else {"BALE_CACHE_DIR": "none"})})
    assert done.returncode == 0, done.stderr


ASKED = """
    import sys
    import bale

    dataset = bale.Dataset(sys.argv[1])
    for line in sys.stdin:
        try:
            print(repr(dataset[int(line)]), flush=True)
        except bale.Error as error:
            print(error, flush=True)
"""


def test_a_shard_that_is_missing_once(bale, moto_place, tiny, tmp_path):
    """The error has the name that was opened, and the next read asks there again, unless the same file is in versions/."""
    pytest.importorskip("bale")
    bale.pack(tiny, tmp_path / "packed", "--name", "x")
    store(moto_place, tmp_path / "packed")
    name = "x-000000.tar"
    content = moto_place.get(name)
    with subprocess.Popen(command(ASKED, moto_place.name), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**ENVIRONMENT, **moto_place.run.env, "BALE_CACHE_DIR": "none"}) as process:
        def read():
            process.stdin.write("0\n")
            process.stdin.flush()
            return process.stdout.readline()
        first = read()
        for other in (None, b"other", content + b"."):
            if other:
                moto_place.put(f"versions/{name}", other)
            moto_place.proxy.add("GET", f"*/packed/{name}", status=404, code="NoSuchKey")
            said = read()
            assert "no such file" in said and f"packed/{name}" in said and "versions" not in said
            assert read() == first
        moto_place.put(f"versions/{name}", content)
        moto_place.remove(name)
        assert read() == first
        num_asked = len(moto_place.proxy.asked("GET", f"*/packed/{name}"))
        assert read() == first and len(moto_place.proxy.asked("GET", f"*/packed/{name}")) == num_asked
        moto_place.put(name, content)
        moto_place.remove(f"versions/{name}")
        assert f"packed/{name}" in read() and read() == first
        process.stdin.close()


# --- purge

PURGE = ["remove", MARKED, "--purge"]


@pytest.fixture(scope="module")
def marked_files(tmp_path_factory):
    return make_marked(tmp_path_factory.mktemp("marked") / "files", per_class=4)


@pytest.fixture(scope="module")
def marked(bale, marked_files, tmp_path_factory):
    """Four shards, one with the marker, and two versions: a field of it is in a layer."""
    root = tmp_path_factory.mktemp("marked")
    bale.pack(marked_files, root / "packed", "--name", "x", "--shard-samples", "2", "--sidecars", "wids")
    (root / "notes.csv").write_text("key,note\n" + "".join(f"{key},of {key}\n" for key in key_names(bale, root / "packed")))
    bale.ok("set", root / "packed", f"note.txt={root / 'notes.csv'}")
    return root / "packed"


def is_purged(place, after):
    """Also in this machine's cache."""
    return place.objects() == after and not has_marker(after) and not has_marker(tree_bytes(place.run.cache))


@pytest.mark.parametrize("layout", by_tier(["lmdb.plain"], ["tar.plain", "tar.gz", "tar.zst", "lmdb.plain", "hdf5.blob", "hdf5.vlen",
                                                            "recordio.image"]))
def test_nothing_of_a_purged_sample_stays(bale, place, marked_files, layout, tmp_path):
    """Neither of one that was rewritten before."""
    out = tmp_path / "packed"
    bale.pack(marked_files, out, "--name", "x", "--shard-samples", "3", "--format", layout)
    first = version_of(bale, out)
    store(place, out)
    place.ok("verify", place.name)  # all is in the cache
    assert has_marker(place.objects())
    for words_of in (["remove", MARKED], ["rewrite"]):
        place.ok(*words(words_of, place.name))
        bale.ok(*words(words_of, out))
    assert has_marker({name: place.get(name) for name in place.names() if name.startswith("versions/")})
    said = place.ok("rewrite", place.name, "--purge")
    assert first in said.err and "versioned" not in said.err
    bale.ok("rewrite", out, "--purge")
    assert is_purged(place, tree_bytes(out))
    place.ok("verify", place.name)
    assert "removed on purpose" in place.run("ls", f"{place.name}@{first}").error_line()


def test_only_shards_with_removed_samples_are_written(bale, place, marked, tmp_path):
    store(place, marked)
    first, hidden = len(place.proxy.log), version_of(bale, marked)
    place.ok(*words(PURGE, place.name))
    put = {one.path.rsplit("/", 1)[1] for one in place.proxy.log[first:] if one.method == "PUT"}
    assert {name for name in put if name.startswith("x-")} == {"x-000004.tar", "x-000004.tar.bidx"}
    assert is_purged(place, done(bale, marked, PURGE, tmp_path))
    assert "removed on purpose" in place.run("ls", f"{place.name}@{hidden}").error_line()
    assert place.run("add", place.name, marked).code != 0  # what was removed does not come back


def test_a_purge_that_is_killed(bale, moto_place, marked, tmp_path):
    """The old version, or one without the sample, whole; the same again leaves no byte."""
    store(moto_place, marked)
    asked = changing(moto_place, PURGE)
    before, after = tree_bytes(marked), done(bale, marked, PURGE, tmp_path)
    assert moto_place.objects() == after
    at = len(asked) - 1 - asked[::-1].index("manifest.json")
    num_samples = len(key_names(bale, marked))
    for n in by_tier([at + 1, at + 2], range(len(asked))):
        store(moto_place, marked)
        killed(moto_place, PURGE, n)
        is_old = moto_place.get("manifest.json") == before["manifest.json"]
        assert len(key_names(moto_place.run, moto_place.name)) == num_samples - (not is_old)
        verified = moto_place.run("verify", moto_place.name)
        assert verified.code == 0 or (not is_old and "shardindex.json" in verified.out and "1 problem" in verified.err)
        if n > at and (n - at) % 2 == 0:  # any other change ends it, too
            moto_place.ok("remove", moto_place.name, "brick/o_brick_0000")
            assert not has_marker(moto_place.objects())
        else:
            moto_place.ok(*words(PURGE, moto_place.name))
            assert is_purged(moto_place, after), n


@pytest.mark.parametrize("rotation", range(by_tier(1, 4)))
def test_faults_that_pass_a_purge(bale, moto_place, marked, rotation, tmp_path):
    faults = [{"status": 503, "code": "SlowDown"}, {"status": 409, "code": "OperationAborted"}, {"lose": True}, {"cut": True}]
    store(moto_place, marked)
    requests = [("PUT", "*.tar"), ("PUT", "*/run.json"), ("PUT", "*/manifest.json"), ("PUT", "*/versions/*"), ("DELETE", "*.tar"),
                ("DELETE", "*/run.json")]
    spoils = [moto_place.proxy.add(*one, **faults[(number + rotation) % len(faults)]) for number, one in enumerate(requests)]
    moto_place.ok(*words(PURGE, moto_place.name))
    assert not any(spoil.times for spoil in spoils)
    assert is_purged(moto_place, done(bale, marked, PURGE, tmp_path))


@pytest.mark.parametrize("request_of, fault, code", [
    (("DELETE", "*.tar"), {"status": 403, "code": "AccessDenied"}, FAILURE),
    *by_tier([], [(("PUT", "*/manifest.json"), {"status": 412, "skip": 1}, 5), (("PUT", "*/run.json"), {"status": 503}, 5),
                  (("PUT", "*/versions/*"), {"status": 403, "code": "AccessDenied", "skip": 1}, FAILURE), (("DELETE", "*.tar"), {"cut": True}, 5)])])
def test_faults_that_stay_in_a_purge(bale, moto_place, marked, request_of, fault, code, tmp_path):
    """Nobody reads the sample, and the same again ends the purge."""
    store(moto_place, marked)
    moto_place.proxy.add(*request_of, times=None, **fault)
    result = moto_place.run(*words(PURGE, moto_place.name), env={"BALE_NETWORK_TIMEOUT": "1"})
    assert result.code == code and moto_place.name in result.error_line()
    moto_place.proxy.heal()
    assert MARKED not in key_names(moto_place.run, moto_place.name)
    moto_place.ok(*words(PURGE, moto_place.name))
    assert is_purged(moto_place, done(bale, marked, PURGE, tmp_path))


def test_another_version_during_a_purge(bale, moto_place, marked, tmp_path):
    """The purge ends with 5, and nothing of the other version is lost."""
    store(moto_place, marked)
    late = shutil.copytree(marked, tmp_path / "late")
    bale.ok("remove", late, MARKED)
    bale.ok("remove", late, "brick/o_brick_0000")
    moto_place.proxy.add("PUT", "*/manifest.json", skip=1, before=lambda _: store(moto_place, late))
    result = moto_place.run(*words(PURGE, moto_place.name))
    assert result.code == 5 and "another run published version" in result.error_line()
    assert tree_bytes(late).items() <= moto_place.objects().items()
    moto_place.ok(*words(PURGE, moto_place.name))
    assert not has_marker(moto_place.objects())
    bale.ok(*words(PURGE, late))
    assert key_names(moto_place.run, moto_place.name) == key_names(bale, late)


def test_a_versioned_bucket_keeps_what_was_removed(moto_place, marked):
    """And the commands say so."""
    moto_place.into(f"versioned-{moto_place.key[2:10]}")
    moto_place.client.create_bucket(Bucket=moto_place.bucket)
    moto_place.client.put_bucket_versioning(Bucket=moto_place.bucket, VersioningConfiguration={"Status": "Enabled"})
    store(moto_place, marked)
    said = moto_place.ok(*words(PURGE, moto_place.name))
    assert "the bucket is versioned" in said.err and not has_marker(moto_place.objects())
    kept = moto_place.client.list_object_versions(Bucket=moto_place.bucket, Prefix=f"{moto_place.key}/x-000001.tar")["Versions"]
    assert MARKER in b"".join(moto_place.client.get_object(Bucket=moto_place.bucket, Key=one["Key"], VersionId=one["VersionId"])["Body"].read()
                              for one in kept)
    moto_place.ok("remove", moto_place.name, "brick/o_brick_0000")
    assert json.loads(moto_place.ok(*words(PRUNE, moto_place.name), "--json").out)["bucket_keeps_removed"]


OF_PURGED = """
    import os
    import subprocess
    import sys
    import bale

    spec, key = sys.argv[1:]
    name = spec.split("@")[0]
    purging = "import sys, bale; bale.remove(*sys.argv[1:], purge=True)"
    options = dict(transform=bale.transforms.val(16, resize=16), shuffle=False, workers=1, on_bad_sample="skip", prefetch=2)
    with bale.Loader(spec, 1, **options) as loader:
        expected = [batch.images.copy() for batch in loader]
    dataset, num_gone = bale.Dataset(spec), 0
    samples = [repr(dataset[i]) for i in range(len(dataset))]
    with bale.Loader(spec, 1, **options) as loader:
        batches = iter(loader)
        seen = [next(batches).images.copy()]
        subprocess.run([sys.executable, "-c", purging, name, key], check=True)
        try:
            for batch in batches:
                assert batch.mask.all()
                seen.append(batch.images.copy())
            assert len(seen) == len(expected)
        except bale.errors.RemovedError as error:
            assert "removed on purpose" in str(error) and dataset.version in str(error)
        assert all((a == b).all() for a, b in zip(seen, expected)) and not loader.bad_samples
    for i in range(len(dataset)):
        try:
            assert repr(dataset[i]) == samples[i]
        except bale.errors.RemovedError as error:
            assert "removed on purpose" in str(error) and dataset.version in str(error)
            num_gone += 1
    assert num_gone == 2 or os.environ["BALE_CACHE_DIR"] != "none"  # what is in use of the cache is read on
    if num_gone == 2:
        current = bale.Dataset(name)  # not what this process knew of it
        assert current.find(key) is None and all(current[i] for i in range(len(current)))
"""


@pytest.mark.parametrize("cache", by_tier([False], [False, True]))
def test_readers_of_a_purged_version(bale, moto_place, marked, cache):
    """What is open has its samples, or the error that says why."""
    pytest.importorskip("bale")
    store(moto_place, marked)
    first = json.loads(bale.ok("log", "--json", marked).out)["versions"][-1]["version"]
    done = subprocess.run(command(OF_PURGED, f"{moto_place.name}@{first}", MARKED), capture_output=True, text=True, timeout=120,
                          env={**ENVIRONMENT, **moto_place.run.env, **({} if cache else {"BALE_CACHE_DIR": "none"})})
    assert done.returncode == 0, done.stderr
