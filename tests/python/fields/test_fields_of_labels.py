"""Labels in fields (docs/FIELDS.md): of several classes at once, as arrays and in JSON, and the stored ones of merged classes."""
import json

import numpy as np
import pytest
from fields_support import SIZE, jpeg, npy, number_of

import bale as bl
from bale import transforms


def load(spec, **options):
    return bl.Loader(spec, 6, workers=0, seed=5, transform=transforms.val(16, resize=16), **options)


CLASSES = 20


def several_labels(i):
    """1 for each class of sample i, as floats with some weight in between."""
    vector = np.zeros(CLASSES, "float32")
    vector[[i % CLASSES, (3 * i + 1) % CLASSES]] = 1
    vector[(7 * i) % CLASSES] = 0.25
    return vector


def write_labels(bale, root, changed=None):
    for i in range(SIZE):
        (root / "in").mkdir(parents=True, exist_ok=True)
        vector = several_labels(i)
        for extension, stored in {"jpg": jpeg(i), "npy": npy(vector), "json": json.dumps(vector.tolist()).encode(),
                                   "hot.json": json.dumps((vector > 0).tolist()).encode(), **(changed or {}).get(i, {})}.items():
            (root / "in" / f"s{i:03}.{extension}").write_bytes(stored)
    bale.pack(root / "in", root / "pack", "--flat", "--pair", "jpg,npy,json,hot.json")
    return root / "pack"


def test_labels_of_several_classes(bale, tmp_path):
    """As a NumPy file, and as lists of numbers or of truth values in JSON: one array, N x classes."""
    fields = {"npy": "npy", "json": bl.Field("json", kind="array", dtype="float32"),
              "half": bl.Field("json", kind="array", dtype="float16", shape=(CLASSES,)),
              "hot": bl.Field("hot.json", kind="array", dtype="int64"), "truth": bl.Field("hot.json", kind="array", dtype=bool)}
    with load(write_labels(bale, tmp_path), fields=fields) as loader:
        for batch in loader:
            expected = np.stack([several_labels(number_of(key)) for key in batch.keys])
            for name, dtype in (("npy", "float32"), ("json", "float32"), ("half", "float16")):
                assert batch.fields[name].dtype == dtype and np.array_equal(batch.fields[name], expected), name
            for name, dtype in (("hot", "int64"), ("truth", "bool")):
                assert batch.fields[name].dtype == dtype and np.array_equal(batch.fields[name], expected > 0), name
    with pytest.raises(ValueError, match="does not say the type of its numbers"):
        load(tmp_path / "pack", fields={"json": bl.Field("json", kind="array")})


@pytest.mark.parametrize("stored,dtype,reason", [
    (b"[1, 2]", "float32", "another shape than the batch's arrays, (20)"), (b"[" + b"[1]," * 19 + b"[1]]", "float32", "not a value of type"),
    (b"3", "float32", "another shape"), (b"[1, 2", "float32", "neither a NumPy array nor JSON"), (b"{}", "float32", "not a NumPy array"),
    (json.dumps([1e39] * 20).encode(), "float32", "1e+39 is not a value of type <f4"), (json.dumps([70000.0] * 20).encode(), "float16", "<f2"),
    (json.dumps([0.5] * 20).encode(), "int32", "0.5 is not a value of type <i4"), (json.dumps([-1] * 20).encode(), "uint8", "-1 is not"),
    (json.dumps([256] * 20).encode(), "uint8", "256 is not"), (json.dumps([2] * 20).encode(), bool, "2 is not a value of type |b1"),
    (json.dumps(["1"] * 20).encode(), "float32", "not a value of type"), (json.dumps([None] * 20).encode(), "float64", "null is not a value")],
    ids=lambda value: value.decode()[:12] if isinstance(value, bytes) else "")
def test_labels_in_json_that_are_bad_samples(bale, tmp_path, stored, dtype, reason):
    fields = {"json": bl.Field("json", kind="array", dtype=dtype, shape=(20,))}
    good = json.dumps([1] * 20).encode()
    with load(write_labels(bale, tmp_path, {i: {"json": stored if i == 4 else good} for i in range(SIZE)}), fields=fields,
              on_bad_sample="skip") as loader:
        assert sum(batch.fields["json"].sum() for batch in loader) == 20 * (SIZE - 1)
        bad, = loader.bad_samples
        assert bad.key.endswith("s004") and reason in bad.reason


def test_stored_labels_of_merged_classes_are_refused(bale, tmp_path):
    """Their numbers are those of another list of classes than the batch's labels."""
    for name in ("one", "two"):
        for label in {"one": ("a", "b"), "two": ("b", "c")}[name]:
            (tmp_path / name / label).mkdir(parents=True)
            (tmp_path / name / label / "x.jpg").write_bytes(jpeg(label))
        bale.pack(tmp_path / name, tmp_path / f"{name}.packed")
    specs = [tmp_path / "one.packed", tmp_path / "two.packed"]
    with load(specs[0], fields={"label": "cls"}) as loader:
        assert sorted({bytes(row) for batch in loader for row in batch.fields["label"]}) == [b"0", b"1"]
    with pytest.raises(ValueError, match="classes of several datasets are merged"):
        load(specs, fields={"label": "cls"})
