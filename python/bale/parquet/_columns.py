"""What each column of a table becomes in a sample: the image, the label, or a field."""
from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bale import _bale
from bale._types import Json
from bale._warnings import warn
from bale.errors import make_error
from bale.parquet._kinds import (
    holds_bytes,
    is_any,
    is_bytes,
    is_file,
    is_list,
    is_text,
    members_of,
    shape_of_array,
    storage_of,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


Kind = Literal["image", "images", "file", "text", "json", "array", "bytes", "number"]

IMAGE_NAMES = ("image", "img", "picture", "jpg", "jpeg", "png", "webp", "x", "data")
CLASSES_NOTE = b"bale_classes"  # of a schema: names of classes that no ClassLabel can have
KEYS_NOTE = b"bale_keys"  # of a schema: "encoded" if keys that every format encodes are the names of files here
LABEL_NAMES = ("label", "class", "target", "y", "cls")
LABELS_OF_BOXES = ("category_id", "category", "categories", "labels", "label")  # as Loaders read them
NOT_OF_CLASSES = {"bbox", "boxes", "id", "image_id", "area", "iscrowd", "segmentation"}


class Column(NamedTuple):
    """A column that becomes a field."""

    name: str
    kind: Kind
    stem: str  # of its fields, as stem_of() makes it
    shape: tuple[int, ...] | None = None  # of a row of Array2D ... Array5D, -1 for a side that varies
    classes: tuple[str, ...] = ()  # of a ClassLabel


class Columns:
    """The columns of one table.

    image, label   the columns that are the image and the label; None if there is none
    classes        names of class 0, 1, ... of the label, or without one of what is labeled inside of a sample (objects.category)
    fields         all other columns that are kept; notes such as `__url__` only if `keep` names them

    `image`, `label` and `keep` are as of bale.parquet.samples(). Raises ValueError if a column is not there or cannot be kept."""

    def __init__(self, schema: pa.Schema, *, image: str | None, label: str | None, keep: Sequence[str] | None,
                 key: str | None) -> None:
        self._schema = schema
        self._features = features_of(schema)
        for name in schema.names:
            if schema.names.count(name) > 1:
                raise ValueError(f"two columns are called {name!r}")
        if "" in (schema.names if keep is None else keep):
            raise ValueError("a column has no name: leave it out, with the columns to keep in `columns`")
        for name in [image, label, key, *(keep or ())]:
            if name and name not in schema.names:
                raise ValueError(f"no column {name!r}; there are {', '.join(schema.names)}")
        self.image = image if image is not None else self._find_image()
        self.label = label if label is not None else self._find_label()
        if self.image:
            self._require_images(self.image)
        roles = {self.image, self.label, key}
        others = [name for name in schema.names if not name.startswith("__")] if keep is None else keep
        names = [name for name in others if name not in roles]
        self.fields = [self._column(name) for name in names]
        self.classes: list[str] | None = self._find_classes(schema)
        _require_different(self.fields)

    @property
    def is_named_class(self) -> bool:
        """Whether labels are names of classes."""
        return self.label is not None and is_text(self._schema.field(self.label).type)

    @property
    def has_images(self) -> bool:
        return self.image is not None or any(column.kind == "images" for column in self.fields)

    @property
    def path(self) -> str | None:
        """The column of the paths of images, as Table.rows() takes it."""
        if self.image is None:
            return None
        kind = storage_of(self._schema.field(self.image).type)
        if is_text(kind):
            return self.image
        return f"{self.image}.path" if is_file(kind) and is_text(members_of(kind).get("path")) else None

    def wanted(self) -> list[str]:
        """Names of all columns that are read."""
        return [name for name in (self.image, self.label, *(column.name for column in self.fields)) if name]

    def _feature(self, name: str) -> Json:
        feature = self._features.get(name)
        return feature if isinstance(feature, dict) else {}

    def _type_name(self, name: str) -> str:
        kind = self._feature(name).get("_type")
        return kind if isinstance(kind, str) else ""

    def _find_image(self) -> str | None:
        """A column that is said to be of images, else a struct of bytes and path, else bytes with the name of an image. If features say
        that the struct is of no kind, it has such a name, too."""
        schema = self._schema
        said: list[str] = [name for name in schema.names if self._type_name(name) == "Image"]
        if not said:
            files = [name for name in schema.names if is_file(storage_of(schema.field(name).type)) and not self._type_name(name)]
            said = [name for name in files if not self._features or name.lower() in IMAGE_NAMES]
        if not said:
            said = [name for name in schema.names if name.lower() in IMAGE_NAMES and is_bytes(schema.field(name).type)]
        ranks = {name: number for number, name in enumerate(IMAGE_NAMES)}
        return min(said, key=lambda name: ranks.get(name.lower(), len(ranks)), default=None)

    def _find_label(self) -> str | None:
        names: list[str] = self._schema.names
        for name in names:
            if self._type_name(name) == "ClassLabel":
                return name
        for wanted in LABEL_NAMES:
            found = [name for name in names if name.lower() == wanted and is_any(self._schema.field(name).type, "integer")]
            if len(found) > 1:
                raise ValueError(f"two columns are called {found[0]!r} and {found[1]!r}: name the right one with `label`")
            if found:
                return found[0]
        return None

    def named_like_label(self) -> str | None:
        """A column that becomes a field and has the name of a label."""
        return next((column.name for column in self.fields if column.name.lower() in LABEL_NAMES and column.kind in ("text", "number")), None)

    def warn_of_classes_inside(self, source: str) -> None:
        """Of the columns with a ClassLabel inside whose names are not `classes`, and of those with boxes that have no numbers of classes."""
        lost = [repr(column.name) for column in self.fields if column.kind in ("json", "array")
                and any(names != self.classes for names in _class_labels(self._features.get(column.name)))]
        if lost:
            warn(f"{source}: the names of the classes inside of {', '.join(lost)} are not kept: a dataset has one list of classes")
        for column in self.fields:
            kind = storage_of(self._schema.field(column.name).type)
            members = members_of(kind.value_type if is_list(kind) else kind)
            if members.keys().isdisjoint(("bbox", "boxes")) or members.keys() <= NOT_OF_CLASSES:
                continue
            kinds = [getattr(kind, "value_type", kind) for kind in map(members.get, LABELS_OF_BOXES)]
            if not any(is_any(kind, "integer", "floating") for kind in kinds):
                warn(f"{source}: boxes in {column.name!r} have no numbers of classes called {', '.join(LABELS_OF_BOXES)}, so Loaders give "
                     f"them the label -1; there are {', '.join(members)}")

    def _find_classes(self, schema: pa.Schema) -> list[str] | None:
        own = classes_in(schema)
        if own:
            return own
        if self.label:
            return next(_class_labels(self._feature(self.label)), None)
        inside = [names for column in self.fields if column.kind in ("json", "array") for names in _class_labels(self._features.get(column.name))]
        return inside[0] if inside and all(names == inside[0] for names in inside) else None

    def _require_images(self, name: str) -> None:
        kind = storage_of(self._schema.field(name).type)
        if not (is_file(kind) or is_bytes(kind) or is_text(kind)):
            raise ValueError(f"column {name!r} holds {kind}, neither bytes nor paths of images")

    def _column(self, name: str) -> Column:
        kind = storage_of(self._schema.field(name).type)
        stem = stem_of(name)
        said = self._type_name(name)
        if said.startswith("Array") and self._feature(name).get("shape"):
            shape = tuple(-1 if side is None else int(side) for side in self._feature(name)["shape"])
            return Column(name, "array", stem, shape)
        if is_file(kind):
            return Column(name, "image" if said in ("Image", "") else "file", stem)
        if is_list(kind) and is_file(storage_of(kind.value_type)):
            inner = self._feature(name).get("feature")
            if isinstance(inner, dict) and inner.get("_type", "Image") != "Image":
                raise ValueError(f"column {name!r} holds lists of {inner['_type']}: leave it out, with the columns to keep in `columns`")
            return Column(name, "images", stem)
        if is_bytes(kind):
            return Column(name, "bytes", stem)
        if is_text(kind):
            return Column(name, "text", stem)
        sides = shape_of_array(kind)
        if sides is not None:
            return Column(name, "array", stem, sides)
        if is_any(kind, "nested"):
            if holds_bytes(kind):
                raise ValueError(f"column {name!r} holds bytes inside of {kind}: leave it out, with the columns to keep in `columns`")
            return Column(name, "json", stem)
        return Column(name, "number", stem, classes=tuple(next(_class_labels(self._feature(name)), ())))


def _class_labels(feature: object) -> Iterator[list[str]]:
    """The names of the classes of each ClassLabel in a feature."""
    if isinstance(feature, dict):
        if feature.get("_type") == "ClassLabel" and isinstance(feature.get("names"), list):
            yield [str(name) for name in feature["names"]]
            return
        for inner in feature.values():
            yield from _class_labels(inner)
    elif isinstance(feature, list):
        for inner in feature:
            yield from _class_labels(inner)


def classes_in(schema: pa.Schema) -> list[str]:
    """The names of classes that to_parquet() noted next to the columns; empty if it did not."""
    text = (schema.metadata or {}).get(CLASSES_NOTE)
    if text is None:
        return []
    names = json.loads(text)
    return [str(name) for name in names] if isinstance(names, list) else []


def features_of(schema: pa.Schema) -> Json:
    """The features that Hugging Face's datasets stores in a schema; empty if it has none. Raises ValueError if they are not JSON."""
    text = (schema.metadata or {}).get(b"huggingface")
    if text is None:
        return {}
    stored = json.loads(text)
    try:
        features = stored["info"]["features"]
    except (KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


def fields_of_batch(batch: pa.RecordBatch, columns: Iterable[Column], bytes_of: Callable[[object], bytes | None]) -> list[dict[str, object]]:
    """The fields of each row. `bytes_of` gives the content of a value {bytes, path}."""
    rows: list[dict[str, object]] = [{} for _ in range(batch.num_rows)]
    numbers: list[dict[str, object]] = [{} for _ in rows]
    columns = list(columns)
    for column in columns:
        found = _values(batch.column(column.name), column)
        for row, (fields, value) in enumerate(zip(rows, found, strict=True)):
            if column.kind == "number":
                numbers[row][column.name] = value
                if isinstance(value, int) and 0 <= value < len(column.classes):
                    numbers[row][f"{column.name}.name"] = column.classes[value]
            elif value is not None:
                _add(fields, column, value, bytes_of)
    is_taken = any(column.kind in ("text", "json") and column.stem == "json" for column in columns)
    for fields, values in zip(rows, numbers, strict=True):
        if is_taken:
            for name, value in values.items():
                put(fields, _named(stem_of(name), "json"), _json(value))
        elif values:
            put(fields, "json", _json(values))
    return rows


def put(fields: dict[str, object], name: str, value: object) -> None:
    """Sets a field. Raises ValueError if another column gave it already."""
    if name in fields:
        raise ValueError(f"two columns give the field {name!r}: leave one out, with the columns to keep in `columns`")
    fields[name] = value


def _add(fields: dict[str, object], column: Column, value: Any, bytes_of: Callable[[object], bytes | None]) -> None:
    if column.kind in ("image", "file"):
        content = bytes_of(value)
        if content is not None:
            extension = field_of_image(content) if column.kind == "image" else extension_of(value.get("path"))
            put(fields, _named(column.stem, extension), content)
    elif column.kind == "images":
        for number, one in enumerate(value):
            content = bytes_of(one) if one is not None else None
            if content is not None:
                put(fields, f"{column.stem}.{number}.{field_of_image(content)}", content)
    elif column.kind == "bytes":
        put(fields, _named(column.stem, _bale.image_field_of(value)), value)
    elif column.kind == "json":
        put(fields, _named(column.stem, "json"), _json(value))
    elif column.kind == "array":
        put(fields, _named(column.stem, "npy"), value)
    else:
        is_json = column.stem == "json" or column.stem.endswith(".json")
        put(fields, column.stem if is_json else _named(column.stem, "txt"), value)


def field_of_image(content: bytes) -> str:
    """By its first bytes. What is not an image has the name of one, so that the Writer refuses it, or leaves it out."""
    return _bale.image_field_of(content) or "jpg"


def extension_of(path: str | None) -> str:
    """Of a file that is not an image; empty if its name has none."""
    extension = (path or "").rpartition("/")[2].rpartition(".")[2].lower()
    return extension if "." in (path or "") and extension.isascii() and extension.isalnum() else ""


def stem_of(name: str) -> str:
    """A column's name as that of a field: lower case, "_" for "/" and spaces, and dots only between other characters."""
    return re.sub(r"\.\.+", ".", re.sub(r"[\s/\x00-\x1f\x7f]", "_", name.lower()).strip(".")) or "_"


def _named(stem: str, extension: str) -> str:
    """COLUMN.EXTENSION, or the column's name if it has the extension already."""
    return stem if not extension or stem == extension or stem.endswith("." + extension) else f"{stem}.{extension}"


def _require_different(columns: Sequence[Column]) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        if column.stem in seen:
            raise ValueError(f"columns {seen[column.stem]!r} and {column.name!r} would be fields of the same name: leave one out, with the "
                             "columns to keep in `columns`")
        seen[column.stem] = column.name
    numbers = {column.name for column in columns if column.kind == "number"}
    for column in columns:
        if column.classes and f"{column.name}.name" in numbers:
            raise ValueError(f"column '{column.name}.name' has the name under which the classes of {column.name!r} are stored: leave one out, "
                             "with the columns to keep in `columns`")


def _values(array: pa.Array, column: Column) -> list[object]:
    """One value per row: Python's, and numpy's for arrays."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.FixedShapeTensorArray) and not array.storage.flatten().null_count:
        return [array[i:i + 1].to_numpy_ndarray()[0] if array[i].is_valid else None for i in range(len(array))]
    if isinstance(array, pa.ExtensionArray) and column.kind != "number":
        array = array.storage
    if column.kind == "array":
        return [_array(array[i], column) for i in range(len(array))]
    try:
        values: list[object] = array.to_pylist()
    except (OverflowError, ValueError) as error:
        raise ValueError(f"column {column.name!r}: {error}; leave it out, with the columns to keep in `columns`") from error
    if array.type == pa.time64("ns"):  # to_pylist() cuts them to microseconds
        texts = array.cast(pa.string()).to_pylist()
        values = [text if text is not None and not text.endswith("000") else value for text, value in zip(texts, values, strict=True)]
    elif column.kind == "json" and (coarse := _with_times(array.type, pa.time64("us"))) != array.type:
        try:
            array.cast(coarse)
        except pa.ArrowInvalid:  # some have nanoseconds
            values = array.cast(_with_times(array.type, pa.string())).to_pylist()
    return values


def _with_times(kind: pa.DataType, times: pa.DataType) -> pa.DataType:
    """The type with another in place of time64[ns]."""
    import pyarrow as pa

    if is_any(kind, "struct"):
        return pa.struct([kind.field(i).with_type(_with_times(kind.field(i).type, times)) for i in range(kind.num_fields)])
    if is_any(kind, "map"):
        return pa.map_(_with_times(kind.key_type, times), _with_times(kind.item_type, times))
    if is_any(kind, "fixed_size_list"):
        return pa.list_(kind.value_field.with_type(_with_times(kind.value_type, times)), kind.list_size)
    if is_list(kind):
        return (pa.large_list if is_any(kind, "large_list") else pa.list_)(kind.value_field.with_type(_with_times(kind.value_type, times)))
    return times if kind == pa.time64("ns") else kind


def _array(scalar: pa.Scalar, column: Column) -> NDArray[np.generic] | None:
    if not scalar.is_valid:
        return None
    values = scalar.values
    shape = [len(values)]
    while is_list(values.type):
        if values.null_count:
            raise _null_inside(column)
        values = values.flatten()
        shape.append(-1)
    if values.null_count and not is_any(values.type, "floating"):
        raise _null_inside(column)
    assert column.shape is not None
    array: NDArray[np.generic] = values.to_numpy(zero_copy_only=False).reshape(_whole_shape(column.shape, shape[0], len(values)))
    return array


def _whole_shape(shape: tuple[int, ...], rows: int, count: int) -> tuple[int, ...]:
    """The first side is the number of rows. At most one other is not known."""
    rest = 1
    for side in shape[1:]:
        rest *= side if side > 0 else 1
    whole = (rows, *shape[1:])
    return tuple(side if side >= 0 else count // max(1, rows * rest) for side in whole)


def _null_inside(column: Column) -> Exception:
    return make_error("unsupported", f"column {column.name!r} has an array with a null inside",
                      hint="leave it out, with the columns to keep in `columns`")


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=_plain).encode()


def _plain(value: object) -> object:
    import datetime
    import decimal

    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise make_error("unsupported", f"a value of type {type(value).__name__} cannot be stored as JSON",
                     hint="leave its column out, with the columns to keep in `columns`")


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
        yield Row(fields, _label(label, numbers), content is not None or columns.image is None and bool(fields))


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
    if isinstance(label, float) and (math.isnan(label) or label.is_integer()):  # of pandas, whose integers are floats if one is missing
        return None if math.isnan(label) else int(label)
    if not isinstance(label, int) or isinstance(label, bool):
        raise ValueError(f"{label!r} is not a class number; choose another column with `label`")
    return label


def _list(batch: pa.RecordBatch, name: str | None) -> list[object]:
    if name is None:
        return [None] * batch.num_rows
    array = batch.column(name)
    values: list[object] = getattr(array, "storage", array).to_pylist()
    return values
