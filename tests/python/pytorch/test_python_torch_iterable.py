"""bale.torch.IterableDataset: the Loader's order as a stream, dealt out to ranks and DataLoader workers, and resumed."""
import pytest
from python_support import PACKAGE
from torch_support import torch  # noqa: F401 - a fixture

HEAD = """
    import contextlib, itertools, os, pickle, sys, types
    import torch
    import torch.utils.data
    import bale
    import bale.torch as bt

    PACK = sys.argv[1]
    stored = bale.Dataset(PACK)
    number = {stored.read_image(i): i for i in range(len(stored))}
    assert len(number) == 40

    def stream(**options):
        return bt.IterableDataset(PACK, decode="bytes", **{"seed": 5, **options})

    def samples(items):
        return [number[image] for image, _ in items]

    def of_loader(epoch=0, **options):
        with bale.Loader(PACK, options.pop("batch_size", 8), workers=0, seed=5, transform=bale.transforms.raw(),
                         **options) as loader:
            loader.set_epoch(epoch)
            return [sample for batch in loader for sample in batch.samples[batch.mask].tolist()]

    @contextlib.contextmanager
    def as_worker(id, num_workers):
        '''What a DataLoader's worker sees, without the process.'''
        real = torch.utils.data.get_worker_info
        torch.utils.data.get_worker_info = lambda: types.SimpleNamespace(id=id, num_workers=num_workers)
        yield
        torch.utils.data.get_worker_info = real
"""


@pytest.fixture(scope="module")
def run(bale, photos, tmp_path_factory, torch):
    root = tmp_path_factory.mktemp("pack") / "pack"
    bale.pack(photos, root, "--shard-samples", "15")
    return lambda script, **env: torch(HEAD + script, root, **env)


def test_the_order_is_the_loaders(run):
    run("""
    for options in ({}, {"shuffle": False}, {"shuffle": "block", "order": bale.Order(block_samples=4, window_blocks=2)},
                    {"order": bale.Order(subset=[9, 3, 3, 30])}, {"order": bale.Order(weights=[1.0] * 40, num_draws=25)}, {"order": bale.Order(repeats=2)}):
        plain = stream(tail="uneven", **options)
        for epoch in (0, 3):
            plain.set_epoch(epoch)
            found = samples(plain)
            assert found == of_loader(epoch, tail="uneven", **options), options
            assert len(plain) == len(found)
            plain.set_epoch(epoch)
            assert samples(plain) == found
    assert sorted(samples(stream())) == list(range(40))
    image, label = next(iter(bt.IterableDataset(PACK, seed=5)))
    assert image.mode == "RGB" and label == stored.label(of_loader()[0])
    assert next(iter(bt.IterableDataset(PACK, transforms=lambda image, label: label, seed=5))) == label
    for options, words in (({"tail": "half"}, "tail"), ({"shuffle": "maybe"}, "shuffle"), ({"order": bale.Order(subset=[40])}, "40"),
                           ({"order": bale.Order(subset=[-1])}, "subset: -1 is not a position"), ({"order": bale.Order(subset=[0.5])}, "positions"),
                           ({"order": bale.Order(weights=[1.0])}, "1 weights for 40"), ({"order": bale.Order(num_draws=4)}, "num_draws"),
                           ({"batch_size": 0}, "batch size"), ({"rank": 2, "world_size": 2}, "rank"), ({"rank": 2}, "both"),
                           ({"drop_last": True, "tail": "uneven"}, "drop_last")):
        raises(ValueError, words, lambda: stream(**options))
    raises(ValueError, "below 0", lambda: plain.set_epoch(-1))
    """)


def test_ranks_and_workers_share_without_loss(run):
    run("""
    whole = of_loader()
    for world_size, num_workers, batch_size, tail in itertools.product((1, 2, 3), (1, 2, 5), (1, 4), ("pad", "drop", "uneven")):
        shares, lengths = [], []
        for rank in range(world_size):
            one = stream(rank=rank, world_size=world_size, batch_size=batch_size, tail=tail)
            workers = []
            for id in range(num_workers):
                with as_worker(id, num_workers):
                    workers.append(samples(one))  # of one pass: they began the same iteration
            one.set_epoch(0)
            # In the DataLoader's turns, batch by batch, it is what one process would have got.
            turns = [[worker[i:i + batch_size] for i in range(0, len(worker), batch_size)] for worker in workers]
            dealt = [s for turn in itertools.zip_longest(*turns, fillvalue=[]) for batch in turn for s in batch]
            assert dealt == samples(one)
            shares.append(dealt)
            lengths.append(len(dealt))
            assert len(one) == len(dealt)
        every = [s for step in itertools.zip_longest(*shares) for s in step if s is not None]
        case = (world_size, num_workers, batch_size, tail)
        if tail == "uneven":
            assert every == whole and max(lengths) - min(lengths) <= 1, case
        elif tail == "pad":
            assert len(set(lengths)) == 1 and every[:40] == whole and len(every) - 40 < world_size, case
        else:
            full = 40 - 40 % (world_size * batch_size)
            assert len(set(lengths)) == 1 and every == whole[:full], case
    """)


COLLATE = """
import zlib

def checksums(batch):
    return [zlib.crc32(image) for image, _ in batch]
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_a_dataloader(run, method, tmp_path):
    """The same batches for any number of workers, and they are bale.torch.Loader's. set_epoch() reaches workers that stay."""
    (tmp_path / "collate.py").write_text(COLLATE)
    run(f"\n    METHOD = {method!r}" + """
    import collate
    checksums = collate.checksums([(stored.read_image(i), 0) for i in range(40)])
    expected = {}
    for epoch in (0, 1):
        found = [checksums[i] for i in of_loader(epoch, rank=1, world_size=2)]
        expected[epoch] = [found[i:i + 8] for i in range(0, 20, 8)]
    for workers, persistent in ((0, False), (2, True)) if METHOD == "spawn" else ((2, False), (3, True)):
        data = stream(rank=1, world_size=2, batch_size=8)
        loader = torch.utils.data.DataLoader(data, 8, num_workers=workers, collate_fn=collate.checksums,
                                             persistent_workers=persistent,
                                             multiprocessing_context=METHOD if workers else None)
        assert len(loader) == 3
        for epoch in (0, 1, 0):
            data.set_epoch(epoch)
            assert list(loader) == expected[epoch], (workers, epoch)
    # Scripts that set torch's seed for each pass: their passes differ all the same.
    data, passes = stream(batch_size=8), []
    for _ in range(3):
        torch.manual_seed(1)
        passes.append(list(torch.utils.data.DataLoader(data, 8, num_workers=2, collate_fn=collate.checksums, multiprocessing_context=METHOD)))
    assert passes[0] != passes[1] != passes[2] != passes[0] and len({str(sorted(sum(one, []))) for one in passes}) == 1
    """, PYTHONPATH=f"{PACKAGE}:{tmp_path}")


BEGUN = """
    def begun(take, **options):
        one = stream(**options)
        one.set_epoch(2)
        return one, samples(itertools.islice(iter(one), take))
"""


def test_resume_alone(run):
    run(BEGUN + """
    one, before = begun(11)
    state = pickle.loads(pickle.dumps(one.state_dict()))
    other = stream()
    other.load_state_dict(state)
    assert other.epoch == 2 and len(other) == 40 and other.state_dict() == state
    other.set_epoch(2)                                   # as the usual loop does
    rest = samples(other)
    assert len(rest) == 29 and before + rest == of_loader(2) and samples(other) != rest

    # At another world size; from bale.Loader, and to it.
    one, _ = begun(4, rank=1, world_size=2)
    state = one.state_dict()
    assert state["position"] == 8
    shares = []
    for rank in range(3):
        other = stream(rank=rank, world_size=3, tail="uneven")
        other.load_state_dict(state)
        shares.append(samples(other))
    assert [s for step in itertools.zip_longest(*shares) for s in step if s is not None] == of_loader(2)[8:]
    with bale.Loader(PACK, 16, workers=0, seed=5, tail="uneven", transform=bale.transforms.raw()) as loader:
        loader.load_state_dict(state)
        assert [s for batch in loader for s in batch.samples[batch.mask].tolist()] == of_loader(2)[8:]
        loader.set_epoch(4)
        next(iter(loader))
        other = stream()
        other.load_state_dict(loader.state_dict())
        assert other.epoch == 4 and samples(other) == of_loader(4)[16:]
    """)


def test_resume_at_the_edges(run):
    run(BEGUN + """
    one, _ = begun(4, rank=1, world_size=2)
    state = one.state_dict()

    # Another epoch than the state's begins at its beginning; the end of an epoch is the end.
    other = stream()
    other.load_state_dict(state)
    other.set_epoch(3)
    assert samples(other) == of_loader(3)
    other = stream()
    other.set_epoch(1)
    found = samples(other)
    ended = other.state_dict()
    assert ended["position"] == 0 and ended["epoch"] == 2
    other.load_state_dict({**ended, "epoch": 1, "position": 40})  # as earlier versions had it
    assert samples(other) == [] and samples(other) not in ([], found)

    # A copy by pickle goes on where this one would.
    other.load_state_dict(state)
    assert samples(pickle.loads(pickle.dumps(other))) == of_loader(2)[8:] and samples(other) == of_loader(2)[8:]

    # A sample that failed was not given.
    calls = iter(range(40))
    def third_fails(image):
        if next(calls) == 2:
            raise OSError("no")
        return image
    failing = bt.IterableDataset(PACK, third_fails, decode="bytes", seed=5)
    raises(OSError, "no", lambda: samples(failing))
    assert failing.state_dict()["position"] == 2

    raises(ValueError, "another dataset, selection, shuffle or seed", lambda: stream(seed=6).load_state_dict(state))
    raises(ValueError, "not a state", lambda: stream().load_state_dict({"epoch": 1}))
    """)


def test_resume_in_workers(run):
    """As torchdata's StatefulDataLoader does it: each worker's state after its last batch goes back into such a worker."""
    run("""
    for num_workers, batch_size in ((3, 1), (2, 4)):
        for id in range(num_workers):
            with as_worker(id, num_workers):
                one = stream(rank=0, world_size=2, batch_size=batch_size)
                one.set_epoch(1)
                items = iter(one)
                before = samples(itertools.islice(items, batch_size))
                state = pickle.loads(pickle.dumps(one.state_dict()))
                other = stream(rank=0, world_size=2, batch_size=batch_size)
                other.load_state_dict(state)
                rest = samples(other)
                assert rest == samples(items) and rest
                again = pickle.loads(pickle.dumps(other.state_dict()))
                other.load_state_dict(again)
                assert samples(other) == []
                other.set_epoch(1)
                assert samples(other) == before + rest
            for wrong in (as_worker((id + 1) % num_workers, num_workers), as_worker(id, num_workers + 1), as_worker(0, 1)):
                with wrong:
                    raises(ValueError, "of a DataLoader worker with",
                           lambda: stream(rank=0, world_size=2, batch_size=batch_size).load_state_dict(state))
            with as_worker(id, num_workers):
                raises(ValueError, "world_size=2", lambda: stream(batch_size=batch_size).load_state_dict(state))
    """)


def test_ranks_are_looked_up_when_iterating_begins(run):
    """Streams and Loaders are often made before torch.distributed is."""
    run("""
    early = stream(tail="uneven")
    assert (early.rank, early.world_size, len(early)) == (0, 1, 40)
    loader = bt.Loader(PACK, 4, workers=0, transform=bale.transforms.train(16))
    fixed = bt.Loader(PACK, 4, workers=0, transform=bale.transforms.train(16), rank=0, world_size=1)
    os.environ.update(RANK="2", WORLD_SIZE="3")
    assert (early.rank, early.world_size, len(early)) == (2, 3, 13) and len(samples(early)) == 13
    copy = pickle.loads(pickle.dumps(early))
    assert len(loader) == sum(1 for _ in loader) == 4 and (loader.rank, loader.world_size) == (2, 3)
    assert sum(1 for _ in fixed) == 10
    os.environ.update(RANK="0", WORLD_SIZE="2")
    assert (copy.rank, copy.world_size) == (2, 3) and early.rank == 0
    # Accelerate's classes, which would take a part of this rank's share.
    sys.modules["accelerate"] = types.ModuleType("accelerate")
    for name in ("DataLoaderDispatcher", "IterableDatasetShard"):
        theirs = type(name, (), {"read": lambda self, data: list(data)})()
        raises(RuntimeError, "make the IterableDataset with rank=0, world_size=1", lambda: theirs.read(torch.utils.data.DataLoader(early, 4)))
        assert len(theirs.read(stream(rank=0, world_size=1))) == 40
    """)


def test_what_accelerate_counts_is_not_followed(run):
    """Its loader sets epochs 0, 1, ... by itself, also in a program that resumes, and 0 in skip_first_batches()."""
    run("""
    theirs = types.ModuleType("accelerate.data_loader")
    exec('''
    class DataLoaderShard:
        def __init__(self, loader):
            self.loader, self.iteration = loader, 0
        def __iter__(self):
            self.set_epoch(self.iteration)
            yield from self.loader
            self.iteration += 1
        def set_epoch(self, epoch):
            self.iteration = epoch
            self.loader.dataset.set_epoch(epoch)
    ''', vars(theirs))
    def shard_of(data):
        return theirs.DataLoaderShard(torch.utils.data.DataLoader(data, 4, collate_fn=samples))
    plain, counted, told, again = stream(), shard_of(stream()), shard_of(stream()), shard_of(stream())
    epochs = []
    for epoch in range(3):
        plain.set_epoch(epoch)
        epochs.append(samples(plain))
        told.set_epoch(epoch)
        assert sum(counted, []) == sum(told, []) == epochs[-1]
    plain.set_epoch(1)
    again.loader.dataset.load_state_dict({**plain.state_dict(), "position": 8})
    assert sum(again, []) == epochs[1][8:]
    again.loader.dataset.set_epoch(1)
    assert sum(again, []) == epochs[1]
    """)


def test_a_length_that_a_dataloader_does_not_have(run):
    """Trainers count epochs by it."""
    run("""
    import warnings
    def check(size, batch_size, num_workers, **options):
        data = stream(batch_size=size, order=bale.Order(subset=range(34)))
        loader = torch.utils.data.DataLoader(data, batch_size, num_workers=num_workers, **options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            supposed = [len(loader), len(loader)][0]
        made = sum(1 for _ in loader) if num_workers else supposed
        said = [str(warning.message) for warning in caught if "IterableDataset" in str(warning.message)]
        assert len(said) == (made != supposed), (size, batch_size, num_workers, made, supposed, said)
        assert not said or f"makes {made} batches of 34 samples, not the {supposed}" in said[0]
        return bool(said)
    keep = lambda items: items
    assert check(1, 4, 2, collate_fn=keep) and check(1, 4, 3, collate_fn=keep, drop_last=True)
    assert not any(check(4, 4, workers, collate_fn=keep) for workers in (0, 2, 3))
    check(3, 4, 2, collate_fn=keep)
    assert not check(1, None, 2)
    """)


def test_nothing_is_kept_per_sample(run):
    """Pickled it is as long for a thousand draws as for forty samples."""
    run("""
    assert len(pickle.dumps(stream(order=bale.Order(repeats=1000)))) - len(pickle.dumps(stream(order=bale.Order(repeats=1)))) < 10
    data = stream(order=bale.Order(weights=torch.ones(40, dtype=torch.float64), num_draws=100))
    assert samples(pickle.loads(pickle.dumps(data))) == samples(data)
    """)
