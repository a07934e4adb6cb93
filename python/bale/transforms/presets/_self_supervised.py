"""SimCLR, MoCo v3, BYOL, DINO, DINOv2 and MAE."""
from __future__ import annotations

from typing import TYPE_CHECKING

from bale._docs import makes_list, makes_views
from bale.transforms._operations.color import (
    ColorJitter,
    GaussianBlur,
    PillowGaussianBlur,
    RandomGrayscale,
    RandomSolarize,
)
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.control import RandomApply
from bale.transforms._operations.ending import IMAGENET_MEAN, IMAGENET_STD, ToDtype, normalized
from bale.transforms._operations.geometry import RandomHorizontalFlip, RandomResizedCrop, Range, Size
from bale.transforms._operations.operation import Operation

if TYPE_CHECKING:
    from bale._types import DType


@makes_views
def simclr(size: Size = 224, *, strength: float = 1.0, views: int = 2, dtype: DType = "float32", layout: str = "nhwc") -> list[Compose]:
    """SimCLR (https://arxiv.org/abs/2002.05709, appendix A; google-research/simclr's data_util.py), which does not normalize.

    The blur's kernel is a tenth of the side, made odd. TensorFlow's resize, which the source uses, does not antialias;
    this one does.

    Parameters
    ----------
    strength : float, default 1.0
        Strength of the color jitter.
    views : int, default 2
        Number of views.
    """
    side = size if isinstance(size, int) else min(size)
    jitter = ColorJitter(0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength)
    view = Compose([RandomResizedCrop(size, interpolation="bicubic"), RandomHorizontalFlip(), RandomApply([jitter], 0.8),
                    RandomGrayscale(0.2), RandomApply([GaussianBlur(side // 10 // 2 * 2 + 1, (0.1, 2.0))], 0.5), ToDtype(dtype)],
                   layout)
    return [view] * views


def _distorted() -> list[Operation]:
    """The colors of MoCo v3, BYOL, DINO and DINOv2."""
    return [RandomApply([ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), RandomGrayscale(0.2)]


def _blurred(p: float) -> Operation:
    return RandomApply([PillowGaussianBlur((0.1, 2.0))], p)


@makes_views
def moco_v3(size: Size = 224, *, crop_min: float = 0.08, dtype: DType = "float32", layout: str = "nhwc") -> list[Compose]:
    """MoCo v3 (https://arxiv.org/abs/2104.02057): augmentation1 and augmentation2 in facebookresearch/moco-v3's main_moco.py.

    Parameters
    ----------
    crop_min : float, default 0.08
        The least area of the crop, as a share of the image's.
    """
    def view(*more: Operation) -> Compose:
        return Compose([RandomResizedCrop(size, (crop_min, 1.0)), *_distorted(), *more, RandomHorizontalFlip(),
                        *normalized(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
    return [view(_blurred(1.0)), view(_blurred(0.1), RandomSolarize(128, 0.2))]


@makes_views
def byol(size: Size = 224, *, dtype: DType = "float32", layout: str = "nhwc") -> list[Compose]:
    """BYOL (https://arxiv.org/abs/2006.07733, appendix B, table 6), with its kernel of 23 pixels."""
    def view(*more: Operation) -> Compose:
        return Compose([RandomResizedCrop(size, interpolation="bicubic"), RandomHorizontalFlip(), *_distorted(), *more,
                        *normalized(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
    blur = GaussianBlur(23, (0.1, 2.0))
    return [view(RandomApply([blur], 1.0)), view(RandomApply([blur], 0.1), RandomSolarize(128, 0.2))]


@makes_views
def dino(size: Size = 224, local_size: Size = 96, *, global_scale: Range = (0.4, 1.0), local_scale: Range = (0.05, 0.4),
         local_crops: int = 8, dtype: DType = "float32", layout: str = "nhwc") -> list[Compose]:
    """DINO (https://arxiv.org/abs/2104.14294): DataAugmentationDINO in facebookresearch/dino's main_dino.py.

    Two global views, then the local ones.

    Parameters
    ----------
    global_scale, local_scale : (float, float), default (0.4, 1.0) and (0.05, 0.4)
        Ranges of the crop's area, as a share of the image's.
    """
    def view(side: Size, scale: Range, *more: Operation) -> Compose:
        return Compose([RandomResizedCrop(side, scale, interpolation="bicubic"), RandomHorizontalFlip(), *_distorted(), *more,
                        *normalized(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
    local = view(local_size, local_scale, _blurred(0.5))
    return [view(size, global_scale, _blurred(1.0)), view(size, global_scale, _blurred(0.1), RandomSolarize(128, 0.2)),
            *[local] * local_crops]


@makes_views
def dinov2(size: Size = 224, local_size: Size = 96, *, global_scale: Range = (0.32, 1.0), local_scale: Range = (0.05, 0.32),
           local_crops: int = 8, dtype: DType = "float32", layout: str = "nhwc") -> list[Compose]:
    """DINOv2 (https://arxiv.org/abs/2304.07193): DataAugmentationDINO in dinov2/data/augmentations.py of facebookresearch/dinov2.

    Defaults are those of dinov2/configs/ssl_default_config.yaml. As in its code, the blur has a kernel of 9 pixels and
    the probability 1 - p: 0 in the first global view, 0.9 in the second, 0.5 in local ones. (Its GaussianBlur(p) hands
    1 - p to RandomApply.)

    Parameters
    ----------
    global_scale : (float, float), default (0.32, 1.0)
        Ranges of the crop's area, as a share of the image's.
    local_scale : (float, float), default (0.05, 0.32)
        Ranges of the crop's area, as a share of the image's.
    """
    def view(side: Size, scale: Range, p: float, *more: Operation) -> Compose:
        blur = RandomApply([GaussianBlur(9, (0.1, 2.0))], 1 - p)
        return Compose([RandomResizedCrop(side, scale, interpolation="bicubic"), RandomHorizontalFlip(), *_distorted(), blur, *more,
                        *normalized(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
    local = view(local_size, local_scale, 0.5)
    return [view(size, global_scale, 1.0), view(size, global_scale, 0.1, RandomSolarize(128, 0.2)), *[local] * local_crops]


@makes_list
def mae(size: Size = 224, *, dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """MAE's pre-training (https://arxiv.org/abs/2111.06377): transform_train in facebookresearch/mae's main_pretrain.py."""
    return Compose([RandomResizedCrop(size, (0.2, 1.0), interpolation="bicubic"), RandomHorizontalFlip(),
                    *normalized(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
