"""torchvision's references for classification, DeiT III and open_clip."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bale._docs import makes_list
from bale.transforms._operations.color import ColorJitter
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.ending import IMAGENET_MEAN, IMAGENET_STD, RandomErasing, normalized
from bale.transforms._operations.geometry import (
    CenterCrop,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Range,
    Resize,
    Size,
)
from bale.transforms._operations.operation import Operation
from bale.transforms._operations.policies import AugMix, AutoAugment, RandAugment, ThreeAugment, TrivialAugmentWide

if TYPE_CHECKING:
    from bale._types import DType
    from bale.transforms._operations.arguments import Interpolation

OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)  # open_clip/constants.py
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)


@makes_list
def reference_train(size: Size = 224, *, auto_augment: str | None = None, interpolation: Interpolation = "bilinear", hflip: float = 0.5,
                    ra_magnitude: int = 9, augmix_severity: int = 3, random_erase: float = 0.0, mean: Range = IMAGENET_MEAN,
                    std: Range = IMAGENET_STD, dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for classification: ClassificationPresetTrain in references/classification/presets.py.

    As it stands, the recipe of the weights IMAGENET1K_V1.

    Parameters
    ----------
    auto_augment : str or None, default None
        None, "ra", "ta_wide", "augmix", or a policy of AutoAugment ("imagenet", "cifar10", "svhn").
    ra_magnitude : int, default 9
        Magnitude of RandAugment, 0 to 30.
    augmix_severity : int, default 3
        Severity of AugMix, 1 to 10.
    random_erase : float, default 0.0
        Probability of RandomErasing.
    """
    found: list[Operation] = [RandomResizedCrop(size, interpolation=interpolation)]
    if hflip > 0:
        found.append(RandomHorizontalFlip(hflip))
    if auto_augment == "ra":
        found.append(RandAugment(magnitude=ra_magnitude, interpolation=interpolation))
    elif auto_augment == "ta_wide":
        found.append(TrivialAugmentWide(interpolation=interpolation))
    elif auto_augment == "augmix":
        found.append(AugMix(augmix_severity, interpolation=interpolation))
    elif auto_augment is not None:
        found.append(AutoAugment(auto_augment, interpolation))
    found += normalized(dtype, mean, std)
    if random_erase > 0:
        found.append(RandomErasing(random_erase))
    return Compose(found, layout)


@makes_list
def reference_v2_train(size: Size = 176, **options: Any) -> Compose:
    """reference_train() as for the weights IMAGENET1K_V2.

    With TrivialAugment, erasing with probability 0.1, and a training size of 176.

    Source: https://pytorch.org/blog/how-to-train-state-of-the-art-models-using-torchvision-latest-primitives/ (which
    also has mixup 0.2, cutmix 1.0, label smoothing 0.1 and 4 repetitions).

    Parameters
    ----------
    **options : keyword arguments
        Other options of reference_train().
    """
    return reference_train(size, **{"auto_augment": "ta_wide", "random_erase": 0.1, **options})


@makes_list
def reference_eval(size: Size = 224, *, resize: Size = 256, interpolation: Interpolation = "bilinear", mean: Range = IMAGENET_MEAN,
                   std: Range = IMAGENET_STD, dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for classification: ClassificationPresetEval.

    Parameters
    ----------
    resize : int or (int, int), default 256
        The shorter side in pixels before the crop; 232 for the weights IMAGENET1K_V2 of ResNets.
    """
    return Compose([Resize(resize, interpolation), CenterCrop(size), *normalized(dtype, mean, std)], layout)


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


@makes_list
def open_clip_train(size: Size = 224, *, scale: Range = (0.9, 1.0), mean: Range = OPENAI_MEAN, std: Range = OPENAI_STD,
                    dtype: DType = "float32", layout: str = "nhwc") -> Compose:
    """open_clip's image_transform(size, is_train=True): mlfoundations/open_clip's src/open_clip/transform.py."""
    return Compose([RandomResizedCrop(size, scale, interpolation="bicubic"), *normalized(dtype, mean, std)], layout)


@makes_list
def open_clip_eval(size: int = 224, *, mean: Range = OPENAI_MEAN, std: Range = OPENAI_STD, dtype: DType = "float32",
                   layout: str = "nhwc") -> Compose:
    """open_clip's image_transform(size, is_train=False), also that of OpenAI's CLIP."""
    return Compose([Resize(size, "bicubic"), CenterCrop(size), *normalized(dtype, mean, std)], layout)
