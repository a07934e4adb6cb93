"""Mixup and cutmix without a device: torchvision's formula, with the bits of a device; soft labels as torchvision's and timm's."""
import shutil

import numpy as np
import pytest
from fake_cuda_support import ENVIRONMENT, PRELUDE
from python_support import EXAMPLES_PYTHON, run_script
from torch_support import torch  # noqa: F401 - a fixture

import bale as bl
from bale import transforms as T

MIXUP, CUTMIX, BOTH = T.Mix(mixup=0.8), T.Mix(cutmix=1.0), T.Mix(mixup=0.8, cutmix=1.0)


def transform(dtype="float32", layout="nchw"):
    return T.train((24, 32), dtype=dtype, layout=layout, normalize=True)


def loader(pack, **options):
    return bl.Loader(pack, **{"batch_size": 8, "seed": 3, "workers": 0, "transform": transform(), **options})


def contents(batch):
    extra = [] if batch.shares is None else [batch.partner_labels.tolist(), batch.shares.tolist()]
    return [batch.images.tobytes(), batch.labels.tolist(), batch.samples.tolist(), batch.mask.tolist(), *extra]


def partners_of(batch):
    """The row that each row is mixed with: the nearest one before it that has an image. Empty rows are zeros."""
    full = [i for i, image in enumerate(batch.images) if image.any()]
    partners = list(range(len(batch)))
    for before, row in zip(full[-1:] + full[:-1], full):
        partners[row] = before
    return np.array(partners)


def check_mixed(plain, mixed, partners):
    """Against torchvision's formulas. The share is a float32, so that the rest of it is within half of its last place."""
    moved = partners != np.arange(len(partners))
    share = mixed.shares[moved][0]
    assert (mixed.shares == np.where(moved, share, 1)).all() and (mixed.partner_labels == plain.labels[partners]).all()
    assert (mixed.labels == plain.labels).all() and (mixed.samples == plain.samples).all()
    assert (mixed.images[~moved] == plain.images[~moved]).all()
    other = plain.images[partners]
    differing = (mixed.images != plain.images).any(axis=(0, 1))
    rows, columns = np.flatnonzero(differing.any(axis=1)), np.flatnonzero(differing.any(axis=0))
    box = np.zeros_like(differing)
    if len(rows):
        box[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1] = True
    if np.float32(1 - box.sum() / box.size) == share and (mixed.images == np.where(box, other, plain.images)).all():
        return "cutmix"
    blended = np.float32(share) * plain.images + np.float32(1 - np.float64(share)) * other
    assert np.abs(mixed.images - blended).max() <= 1e-6, np.abs(mixed.images - blended).max()
    return "mixup"


@pytest.mark.parametrize("mix", [MIXUP, CUTMIX, BOTH], ids=["mixup", "cutmix", "both"])
def test_formulas(pack, mix):
    kinds = set()
    with loader(pack) as plain, loader(pack, mix=mix) as mixed:
        for _ in range(3):
            for before, after in zip(plain, mixed, strict=True):
                assert before.shares is None and before.partner_labels is None
                kinds.add(check_mixed(before, after, np.roll(np.arange(8), 1)))
    assert kinds == ({"mixup"} if mix is MIXUP else {"cutmix"} if mix is CUTMIX else {"mixup", "cutmix"})


def test_probability(pack):
    with loader(pack) as plain, loader(pack, mix=T.Mix(mixup=0.8, probability=0.5)) as mixed:
        unmixed = 0
        for _ in range(4):
            for before, after in zip(plain, mixed, strict=True):
                unmixed += after.shares[0] == 1
                assert (after.images == before.images).all() == (after.shares[0] == 1)
    assert 0 < unmixed < 20


DEVICE = PRELUDE + """
import sys, bale
from bale import transforms as T
spec = sys.argv[1]
for dtype in ("float32", "float16", "bfloat16"):
    for layout in ("nhwc", "nchw"):
        for made in (T.train((24, 32), dtype=dtype, layout=layout, normalize=True), T.padded((80, 100), dtype=dtype, layout=layout)):
            options = dict(batch_size=8, seed=3, workers=1, threads=True, tail="uneven", transform=made, on_bad_sample="skip",
                           mix=T.Mix(mixup=0.8, cutmix=1.0), prefetch=2)
            with bale.Loader(spec, **options) as host, bale.Loader(spec, device="cuda", **options) as device:
                for epoch in range(2):
                    for ours, theirs in zip(host, device, strict=True):
                        assert (read(theirs.partner_labels) == ours.partner_labels).all()
                        assert (read(theirs.shares) == ours.shares).all()
                        images = theirs.images.__dlpack__(stream=2)
                        managed = tensor(images)
                        bits = read_memory(managed.data, ours.images.shape, ours.images.strides, ours.images.dtype, stream=2)
                        assert bits.tobytes() == ours.images.tobytes(), (dtype, layout, made)
check()
"""


def test_bits_are_those_of_a_device(damaged):
    run_script(DEVICE, damaged, **ENVIRONMENT)


@pytest.fixture(scope="module")
def damaged(bale, photos, tmp_path_factory):
    """39 good images and one that cannot be decoded."""
    root = tmp_path_factory.mktemp("damaged")
    shutil.copytree(photos, root / "photos")
    sorted((root / "photos").rglob("*.JPEG"))[17].write_bytes(b"\xff\xd8 no image at all")
    bale.pack(root / "photos", root / "pack")
    return root / "pack"


def test_rows_without_an_image_take_no_part(damaged):
    """A skipped row stays zeros, and its neighbors are mixed with each other; so it is for the empty rows of a last batch."""
    options = {"on_bad_sample": "skip", "tail": "uneven", "batch_size": 7, "world_size": 3, "prefetch": 2}
    empty = 0
    for rank in range(3):
        with loader(damaged, rank=rank, **options) as plain, loader(damaged, rank=rank, mix=BOTH, **options) as mixed:
            for _ in range(2):
                for before, after in zip(plain, mixed, strict=True):
                    partners = partners_of(before)
                    empty += int((partners == np.arange(len(before))).sum())
                    if (partners != np.arange(len(before))).any():
                        check_mixed(before, after, partners)
            assert len(mixed.bad_samples) == len(plain.bad_samples)
    assert empty == 2 * (1 + 2)  # per epoch the damaged one, and a row of the last batch of two ranks


def test_the_same_batches_in_every_way(pack):
    """Workers, threads, kept batches (which are copies), and a resume do not change a batch."""
    with loader(pack, mix=BOTH) as reference:
        expected = [contents(batch) for _ in range(2) for batch in reference]
    for options in ({"workers": 2}, {"workers": 2, "threads": True}, {"workers": 1, "threads": True, "prefetch": 2}):
        with loader(pack, mix=BOTH, **options) as other:
            assert [contents(batch) for _ in range(2) for batch in other] == expected
    with loader(pack, mix=BOTH, workers=1, threads=True, prefetch=3) as keeping:
        kept = [batch for _ in range(2) for batch in keeping]
        assert any(batch.is_copy for batch in kept) and not all(batch.is_copy for batch in kept)
        assert [contents(batch) for batch in kept] == expected
    with loader(pack, mix=BOTH) as first:
        for number, _ in enumerate(first):
            if number == 1:
                break
        state = first.state_dict()
    with loader(pack, mix=BOTH, workers=2) as second:
        second.load_state_dict(state)
        assert [contents(batch)[0] for batch in second] == [one[0] for one in expected[2:5]]


def test_bad_samples(damaged):
    """Substitutes are mixed as others are. Batches before a failure are the same when the epoch begins again."""
    with loader(damaged, mix=BOTH, on_bad_sample="substitute") as reference:
        expected = [contents(batch) for batch in reference]
    with loader(damaged, mix=BOTH, on_bad_sample="substitute", workers=2, threads=True) as other:
        for _ in range(2):
            assert [contents(batch) for batch in other] == expected
            other.set_epoch(0)
    options = {"mix": BOTH, "shuffle": False}
    with loader(damaged, **options) as failing, loader(damaged, on_bad_sample="skip", **options) as skips:
        wanted = [contents(batch) for batch in skips]
        for _ in range(2):
            failing.set_epoch(0)
            got, batches = [], iter(failing)
            for _ in range(2):  # the same failure again, and again nothing of its batch
                with pytest.raises(bl.Error):
                    got.extend(contents(batch) for batch in batches)
            assert got == wanted[:2]


def test_large_batches_are_mixed_by_threads(pack):
    """More than 16 MB, so that several threads mix: the same formula."""
    made = T.train(256, dtype="float32", layout="nhwc")
    options = {"batch_size": 40, "transform": made, "prefetch": 2}
    with loader(pack, **options) as plain, loader(pack, mix=MIXUP, **options) as mixed:
        for before, after in zip(plain, mixed, strict=True):
            share = after.shares[0]
            blended = share * before.images + np.float32(1 - np.float64(share)) * np.roll(before.images, 1, axis=0)
            assert np.abs(after.images - blended).max() <= 1e-6


def test_what_is_refused(pack):
    for what, options in (("float dtype", {"transform": T.train(32)}), ("fixed shape", {"transform": T.ragged(dtype="float32")}),
                          ("several views", {"transform": None, "views": [transform()] * 2}),
                          ("mixup_alpha", {"mix": T.Mix(mixup=-1)}), ("bale.torch.Loader returns", {"mix": T.Mix(mixup=1, num_classes=5)})):
        with pytest.raises((ValueError, bl.Error), match=what):
            loader(pack, **{"mix": MIXUP, **options})


TORCH = """
import sys
import torch
import bale
import bale.torch as bt
from bale import transforms as T
spec = sys.argv[1]
made = T.train((24, 32), dtype="float32", layout="nchw", normalize=True)
options = dict(batch_size=8, workers=0, seed=2, transform=made, tail="uneven", rank=0, world_size=1)
def mixes(**more):
    return T.Mix(mixup=0.8, cutmix=1.0, **more)
"""


def test_soft_labels(torch, pack):  # noqa: F811
    """torchvision's MixUp and CutMix: one_hot(labels) rolled by one and mixed."""
    torch(TORCH + """
def one_hot(labels):
    return torch.nn.functional.one_hot(labels, 5).float()
for (plain, labels), (images, (own, partners, shares)), (same, soft) in zip(
        bt.Loader(spec, **options), bt.Loader(spec, mix=mixes(), **options), bt.Loader(spec, mix=mixes(num_classes=5), **options)):
    assert torch.equal(own, labels) and torch.equal(partners, labels.roll(1)) and torch.equal(images, same)
    assert not torch.equal(images, plain) and len(set(shares.tolist())) == 1
    share = shares[0].item()
    expected = one_hot(labels).roll(1, 0).mul_(1.0 - share).add_(one_hot(labels).mul(share))
    assert soft.dtype == torch.float32 and torch.allclose(soft, expected, atol=1e-7, rtol=0)
raises(ValueError, "label_smoothing needs num_classes", lambda: bt.Loader(spec, mix=T.Mix(mixup=1, label_smoothing=0.1), **options))
raises(ValueError, "not within [0, 1]", lambda: bt.Loader(spec, mix=mixes(num_classes=5, label_smoothing=2), **options))
raises(ValueError, "num_classes 0 is below 1", lambda: bt.Loader(spec, mix=mixes(num_classes=0), **options))
raises(ValueError, "num_classes is 3", lambda: list(bt.Loader(spec, mix=mixes(num_classes=3), **options)))
""", pack)


def test_soft_labels_of_rows_without_a_label(torch, damaged):  # noqa: F811
    """A skipped row's target is zeros."""
    torch(TORCH + """
zeros = 0
for images, soft, mask in bt.Loader(spec, mix=mixes(num_classes=5, label_smoothing=0.1), on_bad_sample="skip", with_mask=True, **options):
    for image, target, counted in zip(images, soft, mask):
        assert counted.item() == image.any().item() == target.any().item()
        assert not counted or abs(target.sum().item() - 1) < 1e-6
        zeros += not counted
assert zeros == 1
""", damaged)


@pytest.mark.skipif(not EXAMPLES_PYTHON.exists(), reason="no interpreter with timm")
def test_soft_labels_as_timms(pack):
    """timm mixes a batch with itself flipped, so its function gets the pairs one by one."""
    run_script(TORCH + """
from timm.data.mixup import mixup_target
pairs = bt.Loader(spec, mix=mixes(), **options)
soft = bt.Loader(spec, mix=mixes(num_classes=5, label_smoothing=0.1), **options)
for (_, (labels, partners, shares)), (_, targets) in zip(pairs, soft):
    for label, partner, share, target in zip(labels, partners, shares, targets):
        expected = mixup_target(torch.stack([label, partner]), 5, share.item(), 0.1)[0]
        assert torch.allclose(target, expected, atol=1e-7, rtol=0), (target, expected)
""", pack, python=EXAMPLES_PYTHON)
