"""Transforms of timm 1.0 as native ones: what create_transform returns. Its policies are read back into timm's
strings."""
from __future__ import annotations

import hashlib
import math
from typing import TypeVar

from bale.transforms._operations import ending, geometry, markers
from bale.transforms._operations.operation import Operation
from bale.transforms._operations.policies import TimmAutoAugment
from bale.transforms._translation.from_torchvision import Foreign, Make

_Value = TypeVar("_Value")

# The operations of timm 1.0.15's timm/data/auto_augment.py.
_RAND = ("AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast", "Brightness",
         "Sharpness", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel")
_INCREASING = ("Posterize", "Solarize", "Color", "Contrast", "Brightness", "Sharpness")
_RAND_INCREASING = tuple(name + "Increasing" if name in _INCREASING else name for name in _RAND)
_RAND_3A = ("SolarizeIncreasing", "Desaturate", "GaussianBlur")
_RAND_3A_WEIGHTED = ("SolarizeIncreasing", "Desaturate", "GaussianBlur", "Rotate", "ShearX", "ShearY", "PosterizeIncreasing",
                     "AutoContrast", "ColorIncreasing", "SharpnessIncreasing", "ContrastIncreasing", "BrightnessIncreasing",
                     "Equalize", "Invert")
_RAND_WEIGHTED = ("Rotate", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel", "ColorIncreasing", "SharpnessIncreasing",
                  "AutoContrast", "SolarizeIncreasing", "SolarizeAdd", "ContrastIncreasing", "BrightnessIncreasing", "Equalize",
                  "PosterizeIncreasing", "Invert")
_WEIGHTS = {_RAND_3A_WEIGHTED: (6, 6, 6, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1),
            _RAND_WEIGHTED: (3, 2, 2, 1, 1, .25, .25, .25, .05, .05, .05, .05, .05, .05, .05)}
_AUGMIX = ("AutoContrast", "ColorIncreasing", "ContrastIncreasing", "BrightnessIncreasing", "SharpnessIncreasing", "Equalize",
           "Rotate", "PosterizeIncreasing", "SolarizeIncreasing", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel")
_SETS = {_RAND: "", _RAND_INCREASING: "-inc1", _RAND_3A: "-t3a", _RAND_3A_WEIGHTED: "-t3aw", _RAND_WEIGHTED: "-tweights"}
# SHA-256 of repr([[(name, probability, magnitude), ...], ...]) of each of its policies.
_POLICIES = {"314026bb6ea44d98": "original", "323371e088f5d3ac": "originalr", "6080a4bb5975baa4": "v0", "321ebac44bdd7cc1": "v0r",
             "35a48f7b29ce2e57": "3a"}
_LARGEST_MOVE = {"rand": 0.45, "auto": 0.45, "augmix": 0.3}  # create_transform's share of the side; others cannot be said


def _number(given: float) -> str:
    """As timm's strings have numbers; one in another form cannot be read back."""
    text = str(int(given)) if given == int(given) else repr(float(given))
    if given < 0 or not text.replace(".", "").isdigit():
        raise TypeError(f"the number {given!r} has no form in timm's strings")
    return text


def _same(name: str, found: list[_Value]) -> _Value:
    if any(one != found[0] for one in found):
        raise TypeError(f"operations with different {name} have no native counterpart")
    return found[0]


def _policy(config: str, ops: list[Foreign], kind: str) -> TimmAutoAugment:
    """With what the operations have in common in addition to the string."""
    hparams = _same("hparams", [op.hparams for op in ops])
    share = hparams.get("translate_pct", 0.45)
    if share != _LARGEST_MOVE[kind]:
        raise TypeError(f"translate_pct {share!r} has no native counterpart; it is {_LARGEST_MOVE[kind]}")
    unknown = set(hparams) - {"translate_const", "translate_pct", "img_mean", "interpolation", "magnitude_std", "magnitude_max"}
    if unknown:
        raise TypeError(f"the hparams {sorted(unknown)} have no native counterpart")
    return TimmAutoAugment(config, hparams.get("translate_const", 250), _same("resample", [op.kwargs["resample"] for op in ops]),
                           _same("fillcolor", [op.kwargs["fillcolor"] for op in ops]))


def _magnitude(ops: list[Foreign]) -> str:
    magnitude = _same("magnitudes", [op.magnitude for op in ops])
    if magnitude != int(magnitude):
        raise TypeError(f"the magnitude {magnitude!r} has no form in timm's strings")
    return f"-m{_number(magnitude)}"


def _rand_augment(given: Foreign, _is_float: bool) -> Operation:
    names = tuple(op.name for op in given.ops)
    weights = _WEIGHTS.get(names)
    if names not in _SETS or (weights is None) != (given.choice_weights is None):
        raise TypeError(f"the operations {list(names)} are none of timm's sets")
    if weights is not None and any(not math.isclose(a, b / sum(weights)) for a, b in zip(given.choice_weights, weights)):
        raise TypeError("other weights than timm's have no native counterpart")
    config = f"rand{_magnitude(given.ops)}-n{given.num_layers}-p{_number(_same('p', [op.prob for op in given.ops]))}"
    return _policy(config + _noise(given.ops) + _SETS[names], given.ops, "rand")


def _noise(ops: list[Foreign]) -> str:
    """The sections mstd and mmax."""
    std, largest = ops[0].hparams.get("magnitude_std", 0), ops[0].hparams.get("magnitude_max")
    text = f"-mstd{'101' if std == math.inf else _number(std)}" if std else ""
    return text + (f"-mmax{_number(largest)}" if largest is not None else "")


def _auto_augment(given: Foreign, _is_float: bool) -> Operation:
    policy = repr([[(op.name, op.prob, op.magnitude) for op in pair] for pair in given.policy])
    ops = [op for pair in given.policy for op in pair]
    name = _POLICIES.get(hashlib.sha256(policy.encode()).hexdigest()[:16])
    if name is None:
        raise TypeError("the policy is none of timm's")
    std, largest = ops[0].hparams.get("magnitude_std", 0), ops[0].hparams.get("magnitude_max")
    if std == math.inf or largest is not None:
        raise TypeError("uniform magnitudes and magnitude_max have no form in timm's strings of this policy")
    return _policy(name + (f"-mstd{_number(std)}" if std else ""), ops, "auto")


def _augmix(given: Foreign, _is_float: bool) -> Operation:
    if tuple(op.name for op in given.ops) != _AUGMIX or any(op.prob != 1 for op in given.ops):
        raise TypeError("other operations than timm's have no native counterpart")
    std, largest = given.ops[0].hparams.get("magnitude_std", 0), given.ops[0].hparams.get("magnitude_max")
    if largest is not None:
        raise TypeError("magnitude_max has no form in timm's strings of this policy")
    config = f"augmix{_magnitude(given.ops)}-w{given.width}" + (f"-d{given.depth}" if given.depth > 0 else "")
    config += f"-a{_number(given.alpha)}" if given.alpha != 1 else ""
    config += "-b1" if given.blended else ""
    return _policy(config + ("" if std == math.inf else f"-mstd{_number(std)}"), given.ops, "augmix")


def _resized_crop(given: Foreign, _is_float: bool) -> Operation:
    return geometry.RandomResizedCrop(given.size, given.scale, given.ratio, given.interpolation)


def _erasing(given: Foreign, _is_float: bool) -> Operation:
    """On a single image num_splits has no effect."""
    low, high = (math.exp(log) for log in given.log_aspect_ratio)
    low = next((known for known in (round(low, 9),) if math.log(known) == given.log_aspect_ratio[0]), low)
    high = 1 / low if math.log(1 / low) == given.log_aspect_ratio[1] else high
    value = "channel_random" if given.rand_color else "random" if given.per_pixel else 0
    return ending.RandomErasing(given.probability, (given.min_area, given.max_area), (low, high), value, timm=True,
                                min_count=given.min_count, max_count=given.max_count)


def _center_crop(given: Foreign, _is_float: bool) -> Operation:
    """As torchvision's: the border of a smaller image is black."""
    if given.padding_mode != "constant" or given.fill not in (0, (0, 0, 0), [0, 0, 0]):
        raise TypeError("another border than black has no native counterpart")
    return geometry.CenterCrop(given.size)


def _random_crop(given: Foreign, _is_float: bool) -> Operation:
    """Both place a smaller image uniformly within its border."""
    return geometry.RandomCrop(given.size, None, True, given.fill, given.padding_mode)


def _resize_keep_ratio(_given: Foreign, _is_float: bool) -> Operation:
    raise TypeError("it rounds sides otherwise than Resize, and has no native counterpart. crop_mode=\"center\" of a square does")


def _to_tensor(_given: Foreign, _is_float: bool) -> Operation:
    return ending.ToTensor()


def _unscaled(given: Foreign, _is_float: bool) -> Operation:
    return ending.ToDtype(given.dtype, scale=False)


def _as_they_are(_given: Foreign, _is_float: bool) -> Operation:
    return markers.PILToTensor()

TABLE: dict[str, Make] = {
    "RandomResizedCropAndInterpolation": _resized_crop, "RandAugment": _rand_augment, "AutoAugment": _auto_augment,
    "AugMixAugment": _augmix, "RandomErasing": _erasing, "CenterCropOrPad": _center_crop, "RandomCropOrPad": _random_crop,
    "ResizeKeepRatio": _resize_keep_ratio, "MaybeToTensor": _to_tensor, "ToTensor": _unscaled, "ToNumpy": _as_they_are,
    "MaybePILToTensor": _as_they_are,
}
