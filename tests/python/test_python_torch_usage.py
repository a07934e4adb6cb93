"""What people do with a DataLoader, done with bale.torch.Loader: keep what a loop gives, use DataLoader's names, make mistakes."""
import pytest
from torch_support import torch  # noqa: F401 - a fixture

PACK_OPTIONS = ["--shard-samples", "15"]
HEAD = """
    import sys, warnings
    import torch
    import bale
    import bale.torch as bt

    PACK, UNLABELED = sys.argv[1:3]

    def small(batch_size=4, pack=PACK, **options):
        return bt.Loader(pack, batch_size, **{"workers": 2, "seed": 5, "transform": bale.transforms.train(32), **options})
"""


@pytest.fixture(scope="module")
def packs(bale, photos, pack, tmp_path_factory):
    unlabeled = tmp_path_factory.mktemp("unlabeled") / "unlabeled"
    bale.pack(photos, unlabeled, "--flat")
    return pack, unlabeled


@pytest.fixture(scope="module")
def run(packs, torch):
    return lambda script, *args, **env: torch(HEAD + script, *packs, *args, **env)


def test_labels_may_be_kept(run):
    run("""
    with small() as loader, warnings.catch_warnings():
        warnings.simplefilter("error")
        targets = [labels for _, labels in loader]
    assert len(targets) == 10
    with small() as loader:
        assert [labels.tolist() for labels in targets] == [labels.tolist() for _, labels in loader]
    """)


@pytest.mark.parametrize("kind", ["train(32)", "ragged()", "raw()"])
@pytest.mark.parametrize("prefetch", [2, 4, 6])
def test_all_batches_may_be_kept(run, kind, prefetch):
    """list(loader), with one warning; what is kept is what a loop would have seen."""
    run("""
    kind, prefetch = sys.argv[3], int(sys.argv[4])
    options = {"transform": eval(f"bale.transforms.{kind}"), "prefetch": prefetch}
    def plain(images):
        return [image.clone() for image in images]
    with small(**options) as loader, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kept = list(loader)
        again = list(loader)
    assert len(caught) == 1 and "keep so many batches" in str(caught[0].message), caught
    assert caught[0].filename == "<script>", caught[0].filename
    with small(**options) as loader, warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = [(plain(images), labels) for images, labels in loader]
    assert len(kept) == len(seen) == 10
    for (images, labels), (seen_images, seen_labels) in zip(kept, seen):
        assert labels.equal(seen_labels) and len(images) == len(seen_images)
        assert all(one.equal(other) for one, other in zip(images, seen_images))
    """, kind, prefetch)


def test_a_loop_that_keeps_nothing_copies_nothing(run):
    run("""
    for prefetch in (2, 3, 4):
        with small(prefetch=prefetch) as loader:
            for _ in range(3):
                for images, labels in loader:
                    pass
            assert loader.counters["batches_copied"] == 0, prefetch
    """)


def test_notebook_cells(run):
    """Each cell keeps what it showed, a traceback keeps its frame, and the cell is run again."""
    run("""
    out = []
    with small(16) as loader:
        for _ in range(3):
            iterator = iter(loader)
            for _ in range(2):
                out.append(next(iterator))
            try:
                images, labels = next(iterator)
                raise RuntimeError("a cell's mistake")
            except RuntimeError as error:
                sys.last_traceback = error.__traceback__
    assert len(out) == 6
    """)


def test_rows_without_a_label_are_ignored_by_losses(run):
    run("""
    with small(pack=UNLABELED) as loader:
        images, labels = next(iter(loader))
    assert labels.tolist() == [-100] * 4
    assert torch.nn.functional.cross_entropy(torch.zeros(4, 10), labels, reduction="sum") == 0
    dataset = bt.Dataset(UNLABELED)
    assert dataset[0][1] == -100 and set(dataset.targets) == {-100}
    assert {target for _, target in bt.IterableDataset(UNLABELED, seed=1)} == {-100}
    with small(tail="uneven", world_size=3, rank=2, with_mask=True) as loader:
        for _, labels, mask in loader:
            assert (labels[~mask] == -100).all() and (labels[mask] >= 0).all()
    """)


def test_uneven_ends_count_each_sample_once(run):
    run("""
    for world_size in (2, 3, 7):
        for batch_size in (1, 4, 13):
            rows = 0
            for rank in range(world_size):
                with small(batch_size, tail="uneven", workers=0, rank=rank, world_size=world_size) as loader:
                    batches = [labels for _, labels in loader]
                    assert len(batches) == len(loader) and all(len(labels) for labels in batches)
                    assert all((labels >= 0).all() for labels in batches)
                    rows += sum(map(len, batches))
                    assert sum(map(len, [labels for _, labels in loader])) == sum(map(len, batches))
            assert rows == 40, (world_size, batch_size, rows)
    """)


def test_names_of_dataloader(run):
    run("""
    from torch.utils import data
    def labels_of(**options):
        with bt.Loader(PACK, 4, transform=bale.transforms.train(32), **options) as loader:
            return [labels.tolist() for _, labels in loader]
    ordered = labels_of(workers=0, shuffle=False)
    positions = list(range(40))
    assert labels_of(num_workers=0, pin_memory=True, shuffle=False, collate_fn=None, timeout=0) == ordered
    assert labels_of(num_workers=0, sampler=data.SequentialSampler(positions)) == ordered
    seeded = labels_of(workers=0, seed=torch.Generator().manual_seed(3).initial_seed())
    assert labels_of(num_workers=0, generator=torch.Generator().manual_seed(3)) == seeded
    assert labels_of(workers=0, seed=3, sampler=data.RandomSampler(positions)) == seeded
    subset = labels_of(workers=0, seed=3, sampler=data.SubsetRandomSampler([1, 2, 3]))
    assert subset == labels_of(workers=0, seed=3, subset=[1, 2, 3])
    weighted = data.WeightedRandomSampler([1.0] * 40, 12)
    assert labels_of(workers=0, seed=3, sampler=weighted) == labels_of(workers=0, seed=3, weights=[1.0] * 40, num_draws=12)
    dealt = data.DistributedSampler(positions, num_replicas=2, rank=1, seed=9)
    assert labels_of(workers=0, sampler=dealt) == labels_of(workers=0, rank=1, world_size=2, seed=9)
    # Its drop_last is about samples per rank, not about batches: 13 samples are 4 batches, as in a DataLoader.
    dealt = data.DistributedSampler(positions, num_replicas=3, rank=1, drop_last=True)
    theirs = data.DataLoader(bt.Dataset(PACK), 4, sampler=dealt)
    assert len(labels_of(workers=0, sampler=dealt)) == len(theirs) == 4
    assert len(labels_of(workers=0, sampler=dealt, drop_last=True)) == 3

    class Odd(data.Sampler):
        def __init__(self): pass
    refused = {"prefetch_factor": 2, "collate_fn": list, "worker_init_fn": print, "timeout": 3,
               "multiprocessing_context": "spawn", "sampler": Odd()}
    for name, value in refused.items():
        raises(TypeError, name, lambda: bt.Loader(PACK, **{name: value}))
    raises(TypeError, "give prefetch", lambda: bt.Loader(PACK, prefetch_factor=2))
    raises(ValueError, "num_workers=3 contradicts workers=2", lambda: bt.Loader(PACK, workers=2, num_workers=3))
    raises(TypeError, "sufle", lambda: bt.Loader(PACK, sufle=True))
    """)


def test_wrong_values_name_their_keyword(run):
    run("""
    wrong = {"batch_size": [32.0, "32", -1, None], "workers": [1.5, -1, "two"], "seed": [-1, "x", 1 << 70],
             "prefetch": [-4, 2.5], "stall_timeout_s": ["soon"], "block_samples": [None], "field": [3],
             "read_ahead_bytes": [1e9], "rank": ["0"], "augment_seed": [-3]}
    for name, values in wrong.items():
        for value in values:
            more = {"world_size": 1} if name == "rank" else {}
            for loader in (bt.Loader, bale.Loader):
                if loader is bt.Loader and name == "rank":
                    continue
                try:
                    loader(PACK, **{name: value}, **more)
                except (TypeError, ValueError) as error:
                    assert name in str(error), (name, value, error)
                else:
                    raise SystemExit(f"{loader} took {name}={value!r}")
    raises(TypeError, "seed", lambda: bale.Loader(PACK, seed=None))
    raises(TypeError, "spec", lambda: bale.Dataset(3))
    """)


def test_transforms_of_torchvision_are_told_what_to_do(run):
    run("""
    from torchvision import transforms
    for transform in (transforms.FiveCrop(32), transforms.Compose([transforms.ToTensor(), transforms.Lambda(abs)]), abs):
        for loader in (bt.Loader, bale.Loader):
            error = raises(TypeError, "is not one of bale.transforms", lambda: loader(PACK, transform=transform))
            assert "has no native counterpart. bale.torch.Dataset(spec, transform)" in str(error)
    """)


def test_seeds(run):
    run("""
    def stream(**options):
        with small(seed=None, **options) as loader:
            return [(images.clone(), labels) for images, labels in loader]
    def orders(batches):
        return [labels.tolist() for _, labels in batches]
    def same_pixels(one, other):
        return all(a[0].equal(b[0]) for a, b in zip(one, other))
    torch.manual_seed(1)
    first = stream()
    assert orders(stream()) == orders(first) and same_pixels(stream(), first)
    torch.manual_seed(2)
    assert orders(stream()) != orders(first)
    # Ranks have one order, whatever their initial seeds are.
    ranks = []
    for rank in range(2):
        torch.manual_seed(rank)
        with small(seed=None, rank=rank, world_size=2, with_samples=True) as loader:
            ranks.append(sorted(i for _, _, samples in loader for i in samples.indices.tolist()))
    assert sorted(ranks[0] + ranks[1]) == list(range(40))
    # The order's seed and the augmentation's are two.
    with small(seed=5, augment_seed=1) as a, small(seed=5, augment_seed=2) as b:
        a, b = ([(images.clone(), labels) for images, labels in loader] for loader in (a, b))
    assert orders(a) == orders(b) and not same_pixels(a, b)
    """)


def test_states_bring_their_seed(run):
    """A run without a seed is resumed in a process whose initial seed is another one."""
    run("""
    torch.manual_seed(1)
    with small(seed=None) as loader:
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        rest = [(images.clone(), labels.tolist()) for images, labels in iterator]
    torch.manual_seed(2)
    with small(seed=None) as loader:
        loader.load_state_dict(state)
        for (images, labels), (rest_images, rest_labels) in zip(loader, rest):
            assert labels.tolist() == rest_labels and images.equal(rest_images)
    with small(seed=3) as loader:
        raises(ValueError, "seed", lambda: loader.load_state_dict(state))
    """)


def test_indices_and_keys(run):
    run("""
    dataset = bale.Dataset(PACK)
    with small(with_samples=True, with_mask=True) as loader:
        kept = [(labels, samples) for images, labels, mask, samples in loader]
    for labels, samples in kept:
        assert samples.indices.dtype == torch.int64
        assert samples.keys == [dataset.key(i) for i in samples.indices.tolist()]
        assert labels.tolist() == [dataset.label(i) for i in samples.indices.tolist()]
    pairs = bt.Dataset(PACK, fields=("jpg", "cls", "__key__", "__index__"))
    image, (label, key, index) = pairs[7]
    assert (label, key, index) == (dataset.label(7), dataset.key(7), 7)
    """)


def test_what_torchvision_datasets_have(run):
    run("""
    dataset = bale.Dataset(PACK)
    assert dataset.targets == dataset.labels.tolist() == bt.Dataset(PACK).targets
    assert dataset.keys[:3] == [dataset.key(i) for i in range(3)] and dataset.keys[-2:][1] == dataset.key(39)
    assert len(bale.Dataset([PACK, PACK])) == 80
    with small() as loader:
        assert "batch_size=4" in repr(loader) and PACK in repr(loader) and "10 batches" in repr(loader)
    assert "Loader" in repr(loader)  # closed
    """)


def test_python_dash_m(bale, torch):
    import subprocess
    import sys
    from python_support import ENVIRONMENT
    done = subprocess.run([sys.executable, "-m", "bale", "--version"], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout == bale.ok("--version").out, done


INDICES = """
    def indices(loader):
        return [i for *_, samples in loader for i in samples.indices.tolist()]
"""


@pytest.fixture(scope="module")
def run_indices(packs, torch):
    return lambda script, **env: torch(HEAD + INDICES + script, *packs, **env)


def test_ranks_are_followed(run_indices):
    """Made before torch.distributed was, as scripts for Lightning do: each rank gets its share all the same."""
    run_indices("""
    import os
    shares = []
    for rank in range(2):
        for name in ("RANK", "WORLD_SIZE"):
            os.environ.pop(name, None)
        torch.manual_seed(rank)
        with small(seed=None, with_samples=True) as loader:
            assert len(loader) == 10 and len(loader.sampler) == 40
            next(iter(loader))  # a look at the first batch
            loader.set_epoch(2)
            os.environ.update(RANK=str(rank), WORLD_SIZE="2")
            assert len(loader) == 5 and len(loader.sampler) == 20 and loader.sampler.rank == rank
            assert loader.epoch == 2
            shares.append(indices(loader))
            # A state that is loaded before: its place and its seed are kept.
            for name in ("RANK", "WORLD_SIZE"):
                del os.environ[name]
            state = {**loader.state_dict(), "epoch": 5, "position": 8}
            loader.load_state_dict(state)
            os.environ.update(RANK=str(rank), WORLD_SIZE="2")
            shares[-1].append(indices(loader))
            assert loader.state_dict()["seed"] == state["seed"]
    assert sorted(shares[0][:-1] + shares[1][:-1]) == list(range(40))
    left = shares[0][-1] + shares[1][-1]
    assert len(left) == len(set(left)) == 32
    """)


def test_epochs_of_the_given_sampler_are_followed(run_indices):
    run_indices("""
    from torch.utils.data import DistributedSampler
    def epochs(numbers):
        sampler = DistributedSampler(range(40), num_replicas=2, rank=1, seed=4)
        with small(seed=None, sampler=sampler, with_samples=True) as loader:
            assert loader.sampler is sampler
            found = []
            for epoch in numbers:
                sampler.set_epoch(epoch)
                found.append(indices(loader))
            return found
    with small(seed=4, rank=1, world_size=2, with_samples=True) as loader:
        expected = [indices(loader) for _ in range(4)]
    assert epochs([0, 1, 2, 3]) == expected
    assert epochs([3, 0, 0, 2]) == [expected[i] for i in (3, 0, 0, 2)]
    # A state is resumed in the middle of its epoch, although the script sets that epoch.
    sampler = DistributedSampler(range(40), num_replicas=1, rank=0, seed=4)
    with small(seed=None, sampler=sampler, with_samples=True) as loader:
        sampler.set_epoch(3)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        rest = indices(iterator)
        loader.load_state_dict(state)
        sampler.set_epoch(3)
        assert indices(loader) == rest and len(rest) == 36
    """)


def test_a_loop_that_broke_off_is_followed_by_other_batches(run_indices):
    """next(iter(loader)) again and again, as with a DataLoader that shuffles."""
    run_indices("""
    def first(loader):
        return next(iter(loader))[-1].indices.tolist()
    with small(with_samples=True) as loader:
        assert len({str(first(loader)) for _ in range(5)}) == 5
        whole = indices(loader)
        assert sorted(whole) == list(range(40))
        loader.set_epoch(1)
        again = first(loader)
        assert first(loader) != again
        loader.set_epoch(1)
        assert indices(loader)[:4] == again
    with small(with_samples=True, rank=0, world_size=2) as loader:
        assert first(loader) != first(loader)
    ahead = bt.Prefetcher(small(with_samples=True), "cpu")
    assert first(ahead) != first(ahead)
    """)


def test_ranks_read_what_a_distributed_sampler_deals(run_indices):
    """Those that fill up the last batches included: evaluations count the same rows."""
    run_indices("""
    from torch.utils.data import DistributedSampler
    for size, world_size, batch_size in ((39, 2, 4), (37, 3, 4), (5, 4, 2), (40, 2, 7)):
        for rank in range(world_size):
            sampler = DistributedSampler(range(size), world_size, rank, shuffle=False)
            with small(batch_size, subset=range(size), sampler=sampler, seed=None, workers=0, with_samples=True) as loader:
                assert indices(loader) == list(sampler) and len(loader.sampler) == len(sampler), (size, world_size, rank)
    """)


def test_datasets_are_taken_in_place_of_a_path(run_indices):
    run_indices("""
    from torch.utils import data
    plain = bale.Dataset(PACK)
    dataset = bt.Dataset(PACK)
    options = {"workers": 0, "with_samples": True, "shuffle": False, "transform": bale.transforms.val(32)}
    def loader(given, **more):
        return bt.Loader(given, 4, **{**options, **more})
    for given in (plain, dataset):
        assert loader(given).dataset is given and indices(loader(given)) == list(range(40))
    one, other = data.random_split(dataset, [30, 10])
    assert indices(loader(one)) == list(one.indices) and indices(loader(other)) == list(other.indices)
    assert loader(other).dataset is other and len(loader(other).dataset) == 10
    nested = data.Subset(one, [5, 3, 8])
    assert indices(loader(nested)) == [one.indices[i] for i in (5, 3, 8)]
    assert sorted(indices(loader(nested, shuffle=True))) == sorted(one.indices[i] for i in (5, 3, 8))
    # Samplers and options count in what was given.
    assert set(indices(loader(other, sampler=data.SubsetRandomSampler([1, 2])))) == {other.indices[1], other.indices[2]}
    assert indices(loader(other, subset=[2, 0])) == [other.indices[2], other.indices[0]]
    drawn = indices(loader(other, sampler=data.WeightedRandomSampler([0.0] * 8 + [1.0, 3.0], 50)))
    assert len(drawn) == 50 and set(drawn) == set(other.indices[8:])
    raises(ValueError, "3 weights for 10 samples", lambda: loader(other, weights=[1.0] * 3))
    # What would be ignored is refused.
    raises(TypeError, "has a transform, which runs in Python", lambda: loader(bt.Dataset(PACK, transform=list)))
    raises(TypeError, "has a target_transform", lambda: loader(bt.Dataset(PACK, target_transform=list)))
    raises(TypeError, "gives the fields jpg, __key__", lambda: loader(bt.Dataset(PACK, fields=("jpg", "__key__"))))
    raises(TypeError, "give the packed datasets as a list", lambda: loader(data.ConcatDataset([dataset, dataset])))
    raises(TypeError, "the Loader is a stream by itself", lambda: loader(bt.IterableDataset(PACK)))
    raises(TypeError, "bale pack FOLDER PACK", lambda: loader(data.TensorDataset(torch.zeros(3))))
    raises(TypeError, "give a Subset of a bale.torch.Dataset", lambda: loader(data.Subset(range(40), [1])))
    assert indices(loader(bt.Dataset(PACK, field="jpg"), subset=[0])) == [0]
    """)


def test_the_dataset_of_a_subset_has_its_length(run):
    """Sums over a loop are divided by len(loader.dataset)."""
    run("""
    import pickle
    with small(subset=[3, 39, 8]) as loader:
        part = pickle.loads(pickle.dumps(loader.dataset))
        assert len(part) == len(loader.sampler) == sum(len(labels) for _, labels in loader) == 3
        whole = bale.Dataset(PACK)
        assert part.classes == whole.classes and part.class_to_idx == whole.class_to_idx
        assert part.targets == [whole.label(i) for i in (3, 39, 8)] and part[1] == whole[39]
    """)


def test_the_attributes_of_a_dataloader(run):
    run("""
    from torch.utils import data
    theirs = data.DataLoader(bt.Dataset(PACK), 4)
    with small() as ours:
        for name in vars(theirs):
            if not name.startswith("_"):
                getattr(ours, name)
        assert len(ours.sampler) == len(theirs.sampler) == 40 and len(iter(ours)) == len(iter(theirs)) == 10
        assert ours.pin_memory is False and ours.timeout == 0 and ours.worker_init_fn is None
        for name in ("batch_size", "drop_last", "persistent_workers"):
            raises(ValueError, name, lambda: setattr(theirs, name, 8))
            raises(ValueError, f"{name} cannot be changed after a Loader is made", lambda: setattr(ours, name, 8))
        raises(ValueError, "transform cannot be changed", lambda: setattr(ours, "transform", bale.transforms.val(32)))
    for options in ({"drop_last": True}, {"tail": "uneven"}, {}):
        for rank in range(3):
            with small(rank=rank, world_size=3, workers=0, batch_size=6, with_samples=True, **options) as loader:
                assert len(loader.sampler) == sum(len(labels) for _, labels, _ in loader), (rank, options)
    """)


def test_more_of_dataloaders_arguments(run_indices):
    run_indices("""
    from torch.utils import data
    with small(device="cpu", collate_fn=data.default_collate) as loader:
        assert loader.device is None and next(iter(loader))[0].device.type == "cpu"
    raises(ValueError, "neither a CUDA device nor the CPU", lambda: small(device="meta"))
    for order in ([5, 1, 7], range(2, 30, 5), torch.tensor([9, 9, 1])):
        with small(workers=0, sampler=order, with_samples=True) as loader:
            assert indices(loader) == list(map(int, order))
    with small(workers=0, sampler=data.RandomSampler(range(40), replacement=True, num_samples=55), with_samples=True) as loader:
        assert len(indices(loader)) == 55 and len(loader.dataset) == 40
    error = raises(TypeError, "mixup", lambda: small(collate_fn=lambda rows: rows))
    assert "images, labels = mixup(images, labels)" in str(error)
    iterator = iter(small())
    def nested(loader):
        for _ in loader:
            for _ in loader:
                pass
    raises(RuntimeError, "make two Loaders", lambda: nested(small()))
    """)


def test_samplers_that_were_made_for_a_split(run_indices):
    """They were taken for samplers of the whole pack: validation was trained on."""
    run_indices("""
    from torch.utils import data
    whole = bt.Dataset(PACK)
    train, val = data.random_split(whole, [30, 10])
    nested = data.Subset(train, [3, 1, 2])
    def loader(given, sampler, **more):
        return bt.Loader(given, 4, workers=0, with_samples=True, transform=bale.transforms.train(16), sampler=sampler, **more)
    for given in (PACK, bale.Dataset(PACK), whole):
        assert sorted(indices(loader(given, data.RandomSampler(train)))) == sorted(train.indices)
        assert indices(loader(given, data.SequentialSampler(val))) == list(val.indices)
        assert indices(loader(given, data.SequentialSampler(nested))) == [train.indices[i] for i in (3, 1, 2)]
        dealt = [indices(loader(given, data.DistributedSampler(val, 2, rank, shuffle=False))) for rank in range(2)]
        assert dealt == [list(val.indices[rank::2]) for rank in range(2)]
        drawn = indices(loader(given, data.RandomSampler(val, replacement=True, num_samples=50)))
        assert len(drawn) == 50 and set(drawn) <= set(val.indices)
        assert sorted(indices(loader(given, data.RandomSampler(whole)))) == list(range(40))
        for sampler in (data.RandomSampler(range(30)), data.SequentialSampler([0] * 10), data.DistributedSampler(range(41), 2, 0),
                        data.RandomSampler(range(30), replacement=True), data.RandomSampler(data.Subset(range(50), [1, 2]))):
            raises(ValueError, "and the Loader is to read 40", lambda: loader(given, sampler))
        raises(ValueError, "30 weights for 40 samples", lambda: loader(given, data.WeightedRandomSampler([1.0] * 30, 5)))
    # In place of the whole, a part was given: samplers are of it, or of a part of it.
    assert sorted(indices(loader(train, data.RandomSampler(train)))) == sorted(train.indices)
    assert sorted(indices(loader(train, data.RandomSampler(range(30))))) == sorted(train.indices)
    assert sorted(indices(loader(train, data.RandomSampler(nested)))) == sorted(train.indices[i] for i in (3, 1, 2))
    raises(ValueError, "it is over 40 samples", lambda: loader(train, data.RandomSampler(whole)))
    raises(ValueError, "30 is no position in a Subset of 30", lambda: loader(train, data.SubsetRandomSampler([30])))
    raises(ValueError, "sampler: subset or weights choose samples, too", lambda: loader(whole, data.SubsetRandomSampler([0]), subset=[1, 2]))
    """)


def test_what_would_change_nothing_cannot_be_set(run):
    run("""
    from torch.utils import data
    plain, torchs = bale.Loader(PACK, 4, workers=0), small()
    for loader in (plain, torchs):
        for name in ("seed", "tail", "shuffle", "transform", "views", "batch_size", "rank", "world_size", "augment_seed", "dataset", "weights"):
            raises(ValueError, f"{name} cannot be changed after a Loader is made; make another", lambda: setattr(loader, name, 3))
        for name in ("transform", "transforms", "target_transform"):
            raises(ValueError, f"{name}: a bale.Dataset gives bytes and runs no transform; give transform= to the Loader",
                   lambda: setattr(loader.dataset, name, list))
    for name in ("sampler", "num_workers", "pin_memory"):
        raises(ValueError, f"{name} cannot be changed", lambda: setattr(torchs, name, 3))
    torchs.mine = plain.mine = torchs.worker_init_fn = 4  # others are the caller's; Lightning sets worker_init_fn
    given = bt.Dataset(PACK)
    for spec in (given, data.Subset(given, [1, 2])):
        loader = bt.Loader(spec, 2, workers=0)
        raises(ValueError, "transform: this Dataset was given to a bale.torch.Loader, whose workers run no Python",
               lambda: setattr(given, "transform", list))
    given.transform = None
    bt.Dataset(PACK).transform = list  # of which no Loader knows
    """)


def test_loaders_go_to_other_processes_until_they_are_iterated(run_indices):
    """Lightning's ddp_spawn, ddp_fork and ddp_notebook, and copies."""
    run_indices("""
    import copy, multiprocessing, pickle
    from torch.utils import data
    def contents(loader):
        return [(samples.indices.tolist(), images.sum().item()) for images, _, samples in loader]
    def child(loader, queue):
        queue.put(contents(loader))
    torch.manual_seed(3)
    options = {"seed": None, "with_samples": True, "workers": 0}
    for loader in (small(**options), small(generator=torch.Generator().manual_seed(4), **options),
                   small(**{**options, "seed": 3, "workers": 1}, rank=1, world_size=2),
                   small(**options, sampler=data.DistributedSampler(range(40), 2, 1))):
        loader.set_epoch(3)
        state = {**loader.state_dict(), "position": 8}
        loader.load_state_dict(state)
        torch.manual_seed(9)  # the seeds are those of the first
        copies = [pickle.loads(pickle.dumps(loader)), copy.deepcopy(loader), copy.copy(loader)]
        assert all(one.epoch == 3 for one in copies)
        queue = multiprocessing.get_context("fork").Queue()
        process = multiprocessing.get_context("fork").Process(target=child, args=(loader, queue))
        process.start()
        found = queue.get(timeout=60)
        process.join()
        expected = contents(loader)
        assert expected == found and all(contents(one) == expected for one in copies)
        raises(ValueError, "pickle it before its first iteration", lambda: pickle.dumps(loader))
    """)


def test_a_loader_in_order_has_a_sequential_sampler(run_indices):
    """Lightning's overfit_batches asks for it."""
    run_indices("""
    from torch.utils import data
    ordered = small(shuffle=False, with_samples=True, subset=[5, 9])
    assert isinstance(ordered.sampler, data.SequentialSampler) and isinstance(ordered.sampler, bt.Sampler)
    assert list(ordered.sampler) == [0, 1] and len(ordered.sampler) == 2 and ordered.sampler.num_replicas == 1
    assert isinstance(bt.Prefetcher(ordered, "cpu").sampler, data.SequentialSampler)
    assert not isinstance(small().sampler, data.SequentialSampler)
    """)


def test_samplers_of_ones_own_are_iterated_for_each_epoch(run_indices):
    run_indices("""
    import pickle
    from torch.utils import data
    whole = bt.Dataset(PACK)
    part = data.Subset(whole, list(range(5, 25)))

    class Own(data.Sampler):
        def __init__(self, size, seed=0):
            self.size, self.epoch, self.passes, self.seed = size, 0, 0, seed
        def set_epoch(self, epoch):
            self.epoch = epoch
        def __iter__(self):
            self.passes += 1
            order = torch.randperm(self.size, generator=torch.Generator().manual_seed(100 * self.seed + self.epoch))[:12]
            self.last = order.repeat_interleave(2).tolist()
            return iter(self.last)
        def __len__(self):
            return 24

    class Batches(Own):  # PxK: two of each of P
        def __iter__(self):
            rows = list(super().__iter__())
            self.batches = [rows[i:i + 6] for i in range(0, 22, 6)]
            return iter(self.batches)
        def __len__(self):
            return 4

    def loader(given, **more):
        return bt.Loader(given, 4, workers=1, with_samples=True, transform=bale.transforms.train(16), seed=2, **more)

    for given, places in ((PACK, range(40)), (part, part.indices)):
        sampler = Own(len(places))
        with loader(given, sampler=sampler) as batches:
            assert len(batches) == 6 and batches.sampler is sampler and sampler.passes == 0
            seen = []
            for epoch in range(3):
                sampler.set_epoch(epoch)
                seen.append(indices(batches))
                assert seen[-1] == [places[i] for i in sampler.last] and sampler.passes == epoch + 1
            assert len(set(map(str, seen))) == 3 and batches.counters["batches"] == 18
            batches.set_epoch(1)  # the sampler's, too
            assert indices(batches) == seen[1] and next(iter(batches))[-1].indices.tolist() == seen[1][:4]
            batches.set_epoch(2)
            iterator = iter(batches)
            next(iterator), next(iterator)
            state = batches.state_dict()
            rest = [(images.sum().item(), samples.indices.tolist()) for images, _, samples in iterator]
        with loader(given, sampler=Own(len(places))) as batches:
            batches.sampler.set_epoch(2)
            batches.load_state_dict(state)
            batches.set_epoch(2)
            assert [(images.sum().item(), samples.indices.tolist()) for images, _, samples in batches] == rest
        with loader(given, sampler=Own(len(places), seed=1)) as batches:
            raises(ValueError, "another dataset, selection", lambda: batches.load_state_dict(state))
            batches.load_state_dict({**state, "position": 0})
            assert len(indices(batches)) == 24
        sampler = Batches(len(places))
        with loader(given, batch_sampler=sampler) as batches:
            assert len(batches) == 4 and batches.batch_sampler is sampler
            found = [samples.indices.tolist() for *_, samples in batches]
            assert found == [[places[i] for i in batch] for batch in sampler.batches] and len(found[0]) == 6 and len(found[-1]) == 6
    # torch's own without a counterpart, of the whole and of a part.
    for source, places in ((whole, range(40)), (part, part.indices)):
        sampler = data.RandomSampler(source, num_samples=15)
        with loader(PACK, sampler=sampler) as batches:
            one, other = indices(batches), indices(batches)
            assert len(one) == len(set(one)) == 15 and set(one + other) <= set(places) and one != other
    with loader(PACK, sampler=data.WeightedRandomSampler([1.0] * 40, 15, replacement=False)) as batches:
        assert len(set(indices(batches))) == 15
    for order in (data.SequentialSampler(part), data.RandomSampler(part)):
        with loader(PACK, batch_sampler=data.BatchSampler(order, 7, drop_last=True)) as batches:
            assert len(batches) == 2 and batches.batch_size == 7 and set(indices(batches)) <= set(part.indices)
    raises(ValueError, "it is over 30 samples", lambda: loader(PACK, sampler=data.RandomSampler(range(30), num_samples=5)))
    raises(ValueError, "it is over 30 samples", lambda: loader(PACK, batch_sampler=data.BatchSampler(data.SequentialSampler(range(30)), 4, False)))
    raises(ValueError, "30 weights for 40", lambda: loader(PACK, sampler=data.WeightedRandomSampler([1.0] * 30, 5, replacement=False)))
    raises(TypeError, "give world_size=1", lambda: loader(PACK, sampler=Own(40), rank=0, world_size=2))
    raises(ValueError, "all but the last must have one size", lambda: indices(loader(PACK, batch_sampler=[[1, 2], [3], [4, 5]])))
    raises(ValueError, "give one of them", lambda: loader(PACK, batch_sampler=[[1]], sampler=[1]))
    assert [samples.indices.tolist() for *_, samples in loader(PACK, batch_sampler=[[3, 2], [1]])] == [[3, 2], [1]]
    with loader(PACK, sampler=Own(40)) as batches:
        copy = pickle.loads(pickle.dumps(batches))
        assert indices(copy) == indices(batches)
    """)
