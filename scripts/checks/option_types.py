#!/usr/bin/env python3
"""Writes python/bale/options.py from the tables of options of the libraries; a test compares the two.

usage: PYTHONPATH=build/python scripts/checks/option_types.py
"""
import pathlib

from bale import _bale

FILE = pathlib.Path(__file__).parents[2] / "python" / "bale" / "options.py"
CACHE = {"cache_dir": "str", "cache_limit": "Size"}  # of the process
QUIET = {"quiet": "bool"}
HEAD = '''"""The options of pack(), convert(), plan() and verify(): the program's flags, with underscores.

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
    pack, convert, plan = (dict(_bale.option_rows(command)) for command in ("pack", "convert", "plan"))
    shard = {name: kind for name, kind in pack.items() if name in convert and name in plan}
    write = {name: kind for name, kind in convert.items() if name not in shard}
    files = {name: kind for name, kind in plan.items() if name not in shard}
    assert pack == {**shard, **write, **files} | pack and set(pack) == {*shard, *write, *files}
    return HEAD + "".join([
        typed_dict("ShardOptions", "TypedDict", "Options of pack(), convert() and plan(). `bale pack --help` explains them.",
                   {**shard, **QUIET}),
        typed_dict("WriteOptions", "ShardOptions", "Options of both pack() and convert().", write),
        typed_dict("FileOptions", "TypedDict", "Options of pack() and plan() for sources that are not packed.", files),
        typed_dict("PackOptions", "WriteOptions, FileOptions", "Options of pack().", {}),
        typed_dict("PlanOptions", "ShardOptions, FileOptions", "Options of plan().", CACHE),
        typed_dict("ConvertOptions", "WriteOptions", "Options of convert().", CACHE),
        typed_dict("VerifyOptions", "TypedDict", "Options of verify(). `bale verify --help` explains them.",
                   {**dict(_bale.option_rows("verify")), **CACHE, **QUIET})])


if __name__ == "__main__":
    FILE.write_text(options_text())
