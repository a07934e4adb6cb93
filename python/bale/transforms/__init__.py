"""Transforms of a Loader: how a stored image becomes a row of a batch. Names and defaults are torchvision's, pixels are
Pillow's.

    from bale import transforms as T
    T.Compose([T.RandomResizedCrop(224), T.TrivialAugmentWide(), T.ToTensor(), T.Normalize()])   # a list
    T.train(224), T.val(224), T.padded(224), T.ragged(), T.raw()               # lists that many need
    T.presets.deit3(224)                                                       # lists that papers and libraries train with
    T.translate(torchvision_or_timm_transform)                                 # the same list, native
"""
from __future__ import annotations

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
    from bale.transforms.compose import Compose, Transform
    from bale.transforms.control import RandomApply, RandomChoice, RandomOrder
    from bale.transforms.ending import (
        IMAGENET_MEAN,
        IMAGENET_STD,
        ConvertImageDtype,
        Normalize,
        RandomErasing,
        ToDtype,
        ToTensor,
        mean_and_std,
    )
    from bale.transforms.geometry import (
        CenterCrop,
        FixedSizeCrop,
        Pad,
        PadIfSmaller,
        PadTo,
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
    from bale.transforms.mix import Mix
    from bale.transforms.operation import Operation
    from bale.transforms.policies import AugMix, AutoAugment, RandAugment, TimmAutoAugment, TrivialAugmentWide
    from bale.transforms.recipes import padded, ragged, raw, train, val
    from bale.transforms.replaying import replay
    from bale.transforms.three_augment import ThreeAugment
    from bale.transforms.translation import translate
    from bale.transforms.warps import RandomAffine, RandomPerspective, RandomRotation

# Where each name is. They are imported when they are first used: a program that needs none starts sooner.
_MODULES = {
    "boxes": "ClampBoundingBoxes RandomIoUCrop SanitizeBoundingBoxes".split(),
    "color": ("ColorJitter GaussianBlur Grayscale PillowGaussianBlur RandomAdjustSharpness RandomAutocontrast"
              " RandomChannelPermutation RandomEqualize RandomGrayscale RandomInvert RandomPhotometricDistort"
              " RandomPosterize RandomSolarize").split(),
    "compose": "Compose Transform".split(),
    "control": "RandomApply RandomChoice RandomOrder".split(),
    "ending": ("ConvertImageDtype IMAGENET_MEAN IMAGENET_STD Normalize RandomErasing ToDtype ToTensor"
               " mean_and_std").split(),
    "geometry": ("CenterCrop FixedSizeCrop Pad PadIfSmaller PadTo RandomCrop RandomHorizontalFlip RandomResize"
                 " RandomResizedCrop RandomShortestSize RandomVerticalFlip RandomZoomOut Resize ScaleJitter").split(),
    "markers": "Identity PILToTensor ToImage ToPureTensor".split(),
    "mix": "Mix".split(),
    "operation": "Operation".split(),
    "policies": "AugMix AutoAugment RandAugment TimmAutoAugment TrivialAugmentWide".split(),
    "recipes": "padded ragged raw train val".split(),
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
           "IMAGENET_MEAN", "IMAGENET_STD", "Identity", "Mix", "Normalize", "Operation", "PILToTensor", "Pad", "PadIfSmaller", "PadTo",
           "PillowGaussianBlur", "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast",
           "RandomChannelPermutation", "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale",
           "RandomHorizontalFlip", "RandomInvert", "RandomIoUCrop", "RandomOrder", "RandomPerspective", "RandomPhotometricDistort",
           "RandomPosterize", "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize", "RandomSolarize",
           "RandomVerticalFlip", "RandomZoomOut", "Resize", "SanitizeBoundingBoxes", "ScaleJitter", "ThreeAugment", "TimmAutoAugment", "ToDtype",
           "ToImage", "ToPureTensor", "ToTensor", "Transform", "TrivialAugmentWide", "mean_and_std", "padded", "presets",
           "ragged", "raw", "replay", "train", "translate", "val"]
