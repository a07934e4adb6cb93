"""shuffle="node-local": what the ranks of each node deliver, their steps, and where a state can be continued."""
import collections
import itertools

import pytest
from conftest import by_tier, make_images
from python_support import run_script

import bale as bl

SIZES = (5, 1, 9, 3, 14)  # samples per shard
SAMPLES = sum(SIZES)
BATCH = 2


@pytest.fixture(scope="module")
def pack(bale, tmp_path_factory):
    """Shards of uneven sizes; every sample is a class of its own."""
    root = tmp_path_factory.mktemp("node_local")
    make_images.make_tree(root / "photos", classes=SAMPLES, per_class=1, size=(12, 9))
    photos = sorted((root / "photos").rglob("*.*"))
    parts = []
    for number, size in enumerate(SIZES):
        parts.append(root / f"part{number}")
        with bl.Writer(parts[-1], classes=[str(label) for label in range(SAMPLES)], shard_samples=size) as writer:
            for label in range(sum(SIZES[:number]), sum(SIZES[:number + 1])):
                writer.add(f"{label:03}", {"jpg": photos[label].read_bytes()}, label=label)
    bl.merge(parts, root / "pack")
    return root / "pack"


def shard_of(sample):
    return next(shard for shard, end in enumerate(itertools.accumulate(SIZES)) if sample < end)


def loader(pack, rank, nodes, ranks, **options):
    return bl.Loader(pack, BATCH, **{"rank": rank, "world_size": nodes * ranks, "order": bl.Order(ranks_per_node=ranks), "shuffle": "node-local",
                                     "seed": 4, "workers": 0, "transform": bl.transforms.val(8), **options})


def steps_of(loader, number=None, padding=False):
    """[[samples of a step, without masked rows unless they are wanted]]."""
    return [batch.indices[slice(None) if padding else batch.mask].tolist() for batch in itertools.islice(loader, number)]


def epoch_of(pack, nodes, ranks, epoch=0, **options):
    """[steps of each rank]."""
    found = []
    for rank in range(nodes * ranks):
        with loader(pack, rank, nodes, ranks, **options) as batches:
            batches.set_epoch(epoch)
            found.append(steps_of(batches, padding=options.get("tail") == "pad"))
    assert len({len(steps) for steps in found}) == 1
    return found


def flat(steps):
    return [sample for step in steps for sample in step]


@pytest.mark.parametrize("nodes, ranks", [(1, 1), (2, 1), (2, 2), (3, 1), *by_tier([], [(3, 2), (4, 2), (8, 3)])])
def test_each_sample_once_on_its_node(pack, nodes, ranks):
    parts = collections.defaultdict(set)
    for epoch in (0, 1):
        found = epoch_of(pack, nodes, ranks, epoch, tail="uneven")
        assert sorted(sample for steps in found for sample in flat(steps)) == list(range(SAMPLES))
        for rank, steps in enumerate(found):
            parts[rank // ranks].update(flat(steps))
    assert sum(map(len, parts.values())) == SAMPLES  # the same parts in both epochs
    shards = [{shard_of(sample) for sample in part} for part in parts.values()]
    assert sum(map(len, shards)) <= len(SIZES) + nodes - 1  # only a shard at a border is on two nodes

    padded = epoch_of(pack, nodes, ranks, tail="pad")
    assert len({len(flat(steps)) for steps in padded}) == 1
    for rank, steps in enumerate(padded):
        assert set(flat(steps)) <= parts[rank // ranks]  # also what is repeated
    dropped = epoch_of(pack, nodes, ranks, tail="drop")
    counted = collections.Counter(sample for steps in dropped for sample in flat(steps))
    assert set(counted.values()) <= {1} and len(counted) == SAMPLES // (BATCH * nodes * ranks) * BATCH * nodes * ranks


@pytest.mark.parametrize("options", [{"workers": 1}, {"workers": 3}, {"workers": 2, "threads": True}], ids=str)
def test_workers_do_not_matter(pack, options):
    with loader(pack, 1, 2, 2) as alone, loader(pack, 1, 2, 2, **options) as batches:
        assert steps_of(alone) == steps_of(batches)


def test_every_stop_is_continued(pack):
    whole = epoch_of(pack, 2, 2, epoch=1, tail="uneven")
    for rank, taken in itertools.product(range(4), range(len(whole[0]) + 1)):
        with loader(pack, rank, 2, 2, tail="uneven") as before:
            before.set_epoch(1)
            first = steps_of(before, taken) if taken else []
            state = before.state_dict()
        with loader(pack, rank, 2, 2, tail="uneven") as after:
            after.load_state_dict(state)
            assert first + steps_of(after) == whole[rank], (rank, taken)


def test_nodes_change_only_between_epochs(pack):
    with loader(pack, 0, 2, 2, tail="drop") as batches:
        steps = len(batches)
        beginning = batches.state_dict()
        iterator = iter(batches)
        states = [batches.state_dict() for _ in (next(iterator) for _ in range(steps))]
    assert "nodes" not in beginning and "nodes" not in states[-1]
    assert (states[0]["nodes"], states[0]["ranks_per_node"]) == (2, 2)
    for nodes, ranks in ((1, 2), (4, 1), (1, 4), (3, 2)):
        with loader(pack, 0, nodes, ranks, tail="drop") as other:
            for state in states[:-1]:
                with pytest.raises(ValueError, match="within epoch 0 on 2 nodes of 2 ranks.*only between epochs"):
                    other.load_state_dict(state)
            other.load_state_dict(states[-1])
            assert steps_of(other) == []  # the epoch is over, also what drop left out
            assert other.epoch == 1
            other.load_state_dict(beginning)
            assert flat(steps_of(other))
    with bl.Loader(pack, BATCH, seed=4, workers=0, transform=bl.transforms.val(8)) as full:
        with pytest.raises(ValueError, match="another dataset, selection, shuffle or seed"):
            full.load_state_dict(states[0])


def test_a_part_of_the_dataset(pack):
    """In any order, some samples twice, and copies."""
    subset = [30, 2, 2, 17, 9, 8, 31, 0, 25]
    found = epoch_of(pack, 2, 1, tail="uneven", order=bl.Order(subset, repeats=2, ranks_per_node=1))
    assert sorted(sample for steps in found for sample in flat(steps)) == sorted(subset * 2)
    assert epoch_of(pack, 2, 1, tail="uneven", order=bl.Order(sorted(subset), repeats=2, ranks_per_node=1)) == found


def test_what_makes_no_sense_is_refused(pack, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="how many ranks share a node.*ranks_per_node"):
        loader(pack, 0, 2, 2, order=bl.Order())
    with pytest.raises(ValueError, match="4 ranks on nodes of 3 ranks each"):
        loader(pack, 0, 2, 2, order=bl.Order(ranks_per_node=3))
    with pytest.raises(ValueError, match="cannot draw samples with replacement"):
        loader(pack, 0, 2, 2, order=bl.Order(weights=[1] * SAMPLES, ranks_per_node=2))
    with pytest.raises(ValueError, match="none of True, False, 'block', 'node-local'"):
        loader(pack, 0, 2, 2, shuffle="node")


def test_a_launcher_says_how_many_ranks_a_node_has(pack):
    script = """
        import sys, bale
        with bale.Loader(sys.argv[1], 2, rank=2, world_size=4, shuffle="node-local", seed=4, workers=0,
                         transform=bale.transforms.val(8)) as loader:
            print([batch.indices.tolist() for batch in loader])
    """
    launched = {"RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "2"}
    with loader(pack, 2, 2, 2) as batches:
        assert run_script(script, pack, **launched).strip() == str(steps_of(batches))
    error = """
        import sys, bale
        try:
            bale.Loader(sys.argv[1], 2, rank=2, world_size=4, shuffle="node-local", workers=0)
        except ValueError as error:
            print(error)
    """
    assert "nodes have different numbers of ranks" in run_script(error, pack, **{**launched, "GROUP_WORLD_SIZE": "3"})
    assert "ranks share a node" in run_script(error, pack, **{**launched, "RANK": "1"})  # of another group of ranks
