"""The fields of a batch as tensors: the element that fields= adds to the batches of bale.torch.Loader."""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from bale._bale import Batch, DeviceBatch
from bale._loader.batch_fields import BatchFields
from bale._loader.ragged import Ragged as PlainRagged

if TYPE_CHECKING:
    from typing_extensions import Self


class Ragged(PlainRagged):
    """bale.Ragged of tensors: `ragged[i]` is a view of `data`.

    Parameters
    ----------
    data : tensor
        All rows, end to end; its first axis is that of the rows.
    offsets : tensor of int64, shape (N + 1,)
        Where rows begin and end, from 0.
    """

    data: torch.Tensor
    offsets: torch.Tensor

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Returns it with data and offsets on another device.

        Parameters
        ----------
        *args : object
            As for Tensor.to.
        **kwargs : object
            As for Tensor.to.

        Returns
        -------
        Ragged
            A new one; offsets stay int64.
        """
        data = self.data.to(*args, **kwargs)
        return type(self)(data, self.offsets.to(data.device, non_blocking=kwargs.get("non_blocking", False)))  # float16 would round them

    def pin_memory(self) -> Self:
        """Returns a copy in page-locked memory.

        Returns
        -------
        Ragged
            A new one.
        """
        return type(self)(self.data.pin_memory(), self.offsets.pin_memory())


def present_name(name: str) -> str:
    """The name of the mask of an optional field in a batch."""
    return f"{name}.present"


def labels_name(name: str) -> str:
    """The name of the labels of boxes or keypoints in a batch."""
    return f"{name}.labels"


def numbers_name(name: str) -> str:
    """The name of the numbers of boxes in a batch."""
    return f"{name}.numbers"

#: The name of the rows that were mixed in.
PARTNERS = "partners"


def check_names(fields: Mapping[str, object], mixes: bool) -> None:
    """Raises ValueError if a mask, labels, or the partners of mixed images, would have the name of a field."""
    if mixes and PARTNERS in fields:
        raise ValueError(f"fields: {PARTNERS!r} is the name of the rows that were mixed in; use another name")
    for name in fields:
        if present_name(name) in fields:
            raise ValueError(f"fields: {present_name(name)!r} is the name of the mask of {name!r}; use another name")
        if labels_name(name) in fields:
            raise ValueError(f"fields: {labels_name(name)!r} is the name of the labels of {name!r}; use another name")
        if getattr(fields[name], "numbered", False) and numbers_name(name) in fields:
            raise ValueError(f"fields: {numbers_name(name)!r} is the name of the numbers of {name!r}; use another name")


def numbered_in(fields: Mapping[str, object] | None) -> set[str]:
    """The names of the fields whose boxes are numbered."""
    return {name for name, field in (fields or {}).items() if getattr(field, "numbered", False)}


def tensors_of(batch: Batch | DeviceBatch, optional: set[str], numbered: set[str], rows: int, pin: bool) -> dict[str, object]:
    """The first rows of all fields of a batch: text as a list of str, JSON as JsonRows, arrays as tensors, bytes as
    Ragged; for each optional field also its mask, a bool tensor; for boxes and keypoints also their labels; for
    numbered boxes their numbers; for mixed images the rows of their partners."""
    fields: BatchFields = batch.fields
    made: dict[str, object] = {}
    for name in fields:
        value = fields[name]
        if isinstance(value, PlainRagged):
            value = _ragged(value, rows)
        elif hasattr(value, "dtype"):
            value = torch.from_numpy(value)[:rows]
        elif len(value) > rows:
            value = value[:rows]
        made[name] = value.pin_memory() if pin and hasattr(value, "pin_memory") else value
        if fields.kind(name) in ("boxes", "keypoints"):
            value = _ragged(fields.labels(name), rows)
            made[labels_name(name)] = value.pin_memory() if pin else value
        if name in numbered:
            value = _ragged(fields.numbers(name), rows)
            made[numbers_name(name)] = value.pin_memory() if pin else value
        if name in optional:
            made[present_name(name)] = torch.from_numpy(fields.present(name))[:rows]
    if batch.partners is not None:
        made[PARTNERS] = torch.from_numpy(batch.partners)[:rows]
    return made


def _ragged(given: Any, rows: int) -> Any:
    return Ragged(torch.from_numpy(given.data), torch.from_numpy(given.offsets))[:rows]
