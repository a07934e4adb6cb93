"""Lists that many train and evaluate with: train(), val(), padded(), ragged(), raw(). Names and defaults are
torchvision's, pixels are Pillow's, bit for bit."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from bale.transforms._operations import arguments
from bale.transforms._operations.color import ColorJitter, RandomGrayscale
from bale.transforms._operations.compose import Compose
from bale.transforms._operations.ending import Normalize, ToDtype, mean_and_std
from bale.transforms._operations.geometry import CenterCrop, PadTo, RandomHorizontalFlip, RandomResizedCrop, Resize
from bale.transforms._operations.operation import Operation

Size = int | Sequence[int]
Range = tuple[float, float]
DType = Literal["uint8", "float16", "bfloat16", "float32"]
Layout = Literal["nhwc", "nchw"]
MeanAndStd = bool | Sequence[Sequence[float]] | None


def train(size: Size = 224, *, scale: Range = (0.08, 1.0), ratio: Range = (3 / 4, 4 / 3), hflip: float = 0.5,
          jitter: Sequence[float | Range] | None = None, gray: float = 0.0, interpolation: Any = "bilinear",
          dtype: DType | Any = "uint8", layout: Layout = "nhwc", normalize: MeanAndStd = None,
          pillow: str | int = "13") -> Compose:
    """RandomResizedCrop(size, scale, ratio), RandomHorizontalFlip(hflip), ColorJitter(*jitter), RandomGrayscale(gray).

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
    jitter : sequence of float or (float, float), or None, default None
        (brightness, contrast, saturation, hue) as for ColorJitter, each a number or a range. None: no jitter.
    gray : float, default 0.0
        Probability that the image becomes gray.
    interpolation : str or enum, default 'bilinear'
        As for Resize: "nearest", "bilinear", "bicubic", "box", "hamming" or "lanczos".
    dtype : {'uint8', 'float16', 'bfloat16', 'float32'}, default 'uint8'
        Dtype of the batch, by its name or as torch or numpy have it. Float values are value / 255.
    layout : {'nhwc', 'nchw'}, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with
        mode="L", four for "RGBA"). Needs a float dtype.
    pillow : str or int, default '13'
        "13" or "12": the version of Pillow whose rounding is used.

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        For values that are out of range or contradict each other.
    TypeError
        If an argument has a type that it cannot have.

    Examples
    --------
    >>> transform = bale.transforms.train(224, jitter=(0.4, 0.4, 0.4, 0.1), dtype="float32", normalize=True)
    """
    found: list[Operation] = [RandomResizedCrop(size, scale, ratio, interpolation)]
    if arguments.probability("hflip", hflip) > 0:
        found.append(RandomHorizontalFlip(hflip))
    if jitter is not None:
        found.append(ColorJitter(*arguments.values("jitter", jitter, 4)))
    if arguments.probability("gray", gray) > 0:
        found.append(RandomGrayscale(gray))
    return Compose(found + _ending(dtype, normalize), layout, pillow)


def val(size: Size = 224, *, resize: int | None = None, interpolation: Any = "bilinear",
        dtype: DType | Any = "uint8", layout: Layout = "nhwc", normalize: MeanAndStd = None,
        pillow: str | int = "13") -> Compose:
    """Resize(resize), CenterCrop(size).

    Parameters
    ----------
    size : int or (int, int), default 224
        Side in pixels, or (height, width).
    resize : int or None, default None
        The shorter side in pixels, not below `size`. None: size * 256 / 224.
    interpolation : str or enum, default 'bilinear'
        As for Resize: "nearest", "bilinear", "bicubic", "box", "hamming" or "lanczos".
    dtype : {'uint8', 'float16', 'bfloat16', 'float32'}, default 'uint8'
        Dtype of the batch, by its name or as torch or numpy have it. Float values are value / 255.
    layout : {'nhwc', 'nchw'}, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with
        mode="L", four for "RGBA"). Needs a float dtype.
    pillow : str or int, default '13'
        "13" or "12": the version of Pillow whose rounding is used.

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        For values that are out of range or contradict each other.
    TypeError
        If an argument has a type that it cannot have.
    """
    sides = arguments.sides("size", size)
    if resize is None:
        resize = (max(sides) * 256 + 112) // 224
    short = arguments.whole("resize", resize, max(sides), arguments.MAX_SIDE)
    return Compose([Resize(short, interpolation), CenterCrop(sides), *_ending(dtype, normalize)], layout, pillow)


def padded(size: Size, *, dtype: DType | Any = "uint8", layout: Layout = "nhwc", normalize: MeanAndStd = None) -> Compose:
    """The image, unscaled, at the top left of (height, width), with zeros elsewhere. Larger images are bad samples.

    Parameters
    ----------
    size : int or (int, int)
        Side in pixels, or (height, width).
    dtype : {'uint8', 'float16', 'bfloat16', 'float32'}, default 'uint8'
        Dtype of the batch, by its name or as torch or numpy have it. Float values are value / 255.
    layout : {'nhwc', 'nchw'}, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with
        mode="L", four for "RGBA"). Needs a float dtype.

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        For values that are out of range or contradict each other.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose([PadTo(size), *_ending(dtype, normalize)], layout)


def ragged(*, dtype: DType | Any = "uint8", layout: Layout = "nhwc", normalize: MeanAndStd = None) -> Compose:
    """The image, unscaled; each row has its own size.

    Parameters
    ----------
    dtype : {'uint8', 'float16', 'bfloat16', 'float32'}, default 'uint8'
        Dtype of the batch, by its name or as torch or numpy have it. Float values are value / 255.
    layout : {'nhwc', 'nchw'}, default 'nhwc'
        Memory layout of the batch's pixels: "nhwc" or "nchw".
    normalize : bool, (mean, std) or None, default None
        True (ImageNet's mean and standard deviation), or (mean, std) of three numbers each (one for a Loader with
        mode="L", four for "RGBA"). Needs a float dtype.

    Returns
    -------
    Compose
        For Loader(transform=...).

    Raises
    ------
    ValueError
        For values that are out of range or contradict each other.
    TypeError
        If an argument has a type that it cannot have.
    """
    return Compose(_ending(dtype, normalize), layout, shape="ragged")


def raw() -> Compose:
    """The stored bytes, not decoded.

    Returns
    -------
    Compose
        For Loader(transform=...).
    """
    return Compose([], shape="raw")


def _ending(dtype: Any, normalize: MeanAndStd) -> list[Operation]:
    end, given = ToDtype(dtype), mean_and_std(normalize)
    if end.dtype == "uint8":
        if given is not None:
            raise ValueError("normalize: needs a float dtype")
        return []
    return [end] if given is None else [end, Normalize(*given)]
