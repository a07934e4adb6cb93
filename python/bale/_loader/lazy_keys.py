"""LazyKeys: what a batch needs of its dataset to tell the keys of its samples."""
from __future__ import annotations

from typing import TYPE_CHECKING

from bale._dataset.dataset import Dataset

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bale._loader.mixture import Mixture


class LazyKeys:
    """The dataset of a Loader, opened when it is first asked for: most loops never ask. Batches keep it, not their Loader."""

    def __init__(self, spec: str, dataset: Dataset | None, mixture: Mixture | None = None, merges_classes: bool = True) -> None:
        self._spec, self._merges_classes = spec, merges_classes
        self._dataset = dataset
        self._mixture = mixture
        self._version: tuple[int, int, str] | None = None

    def bind(self, version: tuple[int, int, str]) -> None:
        """Makes this the dataset that the Loader has open. Any other is an error, now or when it is opened."""
        self._version = version
        if self._dataset is not None:
            self._dataset._dataset.require_version(version)

    @property
    def version(self) -> str | None:
        """The id of the version that is open; empty without a manifest. None: nothing is open."""
        return None if self._dataset is None else self._dataset._dataset.version()[2]

    @property
    def dataset(self) -> Dataset:
        if self._dataset is None:
            self._dataset = Dataset._opened_as(self._spec, self._version, self._merges_classes)
        return self._dataset

    def keys_of(self, indices: NDArray[np.int64]) -> list[str]:
        keys = self.dataset.keys
        return [keys[index] for index in indices.tolist()]

    def sources_of(self, indices: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """None if the Loader does not mix."""
        return None if self._mixture is None else self._mixture.sources_of(indices)

    def sizes_of(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.dataset.image_sizes(indices.tolist())
