"""The CUDA kernels that are kept as PTX are those of the sources."""
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "gpu" / "make_ptx.sh"
KEPT = [*sorted((ROOT / "loader" / "cuda" / "kernels" / "ptx").glob("*.ptx")), *sorted((ROOT / "tools" / "measure" / "step" / "ptx").glob("*.ptx"))]


def test_the_sources_have_not_changed_since():
    sources = subprocess.run([SCRIPT, "--sources"], check=True, capture_output=True, text=True).stdout.strip()
    assert len(KEPT) == 4
    for kept in KEPT:
        text = kept.read_text()
        assert text.startswith(f"// Made by scripts/gpu/make_ptx.sh. SHA-256 of the sources: {sources}\n"), "run scripts/gpu/make_ptx.sh"
        assert "\n.version 6.0\n.target sm_60\n" in text


@pytest.mark.skipif(shutil.which("clang++-14") is None, reason="clang++-14 is not installed")
def test_the_script_makes_them():
    subprocess.run([SCRIPT, "--check"], check=True)
