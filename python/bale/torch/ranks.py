"""Which of how many processes this is."""
from __future__ import annotations

import os
from typing import Any

import torch.distributed

from bale import _bale


def rank_and_world_size(rank: int | None = None, world_size: int | None = None) -> tuple[int, int]:
    """The arguments where they are given, else of torch.distributed where it is initialised, else of the launcher's
    environment ($RANK and $WORLD_SIZE), else 0 of 1. ValueError where one is given without the other."""
    if rank is not None and world_size is not None:
        return rank, world_size
    if rank is not None or world_size is not None:
        raise ValueError("rank and world_size: give both or none")
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return 0, 1


class Sampler:
    """What training scripts look for in `loader.sampler`: set_epoch(), and who reads how much."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self.rank: int = loader.rank
        self.num_replicas: int = loader.world_size

    def set_epoch(self, epoch: int) -> None:
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """Samples of this rank in a whole epoch."""
        return rows_of_rank(self._loader._plan_of_epoch(), self._loader.batch_size)


def rows_of_rank(plan: _bale.RankPlan, batch_size: int) -> int:
    """Samples that a rank gets in what the plan deals out: the rows of its batches, without an empty one at the end."""
    last = plan.num_batches - 1
    if last < 0:
        return 0
    rows = last * batch_size + plan.num_rows(last)
    return rows if plan.row(last, plan.num_rows(last) - 1) is not None else rows - 1
