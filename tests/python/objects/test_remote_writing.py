"""Packing to S3: the objects are byte for byte the files of a local pack, in rclone's server and moto's."""
import base64
import hashlib
import re
import signal

import pytest
from conftest import ALL_FORMATS, by_tier, format_options, tree_bytes
from remote_support import ends_well, heavy_images, moto, remote, start  # noqa: F401
from servers.network import wait_for
from test_remote_s3 import ODD as ODD_NAMES
from writing_support import blocked, moto_place, place, prefix_in, rclone_place, rclone_store  # noqa: F401

FAILURE, USAGE, SKIPPED, TRY_AGAIN, INTERRUPTED = 1, 2, 4, 5, 130
OPTIONS = ["--name", "x", "--shard-samples", "7"]


@pytest.fixture(scope="module")
def heavy_source(tmp_path_factory):
    """12 images of 800 KB: a shard of 8.8 MB, which is uploaded in two parts, and a small one."""
    return heavy_images(tmp_path_factory.mktemp("heavy") / "source", 12, 800_000)


HEAVY = ["--name", "x", "--shard-samples", "11"]


def compare(bale, place, tmp_path, source, *options, command="pack", codes=(0,)):
    local = bale(command, source, tmp_path / "local", *options)
    stored = place.run(command, source, place.name, *options)
    assert local.code == stored.code and local.code in codes, stored
    assert place.objects() == tree_bytes(tmp_path / "local")
    assert place.dangling() == []
    return stored


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_every_format(bale, rclone_place, photos, name, tmp_path):
    compare(bale, rclone_place, tmp_path, photos, *OPTIONS, *format_options(name))


@pytest.mark.parametrize("options", [
    ["--split", "train=0.7,val=0.3", "--stratify", "--shuffle", "5"], ["--seek-points", "--sidecars", "wds2idx,wids"],
    ["--max-samples", "9", "--compress", "zstd:3"]], ids=["splits", "sidecars", "others"])
def test_options(bale, moto_place, photos, options, tmp_path):
    compare(bale, moto_place, tmp_path, photos, *OPTIONS, *options)


def test_skipped_samples_are_listed(bale, moto_place, photos, tmp_path):
    bad = next(photos.rglob("*.JPEG")).parent / "bad.jpg"
    bad.mkdir()
    try:
        compare(bale, moto_place, tmp_path, photos, *OPTIONS, "--on-error", "skip", codes=(0, SKIPPED))
    finally:
        bad.rmdir()


def test_uploads_in_parts(bale, place, heavy_source, tmp_path):
    compare(bale, place, tmp_path, heavy_source, *HEAVY)
    begun, completed, aborted = place.proxy.uploads()
    assert len(begun) == 1 and set(begun) == completed and not aborted
    stored = [one for one in place.proxy.asked("PUT") if one.size]
    assert len(place.proxy.asked("PUT", query="partNumber=*")) == 2 and max(one.size for one in stored) == 8 << 20
    for one in stored:
        assert len(base64.b64decode(one.headers["content-md5"])) == 16
        assert re.fullmatch("[0-9a-f]{64}", one.headers["x-amz-content-sha256"])
    assert [one.path.rpartition("/")[2] for one in stored if not re.search(r"\.bale-partial", one.path)][-1] == "manifest.json"
    assert place.proxy.asked("PUT", "*/manifest.json")[0].headers["if-none-match"] == "*"
    assert place.ok("verify", place.name).out.replace(place.name, "X") == \
        bale.ok("verify", tmp_path / "local").out.replace(str(tmp_path / "local"), "X")


def test_checksums_are_those_of_the_bytes(rclone_place, photos):
    """What bale says of a request is what its bytes have, also if the server were to ignore it."""
    bodies = {}
    forward = rclone_place.proxy.take

    def take(asked):
        bodies[asked.path] = asked
        return forward(asked)
    rclone_place.proxy.take = take
    rclone_place.ok("pack", photos, rclone_place.name, *OPTIONS)
    for name, content in rclone_place.objects().items():
        sent = bodies[f"/bucket/{rclone_place.key}/{name}"]
        if sent.method == "PUT":
            assert sent.headers["content-md5"] == base64.b64encode(hashlib.md5(content).digest()).decode()
            assert sent.headers["x-amz-content-sha256"] == hashlib.sha256(content).hexdigest()


ODD = by_tier(["a=b/c=d/with space/100%25/a+b", "ü/日本 語/semi;colon,comma&and@at", "it's (here)!*~/hash#and?mark"], ODD_NAMES)


@pytest.mark.parametrize("odd", ODD)
def test_keys_with_special_characters(bale, remote, rclone_store, photos, odd, tmp_path):
    if odd == "a//b":
        pytest.skip("rclone serves a file system, which has no such name")
    name = re.sub(r"[/*?]", "_", odd)
    with prefix_in(remote, rclone_store, f"odd-{tmp_path.name}/{odd}") as place:
        compare(bale, place, tmp_path, photos, "--name", name, "--shard-samples", "20")
        place.ok("pack", photos, place.name, "--name", name, "--shard-samples", "20", "--resume")
        if not re.search(r"[*?\[]", odd):
            place.ok("verify", place.name)


def test_a_key_with_an_empty_part(bale, remote, moto, photos, tmp_path):
    with prefix_in(remote, moto, f"{tmp_path.name}//b") as place:
        compare(bale, place, tmp_path, photos, "--name", "x", "--shard-samples", "20")
        place.ok("verify", place.name)


def test_convert(bale, moto_place, photos, tmp_path):
    bale.pack(photos, tmp_path / "source", "--name", "x", "--format", "hdf5")
    compare(bale, moto_place, tmp_path, tmp_path / "source", *OPTIONS, "--format", "lmdb", command="convert")


def test_from_one_prefix_to_another(bale, moto_place, photos, tmp_path):
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS)
    other = moto_place.name + "-other"
    moto_place.ok("convert", moto_place.name, other, "--format", "lmdb")
    assert moto_place.run("diff", moto_place.name, other).code == 0
    asked = len(moto_place.proxy.asked("PUT"))
    for inside in (moto_place.name, moto_place.name + "/", moto_place.name.rpartition("/")[0]):
        result = moto_place.run("convert", moto_place.name, inside, "--overwrite")
        assert result.code == USAGE and "holds the source" in result.error_line()
    assert len(moto_place.proxy.asked("PUT")) == asked


# --- parts

def test_parts(bale, place, photos, tmp_path):
    bale.pack(photos, tmp_path / "local", *OPTIONS)
    plan = tmp_path / "plan"
    place.ok("plan", photos, place.name, "-o", plan, *OPTIONS)
    assert place.names() == []
    place.ok("pack", "--plan", plan, "--part", "1/3")
    missing = place.run("merge", plan)
    assert missing.code == TRY_AGAIN and "missing of 3 parts: 0,2" in missing.out + missing.err
    for part in (2, 0, 1):
        place.ok("pack", "--plan", plan, "--part", f"{part}/3")
    assert "manifest.json" not in place.names()
    place.ok("merge", plan)
    assert place.objects() == tree_bytes(tmp_path / "local") and place.dangling() == []
    place.ok("merge", plan)
    place.ok("pack", "--plan", plan, "--part", "0/3")
    assert place.objects() == tree_bytes(tmp_path / "local")
    place.ok("verify", place.name)


def test_parts_at_the_same_time(bale, rclone_place, heavy_source, tmp_path):
    """The same part twice, too: they abort each other's uploads, and continue. (moto answers 500 for a part of an aborted one.)"""
    bale.pack(heavy_source, tmp_path / "local", *HEAVY)
    plan = tmp_path / "plan"
    rclone_place.ok("plan", heavy_source, rclone_place.name, "-o", plan, *HEAVY)
    runs = [start(rclone_place.run, "pack", "--plan", plan, "--part", part) for part in ("0/2", "1/2", "0/2", "0/1")]
    for process in runs:
        process.communicate(timeout=120)
    for part in ("0/2", "1/2"):
        rclone_place.ok("pack", "--plan", plan, "--part", part)
    rclone_place.ok("merge", plan)
    assert rclone_place.objects() == tree_bytes(tmp_path / "local") and rclone_place.dangling() == []


def test_parts_of_another_plan(moto_place, photos, tmp_path):
    for number in (1, 2):
        moto_place.ok("plan", photos, moto_place.name, "-o", tmp_path / f"plan{number}", *OPTIONS, "--shuffle", str(number))
    moto_place.ok("pack", "--plan", tmp_path / "plan1", "--part", "0/3")
    result = moto_place.run("pack", "--plan", tmp_path / "plan2", "--part", "0/3")
    assert result.code == FAILURE and "parts of another plan" in result.error_line()
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS)
    assert result.code == FAILURE and "unfinished" in result.error_line()


# --- what is there

def test_a_destination_that_is_not_empty(moto_place, photos):
    moto_place.put("notes.txt", b"mine")
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS)
    assert result.code == FAILURE and "is not empty" in result.error_line() and "notes.txt" in result.error_line()
    assert moto_place.names() == ["notes.txt"]
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--overwrite")
    assert moto_place.get("notes.txt") == b"mine"
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS)
    assert result.code == FAILURE and "holds a packed dataset" in result.error_line()


def test_overwrite(bale, moto_place, photos, tmp_path):
    """The old manifest goes first, old shards that are not written again at the end, and files of others stay."""
    moto_place.ok("pack", photos, moto_place.name, "--name", "x", "--shard-samples", "4", "--sidecars", "wids")
    moto_place.ok("verify", moto_place.name)
    moto_place.put("notes.txt", b"mine")
    shown = []
    moto_place.proxy.add("PUT", "*/x-000000.tar", before=lambda _: shown.append(moto_place.names()))
    done = moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--overwrite")
    assert "manifest.json" not in shown[0] and "x-000009.tar" in shown[0] and "replaced the dataset" in done.out + done.err
    bale.pack(photos, tmp_path / "local", *OPTIONS)
    assert moto_place.objects() == {**tree_bytes(tmp_path / "local"), "notes.txt": b"mine"}
    moto_place.ok("verify", moto_place.name)  # at once: what the cache knew is forgotten


def test_overwrite_stops_for_files_of_others(moto_place, photos):
    moto_place.put("x-000003.tar", b"mine")
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS, "--overwrite")
    assert result.code == FAILURE and "in the way" in result.error_line() and "x-000003.tar" in result.error_line()
    assert moto_place.objects() == {"x-000003.tar": b"mine"}


@pytest.mark.parametrize("lost", ["x-000002.tar", "x-000002.tar.bidx", "shardindex.json"])
def test_resume_repairs(moto_place, photos, lost):
    options = [*OPTIONS, "--sidecars", "wids"]
    moto_place.ok("pack", photos, moto_place.name, *options)
    before = moto_place.objects()
    moto_place.remove(lost)
    assert lost in before
    moto_place.ok("pack", photos, moto_place.name, *options, "--resume")
    assert moto_place.objects() == before


def test_resume_of_other_options(moto_place, photos):
    moto_place.proxy.add("PUT", "*/x-000003.tar", status=403, code="AccessDenied")
    assert moto_place.run("pack", photos, moto_place.name, *OPTIONS, "--jobs", "1").code == FAILURE
    result = moto_place.run("pack", photos, moto_place.name, "--name", "x", "--shard-samples", "6", "--resume")
    assert result.code == FAILURE and "other files or options" in result.error_line()
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS)
    assert result.code == FAILURE and "unfinished" in result.error_line() and "--resume" in result.error_line()


def test_a_run_that_fails_at_once_leaves_nothing(moto_place, photos):
    moto_place.proxy.add("PUT", "*/x-000000.tar", status=403, code="AccessDenied")
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS, "--jobs", "1")
    assert result.code == FAILURE and "may read, list and write" in result.error_line()
    assert moto_place.names() == [] and moto_place.dangling() == []


# --- two writers

def test_a_second_writer_is_refused(bale, moto_place, photos, tmp_path):
    came, go = blocked(moto_place, "PUT", "*/x-000002.tar")
    first = start(moto_place.run, "pack", photos, moto_place.name, *OPTIONS)
    assert came.wait(60)
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS, "--shuffle", "1")
    assert result.code == FAILURE and "unfinished" in result.error_line()
    go.set()
    ends_well(first)
    bale.pack(photos, tmp_path / "local", *OPTIONS)
    assert moto_place.objects() == tree_bytes(tmp_path / "local")


def test_of_two_that_begin_at_the_same_time_one_continues(bale, moto_place, photos, tmp_path):
    came, go = blocked(moto_place, "PUT", "*/run.json")
    first = start(moto_place.run, "pack", photos, moto_place.name, *OPTIONS)
    assert came.wait(60)
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--shuffle", "1", env={"AWS_ENDPOINT_URL": moto_place.server.url})
    done = moto_place.objects()
    go.set()
    assert first.wait(60) in (FAILURE, TRY_AGAIN)
    assert "manifest.json" in done and {name: moto_place.get(name) for name in done} == done


def test_a_manifest_that_appears_in_the_meantime_stays(moto_place, photos):
    came, go = blocked(moto_place, "PUT", "*/manifest.json")
    first = start(moto_place.run, "pack", photos, moto_place.name, *OPTIONS)
    assert came.wait(60)
    moto_place.put("manifest.json", b"of another program")
    go.set()
    _, err = first.communicate(timeout=60)
    assert first.returncode == FAILURE and "another program has published a dataset here" in err
    assert moto_place.get("manifest.json") == b"of another program"


def test_a_run_that_was_replaced_stops(bale, moto_place, photos, tmp_path):
    """--overwrite takes the place of a run that is still there: that one publishes nothing."""
    came, go = blocked(moto_place, "PUT", "*/manifest.json")
    first = start(moto_place.run, "pack", photos, moto_place.name, *OPTIONS, "--shuffle", "1")
    assert came.wait(60)
    second_came, second_go = blocked(moto_place, "PUT", "*/x-000003.tar")
    second = start(moto_place.run, "pack", photos, moto_place.name, *OPTIONS, "--overwrite")
    assert second_came.wait(60)
    go.set()
    _, err = first.communicate(timeout=60)
    assert first.returncode == FAILURE and "another run took the place of this one" in err, err
    second_go.set()
    ends_well(second)
    bale.pack(photos, tmp_path / "local", *OPTIONS)
    assert moto_place.objects() == tree_bytes(tmp_path / "local")


# --- what is not there for object stores, and what writes nothing

@pytest.mark.parametrize("command", ["pack", "convert", "plan"])
def test_other_destinations(bale, photos, command, tmp_path):
    more = ["-o", tmp_path / "plan"] if command == "plan" else []
    for name in ("http://127.0.0.1:1/x", "https://127.0.0.1:1/x", "hf://datasets/a/b", "gs://b/x", "s3:/b/x", "s3://"):
        result = bale(command, photos, name, *more)
        assert result.code == USAGE and "s3://" in result.error_line() and not (tmp_path / "plan").exists()


def test_what_object_stores_do_not_have(bale, moto_place, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed")
    name = moto_place.name
    for words, what in [(["pack", photos, name, "--on-error", "quarantine"], "quarantine"),
                        (["merge", tmp_path / "packed", "-o", name], "local files"),
                        (["index", name], "local files"), (["extract", tmp_path / "packed", name], "local files")]:
        result = moto_place.run(*words)
        assert result.code == USAGE and what in result.error_line(), words
    assert not moto_place.proxy.log


def test_a_dry_run(bale, moto_place, photos, tmp_path):
    result = moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--dry-run")
    assert result.out == bale.ok("pack", photos, tmp_path / "none", *OPTIONS, "--dry-run").out
    assert moto_place.proxy.log and {asked.method for asked in moto_place.proxy.log} == {"GET"}  # it only looks


def test_a_dry_run_refuses_what_the_run_refuses(moto_place, photos):
    moto_place.ok("pack", photos, moto_place.name, "--name", "big", "--shard-samples", "7")
    before = moto_place.objects()
    for words in ([], ["--resume"], ["--overwrite"], ["--overwrite", "--split", "train=0.5,val=0.5"]):
        name = [] if "--split" in words else ["--name", "x"]
        dry, run = (moto_place.run("pack", photos, moto_place.name, *name, *words, *more) for more in (["--dry-run"], []))
        assert dry.code == run.code == FAILURE and dry.error_line() == run.error_line(), (words, dry, run)
        assert moto_place.objects() == before
    moto_place.ok("pack", photos, moto_place.name, "--name", "big", "--overwrite", "--dry-run")


@pytest.mark.parametrize("words", [["--overwrite"], ["--overwrite", "--format", "lmdb"]])
def test_a_derived_name_replaces_no_other_dataset(moto_place, photos, words):
    moto_place.ok("pack", photos, moto_place.name, "--name", "big")
    before = moto_place.objects()
    result = moto_place.run("pack", photos, moto_place.name, *words)
    assert result.code == FAILURE and '"big"' in result.error_line() and "--name big" in result.error_line()
    assert moto_place.objects() == before
    moto_place.ok("pack", photos, moto_place.name, *words, "--name", "big")


def test_datasets_that_stay_below_are_reported(moto_place, photos):
    moto_place.ok("pack", photos, moto_place.name, "--split", "train=0.5,val=0.5")
    before = moto_place.objects()
    result = moto_place.ok("pack", photos, moto_place.name, "--name", "x", "--overwrite")
    assert "holds other datasets, which stay: train and 1 more" in result.err
    assert moto_place.objects().items() >= before.items()


def test_options_that_changed_are_named(moto_place, photos):
    came, go = blocked(moto_place, "PUT", "*/x-000002.tar")
    first = start(moto_place.run, "pack", photos, moto_place.name, *OPTIONS)
    assert came.wait(60)
    first.kill()
    first.wait()
    go.set()
    result = moto_place.run("pack", photos, moto_place.name, "--name", "x", "--shard-samples", "8", "--max-samples", "30", "--resume")
    assert result.code == FAILURE
    for text in ("--shard-samples from 7 to 8", "--max-samples from none to 30", "samples from 40 to 30"):
        assert text in result.error_line()


def test_images_of_finished_shards_are_checked(bale, moto_place, photos, tmp_path):
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS)
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--resume", "--check-images")
    bale.pack(photos, tmp_path / "local", *OPTIONS, "--check-images")
    assert moto_place.objects() == tree_bytes(tmp_path / "local")


# --- the local directory

def test_the_staging_directory(moto_place, photos, tmp_path):
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS, "--staging-dir", tmp_path / "none")
    assert result.code == FAILURE and "--staging-dir" in result.error_line() and moto_place.names() == []
    staging = tmp_path / "staging"
    staging.mkdir()
    came, go = blocked(moto_place, "PUT", "*/x-000003.tar")
    first = start(moto_place.run, "pack", photos, moto_place.name, *OPTIONS, "--staging-dir", staging, "--jobs", "1")
    assert came.wait(60)
    assert len(list(staging.glob("*/x-*.tar*"))) == 1  # what was uploaded is gone
    first.kill()
    first.wait()
    go.set()
    assert list(staging.iterdir())
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--staging-dir", staging, "--resume")
    assert not list(staging.iterdir())


def test_interrupted(moto_place, heavy_source):
    came, go = blocked(moto_place, "PUT", "*/x-000000.tar", "partNumber=1*")
    first = start(moto_place.run, "pack", heavy_source, moto_place.name, *HEAVY, "--jobs", "1")
    assert came.wait(60)
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=20)
    go.set()
    assert first.returncode == INTERRUPTED and "--resume" in err
    assert wait_for(lambda: moto_place.dangling() == [])
    moto_place.ok("pack", heavy_source, moto_place.name, *HEAVY, "--resume")
    moto_place.ok("verify", moto_place.name)
