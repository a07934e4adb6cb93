"""Passes: when an epoch is fixed, and what break, a second iter(), set_epoch() and a state mean. One rule for bale.Loader,
bale.torch.Loader and bale.torch.IterableDataset, on any number of ranks (docs/EPOCHS.md)."""
import copy
import inspect
import itertools
import json

import numpy as np
import pytest
from torch_support import torch  # noqa: F401 - a fixture

import bale as bl
from bale._loader import passes

OPTIONS = {"batch_size": 4, "workers": 0, "seed": 5, "transform": bl.transforms.train(16)}


@pytest.fixture(scope="module")
def pack(bale, photos, tmp_path_factory):
    root = tmp_path_factory.mktemp("epochs") / "pack"
    bale.pack(photos, root, "--shard-samples", "15")
    return root


def made(pack, **options):
    return bl.Loader(pack, **{**OPTIONS, **options})


def contents(loader, batches=None):
    return [(batch.samples.tolist(), batch.images.tobytes()) for batch in itertools.islice(loader, batches)]


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_a_loop_that_is_left_is_a_pass(pack, world_size):
    """The same on each number of ranks, and the same epochs as if each loop had gone to its end."""
    left = [[contents(loader, 2) for _ in range(4)] for rank in range(world_size)
            for loader in [made(pack, rank=rank, world_size=world_size)]]
    ended = [[contents(loader)[:2] for _ in range(4)] for rank in range(world_size)
             for loader in [made(pack, rank=rank, world_size=world_size)]]
    assert left == ended
    assert len({str(passes[n][0]) for passes in left for n in range(4)}) == 4 * world_size
    for n in range(4):  # the ranks are in one epoch
        dealt = [sample for passes in left for samples, _ in passes[n] for sample in samples]
        assert len(dealt) == len(set(dealt)) == 8 * world_size


def test_an_iterator_that_took_nothing_is_not_a_pass(pack):
    with made(pack) as loader, made(pack) as other:
        for _ in range(3):
            iter(loader)
        iterator = iter(loader)
        loader.set_epoch(0)
        assert contents(iterator) == contents(other)
        with pytest.raises(TypeError, match="an iterator of a Loader cannot be copied"):
            copy.copy(iterator)
        one, two = itertools.tee(loader)
        assert contents(one) == contents(two)


@pytest.mark.parametrize("world_size", [1, 2])
def test_passes_within_an_epoch_differ(pack, world_size):
    """A short loader next to a long one is iterated several times before the next set_epoch()."""
    with made(pack, rank=world_size - 1, world_size=world_size) as loader, \
            made(pack, rank=world_size - 1, world_size=world_size) as plain:
        found = []
        for epoch in range(3):
            loader.set_epoch(epoch)
            found.append([contents(loader), contents(loader, 1), contents(loader)])
        passes = [str(one) for epoch in found for one in epoch]
        assert len(set(passes)) == 9 and len({str(one[0][1]) for epoch in found for one in epoch}) == 9
        # The first of each epoch is what it was without others, and all are the same again.
        assert [epoch[0] for epoch in found] == [contents(plain) for _ in range(3)]
        loader.set_epoch(1)
        assert [contents(loader), contents(loader, 1), contents(loader)] == found[1]


def resumed(pack, state, epoch=None, **options):
    loader = made(pack, **options)
    loader.load_state_dict(json.loads(json.dumps(state)))
    if epoch is not None:
        loader.set_epoch(epoch)
    return loader


def test_states_of_further_passes(pack):
    with made(pack) as loader:
        loader.set_epoch(7)
        contents(loader)
        end = loader.state_dict()
        assert loader.epoch == 8 and (end["epoch"], end["position"]) == (8, 0)
        iterator = iter(loader)
        first = contents(iterator, 3)
        middle = loader.state_dict()
        rest = contents(iterator)
        third, next_epoch = contents(loader), made(pack)
        next_epoch.set_epoch(8)
        expected = contents(next_epoch)
        assert (middle["epoch"], middle["pass"], middle["position"]) == (7, 1, 12)
        for epoch in (None, 7):  # the trainer's epoch is continued
            with resumed(pack, middle, epoch) as other:
                assert contents(other) == rest and contents(other) == third
            with resumed(pack, end, epoch) as other:
                assert contents(other) == first + rest and contents(other) == third
        for state in (middle, end):  # or its next one begins
            with resumed(pack, state, 8) as other:
                assert contents(other) == expected
    # On other ranks.
    shares = [contents(resumed(pack, middle, 7, rank=rank, world_size=2, tail="uneven")) for rank in range(2)]
    assert sorted(sample for share in shares for samples, _ in share for sample in samples) \
        == sorted(sample for samples, _ in rest for sample in samples)


@pytest.mark.parametrize("world_size", [1, 2])
def test_epochs_of_a_fixed_number_of_steps(pack, world_size):
    """Which a loop leaves by `break`: set_epoch() before the state is taken, or after it is loaded, gives the next one."""
    share = {"rank": 0, "world_size": world_size}
    with made(pack, **share) as loader:
        expected = []
        for epoch in range(3):
            loader.set_epoch(epoch)
            expected.append(contents(loader, 2))
    with made(pack, **share) as loader:
        loader.set_epoch(0)
        contents(loader, 2)
        middle = loader.state_dict()
        loader.set_epoch(1)
        end = loader.state_dict()
        assert (middle["epoch"], middle["position"], end["epoch"], end["position"]) == (0, 8 * world_size, 1, 0)
    for state, epoch in ((end, None), (end, 1), (middle, 1)):
        with resumed(pack, state, epoch, **share) as loader:
            found = [contents(loader, 2)]
            loader.set_epoch(2)
            assert [*found, contents(loader, 2)] == expected[1:]


def test_states_of_earlier_versions(pack):
    with made(pack) as loader:
        contents(loader)
        iterator = iter(loader)
        contents(iterator, 2)
        state = loader.state_dict()
        assert set(state) == {"version", "epoch", "position", "fingerprint", "dataset"}  # epochs that nobody set are counted, as before
        rest, following = contents(iterator), contents(loader)
        for epoch in (None, 1):
            with resumed(pack, state, epoch) as other:
                assert contents(other) == rest and contents(other) == following


def test_a_state_of_something_else_is_refused(pack):
    with made(pack) as loader:
        state = loader.state_dict()
        for wrong in (None, 5, [state], {}, {"epoch": 0}, *({**state, name: value} for name, value in [
                ("version", 9), ("epoch", "0"), ("epoch", -1), ("position", 1.5), ("position", -1), ("pass", -2), ("passes_before", -1)])):
            with pytest.raises(ValueError, match=r"not a state of bale\.Loader"):
                loader.load_state_dict(wrong)
        loader.load_state_dict({**state, "epoch": np.int64(2)})
        assert type(loader.state_dict()["epoch"]) is int


@pytest.mark.parametrize("epoch", [-1, 1 << 40])
def test_numbers_that_are_none(pack, epoch):
    with made(pack) as loader, pytest.raises(ValueError, match=f"epoch {epoch} is"):
        loader.set_epoch(epoch)


@pytest.mark.parametrize("epoch", [1.5, "1", None])
def test_what_is_not_a_number(pack, epoch):
    with made(pack) as loader, pytest.raises(TypeError, match=f"epoch: {epoch!r} is not a whole number"):
        loader.set_epoch(epoch)


def test_batches_and_bad_samples_tell_the_epoch(pack):
    with made(pack) as loader:
        loader.set_epoch(2)
        assert [{batch.epoch for batch in loader} for _ in range(3)] == [{2}, {3}, {4}]


def test_help_says_the_rule():
    for kind in (bl.Loader, bl.Loader.__iter__, bl.Loader.set_epoch):
        assert "begins again" not in inspect.getdoc(kind)
    assert "whether this\none ended or was left by `break`, on any number of ranks" in inspect.getdoc(bl.Loader)


# --- with torch

HEAD = """
    import collections, itertools, os, pickle, sys, time, types, warnings
    import torch
    from torch.utils import data
    import bale
    import bale.torch as bt

    torch.set_num_threads(1)
    PACK = sys.argv[1]
    stored = bale.Dataset(PACK)
    number = {stored.read_image(i): i for i in range(len(stored))}

    def loader(**options):
        return bt.Loader(PACK, **{"batch_size": 4, "workers": 0, "seed": 5, "transform": bale.transforms.train(16),
                                  "with_samples": True, **options})

    def stream(**options):
        return bt.IterableDataset(PACK, decode="bytes", **{"seed": 5, "batch_size": 4, **options})

    def collate(batch):
        return [number[image] for image, _ in batch]

    def flat(batches):
        return [sample for batch in batches for sample in batch]

    def taken(made, samples=None):
        '''The samples of an iteration that is left after so many.'''
        if isinstance(made, bt.Loader):
            batches = (samples.indices.tolist() for *_, samples in made)
        elif isinstance(made, data.DataLoader):
            batches = iter(made)
        else:
            batches = ([number[image]] for image, _ in made)
        found = []
        for batch in batches:
            found += batch
            if samples is not None and len(found) >= samples:
                break
        return found
"""


@pytest.fixture(scope="module")
def run(pack, torch):
    return lambda script, **env: torch(HEAD + script, pack, **env)


def test_streams_are_as_loaders(run):
    """One script of loops, breaks, set epochs and states, with each kind, on one to three ranks, in DataLoader's workers too."""
    run("""
    def history(made, stateful):
        found = [taken(made), taken(made, 8), taken(made)]
        stateful.set_epoch(4)
        found += [taken(made, 8), taken(made), taken(made)]
        stateful.set_epoch(4)
        found += [taken(made)]
        return found
    for rank, world_size in ((0, 1), (1, 2), (0, 3)):
        share = {"rank": rank, "world_size": world_size, "tail": "drop"}
        ours = loader(**share)
        expected = history(ours, ours)
        assert len(set(map(str, expected))) == 7 and expected[6][:8] == expected[3]
        alone = stream(**share)
        assert history(alone, alone) == expected
        shared = stream(**share)
        for workers in (0, 1, 3):
            shared = stream(**share)
            rows = data.DataLoader(shared, 4, num_workers=workers, collate_fn=collate)
            assert history(rows, shared) == expected, (workers, world_size)
        shared = stream(**share)
        rows = data.DataLoader(shared, 4, num_workers=2, collate_fn=collate, persistent_workers=True)
        assert history(rows, shared) == expected, world_size
    """)


def test_an_epoch_that_is_set_after_the_iterator(run):
    """The iterator follows as long as it has returned nothing; after that it is void."""
    run("""
    epochs = [taken(loader(), None)]
    for epoch in range(1, 4):
        ours = loader()
        ours.set_epoch(epoch)
        epochs.append(taken(ours))
    for made in (stream(), data.DataLoader(stream(), 4, collate_fn=collate)):
        alone = made if isinstance(made, bt.IterableDataset) else made.dataset
        iterator = iter(made)
        alone.set_epoch(3)
        assert alone.epoch == 3
        found = list(iterator)
        assert (collate(found) if made is alone else flat(found)) == epochs[3]
    # A sample taken: the state stays after it, and the epoch is not mixed with another.
    one = stream()
    one.set_epoch(2)
    iterator = iter(one)
    found = [number[next(iterator)[0]] for _ in range(6)]
    assert found == epochs[2][:6] and one.state_dict()["position"] == 6
    one.set_epoch(3)
    raises(RuntimeError, "void", lambda: next(iterator))
    assert one.state_dict()["position"] == 0 and taken(one) == epochs[3]
    # Resumed, made, and only then given the epoch, as trainers do.
    one = stream()
    one.set_epoch(2)
    iterator = iter(one)
    [next(iterator) for _ in range(6)]
    state = one.state_dict()
    other = stream()
    other.load_state_dict(state)
    iterator = iter(other)
    assert other.state_dict() == state
    other.set_epoch(2)
    assert other.state_dict() == state
    assert [number[image] for image, _ in iterator] == epochs[2][6:]
    """)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_never_read_two_epochs(run, persistent):
    """set_epoch() right after the DataLoader began, when some workers may have and others have not: one epoch, or an error."""
    run(f"\n    PERSISTENT = {persistent}" + """
    epochs = []
    for epoch in range(3):
        ours = loader()
        ours.set_epoch(epoch)
        epochs.append(taken(ours))
    one = stream()
    rows = data.DataLoader(one, 4, num_workers=3, collate_fn=collate, persistent_workers=PERSISTENT)
    outcomes = collections.Counter()
    for pause in (0, 0, 0.001, 0.01, 0.03, 0.3, 3, 30):
        if pause > 1 and outcomes["refused"]:
            break  # the workers had begun
        one.set_epoch(1)
        iterator = iter(rows)
        time.sleep(pause)
        one.set_epoch(2)
        try:
            found = flat(iterator)
            assert found == epochs[2], found
            outcomes["followed"] += 1
        except RuntimeError as error:
            assert "call it before the DataLoader is iterated" in str(error), error
            outcomes["refused"] += 1
        one.set_epoch(0)
        assert flat(rows) == epochs[0]
    assert outcomes["refused"]
    # The same epoch again changes nothing.
    one.set_epoch(1)
    iterator = iter(rows)
    time.sleep(0.1)
    one.set_epoch(1)
    assert flat(iterator) == epochs[1]
    """)


def test_a_resumed_stream_continues_with_the_next_epoch(run):
    """Also if the process that loaded the state has workers take the rest."""
    run("""
    one = stream()
    one.set_epoch(2)
    iterator = iter(one)
    for _ in range(8):
        next(iterator)
    state = one.state_dict()
    rest, following = [number[image] for image, _ in iterator], taken(one)
    for workers in (0, 2):
        for epoch in (None, 2):
            other = stream()
            other.load_state_dict(state)
            rows = data.DataLoader(other, 4, num_workers=workers, collate_fn=collate)
            if epoch is not None:
                other.set_epoch(epoch)
            assert flat(rows) == rest and flat(rows) == following, (workers, epoch)
            other.set_epoch(3)
            assert other.epoch == 3 and len(flat(rows)) == 40
    """)


def test_a_worker_that_begins_a_pass_after_set_epoch_ended_it():
    """It went on in the epoch before, and nobody heard of it if the other workers had read their shares by then."""
    numbers, pass_of_loader = passes.Own(), (70, 1, 0)
    main, first, second = (passes.Passes(numbers) for _ in range(3))
    begun = first.begin(pass_of_loader)
    assert not first.is_void(begun)
    main.set_epoch(1)
    late = second.begin(pass_of_loader)
    assert late.place == begun.place and first.is_void(begun) and second.is_void(late)
    assert not main.is_void(main.begin())


def test_workers_whose_states_are_of_two_epochs_are_refused(run):
    run("""
    real = data.get_worker_info
    def worker(id):
        data.get_worker_info = lambda: types.SimpleNamespace(id=id, num_workers=2, seed=70 + id)
    states = []
    for id, epoch in ((0, 1), (1, 2)):
        worker(id)
        one = stream()
        one.set_epoch(epoch)
        next(iter(one))
        states.append(one.state_dict())
    data.get_worker_info = real
    other = stream()
    for id in range(2):
        worker(id)
        other.load_state_dict(states[id])
        assert other.state_dict() == states[id]
        if id == 0:
            assert len(taken(other)) == 19
        else:
            raises(RuntimeError, "states of this DataLoader's workers are of epochs 1 and 2", lambda: taken(other))
    """)


def test_a_distributed_sampler_that_is_iterated_again(run):
    """All passes of an epoch were the same, augmentation included."""
    run("""
    def images_of(made):
        found = [(samples.indices.tolist(), images.sum().item()) for images, _, samples in made]
        return str(found)
    for rank, world_size in ((0, 1), (1, 2)):
        sampler = data.DistributedSampler(range(40), world_size, rank, seed=5)
        ours = loader(sampler=sampler, seed=None)
        found = []
        for epoch in range(3):
            sampler.set_epoch(epoch)
            found += [images_of(ours) for _ in range(3)]
        assert len(set(found)) == 9
        sampler.set_epoch(1)
        assert images_of(ours) == found[3] and images_of(ours) == found[4]
        plain = loader(rank=rank, world_size=world_size)
        assert [images_of(plain) for _ in range(2)] == [found[0], found[3]]
        # A sampler that had an epoch before the Loader was made, and one that is pickled.
        sampler = pickle.loads(pickle.dumps(sampler))
        sampler.set_epoch(2)
        assert images_of(loader(sampler=sampler, seed=None)) == found[6]
    """)


def test_a_stream_needs_neither_dev_shm_nor_a_default_device(run):
    """A tensor in shared memory held its epoch."""
    run("""
    def refused(*_, **__):
        raise OSError("refused")
    torch.Tensor.share_memory_ = refused
    for memfd in (os.memfd_create, refused):
        os.memfd_create = memfd
        one = stream()
        assert len(taken(one)) == 40 == len(taken(data.DataLoader(one, 4, num_workers=2, collate_fn=collate)))
        copy = pickle.loads(pickle.dumps(one))
        one.set_epoch(9)
        assert copy.epoch != 9
    """)
