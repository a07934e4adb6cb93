"""Fields in batches: what a Loader carries beside the image of each sample, such as a caption or an embedding."""
from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import NamedTuple

from bale.dtype_names import dtype_name
from bale.errors import make_error
from bale.ragged import Ragged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal

    import numpy as np
    from numpy.typing import NDArray

    from bale._bale import Batch, DeviceBatch
    from bale.positions import Positions

    Kind = Literal["text", "json", "array", "bytes", "mask", "boxes", "keypoints"]
    Options = tuple[str, str, str, bool, str, list[int] | None, int, str, str, int | None, list[str], list[str]]


_KINDS = ("text", "json", "array", "bytes", "mask", "boxes", "keypoints")
_BOX_FORMATS = ("xyxy", "xywh", "cxcywh")


class Field(NamedTuple):
    """A stored field, as a value of `fields=` of a Loader. Its name alone means the same as Field(name).

    Parameters
    ----------
    source : str
        Name of the stored field, as bale.Dataset.fields lists it: "txt", "caption.txt".
    kind : {'text', 'json', 'array', 'bytes', 'mask', 'boxes', 'keypoints'} or None, default None
        "text" is UTF-8; "array" is a NumPy file, or lists of numbers in JSON if dtype is given. "mask", "boxes" and
        "keypoints" are targets, which follow what the transform does to the image. None: by the last part of the name:
        txt and text, json, npy; else bytes.
    dtype : dtype or None, default None
        Of a row of an array, as numpy or torch have it. None: that of the dataset's first sample that has the field. A sample
        with another is a bad sample. Of a mask: "uint8" (None), "int32" or "int64".
    shape : sequence of int or None, default None
        Of a row of an array. None: that of the dataset's first sample that has the field. A sample with another is a
        bad sample.
    optional : bool, default False
        A sample may lack the field; its row is then empty, or zeros, and `present` says so. Otherwise such a sample is
        a bad sample.
    fill : int, default 0
        Of a mask: the value of pixels from outside the image, 0 to 65535. 255 is what losses often ignore.
    format : {'xyxy', 'xywh', 'cxcywh'}, default 'xyxy'
        Format of boxes in the batch, in pixels.
    stored_format : {'xyxy', 'xywh', 'cxcywh'}, default 'xyxy'
        Format of stored boxes. The "bbox" of COCO is always xywh.
    view : int or None, default None
        Of a mask, boxes or keypoints: the number of the view that it follows, from 0. With several views it must be
        given.
    without : sequence of str, default ()
        Of boxes in JSON: names of members, such as "iscrowd" and "difficult". Boxes of which one of them is true, or a
        number other than 0, are left out.
    numbered : bool, default False
        Of boxes: bale.torch.Loader adds the number of each box in the stored field, as `fields["NAME.numbers"]`.
        bale.Loader has it in any case (`batch.fields.numbers(NAME)`).
    member : str, sequence of str or None, default None
        Of an array that is a member of an object in JSON, such as a column of a CSV ("json"); several members become one array.
        Texts of numbers count as numbers. Give the dtype.

    Notes
    -----
    The Loader checks the values: it raises ValueError, or TypeError, with the name of the field.

    Examples
    --------
    >>> fields = {"caption": "txt",
    ...           "embedding": bale.Field("npy", dtype="float32", shape=(768,)),
    ...           "meta": bale.Field("json", optional=True),
    ...           "age": bale.Field("json", member="age", dtype="float32")}
    """

    source: str
    kind: Kind | None = None
    dtype: Any = None
    shape: Sequence[int] | None = None
    optional: bool = False
    fill: int = 0
    format: str = "xyxy"
    stored_format: str = "xyxy"
    view: int | None = None
    member: str | Sequence[str] | None = None
    without: Sequence[str] = ()
    numbered: bool = False


def options_of(fields: Mapping[str, str | Field] | None) -> list[Options]:
    """The fields as the extension module takes them: name, source, kind, optional, NumPy's type, shape, fill, formats, view,
    members, without.
    Raises TypeError and ValueError."""
    if fields is None:
        return []
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields: {fields!r} is not a mapping from names to stored fields, such as {{'caption': 'txt'}}")
    return [_options_of_one(name, Field(given) if isinstance(given, str) else given) for name, given in fields.items()]


def _options_of_one(name: str, field: Field) -> Options:
    if not isinstance(name, str):
        raise TypeError(f"fields: the name {name!r} is not a str")
    if not isinstance(field, Field) or not isinstance(field.source, str):
        raise TypeError(f"fields: {name!r} is {field!r}, which is neither the name of a stored field nor a bale.Field")
    if field.kind not in (None, *_KINDS):
        raise ValueError(f"fields: {name!r} has the kind {field.kind!r}, which is not one of {', '.join(_KINDS)}")
    for given in (field.format, field.stored_format):
        if given not in _BOX_FORMATS:
            raise ValueError(f"fields: {name!r} has the format {given!r}, which is not one of {', '.join(_BOX_FORMATS)}")
    fill = operator.index(field.fill)
    if not 0 <= fill <= 65535:
        raise ValueError(f"fields: {name!r} has the fill {fill}, which is not within [0, 65535]")
    members = [field.member] if isinstance(field.member, str) else list(field.member or ())
    if not all(isinstance(member, str) for member in members):
        raise TypeError(f"fields: {name!r} has the members {field.member!r}, which are not names")
    return (name, field.source, field.kind or ("array" if members else ""), bool(field.optional), _type_of(field.dtype),
            None if field.shape is None else [int(side) for side in field.shape], fill, field.format, field.stored_format,
            _view_of(name, field.view), members, _left_out_by(name, field))


def _view_of(name: str, view: Any) -> int | None:
    if view is None:
        return None
    number = operator.index(view)
    if not 0 <= number < 2**32:
        raise ValueError(f"fields: {name!r} has the view {number}; views are numbered from 0")
    return number


def _left_out_by(name: str, field: Field) -> list[str]:
    if isinstance(field.without, str) or not all(isinstance(member, str) for member in field.without):
        raise TypeError(f"fields: {name!r} has the `without` {field.without!r}, which is not a list of names")
    if field.numbered and field.kind != "boxes":
        raise ValueError(f"fields: {name!r} is numbered, which only boxes are")
    return list(field.without)


def _type_of(dtype: Any) -> str:
    if dtype is None:
        return ""
    import numpy as np  # not above: importing bale need not wait for it

    return str(np.dtype(dtype_name(dtype) if str(dtype).startswith("torch.") else dtype).str)


# The numbers of each target of a kind.
_NUMBERS = {"boxes": 4, "keypoints": 2}


class BatchFields(Mapping[str, "Any"]):
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
    positions : Positions
        Made by the Loader.

    Notes
    -----
    Lifetime: it keeps the batch, and so its slot; the views keep the slot as images do. For a batch on a device all of
    it is ordinary memory, and the views do not keep the batch.
    """

    def __init__(self, batch: Batch | DeviceBatch, positions: Positions) -> None:
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
        import numpy as np  # not above: importing bale need not wait for it

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

    def present(self, name: str) -> NDArray[np.bool_]:
        """Says which rows have a field.

        Parameters
        ----------
        name : str
            Name of the field.

        Returns
        -------
        array of bool, shape (N,)
            Whether the sample of the row has the field. A copy.

        Raises
        ------
        KeyError
            If there is no such field.
        """
        return self._batch.field_present(self._numbers[name][0])

    def labels(self, name: str) -> Ragged:
        """Returns the labels of boxes or keypoints.

        Parameters
        ----------
        name : str
            Name of the field.

        Returns
        -------
        Ragged of int64
            One per target, with the rows of fields[name]; -1 for a target without one. A copy.

        Raises
        ------
        TypeError
            If the field is of another kind.
        KeyError
            If there is no such field.
        """
        number, kind = self._numbers[name]
        if kind not in _NUMBERS:
            raise TypeError(f"{name!r} is a field of the kind {kind}; boxes and keypoints have labels")
        return self._targets(number, kind, "label")

    def numbers(self, name: str) -> Ragged:
        """Returns which boxes of the stored field are there.

        Transforms (SanitizeBoundingBoxes) and `without` of the field leave out some. By these numbers one finds what
        else the stored field says of a box.

        Parameters
        ----------
        name : str
            Name of the field.

        Returns
        -------
        Ragged of int64
            The number of each box in the stored field, from 0, with the rows of fields[name]. A copy.

        Raises
        ------
        TypeError
            If the field is of another kind.
        KeyError
            If there is no such field.

        Examples
        --------
        >>> crowd = [[meta["iscrowd"][n] for n in numbers]
        ...          for meta, numbers in zip(batch.fields["meta"], batch.fields.numbers("boxes"))]
        """
        number, kind = self._numbers[name]
        if kind != "boxes":
            raise TypeError(f"{name!r} is a field of the kind {kind}; boxes have numbers")
        return self._targets(number, kind, "number")

    def kind(self, name: str) -> str:
        """Returns the kind of a field.

        Parameters
        ----------
        name : str
            Name of the field.

        Returns
        -------
        str
            As bale.Field has it: "text", "json", "array", "bytes", "mask", "boxes" or "keypoints".

        Raises
        ------
        KeyError
            If there is no such field.
        """
        return str(self._numbers[name][1])

    def ragged(self, name: str) -> Ragged:
        """Returns the stored bytes of a field of text, JSON or bytes.

        Parameters
        ----------
        name : str
            Name of the field.

        Returns
        -------
        Ragged of uint8
            A view of the batch's slot.

        Raises
        ------
        TypeError
            If the field is an array or a target.
        KeyError
            If there is no such field.
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
    positions : Positions
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
