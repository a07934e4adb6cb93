"""Lists that papers and libraries train with, as they are in their sources. Each function returns a Compose, or a list
of them, one per view.

Sizes are pixels, and a size is a side or (height, width). `dtype` and `layout` are the batch's; `mean` and `std` those
of Normalize. What a source does to a whole batch (mixup, label smoothing) and how often it repeats an image is not part
of a list.
"""
from __future__ import annotations

import math

from bale.transforms.boxes import RandomIoUCrop, SanitizeBoundingBoxes
from bale.transforms.color import ColorJitter, GaussianBlur, PillowGaussianBlur, RandomGrayscale, RandomPhotometricDistort, RandomSolarize
from bale.transforms.compose import Compose
from bale.transforms.control import RandomApply
from bale.transforms.ending import Normalize, RandomErasing, ToDtype
from bale.transforms.geometry import (CenterCrop, FixedSizeCrop, PadIfSmaller, RandomCrop, RandomHorizontalFlip, RandomResize,
                                      RandomResizedCrop, RandomShortestSize, RandomVerticalFlip, RandomZoomOut, Resize, ScaleJitter)
from bale.transforms.policies import AugMix, AutoAugment, RandAugment, TimmAutoAugment, TrivialAugmentWide
from bale.transforms.recipes import IMAGENET_MEAN, IMAGENET_STD
from bale.transforms.three_augment import ThreeAugment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bale.transforms.operation import Operation

    Size = int | Sequence[int]
    Range = Sequence[float]

OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)  # open_clip/constants.py
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)


def _ending(dtype: Any, mean: Range, std: Range) -> list[Operation]:
    return [ToDtype(dtype), Normalize(mean, std)]


# --- torchvision's references


def reference_train(size: Size = 224, *, auto_augment: str | None = None, interpolation: Any = "bilinear", hflip: float = 0.5,
                    ra_magnitude: int = 9, augmix_severity: int = 3, random_erase: float = 0.0, mean: Range = IMAGENET_MEAN,
                    std: Range = IMAGENET_STD, dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for classification: ClassificationPresetTrain in references/classification/presets.py.

    As it stands, the recipe of the weights IMAGENET1K_V1.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    auto_augment : str or None, default None
        None, "ra", "ta_wide", "augmix", or a policy of AutoAugment ("imagenet", "cifar10", "svhn").
    interpolation : str or enum, default 'bilinear'
        "nearest", "bilinear" or "bicubic"; also torchvision's InterpolationMode or Pillow's constant.
    hflip : float, default 0.5
        Probability that the image is mirrored.
    ra_magnitude : int, default 9
        Magnitude of RandAugment, 0 to 30.
    augmix_severity : int, default 3
        Severity of AugMix, 1 to 10.
    random_erase : float, default 0.0
        Probability of RandomErasing.
    mean : sequence of float, default IMAGENET_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default IMAGENET_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
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
    found += _ending(dtype, mean, std)
    if random_erase > 0:
        found.append(RandomErasing(random_erase))
    return Compose(found, layout)


def reference_v2_train(size: Size = 176, **options: Any) -> Compose:
    """reference_train() as for the weights IMAGENET1K_V2.

    With TrivialAugment, erasing with probability 0.1, and a training size of 176.

    Source: https://pytorch.org/blog/how-to-train-state-of-the-art-models-using-torchvision-latest-primitives/ (which
    also has mixup 0.2, cutmix 1.0, label smoothing 0.1 and 4 repetitions).

    Parameters
    ----------
    size : int or (int, int), default 176
        Side in pixels, or (height, width).
    **options : keyword arguments
        Other options of reference_train().

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return reference_train(size, **{"auto_augment": "ta_wide", "random_erase": 0.1, **options})


def reference_eval(size: Size = 224, *, resize: Size = 256, interpolation: Any = "bilinear", mean: Range = IMAGENET_MEAN,
                   std: Range = IMAGENET_STD, dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for classification: ClassificationPresetEval.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    resize : int or (int, int), default 256
        The shorter side in pixels before the crop; 232 for the weights IMAGENET1K_V2 of ResNets.
    interpolation : str or enum, default 'bilinear'
        "nearest", "bilinear", "bicubic", "box", "hamming" or "lanczos"; also torchvision's InterpolationMode or
        Pillow's constant.
    mean : sequence of float, default IMAGENET_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default IMAGENET_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([Resize(resize, interpolation), CenterCrop(size), *_ending(dtype, mean, std)], layout)


def segmentation_train(base_size: int = 520, crop_size: Size = 480, *, hflip: float = 0.5, mean: Range = IMAGENET_MEAN,
                       std: Range = IMAGENET_STD, dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for segmentation: SegmentationPresetTrain in references/segmentation/presets.py (the v2 one).

    Parameters
    ----------
    base_size : int, default 520
        The shorter side becomes half of it to 2 * base_size - 1 pixels.
    crop_size : int or (int, int), default 480
        Side of the crop in pixels, or (height, width).
    hflip : float, default 0.5
        Probability that the image is mirrored.
    mean : sequence of float, default IMAGENET_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default IMAGENET_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    found: list[Operation] = [RandomResize(int(0.5 * base_size), int(2.0 * base_size))]
    if hflip > 0:
        found.append(RandomHorizontalFlip(hflip))
    return Compose([*found, PadIfSmaller(crop_size), RandomCrop(crop_size), *_ending(dtype, mean, std)], layout)


def segmentation_eval(size: Size = (520, 520), *, mean: Range = IMAGENET_MEAN, std: Range = IMAGENET_STD,
                      dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for segmentation: SegmentationPresetEval (the v2 one), which does not keep the image's shape.

    Parameters
    ----------
    size : int or (int, int), default (520, 520)
        (height, width) in pixels.
    mean : sequence of float, default IMAGENET_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default IMAGENET_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([Resize(size), *_ending(dtype, mean, std)], layout)


# torchvision's references for detection: DetectionPresetTrain in references/detection/presets.py. Its models resize the images of a
# batch, which differ in size, and normalize them. Here batches have one size, so each list ends with that resize.


def _scaled(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[-1])


def ssd_train(size: Size = 300, *, hflip: float = 0.5, fill: Range = (123, 117, 104), dtype: Any = "float32",
              layout: str = "nhwc") -> Compose:
    """torchvision's reference for detection, data_augmentation="ssd", for the model ssd300_vgg16.

    With the resize to 300 x 300 that is in the model, and without its normalization. Needs a field of the kind "boxes".

    Parameters
    ----------
    size : int or (int, int), default 300
        Side in pixels, or (height, width).
    hflip : float, default 0.5
        Probability that the image is mirrored.
    fill : (float, float), default (123, 117, 104)
        Color of new pixels, a number or (red, green, blue), 0 to 255. None: black.
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([RandomPhotometricDistort(), RandomZoomOut(fill), RandomIoUCrop(), RandomHorizontalFlip(hflip),
                    SanitizeBoundingBoxes(), Resize(_scaled(size)), ToDtype(dtype)], layout)


def ssdlite_train(size: Size = 320, *, hflip: float = 0.5, dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """torchvision's reference for detection, data_augmentation="ssdlite", for the model ssdlite320_mobilenet_v3_large.

    With the resize to 320 x 320 that is in the model, and without its normalization. Needs a field of the kind "boxes".

    Parameters
    ----------
    size : int or (int, int), default 320
        Side in pixels, or (height, width).
    hflip : float, default 0.5
        Probability that the image is mirrored.
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([RandomIoUCrop(), RandomHorizontalFlip(hflip), SanitizeBoundingBoxes(), Resize(_scaled(size)), ToDtype(dtype)],
                   layout)


def detection_train(min_size: Size = 800, max_size: int = 1333, *, hflip: float = 0.5, dtype: Any = "float32",
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
    hflip : float, default 0.5
        Probability that the image is mirrored.
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    resize: list[Operation] = [Resize(min_size, max_size=max_size)] if isinstance(min_size, int) else [
        RandomShortestSize(min_size, max_size)]
    return Compose([RandomHorizontalFlip(hflip), SanitizeBoundingBoxes(), *resize, PadIfSmaller(max_size), CenterCrop(max_size),
                    ToDtype(dtype)], layout)


def lsj_train(size: Size = 1024, *, hflip: float = 0.5, fill: Range = (123, 117, 104), dtype: Any = "float32",
              layout: str = "nhwc") -> Compose:
    """torchvision's reference for detection, data_augmentation="lsj", for Mask R-CNN and its like.

    Large scale jittering (https://arxiv.org/abs/2012.07177). The reference turns the resize of the model off; its
    normalization is in the model. Needs a field of the kind "boxes".

    Parameters
    ----------
    size : int or (int, int), default 1024
        Side of the images of a batch in pixels, or (height, width).
    hflip : float, default 0.5
        Probability that the image is mirrored.
    fill : sequence of 3 int, default (123, 117, 104)
        Color of pixels from outside the image.
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    sides = _scaled(size)
    return Compose([ScaleJitter(sides), FixedSizeCrop(sides, fill), RandomHorizontalFlip(hflip), SanitizeBoundingBoxes(),
                    ToDtype(dtype)], layout)


# --- timm and DeiT


def timm_train(size: Size = 224, *, scale: Range = (0.08, 1.0), ratio: Range = (3 / 4, 4 / 3), hflip: float = 0.5,
               vflip: float = 0.0, color_jitter: float | Sequence[float] | None = 0.4, color_jitter_prob: float | None = None,
               grayscale_prob: float = 0.0, gaussian_blur_prob: float = 0.0, auto_augment: str | None = None,
               interpolation: str = "bilinear", mean: Range = IMAGENET_MEAN, std: Range = IMAGENET_STD, re_prob: float = 0.0,
               re_mode: str = "const", re_count: int = 1, dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """timm.data.create_transform(size, is_training=True, ...) of timm 1.0, with its defaults: timm/data/transforms_factory.py.

    timm's script train.py gives interpolation="random" and, for A1 to A3, auto_augment="rand-m7-mstd0.5-inc1" or
    "rand-m6-...".

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    scale : (float, float), default (0.08, 1.0)
        Range of the crop's area, as a share of the image's.
    ratio : (float, float), default (3 / 4, 4 / 3)
        Range of the crop's width / height.
    hflip : float, default 0.5
        Probability that the image is mirrored.
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
    mean : sequence of float, default IMAGENET_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default IMAGENET_STD
        Standard deviation of each channel, of values in [0, 1].
    re_prob : float, default 0.0
        Probability of RandomErasing.
    re_mode : str, default 'const'
        "const", "rand" or "pixel": what erased pixels become, as timm has it.
    re_count : int, default 1
        Largest number of rectangles.
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
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
    found += _ending(dtype, mean, std)
    if re_prob > 0:
        values: dict[str, float | str] = {"const": 0, "rand": "channel_random", "pixel": "random"}
        if re_mode not in values:
            raise ValueError(f"re_mode: {re_mode!r} is none of {', '.join(map(repr, values))}")
        value = values[re_mode]
        found.append(RandomErasing(re_prob, (0.02, 1 / 3), (0.3, 1 / 0.3), value, timm=True, max_count=re_count))
    return Compose(found, layout)


def timm_eval(size: int = 224, *, crop_pct: float = 0.875, interpolation: str = "bilinear", mean: Range = IMAGENET_MEAN,
              std: Range = IMAGENET_STD, dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """timm.data.create_transform(size) of timm 1.0 for a square size: crop_mode "center".

    Parameters
    ----------
    size : int, default 224
        Side in pixels, or (height, width).
    crop_pct : float, default 0.875
        The crop's side as a share of the resized image's shorter side.
    interpolation : str or enum, default 'bilinear'
        "nearest", "bilinear", "bicubic", "box", "hamming" or "lanczos"; also torchvision's InterpolationMode or
        Pillow's constant.
    mean : sequence of float, default IMAGENET_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default IMAGENET_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([Resize(math.floor(size / crop_pct), interpolation), CenterCrop(size), *_ending(dtype, mean, std)], layout)


def deit3(size: Size = 224, *, color_jitter: float = 0.3, simple_crop: bool = False, dtype: Any = "float32",
          layout: str = "nhwc") -> Compose:
    """DeiT III (https://arxiv.org/abs/2204.07118): new_data_aug_generator in facebookresearch/deit's augment.py.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    color_jitter : float, default 0.3
        Strength of brightness, contrast and saturation. 0: none.
    simple_crop : bool, default False
        Resize and crop with a border of 4 pixels (its option --src).
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    crop: list[Operation] = [RandomResizedCrop(size, interpolation="bicubic")]
    if simple_crop:
        crop = [Resize(size, "bicubic"), RandomCrop(size, 4, padding_mode="reflect")]
    jitter = [ColorJitter(color_jitter, color_jitter, color_jitter)] if color_jitter else []
    return Compose([*crop, RandomHorizontalFlip(), ThreeAugment(), *jitter, *_ending(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)


# --- two and more views


def simclr(size: Size = 224, *, strength: float = 1.0, views: int = 2, dtype: Any = "float32", layout: str = "nhwc") -> list[Compose]:
    """SimCLR (https://arxiv.org/abs/2002.05709, appendix A; google-research/simclr's data_util.py), which does not normalize.

    The blur's kernel is a tenth of the side, made odd. TensorFlow's resize, which the source uses, does not antialias;
    this one does.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    strength : float, default 1.0
        Strength of the color jitter.
    views : int, default 2
        Number of views.
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    list of Compose
        One per view, for Loader(views=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
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


def moco_v3(size: Size = 224, *, crop_min: float = 0.08, dtype: Any = "float32", layout: str = "nhwc") -> list[Compose]:
    """MoCo v3 (https://arxiv.org/abs/2104.02057): augmentation1 and augmentation2 in facebookresearch/moco-v3's main_moco.py.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    crop_min : float, default 0.08
        The least area of the crop, as a share of the image's.
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    list of Compose
        One per view, for Loader(views=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    def view(*more: Operation) -> Compose:
        return Compose([RandomResizedCrop(size, (crop_min, 1.0)), *_distorted(), *more, RandomHorizontalFlip(),
                        *_ending(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
    return [view(_blurred(1.0)), view(_blurred(0.1), RandomSolarize(128, 0.2))]


def byol(size: Size = 224, *, dtype: Any = "float32", layout: str = "nhwc") -> list[Compose]:
    """BYOL (https://arxiv.org/abs/2006.07733, appendix B, table 6), with its kernel of 23 pixels.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    list of Compose
        One per view, for Loader(views=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    def view(*more: Operation) -> Compose:
        return Compose([RandomResizedCrop(size, interpolation="bicubic"), RandomHorizontalFlip(), *_distorted(), *more,
                        *_ending(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
    blur = GaussianBlur(23, (0.1, 2.0))
    return [view(RandomApply([blur], 1.0)), view(RandomApply([blur], 0.1), RandomSolarize(128, 0.2))]


def dino(size: Size = 224, local_size: Size = 96, *, global_scale: Range = (0.4, 1.0), local_scale: Range = (0.05, 0.4),
         local_crops: int = 8, dtype: Any = "float32", layout: str = "nhwc") -> list[Compose]:
    """DINO (https://arxiv.org/abs/2104.14294): DataAugmentationDINO in facebookresearch/dino's main_dino.py.

    Two global views, then the local ones.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    local_size : int or (int, int), default 96
        Size of the local views in pixels: a side, or (height, width).
    global_scale, local_scale : (float, float), default (0.4, 1.0) and (0.05, 0.4)
        Ranges of the crop's area, as a share of the image's.
    local_crops : int, default 8
        Number of local views.
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    list of Compose
        One per view, for Loader(views=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    def view(side: Size, scale: Range, *more: Operation) -> Compose:
        return Compose([RandomResizedCrop(side, scale, interpolation="bicubic"), RandomHorizontalFlip(), *_distorted(), *more,
                        *_ending(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
    local = view(local_size, local_scale, _blurred(0.5))
    return [view(size, global_scale, _blurred(1.0)), view(size, global_scale, _blurred(0.1), RandomSolarize(128, 0.2)),
            *[local] * local_crops]


def dinov2(size: Size = 224, local_size: Size = 96, *, global_scale: Range = (0.32, 1.0), local_scale: Range = (0.05, 0.32),
           local_crops: int = 8, dtype: Any = "float32", layout: str = "nhwc") -> list[Compose]:
    """DINOv2 (https://arxiv.org/abs/2304.07193): DataAugmentationDINO in dinov2/data/augmentations.py of facebookresearch/dinov2.

    Defaults are those of dinov2/configs/ssl_default_config.yaml. As in its code, the blur has a kernel of 9 pixels and
    the probability 1 - p: 0 in the first global view, 0.9 in the second, 0.5 in local ones. (Its GaussianBlur(p) hands
    1 - p to RandomApply.)

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    local_size : int or (int, int), default 96
        Size of the local views in pixels: a side, or (height, width).
    global_scale : (float, float), default (0.32, 1.0)
        Ranges of the crop's area, as a share of the image's.
    local_scale : (float, float), default (0.05, 0.32)
        Ranges of the crop's area, as a share of the image's.
    local_crops : int, default 8
        Number of local views.
    dtype : object, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    list of Compose
        One per view, for Loader(views=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    def view(side: Size, scale: Range, p: float, *more: Operation) -> Compose:
        blur = RandomApply([GaussianBlur(9, (0.1, 2.0))], 1 - p)
        return Compose([RandomResizedCrop(side, scale, interpolation="bicubic"), RandomHorizontalFlip(), *_distorted(), blur, *more,
                        *_ending(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)
    local = view(local_size, local_scale, 0.5)
    return [view(size, global_scale, 1.0), view(size, global_scale, 0.1, RandomSolarize(128, 0.2)), *[local] * local_crops]


# --- one view, little augmentation


def mae(size: Size = 224, *, dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """MAE's pre-training (https://arxiv.org/abs/2111.06377): transform_train in facebookresearch/mae's main_pretrain.py.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([RandomResizedCrop(size, (0.2, 1.0), interpolation="bicubic"), RandomHorizontalFlip(),
                    *_ending(dtype, IMAGENET_MEAN, IMAGENET_STD)], layout)


def open_clip_train(size: Size = 224, *, scale: Range = (0.9, 1.0), mean: Range = OPENAI_MEAN, std: Range = OPENAI_STD,
                    dtype: Any = "float32", layout: str = "nhwc") -> Compose:
    """open_clip's image_transform(size, is_train=True): mlfoundations/open_clip's src/open_clip/transform.py.

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    scale : (float, float), default (0.9, 1.0)
        Range of the crop's area, as a share of the image's.
    mean : sequence of float, default OPENAI_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default OPENAI_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([RandomResizedCrop(size, scale, interpolation="bicubic"), *_ending(dtype, mean, std)], layout)


def open_clip_eval(size: int = 224, *, mean: Range = OPENAI_MEAN, std: Range = OPENAI_STD, dtype: Any = "float32",
                   layout: str = "nhwc") -> Compose:
    """open_clip's image_transform(size, is_train=False), also that of OpenAI's CLIP.

    Parameters
    ----------
    size : int, default 224
        Side in pixels, or (height, width).
    mean : sequence of float, default OPENAI_MEAN
        Mean of each channel, of values in [0, 1].
    std : sequence of float, default OPENAI_STD
        Standard deviation of each channel, of values in [0, 1].
    dtype : str or dtype, default 'float32'
        Dtype of the batch: "uint8", "float16", "bfloat16" or "float32"; a torch or numpy dtype.
    layout : str, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([Resize(size, "bicubic"), CenterCrop(size), *_ending(dtype, mean, std)], layout)
