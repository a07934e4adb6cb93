"""A small labeled and an unlabeled pack, and scripts over them, for the tests of what people do with bale.torch."""
import pytest

PACK_OPTIONS = ["--shard-samples", "15"]
HEAD = """
    import sys, warnings
    import torch
    import bale
    import bale.torch as bt

    PACK, UNLABELED = sys.argv[1:3]

    def small(batch_size=4, pack=PACK, **options):
        return bt.Loader(pack, batch_size, **{"workers": 2, "seed": 5, "transform": bale.transforms.train(32), **options})

    def indices(loader):
        return [i for *_, samples in loader for i in samples.indices.tolist()]
"""


@pytest.fixture(scope="module")
def packs(bale, photos, pack, tmp_path_factory):
    unlabeled = tmp_path_factory.mktemp("unlabeled") / "unlabeled"
    bale.pack(photos, unlabeled, "--flat")
    return pack, unlabeled


@pytest.fixture(scope="module")
def run(packs, torch):
    return lambda script, *args, **env: torch(HEAD + script, *packs, *args, **env)
