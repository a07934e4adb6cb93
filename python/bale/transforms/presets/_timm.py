"""timm's defaults."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bale._docs import makes_list
from bale.transforms._operations.color import ColorJitter, GaussianBlur, RandomGrayscale
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.control import RandomApply
from bale.transforms._operations.ending import IMAGENET_MEAN, IMAGENET_STD, RandomErasing, normalized
from bale.transforms._operations.geometry import (
    CenterCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Range,
    Resize,
    Size,
)
from bale.transforms._operations.operation import Operation
from bale.transforms._operations.policies import TimmAutoAugment

if TYPE_CHECKING:
    from bale._types import DType


@makes_list
def timm_train(size: Size = 224, *, scale: Range = (0.08, 1.0), ratio: Range = (3 / 4, 4 / 3), hflip: float = 0.5,
               vflip: float = 0.0, color_jitter: float | Sequence[float] | None = 0.4, color_jitter_prob: float | None = None,
               grayscale_prob: float = 0.0, gaussian_blur_prob: float = 0.0, auto_augment: str | None = None,
               interpolation: str = "bilinear", mean: Range = IMAGENET_MEAN, std: Range = IMAGENET_STD, re_prob: float = 0.0,
               re_mode: str = "const", re_count: int = 1, dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """timm.data.create_transform(size, is_training=True, ...) of timm 1.0, with its defaults: timm/data/transforms_factory.py.

    timm's script train.py gives interpolation="random" and, for A1 to A3, auto_augment="rand-m7-mstd0.5-inc1" or
    "rand-m6-...".

    Parameters
    ----------
    vflip : float, default 0.0
        Probability that the image is mirrored top to bottom.
    color_jitter : float, sequence of float or None, default 0.4
        Strength of brightness, contrast and saturation, or each of them. None: none.
    color_jitter_prob : float or None, default None
        Probability of the color jitter. None: always.
    grayscale_prob : float, default 0.0
        Probability of RandomGrayscale.
    gaussian_blur_prob : float, default 0.0
        Probability of a blur with a kernel of 23 pixels.
    auto_augment : str or None, default None
        A string of timm's; it turns color_jitter off, except with "3a".
    interpolation : str, default 'bilinear'
        As for RandomResizedCrop; "random" draws bilinear or bicubic per image.
    re_prob : float, default 0.0
        Probability of RandomErasing.
    re_mode : str, default 'const'
        "const", "rand" or "pixel": what erased pixels become, as timm has it.
    re_count : int, default 1
        Largest number of rectangles.
    """
    found: list[Operation] = [RandomResizedCrop(size, scale, ratio, interpolation)]
    found += [RandomHorizontalFlip(hflip)] if hflip > 0 else []
    found += [RandomVerticalFlip(vflip)] if vflip > 0 else []
    if auto_augment:
        side = size if isinstance(size, int) else min(size)
        fill = tuple(min(255, round(255 * value)) for value in mean)
        found.append(TimmAutoAugment(auto_augment, int(side * 0.45), interpolation, fill))
    if color_jitter is not None and (not auto_augment or "3a" in auto_augment):
        strengths = (float(color_jitter),) * 3 if isinstance(color_jitter, (int, float)) else tuple(color_jitter)
        jitter = ColorJitter(*strengths)
        found.append(jitter if color_jitter_prob is None else RandomApply([jitter], color_jitter_prob))
    if grayscale_prob:
        found.append(RandomGrayscale(grayscale_prob))
    if gaussian_blur_prob:
        found.append(RandomApply([GaussianBlur(23)], gaussian_blur_prob))
    found += normalized(dtype, mean, std)
    if re_prob > 0:
        values: dict[str, float | str] = {"const": 0, "rand": "channel_random", "pixel": "random"}
        if re_mode not in values:
            raise ValueError(f"re_mode: {re_mode!r} is none of {', '.join(map(repr, values))}")
        value = values[re_mode]
        found.append(RandomErasing(re_prob, (0.02, 1 / 3), (0.3, 1 / 0.3), value, timm=True, max_count=re_count))
    return Compose(found, layout)


@makes_list
def timm_eval(size: int = 224, *, crop_pct: float = 0.875, interpolation: str = "bilinear", mean: Range = IMAGENET_MEAN,
              std: Range = IMAGENET_STD, dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """timm.data.create_transform(size) of timm 1.0 for a square size: crop_mode "center".

    Parameters
    ----------
    crop_pct : float, default 0.875
        The crop's side as a share of the resized image's shorter side.
    """
    return Compose([Resize(math.floor(size / crop_pct), interpolation), CenterCrop(size), *normalized(dtype, mean, std)], layout)
