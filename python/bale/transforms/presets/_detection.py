"""torchvision's references for detection: DetectionPresetTrain in references/detection/presets.py.

Its models resize the images of a batch, which differ in size, and normalize them. Here batches have one size, so each list
ends with that resize.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from bale._docs import makes_list
from bale.transforms._operations.boxes import RandomIoUCrop, SanitizeBoundingBoxes
from bale.transforms._operations.color import RandomPhotometricDistort
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.ending import ToDtype
from bale.transforms._operations.geometry import (
    CenterCrop,
    FixedSizeCrop,
    PadIfSmaller,
    RandomHorizontalFlip,
    RandomShortestSize,
    RandomZoomOut,
    Range,
    Resize,
    ScaleJitter,
    Size,
)
from bale.transforms._operations.operation import Operation

if TYPE_CHECKING:
    from bale._types import DType


def _scaled(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[-1])


@makes_list
def ssd_train(size: Size = 300, *, hflip: float = 0.5, fill: Range = (123, 117, 104), dtype: DType = "float32",
              layout: str = "nhwc") -> Compose:
    """torchvision's reference for detection, data_augmentation="ssd", for the model ssd300_vgg16.

    With the resize to 300 x 300 that is in the model, and without its normalization. Needs a field of the kind "boxes".
    """
    return Compose([RandomPhotometricDistort(), RandomZoomOut(fill), RandomIoUCrop(), RandomHorizontalFlip(hflip),
                    SanitizeBoundingBoxes(), Resize(_scaled(size)), ToDtype(dtype)], layout)


@makes_list
def ssdlite_train(size: Size = 320, *, hflip: float = 0.5, dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for detection, data_augmentation="ssdlite", for the model ssdlite320_mobilenet_v3_large.

    With the resize to 320 x 320 that is in the model, and without its normalization. Needs a field of the kind "boxes".
    """
    return Compose([RandomIoUCrop(), RandomHorizontalFlip(hflip), SanitizeBoundingBoxes(), Resize(_scaled(size)), ToDtype(dtype)],
                   layout)


@makes_list
def detection_train(min_size: Size = 800, max_size: int = 1333, *, hflip: float = 0.5, dtype: DType = "float32",
                    layout: str = "nhwc") -> Compose:
    """torchvision's reference for detection, data_augmentation="hflip", for Faster R-CNN and its like.

    With the resize that is in the model, and padded at the right and the bottom to max_size x max_size. Needs a field
    of the kind "boxes".

    Parameters
    ----------
    min_size : int or sequence of int, default 800
        The shorter side becomes this long, in pixels, and the longer at most max_size. A sequence: one of these, as
        data_augmentation="multiscale" with (480, 512, 544, 576, 608, 640, 672, 704, 736, 768, 800).
    max_size : int, default 1333
        Side of the images of a batch in pixels.
    """
    resize: list[Operation] = [Resize(min_size, max_size=max_size)] if isinstance(min_size, int) else [
        RandomShortestSize(min_size, max_size)]
    return Compose([RandomHorizontalFlip(hflip), SanitizeBoundingBoxes(), *resize, PadIfSmaller(max_size), CenterCrop(max_size),
                    ToDtype(dtype)], layout)


@makes_list
def lsj_train(size: Size = 1024, *, hflip: float = 0.5, fill: Range = (123, 117, 104), dtype: DType = "float32",
              layout: str = "nhwc") -> Compose:
    """torchvision's reference for detection, data_augmentation="lsj", for Mask R-CNN and its like.

    Large scale jittering (https://arxiv.org/abs/2012.07177). The reference turns the resize of the model off; its
    normalization is in the model. Needs a field of the kind "boxes".

    Parameters
    ----------
    size : int or (int, int), default 1024
        Side of the images of a batch in pixels, or (height, width).
    """
    sides = _scaled(size)
    return Compose([ScaleJitter(sides), FixedSizeCrop(sides, fill), RandomHorizontalFlip(hflip), SanitizeBoundingBoxes(),
                    ToDtype(dtype)], layout)
