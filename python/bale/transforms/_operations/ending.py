"""The end of a list: what becomes of the pixels in a batch. Names and parameters are those of
torchvision.transforms.v2."""
from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bale.transforms._operations import arguments
from bale.transforms._operations.operation import Operation

if TYPE_CHECKING:
    from bale._types import DType

MeanAndStd = bool | Sequence[Sequence[float]] | None

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True, repr=False)
class ToDtype(Operation):
    """The batch's type. Floats are value / 255, then normalized in float32, then rounded once.

    Parameters
    ----------
    scale : bool, default True
        Must be True for floats (torchvision's default is False).
    """

    dtype: DType = "float32"
    scale: bool = True

    def __post_init__(self) -> None:
        self._normalized(dtype=arguments.dtype("dtype", self.dtype), scale=arguments.flag("scale", self.scale))
        if self.dtype != "uint8" and not self.scale:
            raise ValueError("scale: must be True for a float dtype: floats are value / 255")

    def __repr__(self) -> str:
        return f"ToDtype({self.dtype!r}{'' if self.scale else ', scale=False'})"

    def to_dict(self) -> dict[str, object]:
        """The transform for the native list.

        Returns
        -------
        dict
            Its name and members.
        """
        return {"name": "ToDtype", **self._members()}


@dataclass(frozen=True, repr=False)
class ConvertImageDtype(ToDtype):
    """ToDtype(dtype, scale=True)."""

    scale: bool = field(default=True, init=False)

    def __repr__(self) -> str:
        return f"ConvertImageDtype({self.dtype!r})"


@dataclass(frozen=True, repr=False)
class ToTensor(ToDtype):
    """ToDtype("float32", scale=True)."""

    dtype: DType = field(default="float32", init=False)
    scale: bool = field(default=True, init=False)

    def __repr__(self) -> str:
        return "ToTensor()"


@dataclass(frozen=True, repr=False)
class Normalize(Operation):
    """(value - mean) / std per channel, after ToDtype of a float type. torchvision has no defaults; these are ImageNet's.

    Parameters
    ----------
    mean, std : sequence of float, default IMAGENET_MEAN and IMAGENET_STD
        As many numbers as images have channels, of values in [0, 1].
    """

    mean: Sequence[float] = IMAGENET_MEAN
    std: Sequence[float] = IMAGENET_STD
    inplace: bool = False

    def __post_init__(self) -> None:
        mean, std = (tuple(arguments.number(name, value) for value in arguments.values(name, getattr(self, name), 1, 3, 4))
                     for name in ("mean", "std"))
        if len(mean) != len(std):
            raise ValueError(f"std: {std} does not have as many values as mean, {mean}")
        if not min(std) > 0:
            raise ValueError(f"std: {std} is not above 0")
        self._normalized(mean=mean, std=std)


@dataclass(frozen=True, repr=False)
class RandomErasing(Operation):
    """Overwrites a random rectangle with probability p (https://arxiv.org/abs/1708.04896).

    Parameters
    ----------
    scale : (float, float), default (0.02, 0.33)
        Range of its area, as a share of the image's.
    ratio : (float, float), default (0.3, 3.3)
        Range of its height / width.
    value : float, (float, float, float) or str, default 0
        A number or three, in the values of the batch. "random": a normal number per value (timm's mode "pixel").
        "channel_random": one normal number per channel (timm's mode "rand"), which torchvision does not have.
    timm : bool, default False
        Draw as timm.data.random_erasing does: min_count to max_count rectangles, which share the area.
    min_count, max_count : int, default 1
        Number of rectangles, 1 to 100. More than one needs timm=True.
    """

    p: float = 0.5
    scale: Sequence[float] = (0.02, 0.33)
    ratio: Sequence[float] = (0.3, 3.3)
    value: float | str | Sequence[float] = 0
    inplace: bool = False
    timm: bool = False
    min_count: int = 1
    max_count: int = 1

    def __post_init__(self) -> None:
        self._normalized(p=arguments.probability("p", self.p), value=self._checked_value(),
                         scale=arguments.positive_interval("scale", self.scale, 1),
                         ratio=arguments.positive_interval("ratio", self.ratio), timm=arguments.flag("timm", self.timm),
                         min_count=arguments.whole("min_count", self.min_count, 1, 100))
        self._normalized(max_count=arguments.whole("max_count", self.max_count, self.min_count, 100))
        if self.max_count > 1 and not self.timm:
            raise ValueError("max_count: more than one rectangle needs timm=True")

    def _checked_value(self) -> float | str | tuple[float, ...]:
        if isinstance(self.value, str):
            if self.value not in _NOISE:
                raise ValueError(f"value: {self.value!r} is not a number, three numbers, 'random' or 'channel_random'")
            return self.value
        if isinstance(self.value, numbers.Real):
            return arguments.number("value", self.value)
        found = tuple(arguments.number("value", one) for one in arguments.values("value", self.value, 1, 3))
        return found if len(found) == 3 else found[0]

    def _members(self) -> dict[str, object]:
        members = super()._members()
        value = members.pop("value")
        if isinstance(value, str):
            return {**members, "with": _NOISE[value]}
        return {**members, "with": "value", "value": value if isinstance(value, tuple) else (value,) * 3}


def normalized(dtype: DType, mean: Sequence[float], std: Sequence[float]) -> list[Operation]:
    """The end of a list that normalizes."""
    return [ToDtype(dtype), Normalize(mean, std)]


def mean_and_std(normalize: MeanAndStd) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Returns what an option `normalize` stands for.

    Parameters
    ----------
    normalize : bool, (mean, std) or None
        True (ImageNet's mean and standard deviation), or (mean, std) of one, three or four numbers each; False or None:
        none.

    Returns
    -------
    (mean, std) or None
        Tuples of float.

    Raises
    ------
    ValueError
        If there are not as many numbers as images have channels.
    """
    if normalize is None or normalize is False:
        return None
    if normalize is True:
        return IMAGENET_MEAN, IMAGENET_STD
    mean, std = normalize
    if len(mean) not in (1, 3, 4) or len(std) != len(mean):
        raise ValueError("normalize: mean and std are three numbers each, or one for mode L, or four for RGBA")
    return tuple(map(float, mean)), tuple(map(float, std))

_NOISE = {"random": "pixel_noise", "channel_random": "channel_noise"}
