"""Fields in batches: what a Loader carries next to the image of each sample, such as a caption or an embedding."""
from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsIndex

import numpy as np

from bale._types import dtype_name
from bale._warnings import warn
from bale.errors import Error

if TYPE_CHECKING:
    from bale._dataset.dataset import Dataset
    from bale._types import DType

Kind = Literal["text", "json", "array", "bytes", "mask", "boxes", "keypoints"]
Options = tuple[str, str, str, bool, str, list[int] | None, int, str, str | None, int | None, list[str], list[str]]

_KINDS = ("text", "json", "array", "bytes", "mask", "boxes", "keypoints")
_BOX_FORMATS = ("xyxy", "xywh", "cxcywh")
_SAMPLES_FOR_WARNING = 64  # that are read for a warning


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
    stored_format : {'xyxy', 'xywh', 'cxcywh'} or None, default None
        Format of stored boxes. None: "bbox" is COCO's xywh, and others are xyxy.
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
    dtype: DType | None = None
    shape: Sequence[int] | None = None
    optional: bool = False
    fill: int = 0
    format: str = "xyxy"
    stored_format: str | None = None
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
    for given in (field.format, "xyxy" if field.stored_format is None else field.stored_format):
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


def _view_of(name: str, view: SupportsIndex | None) -> int | None:
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


def warn_of_without(fields: Mapping[str, str | Field] | None, dataset: Callable[[], Dataset]) -> None:
    """If the boxes of the first samples have none of the names that a `without` has, which may be misspelled."""
    for name, field in (fields or {}).items():
        if not isinstance(field, Field) or not field.without:
            continue
        if known := _members_of_boxes(dataset(), field.source, field.without):
            warn(f"fields: {name!r} leaves out no box: those of the first samples have no {' or '.join(map(repr, field.without))}; "
                 f"they have {', '.join(sorted(known))}")


def _members_of_boxes(dataset: Dataset, source: str, wanted: Sequence[str]) -> set[str] | None:
    """What is known of each box of the first samples that have boxes; None if it is one of those wanted."""
    known: set[str] = set()
    for i in range(min(len(dataset), _SAMPLES_FOR_WARNING)):
        try:
            given = json.loads(dataset.read_field(i, source))
        except (Error, ValueError):
            continue  # an array, or a bad sample
        if isinstance(given, dict) and given.keys().isdisjoint(("boxes", "bbox", "annotations", "keypoints")):
            objects = given.get("objects")
            given = objects if isinstance(objects, (dict, list)) else given
        rows = given.get("annotations", [given]) if isinstance(given, dict) else given
        known.update(*(row for row in rows if isinstance(row, dict)))
        if not known.isdisjoint(wanted):
            return None
    return known


def _type_of(dtype: Any) -> str:
    if dtype is None:
        return ""
    return str(np.dtype(dtype_name(dtype) if str(dtype).startswith("torch.") else dtype).str)
