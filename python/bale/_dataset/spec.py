"""What a dataset is opened by, as one text; and how a text that may have secrets is shown."""
from __future__ import annotations

import os
from collections.abc import Sequence

from bale import _bale
from bale._types import Path

_SPECIAL = frozenset("*?[{")


def text_of_spec(spec: Path | Sequence[Path]) -> str:
    """A spec as one str, with relative paths made absolute, so that another process can open the same dataset. Raises
    ValueError for an empty list or a name that bale cannot read, TypeError for anything that is not a path."""
    if isinstance(spec, (list, tuple)):
        if not spec:
            raise ValueError("spec: an empty list names no dataset")
        return "::".join(text_of_spec(part) for part in spec)
    if not isinstance(spec, (str, bytes, os.PathLike)):
        raise TypeError(f"spec: {shown(repr(spec))} is not a path, or a list of paths")
    spec = os.fsdecode(spec)
    names = _bale.names_in_spec(spec)
    is_remote = [_bale.is_remote_name(name) for name in names]
    if all(remote or not name or os.path.isabs(name) for name, remote in zip(names, is_remote, strict=True)):
        return "::".join(names)
    here = os.getcwd()
    if _SPECIAL.intersection(here) or "::" in here:
        return spec
    return "::".join(name if remote or not name else os.path.join(here, name)
                     for name, remote in zip(names, is_remote, strict=True))


def shown(name: object) -> str:
    """A name or a sentence with names, without what may be secret in URLs: for reprs, warnings and errors."""
    return _bale.without_secrets(os.fsdecode(name) if isinstance(name, (bytes, os.PathLike)) else str(name))
