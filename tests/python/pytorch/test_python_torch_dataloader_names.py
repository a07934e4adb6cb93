"""DataLoader's names, options and attributes on bale.torch.Loader, and what mistakes with them are answered with."""
from torch_support import torch  # noqa: F401 - a fixture
from torch_usage_support import PACK_OPTIONS, packs, run  # noqa: F401 - fixtures


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
    assert subset == labels_of(workers=0, seed=3, order=bale.Order(subset=[1, 2, 3]))
    weighted = data.WeightedRandomSampler([1.0] * 40, 12)
    assert labels_of(workers=0, seed=3, sampler=weighted) == labels_of(workers=0, seed=3, order=bale.Order(weights=[1.0] * 40, num_draws=12))
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
             "prefetch": [-4, 2.5], "rank": ["0"]}
    within = {"reading": (bale.Reading, {"stall_timeout_s": ["soon"], "field": [3], "read_ahead_bytes": [1e9]}),
              "order": (bale.Order, {"block_samples": [None], "augment_seed": [-3]})}
    for option, (group, members) in within.items():
        for name, values in members.items():
            for value, loader in [(value, kind) for value in values for kind in (bt.Loader, bale.Loader)]:
                try:
                    loader(PACK, **{option: group(**{name: value})})
                except (TypeError, ValueError) as error:
                    assert name in str(error), (name, value, error)
                else:
                    raise SystemExit(f"{loader} took {name}={value!r}")
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


def test_transforms_of_torchvision_get_advice(run):
    run("""
    from torchvision import transforms
    for transform in (transforms.FiveCrop(32), transforms.Compose([transforms.ToTensor(), transforms.Lambda(abs)]), abs):
        for loader in (bt.Loader, bale.Loader):
            error = raises(TypeError, "is not one of bale.transforms", lambda: loader(PACK, transform=transform))
            assert "has no native counterpart. bale.torch.Dataset(spec, transform)" in str(error)
    """)


def test_translated_lists_are_channels_last_unless_asked_otherwise(run):
    run("""
    from torchvision import transforms
    theirs = transforms.Compose([transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()])
    images = [next(iter(small(transform=one, shuffle=False)))[0] for one in (theirs, bale.transforms.translate(theirs, layout="nchw"))]
    assert images[0].is_contiguous(memory_format=torch.channels_last) and images[1].is_contiguous() and images[0].equal(images[1])
    assert images[0].flatten(1).equal(images[1].view(4, -1))
    raises(RuntimeError, "view", lambda: images[0].view(4, -1))
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
    def skip_first_batches(loader):  # Accelerate's
        return torch.utils.data.DataLoader(loader.dataset)
    raises(RuntimeError, "load it instead", lambda: skip_first_batches(loader))
    """)


def test_more_of_dataloaders_arguments(run):
    run("""
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
    raises(TypeError, "transform: a Compose cannot be called", lambda: bt.Dataset(PACK, bale.transforms.val(8)))
    """)


def test_loaders_go_to_other_processes_until_they_are_iterated(run):
    """Lightning's ddp_spawn, ddp_fork and ddp_notebook, and copies."""
    run("""
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
                   small(**options, sampler=data.DistributedSampler(range(40), 2, 1)), bt.Prefetcher(small(**options), "cpu")):
        loader.set_epoch(3)
        state = {**loader.state_dict(), "position": 8}
        loader.load_state_dict(state)
        torch.manual_seed(9)  # the seeds are those of the first
        copies = [pickle.loads(pickle.dumps(loader)), copy.deepcopy(loader)]
        if isinstance(loader, bt.Loader):  # copies of a Prefetcher have one loader
            copies.append(copy.copy(loader))
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
