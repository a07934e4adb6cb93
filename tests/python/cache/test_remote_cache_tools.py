"""The cache as users meet it: what may be its directory, what is said if it cannot be used, `bale cache`, and what another run
may read from it."""
import errno
import json
import os
import random
import shutil
import subprocess

import pytest
from conftest import NOBODY, PROGRAM, fields_by_key, let_others_in, shim, tree_bytes
from python_support import run_script
from remote_support import clean_environment, disk_use, files_size, heavy, heavy_images, heavy_tar, remote, serve  # noqa: F401

FAILURE, USAGE, DAMAGE = 1, 2, 3
MIB = 1 << 20


@pytest.fixture
def server(heavy_tar, serve):
    return serve(heavy_tar)


@pytest.fixture(scope="module")
def verified(bale, heavy_tar):
    return bale.ok("verify", heavy_tar).out


def warnings_of(result):
    return [line for line in result.err.splitlines() if line.startswith("bale: warning: ")]


def entries(remote, suffix):
    return sorted(remote.cache.rglob("*" + suffix))


# --- what lies in the directory before it is used

@pytest.mark.parametrize("damage", ["nothing", "half", "noise", "longer", "a directory", "a link"])
@pytest.mark.parametrize("which", ["usage", "slots", "names", "lock", "*.map", "*.data", "*.url"])
def test_damage_at_rest(remote, server, verified, which, damage):
    """Of each kind of file: the same bytes, no signal, and a cache that works afterwards."""
    remote.ok("verify", server.url)
    found = sorted(remote.cache.rglob(which))
    assert found
    for path in found:
        content = path.read_bytes()
        if damage in ("nothing", "half"):
            os.truncate(path, 0 if damage == "nothing" else len(content) // 2)
        elif damage in ("noise", "longer"):
            path.write_bytes(random.Random(5).randbytes(len(content)) + (content if damage == "longer" else b""))
        else:
            path.unlink()
            if damage == "a directory":
                path.mkdir()
            else:
                (path.parent / "mine").write_bytes(content)
                path.symlink_to(path.parent / "mine")
    for _ in range(2):
        result = remote.ok("verify", server.url)
        assert result.out == verified and not warnings_of(result)
    server.clear()
    assert remote.ok("verify", server.url).out == verified and server.sent() <= 1024
    if damage == "a link":
        return  # its target stays in the directory
    assert json.loads(remote.ok("cache", "ls", "--json").out)["used_bytes"] <= 1.2 * files_size(server.folder)


def test_a_changed_record_is_not_used(remote, server, verified):
    """A bit of the ETag or of the size in what is recorded of a name."""
    remote.ok("verify", server.url)
    for number, path in enumerate(entries(remote, ".url")):
        record = json.loads(path.read_text())
        record["etag" if number % 2 else "size"] = '"0"' if number % 2 else record["size"] + 4096
        path.write_text(json.dumps(record))
    assert remote.ok("verify", server.url).out == verified


def test_directories_are_private(remote, server, tmp_path):
    remote.env["BALE_CACHE_DIR"] = str(tmp_path / "a" / "b")
    remote.ok("verify", server.url)
    made = [tmp_path / "a", *(path for path in (tmp_path / "a").rglob("*") if path.is_dir())]
    assert len(made) > 4 and all(path.stat().st_mode & 0o777 == 0o700 for path in made)


@pytest.mark.parametrize("what", ["writable", "of another user", "a link"])
def test_a_cache_that_others_may_write(remote, server, verified, what, tmp_path):
    """Who can write content and checksums could change what is read."""
    inner = remote.cache / "bale-cache-1"
    if what == "a link":
        (tmp_path / "elsewhere").mkdir()
        remote.cache.mkdir()
        inner.symlink_to(tmp_path / "elsewhere")
    else:
        inner.mkdir(parents=True)
    if what == "writable":
        inner.chmod(0o770)
    prefix = ()
    if what == "of another user":
        if os.geteuid() != 0:
            pytest.skip("not root")
        let_others_in(tmp_path)
        os.chown(inner, 1234, 1234)
        inner.chmod(0o755)
        prefix = NOBODY
    result = remote.ok("verify", server.url, prefix=prefix)
    assert result.out == verified
    assert len(warnings_of(result)) == 1 and str(inner) in result.err and "BALE_CACHE_DIR" in result.err
    assert not list(inner.iterdir())


# --- where it may not lie

def test_a_directory_with_a_dataset(bale, remote, server, heavy_tar, tmp_path):
    shutil.copytree(heavy_tar, tmp_path / "packed")
    before = tree_bytes(tmp_path / "packed")
    for keep in ("manifest.json", "*.bidx"):
        remote.env["BALE_CACHE_DIR"] = str(tmp_path / "packed")
        result = remote("ls", server.url)
        assert result.code == USAGE and "BALE_CACHE_DIR" in result.error_line()
        assert tree_bytes(tmp_path / "packed") == before
        if keep == "manifest.json":
            (tmp_path / "packed" / keep).unlink()
            before = tree_bytes(tmp_path / "packed")


@pytest.mark.parametrize("command", ["pack", "convert", "extract"])
def test_sources_and_destinations(bale, remote, server, photos, command, tmp_path):
    """The cache is in a folder that is packed, or in what is written."""
    shutil.copytree(photos, tmp_path / "photos")
    out = tmp_path / "out"
    place, words = {
        "pack": (tmp_path / "photos" / "class0" / "cache", ["pack", tmp_path / "photos", out]),
        "convert": (out / "cache", ["convert", server.url, out]),
        "extract": (out / "cache", ["extract", server.url, out])}[command]
    result = remote(*words, env={"BALE_CACHE_DIR": str(place)})
    assert result.code == USAGE and "BALE_CACHE_DIR" in result.error_line(), result
    assert not list(out.rglob("*.tar")) and not list(out.rglob("*.jpg"))


def test_a_cache_below_a_dataset(bale, remote, server, heavy_tar, verified, tmp_path):
    """Of a packed dataset only its own files are read."""
    shutil.copytree(heavy_tar, tmp_path / "packed")
    remote.env["BALE_CACHE_DIR"] = str(tmp_path / "packed" / "cache")
    remote.ok("verify", f"{tmp_path / 'packed'}::{server.url}")
    assert remote.ok("verify", tmp_path / "packed").out == verified


def test_a_cache_next_to_a_dataset(bale, remote, server, heavy_tar, verified, tmp_path):
    """Only what bale makes in the directory is the cache."""
    shutil.copytree(heavy_tar, tmp_path / "packed")
    remote.env["BALE_CACHE_DIR"] = str(tmp_path)
    assert remote.ok("verify", tmp_path / "packed").out == verified
    assert remote.ok("verify", server.url).out == verified


# --- a cache that cannot be used

def test_one_warning(remote, server, verified, tmp_path):
    (tmp_path / "file").write_text("mine")
    remote.env["BALE_CACHE_DIR"] = str(tmp_path / "file")
    for words in (["verify", server.url], ["read", "-q", server.url], ["ls", server.url], ["verify", "-q", server.url]):
        result = remote.ok(*words)
        assert len(warnings_of(result)) == 1 and str(tmp_path / "file") in result.err and "BALE_CACHE_DIR" in result.err
    assert (tmp_path / "file").read_text() == "mine"


def test_one_warning_in_python(server, tmp_path):
    (tmp_path / "file").write_text("mine")
    out = run_script("""
        import sys, warnings
        import bale
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dataset = bale.Dataset(sys.argv[1])
            dataset.read_image(0)
            with bale.Loader(sys.argv[1], 4, workers=1) as loader:
                assert sum(len(batch) for batch in loader) == 40
        for warning in caught:
            print(warning.category.__name__, warning.filename, warning.message)
        """, server.url, **clean_environment(tmp_path / "file"))
    lines = out.splitlines()
    assert len(lines) == 1 and lines[0].startswith("UserWarning") and str(tmp_path / "file") in lines[0], out
    assert "bale/_" not in lines[0]  # but the caller's


def test_a_limit_that_is_too_small(remote, server):
    result = remote("verify", server.url, env={"BALE_CACHE_LIMIT": "1MiB"})
    assert result.code == USAGE and "BALE_CACHE_LIMIT at least 64MiB" in result.error_line()


# --- files without a version

def test_a_file_without_validators_is_not_read_from_another_run(bale, remote, heavy_tar, serve, tmp_path):
    """It is another one, of the same size, and the second run comes at once."""
    www = tmp_path / "www"
    shutil.copytree(heavy_tar, www)
    server = serve(www)
    server.add("*", times=None, no_etag=True, no_modified=True)
    name = f"{server.url}/p-000000.tar"
    assert remote.ok("cat", name, "--index", "0").stdout == bale.ok("cat", www / "p-000000.tar", "--index", "0").stdout
    for suffix in ("tar", "tar.bidx"):
        shutil.copyfile(heavy_tar / f"p-000001.{suffix}", www / f"p-000000.{suffix}")
    expected = bale.ok("cat", heavy_tar / "p-000001.tar", "--index", "0").stdout
    assert remote.ok("cat", name, "--index", "0").stdout == expected


def test_workers_share_a_file_without_validators(heavy_tar, serve, tmp_path):
    """While the process that asked for it lives."""
    server = serve(heavy_tar)
    server.add("*", times=None, no_etag=True, no_modified=True)
    run_script("""
        import sys
        import bale
        with bale.Loader(sys.argv[1], 4, workers=2) as loader:
            assert sum(len(batch) for batch in loader) == 40
        """, server.url, **clean_environment(tmp_path / "cache"))
    assert server.sent() <= 1.05 * files_size(heavy_tar)


# --- several processes

def test_small_files_are_fetched_once(remote, server, verified):
    """By four processes that come at the same time: of manifest and indexes, too."""
    server.add("*", times=None, latency_ms=30)
    environment = {**os.environ, **remote.env}
    runs = [subprocess.Popen([PROGRAM, "verify", server.url], env=environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) for _ in range(4)]
    for run in runs:
        out, err = run.communicate(timeout=120)
        assert run.returncode == 0 and out == verified, err
    assert server.sent() <= 1.02 * files_size(server.folder)
    assert server.sent("*.json") <= 1.02 * (server.folder / "manifest.json").stat().st_size


# --- HDF5

@pytest.fixture(scope="module")
def without_index(bale, tmp_path_factory):
    """An HDF5 file alone."""
    root = tmp_path_factory.mktemp("hdf5")
    bale.pack(heavy_images(root / "source", 24, 100_000), root / "packed", "--format", "hdf5", "--name", "p")
    for path in root.glob("packed/*"):
        if path.suffix != ".h5":
            path.unlink()
    return root / "packed"


def test_hdf5_without_an_index(bale, remote, serve, without_index):
    """It is fetched once, and a second run fetches nothing."""
    server = serve(without_index)
    (file,) = without_index.glob("*.h5")
    name = f"{server.url}/{file.name}"
    assert fields_by_key(remote, name) == fields_by_key(bale, file)
    assert server.sent() <= 1.02 * file.stat().st_size + 16 * 1024
    server.clear()
    assert remote.ok("verify", name).out == bale.ok("verify", file).out
    assert server.sent() <= 3 * 1024, [(r.path, r.range, r.sent) for r in server.log]  # what is not there: 404
    assert disk_use(remote.cache) <= 1.05 * file.stat().st_size + 200_000  # one copy


@pytest.mark.parametrize("damage", ["a bit", "zeros"])
def test_hdf5_without_an_index_from_a_damaged_cache(bale, remote, serve, without_index, damage):
    server = serve(without_index)
    (file,) = without_index.glob("*.h5")
    name = f"{server.url}/{file.name}"
    remote.ok("ls", name)
    for path in entries(remote, ".data"):
        content = bytearray(path.read_bytes())
        if damage == "a bit":
            for at in range(0, len(content), 4096):
                content[at] ^= 1
        else:
            content = bytes(len(content))
        path.write_bytes(content)
    assert fields_by_key(remote, name) == fields_by_key(bale, file)


# --- bale cache

def test_ls(remote, server, heavy_tar):
    assert json.loads(remote.ok("cache", "ls", "--json").out)["files"] == []
    remote.ok("verify", server.url)
    listed = json.loads(remote.ok("cache", "ls", "--json").out)
    assert listed["directory"] == str(remote.cache) and listed["limit_bytes"] == 500 * MIB
    assert files_size(heavy_tar) <= listed["used_bytes"] <= 1.2 * files_size(heavy_tar)
    names = {f"{server.url}/{path.name}": path.stat().st_size for path in heavy_tar.iterdir()}
    assert {file["name"]: file["bytes"] for file in listed["files"]} == names
    assert all(file["cached_bytes"] == file["bytes"] and file["last_use"] > 1_600_000_000 for file in listed["files"])
    text = remote.ok("cache", "ls").out
    assert all(name in text for name in names) and f"{len(names)} files" in text and "500 MiB" in text


@pytest.mark.parametrize("words", [["ls"], ["verify"], ["trim"], ["clear"], ["clear", "--dry-run"]], ids=" ".join)
def test_a_cache_that_is_not_there_is_empty_and_not_made(remote, words):
    assert "0 " in remote.ok("cache", *words).out
    assert not remote.cache.exists()


def test_ls_shows_no_secrets(remote, server):
    remote.ok("ls", f"{server.url}/p-000000.tar?X-Amz-Signature=hidden")
    assert "hidden" not in remote.ok("cache", "ls").out
    assert all(b"hidden" not in path.read_bytes() for path in entries(remote, ".url"))


def test_verify(remote, server, verified):
    remote.ok("verify", server.url)
    good = remote.ok("cache", "verify")
    assert good.out.startswith("ok: ")
    victim = max(entries(remote, ".data"), key=lambda path: path.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    result = remote("cache", "verify", "--json")
    report = json.loads(result.out)
    assert result.code == DAMAGE and len(report["damages"]) == 1 and report["damages"][0]["name"].startswith(server.url)
    assert 0 < report["damages"][0]["bytes"] <= 4096 and "1 file damaged" in result.error_line()
    assert remote.ok("cache", "verify").out.startswith("ok: ")
    server.clear()
    assert remote.ok("verify", server.url).out == verified
    assert 0 < server.sent() <= 4096 + 1024


def test_trim(remote, server, verified):
    remote.ok("verify", server.url)
    used = disk_use(remote.cache)
    assert json.loads(remote.ok("cache", "trim", "--json").out)["removed_bytes"] == 0
    dry = json.loads(remote.ok("cache", "trim", "2MiB", "--dry-run", "--json").out)
    assert dry["removed_bytes"] == dry["used_bytes"] - 2 * MIB and disk_use(remote.cache) == used
    done = json.loads(remote.ok("cache", "trim", "2MiB", "--json").out)
    assert done["removed_bytes"] >= dry["removed_bytes"] and disk_use(remote.cache) <= 2 * MIB + 256 * 1024
    server.clear()
    assert remote.ok("verify", server.url).out == verified
    assert 0 < server.sent() <= files_size(server.folder)


def test_clear(remote, server, verified):
    remote.ok("verify", server.url)
    used = disk_use(remote.cache)
    assert json.loads(remote.ok("cache", "clear", "--dry-run", "--json").out)["removed_bytes"] > 0
    assert disk_use(remote.cache) == used
    assert json.loads(remote.ok("cache", "clear", "--json").out)["removed_bytes"] >= files_size(server.folder)
    assert files_size(remote.cache) <= 8192  # what the processes share
    assert json.loads(remote.ok("cache", "ls", "--json").out)["files"] == []
    assert remote.ok("verify", server.url).out == verified


def test_warm(remote, server, heavy_tar, verified):
    dry = json.loads(remote.ok("cache", "warm", server.url, "--dry-run", "--json").out)
    assert server.sent() <= 12 * 16 * 1024 and dry["files"] == 10
    shutil.rmtree(remote.cache)
    server.clear()
    result = remote.ok("cache", "warm", server.url)
    assert "10 files" in result.out and "; 0 B of" not in result.out and server.sent() <= 1.02 * files_size(heavy_tar)
    server.clear()
    assert remote.ok("verify", server.url).out == verified
    assert server.sent() == 0 and set(server.statuses()) <= {304, 404}


def test_what_is_cleared_and_fetched_during_verify_is_not_damaged(remote, server):
    code = f'for i in 1 2 3 4 5 6 7 8; do "{PROGRAM}" cache clear -q; "{PROGRAM}" cache warm -q {server.url} || exit; done'
    with subprocess.Popen(["sh", "-c", code], env={**os.environ, **remote.env}, stderr=subprocess.PIPE, text=True) as other:
        while other.poll() is None:
            remote.ok("cache", "verify")
        assert other.stderr.read() == "" and other.returncode == 0


def test_a_sandbox_that_refuses_to_reserve_room(remote, server):
    result = remote.ok("cache", "warm", server.url, env=shim(ONLY="posix_fallocate", FAIL_AT=1, FAIL_ON=1, ERRNO=errno.EPERM))
    assert not warnings_of(result) and remote.ok("cache", "verify").out.startswith("ok: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_folder_that_cannot_be_listed_is_named(remote, server, tmp_path):
    remote.ok("cache", "warm", server.url)
    let_others_in(tmp_path)
    for path in (remote.cache, *remote.cache.rglob("*")):
        os.chown(path, 65534, 65534)
    folder = next(remote.cache.rglob("*.map")).parent
    folder.chmod(0)
    for action in ("ls", "verify", "clear"):
        result = remote("cache", action, prefix=NOBODY)
        assert result.code == FAILURE and "cannot list: Permission denied" in result.error_line(), action
    folder.chmod(0o755)


def test_warm_without_room(remote, serve, bale, tmp_path):
    bale.pack(heavy_images(tmp_path / "source", 70, MIB), tmp_path / "packed", "--name", "p", "--shard-samples", "35")
    server = serve(tmp_path / "packed")
    result = remote("cache", "warm", server.url, env={"BALE_CACHE_LIMIT": "64MiB"})
    assert result.code == USAGE and "no room" in result.error_line() and "BALE_CACHE_LIMIT" in result.error_line()
    assert server.sent() <= 8 * 16 * 1024


def test_warm_where_no_cache_can_be(remote, server, tmp_path):
    (tmp_path / "file").touch()
    result = remote("cache", "warm", server.url, env={"BALE_CACHE_DIR": str(tmp_path / "file" / "cache")})
    assert result.code == 1 and "cannot be used" in result.error_line() and "BALE_CACHE_DIR" in result.error_line()
    assert server.sent() <= 12 * 16 * 1024


@pytest.mark.parametrize("words", [[], ["sweep"], ["ls", "more"], ["warm"], ["trim", "much"], ["trim", "1MiB", "2MiB"],
                                   ["verify", "--dry-run"]], ids=" ".join)
def test_wrong_usage(remote, words):
    assert remote("cache", *words).code == USAGE


def test_without_a_cache(remote, heavy_tar):
    result = remote("cache", "ls", env={"BALE_CACHE_DIR": "none"})
    assert result.code == USAGE and "BALE_CACHE_DIR" in result.error_line()
    assert remote("cache", "warm", heavy_tar).code == USAGE  # nothing remote


# --- settings

def test_set_cache(server, heavy_tar, tmp_path):
    """Also of workers, which are other processes."""
    environment = clean_environment(tmp_path / "unused")
    run_script("""
        import sys
        import bale
        bale.set_cache(sys.argv[2], limit="100MiB")
        with bale.Loader(sys.argv[1], 4, workers=2) as loader:
            assert sum(len(batch) for batch in loader) == 40
        try:
            bale.set_cache(limit="200MiB")
        except ValueError as error:
            assert "set the cache first" in str(error)
        else:
            raise AssertionError
        """, server.url, str(tmp_path / "mine"), **environment)
    assert not (tmp_path / "unused").exists() and disk_use(tmp_path / "mine") >= files_size(heavy_tar) // 2


@pytest.mark.parametrize("limit", ["1MiB", "lots", 1000])
def test_set_cache_to_a_wrong_limit(limit):
    script = f"""
        import os
        import bale
        before = dict(os.environ)
        try:
            bale.set_cache(limit={limit!r})
        except ValueError as error:
            assert "BALE_CACHE_LIMIT" in str(error)
        else:
            raise AssertionError
        assert dict(os.environ) == before
        """
    run_script(script)
