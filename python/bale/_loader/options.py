"""The options of a Loader in groups, and as the extension module takes them."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from bale import _bale, transforms
from bale._loader import order as orders
from bale._loader.fields import Field
from bale._loader.fields import options_of as options_of_fields
from bale._types import Numbers, Shuffle, Tail
from bale.program import program_path

OnBadSample = Literal["fail", "skip", "substitute"]
ImageMode = Literal["RGB", "L", "RGBA", "I;16"]


class Order(NamedTuple):
    """Which samples an epoch has, and in which order."""

    subset: Numbers | None = None
    weights: Numbers | None = None
    num_draws: int | None = None
    repeats: int = 1
    block_samples: int = 64
    window_blocks: int = 16
    ranks_per_node: int | None = None
    augment_seed: int | None = None

    def selection(self, size: int) -> _bale.Selection | None:
        """The deliveries of an epoch of a dataset of `size` samples; None: each sample once."""
        return orders.selection(size, self.subset, self.weights, self.num_draws, self.repeats)

    @property
    def chooses(self) -> bool:
        return self.subset is not None or self.weights is not None or self.num_draws is not None or self.repeats != 1


class Reading(NamedTuple):
    """How samples are read and decoded."""

    field: str = ""
    label_field: str = ""
    no_label: int = _bale.NO_LABEL
    threads: bool = False
    persistent_workers: bool = True
    verify_checksums: bool = True
    max_pixels: int = 178_956_970
    stall_timeout_s: float = 120.0
    storage_timeout_s: float = 1800.0
    read_ahead_bytes: int = 128 << 20
    large_transfers: bool = False
    direct_io: bool = False
    seek_point_cache_bytes: int = 0


class Cuda(NamedTuple):
    """Where and how batches are made on a GPU; in ordinary memory if `device` is None."""

    device: str | None = "cuda"
    depth: int = 2
    hold: int = 3
    hflip: float = 0.0
    convert: bool = True
    decode: Literal["host", "device"] = "host"


def native_options(*, batch_size: int, workers: int | None, prefetch: int, seed: int, shuffle: Shuffle, rank: int, world_size: int,
                   tail: Tail, views: Sequence[Any], fields: Mapping[str, str | Field] | None, on_bad_sample: OnBadSample,
                   mix: transforms.Mix | None, order: Order, reading: Reading) -> dict[str, Any]:
    """The options of a _bale.Loader. Raises ValueError and TypeError for values that it cannot have."""
    mixes = transforms.Mix() if mix is None else mix
    return {
        **reading._asdict(), "batch_size": batch_size, "workers": workers, "prefetch": prefetch, "seed": seed,
        "augment_seed": seed if order.augment_seed is None else order.augment_seed, "shuffle": orders.shuffle_name(shuffle),
        "block_samples": order.block_samples, "window_blocks": order.window_blocks, "ranks_per_node": order.ranks_per_node,
        "rank": rank, "world_size": world_size, "tail": tail, "transform": views[0], "further_views": list(views[1:]),
        "fields": options_of_fields(fields), "on_bad_sample": on_bad_sample,
        "mixup_alpha": mixes.mixup, "cutmix_alpha": mixes.cutmix, "mix_probability": mixes.probability,
        "mix_switch_probability": mixes.switch, "worker_program": os.environ.get("BALE_WORKER") or program_path("bale-worker"),
    }
