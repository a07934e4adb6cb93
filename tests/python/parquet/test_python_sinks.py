"""What is written from packed datasets for others: Parquet for Hugging Face's datasets, MDS for MosaicML Streaming."""
import ctypes
import errno
import io
import json
import os
import shutil
import sys

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
import numpy as np
import pytest
from conftest import REPO
from PIL import Image
from python_support import EXAMPLES_PYTHON, run_script

import bale

sys.path.insert(0, str(REPO / "tests" / "foreign"))
import make_mds  # noqa: E402

datasets, pq = pytest.importorskip("datasets"), pytest.importorskip("pyarrow.parquet")
CLASSES = ["cat", "dög"]


def encoded(number, kind="JPEG", mode="RGB"):
    out = io.BytesIO()
    Image.fromarray((np.arange(5 * 6 * 3).reshape(5, 6, 3) * 3 + number * 17).astype(np.uint8)).convert(mode).save(out, kind)
    return out.getvalue()


def fields_of(i):
    """Every kind of field; each has its own column."""
    return {"jpg": encoded(i), "mask.png": encoded(i, "PNG", "L"), "caption.txt": f"a dög {i}", "txt": "", "json": {"n": i},
            "meta.json": [i, "ö"], "embedding.npy": np.arange(i, dtype=np.float32), "blob": bytes(range(i)), "a.b.txt": "dots"}


def pack(path, samples, **options):
    bale.pack(samples, path, format="lmdb", **options)
    return bale.Dataset(path)


@pytest.fixture
def packed(tmp_path):
    samples = ((f"folder/x.{i}", fields_of(i), i % 2) for i in range(7))
    return pack(tmp_path / "packed", samples, classes=CLASSES)


@pytest.fixture
def uneven(tmp_path):
    """Samples that lack fields, labels and images; two images, PNGs as well as JPEGs; an empty field."""
    return pack(tmp_path / "uneven", [
        ("a", {"jpg": encoded(0), "png": encoded(1, "PNG"), "txt": "a"}, 1), ("b", {"png": encoded(2, "PNG"), "blob": b""}, None),
        ("c", {"txt": "no image"}, 0), ("d", {"jpg": encoded(3), "depth.png": encoded(4, "PNG"), "depth.txt": "d"}, None)], classes=CLASSES)


def samples_of(dataset):
    return {dataset.key(i): (dataset.label(i), dataset[i]) for i in range(len(dataset))}


@pytest.mark.parametrize("name", ["packed", "uneven"])
def test_parquet_comes_back_field_by_field(request, tmp_path, name):
    dataset = request.getfixturevalue(name)
    files = bale.to_parquet(dataset, tmp_path / "out", rows_per_file=3)
    assert [os.path.basename(file) for file in files] == [f"train-{i:05d}-of-{len(files):05d}.parquet" for i in range(len(files))]
    assert sorted(os.listdir(tmp_path / "out")) == [os.path.basename(file) for file in files] and len(files) == (len(dataset) + 2) // 3
    back = pack(tmp_path / "back", bale.parquet.samples(tmp_path / "out"))
    assert samples_of(back) == samples_of(dataset) and back.classes == CLASSES and list(back.keys) == list(dataset.keys)
    assert "cls" not in pq.read_schema(files[0]).names  # the label says it
    for file in files:  # their pages have checksums, which this compares
        pq.ParquetFile(file, page_checksum_verification=True).read()


def test_what_datasets_shows_of_it(packed, tmp_path):
    bale.to_parquet(packed, tmp_path / "out", split="test", file_size=len(encoded(0)) * 3)
    table = datasets.load_dataset("parquet", data_files={"test": str(tmp_path / "out" / "test-*.parquet")}, split="test",
                                  cache_dir=str(tmp_path / "cache"))
    kinds = {"image": datasets.Image(), "label": datasets.ClassLabel(names=CLASSES), "mask": datasets.Image(), "meta.json": datasets.Value("string"),
             "caption": datasets.Value("string"), "embedding.npy": datasets.Value("binary"), "blob": datasets.Value("binary")}
    assert {name: table.features[name] for name in kinds} == kinds
    assert table.features["label"].names == CLASSES and table.num_rows == 7
    for i, row in enumerate(table):
        fields = fields_of(i)
        assert np.array_equal(np.asarray(row["image"]), np.asarray(Image.open(io.BytesIO(fields["jpg"]))))
        assert np.array_equal(np.asarray(row["mask"]), np.asarray(Image.open(io.BytesIO(fields["mask.png"]))))
        assert (row["__key__"], row["label"], row["caption"], row["blob"]) == (f"folder/x.{i}", i % 2, f"a dög {i}", bytes(range(i)))
        assert json.loads(row["meta.json"]) == [i, "ö"] and np.array_equal(np.load(io.BytesIO(row["embedding.npy"])), fields["embedding.npy"])
    raw = table.cast_column("image", datasets.Image(decode=False))
    assert raw[3]["image"] == {"bytes": encoded(3), "path": "folder/x.3.jpg"}


def test_chosen_columns(packed, tmp_path):
    file, = bale.to_parquet(packed, tmp_path / "out", image_column="picture", label_column="kind", key_column=None, fields=["caption.txt"])
    assert pq.read_schema(file).names == ["picture", "kind", "caption"]
    with pytest.raises(ValueError, match="two columns would be called 'caption'"):
        bale.to_parquet(packed, tmp_path / "other", image_column="caption")
    with pytest.raises(ValueError, match="no sample has 'none' next to its image"):
        bale.to_parquet(packed, tmp_path / "other", fields=["none"])
    for wrong in ({"rows_per_file": 0}, {"file_size": "big"}, {"rows_per_file": 1, "file_size": 1}, {"split": ""}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            bale.to_parquet(packed, tmp_path / "other", **wrong)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("write", [bale.to_parquet, bale.to_mds])
def test_all_files_or_none(packed, tmp_path, monkeypatch, write):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(bale.Error, match="full: not an empty directory") as failed:
        write(packed, tmp_path / "full")
    assert failed.value.code == "exists"
    (tmp_path / "empty").mkdir()
    write(packed, tmp_path / "empty")
    before = sorted(os.listdir(tmp_path))
    read, count = bale.Dataset.__getitem__, iter(range(100))

    def read_or_fail(self, i):
        if next(count) == 5:
            raise KeyboardInterrupt
        return read(self, i)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(bale.Dataset, "__getitem__", read_or_fail)
        write(packed, tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == before
    text = pack(tmp_path / "text", [("a", {"jpg": encoded(0), "caption.txt": b"\xff"}, 0)])
    with pytest.raises(bale.Error, match="field 'caption.txt' of a ") as failed:
        write(text, tmp_path / "out")
    assert failed.value.code == "damaged" and failed.value.key == "a" and not (tmp_path / "out").exists()
    latin = pack(tmp_path / "latin", [("a", {"jpg": encoded(0)}, 0), ("caf\udce9", {"jpg": encoded(1)}, 0)])
    with pytest.raises(bale.Error, match="the key caf.*e9 is not UTF-8") as failed:
        write(latin, tmp_path / "out")
    assert failed.value.code == "unsupported" and failed.value.key == "caf\udce9" and not (tmp_path / "out").exists()


@pytest.mark.parametrize("write", [bale.to_parquet, bale.to_mds])
def test_files_are_durable_before_they_have_their_name(packed, tmp_path, monkeypatch, write):
    calls = []
    sync, rename = os.fsync, os.rename
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda file: (calls.append(os.readlink(f"/proc/self/fd/{file}")), sync(file)))
        patched.setattr(os, "rename", lambda old, new: (calls.append((str(old), str(new))), rename(old, new)))
        write(packed, tmp_path / "out")
    published = next(i for i, call in enumerate(calls) if isinstance(call, tuple) and call[1] == str(tmp_path / "out"))
    staged = calls[published][0]
    assert {os.path.basename(path) for path in calls[:published] if isinstance(path, str)} == {*os.listdir(tmp_path / "out"), os.path.basename(staged)}
    assert calls[published - 1] == staged and calls[published + 1:] == [str(tmp_path)]
    (tmp_path / "plain").mkdir()
    assert os.stat(tmp_path / "out").st_mode == os.stat(tmp_path / "plain").st_mode


def contents(directory):
    return {name: (directory / name).read_bytes() for name in sorted(os.listdir(directory))}


@pytest.fixture(params=["exchange", "three renames"])
def renaming(request, monkeypatch):
    """A system that can exchange two names, and one that cannot."""
    if request.param != "exchange":
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: (_ for _ in ()).throw(OSError("none")))
    return request.param


@pytest.mark.parametrize("write", [bale.to_parquet, bale.to_mds])
def test_overwrite_replaces_what_it_wrote_and_nothing_else(packed, tmp_path, write, renaming):
    out, few = tmp_path / "out", pack(tmp_path / "few", [("a", {"jpg": encoded(9)}, 0)], classes=CLASSES)
    write(packed, out)
    old = contents(out)
    with pytest.raises(bale.Error, match="not an empty directory") as failed:
        write(few, out)
    assert "`overwrite` replaces it" in failed.value.hint
    with pytest.raises(ValueError, match="fields"):
        write(few, out, fields=["none"], overwrite=True)
    assert contents(out) == old
    (out / "notes.txt").write_text("mine")
    with pytest.raises(bale.Error, match="has notes.txt, which is not of what is replaced") as failed:
        write(few, out, overwrite=True)
    assert failed.value.code == "exists" and (out / "notes.txt").read_text() == "mine"
    (out / "notes.txt").unlink()
    write(few, out, overwrite=True)
    write(few, tmp_path / "new", overwrite=True)  # as if it were not given
    assert contents(out) == contents(tmp_path / "new") != old
    assert sorted(os.listdir(tmp_path)) == ["few", "new", "out", "packed"]  # nothing else is left
    (tmp_path / "link").symlink_to(out)
    for place in (tmp_path / "link", out / sorted(os.listdir(out))[0]):
        with pytest.raises(bale.Error, match="not a directory"):
            write(few, place, overwrite=True)


@pytest.mark.parametrize("write", [bale.to_parquet, bale.to_mds])
def test_progress(packed, tmp_path, capfd, write):
    write(packed, tmp_path / "shown", progress=True)
    assert f"{write.__name__}: 100%" in capfd.readouterr().err
    write(packed, tmp_path / "silent")  # this is neither a terminal nor a notebook
    assert capfd.readouterr().err == ""


def test_overwrite_keeps_the_files_of_another_split(packed, tmp_path):
    bale.to_parquet(packed, tmp_path / "out", split="train")
    old = contents(tmp_path / "out")
    with pytest.raises(bale.Error, match="has train-00000-of-00001.parquet"):
        bale.to_parquet(packed, tmp_path / "out", split="test", overwrite=True)
    assert contents(tmp_path / "out") == old


@pytest.mark.parametrize("write", [bale.to_parquet, bale.to_mds])
def test_an_overwrite_that_fails_at_any_step_loses_nothing(packed, tmp_path, monkeypatch, write, renaming):
    out, few = tmp_path / "out", pack(tmp_path / "few", [("a", {"jpg": encoded(9)}, 0)], classes=CLASSES)
    write(packed, out)
    old = contents(out)
    write(few, tmp_path / "wanted")
    new = contents(tmp_path / "wanted")
    for number in range(100):
        steps = iter(range(100))
        with monkeypatch.context() as patched:
            for name in ("fsync", "rename", "chmod", "unlink", "rmdir"):
                def step(*arguments, call=getattr(os, name), **options):
                    if next(steps) == number:
                        raise OSError(errno.EIO, "injected")
                    return call(*arguments, **options)
                patched.setattr(os, name, step)
            try:
                write(few, out, overwrite=True)
            except OSError:
                pass
            else:
                break
        left = [tmp_path / name for name in os.listdir(tmp_path) if name.endswith(".bale-partial")]
        now = contents(out) if out.exists() else None
        assert now in (old, new) or any(contents(place) == old for place in left), number
        for place in left:
            shutil.rmtree(place)
        if now != old:  # replaced, or aside: the next one begins with the old files again
            shutil.rmtree(out, ignore_errors=True)
            write(packed, out)
    assert number > 4 and contents(out) == new


def test_mds_comes_back_field_by_field(packed, tmp_path):
    assert bale.to_mds(tmp_path / "packed", tmp_path / "out", shard_size=4096) > 2
    bale.convert(tmp_path / "out", tmp_path / "back", format="lmdb")
    back = bale.Dataset(tmp_path / "back")
    assert samples_of(back) == samples_of(packed) and list(back.keys) == list(packed.keys)
    assert max(path.stat().st_size for path in (tmp_path / "out").glob("*.mds")) <= 4096


def test_streaming_reads_it(packed, tmp_path):
    """With the real package, which needs torch: in the environment of requirements-examples.txt."""
    if not EXAMPLES_PYTHON.exists():
        pytest.skip("tests/python/requirements-examples.txt is not installed")
    bale.to_mds(packed, tmp_path / "out", shard_size="4KiB")
    out = run_script("""
        import json, sys
        import numpy
        sys.path.insert(0, sys.argv[2])
        from make_mds import import_streaming
        streaming = import_streaming()
        for samples in (streaming.LocalDataset(sys.argv[1]), streaming.StreamingDataset(local=sys.argv[1], batch_size=1, shuffle=False)):
            assert len(samples) == 7
            shown = []
            for i in range(7):
                sample = samples[i]
                images = {name: [sample[name].format, numpy.asarray(sample[name]).tolist()] for name in ("image", "mask")}
                shown.append({**sample, **images, "blob": list(sample["blob"]), "embedding.npy": list(sample["embedding.npy"])})
            print(json.dumps(shown))
        """, tmp_path / "out", REPO / "tests" / "foreign", python=EXAMPLES_PYTHON)
    for line in out.splitlines():
        for i, sample in enumerate(json.loads(line)):
            for name, kind in (("image", "JPEG"), ("mask", "PNG")):
                image = Image.open(io.BytesIO(fields_of(i)["jpg" if name == "image" else "mask.png"]))
                assert sample[name] == [kind, np.asarray(image).tolist()]
            assert (sample["__key__"], sample["label"], sample["caption"], sample["txt"]) == (f"folder/x.{i}", i % 2, f"a dög {i}", "")
            assert (sample["json"], sample["meta"], sample["blob"], sample["a.b"]) == ({"n": i}, [i, "ö"], list(range(i)), "dots")
            assert bytes(sample["embedding.npy"]) == packed[i]["embedding.npy"]
    assert len(out.splitlines()) == 2


def test_what_mds_cannot_hold(uneven, tmp_path):
    with pytest.raises(bale.Error, match="sample b does not have a label, which others have, and MDS has no missing values"):
        bale.to_mds(uneven, tmp_path / "out")
    image = pack(tmp_path / "image", [("a", {"jpg": encoded(0)}), ("b", {"txt": "x"})])
    with pytest.raises(bale.Error, match="sample b does not have an image"):
        bale.to_mds(image, tmp_path / "out", fields=[])
    missing = pack(tmp_path / "missing", [("a", {"jpg": encoded(0), "txt": "x"}, 1), ("b", {"png": encoded(2, "PNG")}, 0)])
    with pytest.raises(bale.Error, match="sample b does not have the field 'txt'") as failed:
        bale.to_mds(missing, tmp_path / "out")
    assert (failed.value.code, failed.value.key) == ("unsupported", "b")
    assert bale.to_mds(missing, tmp_path / "fewer", fields=[]) == 1
    bale.convert(tmp_path / "fewer", tmp_path / "back")
    assert [set(sample) for sample in bale.Dataset(tmp_path / "back")] == [{"jpg", "cls"}, {"png", "cls"}]
    with pytest.raises(ValueError, match="4 GiB or more"):
        bale.to_mds(missing, tmp_path / "out", shard_size="4GiB")
    assert not (tmp_path / "out").exists()


def test_fields_that_would_be_one_column_of_mds(tmp_path):
    fields = {"jpg": encoded(0), "x.png": encoded(1, "PNG"), "x.txt": "x", "label.txt": "l", "path.json": {}, "image.png": encoded(2, "PNG")}
    dataset = pack(tmp_path / "packed", [("a", fields, 3)])
    bale.to_mds(dataset, tmp_path / "out")
    bale.convert(tmp_path / "out", tmp_path / "back", format="lmdb")
    assert samples_of(bale.Dataset(tmp_path / "back")) == samples_of(dataset)


def test_extract_is_the_way_back_to_files(bale, packed, tmp_path):
    bale.ok("extract", tmp_path / "packed", tmp_path / "files")
    for i in range(7):
        for name, content in packed[i].items():
            assert (tmp_path / "files" / f"folder/x.{i}.{name}").read_bytes() == content

@pytest.mark.parametrize("format", ["tar", "lmdb"])
def test_names_of_classes_are_in_the_list_of_mds(tmp_path, format):
    """They come back from the directory, from its shards, and from directories that Streaming's merge_index() lists together."""
    classes = ["cat", "", "dög", "emu\udcff"]
    for name in ("a", "b"):
        bale.pack([(f"{name}{i}", {"jpg": encoded(i)}, i) for i in (0, 2, 3)], tmp_path / name, format=format, classes=classes)
        bale.to_mds(tmp_path / name, tmp_path / "mds" / name, shard_size=2000)
    assert len(list((tmp_path / "mds/a").glob("*.mds"))) > 1
    bale.convert(tmp_path / "mds/a", tmp_path / "back")
    for spec in (tmp_path / "mds/a", f"{tmp_path}/mds/a/shard.*.mds", tmp_path / "back"):
        assert list(bale.Dataset(spec).classes) == classes and list(bale.Dataset(spec).labels) == [0, 2, 3]
    make_mds.merge_indexes(tmp_path / "mds", ["a", "b"])
    bale.convert(tmp_path / "mds", tmp_path / "both")
    for spec in (tmp_path / "mds", tmp_path / "both"):
        assert list(bale.Dataset(spec).classes) == classes and len(bale.Dataset(spec)) == 6
    listed = json.loads((tmp_path / "mds/b/index.json").read_text())
    (tmp_path / "mds/b/index.json").write_text(json.dumps({**listed, "classes": ["dog", "", "cat", "emu"]}))
    with pytest.raises(bale.Error, match="other names of classes than .*mds/a"):
        bale.Dataset(tmp_path / "mds")
    both = bale.Dataset(f"{tmp_path}/mds/a::{tmp_path}/mds/b")
    assert both.classes[both.label(3)] == "dog" and both.classes[both.label(0)] == "cat"


@pytest.mark.parametrize("format", ["tar", "lmdb", "recordio"])
@pytest.mark.parametrize("source", ["folder", "samples", "table"])
def test_keys_with_dots_stay_the_same(tmp_path, format, source):
    """However often they go through Parquet. The column has the names that the files had."""
    names = ["a/x.1", "a/50%", "b/__y__", "c"]
    if source == "folder":
        for name in names:
            (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "in" / f"{name}.jpg").write_bytes(encoded(0))
        bale.pack(tmp_path / "in", tmp_path / "p0", format=format, flat=True)
    elif source == "samples":
        bale.pack([(name, {"jpg": encoded(0)}) for name in names], tmp_path / "p0", format=format)
    else:
        pq.write_table(pa_table({"image": [encoded(0)] * 4, "__key__": names}), tmp_path / "x.parquet")
        bale.pack(tmp_path / "x.parquet", tmp_path / "p0", format=format)
    keys = list(bale.Dataset(tmp_path / "p0").keys)
    assert ("a/x%2E1" in keys) == (format != "lmdb" or source == "folder")
    for i, column in enumerate(["__key__", None, "__key__"]):
        file, = bale.to_parquet(tmp_path / f"p{i}", tmp_path / f"q{i}", key_column=column)
        if column:
            assert sorted(pq.read_table(file)["__key__"].to_pylist()) == sorted(names)
        bale.pack(file, tmp_path / f"p{i + 1}", format=format)
        assert list(bale.Dataset(tmp_path / f"p{i + 1}").keys) == keys
    bale.to_mds(tmp_path / "p0", tmp_path / "mds")
    bale.convert(tmp_path / "mds", tmp_path / "last", format=format)
    assert list(bale.Dataset(tmp_path / "last").keys) == keys


def pa_table(columns):
    import pyarrow as pa
    return pa.table(columns)
