"""examples/cpp, built against the installed package and run."""
import json
import subprocess

import numpy as np
import pytest
from conftest import BUILD, LONG, REPO

import bale

try:
    import pyarrow
except ImportError:
    pyarrow = None


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    run("cmake", "--install", BUILD, "--prefix", folder / "prefix")
    header = folder / "include" / "dlpack" / "dlpack.h"
    header.parent.mkdir(parents=True)
    if pyarrow:  # which has DLPack's header
        header.symlink_to(f"{pyarrow.get_include()}/arrow/c/dlpack_abi.h")
    torch = "OFF" if LONG else "ON"  # LibTorch's headers take seconds to compile
    run("cmake", "-S", REPO / "examples" / "cpp", "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}",
        f"-DDLPACK_INCLUDE_DIR={folder / 'include'}", f"-DCMAKE_DISABLE_FIND_PACKAGE_Torch={torch}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
    run("cmake", "--build", folder / "build")
    return folder / "build"


@pytest.fixture(scope="module")
def packed(photos, tmp_path_factory):
    destination = tmp_path_factory.mktemp("packed") / "photos"
    bale.pack(photos, destination, quiet=True)
    return destination


def test_an_executor_of_ones_own_makes_the_batches_of_a_loader(examples, packed):
    number = len(bale.Dataset(packed)) // 8
    assert number and run(examples / "executor", packed) == f"{number} of {number} batches are equal\n"


def test_a_recipe_of_python_makes_the_same_pixels(examples, packed, tmp_path):
    recipe = bale.transforms.Compose([bale.transforms.RandomResizedCrop(48), bale.transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)])
    (tmp_path / "recipe.json").write_text(recipe.to_json())
    with bale.Loader(packed, 8, workers=1, seed=3, shuffle=True, transform=recipe) as loader:
        images = next(iter(loader)).images
        assert images.shape == (8, 48, 48, 3)
        weighted = int((np.arange(1, images.size + 1, dtype=np.uint64) * images.reshape(-1)).sum())
    assert run(examples / "recipe", packed, tmp_path / "recipe.json") == f"8 {weighted}\n"


def test_a_state_of_python_continues_and_comes_back(examples, packed, tmp_path):
    options = dict(workers=1, seed=3, shuffle=True, transform=bale.transforms.train(32))
    with bale.Loader(packed, 8, **options) as loader:
        loader.set_epoch(2)
        expected = [batch.samples.tolist() for batch in loader]
        loader.set_epoch(2)
        next(iter(loader))
        (tmp_path / "state.json").write_text(json.dumps(loader.state_dict()))
    samples, state = run(examples / "resume", packed, tmp_path / "state.json").splitlines()
    assert [int(sample) for sample in samples.split()] == expected[1]
    with bale.Loader(packed, 8, **options) as loader:
        loader.load_state_dict(json.loads(state))
        assert [batch.samples.tolist() for batch in loader] == expected[2:]
    (tmp_path / "state.json").write_text("{}")
    done = subprocess.run([examples / "resume", packed, tmp_path / "state.json"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("invalid_argument: this is not a state of a Loader: no member")


@pytest.mark.skipif(pyarrow is None, reason="pyarrow is not installed, which has DLPack's header")
def test_dlpack_shares_the_batch(examples, packed):
    """Shape and strides, type 2 of 32 bits, the batch's own memory; the batch lives until its last tensor is deleted."""
    assert run(examples / "tensors", packed) == "8/12288 3/4096 64/64 64/1 2 32 1 8 64 10\n"


@pytest.mark.skipif(not LONG, reason="LibTorch's headers take seconds to compile: only with BALE_LONG_TESTS")
def test_libtorch_shares_the_batch(examples, packed):
    if not (examples / "libtorch").exists():
        pytest.skip("LibTorch's headers are not installed (Debian: libtorch-dev)")
    assert run(examples / "libtorch", packed) == f"{len(bale.Dataset(packed)) // 8 * 8} 1\n"
