"""bale.torch on several ranks: every sample once among them, in equally many steps, and a state from two ranks on three."""
import contextlib
import json
import os
import pathlib
import textwrap

import pytest
from conftest import make_images
from python_support import run_script, torchrun
from torch_support import torch  # noqa: F401 - a fixture

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
def ranks(torch, pack, tmp_path_factory):
    """{world size: what each rank found}. The state goes from two ranks to three."""
    folder = tmp_path_factory.mktemp("found")
    script = folder / "rank.py"
    script.write_text(textwrap.dedent(RANK))
    found = {}
    for world_size in (1, 2, 3):
        torch.run(folder, *torchrun(world_size, folder), script, pack, folder, BATCH_SIZE, EPOCH, TAKEN, OMP_NUM_THREADS="1")
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


def test_ranks_of_the_environment_and_of_arguments(torch, pack):
    """Without torch.distributed: what the launcher says, unless the caller says otherwise."""
    script = """
        import sys
        import bale.torch as bt
        for given in ({}, {"rank": 0, "world_size": 2}, {"world_size": 1}):
            with bt.Loader(sys.argv[1], 4, workers=0, tail="uneven", with_mask=True, **given) as loader:
                print(loader.rank, loader.world_size, len(loader))
    """
    assert torch(script, pack) == "0 1 10\n0 2 5\n0 1 10\n"
    assert torch(script, pack, RANK="1", WORLD_SIZE="3") == "1 3 4\n0 2 5\n0 1 10\n"


def test_ranks_that_do_not_know_each_other(torch, pack):
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
        assert (rank, world_size, file) == (0, 1, "<script>")
        assert message.startswith("torch.distributed has world size 1 (backend gloo), but the launcher's WORLD_SIZE is 2: ")
    """
    torch(script, pack)


ATTENDANCE = """
    import os, signal, sys, tempfile, time, traceback, warnings
    import torch.distributed as dist
    import bale, bale.torch as bt
    from bale.torch._attendance import ATTENDANCE

    def loader(**options):
        return bt.Loader(sys.argv[1], 4, workers=0, seed=1, transform=bale.transforms.val(8), **options)

    def warned(world_size, work):
        '''The warnings of each rank.'''
        with tempfile.TemporaryDirectory() as folder:
            children = []
            for rank in range(world_size):
                children.append(os.fork())
                if children[-1] == 0:
                    try:
                        store = dist.FileStore(f"{folder}/store", world_size)
                        dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size)
                        with warnings.catch_warnings(record=True) as caught:
                            warnings.simplefilter("always")
                            warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)  # of os.fork() since Python 3.12
                            work(rank)
                            dist.destroy_process_group()
                            ATTENDANCE.at_exit()
                        with open(f"{folder}/{rank}", "w") as file:
                            file.write("\\n".join(f"{one.filename}: {one.message}" for one in caught))
                        os._exit(0)
                    except BaseException:
                        traceback.print_exc()
                        os._exit(1)
            running = set(children)
            while running:
                child, status = os.wait()
                running.remove(child)
                if status:
                    for other in running:  # they would wait for it
                        os.kill(other, signal.SIGKILL)
                assert status == 0, f"rank {children.index(child)}: {status}"
            return [open(f"{folder}/{rank}").read().splitlines() for rank in range(world_size)]

    def is_one_of(found, rank, world_size, missing):
        (line,), *others = found[rank:] + found[:rank]
        assert line.startswith("<script>: ") or "attendance.py: " in line, line
        assert sys.argv[1] in line and f"one of {world_size}, of epoch 0, which {missing} of {world_size} ranks did not begin" in line, line
        assert "needs world_size=1" in line and not any(others), found

    tensor = torch.zeros(1)  # kept: in torch 2.6 destroy_process_group() waits forever for a thread that drops the last reference to one

    def step():
        dist.all_reduce(tensor)
"""


@pytest.fixture(scope="module")
def attendance(pack, torch):
    return lambda script: torch(ATTENDANCE + script, pack)


def test_a_rank_that_reads_alone_is_reported(attendance):
    """It read one share of the validation set, without a word."""
    attendance("""
    def each_epoch(reader, make_val):
        def work(rank):
            train, val = loader(), make_val()
            for epoch in range(3):
                for _ in train:
                    step()
                if rank in reader:
                    assert sum(1 for _ in val)
        return work
    is_one_of(warned(2, each_epoch([0], lambda: loader(shuffle=False))), 0, 2, 1)
    is_one_of(warned(3, each_epoch([2], lambda: loader(shuffle=False, order=bale.Order(subset=range(30))))), 2, 3, 2)
    found = warned(3, each_epoch([0, 1], lambda: bt.IterableDataset(sys.argv[1], seed=9)))
    assert sum(map(len, found[:2])) >= 1 and not found[2] and "which 1 of 3 ranks" in (found[0] + found[1])[0], found
    def counted(rank):
        '''Lightning asks for no more than len() says.'''
        train, val = loader(), loader(shuffle=False)
        for epoch in range(2):
            for _ in train:
                step()
            batches = iter(val)
            assert all(next(batches) for _ in range(len(val) if rank == 0 else 0))
    is_one_of(warned(2, counted), 0, 2, 1)
    def once(rank):
        if rank == 0:
            for _ in loader(shuffle=False):
                pass
        dist.barrier()
    is_one_of(warned(2, once), 0, 2, 1)
    """)


def test_ranks_that_read_together_get_no_message(attendance):
    attendance("""
    def all_read(rank):
        '''One rank is late, and looks at a batch before.'''
        train, val, stream = loader(), loader(shuffle=False), bt.IterableDataset(sys.argv[1], seed=2)
        if rank == 0:
            next(iter(train))
            next(iter(val))
        for epoch in range(3):
            for one in (train, val):
                one.set_epoch(epoch)
            for _ in train:
                step()
            if rank == 1:
                time.sleep(0.05)  # a checkpoint is written
            for one in (val, stream):
                for _ in one:
                    pass
            for _ in val:  # a further pass of this epoch
                break
        step()
    for world_size in (2, 3):
        assert warned(world_size, all_read) == [[]] * world_size
    def reads_alone_on_purpose(rank):
        for options in ({"world_size": 1}, {"rank": rank, "world_size": 2}):
            if rank == 0:
                assert len([sum(1 for _ in loader(**options)) for _ in range(2)]) == 2
        for _ in range(3):
            for _ in loader():
                step()
    assert warned(2, reads_alone_on_purpose) == [[], []]
    """)


def test_a_store_that_does_not_answer_costs_nothing(attendance):
    attendance("""
    class Broken:
        def add(self, key, number):
            raise RuntimeError("no server")
    def work(rank):
        ATTENDANCE._store = Broken()
        for _ in range(2):
            assert sum(1 for _ in loader()) == 5
    assert warned(2, work) == [[], []]
    """)


def test_a_forked_process_counts_for_itself(attendance):
    attendance("""
    def work(rank):
        if rank == 0:
            assert sum(1 for _ in loader()) and ATTENDANCE._ended
        dist.barrier()
        child = os.fork()
        if child == 0:
            time.sleep = lambda seconds: os._exit(1)  # it does not wait for what its parent has read
            ATTENDANCE.at_exit()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        for _ in loader():
            step()
    work_again = warned(2, work)
    assert work_again == [[], []], work_again
    """)


# --- the default number of workers

COUNT = """
    import os, sys
    import bale
    loader = bale.Loader(sys.argv[1], 4)
    print(loader._native.made.workers, len(os.sched_getaffinity(0)))
"""


def test_the_default_number_is_the_ranks_share(pack):
    cores = len(os.sched_getaffinity(0))
    assert run_script(COUNT, pack) == f"{cores} {cores}\n"
    assert run_script(COUNT, pack, LOCAL_WORLD_SIZE="2") == f"{max(cores // 2, 1)} {cores}\n"
    assert run_script(COUNT, pack, LOCAL_WORLD_SIZE="64") == f"{max(cores // 64, 1)} {cores}\n"
    assert run_script(COUNT, pack, LOCAL_WORLD_SIZE="") == f"{cores} {cores}\n"


@pytest.fixture
def one_core_group():
    """A control group with a quota of 1.5 cores."""
    name = f"bale-test-{os.getpid()}"
    for root, files in (("/sys/fs/cgroup", {"cpu.max": "150000 100000"}),
                        ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"})):
        group = pathlib.Path(root, name)
        if not pathlib.Path(root, "cgroup.procs").exists():
            continue
        with contextlib.suppress(OSError):
            group.mkdir()
            for file, content in files.items():
                (group / file).write_text(content)
            break
        with contextlib.suppress(OSError):
            group.rmdir()
    else:
        pytest.skip("no control group can be made here")
    yield group
    group.rmdir()


def test_the_quota_of_a_container_counts(pack, one_core_group):
    script = COUNT.replace("loader = ", f"open('{one_core_group}/cgroup.procs', 'w').write(str(os.getpid())); loader = ")
    assert run_script(script, pack).split()[0] == "1"
