"""Labels of samples that a program hands over: classes by name, and numbers that stay numbers."""
import io
import json
import warnings

import numpy as np
import pytest
from PIL import Image

import bale

PIXELS = np.arange(6 * 8 * 9 * 3, dtype=np.uint8).reshape(6, 8, 9, 3)


class WithClasses:
    """Like a torch dataset whose classes are `classes`."""

    def __init__(self, classes, labels):
        self.classes, self.labels = classes, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        if not 0 <= i < len(self):
            raise IndexError
        return PIXELS[i], self.labels[i]


def packed(source, path, **options):
    bale.pack(source, path, **options)
    dataset = bale.Dataset(path)
    return [dataset.label(i) for i in range(len(dataset))], dataset.classes


# --- classes= and class_map= by name

@pytest.mark.parametrize("label", [int, np.int64, np.int32, str])
def test_classes_renumber_a_source_that_has_names(tmp_path, label):
    own = ["cat", "dog"]
    labels = [own[i] if label is str else label(i) for i in (0, 1, 1)]
    assert packed(WithClasses(own, labels), tmp_path / "own") == ([0, 1, 1], own)
    assert packed(WithClasses(own, labels), tmp_path / "all", classes=["ant", "dog", "cat"]) == ([2, 1, 1], ["ant", "dog", "cat"])
    (tmp_path / "map.txt").write_text("dog 0\ncat 3\n")
    assert packed(WithClasses(own, labels), tmp_path / "map", class_map=tmp_path / "map.txt") == ([3, 0, 0], ["dog", "", "", "cat"])
    assert packed(WithClasses(own, labels), tmp_path / "of", class_map=tmp_path / "all") == ([2, 1, 1], ["ant", "dog", "cat"])


def test_what_classes_refuse(tmp_path):
    with pytest.raises(ValueError, match="'cat' of the source is none"):
        packed(WithClasses(["cat", "dog"], [1, 0]), tmp_path / "a", classes=["dog", "emu"])
    with pytest.raises(ValueError, match="none of the source's 2 classes"):
        packed(WithClasses(["cat", "dog"], [2]), tmp_path / "b", classes=["dog", "cat"])
    with pytest.raises(ValueError, match="exclude each other"):
        packed(WithClasses(["cat"], [0]), tmp_path / "c", classes=["cat"], class_map="x")
    with pytest.raises(bale.Error, match="gone.txt") as caught:
        packed([(PIXELS[0], 0)], tmp_path / "d", class_map=tmp_path / "gone.txt")
    assert caught.value.code == "not_found"
    with pytest.raises(TypeError, match="3 is not a name"):
        packed([(PIXELS[0], 0)], tmp_path / "e", classes=["a", 3])
    for classes in ({"a": 1, "b": 0}, {"a", "b"}, "ab"):
        with pytest.raises(TypeError, match="classes: a (dict|set|str) is not a list of names in the order of their numbers"):
            packed([(PIXELS[0], 0)], tmp_path / "f", classes=classes)


def test_an_iterator_names_the_classes_of_all_splits(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    Image.new("L", (1, 1)).save(out, "PNG")
    (tmp_path / "in").mkdir()
    for name in ("train", "test"):
        pq.write_table(pa.table({"image": [{"bytes": out.getvalue(), "path": None}], "label": [1]}), tmp_path / "in" / f"{name}-00000-of-00001.parquet")
    bale.pack(tmp_path / "in", tmp_path / "out", classes=iter(["cat", "dog"]))
    assert [bale.Dataset(tmp_path / "out" / name).classes for name in ("train", "test")] == [["cat", "dog"]] * 2


def test_classes_name_a_source_that_has_none(tmp_path):
    samples = [(PIXELS[0], 1), (PIXELS[1], "a")]
    assert packed(samples, tmp_path / "a", classes=["a", "b"]) == ([1, 0], ["a", "b"])
    (tmp_path / "map.txt").write_text("b 3\na 1\n")
    assert packed(samples, tmp_path / "b", class_map=tmp_path / "map.txt") == ([1, 1], ["", "a", "", "b"])
    for label in (2, 0, 4, -1):
        with pytest.raises(ValueError, match=f"label {label}"):
            packed([(PIXELS[0], label)], tmp_path / f"c{label}", class_map=tmp_path / "map.txt")


def test_a_dataset_of_bale(tmp_path):
    """Its label is in the field cls."""
    packed(WithClasses(["cat", "dog"], [0, 1]), tmp_path / "in")
    assert packed(bale.Dataset(tmp_path / "in"), tmp_path / "out", classes=["dog", "cat"]) == ([1, 0], ["dog", "cat"])


def test_paths_take_a_class_map(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "in" / name).mkdir(parents=True)
        Image.fromarray(PIXELS[0]).save(tmp_path / "in" / name / "1.png")
    (tmp_path / "map.txt").write_text("dog\ncat\n")
    assert packed(tmp_path / "in", tmp_path / "out", class_map=str(tmp_path / "map.txt")) == ([1, 0], ["dog", "cat"])
    (tmp_path / "back.txt").write_text("cat\ndog\n")
    bale.convert(tmp_path / "out", tmp_path / "again", class_map=str(tmp_path / "back.txt"))
    assert bale.Dataset(tmp_path / "again").classes == ["cat", "dog"] and [bale.Dataset(tmp_path / "again").label(i) for i in range(2)] == [0, 1]
    (tmp_path / "t.csv").write_text("path,label\nin/cat/1.png,2\nin/dog/1.png,\n")
    with pytest.raises(ValueError, match="line 3: .*allow_unlabeled"):
        bale.pack(tmp_path / "t.csv", tmp_path / "no")
    report = bale.pack(tmp_path / "t.csv", tmp_path / "table", allow_unlabeled=True)
    assert report["labels"] == {"reading": "numbers", "column": "label", "missing": 1}
    (tmp_path / "u.csv").write_text("path,breed\nin/cat/1.png,2\n")
    with pytest.warns(UserWarning, match="label_column"):
        bale.pack(tmp_path / "u.csv", tmp_path / "breeds", progress=False)


# --- names of torchvision

def test_classes_that_are_tuples(tmp_path):
    """torchvision's ImageNet: synonyms, of which the first is not always of one class alone."""
    classes = [("tench", "Tinca tinca"), ("crane",), ("crane",), ("maillot",), ("maillot", "tank suit")]
    source = WithClasses(classes, [0, 1, 4])
    source.wnids = ["n01440764", "n02012849", "n03126707", "n03710637", "n03710721"]
    names = ["tench", "crane (n02012849)", "crane (n03126707)", "maillot", "maillot, tank suit"]
    labels, got = packed(source, tmp_path / "out")
    assert labels == [0, 1, 4] and got[0] == "tench" and len(set(got)) == 5
    assert got[1:3] == names[1:3] and got[4] == names[4]
    assert packed([(PIXELS[0], 0)], tmp_path / "given", classes=[("tench", "Tinca tinca"), "carp"]) == ([0], ["tench", "carp"])
    with bale.Writer(tmp_path / "written", classes=[("tench", "Tinca tinca"), ("carp",)]) as writer:
        writer.add("a", {"png": PIXELS[0]}, "carp")
    assert bale.Dataset(tmp_path / "written").label(0) == 1


def test_a_folder_dataset_with_tuples(tmp_path):
    """A DatasetFolder, whose files are packed as they are."""
    def pil_loader(path):
        raise AssertionError
    (tmp_path / "in/n1").mkdir(parents=True)
    Image.fromarray(PIXELS[0]).save(tmp_path / "in/n1/1.png")
    class Folder(WithClasses):
        def __getitem__(self, i):
            raise AssertionError
    Folder.__getitem__.__module__ = pil_loader.__module__ = "torchvision.datasets.folder"
    source = Folder([("tench", "Tinca tinca")], [0])
    source.root, source.samples, source.loader, source.extensions = str(tmp_path / "in"), [(str(tmp_path / "in/n1/1.png"), 0)], pil_loader, None
    assert packed(source, tmp_path / "out") == ([0], ["tench"])
    assert list(bale.Dataset(tmp_path / "out").keys) == ["n1/1"]


def test_labels_in_a_column(tmp_path):
    """N x 1, as Keras has them."""
    assert packed((PIXELS, np.arange(6).reshape(6, 1)), tmp_path / "out") == ([0, 1, 2, 3, 4, 5], [])


# --- Parquet

def rows_of(features, rows):
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_list(rows, features=features)


def png(i):
    out = io.BytesIO()
    Image.fromarray(PIXELS[i]).save(out, "PNG")
    return {"bytes": out.getvalue(), "path": f"{i}.png"}


def test_names_of_a_second_class_label(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": datasets.Image(), "fine": datasets.ClassLabel(names=["cat", "dog", "cod"]),
                                  "coarse": datasets.ClassLabel(names=["mammal", "fish"])})
    table = rows_of(features, [{"image": png(0), "fine": 2, "coarse": 1}, {"image": png(1), "fine": 0, "coarse": None}])
    assert packed(table, tmp_path / "out") == ([2, 0], ["cat", "dog", "cod"])
    table.to_parquet(str(tmp_path / "x.parquet"))
    assert packed(tmp_path / "x.parquet", tmp_path / "file") == ([2, 0], ["cat", "dog", "cod"])
    for path in ("out", "file"):
        dataset = bale.Dataset(tmp_path / path)
        assert json.loads(dataset[0]["json"]) == {"coarse": 1, "coarse.name": "fish"} and json.loads(dataset[1]["json"]) == {"coarse": None}
    assert packed(table, tmp_path / "again", classes=["cod", "cat", "dog"])[0] == [0, 1]


def test_the_detection_layout_of_the_hub(tmp_path):
    datasets = pytest.importorskip("datasets")
    sequence = getattr(datasets, "Sequence", None) or datasets.List
    features = datasets.Features({"image": datasets.Image(), "objects": sequence({
        "bbox": sequence(datasets.Value("float32"), 4), "category": datasets.ClassLabel(names=["mask", "glove"])})})
    table = rows_of(features, [{"image": png(0), "objects": {"bbox": [[0, 1, 2, 3], [1, 1, 2, 2]], "category": [1, 0]}}])
    assert packed(table, tmp_path / "out")[1] == ["mask", "glove"]
    loader = bale.Loader(tmp_path / "out", 1, shuffle=False, workers=0, transform=bale.transforms.Compose([bale.transforms.CenterCrop((8, 9))]),
                         fields={"boxes": bale.Field("objects.json", kind="boxes")})
    batch = next(iter(loader))
    assert batch.fields.labels("boxes")[0].tolist() == [1, 0]


def test_parquet_keeps_classes_of_boxes_and_holes(tmp_path):
    datasets = pytest.importorskip("datasets")
    boxes = [("a", {"png": PIXELS[0], "boxes.json": {"boxes": [[0, 0, 1, 1]], "labels": [2]}}, None)]
    holes = [("a", {"png": PIXELS[0]}, 0), ("b", {"png": PIXELS[1]}, 3)]
    for name, samples in (("boxes", boxes), ("holes", holes)):
        before = packed(samples, tmp_path / name, classes=["cat", "", "", "dog"] if name == "holes" else ["cat", "", "dog"])
        files = bale.to_parquet(tmp_path / name, tmp_path / f"{name}_files")
        assert packed(bale.parquet.samples(files), tmp_path / f"{name}_back") == before
        loaded = datasets.load_dataset("parquet", data_files=files, cache_dir=str(tmp_path / "cache"), split="train")
        assert loaded.num_rows == len(samples)
        if name == "holes":
            assert [loaded.features["label"].int2str(row["label"]) for row in loaded] == ["cat", "dog"]


def test_numbers_without_a_class_in_two_datasets(tmp_path):
    """Read as one, they are not a class that both have."""
    for name, classes in (("a", ["cat", "", "", "dog"]), ("b", ["dog", "", "emu"])):
        packed([(PIXELS[0], 0), (PIXELS[1], len(classes) - 1)], tmp_path / name, classes=classes)
    dataset = bale.Dataset(f"{tmp_path}/a::{tmp_path}/b")
    assert [dataset.classes[dataset.label(i)] for i in range(4)] == ["cat", "dog", "dog", "emu"] and "" not in dataset.classes


def test_samples_without_a_label_next_to_labeled_ones_are_said(tmp_path):
    with pytest.warns(UserWarning, match="^1 of 3 samples have no label$"):
        packed([(PIXELS[0], 1), (PIXELS[1], None), (PIXELS[2], 0)], tmp_path / "a")
    with pytest.warns(UserWarning, match="^2 of 4 samples have no label$"), bale.Writer(tmp_path / "many") as writer:
        writer.add("x", {"png": PIXELS[0], "cls": 3})
        writer.add("y", {"png": PIXELS[0]})
        writer.add_many(["z", "w"], {"png": PIXELS[:2]}, labels=[None, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        packed([(PIXELS[0], None), (PIXELS[1], None)], tmp_path / "none")
        packed([("x", {"png": PIXELS[0], "cls": 3}), ("y", {"png": PIXELS[0]}, 2)], tmp_path / "all")
