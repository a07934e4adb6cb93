"""DeiT III."""
from __future__ import annotations

from typing import TYPE_CHECKING

from bale._docs import makes_list
from bale.transforms._operations.color import ColorJitter
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.ending import IMAGENET_MEAN, IMAGENET_STD, normalized
from bale.transforms._operations.geometry import RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Resize, Size
from bale.transforms._operations.operation import Operation
from bale.transforms._operations.policies import ThreeAugment

if TYPE_CHECKING:
    from bale._dtypes import DType


@makes_list
def deit3(size: Size = 224, *, color_jitter: float = 0.3, simple_crop: bool = False, dtype: DType = "float32",
          layout: str = "nhwc") -> Compose:
    """DeiT III (https://arxiv.org/abs/2204.07118): new_data_aug_generator in facebookresearch/deit's augment.py.

    Parameters
    ----------
    color_jitter : float, default 0.3
        Strength of brightness, contrast and saturation. 0: none.
    simple_crop : bool, default False
        Resize and crop with a border of 4 pixels (its option --src).
    """
    crop: list[Operation] = [RandomResizedCrop(size, interpolation="bicubic")]
    if simple_crop:
        crop = [Resize(size, "bicubic"), RandomCrop(size, 4, padding_mode="reflect")]
    jitter = [ColorJitter(color_jitter, color_jitter, color_jitter)] if color_jitter else []
    return Compose([*crop, RandomHorizontalFlip(), ThreeAugment(), *jitter, *normalized(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
