"""Parquet and Arrow files that Hugging Face's datasets wrote, and what bale.pack() and bale.parquet.samples() make of them."""
import contextlib
import io
import os
import shutil
import warnings

import numpy as np
import pytest
from parquet_support import (  # noqa: F401
    ROWS,
    array_of,
    check_packed,
    datasets,
    encoded,
    pa,
    pictures,
    pq,
    whole,
    write,
    written,
)
from python_support import run_script
from remote_support import Hub, clean_environment, serve  # noqa: F401

import bale


@pytest.mark.parametrize("kind", ["parquet", "saved", "hub", "cache", "arrow", "glob"])
def test_every_kind_of_source_gives_the_same_samples(written, tmp_path, kind):
    report = bale.pack(written[kind], tmp_path / "out", shard_samples=3, format="lmdb")
    assert (report["samples"], report["shards"], report["missing_images"]) == (7, 3, 0)
    check_packed(tmp_path / "out")


def test_a_list_of_files_and_chosen_columns(written, tmp_path):
    samples = bale.parquet.samples(written["stream"], image="mask", label=None, key=None, columns=["blob", "score"])
    bale.pack(samples, tmp_path / "out")
    dataset = bale.Dataset(tmp_path / "out")
    assert list(dataset.keys) == [f"{i:08d}" for i in range(7)] and dataset[2] == {"json": b'{"score": 2.0}'}
    assert dataset[5] == {"png": ROWS[5]["mask"]["bytes"], "cls": b"2", "blob": b"\0\xff5", "json": b'{"score": 1.25}'}
    assert bale.pack([written["parquet"], str(written["arrow"])], tmp_path / "two", on_error="skip")["samples"] == 14
    for wrong in ({"image": "none"}, {"label": "none"}, {"key": "none"}, {"columns": ["none"]}):
        with pytest.raises(ValueError, match="no column 'none'; there are label, image"):
            bale.parquet.samples(written["parquet"], **wrong)
    with pytest.raises(ValueError, match="missing: 'no'"):
        bale.parquet.samples(written["parquet"], missing="no")


def test_datasets_in_memory(whole, tmp_path):
    numbers = [f"{i:08d}" for i in range(7)]
    bale.pack(whole, tmp_path / "map", format="lmdb")
    check_packed(tmp_path / "map", keys=numbers)
    bale.pack(whole.to_iterable_dataset(), tmp_path / "stream", format="lmdb")
    check_packed(tmp_path / "stream", keys=numbers)
    bale.pack(whole.select([5, 0, 2]), tmp_path / "selected", format="lmdb")
    check_packed(tmp_path / "selected", [5, 0, 2], keys=numbers[:3])
    with pytest.raises(ValueError, match="a transform changes its rows"):
        bale.pack(whole.with_transform(lambda rows: rows), tmp_path / "none")


def test_splits(whole, written, tmp_path):
    folder = tmp_path / "dict"
    datasets.DatasetDict({"train": whole, "test": whole.select(range(3))}).save_to_disk(folder)
    assert {name: len(files) for name, files in bale.parquet.splits(folder).items()} == {"train": 1, "test": 1}
    report = bale.pack(folder, tmp_path / "out", format="lmdb")
    assert report["samples"] == 10 and [output["samples"] for output in report["outputs"]] == [7, 3]
    check_packed(tmp_path / "out" / "train")
    check_packed(tmp_path / "out" / "test", range(3))
    with pytest.raises(ValueError, match="several splits .train, test."):
        bale.parquet.samples(folder)
    with pytest.raises(ValueError, match="no split 'val'; there are 'train', 'test'"):
        bale.parquet.samples(folder, split="val")
    with pytest.raises(ValueError, match="one of several datasets, with the splits test, train"):
        for name in ("test", "train"):
            (tmp_path / "configs" / "default").mkdir(parents=True, exist_ok=True)
            shutil.copy(written["parquet"], tmp_path / "configs" / "default" / f"{name}-00000-of-00001.parquet")
        bale.parquet.splits(tmp_path / "configs")
    hub = tmp_path / "hub"
    for split in ("train", "validation"):
        (hub / split).mkdir(parents=True)
        shutil.copy(written["parquet"], hub / split / "0000.parquet")
    assert list(bale.parquet.splits(hub)) == ["train", "validation"]
    for files in (tmp_path / "configs" / "default" / "*.parquet", [hub / "train" / "0000.parquet", hub / "validation" / "0000.parquet"]):
        with pytest.warns(UserWarning, match="several splits by their names .1 of t.*and are read as one dataset"):
            bale.parquet.samples(files, key=None)
    assert bale.pack(hub, tmp_path / "both")["samples"] == 14
    for split, names in (("train", ["a", "b"]), ("validation", ["b", "a"])):
        features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=names)})
        table = datasets.Dataset.from_dict({"image": [{"bytes": encoded(0), "path": None}], "label": [0]}, features=features)
        table.to_parquet(hub / split / "0000.parquet")
    with pytest.warns(UserWarning, match="the classes of validation are not those of train"):
        bale.pack(hub, tmp_path / "other")


@pytest.mark.parametrize("columns, keys", [
    ({"image": pictures("a/x.1.jpg", "a/y.png", "z")}, ["a/x.1", "a/y", "z"]),
    ({"image": pictures("/root/a.jpg", "https://host/b.jpg", "./c.jpg")}, ["a", "b", "c"]),
    ({"image": pictures("x.jpg", "x.png", "y.jpg")}, ["00000000", "00000001", "00000002"]),  # the same key twice
    ({"image": pictures("x.jpg", None, "y.jpg"), "text": ["a", "b", "c"]}, ["00000000", "00000001", "00000002"]),
    ({"image": pictures("x.jpg", "y.jpg", "z.jpg"), "key": ["3", "2", "1"]}, ["3", "2", "1"]),
    ({"image": pictures("x.jpg", "y.jpg", "z.jpg"), "key": ["3", "2", "3"]}, ["x", "y", "z"]),
    ({"image": pictures("x.jpg", "y.jpg", "z.jpg"), "key": ["3", "../2", "1"], "__key__": ["p", "q", "r"]}, ["p", "q", "r"])])
def test_keys(tmp_path, columns, keys):
    bale.pack(write(tmp_path / "x.parquet", columns), tmp_path / "out", format="lmdb")  # tar encodes dots
    dataset = bale.Dataset(tmp_path / "out")
    assert list(dataset.keys) == keys
    assert ("key.txt" in dataset.fields) == ("key" in columns and keys != ["3", "2", "1"])  # no column is lost


def test_a_chosen_column_of_keys(tmp_path):
    name = write(tmp_path / "x.parquet", {"image": pictures("x.jpg", "y.jpg"), "id": [7, 8], "twice": ["a", "a"], "none": ["a", None]})
    bale.pack(bale.parquet.samples(name, key="id"), tmp_path / "out")
    assert list(bale.Dataset(tmp_path / "out").keys) == ["7", "8"]
    with pytest.raises(ValueError, match="a"):
        bale.pack(bale.parquet.samples(name, key="twice"), tmp_path / "twice")
    with pytest.raises(ValueError, match="row 1: None of the column 'none' is not a key"):
        bale.pack(bale.parquet.samples(name, key="none"), tmp_path / "none")


def test_labels(tmp_path):
    name = write(tmp_path / "x.parquet", {"image": pictures("x.jpg", "y.jpg", "z.jpg"), "label": [4, None, -1], "breed": ["pug", "cat", None]})
    bale.pack(name, tmp_path / "numbers")
    dataset = bale.Dataset(tmp_path / "numbers")
    assert [dataset.label(i) for i in range(3)] == [4, None, -1] and dataset.classes == [] and dataset[0]["breed.txt"] == b"pug"
    bale.pack(bale.parquet.samples(name, label="breed"), tmp_path / "names")
    dataset = bale.Dataset(tmp_path / "names")
    assert dataset.classes == ["cat", "pug"] and [dataset.label(i) for i in range(3)] == [1, 0, None]
    assert dataset[0]["json"] == b'{"label": 4}'


def test_several_labels_and_several_images_of_a_row(tmp_path):
    """Lists of classes keep the names of the classes, and rows need no image but those of a list."""
    views = [[{"bytes": encoded(i + n), "path": None} for n in range(2)] for i in range(2)]
    features = datasets.Features({"views": datasets.List(datasets.Image()), "tags": datasets.List(datasets.ClassLabel(names=["cat", "dog"]))})
    table = datasets.Dataset.from_dict({"views": views, "tags": [[0, 1], [1]]}, features=features)
    table.to_parquet(tmp_path / "x.parquet")
    for source in (tmp_path / "x.parquet", table):
        bale.pack(source, tmp_path / "out", overwrite=True, name="x")
        dataset = bale.Dataset(tmp_path / "out")
        assert dataset.classes == ["cat", "dog"] and dataset[1] == {
            "views.0.jpg": encoded(1), "views.1.jpg": encoded(2), "tags.npy": array_of([1], "int64", 1)}


def detection(names, key):
    features = datasets.Features({"image": datasets.Image(), "objects": datasets.List(
        {"bbox": datasets.List(datasets.Value("float32"), length=4), "category": datasets.ClassLabel(names=names)})})
    rows = [{"image": {"bytes": encoded(0), "path": f"{key}.jpg"}, "objects": [{"bbox": [1, 2, 3, 4], "category": 1}]}]
    return datasets.Dataset.from_list(rows, features=features)


def test_numbers_of_classes_inside_of_columns_are_not_merged(tmp_path):
    """Numbers in `objects` are those of the pack's own classes: packs of other classes are not read as one."""
    for name, names in (("a", ["cat", "dog"]), ("b", ["dog", "cat"]), ("c", ["cat", "dog", "emu"])):
        bale.pack(detection(names, name), tmp_path / name)
    for one in (tmp_path / "b", tmp_path / "b" / "b-000000.tar"):
        with pytest.raises(ValueError, match='class "dog" has the number 0 and would get 1 .* the field objects.json has the old numbers'):
            bale.Dataset([tmp_path / "a", one])
    with pytest.raises(ValueError, match="whose field objects.json has numbers of classes inside"):
        bale.add(tmp_path / "a", tmp_path / "b")
    assert len(bale.Dataset([tmp_path / "a", tmp_path / "c"])) == 2  # numbers that stay


def test_numbers_of_classes_inside_of_columns_stay(tmp_path):
    """`classes` renumbers labels, and nothing inside of a column."""
    detection(["cat", "dog"], "a").to_parquet(tmp_path / "x.parquet")
    for source in (detection(["cat", "dog"], "a"), tmp_path / "x.parquet"):
        for classes in (["dog", "cat"], ["cat"]):
            with pytest.raises(ValueError, match="columns have the old ones inside"):
                bale.pack(source, tmp_path / "out", classes=classes)
        bale.pack(source, tmp_path / "out", classes=["cat", "dog", "emu"], overwrite=True)
    assert bale.Dataset(tmp_path / "out").classes == ["cat", "dog", "emu"]


def test_names_of_classes_that_are_not_kept_are_told(tmp_path):
    named = detection(["cat", "dog"], "a").add_column("label", [0]).cast_column("label", datasets.ClassLabel(names=["x"]))
    named.to_parquet(tmp_path / "x.parquet")
    for source in (named, tmp_path / "x.parquet"):
        with pytest.warns(UserWarning, match="the names of the classes inside of 'objects' are not kept"):
            bale.pack(source, tmp_path / "out", overwrite=True)


@pytest.mark.parametrize("objects, is_told", [
    ({"bbox": [[1, 2, 3, 4]], "category": ["cat"]}, True), ([{"bbox": [1, 2, 3, 4], "class_number": 3}], True), ({"bbox": [[1, 2, 3, 4]], "area": [9]}, False),
    ([{"bbox": [1, 2, 3, 4], "category": "cat", "category_id": 3}], False), ({"labels": [3]}, False)])
def test_boxes_without_numbers_of_classes_are_told(tmp_path, objects, is_told):
    name = write(tmp_path / "x.parquet", {"image": pictures("x.jpg"), "objects": [objects]})
    with pytest.warns(UserWarning, match="boxes in 'objects' have no numbers of classes") if is_told else contextlib.nullcontext():
        with warnings.catch_warnings():
            warnings.simplefilter("default" if is_told else "error")
            bale.pack(name, tmp_path / "out")


def test_images_that_features_call_structs(tmp_path):
    """As after Dataset.from_parquet() of what another writer wrote."""
    values = {"data": [{"bytes": b"%d" % i, "path": "a"} for i in range(2)], "image": [{"bytes": encoded(i), "path": f"{i}.jpg"} for i in range(2)]}
    datasets.Dataset.from_dict(values).to_parquet(tmp_path / "x.parquet")
    bale.pack(bale.parquet.samples(tmp_path / "x.parquet", columns=[]), tmp_path / "out")
    assert dict(zip(bale.Dataset(tmp_path / "out").keys, bale.Dataset(tmp_path / "out"), strict=True)) == {f"{i}": {"jpg": encoded(i)} for i in range(2)}


def test_a_column_of_texts_that_is_named_like_a_label_is_said(tmp_path):
    images = pictures("x.jpg", "y.jpg")
    texts = write(tmp_path / "a.parquet", {"image": images, "label": ["cat", "dog"]})
    numbers = write(tmp_path / "b.parquet", {"image": images, "label": [0, 1]})
    with pytest.warns(UserWarning, match=r"a.parquet: no sample has a label: the column 'label' stays a field.*label='label'"):
        bale.pack(texts, tmp_path / "texts")
    with pytest.warns(UserWarning, match="2 of 4 samples have no label"):
        bale.pack([texts, numbers], tmp_path / "both")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bale.pack(numbers, tmp_path / "numbers")
        bale.pack(bale.parquet.samples(texts, label="label"), tmp_path / "named")
    assert bale.Dataset(tmp_path / "named").classes == ["cat", "dog"]


def test_a_label_may_be_floats_that_are_whole(tmp_path):
    """As pandas writes integers of which one is missing; the warning of such a column says to name it."""
    name = write(tmp_path / "a.parquet", {"image": pictures("x.jpg", "y.jpg", "z.jpg"), "label": [3.0, float("nan"), 0.0]})
    with pytest.warns(UserWarning, match="the column 'label' stays a field.*label='label'"):
        bale.pack(name, tmp_path / "kept")
    bale.pack(bale.parquet.samples(name, label="label"), tmp_path / "named")
    packed = bale.Dataset(tmp_path / "named")
    assert [packed.label(i) for i in range(3)] == [3, None, 0]
    write(tmp_path / "a.parquet", {"image": pictures("x.jpg"), "label": [0.5]})
    with pytest.raises(bale.errors.ArgumentError, match="0.5 is not a class number"):
        bale.pack(bale.parquet.samples(name, label="label"), tmp_path / "bad")


def test_rows_without_an_image(tmp_path):
    name = write(tmp_path / "x.parquet", {"image": pictures("x.jpg", None, "z.jpg"), "text": ["a", "b", "c"]})
    bale.pack(name, tmp_path / "kept")
    assert [set(sample) for sample in bale.Dataset(tmp_path / "kept")] == [{"jpg", "text.txt"}, {"text.txt"}, {"jpg", "text.txt"}]
    samples = bale.parquet.samples(name, missing="skip")
    with pytest.warns(UserWarning, match="left out 1 rows without an image"):
        report = bale.pack(samples, tmp_path / "skipped")
    assert (report["samples"], report["missing_images"], samples.num_missing) == (2, 1, 1)
    assert list(bale.Dataset(tmp_path / "skipped").keys) == ["00000000", "00000002"]
    labeled = write(tmp_path / "y.parquet", {"image": pictures("x.jpg", None), "label": [0, 1]})
    for number, source in enumerate((bale.parquet.samples(name, columns=[]), labeled)):
        with pytest.raises(ValueError, match="[xy].parquet: row 1 has no image, and no other field; `missing` \"skip\""):
            bale.pack(source, tmp_path / f"empty{number}")
    with pytest.raises(bale.Error, match="x.parquet: row 1 has no image") as failed:
        bale.pack(bale.parquet.samples(name, missing="fail"), tmp_path / "failed")
    assert failed.value.code == "damaged" and failed.value.path == str(name)


def test_the_output_of_img2dataset(tmp_path):
    """Its Parquet: the names and types of columns are those of its ParquetSampleWriter. A failed download has no image."""
    columns = {"key": ["000000000", "000000001", "000000002"], "jpg": [encoded(0), None, encoded(2)], "caption": ["a", "b", "c"],
               "status": ["success", "failed_to_download", "success"], "error_message": [None, "HTTP Error 404", None],
               "width": pa.array([6, None, 6], pa.int32()), "exif": ["{}", None, "{}"]}
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "00000.parquet", columns)
    (tmp_path / "in" / "00000_stats.json").write_text("{}")
    with pytest.warns(UserWarning, match="left out 1 rows"):
        report = bale.pack(tmp_path / "in", tmp_path / "out")
    assert (report["samples"], report["missing_images"]) == (2, 1)
    dataset = bale.Dataset(tmp_path / "out")
    assert list(dataset.keys) == ["000000000", "000000002"]
    assert dataset[1] == {"jpg": encoded(2), "caption.txt": b"c", "status.txt": b"success", "exif.txt": b"{}", "json": b'{"width": 6}'}


def test_images_next_to_the_table(tmp_path):
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    (tmp_path / "files").mkdir()
    for i in range(2):
        (tmp_path / "files" / f"{i}.jpg").write_bytes(encoded(i))
    values = [{"bytes": None, "path": "files/0.jpg"}, {"bytes": None, "path": str(tmp_path / "files" / "1.jpg")}]
    bale.pack(write(tmp_path / "x.parquet", {"image": pa.array(values, kind)}), tmp_path / "out")
    assert [sample["jpg"] for sample in bale.Dataset(tmp_path / "out")] == [encoded(0), encoded(1)]
    name = write(tmp_path / "paths.parquet", {"file": ["files/0.jpg", "files/1.jpg"]})
    bale.pack(bale.parquet.samples(name, image="file"), tmp_path / "paths")
    assert list(bale.Dataset(tmp_path / "paths").keys) == ["files/0", "files/1"]
    with pytest.raises(ValueError, match="no column of images; name it with bale.parquet.samples"):
        bale.pack(name, tmp_path / "none")
    for path, error, why in (("files/2.jpg", FileNotFoundError, "has no bytes of the image 'files/2.jpg', and the file cannot be read"),
                             ("../x.jpg", ValueError, "names the file '../x.jpg' outside of its directory; pack the files")):
        name = write(tmp_path / "bad.parquet", {"image": pa.array([{"bytes": None, "path": path}], kind)})
        with pytest.raises(error, match=why):
            bale.pack(name, tmp_path / "bad")


def test_what_cannot_be_a_sample(tmp_path):
    image = pictures("x.jpg", "y.jpg")
    for columns, why in [({"A": ["a", "b"], "a": ["c", "d"]}, "columns 'A' and 'a' would be fields of the same name"),
                         ({"a": ["a", "b"], "a.txt": ["c", "d"]}, "two columns give the field 'a.txt'"),
                         ({"a": pa.array([[b"x"], []])}, "column 'a' holds bytes inside of list<"),
                         ({"": ["a", "b"]}, "x.parquet: a column has no name: leave it out, with the columns to keep in `columns`"),
                         ({"a": pa.array([1, 10**7], pa.date32())}, "column 'a': date value out of range; leave it out"),
                         ({"a": pa.array([[1, None], []])}, "column 'a' has an array with a null inside")]:
        name = write(tmp_path / "x.parquet", {"image": image, **columns})
        with pytest.raises((ValueError, bale.Error), match=why):
            bale.pack(name, tmp_path / "bad")
        bale.pack(bale.parquet.samples(name, columns=[]), tmp_path / "good", overwrite=True)
    pq.write_table(pa.Table.from_arrays([image, pa.array(["a", "b"]), pa.array(["c", "d"])], names=["image", "a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="x.parquet: two columns are called 'a'"):
        bale.pack(tmp_path / "x.parquet", tmp_path / "bad")
    name = write(tmp_path / "x.parquet", {"image": image, "Label": [1, 0], "label": [5, 6]})
    with pytest.raises(ValueError, match="two columns are called 'Label' and 'label': name the right one with `label`"):
        bale.pack(name, tmp_path / "bad")
    features = datasets.Features({"label": datasets.Value("int64"), "of": datasets.ClassLabel(names=["a"]), "of.name": datasets.Value("int64")})
    datasets.Dataset.from_dict({"label": [0], "of": [0], "of.name": [2]}, features=features).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="column 'of.name' has the name under which the classes of 'of' are stored"):
        bale.pack(bale.parquet.samples(tmp_path / "x.parquet", label="label"), tmp_path / "bad")
    kind = image.type
    name = write(tmp_path / "x.parquet", {"image": pa.array([{"bytes": b"text", "path": "a.jpg"}, {"bytes": encoded(1), "path": "b.jpg"}], kind)})
    with pytest.raises(bale.Error, match=r"x.parquet: row 0: field jpg: not an image") as caught:
        bale.pack(name, tmp_path / "bad")
    assert caught.value.key == "a" and isinstance(caught.value, bale.errors.DamagedError)
    report = bale.pack(name, tmp_path / "skip", on_error="skip")
    assert report["samples"] == 1 and len(report["skipped"]) == 1


def test_memory_is_bounded(tmp_path):
    """A row group of 80 MB, as push_to_hub() with few rows per file may write."""
    image = encoded(0)
    rows = [image + os.urandom(1 << 20) for _ in range(80)]
    write(tmp_path / "x.parquet", {"image": pa.array(rows, pa.binary())}, compression="none", use_dictionary=False, row_group_size=80,
          write_batch_size=1)
    del rows
    out = run_script("""
        import sys
        import bale, pyarrow
        for name in sys.argv[1:]:
            assert sum(1 for _ in bale.parquet.samples(name)) == 80
        print(pyarrow.default_memory_pool().max_memory() >> 20)
        """, tmp_path / "x.parquet")
    assert int(out) < 60


def test_directories_of_images_stay_folders(photos, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    write(folder / "metadata.parquet", {"file_name": ["a.jpg"]})
    assert bale.pack(folder, tmp_path / "out")["samples"] == 40


def test_the_program_says_what_to_do(bale, written, tmp_path):  # noqa: F811 - the program, not the package
    for name in (written["parquet"], written["glob"], written["arrow"], written["hub"] / "data", written["saved"]):
        line = bale("pack", name, tmp_path / "out").error_line()
        assert "file, which only the Python package reads" in line and 'in Python: bale.pack("' in line
    assert "a Parquet file" in bale("ls", written["parquet"]).error_line()


def test_remote_files(written, serve, tmp_path):  # noqa: F811
    (tmp_path / "www").mkdir()
    shutil.copy(written["parquet"], tmp_path / "www" / "rows.parquet")
    shutil.copy(written["arrow"], tmp_path / "www" / "file.arrow")
    (tmp_path / "www" / "cut.parquet").write_bytes(written["parquet"].read_bytes()[:5000])
    server = serve(tmp_path / "www")
    run_script("""
        import io, os, pickle, sys, zipfile
        import bale
        url, out = sys.argv[1:]
        for name in ("rows.parquet", "file.arrow"):
            assert bale.pack(f"{url}/{name}", f"{out}/{name}", format="lmdb")["samples"] == 7
        with bale.open_file(f"{url}/rows.parquet") as file:
            assert file.seek(-4, os.SEEK_END) == file.size() - 4 and file.read(100) == b"PAR1" and file.read(1) == b""
            copy = pickle.loads(pickle.dumps(file))
            assert copy.tell() == file.size() and copy.seek(0) == 0 and io.BufferedReader(copy).read(4) == b"PAR1"
        try:
            bale.pack(f"{url}/cut.parquet", f"{out}/cut")
        except bale.Error as error:
            assert error.code == "damaged" and "cut.parquet: header" in str(error), error
        else:
            raise SystemExit("no error")
        try:
            bale.pack(f"{url}/nothing.parquet", f"{out}/nothing")
        except FileNotFoundError as error:
            assert "nothing.parquet" in str(error), error
        else:
            raise SystemExit("no error")
        """, server.url, tmp_path, **clean_environment(tmp_path / "cache"))
    for name in ("rows.parquet", "file.arrow"):
        check_packed(tmp_path / name)


def test_a_dataset_of_the_hub(written, tmp_path):
    """Its Parquet files are listed, with a token, and read from another host."""
    (tmp_path / "www").mkdir()
    shutil.copytree(written["hub"] / "data", tmp_path / "www" / "data")
    shutil.copy(written["parquet"], tmp_path / "www" / "data" / "test-00000-of-00001.parquet")
    with contextlib.closing(Hub(tmp_path / "www")) as hub:
        run_script("""
            import sys
            import bale
            name, out = sys.argv[1:]
            splits = bale.parquet.splits(name)
            assert {split: len(files) for split, files in splits.items()} == {"test": 1, "train": 2}, splits
            bale.pack(bale.parquet.samples(name, split="train"), out + "/train", format="lmdb")
            bale.pack(name + "@v1/data/test-*.parquet", out + "/test", format="lmdb")
            for place, name in (("whole", name), ("folder", name + "@v1/data/")):
                report = bale.pack(name, f"{out}/{place}", format="lmdb")
                assert report["samples"] == sum(len(bale.Dataset(f"{out}/{place}/{split}")) for split in ("test", "train")), report
            try:
                bale.pack(name.replace("data/", "none"), out + "/none")
            except bale.Error as error:
                assert "none" in str(error), error
            else:
                raise SystemExit("no error")
            """, f"hf://datasets/{hub.OWNER}/{hub.NAME}", tmp_path, **{**clean_environment(tmp_path / "cache"), **hub.env})
    for place in ("train", "test", "whole/train", "whole/test", "folder/train", "folder/test"):
        check_packed(tmp_path / place)


def test_open_file(tmp_path):
    (tmp_path / "x").write_bytes(bytes(range(100)))
    with bale.open_file(tmp_path / "x") as file:
        assert file.read(3) == b"\0\1\2" and file.tell() == 3 and file.seek(5, os.SEEK_CUR) == 8
        place = bytearray(4)
        assert file.readinto(place) == 4 and place == bytes([8, 9, 10, 11])
        assert len(file.read()) == 88 and file.readinto(place) == 0 and file.seek(1000) == 1000 and file.read() == b""
        assert file.readable() and file.seekable() and not file.writable()
        with pytest.raises(ValueError, match="before the start"):
            file.seek(-1)
        with pytest.raises(ValueError, match="whence: 9"):
            file.seek(0, 9)
    with pytest.raises(ValueError, match="closed"):
        file.read()
    with pytest.raises(FileNotFoundError):
        bale.open_file(tmp_path / "y")


def test_types_of_other_writers(tmp_path):
    """Large and view types, dictionaries, a pandas index, notes of webdataset's reader."""
    image = pa.array([{"bytes": encoded(i), "path": f"{i}.jpg"} for i in range(2)], pa.struct([("bytes", pa.large_binary()), ("path", pa.large_string())]))
    columns = {"image": image, "a": pa.array(["x", "y"]).dictionary_encode(), "b": pa.array(["x", None], pa.large_string()),
               "c": pa.array([b"x", b"y"], pa.binary_view()), "d": pa.array(["x", "y"], pa.string_view()), "e": pa.array([[True], []]),
               "f": pa.array([{"x": 1}, None]), "g": pa.array([1, None], pa.uint8()), "__url__": ["u", "v"], "__index_level_0__": [0, 1]}
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as out, pa.ipc.new_stream(out, pa.table(columns).schema) as writer:
        writer.write_table(pa.table(columns))
    bale.pack(tmp_path / "x.arrow", tmp_path / "out")
    dataset = bale.Dataset(tmp_path / "out")
    assert dataset[0] == {"jpg": encoded(0), "a.txt": b"x", "b.txt": b"x", "c": b"x", "d.txt": b"x", "e.npy": array_of([True], np.bool_, 1),
                          "f.json": b'{"x": 1}', "json": b'{"g": 1}'}
    assert dataset[1] == {"jpg": encoded(1), "a.txt": b"y", "c": b"y", "d.txt": b"y", "e.npy": array_of([], np.bool_, 0), "json": b'{"g": null}'}


def test_values_that_python_would_change(tmp_path):
    """Nanoseconds of a time, also within others, tensors of a fixed shape, in any order of their axes, and 8-bit truths."""
    numbers = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    plain = pa.FixedShapeTensorArray.from_numpy_ndarray(numbers)
    turned = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [2, 3], permutation=[1, 0]), plain.storage)
    gap = pa.ExtensionArray.from_storage(plain.type, pa.array([None, [1, 2, 3, 4, 5, 6]], plain.storage.type))
    columns = {"image": pictures("x.jpg", "y.jpg"), "time": pa.array([1, 1000], pa.time64("ns")), "plain": plain, "turned": turned, "gap": gap,
               "inner": pa.array([[{"t": 1}], None], pa.list_(pa.struct([("t", pa.time64("ns"))]))),
               "coarse": pa.array([{"t": 1000}] * 2, pa.struct([("t", pa.time64("ns"))])), "truth": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8()))}
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as out, pa.ipc.new_stream(out, pa.table(columns).schema) as writer:
        writer.write_table(pa.table(columns))
    bale.pack(tmp_path / "x.arrow", tmp_path / "out")
    first, second = list(bale.Dataset(tmp_path / "out"))
    assert first["json"] == b'{"time": "00:00:00.000000001", "truth": true}' and second["json"] == b'{"time": "00:00:00.000001", "truth": null}'
    assert first["inner.json"] == b'[{"t": "00:00:00.000000001"}]' and first["coarse.json"] == b'{"t": "00:00:00.000001"}'
    assert [np.load(io.BytesIO(row["plain.npy"])).tolist() for row in (first, second)] == numbers.tolist()
    assert np.load(io.BytesIO(first["turned.npy"])).tolist() == turned.to_numpy_ndarray()[0].tolist()
    assert "gap.npy" not in first and np.load(io.BytesIO(second["gap.npy"])).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_structs_and_names_of_other_writers(tmp_path):
    """pandas writes a column of None as null, or leaves the member out; columns are called as people call them."""
    data = [encoded(0), encoded(1)]
    kinds = {"null path": [{"bytes": value, "path": None} for value in data], "no path": [{"bytes": value} for value in data],
             "fixed": pa.array([{"bytes": value} for value in data], pa.struct([("bytes", pa.large_binary())])),
             "order": pa.array([{"path": "x", "bytes": value} for value in data], pa.struct([("path", pa.string()), ("bytes", pa.binary())]))}
    names = {"Alt Text": "alt_text.txt", "größe": "größe.txt", "a/b c.d": "a_b_c.d.txt", "Temp.": "temp.txt", "a..b": "a.b.txt", "日本": "日本.txt"}
    for number, (kind, column) in enumerate(kinds.items()):
        file = write(tmp_path / f"{number}.parquet", {"image": column, **{name: [name, "y"] for name in names}, "more": column})
        for format in ("tar", "lmdb"):
            out = tmp_path / f"{number}{format}"
            bale.pack(file, out, format=format)
            dataset = bale.Dataset(out)
            wanted = {"jpg": data[0], "more.jpg": data[0], **{field: name.encode() for name, field in names.items()}}
            assert dataset[0] == wanted and dataset[1]["more.jpg"] == data[1], kind
        assert bale.pack(bale.Dataset(out), tmp_path / f"{number}again")["samples"] == 2
    paths = [{"bytes": None, "path": "x.jpg"}, {"bytes": None, "path": "y.jpg"}]  # of which no column has bytes
    for name, value in zip("xy", data):
        (tmp_path / f"{name}.jpg").write_bytes(value)
    bale.pack(write(tmp_path / "paths.parquet", {"image": paths}), tmp_path / "paths")
    assert list(bale.Dataset(tmp_path / "paths").keys) == ["x", "y"] and bale.Dataset(tmp_path / "paths")[1] == {"jpg": data[1]}


def test_the_cache_of_a_folder_of_images(photos, tmp_path):
    """Of which datasets stores only the paths."""
    made = datasets.load_dataset("imagefolder", data_dir=str(photos), cache_dir=str(tmp_path / "cache"), split="train")
    info, = (tmp_path / "cache").rglob("dataset_info.json")
    bale.pack(info.parent, tmp_path / "out")
    dataset = bale.Dataset(tmp_path / "out")
    assert len(dataset) == made.num_rows and dataset.classes == made.features["label"].names
    bale.pack(made, tmp_path / "memory")
    assert [dataset[i] for i in range(len(dataset))] == [sample for sample in bale.Dataset(tmp_path / "memory")]
    paths = [row["image"]["path"] for row in made.cast_column("image", datasets.Image(decode=False))]
    assert [dataset.read_image(i) for i in range(len(dataset))] == [open(path, "rb").read() for path in paths]


def test_without_pyarrow(written, tmp_path):
    """Names of files say what to install; a directory is left to the program, as before."""
    out = run_script("""
        import sys
        sys.modules["pyarrow"] = None
        import bale
        for call in (lambda: bale.pack(sys.argv[1], "x"), lambda: bale.parquet.samples(sys.argv[1]), lambda: bale.to_parquet("x", "y")):
            try:
                call()
            except ImportError as error:
                print(str(error).partition(" (")[0])
        """, written["parquet"])
    assert out.splitlines() == ["Parquet and Arrow files need pyarrow: pip install pyarrow"] * 3
