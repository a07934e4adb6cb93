"""User-visible text is plain American English: docs/STYLE.md's short list of what not to write."""
import ast
import re

import pytest
from conftest import REPO

RATES = ("batch|class|core|epoch|image|line|machine|process|rank|row|second|shard|step|thread|worker")
BANNED = [
    (r"\banew\b", "again"), (r"\bpass(ed|es)? over\b", "ignored"), (r"\bbesides\b", "also"), (r"\btells? of\b", "says"),
    (r"\bso many\b(?![^.]*\bthat\b)", "this many"), (r"\bas ever\b", "as before"), (r"\bbehind (the|its) end\b", "after the end"),
    (r"\b(has|have) not\b(?! been\b)", "does not have"), (r"\btold\b", "reported"), (r"\bwhere (it|they|there|the \w+) (is|are|has|does|can)\b", "if"),
    (rf"\b(one|two|\d+|samples|images|bytes|transfers|ms|TIME) an? ({RATES})\b", "per"), (r"\bTIME AN\b", "TIME/IMAGE"),
    (r"(?<!there )(?<!There )\b(is|was|are|were) no (?!longer|more\b|less\b|other\b|such\b|one\b|trouble)\w", "is not a"),
    (r"(?<!-)\b[Bb]eside\b", "next to"), (r"\b(goes|go|going) on\b(?= (with|without|at|in|there|when|until|if|to)\b|[,.;:]|$)", "continues"),
    (r"\b[Mm]eanwhile\b", "in the meantime"), (r"\b[Ll]ikewise\b", "also"), (r"\bfor ever\b", "forever"), (r"\bin vain\b", "without success"),
    (r"\b(colour|grey|normalis|optimis|recognis|initialis|quantis|unoptimis)", "American spelling"),
]
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def strings_of_cpp(text):
    """Literals, those of neighboring lines joined; no comments, no includes."""
    text = re.sub(r"//[^\n]*|#include[^\n]*", "", text)
    text = re.sub(r'"\s*\n\s*"', "", text)
    return [match[1] for match in STRING.finditer(text)]


def strings_of_python(text):
    tree = ast.parse(text)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree)
                  if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node)}
    return [node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings]


def findings_in(strings):
    return [(found[0], instead, string) for string in strings if " " in string
            for pattern, instead in BANNED for found in re.finditer(pattern, string)]


@pytest.mark.parametrize("room", ["formats", "reader", "writer", "loader", "tools", "python"])
def test_messages_and_help(room):
    findings = []
    for path in sorted((REPO / room).rglob("*")):
        if path.suffix in (".cpp", ".hpp"):
            strings = strings_of_cpp(path.read_text())
        elif path.suffix == ".py":
            strings = strings_of_python(path.read_text())
        else:
            continue
        findings += [(str(path.relative_to(REPO)), *finding) for finding in findings_in(strings)]
    assert findings == []


def prose_of(text):
    """A page without its blocks of code, what it quotes, and its table of what not to write."""
    text = re.sub(r"```.*?```|^    [^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [re.sub(r"`[^`]*`", "", line) for line in text.split("\n")]


def test_pages():
    pages = [page for page in sorted(REPO.rglob("*.md")) if page.name not in ("STYLE.md", "CHANGELOG.md")
             and not page.relative_to(REPO).parts[0].startswith((".venv", "build"))]
    assert len(pages) > 40
    findings = [(str(page.relative_to(REPO)), *finding) for page in pages for finding in findings_in(prose_of(page.read_text()))]
    in_messages_only = ("if", "ignored", "does not have")  # "where the file is" and "have not changed" are right in prose
    assert [finding for finding in findings if finding[2] not in in_messages_only] == []


def comments_of(path):
    """Comments and docstrings, without what they quote, and the names of tests as words."""
    text = path.read_text()
    if path.suffix == ".py":
        comments = re.findall(r"(?<![\"'\w])#[^\n]*", text) + re.findall(r'"""(.*?)"""', text, re.DOTALL)
        names = [name.replace("_", " ") for name in re.findall(r"def (test_\w+)", text)]
    else:
        comments = re.findall(r"//[^\n]*", text)
        names = re.findall(r'TEST_CASE\(\s*"([^"]*)"', text)
    return [re.sub(r"`[^`]*`|\"[^\"]*\"", "", line) for comment in comments for line in comment.split("\n")] + names


@pytest.mark.parametrize("room", ["formats", "reader", "writer", "loader", "tools", "python", "tests", "scripts"])
def test_comments_and_names_of_tests(room):
    skipped = ("golden", "foreign", "test_language.py")
    findings = [(str(path.relative_to(REPO)), *finding) for path in sorted((REPO / room).rglob("*"))
                if path.suffix in (".cpp", ".hpp", ".cu", ".py") and not any(part in skipped for part in path.relative_to(REPO).parts)
                for finding in findings_in(comments_of(path))]
    in_messages_only = ("if", "ignored", "does not have", "also", "this many", "per", "reported", "says")
    assert [finding for finding in findings if finding[2] not in in_messages_only] == []


def test_the_check_finds_what_it_is_for():
    found = findings_in(strings_of_cpp('f("a worker is started anew"); // anew\ng("2 images a "\n  "second");'))
    assert [what for what, _, _ in found] == ["anew", "images a second"]
