"""Samplers that have no counterpart in bale: they are iterated again for each pass."""
from __future__ import annotations

from typing import Any, NamedTuple

import torch.utils.data

from bale.torch._loader.dataset_argument import Given, Reach, within


class Drawn(NamedTuple):
    sampler: Any  # of positions, or of lists of positions
    is_of_batches: bool
    places: list[int] | None  # the positions in what the Loader was given; None: they are those of the sampler

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
        positions = list(map(int, drawn))
        if self.places is not None:
            positions = [self.places[position] for position in positions]
        return within(taken, positions, None)[0], size


def drawn_of(sampler: Any, is_of_batches: bool, reach: Reach) -> Drawn:
    """Raises ValueError if the sampler says that it is over other samples than the Loader."""
    within_batches = getattr(sampler, "sampler", sampler) if is_of_batches else sampler
    weights: Any = getattr(within_batches, "weights", None)
    if isinstance(within_batches, torch.utils.data.WeightedRandomSampler) and len(weights) != reach.size:
        raise ValueError(f"{len(weights)} weights for {reach.size} samples")
    source: Any = getattr(within_batches, "data_source", getattr(within_batches, "dataset", None))
    return Drawn(sampler, is_of_batches, reach.positions_of(source) if hasattr(source, "__len__") else None)
