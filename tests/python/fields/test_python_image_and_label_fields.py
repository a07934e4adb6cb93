"""Samples whose image and label have names of their own, `image.jpg` and `label.cls`, as in WebDataset tars of the Hub."""
import io
import pickle

import numpy as np
import pytest
from conftest import write_tar
from fields_support import jpeg
from torch_support import torch  # noqa: F401 - a fixture

import bale as bl
from bale import transforms

COUNT = 20
FIELDS = bl.Reading("image.jpg", "label.cls")
OPTIONS = {"seed": 5, "transform": transforms.val(16, resize=16)}
LABELS = {i: i % 7 for i in range(COUNT)} | {3: -1, 4: None}  # None: the sample has no such field


def members(labels=LABELS):
    for i in range(COUNT):
        yield f"s{i:03}.image.jpg", jpeg(i)
        if labels[i] is not None:
            yield f"s{i:03}.label.cls", f" {labels[i]}\n".encode()


@pytest.fixture(scope="module")
def tars(tmp_path_factory):
    """Two tars without an index; the fields of the second are in another order."""
    root = tmp_path_factory.mktemp("tars")
    first, second = list(members())[:19], sorted(list(members())[19:], reverse=True)  # ten samples each
    write_tar(root / "a.tar", first)
    write_tar(root / "b.tar", second)
    return root


@pytest.fixture(scope="module", params=["scanned", "indexed", "compressed", "tfrecord"])
def spec(request, bale, tars, tmp_path_factory):
    if request.param == "scanned":
        return [tars / "a.tar", tars / "b.tar"]
    root = tmp_path_factory.mktemp(request.param)
    options = {"indexed": ["--format", "tar"], "compressed": ["--compress", "zstd"], "tfrecord": ["--format", "tfrecord"]}
    bale.ok("convert", f"{tars}/{{a,b}}.tar", root / "packed", *options[request.param])
    return root / "packed"


def load(spec, **options):
    return bl.Loader(spec, 6, **{"workers": 0, **OPTIONS, **options})


@pytest.mark.parametrize("options", [{}, {"shuffle": False}, {"shuffle": False, "transform": transforms.raw()},
                                     {"order": bl.Order(subset=[1, 2])}], ids=str)
@pytest.mark.parametrize("on_bad_sample", ["fail", "skip", "substitute"])
def test_a_loader_without_images_is_refused(spec, options, on_bad_sample):
    """It gave batches of zeros with on_bad_sample="skip"."""
    with pytest.raises(ValueError) as caught:
        load(spec, on_bad_sample=on_bad_sample, **options)
    text = str(caught.value)
    assert "no sample has a field with an image's name" in text and "image.jpg" in text and "label.cls" in text and "field=" in text


@pytest.mark.parametrize("option", ["field", "label_field"])
def test_fields_that_no_sample_has(spec, option):
    with pytest.raises(ValueError, match=f'{option}: no sample has the field "other"; the dataset has .*image.jpg'):
        load(spec, reading=bl.Reading(**{"field": "image.jpg", option: "other"}), on_bad_sample="skip")


def test_one_sample_names_its_fields(spec):
    with pytest.raises(bl.Error, match="sample has no image field; it has image.jpg, label.cls.*field="):
        bl.Dataset(spec).read_image(0)


@pytest.mark.parametrize("how", [{"workers": 2}, {"workers": 2, "threads": True}, {}, {"shuffle": False}], ids=str)
def test_labels_come_from_their_field(spec, how):
    dataset = bl.Dataset(spec)
    expected = {key: label for key, label in ((f"s{i:03}", LABELS[i]) for i in range(COUNT))}
    with load(spec, reading=FIELDS._replace(no_label=-9), tail="uneven", **how) as loader:
        copy = pickle.loads(pickle.dumps(loader))
        seen = {}
        for batch in loader:
            seen.update(zip(batch.keys, batch.labels.tolist(), strict=True))
            assert batch.mask.all() and np.asarray(batch.images).any(axis=(1, 2, 3)).all()
        assert seen == {key: -9 if label is None else label for key, label in expected.items()} and len(dataset) == COUNT
        with copy:
            assert {key: label for batch in copy for key, label in zip(batch.keys, batch.labels.tolist())} == seen


def test_a_label_that_is_none_is_a_bad_sample(tmp_path):
    write_tar(tmp_path / "a.tar", members({**LABELS, 5: "cat", 6: "1.5", 7: "8.0"}))
    with load(tmp_path / "a.tar", reading=FIELDS, on_bad_sample="skip") as loader:
        labels = {key: label for batch in loader for key, label, counts in zip(batch.keys, batch.labels.tolist(), batch.mask) if counts}
        assert labels["s007"] == 8 and {bad.key for bad in loader.bad_samples} == {"s005", "s006"}
        assert all("field label.cls: " in bad.reason and "is not a whole number, so no label" in bad.reason for bad in loader.bad_samples)


@pytest.mark.parametrize("name", ["label.json", "label.npy"])
def test_a_label_that_is_a_list_of_one_number(tmp_path, name, torch):  # noqa: F811
    """As datasets of arrays and of JSON have it, and as `where` takes it."""
    def stored(number):
        if name == "label.json":
            return f"[{number}]".encode()
        file = io.BytesIO()
        np.save(file, np.array([number], ">i8" if number else "i4"))
        return file.getvalue()

    write_tar(tmp_path / "a.tar", [member for i in range(COUNT) for member in ((f"s{i:03}.image.jpg", jpeg(i)), (f"s{i:03}.{name}", stored(i % 7)))])
    with load(tmp_path / "a.tar", reading=bl.Reading("image.jpg", name)) as loader:
        assert {key: label for batch in loader for key, label in zip(batch.keys, batch.labels.tolist())} == {f"s{i:03}": i % 7 for i in range(COUNT)}
    torch("""
    import sys
    import bale.torch as bt
    dataset = bt.Dataset(sys.argv[1], field="image.jpg", label_field=sys.argv[2])
    assert [dataset[i][1] for i in range(20)] == [i % 7 for i in range(20)]
    """, tmp_path / "a.tar", name)


def test_a_label_field_of_merged_classes_is_refused(bale, photos, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for number, folder in enumerate(sorted(photos.iterdir())[(name == "two"):2 + (name == "two")]):
            (tmp_path / name / folder.name).symlink_to(folder)
        bale.pack(tmp_path / name, tmp_path / f"{name}.packed")
    with pytest.raises(ValueError, match="label_field: classes of several datasets are merged"):
        load([tmp_path / "one.packed", tmp_path / "two.packed"], reading=bl.Reading(label_field="cls"))
    with load(tmp_path / "one.packed", reading=bl.Reading(label_field="cls")) as named, load(tmp_path / "one.packed") as plain:
        assert [batch.labels.tolist() for batch in named] == [batch.labels.tolist() for batch in plain]


def test_with_torch(tars, torch):  # noqa: F811
    torch("""
    import sys
    import bale, bale.torch as bt
    from torch.utils import data
    SPEC = sys.argv[1:3]
    labels = [i % 7 for i in range(20)]
    labels[3], labels[4] = -1, -100
    options = {"transform": bale.transforms.val(16, resize=16), "workers": 0, "shuffle": False, "with_samples": True}
    raises(ValueError, "no sample has a field with an image's name", lambda: bt.Loader(SPEC, on_bad_sample="skip", **options))
    def of_loader(given, **more):
        return {key: label for _, found, samples in bt.Loader(given, 8, **options, **more) for key, label in zip(samples.keys, found.tolist())}
    dataset = bt.Dataset(SPEC, field="image.jpg", label_field="label.cls")
    keys = dataset.samples.keys
    expected = {key: labels[int(key[1:])] for key in keys}
    assert of_loader(SPEC, reading=bale.Reading("image.jpg", "label.cls")) == expected
    assert of_loader(dataset) == expected
    pair = bt.Dataset(SPEC, fields=("image.jpg", "label.cls"))
    assert of_loader(pair) == expected
    fields = bale.Reading("image.jpg", "label.cls")
    some = bt.Loader(SPEC, 8, reading=fields, order=bale.Order(subset=[5, 3]), **options).dataset
    assert some.targets == [expected[keys[i]] for i in (5, 3)] and some.num_classes == 7 and len(some) == 2
    for made in (dataset, pair, bt.Loader(dataset, 8, **options).dataset, bt.Loader(SPEC, 8, reading=fields, **options).dataset):
        assert made.targets == [expected[key] for key in keys] and (made.num_classes, made.classes, made.class_to_idx) == (7, [], {})
    part = data.Subset(dataset, [3, 5])
    assert of_loader(part) == {keys[i]: expected[keys[i]] for i in (3, 5)}
    for decode in ("pil", "tensor", "bytes"):
        made = bt.Dataset(SPEC, field="image.jpg", label_field="label.cls", decode=decode)
        assert [made[i][1] for i in range(20)] == [expected[key] for key in keys]
    stream = bt.IterableDataset(SPEC, field="image.jpg", label_field="label.cls", shuffle=False, transform=len, decode="bytes")
    assert [label for _, label in stream] == [expected[key] for key in keys]
    image, (label, text) = bt.Dataset(SPEC, fields=("image.jpg", "label.cls", "__key__"))[0]
    assert label == expected[text]
    raises(ValueError, "no sample has 'other'", lambda: bt.Dataset(SPEC, field="image.jpg", label_field="other"))
    raises(ValueError, "contradicts", lambda: bt.Loader(dataset, reading=bale.Reading(label_field="cls"), **options))
    raises(KeyError, "it has image.jpg, label.cls", lambda: bt.Dataset(SPEC)[0])
    """, tars / "a.tar", tars / "b.tar")


def test_labels_of_mixed_images_and_substitutes(tmp_path):
    labels = {i: i % 7 for i in range(COUNT)} | {4: None, 9: "no label"}
    write_tar(tmp_path / "a.tar", members(labels))
    options = {"reading": FIELDS._replace(no_label=-9), "tail": "uneven"}
    expected = {f"s{i:03}": -9 if label is None else label for i, label in labels.items()}
    with load(tmp_path / "a.tar", on_bad_sample="substitute", **options) as loader:
        keys = [key for _ in range(3) for batch in loader for key, label in zip(batch.keys, batch.labels.tolist()) if expected[key] == label]
        assert len(keys) == 3 * COUNT and "s009" not in keys and {bad.key for bad in loader.bad_samples} == {"s009"}
    mixed = {**OPTIONS, "transform": transforms.val(16, resize=16, dtype="float32"), "mix": transforms.Mix(mixup=0.5)}
    with load(tmp_path / "a.tar", on_bad_sample="skip", **options, **mixed) as loader:
        for batch in loader:
            assert batch.partner_labels.tolist() == [batch.labels[partner] for partner in batch.partners]
            assert all(expected[key] == label for key, label, counts in zip(batch.keys, batch.labels.tolist(), batch.mask) if counts)
