"""batch.fields: the further fields of a batch, made of the bytes in its slot."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bale._docs import of_field
from bale._loader.lazy_keys import LazyKeys
from bale._loader.ragged import Ragged
from bale.errors import make_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bale._bale import Batch, DeviceBatch

# The numbers of each target of a kind.
_NUMBERS = {"boxes": 4, "keypoints": 2}


class BatchFields(Mapping[str, Any]):
    """`batch.fields`: a mapping from the names of the Loader's `fields` to their rows. Values are made at each access.

        kind        value                                             memory
        text        list of str                                       a copy
        json        JsonRows, which parse a row when it is asked for  a copy of the bytes
        array       array, N x shape                                  a view of the batch's slot
        bytes       Ragged of uint8                                   a view of the batch's slot
        mask        array, N x height x width                         a view of the batch's slot
        boxes       Ragged of float32, four numbers per box           a copy
        keypoints   Ragged of float32, x and y of each point          a copy

    Rows without a sample, and those whose sample does not have an optional field, are "", None, zeros and no bytes.

    Parameters
    ----------
    batch : Batch or DeviceBatch
        Made by the Loader.
    positions : LazyKeys
        Made by the Loader.

    Notes
    -----
    Lifetime: it keeps the batch, and so its slot; the views keep the slot as images do. For a batch on a device all of
    it is ordinary memory, and the views do not keep the batch.
    """

    def __init__(self, batch: Batch | DeviceBatch, positions: LazyKeys) -> None:
        self._batch = batch
        self._positions = positions
        self._numbers = {name: (number, kind) for number, (name, kind) in enumerate(batch.field_names())}

    def __getitem__(self, name: str) -> Any:
        number, kind = self._numbers[name]
        if kind == "text":
            return self._batch.field_texts(number)
        if kind == "json":
            return JsonRows(self._batch.field_rows(number), self.present(name), self._batch.indices, self._positions)
        if kind in ("array", "mask"):
            return self._batch.field_data(number)
        if kind in _NUMBERS:
            return self._targets(number, kind)
        return self.ragged(name)

    def _targets(self, number: int, kind: str, column: str = "at") -> Ragged:
        """Coordinates of boxes or keypoints, or the column label, or of boxes number."""
        columns = [("at", "<f4", (_NUMBERS[kind],)), ("label", "<i8"), *([("number", "<i8")] if kind == "boxes" else [])]
        rows = self._batch.field_data(number).view(np.dtype(columns))
        offsets = self._batch.field_offsets(number) // rows.dtype.itemsize
        return Ragged(np.ascontiguousarray(rows[column]), offsets)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"BatchFields({', '.join(f'{name}: {kind}' for name, (_, kind) in self._numbers.items())})"

    @of_field
    def present(self, name: str) -> NDArray[np.bool_]:
        """Says which rows have a field.

        Returns
        -------
        array of bool, shape (N,)
            Whether the sample of the row has the field. A copy.
        """
        return self._batch.field_present(self._numbers[name][0])

    @of_field
    def labels(self, name: str) -> Ragged:
        """Returns the labels of boxes or keypoints.

        Returns
        -------
        Ragged of int64
            One per target, with the rows of fields[name]; -1 for a target without one. A copy.

        Raises
        ------
        TypeError
            If the field is of another kind.
        """
        number, kind = self._numbers[name]
        if kind not in _NUMBERS:
            raise TypeError(f"{name!r} is a field of the kind {kind}; boxes and keypoints have labels")
        return self._targets(number, kind, "label")

    @of_field
    def numbers(self, name: str) -> Ragged:
        """Returns which boxes of the stored field are there.

        Transforms (SanitizeBoundingBoxes) and `without` of the field leave out some. By these numbers one finds what
        else the stored field says of a box.

        Returns
        -------
        Ragged of int64
            The number of each box in the stored field, from 0, with the rows of fields[name]. A copy.

        Raises
        ------
        TypeError
            If the field is of another kind.

        Examples
        --------
        >>> crowd = [[meta["iscrowd"][n] for n in numbers]
        ...          for meta, numbers in zip(batch.fields["meta"], batch.fields.numbers("boxes"))]
        """
        number, kind = self._numbers[name]
        if kind != "boxes":
            raise TypeError(f"{name!r} is a field of the kind {kind}; boxes have numbers")
        return self._targets(number, kind, "number")

    @of_field
    def kind(self, name: str) -> str:
        """Returns the kind of a field.

        Returns
        -------
        str
            As bale.Field has it: "text", "json", "array", "bytes", "mask", "boxes" or "keypoints".
        """
        return str(self._numbers[name][1])

    @of_field
    def ragged(self, name: str) -> Ragged:
        """Returns the stored bytes of a field of text, JSON or bytes.

        Returns
        -------
        Ragged of uint8
            A view of the batch's slot.

        Raises
        ------
        TypeError
            If the field is an array or a target.
        """
        number, kind = self._numbers[name]
        if kind in ("array", "mask"):
            raise TypeError(f"{name!r} is a field of the kind {kind}, whose rows all have one shape; use fields[{name!r}]")
        if kind in _NUMBERS:
            raise TypeError(f"{name!r} is a field of the kind {kind}, not of stored bytes; use fields[{name!r}]")
        return Ragged(self._batch.field_data(number), self._batch.field_offsets(number))


class JsonRows:
    """The rows of a field of JSON.

    A row is parsed when it is first asked for; it is None if the sample does not have it. `list(rows)` parses all. NaN
    and Infinity, which Python's json writes, are read. It is not a collections.abc.Sequence: frameworks would take it
    apart to look for tensors, which parses all rows.

    Parameters
    ----------
    rows : list of bytes
        The bytes of each row.
    present : array of bool
        Whether the sample of the row has the field.
    indices : array of int64
        Positions of the samples in the dataset.
    positions : LazyKeys
        Made by the Loader; knows the keys for error messages.

    Attributes
    ----------
    bytes : list of bytes
        The rows, not parsed.

    Notes
    -----
    `rows[i]` raises bale.Error (code "damaged") with the sample's key if the row is not JSON.
    Lifetime: it does not keep the batch's slot.
    """

    def __init__(self, rows: list[bytes], present: NDArray[np.bool_], indices: NDArray[np.int64], positions: LazyKeys) -> None:
        self.bytes = rows  #: the rows, not parsed
        self._present = present
        self._indices = indices
        self._positions = positions
        self._parsed: dict[int, object] = {}

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

    def _parse(self, row: int) -> object:
        try:
            return json.loads(self.bytes[row])
        except ValueError as error:
            key, = self._positions.keys_of(self._indices[row:row + 1])
            raise make_error("damaged", f"a field of JSON cannot be parsed: {error} (key {key})") from error

    def __repr__(self) -> str:
        return f"JsonRows({len(self)} rows)"
