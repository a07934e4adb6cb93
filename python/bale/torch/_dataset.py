"""bale.torch.Dataset: samples by position, for torch's DataLoader."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch.utils.data

from bale import _bale
from bale._docs import torch_dataset
from bale._loader.passes import version_in_state, version_of_state
from bale._types import Json
from bale.torch._samples import Decode, Samples, Spec

if TYPE_CHECKING:
    from bale.transforms._operations.arguments import Mode


@torch_dataset
class Dataset(Samples, torch.utils.data.Dataset[Any]):
    """A map-style dataset: (image, label) by position, as torchvision's ImageFolder has it, or any fields of a sample.

    It holds no Python object per sample.

    Attributes
    ----------
    samples : bale.Dataset
        Keys, labels, and every field as bytes.

    Raises
    ------
    KeyError
        If a sample does not have a field (also a bale.Error); from `dataset[i]`.
    bale.Error
        If the dataset cannot be opened; from `dataset[i]` with code "damaged" if a field cannot be decoded,
        "unsupported" if an image does not have the mode.

    Notes
    -----
    Threads: may be used by many threads at once.
    Processes: it can be pickled, and used in forked workers; both open the files again.

    Examples
    --------
    >>> import bale.torch as bt
    >>> dataset = bt.Dataset("packs/train", transform)                             # (image, label)
    >>> dataset = bt.Dataset("scenes", fields=("jpg", "mask.png"), transforms=joint)   # (image, mask)
    >>> dataset = bt.Dataset("coco", fields=("jpg;png", "json"), decode="tensor")      # (image, decoded JSON)
    """

    def __init__(self, spec: Spec, transform: Callable[..., object] | None = None,
                 target_transform: Callable[..., object] | None = None, *,
                 transforms: Callable[..., object] | None = None, fields: Sequence[str] | None = None,
                 field: str | None = None, label_field: str | None = None, decode: Decode = "pil",
                 verify_checksums: bool = True, mode: Mode = "RGB") -> None:
        super().__init__(spec, transform, target_transform, transforms, fields, field, label_field, decode,
                         verify_checksums, mode)

    def __len__(self) -> int:
        return len(self.samples)

    def state_dict(self) -> Json:
        """Returns the version that is open, which a torchdata StatefulDataLoader keeps in its states.

        Returns
        -------
        dict
            "dataset" is the version (bale.Dataset.version).
        """
        return version_in_state(self._identity)

    def load_state_dict(self, state: Json) -> None:
        """Changes nothing. The positions that a sampler gives are of the version of the state.

        Parameters
        ----------
        state : dict
            What state_dict() returned.

        Raises
        ------
        ValueError
            If the state is of another version.
        """
        saw = version_of_state(state)
        if saw not in (0, self._identity):
            _bale.refuse_other_version(self.samples.spec, saw, self._identity, None)

    @functools.cached_property
    def _identity(self) -> int:
        return self.samples._dataset.identity()

    def _repr_html_(self) -> str:
        return self.samples._repr_html_()

    def __getitem__(self, i: int) -> Any:
        return self._at(i)

    def __getitems__(self, positions: list[int]) -> list[Any]:
        """The samples of a DataLoader's batch. The kernel is asked to read all of them before the first is needed."""
        self.samples.prefetch(positions)
        return [self[i] for i in positions]
