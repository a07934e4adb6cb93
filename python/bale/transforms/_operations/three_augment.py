"""DeiT III's 3-Augment."""
from __future__ import annotations

from bale.transforms._operations.color import Grayscale, PillowGaussianBlur, RandomSolarize
from bale.transforms._operations.control import RandomChoice


def ThreeAugment() -> RandomChoice:  # noqa: N802 (a transform by its name)
    """One of gray, solarized and blurred: DeiT III's 3-Augment (https://arxiv.org/abs/2204.07118).

    Source: facebookresearch/deit, augment.py.

    Returns
    -------
    RandomChoice
        An Operation.
    """
    return RandomChoice([Grayscale(), RandomSolarize(128, p=1), PillowGaussianBlur((0.1, 2.0))])
