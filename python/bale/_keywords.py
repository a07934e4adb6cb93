"""The keyword arguments of functions that pass them on as options."""
from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping

from bale.errors import KeywordError, make_error

_VALUES = {"shuffle": "the seed of the order, such as shuffle=1", "where": "a condition, such as where='width >= 64'",
           "split": "names and fractions, such as split='train=0.9,val=0.1'"}


def check_keywords(function: str, given: Mapping[str, object], options: type, more: Iterable[str] = ()) -> None:
    """Compares keywords with those of a class of bale.options, and with `more`. Raises KeywordError for one that is none of
    them, and ArgumentError for True as the value of one that needs another."""
    types = options.__annotations__
    known = [*types, *more]
    for name, value in given.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            raise KeywordError(f"bale.{function}() has no option {name!r}" + (f"; did you mean {close[0]!r}?" if close else
                               f"; `bale {function} --help` lists them"))
        if value is True and name in types and "bool" not in str(types[name]):
            raise make_error("invalid_argument", f"{name}=True: it takes {_VALUES.get(name, 'a value')}")


def option_texts(options: Mapping[str, object]) -> dict[str, list[str]]:
    """The given options as the libraries take them: their values as texts, none for a flag."""
    return {name: _texts(value) for name, value in options.items() if value is not None and value is not False}


def _texts(value: object) -> list[str]:
    if value is True:
        return []
    if isinstance(value, (str, bytes, os.PathLike, Mapping)) or not isinstance(value, Iterable):
        value = [value]
    return [os.fsdecode(one) if isinstance(one, (bytes, os.PathLike)) else str(one) for one in value]
