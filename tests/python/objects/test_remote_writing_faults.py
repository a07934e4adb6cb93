"""Packing to S3 through a network and a server that fail, and by runs that are killed: what is resumed has the bytes of a run
that nothing happened to."""
import random

import pytest
from conftest import by_tier, tree_bytes
from remote_support import moto, remote, start  # noqa: F401
from test_remote_writing import HEAVY, OPTIONS, heavy_source  # noqa: F401
from writing_support import moto_place, place, rclone_place, rclone_store  # noqa: F401

FAILURE, TRY_AGAIN = 1, 5


@pytest.fixture(scope="module")
def local(bale, photos, heavy_source, tmp_path_factory):  # noqa: F811
    """local(OPTIONS) -> {name: content} of a local pack."""
    root = tmp_path_factory.mktemp("local")
    bale.pack(photos, root / "small", *OPTIONS)
    bale.pack(heavy_source, root / "heavy", *HEAVY)
    return {"small": tree_bytes(root / "small"), "heavy": tree_bytes(root / "heavy")}


PASSING = {
    "503": {"status": 503, "code": "SlowDown"},
    "500": {"status": 500, "code": "InternalError"},
    "429 with Retry-After": {"status": 429, "headers": {"Retry-After": "1"}},
    "cut": {"cut": True},
    "a lost answer": {"lose": True},
    "mangled bytes": {"status": 400, "code": "BadDigest"},
}


WHAT = {"part": ("PUT", "*/x-000000.tar"), "begin": ("POST", "*/x-000000.tar", "uploads"),
        "complete": ("POST", "*/x-000000.tar", "uploadId=*"), "small": ("PUT", "*/x-000001.tar"), "index": ("PUT", "*.bidx"),
        "manifest": ("PUT", "*/manifest.json"), "run": ("PUT", "*/run.json"), "listing": ("GET", "/bucket/"),
        "removal": ("DELETE", "*/run.json")}


@pytest.mark.parametrize("rotation", range(by_tier(2, len(PASSING))))
def test_faults_that_pass(moto_place, heavy_source, local, rotation):  # noqa: F811
    """One of them at each kind of request."""
    kinds = list(PASSING.values())
    spoils = [moto_place.proxy.add(*what, **kinds[(number + 2 * rotation + (rotation >= 3)) % len(kinds)])
              for number, what in enumerate(WHAT.values())]
    moto_place.ok("pack", heavy_source, moto_place.name, *HEAVY)
    assert not any(spoil.times for spoil in spoils)
    assert moto_place.objects() == local["heavy"] and moto_place.dangling() == []


def test_bytes_that_change_on_their_way(rclone_place, heavy_source, local):  # noqa: F811
    """rclone compares Content-MD5."""
    spoils = [rclone_place.proxy.add("PUT", path, flip=True, times=2) for path in ("*.tar", "*.bidx", "*/manifest.json", "*/run.json")]
    rclone_place.ok("pack", heavy_source, rclone_place.name, *HEAVY)
    assert not any(spoil.times for spoil in spoils) and rclone_place.objects() == local["heavy"]


def test_bytes_that_always_change(rclone_place, photos, local):
    rclone_place.proxy.add("PUT", "*/x-000002.tar", flip=True, times=None)
    result = rclone_place.run("pack", photos, rclone_place.name, *OPTIONS)
    assert result.code == FAILURE and "x-000002.tar" in result.error_line() and "checksum mismatch" in result.error_line()
    rclone_place.proxy.heal()
    rclone_place.ok("pack", photos, rclone_place.name, *OPTIONS, "--resume")
    assert rclone_place.objects() == local["small"]


@pytest.mark.parametrize("fault, what", [({"status": 503, "code": "SlowDown"}, ("PUT", "*/x-000001.tar")),
                                         ({"cut": True}, ("PUT", "*/manifest.json")), ({"cut": True}, ("GET", "/bucket*"))],
                         ids=["shard", "manifest", "listing"])
def test_faults_that_stay(moto_place, photos, local, fault, what):
    moto_place.proxy.add(*what, times=None, **fault)
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS, env={"BALE_NETWORK_TIMEOUT": "1"})
    assert result.code == TRY_AGAIN and "s3://bucket/" in result.error_line() and "manifest.json" not in moto_place.names()
    moto_place.proxy.heal()
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--resume")
    assert moto_place.objects() == local["small"] and moto_place.dangling() == []


def test_expired_credentials(moto_place, photos, local):
    moto_place.proxy.add("PUT", "*/x-000003.tar", status=400, code="ExpiredToken", times=None)
    result = moto_place.run("pack", photos, moto_place.name, *OPTIONS, "--jobs", "1")
    assert result.code == FAILURE and "credentials have expired" in result.error_line()
    moto_place.proxy.heal()
    asked = len(moto_place.proxy.asked("PUT", "*/x-000000.tar"))
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--resume")
    assert len(moto_place.proxy.asked("PUT", "*/x-000000.tar")) == asked  # it was finished
    assert moto_place.objects() == local["small"]


def test_wrong_credentials(rclone_place, photos):
    rclone_place.run.env["AWS_SECRET_ACCESS_KEY"] = "wrong"
    result = rclone_place.run("pack", photos, rclone_place.name, *OPTIONS)
    assert result.code == FAILURE and "credentials" in result.error_line() and rclone_place.names() == []


def test_no_such_bucket(moto_place, photos):
    result = moto_place.run("pack", photos, "s3://no-such-bucket/x", *OPTIONS)
    assert result.code == FAILURE and "no bucket" in result.error_line()


def test_an_upload_that_fails_is_aborted(moto_place, heavy_source):
    moto_place.proxy.add("PUT", "*/x-000000.tar", "partNumber=2*", status=403, code="AccessDenied")
    assert moto_place.run("pack", heavy_source, moto_place.name, *HEAVY).code == FAILURE
    begun, completed, aborted = moto_place.proxy.uploads()
    assert begun and set(begun) == completed | aborted and moto_place.dangling() == []


def test_an_upload_that_another_aborts_is_made_again(moto_place, heavy_source, local):  # noqa: F811
    moto_place.proxy.add("PUT", "*/x-000000.tar", "partNumber=2*", status=404, code="NoSuchUpload")
    moto_place.ok("pack", heavy_source, moto_place.name, *HEAVY)
    assert len(moto_place.proxy.asked("POST", "*/x-000000.tar", "uploads")) == 2
    assert moto_place.objects() == local["heavy"] and moto_place.dangling() == []


def test_a_completion_that_fails_with_status_200(moto_place, heavy_source, local):
    """S3 begins its answer before it has joined the parts."""
    moto_place.proxy.add("POST", "*/x-000000.tar", "uploadId=*", status=200, code="InternalError")
    moto_place.ok("pack", heavy_source, moto_place.name, *HEAVY)
    assert moto_place.objects() == local["heavy"] and moto_place.dangling() == []


def test_an_object_that_changed_between_two_runs(moto_place, photos, local):
    """Of the same size: its ETag differs."""
    moto_place.proxy.add("PUT", "*/x-000003.tar", status=403, code="AccessDenied")
    assert moto_place.run("pack", photos, moto_place.name, *OPTIONS, "--jobs", "1").code == FAILURE
    content = moto_place.get("x-000001.tar")
    moto_place.put("x-000001.tar", content[:-1] + bytes([content[-1] ^ 1]))
    moto_place.ok("pack", photos, moto_place.name, *OPTIONS, "--resume")
    assert moto_place.objects() == local["small"]


@pytest.mark.parametrize("seed", range(by_tier(2, 25)))
def test_killed_and_resumed(bale, place, heavy_source, local, seed, tmp_path):  # noqa: F811
    """At random requests, several times, also while it resumes, or while it replaces an older dataset."""
    rng = random.Random(seed)
    staging = tmp_path / "staging"
    staging.mkdir()
    replaces = seed % 2 == 1
    if replaces:
        place.ok("pack", heavy_source, place.name, "--name", "x", "--shard-samples", "2")
    first = len(place.proxy.log)
    mode = "--overwrite" if replaces else "--resume"
    for _ in range(rng.randrange(1, 4)):
        place.proxy.heal()
        running = []
        place.proxy.add(skip=rng.randrange(2, 24), before=lambda _, running=running: running[0].kill(), cut=True)
        running.append(start(place.run, "pack", heavy_source, place.name, *HEAVY, mode, "--staging-dir", staging))
        running[0].communicate(timeout=120)
        if any(one.path.endswith("run.json") and one.method == "PUT" and one.status == 200 for one in place.proxy.log[first:]):
            mode = "--resume"
    place.proxy.heal()
    place.ok("pack", heavy_source, place.name, *HEAVY, mode, "--staging-dir", staging)
    assert place.objects() == local["heavy"] and place.dangling() == [] and list(staging.iterdir()) == []
    place.ok("verify", place.name)


def test_killed_after_its_manifest(moto_place, heavy_source, local, tmp_path):  # noqa: F811
    """The next run finds a finished dataset."""
    running = []
    moto_place.proxy.add("DELETE", "*/run.json", before=lambda _: running[0].kill(), cut=True)
    running.append(start(moto_place.run, "pack", heavy_source, moto_place.name, *HEAVY, "--staging-dir", tmp_path))
    running[0].communicate(timeout=120)
    moto_place.proxy.heal()
    assert list(tmp_path.glob("bale-staging-*"))
    moto_place.ok("pack", heavy_source, moto_place.name, *HEAVY, "--resume", "--staging-dir", tmp_path)
    assert moto_place.objects() == local["heavy"] and not list(tmp_path.glob("bale-staging-*"))
