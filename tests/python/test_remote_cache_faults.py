"""The cache of remote files at every call that changes it: killed there, or refused by the disk from there on. By the shim
(tests/support/shim.c), which counts the calls for what lies below the cache's directory."""
import errno
import json
import os
import pathlib
import shutil

import pytest
from conftest import by_tier, shim
from fault_support import KILLED, count_calls
from remote_support import disk_use, files_size, heavy, heavy_tar, remote, serve  # noqa: F401

DAMAGE = 3
MIB = 1 << 20
LIMIT = 64 * MIB
SHARDS = "p-{000000..000004}.tar"


def pad(cache, size):
    """Takes `size` bytes of the limit. Nothing of it is evicted."""
    cache.joinpath("bale-cache-1").mkdir(parents=True, exist_ok=True)
    with open(cache / "bale-cache-1" / "pad", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def damage(cache):
    for path in cache.rglob("*.data"):
        content = bytearray(path.read_bytes())
        content[2000::40_000] = bytes(byte ^ 1 for byte in content[2000::40_000])
        path.write_bytes(content)


class Scenario:
    """What runs on which cache. `words` come before the URL; commands of the cache take none."""

    def __init__(self, *words, is_filled=False, is_damaged=False, is_tight=False, is_scan=False, code=0):
        self.words, self.code, self.is_scan = words, code, is_scan
        self.is_filled, self.is_damaged, self.is_tight = is_filled, is_damaged, is_tight

    def command(self, server):
        if self.words[0] == "cache" and self.words[1] != "warm":
            return self.words
        return [*self.words, f"{server.url}/{SHARDS}" if self.is_scan else server.url]

    def prepare(self, remote, server):
        """Returns a function that makes the cache on which the command runs."""
        server.heal()
        if self.is_filled:
            remote.ok("verify", server.url)
        if self.is_damaged:
            damage(remote.cache)
        if self.is_scan:
            server.add("*.bidx", status=404, times=None)
        prepared = remote.cache.with_name("prepared")
        if remote.cache.exists():
            remote.cache.rename(prepared)

        def make():
            shutil.rmtree(remote.cache, ignore_errors=True)
            if prepared.exists():
                shutil.copytree(prepared, remote.cache)
            if self.is_tight:
                pad(remote.cache, LIMIT - 3 * MIB)
        return make


SCENARIOS = {
    "fill": Scenario("verify"),
    "fill and evict": Scenario("read", "-q", "--order", "full", "--epochs", "2", "--jobs", "1", is_tight=True),
    "keep scans": Scenario("ls", is_scan=True),
    "mend": Scenario("verify", is_filled=True, is_damaged=True),
    "warm": Scenario("cache", "warm"),
    "trim": Scenario("cache", "trim", "1MiB", is_filled=True),
    "clear": Scenario("cache", "clear", is_filled=True),
    "check": Scenario("cache", "verify", is_filled=True, is_damaged=True, code=DAMAGE),
}


@pytest.fixture(scope="module")
def verified(bale, heavy_tar):
    return bale.ok("verify", heavy_tar).out


@pytest.fixture
def server(serve, heavy_tar):
    return serve(heavy_tar)


@pytest.fixture
def remote_64(remote):
    remote.env["BALE_CACHE_LIMIT"] = str(LIMIT)
    remote.env["BALE_NETWORK_TIMEOUT"] = "20"
    return remote


def below(remote):
    return {"BALE_SHIM_BELOW": str(remote.cache)}


def is_as_local(remote, server, verified, scenario):
    """Right bytes, a cache that is valid, within its limit, and with nothing left behind."""
    if not scenario.is_damaged:
        remote.ok("cache", "verify")
    server.heal()
    assert remote.ok("verify", server.url).out == verified
    assert remote.ok("cache", "verify").out.startswith("ok: ")
    used = json.loads(remote.ok("cache", "ls", "--json").out)["used_bytes"]
    assert disk_use(remote.cache) <= min(used, LIMIT)
    assert used - disk_use(remote.cache) <= 64 << 10
    assert not list(pathlib.Path(remote.cache).rglob(".bale-tmp-*"))


def chosen(calls, short):
    """Some of the calls in the short tier, and all in the long one."""
    return sorted({1 + number * (calls - 1) // (short - 1) for number in range(by_tier(short, calls))})


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_every_call(remote_64, server, verified, name, tmp_path):
    scenario = SCENARIOS[name]
    make = scenario.prepare(remote_64, server)
    make()
    words = scenario.command(server)
    calls = count_calls(remote_64, tmp_path, *words, code=scenario.code, env=below(remote_64))
    assert calls > 10
    num_killed = 0
    for n in chosen(calls, 6):
        make()
        if scenario.is_scan:
            server.add("*.bidx", status=404, times=None)
        killed = remote_64(*words, env=shim(KILL_AT=n, BELOW=remote_64.cache))
        assert killed.code in (KILLED, scenario.code), (n, killed)
        num_killed += killed.code == KILLED
        is_as_local(remote_64, server, verified, scenario)
    assert num_killed >= len(chosen(calls, 6)) // 2  # how many calls there are depends on what comes together
