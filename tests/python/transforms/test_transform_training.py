"""A network trained by torchvision's reference recipe V2 (scripts/checks/check_training.py): bale's list, and Pillow and torchvision with the
steps that the loader recorded, give the same input bit for bit, hence the same losses."""
import subprocess

import pytest
from conftest import REPO, by_tier, make_images
from python_support import ENVIRONMENT, SYSTEM_PYTHON


@pytest.fixture(scope="module")
def larger_photos(tmp_path_factory):
    """Photos of ImageNet's sizes."""
    root = tmp_path_factory.mktemp("larger")
    make_images.make_tree(root, classes=5, per_class=20, size=(500, 375), odd=True)
    return root


@pytest.mark.parametrize("layout", by_tier(["nhwc"], ["nchw", "nhwc"]))
def test_inputs_and_losses_are_those_of_the_replayed_steps(request, layout):
    """Long tier: 100 photos of about 500 x 375 pixels at 128."""
    photos = request.getfixturevalue(by_tier("photos", "larger_photos"))
    size, epochs = by_tier((32, 5), (128, 10))
    done = subprocess.run([SYSTEM_PYTHON, REPO / "scripts" / "checks" / "check_training.py", photos, "--size", str(size), "--batch", "20",
                           "--epochs", str(epochs), "--layout", layout], capture_output=True, text=True, timeout=600,
                          env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{by_tier(2, 5)} steps per epoch")
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]
    assert len(rows) == epochs and all(own == other and largest == "0" for _, own, other, largest in rows)
    kinds = set(lines[-1].removeprefix("steps: ").split())
    assert {"Crop", "Resize", "HorizontalFlip", "Erase"} < kinds and len(kinds) > by_tier(10, 14)
