"""Rows of a batch as fields and labels."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bale.parquet._columns import Columns, field_of_image, fields_of_batch, put

if TYPE_CHECKING:
    import pyarrow as pa


class Row(NamedTuple):
    """What a sample is made of, without its key. `has_image` is false if the table has images and this row none."""

    fields: dict[str, object]
    label: int | None
    has_image: bool


def rows_of_batch(batch: pa.RecordBatch | pa.Table, columns: Columns, numbers: Mapping[str, int],
                  read_file: Callable[[str], bytes]) -> Iterator[Row]:
    """The rows of a batch with these columns. `numbers` are those of classes that the label's column names; `read_file` reads an image
    that a row names by its path. Raises ValueError for values that cannot be stored."""
    def content_of(value: object) -> bytes | None:
        return _content(value, read_file)

    images, labels = _list(batch, columns.image), _list(batch, columns.label)
    for i, rest in enumerate(fields_of_batch(batch, columns.fields, content_of)):
        content = content_of(images[i])
        fields: dict[str, object] = {} if content is None else {field_of_image(content): content}
        for name, value in rest.items():
            put(fields, name, value)
        label = None if labels[i] == -1 and columns.classes is not None else labels[i]  # -1: of a split without labels
        yield Row(fields, _label(label, numbers), content is not None or columns.image is None)


def _content(value: Any, read_file: Callable[[str], bytes]) -> bytes | None:
    """The bytes of an image: those of the value, or of the file that it names."""
    if value is None or isinstance(value, bytes):
        return value
    path = value
    if isinstance(value, dict):
        content: bytes | None = value.get("bytes")
        if content is not None:
            return content
        path = value.get("path")
    return None if path is None else read_file(path)


def _label(label: object, numbers: Mapping[str, int]) -> int | None:
    if label is None:
        return None
    if isinstance(label, str):
        return numbers[label]
    if not isinstance(label, int) or isinstance(label, bool):
        raise ValueError(f"{label!r} is not a class number; choose another column with `label`")
    return label


def _list(batch: pa.RecordBatch, name: str | None) -> list[object]:
    if name is None:
        return [None] * batch.num_rows
    array = batch.column(name)
    values: list[object] = getattr(array, "storage", array).to_pylist()
    return values
