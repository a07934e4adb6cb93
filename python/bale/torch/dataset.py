"""bale.torch.Dataset: samples by position, for torch's DataLoader."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch.utils.data

from bale.torch.samples import Samples

if TYPE_CHECKING:
    from bale.torch.samples import Decode, Spec
    from bale.transforms.recipes import Mode


class Dataset(Samples, torch.utils.data.Dataset[Any]):
    """A map-style dataset: (image, label) by position, as torchvision's ImageFolder has it, or any fields of a sample.

        bt.Dataset("packs/train", transform)                                        # (image, label)
        bt.Dataset("scenes", fields=("jpg", "mask.png"), transforms=joint)          # (image, mask)
        bt.Dataset("coco", fields=("jpg;png", "json"), decode="tensor")             # (image, decoded JSON)

    spec               a packed dataset, as bale.Dataset takes it, or a bale.Dataset
    transform          applied to the image
    target_transform   applied to the target
    transforms         instead of these two: applied to both, transforms(image, target), as in torchvision's VisionDataset.
                       A v2.Compose that begins with bale.torch.to_tv_tensors crops image and mask alike
    fields             names of the image and its targets; several targets become a tuple. "jpg;png" is the first of these
                       that a sample has; "cls" is the label, "__key__" the sample's key, "__index__" its position.
                       Default: the image and its label
    field              name of the image, with the label as target; default: each sample's first field with an image's
                       name
    decode             "pil": images in RGB, as ImageFolder loads them; "tensor": uint8 C x H x W; "bytes": every field as
                       stored. Unless "bytes": an image that is a target keeps its stored mode (a mask's class numbers),
                       `json` is decoded, `txt` is a str, `npy` an array, a label an int, -100 if the sample has none
                       (torch's ignore_index)
    mode               what images are converted to, by Pillow's names: "RGB", "L", "RGBA", or "I;16", which only images of
                       16-bit gray have. Not of images that are targets
    verify_checksums   compare the checksum of each field before it is returned

    It holds no Python object per sample. Processes: it can be pickled, and used in forked workers; both open the files
    again. Raises KeyError (also a bale.Error) if a sample does not have a field, bale.Error with code "damaged" if a field
    cannot be decoded, "unsupported" if an image does not have the mode.
    """

    def __init__(self, spec: Spec, transform: Callable[[Any], Any] | None = None,
                 target_transform: Callable[[Any], Any] | None = None, *,
                 transforms: Callable[[Any, Any], Any] | None = None, fields: Sequence[str] | None = None,
                 field: str | None = None, decode: Decode = "pil", verify_checksums: bool = True,
                 mode: Mode = "RGB") -> None:
        super().__init__(spec, transform, target_transform, transforms, fields, field, decode, verify_checksums, mode)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: int) -> Any:
        return self._at(i)

    def __getitems__(self, positions: list[int]) -> list[Any]:
        """The samples of a DataLoader's batch. The kernel is asked to read all of them before the first is needed."""
        self.samples.prefetch(positions)
        return [self[i] for i in positions]
