"""to_tv_tensors: wraps images and masks for torchvision's v2 transforms."""
from __future__ import annotations

import importlib
from typing import Any

import torch

from bale.torch._tree import like


def to_tv_tensors(*sample: object) -> Any:
    """Wraps images and masks, so that torchvision's v2 transforms treat them alike.

    The first value is the image, PIL or tensor. Among the others, a PIL image, and a tensor of integers whose last two
    dimensions are the image's, is a mask; tuples and lists are searched; labels, boxes, what torchvision has wrapped, and
    other values stay the same.

    Parameters
    ----------
    *sample : image, target, ...
        The values of one sample, as a Dataset's `transforms` gets them, or those of a batch; or one tuple or list of
        them.

    Returns
    -------
    tuple, or tv_tensors.Image
        (image, target, ...) with the image as tv_tensors.Image and masks as tv_tensors.Mask; for an image alone that.
        Tensors share their memory with the arguments.

    Raises
    ------
    ImportError
        If torchvision is older than 0.16.
    ValueError
        If nothing is given.

    Examples
    --------
    >>> joint = v2.Compose([bt.to_tv_tensors, v2.RandomCrop(512), v2.RandomHorizontalFlip()])
    >>> dataset = bt.Dataset("scenes", fields=("jpg", "mask.png"), transforms=joint)
    >>> images, masks = bt.to_tv_tensors(images, masks)  # of a batch
    """
    tv_tensors = _tv_tensors()
    if len(sample) == 1 and isinstance(sample[0], (tuple, list)):
        return to_tv_tensors(*sample[0])
    if not sample:
        raise ValueError("to_tv_tensors: nothing was given")
    image, *targets = sample
    image = tv_tensors.Image(image)
    return (image, *(_target(target, image.shape[-2:], tv_tensors) for target in targets)) if targets else image


def _target(target: Any, size: Any, tv_tensors: Any) -> Any:
    mask = tv_tensors.Mask
    if isinstance(target, (tuple, list)):
        return like(target, [_target(entry, size, tv_tensors) for entry in target])
    if isinstance(target, torch.Tensor):
        is_mask = target.shape[-2:] == size and not _has_fractions(target) and not isinstance(target, tv_tensors.TVTensor)
        return mask(target) if is_mask else target
    from PIL import Image

    return mask(target) if isinstance(target, Image.Image) else target


def _has_fractions(tensor: torch.Tensor) -> bool:
    return bool(tensor.dtype.is_floating_point or tensor.dtype.is_complex)


def _tv_tensors() -> Any:
    try:
        return importlib.import_module("torchvision.tv_tensors")
    except ImportError as error:
        try:
            found = importlib.import_module("torchvision").__version__
        except ImportError:
            found = "none"
        raise ImportError(f"bale.torch.to_tv_tensors needs torchvision 0.16 or newer, for its tv_tensors; there is "
                          f"{found}") from error
