"""The samples of a batch: the element that with_samples=True adds."""
from __future__ import annotations

from typing import Any

import torch


class Samples:
    """The samples of the rows of a batch. It does not keep the batch's slot."""

    def __init__(self, indices: torch.Tensor, dataset: Any) -> None:
        #: Positions in the dataset, int64; of an empty row 0.
        self.indices = indices
        self._dataset = dataset

    @property
    def keys(self) -> list[str]:
        """Keys of the rows, looked up in the dataset at each access."""
        return [self._dataset.key(index) for index in self.indices.tolist()]

    def __len__(self) -> int:
        return len(self.indices)
