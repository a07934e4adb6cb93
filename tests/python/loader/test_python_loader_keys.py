"""Which samples a batch has: batch.indices and batch.keys."""
import numpy as np
import pytest
from conftest import images_in_order
from fake_cuda_support import ENVIRONMENT, PRELUDE
from python_support import run_script

import bale as bl
from bale import transforms

SIZE = 32


def small(spec, **options):
    return bl.Loader(spec, **{"batch_size": 16, "workers": 2, "seed": 5, "transform": transforms.train(SIZE), **options})


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 2}, {"workers": 2, "threads": True}], ids=str)
def test_the_keys_are_those_of_the_packed_files(pack, photos, options):
    """Also of a rank, in batches that are held, which are copies in part, and after their loader is gone."""
    packed = images_in_order(photos)
    with small(pack, batch_size=3, rank=1, world_size=2, **options) as loader:
        kept = list(loader)
    del loader
    assert {batch.is_copy for batch in kept} == {False, True}
    for batch in kept:
        assert batch.indices.dtype == np.int64 and batch.indices.tolist() == batch.samples.tolist()
        assert batch.keys == [packed[i][0] for i in batch.indices]
        assert batch.labels.tolist() == [packed[i][2] for i in batch.indices]


def test_indices_and_keys_keep_no_slot(pack):
    with small(pack, batch_size=4, prefetch=3, workers=0) as loader:
        kept = [(batch.indices, batch.keys) for _ in range(3) for batch in loader]
        assert loader.counters["batches_copied"] == 0
    assert sorted({i for indices, _ in kept for i in indices.tolist()}) == list(range(40))


def test_an_empty_row_has_index_0(pack):
    with small(pack, workers=0, tail="uneven", rank=2, world_size=3) as loader:
        batch = next(iter(loader))
        assert batch.mask.tolist() == [True] * 13 + [False]
        assert batch.indices[13] == 0 and batch.keys[13] == loader.dataset.key(0)


def test_no_dataset_is_opened_for_loops_that_do_not_ask(pack, monkeypatch):
    opened = []
    real = bl.Dataset

    class Opened:
        def __new__(cls, *spec):
            opened.append(spec)
            return real(*spec)

        @staticmethod
        def _opened_as(*spec):
            opened.append(spec)
            return real._opened_as(*spec)
    monkeypatch.setattr("bale._loader.lazy_keys.Dataset", Opened)
    with small(pack, workers=0) as loader:
        batches = list(loader)
        assert [batch.indices.size for batch in batches] == [16, 16, 8] and not opened
        assert [len(batch.keys) for batch in batches] == [16, 16, 8] and len(opened) == 1
    given = real(pack)
    with small(given, workers=0) as loader:
        assert next(iter(loader)).keys and loader.dataset is given and len(opened) == 1


def test_on_a_device(pack):
    run_script(PRELUDE + """
import sys, bale
options = dict(batch_size=8, seed=3, workers=2, threads=True, transform=bale.transforms.train(32))
host, device = bale.Loader(sys.argv[1], **options), bale.Loader(sys.argv[1], device="cuda", **options)
for expected, batch in zip(host, device, strict=True):
    assert batch.indices.tolist() == expected.indices.tolist() == batch.samples and batch.indices.dtype == "int64"
    assert batch.keys == expected.keys
    """, pack, **ENVIRONMENT)
