"""Transforms of the image's shape. Names, parameters and defaults are those of torchvision.transforms.v2.

Sizes are pixels: a side, or (height, width). `antialias` is accepted and changes nothing: PIL images are always resized
with antialiasing. `fill` is a number or (red, green, blue), 0 to 255; None is black. `interpolation` is "nearest",
"bilinear", "bicubic", "box", "hamming" or "lanczos", also as torchvision's InterpolationMode or Pillow's constant.
"""
from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass

from bale.transforms._operations import arguments
from bale.transforms._operations.operation import Operation

Size = int | Sequence[int]
Range = Sequence[float]
Fill = int | float | Sequence[float] | None


@dataclass(frozen=True, repr=False)
class Resize(Operation):
    """Resizes the image.

    Parameters
    ----------
    size : int or (int, int)
        The shorter side becomes this long; or (height, width).
    max_size : int or None, default None
        With one side: the longer side becomes at most this long, and the shorter one shorter. It must exceed size.
    """

    size: Size
    interpolation: arguments.Interpolation = "bilinear"
    max_size: int | None = None
    antialias: bool | None = True

    def __post_init__(self) -> None:
        if self.size is None:
            raise TypeError("size: None has no native counterpart. Give the shorter side and max_size")
        longest = None if self.max_size is None else arguments.whole("max_size", self.max_size, 1, arguments.MAX_SIDE)
        sides = arguments.sides("size", self.size)
        size = sides[0] if isinstance(self.size, (int, numbers.Real)) or len(self.size) == 1 else sides
        if longest is not None:
            if not isinstance(size, int):
                raise ValueError("max_size: is only for a size of one number")
            if longest <= size:
                raise ValueError(f"max_size: {longest} must be larger than the size of the shorter side, {size}")
        self._normalized(size=size, interpolation=arguments.resize_filter("interpolation", self.interpolation),
                         max_size=longest)

    def _members(self) -> dict[str, object]:
        height, width = (self.size, None) if isinstance(self.size, int) else self.size
        return {"height": height, "width": width, "max_size": self.max_size, "interpolation": self.interpolation}


@dataclass(frozen=True, repr=False)
class CenterCrop(Operation):
    """The middle of the image. An image that is smaller gets black borders."""

    size: Size

    def __post_init__(self) -> None:
        self._normalized(size=arguments.sides("size", self.size))


@dataclass(frozen=True, repr=False)
class RandomCrop(Operation):
    """A part of the image at a random place.

    Parameters
    ----------
    padding : int, (int, int), (int, int, int, int) or None, default None
        Pixels that are added first: a number, (left and right, top and bottom), or (left, top, right, bottom).
    pad_if_needed : bool, default False
        Also add what is missing, on both sides. Without it, an image that is smaller is a bad sample.
    """

    size: Size
    padding: Size | None = None
    pad_if_needed: bool = False
    fill: Fill = 0
    padding_mode: str = "constant"

    def __post_init__(self) -> None:
        self._normalized(size=arguments.sides("size", self.size),
                         padding=None if self.padding is None else arguments.padding("padding", self.padding),
                         pad_if_needed=arguments.flag("pad_if_needed", self.pad_if_needed),
                         fill=arguments.color("fill", self.fill),
                         padding_mode=arguments.padding_mode("padding_mode", self.padding_mode))


@dataclass(frozen=True, repr=False)
class RandomResizedCrop(Operation):
    """A random part of the image, resized.

    Parameters
    ----------
    interpolation : str, sequence of str or object, default 'bilinear'
        As for Resize. "random" (bilinear or bicubic), or a sequence, draws one per image, as timm does.
    """

    size: Size
    scale: Range = (0.08, 1.0)
    ratio: Range = (3 / 4, 4 / 3)
    interpolation: arguments.Interpolation | Sequence[arguments.Interpolation] = "bilinear"
    antialias: bool | None = True

    def __post_init__(self) -> None:
        self._normalized(size=arguments.sides("size", self.size), scale=arguments.positive_interval("scale", self.scale),
                         ratio=arguments.positive_interval("ratio", self.ratio),
                         interpolation=arguments.resize_filters("interpolation", self.interpolation))

    def _members(self) -> dict[str, object]:
        filters = (self.interpolation,) if isinstance(self.interpolation, str) else self.interpolation
        return {**super()._members(), "interpolation": filters}


@dataclass(frozen=True, repr=False)
class Pad(Operation):
    """Adds pixels at the sides.

    Parameters
    ----------
    padding : int, (int, int) or (int, int, int, int)
        A number, (left and right, top and bottom), or (left, top, right, bottom).
    """

    padding: Size
    fill: Fill = 0
    padding_mode: str = "constant"

    def __post_init__(self) -> None:
        self._normalized(padding=arguments.padding("padding", self.padding), fill=arguments.color("fill", self.fill),
                         padding_mode=arguments.padding_mode("padding_mode", self.padding_mode))


@dataclass(frozen=True, repr=False)
class PadIfSmaller(Operation):
    """Adds pixels at the right and the bottom up to `size`, as torchvision's segmentation reference does before RandomCrop.

    Not in torchvision itself.
    """

    size: Size
    fill: Fill = 0

    def __post_init__(self) -> None:
        self._normalized(size=arguments.sides("size", self.size), fill=arguments.color("fill", self.fill))


@dataclass(frozen=True, repr=False)
class FixedSizeCrop(Operation):
    """Crops sides that are longer than `size` at a random place, and pads shorter ones at the right and the bottom.

    Both sides are cropped at the same random share of what they are too long. Of torchvision's reference for detection
    (references/detection/transforms.py); not in torchvision itself. Boxes are clipped, and those that are cropped away stay, without area,
    until SanitizeBoundingBoxes drops them; the reference drops them itself.
    """

    size: Size
    fill: Fill = 0

    def __post_init__(self) -> None:
        self._normalized(size=arguments.sides("size", self.size), fill=arguments.color("fill", self.fill))


@dataclass(frozen=True, repr=False)
class PadTo(Operation):
    """The image at the top left of `size`, with zeros of the batch elsewhere, which are not normalized.

    torchvision does not have it. It is the last transform that changes pixels. A larger image is a bad sample.
    """

    size: Size

    def __post_init__(self) -> None:
        self._normalized(size=arguments.sides("size", self.size))


@dataclass(frozen=True, repr=False)
class RandomHorizontalFlip(Operation):
    """Mirrors left to right with probability p."""

    p: float = 0.5

    def __post_init__(self) -> None:
        self._normalized(p=arguments.probability("p", self.p))


@dataclass(frozen=True, repr=False)
class RandomVerticalFlip(Operation):
    """Mirrors top to bottom with probability p."""

    p: float = 0.5

    def __post_init__(self) -> None:
        self._normalized(p=arguments.probability("p", self.p))


@dataclass(frozen=True, repr=False)
class ScaleJitter(Operation):
    """Resizes with the image's shape kept (large scale jittering, https://arxiv.org/abs/2012.07177).

    The factor is min(height, width of target_size / those of the image), times one drawn from scale_range.

    Parameters
    ----------
    target_size : sequence of int
        (height, width) in pixels.
    scale_range : (float, float), default (0.1, 2.0)
        Range of the factor.
    """

    target_size: Sequence[int]
    scale_range: Range = (0.1, 2.0)
    interpolation: arguments.Interpolation = "bilinear"
    antialias: bool | None = True

    def __post_init__(self) -> None:
        self._normalized(target_size=arguments.sides("target_size", self.target_size),
                         scale_range=arguments.positive_interval("scale_range", self.scale_range),
                         interpolation=arguments.resize_filter("interpolation", self.interpolation))


@dataclass(frozen=True, repr=False)
class RandomResize(Operation):
    """The shorter side becomes min_size to max_size - 1 pixels.

    Parameters
    ----------
    min_size : int
        In pixels.
    max_size : int
        In pixels; never drawn itself.
    """

    min_size: int
    max_size: int
    interpolation: arguments.Interpolation = "bilinear"
    antialias: bool | None = True

    def __post_init__(self) -> None:
        low = arguments.whole("min_size", self.min_size, 1, arguments.MAX_SIDE)
        high = arguments.whole("max_size", self.max_size, 1, arguments.MAX_SIDE)
        if low >= high:
            raise ValueError(f"max_size: {high} must be larger than min_size, {low}: it is never drawn itself")
        self._normalized(min_size=low, max_size=high,
                         interpolation=arguments.resize_filter("interpolation", self.interpolation))


@dataclass(frozen=True, repr=False)
class RandomShortestSize(Operation):
    """The shorter side becomes one of min_size, and the longer one at most max_size.

    Parameters
    ----------
    min_size : int or sequence of int
        In pixels.
    max_size : int or None, default None
        In pixels. None: any.
    """

    min_size: Size
    max_size: int | None = None
    interpolation: arguments.Interpolation = "bilinear"
    antialias: bool | None = True

    def __post_init__(self) -> None:
        given = self.min_size if isinstance(self.min_size, (tuple, list)) else (self.min_size,)
        if not given:
            raise ValueError("min_size: is empty")
        longest = None if self.max_size is None else arguments.whole("max_size", self.max_size, 1, arguments.MAX_SIDE)
        self._normalized(min_size=tuple(arguments.whole("min_size", side, 1, arguments.MAX_SIDE) for side in given),
                         max_size=longest, interpolation=arguments.resize_filter("interpolation", self.interpolation))


@dataclass(frozen=True, repr=False)
class RandomZoomOut(Operation):
    """Places the image at random on a larger canvas (SSD's "zoom out", https://arxiv.org/abs/1512.02325).

    Parameters
    ----------
    side_range : (float, float), default (1.0, 4.0)
        Range of the factor by which the canvas's sides are longer, from 1.
    """

    fill: Fill = 0
    side_range: Range = (1.0, 4.0)
    p: float = 0.5

    def __post_init__(self) -> None:
        self._normalized(fill=arguments.color("fill", self.fill), side_range=arguments.interval("side_range", self.side_range, 1),
                         p=arguments.probability("p", self.p))
