"""EpochIterator: what iterating a bale.Loader goes through."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

    from bale._loader.loader import Loader
    from bale._loader.passes import Begun


class EpochIterator:
    """An iterator over an epoch. Holds no batch, so that only the caller holds its slot."""

    def __init__(self, loader: Loader, number: int) -> None:
        self._loader: Loader | None = loader
        self._number = number
        self._begun: Begun | None = None  # since the first batch

    def __iter__(self) -> Self:
        return self

    def __len__(self) -> int:
        """Number of batches of a whole epoch, as for a DataLoader's iterator."""
        return 0 if self._loader is None else len(self._loader)

    def __next__(self) -> Any:
        loader = self._loader
        if loader is None:
            raise StopIteration
        if loader._is_void(self._number, self._begun):
            raise RuntimeError("this iterator is void: its Loader was iterated again, sent to another epoch or closed; "
                               "for two loops at the same time make two Loaders")
        if self._begun is None:
            loader._go_to_pass()
        batch = loader._next()
        if self._begun is None:
            self._begun = loader._begin_pass()
        if batch is None:
            self._loader = None
            loader._end_pass()
            raise StopIteration
        return batch
