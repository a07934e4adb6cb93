"""Bars of tqdm for long calls, in a terminal or a notebook."""
from __future__ import annotations

import sys
from typing import Any


def is_watched() -> bool:
    """Whether somebody sees a bar: in a terminal, or in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    in_notebook = "IPKernelApp" in getattr(shell, "config", ())
    return in_notebook or (sys.stderr is not None and sys.stderr.isatty())


def bar_class() -> Any:
    """The class of progress bars, the notebook's one in a notebook; None if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    return tqdm


def bar_of_samples(progress: bool | None, name: str, total: int) -> Any:
    """A bar of tqdm for work of this process; None if none is wanted. `progress` is as for pack()."""
    kind = bar_class() if (is_watched() if progress is None else progress) else None
    return kind and kind(desc=name, unit="img", total=total)
