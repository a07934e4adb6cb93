"""What the loaders and the program do when the network fails: a shard that cannot be fetched ends the run with a typed error and
costs no sample, a wait can be interrupted, every read has its limit, and what was damaged on its way is fetched again."""
import itertools
import os
import pathlib
import signal
import subprocess

import pytest
from conftest import LONG, fields_by_key
from python_support import ENVIRONMENT, command
from remote_support import RemoteBale, clean_environment, heavy, heavy_tar, remote, serve, time_limit, wait_for  # noqa: F401

USAGE, TRY_AGAIN = 2, 5
POLICIES = ["fail", "skip", "substitute"]
WORKERS = {"processes": {"workers": 2}, "threads": {"workers": 2, "threads": True}, "none": {"workers": 0}}

HEAD = """
    import json, os, signal, sys, threading, time
    import bale

    SPEC = sys.argv[1]
    options = dict(seed=5, transform=bale.transforms.train(32), **json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}"))
"""


@pytest.fixture
def env(tmp_path):
    return clean_environment(tmp_path / "cache")


@pytest.fixture
def server(heavy_tar, serve):
    return serve(heavy_tar)


def run(script, *args, env, **kwargs):
    return subprocess.run(command(script, *args), env={**ENVIRONMENT, **env}, capture_output=True, text=True, timeout=300, **kwargs)


# --- a shard that cannot be fetched

ONE_EPOCH = HEAD + """
    loader = bale.Loader(SPEC, 4, **options)
    if len(sys.argv) > 3:
        os.unlink(sys.argv[3])
    try:
        for batch in loader:
            assert batch.mask.all(), batch.mask
        print("delivered all")
    except bale.Error as error:
        print(json.dumps([error.code, error.path, str(error), len(loader.bad_samples)]))
"""


def error_of(result):
    import json
    assert result.returncode == 0 and result.stdout.startswith("["), result
    return json.loads(result.stdout)


STATUSES = [(403, "io"), (404, "not_found"), (503, "retryable"), (412, "changed")]
# Each pair of a status, a kind of workers and a policy; in the long tier each combination.
ENDS = [(*status, workers, policy) for (i, status), (j, workers), (k, policy) in itertools.product(*map(enumerate, (STATUSES, WORKERS, POLICIES)))
        if LONG or (i + j + k) % 3 == 0]


@pytest.mark.parametrize("status, code, workers, policy", ENDS)
def test_a_shard_that_cannot_be_fetched_ends_the_run(server, env, workers, policy, status, code):
    """Whatever on_bad_sample says: no sample is bad."""
    import json
    server.add("*-000002.tar", times=None, skip=1 if status == 412 else 0, status=status)
    result = run(ONE_EPOCH, server.url, json.dumps({**WORKERS[workers], "on_bad_sample": policy}), env={**env, **time_limit(code)})
    found, path, text, num_bad = error_of(result)
    assert (found, num_bad) == (code, 0) and path.endswith("p-000002.tar") and path in text, result


@pytest.mark.parametrize("workers, policy", [*(itertools.product(WORKERS, POLICIES) if LONG else zip(WORKERS, POLICIES))])
def test_a_local_shard_that_is_gone_ends_the_run(fresh_copy, heavy_tar, env, workers, policy):
    import json
    local = fresh_copy(heavy_tar)
    shard = local / "p-000002.tar"
    result = run(ONE_EPOCH, str(local), json.dumps({**WORKERS[workers], "on_bad_sample": policy}), str(shard), env=env)
    found, path, text, num_bad = error_of(result)
    assert (found, path, num_bad) == ("not_found", str(shard), 0) and path in text, result


@pytest.mark.parametrize("workers", WORKERS)
def test_the_next_call_tries_again(server, env, workers):
    import json
    server.add("*-000002.tar", times=None, status=503)
    env["BALE_NETWORK_TIMEOUT"] = "1"
    script = HEAD + """
    loader = bale.Loader(SPEC, 4, shuffle=False, **options)
    iterator, batches = iter(loader), []
    while True:
        try:
            batches.append(next(iterator).samples.tolist())
        except StopIteration:
            break
        except bale.Error as error:
            print(error.code, flush=True)
            sys.stdin.readline()
    assert sum(batches, []) == list(range(40)), batches
    print("delivered all", len(loader.bad_samples))
    """
    with subprocess.Popen(command(script, server.url, json.dumps(WORKERS[workers])), env={**ENVIRONMENT, **env},
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "retryable\n"
        server.heal()
        out, _ = process.communicate("\n" * 50, timeout=300)
    assert out.splitlines()[-1] == "delivered all 0", out


@pytest.mark.parametrize("command_line", [["bench"], ["convert", ..., "--on-error", "skip"]], ids=lambda words: words[0])
@pytest.mark.parametrize("status, code", [(403, 1), (404, 1), (503, TRY_AGAIN)])
def test_the_program_ends_with_the_type_of_the_error(remote, server, tmp_path, command_line, status, code):
    server.add("*-000002.tar", times=None, status=status)
    words = [tmp_path / "out" if word is ... else word for word in command_line]
    result = remote(words[0], server.url, *words[1:], env=time_limit(code))
    assert result.code == code and "p-000002.tar" in result.error_line(), result


# --- interrupts

def rings():
    """Shared memory of loaders that any process maps."""
    return {path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/maps")
            if "bale ring" in _text(path)}


def _text(path):
    try:
        return path.read_text()
    except OSError:
        return ""


def children_of(pid):
    """Of all its threads."""
    return [int(one) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for one in _text(path).split()]


WAITS = {
    "loader": """
        loader = bale.Loader(SPEC, 4, **options)
        next(iter(loader))
    """,
    "dataset": """
        dataset = bale.Dataset(SPEC)
        dataset[20]
    """,
}
INTERRUPTED = HEAD + """
    print("start", flush=True)
    try:
        {wait}
    except KeyboardInterrupt:
        begin = time.monotonic()
        loader = None
        print("interrupted", flush=True)
        sys.exit(7)
"""


@pytest.mark.parametrize("stalled", ["*.tar", "*"])
@pytest.mark.parametrize("kind", [*WORKERS, "dataset"])
def test_ctrl_c_ends_a_wait_for_a_server(server, env, kind, stalled):
    """Also when the loader is opened. The limits of the network are far away: BALE_NETWORK_TIMEOUT is a day."""
    import json
    server.add(stalled, times=None, stall=-1)
    env["BALE_NETWORK_TIMEOUT"] = "86400"
    wait = WAITS["dataset" if kind == "dataset" else "loader"].strip()
    script = INTERRUPTED.replace("{wait}", wait)
    with subprocess.Popen(command(script, server.url, json.dumps(WORKERS.get(kind, {}))), env={**ENVIRONMENT, **env},
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "start\n"
        wait_for(lambda: server.asked(stalled))
        if kind == "processes" and stalled != "*":
            wait_for(lambda: children_of(process.pid))
        workers = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(60) == 7 and process.stdout.read() == "interrupted\n"
        finally:
            process.kill()
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers))
    assert str(process.pid) not in rings()


@pytest.mark.parametrize("end", ["loader.close()", "del loader", "sys.exit(0)"])
@pytest.mark.parametrize("workers", WORKERS)
def test_a_loader_is_closed_while_its_workers_wait(server, env, workers, end):
    import json
    server.add("*.tar", times=None, stall=-1)
    env["BALE_NETWORK_TIMEOUT"] = "86400"
    script = HEAD + f"""
    loader = bale.Loader(SPEC, 4, **options)
    class Enough(Exception):
        pass
    def enough(*_):
        raise Enough
    signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        next(iter(loader))
    except Enough:
        print("enough", flush=True)
    {end}
    """
    result = run(script, server.url, json.dumps(WORKERS[workers]), env=env)
    assert result.returncode == 0 and result.stdout == "enough\n", result


# --- limits

@pytest.mark.parametrize("fault", [{"stall": -1}, {"stall": 100}, {"bytes_per_s": 1}], ids=str)
@pytest.mark.parametrize("pattern", ["*", "*-000001.tar"])
def test_a_server_that_does_not_end_is_an_error(remote, server, pattern, fault, tmp_path):
    server.add(pattern, times=None, **fault)
    result = remote("extract", server.url, tmp_path / "out", env={"BALE_NETWORK_TIMEOUT": "2"}, timeout=120)
    assert result.code == TRY_AGAIN and server.url in result.error_line(), result
    assert all(request.began - server.log[0].began < 60 for request in server.log)


def test_a_stall_is_followed_by_another_try(remote, server, heavy_tar, bale):
    """The limit of a stall is a part of the limit of a read, so there is time for a new connection."""
    server.add("*-000001.tar", times=1, skip=1, stall=5000)
    assert fields_by_key(remote, server.url) == fields_by_key(bale, heavy_tar)


# --- hedges

def test_a_slow_answer_is_asked_for_again(server, env, heavy_tar, bale):
    """One answer of many does not come: the second request is answered long before the first one would have failed."""
    script = HEAD + """
    dataset = bale.Dataset(SPEC)
    for number in range(40):
        if number == 35:
            print("known", flush=True)
            sys.stdin.readline()
        assert len(dataset[number]["jpg"]) > 90_000
    print("all")
    """
    env["BALE_NETWORK_TIMEOUT"] = "86400"
    with subprocess.Popen(command(script, server.url), env={**ENVIRONMENT, **env}, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "known\n"
        server.clear()
        server.add("*.tar", times=1, stall=-1)
        out, _ = process.communicate("\n", timeout=200)
    assert out == "all\n"
    asked = server.asked("*-000004.tar")
    unanswered = [request.range for request in asked if request.status == 0]
    assert any(request.range in unanswered and request.sent for request in asked), asked


# --- servers without ranges

@pytest.mark.parametrize("fault", [{"whole": True}, {"whole": True, "chunked": True}], ids=str)
def test_a_server_without_ranges_sends_each_file_once(remote, server, heavy_tar, bale, fault):
    server.add("*", times=None, **fault)
    assert fields_by_key(remote, server.url) == fields_by_key(bale, heavy_tar)
    read = [path for path in heavy_tar.iterdir() if server.sent("/" + path.name)]
    assert server.sent() <= 1.02 * sum(path.stat().st_size for path in read)


def test_a_large_file_of_unknown_size(remote, server, heavy_tar, bale, tmp_path):
    """It is fetched once: what comes is kept before its size is known."""
    (tmp_path / "large").mkdir()
    with open(tmp_path / "large" / "x.tar", "wb") as out:
        for _ in range(6):
            for path in sorted(heavy_tar.glob("*.tar")):
                out.write(path.read_bytes()[:-1024])
        out.write(bytes(1024))
    server.folder = tmp_path / "large"
    server.add("*", times=None, whole=True, chunked=True)
    for words in (["ls"], ["read", "--json"], ["verify"]):
        found, expected = remote.ok(*words, f"{server.url}/x.tar"), bale.ok(*words, tmp_path / "large" / "x.tar")
        assert words[0] == "read" or found.out == expected.out
    assert server.statuses("/x.tar") == [200, 304] and server.sent("/x.tar") == (tmp_path / "large" / "x.tar").stat().st_size


# --- damage on the way

ARCHIVES = {"tar": ["--format", "tar"], "zstd": ["--format", "tar", "--compress", "zstd"], "hdf5": ["--format", "hdf5"]}


def middles(bale, folder):
    """(name, offset in the middle) of each file."""
    return [(path.name, path.stat().st_size // 2) for path in sorted(folder.iterdir()) if path.is_file()]


@pytest.mark.parametrize("command_line", [["extract", ..., "out"], ["verify", ...]], ids=lambda words: words[0])
def test_every_file_is_fetched_again_if_it_came_damaged(bale, remote, serve, photos, tmp_path, command_line):
    """Shards, indexes, seek points and manifest, each with one flipped bit in its middle."""
    bale.pack(photos, tmp_path / "packed", "--name", "p", "--shard-samples", "10")
    bale.ok("index", tmp_path / "packed", "--seek-points")
    files = middles(bale, tmp_path / "packed")
    assert {pathlib.Path(name).suffix for name, _ in files} >= {".tar", ".bidx", ".json", ".bseek"}, files
    server = serve(tmp_path / "packed")
    faults = [server.add("/" + name, flip=offset) for name, offset in files]
    words = [server.url if word is ... else str(tmp_path / word) if word == "out" else word for word in command_line]
    remote.ok(*words)
    if command_line[0] == "verify":
        assert [fault.times for fault in faults] == [0] * len(faults)


def test_a_wrong_byte_in_a_header_of_a_tar_without_an_index(bale, remote, serve, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed", "--name", "p")
    for path in (tmp_path / "packed").iterdir():
        if path.suffix != ".tar":
            path.unlink()
    server = serve(tmp_path / "packed")
    fault = server.add("*.tar", flip=120)
    name = next((tmp_path / "packed").iterdir()).name
    assert fields_by_key(remote, f"{server.url}/{name}") == fields_by_key(bale, tmp_path / "packed" / name)
    assert fault.times == 0


# --- names

NAMES = {"http://": "https://HOST/PATH", "https:///x": "https://HOST/PATH", "hf://datasets/owner": "hf://datasets/OWNER/NAME",
         "hf://models/owner/name/x.tar": "hf://datasets/OWNER/NAME", "hf://": "hf://datasets/OWNER/NAME", "s3://": "s3://BUCKET/KEY",
         "s3:///key": "s3://BUCKET/KEY", "ftp://host/x.tar": "download it first",
         "gs://bucket/x": "AWS_ENDPOINT_URL=https://storage.googleapis.com"}


@pytest.mark.parametrize("command_line", ["inspect", "verify", "ls"])
@pytest.mark.parametrize("name", NAMES)
def test_a_malformed_name_is_an_error_of_usage(remote, name, command_line):
    result = remote(command_line, name)
    assert result.code == USAGE and NAMES[name] in result.error_line(), result


# --- S3 without credentials

def test_a_public_bucket_is_read_without_credentials(remote, server, heavy_tar, bale):
    server.router = lambda request: request.path.removeprefix("/bucket/packed")
    remote.env["AWS_ENDPOINT_URL"] = server.url
    assert fields_by_key(remote, "s3://bucket/packed") == fields_by_key(bale, heavy_tar)
    assert not [request for request in server.log if "authorization" in request.headers]


def test_a_private_bucket_needs_credentials(remote, server):
    body = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    server.router = lambda request: (403, {"Content-Type": "application/xml"}, body)
    remote.env["AWS_ENDPOINT_URL"] = server.url
    for name in ("s3://bucket/packed", "s3://bucket/packed/p-000000.tar"):
        line = remote("inspect", name).error_line()
        for words in ("AccessDenied", "no AWS credentials were found", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "web identity", "container",
                      "instance"):
            assert words in line, line


# --- forks and proxies

def test_a_child_of_a_fork_reads_what_its_parent_opened(server, env, heavy_tar):
    """As a DataLoader's workers do with the start method fork."""
    script = HEAD + """
    dataset = bale.Dataset(SPEC)
    first = bytes(dataset[0]["jpg"])
    children = []
    for part in range(3):
        pid = os.fork()
        if pid == 0:
            ok = bytes(dataset[0]["jpg"]) == first and all(len(dataset[i]["jpg"]) > 90_000 for i in range(part, 40, 3))
            os._exit(0 if ok else 1)
        children.append(pid)
    assert len(dataset[39]["jpg"]) > 90_000
    print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children])
    """
    result = run(script, server.url, env=env)
    assert result.stdout == "[0, 0, 0]\n", result
