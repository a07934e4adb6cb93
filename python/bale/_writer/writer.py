"""bale.Writer: packs samples that a program hands over one by one."""
from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from bale import _bale
from bale._keywords import option_texts
from bale._types import Json, Path, Report
from bale._warnings import report_of, warn, warn_of_ignored
from bale._writer.field_values import FieldValues, label_of, labels_of
from bale._writer.labels import class_names
from bale.errors import DamagedError, RetryableError, make_error
from bale.options import Size

if TYPE_CHECKING:
    from typing_extensions import Self

_live: weakref.WeakSet[Writer] = weakref.WeakSet()


@atexit.register
def _leave_all() -> None:
    for writer in list(_live):
        writer._leave()


class Writer:
    """Packs samples that a program hands over one by one, with the options and promises of bale.pack().

    A shard is written, checked and published when it is full. The manifest is written when the block ends. Leaving the
    block by an exception writes no manifest; the samples are kept, and a note on the exception says how to continue.

    Parameters
    ----------
    destination : path
        A directory, created if it does not exist. One that is not empty is refused without resume or overwrite.
    classes : sequence of str or None, default None
        Names of class 0, 1, ...; "" for a number that no class has. A tuple of synonyms counts as its first name.
    format : str or None, default None
        Format of the shards, such as "tar" or "lmdb"; `bale formats` lists them. None: "tar".
    layout : str or None, default None
        Layout within the format. None: its first.
    name : str or None, default None
        Name of the dataset and prefix of its shards.
    shard_size : int, str or None, default None
        Bytes of fields per shard, as 1 << 28, "256MiB" or "256MB".
    shard_samples : int or None, default None
        Samples per shard, instead of shard_size.
    resume : bool, or dict, default False
        True, or what state() returned: continue an interrupted Writer of the same options. `count` says how many
        samples are there; add those after them. With a state, raises ValueError if fewer are there than it says.
    overwrite : bool, default False
        Replace the dataset; it stays until the new one is complete.
    compress : str or None, default None
        Compress every field that is not an image: "zstd" or "zstd:LEVEL", 1 to 19.
    size : int or None, default None
        Side in pixels of decoded images, for layouts that store pixels.
    level : int or None, default None
        Compression level, for layouts that compress the whole shard or pixels.
    label_base : int or None, default None
        Number of the first class in the files, for layouts whose readers may count from 1. None: 0.
    decode : bool, default False
        Store images as pixels, in the format's layout that holds them.
    jpeg_code : {'huffman', 'planes'}, default 'huffman'
        How JPEGs are stored: as the files they are, or as planes, with which loaders are about 1.5 times as fast, and
        which readers of bale give back to the byte.
    seek_points : bool, default False
        Write seek points next to each shard, so that loaders can start decoding a JPEG at any row.
    sidecars : str, sequence of str or None, default None
        What other readers look for next to the shards, by their names: "wds2idx", "energon", "wids", "timm", "tfrecord".
    check_images : bool, default False
        Decode every image, and name those that cannot be: they are written, and the index says so; with on_error="skip"
        they are left out.
    max_pixels : int or None, default None
        Refuse to decode images of more pixels. None: 178,956,970.
    resize_short : int or None, default None
        Make images smaller whose shorter side has more pixels, as torchvision's Resize does on Pillow's images.
    resize_max : int or None, default None
        The same by the longer side.
    quality : int or None, default None
        Quality of JPEGs that resizing or turning encodes again, 1 to 100. None: 90.
    part, parts : int or None, default None
        This Writer writes part `part` of `parts`, counted from 0, next to others in any processes on any machines that
        share the destination: each its own samples, possibly none. bale.merge(destination) makes the dataset of all, in
        the order of the parts. resume and overwrite are of this part.
    orient : bool, default False
        Turn images as their EXIF orientation says, and drop the tag.
    strip_metadata : bool, default False
        Leave out EXIF, XMP, color profiles, comments and texts.
    jpeg_lossless : bool, default False
        Write progressive JPEGs as baseline ones, and all with Huffman tables of their own: the same pixels.
    on_error : {'fail', 'skip'}, default 'fail'
        What a sample does that cannot be written; skipped samples are in the report.
    jobs : int or None, default None
        Shards written at a time. None: one per core, at most 4.
    memory_bytes : int, str or None, default None
        Bytes of samples that may wait in memory. None: 1 GiB. What does not fit waits in a file in the destination.
    jpeg_quality : int, default 95
        Quality of JPEGs that are made from pixels, 1 to 100.

    Attributes
    ----------
    destination : str
        Absolute path.
    classes : list of str
        Names of the classes.
    report : dict or None
        What close() returned.

    Raises
    ------
    bale.Error
        `exists` if the destination is not empty; and those of writing, also of each method.
    ValueError
        If arguments are out of range or contradict each other.
    TypeError
        If arguments have types that they cannot have.

    Notes
    -----
    docs/WRITING.md has the options, the rules for keys, and what becomes of each type of value.
    Threads: may be used by many threads at once; the order of samples is then that in which add() took them. The GIL is
    released while bytes are copied and while a method waits.
    Processes: in a forked child every method raises.

    Examples
    --------
    >>> with bale.Writer("packed", format="tar", shard_size="256MiB", classes=names) as writer:
    ...     for i, (image, label) in enumerate(source):
    ...         writer.add(f"{i:08d}", {"jpg": image, "json": meta}, label=label)
    """

    def __init__(self, destination: Path, *, classes: Sequence[str] | None = None, format: str | None = None,
                 layout: str | None = None, name: str | None = None, shard_size: Size | None = None,
                 shard_samples: int | None = None, resume: bool | Mapping[str, Any] = False, overwrite: bool = False,
                 compress: str | None = None, size: int | None = None, level: int | None = None,
                 label_base: int | None = None, decode: bool = False,
                 jpeg_code: Literal["huffman", "planes"] = "huffman", seek_points: bool = False,
                 sidecars: str | Sequence[str] | None = None, check_images: bool = False, max_pixels: int | None = None,
                 resize_short: int | None = None, resize_max: int | None = None, quality: int | None = None,
                 part: int | None = None, parts: int | None = None, orient: bool = False, strip_metadata: bool = False, jpeg_lossless: bool = False,
                 on_error: Literal["fail", "skip"] = "fail", jobs: int | None = None, memory_bytes: Size | None = None,
                 jpeg_quality: int = 95) -> None:
        if resume and overwrite:
            raise ValueError("resume and overwrite exclude each other")
        if shard_size is not None and shard_samples is not None:
            raise ValueError("shard_size and shard_samples exclude each other")
        if (part is None) != (parts is None):
            raise ValueError("part and parts belong together")
        if part is not None and parts is not None and not 0 <= part < parts:
            raise ValueError(f"part: there is no part {part} of {parts}; parts are counted from 0")
        name_of_destination = os.fsdecode(destination)
        if "://" in name_of_destination and not os.path.exists(name_of_destination):  # before it looks like a path
            raise make_error("invalid_argument", f"bale writes local files: {name_of_destination} is a URL; write to a local "
                             "directory, and copy it from there")
        self.destination: str = os.path.abspath(name_of_destination)
        self.classes: list[str] = class_names(classes) if classes is not None else []
        named = [name for name in self.classes if name]
        if len(set(named)) != len(named):
            raise ValueError("classes: a name is there twice")
        self.report: Report | None = None
        self._values = FieldValues(jpeg_quality)
        self._skips = on_error == "skip"
        self._reasons: dict[str, str] = {}  # of skipped samples, by their names in the report
        self._numbers = {name: number for number, name in enumerate(self.classes) if name}
        if sidecars is not None and not isinstance(sidecars, str):
            sidecars = ",".join(sidecars) or None
        given = option_texts({
            "format": format, "layout": layout, "name": name, "shard_size": shard_size, "shard_samples": shard_samples,
            "resume": bool(resume), "overwrite": overwrite, "compress": compress, "size": size, "level": level,
            "label_base": label_base, "decode": decode, "jpeg_code": jpeg_code, "seek_points": seek_points,
            "sidecars": sidecars, "check_images": check_images, "max_pixels": max_pixels, "resize_short": resize_short, "resize_max": resize_max,
            "quality": quality, "orient": orient, "strip_metadata": strip_metadata, "jpeg_lossless": jpeg_lossless,
            "on_error": on_error, "jobs": jobs})
        self._part = None if part is None or parts is None else (part, parts)
        self._pid = os.getpid()
        try:
            self._writer = _bale.Writer(self.destination, given, self.classes, self._part,
                                        size_of("memory_bytes", memory_bytes))
        except RetryableError:
            if any(other.destination == self.destination and other._part == self._part for other in _live):
                raise make_error("retryable", f"{self.destination}: a Writer of this program writes into this directory; "
                                 "call its close() or abandon()") from None
            raise
        self._check_state(resume)
        _live.add(self)

    def add(self, key: str, fields: Mapping[str, object], label: int | str | None = None) -> int:
        """Adds a sample after all others. Everything is copied.

        Parameters
        ----------
        key : str
            Unique in the dataset; may have slashes.
        fields : mapping
            Name to value. Bytes are stored unchanged; str as UTF-8; numbers as digits; anything in a json field as JSON;
            numpy arrays in an npy field; uint8 arrays and Pillow's images in a png, jpg, ... field as such files.
            docs/WRITING.md has the details.
        label : int, str or None, default None
            Class number, or the name of a class; stored in the field cls. None: no label.

        Returns
        -------
        int
            Number of the sample, counted from 0.

        Raises
        ------
        ValueError
            For a key that is there already (a bale.Error with code "invalid_argument", which names both samples), and a
            label that is not a class.
        TypeError
            For a value that cannot be stored in its field.
        bale.Error
            If the sample, or one before it, cannot be written.

        Notes
        -----
        If it raises, the sample was not added.
        """
        if not isinstance(key, str):
            raise TypeError(f"key: {key!r} is not a str")
        bytes_of = self._values.bytes_of
        try:
            values = {name: value if type(value) is bytes else bytes_of(name, value) for name, value in fields.items()}
        except DamagedError as error:
            if not self._skips:
                raise
            return self._skip(key, error)
        return self._writer.add(key, values, label_of(label, self._numbers))

    def add_many(self, keys: Iterable[str], columns: Mapping[str, Iterable[object]],
                 labels: Iterable[int | str | None] | None = None) -> int:
        """Adds samples, one after another, as that many calls of add() do.

        For small images it takes less time per sample.

        Parameters
        ----------
        keys : iterable of str
            One per sample.
        columns : mapping
            Field name to an iterable of values, one per key, of the types that add() takes: a list of bytes, or an array
            whose first dimension is the number of samples.
        labels : iterable or None, default None
            Class numbers, or names of classes, one per key. None: no labels. A None among them: no label.

        Returns
        -------
        int
            Number of the first of these samples, counted from 0.

        Raises
        ------
        ValueError
            As add() raises it; and for a column or labels of another length than keys.
        TypeError
            As add() raises it; and for a column that is text or bytes.
        bale.Error
            If one of the samples, or one before them, cannot be written.

        Notes
        -----
        All samples are checked before one is added. If one is refused, none was added, and the message has its position in
        keys. If writing fails, or the call is interrupted, the first of them were added; `count` says how many.
        """
        values = {name: self._values.column_of(name, column) for name, column in columns.items()}
        numbers = None if labels is None else labels_of(labels, self._numbers)
        return self._writer.add_many(list(keys), values, numbers)

    def _skip(self, key: str, why: Exception) -> int:
        """Adds a sample that on_error="skip" leaves out, so that it counts."""
        number = self._writer.add(key, {"jpg": b""}, None)
        self._reasons[f'sample {number} "{key}"'] = f"{type(why).__name__}: {why}"
        return number

    @property
    def count(self) -> int:
        """Number of samples that were added, by this Writer and the one that it continues; an int."""
        return self._writer.count()

    def __len__(self) -> int:
        return self.count

    def __contains__(self, key: object) -> bool:
        """Whether a sample with this key was added."""
        return isinstance(key, str) and self._writer.contains(key)

    def state(self) -> Json:
        """Makes all samples durable, and returns a checkpoint.

        After a crash or a power loss, a Writer with `resume=state` has them, and possibly some that were added later. It
        does not end the current shard.

        Returns
        -------
        dict
            {"count": number of samples, ...}. Can be pickled and stored as JSON.

        Raises
        ------
        bale.Error
            If they cannot be written.
        """
        return {"bale_writer": 1, "destination": self.destination, "count": self._writer.checkpoint()}

    def close(self) -> Report:
        """Writes the last shard and the manifest, and returns when everything is durable.

        Returns
        -------
        dict
            The report, as of bale.pack().

        Raises
        ------
        ValueError
            If there is no sample.
        bale.Error
            If they cannot be written.

        Warns
        -----
        UserWarning
            If samples were skipped.
        """
        if self.report is None:
            self.report = report_of(self._writer.close())
            for sample in self.report["skipped"]:
                sample["why"] = self._reasons.get(sample["origin"], sample["why"])
            _live.discard(self)
            warn_of_ignored(self.report)
        return self.report

    def abandon(self) -> int:
        """Ends without a manifest. Keeps all samples for a Writer with resume=True.

        Returns
        -------
        int
            Number of samples that are kept.

        Raises
        ------
        bale.Error
            If they cannot be written.
        """
        kept = self._writer.abandon()
        _live.discard(self)
        return kept

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if os.getpid() != self._pid:  # a child that was forked inside of the block
            return
        if error is None:
            try:
                self.close()
                return
            except BaseException as failed:
                self._note(failed)
                raise
        self._note(error)

    def _note(self, error: BaseException) -> None:
        note = f"{self.destination}: no manifest was written; "
        try:
            kept = self.abandon()
        except Exception as failed:
            kept = self.abandon()  # how many are kept all the same
            note += f"not all samples could be kept: {failed}; "
        note += f"{kept} samples are kept: continue with bale.Writer(..., resume=True)" if kept else "no sample was kept"
        if hasattr(error, "add_note"):
            error.add_note(note)
        else:  # Python 3.10
            warn(note)

    def _check_state(self, resume: bool | Mapping[str, Any]) -> None:
        if isinstance(resume, bool):
            return
        try:
            count = int(resume["count"])
        except (KeyError, TypeError, ValueError):
            self._writer.abandon()
            raise ValueError("resume: not a state of a Writer") from None
        if count > self.count:
            there = self._writer.abandon()
            raise ValueError(f"{self.destination}: {there} samples are there, and the state is of {count}: "
                             "is it the state of another destination?")

    def _leave(self) -> None:
        """At the exit of the interpreter: nobody has closed it."""
        if os.getpid() == self._pid and self.report is None:
            try:
                self.abandon()
            except Exception as failed:
                warn(f"{self.destination}: not all samples could be kept: {failed}")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Writer belongs to its process and cannot be pickled; make one in each process, with part= and parts=, "
                        "and join them with bale.merge()")

    def __repr__(self) -> str:
        part = "" if self._part is None else f", part={self._part[0]}, parts={self._part[1]}"
        return f"bale.Writer({_bale.without_secrets(self.destination)!r}{part}): {self.count} samples"


def size_of(name: str, size: Size | None) -> int | None:
    """A size as bytes. Raises ValueError with the name of the argument."""
    if size is None:
        return None
    number = _bale.size_of_text(size) if isinstance(size, str) else int(size)
    if number is None or number < 1:
        raise ValueError(f"{name}: {size!r} is not a size; use bytes, such as 1 << 28, or text, such as \"256MiB\"")
    return number
