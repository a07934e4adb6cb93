"""A directory that is there completely, or not at all."""
from __future__ import annotations

import contextlib
import os

from bale.errors import make_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bale.program import Path


@contextlib.contextmanager
def staged_directory(destination: Path) -> Iterator[str]:
    """Gives a new directory beside `destination`. When the block ends, its files are made durable and it gets the name
    `destination`, which must not exist or be empty. After an exception it is removed. A kill leaves it: its name ends with
    .bale-partial, and nobody takes it for the dataset.

    Raises bale.Error (`exists`) before the block if the destination is not empty."""
    import shutil  # not above: importing bale need not wait for it
    import tempfile

    target = os.path.abspath(os.fsdecode(destination))
    if os.path.lexists(target) and not (os.path.isdir(target) and not os.listdir(target)):
        raise make_error("exists", f"{target}: not an empty directory", target, hint="remove it, or name another")
    parent = os.path.dirname(target)
    os.makedirs(parent, exist_ok=True)
    staged = tempfile.mkdtemp(prefix=f".{os.path.basename(target)}.", suffix=".bale-partial", dir=parent)
    try:
        yield staged
        for name in os.listdir(staged):
            _sync(os.path.join(staged, name))
        os.chmod(staged, 0o777 & ~_umask())
        _sync(staged)
        os.rename(staged, target)
        _sync(parent)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


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
