"""bale.parquet.samples(): the rows of Parquet and Arrow files as samples."""
from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from bale import _bale
from bale._dataset.remote_file import open_file
from bale._types import Path
from bale._warnings import warn
from bale.errors import Error, make_error
from bale.parquet._columns import KEYS_NOTE, Columns, rows_of_batch
from bale.parquet._found import Split, find_splits
from bale.parquet._keys import KEY_NAMES, are_keys, flat_column, key_of_path, key_of_text, number_key
from bale.parquet._kinds import is_text
from bale.parquet._tables import Rows, Table, require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

Missing = Literal["auto", "keep", "skip", "fail"]
Sample = tuple[str, dict[str, object], int | None]

_MAX_CLASSES = 1_000_000


def samples(source: Path | Sequence[Path], *, split: str | None = None, image: str | None = None, label: str | None = None,
            key: str | None = "auto", columns: Sequence[str] | None = None, missing: Missing = "auto") -> TableSamples:
    """Gives the rows of Parquet and Arrow files as samples for bale.pack().

    Stored bytes are kept: nothing is decoded. Needs pyarrow (`pip install pyarrow`).

    Parameters
    ----------
    source : path, or sequence of paths
        A file, a glob, braces, or a list of these; a directory that datasets saved (save_to_disk), a directory of its
        cache, or one of such files. Names may be remote: hf://datasets/OWNER/NAME/data/train-*.parquet, or
        hf://datasets/OWNER/NAME with a split.
    split : str or None, default None
        Which one, of a source with several, such as "train"; bale.parquet.splits() lists them.
    image : str or None, default None
        The column of images: {bytes, path} as datasets stores them, bytes, or paths. None: the first column that the
        schema says is of images, else a column of such values.
    label : str or None, default None
        The column of class numbers, or of names of classes. None: the first ClassLabel, else an integer column called
        label, class, target, y or cls.
    key : str or None, default 'auto'
        The column of keys. None: running numbers. "auto": the column __key__ or key, else the paths of the images
        without their extensions, if they are there in all rows and unique; else running numbers. This reads these
        columns first.
    columns : sequence of str or None, default None
        Other columns that become fields. None: all. docs/PARQUET.md has what becomes of each type.
    missing : {'auto', 'keep', 'skip', 'fail'}, default 'auto'
        What a row without an image does: "keep" makes a sample without one, "skip" leaves it out and counts it
        (`num_missing`), "fail" raises. "auto": "skip" for tables of img2dataset, whose column `status` says that the
        download failed; else "keep".

    Returns
    -------
    TableSamples
        An iterable of (key, fields, label).

    Raises
    ------
    bale.Error
        `not_found` for a file that is missing; `damaged`, also while iterating, names the file and the row group.
    ValueError
        For a column or a split that is not there, and for a source with several splits if none is named.
    ImportError
        If pyarrow is not installed.

    Notes
    -----
    Memory: about 16 MiB of rows, up to three times, and of Parquet one page per column: a page often has all images of
    a row group, 100 or 1,000 of them.

    Examples
    --------
    >>> bale.pack(bale.parquet.samples("data/*.parquet", image="picture"), "packed")
    """
    splits = find_splits(source)
    if split is None and len(splits) > 1:
        raise ValueError(f"{source!r}: several splits ({', '.join(splits)}): name one with `split`")
    if split is not None and split not in splits:
        raise ValueError(f"{source!r}: no split {split!r}; there are {', '.join(map(repr, splits))}")
    chosen = next(iter(splits.values())) if split is None else splits[split]
    return samples_of_split(chosen, image=image, label=label, key=key, columns=columns, missing=missing)


def samples_of_split(split: Split, *, image: str | None = None, label: str | None = None, key: str | None = "auto",
                     columns: Sequence[str] | None = None, missing: Missing = "auto") -> TableSamples:
    """As samples(), of files that were found already."""
    return TableSamples(split.files, num_rows=split.num_rows, image=image, label=label, key=key, columns=columns, missing=missing)


class TableSamples:
    """What samples() returns: an iterable of (key, fields, label), as often as it is asked for.

    classes       names of class 0, 1, ...; None if there are none
    size          number of rows; None if only reading them says it
    has_numbers_inside   whether the classes can only be of numbers inside of columns: no column is the label
    num_missing   rows that the last iteration left out, because they have no image
    place         file and row of the last sample

    Threads: an iteration belongs to one thread; there may be several at once, of which num_missing and place are the last's."""

    def __init__(self, files: Sequence[str], *, num_rows: int | None, image: str | None, label: str | None, key: str | None,
                 columns: Sequence[str] | None, missing: Missing) -> None:
        if missing not in ("auto", "keep", "skip", "fail"):
            raise ValueError(f"missing: {missing!r} is not auto, keep, skip or fail")
        require_pyarrow()
        self.num_missing: int = 0
        self.place: str = ""
        self._tables = [Table(file) for file in files]
        self._expected = num_rows
        self._key = key
        self._are_keys_chosen = False
        self._key_columns: list[str] | None = None  # one per table; None: running numbers
        self._key_of: Callable[[object], str | None] = key_of_text
        self._columns = [self._columns_of(table, image, label, columns) for table in self._tables]
        if label is None and columns is None:
            self._warn_of_labels()
        self._missing = ["skip" if _is_of_img2dataset(table) else "keep" for table in self._tables]
        if missing != "auto":
            self._missing = [missing] * len(self._tables)
        counts = [table.num_rows for table in self._tables]
        self.size: int | None = None if None in counts or "skip" in self._missing else sum(count or 0 for count in counts)
        self.classes: list[str] | None = self._find_classes()
        self._numbers = {name: number for number, name in enumerate(self.classes or ())}
        self.has_numbers_inside = all(columns.label is None for columns in self._columns)
        if self._tables:
            self._columns[0].warn_of_classes_inside(self._tables[0].name)

    @property
    def _has_keys_of_files(self) -> bool:
        """Whether to_parquet() wrote names of files for keys that are encoded in every format."""
        return all((table.schema.metadata or {}).get(KEYS_NOTE) == b"encoded" for table in self._tables)

    @property
    def has_images(self) -> bool:
        """Whether the first file has a column of images, or there is none."""
        return not self._columns or self._columns[0].has_images

    def __iter__(self) -> Iterator[Sample]:
        return self.after(0)

    def after(self, count: int) -> Iterator[Sample]:
        """Iterates over all samples but the first ones.

        Row groups that have only those are not read, unless rows may be left out.

        Parameters
        ----------
        count : int
            Number of samples to leave out.

        Returns
        -------
        iterator of (str, dict, label)
            Key, fields by name, and the class number or None.

        Raises
        ------
        bale.Error
            As for samples().
        """
        self._choose_keys()
        self.num_missing = 0
        skips = "skip" in self._missing
        first = 0  # of the table's rows among all
        given = 0
        for number, table in enumerate(self._tables):
            num_rows = table.count_rows() if first < count else table.num_rows
            if num_rows is not None and not skips and first + num_rows <= count:
                first += num_rows
                continue
            end = first
            for sample, row in self._of_table(number, first, 0 if skips else max(0, count - first)):
                end = first + row + 1
                if sample is None:
                    continue
                given += 1
                if not skips or given > count:
                    self.place = f"{table.name}: row {row}"
                    yield sample
            first = end
        if self._expected is not None and first != self._expected:
            raise make_error("damaged", f"{self._tables[0].name}: {first} rows in all files, dataset_info.json says {self._expected}",
                             self._tables[0].name, hint="load the dataset again")
        if self.num_missing:
            warn(f"{self._tables[0].name}: left out {self.num_missing} rows without an image")

    def _keys_before(self, count: int) -> Iterator[str]:
        """The keys of the first `count` samples; none if rows may be left out."""
        self._choose_keys()
        if "skip" in self._missing:
            return
        if self._key_columns is None:
            yield from map(number_key, range(count))
            return
        for table, column in zip(self._tables, self._key_columns, strict=True):
            for rows in table.rows([column]) if count else ():
                values = flat_column(rows.batch, column).to_pylist()[:count]
                count -= len(values)
                yield from filter(None, map(self._key_of, values))

    def _of_table(self, number: int, first: int, after: int) -> Iterator[tuple[Sample | None, int]]:
        """Samples with the number of their row in the table; None for a row that is left out."""
        table, columns = self._tables[number], self._columns[number]
        wanted = columns.wanted()
        key_column = self._key_columns[number] if self._key_columns else None
        if key_column is not None and key_column in table.schema.names and key_column not in wanted:
            wanted.append(key_column)
        for rows in table.rows(wanted, after):
            try:
                yield from self._of_rows(number, rows, first, key_column)
            except (Error, ValueError, OverflowError) as error:  # of dates that Python does not have
                if isinstance(error, Error) and error.path:
                    raise
                code = error.code if isinstance(error, Error) else "invalid_argument"
                hint = error.hint or "" if isinstance(error, Error) else ""
                text = str(error).removesuffix(f"; {hint}")
                if isinstance(error, UnicodeDecodeError):
                    code = "damaged"
                raise make_error(code, f"{table.name}: rows {rows.first} to {rows.first + rows.batch.num_rows - 1}: {text}",
                                 table.name, hint=hint) from error

    def _of_rows(self, number: int, rows: Rows, first: int, key_column: str | None) -> Iterator[tuple[Sample | None, int]]:
        name, batch = self._tables[number].name, rows.batch
        keys = flat_column(batch, key_column).to_pylist() if key_column else [None] * batch.num_rows
        made = rows_of_batch(batch, self._columns[number], self._numbers, lambda path: _file_beside(name, path))
        for row, (content, key) in enumerate(zip(made, keys, strict=True), rows.first):
            if not content.has_image and not self._keeps(number, row):
                yield None, row
                continue
            if not content.fields:  # a label alone is not a sample
                raise make_error("invalid_argument", f"{name}: row {row} has no image, and no other field", name,
                                 hint="`missing` \"skip\" leaves such rows out")
            text = number_key(first + row) if key_column is None else self._key_of(key)
            if text is None:
                raise ValueError(f"row {row}: {key!r} of the column {key_column!r} is not a key")
            yield (text, content.fields, content.label), row

    def _keeps(self, number: int, row: int) -> bool:
        """Whether a row without an image is a sample."""
        if self._missing[number] == "fail":
            name = self._tables[number].name
            raise make_error("damaged", f"{name}: row {row} has no image", name,
                             hint="`missing` \"skip\" leaves such rows out, \"keep\" makes samples without an image")
        if self._missing[number] == "keep":
            return True
        self.num_missing += 1
        return False

    def _columns_of(self, table: Table, image: str | None, label: str | None, keep: Sequence[str] | None) -> Columns:
        try:
            return Columns(table.schema, image=image, label=label, keep=keep, key=self._key if self._key != "auto" else None)
        except UnicodeDecodeError as error:  # the name of a member of a struct
            raise make_error("damaged", f"{table.name}: header: {error}", table.name, hint="download it again") from error
        except ValueError as error:
            raise ValueError(f"{table.name}: {error}") from None

    def _warn_of_labels(self) -> None:
        """Warns of the first column that has the name of a label and stays a field."""
        for table, columns in zip(self._tables, self._columns, strict=True):
            if columns.label is None and (name := columns.named_like_label()):
                warn(f"{table.name}: no sample has a label: the column {name!r} stays a field; if it has the names of the classes, "
                     f"pack bale.parquet.samples(..., label={name!r})")
                return

    def _find_classes(self) -> list[str] | None:
        found: list[str] | None = None
        named = [columns.is_named_class for columns in self._columns]
        if any(named):
            if not all(named):
                raise ValueError(f"{self._tables[named.index(False)].name}: labels are numbers, and in other files names")
            return self._names_in_column()
        for table, columns in zip(self._tables, self._columns, strict=True):
            if columns.classes is None:
                continue
            if found is not None and columns.classes != found:
                raise ValueError(f"{table.name}: other classes than {self._tables[0].name}")
            found = columns.classes
        return found

    def _names_in_column(self) -> list[str]:
        names: set[str] = set()
        for table, columns in zip(self._tables, self._columns, strict=True):
            assert columns.label is not None
            for rows in table.rows([columns.label]):
                names.update(name for name in rows.batch.column(columns.label).unique().to_pylist() if name is not None)
                if len(names) > _MAX_CLASSES:
                    raise ValueError(f"{table.name}: column {columns.label!r} has more than {_MAX_CLASSES} names of classes")
        return sorted(names)

    def _choose_keys(self) -> None:
        """Which columns the keys are from, at the first iteration."""
        if self._are_keys_chosen:
            return
        self._are_keys_chosen = True
        if self._key != "auto":
            self._key_columns = None if self._key is None else [self._key] * len(self._tables)
            return
        for name in KEY_NAMES:
            if all(name in table.schema.names and _is_text(table.schema, name) for table in self._tables):
                if are_keys(self._tables, [name] * len(self._tables), key_of_text):
                    self._key_columns = [name] * len(self._tables)
                    for columns in self._columns:
                        columns.fields = [column for column in columns.fields if column.name != name]
                    return
        paths = [columns.path for columns in self._columns if columns.path]
        if len(paths) == len(self._tables) and are_keys(self._tables, paths, key_of_path):
            self._key_columns, self._key_of = paths, key_of_path


def _is_text(schema: pa.Schema, name: str) -> bool:
    return is_text(schema.field(name).type)


def _is_of_img2dataset(table: Table) -> bool:
    return {"key", "status", "error_message"} <= set(table.schema.names)


def _file_beside(table: str, path: str) -> bytes:
    """A file that a table names by its path, which is relative to the table's directory unless it is absolute or a URL."""
    name = path
    if not os.path.isabs(path) and "://" not in path:
        if ".." in path.split("/"):
            raise make_error("invalid_argument", f"{table}: names the file {path!r} outside of its directory", table,
                             hint="pack the files with a table of their paths: `bale pack` takes CSV and JSONL")
        name = f"{posixpath.dirname(table)}/{path}" if _bale.is_remote_name(table) else os.path.join(os.path.dirname(table), path)
    try:
        with open_file(name) as file:
            return file.read()
    except Error as error:
        raise make_error(error.code, f"{table}: has no bytes of the image {path!r}, and the file cannot be read: {error}", table,
                         hint="copy the files next to the table") from error
