"""Reports of the libraries, and warnings about what they say was not taken or used."""
from __future__ import annotations

import json
import os
import sys
import warnings
from types import FrameType

from bale._types import Json, Report

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issues a warning at the first caller outside of this package."""
    warnings.warn(text, category, stacklevel=_level_of_caller())


def report_of(text: str) -> Report:
    """A report of the libraries, which is JSON."""
    report: Report = json.loads(text)
    return report


def warn_of_ignored(report: Report) -> None:
    """One UserWarning with what a report has that no option asked for: ignored entries, remarks, patterns and options without
    effect, skipped samples."""
    if said := _lines(report):
        warn("; ".join(said))


def _lines(report: Report) -> list[str]:
    notices: Json = report.get("notices", {})
    entries, asked = notices.get("entries", []), notices.get("asked", [])
    lines = []
    for why, count in notices.get("reasons", {}).items():
        if why not in asked:
            example = next((f" (such as {entry['name']})" for entry in entries if entry["why"] == why), "")
            lines.append(f"ignored {count}{example}: {why}")
    lines += [f"{remark['path']}: {remark['what']}" if remark["path"] else remark["what"] for remark in notices.get("warnings", [])]
    lines += report.get("warnings", [])
    skipped = report.get("skipped", [])
    if isinstance(skipped, list) and skipped:
        counts = [sample.get("samples", 1) for sample in skipped]
        count, least = sum(1 if one is None else one for one in counts), "at least " if None in counts else ""
        lines.append(f"{least}{count} sample{'s' if count != 1 else ''} skipped, the first: {_of_first(skipped[0])}")
    return lines


def _of_first(skipped: dict[str, object]) -> str:
    origin, why = str(skipped["origin"]), str(skipped["why"])
    return why if why.startswith(origin) else f"{origin}: {why}"


def _level_of_caller() -> int:
    level = 1  # of warn()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_HERE):
        frame, level = frame.f_back, level + 1
    return level
