"""The golden packs of earlier versions (tests/golden), copied so that a test may write to them."""
import importlib.util
import pathlib
import shutil

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if path.name[0].isdigit())
PLANES = GOLDEN / "planes-1"  # the source of 0.3.0 with JPEG planes of version 1

_spec = importlib.util.spec_from_file_location("make_golden", GOLDEN / "make_golden.py")
make_golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_golden)


def copy_of(version, tmp_path):
    """A copy of a version's folder whose source files have the times that its plans know."""
    copy = tmp_path / version
    shutil.copytree(GOLDEN / version, copy)
    make_golden.set_times(copy / "source")
    return copy
