"""The fields of a batch as tensors: the element that fields= adds to the batches of bale.torch.Loader."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

import bale.ragged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from bale.fields import BatchFields


class Ragged(bale.ragged.Ragged):
    """bale.Ragged of tensors: `data` and `offsets` (int64). `ragged[i]` is a view of `data`."""

    data: torch.Tensor
    offsets: torch.Tensor

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """With data and offsets on another device, as Tensor.to."""
        offsets = self.offsets.to(*args, **kwargs).to(torch.int64)
        return type(self)(self.data.to(*args, **kwargs), offsets)

    def pin_memory(self) -> Self:
        return type(self)(self.data.pin_memory(), self.offsets.pin_memory())


def present_name(name: str) -> str:
    """The name of the mask of an optional field in a batch."""
    return f"{name}.present"


def labels_name(name: str) -> str:
    """The name of the labels of boxes or keypoints in a batch."""
    return f"{name}.labels"


def check_names(fields: Mapping[str, Any]) -> None:
    """Raises ValueError if a mask, or labels, would have the name of a field."""
    for name in fields:
        if present_name(name) in fields:
            raise ValueError(f"fields: {present_name(name)!r} is the name of the mask of {name!r}; use another name")
        if labels_name(name) in fields:
            raise ValueError(f"fields: {labels_name(name)!r} is the name of the labels of {name!r}; use another name")


def tensors_of(fields: BatchFields, optional: set[str], rows: int, pin: bool) -> dict[str, Any]:
    """The first rows of all fields: text as a list of str, JSON as bale.fields.JsonRows, arrays as tensors, bytes as Ragged; for
    each optional field also its mask, a bool tensor; for boxes and keypoints also their labels."""
    made: dict[str, Any] = {}
    for name in fields:
        value = fields[name]
        if isinstance(value, bale.ragged.Ragged):
            value = Ragged(torch.from_numpy(value.data), torch.from_numpy(value.offsets))[:rows]
        elif hasattr(value, "dtype"):
            value = torch.from_numpy(value)[:rows]
        elif len(value) > rows:
            value = value[:rows]
        made[name] = value.pin_memory() if pin and hasattr(value, "pin_memory") else value
        if fields.kind(name) in ("boxes", "keypoints"):
            labels = fields.labels(name)
            value = Ragged(torch.from_numpy(labels.data), torch.from_numpy(labels.offsets))[:rows]
            made[labels_name(name)] = value.pin_memory() if pin else value
        if name in optional:
            made[present_name(name)] = torch.from_numpy(fields.present(name))[:rows]
    return made
