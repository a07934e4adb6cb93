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


def test_the_check_finds_what_it_is_for():
    found = findings_in(strings_of_cpp('f("a worker is started anew"); // anew\ng("2 images a "\n  "second");'))
    assert [what for what, _, _ in found] == ["anew", "images a second"]
