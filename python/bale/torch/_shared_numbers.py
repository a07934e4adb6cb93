"""Integers in memory that a process and the DataLoader's workers that it starts share, by fork and by spawn."""
from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator, MutableSequence
from multiprocessing import reduction
from multiprocessing.context import get_spawning_popen
from typing import Any, cast

from bale._loader.passes import SIZE

_BYTES = SIZE * 8


class SharedNumbers:
    """Needs neither /dev/shm nor tensors. A copy by pickle has its own, with the same values, unless a process is started
    with it."""

    def __init__(self, fd: int | None = None) -> None:
        self._fd = _new_file() if fd is None else fd
        weakref.finalize(self, os.close, self._fd)
        self._memory = memoryview(mmap.mmap(self._fd, _BYTES))
        self.values = cast("MutableSequence[int]", self._memory.cast("q"))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        fcntl.lockf(self._fd, fcntl.LOCK_EX)  # of a process, also of one that was forked
        try:
            yield
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN)

    def __reduce__(self) -> tuple[object, ...]:
        if get_spawning_popen() is None:
            return _copied, (bytes(self._memory),)
        return _attached, (reduction.DupFd(self._fd),)


def _new_file() -> int:
    try:
        fd = os.memfd_create("bale-epochs")
    except (AttributeError, OSError):  # refused
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.truncate(fd, _BYTES)
    return fd


def _copied(content: bytes) -> SharedNumbers:
    copy = SharedNumbers()
    copy._memory[:] = content
    return copy


def _attached(given: Any) -> SharedNumbers:
    return SharedNumbers(given.detach())
