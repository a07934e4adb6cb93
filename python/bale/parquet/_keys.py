"""Keys of the rows of tables: those that the tables have, if they are keys of all rows and unique; else running numbers."""
from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bale.parquet._tables import Table

if TYPE_CHECKING:
    import pyarrow as pa

KEY_NAMES = ("__key__", "key")
_MAX_BYTES = 4096


def number_key(i: int) -> str:
    return f"{i:08d}"


def key_of_path(path: object) -> str | None:
    """The key of a file: its path without the extension; of an absolute path or a URL, its last part. None if it is not a key."""
    if not isinstance(path, str):
        return None
    if path.startswith("/") or "://" in path or path.startswith(".."):
        path = path.rpartition("/")[2]
    return key_of_text(posixpath.splitext(posixpath.normpath(path))[0]) if path else None


def key_of_text(text: object) -> str | None:
    """A text or whole number as a key; None if it cannot be one."""
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str) or not text or "\0" in text or len(text.encode("utf-8", "surrogateescape")) > _MAX_BYTES:
        return None
    return None if {"", ".", ".."} & set(text.split("/")) else text


def flat_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column, or one member of a struct, as `image.path`."""
    if name in batch.schema.names:
        return batch.column(name)
    column, _, member = name.rpartition(".")
    struct: pa.Array = batch.column(column)
    struct = getattr(struct, "storage", struct)
    return struct.flatten()[struct.type.get_field_index(member)]  # null where the struct is


def are_keys(tables: Sequence[Table], columns: Sequence[str], key_of: Callable[[object], str | None]) -> bool:
    """Whether the columns, one per table, hold a key in each row, and none twice. Reads these columns. Takes 8 bytes per row;
    keys are compared by a hash of 64 bits, which is the same in every run."""
    import hashlib  # not above: importing bale need not wait for it
    from array import array

    import numpy as np

    hashes = array("Q")
    for table, column in zip(tables, columns, strict=True):
        for rows in table.rows([column]):
            for value in flat_column(rows.batch, column).to_pylist():
                key = key_of(value)
                if key is None:
                    return False
                hashes.append(int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "little"))
    values = np.frombuffer(hashes, np.uint64)
    return len(values) == 0 or len(np.unique(values)) == len(values)
