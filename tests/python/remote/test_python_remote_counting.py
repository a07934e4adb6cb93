"""bale.Loader over tars without an index: batches come before the last shards are asked for, each byte is fetched once, and the
stream is that of indexed shards, whatever workers, ranks and resumes."""
import json
import os
import shutil
import subprocess

import pytest
from conftest import shards
from python_support import ENVIRONMENT, command, run_script
from remote_support import RANGES, clean_environment, files_size, foreign_tars, serve, without_ranges  # noqa: F401

SHARDS, EACH, BATCH = 16, 6, 4
PATTERN = "x-{000000..000015}.tar"
LAST = "/x-000015.tar"
MIB = 1 << 20

SCRIPT = """
    import hashlib, json, sys, warnings
    import bale
    spec, more, runs = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
    more["order"] = bale.Order(**more.get("order", {}))
    found = []
    for run in runs:
        state, epochs, stop = run.pop("state", None), run.pop("epochs", 1), run.pop("stop", None)
        with bale.Loader(spec, %d, seed=5, transform=bale.transforms.train(32), **more, **run) as loader:
            if state:
                loader.load_state_dict(state)
            digests, positions = [], []
            for epoch in range(epochs):
                for batch in loader:
                    hashed = hashlib.sha256()
                    for array in (batch.samples, batch.labels, batch.mask, batch.images):
                        hashed.update(array.tobytes())
                    digests.append(hashed.hexdigest())
                    positions.append(batch.samples.tolist())
                    if len(digests) == stop:
                        break
                if stop:
                    break
            found.append({"digests": digests, "positions": positions, "state": loader.state_dict()})
    print(json.dumps(found))
""" % BATCH


def batches(spec, env, runs, **more):
    return json.loads(run_script(SCRIPT, spec, json.dumps(more), json.dumps(runs), **env))


@pytest.fixture(scope="module")
def foreign(bale, tmp_path_factory):
    """Tars alone, of 900 KB each."""
    return foreign_tars(bale, tmp_path_factory.mktemp("foreign"), SHARDS, EACH)


@pytest.fixture(scope="module")
def indexed(bale, foreign, tmp_path_factory):
    """The same tars with indexes."""
    folder = tmp_path_factory.mktemp("indexed")
    for shard in shards(foreign):
        os.link(shard, folder / shard.name)
    bale.ok("index", f"{folder}/{PATTERN}")
    return folder


@pytest.fixture
def server(foreign, serve):  # noqa: F811
    return serve(foreign)


FIRST = """
    import sys, bale
    with bale.Loader(sys.argv[1], 4, shuffle=sys.argv[2] == "stream" and "stream", order=bale.Order(block_samples=4, window_blocks=3),
                     workers=int(sys.argv[3]), transform=bale.transforms.train(32)) as loader:
        count = 0
        for batch in loader:
            count += len(batch.samples)
            if count == 4:
                print("first", flush=True)
        print(count, len(loader))
"""


@pytest.mark.parametrize("order, workers", [("stored", 2), ("stream", 0)])
def test_the_first_batch_comes_before_the_last_shard_answers(server, tmp_path, order, workers):
    import threading
    printed = threading.Event()
    server.add(LAST, times=None, before=lambda: printed.wait(60))
    process = subprocess.Popen(command(FIRST, f"{server.url}/{PATTERN}", order, str(workers)), text=True, stdout=subprocess.PIPE,
                               env={**ENVIRONMENT, **clean_environment(tmp_path / "cache")})
    assert process.stdout.readline() == "first\n" and not printed.is_set()
    printed.set()
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and out.split() == [str(SHARDS * EACH), str(SHARDS * EACH // BATCH)]


RUNS = [{"workers": 2, "epochs": 2}, {"workers": 0, "world_size": 2, "rank": 1, "epochs": 2},
        {"workers": 2, "world_size": 3, "rank": 0, "stop": 3}, {"workers": 0, "tail": "drop", "world_size": 5, "epochs": 2}]


@pytest.mark.parametrize("place", ["server", "disk"])
@pytest.mark.parametrize("shuffle", [False, "stream"])
def test_the_stream_is_that_of_indexed_shards(server, foreign, indexed, shuffle, place, tmp_path):
    """Positions and pixels: of whole epochs, of ranks, and from a state on, in another process with a cache of its own."""
    more = {"shuffle": shuffle, "order": {"block_samples": 4, "window_blocks": 5}}
    env = clean_environment(tmp_path / "cache")
    spec = f"{foreign}/{PATTERN}" if place == "disk" else f"{server.url}/{PATTERN}"
    expected = batches(f"{indexed}/{PATTERN}", env, RUNS, **more)
    found = batches(spec, env, RUNS, **more)
    assert [run["digests"] for run in found] == [run["digests"] for run in expected]
    state = found[2]["state"]
    assert state["position"] == 3 * 3 * BATCH
    rest = batches(spec, clean_environment(tmp_path / "other"), [{"state": state, "workers": 2, "epochs": 2}], **more)
    assert rest[0]["digests"] == found[0]["digests"][state["position"] // BATCH:]
    indexed_since = batches(f"{indexed}/{PATTERN}", env, [{"state": state, "workers": 0, "epochs": 2}], **more)
    assert indexed_since[0]["digests"] == rest[0]["digests"]


def test_a_stream_is_shuffled(foreign, tmp_path):
    """Within its windows in the first epoch, over all of the dataset in the second; other seeds and epochs differ."""
    window = 20
    (run,) = batches(f"{foreign}/{PATTERN}", clean_environment(tmp_path / "cache"), [{"workers": 0, "epochs": 2}],
                     shuffle="stream", order={"block_samples": 4, "window_blocks": 5})
    samples = [one for batch in run["positions"] for one in batch]
    first, second = samples[:SHARDS * EACH], samples[SHARDS * EACH:]
    assert sorted(first) == sorted(second) == list(range(SHARDS * EACH))
    assert [one // window for one in first] == sorted(one // window for one in first)
    assert all(first[at:at + window] != sorted(first[at:at + window]) for at in range(0, SHARDS * EACH - window, window))
    assert [one // window for one in second] != sorted(one // window for one in second)


@RANGES
@pytest.mark.parametrize("shuffle", [False, "stream"])
def test_each_byte_is_fetched_once(server, foreign, tmp_path, ranges, shuffle):
    without_ranges(server, ranges)
    batches(f"{server.url}/{PATTERN}", clean_environment(tmp_path / "cache"), [{"workers": 2, "epochs": 2}], shuffle=shuffle)
    assert files_size(foreign) <= server.sent("*.tar") <= 1.02 * files_size(foreign)


def test_each_byte_is_fetched_once_through_a_small_cache(foreign, serve, tmp_path):  # noqa: F811
    """Of half of the dataset's size."""
    folder = tmp_path / "www"
    folder.mkdir()
    for copy in range(9):
        for shard in shards(foreign):
            os.link(shard, folder / f"{copy}-{shard.name}")
    assert files_size(folder) > 1.9 * 64 * MIB
    server = serve(folder)
    spec = "::".join(f"{server.url}/{copy}-{PATTERN}" for copy in range(9))
    batches(spec, clean_environment(tmp_path / "cache", BALE_CACHE_LIMIT="64MiB"), [{"workers": 2}], shuffle=False)
    for copy in range(1, 9):  # the first shards are read ahead for the next epoch
        assert files_size(foreign) <= server.sent(f"*/{copy}-x-*.tar") <= 1.02 * files_size(foreign)


def test_a_damaged_shard_comes_in_its_turn(foreign, serve, tmp_path):  # noqa: F811
    """What lies before it is delivered; then the error names it, again at each call."""
    folder = tmp_path / "www"
    folder.mkdir()
    for shard in shards(foreign):
        shutil.copy(shard, folder)
    with open(folder / LAST[1:], "r+b") as file:
        file.write(b"no tar" * 200)
    script = """
        import sys, bale
        with bale.Loader(sys.argv[1], 4, shuffle=False, workers=0, transform=bale.transforms.train(32)) as loader:
            count, batches = 0, iter(loader)
            for _ in range(2):
                try:
                    while True:
                        count += len(next(batches).samples)
                except bale.Error as error:
                    print(count, error.code, error.path.rsplit("/", 1)[1])
    """
    out = run_script(script, f"{serve(folder).url}/{PATTERN}", **clean_environment(tmp_path / "cache"))
    lines = out.splitlines()
    count, _, name = lines[0].split()
    assert lines == [lines[0]] * 2 and name == LAST[1:]
    assert (SHARDS - 1) * EACH - BATCH < int(count) <= (SHARDS - 1) * EACH


def test_another_dataset_is_refused(foreign, tmp_path):
    """A state names the shards: one of other shards, of another seed, or of other samples is an error."""
    env = clean_environment(tmp_path / "cache")
    (run,) = batches(f"{foreign}/{PATTERN}", env, [{"workers": 0, "stop": 2}], shuffle=False)
    script = """
        import json, sys, bale
        for spec, more in json.loads(sys.argv[2]):
            more["order"] = bale.Order(**more.get("order", {}))
            with bale.Loader(spec, 4, workers=0, transform=bale.transforms.train(32), shuffle=False, **more) as loader:
                try:
                    loader.load_state_dict(json.loads(sys.argv[1]))
                    print("loaded")
                except ValueError:
                    print("refused")
    """
    spec = f"{foreign}/{PATTERN}"
    cases = [(spec, {"seed": 5}), (f"{foreign}/x-{{000001..000015}}.tar", {"seed": 5}), (spec, {"seed": 6}),
             (spec, {"seed": 5, "order": {"subset": list(range(40))}})]
    assert run_script(script, json.dumps(run["state"]), json.dumps(cases), **env).split() == ["loaded"] + ["refused"] * 3
