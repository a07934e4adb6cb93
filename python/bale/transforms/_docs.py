"""What docstrings of transforms and presets have in common. help() shows it; a test compares it with the code."""
from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ORDER = ("Parameters", "Attributes", "Returns", "Raises", "Warns", "Notes", "Examples")

_RAISES = """ValueError
    If an argument is out of range.
TypeError
    If an argument has a type that it cannot have."""

_RETURNS = {"Compose": "Compose\n    For Loader(transform=...).",
            "list[Compose]": "list of Compose\n    One per view, for Loader(views=...)."}

# Parameters of presets: type and text.
_PARAMETERS = {
    "size": ("int or (int, int)", "Side in pixels, or (height, width)."),
    "hflip": ("float", "Probability that the image is mirrored."),
    "mean": ("sequence of float", "Mean of each channel, of values in [0, 1]."),
    "std": ("sequence of float", "Standard deviation of each channel, of values in [0, 1]."),
    "dtype": ("str or dtype", 'Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.'),
    "layout": ("str", 'Memory layout of the batch\'s pixels: "nhwc" or "nchw".'),
}


def with_raises(text: str) -> str:
    """A docstring with parameters, with the section Raises that they all have, if it has none of its own."""
    head, sections = _split(text)
    if "Parameters" in sections:
        sections.setdefault("Raises", _RAISES)
    return _joined(head, sections)


def described(function: _Function) -> _Function:
    """Completes the docstring of a preset."""
    if function.__doc__ is not None:  # it is, with python -OO
        parameters = {one.name: None if one.default is one.empty else repr(one.default) for one in inspect.signature(function).parameters.values()}
        function.__doc__ = with_parameters(function.__doc__, parameters, function.__annotations__["return"])
    return function


def with_parameters(text: str, parameters: Mapping[str, str | None], returns: str) -> str:
    """The docstring of a preset, with parameters of the table, in the order of `parameters` (the default of each, by name), what it
    returns, and Raises."""
    head, sections = _split(text)
    written = {name: entry for entry in re.findall(r"^\S.*(?:\n    .*)*", sections.get("Parameters", ""), flags=re.M)
               for name in entry.partition(" : ")[0].lstrip("*").split(", ")}
    entries = [written.get(name) or _entry(name, default) for name, default in parameters.items()]
    sections["Parameters"] = "\n".join(dict.fromkeys(entries))
    sections.setdefault("Returns", _RETURNS.get(returns, ""))
    return with_raises(_joined(head, sections))


def _entry(name: str, default: str | None) -> str:
    kind, text = _PARAMETERS[name]
    return f"{name} : {kind}{'' if default is None else f', default {default}'}\n    {text}"


def _split(text: str) -> tuple[str, dict[str, str]]:
    """What is before the sections, and these by their titles."""
    head, *rest = re.split(r"\n\n(\w+)\n-{3,}\n", inspect.cleandoc(text))
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def _joined(head: str, sections: dict[str, str]) -> str:
    ordered = sorted(sections.items(), key=lambda section: _ORDER.index(section[0]))
    return "\n\n".join([head, *(f"{title}\n{'-' * len(title)}\n{body.rstrip()}" for title, body in ordered)])
