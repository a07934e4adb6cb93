"""The cache of remote files on a disk that damages it, is full, or cannot be used: nothing of it changes what is read."""
import os
import random
import shutil
import subprocess

import pytest
from conftest import FORMATS, NOBODY, let_others_in, shards, tree_bytes
from remote_support import ends_well, heavy, remote, serve, start, wait_for, warnings_of  # noqa: F401

FAILURE, USAGE = 1, 2


@pytest.fixture
def server(serve, heavy):
    return serve(heavy("tar"))


@pytest.fixture(scope="module")
def verified(bale, heavy):
    return bale.ok("verify", heavy("tar")).out


# --- damage to the cache

def flip(path, content, step=3000):
    """A bit of a byte in every `step`."""
    content[step // 2::step] = bytes(byte ^ 0x10 for byte in content[step // 2::step])
    path.write_bytes(content)


def replace_by_link(path, content):
    mine = path.with_name(path.name + ".mine")
    mine.write_bytes(content)
    path.unlink()
    path.symlink_to(mine)


def replace_by_directory(path, content):
    path.unlink()
    path.mkdir()


DAMAGE = {
    "a bit": lambda path, content: flip(path, content, len(content)), "many bytes": flip,
    "zeros": lambda path, content: path.write_bytes(bytes(len(content))),
    "noise": lambda path, content: path.write_bytes(random.Random(3).randbytes(len(content))),
    "half": lambda path, content: os.truncate(path, len(content) // 2), "nothing": lambda path, content: os.truncate(path, 0),
    "longer": lambda path, content: path.write_bytes(content * 2), "gone": lambda path, content: path.unlink(),
    "a directory": replace_by_directory, "a link": replace_by_link,
}


@pytest.mark.parametrize("which", ["all", "large", "small", "half"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_cache(remote, server, verified, damage, which):
    """Of all files, the contents, the rest, and some of both: what is wrong is fetched again."""
    remote.ok("verify", server.url)
    files = sorted(path for path in remote.cache.rglob("*") if path.is_file() and path.stat().st_size)
    chosen = {"all": files, "large": [path for path in files if path.stat().st_size >= 100_000],
              "small": [path for path in files if path.stat().st_size < 100_000], "half": files[::2]}[which]
    for path in chosen:
        DAMAGE[damage](path, bytearray(path.read_bytes()))
    assert remote.ok("verify", server.url).out == verified
    assert remote.ok("verify", server.url).out == verified


def test_corrupted_content_is_noticed_and_fetched_again(remote, server, verified):
    remote.ok("verify", server.url)
    server.clear()
    large = [path for path in remote.cache.rglob("*") if path.is_file() and path.stat().st_size >= 800_000]
    assert large
    for path in large:
        flip(path, bytearray(path.read_bytes()))
    assert remote.ok("verify", server.url).out == verified
    assert 0 < server.sent()
    server.clear()
    assert remote.ok("verify", server.url).out == verified and server.sent() == 0


def test_corrupted_content_of_a_shard_without_an_index(remote, server):
    """No checksum of the dataset covers it: those of the cache do."""
    words = ["cat", f"{server.url}/p-000001.tar", "--index", "3"]
    server.add("*.bidx", status=404, times=None)
    expected = remote.ok(*words).stdout
    for path in remote.cache.rglob("*.data"):
        flip(path, bytearray(path.read_bytes()))
    assert remote.ok(*words).stdout == expected


@pytest.mark.parametrize("how", ["a bit", "of another file"])
def test_a_damaged_version(remote, server, verified, how):
    remote.ok("verify", server.url)
    records = sorted(remote.cache.rglob("*.url"), key=lambda path: path.read_bytes())
    contents = [path.read_bytes() for path in records]
    assert len(records) > 10
    for path, content, other in zip(records, contents, contents[1:] + contents[:1]):
        at = content.index(b'"etag"') + 14
        path.write_bytes(other if how != "a bit" else content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
    assert remote.ok("verify", server.url).out == verified


@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_a_cache_that_is_removed_while_it_is_used(remote, server, how):
    server.add("*", times=None, latency_ms=10)
    run = start(remote, "read", "-q", server.url, "--order", "full", "--epochs", "5", "--jobs", "2")
    wait_for(lambda: len(server.log) > 5)
    for path in [remote.cache] if how == "removed" else list(remote.cache.iterdir()):
        shutil.rmtree(path, ignore_errors=True)
    ends_well(run)


# --- disks that are full, and directories that cannot be used

@pytest.fixture
def small_disk(remote):
    """small_disk(SIZE): mounts a small file system as the cache's directory."""
    mounted = []

    def mount(size):
        remote.cache.mkdir()
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", remote.cache],
                                               capture_output=True).returncode != 0:
            pytest.skip("no right to mount a file system")
        mounted.append(remote.cache)
    yield mount
    for path in mounted:
        subprocess.run(["umount", path], check=True)


@pytest.mark.parametrize("name, size", [("tar", "4k"), ("tar", "64k"), ("tar", "1m"), ("tar", "2m"),
                                        *[(name, "1m") for name in FORMATS if name not in ("tar", "hdf5")]])
def test_a_full_disk(bale, remote, heavy, serve, small_disk, name, size):
    """It is said once, and everything is delivered."""
    local = heavy(name)
    small_disk(size)
    server = serve(local)
    for words in (["verify", server.url], ["read", "-q", server.url, "--order", "full"]):
        result = remote.ok(*words)
        assert words[0] == "read" or result.out == bale.ok("verify", local).out
        assert len(warnings_of(result)) == 1 and str(remote.cache) in warnings_of(result)[0], result


def test_what_a_full_disk_did_not_keep_is_not_warm(remote, server, small_disk):
    small_disk("2m")
    result = remote("cache", "warm", server.url)
    assert result.code == FAILURE and "not all in the cache" in result.error_line(), result


def test_a_cache_on_a_full_disk_is_listed_checked_and_cleared(remote, server, small_disk):
    """That is how room is made."""
    small_disk("80m")
    del remote.env["BALE_CACHE_LIMIT"]
    remote.ok("cache", "warm", server.url)
    with open(remote.cache / "others", "wb") as file:
        disk = os.statvfs(remote.cache)
        os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_frsize)
    names = remote.ok("cache", "ls").out
    assert server.url in names and remote.ok("cache", "verify").out.startswith("ok: ")
    remote.ok("cache", "trim", "1MiB")
    assert remote.ok("cache", "ls").out != names
    remote.ok("cache", "clear")
    assert server.url not in remote.ok("cache", "ls").out


def test_a_full_disk_has_no_room_for_a_copy(remote, heavy, serve, small_disk):
    """The HDF5 library opens files only, and verify uses it."""
    small_disk("1m")
    result = remote("verify", serve(heavy("hdf5")).url)
    assert result.code == FAILURE and "no room" in result.error_line(), result


@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk_without_indexes(bale, remote, heavy, serve, small_disk, name, tmp_path):
    """When shards are scanned. Formats that need a whole copy on the disk say that there is no room for it."""
    shutil.copytree(heavy(name), tmp_path / "www", ignore=shutil.ignore_patterns("*.bidx", "manifest.json"))
    small_disk("64k")
    server = serve(tmp_path / "www")
    victim = shards(tmp_path / "www")[0]
    result = remote("ls", f"{server.url}/{victim.name}")
    if result.code == 0:
        assert result.out == bale.ok("ls", victim).out
    else:
        assert result.code == FAILURE and "no room" in result.error_line()


@pytest.mark.parametrize("what", ["a file", "below a file", "of root", "read-only"])
def test_a_directory_that_cannot_be_used(remote, server, verified, what, tmp_path):
    """A warning, and no cache."""
    prefix = ()
    if what in ("of root", "read-only"):
        if os.geteuid() != 0:
            pytest.skip("not root")
        let_others_in(tmp_path)
        remote.cache.mkdir(mode=0o755 if what == "of root" else 0o555)
        prefix = NOBODY
    else:
        (tmp_path / "file").write_text("mine")
        remote.env["BALE_CACHE_DIR"] = str(tmp_path / ("file" if what == "a file" else "file/cache"))
    result = remote.ok("verify", server.url, prefix=prefix)
    assert result.out == verified and len(warnings_of(result)) == 1
    assert "BALE_CACHE_DIR" in result.err or str(tmp_path) in result.err
    assert what not in ("a file", "below a file") or (tmp_path / "file").read_text() == "mine"


def test_another_user_cannot_read_it(remote, server):
    """What is fetched with somebody's credentials is for nobody else."""
    remote.ok("verify", server.url)
    top = [path for path in remote.cache.iterdir() if path.is_dir()]
    assert top and all(path.stat().st_mode & 0o077 == 0 for path in top)


@pytest.mark.parametrize("place", ["out", "out/cache"])
def test_a_cache_in_the_destination(remote, server, place, tmp_path):
    """The destination is to have nothing but the dataset."""
    remote.env["BALE_CACHE_DIR"] = str(tmp_path / place)
    result = remote("convert", server.url, tmp_path / "out")
    assert result.code in (FAILURE, USAGE) and str(tmp_path / "out") in result.error_line()
    assert not list((tmp_path / "out").glob("*.tar"))


@pytest.mark.parametrize("place", [".", "class0/cache"])
def test_a_cache_in_a_source(bale, remote, server, photos, place, tmp_path):
    """A folder that is packed may not hold it. Of a packed dataset only its own files are read: it may, but not among them."""
    source = tmp_path / "source"
    shutil.copytree(photos, source)
    before = tree_bytes(source)
    remote.env["BALE_CACHE_DIR"] = str(source / place)
    result = remote("pack", source, tmp_path / "out")
    assert result.code == USAGE and "BALE_CACHE_DIR" in result.error_line()
    bale.pack(source, tmp_path / "packed")
    remote.env["BALE_CACHE_DIR"] = str(tmp_path / "packed" / place)
    for name in ("packed", "packed/manifest.json", "packed/*.tar"):
        remote.ok("verify", tmp_path / name)
    remote.ok("convert", tmp_path / "packed", tmp_path / "again")
    result = remote("verify", f"{tmp_path}/packed::{server.url}")
    assert result.code == (USAGE if place == "." else 0) and ("BALE_CACHE_DIR" in result.err) == (place == ".")
    remote.ok("verify", tmp_path / "packed")  # also once the cache is filled
    for inside in ("bale-cache-1", "bale-cache-1/files"):
        shutil.copytree(tmp_path / "again", tmp_path / "packed" / place / inside, dirs_exist_ok=True)
        result = remote("verify", tmp_path / "packed" / place / inside)
        assert result.code == USAGE and "BALE_CACHE_DIR" in result.error_line()
    assert tree_bytes(source) == before
