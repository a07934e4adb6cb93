"""Functions that change a packed dataset, as new versions of it, and those that list and remove versions."""
from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from bale import _bale
from bale._docs import changing, reporting
from bale._keywords import check_keywords
from bale._requests import run
from bale._types import Options, Path, Report
from bale._writer.field_values import label_of, plain
from bale.errors import Error, make_error
from bale.options import AddOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


@reporting
def add(dataset: Path, source: Path | None, /, *, progress: bool | None = None, **options: Unpack[AddOptions]) -> Report:
    """Runs `bale add`: adds images to a packed dataset, as a new version of it. An interrupted run continues with resume=True.

    Parameters
    ----------
    source : path or None
        A path, which pack() takes; None with files_from.
    **options : keyword arguments
        The command's flags, with underscores (bale.options.AddOptions; `bale add --help`).

    Raises
    ------
    bale.Error
        If the source cannot be read or the dataset cannot be written; the code is `retryable` if another run publishes a
        version at the same time.
    ValueError
        If the dataset has a key already, or options are wrong or contradict each other (also a bale.Error).
    """
    check_keywords("add", options, AddOptions)
    return run("add", [dataset] if source is None else [dataset, source], dict(options), progress)


@changing
def remove(dataset: Path, keys: Iterable[str] = (), /, *, from_file: Path | None = None, where: str | None = None,
           message: str | None = None, dry_run: bool = False, purge: bool = False, progress: bool | None = None) -> Report:
    """Runs `bale remove`: removes samples from a packed dataset, as a new version of it, for all its readers at once.

    Parameters
    ----------
    keys : iterable of str, default ()
        Keys of samples, as `bale ls` prints them.
    where : str or None, default None
        A condition (docs/WHERE.md); samples for which it is true are removed.
    purge : bool, default False
        Then write shards that hold removed samples again and delete the old ones, as rewrite() with purge=True does; its report
        is `purged`. Fields and labels of other shards stay in layers.

    Raises
    ------
    bale.Error
        If the dataset does not have a key; the code is `retryable` if another run publishes a version at the same time.
    ValueError
        If no sample is named, or the condition is wrong (also a bale.Error).
    """
    options = {"from": from_file, "where": where, "message": message, "dry_run": dry_run, "purge": purge}
    return run("remove", [dataset, *([keys] if isinstance(keys, str) else keys)], options, progress)


@reporting
def rewrite(dataset: Path, /, *, purge: bool = False, small: int | str | None = None, all: bool = False, jobs: int | None = None,  # noqa: A002
            message: str | None = None, dry_run: bool = False, progress: bool | None = None) -> Report:
    """Runs `bale rewrite`: writes the shards again that remove(), set_labels() and set_field() changed, as a new version, for other readers.

    Parameters
    ----------
    purge : bool, default False
        Also delete every shard of any version that holds a removed sample, and the versions that need it.
    small : int, str or None, default None
        Join neighboring shards that have fewer bytes, up to this size ("64MiB"). None: none.
    all : bool, default False
        Write all shards again.
    jobs : int or None, default None
        Number of shards written at a time. None: two per core.

    Raises
    ------
    bale.Error
        If the dataset cannot be read or written; the code is `retryable` if another run publishes a version at the same time.
    """
    options = {"purge": purge, "small": small, "all": all, "jobs": jobs, "message": message, "dry_run": dry_run}
    return run("rewrite", [dataset], options, progress)


@changing
def set_labels(dataset: Path, labels: Path | Mapping[str, str | int], /, *, missing: Literal["keep", "error"] = "keep",
               message: str | None = None, dry_run: bool = False, progress: bool | None = None) -> Report:
    """Runs `bale set`: corrects labels of a packed dataset, as a new version of it, for all its readers at once.

    Raises
    ------
    bale.Error
        If the dataset does not have a key; the code is `retryable` if another run publishes a version at the same time.
    ValueError
        If the dataset does not have a class (also a bale.Error).
    TypeError
        For a label that is neither a number nor a name.
    """
    with labels_file(labels) as path:
        return run("set", [dataset, f"label={path}"], {"missing": missing, "message": message, "dry_run": dry_run}, progress)


@contextlib.contextmanager
def labels_file(labels: Path | Mapping[str, str | int]) -> Iterator[str]:
    """The path of a table of these labels."""
    if not isinstance(labels, Mapping):
        yield os.fsdecode(labels)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as table:
        numbers = {key: label if isinstance(label, str) else label_of(label, {}) for key, label in labels.items()}
        table.writelines(json.dumps({"key": _bale.printed_key(key), "label": label}) + "\n" for key, label in numbers.items())
        table.flush()
        with naming_arguments({table.name: "labels"}):
            yield table.name


@contextlib.contextmanager
def naming_arguments(names: Mapping[str, str]) -> Iterator[None]:
    """Errors of these files, which the caller does not know, name arguments instead."""
    try:
        yield
    except Error as error:
        if error.path is not None and error.path in names:
            error.args = (names[error.path] + re.sub("^: line [0-9]+", "", str(error).removeprefix(error.path)),)
            error.path = None
        raise


@changing
def set_field(dataset: Path, field: str, values: Path | Mapping[str, object] | object, /, *, keys: Path | Sequence[str] | None = None,
              missing: Literal["keep", "error"] = "keep", message: str | None = None, dry_run: bool = False,
              progress: bool | None = None) -> Report:
    """Runs `bale set`: gives samples of a packed dataset values of a field, as a new version of it, without writing shards.

    Parameters
    ----------
    field : str
        The name of the field, which the dataset may have or not: "clip.npy", "aesthetic.txt".
    values : path, array or mapping
        A table (.csv, .tsv, .jsonl) with the columns key and value, an array (.npy), or a folder of files KEY.EXT. Or an array
        of N rows, as numpy.asarray() takes it, with keys. Or values by key: str, numbers, or of a field NAME.json what JSON has;
        of NAME.npy arrays of one type and shape.
    keys : path, sequence of str or None, default None
        Which samples the rows of an array are: N keys, or a file with one per line as `bale ls` prints it.

    Raises
    ------
    bale.Error
        If the dataset does not have a key; the code is `retryable` if another run publishes a version at the same time.
    ValueError
        If values are not those of such a field (also a bale.Error).
    """
    with values_files(field, values, keys) as (path, keys_path):
        options: Options = {"keys": keys_path, "missing": missing, "message": message, "dry_run": dry_run}
        return run("set", [dataset, f"{field}={path}"], options, progress)


@contextlib.contextmanager
def values_files(field: str, values: Path | Mapping[str, object] | object,
                 keys: Path | Sequence[str] | None) -> Iterator[tuple[str, Path | None]]:
    """The paths of a file or folder with these values, and of one with the keys."""
    if isinstance(values, Mapping) and (keys is not None or not values):
        raise make_error("invalid_argument", "keys: only for an array; values by key have theirs" if values else "values: there are none")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "values.npy")
        names = {os.path.join(directory, name): name.partition(".")[0] for name in ("values.npy", "values.jsonl", "keys")}
        if isinstance(values, (str, bytes, os.PathLike)):
            path = os.fsdecode(values)
        elif isinstance(values, Mapping) and not field.endswith("npy"):
            path = os.path.join(directory, "values.jsonl")
            with open(path, "w", encoding="utf-8") as table:
                table.writelines(json.dumps({"key": _bale.printed_key(key), "value": value}, default=plain, allow_nan=False) + "\n"
                                 for key, value in values.items())
        else:
            import numpy as np
            if isinstance(values, Mapping):
                keys, values = list(values), np.stack([np.asarray(value) for value in values.values()])
            np.save(path, np.ascontiguousarray(values))
        if keys is not None and not isinstance(keys, (str, bytes, os.PathLike)):
            given, keys = keys, os.path.join(directory, "keys")
            with open(keys, "w", encoding="utf-8", newline="") as lines:
                lines.writelines(f"{_bale.printed_key(key)}\n" for key in given)
        with naming_arguments(names):
            yield path, keys


def versions(spec: Path) -> list[Report]:
    """The versions of a packed dataset, as `bale log` lists them.

    Parameters
    ----------
    spec : path
        A packed dataset, on a disk or a server, or one of its versions ("packed@3f2a").

    Returns
    -------
    list of dict
        From that version to the first: `version` (the id), `samples`, `shards`, `bytes`, `created_by`, `parent` and, if it has a
        parent, `change`. Those that were pruned or purged are not in it.

    Raises
    ------
    bale.Error
        If there is no such dataset.

    Examples
    --------
    >>> earlier = bale.Dataset(f"packed@{bale.versions('packed')[1]['version']}")
    """
    listed: list[Report] = run("versions", [spec], {}, progress=False)["versions"]
    return listed


@reporting
def prune(dataset: Path, keep: int | str | Sequence[int | str], /, *, force: bool = False, dry_run: bool = False) -> Report:
    """Removes versions of a packed dataset, and the files that only they need, as `bale log --prune` does.

    Parameters
    ----------
    keep : int, str or sequence of these
        How many of the newest versions stay, ids of versions that stay, or both. The current one always does.
    force : bool, default False
        Also versions that were replaced less than 14 days ago, which a training run may still read.

    Returns
    -------
    dict
        The report: the ids `kept` and `pruned`, how many `files` and `bytes` were removed, and `bucket_keeps_removed`: whether a
        versioned bucket still has them.

    Raises
    ------
    bale.Error
        If there is no such dataset or version; the code is `retryable` if another run writes to it.
    ValueError
        If a version is too young, or nothing to keep is named (also a bale.Error).
    """
    names = [keep] if isinstance(keep, (int, str)) else list(keep)
    return run("prune", [dataset], {"keep": [str(name) for name in names], "force": force, "dry_run": dry_run}, progress=False)
