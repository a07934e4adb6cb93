"""A cache that has room for half of a dataset: what is fetched, compared with the best possible (Belady's MIN, simulated at the
granularity of samples) and with LRU."""
import heapq
import random
import shutil
import textwrap
import threading

import pytest
from python_support import run_script
from remote_support import disk_use, files_size, heavy_images, remote, serve, watched  # noqa: F401

MIB = 1 << 20
SAMPLES, SAMPLE_BYTES, EPOCHS = 1300, 105_000, 3
LIMIT = 65 * MIB


@pytest.fixture(scope="module")
def halved(bale, tmp_path_factory):
    """130 MiB in 9 shards: twice the limit."""
    root = tmp_path_factory.mktemp("halved")
    source = heavy_images(root / "source", SAMPLES, SAMPLE_BYTES)
    bale.pack(source, root / "packed", "--name", "p", "--shard-samples", "150")
    shutil.rmtree(source)
    return root / "packed"


def simulated(farthest_next_use, capacity):
    """Samples that are fetched in all epochs of a full shuffle by a cache of so many samples."""
    rng = random.Random(1)
    uses = [sample for _ in range(EPOCHS) for sample in rng.sample(range(SAMPLES), SAMPLES)]
    following, seen = [0] * len(uses), {}
    for at in range(len(uses) - 1, -1, -1):
        following[at] = seen.get(uses[at], len(uses))
        seen[uses[at]] = at
    fetched, cached, heap = 0, {}, []
    for at, sample in enumerate(uses):
        fetched += sample not in cached
        cached[sample] = -following[at] if farthest_next_use else at
        heapq.heappush(heap, (cached[sample], sample))
        while len(cached) > capacity:
            rank, victim = heapq.heappop(heap)
            if cached.get(victim) == rank:
                del cached[victim]
    return fetched


def test_half_a_dataset(remote, halved, serve):
    """Some percent above the optimum: what is read ahead, whole units of 4 KiB, and metadata take room and bytes, too."""
    server = serve(halved)
    remote.env["BALE_CACHE_LIMIT"] = str(LIMIT)
    with watched(remote.cache) as seen:
        remote.ok("read", "-q", server.url, "--order", "full", "--epochs", str(EPOCHS), "--jobs", "2")
    capacity = LIMIT // SAMPLE_BYTES
    best, lru = (simulated(farthest, capacity) * SAMPLE_BYTES for farthest in (True, False))
    fetched = server.sent("*.tar")
    assert best <= 1.01 * fetched  # the simulated orders are other ones
    assert fetched <= 1.08 * best < 0.85 * lru
    assert LIMIT // 2 <= max(seen) <= LIMIT
    assert fetched >= files_size(halved)


MIXES = """
    import sys, bale
    url = sys.argv[1]
    sources = {"a": f"{url}/p-{{000000..000004}}.tar", "b": f"{url}/p-{{000005..000008}}.tar"}
    with bale.Loader(sources, 50, shares={"a": 750, "b": 550}, workers=0, epoch_samples=260, transform=bale.transforms.raw()) as loader:
        assert sum(len(batch.keys) for _ in range(15) for batch in loader) == 15 * 260
"""


def test_a_mixture_of_twice_the_cache(remote, halved, serve):
    """Its epochs are a fifth of a pass, so samples come again in another epoch."""
    server = serve(halved)
    remote.env["BALE_CACHE_LIMIT"] = str(LIMIT)
    run_script(textwrap.dedent(MIXES), server.url, **remote.env)
    best, lru = (simulated(farthest, LIMIT // SAMPLE_BYTES) * SAMPLE_BYTES for farthest in (True, False))
    assert server.sent("*.tar") <= 1.1 * best < 0.9 * lru


def test_several_readers_of_one_cache(remote, halved, serve):
    """Two orders of the same dataset: each byte that one has fetched is there for the other, within the limit."""
    server = serve(halved)
    remote.env["BALE_CACHE_LIMIT"] = str(LIMIT)
    failed = []

    def read(seed):
        result = remote("read", "-q", server.url, "--order", "full", "--shuffle", str(seed), "--epochs", "2", "--jobs", "1")
        if result.code != 0:
            failed.append(result)
    threads = [threading.Thread(target=read, args=(seed,)) for seed in (1, 2)]
    with watched(remote.cache) as seen:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed and max(seen) <= LIMIT
    assert server.sent("*.tar") < 4 * files_size(halved)
