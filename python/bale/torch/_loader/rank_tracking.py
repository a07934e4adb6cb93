"""Ranks and seeds of a Loader: what was given, and what is known only later."""
from __future__ import annotations

import torch

from bale._loader.passes import Place
from bale._types import Json
from bale.torch._attendance import ATTENDANCE, Pass
from bale.torch._ranks import rank_and_world_size

MAX_SEED = (1 << 63) - 1


class Ranks:
    """The rank of a Loader. If it was not given and torch.distributed is initialized after the Loader was made (as Lightning's Trainer
    does), the Loader gives this rank's share from the next iteration on."""

    def __init__(self, rank: int | None, world_size: int | None) -> None:
        self._is_given = world_size is not None
        self.rank, self.world_size = rank_and_world_size(rank, world_size)
        self._attended: Pass | None = None

    def have_changed(self) -> bool:
        if self._is_given or (self.rank, self.world_size) == rank_and_world_size():
            return False
        self.rank, self.world_size = rank_and_world_size()
        return True

    def begin(self, place: Place, spec: str, fingerprint: int) -> None:
        """A pass: it is counted whether all ranks make it."""
        if not self._is_given and self.world_size > 1:
            self._attended = ATTENDANCE.begin(spec, fingerprint, place.number, place.epoch, self.world_size)

    @property
    def are_counted(self) -> bool:
        """Whether it is counted which ranks make the pass that is under way."""
        return self._attended is not None

    def end(self) -> None:
        ATTENDANCE.end(self._attended)
        self._attended = None


class Seeds:
    """The seeds of order and augmentation. Those that were not given come with a state, if one is loaded."""

    def __init__(self, order: int | None, augmentation: int | None, world_size: int) -> None:
        self._come_with_states = [*(["seed"] if order is None else []),
                                  *(["augment_seed"] if order is None and augmentation is None else [])]
        if augmentation is None:
            augmentation = torch.initial_seed() & MAX_SEED if order is None else order
        self.augmentation = augmentation
        self.is_known = order is not None  # by the caller, or by a state
        self.order = default_seed(world_size) if order is None else order

    def of_state(self, state: Json) -> Json:
        """Those that a state brings, as options."""
        seeds = {name: state[name] for name in self._come_with_states if name in state}
        self.is_known |= "seed" in seeds
        return seeds


def default_seed(world_size: int) -> int:
    """torch's initial seed; 0 on several ranks, which must agree on the order although their initial seeds may differ."""
    return torch.initial_seed() & MAX_SEED if world_size == 1 else 0
