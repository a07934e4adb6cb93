"""Dtypes by name: what takes one takes those of torch and numpy, and their names."""
from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import torch
    from numpy.typing import DTypeLike

    DType: TypeAlias = DTypeLike | torch.dtype

_OTHER_NAMES = {"float": "float32", "half": "float16"}


def dtype_name(given: object) -> str:
    """numpy's name of a dtype of torch or numpy, or of a name. What is not a dtype becomes a text that names none."""
    found: str = given if isinstance(given, str) else getattr(given, "__name__", None) or str(given)
    found = found.removeprefix("torch.")
    return _OTHER_NAMES.get(found, found)
