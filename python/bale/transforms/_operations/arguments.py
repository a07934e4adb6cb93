"""Arguments of the transforms: what torchvision accepts becomes what the native list has. Each function raises
ValueError or TypeError that names the parameter."""
from __future__ import annotations

import enum
import numbers
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

from bale._types import dtype_name

Interpolation = str | int | enum.Enum  # a name, Pillow's constant, torchvision's InterpolationMode
Mode = Literal["RGB", "L", "RGBA", "I;16"]

# Pillow's constants: https://pillow.readthedocs.io/en/stable/reference/Image.html#resampling-filters
_PILLOW_FILTERS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
_FILTERS = tuple(_PILLOW_FILTERS.values())
_SAMPLINGS = ("nearest", "bilinear", "bicubic")
_DTYPES = ("uint8", "float16", "bfloat16", "float32")
_PADDING_MODES = ("constant", "edge", "reflect", "symmetric")
_POLICIES = ("imagenet", "cifar10", "svhn")
MAX_SIDE = 65535
MODES = ("RGB", "L", "RGBA", "I;16")  # of images, by Pillow's names


def refuse(name: str, given: object, wanted: str) -> NoReturn:
    kind = ValueError if isinstance(given, (numbers.Number, str, tuple, list)) else TypeError
    raise kind(f"{name}: {given!r} is not {wanted}")


def number(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        refuse(name, given, "a number")
    return float(given) if not isinstance(given, int) else given


def whole(name: str, given: object, least: int, most: int = 2**31 - 1) -> int:
    value = number(name, given) if isinstance(given, numbers.Real) and not isinstance(given, bool) else None
    if value is None or value != int(value) or not least <= value <= most:
        refuse(name, given, f"a whole number from {least} to {most}")
    return int(value)


def flag(name: str, given: object) -> bool:
    if not isinstance(given, bool):
        refuse(name, given, "True or False")
    return bool(given)


def probability(name: str, given: object) -> float:
    value = number(name, given)
    if not 0 <= value <= 1:
        refuse(name, given, "a probability from 0 to 1")
    return value


def _shortest(value: float) -> float:
    """The shortest decimals that give this float32."""
    import numpy as np  # not above: who gives no arrays need not wait for it

    return float(str(np.float32(value)))


def values(name: str, given: Any, *lengths: int) -> tuple[Any, ...]:
    """A sequence, tensor or array of one of these lengths. Values of float32 get their shortest decimals."""
    if hasattr(given, "tolist"):
        is_float32 = str(getattr(given, "dtype", "")).endswith("float32")
        given = [_shortest(value) for value in given.tolist()] if is_float32 else given.tolist()
    if not isinstance(given, (tuple, list)):
        refuse(name, given, f"a sequence of {' or '.join(map(str, lengths))} values")
    if len(given) not in lengths:
        raise ValueError(f"{name}: {given!r} does not have {' or '.join(map(str, lengths))} values")
    return tuple(given)


def interval(name: str, given: object, least: float | None = None, most: float | None = None) -> tuple[float, float]:
    """(low, high)."""
    low, high = (number(name, value) for value in values(name, given, 2))
    if not low <= high:
        raise ValueError(f"{name}: {given!r} is not a range (low, high)")
    if (least is not None and low < least) or (most is not None and high > most):
        raise ValueError(f"{name}: {given!r} is not within [{least}, {'...' if most is None else most}]")
    return low, high


def positive_interval(name: str, given: object, most: float | None = None) -> tuple[float, float]:
    low, high = interval(name, given, 0, most)
    if low == 0:
        raise ValueError(f"{name}: {given!r} is not above 0")
    return low, high


def angles(name: str, given: object) -> tuple[float, float]:
    """Degrees: a number d means (-d, d)."""
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        if given < 0:
            raise ValueError(f"{name}: {given!r} is below 0; for a range give (low, high)")
        return -number(name, given), number(name, given)
    return interval(name, given)


def sides(name: str, given: object) -> tuple[int, int]:
    """(height, width) of a side or a sequence of one or two."""
    if isinstance(given, numbers.Real):
        side = whole(name, given, 1, MAX_SIDE)
        return side, side
    found = tuple(whole(name, side, 1, MAX_SIDE) for side in values(name, given, 1, 2))
    return found[0], found[-1]


def padding(name: str, given: object) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of a number, (left and right, top and bottom), or all four."""
    if isinstance(given, numbers.Real):
        given = (given,)
    found = tuple(whole(name, side, 0, MAX_SIDE) for side in values(name, given, 1, 2, 4))
    if len(found) == 4:
        return found[0], found[1], found[2], found[3]
    return found[0], found[-1], found[0], found[-1]


def color(name: str, given: object) -> tuple[int, int, int]:
    """(red, green, blue) of a number or a sequence of one or three; None is black."""
    if given is None:
        return 0, 0, 0
    if isinstance(given, numbers.Real):
        given = (given,)
    found = tuple(whole(name, value, 0, 255) for value in values(name, given, 1, 3))
    return found[0], found[len(found) // 2], found[-1]


def center(name: str, given: object) -> tuple[float, float] | None:
    if given is None:
        return None
    x, y = (number(name, value) for value in values(name, given, 2))
    return x, y


def _interpolation_name(given: object) -> object:
    if isinstance(given, str):
        return given.lower()
    if isinstance(given, int):  # also Pillow's Resampling
        return _PILLOW_FILTERS.get(int(given), given)
    found = getattr(given, "value", given)  # torchvision's InterpolationMode
    return "nearest" if found == "nearest-exact" else found  # of PIL images they are the same


def resize_filter(name: str, given: object) -> str:
    """The filter of a resize."""
    found = _interpolation_name(given)
    if found not in _FILTERS:
        refuse(name, found, f"one of {', '.join(_FILTERS)}")
    return str(found)


def resize_filters(name: str, given: object) -> str | tuple[str, ...]:
    """One filter, or several of which each image draws one: timm's "random"."""
    if isinstance(given, str) and given == "random":
        return "bilinear", "bicubic"
    if isinstance(given, (tuple, list)):
        if not given:
            raise ValueError(f"{name}: is empty")
        return tuple(resize_filter(name, one) for one in given)
    return resize_filter(name, given)


def sampling(name: str, given: object) -> str:
    """How a warp takes its pixels."""
    found = _interpolation_name(given)
    if found not in _SAMPLINGS:
        refuse(name, found, "'nearest', 'bilinear' or 'bicubic'")
    return str(found)


def samplings(name: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) and given == "random":
        return "bilinear", "bicubic"
    if isinstance(given, (tuple, list)):
        if not given:
            raise ValueError(f"{name}: is empty")
        return tuple(sampling(name, one) for one in given)
    return (sampling(name, given),)


def padding_mode(name: str, given: object) -> str:
    if given not in _PADDING_MODES:
        refuse(name, given, f"one of {', '.join(_PADDING_MODES)}")
    return str(given)


def policy(name: str, given: object) -> str:
    found = getattr(given, "value", given)  # torchvision's AutoAugmentPolicy
    if found not in _POLICIES:
        refuse(name, given, f"one of {', '.join(_POLICIES)}")
    return str(found)


def dtype(name: str, given: object) -> str:
    """A torch or numpy dtype, or its name."""
    found = dtype_name(given)
    if found not in _DTYPES:
        refuse(name, given, f"one of {', '.join(_DTYPES)}")
    return found


def around(name: str, given: float | Sequence[float] | None, middle: float, least: float,
           most: float | None = None) -> tuple[float, float]:
    """A range of ColorJitter: a number d means [middle - d, middle + d], cut off at `least`."""
    if given is None:
        return middle, middle
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        if given < 0:
            raise ValueError(f"{name}: {given!r} is below 0")
        distance = number(name, given)
        given = (max(middle - distance, least) if middle else middle - distance, middle + distance)
    return interval(name, given, least, most)
