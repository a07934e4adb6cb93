"""Servers and networks that fail: what is lost is fetched again, what changes is found out, and what stays wrong ends the run
with one line that names the URL. Never does a run end well with other bytes than the server has."""
import contextlib
import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

import pytest
from conftest import LONG, PROGRAM, by_tier, fields_by_key, tree_bytes
from remote_support import LatencyProxy, ask, free_port, heavy_images, remote, replace_file, serve, time_limit, wait_for  # noqa: F401

FAILURE, TRY_AGAIN, INTERRUPTED = 1, 5, 130


# --- the server itself does what is asked of it

CONTENT = bytes(range(256)) * 400


@pytest.fixture
def served(serve, tmp_path):
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "a b.tar").write_bytes(CONTENT)
    (tmp_path / "www" / "empty").touch()
    return serve(tmp_path / "www")


@pytest.mark.parametrize("asked, first, last", [("bytes=0-9", 0, 9), ("bytes=100-", 100, 102399), ("bytes=-7", 102393, 102399),
                                                ("bytes=102399-999999", 102399, 102399), ("bytes=-999999", 0, 102399)])
def test_server_ranges(served, asked, first, last):
    status, headers, body = ask(served.url + "/a%20b.tar", Range=asked)
    assert (status, body) == (206, CONTENT[first:last + 1])
    assert headers["content-range"] == f"bytes {first}-{last}/102400" and int(headers["content-length"]) == last + 1 - first
    assert [(r.path, r.range, r.sent, r.status) for r in served.log] == [("/a b.tar", asked, last + 1 - first, 206)]


@pytest.mark.parametrize("asked, status", [("bytes=102400-", 416), ("bytes=102400-102500", 416), ("bytes=-0", 416),
                                           ("bytes=5-2", 400), ("bytes=0-1,5-6", 400), ("bytes=-", 400), ("rows=1-2", 400)])
def test_server_ranges_that_are_none(served, asked, status):
    found, headers, _ = ask(served.url + "/a%20b.tar", Range=asked)
    assert found == status and (status != 416 or headers["content-range"] == "bytes */102400")
    assert ask(served.url + "/empty", Range="bytes=0-9")[0] == 416


def test_server_conditions(served):
    url = served.url + "/a%20b.tar"
    status, headers, body = ask(url)
    assert (status, body) == (200, CONTENT)
    etag = headers["etag"]
    assert ask(url, If_None_Match=etag)[::2] == (304, b"")
    assert ask(url, If_None_Match='"other"')[0] == 200
    assert ask(url, If_Match=etag, Range="bytes=0-0")[0] == 206
    assert ask(url, If_Match='"other"', Range="bytes=0-0")[0] == 412
    assert ask(url, If_Modified_Since=headers["last-modified"])[0] == 304
    assert ask(url, "HEAD")[0] == 405 and len(served.asked(method="HEAD")) == 1
    assert ask(served.url + "/none")[0] == ask(served.url + "/../www/a%20b.tar")[0] == ask(served.url + "/")[0] == 404
    (served.folder / "a b.tar").write_bytes(CONTENT[::-1])
    assert ask(url)[1]["etag"] != etag
    served.token = "t"
    assert ask(url)[0] == 401 and ask(url, Authorization="Bearer t")[0] == 200


def fails(url, **headers):
    with pytest.raises(Exception) as caught:
        ask(url, **headers)
    return caught.value


def test_server_faults(served):
    url = served.url + "/a%20b.tar"
    served.add("*.tar", cut=1000)
    assert len(fails(url).partial) == 1000 == served.sent()
    served.add("*.tar", cut=70_000, reset=True)
    assert isinstance(fails(url), ConnectionResetError) or served.sent() == 71_000
    served.add("*.tar", status=429, headers={"Retry-After": 7}, skip=1)
    assert ask(url)[0] == 200
    assert ask(url)[1]["retry-after"] == "7"
    served.add("*.tar", flip=300)
    assert ask(url, Range="bytes=0-299")[2] == CONTENT[:300]
    assert ask(url, Range="bytes=298-301")[2] == bytes([42, 43, 45, 45])
    assert ask(url)[2] == CONTENT
    served.add("*", whole=True)
    assert ask(url, Range="bytes=0-9")[0::2] == (200, CONTENT)
    served.add("*", content_range="bytes 7-9/10")
    assert ask(url, Range="bytes=0-2")[1]["content-range"] == "bytes 7-9/10"
    served.add("*", redirect="http://host/x", status=307)
    assert ask(url)[:2][0] == 307
    served.add("*", no_etag=True, gzip=True)
    assert {"etag", "content-encoding"} & set(ask(url)[1]) == {"content-encoding"}
    served.add("*", weak_etag=True, ignore_conditions=True)
    assert ask(url, If_Match='"x"')[1]["etag"].startswith('W/"')
    served.add("*", chunked=True)
    assert ask(url)[2] == CONTENT and "transfer-encoding" in ask(url)[1] or True
    served.add("*", until_close=True, cut=500)
    assert ask(url)[2] == CONTENT[:500]
    served.add("*", bytes_per_s=10_000_000, latency_ms=1)
    assert ask(url)[2] == CONTENT
    assert ask(url)[2] == CONTENT  # nothing is left


def test_server_stalls_and_refuses(served):
    url = served.url + "/a%20b.tar"
    served.add("*", stall=100, stall_s=0.01)
    served.add("*", stall=-1, stall_s=0.01, skip=1)
    assert ask(url)[2] == ask(url)[2] == CONTENT
    served.refuse = 0.5
    ended = []
    for _ in range(6):
        try:
            ended.append(ask(url)[0])
        except OSError as error:
            ended.append(error.errno)
    assert ended == [200, errno.ECONNRESET] * 3
    served.heal()
    with LatencyProxy(served.port, 10) as proxy:
        assert ask(proxy.url + "/a%20b.tar")[2] == CONTENT and proxy.received > len(CONTENT)


# --- what passes

PACK_OPTIONS = ["--name", "p", "--shard-samples", "8"]
FILES = ["/manifest.json", "*-000001.tar.bidx", "*-000001.tar", "*-000004.tar"]


@pytest.fixture(scope="module")
def expected(bale, pack, tmp_path_factory):
    return fields_by_key(bale, pack)


@pytest.fixture
def server(pack, serve):
    server = serve(pack)
    yield server
    assert not server.asked(method="HEAD")


def reads_well(run, server, expected):
    assert fields_by_key(run, server.url) == expected


# The first request for a file has its first 16 KiB; with skip=1 the fault hits the data.
PASSING = [{"cut": 0}, {"cut": 10}, {"cut": 0, "reset": True}, {"cut": 10, "chunked": True}, {"cut": 10, "until_close": True},
           {"cut": 0, "skip": 1}, {"cut": 1000, "skip": 1}, {"cut": 1000, "reset": True, "skip": 1},
           {"cut": 1000, "chunked": True, "skip": 1}, {"cut": 1000, "until_close": True, "skip": 1},
           {"status": 500}, {"status": 502, "skip": 1}, {"status": 503, "headers": {"Retry-After": 0}},
           {"status": 504, "times": 2}, {"status": 429, "headers": {"Retry-After": 1}, "skip": 1}, {"status": 429}, {"status": 408},
           {"status": 503, "headers": {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "skip": 1},
           {"status": 503, "headers": {"Retry-After": "soon"}}, {"content_range": "bytes 1-9/10"},
           {"content_range": "bytes 1-9/10", "skip": 1}, {"content_range": "nonsense", "skip": 1},
           {"chunked": True, "skip": 1}, {"whole": True}, {"whole": True, "skip": 1}, {"flip": 2000}, {"flip": 20_000},
           {"bytes_per_s": 100_000}, {"stall": 5, "stall_s": 0.5}, {"stall": 5, "stall_s": 0.5, "skip": 1}]


@pytest.mark.parametrize("fault", PASSING, ids=str)
def test_faults_that_pass(remote, server, expected, fault):
    """Once for each of several files: the manifest, an index, two shards; with a cold cache, then when it asks whether they are
    the same. Compression that nobody asked for, and a wrong Content-Range, are what a broken proxy does once."""
    faults = [server.add(pattern, **fault) for pattern in FILES]
    reads_well(remote, server, expected)
    assert all(fault.times == 0 for fault in faults[2:])
    faults = [server.add(pattern, **{**fault, "skip": 0}) for pattern in FILES]
    remote.age()
    assert fields_by_key(remote, server.url + "/p-{000000..000004}.tar") == expected  # no manifest pins what the cache has
    remote.age()
    reads_well(remote, server, expected)
    assert "flip" in fault or all(added.times == 0 for added in faults)  # no bytes are sent that could be wrong


@pytest.mark.parametrize("fault", [{"cut": 20_000}, {"cut": 20_000, "reset": True}, {"cut": 20_000, "until_close": True}], ids=str)
def test_a_body_that_is_always_cut_but_continues(remote, server, expected, fault):
    """Each answer brings something, so this is not a reason to give up."""
    server.add("*.tar", times=None, **fault)
    reads_well(remote, server, expected)


def test_refused_connections(remote, server, expected):
    server.refuse = 0.3
    server.add("*", times=None, until_close=True)  # every request on a connection of its own
    reads_well(remote, server, expected)


def test_everything_at_once(remote, server, expected):
    for number, fault in enumerate(fault for fault in PASSING if not {"content_range", "gzip", "skip"} & set(fault)):
        server.add("*", skip=2 * number, **fault)
    reads_well(remote, server, expected)


def test_a_server_that_restarts(bale, remote, pack, tmp_path):
    """It is away for a while, and comes back at the same address: another program, without ranges."""
    bale.ok("extract", pack, tmp_path / "here")
    port = free_port()
    with LatencyProxy(port, 0) as proxy:
        process = subprocess.Popen([PROGRAM, "extract", proxy.url, tmp_path / "there"], env={**os.environ, **remote.env})
        wait_for(lambda: proxy.connections >= 2)
        with subprocess.Popen([sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"], cwd=pack,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
            try:
                assert process.wait(60) == 0
            finally:
                other.kill()
    assert tree_bytes(tmp_path / "there") == tree_bytes(tmp_path / "here")


def test_retry_after_is_waited_for(remote, server, expected):
    server.add("*-000001.tar", status=429, headers={"Retry-After": 2})
    reads_well(remote, server, expected)
    first, second, *_ = server.asked("*-000001.tar")
    assert first.status == 429 and second.status in (200, 206) and second.began - first.began >= 1.9


def test_slow_is_not_failed(remote, server, expected):
    """A file takes longer than the time limit, but bytes come all the time."""
    server.add("*-000001.tar", bytes_per_s=25_000)
    remote.env["BALE_NETWORK_TIMEOUT"] = "1"
    reads_well(remote, server, expected)


@pytest.mark.skipif(not LONG, reason="takes the time after which a transfer counts as stalled")
@pytest.mark.parametrize("after", [-1, 0, 1000])
def test_a_stall_that_passes(remote, server, expected, after):
    server.add("*-000001.tar", stall=after)
    reads_well(remote, server, expected)


# --- what stays

STAYING = [({"status": 500}, TRY_AGAIN), ({"status": 503, "headers": {"Retry-After": 0}}, TRY_AGAIN), ({"status": 429}, TRY_AGAIN),
           ({"status": 503, "headers": {"Retry-After": 86400}}, TRY_AGAIN), ({"cut": 0}, TRY_AGAIN),
           ({"cut": 0, "reset": True}, TRY_AGAIN), ({"cut": 0, "until_close": True}, TRY_AGAIN),
           ({"stall": -1, "stall_s": 3}, TRY_AGAIN), ({"stall": 10, "stall_s": 3}, TRY_AGAIN),
           ({"status": 418}, FAILURE), ({"status": 400}, FAILURE), ({"gzip": True}, FAILURE), ({"gzip": True, "skip": 1}, FAILURE),
           ({"content_range": "bytes 1-9/10"}, TRY_AGAIN), ({"content_range": "nonsense"}, TRY_AGAIN)]


@pytest.mark.parametrize("pattern", by_tier(["*-000001.tar"], ["*", "*.json", "*-000001.tar.bidx", "*-000001.tar"]))
@pytest.mark.parametrize("fault, code", STAYING, ids=str)
def test_faults_that_stay(bale, remote, server, expected, fault, code, pattern, tmp_path):
    """They end the run, after the time limit if they might have passed. When they are over, it is resumed."""
    if "skip" in fault and pattern in ("*.json", "*-000001.tar.bidx"):
        pytest.skip("these are small: there is no second request")
    words = ["convert", server.url, tmp_path / "out", "--name", "q", "--shard-samples", "10"]
    added = server.add(pattern, times=None, **fault)
    result = remote(*words, env=time_limit(code))
    assert result.code == code, result
    assert server.url in result.error_line() and (".tar" not in pattern or "p-000001.tar" in result.error_line())
    assert not (tmp_path / "out" / "manifest.json").exists()
    added.times = 0
    remote.ok(*words, *(["--resume"] if (tmp_path / "out").exists() else []))
    assert fields_by_key(bale, tmp_path / "out") == expected


CACHES = ["half", "full", "full and old"]
MATRIX = [(fault, state) for fault in [*PASSING, *[fault for fault, _ in STAYING]] for state in CACHES]


@pytest.mark.parametrize("fault, state", MATRIX[::by_tier(7, 1)], ids=str)
def test_faults_with_a_cache(bale, remote, server, expected, fault, state, tmp_path):
    """That is half or wholly filled when the fault comes, and stays: the right bytes or one error, in time, and it is resumed."""
    remote.ok("verify", f"{server.url}/p-00000[01].tar".replace("[01]", "{0,1}") if state == "half" else server.url)
    if state == "full and old":
        remote.age()
    for pattern in FILES:
        server.add(pattern, **{**fault, "times": None})
    words = ["convert", server.url, tmp_path / "out", "--name", "q", "--shard-samples", "10"]
    result = remote(*words, env={"BALE_NETWORK_TIMEOUT": "1"}, timeout=60)
    assert result.code == 0 or (result.code in (FAILURE, TRY_AGAIN) and server.url in result.error_line()), result
    server.heal()
    if result.code != 0:
        assert state != "full"  # nothing was asked for
        assert not (tmp_path / "out" / "manifest.json").exists()
        remote.ok(*words, *(["--resume"] if (tmp_path / "out").exists() else []))
    assert fields_by_key(bale, tmp_path / "out") == expected


@pytest.mark.parametrize("command", ["verify", "inspect", "bench"])
def test_every_command_ends_so(remote, server, command):
    server.add("*", times=None, status=503)
    result = remote(command, server.url, env={"BALE_NETWORK_TIMEOUT": "1"})
    assert result.code == TRY_AGAIN and server.url in result.error_line() and result.stdout == b""


def test_a_lack_of_descriptors_is_named(remote, server):
    for limit in range(5, 12):
        words = ["sh", "-c", f'ulimit -n {limit}; exec "$0" verify {server.url}', PROGRAM]
        done = subprocess.run(words, env={**os.environ, **remote.env, "BALE_NETWORK_TIMEOUT": "1"}, capture_output=True, text=True)
        assert "connect to server" not in done.stderr, (limit, done.stderr)  # as libcurl says it
        shutil.rmtree(remote.cache, ignore_errors=True)


@pytest.mark.parametrize("command", ["verify", "read", "extract"])
def test_a_shard_that_cannot_be_had(remote, server, command, tmp_path):
    """That is not damage and no bad sample: verify does not say 3."""
    server.add("*-000002.tar", times=None, status=503)
    result = remote(command, server.url, *([tmp_path / "out"] if command == "extract" else []), env={"BALE_NETWORK_TIMEOUT": "1"})
    assert result.code == TRY_AGAIN and "p-000002.tar" in result.error_line()


@pytest.mark.parametrize("policy", ["skip", "quarantine"])
def test_a_server_that_fails_costs_no_samples(bale, remote, server, expected, policy, tmp_path):
    """Even if bad ones are skipped."""
    words = ["convert", server.url, tmp_path / "out", "--name", "q", "--shard-samples", "10", "--on-error", policy]
    fault = server.add("*-000003.tar", times=None, status=503)
    assert remote(*words, env={"BALE_NETWORK_TIMEOUT": "1"}).code == TRY_AGAIN
    fault.times = 0
    remote.ok(*words, "--resume")
    assert fields_by_key(bale, tmp_path / "out") == expected


def test_an_interrupt_ends_a_stall(remote, server):
    """Ctrl-C need not wait for the server."""
    server.add("*.tar", times=None, stall=100)
    process = subprocess.Popen([PROGRAM, "verify", server.url], env={**os.environ, **remote.env})
    wait_for(lambda: server.sent("*.tar"))
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == INTERRUPTED


# --- what changes

@pytest.fixture
def www(pack, fresh_copy):
    return fresh_copy(pack, "www")


def replace(folder, pattern="*.tar", seconds=10):
    """Other bytes of the same length in shards, and a later time."""
    for path in folder.glob(pattern):
        content = path.read_bytes()
        replace_file(path, content[:512] + bytes(byte ^ 0x55 for byte in content[512:]), path.stat().st_mtime + seconds)


@pytest.mark.parametrize("server_is", [{}, {"ignore_conditions": True}, {"no_etag": True}, {"weak_etag": True}], ids=str)
def test_a_file_that_changes_while_it_is_read(bale, remote, serve, server_is, tmp_path):
    """The second answer is cut, and the rest would be of another version."""
    bale.pack(heavy_images(tmp_path / "source", 8, 100_000), tmp_path / "www", "--name", "p")
    server = serve(tmp_path / "www")
    server.add("*", times=None, **server_is)
    cut = server.add("*.tar", skip=1, cut=10_000, after=lambda: replace(tmp_path / "www"))
    result = remote("extract", server.url, tmp_path / "out")
    assert cut.times == 0 and result.code == FAILURE and "p-000000.tar" in result.error_line(), result
    assert "changed" in result.error_line(), result


@pytest.mark.parametrize("change", ["longer", "shorter", "empty", "gone"])
@pytest.mark.parametrize("skip", [0, 1], ids=["opening", "data"])
def test_a_file_of_another_size(remote, serve, www, change, skip, tmp_path):
    server = serve(www)
    shard = next(www.glob("*-000001.tar"))

    def act():
        content = shard.read_bytes()
        if change == "gone":
            shard.unlink()
        else:
            replace_file(shard, {"longer": content * 2, "shorter": content[:20_000], "empty": b""}[change])
    server.add("*-000001.tar", cut=1000, after=act, skip=skip)  # the client waits for the rest while it changes
    result = remote("extract", server.url, tmp_path / "out")
    assert result.code == FAILURE and "p-000001.tar" in result.error_line()
    changed = "changed" if skip else "its index says"  # what is cut at first was not opened yet
    assert re.search(changed if change != "gone" else "no such file|changed", result.error_line()), result


def test_another_etag_of_the_same_bytes(remote, serve, www, tmp_path):
    """Of a file that was stored again: it may be begun again, or be an error, since nobody can know."""
    server = serve(www)
    shard = next(www.glob("*-000001.tar"))
    server.add("*-000001.tar", cut=10_000)
    server.add("*-000001.tar", times=None, skip=1, headers={"ETag": '"other"'}, ignore_conditions=True)
    result = remote("extract", server.url, tmp_path / "out")
    assert result.code == 0 or ("changed" in result.error_line() and shard.name in result.error_line())


def test_an_index_that_belongs_to_another_version(remote, serve, www, tmp_path):
    """The shards were replaced, their indexes and the manifest not: as on a local disk."""
    replace(www)
    server = serve(www)
    local = remote.bale("verify", www)
    there = remote("verify", server.url)
    assert there.code == local.code != 0  # in the order of the jobs
    assert sorted(there.out.replace(server.url, "X").splitlines()) == sorted(local.out.replace(str(www), "X").splitlines())


# --- wrong bytes

FLIPS = [("*-000001.tar", 2000), ("*-000001.tar", 600), ("*-000001.tar.bidx", 200), ("/manifest.json", 300)]  # an image, padding, ...


@pytest.mark.parametrize("pattern, offset", FLIPS)
@pytest.mark.parametrize("command", ["verify", "extract", "read", "ls"])
def test_wrong_bytes_are_fetched_again(bale, remote, server, pack, pattern, offset, command, tmp_path):
    """Also in headers between samples, which only verify reads, for its digest."""
    fault = server.add(pattern, flip=offset)
    there = remote.ok(command, server.url, *([tmp_path / "out"] if command == "extract" else ["-q"] if command == "read" else []))
    if command in ("verify", "ls"):
        assert there.out == bale.ok(command, pack).out
    assert fault.times == 0 or command == "ls" or offset == 600


@pytest.mark.parametrize("pattern, offset", FLIPS)
@pytest.mark.parametrize("command", ["verify", "extract", "ls"])
def test_wrong_bytes_that_stay_are_damage(bale, remote, server, fresh_copy, pack, pattern, offset, command, tmp_path):
    """Reported as it is for a local dataset with the same damage."""
    local = fresh_copy(pack)
    victim = next(local.glob(pattern.strip("/")))
    content = bytearray(victim.read_bytes())
    content[offset] ^= 1
    victim.write_bytes(content)
    server.add(pattern, times=None, flip=offset)
    here, there = ([run(command, spec, *([tmp_path / name] if command == "extract" else []))
                    for run, spec, name in ((bale, local, "a"), (remote, server.url, "b"))])
    assert there.code == here.code
    assert command == "extract" or there.out.replace(server.url, "X") == here.out.replace(str(local), "X")
    if here.code == FAILURE:
        assert server.url in there.error_line()
    assert len(server.asked(pattern)) <= 6  # it is not fetched forever


def test_wrong_bytes_do_not_stay_in_the_cache(remote, server, expected, tmp_path):
    fault = server.add("*-000001.tar", times=None, flip=2000)
    assert remote("extract", server.url, tmp_path / "out").code == FAILURE
    fault.times = 0
    reads_well(remote, server, expected)


# --- who is asked

def test_a_proxy_of_the_environment(remote, server, expected):
    """It gets the whole URL."""
    with LatencyProxy(server.port, 0) as proxy:
        server.router = lambda request: request.path.removeprefix("http://server.invalid")
        remote.env |= {"http_proxy": proxy.url, "no_proxy": ""}
        assert fields_by_key(remote, "http://server.invalid") == expected
        assert proxy.connections > 0


def test_something_that_does_not_speak_http(remote):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        def answer():
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as connection:
                        connection.recv(4096)
                        connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        threading.Thread(target=answer, daemon=True).start()
        spec = f"http://127.0.0.1:{listener.getsockname()[1]}/packed"
        result = remote("ls", spec, env={"BALE_NETWORK_TIMEOUT": "1"})
        assert result.code in (FAILURE, TRY_AGAIN) and spec in result.error_line()
        listener.shutdown(socket.SHUT_RDWR)
