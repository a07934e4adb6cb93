"""Every script of python/examples on 40 small images: what it prints and writes is what training from them must give.

Runs them in an environment of their own (scripts/test.sh makes it): Debian's torch with Lightning, timm, Accelerate and JAX.
"""
import difflib
import io
import math
import os
import re
import subprocess

import bale as bl
import numpy as np
import pytest
from PIL import Image
from conftest import REPO
from python_support import ENVIRONMENT, run_script, torchrun

EXAMPLES = REPO / "python" / "examples"
PYTHON = os.environ.get("BALE_TEST_EXAMPLES_PYTHON") or REPO / ".venv-examples" / "bin" / "python"
SIZE, CLASSES, SAMPLES = 32, 5, 40
SMALL = ("--model", "resnet18", "--size", SIZE, "--batch-size", 8, "--workers", 2)


@pytest.fixture(scope="module")
def pack(bale, photos, tmp_path_factory):
    """Training and validation images in one: a network that has learnt these knows these."""
    root = tmp_path_factory.mktemp("pack") / "pack"
    bale.pack(photos, root, "--shard-samples", "15")
    return root


@pytest.fixture
def run(tmp_path):
    """run(script, ARGUMENT..., ranks=N) -> its lines. One thread, so that sums are the same every time."""
    def run(script, *args, ranks=None):
        launcher = [] if ranks is None else torchrun(ranks, tmp_path / "logs")
        command = [PYTHON, *launcher, EXAMPLES / script, *args]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, cwd=tmp_path,
                              stdin=subprocess.DEVNULL, env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"})
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return [re.sub(r"^\[default\d+\]:", "", line) for line in done.stdout.splitlines()]
    return run


def values(lines, pattern):
    """The groups of every line that matches, as numbers."""
    found = [re.fullmatch(pattern, line) for line in lines]
    return [tuple(map(float, match.groups())) for match in found if match]


def assert_falls(losses):
    """From the first quarter to the last."""
    assert all(map(math.isfinite, losses)) and len(losses) >= 4
    quarter = max(1, len(losses) // 4)
    assert np.mean(losses[-quarter:]) < 0.8 * np.mean(losses[:quarter]), losses


STEP = r"epoch (\d+) step (\d+) loss ([\d.]+)"


def assert_resumes(run, script, pack, epochs, stop, *args, ranks=None):
    """A run that is stopped in the middle of an epoch and goes on prints what one that was not stopped prints."""
    arguments = (pack, pack, *SMALL, "--epochs", epochs, *args)
    whole = run(script, *arguments, ranks=ranks)
    begun = run(script, *arguments, "--max-steps", stop, ranks=ranks)
    resumed = run(script, *arguments, "--resume", ranks=ranks)
    assert begun + resumed == whole
    steps = values(whole, STEP)
    per_epoch = SAMPLES // 8
    assert [step for _, step, _ in steps] == [*range(1, epochs * per_epoch + 1)]
    assert [epoch for epoch, _, _ in steps] == [epoch for epoch in range(epochs) for _ in range(per_epoch)]
    assert_falls([loss for _, _, loss in steps])
    return whole


def test_plain_torch(run, pack):
    lines = assert_resumes(run, "imagenet_torch.py", pack, 6, 13, "--lr", 0.05, "--log-every", 1)
    accuracies = values(lines, r"epoch (\d+) accuracy ([\d.]+)")
    assert len(accuracies) == 6 and accuracies[-1][1] > 2 / CLASSES


def test_ddp(run, pack, tmp_path):
    """Two ranks stop in the middle of an epoch, three go on: the steps that are left, and all samples validated once."""
    arguments = (pack, pack, *SMALL, "--batch-size", 4, "--epochs", 6, "--lr", 1.5)
    epoch_line = r"epoch (\d+) step (\d+) loss ([\d.]+) accuracy (\d+)/(\d+)"
    begun = values(run("imagenet_ddp.py", *arguments, "--max-steps", 22, ranks=2), epoch_line)
    resumed = values(run("imagenet_ddp.py", *arguments, "--resume", ranks=3), epoch_line)
    assert [(epoch, step) for epoch, step, *_ in begun] == [(0, 5), (1, 10), (2, 15), (3, 20), (4, 22)]
    # 40 - 2 * 8 samples of the fifth epoch are left: two steps of three ranks; a whole epoch has three.
    assert [(epoch, step) for epoch, step, *_ in resumed] == [(4, 24), (5, 27)]
    assert all(math.isfinite(line[2]) and line[4] == SAMPLES for line in begun + resumed)
    assert resumed[-1][3] > 2 * SAMPLES / CLASSES


def test_lightning(run, pack):
    arguments = (pack, pack, *SMALL, "--epochs", 4, "--lr", 0.05, "--checkpoint-every", 13)
    whole = run("imagenet_lightning.py", *arguments, "--checkpoints", "whole")[-1]
    begun = run("imagenet_lightning.py", *arguments, "--max-steps", 13)[-1]
    resumed = run("imagenet_lightning.py", *arguments, "--resume", "checkpoints/last.ckpt")[-1]
    assert begun.startswith("step 13 ") and resumed.startswith("step 20 ")
    assert resumed == whole
    loss, accuracy = map(float, re.fullmatch(r"step 20 \{'loss': ([\d.]+), 'accuracy': ([\d.]+)\}", whole).groups())
    assert math.isfinite(loss) and accuracy > 2 / CLASSES


def test_timm(run, pack):
    lines = values(run("imagenet_timm.py", pack, pack, *SMALL, "--epochs", 8, "--warmup-epochs", 1, "--lr", 0.02),
                   r"epoch (\d+) updates (\d+) lr ([\d.e+-]+) loss ([\d.]+) top-1 ([\d.]+) of (\d+)")
    assert [(epoch, updates) for epoch, updates, *_ in lines] == [(i, 5 * (i + 1)) for i in range(8)]
    rates = [line[2] for line in lines]
    assert max(rates) == rates[0] and rates[-1] < 1e-3      # warmed up, then along the cosine
    assert all(line[5] == SAMPLES for line in lines)
    assert np.mean([line[3] for line in lines[-2:]]) < lines[0][3] and lines[-1][4] > 200 / CLASSES


def test_accelerate(run, pack):
    lines = assert_resumes(run, "imagenet_accelerate.py", pack, 4, 8, "--batch-size", 4, "--lr", 0.05, "--log-every", 1,
                           ranks=2)
    assert len(values(lines, rf"epoch (\d+) accuracy (\d+)/{SAMPLES}")) == 4


def test_before_and_after(run, pack, photos):
    """The same network learns the same from either, and few lines tell the scripts apart."""
    lines = {}
    for script, data in (("torchvision_before.py", photos), ("torchvision_after.py", pack)):
        found = values(run(script, data, data, *SMALL, "--epochs", 6, "--lr", 0.05),
                       rf"epoch (\d+) loss ([\d.]+) accuracy (\d+)/{SAMPLES}")
        assert len(found) == 6
        assert_falls([loss for _, loss, _ in found])
        assert found[-1][2] > 2 * SAMPLES / CLASSES
    before, after = ((EXAMPLES / f"torchvision_{name}.py").read_text().splitlines() for name in ("before", "after"))
    changed = [line for line in difflib.unified_diff(before, after, n=0, lineterm="") if re.match(r"\+(?!\+\+)", line)]
    assert len(changed) < 12, changed


def test_numpy(run, pack):
    """Pillow finds the same of the same crops."""
    lines = run("numpy_epoch.py", pack, "--size", SIZE, "--batch-size", 7, "--workers", 2)
    dataset = bl.Dataset(pack)
    pixels = []
    for i in range(len(dataset)):
        image = Image.open(io.BytesIO(dataset.read_image(i))).convert("RGB")
        short = round(SIZE * 256 / 224)
        long = int(short * max(image.size) / min(image.size))
        image = image.resize((long, short) if image.width > image.height else (short, long), Image.Resampling.BILINEAR)
        left, top = (round((side - SIZE) / 2) for side in image.size)
        pixels.append(np.asarray(image.crop((left, top, left + SIZE, top + SIZE))).reshape(-1, 3) / 255)
    pixels = np.concatenate(pixels)
    for line, name, expected in zip(lines, ("mean", "std"), (pixels.mean(0), pixels.std(0))):
        found_name, *found = line.split()
        assert found_name == name and np.allclose([*map(float, found)], expected, atol=1e-4)
    assert lines[2:] == [f"{SAMPLES // CLASSES} {name}" for name in dataset.classes]


def test_jax(run, pack):
    lines = values(run("jax_epoch.py", pack, "--size", SIZE, "--batch-size", 8, "--workers", 2, "--epochs", 30),
                   r"epoch (\d+) steps 5 loss ([\d.]+)")
    assert len(lines) == 30
    assert_falls([loss for _, loss in lines])


def test_jax_arrays_are_views_of_slots(pack):
    """No copy, and the slot stays JAX's as long as the array lives."""
    run_script("""
        import gc, sys
        import jax, jax.numpy as jnp, numpy as np
        import bale

        with bale.Loader(sys.argv[1], 4, workers=1, seed=5, prefetch=2, transform=bale.transforms.train(32)) as loader:
            iterator = iter(loader)
            batch = next(iterator)
            expected = batch.images.copy()
            address = batch.images.__array_interface__["data"][0]
            kept = jax.dlpack.from_dlpack(batch)
            del batch
            assert kept.shape == (4, 32, 32, 3) and kept.dtype == jnp.uint8
            assert kept.unsafe_buffer_pointer() == address
            for _ in range(5):
                next(iterator)
            assert np.array_equal(kept, expected)
            other = jax.dlpack.from_dlpack(next(iterator))
            try:
                next(iterator)
                raise SystemExit("no error")
            except ValueError as error:
                assert "held by the caller" in str(error)
            del other
            gc.collect()
            next(iterator)
        assert np.array_equal(kept, expected)       # the loader is closed, the memory there
    """, pack, python=PYTHON)
