"""bale.Error and its subclasses."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class Error(RuntimeError):
    """Any error that bale reports.

    Errors also have Python's own types: ValueError (invalid_argument), FileNotFoundError (a missing path), KeyError (a
    field that a sample does not have).

    Attributes
    ----------
    code : str
        invalid_argument, not_found, io, damaged, unsupported, exists, changed, retryable or interrupted.
    path : str or None
        The file; None if not known.
    key : str or None
        Key of the sample; None if not known.
    offset : int or None
        Offset in the file in bytes; None if not known.
    hint : str or None
        What to do; None if there is no advice.

    Notes
    -----
    Processes: it can be pickled.
    """

    code: str = "io"
    path: str | None = None
    key: str | None = None
    offset: int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        return self.args[0] if self.args else ""

    def __reduce__(self) -> tuple[Callable[..., Error], tuple[Any, ...]]:
        return make_error, (self.code, str(self), self.path or "", self.key or "", self.offset, self.hint or "")


class ArgumentError(Error, ValueError):
    """An argument that is out of range or contradicts another: a ValueError with code "invalid_argument"."""


class PathNotFoundError(Error, FileNotFoundError):
    """A path that does not exist: a FileNotFoundError with code "not_found"."""


class FieldNotFoundError(Error, KeyError):
    """A field that a sample does not have: a KeyError with code "not_found"."""


def make_error(code: str, text: str, path: str = "", key: str = "", offset: int | None = None, hint: str = "",
               system_error: int = 0) -> Error:
    error: Error
    if code == "invalid_argument":
        error = ArgumentError(text)
    elif code == "not_found":
        error = FieldNotFoundError(text) if key else PathNotFoundError(text)
    else:
        error = Error(text)
    error.code = code
    error.path = path or None
    error.key = key or None
    error.offset = offset
    error.hint = hint or None
    if isinstance(error, PathNotFoundError):
        error.errno = system_error or 2  # ENOENT
        error.filename = path or None
    return error
