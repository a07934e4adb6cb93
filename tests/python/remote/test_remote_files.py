"""file:// names: a mounted file system, such as NFS, that is read through the cache as remote files are. And addresses of servers
in brackets."""
import json
import os
import shutil
import socket
import subprocess
import sys

import pytest
from conftest import fields_by_key
from python_support import ENVIRONMENT
from remote_support import LatencyProxy, clean_environment, files_size, heavy, heavy_tar, packed, remote, serve  # noqa: F401
from servers.fault_server import FaultServer

USAGE, FOUND_DAMAGE = 2, 3


def url_of(path):
    return f"file://{path}"


@pytest.mark.parametrize("name", ["tar", "lmdb", "hdf5"])
def test_every_byte_comes_through_the_cache(remote, packed, name):  # noqa: F811
    """The same output as of the plain path; with all in the cache the bytes of the files are not read any more."""
    local = packed(name)
    expected = remote.ok("ls", "--json", local).out
    assert remote.ok("ls", "--json", url_of(local)).out.replace("file://", "") == expected
    remote.ok("verify", url_of(local))
    remote.ok("cache", "warm", url_of(local))
    assert files_size(remote.cache) >= files_size(local)
    assert not list(remote.cache.rglob("*.tar"))


def test_plain_paths_use_no_cache(remote, heavy_tar):  # noqa: F811
    remote.ok("verify", heavy_tar)
    assert not remote.cache.exists()


def test_what_is_in_the_cache_is_not_read_again(remote, fresh_copy, heavy_tar):  # noqa: F811
    """The bytes of the shards are replaced behind the cache's back, with all times as they were: the cached ones count."""
    local = fresh_copy(heavy_tar)
    remote.ok("cache", "warm", url_of(local))
    shard = local / "p-000001.tar"
    before = shard.stat()
    with open(shard, "r+b") as file:
        file.seek(100_000)
        file.write(bytes(1000))
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert remote("verify", local).code == FOUND_DAMAGE
    remote.ok("verify", url_of(local))


def test_damage_in_the_cache_is_read_again(remote, heavy_tar):  # noqa: F811
    remote.ok("cache", "warm", url_of(heavy_tar))
    largest = max(remote.cache.rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    with open(largest, "r+b") as file:
        file.seek(200_000)
        file.write(b"damage" * 1000)
    remote.ok("verify", url_of(heavy_tar))


CHANGED = """
import bale, os, sys
dataset = bale.Dataset(sys.argv[1])
dataset[0]
for path in sys.argv[2:]:
    with open(path, "r+b") as file:
        file.write(b"x")
try:
    for i in range(len(dataset)):
        dataset[i]
    print("no error")
except bale.Error as error:
    print(error.code)
"""


def test_a_file_that_changes_while_it_is_read(fresh_copy, heavy_tar, tmp_path):  # noqa: F811
    local = fresh_copy(heavy_tar)
    found = subprocess.run([sys.executable, "-c", CHANGED, url_of(local), *map(str, sorted(local.glob("*.tar")))],
                           env={**os.environ, **ENVIRONMENT, **clean_environment(tmp_path / "cache")}, text=True, capture_output=True,
                           timeout=120)
    assert found.stdout == "changed\n", found


def test_names(remote, heavy_tar, tmp_path):  # noqa: F811
    """Globs, directories without a manifest, lists, spaces; what is not there; a host."""
    expected = fields_by_key(remote.bale, heavy_tar)
    assert len(remote.ok("ls", url_of(heavy_tar / "p-*.tar")).out.splitlines()) == len(expected)
    spaced = tmp_path / "a #%20b"  # "?" begins a pattern, as it does in URLs of servers
    spaced.mkdir()
    for path in heavy_tar.glob("p-00000[01].tar"):
        os.link(path, spaced / path.name)
    assert len(remote.ok("ls", url_of(spaced)).out.splitlines()) == 16
    assert len(remote.ok("ls", f"{url_of(heavy_tar)}::{heavy_tar}").out.splitlines()) == 2 * len(expected)
    result = remote("inspect", url_of(spaced / "nothing.tar"))
    assert result.code == 1 and "no such file" in result.error_line(), result
    result = remote("inspect", "file://nas/data/packed")
    assert result.code == USAGE and "write file:///PATH" in result.error_line(), result


def test_a_dataset_in_the_cache_is_refused(remote, heavy_tar, fresh_copy):  # noqa: F811
    local = fresh_copy(heavy_tar)
    cache = local / "cache"
    remote.ok("verify", url_of(local), env={"BALE_CACHE_DIR": str(cache)})
    shutil.copytree(heavy_tar, cache / "bale-cache-1" / "packed")
    result = remote("verify", url_of(cache / "bale-cache-1" / "packed"), env={"BALE_CACHE_DIR": str(cache)})
    assert result.code == USAGE and "may not lie in" in result.error_line(), result


# --- addresses in brackets

class OnIpv6(FaultServer):
    def __init__(self, folder):
        from servers.fault_handler import Listener
        Listener.address_family = socket.AF_INET6
        try:
            super().__init__(folder, host="::1")
        finally:
            Listener.address_family = socket.AF_INET
        self.url = f"http://[::1]:{self.port}"


def test_an_address_in_brackets(remote, heavy_tar):  # noqa: F811
    """Its colons separate no names."""
    with OnIpv6(heavy_tar) as server:
        expected = remote.ok("ls", heavy_tar).out
        assert remote.ok("ls", server.url).out == expected
        assert remote.ok("ls", f"{server.url}/p-00000{{0,1}}.tar::{heavy_tar}").out == \
            "".join(expected.splitlines(keepends=True)[:16]) + expected
        assert remote.ok("ls", f"{heavy_tar}::{server.url}::{server.url}").out == 3 * expected
        script = "import bale, sys; print(len(bale.Dataset(sys.argv[1])), len(bale.Dataset([sys.argv[1], sys.argv[2]])))"
        found = subprocess.run([sys.executable, "-c", script, server.url, str(heavy_tar)], text=True, capture_output=True,
                               env={**os.environ, **ENVIRONMENT, **remote.env}, timeout=120)
        assert found.stdout == "40 80\n", found


# --- what training waits for

def doctor(remote, spec, **env):  # noqa: F811
    return remote.ok("doctor", spec, "--batch", "4", "--size", "32", "--workers", "2", "--seconds", "0.3", "--json", env=env).out


def test_doctor_names_the_network(remote, heavy_tar, serve):  # noqa: F811
    """Through a network with a delay, and from the cache after that."""
    with LatencyProxy(serve(heavy_tar).port, 150) as proxy:
        found = json.loads(doctor(remote, proxy.url, BALE_CACHE_DIR="none"))
        assert found["bound_by"] == "network" and found["read_again_images_per_s"] is None, found
        assert "nothing that came is kept" in found["advice"]
        remote.ok("cache", "warm", proxy.url)
        cached = json.loads(doctor(remote, proxy.url))
        assert cached["bound_by"] in ("read", "decode") and cached["read_again_images_per_s"] > 0, cached
    local = json.loads(doctor(remote, heavy_tar))
    assert local["bound_by"] in ("read", "decode") and local["read_again_images_per_s"] is None


# --- the cache's options

def test_options_of_a_command(remote, heavy_tar, serve, tmp_path):  # noqa: F811
    """They come before the environment, and processes that the command starts have them, too."""
    server, other = serve(heavy_tar), tmp_path / "other"
    for words in (["verify"], ["bench", "--stages", "train", "--batch", "4", "--size", "32", "--workers", "2"]):
        remote.ok(*words, server.url, "--cache-dir", other)
    assert server.sent("*.tar") <= 1.01 * sum(path.stat().st_size for path in heavy_tar.glob("*.tar"))
    assert files_size(other) > 0 and not remote.cache.exists()
    result = remote("verify", server.url, "--cache-dir", other, "--cache-limit", "1MiB")
    assert result.code == USAGE and "limit of the cache" in result.error_line(), result
    assert remote("verify", server.url, "--cache-limit", "much").code == USAGE
    remote.ok("verify", server.url, "--cache-dir", "none")
    assert not remote.cache.exists()
