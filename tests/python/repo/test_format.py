"""The sources are formatted by .clang-format and pass the rules of ruff in pyproject.toml."""
import pathlib
import subprocess
import sys

import pytest
from conftest import REPO

ROOMS = ("formats", "reader", "writer", "loader", "tools", "python", "tests")


def run(*command):
    return subprocess.run([sys.executable, "-m", *map(str, command)], cwd=REPO, capture_output=True, text=True)


def test_cpp():
    pytest.importorskip("clang_format")
    files = [path for room in ROOMS for suffix in ("*.cpp", "*.hpp", "*.cu") for path in sorted((REPO / room).rglob(suffix))]
    assert len(files) > 1000
    program = pathlib.Path(sys.executable).with_name("clang-format")  # the package cannot be run as a module
    found = subprocess.run([program, "--dry-run", "--Werror", *files], capture_output=True, text=True)
    assert found.returncode == 0, f"run clang-format 14 -i on these:\n{found.stderr}"


def test_python():
    pytest.importorskip("ruff")
    found = run("ruff", "check", "--output-format", "concise", "python", "tests", "scripts")
    assert found.returncode == 0, found.stdout
