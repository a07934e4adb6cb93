"""bale.torch, in Debian's Python with its torch: tensors that are views, ranks, epochs, resume, the ordinary DataLoader."""
import subprocess
import sys

import pytest
from python_support import ENVIRONMENT, SYSTEM_PYTHON, command, run_script
from torch_support import torch  # noqa: F401 - a fixture

PACK_OPTIONS = ["--shard-samples", "15"]
HEAD = """
    import gc, os, pickle, re, sys, warnings
    import torch
    import bale
    import bale.torch as bt

    PACK = sys.argv[1]

    def small(batch_size=16, **options):
        return bt.Loader(PACK, batch_size, **{"workers": 2, "seed": 5, "transform": bale.transforms.train(32), **options})

    def in_ring(tensor):
        with open("/proc/self/maps") as maps:
            ranges = [[int(x, 16) for x in line.split()[0].split("-")] for line in maps if "memfd:" in line]
        return any(low <= tensor.data_ptr() < high for low, high in ranges)
"""


@pytest.fixture(scope="module")
def run(pack, torch):
    return lambda script, *args, **env: torch(HEAD + script, pack, *args, **env)


def test_tensors_are_views_of_slots(run):
    run("""
    with small(shuffle=False, pin_memory=True) as loader, bale.Loader(PACK, 16, workers=0, seed=5, shuffle=False,
                                                              transform=bale.transforms.train(32)) as plain:
        assert len(loader) == len(plain) == 3
        for (images, labels), batch in zip(loader, plain):
            assert images.shape == (len(batch), 3, 32, 32) and images.dtype == torch.uint8
            assert images.is_contiguous(memory_format=torch.channels_last)
            assert labels.dtype == torch.int64 and labels.tolist() == batch.labels.tolist()
            assert torch.equal(images, torch.from_numpy(batch.images.copy()).permute(0, 3, 1, 2))
            assert in_ring(images) and not in_ring(labels)
    for dtype in ("float16", "bfloat16", "float32"):
        for layout in ("nhwc", "nchw"):
            transform = bale.transforms.train(32, dtype=dtype, layout=layout)
            with small(transform=transform) as loader:
                images, _ = next(iter(loader))
                assert images.dtype == getattr(torch, dtype) and images.shape == (16, 3, 32, 32) and in_ring(images)
                assert images.is_contiguous() == (layout == "nchw") and 0.1 < images.float().mean() < 0.9
    """)


def test_a_tensor_keeps_its_slot(run):
    run("""
    with small(4, prefetch=3) as loader:
        iterator = iter(loader)
        corner = next(iterator)[0][1, :, 3:]
        before = corner.clone()
        labels = next(iterator)[1]
        for _ in range(5):
            next(iterator)
        assert torch.equal(corner, before)
        held = next(iterator)
        with warnings.catch_warnings(record=True):
            copied = next(iterator)
        assert in_ring(held[0]) and not in_ring(copied[0])
        del corner
        following = next(iterator)
        assert in_ring(following[0])
    assert held[0].shape[0] == 4 and labels.shape == (4,)   # the loader is closed, the memory there
    """)


def test_masks_and_lists(run):
    run("""
    with small(tail="uneven", world_size=3, rank=2, with_mask=True) as loader:
        masks = [mask for _, _, mask in loader]
    assert masks[0].dtype == torch.bool and sum(int(mask.sum()) for mask in masks) == 13
    with small(3, transform=bale.transforms.ragged(dtype="bfloat16"), shuffle=False) as loader:
        images, labels = next(iter(loader))
        assert [i.dtype for i in images] == [torch.bfloat16] * 3 and all(i.shape[0] == 3 for i in images)
    with small(3, transform=bale.transforms.raw(), shuffle=False) as loader:
        images, _ = next(iter(loader))
        assert bytes(images[0].numpy()) == bale.Dataset(PACK).read_image(0)
    """)


def test_training_scripts_find_what_they_look_for(run):
    run("""
    with small() as loader:
        assert len(loader.dataset) == 40 and loader.batch_size == 16 and loader.sampler.num_replicas == 1
        assert loader.num_workers == 2 and loader.drop_last is False
        assert loader.batch_sampler is None and loader.collate_fn is None     # Lightning and timm look there
        first = [labels.tolist() for _, labels in loader]
        second = [labels.tolist() for _, labels in loader]
        loader.sampler.set_epoch(0)
        assert [labels.tolist() for _, labels in loader] == first != second
        loader.sampler.set_epoch(1)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        rest = [labels.tolist() for _, labels in iterator]
        torch.save(state, sys.argv[1] + ".state")
    with small() as loader:
        loader.load_state_dict(torch.load(sys.argv[1] + ".state"))
        loader.sampler.set_epoch(1)
        assert [labels.tolist() for _, labels in loader] == rest == second[1:]
    """)


def test_the_ordinary_dataloader(run, photos):
    """Images and labels of torchvision's ImageFolder, in workers of every kind."""
    run("""
    import torchvision
    folder = torchvision.datasets.ImageFolder(sys.argv[2])
    dataset = bt.Dataset(PACK)
    assert dataset.classes == folder.classes and dataset.class_to_idx == folder.class_to_idx
    by_key = {os.path.splitext(os.path.relpath(path, sys.argv[2]))[0]: i for i, (path, _) in enumerate(folder.samples)}
    order = [by_key[key] for key in dataset.samples.keys]
    assert sorted(order) == list(range(40))
    for i, other in enumerate(order):
        assert dataset[i][1] == folder[other][1] and dataset[i][0].tobytes() == folder[other][0].tobytes()

    transform = torchvision.transforms.Compose([torchvision.transforms.CenterCrop(24),
                                                torchvision.transforms.ToTensor()])
    expected = torch.stack([transform(folder[i][0]) for i in order])
    for method in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(bt.Dataset(PACK, transform), 8, num_workers=2,
                                             multiprocessing_context=method)
        images, labels = zip(*loader)
        assert torch.equal(torch.cat(images), expected) and torch.cat(labels).tolist() == [folder[i][1] for i in order]

    image, label = bt.Dataset(PACK, decode="tensor", target_transform=lambda label: -label)[9]
    assert torch.equal(image, torchvision.transforms.functional.pil_to_tensor(dataset[9][0])) and label == -dataset[9][1]
    assert bt.Dataset(PACK, decode="bytes")[9][0] == dataset.samples.read_image(9)
    assert len(pickle.loads(pickle.dumps(dataset))) == 40
    """, photos)


def test_images_that_are_stored_decoded(bale, photos, torch, tmp_path):
    bale.pack(photos, tmp_path / "npy", "--format", "npy", "--size", "24", "--name", "x")
    torch("""
    import sys
    import numpy as np
    import bale.torch as bt
    pixels, labels = (np.load(f"{sys.argv[1]}/x-000000{end}") for end in (".npy", ".labels.npy"))
    for decode in ("pil", "tensor"):
        dataset = bt.Dataset(sys.argv[1], decode=decode)
        assert len(dataset) == len(pixels) == 40
        for i, (image, label) in enumerate(dataset):
            image = np.asarray(image) if decode == "pil" else image.permute(1, 2, 0).numpy()
            assert np.array_equal(image, pixels[i]) and label == labels[i]
    """, tmp_path / "npy")


def test_the_end_with_live_tensors(pack):
    """They outlive the loader's workers and the module; nothing is printed about it."""
    done = subprocess.run(command(HEAD + """
    loader = small()
    keep = [loader, next(iter(loader))]
    keep.append(keep)
    """, pack, python=SYSTEM_PYTHON), capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert done.returncode == 0 and done.stderr == ""


def test_one_extension_serves_both_interpreters():
    """It is built for the Python of the tests' environment; both are CPython of one minor version."""
    versions = {run_script("import sys, bale; print(sys.version_info[:2], bale.__version__)", python=python)
                for python in (sys.executable, SYSTEM_PYTHON)}
    assert len(versions) == 1
