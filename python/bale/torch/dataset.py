"""bale.torch.Dataset: samples by position, for the ordinary DataLoader."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch.utils.data

from bale.torch.samples import Samples

if TYPE_CHECKING:
    from bale.torch.samples import Decode, Spec


class Dataset(Samples, torch.utils.data.Dataset[Any]):
    """(image, label) by position, as torchvision's ImageFolder gives them, or any fields of a sample. Pickled, or in a
    forked worker, it opens its files again; it holds no Python object per sample.

        bt.Dataset("packs/train", transform)                                        # (image, label)
        bt.Dataset("scenes", fields=("jpg", "mask.png"), transforms=joint)          # (image, mask)
        bt.Dataset("coco", fields=("jpg;png", "json"), decode="tensor")             # (image, what the JSON says)

    transform          of the image
    target_transform   of the target
    transforms         instead of these: of both together, transforms(image, target), as torchvision's VisionDataset
                       takes it; a v2.Compose that begins with bale.torch.to_tv_tensors crops image and mask alike
    fields             names of the image and of its target; of several targets a tuple. "jpg;png" is the first that a
                       sample has; "cls" the label, "__key__" the sample's key, "__index__" its position.
                       Default: the image and its label
    field              the field that holds the image, with the label as target; default: each sample's first one with an
                       image's name
    decode             "pil": images as ImageFolder loads them, in RGB; "tensor": uint8 C x H x W; "bytes": every field
                       as stored. An image that is a target comes as it is stored (a mask's class numbers), `json`
                       decoded, `txt` as str, `npy` as an array, a label as int: -100 if the sample has none
                       (torch's ignore_index)
    verify_checksums   compare each field's checksum before it is given

    Raises bale.Error: KeyError where a sample lacks a field, code "damaged" where one cannot be decoded.
    """

    def __init__(self, spec: Spec, transform: Callable[[Any], Any] | None = None,
                 target_transform: Callable[[Any], Any] | None = None, *,
                 transforms: Callable[[Any, Any], Any] | None = None, fields: Sequence[str] | None = None,
                 field: str | None = None, decode: Decode = "pil", verify_checksums: bool = True) -> None:
        super().__init__(spec, transform, target_transform, transforms, fields, field, decode, verify_checksums)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: int) -> Any:
        return self._at(i)

    def __getitems__(self, positions: list[int]) -> list[Any]:
        """A DataLoader's batch: the kernel is asked for all of it before the first is read."""
        self.samples.prefetch(positions)
        return [self[i] for i in positions]
