"""to_tv_tensors: images and masks as torchvision's v2 transforms know them."""
from __future__ import annotations

from typing import Any

import torch

from bale.torch.nested import like


def to_tv_tensors(*sample: Any) -> Any:
    """(image, target, ...) with the image as tv_tensors.Image and masks as tv_tensors.Mask, so that torchvision's v2
    transforms treat them alike. For one sample, as (the first of) a Dataset's `transforms`:

        joint = v2.Compose([bt.to_tv_tensors, v2.RandomCrop(512), v2.RandomHorizontalFlip()])
        bt.Dataset("scenes", fields=("jpg", "mask.png"), transforms=joint)

    or for a batch: `images, masks = bt.to_tv_tensors(images, masks)`, also given as one tuple or list.

    The first value is the image: PIL or tensor. Among the others a PIL image, or a tensor of whole numbers of two
    dimensions or more, is a mask; what is in a tuple or list is looked at one by one; labels and all else stay as they are.
    Tensors share their memory with what was given. ImportError where torchvision is older than 0.16.
    """
    tv_tensors = _tv_tensors()
    if len(sample) == 1 and isinstance(sample[0], (tuple, list)):
        return to_tv_tensors(*sample[0])
    if not sample:
        raise ValueError("to_tv_tensors: nothing was given")
    image, *targets = sample
    image = tv_tensors.Image(image)
    return (image, *(_target(target, tv_tensors.Mask) for target in targets)) if targets else image


def _target(target: Any, mask: Any) -> Any:
    if isinstance(target, (tuple, list)):
        return like(target, [_target(entry, mask) for entry in target])
    if isinstance(target, torch.Tensor):
        return mask(target) if target.dim() >= 2 and not _has_fractions(target) else target
    from PIL import Image

    return mask(target) if isinstance(target, Image.Image) else target


def _has_fractions(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _tv_tensors() -> Any:
    try:
        from torchvision import tv_tensors  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        try:
            from torchvision import __version__ as found
        except ImportError:
            found = "none"
        raise ImportError(f"bale.torch.to_tv_tensors needs torchvision 0.16 or newer, for its tv_tensors; "
                          f"there is {found}") from error
    return tv_tensors
