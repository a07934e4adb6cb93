"""Nested batches, as DataLoaders return them: tensors, and tuples, lists and dicts of them, and Ragged."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from bale.torch._loader.fields import Ragged


def map_tensors(change: Callable[[torch.Tensor], object], batch: object) -> Any:
    """The same structure with every tensor replaced by change(tensor). Other values stay the same."""
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if isinstance(batch, Ragged):
        return type(batch)(change(batch.data), change(batch.offsets))
    if isinstance(batch, (tuple, list)):
        return like(batch, [map_tensors(change, entry) for entry in batch])
    if isinstance(batch, Mapping):
        return {key: map_tensors(change, entry) for key, entry in batch.items()}
    return batch


def change_entry(change: Callable[[object], object], batch: Any, where: Any) -> Any:
    """The same tuple, list or dict with one entry changed. Raises LookupError if there is no such entry."""
    if isinstance(batch, Mapping):
        return {**batch, where: change(batch[where])}
    entries = list(batch)
    entries[where] = change(entries[where])
    return like(batch, entries)


def like(batch: tuple[object, ...] | list[object], entries: list[Any]) -> Any:
    """The entries in a container of the type of `batch`: a list, a tuple or a namedtuple."""
    if isinstance(batch, list):
        return entries
    return type(batch)(*entries) if hasattr(batch, "_fields") else tuple(entries)


def tensors(batch: object) -> Iterator[torch.Tensor]:
    """All tensors of a nested batch."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, Ragged):
        yield from (batch.data, batch.offsets)
    elif isinstance(batch, (tuple, list, Mapping)):
        for entry in batch.values() if isinstance(batch, Mapping) else batch:
            yield from tensors(entry)
