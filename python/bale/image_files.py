"""The file of an image that a dataset opened with Pillow, if the image is what the file says: its bytes are packed instead of
its pixels."""
from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class OpenedFiles:
    """What Pillow's Image.open() was given by this thread inside of watched()."""

    def __init__(self) -> None:
        self._given: list[Any] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Forgets what was opened before."""
        self._given.clear()
        try:
            from PIL import Image
        except ImportError:
            yield
            return
        opened, thread = Image.open, threading.get_ident()

        def watched_open(fp: Any, *args: Any, **options: Any) -> Any:
            if threading.get_ident() == thread:
                self._given.append(_content_or_path(fp))
            return opened(fp, *args, **options)

        setattr(Image, "open", watched_open)
        try:
            yield
        finally:
            setattr(Image, "open", opened)

    def content_of(self, image: Any) -> bytes | None:
        """The bytes of the one file that was opened, if its pixels are those of `image`; else None."""
        pillow = sys.modules.get("PIL.Image")
        if pillow is None or not isinstance(image, pillow.Image) or len(self._given) != 1 or self._given[0] is None:
            return None
        import io

        try:
            content = self._given[0]
            if not isinstance(content, bytes):
                with open(content, "rb") as file:
                    content = file.read()
            with pillow.open(io.BytesIO(content)) as original:
                is_same = _is_same(image, original)
        except (OSError, SyntaxError, ValueError):  # as Pillow reports what it cannot decode
            return None
        return content if is_same else None


def _content_or_path(fp: Any) -> Any:
    """Bytes in memory, or the path of a file; None for anything else."""
    if isinstance(fp, (str, bytes, os.PathLike)):
        return os.fsdecode(fp)
    if hasattr(fp, "getvalue"):
        return bytes(fp.getvalue())
    name = getattr(fp, "name", None)
    return name if isinstance(name, str) and os.path.isfile(name) else None


def _is_same(image: Any, original: Any) -> bool:
    """Whether decoding the file gives the image: as it is, or converted to RGB, as loaders do it."""
    if image.size != original.size or image.mode not in (original.mode, "RGB"):
        return False
    if image.mode == original.mode == "P" and image.getpalette() != original.getpalette():
        return False
    return bool(original.convert(image.mode).tobytes() == image.tobytes())
