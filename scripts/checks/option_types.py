#!/usr/bin/env python3
"""Writes python/bale/options.py and python/bale/_loader/reading.py from the tables of options of the libraries; tests compare
them.

usage: PYTHONPATH=build/python scripts/checks/option_types.py
"""
import json
import pathlib
import textwrap

from bale import _bale

PACKAGE = pathlib.Path(__file__).parents[2] / "python" / "bale"
CACHE = {"cache_dir": "str", "cache_limit": "Size"}  # of the process
QUIET = {"quiet": "bool"}
HEAD = '''"""The options of pack(), convert(), plan(), add() and verify(): the program's flags, with underscores.

Made by scripts/checks/option_types.py from the tables of the libraries.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict, Union

Size = Union[int, str]  # bytes: 1 << 30, "1GiB", "256MB"
OnError = Literal["fail", "skip", "quarantine"]
'''


def typed_dict(name: str, bases: str, text: str, rows: dict[str, str]) -> str:
    head = f'\n\nclass {name}({bases}, total=False):\n    """{text}"""\n'
    return head + ("\n" if rows else "") + "".join(f"    {keyword}: {kind}\n" for keyword, kind in rows.items())


def options_text() -> str:
    pack, convert, plan, add = (dict(_bale.option_rows(command)) for command in ("pack", "convert", "plan", "add"))
    shard = {name: kind for name, kind in pack.items() if name in convert and name in plan}
    write = {name: kind for name, kind in convert.items() if name not in shard}
    files = {name: kind for name, kind in plan.items() if name not in shard}
    assert pack == {**shard, **write, **files} | pack and set(pack) == {*shard, *write, *files}
    sample = {name: kind for name, kind in shard.items() if name in add}
    assert set(files) <= set(add)
    return HEAD + "".join([
        typed_dict("SampleOptions", "TypedDict", "Options of pack(), convert(), plan() and add(). `bale pack --help` explains them.",
                   {**sample, **QUIET}),
        typed_dict("ShardOptions", "SampleOptions", "Options of pack(), convert() and plan().",
                   {name: kind for name, kind in shard.items() if name not in sample}),
        typed_dict("WriteOptions", "ShardOptions", "Options of both pack() and convert().", write),
        typed_dict("FileOptions", "TypedDict", "Options of pack(), plan() and add() for sources that are not packed.", files),
        typed_dict("PackOptions", "WriteOptions, FileOptions", "Options of pack().", {}),
        typed_dict("PlanOptions", "ShardOptions, FileOptions", "Options of plan().", CACHE),
        typed_dict("ConvertOptions", "WriteOptions", "Options of convert().", CACHE),
        typed_dict("AddOptions", "SampleOptions, FileOptions", "Options of add(). `bale add --help` explains them.",
                   {**{name: kind for name, kind in add.items() if name not in sample and name not in files}, **CACHE}),
        typed_dict("VerifyOptions", "TypedDict", "Options of verify(). `bale verify --help` explains them.",
                   {**dict(_bale.option_rows("verify")), **CACHE, **QUIET})])


READING = '''"""How samples are read, an option of Loaders. Made by scripts/checks/option_types.py from the table of the loader."""
from __future__ import annotations

from typing import Literal, NamedTuple

from bale import _bale

ImageMode = Literal["RGB", "L", "RGBA", "I;16"]


class Reading(NamedTuple):
    """How samples are read and decoded, as `reading=` of a Loader.

    Parameters
    ----------
%s

    Notes
    -----
    The Loader checks the values: it raises ValueError.

    Examples
    --------
    >>> loader = bale.Loader("packs/train", reading=bale.Reading(mode="L", verify_checksums=False))
    """

%s
'''
MODE = ("mode", "{'RGB', 'L', 'RGBA', 'I;16'} or None, default None", "ImageMode | None = None",
        "What images are decoded to, by Pillow's names: \"L\" has one channel, \"RGBA\" four, \"I;16\" is 16-bit gray PNGs and TIFFs "
        "as uint16, which can be cropped, flipped and resized. The transform changes such images. An image that a mode cannot give "
        "is a bad sample. None: the transform's own mode, usually RGB.")
CHOICES = {"labels": ("merged", "separate")}


def reading_text() -> str:
    rows = []
    for keyword, default, text in _bale.reading_rows():
        kind = type(default).__name__
        shown = f"{default >> 20} << 20" if kind == "int" and default > 0 and default % (1 << 20) == 0 else repr(default)
        annotation = kind
        if keyword in CHOICES:
            kind, annotation = f"{{{', '.join(map(repr, CHOICES[keyword]))}}}", f"Literal[{', '.join(map(json.dumps, CHOICES[keyword]))}]"
        if default == _bale.NO_LABEL:
            shown = "bale.NO_LABEL"
        code = json.dumps(default) if isinstance(default, str) else shown.replace("bale.", "_bale.")
        rows.append((keyword, f"{kind}, default {shown}", f"{annotation} = {code}", text))
    rows.insert(1 + [row[0] for row in rows].index("no_label"), MODE)  # of the transform, so the table does not have it
    texts = [f"{keyword} : {kind}\n" + textwrap.fill(text, 118, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
             for keyword, kind, _, text in rows]
    members = [f"{keyword}: {code}" for keyword, _, code, _ in rows]
    return READING % (textwrap.indent("\n".join(texts), "    "), textwrap.indent("\n".join(members), "    "))


if __name__ == "__main__":
    (PACKAGE / "options.py").write_text(options_text())
    (PACKAGE / "_loader" / "reading.py").write_text(reading_text())
