"""The scripts of tests/python/scripts that need Lightning, Accelerate, timm or Jupyter: both loaders report the same.

They run in the environment of python/examples (tests/python/requirements-examples.txt), with tiny networks and images.
"""
import os
import subprocess

import pytest
from conftest import REPO
from python_support import ENVIRONMENT, PACKAGE
from scripts_support import SCRIPTS, assert_same, photos_and_pack, report_of, reports_of  # noqa: F401 - a fixture

PYTHON = os.environ.get("BALE_TEST_EXAMPLES_PYTHON") or REPO / ".venv-examples" / "bin" / "python"
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
    return lambda script, *args, **env: reports_of([PYTHON, SCRIPTS / script], photos_and_pack, tmp_path, *args, **env)


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
        done = subprocess.run([PYTHON, SCRIPTS / "run_notebook.py"], capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, env=environment)
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        reports.append(report_of(done.stdout))
    theirs, ours = reports
    assert_same(ours, theirs)
    assert len(ours["labels"]) == 2 and ours["kept"] > 8


PASSES = """
import sys
import lightning as L
import torch
import bale
import bale.torch as bt
from lightning.pytorch.utilities import CombinedLoader


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer, self.seen, self.found = torch.nn.Linear(1, 1), {}, []

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
        return torch.optim.SGD(self.parameters(), lr=0.01)


def loader(**options):
    return bt.Loader(sys.argv[1], 4, **{"num_workers": 1, "with_samples": True, "seed": 3, "transform": bale.transforms.train(16), **options})


def trainer(**options):
    return L.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_model_summary=False, enable_progress_bar=False,
                     **{"devices": 1, "max_epochs": 3, **options})


if __name__ == "__main__":
    if sys.argv[2] == "cycle":
        loaders = {"long": loader(), "short": loader(subset=range(12))}
        model = Model()
        trainer().fit(model, CombinedLoader(loaders, "max_size_cycle"))
        for name, length in (("long", 10), ("short", 3)):
            epochs = [[batch for epoch, *batch in model.seen[name] if epoch == number] for number in range(3)]
            passes = [str(epoch[i:i + length]) for epoch in epochs for i in range(0, len(epoch), length) if len(epoch[i:i + length]) == length]
            assert len(passes) == len(set(passes)) == 3 * (10 // length), (name, len(passes), len(set(passes)))
    elif sys.argv[2] == "overfit":
        model = Model()
        trainer(overfit_batches=2).fit(model, loader(shuffle=False), loader(shuffle=False))
        assert [samples for _, samples, _ in model.seen["long"]] == [[0, 1, 2, 3], [4, 5, 6, 7]] * 3
    else:
        trainer(devices=2, strategy=sys.argv[2], max_epochs=1).fit(Model(), loader(seed=None))
"""


@pytest.mark.parametrize("what", ["cycle", "overfit", "ddp_spawn", "ddp_fork"])
def test_lightning_restarts_overfits_spawns_and_forks(photos_and_pack, tmp_path, what):
    (tmp_path / "sitecustomize.py").write_text(FOR_LIGHTNING)
    (tmp_path / "script.py").write_text(PASSES)
    done = subprocess.run([PYTHON, tmp_path / "script.py", photos_and_pack[1], what], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env={**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}:{PACKAGE}", "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
