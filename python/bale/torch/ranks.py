"""Which of how many processes this is."""
from __future__ import annotations

import os
from typing import Any

import torch.distributed


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
