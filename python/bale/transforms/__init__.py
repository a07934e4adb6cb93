"""Transforms of a Loader: how a stored image becomes a row of a batch. Names and defaults are torchvision's, pixels are
Pillow's.

    from bale import transforms as T
    T.train(224), T.val(224), T.padded(224), T.ragged(), T.raw()               # recipes
    T.Compose([T.RandomResizedCrop(224), T.TrivialAugmentWide(), T.ToTensor(), T.Normalize()])   # a list
    T.presets.deit3(224)                                                       # lists that papers and libraries train with
    T.translate(torchvision_or_timm_transform)                                 # the same list, native
"""
from __future__ import annotations

from bale.transforms.recipes import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Mix,
    Transform,
    mean_and_std,
    padded,
    ragged,
    raw,
    train,
    val,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bale.transforms import presets
    from bale.transforms.boxes import ClampBoundingBoxes, RandomIoUCrop, SanitizeBoundingBoxes
    from bale.transforms.color import (
        ColorJitter,
        GaussianBlur,
        Grayscale,
        PillowGaussianBlur,
        RandomAdjustSharpness,
        RandomAutocontrast,
        RandomChannelPermutation,
        RandomEqualize,
        RandomGrayscale,
        RandomInvert,
        RandomPhotometricDistort,
        RandomPosterize,
        RandomSolarize,
    )
    from bale.transforms.compose import Compose
    from bale.transforms.control import RandomApply, RandomChoice, RandomOrder
    from bale.transforms.ending import ConvertImageDtype, Normalize, RandomErasing, ToDtype, ToTensor
    from bale.transforms.geometry import (
        CenterCrop,
        FixedSizeCrop,
        Pad,
        PadIfSmaller,
        RandomCrop,
        RandomHorizontalFlip,
        RandomResize,
        RandomResizedCrop,
        RandomShortestSize,
        RandomVerticalFlip,
        RandomZoomOut,
        Resize,
        ScaleJitter,
    )
    from bale.transforms.markers import Identity, PILToTensor, ToImage, ToPureTensor
    from bale.transforms.operation import Operation
    from bale.transforms.policies import AugMix, AutoAugment, RandAugment, TimmAutoAugment, TrivialAugmentWide
    from bale.transforms.replaying import replay
    from bale.transforms.three_augment import ThreeAugment
    from bale.transforms.translation import translate
    from bale.transforms.warps import RandomAffine, RandomPerspective, RandomRotation

# Where each list class is. They are imported when they are first used: a program that needs none starts sooner.
_MODULES = {
    "boxes": "ClampBoundingBoxes RandomIoUCrop SanitizeBoundingBoxes".split(),
    "color": ("ColorJitter GaussianBlur Grayscale PillowGaussianBlur RandomAdjustSharpness RandomAutocontrast"
              " RandomChannelPermutation RandomEqualize RandomGrayscale RandomInvert RandomPhotometricDistort"
              " RandomPosterize RandomSolarize").split(),
    "compose": "Compose".split(),
    "control": "RandomApply RandomChoice RandomOrder".split(),
    "ending": "ConvertImageDtype Normalize RandomErasing ToDtype ToTensor".split(),
    "geometry": ("CenterCrop FixedSizeCrop Pad PadIfSmaller RandomCrop RandomHorizontalFlip RandomResize RandomResizedCrop"
                 " RandomShortestSize RandomVerticalFlip RandomZoomOut Resize ScaleJitter").split(),
    "markers": "Identity PILToTensor ToImage ToPureTensor".split(),
    "operation": "Operation".split(),
    "policies": "AugMix AutoAugment RandAugment TimmAutoAugment TrivialAugmentWide".split(),
    "replaying": "replay".split(),
    "three_augment": "ThreeAugment".split(),
    "translation": "translate".split(),
    "warps": "RandomAffine RandomPerspective RandomRotation".split(),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "presets":
        return import_module("bale.transforms.presets")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'bale.transforms' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"bale.transforms.{_MODULE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = ["AugMix", "AutoAugment", "CenterCrop", "ClampBoundingBoxes", "ColorJitter", "Compose", "ConvertImageDtype", "FixedSizeCrop", "GaussianBlur", "Grayscale",
           "IMAGENET_MEAN", "IMAGENET_STD", "Identity", "Mix", "Normalize", "Operation", "PILToTensor", "Pad", "PadIfSmaller",
           "PillowGaussianBlur", "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast",
           "RandomChannelPermutation", "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale",
           "RandomHorizontalFlip", "RandomInvert", "RandomIoUCrop", "RandomOrder", "RandomPerspective", "RandomPhotometricDistort",
           "RandomPosterize", "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize", "RandomSolarize",
           "RandomVerticalFlip", "RandomZoomOut", "Resize", "SanitizeBoundingBoxes", "ScaleJitter", "ThreeAugment", "TimmAutoAugment", "ToDtype",
           "ToImage", "ToPureTensor", "ToTensor", "Transform", "TrivialAugmentWide", "mean_and_std", "padded", "presets",
           "ragged", "raw", "replay", "train", "translate", "val"]
