"""Transforms that projects define for themselves, recognized by their code: the class's name, its attributes, and the
bytecode of its method."""
# The methods that are compared have no types.
# mypy: allow-untyped-defs
from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING

from bale.transforms._operations.color import Grayscale, PillowGaussianBlur, RandomSolarize
from bale.transforms._operations.control import RandomApply
from bale.transforms._operations.ending import ToTensor
from bale.transforms._operations.geometry import FixedSizeCrop
from bale.transforms._operations.markers import Identity
from bale.transforms._operations.operation import Operation
from bale.transforms._translation import from_torchvision
from bale.transforms._translation.from_torchvision import AS_RGB, Foreign

if TYPE_CHECKING:
    import random

    import numpy as np
    from PIL import ImageFilter, ImageOps


def recognized(given: Foreign) -> Operation | None:
    """The native transform of an object of such a class, or of a function; None for others."""
    kind = type(given)
    is_lambda = kind.__name__ == "Lambda" and kind.__module__.startswith("torchvision.")
    code = getattr(given.lambd if is_lambda else given, "__code__", None)
    if code is not None:
        if _same_code(code, _as_gray.__code__):
            return Grayscale(1)
        if _same_code(code, _as_rgb.__code__):
            return AS_RGB
        return Identity() if _same_code(code, _as_it_is.__code__) else None
    make = _LOCAL.get(kind.__name__)
    return None if make is None else make(given)


def inner_list(given: Foreign) -> list[Foreign] | None:
    """`transforms` of an object that does no more than call it with the image, or with image and target, as torchvision's reference
    presets; else None."""
    code = getattr(getattr(type(given), "__call__", None), "__code__", None)
    if code is None or not any(_same_code(code, known.__code__) for known in (_calls_transforms, _calls_transforms_with_target)):
        return None
    return [given.transforms]


def _as_rgb(image):
    return image.convert("RGB")


def _as_gray(image):
    return image.convert("L")


def _as_it_is(image):
    return image


def _calls_transforms(self, image):
    return self.transforms(image)


def _calls_transforms_with_target(self, image, target):
    return self.transforms(image, target)


def _same_code(one: CodeType, other: CodeType) -> bool:
    """Whether two functions do the same, whatever their arguments are called."""
    def body(code: CodeType) -> tuple[object, ...]:
        constants = tuple(value for value in code.co_consts if value is not None)
        return code.co_code, code.co_names, constants, code.co_argcount, code.co_freevars
    return body(one) == body(other)


def _runs(given: Foreign, attributes: set[str], *methods: Callable[..., object]) -> bool:
    """Whether an object has just these attributes, and its __call__ is one of these."""
    code = getattr(getattr(type(given), "__call__", None), "__code__", None)
    return code is not None and set(vars(given)) == attributes and any(_same_code(code, m.__code__) for m in methods)

# The methods below are never called. Statement for statement they are what is recognized, so a class that only looks alike,
# for instance with a probability of leaving the image as it is, is not.

def _blur_with_probability(self, image):
    is_on = random.random() <= self.prob
    if not is_on:
        return image
    image = image.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.radius_min, self.radius_max)))
    return image


def _blur_with_probability_and_return(self, image):
    is_on = random.random() <= self.prob
    if not is_on:
        return image
    return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.radius_min, self.radius_max)))


def _blur_always(self, image):
    sigma = random.uniform(self.sigma[0], self.sigma[1])
    image = image.filter(ImageFilter.GaussianBlur(radius=sigma))
    return image


def _blur_with_numpy(self, image):
    drawn = np.random.random_sample()
    if drawn < self.prob:
        sigma = np.random.uniform(self.sigmas[0], self.sigmas[1])
        return image.filter(ImageFilter.GaussianBlur(radius=sigma))
    return image


def _solarize_with_probability(self, image):
    if random.random() < self.p:
        return ImageOps.solarize(image)
    else:
        return image


def _solarize_with_numpy(self, image):
    drawn = np.random.random_sample()
    if drawn < self.prob:
        return ImageOps.solarize(image, threshold=self.threshold)
    return image


def _solarize_always(self, image):
    return ImageOps.solarize(image)


def _other_with_probability(self, image):
    if random.random() < self.p:
        return self.transf(image)
    else:
        return image


def _with_probability(one: Operation, p: float) -> Operation:
    return one if p == 1 else RandomApply([one], p)


def _blur(given: Foreign) -> Operation | None:
    """DINO's and DeiT's GaussianBlur(p, radius_min, radius_max), lightly's, and MoCo's GaussianBlur(sigma)."""
    if _runs(given, {"prob", "radius_min", "radius_max"}, _blur_with_probability, _blur_with_probability_and_return):
        return _with_probability(PillowGaussianBlur((given.radius_min, given.radius_max)), given.prob)
    if _runs(given, {"prob", "sigmas"}, _blur_with_numpy):
        return _with_probability(PillowGaussianBlur(given.sigmas), given.prob)
    return PillowGaussianBlur(given.sigma) if _runs(given, {"sigma"}, _blur_always) else None


def _solarize(given: Foreign) -> Operation | None:
    """DINO's and DeiT's Solarization(p), lightly's RandomSolarization, and MoCo v3's Solarize()."""
    if _runs(given, {"prob", "threshold"}, _solarize_with_numpy):
        return RandomSolarize(given.threshold, given.prob)
    if _runs(given, {"p"}, _solarize_with_probability):
        return RandomSolarize(128, given.p)
    return RandomSolarize(128, 1) if _runs(given, set(), _solarize_always) else None


def _other(given: Foreign) -> Operation | None:
    """DeiT's and open_clip's gray_scale(p) and color_jitter(p=): a transform of torchvision with a probability."""
    inner = getattr(given, "transf", None)
    make = from_torchvision.TABLE.get(type(inner).__name__) if type(inner).__module__.startswith("torchvision.") else None
    if make is None or not _runs(given, {"p", "transf"}, _other_with_probability):
        return None
    made = make(inner, False)
    return _with_probability(made, given.p) if isinstance(made, Operation) else None


def _fixed_size_crop(given: Foreign) -> Operation | None:
    """FixedSizeCrop of torchvision's reference for detection, and of torchvision.prototype."""
    if not {"crop_height", "crop_width", "fill", "padding_mode"} <= vars(given).keys() or given.padding_mode != "constant":
        return None
    sides = (given.crop_height, given.crop_width)
    if type(given).__module__.startswith("torchvision.prototype."):
        return FixedSizeCrop(sides, from_torchvision.for_images(given.fill))
    names = {"F", "get_dimensions", "min", "max", "int", "crop_height", "crop_width", "torch", "rand", "_crop", "_pad"}
    code = getattr(getattr(type(given), "forward", None), "__code__", None)
    return FixedSizeCrop(sides, given.fill) if code is not None and set(code.co_names) == names else None


def _maybe_to_tensor(given: Foreign) -> Operation | None:
    """DINOv2's and open_clip's subclasses of torchvision's ToTensor, which leave tensors as they are."""
    code = getattr(type(given).__call__, "__code__", None)
    is_subclass = any(kind.__name__ == "ToTensor" and kind.__module__.startswith("torchvision.")
                      for kind in type(given).__mro__[1:])
    names = {"isinstance", "torch", "Tensor"}
    is_known = code is not None and set(code.co_names) in (names | {"super", "__call__"}, names | {"F", "to_tensor"})
    return ToTensor() if is_subclass and is_known else None


def _convert_mode(given: Foreign) -> Operation | None:
    """open_clip's MaybeConvertMode("RGB")."""
    return AS_RGB if type(given).__module__.startswith("open_clip.") and given.mode == "RGB" else None

_LOCAL = {"GaussianBlur": _blur, "Solarization": _solarize, "Solarize": _solarize, "RandomSolarization": _solarize,
          "gray_scale": _other, "color_jitter": _other, "FixedSizeCrop": _fixed_size_crop, "MaybeToTensor": _maybe_to_tensor, "MaybeConvertMode": _convert_mode}
