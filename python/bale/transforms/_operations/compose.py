"""Compose: a list of transforms, as the Loader takes it."""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from bale.transforms._operations import arguments
from bale.transforms._operations.control import operations
from bale.transforms._operations.ending import Normalize, ToDtype
from bale.transforms._operations.operation import Operation
from bale.transforms._operations.order import in_native_order


@dataclass(frozen=True, repr=False)
class Compose(Operation):
    """Runs its transforms in order. The Loader's workers run it natively: Loader(transform=Compose([...])).

    Flips and crops after ToTensor or ToDtype, as in some lists, run before it, which gives the same pixels; other
    transforms there raise ValueError. In a nested Compose, layout, pillow, mode and shape are ignored.

    Parameters
    ----------
    transforms : sequence of Operation
        Of bale.transforms. Without ToDtype the batch is uint8.
    mode : str, default 'RGB'
        What images are decoded to, by Pillow's names: "RGB", "L", "RGBA" or "I;16"; Loader(mode=...) replaces it.
    shape : str, default 'fixed'
        "fixed": after the list, all images have one size. "ragged": they are unscaled, each of its own size; the list has
        only ToDtype and Normalize. "raw": the stored bytes, not decoded; the list is empty.

    Examples
    --------
    >>> from bale import transforms as T
    >>> transform = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize()])
    """

    transforms: Sequence[Operation]
    layout: str = "nhwc"
    pillow: str | int = "13"
    mode: str = "RGB"
    shape: str = "fixed"

    def __post_init__(self) -> None:
        if self.layout not in ("nhwc", "nchw"):
            arguments.refuse("layout", self.layout, "'nhwc' or 'nchw'")
        if str(self.pillow) not in ("12", "13"):
            arguments.refuse("pillow", self.pillow, "'12' or '13'")
        if self.mode not in arguments.MODES:
            arguments.refuse("mode", self.mode, " or ".join(map(repr, arguments.MODES)))
        if self.shape not in ("fixed", "ragged", "raw"):
            arguments.refuse("shape", self.shape, "'fixed', 'ragged' or 'raw'")
        self._normalized(transforms=operations("transforms", self.transforms), pillow=str(self.pillow))
        in_native_order(self.transforms)

    def to_dict(self) -> dict[str, object]:
        """The list for the native code.

        Returns
        -------
        dict
            {"name": "Compose", "transforms": [...]}.
        """
        return {"name": "Compose", "transforms": [one.to_dict() for one in in_native_order(self.transforms)]}

    def to_json(self) -> str:
        """The native list: an array of objects, each with the transform's name and members.

        Returns
        -------
        str
            JSON.
        """
        return json.dumps(self.to_dict()["transforms"])

    @property
    def dtype(self) -> str:
        """Dtype of the batch, a str."""
        plain = "uint16" if self.mode == "I;16" else "uint8"
        return next((str(one.dtype) for one in in_native_order(self.transforms) if isinstance(one, ToDtype)), plain)

    @property
    def normalize(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """(mean, std) of the batch, or None."""
        return next(((tuple(one.mean), tuple(one.std)) for one in in_native_order(self.transforms)
                     if isinstance(one, Normalize)), None)

Transform = Compose  # its name where it is not written as a list
