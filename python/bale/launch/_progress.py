"""How many parts are packed: a bar of tqdm in a terminal or a notebook, lines on standard error elsewhere."""
from __future__ import annotations

import sys
from types import TracebackType

from bale._progress_bar import Bar, bar_class, is_watched


class PartProgress:
    """Shows the parts that ended. `shown`: None shows them in a terminal or a notebook only."""

    def __init__(self, engine: str, total: int, shown: bool | None) -> None:
        self._engine, self._total, self._packed, self._failed = engine, total, 0, 0
        watched = is_watched()
        self._shown = watched if shown is None else shown
        make = bar_class() if self._shown and watched else None  # a log gets lines
        self._bar: Bar | None = make(desc=engine, total=total, unit="part") if make else None

    def __enter__(self) -> PartProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()

    def packed(self) -> None:
        self._packed += 1
        if self._bar is not None:
            self._bar.update()
        else:
            self._say(f"{self._packed} of {self._total} parts packed" + (f", {self._failed} failed" if self._failed else ""))

    def failed(self, error: Exception) -> None:
        self._failed += 1
        self._say(str(error))

    def _say(self, text: str) -> None:
        if not self._shown:
            return
        line = f"{self._engine}: {text}"
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)
