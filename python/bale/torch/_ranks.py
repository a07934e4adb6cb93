"""Rank and world size of this process."""
from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

import torch.distributed
import torch.utils.data

from bale import _bale
from bale._warnings import warn

if TYPE_CHECKING:
    from bale.torch._loader.loader import Loader
    from bale.torch._prefetcher import Prefetcher


def rank_and_world_size(rank: int | None = None, world_size: int | None = None) -> tuple[int, int]:
    """Returns the rank and the world size of this process.

    These are the arguments if they are given, else those of torch.distributed if it is initialized, else the launcher's
    $RANK and $WORLD_SIZE, else (0, 1).

    Parameters
    ----------
    rank, world_size : int or None, default None
        Give both or none; world_size=1 needs no rank.

    Returns
    -------
    (int, int)
        (rank, world_size).

    Raises
    ------
    ValueError
        If only one argument is given.

    Notes
    -----
    Issues a UserWarning, once per process, if torch.distributed has fewer ranks than the launcher started.
    """
    if world_size == 1 and rank is None:
        return 0, 1
    if rank is not None and world_size is not None:
        return rank, world_size
    if rank is not None or world_size is not None:
        raise ValueError("rank and world_size: give both or none")
    launched = os.environ["WORLD_SIZE"] if "RANK" in os.environ and "WORLD_SIZE" in os.environ else None
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        # More ranks than launched are common: a script may start one process per GPU, and $WORLD_SIZE counts nodes.
        if launched is not None and launched.isdecimal() and int(launched) > world_size:
            _warn_of_duplicates(world_size, torch.distributed.get_backend(), int(launched))
        return rank, world_size
    return (0, 1) if launched is None else (int(os.environ["RANK"]), int(launched))


@functools.cache
def _warn_of_duplicates(world_size: int, backend: str, launched: int) -> None:
    """The MPI backend, for one, ignores what torchrun says, and makes each process the only rank of its own world."""
    warn(f"torch.distributed has world size {world_size} (backend {backend}), but the launcher's WORLD_SIZE "
         f"is {launched}: processes that are not connected read the same samples. Initialize torch.distributed "
         "with the backend gloo or nccl, or pass rank and world_size")


class Sampler:
    """The type of `loader.sampler`, with what training scripts use.

    Parameters
    ----------
    loader : Loader
        Of which it is the sampler.

    Attributes
    ----------
    rank : int
        Rank of this process.
    num_replicas : int
        World size.
    """

    def __init__(self, loader: Loader | Prefetcher) -> None:
        self._loader = loader
        self.rank: int = loader.rank
        self.num_replicas: int = loader.world_size

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch, as Loader.set_epoch() does.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0.
        """
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """Number of samples of this rank in a whole epoch."""
        return rows_of_rank(self._loader._plan_of_epoch(), self._loader.batch_size)


class OrderedSampler(Sampler, torch.utils.data.SequentialSampler):
    """That of a Loader that does not shuffle: trainers ask by isinstance."""

    @property
    def data_source(self) -> Any:  # type: ignore[override]
        return self._loader.dataset


def rows_of_rank(plan: _bale.RankPlan, batch_size: int) -> int:
    """Number of samples of a rank in a plan: the rows of its batches, without an empty one at the end."""
    last = plan.num_batches - 1
    if last < 0:
        return 0
    rows = last * batch_size + plan.num_rows(last)
    return rows if plan.row(last, plan.num_rows(last) - 1) is not None else rows - 1
