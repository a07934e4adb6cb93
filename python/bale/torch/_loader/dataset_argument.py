"""Datasets that a Loader accepts in place of a spec: a Dataset of bale, or a torch Subset of one."""
from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np
import torch.utils.data

from bale._dataset.dataset import Dataset as PlainDataset
from bale._loader.options import array_of_positions, array_of_weights
from bale.torch._dataset import Dataset
from bale.torch._samples import TRANSFORMS, Samples


class Given(NamedTuple):
    spec: Any                        # for bale.Loader
    field: str                       # that holds the image; "" if the dataset does not say
    label_field: str                 # that holds the label; "" for cls
    mode: str | None                 # of its images; None: RGB, or the transform's own
    positions: Sequence[int] | None  # in the whole dataset, of what was given; None: all
    dataset: Any                     # what was given, if it is a dataset


def given(spec: object) -> Given:
    """Resolves what was given as `spec`. Raises TypeError for other datasets, and for those whose samples the Loader would
    not deliver unchanged."""
    if isinstance(spec, torch.utils.data.Subset):
        _refuse_own_items(spec, torch.utils.data.Subset)
        inner = given(spec.dataset)
        if inner.dataset is None:
            raise TypeError(f"spec: a Subset of {spec.dataset!r}; give a Subset of a bale.torch.Dataset")
        places, positions = inner.positions, places_of(spec)
        if places is not None:
            positions = [places[i] for i in positions]
        return inner._replace(positions=positions, dataset=spec)
    if isinstance(spec, Mapping):
        return Given(spec, "", "", None, None, None)
    if isinstance(spec, PlainDataset):
        return Given(spec, "", "", None, None, spec)
    if isinstance(spec, Dataset):
        _refuse_own_items(spec, Dataset)
        return Given(spec.samples, *_fields_of(spec), None if spec.mode == "RGB" else spec.mode, None, spec)
    if isinstance(spec, torch.utils.data.Dataset):
        raise TypeError(f"spec: {type(spec).__name__} is not a dataset of bale: {_instead_of(spec)}")
    return Given(spec, "", "", None, None, None)


def places_of(subset: torch.utils.data.Subset[Any]) -> list[int]:
    """Its indices. Raises ValueError if they are not positions."""
    size = _length(subset.dataset)
    places: list[int] = array_of_positions(subset.indices, "indices of the Subset", size).tolist()
    return places


class Reach:
    """The samples that a Loader is to read, and what a sampler over some dataset means among them."""

    def __init__(self, taken: Given, subset: object) -> None:
        self.taken, self._subset = taken, subset
        self.spec = taken.spec  # a Dataset, once its samples had to be counted

    @functools.cached_property
    def _own(self) -> list[int] | None:
        """Positions in the whole dataset; None: all."""
        own = within(self.taken, self._subset, None)[0]
        return None if own is None else list(map(int, own))

    def _size_of_whole(self) -> int:
        if not isinstance(self.spec, PlainDataset):
            self.spec = PlainDataset(self.spec)
        return len(self.spec)

    @property
    def size(self) -> int:
        return self._size_of_whole() if self._own is None else len(self._own)

    @property
    def known_size(self) -> int | None:
        """None for a mixture, which has no positions."""
        return None if isinstance(self.spec, Mapping) else self.size

    def positions_of(self, source: object) -> list[int] | None:
        """The positions in what the Loader was given that a sampler over `source` gives; None: all, in their order. Raises ValueError
        if it is over other samples."""
        root, places = _root_of(source, self.taken.dataset)
        positions = None
        if places is not None and root is self.taken.dataset and self.taken.positions is not None:
            positions = [self.taken.positions[place] for place in places]
        elif places is not None and _length(root) == self._size_of_whole():
            positions = places
        if positions is None:
            if _length(source) != self.size:
                self._refuse(source)
            return None
        own = self._own
        if own is None:
            return positions
        place_of = {position: place for place, position in enumerate(own)}
        if not place_of.keys() >= set(positions):
            self._refuse(source)
        return None if positions == own else [place_of[position] for position in positions]

    def _refuse(self, source: object) -> NoReturn:
        others = ", not all of them those" if _length(source) == self.size else ""
        raise ValueError(f"sampler: it is over {_length(source)} samples{others}, and the Loader is to read {self.size}; give the Loader the Subset "
                         f"that the sampler was made for, or make the sampler of the Loader's dataset or a Subset of it")


def _root_of(source: object, given: object) -> tuple[Any, list[int] | None]:
    """The dataset of which `source` is a Subset, or a concatenation of such, and the positions in it; None: `source` itself."""
    if source is given:
        return source, None
    if isinstance(source, torch.utils.data.Subset):
        root, places = _root_of(source.dataset, given)
        own = places_of(source)
        return root, own if places is None else [places[i] for i in own]
    if isinstance(source, torch.utils.data.ConcatDataset):
        parts = [_root_of(part, given) for part in source.datasets]
        if all(root is parts[0][0] for root, _ in parts):
            return parts[0][0], [place for root, places in parts for place in (range(len(root)) if places is None else places)]
    return source, None


def within(taken: Given, subset: Any, weights: Any, option: str = "subset") -> tuple[Any, Any]:
    """Translates subset and weights of the given dataset to those of the whole dataset. `option`: which gave the subset."""
    if taken.positions is None:
        return subset, weights
    places = np.asarray(taken.positions, np.int64)
    if subset is not None:
        return places[array_of_positions(subset, option, len(places))], weights
    if weights is None:
        return places, None
    weights = array_of_weights(weights)
    if len(weights) != len(places):
        raise ValueError(f"{len(weights)} weights for {len(places)} samples")
    whole = np.zeros(len(taken.spec))
    np.add.at(whole, places, weights)
    return None, whole


def _length(source: Any) -> int | None:
    try:
        return len(source)
    except TypeError:
        return None


def _refuse_own_items(dataset: Any, base: type[Any]) -> None:
    """Raises TypeError for a subclass that returns other samples: the Loader would ignore that."""
    kind = type(dataset)
    if kind.__getitem__ is not base.__getitem__:
        raise TypeError(f"spec: {kind.__name__} has a __getitem__ of its own, which runs in Python; the Loader's workers run none. Give this "
                        f"dataset to a torch DataLoader, or give the Loader a bale.torch.Dataset and transform=bale.transforms.train(224, ...)")


def _fields_of(dataset: Dataset) -> tuple[str, str]:
    """The fields of a Dataset's image and label. Raises TypeError if it transforms samples in Python or does not deliver (image, label):
    the Loader would ignore that."""
    for name in TRANSFORMS:
        if getattr(dataset, name) is not None:
            raise TypeError(f"spec: this bale.torch.Dataset has a {name}, which runs in Python; the Loader's workers run none. "
                            f"Make the Dataset without it and give transform=bale.transforms.train(224, ...) to the Loader, "
                            f"or give this Dataset to a torch DataLoader")
    field, *targets = dataset.fields
    label_field = "" if targets == ["cls"] else targets[0]
    is_label = len(targets) == 1 and targets[0].rpartition(".")[2] == "cls"
    if not is_label or ";" in field + label_field or field.startswith("__"):
        raise TypeError(f"spec: this bale.torch.Dataset gives the fields {', '.join(dataset.fields)}; the Loader gives an "
                        f"image and its label. Give this Dataset to a torch DataLoader, or give the Loader its path and fields=, as in "
                        f"{{'meta': 'json'}}")
    vars(dataset)["_is_of_loader"] = True
    return field, label_field


def _instead_of(dataset: object) -> str:
    if isinstance(dataset, torch.utils.data.ConcatDataset):
        return "give the packed datasets as a list"
    if isinstance(dataset, Samples):
        return "give a bale.torch.Dataset, or a path; the Loader is a stream by itself"
    return "pack its files with `bale pack FOLDER PACK` and give the path PACK"


class Part(torch.utils.data.Subset[Any]):
    """`loader.dataset` of a Loader whose order has a subset. It has as many samples as an epoch, so scripts may divide sums by its
    length."""

    @property
    def _whole(self) -> PlainDataset | Dataset:
        return cast("PlainDataset | Dataset", self.dataset)

    @property
    def classes(self) -> list[str]:
        return self._whole.classes

    @property
    def num_classes(self) -> int:
        """Of the whole dataset."""
        return self._whole.num_classes

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}

    @property
    def targets(self) -> list[int]:
        """Labels of these samples, as the whole dataset has them."""
        label_of = self._whole.targets
        return [label_of[i] for i in self.indices]
