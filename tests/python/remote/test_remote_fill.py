"""Reading ahead in large requests: a full shuffle fetches neighbors together, and nothing that is not needed."""
import os
import signal
import subprocess
import sys
import time

import pytest
from remote_support import RemoteBale, files_size, heavy_images, pad_cache, remote, sent_without_hedges, serve, watched  # noqa: F401

SAMPLES, EACH, BATCH = 600, 40_000, 16
LOADER = """
import hashlib, sys, bale
name, rank, world = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
loader = bale.Loader(name, 16, workers=2, shuffle=True, seed=3, rank=rank, world_size=world, drop_last=False,
                     transform=bale.transforms.val(16))
digest, count = hashlib.sha256(), 0
for batch in loader:
    for array in (batch.samples, batch.labels, batch.mask, batch.images):
        digest.update(array.tobytes())
    count += len(batch)
print(count, digest.hexdigest())
"""


@pytest.fixture(scope="module")
def data(bale, tmp_path_factory):
    """600 images of 40 KB in three shards."""
    root = tmp_path_factory.mktemp("fill")
    bale.pack(heavy_images(root / "source", SAMPLES, EACH), root / "packed", "--name", "p", "--shard-samples", "200")
    return root / "packed"


@pytest.fixture
def server(data, serve):  # noqa: F811
    return serve(data)


def begin(env, name, rank=0, world=1, script=LOADER, **more):
    return subprocess.Popen([sys.executable, "-c", script, str(name), str(rank), str(world)], text=True,
                            env={**os.environ, **env, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def result(process):
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return out.split()


def test_neighbors_come_together(remote, server, data):
    """The first batch's samples alone, then ranges that begin or end at them; the same batches as from a local disk."""
    assert result(begin(remote.env, server.url)) == result(begin(remote.env, data))
    requests = sent_without_hedges(server, "*.tar")
    assert len(requests) < SAMPLES / 4
    assert server.sent("*.tar") <= 1.02 * files_size(data)
    server.clear()
    assert result(begin(remote.env, server.url)) == result(begin(remote.env, data))
    assert not server.asked("*.tar")


def test_a_cache_without_room(data, server, tmp_path):
    """Nothing is fetched before its time: as many bytes as by one request per sample, and the limit is a ceiling."""
    remote = RemoteBale(None, tmp_path / "cache", BALE_CACHE_LIMIT="64MiB")
    pad_cache(remote.cache, 52 << 20)
    with watched(remote.cache) as seen:
        assert result(begin(remote.env, server.url)) == result(begin(remote.env, data))
    assert max(seen) <= 64 << 20
    assert server.sent("*.tar") <= 1.02 * files_size(data)


def launched(rank, local, world, local_world):
    return {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(local_world)}


def test_ranks_of_a_node_fill_one_cache(remote, server, data):
    """No range is fetched twice, whoever fetches it."""
    ranks = [begin(remote.env, server.url, rank, 2, **launched(rank, rank, 2, 2)) for rank in range(2)]
    found = [result(rank) for rank in ranks]
    assert found == [result(begin(remote.env, data, rank, 2)) for rank in range(2)]
    assert len(sent_without_hedges(server, "*.tar")) < SAMPLES / 3
    assert server.sent("*.tar") <= 1.02 * files_size(data)


def test_a_node_fetches_its_own_share(remote, server, data):
    """Rank 1 of 3, alone on its node, needs a third of the samples: the others are not fetched."""
    ahead = 1 << 20
    script = LOADER.replace("rank=rank", f"reading=bale.Reading(read_ahead_bytes={ahead}), rank=rank")
    found = result(begin(remote.env, server.url, 1, 3, script=script, **launched(1, 0, 3, 1)))
    assert found == result(begin(remote.env, data, 1, 3))
    needed = SAMPLES // 3 * (EACH + 2 * 4096)  # units of the cache at both ends
    assert server.sent("*.tar") <= 1.02 * needed + 2 * ahead  # of the next epoch, too


def test_damage_on_the_way_is_not_delivered(remote, server, data):
    """A large request that brings a wrong byte: the sample is fetched again."""
    server.add("*.tar", flip=3_000_000, times=1)
    assert result(begin(remote.env, server.url)) == result(begin(remote.env, data))


STUCK = LOADER.replace("count += len(batch)", "count += len(batch); print(count, flush=True)")


@pytest.mark.parametrize("end", ["signal", "close"])
def test_the_end_does_not_wait_for_ranges(remote, server, end):
    """Of a server that no longer answers."""
    script = STUCK if end == "signal" else STUCK.replace("print(count", "loader.close(); print('closed'); sys.exit(0); print(count")
    process = begin(remote.env, server.url, script=script)
    if end == "close":
        server.add("*.tar", skip=40, times=None, latency_ms=60_000)
        assert result(process)[0] == "closed"
        return
    assert process.stdout.readline()
    server.add("*.tar", times=None, latency_ms=60_000)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=50)


def test_a_shard_that_is_gone_is_asked_for_once_per_group(remote, server):
    """And not once per sample."""
    server.add("*000001.tar", times=None, status=404)
    process = begin(remote.env, server.url)
    assert process.communicate(timeout=240)[1].count("000001.tar") >= 1
    assert process.returncode != 0
    assert len(server.asked("*000001.tar")) < 60
