#!/usr/bin/env python3
"""Gathers the pages of the documentation site: the project's Markdown files, in the folders in which they are, so that their
links work, and reference pages made from `bale --help` and from the docstrings.

usage: assemble.py BALE DESTINATION     BALE is the program
"""
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

HOME = pathlib.Path(__file__).resolve().parents[3]
ROOMS = ("docs", "formats", "reader", "writer", "loader", "tools", "python")
PYTHON_PAGES = {
    "python": ("Python", "bale", "Importing `bale` imports neither torch nor numpy.", [
        "Dataset", "Loader", "Order", "Reading", "Cuda", "Batch", "DeviceBatch", "BadSample", "Field", "Ragged", "Writer", "pack", "convert", "plan", "pack_part",
        "merge", "verify", "inspect", "parquet.samples", "to_parquet", "to_mds", "open_file", "set_cache", "cuda_available", "Error"]),
    "python-torch": ("PyTorch", "bale.torch", "`import bale.torch as bt`.", None),
    "python-transforms": ("Transforms in Python", "bale.transforms", "`from bale import transforms as T`. [How to choose](../docs/TRANSFORMS.md).",
                          None),
}


def copy_documents(destination):
    documents = [path for room in ROOMS for path in (HOME / room).rglob("*.md")]
    for path in [HOME / "README.md", HOME / "CHANGELOG.md", HOME / "LICENSE", *documents]:
        copy = destination / path.relative_to(HOME)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.name == "LICENSE":
            shutil.copy(path, copy)
            continue
        # A link to a folder or to a source file has no page: its text remains.
        text = path.read_text()
        copy.write_text(re.sub(r"\[([^\]\n]+)\]\(([^)#:]+)(#[^)]*)?\)", lambda link: kept_link(path, link), text))


def kept_link(path, link):
    target = (path.parent / link[2]).resolve()
    if target.is_dir() and (target / "README.md").exists():
        return f"[{link[1]}]({link[2].rstrip('/')}/README.md{link[3] or ''})"
    return link[0] if target.suffix == ".md" else link[1]


def command_line_page(bale):
    overview = subprocess.run([bale, "--help"], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"^  ([a-z]+)  ", overview.partition("Commands:")[2].partition("Options:")[0], re.M)
    assert commands, overview
    sections = [f"# Command line\n\n```text\n{overview}```\n"]
    for command in commands:
        help_text = subprocess.run([bale, command, "--help"], check=True, capture_output=True, text=True).stdout
        sections.append(f"## bale {command}\n\n```text\n{help_text}```\n")
    return "\n".join(sections)


def names_of(module):
    """__all__ of the module, without importing it."""
    import ast
    path = HOME / "python" / module.replace(".", "/") / "__init__.py"
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return sorted(name for name in ast.literal_eval(node.value) if not name.isupper())
    raise SystemExit(f"{path} has no __all__")


def first_sentence(header):
    """Of the comment that a header begins with, without the name before its colon."""
    comment = []
    for line in header.read_text().splitlines():
        if not line.startswith("// "):
            break
        comment.append(line.removeprefix("// "))
    sentence = re.split(r"(?<=[.:])\s", " ".join(comment) + " ")
    sentence = sentence[1] if sentence[0].endswith(":") and len(sentence) > 1 else sentence[0]
    is_name = re.match(r"\w*[_(]", sentence)
    return (sentence if is_name else sentence[:1].upper() + sentence[1:]).rstrip(":")


def cpp_pages(destination):
    """Doxygen's pages of the installed headers below cpp/, and one page that lists the headers."""
    rooms = {room: HOME / room / "include" for room in ("reader", "writer", "loader", "formats")}
    made = destination / "cpp"
    made.mkdir()
    settings = [(pathlib.Path(__file__).parent / "Doxyfile").read_text(), f"OUTPUT_DIRECTORY = {made}",
                f"GENERATE_TAGFILE = {made}/tags.xml", f"FILTER_PATTERNS = *.hpp={pathlib.Path(__file__).parent}/header_comment.py",
                "INPUT = " + " ".join(map(str, rooms.values())),
                "STRIP_FROM_PATH = " + " ".join(map(str, rooms.values())),
                "STRIP_FROM_INC_PATH = " + " ".join(map(str, rooms.values()))]
    subprocess.run(["doxygen", "-"], check=True, input="\n".join(settings), text=True)
    pages = {}
    for compound in xml.etree.ElementTree.parse(made / "tags.xml").iterfind("compound[@kind='file']"):
        pages[pathlib.Path(compound.findtext("path"), compound.findtext("name")).as_posix()] = compound.findtext("filename")
    parts = ["# C++\n\nThe headers of an [installed bale](../docs/INSTALL.md), by folder. [All classes](../cpp/annotated.html).\n"]
    for room, include in rooms.items():
        parts.append(f"## {room}\n")
        for header in sorted(include.rglob("*.hpp")):
            page = pages.get(str(header)) or pages[header.relative_to(include).as_posix()]
            page += "" if page.endswith(".html") else ".html"
            parts.append(f"- [`{header.relative_to(include)}`](../cpp/{page}): {first_sentence(header)}")
        parts.append("")
    (destination / "reference" / "cpp.md").write_text("\n".join(parts))
    (made / "tags.xml").unlink()


def main():
    bale, destination = sys.argv[1], pathlib.Path(sys.argv[2])
    copy_documents(destination)
    (destination / "reference").mkdir(exist_ok=True)
    (destination / "reference" / "cli.md").write_text(command_line_page(bale))
    cpp_pages(destination)
    for page, (title, module, sentence, names) in PYTHON_PAGES.items():
        parts = [f"# {title}\n\n{sentence}\n"] + [f"::: {module}.{name}\n" for name in names or names_of(module)]
        (destination / "reference" / f"{page}.md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
