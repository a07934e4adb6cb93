"""`bale pack` of SVHN's MAT-files: the same pixels and digits, from files that SciPy wrote and from wrong ones."""
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from svhn_support import HEADER, as_rows, compressed, matrix, svhn_arrays
from test_array_sources import assert_packed

BY_SCIPY = Path(__file__).resolve().parents[2] / "foreign" / "svhn"


@pytest.mark.parametrize("split", ["train", "test"])  # compressed and not
def test_files_of_scipy(bale, tmp_path, split):
    bale.ok("pack", BY_SCIPY / f"{split}_32x32.mat", tmp_path / "p")
    assert_packed(bale, tmp_path / "p", {split: as_rows(*svhn_arrays())}, "RGB")
    assert json.loads(bale.ok("inspect", tmp_path / "p", "--json").out)["classes"] == [str(digit) for digit in range(10)]


@pytest.mark.parametrize("pack", [bytes, compressed])
@pytest.mark.parametrize("kind, stored", [("float64", "uint8"), ("float64", "float64"), ("int32", "int32"), ("uint16", "uint16"), ("int8", "int8")])
def test_other_numbers_and_arrays(bale, tmp_path, pack, kind, stored):
    images, labels = svhn_arrays()
    path = tmp_path / "extra_32x32.mat"
    path.write_bytes(HEADER + pack(matrix("comment", np.arange(3.0))) + pack(matrix("y", labels.astype(kind), stored)) + pack(matrix("X", images)))
    bale.ok("pack", path, tmp_path / "p", "--format", "lmdb")
    assert_packed(bale, tmp_path / "p", {"extra": as_rows(images, labels)}, "RGB")


def changed_label(labels, value):
    labels = labels.astype(np.float64)
    labels[3] = value
    return labels


X, Y = svhn_arrays()
TWO = matrix("X", X) + matrix("y", Y)


@pytest.mark.parametrize("content, says", [
    (b"", "not a MATLAB file of level 5"), (HEADER[:100], "not a MATLAB file of level 5"),
    (HEADER[:124] + b"\1\0MI" + TWO, "not a MATLAB file of level 5"),  # big-endian
    (b"MATLAB 7.3 MAT-file, Platform".ljust(512) + b"\x89HDF\r\n\x1a\n", "version 7.3"),
    (HEADER, "without the arrays X and y"), (HEADER + matrix("X", X), "without the arrays X and y"),
    (HEADER + matrix("labels", Y), "without the arrays X and y"),
    (HEADER + TWO[:-1], "ends within an element"), (HEADER + TWO + b"\2\0\0", "within the tag"),
    (HEADER + matrix("X", X) + matrix("y", Y[:-1]), "11 labels for 12 images"),
    (HEADER + matrix("X", X.astype(np.int16)) + matrix("y", Y), "array X is not height x width x 3 x N bytes"),
    (HEADER + matrix("X", X[:, :, :2]) + matrix("y", Y), "array X is not height x width x 3 x N bytes"),
    (HEADER + matrix("X", X[0]) + matrix("y", Y), "array X is not height x width x 3 x N bytes"),
    (HEADER + matrix("X", X[:0]) + matrix("y", Y), "no possible shape"),
    (HEADER + TWO.replace(struct.pack("<4i", *X.shape), struct.pack("<4i", 8, 6, 3, 13)), "not what its shape says"),
    (HEADER + TWO.replace(struct.pack("<4i", *X.shape), struct.pack("<4i", 65535, 65535, 3, 2**31 - 1)), "not what its shape says"),
    (HEADER + TWO.replace(struct.pack("<4i", *X.shape), struct.pack("<4i", 8, 6, 3, -12)), "no possible shape"),
    (HEADER + matrix("X", X) + matrix("y", changed_label(Y, 0)), "image 3 has the label 0"),
    (HEADER + matrix("X", X) + matrix("y", changed_label(Y, 11)), "image 3 has the label 11"),
    (HEADER + matrix("X", X) + matrix("y", changed_label(Y, 1.5)), "image 3 has the label 1.5"),
    (HEADER + matrix("X", X) + matrix("y", changed_label(Y, np.nan)), "image 3 has the label nan"),
    (HEADER + matrix("X", X) + matrix("y", Y.astype(np.float32)), "other numbers than SVHN's"),
    (HEADER + compressed(matrix("X", X))[:-9], "ends within an element"),
    (HEADER + compressed(matrix("X", X)).replace(b"x\x9c", b"x\x00"), "zlib data"),
    (HEADER + compressed(b"x"), "within the tag"),
])
def test_wrong_files(bale, tmp_path, content, says):
    path = tmp_path / "train_32x32.mat"
    path.write_bytes(content)
    result = bale("pack", path, tmp_path / "p")
    assert result.code == 1 and says in result.error_line() and str(path) in result.error_line()
    assert not (tmp_path / "p").exists()
