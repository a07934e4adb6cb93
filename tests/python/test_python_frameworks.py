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
    hooks.state_dict_hook = hooks.pre_load_state_dict_hook = lambda *_: None
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
