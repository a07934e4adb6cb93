"""bale.Error, and what an error of the C++ side becomes."""


class Error(RuntimeError):
    """Whatever bale finds wrong. `code` is one of invalid_argument, not_found, io, damaged, unsupported, exists,
    changed, retryable, interrupted; `path`, `key` and `offset` say where, `hint` what to do, as far as is known.

    Errors are also what Python calls them: ValueError (invalid_argument), FileNotFoundError (a path that is not
    there), KeyError (a field that a sample does not have)."""

    code = "io"
    path = None
    key = None
    offset = None
    hint = None

    def __str__(self):
        return self.args[0] if self.args else ""

    def __reduce__(self):
        return make_error, (self.code, str(self), self.path or "", self.key or "", self.offset, self.hint or "")


class ArgumentError(Error, ValueError):
    pass


class PathNotFoundError(Error, FileNotFoundError):
    pass


class FieldNotFoundError(Error, KeyError):
    pass


def make_error(code, text, path="", key="", offset=None, hint="", system_error=0):
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
    if isinstance(error, OSError):
        error.errno = system_error or 2  # ENOENT
        error.filename = path or None
    return error
