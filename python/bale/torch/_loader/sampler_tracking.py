"""The sampler that a Loader was given: what it chooses, and the epochs that it is set to."""
from __future__ import annotations

from typing import Any, NamedTuple

import torch.utils.data
from torch.utils.data.distributed import DistributedSampler

from bale._loader.options import array_of_positions
from bale._loader.passes import COUNTED
from bale.torch._loader.dataset_argument import Given, Reach, within


class Drawn(NamedTuple):
    """A sampler that has no counterpart in bale: it is iterated again for each pass."""

    sampler: Any  # of positions, or of lists of positions
    is_of_batches: bool
    places: list[int] | None  # the positions in what the Loader was given; None: they are those of the sampler
    size: int | None  # of what the sampler is over; None: unknown

    def draw(self, taken: Given) -> tuple[Any, int | None]:
        """The positions of a pass in the whole dataset, and the size of its batches if the sampler says it. Raises ValueError
        if the batches have several."""
        drawn = list(self.sampler)
        size = None
        if self.is_of_batches:
            sizes = list(map(len, drawn))
            size = max(sizes, default=1)
            if any(one != size for one in sizes[:-1]):
                raise ValueError(f"batch_sampler: batches of {min(sizes)} to {size} samples; all but the last must have one size")
            drawn = [position for batch in drawn for position in batch]
        positions: list[int] = array_of_positions(drawn, "batch_sampler" if self.is_of_batches else "sampler", self.size).tolist()
        if self.places is not None:
            positions = [self.places[position] for position in positions]
        return within(taken, positions, None, "sampler")[0], size


def drawn_of(sampler: object, is_of_batches: bool, reach: Reach) -> Drawn:
    """Raises ValueError if the sampler says that it is over other samples than the Loader."""
    within_batches = getattr(sampler, "sampler", sampler) if is_of_batches else sampler
    weights: Any = getattr(within_batches, "weights", None)
    if isinstance(within_batches, torch.utils.data.WeightedRandomSampler) and len(weights) != reach.size:
        raise ValueError(f"{len(weights)} weights for {reach.size} samples")
    source: Any = getattr(within_batches, "data_source", getattr(within_batches, "dataset", None))
    places = reach.positions_of(source) if hasattr(source, "__len__") else None
    return Drawn(sampler, is_of_batches, places, reach.known_size if places is None else len(places))


class SeenEpoch(int):
    """The epoch of a sampler that a Loader has followed. sampler.set_epoch() puts an ordinary int in its place."""


class GivenSampler:
    """A Loader follows set_epoch() of a DistributedSampler as its own, and draws from one that has no counterpart.

    given      as `sampler`; None: nothing
    is_drawn   the samples of the next pass are chosen
    """

    def __init__(self, given: object, drawn: Drawn | None, taken: Given) -> None:
        self.given = given
        self._drawn, self._taken = drawn, taken
        self.is_drawn = False
        self._epoch_seen = COUNTED
        if isinstance(given, DistributedSampler) and given.epoch == 0:
            given.epoch = SeenEpoch(0)  # nobody has set it
            self._epoch_seen = 0

    @property
    def draws(self) -> bool:
        return self._drawn is not None

    def draw(self) -> tuple[Any, int | None]:
        """The positions of the next pass, and the size of its batches if the sampler says it."""
        assert self._drawn is not None
        self.is_drawn = True
        return self._drawn.draw(self._taken)

    def length(self) -> tuple[int, bool]:
        """Of the sampler that is drawn from, and whether it counts batches."""
        assert self._drawn is not None
        return len(self._drawn.sampler), self._drawn.is_of_batches

    def newly_set_epoch(self) -> int | None:
        """The epoch that the sampler was set to since it was last looked at; None if it was not."""
        sampler = self.given
        if not isinstance(sampler, DistributedSampler) or type(sampler.epoch) is SeenEpoch and sampler.epoch == self._epoch_seen:
            return None
        self._epoch_seen = sampler.epoch
        sampler.epoch = SeenEpoch(sampler.epoch)
        return self._epoch_seen

    def set_epoch(self, epoch: int) -> None:
        if self._drawn is not None and hasattr(self._drawn.sampler, "set_epoch"):
            self._drawn.sampler.set_epoch(epoch)

    def refuse_ranks(self, world_size: int) -> None:
        if self._drawn is not None and world_size > 1:
            raise TypeError(f"sampler: {type(self._drawn.sampler).__name__} has no counterpart that several ranks share; give world_size=1 "
                            f"if it gives each rank samples of its own, or give shuffle, order=bale.Order(...) with subset or weights, or a DistributedSampler")
