"""bale.torch on several ranks: every sample once among them, in equally many steps, and a state from two ranks on three."""
import json
import subprocess
import textwrap

import pytest
from conftest import make_images
from python_support import ENVIRONMENT, SYSTEM_PYTHON, run_script, torchrun

SAMPLES = 37  # no multiple of anything: every tail has work to do
BATCH_SIZE = 4
EPOCH = 3
TAKEN = 2  # steps of two ranks before their state is taken

# One process of several. Every image is a class of its own, so labels tell samples apart.
RANK = """
    import json, os, sys
    import torch, torch.distributed as dist
    import bale
    import bale.torch as bt

    pack, folder, batch_size, epoch, taken = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()

    def loader(tail="uneven"):
        made = bt.Loader(pack, batch_size, workers=1, seed=5, tail=tail, with_mask=True, transform=bale.transforms.val(8))
        assert (made.rank, made.world_size) == (rank, world_size) == (made.sampler.rank, made.sampler.num_replicas)
        return made

    def steps(batches):
        taken = []
        for images, labels, mask in batches:
            assert images.shape == (len(labels), 3, 8, 8)
            taken.append([labels.tolist(), mask.tolist()])
            dist.all_reduce(torch.zeros(1))     # hangs or fails where ranks make unequal steps
        return taken

    found = {}
    for tail in ("uneven", "pad", "drop"):
        with loader(tail) as batches:
            batches.set_epoch(epoch)
            found[tail] = {"length": len(batches), "steps": steps(batches)}

    state_file = os.path.join(folder, "state")
    if world_size == 2:
        with loader() as batches:
            batches.set_epoch(epoch)
            iterator = iter(batches)
            found["before"] = steps(next(iterator) for _ in range(taken))
            states = [None, None]
            dist.all_gather_object(states, batches.state_dict())
            assert states[0] == states[1]
            if rank == 0:
                torch.save(states[0], state_file)
    if world_size == 3:
        with loader() as batches:
            batches.load_state_dict(torch.load(state_file))
            batches.set_epoch(epoch)            # the usual loop does that
            found["after"] = steps(batches)
            found["next"] = steps(batches)
            assert batches.epoch == epoch + 2

    with open(os.path.join(folder, f"{world_size}-{rank}.json"), "w") as file:
        json.dump(found, file)
    dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def pack(bale, tmp_path_factory):
    root = tmp_path_factory.mktemp("ranks")
    make_images.make_tree(root / "photos", classes=SAMPLES, per_class=1, size=(24, 18))
    bale.pack(root / "photos", root / "pack", "--shard-samples", "15")
    return root / "pack"


@pytest.fixture(scope="module")
def ranks(pack, tmp_path_factory):
    """{world size: what each rank found}. The state goes from two ranks to three."""
    folder = tmp_path_factory.mktemp("found")
    script = folder / "rank.py"
    script.write_text(textwrap.dedent(RANK))
    found = {}
    for world_size in (1, 2, 3):
        done = subprocess.run([SYSTEM_PYTHON, *torchrun(world_size, folder), script, pack, folder,
                               *map(str, (BATCH_SIZE, EPOCH, TAKEN))], capture_output=True, text=True, timeout=120,
                              env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        found[world_size] = [json.loads((folder / f"{world_size}-{rank}.json").read_text()) for rank in range(world_size)]
    return found


def sequence(ranks):
    """[(sample, counts)] of all ranks in the order of the epoch: row by row, rank by rank."""
    steps = [len(rank) for rank in ranks]
    assert len(set(steps)) == 1, steps
    dealt = []
    for step in zip(*ranks):
        rows = [list(zip(labels, mask)) for labels, mask in step]
        assert len({len(own) for own in rows}) == 1
        dealt += [row for of_all_ranks in zip(*rows) for row in of_all_ranks]
    return dealt


def steps_of(ranks, world_size, tail):
    return [rank[tail]["steps"] for rank in ranks[world_size]]


@pytest.fixture(scope="module")
def order(ranks):
    """The samples of the epoch as one rank meets them."""
    samples = [sample for sample, _ in sequence(steps_of(ranks, 1, "uneven"))]
    assert sorted(samples) == list(range(SAMPLES)) != samples
    return samples


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_every_sample_once(ranks, order, world_size):
    dealt = sequence(steps_of(ranks, world_size, "uneven"))
    assert [sample for sample, counts in dealt if counts] == order
    assert all(sample < 0 for sample, counts in dealt if not counts)
    assert len(dealt) - SAMPLES < world_size  # no more empty rows than it takes


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_padded_and_dropped_tails(ranks, order, world_size):
    padded = sequence(steps_of(ranks, world_size, "pad"))
    assert len(padded) == -(-SAMPLES // world_size) * world_size
    assert [sample for sample, _ in padded] == order + order[:len(padded) - SAMPLES]
    assert [counts for _, counts in padded] == [True] * SAMPLES + [False] * (len(padded) - SAMPLES)
    whole = SAMPLES // (BATCH_SIZE * world_size) * BATCH_SIZE * world_size
    assert sequence(steps_of(ranks, world_size, "drop")) == [(sample, True) for sample in order[:whole]]


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_equally_many_steps(ranks, world_size):
    rows = -(-SAMPLES // world_size)
    for tail, expected in (("uneven", -(-rows // BATCH_SIZE)), ("pad", -(-rows // BATCH_SIZE)),
                           ("drop", SAMPLES // (BATCH_SIZE * world_size))):
        for rank in ranks[world_size]:
            assert rank[tail]["length"] == len(rank[tail]["steps"]) == expected


def test_a_state_of_two_ranks_on_three(ranks, order):
    before = sequence([rank["before"] for rank in ranks[2]])
    after = sequence([rank["after"] for rank in ranks[3]])
    following = sequence([rank["next"] for rank in ranks[3]])
    assert len(before) == TAKEN * BATCH_SIZE * 2 and all(counts for _, counts in before)
    assert [sample for sample, counts in before + after if counts] == order
    assert sorted(sample for sample, counts in following if counts) == list(range(SAMPLES))
    assert [sample for sample, counts in following if counts] != order


def test_ranks_of_the_environment_and_of_arguments(pack):
    """Without torch.distributed: what the launcher says, unless the caller says otherwise."""
    script = """
        import sys
        import bale.torch as bt
        for given in ({}, {"rank": 0, "world_size": 2}, {"world_size": 1}):
            with bt.Loader(sys.argv[1], 4, workers=0, tail="uneven", with_mask=True, **given) as loader:
                print(loader.rank, loader.world_size, len(loader))
    """
    assert run_script(script, pack, python=SYSTEM_PYTHON) == "0 1 10\n0 2 5\n0 1 10\n"
    assert run_script(script, pack, python=SYSTEM_PYTHON, RANK="1", WORLD_SIZE="3") == "1 3 4\n0 2 5\n0 1 10\n"


def test_ranks_that_do_not_know_each_other(pack):
    """As under torchrun with the MPI backend, which does not ask the launcher: each process reads everything, and says so."""
    script = """
        import os, sys, warnings
        import torch.distributed as dist
        import bale.torch as bt

        def found(world_size=1, given={}, **launched):
            dist.get_world_size = lambda: world_size
            os.environ.update(launched)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with bt.Loader(sys.argv[1], 4, workers=0, **given) as loader:
                    assert sum(len(labels) for _, labels in loader) == len(loader.sampler)
                    assert len(bt.IterableDataset(sys.argv[1], **given)) == len(loader.sampler)
            return loader.rank, loader.world_size, [(str(one.message), one.filename) for one in caught]

        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        assert found() == (0, 1, [])
        assert found(RANK="1", WORLD_SIZE="") == found(WORLD_SIZE="1") == (0, 1, [])
        assert found(4, WORLD_SIZE="2") == (0, 4, [])  # two nodes were launched, and each started a process per GPU
        assert found(given={"rank": 0, "world_size": 1}) == (0, 1, [])  # the caller knows
        rank, world_size, [(message, file)] = found()
        assert (rank, world_size, file) == (0, 1, "<string>")
        assert message.startswith("torch.distributed has world size 1 (backend gloo), but the launcher's WORLD_SIZE is 2: ")
    """
    run_script(script, pack, python=SYSTEM_PYTHON)
