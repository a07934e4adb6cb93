"""The file of an image that a dataset opened with Pillow, if the image is what the file says: its bytes are packed instead of
its pixels."""
from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image as PilImage


class OpenedFiles:
    """What Pillow's Image.open() was given by this thread inside of watched()."""

    def __init__(self) -> None:
        self._given: list[bytes | str | None] = []

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
        """The bytes of the file that was opened whose pixels are those of `image`; None if there is none."""
        pillow = sys.modules.get("PIL.Image")
        if pillow is None or not isinstance(image, pillow.Image):
            return None
        return next((content for content in map(_read, self._given) if content and _is_of_file(image, content, pillow)), None)


def _read(given: bytes | str | None) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    try:
        with open(given, "rb") as file:
            return file.read()
    except OSError:
        return None


def _content_or_path(fp: Any) -> bytes | str | None:
    """Bytes in memory, or the path of a file; None for anything else."""
    if isinstance(fp, (str, bytes, os.PathLike)):
        return os.fsdecode(fp)
    if hasattr(fp, "getvalue"):
        return bytes(fp.getvalue())
    name = getattr(fp, "name", None)
    return name if isinstance(name, str) and os.path.isfile(name) else None


def _is_of_file(image: PilImage.Image, content: bytes, pillow: ModuleType) -> bool:
    """Whether decoding the file gives the image: as it is, or converted to RGB, as loaders do it."""
    try:
        with pillow.open(io.BytesIO(content)) as original:
            if image.size != original.size or image.mode not in (original.mode, "RGB"):
                return False
            if image.mode == "P" and image.getpalette() != original.getpalette():
                return False
            return bool(original.convert(image.mode).tobytes() == image.tobytes())
    except (OSError, SyntaxError, ValueError):  # as Pillow reports what it cannot decode
        return False
