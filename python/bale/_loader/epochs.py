"""The epochs of a Loader: which one each iteration makes, and the iterator that goes through it."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from bale._loader.passes import Begun, Own, Passes, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


class Epochs:
    """Counts the epochs of one Loader, of which the latest iterator is valid. Knows nothing of batches."""

    def __init__(self) -> None:
        self._passes = Passes(Own())
        self._latest = 0                      # the number of the latest iterator, which takes over from the others
        self._under_way: Begun | None = None  # the pass that the latest batch is of, until it ends

    def new_iterator(self) -> int:
        """Its number. Earlier iterators become invalid."""
        self.end_all()
        self._under_way = None
        return self._latest

    def end_all(self) -> None:
        """Iterators become invalid."""
        self._latest += 1

    def is_void(self, iterator: int, begun: Begun | None) -> bool:
        return iterator != self._latest or (begun is not None and self._passes.is_void(begun))

    def next_place(self) -> Place:
        """Where an iterator begins that takes its first batch now."""
        return self._passes.place()

    def begin(self) -> Begun:
        """The first batch was made, or the end of an empty pass reached."""
        begun = self._under_way = self._passes.begin()
        return begun

    def leave(self) -> None:
        """The pass has ended, or nothing more comes of it."""
        self._under_way = None

    @property
    def is_under_way(self) -> bool:
        return self._under_way is not None

    def place(self, position: int = 0) -> Place:
        """Of the pass that a loop is in or has left, at `position`; else where the next one begins."""
        return self._passes.place() if self._under_way is None else self._under_way.place._replace(position=position)

    def set_epoch(self, epoch: int) -> bool:
        """Returns False if a state of that epoch was loaded directly before, which is continued. Raises ValueError for a number below 0."""
        changes = self._passes.set_epoch(epoch)
        if changes:
            self._under_way = None
        return changes

    def load(self, place: Place) -> None:
        self._passes.load(place)
        self._under_way = None


class Batches(Protocol):
    """What an iterator asks of its Loader."""

    def __len__(self) -> int: ...

    def _seek(self) -> None:
        """Goes to where the next pass begins."""

    def _take(self) -> object:
        """The next batch; None at the end."""

    def _begin(self, begun: Begun) -> None:
        """The first batch was taken."""

    def _end(self) -> None:
        """The end was reached."""

    def _returned(self) -> None:
        """The caller gets the batch now."""

    def _lost(self) -> None:
        """An exception came before that."""


class _RefusedCopy:
    """For copy.copy(), which asks the class. itertools.tee() asks the iterator, and keeps batches itself if that has no __copy__."""

    def __get__(self, iterator: object, kind: type) -> Callable[[object], NoReturn]:
        if iterator is not None:
            raise AttributeError("__copy__")
        return self._refuse

    @staticmethod
    def _refuse(iterator: object) -> NoReturn:
        raise TypeError("an iterator of a Loader cannot be copied: the two would share the batches of one epoch; make two Loaders")


class EpochIterator:
    """An iterator over an epoch. Holds no batch, so that only the caller holds its slot."""

    def __init__(self, loader: Batches, epochs: Epochs) -> None:
        self._loader: Batches | None = loader
        self._epochs, self._number = epochs, epochs.new_iterator()
        self._begun: Begun | None = None  # since the first batch

    def __iter__(self) -> Self:
        return self

    __copy__ = _RefusedCopy()

    def __len__(self) -> int:
        """Number of batches of a whole epoch, as for a DataLoader's iterator."""
        return 0 if self._loader is None else len(self._loader)

    def __next__(self) -> Any:
        loader = self._loader
        if loader is None:
            raise StopIteration
        if self._epochs.is_void(self._number, self._begun):
            raise RuntimeError("this iterator is void: its Loader was iterated again, sent to another epoch or closed; "
                               "for two loops at the same time make two Loaders")
        try:
            if self._begun is None:
                loader._seek()
            batch = loader._take()
            if self._begun is None:
                self._begun = self._epochs.begin()
                loader._begin(self._begun)
            if batch is None:
                self._loader = None
                loader._end()
            loader._returned()
        except BaseException:  # also that of Ctrl-C, which comes after any call: then neither the batch nor its state is lost
            loader._lost()
            raise
        if batch is None:
            raise StopIteration
        return batch
