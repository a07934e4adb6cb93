"""The modes of images, by Pillow's names: what a Loader's transform begins with."""
from __future__ import annotations

from dataclasses import replace

from bale import _bale
from bale.transforms._operations.arguments import MODES
from bale.transforms._operations.compose import Compose


def with_mode(transform: Compose, mode: str | None) -> Compose:
    """The transform for images of this mode; None: of its own. Raises ValueError for a mode that does not exist, and for a
    transform that images of this mode cannot take."""
    if mode is None:
        return transform
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is none of {', '.join(map(repr, MODES))}")
    made = replace(transform, mode=mode)
    _bale.check_transform(made)
    return made
