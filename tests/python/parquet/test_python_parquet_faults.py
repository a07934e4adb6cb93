"""Parquet and Arrow files that are missing, damaged, cut short or contradict each other, and packs that were interrupted."""
import json
import os
import shutil

import numpy as np
import pytest
from conftest import by_tier, flip
from parquet_support import CLASSES, datasets, pa, pictures, pq, whole, written  # noqa: F401

import bale


def test_a_file_of_the_set_is_missing(written, tmp_path):
    folder = tmp_path / "hub"
    shutil.copytree(written["hub"], folder)
    (folder / "data" / "train-00001-of-00002.parquet").unlink()
    with pytest.raises(FileNotFoundError, match="train-00001-of-00002 is missing: 1 of 2 files are there"):
        bale.pack(folder, tmp_path / "out")
    saved = tmp_path / "saved"
    shutil.copytree(written["saved"], saved)
    next(saved.glob("*.arrow")).unlink()
    with pytest.raises(FileNotFoundError, match="not there, and state.json lists it"):
        bale.pack(saved, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name, content", [
    ("dataset_dict.json", {"splits": ["../train"]}), ("dataset_dict.json", {"splits": "train"}), ("dataset_dict.json", {}),
    ("state.json", {"_data_files": [{"filename": "../data.arrow"}]}), ("state.json", {"_data_files": [{}]}), ("state.json", {}),
    ("dataset_info.json", {"splits": {"..": {}}}), ("dataset_info.json", {"splits": 1})])
def test_lists_of_files_that_name_others(written, tmp_path, name, content):
    """A split's name is that of its pack: it must not lead out of the destination."""
    saved = tmp_path / "a" / "saved"
    shutil.copytree(written["saved"], saved)
    if name == "dataset_info.json":
        (saved / "state.json").unlink()  # as in the cache
    (saved / name).write_text(json.dumps(content))
    with pytest.raises(bale.errors.DamagedError, match=rf"{name}: does not list names of splits or files next to it; copy the dataset again"):
        bale.pack(saved, tmp_path / "b" / "out")
    assert os.listdir(tmp_path) == ["a"]


def test_classes_have_to_agree(whole, written, tmp_path):
    other = whole.cast_column("label", datasets.ClassLabel(names=CLASSES[::-1]))
    other.to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="other.parquet: other classes than .*rows.parquet"):
        bale.parquet.samples([written["parquet"], tmp_path / "other.parquet"])


def test_empty_files(whole, written, tmp_path):
    whole.select([]).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(ValueError):
        bale.pack(tmp_path / "none.parquet", tmp_path / "out")
    samples = bale.parquet.samples([tmp_path / "none.parquet", written["parquet"], tmp_path / "none.parquet"])
    assert samples.size == 7 and len(list(samples)) == 7
    (tmp_path / "zero.parquet").touch()
    with pytest.raises(bale.Error, match="zero.parquet: header: an empty file"):
        bale.parquet.samples(tmp_path / "zero.parquet")
    for name in ("pointer.parquet", "pointer.arrow"):
        (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
        with pytest.raises(bale.errors.DamagedError, match=rf"{name}: a Git LFS pointer, not the file itself; fetch the files with `git lfs pull`"):
            bale.pack(tmp_path / name, tmp_path / "out")
    with pytest.raises(FileNotFoundError):
        bale.parquet.samples(tmp_path / "nothing.parquet")


def test_a_split_without_samples(whole, tmp_path):
    """It is said, and the others are packed."""
    splits = datasets.DatasetDict(test=whole.select([]), train=whole)
    splits.save_to_disk(tmp_path / "saved")
    for number, source in enumerate((splits, tmp_path / "saved")):
        with pytest.warns(UserWarning, match=f"out{number}: nothing is packed of splits without samples: test"):
            report = bale.pack(source, tmp_path / f"out{number}")
        assert report["samples"] == 7 and os.listdir(tmp_path / f"out{number}") == ["train"]


def test_damage_is_named_by_file_and_row_group(written, tmp_path):
    source = pq.read_table(written["parquet"])
    name = tmp_path / "rows.parquet"
    pq.write_table(source, name, row_group_size=2, write_page_checksum=True, compression="none", use_dictionary=False)
    metadata = pq.read_metadata(name)
    content = name.read_bytes()
    for group in range(metadata.num_row_groups):
        column = metadata.row_group(group).column(1)
        assert column.path_in_schema == "image.bytes"
        name.write_bytes(content)
        flip(name, column.data_page_offset + column.total_compressed_size - 9)
        with pytest.raises(bale.Error, match=rf"rows.parquet: row group {group}: ") as failed:
            list(bale.parquet.samples(name))
        assert failed.value.code == "damaged" and failed.value.path == str(name)
    for size in (len(content) - 1, len(content) // 2, 3):
        name.write_bytes(content[:size])
        with pytest.raises(bale.Error, match="rows.parquet: header: "):
            bale.parquet.samples(name)


def test_random_damage_is_an_error_with_the_name_of_the_file(written, tmp_path):
    """Or it is not noticed, because the file has no checksums; the number of rows is never another one."""
    rng = np.random.default_rng(5)
    table = pq.read_table(written["parquet"])
    pq.write_table(table, tmp_path / "plain.parquet", compression="none", use_dictionary=False, row_group_size=2, store_schema=False)
    for source in (tmp_path / "plain.parquet", written["arrow"], written["stream"][0]):
        content = source.read_bytes()
        name = tmp_path / f"damaged{source.suffix}"
        count = len(list(bale.parquet.samples(source, image="image")))
        for _ in range(by_tier(60, 3000)):
            damaged = bytearray(content)
            at = rng.integers(max(0, len(content) - 4000) if rng.random() < 0.5 else 0, len(content), rng.integers(1, 4))
            for place in at:
                damaged[place] ^= rng.integers(1, 256)
            name.write_bytes(damaged)
            try:
                assert len(list(bale.parquet.samples(name, image="image"))) == count
            except bale.Error as error:
                assert error.path == str(name) and str(name) in str(error)
            except ValueError as error:  # other columns: it cannot know that they are wrong
                assert str(name) in str(error)


def test_an_arrow_stream_that_was_cut_off(written, tmp_path):
    """Also between two batches, which pyarrow takes for the end."""
    name = tmp_path / "x.arrow"
    table = pa.table({"image": pictures(*[f"{i}.jpg" for i in range(9)])})
    ends = []
    with open(name, "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=3):
            ends.append(out.tell())
            writer.write_batch(batch)
    content = name.read_bytes()
    assert len(list(bale.parquet.samples(name))) == 9
    for end in [*ends, len(content) - 8, len(content) - 9, len(content) // 2]:
        name.write_bytes(content[:end])
        with pytest.raises(bale.Error, match="x.arrow: (end: a stream without its end|header: )"):
            bale.parquet.samples(name)


def test_a_cache_with_too_few_rows(written, tmp_path):
    folder = tmp_path / "cache"
    shutil.copytree(written["cache"], folder)
    info = json.loads((folder / "dataset_info.json").read_text())
    info["splits"]["train"]["num_examples"] = 8
    (folder / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(bale.Error, match="7 rows in all files, dataset_info.json says 8"):
        bale.pack(folder, tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_an_interrupted_pack_is_resumed(written, tmp_path, monkeypatch):
    bale.pack(written["hub"], tmp_path / "whole", name="x", shard_samples=2)
    samples = bale.parquet.samples(written["hub"])
    add, count = bale.Writer.add, iter(range(100))

    def add_or_fail(*arguments):
        if next(count) == 5:
            raise KeyboardInterrupt
        return add(*arguments)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(bale.Writer, "add", add_or_fail)
        bale.pack(samples, tmp_path / "out", name="x", shard_samples=2)
    assert [key for key, _, _ in samples.after(5)] == ["folder.5", "folder.6"]
    bale.pack(written["hub"], tmp_path / "out", name="x", shard_samples=2, resume=True)
    files = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()} == files


def test_a_table_that_changed_is_not_resumed(tmp_path):
    name, images = tmp_path / "x.parquet", pictures(*[f"{i}.jpg" for i in range(7)]).to_pylist()
    images[5]["bytes"] = b"x"
    pq.write_table(pa.table({"image": images}), name)
    with pytest.raises(bale.Error, match="row 5"):
        bale.pack(name, tmp_path / "out", shard_samples=2)
    for others in (["0", "x", "2", "3", "4", "5", "6"], ["0", "0", "2", "3", "4", "5", "6"]):  # the second has no keys of its own
        pq.write_table(pa.table({"image": pictures(*[f"{other}.jpg" for other in others])}), name)
        with pytest.raises(ValueError, match="the interrupted run has no '(x|00000000)': resume needs the same samples"):
            bale.pack(name, tmp_path / "out", shard_samples=2, resume=True)
    pq.write_table(pa.table({"image": pictures(*[f"{i}.jpg" for i in range(7)])}), name)
    bale.pack(name, tmp_path / "out", shard_samples=2, resume=True)
    assert list(bale.Dataset(tmp_path / "out").keys) == list("0123456")
