"""Types that several modules name, and dtypes by name: what takes one takes those of torch and numpy, and their names."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike, DTypeLike

    DType: TypeAlias = DTypeLike | torch.dtype

Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Options: TypeAlias = dict[str, Any]  # keyword arguments
Json: TypeAlias = dict[str, Any]  # an object
Report: TypeAlias = Json
Numbers: TypeAlias = "ArrayLike"
Shuffle: TypeAlias = bool | Literal["block", "node-local", "stream"]
Tail: TypeAlias = Literal["pad", "drop", "uneven"]

_OTHER_NAMES = {"float": "float32", "half": "float16"}


def dtype_name(given: object) -> str:
    """numpy's name of a dtype of torch or numpy, or of a name. What is not a dtype becomes a text that names none."""
    found: str = given if isinstance(given, str) else getattr(given, "__name__", None) or str(given)
    found = found.removeprefix("torch.")
    return _OTHER_NAMES.get(found, found)
