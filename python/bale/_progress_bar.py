"""Bars of tqdm for long calls, in a terminal or a notebook."""
from __future__ import annotations

import sys
from typing import Any, Protocol, TextIO


class Bar(Protocol):
    """What is used of a bar of tqdm."""

    n: int
    total: int

    def update(self, count: int = 1, /) -> object: ...
    def set_postfix_str(self, text: str, /, refresh: bool = True) -> None: ...
    def close(self) -> None: ...
    def write(self, line: str, /, file: TextIO) -> None: ...


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


def bar_of_samples(progress: bool | None, name: str, total: int) -> Bar | None:
    """A bar of tqdm for work of this process; None if none is wanted. `progress` is as for pack()."""
    kind = bar_class() if (is_watched() if progress is None else progress) else None
    return kind and kind(desc=name, unit="img", total=total)


class RunDisplay:
    """Shows a run of the libraries: a bar, and their lines above it."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._make = bar_class() or PlainBar
        self._bar: Bar | None = None
        self._counted = "samples"

    def __enter__(self) -> RunDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def note(self, line: str) -> None:
        self._make.write(line, file=sys.stderr)

    def progress(self, samples: int, total_samples: int, bytes: int, total_bytes: int, shards: int, total_shards: int,
                 skipped: int) -> None:
        if self._bar is None:
            if not total_samples and not total_bytes:
                return
            self._counted, unit = ("samples", "img") if total_samples else ("bytes", "B")
            self._bar = self._make(desc=self._command, mininterval=0, unit=unit, unit_scale=unit == "B")
        bar = self._bar
        assert bar is not None
        done, bar.total = (samples, total_samples) if self._counted == "samples" else (bytes, total_bytes)
        skips = f", {skipped} skipped" if skipped else ""
        bar.set_postfix_str(f"{shards}/{total_shards} shards{skips}", refresh=False)
        bar.update(done - bar.n)


class PlainBar:
    """What RunDisplay uses of tqdm, if that is not installed."""

    def __init__(self, desc: str, unit: str, total: int = 0, initial: int = 0, **_: object) -> None:
        self.n, self.total = initial, total
        self._desc, self._unit, self._postfix = desc, unit, ""
        self._redraws = sys.stderr is not None and sys.stderr.isatty()

    @staticmethod
    def write(line: str, file: TextIO | None) -> None:
        if file is not None:
            print("\r\033[K" * file.isatty() + line, file=file, flush=True)

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        self._postfix = f"  {text}"

    def update(self, count: int = 1) -> None:
        self.n += count
        if self._redraws:
            filled = 30 * self.n // self.total if self.total else 0
            bar = "#" * filled + "-" * (30 - filled)
            print(f"\r\033[K{self._desc} [{bar}]  {self.n:,}/{self.total:,} {self._unit}{self._postfix}", end="",
                  file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._redraws:
            print(file=sys.stderr)
