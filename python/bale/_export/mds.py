"""bale.to_mds(): a packed dataset as shards of MosaicML Streaming (MDS version 2, formats/mds/FORMAT.md)."""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence

from bale import _bale
from bale._dataset.dataset import Dataset
from bale._dataset.spec import shown
from bale._export.atomic_dir import staged_directory
from bale._export.sample_fields import field_sets, fields_to_write, main_image, read_ahead, require_text_keys
from bale._types import Path
from bale._writer.writer import size_of
from bale.errors import make_error
from bale.options import Size

_MAX_SHARD_BYTES = (1 << 32) - 1  # offsets have 32 bits


def to_mds(dataset: Dataset | Path | Sequence[Path], destination: Path, *, fields: Sequence[str] | None = None,
           shard_size: Size = "64MiB", overwrite: bool = False, progress: bool | None = None) -> int:
    """Writes a packed dataset as shards that streaming.StreamingDataset reads.

    Bytes of images are kept. Columns are `image` (png if all images are PNGs, else jpeg, which Streaming opens with
    Pillow whatever they are), `label` (int), `__key__` (str), and one per field: `caption.txt` becomes caption (str),
    `mask.png` becomes mask (png), `meta.json` becomes meta (json), others become bytes under their own name. Names of
    classes are in index.json. `bale convert` of the directory gives the same samples and classes again.

    Parameters
    ----------
    dataset : bale.Dataset, path or sequence of paths
        The dataset, or what one is opened with.
    destination : path
        A new directory: it appears when all shards and index.json are complete.
    fields : sequence of str or None, default None
        Which fields are written next to image, label and key. None: all.
    shard_size : int or str, default '64MiB'
        Bytes per shard at most, as 1 << 26 or "64MiB"; below 4 GiB.
    overwrite : bool, default False
        Replace a directory that has only shards of MDS and index.json. They stay until the new ones are complete.
    progress : bool or None, default None
        As for pack().

    Returns
    -------
    int
        Number of shards.

    Raises
    ------
    bale.Error
        `exists` if the destination is not empty, or with overwrite has other files; `unsupported` for a sample without a field that others have (MDS has
        no missing values) or with a key that is not UTF-8, or that is larger than a shard can be; `damaged` for text and JSON that Streaming could not
        read; and those of reading.
    ValueError
        For fields that are not there, a dataset without samples, and a shard_size that is not a size.

    Notes
    -----
    Memory: one shard.
    """
    source = dataset if isinstance(dataset, Dataset) else Dataset(dataset)
    limit = size_of("shard_size", shard_size) or 0
    if limit > _MAX_SHARD_BYTES:
        raise ValueError(f"shard_size: {shard_size!r} is 4 GiB or more")
    columns = _Columns(source, fields)
    with staged_directory(destination, _is_of_mds if overwrite else None) as staged:
        shards = _Shards(staged, columns, limit)
        for i in read_ahead(source, "to_mds", progress):
            shards.add(columns.sample(source, i), source.key(i))
        shards.close()
        with open(os.path.join(staged, "index.json"), "w") as index:
            json.dump({"version": 2, "shards": shards.listed, **_named(source.classes)}, index, sort_keys=True)
    return len(shards.listed)


def _named(classes: Sequence[str]) -> dict[str, object]:
    """What index.json says of names of classes, which Streaming ignores. Bytes that are not UTF-8 are as in bale's manifest."""
    texts: list[str | dict[str, str]] = []
    for name in classes:
        try:
            name.encode()
            texts.append(name)
        except UnicodeEncodeError:
            texts.append({"hex": name.encode("utf-8", "surrogateescape").hex()})
    return {"classes": texts} if texts else {}


def _is_of_mds(name: str) -> bool:
    return name == "index.json" or name.startswith("shard.") and name.endswith((".mds", ".mds.zstd"))


class _Column:
    """`field` is what it holds; None of the image, the label and the key, which `role` names."""

    def __init__(self, name: str, encoding: str, role: str, field: str | None = None) -> None:
        self.name, self.encoding, self.role, self.field = name, encoding, role, field
        self.size = 8 if encoding == "int" else None


class _Columns:
    """The columns of all shards, sorted by name, and the bytes of a sample."""

    def __init__(self, dataset: Dataset, fields: Sequence[str] | None) -> None:
        if not len(dataset):
            raise ValueError(f"{shown(dataset.spec)}: has no samples")
        require_text_keys(dataset, "MDS")
        sets = field_sets(dataset)
        others = fields_to_write(sets, fields)
        images = {main_image(names) for _, names in sets}
        labeled = {has_label for has_label, _ in sets}
        if len(labeled) > 1:
            raise _missing(dataset, "a label", int((dataset.labels != _bale.NO_LABEL).argmin()))
        _require_all(dataset, [names for _, names in sets], images, others)
        columns = [_Column("__key__", "str", "key")]
        if None not in images:
            columns.append(_Column("image", "png" if images == {"png"} else "jpeg", "image"))
        if labeled == {True}:
            columns.append(_Column("label", "int", "label"))
        names = _column_names(others, {column.name for column in columns})
        columns += [_Column(name, _encoding_of(field) if name != field or "." not in field else "bytes", "field", field)
                    for field, name in names.items()]
        self.columns = sorted(columns, key=lambda column: column.name)
        for before, after in zip(self.columns, self.columns[1:], strict=False):
            if before.name == after.name:
                raise ValueError(f"{shown(dataset.spec)}: two columns would be called {after.name!r}: name the fields to write in `fields`")
        self.config: dict[str, object] = {
            "column_encodings": [column.encoding for column in self.columns], "column_names": [column.name for column in self.columns],
            "column_sizes": [column.size for column in self.columns], "compression": None, "format": "mds", "hashes": [], "version": 2}

    def sample(self, dataset: Dataset, i: int) -> bytes:
        """As MDS stores it: the sizes of columns that vary, and then all values."""
        import struct

        fields = dataset[i]
        image = main_image(fields)
        values = []
        for column in self.columns:
            if column.role == "key":
                values.append(dataset.key(i).encode())
            elif column.role == "label":
                values.append(struct.pack("<q", dataset.label(i)))
            else:
                name = image if column.role == "image" else column.field
                assert name is not None
                _require_readable(dataset, i, name, column.encoding, fields[name])
                values.append(fields[name])
        sizes = [len(value) for column, value in zip(self.columns, values, strict=True) if column.size is None]
        return struct.pack(f"<{len(sizes)}I", *sizes) + b"".join(values)


class _Shards:
    """Writes shards one after the other. `listed` is what index.json says of them."""

    def __init__(self, directory: str, columns: _Columns, limit: int) -> None:
        self._directory = directory
        self._config = {**columns.config, "size_limit": limit}
        self._config_bytes = json.dumps(self._config, sort_keys=True).encode()
        self._limit = limit
        self._samples: list[bytes] = []
        self._bytes = self._head_bytes(0)
        self.listed: list[dict[str, object]] = []

    def _head_bytes(self, num_samples: int) -> int:
        return 4 * (num_samples + 2) + len(self._config_bytes)

    def add(self, sample: bytes, key: str) -> None:
        if self._head_bytes(1) + len(sample) > _MAX_SHARD_BYTES:
            raise make_error("unsupported", f"sample {key} has {len(sample)} bytes; a shard of MDS has less than 4 GiB", key=key)
        if self._samples and self._bytes + 4 + len(sample) > self._limit:
            self._write()
        self._samples.append(sample)
        self._bytes += 4 + len(sample)

    def close(self) -> None:
        if self._samples:
            self._write()

    def _write(self) -> None:
        import struct

        name = f"shard.{len(self.listed):05d}.mds"
        offsets = [self._head_bytes(len(self._samples))]
        for sample in self._samples:
            offsets.append(offsets[-1] + len(sample))
        with open(os.path.join(self._directory, name), "wb") as file:
            file.write(struct.pack(f"<I{len(offsets)}I", len(self._samples), *offsets))
            file.write(self._config_bytes)
            file.writelines(self._samples)
        self.listed.append({**self._config, "samples": len(self._samples), "zip_data": None,
                            "raw_data": {"basename": name, "bytes": offsets[-1], "hashes": {}}})
        self._samples, self._bytes = [], self._head_bytes(0)


def _require_all(dataset: Dataset, sets: Iterable[Sequence[str]], images: set[str | None], others: Sequence[str]) -> None:
    """Raises bale.Error that names the first sample that does not have all columns."""
    lacking: dict[tuple[str, ...], str] = {}
    for names in sets:
        if main_image(names) is None and images != {None}:
            lacking[tuple(names)] = "an image"
        for field in others:
            if field not in names:
                lacking.setdefault(tuple(names), f"the field {field!r}")
    for i in range(len(dataset) if lacking else 0):
        if what := lacking.get(tuple(dataset[i])):
            raise _missing(dataset, what, i)


def _require_readable(dataset: Dataset, i: int, field: str, encoding: str, value: bytes) -> None:
    """Raises bale.Error for text and JSON that Streaming could not read."""
    try:
        if encoding == "str":
            value.decode()
        elif encoding == "json":
            json.loads(value)
    except ValueError as error:
        raise make_error("damaged", f"{shown(dataset.spec)}: field {field!r} of {dataset.key(i)} cannot be read: {error}", dataset.spec, dataset.key(i),
                         hint="leave the field out, with those to write in `fields`") from error


def _missing(dataset: Dataset, what: str, i: int) -> Exception:
    return make_error("unsupported", f"{shown(dataset.spec)}: sample {dataset.key(i)} does not have {what}, which others have, and MDS has no "
                      "missing values", dataset.spec, dataset.key(i), hint="name the fields to write in `fields`, or use bale.to_parquet()")


def _encoding_of(field: str) -> str:
    extension = field.rpartition(".")[2]
    if _bale.is_image_field(extension):
        return "png" if extension == "png" else "jpeg"
    return {"txt": "str", "json": "json"}.get(extension, "bytes")


def _column_names(fields: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Column by field: without the extension, unless two columns would have one name or MDS's readers could take it for another."""
    short = {field: field.rpartition(".")[0] if "." in field and _encoding_of(field) != "bytes" else field for field in fields}
    names = list(short.values())
    return {field: name if names.count(name) == 1 and name not in taken | _ROLES else field for field, name in short.items()}

# Names by which bale takes a column for the key, the label or the image (formats/mds/FORMAT.md).
_ROLES = {"__key__", "key", "path", "file_name", "filename", "file", "label", "class", "target", "y", "cls", "image", "img", "picture", "x",
          "data"}
