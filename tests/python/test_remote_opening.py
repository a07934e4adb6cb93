"""How a loader opens remote shards: together, ahead of their samples, with one request for each file."""
import threading

import pytest
from python_support import run_script
from remote_support import clean_environment, heavy_images, packed, serve  # noqa: F401 - fixtures

NUM_SHARDS = 5
EPOCH = """
    import sys
    import bale

    with bale.Loader(sys.argv[1], 4, seed=5, workers=2, transform=bale.transforms.train(32)) as loader:
        print(sum(len(batch.samples) for batch in loader))
"""


@pytest.fixture
def env(tmp_path):
    return clean_environment(tmp_path / "cache")


@pytest.mark.parametrize("pattern", ["*.bidx", "*.tar"])
def test_shards_are_opened_together(packed, serve, env, pattern):  # noqa: F811
    """The server answers no request for an index, or for a shard, before it has one for each."""
    server, together = serve(packed("tar")), threading.Barrier(NUM_SHARDS)
    num_waited = []

    def wait():
        num_waited.append(together.wait(timeout=30))
    server.add(pattern, times=NUM_SHARDS, before=wait)
    run_script(EPOCH, server.url, **env)
    assert len(num_waited) == NUM_SHARDS and not together.broken


def test_one_request_for_each_file_beside_a_shard(bale, serve, env, tmp_path):  # noqa: F811
    """Also of an index above 16 KiB, and of seek points that are not there, whatever number of workers would read them."""
    source = heavy_images(tmp_path / "source", 300, 2_000)
    bale.pack(source, tmp_path / "packed", "--name", "p", "--shard-count", "1")
    (index,) = (tmp_path / "packed").glob("*.bidx")
    assert index.stat().st_size > 16 << 10
    server = serve(tmp_path / "packed")
    run_script(EPOCH, server.url, **env)
    beside = [request.path for request in server.log if not request.path.endswith(".tar")]
    assert len(beside) == len(set(beside)) and any(path.endswith(".bseek") for path in beside)
