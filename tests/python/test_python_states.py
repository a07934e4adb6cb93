"""States of loaders and streams: of which dataset they are, and what they load into."""
import shutil

import pytest

bale_module = pytest.importorskip("bale")
torch = pytest.importorskip("torch")

from bale.torch import IterableDataset  # noqa: E402
from conftest import make_images, shards  # noqa: E402

OPTIONS = {"batch_size": 2, "workers": 0, "transform": bale_module.transforms.eval(16, resize=16), "seed": 3}


@pytest.fixture(scope="module")
def packs(bale, tmp_path_factory):
    """Two datasets of as many samples, with the same keys, and a copy of the first elsewhere."""
    root = tmp_path_factory.mktemp("states")
    for name, size in (("one", (24, 18)), ("two", (36, 20))):
        make_images.make_tree(root / f"{name}_files", classes=2, per_class=3, size=size)
        bale.pack(root / f"{name}_files", root / name, "--name", "x")
    shutil.copytree(root / "one", root / "elsewhere" / "copy")
    return root


def state_of(spec):
    with bale_module.Loader(spec, **OPTIONS) as loader:
        next(iter(loader))
        return loader.state_dict()


def load(spec, state):
    with bale_module.Loader(spec, **OPTIONS) as loader:
        loader.load_state_dict(state)
        return loader.state_dict()


def test_states_know_their_dataset(packs):
    state = state_of(packs / "one")
    assert load(packs / "elsewhere" / "copy", state) == state
    with pytest.raises(ValueError, match="another dataset"):
        load(packs / "two", state)
    stream = IterableDataset(packs / "two", seed=3, batch_size=2)
    with pytest.raises(ValueError, match="another dataset"):
        stream.load_state_dict(state)
    IterableDataset(packs / "elsewhere" / "copy", seed=3, batch_size=2).load_state_dict(state)


def test_states_fit_in_tensors(packs):
    state = state_of(packs / "one")
    assert {name: int(torch.tensor(value)) for name, value in state.items()} == state


def test_shards_that_are_indexed_later(bale, packs, tmp_path):
    shard = tmp_path / "x.tar"
    shutil.copy(shards(packs / "one")[0], shard)
    state = state_of(shard)
    bale.ok("index", shard)
    assert load(shard, state)["position"] == state["position"]


def test_a_workers_state_is_no_loaders(packs):
    stream = IterableDataset(packs / "one", seed=3, batch_size=2)
    state = {**stream.state_dict(), "worker": {"worker": 0, "num_workers": 2, "world_size": 1, "batch_size": 2, "taken": 1}}
    with pytest.raises(ValueError, match="DataLoader workers"):
        load(packs / "one", state)
