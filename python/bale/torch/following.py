"""Changes that a Loader follows after it was made: epochs that a sampler sets, and ranks that are known only later."""
from __future__ import annotations

from typing import Any

import torch
from torch.utils.data.distributed import DistributedSampler

import bale.loader
from bale.passes import COUNTED
from bale.torch.ranks import OrderedSampler, Sampler, rank_and_world_size

MAX_SEED = (1 << 63) - 1


def default_seed(world_size: int) -> int:
    """torch's initial seed; 0 on several ranks, which must agree on the order although their initial seeds may differ."""
    return torch.initial_seed() & MAX_SEED if world_size == 1 else 0


class SeenEpoch(int):
    """The epoch of a sampler that a Loader has followed. sampler.set_epoch() puts an ordinary int in its place."""


class FollowingLoader(bale.loader.Loader):
    """Scripts make a DataLoader first and set up other things later. A Loader follows these:

    ranks     if torch.distributed is initialized after the Loader was made (as Lightning's Trainer does), the Loader gives
              this rank's share from the next iteration on
    sampler   set_epoch() of the DistributedSampler that was given as `sampler` is as the Loader's own
    """

    _rank_given: bool
    _seed_given: bool  # by the caller, or by a state

    def _follow(self, sampler: Any) -> None:
        """Called once, at the end of the constructor."""
        self._given_sampler = sampler
        self._epoch_seen = COUNTED
        if isinstance(sampler, DistributedSampler) and sampler.epoch == 0:
            sampler.epoch = SeenEpoch(0)  # nobody has set it
            self._epoch_seen = 0

    def __iter__(self) -> Any:
        self._follow_ranks()
        return super().__iter__()

    def _go_to_pass(self) -> None:
        dealer = self._given_sampler
        if isinstance(dealer, DistributedSampler) and (type(dealer.epoch) is not SeenEpoch or dealer.epoch != self._epoch_seen):
            self._epoch_seen = dealer.epoch
            dealer.epoch = SeenEpoch(dealer.epoch)
            self.set_epoch(self._epoch_seen)
        super()._go_to_pass()

    def __len__(self) -> int:
        if self._under_way is None:
            self._follow_ranks()
        return super().__len__()

    @property
    def sampler(self) -> Any:
        """The sampler that was given, else a bale.torch.Sampler with set_epoch(), rank, num_replicas and len()."""
        if self._given_sampler is not None:
            return self._given_sampler
        return OrderedSampler(self) if self._options["shuffle"] == "none" else Sampler(self)

    def _follow_ranks(self) -> None:
        if self._rank_given or (self.rank, self.world_size) == rank_and_world_size():
            return
        rank, world_size = rank_and_world_size()
        vars(self).update(rank=rank, world_size=world_size)
        self._options.update(rank=rank, world_size=world_size)
        if not self._seed_given:
            self._options["seed"] = default_seed(world_size)
        self._open_again()
