"""torchvision's references for segmentation."""
from __future__ import annotations

from typing import TYPE_CHECKING

from bale._docs import makes_list
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.ending import IMAGENET_MEAN, IMAGENET_STD, normalized
from bale.transforms._operations.geometry import (
    PadIfSmaller,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResize,
    Range,
    Resize,
    Size,
)
from bale.transforms._operations.operation import Operation

if TYPE_CHECKING:
    from bale._types import DType


@makes_list
def segmentation_train(base_size: int = 520, crop_size: Size = 480, *, hflip: float = 0.5, mean: Range = IMAGENET_MEAN,
                       std: Range = IMAGENET_STD, dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for segmentation: SegmentationPresetTrain in references/segmentation/presets.py (the v2 one).

    Parameters
    ----------
    base_size : int, default 520
        The shorter side becomes half of it to 2 * base_size - 1 pixels.
    crop_size : int or (int, int), default 480
        Side of the crop in pixels, or (height, width).
    """
    found: list[Operation] = [RandomResize(int(0.5 * base_size), int(2.0 * base_size))]
    if hflip > 0:
        found.append(RandomHorizontalFlip(hflip))
    return Compose([*found, PadIfSmaller(crop_size), RandomCrop(crop_size), *normalized(dtype, mean, std)], layout)


@makes_list
def segmentation_eval(size: Size = (520, 520), *, mean: Range = IMAGENET_MEAN, std: Range = IMAGENET_STD,
                      dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for segmentation: SegmentationPresetEval (the v2 one), which does not keep the image's shape.

    Parameters
    ----------
    size : int or (int, int), default (520, 520)
        (height, width) in pixels.
    """
    return Compose([Resize(size), *normalized(dtype, mean, std)], layout)
