"""where= of Loaders and streams: an epoch has the samples for which a condition is true."""
import pytest
from torch_support import torch  # noqa: F401 - a fixture

import bale as bl

OPTIONS = {"batch_size": 2, "workers": 0, "transform": bl.transforms.val(16, resize=16), "seed": 3, "tail": "uneven"}


@pytest.fixture(scope="module")
def packed(bale, tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("where") / "packed"
    bale.pack(tiny, out, "--shard-samples", "2")
    return out


def keys_of(loader):
    with loader:
        return sorted(key for batch in loader for key, used in zip(batch.keys, batch.mask) if used)


def test_select(packed):
    dataset = bl.Dataset(packed)
    wanted = [i for i in range(len(dataset)) if dataset.label(i) == 1]
    assert dataset.select("label = 1").tolist() == wanted and 0 < len(wanted) < len(dataset)
    assert dataset.select("label = 1").dtype == "int64" and not len(dataset.select("label = 9"))
    with pytest.raises(ValueError, match="a value is expected"):
        dataset.select("label =")


@pytest.mark.parametrize("order", [bl.Order(where="class = 'Typo'"), bl.Order(subset=[])])
def test_an_epoch_without_samples_is_told(packed, order):
    with pytest.warns(UserWarning, match="an epoch has no samples"):
        assert keys_of(bl.Loader(packed, order=order, **OPTIONS)) == []


@pytest.mark.parametrize("option, kind", [("order", "Order"), ("reading", "Reading")])
def test_groups_of_options_have_their_types(packed, option, kind):
    with pytest.raises(TypeError, match=rf"{option}='x' is not a bale\.{kind}"):
        bl.Loader(packed, **{option: "x"}, **OPTIONS)


def test_loaders(packed):
    dataset = bl.Dataset(packed)
    wanted = sorted(dataset.keys[i] for i in dataset.select("label = 1"))
    assert keys_of(bl.Loader(packed, where="label = 1", **OPTIONS)) == wanted
    assert keys_of(bl.Loader(packed, order=bl.Order(where="label = 1"), **OPTIONS)) == wanted
    assert keys_of(bl.Loader(dataset, where="label = 1", **{**OPTIONS, "workers": 2})) == wanted
    state = bl.Loader(packed, where="label = 1", **OPTIONS).state_dict()
    with pytest.raises(ValueError):
        bl.Loader(packed, where="label = 0", **OPTIONS).load_state_dict(state)
    for other in ({"subset": [0]}, {"weights": [1] * len(dataset)}):
        with pytest.raises(ValueError, match="where"):
            bl.Loader(packed, order=bl.Order(where="label = 1", **other), **OPTIONS)
    with pytest.raises(ValueError, match="choose samples"):
        bl.Loader({"a": packed, "b": packed}, shares={"a": 1, "b": 1}, where="label = 1", **OPTIONS)


def test_torch(torch, packed):  # noqa: F811
    torch("""
    import sys, bale, bale.torch as bt
    import torch.utils.data
    PACKED, = sys.argv[1:]
    transform = bale.transforms.val(16, resize=16)
    wanted = bale.Dataset(PACKED).select("label = 1").tolist()
    options = {"batch_size": 2, "workers": 0, "transform": transform, "tail": "uneven"}
    for spec in (PACKED, bt.Dataset(PACKED)):
        with bt.Loader(spec, where="label = 1", **options) as loader:
            labels = [int(label) for _, batch in loader for label in batch]
            assert labels == [1] * len(wanted) and len(loader.dataset) == len(wanted)
    stream = bt.IterableDataset(PACKED, where="label = 1")
    assert len(stream) == len(wanted) and [label for _, label in stream] == [1] * len(wanted)
    raises(ValueError, "Subset", lambda: bt.Loader(torch.utils.data.Subset(bt.Dataset(PACKED), [0]), where="label = 1", **options))
    """, packed)
