"""How a loader opens remote shards: together, ahead of their samples, with one request for each file."""
import os
import shutil
import threading

import pytest
from python_support import run_script
from remote_support import age_cache, clean_environment, heavy_images, packed, serve  # noqa: F401 - fixtures

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
        num_waited.append(together.wait(timeout=15))  # before the client tries again
    server.add(pattern, times=NUM_SHARDS, before=wait)
    run_script(EPOCH, server.url, **env)
    assert len(num_waited) == NUM_SHARDS and not together.broken


@pytest.mark.parametrize("options", [(), ("--seek-points",)], ids=["none", "seek-points"])
def test_one_request_for_each_file_next_to_a_shard(bale, serve, env, tmp_path, options):  # noqa: F811
    """Also of an index above 16 KiB, whatever number of workers reads it. Seek points are asked for if the manifest names them."""
    source = heavy_images(tmp_path / "source", 300, 2_000)
    bale.pack(source, tmp_path / "packed", "--name", "p", "--shard-count", "1", *options)
    (index,) = (tmp_path / "packed").glob("*.bidx")
    assert index.stat().st_size > 16 << 10
    server = serve(tmp_path / "packed")
    run_script(EPOCH, server.url, **env)
    beside = [request.path for request in server.log if not request.path.endswith(".tar")]
    assert len(beside) == len(set(beside))
    hints = {path for path in beside if not path.endswith((".json", ".bidx"))}
    assert ("/p-000000.tar.bseek" in hints) if options else not hints
    # Without a manifest, one process asks for seek points that are not there, and the others believe it.
    age_cache(tmp_path / "cache")
    server.log.clear()
    run_script(EPOCH, f"{server.url}/p-000000.tar", **env)
    assert sum(request.path.endswith(".bseek") for request in server.log) <= 1


def test_each_index_is_fetched_once(bale, serve, env, tmp_path):  # noqa: F811
    """Also if one thread opens a shard while another one, which asked for its index, has not stored the answer yet."""
    source = heavy_images(tmp_path / "source", 150, 2_000)
    bale.pack(source, tmp_path / "packed", "--name", "p", "--shard-samples", "1")
    server = serve(tmp_path / "packed")
    run_script(EPOCH, server.url, **env)
    assert len(server.asked("*.bidx")) == 150


def test_seek_points_without_a_manifest_are_looked_for(bale, photos, serve, env, tmp_path):  # noqa: F811
    """Once per node, also if they are not there."""
    bale.pack(photos, tmp_path / "packed", "--name", "p", "--shard-count", "1")
    server = serve(tmp_path / "packed")
    run_script(EPOCH, f"{server.url}/p-000000.tar", **env)
    assert len(server.asked("*.bseek")) == 1


def test_what_the_manifest_pins_is_not_asked_for_again(bale, serve, env, tmp_path):  # noqa: F811
    """A later run asks for the manifest only, if the cache has all of every shard; for what it lacks, it asks."""
    source = heavy_images(tmp_path / "source", 2 * NUM_SHARDS, 3_000)
    bale.pack(source, tmp_path / "packed", "--name", "p", "--shard-samples", "2")
    server = serve(tmp_path / "packed")
    for removed, expected in (((), None), ((), {"/manifest.json"}), (("*.map",), None)):
        for pattern in removed:
            for path in (tmp_path / "cache").rglob(pattern):
                path.unlink()
        age_cache(tmp_path / "cache")
        server.clear()
        run_script(EPOCH, server.url, **env)
        asked = {request.path for request in server.log}
        assert asked == expected if expected else len(asked) == 1 + 2 * NUM_SHARDS


@pytest.mark.parametrize("swapped", [range(12), (1, 2)], ids=["all", "in the middle of a shard"])
def test_another_dataset_of_the_same_names_is_read(bale, serve, env, tmp_path, swapped):  # noqa: F811
    """Of the same sizes, too. Its manifest says that it is another one. So does an older manifest that comes back."""
    for number in range(2):
        source = heavy_images(tmp_path / f"source{number}", 12, 3_000)
        images = [sorted(source.rglob("*.jpg"))[i] for i in swapped]
        contents = [path.read_bytes() for path in images]
        for path, content in zip(images, contents[::-1] if number else contents):
            path.write_bytes(content)
        bale.pack(source, tmp_path / f"packed{number}", "--name", "p", "--shard-samples", "4")
    script = EPOCH.replace("print(sum(len(batch.samples) for batch in loader))",
                           "print(sorted(zlib.crc32(image.tobytes()) for batch in loader for image in batch.images))")
    script = script.replace("import sys", "import sys, zlib")
    server = serve(tmp_path / "www")
    for number in (0, 1, 0):
        shutil.rmtree(tmp_path / "www", ignore_errors=True)
        shutil.copytree(tmp_path / f"packed{number}", tmp_path / "www", copy_function=shutil.copyfile)
        for path in (tmp_path / "www").iterdir():
            os.utime(path, (1_000_000 + number, 1_000_000 + number))
        local = run_script(script, tmp_path / "www", **env)
        assert run_script(script, server.url, **env) == local, number
        age_cache(tmp_path / "cache")
        for record in (tmp_path / "cache").rglob("*.url"):
            if ".bidx" in record.read_text():
                record.unlink()  # as if it was evicted: a new index does not show that the shard was replaced
