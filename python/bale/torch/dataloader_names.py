"""DataLoader's names for Loader's options: those that mean the same are taken, others are refused by ours."""
from __future__ import annotations

from typing import Any

import torch.utils.data
from torch.utils.data.distributed import DistributedSampler

# What Loader has in place of a DataLoader's option; the option's default changes nothing and is accepted.
_OURS = {
    "batch_sampler": (None, "give batch_size, shuffle, subset or weights: the Loader makes the batches"),
    "collate_fn": (None, "the Loader makes the batches; for a collate_fn of your own use bale.torch.Dataset with a "
                         "DataLoader"),
    "prefetch_factor": (None, "it counts batches per worker; give prefetch, which counts those of all workers together"),
    "worker_init_fn": (None, "the Loader's workers are programs that run no Python"),
    "multiprocessing_context": (None, "the Loader's workers are programs that run no Python"),
    "timeout": (0, "give stall_timeout_s, the seconds after which a stalled worker is replaced"),
}


def refuse_others(**given: Any) -> None:
    """TypeError for the first option that has no meaning here, with what to give instead."""
    for name, value in given.items():
        default, instead = _OURS[name]
        if value != default:
            raise TypeError(f"{name}: bale.torch.Loader does not take DataLoader's {name}: {instead}")


def same(ours_name: str, ours: Any, theirs_name: str, theirs: Any, default: Any) -> Any:
    """The value of an option that has two names; ValueError if both are given and differ."""
    if theirs == default:
        return ours
    if ours not in (default, theirs):
        raise ValueError(f"{theirs_name}={theirs!r} contradicts {ours_name}={ours!r}; they are names of one option")
    return theirs


def options_of_sampler(sampler: Any) -> dict[str, Any]:
    """The Loader's options that deal samples out as `sampler` does; TypeError for samplers that have none."""
    kind = type(sampler)
    if kind is torch.utils.data.SequentialSampler:
        return {"shuffle": False}
    if kind is torch.utils.data.RandomSampler and not sampler.replacement and sampler.num_samples == len(sampler.data_source):
        return {"shuffle": True}
    if kind is torch.utils.data.SubsetRandomSampler:
        return {"subset": list(sampler.indices), "shuffle": True}
    if kind is torch.utils.data.WeightedRandomSampler and sampler.replacement:
        return {"weights": sampler.weights.numpy(), "num_draws": sampler.num_samples}
    if kind is DistributedSampler:
        return {"rank": sampler.rank, "world_size": sampler.num_replicas, "shuffle": sampler.shuffle, "seed": sampler.seed,
                "drop_last": sampler.drop_last}
    raise TypeError(f"sampler: {kind.__name__} has no counterpart here: give shuffle, subset, weights with num_draws, "
                    f"repeats, or rank and world_size")
