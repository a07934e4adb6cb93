"""Passes: which pass over a dataset an iteration makes. The one rule of bale.Loader, bale.torch.Loader and
bale.torch.IterableDataset. docs/EPOCHS.md states it for users."""
from __future__ import annotations

import contextlib
import operator
from collections.abc import MutableSequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from bale._types import Json


class Numbers(Protocol):
    """Integers that all processes which iterate share."""

    values: MutableSequence[int]

    def locked(self) -> AbstractContextManager[object]: ...

COUNTED = -1
_EPOCH_BITS = 40  # counted_epoch() of bale/reader/order/epoch_order.hpp


class Place(NamedTuple):
    """A place in a pass."""

    epoch: int            # counts passes, from the epoch that was set
    again: int = COUNTED  # passes since set_epoch(); COUNTED if it was not called
    position: int = 0     # deliveries of the epoch that all ranks have taken
    taken: int = 0        # samples that a DataLoader's worker has taken of its share of the rest

    @property
    def number(self) -> int:
        """What order and augmentation are drawn by. Passes that begin without set_epoch() share it with no other."""
        return self.epoch | (max(self.again, 0) << _EPOCH_BITS) % (1 << 63)

    @property
    def epoch_set(self) -> int:
        """The epoch that was set, of which this is a pass."""
        return self.epoch - max(self.again, 0)

    def following(self) -> Place:
        return Place(self.epoch + 1, COUNTED if self.again == COUNTED else self.again + 1)

    def in_state(self) -> dict[str, int]:
        """What states say of it: the epoch that was set, and which pass of it this is. At the beginning of a further pass, that
        is the end of the one before: then the epoch is the next, and how many passes the one before had is said, too."""
        state = {"version": 1, "epoch": self.epoch_set, "position": self.position}
        if self.again == COUNTED:
            return state
        if self.again and not self.position:
            return {**state, "epoch": self.epoch_set + 1, "pass": 0, "passes_before": self.again}
        return {**state, "pass": self.again}

    @classmethod
    def of_state(cls, state: Json, what: str) -> Place:
        """Raises ValueError if it is not a state."""
        try:
            if state["version"] != 1:
                raise ValueError
            epoch, again, position, before = (operator.index(number) for number in (
                state["epoch"], state.get("pass", COUNTED), state["position"], state.get("passes_before", 0)))
            if min(epoch, again + 1, position, before) < 0:
                raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ValueError(f"not a state of {what}: {state!r}") from None
        if before and not position:
            epoch, again = epoch - 1, before
        return cls(epoch + max(again, 0), again, position)


def version_in_state(identity: int) -> dict[str, str]:
    """What states say of the dataset, by Dataset.identity(); 0: it is not known."""
    return {"dataset": f"{identity:016x}"} if identity else {}


def version_of_state(state: Json) -> int:
    """0: a state of an earlier version of bale, or of a dataset whose version was not known."""
    return int(state.get("dataset", "0"), 16)


class Own:
    """Numbers of this process alone."""

    def __init__(self) -> None:
        self.values: MutableSequence[int] = [0] * SIZE

    def locked(self) -> AbstractContextManager[object]:
        return contextlib.nullcontext()

# Places of numbers: the next pass, the epoch that was set last, how often one was set, how many passes have begun, and the
# latest passes of DataLoaders' workers.
_EPOCH, _AGAIN, _SET, _TURN, _BEGUN, _TABLE = range(6)
_ENTRY, _NUM_ENTRIES = 7, 16  # an entry: which DataLoader's pass it is (three numbers), which begun pass, epoch, again and turn
SIZE = _TABLE + _ENTRY * _NUM_ENTRIES


class Begun(NamedTuple):
    """A pass whose number is fixed."""

    place: Place
    turn: int      # set_epoch() calls before its first iteration began
    in_worker: bool
    resumed: bool


class Passes:
    """Counts passes. An iteration gets its number when it takes its first sample, and the next one another, whether it ended
    or was left. set_epoch() says a number; a state continues one.

    `who` identifies an iteration of several processes: the pass of a DataLoader, whose workers all get one number. None: an
    iteration of this process.
    """

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        if not any(numbers.values):
            numbers.values[_AGAIN] = COUNTED
        self._resume: Place | None = None
        self._resume_after: int | None = None  # passes begun when it was loaded; None: it is this worker's own
        self.turn = self._turn()  # as this process has set it, and its forks know it

    def begin(self, who: tuple[int, int, int] | None = None) -> Begun:
        """Fixes the number of an iteration, which takes its first sample now."""
        values = self._numbers.values
        with self._numbers.locked():
            entry = self._entry_of(who)
            resume = self._resume_of(entry)
            if entry is None:
                if resume is not None and self._resume_after is None:  # set_epoch() may have been called before or after
                    resume = self._agreed(resume, self._next())
                place = resume or self._next()
                begun = Begun(place, self._turn(), who is not None, resume is not None)
                self._set_next(place.following())
                values[_BEGUN] += 1
                if who is not None:
                    at = _TABLE + values[_BEGUN] % _NUM_ENTRIES * _ENTRY
                    values[at], values[at + 1], values[at + 2] = who
                    values[at + 3], values[at + 4], values[at + 5] = values[_BEGUN], place.epoch, place.again
                    values[at + 6] = begun.turn
            else:
                place = Place(values[entry + 4], values[entry + 5])
                if resume is not None and resume[:2] != place[:2] and (resume.position or resume.taken):
                    raise RuntimeError(f"the states of this DataLoader's workers are of epochs {place.epoch} and {resume.epoch}; if "
                                       f"set_epoch() was called, call it before the DataLoader is iterated")
                if resume is not None:
                    place, resume = (resume, resume) if resume[:2] == place[:2] else (place, None)
                # set_epoch() after the first worker has begun ends the pass for all of them.
                begun = Begun(place, values[entry + 6], who is not None, resume is not None)
            self._resume = None
            return begun

    @staticmethod
    def _agreed(resume: Place, following: Place) -> Place | None:
        """What a worker resumes if set_epoch() may have said another epoch. A state of the beginning gives way."""
        if following.again != 0 or following.epoch_set == resume.epoch_set:
            return resume
        if resume.position or resume.taken:
            raise RuntimeError(f"the state of this DataLoader's worker is of epoch {resume.epoch_set}, but set_epoch({following.epoch_set}) "
                               f"was called; set the epoch of the state to continue it, or load no state")
        return None

    def is_void(self, begun: Begun) -> bool:
        """Whether set_epoch() has ended the iteration. A DataLoader's workers read ahead, so they do not know whether a sample
        was taken: they continue if the epoch is theirs."""
        if begun.turn == self._turn():
            return False
        is_theirs = begun.place.epoch_set == self._numbers.values[_SET] and (begun.resumed or begun.place.again <= 0)
        return not (begun.in_worker and is_theirs)

    def place(self, who: tuple[int, int, int] | None = None) -> Place:
        """Where an iteration that has taken nothing yet begins. The process that started workers knows only their last pass."""
        with self._numbers.locked():
            values, entry = self._numbers.values, self._entry_of(who)
            resume = self._resume_of(entry)
            if resume is not None:
                return resume
            last = _TABLE + values[_BEGUN] % _NUM_ENTRIES * _ENTRY
            if entry is None and who is None and values[_BEGUN] and values[last + 3] == values[_BEGUN]:
                place = Place(values[last + 4], values[last + 5])
                entry = last if place.following() == self._next() else None
            return self._next() if entry is None else Place(values[entry + 4], values[entry + 5])

    def set_epoch(self, epoch: int) -> bool:
        """Makes the next pass the first of an epoch. Returns False if a state of that epoch was loaded directly before: that pass
        is continued. Raises ValueError for a number that is none."""
        try:
            epoch = operator.index(epoch)
        except TypeError:
            raise TypeError(f"epoch: {epoch!r} is not a whole number") from None
        if not 0 <= epoch < 1 << _EPOCH_BITS:
            raise ValueError(f"epoch {epoch} is {'below 0' if epoch < 0 else 'too large'}")
        with self._numbers.locked():
            resume = self._resume_of(None)
            if resume is not None and resume.epoch_set == epoch:
                return False
            self._resume = None
            self._set_next(Place(epoch, 0))
            self._numbers.values[_SET] = epoch
            self._numbers.values[_TURN] += 1
            self.turn = self._turn()
        return True

    def load(self, place: Place, in_worker: bool = False) -> None:
        """Makes the next pass begin at a place. In a worker, it is the place of that worker alone."""
        with self._numbers.locked():
            self._resume, self._resume_after = place, None if in_worker else self._numbers.values[_BEGUN]
            if not in_worker:
                self._numbers.values[_TURN] += 1
                self._numbers.values[_SET] = COUNTED
                self.turn = self._turn()

    def _turn(self) -> int:
        return self._numbers.values[_TURN]

    def _next(self) -> Place:
        return Place(self._numbers.values[_EPOCH], self._numbers.values[_AGAIN])

    def _set_next(self, place: Place) -> None:
        self._numbers.values[_EPOCH], self._numbers.values[_AGAIN] = place.epoch, place.again

    def _entry_of(self, who: tuple[int, int, int] | None) -> int | None:
        """Where the pass is, if a worker of that DataLoader has begun it."""
        values = self._numbers.values
        for entry in range(_TABLE, SIZE, _ENTRY) if who is not None else ():
            if values[entry + 3] and tuple(values[entry:entry + 3]) == who:
                return entry
        return None

    def _resume_of(self, entry: int | None) -> Place | None:
        """The place that was loaded, unless a pass has begun there since: also in other processes, which inherited it."""
        if self._resume is None or self._resume_after is None:
            return self._resume
        begun = self._numbers.values[_BEGUN] if entry is None else self._numbers.values[entry + 3] - 1
        return self._resume if begun == self._resume_after else None
