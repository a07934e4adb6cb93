"""The modes of images, by Pillow's names: what a Loader's transform begins with."""
from __future__ import annotations

from dataclasses import replace

from bale import _bale
from bale.transforms.compose import Compose
from bale.transforms.recipes import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bale.transforms.recipes import Transform


def with_mode(transform: Transform | Compose, mode: str | None) -> Transform | Compose:
    """The transform for images of this mode; None: of its own. Raises ValueError for a mode that does not exist, and for a
    transform that images of this mode cannot take."""
    if mode is None:
        return transform
    if mode not in MODES:
        raise ValueError(f"mode: {mode!r} is none of {', '.join(map(repr, MODES))}")
    if isinstance(transform, Compose):
        made: Transform | Compose = replace(transform, mode=mode)
    else:
        made = transform._replace(mode=mode, dtype="uint16" if mode == "I;16" and transform.dtype == "uint8" else transform.dtype)
    _bale.check_transform(made)
    return made
