"""bale.pack() of samples: generators, arrays, datasets of torch, torchvision and Hugging Face."""
import io

import numpy as np
import pytest
from conftest import images_by_key
from PIL import Image
from python_support import SYSTEM_PYTHON, run_script
from webdataset import WebDataset

import bale

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


@pytest.mark.filterwarnings("error::UserWarning")
def test_pipelines_of_webdataset(tmp_path):
    image = io.BytesIO()
    Image.new("RGB", (8, 8)).save(image, "JPEG")
    with bale.Writer(tmp_path / "in", classes=["cat", "dog"]) as writer:
        for i in range(4):
            writer.add(str(i), {"jpg": image.getvalue(), "words.txt": ["cat", "dog"][i % 2]}, label=i % 2)

    def source():
        return WebDataset(str(tmp_path / "in" / "in-000000.tar"), shardshuffle=False)

    for number, pipeline in enumerate((source(), source().to_tuple("jpg", "cls"), source().to_tuple("jpg", "words.txt"))):
        bale.pack(pipeline, tmp_path / str(number), classes=["cat", "dog"])
        packed = bale.Dataset(tmp_path / str(number))
        assert list(packed.labels) == [0, 1, 0, 1] and bytes(packed[1]["jpg"]) == image.getvalue()
    with pytest.raises(ValueError, match="'dog' of the source is none of the classes"):
        bale.pack(source().to_tuple("jpg", "words.txt"), tmp_path / "other", classes=["cat"])
    with pytest.warns(UserWarning, match="webdataset decoded the field 'jpg', so its file is not kept"):
        bale.pack(source().decode("pil"), tmp_path / "decoded", classes=["cat", "dog"])


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


def test_resuming_with_other_samples_is_refused(tmp_path):
    def samples(keys, end=None):
        yield from ((key, {"png": PIXELS[0]}) for key in keys)
        if end:
            raise end

    with pytest.raises(KeyError):
        bale.pack(samples("abcdefg", KeyError()), tmp_path / "out", shard_samples=3)
    for source in (samples("abc"), [(key, {"png": PIXELS[0]}) for key in "abc"]):
        with pytest.raises(ValueError, match="source: 3 samples, and the interrupted run has 7"):
            bale.pack(source, tmp_path / "out", shard_samples=3, resume=True)
    for source in (samples("axcdefghi"), ({"__key__": key, "png": PIXELS[0]} for key in "axcdefghi")):
        with pytest.raises(ValueError, match="sample 1: the interrupted run has no 'x'"):
            bale.pack(source, tmp_path / "out", shard_samples=3, resume=True)
    assert bale.pack(samples("abcdefghi"), tmp_path / "out", shard_samples=3, resume=True)["samples"] == 9
    assert list(bale.Dataset(tmp_path / "out").keys) == list("abcdefghi")

    def detections(end=None):  # whose first value is not a key
        yield from ((pixels, {"boxes": [[0, 0, 1, 1]]}) for pixels in PIXELS[:7])
        if end:
            raise end

    with pytest.raises(KeyError):
        bale.pack(detections(KeyError()), tmp_path / "boxes", shard_samples=3)
    assert bale.pack(detections(), tmp_path / "boxes", shard_samples=3, resume=True)["samples"] == 7


def test_what_is_not_a_source(tmp_path):
    for source in (3, object()):
        with pytest.raises(TypeError, match="not a path"):
            bale.pack(source, tmp_path / "out")
    with pytest.raises(TypeError, match="sample 0: int is none of"):
        bale.pack([1, 2, 3], tmp_path / "out")
    with pytest.raises(ValueError, match="shuffle: only for a source that is a path"):
        bale.pack([(PIXELS[0], 1)], tmp_path / "out", shuffle=3)

    class DataFrame:
        """As of pandas."""
        def __len__(self):
            return 2

        def __getitem__(self, name):
            raise KeyError(name)

    for source, advice in ((DataFrame(), "zip"), ({"train": [(PIXELS[0], 1)]}, "pack each of its values")):
        with pytest.raises(bale.Error, match=advice) as caught:
            bale.pack(source, tmp_path / "out")
        assert isinstance(caught.value, ValueError)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("source", ["path", "samples"])
def test_keywords_that_there_are_not(tmp_path, photos, source):
    given = photos if source == "path" else [(PIXELS[0], 1)]
    for wrong, close in (("shard_sizes", "shard_size"), ("on_errors", "on_error"), ("checkimages", "check_images")):
        with pytest.raises(TypeError, match=f"no option '{wrong}'; did you mean '{close}'"):
            bale.pack(given, tmp_path / "out", **{wrong: "skip"})
    with pytest.raises(TypeError, match="no option 'qqq'; `bale pack --help` lists them"):
        bale.pack(given, tmp_path / "out", qqq=None)
    with pytest.raises(bale.Error, match="shuffle=True: it takes the seed of the order, such as shuffle=1"):
        bale.pack(given, tmp_path / "out", shuffle=True)
    with pytest.raises(bale.Error, match="shard_size=True: it takes a value"):
        bale.pack(given, tmp_path / "out", shard_size=True)
    assert not (tmp_path / "out").exists()
    for call in (lambda: bale.convert(tmp_path, tmp_path / "out", shufle=1), lambda: bale.verify(tmp_path, decod=True),
                 lambda: bale.plan(photos, tmp_path / "out", tmp_path / "p", shard_counts=1)):
        with pytest.raises(TypeError, match="did you mean") as caught:
            call()
        assert isinstance(caught.value, bale.Error) and isinstance(caught.value, ValueError)
        assert caught.value.code == "invalid_argument"


@pytest.mark.parametrize("labels, words", [([0, 1], "2 images, and list of 2 labels"), (np.arange(3), "2 images, and ndarray of 3 labels")])
def test_a_pair_that_is_not_of_two_arrays(tmp_path, labels, words):
    with pytest.raises(ValueError, match=words):
        bale.pack((np.zeros((2, 5, 6, 3), np.uint8), labels), tmp_path / "out")


def test_two_images_are_not_an_image_and_its_labels(tmp_path):
    with pytest.raises(TypeError, match="sample 0: ndarray is none of"):
        bale.pack([np.zeros((5, 6, 3), np.uint8)] * 2, tmp_path / "out")


def test_pairs_of_a_path_and_a_label(tmp_path):
    """The files stay as they are, whatever their names."""
    contents = [jpeg(0), encoded_as("PNG", 1), encoded_as("WEBP", 2)]
    paths = [tmp_path / name for name in ("a.jpg", "b", "c.jpg")]
    for path, content in zip(paths, contents):
        path.write_bytes(content)
    assert bale.pack(zip(paths, ["cat", "dog", "cat"]), tmp_path / "out", classes=["cat", "dog"])["samples"] == 3
    dataset = bale.Dataset(tmp_path / "out")
    assert [dataset[i][field] for i, field in enumerate(("jpg", "png", "webp"))] == contents and dataset.targets == [0, 1, 0]
    bale.pack(list(map(str, paths)), tmp_path / "plain")
    assert [bale.Dataset(tmp_path / "plain").read_image(i) for i in range(3)] == contents
    (tmp_path / "text.jpg").write_text("no image")
    with pytest.raises(FileNotFoundError):
        bale.pack([(str(paths[0]), 1), ("gone.jpg", 1)], tmp_path / "no")
    with pytest.raises(bale.Error, match="text.jpg: not an image"):
        bale.pack([(tmp_path / "text.jpg", 1)], tmp_path / "neither")
    with pytest.warns(UserWarning, match="2 samples skipped"):
        report = bale.pack(zip(["gone.jpg", paths[0], tmp_path / "text.jpg"], range(3)), tmp_path / "some", on_error="skip")
    assert report["samples"] == 1 and bale.Dataset(tmp_path / "some").targets == [1]


def encoded_as(kind, i, mode="RGB"):
    out = io.BytesIO()
    Image.fromarray(PIXELS[i]).convert(mode).save(out, kind)
    return out.getvalue()


class Opens:
    """Like a torch dataset that opens images with Pillow."""

    def __init__(self, sources, make=lambda image: image.convert("RGB")):
        self.sources, self.make = sources, make

    def __len__(self):
        return len(self.sources)

    def __getitem__(self, i):
        if callable(self.sources[i]):
            return self.sources[i](), i
        if isinstance(self.sources[i], bytes):
            return self.make(Image.open(io.BytesIO(self.sources[i]))), i
        with open(self.sources[i], "rb") as file:  # as torchvision's loader
            return self.make(Image.open(file)), i


@pytest.mark.parametrize("make", [lambda image: image.convert("RGB"), lambda image: (image.load(), image)[1],
                                  lambda image: image.copy()])
@pytest.mark.parametrize("how", ["dataset", "generator"])
def test_files_that_a_dataset_opens_are_packed(tmp_path, make, how):
    """Not as PNG, three times the bytes."""
    contents = [jpeg(0), encoded_as("WEBP", 1), encoded_as("PNG", 2), encoded_as("JPEG", 3, "L"), encoded_as("PNG", 4, "L")]
    for i, content in enumerate(contents):
        (tmp_path / f"{i}.x").write_bytes(content)
    before = Image.open
    source = Opens([contents[0], tmp_path / "1.x", tmp_path / "2.x", str(tmp_path / "3.x"), contents[4]], make)
    bale.pack(source if how == "dataset" else (source[i] for i in range(5)), tmp_path / "out")
    dataset = bale.Dataset(tmp_path / "out")
    assert [dataset.read_image(i) for i in range(5)] == contents and dataset.targets == list(range(5))
    assert Image.open is before


def test_images_that_a_dataset_changes_are_its_pixels(tmp_path):
    opened = lambda i: Image.open(io.BytesIO(jpeg(i))).convert("RGB")
    two = lambda: (opened(0), opened(1))[1]
    makes = [lambda image: image.resize((4, 4)), lambda image: image.convert("L"),
             lambda image: image.transpose(Image.Transpose.ROTATE_90), lambda image: Image.eval(image, lambda value: 255 - value)]
    for number, make in enumerate(makes):
        source = Opens([jpeg(0), jpeg(1)], make)
        bale.pack(source, tmp_path / str(number))
        dataset = bale.Dataset(tmp_path / str(number))
        assert all(np.array_equal(pixels(dataset[i]["png"]), np.asarray(source[i][0])) for i in range(2)), number
    bale.pack(Opens([two]), tmp_path / "two")  # it opens another file, too
    assert bale.Dataset(tmp_path / "two")[0]["jpg"] == jpeg(1)
    bale.pack(Opens([jpeg(0)]), tmp_path / "asked", image_field="png")
    assert "png" in bale.Dataset(tmp_path / "asked")[0]


def test_datasets_of_torch_and_torchvision(photos, tmp_path):
    """ImageFolder's files stay as they are; other datasets give what they return; progress is shown if it is asked for."""
    run_script("""
        import io, sys
        import numpy, torch, torchvision
        from PIL import Image
        import bale

        folder = torchvision.datasets.ImageFolder(sys.argv[1])
        report = bale.pack(folder, sys.argv[2] + "/folder", progress=True)
        assert report["samples"] == len(folder) and bale.Dataset(sys.argv[2] + "/folder").classes == folder.classes

        bale.pack(torch.utils.data.Subset(folder, [3, 1]), sys.argv[2] + "/subset")
        subset = bale.Dataset(sys.argv[2] + "/subset")
        assert [subset.read_image(i) for i in range(2)] == [open(folder.samples[i][0], "rb").read() for i in (3, 1)]
        assert subset.targets == [folder.targets[3], folder.targets[1]] and subset.classes == folder.classes

        images = torch.arange(2 * 3 * 4 * 5, dtype=torch.uint8).reshape(2, 3, 4, 5)
        tensors = torch.utils.data.TensorDataset(images, torch.tensor([1, 0]))
        bale.pack(torch.utils.data.Subset(tensors, [1, 0]), sys.argv[2] + "/tensors", image_field="npy")
        dataset = bale.Dataset(sys.argv[2] + "/tensors")
        assert numpy.array_equal(numpy.load(io.BytesIO(dataset[0]["npy"])), images[1].permute(1, 2, 0)), dataset[0]
        assert dataset.targets == [0, 1]

        class Turned(torchvision.datasets.ImageFolder):
            def __getitem__(self, i):
                image, label = super().__getitem__(i)
                return image.rotate(180), label
        small_ones = lambda path: Image.open(path).convert("RGB").resize((8, 6))
        for number, changed in enumerate([Turned(sys.argv[1]), torchvision.datasets.ImageFolder(sys.argv[1], loader=small_ones)]):
            bale.pack(changed, f"{sys.argv[2]}/changed{number}")
            dataset = bale.Dataset(f"{sys.argv[2]}/changed{number}")
            image, label = changed[7]
            assert numpy.array_equal(numpy.asarray(Image.open(io.BytesIO(dataset[7]["png"]))), numpy.asarray(image)) and dataset.label(7) == label

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
    splits = datasets.DatasetDict({"train": table, "val": table.select([0])})
    assert bale.pack(splits, tmp_path / "splits")["samples"] == 3
    assert [len(bale.Dataset(tmp_path / "splits" / name)) for name in splits] == [2, 1]


def test_a_stop_iteration_of_a_sample_is_not_the_end(tmp_path):
    class Source(list):
        def __getitem__(self, i):
            return next(iter([])) if i == 1 else super().__getitem__(i)

    with pytest.raises(RuntimeError, match="StopIteration"):
        bale.pack(Source([(jpeg(0), 0)] * 3), tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()
