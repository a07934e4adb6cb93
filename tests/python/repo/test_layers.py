"""The rooms are what docs/ARCHITECTURE.md says, and the check that says so can fail."""
import collections
import re
import shutil
import subprocess
import sys

import pytest
from conftest import REPO

CHECK = REPO / "scripts" / "checks" / "check_layers.py"
ROOMS = ["formats", "reader", "writer", "loader", "tools", "python"]


def check(root):
    return subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)


def test_this_tree():
    done = check(REPO)
    assert done.returncode == 0, done.stdout


def test_cpp_tests_compile_with_either_catch2():
    """Debian 12 has Catch2 2 and Debian 13 has 3: tests/support/catch.hpp includes it, and only names of 3 are used."""
    old = re.compile(r"#include <catch2/|\bContains\(|\bCatch::Contains\b|\bMatchers::Contains\b")
    found = [f"{path.relative_to(REPO)}:{number}: {line.strip()}"
             for path in sorted((REPO / "tests").rglob("*.[ch]pp")) if path.name not in ("catch.hpp", "catch_main.cpp", "catch_session.hpp")
             for number, line in enumerate(path.read_text().splitlines(), 1) if old.search(line)]
    assert not found


VIOLATIONS = {
    "reader includes writer": ("reader/dataset/dataset.cpp", '#include "bale/writer/packer.hpp"'),
    "base includes a format": ("formats/base/errors/error.cpp", '#include "bale/formats/tar/reading/reader.hpp"'),
    "formats include each other": ("formats/tar/format.cpp", '#include "bale/formats/lmdb/lmdb.hpp"'),
    "third-party header elsewhere": ("reader/dataset/dataset.cpp", "#include <lmdb.h>"),
    "options know their parser": ("tools/cli/command_line.cpp", "#include <CLI/CLI.hpp>"),
    "the JSON library beside its one file": ("formats/base/errors/error.cpp", "#include <nlohmann/json.hpp>"),
    "third-party header in a public header": ("reader/include/bale/reader/dataset.hpp", "#include <fmt/format.h>"),
    "format name as a string": ("writer/run/pack_run.cpp", 'const char* name = "x.tar";'),
    "format name as an identifier": ("tools/main.cpp", "int hdf5_level = 3;"),
    "format name in camel case": ("tools/main.cpp", "struct TarThing;"),
    "Python's headers outside the bindings": ("reader/dataset/dataset.cpp", "#include <nanobind/nanobind.h>"),
    "a room includes the bindings": ("tools/main.cpp", '#include "bale/python/bindings/bindings.hpp"'),
    "the registry is below a container": ("formats/tar/format.cpp", '#include "bale/formats/registry/registry.hpp"'),
    "images know shards": ("formats/image/decode.cpp", '#include "bale/formats/shard/sample.hpp"'),
    "workers know the session": ("loader/worker/worker.cpp", '#include "bale/loader/session/session.hpp"'),
    "the ring knows workers": ("loader/ring/ring.cpp", '#include "bale/loader/worker/worker.hpp"'),
    "commands parse options": ("tools/commands/packing/packing.cpp", '#include "bale/tools/cli/options/values.hpp"'),
    "an installed header includes another": ("reader/include/bale/reader/dataset.hpp",
                                             '#include "bale/reader/spec/shard_directory.hpp"'),
}
INNOCENT = ['// a comment may say tar, lmdb and "hdf5"', "int start = 0, target = 1; struct Target;", "#include <memory>",
            "auto order = std::memory_order_relaxed; /* tar */"]


@pytest.fixture
def tree(tmp_path):
    for room in ROOMS:
        shutil.copytree(REPO / room, tmp_path / room)
    return tmp_path


def test_violations_are_found(tree):
    """All at once, because a check of the whole tree takes 2 s: as many findings in each file as were put there."""
    for file, line in VIOLATIONS.values():
        with open(tree / file, "a") as out:
            out.write(line + "\n")
    done = check(tree)
    found = collections.Counter(line.split(":")[0] for line in done.stdout.splitlines()[:-1])
    assert done.returncode == 1
    assert found == collections.Counter(file for file, _ in VIOLATIONS.values()), done.stdout


def test_innocent_words_are_not(tree):
    for file in ("reader/dataset/dataset.cpp", "writer/run/pack_run.cpp", "tools/main.cpp"):
        with open(tree / file, "a") as out:
            out.write("\n".join(INNOCENT) + "\n")
    assert check(tree).returncode == 0
