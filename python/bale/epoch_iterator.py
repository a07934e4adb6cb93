"""EpochIterator: what iterating a bale.Loader goes through."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from bale.loader import Loader


class EpochIterator:
    """An iterator over an epoch. Holds no batch, so that only the caller holds its slot."""

    def __init__(self, loader: Loader, turn: int) -> None:
        self._loader: Loader | None = loader
        self._turn = turn

    def __iter__(self) -> Self:
        return self

    def __len__(self) -> int:
        """Number of batches of a whole epoch, as for a DataLoader's iterator."""
        return 0 if self._loader is None else len(self._loader)

    def __next__(self) -> Any:
        if self._loader is None:
            raise StopIteration
        if self._turn != self._loader._turn:
            raise RuntimeError("this iterator is void: its Loader was iterated again, sent to another epoch or closed; "
                               "for two loops at the same time make two Loaders")
        batch = self._loader._next()
        if batch is None:
            self._loader = None
            raise StopIteration
        return batch
