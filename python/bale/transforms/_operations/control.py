"""Transforms that run others. Names, parameters and defaults are those of torchvision.transforms.v2."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bale.transforms._operations import arguments
from bale.transforms._operations.markers import Marker
from bale.transforms._operations.operation import Operation


def operations(name: str, given: Sequence[Operation]) -> tuple[Operation, ...]:
    """Checks a list of transforms."""
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{name}: {given!r} is not a list of transforms")
    for i, one in enumerate(given):
        if not isinstance(one, Operation):
            raise TypeError(f"{name}[{i}]: {one!r} is not one of bale.transforms. bale.transforms.translate() translates "
                            "transforms of torchvision and timm")
    return tuple(given)


def flattened(given: Sequence[Operation]) -> list[Operation]:
    """Without markers and nested Compose."""
    found: list[Operation] = []
    for one in given:
        if type(one).__name__ == "Compose":
            found += flattened(getattr(one, "transforms"))
        elif not isinstance(one, Marker):
            found.append(one)
    return found


def alternatives(given: Sequence[Operation]) -> list[dict[str, object]]:
    """One dictionary each: what is several or none becomes a Compose."""
    found: list[dict[str, object]] = []
    for one in given:
        parts = flattened([one])
        found.append(parts[0].to_dict() if len(parts) == 1 else {"name": "Compose", "transforms": [p.to_dict() for p in parts]})
    return found


@dataclass(frozen=True, repr=False)
class RandomApply(Operation):
    """Runs all its transforms with probability p, else none.

    Parameters
    ----------
    p : float, default 0.5
        Probability that they run.
    """

    transforms: Sequence[Operation]
    p: float = 0.5

    def __post_init__(self) -> None:
        self._normalized(transforms=operations("transforms", self.transforms), p=arguments.probability("p", self.p))

    def _members(self) -> dict[str, object]:
        return {"transforms": [one.to_dict() for one in flattened(self.transforms)], "p": self.p}


@dataclass(frozen=True, repr=False)
class RandomChoice(Operation):
    """Runs one of its transforms.

    Parameters
    ----------
    p : sequence of float or None, default None
        Weights, one per transform. None: all the same.
    """

    transforms: Sequence[Operation]
    p: Sequence[float] | None = None

    def __post_init__(self) -> None:
        found = operations("transforms", self.transforms)
        if not found:
            raise ValueError("transforms: is empty")
        weights = self.p
        if weights is not None:
            weights = tuple(arguments.number("p", weight) for weight in arguments.values("p", weights, len(found)))
            if min(weights) < 0 or not sum(weights) > 0:
                raise ValueError(f"p: {self.p!r} are not weights: none below 0, and not all 0")
        self._normalized(transforms=found, p=weights)

    def _members(self) -> dict[str, object]:
        return {"transforms": alternatives(self.transforms), "p": self.p}


@dataclass(frozen=True, repr=False)
class RandomOrder(Operation):
    """Runs all its transforms in random order."""

    transforms: Sequence[Operation]

    def __post_init__(self) -> None:
        self._normalized(transforms=operations("transforms", self.transforms))

    def _members(self) -> dict[str, object]:
        return {"transforms": alternatives(self.transforms)}
