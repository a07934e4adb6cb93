"""Keywords that Loaders had before Order, Reading and Cuda. They work, with a warning that has the new spelling."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bale._loader.options import Order
from bale._loader.reading import Reading
from bale._warnings import warn

# Members of Order and Reading that are also keywords of a Loader, without a warning.
KEYWORDS = ("where", "shares", "epoch_samples", "exact_every", "labels")
# The keyword, the name of its value, and the value's member.
_MOVED = {
    **{name: ("order", name) for name in Order._fields if name != "together"},
    **{name: ("reading", name) for name in Reading._fields},
    **{name: ("device", name) for name in ("depth", "hold", "decode")},
    "device_hflip": ("device", "hflip"),
    "device_convert": ("device", "convert"),
}
OLD_KEYWORDS = frozenset(_MOVED)


def with_old_keywords(function: str, given: Mapping[str, Any], **values: Any) -> tuple[Any, ...]:
    """The values (order, reading, device) with what old keywords say. Raises TypeError for a keyword that never was one."""
    spellings = []
    for keyword, value in given.items():
        option, member = _MOVED.get(keyword, ("", ""))
        if option not in values:
            raise TypeError(f"{function}() got an unexpected keyword argument {keyword!r}")
        values[option] = values[option]._replace(**{member: value})
        if keyword in KEYWORDS:
            continue
        spellings.append(f"{keyword}= is {option}=bale.{type(values[option]).__name__}({member}=...)")
    if spellings:
        warn(f"{function}: {'; '.join(spellings)} now. The old keywords will be removed", DeprecationWarning)
    return tuple(values.values())
