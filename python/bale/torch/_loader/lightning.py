"""What Lightning does to loaders, as far as only the stack says it."""
from __future__ import annotations

import sys
from types import FrameType

from bale._warnings import warn


def warn_of_states_left(fingerprint: int) -> None:
    """Of a checkpoint, if one is of a place within an epoch of the Loader with this fingerprint."""
    if any(isinstance(state, dict) and state.get("fingerprint") == fingerprint and state["position"]
           for state in _states_left_behind()):
        warn("Lightning did not load the place of this Loader from the checkpoint, so the epoch begins again: "
             "configure_optimizers() reads trainer.estimated_stepping_batches, for which Lightning sets up the "
             "loaders before it has their states. Compute the number of steps without it, as "
             "epochs * len(loader)")


def _states_left_behind() -> list[object]:
    """States of a checkpoint that Lightning's fit loop, which asks for batches, has not loaded and will not load: it sets up
    the loaders once, and a configure_optimizers() that reads trainer.estimated_stepping_batches has it do so too early."""
    frame = sys._getframe(1) if "lightning" in sys.modules or "pytorch_lightning" in sys.modules else None
    while frame is not None:
        loop = frame.f_locals.get("self") if frame.f_code.co_name == "advance" else None
        states = getattr(loop, "_combined_loader_states_to_load", None)
        if states is not None:
            return list(states) if getattr(loop, "restarting", False) else []
        frame = frame.f_back
    return []


def is_asked_to_overfit() -> bool:
    """Whether Lightning resolves overfit_batches. It replaces the sampler of a loader that shuffles by one in order, which it can do
    with DataLoaders only: for others it raises. Only the stack says that it asks."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(5):
        if frame is None or frame.f_code.co_name == "_resolve_overfit_batches":
            return frame is not None
        frame = frame.f_back
    return False
