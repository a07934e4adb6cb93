"""Mixtures: exact shares of several datasets, on any number of ranks, over epochs, resumes and changes of the shares (docs/MIXTURES.md)."""
import collections
import itertools
import json
import pickle

import numpy as np
import PIL.Image
import pytest
from torch_support import torch  # noqa: F401 - a fixture

import bale as bl

SIZES = {"web": 700, "coco": 190, "own": 64}
SHARES = {"web": 7, "coco": 2, "own": 1}
OPTIONS = {"workers": 0, "seed": 5, "transform": bl.transforms.val(8), "shares": SHARES, "exact_every": 64}


def packed(bale, root, name, size, classes=2):
    """A dataset whose labels, keys and pixels say of which source they are."""
    rng = np.random.default_rng(size)
    for i in range(size):
        path = root / name / f"{name}{i % classes}" / f"{i:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    bale.pack(root / name, root / f"{name}-packed", "--shard-samples", "50")
    return root / f"{name}-packed"


@pytest.fixture(scope="module")
def packs(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("mixture")
    return {name: packed(bale, root, name, size) for name, size in SIZES.items()}


def made(packs, batch_size=64, **options):
    return bl.Loader(packs, batch_size, **{**OPTIONS, **options})


def keys(loader, batches=None):
    return [batch.keys for batch in itertools.islice(loader, batches)]


def dealt(packs, world_size, state=None, steps=None, batch_size=16, change=None, **options):
    """The keys of steps of all ranks in the order of positions, and the state after them."""
    ranks, states = [], []
    for rank in range(world_size):
        with made(packs, batch_size, rank=rank, world_size=world_size, **options) as loader:
            if state is not None:
                loader.load_state_dict(state, **({} if change is None else {"shares": change}))
            ranks.append(keys(loader, steps))
            states.append(loader.state_dict())
    assert all(one == states[0] for one in states)
    return [key for step in zip(*ranks, strict=True) for row in zip(*step, strict=True) for key in row], states[0]


def by_source(found):
    sources = collections.defaultdict(list)
    for key in found:
        sources[key.partition("/")[0].rstrip("01")].append(key)
    return sources


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_every_batch_of_all_ranks_has_the_shares(packs, world_size):
    """Check 20: within 1, and exact over 10 blocks. The union of the ranks does not depend on how many there are."""
    found, _ = dealt(packs, world_size, batch_size=64, epoch_samples=2560)
    assert len(found) == 2560
    step = 64 * world_size
    for begin in range(0, 2560, step):
        counts = {name: len(of) for name, of in by_source(found[begin:begin + step]).items()}
        assert all(abs(counts[name] - step * SHARES[name] / 10) <= 1 for name in SHARES), counts
    for begin in range(0, 2560, 640):
        assert {name: len(of) for name, of in by_source(found[begin:begin + 640]).items()} == {"web": 448, "coco": 128, "own": 64}
    assert found == dealt(packs, 1, epoch_samples=2560)[0]


def test_workers_and_threads_make_the_same(packs):
    with made(packs, epoch_samples=640) as alone, made(packs, epoch_samples=640, workers=2) as two, made(packs, epoch_samples=640, workers=2, threads=True) as threads:
        wanted = [(batch.keys, batch.labels.tolist(), batch.images.tobytes()) for batch in alone]
        assert wanted == [(batch.keys, batch.labels.tolist(), batch.images.tobytes()) for batch in two]
        assert wanted == [(batch.keys, batch.labels.tolist(), batch.images.tobytes()) for batch in threads]


def test_each_sample_once_per_pass_over_five_epochs(packs):
    with made(packs, epoch_samples=960) as loader:
        found = [key for _ in range(5) for batch in keys(loader) for key in batch]
        assert loader.passes() == pytest.approx({name: len(of) / SIZES[name] for name, of in by_source(found).items()})
    for name, of in by_source(found).items():
        whole = [of[begin:begin + SIZES[name]] for begin in range(0, len(of) - SIZES[name] + 1, SIZES[name])]
        assert len(whole) == len(of) // SIZES[name] >= 4
        assert all(len(set(one)) == SIZES[name] for one in whole)
        assert len({tuple(one) for one in whole}) == len(whole)


def test_stopped_on_four_ranks_and_resumed_on_three(packs):
    """Check 21: the stream is the undisturbed one."""
    whole, _ = dealt(packs, 1, epoch_samples=16000)
    first, state = dealt(packs, 4, steps=137, epoch_samples=16000)
    assert state["position"] == len(first) == 137 * 64
    assert sum(one["delivered"] for one in state["mixture"]["sources"].values()) == len(first)
    rest, _ = dealt(packs, 3, json.loads(json.dumps(state)), steps=150, epoch_samples=16000)
    assert first + rest == whole[:len(first) + len(rest)]


@pytest.mark.parametrize("steps", [4, 137])
def test_new_shares_continue_each_source(packs, steps):
    """Check 21: no gap and no repeat, from within a block and an epoch; later states load as others do."""
    options = {"epoch_samples": 3000, "exact_every": 256}
    first, state = dealt(packs, 3, steps=steps % 62, **options)
    other = {"web": "0.1", "coco": 0.5, "own": "4/10"}
    rest, later = dealt(packs, 2, state, steps=20, change=other, **options)
    assert later["mixture"]["begin"] == len(first)
    more, _ = dealt(packs, 1, later, steps=40, **{**options, "shares": other})
    undisturbed = by_source([key for batch in _epochs(packs, 8, **options) for key in batch])
    for name, of in by_source(first + rest + more).items():
        assert of == undisturbed[name][:len(of)], name
    counts = {name: len(of) for name, of in by_source((rest + more)[:1280]).items()}
    assert counts == {"web": 128, "coco": 640, "own": 512}


def _epochs(packs, epochs, **options):
    with made(packs, **options) as loader:
        return [batch[:int(mask.sum())] for _ in range(epochs) for batch, mask in [(one.keys, one.mask) for one in loader]]


def test_a_source_more_and_one_less(packs):
    two = {name: packs[name] for name in ("web", "coco")}
    with made(two, shares={"web": 1, "coco": 1}, epoch_samples=640) as loader:
        first = [key for batch in keys(loader, 3) for key in batch]
        state = loader.state_dict()
    with made({"mine": packs["own"], "the web": packs["web"]}, shares={"mine": 1, "the web": 1}, epoch_samples=640) as loader:
        with pytest.raises(ValueError, match=r"other sources or shares, {'web': 1, 'coco': 1}; .*load_state_dict\(state, shares=...\)"):
            loader.load_state_dict(state)
        loader.load_state_dict(state, shares={"mine": 1, "the web": 3})
        rest = [key for batch in keys(loader, 4) for key in batch]
        counts = {"mine": 64, "the web": 96 + 192}
        assert loader.passes() == {"mine": counts["mine"] / 64, "the web": counts["the web"] / 700}
    web = by_source(first)["web"] + by_source(rest)["web"]
    assert len(set(web)) == len(web) == 288


@pytest.mark.parametrize("world_size", [2, 4])
def test_ranks_do_not_alias(packs, world_size):
    """Check 22: of 1:1, each rank has each source within 5 % of half over 100 batches."""
    two = {name: packs[name] for name in ("web", "coco")}
    for rank in range(world_size):
        with made(two, rank=rank, world_size=world_size, shares={"web": 1, "coco": 1}, epoch_samples=6400 * world_size) as loader:
            count = sum(int((batch.sources == 0).sum()) for batch in loader)
        assert abs(count - 3200) <= 160


def test_sources_say_where_rows_are_from(packs):
    with made(packs, epoch_samples=200, tail="uneven") as loader:
        assert loader.sources == ["web", "coco", "own"]
        for batch in loader:
            names = [loader.sources[number] for number, real in zip(batch.sources.tolist(), batch.mask, strict=True) if real]
            assert batch.sources.dtype == np.int64
            assert names == [key.partition("/")[0].rstrip("01") for key, real in zip(batch.keys, batch.mask, strict=True) if real]
            assert [loader.dataset.classes[label] for label in batch.labels] == [key.partition("/")[0] for key in batch.keys]
    with bl.Loader(packs["own"], 8, workers=0) as loader:
        assert next(iter(loader)).sources is None and loader.sources == []
        with pytest.raises(ValueError, match="does not mix"):
            loader.passes()
        with pytest.raises(ValueError, match="does not mix"):
            loader.load_state_dict(loader.state_dict(), shares={"web": 1})


def test_the_same_source_twice_has_added_shares(packs):
    twice = {"web": packs["web"], "coco": packs["coco"], "again": str(packs["web"]) + "/"}
    with made(twice, shares={"web": 1, "coco": 2, "again": 1}, epoch_samples=640) as loader:
        found = [key for batch in keys(loader) for key in batch]
        assert loader.passes() == {"web": 320 / 700, "again": 320 / 700, "coco": 320 / 190}
        assert set(next(iter(loader)).sources.tolist()) == {0, 1}
    assert len(set(by_source(found)["web"])) == len(by_source(found)["web"]) == 320


def test_epochs_of_a_pass_and_by_default(packs):
    with made(packs) as loader:
        assert len(loader) == -(-sum(SIZES.values()) // 64)
    with made(packs, epoch_samples="pass:coco", batch_size=10) as loader:
        assert len(loader) == 95
        assert sum(len(set(of)) for name, of in by_source([key for batch in keys(loader) for key in batch]).items() if name == "coco") == 190


def test_batches_of_one_source(packs):
    with made(packs, 16, exact_every=640, epoch_samples=1280, order=bl.Order(together=16)) as loader:
        numbers = [set(batch.sources.tolist()) for batch in loader]
    assert all(len(one) == 1 for one in numbers)
    assert collections.Counter(one for (one,) in numbers) == {0: 56, 1: 16, 2: 8}
    with pytest.raises(ValueError, match="100 is not a multiple of the 16"):
        made(packs, 16, epoch_samples=100, order=bl.Order(together=16))


def test_it_can_be_pickled_with_its_place(packs):
    with made(packs, epoch_samples=640) as loader:
        keys(loader, 3)
        state = loader.state_dict()
        wanted = keys(loader)
    fresh = made(packs, epoch_samples=640)
    fresh.load_state_dict(state)
    fresh.load_state_dict(state, shares={"web": 1, "coco": 1, "own": 1})
    with fresh, made(packs, epoch_samples=640) as plain:
        plain.load_state_dict(state)
        assert keys(pickle.loads(pickle.dumps(made(packs, epoch_samples=640)))) != keys(plain)
        assert len(wanted) == 10 and keys(fresh) != wanted[3:]


def views_of(batch):
    return batch.images if isinstance(batch.images, list) else [batch.images]


TRANSFORMS = {"web": bl.transforms.train(8), "coco": bl.transforms.val(8), "own": bl.transforms.train(8, hflip=0.5)}


@pytest.mark.parametrize("options", [{"workers": 2}, {"workers": 2, "threads": True}, {"workers": 0, "views": [TRANSFORMS, bl.transforms.train(6)]}], ids=str)
def test_sources_are_transformed_as_if_each_was_alone(packs, options):
    """Pass p of a source has the pixels of epoch p of a Loader of that source, also after a resume with other shares."""
    views = options.get("views", [TRANSFORMS])
    options = {**options, "transform": None, "views": views}
    alone = {}
    for name in SIZES:
        of_source = [view[name] if isinstance(view, dict) else view for view in views]
        with bl.Loader(packs[name], 64, workers=0, seed=5, views=of_source, tail="uneven") as loader:
            for epoch in range(4):
                loader.set_epoch(epoch)
                alone.update({(epoch, key, view): views_of(batch)[view][row].tobytes() for batch in loader for row, key in enumerate(batch.keys)
                              for view in range(len(views))})
    seen = collections.Counter()

    def check(batch):
        for row, key in enumerate(batch.keys):
            for view in range(len(views)):
                assert views_of(batch)[view][row].tobytes() == alone[seen[key], key, view]
            seen[key] += 1

    with made(packs, epoch_samples=640, **options) as loader:
        for batch in [*loader, *itertools.islice(loader, 3)]:
            check(batch)
        state = loader.state_dict()
    with made(packs, epoch_samples=640, **options) as loader:
        loader.load_state_dict(state, shares={"web": 1, "coco": 1, "own": 1})
        for batch in loader:
            check(batch)
        assert loader.views == views and loader.transform == views[0]
    assert max(seen.values()) >= 3


def test_transforms_by_source_that_do_not_fit(packs):
    def refused(transform, text, error=ValueError, sources=packs, **options):
        with pytest.raises(error, match=text):
            made(sources, transform=transform, **options)

    refused({"web": bl.transforms.val(8), "coco": bl.transforms.val(8)}, "transform: there is none for source 'own'")
    refused({**TRANSFORMS, "x": bl.transforms.val(8)}, "transform: no source is called 'x'")
    refused({**TRANSFORMS, "own": bl.transforms.val(9)}, "source 2 has 9 x 9 pixels, 3 channels, .* source 0 has 8 x 8")
    refused({**TRANSFORMS, "own": bl.transforms.raw()}, "source 2 has stored bytes")
    refused({**TRANSFORMS, "own": print}, "transform: .* cannot be translated", TypeError)
    twice = {"web": packs["web"], "again": str(packs["web"]) + "/"}
    refused({"web": bl.transforms.val(8), "again": bl.transforms.train(8)}, "'web' and 'again' have the same content", sources=twice,
            shares={"web": 1, "again": 1})
    with pytest.raises(ValueError, match="a dict has the transform of each source of a mixture"):
        bl.Loader(packs["web"], transform=TRANSFORMS)


def test_labels_that_stay_separate(bale, packs, tmp_path):
    plain = tmp_path / "plain"
    with bl.Writer(plain) as writer:  # classes without names cannot be merged with others
        for i in range(20):
            writer.add(f"plain/{i}", {"png": bl.Dataset(packs["own"]).read_image(i)}, label=40 + i % 3)
    sources = {**packs, "plain": plain}
    shares = {**SHARES, "plain": 1}
    with pytest.raises(bl.Error, match="have no class names"):
        made(sources, shares=shares)
    alone = {key: dataset.label(i) for dataset in map(bl.Dataset, sources.values()) for i, key in enumerate(dataset.keys)}
    for options in ({"workers": 2}, {"labels": "separate", "reading": bl.Reading(max_pixels=10**6)}):
        with made(sources, shares=shares, epoch_samples=640, **{"labels": "separate", **options}) as loader:
            for batch in loader:
                assert batch.labels.tolist() == [alone[key] for key in batch.keys]
            assert loader.dataset.classes == [] and [loader.dataset.label(i) for i in range(3)] == [alone[key] for key in loader.dataset.keys[:3]]
            state = loader.state_dict()
            assert pickle.loads(pickle.dumps(loader.dataset)).label(954) == 40
    again = pickle.loads(pickle.dumps(made(sources, shares=shares, epoch_samples=640, labels="separate")))
    with again:
        again.load_state_dict(state)
        assert next(iter(again)).labels.max() >= 40
    with pytest.raises(ValueError, match="labels: 'own' is none of merged, separate"):
        made(packs, labels="own")
    with bl.Loader([packs["web"], packs["coco"]], 1000, workers=0, labels="separate") as loader:  # not only of mixtures
        assert set(next(iter(loader)).labels.tolist()) == {0, 1}


def test_one_share_in_a_million(packs):
    with made(packs, shares={"web": 1_000_000, "coco": 1, "own": "0.5"}, epoch_samples=3200) as loader:
        assert {name: round(passed * SIZES[name]) for name, passed in loader.passes().items()} == {"web": 0, "coco": 0, "own": 0}
        counts = collections.Counter(itertools.chain.from_iterable(batch.sources.tolist() for batch in loader))
        assert sum(counts.values()) == 3200 and counts[1] <= 1 and counts[2] <= 1
        assert loader.state_dict()["position"] == 0


def test_a_source_with_one_sample(bale, packs, tmp_path):
    one = {"web": packs["web"], "one": packed(bale, tmp_path, "one", 1, 1)}
    with made(one, shares={"web": 1, "one": 1}, epoch_samples=128, transform=bl.transforms.train(8), threads=True, workers=2) as loader:
        batches = list(loader)
        assert [int((batch.sources == 1).sum()) for batch in batches] == [32, 32]
        images = {batch.images[row].tobytes() for batch in batches for row in range(64) if batch.sources[row] == 1}
        assert len(images) > 20  # with augmentation of its own in each pass
        assert loader.passes()["one"] == 64


def test_shares_that_change_twice_on_several_worlds(packs):
    """4 ranks, then 3 with other shares from the middle of a block, then 1, 2 and 8 with a third: no sample is lost or repeated."""
    options = {"epoch_samples": 5000, "exact_every": 100, "tail": "uneven"}
    second, third = {"web": 1, "coco": 1, "own": 1}, {"web": 5, "coco": "2.5", "own": 1}
    first, state = dealt(packs, 4, steps=7, **options)
    more, state = dealt(packs, 3, state, steps=5, change=second, **options)
    even_more, state = dealt(packs, 1, state, steps=3, change=third, **options)
    rest, state = dealt(packs, 2, state, steps=4, **{**options, "shares": third})
    last, state = dealt(packs, 8, state, steps=9, **{**options, "shares": third})
    undisturbed = by_source([key for batch in _epochs(packs, 4, epoch_samples=5000) for key in batch])
    for name, of in by_source(first + more + even_more + rest + last).items():
        assert of == undisturbed[name][:len(of)], name
    assert sum(one["delivered"] for one in state["mixture"]["sources"].values()) == len(first + more + even_more + rest + last)


def test_versions_of_sources_in_the_state(bale, packs, tmp_path):
    root = tmp_path / "grows"
    with bl.Writer(root) as writer:
        for i in range(30):
            writer.add(f"grows/{i}", {"png": bl.Dataset(packs["own"]).read_image(i)})
    sources = {"own": packs["own"], "grows": root}
    shares = {"own": 1, "grows": 1}
    with made(sources, 16, shares=shares, epoch_samples=640) as loader:
        batches = (batch.keys for batch in loader)
        first = [next(batches), next(batches)]
        state = json.loads(json.dumps(loader.state_dict()))
        rest = list(batches)
    old = state["mixture"]["sources"]["grows"]["dataset"]
    assert old == bl.Dataset(root).version
    bl.remove(root, ["grows/3", "grows/4"])
    with made(sources, 16, shares=shares, epoch_samples=640) as loader:
        with pytest.raises(ValueError, match=f"saw source 'grows' at version {old}, and it is at {loader.state_dict()['mixture']['sources']['grows']['dataset']}"):
            loader.load_state_dict(state)
        with pytest.warns(UserWarning, match="'grows' is at version .* its pass begins again"):
            loader.load_state_dict(state, shares=shares)
        found = by_source(itertools.chain.from_iterable(keys(loader)))
        assert not {"grows/3", "grows/4"} & set(found["grows"])
        assert len(set(found["grows"][:28])) == 28
        assert not set(found["own"][:32 - 16]) & set(by_source(itertools.chain.from_iterable(first))["own"])
    with made({"own": packs["own"], "grows": f"{root}@{old}"}, 16, shares=shares, epoch_samples=640) as loader:
        loader.load_state_dict(state)
        assert keys(loader) == rest


def test_where_is_refused_with_words(packs):
    with pytest.raises(ValueError, match="all samples of its sources, and where"):
        made(packs, where="width > 3")


@pytest.mark.parametrize("shares, text", [
    ({"web": 7, "coco": 2}, "there is none for source 'own'"),
    ({**SHARES, "extra": 1}, "no source is called 'extra'; the sources are 'web', 'coco', 'own'"),
    ({**SHARES, "own": 0}, "that of source 'own' is '0'"),
    ({**SHARES, "own": -1}, "that of source 'own' is '-1'"),
    ({**SHARES, "own": float("nan")}, "that of source 'own' is 'nan'"),
    ({**SHARES, "own": float("inf")}, "that of source 'own' is 'inf'"),
    ({**SHARES, "own": True}, "that of source 'own' is 'True'"),
    ({**SHARES, "own": "a tenth"}, "that of source 'own' is 'a tenth'"),
    (None, "needs shares, such as")], ids=str)
def test_shares_that_are_none(packs, shares, text):
    with pytest.raises(ValueError, match=text):
        made(packs, shares=shares)


def test_what_contradicts_a_mixture(packs, bale, tmp_path):
    for options, text in [({"order": bl.Order(repeats=2)}, "repeats choose samples"), ({"order": bl.Order(subset=[1])}, "subset"),
                          ({"shuffle": False}, "shuffle=False has no meaning"), ({"shuffle": "node-local"}, "shuffle='node-local'"),
                          ({"epoch_samples": 0}, "epoch_samples: 0 is below 1"), ({"exact_every": -2}, "exact_every: -2 is below 1"),
                          ({"epoch_samples": "pass:x"}, "neither a number nor 'pass:'"), ({"epoch_samples": "all"}, "neither a number")]:
        with pytest.raises(ValueError, match=text):
            made(packs, **options)
    with pytest.raises(ValueError, match="give a dict of datasets"):
        bl.Loader(packs["web"], shares={"web": 1})
    with pytest.raises(bl.Error, match="does not exist|no such|not found|No such"):
        made({**packs, "own": tmp_path / "nothing"})
    with made(packs) as loader, bl.Loader(packs["web"], workers=0) as plain:
        with pytest.raises(ValueError, match="without shares"):
            loader.load_state_dict(plain.state_dict())
        state = loader.state_dict()
        with made(packs, seed=6) as other, pytest.raises(ValueError, match="the state is of seed 5, and this Loader has 6"):
            other.load_state_dict(state, shares=SHARES)
        with made(packs, seed=6) as other, pytest.raises(ValueError, match="another dataset, selection, shuffle or seed"):
            other.load_state_dict(state)


def test_a_source_at_another_version_begins_again(packs, bale, tmp_path):
    newer = packed(bale, tmp_path, "own", 40)
    with made(packs, epoch_samples=640) as loader:
        keys(loader, 3)
        state = loader.state_dict()
    with made({**packs, "own": newer}, epoch_samples=640) as loader:
        with pytest.raises(ValueError, match="saw source 'own'"):
            loader.load_state_dict(state)
        with pytest.warns(UserWarning, match="source 'own' is at version .* its pass begins again"):
            loader.load_state_dict(state, shares=SHARES)
        passes = loader.passes()
        assert passes["own"] == 0 and passes["web"] == state["mixture"]["sources"]["web"]["delivered"] / 700


def test_with_torch(packs, torch):  # noqa: F811
    torch(f"""
    import bale, bale.torch as bt, torch
    two = {{"web": {str(packs["web"])!r}, "coco": {str(packs["coco"])!r}}}
    options = {{"workers": 0, "transform": bale.transforms.val(8), "shares": {{"web": 7, "coco": 3}}, "epoch_samples": 1000, "exact_every": 250,
               "world_size": 1, "with_samples": True}}
    with bt.Loader(two, 250, **options) as loader:
        batches = list(loader)
        assert [int((samples.sources == 0).sum()) for *_, samples in batches] == [175] * 4
        assert batches[0][-1].sources.dtype == torch.int64
        assert loader.passes() == {{"web": 1.0, "coco": 300 / 190}}
        assert len(loader.dataset) == 890
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
    torch.manual_seed(99)
    with bt.Loader(two, 250, **options) as loader:  # without a seed: that of the state
        loader.load_state_dict(state, shares={{"web": 1, "coco": 1}})
        *_, samples = next(iter(loader))
        assert int((samples.sources == 0).sum()) == 125
        assert loader.passes() == {{"web": (700 + 175 + 125) / 700, "coco": (300 + 75 + 125) / 190}}
        by_source = {{"web": bale.transforms.train(8), "coco": bale.transforms.val(8)}}
        with bt.Loader(two, 250, labels="separate", **{{**options, "transform": by_source}}) as own:
            images, labels, samples = next(iter(own))
            assert images.shape == (250, 3, 8, 8) and set(labels.tolist()) == {{0, 1}} and own.transform == by_source
        raises(ValueError, "a mixture has an order of its own", lambda: bt.Loader(two, 250, sampler=[1, 2], **options))
    raises(ValueError, "only for Loaders", lambda: bt.IterableDataset(two["web"], order=bale.Order(shares={{"web": 1}})))
    """)
