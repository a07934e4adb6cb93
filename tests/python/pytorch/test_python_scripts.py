"""Common training scripts (tests/python/pytorch/scripts) with DataLoader and with bale.torch.Loader: both report the same.

What depends on drawn crops is left out of the reports; samples, labels, their order, numbers of batches and steps, and
loss and accuracy before training are not. Those that need a framework: test_python_frameworks.py.
"""
import os
import pathlib
import re
import subprocess

import pytest
from conftest import REPO
from python_support import ENVIRONMENT, SYSTEM_PYTHON, torchrun
from scripts_support import SCRIPTS, assert_same, photos_and_pack, report_of  # noqa: F401 - a fixture
from torch_support import Torch

# The folder with train.py of torchvision's sources, as they are of this version of torchvision; not in its packages.
REFERENCES = os.environ.get("BALE_TORCHVISION_REFERENCES")


@pytest.fixture(scope="module")
def torch():
    server = Torch("torchvision.datasets", "torchvision.transforms")
    yield server
    server.close()


@pytest.fixture
def both(torch, photos_and_pack, tmp_path):
    """both(script) -> what it reports with a DataLoader and with bale, run in a folder each."""
    def run(script, *args):
        folders = [tmp_path / "dataloader", tmp_path / "bale"]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        return [report_of(torch.run(folder, SCRIPTS / script, *photos_and_pack, *more, *args))
                for folder, more in zip(folders, ([], ["--bale"]))]
    return run


def test_torchvision_reference_loop(both):
    """Stopped after an epoch and resumed from its checkpoint."""
    for epochs in (1, 2):
        theirs, ours = both("classification.py", "--epochs", epochs)
        assert_same(ours, theirs)
        assert ours["rows"] == [40] and ours["start"] == epochs - 1 and ours["learns"]


def test_ema_and_validation_that_keeps_tensors(both):
    theirs, ours = both("ema_validation.py")
    assert_same(ours, theirs)
    assert ours["finite"] and len(ours["before"]["targets"]) == 40


def test_k_fold(both):
    theirs, ours = both("kfold.py")
    assert_same(ours, theirs)
    assert len(ours["seen"]) == 40 and ours["folds"][0][2:4] == [30, 10]


def test_weighted_sampling(both):
    theirs, ours = both("weighted_sampling.py")
    assert_same(ours, theirs)
    assert ours["balanced"] and ours["rows"] == 400


def test_resume_by_skipping_batches(both):
    theirs, ours = both("resume.py")
    assert_same(ours, theirs)
    assert ours["same"] and ours["orders"] == 4


def test_daemon_thread_prefetcher(both):
    """It is neither joined nor stopped: the script ends with exit code 0 all the same."""
    theirs, ours = both("prefetch_thread.py")
    assert_same(ours, theirs)


def test_list_of_a_loader(both):
    theirs, ours = both("list_loader.py")
    assert_same(ours, theirs)
    assert ours["singles"] == 4 and ours["steps"] == 3


def test_the_page_names_every_script():
    named = set(re.findall(r"`(\w+\.(?:py|ipynb))`", (REPO / "docs" / "DATALOADER.md").read_text()))
    there = {path.name for path in SCRIPTS.iterdir() if path.suffix in (".py", ".ipynb")} - {"common.py", "run_notebook.py"}
    assert there == {name for name in named if (SCRIPTS / name).exists()} and len(there) == 13


def test_ddp_evaluation(torch, photos_and_pack, tmp_path):
    command = [*torchrun(2, tmp_path / "logs"), SCRIPTS / "ddp_evaluation.py", *photos_and_pack]
    theirs, ours = (report_of(torch.run(tmp_path, *command, *more, OMP_NUM_THREADS="1")) for more in ([], ["--bale"]))
    assert_same(ours, theirs)
    assert ours["seen"] == 40 and ours["reshuffled"]


@pytest.mark.skipif(not REFERENCES, reason="torchvision's sources are not here: set BALE_TORCHVISION_REFERENCES to their "
                                           "references/classification")
def test_torchvision_train_py(photos_and_pack, tmp_path):
    """torchvision's own script: trains, then evaluates its checkpoint with either loader, with the same lines."""
    photos, pack = photos_and_pack
    (tmp_path / "data").mkdir()
    for split in ("train", "val"):
        (tmp_path / "data" / split).symlink_to(photos)
    size = ("--train-crop-size", 32, "--val-crop-size", 56, "--val-resize-size", 64)
    arguments = ("--data-path", tmp_path / "data", "--model", "squeezenet1_1", "--device", "cpu", "-b", 8, "-j", 1, "--lr", 0.001,
                 "--print-freq", 1, "--model-ema", "--model-ema-steps", 1, *size)

    def run(loader, *more):
        command = [SYSTEM_PYTHON, SCRIPTS / "torchvision_reference.py", pathlib.Path(REFERENCES), loader, *arguments, *more]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                              env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()
    lines = run(pack, "--epochs", 2, "--output-dir", tmp_path)
    assert sum(line.startswith("Epoch: [1]  [") for line in lines) == 5
    evaluate = ("--test-only", "--resume", tmp_path / "checkpoint.pth")
    ours, theirs = ([line.split("time:")[0].split("loss:")[-1] for line in run(loader, *evaluate) if line.startswith("Test:")
                     and "Total" not in line] for loader in (pack, "-"))
    assert ours == theirs and len(ours) > 1
