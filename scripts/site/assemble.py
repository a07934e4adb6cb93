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

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
ROOMS = ("docs", "formats", "reader", "writer", "loader", "tools", "python")
PYTHON_PAGES = {
    "python": ("Python", "bale", "Importing `bale` imports neither torch nor numpy.", [
        "Dataset", "Loader", "Batch", "DeviceBatch", "BadSample", "Field", "Ragged", "Writer", "pack", "convert", "plan", "pack_part",
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
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return sorted(name for name in ast.literal_eval(node.value) if not name.isupper())
    raise SystemExit(f"{path} has no __all__")


def main():
    bale, destination = sys.argv[1], pathlib.Path(sys.argv[2])
    copy_documents(destination)
    (destination / "reference").mkdir(exist_ok=True)
    (destination / "reference" / "cli.md").write_text(command_line_page(bale))
    for page, (title, module, sentence, names) in PYTHON_PAGES.items():
        parts = [f"# {title}\n\n{sentence}\n"] + [f"::: {module}.{name}\n" for name in names or names_of(module)]
        (destination / "reference" / f"{page}.md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
