"""A directory that is there completely, or not at all."""
from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator

from bale._types import Path
from bale.errors import make_error

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


@contextlib.contextmanager
def staged_directory(destination: Path, replaces: Callable[[str], bool] | None = None) -> Iterator[str]:
    """Gives a new directory next to `destination`. When the block ends, its files are made durable and it gets the name
    `destination`, which must not exist or be empty; or, with `replaces`, have nothing but files for whose names that is true: they
    stay until then, and are removed. After an exception the new directory is removed. A kill leaves it, or the old one when that is
    replaced already: its name ends with .bale-partial, and nobody takes it for the dataset.

    Raises bale.Error (`exists`) before the block, and again at its end, if the destination has other files."""
    target = os.path.abspath(os.fsdecode(destination))
    _require_replaceable(target, replaces)
    parent = os.path.dirname(target)
    os.makedirs(parent, exist_ok=True)
    staged = tempfile.mkdtemp(prefix=f".{os.path.basename(target)}.", suffix=".bale-partial", dir=parent)
    published = False
    try:
        yield staged
        for name in os.listdir(staged):
            _sync(os.path.join(staged, name))
        os.chmod(staged, 0o777 & ~_umask())
        _sync(staged)
        old = _require_replaceable(target, replaces)
        if old:
            _exchange(staged, target)
        else:
            os.rename(staged, target)
        published = True
        _sync(parent)
    except BaseException:
        if not published:
            shutil.rmtree(staged, ignore_errors=True)
        raise
    if old:  # `staged` is the old directory now; what came into it in the meantime stays
        for name in old:
            os.unlink(os.path.join(staged, name))
        os.rmdir(staged)


def _require_replaceable(target: str, replaces: Callable[[str], bool] | None) -> list[str]:
    """The names of the files to replace. Raises bale.Error (`exists`) if there is anything else."""
    if not os.path.lexists(target):
        return []
    if os.path.islink(target) or not os.path.isdir(target):
        raise make_error("exists", f"{target}: not a directory", target, hint="remove it, or name another")
    names = os.listdir(target)
    if names and replaces is None:
        raise make_error("exists", f"{target}: not an empty directory", target, hint="`overwrite` replaces it; or name another")
    for name in names:
        path = os.path.join(target, name)
        if replaces is not None and (not replaces(name) or os.path.islink(path) or not os.path.isfile(path)):
            raise make_error("exists", f"{target}: has {name}, which is not of what is replaced", target, hint="move it away, or name another directory")
    return names


def _exchange(new: str, old: str) -> None:
    """Gives each the name of the other: in one step if the system can, else in three."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        renameat2 = None
    if renameat2 is not None and renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
        return
    aside = f"{new[:-len('.bale-partial')]}.old.bale-partial"
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except BaseException:
        os.rename(aside, old)
        raise
    os.rename(aside, new)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    """Of this process. Only setting it says it; Linux shows it in a file."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022
