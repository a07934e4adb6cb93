"""What opening a dataset warns of."""
from __future__ import annotations

from collections.abc import Sequence

from bale._dataset.cache import warn_of_cache
from bale._dataset.spec import shown
from bale._warnings import warn


def lines_of_notices(notices: Sequence[tuple[str, int, str]]) -> list[str]:
    return [f"ignored {count} (such as {text}): {why}" if why else text for why, count, text in notices]


def warn_of_notices(spec: str, notices: Sequence[tuple[str, int, str]]) -> None:
    """Issues one UserWarning with all notices, and one if the cache of remote files cannot be used."""
    warn_of_cache()
    if notices:
        warn(shown(f"{spec}: {'; '.join(lines_of_notices(notices))}"))
