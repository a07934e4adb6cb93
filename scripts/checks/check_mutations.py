#!/usr/bin/env python3
"""Breaks the code in the ways listed in tests/mutations/, one at a time, and reports which tests notice.

A mutation that no test notices is a hole in the tests: the exit code is 1 then. Works on a copy of the tracked files
with a build of its own (build-mutations/), so that the tree is never touched. A mutation costs the build of what has
changed in one test's program, and that test.
usage: scripts/checks/check_mutations.py [--only SUBSTRING] [--part K/N] [--list] [--python PYTHON]
"""
import argparse
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

REPO = pathlib.Path(__file__).resolve().parents[2]
COPY = REPO / "build-mutations" / "tree"  # -K for part K
NO_TESTS = 5  # pytest's exit code
TEST_SECONDS = 120  # a test that hangs has noticed, too
NOTICED = {"passes": "SURVIVED", "fails": "caught  ", "hangs": "hung    "}


def load_mutations():
    sys.path.insert(0, str(REPO / "tests"))
    sys.dont_write_bytecode = True
    return importlib.import_module("mutations").MUTATIONS


def part_of(mutations, text):
    """The K-th of N parts, and K. Mutations of one file stay together: they rebuild the same."""
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        sys.exit(f"--part {text}: K/N with K from 1 to N")
    files = sorted({mutation.file for mutation in mutations})
    chosen = set(files[part - 1::parts])
    return part, [mutation for mutation in mutations if mutation.file in chosen]


def copy_tree():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=REPO, check=True,
                           capture_output=True, text=True).stdout.split("\0")[:-1]
    for name in names:
        source, target = REPO / name, COPY / name
        if not source.is_file() or (target.is_file() and source.read_bytes() == target.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)  # changed now, for ninja


def run(command, timeout=None):
    environment = {**os.environ, "BALE_BUILD_DIR": str(COPY / "build"), "PYTHONPATH": str(COPY / "build" / "python"),
                   "BALE_TEST_EXAMPLES_PYTHON": os.environ.get("BALE_TEST_EXAMPLES_PYTHON") or str(REPO / ".venv-examples/bin/python"),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=COPY, capture_output=True, text=True, errors="replace", timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return None, "timeout"
    return done.returncode, done.stdout + done.stderr


def build(targets):
    code, output = run(["ninja", "-C", "build", *targets])
    if code != 0:
        sys.exit(f"does not build:\n{output[-3000:]}")


def result_of(test, python):
    """"passes", "fails" or "hangs"."""
    kind, *arguments = test
    if kind == "python":
        command = [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    else:
        command = [COPY / "build" / "tests" / f"test_{kind}", *arguments]
    code, output = run(command, TEST_SECONDS)
    is_skipped = code == 0 and " passed" not in output
    if "No test cases matched" in output or (kind == "python" and (code == NO_TESTS or is_skipped)):
        sys.exit(f"{' '.join(test)} runs nothing")
    return "hangs" if code is None else "passes" if code == 0 else "fails"


def text_of_test(name):
    """Of a Python test and of the tests' own modules that it imports."""
    text = (REPO / name).read_text()
    modules = re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)
    paths = (path for module in modules for path in (REPO / "tests" / "python").rglob(f"{module}.py"))
    return "".join([text, *(path.read_text() for path in paths)])


def targets_of(mutation):
    """What the test runs."""
    kind = mutation.test[0]
    if kind != "python":
        return [f"test_{kind}"]
    text = "".join(text_of_test(name.split("::")[0]) for name in mutation.test[1:] if ".py" in name)
    package = ["bale_python"] if re.search(r'(?:import|from) bale\b|importorskip\("bale"', text) else []
    return ["bale", "bale-worker", "tests/libbale_test_shim.so", *package, *sorted(set(re.findall(r'"(bale_\w+_(?:tool|bench|stages))"', text)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="those whose name has this in it")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--python", default=str(REPO / ".venv" / "bin" / "python"), help="with the tests' requirements")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="one of N parts, in a tree of its own: parts can run beside each other")
    options = parser.parse_args()
    global COPY
    part, mutations = part_of(load_mutations(), options.part)
    COPY = COPY.with_name(f"tree-{part}")
    mutations = [m for m in mutations if options.only in m.name]
    if options.list:
        print("\n".join(m.name for m in mutations))
        return 0
    started = time.monotonic()
    copy_tree()
    # A mutation costs one file, compiled with little optimization.
    linker = ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold"] if shutil.which("mold") else []
    code, output = run(["cmake", "--preset", "release", "-DBALE_TESTS=ON", "-DBALE_PYTHON=ON", "-DBALE_UNITY=OFF",
                        "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", f"-DPython_EXECUTABLE={options.python}",
                        f"-DBALE_TEST_PYTHON={options.python}", *linker])
    if code != 0:
        sys.exit(output)
    build(sorted({target for m in mutations for target in targets_of(m)}))

    # A test that fails without any mutation would prove nothing.
    useless = [test for test in dict.fromkeys(m.test for m in mutations) if result_of(test, options.python) != "passes"]
    for test in useless:
        print(f"FAILS WITHOUT ANY MUTATION  {' '.join(test)}", flush=True)
    mutations = [m for m in mutations if m.test not in useless]

    survivors = []
    for mutation in mutations:
        path = COPY / mutation.file
        original = path.read_text()
        mutated, count = mutation.applied_to(original)
        if count != 1:
            sys.exit(f"{mutation.name}: the text to replace is {count} times in {mutation.file}")
        begin = time.monotonic()
        try:
            path.write_text(mutated)
            build(targets_of(mutation))
            result = result_of(mutation.test, options.python)
        finally:
            path.write_text(original)
        print(f"{NOTICED[result]}  {mutation.name}  ({' '.join(mutation.test)}; {time.monotonic() - begin:.0f} s)",
              flush=True)
        if result == "passes":
            survivors.append(mutation.name)
    print(f"{len(mutations) - len(survivors)} of {len(mutations)} caught" +
          (f"; survivors: {', '.join(survivors)}" if survivors else "") + f"; {time.monotonic() - started:.0f} s")
    return 1 if survivors or useless else 0


if __name__ == "__main__":
    sys.exit(main())
