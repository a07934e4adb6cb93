"""The samples of an epoch and their order: options of bale.Loader and bale.torch.IterableDataset."""
from __future__ import annotations

from typing import Any

import numpy as np

from bale import _bale
from bale._types import Numbers, Shuffle, Tail

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


def selection(size: int, subset: Numbers | None, weights: Numbers | None, num_draws: int | None,
              repeats: int) -> _bale.Selection:
    """The deliveries of an epoch of a dataset of `size` samples. Raises ValueError for contradictory options and for
    positions or weights that do not fit the dataset."""
    if subset is not None and weights is not None:
        raise ValueError("subset and weights: give one of them")
    if num_draws is not None and weights is None:
        raise ValueError("num_draws needs weights")
    if weights is not None:
        values = _array(weights, "weights", "iuf", "float64")
        if len(values) != size:
            raise ValueError(f"{len(values)} weights for {size} samples")
        chosen = _bale.Selection.weighted(values, size if num_draws is None else num_draws)
    elif subset is not None:
        positions = _array(subset, "subset", "iu", "int64")
        if len(positions) and positions.min() < 0:
            raise ValueError(f"subset: {positions.min()} is below 0")
        chosen = _bale.Selection.subset(positions.astype("uint64"), size)
    else:
        chosen = _bale.Selection.all(size)
    return chosen if repeats == 1 else chosen.repeated(repeats)


def _array(given: Numbers, option: str, kinds: str, dtype: str) -> Any:
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        raise ValueError(f"{option}: wanted a list of {'positions' if kinds == 'iu' else 'numbers'}, "
                         f"not {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array, dtype)
