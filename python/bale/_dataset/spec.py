"""What a dataset is opened by, as one text; and how a text that may have secrets is shown."""
from __future__ import annotations

import os
from collections.abc import Sequence

from bale import _bale
from bale._types import Path


def text_of_spec(spec: Path | Sequence[Path]) -> str:
    """A spec as one str, with relative paths made absolute, so that another process can open the same dataset. Raises
    ValueError for an empty list or a name that bale cannot read, TypeError for anything that is not a path."""
    if isinstance(spec, (list, tuple)):
        if not spec:
            raise ValueError("spec: an empty list names no dataset")
        return "::".join(text_of_spec(part) for part in spec)
    if not isinstance(spec, (str, bytes, os.PathLike)):
        raise TypeError(f"spec: {shown(repr(spec))} is not a path, or a list of paths")
    return _bale.absolute_spec(os.fsdecode(spec))


def shown(name: object) -> str:
    """A name or a sentence with names, without what may be secret in URLs: for reprs, warnings and errors."""
    return _bale.without_secrets(os.fsdecode(name) if isinstance(name, (bytes, os.PathLike)) else str(name))
