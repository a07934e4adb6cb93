"""The cache of remote files on the local disk: what is there is not fetched again, several processes share it, it stays within
its limit, and nothing that happens to it changes what is read."""
import contextlib
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from conftest import FORMATS, NOBODY, PROGRAM, by_tier, fields_by_key, let_others_in, shards, tree_bytes
from remote_support import disk_use, files_size, heavy, heavy_images, remote, serve, wait_for, watched  # noqa: F401

FAILURE, USAGE = 1, 2
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


def start(remote, *words, env=None, prefix=()):
    return subprocess.Popen([*prefix, PROGRAM, *words], env={**os.environ, **remote.env, **(env or {})}, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ends_well(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, (process.returncode, err)
    return out


def warnings_of(result):
    return [line for line in result.err.splitlines() if line.startswith("bale: ")]


# --- a warm cache

@pytest.mark.parametrize("name", FORMATS)
def test_nothing_is_fetched_twice(bale, remote, heavy, serve, name):
    """The second run only asks whether the files are still the same, and whether there are more beside them; if it comes
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


def test_files_of_one_name_are_told_apart(bale, remote, heavy, photos, serve, tmp_path):
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
    """What differs between presigned URLs is no part of the identity."""
    for signature in ("abc", "def"):
        sent = server.sent()
        remote.ok("ls", f"{server.url}/p-000000.tar?X-Amz-Date=1{signature}&X-Amz-Signature={signature}")
    assert sent > 0 and server.sent() == sent


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
    runs = [start(remote, "read", "-q", server.url, "--order", order, "--shuffle", str(seed), "--jobs", "2")
            for seed, order in enumerate(["full", "none", "full", "block"] * by_tier(1, 4))]
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
    with watched(remote.cache) as seen:
        remote.ok("read", "-q", server.url, "--order", order, "--epochs", "2", "--jobs", "2")
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
    with watched(remote.cache) as seen:
        runs = [start(remote, "read", "-q", server.url, "--order", "full", "--shuffle", str(seed), "--jobs", "2")
                for seed in range(by_tier(2, 8))]
        for run in runs:
            ends_well(run)
    assert max(seen) <= 64 * MIB


@pytest.mark.parametrize("limit", ["1MiB", "0", "lots", "-5GiB", "12XB", "nan"])
def test_limits_that_are_none(remote, server, limit):
    result = remote("verify", server.url, env={"BALE_CACHE_LIMIT": limit})
    assert result.code == USAGE and "BALE_CACHE_LIMIT" in result.error_line()


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
    """A folder that is packed, or a dataset that is read."""
    source = tmp_path / "source"
    shutil.copytree(photos, source)
    before = tree_bytes(source)
    remote.env["BALE_CACHE_DIR"] = str(source / place)
    result = remote("pack", source, tmp_path / "out")
    assert result.code == USAGE and "BALE_CACHE_DIR" in result.error_line()
    bale.pack(source, tmp_path / "packed")
    remote.env["BALE_CACHE_DIR"] = str(tmp_path / "packed" / place)
    result = remote("verify", f"{tmp_path}/packed::{server.url}")
    assert result.code == USAGE and "BALE_CACHE_DIR" in result.error_line()
    assert tree_bytes(source) == before
