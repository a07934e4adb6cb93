"""The samples of a batch: the element that with_samples=True adds."""
from __future__ import annotations

import torch

from bale._loader.lazy_keys import LazyKeys


class Samples:
    """The samples of the rows of a batch: the element that with_samples=True adds.

    Parameters
    ----------
    indices : tensor of int64, shape (N,)
        Positions in the dataset; of an empty row 0.
    positions : LazyKeys
        Made by the Loader.

    Attributes
    ----------
    indices : tensor of int64, shape (N,)
        Positions in the dataset; of an empty row 0.

    Notes
    -----
    Lifetime: it does not keep the batch's slot.
    """

    def __init__(self, indices: torch.Tensor, positions: LazyKeys) -> None:
        #: Positions in the dataset, int64; of an empty row 0.
        self.indices = indices
        self._positions = positions

    @property
    def keys(self) -> list[str]:
        """Keys of the rows, looked up in the dataset at each access."""
        return self._positions.keys_of(self.indices.numpy())

    @property
    def sources(self) -> torch.Tensor | None:
        """Numbers of the rows' sources, int64, positions in `loader.sources`; None unless the Loader mixes."""
        sources = self._positions.sources_of(self.indices.numpy())
        return None if sources is None else torch.from_numpy(sources)

    @property
    def image_sizes(self) -> torch.Tensor:
        """Width and height of the stored images, int64, N x 2, looked up in the dataset at each access."""
        return torch.from_numpy(self._positions.sizes_of(self.indices.numpy()))

    def __len__(self) -> int:
        return len(self.indices)
