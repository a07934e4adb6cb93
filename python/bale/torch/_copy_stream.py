"""Streams of any kind of device: copies during the work. And whether page-locked memory helps."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from bale.torch._tree import tensors

# Devices to which batches are copied when they are asked for, whatever streams they have: on Apple's, copies with
# non_blocking=True may read memory that was released (pytorch/pytorch#139550, #189690).
_IN_ORDER = ("cpu", "mps")
_NEEDED = ("Stream", "Event", "stream", "current_stream")
_unmarked: set[str] = set()  # types of devices whose tensors have no record_stream(), as far as is known


def streams_of(device: torch.device) -> Any:
    """The module with the streams of the device, such as torch.cuda; None if it has none, or not all that is needed."""
    module = getattr(torch, device.type, None)
    if device.type in _IN_ORDER or not all(hasattr(module, name) for name in _NEEDED):
        return None
    # Without the device, copying says so in PyTorch's words; making a stream fails in worse ones.
    is_available = getattr(module, "is_available", None)
    return module if is_available is None or is_available() else None


def can_pin() -> bool:
    """Whether there is a device to which page-locked memory is copied faster."""
    if torch.cuda.is_available():
        return True
    accelerator = getattr(torch, "accelerator", None)  # since PyTorch 2.6
    if accelerator is None or not accelerator.is_available():
        return False
    return accelerator.current_accelerator().type not in _IN_ORDER


class CopyStream:
    """A stream for copies, and the batches on the host that it still reads."""

    def __init__(self, device: torch.device, streams: Any) -> None:
        self._device, self._streams = device, streams
        self._stream = streams.Stream(device=device)
        self._read: deque[tuple[Any, object]] = deque()  # (event after the copy, batch of the host)

    def copy(self, batch: object, moved: Callable[..., object]) -> tuple[object, Any]:
        # What is on a device was made by the work's stream. Without record_stream() memory is used again when its tensor is
        # gone, so copies come after all work so far.
        if self._device.type in _unmarked or any(tensor.device.type != "cpu" for tensor in tensors(batch)):
            self._stream.wait_stream(self._streams.current_stream(self._device))
        with self._streams.stream(self._stream):
            event = self._streams.Event()
            try:
                copy = moved(batch, non_blocking=True)
            finally:  # copies are running also if it failed half-way
                event.record(self._stream)
                self._read.append((event, batch))
        return copy, event

    def received(self, copied: tuple[object, Any]) -> object:
        """The batch, for the current stream: work there waits for the copy, and the next use of the memory for that work."""
        copy, event = copied
        current = self._streams.current_stream(self._device)
        current.wait_event(event)
        if self._device.type not in _unmarked:
            try:
                for tensor in tensors(copy):
                    tensor.record_stream(current)
            except NotImplementedError:  # torch.xpu had streams before it had this (intel/torch-xpu-ops#1055)
                _unmarked.add(self._device.type)
        return copy

    def release(self) -> None:
        """Releases batches that were read. At most one is kept, so a loader needs one slot more."""
        while self._read and (len(self._read) > 1 or self._read[0][0].query()):
            self._release_oldest()

    def drain(self) -> None:
        while self._read:
            self._release_oldest()

    def _release_oldest(self) -> None:
        self._read[0][0].synchronize()
        self._read.popleft()
