"""Rotations and other warps. Names, parameters and defaults are those of torchvision.transforms.v2; pixels are those of
Pillow's Image.rotate and Image.transform. `interpolation` is "nearest", "bilinear" or "bicubic", also as torchvision's
InterpolationMode or Pillow's constant. `fill` is a number or (red, green, blue), 0 to 255; None is black."""
from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass

from bale.transforms._operations import arguments
from bale.transforms._operations.geometry import Fill, Range
from bale.transforms._operations.operation import Operation


@dataclass(frozen=True, repr=False)
class RandomRotation(Operation):
    """Rotates counterclockwise.

    Parameters
    ----------
    expand : bool, default False
        Enlarge the image so that nothing is cut off. The list must make the size fixed again.
    """

    degrees: float | Range
    interpolation: arguments.Interpolation = "nearest"
    expand: bool = False
    center: Sequence[float] | None = None
    fill: Fill = 0

    def __post_init__(self) -> None:
        self._normalized(degrees=arguments.angles("degrees", self.degrees),
                         interpolation=arguments.sampling("interpolation", self.interpolation),
                         expand=arguments.flag("expand", self.expand), center=arguments.center("center", self.center),
                         fill=arguments.color("fill", self.fill))


@dataclass(frozen=True, repr=False)
class RandomAffine(Operation):
    """Rotates, moves, scales and shears at once; the size stays.

    Parameters
    ----------
    translate : (float, float) or None, default None
        Largest moves, as shares of the width and of the height.
    scale : (float, float) or None, default None
        Range of the factor.
    shear : float, sequence of float or None, default None
        Degrees: a number d means (-d, d) along x; (low, high) along x; or (x low, x high, y low, y high).
    """

    degrees: float | Range
    translate: Sequence[float] | None = None
    scale: Range | None = None
    shear: float | Sequence[float] | None = None
    interpolation: arguments.Interpolation = "nearest"
    fill: Fill = 0
    center: Sequence[float] | None = None

    def __post_init__(self) -> None:
        translate = self.translate
        if translate is not None:
            translate = tuple(arguments.probability("translate", share)
                              for share in arguments.values("translate", translate, 2))
        shear: float | Sequence[float] | None = self.shear
        if shear is not None and isinstance(shear, numbers.Real):
            shear = arguments.angles("shear", shear)
        if shear is not None:
            shear = tuple(arguments.number("shear", angle) for angle in arguments.values("shear", shear, 2, 4))
            for i in range(0, len(shear), 2):
                arguments.interval("shear", shear[i:i + 2])
        self._normalized(degrees=arguments.angles("degrees", self.degrees), translate=translate,
                         scale=None if self.scale is None else arguments.positive_interval("scale", self.scale), shear=shear,
                         interpolation=arguments.sampling("interpolation", self.interpolation),
                         fill=arguments.color("fill", self.fill), center=arguments.center("center", self.center))

    def _members(self) -> dict[str, object]:
        members = super()._members()
        del members["shear"]
        shear = tuple(arguments.values("shear", self.shear or (0, 0), 2, 4)) if self.shear else ()
        return {**members, "shear_x": shear[:2] or None, "shear_y": shear[2:] or None}


@dataclass(frozen=True, repr=False)
class RandomPerspective(Operation):
    """Moves the four corners inward by random shares of half the sides, with probability p.

    Parameters
    ----------
    distortion_scale : float, default 0.5
        The largest share, 0 to 1.
    """

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: arguments.Interpolation = "bilinear"
    fill: Fill = 0

    def __post_init__(self) -> None:
        self._normalized(distortion_scale=arguments.probability("distortion_scale", self.distortion_scale),
                         p=arguments.probability("p", self.p),
                         interpolation=arguments.sampling("interpolation", self.interpolation),
                         fill=arguments.color("fill", self.fill))
