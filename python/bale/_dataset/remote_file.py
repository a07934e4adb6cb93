"""bale.open_file(): a local or remote file as a Python file object."""
from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from bale import _bale
from bale._dataset.cache import warn_of_cache
from bale._types import Path

if TYPE_CHECKING:
    from typing_extensions import Buffer


def open_file(name: Path) -> OpenedFile:
    """Opens a local or remote file for reading and seeking, as any library takes it: pyarrow, zipfile, Pillow.

    Parameters
    ----------
    name : path
        A path; or https://HOST/PATH, s3://BUCKET/KEY, hf://datasets/OWNER/NAME/PATH, which are read in ranges, through
        the cache on the local disk (bale.set_cache).

    Returns
    -------
    OpenedFile
        A binary file object.

    Raises
    ------
    bale.Error
        A FileNotFoundError if there is no such file; code "retryable" if a server cannot be reached in time, "changed"
        if the remote file is replaced while it is read.
    """
    return OpenedFile(name)


class OpenedFile(io.RawIOBase):
    """What open_file() returns: a binary file object without a buffer of its own.

    read(n) returns fewer bytes only at the end of the file.

    Parameters
    ----------
    name : path
        As for open_file().
    position : int, default 0
        Where reading begins, in bytes.

    Attributes
    ----------
    name : str
        The absolute path, or the remote name.

    Raises
    ------
    bale.Error
        As for open_file(); also of each method that reads.

    Notes
    -----
    Threads: one at a time, because of its position. The GIL is released while it reads.
    Processes: it can be pickled, and used after a fork; both open the file again, at the same position.
    """

    def __init__(self, name: Path, position: int = 0) -> None:
        super().__init__()
        text = os.fsdecode(name)
        self.name: str = text if _bale.is_remote_name(text) else os.path.abspath(text)
        self._file = _bale.File(self.name)
        self._position = position
        warn_of_cache()

    def size(self) -> int:
        """Returns the bytes of the file, when it was opened.

        Returns
        -------
        int
            In bytes.

        Raises
        ------
        ValueError
            If the file is closed, as for the other methods.
        """
        self._check()
        return self._file.size()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        self._check()
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._check()
        bases = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._file.size()}
        if whence not in bases:
            raise ValueError(f"whence: {whence} is not 0, 1 or 2")
        position = bases[whence] + offset
        if position < 0:
            raise ValueError(f"offset: {offset} is before the start of the file")
        self._position = position
        return position

    def read(self, size: int | None = -1, /) -> bytes:
        self._check()
        rest = max(0, self._file.size() - self._position)
        data = self._file.read(self._position, rest if size is None or size < 0 else min(size, rest))
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Buffer, /) -> int:
        place = memoryview(buffer).cast("B")
        data = self.read(len(place))
        place[:len(data)] = data
        return len(data)

    def _check(self) -> None:
        if self.closed:
            raise ValueError(f"{_bale.without_secrets(self.name)} is closed")

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        self._check()
        return type(self), (self.name, self._position)

    def __repr__(self) -> str:
        return f"bale.open_file({_bale.without_secrets(self.name)!r})"
