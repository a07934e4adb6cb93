"""Learned and random policies. Names, parameters and defaults are those of torchvision.transforms.v2, except
TimmAutoAugment and ThreeAugment. `interpolation` is "nearest", "bilinear" or "bicubic", also as torchvision's InterpolationMode or
Pillow's constant; `fill` is a number or (red, green, blue), 0 to 255; None is black."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from bale.transforms._operations import arguments
from bale.transforms._operations.color import Grayscale, PillowGaussianBlur, RandomSolarize
from bale.transforms._operations.control import RandomChoice
from bale.transforms._operations.geometry import Fill
from bale.transforms._operations.operation import Operation


@dataclass(frozen=True, repr=False)
class _Policy(Operation):
    def _check_warp(self) -> None:
        self._normalized(interpolation=arguments.sampling("interpolation", getattr(self, "interpolation")),
                         fill=arguments.color("fill", getattr(self, "fill")))


@dataclass(frozen=True, repr=False)
class AutoAugment(_Policy):
    """AutoAugment (https://arxiv.org/abs/1805.09501): one of 25 learned pairs of operations.

    Parameters
    ----------
    policy : str or object, default 'imagenet'
        "imagenet", "cifar10" or "svhn"; torchvision's AutoAugmentPolicy.
    """

    policy: str | enum.Enum = "imagenet"
    interpolation: arguments.Interpolation = "nearest"
    fill: Fill = None

    def __post_init__(self) -> None:
        self._normalized(policy=arguments.policy("policy", self.policy))
        self._check_warp()


@dataclass(frozen=True, repr=False)
class RandAugment(_Policy):
    """RandAugment (https://arxiv.org/abs/1909.13719): random operations at one magnitude.

    Parameters
    ----------
    num_ops : int, default 2
        Number of operations.
    magnitude : int, default 9
        0 to num_magnitude_bins - 1.
    """

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    interpolation: arguments.Interpolation = "nearest"
    fill: Fill = None

    def __post_init__(self) -> None:
        bins = arguments.whole("num_magnitude_bins", self.num_magnitude_bins, 1)
        self._normalized(num_ops=arguments.whole("num_ops", self.num_ops, 0), num_magnitude_bins=bins,
                         magnitude=arguments.whole("magnitude", self.magnitude, 0, bins - 1))
        self._check_warp()


@dataclass(frozen=True, repr=False)
class TrivialAugmentWide(_Policy):
    """TrivialAugment with wide ranges (https://arxiv.org/abs/2103.10158): one random operation at a random magnitude."""

    num_magnitude_bins: int = 31
    interpolation: arguments.Interpolation = "nearest"
    fill: Fill = None

    def __post_init__(self) -> None:
        self._normalized(num_magnitude_bins=arguments.whole("num_magnitude_bins", self.num_magnitude_bins, 1))
        self._check_warp()


@dataclass(frozen=True, repr=False)
class AugMix(_Policy):
    """AugMix (https://arxiv.org/abs/1912.02781): a mixture of chains of operations.

    Parameters
    ----------
    severity : int, default 3
        Largest magnitude, 1 to 10.
    mixture_width : int, default 3
        Number of chains.
    chain_depth : int, default -1
        Operations per chain; -1: 1 to 3 at random.
    alpha : float, default 1.0
        Of the Beta and Dirichlet distributions.
    all_ops : bool, default True
        Also brightness, contrast, color and sharpness.
    """

    severity: int = 3
    mixture_width: int = 3
    chain_depth: int = -1
    alpha: float = 1.0
    all_ops: bool = True
    interpolation: arguments.Interpolation = "bilinear"
    fill: Fill = None

    def __post_init__(self) -> None:
        alpha = arguments.number("alpha", self.alpha)
        if not alpha > 0:
            raise ValueError(f"alpha: {alpha!r} is not above 0")
        self._normalized(severity=arguments.whole("severity", self.severity, 1, 10), alpha=alpha,
                         mixture_width=arguments.whole("mixture_width", self.mixture_width, 1),
                         chain_depth=arguments.whole("chain_depth", self.chain_depth, -1),
                         all_ops=arguments.flag("all_ops", self.all_ops))
        self._check_warp()


@dataclass(frozen=True, repr=False)
class TimmAutoAugment(Operation):
    """timm's policies by timm's strings (timm.data.auto_augment, version 1.0).

    Parameters
    ----------
    config : str
        "rand-m9-mstd0.5-inc1", "original", "v0", "originalr", "v0r", "3a", "augmix-m5-w4-d2" and the like.
    translate_const : int, default 100
        Pixels of the largest absolute move; create_transform gives 0.45 of the image's shorter side.
    interpolation : str or sequence of str, default ('bilinear', 'bicubic')
        One, or several of which each operation draws one. "random": bilinear and bicubic, timm's default.
    fill : int, (int, int, int) or None, default (128, 128, 128)
        Color of new pixels, a number or (red, green, blue), 0 to 255; create_transform gives the mean of Normalize as a
        color.
    """

    config: str
    translate_const: int = 100
    interpolation: arguments.Interpolation | Sequence[arguments.Interpolation] = ("bilinear", "bicubic")
    fill: Fill = (128, 128, 128)

    def __post_init__(self) -> None:
        if not isinstance(self.config, str):
            arguments.refuse("config", self.config, "a string such as 'rand-m9-mstd0.5-inc1'")
        self._normalized(translate_const=arguments.whole("translate_const", self.translate_const, 0),
                         interpolation=arguments.samplings("interpolation", self.interpolation),
                         fill=arguments.color("fill", self.fill))


def ThreeAugment() -> RandomChoice:  # noqa: N802 (a transform by its name)
    """One of gray, solarized and blurred: DeiT III's 3-Augment (https://arxiv.org/abs/2204.07118).

    Source: facebookresearch/deit, augment.py.

    Returns
    -------
    RandomChoice
        An Operation.
    """
    return RandomChoice([Grayscale(), RandomSolarize(128, p=1), PillowGaussianBlur((0.1, 2.0))])
