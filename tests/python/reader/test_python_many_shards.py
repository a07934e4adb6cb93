"""Thousands of shards in one process: few descriptors, few mappings, and nothing is opened before it is read."""
import json
import os
import subprocess
import sys

import pytest
from conftest import by_tier, make_images
from remote_support import remote, serve  # noqa: F401

SHARDS = by_tier(1200, 20_000)
EACH = 2

PROGRAM = """
import json, os, resource, sys, bale
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

def count(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return [sum(1 for _ in maps), len(os.listdir(f"/proc/{pid}/fd"))]

def children():
    return [int(pid) for thread in os.listdir("/proc/self/task")
            for pid in open(f"/proc/self/task/{thread}/children").read().split()]

make = bale.Loader  # loads the libraries
before = count("self")
loader = make(sys.argv[1], 32, workers=2, shuffle=True, transform=bale.transforms.train(16))
opened = count("self")
images = sum(len(batch) for batch in loader)
print(json.dumps({"images": images, "before": before, "opened": opened, "after": count("self"),
                  "workers": [count(pid) for pid in children()]}))
"""


@pytest.fixture(scope="module")
def tiny_shards(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("many")
    make_images.make_tree(root / "files", classes=2, per_class=SHARDS * EACH // 2, size=(16, 12))
    bale.pack(root / "files", root / "packed", "--name", "p", "--shard-samples", str(EACH))
    return root / "packed"


def run(spec, **env):
    found = subprocess.run([sys.executable, "-c", PROGRAM, spec], env={**os.environ, **env}, text=True, capture_output=True,
                           timeout=500)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_mappings_and_descriptors_are_few(tiny_shards):
    """The kernel allows 65,530 mappings per process: one per index would be the end at 65,530 shards."""
    found = run(str(tiny_shards))
    assert found["images"] == SHARDS * EACH
    for maps, descriptors in (found["after"], *found["workers"]):
        assert maps <= found["before"][0] + 100 and descriptors <= 128
    assert found["opened"][1] <= found["before"][1] + 8


def test_only_the_manifest_is_asked_for_at_open(bale, remote, serve, tiny_shards):  # noqa: F811
    """Of a packed dataset on a server; each sample then asks for the files of its shard."""
    server = serve(tiny_shards)
    assert len(remote.ok("cat", server.url, "--index", "7").out) > 0
    assert {request.path for request in server.log} == {"/manifest.json", "/p-000003.tar", "/p-000003.tar.bidx"}
    assert len(server.log) <= 4
