"""The cache of remote files on the local disk: what is there is not fetched again, several processes share it, it stays within
its limit, and a process that ends changes nothing for the others."""
import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
import urllib.parse

import pytest
from conftest import FORMATS, by_tier, fields_by_key
from remote_support import disk_use, ends_well, files_size, heavy, heavy_images, remote, serve, start, wait_for, watched  # noqa: F401

USAGE = 2
MIB = 1 << 20
HEAD = 16 << 10  # what is asked for first of a file, to learn its size and version


def heads(directory):
    """Bytes that it takes to ask once for each file of a dataset."""
    return sum(min(path.stat().st_size, HEAD) for path in directory.iterdir())


@pytest.fixture
def server(heavy, serve):
    server = serve(heavy("tar"))
    yield server
    assert not server.asked(method="HEAD")


@pytest.fixture(scope="module")
def verified(bale, heavy):
    return bale.ok("verify", heavy("tar")).out


@pytest.fixture(scope="module")
def bulk(bale, tmp_path_factory):
    """136 MiB in 17 shards: about twice the least limit."""
    root = tmp_path_factory.mktemp("bulk")
    source = heavy_images(root / "source", 136, MIB)
    bale.pack(source, root / "packed", "--name", "p", "--shard-samples", "8")
    shutil.rmtree(source)
    return root / "packed"


# --- a warm cache

@pytest.mark.parametrize("name", FORMATS)
def test_nothing_is_fetched_twice(bale, remote, heavy, serve, name):
    """The second run only asks whether the files are still the same, and whether there are more next to them; if it comes
    within a minute, it does not even ask."""
    local = heavy(name)
    server = serve(local)
    first = remote.ok("verify", server.url)
    assert server.sent() <= 1.02 * files_size(local)
    server.clear()
    assert remote.ok("verify", server.url).out == first.out == bale.ok("verify", local).out
    assert server.sent() == 0 and set(server.statuses()) <= {304, 404}
    remote.age()
    server.clear()
    assert remote.ok("verify", server.url).out == first.out
    assert 304 in server.statuses()
    assert fields_by_key(remote, server.url) == fields_by_key(bale, local)
    remote.ok("read", server.url, "--order", "full", "--epochs", "2")
    assert set(server.statuses()) <= {304, 404} and server.sent() == 0


def test_a_warm_run_asks_once_per_file(remote, server, heavy):
    remote.ok("verify", server.url)
    remote.age()
    server.clear()
    remote.ok("verify", server.url)
    paths = [request.path for request in server.log]
    assert len(paths) == len(set(paths))
    assert all(request.headers.get("if-none-match") for request in server.log if request.status != 404)
    assert len([status for status in server.statuses() if status == 304]) == 11  # manifest, shards and indexes


@pytest.mark.parametrize("fault", [{"no_etag": True}, {"weak_etag": True}], ids=str)
def test_other_validators(remote, server, verified, fault):
    """Files are asked for again, but not fetched."""
    server.add("*", times=None, **fault)
    for _ in range(2):
        assert remote.ok("verify", server.url).out == verified
        remote.age()
    assert server.sent() <= files_size(server.folder) + heads(server.folder)


def test_without_any_validator_it_is_fetched_again(remote, server, verified):
    server.add("*", times=None, no_etag=True, no_modified=True)
    remote.ok("verify", server.url)
    remote.age()
    server.clear()
    assert remote.ok("verify", server.url).out == verified and server.sent() >= 0.9 * files_size(server.folder)


def test_a_new_version_is_read(bale, remote, heavy, serve, tmp_path):
    """Same names, same sizes: other samples in the same places."""
    www = tmp_path / "www"
    shutil.copytree(heavy("tar"), www)
    server = serve(www)
    remote.ok("verify", server.url)
    source = heavy_images(tmp_path / "source", 40, 100_000)
    images = sorted(source.rglob("*.jpg"))
    contents = [path.read_bytes() for path in images]
    for path, content in zip(images, contents[::-1]):
        path.write_bytes(content)
    shutil.rmtree(www)
    bale.pack(source, www, "--name", "p", "--shard-samples", "8")
    remote.age()
    assert remote.ok("verify", server.url).out == bale.ok("verify", www).out
    assert fields_by_key(remote, server.url) == fields_by_key(bale, www)


def test_files_of_one_name_are_distinguished(bale, remote, heavy, photos, serve, tmp_path):
    """In two folders, and on two servers."""
    other = tmp_path / "b" / "packed"
    bale.pack(photos, other, "--name", "p", "--shard-samples", "8")
    shutil.copytree(heavy("tar"), tmp_path / "a" / "packed")
    server, second = serve(tmp_path), serve(tmp_path / "b")
    for _ in range(2):
        for spec, local in ((f"{server.url}/a/packed", heavy("tar")), (f"{server.url}/b/packed", other),
                            (f"{second.url}/packed", other)):
            assert remote.ok("ls", spec).out == bale.ok("ls", local).out
            assert remote.ok("verify", spec).out == bale.ok("verify", local).out


def test_another_signature_is_the_same_file(remote, server):
    """What differs between presigned URLs is not a part of the identity."""
    for signature in ("abc", "def"):
        sent = server.sent()
        remote.ok("ls", f"{server.url}/p-000000.tar?X-Amz-Date=1{signature}&X-Amz-Signature={signature}")
    assert sent > 0 and server.sent() == sent


@pytest.mark.parametrize("sign", ["sig=x", "Signature=x", "Expires=1&Signature=x&Key-Pair-Id=k", "X-Amz-Date=1&X-Amz-Signature=x",
                                  "sv=2024&se=1&sig=x", "X-Goog-Date=1&X-Goog-Signature=x"])
def test_other_parameters_name_the_file(remote, bale, server, sign):
    """Next to a signature, before and after it: two shards of one path are two files, with a cache and without."""
    server.router = lambda asked: dict(urllib.parse.parse_qsl(asked.query))["file"] if asked.path == "/get" else asked.path
    for cache in ({}, {"BALE_CACHE_DIR": "none"}):
        for query in (f"file=/{{}}&{sign}", f"{sign}&file=/{{}}"):
            for name in ("p-000000.tar", "p-000001.tar"):
                found = remote.ok("ls", f"{server.url}/get?{query.format(name)}", env=cache).out
                assert found == bale.ok("ls", server.folder / name).out


def test_no_cache(remote, server, verified, tmp_path):
    """BALE_CACHE_DIR=none: each run fetches, and nothing is written."""
    env = {"BALE_CACHE_DIR": "none", "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": ""}
    for _ in range(2):
        sent = server.sent()
        assert remote.ok("verify", server.url, env=env, cwd=tmp_path).out == verified
    assert sent > 0.9 * files_size(server.folder) and server.sent() > 1.9 * sent
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variables, place", [({"XDG_CACHE_HOME": "{}/xdg"}, "xdg/bale"), ({"HOME": "{}/home"}, "home/.cache/bale")])
def test_the_default_directory(remote, server, verified, variables, place, tmp_path):
    env = {"BALE_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "",
           **{name: value.format(tmp_path) for name, value in variables.items()}}
    assert remote.ok("verify", server.url, env=env).out == verified
    assert files_size(tmp_path / place) >= files_size(server.folder)


# --- several processes

def test_two_processes_fetch_each_byte_once(remote, server, verified):
    server.add("*", times=None, latency_ms=20)
    assert [ends_well(run) for run in [start(remote, "verify", server.url) for _ in range(2)]] == [verified] * 2
    assert server.sent() <= files_size(server.folder) + heads(server.folder)  # both ask


def test_many_processes_in_different_orders(remote, server, heavy):
    server.add("*", times=None, latency_ms=5)
    orders = [["full", "--shuffle", "0"], ["none"], ["full", "--shuffle", "2"], ["block", "--shuffle", "3"]] * by_tier(1, 4)
    runs = [start(remote, "read", "-q", server.url, "--jobs", "2", "--order", *order) for order in orders]
    for run in runs:
        ends_well(run)
    assert server.sent() <= files_size(server.folder) + len(runs) * heads(server.folder)


def test_a_killed_process_is_not_waited_for(remote, server, verified):
    """It dies in the middle of a transfer; another one, which waits for the same bytes, fetches them."""
    stalls = server.add("*-000002.tar", times=1, stall=150_000)
    victim = start(remote, "verify", server.url)
    wait_for(lambda: stalls.times == 0 and server.sent("*-000002.tar") >= 150_000)
    other = start(remote, "verify", server.url)
    time.sleep(0.3)  # it has probably found what the first has begun
    victim.kill()
    victim.communicate()
    assert ends_well(other) == verified
    server.clear()
    assert remote.ok("verify", server.url).out == verified and server.sent() == 0


def test_after_a_kill_the_rest_is_fetched(remote, server, verified):
    stalls = server.add("*-000002.tar", stall=150_000)
    victim = start(remote, "verify", server.url, "--jobs", "1")
    wait_for(lambda: stalls.times == 0 and server.sent("*-000002.tar") >= 150_000)
    os.kill(victim.pid, signal.SIGKILL)
    victim.communicate()
    assert remote.ok("verify", server.url).out == verified
    assert server.sent() <= 2.02 * files_size(server.folder)


def test_kills_at_random_moments(remote, server, verified):
    """Of one run after the other with one cache."""
    rng = random.Random(7)
    server.add("*", times=None, bytes_per_s=4_000_000)
    for _ in range(by_tier(10, 200)):
        victim = start(remote, "verify", server.url)
        with contextlib.suppress(subprocess.TimeoutExpired):
            victim.wait(rng.uniform(0, 0.5))
        victim.kill()
        victim.communicate()
    server.heal()
    assert remote.ok("verify", server.url).out == verified


def test_a_stopped_process_stops_no_other(remote, server, verified):
    """SIGSTOP in the middle of a transfer: who waits for its bytes fetches them in the end."""
    remote.env["BALE_NETWORK_TIMEOUT"] = "1"
    stalls = server.add("*-000002.tar", stall=150_000)
    victim = start(remote, "verify", server.url)
    wait_for(lambda: stalls.times == 0 and server.sent("*-000002.tar") >= 150_000)
    victim.send_signal(signal.SIGSTOP)
    try:
        assert remote.ok("verify", server.url, timeout=300).out == verified
    finally:
        victim.kill()
        victim.communicate()


# --- the limit

@pytest.mark.parametrize("order", ["full", "none"])
def test_the_limit_holds(remote, bulk, serve, order):
    """With half of the dataset in it, for two epochs. Metadata (slots, maps, directories) counts, too."""
    server = serve(bulk)
    remote.env["BALE_CACHE_LIMIT"] = "64MiB"
    runs = []
    with watched(remote.cache, runs) as seen:
        runs.append(start(remote, "read", "-q", server.url, "--order", order, "--epochs", "2", "--jobs", "2"))
        ends_well(runs[0])
    assert 32 * MIB <= max(seen) <= 64 * MIB, max(seen)


def test_a_smaller_limit_takes_effect(bale, remote, bulk, serve):
    server = serve(bulk)
    expected = bale.ok("verify", bulk).out
    assert remote.ok("verify", server.url).out == expected
    assert disk_use(remote.cache) >= files_size(bulk)
    env = {"BALE_CACHE_LIMIT": "64MiB"}
    (bulk / "more.tar").write_bytes((bulk / "p-000000.tar").read_bytes())
    try:
        remote.ok("ls", f"{server.url}/more.tar", env=env)  # is new, so room is needed
        assert remote.ok("verify", server.url, env=env).out == expected
    finally:
        (bulk / "more.tar").unlink()
    assert disk_use(remote.cache) <= 64 * MIB


def test_several_processes_keep_one_limit(remote, bulk, serve):
    server = serve(bulk)
    remote.env["BALE_CACHE_LIMIT"] = "64MiB"
    runs = []
    with watched(remote.cache, runs) as seen:
        for seed in range(by_tier(2, 8)):
            runs.append(start(remote, "read", "-q", server.url, "--order", "full", "--shuffle", str(seed), "--jobs", "2"))
        for run in runs:
            ends_well(run)
    assert max(seen) <= 64 * MIB


@pytest.mark.parametrize("limit", ["1MiB", "0", "lots", "-5GiB", "12XB", "nan"])
def test_limits_that_are_none(remote, server, limit):
    result = remote("verify", server.url, env={"BALE_CACHE_LIMIT": limit})
    assert result.code == USAGE and "BALE_CACHE_LIMIT" in result.error_line()
