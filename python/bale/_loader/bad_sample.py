"""bale.BadSample: what a Loader says of a sample that it could not deliver."""
from __future__ import annotations

from typing import NamedTuple


class BadSample(NamedTuple):
    """A sample that could not be read or decoded, and what was done.

    Attributes
    ----------
    sample : int
        Position in the dataset.
    key : str
        Its key.
    shard : str
        Path of the shard.
    reason : str
        One line.
    epoch : int
        The epoch in which it was met first.
    action : {'failed', 'skipped', 'substituted'}
        What the Loader did.
    quarantined : bool
        Whether the sample crashed or stalled workers repeatedly, and is not tried again.
    """

    sample: int
    key: str
    shard: str
    reason: str
    epoch: int
    action: str  # "failed", "skipped" or "substituted"
    quarantined: bool
