"""torchvision's references for segmentation."""
from __future__ import annotations

from bale.transforms.compose import Compose
from bale.transforms.geometry import PadIfSmaller, RandomCrop, RandomHorizontalFlip, RandomResize, Resize
from bale.transforms.presets.ending import ending
from bale.transforms.recipes import IMAGENET_MEAN, IMAGENET_STD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bale.transforms.operation import Operation
    from bale.transforms.presets.ending import Range, Size


def segmentation_train(base_size: int = 520, crop_size: Size = 480, *, hflip: float = 0.5, mean: Range = IMAGENET_MEAN,
                       std: Range = IMAGENET_STD, dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for segmentation: SegmentationPresetTrain in references/segmentation/presets.py (the v2 one).

    Parameters
    ----------
    base_size : int, default 520
        The shorter side becomes half of it to 2 * base_size - 1 pixels.
    crop_size : int or (int, int), default 480
        Side of the crop in pixels, or (height, width).
    hflip : float, default 0.5
        Probability that the image is mirrored.
    mean : sequence of float, default IMAGENET_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default IMAGENET_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    found: list[Operation] = [RandomResize(int(0.5 * base_size), int(2.0 * base_size))]
    if hflip > 0:
        found.append(RandomHorizontalFlip(hflip))
    return Compose([*found, PadIfSmaller(crop_size), RandomCrop(crop_size), *ending(dtype, mean, std)], layout)


def segmentation_eval(size: Size = (520, 520), *, mean: Range = IMAGENET_MEAN, std: Range = IMAGENET_STD,
                      dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for segmentation: SegmentationPresetEval (the v2 one), which does not keep the image's shape.

    Parameters
    ----------
    size : int or (int, int), default (520, 520)
        (height, width) in pixels.
    mean : sequence of float, default IMAGENET_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default IMAGENET_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([Resize(size), *ending(dtype, mean, std)], layout)
