"""One table: the batches of every rank, whole and resumed in mid-epoch, from a local disk and from a server, without a cache, with a
full one, and with one that has room for half of the dataset, so that it evicts."""
import json

import pytest
from python_support import run_script
from remote_support import clean_environment, disk_use, heavy, heavy_tar, pad_cache, serve  # noqa: F401

MIB = 1 << 20
LIMIT = 64 * MIB
RANKS = [(world, rank) for world in (1, 2, 3) for rank in range(world)]
STOP = 2  # batches before the state is taken

SCRIPT = """
    import hashlib, json, sys
    import bale

    def digest(batch):
        hashed = hashlib.sha256()
        for array in (batch.samples, batch.labels, batch.mask, batch.images):
            hashed.update(array.tobytes())
        return hashed.hexdigest()

    spec, ranks, states, found = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]), []
    for number, (world, rank) in enumerate(ranks):
        with bale.Loader(spec, 4, world_size=world, rank=rank, workers=number %% 2 * 2, seed=5,
                         transform=bale.transforms.train(32)) as loader:
            if states:
                loader.load_state_dict(states[number])
                found.append([digest(batch) for batch in loader])
                continue
            digests, state = [], None
            for epoch in range(2):
                for batch in loader:
                    digests.append(digest(batch))
                    if len(digests) == %d:
                        state = loader.state_dict()
            found.append([digests, state])
    print(json.dumps(found))
""" % STOP


def run(spec, env, states=()):
    return json.loads(run_script(SCRIPT, spec, json.dumps(RANKS), json.dumps(states), **env))


@pytest.fixture(scope="module")
def expected(heavy_tar, tmp_path_factory):
    """[(batches, state)] and [batches after the state], of each rank."""
    env = clean_environment(tmp_path_factory.mktemp("unused"))
    whole = run(heavy_tar, env)
    return whole, run(heavy_tar, env, [state for _, state in whole])


def test_local(expected):
    """What the table compares with: every rank has other batches, and a state continues with the rest of its epoch."""
    whole, rests = expected
    assert len({digest for digests, _ in whole for digest in digests}) >= 3 * 2 * 10
    for (digests, _), rest in zip(whole, rests):
        assert rest == digests[STOP:len(digests) // 2] and rest


@pytest.mark.parametrize("place", ["no cache", "cache", "half a cache"])
def test_remote(heavy_tar, serve, expected, place, tmp_path):
    server = serve(heavy_tar)
    cache = tmp_path / "cache"
    env = clean_environment("none" if place == "no cache" else cache, BALE_CACHE_LIMIT=LIMIT)
    if place == "half a cache":
        pad_cache(cache, LIMIT - 2_500_000)
    whole = run(server.url, env)
    assert whole == expected[0]
    states = [state for _, state in whole]
    sent = server.sent("*.tar")
    assert run(server.url, env, states) == expected[1]
    assert (server.sent("*.tar") == sent) == (place == "cache")
    assert place == "no cache" or disk_use(cache) <= LIMIT
