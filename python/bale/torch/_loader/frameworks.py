"""What Lightning and Accelerate do to loaders, as far as only the stack says it."""
from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from bale._warnings import warn


def warn_of_states_left(fingerprint: int) -> None:
    """Of a checkpoint, if one is of a place within an epoch of the Loader with this fingerprint. Lightning sets up the loaders once,
    and a configure_optimizers() that reads trainer.estimated_stepping_batches has it do so before it has their states."""
    loop = _fit_loop()
    if loop is not None and getattr(loop, "restarting", False) and any(
            isinstance(state, dict) and state.get("fingerprint") == fingerprint and state["position"]
            for state in loop._combined_loader_states_to_load):
        warn("Lightning did not load the place of this Loader from the checkpoint, so the epoch begins again: "
             "configure_optimizers() reads trainer.estimated_stepping_batches, for which Lightning sets up the "
             "loaders before it has their states. Compute the number of steps without it, as "
             "epochs * len(loader)")


def warn_of_batches_left(batches: int, of_epoch: int) -> None:
    """If Lightning will end a resumed epoch before the Loader's last `batches`: it counts them from those that the earlier run had."""
    loop = _fit_loop()
    try:
        counted = loop.max_batches - loop.epoch_loop.batch_progress.current.ready if loop.max_batches == of_epoch else batches
    except AttributeError:  # no loop, or another version of it
        return
    if counted < batches:
        warn(f"Lightning counts the batches of an epoch that it resumes, and ends this one after {counted} of the {batches} that are left, "
             "because the checkpoint is of fewer ranks or smaller batches. Resume it with as many ranks and the same batch size")


def _fit_loop() -> Any:
    """Lightning's, which asks for batches; None without."""
    frame = sys._getframe(1) if "lightning" in sys.modules or "pytorch_lightning" in sys.modules else None
    while frame is not None:
        loop = frame.f_locals.get("self") if frame.f_code.co_name == "advance" else None
        if hasattr(loop, "_combined_loader_states_to_load"):
            return loop
        frame = frame.f_back
    return None


def is_asked_to_overfit() -> bool:
    """Whether Lightning resolves overfit_batches. It replaces the sampler of a loader that shuffles by one in order, which it can do
    with DataLoaders only: for others it raises. Only the stack says that it asks."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(5):
        if frame is None or frame.f_code.co_name == "_resolve_overfit_batches":
            return frame is not None
        frame = frame.f_back
    return False


def refuse_to_skip_batches() -> None:
    """Of Accelerate's skip_first_batches(), which would read the Loader's dataset by a DataLoader. Raises RuntimeError if the stack says that it
    asks."""
    if sys._getframe(2).f_code.co_name == "skip_first_batches":
        raise RuntimeError("skip_first_batches() is for DataLoaders: save the Loader's state_dict() with the checkpoint and load it instead; "
                           "with transformers' Trainer give ignore_data_skip=True, too")
