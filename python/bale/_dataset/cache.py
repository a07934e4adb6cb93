"""The cache of remote files."""
from __future__ import annotations

import os
from typing import Literal

from bale import _bale
from bale._types import Path
from bale._warnings import warn
from bale.options import Size

_DIRECTORY, _LIMIT = "BALE_CACHE_DIR", "BALE_CACHE_LIMIT"


def set_cache(directory: Path | Literal[False] | None = None, limit: Size | None = None) -> None:
    """Sets where remote files are cached, for this process and the processes that it starts.

    Call it before anything remote is opened. It sets the environment variables BALE_CACHE_DIR and BALE_CACHE_LIMIT.

    Parameters
    ----------
    directory : path, False or None, default None
        A directory on a local disk, which processes may share. False: no cache. None leaves the setting as it is, at
        first $XDG_CACHE_HOME/bale or ~/.cache/bale.
    limit : int, str or None, default None
        Bytes that the cache may take on the disk, as 1 << 30, "200GiB" or "200GB"; at least 64 MiB. None leaves the
        setting as it is, at first nine tenths of what is free or already in the cache.

    Raises
    ------
    ValueError
        If the limit is not a size or too small, or if a remote file was opened before.
    """
    _bale.require_cache_unused()
    before = {name: os.environ.get(name) for name in (_DIRECTORY, _LIMIT)}
    if directory is not None:
        os.environ[_DIRECTORY] = "none" if directory is False else os.path.abspath(os.fsdecode(directory))
    if limit is not None:
        os.environ[_LIMIT] = str(limit)
    try:
        _bale.check_cache_settings()
    except BaseException:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        raise


def use_cache(directory: Path | None, limit: Size | None) -> None:
    """set_cache() for one call, with the values of the program's flags. The cache may be set so already."""
    wanted: dict[str, object] = {_DIRECTORY: directory and ("none" if directory == "none" else os.path.abspath(os.fsdecode(directory))),
                              _LIMIT: limit and str(limit)}
    if any(value and value != os.environ.get(name) for name, value in wanted.items()):
        set_cache(False if directory == "none" else directory, limit)


def warn_of_cache() -> None:
    """Issues a UserWarning if the cache cannot be used or is full; once per process."""
    if line := _bale.take_cache_warning():
        warn(line)
