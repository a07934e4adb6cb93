"""Keywords that Loaders had before Order, Reading and Cuda: they do what they did, and a warning has the new spelling. Loaders take at most
20 keywords."""
import warnings

import numpy as np
import pytest
from torch_support import torch  # noqa: F401 - a fixture
from torch_usage_support import PACK_OPTIONS, packs, run  # noqa: F401 - fixtures

import bale as bl

OPTIONS = {"workers": 0, "seed": 3, "transform": bl.transforms.val(16)}


def batches(pack, **options):
    with bl.Loader(pack, 8, **{**OPTIONS, **options}) as loader:
        return [(batch.indices.tolist(), np.array(batch.images).tobytes(), batch.labels.tolist()) for batch in loader]


@pytest.mark.parametrize("old, new, text", [
    ({"subset": [7, 3], "repeats": 2}, {"order": bl.Order(subset=[7, 3], repeats=2)},
     r"subset= is order=bale.Order\(subset=...\); repeats= is order=bale.Order\(repeats=...\) now"),
    ({"mode": "L"}, {"reading": bl.Reading(mode="L")}, r"mode= is reading=bale.Reading\(mode=...\) now"),
    ({"shuffle": "block", "block_samples": 4, "window_blocks": 2}, {"shuffle": "block", "order": bl.Order(block_samples=4, window_blocks=2)},
     r"window_blocks= is order=bale.Order\(window_blocks=...\) now")], ids=str)
def test_old_keywords_work_with_a_warning(pack, old, new, text):
    with pytest.warns(DeprecationWarning, match=text) as caught:
        found = batches(pack, **old)
    assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert batches(pack, **new) == found != batches(pack)


def test_those_of_a_device():
    with pytest.warns(DeprecationWarning, match=r"device_hflip= is device=bale.Cuda\(hflip=...\) now"), pytest.raises(ValueError, match="needs a device"):
        bl.Loader("nothing", device_hflip=0.5)


def test_a_keyword_that_never_was_one(pack):
    with pytest.raises(TypeError, match=r"bale.Loader\(\) got an unexpected keyword argument 'sufle'"):
        bl.Loader(pack, sufle=True)


def test_with_torch(run):
    run("""
    import inspect, warnings
    def old(make, words, **options):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = make(**options)
        assert [(one.category, words in str(one.message)) for one in caught] == [(DeprecationWarning, True)], [str(one.message) for one in caught]
        return made
    def labels_of(loader):
        return [labels.tolist() for _, labels in loader]
    with old(small, "subset= is order=bale.Order(subset=...) now", subset=[4, 9, 2]) as a, small(order=bale.Order(subset=[4, 9, 2])) as b:
        assert labels_of(a) == labels_of(b) and len(a.dataset) == 3
        raises(ValueError, "subset cannot be changed", lambda: setattr(a, "subset", None))
    with old(small, "pin= is pin_memory= now", pin=True) as loader:
        assert loader.pin_memory
    stream = old(bt.IterableDataset, "repeats= is order=bale.Order(repeats=...) now", spec=PACK, repeats=2)
    assert len(stream) == len(bt.IterableDataset(PACK, order=bale.Order(repeats=2))) == 80
    raises(TypeError, "bale.torch.IterableDataset() got an unexpected keyword argument 'threads'", lambda: bt.IterableDataset(PACK, threads=True))
    raises(ValueError, "only for Loaders", lambda: bt.IterableDataset(PACK, order=bale.Order(ranks_per_node=2)))
    for kind in (bale.Loader, bt.Loader, bt.IterableDataset):
        named = [one for one in inspect.signature(kind).parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        assert len(named) <= 20, (kind, len(named))
    """)
