"""States of loaders and streams: of which dataset they are, and what they load into."""
import shutil

import pytest
from conftest import make_images, shards
from torch_support import torch  # noqa: F401 - a fixture

import bale as bl

OPTIONS = {"batch_size": 2, "workers": 0, "transform": bl.transforms.val(16, resize=16), "seed": 3}

HEAD = """
    import sys, torch, bale
    from bale.torch import IterableDataset, Loader
    ONE, TWO, COPY = sys.argv[1:4]
    def stream_of(spec):
        return IterableDataset(spec, seed=3, batch_size=2)
    def loader_of(spec):
        return Loader(spec, 2, workers=0, seed=3, transform=bale.transforms.val(16, resize=16))
    with loader_of(ONE) as loader:
        next(iter(loader))
        state = loader.state_dict()
"""


@pytest.fixture(scope="module")
def packs(bale, tmp_path_factory):
    """Two datasets of as many samples, with the same keys, and a copy of the first elsewhere."""
    root = tmp_path_factory.mktemp("states")
    for name, size in (("one", (24, 18)), ("two", (36, 20))):
        make_images.make_tree(root / f"{name}_files", classes=2, per_class=3, size=size)
        bale.pack(root / f"{name}_files", root / name, "--name", "x")
    shutil.copytree(root / "one", root / "elsewhere" / "copy")
    return root


@pytest.fixture(scope="module")
def run(packs, torch):
    return lambda script: torch(HEAD + script, packs / "one", packs / "two", packs / "elsewhere" / "copy")


def state_of(spec):
    with bl.Loader(spec, **OPTIONS) as loader:
        next(iter(loader))
        return loader.state_dict()


def load(spec, state):
    with bl.Loader(spec, **OPTIONS) as loader:
        loader.load_state_dict(state)
        return loader.state_dict()


def test_states_know_their_dataset(packs):
    state = state_of(packs / "one")
    assert load(packs / "elsewhere" / "copy", state) == state
    with pytest.raises(ValueError, match="another dataset"):
        load(packs / "two", state)


def test_streams_know_their_dataset(run):
    run("""
    raises(ValueError, "another dataset", lambda: stream_of(TWO).load_state_dict(state))
    stream_of(COPY).load_state_dict(state)
    """)


def test_states_fit_in_tensors(run):
    run("""
    numbers = {name: value for name, value in state.items() if name != "dataset"}
    assert {name: int(torch.tensor(value)) for name, value in numbers.items()} == numbers
    assert state["dataset"] == bale.Dataset(ONE).version
    """)


def test_shards_that_are_indexed_later(bale, packs, tmp_path):
    shard = tmp_path / "x.tar"
    shutil.copy(shards(packs / "one")[0], shard)
    state = state_of(shard)
    bale.ok("index", shard)
    assert load(shard, state)["position"] == state["position"]


@pytest.mark.parametrize("shuffle", [False, "stream"])
def test_shards_without_an_index_that_changed(packs, tmp_path, shuffle):
    """They are not all counted when the Loader is opened, so the state knows those that it is in."""
    spec = tmp_path / "x-{0..1}.tar"
    for number in range(2):
        shutil.copy(shards(packs / "one")[0], tmp_path / f"x-{number}.tar")
    with bl.Loader(spec, shuffle=shuffle, **OPTIONS) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rest = [batch.samples.tolist() for batch in batches]
    with bl.Loader(spec, shuffle=shuffle, **OPTIONS) as loader:
        loader.load_state_dict(state)
        assert loader.state_dict() == state and [batch.samples.tolist() for batch in loader] == rest
    shutil.copy(shards(packs / "two")[0], tmp_path / "x-0.tar")
    with bl.Loader(spec, shuffle=shuffle, **OPTIONS) as loader, pytest.raises(ValueError, match="other samples"):
        loader.load_state_dict(state)


def test_a_workers_state_is_not_a_loaders(run):
    run("""
    worker = {"worker": 0, "num_workers": 2, "world_size": 1, "batch_size": 2, "taken": 1}
    state = {**stream_of(ONE).state_dict(), "worker": worker}
    raises(ValueError, "DataLoader workers", lambda: loader_of(ONE).load_state_dict(state))
    """)
