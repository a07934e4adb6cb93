"""Types that several modules name."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Options: TypeAlias = dict[str, Any]  # keyword arguments
Json: TypeAlias = dict[str, Any]  # an object
Report: TypeAlias = Json
Numbers: TypeAlias = "ArrayLike"
Shuffle: TypeAlias = bool | Literal["block", "node-local", "stream"]
Tail: TypeAlias = Literal["pad", "drop", "uneven"]
