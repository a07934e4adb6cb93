"""How the lists end that normalize, and the types of their arguments."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bale.transforms._operations.ending import Normalize, ToDtype
from bale.transforms._operations.operation import Operation

Size = int | Sequence[int]
Range = Sequence[float]


def ending(dtype: Any, mean: Range, std: Range) -> list[Operation]:
    return [ToDtype(dtype), Normalize(mean, std)]
