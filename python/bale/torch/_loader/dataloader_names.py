"""DataLoader's options and attributes on a Loader: options with the same meaning are accepted, others are refused."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
import torch.utils.data
from torch.utils.data.distributed import DistributedSampler

from bale._loader.options import Order, array_of_positions
from bale._types import Options
from bale._warnings import warn
from bale.torch._loader.dataset_argument import Reach
from bale.torch._loader.sampler_tracking import drawn_of

# What Loader has in place of a DataLoader's option; the option's default changes nothing and is accepted.
_OURS = {
    "collate_fn": (None, "the Loader makes the batches. What works on whole batches, such as mixup, goes into the loop: "
                         "`images, labels = mixup(images, labels)`. For a collate_fn of your own use bale.torch.Dataset "
                         "with a DataLoader"),
    "prefetch_factor": (None, "it counts batches per worker; give prefetch, which counts those of all workers together"),
    "worker_init_fn": (None, "the Loader's workers are programs that run no Python; leave it out, and give a seed for the "
                             "same batches every time"),
    "multiprocessing_context": (None, "the Loader's workers are programs that run no Python; leave it out"),
    "timeout": (0, "give reading=bale.Reading(stall_timeout_s=...), the seconds after which a stalled worker is replaced"),
}


class DataLoaderOptions(TypedDict, total=False):
    """Options of a DataLoader that a Loader accepts by their names."""

    drop_last: bool
    num_workers: int | None
    pin_memory: bool
    persistent_workers: bool
    generator: torch.Generator | None
    sampler: torch.utils.data.Sampler[int] | Sequence[int] | None
    batch_sampler: torch.utils.data.Sampler[list[int]] | Sequence[Sequence[int]] | None
    collate_fn: Callable[..., object] | None
    prefetch_factor: None
    worker_init_fn: None
    multiprocessing_context: None
    timeout: float


TAKEN = frozenset(DataLoaderOptions.__annotations__)


class LoaderOptions(DataLoaderOptions, total=False):
    """These, and the members of Order and Reading that are also keywords."""

    where: str | None
    shares: Mapping[str, Any] | None
    epoch_samples: int | str | None
    exact_every: int | None
    labels: Literal["merged", "separate"]


class Attributes:
    """Attributes of a DataLoader that a Loader does not need but frameworks read: Lightning batch_sampler, timm's
    PrefetchLoader collate_fn. The values are DataLoader's defaults."""

    batch_sampler: Any = None
    collate_fn = None
    in_order = True
    multiprocessing_context = None
    pin_memory_device = ""
    prefetch_factor = None
    timeout = 0
    worker_init_fn = None


def taken_from(options: Mapping[str, object]) -> tuple[Options, Options]:
    """The options that are DataLoader's, and the others. Raises TypeError for the first that has no meaning here, saying what to use
    instead."""
    options = dict(options)
    if "pin" in options:
        warn("bale.torch.Loader: pin= is pin_memory= now. The old keyword will be removed", DeprecationWarning)
        options["pin_memory"] = options.pop("pin") or options.get("pin_memory", False)
    for name, (default, instead) in _OURS.items():
        value = options.get(name, default)
        if value != default and value is not torch.utils.data.default_collate:
            raise TypeError(f"{name}: bale.torch.Loader does not take DataLoader's {name}: {instead}")
    theirs = {name: options.pop(name) for name in TAKEN.intersection(options)}
    return theirs, options


def same(ours_name: str, ours: object, theirs_name: str, theirs: object, default: object) -> Any:
    """The value of an option with two names. Raises ValueError if both are given and differ."""
    if theirs == default:
        return ours
    if ours not in (default, theirs):
        raise ValueError(f"{theirs_name}={theirs!r} contradicts {ours_name}={ours!r}; they are names of one option")
    return theirs


def options_of_samplers(sampler: object, batch_sampler: Any, reach: Reach) -> Options:
    """The Loader's options that follow from a sampler or a batch_sampler, and as `sampler` what is left of the two. Raises ValueError
    if both are given."""
    if type(batch_sampler) is torch.utils.data.BatchSampler:
        sampler = batch_sampler.sampler
        sizes = {"batch_size": batch_sampler.batch_size, "drop_last": batch_sampler.drop_last}
        return {"sampler": sampler, **sizes, **_options_of_sampler(sampler, reach)}
    if batch_sampler is None:
        return {"sampler": sampler, **({} if sampler is None else _options_of_sampler(sampler, reach))}
    if sampler is not None:
        raise ValueError("sampler and batch_sampler: give one of them")
    size = {"batch_size": batch_sampler.batch_size} if hasattr(batch_sampler, "batch_size") else {}
    return {"sampler": None, **size, "shuffle": False, "drawn": drawn_of(batch_sampler, True, reach)}


def order_of(order: Order, dealt: Mapping[str, Any]) -> Order:
    """The order with the samples that a sampler chooses. Raises ValueError if both choose some."""
    if (order.subset is not None and "subset" in dealt) or ((order.subset is not None or order.weights is not None) and "drawn" in dealt):
        raise ValueError("sampler: subset or weights choose samples, too; give one of them")
    return order._replace(**{name: dealt[name] for name in ("subset", "weights", "num_draws") if name in dealt})


def _options_of_sampler(sampler: Any, reach: Reach) -> Options:
    """The Loader's options that are equivalent to `sampler`. Raises TypeError if there are none, ValueError if it was made for other
    samples than those in reach."""
    kind = type(sampler)

    def part_of(source: object) -> dict[str, object]:
        positions = reach.positions_of(source)
        return {} if positions is None else {"subset": positions}

    if kind is torch.utils.data.SequentialSampler:
        return {"shuffle": False, **part_of(sampler.data_source)}
    if kind is torch.utils.data.RandomSampler and not sampler.replacement and sampler.num_samples == len(sampler.data_source):
        return {"shuffle": True, **part_of(sampler.data_source)}
    if kind is torch.utils.data.RandomSampler and sampler.replacement:
        positions, size = reach.positions_of(sampler.data_source), reach.size
        weights = np.ones(size) if positions is None else np.bincount(positions, minlength=size).astype(np.float64)
        return {"weights": weights, "num_draws": sampler.num_samples}
    if kind is torch.utils.data.SubsetRandomSampler:
        return {"subset": array_of_positions(list(sampler.indices), "sampler", reach.known_size).tolist(), "shuffle": True}
    if kind is torch.utils.data.WeightedRandomSampler and sampler.replacement:
        return {"weights": sampler.weights.numpy(), "num_draws": sampler.num_samples}
    if kind is DistributedSampler:
        # Its drop_last leaves out less than one sample per rank. The Loader's would leave out whole batches, so ranks are
        # filled up instead, as without it.
        return {"rank": sampler.rank, "world_size": sampler.num_replicas, "shuffle": sampler.shuffle, "seed": sampler.seed,
                **part_of(sampler.dataset)}
    if isinstance(sampler, (Sequence, np.ndarray, torch.Tensor)):
        return {"subset": array_of_positions(sampler, "sampler", reach.known_size).tolist(), "shuffle": False}
    theirs = torch.utils.data.Sampler
    if isinstance(sampler, theirs) and getattr(kind, "__iter__", None) is not getattr(theirs, "__iter__", None):
        return {"shuffle": False, "drawn": drawn_of(sampler, False, reach)}
    raise TypeError(f"sampler: {kind.__name__} is not a torch.utils.data.Sampler that can be iterated: make it one, or give shuffle, rank and "
                    f"world_size, or order=bale.Order(...) with subset, weights and num_draws, or repeats")
