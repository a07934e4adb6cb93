"""bale.Error and its subclasses."""
from __future__ import annotations

from typing import Callable


class Error(RuntimeError):
    """Any error that bale reports.

    Subclasses say what went wrong, and are Python's own types too if it has one: ArgumentError is a ValueError, PathNotFoundError a
    FileNotFoundError, FieldNotFoundError a KeyError, OutOfMemoryError a MemoryError. docs/TROUBLESHOOTING.md has the table of
    codes, classes and exit codes.

    Attributes
    ----------
    code : str
        invalid_argument, not_found, io, damaged, unsupported, exists, changed, removed, out_of_memory, retryable or interrupted.
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

    def __reduce__(self) -> tuple[Callable[..., Error], tuple[object, ...]]:
        return error_of, (self.code, str(self), self.path or "", self.key or "", self.offset, self.hint or "")


class ArgumentError(Error, ValueError):
    """An argument that is out of range or contradicts another: a ValueError with code "invalid_argument"."""


class KeywordError(ArgumentError, TypeError):
    """A keyword argument that a function does not have: an ArgumentError, and the TypeError that Python raises for it."""

    code = "invalid_argument"


class PathNotFoundError(Error, FileNotFoundError):
    """A path that does not exist: a FileNotFoundError with code "not_found"."""


class FieldNotFoundError(Error, KeyError):
    """A field that a sample does not have: a KeyError with code "not_found"."""


class DamagedError(Error):
    """Bytes that contradict their checksum, index or format: code "damaged"."""


class UnsupportedError(Error):
    """Valid data that bale does not read or write: code "unsupported"."""


class ChangedError(Error):
    """A file that changed while it was read, or after its index was made: code "changed"."""


class RemovedError(Error):
    """A version of a dataset that somebody took away on purpose, which the text names: code "removed"."""


class OutOfMemoryError(Error, MemoryError):
    """Memory could not be allocated; no sample or file is at fault: a MemoryError with code "out_of_memory"."""


class RetryableError(Error):
    """What may succeed if it is tried again, such as storage that does not answer: code "retryable"."""

# The table of formats/base/errors/error.cpp: code, exit code of the program, class. A test compares the two.
VERDICTS: tuple[tuple[str, int, type[Error]], ...] = (
    ("invalid_argument", 2, ArgumentError),
    ("not_found", 1, PathNotFoundError),
    ("io", 1, Error),
    ("damaged", 1, DamagedError),
    ("unsupported", 1, UnsupportedError),
    ("exists", 1, Error),
    ("changed", 1, ChangedError),
    ("removed", 1, RemovedError),
    ("retryable", 5, RetryableError),
    ("interrupted", 130, Error),
    ("out_of_memory", 1, OutOfMemoryError),
)
_CLASSES = {code: error for code, _, error in VERDICTS}
for _code, _, _class in VERDICTS:  # of one that is made of its text alone, as DataLoader does with those of its workers
    if _class is not Error:
        _class.code = _code
FieldNotFoundError.code = "not_found"


def exit_code_of(code: str) -> int:
    """The exit code of a program that an error of this code ends."""
    return next((exit_code for name, exit_code, _ in VERDICTS if name == code), 1)


def code_of_exit(exit_code: int) -> str:
    """The code that an exit code stands for; "io" if it stands for several."""
    return next((name for name, its_exit_code, _ in VERDICTS if its_exit_code == exit_code != 1), "io")


def make_error(code: str, text: str, path: str = "", key: str = "", offset: int | None = None, hint: str = "",
               system_error: int = 0) -> Error:
    """An error of the package, whose message ends with the hint, as those of the libraries do."""
    return error_of(code, f"{text}; {hint}" if hint else text, path, key, offset, hint, system_error)


def error_of(code: str, text: str, path: str = "", key: str = "", offset: int | None = None, hint: str = "",
             system_error: int = 0) -> Error:
    error = FieldNotFoundError(text) if code == "not_found" and key else _CLASSES.get(code, Error)(text)
    error.code = code
    error.path = path or None
    error.key = key or None
    error.offset = offset
    error.hint = hint or None
    if isinstance(error, PathNotFoundError):
        error.errno = system_error or 2  # ENOENT
        error.filename = path or None
    return error
