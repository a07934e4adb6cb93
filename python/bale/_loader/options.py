"""The options of a Loader in groups, and as the extension module takes them."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bale import _bale, transforms
from bale._cli import program_path
from bale._loader.fields import Field
from bale._loader.fields import options_of as options_of_fields
from bale._loader.reading import Reading
from bale._types import Numbers, Options, Shuffle, Tail
from bale._warnings import warn

if TYPE_CHECKING:
    from bale._dataset.dataset import Dataset


OnBadSample = Literal["fail", "skip", "substitute"]


class Order(NamedTuple):
    """Which samples an epoch has and in which order, as `order=` of a Loader, in addition to its shuffle and seed.

    Parameters
    ----------
    subset : array-like of int or None, default None
        Positions in the dataset that make up an epoch. None: all.
    weights : array-like of float or None, default None
        Draw `num_draws` samples per epoch with these probabilities, with replacement; one weight per sample.
    num_draws : int or None, default None
        Samples per epoch with `weights`. None: len(weights).
    where : str or None, default None
        A condition (docs/WHERE.md): an epoch has the samples for which it is true, instead of a subset. A Loader takes it also as a keyword.
    repeats : int, default 1
        Deliver each sample this often per epoch, which is then as many times as long. torchvision's RASampler delivers as
        many copies of a part of the samples instead, so its epoch has the dataset's length.
    block_samples : int, default 64
        Samples per block, for shuffle="block" and "stream".
    window_blocks : int, default 16
        Blocks that are mixed with each other, for shuffle="block" and "stream".
    ranks_per_node : int or None, default None
        Ranks on each node, for shuffle="node-local": rank r is on node r // ranks_per_node. None: $LOCAL_WORLD_SIZE, which
        torchrun sets.
    augment_seed : int or None, default None
        Seed of crops, flips and colors. None: `seed`.
    shares : mapping from str to number or str, or None, default None
        Of a Loader that is given a dict of datasets: the share of each, as whole numbers, decimals (read exactly: 0.7 is 7/10) or texts ("7/10").
        See docs/MIXTURES.md. A Loader takes this and the next two also as keywords of its own.
    epoch_samples : int, str or None, default None
        Samples per epoch of a mixture, on all ranks; "pass:NAME": as many as one pass over that source takes. None: the samples of all sources.
    exact_every : int or None, default None
        Of each so many samples of a mixture, on all ranks, every source has its share. None: 256.
    together : int, default 1
        Consecutive samples of a mixture that are of one source. batch_size * world_size: each batch of all ranks is of one source.

    Notes
    -----
    The Loader checks the values: it raises ValueError.

    Examples
    --------
    >>> loader = bale.Loader("packs/train", shuffle="block", order=bale.Order(block_samples=256, repeats=2))
    """

    subset: Numbers | None = None
    weights: Numbers | None = None
    num_draws: int | None = None
    where: str | None = None
    repeats: int = 1
    block_samples: int = 64
    window_blocks: int = 16
    ranks_per_node: int | None = None
    augment_seed: int | None = None
    shares: Mapping[str, Any] | None = None
    epoch_samples: int | str | None = None
    exact_every: int | None = None
    together: int = 1

    def _mixes(self) -> bool:
        """Whether it has an option of mixtures."""
        return (self.shares, self.epoch_samples, self.exact_every, self.together) != (None, None, None, 1)

    def _chosen_in(self, dataset: Callable[[], Dataset]) -> Order:
        """With the positions that `where` stands for as the subset."""
        if self.where is None:
            return self
        if self.subset is not None or self.weights is not None:
            raise ValueError("where: subset and weights choose samples, too; give one of them")
        return self._replace(where=None, subset=dataset().select(self.where))

    def _selection(self, size: int) -> _bale.Selection:
        """The deliveries of an epoch of a dataset of `size` samples."""
        selection = selection_of(size, self.subset, self.weights, self.num_draws, self.repeats)
        if self._chooses() and not len(selection):
            warn(f"an epoch has no samples: where, subset or num_draws chooses none of {size}")
        return selection

    def _chooses(self) -> bool:
        """Whether an epoch is something else than each sample once."""
        return self.where is not None or self.subset is not None or self.weights is not None or self.num_draws is not None or self.repeats != 1


class Cuda(NamedTuple):
    """A GPU and how batches get there, as `device=` of a Loader.

    Parameters
    ----------
    device : str, int, torch.device or None, default 'cuda'
        "cuda", "cuda:N" or, of bale.torch.Loader, what torch.device() takes. None: no device.
    depth : int, default 2
        Number of batches that are copied to the device ahead.
    hold : int, default 3
        Number of batches that you hold for which device memory is allocated in advance; each batch more allocates
        memory.
    hflip : float, default 0.0
        Probability that the device mirrors an image, for transforms that do not.
    convert : bool, default True
        False: the workers make pixels of the transform's dtype, and 2 to 4 times as many bytes are copied. They do so
        too if the device does not take bale's kernels. What a driver refuses (kernels, page-locked memory) is done in a
        slower way, with one warning; see counters["pageable_bytes"].
    decode : {'host', 'device'}, default 'host'
        "device": the GPU decodes JPEGs by NVIDIA's nvJPEG, if it is installed, for transforms that only crop, resize once and
        mirror. Workers decode what nvJPEG does not. Its pixels differ from theirs. Worth it only where `bale tune
        --device cuda` measures that it is faster; see docs/TUNING.md.

    Notes
    -----
    The Loader checks the values: it raises ValueError.

    Examples
    --------
    >>> loader = bale.Loader("packs/train", device=bale.Cuda("cuda:1", depth=3))
    """

    device: Any = "cuda"
    depth: int = 2
    hold: int = 3
    hflip: float = 0.0
    convert: bool = True
    decode: Literal["host", "device"] = "host"


def native_options(*, batch_size: int, workers: int | None, threads: bool, prefetch: int, seed: int, shuffle: Shuffle, rank: int, world_size: int,
                   tail: Tail, views: Sequence[transforms.Compose], source_transforms: Sequence[transforms.Compose], fields: Mapping[str, str | Field] | None, on_bad_sample: OnBadSample,
                   mix: transforms.Mix | None, order: Order, reading: Reading) -> Options:
    """The options of a _bale.Loader. Raises ValueError and TypeError for values that it cannot have."""
    mixes = transforms.Mix() if mix is None else mix
    if threads and workers == 0:
        warn("threads: no effect with workers=0, with which next() makes the batches itself; give a number of threads as `workers`")
    return {
        **{name: value for name, value in reading._asdict().items() if name != "mode"},  # which is the transform's
        "batch_size": batch_size, "workers": workers, "threads": threads, "prefetch": prefetch, "seed": seed,
        "augment_seed": seed if order.augment_seed is None else order.augment_seed, "shuffle": shuffle_name(shuffle),
        "block_samples": order.block_samples, "window_blocks": order.window_blocks, "ranks_per_node": order.ranks_per_node,
        "rank": rank, "world_size": world_size, "tail": tail, "transform": views[0], "further_views": list(views[1:]),
        "source_transforms": list(source_transforms),
        "fields": options_of_fields(fields), "on_bad_sample": on_bad_sample,
        "mixup_alpha": mixes.mixup, "cutmix_alpha": mixes.cutmix, "mix_probability": mixes.probability,
        "mix_switch_probability": mixes.switch, "worker_program": os.environ.get("BALE_WORKER") or program_path("bale-worker"),
    }


SHUFFLES = {True: "full", False: "none", "block": "block", "node-local": "node-local", "stream": "stream"}


def shuffle_name(shuffle: Shuffle) -> str:
    """The name on the C++ side. Raises ValueError for anything but True, False, "block", "node-local" and "stream"."""
    try:
        return SHUFFLES[shuffle]
    except (KeyError, TypeError):
        raise ValueError(f"shuffle: {shuffle!r} is none of True, False, 'block', 'node-local', 'stream'") from None


def tail_name(tail: Tail, drop_last: bool) -> Tail:
    """`tail`, or "drop" if drop_last. Raises ValueError if the two contradict each other."""
    if drop_last and tail == "uneven":
        raise ValueError("drop_last=True contradicts tail='uneven'")
    return "drop" if drop_last else tail


def selection_of(size: int, subset: Numbers | None, weights: Numbers | None, num_draws: int | None,
                 repeats: int) -> _bale.Selection:
    """The deliveries of an epoch of a dataset of `size` samples. Raises ValueError for contradictory options and for
    positions or weights that do not fit the dataset."""
    if subset is not None and weights is not None:
        raise ValueError("subset and weights: give one of them")
    if num_draws is not None and weights is None:
        raise ValueError("num_draws needs weights")
    if weights is not None:
        values = array_of_weights(weights)
        if len(values) != size:
            raise ValueError(f"{len(values)} weights for {size} samples")
        chosen = _bale.Selection.weighted(values, size if num_draws is None else num_draws)
    elif subset is not None:
        positions = array_of_positions(subset, "subset", size)
        chosen = _bale.Selection.subset(positions.astype("uint64"), size)
    else:
        chosen = _bale.Selection.all(size)
    return chosen if repeats == 1 else chosen.repeated(repeats)


def array_of_positions(given: Numbers, option: str, size: int | None = None) -> Any:
    """An int64 array. Raises ValueError for what numpy would convert without a word: masks, fractions and texts; and for positions
    that `size` samples do not have."""
    positions = _array(given, option, "iu", "int64")
    if size is not None and len(positions) and not (0 <= positions.min() and positions.max() < size):
        raise ValueError(f"{option}: {positions.min() if positions.min() < 0 else positions.max()} is not a position of {size} samples")
    return positions


def array_of_weights(given: Numbers) -> Any:
    """A float64 array. Raises ValueError for masks and texts."""
    return _array(given, "weights", "iuf", "float64")


def _array(given: Numbers, option: str, kinds: str, dtype: str) -> Any:
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        raise ValueError(f"{option}: wanted a list of {'positions' if kinds == 'iu' else 'numbers'}, "
                         f"not {array.dtype} of shape {array.shape}{'; np.flatnonzero() gives those of a mask' * (array.dtype.kind == 'b')}")
    return np.ascontiguousarray(array, dtype)


# Members of Order and Reading that are also keywords of a Loader, without a warning.
KEYWORDS = ("where", "shares", "epoch_samples", "exact_every", "labels")
# The keyword, the name of its value, and the value's member.
_MOVED = {
    **{name: ("order", name) for name in Order._fields if name != "together"},
    **{name: ("reading", name) for name in Reading._fields},
    **{name: ("device", name) for name in ("depth", "hold", "decode")},
    "device_hflip": ("device", "hflip"),
    "device_convert": ("device", "convert"),
}
OLD_KEYWORDS = frozenset(_MOVED)


def with_old_keywords(function: str, given: Mapping[str, Any], **values: Any) -> tuple[Any, ...]:
    """The values (order, reading, device) with what old keywords say. Raises TypeError for a keyword that never was one."""
    for keyword, kind in (("order", Order), ("reading", Reading)):
        if not isinstance(values.get(keyword, kind()), kind):
            raise TypeError(f"{function}: {keyword}={values[keyword]!r} is not a bale.{kind.__name__}")
    spellings = []
    for keyword, value in given.items():
        option, member = _MOVED.get(keyword, ("", ""))
        if option not in values:
            raise TypeError(f"{function}() got an unexpected keyword argument {keyword!r}")
        values[option] = values[option]._replace(**{member: value})
        if keyword in KEYWORDS:
            continue
        spellings.append(f"{keyword}= is {option}=bale.{type(values[option]).__name__}({member}=...)")
    if spellings:
        warn(f"{function}: {'; '.join(spellings)} now. The old keywords will be removed", DeprecationWarning)
    return tuple(values.values())
