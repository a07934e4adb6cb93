"""Transforms of boxes, which are fields of a Loader of the kind "boxes". Names, parameters and defaults are those of
torchvision.transforms.v2. Masks and keypoints take the crop of RandomIoUCrop, too."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bale.transforms._operations import arguments
from bale.transforms._operations.operation import Operation

_MOST_TRIALS = 10_000


@dataclass(frozen=True, repr=False)
class RandomIoUCrop(Operation):
    """A crop that keeps boxes (SSD, https://arxiv.org/abs/1512.02325).

    Boxes whose centers are outside the crop become 0, 0, 0, 0: put SanitizeBoundingBoxes after it. The boxes are those
    of the first field of the kind "boxes". At most one in a list.

    Parameters
    ----------
    min_scale, max_scale : float, default 0.3 and 1.0
        Range of the crop's sides, as shares of the image's; at most 1.
    min_aspect_ratio, max_aspect_ratio : float, default 0.5 and 2.0
        Range of its width / height.
    sampler_options : sequence of float or None, default None
        The least intersection over union with a box, one drawn per round; 1 or more leaves the image as it is. None: 0,
        0.1, 0.3, 0.5, 0.7, 0.9 and 1.
    trials : int, default 40
        Rectangles per round, at most 10,000.

    Notes
    -----
    After 1,000 rounds or 40,000 rectangles the image stays unchanged; torchvision loops forever. A rectangle without height or width is
    drawn again; torchvision divides by zero.
    """

    min_scale: float = 0.3
    max_scale: float = 1.0
    min_aspect_ratio: float = 0.5
    max_aspect_ratio: float = 2.0
    sampler_options: Sequence[float] | None = None
    trials: int = 40

    def __post_init__(self) -> None:
        for low, high, most in (("min_scale", "max_scale", 1), ("min_aspect_ratio", "max_aspect_ratio", None)):
            least, largest = (arguments.number(name, getattr(self, name)) for name in (low, high))
            arguments.interval(low, (least, largest), 0, most)
            self._normalized(**{low: least, high: largest})
        options = self.sampler_options
        if options is not None:
            if not isinstance(options, (tuple, list)) or not options:
                arguments.refuse("sampler_options", options, "a sequence of numbers")
            options = tuple(arguments.number("sampler_options", option) for option in options)
            if not min(options) >= 0:
                raise ValueError(f"sampler_options: {options!r} has a number below 0")
        self._normalized(sampler_options=options, trials=arguments.whole("trials", self.trials, 1, _MOST_TRIALS))


@dataclass(frozen=True, repr=False)
class ClampBoundingBoxes(Operation):
    """Clips boxes at the edges of the image. Crops, padding and warps do so in any case.

    Parameters
    ----------
    clamping_mode : str, default 'auto'
        "auto", "soft" or "hard", which are the same for boxes that are not rotated.
    """

    clamping_mode: str = "auto"

    def __post_init__(self) -> None:
        if self.clamping_mode not in ("auto", "soft", "hard"):
            arguments.refuse("clamping_mode", self.clamping_mode, "'auto', 'soft' or 'hard'")

    def _members(self) -> dict[str, object]:
        return {}


@dataclass(frozen=True, repr=False)
class SanitizeBoundingBoxes(Operation):
    """Drops boxes, with their labels, that are too small or reach over an edge of the image.

    No other transform drops any. Masks and keypoints stay.

    Parameters
    ----------
    min_size : float, default 1.0
        The least width and height in pixels, 1 or more.
    min_area : float, default 1.0
        The least area in pixels, 1 or more.
    labels_getter : 'default' or None, default 'default'
        The labels of a field of boxes belong to them and are dropped with them in any case.
    """

    min_size: float = 1.0
    min_area: float = 1.0
    labels_getter: str | None = "default"

    def __post_init__(self) -> None:
        if self.labels_getter not in ("default", None):
            raise TypeError(f"labels_getter: {self.labels_getter!r} has no native counterpart: only labels go with their boxes")
        for name in ("min_size", "min_area"):
            value = arguments.number(name, getattr(self, name))
            if not value >= 1:
                raise ValueError(f"{name}: {value!r} is below 1")
            self._normalized(**{name: value})

    def _members(self) -> dict[str, object]:
        return {"min_size": self.min_size, "min_area": self.min_area}
