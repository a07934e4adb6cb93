"""Rows of every type, and the Parquet and Arrow files that Hugging Face's datasets writes of them."""
import datetime
import io
import json
import os

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
import numpy as np
import pytest
from PIL import Image

import bale

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
datasets = pytest.importorskip("datasets")  # test_python_package.py fails without it

CLASSES = ["cat", "dög", "eel"]
FEATURES = datasets.Features({
    "label": datasets.ClassLabel(names=CLASSES), "image": datasets.Image(), "mask": datasets.Image(), "Caption": datasets.Value("string"),
    "embedding": datasets.List(datasets.Value("float32"), length=3), "tokens": datasets.List(datasets.Value("int64")),
    "matrix": datasets.Array2D((2, 2), "uint8"), "boxes": datasets.List(datasets.List(datasets.Value("float32"), length=4)),
    "objects": datasets.List({"name": datasets.Value("string"), "area": datasets.Value("float64")}),
    "views": datasets.List(datasets.Image()), "blob": datasets.Value("binary"), "score": datasets.Value("float64"),
    "when": datasets.Value("timestamp[s]")})
WHEN = datetime.datetime(2026, 11, 23, 8, 30)


def encoded(number, kind="JPEG"):
    out = io.BytesIO()
    Image.fromarray((np.arange(5 * 6 * 3).reshape(5, 6, 3) * 3 + number * 17).astype(np.uint8)).save(out, kind)
    return out.getvalue()


def row_of(i):
    """Row 2 has nothing but its number."""
    path = f"folder.{i}.jpg"
    if i == 2:
        return {**dict.fromkeys(FEATURES), "image": {"bytes": encoded(i), "path": path}, "score": 2.0}
    return {"label": i % 3, "image": {"bytes": encoded(i, "PNG" if i == 3 else "JPEG"), "path": path},
            "mask": {"bytes": encoded(i + 50, "PNG"), "path": None}, "Caption": f"a dög {i}", "embedding": [i, 1.5, -2.0], "tokens": list(range(i)),
            "matrix": [[i, 1], [2, 3]], "boxes": [[1, 2, 3, i]] * i, "objects": [{"name": "a", "area": i / 2}],
            "views": [{"bytes": encoded(i + 70 + n), "path": None} for n in range(2)], "blob": b"\0\xff%d" % i, "score": i / 4, "when": WHEN}


ROWS = [row_of(i) for i in range(7)]


def array_of(values, dtype, *shape):
    out = io.BytesIO()
    np.save(out, np.array(values, dtype).reshape(shape))
    return out.getvalue()


def fields_of(i):
    """What docs/WRITING.md says of row i."""
    row = ROWS[i]
    numbers = {"score": row["score"], "when": WHEN.isoformat() if row["when"] else None}
    fields = {"png" if i == 3 else "jpg": row["image"]["bytes"], "json": json.dumps(numbers).encode()}
    if i == 2:
        return fields
    return {**fields, "cls": b"%d" % row["label"], "mask.png": row["mask"]["bytes"], "caption.txt": row["Caption"].encode(),
            "embedding.npy": array_of(row["embedding"], np.float32, 3), "tokens.npy": array_of(row["tokens"], np.int64, i),
            "matrix.npy": array_of(row["matrix"], np.uint8, 2, 2), "boxes.npy": array_of(row["boxes"], np.float32, i, 4),
            "objects.json": json.dumps(row["objects"]).encode(), "views.0.jpg": encoded(i + 70), "views.1.jpg": encoded(i + 71), "blob": row["blob"]}


@pytest.fixture(scope="module")
def whole():
    return datasets.Dataset.from_list(ROWS, features=FEATURES)


@pytest.fixture(scope="module")
def written(whole, tmp_path_factory):
    """Every kind of file that datasets writes, by its name."""
    root = tmp_path_factory.mktemp("written")
    whole.to_parquet(root / "rows.parquet", batch_size=2)
    whole.save_to_disk(root / "saved", num_shards=2)
    hub = root / "hub" / "data"
    hub.mkdir(parents=True)
    for number in range(2):
        whole.shard(2, number, contiguous=True).to_parquet(hub / f"train-{number:05d}-of-00002.parquet")
    datasets.load_dataset("parquet", data_files={"train": str(root / "rows.parquet")}, cache_dir=str(root / "cache"))
    info, = (root / "cache").rglob("dataset_info.json")
    with pa.OSFile(str(root / "file.arrow"), "wb") as out, pa.ipc.new_file(out, whole.data.table.schema) as writer:
        writer.write_table(whole.data.table, max_chunksize=3)
    return {"parquet": root / "rows.parquet", "saved": root / "saved", "hub": root / "hub", "cache": info.parent,
            "arrow": root / "file.arrow", "stream": sorted((root / "saved").glob("*.arrow")), "glob": str(hub / "*.parquet")}


def check_packed(path, numbers=range(len(ROWS)), keys=None):
    dataset = bale.Dataset(path)
    assert dataset.classes == CLASSES and list(dataset.keys) == (keys or [f"folder.{i}" for i in numbers])
    for found, number in zip(dataset, numbers, strict=True):
        assert found == fields_of(number)
    assert [dataset.label(i) for i in range(len(dataset))] == [ROWS[number]["label"] for number in numbers]


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def pictures(*paths):
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    return pa.array([None if path is None else {"bytes": encoded(i), "path": path} for i, path in enumerate(paths)], kind)
