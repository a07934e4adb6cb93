"""bale.edit(): several changes of a packed dataset, one version or none."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from bale import _bale
from bale._changes import labels_file, values_files
from bale._docs import changing, reporting
from bale._keywords import check_keywords
from bale._requests import run
from bale._types import Options, Path, Report
from bale.errors import make_error
from bale.options import AddOptions

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Edit:
    """Several changes of a packed dataset, which become one version of it when the with block ends, or none if it raises.

    What bale.edit() returns. The version has what the same changes one after the other would make. Each is checked when it is made: a
    sample that was removed is not there any more, and of two labels or values of a sample the later holds. A change that raises leaves
    the edit as it was. Nothing is written before the block ends. For one thread at a time. Samples that add() adds are there when the block
    has ended: all other changes are about those of the version before, and one that names a key of a new sample is refused.

    Attributes
    ----------
    report : dict or None
        What was done, when the block has ended: `version`, `parent`, `verb`, which names all changes, `samples` of all changes, `left` and
        `bytes`; if samples were added, also how many, `added`, and those that were `skipped`.
    """

    def __init__(self, dataset: Path, message: str | None, progress: bool | None) -> None:
        self._dataset, self._message, self._progress = dataset, message, progress
        self._edit: _bale.Edit | None = _bale.Edit(os.fsdecode(dataset))
        self.report: Report | None = None
        self._has_begun = False

    def add(self, source: Path | None, /, **options: Unpack[AddOptions]) -> Report:
        """Adds images, as bale.add() does; once per edit. They are listed now, and packed when the block ends.

        A block that was interrupted then continues if it runs again with resume=True here: finished shards are kept, and the other changes
        are those of the new run.

        Parameters
        ----------
        source : path or None
            A path, which bale.pack() takes; None with files_from.
        **options : keyword arguments
            As for bale.add(), without message and dry_run. skip_existing=True is not possible after set_labels() or set_field().

        Returns
        -------
        dict
            `samples` and `shards` that will be added, `existing`, `new_classes` and others; its `version` is None.

        Raises
        ------
        bale.Error
            If the source cannot be read, or an interrupted run has to be continued or dropped first (code `exists`).
        ValueError
            If the dataset has a key already, or options are wrong or contradict each other (also a bale.Error).
        """
        check_keywords("add", options, AddOptions)
        for name in ("message", "dry_run"):
            if options.get(name):
                raise make_error("invalid_argument", f"{name}: not of one change; bale.edit() takes the message")
        return self._run("add", [] if source is None else [source], dict(options))

    @changing
    def remove(self, keys: Iterable[str] = (), /, *, from_file: Path | None = None, where: str | None = None) -> Report:
        """Removes samples, as bale.remove() does.

        Parameters
        ----------
        keys : iterable of str, default ()
            Keys of samples, as `bale ls` prints them.
        where : str or None, default None
            A condition (docs/WHERE.md) on the version before the edit; not after set_labels() or set_field().

        Returns
        -------
        dict
            The report of bale.remove(); its `version` is None.

        Raises
        ------
        bale.Error
            If the dataset does not have a key.
        ValueError
            If no sample is named, or the condition is wrong (also a bale.Error).
        """
        return self._run("remove", [keys] if isinstance(keys, str) else list(keys), {"from": from_file, "where": where})

    @changing
    def set_labels(self, labels: Path | Mapping[str, str | int], /, *, missing: Literal["keep", "error"] = "keep") -> Report:
        """Corrects labels, as bale.set_labels() does.

        Returns
        -------
        dict
            The report of bale.set_labels(); its `version` is None.

        Raises
        ------
        bale.Error
            If the dataset does not have a key.
        ValueError
            If the dataset does not have a class (also a bale.Error).
        TypeError
            For a label that is neither a number nor a name.
        """
        with labels_file(labels) as path:
            return self._run("set", [f"label={path}"], {"missing": missing})

    @changing
    def set_field(self, field: str, values: Path | Mapping[str, object] | object, /, *, keys: Path | Sequence[str] | None = None,
                  missing: Literal["keep", "error"] = "keep") -> Report:
        """Gives samples values of a field, as bale.set_field() does.

        Parameters
        ----------
        field : str
            The name of the field: "clip.npy", "aesthetic.txt".
        values : path, array or mapping
            As for bale.set_field(). The file of an array and those of a folder are read when the block ends.
        keys : path, sequence of str or None, default None
            Which samples the rows of an array are.

        Returns
        -------
        dict
            The report of bale.set_field(); its `version` is None.

        Raises
        ------
        bale.Error
            If the dataset does not have a key.
        ValueError
            If values are not those of such a field (also a bale.Error).
        """
        with values_files(field, values, keys) as (path, keys_path):
            return self._run("set", [f"{field}={path}"], {"keys": keys_path, "missing": missing})

    def __enter__(self) -> Self:
        self._has_begun = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self.report = self._run("publish", [], {"message": self._message})
        finally:
            self._edit = None

    def _run(self, command: str, paths: list[Path], options: Options) -> Report:
        if not self._has_begun:
            raise make_error("invalid_argument", "outside of a with block nothing is published: write `with bale.edit(...) as e:`")
        if self._edit is None:
            raise make_error("invalid_argument", "the edit has ended: begin another one with bale.edit()")
        try:
            return run(command, [self._dataset, *paths], options, self._progress, self._edit)
        except KeyboardInterrupt:
            self._edit = None  # the change may still be at work on it
            raise


@reporting
def edit(dataset: Path, /, *, message: str | None = None, progress: bool | None = None) -> Edit:
    """Begins several changes of a packed dataset that become one version of it, or none.

    Returns
    -------
    Edit
        Use it in a with block, at whose end the version is published; if the block raises, nothing has happened. If another run
        published a version in the meantime, the end of the block raises a bale.Error whose code is `retryable`, and nothing has happened:
        run the whole block again.

    Raises
    ------
    bale.Error
        If there is no such dataset.

    Examples
    --------
    >>> with bale.edit("packed", message="week 48") as e:
    ...     e.remove(["cat/00012"])
    ...     e.set_labels({"cat/00013": "dog"})
    ...     e.set_field("aesthetic.txt", {"cat/00013": 6.5})
    ...     e.add("photos/week48")
    """
    return Edit(dataset, message, progress)
