"""bale.pack() of samples: generators, arrays, datasets of torch, torchvision and Hugging Face."""
import io

import bale
import numpy as np
import pytest
from conftest import images_by_key
from PIL import Image
from python_support import SYSTEM_PYTHON, run_script

rng = np.random.default_rng(3)
PIXELS = rng.integers(0, 256, (12, 8, 9, 3), np.uint8)
LABELS = np.arange(12) % 3


def pixels(content):
    return np.asarray(Image.open(io.BytesIO(content)))


def jpeg(i):
    out = io.BytesIO()
    Image.fromarray(PIXELS[i]).save(out, "JPEG")
    return out.getvalue()


def test_a_pair_of_arrays(tmp_path):
    report = bale.pack((PIXELS, LABELS), tmp_path / "out", classes=["a", "b", "c"], shard_samples=5)
    assert (report["samples"], report["shards"]) == (12, 3)
    dataset = bale.Dataset(tmp_path / "out")
    assert dataset.targets == LABELS.tolist() and dataset.classes == ["a", "b", "c"] and dataset.keys[11] == "00000011"
    assert all(np.array_equal(pixels(dataset[i]["png"]), PIXELS[i]) for i in range(12))


@pytest.mark.parametrize("make", [
    lambda i: (Image.fromarray(PIXELS[i]), int(LABELS[i])), lambda i: [PIXELS[i], LABELS[i]],
    lambda i: (f"{i:08d}", {"png": PIXELS[i]}, LABELS[i]), lambda i: {"png": PIXELS[i], "cls": LABELS[i], "__url__": "x.tar"},
    lambda i: {"__key__": f"{i:08d}", "png": PIXELS[i], "cls": int(LABELS[i])}])
def test_generators(tmp_path, make):
    assert bale.pack(map(make, range(12)), tmp_path / "out")["samples"] == 12
    dataset = bale.Dataset(tmp_path / "out")
    assert list(dataset.keys) == [f"{i:08d}" for i in range(12)] and dataset.targets == LABELS.tolist()
    assert all(np.array_equal(pixels(dataset[i]["png"]), PIXELS[i]) for i in range(12))


def test_bytes_are_kept(tmp_path):
    bale.pack(((jpeg(i), {"boxes": [[0, 1, i, 3]]}) for i in range(12)), tmp_path / "out")
    dataset = bale.Dataset(tmp_path / "out")
    assert [dataset[i]["jpg"] for i in range(12)] == [jpeg(i) for i in range(12)]
    assert dataset[2]["json"] == b'{"boxes": [[0, 1, 2, 3]]}' and dataset.label(2) is None
    with pytest.raises(bale.Error, match="sample 0: not an image"):
        bale.pack([(b"text", 1)], tmp_path / "bad")


def test_an_interrupted_generator_is_resumed(tmp_path):
    def samples(end):
        for i in range(12):
            if i == end:
                raise OSError("the camera is gone")
            yield PIXELS[i], int(LABELS[i])

    with pytest.raises(OSError, match="camera") as caught:
        bale.pack(samples(7), tmp_path / "out", shard_samples=5)
    assert "7 samples are kept" in caught.value.__notes__[0]
    report = bale.pack(samples(12), tmp_path / "out", shard_samples=5, resume=True)
    assert report["samples"] == 12
    dataset = bale.Dataset(tmp_path / "out")
    assert all(np.array_equal(pixels(dataset[i]["png"]), PIXELS[i]) for i in range(12))


def test_what_is_no_source(tmp_path):
    for source in (3, object()):
        with pytest.raises(TypeError, match="not a path"):
            bale.pack(source, tmp_path / "out")
    with pytest.raises(TypeError, match="sample 0: int is none of"):
        bale.pack([1, 2, 3], tmp_path / "out")
    with pytest.raises(ValueError, match="shuffle: only for a source that is a path"):
        bale.pack([(PIXELS[0], 1)], tmp_path / "out", shuffle=3)
    assert not (tmp_path / "out").exists()


def test_datasets_of_torch_and_torchvision(photos, tmp_path):
    """ImageFolder's files stay as they are; other datasets give what they return; progress is shown if it is asked for."""
    run_script("""
        import sys
        import numpy, torch, torchvision
        import bale

        folder = torchvision.datasets.ImageFolder(sys.argv[1])
        report = bale.pack(folder, sys.argv[2] + "/folder", progress=True)
        assert report["samples"] == len(folder) and bale.Dataset(sys.argv[2] + "/folder").classes == folder.classes

        images = torch.arange(2 * 3 * 4 * 5, dtype=torch.uint8).reshape(2, 3, 4, 5)
        tensors = torch.utils.data.TensorDataset(images, torch.tensor([1, 0]))
        bale.pack(torch.utils.data.Subset(tensors, [1, 0]), sys.argv[2] + "/tensors", image_field="npy")
        dataset = bale.Dataset(sys.argv[2] + "/tensors")
        import io
        assert numpy.array_equal(numpy.load(io.BytesIO(dataset[0]["npy"])), images[1].permute(1, 2, 0)), dataset[0]
        assert dataset.targets == [0, 1]

        smaller = torchvision.datasets.ImageFolder(sys.argv[1], transform=lambda image: image.convert("RGB").resize((8, 6)))
        bale.pack(torch.utils.data.Subset(smaller, range(5)), sys.argv[2] + "/small")
        dataset = bale.Dataset(sys.argv[2] + "/small")
        assert dataset.classes == folder.classes and len(dataset) == 5 and set(dataset[0]) == {"cls", "png"}
        """, photos, tmp_path, python=SYSTEM_PYTHON)
    dataset = bale.Dataset(tmp_path / "folder")
    packed = {key: (dataset.read_image(i), dataset.label(i)) for i, key in enumerate(dataset.keys)}
    assert packed == images_by_key(photos)


def test_a_dataset_of_hugging_face(tmp_path):
    """What else becomes a field: test_python_parquet.py."""
    datasets = pytest.importorskip("datasets")
    (tmp_path / "file.jpg").write_bytes(jpeg(1))
    rows = [{"image": {"bytes": jpeg(0), "path": None}, "mask": {"bytes": jpeg(2), "path": None}, "label": 1, "caption": "a dög"},
            {"image": {"bytes": None, "path": str(tmp_path / "file.jpg")}, "mask": None, "label": -1, "caption": None}]
    features = {"image": datasets.Image(), "mask": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"]),
                "caption": datasets.Value("string")}
    table = datasets.Dataset.from_list(rows, features=datasets.Features(features))
    assert bale.pack(table, tmp_path / "out")["samples"] == 2
    dataset = bale.Dataset(tmp_path / "out")
    assert dataset.classes == ["cat", "dog"] and [dataset.label(0), dataset.label(1)] == [1, None]
    assert dataset[0] == {"jpg": jpeg(0), "mask.jpg": jpeg(2), "caption.txt": "a dög".encode(), "cls": b"1"}
    assert dataset[1] == {"jpg": jpeg(1)}
