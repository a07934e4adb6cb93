"""Every mutation of tests/mutations fits the code, and names a test that there is: none runs here (scripts/checks/check_mutations.py)."""
import re
import sys

from conftest import REPO

sys.path.insert(0, str(REPO / "tests"))
from mutations import MUTATIONS  # noqa: E402


def test_each_fits_the_code():
    texts = {mutation.file: (REPO / mutation.file).read_text() for mutation in MUTATIONS}
    unfit = [(mutation.name, mutation.file) for mutation in MUTATIONS if mutation.applied_to(texts[mutation.file])[1] != 1]
    assert not unfit


def test_each_changes_the_code():
    assert not [mutation.name for mutation in MUTATIONS if mutation.old == mutation.new]


def test_each_names_a_test():
    sources = "\n".join(path.read_text() for path in (REPO / "tests").rglob("*.cpp"))
    cases = re.findall(r'\b(?:TEMPLATE_)?TEST_CASE(?:_METHOD)?\((?:[\w:]+,)?\s*"((?:[^"\\]|\\.)*)"', sources)
    lists = "\n".join(path.read_text() for path in (REPO / "tests").rglob("CMakeLists.txt"))
    programs = {"python", *re.findall(r"bale_add_test\((\w+)", lists)}
    lost = [(mutation.name, mutation.test[0]) for mutation in MUTATIONS if mutation.test[0] not in programs]
    for mutation in MUTATIONS:
        kind, *arguments = mutation.test
        if kind == "python":
            files = [argument for argument in arguments if argument.endswith(".py") or ".py::" in argument]
            lost += [(mutation.name, name) for name in files if not (REPO / name.split("::")[0]).is_file()]
            words = " ".join(arguments[arguments.index("-k") + 1:][:1]) if "-k" in arguments else ""
            words = [word for word in re.split(r"[\s()]+", words) if word not in ("", "and", "or", "not")]
            text = "".join((REPO / name.split("::")[0]).read_text() for name in files)
            lost += [(mutation.name, word) for word in words if word not in text]
            continue
        for pattern in arguments:
            shape = re.compile(".*".join(map(re.escape, pattern.removeprefix("~").split("*"))), re.IGNORECASE)
            if not pattern.startswith(("[", "-")) and not any(shape.fullmatch(case) for case in cases):
                lost.append((mutation.name, pattern))
    assert not lost
