"""Makes tests/foreign/svhn: MAT-files as SVHN's, written by SciPy 1.17.1. The pixels and labels are svhn_arrays() of
tests/python/sources/test_svhn.py.

    pip install numpy scipy
    python tests/foreign/make_svhn.py
"""
import sys
from pathlib import Path

import scipy.io

here = Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "python"))

from svhn_support import svhn_arrays  # noqa: E402

images, labels = svhn_arrays()
for name, compressed in (("train_32x32.mat", True), ("test_32x32.mat", False)):
    scipy.io.savemat(here / "svhn" / name, {"X": images, "y": labels}, do_compression=compressed)
