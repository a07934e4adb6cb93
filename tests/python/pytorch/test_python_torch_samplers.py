"""What a bale.torch.Loader reads: samplers, datasets and subsets that it is given, ranks and epochs that are set later."""
from torch_support import torch  # noqa: F401 - a fixture
from torch_usage_support import PACK_OPTIONS, packs, run  # noqa: F401 - fixtures


def test_ranks_are_followed(run):
    """Made before torch.distributed was, as scripts for Lightning do: each rank gets its share all the same."""
    run("""
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


def test_epochs_of_the_given_sampler_are_followed(run):
    run("""
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


def test_a_loop_that_broke_off_is_followed_by_other_batches(run):
    """next(iter(loader)) again and again, as with a DataLoader that shuffles."""
    run("""
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


def test_ranks_read_what_a_distributed_sampler_deals(run):
    """Those that fill up the last batches included: evaluations count the same rows."""
    run("""
    from torch.utils.data import DistributedSampler
    for size, world_size, batch_size in ((39, 2, 4), (37, 3, 4), (5, 4, 2), (40, 2, 7)):
        for rank in range(world_size):
            sampler = DistributedSampler(range(size), world_size, rank, shuffle=False)
            with small(batch_size, order=bale.Order(subset=range(size)), sampler=sampler, seed=None, workers=0, with_samples=True) as loader:
                assert indices(loader) == list(sampler) and len(loader.sampler) == len(sampler), (size, world_size, rank)
    """)


def test_datasets_are_taken_in_place_of_a_path(run):
    run("""
    from torch.utils import data
    import numpy as np
    class Given(data.Sampler):
        def __init__(self, given):
            self.given = given
        def __iter__(self):
            return iter(self.given)
        def __len__(self):
            return len(self.given)
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
    assert indices(loader(other, order=bale.Order(subset=[2, 0]))) == [other.indices[2], other.indices[0]]
    drawn = indices(loader(other, sampler=data.WeightedRandomSampler([0.0] * 8 + [1.0, 3.0], 50)))
    assert len(drawn) == 50 and set(drawn) == set(other.indices[8:])
    raises(ValueError, "3 weights for 10 samples", lambda: loader(other, order=bale.Order(weights=[1.0] * 3)))
    # A mask is not a list of positions, and fractions and texts are none.
    mask = [False, True] * 5
    for wrong in (mask, [0.5, 1.7], ["1"]):
        for refused in (lambda: loader(other, order=bale.Order(subset=wrong)), lambda: loader(data.Subset(dataset, wrong)),
                        lambda: loader(data.Subset(other, wrong)), lambda: loader(PACK, sampler=data.SequentialSampler(data.Subset(dataset, wrong))),
                        lambda: indices(loader(dataset, sampler=Given(wrong))), lambda: indices(loader(dataset, batch_sampler=Given([wrong])))):
            raises(ValueError, "wanted a list of positions, not ", refused)
    for wrong in (mask, ["1"] * 10):
        raises(ValueError, "wanted a list of numbers, not ", lambda: loader(other, order=bale.Order(weights=wrong)))
    for right in (range(1, 3), np.array([1, 2], np.int32), [torch.tensor(1), torch.tensor(2)], torch.tensor([1, 2])):
        assert indices(loader(data.Subset(dataset, right))) == indices(loader(dataset, sampler=Given(right))) == [1, 2]
    assert indices(loader(data.Subset(dataset, []), tail="uneven")) == []
    # What would be ignored is refused.
    raises(TypeError, "has a transform, which runs in Python", lambda: loader(bt.Dataset(PACK, transform=list)))
    raises(TypeError, "has a target_transform", lambda: loader(bt.Dataset(PACK, target_transform=list)))
    raises(TypeError, "gives the fields jpg, __key__", lambda: loader(bt.Dataset(PACK, fields=("jpg", "__key__"))))
    raises(TypeError, "give the packed datasets as a list", lambda: loader(data.ConcatDataset([dataset, dataset])))
    raises(TypeError, "the Loader is a stream by itself", lambda: loader(bt.IterableDataset(PACK)))
    raises(TypeError, "bale pack FOLDER PACK", lambda: loader(data.TensorDataset(torch.zeros(3))))
    raises(TypeError, "give a Subset of a bale.torch.Dataset", lambda: loader(data.Subset(range(40), [1])))
    own = lambda base: type("Own", (base,), {"__getitem__": lambda self, i: None})
    for changed in (own(bt.Dataset)(PACK), own(data.Subset)(dataset, [1]), data.Subset(own(bt.Dataset)(PACK), [1])):
        raises(TypeError, "Own has a __getitem__ of its own, which runs in Python", lambda: loader(changed))
    assert indices(loader(bt.Dataset(PACK, field="jpg"), order=bale.Order(subset=[0]))) == [0]
    # The mode of a Dataset is that of its Loader.
    gray = loader(data.Subset(bt.Dataset(PACK, mode="L"), [1]))
    assert next(iter(gray))[0].shape[1] == 1
    raises(ValueError, "contradicts mode='RGBA'", lambda: loader(bt.Dataset(PACK, mode="L"), reading=bale.Reading(mode="RGBA")))
    """)


def test_the_dataset_of_a_subset_has_its_length(run):
    """Sums over a loop are divided by len(loader.dataset)."""
    run("""
    import pickle
    with small(order=bale.Order(subset=[3, 39, 8])) as loader:
        part = pickle.loads(pickle.dumps(loader.dataset))
        assert len(part) == len(loader.sampler) == sum(len(labels) for _, labels in loader) == 3
        whole = bale.Dataset(PACK)
        assert part.classes == whole.classes and part.class_to_idx == whole.class_to_idx
        assert part.targets == [whole.label(i) for i in (3, 39, 8)] and part[1] == whole[39]
    """)


def test_samplers_that_were_made_for_a_split(run):
    """They were taken for samplers of the whole pack: validation was trained on."""
    run("""
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
    # Another part of the same size, by each kind of sampler, is not the part that was given.
    one, other = data.random_split(whole, [20, 20])
    own = data.Subset(whole, list(one.indices)[5:12])
    for given, more in ((one, {}), (PACK, {"order": bale.Order(subset=list(one.indices))})):
        for sampler in (data.RandomSampler(other), data.SequentialSampler(other), data.DistributedSampler(other, 2, 0), data.RandomSampler(other, num_samples=5),
                        data.RandomSampler(other, replacement=True)):
            raises(ValueError, "it is over 20 samples, not all of them those", lambda: loader(given, sampler, **more))
        assert indices(loader(given, data.SequentialSampler(data.Subset(whole, one.indices)), **more)) == list(one.indices)
        assert indices(loader(given, data.SequentialSampler(range(20)), **more)) == list(one.indices)
    assert indices(loader(one, data.SequentialSampler(own))) == list(own.indices)
    raises(ValueError, "choose samples, too", lambda: loader(PACK, data.SequentialSampler(own), order=bale.Order(subset=list(one.indices))))
    both = data.ConcatDataset([other, own])
    assert indices(loader(PACK, data.SequentialSampler(both))) == list(other.indices) + list(own.indices)
    assert sorted(indices(loader(PACK, data.RandomSampler(data.ConcatDataset([one, other]))))) == list(range(40))
    raises(ValueError, "it is over 30 samples", lambda: loader(train, None, batch_sampler=data.BatchSampler(data.RandomSampler(
        data.Subset(whole, list(val.indices) * 3)), 4, False)))
    raises(ValueError, "sampler: 30 is not a position of 30 samples", lambda: loader(train, data.SubsetRandomSampler([30])))
    raises(ValueError, "sampler: 40 is not a position of 40 samples", lambda: loader(PACK, [0, 40]))
    raises(ValueError, "indices of the Subset: 40 is not a position of 40 samples", lambda: loader(data.Subset(whole, [40]), None))
    raises(ValueError, "sampler: subset or weights choose samples, too", lambda: loader(whole, data.SubsetRandomSampler([0]), order=bale.Order(subset=[1, 2])))
    """)


def test_a_loader_in_order_has_a_sequential_sampler(run):
    """Lightning's overfit_batches asks for it."""
    run("""
    from torch.utils import data
    ordered = small(shuffle=False, with_samples=True, order=bale.Order(subset=[5, 9]))
    assert isinstance(ordered.sampler, data.SequentialSampler) and isinstance(ordered.sampler, bt.Sampler)
    assert list(ordered.sampler) == [0, 1] and len(ordered.sampler) == 2 and ordered.sampler.num_replicas == 1
    assert isinstance(bt.Prefetcher(ordered, "cpu").sampler, data.SequentialSampler)
    assert not isinstance(small().sampler, data.SequentialSampler)
    """)


def test_samplers_of_ones_own_are_iterated_for_each_epoch(run):
    run("""
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
