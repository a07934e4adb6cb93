"""What people do with the batches and the samples of a DataLoader, done with bale.torch: keep them, ask what they are, resume."""
import pytest
from torch_support import torch  # noqa: F401 - a fixture
from torch_usage_support import PACK_OPTIONS, packs, run  # noqa: F401 - fixtures


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
    with small(seed=5, order=bale.Order(augment_seed=1)) as a, small(seed=5, order=bale.Order(augment_seed=2)) as b:
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
    assert pairs[-1][1][2] == pairs[len(pairs) - 1][1][2] == len(pairs) - 1  # also of positions from the end
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


def test_dtypes_are_those_of_torch_and_numpy_and_their_names(run):
    run("""
    import numpy as np
    T = bale.transforms
    for one in (torch.float16, np.float16, np.dtype("float16"), "float16", "half"):
        assert T.train(32, dtype=one) == T.train(32, dtype="float16") and T.ToDtype(one).dtype == "float16"
        assert T.val(32, dtype=one).dtype == T.padded(96, dtype=one).dtype == T.ragged(dtype=one).dtype == "float16"
        with small(transform=T.train(32, dtype=one, normalize=True)) as loader:
            assert next(iter(loader))[0].dtype == torch.float16
        assert next(iter(bt.Prefetcher(small(), "cpu", dtype=one)))[0].dtype == torch.float16
    assert T.val(32, dtype=torch.bfloat16) == T.val(32, dtype="bfloat16")
    for wrong in (torch.int64, "int4", np.complex64, 3):
        raises((TypeError, ValueError), "dtype", lambda: T.train(32, dtype=wrong))
        raises(ValueError, "dtype", lambda: bt.Prefetcher(small(), "cpu", dtype=wrong))
    from bale._loader.fields import options_of
    assert options_of({"a": bale.Field("npy", dtype=torch.float32)}) == options_of({"a": bale.Field("npy", dtype="float32")})
    raises(TypeError, "", lambda: options_of({"a": bale.Field("npy", dtype=torch.bfloat16)}))
    """)


def test_sizes_and_number_of_classes(run):
    run("""
    from torch.utils import data
    sizes = bale.Dataset(PACK).image_sizes()
    with small(with_samples=True) as loader:
        for *_, samples in loader:
            assert samples.image_sizes.tolist() == sizes[samples.indices.numpy()].tolist() and samples.image_sizes.dtype == torch.int64
        assert loader.dataset.num_classes == 5
    with small(order=bale.Order(subset=[1, 2])) as loader:
        assert loader.dataset.num_classes == 5
    assert bt.Dataset(PACK).num_classes == bt.IterableDataset(PACK).num_classes == 5 and bt.Dataset(UNLABELED).num_classes == 0
    """)
