"""Docstrings of the public Python API are in NumPy's style, and say what the code says: each parameter with its default, and
what is returned and raised."""
import inspect
import json
import os
import re

import pytest
from conftest import REPO

bale = pytest.importorskip("bale")  # a build without Python has none
from docstring_support import check, findings_in, parameters_of  # noqa: E402
from python_support import SYSTEM_PYTHON, run_script  # noqa: E402


@pytest.mark.parametrize("place, least", [("bale", 28), ("bale.parquet", 2), ("bale.launch", 6), ("bale.transforms", 60), ("bale.transforms.presets", 19)])
def test_module(place, least):
    count, findings = findings_in(place)
    assert count >= least and findings == []


def test_torch_module():
    printed = run_script("""
        import json, sys
        sys.path.insert(0, sys.argv[1])
        from docstring_support import findings_in
        print(json.dumps(findings_in("bale.torch")))
    """, os.fspath(REPO / "tests" / "python" / "docs"), python=SYSTEM_PYTHON)
    count, findings = json.loads(printed)
    assert count == 8 and findings == []


def f(a, b=1):
    """Does something.

    Parameters
    ----------
    a : int
        A number.
    b : int, default 1
        Another.

    Returns
    -------
    int
        The sum.

    Raises
    ------
    ValueError
        If it is bad.
    """


@pytest.mark.parametrize("old, new", [
    ("a : int", "c : int"), ("default 1", "default 2"), (", default 1", ""), ("    A number.\n", ""), ("Returns\n-------", "Returns\n------"),
    ("Does something.", "Does\nsomething."), ("ValueError", "Nothing"), ("Returns\n-------\nint\n    The sum.\n\n", ""),
    ("Raises\n------\nValueError\n    If it is bad.\n", "")])
def test_the_check_finds_what_it_is_for(old, new):
    text = inspect.cleandoc(f.__doc__) + "\n"
    check("x.f", text, parameters_of(f), {}, returns=True)
    assert old in text
    with pytest.raises((AssertionError, AttributeError)):
        check("x.f", text.replace(old, new), parameters_of(f), {}, returns=True)


def test_help_of_the_loader_begins_with_what_it_is_and_ends_with_an_example():
    text = inspect.getdoc(bale.Loader)
    assert re.match(r"Shuffled, augmented batches of a packed dataset\.\n\nOne iteration is one epoch\.", text)
    assert text.index("Parameters\n") < text.index("Raises\n") < text.index("Threads: ") < text.index("Processes: ") < text.index(">>> loader")
