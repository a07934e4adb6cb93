"""What the program `bale` does, as functions."""
from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from bale import _bale
from bale._dataset.cache import use_cache, warn_of_cache
from bale._docs import reporting
from bale._keywords import check_keywords, option_texts
from bale._progress_bar import RunDisplay, bar_class, is_watched
from bale._types import Options, Path, Report
from bale._warnings import report_of, warn_of_ignored
from bale._writer.pack_samples import pack_samples, pack_splits, tables_of
from bale.errors import make_error
from bale.options import AddOptions, ConvertOptions, PackOptions, PlanOptions, VerifyOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

atexit.register(_bale.stop_requests)


def pack(source: Path | Iterable[object] | None, /, destination: Path, *, progress: bool | None = None,
         **options: Unpack[PackOptions]) -> Report:
    """Packs files or samples.

    An interrupted run continues with resume=True; samples have to come in the same order then.

    Parameters
    ----------
    source : path, iterable or None
        A path, which `bale pack` packs; None with files_from. Or samples, which a bale.Writer writes: a generator of
        (image, label), of (path, label), of (key, fields), of (key, fields, label) or of dicts of fields; a torch Dataset;
        a Hugging Face Dataset or DatasetDict, or the name of its Parquet or Arrow files, a list of them or their directory
        (bale.parquet.samples has more options); a pair of arrays (images, labels). docs/WRITING.md has what becomes of each.
    destination : path
        A directory, created if it does not exist, or s3://BUCKET/PREFIX (docs/REMOTE.md). Of samples: a directory.
    progress : bool or None, default None
        Show a tqdm bar on sys.stderr or in the notebook, or the program's own bar if tqdm is not installed. None: only
        in a terminal or a notebook.
    **options : keyword arguments
        The command's flags, with underscores (bale.options.PackOptions; `bale pack --help`): shard_size="1GiB",
        split="train=0.9,val=0.1", stratify=True, include=["*.jpg", "*.png"]. With samples: the options of bale.Writer,
        image_field, the field of images that are pixels ("png"), and class_map, a file as of `bale pack --class-map` instead
        of classes. Both give classes of the source that have names their numbers by these names.

    Returns
    -------
    dict
        The report: `samples`, `shards`, `bytes` and others. Samples that on_error="skip" left out are in its `skipped`.

    Raises
    ------
    bale.Error
        If the source cannot be read or the destination cannot be written. The code says why: `exists`, `damaged`, `io`,
        ...
    ValueError
        If options are wrong or contradict each other (also a bale.Error).
    TypeError
        If there is no such option (also a ValueError and a bale.Error).
    KeyboardInterrupt
        If the user interrupted it.

    Warns
    -----
    UserWarning
        If something was not taken or used: files that were ignored, samples that on_error="skip" left out, patterns that match
        nothing, options without effect; or if something about the source is odd, such as classes named train and val. Not if
        progress is shown, which has the same lines.

    Examples
    --------
    >>> report = bale.pack("photos", "packed", shard_size="256MiB")
    >>> report = bale.pack(((image, label) for image, label in source), "packed", classes=["cat", "dog"])
    """
    if source is not None:
        is_shown = is_watched() if progress is None else progress
        bar = bar_class() if is_shown and not options.get("quiet") else None
        tables = tables_of(source, dict(options))
        if tables:
            return pack_splits(tables, destination, bar, dict(options))
        if not isinstance(source, (str, bytes, os.PathLike)):
            return pack_samples(source, destination, bar, dict(options))
    check_keywords("pack", options, PackOptions)
    return run("pack", [destination] if source is None else [source, destination], dict(options), progress)


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


@reporting
def remove(dataset: Path, keys: Iterable[str] = (), /, *, from_file: Path | None = None, where: str | None = None,
           message: str | None = None, dry_run: bool = False, purge: bool = False, progress: bool | None = None) -> Report:
    """Runs `bale remove`: removes samples from a packed dataset, as a new version of it, for all its readers at once.

    Parameters
    ----------
    keys : iterable of str, default ()
        Keys of samples, as `bale ls` prints them.
    from_file : path or None, default None
        A file with one key per line, or with lines of `bale log --removed`.
    where : str or None, default None
        A condition (docs/WHERE.md); samples for which it is true are removed.
    purge : bool, default False
        Then run rewrite() with purge=True; its report is `purged`.

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


def _printed(key: str) -> str:
    """On one line, as `bale ls` prints it."""
    escaped = re.sub(r"[\\\x00-\x1f\x7f]", lambda found: "\\\\" if found[0] == "\\" else f"\\x{ord(found[0]):02x}", key)
    return escaped.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@reporting
def set_labels(dataset: Path, labels: Path | Mapping[str, str | int], /, *, missing: Literal["keep", "error"] = "keep",
               message: str | None = None, dry_run: bool = False, progress: bool | None = None) -> Report:
    """Runs `bale set`: corrects labels of a packed dataset, as a new version of it, for all its readers at once.

    Parameters
    ----------
    labels : path or mapping
        A CSV or TSV file with the columns key and label. Or labels by key. Labels are names or numbers of classes.
    missing : {'keep', 'error'}, default 'keep'
        Samples that are not in labels keep theirs, or are an error.

    Raises
    ------
    bale.Error
        If the dataset does not have a key; the code is `retryable` if another run publishes a version at the same time.
    ValueError
        If the dataset does not have a class (also a bale.Error).
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
        table.writelines(json.dumps({"key": _printed(key), "label": str(label)}) + "\n" for key, label in labels.items())
        table.flush()
        yield table.name


@reporting
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
    missing : {'keep', 'error'}, default 'keep'
        Samples that get no value keep what they have, or are an error.

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
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "values.npy")
        if isinstance(values, (str, bytes, os.PathLike)):
            path = os.fsdecode(values)
        elif isinstance(values, Mapping) and not field.endswith("npy"):
            path = os.path.join(directory, "values.jsonl")
            with open(path, "w", encoding="utf-8") as table:
                table.writelines(json.dumps({"key": _printed(key), "value": value}) + "\n" for key, value in values.items())
        else:
            import numpy as np
            if isinstance(values, Mapping):
                keys, values = list(values), np.stack([np.asarray(value) for value in values.values()])
            np.save(path, np.ascontiguousarray(values))
        if keys is not None and not isinstance(keys, (str, bytes, os.PathLike)):
            names, keys = keys, os.path.join(directory, "keys")
            with open(keys, "w", encoding="utf-8", newline="") as lines:
                lines.writelines(f"{_printed(key)}\n" for key in names)
        yield path, keys


@reporting
def convert(source: Path, /, destination: Path, *, progress: bool | None = None,
            **options: Unpack[ConvertOptions]) -> Report:
    """Runs `bale convert`: packs a packed dataset again, in another format or with other shards.

    Parameters
    ----------
    source : path
        A packed dataset, as `bale convert` takes it.
    destination : path
        A directory, created if it does not exist.
    **options : keyword arguments
        The command's flags, with underscores (bale.options.ConvertOptions; `bale convert --help`).

    Raises
    ------
    bale.Error
        If the source cannot be read or the destination cannot be written.
    ValueError
        If options are wrong or contradict each other (also a bale.Error).
    """
    check_keywords("convert", options, ConvertOptions)
    return run("convert", [source, destination], dict(options), progress)


def plan(source: Path, /, destination: Path, output: Path, **options: Unpack[PlanOptions]) -> Report:
    """Writes what pack(source, destination, **options) would do to a file, so that pack_part() can do it in parts, on many machines.

    Parameters
    ----------
    source : path
        As for pack().
    destination : path
        As for pack().
    output : path
        A new file for the plan.
    **options : keyword arguments
        The flags of `bale plan`, with underscores (bale.options.PlanOptions).

    Returns
    -------
    dict
        The report, with `samples`, `shards` and `plan`, the plan's digest.

    Raises
    ------
    bale.Error
        If the source cannot be read or the plan cannot be written.
    ValueError
        If options are wrong or contradict each other (also a bale.Error).

    Notes
    -----
    docs/SCALE.md has the whole procedure.
    """
    check_keywords("plan", options, PlanOptions)
    return run("plan", [source, destination, output], dict(options), progress=False)


@reporting
def pack_part(plan: Path, part: int, parts: int, *, jobs: int | None = None, progress: bool | None = None,
              staging_dir: Path | None = None) -> Report:
    """Packs one part of a plan.

    Parts may run in any order, several times and at the same time, in any process on any machine that shares source,
    destination and plan. Shards that are finished are compared and not written again.

    Parameters
    ----------
    plan : path
        The file that plan() wrote.
    part : int
        Number of the part, from 0.
    parts : int
        Number of parts.
    jobs : int or None, default None
        Number of shards written at a time. None: one per core.
    staging_dir : path or None, default None
        If the destination is an s3:// name: the local directory in which shards are built before they are uploaded. None:
        TMPDIR or /tmp.

    Raises
    ------
    bale.Error
        If a file of the source changed since the plan was made; the message names it. The code is `retryable` if
        another attempt wrote other bytes at the same time.
    """
    options = {"part": f"{part}/{parts}", "jobs": jobs, "staging_dir": staging_dir}
    return run("pack_part", [plan], options, progress)


@reporting
def merge(source: Path | Sequence[Path], destination: Path | None = None, *, parts: int | None = None, name: str | None = None,
          link: bool = False, allow_removed: bool = False, resume: bool = False, overwrite: bool = False,
          progress: bool | None = None) -> Report:
    """Makes one dataset of the parts of a plan, of the parts of Writers, or of packed datasets.

    A plan or parts may be merged again: what is published stays.

    Parameters
    ----------
    source : path, or sequence of paths
        A plan, whose parts pack_part() packed; or a directory into which bale.Writer(part=..., parts=...) wrote; or,
        with a destination, packed datasets, whose shards are taken whole (docs/SCALE.md).
    destination : path or None, default None
        Of packed datasets: a directory, created if it does not exist.
    parts : int or None, default None
        Number of parts. None: as they were written.
    name : str or None, default None
        Of packed datasets: the dataset's name, as for pack().
    link : bool, default False
        Give the shards of packed datasets a second name instead of copying them, if the file system can.
    allow_removed : bool, default False
        Of packed datasets: take samples of one that were removed from another.
    resume : bool, default False
        Of packed datasets: continue an interrupted run.
    overwrite : bool, default False
        Of packed datasets: replace the dataset in the destination; it stays until the new one is complete.

    Raises
    ------
    bale.Error
        If parts are missing; the code is `retryable`, and the message names them. And those of reading and writing.
    """
    sources = [source] if isinstance(source, (str, bytes, os.PathLike)) else list(source)
    given = {"name": name, "link": link, "allow_removed": allow_removed, "resume": resume, "overwrite": overwrite}
    if parts is not None and destination is not None:
        raise make_error("invalid_argument", "parts: only for a plan or the parts of Writers, which take no destination")
    for option, value in given.items():
        if value and destination is None:
            raise make_error("invalid_argument", f"{option}: only for packed datasets, which need a destination")
    options = {"parts": parts, "output": destination, **given}
    return run("merge", sources, options, progress)


@reporting
def verify(spec: Path, *, progress: bool | None = None, **options: Unpack[VerifyOptions]) -> Report:
    """Runs `bale verify`: reads a dataset and compares all checksums.

    Parameters
    ----------
    spec : path
        A packed dataset, or shards of any format.
    **options : keyword arguments
        The command's flags, with underscores (bale.options.VerifyOptions; `bale verify --help`).

    Returns
    -------
    dict
        The report. Its `findings` list what is damaged or not supported, as their `code` says, and do not raise.

    Raises
    ------
    bale.Error
        If nothing could be verified.
    """
    check_keywords("verify", options, VerifyOptions)
    return run("verify", [spec], dict(options), progress)


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
        The report: the ids `kept` and `pruned`, and how many `files` and `bytes` were removed.

    Raises
    ------
    bale.Error
        If there is no such dataset or version; the code is `retryable` if another run writes to it.
    ValueError
        If a version is too young, or nothing to keep is named (also a bale.Error).
    """
    names = [keep] if isinstance(keep, (int, str)) else list(keep)
    return run("prune", [dataset], {"keep": [str(name) for name in names], "force": force, "dry_run": dry_run}, progress=False)


def inspect(spec: Path) -> Report:
    """Runs `bale inspect`: counts, classes, fields and shards of a dataset.

    Parameters
    ----------
    spec : path
        A packed dataset, or shards of any format.

    Returns
    -------
    dict
        The report.

    Raises
    ------
    bale.Error
        If the dataset cannot be opened.
    """
    return run("inspect", [spec], {}, progress=False)


def run(command: str, paths: list[Path], options: Options, progress: bool | None, edit: _bale.Edit | None = None) -> Report:
    """The report of a request of the libraries. An edit gets the change, if there is one."""
    use_cache(options.pop("cache_dir", None), options.pop("cache_limit", None))
    quiet = options.pop("quiet", False)
    is_shown = not quiet and (is_watched() if progress is None else progress)
    with RunDisplay(command) if is_shown else contextlib.nullcontext() as display:
        report = report_of(_bale.run_request(command, list(map(os.fsdecode, paths)), option_texts(options), display, edit))
    warn_of_cache()
    if not is_shown:  # else the same lines were shown
        warn_of_ignored(report)
    return report
