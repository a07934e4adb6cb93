"""Changes that a Loader follows after it was made: epochs that a sampler sets, and ranks that are known only later."""
from __future__ import annotations

from typing import Any

import torch
from torch.utils.data.distributed import DistributedSampler

import bale.loader
from bale.torch.ranks import Sampler, rank_and_world_size

MAX_SEED = (1 << 63) - 1


def default_seed(world_size: int) -> int:
    """torch's initial seed; 0 on several ranks, which must agree on the order although their initial seeds may differ."""
    return torch.initial_seed() & MAX_SEED if world_size == 1 else 0


class FollowingLoader(bale.loader.Loader):
    """Scripts make a DataLoader first and set up other things later. A Loader follows these:

    ranks     if torch.distributed is initialized after the Loader was made (as Lightning's Trainer does), the Loader gives
              this rank's share from the next iteration on
    sampler   if set_epoch() of the DistributedSampler that was given as `sampler` is called, the next iteration is that
              epoch
    break     if a loop is left before its end, as by next(iter(loader)), the next one gives other batches, as with a
              DataLoader that shuffles. On several ranks, and after set_epoch(), the epoch begins again instead, as with a
              DistributedSampler
    """

    _rank_given: bool
    _seed_given: bool  # by the caller, or by a state

    def _follow(self, sampler: Any) -> None:
        """Called once, at the end of the constructor."""
        self._given_sampler = sampler
        self._first_epoch_of_sampler = getattr(sampler, "epoch", 0)
        self._epochs_are_set = False

    def __iter__(self) -> Any:
        self._follow_ranks()
        dealer = self._given_sampler
        if isinstance(dealer, DistributedSampler) and (self._epochs_are_set or dealer.epoch != self._first_epoch_of_sampler):
            self.set_epoch(dealer.epoch)
        return super().__iter__()

    def __len__(self) -> int:
        if not self._under_way:
            self._follow_ranks()
        return super().__len__()

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch.

        Directly after load_state_dict(), the epoch of that state is continued instead, so the usual loop over epochs needs
        no special case.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0.

        Raises
        ------
        bale.Error
            If the Loader is closed, or is one of the parent process.
        """
        self._follow_ranks()
        self._epochs_are_set = True
        super().set_epoch(epoch)

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continues at the position of a state.

        Parameters
        ----------
        state : dict from str to int
            What state_dict() returned.

        Raises
        ------
        ValueError
            If the state is of another dataset, selection, shuffle or seed.
        """
        self._follow_ranks()
        super().load_state_dict(state)

    @property
    def sampler(self) -> Any:
        """The sampler that was given, else a bale.torch.Sampler with set_epoch(), rank, num_replicas and len()."""
        return Sampler(self) if self._given_sampler is None else self._given_sampler

    def _epoch_after_a_break(self) -> int:
        return self.epoch if self._epochs_are_set or self.world_size > 1 else self.epoch + 1

    def _follow_ranks(self) -> None:
        if self._rank_given or (self.rank, self.world_size) == rank_and_world_size():
            return
        epoch, state = self.epoch, super().state_dict() if self._resumed else None
        self.rank, self.world_size = rank_and_world_size()
        self._options.update(rank=self.rank, world_size=self.world_size)
        if not self._seed_given:
            self._options["seed"] = default_seed(self.world_size)
        self._open_again()
        if state is None:
            self._loader.set_epoch(epoch)
        else:
            super().load_state_dict(state)

    def _open_again(self) -> None:
        """Opens the loader again after options have changed."""
        self._loader.close()
        self._loader = self._open()
        self._leave()
