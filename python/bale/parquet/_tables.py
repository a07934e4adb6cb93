"""Parquet and Arrow files as streams of small record batches, with errors that name the file and the row group."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bale import _bale
from bale._dataset.remote_file import open_file
from bale.errors import Error, make_error
from bale.parquet._columns import features_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH_BYTES = 16 << 20  # of the rows of a batch; pyarrow takes up to three times as much while it makes one
_MAX_ROWS = 256
_BUFFER_BYTES = 4 << 20
_ARROW_FILE = b"ARROW1"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_END_OF_STREAM = (b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0")


def require_pyarrow() -> None:
    """Raises ImportError that says how to install it."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError(f"Parquet and Arrow files need pyarrow: pip install pyarrow ({error})") from error


class Rows(NamedTuple):
    """Neighboring rows of a file. `first` is the number of the first in the file."""

    first: int
    batch: pa.RecordBatch


class Table:
    """One Parquet or Arrow file: its schema, and its rows.

    schema     Arrow's, with the metadata of the file
    num_rows   None of a remote Arrow file, which has to be read to know it

    It holds no open file between two calls. Threads: may be used by many threads at once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._is_parquet = name.lower().endswith(".parquet")
        self.num_rows: int | None = None
        with _named(name, "header"), contextlib.closing(_open(name)) as file:
            if self._is_parquet:
                with _parquet(file) as parquet:
                    self.schema: pa.Schema = parquet.schema_arrow
                    self.num_rows = _count_rows(name, parquet.metadata)
            else:
                self.schema = _arrow(name, file).schema
        with _named(name, "header"):  # names and notes that are damaged: pyarrow does not look at them
            self._names: list[str] = self.schema.names
            features_of(self.schema)
        if not self._is_parquet and not _bale.is_remote_name(name):
            self.count_rows()  # looks at the headers of the batches only

    def count_rows(self) -> int:
        """Number of rows. Of a remote Arrow file, this reads it."""
        if self.num_rows is None:
            self.num_rows = sum(batch.num_rows for batch in self._batches())
        return self.num_rows

    def rows(self, columns: Sequence[str], after: int = 0) -> Iterator[Rows]:
        """All rows but the first `after`, in batches of about 16 MiB and at most 256 rows. `columns` are names of columns; of
        a struct also one member, as `image.path`. Raises bale.Error: `damaged`, and those of reading a file."""
        rows = self._of_parquet(columns, after) if self._is_parquet else self._of_arrow(columns, after)
        for first, batch in rows:
            step = _rows_per_batch(batch.nbytes, batch.num_rows)
            for start in range(0, batch.num_rows, step):
                yield Rows(first + start, batch.slice(start, step))

    def _of_parquet(self, columns: Sequence[str], after: int) -> Iterator[Rows]:
        with contextlib.ExitStack() as stack:
            with _named(self.name, "header"):
                file = stack.enter_context(contextlib.closing(_open(self.name)))
                parquet = stack.enter_context(_parquet(file))
                sizes = [parquet.metadata.row_group(i) for i in range(parquet.metadata.num_row_groups)]
            first = 0
            for number, group in enumerate(sizes):
                if first + group.num_rows > after:
                    yield from self._of_group(parquet, number, columns, first, after)
                first += group.num_rows

    def _of_group(self, parquet: pq.ParquetFile, number: int, columns: Sequence[str], first: int, after: int) -> Iterator[Rows]:
        group = parquet.metadata.row_group(number)
        size = _rows_per_batch(group.total_byte_size, group.num_rows)
        place = f"row group {number}"
        at = first
        with _named(self.name, place):
            batches = parquet.iter_batches(batch_size=size, row_groups=[number], columns=list(columns), use_threads=False)
        while True:
            with _named(self.name, place):
                batch = next(batches, None)
                if batch is None:
                    break
                batch.validate(full=True)  # text is UTF-8
            skipped = min(batch.num_rows, max(0, after - at))
            if skipped < batch.num_rows:
                yield Rows(at + skipped, batch.slice(skipped))
            at += batch.num_rows
        if at - first != group.num_rows:
            raise _damaged(self.name, place, f"{at - first} rows, its header says {group.num_rows}")

    def _of_arrow(self, columns: Sequence[str], after: int) -> Iterator[Rows]:
        names = self._names
        wanted = list(dict.fromkeys(column if column in names else column.rpartition(".")[0] for column in columns))
        at = 0
        for batch in self._batches():
            skipped = min(batch.num_rows, max(0, after - at))
            if skipped < batch.num_rows:
                rows = batch.select(wanted).slice(skipped)
                with _named(self.name, f"rows from {at + skipped} on"):
                    rows.validate(full=True)  # offsets are used as they are
                yield Rows(at + skipped, rows)
            at += batch.num_rows

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Of a file of Arrow, as they are stored."""
        with contextlib.closing(_open(self.name)) as file:
            with _named(self.name, "header"):
                reader = _arrow(self.name, file)
            number, count = 0, getattr(reader, "num_record_batches", None)
            while count is None or number < count:
                with _named(self.name, f"record batch {number}"):
                    try:
                        batch = reader.read_next_batch() if count is None else reader.get_batch(number)
                    except StopIteration:
                        return
                yield batch
                number += 1


def _count_rows(name: str, metadata: pq.FileMetaData) -> int:
    """What a file of Parquet says of its rows, twice."""
    count: int = metadata.num_rows
    in_groups = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    if in_groups != count:
        raise _damaged(name, "header", f"{count} rows, and {in_groups} in its row groups")
    return count


def _rows_per_batch(num_bytes: int, num_rows: int) -> int:
    return min(_MAX_ROWS, max(1, _BATCH_BYTES // max(1, num_bytes // max(1, num_rows))))


def _open(name: str) -> pa.NativeFile:
    """A local file is mapped, so that batches of Arrow are views of it."""
    import pyarrow as pa

    if _bale.is_remote_name(name):
        return pa.PythonFile(open_file(name), mode="r")
    if not os.path.isfile(name):
        raise make_error("not_found", f"{name}: no such file", name, hint="check the path")
    if os.path.getsize(name) == 0:
        raise _damaged(name, "header", "an empty file")
    file = pa.memory_map(name)
    if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
        raise make_error("damaged", f"{name}: a Git LFS pointer, not the file itself", name, hint="fetch the files with `git lfs pull`")
    file.seek(0)
    return file


def _parquet(file: pa.NativeFile) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    return pq.ParquetFile(file, buffer_size=_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True)


def _arrow(name: str, file: pa.NativeFile) -> pa.RecordBatchFileReader:
    """A reader of Arrow's file or stream format. A stream that ends without its last marker may have been cut off between two
    batches, which nothing else shows."""
    import pyarrow as pa

    if file.read(len(_ARROW_FILE)) == _ARROW_FILE:
        file.seek(0)
        return pa.ipc.open_file(file)
    size = file.size()
    file.seek(max(0, size - len(_END_OF_STREAM[0])))
    if not file.read().endswith(_END_OF_STREAM):
        raise _damaged(name, "end", "a stream without its end: it was cut off, or is still being written")
    file.seek(0)
    return pa.ipc.open_stream(file)


@contextlib.contextmanager
def _named(name: str, place: str) -> Iterator[None]:
    """Turns errors of pyarrow into bale.Error."""
    import pyarrow as pa

    try:
        yield
    except Error:
        raise
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        if isinstance(error, MemoryError):
            raise
        if isinstance(error, pa.ArrowNotImplementedError):
            text = " ".join(str(error).split())
            raise make_error("unsupported", f"{name}: {place}: {text}", name, hint="write it again by a plain writer, or update pyarrow") from error
        number = getattr(error, "errno", None)
        if number:
            raise make_error("io", f"{name}: {error}", name, system_error=number) from error
        raise _damaged(name, place, " ".join(str(error).split())) from error


def _damaged(name: str, place: str, why: str) -> Error:
    return make_error("damaged", f"{name}: {place}: {why}", name, hint="download it again")
