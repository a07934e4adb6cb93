"""Transforms of colors, and blurs. Names, parameters and defaults are those of torchvision.transforms.v2, except
PillowGaussianBlur. `p` is the probability that an image is changed."""
from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass

from bale.transforms._operations import arguments
from bale.transforms._operations.operation import Operation

Range = Sequence[float]
Jitter = float | Range | None


@dataclass(frozen=True, repr=False)
class _WithProbability(Operation):
    p: float = 0.5

    def __post_init__(self) -> None:
        self._normalized(p=arguments.probability("p", self.p))


@dataclass(frozen=True, repr=False)
class ColorJitter(Operation):
    """Changes brightness, contrast, saturation and hue by random factors, in random order.

    Parameters
    ----------
    brightness, contrast, saturation : float, (float, float) or None, default None
        Range of the factor; a number d means [max(0, 1 - d), 1 + d]. None: unchanged.
    hue : float, (float, float) or None, default None
        Range in turns of the color circle, within [-0.5, 0.5]; a number h means [-h, h]. None: unchanged.
    """

    brightness: Jitter = None
    contrast: Jitter = None
    saturation: Jitter = None
    hue: Jitter = None

    def __post_init__(self) -> None:
        for name in ("brightness", "contrast", "saturation"):
            self._normalized(**{name: arguments.around(name, getattr(self, name), 1, 0)})
        self._normalized(hue=arguments.around("hue", self.hue, 0, -0.5, 0.5))

    @classmethod
    def _default(cls, name: str) -> object:
        return (0, 0) if name == "hue" else (1, 1)


@dataclass(frozen=True, repr=False)
class Grayscale(Operation):
    """Replaces the colors by their luma.

    Parameters
    ----------
    num_output_channels : {1, 3}, default 3
        With 1, torchvision's default, the batch has one channel; it must then not be inside RandomApply, RandomChoice
        or RandomOrder.
    """

    num_output_channels: int = 3

    def __post_init__(self) -> None:
        if self.num_output_channels not in (1, 3):
            raise ValueError(f"num_output_channels: {self.num_output_channels!r} is neither 1 nor 3")


@dataclass(frozen=True, repr=False)
class RandomGrayscale(_WithProbability):
    """Grayscale with probability p."""

    p: float = 0.1


@dataclass(frozen=True, repr=False)
class RandomPhotometricDistort(Operation):
    """SSD's distortion of colors (https://arxiv.org/abs/1512.02325).

    Brightness, contrast, saturation, hue and a permutation of the channels, each with probability p.

    Parameters
    ----------
    brightness, contrast, saturation : (float, float), default (0.875, 1.125) and (0.5, 1.5) and (0.5, 1.5)
        Range of the factor.
    hue : (float, float), default (-0.05, 0.05)
        Range in turns of the color circle, within [-0.5, 0.5].
    p : float, default 0.5
        Probability of each of them.
    """

    brightness: Range = (0.875, 1.125)
    contrast: Range = (0.5, 1.5)
    saturation: Range = (0.5, 1.5)
    hue: Range = (-0.05, 0.05)
    p: float = 0.5

    def __post_init__(self) -> None:
        for name in ("brightness", "contrast", "saturation"):
            self._normalized(**{name: arguments.interval(name, getattr(self, name), 0)})
        self._normalized(hue=arguments.interval("hue", self.hue, -0.5, 0.5), p=arguments.probability("p", self.p))


@dataclass(frozen=True, repr=False)
class RandomSolarize(Operation):
    """Inverts values that are not below `threshold`.

    Parameters
    ----------
    threshold : float
        0 to 256.
    """

    threshold: float
    p: float = 0.5

    def __post_init__(self) -> None:
        self._normalized(threshold=arguments.number("threshold", self.threshold), p=arguments.probability("p", self.p))


@dataclass(frozen=True, repr=False)
class RandomPosterize(Operation):
    """Keeps the upper bits of each value.

    Parameters
    ----------
    bits : int
        Number of bits, 0 to 8.
    """

    bits: int
    p: float = 0.5

    def __post_init__(self) -> None:
        self._normalized(bits=arguments.whole("bits", self.bits, 0, 8), p=arguments.probability("p", self.p))


@dataclass(frozen=True, repr=False)
class RandomEqualize(_WithProbability):
    """Equalizes the histogram of each channel."""


@dataclass(frozen=True, repr=False)
class RandomAutocontrast(_WithProbability):
    """Stretches the values of each channel to 0 .. 255."""


@dataclass(frozen=True, repr=False)
class RandomInvert(_WithProbability):
    """Replaces each value by 255 minus it."""


@dataclass(frozen=True, repr=False)
class RandomAdjustSharpness(Operation):
    """Blends with the smoothed image.

    Parameters
    ----------
    sharpness_factor : float
        0 smooths, 1 changes nothing, 2 sharpens.
    """

    sharpness_factor: float
    p: float = 0.5

    def __post_init__(self) -> None:
        factor = arguments.number("sharpness_factor", self.sharpness_factor)
        if not factor >= 0:
            raise ValueError(f"sharpness_factor: {factor!r} is below 0")
        self._normalized(sharpness_factor=factor, p=arguments.probability("p", self.p))


@dataclass(frozen=True, repr=False)
class RandomChannelPermutation(Operation):
    """Puts the channels into random order."""


@dataclass(frozen=True, repr=False)
class GaussianBlur(Operation):
    """A separable Gaussian kernel of finite size, as torchvision computes it.

    Parameters
    ----------
    kernel_size : int or sequence of int
        Odd, in pixels; (width, height), as torchvision has it, or one number.
    sigma : float or (float, float), default (0.1, 2.0)
        Standard deviation in pixels, or its range.
    """

    kernel_size: int | Sequence[int]
    sigma: float | Range = (0.1, 2.0)

    def __post_init__(self) -> None:
        kernel = arguments.sides("kernel_size", self.kernel_size)
        if not (kernel[0] % 2 and kernel[1] % 2):
            raise ValueError(f"kernel_size: {self.kernel_size!r} is not odd")
        sigma = (self.sigma, self.sigma) if isinstance(self.sigma, numbers.Real) else self.sigma
        self._normalized(kernel_size=kernel, sigma=arguments.positive_interval("sigma", sigma))

    def _members(self) -> dict[str, object]:
        width, height = arguments.values("kernel_size", self.kernel_size, 2)
        return {"kernel_size": (height, width), "sigma": self.sigma}


@dataclass(frozen=True, repr=False)
class PillowGaussianBlur(Operation):
    """Pillow's ImageFilter.GaussianBlur, as MoCo, BYOL, DINO and DeiT III use it. Not in torchvision.

    Parameters
    ----------
    radius : float or (float, float), default (0.1, 2.0)
        Standard deviation in pixels, or its range.
    """

    radius: float | Range = (0.1, 2.0)

    def __post_init__(self) -> None:
        radius = (self.radius, self.radius) if isinstance(self.radius, numbers.Real) else self.radius
        self._normalized(radius=arguments.interval("radius", radius, 0))
