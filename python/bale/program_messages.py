"""What the program `bale` writes to standard error while it runs."""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ProgramMessages:
    """Handles the lines that the program writes to standard error. If `bar`, the class of progress bars, is not None, it
    shows progress in a bar and prints notes above it."""

    def __init__(self, command: str, bar: Any) -> None:
        self._command = command
        self._make = bar
        self._bar: Any = None
        self._counted = ""
        self.error = ""

    def __enter__(self) -> ProgramMessages:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def take(self, line: str) -> None:
        if line.startswith('{"progress"'):
            self._show(line)
        elif line.startswith("bale: ") and not line.startswith("bale: warning: "):
            self.error = line[len("bale: "):]
        elif self._make is not None:
            self._make.write(line, file=sys.stderr)

    def _show(self, line: str) -> None:
        import json

        counts = json.loads(line)["progress"]
        if self._bar is None:
            if counts["total_samples"]:
                self._counted, unit = "samples", "img"
            elif counts["total_bytes"]:  # a pack without a count of its samples
                self._counted, unit = "bytes", "B"
            else:
                return
            self._bar = self._make(desc=self._command, mininterval=0, unit=unit, unit_scale=unit == "B")
        self._bar.total = counts[f"total_{self._counted}"]
        shards = f"{counts['shards']}/{counts['total_shards']} shards"
        skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
        self._bar.set_postfix_str(shards + skipped, refresh=False)
        self._bar.update(counts[self._counted] - self._bar.n)
