"""Indexes lie in memory once, and all workers read them there."""
import pytest
from python_support import worker_pids

import bale as bl
from bale import transforms

MANY, FEW = 120_000, 100
LONG_KEY = 120


def packed(tmp_path, count, shards):
    """Many tiny samples: an index larger than what it is of."""
    path = tmp_path / f"{count}-{shards}"
    with bl.Writer(path, format="lmdb", shard_samples=count // shards) as writer:
        writer.add_many((f"{number:0{LONG_KEY}}" for number in range(count)),
                        {"txt": (b"%d" % number for number in range(count))})
    return path


def memory_of_workers(path):
    """Bytes of its own that each worker has after an epoch, and whether it has mapped the shared indexes."""
    with bl.Loader(path, 256, transform=transforms.raw(), reading=bl.Reading(field="txt"), workers=2, seed=1) as loader:
        texts = [image.tobytes() for batch in loader for image in batch.images]
        assert sorted(map(int, texts)) == list(range(len(texts)))
        own, maps = [], []
        for pid in worker_pids(loader):
            rollup = open(f"/proc/{pid}/smaps_rollup").read()
            own.append(int(rollup.split("Anonymous:")[1].split()[0]) * 1024)
            maps.append("bale indexes" in open(f"/proc/{pid}/maps").read())
    return max(own), all(maps)


@pytest.mark.parametrize("shards", [1, 40])
def test_a_workers_own_memory_does_not_grow_with_the_index(tmp_path, shards):
    few, _ = memory_of_workers(packed(tmp_path, FEW, 1))
    path = packed(tmp_path, MANY, shards)
    index_bytes = sum(file.stat().st_size for file in path.glob("*.bidx"))
    assert index_bytes > 20_000_000
    many, shares = memory_of_workers(path)
    assert shares
    assert many - few < index_bytes / 4
