"""What the program `bale` does, as functions."""
from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bale import _bale
from bale._dataset.cache import use_cache, warn_of_cache
from bale._docs import reporting
from bale._keywords import check_keywords, option_texts
from bale._progress_bar import RunDisplay, bar_class, is_watched
from bale._types import Options, Path, Report
from bale._warnings import report_of, warn_of_ignored
from bale._writer.pack_samples import pack_samples, pack_splits, tables_of
from bale.errors import make_error
from bale.options import ConvertOptions, PackOptions, PlanOptions, VerifyOptions

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
