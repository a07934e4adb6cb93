"""What the documents say exists, exists."""
import pathlib
import re

import pytest
from conftest import REPO

DOCUMENTS = sorted([*REPO.glob("*.md"), *(path for room in ("docs", "formats", "loader", "python") for path in (REPO / room).rglob("*.md"))])
ROOMS = "formats|reader|writer|loader|tools|python|tests|scripts|docs"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(REPO)))
def test_paths_exist(document):
    text = document.read_text()
    named = set(re.findall(rf"`((?:{ROOMS})/[\w./-]*)`", text))
    missing = [path for path in named if not (REPO / path).exists()]
    for name, room in re.findall(rf"`(bale/({ROOMS})/[\w./-]*)`", text):  # as an include names an installed header
        if not (REPO / room / "include" / name).exists():
            missing.append(name)
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        if not (document.parent / target).exists():
            missing.append(target)
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(REPO)))
def test_commands_and_options_exist(bale, document):
    """Every `bale COMMAND --option` in a code block or in backticks is one that the program knows."""
    text = document.read_text()
    code = "\n".join(re.findall(r"```.*?\n(.*?)```", text, re.S)) + "\n" + "\n".join(re.findall(r"`(bale [^`]+)`", text))
    code = code.replace("\\\n", " ")
    help_texts = {}
    for command, rest in re.findall(r"\bbale ([a-z]+)\b([^\n|;&]*)", code):
        if command not in help_texts:
            help_texts[command] = bale.ok(command, "--help").out
        for option in re.findall(r"(?<!\S)--?[a-z0][a-z-]*", rest.split("#")[0]):
            assert re.search(rf"(?<!\S){re.escape(option)}\b", help_texts[command]), (command, option)


# Pages with options of other programs (sbatch, docker, the scripts).
OF_OTHERS = {"BENCHMARKS", "INSTALL", "SCALE", "TROUBLESHOOTING", "CONTRIBUTING", "TESTING"}


@pytest.mark.parametrize("document", [path for path in DOCUMENTS if path.parts[-2] in ("docs", "tutorials") and path.stem not in OF_OTHERS],
                         ids=lambda p: p.stem)
def test_options_in_backticks_exist(bale, document):
    """Every `--option` in a sentence or a table is one of some command."""
    known = set(re.findall(r"--[a-z0][a-z0-9-]*", bale.ok("man").out.replace("\\-", "-")))
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.S)
    named = {option for code in re.findall(r"`(--[^`\n]+)`", text) for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", code)}
    assert named - known == set()


@pytest.mark.parametrize("table, header", [("LoaderOptions", "loader_options"), ("CudaOptions", "cuda/cuda_loader")])
def test_tables_of_options_have_the_defaults(table, header):
    """Rows of docs/TUNING.md name members of the structs, and say their defaults."""
    code = (REPO / "loader" / "include" / "bale" / "loader" / f"{header}.hpp").read_text()
    members = dict(re.findall(r"^  [\w:<>]+ (\w+)(?: =\s+([^;]*)|\{\});", code, re.M))
    rows = (REPO / "docs" / "TUNING.md").read_text().partition(f"| `{table}` |")[2].partition("\n\n")[0].splitlines()[2:]
    written = {"yes": "true", "no": "false", "none": "", "128 MiB": "std::uint64_t{128} << 20", "one per core of the rank": "k_workers_auto"}
    assert len(rows) > 5
    for names, default in (row.split(" | ")[:2] for row in rows):
        for name, value in zip(re.findall(r"`(\w+)`", names), default.split(", ")):
            value = value.strip("`")
            assert members[name].removesuffix("()").split("::")[-1] == written.get(value, value).split("::")[-1], name


def test_places_of_an_operation():
    """Each place that docs/CONTRIBUTING.md lists for a new operation has its example, Invert."""
    rows = (REPO / "docs" / "CONTRIBUTING.md").read_text().partition("`Invert` shows all places")[2].partition("\n\n")[2].partition("\n\n")[0]
    places = [re.findall(r"`([\w./]+/[\w.]+\.(?:hpp|cpp|py))`", row.split(" | ")[0]) for row in rows.splitlines()[2:]]
    assert len(places) == 8 and all(places)
    for alternatives in places:
        assert any("invert" in (REPO / path).read_text().lower() for path in alternatives), alternatives


def test_error_texts_in_troubleshooting_are_in_the_code():
    """docs/TROUBLESHOOTING.md is by exact text: the words that each entry begins with occur in the sources."""
    sources = ""
    for room in ("formats", "reader", "writer", "loader", "python", "tools"):
        for path in (REPO / room).rglob("*"):
            if path.suffix in (".cpp", ".hpp", ".py"):
                sources += path.read_text()
    sources = re.sub(r'"\s*\n\s*"', "", sources).replace('\\"', '"')  # literals that go over two lines
    sources += re.sub(r"`([a-z_]+)`", lambda name: "--" + name[1].replace("_", "-"), sources)  # as the program shows them
    entries = re.findall(r"^- ((?:`[^`\n]+`(?:, )?)+):", (REPO / "docs" / "TROUBLESHOOTING.md").read_text(), re.M)
    texts = [text for entry in entries for text in re.findall(r"`([^`]+)`", entry)]
    assert len(texts) > 50
    system = ("No space left on device", "Permission denied", "Too many open files")
    assert [text for text in texts if text not in sources and text not in system] == []


@pytest.mark.parametrize("document", ["GUARANTEES", "ELSEWHERE"])
def test_promises_are_tested(document):
    """Every promise names its tests as `file` or `file::test,test`, and they are there."""
    text = (REPO / "docs" / f"{document}.md").read_text()
    promises = [line for line in text.splitlines() if line.startswith("- " if document == "GUARANTEES" else "| ") and "`tests/" in line]
    assert len(promises) > 10
    if document == "GUARANTEES":
        assert [line for line in text.splitlines() if line.startswith("- ") and "`tests/" not in line] == []
    for file, names in re.findall(r"`(tests/[\w/.-]+)(?:::([^`]+))?`", text):
        source = (REPO / pathlib.Path(file)).read_text() if names else ""
        assert (REPO / pathlib.Path(file)).exists(), file
        for name in names.split(",") if file.endswith(".py") else [names]:
            assert (f"def {name}(" if name and file.endswith(".py") else name) in source, (file, name)


def test_the_site_has_every_document():
    """scripts/release/site/mkdocs.yml lists all of docs/, and nothing that does not exist."""
    listed = set(re.findall(r": ((?:docs|README|CHANGELOG)[\w/.-]*\.md)$", (REPO / "scripts" / "release" / "site" / "mkdocs.yml").read_text(), re.M))
    there = {str(path.relative_to(REPO)) for path in (REPO / "docs").rglob("*.md")} - {"docs/STYLE.md", "docs/README.md"}
    assert listed == there | {"README.md", "CHANGELOG.md"}
