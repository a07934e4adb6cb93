"""Fields in batches: what a Loader carries beside the image of each sample, such as a caption or an embedding."""
from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bale.errors import make_error
from bale.ragged import Ragged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal

    import numpy as np
    from numpy.typing import NDArray

    from bale._bale import Batch
    from bale.positions import Positions

    Kind = Literal["text", "json", "array", "bytes"]


class Field(NamedTuple):
    """A stored field, as a value of `fields=` of a Loader; its name alone is the same as Field(name).

        fields={"caption": "txt", "embedding": bale.Field("npy", dtype="float32", shape=(768,)),
                "meta": bale.Field("json", optional=True)}

    source     name of the stored field, as bale.Dataset.fields lists it: "txt", "caption.txt"
    kind       "text" (UTF-8), "json", "array" (a NumPy file) or "bytes"; None: by the last part of the name: txt and text, json,
               npy; else bytes
    dtype, shape   of one row of an array; None: those of the dataset's first sample that has the field. A sample with others is
               a bad sample
    optional   a sample may lack the field; its row is then empty, or zeros, and `present` says so. Otherwise such a sample is
               a bad sample
    """

    source: str
    kind: Kind | None = None
    dtype: Any = None
    shape: Sequence[int] | None = None
    optional: bool = False


def options_of(fields: Mapping[str, str | Field] | None) -> list[tuple[str, str, str, bool, str, list[int] | None]]:
    """The fields as the extension module takes them: name, source, kind, optional, NumPy's type, shape. Raises TypeError and
    ValueError."""
    if fields is None:
        return []
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields: {fields!r} is not a mapping from names to stored fields, such as {{'caption': 'txt'}}")
    return [_options_of_one(name, Field(given) if isinstance(given, str) else given) for name, given in fields.items()]


def _options_of_one(name: str, field: Field) -> tuple[str, str, str, bool, str, list[int] | None]:
    if not isinstance(name, str):
        raise TypeError(f"fields: the name {name!r} is not a str")
    if not isinstance(field, Field) or not isinstance(field.source, str):
        raise TypeError(f"fields: {name!r} is {field!r}, which is neither the name of a stored field nor a bale.Field")
    if field.kind not in (None, "text", "json", "array", "bytes"):
        raise ValueError(f"fields: {name!r} has the kind {field.kind!r}, which is not one of text, json, array and bytes")
    return (name, field.source, field.kind or "", bool(field.optional), _type_of(field.dtype),
            None if field.shape is None else [int(side) for side in field.shape])


def _type_of(dtype: Any) -> str:
    if dtype is None:
        return ""
    import numpy as np  # not above: importing bale need not wait for it

    return str(np.dtype(dtype).str)


class BatchFields(Mapping[str, "Any"]):
    """`batch.fields`: a mapping from the names of the Loader's `fields` to their rows. Values are made at each access.

    text    a list of str, a copy
    json    a JsonRows, which copies the bytes and parses a row when it is asked for
    array   a NumPy array, N x shape, a view of the batch's slot
    bytes   a Ragged of uint8, a view of the batch's slot

    Rows without a sample, and those whose sample does not have an optional field, are "", None, zeros and no bytes.
    Lifetime: it keeps the batch, and so its slot; the views keep the slot as images do.
    """

    def __init__(self, batch: Batch, positions: Positions) -> None:
        self._batch = batch
        self._positions = positions
        self._numbers = {name: (number, kind) for number, (name, kind) in enumerate(batch.field_names())}

    def __getitem__(self, name: str) -> Any:
        number, kind = self._numbers[name]
        if kind == "text":
            return self._batch.field_texts(number)
        if kind == "json":
            return JsonRows(self._batch.field_rows(number), self.present(name), self._batch.indices, self._positions)
        if kind == "array":
            return self._batch.field_data(number)
        return self.ragged(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"BatchFields({', '.join(f'{name}: {kind}' for name, (_, kind) in self._numbers.items())})"

    def present(self, name: str) -> NDArray[np.bool_]:
        """One bool per row: whether the sample has the field. A copy."""
        return self._batch.field_present(self._numbers[name][0])

    def ragged(self, name: str) -> Ragged:
        """The stored bytes of a field of text, JSON or bytes, as a view of the batch's slot. Raises TypeError for arrays."""
        number, kind = self._numbers[name]
        if kind == "array":
            raise TypeError(f"{name!r} is a field of arrays, which all have one shape; use fields[{name!r}]")
        return Ragged(self._batch.field_data(number), self._batch.field_offsets(number))


class JsonRows:
    """The rows of a field of JSON. A row is parsed when it is first asked for; None if it is absent. `list(rows)` parses all. It
    does not keep the batch's slot.

    It is no collections.abc.Sequence: frameworks would take it apart to look for tensors, which parses all rows.

    `rows[i]` raises bale.Error (`damaged`) with the sample's key if the row is not JSON. NaN and Infinity, which Python's json
    writes, are read.
    """

    def __init__(self, rows: list[bytes], present: NDArray[np.bool_], indices: NDArray[np.int64], positions: Positions) -> None:
        self.bytes = rows  #: the rows, not parsed
        self._present = present
        self._indices = indices
        self._positions = positions
        self._parsed: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self.bytes)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[row] for row in range(len(self))[i]]
        row = range(len(self))[i]
        if row not in self._parsed:
            self._parsed[row] = self._parse(row) if self._present[row] else None
        return self._parsed[row]

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def _parse(self, row: int) -> Any:
        import json  # not above: importing bale need not wait for it

        try:
            return json.loads(self.bytes[row])
        except ValueError as error:
            key, = self._positions.keys_of(self._indices[row:row + 1])
            raise make_error("damaged", f"a field of JSON cannot be parsed: {error} (key {key})") from error

    def __repr__(self) -> str:
        return f"JsonRows({len(self)} rows)"
