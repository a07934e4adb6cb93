"""Transforms that lists of torchvision contain and that change nothing here: images are decoded to RGB, and batches are
made as arrays or tensors at the end of the list."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from bale.transforms._operations.operation import Operation


@dataclass(frozen=True, repr=False)
class Marker(Operation):
    """Changes nothing."""

    def to_dict(self) -> NoReturn:
        """Raises AssertionError: it is not part of the native list."""
        raise AssertionError(f"{type(self).__name__} is not part of the native list")


@dataclass(frozen=True, repr=False)
class Identity(Marker):
    """Changes nothing (torch.nn.Identity)."""


@dataclass(frozen=True, repr=False)
class ToImage(Marker):
    """Changes nothing.

    In torchvision it makes a tensor, on which later transforms round otherwise: pixels here are always those of PIL
    images.
    """


@dataclass(frozen=True, repr=False)
class PILToTensor(Marker):
    """Changes nothing: the batch is of 8-bit values until ToDtype."""


@dataclass(frozen=True, repr=False)
class ToPureTensor(Marker):
    """Changes nothing."""
