"""The cache of remote files at every call that changes it: killed there, or refused by the disk from there on. By the shim
(tests/support/shim/shim.c), which counts the calls for what lies below the cache's directory."""
import contextlib
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest
from conftest import PROGRAM, by_tier, shim
from fault_support import KILLED, count_calls
from python_support import ENVIRONMENT, command, run_script
from remote_support import disk_use, heavy, heavy_tar, pad_cache, remote, serve, wait_for  # noqa: F401

DAMAGE = 3
MIB = 1 << 20
LIMIT = 64 * MIB
SHARDS = "p-{000000..000004}.tar"


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
                pad_cache(remote.cache, LIMIT - 3 * MIB)
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
    number_of = by_tier(min(short, calls), calls)
    return [1 + number * (calls - 1) // max(number_of - 1, 1) for number in range(number_of)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_every_call(remote_64, server, verified, name, tmp_path):
    scenario = SCENARIOS[name]
    make = scenario.prepare(remote_64, server)
    make()
    words = scenario.command(server)
    calls = count_calls(remote_64, tmp_path, *words, code=scenario.code, env=below(remote_64))
    assert calls > 3  # how many depends on what lies where in the cache
    num_killed = 0
    for n in chosen(calls, 3):
        make()
        if scenario.is_scan:
            server.add("*.bidx", status=404, times=None)
        killed = remote_64(*words, env=shim(KILL_AT=n, BELOW=remote_64.cache))
        assert killed.code in (KILLED, scenario.code), (n, killed)
        num_killed += killed.code == KILLED
        is_as_local(remote_64, server, verified, scenario)
    assert num_killed >= len(chosen(calls, 3)) // 2  # how many calls there are depends on what comes together


# --- refused from a call on

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EDQUOT": errno.EDQUOT, "EROFS": errno.EROFS}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", by_tier(["fill", "keep scans"], ["fill", "fill and evict", "keep scans", "mend"]))
def test_refused_from_every_call_on(remote_64, server, verified, name, error, tmp_path):
    """The run continues without the cache and says so once. The next one uses it."""
    scenario = SCENARIOS[name]
    make = scenario.prepare(remote_64, server)
    make()
    words = scenario.command(server)
    expected = remote_64.ok(*words).out
    make()
    calls = count_calls(remote_64, tmp_path, *words, env=below(remote_64))
    for n in chosen(calls, 5):
        make()
        if scenario.is_scan:
            server.add("*.bidx", status=404, times=None)
        refused = remote_64(*words, env=shim(FAIL_AT=n, FAIL_ON=1, ERRNO=ERRORS[error], BELOW=remote_64.cache))
        assert refused.code == 0 and (scenario.words[0] == "read" or refused.out == expected), (n, refused)
        warnings = [line for line in refused.err.splitlines() if line.startswith("bale: ")]
        assert len(warnings) <= 1 and (n > 1 or warnings), (n, refused)
        assert error in ("ENOSPC", "EDQUOT") or "is full" not in refused.err, (n, refused)
        is_as_local(remote_64, server, verified, scenario)
    server.clear()
    assert remote_64.ok("verify", server.url).out == verified
    assert server.sent() == 0 or scenario.is_tight


# --- next to other processes

WITNESS = """
    import sys, bale
    dataset = bale.Dataset(sys.argv[1])
    dataset[0]
    print("open", flush=True)
    sys.stdin.readline()
"""


@contextlib.contextmanager
def witness(remote, server):
    """A process that uses the cache all the time, so that nobody counts it from nothing."""
    process = subprocess.Popen(command(WITNESS, server.url), env={**ENVIRONMENT, **remote.env}, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == "open\n"
        yield
    finally:
        process.communicate("\n", timeout=60)


def test_what_killed_processes_had_reserved_is_free(remote_64, server, verified):
    """Also while another process uses the cache. Each is killed in the middle of a transfer."""
    pad_cache(remote_64.cache, LIMIT - 6 * MIB)
    with witness(remote_64, server):
        for _ in range(10):
            server.add("*.tar", times=None, stall=20_000)  # the first request for a file, of 16 KiB, is answered
            sent = server.sent("*.tar")
            victim = subprocess.Popen([PROGRAM, "cache", "warm", server.url], env={**os.environ, **remote_64.env},
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_for(lambda: server.sent("*.tar") >= sent + 20_000)
            victim.kill()
            victim.communicate()
            server.heal()
        assert remote_64.ok("verify", server.url).out == verified
        server.clear()
        assert remote_64.ok("verify", server.url).out == verified
        assert server.sent() == 0
    assert disk_use(remote_64.cache) <= LIMIT


PARENT = """
    import os, sys, threading, time
    import bale
    dataset = bale.Dataset(sys.argv[1])
    threading.Thread(target=lambda: [dataset[i] for i in range(40)], daemon=True).start()
    sys.stdin.readline()
    if os.fork() == 0:
        time.sleep(120)
    print("forked", flush=True)
    time.sleep(120)
"""


def test_a_child_does_not_keep_what_its_parent_has_claimed(remote_64, server, verified):
    """The parent is killed in the middle of a transfer, and its child lives on."""
    remote_64.env["BALE_NETWORK_TIMEOUT"] = "8"
    stalls = server.add("*-000002.tar", stall=50_000)
    parent = subprocess.Popen(command(PARENT, server.url), env={**ENVIRONMENT, **remote_64.env}, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        wait_for(lambda: stalls.times == 0 and server.sent("*-000002.tar") >= 50_000)
        parent.stdin.write("\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "forked\n"
        parent.kill()
        parent.wait()
        server.heal()
        assert remote_64.ok("verify", server.url).out == verified
        server.clear()
        assert remote_64.ok("verify", server.url).out == verified
        assert server.sent() == 0
    finally:
        os.killpg(parent.pid, signal.SIGKILL)


TRAINER = """
    import hashlib, sys
    import bale
    with bale.Loader(sys.argv[1], 4, workers=2, seed=int(sys.argv[2]), transform=bale.transforms.train(32)) as loader:
        for epoch in range(3):
            for batch in loader:
                print(hashlib.sha256(batch.images.tobytes() + batch.labels.tobytes()).hexdigest(), flush=True)
"""


def test_two_trainers_and_one_is_killed(remote_64, server, heavy_tar, verified):
    """The other one gets the batches of local files, and the cache stays valid, with all of its room."""
    expected = run_script(TRAINER, heavy_tar, "1", **remote_64.env)
    pad_cache(remote_64.cache, LIMIT - 3 * MIB)
    server.add("*", times=None, latency_ms=5)
    trainers = [subprocess.Popen(command(TRAINER, server.url, str(seed)), env={**ENVIRONMENT, **remote_64.env}, text=True,
                                 stdout=subprocess.PIPE) for seed in (1, 2)]
    for _ in range(3):
        assert trainers[1].stdout.readline()
    trainers[1].kill()
    trainers[1].communicate()
    out, _ = trainers[0].communicate(timeout=120)
    assert trainers[0].returncode == 0 and out == expected
    (remote_64.cache / "bale-cache-1" / "pad").unlink()
    is_as_local(remote_64, server, verified, SCENARIOS["fill"])
    server.clear()
    assert remote_64.ok("verify", server.url).out == verified and server.sent() == 0
