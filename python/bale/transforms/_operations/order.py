"""The order of a list: 8-bit pixels are changed, then converted, normalized and erased."""
from __future__ import annotations

from collections.abc import Sequence

from bale.transforms._operations.boxes import ClampBoundingBoxes, RandomIoUCrop, SanitizeBoundingBoxes
from bale.transforms._operations.control import flattened
from bale.transforms._operations.ending import Normalize, RandomErasing, ToDtype
from bale.transforms._operations.geometry import CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip
from bale.transforms._operations.operation import Operation


def in_native_order(given: Sequence[Operation]) -> list[Operation]:
    """The transforms without markers, in an order that the native list can run and that gives the same pixels. Raises
    ValueError if there is none."""
    pixels: list[Operation] = []
    end: list[Operation] = []  # of ToDtype, Normalize, RandomErasing
    for one in flattened(given):
        place = f"transforms[{_place_of(one, given)}]: {type(one).__name__}"
        if isinstance(one, ToDtype):
            _convert(one, pixels, end, place)
        elif isinstance(one, Normalize):
            if not any(isinstance(e, ToDtype) and e.dtype != "uint8" for e in end):
                raise ValueError(f"{place} needs float pixels: put ToDtype(\"float32\") before it")
            if any(isinstance(e, Normalize) for e in end):
                raise ValueError(f"{place} may appear only once")
            end.append(one)
        elif isinstance(one, RandomErasing):
            (end if end else pixels).append(one)
        elif not end or _commutes(one, end):
            pixels.append(one)
        else:
            raise ValueError(f"{place} changes 8-bit pixels: put it before ToDtype, ToTensor and Normalize")
    return pixels + end


def _place_of(one: Operation, given: Sequence[Operation]) -> int:
    return next(i for i, outer in enumerate(given) if any(one is part for part in flattened([outer])))


def _convert(one: ToDtype, pixels: list[Operation], end: list[Operation], place: str) -> None:
    made = ToDtype(one.dtype, one.scale)
    before = next((i for i, e in enumerate(end) if isinstance(e, ToDtype)), None)
    if made.dtype == "uint8":
        if before is not None:
            raise ValueError(f"{place} to uint8 comes after the pixels became floats")
        return  # as they are
    if before is None:
        end.append(made)
    else:
        end[before] = made  # rounded once, at the end


def _commutes(one: Operation, end: list[Operation]) -> bool:
    """Whether the transform gives the same batch before the end of the list as after it."""
    kinds = {type(e) for e in end}
    if isinstance(one, (RandomHorizontalFlip, RandomVerticalFlip, ClampBoundingBoxes, SanitizeBoundingBoxes)):
        return True
    if RandomErasing in kinds:
        return False
    if isinstance(one, RandomIoUCrop):
        return True
    if isinstance(one, RandomCrop):
        return one.padding is None and not one.pad_if_needed
    return isinstance(one, CenterCrop) and Normalize not in kinds  # its border is black: 0 before and after ToDtype
