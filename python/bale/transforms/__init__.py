"""Transforms of a Loader: how a stored image becomes a row of a batch. Names and defaults are torchvision's, pixels are
Pillow's.

    from bale import transforms as T
    T.Compose([T.RandomResizedCrop(224), T.TrivialAugmentWide(), T.ToTensor(), T.Normalize()])   # a list
    T.train(224), T.val(224), T.padded(224), T.ragged(), T.raw()               # lists that many need
    T.presets.deit3(224)                                                       # lists that papers and libraries train with
    T.translate(torchvision_or_timm_transform)                                 # the same list, native
"""
from typing import TYPE_CHECKING

from bale._lazy import lazy_names
from bale.transforms._mix import Mix
from bale.transforms._operations.boxes import ClampBoundingBoxes, RandomIoUCrop, SanitizeBoundingBoxes
from bale.transforms._operations.color import (
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
from bale.transforms._operations.compose import Compose, Transform
from bale.transforms._operations.control import RandomApply, RandomChoice, RandomOrder
from bale.transforms._operations.ending import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    ConvertImageDtype,
    Normalize,
    RandomErasing,
    ToDtype,
    ToTensor,
    mean_and_std,
)
from bale.transforms._operations.geometry import (
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
from bale.transforms._operations.markers import Identity, PILToTensor, ToImage, ToPureTensor
from bale.transforms._operations.operation import Operation
from bale.transforms._operations.policies import (
    AugMix,
    AutoAugment,
    RandAugment,
    ThreeAugment,
    TimmAutoAugment,
    TrivialAugmentWide,
)
from bale.transforms._operations.warps import RandomAffine, RandomPerspective, RandomRotation
from bale.transforms._recipes import padded, ragged, raw, train, val
from bale.transforms._replaying import replay
from bale.transforms._translation.translation import translate

if TYPE_CHECKING:
    from bale.transforms import presets

__all__ = ["AugMix", "AutoAugment", "CenterCrop", "ClampBoundingBoxes", "ColorJitter", "Compose", "ConvertImageDtype",
           "FixedSizeCrop", "GaussianBlur", "Grayscale", "IMAGENET_MEAN", "IMAGENET_STD", "Identity", "Mix",
           "Normalize", "Operation", "PILToTensor", "Pad", "PadIfSmaller", "PadTo", "PillowGaussianBlur",
           "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast",
           "RandomChannelPermutation", "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing",
           "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert", "RandomIoUCrop", "RandomOrder",
           "RandomPerspective", "RandomPhotometricDistort", "RandomPosterize", "RandomResize", "RandomResizedCrop",
           "RandomRotation", "RandomShortestSize", "RandomSolarize", "RandomVerticalFlip", "RandomZoomOut", "Resize",
           "SanitizeBoundingBoxes", "ScaleJitter", "ThreeAugment", "TimmAutoAugment", "ToDtype", "ToImage",
           "ToPureTensor", "ToTensor", "Transform", "TrivialAugmentWide", "mean_and_std", "padded", "presets",
           "ragged", "raw", "replay", "train", "translate", "val"]
__getattr__, _ = lazy_names(globals(), {}, submodules="presets")


def __dir__() -> list[str]:
    return __all__
