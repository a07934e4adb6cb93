"""bale.Dataset and the loaders on remote data: the same batches as from local files, over workers, kills, forks and resume."""
import json
import signal
import subprocess

import pytest
from conftest import FORMATS, by_tier, format_options
from python_support import ENVIRONMENT, command, run_script
from remote_support import (  # noqa: F401
    KEY_ID,
    SECRET,
    Hub,
    clean_environment,
    files_size,
    heavy_images,
    rclone,
    replace_file,
    serve,
    time_limit,
    wait_for,
)
from torch_support import torch  # noqa: F401 - a fixture

import bale as bl

PACK_OPTIONS = ["--name", "p", "--shard-samples", "8"]
MIB = 1 << 20

# A process of its own for each: what a process knows of the cache it learns once.
HEAD = """
    import hashlib, json, os, pickle, signal, sys, threading, time
    import bale

    SPEC = sys.argv[1]
    options = dict(seed=5, transform=bale.transforms.train(32), **json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}"))
    options["reading"] = bale.Reading(**options.get("reading", {}))

    def digest(batch):
        hashed = hashlib.sha256()
        for array in (batch.samples, batch.labels, batch.mask, batch.images):
            hashed.update(array.tobytes())
        return hashed.hexdigest()
"""
STREAM = HEAD + """
    with bale.Loader(SPEC, 4, **options) as loader:
        for epoch in range(2):
            for batch in loader:
                print(digest(batch))
        assert not loader.bad_samples
"""


@pytest.fixture
def env(tmp_path):
    return clean_environment(tmp_path / "cache")


@pytest.fixture
def server(pack, serve):
    server = serve(pack)
    yield server
    assert not server.asked(method="HEAD")


@pytest.fixture(scope="module")
def heavy(bale, tmp_path_factory):
    """40 images of 100 KB in five shards."""
    root = tmp_path_factory.mktemp("heavy")
    bale.pack(heavy_images(root / "source", 40, 100_000), root / "packed", *PACK_OPTIONS)
    return root / "packed"


def stream(spec, env, **options):
    return run_script(STREAM, spec, json.dumps(options), **env)


def start(script, *args, env):
    return subprocess.Popen(command(script, *args), env={**ENVIRONMENT, **env}, stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ends_well(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


# --- the stream

WAYS = [{"workers": 0}, {"workers": 2}, {"workers": 2, "threads": True}, {"workers": 2, "reading": {"read_ahead_bytes": 0}},
        {"workers": 2, "reading": {"large_transfers": True}}, {"workers": 2, "shuffle": False}]


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_the_stream_is_that_of_local_files(pack, server, env, options):
    """With a cold cache and with a warm one."""
    local = stream(pack, env, **options)
    assert len(local.split()) == 20
    assert stream(server.url, env, **options) == local
    server.clear()
    assert stream(server.url, env, **options) == local
    assert set(server.statuses()) <= {304, 404} and server.sent() == 0


@pytest.mark.parametrize("name", FORMATS)
def test_every_format(bale, photos, serve, env, name, tmp_path):
    bale.pack(photos, tmp_path / "packed", *PACK_OPTIONS, *format_options(name))
    assert stream(serve(tmp_path / "packed").url, env, workers=2) == stream(tmp_path / "packed", env, workers=0)


def test_no_cache(pack, server, env):
    """Then workers fetch for themselves."""
    assert stream(server.url, {**env, "BALE_CACHE_DIR": "none"}, workers=2) == stream(pack, env, workers=0)


def test_an_epoch_fetches_each_byte_once(heavy, serve, env):
    """By two workers that share the cache."""
    server = serve(heavy)
    server.add("*", times=None, latency_ms=2)
    assert stream(server.url, env, workers=2) == stream(heavy, env, workers=0)
    assert server.sent() <= 1.02 * files_size(heavy)


def test_half_of_the_dataset_in_the_cache(bale, serve, env, tmp_path):
    """136 MiB of images, and the least limit that there is. (test_remote_cache.py tests that it holds.)"""
    bale.pack(heavy_images(tmp_path / "source", 136, MIB), tmp_path / "packed", *PACK_OPTIONS)
    server = serve(tmp_path / "packed")
    env["BALE_CACHE_LIMIT"] = "64MiB"
    assert stream(server.url, env, workers=2) == stream(tmp_path / "packed", env, workers=2)


RANK = HEAD + """
    with bale.Loader(SPEC, 4, world_size=2, rank=options.pop("rank"), **options) as loader:
        print(json.dumps([digest(batch) for batch in loader]))
"""


def test_ranks_share_the_cache(heavy, serve, env):
    server = serve(heavy)
    server.add("*", times=None, latency_ms=5)

    def ranks(spec):
        return [ends_well(run) for run in [start(RANK, spec, json.dumps({"rank": rank, "workers": 2}), env=env) for rank in (0, 1)]]
    assert ranks(server.url) == ranks(heavy)
    assert server.sent() <= 1.02 * files_size(heavy)


def test_a_worker_that_is_killed_costs_nothing(pack, server, env):
    """Also while it fetches."""
    server.add("*.tar", times=None, latency_ms=20)
    script = HEAD + """
    with bale.Loader(SPEC, 4, **options) as loader:
        for step, batch in enumerate(batch for _ in range(2) for batch in loader):
            print(digest(batch))
            if step in (0, 3, 11):
                while not (pids := loader.worker_pids):
                    time.sleep(0.01)
                os.kill(pids[-1], signal.SIGKILL)
        assert not loader.bad_samples
    """
    assert run_script(script, server.url, '{"workers": 2, "prefetch": 2}', **env) == stream(pack, env, workers=0)


@pytest.mark.parametrize("stop", [1, 7, 10, 13])
def test_resume(pack, server, env, stop):
    """A state of remote data continues with local ones, and the other way round."""
    take = HEAD + f"""
    with bale.Loader(SPEC, 4, **options) as loader:
        taken = 0
        while taken < {stop}:
            for batch in loader:
                taken += 1
                if taken == {stop}:
                    print(json.dumps(loader.state_dict()))
                    break
    """
    go_on = HEAD + """
    with bale.Loader(SPEC, 4, **options) as loader:
        loader.load_state_dict(json.loads(sys.argv[3]))
        print(json.dumps([digest(batch) for batch in loader]))
    """
    states = [run_script(take, spec, '{"workers": 2}', **env) for spec in (pack, server.url)]
    assert states[0] == states[1]
    rests = [run_script(go_on, spec, '{"workers": 2}', states[0], **env) for spec in (pack, server.url)]
    assert rests[0] == rests[1] and len(json.loads(rests[0])) == (10 - stop % 10) % 10


# --- random access

ACCESS = HEAD + """
    dataset = bale.Dataset(SPEC)
    def content(dataset):
        hashed = hashlib.sha256(repr((len(dataset), list(dataset.keys))).encode())
        for i in reversed(range(len(dataset))):
            hashed.update(repr(sorted(dataset[i].items())).encode())
        return hashed.hexdigest()
"""


@pytest.mark.parametrize("name", FORMATS)
def test_dataset(bale, photos, serve, env, name, tmp_path):
    bale.pack(photos, tmp_path / "packed", *PACK_OPTIONS, *format_options(name))
    script = ACCESS + "    print(content(dataset), content(pickle.loads(pickle.dumps(dataset))))"
    assert run_script(script, serve(tmp_path / "packed").url, **env) == run_script(script, tmp_path / "packed", **env)


def test_a_list_of_urls(pack, server, env):
    script = HEAD + """
    names = [f"{SPEC}/p-00000{number}.tar" for number in (3, 0)]
    dataset = bale.Dataset(names)
    print(len(dataset), list(dataset.keys), dataset.spec.replace(SPEC, "SPEC"))
    """
    assert run_script(script, server.url, **env) == run_script(script, pack, **env)


def test_threads(pack, server, env):
    script = ACCESS + """
    found = []
    threads = [threading.Thread(target=lambda: found.append(content(dataset))) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(len(found), *set(found))
    """
    assert run_script(script, server.url, **env) == run_script(script, pack, **env)


@pytest.mark.parametrize("used", [False, True], ids=["unused", "used before"])
def test_forks(pack, server, env, used):
    """A child has none of the parent's threads and must not use its connections; the parent continues, too."""
    script = ACCESS + f"""
    first = {used} and content(dataset)
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            os.write(1, content(dataset).encode() + b"\\n")  # in one piece
            os._exit(0)
        children.append(pid)
    os.write(1, content(dataset).encode() + b"\\n")
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    """
    out = run_script(script, server.url, **env).split()
    assert len(out) == 5 and set(out) == set(run_script(script, pack, **env).split())


def test_fork_while_a_thread_fetches(pack, server, env):
    """No lock is left behind."""
    server.add("*", times=None, latency_ms=20)
    script = ACCESS + """
    expected = []
    thread = threading.Thread(target=lambda: expected.append(content(bale.Dataset(SPEC))))
    thread.start()
    for _ in range(8):
        time.sleep(0.02)
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            print(content(dataset), flush=True)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    thread.join()
    print(*expected)
    """
    assert len(set(run_script(script, server.url, **env).split())) == 1


# --- errors

def caught(script, *args, env):
    """What an error says: its code and its text."""
    out = run_script(HEAD + f"""
    try:
        {script}
    except bale.Error as error:
        print(error.code, error)
    """, *args, **env)
    code, _, text = out.partition(" ")
    return code, text


READ = "[bale.Dataset(SPEC)[i] for i in range(40)]"
LOAD = "[batch for batch in bale.Loader(SPEC, 4, **options)]"


ERRORS = [({"status": 404}, "not_found"), ({"status": 403}, "io"), ({"status": 503}, "retryable"), ({"cut": 0}, "retryable")]


@pytest.mark.parametrize("script, pattern, fault, code", [
    pytest.param(script, pattern, fault, code, id=f"{name}-{pattern}-{fault}")
    for name, script in (("Dataset", READ), ("Loader", LOAD)) for pattern in ("*", "*-000003.tar") for fault, code in ERRORS])
def test_errors_have_codes(server, env, script, pattern, fault, code):
    """No policy for bad samples is asked about a server that fails."""
    server.add(pattern, times=None, **fault)
    found, text = caught(script, server.url, '{"workers": 2}', env={**env, **time_limit(code)})
    assert found == code and server.url in text and (pattern == "*" or "p-000003.tar" in text), (found, text)


def test_a_file_that_changes_is_an_error(serve, pack, env, fresh_copy):
    www = fresh_copy(pack, "www")
    server = serve(www)
    shard = www / "p-000003.tar"

    def replace():
        replace_file(shard, shard.read_bytes()[::-1])
    server.add("*-000003.tar", cut=1000, after=replace)  # the client waits for the rest while it changes
    code, text = caught(READ, server.url, env=env)
    assert code in ("changed", "damaged") and "p-000003.tar" in text  # damaged: it was not opened before


REPLACED = HEAD + """
    dataset = bale.Dataset(SPEC)
    first = dataset.version
    os.rename(sys.argv[3], sys.argv[3] + ".old")
    os.rename(sys.argv[4], sys.argv[3])
    try:
        dataset[len(dataset) - 1]
    except bale.Error as error:
        print(error.code)
    print(bale.Dataset(SPEC).version != first)
"""


def test_a_dataset_that_is_replaced_is_an_error(bale, photos, serve, pack, env, fresh_copy, tmp_path):
    """Also where its shard is gone; the process then opens the other one."""
    www = fresh_copy(pack, "www")
    bale.pack(photos, tmp_path / "other", "--name", "p", "--shard-samples", "30")
    assert run_script(REPLACED, serve(www).url, "{}", www, tmp_path / "other", **env).split() == ["changed", "True"]


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_an_outage_condemns_no_sample(pack, server, env, policy):
    """The server is away for longer than the time limit: the loader says so, and continues when it is back. As after
    storage_timeout_s, who calls again gets the same batches"""
    env["BALE_NETWORK_TIMEOUT"] = "1"
    server.add("*-000003.tar", times=None, status=503)
    script = HEAD + """
    with bale.Loader(SPEC, 4, shuffle=False, on_bad_sample=sys.argv[3], **options) as loader:
        iterator, found = iter(loader), []
        while True:
            try:
                found.append(digest(next(iterator)))
            except StopIteration:
                break
            except bale.Error as error:
                assert error.code == "retryable", error
                print("away", flush=True)
                sys.stdin.readline()
        assert not loader.bad_samples
        print(len(found), *found)
    """
    process = subprocess.Popen(command(script, server.url, '{"workers": 2}', policy), env={**ENVIRONMENT, **env}, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == "away\n", process.stderr.read()
    server.heal()
    out, err = process.communicate("\n" * 100, timeout=120)
    assert process.returncode == 0, err
    expected = run_script(HEAD + """
    with bale.Loader(SPEC, 4, shuffle=False, **options) as loader:
        print(10, *[digest(batch) for batch in loader])
    """, pack, '{"workers": 0}', **env)
    assert out.splitlines()[-1] + "\n" == expected


@pytest.mark.parametrize("call", ["dataset.key(20)", "dataset.label(20)", "dataset.find(key)"])
def test_other_threads_run_while_an_index_is_fetched(server, env, call, pack):
    """Until the index comes, a thread that needs it does not hold the GIL."""
    key = bl.Dataset(pack).key(20)
    server.add("*.bidx", times=None, stall=-1, stall_s=1)
    run_script(HEAD + f"""
        dataset, key = bale.Dataset(SPEC), {key!r}
        expected, since, pauses = None, time.monotonic(), []
        def ask():
            global expected
            expected = {call}
        asking = threading.Thread(target=ask)
        asking.start()
        while asking.is_alive():
            time.sleep(0.01)
            pauses.append(time.monotonic() - since)
            since = time.monotonic()
        assert expected == {call} and len(pauses) > 40 and max(pauses) < 0.6, (len(pauses), max(pauses))
    """, server.url, **env)


@pytest.mark.parametrize("script", [READ, LOAD], ids=["Dataset", "Loader"])
def test_an_interrupt_ends_a_stall(server, env, script):
    server.add("*.tar", times=None, stall=100)
    process = start(HEAD + f"    {script}", server.url, '{"workers": 2}', env=env)
    try:
        wait_for(lambda: server.sent("*.tar"))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert "KeyboardInterrupt" in err and process.returncode in (1, -signal.SIGINT, 130)


def test_wrong_bytes_are_fetched_again(pack, server, env):
    faults = [server.add(f"*-00000{number}.tar", flip=2000) for number in range(5)]
    assert stream(server.url, env, workers=2) == stream(pack, env, workers=0)
    assert all(fault.times == 0 for fault in faults)


@pytest.mark.parametrize("script", [READ, LOAD], ids=["Dataset", "Loader"])
def test_secrets_are_never_shown(pack, server, env, script):
    """In no message of an exception, and by no worker."""
    server.add("*", times=None, status=403)
    spec = server.url.replace("//", "//user:PassWordInTheUrl@") + "/p-000000.tar?X-Amz-Signature=SignatureInTheQuery"
    _, text = caught(script, spec, '{"workers": 2}', env={**env, "AWS_SECRET_ACCESS_KEY": SECRET, "HF_TOKEN": "hf_TokenOfTests"})
    assert "p-000000.tar" in text
    assert not any(secret in text for secret in ("PassWordInTheUrl", "SignatureInTheQuery", SECRET, "hf_TokenOfTests"))


# --- other servers

def test_s3(pack, rclone, env, tmp_path):
    spec = rclone.put_tree("packed/a=b c", pack)
    assert stream(spec, {**env, **rclone.env}, workers=2) == stream(pack, env, workers=0)
    code, text = caught(READ, spec, env={**env, **rclone.env, "AWS_SECRET_ACCESS_KEY": "x", "BALE_CACHE_DIR": str(tmp_path / "other")})
    assert "credentials" in text and KEY_ID not in text and SECRET not in text


def test_the_hub(pack, env):
    hub = Hub(pack.parent)
    try:
        spec = f"hf://datasets/{hub.OWNER}/{hub.NAME}/{pack.name}"
        assert stream(spec, {**env, **hub.env}, workers=2) == stream(pack, env, workers=0)
    finally:
        hub.close()


def test_faults_of_every_kind(pack, server, env):
    """Under a loader with two workers. Wrong bytes come once for each shard: what is wrong twice is damage."""
    for number in range(by_tier(4, 12)):
        for turn, fault in enumerate([{"cut": 100}, {"status": 503}, {"cut": 0, "reset": True},
                                      {"status": 429, "headers": {"Retry-After": 0}}, {"stall": 5, "stall_s": 0.2}]):
            server.add("*", skip=5 * number + turn, **fault)
    for number in range(5):
        server.add(f"*-00000{number}.tar", flip=2000)
    server.refuse = 0.1
    assert stream(server.url, env, workers=2) == stream(pack, env, workers=0)


# --- torch

TORCH = """
    import hashlib, json, sys
    import torch
    import bale, bale.torch

    def digest(images, labels):
        return hashlib.sha256(images.contiguous().numpy().tobytes() + labels.numpy().tobytes()).hexdigest()
    def main(spec):
"""


def test_torch_loader(torch, pack, server, env):
    script = TORCH + """
        with bale.torch.Loader(spec, 4, workers=2, seed=5, transform=bale.transforms.train(32)) as loader:
            for _ in range(2):
                for images, labels in loader:
                    print(digest(images, labels))
    main(sys.argv[1])
    """
    expected = torch(script, pack, **env)
    assert len(expected.split()) == 20
    assert torch(script, server.url, **env) == expected


def test_torch_dataloader(torch, pack, server, env):
    """In the process itself, then by forked workers of an ordinary DataLoader over the bale.Dataset that the parent has used."""
    script = TORCH + """
        dataset = bale.Dataset(spec)
        for workers in (0, 2):
            loader = torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=workers, collate_fn=list,
                                                 timeout=60 * bool(workers))
            for samples in loader:
                print(hashlib.sha256(repr([sorted(sample.items()) for sample in samples]).encode()).hexdigest())
    main(sys.argv[1])
    """
    assert torch(script, server.url, **env) == torch(script, pack, **env)


def test_the_package_says_what_it_reads():
    for thing in (bl.Dataset, bl.Loader):
        assert "http" in thing.__doc__ and "s3://" in thing.__doc__, thing
