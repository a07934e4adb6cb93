"""Changes that a Loader follows after it was made: epochs that a sampler sets, and ranks that are known only later."""
from __future__ import annotations

import sys
from typing import Any

import torch
import torch.utils.data
from torch.utils.data.distributed import DistributedSampler

from bale._loader.loader import Loader
from bale._loader.order import selection
from bale._loader.passes import COUNTED, Begun
from bale._warnings import warn
from bale.torch._attendance import ATTENDANCE, Pass
from bale.torch._loader.dataset_argument import Given
from bale.torch._loader.drawn import Drawn
from bale.torch._ranks import OrderedSampler, Sampler, rank_and_world_size

MAX_SEED = (1 << 63) - 1


def default_seed(world_size: int) -> int:
    """torch's initial seed; 0 on several ranks, which must agree on the order although their initial seeds may differ."""
    return torch.initial_seed() & MAX_SEED if world_size == 1 else 0


def states_left_behind() -> list[Any]:
    """States of a checkpoint that Lightning's fit loop, which asks for batches, has not loaded and will not load: it sets up
    the loaders once, and a configure_optimizers() that reads trainer.estimated_stepping_batches has it do so too early."""
    frame = sys._getframe(1) if "lightning" in sys.modules or "pytorch_lightning" in sys.modules else None
    while frame is not None:
        loop = frame.f_locals.get("self") if frame.f_code.co_name == "advance" else None
        states = getattr(loop, "_combined_loader_states_to_load", None)
        if states is not None:
            return list(states) if getattr(loop, "restarting", False) else []
        frame = frame.f_back
    return []


class SeenEpoch(int):
    """The epoch of a sampler that a Loader has followed. sampler.set_epoch() puts an ordinary int in its place."""


class FollowingLoader(Loader):
    """Scripts make a DataLoader first and set up other things later. A Loader follows these:

    ranks     if torch.distributed is initialized after the Loader was made (as Lightning's Trainer does), the Loader gives
              this rank's share from the next iteration on
    sampler   set_epoch() of the DistributedSampler that was given as `sampler` is as the Loader's own
    """

    _rank_given: bool
    _seed_given: bool  # by the caller, or by a state

    def _follow(self, sampler: Any, drawn: Drawn | None, taken: Given, repeats: int, has_weights: bool) -> None:
        """Called once, at the end of the constructor."""
        self._has_weights = has_weights
        self._given_sampler = sampler
        self._drawn, self._taken, self._repeats = drawn, taken, repeats
        self._is_drawn = False  # for the next pass
        self._refuse_ranks()
        self._attended: Pass | None = None
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
        self._draw()
        self._is_drawn = False
        super()._go_to_pass()
        self._warn_of_states_left()

    def _warn_of_states_left(self) -> None:
        own = self._loader.state()[2]
        if any(isinstance(state, dict) and state.get("fingerprint") == own and state["position"]
               for state in states_left_behind()):
            warn("Lightning did not load the place of this Loader from the checkpoint, so the epoch begins again: "
                 "configure_optimizers() reads trainer.estimated_stepping_batches, for which Lightning sets up the "
                 "loaders before it has their states. Compute the number of steps without it, as "
                 "epochs * len(loader)")

    def _begin_pass(self) -> Begun:
        begun = super()._begin_pass()
        if not self._rank_given and self.world_size > 1:
            place = begun.place
            self._attended = ATTENDANCE.begin(self._spec, self._loader.state()[2], place.number, place.epoch, self.world_size)
        return begun

    def _end_pass(self) -> None:
        super()._end_pass()
        ATTENDANCE.end(self._attended)
        self._attended = None

    def _draw(self) -> None:
        """Has the sampler choose the samples of the next pass, if it has no counterpart. Opens the native Loader again, for them."""
        if self._drawn is None or self._is_drawn:
            return
        subset, size = self._drawn.draw(self._taken)
        if size is not None:
            vars(self)["batch_size"] = self._options["batch_size"] = size
        self._chosen = selection(len(self._whole_dataset), subset, None, None, self._repeats)
        self._num_deliveries_known = len(self._chosen)
        self._is_drawn = True
        self._open_again(resumes=False)

    def _refuse_ranks(self) -> None:
        if self._drawn is not None and self.world_size > 1:
            raise TypeError(f"sampler: {type(self._drawn.sampler).__name__} has no counterpart that several ranks share; give world_size=1 "
                            f"if it gives each rank samples of its own, or give shuffle, subset, weights or a DistributedSampler")

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        if self._drawn is not None and hasattr(self._drawn.sampler, "set_epoch"):
            self._drawn.sampler.set_epoch(epoch)

    set_epoch.__doc__ = Loader.set_epoch.__doc__

    def _load_drawn(self, state: dict[str, int]) -> dict[str, int]:
        """Within a pass the sampler must choose the samples that it had chosen, or the state is refused."""
        if self._drawn is None:
            return state
        self._is_drawn = False
        if not state["position"]:
            return {**state, "fingerprint": self._loader.state()[2]}
        self._draw()
        return state

    def __len__(self) -> int:
        if self._under_way is None:
            self._follow_ranks()
        if self._drawn is not None and not self._is_drawn and self._under_way is None:
            size = len(self._drawn.sampler)
            if self._drawn.is_of_batches:
                return size
            self._num_deliveries_known = size * self._repeats
        return super().__len__()

    @property
    def sampler(self) -> Any:
        """The sampler that was given, else a bale.torch.Sampler with set_epoch(), rank, num_replicas and len()."""
        if is_asked_to_overfit():
            self._stop_shuffling()
        if self._given_sampler is not None:
            return self._given_sampler
        return OrderedSampler(self) if self._options["shuffle"] == "none" else Sampler(self)

    def _stop_shuffling(self) -> None:
        """What Lightning's overfit_batches does with a DataLoader: the samples of its dataset in their order."""
        if isinstance(self._given_sampler, torch.utils.data.SequentialSampler):
            return
        if self._options["shuffle"] == "none" and self._drawn is None and not self._has_weights:
            return
        warn("bale.torch.Loader: Lightning's overfit_batches wants the same batches in each epoch, so this Loader does not shuffle "
             "any more")
        if self._drawn is not None or self._has_weights:
            positions = self._taken.positions
            self._chosen = None if positions is None else selection(len(self._whole_dataset), positions, None, None, 1)
        self._given_sampler, self._drawn, self._has_weights, self._num_deliveries_known = None, None, False, None
        self._options["shuffle"] = "none"
        self._open_again(resumes=False)

    def _follow_ranks(self) -> None:
        if self._rank_given or (self.rank, self.world_size) == rank_and_world_size():
            return
        rank, world_size = rank_and_world_size()
        vars(self).update(rank=rank, world_size=world_size)
        self._options.update(rank=rank, world_size=world_size)
        if not self._seed_given:
            self._options["seed"] = default_seed(world_size)
        self._refuse_ranks()
        self._open_again()


def is_asked_to_overfit() -> bool:
    """Whether Lightning resolves overfit_batches. It replaces the sampler of a loader that shuffles by one in order, which it can do
    with DataLoaders only: for others it raises. Only the stack says that it asks."""
    frame: Any = sys._getframe(2)
    for _ in range(5):
        if frame is None or frame.f_code.co_name == "_resolve_overfit_batches":
            return frame is not None
        frame = frame.f_back
    return False
