"""Transforms of a Loader: how a stored image becomes a row of a batch. Names and defaults are torchvision's, pixels are
Pillow's.

    from bale import transforms as T
    T.train(224), T.val(224), T.padded(224), T.ragged(), T.raw()               # recipes
    T.Compose([T.RandomResizedCrop(224), T.TrivialAugmentWide(), T.ToTensor(), T.Normalize()])   # a list
    T.presets.deit3(224)                                                       # lists that papers and libraries train with
    T.translate(torchvision_or_timm_transform)                                 # the same list, native
"""
from bale.transforms import presets
from bale.transforms.color import (ColorJitter, GaussianBlur, Grayscale, PillowGaussianBlur, RandomAdjustSharpness,
                                   RandomAutocontrast, RandomChannelPermutation, RandomEqualize, RandomGrayscale, RandomInvert,
                                   RandomPhotometricDistort, RandomPosterize, RandomSolarize)
from bale.transforms.compose import Compose
from bale.transforms.control import RandomApply, RandomChoice, RandomOrder
from bale.transforms.ending import ConvertImageDtype, Normalize, RandomErasing, ToDtype, ToTensor
from bale.transforms.geometry import (CenterCrop, Pad, PadIfSmaller, RandomCrop, RandomHorizontalFlip, RandomResize,
                                      RandomResizedCrop, RandomShortestSize, RandomVerticalFlip, RandomZoomOut, Resize,
                                      ScaleJitter)
from bale.transforms.markers import Identity, PILToTensor, ToImage, ToPureTensor
from bale.transforms.operation import Operation
from bale.transforms.policies import AugMix, AutoAugment, RandAugment, TimmAutoAugment, TrivialAugmentWide
from bale.transforms.recipes import (IMAGENET_MEAN, IMAGENET_STD, Mix, Transform, mean_and_std, padded, ragged, raw, train,
                                     val)
from bale.transforms.replay import replay
from bale.transforms.three_augment import ThreeAugment
from bale.transforms.translate import translate
from bale.transforms.warps import RandomAffine, RandomPerspective, RandomRotation

__all__ = ["AugMix", "AutoAugment", "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "GaussianBlur", "Grayscale",
           "IMAGENET_MEAN", "IMAGENET_STD", "Identity", "Mix", "Normalize", "Operation", "PILToTensor", "Pad", "PadIfSmaller",
           "PillowGaussianBlur", "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast",
           "RandomChannelPermutation", "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale",
           "RandomHorizontalFlip", "RandomInvert", "RandomOrder", "RandomPerspective", "RandomPhotometricDistort",
           "RandomPosterize", "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize", "RandomSolarize",
           "RandomVerticalFlip", "RandomZoomOut", "Resize", "ScaleJitter", "ThreeAugment", "TimmAutoAugment", "ToDtype",
           "ToImage", "ToPureTensor", "ToTensor", "Transform", "TrivialAugmentWide", "mean_and_std", "padded", "presets",
           "ragged", "raw", "replay", "train", "translate", "val"]
