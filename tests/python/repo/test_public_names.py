"""dir() of the package and of its parts shows what users use, and nothing else."""
import ast
import importlib
import json
import subprocess
import sys

import pytest
from conftest import REPO

bale = pytest.importorskip("bale")  # a build without Python has none
from python_support import ENVIRONMENT, SYSTEM_PYTHON  # noqa: E402

NAMES = {
    "bale": "BadSample Batch Cuda Dataset DeviceBatch Edit Error Field Loader NO_LABEL Order Ragged Reading Writer add convert cuda_available edit errors inspect "
            "launch merge open_file options pack pack_part parquet plan prune remove rewrite set_cache set_field set_labels to_mds to_parquet transforms verify versions",
    "bale.launch": "SlurmJobs kubernetes_manifest pack_locally pack_on_ray pack_on_slurm pack_on_spark submit_to_slurm",
    "bale.parquet": "TableSamples samples splits",
    "bale.torch": "Dataset IterableDataset Loader Prefetcher Ragged Sampler rank_and_world_size to_tv_tensors",
}


def dir_of(module):
    python = SYSTEM_PYTHON if module == "bale.torch" else sys.executable
    text = f"import {module}, json; print(json.dumps([name for name in dir({module}) if hasattr({module}, name)]))"
    return json.loads(subprocess.run([python, "-c", text], env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("module", NAMES)
def test_dir(module):
    assert dir_of(module) == NAMES[module].split()


@pytest.mark.parametrize("module", ["bale.transforms", "bale.transforms.presets"])
def test_dir_of_transforms(module):
    """More names than one would list here."""
    assert dir_of(module) == sorted(importlib.import_module(module).__all__) and not any(name.startswith("_") for name in dir_of(module))


def test_every_name_is_public_and_known_to_type_checkers():
    for module in (bale, bale.transforms):
        tree = ast.parse((REPO / "python" / module.__name__.replace(".", "/") / "__init__.py").read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module.startswith("bale") and node.module != "bale._lazy"]
        assert sorted(alias.name for node in imports for alias in node.names) == sorted(module.__all__)
    assert set(NAMES["bale"].split()) - set(bale.__all__) == {"launch"}  # `from bale import *` does not import it


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'bale' has no attribute 'loader'"):
        bale.loader
    for private in ("bale.loader", "bale.dataset", "bale.order"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(private)


def test_importing_bale_imports_nothing_else():
    text = "import sys, bale; print(*sorted(name for name in sys.modules if name.split('.')[0] in ('bale', 'numpy', 'torch', 'PIL')))"
    printed = subprocess.run([sys.executable, "-c", text], env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["bale", "bale._lazy"]
