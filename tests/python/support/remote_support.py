"""Fixtures for tests of remote datasets: bale with a cache of its own, data to serve, and the servers of servers/.

nginx is Debian's nginx-light; rclone and moto are those of requirements-remote.txt. A server that is not installed fails the
tests that need it. Import the fixtures: `from remote_support import fixture  # noqa: F401`.
"""
import contextlib
import functools
import io
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import threading
import time

import pytest
from conftest import PROGRAM, format_options, shards
from servers.fault import Fault, Request  # noqa: F401 - for tests, as are the others
from servers.fault_server import FaultServer
from servers.hub import Hub  # noqa: F401
from servers.latency_proxy import LatencyProxy  # noqa: F401
from servers.network import ask, free_port, wait_for  # noqa: F401
from servers.nginx import Nginx, make_certificates, running_nginx  # noqa: F401
from servers.process import running
from servers.s3 import KEY_ID, S3, SECRET, Moto, Rclone  # noqa: F401

TRY_AGAIN = 5


def time_limit(code):
    """The variables of a run that ends with this exit code, or this code of a bale.Error: a time limit that runs out soon, or one
    that a slow machine does not reach."""
    return {"BALE_NETWORK_TIMEOUT": "1" if code in (TRY_AGAIN, "retryable") else "60"}


RANGES = pytest.mark.parametrize("ranges", [True, False], ids=["ranges", "no-ranges"])


def foreign_tars(bale, root, num_shards, each):
    """A directory of tars alone, x-000000.tar ..., of `each` samples of 150 KB, so large that their headers are far apart."""
    bale.pack(heavy_images(root / "source", num_shards * each, 150_000), root / "packed", "--name", "x", "--shard-samples", str(each))
    (root / "www").mkdir()
    for shard in shards(root / "packed"):
        shutil.copy(shard, root / "www")
    return root / "www"


def without_ranges(server, ranges):
    if not ranges:
        server.add("*", times=None, whole=True)


def read_counts(run, spec):
    """Samples and bytes that `bale read` reads."""
    found = json.loads(run.ok("read", "--json", spec).out)
    return found["samples"], found["bytes"]


def clean_environment(cache, **more):
    """Variables of a run that reads remote data: a cache, and nothing of the machine's proxies and credentials."""
    cleared = dict.fromkeys([
        "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "S3_ENDPOINT_URL", "HF_TOKEN_PATH", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "HF_TOKEN",
        "HF_ENDPOINT", "HF_HUB_OFFLINE", "BALE_OFFLINE", "BALE_NETWORK_TIMEOUT"], "")
    return {**cleared, "no_proxy": "*", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "BALE_CACHE_DIR": str(cache), "BALE_CACHE_LIMIT": "500MiB",
            **{name: str(value) for name, value in more.items()}}


def age_cache(cache):
    then = time.time() - 3600
    for path in pathlib.Path(cache).rglob("*.url"):
        os.utime(path, (then, then))


def pad_cache(cache, size):
    """Takes `size` bytes of the limit. Nothing of it is evicted."""
    directory = pathlib.Path(cache, "bale-cache-1")
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "pad", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


class RemoteBale:
    """Runs bale with a cache directory of its own; `env` may be changed between runs."""

    def __init__(self, bale, cache, **more):
        self.bale, self.cache, self.env = bale, pathlib.Path(cache), clean_environment(cache, **more)

    def __call__(self, *args, env=None, **kwargs):
        return self.bale(*args, env={**self.env, **(env or {})}, **kwargs)

    def age(self):
        """What the cache knows of versions is too old to be believed unasked. (It is believed for a minute.)"""
        age_cache(self.cache)

    def ok(self, *args, env=None, **kwargs):
        return self.bale.ok(*args, env={**self.env, **(env or {})}, **kwargs)


@pytest.fixture
def remote(bale, tmp_path):
    return RemoteBale(bale, tmp_path / "cache")


def start(remote, *words, env=None, prefix=()):
    return subprocess.Popen([*prefix, PROGRAM, *words], env={**os.environ, **remote.env, **(env or {})}, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ends_well(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (process.returncode, err)
    return out


def warnings_of(result):
    return [line for line in result.err.splitlines() if line.startswith("bale: ")]


# --- data

def replace_file(path, content, modified=None):
    """In one step, as a server's files are replaced: a request has the old content or the new. `modified`: its time, in seconds."""
    new = path.with_name("new")
    new.write_bytes(content)
    if modified is not None:
        os.utime(new, (modified, modified))
    new.rename(path)


def heavy_images(root, samples, each, classes=4):
    """A folder of JPEGs of `each` bytes that are decoded at once: comments of noise fill them up."""
    from PIL import Image  # not every test that imports this file has it
    for number in range(samples):
        rng = random.Random(number)
        small = io.BytesIO()
        Image.frombytes("RGB", (6, 6), rng.randbytes(108)).resize((64, 48), Image.BICUBIC).save(small, "JPEG")
        parts, left = [small.getvalue()[:2]], each - len(small.getvalue())
        while left > 0:
            size = left if left <= 65_537 else 65_537 if left > 65_541 else 60_000
            parts.append(struct.pack(">HH", 0xFFFE, size - 2) + rng.randbytes(size - 4))
            left -= size
        folder = pathlib.Path(root, f"class{number % classes}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:05}.jpg").write_bytes(b"".join(parts) + small.getvalue()[2:])
    return pathlib.Path(root)


def packed_once(bale, source, root):
    """pack(FORMAT or FORMAT.LAYOUT) -> `source` in it, as shards of eight samples, in pack.root. Each is made once."""
    @functools.cache
    def pack(name):
        bale.pack(source, root / name, "--name", "p", "--shard-samples", "8", *format_options(name))
        return root / name
    pack.root = root
    return pack


@pytest.fixture(scope="module")
def packed(bale, photos, tmp_path_factory):
    """packed(FORMAT or FORMAT.LAYOUT) -> the photos in five shards, in packed.root."""
    return packed_once(bale, photos, tmp_path_factory.mktemp("packed"))


@pytest.fixture(scope="module")
def heavy(bale, tmp_path_factory):
    """heavy(FORMAT) -> 40 images of 100 KB in five shards, in heavy.root."""
    root = tmp_path_factory.mktemp("heavy")
    return packed_once(bale, heavy_images(root / "source", 40, 100_000), root)


@pytest.fixture(scope="module")
def heavy_tar(heavy):
    return heavy("tar")


def files_size(directory):
    return sum(path.stat().st_size for path in pathlib.Path(directory).rglob("*") if path.is_file())


def disk_use(directory):
    """Bytes that the files below it have on the disk; they may come and go. What is removed from a file that was looked at and
    stored in one that was not yet counts twice, so the files are looked at in both directions, and the smaller number counts."""
    paths = list(pathlib.Path(directory).rglob("*"))
    return min(blocks_of(paths), blocks_of(reversed(paths)))


def blocks_of(paths):
    total = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            total += 512 * path.lstat().st_blocks
    return total


def stop(process):
    """Returns when none of its threads runs, and so nothing of its files changes."""
    process.send_signal(signal.SIGSTOP)  # nothing happens if it has ended
    for state in pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            wait_for(lambda state=state: state.read_text().rsplit(")", 1)[1].split()[0] in "TtZX")


@contextlib.contextmanager
def watched(directory, processes=()):
    """The most that the directory takes on the disk in the meantime. `processes`, a list that may grow, are stopped while it is looked
    at: with all that use it in the list, the number is exact."""
    seen, ended = [0], threading.Event()

    def watch():
        while not ended.wait(0.02 if processes else 0.01):
            for process in list(processes):
                stop(process)
            seen.append(disk_use(directory))
            for process in list(processes):
                process.send_signal(signal.SIGCONT)
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
        seen.append(disk_use(directory))


# --- requests

def sent_without_hedges(server, pattern="*"):
    """The successful requests of a FaultServer that did not repeat one for the same bytes: when an answer is late, as on a loaded
    machine, it is asked for a second time (hedge.hpp)."""
    return list({(r.path, r.range): r for r in server.asked(pattern) if r.status < 300}.values())


# --- servers

@pytest.fixture
def serve():
    """serve(FOLDER) -> a FaultServer that ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda folder, **options: stack.enter_context(FaultServer(folder, **options))


@pytest.fixture(scope="module")
def nginx_of(tmp_path_factory):
    """nginx_of(FOLDER) -> a server of it that ends with the module."""
    with contextlib.ExitStack() as stack:
        yield lambda folder: stack.enter_context(running_nginx(tmp_path_factory.mktemp("nginx"), folder))


@pytest.fixture(scope="module")
def rclone(tmp_path_factory):
    home = tmp_path_factory.mktemp("rclone")
    server = Rclone(free_port(), home / "buckets")
    with running(home / "log", server.port, command=server.command):
        yield server


@pytest.fixture(scope="module")
def moto(tmp_path_factory):
    server = Moto(free_port())
    with running(tmp_path_factory.mktemp("moto") / "log", server.port, command=server.command):
        server.put("", b"")  # makes the bucket
        yield server


@pytest.fixture(scope="module", params=["rclone", "moto"])
def s3(request):
    return request.getfixturevalue(request.param)
