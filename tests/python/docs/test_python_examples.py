"""Every script of python/examples on 40 tiny images: what it prints is what training from them must give.

Runs them in an environment of their own (scripts/test.sh makes it): Debian's torch with Lightning, timm, Accelerate and JAX.
"""
import difflib
import io
import json
import math
import re
import subprocess

import numpy as np
import pytest
from conftest import LONG, REPO
from PIL import Image
from python_support import ENVIRONMENT, EXAMPLES_PYTHON, run_script, torchrun
from torch_support import Torch

import bale as bl

EXAMPLES = REPO / "python" / "examples"
SIZE, SAMPLES = 32, 40
COLOURS = {"blue": (60, 60, 200), "green": (60, 200, 60), "red": (200, 60, 60), "yellow": (200, 200, 60)}
STEPS = 5  # an epoch
of_engines = pytest.mark.skipif(not LONG, reason="scripts/test.sh --long: test_python_frameworks.py trains by this engine, too")
SMALL = ("--size", SIZE, "--batch-size", SAMPLES // STEPS, "--workers", 1)
SMALL_RESNET = (*SMALL, "--model", "resnet18", "--lr", 0.003)


@pytest.fixture(scope="module")
def colors(tmp_path_factory):
    """Images that a network can tell apart after a few steps. For training and for validation."""
    root = tmp_path_factory.mktemp("colors")
    random = np.random.default_rng(1)
    for name, color in COLOURS.items():
        (root / name).mkdir()
        for i in range(SAMPLES // len(COLOURS)):
            pixels = np.clip(random.normal(color, 25, (36, 48, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(root / name / f"{i}.jpg")
    return root


@pytest.fixture(scope="module")
def pack(bale, colors, tmp_path_factory):
    root = tmp_path_factory.mktemp("pack") / "pack"
    bale.pack(colors, root, "--shard-samples", "15")
    return root


# Lightning registers torch 1.13's sharded tensors, which cannot be imported under Python 3.11.
FOR_LIGHTNING = """
import runpy, sys, types
hooks = types.ModuleType("torch.distributed._shard.sharded_tensor")
hooks.state_dict_hook = hooks.pre_load_state_dict_hook = lambda *_: None
sys.modules[hooks.__name__] = hooks
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def torch():
    server = Torch("torchvision", python=EXAMPLES_PYTHON, OMP_NUM_THREADS="1")
    yield server
    server.close()


@pytest.fixture
def run(torch, tmp_path):
    """run(script, ARGUMENT..., ranks=N) -> its lines. One thread, so that sums are the same every time."""
    def run(script, *args, ranks=None):
        launcher = [] if ranks is None else torchrun(ranks, tmp_path / "logs")
        # torchrun puts the rank's name before what it reads at a time, which may be half a line.
        return re.sub(r"\[default\d+\]:", "", torch.run(tmp_path, *launcher, EXAMPLES / script, *args)).splitlines()
    return run


@pytest.fixture
def run_without_torch(tmp_path):
    """As run(), in a process that has not imported PyTorch."""
    def run(script, *args):
        done = subprocess.run([*map(str, [EXAMPLES_PYTHON, EXAMPLES / script, *args])], capture_output=True, text=True, timeout=300,
                              cwd=tmp_path, stdin=subprocess.DEVNULL, env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"})
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.splitlines()
    return run


def values(lines, pattern):
    """The groups of every line that matches, as numbers."""
    found = [re.fullmatch(pattern, line) for line in lines]
    return [tuple(map(float, match.groups())) for match in found if match]


def assert_falls(losses):
    """From the first epoch to the last."""
    assert all(map(math.isfinite, losses))
    assert np.mean(losses[-STEPS:]) < 0.75 * np.mean(losses[:STEPS]), losses


STEP = r"epoch (\d+) step (\d+) loss ([\d.]+)"


def places(steps, batch_size=SAMPLES // STEPS):
    """(epoch, step) of so many steps from the beginning on."""
    return [((step - 1) * batch_size // SAMPLES, step) for step in steps]


def test_plain_torch(run, pack):
    """A run that is stopped in the middle of an epoch and goes on prints what one that was not stopped prints."""
    arguments = ("imagenet_torch.py", pack, pack, *SMALL_RESNET, "--epochs", 2, "--log-every", 1)
    whole = run(*arguments)
    begun = run(*arguments, "--max-steps", 7)
    assert begun + run(*arguments, "--resume") == whole
    steps = values(whole, STEP)
    assert [(epoch, step) for epoch, step, _ in steps] == places(range(1, 11))
    assert_falls([loss for _, _, loss in steps])
    assert [epoch for epoch, _ in values(whole, r"epoch (\d+) accuracy (0\.\d+|1\.0+)")] == [0, 1]


def test_ddp(run, pack):
    """Two ranks stop in the middle of an epoch, one continues: the steps that are left, and each sample validated once."""
    arguments = ("imagenet_ddp.py", pack, pack, *SMALL_RESNET, "--batch-size", 4, "--lr", 0.1, "--epochs", 2)
    line = rf"epoch (\d+) step (\d+) loss ([\d.]+) accuracy (\d+)/{SAMPLES}"
    begun = values(run(*arguments, "--max-steps", 7, ranks=2), line)
    resumed = values(run(*arguments, "--resume", ranks=1), line)
    assert [found[:2] for found in begun] == [(0, 5), (1, 7)]
    assert [found[:2] for found in resumed] == [(1, 13)]  # 40 - 2 * 8 samples are left: six steps of one rank
    losses = [found[2] for found in begun + resumed]
    assert all(map(math.isfinite, losses)) and losses[-1] < losses[0]


@of_engines
def test_lightning(run, pack, tmp_path):
    """Two ranks stop in the middle of an epoch, one continues: Lightning's checkpoint has the loader's state."""
    start = tmp_path / "start.py"
    start.write_text(FOR_LIGHTNING)
    arguments = (start, EXAMPLES / "imagenet_lightning.py", pack, pack, *SMALL_RESNET, "--epochs", 3)
    line = r"step (\d+) \{'loss': ([\d.]+), 'accuracy': ([\d.]+)\}"
    begun = values(run(*arguments, "--batch-size", 4, "--devices", 2, "--max-steps", 7, "--checkpoint-every", 7, ranks=2), line)
    resumed = values(run(*arguments, "--resume", "checkpoints/last.ckpt"), line)
    (stopped, *_), (end, loss, accuracy) = *begun, *resumed
    assert (stopped, end) == (7, 15)
    assert loss < 1 and 0 < accuracy <= 1


@of_engines
def test_timm(run, pack):
    lines = values(run("imagenet_timm.py", pack, pack, *SMALL, "--model", "test_resnet", "--epochs", 8,
                       "--warmup-epochs", 1, "--lr", 0.02),
                   rf"epoch (\d+) updates (\d+) lr ([\d.e+-]+) loss ([\d.]+) top-1 ([\d.]+) of {SAMPLES}")
    epochs, updates, rates, losses, top1 = zip(*lines)
    assert epochs == (*range(8),) and updates == (*range(STEPS, 8 * STEPS + 1, STEPS),)
    assert rates == tuple(sorted(rates, reverse=True)) and rates[-1] < 0.05 * rates[0]  # warm, then along the cosine
    assert all(map(math.isfinite, losses)) and np.mean(losses[4:]) < losses[0] and top1[-1] > 60


@of_engines
def test_accelerate(run, pack):
    """As for DDP, in Accelerate's own checkpoints."""
    arguments = ("imagenet_accelerate.py", pack, pack, *SMALL_RESNET, "--batch-size", 4, "--epochs", 2, "--log-every", 1)
    first, second = run(*arguments, "--max-steps", 7, ranks=2), run(*arguments, "--resume", ranks=1)
    begun, resumed = values(first, STEP), values(second, STEP)
    assert [found[:2] for found in begun] == places(range(1, 8))
    assert [found[:2] for found in resumed] == [(1, step) for step in range(8, 14)]
    assert np.mean([loss for *_, loss in resumed]) < np.mean([loss for *_, loss in begun[:STEPS]])
    for lines, epoch in ((first, 0), (second, 1)):  # of all ranks together, and printed by one
        assert [found for found, _ in values(lines, rf"epoch (\d+) accuracy (\d+)/{SAMPLES}")] == [epoch]


def test_reference_v2(run, pack):
    """torchvision's list, with erasing, is translated; the network learns from it."""
    lines = values(run("reference_v2.py", pack, pack, *SMALL_RESNET, "--repeats", 2, "--epochs", 2),
                   rf"epoch (\d+) loss ([\d.]+) accuracy (\d+)/{SAMPLES}")
    epochs, losses, correct = zip(*lines)
    assert epochs == (0, 1) and losses[-1] < 0.95 * losses[0] and all(0 <= count <= SAMPLES for count in correct)


@of_engines
def test_timm_transform(run, pack):
    """timm's list, with RandAugment and noise, is translated; the network learns from it."""
    lines = values(run("timm_transform.py", pack, pack, *SMALL, "--model", "test_resnet", "--epochs", 6),
                   rf"epoch (\d+) loss ([\d.]+) accuracy (\d+)/{SAMPLES}")
    epochs, losses, correct = zip(*lines)
    assert epochs == (*range(6),) and losses[-1] < 0.9 * losses[0] and max(correct) > SAMPLES / 2


@pytest.mark.parametrize("script, options, least", [
    ("simclr.py", ("--model", "resnet18", "--epochs", 2), 0.98),
    ("dino.py", ("--model", "resnet18", "--local-size", 16, "--local-crops", 2, "--prototypes", 64, "--epochs", 2), 0.99),
    ("mae.py", ("--patch", 8, "--width", 64, "--layers", 3, "--lr", 0.003, "--epochs", 4), 0.8)])
def test_without_labels(run, pack, tmp_path, script, options, least):
    """The loss falls, and the weights are written."""
    losses = [loss for _, loss in values(run(script, pack, *SMALL, *options), r"epoch (\d+) loss ([\d.]+)")]
    assert len(losses) == options[-1] and all(map(math.isfinite, losses)) and losses[-1] < least * losses[0], losses
    assert (tmp_path / script.replace(".py", ".pt")).stat().st_size > 10_000


def test_clip_captions(bale, run, colors, tmp_path):
    """Captions name the color: image and caption find each other among others of the batch."""
    for image in [*colors.rglob("*.jpg")]:
        target = tmp_path / "in" / image.parent.name / image.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(image.read_bytes())
        target.with_suffix(".txt").write_text(f"a {image.parent.name} field, number {image.stem}\n")
    bale.pack(tmp_path / "in", tmp_path / "pack", "--pair", "jpg,txt")
    losses = [loss for _, loss in values(run("clip_captions.py", "pack", *SMALL, "--model", "resnet18", "--width", 64,
                                             "--epochs", 4), r"epoch (\d+) loss ([\d.]+)")]
    assert len(losses) == 4 and all(map(math.isfinite, losses)) and losses[-1] < 0.8 * losses[0], losses
    assert (tmp_path / "clip_captions.pt").stat().st_size > 10_000
    fewer = run("clip_captions.py", "pack", "--size", SIZE, "--workers", 1, "--model", "resnet18", "--width", 64, "--epochs", 1)
    assert len(fewer) == 1 and fewer[0].startswith("epoch 0 loss ")  # than a batch of 256


def test_segmentation(bale, run, tmp_path):
    """Blue and red halves of images of several sizes; the mask says which pixel is which."""
    random = np.random.default_rng(2)
    (tmp_path / "in").mkdir()
    for i in range(SAMPLES):
        mask = np.zeros((36 + i % 5, 48), np.uint8)
        mask[:, int(random.integers(12, 36)):] = 1
        pixels = np.where(mask[:, :, None], COLOURS["red"], COLOURS["blue"]) + random.normal(0, 20, (*mask.shape, 3))
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(tmp_path / "in" / f"{i}.jpg")
        Image.fromarray(mask).save(tmp_path / "in" / f"{i}.mask.png")
    bale.pack(tmp_path / "in", tmp_path / "pack", "--flat", "--pair", "jpg,mask.png")
    losses = [loss for _, loss in values(run("segmentation.py", "pack", "--classes", 2, "--base-size", 40, "--crop-size", SIZE,
                                             "--batch-size", 8, "--workers", 1, "--epochs", 4), r"epoch (\d+) loss ([\d.]+)")]
    assert len(losses) == 4 and losses[-1] < 0.5 * losses[0], losses


def test_detection(bale, run, tmp_path):
    """A blue or a red rectangle on noise, or none; some reach over the edge."""
    random = np.random.default_rng(2)
    (tmp_path / "in").mkdir()
    for i in range(SAMPLES):
        pixels, boxes = random.normal(128, 20, (60 + i % 5, 72, 3)), []
        if i % 9:
            left, top, width, height = (int(value) for value in random.integers([0, 0, 20, 20], [50, 40, 40, 40]))
            pixels[top:top + height, left:left + width] = list(COLOURS.values())[i % 2]
            boxes.append([left, top, left + width, top + height])
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(tmp_path / "in" / f"{i}.jpg")
        (tmp_path / "in" / f"{i}.boxes.json").write_text(json.dumps({"boxes": boxes, "labels": [i % 2] * len(boxes)}))
    bale.pack(tmp_path / "in", tmp_path / "pack", "--flat", "--pair", "jpg,boxes.json")
    losses = [loss for _, loss in values(run("detection.py", "pack", "--classes", 2, "--model", "small", "--size", 64, "--batch-size", 8,
                                             "--workers", 1, "--epochs", 4), r"epoch (\d+) loss ([\d.]+)")]
    assert len(losses) == 4 and losses[-1] < 0.8 * losses[0], losses


def test_before_and_after(run, pack, colors):
    """The same network learns from either, and few lines tell the scripts apart."""
    for script, data in (("torchvision_before.py", colors), ("torchvision_after.py", pack)):
        lines = values(run(script, data, data, *SMALL_RESNET, "--epochs", 3),
                       rf"epoch (\d+) loss ([\d.]+) accuracy (\d+)/{SAMPLES}")
        epochs, losses, _ = zip(*lines)
        assert epochs == (0, 1, 2) and losses[-1] < 0.75 * losses[0]
    before, after = ((EXAMPLES / f"torchvision_{name}.py").read_text().splitlines() for name in ("before", "after"))
    new = [line for line in difflib.unified_diff(before, after, n=0, lineterm="") if re.match(r"\+(?!\+\+)", line)]
    assert len(new) < 12, new


@pytest.mark.parametrize("script, ranks", [("torchvision_after.py", None), ("imagenet_ddp.py", 2),
                                           pytest.param("torchvision_before.py", None, marks=pytest.mark.skipif(not LONG, reason="without bale"))])
def test_fewer_images_than_a_batch(run, pack, colors, script, ranks):
    """They are one batch of each rank. 256 are more than there are."""
    data = colors if "before" in script else pack
    lines = run(script, data, data, *SMALL, "--model", "shufflenet_v2_x0_5", "--batch-size", 256, "--epochs", 1, ranks=ranks)
    ((loss,),) = values(lines, r"epoch 0 (?:step 1 )?loss ([\d.]+) accuracy \d+/40")
    assert math.isfinite(loss) and loss > 0.1


def test_numpy(bale, run_without_torch, photos, tmp_path):
    """Pillow finds the same of the same crops."""
    bale.pack(photos, tmp_path / "pack")
    lines = run_without_torch("numpy_epoch.py", "pack", "--size", SIZE, "--batch-size", 7, "--workers", 2)
    dataset = bl.Dataset(tmp_path / "pack")
    short = round(SIZE * 256 / 224)
    pixels = []
    for i in range(len(dataset)):
        image = Image.open(io.BytesIO(dataset.read_image(i))).convert("RGB")
        long = int(short * max(image.size) / min(image.size))
        image = image.resize((long, short) if image.width > image.height else (short, long), Image.Resampling.BILINEAR)
        left, top = (round((side - SIZE) / 2) for side in image.size)
        pixels.append(np.asarray(image.crop((left, top, left + SIZE, top + SIZE))).reshape(-1, 3) / 255)
    pixels = np.concatenate(pixels)
    for line, name, expected in zip(lines, ("mean", "std"), (pixels.mean(0), pixels.std(0))):
        found_name, *found = line.split()
        assert found_name == name and np.allclose([*map(float, found)], expected, atol=1e-4)
    assert lines[2:] == [f"8 {name}" for name in dataset.classes]


def test_jax(run_without_torch, pack):
    lines = values(run_without_torch("jax_epoch.py", pack, *SMALL, "--epochs", 20), rf"epoch (\d+) steps {STEPS} loss ([\d.]+)")
    epochs, losses = zip(*lines)
    assert epochs == (*range(20),)
    assert_falls(losses)
    ((_, loss),) = values(run_without_torch("jax_epoch.py", pack, *SMALL, "--batch-size", 256), r"epoch (\d+) steps 1 loss ([\d.]+)")
    assert loss > 0  # of fewer images than a batch


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
            copied = next(iterator)  # two are kept, so the ring spares no third
            assert copied.is_copy
            del copied
            del other
            gc.collect()
            next(iterator)
        assert np.array_equal(kept, expected)       # the loader is closed, the memory there
    """, pack, python=EXAMPLES_PYTHON)
