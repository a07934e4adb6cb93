"""DeiT III."""
from __future__ import annotations

from bale.transforms._docs import described
from bale.transforms.color import ColorJitter
from bale.transforms.compose import Compose
from bale.transforms.ending import IMAGENET_MEAN, IMAGENET_STD
from bale.transforms.geometry import RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Resize
from bale.transforms.presets.ending import ending
from bale.transforms.three_augment import ThreeAugment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bale.transforms.operation import Operation
    from bale.transforms.presets.ending import Size


@described
def deit3(size: Size = 224, *, color_jitter: float = 0.3, simple_crop: bool = False, dtype: Any = "float32",
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
    return Compose([*crop, RandomHorizontalFlip(), ThreeAugment(), *jitter, *ending(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
