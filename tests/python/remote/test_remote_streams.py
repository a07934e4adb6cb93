"""Tars of other programs on servers: no index, no manifest, perhaps no ranges. They are fetched once while they are scanned, and
scanned once per node."""
import os
import shutil
import subprocess
import sys
import threading

import pytest
from conftest import key_list, shards
from remote_support import RANGES, files_size, foreign_tars, read_counts, remote, serve, without_ranges  # noqa: F401

SHARDS, EACH = 6, 20
PATTERN = "x-{000000..000005}.tar"
LOADER = """
import sys, bale
loader = bale.Loader(sys.argv[1], 16, workers=2, shuffle=sys.argv[2] == "shuffle", transform=bale.transforms.val(16))
print(sum(len(batch) for batch in loader))
"""


@pytest.fixture(scope="module")
def foreign(bale, tmp_path_factory):
    """Tars alone, with samples so large that their headers are far apart."""
    return foreign_tars(bale, tmp_path_factory.mktemp("foreign"), SHARDS, EACH)


@pytest.fixture
def server(foreign, serve):  # noqa: F811
    return serve(foreign)


def load(remote, spec, order):
    environment = {**os.environ, **remote.env}
    run = subprocess.run([sys.executable, "-c", LOADER, spec, order], env=environment, text=True, capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return int(run.stdout)


@RANGES
def test_each_byte_is_fetched_once(bale, remote, server, foreign, ranges):
    """By the scan, in large requests; reading, in any order, asks for nothing more."""
    without_ranges(server, ranges)
    spec = f"{server.url}/{PATTERN}"
    assert key_list(remote, spec) == key_list(bale, f"{foreign}/{PATTERN}")
    assert read_counts(remote, spec) == read_counts(bale, f"{foreign}/{PATTERN}")
    remote.ok("read", "--order", "full", spec)
    assert server.sent("*.tar") <= 1.02 * files_size(foreign), server.asked("*.tar")
    assert len([status for status in server.statuses("*.tar") if status < 300]) <= 2 * SHARDS


@RANGES
@pytest.mark.parametrize("order", ["shuffle", "in-order"])
def test_workers_do_not_scan(remote, server, foreign, ranges, order):
    without_ranges(server, ranges)
    spec = f"{server.url}/{PATTERN}"
    assert load(remote, spec, order) == SHARDS * EACH
    assert server.sent("*.tar") <= 1.02 * files_size(foreign), server.asked("*.tar")
    assert len(server.asked("*.tar")) <= 2 * SHARDS
    assert not server.asked("*.bseek")
    server.clear()
    assert load(remote, spec, order) == SHARDS * EACH
    assert not server.asked("*.tar")


def test_a_scan_is_kept(bale, remote, server, foreign):
    """In the cache, with all that it found: the next run needs no byte of the tars to list them."""
    spec = f"{server.url}/{PATTERN}"
    listed = remote.ok("ls", "--json", spec).out
    for data in remote.cache.rglob("*.data"):
        os.truncate(data, 0)
    server.clear()
    assert remote.ok("ls", "--json", spec).out == listed
    # The first bytes of a tar say which format it is.
    assert server.sent("*.tar") <= SHARDS * 16_384


def test_a_damaged_scan_is_made_again(remote, server):
    spec = f"{server.url}/{PATTERN}"
    listed = remote.ok("ls", "--json", spec).out
    kept = list(remote.cache.rglob("*.kept"))
    assert len(kept) == SHARDS
    for path in kept:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert remote.ok("ls", "--json", spec).out == listed


def test_a_changed_tar_is_scanned_again(bale, remote, foreign, serve, tmp_path):
    www = tmp_path / "www"
    shutil.copytree(foreign, www)
    server = serve(www)
    spec = f"{server.url}/{PATTERN}"
    assert key_list(remote, spec) == key_list(bale, f"{www}/{PATTERN}")
    for path, other in zip(shards(www), shards(foreign)[::-1]):
        shutil.copy(other, path)
    remote.age()
    assert key_list(remote, spec) == key_list(bale, f"{www}/{PATTERN}")


@RANGES
def test_shards_are_opened_together(remote, server, ranges):
    """After the first shard, the server answers nothing before it has been asked for two others."""
    without_ranges(server, ranges)
    others, both, found = "/x-00000[1-9].tar", threading.Event(), []

    def wait():
        if len({request.path for request in server.asked(others)}) >= 2:
            both.set()
        found.append(both.wait(5))  # before the client tries again
    server.add(others, times=None, before=wait)
    remote.ok("ls", f"{server.url}/{PATTERN}")
    assert all(found) and len({request.path for request in server.asked("*.tar")}) == SHARDS


def test_without_a_cache_only_headers_are_scanned(remote, server, foreign):
    remote.env["BALE_CACHE_DIR"] = "none"
    remote.ok("ls", f"{server.url}/{PATTERN}")
    assert server.sent("*.tar") <= 0.2 * files_size(foreign)


def test_a_cache_without_room_for_all(bale, remote, foreign, serve, tmp_path):
    """Then only headers are fetched to scan."""
    www = tmp_path / "www"
    www.mkdir()
    for number in range(6):
        for shard in shards(foreign):
            os.link(shard, www / f"{number}-{shard.name}")
    server = serve(www)
    remote.env["BALE_CACHE_LIMIT"] = "64MiB"
    spec = "::".join(f"{server.url}/{path.name}" for path in shards(www))
    assert len(key_list(remote, spec)) == 6 * SHARDS * EACH
    assert server.sent("*.tar") <= 0.2 * files_size(www)


def test_a_server_that_fails_now_and_then(bale, remote, server, foreign):
    server.add("*.tar", times=None, skip=1, cut=700_000)
    server.add("*.tar", times=5, skip=8, status=503)
    spec = f"{server.url}/{PATTERN}"
    assert key_list(remote, spec) == key_list(bale, f"{foreign}/{PATTERN}")
    assert read_counts(remote, spec) == read_counts(bale, f"{foreign}/{PATTERN}")
