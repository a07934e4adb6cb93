"""The scripts of tests/python/pytorch/scripts that need Lightning, Accelerate, timm or Jupyter: both loaders report the same.

They run in the environment of python/examples (tests/python/requirements-examples.txt), with tiny networks and images.
"""
import subprocess

import pytest
from python_support import ENVIRONMENT, EXAMPLES_PYTHON, PACKAGE
from scripts_support import SCRIPTS, assert_same, photos_and_pack, report_of, reports_of  # noqa: F401 - a fixture

# Lightning registers torch 1.13's sharded tensors, which cannot be imported under Python 3.11.
FOR_LIGHTNING = """
import sys, types
try:
    import importlib.metadata
    old = importlib.metadata.version("torch").startswith("1.")
except importlib.metadata.PackageNotFoundError:
    old = False
if old:
    hooks = types.ModuleType("torch.distributed._shard.sharded_tensor")
    def hook(*_):  # of a module's model, which ddp_spawn pickles
        pass
    hooks.state_dict_hook = hooks.pre_load_state_dict_hook = hook
    sys.modules[hooks.__name__] = hooks
"""


@pytest.fixture
def both(photos_and_pack, tmp_path):
    return lambda script, *args, **env: reports_of([EXAMPLES_PYTHON, SCRIPTS / script], photos_and_pack, tmp_path, *args, **env)


@pytest.mark.parametrize("devices", [1, 2])
def test_lightning(both, tmp_path, devices):
    """On two devices Lightning sets up the ranks after the loaders were made."""
    (tmp_path / "sitecustomize.py").write_text(FOR_LIGHTNING)  # Lightning starts the second rank, so it is for that, too
    theirs, ours = both("lightning_fit.py", "--devices", devices, PYTHONPATH=f"{tmp_path}:{PACKAGE}")
    assert_same(ours, theirs)
    assert ours["trained"] == [16] * 5 and ours["steps"] == 20 // devices


def test_accelerate(both):
    theirs, ours = both("accelerate_train.py")
    assert_same(ours, theirs)
    assert ours["trained"] == [16] * 5 and ours["validated"] == [8] * 5


def test_timm(both):
    theirs, ours = both("timm_train.py")
    assert_same(ours, theirs)
    assert ours["count"] == 40 and ours["trained"] == [[3, 40], [6, 40]]


def test_notebook(photos_and_pack, tmp_path):
    """Every cell is run twice; Out and a traceback hold batches."""
    reports = []
    for more in ("", "--bale"):
        folder, pack = map(str, photos_and_pack)
        environment = {**ENVIRONMENT, "HOME": str(tmp_path), "SCRIPTS": str(SCRIPTS), "FOLDER": folder, "PACK": pack, "BALE": more}
        done = subprocess.run([EXAMPLES_PYTHON, SCRIPTS / "run_notebook.py"], capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, env=environment)
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        reports.append(report_of(done.stdout))
    theirs, ours = reports
    assert_same(ours, theirs)
    assert len(ours["labels"]) == 2 and ours["kept"] > 8


PASSES = """
import sys, warnings
import lightning as L
import torch
from torch.utils import data
import bale
import bale.torch as bt
from lightning.pytorch.utilities import CombinedLoader


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer, self.seen, self.found, self.estimates = torch.nn.Linear(1, 1), {}, [], False

    def training_step(self, batch, batch_idx):
        batches = batch if isinstance(batch, dict) else {"long": batch}
        for name, (images, labels, samples) in batches.items():
            self.seen.setdefault(name, []).append((self.trainer.current_epoch, samples.indices.tolist(), images.float().sum().item()))
        return self.layer(torch.ones(1, 1)).sum()

    def on_train_end(self):
        if self.trainer.world_size > 1:
            ours = [sample for epoch, samples, _ in self.seen["long"] if epoch == 0 for sample in samples]
            shares = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(shares, ours)
            assert sorted(shares[0] + shares[1]) == list(range(40)), shares

    def configure_optimizers(self):
        steps = self.trainer.estimated_stepping_batches if self.estimates else 30
        return torch.optim.SGD(self.parameters(), lr=1 / steps)


class NextTo(Model):
    def training_step(self, batch, batch_idx):
        self.__dict__.setdefault("rows", []).append(batch.pop("rows"))
        return super().training_step(batch, batch_idx)


def loader(spec=sys.argv[1], size=4, **options):
    return bt.Loader(spec, size, **{"num_workers": 1, "with_samples": True, "seed": 3, "transform": bale.transforms.train(16), **options})


def trainer(**options):
    return L.Trainer(accelerator="cpu", logger=False, enable_model_summary=False, enable_progress_bar=False,
                     **{"devices": 1, "max_epochs": 3, "enable_checkpointing": False, **options})


if __name__ == "__main__":
    if sys.argv[2] == "cycle":
        loaders = {"long": loader(), "short": loader(order=bale.Order(subset=range(12)))}
        model = Model()
        trainer().fit(model, CombinedLoader(loaders, "max_size_cycle"))
        for name, length in (("long", 10), ("short", 3)):
            epochs = [[batch for epoch, *batch in model.seen[name] if epoch == number] for number in range(3)]
            passes = [str(epoch[i:i + length]) for epoch in epochs for i in range(0, len(epoch), length) if len(epoch[i:i + length]) == length]
            assert len(passes) == len(set(passes)) == 3 * (10 // length), (name, len(passes), len(set(passes)))
    elif sys.argv[2] == "overfit":
        whole = bt.Dataset(sys.argv[1])
        part = data.Subset(whole, range(30, 4, -1))
        in_order = [0, 1, 2, 3, 4, 5, 6, 7]
        shuffled = [({"sampler": data.RandomSampler(whole)}, in_order), ({"order": bale.Order(weights=[1.0] * 40)}, in_order), ({"order": bale.Order(subset=range(9, 30))}, range(9, 17)),
                    ({"sampler": data.RandomSampler(whole, num_samples=20)}, in_order), ({"spec": part}, range(30, 22, -1)),
                    ({"spec": part, "sampler": data.WeightedRandomSampler([1.0] * 26, 12)}, range(30, 22, -1)), ({}, in_order)]
        for options, expected in shuffled:
            made = [loader(**options), loader(**options)]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = Model()
                trainer(overfit_batches=2, max_epochs=2).fit(model, *made)
            assert [sample for _, samples, _ in model.seen["long"] for sample in samples] == [*expected] * 2, (options, model.seen)
            assert sum("does not shuffle any more" in str(one.message) for one in caught) >= 1
            assert isinstance(made[0].sampler, data.SequentialSampler) and len(made[0].dataset) in (40, 26, 21)
        model = Model()
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*shuffle any more")
            trainer(overfit_batches=2).fit(model, loader(shuffle=False), loader(shuffle=False))
        assert [samples for _, samples, _ in model.seen["long"]] == [[0, 1, 2, 3], [4, 5, 6, 7]] * 3
        # Next to a DataLoader that shuffles, which Lightning makes again; and in a Prefetcher.
        rows = data.DataLoader(range(40), 4, shuffle=True, collate_fn=lambda rows: rows)
        model = NextTo()
        trainer(overfit_batches=2, max_epochs=2).fit(model, {"rows": rows, "long": loader()})
        assert [samples for _, samples, _ in model.seen["long"]] == [[0, 1, 2, 3], [4, 5, 6, 7]] * 2 == model.rows
        model = Model()
        trainer(overfit_batches=2, max_epochs=2).fit(model, bt.Prefetcher(loader(), "cpu"))
        assert [samples for _, samples, _ in model.seen["long"]] == [[0, 1, 2, 3], [4, 5, 6, 7]] * 2
    elif sys.argv[2] == "estimates":  # Lightning never loads the loaders' states then
        import tempfile
        from lightning.pytorch.callbacks import ModelCheckpoint
        with tempfile.TemporaryDirectory() as directory:
            saving = ModelCheckpoint(directory, every_n_train_steps=4, save_top_k=-1, filename="{step}")
            trainer(max_epochs=1, enable_checkpointing=True, callbacks=[saving]).fit(Model(), loader())
            for estimates in (False, True):
                model = Model()
                model.estimates = estimates
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    trainer(max_epochs=1).fit(model, loader(), loader(shuffle=False), ckpt_path=f"{directory}/step=4.ckpt")
                reported = [str(one.message) for one in caught if "estimated_stepping_batches" in str(one.message)]
                assert len(reported) == estimates, reported
                seen = [sample for _, samples, _ in model.seen["long"] for sample in samples]
                assert estimates or len(seen) == 24, seen
            for size, limit in ((8, 1.0), (2, 1.0), (8, 4)):  # Lightning counts on from the batches of the checkpoint
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    trainer(max_epochs=1, limit_train_batches=limit).fit(Model(), loader(size=size), ckpt_path=f"{directory}/step=4.ckpt")
                reported = [str(one.message) for one in caught if "of the 3 that are left" in str(one.message)]
                assert len(reported) == ((size, limit) == (8, 1.0)), (size, limit, reported)
    else:
        trainer(devices=2, strategy=sys.argv[2], max_epochs=1).fit(Model(), loader(seed=None))
"""


@pytest.mark.parametrize("what", ["cycle", "overfit", "estimates", "ddp_spawn", "ddp_fork"])
def test_lightning_restarts_overfits_spawns_and_forks(photos_and_pack, tmp_path, what):
    (tmp_path / "sitecustomize.py").write_text(FOR_LIGHTNING)
    (tmp_path / "script.py").write_text(PASSES)
    done = subprocess.run([EXAMPLES_PYTHON, tmp_path / "script.py", photos_and_pack[1], what], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env={**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}:{PACKAGE}", "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"


STATEFUL = """
import collections, itertools, pickle, sys
import torch
from torchdata.stateful_dataloader import StatefulDataLoader
import bale
import bale.torch as bt

torch.set_num_threads(1)
stored = bale.Dataset(sys.argv[1])
number = {stored.read_image(i): i for i in range(len(stored))}


def made(workers, persistent, every, **share):
    stream = bt.IterableDataset(sys.argv[1], decode="bytes", seed=5, batch_size=4, **share)
    return stream, StatefulDataLoader(stream, 4, num_workers=workers, persistent_workers=persistent, snapshot_every_n_steps=every,
                                      collate_fn=lambda batch: [number[image] for image, _ in batch])


def flat(batches):
    return [sample for batch in batches for sample in batch]


def epoch_of(epoch, **share):
    stream = bt.IterableDataset(sys.argv[1], decode="bytes", seed=5, batch_size=4, **share)
    stream.set_epoch(epoch)
    return [number[image] for image, _ in stream]


def begin(stream, rows, when, epoch):
    if when == "before":
        stream.set_epoch(epoch)
    iterator = iter(rows)
    if when == "after":
        stream.set_epoch(epoch)
    return iterator


outcomes = collections.Counter()
cases = [(0, False, 1), (0, False, 3), (1, False, 1), (2, True, 1), (3, False, 4)]
for number_of_case, ((workers, persistent, every), when) in enumerate(itertools.product(cases, ("before", "after", "never"))):
    rank, world_size = ((0, 1), (1, 2), (0, 3))[number_of_case % 3 - number_of_case // 3 % 3]
    share = {"rank": rank, "world_size": world_size, "tail": "drop"}
    expected = [epoch_of(epoch, **share) for epoch in range(3)]
    for taken in (0, 1, len(expected[1]) // 8, len(expected[1]) // 4):
        case = (workers, persistent, every, when, rank, taken)
        try:
            stream, rows = made(workers, persistent, every, **share)
            if when == "never":
                assert flat(rows) == expected[0], case
            iterator = begin(stream, rows, when, 1)
            before = flat(itertools.islice(iterator, taken))
            state = pickle.loads(pickle.dumps(rows.state_dict()))
            assert before + flat(iterator) == expected[1], case
            other, rows = made(workers, persistent, every, **share)
            rows.load_state_dict(state)
            assert before + flat(begin(other, rows, when, 1)) == expected[1], case
            if when != "never":
                other.set_epoch(2)
            assert flat(rows) == expected[2], case
            outcomes[workers > 0, "followed"] += 1
        except RuntimeError as error:
            assert when == "after" and workers and "call it before the DataLoader is iterated" in str(error), (case, error)
            outcomes[True, "refused"] += 1
assert outcomes[False, "followed"] == 24 and outcomes[True, "followed"] >= 24, outcomes

# Of samples by position, a state names the version.
rows = StatefulDataLoader(bt.Dataset(sys.argv[1], decode="bytes"), 4)
next(iter(rows))
assert rows.state_dict()["dataset_state"] == {"dataset": stored.version}

# A state of one epoch, and another that was set: of the beginning it gives way, else it is an error.
for workers, taken in ((1, 2), (2, 3)):
    stream, rows = made(workers, False, 1)
    iterator = begin(stream, rows, "before", 1)
    before = flat(itertools.islice(iterator, taken))
    state = rows.state_dict()
    other, rows = made(workers, False, 1)
    rows.load_state_dict(state)
    other.set_epoch(2)
    try:
        flat(rows)
    except RuntimeError as error:
        assert "is of epoch 1, but set_epoch(2) was called" in str(error), error
    else:
        raise SystemExit("the epoch that was set was ignored")
"""


def test_stateful_dataloader(photos_and_pack, tmp_path):
    """torchdata's, which takes states in its workers: no sample lost or repeated, whenever the epoch is set; or an error."""
    if subprocess.run([EXAMPLES_PYTHON, "-c", "import torchdata.stateful_dataloader"], capture_output=True).returncode:
        pytest.skip("torchdata of tests/python/requirements-examples.txt is not installed")
    (tmp_path / "script.py").write_text(STATEFUL)
    done = subprocess.run([EXAMPLES_PYTHON, tmp_path / "script.py", photos_and_pack[1]], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
