"""The sources are formatted by .clang-format and pass the rules of ruff in pyproject.toml, and no function of C++ is long."""
import pathlib
import re
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


def test_functions_of_cpp_have_at_most_60_lines():
    """Their first and last lines are indented alike: by 0, or by 2 in a class."""
    files = [path for room in ROOMS[:-1] for suffix in ("*.cpp", "*.hpp") for path in sorted((REPO / room).rglob(suffix))]
    longest, long = 0, []
    for path in files:
        begin = {}
        for number, line in enumerate(path.read_text().splitlines()):
            indent = len(line) - len(line.lstrip())
            if re.match(r" *[\w~[]", line):
                begin[indent] = number
            elif re.fullmatch(r"(  )?}", line):
                length = number + 1 - begin.get(indent, number)
                longest = max(longest, length)
                if length > 60:
                    long.append(f"{path}:{number + 1}: {length} lines end here")
    assert long == [] and longest > 50
