"""bale.to_parquet(): a packed dataset as Parquet files in the layout of the Hugging Face Hub."""
from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from bale import _bale
from bale._dataset.dataset import Dataset
from bale._dataset.spec import shown
from bale._export.atomic_dir import staged_directory
from bale._export.sample_fields import field_sets, fields_to_write, main_image, read_ahead, require_text_keys
from bale._types import Path
from bale._writer.writer import size_of
from bale.errors import make_error
from bale.options import Size
from bale.parquet._columns import CLASSES_NOTE, KEYS_NOTE
from bale.parquet._tables import require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_GROUP_ROWS = 100  # as datasets writes images: a viewer reads one group to show one row
_GROUP_BYTES = 64 << 20


def to_parquet(dataset: Dataset | Path | Sequence[Path], destination: Path, *, split: str = "train", image_column: str = "image",
               label_column: str = "label", key_column: str | None = "__key__", fields: Sequence[str] | None = None,
               rows_per_file: int | None = None, file_size: Size | None = None, overwrite: bool = False,
               progress: bool | None = None) -> list[str]:
    """Writes a packed dataset as Parquet files in the layout of the Hugging Face Hub.

    datasets.load_dataset("parquet", ...) and the Hub show them as images and classes.

    Bytes of images are kept. bale.pack() of the files gives the same samples again. Needs pyarrow
    (`pip install pyarrow`).

    Parameters
    ----------
    dataset : bale.Dataset, path or sequence of paths
        The dataset, or what one is opened with.
    destination : path
        A new directory: it appears when all files are complete.
    split : str, default 'train'
        The files are called SPLIT-00000-of-00004.parquet.
    image_column : str, default 'image'
        Column of the first image of a sample: {bytes, path}, of the feature Image; path is the key and the field's
        name.
    label_column : str, default 'label'
        Column of the label: a ClassLabel if the classes have names, else int64.
    key_column : str or None, default '__key__'
        Column of the keys, str. None leaves them out.
    fields : sequence of str or None, default None
        Which others are written. None: all. `caption.txt` becomes the column caption, a str; `mask.png` becomes mask,
        of the feature Image; `meta.json` becomes meta.json, a str; all others become bytes under their own name. A
        sample without a field has null.
    rows_per_file : int or None, default None
        Rows after which a file ends.
    file_size : int, str or None, default None
        Bytes of fields after which a file ends, as 1 << 29 or "500MB". None: 500 MB, unless rows_per_file is given.
    overwrite : bool, default False
        Replace a directory that has only Parquet files of this split. They stay until the new ones are complete.
    progress : bool or None, default None
        As for pack().

    Returns
    -------
    list of str
        Paths of the files.

    Raises
    ------
    bale.Error
        `exists` if the destination is not empty, or with overwrite has other files; `unsupported` for a key and `damaged` for text that is not UTF-8; and those of reading.
    ValueError
        For fields that are not there or would be one column, and for options that contradict each other.
    ImportError
        If pyarrow is not installed.

    Notes
    -----
    Memory: one row group, 100 samples, or fewer of 64 MiB.
    """
    require_pyarrow()
    source = dataset if isinstance(dataset, Dataset) else Dataset(dataset)
    if rows_per_file is not None and file_size is not None:
        raise ValueError("rows_per_file and file_size exclude each other")
    if rows_per_file is not None and rows_per_file < 1:
        raise ValueError(f"rows_per_file: {rows_per_file} is less than 1")
    if not split or os.sep in split:
        raise ValueError(f"split: {split!r} is not the start of a file's name")
    if not len(source):
        raise ValueError(f"{shown(source.spec)}: has no samples")
    max_bytes = size_of("file_size", "500MB" if file_size is None else file_size) if rows_per_file is None else None
    columns = _Columns(source, image_column, label_column, key_column, fields)
    own = re.compile(rf"{re.escape(split)}-\d{{5,}}-of-\d{{5,}}\.parquet")
    with staged_directory(destination, (lambda name: own.fullmatch(name) is not None) if overwrite else None) as staged:
        files = _Files(staged, columns.schema)
        _write(source, columns, files, rows_per_file, max_bytes, progress)
        names = files.close(split)
    return [os.path.join(os.path.abspath(os.fsdecode(destination)), name) for name in names]


class _Columns:
    """The columns of the files, and the row of a sample."""

    def __init__(self, dataset: Dataset, image: str, label: str, key: str | None, fields: Sequence[str] | None) -> None:
        import pyarrow as pa

        self._image, self._label, self._key = image, label, key
        self._picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        self._features: dict[str, object] = {}
        self._types: list[tuple[str, pa.DataType]] = []
        require_text_keys(dataset, "Parquet")
        sets = field_sets(dataset)
        if any(main_image(names) for _, names in sets):
            self._add(image, self._picture, {"_type": "Image"})
        self._has_labels = any(has_label for has_label, _ in sets)
        if self._has_labels:
            named: dict[str, object] = {"names": _different_names(dataset.classes), "_type": "ClassLabel"}
            self._add(label, pa.int64(), named if dataset.classes else {"dtype": "int64", "_type": "Value"})
        if key:
            self._add(key, pa.string(), {"dtype": "string", "_type": "Value"})
        others = fields_to_write(sets, fields)
        self._columns = _column_names(others)
        for name, column in self._columns.items():
            self._add_field(name, column)
        metadata: dict[str | bytes, str] = {"huggingface": json.dumps({"info": {"features": self._features}})}
        if dataset.classes and (not self._has_labels or _different_names(dataset.classes) != dataset.classes):
            metadata[CLASSES_NOTE] = json.dumps(dataset.classes)
        self._key_of, are_of_files = _key_reader(dataset)
        if are_of_files:
            metadata[KEYS_NOTE] = "encoded"
        self.schema: pa.Schema = pa.schema(self._types, metadata=metadata)

    def _add(self, name: str, kind: pa.DataType, feature: dict[str, object]) -> None:
        if name in self._features:
            raise ValueError(f"two columns would be called {name!r}: use another image_column, label_column or key_column, or name the "
                             "fields to write in `fields`")
        self._features[name] = feature
        self._types.append((name, kind))

    def _add_field(self, name: str, column: str) -> None:
        import pyarrow as pa

        kind = _kind_of(name)
        if kind == "image":
            self._add(column, self._picture, {"_type": "Image"})
        else:
            self._add(column, pa.string() if kind == "text" else pa.binary(),
                      {"dtype": "string" if kind == "text" else "binary", "_type": "Value"})

    def row_of(self, dataset: Dataset, i: int) -> tuple[dict[str, object], int]:
        """A row, and how many bytes its fields have."""
        fields, key = dataset[i], self._key_of(i)
        row: dict[str, object] = {name: None for name in self.schema.names}
        main = main_image(fields)
        if main is not None:
            row[self._image] = {"bytes": fields[main], "path": f"{key}.{main}"}
        if self._has_labels:
            row[self._label] = dataset.label(i)
        if self._key:
            row[self._key] = key
        for name, column in self._columns.items():
            if name in fields and name != main:
                row[column] = _value(dataset, key, name, fields[name])
        return row, sum(map(len, fields.values()))


def _key_reader(dataset: Dataset) -> tuple[Callable[[int], str], bool]:
    """What gives each sample's key as it is written: the file's name if all keys are encoded as such; and whether packing has to
    encode them again in every format. If the manifest says that they were encoded, the Writer does that where it must."""
    has_changed = False
    for key in map(dataset.key, range(len(dataset))):
        name = _bale.decode_key(key)
        if _bale.encode_key(name) != key:
            return dataset.key, False
        has_changed = has_changed or name != key
    if not has_changed:
        return dataset.key, False
    return lambda i: _bale.decode_key(dataset.key(i)), not dataset._dataset.are_keys_encoded()


class _Files:
    """The files, under names without their number, which is known at the end."""

    def __init__(self, directory: str, schema: pa.Schema) -> None:
        self._directory = directory
        self._schema = schema
        self._names: list[str] = []
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: list[dict[str, object]]) -> None:
        """Adds a row group to the file, and starts one if there is none."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            self._names.append(f"{len(self._names):05d}.parquet")
            # Images do not get smaller. Checksums of pages are compared by bale.pack() and by whoever asks pyarrow for it.
            self._writer = pq.ParquetWriter(os.path.join(self._directory, self._names[-1]), self._schema, compression="snappy",
                                            use_dictionary=False, write_statistics=False, write_page_checksum=True)
        self._writer.write_table(pa.Table.from_pylist(rows, schema=self._schema), row_group_size=len(rows))

    def end_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def close(self, split: str) -> list[str]:
        """Gives the files their names."""
        self.end_file()
        names = [f"{split}-{number:05d}-of-{len(self._names):05d}.parquet" for number in range(len(self._names))]
        for old, new in zip(self._names, names, strict=True):
            os.rename(os.path.join(self._directory, old), os.path.join(self._directory, new))
        return names


def _write(dataset: Dataset, columns: _Columns, files: _Files, rows_per_file: int | None, max_bytes: int | None,
           progress: bool | None) -> None:
    rows: list[dict[str, object]] = []
    group_bytes = file_bytes = file_rows = 0
    for i in read_ahead(dataset, "to_parquet", progress):
        row, size = columns.row_of(dataset, i)
        if file_rows and (file_rows == rows_per_file or max_bytes is not None and file_bytes + size > max_bytes):
            if rows:
                files.write(rows)
            files.end_file()
            rows, group_bytes, file_bytes, file_rows = [], 0, 0, 0
        rows.append(row)
        group_bytes, file_bytes, file_rows = group_bytes + size, file_bytes + size, file_rows + 1
        if len(rows) == _GROUP_ROWS or group_bytes >= _GROUP_BYTES:
            files.write(rows)
            rows, group_bytes = [], 0
    if rows:
        files.write(rows)


def _value(dataset: Dataset, key: str, name: str, content: bytes) -> object:
    kind = _kind_of(name)
    if kind == "image":
        return {"bytes": content, "path": f"{key}.{name}"}
    if kind == "bytes":
        return content
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise make_error("damaged", f"{shown(dataset.spec)}: field {name!r} of {key} is not UTF-8: {error}", dataset.spec, key,
                         hint="leave the field out, with those to write in `fields`") from error


def _different_names(classes: list[str]) -> list[str]:
    """Names of a ClassLabel, which has no number without a name and no name twice."""
    texts = [name or f"(no class {number})" for number, name in enumerate(classes)]
    return [f"{text} ({number})" if texts.count(text) > 1 else text for number, text in enumerate(texts)]


def _kind_of(name: str) -> str:
    extension = name.rpartition(".")[2]
    if extension in ("txt", "json"):
        return "text"
    return "image" if _bale.is_image_field(extension) else "bytes"


def _column_names(fields: Iterable[str]) -> dict[str, str]:
    """Column by field: without the extension if bale.parquet.samples() finds it again, and no two columns would have one name."""
    fields = list(fields)
    short = {}
    for name in fields:
        stem, _, extension = name.rpartition(".")
        if stem and "." not in stem and stem not in ("json", extension) and (extension == "txt" or _kind_of(name) == "image"):
            short[name] = stem
    taken = [*short.values(), *(name for name in fields if name not in short)]
    return {name: short[name] if name in short and taken.count(short[name]) == 1 else name for name in fields}
