"""bale.torch.Dataset: samples by position, for torch's DataLoader."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch.utils.data

from bale.torch._samples import Decode, Samples, Spec

if TYPE_CHECKING:
    from bale.transforms._operations.arguments import Mode


class Dataset(Samples, torch.utils.data.Dataset[Any]):
    """A map-style dataset: (image, label) by position, as torchvision's ImageFolder has it, or any fields of a sample.

    It holds no Python object per sample.

    Parameters
    ----------
    spec : path, sequence of paths or bale.Dataset
        A packed dataset, as bale.Dataset takes it, or a bale.Dataset.
    transform : callable or None, default None
        Applied to the image.
    target_transform : callable or None, default None
        Applied to the target.
    transforms : callable or None, default None
        Instead of these two: applied to both, transforms(image, target), as in torchvision's VisionDataset. A
        v2.Compose that begins with bale.torch.to_tv_tensors crops image and mask alike.
    fields : sequence of str or None, default None
        Names of the image and its targets; several targets become a tuple. "jpg;png" is the first of these that a
        sample has; "cls" is the label, "__key__" the sample's key, "__index__" its position. None: the image and its
        label.
    field : str or None, default None
        Name of the image, with the label as target. None: each sample's first field with an image's name.
    label_field : str or None, default None
        Name of the field of the label, such as "label.cls". None: the labels of the dataset.
    decode : {'pil', 'tensor', 'bytes'}, default 'pil'
        "pil": images in RGB, as ImageFolder loads them. "tensor": uint8 C x H x W. "bytes": every field as stored.
        Unless "bytes": an image that is a target keeps its stored mode (a mask's class numbers), `json` is decoded,
        `txt` is a str, `npy` an array, a label an int, -100 if the sample has none (torch's ignore_index).
    verify_checksums : bool, default True
        Compare the checksum of each field before it is returned.
    mode : {'RGB', 'L', 'RGBA', 'I;16'}, default 'RGB'
        What images are converted to, by Pillow's names; "I;16" only from images of 16-bit gray. Not of images that are
        targets.

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
    ValueError
        If options contradict each other, or no sample has one of the fields.

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

    def __init__(self, spec: Spec, transform: Callable[[Any], Any] | None = None,
                 target_transform: Callable[[Any], Any] | None = None, *,
                 transforms: Callable[[Any, Any], Any] | None = None, fields: Sequence[str] | None = None,
                 field: str | None = None, label_field: str | None = None, decode: Decode = "pil",
                 verify_checksums: bool = True, mode: Mode = "RGB") -> None:
        super().__init__(spec, transform, target_transform, transforms, fields, field, label_field, decode,
                         verify_checksums, mode)

    def __len__(self) -> int:
        return len(self.samples)

    def _repr_html_(self) -> str:
        return self.samples._repr_html_()

    def __getitem__(self, i: int) -> Any:
        return self._at(i)

    def __getitems__(self, positions: list[int]) -> list[Any]:
        """The samples of a DataLoader's batch. The kernel is asked to read all of them before the first is needed."""
        self.samples.prefetch(positions)
        return [self[i] for i in positions]
